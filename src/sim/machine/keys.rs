//! Every key of a machine file: its unit, meaning, values, and who reads it.
//!
//! The parser refuses what is not in this table, and sim-configs/README.md shows it (a test compares the two).

/// The models of a core that a machine file can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counts instructions and micro-ops; no cycles.
    Atomic,
    /// In order, one micro-op a cycle.
    InOrder,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Atomic, Self::InOrder];

    /// As it stands in `core.kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::InOrder => "in-order",
        }
    }
}

/// What a key can be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// An integer from the first to the second bound, both allowed.
    Integer(u64, u64),
    /// Any text.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Section and name, with a dot between.
    pub path: &'static str,
    /// Unit of the value, `-` if it has none.
    pub unit: &'static str,
    /// One clause.
    pub meaning: &'static str,
    /// What it can be set to.
    pub values: Values,
    /// The kinds of core that read it.
    pub kinds: &'static [Kind],
    /// The file that reads it.
    pub reader: &'static str,
}

const ALL: &[Kind] = &Kind::ALL;
const IN_ORDER: &[Kind] = &[Kind::InOrder];
const CYCLES: Values = Values::Integer(1, 1_000_000);
const SIZE: Values = Values::Integer(16, 1 << 32);
const WAYS: Values = Values::Integer(1, 64);
/// Tables live once a job: a million entries is far beyond any real predictor.
const ENTRIES: Values = Values::Integer(1, 1 << 20);
const BITS: Values = Values::Integer(0, 20);

macro_rules! keys {
    ($($path:literal, $unit:literal, $values:expr, $kinds:expr, $reader:literal, $meaning:literal;)*) => {
        &[$(Key { path: $path, unit: $unit, values: $values, kinds: $kinds, reader: $reader, meaning: $meaning }),*]
    };
}

/// All keys, in the order of the effective file.
pub const KEYS: &[Key] = keys![
    "name", "-", Values::Text, ALL, "every result", "name of the machine";
    "description", "-", Values::Text, ALL, "the list of machines", "what the machine is for, in one line";
    "core.kind", "-", Values::OneOf(&["atomic", "in-order"]), ALL, "uarch", "timing model";
    "core.frequency_hz", "Hz", Values::Integer(1_000_000, 100_000_000_000), ALL, "guest clocks, simulated time",
        "core clock; on `atomic` one instruction counts as one cycle for clocks";
    "core.micro_ops", "-", Values::OneOf(&["hardware"]), ALL, "uarch/crack.rs",
        "table that turns instructions into micro-ops";
    "core.integer_divide_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "time that a divide of at most 32 bits holds the core";
    "core.integer_divide_64_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "time that a divide of 64 bits holds the core";
    "core.float_divide_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "time that a floating-point divide holds the core";
    "core.float_sqrt_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "time that a square root holds the core";
    "core.transcendental_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "time that an x87 transcendental (FSIN, FYL2X, ...) holds the core";
    "core.misprediction_cycles", "cycles", Values::Integer(0, 1_000_000), IN_ORDER, "uarch/simple.rs",
        "time lost by a wrongly predicted branch";
    "caches.line_bytes", "bytes", Values::Integer(16, 4096), IN_ORDER, "uarch/simple.rs",
        "line of every level; a power of two";
    "l1i.size_bytes", "bytes", SIZE, IN_ORDER, "uarch/cache.rs", "capacity of the instruction cache";
    "l1i.ways", "-", WAYS, IN_ORDER, "uarch/cache.rs", "associativity of the instruction cache, LRU";
    "l1i.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "fetch to decode on a hit, hidden by the pipeline; a miss costs what the next level takes beyond it";
    "l1d.size_bytes", "bytes", SIZE, IN_ORDER, "uarch/cache.rs", "capacity of the data cache";
    "l1d.ways", "-", WAYS, IN_ORDER, "uarch/cache.rs", "associativity of the data cache, LRU";
    "l1d.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "load to use on a hit, hidden by the pipeline; a miss costs what the next level takes beyond it";
    "l2.size_bytes", "bytes", SIZE, IN_ORDER, "uarch/cache.rs", "capacity of the second level";
    "l2.ways", "-", WAYS, IN_ORDER, "uarch/cache.rs", "associativity of the second level, LRU";
    "l2.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs", "load to use when the second level has the line";
    "memory.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs", "load to use when memory has the line";
    "predictor.counter_entries", "-", ENTRIES, IN_ORDER, "uarch/predict.rs",
        "two-bit counters of the direction predictor; a power of two";
    "predictor.history_bits", "-", BITS, IN_ORDER, "uarch/predict.rs",
        "conditional outcomes that are mixed into the index (gshare); 0 is bimodal";
    "predictor.target_entries", "-", ENTRIES, IN_ORDER, "uarch/predict.rs",
        "entries of the target cache for indirect branches; a power of two";
    "predictor.target_history_bits", "-", BITS, IN_ORDER, "uarch/predict.rs",
        "bits of the path of indirect targets that are mixed into the index; 0 is a plain target buffer";
    "predictor.return_stack_entries", "-", Values::Integer(1, 1024), IN_ORDER, "uarch/predict.rs",
        "depth of the return stack; a power of two";
    "guest.profile", "-", Values::OneOf(&["x86-64-v2", "x86-64-v3"]), ALL, "guest",
        "what CPUID and the start of the process show to the program";
];

/// The key with this path.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The known key that is closest to a mistyped one, if any is close enough to be worth naming.
pub fn nearest(path: &str) -> Option<&'static str> {
    // A forgotten unit is the likeliest slip: `l1d.size` is far from `l1d.size_bytes` in edits, and near in meaning.
    let extended = KEYS.iter().find(|key| {
        key.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('_'))
    });
    if let Some(key) = extended {
        return Some(key.path);
    }
    KEYS.iter()
        .map(|key| (distance(path, key.path), key.path))
        .min()
        .filter(|&(edits, known)| edits <= known.len() / 3)
        .map(|(_, known)| known)
}

/// Levenshtein distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named_only_when_it_is_near() {
        assert_eq!(nearest("l1d.size"), Some("l1d.size_bytes"));
        assert_eq!(nearest("l1d.wasy"), Some("l1d.ways"));
        assert_eq!(nearest("core.frequency"), Some("core.frequency_hz"));
        assert_eq!(
            nearest("predictor.histroy_bits"),
            Some("predictor.history_bits")
        );
        assert_eq!(nearest("dram.banks"), None);
    }

    #[test]
    fn paths_are_unique() {
        for (i, key) in KEYS.iter().enumerate() {
            assert!(KEYS[..i].iter().all(|k| k.path != key.path), "{}", key.path);
        }
    }
}
