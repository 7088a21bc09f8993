//! Rank correlation: Kendall's tau-b and Spearman's rho.
use super::{describe::ranks, mean};

/// Kendall's tau-b, -1 to 1; `None` where it is not defined: fewer than two pairs, or all values of one side equal.
///
/// Kendall 1945, "The treatment of ties in ranking problems"; `scipy.stats.kendalltau`. Quadratic in the length.
///
/// # Panics
/// If the lengths differ.
pub fn kendall_tau_b(first: &[f64], second: &[f64]) -> Option<f64> {
    assert_eq!(first.len(), second.len(), "ranks are compared in pairs");
    let (mut balance, mut untied_first, mut untied_second) = (0_i64, 0_u64, 0_u64);
    for i in 0..first.len() {
        for j in 0..i {
            let a = first[i].partial_cmp(&first[j])? as i64;
            let b = second[i].partial_cmp(&second[j])? as i64;
            balance += a * b;
            untied_first += a.unsigned_abs();
            untied_second += b.unsigned_abs();
        }
    }
    let scale = (untied_first as f64).sqrt() * (untied_second as f64).sqrt();
    (scale > 0.0).then(|| balance as f64 / scale)
}

/// Spearman's rho, -1 to 1: Pearson's correlation of the ranks; `None` where it is not defined.
///
/// # Panics
/// If the lengths differ.
pub fn spearman(first: &[f64], second: &[f64]) -> Option<f64> {
    assert_eq!(first.len(), second.len(), "ranks are compared in pairs");
    if first.len() < 2 || first.iter().chain(second).any(|value| value.is_nan()) {
        return None;
    }
    let (a, _) = ranks(first);
    let (b, _) = ranks(second);
    let middle = mean(&a);
    let product = |x: &[f64], y: &[f64]| -> f64 {
        x.iter()
            .zip(y)
            .map(|(x, y)| (x - middle) * (y - middle))
            .sum()
    };
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    (scale > 0.0).then(|| product(&a, &b) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_are_those_of_scipy() {
        // scipy.stats.kendalltau(X, Y), scipy.stats.spearmanr(X, Y), SciPy 1.17.1
        let x = [12.0, 2.0, 1.0, 12.0, 2.0, 7.0, 3.0];
        let y = [1.0, 4.0, 7.0, 1.0, 0.0, 5.0, 5.0];
        crate::stats::close(kendall_tau_b(&x, &y).unwrap(), KENDALL);
        crate::stats::close(spearman(&x, &y).unwrap(), SPEARMAN);
    }

    #[test]
    fn a_constant_has_no_correlation() {
        assert_eq!(kendall_tau_b(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, 2.0], &[3.0, 3.0]), None);
        assert_eq!(spearman(&[], &[]), None);
        assert_eq!(kendall_tau_b(&[1.0, 2.0], &[3.0, 1.0]), Some(-1.0));
    }

    const KENDALL: f64 = -0.31578947368421045;
    const SPEARMAN: f64 = -0.38888888888888895;
}
