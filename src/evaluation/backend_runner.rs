//! The runner of real evaluations: builds a candidate with the toolchain and runs it on a backend.
//!
//! What the memory knows is neither built nor run again: a candidate is built when the first job of it is not known.
use super::job::JobKey;
use super::kept::Kept;
use super::memory::{BuildFact, Memory};
use super::programs::Programs;
use super::{Runner, SampleRun};
use crate::artifact::{Artifact, BuildFailure, BuildOptions, ContentHash, Toolchain, build};
use crate::backend::Backend;
use crate::candidate::Candidate;
use crate::dataset::{Form, Language, Problem};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::outcome::{Exit, Limits};
use crate::verdict::{JUDGE_VERSION, Verdict};
use std::cell::{OnceCell, RefCell};

/// How many artifacts are kept for the other machines of a study; a static C++ program has about 2 MB.
const KEPT_ARTIFACTS: usize = 8;

/// Builds candidates of one language, each once for all machines of an evaluation.
#[derive(Debug)]
pub struct Builder<'a> {
    toolchain: &'a Toolchain,
    options: &'a BuildOptions,
    identity: ContentHash,
    kept: Kept<Result<Artifact, BuildFailure>>,
}

impl<'a> Builder<'a> {
    /// A builder with this toolchain.
    ///
    /// # Errors
    /// The compiler or interpreter is missing.
    pub fn new(
        toolchain: &'a Toolchain,
        options: &'a BuildOptions,
        language: Language,
    ) -> Result<Self, BackendFailure> {
        Ok(Self {
            identity: toolchain.identity(language, options)?,
            toolchain,
            options,
            kept: Kept::new(KEPT_ARTIFACTS),
        })
    }

    /// A hash of the candidate and of everything that builds it.
    fn key(&self, candidate: &Candidate) -> String {
        ContentHash::of_parts([
            JobKey::ENGINE.as_bytes(),
            self.identity.to_string().as_bytes(),
            format!("{:?}", self.options).as_bytes(),
            format!("{candidate:?}").as_bytes(),
        ])
        .to_string()
    }

    /// The artifact; one thread builds it while others that need it wait.
    fn build(&self, key: &str, candidate: &Candidate) -> Result<Artifact, BuildFailure> {
        (self.kept).get_or_make(key, || build(candidate, self.toolchain, self.options))
    }
}

/// Builds with a [`Builder`], runs on a backend, remembers both.
#[derive(Debug)]
pub struct BackendRunner<'a, B> {
    backend: &'a B,
    builder: &'a Builder<'a>,
    limits: Limits,
    programs: &'a Programs<'a>,
    memory: &'a Memory<'a>,
    /// The backend with its effective machine and settings.
    place: String,
    repetitions: u32,
}

impl<'a, B: Backend> BackendRunner<'a, B> {
    /// A runner on one backend. `programs` runs checkers; `settings` is what else decides results: the effective machine,
    /// the seed.
    pub fn new(
        backend: &'a B,
        builder: &'a Builder<'a>,
        limits: Limits,
        programs: &'a Programs<'a>,
        settings: &str,
        memory: &'a Memory<'a>,
    ) -> Self {
        Self {
            place: format!("{:?} {} {settings}", backend.name(), backend.machine()),
            backend,
            builder,
            limits,
            programs,
            memory,
            repetitions: 1,
        }
    }

    /// The same, running each case this often and taking the mean of the times. On a backend whose runs are equal, one
    /// run stands for all.
    pub fn repeated(self, repetitions: u32) -> Self {
        let repetitions = match self.backend.name() {
            BackendName::Native => repetitions.max(1),
            _ => 1,
        };
        Self {
            repetitions,
            ..self
        }
    }

    /// Name of the machine.
    pub fn machine(&self) -> &str {
        self.backend.machine()
    }

    /// How many runs a case has.
    pub fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// One run of a job, from memory if it is known there.
    fn measured(
        &self,
        job: &JobKey<'_>,
        artifact: impl FnOnce() -> Result<Artifact, BackendFailure>,
        jobs: &RefCell<Vec<String>>,
    ) -> Result<Measurement, BackendFailure> {
        let key = job.hash();
        let known = self.memory.measurement(&key);
        jobs.borrow_mut().push(key.clone());
        if let Some(measurement) = known {
            return Ok(measurement);
        }
        let measurement = self.backend.run(&artifact()?, job.stdin, &self.limits)?;
        // What the host's clock or a gap of the simulator ended is tried again.
        if !matches!(
            measurement.exit,
            Exit::WallClock
                | Exit::Paused
                | Exit::UnsupportedInstruction { .. }
                | Exit::UnsupportedSyscall { .. }
        ) {
            self.memory.keep_measurement(&key, &measurement);
        }
        Ok(measurement)
    }
}

