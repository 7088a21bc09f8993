//! From the runs of two entrants to a decision, and from decisions to a verdict on the whole.
use crate::stats::{
    Alternative, DeltaSize, Interval, StatsError, bca_interval, cliffs_delta, mean, paired_shift,
    rounds_to_decide, wilcoxon_signed_rank,
};
use serde::Serialize;

/// Resamples of a bootstrap interval over tasks.
const RESAMPLES: usize = 10_000;

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rules {
    /// Highest p-value at which a difference is called one.
    pub level: f64,
    /// Share of the time, 0 to below 1, within which two entrants are called equal if the whole interval lies there.
    pub equal_within: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            level: 0.05,
            equal_within: 0.01,
        }
    }
}

/// What is said of the second entrant, seen from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The second is faster.
    Faster,
    /// The second is slower.
    Slower,
    /// No difference was found, and the interval leaves room only for one within the margin.
    Equal,
    /// Neither.
    Undecided,
}

impl Outcome {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equal => "equal",
            Self::Undecided => "undecided",
        }
    }
}

/// A comparison of two entrants on one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// What is said of the second entrant.
    pub outcome: Outcome,
    /// Speed-up: time of the first over time of the second; above 1 the second is faster.
    pub speed_up: f64,
    /// Its interval; absent where it is exact.
    pub interval: Option<Interval>,
    /// p-value of the two-sided signed-rank test of the rounds' ratios; absent where it is exact.
    pub p: Option<f64>,
    /// Cliff's delta of the first against the second: 1 where every run of the first took longer.
    pub delta: f64,
    /// The word for it.
    pub size: DeltaSize,
    /// Rounds that would decide, estimated from these; only for an undecided comparison with any effect at all.
    pub rounds_to_decide: Option<u64>,
    /// The values are not samples of a noisy quantity: one run of a deterministic backend.
    pub exact: bool,
}

/// Decides between the positive times (or counts) of two entrants, one of each a round.
///
/// Rounds are a paired design: what else the host does meets both runs of a round, and differs from round to round. A
/// test that takes the runs for independent samples then misses differences, and errs far less than `rules.level` says
/// (measured: 0.7% of comparisons of a program with itself on a busy host). The order within a round is random, so the
/// sign of a ratio between equal entrants is a fair coin whatever the host does, which is all that the signed-rank test
/// asks for.
///
/// The speed-up is the exponential of the Hodges-Lehmann estimate of the rounds' logarithmic ratios. Faster or slower
/// is said where the two-sided signed-rank test's p is at most `rules.level`; otherwise equal where the interval (of
/// level `1 - rules.level`) lies within the margin, otherwise undecided.
///
/// # Errors
/// Too few rounds, not the same number of both, or a value that is not a positive finite number.
pub fn decide(first: &[f64], second: &[f64], rules: &Rules) -> Result<Decision, StatsError> {
    let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (a, b) = (logarithms(first), logarithms(second));
    let test = wilcoxon_signed_rank(&a, &b, Alternative::TwoSided)?;
    let (shift, interval) = paired_shift(&a, &b, 1.0 - rules.level)?;
    let interval = Interval {
        low: interval.low.exp(),
        high: interval.high.exp(),
        level: interval.level,
    };
    let delta = cliffs_delta(&a, &b)?;
    let margin = 1.0 + rules.equal_within;
    let outcome = if test.p <= rules.level {
        if shift > 0.0 {
            Outcome::Faster
        } else {
            Outcome::Slower
        }
    } else if interval.low >= 1.0 / margin && interval.high <= margin {
        Outcome::Equal
    } else {
        Outcome::Undecided
    };
    let rounds_to_decide = if outcome == Outcome::Undecided {
        rounds_to_decide(&a, &b, rules.level, 0.8)?
    } else {
        None
    };
    Ok(Decision {
        outcome,
        speed_up: shift.exp(),
        interval: Some(interval),
        p: Some(test.p),
        delta,
        size: DeltaSize::of(delta),
        rounds_to_decide,
        exact: false,
    })
}

/// The decision between two exact values: any difference is one.
pub fn exact(first: f64, second: f64) -> Decision {
    let (outcome, delta) = if second < first {
        (Outcome::Faster, 1.0)
    } else if second > first {
        (Outcome::Slower, -1.0)
    } else {
        (Outcome::Equal, 0.0)
    };
    Decision {
        outcome,
        speed_up: first / second,
        interval: None,
        p: None,
        delta,
        size: DeltaSize::of(delta),
        rounds_to_decide: None,
        exact: true,
    }
}

