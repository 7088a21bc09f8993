//! The flow from plan to summary, with a scripted runner in place of artifact and backend.
use super::*;
use crate::candidate::{Answer, Candidate};
use crate::dataset::{Form, Language, Problem, TestCase};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::outcome::{Counters, Device, Exit, Region};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A runner whose candidates say in their source what their run gives: `out TEXT`, `cycles N`, `panic`, `fail`,
/// `regions A B C`, `exit N`, `slow MILLISECONDS`; one word and its values a line.
#[derive(Default)]
struct FakeRunner {
    runs: AtomicUsize,
}

impl Runner for FakeRunner {
    fn key(&self, candidate: &Candidate, problem: &Problem) -> String {
        format!("{}:{}", problem.id, source(candidate))
    }

    fn run(&self, candidate: &Candidate, problem: &Problem) -> SampleRun {
        self.runs.fetch_add(1, Ordering::Relaxed);
        SampleRun::measure(problem, &NoChecker, |_| scripted(source(candidate)))
    }
}

struct NoChecker;

impl Check for NoChecker {
    fn judge(&self, _: &crate::verdict::Checker, _: &[Checked], _: Verdict) -> Verdict {
        panic!("no problem here has a checker");
    }
}

fn source(candidate: &Candidate) -> &str {
    match candidate {
        Candidate::CppProgram { source }
        | Candidate::PythonProgram { source }
        | Candidate::CppFunction { source, .. }
        | Candidate::CppCalls { source, .. }
        | Candidate::PythonCalls { source, .. }
        | Candidate::PythonFunction { source, .. } => source,
    }
}

fn scripted(script: &str) -> Result<Measurement, BackendFailure> {
    let mut measurement = Measurement {
        backend: BackendName::Sim,
        machine: "fake".into(),
        exit: Exit::Exited { code: 0 },
        counters: Counters {
            instructions: 1000,
            cycles: Some(2000),
            ..Counters::default()
        },
        regions: Vec::new(),
        region_cpu_time_ns: Vec::new(),
        open_region: false,
        messages: vec![(Device::DONE, Vec::new())],
        stdout: Vec::new(),
        stderr: Vec::new(),
        unanswered_system_calls: Vec::new(),
        clock_read: false,
    };
    for line in script.lines() {
        let (word, values) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = || values.split(' ').map(|n| n.parse::<u64>().unwrap());
        match word {
            "out" => measurement.stdout = values.into(),
            "cycles" => measurement.counters.cycles = numbers().next(),
            "uncounted" => measurement.counters.cycles = None,
            "exit" => {
                measurement.exit = Exit::Exited {
                    code: numbers().next().unwrap() as u8,
                }
            }
            "slow" => {
                std::thread::sleep(std::time::Duration::from_millis(numbers().next().unwrap()))
            }
            "panic" => panic!("scripted"),
            "fail" => {
                return Err(BackendFailure {
                    what: "no compiler".into(),
                    remedy: "install one".into(),
                });
            }
            "regions" => {
                let region = |cycles| Region {
                    instructions: cycles / 2,
                    cycles: Some(cycles),
                };
                measurement.regions = numbers().map(region).collect();
            }
            _ => {}
        }
    }
    Ok(measurement)
}

fn program(id: &str, expected: &[&str]) -> Problem {
    let case = |(index, expected): (usize, &&str)| TestCase {
        name: (index + 1).to_string(),
        stdin: b"".as_slice().into(),
        expected: expected.as_bytes().into(),
        alternatives: Vec::new(),
    };
    Problem {
        id: id.into(),
        language: Language::Cpp,
        form: Form::Program {
            cases: expected.iter().enumerate().map(case).collect(),
        },
        canonical: None,
        judging: crate::verdict::Judging::default(),
    }
}

fn function(id: &str) -> Problem {
    Problem {
        id: id.into(),
        language: Language::Python,
        form: Form::Function {
            prompt: "def f():\n".into(),
            entry_point: "f".into(),
            test: "def check(candidate): candidate()".into(),
        },
        canonical: None,
        judging: crate::verdict::Judging::default(),
    }
}

fn model(name: &str, answers: &[(&str, &[&str])]) -> Model {
    let answers = answers.iter().map(|(id, texts)| {
        let texts = texts.iter().map(|text| Answer::Solution((*text).into()));
        ((*id).to_string(), texts.collect())
    });
    Model {
        name: name.into(),
        answers: answers.collect(),
    }
}

