//! The programs of a data set, run in the simulator on a machine that only counts: checkers, references, generators.
use super::kept::Kept;
use crate::artifact::{Artifact, BuildFailure, BuildOptions, ContentHash, Toolchain, build};
use crate::backend::Backend;
use crate::backend::sim::{Options, Sim};
use crate::candidate::Candidate;
use crate::dataset::{Call, Calls, Language, TestCase, Value};
use crate::measurement::{BackendFailure, Measurement};
use crate::sim::machine::catalog;
use crate::sim::outcome::{Exit, Limits};
use crate::verdict::{Checker, Difference, Results, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Whatever the seed of the evaluation, these programs get the same one.
const SEED: u64 = 1;
/// Longest run on the host.
const WALL_CLOCK: Duration = Duration::from_secs(3600);

/// One result for a checker.
#[derive(Clone, Debug)]
pub struct Checked {
    name: String,
    input: Vec<u8>,
    expected: Vec<u8>,
    got: Vec<u8>,
}

impl Checked {
    /// The output of a program.
    pub(super) fn of_program(case: &TestCase, measurement: &Measurement) -> Self {
        Self {
            name: case.name.clone(),
            input: case.stdin.to_vec(),
            expected: case.expected.to_vec(),
            got: measurement.stdout.clone(),
        }
    }

    /// The results of calls.
    pub(super) fn of_calls(calls: &Calls, results: &Results) -> Vec<Self> {
        let expected = |case: &Call| {
            let answer = case.expected.as_ref().and_then(|e| e.answers.first());
            answer.map_or(String::new(), Value::to_string).into_bytes()
        };
        (calls.cases.iter().zip(&results.texts))
            .map(|(case, text)| Self {
                name: case.name.clone(),
                input: case.arguments.as_bytes().to_vec(),
                expected: expected(case),
                got: text.clone().into_bytes(),
            })
            .collect()
    }
}

/// What asks a checker.
pub trait Check: Sync {
    /// `otherwise` where every result is right; the verdict of the first wrong one else.
    fn judge(&self, checker: &Checker, results: &[Checked], otherwise: Verdict) -> Verdict;
}

/// Builds and runs the programs of a data set.
#[derive(Debug)]
pub struct Programs<'a> {
    toolchain: &'a Toolchain,
    sim: Sim,
    options: BuildOptions,
    built: Mutex<BTreeMap<ContentHash, Arc<Artifact>>>,
    /// What checkers said: the repetitions of a run have the same results mostly.
    said: Kept<Result<Arc<str>, BackendFailure>>,
}

/// Answers of checkers that are kept.
const MOST_SAID: usize = 1024;

impl<'a> Programs<'a> {
    /// With byte code of the standard library kept in `cache`.
    ///
    /// # Errors
    /// The catalogue has no machine that only counts: a fault of ours.
    pub fn new(toolchain: &'a Toolchain, cache: &Path) -> Result<Self, BackendFailure> {
        let machine = catalog::machine("atomic").map_err(|error| BackendFailure {
            what: format!("the machine `atomic` cannot be read: {error}"),
            remedy: "report this as a fault of tickmark".into(),
        })?;
        Ok(Self {
            toolchain,
            sim: Sim::new(Options {
                machine,
                snapshots: true,
                seed: SEED,
                wall_clock: WALL_CLOCK,
                cache: cache.to_owned(),
                roots: Vec::new(),
            }),
            options: BuildOptions::default(),
            built: Mutex::default(),
            said: Kept::new(MOST_SAID),
        })
    }

    /// The toolchain that builds them.
    pub(super) fn toolchain(&self) -> &Toolchain {
        self.toolchain
    }

