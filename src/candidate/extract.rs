//! The code in a model's answer.
//!
//! 1. An answer without a fence line (three backticks or tildes at the start of a line, blanks aside) is code.
//! 2. If the text before the first fence is code already (it defines what is wanted, or continues a body), the answer
//!    is that text; if that fence lies in a docstring, the whole answer is code.
//! 3. Otherwise the code is in the fenced blocks: the first block of the language that defines what is wanted, else
//!    the first of the language, else the first without a language that defines it, else the first of all. A block
//!    that nothing closes ends with the answer. The indentation of the opening fence is taken off the block.
use super::Answer;
use crate::dataset::{Language, cpp_text};
use std::borrow::Cow;

/// The code in `answer`. `wanted` is the name of the function or class that it should define (`main`, for C++ programs).
pub fn extract<'a>(answer: &'a Answer, language: Language, wanted: Option<&str>) -> Cow<'a, str> {
    let text = answer.text();
    let Some(first) = fences(text).next() else {
        return text.into();
    };
    let before = &text[..first.start];
    let continues = matches!(answer, Answer::Completion(_)) && continues_body(before, language);
    if continues || wanted.is_some_and(|name| defines(before, language, name)) {
        let in_docstring = before.matches("\"\"\"").count() % 2 == 1;
        return if in_docstring { text } else { before }.into();
    }
    let blocks = blocks(text);
    let of_language = |block: &&Block<'_>| names_of(language).contains(&block.language.as_str());
    let of_none = |block: &&Block<'_>| block.language.is_empty();
    let wanted_in =
        |block: &&Block<'_>| wanted.is_some_and(|name| defines(&block.code(), language, name));
    (blocks.iter().filter(of_language).find(wanted_in))
        .or_else(|| blocks.iter().find(of_language))
        .or_else(|| blocks.iter().filter(of_none).find(wanted_in))
        .or_else(|| blocks.first())
        .map_or(text.into(), |block| block.code().into_owned().into())
}

/// Whether a source defines a function or class at its outermost level.
pub(super) fn defines(source: &str, language: Language, name: &str) -> bool {
    if names_class(source, name) {
        return true;
    }
    match language {
        Language::Python => crate::dataset::python_defines(source, name),
        Language::Cpp => cpp_text::functions(source).iter().any(|f| f.name == name),
    }
}

/// Whether a source has the words `class name` or `struct name` at the beginning of a line.
pub(super) fn names_class(source: &str, name: &str) -> bool {
    source.lines().any(|line| {
        (line
            .strip_prefix("class ")
            .or_else(|| line.strip_prefix("struct ")))
        .and_then(|rest| rest.trim_start().strip_prefix(name))
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Whether text before a fence goes on with a function body, and is not prose.
fn continues_body(text: &str, language: Language) -> bool {
    match language {
        Language::Python => (text.lines().find(|line| !line.trim().is_empty()))
            .is_some_and(|line| line.starts_with([' ', '\t'])),
        // Prose has no line that ends like a statement or a block.
        Language::Cpp => text
            .lines()
            .any(|line| line.trim_end().ends_with([';', '{', '}'])),
    }
}

fn names_of(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["python", "python3", "py", "py3"],
        Language::Cpp => &["cpp", "c++", "cc", "cxx", "cplusplus", "c"],
    }
}

/// A line of three or more backticks or tildes, and what follows them.
struct Fence<'a> {
    start: usize,
    end: usize,
    indentation: usize,
    mark: char,
    info: &'a str,
}

fn fences(text: &str) -> impl Iterator<Item = Fence<'_>> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let body = line.trim_start_matches([' ', '\t']);
        let mark = body
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let info = body.trim_start_matches(mark);
        (body.len() - info.len() >= 3).then_some(Fence {
            start,
            end: at,
            indentation: line.len() - body.len(),
            mark,
            info: info.trim(),
        })
    })
}

