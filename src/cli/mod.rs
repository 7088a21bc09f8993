//! The shell: reads argv, prints, chooses the exit code. Nothing else in the package does.
//!
//! Data goes to standard output, everything said to a person to standard error.
#![expect(clippy::print_stderr, reason = "this is the room that prints")]
mod args;
mod calibrate;
mod compare;
mod datasets;
mod doctor;
mod error;
mod evaluate;
mod gem5;
mod machines;
mod metrics;
mod output;
mod plan_file;
mod preset;
mod progress;
mod protocol;
mod run;
mod samples;
mod store;

use args::{Cli, Command};
use clap::Parser;
use error::CliError;
use std::ffi::OsString;
use std::process::ExitCode;

/// Exit codes, as the README lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything that was asked for was done, and `run`'s program exited with 0.
    Success,
    /// `run`: the program ended otherwise than by exit 0. `doctor`: something required is missing.
    Negative,
    /// The command line or an input file is at fault.
    Usage,
    /// A failure of ours or of the host: results are missing.
    Failure,
    /// `--verify-determinism` found runs of one job that differ.
    NotDeterministic,
    /// It was asked to stop, by Ctrl-C or a signal: as the shell has it, 128 and the number of SIGINT.
    Interrupted,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Success => 0,
            Status::Negative => 1,
            Status::Usage => 2,
            Status::Failure => 3,
            Status::NotDeterministic => 4,
            Status::Interrupted => 130,
        })
    }
}

/// Runs the command of these arguments (the first is the program's name).
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe while help is printed is nobody's failure.
            let _ = error.print();
            return if error.use_stderr() {
                Status::Usage.into()
            } else {
                Status::Success.into()
            };
        }
    };
    let result = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Evaluate(args) => evaluate::evaluate(*args, &arguments),
        Command::Demo(args) => evaluate::demo(*args),
        Command::Metrics(args) => metrics::metrics(&args),
        Command::Store(args) => store::store(&args.command),
        Command::Compare(args) => compare::compare(&args),
        Command::Agree(args) => compare::agree(&args),
        Command::Protocol(args) => protocol::protocol(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Datasets(args) => datasets::datasets(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Machines(args) => machines::machines(&args),
        Command::Gem5(args) => gem5::gem5(&args),
    };
    match result {
        Ok(status) => status.into(),
        Err(CliError {
            message,
            hint,
            status,
        }) => {
            eprintln!("error: {message}");
            if !hint.is_empty() {
                eprintln!("hint: {hint}");
            }
            status.into()
        }
    }
}

/// Prints data. A reader that closes the pipe early is nobody's failure; a full disk is one.
fn print_data(data: impl AsRef<[u8]>) -> Result<(), CliError> {
    use std::io::{ErrorKind, Write};
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(data.as_ref())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CliError {
            message: format!("cannot write to standard output: {error}"),
            hint: "check the disk or the program that it goes to".to_owned(),
            status: Status::Failure,
        }),
        _ => Ok(()),
    }
}
