//! Scores: the values of a metric, with population, interval and what is left out.
use super::facts::LeftOut;
use crate::stats::{Interval, percentile_interval};

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
        let mean_of = |drawn: &[usize]| {
            let mut counts = vec![0_u32; problems.len()];
            for &place in drawn {
                counts[place] += 1;
            }
            // A resample without a problem of any group says nothing; the value itself moves no end of the interval.
            mean_of_means(&groups, |place| counts[place])
                .or(self.value)
                .unwrap_or(0.0)
        };
        self.interval = percentile_interval(problems.len(), mean_of, 0.95, resamples, seed).ok();
    }
}

/// The arithmetic mean; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| crate::stats::mean(values))
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

    #[test]
    fn the_interval_is_about_that_of_the_normal_distribution() {
        // 400 values 0 and 1 in equal parts: the mean 0.5 has the standard error 0.5 / 20 = 0.025, so that 95% are
        // within 1.96 x 0.025 = 0.049.
        let values = (0..400).map(|index| (index, f64::from(index as u32 % 2)));
        let mut score = ModelScore::of("m", values.collect(), Vec::new());
        score.add_interval(4000, 7);
        let interval = score.interval.unwrap();
        assert!((interval.low - 0.451).abs() < 0.005, "{interval:?}");
        assert!((interval.high - 0.549).abs() < 0.005, "{interval:?}");
        let mut again = score.clone();
        again.add_interval(4000, 7);
        assert_eq!(again, score);
        again.add_interval(4000, 8);
        assert_ne!(again, score);
        // One problem tells nothing of the spread.
        let mut one = ModelScore::of("m", vec![(3, 1.0)], Vec::new());
        one.add_interval(100, 0);
        assert_eq!(one.interval, None);
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
