//! The Mann-Whitney U test: does one sample tend to larger values than another?
//!
//! Mann and Whitney 1947, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other".
use super::{Alternative, Method, StatsError, TestResult, check, describe::ranks, normal_p};

/// Up to this many values in the smaller sample, without ties, the distribution itself is used, as SciPy chooses.
const EXACT_UP_TO: usize = 8;

/// Beyond this many values in all the number of arrangements is no longer a finite double.
const MOST_FOR_EXACT: usize = 1000;

/// The test. The statistic is U of the first sample: the number of pairs in which its value is the larger, ties half.
///
/// Exact where the smaller sample has at most 8 values and no two are equal; else normal, corrected for ties and
/// continuity. The choice and the values are those of `scipy.stats.mannwhitneyu(method="auto")`.
///
/// # Errors
/// An empty sample, or a value that is not finite.
pub fn mann_whitney_u(
    first: &[f64],
    second: &[f64],
    alternative: Alternative,
) -> Result<TestResult, StatsError> {
    check(first, 1)?;
    check(second, 1)?;
    let (n, m) = (first.len(), second.len());
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let (rank, ties) = ranks(&all);
    let rank_sum: f64 = rank[..n].iter().sum();
    let (n_f, m_f) = (n as f64, m as f64);
    let u = rank_sum - n_f * (n_f + 1.0) / 2.0;
    let exact = ties == 0.0 && n.min(m) <= EXACT_UP_TO && n + m <= MOST_FOR_EXACT;
    let p = if exact {
        exact_p(u.round() as usize, n, m, alternative)
    } else {
        let all = n_f + m_f;
        let variance = n_f * m_f / 12.0 * ((all + 1.0) - ties / (all * (all - 1.0)));
        if variance <= 0.0 {
            1.0
        } else {
            let mean = n_f * m_f / 2.0;
            // Half a unit towards the mean: the statistic is discrete, the approximation is not.
            let distance = match alternative {
                Alternative::Less => u - mean + 0.5,
                Alternative::Greater => u - mean - 0.5,
                Alternative::TwoSided => (u - mean).abs() - 0.5,
            };
            let z = distance / variance.sqrt();
            match alternative {
                Alternative::TwoSided => (2.0 * normal_p(z, Alternative::Greater)).min(1.0),
                one_sided => normal_p(z, one_sided),
            }
        }
    };
    Ok(TestResult {
        statistic: u,
        p,
        method: if exact { Method::Exact } else { Method::Normal },
    })
}

/// The probability of each U from 0 to `n * m` for samples of `n` and `m` values from one continuous distribution.
///
/// Counts the arrangements by the product formula of the Gaussian binomial coefficient, factor by factor.
pub fn exact_distribution(n: usize, m: usize) -> Vec<f64> {
    let most = n * m;
    let mut counts = vec![0.0_f64; most + 1];
    counts[0] = 1.0;
    for k in 1..=n {
        // Times (1 - q^(m + k)) / (1 - q^k): both as recurrences on the coefficients.
        for u in (m + k..=most).rev() {
            counts[u] -= counts[u - m - k];
        }
        for u in k..=most {
            counts[u] += counts[u - k];
        }
    }
    let total: f64 = counts.iter().sum();
    counts.iter().map(|count| count / total).collect()
}

fn exact_p(u: usize, n: usize, m: usize, alternative: Alternative) -> f64 {
    let distribution = exact_distribution(n, m);
    let at_least = |u: usize| distribution[u.min(n * m)..].iter().sum::<f64>();
    let p = match alternative {
        Alternative::Greater => at_least(u),
        Alternative::Less => at_least(n * m - u),
        Alternative::TwoSided => 2.0 * at_least(u.max(n * m - u)),
    };
    p.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    const A: [f64; 6] = [19.0, 22.5, 16.0, 29.0, 24.0, 21.0];
    const B: [f64; 5] = [20.0, 11.0, 17.0, 12.0, 13.5];

    #[test]
    fn small_samples_without_ties_are_exact() {
        // scipy.stats.mannwhitneyu(A, B, alternative=...), SciPy 1.17.1
        for (alternative, p) in MW_EXACT {
            let result = mann_whitney_u(&A, &B, alternative).unwrap();
            assert_eq!((result.statistic, result.method), (27.0, Method::Exact));
            close(result.p, p);
        }
    }

    #[test]
    fn ties_are_corrected_for() {
        // scipy.stats.mannwhitneyu([1,2,2,3,5,5,5,8,9,9], [2,3,5,6,7,9,9,9,11,12], alternative=...)
        let a = [1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 8.0, 9.0, 9.0];
        let b = [2.0, 3.0, 5.0, 6.0, 7.0, 9.0, 9.0, 9.0, 11.0, 12.0];
        for (alternative, p) in MW_TIES {
            let result = mann_whitney_u(&a, &b, alternative).unwrap();
            assert_eq!((result.statistic, result.method), (28.0, Method::Normal));
            close(result.p, p);
        }
    }

    #[test]
    fn thirty_against_thirty_is_approximated_as_scipy_does() {
        // a = [math.sin(i) for i in range(30)]; b = [math.sin(i) + 0.3 for i in range(30)]
        let a: Vec<f64> = (0..30).map(|i| f64::from(i).sin()).collect();
        let b: Vec<f64> = (0..30).map(|i| f64::from(i).sin() + 0.3).collect();
        let result = mann_whitney_u(&a, &b, Alternative::Less).unwrap();
        assert_eq!(result.statistic, MW_30.0);
        close(result.p, MW_30.1);
    }

    #[test]
    fn the_distribution_is_that_of_all_arrangements() {
        // n = m = 2: six arrangements with U = 0, 1, 2, 2, 3, 4.
        let sixth = 1.0 / 6.0;
        let expected = [sixth, sixth, 2.0 * sixth, sixth, sixth];
        for (got, expected) in exact_distribution(2, 2).into_iter().zip(expected) {
            close(got, expected);
        }
        close(exact_distribution(8, 30).iter().sum(), 1.0);
    }

    #[test]
    fn equal_values_say_nothing() {
        let result = mann_whitney_u(&[5.0; 30], &[5.0; 30], Alternative::TwoSided).unwrap();
        assert_eq!(result.p, 1.0);
        assert!(mann_whitney_u(&[], &[1.0], Alternative::Less).is_err());
        assert!(mann_whitney_u(&[f64::NAN], &[1.0], Alternative::Less).is_err());
    }

    const MW_EXACT: [(Alternative, f64); 3] = [
        (Alternative::Less, 0.9913419913419913),
        (Alternative::Greater, 0.015151515151515152),
        (Alternative::TwoSided, 0.030303030303030304),
    ];
    const MW_TIES: [(Alternative, f64); 3] = [
        (Alternative::Less, 0.04977248601709653),
        (Alternative::Greater, 0.9576163932099886),
        (Alternative::TwoSided, 0.09954497203419306),
    ];
    const MW_30: (f64, f64) = (325.0, 0.03283562884456329);
}
