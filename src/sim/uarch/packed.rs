//! The micro-op as the out-of-order core wants it: everything that does not depend on the run is worked out once a block.
use super::crack_gem5::{BranchKind, Repeats};
use super::micro::{Class, FLAGS, Micro, NONE, Reg, flags, traits};
use super::micro_block::{self, Step};
use super::units::Units;
use iced_x86::Instruction;
use std::ops::Range;

/// The later of the two groups of flags that arithmetic writes.
pub(super) const ARITHMETIC_FLAGS: Reg = FLAGS + 6;
/// The latest of the other groups.
pub(super) const OTHER_FLAGS: Reg = FLAGS + 7;
/// Where micro-ops that write no flags, or no register, write to: nothing reads it.
const NOWHERE: Reg = 100;
const _: () = assert!(OTHER_FLAGS < NOWHERE && FLAGS + 5 == NONE);
/// Sources that every micro-op looks at, and the most that one can have: five registers and four groups of flags (all
/// five count as two).
pub(super) const FEW_SOURCES: usize = 4;
const SOURCES: usize = 9;

/// Sources of a simple micro-op, at most.
pub(super) const SIMPLE_SOURCES: usize = 2;

/// Among the traits: something is rare.
pub(super) const RARE: u16 = traits::LAST;

/// What is rare, as bits of [`Packed::rare`].
pub(super) mod rare {
    /// Has more sources than [`super::FEW_SOURCES`].
    pub(crate) const SOURCES: u8 = 1;
    /// Writes more than one register, or other flags than those of arithmetic, or flags where their registers are few.
    pub(crate) const WRITES: u8 = 2;
    /// Holds its unit for its whole latency.
    pub(crate) const HOLDS: u8 = 4;
    /// Has more sources than [`super::SIMPLE_SOURCES`].
    pub(crate) const THIRD_SOURCE: u8 = 8;
}

/// A micro-op, small: the host reads them all.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Packed {
    pub(super) class: Class,
    /// Cycles from issue to the result.
    pub(super) latency: u8,
    /// Without [`traits::LAST`], instead of which stands [`RARE`]: nothing for what only computes and is not rare, as
    /// most are.
    pub(super) traits: u16,
    /// Registers and groups of flags read, then [`NONE`].
    pub(super) sources: [Reg; SOURCES],
    /// Registers written: the first of them, if any, is written always.
    pub(super) destinations: [Reg; 3],
    /// Where the times of the two groups of arithmetic go, and six behind it the later of them: [`FLAGS`], or registers
    /// that nothing reads.
    pub(super) flags_to: Reg,
    pub(super) flags_written: u8,
    /// 0 takes no register, 1 an integer one, 2 a floating one.
    pub(super) file: u8,
    pub(super) rare: u8,
    /// Bytes from the start of its access.
    pub(super) offset: u8,
    /// Bytes that it accesses, at least one.
    pub(super) size: u8,
    /// Which access of its instruction it makes.
    pub(super) access: u8,
    /// Its instruction among those of the block.
    pub(super) step: u8,
    /// Which access of its block it makes, where that is known.
    pub(super) place: u16,
}

const _: () = assert!(size_of::<Packed>() == 32);

/// The stock that a register is taken from: 0 none, 1 the integer one, 2 the floating one.
pub(super) fn file(register: Reg) -> usize {
    match register {
        0..32 => 1,
        32..FLAGS => 2,
        _ => 0,
    }
}

impl Packed {
    fn new(micro: &Micro, units: &Units, few_flags: bool) -> Self {
        const ARITHMETIC: u8 = flags::ZAPS | flags::CFOF;
        let [first, second, _] = micro.destinations;
        let needs = units.needs(micro.class);
        let mut rare = 0;
        if second != NONE || few_flags && micro.flags_written != 0 {
            rare |= rare::WRITES;
        }
        if needs.holds {
            rare |= rare::HOLDS;
        }
        let flags_to = match micro.flags_written {
            ARITHMETIC => FLAGS,
            0 => NOWHERE,
            _ => {
                rare |= rare::WRITES;
                NOWHERE
            }
        };
        let flags_read = (0..5).filter(|i| micro.flags_read >> i & 1 == 1);
        let flags_read: Vec<Reg> = match micro.flags_read {
            flags::ALL => vec![ARITHMETIC_FLAGS, OTHER_FLAGS],
            _ => flags_read.map(|i| FLAGS + i).collect(),
        };
        let registers = micro.sources.iter().copied().filter(|&r| r != NONE);
        let mut sources = [NONE; SOURCES];
        for (slot, source) in sources.iter_mut().zip(registers.chain(flags_read)) {
            *slot = source;
        }
        if sources[FEW_SOURCES] != NONE {
            rare |= rare::SOURCES;
        }
        if sources[SIMPLE_SOURCES] != NONE {
            rare |= rare::THIRD_SOURCE;
        }
        let mut traits = micro.traits & !traits::LAST;
        if rare != 0 {
            traits |= RARE;
        }
        Self {
            class: micro.class,
            latency: needs.latency,
            traits,
            sources,
            destinations: [
                if first == NONE { NOWHERE } else { first },
                micro.destinations[1],
                micro.destinations[2],
            ],
            flags_to,
            flags_written: micro.flags_written,
            file: file(first) as u8,
            rare,
            offset: micro.offset,
            size: micro.size.max(1),
            access: micro.access,
            step: 0,
            place: 0,
        }
    }

