//! Data sets and samples with defects: each is named with its place and a remedy, and the rest is evaluated.
use crate::support::dataset::{function, lines, program, solution};
use crate::support::scratch::Scratch;
use crate::support::tickmark::{Finished, Tickmark};
use serde_json::{Value, json};

const GOOD: &str = "def same(n):\n    return n\n";

fn problem(id: &str) -> Value {
    function(id, "same", &["candidate(3) == 3"])
}

fn evaluate(scratch: &Scratch, form: &str, options: &str) -> Finished {
    let fixed = format!(
        "evaluate --json --machine atomic --dataset {form} problems.jsonl --samples m=samples.jsonl {options}"
    );
    Tickmark::new(fixed.split_whitespace())
        .folder(scratch.path())
        .finish()
}

/// A message says what and where (the parts), and ends with something to do.
fn told(finished: &Finished, parts: &[&str]) {
    let found = finished
        .stderr
        .lines()
        .any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(found, "no line with {parts:?} in\n{}", finished.stderr);
}

#[test]
fn every_defect_of_the_samples_is_told_and_the_rest_is_evaluated() {
    let scratch = Scratch::new();
    scratch.write("problems.jsonl", lines(&[problem("T/0"), problem("T/1")]));
    let mut samples = Vec::new();
    let large = format!("# {}\n{GOOD}", "x".repeat(8 << 20));
    for line in [
        solution("T/0", GOOD).to_string().into_bytes(),
        b"{\"task_id\": \"T/0\", \"solution\": ".to_vec(),
        b"{\"solution\": \"def f(): pass\"}".to_vec(),
        b"{\"task_id\": \"T/0\"}".to_vec(),
        b"{\"task_id\": \"T/0\", \"solution\": 5}".to_vec(),
        b"[\"T/0\", \"x\"]".to_vec(),
        b"{\"task_id\": \"T/0\", \"solution\": \"\xff\xfe\"}".to_vec(),
        b"{\"task_id\": \"T/0\", \"solution\": \"\0\"}".to_vec(),
        b"".to_vec(),
        solution("T/99", GOOD).to_string().into_bytes(),
        solution("T/1", "").to_string().into_bytes(),
        solution("T/1", "   \n\n").to_string().into_bytes(),
        json!({"task_id": "T/1", "completion": ""})
            .to_string()
            .into_bytes(),
        solution("T/1", "def same(n):\n    return n\0\n")
            .to_string()
            .into_bytes(),
        solution("T/1", "\u{feff}def same(n):\n    return n\n")
            .to_string()
            .into_bytes(),
        b"{\"task_id\": \"T/1\", \"solution\": \"x = '\\ud800'\\ndef same(n): return n\"}".to_vec(),
        solution("T/1", &large).to_string().into_bytes(),
        solution("T/1", "I am sorry, I cannot help with that.")
            .to_string()
            .into_bytes(),
        solution("T/1", GOOD).to_string().into_bytes(),
    ] {
        samples.extend(line);
        samples.push(b'\n');
    }
    scratch.write("samples.jsonl", samples);
    let finished = evaluate(&scratch, "humaneval", "");
    told(&finished, &["samples.jsonl", "line 2", "invalid JSON"]);
    told(&finished, &["line 3", "task_id", "missing", "add"]);
    told(
        &finished,
        &[
            "line 4",
            "T/0",
            "neither `completion` nor `solution`",
            "write",
        ],
    );
    told(&finished, &["line 5", "T/0", "solution", "not text"]);
    told(&finished, &["line 6", "an array"]);
    told(&finished, &["line 7", "invalid UTF-8"]);
    told(&finished, &["line 8", "NUL"]);
    told(&finished, &["line 16", "invalid JSON", "hex escape"]);
    told(
        &finished,
        &[
            "1 samples are of tasks that the data set does not have",
            "T/99",
        ],
    );
    let mut rows = finished.json_lines();
    rows.pop();
    let kinds: Vec<&str> = (rows.iter())
        .map(|row| row["verdict"]["kind"].as_str().expect("text"))
        .collect();
    let expected = [
        "accepted",     // T/0
        "empty_answer", // T/1: nothing
        "empty_answer", // blanks
        "empty_answer", // an empty completion
        "test_failed",  // a NUL: SyntaxError
        "test_failed",  // a byte order mark, which Python does not accept in text
        "accepted",     // 8 MB of comment
        "test_failed",  // prose
        "accepted",
    ];
    assert_eq!(kinds, expected, "{:#?}", rows);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
}

#[test]
fn every_defect_of_the_problems_is_told_and_the_rest_is_evaluated() {
    let scratch = Scratch::new();
    let mut without_test = problem("T/1");
    without_test["test"] = json!("");
    let mut without_calls = problem("T/2");
    without_calls["test"] = json!("def check(candidate):\n    pass\n");
    let mut no_function = problem("T/3");
    no_function
        .as_object_mut()
        .expect("an object")
        .remove("entry_point");
    let mut text = lines(&[
        problem("T/0"),
        without_test,
        without_calls,
        no_function,
        problem("T/0"),
    ]);
    text.push_str("{\"task_id\": \"T/4\",\n");
    text.push_str(&lines(&[problem("T/5")]));
    scratch.write("problems.jsonl", text);
    scratch.write(
        "samples.jsonl",
        lines(&[solution("T/0", GOOD), solution("T/5", GOOD)]),
    );
    let finished = evaluate(&scratch, "humaneval", "");
    told(
        &finished,
        &["problems.jsonl", "line 2", "T/1", "check", "define"],
    );
    told(
        &finished,
        &[
            "line 3",
            "T/2",
            "no call of the candidate",
            "add assertions",
        ],
    );
    told(&finished, &["line 4", "T/3", "entry_point", "missing"]);
    told(&finished, &["line 5", "T/0", "already at line 1"]);
    told(&finished, &["line 6", "invalid JSON"]);
    let rows = finished.json_lines();
    assert_eq!(rows.len(), 3);
    assert!(
        rows[..2]
            .iter()
            .all(|row| row["verdict"]["kind"] == "accepted")
    );
    let skipped = rows[2]["table"]["skipped"].as_array().expect("a list");
    assert_eq!(
        skipped.len(),
        5,
        "what is left out stands in the results too"
    );
    assert_eq!(finished.code, 0);
}

