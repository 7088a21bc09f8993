//! Artifacts: what a backend can start, built from a candidate.
//!
//! The bytes of an artifact depend on the candidate, the options and the toolchain, not on folder, time or user. The
//! compiler reads hostile text, so it runs confined ([`crate::process`]).
mod calls;
mod cpp;
mod doctor;
mod existing;
mod hash;
mod lacking;
mod libraries;
mod precompiled;
mod python;
mod toolchain;

pub(crate) use calls::NODES;
pub use cpp::{BuildOptions, CompileLimits, Isa, Linking, Optimisation, Wrapping};
pub use doctor::{Fact, facts};
pub use existing::existing;
pub use hash::ContentHash;
pub use libraries::GuestFile;
pub use python::{Interpreter, PRELOADED, PythonArtifact, SnapshotPoints};
pub use toolchain::{CppCompiler, Toolchain, ToolchainOptions};

use crate::candidate::Candidate;
use crate::measurement::BackendFailure;
use crate::process::ProcessError;
use crate::sim::outcome::Device;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a backend can start.
#[derive(Clone, Debug)]
pub enum Artifact {
    /// An executable for x86-64 Linux.
    Elf(ElfArtifact),
    /// A script and the interpreter for it.
    Python(PythonArtifact),
}

/// An executable.
#[derive(Clone)]
pub struct ElfArtifact {
    /// The file.
    pub bytes: Arc<[u8]>,
    /// Hash of `bytes`.
    pub content_hash: ContentHash,
    /// `argv[0]`, without NUL. Not the file's own name, whose length would move the stack and with it the counts.
    pub name: Arc<[u8]>,
    /// It holds the driver, which reads its nonce from the device.
    pub device: bool,
    /// How the driver's markers stand around the entry point; `None` without a driver.
    pub wrapping: Option<Wrapping>,
    /// The dynamic linker and the shared libraries that it needs, under the paths where it will look for them; empty
    /// for static programs.
    pub libraries: Vec<GuestFile>,
    /// What made it.
    pub fingerprint: Arc<Fingerprint>,
}

/// What made an artifact: equal fingerprints make equal artifacts of equal candidates.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fingerprint {
    /// First line of what the compiler or interpreter says about its version.
    pub version: String,
    /// The flags of the compiler or interpreter.
    pub flags: Vec<String>,
    /// The files that decide the result (compiler proper, archives, interpreter, driver), by role.
    pub files: BTreeMap<String, ContentHash>,
}

impl Fingerprint {
    /// One hash of all of it.
    pub fn content_hash(&self) -> ContentHash {
        let text = serde_json::to_vec(self).expect("strings and maps of strings are always JSON");
        ContentHash::of(&text)
    }
}

/// Why there is no artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildFailure {
    /// The compiler refused the candidate.
    #[error("compile error")]
    CompileError {
        /// What the compiler said, with paths of the candidate's parts instead of ours.
        text: String,
    },
    /// The compiler reached a limit: a property of the candidate.
    #[error("compile limit: {what}")]
    CompileLimit {
        /// Which limit, with its value.
        what: String,
    },
    /// A failure of ours.
    #[error(transparent)]
    Ours(#[from] BackendFailure),
}

impl From<ProcessError> for BuildFailure {
    fn from(error: ProcessError) -> Self {
        Self::Ours(BackendFailure {
            what: error.to_string(),
            remedy: "check free space and permissions of the folder for temporary files".to_owned(),
        })
    }
}

impl ElfArtifact {
    /// `argv[0]` of every program that is not given another.
    pub const NAME: &'static str = "program";
}

/// Without the bytes, which would fill screens.
impl fmt::Debug for ElfArtifact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ElfArtifact")
            .field("content_hash", &self.content_hash)
            .field("name", &String::from_utf8_lossy(&self.name))
            .field("device", &self.device)
            .field("wrapping", &self.wrapping)
            .field("libraries", &self.libraries)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

impl Artifact {
    /// Identifies the artifact: everything that can change what it does, apart from its input.
    pub fn content_hash(&self) -> ContentHash {
        match self {
            Self::Elf(elf) => {
                let libraries = elf.libraries.iter().map(GuestFile::identity);
                ContentHash::of_parts(
                    std::iter::once(elf.content_hash.to_string()).chain(libraries),
                )
            }
            Self::Python(python) => python.content_hash(),
        }
    }

    /// What made it.
    pub fn fingerprint(&self) -> &Arc<Fingerprint> {
        match self {
            Self::Elf(elf) => &elf.fingerprint,
            Self::Python(python) => &python.fingerprint,
        }
    }

    /// The device that the artifact's driver talks to, with everything that it reads; `None` without a driver.
    pub fn device(&self, nonce: [u8; 16]) -> Option<Device> {
        let first: Arc<[u8]> = Arc::from(nonce.as_slice());
        let inputs = match self {
            Self::Elf(elf) => elf.device.then(|| vec![first])?,
            Self::Python(python) => std::iter::once(first).chain(python.messages()?).collect(),
        };
        Some(Device {
            nonce,
            inputs,
            pause_at: None,
        })
    }
}

/// Builds a candidate.
///
/// # Errors
/// [`BuildFailure`]: the candidate's own ([`BuildFailure::CompileError`], [`BuildFailure::CompileLimit`]) or ours.
pub fn build(
    candidate: &Candidate,
    toolchain: &Toolchain,
    options: &BuildOptions,
) -> Result<Artifact, BuildFailure> {
    match candidate {
        Candidate::CppProgram { source } => {
            cpp::build_program(source, toolchain.cpp()?, options).map(Artifact::Elf)
        }
        Candidate::CppFunction {
            source,
            entry_point,
            test,
        } => cpp::build_function(source, entry_point, test, toolchain.cpp()?, options)
            .map(Artifact::Elf),
        Candidate::CppCalls {
            source,
            definitions,
            signature,
        } => match signature {
            Ok(signature) => {
                cpp::build_calls(source, definitions, signature, toolchain.cpp()?, options)
                    .map(Artifact::Elf)
            }
            Err(text) => Err(BuildFailure::CompileError {
                text: format!("candidate.cpp: error: {text}"),
            }),
        },
        Candidate::PythonCalls { source, target } => Ok(Artifact::Python(python::function(
            source,
            target,
            "",
            toolchain.python()?,
        ))),
        Candidate::PythonProgram { source } => Ok(Artifact::Python(python::program(
            source,
            toolchain.python()?,
        ))),
        Candidate::PythonFunction {
            source,
            entry_point,
            test,
        } => Ok(Artifact::Python(python::function(
            source,
            entry_point,
            test,
            toolchain.python()?,
        ))),
    }
}
