//! `tickmark gem5`: what the user's gem5 is, and a machine's configuration as it writes it.
use super::args::{Gem5CheckArgs, Gem5Command, Gem5CommandArgs, Gem5FreezeArgs};
use super::error::CliError;
use super::{Status, machines, print_data};
use crate::backend::gem5::{Gem5, Installation, freeze, mapping};
use crate::sim::machine::catalog;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

pub(super) fn gem5(args: &Gem5CommandArgs) -> Result<Status, CliError> {
    match &args.command {
        Gem5Command::Check(args) => check(args),
        Gem5Command::Freeze(args) => freeze_machine(args),
        Gem5Command::Worker { job } => worker(job),
    }
}

#[cfg(feature = "gem5")]
fn worker(job: &Path) -> Result<Status, CliError> {
    crate::backend::gem5::worker::work(job).map_err(|error| CliError {
        // With this word the reader tells a mistake in the set-up from gem5's own messages.
        message: format!("\ntickmark: {error}"),
        hint: String::new(),
        status: Status::Failure,
    })?;
    Ok(Status::Success)
}

#[cfg(not(feature = "gem5"))]
fn worker(_job: &Path) -> Result<Status, CliError> {
    Err(CliError::usage(
        "this tickmark was built without the feature `gem5`",
        "build it with `cargo build --release --features gem5`",
    ))
}

/// Says what is worth knowing before gem5 is used.
pub(super) fn tell(gem5: &Gem5) {
    for note in gem5.notes() {
        eprintln!("note: {note}");
    }
}

pub(super) fn tell_not_applied(gem5: &Gem5) {
    let missing = gem5.not_applied();
    if !missing.is_empty() {
        eprintln!("warning: this system did not grant: {}", missing.join(", "));
    }
}

/// Which gem5 made a result.
pub(super) fn provenance(gem5: &Gem5) -> Value {
    json!({
        "version": gem5.version(),
        "hash": gem5.hash().to_string(),
        "in_process": gem5.is_frozen(),
    })
}

fn check(args: &Gem5CheckArgs) -> Result<Status, CliError> {
    let installation = Installation::find(args.gem5.gem5.as_deref())?;
    let usable: Vec<&str> = catalog::ENTRIES
        .iter()
        .filter(|entry| {
            catalog::machine(entry.name)
                .ok()
                .and_then(|machine| mapping::system(&machine).ok())
                .is_some_and(|system| installation.about.cores.iter().any(|c| c == system.core))
        })
        .map(|entry| entry.name)
        .collect();
    if args.json {
        let about = &installation.about;
        let object = json!({
            "executable": installation.executable,
            "executable_hash": installation.hash.to_string(),
            "version": about.version,
            "compiled": about.compiled,
            "isas": about.isas,
            "tracing": about.tracing,
            "cores": about.cores,
            "python": about.python,
            "machines": usable,
            "warning": installation.warning(),
        });
        print_data(format!("{object:#}\n"))?;
        return Ok(Status::Success);
    }
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("gem5", &installation.executable.display().to_string());
    line("version", &installation.describe());
    line("compiled", &installation.about.compiled);
    line("cores", &installation.about.cores.join(", "));
    line("machines", &usable.join(", "));
    print_data(text)?;
    if let Some(warning) = installation.warning() {
        eprintln!("warning: {warning}");
    }
    Ok(Status::Success)
}

fn freeze_machine(args: &Gem5FreezeArgs) -> Result<Status, CliError> {
    let machine = machines::resolve(&args.machine)?;
    let limits = args.limits.limits()?;
    let installation = Installation::find(args.gem5.gem5.as_deref())?;
    let path = freeze::freeze(&installation, &machine, &limits, &args.out)?;
    eprintln!(
        "the configuration of {} is in {}",
        machine.name,
        path.display()
    );
    Ok(Status::Success)
}
