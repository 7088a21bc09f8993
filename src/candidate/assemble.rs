//! A candidate from a problem and an answer.
//!
//! Function problems:
//! - A `completion` continues the prompt, unless it repeats the function's signature: then it stands alone.
//! - What stands alone follows the part of the prompt before the function: its imports, directives and helper
//!   functions. A C++ answer that defines one of those helpers itself gets only the includes.
//! - Python: a completion ends at the first line at column 0 that begins `class`, `def`, `if __name__` or `print(`,
//!   where models go on after the answer; a function or class that the part before it names is kept.
//! - C++: a completion after which `main` follows ends with the function; what stands alone loses its `main`, since
//!   the test has one. The usual includes come first, since the prompts leave some out that the answers need.
//!
//! Programs: the code stands alone as it is.
use super::extract::{defines, extract};
use super::{Answer, Candidate};
use crate::dataset::{Form, Language, Problem, cpp_text};
use std::collections::BTreeSet;

/// What HumanEval-X includes before each C++ answer, less the libraries outside the standard.
const CPP_INCLUDES: &str = "\
#include <algorithm>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <math.h>
#include <numeric>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
";

/// Puts an answer together with its problem; `None` where the answer has no code.
pub fn assemble(problem: &Problem, answer: &Answer) -> Option<Candidate> {
    match (&problem.form, problem.language) {
        (Form::Program { .. }, language) => {
            let wanted = (language == Language::Cpp).then_some("main");
            let source = extract(answer, language, wanted).into_owned();
            (!source.trim().is_empty()).then_some(match language {
                Language::Cpp => Candidate::CppProgram { source },
                Language::Python => Candidate::PythonProgram { source },
            })
        }
        (Form::Calls(calls), language) => super::calls::assemble(calls, language, answer),
        (
            Form::Function {
                prompt,
                entry_point,
                test,
            },
            language,
        ) => {
            let mut source = function_source(prompt, language, entry_point, answer)?;
            let (entry_point, mut test) = (entry_point.clone(), test.clone());
            Some(match language {
                Language::Python => Candidate::PythonFunction {
                    source,
                    entry_point,
                    test,
                },
                Language::Cpp => {
                    // A test that begins by closing the function: completions of such data sets leave it open.
                    if let Some(rest) = test.trim_start().strip_prefix('}') {
                        let functions = cpp_text::functions(&source);
                        let is_open = (functions.iter().rfind(|f| f.name == entry_point))
                            .is_some_and(|f| f.end.is_none());
                        if is_open {
                            source.push_str("}\n");
                        }
                        test = rest.into();
                    }
                    Candidate::CppFunction {
                        source: format!("{CPP_INCLUDES}{source}"),
                        entry_point,
                        test,
                    }
                }
            })
        }
    }
}

/// The source that defines a function, from its prompt and an answer; `None` where the answer has no code.
pub(super) fn function_source(
    prompt: &str,
    language: Language,
    entry_point: &str,
    answer: &Answer,
) -> Option<String> {
    let code = extract(answer, language, Some(entry_point));
    let alone = match answer {
        Answer::Solution(_) => true,
        Answer::Completion(_) => repeats_signature(prompt, &code, language, entry_point),
    };
    let code = match (language, alone) {
        (Language::Python, true) => code.into_owned(),
        (Language::Python, false) => until_stop(&code, entry_point),
        (Language::Cpp, true) => without_main(&code),
        (Language::Cpp, false) => until_end(prompt, &code, entry_point),
    };
    if code.trim().is_empty() {
        return None;
    }
    let head = match (language, alone) {
        (_, false) => prompt,
        (Language::Python, true) => python_header(prompt, entry_point),
        (Language::Cpp, true) => cpp_header(prompt, &code),
    };
    Some(joined(head, &code))
}

/// One after the other, the second on a new line; the result ends in one.
pub(super) fn joined(head: &str, code: &str) -> String {
    let between = if head.is_empty() || head.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let end = if code.ends_with('\n') { "" } else { "\n" };
    format!("{head}{between}{code}{end}")
}

fn repeats_signature(prompt: &str, code: &str, language: Language, entry_point: &str) -> bool {
    if !defines(code, language, entry_point) {
        return false;
    }
    match language {
        // A body first and the function again after it is a completion that went on.
        Language::Python => (code.lines().find(|line| !line.trim().is_empty()))
            .is_some_and(|line| !line.starts_with([' ', '\t'])),
        Language::Cpp => {
            let again = (cpp_text::functions(code).into_iter()).find(|f| f.name == entry_point);
            let end = end_of(&joined(prompt, code), entry_point);
            match (again, end) {
                (Some(again), Some(end)) => end > prompt.len() + again.start,
                _ => true,
            }
        }
    }
}

