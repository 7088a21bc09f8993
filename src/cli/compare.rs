//! `tickmark compare` and `tickmark agree`.
use super::args::{
    AgreeArgs, BackendChoice, CompareArgs, EntrantArgs, MetricChoice, ProgressChoice, cache_folder,
};
use super::error::CliError;
use super::progress::{Pace, expected_results};
use super::{Status, evaluate, machines, print_data};
use crate::artifact::{
    Artifact, BuildFailure, BuildOptions, ElfArtifact, Toolchain, build, existing,
};
use crate::backend::Backend;
use crate::backend::native::{Native, host_settings};
use crate::backend::sim::{Options, Sim};
use crate::candidate::{Candidate, assemble};
use crate::compare::{
    Aggregate, AgreementPair, Decision, Entrant, EntrantRuns, Outcome, Overall, Protocol, Quantity,
    Rules, Task, agree as agreement, decide, exact, overall, run_interleaved,
};
use crate::dataset::{self, DatasetForm, Form, Language, Problem, TestCase};
use crate::evaluation::{Authority, Completion, Model, Programs};
use crate::measurement::BackendFailure;
use crate::report::{self, Cell, Table, number};
use crate::sim::machine::{Kind, Machine, catalog};
use crate::sim::outcome::{Exit, Limits};
use crate::stats::{median, quantile};
use crate::verdict::{Judging, Verdict};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Version of the JSON objects that both commands print; docs/formats.md describes them.
const SCHEMA_VERSION: u32 = 1;
/// Timed runs natively where nothing else is asked for.
pub(super) const REPETITIONS: usize = 30;

/// Everything that both commands make of their arguments before they run anything.
pub(super) struct Setup {
    pub(super) tasks: Vec<Task>,
    pub(super) names: Vec<String>,
    limits: Limits,
    toolchain: Toolchain,
}

pub(super) fn compare(args: &CompareArgs) -> Result<Status, CliError> {
    if args.backend == BackendChoice::Gem5 {
        return Err(CliError::usage(
            "`compare` takes its runs from the simulator or the host, not from gem5",
            "compare with `--backend sim` on the machine that follows gem5, or put two samples into `tickmark evaluate \
             --backend gem5`",
        ));
    }
    let natively = args.backend == BackendChoice::Native;
    let machine = machines::resolve(&args.entrants.machine)?;
    let rules = Rules {
        // Below, its complement is no longer a level of an interval.
        level: range("level", args.level, 1e-6, 0.5)?,
        equal_within: range("equal-within", args.equal_within, 0.0, 100.0)? / 100.0,
    };
    let setup = setup(&args.entrants, natively)?;
    let protocol = protocol(
        &args.entrants,
        args.metric,
        natively,
        machine.kind() != Kind::Atomic,
        REPETITIONS,
    )?;
    let (runs, mut notes) = if natively {
        natively_run(&args.entrants, &setup, &protocol)?
    } else {
        (
            simulate(&args.entrants, machine.clone(), &setup, &protocol)?,
            Vec::new(),
        )
    };
    let mut rows = Vec::new();
    for (task, runs) in setup.tasks.iter().zip(&runs) {
        for second in 1..runs.len() {
            let decision = decision(&runs[0], &runs[second], natively, &rules)?;
            rows.push((task.problem.id.as_str(), &runs[0], &runs[second], decision));
        }
    }
    if natively {
        notes.push(noise_floor(&runs));
        let unresolved = runs.iter().flatten().filter(|runs| runs.unresolved).count();
        if unresolved > 0 {
            notes.push(format!(
                "{unresolved} entrants of tasks have no times: their calls together take less than twice what as many \
                 empty ones take on this host's clock; give them larger inputs, or compare in the simulator"
            ));
        }
        let rounds = i32::try_from(protocol.repetitions).unwrap_or(i32::MAX);
        let least = 2.0 * 0.5_f64.powi(rounds);
        if least > rules.level {
            notes.push(format!(
                "{rounds} rounds cannot decide: the least p-value that they can have is {}; give more `--repetitions`",
                number::p_value(least)
            ));
        }
    } else {
        notes.push(format!(
            "simulated on `{}`: one run is the whole truth, and every difference is exact",
            machine.name
        ));
    }
    let mut summaries: Vec<(&str, Option<Overall>)> = Vec::new();
    for second in &setup.names[1..] {
        let decided: Vec<&Decision> = (rows.iter())
            .filter(|(_, _, runs, _)| &runs.name == second)
            .filter_map(|(.., decision)| decision.as_ref())
            .collect();
        let summary = overall(&decided, args.entrants.seed).map_err(statistics)?;
        summaries.push((second, summary));
    }
    if args.json {
        let object = json!({
            "schema_version": SCHEMA_VERSION,
            "backend": if natively { "native" } else { "sim" },
            "machine": if natively { Value::Null } else { machine.effective() },
            "host": if natively { json!(host_settings()) } else { Value::Null },
            "protocol": protocol,
            "rules": rules,
            "comparisons": rows.iter().map(|(task, first, second, decision)| json!({
                "task": task, "first": first, "second": second, "decision": decision,
            })).collect::<Vec<_>>(),
            "overall": summaries.iter().map(|(name, overall)| json!({
                "first": setup.names[0], "second": name, "overall": overall,
            })).collect::<Vec<_>>(),
            "notes": notes,
        });
        print_data(format!("{object}\n"))?;
    } else {
        let table = comparison_table(&rows, &summaries, &setup.names[0], &protocol, notes);
        print_data(render(&table, args.markdown))?;
    }
    let compared = rows.iter().any(|(.., decision)| decision.is_some());
    Ok(if compared {
        Status::Success
    } else {
        Status::Negative
    })
}

