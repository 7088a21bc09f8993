//! The machine `simple`: an in-order core that completes one micro-op a cycle, and waits for everything else in full.
//!
//! Time is a sum, so that a run of instructions costs the same however it is cut:
//!
//! - every micro-op takes one cycle; divides, square roots and transcendentals hold the core for theirs;
//! - entering a line of code that is not the current one accesses L1I; a miss waits for L2 or memory;
//! - a load touches every line that it covers in L1D; each miss waits for L2 or memory, beyond the hidden time of a hit;
//! - a store does the same (write-allocate) and never waits: the store buffer is unlimited;
//! - a wrongly predicted branch costs a fixed time.
//!
//! Events reach the caches in the order of the instructions, the fetch of an instruction before its data. Lines written
//! are not tracked: writing back takes no time here.
use super::cache::Cache;
use super::crack::is_branch;
use super::predict::Predictor;
use super::tally::{BlockTally, Tally, Totals};
use super::uop::{Uop, UopKind};
use super::{Retired, Timing};
use crate::sim::isa::accesses::{fixed_access_count_with, is_repeated};
use crate::sim::machine::InOrderCore;
use crate::sim::memory::Access;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory};
use std::collections::BTreeMap;

/// No line and no instruction: addresses of user code never have all bits set.
const NOWHERE: u64 = u64::MAX;

/// What the core takes beyond a micro-op a cycle. Cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Costs {
    integer_divide: u32,
    integer_divide_64: u32,
    float_divide: u32,
    float_sqrt: u32,
    transcendental: u32,
    misprediction: u64,
    /// A miss in L1I or L1D that L2, or memory, answers: what it takes beyond a hit.
    fetch_from_l2: u64,
    fetch_from_memory: u64,
    load_from_l2: u64,
    load_from_memory: u64,
}

/// The core with its caches and its predictor. A clone is a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    cycles: u64,
    totals: Totals,
    mispredictions: u64,
    l1i_accesses: u64,
    l1i_misses: u64,
    l1d_accesses: u64,
    l1d_misses: u64,
    l2_accesses: u64,
    l2_misses: u64,
    /// The line that instructions are being taken from.
    fetch_line: u64,
    /// Address of a `rep` that has done part of its iterations: going on with it does not fetch it again.
    repeating: u64,
    line_shift: u32,
    l1i: Cache,
    l1d: Cache,
    l2: Cache,
    predictor: Predictor,
    frequency_hz: u64,
    costs: Costs,
}

/// What precedes an instruction in its block.
#[derive(Clone, Copy, Debug)]
struct Before {
    tally: Tally,
    cycles: u32,
    accesses: u32,
    /// Bytes from the start of the block to this instruction.
    bytes: u32,
}

/// A line of code that the block enters after its first one.
#[derive(Clone, Copy, Debug)]
struct Entered {
    /// By this instruction.
    instruction: u32,
    /// After this many accesses of the block.
    accesses: u32,
    line: u64,
}

/// How a block ends. Those up to [`Ending::Jump`] leave nothing to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Straight,
    Repeat,
    Jump,
    Conditional,
    Indirect,
    Call,
    IndirectCall,
    Return,
}

/// A decoded block as this machine sees it.
#[derive(Debug)]
pub struct Block {
    address: u64,
    before: Box<[Before]>,
    lines: Box<[Entered]>,
    each: Tally,
    ending: Ending,
    /// The encoding of the last instruction fixes its number of accesses too.
    fixed: bool,
    /// Of the last instruction.
    last: u64,
    /// Address behind the block.
    end: u64,
}

