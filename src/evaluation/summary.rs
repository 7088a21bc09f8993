//! The summary: the metrics of the rows of one machine, as data, as a JSON object, and as tables.
use super::plan::ReportOptions;
use super::row::{CaseRow, Row, SCHEMA_VERSION};
use super::study::Definition;
use crate::metric::{
    Aggregate, Direction, Facts, LeftOut, Metric, Outcome, ProblemFacts, SampleFact, Scores, Share,
    Stability, Unit, Whole, WinRate, pairwise_shares, stability, win_matrix,
};
use crate::report::{Cell, Table};
use crate::verdict::Verdict;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How many problems that are left out a table names; the JSON has all.
const LEFT_OUT_SHOWN: usize = 10;

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
    fn of(rows: &[&Row]) -> Self {
        if rows.iter().any(|row| row.runtime_cpu_time_ns.is_some()) {
            Self::CpuTimeNs
        } else if rows.iter().any(|row| row.runtime_cycles.is_some()) {
            Self::Cycles
        } else {
            Self::Instructions
        }
    }

    fn of_case(self, case: &CaseRow) -> Option<u64> {
        match self {
            Self::Cycles => case.cycles,
            Self::Instructions => case.instructions,
            Self::CpuTimeNs => case.cpu_time_ns,
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

/// The metrics of an evaluation on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Name of the study.
    pub study: String,
    /// Name of the machine.
    pub machine: String,
    /// Each model's samples and verdicts, in the order of the population.
    pub models: Vec<ModelSummary>,
    /// How many problems the data set gave.
    pub problems: usize,
    /// Unit of the runtimes.
    pub unit: RuntimeUnit,
    /// How the runtimes of cases became one.
    pub aggregate: Aggregate,
    /// Models that were left out of the population.
    pub excluded: Vec<String>,
    /// The metrics that were asked for, in order.
    pub scores: Vec<Scores>,
    /// pass@k for k = 1 and every k that was asked for; and the normalised runtime. They always stand in the JSON.
    pub always: Vec<Scores>,
    /// Runtimes as the metrics saw them.
    pub facts: Facts,
    /// Normalised runtimes in pairs, if they were asked for.
    pub pairwise: Option<Vec<Vec<Option<Share>>>>,
    /// How often the row's model wins over the column's.
    pub wins: Vec<Vec<Option<WinRate>>>,
    /// Agreement of the orders of metrics, and of this machine with the earlier ones; if it was asked for.
    pub stability: Vec<Stability>,
    /// Problems of the data set that cannot be used.
    pub skipped: Vec<String>,
    /// Cases that are left out of the problems.
    pub left_out: Vec<String>,
    /// As the plan has it.
    pub provenance: Map<String, Value>,
    /// Whether tables show intervals.
    pub intervals: bool,
}

/// The samples of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelSummary {
    /// Its name.
    pub model: String,
    /// Samples that were evaluated.
    pub samples: usize,
    /// How many samples have each kind of verdict.
    pub verdicts: BTreeMap<&'static str, usize>,
    /// How many were rejected by a screening machine and did not run on this one.
    pub screened: usize,
}

/// Computes the metrics of rows that stand in result order: one summary a machine.
pub(super) fn summarise(
    definition: &Definition,
    rows: &[Row],
    options: &ReportOptions,
) -> Vec<Summary> {
    let mut summaries: Vec<Summary> = Vec::new();
    for machine in &definition.machines {
        let mut summary = of_machine(definition, machine, rows, options);
        if options.stability {
            let own: Vec<_> = (summary.scores.iter())
                .map(|scores| (scores.metric.clone(), scores))
                .collect();
            let mut found = stability(&own);
            for other in &summaries {
                for (mine, theirs) in summary.scores.iter().zip(&other.scores) {
                    let name = |machine: &str| format!("{} on {machine}", mine.metric);
                    found.extend(stability(&[
                        (name(&other.machine), theirs),
                        (name(machine), mine),
                    ]));
                }
            }
            summary.stability = found;
        }
        summaries.push(summary);
    }
    summaries
}

