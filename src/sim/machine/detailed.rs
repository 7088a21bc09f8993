//! The parts of machines that are modelled in detail: caches level by level, DRAM, and the out-of-order core.
use super::settings::Settings;
use super::{MachineError, MicroOpTable};
use crate::sim::uarch::micro::Class;

/// A structure whose fields are integer keys of one section, read and written back by their names.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident, $section:literal, {$($(#[$field_doc:meta])* $field:ident),* $(,)?}) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            fn read(s: &Settings) -> Result<Self, MachineError> {
                Ok(Self { $($field: s.integer(concat!($section, ".", stringify!($field)))?,)* })
            }

            fn value(&self, path: &str) -> Option<u64> {
                $(if path == concat!($section, ".", stringify!($field)) {
                    return Some(self.$field);
                })*
                None
            }
        }
    };
}

section! {
    /// Widths, queues and delays of the out-of-order pipeline.
    Pipeline, "core", {
        /// Bytes taken from the instruction cache at a time.
        fetch_buffer_bytes,
        /// Micro-ops between fetch and decode.
        fetch_queue_entries,
        /// Micro-ops a cycle.
        fetch_width,
        /// Micro-ops a cycle.
        decode_width,
        /// Micro-ops a cycle.
        rename_width,
        /// Micro-ops a cycle.
        dispatch_width,
        /// Micro-ops a cycle.
        issue_width,
        /// Micro-ops a cycle.
        commit_width,
        /// Micro-ops a cycle that leave the window after a misprediction.
        squash_width,
        /// Cycles from fetch to decode.
        fetch_to_decode_cycles,
        /// Cycles from decode to rename.
        decode_to_rename_cycles,
        /// Cycles from rename to dispatch.
        rename_to_dispatch_cycles,
        /// Cycles from execution to the stage that commits.
        execute_to_commit_cycles,
        /// Cycles that a system call takes beyond the drained pipeline.
        trap_cycles,
        /// Micro-ops in flight.
        rob_entries,
        /// Micro-ops waiting for operands or units.
        scheduler_entries,
        /// Loads in flight.
        load_queue_entries,
        /// Stores in flight.
        store_queue_entries,
        /// Integer registers beyond those that programs see.
        spare_integer_registers,
        /// Floating registers beyond those that programs see.
        spare_float_registers,
        /// Registers of flag groups beyond those that programs see.
        spare_flag_registers,
        /// Sets of the memory dependence predictor.
        store_sets,
        /// Loads and stores after which that predictor forgets everything.
        store_set_period,
    }
}

section! {
    /// The branch predictor of the out-of-order core.
    BranchUnit, "predictor", {
        /// Counters indexed by a branch's own history.
        local_entries,
        /// Own histories kept.
        local_histories,
        /// Counters indexed by the global history.
        global_entries,
        /// Counters that choose between the two.
        choice_entries,
        /// Entries of the branch target buffer.
        target_buffer_entries,
        /// Bits of its tags.
        target_buffer_tag_bits,
        /// Depth of the return stack.
        return_stack_entries,
        /// Sets of the indirect target cache.
        indirect_sets,
        /// Its ways.
        indirect_ways,
        /// Bits of its tags.
        indirect_tag_bits,
        /// Latest indirect targets in its index.
        indirect_path,
        /// Latest directions in its index.
        indirect_history_bits,
        /// Longest history of the tagged tables.
        history_max,
        /// Counters of the predictors without tables.
        counter_entries,
        /// Latest directions in their index.
        history_bits,
    }
}

section! {
    /// Entries of the TLBs, for pages of 4 KiB.
    TlbSizes, "tlb", {
        /// Of the instruction TLB.
        instruction_entries,
        /// Of the data TLB.
        data_entries,
        /// Associativity of both.
        ways,
        /// Reads that a walk makes.
        levels,
    }
}

/// What a translation costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlbs {
    /// Misses walk the page table; else all is free.
    pub walks: bool,
    /// Sizes.
    pub sizes: TlbSizes,
}

