//! `compare`, `agree` and `protocol` as a user types them.
use crate::support::scratch::Scratch;
use crate::support::tickmark::Tickmark;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const QUICK: &str = "#include <cstdio>\nint main() { unsigned s = 1; for (int i = 0; i < 20000; i++) s = s * 1664525u + 7u; printf(\"%u\\n\", s); }\n";
/// The same answer for four times the work.
const SLOW: &str = "#include <cstdio>\nint main() { unsigned s = 1; for (int r = 0; r < 4; r++) { s = 1; for (volatile int i = 0; i < 20000; i = i + 1) s = s * 1664525u + 7u; } printf(\"%u\\n\", s); }\n";
const WRONG: &str = "#include <cstdio>\nint main() { printf(\"1\\n\"); }\n";

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn in_the_simulator_a_difference_is_exact_and_repeats() {
    let scratch = Scratch::new();
    let (quick, slow) = (
        scratch.write("quick.cpp", QUICK),
        scratch.write("slow.cpp", SLOW),
    );
    let run = || {
        Tickmark::new([
            "compare".as_ref(),
            "--json".as_ref(),
            slow.as_os_str(),
            quick.as_os_str(),
        ])
        .finish()
    };
    let (first, second) = (run(), run());
    assert_eq!(
        (first.code, &first.stdout),
        (0, &second.stdout),
        "{}",
        first.stderr
    );
    let decision = &json_of(&first.stdout)["comparisons"][0]["decision"];
    assert_eq!(
        (&decision["exact"], &decision["outcome"]),
        (&json!(true), &json!("faster"))
    );
    assert!(decision["speed_up"].as_f64().unwrap() > 3.0 && decision["p"].is_null());
}

#[test]
fn slips_are_told_before_anything_runs() {
    let scratch = Scratch::new();
    let problem = |id: &str| {
        json!({
            "task_id": id, "prompt": "def f(n):\n", "entry_point": "f", "canonical_solution": "    return n\n",
            "test": "def check(candidate):\n    assert candidate(2) == 2\n",
        })
    };
    let (a, b) = (problem("a"), problem("b"));
    let problems = scratch.write("problems.jsonl", format!("{a}\n{b}\n"));
    let sample = |id: &str| {
        let line = json!({"task_id": id, "completion": "    return n\n"});
        scratch.write(&format!("{id}.jsonl"), format!("{line}\n"))
    };
    let (a, b) = (sample("a"), sample("b"));
    let (a, b, problems) = (a.display(), b.display(), problems.display());
    let models = format!("compare --machine atomic --dataset humaneval --problems {problems}");
    let native = format!("compare --backend native --run-untrusted {a} {b}");
    for (line, said) in [
        (
            format!("{models} x={a} y={b}"),
            "no problem to which every entrant has a sample",
        ),
        (
            format!("{models} x={a} x={b}"),
            "two entrants are called `x`",
        ),
        (format!("{models} x={a} canonical --samples 0"), "--samples"),
        (format!("{native} --level 0"), "`--level 0` is out of range"),
        (
            format!("{native} --equal-within 100"),
            "`--equal-within 100` is out of range",
        ),
        (format!("{native} --cpu 1000000"), "no such processor"),
        (format!("{native} --max-cpu {}", u64::MAX), "--max-cpu"),
        (
            format!(
                "evaluate --dataset humaneval {problems} --samples canonical --threads {}",
                u64::MAX
            ),
            "--threads",
        ),
        (format!("metrics . --resamples {}", u64::MAX), "--resamples"),
        ("machines --set l2.ways=8".to_owned(), "<NAME>"),
    ] {
        let run = Tickmark::new(line.split(' ')).finish();
        assert_eq!(run.code, 2, "{line}: {run:?}");
        assert!(
            run.stderr.contains(said) && run.stdout.is_empty(),
            "{line}: {run:?}"
        );
    }
    let some = Tickmark::new(format!("{models} canonical x={a}").split(' ')).finish();
    assert_eq!(some.code, 0, "{some:?}");
    assert!(
        some.stderr
            .contains("left out, as `x` has no sample: 1 of 2 problems, `b` first"),
        "{some:?}"
    );
}

