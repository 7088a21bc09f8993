//! Win and lose rates: on how many of the problems that two models solve one is clearly faster (DSEffi-Bench).
//!
//! A wins over B on a problem if `(t_B - t_A) / t_B >= 0.10`. A's rate against B is the share of the problems that
//! both solve; A's value is the mean of its rates over the other models, those without a common problem left out.
use super::facts::Facts;
use super::scores::{ModelScore, mean};

/// The win rate of a model, or its lose rate.
pub(super) fn score(facts: &Facts, model: usize, margin: f64, lose: bool) -> ModelScore {
    let name = &facts.models[model];
    if facts.models.len() < 2 {
        return ModelScore::refused(name, "there is no other model to win over");
    }
    let groups = (0..facts.models.len())
        .filter(|&other| other != model)
        .map(|other| {
            let pair = if lose { (other, model) } else { (model, other) };
            wins(facts, pair.0, pair.1, margin)
        })
        .collect();
    ModelScore::of_groups(name, groups, Vec::new())
}

/// Whether `a` wins over `b`, 1 or 0, on each problem that both solve.
fn wins(facts: &Facts, a: usize, b: usize, margin: f64) -> Vec<(usize, f64)> {
    (facts.problems.iter().enumerate())
        .filter_map(|(index, problem)| {
            let (_, mine) = Facts::first_accepted(&problem.samples[a]).ok()?;
            let (_, other) = Facts::first_accepted(&problem.samples[b]).ok()?;
            Some((
                index,
                f64::from(u8::from(other - mine >= margin * other && mine < other)),
            ))
        })
        .collect()
}

/// How often one model wins over another.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct WinRate {
    /// The share of the problems.
    pub rate: f64,
    /// How many problems both solve.
    pub problems: usize,
}

/// The rate at which the row's model wins over the column's; `None` on the diagonal and without a common problem.
pub fn win_matrix(facts: &Facts, margin: f64) -> Vec<Vec<Option<WinRate>>> {
    let one = |a: usize, b: usize| {
        if a == b {
            return None;
        }
        let wins = wins(facts, a, b, margin);
        let values: Vec<f64> = wins.iter().map(|(_, value)| *value).collect();
        Some(WinRate {
            rate: mean(&values)?,
            problems: values.len(),
        })
    };
    let models = 0..facts.models.len();
    (models.clone())
        .map(|a| models.clone().map(|b| one(a, b)).collect())
        .collect()
}
