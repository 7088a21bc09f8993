//! Beyond: where a sample stands between the slowest and the fastest right sample of its problem.
//!
//! `(f(t_max) - f(t)) / (f(t_max) - f(t_min))` with f linear (Du et al. 2024, "Mercury") or the logarithm
//! (DSEffi-Bench), or by rank, `(n - r) / (n - 1)` with r = 1 for the fastest of n, ties sharing the better rank. The
//! spectrum is every right sample of every model, the reference included, so a new model moves all values. A wrong
//! sample has 0. Where all are equally fast, or one is alone, the value is 1, and the score says how often.
//!
//! A problem's value is the mean over the model's judged samples.
use super::facts::{Facts, LeftOut, Outcome, SampleFact};
use super::kind::Scale;
use super::scores::{ModelScore, mean};

/// Beyond of one model; `passed`: over right samples only (Beyond given Pass).
pub(super) fn score(facts: &Facts, model: usize, scale: Scale, passed: bool) -> ModelScore {
    let name = &facts.models[model];
    let mut values = Vec::new();
    let mut left_out = Vec::new();
    let mut flat = 0;
    for (index, problem) in facts.problems.iter().enumerate() {
        let mut spectrum: Vec<f64> = (problem.samples.iter().flatten())
            .filter_map(SampleFact::time)
            .collect();
        spectrum.sort_unstable_by(f64::total_cmp);
        let judged: Vec<f64> = (problem.samples[model].iter())
            .filter_map(|sample| match sample.outcome {
                Outcome::Accepted => sample.runtime.map(|time| place(&spectrum, time, scale)),
                Outcome::Unknown => None,
                Outcome::Rejected | Outcome::TimedOut => (!passed).then_some(0.0),
            })
            .collect();
        match mean(&judged) {
            Some(value) => {
                let accepted = problem.samples[model].iter().any(|s| s.time().is_some());
                flat += usize::from(accepted && spectrum.first() == spectrum.last());
                values.push((index, value));
            }
            None => left_out.push(LeftOut {
                problem: problem.id.clone(),
                reason: format!(
                    "`{name}`: no {} sample",
                    if passed { "accepted" } else { "judged" }
                ),
            }),
        }
    }
    let mut score = ModelScore::of(name, values, left_out);
    if flat > 0 {
        score.notes.push(format!(
            "{flat} problems have one right runtime only and count as 1"
        ));
    }
    score
}

/// The place of a runtime in the sorted runtimes, 0 for the slowest to 1 for the fastest.
fn place(spectrum: &[f64], time: f64, scale: Scale) -> f64 {
    let (Some(&fastest), Some(&slowest)) = (spectrum.first(), spectrum.last()) else {
        return 1.0;
    };
    if fastest >= slowest {
        return 1.0;
    }
    match scale {
        Scale::Linear => (slowest - time) / (slowest - fastest),
        Scale::Log => {
            // A runtime is at least 1 in its unit; where a mean is below, its logarithm would run away.
            let log = |time: f64| time.max(1.0).ln();
            if log(slowest) <= log(fastest) {
                return 1.0;
            }
            (log(slowest) - log(time)) / (log(slowest) - log(fastest))
        }
        Scale::Rank => {
            let faster = spectrum.partition_point(|&other| other < time);
            let n = spectrum.len();
            (n - 1 - faster) as f64 / (n - 1) as f64
        }
    }
}
