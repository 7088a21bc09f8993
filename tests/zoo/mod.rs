//! The hostile zoo: programs that attack, each with what becomes of it, in the simulator and on the host processor.
mod programs;
mod scripts;

use crate::support::dataset::{lines, program, solution};
use crate::support::program::compiled;
use crate::support::scratch::Scratch;
use crate::support::tickmark::Tickmark;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// A hostile program.
#[derive(Clone, Copy)]
struct Beast {
    name: &'static str,
    source: &'static str,
    /// Kind of its verdict in the simulator; empty where it is left out.
    sim: &'static str,
    /// Kind of its verdict on the host processor; empty where it is left out.
    native: &'static str,
    /// A part of the verdict's text.
    text: &'static str,
}

impl Beast {
    const fn both(
        name: &'static str,
        source: &'static str,
        sim: &'static str,
        native: &'static str,
        text: &'static str,
    ) -> Self {
        Self {
            name,
            source,
            sim,
            native,
            text,
        }
    }

    /// One that does not come to a run.
    const fn compiled(
        name: &'static str,
        source: &'static str,
        verdict: &'static str,
        text: &'static str,
    ) -> Self {
        Self::both(name, source, verdict, verdict, text)
    }
}

/// Virtual memory that the tool itself may take, KiB.
const TOOL_KIB: u64 = 4 << 20;
/// How long a zoo may take on the busiest of hosts.
const PATIENCE: Duration = Duration::from_secs(900);
/// What the programs try to leave behind somewhere.
const TRACE: &str = "tickmark-zoo-was-here";

/// Lets all of them in: verdicts as listed, the good one behind them accepted, no trace on the host.
fn visit(language: &str, good: &str, options: &str, beasts: &[Beast], kind: fn(&Beast) -> &str) {
    let beasts: Vec<&Beast> = beasts.iter().filter(|b| !kind(b).is_empty()).collect();
    let problem = program("echo", language, &[("7\n", "7\n"), ("8\n", "8\n")]);
    let samples: Vec<Value> = (beasts.iter().map(|beast| beast.source))
        .chain([good])
        .map(|source| solution("echo", source))
        .collect();
    let scratch = Scratch::new();
    scratch.write("problems.jsonl", lines(&[problem]));
    scratch.write("samples.jsonl", lines(&samples));
    scratch.write("rooms/empty", "");
    let command = format!(
        "ulimit -v {TOOL_KIB}; exec \"$0\" evaluate --json --dataset stdio --language {language} problems.jsonl \
         --samples m=samples.jsonl {options}"
    );
    let rooms = scratch.path().join("rooms");
    let began = Instant::now();
    let finished = Tickmark::in_shell(&command)
        .folder(scratch.path())
        .env("TMPDIR", &rooms)
        .finish();
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    let rows = finished.json_lines();
    assert_eq!(rows.len(), beasts.len() + 2, "{finished:?}");
    let mut wrong = Vec::new();
    for (beast, row) in beasts.iter().zip(&rows) {
        let verdict = &row["verdict"];
        let text = verdict.to_string();
        if verdict["kind"] != kind(beast) || !text.contains(beast.text) {
            wrong.push(format!("{}: {text}", beast.name));
        }
    }
    assert!(wrong.is_empty(), "other verdicts:\n{}", wrong.join("\n"));
    assert_eq!(rows[beasts.len()]["verdict"], json!({"kind": "accepted"}));
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    untouched(&scratch, &rooms);
}

/// No file of theirs and no process.
fn untouched(scratch: &Scratch, rooms: &Path) {
    let places = [
        "/", "/tmp", "/etc", "/root", "/home", "/usr", "/usr/bin", "/var/tmp", "/dev/shm", "/run",
    ];
    for place in places.iter().map(Path::new).chain([scratch.path(), rooms]) {
        assert!(!place.join(TRACE).exists(), "{}", place.display());
    }
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("our own folder");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("our own folder")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(rooms), ["empty"], "private folders stay behind");
    assert_eq!(
        names(scratch.path()),
        ["problems.jsonl", "rooms", "samples.jsonl"]
    );
    let home = rooms.to_string_lossy().into_owned();
    for process in std::fs::read_dir("/proc").expect("Linux has it").flatten() {
        for link in ["cwd", "exe"] {
            let target = std::fs::read_link(process.path().join(link)).unwrap_or_default();
            assert!(
                !target.to_string_lossy().starts_with(&home),
                "{} runs {}",
                process.path().display(),
                target.display()
            );
        }
    }
}

/// The limits of the simulator: loops end soon.
fn sim(instructions: u64) -> String {
    format!(
        "--machine atomic --max-instructions {instructions} --max-memory 128 --max-stack 8 --max-output 1"
    )
}

/// The limits of a native run.
const NATIVE: &str = "--backend native --run-untrusted --max-cpu 1 --max-wall 20 --max-memory 128 --max-stack 8 --max-output 1";

#[test]
fn cpp_programs_in_the_simulator() {
    if compiled("hello.cpp", &["-static"]).is_some() {
        visit(
            "cpp",
            programs::GOOD,
            &sim(20_000_000),
            programs::CPP,
            |beast| beast.sim,
        );
    }
}

#[test]
fn cpp_programs_on_the_host_processor() {
    if compiled("hello.cpp", &["-static"]).is_some() {
        visit("cpp", programs::GOOD, NATIVE, programs::CPP, |beast| {
            beast.native
        });
    }
}

#[test]
fn programs_that_attack_the_compiler() {
    if compiled("hello.cpp", &["-static"]).is_some() {
        let options = format!("{} --compile-cpu 5 --compile-memory 1024", sim(20_000_000));
        visit(
            "cpp",
            programs::GOOD,
            &options,
            programs::COMPILED,
            |beast| beast.sim,
        );
    }
}

#[test]
fn python_scripts_in_the_simulator() {
    visit(
        "python",
        scripts::GOOD,
        &sim(150_000_000),
        scripts::PYTHON,
        |beast| beast.sim,
    );
}

#[test]
fn python_scripts_on_the_host_processor() {
    visit("python", scripts::GOOD, NATIVE, scripts::PYTHON, |beast| {
        beast.native
    });
}

#[test]
fn there_are_at_least_thirty_of_them_and_no_two_have_one_name() {
    let all = programs::CPP
        .iter()
        .chain(programs::COMPILED)
        .chain(scripts::PYTHON);
    let mut names: Vec<String> = all
        .map(|beast| format!("{} {}", beast.name, beast.source.len()))
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert!(count >= 30 && names.len() == count);
}
