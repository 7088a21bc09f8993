//! gem5 as a backend: the same artifact, the same machine file, judged output and typed endings.
//!
//! gem5 is the user's own. It runs as a process of its own for each run (`run`), on a system that our script builds from
//! the machine model (`mapping`, sim-configs/gem5/se.py); its statistics are read strictly (`stats`, `counters`), and how
//! the guest ended is found out from its exit event and its messages (`ending`). `find` finds it and asks it what it is.
#[cfg(test)]
mod captures;
mod counters;
mod ending;
pub mod mapping;
mod names;
pub mod stats;

pub use counters::counters;
pub use ending::{Crash, ExitEvent, ending};
