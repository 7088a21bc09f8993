//! The table of names that changed between versions of gem5: one file, read here for statistics and by se.py for classes.
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The table as it stands in sim-configs/gem5/names.json; se.py is handed the same text.
pub(super) const TEXT: &str = include_str!("../../../sim-configs/gem5/names.json");

/// Spellings by what they mean; the first that a gem5 knows is taken.
#[derive(Debug, Deserialize)]
pub(super) struct Names {
    /// Where the core stands in the tree of objects.
    pub(super) cores: Vec<String>,
    /// Statistics that every run must have, `{core}` standing for the core.
    pub(super) statistics: BTreeMap<String, Vec<String>>,
    /// Statistics of the parts of the machine, by the names of our counters.
    pub(super) parts: BTreeMap<String, Vec<String>>,
}

/// The table.
pub(super) fn names() -> &'static Names {
    static NAMES: LazyLock<Names> = LazyLock::new(|| {
        serde_json::from_str(TEXT).expect("the table is part of the program, and a test reads it")
    });
    &NAMES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_has_what_every_run_needs() {
        let names = names();
        for wanted in [
            "ticks",
            "frequency",
            "instructions",
            "micro_ops",
            "core_instructions",
            "cycles",
        ] {
            assert!(!names.statistics[wanted].is_empty(), "{wanted}");
        }
        assert_eq!(names.cores[0], "system.cpu");
    }
}
