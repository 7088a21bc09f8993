//! eff@k: the expected efficiency of the best of k samples (Qiu et al. 2024, "How Efficient is LLM-Generated Code? A
//! Rigorous & High-Standard Benchmark", ENAMEL).
//!
//! With T = 2 x the longest reference time of the problem, a sample's efficiency at level l is
//! `max(0, T - max t_l) / (T - max ref_l)`, and 0 from the first level on that does not end within T; its efficiency
//! is the mean over the levels by their weights, and 0 where it is wrong. With the efficiencies e_(1) <= ... <= e_(n)
//! of n samples, `eff@k = sum over r = k..n of C(r - 1, k - 1) / C(n, k) * e_(r)` (the paper's equation 8, with the
//! variance reduced by Rao-Blackwell).
use super::facts::{Facts, LeftOut, Outcome, SampleFact};
use super::kind::Settings;
use super::scores::ModelScore;

/// eff@k of one model against the reference.
pub(super) fn score(facts: &Facts, model: usize, k: usize, settings: &Settings) -> ModelScore {
    let name = &facts.models[model];
    let Some(reference) = facts.reference else {
        return ModelScore::refused(name, "there is no reference solution to be compared with");
    };
    let mut values = Vec::new();
    let mut left_out = Vec::new();
    for (index, problem) in facts.problems.iter().enumerate() {
        let leave = |reason: String| LeftOut {
            problem: problem.id.clone(),
            reason,
        };
        let reference = match Facts::first_accepted(&problem.samples[reference]) {
            Ok((sample, _)) => &sample.levels,
            Err(reason) => {
                left_out.push(leave(format!("`{}`: {reason}", facts.models[reference])));
                continue;
            }
        };
        let samples = &problem.samples[model];
        let known: Vec<&SampleFact> = (samples.iter())
            .filter(|sample| sample.outcome != Outcome::Unknown)
            .collect();
        if samples.is_empty() {
            left_out.push(leave(format!("`{name}`: no sample")));
            continue;
        }
        if samples.len() < k {
            return ModelScore::refused(
                name,
                format!(
                    "problem `{}` has {} samples of `{name}`, and eff@{k} needs {k}",
                    problem.id,
                    samples.len()
                ),
            );
        }
        if known.len() < k {
            left_out.push(leave(format!(
                "failures of ours leave {} of {} samples",
                known.len(),
                samples.len()
            )));
            continue;
        }
        // A sample that ended by the limit has credit for the levels before it.
        if (known.iter()).any(|sample| sample.screened && sample.outcome == Outcome::TimedOut) {
            left_out.push(leave(format!(
                "`{name}`: a sample that ended by the limit did not run on this machine (screening), so that the levels \
                 that it passed have no time"
            )));
            continue;
        }
        let mut efficiencies: Vec<f64> = (known.iter())
            .map(|sample| efficiency(sample, reference, settings))
            .collect();
        values.push((index, expected_best(&mut efficiencies, k)));
    }
    ModelScore::of(name, values, left_out)
}

/// The efficiency of one sample, 0 to about 1 (above, where it is faster than the reference).
fn efficiency(sample: &SampleFact, reference: &[f64], settings: &Settings) -> f64 {
    if sample.outcome == Outcome::Rejected {
        return 0.0;
    }
    let reference_levels = reference.len();
    let longest = reference.iter().copied().fold(0.0, f64::max);
    let limit = settings.time_limit_factor * longest;
    let mut sum = 0.0;
    let mut weights = 0.0;
    let mut timed_out = false;
    for (level, &reference) in reference.iter().enumerate() {
        // A problem with one level has nothing to weigh.
        let listed = settings.level_weights.get(level);
        let weight = match listed.or(settings.level_weights.last()) {
            Some(&weight) if reference_levels > 1 => weight,
            _ => 1.0,
        };
        weights += weight;
        match sample.levels.get(level) {
            Some(&time) if !timed_out && time < limit => {
                sum += weight * (limit - time) / (limit - reference);
            }
            _ => timed_out = true,
        }
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The expected largest of k values that are drawn from these without replacement; sorts them.
fn expected_best(values: &mut [f64], k: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    // C(r - 1, k - 1) / C(n, k) falls from r = n on: k / n, then by (r - k) / (r - 1) at each step down.
    let mut share = k as f64 / n as f64;
    let mut expected = 0.0;
    for r in (k..=n).rev() {
        expected += share * values[r - 1];
        if r > 1 {
            share *= (r - k) as f64 / (r - 1) as f64;
        }
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_best_equals_the_value_computed_by_hand() {
        // Of 0.1, 0.4, 0.7 two are drawn: the larger is 0.4 in one of three draws and 0.7 in two: (0.4 + 1.4) / 3.
        assert!((expected_best(&mut [0.7, 0.1, 0.4], 2) - 0.6).abs() < 1e-15);
        assert!((expected_best(&mut [0.7, 0.1, 0.4], 1) - 0.4).abs() < 1e-15);
        assert!((expected_best(&mut [0.7, 0.1, 0.4], 3) - 0.7).abs() < 1e-15);
        assert!((expected_best(&mut [0.5], 1) - 0.5).abs() < 1e-15);
    }
}
