//! Compares the timing models with captures of another simulator: the same programs, the same machine, count by count.
//!
//! A folder of captures holds `summary.jsonl`, a line a run (machine, group, program, instructions, micro-ops, cycles),
//! and the executables that were run: those of the group `micro` under `micro/`, all others under `programs/`, with
//! standard input in `NAME.in` where a program has any. The programs ran with the folder as their working directory and
//! an empty environment, so they do here.
pub mod live;
pub mod microbenchmark;
mod table;

pub use table::{micro_table, table};

use crate::sim::guest::profile::Profile;
use crate::sim::guest::world::World;
use crate::sim::guest::{self};
use crate::sim::isa::decode::Features;
use crate::sim::isa::run::Engine;
use crate::sim::machine::{Core, Machine, MachineError, catalog};
use crate::sim::outcome::{Exit, Limits, Outcome, Program};
use crate::sim::simulation::Simulation;
use crate::sim::uarch::Timing;
use crate::sim::uarch::atomic::Atomic;
use crate::sim::uarch::blocking::Blocking;
use crate::sim::uarch::ooo::OutOfOrder;
use crate::sim::uarch::simple::Simple;
use rayon::prelude::*;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a reference simulator counted for one program on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The machine, by a name of [`catalog`].
    pub machine: String,
    /// `micro` or `programs`.
    pub group: String,
    /// Its name.
    pub program: String,
    /// Retired instructions.
    pub instructions: u64,
    /// Retired micro-ops.
    pub micro_ops: u64,
    /// Cycles.
    pub cycles: u64,
}

/// A capture with what this simulator counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The reference.
    pub capture: Capture,
    /// Instructions, without the system call that ends the process: gem5 leaves before it counts that one.
    pub instructions: u64,
    /// Micro-ops, likewise.
    pub micro_ops: u64,
    /// Cycles.
    pub cycles: u64,
}

impl Comparison {
    /// By how much the cycles differ from the reference, relative to it.
    pub fn error(&self) -> f64 {
        self.cycles as f64 / self.capture.cycles as f64 - 1.0
    }
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// A file of the folder cannot be read.
    #[error("cannot read `{}`: {error}; name a folder of captures that holds summary.jsonl and the executables", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line of the summary is not what it should be.
    #[error("{}:{line}: {error}; each line is an object with machine, group, program, instructions, micro_ops and cycles", path.display())]
    Line {
        /// The summary.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// No capture is of a machine that can be compared.
    #[error("`{}` holds no capture of {wanted}; machines with a timing model of this kind are {}", path.display(), known.join(", "))]
    Nothing {
        /// The folder.
        path: PathBuf,
        /// The machine that was asked for.
        wanted: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A built-in machine is wrong.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A program cannot be compared with a simulator that runs now.
    #[error("`{program}` on {machine}: {what}")]
    Live {
        /// Its name.
        program: String,
        /// The machine.
        machine: String,
        /// What happened.
        what: String,
    },
    /// A program could not be loaded or did not end by itself.
    #[error(
        "`{program}` on {machine}: {what}; check that the executable is the one that was captured"
    )]
    Run {
        /// Its name.
        program: String,
        /// The machine.
        machine: String,
        /// What happened.
        what: String,
    },
}

/// Names of the built-in machines whose cycles can be compared.
pub fn machines() -> Vec<&'static str> {
    let detailed = |name: &str| {
        matches!(
            catalog::machine(name).map(|m| m.core),
            Ok(Core::Blocking(_) | Core::OutOfOrder(_))
        )
    };
    catalog::ENTRIES
        .iter()
        .map(|entry| entry.name)
        .filter(|name| detailed(name))
        .collect()
}

