//! Relations: `1 <= nums.length <= 10^5`, `n == grid[i].length`, `0 <= a_i, b_i < n`.
//!
//! ```text
//! relation   = list (("<=" | "<" | ">=" | ">" | "==" | "=" | "!=") list)+
//! list       = sum | path ("," "and"? path)+
//! sum        = product (("+" | "-") product)*
//! product    = sign (("*" | "%") sign)*
//! sign       = "-" sign | atom ("^" number)?
//! atom       = number | "'" letter "'" | "(" sum ")" | ("min" | "max") "(" sum ("," sum)* ")" | path
//! path       = name ("[" sum "]")* (".length" | ".size()")? | "Node.val" | "Node.count"
//! ```
//! An index that is a letter of its own stands for every place; the same letter is the same place throughout the line.
use super::super::value::Value;
use super::{Interval, NODE_VALUES, Scene, shown};
use std::collections::BTreeMap;

/// Most evaluations of one line for one test; what is left then is taken as kept.
const STEPS_MAX: usize = 20_000_000;
/// Deepest nesting of brackets.
const DEPTH_MAX: usize = 32;

/// A line that compares.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    /// As the statement has it.
    line: String,
    /// At least two.
    members: Vec<Vec<Term>>,
    /// One less: how each member stands to the next.
    signs: Vec<Sign>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
    Unequal,
}

#[derive(Clone, Debug)]
struct Term {
    expression: Expression,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Number(Interval),
    Letter(char),
    Path(Path),
    Negative(Box<Expression>),
    Sum(Box<Expression>, Box<Expression>),
    Product(Box<Expression>, Box<Expression>),
    Remainder(Box<Expression>, Box<Expression>),
    Least(Vec<Expression>),
    Greatest(Vec<Expression>),
}

/// A name with indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    name: String,
    steps: Vec<Step>,
    length: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The place that this expression gives.
    At(Expression),
    /// Every place.
    Each(String),
}

/// What a path leads to.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    Value(&'a Value),
    Letter(char),
    Length(usize),
    Number(Interval),
}

/// The value of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Number(Interval),
    Letter(char),
}

/// The places that letters stand for.
pub(super) type Places = BTreeMap<String, usize>;

/// Whether this is a name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl Interval {
    fn exactly(value: i128) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    fn of(bounds: [Option<i128>; 4]) -> Option<Self> {
        let all: Option<Vec<i128>> = bounds.into_iter().collect();
        let all = all?;
        Some(Self {
            low: *all.iter().min()?,
            high: *all.iter().max()?,
        })
    }
}

impl Path {
    /// `name[letter][place]`.
    pub(super) fn component(name: &str, letter: &str, place: usize) -> Self {
        let place = Interval::exactly(place as i128);
        Self {
            name: name.into(),
            steps: vec![
                Step::Each(letter.into()),
                Step::At(Expression::Number(place)),
            ],
            length: false,
        }
    }

    /// A path alone; `None` where the text is anything else, or begins with no argument.
    pub(super) fn read(text: &str, names: &[&str]) -> Option<Self> {
        let mut reader = Reader::new(text, names, true)?;
        match reader.sum(0)? {
            Expression::Path(path)
                if reader.rest().is_empty() && names.contains(&path.name.as_str()) =>
            {
                Some(path)
            }
            _ => None,
        }
    }

    /// Its name, if it has no indices.
    pub(super) fn bare(&self) -> Option<&str> {
        (self.steps.is_empty() && !self.length).then_some(&self.name)
    }

    /// The same without a last index that stands for every place.
    pub(super) fn without_each(mut self) -> Self {
        if matches!(self.steps.last(), Some(Step::Each(_))) && !self.length {
            self.steps.pop();
        }
        self
    }

    fn is_free(&self, names: &[&str]) -> bool {
        self.bare().is_some_and(|name| !names.contains(&name))
    }