impl Simple {
    /// A core that has run nothing: empty caches, a predictor that knows nothing.
    pub fn new(core: &InOrderCore) -> Self {
        let cycles = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            cycles: 0,
            totals: Totals::default(),
            mispredictions: 0,
            l1i_accesses: 0,
            l1i_misses: 0,
            l1d_accesses: 0,
            l1d_misses: 0,
            l2_accesses: 0,
            l2_misses: 0,
            fetch_line: NOWHERE,
            repeating: NOWHERE,
            line_shift: core.line_bytes.trailing_zeros(),
            l1i: Cache::new(&core.l1i, core.line_bytes),
            l1d: Cache::new(&core.l1d, core.line_bytes),
            l2: Cache::new(&core.l2, core.line_bytes),
            predictor: Predictor::new(&core.predictor),
            frequency_hz: core.frequency_hz,
            costs: Costs {
                integer_divide: cycles(core.integer_divide_cycles),
                integer_divide_64: cycles(core.integer_divide_64_cycles),
                float_divide: cycles(core.float_divide_cycles),
                float_sqrt: cycles(core.float_sqrt_cycles),
                transcendental: cycles(core.transcendental_cycles),
                misprediction: core.misprediction_cycles,
                fetch_from_l2: core.l2.latency_cycles - core.l1i.latency_cycles,
                fetch_from_memory: core.memory_latency_cycles - core.l1i.latency_cycles,
                load_from_l2: core.l2.latency_cycles - core.l1d.latency_cycles,
                load_from_memory: core.memory_latency_cycles - core.l1d.latency_cycles,
            },
        }
    }

    /// How long a micro-op holds the core.
    fn occupancy(&self, micro_op: &Uop) -> u32 {
        match micro_op.kind {
            UopKind::IntDivide if micro_op.width > 4 => self.costs.integer_divide_64,
            UopKind::IntDivide => self.costs.integer_divide,
            UopKind::FloatDivide => self.costs.float_divide,
            UopKind::FloatSqrt => self.costs.float_sqrt,
            UopKind::Transcendental => self.costs.transcendental,
            _ => 1,
        }
    }

    /// Takes instructions from `line` from now on.
    #[inline(always)]
    fn fetch(&mut self, line: u64) {
        if line != self.fetch_line {
            self.fetch_line = line;
            self.l1i_accesses += 1;
            if !self.l1i.is_latest(line) {
                self.fetch_search(line);
            }
        }
    }

    #[inline(never)]
    fn fetch_search(&mut self, line: u64) {
        if !self.l1i.touch(line) {
            self.l1i_misses += 1;
            self.cycles += if self.touch_l2(line) {
                self.costs.fetch_from_l2
            } else {
                self.costs.fetch_from_memory
            };
        }
    }

    /// Data accesses, in order.
    #[inline(always)]
    fn data(&mut self, accesses: &[Access]) {
        let shift = self.line_shift;
        let offset_mask = (1 << shift) - 1;
        self.l1d_accesses += accesses.len() as u64;
        for access in accesses {
            if access.size == 0 {
                self.l1d_accesses -= 1;
                continue;
            }
            let line = access.addr >> shift;
            if !self.l1d.is_latest(line) {
                self.data_search(line, access.store);
            }
            // Lines beyond the first: of 64 bytes or more at most one, in small test machines some.
            let beyond = ((access.addr & offset_mask) + u64::from(access.size.max(1)) - 1) >> shift;
            if beyond != 0 {
                self.data_beyond(line, beyond, access.store);
            }
        }
    }

    #[inline(never)]
    fn data_beyond(&mut self, first: u64, count: u64, store: bool) {
        self.l1d_accesses += count;
        for i in 1..=count {
            self.data_search(first.wrapping_add(i), store);
        }
    }

    #[inline(never)]
    fn data_search(&mut self, line: u64, store: bool) {
        if !self.l1d.touch(line) {
            self.l1d_misses += 1;
            let wait = if self.touch_l2(line) {
                self.costs.load_from_l2
            } else {
                self.costs.load_from_memory
            };
            if !store {
                self.cycles += wait;
            }
        }
    }

    fn touch_l2(&mut self, line: u64) -> bool {
        self.l2_accesses += 1;
        let hit = self.l2.touch(line);
        self.l2_misses += u64::from(!hit);
        hit
    }

    /// The branch at the end of a block that retired as a whole.
    #[inline(always)]
    fn branch(&mut self, block: &Block, next: u64) {
        // An if-chain, most frequent first: a `match` becomes an indirect jump, which the host mispredicts.
        let right = if block.ending == Ending::Conditional {
            self.predictor.conditional(block.last, next != block.end)
        } else if block.ending <= Ending::Jump {
            return;
        } else if block.ending == Ending::Call {
            self.predictor.call(block.end);
            return;
        } else if block.ending == Ending::Return {
            self.predictor.ret(next)
        } else {
            if block.ending == Ending::IndirectCall {
                self.predictor.call(block.end);
            }
            self.predictor.indirect(block.last, next)
        };
        if !right {
            self.mispredictions += 1;
            self.cycles += self.costs.misprediction;
        }
    }

    /// A run that enters more than one line, or goes on with a `rep`: fetches and accesses interleave.
    #[inline(never)]
    fn interleave(&mut self, block: &Block, first: usize, end: usize, mut accesses: &[Access]) {
        let mut done = block.before[first].accesses;
        for entered in &block.lines {
            let instruction = entered.instruction as usize;
            if instruction < first {
                continue;
            }
            if instruction >= end {
                break;
            }
            let until = ((entered.accesses - done) as usize).min(accesses.len());
            let (now, later) = accesses.split_at(until);
            self.data(now);
            (accesses, done) = (later, entered.accesses);
            self.fetch(entered.line);
        }
        self.data(accesses);
    }
}

impl Timing for Simple {
    const NEEDS_ADDRESSES: bool = true;
    type Block = Block;

