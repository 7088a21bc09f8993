//! Tests that count: the binomial test, the sign test, and rounds won with a margin.
use super::{Alternative, Method, StatsError, TestResult, check_pairs};
use statrs::distribution::{Binomial, Discrete, DiscreteCDF};

/// The binomial test: are `successes` of `trials` more, or fewer, than chance `chance` (0 to 1) explains? The statistic
/// is the share of successes. Two-sided: the probabilities of all outcomes no more likely than this one (R's
/// `binom.test`, `scipy.stats.binomtest`).
///
/// # Errors
/// A chance that is not a probability, more successes than trials, no trial.
pub fn binomial_test(
    successes: u64,
    trials: u64,
    chance: f64,
    alternative: Alternative,
) -> Result<TestResult, StatsError> {
    if trials == 0 {
        return Err(StatsError::TooFew {
            needed: 1,
            given: 0,
        });
    }
    if successes > trials {
        return Err(StatsError::Parameter {
            name: "successes",
            value: successes as f64,
            range: "at most the number of trials",
        });
    }
    let binomial = Binomial::new(chance, trials).map_err(|_| StatsError::Parameter {
        name: "chance",
        value: chance,
        range: "0 to 1",
    })?;
    let p = match alternative {
        Alternative::Less => binomial.cdf(successes),
        Alternative::Greater if successes == 0 => 1.0,
        Alternative::Greater => binomial.sf(successes - 1),
        Alternative::TwoSided => {
            // Equal probabilities differ by rounding; SciPy and R allow for the same part in ten million.
            let bound = binomial.pmf(successes) * (1.0 + 1e-7);
            (0..=trials)
                .map(|k| binomial.pmf(k))
                .filter(|probability| *probability <= bound)
                .sum()
        }
    };
    Ok(TestResult {
        statistic: successes as f64 / trials as f64,
        p: p.clamp(0.0, 1.0),
        method: Method::Exact,
    })
}

/// The sign test on pairs: how often is the first larger? Equal pairs are dropped; all equal: p is 1 at statistic 0.5.
///
/// # Errors
/// As [`super::wilcoxon_signed_rank`].
pub fn sign_test(
    first: &[f64],
    second: &[f64],
    alternative: Alternative,
) -> Result<TestResult, StatsError> {
    check_pairs(first, second, 1)?;
    let pairs = || first.iter().zip(second);
    let larger = pairs().filter(|(a, b)| a > b).count() as u64;
    let smaller = pairs().filter(|(a, b)| a < b).count() as u64;
    if larger + smaller == 0 {
        return Ok(TestResult {
            statistic: 0.5,
            p: 1.0,
            method: Method::Exact,
        });
    }
    binomial_test(larger, larger + smaller, 0.5, alternative)
}

/// The one-sided paired binomial test over rounds with a margin: in how many rounds is `new` below `old * (1 - margin)`,
/// and is that more than half of all rounds by chance? `margin` is a share, 0 to below 1: 0.05 asks for an improvement
/// of at least five percent in a round. Every round counts; one without that improvement counts against it.
///
/// # Errors
/// As [`super::wilcoxon_signed_rank`], and a margin out of range.
pub fn paired_binomial(old: &[f64], new: &[f64], margin: f64) -> Result<TestResult, StatsError> {
    check_pairs(old, new, 1)?;
    if !(0.0..1.0).contains(&margin) {
        return Err(StatsError::Parameter {
            name: "margin",
            value: margin,
            range: "0 to below 1",
        });
    }
    let improved = (old.iter().zip(new))
        .filter(|(old, new)| **new < **old * (1.0 - margin))
        .count();
    binomial_test(improved as u64, old.len() as u64, 0.5, Alternative::Greater)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    #[test]
    fn counts_are_tested_as_scipy_does() {
        // scipy.stats.binomtest(k, n, p, alternative=...).pvalue
        for (k, n, chance, alternative, p) in BINOM {
            close(binomial_test(k, n, chance, alternative).unwrap().p, p);
        }
    }

    #[test]
    fn rounds_without_the_improvement_count_against_it() {
        // 20 of 30 rounds are 6% faster, 10 are 4% faster: scipy.stats.binomtest(20, 30, alternative="greater")
        let old = [100.0; 30];
        let new: Vec<f64> = (0..30).map(|i| if i < 20 { 94.0 } else { 96.0 }).collect();
        close(paired_binomial(&old, &new, 0.05).unwrap().p, BINOM_20_30);
        // All thirty are 3% faster: 0.5^30.
        close(
            paired_binomial(&old, &new, 0.03).unwrap().p,
            0.5_f64.powi(30),
        );
        assert_eq!(paired_binomial(&old, &new, 0.10).unwrap().p, 1.0);
        assert!(paired_binomial(&old, &new, 1.0).is_err());
    }

    #[test]
    fn equal_pairs_have_no_sign() {
        // Two up, one equal: P(X >= 2 of 2) = 1/4.
        let result = sign_test(&[2.0, 3.0, 1.0], &[1.0, 1.0, 1.0], Alternative::Greater).unwrap();
        assert_eq!(result.statistic, 1.0);
        close(result.p, 0.25);
        assert_eq!(sign_test(&[1.0], &[1.0], Alternative::Less).unwrap().p, 1.0);
    }

    const BINOM: [(u64, u64, f64, Alternative, f64); 18] = [
        (7, 10, 0.5, Alternative::Less, 0.9453125),
        (7, 10, 0.5, Alternative::Greater, 0.171875),
        (7, 10, 0.5, Alternative::TwoSided, 0.34375),
        (0, 5, 0.5, Alternative::Less, 0.03125),
        (0, 5, 0.5, Alternative::Greater, 1.0),
        (0, 5, 0.5, Alternative::TwoSided, 0.0625),
        (5, 5, 0.5, Alternative::Less, 1.0),
        (5, 5, 0.5, Alternative::Greater, 0.03125),
        (5, 5, 0.5, Alternative::TwoSided, 0.0625),
        (20, 30, 0.5, Alternative::Less, 0.9786130273714662),
        (20, 30, 0.5, Alternative::Greater, 0.049368573352694525),
        (20, 30, 0.5, Alternative::TwoSided, 0.09873714670538905),
        (3, 15, 0.1, Alternative::Less, 0.944444369992464),
        (3, 15, 0.1, Alternative::Greater, 0.18406106910639106),
        (3, 15, 0.1, Alternative::TwoSided, 0.18406106910639106),
        (10, 10, 0.9, Alternative::Less, 1.0),
        (10, 10, 0.9, Alternative::Greater, 0.34867844010000004),
        (10, 10, 0.9, Alternative::TwoSided, 0.612579511),
    ];
    const BINOM_20_30: f64 = 0.049368573352694525;
}
