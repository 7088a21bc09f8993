//! MBPP and its sanitized version: Python functions with a list of assertions, which call the function by its name.
//!
//! Four shapes are in use, told apart by their fields:
//! - `mbpp.jsonl`: `task_id` (a number), `text`, `code`, `test_list`, `test_setup_code`, `challenge_test_list`. The
//!   challenge tests are not read: the scores that are published are those of `test_list`.
//! - `sanitized-mbpp.json`, an array: `prompt`, `code`, `test_imports`, `test_list`.
//! - The same as base of another set: `entry_point` and `canonical_solution` besides.
//! - In the manner of HumanEval: `prompt`, `entry_point`, `canonical_solution`, `test` with a `check(candidate)` that
//!   does not use its argument.
//!
//! Whatever the file calls them (`2`, `Mbpp/2`, `MbppEval/2`), problems are `MBPP/2` here.
use super::humaneval::{is_identifier, names};
use super::json_lines::{Record, kind, records};
use super::{Collector, Defect, Form, Language, Loaded, Problem};
use serde_json::Value;

/// Reads the problems of a file.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Loaded {
    Collector::read(file, records(file, bytes), |record| {
        let id = task_id(record)?;
        read(record, &id).map_err(|defect| defect.of_problem(&id))
    })
}

/// `MBPP/N`, for the spellings of it.
pub(super) fn task_id(record: &Record<'_>) -> Result<String, Defect> {
    let text = match record.fields.get("task_id") {
        Some(Value::Number(number)) => number.to_string(),
        _ => record.text("task_id")?,
    };
    let number = text.rsplit('/').next().unwrap_or_default();
    Ok(
        if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
            format!("MBPP/{number}")
        } else {
            text
        },
    )
}

fn read(record: &Record<'_>, id: &str) -> Result<Problem, Defect> {
    if record.fields.contains_key("test") {
        return like_humaneval(record, id);
    }
    let tests = texts(record, "test_list")?;
    if tests.is_empty() {
        let reason = "is empty, so that every answer would pass";
        return Err(record
            .defect(reason, "give at least one assertion")
            .in_field("test_list"));
    }
    let solution = match record.optional_text("code")? {
        Some(code) => code,
        None => record.source("canonical_solution")?,
    };
    let entry_point = match record.optional_text("entry_point")? {
        Some(name) => name,
        None => called(&solution, &tests).ok_or_else(|| {
            let reason = "calls no function that `code` defines";
            let remedy = "call the function in the assertions, or give `entry_point`";
            record.defect(reason, remedy).in_field("test_list")
        })?,
    };
    if !is_identifier(&entry_point) {
        let reason = format!("`{entry_point}` is not a name");
        return Err(record
            .defect(reason, "name the function")
            .in_field("entry_point"));
    }
    if !tests.iter().any(|test| names(test, &entry_point)) {
        let reason = format!("has no call of `{entry_point}`, so that every answer would pass");
        return Err(record
            .defect(reason, "add assertions")
            .in_field("test_list"));
    }
    let mut setup = texts(record, "test_imports")?;
    setup.extend(record.optional_text("test_setup_code")?);
    let text = match record.optional_text("text")? {
        Some(text) => text,
        None => record.source("prompt")?,
    };
    Ok(Problem {
        id: id.into(),
        language: Language::Python,
        form: Form::Function {
            prompt: prompt(&text, &tests),
            test: test(&entry_point, &setup, &tests),
            entry_point,
        },
        canonical: Some(solution),
        judging: crate::verdict::Judging::default(),
    })
}

/// The task as a docstring with its assertions, as the data set's authors show it to models.
fn prompt(text: &str, tests: &[String]) -> String {
    let text = text.trim().trim_matches(['"', '\'']).trim();
    let body = format!("{text}\n{}", tests.join("\n")).replace("\"\"\"", "\\\"\\\"\\\"");
    format!("\"\"\"\n{body}\n\"\"\"\n")
}

/// `check`, whose parameter has the function's name, so that the assertions call what the driver measures.
fn test(entry_point: &str, setup: &[String], tests: &[String]) -> String {
    let mut source = String::new();
    for line in setup.iter().flat_map(|text| text.lines()) {
        source.push_str(line.trim_end());
        source.push('\n');
    }
    source.push_str(&format!("def check({entry_point}):\n"));
    for text in tests {
        let text = text.trim();
        if text.contains('\n') {
            // Indentation would change what stands between triple quotes.
            let quoted = Value::from(text).to_string();
            source.push_str(&format!(
                "    exec({quoted}, dict(globals(), {entry_point}={entry_point}))\n"
            ));
        } else {
            source.push_str(&format!("    {text}\n"));
        }
    }
    source
}

