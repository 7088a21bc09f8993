//! What lines say in words: which letters a text has, which values an element, that elements are different or sorted,
//! that edges are a tree.
use super::super::value::Value;
use super::relation::{Item, Path};
use super::{Scene, shown};
use std::collections::{BTreeMap, BTreeSet};

/// A line in words.
#[derive(Clone, Debug)]
pub(super) struct Property {
    line: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Texts, and texts in lists, have these letters only.
    Letters(Vec<Path>, Letters),
    /// Elements are one of these.
    OneOf(Path, Letters, Vec<String>),
    /// The elements of a list are different.
    Distinct(Path),
    /// No element of a list or letter of a text is there more often.
    AtMost(Path, usize),
    /// Integers do not fall.
    Sorted(Path),
    /// Two texts have the same letters.
    Permutation(Path, Path),
    /// The integers of a list are all from this one on.
    Every(Path, i128),
    /// The letters of the first stand in the second in this order.
    Subsequence(Path, Path),
    /// Pairs of nodes from 0 on are the edges of a tree.
    Tree(Vec<Path>),
}

/// Ranges of letters, both ends included.
type Letters = Vec<(char, char)>;

/// Lines in words that say no more than a relation does.
pub(super) fn as_relation(line: &str, one_of_nodes: bool) -> Option<String> {
    for (ending, rest) in [(" is odd", 1), (" is even", 0)] {
        if let Some(subject) = line.strip_suffix(ending) {
            return Some(format!("{subject} % 2 == {rest}"));
        }
    }
    if let Some((subject, divisor)) = line.split_once(" is divisible by ") {
        return Some(format!("{subject} % {divisor} == 0"));
    }
    let generated = line
        .strip_prefix("The input is generated such that ")
        .unwrap_or(line);
    if let Some((list, range)) = generated.split_once(" contains distinct elements in the range [")
    {
        let (low, high) = range.strip_suffix(']')?.split_once(',')?;
        return Some(format!("{low} <= {list}[i] <= {high}"));
    }
    if !one_of_nodes {
        return None;
    }
    let range = ["tree", "list", "linked list"].iter().find_map(|what| {
        let rest = line.strip_prefix("The number of nodes in the ")?;
        let rest = rest.strip_prefix(what)?.strip_prefix(" is ")?;
        let rest = rest.strip_prefix("in ").unwrap_or(rest);
        rest.strip_prefix("the range [")?.strip_suffix(']')
    })?;
    let (low, high) = range.split_once(',')?;
    Some(format!("{} <= Node.count <= {}", low.trim(), high.trim()))
}

impl Property {
    /// Reads a line that says what one of the kinds says, and nothing else.
    pub(super) fn read(line: &str, names: &[&str]) -> Option<Self> {
        let text = line
            .strip_prefix("The input is generated such that ")
            .unwrap_or(line);
        let kind = letters(text, names)
            .or_else(|| one_of(text, names))
            .or_else(|| of_lists(text, names))
            .or_else(|| of_two(text, names))
            .or_else(|| trees(text, names))?;
        Some(Self {
            line: line.to_owned(),
            kind,
        })
    }

