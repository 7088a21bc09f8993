//! `tickmark protocol`: the protocols of published studies, as presets.
use super::args::{DseffiArgs, JetoArgs, LeArgs, MetricChoice, ProtocolArgs, ProtocolCommand};
use super::compare::{self, Setup};
use super::error::CliError;
use super::{Status, machines, print_data};
use crate::backend::native::host_settings;
use crate::compare::{Aggregate, EntrantRuns, Quantity};
use crate::process::{self, Ending, Isolation, PrivateFolder};
use crate::protocol::{
    Direction, Instance, Margin, PatchVerdict, SpectrumTask, TASK_LIMIT_NS, judge_benchmark,
    judge_rounds, load_instances, modified_modules, read_reports, read_rounds, score,
};
use crate::report::{Cell, Table, number};
use crate::sim::machine::Kind;
use crate::verdict::Verdict;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Version of the JSON objects that these commands print; docs/protocols.md describes them.
const SCHEMA_VERSION: u32 = 1;
/// How much of what a tool said is quoted.
const QUOTED_BYTES: usize = 2000;

pub(super) fn protocol(args: &ProtocolArgs) -> Result<Status, CliError> {
    match &args.protocol {
        ProtocolCommand::Le2026(args) => le2026(args),
        ProtocolCommand::Dseffi2026(args) => dseffi2026(args),
        ProtocolCommand::Jeto2026(args) => jeto2026(args),
    }
}

