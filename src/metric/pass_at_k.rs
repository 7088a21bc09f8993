//! pass@k: the probability that at least one of k samples passes, estimated without bias from n >= k samples.
//!
//! `1 - C(n - c, k) / C(n, k)` for c passing samples of n, averaged over problems (Chen et al. 2021, "Evaluating
//! Large Language Models Trained on Code", equation 1).
use super::{Facts, LeftOut, SampleFact};

/// pass@k of one model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PassAtK {
    /// The k.
    pub k: usize,
    /// The mean over problems, 0 to 1.
    pub value: f64,
    /// How many problems it is the mean of.
    pub problems: usize,
    /// Problems without a sample, and those where failures of ours left fewer than k samples.
    pub left_out: Vec<LeftOut>,
}

/// Why there is no pass@k.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassAtKRefusal {
    /// A problem has too few samples.
    #[error("problem `{problem}` has {samples} samples of `{model}`, and pass@{k} needs {k}")]
    TooFewSamples {
        /// Id of the problem.
        problem: String,
        /// The model.
        model: String,
        /// How many samples it has.
        samples: usize,
        /// The k.
        k: usize,
    },
    /// No problem has a sample whose verdict is known.
    #[error("no problem has a judged sample of `{model}`")]
    NoProblems {
        /// The model.
        model: String,
    },
}

/// pass@k of the model with this index.
///
/// # Errors
/// A problem has samples, but fewer than k: an average over the others would be of an easier or harder population.
/// Samples that a failure of ours took away leave out their problem instead, which is said.
pub fn pass_at_k(facts: &Facts, model: usize, k: usize) -> Result<PassAtK, PassAtKRefusal> {
    let mut sum = 0.0;
    let mut problems = 0;
    let mut left_out = Vec::new();
    for problem in &facts.problems {
        let samples = &problem.samples[model];
        let known = samples
            .iter()
            .filter(|fact| **fact != SampleFact::Unknown)
            .count();
        let passing = (samples.iter())
            .filter(|fact| matches!(fact, SampleFact::Accepted(_)))
            .count();
        if let Some(value) = estimate(known, passing, k) {
            sum += value;
            problems += 1;
            continue;
        }
        let reason = if samples.is_empty() {
            "no sample".to_string()
        } else if samples.len() < k {
            return Err(PassAtKRefusal::TooFewSamples {
                problem: problem.id.clone(),
                model: facts.models[model].clone(),
                samples: samples.len(),
                k,
            });
        } else {
            format!(
                "failures of ours leave {known} of {} samples",
                samples.len()
            )
        };
        left_out.push(LeftOut {
            problem: problem.id.clone(),
            reason,
        });
    }
    if problems == 0 {
        return Err(PassAtKRefusal::NoProblems {
            model: facts.models[model].clone(),
        });
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 problems")]
    let value = sum / problems as f64;
    Ok(PassAtK {
        k,
        value,
        problems,
        left_out,
    })
}

/// `1 - C(n - c, k) / C(n, k)`; `None` where n < k or k = 0, where it is not defined.
///
/// As a product of k factors at most 1, so that no binomial coefficient overflows: the probability that k draws
/// without replacement all fail is the product over i < k of (n - c - i) / (n - i).
pub fn estimate(n: usize, c: usize, k: usize) -> Option<f64> {
    if k == 0 || n < k || c > n {
        return None;
    }
    if n - c < k {
        return Some(1.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 samples")]
    let all_fail: f64 = (0..k)
        .map(|i| (n - c - i) as f64 / (n - i) as f64)
        .product();
    Some(1.0 - all_fail)
}

#[cfg(test)]
mod tests {
    use super::super::ProblemFacts;
    use super::*;
    use SampleFact::{Accepted, Rejected, Unknown};

    fn facts(samples: &[&[SampleFact]]) -> Facts {
        Facts {
            models: vec!["m".into()],
            problems: (samples.iter().enumerate())
                .map(|(index, samples)| ProblemFacts {
                    id: format!("p{index}"),
                    samples: vec![samples.to_vec()],
                })
                .collect(),
        }
    }

    #[test]
    fn the_estimator_equals_values_computed_by_hand() {
        // n = 5, c = 2: 1 - C(3,1)/C(5,1) = 2/5; 1 - C(3,2)/C(5,2) = 1 - 3/10; 1 - C(3,3)/C(5,3) = 1 - 1/10.
        assert!((estimate(5, 2, 1).unwrap() - 0.4).abs() < 1e-15);
        assert!((estimate(5, 2, 2).unwrap() - 0.7).abs() < 1e-15);
        assert!((estimate(5, 2, 3).unwrap() - 0.9).abs() < 1e-15);
        assert_eq!(estimate(5, 2, 4), Some(1.0));
        assert_eq!(estimate(5, 0, 5), Some(0.0));
        assert_eq!(estimate(5, 5, 1), Some(1.0));
    }

    #[test]
    fn the_estimator_is_refused_where_it_is_not_defined() {
        assert_eq!(estimate(4, 2, 5), None);
        assert_eq!(estimate(4, 2, 0), None);
        assert_eq!(estimate(0, 0, 1), None);
    }

    #[test]
    fn large_numbers_stay_finite() {
        // 1 - C(99990, 100) / C(100000, 100) = 1 - prod (99990 - i)/(100000 - i), about 1 - 0.999^10 = 0.00996.
        let value = estimate(100_000, 10, 100).unwrap();
        assert!((value - 0.009_955).abs() < 1e-5, "{value}");
    }

    #[test]
    fn the_mean_is_over_problems_not_over_samples() {
        // 1/1 and 1/4: (1 + 0.25) / 2.
        let facts = facts(&[
            &[Accepted(None)],
            &[Rejected, Rejected, Accepted(Some(1)), Rejected],
        ]);
        let pass = pass_at_k(&facts, 0, 1).unwrap();
        assert!((pass.value - 0.625).abs() < 1e-15);
        assert_eq!(pass.problems, 2);
    }

    #[test]
    fn too_few_samples_refuse_the_metric_for_the_model() {
        let facts = facts(&[&[Accepted(None), Rejected], &[Rejected]]);
        let refusal = pass_at_k(&facts, 0, 2).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "problem `p1` has 1 samples of `m`, and pass@2 needs 2"
        );
    }

    #[test]
    fn failures_of_ours_leave_the_denominator() {
        let facts = facts(&[
            &[Unknown, Accepted(None)],
            &[Unknown, Unknown],
            &[],
            &[Rejected, Rejected],
        ]);
        let pass = pass_at_k(&facts, 0, 1).unwrap();
        assert!((pass.value - 0.5).abs() < 1e-15);
        let left_out: Vec<_> = pass
            .left_out
            .iter()
            .map(|l| (l.problem.as_str(), l.reason.as_str()))
            .collect();
        assert_eq!(
            left_out,
            [
                ("p1", "failures of ours leave 0 of 2 samples"),
                ("p2", "no sample")
            ]
        );
        assert!(matches!(
            pass_at_k(
                &Facts {
                    problems: Vec::new(),
                    ..facts
                },
                0,
                1
            ),
            Err(PassAtKRefusal::NoProblems { .. })
        ));
    }
}