    /// What it leads to at these places.
    pub(super) fn item<'a>(&self, scene: &'a Scene<'_>, places: &Places) -> Option<Item<'a>> {
        let Some(value) = scene.values.get(self.name.as_str()) else {
            let defined = scene.defined.get(&self.name)?;
            return self.bare().is_some().then_some(Item::Number(*defined));
        };
        let mut item = Item::Value(value);
        for step in &self.steps {
            let place = match step {
                Step::Each(letter) => *places.get(letter)?,
                Step::At(expression) => match expression.value(scene, places)? {
                    Known::Number(at) if at.low == at.high => usize::try_from(at.low).ok()?,
                    _ => return None,
                },
            };
            item = match item {
                Item::Value(Value::Text(text)) => Item::Letter(text.chars().nth(place)?),
                Item::Value(value) => Item::Value(value.sequence()?.get(place)?),
                _ => return None,
            };
        }
        if self.length {
            return match item {
                Item::Value(value) => length(value).map(Item::Length),
                _ => None,
            };
        }
        Some(item)
    }

    /// Calls `look` at every place that its letters can stand for, until it gives something.
    pub(super) fn at_every_place<T>(
        &self,
        scene: &Scene<'_>,
        mut look: impl FnMut(&Places) -> Option<T>,
    ) -> Option<T> {
        let mut letters = Vec::new();
        self.letters(&mut letters);
        let mut steps = 0;
        every_place(
            &[self],
            &letters,
            scene,
            &mut Places::new(),
            &mut steps,
            &mut look,
        )
    }

    fn letters(&self, found: &mut Vec<String>) {
        for step in &self.steps {
            match step {
                Step::Each(letter) if !found.contains(letter) => found.push(letter.clone()),
                Step::Each(_) => {}
                Step::At(expression) => expression.letters(found),
            }
        }
    }

    /// How many places a letter can stand for, as far as this path tells.
    fn extent(&self, letter: &str, scene: &Scene<'_>, places: &Places) -> usize {
        let Some(at) = (self.steps.iter()).position(|step| *step == Step::Each(letter.into()))
        else {
            return 0;
        };
        let before = Self {
            name: self.name.clone(),
            steps: self.steps[..at].to_vec(),
            length: false,
        };
        match before.item(scene, places) {
            Some(Item::Value(value)) => length(value).unwrap_or(0),
            _ => 0,
        }
    }
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Text(text) => Some(text.chars().count()),
        value => value.sequence().map(<[Value]>::len),
    }
}

/// Calls `look` for all places of the letters, until it gives something or there were too many.
fn every_place<T>(
    paths: &[&Path],
    letters: &[String],
    scene: &Scene<'_>,
    places: &mut Places,
    steps: &mut usize,
    look: &mut impl FnMut(&Places) -> Option<T>,
) -> Option<T> {
    let Some((letter, rest)) = letters.split_first() else {
        *steps += 1;
        return if *steps > STEPS_MAX {
            None
        } else {
            look(places)
        };
    };
    let extents = paths.iter().map(|path| path.extent(letter, scene, places));
    for place in 0..extents.max().unwrap_or(0) {
        if *steps > STEPS_MAX {
            break;
        }
        places.insert(letter.clone(), place);
        let found = every_place(paths, rest, scene, places, steps, look);
        if found.is_some() {
            return found;
        }
    }
    places.remove(letter);
    None
}

impl Expression {
    fn letters(&self, found: &mut Vec<String>) {
        self.each_path(&mut |path| path.letters(found));
    }

    fn each_path<'a>(&'a self, look: &mut impl FnMut(&'a Path)) {
        match self {
            Self::Number(_) | Self::Letter(_) => {}
            Self::Path(path) => look(path),
            Self::Negative(one) => one.each_path(look),
            Self::Sum(a, b) | Self::Product(a, b) | Self::Remainder(a, b) => {
                a.each_path(look);
                b.each_path(look);
            }
            Self::Least(all) | Self::Greatest(all) => {
                for one in all {
                    one.each_path(look);
                }
            }
        }
    }

    /// Puts paths in the place of names that stand for them.
    fn replace(&mut self, components: &BTreeMap<String, Option<Path>>) {
        match self {
            Self::Number(_) | Self::Letter(_) => {}
            Self::Path(path) => {
                if let Some(Some(of)) = path.bare().and_then(|name| components.get(name)) {
                    *path = of.clone();
                }
            }
            Self::Negative(one) => one.replace(components),
            Self::Sum(a, b) | Self::Product(a, b) | Self::Remainder(a, b) => {
                a.replace(components);
                b.replace(components);
            }
            Self::Least(all) | Self::Greatest(all) => {
                for one in all {
                    one.replace(components);
                }
            }
        }
    }

