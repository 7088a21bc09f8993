//! Prints the table of errors against a folder of captures: `cargo run --release --example calibrate -- DIR [MACHINE]`.
use std::path::Path;
use std::process::ExitCode;
use tickmark::calibrate::{captures, compare, table};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("name a folder of captures");
        return ExitCode::FAILURE;
    };
    let folder = Path::new(&folder);
    let machine = arguments.next();
    match captures(folder, machine.as_deref()).and_then(|list| compare(folder, &list)) {
        Ok(rows) => {
            print!("{}", table(&rows));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
