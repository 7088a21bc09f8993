//! Values in text: what results and expected results of calls are written in.
//!
//! The grammar takes JSON and Python's literals alike: `null`/`None`, `true`/`True`, numbers of any length, text in
//! either quotes, `[...]`, `(...)`, `{...}` (a set or a map), `set()`, `b'...'`, complex numbers as Python prints them,
//! `nan` and `inf`; and `@name'...'` for a value of a type that is none of these.
use std::fmt;

/// Deepest nesting that is read: the reader recurses.
const DEPTH_MAX: usize = 256;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`, `None`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any length: its digits without leading zeros, with `-` where it is negative.
    Integer(String),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// `[...]`.
    List(Vec<Value>),
    /// `(...)`.
    Tuple(Vec<Value>),
    /// A set; the order of its elements means nothing.
    Set(Vec<Value>),
    /// A map; the order of its entries means nothing.
    Map(Vec<(Value, Value)>),
    /// A value of another type: the type's name and a text.
    Other(String, String),
}

impl Value {
    /// Reads a value that is the whole text, white space aside.
    ///
    /// # Errors
    /// What is wrong and at which byte.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (value, rest) = Self::parse_prefix(text)?;
        if rest.trim().is_empty() {
            Ok(value)
        } else {
            Err(format!("more text at byte {}", text.len() - rest.len()))
        }
    }

    /// Reads the value with which a text begins, and gives what follows it.
    ///
    /// # Errors
    /// What is wrong and at which byte.
    pub fn parse_prefix(text: &str) -> Result<(Self, &str), String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        Ok((value, &text[reader.at..]))
    }

    /// The elements of a list or tuple.
    pub fn sequence(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) | Self::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The same value as JSON, which C++ drivers read; `None` where JSON has no such value.
    pub fn to_json(&self) -> Option<String> {
        let mut text = String::new();
        self.write_json(&mut text)?;
        Some(text)
    }

    fn write_json(&self, to: &mut String) -> Option<()> {
        match self {
            Self::Null => to.push_str("null"),
            Self::Bool(value) => to.push_str(if *value { "true" } else { "false" }),
            Self::Integer(digits) => to.push_str(digits),
            Self::Float(value) if value.is_finite() => to.push_str(&format!("{value:?}")),
            Self::Text(text) => json_text(text, to),
            Self::List(items) | Self::Tuple(items) | Self::Set(items) => {
                to.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        to.push(',');
                    }
                    item.write_json(to)?;
                }
                to.push(']');
            }
            Self::Map(entries) => {
                to.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        to.push(',');
                    }
                    key.write_json(to)?;
                    to.push(':');
                    value.write_json(to)?;
                }
                to.push('}');
            }
            Self::Float(_) | Self::Complex(..) | Self::Bytes(_) | Self::Other(..) => return None,
        }
        Some(())
    }
}

/// JSON's text without more escapes than it needs; those of Python are the same.
fn json_text(text: &str, to: &mut String) {
    to.push('"');
    for letter in text.chars() {
        match letter {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            control if control < ' ' || control == '\u{7f}' => {
                to.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => to.push(other),
        }
    }
    to.push('"');
}

fn float(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value.is_nan() {
        f.write_str("nan")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 { "inf" } else { "-inf" })
    } else {
        write!(f, "{value:?}")
    }
}

/// As Python writes it; a driver in Python reads this as an expression (`nan` and `inf` are names there).
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, items: &[Self]| {
            for (index, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if index > 0 { ", " } else { "" })?;
            }
            Ok(())
        };
        match self {
            Self::Null => f.write_str("None"),
            Self::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Self::Integer(digits) => f.write_str(digits),
            Self::Float(value) => float(*value, f),
            Self::Complex(real, imaginary) => {
                f.write_str("complex(")?;
                float(*real, f)?;
                f.write_str(", ")?;
                float(*imaginary, f)?;
                f.write_str(")")
            }
            Self::Text(text) => {
                let mut quoted = String::new();
                json_text(text, &mut quoted);
                f.write_str(&quoted)
            }
            Self::Bytes(bytes) => {
                f.write_str("b\"")?;
                for byte in bytes {
                    match byte {
                        b'"' | b'\\' => write!(f, "\\{}", *byte as char)?,
                        b' '..=b'~' => write!(f, "{}", *byte as char)?,
                        other => write!(f, "\\x{other:02x}")?,
                    }
                }
                f.write_str("\"")
            }
            Self::List(items) => {
                f.write_str("[")?;
                join(f, items)?;
                f.write_str("]")
            }
            Self::Tuple(items) => {
                f.write_str("(")?;
                join(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::Set(items) if items.is_empty() => f.write_str("set()"),
            Self::Set(items) => {
                f.write_str("{")?;
                join(f, items)?;
                f.write_str("}")
            }
            Self::Map(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Self::Other(kind, text) => {
                let mut quoted = String::new();
                json_text(text, &mut quoted);
                write!(f, "@{kind}{quoted}")
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn error<T>(&self, what: &str) -> Result<T, String> {
        let shown: String = self.rest().chars().take(20).collect();
        if shown.is_empty() {
            return Err(format!("{what} at the end of the text"));
        }
        Err(format!("{what} at byte {} (`{shown}`)", self.at))
    }

    fn blank(&mut self) {
        let rest = self.rest();
        // Data sets copied from web pages hold no-break spaces.
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn word(&self) -> &str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.blank();
        if depth > DEPTH_MAX {
            return self.error("nested too deeply");
        }
        let Some(first) = self.rest().chars().next() else {
            return self.error("no value");
        };
        match first {
            '[' => self
                .items('[', ']', depth)
                .map(|(items, _)| Value::List(items)),
            '(' => {
                let (mut items, comma) = self.items('(', ')', depth)?;
                // `(3)` and `(1+2j)` are what they enclose.
                if items.len() == 1 && !comma {
                    return Ok(items.remove(0));
                }
                Ok(Value::Tuple(items))
            }
            '{' => self.braces(depth),
            '"' | '\'' => self.text().map(Value::Text),
            '#' => {
                // The end of a level in the site's lists of nodes.
                self.at += 1;
                Ok(Value::Text("#".into()))
            }
            '@' => {
                self.at += 1;
                let name = self.word().to_owned();
                self.at += name.len();
                Ok(Value::Other(name, self.text()?))
            }
            '-' | '+' | '.' | '0'..='9' => self.number(),
            _ => self.named(depth),
        }
    }

    fn named(&mut self, depth: usize) -> Result<Value, String> {
        let word = self.word().to_owned();
        let value = match word.as_str() {
            "null" | "None" | "nullptr" => Value::Null,
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "nan" | "NaN" => Value::Float(f64::NAN),
            "inf" | "Infinity" => Value::Float(f64::INFINITY),
            "b" if self.rest()[1..].starts_with(['"', '\'']) => {
                self.at += 1;
                let text = self.text()?;
                // Escapes give the code points of bytes.
                let bytes = text.chars().map(|c| u8::try_from(u32::from(c)));
                let bytes: Result<_, _> = bytes.collect();
                return bytes.map(Value::Bytes).or_else(|_| self.error("no bytes"));
            }
            "set" | "frozenset" | "complex" => {
                self.at += word.len();
                if !self.rest().starts_with('(') {
                    return self.error("no value");
                }
                let (items, _) = self.items('(', ')', depth)?;
                return match (word.as_str(), items.as_slice()) {
                    ("complex", [real, imaginary]) => match (as_float(real), as_float(imaginary)) {
                        (Some(real), Some(imaginary)) => Ok(Value::Complex(real, imaginary)),
                        _ => self.error("no number"),
                    },
                    ("complex", _) => self.error("no number"),
                    (_, []) => Ok(Value::Set(Vec::new())),
                    (_, [Value::List(items) | Value::Tuple(items) | Value::Set(items)]) => {
                        Ok(Value::Set(items.clone()))
                    }
                    _ => self.error("no set"),
                };
            }
            _ => return self.error("no value"),
        };
        self.at += word.len();
        Ok(value)
    }

    /// Elements between brackets, and whether a comma stands behind the last.
    fn items(
        &mut self,
        open: char,
        close: char,
        depth: usize,
    ) -> Result<(Vec<Value>, bool), String> {
        debug_assert!(self.rest().starts_with(open));
        self.at += open.len_utf8();
        let close = close.to_string();
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            self.blank();
            if self.takes(&close) {
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return self.error("no comma");
            }
            items.push(self.value(depth + 1)?);
            self.blank();
            comma = self.takes(",");
        }
    }

    fn braces(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        let mut entries = Vec::new();
        let mut comma = true;
        loop {
            self.blank();
            if self.takes("}") {
                // `{}` is an empty map, in both languages.
                return Ok(if items.is_empty() {
                    Value::Map(entries)
                } else {
                    Value::Set(items)
                });
            }
            if !comma {
                return self.error("no comma");
            }
            let key = self.value(depth + 1)?;
            self.blank();
            if items.is_empty() && self.takes(":") {
                entries.push((key, self.value(depth + 1)?));
            } else if entries.is_empty() {
                items.push(key);
            } else {
                return self.error("no `:`");
            }
            self.blank();
            comma = self.takes(",");
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        let negative = self.rest().starts_with('-');
        if self.rest().starts_with(['-', '+']) {
            self.at += 1;
        }
        if matches!(self.word(), "inf" | "Infinity" | "nan" | "NaN") {
            let is_nan = self.word().eq_ignore_ascii_case("nan");
            self.at += self.word().len();
            let value = if is_nan { f64::NAN } else { f64::INFINITY };
            return Ok(Value::Float(if negative { -value } else { value }));
        }
        let bytes = self.text.as_bytes();
        let is_part = |at: usize| match bytes.get(at) {
            Some(b'0'..=b'9' | b'.') => true,
            Some(b'e' | b'E') => bytes
                .get(at + 1)
                .is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+')),
            Some(b'-' | b'+') => matches!(bytes[at - 1], b'e' | b'E'),
            _ => false,
        };
        while is_part(self.at) {
            self.at += 1;
        }
        let token = &self.text[start..self.at];
        let digits = token.trim_start_matches(['-', '+']);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            let digits = digits.trim_start_matches('0');
            let digits = if digits.is_empty() { "0" } else { digits };
            if !self.rest().starts_with('j') && !self.continues_complex() {
                let sign = if negative && digits != "0" { "-" } else { "" };
                return Ok(Value::Integer(format!("{sign}{digits}")));
            }
        }
        let Ok(value) = token.parse::<f64>() else {
            self.at = start;
            return self.error("no number");
        };
        if self.takes("j") {
            return Ok(Value::Complex(0.0, value));
        }
        if self.continues_complex() {
            return match self.number()? {
                Value::Complex(_, imaginary) => Ok(Value::Complex(value, imaginary)),
                _ => self.error("no complex number"),
            };
        }
        Ok(Value::Float(value))
    }

    /// Whether an imaginary part follows, as in `1+2j`.
    fn continues_complex(&self) -> bool {
        let rest = self.rest();
        rest.starts_with(['+', '-'])
            && rest[1..]
                .trim_start_matches(|c: char| {
                    c.is_ascii_digit() || matches!(c, '.' | 'e' | '-' | '+')
                })
                .starts_with('j')
    }

    fn text(&mut self) -> Result<String, String> {
        let Some(quote) = self
            .rest()
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))
        else {
            return self.error("no text");
        };
        let start = self.at;
        self.at += 1;
        let mut found = String::new();
        loop {
            let Some(letter) = self.rest().chars().next() else {
                self.at = start;
                return self.error("a text that does not end");
            };
            self.at += letter.len_utf8();
            match letter {
                '\\' => self.escape(&mut found)?,
                letter if letter == quote => return Ok(found),
                letter => found.push(letter),
            }
        }
    }

    fn escape(&mut self, found: &mut String) -> Result<(), String> {
        let Some(letter) = self.rest().chars().next() else {
            return self.error("a text that does not end");
        };
        self.at += letter.len_utf8();
        let code = match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'a' => '\u{7}',
            '0' => '\0',
            'x' => return self.code(2, found),
            'u' => return self.code(4, found),
            'U' => return self.code(8, found),
            '\\' | '/' | '"' | '\'' => letter,
            // Python keeps what it does not know.
            other => {
                found.push('\\');
                other
            }
        };
        found.push(code);
        Ok(())
    }

    fn code(&mut self, digits: usize, found: &mut String) -> Result<(), String> {
        let hex = |from: &str| {
            from.get(..digits)
                .and_then(|text| u32::from_str_radix(text, 16).ok())
        };
        let Some(mut code) = hex(self.rest()) else {
            return self.error("no hexadecimal digits");
        };
        self.at += digits;
        if (0xd800..0xdc00).contains(&code)
            && let Some(low) = self.rest().strip_prefix("\\u").and_then(hex)
            && (0xdc00..0xe000).contains(&low)
        {
            self.at += 6;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        // A lone surrogate is no character.
        found.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }
}

/// A number as `f64`.
pub(crate) fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::Integer(digits) => digits.parse().ok(),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Value::parse(text).map_or_else(|error| format!("error: {error}"), |v| v.to_string())
    }

    #[test]
    fn json_and_python_are_read_alike() {
        for (text, python) in [
            ("[1, null, true, \"a\\n\"]", "[1, None, True, \"a\\n\"]"),
            ("[1, None, True, 'a\\n']", "[1, None, True, \"a\\n\"]"),
            ("(1,)", "(1,)"),
            ("(1)", "1"),
            ("()", "()"),
            ("{1, 2}", "{1, 2}"),
            ("{}", "{}"),
            ("set()", "set()"),
            ("frozenset({1})", "{1}"),
            ("{'a': [1.5, 2]}", "{\"a\": [1.5, 2]}"),
            ("-007", "-7"),
            ("-0", "0"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            ("1e3", "1000.0"),
            ("-inf", "-inf"),
            ("(1+2j)", "complex(1.0, 2.0)"),
            ("(-1.5-2e-3j)", "complex(-1.5, -0.002)"),
            ("3j", "complex(0.0, 3.0)"),
            ("b'a\\xff'", "b\"a\\xff\""),
            ("\"\\ud83d\\ude00\"", "\"😀\""),
            ("@deque'deque([1])'", "@deque\"deque([1])\""),
        ] {
            assert_eq!(shown(text), python, "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_read_again() {
        let text = "[None, (1,), {1: {2}}, \"q\\\"\\\\\", b\"\\x00\", -1.5e-300, complex(1.0, -2.0), @x\"y\"]";
        let value = Value::parse(text).unwrap();
        assert_eq!(Value::parse(&value.to_string()).unwrap(), value);
    }

    #[test]
    fn json_has_no_sets_of_its_own_and_no_complex_numbers() {
        let json = |text: &str| Value::parse(text).unwrap().to_json();
        assert_eq!(
            json("('a', {1}, None)").as_deref(),
            Some("[\"a\",[1],null]")
        );
        assert_eq!(json("[1j]"), None);
        assert_eq!(json("nan"), None);
    }

    #[test]
    fn broken_texts_are_errors() {
        for text in [
            "",
            "[",
            "[1",
            "[1 2]",
            "{1: 2, 3}",
            "'a",
            "1 2",
            "-",
            "x",
            "\"\\u12\"",
            "b'ł'",
            "@",
            "{",
            "set(1)",
            "complex(1)",
        ] {
            assert!(Value::parse(text).is_err(), "{text}");
        }
        assert!(Value::parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_prefix_leaves_the_rest() {
        let (value, rest) = Value::parse_prefix(" [1], k = 2").unwrap();
        assert_eq!((value.to_string().as_str(), rest), ("[1]", ", k = 2"));
    }
}
