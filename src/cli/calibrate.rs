//! `tickmark calibrate`: the timing models against what was computed by hand, and against captures of another simulator.
use super::args::{CalibrateArgs, MachineArgs};
use super::error::CliError;
use super::{Status, machines, print_data};
use crate::calibrate::microbenchmark::{self, Microbenchmark};
use crate::calibrate::{CalibrateError, Comparison, captures, compare, micro_table, table};
use std::path::Path;

pub(super) fn calibrate(args: &CalibrateArgs) -> Result<Status, CliError> {
    let mut agrees = true;
    if args.micro || args.captures.is_none() {
        agrees = by_hand(args)?;
    }
    if let Some(folder) = &args.captures {
        with_captures(folder, args.machine.as_deref())?;
    }
    Ok(if agrees {
        Status::Success
    } else {
        Status::Negative
    })
}

/// Whether every microbenchmark takes what was computed.
fn by_hand(args: &CalibrateArgs) -> Result<bool, CliError> {
    if let Some(name) = args
        .only
        .iter()
        .find(|n| Microbenchmark::named(n).is_none())
    {
        return Err(CliError::usage(
            format!("there is no microbenchmark `{name}`"),
            "`tickmark calibrate --micro` lists them",
        ));
    }
    let names = match &args.machine {
        Some(name) => vec![name.as_str()],
        None => microbenchmark::machines(),
    };
    let mut agrees = true;
    for (i, name) in names.into_iter().enumerate() {
        let machine = machines::resolve(&MachineArgs {
            machine: name.to_owned(),
            overrides: args.overrides.clone(),
            guest: None,
        })?;
        let rows = microbenchmark::measure(&machine, &args.only).map_err(failed)?;
        agrees &= rows.iter().all(microbenchmark::Measured::agrees);
        let gap = if i == 0 { "" } else { "\n" };
        print_data(format!("{gap}{}", micro_table(&machine.name, &rows)))?;
    }
    Ok(agrees)
}

fn with_captures(folder: &Path, machine: Option<&str>) -> Result<(), CliError> {
    let list = captures(folder, machine).map_err(failed)?;
    let mut rows = compare(folder, &list).map_err(failed)?;
    let place = |row: &Comparison| (row.capture.machine.clone(), row.capture.group.clone());
    rows.sort_by_key(place);
    print_data(table(&rows))
}

fn failed(error: CalibrateError) -> CliError {
    CliError::usage(
        error.to_string(),
        "give a folder with `summary.jsonl` and the executables that it names",
    )
}
