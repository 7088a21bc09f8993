//! Some rows of the table of `examples/witnesses`, which is made of these very modules.
use crate::support::scratch::shared;
use crate::support::single_step;
use std::time::Duration;

#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/catalog.rs"]
mod catalog;
#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/level.rs"]
mod level;
#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/native.rs"]
mod native;
#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/row.rs"]
mod row;
#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/simulated.rs"]
mod simulated;
#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/table.rs"]
mod table;
#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/trace.rs"]
mod trace;
#[allow(dead_code, reason = "the example prints the table")]
#[path = "../../examples/witnesses/witness.rs"]
mod witness;

#[test]
fn a_sample_of_the_table_agrees_in_output_and_counts() {
    let sample = [
        "C kernels -O3 v3",
        "C++20",
        "C threads",
        "busybox awk",
        "luajit v3",
        "gforth",
    ];
    let place = native::Place {
        work: shared().join("witnesses"),
        python: None,
    };
    let witnesses = catalog::all();
    for name in sample {
        let witness = witnesses
            .iter()
            .find(|witness| witness.name == name)
            .expect("the table has it");
        let row = row::run(witness, &place, Duration::from_secs(300), true, false);
        println!("{name}: {}", row.summary());
        let absent = matches!(row.output, row::Output::NotInstalled(_));
        assert!(
            absent || (row.output == row::Output::Equal && !row.is_wrong()),
            "{name}: {}",
            row.summary()
        );
    }
}
