//! Problems and their test cases, read from the files that users hold.
//!
//! One loader a file form. A defect of the file as a whole ends the loading; a defect of one problem leaves that
//! problem out, with the place and the reason in [`Loaded::skipped`], and the rest goes on.
mod assertions;
mod bounds;
mod calls;
pub mod catalogue;
mod coffe;
pub(crate) mod cpp_text;
mod defect;
mod enamel;
mod fits;
mod humaneval;
mod humaneval_x;
pub(crate) mod json_lines;
mod leetcode;
pub(crate) mod leetcode_dataset;
mod leetcode_eval;
mod mbpp;
mod multipl_e;
mod plus;
mod rows;
mod rules;
pub(crate) mod signature;
mod statements;
mod stdio;
mod value;

pub use defect::Defect;
pub(crate) use humaneval::defines as python_defines;
pub use signature::{Function, Parameter, Signature, Target};
pub use statements::Statements;
pub use value::Value;
pub(crate) use value::as_float;

use crate::verdict::Judging;

use std::path::{Path, PathBuf};
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
    /// When a result is right; unused where a test program asserts.
    pub judging: Judging,
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
    /// A function, method or class that a driver of ours calls; a test case is a call, or a list of calls on one
    /// object.
    Calls(Calls),
}

/// Problems whose cases are arguments and results.
#[derive(Clone, Debug)]
pub struct Calls {
    /// What is called.
    pub target: Target,
    /// Source that a `completion` continues.
    pub prompt: String,
    /// Source that stands before every answer: the imports that the site provides.
    pub preface: String,
    /// C++ source with the signature, and in comments the definitions of nodes; without it the answers tell theirs.
    pub template: Option<String>,
    /// The cases, in order.
    pub cases: Vec<Call>,
    /// Makes further cases.
    pub generator: Option<Generator>,
}

/// A program that makes cases.
#[derive(Clone, Debug)]
pub struct Generator {
    /// Python that prints the arguments of a case on each line.
    pub source: String,
    /// Names of the cases, in the order of the lines. Lines beyond them are numbered.
    pub names: Vec<String>,
}

/// A case: arguments and the result.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name for messages.
    pub name: String,
    /// The arguments on one line. For Python an expression that gives a list or tuple of them; for C++ a JSON array.
    pub arguments: Arc<str>,
    /// What is right; `None` until a reference solution or the agreement of candidates has told.
    pub expected: Option<Expected>,
}

/// The right answers to a case, and who says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// At least one; any of them is right.
    pub answers: Vec<Value>,
    /// Where they come from.
    pub source: ExpectedSource,
}

/// Where an expected result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum ExpectedSource {
    /// The file of the data set.
    DataSet,
    /// The data set's own solution, run in the simulator.
    Reference,
    /// What most candidates gave.
    Agreement {
        /// How many candidates gave it.
        agreeing: usize,
        /// How many gave a result.
        of: usize,
    },
}

impl Calls {
    /// Standard input of the driver: the number of cases, then the arguments of each on a line.
    pub fn input(&self) -> Vec<u8> {
        let mut text = format!("{}\n", self.cases.len());
        for case in &self.cases {
            text.push_str(&case.arguments);
            text.push('\n');
        }
        text.into_bytes()
    }

    /// Whether expected results are still to be found.
    pub fn is_incomplete(&self) -> bool {
        self.generator.is_some() || self.cases.iter().any(|case| case.expected.is_none())
    }
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
    /// Other outputs that are right too.
    pub alternatives: Vec<Arc<[u8]>>,
}

/// The data sets that can be read.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum DatasetForm {
    /// HumanEval's JSON lines: Python functions.
    Humaneval,
    /// HumanEval+: the same with many inputs.
    HumanevalPlus,
    /// HumanEval-X's JSON lines for C++: C++ functions.
    HumanevalX,
    /// MBPP, sanitized or not: Python functions.
    Mbpp,
    /// MBPP+: Python functions with many inputs.
    MbppPlus,
    /// MultiPL-E for C++: C++ functions.
    MultiplE,
    /// LeetCodeEval: classes in C++ or Python, with the examples of the description.
    #[serde(rename = "leetcodeeval")]
    LeetcodeEval,
    /// LeetCodeDataset: classes in C++ or Python, with tests.
    LeetcodeDataset,
    /// COFFE, function level: Python functions with stressful inputs.
    CoffeFunction,
    /// ENAMEL: Python functions with generators of large inputs.
    Enamel,
    /// Programs with inputs and outputs: folders or JSON lines.
    Stdio,
    /// A plain form for functions and classes that are called.
    Calls,
}

