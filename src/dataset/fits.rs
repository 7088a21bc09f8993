//! Whether a value is one of a C++ type: what a data set says of numbers that the signature cannot hold is nothing that
//! an answer can be blamed for.
use super::Value;

/// The number in a value that does not fit the type as written (`const vector<int> &`), in words; `None` where all fit
/// and where the type is none of integers, sequences of them and the site's nodes.
pub(super) fn misfit(value: &Value, written: &str) -> Option<String> {
    let plain = written.replace("std::", "").replace(['&', '*'], " ");
    let words: Vec<&str> = plain
        .split_whitespace()
        .filter(|word| *word != "const")
        .collect();
    let plain = words.join(" ");
    let element = innermost(&plain);
    let (low, high) = range(element)?;
    let digits = beyond(value, low, high, element.ends_with("Node"))?;
    Some(format!("{digits} does not fit `{}`", written.trim()))
}

/// The type of the elements, through any number of sequences.
fn innermost(plain: &str) -> &str {
    const SEQUENCES: [&str; 6] = [
        "vector",
        "list",
        "deque",
        "set",
        "unordered_set",
        "optional",
    ];
    let Some((name, rest)) = plain.split_once('<') else {
        return plain.trim();
    };
    match rest.trim_end().strip_suffix('>') {
        Some(inner) if SEQUENCES.contains(&name.trim()) => innermost(inner),
        _ => plain.trim(),
    }
}

/// The least and the greatest value of an integer type on x86-64 Linux. The values of the site's nodes are `int`.
fn range(ty: &str) -> Option<(i128, i128)> {
    Some(match ty {
        "int" | "signed" | "signed int" | "int32_t" | "ListNode" | "TreeNode" | "Node" => {
            (i32::MIN.into(), i32::MAX.into())
        }
        "unsigned" | "unsigned int" | "uint32_t" => (0, u32::MAX.into()),
        "long" | "long int" | "long long" | "long long int" | "int64_t" => {
            (i64::MIN.into(), i64::MAX.into())
        }
        "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// The first number of a value that is no integer or outside of the range, as text.
fn beyond(value: &Value, low: i128, high: i128, nodes: bool) -> Option<String> {
    if let Some(elements) = value.sequence() {
        return elements
            .iter()
            .find_map(|element| beyond(element, low, high, nodes));
    }
    match value {
        Value::Integer(digits) => {
            let number = digits.parse::<i128>();
            let fits = number.is_ok_and(|number| (low..=high).contains(&number));
            (!fits).then(|| digits.clone())
        }
        // An empty place of a tree is no number.
        Value::Null if !nodes => Some(value.to_string()),
        // 2.0 is an integer that somebody divided.
        Value::Float(number) if number.fract() != 0.0 || !number.is_finite() => {
            Some(value.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: &str, written: &str) -> Option<String> {
        misfit(&Value::parse(value).unwrap(), written)
    }

    #[test]
    fn numbers_beyond_their_type_are_found_at_any_depth() {
        assert_eq!(found("2147483647", "int"), None);
        assert_eq!(
            found("2147483648", "int").unwrap(),
            "2147483648 does not fit `int`"
        );
        assert_eq!(
            found("-2147483649", "const int &")
                .unwrap()
                .split(' ')
                .next(),
            Some("-2147483649")
        );
        assert_eq!(
            found(
                "[[1, 2], [3, 10000000000]]",
                "std::vector<std::vector<int>>&"
            )
            .unwrap(),
            "10000000000 does not fit `std::vector<std::vector<int>>&`"
        );
        assert_eq!(
            found("[1, None, 3000000000]", "TreeNode*").unwrap(),
            "3000000000 does not fit `TreeNode*`"
        );
        assert_eq!(
            found("-1", "unsigned int"),
            Some("-1 does not fit `unsigned int`".into())
        );
        for (value, written) in [("[1.5]", "vector<int>"), ("-inf", "int"), ("None", "int")] {
            assert!(found(value, written).is_some(), "{value}");
        }
        assert_eq!(
            found(
                "99999999999999999999999999999999999999999999",
                "vector<long long>"
            )
            .map(|text| text.len() > 44),
            Some(true)
        );
    }

    #[test]
    fn other_types_and_values_are_left_to_the_driver() {
        for (value, written) in [
            ("10000000000", "long long"),
            ("10000000000", "double"),
            ("[\"10000000000\"]", "vector<int>"),
            ("[10000000000]", "map<int, int>"),
            ("[10000000000]", "vector<pair<int, int>>"),
            ("2.0", "int"),
        ] {
            assert_eq!(found(value, written), None, "{written}");
        }
    }
}
