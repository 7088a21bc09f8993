//! How many more runs would decide?
use super::{StatsError, check, cliffs_delta, normal};
use statrs::distribution::ContinuousCDF;

/// Runs of each of the two samples with which a two-sided U test at `level` (0.05) decides with probability `power`
/// (0.8) if the effect is as large as it was seen; `None` if none was seen.
///
/// Noether 1987, "Sample Size Determination for Some Common Nonparametric Tests", equation for two samples of one size:
/// `N = (z_(1 - level/2) + z_power)^2 / (12 c (1 - c) (p - 1/2)^2)` in all, `c = 1/2`, `p = P(X > Y)` taken from Cliff's
/// delta as `(delta + 1) / 2`. An estimate from the same runs: a guide, not a promise.
///
/// # Errors
/// An empty sample, a value that is not finite, a level or power that is not between 0 and 1.
pub fn runs_to_decide(
    first: &[f64],
    second: &[f64],
    level: f64,
    power: f64,
) -> Result<Option<u64>, StatsError> {
    check(first, 1)?;
    check(second, 1)?;
    for (name, value) in [("level", level), ("power", power)] {
        if !(value > 0.0 && value < 1.0) {
            return Err(StatsError::Parameter {
                name,
                value,
                range: "between 0 and 1",
            });
        }
    }
    let delta = cliffs_delta(first, second)?;
    if delta == 0.0 {
        return Ok(None);
    }
    let z = normal().inverse_cdf(1.0 - level / 2.0) + normal().inverse_cdf(power);
    let all = z * z / (3.0 * (delta / 2.0).powi(2));
    Ok(Some((all / 2.0).ceil() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_noethers_formula() {
        // delta = 0.25 (see Cliff's delta): (1.959964 + 0.841621)^2 = 7.848879; / (3 * 0.015625) = 167.44; half, up: 84
        assert_eq!(
            runs_to_decide(&[1.0, 3.0], &[1.0, 2.0], 0.05, 0.8).unwrap(),
            Some(84)
        );
        assert_eq!(runs_to_decide(&[1.0], &[1.0], 0.05, 0.8).unwrap(), None);
        assert!(runs_to_decide(&[1.0], &[1.0], 0.0, 0.8).is_err());
    }
}
