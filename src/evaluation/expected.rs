//! Expected results that the files do not have: from the data set's own solution, or from what candidates agree on.
//!
//! - Reference: the solution is run in the simulator; a case on which it fails is left out, and said so.
//! - Agreement: the candidates are run; a result that most of those that gave one gave, and at least two, is right. A
//!   case without such a result is left out.
//!
//! A generator's cases come first. Whatever the machine of the evaluation, these runs only count, so that their results
//! are the same for all machines.
use super::programs::Programs;
use crate::artifact::ContentHash;
use crate::candidate::{Answer, Candidate, assemble};
use crate::dataset::{
    Call, Calls, Defect, Expected, ExpectedSource, Form, Language, Loaded, Problem, Value,
};
use crate::measurement::BackendFailure;
use crate::verdict::{Judging, Results, ValueRules, values_equal};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most cases of a problem that a failing solution may cost, each a run of its own.
const FAILING_MAX: usize = 40;

/// Who says what is right where the files do not.
#[derive(Clone, Debug)]
pub enum Authority {
    /// The data set's own solutions.
    Reference,
    /// Candidates: the first answer of each model, by problem id.
    Agreement(BTreeMap<String, Vec<Answer>>),
}

/// Finds expected results, keeping what runs gave in a folder.
#[derive(Debug)]
pub struct Completion<'a> {
    programs: &'a Programs<'a>,
    cache: Option<PathBuf>,
}

impl<'a> Completion<'a> {
    /// With runs kept under `cache`.
    pub fn new(programs: &'a Programs<'a>, cache: Option<PathBuf>) -> Self {
        Self { programs, cache }
    }

    /// Completes every problem. One that cannot be completed goes to the skipped; a case that is left out is told.
    /// `progress` is told how many of the incomplete problems are done, and their number.
    pub fn complete(
        &self,
        loaded: Loaded,
        authority: &Authority,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> (Loaded, Vec<Defect>) {
        let incomplete = |problem: &Problem| match &problem.form {
            Form::Calls(calls) => calls.is_incomplete(),
            _ => false,
        };
        let planned = loaded.problems.iter().filter(|p| incomplete(p)).count();
        let done = AtomicUsize::new(0);
        let problems: Vec<_> = (loaded.problems.into_par_iter())
            .map(|problem| {
                let counts = incomplete(&problem);
                let outcome = self.problem(problem, authority);
                if counts {
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, planned);
                }
                outcome
            })
            .collect();
        let mut complete = Loaded {
            problems: Vec::new(),
            skipped: loaded.skipped,
            left_out: loaded.left_out,
            bounds: loaded.bounds,
        };
        let mut left_out = Vec::new();
        for outcome in problems {
            match outcome {
                Ok((problem, defects)) => {
                    complete.problems.push(problem);
                    left_out.extend(defects);
                }
                Err(defect) => complete.skipped.push(*defect),
            }
        }
        (complete, left_out)
    }

    fn problem(
        &self,
        mut problem: Problem,
        authority: &Authority,
    ) -> Result<(Problem, Vec<Defect>), Box<Defect>> {
        let Form::Calls(calls) = &problem.form else {
            return Ok((problem, Vec::new()));
        };
        if !calls.is_incomplete() {
            return Ok((problem, Vec::new()));
        }
        let id = problem.id.clone();
        let defect = |reason: String, remedy: &str| {
            Box::new(Defect::of_file("expected results", reason, remedy).of_problem(&id))
        };
        let failed = |failure: BackendFailure| defect(failure.what.clone(), &failure.remedy);
        let mut calls = calls.clone();
        if let Some(generator) = calls.generator.take() {
            let text = self.generated(&generator.source).map_err(failed)?;
            let mut names = generator.names.into_iter();
            for line in text.lines() {
                let number = calls.cases.len() + 1;
                calls.cases.push(Call {
                    name: names.next().unwrap_or_else(|| number.to_string()),
                    arguments: line.into(),
                    expected: None,
                });
            }
        }
        problem.form = Form::Calls(calls);
        let answers: Vec<Answer> = match authority {
            Authority::Reference => {
                let solution = problem.canonical.clone().ok_or_else(|| {
                    defect(
                        "the file has neither expected results nor a solution".into(),
                        "take what candidates agree on: `--expected agreement`",
                    )
                })?;
                vec![Answer::Completion(solution)]
            }
            Authority::Agreement(answers) => answers.get(&id).cloned().unwrap_or_default(),
        };
        let candidates: Vec<Candidate> = (answers.iter())
            .filter_map(|answer| assemble(&problem, answer))
            .collect();
        let Form::Calls(calls) = &mut problem.form else {
            return Err(defect("is no problem of calls".into(), "report this"));
        };
        let judging = problem.judging.clone();
        let mut told: Vec<Vec<Value>> = vec![Vec::new(); calls.cases.len()];
        for candidate in &candidates {
            let results = self.results(candidate, calls).map_err(failed)?;
            for (told, value) in told.iter_mut().zip(results) {
                told.extend(value);
            }
        }
        let agreement = matches!(authority, Authority::Agreement(_));
        let mut defects = Vec::new();
        let mut told = told.into_iter();
        calls.cases.retain_mut(|case| {
            let values = told.next().unwrap_or_default();
            if case.expected.is_some() {
                return true;
            }
            case.expected = if agreement {
                agreed(values, &judging)
            } else {
                values.into_iter().next().map(|value| Expected {
                    answers: vec![value],
                    source: ExpectedSource::Reference,
                })
            };
            if case.expected.is_none() {
                let reason = if agreement {
                    "candidates do not agree on its result"
                } else {
                    "the data set's own solution gives no result"
                };
                let reason = format!("case {}: {reason}", case.name);
                defects.push(*defect(reason, "the case is left out"));
            }
            case.expected.is_some()
        });
        if calls.cases.is_empty() {
            let reason = "no case has an expected result";
            return Err(defect(reason.into(), "correct the solution or the inputs"));
        }
        Ok((problem, defects))
    }

