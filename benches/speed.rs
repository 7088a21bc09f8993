//! Speed of the simulator against cachegrind on the same programs in the same run, its memory, and HumanEval passes.
//!
//! `cargo bench --bench speed`. Times are CPU times of the child processes, best of three, so that a busy neighbour
//! shows less; ratios are what to read. Without valgrind or g++ it says what is missing. The HumanEval passes need the
//! data: `TICKMARK_DATA=FOLDER` with `humaneval/HumanEval.jsonl.gz` in it, or `../shared/data`. The comparison with gem5
//! needs an executable: `TICKMARK_GEM5=FILE`, or `gem5.fast` on the path; and its `se.py`: in the tree that the
//! executable was built in, or `TICKMARK_GEM5_CONFIG=FILE`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(
    unsafe_code,
    reason = "wait4, the only way to the CPU time and the memory of one child"
)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
const MACHINES: [&str; 4] = ["atomic", "simple", "gem5-o3", "skylake"];
/// What the host may use beyond what the guest does, MiB.
const MEMORY_MIB: f64 = 64.0;

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let tickmark = env!("CARGO_BIN_EXE_tickmark");
    let folder = std::env::temp_dir().join(format!("tickmark-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    programs(tickmark, &folder);
    gem5(tickmark, &folder);
    humaneval(tickmark);
    let _ = std::fs::remove_dir_all(&folder);
}

/// What a run took.
struct Usage {
    seconds: f64,
    /// Most memory that it held at once.
    bytes: f64,
    stderr: String,
}

/// Waits for a child; `None` if it failed.
fn wait(mut child: Child) -> Option<Usage> {
    let mut stderr = String::new();
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(&mut stderr).ok()?;
    }
    let mut status = 0;
    // SAFETY: all fields of `rusage` are integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid places for the answers, and the child has not been waited for.
    // JUSTIFICATION: std has no way to ask for it.
    let waited = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    (waited == child.id() as i32 && status == 0).then(|| Usage {
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        bytes: usage.ru_maxrss as f64 * 1024.0,
        stderr,
    })
}

/// The run of some that took the least CPU time.
fn time(command: &[&str]) -> Option<Usage> {
    let mut best: Option<Usage> = None;
    for _ in 0..REPETITIONS {
        let child = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let usage = wait(child)?;
        if best.as_ref().is_none_or(|b| usage.seconds < b.seconds) {
            best = Some(usage);
        }
    }
    best
}

