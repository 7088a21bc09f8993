//! Plan files: a study as a file, so that one command re-creates it.
//!
//! `[options]` holds options of `tickmark evaluate` by their long names; a plan is thus as able as the command line, and
//! options of the command line win. `[lock]` is written by `--lock` and stands last.
use super::args::{Cli, Command, EvaluateArgs};
use super::error::CliError;
use super::preset;
use crate::artifact::ContentHash;
use clap::parser::ValueSource;
use clap::{CommandFactory, Parser};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A plan file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PlanFile {
    /// Name of the study.
    pub(super) name: String,
    /// Options as a published study has them.
    #[serde(default)]
    pub(super) preset: Option<String>,
    /// The data set.
    pub(super) data: DataSection,
    /// The models.
    pub(super) samples: Vec<SamplesSection>,
    /// Options of the command by their long names.
    #[serde(default)]
    pub(super) options: toml::Table,
    /// Hashes of everything that decides results.
    #[serde(default)]
    pub(super) lock: Option<BTreeMap<String, String>>,
    /// Where the file is.
    #[serde(skip)]
    pub(super) path: PathBuf,
    /// Where its paths start.
    #[serde(skip)]
    pub(super) root: PathBuf,
}

/// The data set of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DataSection {
    /// Its form, as for `--dataset`.
    pub(super) dataset: String,
    /// Its file or folder, or several.
    problems: Paths,
    /// Statements of the problems, as for `--statements`.
    #[serde(default)]
    statements: Option<Paths>,
}

/// One path, or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Paths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl DataSection {
    /// Its files or folders.
    pub(super) fn problems(&self) -> impl Iterator<Item = &PathBuf> {
        self.problems.iter()
    }

    /// The files or folders that have the statements.
    pub(super) fn statements(&self) -> impl Iterator<Item = &PathBuf> {
        self.statements.iter().flat_map(Paths::iter)
    }
}

impl Paths {
    fn iter(&self) -> std::slice::Iter<'_, PathBuf> {
        match self {
            Self::One(path) => std::slice::from_ref(path).iter(),
            Self::Several(paths) => paths.iter(),
        }
    }
}

/// A model of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SamplesSection {
    /// Its name; `canonical` without a file stands for the data set's own solutions.
    pub(super) name: String,
    /// Its samples: a file, or a folder with a folder for each problem.
    #[serde(default)]
    pub(super) file: Option<PathBuf>,
    /// In a folder: only files whose names contain this.
    #[serde(default)]
    pub(super) containing: Option<String>,
    /// Only the first samples of each problem.
    #[serde(default)]
    pub(super) first: Option<usize>,
    /// The model whose answers these were to improve.
    #[serde(default)]
    pub(super) base: Option<String>,
}

impl PlanFile {
    /// Reads a plan; its paths start from `data`, or from its own folder.
    pub(super) fn read(path: &Path, data: Option<&Path>) -> Result<Self, CliError> {
        let refused = |reason: String, remedy: &str| {
            CliError::usage(
                format!("the plan `{}`: {reason}", path.display()),
                remedy.to_owned(),
            )
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| refused(format!("cannot read it: {error}"), "check the path"))?;
        let mut plan: Self = toml::from_str(&text).map_err(|error| {
            refused(
                error.to_string().trim_end().to_owned(),
                "docs/store.md describes plan files",
            )
        })?;
        let own = path.parent().unwrap_or(Path::new("")).to_owned();
        plan.root = data.map_or(own, Path::to_owned);
        plan.path = path.into();
        for (index, samples) in plan.samples.iter().enumerate() {
            if samples.file.is_none() && samples.name != "canonical" {
                return Err(refused(
                    format!("the samples of `{}` name no file", samples.name),
                    "give `file`, or call them `canonical` for the data set's own solutions",
                ));
            }
            if plan.samples[..index]
                .iter()
                .any(|other| other.name == samples.name)
            {
                return Err(refused(
                    format!("two models are called `{}`", samples.name),
                    "give each a name of its own",
                ));
            }
        }
        Ok(plan)
    }

    /// A path of the plan on this host.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    /// The files of the plan with their hashes, by their paths as the plan names them.
    pub(super) fn file_hashes(&self) -> Result<BTreeMap<String, String>, CliError> {
        let mut hashes = BTreeMap::new();
        let files = self
            .samples
            .iter()
            .filter_map(|samples| samples.file.as_ref());
        for file in (self.data.problems().chain(self.data.statements())).chain(files) {
            let name = format!("data {}", file.display());
            if let Entry::Vacant(entry) = hashes.entry(name) {
                entry.insert(hash_tree(&self.resolve(file))?);
            }
        }
        Ok(hashes)
    }

