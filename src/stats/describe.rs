//! Mean, median, quantiles and ranks.

/// Arithmetic mean; not a number for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median: the middle value, or the mean of the two in the middle; not a number for an empty slice.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile at `q` (0 to 1) with linear interpolation between order statistics: type 7 of Hyndman and Fan 1996,
/// "Sample Quantiles in Statistical Packages", as in R and NumPy by default. Not a number for an empty slice.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, q)
}

/// As [`quantile`], of values in ascending order.
pub(super) fn quantile_of_sorted(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let position = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Ranks from 1, ties at the mean of their places, and the sum of `t^3 - t` over groups of `t` ties.
pub fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut start = 0;
    while start < order.len() {
        let equal = |&&index: &&usize| values[index] == values[order[start]];
        let count = order[start..].iter().take_while(equal).count();
        let rank = start as f64 + (count as f64 + 1.0) / 2.0;
        for &index in &order[start..start + count] {
            ranks[index] = rank;
        }
        let count_f = count as f64;
        ties += count_f * count_f * count_f - count_f;
        start += count;
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_type_seven() {
        // numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], [0, 0.1, 0.25, 0.5, 0.9, 1])
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        let expected = [
            (0.0, 1.0),
            (0.1, 1.0),
            (0.25, 1.75),
            (0.5, 3.5),
            (0.9, 6.9),
            (1.0, 9.0),
        ];
        for (q, value) in expected {
            crate::stats::close(quantile(&values, q), value);
        }
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn ties_share_the_mean_of_their_places() {
        // scipy.stats.rankdata([2, 1, 2, 3, 2]); 3^3 - 3 = 24
        assert_eq!(
            ranks(&[2.0, 1.0, 2.0, 3.0, 2.0]),
            (vec![3.0, 1.0, 3.0, 5.0, 3.0], 24.0)
        );
        // Zeros of both signs are equal.
        assert_eq!(ranks(&[0.0, -0.0]), (vec![1.5, 1.5], 6.0));
    }
}
