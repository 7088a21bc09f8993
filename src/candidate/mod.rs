//! Candidates: one solution of a problem, put together from a model's answer.

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
