//! `tickmark calibrate`: the timing models against captures of another simulator.
use super::args::CalibrateArgs;
use super::error::CliError;
use super::{Status, print_data};
use crate::calibrate::{Comparison, captures, compare, table};

pub(super) fn calibrate(args: &CalibrateArgs) -> Result<Status, CliError> {
    let refused = |error: crate::calibrate::CalibrateError| {
        CliError::usage(
            error.to_string(),
            "give a folder with `summary.jsonl` and the executables that it names",
        )
    };
    let list = captures(&args.captures, args.machine.as_deref()).map_err(refused)?;
    let mut rows = compare(&args.captures, &list).map_err(refused)?;
    let place = |row: &Comparison| (row.capture.machine.clone(), row.capture.group.clone());
    rows.sort_by_key(place);
    print_data(table(&rows))?;
    Ok(Status::Success)
}
