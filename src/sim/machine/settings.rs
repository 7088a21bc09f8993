//! The flat form of a machine: key, value, and the line that set it.
use super::keys::{self, Key, Kind, Values, When};
use super::{MachineError, catalog};
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    /// A number.
    Integer(u64),
    /// A word or a text.
    Text(String),
}

impl Value {
    fn of_text(key: &Key, text: &str) -> Self {
        match key.values {
            Values::Integer(..) => match text.replace('_', "").parse() {
                Ok(number) => Self::Integer(number),
                Err(_) => Self::Text(text.to_owned()),
            },
            Values::Text | Values::OneOf(_) => Self::Text(text.to_owned()),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// Where a value was set, for messages: `file:line`, or the option.
#[derive(Clone, Debug)]
pub(super) struct Origin(pub(super) Arc<str>);

#[derive(Clone, Debug)]
struct Setting {
    value: Value,
    origin: Origin,
    /// It came from the machine that the file extends: it may go unread where the file changes the kind of core.
    inherited: bool,
}

/// All values of a machine, by path.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    values: BTreeMap<&'static str, Setting>,
    /// What a missing key is missing from.
    origin: Origin,
}

impl Settings {
    /// No value yet; `origin` names the source in messages.
    pub(super) fn new(origin: &str) -> Self {
        Self {
            values: BTreeMap::new(),
            origin: Origin(origin.into()),
        }
    }

    /// Reads a machine file, on top of the machine that it extends.
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, MachineError> {
        let at = |offset: usize| {
            let line = 1 + text.as_bytes()[..offset.min(text.len())]
                .iter()
                .filter(|&&b| b == b'\n')
                .count();
            Origin(format!("{file}:{line}").into())
        };
        let table = DeTable::parse(text).map_err(|error| {
            MachineError::new(
                &at(error.span().map_or(0, |span| span.start)),
                format!("not TOML: {}", error.message()),
                "see sim-configs/README.md for the form",
            )
        })?;
        let mut settings = Self::new(file);
        if let Some(extends) = table.get_ref().get("extends") {
            settings.inherit(extends.get_ref(), &at(extends.span().start))?;
        }
        for (key, value) in table.get_ref() {
            let (name, origin) = (key.get_ref().as_ref(), at(key.span().start));
            match value.get_ref() {
                _ if name == "extends" => {}
                DeValue::Table(section) => {
                    if !keys::KEYS.iter().any(|k| section_of(k.path) == Some(name)) {
                        return Err(MachineError::new(
                            &origin,
                            format!("unknown section `[{name}]`"),
                            format!("the sections are {}", sections()),
                        ));
                    }
                    for (key, value) in section {
                        let path = format!("{name}.{}", key.get_ref());
                        settings.set_toml(&path, value.get_ref(), at(key.span().start))?;
                    }
                }
                scalar => settings.set_toml(name, scalar, origin)?,
            }
        }
        Ok(settings)
    }

    fn inherit(&mut self, base: &DeValue<'_>, origin: &Origin) -> Result<(), MachineError> {
        let entry = base.as_str().and_then(catalog::find).ok_or_else(|| {
            MachineError::new(
                origin,
                "`extends` names no built-in machine".to_owned(),
                format!("the built-in machines are {}", catalog::list()),
            )
        })?;
        self.values = Self::parse(entry.text, entry.file)?.values;
        self.inherit_all();
        // Two different machines must not answer to one name.
        self.values.remove("name");
        Ok(())
    }

    fn set_toml(
        &mut self,
        path: &str,
        value: &DeValue<'_>,
        origin: Origin,
    ) -> Result<(), MachineError> {
        let value = match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(digits) => {
                match u64::from_str_radix(digits.as_str(), digits.radix()) {
                    Ok(number) => Value::Integer(number),
                    Err(_) => {
                        return Err(MachineError::new(
                            &origin,
                            format!("`{path}` is negative or too large"),
                            expected(known(path, &origin)?),
                        ));
                    }
                }
            }
            other => {
                return Err(MachineError::new(
                    &origin,
                    format!("`{path}` is {}", article(other.type_str())),
                    expected(known(path, &origin)?),
                ));
            }
        };
        self.set(path, value, origin)
    }

    /// Sets a key from the text of an option: `--set l2.ways=8`.
    pub(super) fn set_text(&mut self, path: &str, text: &str) -> Result<(), MachineError> {
        let origin = Origin(format!("--set {path}={text}").into());
        let key = known(path, &origin)?;
        self.set(path, Value::of_text(key, text), origin)
    }

    /// Sets a key, after checking that the key exists and takes such a value.
    pub(super) fn set(
        &mut self,
        path: &str,
        value: Value,
        origin: Origin,
    ) -> Result<(), MachineError> {
        let key = known(path, &origin)?;
        let fits = match (&value, key.values) {
            (Value::Integer(n), Values::Integer(low, high)) => (low..=high).contains(n),
            (Value::Text(_), Values::Text) => true,
            (Value::Text(text), Values::OneOf(words)) => words.contains(&text.as_str()),
            _ => false,
        };
        if !fits {
            let shown = match &value {
                Value::Integer(n) => n.to_string(),
                Value::Text(text) => format!("{text:?}"),
            };
            return Err(MachineError::new(
                &origin,
                format!("`{path}` is {shown}"),
                expected(key),
            ));
        }
        let setting = Setting {
            value,
            origin,
            inherited: false,
        };
        self.values.insert(key.path, setting);
        Ok(())
    }

    /// Everything set so far may go unread, as what a file inherits may.
    pub(super) fn inherit_all(&mut self) {
        for setting in self.values.values_mut() {
            setting.inherited = true;
        }
    }

    /// Refuses keys that a core of this kind, or with these other keys, does not read: a value without effect is a
    /// mistake of its author. What is inherited is dropped instead.
    pub(super) fn check_read_by(&mut self, kind: Kind) -> Result<(), MachineError> {
        let unread = |path: &str| keys::find(path).is_some_and(|k| !k.kinds.contains(&kind));
        for (path, setting) in &self.values {
            if unread(path) && !setting.inherited {
                return Err(MachineError::new(
                    &setting.origin,
                    format!(
                        "`{path}` means nothing on a core of kind \"{}\"",
                        kind.name()
                    ),
                    "remove it, or change `core.kind`",
                ));
            }
        }
        self.values.retain(|path, _| !unread(path));
        let mut idle = Vec::new();
        for (path, setting) in &self.values {
            let Some(when) = keys::condition(path, kind) else {
                continue;
            };
            let decides = self.value(when.key())?.to_string();
            if when.holds(&decides) {
                continue;
            }
            if !setting.inherited {
                return Err(MachineError::new(
                    &setting.origin,
                    format!("`{path}` means nothing while `{}` is {decides}", when.key()),
                    match when {
                        When::OneOf(key, words) => {
                            format!("remove it, or set `{key}` to {}", either(words))
                        }
                        When::NotZero(key) => format!("remove it, or give `{key}` a value"),
                    },
                ));
            }
            idle.push(*path);
        }
        self.values.retain(|path, _| !idle.contains(path));
        Ok(())
    }

    fn value(&self, path: &'static str) -> Result<Value, MachineError> {
        if let Some(setting) = self.values.get(path) {
            return Ok(setting.value.clone());
        }
        match (keys::find(path), keys::default_value(path)) {
            (Some(key), Some(text)) => Ok(Value::of_text(key, text)),
            _ => Err(MachineError::new(
                &self.origin,
                format!("`{path}` is missing"),
                "add it, or start from a built-in machine with `extends = \"simple\"`",
            )),
        }
    }

    /// The number at `path`.
    pub(super) fn integer(&self, path: &'static str) -> Result<u64, MachineError> {
        match self.value(path)? {
            Value::Integer(number) => Ok(number),
            Value::Text(_) => Err(self.wrong(path)),
        }
    }

    /// The text at `path`.
    pub(super) fn text(&self, path: &'static str) -> Result<String, MachineError> {
        match self.value(path)? {
            Value::Text(text) => Ok(text),
            Value::Integer(_) => Err(self.wrong(path)),
        }
    }

    /// `set` has checked the type against the table of keys, so this shows only if a reader and the table disagree.
    fn wrong(&self, path: &'static str) -> MachineError {
        self.error(
            path,
            format!("`{path}` has the wrong type"),
            "see sim-configs/README.md",
        )
    }

    /// An error at the line that set `path`.
    pub(super) fn error(
        &self,
        path: &'static str,
        what: String,
        hint: impl Into<String>,
    ) -> MachineError {
        let origin = self.values.get(path).map_or(&self.origin, |s| &s.origin);
        MachineError::new(origin, what, hint)
    }
}

fn known(path: &str, origin: &Origin) -> Result<&'static Key, MachineError> {
    keys::find(path).ok_or_else(|| {
        let hint = match keys::nearest(path) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "sim-configs/README.md lists every key".to_owned(),
        };
        MachineError::new(origin, format!("unknown key `{path}`"), hint)
    })
}

fn expected(key: &Key) -> String {
    match key.values {
        Values::Integer(low, high) => format!("it takes an integer from {low} to {high}"),
        Values::Text => "it takes a text in quotes".to_owned(),
        Values::OneOf(words) => format!("it takes {}", either(words)),
    }
}

fn either(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    quoted.join(" or ")
}

fn article(type_name: &str) -> String {
    let vowel = type_name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {type_name}", if vowel { "an" } else { "a" })
}

fn section_of(path: &str) -> Option<&str> {
    path.split_once('.').map(|(section, _)| section)
}

fn sections() -> String {
    let mut names: Vec<&str> = Vec::new();
    for section in keys::KEYS.iter().filter_map(|key| section_of(key.path)) {
        if names.last() != Some(&section) {
            names.push(section);
        }
    }
    names.join(", ")
}
