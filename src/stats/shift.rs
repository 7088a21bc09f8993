//! The Hodges-Lehmann estimators: by how much does one sample differ from another, unpaired or paired?
use super::{
    Interval, StatsError, check, check_pairs, describe::quantile_of_sorted,
    mann_whitney::exact_distribution, normal, wilcoxon::signed_rank_distribution,
};
use statrs::distribution::ContinuousCDF;

/// Up to this many values in each sample the interval comes from the statistic's distribution itself.
const EXACT_UP_TO: usize = 50;

/// The median of all differences `first - second`, and its interval by inverting the two-sided Mann-Whitney test.
///
/// Hodges and Lehmann 1963, "Estimates of Location Based on Rank Tests"; the estimate and, for small samples without
/// ties, the interval of R's `wilcox.test(first, second, conf.int = TRUE)`. Takes `n * m` differences of memory.
///
/// # Errors
/// An empty sample, a value that is not finite, a level that is not between 0 and 1.
pub fn hodges_lehmann(
    first: &[f64],
    second: &[f64],
    level: f64,
) -> Result<(f64, Interval), StatsError> {
    check(first, 1)?;
    check(second, 1)?;
    check_level(level)?;
    let mut differences: Vec<f64> = (first.iter())
        .flat_map(|a| second.iter().map(move |b| a - b))
        .collect();
    differences.sort_by(f64::total_cmp);
    let (n, m) = (first.len(), second.len());
    let exact = (n.max(m) <= EXACT_UP_TO).then(|| exact_distribution(n, m));
    let (n, m) = (n as f64, m as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let interval = cut_tails(
        &differences,
        exact.as_deref(),
        n * m / 2.0,
        deviation,
        level,
    );
    Ok((quantile_of_sorted(&differences, 0.5), interval))
}

/// The median of all averages of two of the differences `first - second` of the pairs (a difference with itself
/// included), and its interval by inverting the two-sided signed-rank test.
///
/// Hodges and Lehmann 1963; the "(pseudo)median" and, for small samples without ties, the interval of R's
/// `wilcox.test(first, second, paired = TRUE, conf.int = TRUE)`. Takes `n (n + 1) / 2` averages of memory.
///
/// # Errors
/// Samples of different lengths, none, a value that is not finite, a level that is not between 0 and 1.
pub fn paired_shift(
    first: &[f64],
    second: &[f64],
    level: f64,
) -> Result<(f64, Interval), StatsError> {
    check_pairs(first, second, 1)?;
    check_level(level)?;
    let mut averages = walsh_averages(first, second);
    averages.sort_by(f64::total_cmp);
    let n = first.len();
    let exact = (n <= EXACT_UP_TO).then(|| signed_rank_distribution(n));
    let n = n as f64;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let interval = cut_tails(
        &averages,
        exact.as_deref(),
        n * (n + 1.0) / 4.0,
        deviation,
        level,
    );
    Ok((quantile_of_sorted(&averages, 0.5), interval))
}

/// The averages of every two differences of pairs, one with itself included.
pub(super) fn walsh_averages(first: &[f64], second: &[f64]) -> Vec<f64> {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    (differences.iter().enumerate())
        .flat_map(|(i, a)| differences[i..].iter().map(move |b| f64::midpoint(*a, *b)))
        .collect()
}

fn check_level(level: f64) -> Result<(), StatsError> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(StatsError::Parameter {
        name: "level",
        value: level,
        range: "between 0 and 1",
    })
}

/// What is left of sorted estimates when as many are cut off at each end as the quantile of their test's statistic
/// says: of its distribution itself, or of the normal one with its mean and deviation.
fn cut_tails(
    sorted: &[f64],
    exact: Option<&[f64]>,
    mean: f64,
    deviation: f64,
    level: f64,
) -> Interval {
    let tail = (1.0 - level) / 2.0;
    let cut = match exact {
        Some(distribution) => {
            let mut below = 0.0;
            (distribution.iter().take_while(|&&probability| {
                below += probability;
                below < tail
            }))
            .count()
        }
        None => (mean + normal().inverse_cdf(tail) * deviation)
            .round()
            .max(0.0) as usize,
    }
    .max(1);
    Interval {
        low: sorted[cut - 1],
        high: sorted[sorted.len() - cut],
        level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_is_that_of_r() {
        // R 4.2.2: wilcox.test(A, B, conf.int = TRUE): estimate HL, 95 percent interval
        let a = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let b = [1.15, 0.88, 0.90, 0.74, 1.21];
        let (shift, interval) = hodges_lehmann(&a, &b, 0.95).unwrap();
        crate::stats::close(shift, 0.305);
        crate::stats::close(interval.low, -0.15);
        crate::stats::close(interval.high, 0.76);
    }

    #[test]
    fn a_constant_shift_is_found_exactly() {
        let a: Vec<f64> = (0..60).map(f64::from).collect();
        let b: Vec<f64> = (0..60).map(|i| f64::from(i) - 7.0).collect();
        let (shift, interval) = hodges_lehmann(&a, &b, 0.9).unwrap();
        assert_eq!(shift, 7.0);
        assert!(interval.low <= 7.0 && interval.high >= 7.0);
        assert!(hodges_lehmann(&a, &b, 1.0).is_err());
    }

    #[test]
    fn the_paired_shift_is_that_of_r() {
        // R 4.2.2: wilcox.test(A, B, paired = TRUE, conf.int = TRUE), Hollander and Wolfe's depression scores
        let a = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        #[expect(clippy::approx_constant, reason = "a score that happens to be near pi")]
        let b = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let (shift, interval) = paired_shift(&a, &b, 0.95).unwrap();
        crate::stats::close(shift, 0.46);
        crate::stats::close(interval.low, 0.010);
        crate::stats::close(interval.high, 0.786);
        assert!(paired_shift(&a, &b[1..], 0.95).is_err());
        let (shift, interval) = paired_shift(&[5.0; 60], &[3.0; 60], 0.95).unwrap();
        assert_eq!((shift, interval.low, interval.high), (2.0, 2.0, 2.0));
    }
}