/// Reads the captures of a folder, of one machine or of all that can be compared.
///
/// # Errors
/// What cannot be read, or that there is nothing to compare.
pub fn captures(folder: &Path, machine: Option<&str>) -> Result<Vec<Capture>, CalibrateError> {
    #[derive(Deserialize)]
    struct Row {
        machine: String,
        group: String,
        program: String,
        instructions: Option<u64>,
        micro_ops: Option<u64>,
        cycles: Option<u64>,
    }
    let path = folder.join("summary.jsonl");
    let text = read(&path)?;
    let text = String::from_utf8_lossy(&text);
    let known = machines();
    let mut captures = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let row: Row = serde_json::from_str(line).map_err(|error| CalibrateError::Line {
            path: path.clone(),
            line: i + 1,
            error,
        })?;
        let wanted = machine.is_none_or(|m| m == row.machine)
            && known.contains(&row.machine.as_str())
            && matches!(row.group.as_str(), "micro" | "programs");
        // A run that died left no counts.
        if let (true, Some(instructions), Some(micro_ops), Some(cycles)) =
            (wanted, row.instructions, row.micro_ops, row.cycles)
        {
            captures.push(Capture {
                machine: row.machine,
                group: row.group,
                program: row.program,
                instructions,
                micro_ops,
                cycles,
            });
        }
    }
    if captures.is_empty() {
        return Err(CalibrateError::Nothing {
            path: folder.to_owned(),
            wanted: machine.unwrap_or("any machine").to_owned(),
            known,
        });
    }
    Ok(captures)
}

/// Runs the programs of captures on the machines of their names, in parallel; the result is in the order of the captures.
///
/// # Errors
/// The first thing that went wrong, in that order.
pub fn compare(folder: &Path, captures: &[Capture]) -> Result<Vec<Comparison>, CalibrateError> {
    captures
        .par_iter()
        .map(|capture| compare_one(folder, capture))
        .collect::<Vec<_>>()
        .into_iter()
        .collect()
}

