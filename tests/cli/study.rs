//! Studies: stores that survive everything, metrics from stored facts, plan files, forms of output.
use crate::support::dataset::{function, lines, program, solution};
use crate::support::scratch::Scratch;
use crate::support::tickmark::{Finished, Tickmark};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Problems in Python with three models of two samples each; `work` is how long a call is.
fn functions(scratch: &Scratch, problems: usize, work: usize) {
    let ids: Vec<String> = (0..problems).map(|index| format!("P/{index}")).collect();
    let name = |index: usize| format!("f{index}");
    let all: Vec<Value> = (ids.iter().enumerate())
        .map(|(index, id)| {
            let call = format!("candidate({work}) == {}", work * (work - 1) / 2 + index);
            function(id, &name(index), &[&call])
        })
        .collect();
    scratch.write("problems.jsonl", lines(&all));
    for (model, factor) in [("quick", 1), ("slow", 3), ("wrong", 1)] {
        let mut samples = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            for extra in 0..2 {
                let result = if model == "wrong" && extra == 0 {
                    "total + 1"
                } else {
                    "total"
                };
                let source = format!(
                    "def {}(n):\n    for _ in range({factor} + {extra}):\n        total = {index}\n        for i in range(n):\n            total += i\n    return {result}\n",
                    name(index)
                );
                samples.push(solution(id, &source));
            }
        }
        scratch.write(&format!("{model}.jsonl"), lines(&samples));
    }
}

const EVALUATE: &str = "evaluate --machine atomic --dataset humaneval problems.jsonl --samples quick=quick.jsonl \
                        slow=slow.jsonl wrong=wrong.jsonl --metric pass@1,pass@2,normalised-runtime,beyond,win";

fn tickmark(scratch: &Scratch, arguments: &str) -> Tickmark {
    Tickmark::new(arguments.split_whitespace()).folder(scratch.path())
}

fn success(scratch: &Scratch, arguments: &str) -> Finished {
    let finished = tickmark(scratch, arguments).finish();
    assert_eq!(finished.code, 0, "{finished:?}");
    finished
}

