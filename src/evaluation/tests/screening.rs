//! Screening: a machine that only counts judges before machines with cycles.
use super::*;

/// A figure that only the counting machine gives.
const COUNTED: &str = "7654321";

/// The counting machine, and one with cycles on which programs that look at the clock write something else.
fn runners() -> [FakeRunner; 3] {
    let runner = |adds| FakeRunner {
        adds,
        ..FakeRunner::default()
    };
    [
        runner("\nuncounted\ninstructions 7654321"),
        runner("\nclocked out 1"),
        runner("\ncycles 40"),
    ]
}

fn plan() -> Plan {
    let mut plan = super::plan();
    // Wrong on the counting machine, right on the first of the others, and known to have looked at the clock.
    plan.models[1]
        .answers
        .insert("b".into(), vec![Answer::Solution("clock\nout 5".into())]);
    plan.report.metrics = [
        "pass@1",
        "normalised-runtime",
        "win",
        "beyond",
        "eff@1",
        "ntmu",
    ]
    .map(|name| name.parse().unwrap())
    .into();
    plan.report.reference = Some("x".into());
    plan
}

fn evaluated(
    plan: &Plan,
    runners: &[FakeRunner; 3],
    screened: bool,
    store: &Store,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> EvaluationResult {
    let screen = Screen::new("count", &runners[0]);
    let on = |machine: &'static str, runner| OnMachine {
        machine,
        runner,
        screen: screened.then_some(&screen),
    };
    let memory = Memory::new(store);
    let machines = [on("one", &runners[1]), on("two", &runners[2])];
    let result = evaluate(plan, &machines, &memory, stop, observer);
    assert!(memory.failure().is_none() && memory.alarms().is_empty());
    result
}

fn whole(runners: &[FakeRunner; 3], screened: bool, store: &Store) -> EvaluationResult {
    let stop = AtomicBool::new(false);
    evaluated(&plan(), runners, screened, store, &stop, &Silent)
}

fn runs(runners: &[FakeRunner; 3]) -> [usize; 3] {
    [0, 1, 2].map(|index| runners[index].runs.load(Ordering::Relaxed))
}

#[test]
fn only_what_is_accepted_or_read_the_clock_runs_on_the_other_machines() {
    let (plain, screened) = (runners(), runners());
    let bare = whole(&plain, false, &Store::in_memory().unwrap());
    let store = Store::in_memory().unwrap();
    let result = whole(&screened, true, &store);
    assert_eq!(runs(&plain)[0], 0);
    let accepted = (bare.rows.iter())
        .filter(|row| row.machine == "two" && row.verdict.is_accepted())
        .count();
    let [first, one, two] = runs(&screened);
    // 4 answers to a, 2 to b and 3 to c that are not empty, 1 to d (three alike); what panics does so for both machines.
    assert_eq!(first, 12);
    assert!(one <= accepted + 1 && two <= accepted + 1, "{one} {two}");
    assert!(one + two < runs(&plain)[1] + runs(&plain)[2]);

    let mut rejected = 0;
    for (row, bare) in result.rows.iter().zip(&bare.rows) {
        assert_eq!(row.verdict, bare.verdict, "{} {}", row.problem, row.model);
        if row.screened.is_some() {
            rejected += 1;
            assert_eq!(row.screened.as_deref(), Some("count"));
            assert!(!row.verdict.is_accepted() && row.total.is_none());
            let figures = |case: &CaseRow| case.cycles.or(case.instructions).is_some();
            assert!(!row.cases.iter().any(figures));
        } else {
            let with_key = Row {
                key: bare.key.clone(),
                ..row.clone()
            };
            assert_eq!(with_key, *bare);
        }
    }
    assert_eq!(rejected, 4);
    let clock = result.rows.iter().filter(|row| row.clock_read);
    assert!(clock.clone().count() == 2 && clock.clone().all(|row| row.screened.is_none()));
    // The first machine shows the clock another time than the counting one, and the answer is right there.
    assert!(clock.clone().any(|row| row.verdict.is_accepted()));

    // No figure of the counting machine stands anywhere, and every metric is as without it.
    assert!(!result.to_json_lines().contains(COUNTED));
    for (screened, bare) in result.summaries.iter().zip(&bare.summaries) {
        assert_eq!(screened.scores, bare.scores);
        assert_eq!(screened.wins, bare.wins);
        let count: usize = screened.models.iter().map(|model| model.screened).sum();
        assert_eq!(2 * count, rejected);
        let note = format!("{count} rejected samples were rejected on a machine that only counts");
        assert!(
            screened
                .to_table()
                .notes
                .iter()
                .any(|n| n.starts_with(&note))
        );
    }
    // A study that asks for the counting machine itself finds its results.
    let again = onto(&plan(), &screened[0], &store, &Silent);
    assert!(again.to_json_lines().contains(COUNTED));
    assert_eq!(
        runs(&screened)[0],
        first + 1,
        "what panicked is tried again"
    );
}

