//! JSON-lines files: reading (gzip accepted), lines to objects, fields to text, with the place of every defect.
use super::Defect;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;

/// Most bytes that a file may hold once unpacked: a gzip bomb must end before memory does.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// The bytes of a file, unpacked if it is gzip (by its first two bytes, whatever its name).
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Defect> {
    let unreadable = |error: std::io::Error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path",
            std::io::ErrorKind::PermissionDenied => "make it readable",
            std::io::ErrorKind::IsADirectory => "name a JSON-lines file",
            _ => "check the file",
        };
        Defect::of_file(path.display(), format!("cannot read it: {error}"), remedy)
    };
    let packed = std::fs::read(path).map_err(unreadable)?;
    if !packed.starts_with(&[0x1f, 0x8b]) {
        return Ok(packed);
    }
    let mut bytes = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(packed.as_slice())
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    if let Err(error) = read {
        let reason = format!(
            "the gzip data is damaged or cut short after {} bytes of text: {error}",
            bytes.len()
        );
        let remedy = "fetch the file again and test it with `gzip -t`";
        return Err(Defect::of_file(path.display(), reason, remedy));
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let reason = format!("unpacks to more than {FILE_BYTES_MAX} bytes");
        return Err(Defect::of_file(path.display(), reason, "split the file"));
    }
    Ok(bytes)
}

/// One object of a file, and where it stands.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// The file, for messages.
    pub(crate) file: &'a str,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// The object.
    pub(crate) fields: Map<String, Value>,
}

/// The objects of a file, line by line; blank lines are left out. A file that is one JSON array of objects gives these.
pub(crate) fn records<'a>(
    file: &'a str,
    bytes: &'a [u8],
) -> impl Iterator<Item = Result<Record<'a>, Defect>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let array = elements(bytes);
    let lines = (bytes.split(|&byte| byte == b'\n'))
        .enumerate()
        .filter(|(_, text)| !text.trim_ascii().is_empty())
        .map(|(index, text)| (index + 1, text.trim_ascii()))
        .take(if array.is_some() { 0 } else { usize::MAX });
    (array.into_iter().flatten().chain(lines)).map(move |(line, text)| record(file, line, text))
}

/// The texts of a whole file's array, each with the line on which it begins; `None` where the file is something else.
fn elements(bytes: &[u8]) -> Option<Vec<(usize, &[u8])>> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return None;
    }
    let parts: Vec<&RawValue> = serde_json::from_slice(bytes).ok()?;
    if parts.iter().any(|part| !part.get().starts_with('{')) {
        return None;
    }
    let (mut line, mut at) = (1, 0);
    let mut found = Vec::with_capacity(parts.len());
    for part in parts {
        let text = part.get().as_bytes();
        // The parts lie within `bytes`, in order.
        let start = text.as_ptr() as usize - bytes.as_ptr() as usize;
        line += bytes[at..start].iter().filter(|&&b| b == b'\n').count();
        at = start;
        found.push((line, text));
    }
    Some(found)
}

fn record<'a>(file: &'a str, line: usize, text: &[u8]) -> Result<Record<'a>, Defect> {
    let defect = |reason: String, remedy: &str| Defect::of_file(file, reason, remedy).at_line(line);
    if let Some(at) = text.iter().position(|&byte| byte == 0) {
        return Err(defect(
            format!("a NUL byte stands at column {}", at + 1),
            "write the line again as JSON text",
        ));
    }
    let text = std::str::from_utf8(text).map_err(|error| {
        defect(
            format!("invalid UTF-8 at column {}", error.valid_up_to() + 1),
            "write the file in UTF-8",
        )
    })?;
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(Record { file, line, fields }),
        Ok(Value::Array(_)) => Err(defect(
            "an array, where one object a line is needed".into(),
            "convert the file with `jq -c '.[]'`",
        )),
        Ok(_) => Err(defect(
            "not a JSON object".into(),
            "write one object a line",
        )),
        Err(error) => Err(defect(
            format!("invalid JSON: {}", without_line(&error.to_string())),
            "correct or remove the line (one object a line)",
        )),
    }
}

/// The parser counts lines within the one line that it is given.
fn without_line(message: &str) -> String {
    message.replace(" at line 1 column ", " at column ")
}

