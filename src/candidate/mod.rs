//! Candidates: one solution of a problem, put together from a model's answer.
//!
//! `import` reads answers, `extract` finds the code in one, `assemble` puts it together with its problem. The rules
//! stand at the top of each file; nothing in an answer is corrected.
mod assemble;
mod calls;
mod extract;
mod import;
#[cfg(test)]
mod real_data;

pub use assemble::assemble;
pub use extract::extract;
pub use import::{ANSWER_BYTES_MAX, Imported, import, import_bytes};

use crate::dataset::Signature;

/// A model's answer to a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Continues the problem's prompt.
    Completion(String),
    /// Stands alone.
    Solution(String),
}

impl Answer {
    /// The text as the model gave it.
    pub fn text(&self) -> &str {
        match self {
            Self::Completion(text) | Self::Solution(text) => text,
        }
    }
}

/// One solution, ready to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// A C++ program that reads standard input.
    CppProgram {
        /// The translation unit.
        source: String,
    },
    /// A C++ function with a test program in the HumanEval-X form.
    CppFunction {
        /// Includes, prompt and completion: everything before the test.
        source: String,
        /// Name of the function.
        entry_point: String,
        /// Source with a `main` that calls the function and asserts.
        test: String,
    },
    /// A Python program that reads standard input.
    PythonProgram {
        /// The script.
        source: String,
    },
    /// A C++ function or class that a driver of ours calls.
    CppCalls {
        /// The answer with what stands before it.
        source: String,
        /// Definitions of nodes that the answer takes for granted.
        definitions: String,
        /// What is called, or why the answer has no such thing.
        signature: Result<Signature, String>,
    },
    /// A Python function or class that a driver of ours calls.
    PythonCalls {
        /// The module.
        source: String,
        /// What is called, as the driver reads it: a JSON object.
        target: String,
    },
    /// A Python function with a test in the HumanEval form.
    PythonFunction {
        /// The module that defines the function.
        source: String,
        /// Name of the function.
        entry_point: String,
        /// Source that defines `check(candidate)`.
        test: String,
    },
}