    /// How the arguments break it.
    pub(super) fn broken(&self, scene: &Scene<'_>) -> Option<String> {
        let found = match &self.kind {
            Kind::Letters(subjects, letters) => subjects.iter().find_map(|subject| {
                subject.at_every_place(scene, |places| {
                    let other = match subject.item(scene, places)? {
                        Item::Value(value) => other_letter(value, letters),
                        Item::Letter(letter) => (!is_one_of(letter, letters)).then_some(letter),
                        _ => None,
                    };
                    other.map(|letter| format!("there is {letter:?}"))
                })
            }),
            Kind::OneOf(subject, letters, numbers) => {
                subject.at_every_place(scene, |places| match subject.item(scene, places)? {
                    Item::Letter(letter) if !letters.is_empty() => {
                        (!is_one_of(letter, letters)).then(|| format!("there is {letter:?}"))
                    }
                    Item::Value(Value::Text(text)) if !letters.is_empty() => {
                        let mut all = text.chars();
                        let fits = matches!((all.next(), all.next()), (Some(letter), None) if is_one_of(letter, letters));
                        (!fits).then(|| format!("there is \"{text}\""))
                    }
                    Item::Value(Value::Integer(digits)) if !numbers.is_empty() => {
                        (!numbers.contains(digits)).then(|| format!("there is {digits}"))
                    }
                    _ => None,
                })
            }
            Kind::Distinct(list) => most_frequent(value(list, scene)?)
                .filter(|(_, times)| *times > 1)
                .map(|(what, times)| format!("{what} is there {times} times")),
            Kind::AtMost(list, most) => most_frequent(value(list, scene)?)
                .filter(|(_, times)| times > most)
                .map(|(what, times)| format!("{what} is there {times} times")),
            Kind::Sorted(list) => {
                let numbers = numbers(value(list, scene)?)?;
                let pair = numbers.windows(2).find(|pair| pair[0] > pair[1])?;
                Some(format!("{} stands before {}", pair[0], pair[1]))
            }
            Kind::Every(list, first) => {
                let mut numbers = numbers(value(list, scene)?)?;
                numbers.sort_unstable();
                let wrong = (numbers.iter().zip(*first..)).find(|(number, place)| **number != *place)?;
                Some(format!("{} is missing or there twice", wrong.1))
            }
            Kind::Permutation(one, other) => {
                let sorted = |path: &Path| match value(path, scene) {
                    Some(Value::Text(text)) => {
                        let mut letters: Vec<char> = text.chars().collect();
                        letters.sort_unstable();
                        Some(letters)
                    }
                    _ => None,
                };
                (sorted(one)? != sorted(other)?).then(|| "their letters are others".into())
            }
            Kind::Subsequence(short, long) => {
                let (Value::Text(short), Value::Text(long)) =
                    (value(short, scene)?, value(long, scene)?)
                else {
                    return None;
                };
                let mut rest = long.chars();
                (!short.chars().all(|letter| rest.any(|other| other == letter)))
                    .then(|| "it does not".into())
            }
            Kind::Tree(lists) => lists.iter().find_map(|edges| no_tree(value(edges, scene)?)),
        };
        found.map(|how| format!("`{}`, and {}", self.line, shown(&how)))
    }
}

fn value<'a>(path: &Path, scene: &'a Scene<'_>) -> Option<&'a Value> {
    match path.item(scene, &BTreeMap::new())? {
        Item::Value(value) => Some(value),
        _ => None,
    }
}

fn is_one_of(letter: char, letters: &Letters) -> bool {
    (letters.iter()).any(|(first, last)| (*first..=*last).contains(&letter))
}

/// The first letter of the texts in a value that is none of these.
fn other_letter(value: &Value, letters: &Letters) -> Option<char> {
    match value {
        Value::Text(text) => text.chars().find(|letter| !is_one_of(*letter, letters)),
        value => (value.sequence()?.iter()).find_map(|item| other_letter(item, letters)),
    }
}

/// The element of a list, or the letter of a text, that is there most often.
fn most_frequent(value: &Value) -> Option<(String, usize)> {
    let items: Vec<String> = match value {
        Value::Text(text) => text.chars().map(|letter| format!("{letter:?}")).collect(),
        value => value.sequence()?.iter().map(Value::to_string).collect(),
    };
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for item in items {
        *times.entry(item).or_default() += 1;
    }
    times.into_iter().max_by_key(|(_, times)| *times)
}

fn numbers(value: &Value) -> Option<Vec<i128>> {
    let number = |item: &Value| match item {
        Value::Integer(digits) => digits.parse().ok(),
        _ => None,
    };
    value.sequence()?.iter().map(number).collect()
}

/// Why pairs of nodes are not the edges of a tree with one node more than there are edges, numbered from 0.
fn no_tree(edges: &Value) -> Option<String> {
    let edges = edges.sequence()?;
    let nodes = edges.len() + 1;
    let mut leader: Vec<usize> = (0..nodes).collect();
    for edge in edges {
        let ends = numbers(edge)?;
        let (first, second) = (*ends.first()?, *ends.get(1)?);
        let place = |end: i128| usize::try_from(end).ok().filter(|&end| end < nodes);
        let (Some(first), Some(second)) = (place(first), place(second)) else {
            return Some(format!("{edge} has a node that is none of {nodes}"));
        };
        let find = |leader: &mut Vec<usize>, mut node: usize| {
            while leader[node] != node {
                leader[node] = leader[leader[node]];
                node = leader[node];
            }
            node
        };
        let (first, second) = (find(&mut leader, first), find(&mut leader, second));
        if first == second {
            return Some(format!("{edge} closes a circle"));
        }
        leader[first] = second;
    }
    None
}