fn compare_one(folder: &Path, capture: &Capture) -> Result<Comparison, CalibrateError> {
    let machine = catalog::machine(&capture.machine)?;
    let program = program(folder, capture)?;
    let outcome = simulate(&machine, &program).map_err(|what| CalibrateError::Run {
        program: capture.program.clone(),
        machine: capture.machine.clone(),
        what,
    })?;
    let counters = &outcome.counters;
    Ok(Comparison {
        capture: capture.clone(),
        instructions: counters.instructions - 1,
        micro_ops: counters.micro_ops - 1,
        cycles: counters.cycles.unwrap_or(0),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, CalibrateError> {
    std::fs::read(path).map_err(|error| CalibrateError::Read {
        path: path.to_owned(),
        error,
    })
}

fn program(folder: &Path, capture: &Capture) -> Result<Program, CalibrateError> {
    let group = if capture.group == "micro" {
        "micro"
    } else {
        "programs"
    };
    let name = format!("{group}/{}", capture.program);
    let executable: Arc<[u8]> = read(&folder.join(&name))?.into();
    let stdin = std::fs::read(folder.join(format!("{name}.in"))).unwrap_or_default();
    let mut world = World::new();
    world.set_working_directory("/captures");
    world.add_file(&format!("/captures/{name}"), executable, true);
    Ok(Program {
        path: name.clone(),
        arguments: vec![name.into_bytes()],
        environment: Vec::new(),
        stdin: stdin.into(),
        world,
        device: None,
        seed: 0,
    })
}

fn profile_of(machine: &Machine) -> Result<Profile, String> {
    Profile::named(machine.guest.profile.name())
        .ok_or_else(|| "its machine names an unknown guest profile".to_owned())
}

/// Runs a program on a machine, from its first instruction to its last.
fn simulate(machine: &Machine, program: &Program) -> Result<Outcome, String> {
    let profile = profile_of(machine)?;
    match &machine.core {
        Core::Blocking(core) => run(Blocking::new(core), program, &profile),
        Core::OutOfOrder(core) => run(OutOfOrder::new(core), program, &profile),
        Core::InOrder(core) => run(Simple::new(core), program, &profile),
        Core::Atomic(core) => run(Atomic::new(core), program, &profile),
    }
}

fn run<T: Timing>(timing: T, program: &Program, profile: &Profile) -> Result<Outcome, String> {
    let mut simulation = start(timing, program, profile)?;
    match simulation.run(&|| false) {
        exit @ Exit::Exited { .. } => Ok(simulation.outcome(exit)),
        other => Err(format!("it ended with {other:?}")),
    }
}

fn start<T: Timing>(
    timing: T,
    program: &Program,
    profile: &Profile,
) -> Result<Simulation<T>, String> {
    let limits = Limits::default();
    let guest = guest::load(program, &limits, profile);
    let engine = Engine::new(Features::default());
    Simulation::new(guest, timing, engine, limits).map_err(|error| error.to_string())
}

/// Cycles that a machine takes from one instruction of a run to another, both counted from the start.
fn cycles_between(
    machine: &Machine,
    program: &Program,
    profile: &Profile,
    instructions: [u64; 2],
) -> Result<u64, String> {
    fn between<T: Timing>(
        timing: T,
        program: &Program,
        profile: &Profile,
        instructions: [u64; 2],
    ) -> Result<u64, String> {
        let mut simulation = start(timing, program, profile)?;
        let mut cycles = [0; 2];
        for (cycles, instructions) in cycles.iter_mut().zip(instructions) {
            if let Some(exit) = simulation.run_to(instructions, &|| false) {
                return Err(format!("it ended with {exit:?}"));
            }
            *cycles = (simulation.outcome(Exit::Paused).counters.cycles)
                .ok_or_else(|| "the machine keeps no cycles".to_owned())?;
        }
        Ok(cycles[1] - cycles[0])
    }
    match &machine.core {
        Core::Blocking(core) => between(Blocking::new(core), program, profile, instructions),
        Core::OutOfOrder(core) => between(OutOfOrder::new(core), program, profile, instructions),
        Core::InOrder(core) => between(Simple::new(core), program, profile, instructions),
        Core::Atomic(core) => between(Atomic::new(core), program, profile, instructions),
    }
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_captures_is_refused_with_what_it_should_hold() {
        let folder = tempdir("calibrate-empty");
        let error = captures(&folder, None).unwrap_err().to_string();
        assert!(error.contains("summary.jsonl"), "{error}");
        std::fs::write(folder.join("summary.jsonl"), "{\"machine\": 3}\n").unwrap();
        let error = captures(&folder, None).unwrap_err().to_string();
        assert!(error.contains("summary.jsonl:1: "), "{error}");
        let row = r#"{"machine":"gem5-o3","group":"micro","program":"p","instructions":9,"micro_ops":9,"cycles":9}"#;
        std::fs::write(folder.join("summary.jsonl"), row).unwrap();
        assert_eq!(captures(&folder, Some("gem5-o3")).unwrap().len(), 1);
        let error = captures(&folder, Some("skylake")).unwrap_err().to_string();
        assert!(error.contains("holds no capture of skylake"), "{error}");
    }

    fn tempdir(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tickmark-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The captures, where this machine has them.
    fn reference() -> Option<PathBuf> {
        let folder = std::env::var_os("TICKMARK_CAPTURES")
            .map_or_else(|| PathBuf::from("../shared/gem5-captures"), PathBuf::from);
        folder.join("summary.jsonl").exists().then_some(folder)
    }

    #[test]
    fn the_microbenchmarks_agree_with_the_captures() {
        let Some(folder) = reference() else {
            eprintln!("skipped: no captures in TICKMARK_CAPTURES or ../shared/gem5-captures");
            return;
        };
        for (machine, mean, worst) in [
            ("gem5-timing", 0.02, 0.06),
            ("gem5-o3", 0.05, 0.15),
            ("skylake", 0.05, 0.15),
        ] {
            let mut captures = captures(&folder, Some(machine)).unwrap();
            captures.retain(|c| c.group == "micro" && c.cycles < 3_000_000);
            let rows = compare(&folder, &captures).unwrap();
            for row in &rows {
                assert_eq!(
                    row.instructions, row.capture.instructions,
                    "{}",
                    row.capture.program
                );
                assert!(
                    row.micro_ops.abs_diff(row.capture.micro_ops) <= 30,
                    "{}",
                    row.capture.program
                );
                assert!(row.error().abs() <= worst, "{machine}: {row:?}");
            }
            let sum: f64 = rows.iter().map(|row| row.error().abs()).sum();
            assert!(sum / rows.len() as f64 <= mean, "{machine}");
        }
    }
}
