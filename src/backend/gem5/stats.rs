//! A strict parser of gem5's `stats.txt`: blocks of named values; what is cut off or unreadable is an error with its line.
//!
//! A block begins with the line `---------- Begin Simulation Statistics ----------` and ends with its counterpart. In
//! between, each line is a name, a value and, for rows of vectors and histograms, its share and the sum of shares in
//! percent, with a comment behind `#`; older versions print a distribution as one line of cells separated by `|`. A file
//! has as many blocks as the statistics were dumped; which one is meant is for the caller to say.
use std::collections::BTreeMap;

const BEGIN: &str = "---------- Begin Simulation Statistics ----------";
const END: &str = "---------- End Simulation Statistics   ----------";

/// What is wrong with a file of statistics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatsError {
    /// It has no block: gem5 ended before it wrote any.
    #[error("the file of statistics is empty")]
    Empty,
    /// A line is not what it should be, or the file ends too early.
    #[error("line {line}: {what}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The caller wanted one block.
    #[error(
        "the file has {found} blocks of statistics (they begin in lines {}), and one was expected",
        lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Blocks {
        /// How many there are.
        found: usize,
        /// Where they begin.
        lines: Vec<usize>,
    },
    /// A statistic that is needed is not there.
    #[error("there is no statistic {}", names.join(" or "))]
    Missing {
        /// The spellings that were looked for.
        names: Vec<String>,
    },
    /// A statistic that is needed is no count, or an impossible one.
    #[error("line {line}: `{name}` is {value}: {what}")]
    Value {
        /// From 1.
        line: usize,
        /// The statistic.
        name: String,
        /// As it stands in the file.
        value: String,
        /// Why it cannot be taken.
        what: String,
    },
}

/// A value as gem5 printed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// Anything else: fractions, negative numbers, `nan`, `inf`, `-inf`.
    Real(f64),
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is.
    pub value: Value,
    /// As it stands in the file.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// The statistics of one dump.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Line on which it begins, from 1.
    pub first_line: usize,
    /// Every value by its name; rows of vectors and histograms are `NAME::ROW`.
    pub entries: BTreeMap<String, Entry>,
}

impl Block {
    /// The first of these statistics that is there.
    pub fn find<'a>(&self, names: &'a [String]) -> Option<(&'a str, &Entry)> {
        names
            .iter()
            .find_map(|name| Some((name.as_str(), self.entries.get(name)?)))
    }

    /// Whether the statistics count from a later time than the beginning.
    pub(super) fn is_reset(&self) -> bool {
        let ticks = |names: [&str; 2]| {
            let found = names.iter().find_map(|&name| self.entries.get(name));
            found.map(|entry| entry.text.as_str())
        };
        let (since, to) = (
            ticks(["simTicks", "sim_ticks"]),
            ticks(["finalTick", "final_tick"]),
        );
        to.is_some() && since != to
    }

    /// The whole number under the first of these names that is there.
    ///
    /// # Errors
    /// There is none of them, or it is no whole number: `nan` and the like never become a number.
    pub fn count(&self, names: &[String]) -> Result<u64, StatsError> {
        let (name, entry) = self.find(names).ok_or_else(|| StatsError::Missing {
            names: names.iter().map(|name| format!("`{name}`")).collect(),
        })?;
        match entry.value {
            Value::Count(count) => Ok(count),
            Value::Real(_) => Err(StatsError::Value {
                line: entry.line,
                name: name.to_owned(),
                value: entry.text.clone(),
                what: "a whole number is needed".to_owned(),
            }),
        }
    }
}

/// Reads all blocks of a file.
///
/// # Errors
/// [`StatsError::Empty`] or [`StatsError::Line`].
pub fn parse(file: &[u8]) -> Result<Vec<Block>, StatsError> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut last = 0;
    for (index, raw) in file.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line = index + 1;
        last = line;
        let wrong = |what: String| StatsError::Line { line, what };
        let Some(text) = raw.strip_suffix(b"\n") else {
            return Err(wrong("the file ends in the middle of this line".to_owned()));
        };
        let text = std::str::from_utf8(text)
            .map_err(|_| wrong("this is not text".to_owned()))?
            .trim_end();
        match (&mut open, text) {
            (_, "") => {}
            (None, BEGIN) => {
                open = Some(Block {
                    first_line: line,
                    ..Block::default()
                });
            }
            (Some(_), BEGIN) => {
                return Err(wrong(
                    "a block begins before the one before it has ended".to_owned(),
                ));
            }
            (Some(_), END) => blocks.extend(open.take()),
            (None, _) => {
                return Err(wrong(format!(
                    "`{}` stands outside of a block",
                    shorten(text)
                )));
            }
            (Some(block), _) => {
                for (name, entry) in row(text, line).map_err(wrong)? {
                    if block.entries.contains_key(&name) {
                        return Err(wrong(format!("`{name}` stands twice in this block")));
                    }
                    block.entries.insert(name, entry);
                }
            }
        }
    }
    match open {
        Some(block) => Err(StatsError::Line {
            line: last,
            what: format!(
                "the file ends inside the block that begins in line {}",
                block.first_line
            ),
        }),
        None if blocks.is_empty() => Err(StatsError::Empty),
        None => Ok(blocks),
    }
}

