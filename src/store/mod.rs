//! The store: facts that outlive a run, in one SQLite file.
//!
//! A fact is what building or running something gave, under a key that is a hash of everything that decides it. Facts
//! are added and never changed; they hold no time, host or order, so that two stores that were filled in different
//! orders hold the same facts. Beside them stand studies, which say what samples belong together and what the keys of
//! their results are, and failures of ours, which are tried again.
//!
//! Several processes may use one store. Each fact is its own transaction: a process that is killed loses what it was
//! computing and nothing else. docs/store.md describes the tables.
mod blob;
mod error;
mod export;
mod prune;
mod schema;
mod study;

pub use blob::MEASUREMENT_VERSION;
pub use error::StoreError;
pub use export::{Table, Tables};
pub use prune::Pruned;
pub use schema::VERSION;
pub use study::{StudyEntry, StudySample};

use crate::artifact::ContentHash;
use crate::measurement::{BackendName, Measurement};
use error::at;
use rusqlite::{Connection, OptionalExtension};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a write waits for another process's write.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    /// Where it is; `None` in memory.
    path: Option<PathBuf>,
}

/// What adding a fact found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The key was not there.
    New,
    /// The same fact was there.
    Same,
    /// Another fact was there under the same key, and stays: what should be a function of the key is not.
    Different,
}

