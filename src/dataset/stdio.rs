//! Programs with inputs and outputs: folders with `input.N.txt` and `output.N.txt`, or JSON lines.
//!
//! A folder is one problem if it holds an `input.N.txt`, else a folder of problem folders; the folder's name is the
//! id. In JSON lines an object is `{"id", "language"?, "tests": [{"input", "output"}], "judging"?}`.
use super::json_lines::{Record, records};
use super::rules;
use super::{Collector, Defect, Form, Language, Loaded, Problem, TestCase};
use crate::verdict::Judging;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Reads the problems of a JSON-lines file.
pub(super) fn parse(file: &str, bytes: &[u8], language: Language) -> Loaded {
    Collector::read(file, records(file, bytes), |record| {
        problem(record, language)
    })
}

fn problem(record: &Record<'_>, language: Language) -> Result<Problem, Defect> {
    let id = record.text("id")?;
    read(record, &id, language).map_err(|defect| defect.of_problem(&id))
}

fn read(record: &Record<'_>, id: &str, default: Language) -> Result<Problem, Defect> {
    let language = match record.optional_text("language")?.as_deref() {
        None => default,
        Some("cpp" | "c++" | "C++") => Language::Cpp,
        Some("python" | "python3" | "Python") => Language::Python,
        Some(other) => {
            let reason = format!("unknown language `{other}`");
            let remedy = "write `cpp` or `python`";
            return Err(record.defect(reason, remedy).in_field("language"));
        }
    };
    let tests = match record.fields.get("tests") {
        Some(Value::Array(tests)) if !tests.is_empty() => tests,
        Some(Value::Array(_)) => return Err(without_tests(record, "is empty")),
        Some(_) => return Err(without_tests(record, "is not an array")),
        None => return Err(without_tests(record, "is missing")),
    };
    let mut cases = Vec::new();
    for (index, test) in tests.iter().enumerate() {
        let text = |name: &str| match test.get(name) {
            Some(Value::String(text)) => Ok(text.as_bytes().into()),
            _ => {
                let reason = format!("test {}: `{name}` is missing or not text", index + 1);
                let remedy = "write each test as {\"input\": \"...\", \"output\": \"...\"}";
                Err(record.defect(reason, remedy).in_field("tests"))
            }
        };
        cases.push(TestCase {
            name: (index + 1).to_string(),
            stdin: text("input")?,
            expected: text("output")?,
            alternatives: alternatives(test),
        });
    }
    let judging = match record.fields.get("judging") {
        None | Some(Value::Null) => Judging::default(),
        Some(rule) => (super::Value::parse(&rule.to_string()))
            .and_then(|rule| rules::read(&rule, "tokens"))
            .map_err(|reason| {
                let remedy = "write it as docs/judging.md says";
                record.defect(reason, remedy).in_field("judging")
            })?,
    };
    Ok(Problem {
        id: id.into(),
        language,
        form: Form::Program { cases },
        canonical: record.optional_text("solution")?,
        judging,
    })
}

/// Other right outputs of a test.
fn alternatives(test: &Value) -> Vec<std::sync::Arc<[u8]>> {
    let others = test.get("other_outputs").and_then(Value::as_array);
    (others.into_iter().flatten())
        .filter_map(|other| other.as_str().map(|text| text.as_bytes().into()))
        .collect()
}

fn without_tests(record: &Record<'_>, reason: &str) -> Defect {
    let remedy = "give at least one {\"input\": \"...\", \"output\": \"...\"}";
    record.defect(reason, remedy).in_field("tests")
}

/// Reads a problem folder or a folder of them.
pub(super) fn load_folder(path: &Path, language: Language) -> Result<Loaded, Defect> {
    let shown = path.display().to_string();
    let names = entries(path)?;
    let mut collector = Collector::default();
    if names.iter().any(|name| numbered(name, "input").is_some()) {
        collector.add(
            &shown,
            shown.clone(),
            folder_problem(path, &names, language),
        );
        return Ok(collector.loaded);
    }
    let mut folders: Vec<PathBuf> = (names.iter().map(|name| path.join(name)))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort_by_key(|path| natural(&path.file_name().unwrap_or_default().to_string_lossy()));
    for folder in folders {
        let read = entries(&folder).and_then(|names| folder_problem(&folder, &names, language));
        collector.add(
            &folder.display().to_string(),
            folder.display().to_string(),
            read,
        );
    }
    Ok(collector.loaded)
}

fn folder_problem(path: &Path, names: &[String], language: Language) -> Result<Problem, Defect> {
    // `.` and `dir/..` have no last name of their own.
    let real = path.canonicalize().unwrap_or_else(|_| path.into());
    let id = real
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let defect = |reason: String, remedy: &str| {
        Defect::of_file(path.display(), reason, remedy).of_problem(&id)
    };
    let mut numbers: Vec<(u64, &str)> = (names.iter())
        .filter_map(|name| Some((numbered(name, "input")?, name.as_str())))
        .collect();
    numbers.sort_unstable();
    if numbers.is_empty() {
        return Err(defect(
            "has no test cases".into(),
            "add `input.1.txt` and `output.1.txt`",
        ));
    }
    let mut cases = Vec::new();
    for (number, input) in numbers {
        let output = input.replacen("input", "output", 1);
        let bytes = |name: &str| {
            std::fs::read(path.join(name)).map_err(|error| {
                let reason = format!("cannot read `{name}`: {error}");
                defect(reason, "each `input.N.txt` needs its `output.N.txt`")
            })
        };
        cases.push(TestCase {
            name: number.to_string(),
            stdin: bytes(input)?.into(),
            expected: bytes(&output)?.into(),
            alternatives: Vec::new(),
        });
    }
    Ok(Problem {
        id: id.clone(),
        language,
        form: Form::Program { cases },
        canonical: None,
        judging: Judging::default(),
    })
}

