//! The machine `atomic`: counts of instructions and micro-ops, no time.
use super::tally::{BlockTally, Tally, Totals};
use super::{Retired, Timing};
use crate::sim::machine::AtomicCore;
use iced_x86::Instruction;
use std::collections::BTreeMap;

/// The counters of a core that keeps no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    frequency_hz: u64,
    totals: Totals,
}

impl Atomic {
    /// All counters at zero.
    pub fn new(core: &AtomicCore) -> Self {
        Self {
            frequency_hz: core.frequency_hz,
            totals: Totals::default(),
        }
    }
}

/// What a block adds: prefix sums, so that part of it is one subtraction.
#[derive(Debug)]
pub struct Block {
    prefix: Box<[Tally]>,
    each: Tally,
}

impl Timing for Atomic {
    const NEEDS_ADDRESSES: bool = false;
    type Block = Block;

    fn prepare(&self, instructions: &[Instruction]) -> Block {
        let tally = BlockTally::of(instructions);
        Block {
            prefix: tally.prefix.into(),
            each: tally.each,
        }
    }

    #[inline]
    fn retire(&mut self, block: &Block, retired: Retired<'_>) {
        let end = retired.first + retired.count;
        self.totals
            .add_between(&block.prefix[retired.first], &block.prefix[end]);
        if retired.repeats != 0 {
            self.totals.add_repeats(&block.each, retired.repeats);
        }
    }

    fn cycles(&self) -> Option<u64> {
        None
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::{Core, catalog};
    use crate::sim::uarch::test_block::{decode, retired};

    fn atomic() -> Atomic {
        let Core::Atomic(core) = catalog::machine("atomic").unwrap().core else {
            panic!("atomic is atomic");
        };
        Atomic::new(&core)
    }

    #[test]
    fn a_block_counts_the_micro_ops_of_its_table() {
        let mut core = atomic();
        // add [rdi],rax: 3; mov rcx,[rdi]: 1; call: 2.
        let block = core.prepare(&decode(
            0x1000,
            &[0x48, 0x01, 0x07, 0x48, 0x8b, 0x0f, 0xe8, 0, 0, 0, 0],
        ));
        core.retire(&block, retired(0, 3, &[], 0, 0x100b));
        assert_eq!(core.micro_ops(), 6);
        let mut parts = BTreeMap::new();
        core.report(&mut parts);
        let expected = [("branch.executed", 1), ("loads", 2), ("stores", 2)];
        assert_eq!(parts, expected.map(|(k, v)| (k.to_owned(), v)).into());
        assert_eq!(core.cycles(), None);
    }

    #[test]
    fn a_repeat_counts_its_iterations_wherever_it_is_interrupted() {
        // mov rcx,[rdi]; rep movsb of 10 bytes: 1 + 1 + 10 x 2.
        let mut whole = atomic();
        let block = whole.prepare(&decode(0x1000, &[0x48, 0x8b, 0x0f, 0xf3, 0xa4]));
        whole.retire(&block, retired(0, 2, &[], 10, 0x1005));
        assert_eq!(whole.micro_ops(), 22);
        let mut parts = atomic();
        parts.retire(&block, retired(0, 1, &[], 4, 0x1003));
        parts.retire(&block, retired(1, 0, &[], 5, 0x1003));
        parts.retire(&block, retired(1, 1, &[], 1, 0x1005));
        assert_eq!(parts, whole);
    }
}