fn plan() -> Plan {
    Plan {
        problems: vec![
            program("a", &["1", "1"]),
            program("b", &["1"]),
            function("c"),
            program("d", &["1"]),
        ],
        models: vec![
            model(
                "x",
                &[
                    ("a", &["out 2", "out 1\ncycles 100"]),
                    ("b", &["out 1\ncycles 10", ""]),
                    ("c", &["regions 4 14 24 10", "regions 4 14"]),
                    ("d", &["panic", "out 1"]),
                ],
            ),
            model(
                "y",
                &[
                    ("a", &["out 1\ncycles 300", "exit 3"]),
                    ("b", &["out 1\ncycles 30", "fail"]),
                    ("c", &["regions 4 64", ""]),
                    ("d", &["out 1", "out 1"]),
                ],
            ),
        ],
        ks: vec![1, 2, 3],
        threads: Some(2),
        ..Plan::default()
    }
}

#[test]
fn rows_come_in_the_order_of_problem_model_and_sample() {
    let result = evaluate(&plan(), &FakeRunner::default(), &Silent);
    let places: Vec<_> = (result.rows.iter())
        .map(|r| format!("{}{}{}", r.problem, r.model, r.sample))
        .collect();
    let expected = [
        "ax0", "ax1", "ay0", "ay1", "bx0", "bx1", "by0", "by1", "cx0", "cx1", "cy0", "cy1", "dx0",
        "dx1", "dy0", "dy1",
    ];
    assert_eq!(places, expected);
    let kinds: Vec<_> = result.rows.iter().map(|row| row.verdict.kind()).collect();
    assert_eq!(
        kinds[..4],
        ["wrong_answer", "accepted", "accepted", "exit_code"]
    );
    assert_eq!(
        kinds[4..8],
        ["accepted", "empty_answer", "accepted", "backend_failure"]
    );
    assert_eq!(
        kinds[12..],
        ["backend_failure", "accepted", "accepted", "accepted"]
    );
    assert_eq!(result.failures_of_ours(), 2);
}

#[test]
fn a_program_stops_at_its_first_wrong_case_and_its_runtime_is_the_longest() {
    let result = evaluate(&plan(), &FakeRunner::default(), &Silent);
    assert_eq!(result.rows[0].cases.len(), 1);
    assert_eq!(result.rows[0].runtime_cycles, None);
    assert_eq!(result.rows[1].cases.len(), 2);
    assert_eq!(result.rows[1].runtime_cycles, Some(100));
    assert_eq!(result.rows[1].runtime_instructions, Some(1000));
    assert_eq!(result.rows[1].total.unwrap().cycles, Some(200));
}

#[test]
fn a_function_is_timed_by_its_regions_less_the_empty_one() {
    let result = evaluate(&plan(), &FakeRunner::default(), &Silent);
    let row = &result.rows[8];
    let cycles: Vec<_> = row.cases.iter().map(|case| case.cycles.unwrap()).collect();
    assert_eq!(cycles, [10, 20, 6]);
    assert_eq!(
        (row.runtime_cycles, row.runtime_instructions),
        (Some(20), Some(10))
    );
    assert_eq!(row.total.unwrap().cycles, Some(2000));
}

#[test]
fn the_summary_equals_the_values_computed_by_hand() {
    let summary = evaluate(&plan(), &FakeRunner::default(), &Silent).summary;
    // a: 100 and 300; b: 10 and 30; c: 20 and 60; d: a failure of ours comes first.
    assert_eq!(summary.normalised_runtime.problems, ["a", "b", "c"]);
    assert_eq!(summary.models[0].normalised_runtime_percent, Some(25.0));
    assert_eq!(summary.models[1].normalised_runtime_percent, Some(75.0));
    let left_out = &summary.normalised_runtime.left_out[0];
    assert_eq!(
        (left_out.problem.as_str(), left_out.reason.as_str()),
        (
            "d",
            "`x`: a failure of ours before the first accepted sample"
        )
    );
    // x: a 1/2, b 1/2, c 2/2, d 1/1 (one sample is not known): 3/4. pass@2: a, b, c 1, d left out.
    let Offered::Value(pass) = &summary.models[0].pass_at_k[0] else {
        panic!("refused");
    };
    assert!((pass.value - 0.75).abs() < 1e-15);
    let Offered::Value(pass) = &summary.models[0].pass_at_k[1] else {
        panic!("refused");
    };
    assert_eq!((pass.value, pass.problems), (1.0, 3));
    assert!(matches!(
        &summary.models[0].pass_at_k[2],
        Offered::Refused { k: 3, .. }
    ));
    let text = crate::report::to_text(&summary.to_table());
    assert!(text.contains("over 3 of 4 problems"), "{text}");
    assert!(
        text.contains("no pass@3: problem `a` has 2 samples of `x`"),
        "{text}"
    );
}

