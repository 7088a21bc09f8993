//! Rows with values: JSON lines that hold what JSON does not allow (NaN, infinities) or its readers round (long integers).
use super::{Defect, Value};
use std::collections::BTreeMap;

/// An object and where it stands.
#[derive(Debug)]
pub(super) struct Row {
    /// The file, for messages.
    pub(super) file: String,
    /// Line number, from 1.
    pub(super) line: usize,
    /// The object.
    pub(super) fields: BTreeMap<String, Value>,
}

impl Row {
    /// A defect at this place.
    pub(super) fn defect(&self, reason: impl Into<String>, remedy: &str) -> Defect {
        Defect::of_file(&self.file, reason, remedy).at_line(self.line)
    }

    /// The text of a field that may be absent or null.
    pub(super) fn text(&self, field: &str) -> Result<Option<&str>, Defect> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => {
                let defect = self.defect("is not text", "write it as a JSON string");
                Err(defect.in_field(field))
            }
        }
    }

    /// The text of a field that must be there.
    pub(super) fn needed(&self, field: &str) -> Result<&str, Defect> {
        self.text(field)?.ok_or_else(|| {
            self.defect(
                "the field is missing",
                "take the file as its authors give it",
            )
            .in_field(field)
        })
    }

    /// The elements of a field; none where it is absent.
    pub(super) fn inputs(&self, field: &str) -> Result<&[Value], Defect> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::List(items)) => Ok(items),
            // How an empty list is written here and there.
            Some(Value::Map(entries)) if entries.is_empty() => Ok(&[]),
            Some(_) => {
                let defect = self.defect("is not an array", "write an array of argument lists");
                Err(defect.in_field(field))
            }
        }
    }
}

/// The objects of a JSON-lines file; blank lines are left out.
pub(super) fn rows(file: &str, bytes: &[u8]) -> Vec<Result<Row, Defect>> {
    let mut rows = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let defect = |reason: String| {
            let remedy = "correct or remove the line (one JSON object a line)";
            Defect::of_file(file, reason, remedy).at_line(index + 1)
        };
        let read = std::str::from_utf8(line)
            .map_err(|error| defect(format!("invalid UTF-8: {error}")))
            .and_then(|text| Value::parse(text).map_err(defect));
        rows.push(read.and_then(|value| {
            match value {
                Value::Map(entries) => Ok(Row {
                    file: file.to_owned(),
                    line: index + 1,
                    fields: (entries.into_iter())
                        .filter_map(|(key, value)| match key {
                            Value::Text(key) => Some((key, value)),
                            _ => None,
                        })
                        .collect(),
                }),
                _ => Err(defect("not a JSON object".into())),
            }
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_exact_and_defects_have_their_place() {
        let text = b"{\"a\": [123456789012345678901, NaN], \"b\": \"x\"}\n\n[1]\n{\"a\": }\n\xff\n";
        let read = rows("f", text);
        let row = read[0].as_ref().unwrap();
        assert_eq!(
            row.inputs("a").unwrap()[0].to_string(),
            "123456789012345678901"
        );
        assert_eq!(row.text("b").unwrap(), Some("x"));
        assert!(row.text("a").is_err() && row.needed("c").is_err() && row.inputs("b").is_err());
        let errors: Vec<String> = (read[1..].iter())
            .map(|r| r.as_ref().unwrap_err().to_string())
            .collect();
        assert!(errors[0].contains("line 3: not a JSON object"));
        assert!(errors[1].contains("line 4: no value"));
        assert!(errors[2].contains("line 5: invalid UTF-8"));
    }
}
