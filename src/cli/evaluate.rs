//! `tickmark evaluate` and `tickmark demo`.
use super::args::{
    BackendChoice, BuildArgs, CandidateArgs, DemoArgs, EvaluateArgs, MachineArgs, ProgressChoice,
    cache_folder,
};
use super::compare::check_trust;
use super::error::CliError;
use super::plan_file::{PlanFile, completed};
use super::progress::{Told, expected_results};
use super::run::{mebibytes, not_for_native, verification_status};
pub(super) use super::samples::of_argument as model;
use super::{Status, machines, output, samples};
use crate::artifact::{BuildOptions, Linking, Toolchain, ToolchainOptions};
use crate::backend::Backend;
use crate::backend::gem5::{self, Gem5};
use crate::backend::native::Native;
use crate::backend::sim::{Options, Sim};
use crate::backend::verified::Verified;
use crate::candidate::Answer;
use crate::dataset::{self, DatasetForm, Defect, Language, Loaded, Statements};
use crate::evaluation::{
    Authority, BackendRunner, Builder, Completion, EvaluationResult, JobKey, Memory, Model,
    OnMachine, Plan, Programs, Screen, StoredStudy, demo_plans, evaluate as evaluate_plan, page,
    sources,
};
use crate::sim::machine::{Kind, Machine};
use crate::store::Store;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Instruction limit of the demo: ten times what its slowest answer needs.
const DEMO_INSTRUCTIONS: u64 = 500_000_000;

impl From<Defect> for CliError {
    fn from(defect: Defect) -> Self {
        Self::usage(defect.to_string(), String::new())
    }
}

pub(super) fn evaluate(args: EvaluateArgs, given: &[OsString]) -> Result<Status, CliError> {
    let file = (args.plan.as_deref())
        .map(|path| PlanFile::read(path, args.data.as_deref()))
        .transpose()?;
    let args = completed(args, given, file.as_ref())?;
    check_trust(
        args.candidates.run_untrusted,
        args.candidates.backend == BackendChoice::Native,
    )?;
    let form = (args.dataset.as_deref())
        .or(file.as_ref().map(|file| file.data.dataset.as_str()))
        .unwrap_or_default();
    let form = dataset_form(form)?;
    let language = language(&args.language)?;
    let setting = Setting::new(&args.candidates)?;
    let mut notes = Vec::new();
    if let Some(file) = &file {
        let mut found = file.file_hashes()?;
        for machine in &setting.machines {
            found.insert(format!("machine {}", machine.name), machine.hash());
        }
        let toolchain = setting.toolchain.identity(language, &setting.options);
        if let Ok(toolchain) = toolchain {
            found.insert("toolchain".into(), toolchain.to_string());
        }
        found.insert("engine".into(), JobKey::ENGINE.into());
        if args.lock {
            file.write_lock(&found)?;
            eprintln!("the lock is in {}", file.path.display());
            return Ok(Status::Success);
        }
        notes = file.check_lock(&found)?;
    }
    for note in notes {
        eprintln!("warning: {note}");
    }
    let problems: Vec<PathBuf> = match &file {
        Some(file) if args.problems.is_empty() => (file.data.problems())
            .map(|path| file.resolve(path))
            .collect(),
        _ => args.problems.clone(),
    };
    let statements: Vec<PathBuf> = match &file {
        Some(file) if args.statements.is_empty() => (file.data.statements())
            .map(|path| file.resolve(path))
            .collect(),
        _ => args.statements.clone(),
    };
    let statements = Statements::of(&statements)?;
    let mut loaded = dataset::load_with(form, &problems, language, &statements)?;
    tell_defects(&loaded.skipped);
    tell_defects(&loaded.left_out);
    if !args.only.is_empty() {
        for id in &args.only {
            if loaded.problems.iter().all(|problem| problem.id != *id) {
                return Err(CliError::usage(
                    format!("the data set has no problem `{id}`"),
                    "give ids as the data set has them",
                ));
            }
        }
        loaded
            .problems
            .retain(|problem| args.only.contains(&problem.id));
        (loaded.left_out).retain(|defect| {
            (defect.id.as_deref()).is_some_and(|id| args.only.iter().any(|o| o == id))
        });
    }
    let mut models = match &file {
        Some(file) if args.samples.is_empty() => samples::of_plan(file, &loaded.problems)?,
        _ => samples::of_arguments(&args.samples, &loaded.problems)?,
    };
    for base in &args.bases {
        let known = base.split_once('=').and_then(|(name, base)| {
            models
                .iter_mut()
                .find(|model| model.name == name)
                .map(|model| (model, base))
        });
        let Some((model, base)) = known else {
            return Err(CliError::usage(
                format!("`--base {base}` names no model"),
                "write it as NAME=BASE, with names of `--samples`",
            ));
        };
        model.base = Some(base.into());
    }
    for model in &models {
        if let Some(base) = &model.base
            && models.iter().all(|other| other.name != *base)
        {
            return Err(CliError::usage(
                format!("the base `{base}` of `{}` is no model", model.name),
                "give its samples too",
            ));
        }
    }
    if let Some(first) = args.first {
        for answers in models
            .iter_mut()
            .flat_map(|model| model.answers.values_mut())
        {
            answers.truncate(first);
        }
    }
    let name = (args.name.clone())
        .or(file.map(|file| file.name))
        .unwrap_or_else(|| form.name().into());
    let authority = authority(&args.expected, &models)?;
    let out = args.candidates.out.as_deref();
    let result = run(&name, loaded, &authority, models, &setting, out)?;
    show(&[result], &args.candidates)
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

pub(super) fn tell_defects(defects: &[Defect]) {
    const SHOWN: usize = 20;
    for defect in defects.iter().take(SHOWN) {
        eprintln!("warning: {defect}");
    }
    if defects.len() > SHOWN {
        eprintln!("warning: and {} more of the kind", defects.len() - SHOWN);
    }
}

impl BuildArgs {
    /// How C++ candidates are built, within the usual limits.
    pub(super) fn options(&self) -> Result<BuildOptions, CliError> {
        let usage = |error: String| CliError::usage(error, String::new());
        Ok(BuildOptions {
            optimisation: self.optimisation.parse().map_err(usage)?,
            linking: if self.dynamic {
                Linking::DynamicPie
            } else {
                Linking::Static
            },
            isa: self.isa.parse().map_err(usage)?,
            ..BuildOptions::default()
        })
    }

    /// What builds and interprets them.
    pub(super) fn toolchain(&self) -> Toolchain {
        Toolchain::new(ToolchainOptions {
            compiler: self.compiler.clone(),
            python: self.python.clone(),
            cache: Some(cache_folder()),
        })
    }
}

/// What the options say of how candidates are built and run.
struct Setting<'a> {
    args: &'a CandidateArgs,
    machines: Vec<Machine>,
    screens: Screens,
    options: BuildOptions,
    toolchain: Toolchain,
}

