//! Backends: artifact, input, machine and limits in; measurement out.
//!
//! What every backend promises: how a run ended is in [`Measurement::exit`], whatever the artifact did; a
//! [`BackendFailure`] is never the artifact's fault; the artifact reaches nothing of the host but its own files; and
//! two runs do not see each other.
mod files;
pub mod gem5;
pub mod native;
pub mod sim;
pub mod verified;

pub use files::HostFolder;

use crate::artifact::Artifact;
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::outcome::Limits;

/// Something that runs artifacts.
pub trait Backend: Sync {
    /// Which one it is.
    fn name(&self) -> BackendName;

    /// The machine model that it measures on; `host` for the host processor.
    fn machine(&self) -> &str;

    /// Runs an artifact with these arguments on one input.
    ///
    /// # Errors
    /// [`BackendFailure`] when there is no measurement for a reason that is ours.
    fn run_with_arguments(
        &self,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Measurement, BackendFailure>;

    /// Runs an artifact on one input.
    ///
    /// # Errors
    /// As [`Backend::run_with_arguments`].
    fn run(
        &self,
        artifact: &Artifact,
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Measurement, BackendFailure> {
        self.run_with_arguments(artifact, &[], stdin, limits)
    }
}
