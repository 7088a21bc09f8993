//! Process handling against a stand-in for gem5: a small script of this test that answers as our own script does and
//! replays a capture, or misbehaves. It simulates nothing, and says that it is a stand-in.
#![expect(clippy::print_stderr, reason = "a skipped test says so")]
use super::captures::{reference, unpacked};
use super::{Gem5, Options};
use crate::artifact::{Artifact, ElfArtifact, Toolchain, existing};
use crate::backend::Backend;
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::process::PrivateFolder;
use crate::sim::machine::catalog;
use crate::sim::outcome::{Exit, Limits};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Statistics with what every run has, where there are no captures.
const STATISTICS: &str = "
---------- Begin Simulation Statistics ----------
simTicks                                     33137829                       # Number of ticks simulated (Tick)
finalTick                                    33137829                       # Number of ticks (Tick)
simFreq                                  1000000000000                       # The number of ticks per second
simInsts                                         9575                       # Number of instructions simulated
simOps                                          19082                       # Number of ops
system.cpu.numCycles                            99514                       # Number of cpu cycles simulated
system.cpu.ipc                                    nan                       # nobody knows
system.cpu.commitStats0.numInsts                 9575                       # Number of instructions
system.cpu.workload.numSyscalls                    16                       # Number of system calls

---------- End Simulation Statistics   ----------
";

const SCRIPT: &str = r#"
import json, os, signal, sys, time
print("stand-in for gem5: it replays a capture and simulates nothing", file=sys.stderr, flush=True)
outdir, listeners, *_, script, job_path = sys.argv[1:]
outdir = outdir.removeprefix("--outdir=")
assert listeners == "--listener-mode=off"
assert os.path.exists(script)
job = json.load(open(job_path))
if job["action"] == "identify":
    about = dict(version="24.0.0.1", compiled="never: this is a stand-in", isas=ISAS, tracing=False,
                 cores=["atomic", "blocking", "out-of-order"], python="0", python_path=[], files=[PREFIX, FOLDER])
    json.dump(about, open(job["result"], "w"))
    sys.exit(0)
def finish(stats=None, code=0):
    open(os.path.join(outdir, "stats.txt"), "w").write(open(FOLDER + "/stats.txt").read() if stats is None else stats)
    json.dump({"cause": "exiting with last active thread context", "code": code, "tick": 33137829, "marks": []},
              open(job["result"], "w"))
print("gem5 Simulator System. (stand-in)")
print(job["begin"], flush=True)
if MODE == "hang":
    time.sleep(600)
elif MODE == "crash" or (MODE == "stumble" and not os.path.exists(FOLDER + "/kept/job.json")):
    print("panic: the stand-in crashes on purpose", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGABRT)
elif MODE == "fault":
    sys.stderr.write(open(FOLDER + "/fault.txt").read())
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGABRT)
elif MODE == "late":
    print("done")
    sys.stdout.flush()
    finish()
    os.kill(os.getpid(), signal.SIGSEGV)
elif MODE == "garbage":
    open(job["result"], "wb").write(b"\xff{not json")
elif MODE == "disk":
    finish(open(FOLDER + "/stats.txt").read()[:700])
elif MODE == "nothing":
    finish("")
elif MODE == "flood":
    while True:
        sys.stdout.write("x" * 65536)
elif MODE == "refuse":
    sys.stderr.write("tickmark: this gem5 has no class X86O3CPU\n")
    sys.stderr.flush()
    os._exit(64)
else:
    text = open(job["program"]["stdin"]).read()
    print("%s %s %s" % (" ".join(job["program"]["command"]), job["program"]["environment"], text), end="")
    open(job["program"]["stderr"], "w").write("on the other stream\n")
    sys.stdout.flush()
    try:
        # Where a guest would look if it climbed out of its folder.
        os.listdir(os.path.dirname(outdir))
        finish(code=9)
    except PermissionError:
        finish(code=3)
