//! The `tickmark` command.
use std::process::ExitCode;

fn main() -> ExitCode {
    tickmark::cli::main(std::env::args_os())
}