pub(super) fn agree(args: &AgreeArgs) -> Result<Status, CliError> {
    let machine = machines::resolve(&args.entrants.machine)?;
    let setup = setup(&args.entrants, true)?;
    let native_protocol = protocol(&args.entrants, args.metric, true, true, REPETITIONS)?;
    let sim_protocol = protocol(
        &args.entrants,
        None,
        false,
        machine.kind() != Kind::Atomic,
        REPETITIONS,
    )?;
    let (reference, notes) = natively_run(&args.entrants, &setup, &native_protocol)?;
    let simulated = simulate(&args.entrants, machine.clone(), &setup, &sim_protocol)?;
    let rules = Rules::default();
    let mut pairs = Vec::new();
    let mut left_out = Vec::new();
    for (task, (reference, simulated)) in setup.tasks.iter().zip(reference.iter().zip(&simulated)) {
        for second in 1..reference.len() {
            for first in 0..second {
                let sides = [first, second];
                if let Some(&side) = (sides.iter()).find(|&&side| {
                    reference[side].values.is_empty() || simulated[side].values.is_empty()
                }) {
                    let verdicts = (
                        reference[side].verdict.kind(),
                        simulated[side].verdict.kind(),
                    );
                    let (id, name) = (&task.problem.id, &reference[side].name);
                    let text = if reference[side].unresolved {
                        format!("{id}: the calls of {name} are too short for the host's clock")
                    } else {
                        format!(
                            "{id}: {name} is {} natively and {} in the simulator",
                            verdicts.0, verdicts.1
                        )
                    };
                    if !left_out.contains(&text) {
                        left_out.push(text);
                    }
                    continue;
                }
                let decision = decide(&reference[first].values, &reference[second].values, &rules)
                    .map_err(statistics)?;
                pairs.push(AgreementPair {
                    task: task.problem.id.clone(),
                    entrants: sides.map(|side| reference[side].name.clone()),
                    reference: sides.map(|side| median(&reference[side].values)),
                    simulated: sides.map(|side| simulated[side].values[0]),
                    outcome: decision.outcome,
                });
            }
        }
    }
    let summary = agreement(&pairs);
    if let Some(path) = &args.plot {
        let points = pairs.iter().map(|pair| report::Point {
            x: pair.reference_speed_up(),
            y: pair.simulated_speed_up(),
            name: format!(
                "{} ({} / {})",
                pair.task, pair.entrants[0], pair.entrants[1]
            ),
            filled: matches!(pair.outcome, Outcome::Faster | Outcome::Slower),
        });
        let svg = report::scatter(&report::Scatter {
            title: format!("Speed-ups, native against simulated on {}", machine.name),
            x: format!("native speed-up ({})", native_protocol.quantity.name()),
            y: format!("simulated speed-up ({})", sim_protocol.quantity.name()),
            points: points.collect(),
        });
        std::fs::write(path, svg).map_err(|error| {
            CliError::usage(
                format!("cannot write `{}`: {error}", path.display()),
                "choose another file with `--plot`",
            )
        })?;
        eprintln!("the plot is in {}", path.display());
    }
    if args.json {
        let object = json!({
            "schema_version": SCHEMA_VERSION,
            "machine": machine.effective(),
            "host": host_settings(),
            "protocol": {"native": native_protocol, "sim": sim_protocol},
            "pairs": pairs,
            "agreement": summary,
            "left_out": left_out,
            "notes": notes,
        });
        print_data(format!("{object}\n"))?;
    } else {
        let table = agreement_table(&pairs, summary.as_ref(), &machine.name, &left_out, notes);
        print_data(render(&table, args.markdown))?;
    }
    Ok(if summary.is_some() {
        Status::Success
    } else {
        Status::Negative
    })
}

