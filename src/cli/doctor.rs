//! `tickmark doctor`: what is found, what is missing, how to get it.
use super::args::DoctorArgs;
use super::error::CliError;
use super::{Status, print_data};
use crate::artifact::{Fact, Toolchain, ToolchainOptions, facts};
use crate::backend::gem5::Installation;
use std::fmt::Write;

pub(super) fn doctor(args: &DoctorArgs) -> Result<Status, CliError> {
    let mut facts = facts(&Toolchain::new(ToolchainOptions::default()));
    facts.push(gem5());
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

/// The user's gem5, which nothing but `--backend gem5` needs.
fn gem5() -> Fact {
    let (found, remedy) = match Installation::find(None) {
        Ok(gem5) => {
            let place = gem5.executable.display();
            (Some(format!("{place} ({})", gem5.describe())), None)
        }
        Err(failure) => (None, Some(failure.to_string())),
    };
    Fact {
        name: "gem5",
        purpose: "runs programs with `--backend gem5`",
        found,
        remedy,
        required: false,
    }
}
