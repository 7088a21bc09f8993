//! Protocols: how published studies measure and decide, each with its own rules, as presets.
//!
//! Takes runs that `compare` made (or recorded reports), gives the study's tables as data. A protocol decides only what
//! its study decides; where this differs from the rules of `tickmark compare`, the protocol's documentation says so.
mod dseffi2026;
mod jeto2026;
mod junit;
mod le2026;

pub use dseffi2026::{
    Instance, ModelScore, SpectrumTask, TASK_LIMIT_NS, load_instances, parse_instances, score,
};
pub(crate) use jeto2026::read_reports;
pub use jeto2026::{
    ClassJudgement, Direction, Judgement, Margin, PatchVerdict, Rounds, judge_rounds,
    modified_modules, read_rounds,
};
pub use junit::{ClassReport, JUnitError, parse_report};
pub use le2026::{BenchmarkResult, TaskResult, judge_benchmark};
