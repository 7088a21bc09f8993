//! Tests on what a real gem5 gave: every capture's statistics, configuration and ending. Skipped, saying so, where the
//! captures are not on this machine.
#![expect(clippy::print_stderr, reason = "a skipped test says so")]
use super::counters::counters;
use super::ending::{ExitEvent, ending};
use super::mapping::{self, Value};
use super::stats::{self, StatsError};
use crate::process::Ending;
use crate::sim::machine::{catalog, keys::Kind};
use crate::sim::outcome::Exit;
use crate::sim::uarch::micro::Class;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

const MACHINES: [&str; 6] = [
    "atomic",
    "gem5-timing",
    "gem5-o3",
    "gem5-o3-notso",
    "skylake",
    "skylake-stride",
];

/// The captures, where this machine has them.
pub(super) fn reference() -> Option<PathBuf> {
    let folder = std::env::var_os("TICKMARK_CAPTURES")
        .map_or_else(|| PathBuf::from("../shared/gem5-captures"), PathBuf::from);
    if folder.join("summary.jsonl").exists() {
        return Some(folder);
    }
    eprintln!("skipped: no captures in TICKMARK_CAPTURES or ../shared/gem5-captures");
    None
}

pub(super) fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// `exit: cause='...' code=N tick=T`, which the script that made the captures printed.
fn printed_event(stdout: &str) -> Option<ExitEvent> {
    let line = stdout
        .lines()
        .find_map(|l| l.strip_prefix("exit: cause='"))?;
    let (cause, rest) = line.split_once("' code=")?;
    Some(ExitEvent {
        cause: cause.to_owned(),
        code: rest.split(' ').next()?.parse().ok()?,
    })
}

#[test]
fn the_statistics_of_every_capture_give_the_counts_of_its_summary() {
    let Some(folder) = reference() else { return };
    let summary = std::fs::read_to_string(folder.join("summary.jsonl")).unwrap();
    let mut read = 0;
    for line in summary.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        let (machine, group, program) = (text("machine"), text("group"), text("program"));
        let path = folder.join(format!("out/{machine}/{group}/{program}"));
        let parsed = stats::parse_one(&unpacked(&path.join("stats.txt.gz")));
        if row["failed"] == true {
            // A guest that faults ends gem5 before it writes any.
            assert_eq!(parsed, Err(StatsError::Empty), "{path:?}");
            continue;
        }
        let block = parsed.unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let timed = machine != "atomic";
        let counters = counters(&block, timed).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        if let Some(instructions) = row["instructions"].as_u64() {
            assert_eq!(counters.instructions, instructions, "{path:?}");
            assert_eq!(Some(counters.micro_ops), row["micro_ops"].as_u64());
            assert_eq!(counters.cycles, row["cycles"].as_u64().filter(|_| timed));
            let ticks = row["ticks"].as_u64();
            assert_eq!(counters.simulated_time_ps, ticks.filter(|_| timed));
        }
        if timed {
            // What is zero is left out: some microbenchmarks have no data.
            for part in ["l1i.accesses", "l1i.misses", "l2.accesses", "dram.reads"] {
                assert!(counters.parts.contains_key(part), "{path:?}: {part}");
            }
        }
        assert!(group == "micro" || counters.system_calls > 0, "{path:?}");
        read += 1;
    }
    assert!(read >= 280, "{read}");
}

