//! The core of kind `blocking`, gem5's TimingSimpleCPU: every fetch and every access is waited for, all else is free.
//!
//! An instruction is fetched eight bytes at a time, from the eight-byte word that holds its first byte to the one that
//! holds its last. Each of its loads and stores then goes through the caches, one after the other; one that crosses a
//! line goes as two at once, whose answers take a cycle more.
use super::crack_gem5::Repeats;
use super::hierarchy::{Hierarchy, Side};
use super::micro::{Micro, traits};
use super::micro_block::{Block, Counts, Step, accesses_of, passes};
use super::{Retired, Timing};
use crate::sim::machine::BlockingCore;
use crate::sim::memory::Access;
use iced_x86::Instruction;
use std::collections::BTreeMap;

const LINE: u64 = 64;
const WORD: u64 = 8;
const NOWHERE: u64 = u64::MAX;

/// The core with its caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocking {
    now: u64,
    frequency_hz: u64,
    memory: Hierarchy,
    counts: Counts,
    /// Address of a `rep` that has begun and not ended.
    repeating: u64,
}

impl Blocking {
    /// A core that has run nothing.
    pub fn new(core: &BlockingCore) -> Self {
        Self {
            now: 0,
            frequency_hz: core.frequency_hz,
            memory: Hierarchy::new(&core.memory, core.frequency_hz),
            counts: Counts::default(),
            repeating: NOWHERE,
        }
    }

    fn fetch(&mut self, step: &Step) {
        for word in step.address / WORD..=(step.end - 1) / WORD {
            self.now = self
                .memory
                .access(Side::Instruction, word * WORD, self.now, false, 0);
        }
    }

    fn micro(&mut self, micro: &Micro, accesses: &[Access]) {
        self.counts.add(micro);
        if !micro.is(traits::LOAD | traits::STORE) || micro.is(traits::NO_ACCESS) {
            return;
        }
        let Some(access) = accesses.get(usize::from(micro.access)).or(accesses.last()) else {
            return;
        };
        let address = access.addr.wrapping_add(micro.offset.into());
        let write = micro.is(traits::STORE);
        let done = self.memory.access(Side::Data, address, self.now, write, 0);
        let last = address.wrapping_add(u64::from(micro.size.max(1)) - 1);
        self.now = if address / LINE == last / LINE {
            done
        } else {
            let second = self.memory.access(Side::Data, last, self.now, write, 0);
            done.max(second) + u64::from(done == second)
        };
    }

    fn all(&mut self, micros: &[Micro], accesses: &[Access]) {
        for micro in micros {
            self.micro(micro, accesses);
        }
    }

    fn step(&mut self, block: &Block, step: &Step, accesses: &[Access]) {
        self.fetch(step);
        let micros = block.micros(step);
        match step.repeats {
            Repeats::Steps { body, tail, steps } => {
                let (body, tail) = (usize::from(body), usize::from(tail));
                self.all(&micros[..body], accesses);
                for _ in 0..passes(accesses, steps) {
                    self.all(&micros[body..tail], accesses);
                }
                self.all(&micros[tail..], accesses);
            }
            _ => self.all(micros, accesses),
        }
    }

    fn repeat(
        &mut self,
        block: &Block,
        step: &Step,
        accesses: &[Access],
        repeats: u64,
        ends: bool,
    ) {
        let Repeats::Iterations { body, tail, skip } = step.repeats else {
            return;
        };
        let micros = block.micros(step);
        let (body, tail) = (usize::from(body), usize::from(tail));
        if self.repeating != step.address {
            self.fetch(step);
            let head = if repeats == 0 && ends {
                usize::from(skip)
            } else {
                body
            };
            self.all(&micros[..head], accesses);
        }
        self.repeating = step.address;
        let each = accesses_of(micros, body..tail).max(1);
        let mut groups = accesses.chunks(each);
        for _ in 0..repeats {
            self.all(&micros[body..tail], groups.next().unwrap_or(&[]));
        }
        if ends {
            self.all(&micros[tail..], accesses);
            self.repeating = NOWHERE;
        }
    }
}

impl Timing for Blocking {
    const NEEDS_ADDRESSES: bool = true;
    type Block = Block;

    fn prepare(&self, instructions: &[Instruction]) -> Block {
        Block::new(instructions)
    }

    fn retire(&mut self, block: &Block, retired: Retired<'_>) {
        let mut accesses = retired.accesses;
        let end = retired.first + retired.count;
        for step in &block.steps[retired.first..end] {
            if matches!(step.repeats, Repeats::Iterations { .. }) {
                self.repeat(block, step, accesses, retired.repeats, true);
                return;
            }
            let own = step.take(&mut accesses);
            self.step(block, step, own);
        }
        if retired.repeats > 0
            && let Some(step) = block.steps.get(end)
        {
            self.repeat(block, step, accesses, retired.repeats, false);
        }
    }

    fn cycles(&self) -> Option<u64> {
        Some(self.now)
    }

    fn frequency_hz(&self) -> u64 {
        self.frequency_hz
    }

    fn micro_ops(&self) -> u64 {
        self.counts.micro_ops
    }

    fn report(&self, parts: &mut BTreeMap<String, u64>) {
        self.counts.report(parts);
        self.memory.report(parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::{Core, catalog};
    use crate::sim::uarch::test_block::{decode, retired};

    #[test]
    fn an_instruction_costs_its_words_and_its_accesses() {
        let Core::Blocking(core) = catalog::machine("gem5-timing").unwrap().core else {
            panic!("gem5-timing waits for each access");
        };
        let mut timing = Blocking::new(&core);
        // add rax,rcx (3 bytes in one word); mov rax,[rdi] (bytes 3 to 5); add rax,rcx (bytes 6 to 8: two words).
        let code = [0x48, 0x01, 0xc8, 0x48, 0x8b, 0x07, 0x48, 0x01, 0xc8];
        let block = timing.prepare(&decode(0x1000, &code));
        let access = [Access {
            addr: 0x8000,
            size: 8,
            store: false,
        }];
        timing.retire(&block, retired(0, 3, &access, 0, 0x1009));
        let warm = timing.cycles().unwrap();
        timing.retire(&block, retired(0, 3, &access, 0, 0x1009));
        // Four words and one load, two cycles each.
        assert_eq!(timing.cycles().unwrap() - warm, 10);
        let mut split = timing.clone();
        timing.retire(&block, retired(0, 3, &access, 0, 0x1009));
        split.retire(&block, retired(0, 1, &[], 0, 0x1003));
        split.retire(&block, retired(1, 2, &access, 0, 0x1009));
        assert_eq!(split, timing);
    }
}
