//! What of C++23 a compiler does not know yet, told from its first error: an answer that uses it is right elsewhere, and
//! another compiler is wanted.

/// Names of C++23's library, by the namespace in which compilers miss them.
const NAMES: [(&[&str], &[&str]); 3] = [
    (
        &["std::views", "std::ranges::views"],
        &[
            "adjacent",
            "adjacent_transform",
            "as_const",
            "as_rvalue",
            "cartesian_product",
            "chunk",
            "chunk_by",
            "concat",
            "enumerate",
            "join_with",
            "pairwise",
            "pairwise_transform",
            "repeat",
            "slide",
            "stride",
            "zip",
            "zip_transform",
        ],
    ),
    (
        &["std::ranges"],
        &[
            "contains",
            "contains_subrange",
            "ends_with",
            "find_last",
            "find_last_if",
            "fold_left",
            "fold_left_first",
            "fold_right",
            "iota",
            "shift_left",
            "shift_right",
            "starts_with",
            "to",
        ],
    ),
    (
        &["std"],
        &[
            "byteswap",
            "expected",
            "flat_map",
            "flat_set",
            "format",
            "generator",
            "mdspan",
            "print",
            "println",
        ],
    ),
];

/// Its headers.
const HEADERS: [&str; 8] = [
    "expected",
    "flat_map",
    "flat_set",
    "format",
    "generator",
    "mdspan",
    "print",
    "stdfloat",
];

/// What the first error says that the compiler or its library does not know. `source` is the text that it numbers.
pub(super) fn lacking(text: &str, source: &str) -> Option<String> {
    let error = text.lines().find(|line| line.contains("error: "))?;
    if error.contains("expected identifier before 'this'") {
        // A parameter, or a mistake.
        let number: usize = error.split(':').nth(1)?.parse().ok()?;
        let line = source.lines().nth(number.checked_sub(1)?)?;
        return line
            .contains("(this ")
            .then(|| "a parameter `this`".to_owned());
    }
    let gcc = error.split_once("' is not a member of '");
    let clang = (error.split_once("no member named '"))
        .and_then(|(_, rest)| rest.split_once("' in namespace '"));
    if let Some((before, rest)) = gcc.or(clang) {
        let name = before.rsplit('\'').next()?;
        let space = rest.split('\'').next()?;
        let known =
            (NAMES.iter()).any(|(spaces, names)| spaces.contains(&space) && names.contains(&name));
        return known.then(|| format!("`{space}::{name}`"));
    }
    let (before, _) = error.split_once(": No such file or directory")?;
    let header = before.rsplit("error: ").next()?;
    HEADERS
        .contains(&header)
        .then(|| format!("the header `{header}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: &str) -> Option<String> {
        let text = format!(
            "candidate.cpp: In member function 'int Solution::f()':\ncandidate.cpp:2:5: {error}\ncandidate.cpp:2:5: error: more\n"
        );
        lacking(&text, "int this = 3;\n  [](this auto f) {}\n")
    }

    #[test]
    fn what_the_standard_has_is_told_from_what_nobody_has() {
        let this = "error: expected identifier before 'this'";
        assert_eq!(of(this).unwrap(), "a parameter `this`");
        let mistake = format!("candidate.cpp:1:5: {this}\n");
        assert_eq!(lacking(&mistake, "int this = 3;\n"), None);
        assert_eq!(lacking(&mistake, ""), None);
        assert_eq!(
            of("error: 'pairwise' is not a member of 'std::views'").unwrap(),
            "`std::views::pairwise`"
        );
        assert_eq!(
            of("error: no member named 'pairwise' in namespace 'std::ranges::views'").unwrap(),
            "`std::ranges::views::pairwise`"
        );
        assert_eq!(of("error: no member named 'sum' in 'Solution'"), None);
        assert_eq!(
            of("error: 'println' is not a member of 'std'").unwrap(),
            "`std::println`"
        );
        assert_eq!(
            of("fatal error: print: No such file or directory").unwrap(),
            "the header `print`"
        );
        for other in [
            "error: 'sum' is not a member of 'std::ranges'",
            "error: 'zip' is not a member of 'mine'",
            "error: 'x' was not declared in this scope",
            "fatal error: boost/any.hpp: No such file or directory",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(lacking("", ""), None);
    }
}
