//! LeetCodeDataset: problems of LeetCode with tests; one object a line: `task_id` (the site's name of the problem),
//! `entry_point` (`Solution().name`), `input_output`, `starter_code`, `prompt`, `completion`, `problem_description`.
//!
//! Files that join other people's solutions to it have `slug`, `python_prompt` and `python_completion`, and solutions
//! in `cpp` and `python` by where they come from. Quirks:
//! - Results that are text stand without quotes; a result `Error: ...` or `Execution timed out` was made by a solution
//!   that failed on an input outside the problem's bounds, and its case is left out.
//! - Results were made by one solution and compared exactly. Where the site takes any order, so does the rule here.
//! - The file has no C++ signature: C++ answers tell theirs. Numbers that are too large for the first solution's types
//!   come from Python solutions; for C++ their tests are left out.
//! - Inputs were generated, some outside of the bounds that the problem's statement sets. Where the row has a statement,
//!   or one is given beside the file, such tests are left out.
use super::bounds::Bounds;
use super::json_lines::{Record, records};
use super::leetcode;
use super::signature::Target;
use super::statements::{self, Statements};
use super::{
    BoundsRead, Call, Collector, Defect, Expected, ExpectedSource, Form, Language, Loaded, Problem,
};
use crate::verdict::Order;
use serde_json::Value as Json;

/// Problems for which the site takes the elements in any order, where the file has no description that says so.
const OUTER_FREE: &[&str] = &[
    "find-common-characters",
    "find-duplicate-file-in-system",
    "find-indices-with-index-and-value-difference-i",
    "find-indices-with-index-and-value-difference-ii",
    "find-players-with-zero-or-one-losses",
    "intersection-of-two-arrays",
    "intersection-of-two-arrays-ii",
    "letter-combinations-of-a-phone-number",
    "pacific-atlantic-water-flow",
    "permutations",
    "permutations-ii",
    "subdomain-visit-count",
    "top-k-frequent-elements",
    "top-k-frequent-words",
    "word-break-ii",
    "word-ladder-ii",
    "word-search-ii",
];

/// And of the elements' own elements.
const FREE: &[&str] = &[
    "3sum",
    "4sum",
    "accounts-merge",
    "combination-sum",
    "combination-sum-ii",
    "combination-sum-iii",
    "combinations",
    "group-anagrams",
    "subsets",
    "subsets-ii",
    "two-sum",
];

