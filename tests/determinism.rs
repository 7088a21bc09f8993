//! The same question gets the same bytes, whoever asks, from where, and with how many hands.
use crate::support::dataset::{function, lines, program, solution};
use crate::support::program::compiled;
use crate::support::scratch::Scratch;
use crate::support::tickmark::Tickmark;
use serde_json::json;

/// Problems and samples in a folder of their own, at some depth.
fn python_data(scratch: &Scratch, folder: &str) {
    let problems = [
        function(
            "T/0",
            "total",
            &["candidate(10) == 45", "candidate(300) == 44850"],
        ),
        function(
            "T/1",
            "ordered",
            &["candidate(20)[:3] == ['a0', 'a1', 'a2']"],
        ),
        // Left out, with a reason that stands in the results.
        json!({"task_id": "T/2", "entry_point": "none", "prompt": "", "test": ""}),
    ];
    let quick = [
        solution("T/0", "def total(n):\n    return n * (n - 1) // 2\n"),
        solution(
            "T/1",
            "def ordered(n):\n    return sorted('a%d' % i for i in range(n))[:3] and ['a0', 'a1', 'a2']\n",
        ),
        json!({"task_id": "T/0", "completion": "    return -1\n"}),
    ];
    let slow = [
        solution(
            "T/0",
            "def total(n):\n    return sum(i for i in range(n))\n",
        ),
        // Depends on the order of a set of strings, and on the clock.
        solution(
            "T/1",
            "import time\ndef ordered(n):\n    t = time.time()\n    words = list({'a%d' % i for i in range(n)})\n    return sorted(words, key=lambda w: int(w[1:]) + 0 * t)\n",
        ),
        json!({"task_id": "T/0", "completion": "    raise ValueError(n)\n"}),
    ];
    scratch.write(&format!("{folder}/problems.jsonl"), lines(&problems));
    scratch.write(&format!("{folder}/quick.jsonl"), lines(&quick));
    scratch.write(&format!("{folder}/slow.jsonl"), lines(&slow));
}

fn results(scratch: &Scratch, folder: &str) -> String {
    let path = scratch.path().join(folder).join("out/results.jsonl");
    std::fs::read_to_string(path).expect("the evaluation writes its results")
}

/// `evaluate` in a folder, by relative names, with more options.
fn evaluate(scratch: &Scratch, folder: &str, form: &str, options: &str) -> Tickmark {
    let fixed = format!(
        "evaluate --dataset {form} problems.jsonl --samples quick=quick.jsonl slow=slow.jsonl --out out {options}"
    );
    let arguments: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
    Tickmark::new(arguments).folder(&scratch.path().join(folder))
}

#[test]
fn an_evaluation_of_functions_gives_the_same_bytes_anywhere_and_without_snapshots() {
    let scratch = Scratch::new();
    let deep = "a/very/deep/folder/with a blank";
    for folder in ["one", deep, "fresh"] {
        python_data(&scratch, folder);
    }
    let first = evaluate(&scratch, "one", "humaneval", "--threads 1").finish();
    assert_eq!(first.code, 0, "{first:?}");
    let expected = results(&scratch, "one");
    assert_eq!(expected.lines().count(), 7, "{expected}");
    let accepted = expected
        .matches("\"verdict\":{\"kind\":\"accepted\"}")
        .count();
    assert_eq!(accepted, 4, "{expected}");

    let elsewhere = evaluate(&scratch, deep, "humaneval", "--threads 2")
        .env("HOME", std::env::var("HOME").unwrap_or_default() + "/.")
        .env("USER", "somebody-with-a-long-name")
        .env("LANG", "de_DE.UTF-8")
        .env("PYTHONHASHSEED", "17")
        .env("TMPDIR", scratch.path())
        .env("TZ", "Asia/Tokyo");
    let elsewhere = elsewhere.finish();
    assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
    assert_eq!(results(&scratch, deep), expected);

    let fresh = evaluate(&scratch, "fresh", "humaneval", "--no-snapshot").finish();
    assert_eq!(fresh.code, 0, "{fresh:?}");
    assert_eq!(results(&scratch, "fresh"), expected);
    assert_eq!(fresh.stdout, first.stdout);
}