#[test]
fn on_a_machine_that_only_counts_the_unit_is_instructions() {
    let plan = Plan {
        problems: vec![program("a", &["1"])],
        models: vec![model("x", &[("a", &["out 1\nuncounted"])])],
        ..Plan::default()
    };
    let summary = evaluate(&plan, &FakeRunner::default(), &Silent).summary;
    assert_eq!(summary.unit, RuntimeUnit::Instructions);
    assert_eq!(summary.models[0].normalised_runtime_percent, Some(100.0));
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let mut plan = plan();
    // The first jobs take longest, so that completion order differs from starting order.
    for (index, answers) in plan.models[0].answers.values_mut().enumerate() {
        let Answer::Solution(text) = &mut answers[0] else {
            continue;
        };
        text.push_str(&format!("\nslow {}", 8 - index));
    }
    let with = |threads| {
        let plan = Plan {
            threads: Some(threads),
            ..plan.clone()
        };
        evaluate(&plan, &FakeRunner::default(), &Silent).to_json_lines()
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
    let last = one.lines().last().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["schema_version"], SCHEMA_VERSION);
    assert_eq!(last["table"]["models"][0]["model"], "x");
    assert_eq!(last["table"]["normalised_runtime"]["problems"], 3);
}

#[derive(Default)]
struct Recorder(Mutex<Vec<(bool, Progress)>>);

impl Observer for Recorder {
    fn finished(&self, _: &Row, reused: bool, progress: &Progress) {
        self.0.lock().unwrap().push((reused, *progress));
    }
}

#[test]
fn observers_are_told_of_every_sample() {
    let recorder = Recorder::default();
    evaluate(&plan(), &FakeRunner::default(), &recorder);
    let seen = recorder.0.into_inner().unwrap();
    let done: Vec<_> = seen.iter().map(|(_, progress)| progress.done).collect();
    assert_eq!(done, (1..=16).collect::<Vec<_>>());
    assert_eq!(seen[15].1.samples, 16);
    assert_eq!(seen[15].1.remaining, Some(std::time::Duration::ZERO));
}

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("tickmark-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn resumed(folder: &std::path::Path, runner: &FakeRunner) -> (String, Vec<String>) {
    let (journal, earlier) = Journal::open(folder).unwrap();
    let notes = journal.notes().to_vec();
    let result = evaluate_onto(&plan(), earlier, runner, &journal.observer(&Silent));
    let path = journal.finish(&result).unwrap();
    (std::fs::read_to_string(path).unwrap(), notes)
}

#[test]
fn an_evaluation_that_was_ended_goes_on_where_it_was() {
    let folder = folder("resume");
    let (whole, _) = resumed(&folder, &FakeRunner::default());
    // As after a kill: some rows in the order of completion, the last one cut.
    let rows: Vec<&str> = whole.lines().collect();
    let partial = [
        rows[9],
        "\n",
        rows[2],
        "\n",
        rows[0],
        "\n",
        &rows[3][..rows[3].len() / 2],
    ]
    .concat();
    std::fs::remove_file(folder.join("results.jsonl")).unwrap();
    std::fs::write(folder.join("results.partial.jsonl"), partial).unwrap();
    let runner = FakeRunner::default();
    let (again, notes) = resumed(&folder, &runner);
    assert_eq!(again, whole);
    // 16 samples less 2 empty ones less 3 that are there.
    assert_eq!(runner.runs.load(Ordering::Relaxed), 11);
    assert!(
        notes[0].contains("1 incomplete or unreadable lines"),
        "{notes:?}"
    );
    assert!(!folder.join("results.partial.jsonl").exists());
    // A finished evaluation is taken over but for failures of ours.
    let runner = FakeRunner::default();
    assert_eq!(resumed(&folder, &runner).0, whole);
    assert_eq!(runner.runs.load(Ordering::Relaxed), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let path = folder("file");
    std::fs::write(&path, "").unwrap();
    let message = Journal::open(&path.join("out")).unwrap_err().to_string();
    assert!(
        message.contains("cannot make the folder") && message.contains("out"),
        "{message}"
    );
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn rows_survive_json() {
    for row in evaluate(&plan(), &FakeRunner::default(), &Silent).rows {
        assert_eq!(
            serde_json::from_str::<Row>(&row.to_json_line()).unwrap(),
            row
        );
    }
}
