//! COFFE, function level: Python functions of HumanEval and MBPP with stressful inputs.
//!
//! Two or three files belong together: `data.json` (an array of problems), `testcases.json` and
//! `stressful_testcases.json` (maps from a problem's `final_prompt` to its cases). Quirks:
//! - A stressful input is a Python expression for the list of arguments and has no output: the solution tells it.
//! - JSON lost tuples in inputs, where the assertions tell them, and in outputs, where lists equal them.
use super::assertions;
use super::humaneval::is_identifier;
use super::json_lines;
use super::signature::Target;
use super::{
    Call, Calls, Collector, Defect, Expected, ExpectedSource, Form, Language, Loaded, Problem,
    Value,
};
use crate::verdict::{Judging, Order, ValueRules};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Cases by prompt: input and output.
type Cases = BTreeMap<String, Vec<(Value, Option<Value>)>>;

/// Reads the files.
///
/// # Errors
/// A file cannot be read or is none of the three, or there are no problems or no cases.
pub(super) fn load(paths: &[PathBuf]) -> Result<Loaded, Defect> {
    let (mut problems, mut cases) = (Vec::new(), Cases::new());
    for path in paths {
        let file = path.display().to_string();
        let bytes = json_lines::read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = Value::parse(&text).map_err(|reason| {
            Defect::of_file(&file, reason, "take the file as its authors give it")
        })?;
        match whole {
            Value::List(items) => {
                problems.extend(items.into_iter().map(|item| (file.clone(), item)))
            }
            Value::Map(entries) if is_cases(path) => add_cases(&mut cases, entries),
            // Solutions, which lie in the same folder.
            _ => {}
        }
    }
    let missing = |what: &str, file: &str| {
        let first = paths
            .first()
            .map_or(String::new(), |path| path.display().to_string());
        let reason = format!("there are no {what}");
        Err(Defect::of_file(first, reason, format!("give `{file}` too")))
    };
    if problems.is_empty() {
        return missing("problems", "data.json");
    }
    if cases.is_empty() {
        return missing("test cases", "testcases.json");
    }
    let mut collector = Collector::default();
    for (index, (file, item)) in problems.iter().enumerate() {
        let place = format!("element {}", index + 1);
        let read = problem(item, &cases).map_err(|(id, reason)| {
            let defect = Defect::of_file(file, format!("{place}: {reason}"), "correct the element");
            id.map_or(defect.clone(), |id| defect.of_problem(&id))
        });
        collector.add(file, place.clone(), read);
    }
    Ok(collector.loaded)
}

/// The files of cases have it in their name; the others of the folder hold solutions.
fn is_cases(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains("testcase")
}

fn add_cases(cases: &mut Cases, entries: Vec<(Value, Value)>) {
    for (prompt, list) in entries {
        let (Value::Text(prompt), Value::List(list)) = (prompt, list) else {
            continue;
        };
        for case in list {
            if let Some(input) = get(&case, "input") {
                let output = get(&case, "output").filter(|output| **output != Value::Null);
                let known = cases.entry(prompt.clone()).or_default();
                known.push((input.clone(), output.cloned()));
            }
        }
    }
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let Value::Map(entries) = map else {
        return None;
    };
    let found = entries
        .iter()
        .find(|(name, _)| matches!(name, Value::Text(text) if text == key));
    found.map(|(_, value)| value)
}

