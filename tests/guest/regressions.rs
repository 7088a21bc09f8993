//! Inputs on which simulators and judges are known to fail, with exact expectations.
use crate::support::program::{BARE, compiled, native, source};
use crate::support::scratch::Scratch;
use crate::support::single_step::single_step;
use crate::support::tickmark::Tickmark;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Standard output of a program here, which must be that of the host too.
fn output_as_native(program: &Path) -> String {
    let result = Tickmark::run("atomic", program, &[]).json();
    assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
    let output = result["stdout"].as_str().expect("text").to_owned();
    assert_eq!(output, native(program, &[], ""));
    output
}

#[test]
fn memory_from_brk_is_zero_by_pages_and_kept_within_one() {
    let Some(program) = compiled("brk_pages.c", &["-O1", "-static"]) else {
        return;
    };
    let kept = " cd".repeat(32);
    assert_eq!(
        output_as_native(&program),
        format!("refused 0\nnonzero 0\nlast{kept}\n")
    );
}

#[test]
fn the_x87_has_80_bits_rounds_as_told_and_pops() {
    let Some(program) = compiled("x87_suite.c", &["-O2", "-frounding-math", "-static"]) else {
        return;
    };
    let output = output_as_native(&program);
    let expected = "large 9223372036854775807\n\
                    infinite 1 1\n\
                    shortest 4.2\n\
                    differences -1.00 0.00\n\
                    down 2.718281828459045235\n\
                    up 2.718281828459045236\n\
                    differ 1\n\
                    popped 2 1\n\
                    after fninit 037f 0000\n";
    assert!(output.starts_with(expected), "{output}");
}

#[test]
fn packs_saturate_and_movss_keeps_the_upper_lanes() {
    for level in ["-O0", "-O2"] {
        let flags = ["-march=x86-64-v2", "-static", level];
        if let Some(program) = compiled("pack_edges.c", &flags) {
            assert_eq!(output_as_native(&program), "checks 1445\nmismatches 0\n");
        }
    }
}

/// The class of each ending, and its code or signal; function names of faults where the symbol tells.
#[test]
fn every_ending_has_its_class() {
    let Some(program) = compiled("endings.cpp", &["-O1", "-static"]) else {
        return;
    };
    let golden: &[(&str, Value, i32, &str)] = &[
        (
            "no-newline",
            json!({"kind": "exited", "code": 0}),
            0,
            "done",
        ),
        ("return-3", json!({"kind": "exited", "code": 3}), 1, ""),
        ("assert", json!({"kind": "signaled", "signal": 6}), 1, ""),
        (
            "null",
            json!({"kind": "signaled", "signal": 11, "address": 0, "function": "write_to_null"}),
            1,
            "",
        ),
        (
            "divide",
            json!({"kind": "signaled", "signal": 8, "function": "divide"}),
            1,
            "",
        ),
        ("throw", json!({"kind": "signaled", "signal": 6}), 1, ""),
        (
            "abort",
            json!({"kind": "signaled", "signal": 6}),
            1,
            "before\n",
        ),
        ("kill", json!({"kind": "signaled", "signal": 9}), 1, ""),
        ("loop", json!({"kind": "instruction_limit"}), 1, ""),
        (
            "recurse",
            json!({"kind": "stack_overflow", "function": "descend"}),
            1,
            "",
        ),
        ("allocate", json!({"kind": "memory_limit"}), 1, ""),
        ("fork", json!({"kind": "exited", "code": 1}), 1, ""),
        (
            "deadlock",
            json!({"kind": "deadlock", "call": "futex"}),
            1,
            "",
        ),
        (
            "abort-handled",
            json!({"kind": "signaled", "signal": 6}),
            1,
            "handled\n",
        ),
    ];
    for (argument, ending, code, stdout) in golden {
        let limits = "--max-instructions 20000000 --max-memory 64 --max-stack 8 --max-output 1";
        let arguments = "run --json --machine simple".split(' ');
        let run = Tickmark::new((arguments.chain(limits.split(' '))).chain([
            "--",
            &program.to_string_lossy(),
            argument,
        ]));
        let finished = run.finish();
        let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
        let exit = &result["exit"];
        for (key, expected) in ending.as_object().expect("an object") {
            // Function and system call names come with an offset or a reason, and the former mangled.
            let agrees = match (expected.as_str(), exit[key].as_str()) {
                (Some(part), Some(text)) if key != "kind" => text.contains(part),
                _ => exit[key] == *expected,
            };
            assert!(agrees, "{argument}: {key} is to be {expected}: {exit}");
        }
        assert_eq!(finished.code, *code, "{argument}");
        assert_eq!(result["stdout"], *stdout, "{argument}");
        let kind = ending["kind"].as_str().expect("text");
        let verdict = match (kind, *code) {
            ("exited", 0) => "completed",
            ("exited", _) => "exit_code",
            ("signaled", _) => "signal",
            ("unsupported_syscall", _) => "unsupported",
            _ => kind,
        };
        assert_eq!(result["verdict"], verdict, "{argument}");
        // No sentinel may pass for a measurement.
        for counter in ["instructions", "cycles", "peak_memory_bytes"] {
            let value = result["counters"][counter].as_u64().expect("a count");
            assert!(
                (1..1 << 40).contains(&value),
                "{argument}: {counter} {value}"
            );
        }
    }
}