/// Paths in words: `s`, `s and t`, `a, b, and words[i]`.
fn subjects(text: &str, names: &[&str]) -> Option<Vec<Path>> {
    let text = text
        .strip_prefix("Both ")
        .unwrap_or(text)
        .replace(", and ", ", ")
        .replace(" and ", ", ");
    text.split(',')
        .map(|one| Path::read(one.trim(), names))
        .collect()
}

/// `s consists only of lowercase English letters and digits`.
fn letters(text: &str, names: &[&str]) -> Option<Kind> {
    let (subject, rest) = [" consists ", " consist ", " contains ", " contain "]
        .iter()
        .find_map(|verb| text.split_once(verb))?;
    let subject = subject.strip_suffix(" only").unwrap_or(subject);
    let mut rest = rest.trim();
    loop {
        let shorter = ["only ", "of "]
            .iter()
            .find_map(|word| rest.strip_prefix(word));
        let Some(shorter) = shorter else { break };
        rest = shorter;
    }
    let rest = rest.strip_suffix(" only").unwrap_or(rest);
    Some(Kind::Letters(subjects(subject, names)?, classes(rest)?))
}

/// Kinds of letters in words: `lowercase English letters, digits, and spaces ' '`.
fn classes(text: &str) -> Option<Letters> {
    let text = text.replace(
        "English letters (upper-case and lower-case)",
        "English letters",
    );
    let mut found = Letters::new();
    for part in parts(&text) {
        found.extend(class(&part)?);
    }
    (!found.is_empty()).then_some(found)
}

/// The parts between commas, `and` and `or`, outside of quotes.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let letters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < letters.len() {
        let rest: String = letters[at..].iter().take(5).collect();
        let quoted =
            matches!(letters.get(at), Some('\'' | '"')) && letters.get(at + 2) == letters.get(at);
        let taken = if quoted {
            if let Some(part) = parts.last_mut() {
                part.extend(&letters[at..at + 3]);
            }
            at += 3;
            continue;
        } else if rest.starts_with(',') {
            1
        } else if rest.starts_with(" and ") {
            5
        } else if rest.starts_with(" or ") {
            4
        } else {
            if let Some(part) = parts.last_mut() {
                part.push(letters[at]);
            }
            at += 1;
            continue;
        };
        parts.push(String::new());
        at += taken;
    }
    (parts.iter())
        .map(|part| {
            let part = part.trim();
            let part = part.strip_prefix("and ").unwrap_or(part);
            part.strip_prefix("or ").unwrap_or(part).trim().to_owned()
        })
        .filter(|part| !part.is_empty())
        .collect()
}

/// One kind of letters: `lowercase English letters`, `'x'`, `spaces ' '`, `digits '0' to '9'`.
fn class(text: &str) -> Option<Letters> {
    let mut quoted = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"']) {
        plain.push_str(&rest[..at]);
        let mut letters = rest[at..].chars();
        let (open, letter, close) = (letters.next()?, letters.next()?, letters.next()?);
        if open != close {
            return None;
        }
        quoted.push(letter);
        plain.push(' ');
        rest = letters.as_str();
    }
    plain.push_str(rest);
    let plain = plain
        .to_lowercase()
        .replace("upper case", "uppercase")
        .replace("lower case", "lowercase");
    let words: Vec<&str> = (plain.split_whitespace())
        .filter(|word| !["the", "a", "an", "only", "character", "characters"].contains(word))
        .collect();
    const NAMES: [&str; 12] = [
        "space",
        "spaces",
        "period",
        "periods",
        "dot",
        "slash",
        "underscore",
        "asterisk",
        "comma",
        "hyphen",
        "digit",
        "digits",
    ];
    match (quoted.as_slice(), words.as_slice()) {
        (&[first, last], [.., "to" | "through"]) if words.len() <= 2 => Some(vec![(first, last)]),
        ([], words) => {
            let kind: Vec<&str> = (words.iter().copied())
                .filter(|word| !["english", "letter", "letters"].contains(word))
                .collect();
            let of_letters = words.iter().any(|word| word.starts_with("letter"));
            Some(match kind.as_slice() {
                [] if of_letters && words.contains(&"english") => vec![('a', 'z'), ('A', 'Z')],
                ["lowercase" | "lower-case"] => vec![('a', 'z')],
                ["uppercase" | "upper-case"] => vec![('A', 'Z')],
                ["digit" | "digits"] if !of_letters => vec![('0', '9')],
                ["space" | "spaces"] if !of_letters => vec![(' ', ' ')],
                ["printable", "ascii"] if !of_letters => vec![(' ', '~')],
                _ => return None,
            })
        }
        (&[letter], []) => Some(vec![(letter, letter)]),
        (&[letter], [name]) if NAMES.contains(name) => Some(vec![(letter, letter)]),
        _ => None,
    }
}