/// The one block of a file.
///
/// # Errors
/// As [`parse`], and [`StatsError::Blocks`] where there are several.
pub fn parse_one(file: &[u8]) -> Result<Block, StatsError> {
    let mut blocks = parse(file)?;
    if blocks.len() == 1 {
        return Ok(blocks.remove(0));
    }
    Err(StatsError::Blocks {
        found: blocks.len(),
        lines: blocks.iter().map(|block| block.first_line).collect(),
    })
}

/// The values of a line.
fn row(text: &str, line: usize) -> Result<Vec<(String, Entry)>, String> {
    // Names and values hold no `#`; comments may hold anything.
    let data = text.split_once('#').map_or(text, |(data, _)| data);
    if data.contains('|') {
        return cells(data, line);
    }
    let mut words = data.split_whitespace();
    let name = words.next().ok_or("there is no name")?;
    let value = words
        .next()
        .ok_or_else(|| format!("`{}` has no value", shorten(name)))?;
    let entry = entry(value, line)?;
    let shares: Vec<&str> = words.collect();
    if !(shares.is_empty() || shares.len() == 2 && shares.iter().all(|share| is_share(share))) {
        return Err(format!(
            "`{}` has `{}` behind its value",
            shorten(name),
            shorten(&shares.join(" "))
        ));
    }
    Ok(vec![(name.to_owned(), entry)])
}

/// A distribution on one line: `NAME | 1 50.00% 50.00% | 1 50.00% 100.00%`; its cells are numbered.
fn cells(data: &str, line: usize) -> Result<Vec<(String, Entry)>, String> {
    let mut parts = data.split('|');
    let name = parts.next().unwrap_or_default().trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err("a row of cells has no name".to_owned());
    }
    let mut entries = Vec::new();
    for cell in parts.map(str::trim).filter(|cell| !cell.is_empty()) {
        let mut words = cell.split_whitespace();
        let value = words.next().unwrap_or_default();
        if !words.all(is_share) {
            return Err(format!("`{}` is no cell", shorten(cell)));
        }
        let name = format!("{name}::{}", entries.len());
        entries.push((name, entry(value, line)?));
    }
    Ok(entries)
}

fn is_share(word: &str) -> bool {
    word.strip_suffix('%')
        .is_some_and(|number| number.parse::<f64>().is_ok())
}