impl Tlbs {
    fn read(s: &Settings) -> Result<Self, MachineError> {
        let tlbs = Self {
            walks: s.text("tlb.kind")? == "walk",
            sizes: TlbSizes::read(s)?,
        };
        for (key, entries) in [
            ("tlb.instruction_entries", tlbs.sizes.instruction_entries),
            ("tlb.data_entries", tlbs.sizes.data_entries),
        ] {
            let sets = entries / tlbs.sizes.ways;
            if !sets.is_power_of_two() || sets * tlbs.sizes.ways != entries {
                return Err(s.error(
                    key,
                    format!(
                        "`{key}` is {entries}, which {} ways do not divide into a power of two of sets",
                        tlbs.sizes.ways
                    ),
                    format!(
                        "{} entries would do",
                        entries.div_ceil(tlbs.sizes.ways).next_power_of_two() * tlbs.sizes.ways
                    ),
                ));
            }
        }
        Ok(tlbs)
    }

    fn value(&self, path: &str) -> Option<Found> {
        if path == "tlb.kind" {
            let word = if self.walks { "walk" } else { "free" };
            return Some(Found::Text(word.to_owned()));
        }
        self.sizes.value(path).map(Found::Integer)
    }
}

section! {
    /// A crossbar between cache levels.
    Crossbar, "crossbar", {
        /// Cycles of a request.
        request_cycles,
        /// Cycles of an answer.
        response_cycles,
        /// Bytes a cycle.
        width_bytes,
    }
}

section! {
    /// The crossbar before memory.
    MemoryCrossbar, "memory_crossbar", {
        /// Cycles of a request.
        request_cycles,
        /// Cycles of an answer.
        response_cycles,
        /// Bytes a cycle.
        width_bytes,
    }
}

section! {
    /// A DRAM channel of two ranks of sixteen banks in four groups. Times are picoseconds.
    Dram, "dram", {
        /// Bytes of a row over all devices.
        row_bytes,
        /// Accesses after which a row closes.
        row_accesses,
        /// Time of a line on the bus.
        burst_ps,
        /// Activate to column command (tRCD).
        row_to_column_ps,
        /// Column command to data (tCL).
        column_ps,
        /// Precharge (tRP).
        precharge_ps,
        /// Activate to precharge (tRAS).
        row_active_ps,
        /// Column commands in a bank group (tCCD_L).
        same_group_ps,
        /// Activates of different groups (tRRD).
        activate_ps,
        /// Activates in a group (tRRD_L).
        activate_same_group_ps,
        /// Window of four activates (tFAW).
        activate_window_ps,
        /// Read to precharge (tRTP).
        read_to_precharge_ps,
        /// Write recovery (tWR).
        write_recovery_ps,
        /// Write to read (tWTR).
        write_to_read_ps,
        /// Read to write (tRTW).
        read_to_write_ps,
        /// Switch of ranks (tCS).
        rank_switch_ps,
        /// A refresh (tRFC).
        refresh_ps,
        /// Between refreshes (tREFI).
        refresh_interval_ps,
        /// Front end and back end of the controller.
        controller_ps,
        /// Lines beyond which writes go before reads.
        write_high,
        /// Lines beyond which writes go when no read waits.
        write_low,
    }
}

/// An enumeration with the words that stand for it in a file.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident {$($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)?}) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// As it stands in a file.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            fn read(s: &Settings, path: &'static str) -> Result<Self, MachineError> {
                match s.text(path)?.as_str() {
                    $($word => Ok(Self::$variant),)*
                    // The table of keys lists the same words.
                    other => Err(s.error(path, format!("`{path}` is {other:?}"), "see sim-configs/README.md")),
                }
            }
        }
    };
}

words! {
    /// How a cache chooses what to replace.
    Replacement {
        /// The line used longest ago.
        Lru = "lru",
        /// A tree of bits over the ways.
        TreePlru = "tree-plru",
        /// Any, by a generator that starts the same each time.
        Random = "random",
    }
}

words! {
    /// What a shared level keeps of what is above it.
    Inclusion {
        /// It takes what it fetches, and may lose it while a level above has it.
        Mostly = "mostly-inclusive",
        /// It takes what the level above gives up.
        Exclusive = "mostly-exclusive",
        /// What it loses is lost above, too.
        Strict = "inclusive",
    }
}

