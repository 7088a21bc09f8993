//! Observers: what is told while an evaluation goes on.
use super::row::Row;
use std::time::Duration;

/// Is told of progress. Calls come one at a time, from whichever thread finished the job.
pub trait Observer: Sync {
    /// The evaluation begins, with this many samples (times machines).
    fn begun(&self, samples: usize) {
        let _ = samples;
    }

    /// A sample is done; rows come in the order of completion. `reused`: the result was known.
    fn finished(&self, row: &Row, reused: bool, progress: &Progress) {
        let _ = (row, reused, progress);
    }
}

/// How far an evaluation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Samples that are done.
    pub done: usize,
    /// All samples.
    pub samples: usize,
    /// How many of those that are done were known.
    pub reused: usize,
    /// How many of those that are done were rejected.
    pub rejected: usize,
    /// How many have no result because of a failure of ours.
    pub failures: usize,
    /// Instructions of the runs so far, known ones left out; a part of them is answered by snapshots.
    pub instructions: u64,
    /// Time since the beginning.
    pub elapsed: Duration,
    /// The estimate of the time that is left; `None` before anything is known.
    pub remaining: Option<Duration>,
}

impl Progress {
    /// Millions of instructions a second so far.
    pub fn mips(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 {
            self.instructions as f64 / 1e6 / seconds
        } else {
            0.0
        }
    }
}

/// The observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
