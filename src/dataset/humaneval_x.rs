//! HumanEval-X for C++: one object a line: `task_id`, `prompt`, `declaration`, `test`, `canonical_solution`.
//!
//! The name of the function stands nowhere; it is that of the last function that the declaration opens.
use super::cpp_text;
use super::json_lines::{Record, records};
use super::{Collector, Defect, Form, Language, Loaded, Problem};

/// Reads the problems of a file.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Loaded {
    Collector::read(file, records(file, bytes), problem)
}

fn problem(record: &Record<'_>) -> Result<Problem, Defect> {
    let id = record.text("task_id")?;
    read(record, &id).map_err(|defect| defect.of_problem(&id))
}

fn read(record: &Record<'_>, id: &str) -> Result<Problem, Defect> {
    let prompt = record.source("prompt")?;
    let declaration = record.source("declaration")?;
    let Some(function) = cpp_text::functions(&declaration).pop() else {
        let reason = "opens no function, so that the name of the function is unknown";
        let remedy = "end it with the function's signature and `{`";
        return Err(record.defect(reason, remedy).in_field("declaration"));
    };
    let test = record.source("test")?;
    if !cpp_text::functions(&test).iter().any(|f| f.name == "main") {
        let reason = "does not define `main`, so that there is nothing to test with";
        let remedy = "define `main` with the assertions";
        return Err(record.defect(reason, remedy).in_field("test"));
    }
    if !cpp_text::names(&test, &function.name) {
        let reason = format!("has no call of `{}`", function.name);
        return Err(record.defect(reason, "add assertions").in_field("test"));
    }
    Ok(Problem {
        id: id.into(),
        language: Language::Cpp,
        form: Form::Function {
            prompt,
            entry_point: function.name,
            test,
        },
        canonical: record.optional_text("canonical_solution")?,
        judging: crate::verdict::Judging::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(declaration: &str, test: &str) -> String {
        serde_json::json!({"task_id": "CPP/0", "prompt": declaration, "declaration": declaration,
            "canonical_solution": "return x; }", "test": test, "example_test": ""})
        .to_string()
    }

    fn entry_point(declaration: &str, test: &str) -> Option<String> {
        let loaded = parse("f", line(declaration, test).as_bytes());
        loaded.problems.into_iter().next().map(|problem| {
            let Form::Function { entry_point, .. } = problem.form else {
                panic!("not a function");
            };
            entry_point
        })
    }

    #[test]
    fn the_entry_point_is_the_last_function_that_the_declaration_opens() {
        let declaration = "#include<vector>\nusing namespace std;\nint helper(int x){\n  if (x) { return 1; }\n  \
                           return 2;\n}\nvector<int> wanted(vector<int> a, int b){\n   for (int i=0;i<b;i++)\n   {\n";
        assert_eq!(
            entry_point(declaration, "int main(){ wanted({}, 1); }").as_deref(),
            Some("wanted")
        );
    }

    #[test]
    fn problems_without_tests_are_skipped() {
        assert_eq!(entry_point("int f(int x){", ""), None);
        assert_eq!(entry_point("int f(int x){", "int main(){ g(); }"), None);
        assert_eq!(entry_point("int x;", "int main(){}"), None);
    }
}
