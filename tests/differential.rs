//! The fixed-seed part of the comparison with the host processor. `examples/differential.rs` runs as much as you like.
use crate::isa::campaign;
use crate::isa::catalog::Standing;
use crate::isa::sequence;

#[test]
fn every_instruction_of_the_profile_agrees_with_the_host_processor() {
    const INSTANCES: u64 = 60;
    let rows = campaign::run_codes(1, INSTANCES, |_| true).expect("the host side starts");
    let report = campaign::report(&rows, false);
    println!("{report}");
    assert!(rows.iter().all(|row| row.mismatches == 0), "{report}");
    let missing: Vec<_> = rows
        .iter()
        .filter(|row| !matches!(row.standing, Standing::Excluded(_)) && row.compared < INSTANCES)
        .map(|row| row.code)
        .collect();
    assert!(
        missing.is_empty(),
        "not implemented, or never generated: {missing:?}"
    );
}

#[test]
fn sequences_of_instructions_agree_with_the_host_processor() {
    let outcome = sequence::run_sequences(1, 0, 5000).expect("the host side starts");
    println!("{}", outcome.report());
    assert_eq!(outcome.mismatches, 0, "{}", outcome.report());
}
