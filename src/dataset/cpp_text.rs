//! Just enough of C++'s lexical rules to find the functions of a source: no parser, and no judge of validity.
//!
//! Comments, text and character literals (raw ones too) and preprocessor lines are stepped over, so that a brace in
//! one of them counts for nothing.

/// A function that a source opens at the outermost level (or in a `namespace` or `extern` block).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name, without qualification.
    pub(crate) name: String,
    /// Where its declaration begins: after what stands before it.
    pub(crate) start: usize,
    /// Just after its closing brace; `None` where the source ends inside it.
    pub(crate) end: Option<usize>,
}

/// The functions that a source opens, in order.
pub(crate) fn functions(source: &str) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    let mut depth = 0_usize;
    // Depths at which a brace belongs to a namespace, within which functions count as outermost.
    let mut namespaces: Vec<usize> = Vec::new();
    let mut start = 0;
    // Nothing but comments and directives since `start`: a declaration begins after them.
    let mut blank = true;
    for piece in pieces(source) {
        match piece {
            Piece::Skipped { end, separates } => {
                blank &= separates;
                if blank && depth == namespaces.len() {
                    start = end;
                }
            }
            Piece::Code { at, byte } => {
                let mut ends = false;
                match byte {
                    b'{' if depth == namespaces.len() => {
                        let head = without_skipped(&source[start..at]);
                        if let Some(name) = function_name(&head) {
                            let start = start + leading_space(&source[start..]);
                            found.push(Function {
                                name,
                                start,
                                end: None,
                            });
                        } else if is_namespace(&head) {
                            namespaces.push(depth);
                            ends = true;
                        }
                        depth += 1;
                    }
                    b'{' => depth += 1,
                    b'}' => {
                        depth = depth.saturating_sub(1);
                        if namespaces.last() == Some(&depth) {
                            namespaces.pop();
                            ends = true;
                        } else if depth == namespaces.len() {
                            if let Some(open) = found.last_mut().filter(|f| f.end.is_none()) {
                                open.end = Some(at + 1);
                            }
                            ends = true;
                        }
                    }
                    b';' => ends = depth == namespaces.len(),
                    _ => {}
                }
                if ends {
                    start = at + 1;
                    blank = true;
                } else {
                    blank &= byte.is_ascii_whitespace();
                }
            }
        }
    }
    found
}

/// Whether `name` stands in the code of a source as a whole word.
pub(crate) fn names(source: &str, name: &str) -> bool {
    let code = without_skipped(source);
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == name)
}

/// A byte of code, or something stepped over.
enum Piece {
    Code {
        at: usize,
        byte: u8,
    },
    /// A comment or a preprocessor line (`separates`), or a literal.
    Skipped {
        end: usize,
        separates: bool,
    },
}

fn pieces(source: &str) -> impl Iterator<Item = Piece> {
    let bytes = source.as_bytes();
    let mut at = 0;
    let mut line_begins = true;
    std::iter::from_fn(move || {
        let byte = *bytes.get(at)?;
        let (end, separates) = match byte {
            b'/' if bytes.get(at + 1) == Some(&b'/') => (line_end(bytes, at), true),
            b'/' if bytes.get(at + 1) == Some(&b'*') => (after(bytes, at + 2, b"*/"), true),
            b'#' if line_begins => (line_end(bytes, at), true),
            b'"' if is_raw(bytes, at) => (raw_end(bytes, at), false),
            b'"' => (literal_end(bytes, at), false),
            // A quote after a digit or letter separates digits (`1'000`), unless it is a prefix such as `u'x'`.
            b'\'' if at == 0 || !bytes[at - 1].is_ascii_digit() => (literal_end(bytes, at), false),
            _ => {
                if byte == b'\n' {
                    line_begins = true;
                } else if !byte.is_ascii_whitespace() {
                    line_begins = false;
                }
                at += 1;
                return Some(Piece::Code { at: at - 1, byte });
            }
        };
        at = end;
        Some(Piece::Skipped { end, separates })
    })
}

