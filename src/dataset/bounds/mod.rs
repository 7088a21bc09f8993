//! The bounds that a problem's statement sets its inputs: a test whose input breaks them says nothing about a solution,
//! which has no duty there.
//!
//! Only lines of the `Constraints` that the readers below understand as a whole are judged; everything else is taken as
//! kept. An answer, expected or given, plays no part.
mod lines;
mod property;
mod relation;

use super::Function;
use super::value::Value;
use lines::Statement;
use property::Property;
use relation::Relation;
use std::collections::BTreeMap;

/// The name under which the values of all nodes of lists and trees stand.
const NODE_VALUES: &str = "Node.val";

/// What a statement says of the arguments of a function.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Names of the parameters, and which are lists or trees of nodes.
    parameters: Vec<(String, bool)>,
    relations: Vec<Relation>,
    properties: Vec<Property>,
    /// Lines that were not understood.
    unread: usize,
}

/// Arguments by name while bounds are looked at.
struct Scene<'a> {
    values: BTreeMap<&'a str, &'a Value>,
    /// Names that the statement defines, such as `n`.
    defined: BTreeMap<String, Interval>,
}

/// A number; where the statement has lost its exponents (105 for 10^5), the least and the greatest that it may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    low: i128,
    high: i128,
}

impl Bounds {
    /// Reads what a statement (HTML, Markdown or plain text) says of a function's arguments.
    pub(super) fn read(statement: &str, function: &Function) -> Self {
        let parameters: Vec<(String, bool)> = (function.parameters.iter())
            .map(|parameter| (parameter.name.clone(), parameter.written.contains("Node")))
            .collect();
        let statement = Statement::read(statement);
        let mut names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
        names.push(NODE_VALUES);
        let one_of_nodes = parameters.iter().filter(|(_, nodes)| *nodes).count() == 1;
        let mut bounds = Self {
            relations: Vec::new(),
            properties: Vec::new(),
            unread: 0,
            parameters: parameters.clone(),
        };
        for line in &statement.constraints {
            let plain = property::as_relation(line, one_of_nodes);
            let relation = plain.as_deref().unwrap_or(line);
            if let Some(relation) = Relation::read(relation, line, &names, statement.exact) {
                bounds.relations.push(relation);
            } else if let Some(property) = Property::read(line, &names) {
                bounds.properties.push(property);
            } else {
                bounds.unread += 1;
            }
        }
        let mut components = statement.components(&names);
        components.extend(bounds.relations.iter().filter_map(Relation::component));
        relation::replace(&mut bounds.relations, components);
        bounds
    }

    /// How many lines were understood, and how many were not.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.relations.len() + self.properties.len(), self.unread)
    }

    /// The first line that the arguments break, and by what.
    pub(super) fn broken(&self, arguments: &[Value]) -> Option<String> {
        let nodes = (self.parameters.iter().zip(arguments))
            .filter(|((_, nodes), _)| *nodes)
            .flat_map(|(_, value)| integers(value));
        let nodes = Value::List(nodes.collect());
        let mut scene = Scene {
            values: (self.parameters.iter().zip(arguments))
                .map(|((name, _), value)| (name.as_str(), value))
                .collect(),
            defined: BTreeMap::new(),
        };
        scene.values.insert(NODE_VALUES, &nodes);
        relation::define(&self.relations, &mut scene);
        let relations = self.relations.iter().map(|one| one.broken(&scene));
        let properties = self.properties.iter().map(|one| one.broken(&scene));
        (relations.chain(properties)).find_map(|found| found)
    }
}

/// The integers in a value.
fn integers(value: &Value) -> Vec<Value> {
    match value.sequence() {
        Some(items) => items.iter().flat_map(integers).collect(),
        None if matches!(value, Value::Integer(_)) => vec![value.clone()],
        None => Vec::new(),
    }
}

/// What one does not want to see whole in a message.
fn shown(value: &str) -> String {
    const LONGEST: usize = 60;
    if value.chars().count() <= LONGEST {
        return value.to_owned();
    }
    let start: String = value.chars().take(LONGEST).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests;
