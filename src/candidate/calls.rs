//! Candidates of problems whose functions and classes a driver of ours calls.
//!
//! Functions are put together as for other function problems. A class stands alone: an answer that defines it follows
//! the preface; one that does not continues the prompt. C++ definitions of nodes come with it where the answer has
//! none: the site's `ListNode` and `TreeNode`, and what comments of the template or of the answer define.
use super::assemble::{function_source, joined, without_main};
use super::extract::extract;
use super::{Answer, Candidate};
use crate::artifact::NODES;
use crate::dataset::{Calls, Language, Target, signature};
use serde_json::{Map, Value, json};

/// Puts an answer together with its problem; `None` where the answer has no code.
pub(super) fn assemble(calls: &Calls, language: Language, answer: &Answer) -> Option<Candidate> {
    let code = match &calls.target {
        Target::Function(name) => function_source(&calls.prompt, language, name, answer)?,
        target => class_source(&calls.prompt, language, target.defined_name(), answer)?,
    };
    let source = joined(&calls.preface, &code);
    Some(match language {
        Language::Cpp => Candidate::CppCalls {
            definitions: definitions(calls.template.as_deref(), &code),
            signature: (calls.template.as_deref())
                .map_or(Err(String::new()), |template| {
                    signature::read_cpp(template, &calls.target)
                })
                .or_else(|_| signature::read_cpp(&code, &calls.target)),
            source,
        },
        Language::Python => Candidate::PythonCalls {
            target: python_target(calls, &code),
            source,
        },
    })
}

fn class_source(prompt: &str, language: Language, class: &str, answer: &Answer) -> Option<String> {
    let code = extract(answer, language, Some(class));
    let code = match language {
        Language::Cpp => without_main(&code),
        Language::Python => code.into_owned(),
    };
    if code.trim().is_empty() {
        return None;
    }
    let continues =
        matches!(answer, Answer::Completion(_)) && !super::extract::names_class(&code, class);
    Some(if continues {
        joined(prompt, &code)
    } else {
        code
    })
}

/// Definitions that the code needs and does not have.
fn definitions(template: Option<&str>, code: &str) -> String {
    let mut found: Vec<(String, String)> = Vec::new();
    let commented = template.into_iter().chain([code]);
    let site = NODES.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let offered = commented
        .flat_map(signature::commented_definitions)
        .chain(site);
    for (name, text) in offered {
        let known = found.iter().any(|(other, _)| *other == name);
        if !known
            && crate::dataset::cpp_text::names(code, &name)
            && !signature::defines_cpp_class(code, &name)
        {
            found.push((name, text));
        }
    }
    // Comments of old templates write `NULL` and `vector` as the site's preface allows.
    found.into_iter().map(|(_, text)| text + "\n").collect()
}

/// What the Python driver must know: what to call, and the types that tell nodes from lists.
fn python_target(calls: &Calls, code: &str) -> String {
    let signature = (calls.template.as_deref())
        .and_then(|template| signature::read_python(template, &calls.target).ok())
        .or_else(|| signature::read_python(code, &calls.target).ok());
    let mut functions = Map::new();
    for function in signature.iter().flat_map(|signature| &signature.functions) {
        let parameters: Vec<&str> = (function.parameters.iter())
            .map(|parameter| parameter.written.as_str())
            .collect();
        functions.insert(
            function.name.clone(),
            json!({"parameters": parameters, "result": function.result}),
        );
    }
    let (kind, name) = match &calls.target {
        Target::Function(name) => ("function", name),
        Target::Method(name) => ("method", name),
        Target::Design(name) => ("design", name),
    };
    Value::Object(Map::from_iter([
        ("kind".to_owned(), kind.into()),
        ("name".to_owned(), name.as_str().into()),
        ("functions".to_owned(), Value::Object(functions)),
    ]))
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(target: Target) -> Calls {
        Calls {
            target,
            prompt: "class Solution:\n    def f(self, a):\n".into(),
            preface: "import math\n".into(),
            template: None,
            cases: Vec::new(),
            generator: None,
        }
    }

    #[test]
    fn a_class_stands_behind_the_preface_and_a_body_behind_the_prompt() {
        let calls = calls(Target::Method("f".into()));
        let source =
            |text: &str| match assemble(&calls, Language::Python, &Answer::Completion(text.into()))
            {
                Some(Candidate::PythonCalls { source, .. }) => source,
                other => panic!("{other:?}"),
            };
        let class = "class Solution:\n    def f(self, a: List[int]) -> int:\n        return 1\n";
        assert_eq!(source(class), format!("import math\n{class}"));
        assert_eq!(
            source("        return 2"),
            "import math\nclass Solution:\n    def f(self, a):\n        return 2\n"
        );
        let fenced = format!("Sure:\n```python\n{class}```\n");
        assert_eq!(source(&fenced), format!("import math\n{class}"));
    }

    #[test]
    fn the_types_of_the_answer_tell_nodes_where_there_is_no_template() {
        let calls = calls(Target::Method("f".into()));
        let class =
            "class Solution:\n    def f(self, a: Optional[ListNode]) -> None:\n        pass\n";
        let Some(Candidate::PythonCalls { target, .. }) =
            assemble(&calls, Language::Python, &Answer::Solution(class.into()))
        else {
            panic!("no candidate");
        };
        assert_eq!(
            target,
            r#"{"kind":"method","name":"f","functions":{"f":{"parameters":["Optional[ListNode]"],"result":"None"}}}"#
        );
    }

    #[test]
    fn nodes_are_defined_unless_the_answer_does() {
        let template = "/*\nclass Node {\npublic:\n    int val;\n};\n*/\nclass Solution {\npublic:\n  Node* f(ListNode* a) {\n  }\n};";
        let mut calls = calls(Target::Method("f".into()));
        calls.template = Some(template.into());
        let given =
            |text: &str| match assemble(&calls, Language::Cpp, &Answer::Solution(text.into())) {
                Some(Candidate::CppCalls {
                    definitions,
                    signature,
                    ..
                }) => {
                    assert_eq!(signature.unwrap().functions[0].result, "Node*");
                    definitions
                }
                other => panic!("{other:?}"),
            };
        let answer = "class Solution { public: Node* f(ListNode* a) { return 0; } };";
        let found = given(answer);
        assert!(found.contains("class Node {") && found.contains("struct ListNode {"));
        assert!(!found.contains("TreeNode"));
        let own = format!("struct ListNode {{ int val; ListNode* next; }};\n{answer}");
        assert!(!given(&own).contains("struct ListNode"));
    }
}
