//! Files that are no programs, or not whole ones: a sentence and an exit code, never a panic.
use crate::support::program::{compiled, source};
use crate::support::scratch::Scratch;
use crate::support::single_step::elf;
use crate::support::tickmark::{Finished, Tickmark};
use std::sync::Arc;
use std::time::Duration;
use tickmark::artifact::{Artifact, existing};
use tickmark::backend::{
    Backend,
    sim::{Options, Sim},
};
use tickmark::sim::machine::catalog;
use tickmark::sim::outcome::{Exit, Limits};

/// `mov edi, 7; mov eax, 60; syscall`, as a whole program.
fn small() -> Vec<u8> {
    elf(&[0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05], 0x1000)
}

fn simulator() -> Sim {
    Sim::new(Options {
        machine: catalog::machine("atomic").expect("a built-in machine"),
        snapshots: false,
        seed: 0,
        wall_clock: Duration::from_secs(60),
        cache: std::env::temp_dir(),
        roots: Vec::new(),
    })
}

/// How the bytes end as a program, within few instructions; `None` where a library of theirs is not to be found.
fn ending(sim: &Sim, bytes: &[u8]) -> Option<Exit> {
    let limits = Limits {
        instructions: 20_000,
        memory_bytes: 64 << 20,
        stack_bytes: 1 << 20,
        output_bytes: 1 << 16,
    };
    let artifact = Artifact::Elf(existing(Arc::from(bytes), b"program").ok()?);
    let measurement = sim
        .run(&artifact, b"", &limits)
        .expect("what is wrong with a program is no failure of ours");
    Some(measurement.exit)
}

#[test]
fn a_program_cut_anywhere_is_refused_or_ends_by_itself() {
    let sim = simulator();
    let whole = small();
    assert_eq!(ending(&sim, &whole), Some(Exit::Exited { code: 7 }));
    for length in 0..whole.len() {
        let exit = ending(&sim, &whole[..length]);
        let Some(Exit::LoadFailed { reason }) = exit else {
            panic!("cut at {length}: {exit:?}");
        };
        assert!(!reason.is_empty(), "cut at {length}");
    }
    // A real one: cut in its headers, and then in larger steps through its segments.
    let Some(program) = compiled("hello.c", &["-pie"]) else {
        return;
    };
    let whole = std::fs::read(program).expect("just compiled");
    for length in (0..1100.min(whole.len()))
        .step_by(7)
        .chain((1100..whole.len()).step_by(2503))
    {
        if let Some(exit) = ending(&sim, &whole[..length]) {
            assert_ne!(exit, Exit::WallClock, "cut at {length}");
        }
    }
}

#[test]
fn flipped_bits_in_the_headers_do_no_harm() {
    let sim = simulator();
    let mut programs = vec![small()];
    for flags in [&["-pie"][..], &["-static"]] {
        if let Some(program) = compiled("hello.c", flags) {
            programs.push(std::fs::read(program).expect("just compiled"));
        }
    }
    // A linear congruential generator, for the same flips in each run of the tests.
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for whole in programs {
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=random(3) {
                let at = random(whole.len().min(1000));
                bytes[at] ^= 1 << random(8);
            }
            if let Some(exit) = ending(&sim, &bytes) {
                assert_ne!(exit, Exit::WallClock);
            }
        }
    }
}

fn run(program: &str, scratch: &Scratch) -> Finished {
    Tickmark::new(["run", "--", program])
        .folder(scratch.path())
        .finish()
}

/// Exit code 2, nothing on standard output, and a line that says what is wrong.
fn refused(finished: &Finished, part: &str) {
    assert_eq!(finished.code, 2, "{finished:?}");
    assert_eq!(finished.stdout, "");
    assert!(
        finished.stderr.contains(part),
        "no `{part}` in {finished:?}"
    );
}

#[test]
fn what_is_no_program_for_this_machine_is_refused_in_words() {
    let scratch = Scratch::new();
    let with = |at: usize, byte: u8| {
        let mut bytes = small();
        bytes[at] = byte;
        bytes
    };
    for (name, bytes, part) in [
        ("empty", Vec::new(), "empty"),
        ("text", b"just some words\n".to_vec(), "ELF"),
        ("arm", with(18, 183), "AArch64"),
        ("x86", with(18, 3), "32-bit"),
        ("class", with(4, 1), "32-bit"),
        ("endian", with(5, 2), "big-endian"),
        ("object", with(16, 1), "object file"),
        ("core", with(16, 4), "core"),
        (
            "script",
            b"#!/bin/sh\necho no\n".to_vec(),
            "interpreter /bin/sh",
        ),
        (
            "lost",
            b"#!/nonexistent/interpreter\n".to_vec(),
            "interpreter /nonexistent",
        ),
    ] {
        scratch.write(name, bytes);
        refused(&run(&format!("./{name}"), &scratch), part);
    }
    std::fs::create_dir(scratch.path().join("folder")).expect("our own folder");
    refused(&run("./folder", &scratch), "folder");
    refused(&run("./absent", &scratch), "absent");
    refused(
        &run("no-such-program-anywhere", &scratch),
        "no-such-program-anywhere",
    );
    refused(&run("python3", &scratch), "needs a script");
    scratch.write("latin.py", b"print('\xe9')\n");
    let latin = Tickmark::new(["run", "--", "python3", "latin.py"]).folder(scratch.path());
    refused(&latin.finish(), "UTF-8");
}

#[test]
fn a_program_whose_interpreter_or_library_is_missing_is_refused_in_words() {
    let flags = ["-pie", "-Wl,--dynamic-linker=/nowhere/ld.so"];
    let Some(program) = compiled("hello.c", &flags) else {
        return;
    };
    let finished = Tickmark::new(["run", "--", &program.to_string_lossy()]).finish();
    assert!(finished.code >= 2, "{finished:?}");
    assert!(finished.stderr.contains("/nowhere/ld.so"), "{finished:?}");
    let script = source("modules.py");
    let wrong =
        Tickmark::new(["run", "--", "/nowhere/python3", &script.to_string_lossy()]).finish();
    assert!(wrong.code >= 2, "{wrong:?}");
    assert!(wrong.stderr.contains("/nowhere/python3"), "{wrong:?}");
}

#[test]
fn wrong_options_are_usage_errors() {
    for arguments in [
        "run",
        "run --machine none -- true",
        "run --max-memory 0 -- true",
        "run --max-memory 99999999999999 -- true",
        "run --root relative=/tmp -- true",
        "run --root /guest=/nowhere/at/all -- true",
        "run --set l2.ways=0 -- true",
        "sing",
    ] {
        let finished = Tickmark::new(arguments.split(' ')).finish();
        assert_eq!(finished.code, 2, "{arguments}: {finished:?}");
        assert!(finished.stdout.is_empty() && !finished.stderr.is_empty());
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_and_a_closed_pipe_is_none() {
    use std::process::{Command, Stdio};
    let binary = env!("CARGO_BIN_EXE_tickmark");
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: this host has no /dev/full");
        return;
    };
    let output = Command::new(binary)
        .arg("machines")
        .stdout(full)
        .output()
        .expect("cargo has built the binary");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
    let mut child = Command::new(binary)
        .args(["machines", "simple"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("cargo has built the binary");
    drop(child.stdout.take());
    let status = child.wait().expect("our own child");
    assert_eq!(status.code(), Some(0));
}
