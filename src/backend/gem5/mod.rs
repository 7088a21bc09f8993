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
mod job;
pub mod mapping;
mod marks;
mod names;
mod run;
#[cfg(test)]
mod stand_in;
pub mod stats;
mod world;

pub use counters::counters;
pub use ending::{Crash, ExitEvent, ending};
pub use find::{About, Installation, VARIABLE};
pub use job::SCRIPT_TEXT;

use super::Backend;
use crate::artifact::{Artifact, ContentHash};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::machine::Machine;
use crate::sim::outcome::Limits;
use mapping::System;
use run::{Order, Report};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
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
}

/// gem5.
#[derive(Debug)]
pub struct Gem5 {
    options: Options,
    installation: Installation,
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
        let installation = Installation::find(options.executable.as_deref())?;
        if !installation
            .about
            .cores
            .iter()
            .any(|core| core == system.core)
        {
            return Err(BackendFailure {
                what: format!(
                    "gem5 {} was built without a core of kind {}",
                    installation.about.version, system.core
                ),
                remedy: "build it with its usual CPU models, or choose another machine".to_owned(),
            });
        }
        Ok(Self {
            options,
            installation,
            system,
            not_applied: Mutex::default(),
        })
    }

    /// Which gem5 it is.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// What to say about this machine on this gem5, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.installation.warning().into_iter().collect();
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
            "{} {} {} {}",
            self.options.machine.hash(),
            self.installation.hash,
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
            gem5: &self.installation,
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
