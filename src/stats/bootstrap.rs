//! The percentile bootstrap of a mean (Efron 1979): resample with replacement, take quantiles of the means.
use super::random::Random;

/// An interval around an estimate.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 values")]
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The quantile `q` (0 to 1) of sorted values, linear between neighbours (type 7 of Hyndman and Fan 1996).
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 values")]
    let place = q.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of values"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let part = place - place.floor();
    Some(sorted[below] + part * (sorted[above] - sorted[below]))
}

/// The interval that holds the mean of a resample with probability `level` (0.95, say); `None` for fewer than two
/// values, which say nothing of their spread.
///
/// The same values, level, number of resamples and seed give the same interval.
pub fn mean_interval(values: &[f64], level: f64, resamples: usize, seed: u64) -> Option<Interval> {
    if values.len() < 2 || resamples == 0 {
        return None;
    }
    let mut random = Random::new(seed);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 values")]
    let n = values.len() as f64;
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| {
            let sum: f64 = (0..values.len())
                .map(|_| values[random.below(values.len())])
                .sum();
            sum / n
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let outside = (1.0 - level) / 2.0;
    Some(Interval {
        low: quantile(&means, outside)?,
        high: quantile(&means, 1.0 - outside)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_linear_between_neighbours() {
        // Four values, three gaps: 0.5 x 3 = 1.5, half way from the second to the third; 0.1 x 3 = 0.3.
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&sorted, 0.5), Some(3.0));
        assert!((quantile(&sorted, 0.1).unwrap() - 1.3).abs() < 1e-12);
        assert_eq!(quantile(&sorted, 1.0), Some(8.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_interval_is_about_that_of_the_normal_distribution() {
        // 400 values 0 and 1 in equal parts: the mean 0.5 has the standard error 0.5 / 20 = 0.025, so that 95% are
        // within 1.96 x 0.025 = 0.049.
        let values: Vec<f64> = (0..400).map(|index| f64::from(index % 2)).collect();
        let interval = mean_interval(&values, 0.95, 4000, 7).unwrap();
        assert!((interval.low - 0.451).abs() < 0.005, "{interval:?}");
        assert!((interval.high - 0.549).abs() < 0.005, "{interval:?}");
        assert_eq!(mean_interval(&values, 0.95, 4000, 7), Some(interval));
        assert_ne!(mean_interval(&values, 0.95, 4000, 8), Some(interval));
    }

    #[test]
    fn equal_values_have_no_spread_and_one_value_tells_nothing() {
        let interval = mean_interval(&[3.0; 5], 0.95, 100, 0).unwrap();
        assert_eq!((interval.low, interval.high), (3.0, 3.0));
        assert_eq!(mean_interval(&[3.0], 0.95, 100, 0), None);
    }
}
