//! Defects of input files: where, what is wrong, and what to do.
use std::fmt;

/// What is wrong with a file, a line of it, or a field of a line.
///
/// Kept under 128 bytes (`Box<str>`), since it is the error of functions that are called once a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The file or folder, as the user named it.
    pub file: String,
    /// Line number, from 1.
    pub line: Option<usize>,
    /// Field of the line's object.
    pub field: Option<Box<str>>,
    /// Id of the problem, where it could be read.
    pub id: Option<Box<str>>,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

impl Defect {
    /// A defect of a whole file.
    pub(crate) fn of_file(
        file: impl fmt::Display,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_string(),
            line: None,
            field: None,
            id: None,
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }

    /// Whether it leaves out a case because its input is outside of the bounds that the problem's statement sets.
    pub fn is_out_of_bounds(&self) -> bool {
        self.reason.contains(super::leetcode::OUT_OF_BOUNDS)
    }

    /// The same, with the file's last name only.
    pub(crate) fn without_folder(&self) -> Self {
        let name = std::path::Path::new(&self.file).file_name();
        Self {
            file: name.map_or_else(|| self.file.clone(), |n| n.to_string_lossy().into_owned()),
            ..self.clone()
        }
    }

    /// The same at a line.
    pub(crate) fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// The same in a field.
    pub(crate) fn in_field(mut self, field: &str) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The same of a problem.
    pub(crate) fn of_problem(mut self, id: &str) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(id) = &self.id {
            write!(f, ", problem `{id}`")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field `{field}`")?;
        }
        write!(f, ": {}; {}", self.reason, self.remedy)
    }
}

impl std::error::Error for Defect {}
