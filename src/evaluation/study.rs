//! Studies in the store: what an evaluation writes down before it begins, and results read back without running.
use super::memory::Memory;
use super::plan::{Plan, ReportOptions};
use super::row::{Place, Row};
use super::run::SampleRun;
use super::summary::{self, Summary};
use crate::dataset::Defect;
use crate::store::{StoreError, StudyEntry};
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// The definition of a study: everything that a report needs besides results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Version of this form.
    pub version: u32,
    /// Name of the study.
    pub name: String,
    /// The machines, in the order of the rows.
    pub machines: Vec<String>,
    /// The models.
    pub models: Vec<DefinedModel>,
    /// Ids of the problems.
    pub problems: Vec<String>,
    /// Problems of the data set that cannot be used.
    pub skipped: Vec<String>,
    /// Cases that are left out of the problems, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<String>,
    /// What identifies backend, machine, toolchain and settings.
    pub provenance: serde_json::Map<String, serde_json::Value>,
}

/// A model of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinedModel {
    /// Its name.
    pub name: String,
    /// The model whose answers its answers were to improve.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base: Option<String>,
}

impl Definition {
    /// Version of the form.
    const VERSION: u32 = 1;

    /// The definition of a plan on these machines.
    pub(super) fn of(plan: &Plan, machines: Vec<String>) -> Self {
        // Where the files lie must not show in the results.
        let texts = |defects: &[Defect]| {
            (defects.iter())
                .map(|defect| defect.without_folder().to_string())
                .collect()
        };
        Self {
            version: Self::VERSION,
            name: plan.name.clone(),
            machines,
            models: (plan.models.iter())
                .map(|model| DefinedModel {
                    name: model.name.clone(),
                    base: model.base.clone(),
                })
                .collect(),
            problems: plan.problems.iter().map(|p| p.id.clone()).collect(),
            skipped: texts(&plan.skipped),
            left_out: texts(&plan.left_out),
            provenance: plan.provenance.clone(),
        }
    }

    /// The definition as the store keeps it.
    pub(super) fn to_blob(&self) -> String {
        serde_json::to_string(self).expect("a definition is strings and maps of strings")
    }
}

/// A study as it stands in a store.
#[derive(Clone, Debug)]
pub struct StoredStudy {
    /// Its definition.
    pub definition: Definition,
    /// One row a sample and machine, in result order. What has no result yet is a failure of ours.
    pub rows: Vec<Row>,
    /// For each row the hash of the candidate's source, if there is one.
    pub sources: Vec<Option<String>>,
}

impl StoredStudy {
    /// Reads a study.
    ///
    /// # Errors
    /// The store cannot be read, or the definition is of a newer version.
    pub fn read(memory: &Memory<'_>, entry: &StudyEntry) -> Result<Self, StoreError> {
        let unreadable = |reason: String| StoreError::Blob {
            key: entry.key.clone(),
            reason,
        };
        let definition: Definition =
            serde_json::from_str(&entry.blob).map_err(|error| unreadable(error.to_string()))?;
        if definition.version != Definition::VERSION {
            return Err(unreadable(format!(
                "its definition has version {}",
                definition.version
            )));
        }
        let mut rows = Vec::new();
        let mut sources = Vec::new();
        for sample in memory.store().study_samples(&entry.key)? {
            let missing = || unreadable("a sample names no model, problem or machine".into());
            let place = Place {
                problem: (definition.problems.get(sample.problem as usize)).ok_or_else(missing)?,
                model: &(definition.models.get(sample.model as usize))
                    .ok_or_else(missing)?
                    .name,
                sample: sample.sample as usize,
                machine: (definition.machines.get(sample.machine as usize)).ok_or_else(missing)?,
            };
            let (key, run) = match sample.result {
                None => (
                    String::new(),
                    SampleRun::without_measurement(Verdict::EmptyAnswer),
                ),
                Some(key) => {
                    let run = memory.result(&key).unwrap_or_else(|| {
                        let verdict = memory.result_failure(&key).unwrap_or_else(not_there);
                        SampleRun::without_measurement(verdict)
                    });
                    (key, run)
                }
            };
            rows.push(Row::new(place, key, run));
            sources.push(sample.source);
        }
        match memory.failure() {
            Some(error) => Err(error),
            None => Ok(Self {
                definition,
                rows,
                sources,
            }),
        }
    }

    /// The metrics of the rows, one summary a machine.
    pub fn summaries(&self, options: &ReportOptions) -> Vec<Summary> {
        summary::summarise(&self.definition, &self.rows, options)
    }
}

fn not_there() -> Verdict {
    Verdict::BackendFailure {
        what: "there is no result yet".into(),
        remedy: "evaluate the study to its end".into(),
    }
}
