//! How a result is judged: the rule of a problem, and equality of values under it.
//!
//! | rule | a result is right if |
//! |---|---|
//! | exact | its bytes are the expected ones |
//! | tokens | its lines and tokens are, as in `compare`; numbers within a tolerance where one is given |
//! | values | it is the expected value as below |
//! | presence | it is there, or is not there, as expected: `None` and `False` are not there, all else is |
//! | checker | a program says so |
//!
//! Where a case has several right answers, one of them is enough.
//!
//! Values are equal as in Python (`1 == 1.0 == True`, sets and maps without order), except:
//! - Two numbers of which one is a floating-point number are equal within the absolute or the relative tolerance;
//!   integers are compared digit by digit. NaN equals NaN.
//! - Lists equal tuples where the rule says so (C++ has no tuples).
//! - Where the order is free, the elements of the outermost sequence, or of every sequence, are matched without regard
//!   to it: each element of one with an equal one of the other. As sets: also without regard to repetition.
use super::{Comparison, Difference};
use crate::dataset::{Language, Value, as_float};

/// The rule of a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Judging {
    /// Bytes.
    Exact,
    /// Lines and tokens.
    Tokens(Comparison),
    /// Values.
    Values(ValueRules),
    /// Whether there is a value.
    Presence,
    /// A program decides.
    Checker(Checker),
}

impl Default for Judging {
    fn default() -> Self {
        Self::Tokens(Comparison::default())
    }
}

/// A program that judges; docs/judging.md says how it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checker {
    /// Its language.
    pub language: Language,
    /// Its source.
    pub source: String,
}

/// When values are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRules {
    /// Largest accepted |expected - got| of floating-point numbers.
    pub absolute: f64,
    /// Largest accepted |expected - got| / |expected| of floating-point numbers.
    pub relative: f64,
    /// Lists and tuples are the same.
    pub sequences_alike: bool,
    /// What of the order counts.
    pub order: Order,
    /// A node stands for its value: where a number is expected, a tree is right if its root has it; no node is the same
    /// as an empty list.
    pub node_by_value: bool,
}

impl ValueRules {
    /// Python's equality, without tolerance.
    pub const PYTHON: Self = Self {
        absolute: 0.0,
        relative: 0.0,
        sequences_alike: false,
        order: Order::Counts,
        node_by_value: false,
    };
}

/// What of the order of sequences counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All of it.
    #[default]
    Counts,
    /// That of the outermost sequence is free.
    OuterFree,
    /// That of every sequence is free.
    Free,
    /// The outermost sequences are compared as sets.
    Sets,
}

/// Most comparisons of elements for one match without order, which takes them in the square of the length.
const MATCHES_MAX: usize = 4_000_000;

/// The first right answer decides; `None` where `got` is right. `expected` has at least one answer.
pub fn judge_value(expected: &[Value], got: &Value, judging: &Judging) -> Option<Difference> {
    let right = |expected: &Value| match judging {
        Judging::Values(rules) => values_equal(expected, got, rules),
        Judging::Presence => {
            let there = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
            there(expected) == there(got)
        }
        Judging::Exact | Judging::Tokens(_) | Judging::Checker(_) => {
            values_equal(expected, got, &ValueRules::PYTHON)
        }
    };
    if expected.iter().any(right) {
        return None;
    }
    let (expected, got) = (expected.first().map(Value::to_string), got.to_string());
    Some(super::compare::difference_of_texts(
        expected.as_deref(),
        &got,
    ))
}

/// Whether two values are equal under the rules.
pub fn values_equal(expected: &Value, got: &Value, rules: &ValueRules) -> bool {
    let is_empty = |value: &Value| *value == Value::Null || value.sequence() == Some(&[]);
    if rules.node_by_value && is_empty(expected) && is_empty(got) {
        return true;
    }
    if rules.node_by_value
        && let (Value::Integer(_), Some([root, ..])) = (expected, got.sequence())
    {
        return equal(expected, root, rules);
    }
    match rules.order {
        Order::Sets => match (elements(expected), elements(got)) {
            (Some(e), Some(g)) => {
                let inner = within(rules, Order::Counts);
                e.len().saturating_mul(g.len()) <= MATCHES_MAX
                    && e.iter()
                        .all(|a| g.iter().any(|b| values_equal(a, b, &inner)))
                    && g.iter()
                        .all(|b| e.iter().any(|a| values_equal(a, b, &inner)))
            }
            _ => equal(expected, got, &within(rules, Order::Counts)),
        },
        Order::OuterFree => match (expected, got) {
            (Value::List(e) | Value::Tuple(e), Value::List(g) | Value::Tuple(g)) => {
                same_kind(expected, got, rules) && matched(e, g, &within(rules, Order::Counts))
            }
            _ => equal(expected, got, rules),
        },
        Order::Counts | Order::Free => equal(expected, got, rules),
    }
}

