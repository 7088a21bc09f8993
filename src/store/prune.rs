//! Pruning: studies that are named go, and with them the facts that no remaining study uses.
use super::error::at;
use super::{Store, StoreError, write};
use std::collections::BTreeSet;

/// How much a prune removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Studies.
    pub studies: usize,
    /// Results of samples.
    pub results: usize,
    /// Measurements.
    pub measurements: usize,
    /// Outputs and sources.
    pub contents: usize,
}

impl Store {
    /// Removes the studies with these keys, then every result, measurement, build and content that no remaining study
    /// uses, in one transaction. Without keys, only what no study uses goes.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn prune(&self, studies: &[String]) -> Result<Pruned, StoreError> {
        let mut connection = self.lock();
        let pruned = (|| {
            let mut pruned = Pruned::default();
            let transaction = write(&mut connection)?;
            for key in studies {
                transaction.execute("DELETE FROM study_sample WHERE study = ?1", [key])?;
                pruned.studies += transaction.execute("DELETE FROM study WHERE key = ?1", [key])?;
            }
            pruned.results = transaction.execute(
                "DELETE FROM result WHERE key NOT IN (SELECT result FROM study_sample WHERE result IS NOT NULL)",
                [],
            )?;
            transaction.execute(
                "DELETE FROM failure WHERE key NOT IN (SELECT result FROM study_sample WHERE result IS NOT NULL)",
                [],
            )?;
            // Results name the builds and jobs that they were judged from.
            let mut used = BTreeSet::new();
            {
                let mut statement = transaction.prepare("SELECT blob FROM result")?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let blob: String = row.get(0)?;
                    let value: serde_json::Value = serde_json::from_str(&blob).unwrap_or_default();
                    let keys = value["jobs"].as_array().into_iter().flatten();
                    used.extend(
                        keys.chain([&value["build"]])
                            .filter_map(|key| key.as_str().map(str::to_owned)),
                    );
                }
            }
            for (table, count) in [
                ("measurement", Some(&mut pruned.measurements)),
                ("build", None),
            ] {
                let mut keys = Vec::new();
                {
                    let mut statement = transaction.prepare(&format!("SELECT key FROM {table}"))?;
                    let mut rows = statement.query([])?;
                    while let Some(row) = rows.next()? {
                        let key: String = row.get(0)?;
                        if !used.contains(&key) {
                            keys.push(key);
                        }
                    }
                }
                for key in &keys {
                    transaction.execute(&format!("DELETE FROM {table} WHERE key = ?1"), [key])?;
                }
                if let Some(count) = count {
                    *count = keys.len();
                }
            }
            pruned.contents = transaction.execute(
                "DELETE FROM content WHERE hash NOT IN (SELECT stdout FROM measurement) \
                 AND hash NOT IN (SELECT stderr FROM measurement) \
                 AND hash NOT IN (SELECT source FROM study_sample WHERE source IS NOT NULL)",
                [],
            )?;
            transaction.commit()?;
            // Gives the space back; another process that reads just now only delays it.
            let _ = connection.execute_batch("VACUUM");
            Ok(pruned)
        })();
        pruned.map_err(at("prune the store"))
    }
}
