//! Programs that people really have: their output is that of the host, and no system call is left unanswered.
use crate::support::dataset::{lines, solution};
use crate::support::program::{compiled, native, native_python, source};
use crate::support::scratch::Scratch;
use crate::support::tickmark::Tickmark;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program here and on the host.
fn agrees(program: &Path, arguments: &[&str], stdin: &str) {
    let expected = native(program, arguments, stdin);
    check(
        Tickmark::run("atomic", program, arguments).stdin(stdin),
        &expected,
    );
}

fn check(run: Tickmark, expected: &str) {
    let result = run.json();
    assert_eq!(result["exit"]["kind"], "exited", "{result}");
    assert_eq!(result["stdout"].as_str(), Some(expected));
    assert!(!expected.is_empty());
    let none = serde_json::json!([]);
    assert_eq!(result["unanswered_system_calls"], none, "{result}");
}

#[test]
fn hello_in_c_agrees_with_the_host_static_and_dynamic() {
    for flags in [&["-static"][..], &["-static-pie"], &["-pie"], &["-no-pie"]] {
        if let Some(program) = compiled("hello.c", flags) {
            agrees(&program, &[], "");
        }
    }
}

#[test]
fn hello_in_cpp_agrees_with_the_host_static_and_dynamic() {
    for flags in [&["-static"][..], &["-pie"]] {
        if let Some(program) = compiled("hello.cpp", flags) {
            agrees(&program, &[], "");
        }
    }
}

#[test]
fn streams_exceptions_regexes_random_numbers_and_clocks_agree_with_the_host() {
    for flags in [
        &["-std=c++17", "-O1", "-static"][..],
        &["-std=c++17", "-O1", "-pie"],
    ] {
        if let Some(program) = compiled("library.cpp", flags) {
            agrees(&program, &[], "the cat and the dog and the end\n");
        }
    }
}

#[test]
fn forty_modules_of_python_agree_with_the_host() {
    let script = source("modules.py");
    let script_name = script.to_string_lossy();
    if let Some(expected) = native_python(&script, &["y", "x"], "some words") {
        let run = Tickmark::run("atomic", "python3", &[&script_name, "y", "x"]);
        check(run.stdin("some words"), &expected);
    }
}

#[test]
fn sqlite_agrees_with_the_host() {
    const SCRIPT: &str = "
        create table words (word text primary key, length integer);
        insert into words values ('one', 3), ('three', 5), ('eleven', 6);
        create index by_length on words (length);
        select word, length * 1.5 from words where length > 3 order by length desc;
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 200)
            select count(*), sum(n), avg(n), group_concat(case when n % 50 = 0 then n end) from numbers;
        select upper(substr(word, 2)), hex(word), printf('%.10f', length / 7.0) from words;
        select name, type from sqlite_master order by name;
        select json_extract('{\"a\": [1, 2, {\"b\": 3}]}', '$.a[2].b');
    ";
    if let Some(program) = installed("sqlite3") {
        agrees(&program, &["-batch", ":memory:"], SCRIPT);
    }
}

#[test]
fn busybox_agrees_with_the_host() {
    let Some(program) = installed("busybox") else {
        return;
    };
    let text = "delta 4\nalpha 1\ncharlie 3\nbravo 2\n";
    let count = "i=0; while [ $i -lt 20 ]; do i=$((i + 3)); echo $i; done";
    let sum = "{ sum += $2; print $1, $2 * 1.5 } END { print sum }";
    for arguments in [
        &["sort"][..],
        &["sed", "-n", "s/a\\(.\\)/<\\1>/gp"],
        &["awk", sum],
        &["sha256sum"],
        &["sh", "-c", count],
    ] {
        let expected = native(&program, arguments, text);
        let program = program.to_string_lossy().into_owned();
        let fixed = "run --json --machine atomic --argv0 busybox --".split(' ');
        let all = (fixed.map(str::to_owned))
            .chain([program])
            .chain(arguments.iter().map(|&argument| argument.to_owned()));
        check(Tickmark::new(all).stdin(text), &expected);
    }
}

