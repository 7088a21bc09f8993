//! gem5 as a backend: the same artifact, the same machine file, judged output and typed endings.
//!
//! gem5 is the user's own. It runs as a process of its own for each run (`run`), on a system that our script builds from
//! the machine model (`mapping`, sim-configs/gem5/se.py); its statistics are read strictly (`stats`, `counters`), and how
//! the guest ended is found out from its exit event and its messages (`ending`). `find` finds it and asks it what it is.
#[cfg(test)]
mod captures;
mod counters;
mod ending;
mod find;
pub mod freeze;
mod frozen;
mod job;
pub mod mapping;
mod marks;
mod names;
mod run;
#[cfg(test)]
mod stand_in;
pub mod stats;
#[cfg(feature = "gem5")]
pub mod worker;
mod world;

pub use counters::counters;
pub use ending::{Crash, ExitEvent, ending};
pub use find::{About, Installation, VARIABLE};
pub use frozen::Frozen;
pub use job::SCRIPT_TEXT;

use super::Backend;
use crate::artifact::{Artifact, ContentHash};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::machine::Machine;
use crate::sim::outcome::Limits;
use mapping::System;
use run::{Order, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How gem5 is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// The processor.
    pub machine: Machine,
    /// Path of gem5 or of its source tree; without, [`VARIABLE`] or `PATH` names it.
    pub executable: Option<PathBuf>,
    /// Guard against runs that take too long on the host: beyond it, a run is a failure of the infrastructure.
    pub wall_clock: Duration,
    /// Seed of Python's hashes.
    pub seed: u64,
    /// Folder into which the output folder of a run is copied.
    pub keep: Option<PathBuf>,
    /// Folder of a frozen configuration: libgem5 runs it in a worker process, and no gem5 program is needed.
    pub frozen: Option<PathBuf>,
}

/// What simulates.
#[derive(Debug)]
enum Engine {
    /// The user's gem5 with our script.
    Script(Installation),
    /// libgem5 with a frozen configuration.
    Library(Frozen),
}

impl Engine {
    /// What it must be able to read on this host.
    fn readable(&self) -> Vec<PathBuf> {
        match self {
            Self::Script(installation) => installation.readable(),
            Self::Library(frozen) => {
                let mut paths = find::system_libraries();
                paths.push(frozen.folder.clone());
                paths.extend(option_env!("TICKMARK_LIBGEM5_FOLDER").map(PathBuf::from));
                paths
            }
        }
    }
}

/// gem5.
#[derive(Debug)]
pub struct Gem5 {
    options: Options,
    engine: Engine,
    system: System,
    not_applied: Mutex<BTreeSet<&'static str>>,
}

/// A measurement with everything that gem5 counted.
#[derive(Debug)]
pub struct Detailed {
    /// The measurement.
    pub measurement: Measurement,
    /// Every statistic by gem5's name, as gem5 wrote it; empty when it wrote none.
    pub statistics: BTreeMap<String, String>,
}

impl Gem5 {
    /// The user's gem5 with this machine.
    ///
    /// # Errors
    /// There is no gem5, it is not for X86, or it cannot be such a machine.
    pub fn new(options: Options) -> Result<Self, BackendFailure> {
        let system = mapping::system(&options.machine).map_err(|error| BackendFailure {
            what: error.what,
            remedy: error.remedy,
        })?;
        let engine = match &options.frozen {
            Some(folder) => Engine::Library(Frozen::open(folder, &options.machine)?),
            None => Engine::Script(installed(options.executable.as_deref(), &system)?),
        };
        Ok(Self {
            options,
            engine,
            system,
            not_applied: Mutex::default(),
        })
    }

    /// Version of gem5.
    pub fn version(&self) -> &str {
        match &self.engine {
            Engine::Script(installation) => &installation.about.version,
            Engine::Library(frozen) => &frozen.record.gem5_version,
        }
    }

