//! Speed of the simulator against cachegrind on the same programs in the same run, and of one HumanEval pass.
//!
//! `cargo bench --bench speed`. Times are CPU times of the child processes, best of three, so that a busy neighbour
//! shows less; ratios are what to read. Without valgrind or g++ it says what is missing. The HumanEval pass needs the
//! data: `TICKMARK_DATA=FOLDER` with `humaneval/HumanEval.jsonl.gz` in it, or `../shared/data`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(
    unsafe_code,
    reason = "getrusage, the only way to the CPU time of a child that std has waited for"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const PROGRAMS: [&str; 7] = [
    "integer",
    "hashing",
    "sorting",
    "strings",
    "floating",
    "iostreams",
    "graph",
];
const REPETITIONS: usize = 3;
const MACHINES: [&str; 2] = ["atomic", "simple"];

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let tickmark = env!("CARGO_BIN_EXE_tickmark");
    let folder = std::env::temp_dir().join(format!("tickmark-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    programs(tickmark, &folder);
    humaneval(tickmark);
    let _ = std::fs::remove_dir_all(&folder);
}

/// CPU time of all children that have been waited for, in seconds.
fn children_seconds() -> f64 {
    // SAFETY: all fields of `rusage` are integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid place for the answer.
    // JUSTIFICATION: std has no way to ask for it.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Least CPU time of some runs, and the standard error of the last.
fn time(command: &[&str]) -> Option<(f64, String)> {
    let mut best: Option<(f64, String)> = None;
    for _ in 0..REPETITIONS {
        let before = children_seconds();
        let output = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let seconds = children_seconds() - before;
        if !output.status.success() {
            return None;
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, text));
        }
    }
    best
}

fn programs(tickmark: &str, folder: &Path) {
    println!(
        "{:<10} {:>13} {:>11} {:>8} {:>8} {:>8} {:>8}",
        "program", "instructions", "cachegrind", "atomic", "ratio", "simple", "ratio"
    );
    let mut logs = [0.0; MACHINES.len()];
    let mut counted = 0;
    for name in PROGRAMS {
        let source = format!("{}/benches/programs/{name}.cpp", env!("CARGO_MANIFEST_DIR"));
        let program = folder.join(name);
        let program = program.to_string_lossy();
        let flags = ["-std=c++17", "-O2", "-static", "-march=x86-64", "-o"];
        let built = Command::new("g++")
            .args(flags)
            .args([program.as_ref(), &source])
            .status();
        if !built.is_ok_and(|status| status.success()) {
            println!("{name:<10} not built: install g++ and the static standard libraries");
            continue;
        }
        let valgrind = [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=yes",
            "--branch-sim=no",
            "--cachegrind-out-file=/dev/null",
            &program,
        ];
        let Some((ruler, _)) = time(&valgrind) else {
            println!("{name:<10} not measured: install valgrind");
            continue;
        };
        let mut line = String::new();
        let mut instructions = String::new();
        for (machine, log) in MACHINES.iter().zip(&mut logs) {
            let Some((seconds, text)) =
                time(&[tickmark, "run", "--machine", machine, "--", &program])
            else {
                println!("{name:<10} does not run on {machine}");
                return;
            };
            let count = text
                .lines()
                .find_map(|line| line.strip_prefix("instructions"));
            instructions = count.unwrap_or_default().trim().to_owned();
            let ratio = ruler / seconds;
            *log += ratio.ln();
            line += &format!(" {seconds:>7.2}s {ratio:>7.2}x");
        }
        counted += 1;
        println!("{name:<10} {instructions:>13} {ruler:>10.2}s{line}");
    }
    if counted > 0 {
        for (machine, log) in MACHINES.iter().zip(logs) {
            println!(
                "{machine}: geometric mean {:.2}x of cachegrind's speed over {counted} programs",
                (log / f64::from(counted)).exp()
            );
        }
    }
}

fn humaneval(tickmark: &str) {
    let data = std::env::var_os("TICKMARK_DATA")
        .map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let problems = data.join("humaneval/HumanEval.jsonl.gz");
    if !problems.is_file() {
        println!(
            "HumanEval pass not measured: there is no `{}`; set TICKMARK_DATA",
            problems.display()
        );
        return;
    }
    for machine in MACHINES {
        let pass = || {
            let started = Instant::now();
            let status = Command::new(tickmark)
                .args(["evaluate", "--dataset", "humaneval", "--machine", machine])
                .arg(&problems)
                .args(["--samples", "canonical"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            status
                .is_ok_and(|status| status.success())
                .then(|| started.elapsed().as_secs_f64())
        };
        // The first pass also compiles the standard library's byte code, which is kept.
        let cold = pass();
        match cold.and_then(|_| pass()) {
            Some(seconds) => println!("HumanEval, canonical solutions, {machine}: {seconds:.1} s"),
            None => println!("HumanEval, canonical solutions, {machine}: failed"),
        }
    }
}
