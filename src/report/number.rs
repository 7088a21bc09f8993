//! Rounding: the one place where a number loses digits.

/// A percentage with two decimals. Rounding is half to even on the decimal value, as Rust's formatting does.
pub fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

/// A quotient or a coefficient, with three decimals.
pub fn coefficient(value: f64) -> String {
    format!("{value:.3}")
}

/// A text as a cell of comma-separated values: in quotes where it needs them.
pub fn csv(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

/// A count with its thousands apart.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration for people: two units at most.
pub fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// A ratio, to three significant digits and at least two decimals below 10.
pub fn factor(value: f64) -> String {
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

/// A p-value; below one in ten thousand only that.
pub fn p_value(value: f64) -> String {
    if value < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{value:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_people_read_them() {
        assert_eq!(percent(100.0 / 3.0), "33.33%");
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(100_000), "100,000");
        assert_eq!(
            [factor(1.2345), factor(12.345), factor(123.45)],
            ["1.234", "12.3", "123"]
        );
        assert_eq!([p_value(0.04999), p_value(0.0)], ["0.0500", "<0.0001"]);
        assert_eq!(duration(59), "59 s");
        assert_eq!(duration(61), "1 min 1 s");
        assert_eq!(duration(7322), "2 h 2 min");
    }
}
