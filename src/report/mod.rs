//! Reports: rows and notes as data, and their renderers.
//!
//! A [`Table`] holds numbers, not text; [`number`] alone rounds; a renderer a file.
mod csv;
mod latex;
mod markdown;
pub mod number;
mod page;
mod plot;
mod scatter;
mod text;

pub use csv::to_csv;
pub use latex::to_latex;
pub use markdown::to_markdown;
pub use page::{Page, PageCase, PageSample, PageSection, page};
pub use plot::{Bar, Plot};
pub use scatter::{Point, Scatter, scatter};
pub use text::to_text;

/// A table as data.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads of the columns, with units.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader must know: population, what is left out, why a cell is empty.
    pub notes: Vec<String>,
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text, to the left.
    Text(String),
    /// A count.
    Count(u64),
    /// A part of 1, shown in percent.
    Fraction(f64),
    /// A percentage.
    Percent(f64),
    /// A quotient or a coefficient.
    Factor(f64),
    /// From one value to another.
    Range(Box<Cell>, Box<Cell>),
    /// No value; the notes say why.
    Missing,
}

impl Cell {
    /// The cell as people read it.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => number::count(*count),
            Self::Fraction(part) => number::percent(100.0 * part),
            Self::Percent(percent) => number::percent(*percent),
            Self::Factor(factor) => number::coefficient(*factor),
            Self::Range(low, high) => format!("{} to {}", low.shown(), high.shown()),
            Self::Missing => "-".into(),
        }
    }

    /// Whether it stands to the left of its column.
    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}
