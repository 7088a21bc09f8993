//! `tickmark datasets`: the data sets, or what of one's files can be used.
use super::args::{DatasetsArgs, DatasetsCheckArgs, DatasetsCommand};
use super::error::CliError;
use super::evaluate::{dataset_form, language};
use super::{Status, print_data};
use crate::artifact::{BuildFailure, BuildOptions, Toolchain, build};
use crate::candidate::{Answer, assemble};
use crate::dataset::{self, Defect, Form, Loaded, Problem, Statements, catalogue};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::json;
use std::fmt::Write;

pub(super) fn datasets(args: &DatasetsArgs) -> Result<Status, CliError> {
    match &args.command {
        Some(DatasetsCommand::Check(check_args)) => check(check_args),
        None => list(args.json),
    }
}

fn list(as_json: bool) -> Result<Status, CliError> {
    let mut text = String::new();
    for entry in catalogue::ENTRIES {
        let facts = [
            ("languages", entry.languages),
            ("files", entry.files),
            ("judged by", entry.judging),
            ("citation", entry.citation),
            ("licence", entry.licence),
            ("obtain", entry.obtain),
        ];
        // Writing to a string cannot fail.
        if as_json {
            let mut object = json!({"name": entry.form.name(), "what": entry.what});
            for (name, value) in facts {
                object[name.replace(' ', "_")] = value.into();
            }
            let _ = writeln!(text, "{object}");
        } else {
            let _ = writeln!(text, "{}: {}", entry.form.name(), entry.what);
            for (name, value) in facts {
                let _ = writeln!(text, "    {name:<10} {value}");
            }
        }
    }
    print_data(text)?;
    Ok(Status::Success)
}

/// What was found in the files.
struct Check {
    loaded: Loaded,
    cases: usize,
    without_expected: usize,
    solutions: usize,
    /// Problems whose driver was built from the template, and why the others were not.
    built: Option<(usize, Vec<(String, String)>)>,
}

fn check(args: &DatasetsCheckArgs) -> Result<Status, CliError> {
    let form = dataset_form(&args.name)?;
    let language = language(&args.language)?;
    let statements = Statements::of(&args.statements)?;
    let loaded = match dataset::load_with(form, &args.files, language, &statements) {
        Ok(loaded) => loaded,
        // A file without a usable problem still has its reasons told.
        Err(defect) => Loaded {
            skipped: vec![defect],
            ..Loaded::default()
        },
    };
    let built = args.build.then(|| build_templates(&loaded.problems));
    let mut found = Check {
        cases: 0,
        without_expected: 0,
        solutions: 0,
        loaded,
        built,
    };
    for problem in &found.loaded.problems {
        found.solutions += usize::from(problem.canonical.is_some());
        match &problem.form {
            Form::Program { cases } => found.cases += cases.len(),
            Form::Calls(calls) => {
                found.cases += calls.cases.len();
                let open = calls.cases.iter().filter(|case| case.expected.is_none());
                found.without_expected += open.count();
            }
            Form::Function { .. } => {}
        }
    }
    print_data(if args.json {
        format!("{}\n", as_json(&found))
    } else {
        as_text(&found)
    })?;
    let unbuilt = found
        .built
        .as_ref()
        .is_some_and(|(_, failed)| !failed.is_empty());
    Ok(if found.loaded.skipped.is_empty() && !unbuilt {
        Status::Success
    } else {
        Status::Negative
    })
}

fn as_text(found: &Check) -> String {
    let mut text = String::new();
    let loaded = &found.loaded;
    let _ = writeln!(text, "{} problems can be used", loaded.problems.len());
    if found.cases > 0 {
        let _ = writeln!(text, "{} cases", found.cases);
    }
    if found.without_expected > 0 {
        let _ = writeln!(
            text,
            "{} of them get their expected result from the data set's own solution",
            found.without_expected
        );
    }
    let _ = writeln!(text, "{} problems have a solution", found.solutions);
    let bounds = loaded.bounds;
    if bounds.problems > 0 {
        let broken = loaded
            .left_out
            .iter()
            .filter(|defect| defect.is_out_of_bounds());
        let _ = writeln!(
            text,
            "{} problems have a statement: {} lines of their bounds are looked at, {} are not understood; {} cases are \
             outside of the bounds",
            bounds.problems,
            bounds.lines,
            bounds.unread,
            broken.count()
        );
    }
    if let Some((built, failed)) = &found.built {
        let _ = writeln!(
            text,
            "{built} drivers were built from templates, {} were not",
            failed.len()
        );
        for (id, reason) in failed {
            let _ = writeln!(text, "  {id}: {reason}");
        }
    }
    for (what, defects) in [
        ("problems are left out", &loaded.skipped),
        ("cases are left out", &loaded.left_out),
    ] {
        let _ = writeln!(text, "{} {what}", defects.len());
        for defect in defects {
            let _ = writeln!(text, "  {defect}");
        }
    }
    text
}

fn as_json(found: &Check) -> serde_json::Value {
    let texts = |defects: &[Defect]| defects.iter().map(Defect::to_string).collect::<Vec<_>>();
    let mut value = json!({
        "problems": found.loaded.problems.len(),
        "cases": found.cases,
        "cases_without_expected": found.without_expected,
        "solutions": found.solutions,
        "bounds": {
            "problems": found.loaded.bounds.problems,
            "lines": found.loaded.bounds.lines,
            "lines_not_understood": found.loaded.bounds.unread,
            "cases_outside": found.loaded.left_out.iter().filter(|defect| defect.is_out_of_bounds()).count(),
        },
        "problems_left_out": texts(&found.loaded.skipped),
        "cases_left_out": texts(&found.loaded.left_out),
    });
    if let Some((built, failed)) = &found.built {
        let failed: Vec<_> = (failed.iter())
            .map(|(id, reason)| json!({"problem": id, "reason": reason}))
            .collect();
        value["drivers_built"] = (*built).into();
        value["drivers_not_built"] = failed.into();
    }
    value
}

/// Builds the driver of every problem with a template, around the template's own empty functions.
fn build_templates(problems: &[Problem]) -> (usize, Vec<(String, String)>) {
    let toolchain = Toolchain::default();
    let options = BuildOptions::default();
    let outcomes: Vec<(String, Result<(), String>)> = (problems.par_iter())
        .filter_map(|problem| {
            let Form::Calls(calls) = &problem.form else {
                return None;
            };
            let template = calls.template.clone()?;
            let built = match assemble(problem, &Answer::Solution(template)) {
                None => Err("the template is empty".to_owned()),
                Some(candidate) => match build(&candidate, &toolchain, &options) {
                    Ok(_) => Ok(()),
                    Err(BuildFailure::CompileError { text }) => {
                        let line = text.lines().find(|line| line.contains("error: "));
                        Err(line.unwrap_or("compile error").to_owned())
                    }
                    Err(other) => Err(other.to_string()),
                },
            };
            Some((problem.id.clone(), built))
        })
        .collect();
    let built = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.is_ok())
        .count();
    let failed = (outcomes.into_iter())
        .filter_map(|(id, outcome)| outcome.err().map(|reason| (id, reason)))
        .collect();
    (built, failed)
}
