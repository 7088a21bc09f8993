//! The branch predictor: gshare for directions, a target cache for indirect branches, a return stack.
//!
//! - Directions: two-bit saturating counters, indexed by the branch address exclusive-or the outcomes of the latest
//!   conditional branches (McFarling, "Combining Branch Predictors", WRL TN-36, 1993). Without history it is bimodal.
//! - Indirect targets: the last target seen under the branch address exclusive-or the path of the latest indirect
//!   targets (Chang, Hao and Patt, "Target Prediction for Indirect Jumps", ISCA 1997). Without history it is a plain
//!   branch target buffer.
//! - Returns: a circular stack of return addresses (Kaeli and Emma, ISCA 1991), which forgets the oldest when full.
//! - Targets of direct branches are known when the instruction is decoded; no buffer is modelled for them.
use crate::sim::machine;

/// Counters at or above this predict taken; they start one below.
const TAKEN: u8 = 2;
const STRONGLY_TAKEN: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    branch: u64,
    target: u64,
}

/// The predictor's whole state. Each method predicts, learns what happened, and tells whether the prediction was right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predictor {
    counters: Box<[u8]>,
    /// Outcomes of the latest conditional branches, the latest in bit 0.
    history: u64,
    history_mask: u64,
    /// Places the history at the top of the index, where addresses of branches differ least.
    history_shift: u32,
    targets: Box<[Target]>,
    path: u64,
    path_mask: u64,
    returns: Box<[u64]>,
    top: usize,
    depth: usize,
}

impl Predictor {
    /// A predictor that has seen nothing.
    pub fn new(sizes: &machine::Predictor) -> Self {
        let index_bits = sizes.counter_entries.trailing_zeros();
        let nothing = Target {
            branch: u64::MAX,
            target: 0,
        };
        Self {
            counters: vec![TAKEN - 1; sizes.counter_entries as usize].into(),
            history: 0,
            history_mask: (1 << sizes.history_bits) - 1,
            history_shift: index_bits - sizes.history_bits as u32,
            targets: vec![nothing; sizes.target_entries as usize].into(),
            path: 0,
            path_mask: (1 << sizes.target_history_bits) - 1,
            returns: vec![0; sizes.return_stack_entries as usize].into(),
            top: 0,
            depth: 0,
        }
    }

    /// A conditional branch.
    #[inline]
    pub fn conditional(&mut self, branch: u64, taken: bool) -> bool {
        let index = branch ^ self.history << self.history_shift;
        let index = index as usize & (self.counters.len() - 1);
        let counter = &mut self.counters[index];
        let predicted = *counter >= TAKEN;
        *counter = if taken {
            (*counter + 1).min(STRONGLY_TAKEN)
        } else {
            counter.saturating_sub(1)
        };
        self.history = (self.history << 1 | u64::from(taken)) & self.history_mask;
        predicted == taken
    }

    /// An indirect jump or call.
    #[inline]
    pub fn indirect(&mut self, branch: u64, target: u64) -> bool {
        let index = (branch ^ self.path) as usize & (self.targets.len() - 1);
        let seen = Target { branch, target };
        let right = self.targets[index] == seen;
        self.targets[index] = seen;
        // Each target shifts the path by a third of what the machine with the most history keeps of it.
        self.path = (self.path << 3 ^ target >> 4) & self.path_mask;
        right
    }

    /// A call: remembers where it returns to.
    #[inline]
    pub fn call(&mut self, return_address: u64) {
        let mask = self.returns.len() - 1;
        self.top = (self.top + 1) & mask;
        self.returns[self.top] = return_address;
        self.depth = (self.depth + 1).min(self.returns.len());
    }

    /// A return.
    #[inline]
    pub fn ret(&mut self, target: u64) -> bool {
        if self.depth == 0 {
            return false;
        }
        let predicted = self.returns[self.top];
        self.top = self.top.wrapping_sub(1) & (self.returns.len() - 1);
        self.depth -= 1;
        predicted == target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictor(history_bits: u64, target_history_bits: u64) -> Predictor {
        Predictor::new(&machine::Predictor {
            counter_entries: 16,
            history_bits,
            target_entries: 8,
            target_history_bits,
            return_stack_entries: 2,
        })
    }

    /// Mispredictions of a loop branch that is taken `n - 1` times and then not.
    fn mispredictions_of_a_loop(p: &mut Predictor, n: u32) -> u32 {
        (1..=n)
            .map(|i| u32::from(!p.conditional(0x40, i < n)))
            .sum()
    }

    #[test]
    fn without_history_a_loop_costs_one_warm_up_and_then_its_end() {
        let mut p = predictor(0, 0);
        // The counter starts at 1: wrong (2), right from then on (3), wrong at the end (2).
        assert_eq!(mispredictions_of_a_loop(&mut p, 10), 2);
        // Now it starts at 2: only the end is wrong.
        assert_eq!(mispredictions_of_a_loop(&mut p, 10), 1);
    }

    #[test]
    fn with_two_bits_of_history_each_history_warms_up_once() {
        let mut p = predictor(2, 0);
        // Histories 00, 01 and 11 have a counter each, all at 1: three wrong, then right, then wrong at the end.
        assert_eq!(mispredictions_of_a_loop(&mut p, 10), 4);
        // History is now 10 (its counter at 1, taken: wrong), then 01 (at 2: right), then 11 (at 2 after the end: right).
        assert_eq!(mispredictions_of_a_loop(&mut p, 10), 2);
    }

    #[test]
    fn history_learns_an_alternation_that_bimodal_cannot() {
        let wrong = |p: &mut Predictor| -> u32 {
            (0..100)
                .map(|i| u32::from(!p.conditional(0x40, i % 2 == 0)))
                .sum()
        };
        // From 1: taken is wrong (2), not taken is wrong (1), for ever.
        assert_eq!(wrong(&mut predictor(0, 0)), 100);
        // Histories 00 and 10 learn "taken" with one mistake each; 01 predicts "not taken" from the start.
        assert_eq!(wrong(&mut predictor(2, 0)), 2);
    }

    #[test]
    fn an_indirect_branch_repeats_its_last_target_or_follows_its_path() {
        let mut plain = predictor(0, 0);
        let sequence = [0x100, 0x100, 0x210, 0x210, 0x100];
        let right = sequence.map(|target| plain.indirect(0x40, target));
        assert_eq!(right, [false, true, false, true, false]);
        // Alternating targets defeat the plain buffer, not the one that knows the path.
        let wrong = |p: &mut Predictor| -> u32 {
            (0..100)
                .map(|i| u32::from(!p.indirect(0x40, 0x100 + 0x10 * (i % 2))))
                .sum()
        };
        assert_eq!(wrong(&mut predictor(0, 0)), 100);
        assert!(wrong(&mut predictor(0, 3)) <= 6);
    }

    #[test]
    fn the_return_stack_forgets_the_oldest_call() {
        let mut p = predictor(0, 0);
        assert!(!p.ret(0x10), "nothing to return to");
        p.call(0x10);
        p.call(0x20);
        assert!(p.ret(0x20) && p.ret(0x10));
        p.call(0x10);
        p.call(0x20);
        p.call(0x30);
        assert!(p.ret(0x30) && p.ret(0x20));
        assert!(!p.ret(0x10), "the third call pushed it out");
        p.call(0x40);
        assert!(!p.ret(0x44), "a return to another place");
    }
}