    /// Whether it has any of these bits.
    #[inline(always)]
    pub(super) fn is(&self, traits: u16) -> bool {
        self.traits & traits != 0
    }
}

/// What micro-ops need of the core, all together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    /// How many they are.
    pub(super) micros: u32,
    /// Registers of each stock.
    pub(super) stocks: [u16; 3],
}

impl Demand {
    fn add(&mut self, micro: &Packed) {
        self.micros += 1;
        self.stocks[usize::from(micro.file)] += 1;
        for register in micro.destinations[1..].iter().filter(|&&r| r != NONE) {
            self.stocks[file(*register)] += 1;
        }
    }
}

/// Instructions in a row that are fetched from one line.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Micro-ops and instructions among those of the block.
    pub(super) micros: Range<u32>,
    pub(super) steps: Range<u32>,
    /// How many of its micro-ops are of the first instruction.
    pub(super) head: u64,
    /// The first instruction, and what is behind it: it alone may lie in two lines.
    pub(super) address: u64,
    pub(super) end: u64,
    pub(super) demand: Demand,
    /// A single instruction, whose micro-ops do not simply pass one after the other.
    pub(super) special: bool,
}

/// A block as the out-of-order core sees it.
#[derive(Debug)]
pub struct Block {
    pub(super) micros: Box<[Packed]>,
    /// The instructions, in program order.
    pub(super) steps: Box<[Step]>,
    /// All of them by lines; empty if the block only goes instruction by instruction.
    pub(super) runs: Box<[Run]>,
    /// Accesses of the whole block.
    pub(super) accesses: usize,
    /// What all of its micro-ops need; more than there can be, if some of them repeat.
    pub(super) demand: Demand,
}

impl Block {
    /// Cracks a block for a core that fetches so many bytes at once, and may lack registers for flags.
    pub(super) fn new(
        instructions: &[Instruction],
        units: &Units,
        fetch_bytes: u64,
        few_flags: bool,
    ) -> Self {
        let (micros, steps) = micro_block::Block::new(instructions).into_parts();
        let mut micros: Box<[Packed]> = micros
            .iter()
            .map(|m| Packed::new(m, units, few_flags))
            .collect();
        for (i, step) in steps.iter().enumerate() {
            for micro in &mut micros[step.range()] {
                micro.step = i as u8;
                match step.accesses() {
                    Some(0) => micro.traits |= no_access(micro),
                    count => {
                        let own = usize::from(micro.access).min(count.unwrap_or(1) - 1);
                        micro.place = (step.first_access() + own) as u16;
                    }
                }
            }
        }
        let accesses = steps.iter().filter_map(Step::accesses).sum();
        let runs = runs(&micros, &steps, fetch_bytes).unwrap_or_default();
        let mut demand = Demand::default();
        micros.iter().for_each(|micro| demand.add(micro));
        if runs.iter().any(|run| run.special) {
            demand.micros = u32::MAX;
        }
        Self {
            demand,
            runs,
            micros,
            steps,
            accesses,
        }
    }

    /// The micro-ops of an instruction.
    #[inline(always)]
    pub(super) fn micros(&self, step: &Step) -> &[Packed] {
        &self.micros[step.range()]
    }
}

/// What a load or store of an instruction without accesses is: one that occupies its queue only.
fn no_access(micro: &Packed) -> u16 {
    if micro.is(traits::LOAD | traits::STORE) {
        traits::NO_ACCESS
    } else {
        0
    }
}

/// Cuts a block where fetch needs another line; `None` if an instruction has accesses or iterations that only a run
/// tells, or is of a block too long to number.
fn runs(micros: &[Packed], steps: &[Step], fetch_bytes: u64) -> Option<Box<[Run]>> {
    if steps.len() > usize::from(u8::MAX) + 1 {
        return None;
    }
    let line = |address: u64| address & !(fetch_bytes - 1);
    let mut runs: Vec<Run> = Vec::new();
    // The line that stands in the buffer behind the latest instruction, if the next one may go on there.
    let mut buffer = None;
    for (i, step) in steps.iter().enumerate() {
        let i = i as u32;
        step.accesses()?;
        let special = match step.repeats {
            Repeats::Iterations { .. } => return None,
            Repeats::Steps { .. } => true,
            _ => false,
        };
        let own = &micros[step.range()];
        let split = line(step.address) != line(step.end - 1);
        // What a branch or a system call does to fetch acts on what comes behind it.
        let ends = step.branch != BranchKind::None
            || own.iter().any(|m| m.is(traits::BRANCH | traits::SYSCALL));
        let range = step.range();
        let range = range.start as u32..range.end as u32;
        match runs.last_mut() {
            Some(run) if !special && !split && buffer == Some(line(step.address)) => {
                run.micros.end = range.end;
                run.steps.end = i + 1;
            }
            _ => runs.push(Run {
                micros: range,
                steps: i..i + 1,
                head: own.len() as u64,
                address: step.address,
                end: step.end,
                demand: Demand::default(),
                special,
            }),
        }
        buffer = (!special && !ends).then_some(line(step.end - 1));
        if let Some(run) = runs.last_mut() {
            own.iter().for_each(|micro| run.demand.add(micro));
        }
    }
    Some(runs.into())
}
