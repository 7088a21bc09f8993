//! `tickmark evaluate` and `tickmark demo`.
use super::args::{BackendChoice, CandidateArgs, DemoArgs, EvaluateArgs, cache_folder};
use super::error::CliError;
use super::progress::Told;
use super::run::{mebibytes, not_for_native, verification_status};
use super::{Status, machines, print_data};
use crate::artifact::{BuildOptions, Linking, Toolchain, ToolchainOptions};
use crate::backend::Backend;
use crate::backend::gem5::{self, Gem5};
use crate::backend::native::Native;
use crate::backend::sim::{Options, Sim};
use crate::backend::verified::Verified;
use crate::candidate::{Answer, import};
use crate::dataset::{self, DatasetForm, Defect, Language, Loaded, Problem};
use crate::evaluation::{
    Authority, BackendRunner, Completion, EvaluationResult, Journal, Model, Observer, Plan,
    Programs, demo_plans, evaluate_onto, sources,
};
use crate::report;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Instruction limit of the demo: ten times what its slowest answer needs.
const DEMO_INSTRUCTIONS: u64 = 500_000_000;

impl From<Defect> for CliError {
    fn from(defect: Defect) -> Self {
        Self::usage(defect.to_string(), String::new())
    }
}

pub(super) fn evaluate(args: EvaluateArgs) -> Result<Status, CliError> {
    let form = dataset_form(&args.dataset)?;
    let language = language(&args.language)?;
    let loaded = dataset::load_all(form, &args.problems, language)?;
    tell_defects(&loaded.skipped);
    tell_defects(&loaded.left_out);
    let mut models = Vec::new();
    for text in &args.samples {
        models.push(model(text, &loaded.problems)?);
    }
    for (index, model) in models.iter().enumerate() {
        if models[..index].iter().any(|other| other.name == model.name) {
            return Err(CliError::usage(
                format!("two models are called `{}`", model.name),
                "give each `--samples` a NAME of its own",
            ));
        }
    }
    let authority = authority(&args.expected, &models)?;
    let (result, failure) = run(
        loaded,
        &authority,
        models,
        &args.candidates,
        args.candidates.out.as_deref(),
    )?;
    show(&[(form.name(), result)], failure, &args.candidates)
}

/// The data set of this name.
pub(super) fn dataset_form(name: &str) -> Result<DatasetForm, CliError> {
    name.parse()
        .map_err(|error: String| CliError::usage(error, ""))
}

/// The language of this name.
pub(super) fn language(name: &str) -> Result<Language, CliError> {
    match name {
        "cpp" => Ok(Language::Cpp),
        "python" => Ok(Language::Python),
        other => Err(CliError::usage(
            format!("unknown language `{other}`"),
            "it is one of `cpp` and `python`",
        )),
    }
}

/// Who tells what is right where the files do not.
fn authority(name: &str, models: &[Model]) -> Result<Authority, CliError> {
    match name {
        "reference" => Ok(Authority::Reference),
        "agreement" => {
            let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
            for model in models {
                for (id, given) in &model.answers {
                    let known = answers.entry(id.clone()).or_default();
                    known.extend(given.first().cloned());
                }
            }
            Ok(Authority::Agreement(answers))
        }
        other => Err(CliError::usage(
            format!("`--expected {other}` is unknown"),
            "it is one of `reference` and `agreement`",
        )),
    }
}

/// The model of one `--samples`.
pub(super) fn model(text: &str, problems: &[Problem]) -> Result<Model, CliError> {
    let Some((name, file)) = text.split_once('=') else {
        if text == "canonical" {
            return canonical(problems);
        }
        return Err(CliError::usage(
            format!("`--samples {text}` names no file"),
            "write it as NAME=FILE, or `canonical` for the data set's own solutions",
        ));
    };
    if name.is_empty() {
        return Err(CliError::usage(
            format!("`--samples {text}` names no model"),
            "write it as NAME=FILE",
        ));
    }
    let imported = import(Path::new(file), problems, name)?;
    tell_defects(&imported.refused);
    if !imported.unknown_tasks.is_empty() {
        let samples: usize = imported.unknown_tasks.values().sum();
        let first: Vec<_> = imported
            .unknown_tasks
            .keys()
            .take(3)
            .map(String::as_str)
            .collect();
        eprintln!(
            "warning: {file}: {samples} samples are of tasks that the data set does not have ({}{}): they are left out",
            first.join(", "),
            if imported.unknown_tasks.len() > 3 {
                ", ..."
            } else {
                ""
            }
        );
    }
    Ok(Model {
        name: name.to_owned(),
        answers: imported.answers,
    })
}