    /// Its value; `None` where it is not known, or no number of 128 bits.
    fn value(&self, scene: &Scene<'_>, places: &Places) -> Option<Known> {
        let number = |of: &Self| match of.value(scene, places)? {
            Known::Number(number) => Some(number),
            Known::Letter(_) => None,
        };
        let numbers = |of: &[Self]| of.iter().map(number).collect::<Option<Vec<_>>>();
        let interval = match self {
            Self::Number(number) => *number,
            Self::Letter(letter) => return Some(Known::Letter(*letter)),
            Self::Path(path) => match path.item(scene, places)? {
                Item::Length(length) => Interval::exactly(i128::try_from(length).ok()?),
                Item::Letter(letter) => return Some(Known::Letter(letter)),
                Item::Number(number) => number,
                Item::Value(Value::Integer(digits)) => {
                    let beyond = if digits.starts_with('-') {
                        i128::MIN
                    } else {
                        i128::MAX
                    };
                    Interval::exactly(digits.parse().unwrap_or(beyond))
                }
                Item::Value(Value::Text(text)) => {
                    let mut letters = text.chars();
                    return match (letters.next(), letters.next()) {
                        (Some(letter), None) => Some(Known::Letter(letter)),
                        _ => None,
                    };
                }
                Item::Value(_) => return None,
            },
            Self::Negative(one) => {
                let one = number(one)?;
                Interval {
                    low: one.high.checked_neg()?,
                    high: one.low.checked_neg()?,
                }
            }
            Self::Sum(a, b) => {
                let (a, b) = (number(a)?, number(b)?);
                Interval {
                    low: a.low.checked_add(b.low)?,
                    high: a.high.checked_add(b.high)?,
                }
            }
            Self::Product(a, b) => {
                let (a, b) = (number(a)?, number(b)?);
                Interval::of([
                    a.low.checked_mul(b.low),
                    a.low.checked_mul(b.high),
                    a.high.checked_mul(b.low),
                    a.high.checked_mul(b.high),
                ])?
            }
            Self::Remainder(a, b) => {
                let (a, b) = (number(a)?, number(b)?);
                if a.low != a.high || b.low != b.high || a.low < 0 || b.low <= 0 {
                    return None;
                }
                Interval::exactly(a.low % b.low)
            }
            Self::Least(all) => {
                let all = numbers(all)?;
                Interval {
                    low: all.iter().map(|one| one.low).min()?,
                    high: all.iter().map(|one| one.high).min()?,
                }
            }
            Self::Greatest(all) => {
                let all = numbers(all)?;
                Interval {
                    low: all.iter().map(|one| one.low).max()?,
                    high: all.iter().map(|one| one.high).max()?,
                }
            }
        };
        Some(Known::Number(interval))
    }
}

impl Sign {
    /// Whether two values surely do not stand like this.
    fn is_broken(self, left: Known, right: Known) -> bool {
        let (left, right) = match (left, right) {
            (Known::Number(left), Known::Number(right)) => (left, right),
            (Known::Letter(left), Known::Letter(right)) => (
                Interval::exactly(u32::from(left).into()),
                Interval::exactly(u32::from(right).into()),
            ),
            _ => return false,
        };
        match self {
            Self::AtMost => left.low > right.high,
            Self::Below => left.low >= right.high,
            Self::AtLeast => left.high < right.low,
            Self::Above => left.high <= right.low,
            Self::Equal => left.low > right.high || left.high < right.low,
            Self::Unequal => left == right && left.low == left.high,
        }
    }
}

impl Relation {
    /// Reads a relation; `line` is how messages show it. `None` where the text is anything else.
    pub(super) fn read(text: &str, line: &str, names: &[&str], exact: bool) -> Option<Self> {
        let mut reader = Reader::new(text, names, exact)?;
        let mut members = vec![reader.list()?];
        let mut signs = Vec::new();
        while !reader.rest().is_empty() {
            signs.push(reader.sign()?);
            members.push(reader.list()?);
        }
        let relation = Self {
            line: line.to_owned(),
            members,
            signs,
        };
        (!relation.signs.is_empty() && relation.is_plain()).then_some(relation)
    }

