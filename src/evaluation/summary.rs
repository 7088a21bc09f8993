//! The summary: the metrics of the rows, as data, as the last JSON object, and as a table.
use super::plan::Plan;
use super::row::{Row, SCHEMA_VERSION};
use crate::metric::{
    Facts, LeftOut, NormalisedRuntime, PassAtK, ProblemFacts, SampleFact, normalised_runtime,
    pass_at_k,
};
use crate::report::{Cell, Table};
use crate::verdict::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// The unit of the runtimes of a population.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeUnit {
    /// Core cycles.
    Cycles,
    /// Instructions, on machines that only count.
    Instructions,
    /// Nanoseconds of CPU time, natively.
    CpuTimeNs,
}

impl RuntimeUnit {
    /// The unit that the rows have: one backend and one machine made them all.
    fn of(rows: &[Row]) -> Self {
        if rows.iter().any(|row| row.runtime_cpu_time_ns.is_some()) {
            Self::CpuTimeNs
        } else if rows.iter().any(|row| row.runtime_cycles.is_some()) {
            Self::Cycles
        } else {
            Self::Instructions
        }
    }

    fn runtime(self, row: &Row) -> Option<u64> {
        match self {
            Self::Cycles => row.runtime_cycles,
            Self::Instructions => row.runtime_instructions,
            Self::CpuTimeNs => row.runtime_cpu_time_ns,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::CpuTimeNs => "nanoseconds of CPU time",
        }
    }
}

/// The metrics of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Each model's figures, in the order of the plan.
    pub models: Vec<ModelSummary>,
    /// How many problems the data set gave.
    pub problems: usize,
    /// Unit of the runtimes.
    pub unit: RuntimeUnit,
    /// Normalised runtimes, their population and what is left out.
    pub normalised_runtime: NormalisedRuntime,
    /// Problems of the data set that cannot be used.
    pub skipped: Vec<String>,
    /// As the plan has it.
    pub provenance: serde_json::Map<String, serde_json::Value>,
}

/// The figures of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSummary {
    /// Its name.
    pub model: String,
    /// Samples that were evaluated.
    pub samples: usize,
    /// How many samples have each kind of verdict.
    pub verdicts: BTreeMap<&'static str, usize>,
    /// pass@k for each k of the plan.
    pub pass_at_k: Vec<Offered>,
    /// Mean normalised runtime in percent.
    pub normalised_runtime_percent: Option<f64>,
}

/// A pass@k, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Offered {
    /// The value with its population.
    Value(PassAtK),
    /// Why it is refused.
    Refused {
        /// The k.
        k: usize,
        /// The reason.
        refused: String,
    },
}

/// Computes the metrics of rows that stand in result order.
pub(super) fn summarise(plan: &Plan, rows: &[Row]) -> Summary {
    let unit = RuntimeUnit::of(rows);
    let facts = facts(plan, rows, unit);
    let normalised = normalised_runtime(&facts);
    let mut ks: Vec<usize> = plan
        .ks
        .iter()
        .copied()
        .chain([1])
        .filter(|&k| k > 0)
        .collect();
    ks.sort_unstable();
    ks.dedup();
    let models = (plan.models.iter().enumerate())
        .map(|(index, model)| {
            let own = rows.iter().filter(|row| row.model == model.name);
            let mut verdicts = BTreeMap::new();
            for row in own.clone() {
                *verdicts.entry(row.verdict.kind()).or_default() += 1;
            }
            let offered = |&k: &usize| match pass_at_k(&facts, index, k) {
                Ok(value) => Offered::Value(value),
                Err(refusal) => Offered::Refused {
                    k,
                    refused: refusal.to_string(),
                },
            };
            ModelSummary {
                model: model.name.clone(),
                samples: own.count(),
                verdicts,
                pass_at_k: ks.iter().map(offered).collect(),
                normalised_runtime_percent: normalised.percent[index],
            }
        })
        .collect();
    Summary {
        models,
        problems: plan.problems.len(),
        unit,
        normalised_runtime: normalised,
        // Where the files lie must not show in the results.
        skipped: (plan.skipped.iter())
            .map(|defect| defect.without_folder().to_string())
            .collect(),
        provenance: plan.provenance.clone(),
    }
}