fn export(scratch: &Scratch, store: &str) -> String {
    success(scratch, &format!("store export {store}")).stdout
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Numbers that only have to be different from run to run of the loop, and the same in each run of the test.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Kills an evaluation at this many moments, resumes it each time, and compares with one that was left alone.
fn killed(scratch: &Scratch, evaluate: &str, kills: u64) {
    let begun = Instant::now();
    success(scratch, &format!("{evaluate} --out whole"));
    let whole = u64::try_from(begun.elapsed().as_millis()).expect("less than an age");
    let mut moments = Moments(2024);
    let mut struck = 0;
    for _ in 0..kills {
        let mut child = tickmark(scratch, &format!("{evaluate} --out broken -q")).spawn();
        std::thread::sleep(Duration::from_millis(moments.next(whole * 5 / 3 / kills)));
        struck += u64::from(child.try_wait().expect("a child of ours").is_none());
        child.kill().expect("a child of ours");
        child.wait().expect("a child of ours");
    }
    assert!(
        struck >= kills / 4,
        "only {struck} of {kills} kills met a running evaluation"
    );
    success(scratch, &format!("{evaluate} --out broken"));
    let results = |folder: &str| read(&scratch.path().join(folder).join("results.jsonl"));
    assert_eq!(results("broken"), results("whole"));
    assert_eq!(export(scratch, "broken"), export(scratch, "whole"));
    assert!(export(scratch, "whole").contains("\"table\":\"measurement\""));
}

#[test]
fn an_evaluation_that_is_killed_twenty_times_gives_the_same_bytes() {
    let scratch = Scratch::new();
    functions(&scratch, 4, 1000);
    killed(&scratch, EVALUATE, 20);
}

/// Programs of one line of input: right, wrong, without end, and wrong by the clock.
fn programs(scratch: &Scratch) {
    let ids = ["P/0", "P/1"];
    let problems: Vec<Value> = (ids.iter())
        .map(|id| program(id, "cpp", &[("1\n", "2\n"), ("7\n", "14\n")]))
        .collect();
    scratch.write("programs.jsonl", lines(&problems));
    for (model, body) in [
        ("right", "std::cout << 2 * n << '\\n';"),
        ("wrong", "std::cout << 2 + n % 2 * n << '\\n';"),
        ("loops", "for (;;) n = n * 3 + 1;"),
        ("clock", "std::cout << n + (time(nullptr) > 0) << '\\n';"),
    ] {
        let source = |id: &&str| {
            solution(
                id,
                &format!(
                    "#include <iostream>\n#include <ctime>\n// {id}\nint main() {{ volatile unsigned n; unsigned m; std::cin >> m; n = m; {body} }}\n"
                ),
            )
        };
        scratch.write(
            &format!("{model}.jsonl"),
            lines(&ids.iter().map(source).collect::<Vec<_>>()),
        );
    }
}

const SCREENED: &str = "evaluate --machine skylake,simple --dataset stdio programs.jsonl --samples right=right.jsonl \
                        wrong=wrong.jsonl loops=loops.jsonl clock=clock.jsonl --max-instructions 20000000";

#[test]
fn a_screened_evaluation_runs_only_what_is_accepted_and_survives_kills() {
    let scratch = Scratch::new();
    programs(&scratch);
    killed(&scratch, &format!("{SCREENED} --screen"), 6);
    let rows = |folder: &str| -> Vec<Value> {
        let text = read(&scratch.path().join(folder).join("results.jsonl"));
        let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
        all.filter(|row: &Value| row["problem"].is_string())
            .collect()
    };
    let screened = rows("whole");
    assert_eq!(screened.len(), 16);
    for row in &screened {
        // `skylake` shows programs the processor of its gem5, and so does the machine before it.
        let screen = match row["machine"].as_str().unwrap() {
            "skylake" => json!("atomic[guest.profile=gem5]"),
            _ => json!("atomic"),
        };
        let (kind, by) = match row["model"].as_str().unwrap() {
            "right" => ("accepted", Value::Null),
            "wrong" => ("wrong_answer", screen),
            "loops" => ("instruction_limit", screen),
            _ => ("wrong_answer", Value::Null),
        };
        assert_eq!(
            (&row["verdict"]["kind"], &row["screened"]),
            (&json!(kind), &by),
            "{row}"
        );
        assert_eq!(row["total"].is_null(), !by.is_null(), "{row}");
        assert_eq!(row["clock_read"] == true, row["model"] == "clock", "{row}");
    }
    // Nothing of the loops was measured on a machine with cycles, and each `atomic` has each program once.
    let measured = success(&scratch, "store export whole --table measurement").stdout;
    let on = |machine: &str| (measured.matches(&format!("\"machine\":\"{machine}\""))).count();
    // The programs of both problems are the same to the byte. Both cases of what is right and of what looks at the
    // clock, which is wrong in the second; the first cases of the others.
    assert_eq!((on("skylake"), on("simple")), (4, 4), "{measured}");
    let each = 2 + 2 + 1 + 1;
    let before = (on("atomic"), on("atomic[guest.profile=gem5]"));
    assert_eq!(before, (each, each), "{measured}");
    // Without a screen the same verdicts come out, and the same figures of what is accepted.
    success(
        &scratch,
        &format!("{SCREENED} --store whole/store.sqlite --out bare"),
    );
    for (with, bare) in screened.iter().zip(&rows("bare")) {
        assert_eq!(with["verdict"], bare["verdict"]);
        assert_eq!(with["runtime_cycles"], bare["runtime_cycles"]);
        assert!(bare["total"]["cycles"].is_u64() && bare.get("screened").is_none());
    }
    // What `atomic` found is known to a study that asks for it.
    let alone = SCREENED.replace("skylake,simple", "atomic");
    let told = success(
        &scratch,
        &format!("{alone} --screen --store whole/store.sqlite --progress json"),
    );
    let last: Value = serde_json::from_str(told.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(last["known"], 8, "{told:?}");
    let native = tickmark(
        &scratch,
        &format!("{SCREENED} --screen --backend native --run-untrusted"),
    )
    .finish();
    assert_eq!(native.code, 2, "{native:?}");
    assert!(
        native.stderr.contains("`--screen` is for the simulator"),
        "{native:?}"
    );
}

#[test]
fn two_processes_fill_one_store() {
    let scratch = Scratch::new();
    functions(&scratch, 4, 500);
    success(&scratch, &format!("{EVALUATE} --store alone.sqlite"));
    let mut children: Vec<_> = (0..2)
        .map(|_| tickmark(&scratch, &format!("{EVALUATE} --store shared.sqlite -q")).spawn())
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(
        export(&scratch, "shared.sqlite"),
        export(&scratch, "alone.sqlite")
    );
    // A third evaluation, of one of the models under another name, runs nothing.
    let renamed = "evaluate --machine atomic --dataset humaneval problems.jsonl --samples other=quick.jsonl \
                   --store shared.sqlite --progress json";
    let finished = success(&scratch, renamed);
    let last: Value = serde_json::from_str(finished.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["known"], &last["done"]),
        (&json!(8), &json!(8)),
        "{finished:?}"
    );
}

#[test]
fn an_interrupted_evaluation_says_how_to_go_on() {
    let scratch = Scratch::new();
    functions(&scratch, 4, 1000);
    success(&scratch, &format!("{EVALUATE} --out whole"));
    let arguments = format!("{EVALUATE} --out stopped --progress json --threads 1");
    let mut child = tickmark(&scratch, &arguments).spawn();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = told.find(|line| line.as_ref().unwrap().contains("\"progress\""));
    assert!(first.is_some());
    let kill = Command::new("kill")
        .arg("-INT")
        .arg(child.id().to_string())
        .status();
    assert!(kill.unwrap().success());
    let rest: Vec<String> = told.map(Result::unwrap).collect();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{rest:?}");
    assert!(
        rest.iter()
            .any(|line| line.contains("the same command goes on")),
        "{rest:?}"
    );
    assert!(!scratch.path().join("stopped/results.jsonl").exists());
    success(&scratch, &format!("{EVALUATE} --out stopped"));
    assert_eq!(export(&scratch, "stopped"), export(&scratch, "whole"));
}

#[test]
fn metrics_are_computed_again_without_running_and_stores_are_shown_and_pruned() {
    let scratch = Scratch::new();
    functions(&scratch, 3, 200);
    let first = success(&scratch, &format!("{EVALUATE} --out out"));
    // Nothing that an evaluation needs is there any more.
    for file in ["problems.jsonl", "quick.jsonl", "slow.jsonl", "wrong.jsonl"] {
        std::fs::remove_file(scratch.path().join(file)).unwrap();
    }
    let metrics = "metrics out --metric pass@1,pass@2,normalised-runtime,beyond,win";
    let again = success(&scratch, metrics);
    assert_eq!(again.stdout, first.stdout);
    // Without the model that fails its first samples the population and the shares change.
    let two = success(&scratch, "metrics out --exclude wrong --json").json_lines();
    let table = &two[0]["table"];
    assert_eq!(table["models"].as_array().unwrap().len(), 2);
    assert_eq!(table["excluded"], json!(["wrong"]));
    let pairs = success(&scratch, "metrics out --pairwise --stability --intervals");
    for text in ["Normalised runtime in pairs", "Kendall tau-b", "pass@1 95%"] {
        assert!(pairs.stdout.contains(text), "{}", pairs.stdout);
    }
    let latex = success(&scratch, "metrics out --format latex").stdout;
    assert!(
        latex.contains("\\begin{tabular}{lrrr}") && latex.contains("\\%"),
        "{latex}"
    );
    let csv = success(&scratch, "metrics out --format csv").stdout;
    assert!(
        csv.starts_with("model,samples,pass@1,normalised runtime\r\nquick,6,1,"),
        "{csv}"
    );
    let html = success(&scratch, "metrics out --html page.html");
    assert!(html.stderr.contains("page.html"));
    let page = read(&scratch.path().join("page.html"));
    assert_eq!(page.matches("<svg ").count(), 3);
    assert!(
        page.contains("total += i") && page.contains("test failed"),
        "the sources and verdicts"
    );
    let refused = tickmark(&scratch, "metrics out --exclude nobody").finish();
    assert_eq!(
        (refused.code, refused.stderr.contains("no model `nobody`")),
        (2, true)
    );
    let refused = tickmark(&scratch, "metrics nowhere").finish();
    assert_eq!(
        (refused.code, refused.stderr.contains("no store")),
        (2, true)
    );
    let shown = success(&scratch, "store show out").stdout;
    assert!(
        shown.contains("humaneval") && shown.contains("quick, slow, wrong"),
        "{shown}"
    );
    let rows = success(&scratch, "store export out --study humaneval --format csv").stdout;
    assert_eq!(rows.lines().count(), 1 + 18, "{rows}");
    success(&scratch, "store prune out --study humaneval");
    assert!(!export(&scratch, "out").contains("\"table\":\"measurement\""));
}

#[test]
fn a_plan_file_re_creates_a_study_and_its_lock_tells_other_data() {
    let scratch = Scratch::new();
    let problem = program("double", "python", &[("3\n", "6\n")]);
    scratch.write("data/problems.jsonl", lines(&[problem]));
    let wasteful = "n = int(input())\nfor _ in range(150000): pass\nprint(2 * n)\n";
    let frugal = "print(2 * int(input()))\n";
    scratch.write("data/old.jsonl", lines(&[solution("double", wasteful)]));
    scratch.write("data/new/double/a_improved.py", frugal);
    scratch.write("data/new/double/b_other.py", "print(0)\n");
    let plan = "name = \"study\"\npreset = \"pie2024\"\n[data]\ndataset = \"stdio\"\nproblems = \"problems.jsonl\"\n\
                [[samples]]\nname = \"old\"\nfile = \"old.jsonl\"\n\
                [[samples]]\nname = \"new\"\nfile = \"new\"\ncontaining = \"_improved\"\nbase = \"old\"\n\
                [options]\nmachine = [\"atomic\", \"simple\"]\nlanguage = \"python\"\n";
    scratch.write("plans/study.toml", plan);
    let evaluate = "evaluate --plan plans/study.toml --data data --json";
    scratch.write(
        "plans/presumptuous.toml",
        format!("{plan}backend = \"native\"\nrun-untrusted = true\n"),
    );
    let refused = evaluate.replace("study", "presumptuous");
    let refused = Tickmark::new(refused.split(' '))
        .folder(scratch.path())
        .finish();
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("on the command line"),
        "{}",
        refused.stderr
    );
    let told = success(&scratch, evaluate).json_lines();
    let tables: Vec<_> = told
        .iter()
        .filter(|line| line.get("table").is_some())
        .collect();
    assert_eq!(tables.len(), 2);
    assert_eq!(
        (&tables[0]["machine"], &tables[1]["machine"]),
        (&json!("atomic"), &json!("simple"))
    );
    assert_eq!(tables[0]["table"]["aggregate"], "sum");
    let metrics = tables[0]["table"]["metrics"].as_array().unwrap();
    let speed_up = metrics
        .iter()
        .find(|metric| metric["metric"] == "speed-up")
        .unwrap();
    let value = speed_up["models"][1]["value"].as_f64().unwrap();
    // By hand, from the rows: the sum of the cases of the old program over that of the new one.
    let sum = |model: &str| -> f64 {
        let row = (told.iter()).find(|row| row["model"] == model && row["machine"] == "atomic");
        let cases = row.unwrap()["cases"].as_array().unwrap();
        cases
            .iter()
            .map(|case| case["instructions"].as_f64().unwrap())
            .sum()
    };
    assert!(
        value > 1.01 && (value - sum("old") / sum("new")).abs() < 1e-12,
        "{value}"
    );
    // The command line wins over the plan, and the plan over its preset.
    let other = success(
        &scratch,
        &format!("{evaluate} --machine atomic --metric pass@1"),
    )
    .json_lines();
    assert_eq!(
        other.last().unwrap()["table"]["metrics"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(other.len(), 3);
    success(
        &scratch,
        "evaluate --plan plans/study.toml --data data --lock",
    );
    let locked = read(&scratch.path().join("plans/study.toml"));
    assert!(
        locked.starts_with(plan.trim_end()) && locked.contains("\"machine simple\" = "),
        "{locked}"
    );
    assert_eq!(success(&scratch, evaluate).json_lines(), told);
    let elsewhere = success(&scratch, &format!("{evaluate} --machine gem5-timing")).stderr;
    for said in [
        "has no `machine gem5-timing`, which is used now",
        "locked to `machine simple`, which is not used now",
    ] {
        assert!(elsewhere.contains(said), "{elsewhere}");
    }
    scratch.write("data/old.jsonl", lines(&[solution("double", frugal)]));
    let refused = tickmark(&scratch, evaluate).finish();
    assert_eq!(refused.code, 2);
    assert!(
        refused
            .stderr
            .contains("locked to another `data old.jsonl`"),
        "{refused:?}"
    );
    for (change, message) in [
        ("machine =", "mashine ="),
        ("name = \"study\"", "name = \"study\"\nunknown = 1"),
        ("name = \"new\"", "name = \"old\""),
        ("base = \"old\"", "base = \"nobody\""),
        ("pie2024", "pie1999"),
    ]
    .map(|(from, to)| (plan.replace(from, to), to))
    {
        scratch.write("plans/bad.toml", &change);
        let refused = tickmark(&scratch, "evaluate --plan plans/bad.toml --data data").finish();
        assert_eq!(refused.code, 2, "{message}: {refused:?}");
        assert!(
            refused.stderr.contains("error: ") && refused.stderr.contains("hint: "),
            "{refused:?}"
        );
    }
}
