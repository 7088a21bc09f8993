//! Small data sets and samples, written by the tests that use them.
use serde_json::{Value, json};

/// A HumanEval problem: a function of one number, with the assertions of its test.
pub(crate) fn function(id: &str, name: &str, assertions: &[&str]) -> Value {
    let body: String = (assertions.iter())
        .map(|assertion| format!("    assert {assertion}\n"))
        .collect();
    json!({
        "task_id": id,
        "entry_point": name,
        "prompt": format!("def {name}(n):\n    \"\"\"What the test says.\"\"\"\n"),
        "canonical_solution": "    return n\n",
        "test": format!("def check(candidate):\n{body}"),
    })
}

/// A program problem: inputs with their outputs.
pub(crate) fn program(id: &str, language: &str, cases: &[(&str, &str)]) -> Value {
    let tests: Vec<Value> = (cases.iter())
        .map(|(input, output)| json!({"input": input, "output": output}))
        .collect();
    json!({"id": id, "language": language, "tests": tests})
}

/// A sample that stands alone.
pub(crate) fn solution(id: &str, source: &str) -> Value {
    json!({"task_id": id, "solution": source})
}

/// One object a line.
pub(crate) fn lines(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{object}\n")).collect()
}