/// The machines that judge before others.
#[derive(Default)]
struct Screens {
    /// Those that the study does not have itself.
    added: Vec<Machine>,
    /// For each machine of the study the number of its screen, those that are added behind the study's own.
    before: Vec<Option<usize>>,
}

impl Screens {
    /// One for each kind of processor that the machines with cycles show to programs.
    fn of(machines: &[Machine], backend: BackendChoice) -> Result<Self, CliError> {
        if backend != BackendChoice::Sim {
            return Err(CliError::usage(
                "`--screen` is for the simulator: only there have all machines the same verdicts",
                "leave out `--screen`; where a plan asks for it, give `--screen=false`",
            ));
        }
        let mut screens = Self::default();
        for machine in machines {
            if machine.kind() == Kind::Atomic {
                screens.before.push(None);
                continue;
            }
            let screen = machines::resolve(&MachineArgs {
                machine: "atomic".into(),
                overrides: Vec::new(),
                guest: Some(machine.guest.profile.name().into()),
            })?;
            let mut known = machines.iter().chain(&screens.added);
            let place = known.position(|other| other.hash() == screen.hash());
            let place = place.unwrap_or_else(|| {
                screens.added.push(screen);
                machines.len() + screens.added.len() - 1
            });
            screens.before.push(Some(place));
        }
        Ok(screens)
    }

    /// The screen before a machine of the study.
    fn before(&self, machine: usize) -> Option<usize> {
        self.before.get(machine).copied().flatten()
    }
}

impl<'a> Setting<'a> {
    fn new(args: &'a CandidateArgs) -> Result<Self, CliError> {
        let mut machines: Vec<Machine> = Vec::new();
        for name in &args.machines {
            let machine = machines::resolve(&MachineArgs {
                machine: name.clone(),
                overrides: args.overrides.clone(),
                guest: args.guest.clone(),
            })?;
            if machines.iter().any(|other| other.name == machine.name) {
                return Err(CliError::usage(
                    format!("two machines are called `{}`", machine.name),
                    "give each `--machine` once",
                ));
            }
            machines.push(machine);
        }
        let mut options = args.build.options()?;
        let screens = if args.screen {
            Screens::of(&machines, args.backend)?
        } else {
            Screens::default()
        };
        options.limits.memory_bytes = mebibytes(args.compile_memory, "compile-memory")?;
        options.limits.cpu = Duration::from_secs(args.compile_cpu);
        Ok(Self {
            args,
            machines,
            screens,
            options,
            toolchain: args.build.toolchain(),
        })
    }
}

