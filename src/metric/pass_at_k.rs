//! pass@k: the probability that at least one of k samples passes, estimated without bias from n >= k samples.
//!
//! `1 - C(n - c, k) / C(n, k)` for c passing samples of n, averaged over problems (Chen et al. 2021, "Evaluating
//! Large Language Models Trained on Code", equation 1).
use super::facts::{Facts, LeftOut, Outcome};
use super::scores::ModelScore;

/// pass@k of the model with this index.
///
/// It is refused where a problem has samples, but fewer than k: an average over the others would be of an easier or
/// harder population. Samples that a failure of ours took away leave out their problem instead, which is said.
pub(super) fn score(facts: &Facts, model: usize, k: usize) -> ModelScore {
    let name = &facts.models[model];
    let mut values = Vec::new();
    let mut left_out = Vec::new();
    for (index, problem) in facts.problems.iter().enumerate() {
        let samples = &problem.samples[model];
        let known = (samples.iter())
            .filter(|sample| sample.outcome != Outcome::Unknown)
            .count();
        let passing = samples.iter().filter(|sample| sample.is_accepted()).count();
        if let Some(value) = estimate(known, passing, k) {
            values.push((index, value));
            continue;
        }
        let reason = if samples.is_empty() {
            "no sample".to_string()
        } else if samples.len() < k {
            return ModelScore::refused(
                name,
                format!(
                    "problem `{}` has {} samples of `{name}`, and pass@{k} needs {k}",
                    problem.id,
                    samples.len()
                ),
            );
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
    if values.is_empty() {
        let reason = format!("no problem has a judged sample of `{name}`");
        return ModelScore::refused(name, reason);
    }
    ModelScore::of(name, values, left_out)
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
    use super::super::{ProblemFacts, SampleFact};
    use super::*;

    fn facts(samples: &[&str]) -> Facts {
        Facts {
            models: vec!["m".into()],
            problems: (samples.iter().enumerate())
                .map(|(index, samples)| ProblemFacts {
                    id: format!("p{index}"),
                    samples: vec![samples.chars().map(fact).collect()],
                })
                .collect(),
            ..Facts::default()
        }
    }

    /// `+` right, `-` wrong, `?` a failure of ours.
    fn fact(outcome: char) -> SampleFact {
        match outcome {
            '+' => SampleFact::accepted(Some(1.0)),
            '-' => SampleFact::without_runtime(Outcome::Rejected),
            _ => SampleFact::without_runtime(Outcome::Unknown),
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
        let pass = score(&facts(&["+", "--+-"]), 0, 1);
        assert!((pass.value.unwrap() - 0.625).abs() < 1e-15);
        assert_eq!(pass.problems, 2);
    }

    #[test]
    fn too_few_samples_refuse_the_metric_for_the_model() {
        let pass = score(&facts(&["+-", "-"]), 0, 2);
        assert_eq!(pass.value, None);
        assert_eq!(
            pass.refused.as_deref(),
            Some("problem `p1` has 1 samples of `m`, and pass@2 needs 2")
        );
    }

    #[test]
    fn failures_of_ours_leave_the_denominator() {
        let pass = score(&facts(&["?+", "??", "", "--"]), 0, 1);
        assert!((pass.value.unwrap() - 0.5).abs() < 1e-15);
        let left_out: Vec<_> = (pass.left_out.iter())
            .map(|l| (l.problem.as_str(), l.reason.as_str()))
            .collect();
        assert_eq!(
            left_out,
            [
                ("p1", "failures of ours leave 0 of 2 samples"),
                ("p2", "no sample")
            ]
        );
        assert!(score(&facts(&[]), 0, 1).refused.is_some());
    }
}