#[test]
fn a_study_without_a_screen_takes_no_result_from_one_with_a_screen() {
    let (store, runners) = (Store::in_memory().unwrap(), runners());
    whole(&runners, true, &store);
    let bare = whole(&runners, false, &store);
    assert!(bare.rows.iter().all(|row| row.screened.is_none()));
    let fresh = whole(
        &super::screening::runners(),
        false,
        &Store::in_memory().unwrap(),
    );
    assert_eq!(bare.to_json_lines(), fresh.to_json_lines());
    // And the other way round: what was rejected with figures stands without.
    let again = whole(&runners, true, &store);
    let alone = whole(
        &super::screening::runners(),
        true,
        &Store::in_memory().unwrap(),
    );
    assert_eq!(again.to_json_lines(), alone.to_json_lines());
}

#[test]
fn a_screened_evaluation_that_was_stopped_gives_the_same_facts() {
    let whole_store = Store::in_memory().unwrap();
    let expected = whole(&runners(), true, &whole_store);
    let (store, runners) = (Store::in_memory().unwrap(), runners());
    let plan = Plan {
        threads: Some(1),
        ..plan()
    };
    let mut begun = 0;
    loop {
        let stop = AtomicBool::new(false);
        begun += 3;
        let stopping = Stopping(&stop, begun);
        let result = evaluated(&plan, &runners, true, &store, &stop, &stopping);
        if !result.interrupted {
            assert_eq!(result.to_json_lines(), expected.to_json_lines());
            break;
        }
    }
    assert_eq!(export(&store), export(&whole_store));
}

#[test]
fn progress_counts_the_runs_of_the_screen_too() {
    struct Last(Mutex<Option<Progress>>);
    impl Observer for Last {
        fn finished(&self, _: &Row, _: bool, progress: &Progress) {
            *self.0.lock().unwrap() = Some(*progress);
        }
    }
    let plan = Plan {
        problems: vec![program("a", &["1"])],
        models: vec![model("m", &[("a", &["out 1", "out 2"])])],
        ..plan()
    };
    let last = Last(Mutex::new(None));
    let (store, stop) = (Store::in_memory().unwrap(), AtomicBool::new(false));
    evaluated(&plan, &runners(), true, &store, &stop, &last);
    let progress = last.0.lock().unwrap().unwrap();
    // Both samples once on the counting machine, the accepted one on both others; the rejected one cost the second
    // machine nothing.
    assert_eq!(progress.instructions, 2 * 7_654_321 + 2 * 1000);
    assert_eq!(
        (progress.done, progress.reused, progress.rejected),
        (4, 1, 2)
    );
}

#[test]
fn eff_at_k_leaves_out_what_a_screen_ended_by_the_limit() {
    let plan = Plan {
        problems: vec![function("c")],
        models: vec![
            model("x", &[("c", &["regions 4 14 24 10"])]),
            model("y", &[("c", &["regions 4 14 24\nlimit"])]),
        ],
        ..plan()
    };
    let store = Store::in_memory().unwrap();
    let stop = AtomicBool::new(false);
    let result = evaluated(&plan, &runners(), true, &store, &stop, &Silent);
    let scores = result.summaries[0].scores_of("eff@1").unwrap();
    assert!(scores.models[0].value.is_some() && scores.models[1].value.is_none());
    assert!(scores.models[1].left_out[0].reason.contains("screening"));
}
