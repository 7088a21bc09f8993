//! The flow from plan to summary, with a scripted runner in place of artifact and backend.
use super::*;
use crate::candidate::{Answer, Candidate};
use crate::dataset::{Form, Language, Problem, TestCase};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::outcome::{Counters, Device, Exit, Region};
use crate::store::{Store, Table, Tables};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

mod screening;

/// A runner whose candidates say in their source what their run gives: `out TEXT`, `cycles N`, `panic`, `fail`,
/// `regions A B C`, `exit N`, `slow MILLISECONDS`, `clock`, `instructions N`, `limit`, and `clocked out TEXT` for what a
/// run writes that has looked at the clock; one word and its values a line.
#[derive(Default)]
struct FakeRunner {
    runs: AtomicUsize,
    /// What its machine adds to every script.
    adds: &'static str,
}

impl Runner for FakeRunner {
    fn key(&self, candidate: &Candidate, problem: &Problem) -> String {
        format!("{}:{}{}", problem.id, source(candidate), self.adds)
    }

    fn run(&self, candidate: &Candidate, problem: &Problem) -> SampleRun {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let script = format!("{}{}", source(candidate), self.adds);
        SampleRun::measure(problem, &NoChecker, |_| scripted(&script))
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
            "clock" => measurement.clock_read = true,
            "clocked" if measurement.clock_read => {
                measurement.stdout = values.trim_start_matches("out ").into();
            }
            "instructions" => measurement.counters.instructions = numbers().next().unwrap(),
            "limit" => measurement.exit = Exit::InstructionLimit,
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
        ..Model::default()
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
        report: ReportOptions {
            metrics: ["pass@1", "pass@2", "pass@3", "normalised-runtime"]
                .map(|name| name.parse().unwrap())
                .into(),
            ..ReportOptions::default()
        },
        threads: Some(2),
        ..Plan::default()
    }
}

/// On one machine, with a store that ends with the call.
fn once(plan: &Plan, runner: &FakeRunner, observer: &dyn Observer) -> EvaluationResult {
    onto(plan, runner, &Store::in_memory().unwrap(), observer)
}

fn onto(
    plan: &Plan,
    runner: &FakeRunner,
    store: &Store,
    observer: &dyn Observer,
) -> EvaluationResult {
    let machines = [OnMachine {
        machine: "fake",
        runner,
        screen: None,
    }];
    let memory = Memory::new(store);
    let result = evaluate(plan, &machines, &memory, &AtomicBool::new(false), observer);
    assert!(memory.failure().is_none() && memory.alarms().is_empty());
    result
}

#[test]
fn rows_come_in_the_order_of_problem_model_and_sample() {
    let result = once(&plan(), &FakeRunner::default(), &Silent);
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
    let result = once(&plan(), &FakeRunner::default(), &Silent);
    assert_eq!(result.rows[0].cases.len(), 1);
    assert_eq!(result.rows[0].runtime_cycles, None);
    assert_eq!(result.rows[1].cases.len(), 2);
    assert_eq!(result.rows[1].runtime_cycles, Some(100));
    assert_eq!(result.rows[1].runtime_instructions, Some(1000));
    assert_eq!(result.rows[1].total.unwrap().cycles, Some(200));
}

#[test]
fn a_function_is_timed_by_its_regions_less_the_empty_one() {
    let result = once(&plan(), &FakeRunner::default(), &Silent);
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
    let summary = once(&plan(), &FakeRunner::default(), &Silent)
        .summaries
        .remove(0);
    // a: 100 and 300; b: 10 and 30; c: 20 and 60; d: a failure of ours comes first.
    assert_eq!(summary.population(), ["a", "b", "c"]);
    assert_eq!(summary.value("normalised-runtime", 0), Some(25.0));
    assert_eq!(summary.value("normalised-runtime", 1), Some(75.0));
    let left_out = &summary.scores_of("normalised-runtime").unwrap().left_out[0];
    assert_eq!(
        (left_out.problem.as_str(), left_out.reason.as_str()),
        (
            "d",
            "`x`: a failure of ours before the first accepted sample"
        )
    );
    // x: a 1/2, b 1/2, c 2/2, d 1/1 (one sample is not known): 3/4. pass@2: a, b, c 1, d left out.
    assert!((summary.value("pass@1", 0).unwrap() - 0.75).abs() < 1e-15);
    let pass = &summary.scores_of("pass@2").unwrap().models[0];
    assert_eq!((pass.value, pass.problems), (Some(1.0), 3));
    assert!(
        summary.scores_of("pass@3").unwrap().models[0]
            .refused
            .is_some()
    );
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
    let summary = once(&plan, &FakeRunner::default(), &Silent)
        .summaries
        .remove(0);
    assert_eq!(summary.unit, RuntimeUnit::Instructions);
    assert_eq!(summary.value("normalised-runtime", 0), Some(100.0));
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
        once(&plan, &FakeRunner::default(), &Silent).to_json_lines()
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
    once(&plan(), &FakeRunner::default(), &recorder);
    let seen = recorder.0.into_inner().unwrap();
    let done: Vec<_> = seen.iter().map(|(_, progress)| progress.done).collect();
    assert_eq!(done, (1..=16).collect::<Vec<_>>());
    assert_eq!(seen[15].1.samples, 16);
    assert_eq!(seen[15].1.remaining, Some(std::time::Duration::ZERO));
}

/// Every table of a store as text.
fn export(store: &Store) -> String {
    let mut text = Vec::new();
    for table in Tables::ALL {
        store.export_json_lines(table, &mut text).unwrap().unwrap();
    }
    String::from_utf8(text).unwrap()
}

