//! The Hodges-Lehmann estimator: by how much does one sample differ from another?
use super::{
    Interval, StatsError, check, describe::quantile_of_sorted, mann_whitney::exact_distribution,
    normal,
};
use statrs::distribution::ContinuousCDF;

/// Up to this many values in each sample the interval comes from the distribution of U itself.
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
    if !(level > 0.0 && level < 1.0) {
        return Err(StatsError::Parameter {
            name: "level",
            value: level,
            range: "between 0 and 1",
        });
    }
    let mut differences: Vec<f64> = (first.iter())
        .flat_map(|a| second.iter().map(move |b| a - b))
        .collect();
    differences.sort_by(f64::total_cmp);
    let (n, m) = (first.len(), second.len());
    let tail = (1.0 - level) / 2.0;
    // The quantile of U: so many differences are cut off at each end.
    let cut = if n.max(m) <= EXACT_UP_TO {
        let mut below = 0.0;
        let distribution = exact_distribution(n, m);
        (distribution.iter().take_while(|&&probability| {
            below += probability;
            below < tail
        }))
        .count()
    } else {
        let (n, m) = (n as f64, m as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        (n * m / 2.0 + normal().inverse_cdf(tail) * deviation)
            .round()
            .max(0.0) as usize
    }
    .max(1);
    let interval = Interval {
        low: differences[cut - 1],
        high: differences[differences.len() - cut],
        level,
    };
    Ok((quantile_of_sorted(&differences, 0.5), interval))
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
}
