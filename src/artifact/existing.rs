//! Programs that exist already, as artifacts: what `tickmark run` is given.
use super::libraries::Finder;
use super::{BuildFailure, ContentHash, ElfArtifact, Fingerprint, cpp};
use crate::measurement::BackendFailure;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An executable file as an artifact, with `name` as its `argv[0]`. What is wrong with it as a program is left to the loader to say.
///
/// # Errors
/// A library that it needs and that is not on this host.
pub fn existing(bytes: Arc<[u8]>, name: &[u8]) -> Result<ElfArtifact, BackendFailure> {
    let is_elf = bytes.starts_with(b"\x7fELF");
    let libraries = match cpp::libraries(&bytes, &Finder::of_host()) {
        Ok(libraries) => libraries,
        Err(BuildFailure::Ours(failure)) if is_elf && failure.what.contains("library") => {
            return Err(failure);
        }
        // Not a program that has libraries: the loader's message says what it is instead.
        Err(_) => Vec::new(),
    };
    Ok(ElfArtifact {
        content_hash: ContentHash::of(&bytes),
        bytes,
        name: name.into(),
        device: false,
        wrapping: None,
        libraries,
        fingerprint: Arc::new(Fingerprint {
            version: "existing program".to_owned(),
            flags: Vec::new(),
            files: BTreeMap::new(),
        }),
    })
}