/// Stops an evaluation after some samples.
struct Stopping<'a>(&'a AtomicBool, usize);

impl Observer for Stopping<'_> {
    fn finished(&self, _: &Row, _: bool, progress: &Progress) {
        if progress.done >= self.1 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_evaluation_that_was_stopped_goes_on_where_it_was() {
    let whole_store = Store::in_memory().unwrap();
    let whole = onto(&plan(), &FakeRunner::default(), &whole_store, &Silent);
    let store = Store::in_memory().unwrap();
    let runner = FakeRunner::default();
    let machines = [OnMachine {
        machine: "fake",
        runner: &runner,
        screen: None,
    }];
    let plan = Plan {
        threads: Some(1),
        ..plan()
    };
    let mut begun = 0;
    loop {
        let stop = AtomicBool::new(false);
        let memory = Memory::new(&store);
        // What is known goes by quickly; each time two more samples are done.
        begun += 2;
        let result = evaluate(&plan, &machines, &memory, &stop, &Stopping(&stop, begun));
        if !result.interrupted {
            assert_eq!(result.to_json_lines(), whole.to_json_lines());
            break;
        }
        assert!(result.summaries.is_empty() && result.rows.len() < 16);
    }
    assert_eq!(export(&store), export(&whole_store));
    // A finished evaluation is known but for failures of ours, which are tried again.
    let runner = FakeRunner::default();
    let again = onto(&plan, &runner, &store, &Silent);
    assert_eq!(again.to_json_lines(), whole.to_json_lines());
    assert_eq!(runner.runs.load(Ordering::Relaxed), 2);
}

#[test]
fn the_metrics_are_computed_again_from_the_store_alone() {
    let store = Store::in_memory().unwrap();
    let result = onto(&plan(), &FakeRunner::default(), &store, &Silent);
    let memory = Memory::new(&store);
    let study = StoredStudy::read(&memory, &store.find_study(None).unwrap()).unwrap();
    let again = study.summaries(&plan().report);
    let values = |summary: &Summary| {
        let all = summary.scores.iter().flat_map(|scores| &scores.models);
        all.map(|model| (model.value, model.interval))
            .collect::<Vec<_>>()
    };
    assert_eq!(values(&again[0]), values(&result.summaries[0]));
    // A scripted panic has no key under which a failure could be noted; everything else is there.
    let kinds = |rows: &[Row]| {
        rows.iter()
            .map(|row| row.verdict.kind())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&study.rows), kinds(&result.rows));
    assert!(study.sources[1].is_some());
    let entry = store.find_study(None).unwrap();
    // 16 samples, two of them failures of ours.
    assert_eq!((entry.samples, entry.done), (16, 14));
}

#[test]
fn several_machines_stand_side_by_side() {
    let (one, two) = (FakeRunner::default(), FakeRunner::default());
    let store = Store::in_memory().unwrap();
    let machines = [
        OnMachine {
            machine: "one",
            runner: &one,
            screen: None,
        },
        OnMachine {
            machine: "two",
            runner: &two,
            screen: None,
        },
    ];
    let mut plan = plan();
    plan.report.stability = true;
    let memory = Memory::new(&store);
    let result = evaluate(&plan, &machines, &memory, &AtomicBool::new(false), &Silent);
    let names: Vec<_> = result
        .summaries
        .iter()
        .map(|s| s.machine.as_str())
        .collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(result.rows.len(), 32);
    assert!(result.rows[..16].iter().all(|row| row.machine == "one"));
    // The same facts on both: every metric agrees with itself.
    let across: Vec<_> = (result.summaries[1].stability.iter())
        .filter(|stability| stability.b.contains(" on two"))
        .collect();
    assert_eq!(across.len(), 4);
    assert_eq!(across[3].kendall, Some(1.0));
    // pass@1 is 75% for both models, which is no order.
    assert_eq!(across[0].kendall, None);
}

#[test]
fn stored_facts_are_listed_exported_and_pruned() {
    let store = Store::in_memory().unwrap();
    onto(&plan(), &FakeRunner::default(), &store, &Silent);
    let mut other = plan();
    other.name = "other".into();
    other.models.truncate(1);
    onto(&other, &FakeRunner::default(), &store, &Silent);
    assert!(
        store
            .find_study(None)
            .unwrap_err()
            .to_string()
            .contains("several studies")
    );
    assert!(store.find_study(Some("nonsense")).is_err());
    let first = &store.studies().unwrap()[0];
    assert_eq!(
        store.find_study(Some(&first.key[..10])).unwrap().key,
        first.key
    );
    let mut csv = Vec::new();
    store.export_csv(Table::Result, &mut csv).unwrap().unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.starts_with("key,judge,blob\r\n"), "{csv}");
    let before = export(&store);
    assert_eq!(store.prune(&[]).unwrap(), crate::store::Pruned::default());
    assert_eq!(export(&store), before);
    // y's results go with the first study; x's are the other's too.
    let pruned = store.prune(std::slice::from_ref(&first.key)).unwrap();
    assert_eq!(pruned.studies, 1);
    assert!(pruned.results > 0 && pruned.contents > 0);
    let left = store.find_study(Some("other")).unwrap();
    assert_eq!((left.samples, left.done), (8, 7));
}

#[test]
fn rows_survive_json() {
    for row in once(&plan(), &FakeRunner::default(), &Silent).rows {
        assert_eq!(
            serde_json::from_str::<Row>(&row.to_json_line()).unwrap(),
            row
        );
    }
}
