//! The journal: rows on disk as they come, so that an evaluation that was ended goes on where it was.
//!
//! In the folder, `results.jsonl` holds a finished evaluation in result order and `results.partial.jsonl` the rows of
//! one under way in the order of completion. A line is a row as a whole or is not there: one that was cut short is
//! left out when read.
use super::row::Row;
use super::{EvaluationResult, Observer, Progress};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const FINISHED: &str = "results.jsonl";
const UNDER_WAY: &str = "results.partial.jsonl";

/// A file operation on the results folder failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} `{}`: {source}", path.display())]
pub struct JournalError {
    verb: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

/// A results folder that is open for an evaluation.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    under_way: Mutex<(File, Option<JournalError>)>,
    notes: Vec<String>,
}

impl Journal {
    /// Opens a folder, making it if need be, and reads the rows that are there, by job key.
    ///
    /// Rows of failures of ours are left out, so that they are tried again; rows without a key are never reused.
    ///
    /// # Errors
    /// The folder cannot be made, or a file in it cannot be read or written.
    pub fn open(folder: &Path) -> Result<(Self, BTreeMap<String, Row>), JournalError> {
        std::fs::create_dir_all(folder).map_err(error("make the folder", folder))?;
        let mut rows = BTreeMap::new();
        let mut notes = Vec::new();
        for name in [FINISHED, UNDER_WAY] {
            read_rows(&folder.join(name), &mut rows, &mut notes)?;
        }
        let path = folder.join(UNDER_WAY);
        // A cut line at the end must not run into the first new one.
        let cut = std::fs::read(&path).is_ok_and(|text| !text.is_empty() && !text.ends_with(b"\n"));
        let mut file = (OpenOptions::new().create(true).append(true).open(&path))
            .map_err(error("write", &path))?;
        if cut {
            file.write_all(b"\n").map_err(error("write", &path))?;
        }
        let journal = Self {
            folder: folder.into(),
            under_way: Mutex::new((file, None)),
            notes,
        };
        Ok((journal, rows))
    }

    /// What to tell about the files that were read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// An observer that writes each row down and passes everything on to `next`.
    pub fn observer<'a>(&'a self, next: &'a dyn Observer) -> impl Observer + 'a {
        Writing {
            journal: self,
            next,
        }
    }

    fn write(&self, row: &Row) {
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (file, failed) = &mut *under_way;
        // After the first failure (a full disk) the evaluation goes on and `finish` tells.
        if failed.is_none()
            && let Err(source) = file.write_all(row.to_json_line().as_bytes())
        {
            *failed = Some(JournalError {
                verb: "write",
                path: self.folder.join(UNDER_WAY),
                source,
            });
        }
    }

    /// Writes the finished results in one step and removes the rows under way. Gives the path of the results.
    ///
    /// # Errors
    /// A file of the folder cannot be written.
    pub fn finish(self, result: &EvaluationResult) -> Result<PathBuf, JournalError> {
        let path = self.folder.join(FINISHED);
        let new = self.folder.join("results.jsonl.new");
        std::fs::write(&new, result.to_json_lines()).map_err(error("write", &new))?;
        std::fs::rename(&new, &path).map_err(error("write", &path))?;
        let under_way = self.folder.join(UNDER_WAY);
        std::fs::remove_file(&under_way).map_err(error("remove", &under_way))?;
        Ok(path)
    }
}

fn error<'a>(verb: &'static str, path: &'a Path) -> impl Fn(std::io::Error) -> JournalError + 'a {
    move |source| JournalError {
        verb,
        path: path.into(),
        source,
    }
}

fn read_rows(
    path: &Path,
    rows: &mut BTreeMap<String, Row>,
    notes: &mut Vec<String>,
) -> Result<(), JournalError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(failure) if failure.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(failure) => return Err(error("read", path)(failure)),
    };
    let mut unreadable = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else {
            unreadable += usize::from(!line.trim_ascii().is_empty());
            continue;
        };
        // The last object of finished results is the table.
        if value.get("table").is_some() {
            continue;
        }
        match serde_json::from_value::<Row>(value) {
            Ok(row) if row.key.is_empty() || row.verdict.is_failure_of_ours() => {}
            Ok(row) => {
                rows.insert(row.key.clone(), row);
            }
            Err(_) => unreadable += 1,
        }
    }
    if unreadable > 0 {
        notes.push(format!(
            "`{}`: {unreadable} incomplete or unreadable lines are ignored; their samples are run again",
            path.display()
        ));
    }
    Ok(())
}

struct Writing<'a> {
    journal: &'a Journal,
    next: &'a dyn Observer,
}

impl Observer for Writing<'_> {
    fn begun(&self, samples: usize) {
        self.next.begun(samples);
    }

    fn finished(&self, row: &Row, reused: bool, progress: &Progress) {
        // What was taken over stands in the folder already.
        if !reused {
            self.journal.write(row);
        }
        self.next.finished(row, reused, progress);
    }
}
