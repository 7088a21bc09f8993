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
    /// One micro-op after the other, each access in full.
    Blocking,
    /// Out of order.
    OutOfOrder,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::Atomic,
        Self::InOrder,
        Self::Blocking,
        Self::OutOfOrder,
    ];

    /// As it stands in `core.kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::InOrder => "in-order",
            Self::Blocking => "blocking",
            Self::OutOfOrder => "out-of-order",
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
/// Cores whose caches are modelled level by level.
const DETAILED: &[Kind] = &[Kind::Blocking, Kind::OutOfOrder];
const CACHED: &[Kind] = &[Kind::InOrder, Kind::Blocking, Kind::OutOfOrder];
const OUT_OF_ORDER: &[Kind] = &[Kind::OutOfOrder];
const PREDICTING: &[Kind] = &[Kind::InOrder, Kind::OutOfOrder];
const WIDTH: Values = Values::Integer(1, 64);
const QUEUE: Values = Values::Integer(1, 1024);
const DELAY: Values = Values::Integer(1, 64);
const REPLACEMENT: Values = Values::OneOf(&["lru", "tree-plru", "random"]);
const INCLUSION: Values = Values::OneOf(&["mostly-inclusive", "mostly-exclusive", "inclusive"]);
const PREFETCHER: Values = Values::OneOf(&["none", "next-line", "stride", "stream"]);
const MSHRS: Values = Values::Integer(1, 1024);
const PICOSECONDS: Values = Values::Integer(0, 100_000_000);
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
    "core.kind", "-", Values::OneOf(&["atomic", "in-order", "blocking", "out-of-order"]), ALL, "uarch", "timing model";
    "core.frequency_hz", "Hz", Values::Integer(1_000_000, 100_000_000_000), ALL, "guest clocks, simulated time",
        "core clock; on `atomic` one instruction counts as one cycle for clocks";
    "core.micro_ops", "-", Values::OneOf(&["hardware", "gem5"]), ALL, "uarch/crack.rs, uarch/crack_gem5.rs",
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
    "core.fetch_buffer_bytes", "bytes", Values::Integer(8, 64), OUT_OF_ORDER, "uarch/ooo.rs", "taken from the instruction cache at a time; a power of two";
    "core.fetch_queue_entries", "-", QUEUE, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops between fetch and decode";
    "core.fetch_width", "-", WIDTH, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops fetched a cycle";
    "core.decode_width", "-", WIDTH, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops decoded a cycle";
    "core.rename_width", "-", WIDTH, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops renamed a cycle";
    "core.dispatch_width", "-", WIDTH, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops dispatched a cycle";
    "core.issue_width", "-", WIDTH, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops issued a cycle";
    "core.commit_width", "-", WIDTH, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops committed a cycle";
    "core.squash_width", "-", WIDTH, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops a cycle that leave the window after a misprediction";
    "core.fetch_to_decode_cycles", "cycles", DELAY, OUT_OF_ORDER, "uarch/ooo.rs", "from fetch to decode";
    "core.decode_to_rename_cycles", "cycles", DELAY, OUT_OF_ORDER, "uarch/ooo.rs", "from decode to rename";
    "core.rename_to_dispatch_cycles", "cycles", DELAY, OUT_OF_ORDER, "uarch/ooo.rs", "from rename to dispatch";
    "core.execute_to_commit_cycles", "cycles", DELAY, OUT_OF_ORDER, "uarch/ooo.rs", "from execution to the stage that commits";
    "core.trap_cycles", "cycles", DELAY, OUT_OF_ORDER, "uarch/ooo.rs", "that a system call takes beyond the drained pipeline";
    "core.rob_entries", "-", QUEUE, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops in flight";
    "core.scheduler_entries", "-", QUEUE, OUT_OF_ORDER, "uarch/ooo.rs", "micro-ops that wait for operands or units";
    "core.load_queue_entries", "-", QUEUE, OUT_OF_ORDER, "uarch/ooo.rs", "loads in flight";
    "core.store_queue_entries", "-", QUEUE, OUT_OF_ORDER, "uarch/ooo.rs", "stores in flight";
    "core.spare_integer_registers", "-", Values::Integer(8, 4096), OUT_OF_ORDER, "uarch/ooo.rs", "integer registers beyond those that programs see";
    "core.spare_float_registers", "-", Values::Integer(8, 4096), OUT_OF_ORDER, "uarch/ooo.rs", "floating registers (halves of XMM) beyond those that programs see";
    "core.spare_flag_registers", "-", Values::Integer(8, 4096), OUT_OF_ORDER, "uarch/ooo.rs", "registers of flag groups beyond those that programs see";
    "core.store_sets", "-", ENTRIES, OUT_OF_ORDER, "uarch/ooo.rs", "sets of the memory dependence predictor; a power of two";
    "core.store_set_period", "-", Values::Integer(1, 1_000_000_000), OUT_OF_ORDER, "uarch/ooo.rs", "loads and stores after which that predictor forgets everything";
    "core.store_order", "-", Values::OneOf(&["total", "relaxed"]), OUT_OF_ORDER, "uarch/ooo.rs",
        "whether a store waits until the one before it is in the cache";
    "core.units", "-", Values::Text, OUT_OF_ORDER, "uarch/ooo.rs",
        "execution units with the classes that they do: `2x IntMult:3 IntDiv:1! | ...`; `!` holds the unit";
    "caches.line_bytes", "bytes", Values::Integer(16, 4096), IN_ORDER, "uarch/simple.rs",
        "line of every level; a power of two";
    "l1i.size_bytes", "bytes", SIZE, CACHED, "uarch/cache.rs, uarch/hierarchy.rs", "capacity of the instruction cache";
    "l1i.ways", "-", WAYS, CACHED, "uarch/cache.rs, uarch/hierarchy.rs", "associativity of the instruction cache, LRU on `in-order`";
    "l1i.tag_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "tag look-up in the instruction cache; a miss goes on after it";
    "l1i.data_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "data of the instruction cache, read in parallel with the tags";
    "l1i.response_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "from the arrival of a line in the instruction cache to its answer";
    "l1i.mshrs", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "misses in flight in the instruction cache; a cache without a free one takes no access";
    "l1i.replacement", "-", REPLACEMENT, DETAILED, "uarch/hierarchy.rs", "what the instruction cache replaces";
    "l1i.prefetcher", "-", Values::OneOf(&["none", "next-line"]), DETAILED, "uarch/hierarchy.rs", "what a miss of the instruction cache fetches ahead";
    "l1i.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "fetch to decode on a hit, hidden by the pipeline; a miss costs what the next level takes beyond it";
    "l1d.size_bytes", "bytes", SIZE, CACHED, "uarch/cache.rs, uarch/hierarchy.rs", "capacity of the data cache";
    "l1d.ways", "-", WAYS, CACHED, "uarch/cache.rs, uarch/hierarchy.rs", "associativity of the data cache, LRU on `in-order`";
    "l1d.tag_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "tag look-up in the data cache; a miss goes on after it";
    "l1d.data_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "data of the data cache, read in parallel with the tags";
    "l1d.response_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "from the arrival of a line in the data cache to its answer";
    "l1d.mshrs", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "misses in flight in the data cache; a cache without a free one takes no access";
    "l1d.targets", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "accesses that wait for one miss; with as many the cache takes no access until the line is there";
    "l1d.write_buffers", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "written lines on their way out of the data cache; a cache without a free place takes no access";
    "l1d.replacement", "-", REPLACEMENT, DETAILED, "uarch/hierarchy.rs", "what the data cache replaces";
    "l1d.prefetcher", "-", PREFETCHER, DETAILED, "uarch/hierarchy.rs", "what the data cache fetches ahead";
    "l1d.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs",
        "load to use on a hit, hidden by the pipeline; a miss costs what the next level takes beyond it";
    "l2.size_bytes", "bytes", SIZE, CACHED, "uarch/cache.rs, uarch/hierarchy.rs", "capacity of the second level";
    "l2.ways", "-", WAYS, CACHED, "uarch/cache.rs, uarch/hierarchy.rs", "associativity of the second level, LRU on `in-order`";
    "l2.tag_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "tag look-up in the second level; a miss goes on after it";
    "l2.data_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "data of the second level, read in parallel with the tags";
    "l2.response_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "from the arrival of a line in the second level to its answer";
    "l2.mshrs", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "misses in flight in the second level; a cache without a free one takes no access";
    "l2.write_buffers", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "written lines on their way out of the second level; a cache without a free place takes no access";
    "l2.replacement", "-", REPLACEMENT, DETAILED, "uarch/hierarchy.rs", "what the second level replaces";
    "l2.inclusion", "-", INCLUSION, DETAILED, "uarch/hierarchy.rs", "whether the second level keeps what the level above has";
    "l2.prefetcher", "-", PREFETCHER, DETAILED, "uarch/hierarchy.rs", "what the second level fetches ahead";
    "l2.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs", "load to use when the second level has the line";
    "l3.size_bytes", "bytes", Values::Integer(0, 1 << 32), DETAILED, "uarch/hierarchy.rs", "capacity of the third level; 0 is none";
    "l3.ways", "-", WAYS, DETAILED, "uarch/hierarchy.rs", "associativity of the third level";
    "l3.tag_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "tag look-up in the third level; a miss goes on after it";
    "l3.data_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "data of the third level, read in parallel with the tags";
    "l3.response_cycles", "cycles", CYCLES, DETAILED, "uarch/hierarchy.rs", "from the arrival of a line in the third level to its answer";
    "l3.mshrs", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "misses in flight in the third level; a cache without a free one takes no access";
    "l3.write_buffers", "-", MSHRS, DETAILED, "uarch/hierarchy.rs", "written lines on their way out of the third level; a cache without a free place takes no access";
    "l3.replacement", "-", REPLACEMENT, DETAILED, "uarch/hierarchy.rs", "what the third level replaces";
    "l3.inclusion", "-", INCLUSION, DETAILED, "uarch/hierarchy.rs", "whether the third level keeps what the level above has";
    "tlb.kind", "-", Values::OneOf(&["free", "walk"]), DETAILED, "uarch/tlb.rs", "what a translation costs: nothing, as where a kernel is emulated, or a walk of the page table after a miss";
    "tlb.instruction_entries", "-", ENTRIES, DETAILED, "uarch/tlb.rs", "pages of 4 KiB that the instruction TLB holds";
    "tlb.data_entries", "-", ENTRIES, DETAILED, "uarch/tlb.rs", "pages of 4 KiB that the data TLB holds";
    "tlb.ways", "-", WAYS, DETAILED, "uarch/tlb.rs", "associativity of both, LRU";
    "tlb.levels", "-", Values::Integer(1, 5), DETAILED, "uarch/tlb.rs", "levels of the page table: reads of the data cache that a walk makes, one after the other";
    "crossbar.request_cycles", "cycles", Values::Integer(0, 1000), DETAILED, "uarch/hierarchy.rs", "of a request between cache levels";
    "crossbar.response_cycles", "cycles", Values::Integer(0, 1000), DETAILED, "uarch/hierarchy.rs", "of an answer between cache levels";
    "crossbar.width_bytes", "bytes", Values::Integer(1, 64), DETAILED, "uarch/hierarchy.rs", "a cycle between cache levels";
    "memory_crossbar.request_cycles", "cycles", Values::Integer(0, 1000), DETAILED, "uarch/hierarchy.rs", "of a request before memory";
    "memory_crossbar.response_cycles", "cycles", Values::Integer(0, 1000), DETAILED, "uarch/hierarchy.rs", "of an answer before memory";
    "memory_crossbar.width_bytes", "bytes", Values::Integer(1, 64), DETAILED, "uarch/hierarchy.rs", "a cycle before memory";
    "dram.row_bytes", "bytes", Values::Integer(64, 1 << 20), DETAILED, "uarch/dram.rs", "of a row over all devices";
    "dram.row_accesses", "-", Values::Integer(1, 1 << 20), DETAILED, "uarch/dram.rs", "accesses after which a row closes";
    "dram.burst_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "a line on the bus";
    "dram.row_to_column_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "activate to column command (tRCD)";
    "dram.column_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "column command to data (tCL)";
    "dram.precharge_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "precharge (tRP)";
    "dram.row_active_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "activate to precharge (tRAS)";
    "dram.same_group_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "column commands of a bank group (tCCD_L)";
    "dram.activate_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "activates of different groups (tRRD)";
    "dram.activate_same_group_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "activates of a group (tRRD_L)";
    "dram.activate_window_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "window of four activates (tFAW)";
    "dram.read_to_precharge_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "read to precharge (tRTP)";
    "dram.write_recovery_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "write recovery (tWR)";
    "dram.write_to_read_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "write to read (tWTR)";
    "dram.read_to_write_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "read to write (tRTW)";
    "dram.rank_switch_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "switch of ranks (tCS)";
    "dram.refresh_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "a refresh (tRFC)";
    "dram.refresh_interval_ps", "ps", Values::Integer(1_000, 1_000_000_000_000), DETAILED, "uarch/dram.rs", "between refreshes (tREFI)";
    "dram.controller_ps", "ps", PICOSECONDS, DETAILED, "uarch/dram.rs", "front end and back end of the controller";
    "dram.write_high", "-", QUEUE, DETAILED, "uarch/dram.rs", "lines beyond which writes go before reads";
    "dram.write_low", "-", QUEUE, DETAILED, "uarch/dram.rs", "lines beyond which writes go when no read waits";
    "memory.latency_cycles", "cycles", CYCLES, IN_ORDER, "uarch/simple.rs", "load to use when memory has the line";
    "predictor.kind", "-", Values::OneOf(&["bimodal", "gshare", "tournament", "tage", "ltage"]), OUT_OF_ORDER, "uarch/predict_gem5.rs", "how directions are predicted";
    "predictor.local_entries", "-", ENTRIES, OUT_OF_ORDER, "uarch/predict_gem5.rs", "counters indexed by a branch's own history (tournament); a power of two";
    "predictor.local_histories", "-", ENTRIES, OUT_OF_ORDER, "uarch/predict_gem5.rs", "own histories kept (tournament); a power of two";
    "predictor.global_entries", "-", ENTRIES, OUT_OF_ORDER, "uarch/predict_gem5.rs", "counters indexed by the global history (tournament); a power of two";
    "predictor.choice_entries", "-", ENTRIES, OUT_OF_ORDER, "uarch/predict_gem5.rs", "counters that choose between the two (tournament); a power of two";
    "predictor.target_buffer_entries", "-", ENTRIES, OUT_OF_ORDER, "uarch/predict_gem5.rs", "entries of the branch target buffer; a power of two";
    "predictor.target_buffer_tag_bits", "-", Values::Integer(1, 32), OUT_OF_ORDER, "uarch/predict_gem5.rs", "bits of its tags";
    "predictor.indirect_sets", "-", ENTRIES, OUT_OF_ORDER, "uarch/predict_gem5.rs", "sets of the cache of indirect targets; a power of two";
    "predictor.indirect_ways", "-", Values::Integer(1, 32), OUT_OF_ORDER, "uarch/predict_gem5.rs", "its ways";
    "predictor.indirect_tag_bits", "-", Values::Integer(1, 32), OUT_OF_ORDER, "uarch/predict_gem5.rs", "bits of its tags";
    "predictor.indirect_path", "-", Values::Integer(1, 16), OUT_OF_ORDER, "uarch/predict_gem5.rs", "latest indirect targets in its index";
    "predictor.indirect_history_bits", "-", Values::Integer(1, 32), OUT_OF_ORDER, "uarch/predict_gem5.rs", "latest directions in its index";
    "predictor.history_max", "-", Values::Integer(4, 63), OUT_OF_ORDER, "uarch/predict_gem5.rs", "longest history of the tagged tables (tage, ltage); the shortest is 4";
    "predictor.counter_entries", "-", ENTRIES, PREDICTING, "uarch/predict.rs, uarch/predict_gem5.rs",
        "two-bit counters of the direction predictor (bimodal, gshare); a power of two";
    "predictor.history_bits", "-", BITS, PREDICTING, "uarch/predict.rs, uarch/predict_gem5.rs",
        "conditional outcomes that are mixed into the index (gshare); 0 is bimodal";
    "predictor.target_entries", "-", ENTRIES, IN_ORDER, "uarch/predict.rs",
        "entries of the target cache for indirect branches; a power of two";
    "predictor.target_history_bits", "-", BITS, IN_ORDER, "uarch/predict.rs",
        "bits of the path of indirect targets that are mixed into the index; 0 is a plain target buffer";
    "predictor.return_stack_entries", "-", Values::Integer(1, 1024), PREDICTING, "uarch/predict.rs, uarch/predict_gem5.rs",
        "depth of the return stack; a power of two";
    "guest.profile", "-", Values::OneOf(&["x86-64-v2", "x86-64-v3", "gem5"]), ALL, "guest",
        "what CPUID and the start of the process show to the program";
];