/// The first name in the tests that the solution defines at its outermost level.
fn called(solution: &str, tests: &[String]) -> Option<String> {
    let defined = |name: &str| super::python_defines(solution, name);
    let words = tests
        .iter()
        .flat_map(|test| test.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words
        .filter(|word| is_identifier(word))
        .find(|word| defined(word))
        .map(str::to_owned)
}

/// Some of these rows name another function than their tests call, or have a blank behind the name.
fn like_humaneval(record: &Record<'_>, id: &str) -> Result<Problem, Defect> {
    let test = record.source("test")?;
    let named = record.source("entry_point")?.trim().to_owned();
    let uses = |name: &str| names(&test, name);
    let name = if uses("candidate") || uses(&named) {
        Some(named)
    } else {
        // The prompt may show a helper only, with the function itself in the solution.
        let solution = record
            .optional_text("canonical_solution")?
            .unwrap_or_default();
        called(&format!("{}{solution}", record.source("prompt")?), &[test])
    };
    let mut fields = record.fields.clone();
    if let Some(name) = name {
        fields.insert("entry_point".to_owned(), name.into());
    }
    let record = &Record { fields, ..*record };
    let mut problem = super::humaneval::read(record, id)?;
    if let Form::Function {
        entry_point, test, ..
    } = &mut problem.form
        && !names(test, "candidate")
    {
        *test = test.replacen(
            "def check(candidate):",
            &format!("def check({entry_point}):"),
            1,
        );
    }
    Ok(problem)
}

/// An array of texts; empty where the field is absent.
fn texts(record: &Record<'_>, field: &str) -> Result<Vec<String>, Defect> {
    let wrong = |what: &Value| {
        let reason = format!("{}, where an array of texts is needed", kind(what));
        record
            .defect(reason, "write it as [\"...\"]")
            .in_field(field)
    };
    match record.fields.get(field) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => (items.iter())
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong(item)))
            .collect(),
        Some(other) => Err(wrong(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(row: &Value) -> (String, String, String) {
        let loaded = parse("f", row.to_string().as_bytes());
        assert!(loaded.skipped.is_empty(), "{:?}", loaded.skipped);
        let problem = loaded.problems.into_iter().next().unwrap();
        let Form::Function {
            entry_point, test, ..
        } = problem.form
        else {
            panic!("not a function");
        };
        (problem.id, entry_point, test)
    }

    #[test]
    fn assertions_call_the_parameter_of_check() {
        let row = serde_json::json!({"text": "Add.", "task_id": 7, "test_setup_code": "x = 1\r\ny = 2",
            "code": "import math\r\ndef helper(a):\r\n  return a\r\ndef add(a, b):\r\n  return helper(a) + b",
            "test_list": ["assert math.floor(add(1, 2)) == 3", "assert add(1,\n 3) == 4"],
            "challenge_test_list": ["assert add(0, 0) == 1"]});
        let (id, entry_point, test) = form(&row);
        assert_eq!((id.as_str(), entry_point.as_str()), ("MBPP/7", "add"));
        assert_eq!(
            test,
            "x = 1\ny = 2\ndef check(add):\n    assert math.floor(add(1, 2)) == 3\n    \
             exec(\"assert add(1,\\n 3) == 4\", dict(globals(), add=add))\n"
        );
    }

    #[test]
    fn the_other_shapes_are_told_apart() {
        let rows = serde_json::json!([
            {"source_file": "s", "task_id": 2, "prompt": "Add.", "code": "def add(a):\n  return a",
             "test_imports": ["import math"], "test_list": ["assert add(1) == 1"]},
            {"task_id": "Mbpp/3", "prompt": "'''\nAdd.\n'''", "entry_point": "add", "test_imports": [],
             "canonical_solution": "def add(a):\n  return a", "test_list": ["assert add(1) == 1"]},
            {"task_id": "MbppEval/4", "prompt": "def add(a):\n", "entry_point": "add",
             "canonical_solution": "  return a\n", "test": "def check(candidate):\n    assert add(1) == 1\n"},
        ]);
        let loaded = parse("f", rows.to_string().as_bytes());
        assert!(loaded.skipped.is_empty(), "{:?}", loaded.skipped);
        let ids: Vec<_> = loaded.problems.iter().map(|p| p.id.as_str()).collect();
        assert_eq!(ids, ["MBPP/2", "MBPP/3", "MBPP/4"]);
        for problem in &loaded.problems {
            let Form::Function { test, .. } = &problem.form else {
                panic!("not a function");
            };
            assert!(
                test.contains("def check(add):\n    assert add(1) == 1\n"),
                "{test}"
            );
        }
    }

    #[test]
    fn a_row_that_names_another_function_is_put_right_by_its_tests() {
        let row = serde_json::json!({"task_id": "MbppEval/4", "prompt": "def add(a):\n", "entry_point": "plus ",
            "canonical_solution": "  return a\n", "test": "def check(candidate):\n    assert add(1) == 1\n"});
        assert_eq!(form(&row).1, "add");
        let row = serde_json::json!({"task_id": "MbppEval/5", "prompt": "def helper(a):\n", "entry_point": "helper",
            "canonical_solution": "  return a\ndef add(a):\n  return helper(a)\n",
            "test": "def check(candidate):\n    assert add(1) == 1\n"});
        assert_eq!(form(&row).1, "add");
    }

    #[test]
    fn problems_without_a_call_are_left_out_with_a_reason() {
        let rows = serde_json::json!([
            {"task_id": 1, "text": "t", "code": "def f():\n  pass", "test_list": []},
            {"task_id": 2, "text": "t", "code": "def f():\n  pass", "test_list": ["assert g()"]},
            {"task_id": 3, "text": "t", "code": "def f():\n  pass", "test_list": [7]},
            {"text": "t"},
        ]);
        let loaded = parse("f", rows.to_string().as_bytes());
        let messages: Vec<_> = loaded.skipped.iter().map(Defect::to_string).collect();
        assert!(messages[0].contains("problem `MBPP/1`, field `test_list`: is empty"));
        assert!(messages[1].contains("no function that `code` defines"));
        assert!(messages[2].contains("a number"));
        assert!(messages[3].contains("field `task_id`"));
        assert!(loaded.problems.is_empty());
    }
}
