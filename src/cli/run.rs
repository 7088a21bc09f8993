//! `tickmark run`: one program, its output and its counters.
use super::args::{BackendChoice, LimitArgs, RunArgs, cache_folder};
use super::compare::check_trust;
use super::error::CliError;
use super::{Status, machines, print_data};
use crate::artifact::{Artifact, ElfArtifact, Toolchain, ToolchainOptions, existing};
use crate::backend::Backend;
use crate::backend::gem5::{self, Gem5};
use crate::backend::native::Native;
use crate::backend::sim::{Options, Sim};
use crate::backend::verified::Verified;
use crate::measurement::{BackendName, Measurement};
use crate::sim::outcome::{Exit, Limits};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Version of the JSON object that `run --json` prints; docs/formats.md describes it.
const SCHEMA_VERSION: u32 = 1;

/// The bytes of an option in MiB.
pub(super) fn mebibytes(mib: u64, option: &str) -> Result<u64, CliError> {
    mib.checked_mul(1 << 20)
        .filter(|&bytes| bytes > 0 && bytes <= 1 << 45)
        .ok_or_else(|| {
            CliError::usage(
                format!("`--{option} {mib}` is out of range"),
                "give a number of MiB from 1 to 33554432",
            )
        })
}

impl LimitArgs {
    pub(super) fn limits(&self) -> Result<Limits, CliError> {
        Ok(Limits {
            instructions: self.max_instructions,
            memory_bytes: mebibytes(self.max_memory, "max-memory")?,
            stack_bytes: mebibytes(self.max_stack, "max-stack")?,
            output_bytes: mebibytes(self.max_output, "max-output")?,
        })
    }
}

pub(super) fn run(args: RunArgs) -> Result<Status, CliError> {
    check_trust(args.run_untrusted, args.backend == BackendChoice::Native)?;
    let machine = machines::resolve(&args.machine)?;
    let limits = args.limits.limits()?;
    let mut roots = Vec::new();
    for text in &args.roots {
        roots.push(parse_root(text)?);
    }
    let (program, arguments) = args.command.split_first().expect("clap demands a program");
    let (artifact, skip) = artifact_of(program, arguments, args.argv0.as_ref())?;
    let arguments: Vec<Vec<u8>> = arguments[skip..]
        .iter()
        .cloned()
        .map(OsString::into_vec)
        .collect();
    let stdin = read_stdin()?;
    let mut statistics = None;
    let measurement = match args.backend {
        BackendChoice::Sim => {
            let sim = Sim::new(Options {
                machine: machine.clone(),
                snapshots: false,
                seed: args.seed,
                wall_clock: Duration::from_secs(args.limits.max_wall),
                cache: cache_folder(),
                roots,
            });
            if args.verify_determinism {
                let verified = Verified::new(&sim);
                verified
                    .run_with_arguments(&artifact, &arguments, &stdin, &limits)
                    .map_err(|failure| CliError {
                        status: verification_status(&verified),
                        ..failure.into()
                    })?
            } else {
                sim.run_with_arguments(&artifact, &arguments, &stdin, &limits)?
            }
        }
        BackendChoice::Native | BackendChoice::Gem5 if args.verify_determinism => {
            return Err(not_for_native());
        }
        BackendChoice::Native => {
            let native = Native::new(Duration::from_secs(args.limits.max_wall));
            let measurement = native.run_with_arguments(&artifact, &arguments, &stdin, &limits)?;
            let missing = native.not_applied();
            if !missing.is_empty() {
                eprintln!("warning: this system did not grant: {}", missing.join(", "));
            }
            measurement
        }
        BackendChoice::Gem5 => {
            let gem5 = Gem5::new(gem5::Options {
                machine: machine.clone(),
                executable: args.gem5.gem5.clone(),
                wall_clock: Duration::from_secs(args.limits.max_wall),
                seed: args.seed,
                keep: args.gem5_out.clone(),
                frozen: args.gem5_frozen.clone(),
            })?;
            super::gem5::tell(&gem5);
            let detailed = gem5.run_in_detail(&artifact, &arguments, &stdin, &limits)?;
            super::gem5::tell_not_applied(&gem5);
            let mut object = super::gem5::provenance(&gem5);
            object["statistics"] = json!(detailed.statistics);
            statistics = Some(object);
            detailed.measurement
        }
    };
    if args.json {
        let mut object = to_json(&measurement, &artifact, program, &machine);
        if let Some(statistics) = statistics {
            object["gem5"] = statistics;
        }
        print_data(format!("{object}\n"))?;
    } else {
        print_data(&measurement.stdout)?;
        let _ = std::io::stderr().write_all(&measurement.stderr);
        summarise(&measurement);
    }
    Ok(match measurement.exit {
        Exit::Exited { code: 0 } => Status::Success,
        Exit::WallClock => Status::Failure,
        Exit::LoadFailed { .. } => Status::Usage,
        _ => Status::Negative,
    })
}

