//! Cliff's delta: how far two samples stand apart, on a scale without a unit.
use super::{StatsError, check};
use serde::Serialize;

/// Cliff's delta: the share of pairs in which the first is larger less the share in which it is smaller, -1 to 1.
///
/// Cliff 1993, "Dominance statistics: ordinal analyses to answer ordinal questions".
///
/// # Errors
/// An empty sample, or a value that is not finite.
pub fn cliffs_delta(first: &[f64], second: &[f64]) -> Result<f64, StatsError> {
    check(first, 1)?;
    check(second, 1)?;
    let mut sorted = second.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut dominance = 0_i64;
    for value in first {
        let below = sorted.partition_point(|other| other < value);
        let above = sorted.len() - sorted.partition_point(|other| other <= value);
        dominance += below as i64 - above as i64;
    }
    Ok(dominance as f64 / (first.len() as f64 * second.len() as f64))
}

/// The word for a delta, by the thresholds of Romano et al. 2006 ("Appropriate statistics for ordinal level data").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaSize {
    /// |delta| below 0.147.
    Negligible,
    /// Below 0.33.
    Small,
    /// Below 0.474.
    Medium,
    /// From 0.474 on.
    Large,
}

impl DeltaSize {
    /// The word for this delta.
    pub fn of(delta: f64) -> Self {
        let size = delta.abs();
        if size < 0.147 {
            Self::Negligible
        } else if size < 0.33 {
            Self::Small
        } else if size < 0.474 {
            Self::Medium
        } else {
            Self::Large
        }
    }

    /// The word itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::Negligible => "negligible",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted() {
        // 1 against {1, 2}: 0 larger, 1 smaller; 3 against {1, 2}: 2 larger; (2 - 1) / 4.
        assert_eq!(cliffs_delta(&[1.0, 3.0], &[1.0, 2.0]).unwrap(), 0.25);
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]).unwrap(), -1.0);
        assert_eq!(cliffs_delta(&[1.0; 3], &[1.0; 4]).unwrap(), 0.0);
        // 2 U / (n m) - 1, with U = 27 of the Mann-Whitney test's example: 54 / 30 - 1.
        let a = [19.0, 22.5, 16.0, 29.0, 24.0, 21.0];
        let b = [20.0, 11.0, 17.0, 12.0, 13.5];
        crate::stats::close(cliffs_delta(&a, &b).unwrap(), 0.8);
    }

    #[test]
    fn thresholds_belong_to_the_larger_word() {
        for (delta, size) in [
            (0.1469, DeltaSize::Negligible),
            (-0.147, DeltaSize::Small),
            (0.33, DeltaSize::Medium),
            (-0.474, DeltaSize::Large),
        ] {
            assert_eq!(DeltaSize::of(delta), size);
        }
    }
}
