//! Statistics on slices: tests, effect sizes, intervals. Pure mathematics, without a word of the domain.
//!
//! Takes slices of finite numbers, gives values with their formula and its source in the documentation; reference
//! values in the tests come from SciPy or R and name the call. What is not a finite number is refused by
//! [`StatsError`], never ranked.
mod binomial;
mod correlation;
mod describe;
mod effect;
mod mann_whitney;
mod multiplicity;
mod planning;
mod random;
mod resample;
mod shift;
mod wilcoxon;

pub use binomial::{binomial_test, paired_binomial, sign_test};
pub use correlation::{kendall_tau_b, spearman};
pub use describe::{mean, median, quantile, ranks};
pub use effect::{DeltaSize, cliffs_delta};
pub use mann_whitney::{exact_distribution, mann_whitney_u};
pub use multiplicity::{benjamini_hochberg, holm};
pub use planning::rounds_to_decide;
pub use random::SplitMix;
pub use resample::{bca_interval, percentile_interval};
pub use shift::{hodges_lehmann, paired_shift};
pub use wilcoxon::wilcoxon_signed_rank;

use serde::Serialize;

/// The hypothesis that a test would accept: the direction in which the first sample differs from the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alternative {
    /// The first tends to be smaller.
    Less,
    /// The first tends to be larger.
    Greater,
    /// They differ, in either direction.
    TwoSided,
}

/// How a p-value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// From the distribution itself.
    Exact,
    /// From its normal approximation, with ties corrected for.
    Normal,
}

/// What a test gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// The statistic; its meaning stands at the test.
    pub statistic: f64,
    /// Probability of a statistic at least as extreme under the null hypothesis, 0 to 1.
    pub p: f64,
    /// How `p` was computed.
    pub method: Method,
}

/// An interval with its level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence level, between 0 and 1.
    pub level: f64,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// Too few values.
    #[error("{needed} values are needed, and there are {given}")]
    TooFew {
        /// How many are needed.
        needed: usize,
        /// How many there are.
        given: usize,
    },
    /// Paired samples of different lengths.
    #[error("paired samples have {first} and {second} values")]
    Unpaired {
        /// Length of the first.
        first: usize,
        /// Length of the second.
        second: usize,
    },
    /// A value is not a finite number.
    #[error("value {index} is {value}, not a finite number")]
    NotFinite {
        /// Its index, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A parameter is out of its range.
    #[error("{name} is {value}; it must be {range}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What it is.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
}

/// At least `needed` finite values.
fn check(values: &[f64], needed: usize) -> Result<(), StatsError> {
    if values.len() < needed {
        return Err(StatsError::TooFew {
            needed,
            given: values.len(),
        });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StatsError::NotFinite {
            index,
            value: values[index],
        }),
        None => Ok(()),
    }
}

/// Two samples of one length, finite, at least `needed`.
fn check_pairs(first: &[f64], second: &[f64], needed: usize) -> Result<(), StatsError> {
    if first.len() != second.len() {
        return Err(StatsError::Unpaired {
            first: first.len(),
            second: second.len(),
        });
    }
    check(first, needed)?;
    check(second, needed)
}

/// The standard normal distribution.
fn normal() -> statrs::distribution::Normal {
    statrs::distribution::Normal::standard()
}

/// p of a standard normal statistic.
fn normal_p(z: f64, alternative: Alternative) -> f64 {
    use statrs::distribution::ContinuousCDF;
    match alternative {
        Alternative::Less => normal().cdf(z),
        Alternative::Greater => normal().sf(z),
        Alternative::TwoSided => (2.0 * normal().sf(z.abs())).min(1.0),
    }
}

#[cfg(test)]
fn close(got: f64, expected: f64) {
    let scale = expected.abs().max(1e-300);
    assert!(
        (got - expected).abs() / scale < 1e-9 || (got - expected).abs() < 1e-14,
        "{got} is not {expected}"
    );
}