impl Store {
    /// Opens the file, making it if need be and bringing an older schema up to date.
    ///
    /// # Errors
    /// The file cannot be opened, is no store, or was written by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
                path: folder.into(),
                source,
            })?;
        }
        let shown = path.display().to_string();
        let connection = Connection::open(path).map_err(|source| StoreError::Open {
            path: shown.clone(),
            source,
        })?;
        let store = Self {
            connection: Mutex::new(connection),
            path: Some(path.into()),
        };
        {
            let mut connection = store.lock();
            connection
                .busy_timeout(PATIENCE)
                .map_err(at("set up the store"))?;
            // Readers and one writer at a time; a commit survives the end of this process, however it ends.
            write_ahead(&connection).map_err(|source| StoreError::Open {
                path: shown.clone(),
                source,
            })?;
            connection
                .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON")
                .map_err(at("set up the store"))?;
            schema::migrate(&mut connection, &shown)?;
        }
        Ok(store)
    }

    /// A store that ends with the value: evaluations that keep nothing use one too.
    ///
    /// # Errors
    /// Those of SQLite, which are not expected.
    pub fn in_memory() -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory().map_err(at("make a store in memory"))?;
        schema::migrate(&mut connection, "memory")?;
        Ok(Self {
            connection: Mutex::new(connection),
            path: None,
        })
    }

    /// Where it is; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic between statements leaves no half of a transaction.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What building gave under this key, as [`Store::add_build`] got it.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn build(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.text("SELECT blob FROM build WHERE key = ?1", key)
    }

    /// Adds what building gave.
    ///
    /// # Errors
    /// Those of SQLite; a full disk among them.
    pub fn add_build(&self, key: &str, blob: &str) -> Result<Added, StoreError> {
        let connection = self.lock();
        let added = connection
            .prepare_cached("INSERT OR IGNORE INTO build (key, blob) VALUES (?1, ?2)")
            .and_then(|mut statement| statement.execute((key, blob)))
            .map_err(at("add a build"))?;
        drop(connection);
        self.compared(added, || self.build(key), blob)
    }

    /// The measurement of a job.
    ///
    /// # Errors
    /// Those of SQLite, and a blob that cannot be read.
    pub fn measurement(&self, key: &str) -> Result<Option<Measurement>, StoreError> {
        let connection = self.lock();
        let found = connection
            .prepare_cached(
                "SELECT m.version, m.blob, o.bytes, e.bytes FROM measurement m \
                 JOIN content o ON o.hash = m.stdout JOIN content e ON e.hash = m.stderr WHERE m.key = ?1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row([key], |row| {
                        Ok((
                            row.get::<_, u32>(0)?,
                            row.get::<_, String>(1)?,
                            row.get::<_, Vec<u8>>(2)?,
                            row.get::<_, Vec<u8>>(3)?,
                        ))
                    })
                    .optional()
            })
            .map_err(at("read a measurement"))?;
        drop(connection);
        found
            .map(|(version, text, stdout, stderr)| blob::decode(version, &text, stdout, stderr))
            .transpose()
            .map_err(|reason| StoreError::Blob {
                key: key.into(),
                reason,
            })
    }

    /// Adds a measurement and its outputs, in one transaction.
    ///
    /// # Errors
    /// Those of SQLite; a full disk among them.
    pub fn add_measurement(
        &self,
        key: &str,
        measurement: &Measurement,
    ) -> Result<Added, StoreError> {
        let text = blob::encode(measurement);
        let outputs = [&measurement.stdout, &measurement.stderr];
        let hashes = outputs.map(|bytes| ContentHash::of(bytes).to_string());
        let mut connection = self.lock();
        let added = (|| {
            let transaction = write(&mut connection)?;
            for (hash, bytes) in hashes.iter().zip(outputs) {
                transaction
                    .prepare_cached("INSERT OR IGNORE INTO content (hash, bytes) VALUES (?1, ?2)")?
                    .execute((hash, bytes.as_slice()))?;
            }
            let added = transaction
                .prepare_cached(
                    "INSERT OR IGNORE INTO measurement (key, version, blob, stdout, stderr) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute((key, MEASUREMENT_VERSION, &text, &hashes[0], &hashes[1]))?;
            transaction.commit()?;
            Ok(added)
        })()
        .map_err(at("add a measurement"))?;
        drop(connection);
        // The host's times differ from run to run; the first ones stay.
        if added == 1 || measurement.backend == BackendName::Native {
            return Ok(if added == 1 { Added::New } else { Added::Same });
        }
        let whole = |measurement: &Measurement| {
            let outputs = [&measurement.stdout, &measurement.stderr].map(|b| ContentHash::of(b));
            format!("{} {outputs:?}", blob::encode(measurement))
        };
        let there = self.measurement(key)?.map(|there| whole(&there));
        Ok(same(there.as_deref(), &whole(measurement)))
    }

    /// The result of a sample, as [`Store::add_result`] got it.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn result(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.text("SELECT blob FROM result WHERE key = ?1", key)
    }

    /// Adds the result of a sample: its verdict, as this version of the judge gave it, and the figures of its cases.
    ///
    /// # Errors
    /// Those of SQLite; a full disk among them.
    pub fn add_result(&self, key: &str, judge: u32, blob: &str) -> Result<Added, StoreError> {
        let mut connection = self.lock();
        let added = (|| {
            let transaction = write(&mut connection)?;
            let added = transaction
                .prepare_cached(
                    "INSERT OR IGNORE INTO result (key, judge, blob) VALUES (?1, ?2, ?3)",
                )?
                .execute((key, judge, blob))?;
            transaction
                .prepare_cached("DELETE FROM failure WHERE key = ?1")?
                .execute([key])?;
            transaction.commit()?;
            Ok(added)
        })()
        .map_err(at("add a result"))?;
        drop(connection);
        self.compared(added, || self.result(key), blob)
    }

    /// The last failure of ours under the key of a result that is not there.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn failure(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.text("SELECT blob FROM failure WHERE key = ?1", key)
    }

    /// Notes a failure of ours, in place of an earlier one. It is no fact: it is tried again.
    ///
    /// # Errors
    /// Those of SQLite; a full disk among them.
    pub fn note_failure(&self, key: &str, blob: &str) -> Result<(), StoreError> {
        self.lock()
            .prepare_cached("INSERT OR REPLACE INTO failure (key, blob) VALUES (?1, ?2)")
            .and_then(|mut statement| statement.execute((key, blob)))
            .map(|_| ())
            .map_err(at("note a failure"))
    }

    /// Content by its hash: an output, or the source of a candidate.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn content(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.lock()
            .prepare_cached("SELECT bytes FROM content WHERE hash = ?1")
            .and_then(|mut statement| statement.query_row([hash], |row| row.get(0)).optional())
            .map_err(at("read content"))
    }

    fn text(&self, query: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.lock()
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_row([key], |row| row.get(0)).optional())
            .map_err(at("read a fact"))
    }

    fn compared(
        &self,
        added: usize,
        there: impl Fn() -> Result<Option<String>, StoreError>,
        blob: &str,
    ) -> Result<Added, StoreError> {
        if added == 1 {
            return Ok(Added::New);
        }
        Ok(same(there()?.as_deref(), blob))
    }
}

fn same(there: Option<&str>, given: &str) -> Added {
    // Absent: another process has pruned it just now.
    if there.is_none_or(|there| there == given) {
        Added::Same
    } else {
        Added::Different
    }
}

/// A transaction that takes the writer's lock at once: one that began as a reader could not wait for it.
fn write(connection: &mut Connection) -> rusqlite::Result<rusqlite::Transaction<'_>> {
    connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
}

/// Turns on the write-ahead log, waiting for others that do the same.
///
/// SQLite does not call the busy handler here: whoever switches the mode holds a reader's lock already, and two that
/// wait for each other would wait for ever. The one that was refused has let go of it, so trying again is safe.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(rusqlite::Error::SqliteFailure(error, _))
                if matches!(
                    error.code,
                    rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked
                ) && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
