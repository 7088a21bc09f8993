//! HumanEval+ and MBPP+: Python functions with many inputs, whose right results the file's own solution tells.
//!
//! A row has `task_id`, `prompt`, `entry_point`, `canonical_solution`, `base_input`, `plus_input`, `atol`. Quirks:
//! - HumanEval+ also came in parts, which may be given together in any order: HumanEval's own file, one with
//!   `reference`, `base_input` and `atol` whose n-th row is problem n, and ones with `task_id` and `inputs`.
//! - JSON has no tuples, sets or complex numbers: MBPP+'s assertions tell where they belong.
//! - Inputs hold NaN, infinities and integers of any length, which JSON readers refuse or round.
//! - A result with floating-point numbers is right within `atol`, or within 1e-6 where that is 0 and relatively 1e-7.
//! - MBPP problems whose assertions compare sets are judged so; three ask only whether there is a match. One HumanEval
//!   problem has many right answers, each root of a polynomial, and a checker.
use super::assertions;
use super::humaneval::is_identifier;
use super::json_lines;
use super::rows::{Row, rows};
use super::signature::Target;
use super::{Call, Calls, Collector, Defect, Form, Language, Loaded, Problem, Value};
use crate::verdict::{Checker, Judging, Order, ValueRules};
use std::collections::BTreeMap;

/// Tolerance where the file gives none.
const ABSOLUTE: f64 = 1e-6;
const RELATIVE: f64 = 1e-7;

/// Problems of MBPP+ where any match is right.
const PRESENCE: &[&str] = &["check_str", "text_match_three", "text_starta_endb"];

/// Any root is right; the input is the list of coefficients.
const ROOT_CHECKER: &str = "
import sys
data = sys.stdin.buffer
while True:
    line = data.readline()
    if not line:
        break
    given, expected, got = [data.read(int(size)) for size in line.split()]
    data.readline()
    (coefficients,) = eval(given)
    try:
        root = float(got)
        value = sum(c * root**n for n, c in enumerate(coefficients))
        print('accepted' if abs(value) <= 1e-4 else 'wrong the polynomial is %r there' % value)
    except (ValueError, OverflowError):
        print('wrong no number')
";

/// The file's tolerance.
fn tolerance(row: &Row) -> f64 {
    let given = row.fields.get("atol").and_then(super::value::as_float);
    given.filter(|atol| *atol > 0.0).unwrap_or(ABSOLUTE)
}

/// Reads the problems from one file or several.
pub(super) fn parse(files: &[(String, Vec<u8>)]) -> Loaded {
    let mut collector = Collector::default();
    let (mut mains, mut by_position, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for (file, bytes) in files {
        for read in rows(file, bytes) {
            match read {
                Ok(row) if row.fields.contains_key("prompt") => mains.push(row),
                Ok(row) if row.fields.contains_key("inputs") => more.push(row),
                Ok(row) if row.fields.contains_key("base_input") => by_position.push(row),
                Ok(row) => {
                    let reason = "has neither `prompt` nor `inputs` nor `base_input`";
                    let remedy = "take the file as its authors give it";
                    collector.loaded.skipped.push(row.defect(reason, remedy));
                }
                Err(defect) => collector.loaded.skipped.push(defect),
            }
        }
    }
    if mains.is_empty() && (!by_position.is_empty() || !more.is_empty()) {
        let reason = "has inputs, but no prompts";
        let remedy = "give HumanEval's own file too";
        let file = &files[0].0;
        collector
            .loaded
            .skipped
            .push(Defect::of_file(file, reason, remedy));
    }
    let mut extra: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &more {
        if let Ok(Some(id)) = row.text("task_id") {
            extra.entry(id.replace('_', "/")).or_default().push(row);
        }
    }
    for (index, main) in mains.iter().enumerate() {
        let id = task_id(main);
        let place = format!("line {}", main.line);
        let parts = Parts {
            main,
            by_position: by_position.get(index),
            more: id.as_ref().ok().and_then(|id| extra.get(id)),
        };
        let problem = id.and_then(|id| parts.problem(&id).map_err(|d| d.of_problem(&id)));
        collector.add(&main.file, place, problem);
    }
    collector.loaded
}

/// `MBPP/2` for `Mbpp/2` and 2; other ids as they stand.
fn task_id(row: &Row) -> Result<String, Defect> {
    if let Some(Value::Integer(number)) = row.fields.get("task_id") {
        return Ok(format!("MBPP/{number}"));
    }
    let id = row.needed("task_id")?;
    Ok(match id.split_once('/') {
        Some((set, number)) if set.to_ascii_lowercase().starts_with("mbpp") => {
            format!("MBPP/{number}")
        }
        _ => id.to_owned(),
    })
}

/// Where the parts of a problem stand.
struct Parts<'a> {
    main: &'a Row,
    by_position: Option<&'a Row>,
    more: Option<&'a Vec<&'a Row>>,
}

