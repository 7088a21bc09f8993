//! A measurement as one canonical text: the same measurement has the same bytes.
//!
//! JSON with the fields in a fixed order, integers in decimal, maps sorted by name; the outputs stand apart, by their
//! hash. A change of the form raises [`MEASUREMENT_VERSION`], and the older forms stay readable.
use crate::measurement::{BackendName, Measurement};
use crate::sim::outcome::{Counters, Exit, Region};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Version of the text that `encode` gives.
pub const MEASUREMENT_VERSION: u32 = 1;

/// Version 1.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct One<'a> {
    backend: BackendName,
    machine: Cow<'a, str>,
    exit: Cow<'a, Exit>,
    counters: Cow<'a, Counters>,
    regions: Cow<'a, [Region]>,
    region_cpu_time_ns: Cow<'a, [u64]>,
    open_region: bool,
    messages: Cow<'a, [(u8, Vec<u8>)]>,
    unanswered_system_calls: Cow<'a, [String]>,
    clock_read: bool,
}

/// The measurement without its outputs.
pub(super) fn encode(measurement: &Measurement) -> String {
    // Every field is named, so that a new one cannot be forgotten here.
    let Measurement {
        backend,
        machine,
        exit,
        counters,
        regions,
        region_cpu_time_ns,
        open_region,
        messages,
        stdout: _,
        stderr: _,
        unanswered_system_calls,
        clock_read,
    } = measurement;
    serde_json::to_string(&One {
        backend: *backend,
        machine: machine.into(),
        exit: Cow::Borrowed(exit),
        counters: Cow::Borrowed(counters),
        regions: regions.into(),
        region_cpu_time_ns: region_cpu_time_ns.into(),
        open_region: *open_region,
        messages: messages.into(),
        unanswered_system_calls: unanswered_system_calls.into(),
        clock_read: *clock_read,
    })
    .expect("numbers, strings and maps of strings are always JSON")
}

/// The measurement of a text of any known version.
pub(super) fn decode(
    version: u32,
    text: &str,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
) -> Result<Measurement, String> {
    if version != MEASUREMENT_VERSION {
        return Err(format!(
            "its form has version {version}, and this version of the program knows {MEASUREMENT_VERSION}"
        ));
    }
    let one: One<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(Measurement {
        backend: one.backend,
        machine: one.machine.into_owned(),
        exit: one.exit.into_owned(),
        counters: one.counters.into_owned(),
        regions: one.regions.into_owned(),
        region_cpu_time_ns: one.region_cpu_time_ns.into_owned(),
        open_region: one.open_region,
        messages: one.messages.into_owned(),
        stdout,
        stderr,
        unanswered_system_calls: one.unanswered_system_calls.into_owned(),
        clock_read: one.clock_read,
    })
}
