//! Bootstrap intervals: percentile, and bias-corrected and accelerated.
//!
//! Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 and 14.
use super::{Interval, SplitMix, StatsError, describe::quantile_of_sorted, normal};
use statrs::distribution::ContinuousCDF;

/// The percentile interval of a statistic of `count` things: `statistic` is given the indices that a resample drew.
///
/// # Errors
/// Nothing to resample, a level that is not between 0 and 1, a statistic that is not finite.
pub fn percentile_interval(
    count: usize,
    statistic: impl Fn(&[usize]) -> f64,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Result<Interval, StatsError> {
    let values = resampled(count, &statistic, level, resamples, seed)?;
    let tail = (1.0 - level) / 2.0;
    Ok(Interval {
        low: quantile_of_sorted(&values, tail),
        high: quantile_of_sorted(&values, 1.0 - tail),
        level,
    })
}

/// The bias-corrected and accelerated interval (BCa) of a statistic of `count` things, acceleration by the jackknife.
///
/// Falls back to nothing: where all resamples agree the interval is that one value.
///
/// # Errors
/// As [`percentile_interval`]; fewer than two things.
pub fn bca_interval(
    count: usize,
    statistic: impl Fn(&[usize]) -> f64,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Result<Interval, StatsError> {
    if count < 2 {
        return Err(StatsError::TooFew {
            needed: 2,
            given: count,
        });
    }
    let values = resampled(count, &statistic, level, resamples, seed)?;
    let observed = statistic(&(0..count).collect::<Vec<_>>());
    if values.first() == values.last() {
        return Ok(Interval {
            low: values[0],
            high: values[0],
            level,
        });
    }
    // Resamples equal to the observed value count half, as SciPy does: a discrete statistic is not biased by its ties.
    let below = values.partition_point(|value| *value < observed) as f64;
    let not_above = values.partition_point(|value| *value <= observed) as f64;
    let share = (below + not_above) / 2.0 / values.len() as f64;
    let edge = 0.5 / values.len() as f64;
    let bias = normal().inverse_cdf(share.clamp(edge, 1.0 - edge));
    let acceleration = acceleration(count, &statistic);
    let at = |tail: f64| {
        let z = bias + normal().inverse_cdf(tail);
        quantile_of_sorted(&values, normal().cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - level) / 2.0;
    Ok(Interval {
        low: at(tail),
        high: at(1.0 - tail),
        level,
    })
}

/// Skewness of the jackknife values over six: equation 14.15 of the book.
fn acceleration(count: usize, statistic: &impl Fn(&[usize]) -> f64) -> f64 {
    let left_out: Vec<f64> = (0..count)
        .map(|gone| {
            statistic(
                &(0..count)
                    .filter(|&index| index != gone)
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    let mean = super::mean(&left_out);
    let sum = |power: i32| -> f64 {
        left_out
            .iter()
            .map(|value| (mean - value).powi(power))
            .sum()
    };
    let spread = sum(2);
    if spread > 0.0 {
        sum(3) / (6.0 * spread.powf(1.5))
    } else {
        0.0
    }
}

/// The statistic of every resample, ascending.
fn resampled(
    count: usize,
    statistic: &impl Fn(&[usize]) -> f64,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Result<Vec<f64>, StatsError> {
    for (needed, given) in [(1, count), (1, resamples)] {
        if given < needed {
            return Err(StatsError::TooFew { needed, given });
        }
    }
    if !(level > 0.0 && level < 1.0) {
        return Err(StatsError::Parameter {
            name: "level",
            value: level,
            range: "between 0 and 1",
        });
    }
    let mut random = SplitMix::new(seed);
    let mut drawn = vec![0; count];
    let mut values = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        drawn.fill_with(|| random.below(count));
        values.push(statistic(&drawn));
    }
    super::check(&values, 1)?;
    values.sort_by(f64::total_cmp);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Efron and Tibshirani's table 14.1: spatial test data A.
    const SPATIAL: [f64; 26] = [
        48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0,
        28.0, 34.0, 4.0, 32.0, 24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
    ];

    fn variance(indices: &[usize]) -> f64 {
        let values: Vec<f64> = indices.iter().map(|&index| SPATIAL[index]).collect();
        let mean = crate::stats::mean(&values);
        crate::stats::mean(
            &values
                .iter()
                .map(|v| (v - mean).powi(2))
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn the_books_example_is_met() {
        // Table 14.2: percentile (100.8, 233.9), BCa (115.8, 259.6) at level 0.90 from 2,000 resamples;
        // scipy.stats.bootstrap(n_resamples=200_000) gives the intervals below. Sampling error stays below 1.5%.
        let percentile = percentile_interval(26, variance, 0.9, 20_000, 1).unwrap();
        let bca = bca_interval(26, variance, 0.9, 20_000, 1).unwrap();
        for (got, expected) in [
            (percentile.low, BOOT.0),
            (percentile.high, BOOT.1),
            (bca.low, BOOT.2),
            (bca.high, BOOT.3),
        ] {
            assert!((got / expected - 1.0).abs() < 0.015, "{got} {expected}");
        }
        assert_eq!(bca, bca_interval(26, variance, 0.9, 20_000, 1).unwrap());
    }

    #[test]
    fn a_constant_has_an_interval_without_width() {
        let constant = |_: &[usize]| 3.0;
        let interval = bca_interval(5, constant, 0.95, 100, 0).unwrap();
        assert_eq!((interval.low, interval.high), (3.0, 3.0));
        assert!(percentile_interval(0, constant, 0.95, 100, 0).is_err());
        assert!(percentile_interval(5, |_| f64::NAN, 0.95, 100, 0).is_err());
    }

    const BOOT: (f64, f64, f64, f64) = (98.02, 235.46, 115.42, 260.29);
}
