//! Rank stability: whether two metrics, or one metric on two machines, put the models in the same order.
use super::scores::{Direction, Scores};
use crate::stats::{kendall_tau_b, spearman};

/// How far two orders of models agree.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Stability {
    /// What the first order is by.
    pub a: String,
    /// What the second is by.
    pub b: String,
    /// How many models have both values.
    pub models: usize,
    /// Kendall's tau-b: 1 for the same order, -1 for the reverse; `None` where an order is not defined.
    pub kendall: Option<f64>,
    /// Spearman's rho, likewise.
    pub spearman: Option<f64>,
}

/// Compares the orders of the models in each pair of these lists; names say what each list is.
///
/// Values of which less is better count reversed, so that agreement is positive.
pub fn stability(lists: &[(String, &Scores)]) -> Vec<Stability> {
    let mut found = Vec::new();
    for (index, (b, second)) in lists.iter().enumerate() {
        for (a, first) in &lists[..index] {
            let (x, y): (Vec<f64>, Vec<f64>) = (first.models.iter())
                .filter_map(|one| {
                    let other = second
                        .models
                        .iter()
                        .find(|other| other.model == one.model)?;
                    let sign = |scores: &Scores| match scores.direction {
                        Direction::More => 1.0,
                        Direction::Less => -1.0,
                    };
                    Some((sign(first) * one.value?, sign(second) * other.value?))
                })
                .unzip();
            found.push(Stability {
                a: a.clone(),
                b: b.clone(),
                models: x.len(),
                kendall: kendall_tau_b(&x, &y),
                spearman: spearman(&x, &y),
            });
        }
    }
    found
}