    /// `a[i] != a[j]` means other places, and `a[i] < b[j]` perhaps some of them: of any two paths with letters one has
    /// all letters of the other.
    fn is_plain(&self) -> bool {
        let mut sets: Vec<Vec<String>> = Vec::new();
        for term in self.terms() {
            term.expression.each_path(&mut |path| {
                let mut letters = Vec::new();
                path.letters(&mut letters);
                sets.push(letters);
            });
        }
        let within = |a: &[String], b: &[String]| a.iter().all(|letter| b.contains(letter));
        (sets.iter()).all(|a| sets.iter().all(|b| within(a, b) || within(b, a)))
    }

    /// `profit_i == items[i][0]`: what the name stands for.
    pub(super) fn component(&self) -> Option<(String, Option<Path>)> {
        let ([left, right], [Sign::Equal]) = (self.members.as_slice(), self.signs.as_slice())
        else {
            return None;
        };
        let path = |member: &[Term]| match member {
            [
                Term {
                    expression: Expression::Path(path),
                    ..
                },
            ] => Some(path.clone()),
            _ => None,
        };
        let (left, right) = (path(left)?, path(right)?);
        let (name, of) = if left.bare().is_some() {
            (left, right)
        } else {
            (right, left)
        };
        let name = name.bare()?;
        match of.steps.first() {
            Some(Step::Each(letter)) if !of.length && name.len() > 1 && name.ends_with(letter) => {
                Some((name.to_owned(), Some(of)))
            }
            _ => None,
        }
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        self.members.iter().flatten()
    }

    /// The first two members that do not stand as they should.
    pub(super) fn broken(&self, scene: &Scene<'_>) -> Option<String> {
        let mut letters = Vec::new();
        let mut paths = Vec::new();
        for term in self.terms() {
            term.expression.letters(&mut letters);
            term.expression.each_path(&mut |path| paths.push(path));
        }
        let mut steps = 0;
        every_place(
            &paths,
            &letters,
            scene,
            &mut Places::new(),
            &mut steps,
            &mut |places| {
                (self.members.windows(2).zip(&self.signs)).find_map(|(pair, sign)| {
                    let [left, right] = pair else { return None };
                    left.iter().find_map(|left| {
                        let value = left.expression.value(scene, places)?;
                        right.iter().find_map(|right| {
                            let other = right.expression.value(scene, places)?;
                            sign.is_broken(value, other).then(|| {
                                let told = [(left, value), (right, other)]
                                    .into_iter()
                                    .filter_map(|(term, value)| term.told(value, places))
                                    .collect::<Vec<_>>();
                                format!("`{}`, and {}", self.line, told.join(", "))
                            })
                        })
                    })
                })
            },
        )
    }
}

impl Term {
    /// `nums[i] is 7 at i = 2`; nothing of a number.
    fn told(&self, value: Known, places: &Places) -> Option<String> {
        let mut named = false;
        self.expression.each_path(&mut |_| named = true);
        if !named {
            return None;
        }
        let value = match value {
            Known::Letter(letter) => format!("{letter:?}"),
            Known::Number(number) if number.high == i128::MAX || number.low == i128::MIN => {
                "a number of more than 38 digits".into()
            }
            Known::Number(number) => number.low.to_string(),
        };
        let mut letters = Vec::new();
        self.expression.letters(&mut letters);
        let at: Vec<String> = (letters.iter())
            .filter_map(|letter| Some(format!("{letter} = {}", places.get(letter)?)))
            .collect();
        let at = if at.is_empty() {
            String::new()
        } else {
            format!(" at {}", at.join(", "))
        };
        Some(shown(&format!("{} is {value}{at}", self.text)))
    }
}

/// Puts the paths that names stand for in their place.
pub(super) fn replace(relations: &mut [Relation], components: BTreeMap<String, Option<Path>>) {
    for relation in relations {
        for term in relation.members.iter_mut().flatten() {
            term.expression.replace(&components);
        }
    }
}

