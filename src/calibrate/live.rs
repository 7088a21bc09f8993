//! Calibration against a simulator that runs now: the same programs on a reference backend and on ours.
use super::microbenchmark;
use super::{CalibrateError, Capture, Comparison};
use crate::artifact::{Artifact, ElfArtifact, existing};
use crate::backend::Backend;
use crate::measurement::Measurement;
use crate::sim::outcome::{Exit, Limits};
use rayon::prelude::*;
use std::path::Path;

/// Iterations of a microbenchmark: enough that its start is a small part.
const ITERATIONS: u32 = 4000;

/// A program for both.
#[derive(Debug)]
pub struct LiveProgram {
    /// `micro` or `programs`.
    pub group: String,
    /// Its name.
    pub name: String,
    /// The executable.
    pub artifact: Artifact,
    /// Standard input.
    pub stdin: Vec<u8>,
}

/// The shipped microbenchmarks, or the executables below `micro/` and `programs/` of a folder, with `NAME.in` as the
/// input of NAME. `only`: these names; empty, all.
///
/// # Errors
/// The folder cannot be read or holds no executable.
pub fn programs(
    folder: Option<&Path>,
    only: &[String],
) -> Result<Vec<LiveProgram>, CalibrateError> {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    let program = |group: &str, name: &str, bytes: Vec<u8>, stdin: Vec<u8>| {
        let artifact = existing(bytes.into(), ElfArtifact::NAME.as_bytes());
        let artifact = artifact.map_err(|failure| CalibrateError::Run {
            program: name.to_owned(),
            machine: "any machine".to_owned(),
            what: failure.to_string(),
        })?;
        Ok(LiveProgram {
            group: group.to_owned(),
            name: name.to_owned(),
            artifact: Artifact::Elf(artifact),
            stdin,
        })
    };
    let Some(folder) = folder else {
        return microbenchmark::all()
            .iter()
            .filter(|benchmark| wanted(benchmark.name))
            .map(|benchmark| {
                let bytes = benchmark.executable(ITERATIONS);
                program("micro", benchmark.name, bytes, Vec::new())
            })
            .collect();
    };
    let mut programs = Vec::new();
    for group in ["micro", "programs"] {
        let mut paths: Vec<_> = std::fs::read_dir(folder.join(group))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        paths.sort();
        for path in paths {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if !wanted(name) {
                continue;
            }
            let bytes = super::read(&path)?;
            if bytes.starts_with(b"\x7fELF") {
                let stdin = std::fs::read(path.with_file_name(format!("{name}.in")));
                programs.push(program(group, name, bytes, stdin.unwrap_or_default())?);
            }
        }
    }
    if programs.is_empty() {
        return Err(CalibrateError::Read {
            path: folder.to_owned(),
            error: std::io::Error::other("there are no executables in `micro/` and `programs/`"),
        });
    }
    Ok(programs)
}

/// Runs the programs on both backends, which have the same machine, in parallel; the result is in their order.
///
/// A program that does not end with exit code 0, or not alike on both, is an error of its own.
pub fn compare_live(
    reference: &dyn Backend,
    own: &dyn Backend,
    programs: &[LiveProgram],
) -> Vec<Result<Comparison, CalibrateError>> {
    programs
        .par_iter()
        .map(|program| compare_one(reference, own, program))
        .collect()
}

fn compare_one(
    reference: &dyn Backend,
    own: &dyn Backend,
    program: &LiveProgram,
) -> Result<Comparison, CalibrateError> {
    let failed = |what: String| CalibrateError::Live {
        program: program.name.clone(),
        machine: own.machine().to_owned(),
        what,
    };
    let run = |backend: &dyn Backend| -> Result<Measurement, CalibrateError> {
        let limits = Limits::default();
        let measurement = backend
            .run(&program.artifact, &program.stdin, &limits)
            .map_err(|failure| failed(failure.to_string()))?;
        match measurement.exit {
            Exit::Exited { code: 0 } => Ok(measurement),
            other => Err(failed(format!(
                "on {:?} it ended with {other:?}",
                backend.name()
            ))),
        }
    };
    let theirs = run(reference)?;
    let ours = run(own)?;
    if theirs.stdout != ours.stdout {
        return Err(failed(
            "the two simulators make it print different things".to_owned(),
        ));
    }
    Ok(Comparison {
        capture: Capture {
            machine: own.machine().to_owned(),
            group: program.group.clone(),
            program: program.name.clone(),
            instructions: theirs.counters.instructions,
            micro_ops: theirs.counters.micro_ops,
            cycles: theirs.counters.cycles.unwrap_or(0),
        },
        instructions: ours.counters.instructions - 1,
        micro_ops: ours.counters.micro_ops - 1,
        cycles: ours.counters.cycles.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::sim::{Options, Sim};
    use crate::sim::machine::catalog;
    use std::time::Duration;

    #[test]
    fn a_simulator_agrees_with_itself() {
        let sim = Sim::new(Options {
            machine: catalog::machine("gem5-o3").unwrap(),
            snapshots: false,
            seed: 0,
            wall_clock: Duration::from_secs(60),
            cache: std::env::temp_dir(),
            roots: Vec::new(),
        });
        let name = microbenchmark::all()[0].name.to_owned();
        let programs = programs(None, std::slice::from_ref(&name)).unwrap();
        assert_eq!(programs.len(), 1);
        let rows = compare_live(&sim, &sim, &programs);
        let row = rows[0].as_ref().unwrap();
        assert_eq!(row.capture.program, name);
        assert_eq!(row.error(), 0.0);
        // The reference leaves before it counts the system call that ends the process; here it is ours, which does not.
        assert_eq!(row.instructions + 1, row.capture.instructions);
        assert!(row.cycles > u64::from(ITERATIONS) / 8);
        let error = super::programs(Some(Path::new("/nowhere")), &[]).unwrap_err();
        assert!(
            error.to_string().contains("there are no executables"),
            "{error}"
        );
    }
}