os._exit(0)
"#;

const FAULT: &str = "src/arch/x86/faults.cc:166: panic: Tried to read unmapped address 0.
PC: (0x4014f0=>0x4014f7).(0=>1), Instr:   MOV_R_M : ld   eax, DS:[t0 + t0]
Memory Usage: 2213580 KBytes
Program aborted at tick 27715257
--- BEGIN LIBC BACKTRACE ---
";

struct StandIn {
    folder: PrivateFolder,
    executable: PathBuf,
}

impl StandIn {
    /// `None`, saying so, where there is no Python to run the script.
    fn new(mode: &str, isas: &str) -> Option<Self> {
        let toolchain = Toolchain::default();
        let Ok(python) = toolchain.python() else {
            eprintln!("skipped: the stand-in for gem5 is a Python script, and there is no Python");
            return None;
        };
        let folder = PrivateFolder::new().unwrap();
        let statistics = reference().map_or_else(
            || STATISTICS.as_bytes().to_vec(),
            |captures| unpacked(&captures.join("out/gem5-o3/programs/hello/stats.txt.gz")),
        );
        std::fs::write(folder.path().join("stats.txt"), statistics).unwrap();
        std::fs::write(folder.path().join("fault.txt"), FAULT).unwrap();
        let executable = folder.path().join("gem5.fast");
        let script = SCRIPT
            .replace("MODE", &format!("{mode:?}"))
            .replace("FOLDER", &format!("{:?}", folder.path()))
            .replace("PREFIX", &format!("{:?}", python.prefix))
            .replace("ISAS", isas);
        let text = format!("#!{} -S\n{script}", python.executable.display());
        std::fs::write(&executable, text).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { folder, executable })
    }

    fn backend(&self, wall: Duration) -> Result<Gem5, BackendFailure> {
        Gem5::new(Options {
            machine: catalog::machine("gem5-o3").unwrap(),
            executable: Some(self.executable.clone()),
            wall_clock: wall,
            seed: 0,
            keep: Some(self.folder.path().join("kept")),
            frozen: None,
        })
    }

    fn run(&self) -> Result<Measurement, BackendFailure> {
        let limits = Limits {
            output_bytes: 1 << 20,
            ..Limits::default()
        };
        self.backend(Duration::from_secs(60))?
            .run(&program(), b"to be read", &limits)
    }
}

fn program() -> Artifact {
    let bytes: &[u8] = b"no program: the stand-in does not run it";
    Artifact::Elf(existing(bytes.into(), ElfArtifact::NAME.as_bytes()).unwrap())
}

fn run(mode: &str) -> Option<Result<Measurement, BackendFailure>> {
    StandIn::new(mode, "['x86']").map(|stand_in| stand_in.run())
}