impl Parts<'_> {
    fn problem(&self, id: &str) -> Result<Problem, Defect> {
        let main = self.main;
        let entry_point = main.needed("entry_point")?;
        if !is_identifier(entry_point) {
            let reason = format!("`{entry_point}` is not a name");
            return Err(main
                .defect(reason, "name the function")
                .in_field("entry_point"));
        }
        let is_mbpp = id.starts_with("MBPP/");
        // The tests of HumanEval call `candidate`, and its inputs need nothing that JSON does not have.
        let told = if is_mbpp {
            let assertion = main.text("assertion")?.unwrap_or_default();
            assertions::read(&format!("{assertion}\n{}", listed_tests(main)), entry_point)
        } else {
            assertions::Told::default()
        };
        let mut cases: Vec<Call> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let sources = [
            (Some(main), "base_input"),
            (self.by_position, "base_input"),
            (Some(main), "plus_input"),
        ];
        let more = self
            .more
            .into_iter()
            .flatten()
            .map(|row| (Some(*row), "inputs"));
        for (row, field) in sources.into_iter().chain(more) {
            let Some(row) = row else { continue };
            let kind = if field == "base_input" {
                "base"
            } else {
                "plus"
            };
            for (index, input) in row.inputs(field)?.iter().enumerate() {
                let Some(arguments) = input.sequence() else {
                    let reason = format!("input {} is not a list of arguments", index + 1);
                    return Err(row
                        .defect(reason, "write each input as an array")
                        .in_field(field));
                };
                let arguments: std::sync::Arc<str> = Value::List(told.apply(arguments.to_vec()))
                    .to_string()
                    .into();
                if seen.insert(arguments.clone()) {
                    cases.push(Call {
                        name: format!("{kind} {}", index + 1),
                        arguments,
                        expected: None,
                    });
                }
            }
        }
        if cases.is_empty() {
            let reason = "has no inputs, so that every answer would pass";
            return Err(main
                .defect(reason, "give the file with its inputs")
                .in_field("base_input"));
        }
        let row = self.by_position.unwrap_or(main);
        let canonical = match main.text("canonical_solution")? {
            Some(text) => text,
            None => row.needed("reference")?,
        };
        Ok(Problem {
            id: id.into(),
            language: Language::Python,
            form: Form::Calls(Calls {
                target: Target::Function(entry_point.to_owned()),
                prompt: main.needed("prompt")?.to_owned(),
                preface: String::new(),
                template: None,
                cases,
                generator: None,
            }),
            canonical: Some(canonical.to_owned()),
            judging: judging(entry_point, tolerance(row), is_mbpp, told.as_set),
        })
    }
}

fn judging(entry_point: &str, absolute: f64, is_mbpp: bool, as_set: bool) -> Judging {
    if is_mbpp && PRESENCE.contains(&entry_point) {
        return Judging::Presence;
    }
    if !is_mbpp && entry_point == "find_zero" {
        return Judging::Checker(Checker {
            language: Language::Python,
            source: ROOT_CHECKER.to_owned(),
        });
    }
    Judging::Values(ValueRules {
        absolute,
        relative: RELATIVE,
        order: if as_set { Order::Sets } else { Order::Counts },
        ..ValueRules::PYTHON
    })
}

