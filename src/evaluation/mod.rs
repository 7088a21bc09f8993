//! The evaluation: from samples to rows, in parallel, with a fixed result order.
//!
//! ```text
//! plan -> jobs -> Candidate -> Runner (artifact, backend, verdict) -> Row -> Summary
//! ```
//! The same plan and runners give the same rows and the same summaries, whatever the number of threads and whatever
//! was known before. What is known stands in a [`Memory`]: a result that is there is not computed again.
mod backend_runner;
mod demo;
mod estimate;
mod expected;
mod job;
mod kept;
mod memory;
mod observer;
mod page;
mod plan;
mod programs;
mod row;
mod run;
mod schedule;
mod screen;
mod study;
mod summary;

pub use backend_runner::{BackendRunner, Builder};
pub use demo::demo_plans;
pub use expected::{Authority, Completion, sources};
pub use job::JobKey;
pub use memory::{BuildFact, Memory};
pub use observer::{Observer, Progress, Silent};
pub use page::page;
pub use plan::{Model, Plan, ReportOptions};
pub use programs::{Check, Checked, Programs};
pub use row::{CaseRow, Row, SCHEMA_VERSION, Total};
pub use run::{Runner, SampleRun};
pub use screen::Screen;
pub use study::{DefinedModel, Definition, StoredStudy};
pub use summary::{ModelSummary, RuntimeUnit, Summary};

use crate::artifact::ContentHash;
use crate::candidate::{Candidate, assemble};
use crate::dataset::Problem;
use crate::store::StudySample;
use crate::verdict::Verdict;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use row::Place;
use schedule::{Done, Job};
use screen::Found;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything that an evaluation found.
#[derive(Clone, Debug)]
pub struct EvaluationResult {
    /// One row a sample: in the order of the machines, then of the problems, of the models, of the samples.
    pub rows: Vec<Row>,
    /// The metrics of the rows, one summary a machine.
    pub summaries: Vec<Summary>,
    /// It was asked to stop: rows are missing.
    pub interrupted: bool,
    /// Key of the study in the store, if it could be written down.
    pub study: Option<String>,
}

impl EvaluationResult {
    /// The rows and the summaries as JSON lines.
    pub fn to_json_lines(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&row.to_json_line());
        }
        for summary in &self.summaries {
            text.push_str(&summary.to_json_line());
        }
        text
    }

    /// How many rows say nothing about their sample, because something of ours went wrong.
    pub fn failures_of_ours(&self) -> usize {
        let ours = |row: &&Row| row.verdict.is_failure_of_ours();
        self.rows.iter().filter(ours).count()
    }
}

/// A machine by its name, and what runs candidates on it.
#[derive(Clone, Copy)]
pub struct OnMachine<'a> {
    /// Its name in results.
    pub machine: &'a str,
    /// What runs candidates.
    pub runner: &'a dyn Runner,
    /// What judges first, so that only accepted samples run on this machine.
    pub screen: Option<&'a Screen<'a>>,
}

impl OnMachine<'_> {
    /// Key of a sample's result on this machine, behind its screen if it has one.
    fn key(&self, candidate: &Candidate, problem: &Problem) -> String {
        let key = self.runner.key(candidate, problem);
        match self.screen {
            Some(screen) => screen.key(candidate, problem, &key),
            None => key,
        }
    }
}

impl std::fmt::Debug for OnMachine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnMachine")
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

/// Evaluates every sample of the plan on every machine.
///
/// Once `stop` is set, no further sample is begun; those that run are finished, and nothing that was found is lost.
pub fn evaluate(
    plan: &Plan,
    machines: &[OnMachine<'_>],
    memory: &Memory<'_>,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> EvaluationResult {
    let jobs = schedule::jobs(plan, machines);
    let pool = schedule::pool(plan);
    let prepared = schedule::within(pool.as_ref(), || {
        jobs.par_iter().map(prepare).collect::<Vec<_>>()
    });
    let names = machines.iter().map(|on| on.machine.to_owned()).collect();
    let definition = Definition::of(plan, names);
    let study = begin_study(&definition, &jobs, &prepared, memory);
    let keys: Vec<&str> = prepared.iter().map(|one| one.key.as_str()).collect();
    let mut rows = schedule::run(pool.as_ref(), plan, &jobs, stop, observer, |index| {
        row_of(&jobs[index], keys[index], memory)
    });
    let interrupted = stop.load(Ordering::Relaxed) && rows.len() < jobs.len();
    rows.sort_by_key(|(index, _)| {
        let job = &jobs[*index];
        (job.machine_index, job.problem_index, *index)
    });
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let summaries = if interrupted {
        Vec::new()
    } else {
        summary::summarise(&definition, &rows, &plan.report)
    };
    EvaluationResult {
        rows,
        summaries,
        interrupted,
        study,
    }
}

/// What is known of a job before it runs.
struct Prepared {
    /// Key of its result; empty where the answer has no code.
    key: String,
    /// The candidate's source.
    source: String,
}

fn prepare(job: &Job<'_>) -> Prepared {
    // An answer at which the parsers fail is dealt with when its turn comes.
    let candidate = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        assemble(job.problem, job.answer)
    }));
    let Ok(Some(candidate)) = candidate else {
        return Prepared {
            key: String::new(),
            source: String::new(),
        };
    };
    let key = job.on.key(&candidate, job.problem);
    Prepared {
        key,
        source: match candidate {
            Candidate::CppProgram { source }
            | Candidate::CppFunction { source, .. }
            | Candidate::CppCalls { source, .. }
            | Candidate::PythonCalls { source, .. }
            | Candidate::PythonProgram { source }
            | Candidate::PythonFunction { source, .. } => source,
        },
    }
}

fn begin_study(
    definition: &Definition,
    jobs: &[Job<'_>],
    prepared: &[Prepared],
    memory: &Memory<'_>,
) -> Option<String> {
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    let mut samples = Vec::with_capacity(jobs.len());
    let mut sources = Vec::new();
    for (job, prepared) in jobs.iter().zip(prepared) {
        let there = !prepared.key.is_empty();
        samples.push(StudySample {
            machine: number(job.machine_index),
            problem: number(job.problem_index),
            model: number(job.model_index),
            sample: number(job.sample),
            result: there.then(|| prepared.key.clone()),
            source: there.then(|| ContentHash::of(prepared.source.as_bytes()).to_string()),
        });
        if there {
            sources.push(prepared.source.as_str());
        }
    }
    samples.sort();
    memory.begin_study(&definition.name, &definition.to_blob(), &samples, &sources)
}

/// The row of one sample, and what it cost.
fn row_of(job: &Job<'_>, key: &str, memory: &Memory<'_>) -> Done {
    let place = Place {
        problem: &job.problem.id,
        model: job.model,
        sample: job.sample,
        machine: job.on.machine,
    };
    let done = |key: &str, found: Found| Done {
        row: Row::new(place, key.into(), found.run),
        known: found.known,
        instructions: found.instructions,
    };
    if let Some(run) = memory.result(key) {
        return done(key, Found::known(run));
    }
    let Some(candidate) = assemble(job.problem, job.answer) else {
        let run = SampleRun::without_measurement(Verdict::EmptyAnswer);
        return done("", Found::made(run));
    };
    let found = screen::find(&job.on, key, &candidate, job.problem, memory);
    done(key, found)
}

#[cfg(test)]
mod tests;
