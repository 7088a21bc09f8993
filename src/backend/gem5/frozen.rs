//! A frozen configuration as an engine: libgem5 in a worker process, without gem5's Python.
//!
//! The worker is this program itself, started anew for each simulation, since gem5 keeps global state and ends its
//! process when it panics. It leaves the same files as our script does, so that all else is the same.
use super::freeze::{CONFIGURATION, RECORD, Record};
use crate::artifact::ContentHash;
use crate::measurement::BackendFailure;
use crate::sim::machine::Machine;
use std::path::{Path, PathBuf};

/// A frozen configuration that has been checked.
#[derive(Clone, Debug)]
pub struct Frozen {
    /// Its folder.
    pub folder: PathBuf,
    /// Of what it is.
    pub record: Record,
    /// Hash of the configuration: part of every job key.
    pub hash: ContentHash,
}

impl Frozen {
    /// Opens the folder that `tickmark gem5 freeze` has written, for this machine.
    ///
    /// # Errors
    /// It cannot be read, is of another machine, or this program was built without the feature `gem5`.
    pub fn open(folder: &Path, machine: &Machine) -> Result<Self, BackendFailure> {
        if cfg!(not(feature = "gem5")) {
            return Err(BackendFailure {
                what: "this tickmark was built without the feature `gem5`, which runs frozen configurations".to_owned(),
                remedy: "build it with `cargo build --release --features gem5` (vendor/gem5-sys/README.md), or leave \
                         `--gem5-frozen` out"
                    .to_owned(),
            });
        }
        Self::read(folder, machine)
    }

    fn read(folder: &Path, machine: &Machine) -> Result<Self, BackendFailure> {
        let failure = |what: String| BackendFailure {
            what,
            remedy: format!(
                "write it anew with `tickmark gem5 freeze --machine {} --out {}`",
                machine.name,
                folder.display()
            ),
        };
        let read = |name: &str| {
            std::fs::read(folder.join(name)).map_err(|error| {
                failure(format!(
                    "cannot read `{}`: {error}",
                    folder.join(name).display()
                ))
            })
        };
        let record: Record = serde_json::from_slice(&read(RECORD)?).map_err(|error| {
            failure(format!(
                "`{}` cannot be read: {error}",
                folder.join(RECORD).display()
            ))
        })?;
        if record.machine_hash != machine.hash() {
            return Err(failure(format!(
                "`{}` is of `{}` as it was then, not of `{}` as it is now",
                folder.display(),
                record.machine,
                machine.name
            )));
        }
        let folder = std::path::absolute(folder).map_err(|error| failure(error.to_string()))?;
        Ok(Self {
            hash: ContentHash::of(&read(CONFIGURATION)?),
            folder,
            record,
        })
    }

    /// The configuration.
    pub(super) fn configuration(&self) -> PathBuf {
        self.folder.join(CONFIGURATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::PrivateFolder;
    use crate::sim::machine::catalog;

    #[test]
    fn a_frozen_configuration_is_of_one_machine() {
        let folder = PrivateFolder::new().unwrap();
        let machine = catalog::machine("gem5-o3").unwrap();
        let error = Frozen::read(folder.path(), &machine).unwrap_err();
        assert!(error.what.contains("frozen.json"), "{error}");
        let record = Record {
            machine: machine.name.clone(),
            machine_hash: machine.hash(),
            gem5_version: "24.0.0.1".to_owned(),
            frequency_hz: 3_000_000_000,
            timed: true,
            memory_bytes: 2 << 30,
        };
        let text = serde_json::to_string(&record).unwrap();
        std::fs::write(folder.path().join(RECORD), text).unwrap();
        std::fs::write(folder.path().join(CONFIGURATION), "[root]\n").unwrap();
        assert_eq!(
            Frozen::read(folder.path(), &machine).unwrap().record,
            record
        );
        let other = machine.with_overrides(&[("l2.ways", "8")]).unwrap();
        let error = Frozen::read(folder.path(), &other).unwrap_err();
        assert!(
            error.what.contains("not of `gem5-o3[l2.ways=8]`"),
            "{error}"
        );
        assert!(error.remedy.contains("gem5 freeze"), "{error}");
    }
}