struct Block<'a> {
    language: String,
    indentation: usize,
    text: &'a str,
}

impl Block<'_> {
    /// The block's text without the indentation of its fence.
    fn code(&self) -> Cow<'_, str> {
        if self.indentation == 0 {
            return self.text.into();
        }
        let mut code = String::with_capacity(self.text.len());
        for line in self.text.split_inclusive('\n') {
            let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
            code.push_str(&line[blanks.min(self.indentation)..]);
        }
        code.into()
    }
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for fence in fences(text) {
        match open.take() {
            None => open = Some(fence),
            Some(opening) if fence.mark == opening.mark && fence.info.is_empty() => {
                blocks.push(block(&opening, &text[opening.end..fence.start]));
            }
            Some(opening) => open = Some(opening),
        }
    }
    if let Some(opening) = open {
        blocks.push(block(&opening, &text[opening.end..]));
    }
    blocks
}

fn block<'a>(opening: &Fence<'_>, text: &'a str) -> Block<'a> {
    // `{.python}` and `python title="x"` name the language too.
    let word = opening.info.split_whitespace().next().unwrap_or("");
    Block {
        language: word.trim_matches(['{', '}', '.']).to_ascii_lowercase(),
        indentation: opening.indentation,
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solution(text: &str, language: Language, wanted: &str) -> String {
        extract(&Answer::Solution(text.into()), language, Some(wanted)).into_owned()
    }

    fn completion(text: &str, language: Language) -> String {
        extract(&Answer::Completion(text.into()), language, Some("f")).into_owned()
    }

    #[test]
    fn an_answer_without_fences_is_code() {
        let code = "def f(x):\n    return `x`\n";
        assert_eq!(solution(code, Language::Python, "f"), code);
    }

    #[test]
    fn the_block_that_defines_the_function_is_taken() {
        let text = "Sure! First install:\n```bash\npip install x\n```\nUse it:\n```python\nprint(f(1))\n```\n\
                    Code:\n```python\ndef f(x):\n    return x\n```\nDone.";
        assert_eq!(
            solution(text, Language::Python, "f"),
            "def f(x):\n    return x\n"
        );
        let text = "Here:\n```cpp\nint g() { return 1; }\n```\n```\nint f() { return 2; }\n```";
        assert_eq!(
            solution(text, Language::Cpp, "g"),
            "int g() { return 1; }\n"
        );
    }

    #[test]
    fn a_block_that_nothing_closes_ends_with_the_answer() {
        assert_eq!(
            solution("Ok\n```Python\ndef f():\n  pass", Language::Python, "f"),
            "def f():\n  pass"
        );
    }

    #[test]
    fn an_indented_block_loses_the_indentation_of_its_fence() {
        let text = "1. So:\n   ```python\n   def f():\n       return 1\n   ```\n";
        assert_eq!(
            solution(text, Language::Python, "f"),
            "def f():\n    return 1\n"
        );
    }

    #[test]
    fn code_before_a_closing_fence_is_the_answer() {
        assert_eq!(
            completion("    return 1\n```\nThis returns 1.", Language::Python),
            "    return 1\n"
        );
        assert_eq!(
            completion("  return 1;\n}\n```\nIt does.", Language::Cpp),
            "  return 1;\n}\n"
        );
        assert_eq!(
            solution("def f():\n    return 1\n```\n", Language::Python, "f"),
            "def f():\n    return 1\n"
        );
    }

    #[test]
    fn a_fence_in_a_docstring_is_code() {
        let code =
            "def f():\n    \"\"\"Doc.\n    ```\n    f()\n    ```\n    \"\"\"\n    return 1\n";
        assert_eq!(solution(code, Language::Python, "f"), code);
    }

    #[test]
    fn a_fenced_body_is_a_completion() {
        assert_eq!(
            completion("The body:\n```python\n    return 1\n```", Language::Python),
            "    return 1\n"
        );
    }
}
