//! Studies: what samples belong together, and under which keys their results stand.
use super::error::at;
use super::{Store, StoreError, write};
use crate::artifact::ContentHash;

/// A study as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyEntry {
    /// Hash of its definition and its samples.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Its definition.
    pub blob: String,
    /// Samples times machines.
    pub samples: u64,
    /// How many of them have a result.
    pub done: u64,
}

/// One sample of a study on one machine; numbers are places in the definition's lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StudySample {
    /// Which machine.
    pub machine: u32,
    /// Which problem.
    pub problem: u32,
    /// Which model.
    pub model: u32,
    /// Which of the model's samples of the problem.
    pub sample: u32,
    /// Key of the result; `None` where the answer has no code.
    pub result: Option<String>,
    /// Hash of the candidate's source among the contents.
    pub source: Option<String>,
}

impl Store {
    /// Writes a study down and gives its key; one that is there already is left as it is.
    ///
    /// `sources` are the contents that the samples name.
    ///
    /// # Errors
    /// Those of SQLite; a full disk among them.
    pub fn begin_study<'a>(
        &self,
        name: &str,
        blob: &str,
        samples: &[StudySample],
        sources: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, StoreError> {
        let parts = samples.iter().map(|sample| format!("{sample:?}"));
        let key =
            ContentHash::of_parts([name.to_owned(), blob.to_owned()].into_iter().chain(parts))
                .to_string();
        let mut connection = self.lock();
        let mut written = |sources: &mut dyn Iterator<Item = &'a str>| {
            let transaction = write(&mut connection)?;
            let new = transaction
                .prepare_cached(
                    "INSERT OR IGNORE INTO study (key, name, blob) VALUES (?1, ?2, ?3)",
                )?
                .execute((&key, name, blob))?;
            if new == 1 {
                for source in sources {
                    let hash = ContentHash::of(source.as_bytes()).to_string();
                    transaction
                        .prepare_cached(
                            "INSERT OR IGNORE INTO content (hash, bytes) VALUES (?1, ?2)",
                        )?
                        .execute((hash, source.as_bytes()))?;
                }
                let mut statement = transaction.prepare_cached(
                    "INSERT INTO study_sample (study, machine, problem, model, sample, result, source) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?;
                for sample in samples {
                    statement.execute((
                        &key,
                        sample.machine,
                        sample.problem,
                        sample.model,
                        sample.sample,
                        &sample.result,
                        &sample.source,
                    ))?;
                }
            }
            transaction.commit()
        };
        written(&mut sources.into_iter()).map_err(at("write the study down"))?;
        drop(connection);
        Ok(key)
    }

    /// All studies, in the order in which they were first begun.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn studies(&self) -> Result<Vec<StudyEntry>, StoreError> {
        let connection = self.lock();
        let read = || {
            let mut statement = connection.prepare(
                "SELECT s.key, s.name, s.blob, count(t.study), \
                 count(CASE WHEN t.study IS NOT NULL AND (t.result IS NULL OR r.key IS NOT NULL) THEN 1 END) \
                 FROM study s LEFT JOIN study_sample t ON t.study = s.key LEFT JOIN result r ON r.key = t.result \
                 GROUP BY s.key ORDER BY s.rowid",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(StudyEntry {
                    key: row.get(0)?,
                    name: row.get(1)?,
                    blob: row.get(2)?,
                    samples: count(row, 3)?,
                    done: count(row, 4)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(at("list the studies"))
    }

    /// The study of this name or of a key that begins so; without either, the only one there is.
    ///
    /// Of several with one name the last that was begun is meant: the others were other versions of it.
    ///
    /// # Errors
    /// There is none, or it is not clear which; and those of SQLite.
    pub fn find_study(&self, wanted: Option<&str>) -> Result<StudyEntry, StoreError> {
        let studies = self.studies()?;
        let list = || {
            let names = studies
                .iter()
                .map(|study| format!("`{}` ({})", study.name, &study.key[..12]));
            names.collect::<Vec<_>>().join(", ")
        };
        let Some(wanted) = wanted else {
            return match studies.as_slice() {
                [only] => Ok(only.clone()),
                [] => Err(StoreError::Study("the store holds no study".into())),
                _ => Err(StoreError::Study(format!(
                    "the store holds several studies, and `--study` names none of them: {}",
                    list()
                ))),
            };
        };
        if let Some(study) = studies.iter().rev().find(|study| study.name == wanted) {
            return Ok(study.clone());
        }
        let mut by_key = studies.iter().filter(|study| {
            !wanted.is_empty() && study.key.starts_with(&wanted.to_ascii_lowercase())
        });
        match (by_key.next(), by_key.next()) {
            (Some(study), None) => Ok(study.clone()),
            _ => Err(StoreError::Study(format!(
                "no study, or more than one, is called `{wanted}`; there are: {}",
                list()
            ))),
        }
    }

    /// The samples of a study, by machine, problem, model and number.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn study_samples(&self, key: &str) -> Result<Vec<StudySample>, StoreError> {
        let connection = self.lock();
        let read = || {
            let mut statement = connection.prepare(
                "SELECT machine, problem, model, sample, result, source FROM study_sample WHERE study = ?1 \
                 ORDER BY machine, problem, model, sample",
            )?;
            let rows = statement.query_map([key], |row| {
                Ok(StudySample {
                    machine: row.get(0)?,
                    problem: row.get(1)?,
                    model: row.get(2)?,
                    sample: row.get(3)?,
                    result: row.get(4)?,
                    source: row.get(5)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(at("read the study's samples"))
    }
}

fn count(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    Ok(u64::try_from(number).unwrap_or(0))
}