fn of_machine(
    definition: &Definition,
    machine: &str,
    rows: &[Row],
    options: &ReportOptions,
) -> Summary {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.machine == machine).collect();
    let unit = RuntimeUnit::of(&rows);
    let models: Vec<usize> = (definition.models.iter().enumerate())
        .filter(|(_, model)| !options.exclude.contains(&model.name))
        .map(|(index, _)| index)
        .collect();
    let facts = facts(definition, &rows, unit, options).only(&models);
    let score = |metric: &Metric| metric.score(&facts, &options.settings);
    let mut always = vec![Metric::PassAtK(1), Metric::NormalisedRuntime];
    let passes = |metric: &&Metric| matches!(metric, Metric::PassAtK(_));
    always.extend(options.metrics.iter().filter(passes));
    always.sort_unstable();
    always.dedup();
    let summary_of = |&index: &usize| {
        let name = &definition.models[index].name;
        let own = rows.iter().filter(|row| row.model == *name);
        let mut verdicts = BTreeMap::new();
        for row in own.clone() {
            *verdicts.entry(row.verdict.kind()).or_default() += 1;
        }
        let screened = own.clone().filter(|row| row.screened.is_some());
        ModelSummary {
            model: name.clone(),
            screened: screened.count(),
            samples: own.count(),
            verdicts,
        }
    };
    let mut metrics = options.metrics.clone();
    let mut seen = std::collections::BTreeSet::new();
    metrics.retain(|metric| seen.insert(*metric));
    Summary {
        study: definition.name.clone(),
        machine: machine.into(),
        models: models.iter().map(summary_of).collect(),
        problems: definition.problems.len(),
        unit,
        aggregate: options.aggregate,
        excluded: (definition.models.iter())
            .filter(|model| options.exclude.contains(&model.name))
            .map(|model| model.name.clone())
            .collect(),
        scores: metrics.iter().map(score).collect(),
        always: always.iter().map(score).collect(),
        pairwise: options.pairwise.then(|| pairwise_shares(&facts)),
        wins: win_matrix(&facts, options.settings.margin),
        facts,
        stability: Vec::new(),
        skipped: definition.skipped.clone(),
        left_out: definition.left_out.clone(),
        provenance: definition.provenance.clone(),
        intervals: options.intervals,
    }
}

/// Rows as the metrics see them.
fn facts(
    definition: &Definition,
    rows: &[&Row],
    unit: RuntimeUnit,
    options: &ReportOptions,
) -> Facts {
    let mut by_place: BTreeMap<(&str, &str), Vec<SampleFact>> = BTreeMap::new();
    for row in rows {
        by_place
            .entry((&row.problem, &row.model))
            .or_default()
            .push(fact(row, unit, options.aggregate));
    }
    let problems = (definition.problems.iter())
        .map(|problem| ProblemFacts {
            id: problem.clone(),
            samples: (definition.models.iter())
                .map(|model| {
                    by_place
                        .remove(&(problem.as_str(), model.name.as_str()))
                        .unwrap_or_default()
                })
                .collect(),
        })
        .collect();
    let place = |name: &str| definition.models.iter().position(|m| m.name == name);
    Facts {
        models: definition.models.iter().map(|m| m.name.clone()).collect(),
        problems,
        reference: place(options.reference.as_deref().unwrap_or("canonical")),
        bases: (definition.models.iter())
            .map(|model| model.base.as_deref().and_then(place))
            .collect(),
    }
}

fn fact(row: &Row, unit: RuntimeUnit, aggregate: Aggregate) -> SampleFact {
    let outcome = match &row.verdict {
        Verdict::Accepted => Outcome::Accepted,
        verdict if verdict.is_failure_of_ours() => Outcome::Unknown,
        Verdict::InstructionLimit { .. } | Verdict::TimeLimit { .. } => Outcome::TimedOut,
        _ => Outcome::Rejected,
    };
    let passed = row.cases.iter().filter(|case| case.verdict.is_none());
    let times: Option<Vec<u64>> = passed.clone().map(|case| unit.of_case(case)).collect();
    // The last level is complete only if the sample was right to the end.
    let mut levels: BTreeMap<u32, f64> = BTreeMap::new();
    for (case, time) in passed.zip(times.iter().flatten()) {
        let longest = levels.entry(level(&case.name)).or_default();
        *longest = longest.max(*time as f64);
    }
    if outcome != Outcome::Accepted {
        levels.pop_last();
    }
    SampleFact {
        outcome,
        runtime: times
            .filter(|_| row.verdict.is_accepted())
            .and_then(|times| aggregate.of(&times)),
        levels: levels.into_values().collect(),
        screened: row.screened.is_some(),
        whole: Whole {
            peak_memory: row.total.map(|total| total.peak_memory_bytes as f64),
            memory_time: (row.total)
                .and_then(|total| total.memory_kib_cycles)
                .map(|integral| integral as f64),
        },
    }
}

/// The level of a case: `L2.5` is case 5 of level 2. Other names have level 0.
fn level(name: &str) -> u32 {
    (name.strip_prefix('L'))
        .and_then(|rest| rest.split_once('.'))
        .and_then(|(level, _)| level.parse().ok())
        .unwrap_or(0)
}

