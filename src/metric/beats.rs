//! %Beats: the share of a given distribution of solutions that is slower, as LeetCode shows it.
//!
//! The distribution is the right samples of the reference model. The population is the problems that the model solves;
//! the first accepted sample is taken.
use super::facts::{Facts, LeftOut, SampleFact};
use super::scores::ModelScore;

/// %Beats of one model.
pub(super) fn score(facts: &Facts, model: usize) -> ModelScore {
    let name = &facts.models[model];
    let Some(reference) = facts.reference else {
        return ModelScore::refused(name, "there is no reference to be compared with");
    };
    let mut values = Vec::new();
    let mut left_out = Vec::new();
    for (index, problem) in facts.problems.iter().enumerate() {
        let others: Vec<f64> = (problem.samples[reference].iter())
            .filter_map(SampleFact::time)
            .collect();
        let reason = match Facts::first_accepted(&problem.samples[model]) {
            Ok(_) if others.is_empty() => {
                format!("`{}`: no accepted sample", facts.models[reference])
            }
            Ok((_, time)) => {
                let slower = others.iter().filter(|&&other| other > time).count();
                values.push((index, slower as f64 / others.len() as f64));
                continue;
            }
            Err(reason) => format!("`{name}`: {reason}"),
        };
        left_out.push(LeftOut {
            problem: problem.id.clone(),
            reason,
        });
    }
    ModelScore::of(name, values, left_out)
}