    /// Hash of the program, or of the frozen configuration.
    pub fn hash(&self) -> &ContentHash {
        match &self.engine {
            Engine::Script(installation) => &installation.hash,
            Engine::Library(frozen) => &frozen.hash,
        }
    }

    /// It runs in process, from a frozen configuration.
    pub fn is_frozen(&self) -> bool {
        matches!(self.engine, Engine::Library(_))
    }

    /// What to say about this machine on this gem5, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let warning = match &self.engine {
            Engine::Script(installation) => installation.warning(),
            Engine::Library(_) => None,
        };
        let mut notes: Vec<String> = warning.into_iter().collect();
        notes.extend(self.system.notes.iter().cloned());
        notes
    }

    /// Restrictions that this system did not grant in some run so far.
    pub fn not_applied(&self) -> Vec<&'static str> {
        let names = self
            .not_applied
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        names.iter().copied().collect()
    }

    /// Everything besides machine, artifact and limits that decides a result: part of the job key.
    pub fn identity(&self) -> String {
        format!(
            "{} {} {} {} {}",
            self.options.machine.hash(),
            self.version(),
            self.hash(),
            ContentHash::of(SCRIPT_TEXT.as_bytes()),
            self.options.seed
        )
    }

    /// Runs an artifact, with everything that gem5 counted. A crash of gem5 is retried once.
    ///
    /// # Errors
    /// [`BackendFailure`] when gem5 crashed twice or could not be run.
    pub fn run_in_detail(
        &self,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Detailed, BackendFailure> {
        let order = Order {
            engine: &self.engine,
            system: &self.system,
            artifact,
            arguments,
            stdin,
            limits,
            wall_clock: self.options.wall_clock,
            seed: self.options.seed,
            keep: self.options.keep.as_deref(),
        };
        let report = run::run(&order).or_else(|crash| {
            if crash.retry {
                run::run(&order).map_err(|crash| (crash, "twice"))
            } else {
                Err((crash, ""))
            }
        });
        match report {
            Ok(report) => Ok(self.detailed(report)),
            Err((crash, times)) => Err(BackendFailure {
                what: format!(
                    "{}{}",
                    crash.what,
                    if times.is_empty() { "" } else { " (it was tried twice)" }
                ),
                remedy: "run it with `tickmark run --backend gem5 --gem5-out DIR`, which keeps gem5's output, or check \
                         gem5 with `tickmark gem5 check`"
                    .to_owned(),
            }),
        }
    }

    fn detailed(&self, report: Report) -> Detailed {
        self.not_applied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(report.not_applied);
        Detailed {
            measurement: Measurement {
                backend: BackendName::Gem5,
                machine: self.options.machine.name.clone(),
                exit: report.exit,
                counters: report.counters,
                regions: report.told.regions,
                region_cpu_time_ns: Vec::new(),
                open_region: report.told.open,
                messages: report.told.others,
                stdout: report.stdout,
                stderr: report.stderr,
                unanswered_system_calls: report.left_out,
                clock_read: false,
            },
            statistics: report.statistics,
        }
    }
}

/// The user's gem5, which must have the core that the machine needs.
fn installed(chosen: Option<&Path>, system: &System) -> Result<Installation, BackendFailure> {
    let installation = Installation::find(chosen)?;
    let about = &installation.about;
    if !about.cores.iter().any(|core| core == system.core) {
        return Err(BackendFailure {
            what: format!(
                "gem5 {} was built without a core of kind {}",
                about.version, system.core
            ),
            remedy: "build it with its usual CPU models, or choose another machine".to_owned(),
        });
    }
    Ok(installation)
}

impl Backend for Gem5 {
    fn name(&self) -> BackendName {
        BackendName::Gem5
    }

    fn machine(&self) -> &str {
        &self.options.machine.name
    }

    fn run_with_arguments(
        &self,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Measurement, BackendFailure> {
        self.run_in_detail(artifact, arguments, stdin, limits)
            .map(|detailed| detailed.measurement)
    }
}
