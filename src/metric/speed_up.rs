//! Speed-up: how much faster an answer is than the one that it was to improve (Shypula et al. 2024, "Learning
//! Performance-Improving Code Edits", PIE).
//!
//! The old runtime is that of the base's first accepted sample: the model that the answers were asked to improve or,
//! for a model without a base, the reference. The population is the problems that the base solves.
use super::facts::{Facts, LeftOut, Outcome, SampleFact};
use super::scores::ModelScore;

/// The mean speed-up of the best of the first k samples, where a wrong or slower answer counts as 1: one would keep the
/// old program.
pub(super) fn clamped(facts: &Facts, model: usize, k: usize) -> ModelScore {
    over_solved(facts, model, |old, samples| {
        let best = best_of(samples, k)?;
        Ok(best.map_or(1.0, |new| (old / new).max(1.0)))
    })
}

/// The mean of the speed-up as it is, below 1 where the answer is slower, of the first accepted sample.
pub(super) fn unclamped(facts: &Facts, model: usize) -> ModelScore {
    over_solved(facts, model, |old, samples| {
        let (_, new) = Facts::first_accepted(samples)?;
        Ok(old / new.max(f64::MIN_POSITIVE))
    })
}

/// %Opt: the share of problems where the best of the first k samples is right and its speed-up at least 1 + `margin`.
pub(super) fn optimised(facts: &Facts, model: usize, k: usize, margin: f64) -> ModelScore {
    over_solved(facts, model, |old, samples| {
        let best = best_of(samples, k)?;
        // As a difference: 1.1 is no binary number, and exactly 10% would be lost.
        let faster = best.is_some_and(|new| old - new >= margin * new);
        Ok(if faster { 1.0 } else { 0.0 })
    })
}

/// The shortest runtime of the accepted ones among the first k samples; `None` if none is accepted.
fn best_of(samples: &[SampleFact], k: usize) -> Result<Option<f64>, &'static str> {
    let first = samples.get(..k).ok_or("fewer samples than k")?;
    if first
        .iter()
        .any(|sample| sample.outcome == Outcome::Unknown)
    {
        return Err("a failure of ours among the samples");
    }
    if first
        .iter()
        .any(|sample| sample.is_accepted() && sample.runtime.is_none())
    {
        return Err("no timed call in an accepted sample");
    }
    let times = first.iter().filter_map(SampleFact::time);
    Ok(times
        .map(|time| time.max(f64::MIN_POSITIVE))
        .min_by(f64::total_cmp))
}

fn over_solved(
    facts: &Facts,
    model: usize,
    value: impl Fn(f64, &[SampleFact]) -> Result<f64, &'static str>,
) -> ModelScore {
    let name = &facts.models[model];
    let Some(base) = facts.base(model).or(facts.reference) else {
        return ModelScore::refused(
            name,
            format!("`{name}` has no base to be compared with, and there is no reference"),
        );
    };
    if base == model {
        return ModelScore::refused(name, "it is the base of the comparison");
    }
    let mut values = Vec::new();
    let mut left_out = Vec::new();
    for (index, problem) in facts.problems.iter().enumerate() {
        let read = Facts::first_accepted(&problem.samples[base])
            .map_err(|reason| format!("`{}`: {reason}", facts.models[base]))
            .and_then(|(_, old)| {
                let samples = &problem.samples[model];
                if samples.is_empty() {
                    return Err(format!("`{name}`: no sample"));
                }
                value(old, samples).map_err(|reason| format!("`{name}`: {reason}"))
            });
        match read {
            Ok(value) => values.push((index, value)),
            Err(reason) => left_out.push(LeftOut {
                problem: problem.id.clone(),
                reason,
            }),
        }
    }
    ModelScore::of(name, values, left_out)
}
