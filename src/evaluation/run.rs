//! The joint to artifact and backend: what runs a candidate, and what comes back.
use super::programs::{Check, Checked};
use super::row::{CaseRow, Total};
use crate::candidate::Candidate;
use crate::dataset::{Form, Problem};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::verdict::{Judging, Results, Verdict, judge_calls, judge_case, judge_function};
use serde::{Deserialize, Serialize};

/// Builds and runs candidates.
pub trait Runner: Sync {
    /// A hash of everything that can change the outcome: source, test or inputs, toolchain, flags, machine, limits,
    /// rules of comparison, and version. An empty key is never equal to another.
    fn key(&self, candidate: &Candidate, problem: &Problem) -> String;

    /// Builds the candidate and runs it on every case of the problem. A panic becomes a backend failure of the sample.
    fn run(&self, candidate: &Candidate, problem: &Problem) -> SampleRun;
}

/// What is kept of a sample's runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRun {
    /// The verdict of the sample: that of its first case that was not accepted.
    pub verdict: Verdict,
    /// The cases that were run, in order.
    pub cases: Vec<CaseRow>,
    /// Counters of the whole runs.
    pub total: Option<Total>,
    /// System calls that were not answered, each once, in the order of their first use.
    pub unanswered_system_calls: Vec<String>,
    /// The guest read a clock.
    pub clock_read: bool,
    /// Key of the build; empty where there was none.
    pub build: String,
    /// Keys of the measurements, in order.
    pub jobs: Vec<String>,
    /// The machine that rejected the sample in place of the one that was asked for; its figures stand with its own
    /// result only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub screened: Option<String>,
}

impl SampleRun {
    /// A sample that did not come to a run: it was not built, or something of ours went wrong.
    pub fn without_measurement(verdict: Verdict) -> Self {
        Self {
            verdict,
            cases: Vec::new(),
            total: None,
            unanswered_system_calls: Vec::new(),
            clock_read: false,
            build: String::new(),
            jobs: Vec::new(),
            screened: None,
        }
    }

    /// The same verdict for another machine than the one that ran it: figures of one machine never stand in a result of
    /// another.
    pub(super) fn without_figures(mut self, ran_on: &str) -> Self {
        let ran = self.total.is_some() || !self.cases.is_empty();
        self.screened = ran.then(|| ran_on.to_owned());
        self.total = None;
        for case in &mut self.cases {
            case.cycles = None;
            case.instructions = None;
            case.cpu_time_ns = None;
        }
        self
    }

    /// Runs a built candidate and judges each run as it comes.
    ///
    /// `measure` runs it on the given standard input: for a program once a case until one is not accepted, for a
    /// function once, with no input. A candidate that loops would otherwise cost its limit once a case.
    pub fn measure(
        problem: &Problem,
        check: &dyn Check,
        mut measure: impl FnMut(&[u8]) -> Result<Measurement, BackendFailure>,
    ) -> Self {
        let judging = &problem.judging;
        let mut sample = Self::without_measurement(Verdict::Accepted);
        match &problem.form {
            Form::Function { .. } => match measure(&[]) {
                Ok(measurement) => {
                    sample.add_function(&measurement, judge_function(&measurement));
                }
                Err(failure) => sample.verdict = failure.into(),
            },
            Form::Calls(calls) => match measure(&calls.input()) {
                Ok(measurement) => {
                    let results = Results::of(&measurement);
                    let mut verdict = judge_calls(&measurement, calls, &results, judging);
                    // A wrong result counts before the way in which a later call ends.
                    if let Judging::Checker(checker) = judging
                        && !verdict.is_failure_of_ours()
                        && verdict != Verdict::ForgedMarker
                    {
                        let checked = Checked::of_calls(calls, &results);
                        verdict = check.judge(checker, &checked, verdict);
                    }
                    sample.add_function(&measurement, verdict);
                    for (row, case) in sample.cases.iter_mut().zip(&calls.cases) {
                        row.name.clone_from(&case.name);
                    }
                }
                Err(failure) => sample.verdict = failure.into(),
            },
            Form::Program { cases } => {
                for case in cases {
                    let measurement = match measure(&case.stdin) {
                        Ok(measurement) => measurement,
                        Err(failure) => {
                            sample.verdict = failure.into();
                            break;
                        }
                    };
                    let mut verdict = judge_case(&measurement, case, judging);
                    if let Judging::Checker(checker) = judging
                        && verdict.is_accepted()
                    {
                        let checked = [Checked::of_program(case, &measurement)];
                        verdict = check.judge(checker, &checked, verdict);
                    }
                    sample.add_program_case(&case.name, verdict, &measurement);
                    if !sample.verdict.is_accepted() {
                        break;
                    }
                }
            }
        }
        sample
    }