    fn generated(&self, source: &str) -> Result<String, BackendFailure> {
        let identity = self.identity(Language::Python)?;
        self.kept(
            &ContentHash::of_parts(["generator", &identity, source]),
            || {
                let bytes = self.programs.output(Language::Python, source, b"")?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            },
        )
    }

    fn identity(&self, language: Language) -> Result<String, BackendFailure> {
        let options = crate::artifact::BuildOptions::default();
        let toolchain = self.programs.toolchain().identity(language, &options)?;
        Ok(format!("{} {toolchain}", env!("CARGO_PKG_VERSION")))
    }

    /// What a candidate gives for each case; `None` where it fails.
    fn results(
        &self,
        candidate: &Candidate,
        calls: &Calls,
    ) -> Result<Vec<Option<Value>>, BackendFailure> {
        let language = match candidate {
            Candidate::CppCalls { .. } => Language::Cpp,
            _ => Language::Python,
        };
        let identity = self.identity(language)?;
        let input = calls.input();
        let key = ContentHash::of_parts([
            identity.as_bytes(),
            format!("{candidate:?}").as_bytes(),
            &input,
        ]);
        let text = self.kept(&key, || self.run_all(candidate, calls))?;
        let mut values: Vec<_> = (text.lines()).map(|line| Value::parse(line).ok()).collect();
        values.resize(calls.cases.len(), None);
        Ok(values)
    }

    /// A line a case: the result as text; empty where there is none.
    fn run_all(&self, candidate: &Candidate, calls: &Calls) -> Result<String, BackendFailure> {
        let mut lines = Vec::new();
        let mut left = calls.clone();
        for _ in 0..=FAILING_MAX {
            let run = self.programs.run(candidate, &left.input())?;
            let results = Results::of(&run);
            let given = results.texts.len().min(left.cases.len());
            lines.extend(results.texts.into_iter().take(given));
            left.cases.drain(..given);
            if left.cases.is_empty() {
                break;
            }
            // The run ended in this case.
            left.cases.remove(0);
            lines.push(String::new());
            if left.cases.is_empty() {
                break;
            }
        }
        let mut text = lines.join("\n");
        text.push('\n');
        Ok(text)
    }

    /// A text that is kept under its key: the simulator would give it again.
    fn kept(
        &self,
        key: &ContentHash,
        make: impl FnOnce() -> Result<String, BackendFailure>,
    ) -> Result<String, BackendFailure> {
        let path = (self.cache.as_ref()).map(|folder| folder.join(format!("{key}.txt")));
        if let Some(text) = path.as_ref().and_then(|p| std::fs::read_to_string(p).ok()) {
            return Ok(text);
        }
        let text = make()?;
        if let Some(path) = path {
            // A cache that cannot be written costs time only.
            let _ = keep(&path, &text);
        }
        Ok(text)
    }
}

/// Writes a file as a whole or not at all.
fn keep(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, path)
}