/// A finished evaluation with the store that holds it.
struct Finished {
    name: String,
    result: EvaluationResult,
    /// The exit code for the case that rows are missing.
    failure: Status,
    store: Store,
}

fn run(
    name: &str,
    loaded: Loaded,
    authority: &Authority,
    models: Vec<Model>,
    setting: &Setting<'_>,
    out: Option<&Path>,
) -> Result<Finished, CliError> {
    let args = setting.args;
    let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    output::check_models(&args.report, &names)?;
    let limits = args.limits.limits()?;
    let programs = Programs::new(&setting.toolchain, &cache_folder())?;
    let completion = Completion::new(&programs, Some(cache_folder().join("expected")));
    let (loaded, left_out) =
        completion.complete(loaded, authority, &expected_results(progress_choice(args)));
    tell_defects(&left_out);
    let language = loaded
        .problems
        .first()
        .map_or(Language::Cpp, |problem| problem.language);
    let builder = Builder::new(&setting.toolchain, &setting.options, language)?;
    let mut provenance = Map::new();
    provenance.insert("tickmark".to_owned(), env!("CARGO_PKG_VERSION").into());
    provenance.insert("engine".to_owned(), JobKey::ENGINE.into());
    let toolchain = setting.toolchain.identity(language, &setting.options)?;
    provenance.insert("toolchain".to_owned(), toolchain.to_string().into());
    provenance.insert(
        "build_options".to_owned(),
        format!("{:?}", setting.options).into(),
    );
    provenance.insert("limits".to_owned(), json!(limits));
    let sources = sources(&loaded.problems);
    if !sources.is_empty() {
        provenance.insert("expected_results".to_owned(), json!(sources));
    }
    if args.backend != BackendChoice::Native {
        // One machine stands as it always did.
        let effective = match setting.machines.as_slice() {
            [only] => only.effective(),
            several => several
                .iter()
                .map(Machine::effective)
                .collect::<Vec<Value>>()
                .into(),
        };
        provenance.insert("machine".to_owned(), effective);
        let used: Vec<Value> = (setting
            .machines
            .iter()
            .chain(&setting.screens.added)
            .enumerate())
        .filter(|(index, _)| setting.screens.before.contains(&Some(*index)))
        .map(|(_, machine)| machine.effective())
        .collect();
        if !used.is_empty() {
            provenance.insert("screened_on".to_owned(), used.into());
        }
        provenance.insert("seed".to_owned(), args.seed.into());
    }
    let file = (args.store.clone()).or_else(|| out.map(|out| out.join("store.sqlite")));
    let store = match &file {
        Some(file) => Store::open(file)?,
        None => Store::in_memory()?,
    };
    let memory = Memory::new(&store);
    let mut plan = Plan {
        name: name.into(),
        problems: loaded.problems,
        skipped: loaded.skipped,
        left_out: loaded.left_out.into_iter().chain(left_out).collect(),
        models,
        report: output::report_options(&args.report)?,
        threads: args.threads.map(usize::from),
        provenance,
    };
    let mut failure = Status::Failure;
    let result = match args.backend {
        BackendChoice::Sim => {
            let machines: Vec<&Machine> =
                (setting.machines.iter().chain(&setting.screens.added)).collect();
            let sims: Vec<Sim> = (machines.iter())
                .map(|&machine| {
                    Sim::new(Options {
                        snapshots: !args.no_snapshot,
                        seed: args.seed,
                        wall_clock: Duration::from_secs(args.limits.max_wall),
                        cache: cache_folder(),
                        roots: Vec::new(),
                        machine: machine.clone(),
                    })
                })
                .collect();
            plan.provenance.insert("backend".to_owned(), json!("sim"));
            let settings = |machine: &Machine| format!("{} {}", machine.hash(), args.seed);
            if args.verify_determinism {
                plan.provenance
                    .insert("determinism_verified".to_owned(), true.into());
                let verified: Vec<_> = sims.iter().map(Verified::new).collect();
                let runners: Vec<_> = (verified.iter().zip(&machines))
                    .map(|(sim, &machine)| {
                        // A key of its own: what an earlier evaluation found has not been verified.
                        let settings = format!("{} verified", settings(machine));
                        BackendRunner::new(sim, &builder, limits, &programs, &settings, &memory)
                            .repeated(args.repetitions)
                    })
                    .collect();
                let result = carry_out(&plan, &runners, &memory, setting);
                for verified in &verified {
                    if verification_status(verified) == Status::NotDeterministic {
                        failure = Status::NotDeterministic;
                    }
                }
                result
            } else {
                let runners: Vec<_> = (sims.iter().zip(&machines))
                    .map(|(sim, &machine)| {
                        let settings = settings(machine);
                        BackendRunner::new(sim, &builder, limits, &programs, &settings, &memory)
                            .repeated(args.repetitions)
                    })
                    .collect();
                carry_out(&plan, &runners, &memory, setting)
            }
        }
        BackendChoice::Native | BackendChoice::Gem5 if args.verify_determinism => {
            return Err(not_for_native());
        }
        BackendChoice::Native => {
            let native = Native::new(Duration::from_secs(args.max_cpu));
            let settings = format!("cpu {} on {}", args.max_cpu, host_processor());
            let runner =
                BackendRunner::new(&native, &builder, limits, &programs, &settings, &memory)
                    .repeated(args.repetitions);
            plan.provenance
                .insert("backend".to_owned(), json!(native.name()));
            plan.provenance
                .insert("host".to_owned(), host_processor().into());
            plan.provenance
                .insert("repetitions".to_owned(), args.repetitions.into());
            let result = carry_out(&plan, &[runner], &memory, setting);
            let missing = native.not_applied();
            if !missing.is_empty() {
                eprintln!("warning: this system did not grant: {}", missing.join(", "));
            }
            result
        }
        BackendChoice::Gem5 => {
            let mut gem5s = Vec::new();
            for machine in &setting.machines {
                gem5s.push(Gem5::new(gem5::Options {
                    machine: machine.clone(),
                    executable: args.gem5.gem5.clone(),
                    wall_clock: Duration::from_secs(args.limits.max_wall),
                    seed: args.seed,
                    keep: None,
                    frozen: args.gem5_frozen.clone(),
                })?);
            }
            plan.provenance.insert("backend".to_owned(), json!("gem5"));
            if let Some(first) = gem5s.first() {
                super::gem5::tell(first);
                plan.provenance
                    .insert("gem5".to_owned(), super::gem5::provenance(first));
            }
            let runners: Vec<_> = (gem5s.iter())
                .map(|gem5| {
                    let settings = gem5.identity();
                    BackendRunner::new(gem5, &builder, limits, &programs, &settings, &memory)
                        .repeated(args.repetitions)
                })
                .collect();
            let result = carry_out(&plan, &runners, &memory, setting);
            for gem5 in &gem5s {
                super::gem5::tell_not_applied(gem5);
            }
            result
        }
    };
    let alarms = memory.alarms();
    for alarm in alarms.iter().take(10) {
        eprintln!("ALARM: not deterministic: {alarm}");
    }
    if let Some(error) = memory.failure() {
        return Err(CliError {
            message: format!("the results are right, but not all are kept: {error}"),
            hint: error.remedy().into(),
            status: Status::Failure,
        });
    }
    if !alarms.is_empty() {
        return Err(CliError {
            message: format!("{} facts differ from those that are stored", alarms.len()),
            hint: "report this as a fault of tickmark, with the store; results cannot be trusted"
                .into(),
            status: Status::Failure,
        });
    }
    if !result.interrupted
        && let Some(folder) = out
    {
        let path = folder.join("results.jsonl");
        write_whole(&path, &result.to_json_lines())?;
        if args.progress == ProgressChoice::Text && !args.quiet {
            eprintln!("results are in {}", path.display());
        }
    }
    drop(memory);
    Ok(Finished {
        name: name.into(),
        result,
        failure,
        store,
    })
}