fn le2026(args: &LeArgs) -> Result<Status, CliError> {
    let mut entrants = args.entrants.clone();
    entrants.max_cpu = args.limit;
    let [_, _] = entrants.entrants.as_slice() else {
        return Err(CliError::usage(
            "the protocol compares two",
            "give the canonical solutions first, then the performant ones",
        ));
    };
    if entrants.dataset.is_none() {
        return Err(CliError::usage(
            "the protocol is for the tasks of a data set",
            "add `--dataset FORM --problems PATH`; `tickmark compare` compares programs",
        ));
    }
    let machine = machines::resolve(&entrants.machine)?;
    let natively = !args.simulated_only;
    let setup = compare::setup(&entrants, natively)?;
    let metric = args.wall_time.then_some(MetricChoice::WallTime);
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let native = if natively {
        let mut protocol = compare::protocol(&entrants, metric, true, true, compare::REPETITIONS)?;
        // The time of the whole suite.
        protocol.aggregate = Aggregate::Sum;
        let (runs, host) = compare::natively_run(&entrants, &setup, &protocol)?;
        notes.extend(host);
        notes.push(compare::noise_floor(&runs));
        let result = judge_benchmark(&pairs(&setup, runs)).map_err(compare::statistics)?;
        rows.push(vec![
            Cell::Text(format!("native, {} runs", protocol.repetitions)),
            Cell::Count(result.tasks.len() as u64),
            Cell::Count(result.significant as u64),
            result.share().map_or(Cell::Missing, Cell::Fraction),
            Cell::Count(result.by_size[0] as u64),
            Cell::Count(result.by_size[1] as u64),
            Cell::Count(result.by_size[2] as u64),
            Cell::Count(result.by_size[3] as u64),
            Cell::Text(result.wilcoxon_p.map_or("-".to_owned(), number::p_value)),
        ]);
        Some(result)
    } else {
        None
    };
    let mut protocol =
        compare::protocol(&entrants, None, false, machine.kind() != Kind::Atomic, 1)?;
    protocol.aggregate = Aggregate::Sum;
    let simulated = pairs(
        &setup,
        compare::simulate(&entrants, machine.clone(), &setup, &protocol)?,
    );
    let both = || {
        (simulated.iter()).filter_map(|(_, canonical, performant)| {
            Some((*canonical.values.first()?, *performant.values.first()?))
        })
    };
    let faster = both()
        .filter(|(canonical, performant)| performant < canonical)
        .count();
    let slower = both()
        .filter(|(canonical, performant)| performant > canonical)
        .count();
    let equal = both().count() - faster - slower;
    rows.push(vec![
        Cell::Text(format!("sim, {}, exact", machine.name)),
        Cell::Count(simulated.len() as u64),
        Cell::Count(faster as u64),
        if simulated.is_empty() {
            Cell::Missing
        } else {
            Cell::Fraction(faster as f64 / simulated.len() as f64)
        },
        Cell::Missing,
        Cell::Missing,
        Cell::Missing,
        Cell::Count(faster as u64),
        Cell::Missing,
    ]);
    notes.insert(
        0,
        format!(
            "the simulator separates {} of {} tasks exactly: performant faster on {faster}, slower on {slower}, equal on {equal}, one of both not accepted on {}",
            faster + slower,
            simulated.len(),
            simulated.len() - both().count()
        ),
    );
    if args.json {
        let tasks: Vec<_> = (simulated.iter().enumerate())
            .map(|(index, (task, canonical, performant))| {
                json!({
                    "task": task,
                    "native": native.as_ref().map(|result| &result.tasks[index]),
                    "sim": {"canonical": canonical, "performant": performant},
                })
            })
            .collect();
        let object = json!({
            "schema_version": SCHEMA_VERSION, "protocol": "le2026", "tasks": tasks,
            "significant": native.as_ref().map(|result| result.significant),
            "by_size": native.as_ref().map(|result| result.by_size),
            "wilcoxon_p": native.as_ref().and_then(|result| result.wilcoxon_p),
            "sim": {"machine": machine.effective(), "faster": faster, "slower": slower, "equal": equal},
            "host": natively.then(host_settings), "notes": notes,
        });
        print_data(format!("{object}\n"))?;
        return Ok(Status::Success);
    }
    if let Some(result) = &native {
        for task in result.tasks.iter().filter(|task| task.reason.is_some()) {
            notes.push(format!(
                "{}: {}",
                task.task,
                task.reason.as_deref().unwrap_or_default()
            ));
        }
    }
    let table = Table {
        title: "le2026: is the performant solution faster than the canonical one?".to_owned(),
        columns: [
            "backend",
            "tasks",
            "significant",
            "share",
            "negligible",
            "small",
            "medium",
            "large",
            "Wilcoxon p",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
        notes,
    };
    print_data(compare::render(&table, args.markdown))?;
    Ok(Status::Success)
}

/// The runs of the canonical and the performant solution by task.
fn pairs(setup: &Setup, runs: Vec<Vec<EntrantRuns>>) -> Vec<(String, EntrantRuns, EntrantRuns)> {
    (setup.tasks.iter().zip(runs))
        .filter_map(|(task, runs)| {
            let [canonical, performant] = <[_; 2]>::try_from(runs).ok()?;
            Some((task.problem.id.clone(), canonical, performant))
        })
        .collect()
}

fn dseffi2026(args: &DseffiArgs) -> Result<Status, CliError> {
    let entrants = &args.entrants;
    if entrants.dataset.is_some() || !entrants.stdin.is_empty() {
        return Err(CliError::usage(
            "`--dataset` and `--stdin` are not for this protocol",
            "give the instances with `--instances`",
        ));
    }
    let natively = !args.simulated;
    compare::check_trust(entrants.run_untrusted, natively)?;
    let machine = machines::resolve(&entrants.machine)?;
    let (instances, skipped) = load_instances(&args.instances)?;
    super::evaluate::tell_defects(&skipped);
    let most = args.stress_inputs.unwrap_or(usize::MAX);
    let problems: Vec<_> = instances.iter().map(Instance::correctness).collect();
    let setup = compare::setup_of(entrants, problems)?;
    let models = setup.names.clone();
    // The reference is an entrant of its own, behind the models.
    let mut protocol =
        compare::protocol(entrants, None, natively, machine.kind() != Kind::Atomic, 3)?;
    protocol.aggregate = Aggregate::Mean;
    protocol.case_limit = (protocol.quantity == Quantity::CpuTime).then_some(TASK_LIMIT_NS);
    let run = |setup: &Setup, protocol: &crate::compare::Protocol| {
        if natively {
            compare::natively_run(entrants, setup, protocol)
        } else {
            let runs = compare::simulate(entrants, machine.clone(), setup, protocol)?;
            Ok((runs, vec![format!("simulated on `{}`", machine.name)]))
        }
    };
    let mut once = protocol.clone();
    (once.warm_up, once.repetitions) = (0, 1);
    let (correctness, _) = run(&setup, &once)?;
    // Only what passes the correctness domains meets the stress domains.
    let stress: Vec<_> = instances
        .iter()
        .map(|instance| instance.stress(most))
        .collect();
    let mut stressed = compare::setup_of(entrants, stress)?;
    for (task, runs) in stressed.tasks.iter_mut().zip(&correctness) {
        for (entrant, run) in task.entrants.iter_mut().zip(runs) {
            if !run.verdict.is_accepted() {
                entrant.artifact = Err(run.verdict.clone());
            }
        }
    }
    let (runs, mut notes) = run(&stressed, &protocol)?;
    let mean_of =
        |runs: &EntrantRuns| (!runs.values.is_empty()).then(|| crate::stats::mean(&runs.values));
    let tasks: Vec<SpectrumTask> = (stressed.tasks.iter().zip(&runs))
        .map(|(task, runs)| {
            let (reference, models) = runs.split_last().expect("the reference is an entrant");
            SpectrumTask {
                task: task.problem.id.clone(),
                reference: mean_of(reference),
                models: models.iter().map(mean_of).collect(),
            }
        })
        .collect();
    let names: Vec<String> = models[..models.len() - 1].to_vec();
    let scores = score(&names, &tasks);
    for (task, runs) in stressed.tasks.iter().zip(&runs) {
        for run in runs.iter().filter(|run| !run.verdict.is_accepted()) {
            notes.push(format!(
                "{}: {}: {}",
                task.problem.id,
                run.name,
                shortened(&run.verdict)
            ));
        }
    }
    for (task, instance) in tasks.iter().zip(&instances) {
        if task.reference.is_none() {
            notes.push(format!(
                "{}: the reference itself fails; the spectrum is that of the models",
                task.task
            ));
        }
        if most < instance.stress_domains() {
            notes.push(format!(
                "{}: {most} of {} stress inputs",
                task.task,
                instance.stress_domains()
            ));
        }
    }
    notes.insert(
        0,
        format!(
            "{} instances; {}; {} timed runs after {} of warm-up; the spectrum is every correct solution and the reference",
            tasks.len(),
            protocol.quantity.name(),
            protocol.repetitions,
            protocol.warm_up
        ),
    );
    if args.json {
        let object = json!({
            "schema_version": SCHEMA_VERSION, "protocol": "dseffi2026", "models": scores, "tasks": tasks,
            "runs": runs, "settings": protocol,
            "machine": (!natively).then(|| machine.effective()), "host": natively.then(host_settings), "notes": notes,
        });
        print_data(format!("{object}\n"))?;
        return Ok(Status::Success);
    }
    let fraction = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Fraction);
    let table = Table {
        title: "dseffi2026: efficiency over the spectrum of all correct solutions".to_owned(),
        columns: [
            "model",
            "Pass",
            "Beyond",
            "Beyond given Pass",
            "wins",
            "losses",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: (scores.iter())
            .map(|score| {
                vec![
                    Cell::Text(score.model.clone()),
                    Cell::Fraction(score.pass),
                    Cell::Fraction(score.beyond),
                    fraction(score.beyond_given_pass),
                    fraction(score.win_rate),
                    fraction(score.loss_rate),
                ]
            })
            .collect(),
        notes,
    };
    print_data(compare::render(&table, args.markdown))?;
    Ok(Status::Success)
}

fn shortened(verdict: &Verdict) -> String {
    let text = verdict.to_string();
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn jeto2026(args: &JetoArgs) -> Result<Status, CliError> {
    let margin = if args.conservative {
        Margin::CONSERVATIVE
    } else {
        Margin::DEFAULT
    };
    let verdict = match (&args.recorded, &args.original) {
        (Some(folder), None) => {
            let read =
                |name: &str| read_rounds(&folder.join(name)).map_err(|e| CliError::usage(e, ""));
            judge_rounds(&read("original")?, &read("patched")?, margin).map_err(|error| {
                CliError::usage(
                    format!("`{}`: {error}", folder.display()),
                    "record as many rounds of the patched tree as of the original",
                )
            })?
        }
        (None, Some(original)) => live(args, original, margin)?,
        _ => {
            return Err(CliError::usage(
                "neither a tree nor recorded rounds are given",
                "give `--original DIR --patch FILE --test COMMAND --run-untrusted`, or `--recorded DIR`",
            ));
        }
    };
    let judged = matches!(verdict, PatchVerdict::Judged(_));
    if args.json {
        let object =
            json!({"schema_version": SCHEMA_VERSION, "protocol": "jeto2026", "verdict": verdict});
        print_data(format!("{object}\n"))?;
    } else {
        print_data(compare::render(&patch_table(&verdict), args.markdown))?;
    }
    Ok(if judged {
        Status::Success
    } else {
        Status::Negative
    })
}

fn patch_table(verdict: &PatchVerdict) -> Table {
    let mut table = Table {
        title: "jeto2026: is the patched tree faster?".to_owned(),
        ..Table::default()
    };
    let columns = || {
        [
            "class",
            "original [ms]",
            "patched [ms]",
            "p faster",
            "p slower",
            "significant",
        ]
        .map(str::to_owned)
        .to_vec()
    };
    match verdict {
        PatchVerdict::BadPatch { text } => table.notes.push(format!("bad patch: {text}")),
        PatchVerdict::DoesNotCompile { text } => {
            table.notes.push(format!("does not compile: {text}"))
        }
        PatchVerdict::FailsTests { round, tests } => {
            table.notes.push(format!(
                "fails tests in round {round}: {}",
                tests.join(", ")
            ));
        }
        PatchVerdict::Void { text } => table.notes.push(format!("void: {text}")),
        PatchVerdict::Judged(judgement) => {
            table.columns = columns();
            for class in std::iter::once(&judgement.overall).chain(&judgement.classes) {
                let milliseconds = |seconds: f64| Cell::Text(number::factor(1000.0 * seconds));
                table.rows.push(vec![
                    Cell::Text(class.class.clone()),
                    milliseconds(class.original_seconds),
                    milliseconds(class.patched_seconds),
                    Cell::Text(number::p_value(class.improvement_p)),
                    Cell::Text(number::p_value(class.regression_p)),
                    Cell::Text(
                        match class.direction {
                            Direction::Improvement => "improvement",
                            Direction::Regression => "regression",
                            Direction::None => "no",
                        }
                        .to_owned(),
                    ),
                ]);
            }
            table.notes.push(format!(
                "{} rounds of both; a round counts from a difference of {} on; significant at p {}",
                judgement.rounds,
                number::percent(100.0 * judgement.margin.improvement),
                judgement.margin.level
            ));
            if !judgement.left_out.is_empty() {
                table.notes.push(format!(
                    "classes that did not run in every round: {}",
                    judgement.left_out.join(", ")
                ));
            }
        }
    }
    table
}

/// Applies the patch to a copy, builds both trees and runs their tests round by round, original and patched in turn.
fn live(args: &JetoArgs, original: &Path, margin: Margin) -> Result<PatchVerdict, CliError> {
    if !args.run_untrusted {
        return Err(CliError::usage(
            "the commands of a project and its patch would run on this host, without a sandbox",
            "where you trust them, add `--run-untrusted`",
        ));
    }
    let (Some(patch), Some(test)) = (&args.patch, &args.test) else {
        return Err(CliError::usage(
            "`--original` needs `--patch FILE` and `--test COMMAND`",
            "docs/protocols.md has an example",
        ));
    };
    let text = std::fs::read_to_string(patch).map_err(|error| {
        CliError::usage(
            format!("cannot read `{}`: {error}", patch.display()),
            "give a unified diff",
        )
    })?;
    let folder = PrivateFolder::new().map_err(|error| failure(&error.to_string()))?;
    let trees = [
        folder.path().join("original"),
        folder.path().join("patched"),
    ];
    for tree in &trees {
        copy_tree(original, tree).map_err(|error| {
            CliError::usage(
                format!("cannot copy `{}`: {error}", original.display()),
                "give a folder that can be read, and free some space",
            )
        })?;
    }
    let patch_file = folder.path().join("change.patch");
    std::fs::write(&patch_file, &text).map_err(|error| failure(&error.to_string()))?;
    let applied = command(
        "if command -v patch >/dev/null; then patch -p1 -f -i ../change.patch; \
         elif command -v git >/dev/null; then git apply ../change.patch; else exit 127; fi",
        &trees[1],
        args,
        &[],
    )?;
    match applied {
        Ran::Passed => {}
        Ran::Failed { code: 127, .. } => {
            return Err(CliError {
                message: "neither `patch` nor `git` is there to apply the patch".to_owned(),
                hint: "install one of them, such as `apt-get install patch`".to_owned(),
                status: Status::Failure,
            });
        }
        Ran::Failed { text, .. } => return Ok(PatchVerdict::BadPatch { text }),
    }
    let mut modules = modified_modules(&text);
    if modules.is_empty() {
        return Ok(PatchVerdict::BadPatch {
            text: "it changes no file".to_owned(),
        });
    }
    if let Some(class) = &args.test_class {
        // The second mode: a generated test class is judged, alone, on the original and the ground truth.
        let source = std::fs::read_to_string(class).map_err(|error| {
            CliError::usage(
                format!("cannot read `{}`: {error}", class.display()),
                "give a Java source file",
            )
        })?;
        let (module, place) = place_of(&source, class, &modules)?;
        for tree in &trees {
            let place = tree.join(&place);
            let written = place.parent().map_or(Ok(()), std::fs::create_dir_all);
            written
                .and_then(|()| std::fs::write(&place, &source))
                .map_err(|e| failure(&e.to_string()))?;
        }
        modules = BTreeSet::from([module]);
    }
    let classes = match &args.test_class {
        Some(class) => vec![class_name(
            &std::fs::read_to_string(class).unwrap_or_default(),
            class,
        )],
        None => test_classes(&trees[0], &modules).map_err(|error| failure(&error.to_string()))?,
    };
    if classes.is_empty() {
        return Ok(PatchVerdict::Void {
            text: "the modified modules have no test class".to_owned(),
        });
    }
    let names: Vec<&str> = modules
        .iter()
        .map(|m| if m.is_empty() { "." } else { m })
        .collect();
    let environment = [
        ("TICKMARK_MODULES", names.join(" ")),
        ("TICKMARK_TEST_CLASSES", classes.join(" ")),
    ];
    if let Some(build) = &args.build {
        for (index, tree) in trees.iter().enumerate() {
            if let Ran::Failed { text, .. } = command(build, tree, args, &environment)? {
                return Ok(if index == 0 {
                    PatchVerdict::Void {
                        text: format!("the original does not compile: {text}"),
                    }
                } else {
                    PatchVerdict::DoesNotCompile { text }
                });
            }
        }
    }
    let mut rounds = [Vec::new(), Vec::new()];
    for round in 0..=args.rounds {
        eprintln!(
            "round {round} of {}{}",
            args.rounds,
            if round == 0 { " (warm-up)" } else { "" }
        );
        for (index, tree) in trees.iter().enumerate() {
            let reports = tree.join(&args.reports);
            let _ = std::fs::remove_dir_all(&reports);
            let ran = command(test, tree, args, &environment)?;
            let classes = if reports.is_dir() {
                read_reports(&reports).map_err(|error| failure(&error))?
            } else {
                Default::default()
            };
            let failed: Vec<String> = (classes.iter())
                .flat_map(|(class, report)| {
                    report
                        .failed
                        .iter()
                        .map(move |test| format!("{class}.{test}"))
                })
                .collect();
            if !failed.is_empty() || classes.is_empty() || matches!(ran, Ran::Failed { .. }) {
                let text = match (&ran, failed.is_empty()) {
                    (_, false) => failed.join(", "),
                    (Ran::Failed { text, .. }, _) => text.clone(),
                    (Ran::Passed, _) => format!("no report under `{}`", args.reports.display()),
                };
                return Ok(if index == 0 {
                    PatchVerdict::Void {
                        text: format!("the original fails in round {round}: {text}"),
                    }
                } else {
                    PatchVerdict::FailsTests {
                        round,
                        tests: if failed.is_empty() {
                            vec![text]
                        } else {
                            failed
                        },
                    }
                });
            }
            if round > 0 {
                rounds[index].push(classes);
            }
        }
    }
    let [original, patched] = rounds;
    judge_rounds(&original, &patched, margin).map_err(compare::statistics)
}

fn failure(text: &str) -> CliError {
    CliError {
        message: text.to_owned(),
        hint: String::new(),
        status: Status::Failure,
    }
}

/// How a project's command ended.
enum Ran {
    Passed,
    Failed { code: u8, text: String },
}

/// Runs a line of shell in a tree, with the time limit of the protocol and the host's search path only.
fn command(
    line: &str,
    folder: &Path,
    args: &JetoArgs,
    environment: &[(&str, String)],
) -> Result<Ran, CliError> {
    let inherited = ["PATH", "HOME", "JAVA_HOME", "LANG"];
    let limit = Duration::from_secs(args.limit);
    let finished = process::run(process::Request {
        program: PathBuf::from("/bin/sh"),
        name: None,
        arguments: vec!["-c".into(), line.into()],
        environment: (inherited.iter())
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
            .chain(
                environment
                    .iter()
                    .map(|(name, value)| (name.into(), value.into())),
            )
            .collect(),
        folder: folder.to_owned(),
        stdin: b"",
        limits: process::Limits {
            wall: limit,
            cpu: limit * 16,
            memory_bytes: None,
            address_space_bytes: None,
            file_bytes: 4 << 30,
            stack_bytes: 8 << 20,
            output_bytes: 64 << 20,
        },
        isolation: Isolation {
            trusted: true,
            ..Isolation::default()
        },
        channel: None,
        counting: process::Counting::default(),
    })
    .map_err(|error| failure(&error.to_string()))?;
    let code = match finished.ending {
        Ending::Exited { code: 0 } => return Ok(Ran::Passed),
        Ending::Exited { code } => code,
        _ => 255,
    };
    let mut said = String::from_utf8_lossy(&finished.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&finished.stderr));
    let said = said.trim();
    let start = said.len().saturating_sub(QUOTED_BYTES);
    let start = (start..=said.len())
        .find(|&at| said.is_char_boundary(at))
        .unwrap_or(0);
    let ending = if code == 255 {
        format!("{:?}: ", finished.ending)
    } else {
        String::new()
    };
    Ok(Ran::Failed {
        code,
        text: format!("{ending}{}", &said[start..]),
    })
}

/// Copies folders and files; symbolic links stay links.
fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, kind) = (to.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            copy_tree(&entry.path(), &path)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &path)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &path)?;
        }
    }
    Ok(())
}

