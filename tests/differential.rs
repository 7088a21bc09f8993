//! The fixed-seed part of the comparison with the host processor. `examples/differential.rs` runs as much as you like.
use crate::isa::campaign;

#[test]
fn every_implemented_instruction_agrees_with_the_host_processor() {
    let rows = campaign::run_codes(1, 40, |_| true).expect("the host side starts");
    let report = campaign::report(&rows, false);
    assert!(rows.iter().all(|row| row.mismatches == 0), "{report}");
    println!("{report}");
}
