//! NET, NMU and NTMU: time, peak memory and memory integrated over time, relative to the reference solution (Huang et
//! al. 2024, "EffiBench").
//!
//! The population is the problems that both the model and the reference solve; the first accepted sample is taken.
use super::facts::{Facts, LeftOut, SampleFact};
use super::scores::ModelScore;

/// Normalised execution time.
pub(super) fn time(facts: &Facts, model: usize) -> ModelScore {
    relative(facts, model, "runtime", |sample| sample.runtime)
}

/// Normalised peak memory, of the whole runs.
pub(super) fn peak_memory(facts: &Facts, model: usize) -> ModelScore {
    relative(facts, model, "peak memory", |sample| {
        sample.whole.peak_memory
    })
}

/// Normalised memory-time, of the whole runs.
pub(super) fn memory_time(facts: &Facts, model: usize) -> ModelScore {
    relative(facts, model, "memory-time", |sample| {
        sample.whole.memory_time
    })
}

fn relative(
    facts: &Facts,
    model: usize,
    what: &str,
    of: fn(&SampleFact) -> Option<f64>,
) -> ModelScore {
    let name = &facts.models[model];
    let Some(reference) = facts.reference else {
        return ModelScore::refused(name, "there is no reference solution to be compared with");
    };
    let mut values = Vec::new();
    let mut left_out = Vec::new();
    for (index, problem) in facts.problems.iter().enumerate() {
        let one = |model: usize| {
            let read = Facts::first_accepted(&problem.samples[model]);
            read.map_err(|reason| format!("`{}`: {reason}", facts.models[model]))
                .and_then(|(sample, _)| {
                    of(sample)
                        .filter(|figure| *figure > 0.0)
                        .ok_or_else(|| format!("`{}`: no {what}", facts.models[model]))
                })
        };
        match one(reference).and_then(|reference| Ok(one(model)? / reference)) {
            Ok(value) => values.push((index, value)),
            Err(reason) => left_out.push(LeftOut {
                problem: problem.id.clone(),
                reason,
            }),
        }
    }
    ModelScore::of(name, values, left_out)
}
