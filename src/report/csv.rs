//! Tables as comma-separated values (RFC 4180): numbers as they are, not rounded; notes are left to the other forms.
use super::{Cell, Table, number};

/// The head and the rows. A range takes one column, as `low to high`.
pub fn to_csv(table: &Table) -> String {
    let mut text = String::new();
    write_row(
        &mut text,
        table.columns.iter().map(|head| number::csv(head)),
    );
    for row in &table.rows {
        write_row(&mut text, row.iter().map(raw));
    }
    text
}

fn raw(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => number::csv(text),
        Cell::Count(count) => count.to_string(),
        Cell::Fraction(value) | Cell::Percent(value) | Cell::Factor(value) => value.to_string(),
        Cell::Range(low, high) => format!("{} to {}", raw(low), raw(high)),
        Cell::Missing => String::new(),
    }
}

fn write_row(text: &mut String, cells: impl Iterator<Item = String>) {
    text.push_str(&cells.collect::<Vec<_>>().join(","));
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_text_its_quotes() {
        let table = Table {
            columns: vec!["model".into(), "n".into(), "share".into()],
            rows: vec![vec![
                Cell::Text("say \"a,b\"".into()),
                Cell::Count(1234),
                Cell::Fraction(1.0 / 3.0),
            ]],
            ..Table::default()
        };
        assert_eq!(
            to_csv(&table),
            "model,n,share\r\n\"say \"\"a,b\"\"\",1234,0.3333333333333333\r\n"
        );
    }
}
