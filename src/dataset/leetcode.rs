//! What the data sets of LeetCode problems share: arguments and results as the site writes them, and what it provides.
use super::fits::misfit;
use super::value::Value;
use super::{Calls, Function, Language, Target, signature};
use crate::verdict::{Judging, Order, ValueRules};

/// How the reason begins for which a test is left out because of its input.
pub(crate) const OUT_OF_BOUNDS: &str = "outside of the bounds: ";

/// What Python answers may take for granted on the site.
pub(super) const PYTHON_PREFACE: &str = "\
import bisect
import collections
import copy
import datetime
import functools
import heapq
import itertools
import math
import operator
import random
import re
import string
import sys
from bisect import *
from collections import *
from copy import *
from functools import *
from heapq import *
from itertools import *
from math import *
from operator import *
from string import *
from typing import *
inf = float('inf')

class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next

class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right

";

/// The rule of the site, for a problem with this description: floating-point numbers within 1e-5, the order free where
/// the description says so.
pub(super) fn judging(description: &str) -> Judging {
    let free = [
        "in any order",
        "order does not matter",
        "any order is accepted",
    ]
    .iter()
    .any(|phrase| description.contains(phrase));
    rules(if free {
        Order::OuterFree
    } else {
        Order::Counts
    })
}

/// The rule of the site, with this order.
pub(super) fn rules(order: Order) -> Judging {
    Judging::Values(ValueRules {
        absolute: 1e-5,
        relative: 1e-5,
        sequences_alike: true,
        order,
        node_by_value: true,
    })
}

/// `name = value, name = value`, or values alone, on one or several lines.
///
/// # Errors
/// What cannot be read.
pub(super) fn arguments(text: &str) -> Result<Vec<(String, Value)>, String> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let word = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                .len();
        let (name, after) = rest.split_at(word);
        let after = after.trim_start();
        let named = word > 0 && after.starts_with('=') && !after.starts_with("==");
        let (name, value_text) = if named {
            (name, &after[1..])
        } else {
            ("", rest)
        };
        let (value, after) = Value::parse_prefix(value_text)?;
        found.push((name.to_owned(), value));
        // Behind the value: a comma or a new line.
        let next = after.trim_start();
        rest = match next.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if next.is_empty() || after[..after.len() - next.len()].contains('\n') => next,
            None => {
                let shown: String = next.chars().take(20).collect();
                return Err(format!("text behind a value (`{shown}`)"));
            }
        };
    }
    Ok(found)
}

/// The values in the order of the parameters: by name where all names fit, as they stand otherwise.
///
/// # Errors
/// Their number is another than that of the parameters.
pub(super) fn in_order(
    found: Vec<(String, Value)>,
    function: &Function,
) -> Result<Vec<Value>, String> {
    let parameters = &function.parameters;
    if found.len() != parameters.len() {
        let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
        return Err(format!(
            "{} arguments for {} parameters ({})",
            found.len(),
            parameters.len(),
            names.join(", ")
        ));
    }
    let by_name = |name: &str| found.iter().find(|(other, _)| other == name);
    if parameters.iter().all(|p| by_name(&p.name).is_some()) {
        let values = parameters.iter().filter_map(|p| by_name(&p.name));
        return Ok(values.map(|(_, value)| value.clone()).collect());
    }
    Ok(found.into_iter().map(|(_, value)| value).collect())
}

/// A result as written; texts may stand without quotes where the type of the result is text.
///
/// # Errors
/// What cannot be read.
pub(super) fn result(text: &str, function: &Function) -> Result<Value, String> {
    let text = text.trim();
    let kind = function.result.trim_start_matches("std::");
    let is_text = matches!(kind, "string" | "str" | "Optional[str]" | "char");
    if text.starts_with("Error:") || text == "Execution timed out" {
        return Err("the expected result is an error message".into());
    }
    match Value::parse(text) {
        Ok(Value::Text(text)) => Ok(Value::Text(text)),
        _ if is_text => Ok(Value::Text(text.to_owned())),
        read => read,
    }
}