/// What is said where runs that cannot repeat are to be verified.
pub(super) fn not_for_native() -> CliError {
    CliError::usage(
        "`--verify-determinism` is for the simulator: times on the host processor never repeat exactly",
        "leave out `--backend native`",
    )
}

/// The exit code of a failure under `--verify-determinism`.
pub(super) fn verification_status(verified: &Verified<'_>) -> Status {
    match verified.differences() {
        0 => Status::Failure,
        _ => Status::NotDeterministic,
    }
}

fn parse_root(text: &str) -> Result<(String, PathBuf), CliError> {
    match text.split_once('=') {
        Some((guest, host)) if guest.starts_with('/') && Path::new(host).is_dir() => {
            Ok((guest.to_owned(), PathBuf::from(host)))
        }
        _ => Err(CliError::usage(
            format!("`--root {text}` is not a guest path and a folder of this host"),
            "write it as /GUEST/PATH=HOST/FOLDER",
        )),
    }
}

fn read_stdin() -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin();
    if !stdin.is_terminal() {
        stdin.read_to_end(&mut bytes).map_err(|error| {
            CliError::usage(
                format!("cannot read standard input: {error}"),
                "give it with `< FILE` or `< /dev/null`",
            )
        })?;
    }
    Ok(bytes)
}

/// The artifact, and how many of the arguments it has taken in.
fn artifact_of(
    program: &OsString,
    arguments: &[OsString],
    argv0: Option<&OsString>,
) -> Result<(Artifact, usize), CliError> {
    let name = Path::new(program)
        .file_name()
        .unwrap_or(program)
        .to_string_lossy();
    if name.starts_with("python") {
        if argv0.is_some() {
            return Err(CliError::usage(
                "`--argv0` is not for Python scripts, which see the script's name",
                "leave it out",
            ));
        }
        let Some(script) = arguments
            .first()
            .filter(|a| !a.to_string_lossy().starts_with('-'))
        else {
            return Err(CliError::usage(
                "`run -- python3` needs a script as its first argument",
                "the interpreter's options are fixed, so that runs repeat: `tickmark run -- python3 SCRIPT ARGUMENTS`",
            ));
        };
        let source = read_file(Path::new(script))?;
        let source = String::from_utf8(source).map_err(|_| {
            CliError::usage(
                format!("`{}` is not UTF-8", script.to_string_lossy()),
                "Python sources are UTF-8 here",
            )
        })?;
        let candidate = crate::candidate::Candidate::PythonProgram { source };
        let toolchain = Toolchain::new(ToolchainOptions {
            python: (!name.starts_with("python3") || program.to_string_lossy().contains('/'))
                .then(|| program.into()),
            cache: Some(cache_folder()),
            ..ToolchainOptions::default()
        });
        let artifact = crate::artifact::build(&candidate, &toolchain, &Default::default())
            .map_err(|failure| CliError {
                message: failure.to_string(),
                hint: String::new(),
                status: Status::Failure,
            })?;
        return Ok((artifact, 1));
    }
    let path = find_program(program)?;
    let bytes: Arc<[u8]> = read_file(&path)?.into();
    let argv0 = argv0.map_or(ElfArtifact::NAME.as_bytes(), |name| name.as_bytes());
    Ok((Artifact::Elf(existing(bytes, argv0)?), 0))
}

fn find_program(program: &OsString) -> Result<PathBuf, CliError> {
    let direct = PathBuf::from(program);
    if direct.components().count() > 1 || direct.is_file() {
        return Ok(direct);
    }
    std::env::var_os("PATH")
        .into_iter()
        .flat_map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>())
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            CliError::usage(
                format!("there is no program `{}`", program.to_string_lossy()),
                "give the path of an executable, or a name that is in PATH",
            )
        })
}

fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| {
        CliError::usage(
            format!("cannot read `{}`: {error}", path.display()),
            "check the path and its permissions",
        )
    })
}

fn summarise(measurement: &Measurement) {
    let counters = &measurement.counters;
    eprintln!("{}", describe(&measurement.exit));
    let line = |name: &str, value: String| eprintln!("{name:<24} {value}");
    line("machine", measurement.machine.clone());
    // The host tells no counts: a zero would be a wrong number.
    if measurement.backend != BackendName::Native && counters.instructions > 0 {
        line("instructions", counters.instructions.to_string());
        line("micro_ops", counters.micro_ops.to_string());
        line("system_calls", counters.system_calls.to_string());
    }
    if let Some(cycles) = counters.cycles {
        line("cycles", cycles.to_string());
    }
    if let Some(time) = counters.simulated_time_ps {
        line("simulated_time_ps", time.to_string());
    }
    if measurement.backend != BackendName::Gem5 {
        line("peak_memory_bytes", counters.peak_memory_bytes.to_string());
    }
    for (name, value) in &counters.parts {
        line(name, value.to_string());
    }
    if !measurement.unanswered_system_calls.is_empty() {
        line("unanswered", measurement.unanswered_system_calls.join(" "));
    }
    if measurement.clock_read {
        eprintln!("note: the program read a clock, which shows simulated time");
    }
}

