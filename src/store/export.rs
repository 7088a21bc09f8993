//! The facts of a store as text, in an order that does not depend on how they came.
use super::error::at;
use super::{Store, StoreError};
use crate::report::number;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io::Write;

/// A table that can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// What building gave.
    Build,
    /// What running gave.
    Measurement,
    /// Verdicts and figures of samples.
    Result,
    /// Definitions of studies.
    Study,
    /// Samples of studies.
    StudySample,
    /// Outputs and sources.
    Content,
}

/// The tables of an export; all, in a fixed order.
#[derive(Clone, Copy, Debug)]
pub struct Tables;

impl Tables {
    /// Every table, facts first.
    pub const ALL: [Table; 6] = [
        Table::Build,
        Table::Measurement,
        Table::Result,
        Table::Study,
        Table::StudySample,
        Table::Content,
    ];
}

impl Table {
    /// Its name in the store, on the command line and in exports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Measurement => "measurement",
            Self::Result => "result",
            Self::Study => "study",
            Self::StudySample => "study_sample",
            Self::Content => "content",
        }
    }

    /// Its columns in order; the leading ones are the key.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Build => &["key", "blob"],
            Self::Measurement => &["key", "version", "stdout", "stderr", "blob"],
            Self::Result => &["key", "judge", "blob"],
            Self::Study => &["key", "name", "blob"],
            Self::StudySample => &[
                "study", "machine", "problem", "model", "sample", "result", "source",
            ],
            Self::Content => &["hash", "bytes"],
        }
    }
}

impl Store {
    /// Writes a table as JSON lines, ordered by key: the same facts give the same bytes.
    ///
    /// Blobs stand as the JSON that they are; contents that are no UTF-8 in hexadecimal under `hex`.
    ///
    /// # Errors
    /// Those of SQLite; the inner error is that of `out`.
    pub fn export_json_lines(
        &self,
        table: Table,
        out: &mut dyn Write,
    ) -> Result<std::io::Result<()>, StoreError> {
        self.each_row(table, |values| {
            let mut object = Map::new();
            object.insert("table".into(), table.name().into());
            for (name, value) in table.columns().iter().zip(values) {
                let (name, value) = match value {
                    ValueRef::Null => (*name, Value::Null),
                    ValueRef::Integer(number) => (*name, (*number).into()),
                    ValueRef::Real(number) => (*name, (*number).into()),
                    ValueRef::Text(text) if *name == "blob" => {
                        let parsed = serde_json::from_slice(text);
                        (
                            *name,
                            parsed.unwrap_or_else(|_| String::from_utf8_lossy(text).into()),
                        )
                    }
                    ValueRef::Text(text) => (*name, String::from_utf8_lossy(text).into()),
                    ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                        Ok(text) => ("text", text.into()),
                        Err(_) => ("hex", hex(bytes).into()),
                    },
                };
                object.insert(name.into(), value);
            }
            writeln!(out, "{}", Value::Object(object))
        })
    }

    /// Writes a table as CSV (RFC 4180) with a head, ordered by key.
    ///
    /// # Errors
    /// Those of SQLite; the inner error is that of `out`.
    pub fn export_csv(
        &self,
        table: Table,
        out: &mut dyn Write,
    ) -> Result<std::io::Result<()>, StoreError> {
        if let Err(error) = write!(out, "{}\r\n", table.columns().join(",")) {
            return Ok(Err(error));
        }
        self.each_row(table, |values| {
            let cells: Vec<String> = values
                .iter()
                .map(|value| match value {
                    ValueRef::Null => String::new(),
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    ValueRef::Text(text) => number::csv(&String::from_utf8_lossy(text)),
                    ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                        Ok(text) => number::csv(text),
                        Err(_) => format!("hex:{}", hex(bytes)),
                    },
                })
                .collect();
            write!(out, "{}\r\n", cells.join(","))
        })
    }

    fn each_row(
        &self,
        table: Table,
        mut write: impl FnMut(&[ValueRef<'_>]) -> std::io::Result<()>,
    ) -> Result<std::io::Result<()>, StoreError> {
        let columns = table.columns();
        let key = match table {
            Table::StudySample => "study, machine, problem, model, sample",
            _ => columns[0],
        };
        let query = format!(
            "SELECT {} FROM {} ORDER BY {key}",
            columns.join(", "),
            table.name()
        );
        let connection = self.lock();
        let mut all = || {
            let mut statement = connection.prepare(&query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let values = (0..columns.len())
                    .map(|column| row.get_ref(column))
                    .collect::<rusqlite::Result<Vec<_>>>()?;
                if let Err(error) = write(&values) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        };
        all().map_err(at("export a table"))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
