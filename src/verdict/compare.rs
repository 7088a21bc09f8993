//! Comparing an output with the expected one: by lines and tokens, exactly or within a tolerance.
//!
//! The rules, whichever the tolerance:
//! - Lines correspond one to one. Line ends are `\n` or `\r\n`; empty lines at the end do not count; a blank line
//!   elsewhere does. A missing or an extra line is a difference.
//! - A line is its tokens, which white space separates; leading and trailing white space does not count. A missing
//!   or an extra token is a difference.
//! - Without a tolerance tokens are equal if their bytes are.
//! - With a tolerance two tokens that are numbers, at least one of them not an integer, are equal if they differ by at
//!   most the absolute or the relative tolerance. Two integers are compared digit by digit at any length: as `f64`
//!   9007199254740992 and 9007199254740993 would be one number.
use serde::{Deserialize, Serialize};
use std::fmt;

/// How outputs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Comparison {
    /// `None`: tokens are compared by their bytes.
    pub tolerance: Option<Tolerance>,
    /// Whether `nan` is a right answer where `nan` is expected.
    pub nan: NanPolicy,
}

/// How far apart two numbers may be: within either of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Largest accepted |expected - got|.
    pub absolute: f64,
    /// Largest accepted |expected - got| / |expected|.
    pub relative: f64,
}

/// What two tokens that both say "not a number" are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NanPolicy {
    /// The same answer.
    #[default]
    Equal,
    /// Different: `nan` is never right.
    Different,
}

/// The first place where an output differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Line number, from 1.
    pub line: usize,
    /// The expected line, cut to 200 bytes; `None` where no line is expected.
    pub expected: Option<String>,
    /// The line that came, cut likewise; `None` where there is none.
    pub got: Option<String>,
}

/// How much of a line a [`Difference`] shows.
pub(crate) const SHOWN_BYTES: usize = 200;

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match (&self.expected, &self.got) {
            (Some(expected), Some(got)) => write!(f, "expected `{expected}`, got `{got}`"),
            (Some(expected), None) => write!(f, "expected `{expected}`, got no such line"),
            (None, Some(got)) => write!(f, "expected no such line, got `{got}`"),
            (None, None) => write!(f, "no difference"),
        }
    }
}

/// The first difference between two outputs, or `None` where `got` is a right answer.
pub fn compare(expected: &[u8], got: &[u8], comparison: &Comparison) -> Option<Difference> {
    let mut expected_lines = lines(expected);
    let mut got_lines = lines(got);
    let mut line = 0;
    loop {
        line += 1;
        match (expected_lines.next(), got_lines.next()) {
            (None, None) => return None,
            (Some(e), Some(g)) if lines_equal(e, g, comparison) => {}
            (e, g) => {
                return Some(Difference {
                    line,
                    expected: e.map(|text| show(text, g)),
                    got: g.map(|text| show(text, e)),
                });
            }
        }
    }
}

/// The difference of two texts that are known to be no right answers of each other, as one line.
pub(super) fn difference_of_texts(expected: Option<&str>, got: &str) -> Difference {
    Difference {
        line: 1,
        expected: expected.map(|text| show(text.as_bytes(), Some(got.as_bytes()))),
        got: Some(show(got.as_bytes(), expected.map(str::as_bytes))),
    }
}

/// The first byte-for-byte difference between two outputs.
pub fn compare_bytes(expected: &[u8], got: &[u8]) -> Option<Difference> {
    if expected == got {
        return None;
    }
    let mut expected_lines = expected.split(|&byte| byte == b'\n');
    let mut got_lines = got.split(|&byte| byte == b'\n');
    let mut line = 0;
    loop {
        line += 1;
        let (e, g) = (expected_lines.next(), got_lines.next());
        if e != g || e.is_none() {
            let whole = |text: Option<&[u8]>, other: Option<&[u8]>| {
                text.map(|text| show_exactly(text, other))
            };
            return Some(Difference {
                line,
                expected: whole(e, g),
                got: whole(g, e),
            });
        }
    }
}

/// The lines without what the rules at the top leave out at the end.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.trim_ascii_end();
    let count = if text.is_empty() { 0 } else { usize::MAX };
    text.split(|&byte| byte == b'\n').take(count)
}

fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|token| !token.is_empty())
}

fn lines_equal(expected: &[u8], got: &[u8], comparison: &Comparison) -> bool {
    let mut expected = tokens(expected);
    let mut got = tokens(got);
    loop {
        match (expected.next(), got.next()) {
            (None, None) => return true,
            (Some(e), Some(g)) if tokens_equal(e, g, comparison) => {}
            _ => return false,
        }
    }
}