/// Names of the test classes of modules: files below `src/test/java` named as test runners look for them.
fn test_classes(tree: &Path, modules: &BTreeSet<String>) -> std::io::Result<Vec<String>> {
    let mut classes = Vec::new();
    for module in modules {
        let root = tree.join(module).join("src/test/java");
        let mut folders = if root.is_dir() {
            vec![root.clone()]
        } else {
            Vec::new()
        };
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let (Some("java"), Some(stem)) = (
                    path.extension().and_then(|extension| extension.to_str()),
                    path.file_stem().and_then(|stem| stem.to_str()),
                ) else {
                    continue;
                };
                let is_test = stem.starts_with("Test")
                    || ["Test", "Tests", "TestCase"]
                        .iter()
                        .any(|end| stem.ends_with(end));
                if is_test && let Ok(below) = path.with_extension("").strip_prefix(&root) {
                    classes.push(below.to_string_lossy().replace('/', "."));
                }
            }
        }
    }
    classes.sort();
    Ok(classes)
}

/// The package that a Java source declares; empty for none.
fn package(source: &str) -> &str {
    (source.lines())
        .find_map(|line| line.trim().strip_prefix("package ")?.split(';').next())
        .map_or("", str::trim)
}

fn class_name(source: &str, file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    match package(source) {
        "" => stem.into_owned(),
        package => format!("{package}.{stem}"),
    }
}

