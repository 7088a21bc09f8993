//! LeetCodeEval: problems of LeetCode with templates; the examples of the description are the test cases.
//!
//! One object a line: `id`, `description`, `examples` (Markdown with `**Input:**` and `**Output:**`), `templates` by
//! language. The signature is that of the C++ template for both languages: it has types.
use super::bounds::Bounds;
use super::json_lines::{Record, records};
use super::leetcode;
use super::signature::{self, Target};
use super::statements;
use super::{
    BoundsRead, Call, Collector, Defect, Expected, ExpectedSource, Form, Language, Loaded, Problem,
    Value,
};
use serde_json::Value as Json;

/// Reads the problems of a file, for candidates of a language.
pub(super) fn parse(file: &str, bytes: &[u8], language: Language) -> Loaded {
    let mut left_out = Vec::new();
    let mut bounds_read = BoundsRead::default();
    let mut loaded = Collector::read(file, records(file, bytes), |record| {
        let id = record.text("id")?;
        read(record, &id, language, &mut left_out, &mut bounds_read)
            .map_err(|defect| defect.of_problem(&id))
    });
    loaded.left_out = left_out;
    loaded.bounds = bounds_read;
    loaded
}

fn read(
    record: &Record<'_>,
    id: &str,
    language: Language,
    left_out: &mut Vec<Defect>,
    bounds_read: &mut BoundsRead,
) -> Result<Problem, Defect> {
    let template = |name: &str| {
        let text = record.fields.get("templates").and_then(|t| t.get(name));
        text.and_then(Json::as_str)
            .map(str::to_owned)
            .ok_or_else(|| {
                let reason = format!("has no template for `{name}`");
                record
                    .defect(reason, "add the site's template")
                    .in_field("templates")
            })
    };
    let cpp = template("cpp")?;
    let wrong = |reason: String| {
        record
            .defect(reason, "correct the template")
            .in_field("templates")
    };
    let target = signature::target_of_cpp_template(&cpp).map_err(wrong)?;
    let function = leetcode::function_of(&cpp, &target).map_err(wrong)?;
    let own = match language {
        Language::Cpp => cpp.clone(),
        Language::Python => template("python3")?,
    };
    let mut calls = leetcode::calls(target.clone(), language, Some(own));
    let statement = statements::of_record(record);
    let bounds = (statement.as_deref().zip(function.as_ref()))
        .map(|(statement, function)| Bounds::read(statement, function));
    if let Some(bounds) = &bounds {
        bounds_read.add(bounds);
    }
    let examples = match record.fields.get("examples") {
        Some(Json::Array(examples)) => examples.as_slice(),
        _ => &[],
    };
    for (index, example) in examples.iter().enumerate() {
        let name = (index + 1).to_string();
        let case = (example.as_str().ok_or_else(|| "it is not text".to_owned())).and_then(|text| {
            let (arguments, expected) = match &function {
                Some(function) => {
                    let (arguments, expected) = example_of(text, function)?;
                    if let Some(broken) = bounds.as_ref().and_then(|b| b.broken(&arguments)) {
                        return Err(format!("{}{broken}", leetcode::OUT_OF_BOUNDS));
                    }
                    if language == Language::Cpp {
                        leetcode::fitting(&arguments, &expected, function)?;
                    }
                    (arguments, expected)
                }
                None => design_example(text, &target)?,
            };
            Ok(Call {
                name: name.clone(),
                arguments: leetcode::wire(arguments, language)?.into(),
                expected: Some(Expected {
                    answers: vec![expected],
                    source: ExpectedSource::DataSet,
                }),
            })
        });
        match case {
            Ok(case) => calls.cases.push(case),
            Err(reason) => left_out.push(
                record
                    .defect(
                        format!("example {name}: {reason}"),
                        "the example is left out",
                    )
                    .in_field("examples")
                    .of_problem(id),
            ),
        }
    }
    if calls.cases.is_empty() {
        let reason = "no example can be read, so that there is nothing to test with";
        return Err(record
            .defect(reason, "correct the examples")
            .in_field("examples"));
    }
    Ok(Problem {
        id: id.into(),
        language,
        form: Form::Calls(calls),
        canonical: None,
        judging: leetcode::judging(&record.optional_text("description")?.unwrap_or_default()),
    })
}