pub(super) fn render(table: &Table, markdown: bool) -> String {
    if markdown {
        report::to_markdown(table)
    } else {
        report::to_text(table)
    }
}

fn range(name: &str, value: f64, low: f64, high: f64) -> Result<f64, CliError> {
    if value >= low && value < high {
        return Ok(value);
    }
    Err(CliError::usage(
        format!("`--{name} {value}` is out of range"),
        format!("it may be from {low} to below {high}"),
    ))
}

pub(super) fn statistics(error: crate::stats::StatsError) -> CliError {
    CliError {
        message: error.to_string(),
        hint: "raise `--repetitions`, or look at the values with `--json`".to_owned(),
        status: Status::Failure,
    }
}

pub(super) fn protocol(
    args: &EntrantArgs,
    metric: Option<MetricChoice>,
    natively: bool,
    cycles: bool,
    repetitions: usize,
) -> Result<Protocol, CliError> {
    let repetitions = args.repetitions.unwrap_or(repetitions);
    if repetitions == 0 {
        return Err(CliError::usage(
            "`--repetitions 0` measures nothing",
            "30 is the default",
        ));
    }
    let quantity = match metric {
        Some(MetricChoice::CpuTime) => Quantity::CpuTime,
        Some(MetricChoice::WallTime) => Quantity::WallTime,
        Some(MetricChoice::Instructions) => Quantity::Instructions,
        Some(MetricChoice::Cycles) => Quantity::Cycles,
        None if natively => Quantity::CpuTime,
        None if cycles => Quantity::Cycles,
        None => Quantity::Instructions,
    };
    Ok(Protocol {
        repetitions: if natively { repetitions } else { 1 },
        warm_up: if natively { args.warm_up } else { 0 },
        seed: args.seed,
        quantity,
        aggregate: Aggregate::Max,
        case_limit: None,
    })
}

/// Refuses native runs of candidates that the user did not allow.
pub(super) fn check_trust(run_untrusted: bool, natively: bool) -> Result<(), CliError> {
    if natively && !run_untrusted {
        return Err(CliError::usage(
            "candidates would run on this host itself",
            "where you trust the sandbox of docs/isolation.md with them, add `--run-untrusted`",
        ));
    }
    Ok(())
}

/// Refuses a processor that this host does not have: runs on all of them would not be what was asked for.
fn check_processor(args: &EntrantArgs) -> Result<(), CliError> {
    let Some(cpu) = args.cpu else {
        return Ok(());
    };
    let known = Path::new("/sys/devices/system/cpu");
    if known.is_dir() && !known.join(format!("cpu{cpu}")).exists() {
        return Err(CliError::usage(
            format!("`--cpu {cpu}`: this host has no such processor"),
            "they are numbered from 0; `lscpu -e` lists them",
        ));
    }
    Ok(())
}

fn enough(args: &EntrantArgs) -> Result<(), CliError> {
    if args.entrants.len() < 2 {
        return Err(CliError::usage(
            "one entrant alone cannot be compared",
            "give two or more",
        ));
    }
    Ok(())
}