/// Where the first definition of a function ends.
fn end_of(source: &str, name: &str) -> Option<usize> {
    let functions = cpp_text::functions(source);
    functions.into_iter().find(|f| f.name == name)?.end
}

/// The prompt before the definition of the function.
fn python_header<'a>(prompt: &'a str, entry_point: &str) -> &'a str {
    let mut at = 0;
    let mut header = prompt.len();
    for line in prompt.split_inclusive('\n') {
        if crate::dataset::python_defines(line, entry_point) {
            header = at;
        }
        at += line.len();
    }
    if header == prompt.len() {
        ""
    } else {
        &prompt[..header]
    }
}

/// The prompt before the function that it opens last, unless the answer defines one of the helpers there itself.
fn cpp_header<'a>(prompt: &'a str, code: &str) -> &'a str {
    let mut functions = cpp_text::functions(prompt);
    let Some(last) = functions.pop() else {
        return prompt;
    };
    let own: BTreeSet<String> = (cpp_text::functions(code).into_iter())
        .map(|f| f.name)
        .collect();
    // Two definitions of one function do not compile; in Python the later one counts.
    let end = (functions.iter().find(|helper| own.contains(&helper.name)))
        .map_or(last.start, |helper| helper.start);
    &prompt[..end]
}

/// A Python completion up to where the model went on after the answer.
fn until_stop(code: &str, entry_point: &str) -> String {
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let definition = ["def ", "class ", "async def "]
            .iter()
            .find_map(|word| line.strip_prefix(word));
        if let Some(rest) = definition {
            let name = words(rest).next().unwrap_or("");
            if name == entry_point || !named.contains(name) {
                return code[..at].into();
            }
        }
        if line.starts_with("if __name__") || line.starts_with("print(") {
            return code[..at].into();
        }
        named.extend(words(line));
        at += line.len();
    }
    code.into()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// A C++ completion, up to the end of the function where a `main` follows.
fn until_end(prompt: &str, code: &str, entry_point: &str) -> String {
    let whole = joined(prompt, code);
    let offset = whole.len() - joined("", code).len();
    let functions = cpp_text::functions(&whole);
    let main = functions
        .iter()
        .find(|f| f.name == "main" && f.start >= offset);
    let end = (functions
        .iter()
        .rfind(|f| f.name == entry_point && f.start < offset))
    .and_then(|f| f.end);
    match (main, end) {
        (Some(main), Some(end)) if end >= offset && end <= main.start => whole[offset..end].into(),
        _ => code.into(),
    }
}