words! {
    /// What a cache fetches ahead.
    Prefetching {
        /// Nothing.
        None = "none",
        /// The line behind one that missed.
        NextLine = "next-line",
        /// What one instruction's constant distance leads to.
        Stride = "stride",
        /// The lines ahead of neighbouring misses, whatever makes them.
        Stream = "stream",
    }
}

/// A cache level in detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLevel {
    /// Capacity.
    pub size_bytes: u64,
    /// Associativity.
    pub ways: u64,
    /// Tag look-up.
    pub tag_cycles: u64,
    /// Data, in parallel with the tags.
    pub data_cycles: u64,
    /// From the arrival of a line to the answer.
    pub response_cycles: u64,
    /// Misses in flight.
    pub mshrs: u64,
    /// Accesses that wait for one miss; as many as want to where the level has no such key.
    pub targets: u64,
    /// Written lines on their way out; likewise.
    pub write_buffers: u64,
    /// What to replace.
    pub replacement: Replacement,
    /// What it keeps of what is above it; nothing to a first level.
    pub inclusion: Inclusion,
    /// What it fetches ahead.
    pub prefetching: Prefetching,
}

/// Keys of a level; the empty one where it has no such key.
type Names = [&'static str; 11];
macro_rules! names {
    ($section:literal, $targets:literal, $buffers:literal, $inclusion:literal, $prefetcher:literal) => {
        [
            concat!($section, ".size_bytes"),
            concat!($section, ".ways"),
            concat!($section, ".tag_cycles"),
            concat!($section, ".data_cycles"),
            concat!($section, ".response_cycles"),
            concat!($section, ".mshrs"),
            $targets,
            $buffers,
            concat!($section, ".replacement"),
            $inclusion,
            $prefetcher,
        ]
    };
}
const L1I: Names = names!("l1i", "", "", "", "l1i.prefetcher");
const L1D: Names = names!(
    "l1d",
    "l1d.targets",
    "l1d.write_buffers",
    "",
    "l1d.prefetcher"
);
const L2: Names = names!(
    "l2",
    "",
    "l2.write_buffers",
    "l2.inclusion",
    "l2.prefetcher"
);
const L3: Names = names!("l3", "", "l3.write_buffers", "l3.inclusion", "");

impl CacheLevel {
    fn read(s: &Settings, section: &Names) -> Result<Self, MachineError> {
        let integer = |i: usize| match section[i] {
            "" => Ok(u64::MAX),
            key => s.integer(key),
        };
        let level = Self {
            size_bytes: integer(0)?,
            ways: integer(1)?,
            tag_cycles: integer(2)?,
            data_cycles: integer(3)?,
            response_cycles: integer(4)?,
            mshrs: integer(5)?,
            targets: integer(6)?,
            write_buffers: integer(7)?,
            replacement: Replacement::read(s, section[8])?,
            inclusion: match section[9] {
                "" => Inclusion::Mostly,
                key => Inclusion::read(s, key)?,
            },
            prefetching: match section[10] {
                "" => Prefetching::None,
                key => Prefetching::read(s, key)?,
            },
        };
        if level.size_bytes == 0 {
            return Ok(level);
        }
        let sets = level.size_bytes / (64 * level.ways);
        if !sets.is_power_of_two() || !level.size_bytes.is_multiple_of(64 * level.ways) {
            return Err(s.error(
                section[0],
                format!(
                    "`{}` is {}, which {} ways of 64-byte lines do not divide into a power of two of sets",
                    section[0], level.size_bytes, level.ways
                ),
                format!(
                    "{} bytes would do",
                    level.size_bytes.div_ceil(64 * level.ways).next_power_of_two() * 64 * level.ways
                ),
            ));
        }
        if level.replacement == Replacement::TreePlru
            && (!level.ways.is_power_of_two() || level.ways > 16)
        {
            return Err(s.error(
                section[1],
                format!(
                    "`{}` is {}, and a tree needs a power of two of at most 16",
                    section[1], level.ways
                ),
                "choose such a number, or `replacement = \"lru\"`",
            ));
        }
        Ok(level)
    }

    fn value(&self, section: &Names, path: &str) -> Option<Found> {
        let numbers = [
            self.size_bytes,
            self.ways,
            self.tag_cycles,
            self.data_cycles,
            self.response_cycles,
            self.mshrs,
            self.targets,
            self.write_buffers,
        ];
        let words = [
            self.replacement.name(),
            self.inclusion.name(),
            self.prefetching.name(),
        ];
        let i = section.iter().position(|&name| name == path)?;
        Some(match numbers.get(i) {
            Some(&number) => Found::Integer(number),
            None => Found::Text(words[i - numbers.len()].to_owned()),
        })
    }
}

/// A value of a key, for writing back.
pub(super) enum Found {
    Integer(u64),
    Text(String),
}

/// Caches and memory in detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySystem {
    /// First level, instructions.
    pub l1i: CacheLevel,
    /// First level, data.
    pub l1d: CacheLevel,
    /// Second level.
    pub l2: CacheLevel,
    /// Third level; none if it has no bytes.
    pub l3: CacheLevel,
    /// Translation.
    pub tlbs: Tlbs,
    /// Between levels.
    pub crossbar: Crossbar,
    /// Before memory.
    pub memory_crossbar: MemoryCrossbar,
    /// Memory.
    pub dram: Dram,
}

