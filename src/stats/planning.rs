//! How many more rounds would decide?
use super::{StatsError, check_pairs, normal, shift::walsh_averages};
use statrs::distribution::ContinuousCDF;

/// Pairs with which a two-sided signed-rank test at `level` (0.05) decides with probability `power` (0.8) if the effect
/// is as large as it was seen; `None` if none was seen or there are fewer than two pairs.
///
/// Noether 1987, "Sample Size Determination for Some Common Nonparametric Tests", equation for one sample:
/// `N = (z_(1 - level/2) + z_power)^2 / (3 (p - 1/2)^2)` with `p` the probability that the sum of two differences is
/// positive, taken from all sums of two of them. An estimate from the same runs: a guide, not a promise.
///
/// # Errors
/// Samples of different lengths, none, a value that is not finite, a level or power that is not between 0 and 1.
pub fn rounds_to_decide(
    first: &[f64],
    second: &[f64],
    level: f64,
    power: f64,
) -> Result<Option<u64>, StatsError> {
    check_pairs(first, second, 1)?;
    for (name, value) in [("level", level), ("power", power)] {
        if !(value > 0.0 && value < 1.0) {
            return Err(StatsError::Parameter {
                name,
                value,
                range: "between 0 and 1",
            });
        }
    }
    // An average of a difference with itself has its sign: the sums of two different ones are what is left.
    let above = |value: &f64| f64::midpoint(value.signum() * f64::from(*value != 0.0), 1.0);
    let n = first.len() as f64;
    let own: f64 = (first.iter().zip(second))
        .map(|(a, b)| above(&(a - b)))
        .sum();
    let all: f64 = walsh_averages(first, second).iter().map(above).sum();
    let sums = n * (n - 1.0) / 2.0;
    let p = (all - own) / sums;
    if sums == 0.0 || p == 0.5 {
        return Ok(None);
    }
    let z = normal().inverse_cdf(1.0 - level / 2.0) + normal().inverse_cdf(power);
    Ok(Some((z * z / (3.0 * (p - 0.5).powi(2))).ceil() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_noethers_formula() {
        // Differences 3, -1, -2: sums of two are 2, 1, -3, so p = 2/3;
        // (1.959964 + 0.841621)^2 = 7.848879; / (3 / 36) = 94.19, up: 95
        let second = [0.0; 3];
        assert_eq!(
            rounds_to_decide(&[3.0, -1.0, -2.0], &second, 0.05, 0.8).unwrap(),
            Some(95)
        );
        // 1, -1, 0: sums 0, 1, -1: no direction.
        assert_eq!(
            rounds_to_decide(&[1.0, -1.0, 0.0], &second, 0.05, 0.8).unwrap(),
            None
        );
        assert_eq!(rounds_to_decide(&[1.0], &[0.5], 0.05, 0.8).unwrap(), None);
        assert!(rounds_to_decide(&[1.0], &[1.0], 0.0, 0.8).is_err());
    }
}