/// `grid[i][j] is either 0 or 1`, `s[i] is '(' or ')'`.
fn one_of(text: &str, names: &[&str]) -> Option<Kind> {
    let (subject, rest) = text.split_once(" is ")?;
    let subject = Path::read(subject, names)?;
    let rest = rest.strip_prefix("either ").unwrap_or(rest);
    let (mut letters, mut numbers) = (Letters::new(), Vec::new());
    for part in parts(rest) {
        if part.parse::<i64>().is_ok() {
            numbers.push(part);
        } else {
            letters.extend(class(&part)?);
        }
    }
    // A single value, or numbers beside letters, may mean something else.
    (numbers.is_empty() != letters.is_empty() && numbers.len() + letters.len() > 1)
        .then_some(Kind::OneOf(subject, letters, numbers))
}

/// `All the values of nums are unique`, `nums is sorted in ascending order`, `Each character occurs at most once in s`.
fn of_lists(text: &str, names: &[&str]) -> Option<Kind> {
    let list = |name: &str| Path::read(name, names);
    if let Some(rest) = text.strip_prefix("All ") {
        let rest = rest
            .strip_suffix(" are unique")
            .or(rest.strip_suffix(" are distinct"))?;
        let (words, name) = rest.rsplit_once(' ').unwrap_or(("", rest));
        const KNOWN: [&str; 11] = [
            "the", "values", "integers", "numbers", "elements", "words", "strings", "points", "of",
            "in", "given",
        ];
        let known = words.split_whitespace().all(|word| KNOWN.contains(&word));
        // `All points[i]` are the elements of the list.
        return (known && (!words.is_empty() || name.contains('[')))
            .then_some(Kind::Distinct(list(name)?.without_each()));
    }
    if let Some(name) = text.strip_prefix("Each character occurs at most once in ") {
        return Some(Kind::AtMost(list(name)?, 1));
    }
    if let Some(rest) = text.strip_prefix("Each number in ") {
        let name = rest.strip_suffix(" appears either once or twice")?;
        return Some(Kind::AtMost(list(name)?, 2));
    }
    for ending in [
        " is sorted in ascending order",
        " is sorted in increasing order",
        " is sorted in non-decreasing order",
        " is a non-decreasing array",
    ] {
        if let Some(name) = text.strip_suffix(ending) {
            return Some(Kind::Sorted(list(name)?));
        }
    }
    let (name, range) = text.split_once(" is a permutation of [")?;
    let first = match range {
        "1, 2, ..., n]" => 1,
        "0, 1, 2, ..., n - 1]" | "0, 1, ..., n - 1]" => 0,
        _ => return None,
    };
    Some(Kind::Every(list(name)?, first))
}

/// `t is a permutation of s`, `s and t are anagrams of each other`, `a appears as a subsequence in b`.
fn of_two(text: &str, names: &[&str]) -> Option<Kind> {
    let one = |name: &str| Path::read(name, names);
    if let Some((first, second)) = text.split_once(" is a permutation of ") {
        return Some(Kind::Permutation(one(first)?, one(second)?));
    }
    if let Some((first, second)) = text.split_once(" appears as a subsequence in ") {
        return Some(Kind::Subsequence(one(first)?, one(second)?));
    }
    let both = text.strip_suffix(" are anagrams of each other")?;
    let (first, second) = both.split_once(" and ")?;
    Some(Kind::Permutation(one(first)?, one(second)?))
}

/// `edges represents a valid tree`.
fn trees(text: &str, names: &[&str]) -> Option<Kind> {
    let rest = text
        .strip_suffix(" a valid tree")
        .or(text.strip_suffix(" valid trees"))?;
    let lists = [" represents", " represent", " forms", " form"]
        .iter()
        .find_map(|verb| rest.strip_suffix(verb))?;
    let lists = subjects(lists, names)?;
    let all: BTreeSet<_> = lists.iter().map(Path::bare).collect();
    (!all.contains(&None)).then_some(Kind::Tree(lists))
}