/// Writes a file in one step, so that no half of it is ever seen.
fn write_whole(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError {
        message: format!("cannot write `{}`: {error}", path.display()),
        hint: "choose a folder that can be written with `--out`".to_owned(),
        status: Status::Failure,
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let new = path.with_extension("jsonl.new");
    std::fs::write(&new, text).map_err(failed)?;
    std::fs::rename(&new, path).map_err(failed)
}

fn progress_choice(args: &CandidateArgs) -> ProgressChoice {
    if args.quiet {
        ProgressChoice::None
    } else {
        args.progress
    }
}

/// Evaluates on the machines of the study; behind them in `runners` stand the screens that it does not have itself.
fn carry_out<B: Backend>(
    plan: &Plan,
    runners: &[BackendRunner<'_, B>],
    memory: &Memory<'_>,
    setting: &Setting<'_>,
) -> EvaluationResult {
    let args = setting.args;
    let choice = progress_choice(args);
    let used = runners.first().map_or(1, BackendRunner::repetitions);
    if choice == ProgressChoice::Text && args.repetitions > used {
        eprintln!(
            "note: {} repetitions: runs in the simulator are equal to the byte, so {used} stands for all",
            args.repetitions
        );
    }
    let screens: Vec<Screen<'_>> = (runners.iter())
        .map(|runner| Screen::new(runner.machine(), runner))
        .collect();
    let own = runners.len() - setting.screens.added.len();
    let machines: Vec<OnMachine<'_>> = (runners[..own].iter().enumerate())
        .map(|(index, runner)| OnMachine {
            machine: runner.machine(),
            runner,
            screen: (setting.screens.before(index)).and_then(|screen| screens.get(screen)),
        })
        .collect();
    evaluate_plan(plan, &machines, memory, &stop_flag(), &Told::new(choice))
}

/// A flag that Ctrl-C and SIGTERM set; the second one ends the process, which loses running samples only.
fn stop_flag() -> Arc<AtomicBool> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset. A handler that cannot be set leaves the usual ending.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag));
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    flag
}