/// The value that most gave, and at least two; `None` where there is none.
fn agreed(values: Vec<Value>, judging: &Judging) -> Option<Expected> {
    let rules = match judging {
        Judging::Values(rules) => *rules,
        _ => ValueRules::PYTHON,
    };
    let of = values.len();
    let votes = |value: &Value| {
        (values.iter())
            .filter(|other| values_equal(value, other, &rules))
            .count()
    };
    let best = (values.iter())
        .map(|value| (votes(value), value))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let agreeing = best.0;
    (agreeing >= 2 && 2 * agreeing > of).then(|| Expected {
        answers: vec![best.1.clone()],
        source: ExpectedSource::Agreement { agreeing, of },
    })
}

/// How many cases have their expected result from where; for the record of an evaluation.
pub fn sources(problems: &[Problem]) -> BTreeMap<&'static str, usize> {
    let mut found = BTreeMap::new();
    for problem in problems {
        let Form::Calls(calls) = &problem.form else {
            continue;
        };
        for expected in calls.cases.iter().filter_map(|case| case.expected.as_ref()) {
            let name = match expected.source {
                ExpectedSource::DataSet => "data-set",
                ExpectedSource::Reference => "reference",
                ExpectedSource::Agreement { .. } => "agreement",
            };
            *found.entry(name).or_default() += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Toolchain;
    use crate::dataset::{Generator, Target};

    fn problem(canonical: Option<&str>) -> Problem {
        let case = |name: &str, arguments: &str| Call {
            name: name.into(),
            arguments: arguments.into(),
            expected: None,
        };
        Problem {
            id: "p".into(),
            language: Language::Python,
            form: Form::Calls(Calls {
                target: Target::Function("f".into()),
                prompt: "def f(a):\n".into(),
                preface: String::new(),
                template: None,
                cases: vec![case("1", "[3]"), case("2", "[0]"), case("3", "[(1, 2)]")],
                generator: Some(Generator {
                    source: "for n in range(4, 6): print([n])".into(),
                    names: vec!["L1.0".into()],
                }),
            }),
            canonical: canonical.map(str::to_owned),
            judging: Judging::Values(ValueRules::PYTHON),
        }
    }

    fn complete(problem: Problem, authority: &Authority) -> (Loaded, Vec<Defect>) {
        let toolchain = Toolchain::default();
        let folder = std::env::temp_dir().join(format!("tickmark-expected-{}", std::process::id()));
        let programs = Programs::new(&toolchain, &folder).unwrap();
        let loaded = Loaded {
            problems: vec![problem],
            ..Loaded::default()
        };
        Completion::new(&programs, None).complete(loaded, authority, &|_, _| {})
    }

    fn expected(loaded: &Loaded) -> Vec<(String, String)> {
        let Form::Calls(calls) = &loaded.problems[0].form else {
            panic!("no calls");
        };
        (calls.cases.iter())
            .map(|case| {
                let expected = case.expected.as_ref().unwrap();
                (
                    case.name.clone(),
                    format!("{} {:?}", expected.answers[0], expected.source),
                )
            })
            .collect()
    }

    #[test]
    fn the_reference_tells_what_is_right_and_cases_on_which_it_fails_are_left_out() {
        let solution = "    return (12 // a, {a}) if a != (1, 2) else None\n";
        let (loaded, left_out) = complete(problem(Some(solution)), &Authority::Reference);
        let found = expected(&loaded);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["1", "3", "L1.0", "5"]);
        assert_eq!(found[0].1, "(4, {3}) Reference");
        assert_eq!(found[1].1, "None Reference");
        assert_eq!(left_out.len(), 1);
        assert!(left_out[0].to_string().contains("case 2"));
        let (loaded, _) = complete(problem(None), &Authority::Reference);
        assert!(loaded.problems.is_empty() && loaded.skipped.len() == 1);
    }

    #[test]
    fn what_most_candidates_give_is_right() {
        let answers = [
            "    return 1 if a else 2",
            "    return 1",
            "    return a and 1.0",
        ]
        .map(|text| Answer::Completion(text.into()))
        .to_vec();
        let authority = Authority::Agreement(BTreeMap::from([("p".to_owned(), answers)]));
        let (loaded, left_out) = complete(problem(None), &authority);
        let found = expected(&loaded);
        assert_eq!(found[0].1, "1 Agreement { agreeing: 3, of: 3 }");
        // 2, 1 and 0: nobody agrees.
        assert!(found.iter().all(|(name, _)| name != "2"));
        assert_eq!(left_out.len(), 1);
    }
}