#[test]
fn a_program_that_prints_without_end_keeps_what_it_printed_up_to_the_limit() {
    let Some(program) = compiled("endings.cpp", &["-O1", "-static"]) else {
        return;
    };
    let program = program.to_string_lossy();
    let arguments = "run --json --machine atomic --max-output 1 --".split(' ');
    let result = Tickmark::new(arguments.chain([&*program, "print"])).json();
    assert_eq!(result["exit"], json!({"kind": "output_limit"}));
    let printed = result["stdout"].as_str().expect("text");
    assert!(printed.starts_with("and again the same line of text\nand again"));
    assert!(printed.len() <= 1 << 20, "{}", printed.len());
}

#[test]
fn name_depth_environment_and_folder_do_not_change_a_counter() {
    let Some(program) = compiled("struct_copy.c", &["-O2", "-static"]) else {
        return;
    };
    let scratch = Scratch::new();
    let bytes = std::fs::read(&program).expect("just compiled");
    let install = |name: &str| {
        let path = scratch.write(name, &bytes);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
        path
    };
    let counters = |run: Tickmark| {
        let result = run.json();
        assert_eq!(result["exit"]["code"], 0, "{result}");
        result["counters"].clone()
    };
    let short = install("a");
    let expected = counters(Tickmark::run("simple", &short, &[]));
    assert!(expected["cycles"].as_u64() > Some(100_000), "{expected}");

    let long = install(&format!("{}/{}", ["deep"; 12].join("/"), "n".repeat(180)));
    let folder = long.parent().expect("it is deep");
    let deep = Tickmark::run("simple", "./".to_owned() + &"n".repeat(180), &[]).folder(folder);
    assert_eq!(counters(deep.env("USER", "u".repeat(40))), expected);

    for variables in [5, 300] {
        let mut run = Tickmark::run("simple", "./a", &[]).folder(scratch.path());
        for number in 0..variables {
            run = run.env(&format!("VARIABLE_{number}"), "x".repeat(number));
        }
        assert_eq!(counters(run), expected, "{variables} variables");
    }
}

#[test]
fn python_is_seeded_and_the_seed_changes_what_it_should() {
    let script = source("seeded.py");
    let script = script.to_string_lossy();
    let run = |seed: &str| {
        let arguments = "run --json --machine simple --seed".split(' ');
        let result = Tickmark::new(arguments.chain([seed, "--", "python3", &script])).json();
        assert_eq!(result["exit"]["code"], 0, "{result}");
        let output = result["stdout"].as_str().expect("text").to_owned();
        (output, result["counters"].clone())
    };
    let first = run("0");
    for _ in 0..2 {
        assert_eq!(run("0"), first);
    }
    let other = run("1");
    assert_eq!(run("1"), other);
    // Both lines: the order of a set of strings, and the entropy.
    for (line, other) in first.0.lines().zip(other.0.lines()) {
        assert_ne!(line, other);
    }
    assert_ne!(first.1["instructions"], other.1["instructions"]);
}

