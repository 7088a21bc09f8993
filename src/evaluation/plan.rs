//! The plan: which samples of which models are evaluated on which problems.
use crate::candidate::Answer;
use crate::dataset::{Defect, Problem};
use std::collections::BTreeMap;

/// What to evaluate.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The problems, in the order of the data set.
    pub problems: Vec<Problem>,
    /// Problems of the data set that cannot be used; the summary names them.
    pub skipped: Vec<Defect>,
    /// The models, in the order in which results name them.
    pub models: Vec<Model>,
    /// The k of pass@k; 1 is always there.
    pub ks: Vec<usize>,
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
    /// Answers by problem id, in the order in which they are numbered.
    pub answers: BTreeMap<String, Vec<Answer>>,
}