/// What the host's processor calls itself: native results of different ones are never mixed.
fn host_processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("model name"))
        .and_then(|rest| rest.split_once(':'))
        .map_or_else(|| "unknown".into(), |(_, name)| name.trim().into())
}

fn show(finished: &[Finished], args: &CandidateArgs) -> Result<Status, CliError> {
    if let Some(stopped) = finished.iter().find(|one| one.result.interrupted) {
        let rows = stopped.result.rows.len();
        eprintln!("interrupted after {rows} samples of `{}`", stopped.name);
        match stopped.store.path() {
            Some(path) => eprintln!(
                "hint: what was found is in {}; the same command goes on from there",
                path.display()
            ),
            None => eprintln!(
                "hint: nothing is kept without `--out` or `--store`; with one of them, the same command would go on"
            ),
        }
        return Ok(Status::Interrupted);
    }
    let mut failures = 0;
    for one in finished {
        if finished.len() > 1 && args.shown.form() != super::args::FormatChoice::Json {
            super::print_data(format!("{}\n", one.name))?;
        }
        args.shown.print(&one.result.summaries, &one.result.rows)?;
        failures += one.result.failures_of_ours();
        for row in (one.result.rows.iter())
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
    if args.shown.html.is_some() {
        let mut summaries = Vec::new();
        let mut drill_down = Vec::new();
        for one in finished {
            summaries.extend(one.result.summaries.iter().cloned());
            let entry = match &one.result.study {
                Some(key) => one.store.find_study(Some(key))?,
                None => one.store.find_study(None)?,
            };
            let study = StoredStudy::read(&Memory::new(&one.store), &entry)?;
            drill_down.extend(study.page_samples(&one.store));
        }
        args.shown.write_page(|| page(&summaries, drill_down))?;
    }
    if failures > 0 {
        eprintln!(
            "warning: {failures} samples have no result because of failures that are not theirs"
        );
        let not_deterministic = |one: &&Finished| one.failure == Status::NotDeterministic;
        return Ok(
            (finished.iter().find(not_deterministic)).map_or(Status::Failure, |one| one.failure)
        );
    }
    Ok(Status::Success)
}

pub(super) fn demo(mut args: DemoArgs) -> Result<Status, CliError> {
    // One of the answers loops for ever: at the default limit it would take minutes to say so.
    let limits = &mut args.candidates.limits;
    limits.max_instructions = limits.max_instructions.min(DEMO_INSTRUCTIONS);
    let setting = Setting::new(&args.candidates)?;
    let mut finished = Vec::new();
    for (title, plan) in demo_plans() {
        let loaded = Loaded {
            problems: plan.problems,
            skipped: plan.skipped,
            ..Loaded::default()
        };
        let out = args.candidates.out.as_ref().map(|out| out.join(title));
        let one = run(
            title,
            loaded,
            &Authority::Reference,
            plan.models,
            &setting,
            out.as_deref(),
        )?;
        let interrupted = one.result.interrupted;
        finished.push(one);
        if interrupted {
            break;
        }
    }
    show(&finished, &args.candidates)
}