#[test]
fn repeated_string_instructions_count_once_and_everything_else_as_by_hand() {
    let Some(program) = compiled("rep_count.S", BARE) else {
        return;
    };
    let by_hand = 3 * 3 + (1 + 2 * 1000) + 100 + 3;
    let result = Tickmark::run("simple", &program, &[]).json();
    assert_eq!(result["counters"]["instructions"], by_hand);
    let steps = single_step(&program, None).expect("the host lets us trace a child");
    assert_eq!(steps.instructions, by_hand);
    // Iterations are micro-operations: 0, 1 and 50 of them, of at least one each.
    let micro_ops = result["counters"]["micro_ops"].as_u64().expect("a count");
    assert!(micro_ops >= by_hand - 3 + 51, "{micro_ops}");
}

#[test]
fn a_deep_recursive_search_needs_the_stack_that_it_is_given() {
    let Some(program) = compiled("deep_search.cpp", &["-O0", "-static"]) else {
        return;
    };
    let program = program.to_string_lossy();
    let run = |stack: &str| {
        let arguments = ["run", "--json", "--machine", "atomic", "--max-stack", stack];
        Tickmark::new(arguments.into_iter().chain(["--", &program])).json()
    };
    let large = run("256");
    assert_eq!(large["stdout"], "deepest 199999\n", "{large}");
    assert_eq!(large["exit"], json!({"kind": "exited", "code": 0}));
    let small = run("8");
    assert_eq!(small["exit"]["kind"], "stack_overflow", "{small}");
    assert_eq!(small["verdict"], "stack_overflow");
}

#[test]
fn small_threads_count_answer_and_spin_and_a_spin_without_end_is_the_limit() {
    let flags = ["-std=c++17", "-O1", "-static", "-pthread"];
    let Some(program) = compiled("threads_small.cpp", &flags) else {
        return;
    };
    for machine in ["atomic", "simple"] {
        let run = || Tickmark::run(machine, &program, &[]).json();
        let result = run();
        let expected = "total 4000\nrounds 200\ndone\n";
        assert_eq!(result["stdout"], expected, "{result}");
        assert_eq!(run()["counters"], result["counters"]);
    }
    let program = program.to_string_lossy();
    let arguments = "run --json --machine atomic --max-instructions 20000000 --".split(' ');
    let spin = Tickmark::new(arguments.chain([&*program, "for-ever"])).json();
    assert_eq!(spin["exit"], json!({"kind": "instruction_limit"}));
    assert_eq!(spin["counters"]["instructions"], 20_000_000);
}

/// The host tells the parent's peak as that of its children (`execve` hands it on), which is what this is about.
#[test]
fn a_program_does_not_inherit_the_peak_of_the_one_that_starts_it() {
    let Some(program) = compiled("rss_parent.c", &["-O1", "-static"]) else {
        return;
    };
    let result = Tickmark::run("atomic", &program, &["300"]).json();
    assert_eq!(
        result["stdout"], "empty 0\nmoment 200\nown 300\n",
        "{result}"
    );
    let peak = result["counters"]["peak_memory_bytes"].as_u64();
    let peak = peak.expect("a count") >> 20;
    assert!((500..508).contains(&peak), "{peak} MiB of all processes");
}

#[test]
fn a_pragma_for_avx2_gives_the_right_sums_or_an_illegal_instruction() {
    let Some(program) = compiled("avx2_pragma.cpp", &["-O2", "-static"]) else {
        return;
    };
    let run = |program: &Path, profile: &str| {
        let arguments = format!("run --json --machine atomic --set guest.profile={profile} --");
        let program = program.to_string_lossy();
        Tickmark::new(arguments.split(' ').chain([&*program])).json()
    };
    let result = run(&program, "x86-64-v3");
    let expected = "329760467 331089232 2308323269 80288 1\n";
    assert_eq!(result["stdout"], expected, "{result}");
    let result = run(&program, "x86-64-v2");
    assert_eq!(result["exit"]["signal"], 4, "{result}");

    let wide = ["-O3", "-static", "-mavx512f", "-mavx512vl"];
    if let Some(program) = compiled("avx2_pragma.cpp", &wide) {
        let result = run(&program, "x86-64-v3");
        let exit = &result["exit"];
        assert_eq!(exit["kind"], "unsupported_instruction", "{exit}");
        assert!(exit["mnemonic"].as_str().expect("a name").starts_with('v'));
        assert!(exit["rip"].as_u64() > Some(0x40_0000), "{exit}");
        assert_eq!(result["verdict"], "unsupported");
    }
}