#[test]
fn no_capture_that_is_cut_short_is_read() {
    let Some(folder) = reference() else { return };
    let whole = unpacked(&folder.join("out/gem5-o3/programs/hello/stats.txt.gz"));
    let text = String::from_utf8(whole).unwrap();
    let lines = text.lines().count();
    for length in (0..text.len() - 1).step_by(1997) {
        let error = stats::parse(&text.as_bytes()[..length]).unwrap_err();
        match error {
            StatsError::Empty => assert!(length < 3),
            StatsError::Line { line, .. } => {
                assert!(line <= lines && line + 1 >= text[..length].lines().count());
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn every_capture_ends_as_its_program_did() {
    let Some(folder) = reference() else { return };
    let of = |machine: &str, group: &str, program: &str| {
        let path = folder.join(format!("out/{machine}/{group}/{program}"));
        let text = |name: &str| String::from_utf8_lossy(&unpacked(&path.join(name))).into_owned();
        let (stdout, stderr) = (text("simout.txt.gz"), text("simerr.txt.gz"));
        let event = printed_event(&stdout);
        let process = match event {
            Some(_) => Ending::Exited { code: 0 },
            None => Ending::Signaled {
                signal: 6,
                rip: 0,
                address: None,
                stack_overflow: false,
            },
        };
        // The captures have the guest's standard error among gem5's own messages.
        let guest: String = stderr
            .lines()
            .filter(|line| {
                !line.starts_with("src/")
                    && !line.starts_with("      ")
                    && !line.starts_with("warn: ")
            })
            .map(|line| format!("{line}\n"))
            .collect();
        ending(event.as_ref(), &process, &stderr, guest.as_bytes())
    };
    let exited = |code| Ok(Exit::Exited { code });
    for machine in ["atomic", "gem5-o3"] {
        let of = |program| of(machine, "exits", program);
        assert_eq!(of("exit3"), exited(3));
        for program in ["guestinfo", "hello_dynamic", "stdin_sum", "avx2"] {
            assert_eq!(of(program), exited(0), "{program}");
        }
        assert_eq!(of("spin"), Ok(Exit::InstructionLimit));
        assert!(matches!(of("aborts"), Ok(Exit::Signaled { signal: 6, .. })));
        assert_eq!(
            of("segv"),
            Ok(Exit::Signaled {
                signal: 11,
                rip: 0x4014f0,
                address: Some(0),
                function: None
            })
        );
        let Ok(Exit::UnsupportedSyscall { name }) = of("thread") else {
            panic!("threads are what gem5 lacks here");
        };
        assert!(name.starts_with("clone"), "{name}");
    }
    for machine in MACHINES {
        for group in ["micro", "programs"] {
            // The machine that only counts was captured with fewer programs.
            let Ok(list) = std::fs::read_dir(folder.join(format!("out/{machine}/{group}"))) else {
                continue;
            };
            for entry in list {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert_eq!(of(machine, group, &name), exited(0), "{machine} {name}");
            }
        }
    }
}

/// Sections of a `config.ini`, by path.
type Config = BTreeMap<String, BTreeMap<String, String>>;

fn config(folder: &Path, machine: &str) -> Config {
    let bytes = unpacked(&folder.join(format!("out/{machine}/config.ini.gz")));
    let text = String::from_utf8(bytes).unwrap();
    let mut config = Config::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((name, value)) = line.split_once('=') {
            let values = config.entry(section.clone()).or_default();
            values.insert(name.to_owned(), value.to_owned());
        }
    }
    config
}

/// The pseudo-objects of the mapping as gem5 v24 has them.
fn place<'a>(object: &'a str, parameter: &'a str) -> (String, &'a str) {
    let object = object.replace(".direction", "");
    match parameter.split_once('.') {
        Some((child, parameter)) => (format!("{object}.{child}"), parameter),
        None => (object, parameter),
    }
}

#[test]
fn the_machines_are_those_of_the_captures() {
    let Some(folder) = reference() else { return };
    for name in MACHINES {
        let config = config(&folder, name);
        let machine = catalog::machine(name).unwrap();
        let system = mapping::system(&machine).unwrap();
        for setting in &system.settings {
            let (object, parameter) = place(setting.object, setting.parameter);
            // An instruction cache writes nothing back, so these places are never used.
            if (object.as_str(), parameter) == ("system.cpu.icache", "write_buffers") {
                continue;
            }
            let captured = config
                .get(&object)
                .and_then(|section| section.get(parameter));
            assert_eq!(
                captured.map(String::as_str),
                Some(setting.value.in_config().as_str()),
                "{name}: {object} {parameter}"
            );
        }
        for cache in &system.caches {
            let section = &config[cache.object];
            let policy = &config[&format!("{}.replacement_policy", cache.object)]["type"];
            assert_eq!(policy, cache.replacement, "{name}: {}", cache.object);
            match cache.prefetcher {
                None => assert_eq!(section["prefetcher"], "Null"),
                Some(class) => {
                    let prefetcher = &config[&format!("{}.prefetcher", cache.object)];
                    assert_eq!(prefetcher["type"], class);
                }
            }
        }
        let caches = config
            .values()
            .filter(|s| s.get("type").is_some_and(|t| t == "Cache"));
        assert_eq!(caches.count(), system.caches.len(), "{name}");
        let period = 1_000_000_000_000 / system.frequency_hz;
        assert_eq!(config["system.clk_domain"]["clock"], period.to_string());
        if let Some(class) = system.predictor {
            assert_eq!(config["system.cpu.branchPred"]["type"], class, "{name}");
        }
        assert_eq!(units_of(&config), system_units(&system), "{name}");
    }
}

/// For each unit of a captured pool, in order, what it does of the classes that x86 has.
fn units_of(config: &Config) -> Vec<BTreeMap<String, (String, String)>> {
    let known: BTreeSet<String> = Class::ALL.iter().map(|c| format!("{c:?}")).collect();
    let Some(pool) = config.get("system.cpu.fuPool") else {
        return Vec::new();
    };
    let mut units = Vec::new();
    for list in pool["FUList"].split_whitespace() {
        let section = &config[list];
        let unit: BTreeMap<_, _> = section["opList"]
            .split_whitespace()
            .map(|operation| &config[operation])
            .filter(|operation| known.contains(&operation["opClass"]))
            .map(|o| {
                (
                    o["opClass"].clone(),
                    (o["opLat"].clone(), o["pipelined"].clone()),
                )
            })
            .collect();
        let count: usize = section["count"].parse().unwrap();
        if !unit.is_empty() {
            units.extend(std::iter::repeat_n(unit, count));
        }
    }
    units.sort();
    units
}

fn system_units(system: &mapping::System) -> Vec<BTreeMap<String, (String, String)>> {
    let mut units: Vec<BTreeMap<_, _>> = system
        .units
        .iter()
        .map(|unit| {
            unit.iter()
                .map(|o| {
                    (
                        o.class.clone(),
                        (o.latency.to_string(), o.pipelined.to_string()),
                    )
                })
                .collect()
        })
        .collect();
    units.sort();
    units
}

#[test]
fn whatever_differs_between_captured_machines_is_mapped() {
    let Some(folder) = reference() else { return };
    let configs: Vec<(&str, Config)> = MACHINES.iter().map(|m| (*m, config(&folder, m))).collect();
    let mut mapped = BTreeSet::new();
    for name in MACHINES {
        let machine = catalog::machine(name).unwrap();
        if machine.kind() == Kind::Atomic {
            continue;
        }
        let system = mapping::system(&machine).unwrap();
        for setting in &system.settings {
            let (object, parameter) = place(setting.object, setting.parameter);
            mapped.insert((object, parameter.to_owned()));
        }
    }
    let mut missed = BTreeSet::new();
    for (_, one) in &configs {
        for (_, other) in &configs {
            for (object, section) in one {
                let Some(others) = other.get(object) else {
                    continue;
                };
                if object.contains("fuPool") || section.get("type") != others.get("type") {
                    continue;
                }
                for (parameter, value) in section {
                    let differs = others.get(parameter).is_some_and(|v| v != value);
                    // The tree of objects, and what the tags and policies copy from their cache.
                    let structural =
                        value.starts_with("system") || others[parameter].starts_with("system");
                    let of_cache =
                        object.contains(".tags") || object.contains("replacement_policy");
                    let event =
                        ["children", "eventq_index", "prefetcher"].contains(&parameter.as_str());
                    if differs && !structural && !of_cache && !event {
                        missed.insert((object.clone(), parameter.clone()));
                    }
                }
            }
        }
    }
    // The memory mode is the core's own; the program is not part of the machine.
    let expected = ["mem_mode", "cmd", "executable", "input"];
    missed.retain(|pair| !mapped.contains(pair) && !expected.contains(&pair.1.as_str()));
    assert_eq!(missed, BTreeSet::new());
}

#[test]
fn values_are_written_as_gem5_writes_them() {
    for (value, text) in [
        (Value::Number(8), "8"),
        (Value::Picoseconds(14_160), "14160"),
        (Value::Truth(true), "true"),
        (Value::Word("mostly_excl"), "mostly_excl"),
    ] {
        assert_eq!(value.in_config(), text);
    }
    assert_eq!(
        serde_json::to_value(Value::Picoseconds(14_160)).unwrap(),
        "14160ps"
    );
}
