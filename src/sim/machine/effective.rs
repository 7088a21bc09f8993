//! The complete model written back out, and its content hash.
use super::detailed::Found;
use super::keys::{self, Kind};
use super::settings::{Origin, Settings, Value};
use super::{Core, Machine};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

impl Machine {
    /// The value of a key as it would stand in a file, without quotes; `None` where this kind of core has no such key.
    pub fn get(&self, path: &str) -> Option<String> {
        let value = self.value(keys::find(path)?.path)?;
        Some(value.to_string())
    }

    /// The whole machine as a machine file: every key that its core reads, nothing inherited.
    pub fn effective_toml(&self) -> String {
        let mut out = String::new();
        let mut section = "";
        for key in keys::KEYS {
            let Some(value) = self.value(key.path) else {
                continue;
            };
            let (in_section, name) = key.path.split_once('.').unwrap_or(("", key.path));
            if in_section != section {
                section = in_section;
                out.push_str(&format!("\n[{section}]\n"));
            }
            let value = match value {
                Value::Integer(number) => number.to_string(),
                Value::Text(text) => toml::Value::String(text).to_string(),
            };
            out.push_str(&format!("{name} = {value}\n"));
        }
        out
    }

    /// The whole machine as JSON: an object a section, keys as in the file. Stored with each result.
    pub fn effective(&self) -> serde_json::Value {
        let mut root = serde_json::Map::new();
        for key in keys::KEYS {
            let Some(value) = self.value(key.path) else {
                continue;
            };
            let value = match value {
                Value::Integer(number) => number.into(),
                Value::Text(text) => text.into(),
            };
            match key.path.split_once('.') {
                None => {
                    root.insert(key.path.to_owned(), value);
                }
                Some((section, name)) => {
                    let section = root
                        .entry(section)
                        .or_insert_with(|| serde_json::Map::new().into());
                    if let Some(section) = section.as_object_mut() {
                        section.insert(name.to_owned(), value);
                    }
                }
            }
        }
        root.into()
    }

    /// SHA-256, in hexadecimal, of everything that can change a result: all keys but the description, sorted, as one
    /// JSON object of paths and values.
    pub fn hash(&self) -> String {
        let canonical: BTreeMap<&str, Value> = keys::KEYS
            .iter()
            .filter(|key| key.path != "description")
            .filter_map(|key| Some((key.path, self.value(key.path)?)))
            .collect();
        let json =
            serde_json::to_vec(&canonical).expect("integers and texts under text keys are JSON");
        Sha256::digest(&json)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The machine as settings, to set some anew.
    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::new(&self.name);
        for key in keys::KEYS {
            if let Some(value) = self.value(key.path) {
                settings
                    .set(key.path, value, Origin(self.name.as_str().into()))
                    .expect("a machine holds only values that its keys allow");
            }
        }
        settings.inherit_all();
        settings
    }

    /// The value of a key that this machine reads.
    fn value(&self, path: &'static str) -> Option<Value> {
        if let Some(when) = keys::condition(path, self.kind()) {
            let decides = self.value(when.key())?.to_string();
            if !when.holds(&decides) {
                return None;
            }
        }
        self.stored(path)
    }

    fn stored(&self, path: &'static str) -> Option<Value> {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        match path {
            "name" => text(&self.name),
            "description" => text(&self.description),
            "core.kind" => text(self.kind().name()),
            "core.frequency_hz" => Some(Value::Integer(self.frequency_hz())),
            "core.micro_ops" => {
                let table = match &self.core {
                    Core::Atomic(core) => core.micro_ops,
                    Core::InOrder(core) => core.micro_ops,
                    Core::Blocking(core) => core.micro_ops,
                    Core::OutOfOrder(core) => core.micro_ops,
                };
                text(table.name())
            }
            "guest.profile" => text(self.guest.profile.name()),
            _ => {
                let found = match &self.core {
                    Core::Atomic(_) | Core::InOrder(_) => {
                        return self.in_order_value(path).map(Value::Integer);
                    }
                    Core::Blocking(core) => core.value(path),
                    Core::OutOfOrder(core) => core.value(path),
                };
                found.map(|found| match found {
                    Found::Integer(number) => Value::Integer(number),
                    Found::Text(text) => Value::Text(text),
                })
            }
        }
    }

    fn in_order_value(&self, path: &str) -> Option<u64> {
        let Core::InOrder(core) = &self.core else {
            return None;
        };
        debug_assert_eq!(self.kind(), Kind::InOrder);
        Some(match path {
            "core.integer_divide_cycles" => core.integer_divide_cycles,
            "core.integer_divide_64_cycles" => core.integer_divide_64_cycles,
            "core.float_divide_cycles" => core.float_divide_cycles,
            "core.float_sqrt_cycles" => core.float_sqrt_cycles,
            "core.transcendental_cycles" => core.transcendental_cycles,
            "core.misprediction_cycles" => core.misprediction_cycles,
            "caches.line_bytes" => core.line_bytes,
            "l1i.size_bytes" => core.l1i.size_bytes,
            "l1i.ways" => core.l1i.ways,
            "l1i.latency_cycles" => core.l1i.latency_cycles,
            "l1d.size_bytes" => core.l1d.size_bytes,
            "l1d.ways" => core.l1d.ways,
            "l1d.latency_cycles" => core.l1d.latency_cycles,
            "l2.size_bytes" => core.l2.size_bytes,
            "l2.ways" => core.l2.ways,
            "l2.latency_cycles" => core.l2.latency_cycles,
            "memory.latency_cycles" => core.memory_latency_cycles,
            "predictor.counter_entries" => core.predictor.counter_entries,
            "predictor.history_bits" => core.predictor.history_bits,
            "predictor.target_entries" => core.predictor.target_entries,
            "predictor.target_history_bits" => core.predictor.target_history_bits,
            "predictor.return_stack_entries" => core.predictor.return_stack_entries,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::catalog;

    #[test]
    fn the_effective_file_reads_back_as_the_same_machine() {
        for entry in catalog::ENTRIES {
            let machine = catalog::machine(entry.name).unwrap();
            let text = machine.effective_toml();
            let again =
                Machine::parse(&text, "effective").unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(again, machine);
            assert_eq!(again.hash(), machine.hash());
        }
    }

    #[test]
    fn every_key_that_a_core_reads_is_written_back() {
        for entry in catalog::ENTRIES {
            let machine = catalog::machine(entry.name).unwrap();
            for key in keys::KEYS {
                let decided = keys::condition(key.path, machine.kind())
                    .is_none_or(|when| when.holds(&machine.get(when.key()).unwrap()));
                let read = key.kinds.contains(&machine.kind()) && decided;
                assert_eq!(
                    machine.get(key.path).is_some(),
                    read,
                    "{} of {}",
                    key.path,
                    entry.name
                );
            }
            assert_eq!(machine.effective()["core"]["kind"], machine.kind().name());
        }
    }

    #[test]
    fn the_hash_covers_every_value_but_the_description() {
        let simple = catalog::machine("simple").unwrap();
        let mut described = simple.clone();
        described.description = "another".to_owned();
        assert_eq!(described.hash(), simple.hash());
        assert_eq!(simple.hash().len(), 64);
        let mut renamed = simple.clone();
        renamed.name = "other".to_owned();
        assert_ne!(renamed.hash(), simple.hash());
    }
}