fn entry(text: &str, line: usize) -> Result<Entry, String> {
    let value = if let Ok(count) = text.parse::<u64>() {
        Value::Count(count)
    } else {
        let number = match text {
            "nan" | "-nan" => f64::NAN,
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            // Rust also reads `infinity` and `NaN`, which gem5 does not write.
            _ if text.contains(|c: char| c.is_ascii_alphabetic() && c != 'e') => {
                return Err(format!("`{}` is no number", shorten(text)));
            }
            _ => text
                .parse()
                .map_err(|_| format!("`{}` is no number", shorten(text)))?,
        };
        Value::Real(number)
    };
    Ok(Entry {
        value,
        text: text.to_owned(),
        line,
    })
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    let start: String = text.chars().take(60).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &str) -> String {
        format!("\n{BEGIN}\n{lines}\n{END}\n")
    }

    #[test]
    fn rows_of_every_kind_are_read() {
        let text = block(
            "simTicks   33137829   # ticks (Tick)\n\
             ipc   0.096218   # IPC\n\
             d::samples   12   # n\n\
             d::0    9   75.00%   75.00% # n\n\
             d::overflows  0  0.00%  100.00% # n\n\
             old::dist | 3 25.00% 25.00% | 9 75.00% 100.00% # n\n\
             a nan # x\n\
             b inf # x\n\
             c -inf # x\n\
             e -3 # x\n\
             f 1e-06 # with | and # in it",
        );
        let block = parse_one(text.as_bytes()).unwrap();
        let get = |name: &str| block.entries[name].value;
        assert_eq!(get("simTicks"), Value::Count(33_137_829));
        assert_eq!(get("ipc"), Value::Real(0.096218));
        assert_eq!(get("d::0"), Value::Count(9));
        assert_eq!(get("old::dist::1"), Value::Count(9));
        assert!(matches!(get("a"), Value::Real(x) if x.is_nan()));
        assert_eq!(get("b"), Value::Real(f64::INFINITY));
        assert_eq!(get("c"), Value::Real(f64::NEG_INFINITY));
        assert_eq!(get("e"), Value::Real(-3.0));
        assert_eq!(get("f"), Value::Real(1e-6));
        assert_eq!(block.entries["f"].text, "1e-06");
        assert_eq!((block.first_line, block.entries["simTicks"].line), (2, 3));
    }

    #[test]
    fn statistics_that_were_set_back_are_seen() {
        let reset = |lines| parse_one(block(lines).as_bytes()).unwrap().is_reset();
        assert!(!reset("simTicks 9 #\nfinalTick 9 #"));
        assert!(reset("simTicks 8 #\nfinalTick 9 #"));
        assert!(reset("sim_ticks 8 #\nfinal_tick 9 #"));
        assert!(!reset("simTicks 9 #"), "older files do not tell");
    }

    #[test]
    fn names_that_look_like_marks_are_names() {
        let text = block("hostEndTime 3 #\nBeginCount 4 #\nsystem.info 5 #\nlatency.nanos 6 #");
        let block = parse_one(text.as_bytes()).unwrap();
        assert_eq!(block.entries.len(), 4);
        assert_eq!(block.entries["hostEndTime"].value, Value::Count(3));
    }

    #[test]
    fn what_is_cut_off_is_an_error_with_its_line() {
        let whole = block("simTicks 1 # t\nsimInsts 2 # i");
        assert!(parse(whole.as_bytes()).is_ok());
        let error = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(""), "the file of statistics is empty");
        assert_eq!(error("\n\n"), "the file of statistics is empty");
        let cut = &whole[..whole.find("simInsts").unwrap() + 4];
        assert_eq!(
            error(cut),
            "line 4: the file ends in the middle of this line"
        );
        let open = &whole[..whole.find(END).unwrap()];
        assert_eq!(
            error(open),
            "line 4: the file ends inside the block that begins in line 2"
        );
        // Whatever is cut from the end, nothing but the last line feed is missed.
        for length in 1..whole.len() - 1 {
            assert!(parse(&whole.as_bytes()[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn what_is_no_statistic_is_refused() {
        for (line, message) in [
            ("simTicks # none", "line 3: `simTicks` has no value"),
            ("simTicks many # x", "line 3: `many` is no number"),
            ("simTicks 0x10 # x", "line 3: `0x10` is no number"),
            (
                "simTicks 1 2 # x",
                "line 3: `simTicks` has `2` behind its value",
            ),
            ("a 1 #\na 2 #", "line 4: `a` stands twice in this block"),
            ("# only a comment", "line 3: there is no name"),
        ] {
            let text = block(line);
            assert_eq!(parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
        let outside = format!("warn: hello\n{}", block("a 1 #"));
        assert_eq!(
            parse(outside.as_bytes()).unwrap_err().to_string(),
            "line 1: `warn: hello` stands outside of a block"
        );
        assert!(parse(&[0xff, 0xfe, b'\n']).is_err());
    }

    #[test]
    fn several_blocks_are_a_choice_of_the_caller() {
        let text = format!("{}{}", block("simTicks 1 #"), block("simTicks 2 #"));
        assert_eq!(parse(text.as_bytes()).unwrap().len(), 2);
        assert_eq!(
            parse_one(text.as_bytes()).unwrap_err().to_string(),
            "the file has 2 blocks of statistics (they begin in lines 2, 6), and one was expected"
        );
    }

    #[test]
    fn a_count_is_a_whole_number_or_an_error() {
        let block = parse_one(block("a nan #\nb 3 #\nd 0.5 #").as_bytes()).unwrap();
        let count = |name: &str| block.count(&[name.to_owned()]);
        assert_eq!(count("b"), Ok(3));
        assert_eq!(
            count("a").unwrap_err().to_string(),
            "line 3: `a` is nan: a whole number is needed"
        );
        assert!(count("d").is_err());
        assert_eq!(
            count("c").unwrap_err().to_string(),
            "there is no statistic `c`"
        );
        let either = ["c".to_owned(), "b".to_owned()];
        assert_eq!(block.count(&either), Ok(3));
    }
}
