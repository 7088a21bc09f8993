//! One run of gem5 as a process: a private output folder, limits, capture, and what came out of it.
use super::Engine;
use super::counters::counters;
use super::ending::{Crash, ExitEvent, ending, left_out};
use super::find::{arguments, environment};
use super::job::{self, Asked, BEGIN, FrozenJob, Program};
use super::mapping::System;
use super::marks::{Mark, Told};
use super::stats;
use super::world::{WORKING_FOLDER, World};
use crate::artifact::{Artifact, ContentHash};
use crate::process::{self, Ending, Finished, Isolation, PrivateFolder, Request};
use crate::sim::outcome::{Counters, Exit, Limits};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a run is made of.
pub(super) struct Order<'a> {
    pub(super) engine: &'a Engine,
    pub(super) system: &'a System,
    pub(super) artifact: &'a Artifact,
    pub(super) arguments: &'a [Vec<u8>],
    pub(super) stdin: &'a [u8],
    pub(super) limits: &'a Limits,
    pub(super) wall_clock: Duration,
    pub(super) seed: u64,
    /// Where gem5's output folder is copied to.
    pub(super) keep: Option<&'a Path>,
}

/// What a run gave.
pub(super) struct Report {
    pub(super) exit: Exit,
    pub(super) counters: Counters,
    pub(super) told: Told,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) left_out: Vec<String>,
    /// Every statistic as gem5 wrote it.
    pub(super) statistics: BTreeMap<String, String>,
    /// Restrictions that this system did not grant.
    pub(super) not_applied: Vec<&'static str>,
}

/// What our script writes last.
#[derive(Debug, Deserialize)]
pub(super) struct Left {
    #[serde(flatten)]
    pub(super) event: ExitEvent,
    pub(super) marks: Vec<Mark>,
    #[serde(default)]
    pub(super) lost_marks: bool,
}

/// The folders of a run.
pub(super) struct Folders {
    /// gem5's output: its name cannot be guessed by a guest.
    pub(super) out: PathBuf,
    /// The guest's `/`.
    pub(super) jail: PathBuf,
    _private: PrivateFolder,
}

impl Folders {
    pub(super) fn new() -> Result<Self, Crash> {
        let private = PrivateFolder::new().map_err(|error| ours(error.to_string()))?;
        // A guest may climb out of its folder and may not list the one above: it would have to guess.
        let mut random = [0; 16];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut random))
            .map_err(|error| ours(format!("cannot read `/dev/urandom`: {error}")))?;
        let name = ContentHash::of(&random).to_string();
        let out = private.path().join(&name[..32]);
        let jail = private.path().join("root");
        for folder in [&out, &jail] {
            std::fs::create_dir(folder)
                .map_err(|error| ours(format!("cannot make a folder for gem5: {error}")))?;
        }
        Ok(Self {
            out,
            jail,
            _private: private,
        })
    }
}

fn ours(what: String) -> Crash {
    Crash { what, retry: false }
}

/// A nonce that a candidate cannot know when it is written: everything about the artifact decides it.
pub(super) fn nonce(artifact: &Artifact, seed: u64) -> [u8; 16] {
    let hash = ContentHash::of_parts([
        artifact.content_hash().to_string().into_bytes(),
        seed.to_le_bytes().to_vec(),
        b"gem5".to_vec(),
    ])
    .to_string();
    let mut nonce = [0; 16];
    nonce.copy_from_slice(&hash.as_bytes()[..16]);
    nonce
}

/// The words of a guest's command line, which gem5's Python takes as text only.
pub(super) fn words(world: &World, arguments: &[Vec<u8>]) -> Result<Vec<String>, Crash> {
    let mut command = world.command.clone();
    for argument in arguments {
        let text = String::from_utf8(argument.clone()).map_err(|_| {
            ours("an argument is not UTF-8, and gem5's scripts take only text".to_owned())
        })?;
        command.push(text);
    }
    Ok(command)
}

/// gem5 places mappings 64 MiB below the top of the stack: a larger stack would run into them.
pub(super) fn stack_of(limits: &Limits) -> Option<u64> {
    (limits.stack_bytes < 64 << 20).then_some(limits.stack_bytes)
}

