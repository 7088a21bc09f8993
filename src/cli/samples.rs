//! Models and their samples, from `--samples` and from plan files.
use super::error::CliError;
use super::evaluate::tell_defects;
use super::plan_file::{PlanFile, SamplesSection};
use crate::candidate::{Answer, Imported, import};
use crate::dataset::Problem;
use crate::evaluation::Model;
use std::collections::BTreeMap;
use std::path::Path;

/// The models of the `--samples` of a command line.
pub(super) fn of_arguments(texts: &[String], problems: &[Problem]) -> Result<Vec<Model>, CliError> {
    let mut models: Vec<Model> = Vec::new();
    for text in texts {
        let model = of_argument(text, problems)?;
        if models.iter().any(|other| other.name == model.name) {
            return Err(CliError::usage(
                format!("two models are called `{}`", model.name),
                "give each `--samples` a NAME of its own",
            ));
        }
        models.push(model);
    }
    Ok(models)
}

/// The models of a plan.
pub(super) fn of_plan(plan: &PlanFile, problems: &[Problem]) -> Result<Vec<Model>, CliError> {
    let mut models = Vec::new();
    for section in &plan.samples {
        let mut model = match &section.file {
            None => canonical(problems)?,
            Some(file) => of_section(section, &plan.resolve(file), problems)?,
        };
        model.base.clone_from(&section.base);
        if section.first == Some(0) {
            return Err(CliError::usage(
                format!(
                    "the samples `{}` of the plan have `first = 0`: none",
                    section.name
                ),
                "leave `first` out to take all of them",
            ));
        }
        if let Some(first) = section.first {
            for answers in model.answers.values_mut() {
                answers.truncate(first);
            }
        }
        models.push(model);
    }
    Ok(models)
}

pub(super) fn of_argument(text: &str, problems: &[Problem]) -> Result<Model, CliError> {
    let Some((name, file)) = text.split_once('=') else {
        if text == "canonical" {
            return canonical(problems);
        }
        return Err(CliError::usage(
            format!("`--samples {text}` names no file"),
            "write it as NAME=FILE, or `canonical` for the data set's own solutions",
        ));
    };
    if name.is_empty() {
        return Err(CliError::usage(
            format!("`--samples {text}` names no model"),
            "write it as NAME=FILE",
        ));
    }
    let path = Path::new(file);
    let pattern = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(containing) = pattern
        .strip_prefix('*')
        .and_then(|rest| rest.strip_suffix('*'))
        && !containing.is_empty()
        && !containing.contains('*')
    {
        let root = path.parent().unwrap_or_else(|| Path::new("."));
        return from_folders(name, root, containing, problems);
    }
    let imported = import(path, problems, name)?;
    Ok(told(name, file, imported))
}

fn of_section(
    section: &SamplesSection,
    path: &Path,
    problems: &[Problem],
) -> Result<Model, CliError> {
    let name = &section.name;
    let shown = path.display().to_string();
    if let Some(containing) = &section.containing {
        return from_folders(name, path, containing, problems);
    }
    let imported = import(path, problems, name)?;
    Ok(told(name, &shown, imported))
}

/// The sources in the folders of the problems whose names contain a text, by name.
fn from_folders(
    name: &str,
    root: &Path,
    containing: &str,
    problems: &[Problem],
) -> Result<Model, CliError> {
    let mut answers = BTreeMap::new();
    for problem in problems {
        let folder = root.join(problem.id.replace('/', "_"));
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        let mut files: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path.is_file() && name.contains(containing)
            })
            .collect();
        files.sort();
        let mut list = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(|error| {
                CliError::usage(
                    format!("cannot read `{}`: {error}", file.display()),
                    "sources are UTF-8 files",
                )
            })?;
            list.push(Answer::Solution(text));
        }
        if !list.is_empty() {
            answers.insert(problem.id.clone(), list);
        }
    }
    if answers.is_empty() {
        return Err(CliError::usage(
            format!(
                "no file below `{}` contains `{containing}` in its name",
                root.display()
            ),
            "the sources of a problem stand in a folder with the problem's name",
        ));
    }
    Ok(Model {
        name: name.into(),
        answers,
        ..Model::default()
    })
}

/// The model of what was imported; what was left out is told.
fn told(name: &str, file: &str, imported: Imported) -> Model {
    tell_defects(&imported.refused);
    if !imported.unknown_tasks.is_empty() {
        let samples: usize = imported.unknown_tasks.values().sum();
        let first: Vec<_> = imported
            .unknown_tasks
            .keys()
            .take(3)
            .map(String::as_str)
            .collect();
        eprintln!(
            "warning: {file}: {samples} samples are of tasks that the data set does not have ({}{}): they are left out",
            first.join(", "),
            if imported.unknown_tasks.len() > 3 {
                ", ..."
            } else {
                ""
            }
        );
    }
    Model {
        name: name.to_owned(),
        answers: imported.answers,
        ..Model::default()
    }
}

fn canonical(problems: &[Problem]) -> Result<Model, CliError> {
    let answers: BTreeMap<_, _> = problems
        .iter()
        .filter_map(|problem| {
            let solution = problem.canonical.clone()?;
            Some((problem.id.clone(), vec![Answer::Completion(solution)]))
        })
        .collect();
    if answers.is_empty() {
        return Err(CliError::usage(
            "the data set has no solutions of its own",
            "give samples as NAME=FILE",
        ));
    }
    Ok(Model {
        name: "canonical".to_owned(),
        answers,
        ..Model::default()
    })
}