    /// Compares the lock with what is found. Data and machines must be the same; another toolchain or version is told,
    /// since it is the host's and results name it, and so is what stands on one side only, as where the command line
    /// names another machine.
    pub(super) fn check_lock(
        &self,
        found: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, CliError> {
        let Some(lock) = &self.lock else {
            return Ok(Vec::new());
        };
        let mut notes = Vec::new();
        for name in found.keys().filter(|name| !lock.contains_key(*name)) {
            notes.push(format!(
                "the lock of the plan has no `{name}`, which is used now: these are not the results of the study"
            ));
        }
        for (name, locked) in lock {
            let Some(now) = found.get(name) else {
                notes.push(format!(
                    "the plan is locked to `{name}`, which is not used now: these are not all results of the study"
                ));
                continue;
            };
            if now == locked {
                continue;
            }
            if name.starts_with("data ") || name.starts_with("machine ") {
                return Err(CliError::usage(
                    format!(
                        "the plan `{}` is locked to another `{name}`: {locked}, found {now}",
                        self.path.display()
                    ),
                    "use the file that the study used, or write a new lock with `--lock`",
                ));
            }
            notes.push(format!(
                "the plan is locked to another {name}, so results may differ from those of the study: {locked}, found {now}"
            ));
        }
        Ok(notes)
    }

    /// Writes the lock section, in place of an earlier one.
    pub(super) fn write_lock(&self, found: &BTreeMap<String, String>) -> Result<(), CliError> {
        let failed = |error: std::io::Error| {
            CliError::usage(
                format!("cannot write the plan `{}`: {error}", self.path.display()),
                "check path and permissions",
            )
        };
        let text = std::fs::read_to_string(&self.path).map_err(failed)?;
        let mut kept = String::new();
        for line in text.lines().take_while(|line| line.trim() != "[lock]") {
            kept.push_str(line);
            kept.push('\n');
        }
        let mut new = format!("{}\n\n[lock]\n", kept.trim_end());
        for (name, hash) in found {
            let name = toml::Value::String(name.clone());
            let hash = toml::Value::String(hash.clone());
            let _ = writeln!(new, "{name} = {hash}");
        }
        std::fs::write(&self.path, new).map_err(failed)
    }
}

/// The hash of a file, or of all files below a folder with their names.
fn hash_tree(path: &Path) -> Result<String, CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::usage(
            format!("cannot read `{}`: {error}", path.display()),
            "check the paths of the plan; `--data` says where they start",
        )
    };
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    if path.is_file() {
        return Ok(ContentHash::of_file(path).map_err(unreadable)?.to_string());
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?.path();
            if entry.is_dir() {
                folders.push(entry);
            } else {
                files.push(entry);
            }
        }
    }
    files.sort();
    let mut parts = Vec::new();
    for file in files {
        let name = file.strip_prefix(path).unwrap_or(&file);
        parts.push(name.to_string_lossy().into_owned());
        parts.push(ContentHash::of_file(&file).map_err(unreadable)?.to_string());
    }
    Ok(ContentHash::of_parts(parts).to_string())
}

/// The arguments of the command with the options of plan and preset that it does not give itself.
pub(super) fn completed(
    args: EvaluateArgs,
    given: &[OsString],
    plan: Option<&PlanFile>,
) -> Result<EvaluateArgs, CliError> {
    let mut options: Vec<(String, Vec<String>)> = Vec::new();
    if let Some(plan) = plan {
        for (name, value) in &plan.options {
            options.push((name.clone(), texts(plan, name, value)?));
        }
    }
    let preset = args
        .preset
        .as_deref()
        .or(plan.and_then(|plan| plan.preset.as_deref()));
    if let Some(preset) = preset {
        for (name, values) in preset::options(preset)? {
            if options.iter().all(|(other, _)| other != name) {
                options.push((
                    (*name).into(),
                    values.iter().map(ToString::to_string).collect(),
                ));
            }
        }
    }
    if options.is_empty() {
        return Ok(args);
    }
    let command = Cli::command();
    let matches = command
        .clone()
        .try_get_matches_from(given)
        .map_err(|error| CliError::usage(error.to_string(), ""))?;
    let given_here = matches.subcommand_matches("evaluate");
    let known = command
        .find_subcommand("evaluate")
        .map(|evaluate| evaluate.get_arguments().collect::<Vec<_>>())
        .unwrap_or_default();
    let mut arguments: Vec<OsString> = given.to_vec();
    for (name, values) in options {
        if name == "run-untrusted" {
            return Err(CliError::usage(
                "a plan cannot allow native runs of candidates: that is the choice of whose host it is",
                "take `run-untrusted` out of the plan and give it on the command line",
            ));
        }
        let argument = known.iter().find(|argument| {
            argument.get_long() == Some(&name)
                && !["plan", "data", "lock", "samples"].contains(&name.as_str())
        });
        let Some(argument) = argument else {
            return Err(CliError::usage(
                format!("the plan has an option `{name}`, which `tickmark evaluate` does not have"),
                "`tickmark evaluate --help` lists the options",
            ));
        };
        let source =
            given_here.and_then(|matches| matches.value_source(argument.get_id().as_str()));
        if source == Some(ValueSource::CommandLine) {
            continue;
        }
        if !argument.get_action().takes_values() {
            if values == ["true"] {
                arguments.push(format!("--{name}").into());
            }
            continue;
        }
        for value in values {
            arguments.push(format!("--{name}={value}").into());
        }
    }
    match Cli::try_parse_from(arguments) {
        Ok(Cli {
            command: Command::Evaluate(args),
        }) => Ok(*args),
        Ok(_) => Err(CliError::usage("the plan changes the command", "")),
        Err(error) => Err(CliError::usage(
            format!(
                "an option of the plan is refused: {}",
                error.to_string().trim()
            ),
            "docs/store.md describes plan files",
        )),
    }
}

fn texts(plan: &PlanFile, name: &str, value: &toml::Value) -> Result<Vec<String>, CliError> {
    let one = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    };
    let list = match value {
        toml::Value::Array(values) => values.iter().map(one).collect(),
        value => one(value).map(|text| vec![text]),
    };
    list.ok_or_else(|| {
        CliError::usage(
            format!(
                "the plan `{}`: option `{name}` has no usable value",
                plan.path.display()
            ),
            "give a text, a number, true, or a list of them",
        )
    })
}
