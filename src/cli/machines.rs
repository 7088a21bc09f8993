//! `tickmark machines`: the models, or one in full.
use super::args::{MachineArgs, MachinesArgs};
use super::error::CliError;
use super::{Status, print_data};
use crate::sim::machine::{Machine, catalog};
use std::fmt::Write;

pub(super) fn machines(args: &MachinesArgs) -> Result<Status, CliError> {
    let Some(name) = &args.name else {
        let mut text = String::new();
        if args.json {
            let list: Vec<_> = catalog::ENTRIES
                .iter()
                .map(|e| serde_json::json!({"name": e.name, "description": e.description()}))
                .collect();
            let _ = writeln!(text, "{}", serde_json::Value::from(list));
        } else {
            for entry in catalog::ENTRIES {
                let _ = writeln!(text, "{:<18} {}", entry.name, entry.description());
            }
        }
        print_data(text)?;
        return Ok(Status::Success);
    };
    let machine = resolve(&MachineArgs {
        machine: name.clone(),
        overrides: args.overrides.clone(),
        guest: None,
    })?;
    if args.json {
        print_data(format!("{:#}\n", machine.effective()))?;
    } else {
        print_data(machine.effective_toml())?;
    }
    Ok(Status::Success)
}

/// The machine of a name or a file, with overrides.
pub(super) fn resolve(args: &MachineArgs) -> Result<Machine, CliError> {
    let machine = if args.machine.ends_with(".toml") || args.machine.contains('/') {
        let text = std::fs::read_to_string(&args.machine).map_err(|error| {
            CliError::usage(
                format!("cannot read the machine file `{}`: {error}", args.machine),
                "give a name from `tickmark machines` or the path of a TOML file",
            )
        })?;
        Machine::parse(&text, &args.machine)?
    } else {
        catalog::machine(&args.machine)?
    };
    let mut pairs = Vec::new();
    if let Some(profile) = &args.guest
        && machine.guest.profile.name() != profile
    {
        pairs.push(("guest.profile", profile.as_str()));
    }
    for text in &args.overrides {
        let pair = text.split_once('=').ok_or_else(|| {
            CliError::usage(
                format!("`--set {text}` has no value"),
                "write it as KEY=VALUE, such as `--set l2.ways=8`",
            )
        })?;
        pairs.push(pair);
    }
    Ok(machine.with_overrides(&pairs)?)
}
