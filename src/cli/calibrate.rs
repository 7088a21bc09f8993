//! `tickmark calibrate`: the timing models against what was computed by hand, and against captures of another simulator.
use super::args::{CalibrateArgs, MachineArgs, cache_folder};
use super::error::CliError;
use super::{Status, machines, print_data};
use crate::backend::gem5::{self, Gem5};
use crate::backend::sim::{Options, Sim};
use crate::calibrate::live;
use crate::calibrate::microbenchmark::{self, Microbenchmark};
use crate::calibrate::{CalibrateError, Comparison, captures, compare, micro_table, table};
use std::path::Path;
use std::time::Duration;

pub(super) fn calibrate(args: &CalibrateArgs) -> Result<Status, CliError> {
    if args.backend.is_some() {
        return with_gem5(args);
    }
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

/// The machine's timing model against the user's gem5, which runs now.
fn with_gem5(args: &CalibrateArgs) -> Result<Status, CliError> {
    let machine = machines::resolve(&MachineArgs {
        machine: args.machine.clone().unwrap_or_else(|| "gem5-o3".to_owned()),
        overrides: args.overrides.clone(),
        guest: None,
    })?;
    let wall_clock = Duration::from_secs(24 * 3600);
    let gem5 = Gem5::new(gem5::Options {
        machine: machine.clone(),
        executable: args.gem5.gem5.clone(),
        wall_clock,
        seed: 0,
        keep: None,
        frozen: args.gem5_frozen.clone(),
    })?;
    super::gem5::tell(&gem5);
    let sim = Sim::new(Options {
        machine,
        snapshots: false,
        seed: 0,
        wall_clock,
        cache: cache_folder(),
        roots: Vec::new(),
    });
    let programs = live::programs(args.captures.as_deref(), &args.only).map_err(failed)?;
    let mut rows = Vec::new();
    let mut refused = 0;
    for row in live::compare_live(&gem5, &sim, &programs) {
        match row {
            Ok(row) => rows.push(row),
            Err(error) => {
                refused += 1;
                eprintln!("warning: {error}");
            }
        }
    }
    super::gem5::tell_not_applied(&gem5);
    if rows.is_empty() {
        return Err(CliError {
            message: format!("none of the {} programs could be compared", programs.len()),
            hint: "look at the warnings above, and check gem5 with `tickmark gem5 check`"
                .to_owned(),
            status: Status::Failure,
        });
    }
    print_data(table(&rows))?;
    if refused > 0 {
        eprintln!(
            "note: {refused} of {} programs are not in the table",
            programs.len()
        );
    }
    Ok(Status::Success)
}

fn failed(error: CalibrateError) -> CliError {
    CliError::usage(
        error.to_string(),
        "give a folder with `summary.jsonl` and the executables that it names",
    )
}