/// Finds the values of the names that relations define: `n == nums.length`, `edges.length == n - 1`.
pub(super) fn define(relations: &[Relation], scene: &mut Scene<'_>) {
    let single = |member: &[Term]| match member {
        [one] => Some(one.expression.clone()),
        _ => None,
    };
    let mut equations = Vec::new();
    for relation in relations {
        for (pair, sign) in relation.members.windows(2).zip(&relation.signs) {
            if let ([left, right], Sign::Equal) = (pair, sign)
                && let (Some(left), Some(right)) = (single(left), single(right))
            {
                equations.push((left.clone(), right.clone()));
                equations.push((right, left));
            }
        }
    }
    // Each round may make names known that another needs; there are not more rounds than names.
    for _ in 0..=equations.len() {
        let before = scene.defined.len();
        for (of, by) in &equations {
            let Some((name, less)) = unknown(of, scene) else {
                continue;
            };
            let mut paths = Vec::new();
            let mut letters = Vec::new();
            by.each_path(&mut |path| paths.push(path));
            by.letters(&mut letters);
            let mut steps = 0;
            let mut look = |places: &Places| by.value(scene, places);
            let found = every_place(
                &paths,
                &letters,
                scene,
                &mut Places::new(),
                &mut steps,
                &mut look,
            );
            let sum = |a: Interval| {
                Some(Interval {
                    low: a.low.checked_sub(less.high)?,
                    high: a.high.checked_sub(less.low)?,
                })
            };
            if let Some(Known::Number(value)) = found
                && let Some(value) = sum(value)
            {
                scene.defined.insert(name, value);
            }
        }
        if scene.defined.len() == before {
            break;
        }
    }
}