/// Reads the problems of a file, for candidates of a language.
pub(super) fn parse(
    file: &str,
    bytes: &[u8],
    language: Language,
    statements: &Statements,
) -> Loaded {
    let mut left_out = Vec::new();
    let mut bounds_read = BoundsRead::default();
    let mut loaded = Collector::read(file, records(file, bytes), |record| {
        let id = match record.optional_text("task_id")? {
            Some(id) => id,
            None => record.text("slug")?,
        };
        read(
            record,
            &id,
            language,
            statements,
            &mut left_out,
            &mut bounds_read,
        )
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
    statements: &Statements,
    left_out: &mut Vec<Defect>,
    bounds_read: &mut BoundsRead,
) -> Result<Problem, Defect> {
    let entry_point = record.source("entry_point")?;
    let name = entry_point.rsplit('.').next().unwrap_or_default();
    if !super::humaneval::is_identifier(name) {
        let reason = format!("`{entry_point}` names no method");
        return Err(record
            .defect(reason, "write it as `Solution().name`")
            .in_field("entry_point"));
    }
    let target = Target::Method(name.to_owned());
    let either = |first: &str, second: &str| match record.optional_text(first)? {
        Some(text) => Ok(Some(text)),
        None => record.optional_text(second),
    };
    let completion = either("completion", "python_completion")?;
    let starter = record.optional_text("starter_code")?;
    let typed = (starter.iter().chain(&completion))
        .find_map(|source| leetcode::function_of(source, &target).ok().flatten());
    let Some(function) = typed else {
        let reason = format!("neither starter code nor completion has the method `{name}`");
        let remedy = "add the class with the method";
        return Err(record.defect(reason, remedy).in_field("starter_code"));
    };
    let mut calls = leetcode::calls(target, language, None);
    let mut canonical = None;
    let mut cpp_function = None;
    match language {
        Language::Python => {
            calls.template.clone_from(&starter);
            calls.prompt = starter.unwrap_or_default();
            // The file's own preface, as far as modules of the standard library go.
            if let Some(prompt) = either("prompt", "python_prompt")? {
                let known = |line: &&str| !line.contains("sortedcontainers");
                let own: Vec<&str> = prompt.lines().filter(known).collect();
                calls.preface = format!("{}\n{}\n", leetcode::PYTHON_PREFACE, own.join("\n"));
            }
            canonical = completion;
        }
        Language::Cpp => {
            let sets = record.fields.get("cpp").and_then(Json::as_object);
            let mut codes = sets
                .into_iter()
                .flat_map(|sets| sets.values())
                .flat_map(codes);
            if let Some(code) = codes.next() {
                cpp_function = leetcode::function_of(code, &calls.target).ok().flatten();
                canonical = Some(code.to_owned());
            }
        }
    }
    let own = statements::of_record(record);
    let bounds = (statements.get(id).or(own.as_deref())).map(|text| Bounds::read(text, &function));
    if let Some(bounds) = &bounds {
        bounds_read.add(bounds);
    }
    let tests = match record.fields.get("input_output") {
        Some(Json::Array(tests)) => tests.as_slice(),
        _ => &[],
    };
    for (index, test) in tests.iter().enumerate() {
        let name = (index + 1).to_string();
        let field = |field: &str| {
            (test.get(field).and_then(Json::as_str)).ok_or_else(|| format!("`{field}` is no text"))
        };
        let case = field("input").and_then(|input| {
            let found = leetcode::arguments(input)?;
            let arguments = leetcode::in_order(found, &function)?;
            let broken = bounds.as_ref().and_then(|bounds| bounds.broken(&arguments));
            if let Some(broken) = broken {
                return Err(format!("{}{broken}", leetcode::OUT_OF_BOUNDS));
            }
            let expected = leetcode::result(field("output")?, &function)?;
            if let Some(function) = &cpp_function {
                leetcode::fitting(&arguments, &expected, function)?;
            }
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
                    .defect(format!("test {name}: {reason}"), "the test is left out")
                    .in_field("input_output")
                    .of_problem(id),
            ),
        }
    }
    if calls.cases.is_empty() {
        let reason = "no test can be read, so that there is nothing to test with";
        return Err(record
            .defect(reason, "correct the tests")
            .in_field("input_output"));
    }
    let judging = match record.optional_text("problem_description")? {
        _ if FREE.contains(&id) => leetcode::rules(Order::Free),
        _ if OUTER_FREE.contains(&id) => leetcode::rules(Order::OuterFree),
        description => leetcode::judging(&description.unwrap_or_default()),
    };
    Ok(Problem {
        id: id.into(),
        language,
        form: Form::Calls(calls),
        canonical,
        judging,
    })
}

/// The sources of one set of solutions: `[{"code": "..."}]`.
pub(crate) fn codes(set: &Json) -> impl Iterator<Item = &str> {
    let entries = set.as_array().map_or(&[][..], Vec::as_slice);
    (entries.iter()).filter_map(|entry| entry.get("code").and_then(Json::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_cases_for_both_languages() {
        let row = serde_json::json!({"task_id": "two-sum", "entry_point": "Solution().twoSum",
            "starter_code": "class Solution:\n    def twoSum(self, nums: List[int], target: int) -> List[int]:\n        ",
            "prompt": "from typing import *\nfrom sortedcontainers import SortedList\nx = 1\n", "completion": "class Solution: pass",
            "cpp": {"a/b": [{"path": "p", "code": "class Solution {};"}]},
            "input_output": [{"input": "target = 9, nums = [2,7]", "output": "[0, 1]"},
                {"input": "nums = [1]", "output": "[0]"}, {"input": "nums = [], target = 1", "output": "Error: no"}]})
        .to_string();
        let loaded = parse(
            "f",
            row.as_bytes(),
            Language::Python,
            &Statements::default(),
        );
        let problem = &loaded.problems[0];
        let Form::Calls(calls) = &problem.form else {
            panic!("no calls");
        };
        assert_eq!(&*calls.cases[0].arguments, "[[2, 7], 9]");
        assert!(calls.preface.ends_with("from typing import *\nx = 1\n"));
        assert_eq!(loaded.left_out.len(), 2);
        assert!(
            matches!(&problem.judging, crate::verdict::Judging::Values(rules) if rules.order == Order::Free)
        );
        let loaded = parse("f", row.as_bytes(), Language::Cpp, &Statements::default());
        assert_eq!(
            loaded.problems[0].canonical.as_deref(),
            Some("class Solution {};")
        );
    }

    #[test]
    fn tests_with_numbers_that_the_cpp_types_do_not_hold_are_left_out_for_cpp() {
        let row = serde_json::json!({"slug": "s", "entry_point": "Solution().f",
            "python_completion": "class Solution:\n    def f(self, nums: List[int]) -> int:\n        return sum(nums)",
            "cpp": {"a/b": [{"code": "class Solution {\npublic:\n    int f(vector<int>& nums) { return 0; }\n};"}]},
            "input_output": [{"input": "nums = [1, 2]", "output": "3"},
                {"input": "nums = [10000000000]", "output": "1"},
                {"input": "nums = [2147483647, 1]", "output": "2147483648"}]})
        .to_string();
        let count = |loaded: &Loaded| match &loaded.problems[0].form {
            Form::Calls(calls) => calls.cases.len(),
            _ => 0,
        };
        assert_eq!(
            count(&parse(
                "f",
                row.as_bytes(),
                Language::Python,
                &Statements::default()
            )),
            3
        );
        let loaded = parse("f", row.as_bytes(), Language::Cpp, &Statements::default());
        assert_eq!(count(&loaded), 1);
        let messages: Vec<_> = loaded.left_out.iter().map(Defect::to_string).collect();
        assert!(
            messages[0].contains("test 2: `nums`: 10000000000 does not fit `vector<int>&`")
                || messages[0].contains("test 2: `nums`: 10000000000 does not fit `vector<int> &`"),
            "{messages:?}"
        );
        assert!(
            messages[1].contains("test 3: the expected result: 2147483648 does not fit `int`"),
            "{messages:?}"
        );
    }

    #[test]
    fn tests_outside_of_the_bounds_of_the_statement_are_left_out() {
        let row = serde_json::json!({"slug": "s", "entry_point": "Solution().f",
            "starter_code": "class Solution:\n    def f(self, nums: List[int], s: str) -> int:\n        ",
            "problem_description": "Sum it.\n\nConstraints:\n\n1 <= nums.length <= 2\ns consists of lowercase English letters.\nThe answer is unique.\n",
            "input_output": [{"input": "nums = [1, 2], s = \"a\"", "output": "3"},
                {"input": "nums = [], s = \"a\"", "output": "0"},
                {"input": "s = \"A\", nums = [1]", "output": "Error: 1"}]})
        .to_string();
        for language in [Language::Python, Language::Cpp] {
            let loaded = parse("f", row.as_bytes(), language, &Statements::default());
            let Form::Calls(calls) = &loaded.problems[0].form else {
                panic!("no calls");
            };
            assert_eq!(calls.cases.len(), 1);
            let messages: Vec<_> = loaded.left_out.iter().map(Defect::to_string).collect();
            assert!(
                messages[0].contains(
                    "test 2: outside of the bounds: `1 <= nums.length <= 2`, and nums.length is 0"
                ),
                "{messages:?}"
            );
            assert!(messages[1].contains("test 3: outside of the bounds: `s consists of lowercase English letters`, and there is 'A'"), "{messages:?}");
        }
    }

    #[test]
    fn rows_without_a_signature_or_tests_are_left_out() {
        let rows = [
            serde_json::json!({"task_id": "a", "entry_point": "Solution()"}),
            serde_json::json!({"task_id": "b", "entry_point": "Solution().f", "completion": "class Solution: pass"}),
            serde_json::json!({"slug": "c", "entry_point": "Solution().f",
                "python_completion": "class Solution:\n    def f(self): pass", "input_output": []}),
        ]
        .map(|row| row.to_string());
        let loaded = parse(
            "f",
            rows.join("\n").as_bytes(),
            Language::Cpp,
            &Statements::default(),
        );
        let messages: Vec<_> = loaded.skipped.iter().map(Defect::to_string).collect();
        assert!(messages[0].contains("names no method"));
        assert!(messages[1].contains("has the method `f`"));
        assert!(messages[2].contains("problem `c`, field `input_output`"));
    }
}