impl DatasetForm {
    /// Every data set, in the order in which help lists them.
    pub const ALL: [Self; 12] = [
        Self::Humaneval,
        Self::HumanevalPlus,
        Self::HumanevalX,
        Self::Mbpp,
        Self::MbppPlus,
        Self::MultiplE,
        Self::LeetcodeEval,
        Self::LeetcodeDataset,
        Self::CoffeFunction,
        Self::Enamel,
        Self::Stdio,
        Self::Calls,
    ];

    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Humaneval => "humaneval",
            Self::HumanevalPlus => "humaneval-plus",
            Self::HumanevalX => "humaneval-x",
            Self::Mbpp => "mbpp",
            Self::MbppPlus => "mbpp-plus",
            Self::MultiplE => "multipl-e",
            Self::LeetcodeEval => "leetcodeeval",
            Self::LeetcodeDataset => "leetcode-dataset",
            Self::CoffeFunction => "coffe-function",
            Self::Enamel => "enamel",
            Self::Stdio => "stdio",
            Self::Calls => "calls",
        }
    }
}

impl std::str::FromStr for DatasetForm {
    type Err = String;

    /// Errors name the data sets that exist.
    fn from_str(name: &str) -> Result<Self, String> {
        (Self::ALL.into_iter().find(|form| form.name() == name)).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join("`, `");
            format!("unknown data set form `{name}`; it is one of `{names}`")
        })
    }
}

/// What was read, in the order of the file (of the names' numeric order, for folders).
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The problems that can be used.
    pub problems: Vec<Problem>,
    /// Problems and lines that were left out, and why.
    pub skipped: Vec<Defect>,
    /// Cases of usable problems that were left out, and why.
    pub left_out: Vec<Defect>,
    /// What was read of the bounds that statements set the inputs.
    pub bounds: BoundsRead,
}

/// How much of the bounds in statements was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoundsRead {
    /// Problems with a statement.
    pub problems: usize,
    /// Lines that are looked at for every case.
    pub lines: usize,
    /// Lines that say what is not understood; every case is taken as keeping them.
    pub unread: usize,
}

impl BoundsRead {
    fn add(&mut self, bounds: &bounds::Bounds) {
        let (lines, unread) = bounds.counts();
        self.problems += 1;
        self.lines += lines;
        self.unread += unread;
    }
}

/// Reads a data set from a path as users hold it, `.gz` accepted; see [`load_all`].
///
/// # Errors
/// The path cannot be read, or holds no problem at all.
pub fn load(form: DatasetForm, path: &Path, language: Language) -> Result<Loaded, Defect> {
    load_all(form, &[path.to_owned()], language)
}

/// Reads a data set from the files that its users hold, `.gz` accepted. A folder stands for its files.
///
/// `language` is that of the candidates where the files do not tell (stdio problems) or serve several (LeetCode).
///
/// # Errors
/// A path cannot be read, or there is no problem at all.
pub fn load_all(
    form: DatasetForm,
    paths: &[PathBuf],
    language: Language,
) -> Result<Loaded, Defect> {
    load_with(form, paths, language, &Statements::default())
}

/// The same with statements of problems, whose bounds leave tests out.
///
/// # Errors
/// As for [`load_all`].
pub fn load_with(
    form: DatasetForm,
    paths: &[PathBuf],
    language: Language,
    statements: &Statements,
) -> Result<Loaded, Defect> {
    let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
    if form == DatasetForm::Stdio && paths.len() == 1 && first.is_dir() {
        return stdio::load_folder(first, language).and_then(|loaded| some_problem(first, loaded));
    }
    let files = files_of(paths)?;
    let loaded = match form {
        DatasetForm::HumanevalPlus | DatasetForm::MbppPlus => plus::load(&files)?,
        DatasetForm::CoffeFunction => coffe::load(&files)?,
        _ => {
            let mut collector = Collector::default();
            for path in &files {
                let file = path.display().to_string();
                let bytes = json_lines::read(path)?;
                let loaded = parse_with(form, &file, &bytes, language, statements);
                collector.loaded.skipped.extend(loaded.skipped);
                collector.loaded.left_out.extend(loaded.left_out);
                let read = &mut collector.loaded.bounds;
                read.problems += loaded.bounds.problems;
                read.lines += loaded.bounds.lines;
                read.unread += loaded.bounds.unread;
                for problem in loaded.problems {
                    collector.add(&file, file.clone(), Ok(problem));
                }
            }
            collector.loaded
        }
    };
    some_problem(first, loaded)
}