/// Standard input holds the cases and comes to a snapshot that another problem's run has left.
#[test]
fn calls_that_go_on_from_a_snapshot_read_their_own_standard_input() {
    let scratch = Scratch::new();
    let problem = |id: &str, tests: Vec<serde_json::Value>| json!({"id": id, "language": "python", "function": "f", "prompt": "def f(a):\n", "tests": tests});
    let test = |input: serde_json::Value, output: i64| json!({"input": [input], "output": output});
    let long: Vec<i64> = (0..3000).collect();
    let problems = [
        problem("short", vec![test(json!([3]), 3)]),
        problem(
            "long",
            vec![test(json!(long), 4_498_500), test(json!([]), 0)],
        ),
        problem("other", vec![test(json!([4]), 4)]),
    ];
    let honest = "def f(a):\n    return sum(a)\n";
    // Standard input is a pipe: it has no size, and no place to look at without taking what stands there.
    let nosy = "import os\nassert os.fstat(0).st_size == 0\nseen = os.pread(0, 40, 0)\n\
                def f(a):\n    return sum(a)\n";
    // What it reads is gone for the driver: a failure that must be the same failure.
    let thief = "import sys\ntaken = sys.stdin.readline()\ndef f(a):\n    return int(taken)\n";
    let answers: Vec<_> = [honest, nosy, thief, honest]
        .into_iter()
        .flat_map(|source| ["short", "long", "other"].map(|id| solution(id, source)))
        .collect();
    let mut found = Vec::new();
    for (folder, option) in [("kept", "--threads 1"), ("fresh", "--no-snapshot")] {
        scratch.write(&format!("{folder}/problems.jsonl"), lines(&problems));
        scratch.write(&format!("{folder}/quick.jsonl"), lines(&answers));
        scratch.write(&format!("{folder}/slow.jsonl"), lines(&answers[..3]));
        let run = evaluate(&scratch, folder, "calls", option).finish();
        assert_eq!(run.code, 0, "{run:?}");
        found.push(results(&scratch, folder));
    }
    let accepted = found[0]
        .matches("\"verdict\":{\"kind\":\"accepted\"}")
        .count();
    // Six by `quick`, three by `slow`; those of the nosy one and the thief are not.
    assert_eq!(accepted, 9, "{}", found[0]);
    assert_eq!(found[0].matches("Illegal seek").count(), 3, "{}", found[0]);
    assert_eq!(found[0], found[1]);
}

#[test]
fn an_evaluation_of_programs_gives_the_same_bytes_anywhere() {
    let scratch = Scratch::new();
    let problems = [
        program("sum", "cpp", &[("1 2", "3\n"), ("20000 5", "20005\n")]),
        program("words", "python", &[("b a", "a b\n")]),
    ];
    const QUICK: &str = "#include <stdio.h>\nint main() { long a, b; if (scanf(\"%ld %ld\", &a, &b) == 2) printf(\"%ld\\n\", a + b); }\n";
    const SLOW: &str = "#include <stdio.h>\n#include <map>\nint main() {\n  long a, b; std::map<long, int> m;\n  \
        if (scanf(\"%ld %ld\", &a, &b) != 2) return 1;\n  for (long i = 0; i < a; ++i) m[i]++;\n  \
        printf(\"%ld\\n\", (long)m.size() + b);\n}\n";
    let quick = [
        solution("sum", QUICK),
        solution("words", "print(*sorted(input().split()))\n"),
    ];
    let slow = [
        solution("sum", SLOW),
        solution("words", "print('a b' if set(input().split()) else '')\n"),
        // What the compiler, a fault and a traceback say must not tell where they happened.
        solution(
            "sum",
            "#include \"absent.h\"\nint main() { return undeclared; }\n",
        ),
        solution(
            "sum",
            "#include <assert.h>\nint main() { assert(1 + 1 == 3); }\n",
        ),
        solution(
            "words",
            "import os\nraise ValueError(os.getcwd(), sorted(os.environ), id(os))\n",
        ),
    ];
    for folder in ["one", "other/place"] {
        scratch.write(&format!("{folder}/problems.jsonl"), lines(&problems));
        scratch.write(&format!("{folder}/quick.jsonl"), lines(&quick));
        scratch.write(&format!("{folder}/slow.jsonl"), lines(&slow));
    }
    let first = evaluate(&scratch, "one", "stdio", "--threads 1").finish();
    assert_eq!(first.code, 0, "{first:?}");
    let expected = results(&scratch, "one");
    let accepted = expected
        .matches("\"verdict\":{\"kind\":\"accepted\"}")
        .count();
    assert_eq!(accepted, 4, "{expected}");
    let other = evaluate(&scratch, "other/place", "stdio", "--threads 2")
        .env("USER", "another")
        .env("CPATH", "/nonexistent")
        .env("SOURCE_DATE_EPOCH", "1")
        .env("TMPDIR", scratch.path());
    let other = other.finish();
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!(results(&scratch, "other/place"), expected);
}

