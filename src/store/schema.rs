//! The tables, as a list of steps from each schema to the next.
//!
//! Two laws: a step that has been published is never changed, and no step loses a fact.
use super::error::{StoreError, at};
use rusqlite::Connection;

/// Marks an SQLite file as a store ("tkmk").
const APPLICATION: i32 = 0x746b_6d6b;

/// Step n leads from schema n to schema n + 1; an empty file has schema 0.
pub(super) const STEPS: [&str; 2] = [
    // 1: facts.
    "CREATE TABLE content (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL);
     CREATE TABLE build (key TEXT PRIMARY KEY, blob TEXT NOT NULL);
     CREATE TABLE measurement (
         key TEXT PRIMARY KEY, version INTEGER NOT NULL, blob TEXT NOT NULL,
         stdout TEXT NOT NULL REFERENCES content (hash), stderr TEXT NOT NULL REFERENCES content (hash));
     CREATE TABLE result (key TEXT PRIMARY KEY, judge INTEGER NOT NULL, blob TEXT NOT NULL);",
    // 2: studies, and failures that are tried again.
    "CREATE TABLE study (key TEXT PRIMARY KEY, name TEXT NOT NULL, blob TEXT NOT NULL);
     CREATE TABLE study_sample (
         study TEXT NOT NULL REFERENCES study (key) ON DELETE CASCADE,
         machine INTEGER NOT NULL, problem INTEGER NOT NULL, model INTEGER NOT NULL, sample INTEGER NOT NULL,
         result TEXT, source TEXT REFERENCES content (hash),
         PRIMARY KEY (study, machine, problem, model, sample)) WITHOUT ROWID;
     CREATE TABLE failure (key TEXT PRIMARY KEY, blob TEXT NOT NULL);",
];

/// The newest schema.
pub const VERSION: u32 = STEPS.len() as u32;

/// Brings a database to the newest schema, in one transaction.
pub(super) fn migrate(connection: &mut Connection, path: &str) -> Result<(), StoreError> {
    // A file that is no database is found out by the first statement that reads it.
    let open = |source| StoreError::Open {
        path: path.into(),
        source,
    };
    if number(connection, "user_version").map_err(open)? == i64::from(VERSION)
        && number(connection, "application_id").map_err(open)? == i64::from(APPLICATION)
    {
        return Ok(());
    }
    let transaction = super::write(connection).map_err(open)?;
    // Read again: another process may have migrated it while this one waited.
    let found = number(&transaction, "user_version").map_err(open)?;
    let application = number(&transaction, "application_id").map_err(open)?;
    let tables: i64 = transaction
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(open)?;
    let fresh = found == 0 && application == 0 && tables == 0;
    if !fresh && application != i64::from(APPLICATION) {
        return Err(StoreError::Foreign { path: path.into() });
    }
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    if found > VERSION {
        return Err(StoreError::Newer {
            path: path.into(),
            found,
            known: VERSION,
        });
    }
    for step in &STEPS[found as usize..] {
        transaction
            .execute_batch(step)
            .map_err(at("bring the store's schema up to date"))?;
    }
    mark(&transaction, VERSION).map_err(at("mark the store's schema"))?;
    transaction
        .commit()
        .map_err(at("bring the store's schema up to date"))
}

/// Writes down which schema a database has.
pub(super) fn mark(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version}"
    ))
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
}
