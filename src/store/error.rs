//! What can go wrong with a store, and what to do about it.
use std::path::PathBuf;

/// A store cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the file cannot be made.
    #[error("cannot make the folder `{}` for the store: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be opened as a store.
    #[error("cannot open the store `{path}`: {source}")]
    Open {
        /// The file.
        path: String,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file is an SQLite database of something else.
    #[error("`{path}` is a database, but no store of this program")]
    Foreign {
        /// The file.
        path: String,
    },
    /// The file was written by a newer version.
    #[error("the store `{path}` has schema {found}, and this version knows schemas up to {known}")]
    Newer {
        /// The file.
        path: String,
        /// Its schema.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// A statement failed.
    #[error("cannot {what}: {source}")]
    Statement {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        source: rusqlite::Error,
    },
    /// A blob is not what this version, or an older one, wrote.
    #[error("the fact `{key}` cannot be read: {reason}")]
    Blob {
        /// Its key.
        key: String,
        /// Why.
        reason: String,
    },
    /// A study that is asked for is not there, or more than one is.
    #[error("{0}")]
    Study(String),
}

impl StoreError {
    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Folder { .. } | Self::Open { .. } => {
                "check path, permissions and free space, or choose another file with `--store`"
            }
            Self::Foreign { .. } => "choose another file with `--store`",
            Self::Newer { .. } => "use a newer version, or another file with `--store`",
            Self::Statement { .. } => {
                "check free space and permissions of the store's folder; what is stored stays valid"
            }
            Self::Blob { .. } => "choose another file with `--store`; the facts are computed again",
            Self::Study(_) => "`tickmark store show` lists the studies",
        }
    }
}

pub(super) fn at(what: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |source| StoreError::Statement { what, source }
}
