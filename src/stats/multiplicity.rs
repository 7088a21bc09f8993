//! Corrections for many tests at once.

/// Holm's step-down adjustment of p-values: keeps the probability of any false positive below the level.
///
/// Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure"; R's `p.adjust(p, "holm")`. Order is kept.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![0.0; p.len()];
    let mut highest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        highest = highest.max((p[index] * (p.len() - place) as f64).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

/// The adjustment of Benjamini and Hochberg: keeps the expected share of false positives among all positives below the
/// level.
///
/// Benjamini and Hochberg 1995, "Controlling the False Discovery Rate"; R's `p.adjust(p, "BH")`. Order is kept.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![0.0; p.len()];
    let mut lowest = 1.0_f64;
    for (place, &index) in order.iter().enumerate().rev() {
        lowest = lowest.min(p[index] * p.len() as f64 / (place + 1) as f64);
        adjusted[index] = lowest;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::close;

    // p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.2), ...)
    const P: [f64; 5] = [0.01, 0.04, 0.03, 0.005, 0.2];

    #[test]
    fn adjustments_are_those_of_r() {
        // Holm: 4 x 0.01, then max(3 x 0.03, 2 x 0.04) for both, 5 x 0.005, 0.2
        for (got, expected) in holm(&P).into_iter().zip([0.04, 0.09, 0.09, 0.025, 0.2]) {
            close(got, expected);
        }
        // BH: scipy.stats.false_discovery_control(P)
        for (got, expected) in
            (benjamini_hochberg(&P).into_iter()).zip([0.025, 0.05, 0.05, 0.025, 0.2])
        {
            close(got, expected);
        }
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
