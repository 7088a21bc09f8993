//! Every key of a machine file moves the cycles of a microbenchmark, by the amount computed by hand.
use super::rows::{IN_ORDER, OUT_OF_ORDER, Row};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tickmark::calibrate::microbenchmark::{ITERATIONS, Microbenchmark, all, measure};
use tickmark::sim::machine::keys::{KEYS, Kind};
use tickmark::sim::machine::{Machine, catalog};

/// Keys that say what a machine is called, which of all models it is, or how fast its clock is where nothing else has a
/// time of its own: they have their own tests below.
const NOT_BY_CYCLES: &[&str] = &["name", "description", "core.kind", "core.micro_ops"];

fn variant(machine: &str, overrides: &[(&str, &str)]) -> Machine {
    let machine = catalog::machine(machine).expect("a built-in machine");
    machine
        .with_overrides(overrides)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What is wrong with a row, if anything is.
fn wrong(machine: &str, row: &Row) -> Option<String> {
    let benchmark = Microbenchmark::named(row.benchmark).expect("rows name benchmarks");
    let changed = [row.base, &[(row.key, row.value)]].concat();
    let mut found = Vec::new();
    for (overrides, (cycles, iterations)) in [(row.base, row.before), (&changed, row.after)] {
        let measured = (benchmark.cycles(&variant(machine, overrides)))
            .expect("a microbenchmark of ours runs");
        if measured * iterations != cycles * u64::from(ITERATIONS) {
            let each = measured as f64 / f64::from(ITERATIONS);
            found.push(format!("{each} instead of {cycles} in {iterations}"));
        }
    }
    let (before, after) = (row.before, row.after);
    if before.0 * after.1 == after.0 * before.1 {
        found.push("the change moves nothing".to_owned());
    }
    (!found.is_empty()).then(|| {
        let (key, value, benchmark) = (row.key, row.value, row.benchmark);
        format!("{key} = {value}, {benchmark}: {}", found.join(", then "))
    })
}

fn check(machine: &str, rows: &'static [Row]) {
    let kind = catalog::machine(machine)
        .expect("a built-in machine")
        .kind();
    let covered: BTreeSet<&str> = rows.iter().map(|row| row.key).collect();
    let read = KEYS.iter().filter(|key| key.kinds.contains(&kind));
    let missing: Vec<&str> = read
        .map(|key| key.path)
        .filter(|path| !covered.contains(path) && !NOT_BY_CYCLES.contains(path))
        .filter(|path| kind == Kind::OutOfOrder || *path != "core.frequency_hz")
        .collect();
    assert!(missing.is_empty(), "keys without a row: {missing:?}");
    let complaints = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    (complaints.lock())
                        .expect("no row panics")
                        .extend(wrong(machine, row));
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("no row panics");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_key_of_the_out_of_order_core_moves_what_was_computed() {
    check("test-tiny", OUT_OF_ORDER);
}

#[test]
fn every_key_of_the_in_order_core_moves_what_was_computed() {
    check("test-tiny-in-order", IN_ORDER);
}

#[test]
fn the_blocking_core_reads_no_key_that_the_out_of_order_core_does_not() {
    for key in KEYS.iter().filter(|k| k.kinds.contains(&Kind::Blocking)) {
        assert!(key.kinds.contains(&Kind::OutOfOrder), "{}", key.path);
    }
}

#[test]
fn the_clock_of_a_core_without_times_of_its_own_turns_cycles_into_time() {
    let simple = variant("test-tiny-in-order", &[]);
    let fast = variant("test-tiny-in-order", &[("core.frequency_hz", "2000000000")]);
    assert_eq!(
        (simple.frequency_hz(), fast.frequency_hz()),
        (1_000_000_000, 2_000_000_000)
    );
    let benchmark = Microbenchmark::named("add_chain").unwrap();
    assert_eq!(
        benchmark.cycles(&simple).unwrap(),
        benchmark.cycles(&fast).unwrap()
    );
}

#[test]
fn a_kind_of_core_has_one_table_of_micro_ops() {
    let refused = |machine: &str, table| {
        let machine = catalog::machine(machine).expect("a built-in machine");
        machine
            .with_overrides(&[("core.micro_ops", table)])
            .is_err()
    };
    assert!(refused("test-tiny", "hardware"));
    assert!(refused("test-tiny-in-order", "gem5"));
}

#[test]
fn every_microbenchmark_takes_what_was_computed() {
    let mut computed = BTreeSet::new();
    for machine in tickmark::calibrate::microbenchmark::machines() {
        let rows = measure(&catalog::machine(machine).expect("a built-in machine"), &[]).unwrap();
        assert_eq!(rows.len(), all().len());
        for row in rows.iter().filter(|row| row.expected.is_some()) {
            computed.insert(row.benchmark.name);
            assert!(
                row.agrees(),
                "{machine}, {}: {} instead of {:?}",
                row.benchmark.name,
                row.cycles as f64 / f64::from(ITERATIONS),
                row.expected
            );
        }
    }
    assert!(computed.len() >= 30, "{}", computed.len());
}
