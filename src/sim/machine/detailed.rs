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
        /// Shortest history of the tagged tables.
        history_min,
        /// Longest one.
        history_max,
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
        /// Lines that wait to be written, at most.
        write_queue,
        /// Lines beyond which writes go before reads.
        write_high,
        /// Lines beyond which writes go when no read waits.
        write_low,
    }
}

/// How a cache chooses what to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The line used longest ago.
    Lru,
    /// A tree of bits over the ways.
    TreePlru,
}

impl Replacement {
    /// As it stands in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::TreePlru => "tree-plru",
        }
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
    /// What to replace.
    pub replacement: Replacement,
    /// Holds mostly what the level above has given up.
    pub exclusive: bool,
    /// Fetches ahead of loads with a constant stride.
    pub stride_prefetcher: bool,
}

impl CacheLevel {
    fn read(s: &Settings, section: &Names) -> Result<Self, MachineError> {
        let level = Self {
            size_bytes: s.integer(section[0])?,
            ways: s.integer(section[1])?,
            tag_cycles: s.integer(section[2])?,
            data_cycles: s.integer(section[3])?,
            response_cycles: s.integer(section[4])?,
            mshrs: s.integer(section[5])?,
            replacement: if s.text(section[6])? == "lru" {
                Replacement::Lru
            } else {
                Replacement::TreePlru
            },
            exclusive: s.text(section[7])? == "mostly-exclusive",
            stride_prefetcher: s.text(section[8])? == "stride",
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
        let i = section.iter().position(|&name| name == path)?;
        Some(match i {
            0 => Found::Integer(self.size_bytes),
            1 => Found::Integer(self.ways),
            2 => Found::Integer(self.tag_cycles),
            3 => Found::Integer(self.data_cycles),
            4 => Found::Integer(self.response_cycles),
            5 => Found::Integer(self.mshrs),
            6 => Found::Text(self.replacement.name().to_owned()),
            7 => Found::Text(
                if self.exclusive {
                    "mostly-exclusive"
                } else {
                    "mostly-inclusive"
                }
                .to_owned(),
            ),
            _ => Found::Text(
                if self.stride_prefetcher {
                    "stride"
                } else {
                    "none"
                }
                .to_owned(),
            ),
        })
    }
}

/// A value of a key, for writing back.
pub(super) enum Found {
    Integer(u64),
    Text(String),
}

type Names = [&'static str; 9];
macro_rules! names {
    ($section:literal) => {
        [
            concat!($section, ".size_bytes"),
            concat!($section, ".ways"),
            concat!($section, ".tag_cycles"),
            concat!($section, ".data_cycles"),
            concat!($section, ".response_cycles"),
            concat!($section, ".mshrs"),
            concat!($section, ".replacement"),
            concat!($section, ".inclusion"),
            concat!($section, ".prefetcher"),
        ]
    };
}
const L1I: Names = names!("l1i");
const L1D: Names = names!("l1d");
const L2: Names = names!("l2");
const L3: Names = names!("l3");

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

/// How branch directions are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Own history or global history, whichever has been right more often.
    Tournament,
    /// Tagged tables of growing history, with a loop predictor.
    Ltage,
}

impl Directions {
    /// As it stands in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tournament => "tournament",
            Self::Ltage => "ltage",
        }
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
        let unit_list = s.text("core.units")?.to_owned();
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
            directions: if s.text("predictor.kind")? == "ltage" {
                Directions::Ltage
            } else {
                Directions::Tournament
            },
            predictor: BranchUnit::read(s)?,
            memory: MemorySystem::read(s)?,
        };
        if core.predictor.history_min > core.predictor.history_max {
            return Err(s.error(
                "predictor.history_min",
                format!(
                    "`predictor.history_min` is {}, more than `predictor.history_max` ({})",
                    core.predictor.history_min, core.predictor.history_max
                ),
                "the shortest history is at most as long as the longest",
            ));
        }
        for key in [
            "core.fetch_buffer_bytes",
            "core.store_sets",
            "predictor.local_entries",
            "predictor.local_histories",
            "predictor.global_entries",
            "predictor.choice_entries",
            "predictor.target_buffer_entries",
            "predictor.indirect_sets",
        ] {
            super::power_of_two(s, key)?;
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
