//! `tickmark doctor`: what is found, what is missing, how to get it.
use super::args::DoctorArgs;
use super::error::CliError;
use super::{Status, print_data};
use crate::artifact::{Toolchain, ToolchainOptions, facts};
use std::fmt::Write;

pub(super) fn doctor(args: &DoctorArgs) -> Result<Status, CliError> {
    let facts = facts(&Toolchain::new(ToolchainOptions::default()));
    let missing = facts
        .iter()
        .any(|fact| fact.required && fact.found.is_none());
    let mut text = String::new();
    if args.json {
        let value = serde_json::to_value(&facts).expect("facts are plain data");
        let _ = writeln!(text, "{value:#}");
    } else {
        for fact in &facts {
            let mark = match (&fact.found, fact.required) {
                (Some(_), _) => "found   ",
                (None, true) => "MISSING ",
                (None, false) => "missing ",
            };
            let detail = fact
                .found
                .as_deref()
                .or(fact.remedy.as_deref())
                .unwrap_or_default();
            let _ = writeln!(
                text,
                "{mark} {:<24} {}\n{:>33} {detail}",
                fact.name, fact.purpose, ""
            );
        }
    }
    print_data(text)?;
    Ok(if missing {
        Status::Negative
    } else {
        Status::Success
    })
}