/// The assertions of `test_list`, and those in the prompt's docstring.
fn listed_tests(row: &Row) -> String {
    let mut lines: Vec<&str> = Vec::new();
    if let Some(Value::List(tests)) = row.fields.get("test_list") {
        lines.extend(tests.iter().filter_map(|test| match test {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        }));
    }
    let prompt = row.text("prompt").ok().flatten().unwrap_or_default();
    lines.extend(prompt.lines().filter(|line| line.starts_with("assert ")));
    lines.join("\n")
}

/// Reads the files.
///
/// # Errors
/// One of them cannot be read.
pub(super) fn load(paths: &[std::path::PathBuf]) -> Result<Loaded, Defect> {
    let mut files = Vec::new();
    for path in paths {
        files.push((path.display().to_string(), json_lines::read(path)?));
    }
    Ok(parse(&files))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> (String, Vec<u8>) {
        (name.into(), text.as_bytes().to_vec())
    }

    fn cases(problem: &Problem) -> Vec<String> {
        let Form::Calls(calls) = &problem.form else {
            panic!("no calls");
        };
        (calls.cases.iter())
            .map(|case| format!("{}: {}", case.name, case.arguments))
            .collect()
    }

    #[test]
    fn mbpp_inputs_get_the_types_of_the_assertions() {
        let row = r#"{"task_id": "Mbpp/2", "prompt": "\"\"\"\nShared.\nassert set(similar((3, 4),(4,))) == set((4,))\n\"\"\"\n", "entry_point": "similar", "canonical_solution": "\ndef similar(a, b):\n  return a\n", "base_input": [[[3, 4], [4]]], "plus_input": [[[], [Infinity]], [[3, 4], [4]], [[123456789012345678901234567890], []]], "atol": 0, "assertion": "\nassert similar((3, 4),(4,)) == (4,)\n"}"#;
        let loaded = parse(&[file("f", row)]);
        assert!(loaded.skipped.is_empty(), "{:?}", loaded.skipped);
        let problem = &loaded.problems[0];
        assert_eq!(problem.id, "MBPP/2");
        assert_eq!(
            cases(problem),
            [
                "base 1: [(3, 4), (4,)]",
                "plus 1: [(), (inf,)]",
                "plus 3: [(123456789012345678901234567890,), ()]"
            ]
        );
        assert!(matches!(&problem.judging, Judging::Values(rules) if rules.order == Order::Sets));
    }

    #[test]
    fn parts_of_humaneval_plus_are_joined() {
        let main = r#"{"task_id": "HumanEval/0", "prompt": "def f(a):\n", "entry_point": "f", "canonical_solution": "  return a\n", "test": "def check(candidate): pass"}"#;
        let reference = r#"{"contract": "", "reference": "  return a\n", "base_input": [[1.5]], "atol": 0.001}"#;
        let inputs = r#"{"task_id": "HumanEval_0", "inputs": [[1.5], [2]]}"#;
        let loaded = parse(&[file("i", inputs), file("r", reference), file("m", main)]);
        assert_eq!(cases(&loaded.problems[0]), ["base 1: [1.5]", "plus 2: [2]"]);
        assert!(
            matches!(&loaded.problems[0].judging, Judging::Values(rules) if rules.absolute == 0.001)
        );
        let alone = parse(&[file("r", reference)]);
        assert!(
            alone.skipped[0]
                .to_string()
                .contains("HumanEval's own file")
        );
        let without = parse(&[file("m", main)]);
        assert!(without.skipped[0].to_string().contains("has no inputs"));
    }

    #[test]
    fn some_problems_have_rules_of_their_own() {
        assert_eq!(judging("check_str", 0.0, true, false), Judging::Presence);
        assert!(matches!(
            judging("find_zero", 0.0, false, false),
            Judging::Checker(_)
        ));
        assert!(matches!(
            judging("check_str", 0.0, false, false),
            Judging::Values(_)
        ));
    }
}
