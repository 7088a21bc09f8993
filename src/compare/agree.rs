//! Native against simulated: do they order the same programs the same way?
use super::Outcome;
use crate::stats::{kendall_tau_b, mean, median, spearman};
use serde::Serialize;

/// One pair of entrants on one task, compared by both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreementPair {
    /// Name of the task.
    pub task: String,
    /// Names of the first and the second entrant.
    pub entrants: [String; 2],
    /// Times of both by the reference (native or gem5), in its unit.
    pub reference: [f64; 2],
    /// Times of both by the simulator, in its unit.
    pub simulated: [f64; 2],
    /// What the reference says of the second entrant; from noisy runs it may be undecided.
    pub outcome: Outcome,
}

impl AgreementPair {
    /// Speed-up of the second over the first by the reference.
    pub fn reference_speed_up(&self) -> f64 {
        self.reference[0] / self.reference[1]
    }

    /// Speed-up of the second over the first by the simulator.
    pub fn simulated_speed_up(&self) -> f64 {
        self.simulated[0] / self.simulated[1]
    }

    /// `ln` of the simulated speed-up over that of the reference: 0 where both agree.
    pub fn log_error(&self) -> f64 {
        self.simulated_speed_up().ln() - self.reference_speed_up().ln()
    }

    fn signs_agree(&self) -> bool {
        (self.simulated_speed_up() > 1.0) == (self.outcome == Outcome::Faster)
            && self.simulated_speed_up() != 1.0
    }

    fn is_decided(&self) -> bool {
        matches!(self.outcome, Outcome::Faster | Outcome::Slower)
    }
}

/// How well two backends agree over pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Pairs that were compared.
    pub pairs: usize,
    /// Spearman's correlation of all times; absent where it is not defined.
    pub spearman_times: Option<f64>,
    /// Kendall's tau-b of the speed-ups.
    pub kendall_speed_ups: Option<f64>,
    /// Spearman's correlation of the speed-ups.
    pub spearman_speed_ups: Option<f64>,
    /// Mean over tasks with at least three entrants of Kendall's tau-b of the times within the task; absent without one.
    pub kendall_within_tasks: Option<f64>,
    /// How many tasks that is the mean of.
    pub tasks_ranked: usize,
    /// Pairs whose difference the reference decides.
    pub decided: usize,
    /// Those of them whose sign the simulator has as well.
    pub signs_agree: usize,
    /// Mean of the absolute log errors of the speed-ups, as a factor: `exp(mean |ln|)`.
    pub mean_error_factor: f64,
    /// Their median, as a factor.
    pub median_error_factor: f64,
    /// The largest, as a factor.
    pub worst_error_factor: f64,
    /// The pairs with the largest log errors, worst first: indices into the pairs.
    pub outliers: Vec<usize>,
}

/// Sums up the pairs; `None` without one.
pub fn agree(pairs: &[AgreementPair]) -> Option<Agreement> {
    if pairs.is_empty() {
        return None;
    }
    let errors: Vec<f64> = pairs.iter().map(|pair| pair.log_error().abs()).collect();
    let mut outliers: Vec<usize> = (0..pairs.len()).collect();
    outliers.sort_by(|&a, &b| errors[b].total_cmp(&errors[a]));
    outliers.truncate(5);
    let times = times(pairs);
    let (reference, simulated): (Vec<f64>, Vec<f64>) = times
        .iter()
        .map(|&(_, _, reference, simulated)| (reference, simulated))
        .unzip();
    let speed_ups: Vec<_> = pairs
        .iter()
        .map(AgreementPair::reference_speed_up)
        .collect();
    let simulated_speed_ups: Vec<_> = pairs
        .iter()
        .map(AgreementPair::simulated_speed_up)
        .collect();
    let within = within_tasks(&times);
    let decided = || pairs.iter().filter(|pair| pair.is_decided());
    Some(Agreement {
        pairs: pairs.len(),
        spearman_times: spearman(&reference, &simulated),
        kendall_speed_ups: kendall_tau_b(&speed_ups, &simulated_speed_ups),
        spearman_speed_ups: spearman(&speed_ups, &simulated_speed_ups),
        kendall_within_tasks: (!within.is_empty()).then(|| mean(&within)),
        tasks_ranked: within.len(),
        decided: decided().count(),
        signs_agree: decided().filter(|pair| pair.signs_agree()).count(),
        mean_error_factor: mean(&errors).exp(),
        median_error_factor: median(&errors).exp(),
        worst_error_factor: errors.iter().copied().fold(0.0, f64::max).exp(),
        outliers,
    })
}

/// Task, entrant and both times, each entrant of a task once.
fn times(pairs: &[AgreementPair]) -> Vec<(&str, &str, f64, f64)> {
    let mut times: Vec<(&str, &str, f64, f64)> = Vec::new();
    for pair in pairs {
        for side in 0..2 {
            let (task, name) = (pair.task.as_str(), pair.entrants[side].as_str());
            if !times.iter().any(|&(t, n, ..)| (t, n) == (task, name)) {
                times.push((task, name, pair.reference[side], pair.simulated[side]));
            }
        }
    }
    times
}

fn within_tasks(times: &[(&str, &str, f64, f64)]) -> Vec<f64> {
    let mut names: Vec<&str> = times.iter().map(|entry| entry.0).collect();
    names.sort_unstable();
    names.dedup();
    (names.into_iter())
        .filter_map(|name| {
            let (reference, simulated): (Vec<f64>, Vec<f64>) = (times.iter())
                .filter(|entry| entry.0 == name)
                .map(|entry| (entry.2, entry.3))
                .unzip();
            (reference.len() >= 3).then(|| kendall_tau_b(&reference, &simulated))?
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(
        task: &str,
        reference: [f64; 2],
        simulated: [f64; 2],
        outcome: Outcome,
    ) -> AgreementPair {
        AgreementPair {
            task: task.to_owned(),
            entrants: ["a".to_owned(), "b".to_owned()],
            reference,
            simulated,
            outcome,
        }
    }

    #[test]
    fn agreement_is_counted_over_decided_pairs_and_errors_are_factors() {
        let pairs = [
            pair("one", [2.0, 1.0], [4.0, 2.0], Outcome::Faster),
            pair("two", [3.0, 1.0], [6.0, 4.0], Outcome::Faster),
            pair("three", [1.0, 1.0], [1.0, 2.0], Outcome::Undecided),
            pair("four", [1.0, 2.0], [2.0, 1.0], Outcome::Slower),
        ];
        let agreement = agree(&pairs).unwrap();
        assert_eq!(
            (agreement.pairs, agreement.decided, agreement.signs_agree),
            (4, 3, 2)
        );
        // Factors: 1, 2, 2 and 4: the mean of 0, ln 2, ln 2, 2 ln 2 is ln 2.
        assert!((agreement.mean_error_factor - 2.0).abs() < 1e-12);
        assert!((agreement.median_error_factor - 2.0).abs() < 1e-12);
        assert!((agreement.worst_error_factor - 4.0).abs() < 1e-12);
        assert_eq!(agreement.outliers[0], 3);
        assert_eq!(
            (agreement.kendall_within_tasks, agreement.tasks_ranked),
            (None, 0)
        );
        assert_eq!(agree(&[]), None);
    }
}