impl MemorySystem {
    fn read(s: &Settings) -> Result<Self, MachineError> {
        Ok(Self {
            l1i: CacheLevel::read(s, &L1I)?,
            l1d: CacheLevel::read(s, &L1D)?,
            l2: CacheLevel::read(s, &L2)?,
            l3: CacheLevel::read(s, &L3)?,
            tlbs: Tlbs::read(s)?,
            crossbar: Crossbar::read(s)?,
            memory_crossbar: MemoryCrossbar::read(s)?,
            dram: Dram::read(s)?,
        })
    }

    fn value(&self, path: &str) -> Option<Found> {
        let levels = [
            (&self.l1i, &L1I),
            (&self.l1d, &L1D),
            (&self.l2, &L2),
            (&self.l3, &L3),
        ];
        levels
            .iter()
            .find_map(|(level, names)| level.value(names, path))
            .or_else(|| {
                self.crossbar
                    .value(path)
                    .or_else(|| self.memory_crossbar.value(path))
                    .or_else(|| self.dram.value(path))
                    .map(Found::Integer)
                    .or_else(|| self.tlbs.value(path))
            })
    }
}

/// A core that does one micro-op after the other and waits for every access in full: gem5's TimingSimpleCPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockingCore {
    /// Core clock.
    pub frequency_hz: u64,
    /// How instructions become micro-ops.
    pub micro_ops: MicroOpTable,
    /// What it waits for.
    pub memory: MemorySystem,
}

impl BlockingCore {
    pub(super) fn read(
        s: &Settings,
        frequency_hz: u64,
        micro_ops: MicroOpTable,
    ) -> Result<Self, MachineError> {
        Ok(Self {
            frequency_hz,
            micro_ops,
            memory: MemorySystem::read(s)?,
        })
    }

    pub(super) fn value(&self, path: &str) -> Option<Found> {
        self.memory.value(path)
    }
}

words! {
    /// How branch directions are predicted.
    Directions {
        /// Two-bit counters under the branch's address.
        Bimodal = "bimodal",
        /// Two-bit counters under address and global history together.
        Gshare = "gshare",
        /// Own history or global history, whichever has been right more often.
        Tournament = "tournament",
        /// Tagged tables of growing history.
        Tage = "tage",
        /// The same with a loop predictor.
        Ltage = "ltage",
    }
}

/// One execution unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// For each class of micro-op: latency in cycles, 0 if the unit does not do it.
    pub latency: [u8; Class::COUNT],
    /// Classes that hold the unit for their whole latency, as bits.
    pub unpipelined: u64,
}

/// An out-of-order core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfOrderCore {
    /// Core clock.
    pub frequency_hz: u64,
    /// How instructions become micro-ops.
    pub micro_ops: MicroOpTable,
    /// Widths, queues, delays.
    pub pipeline: Pipeline,
    /// Stores reach the cache one after the other, in program order.
    pub total_store_order: bool,
    /// The units, as the file lists them.
    pub unit_list: String,
    /// The units.
    pub units: Vec<Unit>,
    /// Branch directions.
    pub directions: Directions,
    /// Sizes of the branch predictor.
    pub predictor: BranchUnit,
    /// Caches and memory.
    pub memory: MemorySystem,
}

