//! The built-in machines, embedded from sim-configs/.
use super::{Machine, MachineError};

/// A built-in machine file.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Path in the source tree, for messages.
    pub file: &'static str,
    /// The file itself.
    pub text: &'static str,
}

impl Entry {
    /// What the machine is for, in one line.
    pub fn description(&self) -> String {
        machine(self.name)
            .map(|m| m.description)
            .unwrap_or_default()
    }
}

macro_rules! embedded {
    ($($name:literal),*) => {
        &[$(Entry {
            name: $name,
            file: concat!("sim-configs/", $name, ".toml"),
            text: include_str!(concat!("../../../sim-configs/", $name, ".toml")),
        }),*]
    };
}

/// Every built-in machine.
pub const ENTRIES: &[Entry] = embedded![
    "atomic",
    "simple",
    "gem5-timing",
    "gem5-o3",
    "gem5-o3-notso",
    "skylake",
    "skylake-stride",
    "test-tiny",
    "test-tiny-in-order"
];

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// The built-in machine of this name.
///
/// # Errors
/// No built-in machine has this name.
pub fn machine(name: &str) -> Result<Machine, MachineError> {
    let entry = find(name).ok_or_else(|| MachineError {
        origin: format!("machine `{name}`"),
        what: "no built-in machine has this name".to_owned(),
        hint: format!(
            "the built-in machines are {}; or give the path of a machine file",
            list()
        ),
    })?;
    Machine::parse(entry.text, entry.file)
}

/// The names, for messages.
pub(super) fn list() -> String {
    let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::keys::{self, Values};

    #[test]
    fn every_built_in_machine_is_valid_and_carries_its_own_name() {
        for entry in ENTRIES {
            let machine = machine(entry.name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(machine.name, entry.name);
            assert!(!machine.description.is_empty());
        }
    }

    #[test]
    fn every_number_carries_its_source_or_says_assumed() {
        for entry in ENTRIES {
            for (i, line) in entry.text.lines().enumerate() {
                let Some((_, value)) = line.split_once('=').filter(|_| !line.starts_with('#'))
                else {
                    continue;
                };
                if value.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
                    let comment = value.split_once('#').map_or("", |(_, c)| c.trim());
                    assert!(comment.len() >= 7, "{}:{} has no source", entry.file, i + 1);
                }
            }
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = machine("simpel").unwrap_err();
        assert_eq!(
            error.to_string(),
            "machine `simpel`: no built-in machine has this name; \
             the built-in machines are atomic, simple, gem5-timing, gem5-o3, gem5-o3-notso, skylake, \
             skylake-stride, test-tiny, test-tiny-in-order; or give the path of a machine file"
        );
    }

    #[test]
    fn the_readme_shows_the_table_of_keys() {
        let readme = include_str!("../../../sim-configs/README.md");
        let simple = machine("simple").unwrap();
        let mut table = String::new();
        for key in keys::KEYS {
            let values = match key.values {
                Values::Integer(low, high) => format!("{low} to {high}"),
                Values::Text => "text".to_owned(),
                Values::OneOf(words) => words.join(", "),
            };
            let simple = simple.get(key.path).unwrap_or_default();
            table.push_str(&format!(
                "| `{}` | {} | {} | {values} | {simple} | {} |\n",
                key.path, key.unit, key.meaning, key.reader
            ));
        }
        let start = readme
            .find("| `name`")
            .expect("the table begins with the name");
        assert!(
            readme[start..].starts_with(&table),
            "the table of sim-configs/README.md should be\n{table}"
        );
    }
}