impl Summary {
    /// The scores of this metric, if they were computed.
    pub fn scores_of(&self, metric: &str) -> Option<&Scores> {
        (self.scores.iter().chain(&self.always)).find(|scores| scores.metric == metric)
    }

    /// A model's value of a metric.
    pub fn value(&self, metric: &str, model: usize) -> Option<f64> {
        self.scores_of(metric)?.models.get(model)?.value
    }

    /// Ids of the problems that every model of the population solves.
    pub fn population(&self) -> Vec<&str> {
        let scores = self.scores_of("normalised-runtime");
        let first = scores.and_then(|scores| scores.models.first());
        first.map_or_else(Vec::new, |model| {
            (model.by_problem())
                .map(|(problem, _)| self.facts.problems[problem].id.as_str())
                .collect()
        })
    }

    fn normalised_left_out(&self) -> &[LeftOut] {
        self.scores_of("normalised-runtime")
            .map_or(&[], |scores| &scores.left_out)
    }

    /// The last objects of the results: `{"table": {...}, ...}`, one a machine, with its line feed.
    pub fn to_json_line(&self) -> String {
        let models: Vec<Value> = (self.models.iter().enumerate())
            .map(|(index, model)| {
                let passes = (self.always.iter()).filter_map(|scores| {
                    let k: usize = scores.metric.strip_prefix("pass@")?.parse().ok()?;
                    let score = &scores.models[index];
                    Some(match (&score.refused, score.value) {
                        (None, Some(value)) => json!({
                            "k": k, "value": value, "problems": score.problems, "left_out": score.left_out,
                        }),
                        (refused, _) => json!({"k": k, "refused": refused}),
                    })
                });
                let mut object = json!({
                    "model": model.model,
                    "samples": model.samples,
                    "verdicts": model.verdicts,
                    "pass_at_k": passes.collect::<Vec<_>>(),
                    "normalised_runtime_percent": self.value("normalised-runtime", index),
                });
                if model.screened > 0 {
                    object["screened"] = model.screened.into();
                }
                object
            })
            .collect();
        let population = self.population();
        let mut table = json!({
            "models": models,
            "problems": self.problems,
            "normalised_runtime": {
                "unit": self.unit,
                "problems": population.len(),
                "ids": population,
                "left_out": self.normalised_left_out(),
            },
            "aggregate": self.aggregate,
            "excluded": self.excluded,
            "metrics": self.scores,
            "skipped": self.skipped,
        });
        if !self.left_out.is_empty() {
            table["cases_left_out"] = json!(self.left_out);
        }
        if let Some(pairs) = &self.pairwise {
            table["pairwise_normalised_runtime"] = json!(pairs);
        }
        if !self.stability.is_empty() {
            table["rank_stability"] = json!(self.stability);
        }
        let last = json!({
            "table": table,
            "machine": self.machine,
            "provenance": self.provenance,
            "schema_version": SCHEMA_VERSION,
        });
        format!("{last}\n")
    }

    /// The tables for people: the main one, then what else was asked for.
    pub fn to_tables(&self) -> Vec<Table> {
        let mut tables = vec![self.to_table()];
        if let Some(pairs) = &self.pairwise {
            tables.push(self.pairwise_table(pairs));
        }
        if !self.stability.is_empty() {
            tables.push(stability_table(&self.stability));
        }
        tables
    }

    /// The main table: a row a model, a column a metric.
    pub fn to_table(&self) -> Table {
        let mut columns: Vec<String> = vec!["model".into(), "samples".into()];
        for scores in &self.scores {
            columns.push(title(&scores.metric));
            if self.intervals {
                columns.push(format!("{} 95%", title(&scores.metric)));
            }
        }
        let rows = self.models.iter().enumerate().map(|(index, model)| {
            let mut row = vec![
                Cell::Text(model.model.clone()),
                Cell::Count(model.samples as u64),
            ];
            for scores in &self.scores {
                let score = &scores.models[index];
                row.push(
                    score
                        .value
                        .map_or(Cell::Missing, |value| cell(scores.unit, value)),
                );
                if self.intervals {
                    row.push(score.interval.map_or(Cell::Missing, |interval| {
                        Cell::Range(
                            Box::new(cell(scores.unit, interval.low)),
                            Box::new(cell(scores.unit, interval.high)),
                        )
                    }));
                }
            }
            row
        });
        Table {
            title: String::new(),
            columns,
            rows: rows.collect(),
            notes: self.notes(),
        }
    }