/// The files, with folders replaced by the files in them.
fn files_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Defect> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let names = stdio::entries(path)?;
            let inside = names.iter().map(|name| path.join(name));
            files.extend(inside.filter(|path| path.is_file()));
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// Reads a data set from the bytes of one file; `file` is its name in messages. A data set that lies in several files
/// needs [`load_all`].
pub fn parse(form: DatasetForm, file: &str, bytes: &[u8], language: Language) -> Loaded {
    parse_with(form, file, bytes, language, &Statements::default())
}

fn parse_with(
    form: DatasetForm,
    file: &str,
    bytes: &[u8],
    language: Language,
    statements: &Statements,
) -> Loaded {
    match form {
        DatasetForm::Humaneval => humaneval::parse(file, bytes),
        DatasetForm::HumanevalPlus | DatasetForm::MbppPlus => {
            plus::parse(&[(file.to_owned(), bytes.to_vec())])
        }
        DatasetForm::HumanevalX => humaneval_x::parse(file, bytes),
        DatasetForm::Mbpp => mbpp::parse(file, bytes),
        DatasetForm::MultiplE => multipl_e::parse(file, bytes),
        DatasetForm::LeetcodeEval => leetcode_eval::parse(file, bytes, language),
        DatasetForm::LeetcodeDataset => leetcode_dataset::parse(file, bytes, language, statements),
        DatasetForm::CoffeFunction => Loaded {
            skipped: vec![Defect::of_file(
                file,
                "is one of several files that belong together",
                "name all of them",
            )],
            ..Loaded::default()
        },
        DatasetForm::Enamel => enamel::parse(file, bytes),
        DatasetForm::Stdio => stdio::parse(file, bytes, language),
        DatasetForm::Calls => calls::parse(file, bytes, language),
    }
}

/// A data set without a single usable problem is an error, and its first defect is the likely reason.
fn some_problem(path: &Path, loaded: Loaded) -> Result<Loaded, Defect> {
    if !loaded.problems.is_empty() {
        return Ok(loaded);
    }
    Err(loaded.skipped.into_iter().next().unwrap_or_else(|| {
        Defect::of_file(
            path.display(),
            "holds no problem",
            "check the path and the form of the data set (`--dataset`)",
        )
    }))
}

/// Adds problems one by one, leaving out those whose id was already there.
#[derive(Debug, Default)]
struct Collector {
    loaded: Loaded,
    places: std::collections::BTreeMap<String, String>,
}

impl Collector {
    /// The problems of the records, each read by `problem`.
    fn read<'a>(
        file: &str,
        records: impl Iterator<Item = Result<json_lines::Record<'a>, Defect>>,
        mut problem: impl FnMut(&json_lines::Record<'a>) -> Result<Problem, Defect>,
    ) -> Loaded {
        let mut collector = Self::default();
        for read in records {
            let place = (read.as_ref()).map_or(String::new(), |r| format!("line {}", r.line));
            collector.add(file, place, read.and_then(|record| problem(&record)));
        }
        collector.loaded
    }

    /// Takes the outcome of reading one problem at `place`.
    fn add(&mut self, file: &str, place: String, read: Result<Problem, Defect>) {
        let problem = match read {
            Ok(problem) => problem,
            Err(defect) => return self.loaded.skipped.push(defect),
        };
        if let Some(first) = self.places.get(&problem.id) {
            let reason = format!("the id stands already at {first}");
            let remedy = "give each problem its own id; the first one is used";
            let mut defect = Defect::of_file(file, reason, remedy).of_problem(&problem.id);
            defect.line = place
                .strip_prefix("line ")
                .and_then(|line| line.parse().ok());
            return self.loaded.skipped.push(defect);
        }
        self.places.insert(problem.id.clone(), place);
        self.loaded.problems.push(problem);
    }
}
