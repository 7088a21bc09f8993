//! Counts that follow from the micro-op table alone, whatever the timing model: the same on every machine.
use super::crack::crack;
use super::uop::{Uop, UopKind};
use iced_x86::{Instruction, InstructionInfoFactory};
use std::collections::BTreeMap;

/// Micro-ops of one instruction or of a run of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) micro_ops: u32,
    pub(super) loads: u32,
    pub(super) stores: u32,
    pub(super) branches: u32,
}

impl Tally {
    fn of(micro_ops: &[Uop]) -> Self {
        let count = |kind| micro_ops.iter().filter(|u| u.kind == kind).count() as u32;
        Self {
            micro_ops: micro_ops.len() as u32,
            loads: count(UopKind::Load),
            stores: count(UopKind::Store),
            branches: count(UopKind::Branch),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            micro_ops: self.micro_ops + other.micro_ops,
            loads: self.loads + other.loads,
            stores: self.stores + other.stores,
            branches: self.branches + other.branches,
        }
    }
}

/// The counts of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) micro_ops: u64,
    pub(super) loads: u64,
    pub(super) stores: u64,
    pub(super) branches: u64,
}

impl Totals {
    /// Adds the instructions between two prefix sums.
    #[inline(always)]
    pub(super) fn add_between(&mut self, from: &Tally, to: &Tally) {
        self.micro_ops += u64::from(to.micro_ops - from.micro_ops);
        self.loads += u64::from(to.loads - from.loads);
        self.stores += u64::from(to.stores - from.stores);
        self.branches += u64::from(to.branches - from.branches);
    }

    /// Adds the iterations of a `rep`.
    #[inline]
    pub(super) fn add_repeats(&mut self, each: &Tally, repeats: u64) {
        self.micro_ops += u64::from(each.micro_ops) * repeats;
        self.loads += u64::from(each.loads) * repeats;
        self.stores += u64::from(each.stores) * repeats;
    }

    /// The counters by name.
    pub(super) fn report(&self, parts: &mut BTreeMap<String, u64>) {
        parts.insert("loads".to_owned(), self.loads);
        parts.insert("stores".to_owned(), self.stores);
        parts.insert("branch.executed".to_owned(), self.branches);
    }
}

/// The prefix sums of a block (entry `i` is the sum of the instructions before the `i`-th), the tally of an iteration of
/// the `rep` at its end, and all its micro-ops.
pub(super) struct BlockTally {
    pub(super) prefix: Vec<Tally>,
    pub(super) each: Tally,
    pub(super) micro_ops: Vec<Uop>,
}

impl BlockTally {
    pub(super) fn of(instructions: &[Instruction]) -> Self {
        let mut factory = InstructionInfoFactory::new();
        let (mut micro_ops, mut each) = (Vec::new(), Vec::new());
        let mut prefix = Vec::with_capacity(instructions.len() + 1);
        let mut sum = Tally::default();
        prefix.push(sum);
        for (i, instruction) in instructions.iter().enumerate() {
            let start = micro_ops.len();
            // A block ends at the end of its page at the latest: 4096 instructions fit.
            crack(
                &mut factory,
                instruction,
                i as u16,
                &mut micro_ops,
                &mut each,
            );
            sum = sum.plus(Tally::of(&micro_ops[start..]));
            prefix.push(sum);
        }
        Self {
            prefix,
            each: Tally::of(&each),
            micro_ops,
        }
    }
}
