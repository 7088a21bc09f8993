//! Who may import whom: the rooms of docs/architecture.md, and what each may name of the others.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A room and the rooms that it may name; inside `sim` a room is a file or folder of it.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("stats", &[]),
    ("process", &[]),
    ("report", &[]),
    ("metric", &["stats"]),
    ("measurement", &["sim::outcome"]),
    ("dataset", &["verdict"]),
    ("verdict", &["dataset", "measurement", "sim::outcome"]),
    ("candidate", &["artifact", "dataset"]),
    (
        "store",
        &["artifact", "measurement", "report", "sim::outcome"],
    ),
    (
        "artifact",
        &[
            "candidate",
            "dataset",
            "measurement",
            "process",
            "sim::outcome",
        ],
    ),
    (
        "backend",
        &[
            "artifact",
            "candidate",
            "dataset",
            "measurement",
            "process",
            "sim",
        ],
    ),
    (
        "calibrate",
        &["artifact", "backend", "measurement", "sim", "stats"],
    ),
    (
        "evaluation",
        &[
            "artifact",
            "backend",
            "candidate",
            "dataset",
            "measurement",
            "metric",
            "report",
            "sim::machine",
            "sim::outcome",
            "store",
            "verdict",
        ],
    ),
    (
        "compare",
        &[
            "artifact",
            "backend",
            "dataset",
            "evaluation",
            "measurement",
            "process",
            "sim::outcome",
            "stats",
            "verdict",
        ],
    ),
    ("protocol", &["compare", "dataset", "stats", "verdict"]),
    // The simulator could be cut out as a crate without an edit.
    ("sim::memory", &["sim"]),
    ("sim::shared", &["sim"]),
    ("sim::outcome", &["sim"]),
    ("sim::isa", &["sim::memory", "sim::uarch"]),
    ("sim::machine", &["sim::uarch"]),
    ("sim::uarch", &["sim::isa", "sim::machine", "sim::memory"]),
    (
        "sim::guest",
        &["sim::isa", "sim::memory", "sim::outcome", "sim::shared"],
    ),
    ("sim::simulation", &["sim"]),
    ("sim::mod", &["sim"]),
];
/// These join all others.
const FREE: &[&str] = &["cli", "lib", "main"];

#[test]
fn rooms_name_only_what_they_may() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed: BTreeMap<_, _> = MAY_NAME.iter().copied().collect();
    let mut offences = Vec::new();
    let mut seen = 0;
    for file in files(&source) {
        let shown = file
            .strip_prefix(&source)
            .expect("it was found there")
            .display()
            .to_string();
        let mut parts = shown.split(['/', '.']);
        let mut room = parts.next().unwrap_or_default().to_owned();
        if room == "sim" {
            room = format!("sim::{}", parts.next().unwrap_or_default());
        }
        if FREE.contains(&room.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source file is readable");
        // Tests may name what they like.
        let code = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            for named in line.split("crate::").skip(1).filter_map(target) {
                seen += 1;
                let may = allowed.get(room.as_str()).copied().unwrap_or_default();
                let within =
                    |rule: &&str| named == **rule || named.starts_with(&format!("{rule}::"));
                if named != room && !may.iter().any(within) {
                    offences.push(format!("src/{shown}:{}: {room} -> {named}", number + 1));
                }
            }
        }
    }
    assert!(
        seen > 300,
        "only {seen} imports were found: the search is broken"
    );
    assert!(
        offences.is_empty(),
        "imports that no rule allows:\n{}",
        offences.join("\n")
    );
}

/// The room that a path names, without its `crate::`; nothing for an item of the root.
fn target(path: &str) -> Option<String> {
    let mut words = path.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let first = words
        .next()
        .filter(|word| word.starts_with(char::is_lowercase))?;
    if first != "sim" {
        return Some(first.to_owned());
    }
    let second = path
        .strip_prefix("sim::")
        .map(|_| words.nth(1).unwrap_or_default());
    Some(format!("sim::{}", second.unwrap_or_default()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)
        .expect("a folder of sources")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