#[test]
fn another_output_is_no_time() {
    let scratch = Scratch::new();
    let (quick, wrong) = (
        scratch.write("quick.cpp", QUICK),
        scratch.write("wrong.cpp", WRONG),
    );
    let run = Tickmark::new([
        "compare".as_ref(),
        "--json".as_ref(),
        quick.as_os_str(),
        wrong.as_os_str(),
    ])
    .finish();
    assert_eq!(run.code, 1, "{}", run.stderr);
    let comparison = &json_of(&run.stdout)["comparisons"][0];
    assert_eq!(comparison["second"]["verdict"]["kind"], "wrong_answer");
    assert!(comparison["decision"].is_null());
}

#[test]
fn native_runs_need_consent_and_tell_what_they_know() {
    let scratch = Scratch::new();
    let (quick, slow) = (
        scratch.write("quick.cpp", QUICK),
        scratch.write("slow.cpp", SLOW),
    );
    let run = |more: &[&str]| {
        let fixed = ["compare", "--json", "--backend", "native"];
        let programs = [slow.to_str().unwrap(), quick.to_str().unwrap()];
        Tickmark::new(fixed.iter().chain(more).chain(&programs)).finish()
    };
    let refused = run(&[]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("--run-untrusted"),
        "{}",
        refused.stderr
    );
    for command in ["run", "evaluate --dataset stdio none --samples canonical"] {
        let words = command.split(' ').chain(["--backend", "native"]);
        let program = ["--", slow.to_str().unwrap()];
        let program = program.into_iter().filter(|_| command == "run");
        let refused = Tickmark::new(words.chain(program)).finish();
        assert_eq!(refused.code, 2);
        assert!(
            refused.stderr.contains("--run-untrusted"),
            "{}",
            refused.stderr
        );
    }
    let done = run(&["--run-untrusted", "--repetitions", "5"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let object = json_of(&done.stdout);
    let comparison = &object["comparisons"][0];
    assert_eq!(comparison["first"]["values"].as_array().unwrap().len(), 5);
    let p = comparison["decision"]["p"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&p) && comparison["decision"]["exact"] == json!(false));
    assert!(object["notes"].to_string().contains("noise floor"));
    assert!(object["host"].as_array().unwrap().len() >= 5);
}

#[test]
fn native_and_simulated_agree_on_a_large_difference_and_the_plot_is_there() {
    let scratch = Scratch::new();
    let (quick, slow) = (
        scratch.write("quick.cpp", QUICK.replace("20000", "2000000")),
        scratch.write("slow.cpp", SLOW.replace("20000", "2000000")),
    );
    let plot = scratch.path().join("plot.svg");
    let run = Tickmark::new([
        "agree".as_ref(),
        "--json".as_ref(),
        "--run-untrusted".as_ref(),
        "--repetitions".as_ref(),
        "12".as_ref(),
        "--plot".as_ref(),
        plot.as_os_str(),
        slow.as_os_str(),
        quick.as_os_str(),
    ])
    .finish();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let agreement = &json_of(&run.stdout)["agreement"];
    assert_eq!(agreement["pairs"], 1);
    // Twelve rounds of one sign have p = 2 / 2^12.
    let found = (&agreement["decided"], &agreement["signs_agree"]);
    assert_eq!(found, (&json!(1), &json!(1)), "{agreement}");
    assert!(std::fs::read_to_string(plot).unwrap().contains("<circle"));
}

#[test]
fn calls_that_the_clock_of_the_host_does_not_resolve_have_no_times() {
    let scratch = Scratch::new();
    let problem = json!({
        "task_id": "a", "prompt": "def f(n):\n", "entry_point": "f",
        "canonical_solution": "    return n\n", "test": "def check(candidate):\n    assert candidate(7) == 7\n",
    });
    let problems = scratch.write("problems.jsonl", format!("{problem}\n"));
    let long = "    for _ in range(200000): pass\n    return n\n";
    let long = json!({"task_id": "a", "completion": long});
    let samples = scratch.write("samples.jsonl", format!("{long}\n"));
    let run = Tickmark::new([
        "compare",
        "--json",
        "--backend",
        "native",
        "--run-untrusted",
        "--repetitions",
        "8",
        "--dataset",
        "humaneval",
        "--problems",
        problems.to_str().unwrap(),
        &format!("long={}", samples.display()),
        "canonical",
    ])
    .finish();
    assert_eq!(run.code, 1, "nothing is decided: {}", run.stderr);
    let object = json_of(&run.stdout);
    let comparison = &object["comparisons"][0];
    let (long, short) = (&comparison["first"], &comparison["second"]);
    assert_eq!(long["values"].as_array().unwrap().len(), 8, "{comparison}");
    assert_eq!(long["unresolved"], false);
    assert_eq!(short["verdict"]["kind"], "accepted");
    assert_eq!(
        (&short["values"], &short["unresolved"]),
        (&json!([]), &json!(true))
    );
    assert!(comparison["decision"].is_null());
    assert!(
        object["notes"]
            .to_string()
            .contains("1 entrants of tasks have no times")
    );
}

#[test]
fn le2026_counts_exactly_in_the_simulator() {
    let scratch = Scratch::new();
    let problem = |id: &str| {
        json!({
            "task_id": id, "prompt": "def f(n):\n", "entry_point": "f",
            "canonical_solution": "    total = 0\n    for i in range(n):\n        total += i\n    return total\n",
            "test": "def check(candidate):\n    assert candidate(200) == 19900\n",
        })
    };
    let problems: String = ["a", "b"]
        .iter()
        .map(|id| format!("{}\n", problem(id)))
        .collect();
    let problems = scratch.write("problems.jsonl", &problems);
    let fast = json!({"task_id": "a", "completion": "    return n * (n - 1) // 2\n"});
    let stuck = json!({"task_id": "b", "completion": "    return 1\n"});
    let samples = scratch.write("samples.jsonl", format!("{fast}\n{stuck}\n"));
    let run = Tickmark::new([
        "protocol",
        "le2026",
        "--json",
        "--simulated-only",
        "--machine",
        "atomic",
        "--dataset",
        "humaneval",
        "--problems",
        problems.to_str().unwrap(),
        "canonical",
        &format!("fast={}", samples.display()),
    ])
    .finish();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let object = json_of(&run.stdout);
    assert_eq!(object["sim"]["faster"], 1);
    assert_eq!(
        object["tasks"].as_array().unwrap().len(),
        2,
        "a failure stays in the denominator"
    );
    assert_eq!(
        object["tasks"][1]["sim"]["performant"]["verdict"]["kind"],
        "test_failed"
    );
}

#[test]
fn dseffi2026_scores_against_the_spectrum() {
    let scratch = Scratch::new();
    let instance = json!({
        "task_id": "sum", "prompt": "def f(values):\n", "entry_point": "f",
        "input_domain": {"correctness": [1, 5], "stress": [300, 600, 900]},
        "input_generator": "def input_generator(seed, domain):\n    return (list(range(seed, seed + domain)),)\n",
        "output_validator": "def output_validator(pred, ref):\n    return pred == ref\n",
        "reference_solution": "def f(values):\n    return sum(values)\n",
    });
    let instances = scratch.write("instances.jsonl", format!("{instance}\n{{}}\n"));
    let model = |name: &str, source: &str| {
        let line = json!({"task_id": "sum", "solution": source});
        format!(
            "{name}={}",
            scratch
                .write(&format!("{name}.jsonl"), format!("{line}\n"))
                .display()
        )
    };
    let slow = model(
        "slow",
        "def f(values):\n    total = 0\n    for value in values:\n        total += value\n    return total\n",
    );
    let wrong = model(
        "wrong",
        "def f(values):\n    return sum(values) + (len(values) > 400)\n",
    );
    let run = Tickmark::new([
        "protocol",
        "dseffi2026",
        "--json",
        "--simulated",
        "--machine",
        "atomic",
        "--stress-inputs",
        "2",
        "--instances",
        instances.to_str().unwrap(),
        &slow,
        &wrong,
    ])
    .finish();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let object = json_of(&run.stdout);
    // The slow one is the slowest of the spectrum; the wrong one fails only a stress input.
    assert_eq!(object["models"][0]["pass"], 1.0);
    assert_eq!(object["models"][0]["beyond"], 0.0);
    assert_eq!(
        (&object["models"][1]["pass"], &object["models"][1]["beyond"]),
        (&json!(0.0), &json!(0.0))
    );
    assert!(
        object["notes"].to_string().contains("2 of 3 stress inputs"),
        "{}",
        object["notes"]
    );
    assert!(
        run.stderr.contains("instances.jsonl") && run.stderr.contains("missing"),
        "{}",
        run.stderr
    );
}

#[test]
fn jeto2026_judges_recorded_rounds_and_names_a_broken_report() {
    let scratch = Scratch::new();
    let write = |tree: &str, round: usize, seconds: f64| {
        let report = format!(
            "<testsuite name=\"a.T\"><testcase classname=\"a.T\" name=\"x\" time=\"{seconds}\"/></testsuite>"
        );
        let folder = scratch.path().join(tree).join(format!("round-{round}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("TEST-a.T.xml"), report).unwrap();
    };
    for round in 1..=10 {
        write("original", round, 1.0);
        write("patched", round, 0.8);
    }
    let run = || {
        Tickmark::new([
            "protocol".as_ref(),
            "jeto2026".as_ref(),
            "--json".as_ref(),
            "--recorded".as_ref(),
            scratch.path().as_os_str(),
        ])
        .finish()
    };
    let done = run();
    assert_eq!(done.code, 0, "{}", done.stderr);
    let overall = &json_of(&done.stdout)["verdict"]["overall"];
    assert_eq!(overall["direction"], "improvement");
    // All ten rounds: 1/1024.
    assert!((overall["improvement_p"].as_f64().unwrap() - 1.0 / 1024.0).abs() < 1e-12);
    std::fs::write(
        scratch.path().join("patched/round-3/TEST-a.T.xml"),
        "<testsuite",
    )
    .unwrap();
    let broken = run();
    assert_eq!(broken.code, 2);
    assert!(
        broken.stderr.contains("round-3") && broken.stderr.contains("XML"),
        "{}",
        broken.stderr
    );
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn jeto2026_runs_a_project_where_java_is_there() {
    let has = |program: &str| {
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .any(|folder| folder.join(program).is_file())
    };
    if !has("javac") || !has("patch") || !Path::new("/usr/share/java/junit4.jar").is_file() {
        eprintln!("skipped: javac, patch or junit4 is not installed");
        return;
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/jeto");
    let run = Tickmark::new([
        "protocol".as_ref(),
        "jeto2026".as_ref(),
        "--json".as_ref(),
        "--run-untrusted".as_ref(),
        "--rounds".as_ref(),
        "4".as_ref(),
        "--build".as_ref(),
        "sh build.sh".as_ref(),
        "--test".as_ref(),
        "sh test.sh".as_ref(),
        "--original".as_ref(),
        examples.join("project").as_os_str(),
        "--patch".as_ref(),
        examples.join("faster.patch").as_os_str(),
    ])
    .finish();
    assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
    assert_eq!(json_of(&run.stdout)["verdict"]["rounds"], 4);
}

#[test]
fn what_the_compiler_does_not_know_yet_leaves_its_problem_out_and_the_others_go_on() {
    let scratch = Scratch::new();
    // Compilers learn: this one will never know `zip`.
    let compiler = scratch.write(
        "old-g++",
        "#!/bin/sh\nfor word; do\n  case $word in *.cpp) if grep -q views::zip \"$word\"; then\n\
         echo \"$word:1:1: error: 'zip' is not a member of 'std::views'\" >&2; exit 1\n\
         fi;; esac\ndone\nexec g++ \"$@\"\n",
    );
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).unwrap();
    let class = |body: &str| {
        format!("#include <ranges>\nclass Solution {{\npublic:\n  int f(int n) {{ {body} }}\n}};\n")
    };
    let (mut problems, mut samples) = (String::new(), String::new());
    for (name, body) in [
        ("a", "for (auto p : std::views::zip(v, v)) n++; return n;"),
        ("b", "int m = n + 1; return m - 1;"),
    ] {
        let problem = json!({
            "task_id": name, "entry_point": "Solution().f", "problem_description": "", "completion": "",
            "prompt": "", "starter_code": "class Solution:\n    def f(self, n: int) -> int:\n        ",
            "cpp": {"a/b": [{"path": "p", "code": class("return n;")}]},
            "input_output": [{"input": "n = 7", "output": "7"}],
        });
        problems += &format!("{problem}\n");
        samples += &format!("{}\n", json!({"task_id": name, "solution": class(body)}));
    }
    let problems = scratch.write("problems.jsonl", problems);
    let samples = scratch.write("samples.jsonl", samples);
    let run = Tickmark::new([
        "compare",
        "--json",
        "--machine",
        "atomic",
        "--compiler",
        compiler.to_str().unwrap(),
        "--dataset",
        "leetcode-dataset",
        "--language",
        "cpp",
        "--problems",
        problems.to_str().unwrap(),
        &format!("model={}", samples.display()),
        "canonical",
    ])
    .finish();
    assert!(
        run.stderr
            .contains("left out: a, as model cannot be built here:")
            && run.stderr.contains("zip"),
        "{}",
        run.stderr
    );
    let object = json_of(&run.stdout);
    assert_eq!(
        object["comparisons"].as_array().unwrap().len(),
        1,
        "{object}"
    );
    assert_eq!(object["comparisons"][0]["task"], "b");
}