    /// A program's case is its whole run.
    fn add_program_case(&mut self, name: &str, verdict: Verdict, measurement: &Measurement) {
        let total = total_of(measurement);
        self.cases.push(CaseRow {
            name: name.into(),
            verdict: (!verdict.is_accepted()).then(|| verdict.clone()),
            cycles: total.cycles,
            instructions: total.instructions,
            cpu_time_ns: total.cpu_time_ns,
        });
        self.verdict = verdict;
        self.add_total(measurement);
    }

    /// A function's cases are the regions after the first, which is empty and measures what the driver costs.
    fn add_function(&mut self, measurement: &Measurement, verdict: Verdict) {
        self.verdict = verdict;
        let native = measurement.backend == BackendName::Native;
        let baseline = measurement.regions.first();
        for (index, region) in measurement.regions.iter().enumerate().skip(1) {
            // A call that costs less than the warmed-up empty one was luckier with its caches; it still cost something,
            // and no zero may reach a metric.
            let less =
                |figure: u64, empty: Option<u64>| figure.saturating_sub(empty.unwrap_or(0)).max(1);
            let empty_cycles = baseline.and_then(|empty| empty.cycles);
            let empty_instructions = baseline.map(|empty| empty.instructions);
            let cpu_time_ns = measurement.region_cpu_time_ns.get(index);
            self.cases.push(CaseRow {
                name: index.to_string(),
                verdict: None,
                cycles: region.cycles.map(|cycles| less(cycles, empty_cycles)),
                instructions: (!native).then(|| less(region.instructions, empty_instructions)),
                // Natively the empty call is one noisy reading that may exceed a call's: what the clock costs stays in.
                cpu_time_ns: cpu_time_ns.map(|&time| time.max(1)),
            });
        }
        self.add_total(measurement);
    }

    fn add_total(&mut self, measurement: &Measurement) {
        let run = total_of(measurement);
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.total = Some(match self.total {
            None => run,
            Some(total) => Total {
                cycles: sum(total.cycles, run.cycles),
                instructions: sum(total.instructions, run.instructions),
                cpu_time_ns: sum(total.cpu_time_ns, run.cpu_time_ns),
                peak_memory_bytes: total.peak_memory_bytes.max(run.peak_memory_bytes),
                memory_kib_cycles: sum(total.memory_kib_cycles, run.memory_kib_cycles),
            },
        });
        self.clock_read |= measurement.clock_read;
        for name in &measurement.unanswered_system_calls {
            if !self.unanswered_system_calls.contains(name) {
                self.unanswered_system_calls.push(name.clone());
            }
        }
    }
}

fn total_of(measurement: &Measurement) -> Total {
    let native = measurement.backend == BackendName::Native;
    let counters = &measurement.counters;
    Total {
        cycles: counters.cycles,
        // gem5 leaves no counts where a fault of the guest ends it: that is no zero.
        instructions: (!native && counters.instructions > 0).then_some(counters.instructions),
        cpu_time_ns: counters
            .parts
            .get("cpu_time_ns")
            .copied()
            .filter(|_| native),
        peak_memory_bytes: counters.peak_memory_bytes,
        memory_kib_cycles: (!native && counters.memory_kib_cycles > 0)
            .then_some(counters.memory_kib_cycles),
    }
}