fn within(rules: &ValueRules, order: Order) -> ValueRules {
    ValueRules { order, ..*rules }
}

fn elements(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => Some(items),
        _ => None,
    }
}

fn same_kind(expected: &Value, got: &Value, rules: &ValueRules) -> bool {
    rules.sequences_alike || std::mem::discriminant(expected) == std::mem::discriminant(got)
}

fn equal(expected: &Value, got: &Value, rules: &ValueRules) -> bool {
    match (expected, got) {
        (Value::List(e) | Value::Tuple(e), Value::List(g) | Value::Tuple(g)) => {
            e.len() == g.len()
                && same_kind(expected, got, rules)
                && (e.iter().zip(g).all(|(e, g)| equal(e, g, rules))
                    || rules.order == Order::Free && matched(e, g, rules))
        }
        (Value::Set(e), Value::Set(g)) => matched(e, g, rules),
        // An empty pair of braces is a map in Python; in C++ it is an empty anything.
        (Value::Map(e), Value::Set(g)) => rules.sequences_alike && e.is_empty() && g.is_empty(),
        (Value::Map(e), Value::Map(g)) => {
            e.len() == g.len()
                && e.iter().all(|(key, value)| {
                    g.iter().any(|(other_key, other)| {
                        equal(key, other_key, rules) && equal(value, other, rules)
                    })
                })
        }
        (Value::Complex(..), _) | (_, Value::Complex(..)) => {
            let parts = |value: &Value| match value {
                Value::Complex(real, imaginary) => Some((*real, *imaginary)),
                other => as_float(other).map(|real| (real, 0.0)),
            };
            parts(expected).zip(parts(got)).is_some_and(|(e, g)| {
                floats_equal(e.0, g.0, rules) && floats_equal(e.1, g.1, rules)
            })
        }
        (Value::Float(_), _) | (_, Value::Float(_)) => {
            (as_float(expected).zip(as_float(got))).is_some_and(|(e, g)| floats_equal(e, g, rules))
        }
        (Value::Integer(_) | Value::Bool(_), Value::Integer(_) | Value::Bool(_)) => {
            digits(expected) == digits(got)
        }
        _ => expected == got,
    }
}

/// Digits of an integer or truth value.
fn digits(value: &Value) -> &str {
    match value {
        Value::Integer(digits) => digits,
        Value::Bool(true) => "1",
        _ => "0",
    }
}

fn floats_equal(expected: f64, got: f64, rules: &ValueRules) -> bool {
    if expected.is_nan() || got.is_nan() {
        return expected.is_nan() && got.is_nan();
    }
    #[expect(clippy::float_cmp, reason = "infinities and exact rules")]
    if expected == got {
        return true;
    }
    if expected.is_infinite() || got.is_infinite() {
        return false;
    }
    let difference = (expected - got).abs();
    difference <= rules.absolute || difference <= rules.relative * expected.abs()
}

/// Whether each element of one has an equal one of its own in the other.
///
/// Equality within a tolerance is not transitive, so that the first fit is not always the right one; values that
/// close to each other do not occur in one answer.
fn matched(expected: &[Value], got: &[Value], rules: &ValueRules) -> bool {
    if expected.len() != got.len() {
        return false;
    }
    // Most right answers have the expected order, or are the same text once everything is sorted.
    if expected.iter().zip(got).all(|(e, g)| equal(e, g, rules)) {
        return true;
    }
    let sorted = |items: &[Value]| {
        let mut texts: Vec<String> = items.iter().map(|item| canonical(item, rules)).collect();
        texts.sort_unstable();
        texts
    };
    if sorted(expected) == sorted(got) {
        return true;
    }
    let mut budget = MATCHES_MAX;
    let mut used = vec![false; got.len()];
    expected.iter().all(|e| {
        let found = got.iter().enumerate().position(|(index, g)| {
            budget = budget.saturating_sub(1);
            budget > 0 && !used[index] && equal(e, g, rules)
        });
        found.is_some_and(|index| {
            used[index] = true;
            true
        })
    })
}

