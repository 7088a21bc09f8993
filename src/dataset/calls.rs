//! A plain form of our own for functions and classes that are called: JSON lines, as docs/formats.md describes them.
use super::humaneval::is_identifier;
use super::leetcode;
use super::rows::{Row, rows};
use super::rules;
use super::signature::Target;
use super::{
    Call, Calls, Collector, Defect, Expected, ExpectedSource, Form, Language, Loaded, Problem,
    Value,
};
use crate::verdict::{Judging, ValueRules};

/// Reads the problems of a file, for candidates of a language where a row does not tell.
pub(super) fn parse(file: &str, bytes: &[u8], language: Language) -> Loaded {
    let mut collector = Collector::default();
    for read in rows(file, bytes) {
        let place = read
            .as_ref()
            .map_or(String::new(), |r| format!("line {}", r.line));
        let problem = read.and_then(|row| {
            let id = row.needed("id")?.to_owned();
            problem(&row, &id, language).map_err(|defect| defect.of_problem(&id))
        });
        collector.add(file, place, problem);
    }
    collector.loaded
}

fn problem(row: &Row, id: &str, default: Language) -> Result<Problem, Defect> {
    let language = match row.text("language")? {
        None => default,
        Some("cpp") => Language::Cpp,
        Some("python") => Language::Python,
        Some(other) => {
            let reason = format!("unknown language `{other}`");
            return Err(row
                .defect(reason, "write `cpp` or `python`")
                .in_field("language"));
        }
    };
    type Make = fn(String) -> Target;
    let targets: [(&str, Make); 3] = [
        ("function", Target::Function),
        ("method", Target::Method),
        ("class", Target::Design),
    ];
    let mut target = None;
    for (field, make) in targets {
        if let Some(name) = row.text(field)? {
            if !is_identifier(name) || target.is_some() {
                let reason = "is not a name, or another of these fields is there too";
                let remedy = "give one of `function`, `method` and `class`";
                return Err(row.defect(reason, remedy).in_field(field));
            }
            target = Some(make(name.to_owned()));
        }
    }
    let Some(target) = target else {
        let reason = "does not say what is called";
        return Err(row.defect(reason, "give one of `function`, `method` and `class`"));
    };
    let text = |field: &str| row.text(field).map(|text| text.map(str::to_owned));
    let mut calls = if target.is_class() {
        leetcode::calls(target, language, text("template")?)
    } else {
        Calls {
            target,
            prompt: String::new(),
            preface: String::new(),
            template: text("template")?,
            cases: Vec::new(),
            generator: None,
        }
    };
    if let Some(prompt) = text("prompt")? {
        calls.prompt = prompt;
    }
    if let Some(preface) = text("preface")? {
        calls.preface = preface;
    }
    for (index, test) in row.inputs("tests")?.iter().enumerate() {
        let case = case(test, (index + 1).to_string(), language).map_err(|reason| {
            let remedy = "write each test as {\"input\": [...], \"output\": ...}";
            row.defect(format!("test {}: {reason}", index + 1), remedy)
                .in_field("tests")
        })?;
        calls.cases.push(case);
    }
    if calls.cases.is_empty() {
        let remedy = "give at least one {\"input\": [...], \"output\": ...}";
        return Err(row.defect("there are no tests", remedy).in_field("tests"));
    }
    let judging = match row.fields.get("judging") {
        None | Some(Value::Null) => Judging::Values(ValueRules {
            sequences_alike: true,
            absolute: 1e-9,
            relative: 1e-9,
            ..ValueRules::PYTHON
        }),
        Some(value) => rules::read(value, "values").map_err(|reason| {
            let remedy = "write it as docs/judging.md says";
            row.defect(reason, remedy).in_field("judging")
        })?,
    };
    Ok(Problem {
        id: id.into(),
        language,
        form: Form::Calls(calls),
        canonical: text("solution")?,
        judging,
    })
}

fn case(test: &Value, name: String, language: Language) -> Result<Call, String> {
    let Value::Map(entries) = test else {
        return Err("it is not an object".into());
    };
    let get = |name: &str| {
        let found = entries
            .iter()
            .find(|(key, _)| *key == Value::Text(name.into()));
        found.map(|(_, value)| value.clone())
    };
    let input = get("input").and_then(|input| input.sequence().map(<[Value]>::to_vec));
    let input = input.ok_or("`input` is not an array of arguments")?;
    let answers = match (get("output"), get("outputs")) {
        (Some(output), None) => vec![output],
        (None, Some(Value::List(outputs))) if !outputs.is_empty() => outputs,
        (None, None) => Vec::new(),
        _ => return Err("give `output`, or `outputs` as an array".into()),
    };
    Ok(Call {
        name,
        arguments: leetcode::wire(input, language)?.into(),
        expected: (!answers.is_empty()).then_some(Expected {
            answers,
            source: ExpectedSource::DataSet,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_problems() {
        let text = "{\"id\": \"a\", \"language\": \"python\", \"function\": \"f\", \"prompt\": \"def f(x):\\n\", \
                    \"tests\": [{\"input\": [[1, 2]], \"output\": 3}, {\"input\": [[]], \"outputs\": [0, null]}, {\"input\": [[5]]}], \
                    \"judging\": {\"order\": \"free\"}, \"solution\": \"  return sum(x)\"}\n\
                    {\"id\": \"b\", \"method\": \"f\", \"tests\": [{\"input\": [\"x\"], \"output\": true}]}";
        let loaded = parse("f", text.as_bytes(), Language::Cpp);
        assert!(loaded.skipped.is_empty(), "{:?}", loaded.skipped);
        let Form::Calls(calls) = &loaded.problems[0].form else {
            panic!("no calls");
        };
        assert_eq!(calls.cases[1].expected.as_ref().unwrap().answers.len(), 2);
        assert!(calls.cases[2].expected.is_none());
        let Form::Calls(calls) = &loaded.problems[1].form else {
            panic!("no calls");
        };
        assert_eq!(&*calls.cases[0].arguments, "[\"x\"]");
        assert_eq!(calls.target, Target::Method("f".into()));
    }

    #[test]
    fn rows_with_defects_are_left_out_with_reasons() {
        let text = "{\"id\": \"a\", \"tests\": []}\n{\"id\": \"b\", \"function\": \"f\", \"method\": \"g\"}\n\
                    {\"id\": \"c\", \"function\": \"f\"}\n{\"id\": \"d\", \"function\": \"f\", \"tests\": [{\"input\": 1}]}\n\
                    {\"id\": \"e\", \"function\": \"f\", \"language\": \"c\"}\n\
                    {\"id\": \"f\", \"function\": \"f\", \"tests\": [{\"input\": []}], \"judging\": {\"rule\": \"x\"}}";
        let loaded = parse("f", text.as_bytes(), Language::Cpp);
        let messages: Vec<_> = loaded.skipped.iter().map(Defect::to_string).collect();
        for (message, part) in messages.iter().zip([
            "does not say what is called",
            "field `method`",
            "there are no tests",
            "test 1: `input` is not an array",
            "unknown language",
            "`x` is no rule",
        ]) {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(messages.len(), 6);
    }
}
