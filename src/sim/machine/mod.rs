//! The typed model of a processor, read from a machine file.
//!
//! A machine file is TOML with strict keys ([`keys`]); it may extend a built-in machine ([`catalog`]). The complete
//! model can be written back ([`Machine::effective_toml`]) and has a content hash ([`Machine::hash`]), both stored with
//! each result: a result names the whole machine that it was made on, not only a file.
pub mod catalog;
mod detailed;
mod effective;
pub mod keys;
mod settings;

pub use detailed::{
    BlockingCore, BranchUnit, CacheLevel, Crossbar, Directions, Dram, Inclusion, MemoryCrossbar,
    MemorySystem, OutOfOrderCore, Pipeline, Prefetching, Replacement, TlbSizes, Tlbs, Unit,
};
pub use keys::Kind;
use settings::Settings;

/// A complete model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name; with overrides they are part of it (`simple[l2.ways=8]`).
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The core with everything that it reaches.
    pub core: Core,
    /// What the program sees.
    pub guest: Guest,
}

/// The core, by timing model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Core {
    /// Counts only.
    Atomic(AtomicCore),
    /// In order, one micro-op a cycle.
    InOrder(InOrderCore),
    /// One micro-op after the other, each access in full.
    Blocking(Box<BlockingCore>),
    /// Out of order.
    OutOfOrder(Box<OutOfOrderCore>),
}

/// A core that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicCore {
    /// Clock of the guest's time: one instruction counts as one cycle.
    pub frequency_hz: u64,
    /// How instructions become micro-ops.
    pub micro_ops: MicroOpTable,
}

/// A core that executes in order, with two levels of cache before memory. Times are in core cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InOrderCore {
    /// Core clock.
    pub frequency_hz: u64,
    /// How instructions become micro-ops.
    pub micro_ops: MicroOpTable,
    /// Time that an integer divide of at most 32 bits holds the core.
    pub integer_divide_cycles: u64,
    /// Time that an integer divide of 64 bits holds the core.
    pub integer_divide_64_cycles: u64,
    /// Time that a floating-point divide holds the core.
    pub float_divide_cycles: u64,
    /// Time that a square root holds the core.
    pub float_sqrt_cycles: u64,
    /// Time that an x87 transcendental holds the core.
    pub transcendental_cycles: u64,
    /// Time lost by a misprediction.
    pub misprediction_cycles: u64,
    /// Line of every level, a power of two.
    pub line_bytes: u64,
    /// First level, instructions.
    pub l1i: Cache,
    /// First level, data.
    pub l1d: Cache,
    /// Second level, both.
    pub l2: Cache,
    /// Load to use from memory.
    pub memory_latency_cycles: u64,
    /// The branch predictor.
    pub predictor: Predictor,
}

/// A set-associative level with LRU replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Capacity: `ways` times the line times a power of two.
    pub size_bytes: u64,
    /// Associativity.
    pub ways: u64,
    /// Load to use on a hit in this level.
    pub latency_cycles: u64,
}

/// Sizes of the branch predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predictor {
    /// Two-bit counters, a power of two.
    pub counter_entries: u64,
    /// Conditional outcomes mixed into their index.
    pub history_bits: u64,
    /// Targets of indirect branches, a power of two.
    pub target_entries: u64,
    /// Bits of the path mixed into their index.
    pub target_history_bits: u64,
    /// Return addresses, a power of two.
    pub return_stack_entries: u64,
}

/// A table of micro-ops. Their numbers are never compared across tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroOpTable {
    /// One for each load, store, computation and branch: what decoders of current processors are close to.
    Hardware,
    /// Those of gem5's X86 decoder.
    Gem5,
}

impl MicroOpTable {
    /// As it stands in `core.micro_ops`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Gem5 => "gem5",
        }
    }
}

/// What the program sees of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guest {
    /// The instruction set and process start.
    pub profile: Profile,
}