/// Reads the entrants and builds them. Without `--dataset` they are programs, judged by the output of the first.
pub(super) fn setup(args: &EntrantArgs, natively: bool) -> Result<Setup, CliError> {
    check_trust(args.run_untrusted, natively)?;
    enough(args)?;
    check_processor(args)?;
    let limits = args.limits.limits()?;
    let (toolchain, options) = (args.build.toolchain(), args.build.options()?);
    let (tasks, names) = match &args.dataset {
        Some(form) => {
            let loaded = load(form, args, &toolchain)?;
            model_tasks(loaded, args, false, &toolchain, &options)?
        }
        None => program_tasks(args, &toolchain, &options, &limits)?,
    };
    Ok(Setup {
        tasks,
        names,
        limits,
        toolchain,
    })
}

/// Models on these problems, whose own solutions are the last entrant.
pub(super) fn setup_of(args: &EntrantArgs, problems: Vec<Problem>) -> Result<Setup, CliError> {
    let limits = args.limits.limits()?;
    let (toolchain, options) = (args.build.toolchain(), args.build.options()?);
    let (tasks, names) = model_tasks(problems, args, true, &toolchain, &options)?;
    Ok(Setup {
        tasks,
        names,
        limits,
        toolchain,
    })
}

fn load(form: &str, args: &EntrantArgs, toolchain: &Toolchain) -> Result<Vec<Problem>, CliError> {
    let form: DatasetForm = form.parse().map_err(|e: String| CliError::usage(e, ""))?;
    let path = args.problems.as_ref().ok_or_else(|| {
        CliError::usage(
            "`--dataset` needs the data set",
            "give its file or folder with `--problems`",
        )
    })?;
    let language = match args.language.as_str() {
        "cpp" => Language::Cpp,
        "python" => Language::Python,
        other => {
            return Err(CliError::usage(
                format!("unknown language `{other}`"),
                "it is one of `cpp` and `python`",
            ));
        }
    };
    let loaded = dataset::load(form, path, language)?;
    let programs = Programs::new(toolchain, &cache_folder())?;
    let completion = Completion::new(&programs, Some(cache_folder().join("expected")));
    let (loaded, left_out) = completion.complete(
        loaded,
        &Authority::Reference,
        &expected_results(ProgressChoice::Text),
    );
    evaluate::tell_defects(&loaded.skipped);
    evaluate::tell_defects(&left_out);
    Ok(loaded.problems)
}

/// Builds the samples of every model for every problem, and behind them the problems' own solutions if asked for.
fn model_tasks(
    problems: Vec<Problem>,
    args: &EntrantArgs,
    with_canonical: bool,
    toolchain: &Toolchain,
    options: &BuildOptions,
) -> Result<(Vec<Task>, Vec<String>), CliError> {
    let mut models = Vec::new();
    for text in &args.entrants {
        models.push(evaluate::model(&text.to_string_lossy(), &problems)?);
    }
    if with_canonical {
        models.push(evaluate::model("canonical", &problems)?);
    }
    for (index, model) in models.iter().enumerate() {
        if models[..index].iter().any(|other| other.name == model.name) {
            return Err(CliError::usage(
                format!("two entrants are called `{}`", model.name),
                "give them names: NAME=FILE",
            ));
        }
    }
    // Against a spectrum of solutions an answer that is missing counts as none; in pairs there is nothing to compare.
    let problems = if with_canonical {
        problems
    } else {
        answered(problems, &models)?
    };
    // Problem and place among a model's samples; a further sample makes a task only where all have one.
    let pairs: Vec<(&Problem, usize)> = (problems.iter())
        .flat_map(|problem| {
            let all_have = (models.iter())
                .map(|model| model.answers.get(&problem.id).map_or(0, Vec::len))
                .min()
                .unwrap_or(0);
            (0..(args.samples as usize).min(all_have).max(1)).map(move |sample| (problem, sample))
        })
        .collect();
    let jobs: Vec<(&Problem, usize, usize)> = (pairs.iter())
        .flat_map(|&(problem, sample)| (0..models.len()).map(move |model| (problem, sample, model)))
        .collect();
    eprintln!("building {} candidates", jobs.len());
    type Built = Result<Result<Artifact, Verdict>, BackendFailure>;
    let built: Vec<Built> = (jobs.into_par_iter())
        .map(|(problem, sample, model)| {
            let answers = models[model].answers.get(&problem.id);
            let answer = answers.and_then(|answers| answers.get(sample));
            match answer.and_then(|answer| assemble(problem, answer)) {
                Some(candidate) => artifact_of(&candidate, toolchain, options),
                None => Ok(Err(Verdict::EmptyAnswer)),
            }
        })
        .collect();
    let mut built = built.into_iter();
    let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    let mut tasks = Vec::new();
    let mut not_built = None;
    for (problem, sample) in pairs {
        let mut problem = problem.clone();
        if sample > 0 {
            problem.id = format!("{}#{}", problem.id, sample + 1);
        }
        let mut entrants = Vec::new();
        let mut failure = None;
        for (name, artifact) in names.iter().zip(built.by_ref()) {
            match artifact {
                Ok(artifact) => entrants.push(Entrant {
                    name: name.clone(),
                    artifact,
                }),
                Err(ours) => failure = failure.or(Some((name, ours))),
            }
        }
        match failure {
            None => tasks.push(Task { problem, entrants }),
            // What this toolchain cannot build says nothing of the candidate: the others are compared without it.
            Some((name, ours)) => {
                eprintln!(
                    "left out: {}, as {name} cannot be built here: {ours}",
                    problem.id
                );
                not_built.get_or_insert(ours);
            }
        }
    }
    match not_built {
        Some(failure) if tasks.is_empty() => Err(failure.into()),
        _ => Ok((tasks, names)),
    }
}

