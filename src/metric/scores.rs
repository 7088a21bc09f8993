//! Scores: the values of a metric, with population, interval and what is left out.
use super::facts::LeftOut;
use crate::stats::{Interval, Random, quantile};

/// The values of one metric for all models.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Scores {
    /// Name of the metric, as on the command line.
    pub metric: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// The models, in the order of the facts.
    pub models: Vec<ModelScore>,
    /// Problems that are left out for every model alike; what one model alone leaves out stands with it.
    pub left_out: Vec<LeftOut>,
}

/// Unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A part of 1, shown in percent.
    Fraction,
    /// Percent.
    Percent,
    /// A quotient: 1 is as fast (as large) as what it is compared with.
    Factor,
}

/// Which way a metric's values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

/// A metric's value of one model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ModelScore {
    /// The model.
    pub model: String,
    /// The value; `None` where it is refused or no problem is left.
    pub value: Option<f64>,
    /// The interval that holds the value of another choice of problems of the same kind, at 95%.
    pub interval: Option<Interval>,
    /// How many problems the value is of.
    pub problems: usize,
    /// Problems that are left out for this model.
    pub left_out: Vec<LeftOut>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What a reader must know of the value; may be empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Values by problem (its number among the facts), in groups: the value is the mean of the groups' means. All
    /// metrics but win and lose rates have one group.
    #[serde(skip)]
    pub groups: Vec<Vec<(usize, f64)>>,
}

impl ModelScore {
    /// The score of values by problem.
    pub(super) fn of(model: &str, values: Vec<(usize, f64)>, left_out: Vec<LeftOut>) -> Self {
        Self::of_groups(model, vec![values], left_out)
    }

    /// The score of groups of values by problem: the mean of the groups' means, empty groups left out.
    pub(super) fn of_groups(
        model: &str,
        groups: Vec<Vec<(usize, f64)>>,
        left_out: Vec<LeftOut>,
    ) -> Self {
        let mut problems: Vec<usize> = groups
            .iter()
            .flatten()
            .map(|(problem, _)| *problem)
            .collect();
        problems.sort_unstable();
        problems.dedup();
        Self {
            model: model.into(),
            value: mean_of_means(&groups, |_| 1),
            interval: None,
            problems: problems.len(),
            left_out,
            refused: None,
            notes: Vec::new(),
            groups,
        }
    }

    /// No value, for this reason.
    pub(super) fn refused(model: &str, reason: impl Into<String>) -> Self {
        Self {
            refused: Some(reason.into()),
            ..Self::of(model, Vec::new(), Vec::new())
        }
    }

    /// The value of each problem, by its number among the facts.
    pub fn by_problem(&self) -> impl Iterator<Item = (usize, f64)> {
        self.groups.iter().flatten().copied()
    }

    /// Computes the interval by resampling problems: the percentile bootstrap at 95%.
    ///
    /// All groups see the same resampled problems.
    pub(super) fn add_interval(&mut self, resamples: usize, seed: u64) {
        let mut problems: Vec<usize> = self
            .groups
            .iter()
            .flatten()
            .map(|(problem, _)| *problem)
            .collect();
        problems.sort_unstable();
        problems.dedup();
        if problems.len() < 2 || resamples == 0 {
            return;
        }
        // Numbers of problems become places among those of the population, so that draws are counted in a list.
        let place = |problem: usize| problems.binary_search(&problem).unwrap_or_default();
        let groups: Vec<Vec<(usize, f64)>> = (self.groups.iter())
            .map(|group| group.iter().map(|&(p, value)| (place(p), value)).collect())
            .collect();
        let mut random = Random::new(seed);
        let mut drawn = vec![0_u32; problems.len()];
        let mut means: Vec<f64> = (0..resamples)
            .filter_map(|_| {
                drawn.fill(0);
                for _ in 0..problems.len() {
                    drawn[random.below(problems.len())] += 1;
                }
                mean_of_means(&groups, |place| drawn[place])
            })
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        self.interval = quantile(&means, 0.025)
            .zip(quantile(&means, 0.975))
            .map(|(low, high)| Interval { low, high });
    }
}

/// The mean of the groups' means, where each problem counts as often as `weight` says; `None` where no group has any.
fn mean_of_means(groups: &[Vec<(usize, f64)>], weight: impl Fn(usize) -> u32) -> Option<f64> {
    let mut sum = 0.0;
    let mut counted = 0_u32;
    for group in groups {
        let mut total = 0.0;
        let mut times = 0_u64;
        for &(problem, value) in group {
            let weight = weight(problem);
            total += f64::from(weight) * value;
            times += u64::from(weight);
        }
        if times > 0 {
            sum += total / times as f64;
            counted += 1;
        }
    }
    (counted > 0).then(|| sum / f64::from(counted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean_interval;

    #[test]
    fn the_interval_of_one_group_is_that_of_a_mean() {
        let values: Vec<f64> = (0..50).map(f64::from).collect();
        let by_problem = values.iter().copied().enumerate().collect();
        let mut score = ModelScore::of("m", by_problem, Vec::new());
        score.add_interval(2000, 3);
        let interval = score.interval.unwrap();
        let plain = mean_interval(&values, 0.95, 2000, 3).unwrap();
        assert_eq!(score.value, Some(24.5));
        assert!(
            (interval.low - plain.low).abs() < 1e-9,
            "{interval:?} {plain:?}"
        );
        assert!((interval.high - plain.high).abs() < 1e-9);
    }

    #[test]
    fn groups_count_alike_whatever_their_size() {
        // Means 1 and 0: 0.5, not 1/4.
        let groups = vec![
            vec![(0, 1.0)],
            vec![(0, 0.0), (1, 0.0), (2, 0.0)],
            Vec::new(),
        ];
        let score = ModelScore::of_groups("m", groups, Vec::new());
        assert_eq!((score.value, score.problems), (Some(0.5), 3));
    }
}