#[test]
fn a_python_program_that_is_empty_or_does_not_parse_fails_by_itself() {
    let scratch = Scratch::new();
    let problem = program("p", "python", &[("1\n", "1\n")]);
    scratch.write("problems.jsonl", lines(&[problem]));
    let samples = [
        solution("p", ""),
        solution("p", "print(\n"),
        solution("p", "print(input())\n"),
    ];
    scratch.write("samples.jsonl", lines(&samples));
    let finished = evaluate(&scratch, "stdio", "--language python");
    let rows = finished.json_lines();
    let verdicts: Vec<String> = rows.iter().map(|row| row["verdict"].to_string()).collect();
    assert!(verdicts[0].contains("empty_answer"), "{verdicts:?}");
    assert!(verdicts[1].contains("SyntaxError"), "{verdicts:?}");
    assert!(verdicts[2].contains("accepted"), "{verdicts:?}");
    assert_eq!(finished.code, 0);
}

#[test]
fn files_that_hold_nothing_to_evaluate_are_usage_errors() {
    let scratch = Scratch::new();
    let good_problems = lines(&[problem("T/0")]);
    let good_samples = lines(&[solution("T/0", GOOD)]);
    let without = {
        let mut without = problem("T/0");
        without["test"] = json!("");
        lines(&[without])
    };
    for (problems, samples, part) in [
        (Some(""), Some(&*good_samples), "holds no problem"),
        (
            Some(&*without),
            Some(&*good_samples),
            "does not define `check`",
        ),
        (None, Some(&*good_samples), "cannot read it"),
        (Some(&*good_problems), None, "cannot read it"),
        (Some(&*good_problems), Some(""), "holds no sample"),
        (Some(&*good_problems), Some("{}\n"), "task_id"),
        (
            Some("\u{1f}\u{8b} not gzip"),
            Some(&*good_samples),
            "problems.jsonl",
        ),
    ] {
        let folder = Scratch::new();
        if let Some(text) = problems {
            folder.write("problems.jsonl", text);
        }
        if let Some(text) = samples {
            folder.write("samples.jsonl", text);
        }
        let finished = evaluate(&folder, "humaneval", "");
        assert_eq!(finished.code, 2, "{finished:?}");
        told(&finished, &["error:", part]);
        assert!(finished.stdout.is_empty(), "{finished:?}");
    }
    for arguments in [
        "evaluate --dataset novel problems.jsonl --samples m=samples.jsonl",
        "evaluate --dataset humaneval problems.jsonl --samples samples.jsonl",
        "evaluate --dataset humaneval problems.jsonl --samples =samples.jsonl",
        "evaluate --dataset humaneval problems.jsonl --samples m=samples.jsonl m=samples.jsonl",
        "evaluate --dataset humaneval problems.jsonl --samples m=samples.jsonl --machine nonsense",
        "evaluate --dataset humaneval problems.jsonl --samples m=samples.jsonl --max-memory 0",
        "evaluate --dataset humaneval problems.jsonl --samples m=samples.jsonl --optimisation fast",
        "evaluate --dataset humaneval problems.jsonl --samples m=samples.jsonl --compile-memory 17592186044417",
        "evaluate --dataset humaneval problems.jsonl --samples m=samples.jsonl --k 0",
        "evaluate --dataset stdio problems.jsonl --samples m=samples.jsonl --language perl",
        "evaluate --dataset humaneval problems.jsonl",
    ] {
        scratch.write("problems.jsonl", &good_problems);
        scratch.write("samples.jsonl", &good_samples);
        let finished = Tickmark::new(arguments.split(' '))
            .folder(scratch.path())
            .finish();
        assert_eq!(finished.code, 2, "{arguments}: {finished:?}");
        assert!(!finished.stderr.is_empty());
    }
}

#[test]
fn limits_too_small_for_the_interpreter_are_no_fault_of_the_candidates() {
    let scratch = Scratch::new();
    scratch.write("problems.jsonl", lines(&[problem("T/0")]));
    scratch.write("samples.jsonl", lines(&[solution("T/0", GOOD)]));
    for (option, remedy) in [
        ("--max-instructions 1000000", "--max-instructions"),
        ("--max-memory 4", "--max-memory"),
    ] {
        let first = evaluate(&scratch, "humaneval", option);
        assert_eq!(first.code, 3, "{first:?}");
        let verdict = &first.json_lines()[0]["verdict"];
        assert_eq!(verdict["kind"], "backend_failure", "{verdict}");
        assert!(verdict["remedy"].to_string().contains(remedy), "{verdict}");
        told(&first, &["warning", "failures that are not theirs"]);
        let fresh = evaluate(&scratch, "humaneval", &format!("{option} --no-snapshot"));
        assert_eq!(fresh.stdout, first.stdout);
    }
}
