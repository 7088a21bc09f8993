//! Problems and their test cases, read from the files that users hold.
use std::sync::Arc;

/// A programming language of candidates.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C++17.
    Cpp,
    /// Python 3.
    Python,
}

/// A task of a data set.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Id within the data set, as samples name it (`HumanEval/0`, `CPP/0`).
    pub id: String,
    /// Language of its candidates.
    pub language: Language,
    /// What candidates look like and how they are tested.
    pub form: Form,
    /// The data set's own solution, in the shape of a sample's `completion`.
    pub canonical: Option<String>,
}

/// What candidates of a problem look like and how they are tested.
#[derive(Clone, Debug)]
pub enum Form {
    /// A whole program that reads standard input; a test case is an input.
    Program {
        /// The cases, in numeric order.
        cases: Vec<TestCase>,
    },
    /// A function; a test case is a call that `test` makes.
    Function {
        /// Source that a `completion` continues.
        prompt: String,
        /// Name of the function.
        entry_point: String,
        /// Python: source that defines `check(candidate)`. C++: source with a `main` that asserts.
        test: String,
    },
}

/// One input of a program problem.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// Name for messages (`1`, for `input.1.txt`).
    pub name: String,
    /// Exact bytes of standard input.
    pub stdin: Arc<[u8]>,
    /// Expected standard output.
    pub expected: Arc<[u8]>,
}
