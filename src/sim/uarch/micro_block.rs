//! A decoded block as the cores with gem5's micro-ops see it.
use super::crack_gem5::{BranchKind, Repeats, branch_kind, crack};
use super::micro::{Class, Micro, traits};
use crate::sim::isa::accesses::fixed_access_count_with;
use crate::sim::memory::Access;
use iced_x86::{Instruction, InstructionInfoFactory};
use std::ops::Range;

/// An instruction with its share of the block's micro-ops.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its address.
    pub address: u64,
    /// Address behind it.
    pub end: u64,
    first: u32,
    count: u16,
    /// Accesses that it makes; `None` if it takes what is left.
    accesses: Option<u8>,
    /// The first of them among those of the block.
    first_access: u16,
    /// What kind of branch it is.
    pub branch: BranchKind,
    /// How its micro-ops repeat.
    pub repeats: Repeats,
}

/// A block.
#[derive(Debug)]
pub struct Block {
    micros: Box<[Micro]>,
    /// The instructions, in program order.
    pub steps: Box<[Step]>,
}

impl Block {
    /// Cracks the instructions of a block.
    pub fn new(instructions: &[Instruction]) -> Self {
        let mut factory = InstructionInfoFactory::new();
        let mut micros = Vec::with_capacity(2 * instructions.len());
        let mut accesses = 0;
        let steps = instructions
            .iter()
            .map(|instruction| {
                let first = micros.len();
                let repeats = crack(instruction, &mut micros);
                let own = fixed_access_count_with(&mut factory, instruction);
                let first_access = accesses;
                accesses += u16::from(own.unwrap_or(0));
                Step {
                    address: instruction.ip(),
                    end: instruction.next_ip(),
                    first: first as u32,
                    count: (micros.len() - first) as u16,
                    accesses: own,
                    first_access,
                    branch: branch_kind(instruction),
                    repeats,
                }
            })
            .collect();
        Self {
            micros: micros.into(),
            steps,
        }
    }

    /// The micro-ops of an instruction.
    #[inline(always)]
    pub fn micros(&self, step: &Step) -> &[Micro] {
        &self.micros[step.range()]
    }

    /// The micro-ops, and the instructions that they are of.
    pub fn into_parts(self) -> (Box<[Micro]>, Box<[Step]>) {
        (self.micros, self.steps)
    }
}

impl Step {
    /// Its micro-ops among those of the block.
    #[inline(always)]
    pub fn range(&self) -> Range<usize> {
        self.first as usize..self.first as usize + usize::from(self.count)
    }

    /// Accesses that it makes; `None` if only a run tells.
    pub fn accesses(&self) -> Option<usize> {
        self.accesses.map(usize::from)
    }

    /// The first of its accesses among those of the block.
    pub fn first_access(&self) -> usize {
        usize::from(self.first_access)
    }

    /// Takes this instruction's accesses off the list.
    #[inline(always)]
    pub fn take<'a>(&self, accesses: &mut &'a [Access]) -> &'a [Access] {
        let count = self
            .accesses
            .map_or(accesses.len(), |n| usize::from(n).min(accesses.len()));
        let (own, rest) = accesses.split_at(count);
        *accesses = rest;
        own
    }
}

/// How often the loop of a divide runs: the first of the quotient's steps comes before it.
pub fn passes(accesses: &[Access], steps: u8) -> u64 {
    let work = accesses
        .last()
        .filter(|a| a.size == 0)
        .map_or(1, |a| a.addr);
    work.saturating_sub(1).div_ceil(u64::from(steps)).max(1)
}

/// Accesses of one iteration of a `rep`.
pub fn accesses_of(micros: &[Micro], body: Range<usize>) -> usize {
    micros[body]
        .iter()
        .filter(|m| m.is(traits::LOAD | traits::STORE))
        .count()
}

/// Counts of micro-ops by what they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// By class.
    pub classes: [u64; Class::COUNT],
    /// All.
    pub micro_ops: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            classes: [0; Class::COUNT],
            micro_ops: 0,
        }
    }
}

impl Counts {
    /// Counts one.
    #[inline(always)]
    pub fn add(&mut self, micro: &Micro) {
        self.micro_ops += 1;
        self.classes[micro.class as usize] += 1;
    }

    /// The counters by name.
    pub fn report(&self, parts: &mut std::collections::BTreeMap<String, u64>) {
        for class in Class::ALL {
            let count = self.classes[class as usize];
            if count > 0 {
                parts.insert(format!("micro_ops.{class:?}"), count);
            }
        }
    }
}
