//! Metrics: numbers with unit, population and what they leave out, from verdicts and runtimes.
//!
//! A metric takes [`Facts`] and gives values; it never asks where they come from. What leaves a population is named
//! with its reason.
mod normalised_runtime;
mod pass_at_k;

pub use normalised_runtime::{NormalisedRuntime, normalised_runtime};
pub use pass_at_k::{PassAtK, PassAtKRefusal, estimate, pass_at_k};

/// What is known of every sample of every model on every problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The models, in the order in which values are given.
    pub models: Vec<String>,
    /// The problems, in the order of the data set.
    pub problems: Vec<ProblemFacts>,
}

/// What is known of the samples of one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemFacts {
    /// Id of the problem.
    pub id: String,
    /// The outcomes of the samples, by model and in the order of the samples.
    pub samples: Vec<Vec<SampleFact>>,
}

/// What is known of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFact {
    /// Accepted, with its runtime in the unit of the population; without one if no call was timed.
    Accepted(Option<u64>),
    /// Not accepted.
    Rejected,
    /// A failure of ours: nothing is known of the sample.
    Unknown,
}

/// A problem that a metric leaves out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// Id of the problem.
    pub problem: String,
    /// Why, with the model.
    pub reason: String,
}
