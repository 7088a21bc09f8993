//! Machines by name, overrides and guest profiles on the command line, and the calibration by hand.
use crate::support::scratch::Scratch;
use crate::support::tickmark::Tickmark;
use tickmark::calibrate::microbenchmark::Microbenchmark;

fn arguments(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn a_machine_is_printed_as_it_is_after_an_override() {
    let shown = Tickmark::new(arguments("machines gem5-o3 --set core.rob_entries=128")).finish();
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("\nrob_entries = 128\n"), "{shown:?}");
    // What a key makes idle is not part of the machine, and not accepted.
    assert!(!shown.stdout.contains("history_max"), "{shown:?}");
    let idle = Tickmark::new(arguments("machines gem5-o3 --set l3.ways=8")).finish();
    assert_eq!(idle.code, 2, "{idle:?}");
    assert!(
        idle.stderr.contains(
            "--set l3.ways=8: `l3.ways` means nothing while `l3.size_bytes` is 0; \
             remove it, or give `l3.size_bytes` a value"
        ),
        "{idle:?}"
    );
    let other = "machines gem5-o3 --set predictor.kind=tage --set predictor.history_max=20";
    let other = Tickmark::new(arguments(other)).finish();
    assert!(other.stdout.contains("\nhistory_max = 20\n"), "{other:?}");
    assert!(!other.stdout.contains("local_entries"), "{other:?}");
}

#[test]
fn a_guest_profile_is_chosen_on_any_machine() {
    let scratch = Scratch::new();
    let benchmark = Microbenchmark::named("profile").unwrap();
    let program = scratch.write("profile", benchmark.executable(1000));
    let instructions = |options: &str| {
        let line = format!(
            "run --json --machine simple {options} -- {}",
            program.display()
        );
        let run = Tickmark::new(arguments(&line)).finish();
        assert_eq!(run.code, 0, "{run:?}");
        let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let counters = &value["counters"];
        (
            counters["instructions"].as_u64().unwrap(),
            value["machine"].as_str().unwrap().to_owned(),
        )
    };
    let (usual, _) = instructions("");
    let (gem5, machine) = instructions("--guest gem5");
    // Sixteen additions an iteration fewer where CPUID shows no SSE4.2.
    assert_eq!(usual - gem5, 16_000);
    assert_eq!(machine, "simple[guest.profile=gem5]");
    assert_eq!(instructions("--set guest.profile=gem5").0, gem5);
}

#[test]
fn calibration_without_captures_compares_with_what_was_computed_by_hand() {
    let run = Tickmark::new(arguments("calibrate --machine test-tiny --only add_chain")).finish();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout.contains("16.000     16.000    +0.00%  16 x 1"),
        "{run:?}"
    );
    let unknown = Tickmark::new(arguments("calibrate --only sub_chain")).finish();
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(
        unknown.stderr.contains("no microbenchmark `sub_chain`"),
        "{unknown:?}"
    );
}