/// The code with every skipped piece as one space.
fn without_skipped(source: &str) -> String {
    let mut code = Vec::with_capacity(source.len());
    for piece in pieces(source) {
        code.push(match piece {
            Piece::Code { byte, .. } => byte,
            Piece::Skipped { .. } => b' ',
        });
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// The name in `... name(...) ...`, where this heads a function's body.
fn function_name(head: &str) -> Option<String> {
    let mut from = 0;
    loop {
        let open = from + head[from..].find('(')?;
        let before = head[..open].trim_end();
        // `auto f = [](int x) {` opens no function; `int f(int x = 3) {` does.
        if before.contains('=') && !before.contains("operator") {
            return None;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let name = &before[before.trim_end_matches(is_word).len()..];
        if matches!(
            name,
            "__attribute__" | "alignas" | "decltype" | "explicit" | "requires"
        ) {
            from = close_of(head, open)?;
            continue;
        }
        let named = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_statement = matches!(name, "if" | "for" | "while" | "switch" | "catch" | "return");
        return (named && !is_statement).then(|| name.into());
    }
}

/// Just after the parenthesis that closes the one at `open`.
fn close_of(head: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in head.bytes().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn is_namespace(head: &str) -> bool {
    let mut words = head.split_whitespace();
    matches!(words.next(), Some("namespace" | "extern")) || words.next() == Some("namespace")
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The end of a line, past continuation lines.
fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'\n' => return at,
            // A block comment may begin on a preprocessor line and end on a later one.
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = after(bytes, at + 2, b"*/"),
            _ => at += 1,
        }
    }
    bytes.len()
}

fn after(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    bytes[from.min(bytes.len())..]
        .windows(end.len())
        .position(|window| window == end)
        .map_or(bytes.len(), |found| from + found + end.len())
}

fn literal_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            // A literal that its line does not end is broken; it must not swallow the rest of the source.
            b'\n' => return at,
            byte if byte == bytes[open] => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_raw(bytes: &[u8], quote: usize) -> bool {
    quote > 0 && bytes[quote - 1] == b'R'
}

fn raw_end(bytes: &[u8], quote: usize) -> usize {
    let Some(open) = bytes[quote..].iter().position(|&byte| byte == b'(') else {
        return bytes.len();
    };
    let mut end = vec![b')'];
    end.extend_from_slice(&bytes[quote + 1..quote + open]);
    end.push(b'"');
    after(bytes, quote + open + 1, &end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(source: &str) -> Vec<String> {
        functions(source).into_iter().map(|f| f.name).collect()
    }

    #[test]
    fn functions_of_the_outermost_level_are_found_with_their_ends() {
        let source = "#include <map>\n// void no() {\nint f(int x) { if (x) { return 1; } return 0; }\nint g(";
        let found = functions(source);
        assert_eq!(found.len(), 1);
        assert_eq!(
            &source[found[0].start..found[0].end.unwrap()],
            "int f(int x) { if (x) { return 1; } return 0; }"
        );
    }

    #[test]
    fn braces_in_comments_and_literals_count_for_nothing() {
        let source = "int f() { char c = '{'; const char* s = \"}}\\\"}\"; auto r = R\"x(}\")x\"; /* } */ // }\n\
                      int n = 1'000; }\nint main() {}";
        assert_eq!(names_of(source), ["f", "main"]);
    }

    #[test]
    fn an_open_function_has_no_end() {
        let found = functions("bool f(vector<int> a) {\n  for (;;) {\n");
        assert_eq!((found[0].name.as_str(), found[0].end), ("f", None));
    }

    #[test]
    fn types_tables_and_namespaces_are_no_functions() {
        let source = "struct S { int f() { return 1; } };\nint a[] = {1, 2};\nnamespace n { int g() { return 1; } }\n\
                      auto h = [](int x) { return x; };\nint k(int a = 3) const noexcept { return a; }\n\
                      __attribute__((noinline)) int m(int a) { return a; }";
        assert_eq!(names_of(source), ["g", "k", "m"]);
    }

    #[test]
    fn a_definition_begins_after_comment_and_directives() {
        let source = "/* says f( */\n#define X {\nusing namespace std;\n// note\nint f() {";
        let found = functions(source);
        assert_eq!(&source[found[0].start..], "int f() {");
    }

    #[test]
    fn a_long_source_takes_time_in_proportion() {
        // Quadratic work on these would take minutes.
        let comments = format!("{}x{}", " ".repeat(1 << 20), "/**/".repeat(1 << 18));
        let functions_many = "int f() {}\n".repeat(1 << 17);
        let braces = "{".repeat(1 << 20);
        assert_eq!(functions(&comments).len(), 0);
        assert_eq!(functions(&functions_many).len(), 1 << 17);
        assert_eq!(functions(&braces).len(), 0);
    }

    #[test]
    fn broken_sources_do_not_run_away() {
        for source in [
            "}}}}",
            "\"",
            "'",
            "R\"(",
            "/*",
            "int f() { '",
            "#",
            "{{{{(",
            "\\",
            "é{(é)é{",
        ] {
            let _ = functions(source);
        }
    }
}