pub(super) fn without_main(code: &str) -> String {
    let functions = cpp_text::functions(code);
    match functions.iter().find(|f| f.name == "main") {
        Some(main) => format!(
            "{}{}",
            &code[..main.start],
            &code[main.end.unwrap_or(code.len())..]
        ),
        None => code.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(answer: Answer) -> Option<String> {
        let problem = Problem {
            id: "p".into(),
            language: Language::Python,
            form: Form::Function {
                prompt: "import math\n\ndef helper(x):\n    return x\n\ndef f(x):\n    \"\"\"Doc.\"\"\"\n".into(),
                entry_point: "f".into(),
                test: "def check(candidate): candidate(1)".into(),
            },
            canonical: None,
            judging: crate::verdict::Judging::default(),
        };
        assemble(&problem, &answer).map(|candidate| match candidate {
            Candidate::PythonFunction { source, .. } => source,
            other => panic!("{other:?}"),
        })
    }

    const CPP_PROMPT: &str = "#include<vector>\nusing namespace std;\nint helper(int x){ return x; }\n// Doc.\nint f(int x){\n";

    fn cpp(answer: Answer) -> Option<String> {
        let problem = Problem {
            id: "p".into(),
            language: Language::Cpp,
            form: Form::Function {
                prompt: CPP_PROMPT.into(),
                entry_point: "f".into(),
                test: "int main(){ f(1); }".into(),
            },
            canonical: None,
            judging: crate::verdict::Judging::default(),
        };
        assemble(&problem, &answer).map(|candidate| match candidate {
            Candidate::CppFunction { source, .. } => {
                source.strip_prefix(CPP_INCLUDES).unwrap().into()
            }
            other => panic!("{other:?}"),
        })
    }

    fn completion(text: &str) -> Answer {
        Answer::Completion(text.into())
    }

    #[test]
    fn a_completion_continues_the_prompt() {
        let source = python(completion("    return helper(x)")).unwrap();
        assert!(
            source.starts_with("import math")
                && source.ends_with("\"\"\"Doc.\"\"\"\n    return helper(x)\n")
        );
        assert_eq!(
            cpp(completion("  return x;\n}")).unwrap(),
            format!("{CPP_PROMPT}  return x;\n}}\n")
        );
    }

    #[test]
    fn what_stands_alone_gets_the_imports_and_helpers_of_the_prompt() {
        let head = "import math\n\ndef helper(x):\n    return x\n\n";
        let alone = "def f(x):\n    return math.floor(helper(x))\n";
        assert_eq!(
            python(Answer::Solution(alone.into())).unwrap(),
            format!("{head}{alone}")
        );
        assert_eq!(python(completion(alone)).unwrap(), format!("{head}{alone}"));
        let alone = "int f(int x){ return helper(x); }\n";
        assert_eq!(
            cpp(completion(alone)).unwrap(),
            format!(
                "#include<vector>\nusing namespace std;\nint helper(int x){{ return x; }}\n// Doc.\n{alone}"
            )
        );
    }

    #[test]
    fn a_cpp_answer_with_its_own_helper_gets_no_second_one() {
        let alone = "int helper(int x){ return 2; }\nint f(int x){ return helper(x); }\n";
        let source = cpp(Answer::Solution(alone.into())).unwrap();
        assert_eq!(source.matches("int helper").count(), 1);
        assert!(source.contains("using namespace std"));
    }

    #[test]
    fn a_python_completion_stops_where_the_model_went_on() {
        let end = |text: &str| {
            python(completion(text))
                .unwrap()
                .split_once("Doc.\"\"\"\n")
                .unwrap()
                .1
                .to_string()
        };
        assert_eq!(end("    return 1\n\nprint(f(1))\n"), "    return 1\n\n");
        assert_eq!(
            end("    return 1\n\ndef g(y):\n    return"),
            "    return 1\n\n"
        );
        assert_eq!(
            end("    return 1\n\ndef f(x):\n    return 2\n"),
            "    return 1\n\n"
        );
        assert_eq!(
            end("    return 1\nif __name__ == '__main__':\n    f(1)"),
            "    return 1\n"
        );
        assert_eq!(end("    return 1\nclass A:\n    pass\n"), "    return 1\n");
        let kept = "    return g(1)\n\ndef g(y):\n    return y\n";
        assert_eq!(end(kept), kept);
    }

    #[test]
    fn a_cpp_main_is_cut_off() {
        let text = "  return x;\n}\n\n// try it\nint main(){ f(1); }\n";
        assert_eq!(
            cpp(completion(text)).unwrap(),
            format!("{CPP_PROMPT}  return x;\n}}\n")
        );
        let alone = "int f(int x){ return 1; }\nint main(){ return f(1); }\n// end\n";
        let source = cpp(Answer::Solution(alone.into())).unwrap();
        assert!(!source.contains("main") && source.contains("// end"));
        let helper = "  return g(x);\n}\nint g(int x){ return 1; }\n";
        assert!(cpp(completion(helper)).unwrap().ends_with(helper));
    }

    #[test]
    fn a_cpp_completion_that_goes_on_with_the_function_again_is_a_completion() {
        let text = "  return x;\n}\nint f(int x){\n  return 2;\n}\n";
        assert!(cpp(completion(text)).unwrap().starts_with(CPP_PROMPT));
    }

    #[test]
    fn answers_without_code_give_no_candidate() {
        assert_eq!(python(completion("")), None);
        assert_eq!(python(completion(" \n\t\n")), None);
        assert_eq!(python(completion("\nprint(f(1))")), None);
        assert_eq!(cpp(Answer::Solution("```cpp\n```".into())), None);
    }

    #[test]
    fn no_answer_makes_it_panic() {
        const PARTS: [&str; 24] = [
            "def f(x):\n",
            "int f(int x){",
            "}",
            "{",
            "(",
            ")",
            "\n",
            "    ",
            "```",
            "```cpp\n",
            "~~~\n",
            "\"\"\"",
            "\"",
            "'",
            "\\",
            "/*",
            "//",
            "#",
            "R\"(",
            "é",
            "\u{0}",
            ";",
            "main",
            "namespace n ",
        ];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                text.push_str(PARTS[(state >> 40) as usize % PARTS.len()]);
            }
            for answer in [Answer::Completion(text.clone()), Answer::Solution(text)] {
                let _ = (python(answer.clone()), cpp(answer));
            }
        }
    }
}
