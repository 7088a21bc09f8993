//! Measurements: why a run stopped, its counters, its output, and where they come from. Facts, no judgement.
use crate::sim::outcome::{Counters, Exit, Region};

/// Where a measurement comes from. Measurements of different backends are never mixed into one population.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    /// The embedded simulator.
    Sim,
    /// The host processor.
    Native,
    /// gem5.
    Gem5,
}

/// One run of an artifact on one input.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The backend that made it.
    pub backend: BackendName,
    /// Name of the machine model (`host` natively).
    pub machine: String,
    /// Why the run stopped.
    pub exit: Exit,
    /// Counters of the whole run; natively only what the host can tell (`cpu_time_ns` and `wall_time_ns` among the parts).
    pub counters: Counters,
    /// Regions between the driver's markers, in order; natively `instructions` is 0 and `cycles` is absent.
    pub regions: Vec<Region>,
    /// CPU time of each region in nanoseconds, natively; empty elsewhere.
    pub region_cpu_time_ns: Vec<u64>,
    /// A region was begun and not ended.
    pub open_region: bool,
    /// Kind and text of the driver's messages other than markers.
    pub messages: Vec<(u8, Vec<u8>)>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// System calls answered `ENOSYS`, each once (`sim`).
    pub unanswered_system_calls: Vec<String>,
    /// The guest read a clock (`sim`).
    pub clock_read: bool,
}

/// A failure of ours: it leaves every denominator and is reported loudly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct BackendFailure {
    /// What went wrong and where.
    pub what: String,
    /// What to do.
    pub remedy: String,
}
