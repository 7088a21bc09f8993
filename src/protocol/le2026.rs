//! `le2026`: is the performant solution of a task faster than the canonical one? (Le et al. 2026)
//!
//! The whole suite of a task runs 30 times for each; the one-sided Mann-Whitney U test with the alternative "the
//! performant one is faster" decides at p < 0.05; Cliff's delta says how much. A time-out of either, or fewer passed
//! tests than the canonical solution, is "not significant" and stays in the denominator. For the benchmark, a one-sided
//! Wilcoxon signed-rank test compares the means per task.
use crate::compare::EntrantRuns;
use crate::stats::{
    Alternative, DeltaSize, StatsError, cliffs_delta, mann_whitney_u, mean, wilcoxon_signed_rank,
};
use serde::Serialize;

/// The level of the U test; p must be below it.
const LEVEL: f64 = 0.05;

/// What the protocol says of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskResult {
    /// Id of the task.
    pub task: String,
    /// Mean time of the suite with the canonical solution; absent unless it passed every run.
    pub canonical: Option<f64>,
    /// The same with the performant solution.
    pub performant: Option<f64>,
    /// p of the one-sided U test; absent where one of them has no times.
    pub p: Option<f64>,
    /// Cliff's delta, positive where the performant solution takes less time.
    pub delta: Option<f64>,
    /// The word for it.
    pub size: Option<DeltaSize>,
    /// The performant solution is faster.
    pub significant: bool,
    /// Why there is no test.
    pub reason: Option<String>,
}

/// What the protocol says of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchmarkResult {
    /// The tasks, all of them in the denominator.
    pub tasks: Vec<TaskResult>,
    /// How many are significant.
    pub significant: usize,
    /// Of the significant ones: how many have a negligible, small, medium, large delta.
    pub by_size: [usize; 4],
    /// p of the one-sided Wilcoxon test on the means of the tasks that have both; absent without one.
    pub wilcoxon_p: Option<f64>,
    /// How many tasks that is.
    pub paired: usize,
}

impl BenchmarkResult {
    /// Share of significant tasks, 0 to 1; absent without a task.
    pub fn share(&self) -> Option<f64> {
        (!self.tasks.is_empty()).then(|| self.significant as f64 / self.tasks.len() as f64)
    }
}

/// Judges a benchmark from the runs of the canonical and the performant solution of each task.
///
/// # Errors
/// A time that is not a finite number.
pub fn judge_benchmark(
    tasks: &[(String, EntrantRuns, EntrantRuns)],
) -> Result<BenchmarkResult, StatsError> {
    let results: Vec<TaskResult> = (tasks.iter())
        .map(|(task, canonical, performant)| judge_task(task, canonical, performant))
        .collect::<Result<_, _>>()?;
    let (canonical, performant): (Vec<f64>, Vec<f64>) = (results.iter())
        .filter_map(|task| Some((task.canonical?, task.performant?)))
        .unzip();
    let wilcoxon_p = if canonical.is_empty() {
        None
    } else {
        Some(wilcoxon_signed_rank(&performant, &canonical, Alternative::Less)?.p)
    };
    let mut by_size = [0; 4];
    for task in results.iter().filter(|task| task.significant) {
        by_size[task.size.unwrap_or(DeltaSize::Negligible) as usize] += 1;
    }
    Ok(BenchmarkResult {
        significant: results.iter().filter(|task| task.significant).count(),
        by_size,
        wilcoxon_p,
        paired: canonical.len(),
        tasks: results,
    })
}

fn judge_task(
    task: &str,
    canonical: &EntrantRuns,
    performant: &EntrantRuns,
) -> Result<TaskResult, StatsError> {
    let of = |runs: &EntrantRuns| (!runs.values.is_empty()).then(|| mean(&runs.values));
    let mut result = TaskResult {
        task: task.to_owned(),
        canonical: of(canonical),
        performant: of(performant),
        p: None,
        delta: None,
        size: None,
        significant: false,
        reason: None,
    };
    for (name, runs) in [("canonical", canonical), ("performant", performant)] {
        if runs.values.is_empty() {
            result.reason = Some(if runs.unresolved {
                format!("the {name} solution takes too little time for the host's clock")
            } else {
                format!("the {name} solution: {}", runs.verdict.kind())
            });
            return Ok(result);
        }
    }
    let p = mann_whitney_u(&performant.values, &canonical.values, Alternative::Less)?.p;
    let delta = cliffs_delta(&canonical.values, &performant.values)?;
    result.significant = p < LEVEL;
    (result.p, result.delta, result.size) = (Some(p), Some(delta), Some(DeltaSize::of(delta)));
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    fn runs(values: Vec<f64>) -> EntrantRuns {
        let verdict = if values.is_empty() {
            Verdict::TimeLimit { case: None }
        } else {
            Verdict::Accepted
        };
        EntrantRuns {
            name: String::new(),
            verdict,
            values,
            unresolved: false,
        }
    }

    #[test]
    fn a_time_out_is_not_significant_and_stays_in_the_denominator() {
        let around = |center: f64| (0..30).map(|i| center + f64::from(i)).collect::<Vec<_>>();
        let task = |name: &str, a: Vec<f64>, b: Vec<f64>| (name.to_owned(), runs(a), runs(b));
        let result = judge_benchmark(&[
            task("faster", around(1000.0), around(500.0)),
            task("slower", around(500.0), around(1000.0)),
            task("equal", around(500.0), around(500.0)),
            task("stuck", around(500.0), vec![]),
        ])
        .unwrap();
        assert_eq!((result.significant, result.share()), (1, Some(0.25)));
        assert_eq!((result.by_size, result.paired), ([0, 0, 0, 1], 3));
        assert_eq!(result.tasks[0].delta, Some(1.0));
        assert!(result.tasks[1].p.unwrap() > 0.999);
        assert_eq!(
            result.tasks[3].reason.as_deref(),
            Some("the performant solution: time_limit")
        );
        // Differences of the means: -500, +500, 0: one of two equal ranks is negative, which says nothing.
        assert_eq!(result.wilcoxon_p, Some(0.5));
    }
}