/// The counters as `--json` shows them: those that the backend has.
fn counters_json(measurement: &Measurement) -> Value {
    let mut value = serde_json::to_value(&measurement.counters).unwrap_or(Value::Null);
    let absent: &[&str] = match measurement.backend {
        BackendName::Sim => &[],
        BackendName::Native => &[
            "instructions",
            "micro_ops",
            "system_calls",
            "memory_kib_cycles",
        ],
        // A guest that faults ends gem5 before it has written any.
        BackendName::Gem5 if measurement.counters.instructions == 0 => &[
            "instructions",
            "micro_ops",
            "system_calls",
            "memory_kib_cycles",
            "peak_memory_bytes",
        ],
        BackendName::Gem5 => &["memory_kib_cycles", "peak_memory_bytes"],
    };
    if let Some(object) = value.as_object_mut() {
        for name in absent {
            object.remove(*name);
        }
    }
    value
}

fn regions_json(measurement: &Measurement) -> Value {
    match measurement.backend {
        BackendName::Sim | BackendName::Gem5 => json!(measurement.regions),
        BackendName::Native => measurement
            .region_cpu_time_ns
            .iter()
            .map(|time| json!({"cpu_time_ns": time}))
            .collect(),
    }
}

/// The verdict on a run without an expected output: how it ended.
fn verdict(exit: &Exit) -> &'static str {
    match exit {
        Exit::Exited { code: 0 } => "completed",
        Exit::Exited { .. } => "exit_code",
        Exit::Signaled { .. } => "signal",
        Exit::StackOverflow { .. } => "stack_overflow",
        Exit::MemoryLimit => "memory_limit",
        Exit::OutputLimit => "output_limit",
        Exit::InstructionLimit => "instruction_limit",
        Exit::Deadlock { .. } => "deadlock",
        Exit::TimeLimit => "time_limit",
        Exit::UnsupportedInstruction { .. } | Exit::UnsupportedSyscall { .. } => "unsupported",
        Exit::ForgedMarker => "forged_marker",
        Exit::LoadFailed { .. } => "load_failed",
        Exit::Paused | Exit::WallClock => "backend_failure",
    }
}

/// One line on how a program ended.
pub(super) fn describe(exit: &Exit) -> String {
    let place = |rip: &u64, function: &Option<String>| match function {
        Some(function) => format!("at {rip:#x} in {function}"),
        None => format!("at {rip:#x}"),
    };
    match exit {
        Exit::Exited { code } => format!("exited with {code}"),
        Exit::Signaled {
            signal,
            rip,
            address,
            function,
        } => {
            let address = address
                .map(|a| format!(", accessing {a:#x}"))
                .unwrap_or_default();
            format!(
                "killed by signal {signal} {}{address}",
                place(rip, function)
            )
        }
        Exit::StackOverflow { rip, function } => format!("stack overflow {}", place(rip, function)),
        Exit::MemoryLimit => "memory limit reached".to_owned(),
        Exit::OutputLimit => "output limit reached".to_owned(),
        Exit::InstructionLimit => "instruction limit reached".to_owned(),
        Exit::Deadlock { call } => format!("deadlock: all threads wait, the first in `{call}`"),
        Exit::TimeLimit => "time limit reached".to_owned(),
        Exit::UnsupportedInstruction {
            mnemonic,
            rip,
            function,
        } => {
            format!(
                "unsupported instruction {mnemonic} {}",
                place(rip, function)
            )
        }
        Exit::UnsupportedSyscall { name } => format!("unsupported: {name}"),
        Exit::ForgedMarker => "the program wrote markers that are not its driver's".to_owned(),
        Exit::Paused => "paused".to_owned(),
        Exit::LoadFailed { reason } => format!("cannot be loaded: {reason}"),
        Exit::WallClock => "wall-clock guard reached: a failure of the infrastructure".to_owned(),
    }
}

fn to_json(
    measurement: &Measurement,
    artifact: &Artifact,
    program: &OsString,
    machine: &crate::sim::machine::Machine,
) -> Value {
    let name = Path::new(program)
        .file_name()
        .unwrap_or(program)
        .to_string_lossy();
    json!({
        "schema_version": SCHEMA_VERSION,
        "program": name,
        "backend": measurement.backend,
        "machine": measurement.machine,
        "verdict": verdict(&measurement.exit),
        "exit": measurement.exit,
        "counters": counters_json(measurement),
        "region": regions_json(measurement),
        "stdout": String::from_utf8_lossy(&measurement.stdout),
        "stderr": String::from_utf8_lossy(&measurement.stderr),
        "unanswered_system_calls": measurement.unanswered_system_calls,
        "clock_read": measurement.clock_read,
        "provenance": {
            "tickmark": env!("CARGO_PKG_VERSION"),
            "artifact": artifact.content_hash().to_string(),
            "toolchain": artifact.fingerprint().as_ref(),
            "machine": machine.effective(),
            "machine_hash": machine.hash(),
        },
    })
}