/// The problems to which every model has a sample; says how many are left out, and for whom.
fn answered(problems: Vec<Problem>, models: &[Model]) -> Result<Vec<Problem>, CliError> {
    let has = |model: &Model, problem: &Problem| {
        (model.answers.get(&problem.id)).is_some_and(|answers| !answers.is_empty())
    };
    for model in models {
        let missing: Vec<&str> = (problems.iter())
            .filter(|problem| !has(model, problem))
            .map(|problem| problem.id.as_str())
            .collect();
        if let Some(first) = missing.first() {
            eprintln!(
                "left out, as `{}` has no sample: {} of {} problems, `{first}` first",
                model.name,
                missing.len(),
                problems.len()
            );
        }
    }
    let all = |problem: &Problem| models.iter().all(|model| has(model, problem));
    let common: Vec<Problem> = problems
        .into_iter()
        .filter(|problem| all(problem))
        .collect();
    if common.is_empty() {
        return Err(CliError::usage(
            "there is no problem to which every entrant has a sample",
            "check that the samples are of this data set: `task_id` names the problem",
        ));
    }
    Ok(common)
}

/// The artifact, or the verdict of a candidate that cannot be built.
fn artifact_of(
    candidate: &Candidate,
    toolchain: &Toolchain,
    options: &BuildOptions,
) -> Result<Result<Artifact, Verdict>, BackendFailure> {
    match build(candidate, toolchain, options) {
        Ok(artifact) => Ok(Ok(artifact)),
        Err(BuildFailure::CompileError { text }) => Ok(Err(Verdict::CompileError { text })),
        Err(BuildFailure::CompileLimit { what }) => Ok(Err(Verdict::CompileLimit { text: what })),
        Err(BuildFailure::Ours(failure)) => Err(failure),
    }
}