fn canonical(problems: &[Problem]) -> Result<Model, CliError> {
    let answers: BTreeMap<_, _> = problems
        .iter()
        .filter_map(|problem| {
            let solution = problem.canonical.clone()?;
            Some((problem.id.clone(), vec![Answer::Completion(solution)]))
        })
        .collect();
    if answers.is_empty() {
        return Err(CliError::usage(
            "the data set has no solutions of its own",
            "give samples as NAME=FILE",
        ));
    }
    Ok(Model {
        name: "canonical".to_owned(),
        answers,
    })
}

pub(super) fn tell_defects(defects: &[Defect]) {
    const SHOWN: usize = 20;
    for defect in defects.iter().take(SHOWN) {
        eprintln!("warning: {defect}");
    }
    if defects.len() > SHOWN {
        eprintln!("warning: and {} more of the kind", defects.len() - SHOWN);
    }
}

/// Carries out an evaluation; the status is the exit code for the case that rows are missing.
fn run(
    loaded: Loaded,
    authority: &Authority,
    models: Vec<Model>,
    args: &CandidateArgs,
    out: Option<&Path>,
) -> Result<(EvaluationResult, Status), CliError> {
    let machine = machines::resolve(&args.machine)?;
    if args.k.contains(&0) {
        return Err(CliError::usage(
            "`--k 0` is out of range",
            "give numbers of samples from 1 on",
        ));
    }
    let usage = |error: String| CliError::usage(error, String::new());
    let mut options = BuildOptions {
        optimisation: args.optimisation.parse().map_err(usage)?,
        linking: if args.dynamic {
            Linking::DynamicPie
        } else {
            Linking::Static
        },
        isa: args.isa.parse().map_err(usage)?,
        ..BuildOptions::default()
    };
    options.limits.memory_bytes = mebibytes(args.compile_memory, "compile-memory")?;
    options.limits.cpu = Duration::from_secs(args.compile_cpu);
    let toolchain = Toolchain::new(ToolchainOptions {
        compiler: args.compiler.clone(),
        python: args.python.clone(),
        cache: Some(cache_folder()),
    });
    let limits = args.limits.limits()?;
    let programs = Programs::new(&toolchain, &cache_folder())?;
    let completion = Completion::new(&programs, Some(cache_folder().join("expected")));
    let (loaded, left_out) = completion.complete(loaded, authority);
    tell_defects(&left_out);
    let language = loaded
        .problems
        .first()
        .map_or(Language::Cpp, |problem| problem.language);
    let mut provenance = Map::new();
    provenance.insert("tickmark".to_owned(), env!("CARGO_PKG_VERSION").into());
    provenance.insert(
        "toolchain".to_owned(),
        toolchain.identity(language, &options)?.to_string().into(),
    );
    provenance.insert("build_options".to_owned(), format!("{options:?}").into());
    provenance.insert("limits".to_owned(), json!(limits));
    let sources = sources(&loaded.problems);
    if !sources.is_empty() {
        provenance.insert("expected_results".to_owned(), json!(sources));
    }
    let mut plan = Plan {
        problems: loaded.problems,
        skipped: loaded.skipped,
        models,
        ks: args.k.clone(),
        threads: args.threads,
        provenance,
    };
    match args.backend {
        BackendChoice::Sim => {
            let sim = Sim::new(Options {
                snapshots: !args.no_snapshot,
                seed: args.seed,
                wall_clock: Duration::from_secs(args.limits.max_wall),
                cache: cache_folder(),
                roots: Vec::new(),
                machine: machine.clone(),
            });
            let settings = format!("{} {}", machine.hash(), args.seed);
            plan.provenance
                .insert("machine".to_owned(), machine.effective());
            plan.provenance.insert("seed".to_owned(), args.seed.into());
            if args.verify_determinism {
                let verified = Verified::new(&sim);
                // A key of its own: what an earlier evaluation found has not been verified.
                let settings = format!("{settings} verified");
                plan.provenance
                    .insert("determinism_verified".to_owned(), true.into());
                let runner = BackendRunner::new(
                    &verified, &toolchain, &options, language, limits, &programs, &settings,
                )?;
                let result = carry_out(&plan, &runner, &verified, out)?;
                return Ok((result, verification_status(&verified)));
            }
            let runner = BackendRunner::new(
                &sim, &toolchain, &options, language, limits, &programs, &settings,
            )?;
            carry_out(&plan, &runner, &sim, out).map(unverified)
        }
        BackendChoice::Native | BackendChoice::Gem5 if args.verify_determinism => {
            Err(not_for_native())
        }
        BackendChoice::Native => {
            let native = Native::new(Duration::from_secs(args.max_cpu));
            let settings = format!("cpu {}", args.max_cpu);
            let runner = BackendRunner::new(
                &native, &toolchain, &options, language, limits, &programs, &settings,
            )?;
            let result = carry_out(&plan, &runner, &native, out);
            let missing = native.not_applied();
            if !missing.is_empty() {
                eprintln!("warning: this system did not grant: {}", missing.join(", "));
            }
            result.map(unverified)
        }
        BackendChoice::Gem5 => {
            let gem5 = Gem5::new(gem5::Options {
                machine: machine.clone(),
                executable: args.gem5.gem5.clone(),
                wall_clock: Duration::from_secs(args.limits.max_wall),
                seed: args.seed,
                keep: None,
                frozen: args.gem5_frozen.clone(),
            })?;
            super::gem5::tell(&gem5);
            plan.provenance
                .insert("machine".to_owned(), machine.effective());
            plan.provenance.insert("seed".to_owned(), args.seed.into());
            plan.provenance
                .insert("gem5".to_owned(), super::gem5::provenance(&gem5));
            let settings = gem5.identity();
            let runner = BackendRunner::new(
                &gem5, &toolchain, &options, language, limits, &programs, &settings,
            )?;
            let result = carry_out(&plan, &runner, &gem5, out);
            super::gem5::tell_not_applied(&gem5);
            result.map(unverified)
        }
    }
}

