//! Judged, interleaved, repeated runs of entrants on tasks.
use crate::artifact::Artifact;
use crate::backend::Backend;
use crate::dataset::Problem;
use crate::evaluation::{Check, SampleRun};
use crate::measurement::{BackendFailure, Measurement};
use crate::process::Event;
use crate::sim::outcome::Limits;
use crate::stats::SplitMix;
use crate::verdict::Verdict;
use serde::Serialize;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// CPU time in nanoseconds (`native`): of the timed calls of a function, of the whole run of a program.
    CpuTime,
    /// Wall-clock time of the whole run in nanoseconds (`native`).
    WallTime,
    /// Retired instructions; natively in user mode, of the whole run.
    Instructions,
    /// Core cycles; natively in user mode, of the whole run.
    Cycles,
}

impl Quantity {
    /// Name with unit, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuTime => "CPU time [ns]",
            Self::WallTime => "wall time [ns]",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
        }
    }

    /// The host's event that counts it.
    pub fn event(self) -> Option<Event> {
        match self {
            Self::CpuTime | Self::WallTime => None,
            Self::Instructions => Some(Event::Instructions),
            Self::Cycles => Some(Event::Cycles),
        }
    }
}

/// How the values of a task's cases become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// The largest.
    Max,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
}

impl Aggregate {
    fn of(self, values: &[f64]) -> f64 {
        match self {
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Sum => values.iter().sum(),
            Self::Mean => crate::stats::mean(values),
        }
    }
}

/// One of those that are compared on a task.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Name of the model or program.
    pub name: String,
    /// What runs; or why there is nothing to run.
    pub artifact: Result<Artifact, Verdict>,
}

/// A task and its entrants.
#[derive(Clone, Debug)]
pub struct Task {
    /// The problem, which judges every run.
    pub problem: Problem,
    /// The entrants.
    pub entrants: Vec<Entrant>,
}

/// How runs are made.
#[derive(Clone, Debug, Serialize)]
pub struct Protocol {
    /// Timed runs of each entrant on each task.
    pub repetitions: usize,
    /// Runs of each before them, judged but not timed.
    pub warm_up: usize,
    /// Seed of the order.
    pub seed: u64,
    /// What is taken of a run.
    pub quantity: Quantity,
    /// How the cases of a run become one value.
    pub aggregate: Aggregate,
    /// The largest value of a case, in the quantity's unit; a larger one is the verdict "time limit".
    pub case_limit: Option<f64>,
}

/// The runs of one entrant on one task.
#[derive(Clone, Debug, Serialize)]
pub struct EntrantRuns {
    /// Name of the entrant.
    pub name: String,
    /// The verdict: accepted if every run was, else that of the first which was not.
    pub verdict: Verdict,
    /// One value a timed run, in the quantity's unit; empty unless accepted and resolved.
    pub values: Vec<f64>,
    /// The calls of a run together took less than twice what as many empty ones take: their time would be that of the
    /// clock, so there are no values.
    pub unresolved: bool,
}