fn text(map: &Value, key: &str) -> Option<String> {
    match get(map, key) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn problem(item: &Value, cases: &Cases) -> Result<Problem, (Option<String>, String)> {
    let id = match get(item, "task_id") {
        Some(Value::Integer(number)) => format!("MBPP/{number}"),
        Some(Value::Text(id)) => id.clone(),
        _ => return Err((None, "`task_id` is missing".into())),
    };
    read(item, &id, cases).map_err(|reason| (Some(id), reason))
}

fn read(item: &Value, id: &str, cases: &Cases) -> Result<Problem, String> {
    let needed = |key: &str| text(item, key).ok_or_else(|| format!("`{key}` is missing"));
    let entry_point = needed("entry_point")?;
    if !is_identifier(&entry_point) {
        return Err(format!("`{entry_point}` is not a name"));
    }
    let final_prompt = needed("final_prompt")?;
    let (prompt, canonical) = match text(item, "code") {
        Some(code) => (String::new(), code),
        None => (needed("prompt")?, needed("canonical_solution")?),
    };
    let told = match get(item, "test_list") {
        Some(Value::List(tests)) => {
            let lines: Vec<String> = (tests.iter())
                .filter_map(|test| match test {
                    Value::Text(text) => Some(text.clone()),
                    _ => None,
                })
                .collect();
            assertions::read(&lines.join("\n"), &entry_point)
        }
        _ => assertions::read(&needed("test")?, "candidate"),
    };
    let mut calls = Vec::new();
    let (mut plain, mut stressful) = (0, 0);
    for (input, output) in cases.get(&final_prompt).into_iter().flatten() {
        let (name, arguments) = match input {
            // One line for the driver; a line feed can only stand between the parts of the expression.
            Value::Text(expression) => {
                stressful += 1;
                (format!("stress {stressful}"), expression.replace('\n', " "))
            }
            Value::List(arguments) => {
                plain += 1;
                let arguments = Value::List(told.apply(arguments.clone()));
                (format!("test {plain}"), arguments.to_string())
            }
            _ => return Err("an input is neither an array nor an expression".into()),
        };
        // Outputs stand in an array of one.
        let expected = match output {
            Some(Value::List(items)) if items.len() == 1 => Some(Expected {
                answers: items.clone(),
                source: ExpectedSource::DataSet,
            }),
            _ => None,
        };
        calls.push(Call {
            name,
            arguments: arguments.into(),
            expected,
        });
    }
    if calls.is_empty() {
        return Err("there are no cases for its `final_prompt`".into());
    }
    let imports = match get(item, "test_imports") {
        Some(Value::List(lines)) => (lines.iter())
            .filter_map(|line| match line {
                Value::Text(line) => Some(format!("{line}\n")),
                _ => None,
            })
            .collect(),
        _ => String::new(),
    };
    Ok(Problem {
        id: id.into(),
        language: Language::Python,
        form: Form::Calls(Calls {
            target: Target::Function(entry_point),
            prompt,
            preface: imports,
            template: None,
            cases: calls,
            generator: None,
        }),
        canonical: Some(canonical),
        judging: Judging::Values(ValueRules {
            absolute: 1e-6,
            relative: 1e-6,
            sequences_alike: true,
            order: if told.as_set {
                Order::Sets
            } else {
                Order::Counts
            },
            ..ValueRules::PYTHON
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_joined_by_the_prompt() {
        let root = std::env::temp_dir().join(format!("tickmark-coffe-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let write = |name: &str, value: serde_json::Value| {
            let path = root.join(name);
            std::fs::write(&path, value.to_string()).unwrap();
            path
        };
        let data = write(
            "data.json",
            serde_json::json!([
                {"task_id": 7, "entry_point": "f", "final_prompt": "P", "code": "def f(a):\n  return a",
                 "test_list": ["assert f((1, 2)) == (1, 2)"], "test_imports": []},
                {"task_id": "HumanEval/1", "entry_point": "g", "final_prompt": "Q", "prompt": "def g():\n",
                 "canonical_solution": "  pass\n", "test": "def check(candidate): pass"},
            ]),
        );
        let cases = write(
            "testcases.json",
            serde_json::json!({"P": [{"input": [[1, 2]], "output": [[1, 2]]}]}),
        );
        let stress = write(
            "stressful_testcases.json",
            serde_json::json!({"P": [{"input": "[(1,)\n * 10]", "output": null}]}),
        );
        let loaded = load(&[data.clone(), cases, stress]).unwrap();
        let problem = &loaded.problems[0];
        assert_eq!(problem.id, "MBPP/7");
        let Form::Calls(calls) = &problem.form else {
            panic!("no calls");
        };
        let shown: Vec<_> = (calls.cases.iter())
            .map(|c| (c.name.as_str(), &*c.arguments, c.expected.is_some()))
            .collect();
        assert_eq!(
            shown,
            [
                ("test 1", "[(1, 2)]", true),
                ("stress 1", "[(1,)  * 10]", false)
            ]
        );
        assert!(
            loaded.skipped[0]
                .to_string()
                .contains("problem `HumanEval/1`")
        );
        assert!(
            load(&[data])
                .unwrap_err()
                .to_string()
                .contains("testcases.json")
        );
        std::fs::remove_dir_all(&root).unwrap();
    }
}
