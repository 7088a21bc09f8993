//! Observers: what is told while an evaluation goes on.
use super::row::Row;
use std::time::Duration;

/// Is told of progress. Calls come one at a time, from whichever thread finished the job.
pub trait Observer: Sync {
    /// The evaluation begins, with this many samples.
    fn begun(&self, samples: usize) {
        let _ = samples;
    }

    /// A sample is done; rows come in the order of completion. `reused`: the row was taken over.
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
    /// Time since the beginning.
    pub elapsed: Duration,
    /// The estimate of the time that is left; `None` before anything is known.
    pub remaining: Option<Duration>,
}

/// The observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