/// An instruction set with what goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The x86-64-v2 level of the psABI: up to SSE4.2 and POPCNT.
    X86_64V2,
    /// The x86-64-v3 level: AVX2, FMA, F16C, BMI1, BMI2, MOVBE and LZCNT; besides, AES-NI, PCLMULQDQ and SHA.
    X86_64V3,
    /// What gem5 shows its guests.
    Gem5,
}

impl Profile {
    /// As it stands in `guest.profile`.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64V2 => "x86-64-v2",
            Self::X86_64V3 => "x86-64-v3",
            Self::Gem5 => "gem5",
        }
    }
}

/// What is wrong with a machine file or an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {what}; {hint}")]
pub struct MachineError {
    /// `file:line`, or the option.
    pub origin: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl MachineError {
    fn new(origin: &settings::Origin, what: String, hint: impl Into<String>) -> Self {
        Self {
            origin: origin.0.to_string(),
            what,
            hint: hint.into(),
        }
    }
}

impl Machine {
    /// Reads a machine file; `file` names it in messages.
    ///
    /// # Errors
    /// What is wrong, with file and line.
    pub fn parse(text: &str, file: &str) -> Result<Self, MachineError> {
        Self::from_settings(Settings::parse(text, file)?)
    }

    /// The same machine with other values for some keys: `[("l2.ways", "8")]`. The name tells.
    ///
    /// # Errors
    /// An unknown key, or a value that the key or the model does not allow.
    pub fn with_overrides(&self, overrides: &[(&str, &str)]) -> Result<Self, MachineError> {
        if overrides.is_empty() {
            return Ok(self.clone());
        }
        let mut settings = self.settings();
        for (key, value) in overrides {
            settings.set_text(key, value)?;
        }
        let mut machine = Self::from_settings(settings)?;
        if machine.name == self.name {
            let list: Vec<String> = overrides.iter().map(|(k, v)| format!("{k}={v}")).collect();
            machine.name = format!("{}[{}]", self.name, list.join(","));
        }
        Ok(machine)
    }

    /// The timing model.
    pub fn kind(&self) -> Kind {
        match self.core {
            Core::Atomic(_) => Kind::Atomic,
            Core::InOrder(_) => Kind::InOrder,
            Core::Blocking(_) => Kind::Blocking,
            Core::OutOfOrder(_) => Kind::OutOfOrder,
        }
    }

    /// Core clock in hertz.
    pub fn frequency_hz(&self) -> u64 {
        match &self.core {
            Core::Atomic(core) => core.frequency_hz,
            Core::InOrder(core) => core.frequency_hz,
            Core::Blocking(core) => core.frequency_hz,
            Core::OutOfOrder(core) => core.frequency_hz,
        }
    }

