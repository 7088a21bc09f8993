//! The evaluation: from samples to rows, in parallel, with a fixed result order.
//!
//! ```text
//! plan -> jobs -> Candidate -> Runner (artifact, backend, verdict) -> Row -> Summary
//! ```
//! The same plan and runner give the same rows and the same summary, whatever the number of threads and whatever was
//! taken over from an earlier evaluation.
mod backend_runner;
mod demo;
mod estimate;
mod expected;
mod journal;
mod observer;
mod plan;
mod programs;
mod row;
mod run;
mod schedule;
mod summary;

pub use backend_runner::BackendRunner;
pub use demo::demo_plans;
pub use expected::{Authority, Completion, sources};
pub use journal::{Journal, JournalError};
pub use observer::{Observer, Progress, Silent};
pub use plan::{Model, Plan};
pub use programs::{Check, Checked, Programs};
pub use row::{CaseRow, Row, SCHEMA_VERSION, Total};
pub use run::{Runner, SampleRun};
pub use summary::{ModelSummary, Offered, RuntimeUnit, Summary};

use crate::candidate::assemble;
use crate::verdict::Verdict;
use schedule::Job;
use std::collections::BTreeMap;

/// Everything that an evaluation found.
#[derive(Clone, Debug)]
pub struct EvaluationResult {
    /// One row a sample: in the order of the problems, then of the models, then of the samples.
    pub rows: Vec<Row>,
    /// The metrics of the rows.
    pub summary: Summary,
}

impl EvaluationResult {
    /// The rows and the summary as JSON lines.
    pub fn to_json_lines(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&row.to_json_line());
        }
        text.push_str(&self.summary.to_json_line());
        text
    }

    /// How many rows say nothing about their sample, because something of ours went wrong.
    pub fn failures_of_ours(&self) -> usize {
        let ours = |row: &&Row| row.verdict.is_failure_of_ours();
        self.rows.iter().filter(ours).count()
    }
}

/// Evaluates every sample of the plan.
pub fn evaluate(plan: &Plan, runner: &dyn Runner, observer: &dyn Observer) -> EvaluationResult {
    evaluate_onto(plan, BTreeMap::new(), runner, observer)
}

/// The same, taking over the rows of an earlier evaluation whose job key is the same; see [`Journal::open`].
pub fn evaluate_onto(
    plan: &Plan,
    earlier: BTreeMap<String, Row>,
    runner: &dyn Runner,
    observer: &dyn Observer,
) -> EvaluationResult {
    let jobs = schedule::jobs(plan);
    let rows = schedule::run(plan, &jobs, observer, |job| row_of(job, &earlier, runner));
    let summary = summary::summarise(plan, &rows);
    EvaluationResult { rows, summary }
}

/// The row of one sample, and whether it was taken over.
fn row_of(job: &Job<'_>, earlier: &BTreeMap<String, Row>, runner: &dyn Runner) -> (Row, bool) {
    let Some(candidate) = assemble(job.problem, job.answer) else {
        let run = SampleRun::without_measurement(Verdict::EmptyAnswer);
        return (Row::new(job, String::new(), run), false);
    };
    let key = runner.key(&candidate, job.problem);
    if let Some(row) = earlier.get(&key).filter(|_| !key.is_empty()) {
        return (row.of_job(job), true);
    }
    let run = runner.run(&candidate, job.problem);
    (Row::new(job, key, run), false)
}

#[cfg(test)]
mod tests;