#[test]
fn packages_of_a_virtual_environment_are_seen_by_its_interpreter_alone() {
    let folder = Scratch::new();
    let environment = folder.path().join("environment");
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&environment)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: this host has no `python3` with `venv`");
        return;
    }
    let library = std::fs::read_dir(environment.join("lib"))
        .expect("it has just been made")
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .expect("it has a library")
        .file_name();
    let package = format!(
        "environment/lib/{}/site-packages/tiny/__init__.py",
        library.to_string_lossy()
    );
    folder.write(&package, "from . import part\nANSWER = part.HALF * 2\n");
    folder.write(
        &package.replace("__init__", "part"),
        "import json\nHALF = json.loads('21')\n",
    );
    let script = folder.write("script.py", "import tiny\nprint(tiny.ANSWER)\n");
    let script = script.to_string_lossy();
    let python = environment.join("bin/python");
    let result = Tickmark::run("atomic", &python, &[&script]).json();
    assert_eq!(result["stdout"], "42\n", "{result}");
    let native = [
        "run",
        "--json",
        "--backend",
        "native",
        "--run-untrusted",
        "--",
    ]
    .map(str::to_owned);
    let command = native
        .into_iter()
        .chain([python.to_string_lossy().into_owned(), script.to_string()]);
    let result = Tickmark::new(command).json();
    assert_eq!(result["stdout"], "42\n", "{result}");
    let result = Tickmark::run("atomic", "python3", &[&script]).json();
    assert_eq!(result["exit"]["code"], 1, "{result}");
    let said = result["stderr"].as_str().unwrap_or_default();
    assert!(said.contains("No module named 'tiny'"), "{said}");
}

/// The variable is that of the table of witnesses, which says how to make the environment.
#[test]
fn a_function_that_imports_numpy_is_evaluated_with_the_packages_of_an_environment() {
    let Some(python) = std::env::var_os("TICKMARK_WITNESS_PYTHON") else {
        println!("skipped: TICKMARK_WITNESS_PYTHON names no interpreter with numpy");
        return;
    };
    let found = Command::new(&python).args(["-c", "import numpy"]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        println!("skipped: {} has no numpy", python.display());
        return;
    }
    let problem = json!({
        "task_id": "N/0",
        "entry_point": "product",
        "prompt": "import numpy as np\ndef product(a, b):\n    \"\"\"Of two matrices.\"\"\"\n",
        "canonical_solution": "    return (np.array(a) @ np.array(b)).tolist()\n",
        "test": "import numpy as np\ndef check(candidate):\n    \
                 assert candidate([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]\n    \
                 assert np.allclose(candidate([[0.5]], [[2.0]]), [[1.0]])\n",
    });
    let folder = Scratch::new();
    folder.write("problems.jsonl", lines(&[problem]));
    folder.write(
        "samples.jsonl",
        lines(&[solution(
            "N/0",
            "import numpy as np\ndef product(a, b):\n    return np.array(a) * 2\n",
        )]),
    );
    let fixed = "evaluate --json --machine atomic --dataset humaneval problems.jsonl --samples canonical m=samples.jsonl --python";
    let arguments = (fixed.split(' ').map(std::ffi::OsString::from)).chain([python]);
    let finished = Tickmark::new(arguments).folder(folder.path()).finish();
    assert_eq!(finished.code, 0, "{finished:?}");
    let rows = finished.json_lines();
    assert_eq!(rows[0]["verdict"], json!({"kind": "accepted"}), "{rows:?}");
    assert_eq!(
        rows[0]["cases"].as_array().map(Vec::len),
        Some(2),
        "{rows:?}"
    );
    // The truth of an array is numpy's own complaint.
    let verdict = &rows[1]["verdict"];
    assert_eq!(verdict["kind"], "test_failed", "{rows:?}");
    let text = verdict["text"].as_str().unwrap_or_default();
    assert!(text.contains("The truth value of an array"), "{verdict}");
}

fn installed(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: this host has no `{name}`");
    }
    found
}
