//! The plan: which samples of which models are evaluated on which problems.
use crate::candidate::Answer;
use crate::dataset::{Defect, Problem};
use crate::metric::{Aggregate, Metric, Settings};
use std::collections::BTreeMap;

/// What to evaluate.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Name of the study in the store.
    pub name: String,
    /// The problems, in the order of the data set.
    pub problems: Vec<Problem>,
    /// Problems of the data set that cannot be used; the summary names them.
    pub skipped: Vec<Defect>,
    /// Cases of the problems that are left out, and why.
    pub left_out: Vec<Defect>,
    /// The models, in the order in which results name them.
    pub models: Vec<Model>,
    /// What is computed of the results.
    pub report: ReportOptions,
    /// Worker threads; `None` takes one a processor. The result is the same.
    pub threads: Option<usize>,
    /// What identifies backend, machine, toolchain and settings; stands in the summary as it is.
    pub provenance: serde_json::Map<String, serde_json::Value>,
}

/// A model and its answers.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Its name in results.
    pub name: String,
    /// Name of the model whose answers these were to improve.
    pub base: Option<String>,
    /// Answers by problem id, in the order in which they are numbered.
    pub answers: BTreeMap<String, Vec<Answer>>,
}

/// What is computed of results, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportOptions {
    /// The metrics, in the order of the table's columns.
    pub metrics: Vec<Metric>,
    /// How the runtimes of cases become one.
    pub aggregate: Aggregate,
    /// Models that leave the population.
    pub exclude: Vec<String>,
    /// The model that is the reference; `canonical` where it is one of the models.
    pub reference: Option<String>,
    /// Table of normalised runtimes in pairs.
    pub pairwise: bool,
    /// Table of rank correlations between the metrics and between the machines.
    pub stability: bool,
    /// Intervals in tables; the JSON always has them.
    pub intervals: bool,
    /// What the metrics need.
    pub settings: Settings,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            metrics: vec![Metric::PassAtK(1), Metric::NormalisedRuntime],
            aggregate: Aggregate::Max,
            exclude: Vec::new(),
            reference: None,
            pairwise: false,
            stability: false,
            intervals: false,
            settings: Settings::default(),
        }
    }
}
