//! Rank correlation of paired values: Kendall's tau-b and Spearman's rho, ties included.

/// The rank of each value from 1, the smallest first; ties share the mean of their ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut begin = 0;
    while begin < order.len() {
        let mut end = begin + 1;
        while end < order.len() && values[order[end]] == values[order[begin]] {
            end += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 values")]
        let shared = (begin + 1 + end) as f64 / 2.0;
        for &index in &order[begin..end] {
            ranks[index] = shared;
        }
        begin = end;
    }
    ranks
}

/// Spearman's rho: Pearson's correlation of the ranks. `None` for fewer than two pairs, for lists of different
/// lengths, and where one side has one value only, since its order is not defined then.
pub fn spearman_rho(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 2 {
        return None;
    }
    let (x, y) = (ranks(x), ranks(y));
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 values")]
    let middle = (x.len() + 1) as f64 / 2.0;
    let mut xy = 0.0;
    let mut xx = 0.0;
    let mut yy = 0.0;
    for (x, y) in x.iter().zip(&y) {
        let (x, y) = (x - middle, y - middle);
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

/// Kendall's tau-b (Kendall 1945): (concordant - discordant) pairs over the geometric mean of the pairs that are not
/// tied on either side. `None` where Spearman's rho is.
pub fn kendall_tau_b(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 2 {
        return None;
    }
    let sign = |a: f64, b: f64| i64::from(a > b) - i64::from(a < b);
    let (mut score, mut untied_x, mut untied_y) = (0, 0, 0);
    for i in 0..x.len() {
        for j in 0..i {
            let (dx, dy) = (sign(x[i], x[j]), sign(y[i], y[j]));
            score += dx * dy;
            untied_x += dx.abs();
            untied_y += dy.abs();
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of pairs")]
    let root = (untied_x as f64 * untied_y as f64).sqrt();
    #[expect(clippy::cast_precision_loss, reason = "numbers of pairs")]
    let tau = score as f64 / root;
    (root > 0.0).then_some(tau)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[30.0, 10.0, 20.0, 20.0]), [4.0, 1.0, 2.5, 2.5]);
        assert!(ranks(&[]).is_empty());
    }

    #[test]
    fn the_same_order_gives_1_and_the_reverse_minus_1() {
        let x = [1.0, 5.0, 7.0, 100.0];
        let reverse = [4.0, 3.0, 2.0, 1.0];
        for correlation in [kendall_tau_b, spearman_rho] {
            assert!((correlation(&x, &x).unwrap() - 1.0).abs() < 1e-15);
            assert!((correlation(&x, &reverse).unwrap() + 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn the_coefficients_equal_values_computed_by_hand() {
        // Ranks 1 2 3 4 5 and 2 1 4 3 5: of ten pairs (1,2) and (3,4) are discordant: tau = (8 - 2) / 10.
        // rho = 1 - 6 x (1 + 1 + 1 + 1 + 0) / (5 x 24) = 0.8.
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        let y = [2.0, 1.0, 4.0, 3.0, 5.0];
        assert!((kendall_tau_b(&x, &y).unwrap() - 0.6).abs() < 1e-15);
        assert!((spearman_rho(&x, &y).unwrap() - 0.8).abs() < 1e-15);
        // 1 2 2 3 and 1 2 3 3: six pairs; x ties one, y ties one, the other four are concordant: 4 / sqrt(5 x 5).
        let tau = kendall_tau_b(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 3.0]).unwrap();
        assert!((tau - 0.8).abs() < 1e-15);
    }

    #[test]
    fn what_has_no_order_has_no_correlation() {
        for correlation in [kendall_tau_b, spearman_rho] {
            assert_eq!(correlation(&[1.0], &[1.0]), None);
            assert_eq!(correlation(&[1.0, 2.0], &[1.0]), None);
            assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        }
    }
}