#[test]
fn a_run_gives_code_counts_and_both_streams() {
    let Some(stand_in) = StandIn::new("fine", "['x86']") else {
        return;
    };
    let measurement = stand_in.run().unwrap();
    // Code 9 would say that the folder around gem5's output could be listed.
    let confined = crate::process::support().landlock > 0;
    assert_eq!(
        measurement.exit,
        Exit::Exited {
            code: if confined { 3 } else { 9 }
        }
    );
    assert_eq!(measurement.backend, BackendName::Gem5);
    assert_eq!(measurement.stdout, b"program [] to be read");
    assert_eq!(measurement.stderr, b"on the other stream\n");
    let counters = &measurement.counters;
    assert_eq!((counters.instructions, counters.micro_ops), (9575, 19082));
    assert_eq!((counters.cycles, counters.system_calls), (Some(99514), 16));
    let kept = stand_in.folder.path().join("kept");
    for file in ["stats.txt", "job.json", "se.py", "result.json"] {
        assert!(kept.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_hang_is_the_wall_clocks_and_ends_in_time() {
    let Some(stand_in) = StandIn::new("hang", "['x86']") else {
        return;
    };
    let backend = stand_in.backend(Duration::from_secs(1)).unwrap();
    let started = Instant::now();
    let measurement = backend.run(&program(), b"", &Limits::default()).unwrap();
    assert_eq!(measurement.exit, Exit::WallClock);
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_crash_is_ours_with_its_last_words_after_a_second_try() {
    let Some(result) = run("crash") else { return };
    let failure = result.unwrap_err();
    assert!(failure.what.contains("was killed by signal 6"), "{failure}");
    assert!(
        failure.what.contains("the stand-in crashes on purpose"),
        "{failure}"
    );
    assert!(failure.what.contains("tried twice"), "{failure}");
}

#[test]
fn a_crash_that_does_not_come_again_costs_nothing() {
    let Some(stand_in) = StandIn::new("stumble", "['x86']") else {
        return;
    };
    // What the first try leaves behind tells the second one that it is not the first.
    let measurement = stand_in.run().unwrap();
    assert!(matches!(measurement.exit, Exit::Exited { .. }));
    assert_eq!(measurement.counters.cycles, Some(99514));
    let log = stand_in.folder.path().join("kept/job.json");
    assert!(log.is_file());
}

#[test]
fn a_crash_behind_the_result_costs_nothing() {
    let Some(result) = run("late") else { return };
    let measurement = result.unwrap();
    assert_eq!(measurement.exit, Exit::Exited { code: 0 });
    assert_eq!(measurement.stdout, b"done\n");
    assert_eq!(measurement.counters.cycles, Some(99514));
}

#[test]
fn a_fault_of_the_guest_is_no_crash() {
    let Some(result) = run("fault") else { return };
    let measurement = result.unwrap();
    let Exit::Signaled { signal, rip, .. } = measurement.exit else {
        panic!("{:?}", measurement.exit);
    };
    assert_eq!((signal, rip), (11, 0x4014f0));
    assert_eq!(measurement.counters.instructions, 0);
}

#[test]
fn garbage_and_a_full_disk_are_failures_that_say_where() {
    let Some(result) = run("garbage") else { return };
    let failure = result.unwrap_err();
    assert!(
        failure.what.contains("a result that cannot be read"),
        "{failure}"
    );
    let failure = run("disk").unwrap().unwrap_err();
    assert!(
        failure.what.contains("statistics cannot be used: line "),
        "{failure}"
    );
    let failure = run("nothing").unwrap().unwrap_err();
    assert!(
        failure.what.contains("the file of statistics is empty"),
        "{failure}"
    );
}

#[test]
fn too_much_output_is_the_guests() {
    let Some(result) = run("flood") else { return };
    assert_eq!(result.unwrap().exit, Exit::OutputLimit);
}

#[test]
fn what_our_script_misses_is_told_and_not_tried_again() {
    let Some(result) = run("refuse") else { return };
    let failure = result.unwrap_err();
    assert!(
        failure.what.starts_with("this gem5 has no class X86O3CPU"),
        "{failure}"
    );
    assert!(!failure.what.contains("twice"), "{failure}");
}

#[test]
fn a_gem5_for_another_processor_and_a_machine_of_our_own_are_refused() {
    let Some(stand_in) = StandIn::new("fine", "['arm']") else {
        return;
    };
    let failure = stand_in.backend(Duration::from_secs(9)).unwrap_err();
    assert!(
        failure
            .what
            .contains("is gem5 24.0.0.1 for arm, not for X86"),
        "{failure}"
    );
    let failure = Gem5::new(Options {
        machine: catalog::machine("simple").unwrap(),
        executable: Some(stand_in.executable.clone()),
        wall_clock: Duration::from_secs(9),
        seed: 0,
        keep: None,
        frozen: None,
    })
    .unwrap_err();
    assert!(failure.remedy.contains("--machine gem5-o3"), "{failure}");
}
