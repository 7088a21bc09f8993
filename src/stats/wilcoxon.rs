//! Wilcoxon's signed-rank test: do paired values differ?
//!
//! Wilcoxon 1945, "Individual Comparisons by Ranking Methods".
use super::{Alternative, Method, StatsError, TestResult, check_pairs, describe::ranks, normal_p};

/// Up to this many pairs, without ties or zeros, the distribution itself is used, as SciPy chooses.
const EXACT_UP_TO: usize = 50;

/// The test on the differences `first - second`. The statistic is the sum of the ranks of the positive differences.
///
/// Equal pairs are dropped (Wilcoxon's rule). Exact for up to 50 pairs where no two absolute differences are equal and
/// none is 0, else normal, corrected for ties, without a correction for continuity: the choices of
/// `scipy.stats.wilcoxon` (whose two-sided statistic is the smaller of the two rank sums). All pairs equal: p is 1.
///
/// # Errors
/// Samples of different lengths, none, or a value that is not finite.
pub fn wilcoxon_signed_rank(
    first: &[f64],
    second: &[f64],
    alternative: Alternative,
) -> Result<TestResult, StatsError> {
    check_pairs(first, second, 1)?;
    let differences: Vec<f64> = (first.iter().zip(second))
        .map(|(a, b)| a - b)
        .filter(|difference| *difference != 0.0)
        .collect();
    let n = differences.len();
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let (rank, ties) = ranks(&sizes);
    let positive: f64 = (rank.iter().zip(&differences))
        .filter(|(_, difference)| **difference > 0.0)
        .map(|(rank, _)| rank)
        .sum();
    let exact = n == first.len() && ties == 0.0 && n <= EXACT_UP_TO;
    let n_f = n as f64;
    let p = if n == 0 {
        1.0
    } else if exact {
        exact_p(positive.round() as usize, n, alternative)
    } else {
        let mean = n_f * (n_f + 1.0) / 4.0;
        let variance = (n_f * (n_f + 1.0) * (2.0 * n_f + 1.0) - ties / 2.0) / 24.0;
        normal_p((positive - mean) / variance.sqrt(), alternative)
    };
    Ok(TestResult {
        statistic: positive,
        p,
        method: if exact { Method::Exact } else { Method::Normal },
    })
}

/// Probability of every sum of the ranks of the positive ones among `n` differences, 0 to `n(n + 1) / 2`, when either
/// sign is as likely: each rank is in the sum or not, the coefficients of the product of `(1 + q^k) / 2`.
pub(super) fn signed_rank_distribution(n: usize) -> Vec<f64> {
    let most = n * (n + 1) / 2;
    let mut probability = vec![0.0_f64; most + 1];
    probability[0] = 1.0;
    for rank in 1..=n {
        for total in (0..=most).rev() {
            let with = if total >= rank {
                probability[total - rank]
            } else {
                0.0
            };
            probability[total] = (probability[total] + with) / 2.0;
        }
    }
    probability
}

fn exact_p(sum: usize, n: usize, alternative: Alternative) -> f64 {
    let probability = signed_rank_distribution(n);
    let most = probability.len() - 1;
    let at_least = |sum: usize| probability[sum..].iter().sum::<f64>();
    let p = match alternative {
        Alternative::Greater => at_least(sum),
        Alternative::Less => at_least(most - sum),
        Alternative::TwoSided => 2.0 * at_least(sum.max(most - sum)),
    };
    p.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    const A: [f64; 9] = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    #[expect(clippy::approx_constant, reason = "a score that happens to be near pi")]
    const B: [f64; 9] = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];

    #[test]
    fn few_pairs_are_exact() {
        // Hollander and Wolfe's depression scores; scipy.stats.wilcoxon(A, B, alternative=...).pvalue
        for (alternative, p) in WX_EXACT {
            let result = wilcoxon_signed_rank(&A, &B, alternative).unwrap();
            assert_eq!((result.statistic, result.method), (40.0, Method::Exact));
            close(result.p, p);
        }
    }

    #[test]
    fn ties_and_zeros_are_approximated() {
        // scipy.stats.wilcoxon([5,3,8,6,9,4,7,7,10,12], [4,4,6,6,5,3,5,9,6,8], alternative=...,
        //                      method="asymptotic").pvalue
        let a = [5.0, 3.0, 8.0, 6.0, 9.0, 4.0, 7.0, 7.0, 10.0, 12.0];
        let b = [4.0, 4.0, 6.0, 6.0, 5.0, 3.0, 5.0, 9.0, 6.0, 8.0];
        for (alternative, p) in WX_TIES {
            let result = wilcoxon_signed_rank(&a, &b, alternative).unwrap();
            assert_eq!(result.method, Method::Normal);
            close(result.p, p);
        }
    }

    #[test]
    fn equal_pairs_say_nothing_and_unpaired_ones_are_refused() {
        let result = wilcoxon_signed_rank(&[1.0, 2.0], &[1.0, 2.0], Alternative::Less).unwrap();
        assert_eq!(result.p, 1.0);
        assert!(wilcoxon_signed_rank(&[1.0], &[1.0, 2.0], Alternative::Less).is_err());
    }

    const WX_EXACT: [(Alternative, f64); 3] = [
        (Alternative::Less, 0.986328125),
        (Alternative::Greater, 0.01953125),
        (Alternative::TwoSided, 0.0390625),
    ];
    const WX_TIES: [(Alternative, f64); 3] = [
        (Alternative::Less, 0.9682676227597186),
        (Alternative::Greater, 0.03173237724028139),
        (Alternative::TwoSided, 0.06346475448056278),
    ];
}
