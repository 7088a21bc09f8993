//! Processes as programs use them, against the host.
use crate::support::program::{compiled, native, native_python, source};
use crate::support::tickmark::Tickmark;
use serde_json::json;

#[test]
fn processes_in_c_agree_with_the_host_and_repeat() {
    for flags in [&["-O1", "-static", "-pthread"][..], &["-O2", "-pthread"]] {
        let Some(program) = compiled("processes.c", flags) else {
            return;
        };
        let expected = native(&program, &[], "");
        assert!(expected.ends_with("exited with 2\n"), "{expected}");
        for machine in ["atomic", "simple"] {
            let run = || Tickmark::run(machine, &program, &[]).json();
            let result = run();
            assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
            assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
            assert_eq!(result["unanswered_system_calls"], json!([]), "{result}");
            assert_eq!(run()["counters"], result["counters"]);
        }
    }
}

#[test]
fn a_fork_bomb_and_children_that_wait_for_each_other_end() {
    let Some(program) = compiled("processes.c", &["-O1", "-static", "-pthread"]) else {
        return;
    };
    let run = |argument: &str| {
        let options = "run --json --machine atomic --max-instructions 20000000 --max-memory 64 --";
        let program = program.to_string_lossy();
        Tickmark::new(options.split(' ').chain([&*program, argument])).json()
    };
    let bomb = run("bomb");
    let kind = bomb["exit"]["kind"].as_str().expect("a kind");
    assert!(
        matches!(kind, "instruction_limit" | "memory_limit"),
        "{bomb}"
    );
    assert!(bomb["counters"]["peak_memory_bytes"].as_u64() <= Some(64 << 20));
    let deadlock = json!({"kind": "deadlock", "call": "wait4"});
    assert_eq!(run("deadlock")["exit"], deadlock);
    // The first process ends the run, whoever is left and whoever ends it.
    assert_eq!(run("orphan")["exit"], json!({"kind": "exited", "code": 5}));
    assert_eq!(run("patricide")["exit"]["signal"], 15);
}

#[test]
fn processes_in_python_agree_with_the_host() {
    let script = source("processes.py");
    let Some(expected) = native_python(&script, &[], "") else {
        return;
    };
    assert!(expected.ends_with("b'w\\n'\n"), "{expected}");
    let result = Tickmark::run("atomic", "python3", &[&script.to_string_lossy()]).json();
    assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
    assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
}

#[test]
fn memory_that_processes_share_agrees_with_the_host_and_repeats() {
    for flags in [&["-O1", "-static", "-pthread"][..], &["-O2", "-pthread"]] {
        let Some(program) = compiled("shared_memory.c", flags) else {
            return;
        };
        let expected = native(&program, &[], "");
        assert!(expected.ends_with("code 9\n"), "{expected}");
        for machine in ["atomic", "simple"] {
            let run = || Tickmark::run(machine, &program, &[]).json();
            let result = run();
            assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
            assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
            assert_eq!(run()["counters"], result["counters"]);
        }
    }
}

#[test]
fn multiprocessing_in_python_agrees_with_the_host_and_repeats() {
    let script = source("multiprocessing_all.py");
    let Some(expected) = native_python(&script, &[], "") else {
        return;
    };
    assert!(expected.ends_with("threads 328350\n"), "{expected}");
    let run = || Tickmark::run("atomic", "python3", &[&script.to_string_lossy()]).json();
    let result = run();
    assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
    assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
    assert_eq!(run()["counters"], result["counters"]);
}
