//! HumanEval: Python functions, one object a line: `task_id`, `prompt`, `entry_point`, `test`, `canonical_solution`.
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

/// The problem of an object whose id is known.
pub(super) fn read(record: &Record<'_>, id: &str) -> Result<Problem, Defect> {
    let entry_point = record.source("entry_point")?;
    if !is_identifier(&entry_point) {
        let reason = format!("`{entry_point}` is not a name");
        let remedy = "name the function that the prompt begins";
        return Err(record.defect(reason, remedy).in_field("entry_point"));
    }
    let test = record.source("test")?;
    // The driver calls `check`; a test without it would pass every candidate.
    if !defines(&test, "check") {
        let reason = "does not define `check`, so that there is nothing to test with";
        let remedy = "define `check(candidate)` with the assertions";
        return Err(record.defect(reason, remedy).in_field("test"));
    }
    if !names(&test, "candidate") && !names(&test, &entry_point) {
        let reason = "has no call of the candidate, so that every answer would pass";
        return Err(record.defect(reason, "add assertions").in_field("test"));
    }
    let prompt = record.source("prompt")?;
    Ok(Problem {
        id: id.into(),
        language: Language::Python,
        form: Form::Function {
            prompt,
            entry_point,
            test,
        },
        canonical: record.optional_text("canonical_solution")?,
        judging: crate::verdict::Judging::default(),
    })
}

pub(super) fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether a line at column 0 begins `def name(`.
pub(crate) fn defines(source: &str, name: &str) -> bool {
    source.lines().any(|line| {
        (line
            .strip_prefix("def ")
            .or_else(|| line.strip_prefix("async def ")))
        .and_then(|rest| rest.trim_start().strip_prefix(name))
        .is_some_and(|rest| rest.trim_start().starts_with('('))
    })
}

/// Whether `name` stands in the source as a whole word, other than as the parameter of `check`.
pub(super) fn names(source: &str, name: &str) -> bool {
    source
        .lines()
        .filter(|line| !line.starts_with("def check"))
        .any(|line| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, test: &str) -> String {
        serde_json::json!({"task_id": id, "prompt": "def f(x):\n", "entry_point": "f",
            "canonical_solution": "    return x\n", "test": test})
        .to_string()
    }

    const CHECK: &str = "def check(candidate):\n    assert candidate(1) == 1\n";

    #[test]
    fn problems_keep_the_order_of_the_file() {
        let text = [line("a/1", CHECK), line("a/0", CHECK)].join("\n");
        let loaded = parse("f", text.as_bytes());
        let ids: Vec<_> = loaded.problems.iter().map(|p| p.id.as_str()).collect();
        assert_eq!(ids, ["a/1", "a/0"]);
        assert!(loaded.skipped.is_empty());
    }

    #[test]
    fn a_duplicate_id_names_both_lines() {
        let text = [line("a/1", CHECK), line("a/1", CHECK)].join("\n");
        let loaded = parse("f", text.as_bytes());
        assert_eq!(loaded.problems.len(), 1);
        let message = loaded.skipped[0].to_string();
        assert!(message.starts_with("`f`, line 2, problem `a/1`: the id stands already at line 1"));
    }

    #[test]
    fn problems_without_tests_are_skipped_with_a_reason() {
        let empty_check = "def check(candidate):\n    pass\n";
        let text = [
            line("a/0", ""),
            line("a/1", empty_check),
            line("a/2", CHECK),
            "{\"task_id\": \"a/3\"}".into(),
            "{\"prompt\": \"\"}".into(),
        ]
        .join("\n");
        let loaded = parse("f", text.as_bytes());
        assert_eq!(loaded.problems.len(), 1);
        let messages: Vec<_> = loaded.skipped.iter().map(Defect::to_string).collect();
        assert!(
            messages[0].contains("does not define `check`"),
            "{messages:?}"
        );
        assert!(messages[1].contains("no call of the candidate"));
        assert!(messages[2].contains("line 4, problem `a/3`, field `entry_point`"));
        assert!(messages[3].contains("line 5, field `task_id`"));
    }
}