/// One task: the programs, on every `--stdin` file, expected to write what the first of them writes in the simulator.
fn program_tasks(
    args: &EntrantArgs,
    toolchain: &Toolchain,
    options: &BuildOptions,
    limits: &Limits,
) -> Result<(Vec<Task>, Vec<String>), CliError> {
    let mut entrants = Vec::new();
    for text in &args.entrants {
        let path = Path::new(text);
        let bytes = read(path)?;
        let text_of = |bytes: Vec<u8>| {
            String::from_utf8(bytes).map_err(|_| {
                CliError::usage(
                    format!("`{}` is not UTF-8", path.display()),
                    "sources are UTF-8 here",
                )
            })
        };
        let candidate = match path.extension().and_then(|extension| extension.to_str()) {
            Some("cpp" | "cc" | "cxx" | "C" | "c") => Some(Candidate::CppProgram {
                source: text_of(bytes.clone())?,
            }),
            Some("py") => Some(Candidate::PythonProgram {
                source: text_of(bytes.clone())?,
            }),
            _ => None,
        };
        let artifact = match candidate {
            Some(candidate) => artifact_of(&candidate, toolchain, options)?.map_err(|verdict| {
                let text = match &verdict {
                    Verdict::CompileError { text } | Verdict::CompileLimit { text } => text.clone(),
                    other => other.kind().to_owned(),
                };
                CliError::usage(
                    format!("`{}` does not compile:\n{text}", path.display()),
                    "",
                )
            })?,
            None => Artifact::Elf(existing(bytes.into(), ElfArtifact::NAME.as_bytes())?),
        };
        entrants.push(Entrant {
            name: path.display().to_string(),
            artifact: Ok(artifact),
        });
    }
    let mut inputs: Vec<(String, Arc<[u8]>)> = Vec::new();
    for path in &args.stdin {
        let bytes = std::fs::read(path).map_err(|error| {
            CliError::usage(
                format!("cannot read `{}`: {error}", path.display()),
                "give a file with the standard input after `--stdin`",
            )
        })?;
        inputs.push((path.display().to_string(), bytes.into()));
    }
    if inputs.is_empty() {
        inputs.push(("no input".to_owned(), Arc::from(&b""[..])));
    }
    let Ok(first) = &entrants[0].artifact else {
        unreachable!("programs that do not compile end the command above");
    };
    let sim = simulator(args, catalog::machine("atomic")?);
    let mut cases = Vec::new();
    for (name, stdin) in inputs {
        let measurement = sim.run(first, &stdin, limits)?;
        if measurement.exit != (Exit::Exited { code: 0 }) {
            return Err(CliError::usage(
                format!(
                    "`{}` cannot say what is right on {name}: {}",
                    entrants[0].name,
                    super::run::describe(&measurement.exit)
                ),
                "compare programs that end with exit code 0",
            ));
        }
        cases.push(TestCase {
            name,
            stdin,
            expected: measurement.stdout.into(),
            alternatives: Vec::new(),
        });
    }
    let names = entrants
        .iter()
        .map(|entrant| entrant.name.clone())
        .collect();
    let problem = Problem {
        id: "programs".to_owned(),
        // Programs are judged by their output, whatever they are written in.
        language: Language::Cpp,
        form: Form::Program { cases },
        canonical: None,
        judging: Judging::default(),
    };
    Ok((vec![Task { problem, entrants }], names))
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| {
        CliError::usage(
            format!("cannot read `{}`: {error}", path.display()),
            "give the path of a program: an executable, a `.cpp` or a `.py` file; answers of models need `--dataset`",
        )
    })
}

fn simulator(args: &EntrantArgs, machine: Machine) -> Sim {
    Sim::new(Options {
        machine,
        snapshots: true,
        seed: args.seed,
        wall_clock: Duration::from_secs(args.limits.max_wall),
        cache: cache_folder(),
        roots: Vec::new(),
    })
}

/// One run of each, in parallel: order and load change nothing.
pub(super) fn simulate(
    args: &EntrantArgs,
    machine: Machine,
    setup: &Setup,
    protocol: &Protocol,
) -> Result<Vec<Vec<EntrantRuns>>, CliError> {
    let sim = simulator(args, machine);
    let programs = Programs::new(&setup.toolchain, &cache_folder())?;
    let done = std::sync::atomic::AtomicUsize::new(0);
    let told = std::sync::Mutex::new(Pace::new("simulated"));
    let runs: Result<Vec<_>, BackendFailure> = (0..setup.tasks.len())
        .into_par_iter()
        .map(|index| {
            let task = std::slice::from_ref(&setup.tasks[index]);
            let runs = run_interleaved(
                task,
                &sim,
                &setup.limits,
                &programs,
                protocol,
                &mut |_, _| (),
            )?;
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            if let Ok(mut told) = told.lock() {
                told.tell(done, setup.tasks.len());
            }
            Ok(runs.into_iter().next().unwrap_or_default())
        })
        .collect();
    Ok(runs?)
}

