//! Runs real programs in the simulator and on this host, and prints a Markdown table: `cargo run --release --example
//! witnesses > docs/witnesses.md`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that reports"
)]
mod catalog;
mod level;
mod native;
mod row;
mod simulated;
#[path = "../../tests/support/single_step.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests, of which each takes what it needs"
)]
mod single_step;
mod table;
mod trace;
mod witness;

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to run.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Only rows with this in their name; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Print JSON lines instead of the table.
    #[arg(long)]
    json: bool,
    /// Interpreter of a virtual environment with the packages from PyPI.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// Folder for what is built, kept between runs.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Seconds that a simulated run may take on this host.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    patience: u64,
    /// Do not single-step.
    #[arg(long)]
    no_spans: bool,
    /// Where the counts of a span differ, print which instructions only one side ran.
    #[arg(long)]
    explain: bool,
    /// Print what a guest wrote to standard error.
    #[arg(long)]
    verbose: bool,
}

fn main() -> std::process::ExitCode {
    let options: Options = clap::Parser::parse();
    let work = (options.work).unwrap_or_else(|| std::env::temp_dir().join("tickmark-witnesses"));
    let place = native::Place {
        work,
        python: (options.python)
            .or_else(|| std::env::var_os("TICKMARK_WITNESS_PYTHON").map(PathBuf::from)),
    };
    let mut rows = Vec::new();
    for witness in catalog::all() {
        let wanted = |part: &String| witness.name.contains(part.as_str());
        if !options.only.is_empty() && !options.only.iter().any(wanted) {
            continue;
        }
        let started = Instant::now();
        let patience = Duration::from_secs(options.patience);
        let row = row::run(
            &witness,
            &place,
            patience,
            !options.no_spans,
            options.explain,
        );
        eprintln!(
            "{:<28} {} ({} s)",
            row.name,
            row.summary(),
            started.elapsed().as_secs()
        );
        if options.verbose || options.explain {
            eprintln!("{}", row.stderr);
        }
        if options.json {
            println!("{}", row.json());
        }
        rows.push(row);
    }
    if !options.json {
        print!("{}", table::markdown(&rows));
    }
    if rows.iter().any(|row| row.is_wrong()) {
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}