    fn prepare(&self, instructions: &[Instruction]) -> Block {
        let tally = BlockTally::of(instructions);
        let mut factory = InstructionInfoFactory::new();
        let address = instructions.first().map_or(0, Instruction::ip);
        let mut before = Vec::with_capacity(instructions.len() + 1);
        let mut lines = Vec::new();
        let (mut cycles, mut accesses) = (0u32, 0u32);
        let mut all_fixed = true;
        let mut current = address >> self.line_shift;
        let mut micro_ops = tally.micro_ops.iter().peekable();
        for (i, instruction) in instructions.iter().enumerate() {
            before.push(Before {
                tally: tally.prefix[i],
                cycles,
                accesses,
                bytes: instruction.ip().wrapping_sub(address) as u32,
            });
            let last_byte = instruction.next_ip().wrapping_sub(1);
            for line in instruction.ip() >> self.line_shift..=last_byte >> self.line_shift {
                if line != current {
                    current = line;
                    lines.push(Entered {
                        instruction: i as u32,
                        accesses,
                        line,
                    });
                }
            }
            while let Some(micro_op) = micro_ops.next_if(|u| usize::from(u.instruction) == i) {
                cycles = cycles.saturating_add(self.occupancy(micro_op));
            }
            let fixed = fixed_access_count_with(&mut factory, instruction);
            debug_assert!(
                fixed.is_some() || i + 1 == instructions.len(),
                "an instruction with a variable number of accesses ends its block: {instruction}"
            );
            accesses += u32::from(fixed.unwrap_or(0));
            all_fixed &= fixed.is_some();
        }
        let end = instructions.last().map_or(address, Instruction::next_ip);
        before.push(Before {
            tally: tally.prefix[instructions.len()],
            cycles,
            accesses,
            bytes: end.wrapping_sub(address) as u32,
        });
        Block {
            address,
            before: before.into(),
            lines: lines.into(),
            each: tally.each,
            ending: instructions.last().map_or(Ending::Straight, ending),
            fixed: all_fixed,
            last: instructions.last().map_or(address, Instruction::ip),
            end,
        }
    }

    #[inline]
    fn retire(&mut self, block: &Block, retired: Retired<'_>) {
        let Retired {
            first,
            count,
            mut accesses,
            repeats,
            next,
        } = retired;
        if count == 0 && repeats == 0 {
            return;
        }
        let mut end = first + count;
        let whole = end + 1 == block.before.len();
        let (from, to) = (&block.before[first], &block.before[end]);
        self.totals.add_between(&from.tally, &to.tally);
        self.cycles += u64::from(to.cycles - from.cycles);
        if block.fixed || !whole && repeats == 0 {
            // An instruction that faulted behind this run may have left accesses: they did not retire.
            let expected = (to.accesses - from.accesses) as usize;
            debug_assert!(
                accesses.len() == expected || !whole && accesses.len() > expected,
                "{} accesses instead of {expected} in the block at {:#x}",
                accesses.len(),
                block.address
            );
            accesses = &accesses[..expected.min(accesses.len())];
        }
        let start = block.address.wrapping_add(u64::from(from.bytes));
        let mut goes_on = false;
        if block.ending == Ending::Repeat {
            self.totals.add_repeats(&block.each, repeats);
            self.cycles += u64::from(block.each.micro_ops) * repeats;
            goes_on = self.repeating == start && start == block.last;
            if repeats != 0 && !whole {
                // The `rep` at the end did part of its work: it has been fetched, but is not among `count`.
                end += 1;
                self.repeating = block.last;
            } else {
                self.repeating = NOWHERE;
            }
        } else {
            self.repeating = NOWHERE;
        }
        if goes_on {
            self.data(accesses);
            return;
        }
        self.fetch(start >> self.line_shift);
        if block.lines.is_empty() {
            self.data(accesses);
        } else {
            self.interleave(block, first, end, accesses);
        }
        if whole {
            self.branch(block, next);
        }
    }

    #[inline]
    fn cycles(&self) -> Option<u64> {
        Some(self.cycles)
    }

    fn frequency_hz(&self) -> u64 {
        self.frequency_hz
    }

    #[inline]
    fn micro_ops(&self) -> u64 {
        self.totals.micro_ops
    }

    fn report(&self, parts: &mut BTreeMap<String, u64>) {
        self.totals.report(parts);
        for (name, count) in [
            ("branch.mispredictions", self.mispredictions),
            ("l1i.accesses", self.l1i_accesses),
            ("l1i.misses", self.l1i_misses),
            ("l1d.accesses", self.l1d_accesses),
            ("l1d.misses", self.l1d_misses),
            ("l2.accesses", self.l2_accesses),
            ("l2.misses", self.l2_misses),
        ] {
            parts.insert(name.to_owned(), count);
        }
    }
}

fn ending(instruction: &Instruction) -> Ending {
    if is_repeated(instruction) {
        return Ending::Repeat;
    }
    if !is_branch(instruction) {
        return Ending::Straight;
    }
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => Ending::Conditional,
        FlowControl::IndirectBranch => Ending::Indirect,
        FlowControl::Call => Ending::Call,
        FlowControl::IndirectCall => Ending::IndirectCall,
        FlowControl::Return => Ending::Return,
        _ => Ending::Jump,
    }
}

#[cfg(test)]
#[path = "simple_tests.rs"]
mod tests;
