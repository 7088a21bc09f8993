//! The loaders, the import and the assembly on the public data sets, where a copy is at hand.
use super::{Answer, Candidate, assemble, import};
use crate::dataset::{DatasetForm, Form, Language, Problem, load};
use std::path::PathBuf;

/// The folder of the data sets; a test without it says so and passes.
fn data(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TICKMARK_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
    {
        eprintln!("skipped: no `{}`; set TICKMARK_DATA", path.display());
    }
    None
}

fn problems(form: DatasetForm, path: &str) -> Option<Vec<Problem>> {
    let loaded = load(form, &data(path)?, Language::Cpp).unwrap();
    assert!(loaded.skipped.is_empty(), "{:?}", loaded.skipped);
    Some(loaded.problems)
}

#[test]
fn every_data_set_is_read_from_the_files_that_users_hold() {
    const CPP: Language = Language::Cpp;
    const PYTHON: Language = Language::Python;
    let sets: [(DatasetForm, &[&str], Language, usize); 11] = [
        (DatasetForm::Mbpp, &["mbpp/mbpp.jsonl"], PYTHON, 974),
        (
            DatasetForm::Mbpp,
            &["mbpp/sanitized-mbpp.jsonl"],
            PYTHON,
            427,
        ),
        (
            DatasetForm::Mbpp,
            &["plus_inputs/MbppBase.jsonl.gz"],
            PYTHON,
            427,
        ),
        (
            DatasetForm::MbppPlus,
            &["plus_inputs/MbppPlus.jsonl.gz"],
            PYTHON,
            378,
        ),
        (
            DatasetForm::HumanevalPlus,
            &[
                "humaneval/HumanEval.jsonl.gz",
                "plus_inputs/HumanEvalPlus.jsonl.gz",
                "plus_inputs/HumanEvalPlusInputs.jsonl.gz",
            ],
            PYTHON,
            164,
        ),
        (
            DatasetForm::MultiplE,
            &["multipl_e/humaneval-cpp.jsonl"],
            CPP,
            161,
        ),
        (DatasetForm::LeetcodeEval, &["leetcodeeval"], CPP, 166),
        (DatasetForm::LeetcodeEval, &["leetcodeeval"], PYTHON, 166),
        (
            DatasetForm::LeetcodeDataset,
            &["leetcode/joined.jsonl.gz"],
            CPP,
            380,
        ),
        (DatasetForm::CoffeFunction, &["coffe_function"], PYTHON, 398),
        (DatasetForm::Enamel, &["enamel/enamel.csv"], PYTHON, 164),
    ];
    for (form, files, language, problems) in sets {
        let paths: Option<Vec<PathBuf>> = files.iter().map(|file| data(file)).collect();
        let Some(paths) = paths else { continue };
        let loaded = crate::dataset::load_all(form, &paths, language).unwrap();
        let name = form.name();
        assert!(loaded.skipped.is_empty(), "{name}: {:?}", loaded.skipped);
        assert_eq!(loaded.problems.len(), problems, "{name} {files:?}");
        if form == DatasetForm::LeetcodeEval {
            assert!(loaded.left_out.is_empty(), "{:?}", loaded.left_out);
        }
    }
}

#[test]
fn all_problems_of_humaneval_are_usable() {
    let Some(problems) = problems(DatasetForm::Humaneval, "humaneval/HumanEval.jsonl.gz") else {
        return;
    };
    assert_eq!(problems.len(), 164);
    for problem in &problems {
        let answer = Answer::Completion(problem.canonical.clone().unwrap());
        let Some(Candidate::PythonFunction { source, .. }) = assemble(problem, &answer) else {
            panic!("{}", problem.id);
        };
        // A canonical solution continues the prompt and no stop sequence cuts it.
        let Form::Function { prompt, .. } = &problem.form else {
            panic!("{}", problem.id);
        };
        assert!(source.starts_with(prompt.as_str()), "{}", problem.id);
        assert!(source.contains(answer.text().trim_end()), "{}", problem.id);
    }
}

#[test]
fn all_problems_of_humaneval_x_are_usable_and_name_the_function_of_the_prompt() {
    let path = "humaneval_x/humaneval_cpp.jsonl.gz";
    let Some(problems) = problems(DatasetForm::HumanevalX, path) else {
        return;
    };
    assert_eq!(problems.len(), 164);
    for problem in &problems {
        let Form::Function {
            prompt,
            entry_point,
            ..
        } = &problem.form
        else {
            panic!("{}", problem.id);
        };
        let last = crate::dataset::cpp_text::functions(prompt).pop().unwrap();
        assert_eq!(
            (&last.name, last.end),
            (entry_point, None),
            "{}",
            problem.id
        );
        let answer = Answer::Completion(problem.canonical.clone().unwrap());
        let Some(Candidate::CppFunction { source, .. }) = assemble(problem, &answer) else {
            panic!("{}", problem.id);
        };
        assert!(source.contains(prompt.as_str()), "{}", problem.id);
        assert!(source.contains(answer.text()), "{}", problem.id);
    }
}

#[test]
fn folders_of_programs_are_read() {
    let Some(problems) = problems(DatasetForm::Stdio, "stdio_pairs") else {
        return;
    };
    assert_eq!(problems.len(), 12);
    for problem in &problems {
        let Form::Program { cases } = &problem.form else {
            panic!("{}", problem.id);
        };
        assert!(
            cases.len() >= 2 && !cases[0].expected.is_empty(),
            "{}",
            problem.id
        );
    }
}

#[test]
fn every_answer_of_the_real_models_is_read() {
    let Some(problems) = problems(DatasetForm::Humaneval, "humaneval/HumanEval.jsonl.gz") else {
        return;
    };
    for (name, samples, empty) in [
        ("gpt-4o", 164, 0),
        ("code-cushman-001", 1640, 0),
        ("codellama-13b-instruct", 492, 0),
        ("mistral-7b-instruct-v0.2", 164, 5),
    ] {
        let path = data(&format!("samples/humaneval_py/{name}.jsonl.gz"));
        let Some(path) = path else { return };
        let imported = import(&path, &problems, "m").unwrap();
        assert!(
            imported.refused.is_empty() && imported.unknown_tasks.is_empty(),
            "{name}"
        );
        let all = imported.answers.values().flatten();
        assert_eq!(all.clone().count(), samples, "{name}");
        let blank = all.filter(|answer| answer.text().trim().is_empty());
        assert_eq!(blank.count(), empty, "{name}");
    }
}