    fn from_settings(mut settings: Settings) -> Result<Self, MachineError> {
        let kind = match settings.text("core.kind")?.as_str() {
            "in-order" => Kind::InOrder,
            "blocking" => Kind::Blocking,
            "out-of-order" => Kind::OutOfOrder,
            _ => Kind::Atomic,
        };
        settings.check_read_by(kind)?;
        let s = &settings;
        let micro_ops = match s.text("core.micro_ops")?.as_str() {
            "gem5" => MicroOpTable::Gem5,
            _ => MicroOpTable::Hardware,
        };
        let profile = match s.text("guest.profile")?.as_str() {
            "gem5" => Profile::Gem5,
            "x86-64-v3" => Profile::X86_64V3,
            _ => Profile::X86_64V2,
        };
        // The in-order cores know the micro-ops of hardware only, the detailed ones those of gem5 only.
        let expected = match kind {
            Kind::Atomic | Kind::InOrder => MicroOpTable::Hardware,
            Kind::Blocking | Kind::OutOfOrder => MicroOpTable::Gem5,
        };
        if micro_ops != expected {
            return Err(s.error(
                "core.micro_ops",
                format!(
                    "`core.micro_ops` is \"{}\" on a core of kind \"{}\"",
                    micro_ops.name(),
                    kind.name()
                ),
                format!("that kind of core has the table \"{}\"", expected.name()),
            ));
        }
        let frequency_hz = s.integer("core.frequency_hz")?;
        let core = match kind {
            Kind::Atomic => Core::Atomic(AtomicCore {
                frequency_hz,
                micro_ops,
            }),
            Kind::InOrder => Core::InOrder(InOrderCore::read(s, frequency_hz, micro_ops)?),
            Kind::Blocking => {
                Core::Blocking(Box::new(BlockingCore::read(s, frequency_hz, micro_ops)?))
            }
            Kind::OutOfOrder => {
                Core::OutOfOrder(Box::new(OutOfOrderCore::read(s, frequency_hz, micro_ops)?))
            }
        };
        Ok(Self {
            name: s.text("name")?,
            description: s.text("description")?,
            core,
            guest: Guest { profile },
        })
    }
}

impl InOrderCore {
    fn read(
        s: &Settings,
        frequency_hz: u64,
        micro_ops: MicroOpTable,
    ) -> Result<Self, MachineError> {
        let line_bytes = power_of_two(s, "caches.line_bytes")?;
        let l1i = ["l1i.size_bytes", "l1i.ways", "l1i.latency_cycles"];
        let l1d = ["l1d.size_bytes", "l1d.ways", "l1d.latency_cycles"];
        let l2 = ["l2.size_bytes", "l2.ways", "l2.latency_cycles"];
        let core = Self {
            frequency_hz,
            micro_ops,
            integer_divide_cycles: s.integer("core.integer_divide_cycles")?,
            integer_divide_64_cycles: s.integer("core.integer_divide_64_cycles")?,
            float_divide_cycles: s.integer("core.float_divide_cycles")?,
            float_sqrt_cycles: s.integer("core.float_sqrt_cycles")?,
            transcendental_cycles: s.integer("core.transcendental_cycles")?,
            misprediction_cycles: s.integer("core.misprediction_cycles")?,
            line_bytes,
            l1i: Cache::read(s, l1i, line_bytes)?,
            l1d: Cache::read(s, l1d, line_bytes)?,
            l2: Cache::read(s, l2, line_bytes)?,
            memory_latency_cycles: s.integer("memory.latency_cycles")?,
            predictor: Predictor::read(s)?,
        };
        for (upper, lower) in [
            (l1i[2], l2[2]),
            (l1d[2], l2[2]),
            (l2[2], "memory.latency_cycles"),
        ] {
            let (near, far) = (s.integer(upper)?, s.integer(lower)?);
            if near > far {
                return Err(s.error(
                    lower,
                    format!("`{lower}` is {far}, less than `{upper}` ({near})"),
                    "latencies count from the load to its use, so a farther level takes at least as long",
                ));
            }
        }
        Ok(core)
    }
}

impl Cache {
    fn read(s: &Settings, keys: [&'static str; 3], line: u64) -> Result<Self, MachineError> {
        let [size_key, ways_key, latency_key] = keys;
        let (size, ways) = (s.integer(size_key)?, s.integer(ways_key)?);
        if size % (ways * line) != 0 {
            return Err(s.error(
                size_key,
                format!("`{size_key}` is {size}, not a multiple of {ways} ways of {line} bytes"),
                format!(
                    "the next multiple is {}",
                    size.next_multiple_of(ways * line)
                ),
            ));
        }
        let sets = size / (ways * line);
        if !sets.is_power_of_two() {
            return Err(s.error(
                size_key,
                format!("`{size_key}` gives {sets} sets of {ways} ways, not a power of two"),
                format!(
                    "{} bytes give {} sets",
                    sets.next_power_of_two() * ways * line,
                    sets.next_power_of_two()
                ),
            ));
        }
        Ok(Self {
            size_bytes: size,
            ways,
            latency_cycles: s.integer(latency_key)?,
        })
    }
}

impl Predictor {
    fn read(s: &Settings) -> Result<Self, MachineError> {
        let predictor = Self {
            counter_entries: power_of_two(s, "predictor.counter_entries")?,
            history_bits: s.integer("predictor.history_bits")?,
            target_entries: power_of_two(s, "predictor.target_entries")?,
            target_history_bits: s.integer("predictor.target_history_bits")?,
            return_stack_entries: power_of_two(s, "predictor.return_stack_entries")?,
        };
        for (bits_key, bits, entries_key, entries) in [
            (
                "predictor.history_bits",
                predictor.history_bits,
                "predictor.counter_entries",
                predictor.counter_entries,
            ),
            (
                "predictor.target_history_bits",
                predictor.target_history_bits,
                "predictor.target_entries",
                predictor.target_entries,
            ),
        ] {
            let index_bits = u64::from(entries.trailing_zeros());
            if bits > index_bits {
                return Err(s.error(
                    bits_key,
                    format!("`{bits_key}` is {bits}, more than the index of `{entries_key}` ({entries}) has bits"),
                    format!("at most {index_bits}"),
                ));
            }
        }
        Ok(predictor)
    }
}

fn power_of_two(s: &Settings, key: &'static str) -> Result<u64, MachineError> {
    let value = s.integer(key)?;
    if value.is_power_of_two() {
        return Ok(value);
    }
    Err(s.error(
        key,
        format!("`{key}` is {value}, not a power of two"),
        format!("the next one is {}", value.next_power_of_two()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        Machine::parse(text, "my.toml").unwrap_err().to_string()
    }
    fn extended(lines: &str) -> String {
        message(&format!("name = \"mine\"\nextends = \"simple\"\n{lines}\n"))
    }

    #[test]
    fn a_file_can_extend_a_built_in_machine() {
        let text = "name = \"mine\"\nextends = \"simple\"\n[l2]\nsize_bytes = 2_097_152\n";
        let machine = Machine::parse(text, "my.toml").unwrap();
        let simple = catalog::machine("simple").unwrap();
        let (Core::InOrder(mine), Core::InOrder(base)) = (&machine.core, &simple.core) else {
            panic!("both are in order");
        };
        assert_eq!(machine.name, "mine");
        assert_eq!(mine.l2.size_bytes, 2 << 20);
        assert_eq!(mine.l1d, base.l1d);
        assert_ne!(machine.hash(), simple.hash());
    }

    #[test]
    fn the_guest_profile_is_chosen_by_file_and_by_override() {
        let simple = catalog::machine("simple").unwrap();
        assert_eq!(simple.guest.profile, Profile::X86_64V2);
        let v3 = simple
            .with_overrides(&[("guest.profile", "x86-64-v3")])
            .unwrap();
        assert_eq!(v3.guest.profile, Profile::X86_64V3);
        assert_ne!(v3.hash(), simple.hash());
        let text = "name = \"mine\"\nextends = \"simple\"\n[guest]\nprofile = \"x86-64-v3\"\n";
        let file = Machine::parse(text, "my.toml").unwrap();
        assert_eq!(file.guest.profile, Profile::X86_64V3);
    }

    #[test]
    fn a_slip_is_answered_with_line_and_remedy() {
        assert_eq!(
            extended("[l1d]\nsize = 1024"),
            "my.toml:4: unknown key `l1d.size`; did you mean `l1d.size_bytes`?"
        );
        assert_eq!(
            extended("[l1x]\nways = 8"),
            "my.toml:3: unknown section `[l1x]`; \
             the sections are core, caches, l1i, l1d, l2, l3, tlb, crossbar, memory_crossbar, dram, memory, predictor, guest"
        );
        assert_eq!(
            extended("[l1d]\nways = \"eight\""),
            "my.toml:4: `l1d.ways` is \"eight\"; it takes an integer from 1 to 64"
        );
        assert_eq!(
            extended("[l1d]\nways = -1"),
            "my.toml:4: `l1d.ways` is negative or too large; it takes an integer from 1 to 64"
        );
        assert_eq!(
            extended("[l1d]\nways = 0"),
            "my.toml:4: `l1d.ways` is 0; it takes an integer from 1 to 64"
        );
        assert_eq!(
            extended("[l1d]\nways = 1.5"),
            "my.toml:4: `l1d.ways` is a float; it takes an integer from 1 to 64"
        );
        assert_eq!(
            extended("[core]\nkind = \"superscalar\""),
            "my.toml:4: `core.kind` is \"superscalar\"; \
             it takes \"atomic\" or \"in-order\" or \"blocking\" or \"out-of-order\""
        );
        assert_eq!(
            message("extends = \"simpel\""),
            "my.toml:1: `extends` names no built-in machine; the built-in machines are \
             atomic, simple, gem5-timing, gem5-o3, gem5-o3-notso, skylake, skylake-stride, test-tiny, test-tiny-in-order"
        );
        assert!(message("name = \n").starts_with("my.toml:1: not TOML: "));
        assert_eq!(
            message("extends = \"simple\""),
            "my.toml: `name` is missing; add it, or start from a built-in machine with `extends = \"simple\"`"
        );
    }

    #[test]
    fn impossible_caches_and_predictors_are_refused() {
        assert_eq!(
            extended("[l1d]\nsize_bytes = 1000"),
            "my.toml:4: `l1d.size_bytes` is 1000, not a multiple of 8 ways of 64 bytes; the next multiple is 1024"
        );
        assert_eq!(
            extended("[l1d]\nsize_bytes = 1536"),
            "my.toml:4: `l1d.size_bytes` gives 3 sets of 8 ways, not a power of two; 2048 bytes give 4 sets"
        );
        assert_eq!(
            extended("[caches]\nline_bytes = 48"),
            "my.toml:4: `caches.line_bytes` is 48, not a power of two; the next one is 64"
        );
        assert_eq!(
            extended("[l2]\nlatency_cycles = 2"),
            "my.toml:4: `l2.latency_cycles` is 2, less than `l1i.latency_cycles` (4); \
             latencies count from the load to its use, so a farther level takes at least as long"
        );
        assert_eq!(
            extended("[predictor]\nhistory_bits = 20"),
            "my.toml:4: `predictor.history_bits` is 20, more than the index of `predictor.counter_entries` (16384) \
             has bits; at most 14"
        );
    }

    #[test]
    fn a_key_that_the_core_does_not_read_is_refused_where_written_and_dropped_where_inherited() {
        assert_eq!(
            extended("[core]\nkind = \"atomic\"\n[l2]\nways = 8"),
            "my.toml:6: `l2.ways` means nothing on a core of kind \"atomic\"; remove it, or change `core.kind`"
        );
        let text = "name = \"mine\"\nextends = \"simple\"\n[core]\nkind = \"atomic\"\n";
        assert_eq!(
            Machine::parse(text, "my.toml").unwrap().kind(),
            Kind::Atomic
        );
    }

    #[test]
    fn overrides_change_the_value_the_name_and_the_hash() {
        let simple = catalog::machine("simple").unwrap();
        let changed = simple
            .with_overrides(&[("memory.latency_cycles", "3_00")])
            .unwrap();
        assert_eq!(changed.name, "simple[memory.latency_cycles=3_00]");
        assert_eq!(changed.get("memory.latency_cycles").unwrap(), "300");
        assert_ne!(changed.hash(), simple.hash());
        assert_eq!(simple.with_overrides(&[]).unwrap(), simple);
        let refused = |key, value| {
            simple
                .with_overrides(&[(key, value)])
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            refused("l2.way", "4"),
            "--set l2.way=4: unknown key `l2.way`; did you mean `l2.ways`?"
        );
        assert_eq!(
            refused("l2.ways", "many"),
            "--set l2.ways=many: `l2.ways` is \"many\"; it takes an integer from 1 to 64"
        );
        assert_eq!(
            refused("l2.ways", "3"),
            "simple: `l2.size_bytes` is 1048576, not a multiple of 3 ways of 64 bytes; the next multiple is 1048704"
        );
    }
}
