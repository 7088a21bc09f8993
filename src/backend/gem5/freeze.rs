//! Frozen configurations: what gem5's Python makes of a machine, written down once, so that later runs need no Python.
use super::find::{Installation, request};
use super::job::{self, Asked, Program};
use super::mapping;
use super::run::{Folders, stack_of};
use super::world::WORKING_FOLDER;
use crate::measurement::BackendFailure;
use crate::process;
use crate::sim::machine::Machine;
use crate::sim::outcome::Limits;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the configuration in its folder.
pub const CONFIGURATION: &str = "config.ini";
/// Name of what it is of.
pub const RECORD: &str = "frozen.json";

/// Of what a frozen configuration is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the machine.
    pub machine: String,
    /// [`Machine::hash`].
    pub machine_hash: String,
    /// Version of gem5.
    pub gem5_version: String,
    /// Core clock.
    pub frequency_hz: u64,
    /// The core keeps cycles.
    pub timed: bool,
    /// Bytes of simulated memory.
    pub memory_bytes: u64,
}

/// The smallest program that gem5 takes for one of x86-64 Linux: it exits at once.
fn smallest_program() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    // mov eax, 60; xor edi, edi; syscall
    let code = [0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
    let size = 64 + 56 + code.len() as u64;
    let mut file = Vec::new();
    file.extend_from_slice(b"\x7fELF\x02\x01\x01\x03\0\0\0\0\0\0\0\0");
    for half in [2_u16, 62] {
        file.extend_from_slice(&half.to_le_bytes());
    }
    file.extend_from_slice(&1_u32.to_le_bytes());
    for long in [BASE + 120, 64, 0] {
        file.extend_from_slice(&long.to_le_bytes());
    }
    file.extend_from_slice(&0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend_from_slice(&half.to_le_bytes());
    }
    // PT_LOAD, readable and executable.
    for word in [1_u32, 5] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    for long in [0, BASE, BASE, size, size, 0x1000] {
        file.extend_from_slice(&long.to_le_bytes());
    }
    file.extend_from_slice(&code);
    file
}

/// Has gem5 write the configuration of a machine into a folder; gives the path of the file.
///
/// # Errors
/// gem5 cannot be such a machine, does not write it, or the folder cannot be written.
pub fn freeze(
    gem5: &Installation,
    machine: &Machine,
    limits: &Limits,
    to: &Path,
) -> Result<PathBuf, BackendFailure> {
    let failure = |what: String| BackendFailure {
        what,
        remedy: "check gem5 with `tickmark gem5 check`".to_owned(),
    };
    let system = mapping::system(machine).map_err(|error| BackendFailure {
        what: error.what,
        remedy: error.remedy,
    })?;
    let folders = Folders::new().map_err(|crash| failure(crash.what))?;
    let out = &folders.out;
    let (program, result) = (out.join("program"), out.join("result.json"));
    let memory_bytes = limits.memory_bytes.next_multiple_of(4096);
    let asked = Asked::Freeze {
        result: &result,
        system: &system,
        program: &Program {
            executable: &program,
            command: &["program".to_owned()],
            environment: &[],
            working_folder: WORKING_FOLDER,
            stdin: Path::new("stdin"),
            stderr: Path::new("stderr"),
            jail: Some(&folders.jail),
            memory_bytes,
            stack_bytes: stack_of(limits),
        },
    };
    std::fs::write(&program, smallest_program())
        .and_then(|()| std::fs::write(out.join("stdin"), b""))
        .and_then(|()| job::write(out, &asked))
        .map_err(|error| failure(format!("cannot write the job for gem5: {error}")))?;
    let finished = process::run(request(gem5.executable.clone(), out))
        .map_err(|error| failure(error.to_string()))?;
    if !result.exists() {
        let log = String::from_utf8_lossy(&finished.stderr);
        let last = log.lines().rfind(|line| !line.trim().is_empty());
        return Err(failure(format!(
            "gem5 did not write the configuration of `{}`: {}",
            machine.name,
            last.unwrap_or("it said nothing")
        )));
    }
    let record = Record {
        machine: machine.name.clone(),
        machine_hash: machine.hash(),
        gem5_version: gem5.about.version.clone(),
        frequency_hz: system.frequency_hz,
        timed: system.core != "atomic",
        memory_bytes,
    };
    let written = || -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(to)?;
        let path = to.join(CONFIGURATION);
        std::fs::copy(out.join(CONFIGURATION), &path)?;
        let text = serde_json::to_string_pretty(&record)?;
        std::fs::write(to.join(RECORD), format!("{text}\n"))?;
        Ok(path)
    };
    written().map_err(|error| failure(format!("cannot write `{}`: {error}", to.display())))
}