impl Record<'_> {
    /// A defect at this place.
    pub(crate) fn defect(&self, reason: impl Into<String>, remedy: impl Into<String>) -> Defect {
        Defect::of_file(self.file, reason, remedy).at_line(self.line)
    }

    /// The text of a field that must be there.
    pub(crate) fn text(&self, field: &str) -> Result<String, Defect> {
        self.optional_text(field)?.ok_or_else(|| {
            let remedy = format!("add `\"{field}\": \"...\"` to the object");
            self.defect("the field is missing", remedy).in_field(field)
        })
    }

    /// The text of a field that may be absent or null.
    pub(crate) fn optional_text(&self, field: &str) -> Result<Option<String>, Defect> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => {
                let reason = format!("{}, where text is needed", kind(other));
                Err(self
                    .defect(reason, "write it as a JSON string")
                    .in_field(field))
            }
        }
    }

    /// As [`Record::text`], for text that becomes source: a NUL would end it early in the compiler's eyes.
    pub(crate) fn source(&self, field: &str) -> Result<String, Defect> {
        let text = self.text(field)?;
        if text.contains('\0') {
            let remedy = "remove the character from the text";
            return Err(self.defect("holds a NUL character", remedy).in_field(field));
        }
        Ok(text)
    }
}

/// What a value is, for messages.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_in_the_middle_is_named_and_the_rest_goes_on() {
        let text =
            b"{\"a\": \"1\"}\n{\"a\": \n\n[1]\n{\"a\": \"\xff\"}\n{\"a\": \"\0\"}\n{\"a\": \"2\"}";
        let read: Vec<_> = records("f.jsonl", text).collect();
        let good: Vec<usize> = (read.iter().flatten()).map(|record| record.line).collect();
        assert_eq!(good, [1, 7]);
        let bad: Vec<String> = (read.iter().filter_map(|r| r.as_ref().err()))
            .map(Defect::to_string)
            .collect();
        assert_eq!(bad.len(), 4);
        assert!(
            bad[0].starts_with("`f.jsonl`, line 2: invalid JSON"),
            "{}",
            bad[0]
        );
        assert!(bad[1].contains("line 4") && bad[1].contains("array"));
        assert!(bad[2].contains("line 5") && bad[2].contains("invalid UTF-8 at column 8"));
        assert!(bad[3].contains("line 6") && bad[3].contains("NUL"));
    }

    #[test]
    fn a_file_that_is_one_array_gives_its_objects_with_their_lines() {
        let text = b" [\n{\"a\": 1},\n\n{\"a\":\n2}, {\"a\": 3}]\n";
        let lines: Vec<usize> = (records("f", text).flatten()).map(|r| r.line).collect();
        assert_eq!(lines, [2, 4, 5]);
        // An array of something else is a line that is no object.
        assert!(records("f", b"[1, 2]\n").all(|read| read.is_err()));
    }

    #[test]
    fn gzip_is_unpacked_and_a_truncated_one_is_an_error() {
        use std::io::Write;
        let folder = std::env::temp_dir().join(format!("tickmark-gz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(b"{\"a\": \"some text\"}\n").unwrap();
        let packed = packer.finish().unwrap();
        let whole = folder.join("whole.jsonl");
        std::fs::write(&whole, &packed).unwrap();
        assert_eq!(read(&whole).unwrap(), b"{\"a\": \"some text\"}\n");
        let cut = folder.join("cut.jsonl.gz");
        std::fs::write(&cut, &packed[..packed.len() - 9]).unwrap();
        assert!(read(&cut).unwrap_err().to_string().contains("gzip"));
        assert!(
            read(&folder.join("none"))
                .unwrap_err()
                .to_string()
                .contains("check the path")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_field_of_another_type_is_named() {
        let text = b"{\"a\": 3, \"b\": null, \"c\": \"x\\u0000y\"}";
        let record = records("f", text).next().unwrap().unwrap();
        let message = record.text("a").unwrap_err().to_string();
        assert!(
            message.starts_with("`f`, line 1, field `a`: a number"),
            "{message}"
        );
        assert!(
            record
                .text("b")
                .unwrap_err()
                .to_string()
                .contains("missing")
        );
        assert_eq!(record.text("c").unwrap(), "x\0y");
        assert!(record.source("c").is_err());
    }
}