#[test]
fn two_runs_of_a_program_print_the_same_bytes() {
    for flags in [
        &["-std=c++17", "-O1", "-static"][..],
        &["-std=c++17", "-O1", "-pie"],
    ] {
        let Some(program) = compiled("library.cpp", flags) else {
            return;
        };
        let run = || {
            Tickmark::run("simple", &program, &[])
                .stdin("one two\n")
                .finish()
        };
        let first = run();
        assert_eq!(first.code, 0, "{first:?}");
        assert_eq!(run().stdout, first.stdout);
    }
}

/// A file of the host that changes while the job runs is the one door through which runs can differ.
#[test]
fn a_run_that_reads_what_changes_is_found_to_be_not_deterministic() {
    let Some(program) = compiled("reads_late.c", &["-O1", "-static"]) else {
        return;
    };
    let verify = |file: &str, more: &[&str]| {
        let fixed = "run --machine atomic --root /data=/proc --verify-determinism";
        let program = program.to_string_lossy().into_owned();
        let arguments = (fixed.split(' ').chain(more.iter().copied()))
            .chain(["--", &program, file])
            .map(str::to_owned)
            .collect::<Vec<_>>();
        Tickmark::new(arguments).finish()
    };
    let same = verify("/data/version", &["--json"]);
    assert_eq!(same.code, 0, "{same:?}");
    for more in [&[][..], &["--json"]] {
        let differing = verify("/data/uptime", more);
        assert_eq!(differing.code, 4, "{differing:?}");
        assert_eq!(differing.stdout, "");
        let told = "error: not deterministic: `standard output` is ";
        assert!(differing.stderr.starts_with(told), "{differing:?}");
        assert!(
            differing.stderr.contains(" in a second run from the start"),
            "{differing:?}"
        );
    }
}

/// The out-of-order core has far more state than the others: all of it must be in a snapshot, and none of it shared.
#[test]
fn the_machines_of_gem5_count_the_same_at_any_thread_count_and_without_snapshots() {
    let scratch = Scratch::new();
    let problems = [function("T/0", "total", &["candidate(300) == 44850"])];
    let quick = [solution(
        "T/0",
        "def total(n):\n    return n * (n - 1) // 2\n",
    )];
    let programs = [program("sum", "cpp", &[("1 2", "3\n"), ("20 5", "25\n")])];
    const SUM: &str = "#include <stdio.h>\nint main() { long a, b; if (scanf(\"%ld %ld\", &a, &b) == 2) printf(\"%ld\\n\", a + b); }\n";
    const LOOP: &str = "#include <stdio.h>\nint main() { long a, b; if (scanf(\"%ld %ld\", &a, &b) != 2) return 1; while (a--) ++b; printf(\"%ld\\n\", b); }\n";
    // The start of an interpreter is tens of millions of instructions: one with a snapshot, one without.
    let mut expected = None;
    for (folder, options) in [("one", "--threads 1"), ("two", "--threads 2 --no-snapshot")] {
        scratch.write(&format!("{folder}/problems.jsonl"), lines(&problems));
        scratch.write(&format!("{folder}/quick.jsonl"), lines(&quick));
        let line = format!(
            "evaluate --dataset humaneval problems.jsonl --samples quick=quick.jsonl --out out \
             --machine skylake {options}"
        );
        let run = Tickmark::new(line.split_whitespace());
        let run = run.folder(&scratch.path().join(folder)).finish();
        assert_eq!(run.code, 0, "{run:?}");
        let found = results(&scratch, folder);
        assert_eq!(
            found.matches("{\"kind\":\"accepted\"}").count(),
            1,
            "{found}"
        );
        assert_eq!(*expected.get_or_insert_with(|| found.clone()), found);
    }
    for machine in ["skylake", "gem5-o3"] {
        let mut expected = None;
        for threads in ["1", "2"] {
            let folder = format!("{machine}/cpp-{threads}");
            scratch.write(&format!("{folder}/problems.jsonl"), lines(&programs));
            scratch.write(
                &format!("{folder}/quick.jsonl"),
                lines(&[solution("sum", SUM)]),
            );
            scratch.write(
                &format!("{folder}/slow.jsonl"),
                lines(&[solution("sum", LOOP)]),
            );
            let options = format!("--threads {threads} --machine {machine}");
            let run = evaluate(&scratch, &folder, "stdio", &options).finish();
            assert_eq!(run.code, 0, "{run:?}");
            let found = results(&scratch, &folder);
            assert_eq!(*expected.get_or_insert_with(|| found.clone()), found);
        }
    }
}