/// Rows as the metrics see them.
fn facts(plan: &Plan, rows: &[Row], unit: RuntimeUnit) -> Facts {
    let models: Vec<String> = plan.models.iter().map(|model| model.name.clone()).collect();
    let mut by_place: BTreeMap<(&str, &str), Vec<SampleFact>> = BTreeMap::new();
    for row in rows {
        let fact = match &row.verdict {
            Verdict::Accepted => SampleFact::Accepted(unit.runtime(row)),
            verdict if verdict.is_failure_of_ours() => SampleFact::Unknown,
            _ => SampleFact::Rejected,
        };
        by_place
            .entry((&row.problem, &row.model))
            .or_default()
            .push(fact);
    }
    let problems = (plan.problems.iter())
        .map(|problem| ProblemFacts {
            id: problem.id.clone(),
            samples: (models.iter())
                .map(|model| {
                    by_place
                        .remove(&(problem.id.as_str(), model.as_str()))
                        .unwrap_or_default()
                })
                .collect(),
        })
        .collect();
    Facts { models, problems }
}

impl Summary {
    /// The last object of the results: `{"table": {...}, ...}` with its line feed.
    pub fn to_json_line(&self) -> String {
        #[derive(Serialize)]
        struct Population<'a> {
            unit: RuntimeUnit,
            problems: usize,
            ids: &'a [String],
            left_out: &'a [LeftOut],
        }
        #[derive(Serialize)]
        struct Body<'a> {
            models: &'a [ModelSummary],
            problems: usize,
            normalised_runtime: Population<'a>,
            skipped: &'a [String],
        }
        #[derive(Serialize)]
        struct Last<'a> {
            table: Body<'a>,
            provenance: &'a serde_json::Map<String, serde_json::Value>,
            schema_version: u32,
        }
        let last = Last {
            table: Body {
                models: &self.models,
                problems: self.problems,
                normalised_runtime: Population {
                    unit: self.unit,
                    problems: self.normalised_runtime.problems.len(),
                    ids: &self.normalised_runtime.problems,
                    left_out: &self.normalised_runtime.left_out,
                },
                skipped: &self.skipped,
            },
            provenance: &self.provenance,
            schema_version: SCHEMA_VERSION,
        };
        let mut line =
            serde_json::to_string(&last).expect("a summary holds only what JSON can hold");
        line.push('\n');
        line
    }

    /// The table for people.
    pub fn to_table(&self) -> Table {
        let ks = self
            .models
            .first()
            .map_or(&[][..], |model| &model.pass_at_k);
        let mut columns: Vec<String> = vec!["model".into(), "samples".into()];
        columns.extend(ks.iter().map(|offered| format!("pass@{}", offered.k())));
        columns.push("normalised runtime".into());
        let rows = self.models.iter().map(|model| {
            let mut row = vec![
                Cell::Text(model.model.clone()),
                Cell::Count(model.samples as u64),
            ];
            row.extend(model.pass_at_k.iter().map(|offered| match offered {
                Offered::Value(pass) => Cell::Fraction(pass.value),
                Offered::Refused { .. } => Cell::Missing,
            }));
            row.push(
                model
                    .normalised_runtime_percent
                    .map_or(Cell::Missing, Cell::Percent),
            );
            row
        });
        Table {
            title: String::new(),
            columns,
            rows: rows.collect(),
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let normalised = &self.normalised_runtime;
        let mut notes = vec![format!(
            "normalised runtime: share of the models' summed runtimes in {} (less is faster), over {} of {} problems \
             that all models solve",
            self.unit.name(),
            normalised.problems.len(),
            self.problems
        )];
        if self.models.len() == 1 {
            notes.push("one model alone always has 100%: name more with `--samples`".into());
        }
        for LeftOut { problem, reason } in &normalised.left_out {
            notes.push(format!("left out `{problem}`: {reason}"));
        }
        for model in &self.models {
            for offered in &model.pass_at_k {
                match offered {
                    Offered::Refused { k, refused } => {
                        notes.push(format!("no pass@{k}: {refused}"))
                    }
                    Offered::Value(pass) if !pass.left_out.is_empty() => notes.push(format!(
                        "pass@{} of `{}` is over {} of {} problems",
                        pass.k, model.model, pass.problems, self.problems
                    )),
                    Offered::Value(_) => {}
                }
            }
        }
        notes.extend(
            self.skipped
                .iter()
                .map(|defect| format!("skipped {defect}")),
        );
        notes
    }
}

impl Offered {
    fn k(&self) -> usize {
        match self {
            Self::Value(pass) => pass.k,
            Self::Refused { k, .. } => *k,
        }
    }
}