    /// Runs a candidate on an input.
    pub(super) fn run(
        &self,
        candidate: &Candidate,
        input: &[u8],
    ) -> Result<Measurement, BackendFailure> {
        let key = ContentHash::of(format!("{candidate:?}").as_bytes());
        let known = self.lock().get(&key).cloned();
        let artifact = match known {
            Some(artifact) => artifact,
            None => {
                let built =
                    build(candidate, self.toolchain, &self.options).map_err(
                        |failure| match failure {
                            BuildFailure::Ours(failure) => failure,
                            BuildFailure::CompileError { text } => failure_of(&text),
                            BuildFailure::CompileLimit { what } => failure_of(&what),
                        },
                    )?;
                let built = Arc::new(built);
                self.lock().insert(key, built.clone());
                built
            }
        };
        self.sim.run(&artifact, input, &Limits::default())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ContentHash, Arc<Artifact>>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a program to its end and gives its standard output.
    pub(super) fn output(
        &self,
        language: Language,
        source: &str,
        input: &[u8],
    ) -> Result<Vec<u8>, BackendFailure> {
        let source = source.to_owned();
        let candidate = match language {
            Language::Cpp => Candidate::CppProgram { source },
            Language::Python => Candidate::PythonProgram { source },
        };
        let run = self.run(&candidate, input)?;
        if run.exit == (Exit::Exited { code: 0 }) {
            return Ok(run.stdout);
        }
        let said = String::from_utf8_lossy(&run.stderr);
        let last = said.trim_end().lines().last().unwrap_or_default();
        Err(failure_of(&format!("it ended with {:?}: {last}", run.exit)))
    }
}

fn failure_of(text: &str) -> BackendFailure {
    let line = text.lines().find(|line| !line.trim().is_empty());
    BackendFailure {
        what: format!(
            "a program of the data set cannot be used: {}",
            line.unwrap_or_default()
        ),
        remedy: "correct the data set's checker, generator or reference".into(),
    }
}

impl Check for Programs<'_> {
    fn judge(&self, checker: &Checker, results: &[Checked], otherwise: Verdict) -> Verdict {
        if results.is_empty() {
            return otherwise;
        }
        let mut input = Vec::new();
        for result in results {
            let parts = [&result.input, &result.expected, &result.got];
            let sizes = parts.map(|part| part.len().to_string()).join(" ");
            input.extend_from_slice(sizes.as_bytes());
            input.push(b'\n');
            for part in parts {
                input.extend_from_slice(part);
            }
            input.push(b'\n');
        }
        let language = format!("{:?}", checker.language).into_bytes();
        let key =
            ContentHash::of_parts([language, checker.source.clone().into_bytes(), input.clone()]);
        let said = self.said.get_or_make(&key.to_string(), || {
            let bytes = self.output(checker.language, &checker.source, &input)?;
            Ok(String::from_utf8_lossy(&bytes).into())
        });
        let said = match said {
            Ok(said) => said,
            Err(failure) => return failure.into(),
        };
        let lines: Vec<&str> = said.lines().collect();
        if lines.len() != results.len() {
            return failure_of(&format!(
                "the checker gave {} verdicts for {} results",
                lines.len(),
                results.len()
            ))
            .into();
        }
        for (line, result) in lines.into_iter().zip(results) {
            let (word, reason) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            match word {
                "accepted" => {}
                "wrong" => {
                    let got = String::from_utf8_lossy(&result.got);
                    return Verdict::WrongAnswer {
                        case: result.name.clone(),
                        difference: Difference {
                            line: 1,
                            expected: (!reason.is_empty()).then(|| reason.to_owned()),
                            got: Some(got.chars().take(200).collect()),
                        },
                    };
                }
                other => {
                    return failure_of(&format!("the checker said `{other}`")).into();
                }
            }
        }
        otherwise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(input: &str, got: &str) -> Checked {
        Checked {
            name: input.into(),
            input: input.into(),
            expected: b"any".to_vec(),
            got: got.into(),
        }
    }

    /// Reads cases as docs/judging.md says and accepts a divisor of the input.
    const DIVISOR: &str = "
import sys
data = sys.stdin.buffer
while True:
    line = data.readline()
    if not line:
        break
    given, expected, got = [data.read(int(size)) for size in line.split()]
    data.readline()
    try:
        print('accepted' if int(given) % int(got) == 0 else 'wrong no divisor')
    except ValueError:
        print('wrong no number')
";

    #[test]
    fn a_checker_runs_in_the_simulator_and_its_failures_are_ours() {
        let toolchain = Toolchain::default();
        let folder = std::env::temp_dir().join(format!("tickmark-checker-{}", std::process::id()));
        let programs = Programs::new(&toolchain, &folder).unwrap();
        let judge = |source: &str, results: &[Checked]| {
            let checker = Checker {
                language: Language::Python,
                source: source.into(),
            };
            programs.judge(&checker, results, Verdict::Accepted)
        };
        let right = [checked("12", "4"), checked("9", "3")];
        assert_eq!(judge(DIVISOR, &right), Verdict::Accepted);
        let Verdict::WrongAnswer { case, difference } =
            judge(DIVISOR, &[checked("12", "4"), checked("10", "4")])
        else {
            panic!("not wrong");
        };
        assert_eq!(
            (case.as_str(), difference.expected.as_deref()),
            ("10", Some("no divisor"))
        );
        assert_eq!(
            judge(DIVISOR, &[checked("1", "1\nx")]).kind(),
            "wrong_answer"
        );
        assert!(judge("print('accepted')", &right).is_failure_of_ours());
        assert!(judge("1/0", &right).is_failure_of_ours());
        assert!(judge("print('maybe')\nprint('maybe')", &right).is_failure_of_ours());
        let _ = std::fs::remove_dir_all(&folder);
    }
}