fn tokens_equal(expected: &[u8], got: &[u8], comparison: &Comparison) -> bool {
    if comparison.nan == NanPolicy::Different && is_nan(expected) {
        return false;
    }
    if expected == got {
        return true;
    }
    let Some(tolerance) = comparison.tolerance else {
        return false;
    };
    if let (Some(e), Some(g)) = (integer(expected), integer(got)) {
        return e == g;
    }
    let (Some(e), Some(g)) = (number(expected), number(got)) else {
        return false;
    };
    if e.is_nan() || g.is_nan() {
        return e.is_nan() && g.is_nan();
    }
    if e.is_infinite() || g.is_infinite() {
        return e == g;
    }
    let difference = (e - g).abs();
    difference <= tolerance.absolute || difference <= tolerance.relative * e.abs()
}

/// Sign and digits without leading zeros; -0 is 0.
fn integer(token: &[u8]) -> Option<(bool, &[u8])> {
    let (negative, digits) = match token {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, token),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let digits = &digits[zeros..];
    Some((negative && !digits.is_empty(), digits))
}

fn number(token: &[u8]) -> Option<f64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

fn is_nan(token: &[u8]) -> bool {
    let unsigned = token
        .strip_prefix(b"-")
        .or_else(|| token.strip_prefix(b"+"))
        .unwrap_or(token);
    unsigned.eq_ignore_ascii_case(b"nan")
}

/// A line for people: cut around the place where it leaves the other one, with bytes outside UTF-8 replaced.
fn show(line: &[u8], other: Option<&[u8]>) -> String {
    show_exactly(line.trim_ascii_end(), other)
}

