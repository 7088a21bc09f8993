//! tickmark: compares programs by exact instruction and cycle counts instead of by the clock of a shared machine.
//!
//! ```text
//! response -> Candidate -> Artifact -> Job -> Measurement -> Verdict -> Metric -> Report
//!              source      what can    what   raw counters   right or   one       tables,
//!                          be run      to run + output       wrong,why  number    plots, files
//! ```
//! Each word of that flow is a module or a type of one; [`sim`] is the machine under it. docs/architecture.md is the map.
pub mod artifact;
pub mod backend;
pub mod calibrate;
pub mod candidate;
pub mod cli;
pub mod compare;
pub mod dataset;
pub mod evaluation;
pub mod measurement;
pub mod metric;
pub mod process;
pub mod protocol;
pub mod report;
pub mod sim;
pub mod stats;
pub mod store;
pub mod verdict;