/// Runs gem5 once.
///
/// # Errors
/// [`Crash`] when there is no measurement for a reason that is not the guest's.
pub(super) fn run(order: &Order<'_>) -> Result<Report, Crash> {
    let folders = Folders::new()?;
    let nonce = nonce(order.artifact, order.seed);
    let device = order.artifact.device(nonce);
    let inputs = device.as_ref().map(|device| device.inputs.as_slice());
    let world = World::new(&folders.jail, order.artifact, inputs, order.seed)
        .map_err(|error| ours(format!("cannot lay out the guest's files: {error}")))?;
    let command = words(&world, order.arguments)?;
    let out = folders.out.as_path();
    let (stdin, stderr, result) = (
        out.join("stdin"),
        out.join("stderr"),
        out.join("result.json"),
    );
    std::fs::write(&stdin, order.stdin)
        .map_err(|error| ours(format!("cannot write the guest's input: {error}")))?;
    let written = match order.engine {
        Engine::Script(_) => job::write(
            out,
            &Asked::Run {
                result: &result,
                system: order.system,
                program: &Program {
                    executable: &world.executable,
                    command: &command,
                    environment: &world.environment,
                    working_folder: WORKING_FOLDER,
                    stdin: &stdin,
                    stderr: &stderr,
                    jail: Some(&world.root),
                    memory_bytes: order.limits.memory_bytes.next_multiple_of(4096),
                    stack_bytes: stack_of(order.limits),
                },
                max_instructions: order.limits.instructions,
                markers: world.markers.as_deref(),
            },
        ),
        Engine::Library(frozen) => {
            let memory = order.limits.memory_bytes.next_multiple_of(4096);
            if memory != frozen.record.memory_bytes {
                return Err(ours(format!(
                    "the configuration was frozen with {} MiB of memory, and the limit is {} MiB: freeze it again with \
                     `--max-memory`",
                    frozen.record.memory_bytes >> 20,
                    memory >> 20
                )));
            }
            let text = |path: &Path| path.to_string_lossy().into_owned();
            job::write_frozen(
                out,
                &FrozenJob {
                    configuration: text(&frozen.configuration()),
                    result: text(&result),
                    executable: text(&world.executable),
                    command,
                    environment: world.environment.clone(),
                    working_folder: WORKING_FOLDER.to_owned(),
                    stdin: text(&stdin),
                    stderr: text(&stderr),
                    jail: text(&world.root),
                    max_instructions: order.limits.instructions,
                    markers: world.markers.as_deref().map(text),
                },
            )
        }
    };
    written.map_err(|error| ours(format!("cannot write the job for gem5: {error}")))?;
    let finished =
        process::run(request(order, &folders, &world)?).map_err(|error| ours(error.to_string()))?;
    let report = read(order, out, &finished, nonce);
    if let Some(keep) = order.keep {
        copy(out, keep).map_err(|error| {
            ours(format!(
                "cannot copy gem5's output to `{}`: {error}",
                keep.display()
            ))
        })?;
    }
    report
}

fn request<'a>(order: &Order<'a>, folders: &Folders, world: &World) -> Result<Request<'a>, Crash> {
    let mut readable = order.engine.readable();
    readable.extend(world.readable.iter().cloned());
    let (program, arguments) = match order.engine {
        Engine::Script(gem5) => (gem5.executable.clone(), arguments(&folders.out)),
        Engine::Library(_) => {
            let own = std::env::current_exe()
                .map_err(|error| ours(format!("cannot find this program itself: {error}")))?;
            readable.push(own.clone());
            let job = folders.out.join(job::FILE).into_os_string();
            (own, vec!["gem5".into(), "worker".into(), job])
        }
    };
    Ok(Request {
        program,
        name: None,
        arguments,
        environment: environment(),
        folder: folders.out.clone(),
        // The guest's input is a file: gem5 reads it as the guest asks.
        stdin: b"",
        limits: process::Limits {
            wall: order.wall_clock,
            cpu: order.wall_clock + Duration::from_secs(1),
            memory_bytes: None,
            address_space_bytes: None,
            file_bytes: order.limits.output_bytes.max(64 << 20).saturating_add(1),
            stack_bytes: 8 << 20,
            // gem5's own words come before the guest's.
            output_bytes: order.limits.output_bytes.saturating_add(1 << 20),
        },
        isolation: Isolation {
            readable,
            writable: vec![
                folders.out.clone(),
                folders.jail.clone(),
                PathBuf::from("/dev/null"),
            ],
            single_process: true,
            // What gem5 says there decides whose failure it is.
            sealed_stderr: true,
            fixed_layout: true,
            trusted: false,
        },
        channel: None,
        counting: process::Counting::default(),
    })
}

