//! The fixed-seed part of the comparison with the host processor. `examples/differential.rs` runs as much as you like.
use crate::isa::{campaign, sequence};

#[test]
fn every_implemented_instruction_agrees_with_the_host_processor() {
    let rows = campaign::run_codes(1, 40, |_| true).expect("the host side starts");
    let report = campaign::report(&rows, false);
    assert!(rows.iter().all(|row| row.mismatches == 0), "{report}");
    println!("{report}");
}

#[test]
fn sequences_of_instructions_agree_with_the_host_processor() {
    let outcome = sequence::run_sequences(1, 0, 4000).expect("the host side starts");
    assert_eq!(outcome.mismatches, 0, "{}", outcome.report());
    println!("{}", outcome.report());
}
