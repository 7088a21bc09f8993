//! DPS: the share of the reference solutions that a sample is at least as fast as (Liu et al. 2024, "Evaluating
//! Language Models for Efficient Code Generation", EvalPerf).
//!
//! The reference solutions of a problem (the right samples of the reference model) are sorted and cut into clusters
//! where one is slower than its faster neighbour by more than 20%. A sample that is at least as fast as the slowest
//! solution of a cluster is as fast as the cluster. DPS adds up the clusters' shares of the solutions, DPS_norm counts
//! every cluster alike. The population is the problems that the model solves; its first accepted sample is taken.
use super::facts::{Facts, LeftOut, SampleFact};
use super::scores::ModelScore;

/// DPS of one model; `normalised`: every cluster counts alike.
pub(super) fn score(facts: &Facts, model: usize, gap: f64, normalised: bool) -> ModelScore {
    let name = &facts.models[model];
    let Some(reference) = facts.reference else {
        return ModelScore::refused(name, "there are no reference solutions to be compared with");
    };
    let mut values = Vec::new();
    let mut left_out = Vec::new();
    for (index, problem) in facts.problems.iter().enumerate() {
        let times: Vec<f64> = (problem.samples[reference].iter())
            .filter_map(SampleFact::time)
            .collect();
        let read = match Facts::first_accepted(&problem.samples[model]) {
            Err(reason) => Err(format!("`{name}`: {reason}")),
            Ok(_) if times.is_empty() => {
                Err(format!("`{}`: no accepted sample", facts.models[reference]))
            }
            Ok((_, time)) => Ok(differential_score(times, time, gap, normalised)),
        };
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

fn differential_score(mut times: Vec<f64>, time: f64, gap: f64, normalised: bool) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    let clusters: Vec<&[f64]> = times
        .chunk_by(|faster, slower| *slower <= faster * (1.0 + gap))
        .collect();
    let reached = clusters
        .iter()
        .filter(|cluster| cluster.last().is_some_and(|&slowest| time <= slowest));
    if normalised {
        reached.count() as f64 / clusters.len() as f64
    } else {
        reached.map(|cluster| cluster.len()).sum::<usize>() as f64 / times.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_reached_from_the_slowest_on() {
        // 100, 110, 125 | 200 | 1000: gaps 10%, 14%, 60%, 400%. At 120 all clusters are reached; at 150 the last two,
        // 2 of 5 solutions, 2 of 3 clusters; at 1001 none.
        let dps = |time, normalised| {
            differential_score(
                vec![1000.0, 110.0, 100.0, 200.0, 125.0],
                time,
                0.2,
                normalised,
            )
        };
        assert_eq!((dps(120.0, false), dps(120.0, true)), (1.0, 1.0));
        assert_eq!(dps(150.0, false), 0.4);
        assert!((dps(150.0, true) - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!(dps(1001.0, false), 0.0);
    }
}
