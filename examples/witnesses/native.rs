//! The native side: builds programs, runs them, steps through their spans.
use super::level;
use super::single_step::{FirstStack, Spans};
use super::witness::{Program, Witness};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a native run may take: what waits for something that never comes has to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// The sources of the rows' programs and scripts.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/witnesses/programs")
}

/// Folders and choices of this run.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// For everything that is built.
    pub(crate) work: PathBuf,
    /// The interpreter of a virtual environment.
    pub(crate) python: Option<PathBuf>,
}

/// What a native run gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: Vec<u8>,
    /// Exit code, or minus the signal.
    pub(crate) code: i32,
}

/// A program that is ready to run, or why there is none.
pub(crate) fn prepare(witness: &Witness, place: &Place) -> Result<PathBuf, String> {
    match witness.program {
        Program::Installed { path, package } => {
            let found = PathBuf::from(path);
            if found.is_file() {
                Ok(found)
            } else {
                Err(format!("not installed: `apt-get install {package}`"))
            }
        }
        Program::Built {
            source,
            build,
            package,
        } => built(witness.name, source, build, package, place),
        Program::Python { packages, .. } => python(packages, place),
    }
}

fn built(
    name: &str,
    source: &str,
    build: &[&str],
    package: &str,
    place: &Place,
) -> Result<PathBuf, String> {
    let folder = place.work.join("built");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    // Some compilers write beside their source.
    for (name, content) in inputs() {
        std::fs::write(folder.join(&name), content).map_err(|e| format!("{name}: {e}"))?;
    }
    let input = folder.join(source);
    let output = folder.join(name.replace(['/', ' '], "-"));
    let fill = |part: &&str| {
        part.replace("{in}", &input.to_string_lossy())
            .replace("{out}", &output.to_string_lossy())
    };
    let finished = Command::new(build[0])
        .args(build[1..].iter().map(fill))
        .output();
    let Ok(finished) = finished else {
        return Err(format!("not installed: `apt-get install {package}`"));
    };
    if finished.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&finished.stderr).into_owned();
    if text.contains("No such file or directory") || text.contains("cannot find -l") {
        return Err(format!("not installed: `apt-get install {package}`"));
    }
    Err(format!(
        "not built: {}",
        text.lines().next().unwrap_or_default()
    ))
}

fn python(packages: &[&str], place: &Place) -> Result<PathBuf, String> {
    if packages.is_empty() {
        let found = PathBuf::from("/usr/bin/python3");
        return if found.is_file() {
            Ok(found)
        } else {
            Err("not installed: `apt-get install python3`".to_owned())
        };
    }
    let wanted = packages.join(" ");
    let remedy = format!(
        "not installed: `python3 -m venv DIR && DIR/bin/pip install {wanted}`, then `--python DIR/bin/python`"
    );
    let Some(python) = &place.python else {
        return Err(remedy);
    };
    let imports = format!("import {}", packages.join(", "));
    let finished = Command::new(python).args(["-c", &imports]).output();
    match finished {
        Ok(finished) if finished.status.success() => Ok(python.clone()),
        _ => Err(remedy),
    }
}

/// What the program is called.
pub(crate) fn argv0<'a>(witness: &'a Witness, program: &'a Path) -> std::borrow::Cow<'a, str> {
    match (witness.argv0, witness.program) {
        (Some(name), _) => name.into(),
        (None, Program::Built { .. }) => "./program".into(),
        (None, _) => program.to_string_lossy(),
    }
}

/// The files that both sides see in their working directory.
pub(crate) fn inputs() -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(sources());
    let mut files: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, std::fs::read(entry.path()).ok()?))
        })
        .collect();
    files.sort();
    files
}

/// The command of a row in a new folder, with its input and output in files.
struct Start {
    command: Command,
    stdout: PathBuf,
}

/// Where programs work.
pub(crate) fn folder(place: &Place) -> PathBuf {
    place.work.join("job")
}

fn start(witness: &Witness, program: &Path, place: &Place) -> Result<Start, String> {
    let folder = folder(place);
    let failure = |e: std::io::Error| format!("{}: {e}", folder.display());
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(failure)?;
    for (name, content) in inputs() {
        std::fs::write(folder.join(name), content).map_err(failure)?;
    }
    let (stdin, stdout) = (place.work.join("stdin"), place.work.join("stdout"));
    std::fs::write(&stdin, witness.stdin).map_err(failure)?;
    let mut command = Command::new(program);
    command
        .arg0(&*argv0(witness, program))
        .env_clear()
        .envs(level::environment(witness.v3))
        .current_dir(&folder)
        .stdin(File::open(&stdin).map_err(failure)?)
        .stdout(File::create(&stdout).map_err(failure)?)
        .stderr(Stdio::null());
    if let Program::Python { script, packages } = witness.program {
        // Only programs that are not ours start in both worlds from the same files.
        command.env_remove("PYTHONPYCACHEPREFIX");
        command.args(["-s", "-B", "-X", "utf8"]).arg(script);
        if !packages.is_empty() {
            let without = level::without_numpy_features(witness.v3, &dispatched(program));
            command.env("NPY_DISABLE_CPU_FEATURES", without);
        }
    }
    command.args(witness.arguments);
    Ok(Start { command, stdout })
}

/// The features for which numpy has routines beyond its baseline and that this processor has.
fn dispatched(python: &Path) -> String {
    const QUESTION: &str = "
import numpy._core._multiarray_umath as m
print(*[f for f in m.__cpu_dispatch__ if m.__cpu_features__.get(f)])";
    let finished = Command::new(python).args(["-c", QUESTION]).output();
    finished
        .map(|finished| String::from_utf8_lossy(&finished.stdout).trim().to_owned())
        .unwrap_or_default()
}

/// Runs a row on the host.
pub(crate) fn run(witness: &Witness, program: &Path, place: &Place) -> Result<Ran, String> {
    use std::os::unix::process::ExitStatusExt;
    let Start {
        mut command,
        stdout,
    } = start(witness, program, place)?;
    super::single_step::like_a_guest(&mut command, tickmark::sim::outcome::Device::FD)?;
    let mut child = command
        .spawn()
        .map_err(|e| format!("does not start: {e}"))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if started.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("natively: no end after {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    Ok(Ran {
        stdout: std::fs::read(&stdout).map_err(|e| format!("{}: {e}", stdout.display()))?,
        code: (status.code()).unwrap_or_else(|| -status.signal().unwrap_or_default()),
    })
}

/// The instructions of a row's spans on the host, where it begins with the first stack of its guest.
pub(crate) fn spans(
    witness: &Witness,
    program: &Path,
    place: &Place,
    longest: u64,
    stack: &FirstStack,
) -> Result<Spans, String> {
    let mut start = start(witness, program, place)?;
    super::single_step::spans(
        &mut start.command,
        tickmark::sim::outcome::Device::FD,
        longest,
        Some(stack),
    )
}