/// The module and the place of a generated test class: the only modified module's test folder.
fn place_of(
    source: &str,
    file: &Path,
    modules: &BTreeSet<String>,
) -> Result<(String, PathBuf), CliError> {
    let mut all = modules.iter();
    let (Some(module), None) = (all.next(), all.next()) else {
        return Err(CliError::usage(
            "the ground truth changes several modules, so that the test class has no place",
            "give a ground truth that changes one module",
        ));
    };
    let package = package(source);
    if !package
        .split('.')
        .all(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_'))
    {
        return Err(CliError::usage(
            format!("`{}` declares no usable package", file.display()),
            "write `package a.b;`",
        ));
    }
    let place = Path::new(module)
        .join("src/test/java")
        .join(package.replace('.', "/"))
        .join(file.file_name().unwrap_or_default());
    Ok((module.clone(), place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_class_stands_where_its_package_says() {
        let modules = BTreeSet::from(["core".to_owned()]);
        let source = "// x\npackage a.b;\nclass T {}\n";
        let (module, place) = place_of(source, Path::new("/tmp/FooTest.java"), &modules).unwrap();
        assert_eq!(module, "core");
        assert_eq!(place, Path::new("core/src/test/java/a/b/FooTest.java"));
        assert_eq!(class_name(source, Path::new("FooTest.java")), "a.b.FooTest");
        assert!(place_of("package ../x;", Path::new("T.java"), &modules).is_err());
    }
}
