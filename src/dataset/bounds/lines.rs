//! From a statement to the lines of its constraints.
use super::relation::{self, Path};
use std::collections::BTreeMap;

/// A statement as the readers of lines want it.
#[derive(Debug)]
pub(super) struct Statement {
    /// The lines of the constraints, without markup.
    pub(super) constraints: Vec<String>,
    /// Exponents are still there.
    pub(super) exact: bool,
    /// Everything as one text, without markup.
    whole: String,
}

impl Statement {
    /// Reads HTML (with `<sup>` for exponents), Markdown or plain text. What comes first of all headings `Constraints`
    /// but the last is the description.
    pub(super) fn read(text: &str) -> Self {
        let html = text.contains("</");
        let text = if html {
            without_tags(text)
        } else {
            text.to_owned()
        };
        let text = text
            .replace(['`', '\u{200b}'], "")
            .replace("**", "")
            .replace('\u{a0}', " ");
        let text = text
            .replace('≤', "<=")
            .replace('≥', ">=")
            .replace(['‘', '’'], "'");
        let at = text.rfind("Constraints");
        let behind = at.map_or("", |at| &text[at..]);
        let mut constraints = Vec::new();
        let heading = behind.lines().next().unwrap_or_default();
        let listed = behind
            .lines()
            .any(|line| line.trim_start().starts_with("* "));
        for line in behind.lines().skip(1) {
            let line_start = line.trim_start();
            if line_start.starts_with(['#', '<']) || is_heading(line_start) {
                break;
            }
            let bullet = line_start
                .strip_prefix("* ")
                .or(line_start.strip_prefix("- "));
            // A line below another one means what that one says; a listed statement has its lines at bullets.
            let nested = bullet.is_some() && line.len() - line_start.len() >= 2;
            if nested || (listed && bullet.is_none()) {
                continue;
            }
            let line = bullet.unwrap_or(line_start).trim();
            let line = line.strip_suffix(['.', ';']).unwrap_or(line).trim();
            if line.ends_with(':') {
                break;
            }
            if !line.is_empty() {
                constraints.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
        let _ = heading;
        Self {
            exact: html || behind.contains('^'),
            constraints,
            whole: text,
        }
    }

    /// What the statement calls the elements of an argument's elements: `edges[i] = [a_i, b_i]`. A name that stands for
    /// two things stands for none.
    pub(super) fn components(&self, names: &[&str]) -> BTreeMap<String, Option<Path>> {
        let mut found: BTreeMap<String, Option<Path>> = BTreeMap::new();
        for (at, _) in self
            .whole
            .match_indices("] = [")
            .chain(self.whole.match_indices("] == ["))
        {
            let before = &self.whole[..at];
            let start = before.rfind(|c: char| !(c.is_alphanumeric() || "_[".contains(c)));
            let whose = &before[start.map_or(0, |start| start + 1)..];
            let Some((name, letter)) = whose.split_once('[') else {
                continue;
            };
            let rest = &self.whole[at..];
            let inside = rest
                .split_once("= [")
                .and_then(|(_, rest)| rest.split_once(']'));
            let (Some((inside, _)), true) = (inside, names.contains(&name)) else {
                continue;
            };
            if letter.len() != 1 || !letter.starts_with(|c: char| c.is_ascii_lowercase()) {
                continue;
            }
            let components: Vec<&str> = inside.split(',').map(str::trim).collect();
            if !components.iter().all(|name| relation::is_name(name)) {
                continue;
            }
            for (place, component) in components.into_iter().enumerate() {
                // Only what shows its letter (`a_i`, `starti`) is sure to be no other name.
                if names.contains(&component) || component.len() < 2 || !component.ends_with(letter)
                {
                    continue;
                }
                let path = Path::component(name, letter, place);
                let known = found
                    .entry(component.to_owned())
                    .or_insert(Some(path.clone()));
                if known.as_ref() != Some(&path) {
                    *known = None;
                }
            }
        }
        found
    }
}

/// What follows the constraints on the site.
fn is_heading(line: &str) -> bool {
    let line = line.to_lowercase();
    [
        "follow up",
        "follow-up",
        "note:",
        "custom judge",
        "example ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// HTML as text: list items of the outermost lists on lines of their own with `* `, those below with `  * `.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    let mut depth = 0_usize;
    while let Some(at) = rest.find('<') {
        text.push_str(&plain(&rest[..at], depth));
        let after = &rest[at + 1..];
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        let Some(end) = after.find('>').filter(|_| is_tag) else {
            text.push('<');
            rest = after;
            continue;
        };
        let tag = after[..end].split_whitespace().next().unwrap_or_default();
        match tag {
            "sup" => text.push('^'),
            "sub" => text.push('_'),
            "ul" | "ol" => {
                depth += 1;
                text.push('\n');
            }
            "/ul" | "/ol" => {
                depth = depth.saturating_sub(1);
                text.push('\n');
            }
            "li" => text.push_str(if depth > 1 { "\n  * " } else { "\n* " }),
            "p" | "/p" | "/li" | "pre" | "/pre" | "div" | "/div" | "br" => text.push('\n'),
            // A comment ends a part of the page.
            _ if tag.starts_with("!--") => text.push_str("\n# \n"),
            _ => {}
        }
        rest = &after[end + 1..];
    }
    text.push_str(&plain(rest, depth));
    text
}

/// Text between tags: entities, and inside lists lines that go on.
fn plain(text: &str, depth: usize) -> String {
    let text = if depth > 0 {
        text.replace(['\n', '\t'], " ")
    } else {
        text.to_owned()
    };
    if !text.contains('&') {
        return text;
    }
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&le;", "<="),
        ("&ge;", ">="),
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&minus;", "-"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text, |text, (entity, plain)| text.replace(entity, plain))
}
