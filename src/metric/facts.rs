//! Facts as metrics see them: outcome and runtime of every sample of every model on every problem.

/// What is known of every sample of every model on every problem, on one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The models, in the order in which values are given.
    pub models: Vec<String>,
    /// The problems, in the order of the data set.
    pub problems: Vec<ProblemFacts>,
    /// The model whose answers are the data set's own solutions, for metrics that compare with them.
    pub reference: Option<usize>,
    /// For each model the one whose answers it was asked to improve; empty where no model has one.
    pub bases: Vec<Option<usize>>,
}

/// What is known of the samples of one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemFacts {
    /// Id of the problem.
    pub id: String,
    /// The samples, by model and in their order.
    pub samples: Vec<Vec<SampleFact>>,
}

/// How a sample ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Right.
    Accepted,
    /// Wrong, or ended by a limit other than that of time.
    Rejected,
    /// Right as far as it came, and ended by the limit of instructions or time.
    TimedOut,
    /// A failure of ours: nothing is known of the sample.
    Unknown,
}

/// What is known of one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleFact {
    /// How it ended.
    pub outcome: Outcome,
    /// Runtime of an accepted sample, aggregated over its cases; `None` if no call was timed.
    pub runtime: Option<f64>,
    /// The longest case of each level that was passed as a whole, easiest first. Data sets without levels have one.
    pub levels: Vec<f64>,
    /// The whole runs.
    pub whole: Whole,
    /// Rejected on another machine, so that nothing of it was timed here, whatever it passed.
    pub screened: bool,
}

/// What the whole runs of a sample took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Whole {
    /// Highest live memory in bytes.
    pub peak_memory: Option<f64>,
    /// Live memory integrated over time.
    pub memory_time: Option<f64>,
}

/// How the runtimes of a sample's cases become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// The longest case (Niu et al. 2024).
    #[default]
    Max,
    /// The mean of the cases (DSEffi-Bench).
    Mean,
    /// The sum of the cases (PIE).
    Sum,
}

impl Aggregate {
    /// The aggregate of these runtimes; `None` of nothing.
    pub fn of(self, cases: &[u64]) -> Option<f64> {
        // u128: thousands of cases of 10^11 cycles do not fit a u64 with certainty, and a sum of floats would round.
        let sum: u128 = cases.iter().map(|&case| u128::from(case)).sum();
        match self {
            Self::Max => cases.iter().max().map(|&longest| longest as f64),
            Self::Mean => (!cases.is_empty()).then(|| sum as f64 / cases.len() as f64),
            Self::Sum => (!cases.is_empty()).then_some(sum as f64),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Sum => "sum",
        }
    }
}

impl std::str::FromStr for Aggregate {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        ([Self::Max, Self::Mean, Self::Sum].into_iter())
            .find(|aggregate| aggregate.name() == name)
            .ok_or_else(|| format!("unknown aggregate `{name}`; it is one of `max`, `mean`, `sum`"))
    }
}

/// A problem that a metric leaves out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// Id of the problem.
    pub problem: String,
    /// Why, with the model.
    pub reason: String,
}

impl SampleFact {
    /// An accepted sample of one level.
    pub fn accepted(runtime: Option<f64>) -> Self {
        Self {
            outcome: Outcome::Accepted,
            runtime,
            levels: runtime.into_iter().collect(),
            whole: Whole::default(),
            screened: false,
        }
    }

    /// A sample that has no runtime.
    pub fn without_runtime(outcome: Outcome) -> Self {
        Self {
            outcome,
            runtime: None,
            levels: Vec::new(),
            whole: Whole::default(),
            screened: false,
        }
    }

    /// Whether it is right.
    pub fn is_accepted(&self) -> bool {
        self.outcome == Outcome::Accepted
    }

    /// Its runtime if it is right.
    pub fn time(&self) -> Option<f64> {
        self.runtime.filter(|_| self.is_accepted())
    }
}

impl Facts {
    /// The same facts with these models only, in this order: metrics of it have another population.
    pub fn only(&self, models: &[usize]) -> Self {
        let place = |old: usize| models.iter().position(|&model| model == old);
        Self {
            models: (models.iter())
                .map(|&model| self.models[model].clone())
                .collect(),
            problems: (self.problems.iter())
                .map(|problem| ProblemFacts {
                    id: problem.id.clone(),
                    samples: (models.iter())
                        .map(|&model| problem.samples[model].clone())
                        .collect(),
                })
                .collect(),
            reference: self.reference.and_then(place),
            bases: (models.iter())
                .map(|&model| self.base(model).and_then(place))
                .collect(),
        }
    }

    /// The model that this one was asked to improve.
    pub fn base(&self, model: usize) -> Option<usize> {
        self.bases.get(model).copied().flatten()
    }

    /// The first accepted sample of a model on a problem, or why there is none.
    pub(super) fn first_accepted(
        samples: &[SampleFact],
    ) -> Result<(&SampleFact, f64), &'static str> {
        let mut unknown = false;
        for sample in samples {
            match sample.outcome {
                // An earlier sample that a failure of ours took away might have been the first accepted one.
                Outcome::Accepted if unknown => {
                    return Err("a failure of ours before the first accepted sample");
                }
                Outcome::Accepted => {
                    let time = sample
                        .runtime
                        .ok_or("no timed call in the accepted sample")?;
                    return Ok((sample, time));
                }
                Outcome::Rejected | Outcome::TimedOut => {}
                Outcome::Unknown => unknown = true,
            }
        }
        Err(match (samples.is_empty(), unknown) {
            (true, _) => "no sample",
            (false, true) => "a failure of ours, and no accepted sample",
            (false, false) => "no accepted sample",
        })
    }
}
