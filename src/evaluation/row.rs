//! A row: everything that is kept of one sample.
use super::run::SampleRun;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// Version of the JSON of rows and summary; docs/formats.md says what each version is.
pub const SCHEMA_VERSION: u32 = 1;

/// One sample's result; one JSON object a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Id of the problem.
    pub problem: String,
    /// Name of the model.
    pub model: String,
    /// Number of the sample among the model's samples of the problem, from 0.
    pub sample: usize,
    /// Name of the machine.
    #[serde(default)]
    pub machine: String,
    /// Right or wrong, and why.
    pub verdict: Verdict,
    /// The longest case of an accepted sample in core cycles; null where the machine only counts.
    pub runtime_cycles: Option<u64>,
    /// The longest case of an accepted sample in instructions; null natively.
    pub runtime_instructions: Option<u64>,
    /// The longest case of an accepted sample in nanoseconds of CPU time; native backend only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runtime_cpu_time_ns: Option<u64>,
    /// The cases that were run; those after the first that was not accepted were not.
    pub cases: Vec<CaseRow>,
    /// The whole runs together: start-up, loading, calls, and the test itself; null where nothing ran.
    pub total: Option<Total>,
    /// System calls that the guest asked for and did not get, each once.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unanswered_system_calls: Vec<String>,
    /// The guest read a clock: its behaviour may depend on simulated time.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub clock_read: bool,
    /// The machine that rejected the sample in place of this one, on which it did not run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub screened: Option<String>,
    /// Key of the job: with an equal key the row need not be computed again. Empty where nothing ran.
    pub key: String,
}

/// One test case of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRow {
    /// Name of the case: of the input, or the number of the call from 1.
    pub name: String,
    /// Absent where the case was passed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
    /// Core cycles: of the call's region less the empty one, or of the whole program.
    pub cycles: Option<u64>,
    /// Instructions, likewise.
    pub instructions: Option<u64>,
    /// CPU time, likewise; native backend only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_time_ns: Option<u64>,
}

/// Counters of whole runs, summed over the runs of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Core cycles; null where the machine only counts.
    pub cycles: Option<u64>,
    /// Instructions; null natively.
    pub instructions: Option<u64>,
    /// CPU time; native backend only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_time_ns: Option<u64>,
    /// Highest live memory of any run; absent (0) on gem5, which does not say.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub peak_memory_bytes: u64,
    /// Live memory in KiB integrated over cycles (instructions, on machines that only count); absent natively.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory_kib_cycles: Option<u64>,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl Row {
    /// The row of a sample's result.
    pub(super) fn new(place: Place<'_>, key: String, run: SampleRun) -> Self {
        let longest = |of: fn(&CaseRow) -> Option<u64>| {
            // One case without the figure leaves the maximum unknown.
            let figures: Option<Vec<u64>> = run.cases.iter().map(of).collect();
            figures?
                .into_iter()
                .max()
                .filter(|_| run.verdict.is_accepted())
        };
        Self {
            problem: place.problem.into(),
            model: place.model.into(),
            sample: place.sample,
            machine: place.machine.into(),
            runtime_cycles: longest(|case| case.cycles),
            runtime_instructions: longest(|case| case.instructions),
            runtime_cpu_time_ns: longest(|case| case.cpu_time_ns),
            verdict: run.verdict,
            cases: run.cases,
            total: run.total,
            unanswered_system_calls: run.unanswered_system_calls,
            clock_read: run.clock_read,
            screened: run.screened,
            key,
        }
    }

    /// The row as one line of JSON with its line feed.
    pub fn to_json_line(&self) -> String {
        // Strings, integers and enums with string tags: nothing here can fail to become JSON.
        let mut line = serde_json::to_string(self).expect("a row holds only what JSON can hold");
        line.push('\n');
        line
    }
}

/// Which sample a row is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Id of the problem.
    pub(super) problem: &'a str,
    /// Name of the model.
    pub(super) model: &'a str,
    /// Number among the model's samples of the problem.
    pub(super) sample: usize,
    /// Name of the machine.
    pub(super) machine: &'a str,
}