/// A name that nothing is known of, and what is added to it in the expression.
fn unknown(expression: &Expression, scene: &Scene<'_>) -> Option<(String, Interval)> {
    let free = |path: &Path| {
        let name = path.bare()?;
        let known = scene.values.contains_key(name) || scene.defined.contains_key(name);
        (!known).then(|| name.to_owned())
    };
    match expression {
        Expression::Path(path) => Some((free(path)?, Interval::exactly(0))),
        Expression::Sum(a, b) => match (a.as_ref(), b.as_ref()) {
            (Expression::Path(path), Expression::Number(number)) => Some((free(path)?, *number)),
            (Expression::Path(path), Expression::Negative(one)) => match one.as_ref() {
                Expression::Number(number) => {
                    let negative = Interval {
                        low: -number.high,
                        high: -number.low,
                    };
                    Some((free(path)?, negative))
                }
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Reads a line from the left.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    names: &'a [&'a str],
    exact: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, names: &'a [&'a str], exact: bool) -> Option<Self> {
        // No line of a statement is longer.
        (text.len() < 1000).then_some(Self {
            text,
            at: 0,
            names,
            exact,
        })
    }

    fn rest(&self) -> &'a str {
        self.text[self.at..].trim_start()
    }

    /// Steps over a text if it is next.
    fn take(&mut self, wanted: &str) -> bool {
        let rest = self.rest();
        let found = rest.starts_with(wanted);
        if found {
            self.at = self.text.len() - rest.len() + wanted.len();
        }
        found
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at = self.text.len() - rest.len() + end;
        &rest[..end]
    }

    fn sign(&mut self) -> Option<Sign> {
        [
            ("<=", Sign::AtMost),
            (">=", Sign::AtLeast),
            ("==", Sign::Equal),
            ("!=", Sign::Unequal),
            ("<", Sign::Below),
            (">", Sign::Above),
            ("=", Sign::Equal),
        ]
        .into_iter()
        .find(|(text, _)| self.take(text))
        .map(|(_, sign)| sign)
    }

    fn term(&mut self) -> Option<Term> {
        let begin = self.text.len() - self.rest().len();
        let expression = self.sum(0)?;
        Some(Term {
            expression,
            text: self.text[begin..self.at].trim().to_owned(),
        })
    }

    fn list(&mut self) -> Option<Vec<Term>> {
        let mut terms = vec![self.term()?];
        loop {
            let comma = self.take(",");
            let and = self.rest().starts_with("and ") && self.take("and ");
            if !comma && !and {
                break;
            }
            terms.push(self.term()?);
        }
        // `a <= b - 1, 1 <= c` are two relations.
        let paths = |term: &Term| matches!(term.expression, Expression::Path(_));
        (terms.len() == 1 || terms.iter().all(paths)).then_some(terms)
    }

    fn sum(&mut self, depth: usize) -> Option<Expression> {
        let mut sum = self.product(depth)?;
        loop {
            let plus = self.take("+");
            if !plus && !self.take("-") {
                return Some(sum);
            }
            let next = self.product(depth)?;
            let next = if plus {
                next
            } else {
                Expression::Negative(Box::new(next))
            };
            sum = Expression::Sum(Box::new(sum), Box::new(next));
        }
    }

    fn product(&mut self, depth: usize) -> Option<Expression> {
        let mut product = self.signed(depth)?;
        loop {
            let make = if self.take("*") {
                Expression::Product
            } else if self.take("%") {
                Expression::Remainder
            } else {
                return Some(product);
            };
            product = make(Box::new(product), Box::new(self.signed(depth)?));
        }
    }

    fn signed(&mut self, depth: usize) -> Option<Expression> {
        if depth > DEPTH_MAX {
            return None;
        }
        if self.take("-") {
            return Some(Expression::Negative(Box::new(self.signed(depth + 1)?)));
        }
        self.atom(depth)
    }

    fn atom(&mut self, depth: usize) -> Option<Expression> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '\'' {
            let mut letters = rest[1..].chars();
            let letter = letters.next()?;
            return (letters.next()? == '\'' && self.take(&rest[..2 + letter.len_utf8()]))
                .then_some(Expression::Letter(letter));
        }
        if self.take("(") {
            let inside = self.sum(depth + 1)?;
            return self.take(")").then_some(inside);
        }
        let name = self.take_while(|c| c.is_alphanumeric() || c == '_');
        if !is_name(name) {
            return None;
        }
        if matches!(name, "min" | "max") && self.take("(") {
            let mut all = vec![self.sum(depth + 1)?];
            while self.take(",") {
                all.push(self.sum(depth + 1)?);
            }
            let made = if name == "min" {
                Expression::Least(all)
            } else {
                Expression::Greatest(all)
            };
            return self.take(")").then_some(made);
        }
        if name == "Node" {
            let length = self.take(".count");
            return (length || self.take(".val")).then(|| {
                Expression::Path(Path {
                    name: NODE_VALUES.into(),
                    steps: if length {
                        Vec::new()
                    } else {
                        vec![Step::Each("node".into())]
                    },
                    length,
                })
            });
        }
        let mut path = Path {
            name: name.into(),
            steps: Vec::new(),
            length: false,
        };
        // No white space before an index: `nums [i]` is something else.
        while self.text[self.at..].starts_with('[') && self.take("[") {
            let index = self.sum(depth + 1)?;
            if !self.take("]") {
                return None;
            }
            path.steps.push(match index {
                Expression::Path(letter)
                    if letter.name.len() == 1 && letter.is_free(self.names) =>
                {
                    Step::Each(letter.name)
                }
                other => Step::At(other),
            });
        }
        if self.text[self.at..].starts_with('.') {
            path.length = self.take(".length") || self.take(".size()");
            if !path.length {
                return None;
            }
        }
        Some(Expression::Path(path))
    }

    /// A number; where exponents may be lost, with everything that it may mean.
    fn number(&mut self) -> Option<Expression> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        let value: i128 = digits.parse().ok()?;
        if self.text[self.at..].starts_with('^') && self.take("^") {
            let exponent = self.take_while(|c| c.is_ascii_digit());
            let power = value.checked_pow(exponent.parse().ok()?)?;
            return Some(Expression::Number(Interval::exactly(power)));
        }
        // What else follows directly (`2n`, `3.5`) is no number of ours.
        let next = self.text[self.at..].chars().next();
        if next.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
            return None;
        }
        let power = (!self.exact).then(|| lost_exponent(digits)).flatten();
        let power = power.unwrap_or(value);
        Some(Expression::Number(Interval {
            low: value.min(power),
            high: value.max(power),
        }))
    }
}

/// What digits mean if an exponent stood there: `105` is 10^5, `231` is 2^31.
fn lost_exponent(digits: &str) -> Option<i128> {
    if let Some(exponent) = digits.strip_prefix("10")
        && matches!(exponent.len(), 1 | 2)
        && !exponent.starts_with('0')
    {
        return 10_i128.checked_pow(exponent.parse().ok()?);
    }
    let exponent = digits.strip_prefix('2')?;
    matches!(
        exponent,
        "16" | "20" | "30" | "31" | "32" | "53" | "63" | "64"
    )
    .then(|| exponent.parse().ok())
    .flatten()
    .and_then(|exponent| 2_i128.checked_pow(exponent))
}
