//! MultiPL-E for C++: one object a line: `name` or `task_id`, `prompt`, `tests`.
//!
//! The tests begin with the brace that closes the function, since completions end before it, and call the function
//! through a variable `candidate`. Here the function is called by its name, which is what the driver measures.
use super::cpp_text;
use super::json_lines::{Record, records};
use super::{Collector, Defect, Form, Language, Loaded, Problem};

/// Reads the problems of a file.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Loaded {
    Collector::read(file, records(file, bytes), |record| {
        let id = match record.optional_text("task_id")? {
            Some(id) => id,
            None => record.text("name")?,
        };
        let id = task_id(&id);
        read(record, &id).map_err(|defect| defect.of_problem(&id))
    })
}

/// `HumanEval/23`, for `HumanEval_23_strlen`.
fn task_id(name: &str) -> String {
    let mut parts = name.splitn(3, '_');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(set), Some(number), Some(_)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{set}/{number}")
        }
        _ => name.to_owned(),
    }
}

fn read(record: &Record<'_>, id: &str) -> Result<Problem, Defect> {
    if let Some(language) = record.optional_text("language")?
        && language != "cpp"
    {
        let reason = format!("is for `{language}`, not for C++");
        let remedy = "take the file whose name ends in `-cpp`";
        return Err(record.defect(reason, remedy).in_field("language"));
    }
    let prompt = record.source("prompt")?;
    let Some(function) = cpp_text::functions(&prompt).pop() else {
        let reason = "opens no function, so that the name of the function is unknown";
        let remedy = "end it with the function's signature and `{`";
        return Err(record.defect(reason, remedy).in_field("prompt"));
    };
    let field = if record.fields.contains_key("tests") {
        "tests"
    } else {
        "test"
    };
    let tests = record.source(field)?;
    let name = &function.name;
    let test = match tests.split_once(&format!("auto candidate = {name};")) {
        Some((before, after)) => {
            format!(
                "{before}{}",
                after.replace("candidate(", &format!("{name}("))
            )
        }
        None => tests,
    };
    let body = test.trim_start().strip_prefix('}').unwrap_or(&test);
    if !cpp_text::functions(body).iter().any(|f| f.name == "main") {
        let reason = "does not define `main`, so that there is nothing to test with";
        let remedy = "define `main` with the assertions";
        return Err(record.defect(reason, remedy).in_field(field));
    }
    if !cpp_text::names(body, name) {
        let reason = format!("has no call of `{name}`");
        return Err(record.defect(reason, "add assertions").in_field(field));
    }
    Ok(Problem {
        id: id.into(),
        language: Language::Cpp,
        form: Form::Function {
            entry_point: function.name,
            prompt,
            test,
        },
        canonical: record.optional_text("canonical_solution")?,
        judging: crate::verdict::Judging::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_called_by_its_name() {
        let row = serde_json::json!({"name": "HumanEval_23_strlen", "language": "cpp",
            "prompt": "#include<bits/stdc++.h>\n// Length.\nlong string_length(std::string string) {\n",
            "tests": "}\nint main() {\n    auto candidate = string_length;\n    assert(candidate((\"\")) == (0));\n}\n",
            "stop_tokens": ["\n}"]});
        let loaded = parse("f", row.to_string().as_bytes());
        assert_eq!(loaded.problems[0].id, "HumanEval/23");
        let Form::Function {
            entry_point, test, ..
        } = &loaded.problems[0].form
        else {
            panic!("not a function");
        };
        assert_eq!(entry_point, "string_length");
        assert_eq!(
            test,
            "}\nint main() {\n    \n    assert(string_length((\"\")) == (0));\n}\n"
        );
    }

    #[test]
    fn other_languages_and_rows_without_tests_are_left_out() {
        let rows = [
            serde_json::json!({"name": "a", "language": "rs", "prompt": "", "tests": ""}),
            serde_json::json!({"name": "b", "prompt": "int x;", "tests": "}"}),
            serde_json::json!({"name": "c", "prompt": "int f(int x) {\n", "tests": "}\n"}),
            serde_json::json!({"name": "d", "prompt": "int f(int x) {\n", "tests": "}\nint main() {}\n"}),
        ]
        .map(|row| row.to_string());
        let loaded = parse("f", rows.join("\n").as_bytes());
        let messages: Vec<_> = loaded.skipped.iter().map(Defect::to_string).collect();
        assert!(messages[0].contains("`rs`"));
        assert!(messages[1].contains("opens no function"));
        assert!(messages[2].contains("does not define `main`"));
        assert!(messages[3].contains("no call of `f`"));
    }
}