/// What another key must say for a key to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// That key is one of these words.
    OneOf(&'static str, &'static [&'static str]),
    /// That key is not 0.
    NotZero(&'static str),
}

impl When {
    /// The other key.
    pub fn key(self) -> &'static str {
        match self {
            Self::OneOf(key, _) | Self::NotZero(key) => key,
        }
    }

    /// Whether its value, as it would stand in a file, is such.
    pub fn holds(self, value: &str) -> bool {
        match self {
            Self::OneOf(_, words) => words.contains(&value),
            Self::NotZero(_) => value != "0",
        }
    }
}

const WALKS: When = When::OneOf("tlb.kind", &["walk"]);
const TOURNAMENT: When = When::OneOf("predictor.kind", &["tournament"]);
const TAGGED: When = When::OneOf("predictor.kind", &["tage", "ltage"]);
const THIRD: When = When::NotZero("l3.size_bytes");

/// Keys that only some values of another key give a meaning, and what they are where a file says nothing.
///
/// The other key decides only on kinds of core that read it: `predictor.counter_entries` stands alone on `in-order`.
const CONDITIONS: &[(&str, When, &str)] = &[
    // Assumed: those of the second level in gem5's se.py.
    ("l3.ways", THIRD, "16"),
    ("l3.tag_cycles", THIRD, "20"),
    ("l3.data_cycles", THIRD, "20"),
    ("l3.response_cycles", THIRD, "20"),
    ("l3.mshrs", THIRD, "20"),
    ("l3.write_buffers", THIRD, "8"),
    ("l3.replacement", THIRD, "lru"),
    ("l3.inclusion", THIRD, "mostly-inclusive"),
    // gem5's X86TLB has 64 entries; Skylake's data TLB has four ways; 4 KiB pages of 64-bit mode have four levels.
    ("tlb.instruction_entries", WALKS, "64"),
    ("tlb.data_entries", WALKS, "64"),
    ("tlb.ways", WALKS, "4"),
    ("tlb.levels", WALKS, "4"),
    // gem5 BranchPredictor.py.
    ("predictor.local_entries", TOURNAMENT, "2048"),
    ("predictor.local_histories", TOURNAMENT, "2048"),
    ("predictor.global_entries", TOURNAMENT, "8192"),
    ("predictor.choice_entries", TOURNAMENT, "8192"),
    ("predictor.history_max", TAGGED, "34"),
    // As on `simple`.
    (
        "predictor.counter_entries",
        When::OneOf("predictor.kind", &["bimodal", "gshare"]),
        "16384",
    ),
    (
        "predictor.history_bits",
        When::OneOf("predictor.kind", &["gshare"]),
        "12",
    ),
];

/// What another key must say for this one to be read on a core of this kind.
pub fn condition(path: &str, kind: Kind) -> Option<When> {
    let (_, when, _) = CONDITIONS.iter().find(|(key, ..)| *key == path)?;
    find(when.key())
        .is_some_and(|key| key.kinds.contains(&kind))
        .then_some(*when)
}

/// What a key is where a file says nothing; most keys must be given.
pub fn default_value(path: &str) -> Option<&'static str> {
    if path == "tlb.kind" {
        return Some("free");
    }
    let (.., value) = CONDITIONS.iter().find(|(key, ..)| *key == path)?;
    Some(value)
}

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