    fn pairwise_table(&self, pairs: &[Vec<Option<Share>>]) -> Table {
        let names = self.models.iter().map(|model| model.model.clone());
        let rows = pairs.iter().zip(&self.models).map(|(row, model)| {
            let shares = row.iter().map(|share| match share {
                Some(share) => Cell::Text(format!(
                    "{} ({})",
                    Cell::Percent(share.percent).shown(),
                    share.problems
                )),
                None => Cell::Missing,
            });
            std::iter::once(Cell::Text(model.model.clone()))
                .chain(shares)
                .collect()
        });
        Table {
            title: "Normalised runtime in pairs".into(),
            columns: std::iter::once("model".to_string()).chain(names).collect(),
            rows: rows.collect(),
            notes: vec![
                "the row's share of both runtimes, over the problems that both solve (their number); below 50% the \
                 row is faster"
                    .into(),
            ],
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for scores in &self.scores {
            if scores.metric == "normalised-runtime" {
                notes.push(format!(
                    "normalised runtime: share of the models' summed runtimes in {} (less is faster), over {} of {} \
                     problems that all models solve",
                    self.unit.name(),
                    self.population().len(),
                    self.problems
                ));
                if self.models.len() == 1 {
                    notes
                        .push("one model alone always has 100%: name more with `--samples`".into());
                }
                let left_out = self.normalised_left_out();
                for LeftOut { problem, reason } in left_out.iter().take(LEFT_OUT_SHOWN) {
                    notes.push(format!("left out `{problem}`: {reason}"));
                }
                if left_out.len() > LEFT_OUT_SHOWN {
                    notes.push(format!(
                        "and {} problems more are left out; the JSON names them",
                        left_out.len() - LEFT_OUT_SHOWN
                    ));
                }
            } else if !scores.metric.starts_with("pass@") {
                let describe = scores.metric.parse::<Metric>().map_or("", Metric::describe);
                notes.push(format!(
                    "{}: {describe}; {} is better",
                    title(&scores.metric),
                    match scores.direction {
                        Direction::Less => "less",
                        Direction::More => "more",
                    }
                ));
            }
            for score in &scores.models {
                if let Some(refused) = &score.refused {
                    notes.push(format!("no {}: {refused}", title(&scores.metric)));
                } else if !score.left_out.is_empty() {
                    notes.push(format!(
                        "{} of `{}` is over {} of {} problems",
                        title(&scores.metric),
                        score.model,
                        score.problems,
                        self.problems
                    ));
                }
                notes.extend(
                    (score.notes.iter()).map(|note| {
                        format!("{} of `{}`: {note}", title(&scores.metric), score.model)
                    }),
                );
            }
        }
        if self.aggregate != Aggregate::Max {
            notes.push(format!(
                "the runtime of a sample is the {} of its cases",
                self.aggregate.name()
            ));
        }
        let screened: usize = self.models.iter().map(|model| model.screened).sum();
        if screened > 0 {
            notes.push(format!(
                "{screened} rejected samples were rejected on a machine that only counts (screening) and did not run on `{}`",
                self.machine
            ));
        }
        if !self.excluded.is_empty() {
            notes.push(format!("without {}", self.excluded.join(", ")));
        }
        if !self.left_out.is_empty() {
            notes.push(format!(
                "{} cases are left out; the JSON has each with its reason",
                self.left_out.len()
            ));
        }
        notes.extend(
            self.skipped
                .iter()
                .map(|defect| format!("skipped {defect}")),
        );
        notes
    }
}

/// The agreement of orders as a table.
fn stability_table(list: &[Stability]) -> Table {
    let coefficient = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Factor);
    Table {
        title: "Rank stability".into(),
        columns: ["by", "and by", "models", "Kendall tau-b", "Spearman rho"]
            .map(String::from)
            .into(),
        rows: (list.iter())
            .map(|one| {
                vec![
                    Cell::Text(title(&one.a)),
                    Cell::Text(title(&one.b)),
                    Cell::Count(one.models as u64),
                    coefficient(one.kendall),
                    coefficient(one.spearman),
                ]
            })
            .collect(),
        notes: vec!["1: the same order of the models, better first; -1: the reverse".into()],
    }
}

fn title(metric: &str) -> String {
    match metric {
        "normalised-runtime" => "normalised runtime".into(),
        other if other.starts_with("normalised-runtime ") => other.replacen('-', " ", 1),
        other => other.into(),
    }
}

/// A value as a cell.
fn cell(unit: Unit, value: f64) -> Cell {
    match unit {
        Unit::Fraction => Cell::Fraction(value),
        Unit::Percent => Cell::Percent(value),
        Unit::Factor => Cell::Factor(value),
    }
}
