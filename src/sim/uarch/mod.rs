//! What a retired instruction costs in time. No values here: `isa` hands over what retired, this room keeps the clock.
pub mod ahead;
pub mod atomic;
pub mod blocking;
pub mod cache;
pub mod crack;
pub mod crack_gem5;
pub mod dram;
mod folding;
pub mod hierarchy;
pub mod micro;
pub mod micro_block;
pub mod ooo;
mod packed;
pub mod predict;
pub mod predict_gem5;
mod queues;
pub mod simple;
mod stores;
pub mod stride;
mod tally;
#[cfg(test)]
mod test_block;
pub mod tlb;
mod units;
pub mod uop;

use crate::sim::memory::Access;
use iced_x86::Instruction;
use std::collections::BTreeMap;

/// What retired: a run of consecutive instructions of one decoded block.
#[derive(Clone, Copy, Debug)]
pub struct Retired<'a> {
    /// Index of the first instruction of the block that is meant.
    pub first: usize,
    /// How many instructions retired, from `first` on. May be 0 when a `rep` did only part of its iterations.
    pub count: usize,
    /// The memory accesses of these instructions, in program order. An instruction whose number of accesses is not
    /// fixed by its encoding is always the last of its block.
    pub accesses: &'a [Access],
    /// Iterations done by a `rep` at the end of this run.
    pub repeats: u64,
    /// Address of the next instruction to be executed.
    pub next: u64,
}

/// A timing model: one core, its caches and its memory. Plain cloneable data: a clone is a snapshot.
pub trait Timing: Clone + Send {
    /// Whether the model needs memory addresses; if not, nothing records them.
    const NEEDS_ADDRESSES: bool;
    /// What the model computes once a block and keeps beside its handlers. Not state: a pure function of the
    /// instructions and the machine.
    type Block: std::fmt::Debug + Send;

    /// Prepares a decoded block.
    fn prepare(&self, instructions: &[Instruction]) -> Self::Block;
    /// Accounts for retired instructions, in program order. Splitting a run in two must not change the sum.
    fn retire(&mut self, block: &Self::Block, retired: Retired<'_>);
    /// Cycles so far; `None` on machines that only count.
    fn cycles(&self) -> Option<u64>;
    /// Core clock, for turning cycles into time.
    fn frequency_hz(&self) -> u64;
    /// Micro-operations so far.
    fn micro_ops(&self) -> u64;
    /// Adds the counters of the machine's parts, by dotted name.
    fn report(&self, parts: &mut BTreeMap<String, u64>);
    /// The pipeline drains (system call, context switch).
    fn drain(&mut self) {}
}
