//! Tables as aligned text for a terminal.
use super::{Cell, Table};
use std::fmt::Write;

/// The table as text: title, head, rows, notes; every line ends in a line feed and none in a blank.
pub fn to_text(table: &Table) -> String {
    let shown: Vec<Vec<String>> = (table.rows.iter())
        .map(|row| row.iter().map(Cell::shown).collect())
        .collect();
    let widths: Vec<usize> = (table.columns.iter().enumerate())
        .map(|(column, head)| {
            let cells = shown.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| width(cell))
                .max()
                .unwrap_or(0)
                .max(width(head))
        })
        .collect();
    let left: Vec<bool> = (0..table.columns.len())
        .map(|column| is_text_column(table, column))
        .collect();
    let mut text = String::new();
    if !table.title.is_empty() {
        let _ = writeln!(text, "{}\n", table.title);
    }
    if !table.columns.is_empty() {
        write_row(&mut text, &table.columns, &widths, &left);
        let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        write_row(&mut text, &rules, &widths, &left);
    }
    for row in &shown {
        write_row(&mut text, row, &widths, &left);
    }
    if !table.notes.is_empty() {
        text.push('\n');
    }
    for note in &table.notes {
        let _ = writeln!(text, "{note}");
    }
    text
}

/// Whether a column stands to the left: its first cell that is not missing is text.
pub(super) fn is_text_column(table: &Table, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.get(column));
    cells
        .find(|cell| **cell != Cell::Missing)
        .is_some_and(Cell::is_text)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn write_row(text: &mut String, cells: &[String], widths: &[usize], left: &[bool]) {
    let mut line = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let blanks = " ".repeat(widths[index].saturating_sub(width(cell)));
        if index > 0 {
            line.push_str("  ");
        }
        if left[index] {
            line.push_str(cell);
            line.push_str(&blanks);
        } else {
            line.push_str(&blanks);
            line.push_str(cell);
        }
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_left_and_numbers_right() {
        let table = Table {
            title: "T".into(),
            columns: vec!["model".into(), "n".into(), "share".into()],
            rows: vec![
                vec![Cell::Text("a".into()), Cell::Count(1234), Cell::Missing],
                vec![
                    Cell::Text("long name".into()),
                    Cell::Count(5),
                    Cell::Fraction(0.5),
                ],
            ],
            notes: vec!["note".into()],
        };
        assert_eq!(
            to_text(&table),
            "T\n\nmodel          n   share\n---------  -----  ------\na          1,234       -\nlong name      5  50.00%\n\nnote\n"
        );
    }
}