/// The same with white space at the end.
fn show_exactly(line: &[u8], other: Option<&[u8]>) -> String {
    let common = other.map_or(0, |other| {
        line.iter().zip(other).take_while(|(a, b)| a == b).count()
    });
    if line.len() <= SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    // Half of what is shown stands before the difference, so that the context tells where it is.
    let start = common
        .saturating_sub(SHOWN_BYTES / 2)
        .min(line.len() - SHOWN_BYTES);
    let end = start + SHOWN_BYTES;
    let before = if start > 0 { "..." } else { "" };
    let after = if end < line.len() { "..." } else { "" };
    format!(
        "{before}{}{after}",
        String::from_utf8_lossy(&line[start..end])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(expected: &str, got: &str) -> bool {
        compare(expected.as_bytes(), got.as_bytes(), &Comparison::default()).is_none()
    }

    fn within(absolute: f64, relative: f64, expected: &str, got: &str) -> bool {
        let comparison = Comparison {
            tolerance: Some(Tolerance { absolute, relative }),
            nan: NanPolicy::Equal,
        };
        compare(expected.as_bytes(), got.as_bytes(), &comparison).is_none()
    }

    /// Expected, got, absolute and relative tolerance, right.
    type Case = (&'static str, &'static str, Option<(f64, f64)>, bool);
    const CASES: [Case; 24] = [
        ("9007199254740993", "9007199254740992", None, false),
        (
            "9007199254740993",
            "9007199254740992",
            Some((1.0, 1e-6)),
            false,
        ),
        ("1 2", "1 2\n3", None, false),
        ("1 2\n3", "1 2", None, false),
        ("0.0005", "0", None, false),
        ("0.0005", "0", Some((0.0, 1e-3)), false),
        ("0.0005", "0", Some((1e-3, 0.0)), true),
        ("1e9", "1000000000.5", Some((0.0, 1e-6)), true),
        ("1e9", "1000000000.5", Some((0.0, 1e-12)), false),
        ("0.1 0.2", "0.1000001 0.1999999", Some((1e-6, 0.0)), true),
        ("0.1 0.2", "0.1000001", Some((1e-6, 0.0)), false),
        ("nan", "nan", None, true),
        ("nan", "0", Some((1e9, 1e9)), false),
        ("inf", "1e308", Some((1e300, 1.0)), false),
        ("", "", None, true),
        ("", "\n", None, true),
        ("", "x", None, false),
        ("x", "", None, false),
        ("1 2\n3\n", "1 2  \r\n3\r\n\r\n", None, true),
        ("-0.0", "0.0", Some((1e-9, 0.0)), true),
        ("-0.0", "0.0", None, false),
        ("1\n2\n3\n", "1\n2\n", None, false),
        ("1\n\n2", "1\n2", None, false),
        ("Yes", "yes", Some((1.0, 1.0)), false),
    ];

    #[test]
    fn the_cases_that_checkers_get_wrong_are_judged_right() {
        for (expected, got, tolerance, right) in CASES {
            let comparison = Comparison {
                tolerance: tolerance.map(|(absolute, relative)| Tolerance { absolute, relative }),
                nan: NanPolicy::Equal,
            };
            let judged = compare(expected.as_bytes(), got.as_bytes(), &comparison).is_none();
            assert_eq!(judged, right, "{expected:?} {got:?} {tolerance:?}");
        }
    }

    #[test]
    fn integers_beyond_the_precision_of_a_double_are_exact() {
        assert!(!exact("9007199254740993", "9007199254740992"));
        assert!(!within(1e-3, 1e-3, "9007199254740993", "9007199254740992"));
        assert!(within(0.0, 0.0, "-00000000000000000000000000000012", "-12"));
        assert!(within(0.0, 0.0, "-0", "0"));
        assert!(!within(0.0, 0.0, "-12", "12"));
    }

    #[test]
    fn extra_and_missing_lines_are_wrong() {
        assert!(!exact("1 2", "1 2\n3"));
        assert!(!exact("1 2\n3", "1 2"));
        assert!(!exact("1\n2\n3\n", "1\n2\n"));
        assert!(!exact("", "x"));
        assert!(!exact("x", ""));
        assert!(exact("", ""));
        assert!(exact("", "\n"));
    }

    #[test]
    fn line_structure_is_kept() {
        assert!(!exact("1 2\n", "1\n2\n"));
        assert!(!exact("1\n2\n", "1\n\n2\n"));
        assert!(!exact("1\n2\n", "\n1\n2\n"));
        assert!(exact("1\n\n2\n", "1\n  \n2\n"));
    }

    #[test]
    fn trailing_white_space_and_carriage_returns_are_tolerated() {
        assert!(exact("1 2\n3\n", "1 2  \r\n3\r\n\r\n"));
        assert!(exact("1 2\n3", "1  2\n3 \n\n"));
    }

    #[test]
    fn small_numbers_are_not_equal_to_zero_unless_the_absolute_tolerance_says_so() {
        assert!(!exact("0.0005", "0"));
        assert!(!within(0.0, 1e-3, "0.0005", "0"));
        assert!(within(1e-3, 0.0, "0.0005", "0"));
    }

    #[test]
    fn a_relative_tolerance_scales_with_the_expected_number() {
        assert!(within(0.0, 1e-6, "1e9", "1000000000.5"));
        assert!(!within(0.0, 1e-12, "1e9", "1000000000.5"));
        assert!(!exact("1e9", "1000000000.5"));
    }

    #[test]
    fn several_numbers_on_a_line_each_get_the_tolerance() {
        assert!(within(1e-6, 0.0, "0.1 0.2", "0.1000001 0.1999999"));
        assert!(!within(1e-6, 0.0, "0.1 0.2", "0.1000001 0.21"));
    }

    #[test]
    fn negative_zero_equals_zero_only_within_a_tolerance() {
        assert!(within(1e-9, 0.0, "-0.0", "0.0"));
        assert!(!exact("-0.0", "0.0"));
    }

    #[test]
    fn nan_follows_the_policy() {
        let never = Comparison {
            tolerance: None,
            nan: NanPolicy::Different,
        };
        assert!(compare(b"nan", b"nan", &never).is_some());
        assert!(compare(b"NaN", b"NaN", &never).is_some());
        assert!(exact("nan", "nan"));
        assert!(within(1.0, 1.0, "nan", "-NaN"));
        assert!(!within(1.0, 1.0, "nan", "0.5"));
        assert!(!within(1e300, 1.0, "inf", "1e308"));
        assert!(!within(1.0, 1.0, "inf", "-inf"));
    }

    #[test]
    fn bytes_are_compared_with_their_white_space() {
        assert!(compare_bytes(b"1\n", b"1\n").is_none());
        let difference = compare_bytes(b"1\n2", b"1\n2 ").unwrap();
        assert_eq!(
            (difference.line, difference.got.as_deref()),
            (2, Some("2 "))
        );
        assert_eq!(compare_bytes(b"1\n", b"1").unwrap().line, 2);
    }

    #[test]
    fn the_first_difference_names_line_expected_and_got() {
        let difference = compare(b"1\n2\n3\n", b"1\n5\n3\n", &Comparison::default()).unwrap();
        assert_eq!(difference.line, 2);
        assert_eq!(difference.expected.as_deref(), Some("2"));
        assert_eq!(difference.got.as_deref(), Some("5"));
        let missing = compare(b"1\n2\n", b"1\n", &Comparison::default()).unwrap();
        assert_eq!((missing.line, missing.got), (2, None));
    }

    #[test]
    fn a_long_line_is_cut_around_the_difference() {
        let expected = "7 ".repeat(5000);
        let mut got = expected.clone().into_bytes();
        got[6000] = b'8';
        let difference = compare(expected.as_bytes(), &got, &Comparison::default()).unwrap();
        let shown = difference.got.unwrap();
        assert!(shown.contains('8') && shown.len() < 220, "{shown}");
    }

    #[test]
    fn bytes_outside_utf_8_are_compared_as_bytes() {
        assert!(compare(b"\xff\xfe", b"\xff\xfe", &Comparison::default()).is_none());
        assert!(compare(b"\xff\xfe", b"\xff\xfd", &Comparison::default()).is_some());
    }
}
