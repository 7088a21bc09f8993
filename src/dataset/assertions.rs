//! What the assertions of Python problems tell: the types that JSON loses (tuples, sets, complex numbers), and whether
//! results are compared as sets.
use super::value::Value;
use tree_sitter::{Node, Parser};

/// Longest source that is parsed, in bytes.
const SOURCE_BYTES_MAX: usize = 4 << 20;

/// The shape of a value: which of JSON's arrays are something else.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// As it stands.
    Any,
    /// A list of such elements.
    List(Box<Shape>),
    /// A tuple of such elements.
    Tuple(Box<Shape>),
    /// A set.
    Set,
    /// A map to such values.
    Map(Box<Shape>),
    /// A complex number, which JSON has as text.
    Complex,
}

impl Shape {
    fn of(value: &Value) -> Self {
        let inner = |items: &[Value]| {
            let shapes = items.iter().map(Self::of);
            Box::new(shapes.reduce(Self::or).unwrap_or(Self::Any))
        };
        match value {
            Value::List(items) => Self::List(inner(items)),
            Value::Tuple(items) => Self::Tuple(inner(items)),
            Value::Set(_) => Self::Set,
            Value::Complex(..) => Self::Complex,
            Value::Map(entries) => {
                let shapes = entries.iter().map(|(_, value)| Self::of(value));
                Self::Map(Box::new(shapes.reduce(Self::or).unwrap_or(Self::Any)))
            }
            _ => Self::Any,
        }
    }

    /// The shape that two examples share; the first decides where they differ.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, other) => other,
            (Self::List(a), Self::List(b)) => Self::List(Box::new(a.or(*b))),
            (Self::Tuple(a), Self::Tuple(b)) => Self::Tuple(Box::new(a.or(*b))),
            (Self::Map(a), Self::Map(b)) => Self::Map(Box::new(a.or(*b))),
            (first, _) => first,
        }
    }

    /// The value with the types of this shape, wherever it fits.
    pub(super) fn apply(&self, value: Value) -> Value {
        let each = |shape: &Self, items: Vec<Value>| -> Vec<Value> {
            items.into_iter().map(|item| shape.apply(item)).collect()
        };
        match (self, value) {
            (Self::Tuple(inner), Value::List(items)) => Value::Tuple(each(inner, items)),
            (Self::List(inner), Value::List(items)) => Value::List(each(inner, items)),
            (Self::Set, Value::List(items)) => Value::Set(items),
            (Self::Map(inner), Value::Map(entries)) => {
                let entries = entries.into_iter();
                Value::Map(
                    entries
                        .map(|(key, value)| (key, inner.apply(value)))
                        .collect(),
                )
            }
            (Self::Complex, Value::Text(text)) => match Value::parse(&text) {
                Ok(value @ Value::Complex(..)) => value,
                _ => Value::Text(text),
            },
            (_, value) => value,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// The shape of each argument.
    pub(super) arguments: Vec<Shape>,
    /// A result is passed to `set`.
    pub(super) as_set: bool,
}

/// Reads the calls of a function in a source with assertions.
pub(super) fn read(source: &str, function: &str) -> Told {
    let mut told = Told::default();
    let mut parser = Parser::new();
    let known = parser.set_language(&tree_sitter_python::LANGUAGE.into());
    if known.is_err() || source.len() > SOURCE_BYTES_MAX {
        return told;
    }
    let Some(tree) = parser.parse(source, None) else {
        return told;
    };
    let mut stack = vec![tree.root_node()];
    while let Some(node) = stack.pop() {
        if node.kind() == "call" && callee(node, source) == Some(function) {
            told.add(node, source);
        }
        // Backwards, so that the first call comes first.
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        stack.extend(children.into_iter().rev());
    }
    told
}

fn callee<'a>(call: Node<'_>, source: &'a str) -> Option<&'a str> {
    let function = call.child_by_field_name("function")?;
    Some(&source[function.byte_range()])
}

impl Told {
    fn add(&mut self, call: Node<'_>, source: &str) {
        let around = call
            .parent()
            .filter(|node| node.kind() == "argument_list")
            .and_then(|list| list.parent());
        self.as_set |= around.is_some_and(|outer| callee(outer, source) == Some("set"));
        let Some(list) = call.child_by_field_name("arguments") else {
            return;
        };
        let mut cursor = list.walk();
        for (index, argument) in list.named_children(&mut cursor).enumerate() {
            let shape = Value::parse(&source[argument.byte_range()])
                .map_or(Shape::Any, |value| Shape::of(&value));
            match self.arguments.get_mut(index) {
                Some(known) => *known = std::mem::replace(known, Shape::Any).or(shape),
                None => self.arguments.push(shape),
            }
        }
    }

    /// Arguments with the types of the calls.
    pub(super) fn apply(&self, arguments: Vec<Value>) -> Vec<Value> {
        (arguments.into_iter().enumerate())
            .map(|(index, value)| match self.arguments.get(index) {
                Some(shape) => shape.apply(value),
                None => value,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_json_loses_come_back() {
        let told = read(
            "import math\nassert set(f((3, 4), [('a', 1), ('b', 2)], {1, 2}, {'k': (1,)}, 1j, g(2))) == set((4,))",
            "f",
        );
        assert!(told.as_set);
        let json = "[[7], [[\"x\", 5], []], [1], {\"z\": [3]}, \"2j\", [1]]";
        let Ok(Value::List(arguments)) = Value::parse(json) else {
            panic!("no list");
        };
        assert_eq!(
            Value::List(told.apply(arguments)).to_string(),
            "[(7,), [(\"x\", 5), ()], {1}, {\"z\": (3,)}, complex(0.0, 2.0), [1]]"
        );
    }

    #[test]
    fn several_calls_complete_each_other_and_other_calls_say_nothing() {
        let told = read("assert f([]) == 1\nassert f([(1, 2)]) == g((3,))", "f");
        assert_eq!(
            told.arguments,
            [Shape::List(Box::new(Shape::Tuple(Box::new(Shape::Any))))]
        );
        assert!(!told.as_set);
        assert_eq!(
            read("assert f(", "f"),
            Told {
                arguments: vec![],
                as_set: false
            }
        );
    }
}