/// The names in a folder, in order.
pub(super) fn entries(path: &Path) -> Result<Vec<String>, Defect> {
    let unreadable = |error: std::io::Error| {
        let reason = format!("cannot list it: {error}");
        Defect::of_file(path.display(), reason, "check path and permissions")
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    // The order of a directory differs between file systems.
    names.sort_unstable();
    Ok(names)
}

/// N, for `<stem>.N.txt`.
fn numbered(name: &str, stem: &str) -> Option<u64> {
    let number = name
        .strip_prefix(stem)?
        .strip_prefix('.')?
        .strip_suffix(".txt")?;
    number.parse().ok()
}

/// A key that sorts `p2` before `p10`: text, then the number at its end, then the text as it stands.
fn natural(name: &str) -> (String, u64, String) {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (text, number) = name.split_at(name.len() - digits);
    (text.into(), number.parse().unwrap_or(0), name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tickmark-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn write(path: &Path, number: u64) {
        std::fs::create_dir_all(path).unwrap();
        std::fs::write(
            path.join(format!("input.{number}.txt")),
            format!("{number}"),
        )
        .unwrap();
        std::fs::write(path.join(format!("output.{number}.txt")), "\n").unwrap();
    }

    #[test]
    fn cases_and_problems_come_in_numeric_order() {
        let root = folder("order");
        for number in [10, 2, 1] {
            write(&root.join("p10"), number);
        }
        write(&root.join("p9"), 1);
        std::fs::create_dir_all(root.join("empty")).unwrap();
        let loaded = load_folder(&root, Language::Cpp).unwrap();
        let ids: Vec<_> = loaded.problems.iter().map(|p| p.id.as_str()).collect();
        assert_eq!(ids, ["p9", "p10"]);
        let Form::Program { cases } = &loaded.problems[1].form else {
            panic!("not a program");
        };
        let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["1", "2", "10"]);
        assert_eq!(&*cases[2].stdin, b"10");
        assert!(loaded.skipped[0].to_string().contains("has no test cases"));
        let one = load_folder(&root.join("p10"), Language::Python).unwrap();
        assert_eq!(one.problems[0].id, "p10");
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn an_input_without_output_leaves_the_problem_out() {
        let root = folder("half");
        write(&root, 1);
        std::fs::write(root.join("input.2.txt"), "").unwrap();
        let loaded = load_folder(&root, Language::Cpp).unwrap();
        assert!(loaded.problems.is_empty());
        assert!(loaded.skipped[0].to_string().contains("`output.2.txt`"));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_problem_can_have_a_rule_and_other_outputs() {
        let text = "{\"id\": \"a\", \"tests\": [{\"input\": \"\", \"output\": \"x\", \"other_outputs\": [\"y\"]}], \
                    \"judging\": {\"absolute\": 1e-6}}\n\
                    {\"id\": \"b\", \"tests\": [{\"input\": \"\", \"output\": \"x\"}], \"judging\": {\"rule\": \"no\"}}\n";
        let loaded = parse("f", text.as_bytes(), Language::Cpp);
        let problem = &loaded.problems[0];
        let Form::Program { cases } = &problem.form else {
            panic!("not a program");
        };
        assert_eq!(&*cases[0].alternatives[0], b"y");
        assert!(matches!(&problem.judging, Judging::Tokens(c) if c.tolerance.is_some()));
        assert!(
            loaded.skipped[0]
                .to_string()
                .contains("field `judging`: `no` is no rule")
        );
    }

    #[test]
    fn json_lines_give_the_exact_bytes() {
        let text = "{\"id\": \"a\", \"tests\": [{\"input\": \"\", \"output\": \"x\\u0000\\r\\n\"}]}\n\
                    {\"id\": \"b\", \"language\": \"python\", \"tests\": []}\n\
                    {\"id\": \"c\", \"language\": \"perl\", \"tests\": [1]}\n\
                    {\"id\": \"d\", \"language\": \"python\", \"tests\": [{\"input\": \"1\"}]}\n";
        let loaded = parse("f", text.as_bytes(), Language::Cpp);
        let Form::Program { cases } = &loaded.problems[0].form else {
            panic!("not a program");
        };
        assert_eq!(
            (&*cases[0].stdin, &*cases[0].expected),
            (&b""[..], &b"x\0\r\n"[..])
        );
        let messages: Vec<_> = loaded.skipped.iter().map(Defect::to_string).collect();
        assert!(messages[0].contains("line 2, problem `b`, field `tests`: is empty"));
        assert!(messages[1].contains("unknown language `perl`"));
        assert!(messages[2].contains("test 1: `output` is missing"));
    }
}
