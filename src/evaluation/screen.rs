//! Screening: a machine that only counts judges first, and only what it accepts runs on a machine with cycles.
//!
//! What a program computes does not depend on the machine that it is simulated on, unless it looks at the simulated
//! clock; and most of the time of a study on a machine with cycles goes into samples that are not accepted, endless
//! loops above all. So the verdict of the first run is that of all machines, with two exceptions, which run on each
//! machine and are judged there: what is accepted, since its figures are wanted, and what read the clock.
use super::OnMachine;
use super::kept::Kept;
use super::memory::Memory;
use super::run::{Runner, SampleRun};
use crate::artifact::ContentHash;
use crate::candidate::Candidate;
use crate::dataset::Problem;

/// How many results are kept for the other machines of a study that begin while the first still runs; later ones find
/// them in the store.
const KEPT_RESULTS: usize = 64;

/// The machine that judges first, for any number of machines with cycles; it runs each sample once.
pub struct Screen<'a> {
    machine: &'a str,
    runner: &'a dyn Runner,
    kept: Kept<SampleRun>,
}

impl std::fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen")
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

impl<'a> Screen<'a> {
    /// A screen that is this machine. It must show programs the same processor as the machines that it stands for.
    pub fn new(machine: &'a str, runner: &'a dyn Runner) -> Self {
        Self {
            machine,
            runner,
            kept: Kept::new(KEPT_RESULTS),
        }
    }

    /// Key of a sample's result where this screen stands before the machine whose own key is `key`. It is neither of
    /// the two: a rejected sample has another result here than without a screen.
    pub(super) fn key(&self, candidate: &Candidate, problem: &Problem, key: &str) -> String {
        let own = self.runner.key(candidate, problem);
        if own.is_empty() || key.is_empty() {
            return String::new();
        }
        ContentHash::of_parts(["screened", &own, key]).to_string()
    }

    /// The result on the screen's own machine, stored as if that machine had been asked for; and whether it was run for
    /// it now. One thread runs it while others that need it wait.
    fn first(
        &self,
        candidate: &Candidate,
        problem: &Problem,
        memory: &Memory<'_>,
    ) -> (SampleRun, bool) {
        let key = self.runner.key(candidate, problem);
        if let Some(run) = memory.result(&key) {
            return (run, false);
        }
        let mut ran = false;
        let run = self.kept.get_or_make(&key, || {
            ran = true;
            let run = self.runner.run(candidate, problem);
            memory.keep_result(&key, &run);
            run
        });
        (run, ran)
    }
}

/// A sample's result and what it cost to find it.
pub(super) struct Found {
    /// The result.
    pub(super) run: SampleRun,
    /// Nothing was run for it now.
    pub(super) known: bool,
    /// Instructions of the runs that were made now.
    pub(super) instructions: u64,
}

impl Found {
    /// A result that was known.
    pub(super) fn known(run: SampleRun) -> Self {
        Self {
            run,
            known: true,
            instructions: 0,
        }
    }

    /// A result for which something was run now.
    pub(super) fn made(run: SampleRun) -> Self {
        Self {
            instructions: instructions(&run),
            known: false,
            run,
        }
    }
}

fn instructions(run: &SampleRun) -> u64 {
    run.total.and_then(|total| total.instructions).unwrap_or(0)
}

/// Finds the result of a candidate on a machine, behind its screen if it has one, and keeps it under `key`, under which
/// it is not known.
pub(super) fn find(
    on: &OnMachine<'_>,
    key: &str,
    candidate: &Candidate,
    problem: &Problem,
    memory: &Memory<'_>,
) -> Found {
    let made = || Found::made(on.runner.run(candidate, problem));
    let found = match on.screen {
        None => made(),
        Some(screen) => {
            let (first, ran) = screen.first(candidate, problem, memory);
            let spent = if ran { instructions(&first) } else { 0 };
            let mut found = if decides(&first) {
                Found::known(first.without_figures(screen.machine))
            } else {
                let own = on.runner.key(candidate, problem);
                memory.result(&own).map_or_else(
                    || {
                        let found = made();
                        memory.keep_result(&own, &found.run);
                        found
                    },
                    Found::known,
                )
            };
            found.known &= !ran;
            found.instructions = found.instructions.saturating_add(spent);
            found
        }
    };
    memory.keep_result(key, &found.run);
    found
}

/// Whether the machines behind the screen would judge alike, and their figures are not wanted. A failure of ours is no
/// judgement, but what does not run on a machine that only counts runs on no other either.
fn decides(first: &SampleRun) -> bool {
    let verdict = &first.verdict;
    !verdict.is_accepted() && (verdict.is_failure_of_ours() || !first.clock_read)
}
