//! Tables as LaTeX, with the rules of the package booktabs.
use super::text::is_text_column;
use super::{Cell, Table};
use std::fmt::Write;

/// The table as a `tabular` in a `table` environment; the notes stand below it.
pub fn to_latex(table: &Table) -> String {
    let columns: String = (0..table.columns.len())
        .map(|column| {
            if is_text_column(table, column) {
                'l'
            } else {
                'r'
            }
        })
        .collect();
    let mut text = String::from("% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n");
    if !table.title.is_empty() {
        let _ = writeln!(text, "\\caption{{{}}}", escape(&table.title));
    }
    let _ = writeln!(text, "\\begin{{tabular}}{{{columns}}}\n\\toprule");
    write_row(&mut text, table.columns.iter().map(|head| escape(head)));
    text.push_str("\\midrule\n");
    for row in &table.rows {
        write_row(&mut text, row.iter().map(shown));
    }
    text.push_str("\\bottomrule\n\\end{tabular}\n");
    for note in &table.notes {
        let _ = writeln!(text, "\\par\\footnotesize {}", escape(note));
    }
    text.push_str("\\end{table}\n");
    text
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Missing => "--".into(),
        Cell::Range(low, high) => format!("{} to {}", shown(low), shown(high)),
        cell => escape(&cell.shown()),
    }
}

fn write_row(text: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let _ = writeln!(text, "{} \\\\", cells.join(" & "));
}

/// The ten characters that mean something to LaTeX.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '\n' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_tabular_and_special_characters_are_escaped() {
        let table = Table {
            title: "50% & more".into(),
            columns: vec!["model".into(), "share".into()],
            rows: vec![
                vec![Cell::Text("a_b\\c".into()), Cell::Fraction(0.5)],
                vec![Cell::Text("d".into()), Cell::Missing],
            ],
            notes: vec!["#1".into()],
        };
        assert_eq!(
            to_latex(&table),
            "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{50\\% \\& more}\n\
             \\begin{tabular}{lr}\n\\toprule\nmodel & share \\\\\n\\midrule\n\
             a\\_b\\textbackslash{}c & 50.00\\% \\\\\nd & -- \\\\\n\\bottomrule\n\\end{tabular}\n\
             \\par\\footnotesize \\#1\n\\end{table}\n"
        );
    }
}
