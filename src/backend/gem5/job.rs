//! What our script is asked to do: one JSON file beside the script, in gem5's output folder.
use super::mapping::System;
use super::names;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// Name of the script in the output folder.
pub(super) const SCRIPT: &str = "se.py";
/// Name of the job in the output folder.
pub(super) const FILE: &str = "job.json";
/// The script.
pub const SCRIPT_TEXT: &str = include_str!("../../../sim-configs/gem5/se.py");
/// The line behind which standard output is the program's.
pub(super) const BEGIN: &str = "tickmark: the program begins";
/// Markers that a run may send: each stops gem5 for a moment, and a program that sends more is attacking us.
pub(super) const MOST_MARKS: u64 = 1 << 20;

/// What is asked.
pub(super) enum Asked<'a> {
    /// What gem5 it is.
    Identify { result: &'a Path },
    /// To write the configuration, without running it.
    Freeze {
        result: &'a Path,
        system: &'a System,
        program: &'a Program<'a>,
    },
    /// To run a program.
    Run {
        result: &'a Path,
        system: &'a System,
        program: &'a Program<'a>,
        max_instructions: u64,
        /// The pipe through which markers come.
        markers: Option<&'a Path>,
    },
}

/// A run of a frozen configuration: what the worker reads.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct FrozenJob {
    pub(super) configuration: String,
    pub(super) result: String,
    pub(super) executable: String,
    pub(super) command: Vec<String>,
    pub(super) environment: Vec<String>,
    pub(super) working_folder: String,
    pub(super) stdin: String,
    pub(super) stderr: String,
    pub(super) jail: String,
    pub(super) max_instructions: u64,
    pub(super) markers: Option<String>,
}

/// Writes a job for the worker into a folder.
pub(super) fn write_frozen(folder: &Path, job: &FrozenJob) -> io::Result<()> {
    std::fs::write(folder.join(FILE), serde_json::to_vec(job)?)
}

/// The program and what it sees.
pub(super) struct Program<'a> {
    /// Its path on the host.
    pub(super) executable: &'a Path,
    /// `argv`.
    pub(super) command: &'a [String],
    /// `NAME=value`.
    pub(super) environment: &'a [String],
    /// In the guest.
    pub(super) working_folder: &'a str,
    /// File of standard input.
    pub(super) stdin: &'a Path,
    /// File for standard error.
    pub(super) stderr: &'a Path,
    /// Folder that stands for `/`.
    pub(super) jail: Option<&'a Path>,
    pub(super) memory_bytes: u64,
    /// `None`: gem5's own 64 MiB.
    pub(super) stack_bytes: Option<u64>,
}

impl Program<'_> {
    fn to_json(&self) -> Value {
        json!({
            "executable": self.executable,
            "command": self.command,
            "environment": self.environment,
            "working_folder": self.working_folder,
            "stdin": self.stdin,
            "stderr": self.stderr,
            "jail": self.jail,
            "stack_bytes": self.stack_bytes,
        })
    }
}

/// Writes the script and its job into a folder.
pub(super) fn write(folder: &Path, asked: &Asked<'_>) -> io::Result<()> {
    let mut job = match asked {
        Asked::Identify { result } => json!({"action": "identify", "result": result}),
        Asked::Freeze {
            result,
            system,
            program,
        } => json!({
            "action": "freeze",
            "result": result,
            "system": system,
            "program": program.to_json(),
            "memory_bytes": program.memory_bytes,
            "max_instructions": 0,
            "markers": null,
        }),
        Asked::Run {
            result,
            system,
            program,
            max_instructions,
            markers,
        } => json!({
            "action": "run",
            "result": result,
            "system": system,
            "program": program.to_json(),
            "memory_bytes": program.memory_bytes,
            "max_instructions": max_instructions,
            "markers": markers,
            "most_marks": MOST_MARKS,
            "begin": BEGIN,
        }),
    };
    job["names"] = serde_json::from_str(names::TEXT)?;
    std::fs::write(folder.join(SCRIPT), SCRIPT_TEXT)?;
    std::fs::write(folder.join(FILE), serde_json::to_vec(&job)?)
}