/// A result whose missing rows are failures like any other.
fn unverified(result: EvaluationResult) -> (EvaluationResult, Status) {
    (result, Status::Failure)
}

fn carry_out<B: Backend>(
    plan: &Plan,
    runner: &BackendRunner<'_, B>,
    backend: &B,
    out: Option<&Path>,
) -> Result<EvaluationResult, CliError> {
    let mut plan = plan.clone();
    plan.provenance
        .insert("backend".to_owned(), json!(backend.name()));
    let told = Told::new();
    let observer: &dyn Observer = &told;
    let Some(folder) = out else {
        return Ok(evaluate_onto(&plan, BTreeMap::new(), runner, observer));
    };
    let failed = |error: crate::evaluation::JournalError| CliError {
        message: error.to_string(),
        hint: "choose a folder that can be written with `--out`".to_owned(),
        status: Status::Failure,
    };
    let (journal, earlier) = Journal::open(folder).map_err(failed)?;
    for note in journal.notes() {
        eprintln!("note: {note}");
    }
    if !earlier.is_empty() {
        eprintln!(
            "note: {} results are there from an earlier evaluation",
            earlier.len()
        );
    }
    let result = evaluate_onto(&plan, earlier, runner, &journal.observer(observer));
    let path = journal.finish(&result).map_err(failed)?;
    eprintln!("results are in {}", path.display());
    Ok(result)
}

/// Prints the results; `failure` is the exit code if rows are missing.
fn show(
    results: &[(&str, EvaluationResult)],
    failure: Status,
    args: &CandidateArgs,
) -> Result<Status, CliError> {
    let mut failures = 0;
    for (name, result) in results {
        if args.json {
            print_data(result.to_json_lines())?;
        } else {
            let table = result.summary.to_table();
            if results.len() > 1 {
                print_data(format!("{name}\n"))?;
            }
            print_data(if args.markdown {
                report::to_markdown(&table)
            } else {
                report::to_text(&table)
            })?;
        }
        failures += result.failures_of_ours();
        for row in result
            .rows
            .iter()
            .filter(|row| row.verdict.is_failure_of_ours())
            .take(10)
        {
            let verdict = serde_json::to_value(&row.verdict).unwrap_or(Value::Null);
            eprintln!(
                "failure: {} {} sample {}: {verdict}",
                row.problem, row.model, row.sample
            );
        }
    }
    if failures > 0 {
        eprintln!(
            "warning: {failures} samples have no result because of failures that are not theirs"
        );
        return Ok(failure);
    }
    Ok(Status::Success)
}

pub(super) fn demo(mut args: DemoArgs) -> Result<Status, CliError> {
    // One of the answers loops for ever: at the default limit it would take minutes to say so.
    let limits = &mut args.candidates.limits;
    limits.max_instructions = limits.max_instructions.min(DEMO_INSTRUCTIONS);
    let mut results = Vec::new();
    let mut failure = Status::Failure;
    for (title, plan) in demo_plans() {
        let loaded = Loaded {
            problems: plan.problems,
            skipped: plan.skipped,
            ..Loaded::default()
        };
        let out = args.candidates.out.as_ref().map(|out| out.join(title));
        let (result, status) = run(
            loaded,
            &Authority::Reference,
            plan.models,
            &args.candidates,
            out.as_deref(),
        )?;
        if status == Status::NotDeterministic {
            failure = status;
        }
        results.push((title, result));
    }
    show(&results, failure, &args.candidates)
}