/// The repeated runs on the host, one at a time, and what a reader must know of the host.
pub(super) fn natively_run(
    args: &EntrantArgs,
    setup: &Setup,
    protocol: &Protocol,
) -> Result<(Vec<Vec<EntrantRuns>>, Vec<String>), CliError> {
    let events = protocol.quantity.event().into_iter().collect();
    let mut native = Native::new(Duration::from_secs(args.max_cpu)).counting(events, args.cpu);
    if args.random_layout {
        native = native.with_random_layout();
    }
    let mut told = Pace::new("measured");
    let runs = run_interleaved(
        &setup.tasks,
        &native,
        &setup.limits,
        &Programs::new(&setup.toolchain, &cache_folder())?,
        protocol,
        &mut |done, planned| told.tell(done, planned),
    );
    for (event, absence) in native.not_counted() {
        eprintln!(
            "warning: {} is not counted: {absence}; {}",
            event.name(),
            absence.remedy()
        );
    }
    let runs = runs?;
    let mut notes: Vec<String> = (host_settings().into_iter())
        .map(|setting| match setting.warning {
            Some(warning) => format!("host: {}: {} ({warning})", setting.name, setting.value),
            None => format!("host: {}: {}", setting.name, setting.value),
        })
        .collect();
    let missing = native.not_applied();
    if !missing.is_empty() {
        notes.push(format!("this system did not grant: {}", missing.join(", ")));
    }
    Ok((runs, notes))
}

fn decision(
    first: &EntrantRuns,
    second: &EntrantRuns,
    natively: bool,
    rules: &Rules,
) -> Result<Option<Decision>, CliError> {
    if first.values.is_empty() || second.values.is_empty() {
        return Ok(None);
    }
    if natively {
        decide(&first.values, &second.values, rules)
            .map(Some)
            .map_err(statistics)
    } else {
        Ok(Some(exact(first.values[0], second.values[0])))
    }
}

/// How far runs of one and the same entrant scatter: what no comparison can see through.
pub(super) fn noise_floor(runs: &[Vec<EntrantRuns>]) -> String {
    let spreads: Vec<f64> = (runs.iter().flatten())
        .filter(|runs| runs.values.len() > 1)
        .map(|runs| {
            let middle = median(&runs.values);
            let away: Vec<f64> = runs
                .values
                .iter()
                .map(|value| (value - middle).abs())
                .collect();
            // The factor makes the median deviation that of a normal distribution.
            1.4826 * median(&away) / middle
        })
        .collect();
    if spreads.is_empty() {
        return "noise floor: not measured, no entrant ran twice".to_owned();
    }
    format!(
        "noise floor: runs of one entrant scatter by {} (median over entrants; {} for one in ten)",
        number::percent(100.0 * median(&spreads)),
        number::percent(100.0 * quantile(&spreads, 0.9)),
    )
}

fn value_cell(runs: &EntrantRuns) -> Cell {
    if runs.values.is_empty() {
        Cell::Text(runs.verdict.kind().to_owned())
    } else {
        Cell::Count(median(&runs.values).round() as u64)
    }
}

fn comparison_table(
    rows: &[(&str, &EntrantRuns, &EntrantRuns, Option<Decision>)],
    summaries: &[(&str, Option<Overall>)],
    first: &str,
    protocol: &Protocol,
    mut notes: Vec<String>,
) -> Table {
    let text = |text: String| Cell::Text(text);
    let row =
        |&(task, a, b, ref decision): &(&str, &EntrantRuns, &EntrantRuns, Option<Decision>)| {
            let mut cells = vec![
                text(task.to_owned()),
                text(b.name.clone()),
                value_cell(a),
                value_cell(b),
            ];
            match decision {
                Some(decision) => cells.extend([
                    text(number::factor(decision.speed_up)),
                    decision.interval.map_or(text("exact".into()), |interval| {
                        text(format!(
                            "{} to {}",
                            number::factor(interval.low),
                            number::factor(interval.high)
                        ))
                    }),
                    decision
                        .p
                        .map_or(text("exact".into()), |p| text(number::p_value(p))),
                    text(format!("{:+.2} {}", decision.delta, decision.size.name())),
                    text(match decision.rounds_to_decide {
                        Some(rounds) => {
                            format!(
                                "{} (about {rounds} rounds would tell)",
                                decision.outcome.name()
                            )
                        }
                        None => decision.outcome.name().to_owned(),
                    }),
                ]),
                None => cells.extend(std::iter::repeat_n(Cell::Missing, 5)),
            }
            cells
        };
    let mut all = Vec::new();
    for (name, overall) in summaries {
        let Some(overall) = overall else {
            all.push(format!("{name} against {first}: no task that both pass"));
            continue;
        };
        let interval = overall.interval.map_or(String::new(), |interval| {
            format!(
                " ({} to {}, 95%)",
                number::factor(interval.low),
                number::factor(interval.high)
            )
        });
        all.push(format!(
            "{name} against {first} over {} tasks: speed-up {}{interval}, signed-rank p {}; faster on {}, slower on {}, equal on {}, undecided on {}",
            overall.tasks,
            number::factor(overall.speed_up),
            number::p_value(overall.p),
            overall.faster,
            overall.slower,
            overall.equal,
            overall.undecided
        ));
    }
    all.append(&mut notes);
    Table {
        title: format!(
            "Against {first}: {}, median of {} runs",
            protocol.quantity.name(),
            protocol.repetitions
        ),
        columns: [
            "task",
            "second",
            "first",
            "second's",
            "speed-up",
            "interval",
            "p",
            "delta",
            "the second is",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: rows.iter().map(row).collect(),
        notes: all,
    }
}

/// A line for each reason, with the first tasks that it holds for; `--json` has all.
fn reasons(left_out: &[String]) -> Vec<String> {
    const NAMED: usize = 6;
    let mut tasks: Vec<(&str, Vec<&str>)> = Vec::new();
    for (task, reason) in left_out.iter().filter_map(|text| text.split_once(": ")) {
        match tasks.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, tasks)) => tasks.push(task),
            None => tasks.push((reason, vec![task])),
        }
    }
    tasks
        .into_iter()
        .map(|(reason, tasks)| {
            let named = tasks[..tasks.len().min(NAMED)].join(", ");
            let more = match tasks.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more (`--json` names them)"),
            };
            format!("left out, as {reason}: {named}{more}")
        })
        .collect()
}