/// The value of a counter in the output of `tickmark run`.
fn counter(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

fn build(name: &str, folder: &Path) -> Option<String> {
    let source = format!("{}/benches/programs/{name}.cpp", env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(name).to_string_lossy().into_owned();
    let flags = ["-std=c++17", "-O2", "-static", "-march=x86-64", "-o"];
    let built = Command::new("g++")
        .args(flags)
        .args([&program, &source])
        .status();
    built
        .is_ok_and(|status| status.success())
        .then_some(program)
}

fn programs(tickmark: &str, folder: &Path) {
    print!(
        "{:<10} {:>13} {:>11}",
        "program", "instructions", "cachegrind"
    );
    for machine in MACHINES {
        print!(" {machine:>8} {:>8}", "ratio");
    }
    println!();
    let mut ratios: [Vec<f64>; MACHINES.len()] = Default::default();
    let mut beyond: f64 = 0.0;
    for name in PROGRAMS {
        let Some(program) = build(name, folder) else {
            println!("{name:<10} not built: install g++ and the static standard libraries");
            continue;
        };
        let valgrind = [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=yes",
            "--branch-sim=no",
            "--cachegrind-out-file=/dev/null",
            &program,
        ];
        let Some(ruler) = time(&valgrind) else {
            println!("{name:<10} not measured: install valgrind");
            continue;
        };
        let mut line = String::new();
        let mut instructions = 0.0;
        for (machine, ratios) in MACHINES.iter().zip(&mut ratios) {
            let Some(run) = time(&[tickmark, "run", "--machine", machine, "--", &program]) else {
                println!("{name:<10} does not run on {machine}");
                return;
            };
            instructions = counter(&run.stderr, "instructions").unwrap_or_default();
            let live = counter(&run.stderr, "peak_memory_bytes").unwrap_or_default();
            beyond = beyond.max(run.bytes - live);
            let ratio = ruler.seconds / run.seconds;
            ratios.push(ratio);
            line += &format!(" {:>7.2}s {ratio:>7.3}x", run.seconds);
        }
        println!(
            "{name:<10} {instructions:>13} {:>10.2}s{line}",
            ruler.seconds
        );
    }
    for (machine, ratios) in MACHINES.iter().zip(&ratios) {
        let Some(worst) = ratios.iter().copied().reduce(f64::min) else {
            return;
        };
        let mean = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
        println!(
            "{machine}: geometric mean {:.3}x of cachegrind's speed over {} programs, worst {worst:.3}x",
            mean.exp(),
            ratios.len()
        );
    }
    println!(
        "memory: at most {:.1} MiB beyond the guest's live memory (allowed: {MEMORY_MIB})",
        beyond / f64::from(1 << 20)
    );
}

/// The speed of `gem5-o3` against the simulator that it is a model of, on the start of one program.
fn gem5(tickmark: &str, folder: &Path) {
    const INSTRUCTIONS: &str = "2000000";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let executable = std::env::var_os("TICKMARK_GEM5")
        .map(PathBuf::from)
        .or_else(|| {
            std::env::split_paths(&path)
                .map(|folder| folder.join("gem5.fast"))
                .find(|file| file.is_file())
        });
    let Some(executable) = executable else {
        println!(
            "gem5.fast not compared: set TICKMARK_GEM5 to an executable, or put it on the path"
        );
        return;
    };
    let config = std::env::var_os("TICKMARK_GEM5_CONFIG")
        .map(PathBuf::from)
        .or_else(|| {
            let tree = executable.ancestors().nth(3)?;
            ["configs/deprecated/example/se.py", "configs/example/se.py"]
                .map(|file| tree.join(file))
                .into_iter()
                .find(|file| file.is_file())
        });
    let Some(config) = config else {
        println!("gem5.fast not compared: set TICKMARK_GEM5_CONFIG to its se.py");
        return;
    };
    let Some(program) = build("hashing", folder) else {
        return;
    };
    let output = folder.join("m5out");
    let (executable, config, output) = (
        executable.to_string_lossy(),
        config.to_string_lossy(),
        output.to_string_lossy(),
    );
    let theirs = time(&[
        &executable,
        "-d",
        &output,
        &config,
        "--cpu-type=X86O3CPU",
        "--caches",
        "--l2cache",
        "--cpu-clock=3GHz",
        "-I",
        INSTRUCTIONS,
        "-c",
        &program,
    ]);
    let ours = time(&[tickmark, "run", "--machine", "gem5-o3", "--", &program]);
    match (theirs, ours) {
        (Some(theirs), Some(ours)) => {
            let instructions = counter(&ours.stderr, "instructions").unwrap_or_default();
            let theirs = INSTRUCTIONS.parse::<f64>().unwrap_or_default() / theirs.seconds;
            let ours = instructions / ours.seconds;
            println!(
                "gem5-o3: {:.0}x of gem5's speed (`hashing`: {:.2} and {:.2} million instructions a second)",
                ours / theirs,
                ours * 1e-6,
                theirs * 1e-6
            );
        }
        _ => println!("gem5.fast not compared: it or tickmark failed on `hashing`"),
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
        let pass = |more: &[&str]| {
            let started = Instant::now();
            let child = Command::new(tickmark)
                .args(["evaluate", "--dataset", "humaneval", "--machine", machine])
                .arg(&problems)
                .args(["--samples", "canonical"])
                .args(more)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let usage = wait(child.ok()?)?;
            Some((started.elapsed().as_secs_f64(), usage.seconds))
        };
        // The first pass also compiles the standard library's byte code, which is kept.
        let Some((seconds, cpu)) = pass(&[]).and_then(|_| pass(&[])) else {
            println!("HumanEval, canonical solutions, {machine}: failed");
            continue;
        };
        print!("HumanEval, canonical solutions, {machine}: {seconds:.1} s ({cpu:.1} s of CPU)");
        // What snapshots save does not depend much on the machine; where it is slow it would take long to find out.
        if machine == "atomic"
            && let Some((_, without)) = pass(&["--no-snapshot"])
        {
            print!(
                "; snapshots save {:.0}% of the {without:.1} s of CPU that it takes without",
                100.0 * (1.0 - cpu / without)
            );
        }
        println!();
    }
}