/// Whether a C++ function can be given the arguments, and can give the result.
///
/// # Errors
/// The number that its type does not hold. A candidate would be given another one, and blamed for what it makes of it.
pub(super) fn fitting(
    arguments: &[Value],
    expected: &Value,
    function: &Function,
) -> Result<(), String> {
    for (value, parameter) in arguments.iter().zip(&function.parameters) {
        if let Some(misfit) = misfit(value, &parameter.written) {
            return Err(format!("`{}`: {misfit}", parameter.name));
        }
    }
    match misfit(expected, &function.result) {
        Some(misfit) => Err(format!("the expected result: {misfit}")),
        None => Ok(()),
    }
}

/// The arguments as the driver of a language reads them.
///
/// # Errors
/// C++ has no such value.
pub(super) fn wire(values: Vec<Value>, language: Language) -> Result<String, String> {
    let list = Value::List(values);
    match language {
        Language::Python => Ok(list.to_string()),
        Language::Cpp => list
            .to_json()
            .ok_or_else(|| "a value that JSON does not have".into()),
    }
}

/// The function that a target calls, from a template or another source in one of the languages; a design problem has
/// none.
pub(super) fn function_of(source: &str, target: &Target) -> Result<Option<Function>, String> {
    if matches!(target, Target::Design(_)) {
        return Ok(None);
    }
    let read = signature::read_cpp(source, target)
        .or_else(|cpp| signature::read_python(source, target).map_err(|_| cpp))?;
    Ok(read.functions.into_iter().next())
}

/// The site's calls for a class, without cases.
pub(super) fn calls(target: Target, language: Language, template: Option<String>) -> Calls {
    Calls {
        target,
        prompt: template.clone().unwrap_or_default(),
        preface: match language {
            Language::Python => PYTHON_PREFACE.to_owned(),
            Language::Cpp => String::new(),
        },
        template,
        cases: Vec::new(),
        generator: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match arguments(text) {
            Ok(found) => (found.iter())
                .map(|(name, value)| format!("{name}:{value}"))
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => format!("error: {error}"),
        }
    }

    fn function(result: &str, names: &[&str]) -> Function {
        Function {
            name: "f".into(),
            result: result.into(),
            parameters: (names.iter())
                .map(|name| super::super::Parameter {
                    name: (*name).into(),
                    written: "int".into(),
                    by_value: true,
                })
                .collect(),
        }
    }

    #[test]
    fn arguments_are_read_with_and_without_names() {
        assert_eq!(
            shown("nums = [1, -2], k = 3, s = \"a, b = 1\""),
            "nums:[1, -2] k:3 s:\"a, b = 1\""
        );
        assert_eq!(shown("[1,2]\n\"x\"\n"), ":[1, 2] :\"x\"");
        assert_eq!(shown("root = [1,null,2],\nk = 1"), "root:[1, None, 2] k:1");
        assert!(shown("nums = [1 2]").starts_with("error"));
        assert!(shown("a = 1 b = 2").starts_with("error"));
    }

    #[test]
    fn names_decide_the_order_if_all_fit() {
        let read = |names: &[&str]| {
            let values = in_order(arguments("a = 1, b = 2").unwrap(), &function("int", names));
            values.map(|values| Value::List(values).to_string())
        };
        assert_eq!(read(&["b", "a"]).unwrap(), "[2, 1]");
        assert_eq!(read(&["x", "a"]).unwrap(), "[1, 2]");
        assert!(read(&["a"]).is_err());
    }

    #[test]
    fn results_of_type_text_need_no_quotes() {
        let read = |text: &str, ty: &str| result(text, &function(ty, &[])).map(|v| v.to_string());
        assert_eq!(read("\"12\"", "string").unwrap(), "\"12\"");
        assert_eq!(read("12", "str").unwrap(), "\"12\"");
        assert_eq!(read("a b", "string").unwrap(), "\"a b\"");
        assert_eq!(read(" True", "bool").unwrap(), "True");
        assert!(read("a b", "int").is_err());
        assert!(read("Error: 'a'", "str").is_err());
        assert!(read("Execution timed out", "str").is_err());
    }

    #[test]
    fn the_description_tells_whether_the_order_is_free() {
        let order = |text: &str| match judging(text) {
            Judging::Values(rules) => rules.order,
            other => panic!("{other:?}"),
        };
        assert_eq!(order("Return the answer in any order."), Order::OuterFree);
        assert_eq!(order("Return the answer."), Order::Counts);
    }
}