/// What the decisions on many tasks say together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// Tasks on which both were accepted.
    pub tasks: usize,
    /// Geometric mean of the speed-ups.
    pub speed_up: f64,
    /// Its bootstrap interval (BCa) over tasks, level 0.95; absent for fewer than two tasks.
    pub interval: Option<Interval>,
    /// p-value of the two-sided Wilcoxon signed-rank test that the logarithms of the speed-ups lie around 0.
    pub p: f64,
    /// Tasks on which the second is faster, slower, equal, undecided.
    pub faster: usize,
    /// See `faster`.
    pub slower: usize,
    /// See `faster`.
    pub equal: usize,
    /// See `faster`.
    pub undecided: usize,
}

/// Sums up the decisions of the tasks on which both entrants were accepted; `None` without one.
///
/// # Errors
/// A speed-up that is not a positive finite number.
pub fn overall(decisions: &[&Decision], seed: u64) -> Result<Option<Overall>, StatsError> {
    if decisions.is_empty() {
        return Ok(None);
    }
    let logarithms: Vec<f64> = decisions.iter().map(|d| d.speed_up.ln()).collect();
    let zeros = vec![0.0; logarithms.len()];
    let test = wilcoxon_signed_rank(&logarithms, &zeros, Alternative::TwoSided)?;
    let geometric = |drawn: &[usize]| {
        mean(
            &drawn
                .iter()
                .map(|&index| logarithms[index])
                .collect::<Vec<_>>(),
        )
        .exp()
    };
    let interval = if logarithms.len() < 2 {
        None
    } else {
        Some(bca_interval(
            logarithms.len(),
            geometric,
            0.95,
            RESAMPLES,
            seed,
        )?)
    };
    let count = |outcome| decisions.iter().filter(|d| d.outcome == outcome).count();
    Ok(Some(Overall {
        tasks: decisions.len(),
        speed_up: mean(&logarithms).exp(),
        interval,
        p: test.p,
        faster: count(Outcome::Faster),
        slower: count(Outcome::Slower),
        equal: count(Outcome::Equal),
        undecided: count(Outcome::Undecided),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 30 times around `center` with a spread of about one percent and no two equal.
    fn times(center: f64, seed: u64) -> Vec<f64> {
        let mut random = crate::stats::SplitMix::new(seed);
        (0..30)
            .map(|_| center * (1.0 + (random.below(20_000) as f64 - 10_000.0) / 1e6))
            .collect()
    }

    #[test]
    fn a_clear_difference_is_decided_with_its_size() {
        let decision = decide(&times(200.0, 1), &times(100.0, 2), &Rules::default()).unwrap();
        assert_eq!(decision.outcome, Outcome::Faster);
        assert!((decision.speed_up - 2.0).abs() < 0.01, "{decision:?}");
        assert_eq!((decision.delta, decision.size), (1.0, DeltaSize::Large));
        let interval = decision.interval.unwrap();
        assert!(interval.low > 1.98 && interval.high < 2.02 && interval.low < interval.high);
        assert!(decision.p.unwrap() < 1e-8 && decision.rounds_to_decide.is_none());
        let other = decide(&times(100.0, 2), &times(200.0, 1), &Rules::default()).unwrap();
        assert_eq!((other.outcome, other.delta), (Outcome::Slower, -1.0));
    }

    #[test]
    fn no_difference_is_equal_within_the_margin_or_undecided_beyond_it() {
        let (a, b) = (times(100.0, 3), times(100.0, 4));
        let rules = Rules::default();
        assert_eq!(decide(&a, &b, &rules).unwrap().outcome, Outcome::Equal);
        let narrow = Rules {
            equal_within: 0.0001,
            ..rules
        };
        let decision = decide(&a, &b, &narrow).unwrap();
        assert_eq!(decision.outcome, Outcome::Undecided);
        assert!(decision.rounds_to_decide.unwrap() > 30);
        assert!(decide(&[0.0; 30], &b, &rules).is_err());
        assert!(decide(&[], &b, &rules).is_err());
    }

    #[test]
    fn exact_values_need_no_statistics() {
        let decision = exact(200.0, 199.0);
        assert!(decision.exact && decision.p.is_none() && decision.interval.is_none());
        assert_eq!(decision.outcome, Outcome::Faster);
        assert_eq!(exact(5.0, 5.0).outcome, Outcome::Equal);
    }

    #[test]
    fn the_whole_is_a_geometric_mean_with_counts() {
        let decisions = [exact(2.0, 1.0), exact(8.0, 1.0), exact(1.0, 4.0)];
        let all: Vec<_> = decisions.iter().collect();
        let overall_result = overall(&all, 1).unwrap().unwrap();
        // (2 x 8 / 4)^(1/3)
        assert!((overall_result.speed_up - 4.0_f64.powf(1.0 / 3.0)).abs() < 1e-12);
        assert_eq!((overall_result.faster, overall_result.slower), (2, 1));
        // Ranks of |ln|: 1, 3, 2; the positive ones sum to 4 of 6: two-sided p = 6/8.
        assert!((overall_result.p - 0.75).abs() < 1e-12);
        assert_eq!(overall(&[], 1).unwrap(), None);
    }
}