impl<B: Backend> Runner for BackendRunner<'_, B> {
    fn key(&self, candidate: &Candidate, problem: &Problem) -> String {
        // The length of each part goes into the hash, so that parts cannot run into each other.
        let mut parts: Vec<Vec<u8>> = vec![
            self.builder.key(candidate).into_bytes(),
            env!("TICKMARK_JUDGE").into(),
            format!(
                "{} {:?} {:?} {JUDGE_VERSION} {}",
                self.place, self.limits, problem.judging, self.repetitions
            )
            .into_bytes(),
        ];
        if let Form::Calls(calls) = &problem.form {
            parts.push(calls.input());
            for case in &calls.cases {
                let answers = case.expected.as_ref().map(|expected| &expected.answers);
                parts.push(format!("{} {answers:?}", case.name).into_bytes());
            }
        }
        if let Form::Program { cases } = &problem.form {
            for case in cases {
                parts.push(case.name.clone().into_bytes());
                parts.push(case.stdin.to_vec());
                parts.push(case.expected.to_vec());
                parts.extend(case.alternatives.iter().map(|other| other.to_vec()));
            }
        }
        ContentHash::of_parts(parts).to_string()
    }

    fn run(&self, candidate: &Candidate, problem: &Problem) -> SampleRun {
        let build_key = self.builder.key(candidate);
        let refused = |verdict: Verdict| SampleRun {
            build: build_key.clone(),
            ..SampleRun::without_measurement(verdict)
        };
        let artifact: OnceCell<Artifact> = OnceCell::new();
        let identity = match self.memory.build(&build_key) {
            Some(BuildFact::Refused(verdict)) => return refused(verdict),
            Some(BuildFact::Artifact(identity)) => identity,
            None => match self.builder.build(&build_key, candidate) {
                Ok(built) => {
                    let identity = built.content_hash();
                    self.memory
                        .keep_build(&build_key, &BuildFact::Artifact(identity));
                    artifact.get_or_init(|| built);
                    identity
                }
                Err(BuildFailure::Ours(failure)) => {
                    return SampleRun::without_measurement(failure.into());
                }
                Err(BuildFailure::CompileError { text }) => {
                    let verdict = Verdict::CompileError { text };
                    self.memory
                        .keep_build(&build_key, &BuildFact::Refused(verdict.clone()));
                    return refused(verdict);
                }
                Err(BuildFailure::CompileLimit { what }) => {
                    let verdict = Verdict::CompileLimit { text: what };
                    // A limit of time depends on the host, so it is not kept.
                    return refused(verdict);
                }
            },
        };
        // Needed only where a job is not known: what was built in an earlier evaluation is built again then.
        let needed = || {
            if let Some(artifact) = artifact.get() {
                return Ok(artifact.clone());
            }
            let built =
                (self.builder.build(&build_key, candidate)).map_err(|failure| BackendFailure {
                    what: format!("building again gave another result: {failure}"),
                    remedy: "check the compiler; `tickmark store prune` forgets the earlier build"
                        .into(),
                })?;
            if built.content_hash() != identity {
                let what = format!(
                    "the artifact `{}` of the build `{build_key}` differs from the one that is stored",
                    built.content_hash()
                );
                self.memory.alarm(what.clone());
                return Err(BackendFailure {
                    what,
                    remedy: "check that the compiler gives the same bytes twice".into(),
                });
            }
            Ok(artifact.get_or_init(|| built).clone())
        };
        let jobs = RefCell::new(Vec::new());
        let mut sample = SampleRun::measure(problem, self.programs, |stdin| {
            let mut runs = Vec::new();
            for repetition in 0..self.repetitions {
                let job = JobKey {
                    artifact: identity,
                    stdin,
                    backend: &self.place,
                    limits: &self.limits,
                    repetition,
                };
                runs.push(self.measured(&job, needed, &jobs)?);
            }
            Ok(merged(runs))
        });
        sample.build = build_key;
        sample.jobs = jobs.into_inner();
        sample
    }
}

/// Repeated runs as one: the mean of their CPU times. A run that ended or wrote otherwise than the first stands alone,
/// so that it is judged.
fn merged(mut runs: Vec<Measurement>) -> Measurement {
    let mut first = runs.swap_remove(0);
    if let Some(other) = runs.iter().position(|run| {
        run.exit != first.exit
            || run.stdout != first.stdout
            || run.messages != first.messages
            || run.region_cpu_time_ns.len() != first.region_cpu_time_ns.len()
    }) {
        return runs.swap_remove(other);
    }
    let count = runs.len() as u128 + 1;
    let mean = |own: u64, others: &mut dyn Iterator<Item = u64>| {
        let sum = u128::from(own) + others.map(u128::from).sum::<u128>();
        u64::try_from((sum + count / 2) / count).unwrap_or(u64::MAX)
    };
    for index in 0..first.region_cpu_time_ns.len() {
        let own = first.region_cpu_time_ns[index];
        first.region_cpu_time_ns[index] = mean(
            own,
            &mut runs.iter().map(|run| run.region_cpu_time_ns[index]),
        );
    }
    for (name, value) in &mut first.counters.parts {
        let others = runs.iter().map(|run| run.counters.parts.get(name));
        *value = mean(*value, &mut others.map(|other| other.copied().unwrap_or(0)));
    }
    first
}
