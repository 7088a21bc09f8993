//! Tables as Markdown.
use super::text::is_text_column;
use super::{Cell, Table};
use std::fmt::Write;

/// The table as Markdown: a title in bold, the table, the notes as a list.
pub fn to_markdown(table: &Table) -> String {
    let mut text = String::new();
    if !table.title.is_empty() {
        let _ = writeln!(text, "**{}**\n", escape(&table.title));
    }
    write_row(&mut text, table.columns.iter().map(|head| escape(head)));
    let rules = (0..table.columns.len()).map(|column| {
        let rule = if is_text_column(table, column) {
            ":--"
        } else {
            "--:"
        };
        rule.to_string()
    });
    write_row(&mut text, rules);
    for row in &table.rows {
        write_row(
            &mut text,
            row.iter().map(Cell::shown).map(|cell| escape(&cell)),
        );
    }
    if !table.notes.is_empty() {
        text.push('\n');
    }
    for note in &table.notes {
        let _ = writeln!(text, "- {}", escape(note));
    }
    text
}

fn write_row(text: &mut String, cells: impl Iterator<Item = String>) {
    text.push('|');
    for cell in cells {
        let _ = write!(text, " {cell} |");
    }
    text.push('\n');
}

/// A bar would end the cell and a line feed the row.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_pipe_table() {
        let table = Table {
            title: String::new(),
            columns: vec!["model".into(), "n".into()],
            rows: vec![vec![Cell::Text("a|b".into()), Cell::Count(1)]],
            notes: vec!["note".into()],
        };
        assert_eq!(
            to_markdown(&table),
            "| model | n |\n| :-- | --: |\n| a\\|b | 1 |\n\n- note\n"
        );
    }
}