/// A text that is the same for values that differ only in an order that is free.
fn canonical(value: &Value, rules: &ValueRules) -> String {
    match value {
        Value::List(items) | Value::Tuple(items) if rules.order == Order::Free => {
            let mut texts: Vec<String> = items.iter().map(|item| canonical(item, rules)).collect();
            texts.sort_unstable();
            let open = if rules.sequences_alike || matches!(value, Value::List(_)) {
                '['
            } else {
                '('
            };
            format!("{open}{}", texts.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(expected: &str, got: &str, rules: ValueRules) -> bool {
        let value = |text: &str| Value::parse(text).unwrap();
        values_equal(&value(expected), &value(got), &rules)
    }

    fn python(expected: &str, got: &str) -> bool {
        same(expected, got, ValueRules::PYTHON)
    }

    #[test]
    fn equality_is_pythons() {
        assert!(python("1", "1.0") && python("True", "1") && python("0", "False"));
        assert!(python("{1, 2}", "{2, 1}") && python("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"));
        assert!(python("(1+0j)", "1") && python("[nan]", "[nan]"));
        assert!(!python("[1]", "(1,)") && !python("1", "'1'") && !python("None", "False"));
        assert!(!python("[1, 2]", "[2, 1]") && !python("{1}", "[1]") && !python("[1]", "[1, 1]"));
        assert!(!python("9007199254740993", "9007199254740992"));
        assert!(!python("0.1", "0.10000000000000002"));
    }

    #[test]
    fn a_tolerance_is_for_floating_point_numbers() {
        let rules = ValueRules {
            absolute: 1e-6,
            relative: 1e-7,
            ..ValueRules::PYTHON
        };
        assert!(same("[0.1, [2.0]]", "[0.1000001, [2.0000001]]", rules));
        assert!(!same("[0.1]", "[0.11]", rules));
        assert!(same(
            "1e9",
            "1000000000.5",
            ValueRules {
                relative: 1e-6,
                ..rules
            }
        ));
        assert!(!same(
            "1000000000",
            "1000000001",
            ValueRules {
                relative: 1e-6,
                ..rules
            }
        ));
        assert!(!same(
            "inf",
            "1e308",
            ValueRules {
                relative: 1.0,
                ..rules
            }
        ));
    }

    #[test]
    fn the_order_counts_as_the_rule_says() {
        let rules = |order| ValueRules {
            order,
            ..ValueRules::PYTHON
        };
        assert!(same(
            "[[1, 2], [3]]",
            "[[3], [1, 2]]",
            rules(Order::OuterFree)
        ));
        assert!(!same(
            "[[1, 2], [3]]",
            "[[3], [2, 1]]",
            rules(Order::OuterFree)
        ));
        assert!(same("[[1, 2], [3]]", "[[3], [2, 1]]", rules(Order::Free)));
        assert!(!same("[1, 1, 2]", "[1, 2, 2]", rules(Order::OuterFree)));
        assert!(!same("[1, 1, 2]", "[1, 2, 2]", rules(Order::Free)));
        assert!(same("[1, 1, 2]", "(2, 1)", rules(Order::Sets)));
        assert!(!same("[1, 2]", "[2, 3]", rules(Order::Sets)));
        assert!(!same("[1, 2]", "(2, 1)", rules(Order::OuterFree)));
    }

    #[test]
    fn a_node_stands_for_its_value_where_the_rule_says_so() {
        let rules = ValueRules {
            node_by_value: true,
            ..ValueRules::PYTHON
        };
        assert!(same("5", "[5, 6, 2]", rules) && same("[]", "None", rules));
        assert!(!same("5", "[6, 5]", rules) && !same("[1]", "None", rules));
        assert!(!python("5", "[5, 6, 2]") && !python("[]", "None"));
    }

    #[test]
    fn one_of_several_answers_is_enough() {
        let answers = [
            Value::parse("\"bab\"").unwrap(),
            Value::parse("\"aba\"").unwrap(),
        ];
        let judging = Judging::Values(ValueRules::PYTHON);
        assert!(judge_value(&answers, &answers[1], &judging).is_none());
        let difference = judge_value(&answers, &Value::Null, &judging).unwrap();
        assert_eq!(
            difference.to_string(),
            "line 1: expected `\"bab\"`, got `None`"
        );
    }

    #[test]
    fn presence_asks_only_whether_there_is_a_value() {
        let judged = |expected: &str, got: &str| {
            let value = |text: &str| Value::parse(text).unwrap();
            judge_value(&[value(expected)], &value(got), &Judging::Presence).is_none()
        };
        assert!(judged("True", "'match'") && judged("True", "True") && judged("False", "None"));
        assert!(!judged("True", "None") && !judged("True", "False") && !judged("False", "'x'"));
    }

    #[test]
    fn long_answers_without_order_end_in_time() {
        let list = |from: u32| {
            Value::List(
                (from..from + 50_000)
                    .map(|n| Value::Integer(n.to_string()))
                    .collect(),
            )
        };
        let rules = ValueRules {
            order: Order::Free,
            ..ValueRules::PYTHON
        };
        assert!(!values_equal(&list(0), &list(60_000), &rules));
        let reversed = match list(0) {
            Value::List(items) => Value::List(items.into_iter().rev().collect()),
            other => other,
        };
        assert!(values_equal(&list(0), &reversed, &rules));
    }
}