impl OutOfOrderCore {
    pub(super) fn read(
        s: &Settings,
        frequency_hz: u64,
        micro_ops: MicroOpTable,
    ) -> Result<Self, MachineError> {
        let unit_list = s.text("core.units")?;
        let units = units(&unit_list).map_err(|what| {
            s.error(
                "core.units",
                format!("`core.units`: {what}"),
                "list units as `COUNTx CLASS:LATENCY ... | ...`, with `!` behind a latency that holds the unit",
            )
        })?;
        let core = Self {
            frequency_hz,
            micro_ops,
            pipeline: Pipeline::read(s)?,
            total_store_order: s.text("core.store_order")? == "total",
            unit_list,
            units,
            directions: Directions::read(s, "predictor.kind")?,
            predictor: BranchUnit::read(s)?,
            memory: MemorySystem::read(s)?,
        };
        for key in [
            "core.fetch_buffer_bytes",
            "core.store_sets",
            "predictor.local_entries",
            "predictor.local_histories",
            "predictor.global_entries",
            "predictor.choice_entries",
            "predictor.target_buffer_entries",
            "predictor.indirect_sets",
            "predictor.counter_entries",
        ] {
            super::power_of_two(s, key)?;
        }
        let index_bits = core.predictor.counter_entries.trailing_zeros();
        if core.directions == Directions::Gshare
            && core.predictor.history_bits > u64::from(index_bits)
        {
            return Err(s.error(
                "predictor.history_bits",
                format!(
                    "`predictor.history_bits` is {}, more than the index of `predictor.counter_entries` ({}) has bits",
                    core.predictor.history_bits, core.predictor.counter_entries
                ),
                format!("at most {index_bits}"),
            ));
        }
        Ok(core)
    }

    pub(super) fn value(&self, path: &str) -> Option<Found> {
        Some(match path {
            "core.store_order" => Found::Text(
                if self.total_store_order {
                    "total"
                } else {
                    "relaxed"
                }
                .to_owned(),
            ),
            "core.units" => Found::Text(self.unit_list.clone()),
            "predictor.kind" => Found::Text(self.directions.name().to_owned()),
            _ => {
                return self
                    .pipeline
                    .value(path)
                    .or_else(|| self.predictor.value(path))
                    .map(Found::Integer)
                    .or_else(|| self.memory.value(path));
            }
        })
    }
}

/// Reads a list of units.
fn units(list: &str) -> Result<Vec<Unit>, String> {
    let mut units = Vec::new();
    for group in list.split('|') {
        let mut words = group.split_whitespace();
        let count = words
            .next()
            .and_then(|w| w.strip_suffix('x'))
            .and_then(|n| n.parse::<usize>().ok())
            .filter(|n| (1..=32).contains(n))
            .ok_or_else(|| format!("`{}` does not begin with a count like `2x`", group.trim()))?;
        let mut unit = Unit {
            latency: [0; Class::COUNT],
            unpipelined: 0,
        };
        for word in words {
            let (name, latency) = word
                .split_once(':')
                .ok_or_else(|| format!("`{word}` is no `CLASS:LATENCY`"))?;
            let class = Class::ALL
                .iter()
                .position(|class| format!("{class:?}") == name)
                .ok_or_else(|| format!("`{name}` is no class of micro-op"))?;
            let number = latency.trim_end_matches('!');
            unit.latency[class] = number
                .parse()
                .ok()
                .filter(|n| (1..=200).contains(n))
                .ok_or_else(|| format!("`{latency}` is no latency from 1 to 200"))?;
            if latency.ends_with('!') {
                unit.unpipelined |= 1 << class;
            }
        }
        units.extend(std::iter::repeat_n(unit, count));
    }
    if units.len() > 32 {
        return Err(format!(
            "{} units, and the scheduler handles 32",
            units.len()
        ));
    }
    for class in &Class::ALL[1..] {
        if units.iter().all(|u| u.latency[*class as usize] == 0) {
            return Err(format!("no unit for `{class:?}`"));
        }
    }
    Ok(units)
}