fn agreement_table(
    pairs: &[AgreementPair],
    summary: Option<&crate::compare::Agreement>,
    machine: &str,
    left_out: &[String],
    notes: Vec<String>,
) -> Table {
    let mut all = Vec::new();
    if let Some(summary) = summary {
        let shown = |value: Option<f64>| {
            value.map_or("undefined".to_owned(), |value| format!("{value:.3}"))
        };
        all.push(format!(
            "{} pairs; Spearman of all times {}; of the speed-ups {}; Kendall of the speed-ups {}",
            summary.pairs,
            shown(summary.spearman_times),
            shown(summary.spearman_speed_ups),
            shown(summary.kendall_speed_ups)
        ));
        if let Some(within) = summary.kendall_within_tasks {
            all.push(format!(
                "Kendall within a task, mean of {} tasks with three entrants or more: {within:.3}",
                summary.tasks_ranked
            ));
        }
        all.push(format!(
            "{} of {} pairs that the host decides have the same sign in the simulator",
            summary.signs_agree, summary.decided
        ));
        all.push(format!(
            "speed-ups differ by a factor of {} in the mean, {} in the median, {} at worst",
            number::factor(summary.mean_error_factor),
            number::factor(summary.median_error_factor),
            number::factor(summary.worst_error_factor)
        ));
        let names: Vec<_> = (summary.outliers.iter())
            .map(|&index| format!("{} ({:+.2})", pairs[index].task, pairs[index].log_error()))
            .collect();
        all.push(format!(
            "largest errors of the logarithm: {}",
            names.join(", ")
        ));
    }
    all.extend(reasons(left_out));
    all.extend(notes);
    let text = |text: String| Cell::Text(text);
    Table {
        title: format!("Native against simulated on {machine}"),
        columns: [
            "task",
            "first",
            "second",
            "native",
            "simulated",
            "the host says",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: (pairs.iter())
            .map(|pair| {
                vec![
                    text(pair.task.clone()),
                    text(pair.entrants[0].clone()),
                    text(pair.entrants[1].clone()),
                    text(number::factor(pair.reference_speed_up())),
                    text(number::factor(pair.simulated_speed_up())),
                    text(pair.outcome.name().to_owned()),
                ]
            })
            .collect(),
        notes: all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_for_one_reason_is_one_line() {
        let short = (1..=8).map(|i| format!("task-{i}: the calls of a are too short"));
        let wrong = "task-9: b is wrong: all of it".to_owned();
        assert_eq!(
            reasons(&short.chain([wrong]).collect::<Vec<_>>()),
            [
                "left out, as the calls of a are too short: task-1, task-2, task-3, task-4, task-5, task-6 and 2 more \
                 (`--json` names them)",
                "left out, as b is wrong: all of it: task-9",
            ]
        );
    }
}