/// Runs every entrant of every task, round by round: tasks in an order drawn anew, and the entrants of a task one after
/// the other in an order drawn anew, so that a round's runs that are compared are near in time. Gives the runs by task
/// and entrant. `progress` is told the runs made and the runs planned.
///
/// # Errors
/// A failure of ours, or a quantity that the backend does not tell: no measurement is better than another one.
pub fn run_interleaved<B: Backend>(
    tasks: &[Task],
    backend: &B,
    limits: &Limits,
    check: &dyn Check,
    protocol: &Protocol,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Vec<EntrantRuns>>, BackendFailure> {
    let mut runs: Vec<Vec<EntrantRuns>> = (tasks.iter())
        .map(|task| task.entrants.iter().map(EntrantRuns::before).collect())
        .collect();
    let mut order: Vec<(usize, Vec<usize>)> = (tasks.iter().enumerate())
        .map(|(task, it)| (task, (0..it.entrants.len()).collect()))
        .collect();
    let mut random = SplitMix::new(protocol.seed);
    let rounds = protocol.warm_up + protocol.repetitions;
    let planned = rounds * tasks.iter().map(|task| task.entrants.len()).sum::<usize>();
    let mut made = 0;
    for round in 0..rounds {
        random.shuffle(&mut order);
        for (_, entrants) in &mut order {
            random.shuffle(entrants);
        }
        for (task, entrant) in order
            .iter()
            .flat_map(|(task, entrants)| entrants.iter().map(|entrant| (*task, *entrant)))
        {
            progress(made, planned);
            made += 1;
            let this = &mut runs[task][entrant];
            let Ok(artifact) = &tasks[task].entrants[entrant].artifact else {
                continue;
            };
            if !this.verdict.is_accepted() || this.unresolved {
                continue;
            }
            let problem = &tasks[task].problem;
            match once(problem, artifact, backend, limits, check, protocol)? {
                Ok(_) if round < protocol.warm_up => {}
                Ok(Some(value)) => this.values.push(value),
                Ok(None) => {
                    this.unresolved = true;
                    this.values.clear();
                }
                Err(verdict) => {
                    this.verdict = verdict;
                    this.values.clear();
                }
            }
        }
    }
    progress(planned, planned);
    Ok(runs)
}

impl EntrantRuns {
    fn before(entrant: &Entrant) -> Self {
        Self {
            name: entrant.name.clone(),
            verdict: match &entrant.artifact {
                Ok(_) => Verdict::Accepted,
                Err(verdict) => verdict.clone(),
            },
            values: Vec::new(),
            unresolved: false,
        }
    }
}

/// One judged run over all cases: its value, none where the clock does not resolve it, or the verdict that rejects it.
fn once<B: Backend>(
    problem: &Problem,
    artifact: &Artifact,
    backend: &B,
    limits: &Limits,
    check: &dyn Check,
    protocol: &Protocol,
) -> Result<Result<Option<f64>, Verdict>, BackendFailure> {
    let mut values = Vec::new();
    let mut resolved = true;
    let mut untold = None;
    let sample = SampleRun::measure(problem, check, |stdin| {
        let measurement = backend.run(artifact, stdin, limits)?;
        match values_of(&measurement, protocol.quantity) {
            Ok(told) => {
                resolved &= resolves(&measurement, protocol.quantity);
                values.extend(told);
            }
            Err(failure) => untold = Some(failure),
        }
        Ok(measurement)
    });
    if sample.verdict.is_failure_of_ours() {
        return Err(BackendFailure {
            what: format!(
                "a run of `{}` ended as {}: {}",
                problem.id,
                sample.verdict.kind(),
                sample.verdict
            ),
            remedy: "`tickmark evaluate` shows it alone".to_owned(),
        });
    }
    if !sample.verdict.is_accepted() {
        return Ok(Err(sample.verdict));
    }
    if let Some(failure) = untold {
        return Err(failure);
    }
    if values.is_empty() {
        return Ok(Err(Verdict::PrematureExit));
    }
    if (protocol.case_limit).is_some_and(|limit| values.iter().any(|value| *value > limit)) {
        return Ok(Err(Verdict::TimeLimit { case: None }));
    }
    Ok(Ok(resolved.then(|| protocol.aggregate.of(&values))))
}

/// Whether the calls of a native run take long enough beside the clock that times them.
fn resolves(measurement: &Measurement, quantity: Quantity) -> bool {
    let Some((empty, calls)) = measurement.region_cpu_time_ns.split_first() else {
        return true;
    };
    let sum: u64 = calls.iter().sum();
    quantity != Quantity::CpuTime
        || calls.is_empty()
        || sum > empty.saturating_mul(2 * calls.len() as u64)
}

/// What a run gives of a quantity: one value a call for a function, one for a program.
fn values_of(measurement: &Measurement, quantity: Quantity) -> Result<Vec<f64>, BackendFailure> {
    use crate::measurement::BackendName;
    let part = |name: &str| {
        measurement
            .counters
            .parts
            .get(name)
            .map(|&value| vec![value as f64])
    };
    let natively = measurement.backend == BackendName::Native;
    // The first region is empty: what the driver costs.
    let regions = |values: Vec<f64>| -> Option<Vec<f64>> {
        let (baseline, calls) = values.split_first()?;
        Some(
            calls
                .iter()
                .map(|value| (value - baseline).max(1.0))
                .collect(),
        )
    };
    let has_regions = measurement.regions.len() > 1;
    let found = match quantity {
        // The empty region's time is not taken off: it is one noisy reading, and it may exceed a call's.
        Quantity::CpuTime if has_regions && natively => (measurement.region_cpu_time_ns.get(1..))
            .map(|calls| calls.iter().map(|&t| t as f64).collect()),
        Quantity::CpuTime => part("cpu_time_ns"),
        Quantity::WallTime => part("wall_time_ns"),
        Quantity::Instructions | Quantity::Cycles if natively => {
            part(quantity.event().map_or("", Event::name))
        }
        Quantity::Instructions if has_regions => regions(
            measurement
                .regions
                .iter()
                .map(|r| r.instructions as f64)
                .collect(),
        ),
        Quantity::Instructions => Some(vec![measurement.counters.instructions as f64]),
        Quantity::Cycles if has_regions => (measurement.regions.iter())
            .map(|region| region.cycles.map(|cycles| cycles as f64))
            .collect::<Option<Vec<_>>>()
            .and_then(regions),
        Quantity::Cycles => measurement
            .counters
            .cycles
            .map(|cycles| vec![cycles as f64]),
    };
    found.ok_or_else(|| BackendFailure {
        what: format!(
            "{} is not told by this backend and machine ({})",
            quantity.name(),
            measurement.machine
        ),
        remedy: "`tickmark doctor` says which events this host counts and why not; choose another `--metric`"
            .to_owned(),
    })
}
