//! The runner of real evaluations: builds a candidate with the toolchain and runs it on a backend.
use super::{Programs, Runner, SampleRun};
use crate::artifact::{BuildFailure, BuildOptions, ContentHash, Toolchain, build};
use crate::backend::Backend;
use crate::candidate::Candidate;
use crate::dataset::{Form, Language, Problem};
use crate::measurement::BackendFailure;
use crate::sim::outcome::Limits;
use crate::verdict::{JUDGE_VERSION, Verdict};

/// Builds with `toolchain`, runs on `backend`.
#[derive(Debug)]
pub struct BackendRunner<'a, B> {
    backend: &'a B,
    toolchain: &'a Toolchain,
    options: &'a BuildOptions,
    limits: Limits,
    programs: &'a Programs<'a>,
    /// Everything but candidate and problem that decides a result.
    identity: ContentHash,
}

impl<'a, B: Backend> BackendRunner<'a, B> {
    /// A runner for candidates of one language. `programs` runs checkers; `settings` is what else decides results: the effective machine, seed.
    ///
    /// # Errors
    /// The compiler or interpreter is missing.
    pub fn new(
        backend: &'a B,
        toolchain: &'a Toolchain,
        options: &'a BuildOptions,
        language: Language,
        limits: Limits,
        programs: &'a Programs<'a>,
        settings: &str,
    ) -> Result<Self, BackendFailure> {
        let identity = ContentHash::of_parts([
            env!("CARGO_PKG_VERSION").to_owned(),
            format!("{:?} {}", backend.name(), backend.machine()),
            settings.to_owned(),
            toolchain.identity(language, options)?.to_string(),
            format!("{limits:?} {JUDGE_VERSION}"),
        ]);
        Ok(Self {
            backend,
            toolchain,
            options,
            limits,
            programs,
            identity,
        })
    }
}

impl<B: Backend> Runner for BackendRunner<'_, B> {
    fn key(&self, candidate: &Candidate, problem: &Problem) -> String {
        // The length of each part goes into the hash, so that parts cannot run into each other.
        let mut parts: Vec<Vec<u8>> = vec![
            self.identity.to_string().into_bytes(),
            format!("{candidate:?}").into_bytes(),
            format!("{:?}", problem.judging).into_bytes(),
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
        let artifact = match build(candidate, self.toolchain, self.options) {
            Ok(artifact) => artifact,
            Err(failure) => {
                return SampleRun::without_measurement(match failure {
                    BuildFailure::CompileError { text } => Verdict::CompileError { text },
                    BuildFailure::CompileLimit { what } => Verdict::CompileLimit { text: what },
                    BuildFailure::Ours(failure) => failure.into(),
                });
            }
        };
        SampleRun::measure(problem, self.programs, |stdin| {
            self.backend.run(&artifact, stdin, &self.limits)
        })
    }
}
