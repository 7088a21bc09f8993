//! Folders that a test has to itself, and the one that test runs share.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that is removed with the value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty folder of a new name.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = shared().join(format!("scratch-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the build folder is writable");
        Self(path)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file of this name, with the folders above it, and gives its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        let folder = path.parent().expect("the name is below the scratch folder");
        std::fs::create_dir_all(folder).expect("our own folder");
        std::fs::write(&path, content).expect("our own folder");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A folder in the build folder that stays: compiled programs and byte code, under names that tell their content.
pub(crate) fn shared() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}