/// What the guest wrote to its standard output: what stands behind our line. `None` when it was not begun.
fn of_guest(stdout: &[u8]) -> Option<&[u8]> {
    let line = BEGIN.as_bytes();
    let at = stdout
        .windows(line.len() + 1)
        .position(|window| &window[..line.len()] == line && window[line.len()] == b'\n')?;
    Some(&stdout[at + line.len() + 1..])
}

/// Reads what a run left.
fn read(
    order: &Order<'_>,
    out: &Path,
    finished: &Finished,
    nonce: [u8; 16],
) -> Result<Report, Crash> {
    let log = String::from_utf8_lossy(&finished.stderr).into_owned();
    if let Some(line) = log.lines().find_map(|line| line.strip_prefix("tickmark: ")) {
        return Err(ours(line.to_owned()));
    }
    let begun = of_guest(&finished.stdout);
    let stdout = begun.unwrap_or_default().to_vec();
    let most = usize::try_from(order.limits.output_bytes).unwrap_or(usize::MAX);
    let mut stderr = std::fs::read(out.join("stderr")).unwrap_or_default();
    let too_much = begun.is_some()
        && (stdout.len() > most || stderr.len() > most || finished.ending == Ending::OutputLimit);
    stderr.truncate(most);
    let result = match std::fs::read(out.join("result.json")) {
        Ok(bytes) => Some(
            serde_json::from_slice::<Left>(&bytes).map_err(|error| Crash {
                what: format!("gem5 left a result that cannot be read: {error}"),
                retry: true,
            })?,
        ),
        Err(_) => None,
    };
    let exit = if too_much {
        Exit::OutputLimit
    } else {
        let event = result.as_ref().map(|result| &result.event);
        ending(event, &finished.ending, &log, &stderr)?
    };
    let mut report = Report {
        exit,
        counters: Counters::default(),
        told: Told::default(),
        stdout: stdout[..stdout.len().min(most)].to_vec(),
        stderr,
        left_out: left_out(&log),
        statistics: BTreeMap::new(),
        not_applied: finished.not_applied.clone(),
    };
    if let Some(result) = result {
        complete(&mut report, order, out, &result, nonce)?;
    }
    Ok(report)
}

/// Adds counts and markers, which a run that came to its end has.
fn complete(
    report: &mut Report,
    order: &Order<'_>,
    out: &Path,
    result: &Left,
    nonce: [u8; 16],
) -> Result<(), Crash> {
    let timed = order.system.core != "atomic";
    let period = timed.then(|| 1_000_000_000_000 / order.system.frequency_hz);
    report.told = Told::read(&result.marks, nonce, period);
    if report.told.forged || result.lost_marks {
        report.exit = Exit::ForgedMarker;
    }
    let unreadable = |error: &dyn std::fmt::Display| Crash {
        what: format!("gem5's statistics cannot be used: {error}"),
        retry: true,
    };
    let bytes = std::fs::read(out.join("stats.txt")).map_err(|error| unreadable(&error))?;
    let mut blocks = stats::parse(&bytes).map_err(|error| unreadable(&error))?;
    let block = blocks.pop().unwrap_or_default();
    // We let them be written once and never set back: the guest did it, with gem5's magic instructions.
    if !blocks.is_empty() || block.is_reset() {
        report.exit = Exit::ForgedMarker;
        return Ok(());
    }
    // A run that went to the end of time has counts of nothing.
    if !matches!(report.exit, Exit::Deadlock { .. }) {
        report.counters = counters(&block, timed).map_err(|error| unreadable(&error))?;
    }
    report.statistics = block
        .entries
        .into_iter()
        .map(|(name, entry)| (name, entry.text))
        .collect();
    Ok(())
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guests_output_begins_behind_our_line() {
        let text = format!("gem5 Simulator System.\n{BEGIN}\nhello\n{BEGIN}\n");
        let expected = format!("hello\n{BEGIN}\n");
        assert_eq!(of_guest(text.as_bytes()), Some(expected.as_bytes()));
        assert_eq!(of_guest(b"gem5 Simulator System.\n"), None);
        assert_eq!(of_guest(BEGIN.as_bytes()), None);
    }
}
