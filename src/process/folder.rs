//! Private working folders, and executables written without the "text file busy" race.
use super::ProcessError;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A folder that only we may enter, removed with all that is in it when dropped.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Held for writing while an executable is open for writing, for reading while a child is between `fork` and `exec`:
/// a child that still holds the write end would make the kernel refuse to execute the file.
static EXECUTABLES: RwLock<()> = RwLock::new(());

impl PrivateFolder {
    /// Makes an empty folder below the system's folder for temporary files.
    ///
    /// # Errors
    /// [`ProcessError::System`] when it cannot be made.
    pub fn new() -> Result<Self, ProcessError> {
        let base = std::env::temp_dir();
        let base = base.canonicalize().unwrap_or(base);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("tickmark-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                // Left behind by a killed process with our number: the next name is as good.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(ProcessError::System {
                        action: "make a private folder",
                        source,
                    });
                }
            }
        }
    }

    /// Its absolute path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.path).is_err() {
            // A program may have taken its own folders' permissions away.
            open_up(&self.path, 0);
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Gives every folder below `path` its owner's permissions back; links are not followed.
fn open_up(path: &Path, depth: usize) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    if !is_folder || depth > 64 {
        return;
    }
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path(), depth + 1);
    }
}

/// Writes an executable file that [`super::run`] may start at once.
///
/// # Errors
/// [`ProcessError::System`] when the file cannot be written.
pub fn write_executable(path: &Path, bytes: &[u8]) -> Result<(), ProcessError> {
    use std::io::Write;
    let _guard = EXECUTABLES.write().unwrap_or_else(PoisonError::into_inner);
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|source| ProcessError::System {
            action: "write an executable",
            source,
        })
}

/// Taken around `fork` and `exec`.
pub(super) fn while_starting() -> RwLockReadGuard<'static, ()> {
    EXECUTABLES.read().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_folder_is_ours_alone_and_goes_away_even_when_locked() {
        let folder = PrivateFolder::new().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "x").unwrap();
        fs::set_permissions(path.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