/// The texts behind `Input` and `Output`, up to the next heading.
fn sections(example: &str) -> Result<(String, String), String> {
    let plain = example.replace("**", "");
    let section = |name: &str, ends: &[&str]| {
        let start = plain
            .find(name)
            .ok_or_else(|| format!("it has no `{name}`"))?
            + name.len();
        let rest = plain[start..].trim_start_matches([':', ' ']);
        let end = (ends.iter().filter_map(|end| rest.find(end)).min()).unwrap_or(rest.len());
        Ok::<_, String>(rest[..end].trim().to_owned())
    };
    Ok((
        section("Input", &["\nOutput"])?,
        section("Output", &["\nExplanation", "\nConstraints", "\nNote"])?,
    ))
}

fn example_of(text: &str, function: &super::Function) -> Result<(Vec<Value>, Value), String> {
    let (input, output) = sections(text)?;
    let found = leetcode::arguments(&input)?;
    Ok((
        leetcode::in_order(found, function)?,
        leetcode::result(&output, function)?,
    ))
}

/// Two lists, of names and of arguments, and the list of results.
fn design_example(text: &str, target: &Target) -> Result<(Vec<Value>, Value), String> {
    let (input, output) = sections(text)?;
    let lists: Vec<Value> = (leetcode::arguments(&input)?.into_iter())
        .map(|(_, value)| value)
        .collect();
    let expected = Value::parse(&output)?;
    let lengths = |value: &Value| value.sequence().map(<[Value]>::len);
    match lists.as_slice() {
        [names, arguments] if lengths(names).is_some() && lengths(names) == lengths(arguments) => {
            let first = names.sequence().and_then(<[Value]>::first);
            if first != Some(&Value::Text(target.defined_name().into())) {
                return Err("the first call is not that of the constructor".into());
            }
            if lengths(&expected) != lengths(names) {
                return Err("there are not as many results as calls".into());
            }
            Ok((lists, expected))
        }
        _ => Err("the input is not a list of names and a list of arguments".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(template: &str, examples: &[&str]) -> String {
        serde_json::json!({"id": "leetcode_1", "description": "Return it in any order.", "examples": examples,
            "templates": {"cpp": template, "python3": "class Solution:\n    def f(self, nums: List[int], s: str) -> str:\n        "}})
        .to_string()
    }

    const METHOD: &str = "class Solution {\npublic:\n    string f(vector<int>& nums, string s) {\n        \n    }\n};";

    fn cases(loaded: &Loaded) -> Vec<String> {
        let Form::Calls(calls) = &loaded.problems[0].form else {
            panic!("no calls");
        };
        (calls.cases.iter())
            .map(|case| {
                let expected = case.expected.as_ref().unwrap();
                format!("{} -> {}", case.arguments, expected.answers[0])
            })
            .collect()
    }

    #[test]
    fn examples_become_cases_and_the_rest_is_told() {
        let examples = [
            "**Input:** nums = [1,2], s = \"a\\nb\"\n**Output:** \"x\"\n**Explanation:** Output: no",
            "**Input**\nnums = [ ]\ns = \"\"\n**Output**\n\"\"",
            "**Input:** see the picture\n**Output:** \"x\"",
            "**Input:** nums = [1]\n**Output:** \"x\"",
        ];
        let text = row(METHOD, &examples);
        let loaded = parse("f", text.as_bytes(), Language::Cpp);
        assert_eq!(
            cases(&loaded),
            ["[[1,2],\"a\\nb\"] -> \"x\"", "[[],\"\"] -> \"\""]
        );
        assert_eq!(loaded.left_out.len(), 2);
        assert!(
            loaded.left_out[1]
                .to_string()
                .contains("1 arguments for 2 parameters")
        );
        let loaded = parse("f", text.as_bytes(), Language::Python);
        assert_eq!(cases(&loaded)[0], "[[1, 2], \"a\\nb\"] -> \"x\"");
    }

    #[test]
    fn a_design_example_is_a_list_of_calls() {
        let template = "class Box {\npublic:\n    Box(int n) {\n    }\n    int get() {\n    }\n};";
        let example = "**Input**\n[\"Box\", \"get\"]\n[[3], []]\n**Output**\n[null, 3]\n\n**Explanation**\nBox b";
        let loaded = parse("f", row(template, &[example]).as_bytes(), Language::Cpp);
        assert_eq!(
            cases(&loaded),
            ["[[\"Box\",\"get\"],[[3],[]]] -> [None, 3]"]
        );
        let wrong = example.replace("[null, 3]", "[null]");
        let loaded = parse("f", row(template, &[&wrong]).as_bytes(), Language::Cpp);
        assert!(loaded.problems.is_empty());
        assert!(loaded.left_out[0].to_string().contains("as many results"));
    }
}
