//! Threads as programs use them, against the host, and what only a simulator can tell of them.
use crate::support::program::{compiled, native, native_python, source};
use crate::support::tickmark::Tickmark;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let flags = [
        &["-std=c++17", "-O1", "-static", "-pthread"][..],
        &["-std=c++17", "-O2", "-pthread"],
    ];
    (flags.iter())
        .filter_map(|flags| compiled("threads.cpp", flags))
        .collect()
}

fn run(machine: &str, program: &Path, argument: &str) -> Value {
    Tickmark::run(machine, program, &[argument]).json()
}

#[test]
fn threads_in_cpp_agree_with_the_host_and_repeat() {
    for program in programs() {
        let expected = native(&program, &["all"], "");
        assert!(expected.starts_with("total 4000\n"), "{expected}");
        for machine in ["atomic", "simple"] {
            let result = run(machine, &program, "all");
            assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
            assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
            assert_eq!(result["unanswered_system_calls"], json!([]), "{result}");
            let again = run(machine, &program, "all");
            assert_eq!(again["counters"], result["counters"]);
        }
    }
}

#[test]
fn the_ends_of_threads_are_those_of_linux() {
    for program in programs() {
        for (argument, exit) in [
            ("main-leaves", json!({"kind": "exited", "code": 0})),
            ("exit-in-thread", json!({"kind": "exited", "code": 7})),
            ("join-self", json!({"kind": "deadlock", "call": "futex"})),
        ] {
            assert_eq!(run("atomic", &program, argument)["exit"], exit);
        }
        let result = run("atomic", &program, "main-leaves");
        assert_eq!(result["stdout"], "the last one\n");
        assert_eq!(run("atomic", &program, "throw")["exit"]["signal"], 6);
        let result = run("atomic", &program, "overflow");
        assert_eq!(result["exit"]["kind"], "stack_overflow", "{result}");
        let function = result["exit"]["function"].as_str().expect("symbols");
        assert!(function.contains("descend"), "{function}");
    }
}

#[test]
fn threads_in_python_agree_with_the_host_and_repeat() {
    let script = source("threads.py");
    let Some(expected) = native_python(&script, &[], "") else {
        return;
    };
    assert!(expected.ends_with("slept too long\n"), "{expected}");
    let script = script.to_string_lossy();
    let run = || Tickmark::run("simple", "python3", &[&script]).json();
    let result = run();
    assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
    assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
    assert_eq!(run()["counters"], result["counters"]);
}
