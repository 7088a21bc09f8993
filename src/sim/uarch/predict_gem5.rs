//! The branch predictors of the out-of-order core: for directions one of five, of which tournament and LTAGE are gem5's;
//! with target buffer, return stack and indirect targets.
//!
//! - Bimodal and gshare (McFarling, WRL TN-36, 1993): two-bit counters under the address, or under the address
//!   exclusive-or the latest directions, which meet the upper bits of the index.
//! - Tournament: two-bit counters under a branch's own history and under the global one; a third set chooses.
//! - LTAGE (Seznec, JILP 2007): a bimodal table, tagged tables under histories of growing length, a loop predictor; TAGE is the same without it.
//! - Peculiar to gem5, and kept: addresses are shifted right by two, so that branches of x86 alias; a branch predicted
//!   taken without a known target counts as not taken; branches inside microcode use all of this under the address of
//!   their instruction.
//!
//! What gem5 does by drawing numbers is done by counting here.
use super::crack_gem5::BranchKind;
use super::folding::{Folding, LOG_SIZES, Lanes, PATH_BITS, TABLES, lane};
use crate::sim::machine::{BranchUnit, Directions};
use std::hint::select_unpredictable;
use std::sync::Arc;

pub(super) const SHIFT: u32 = 2;

/// No return address.
const NEVER: u64 = u64::MAX;

/// What was predicted for a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The direction that fetch follows.
    pub taken: bool,
    /// Where fetch goes: the target if taken, else the next instruction.
    pub target: u64,
}

/// The whole predictor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predictor {
    sizes: BranchUnit,
    directions: DirectionState,
    targets: Box<[(u64, u64)]>,
    /// By entry of the target buffer: the last byte of the address behind its branch.
    ends: Box<[u8]>,
    returns: Box<[u64]>,
    top: usize,
    indirect: Box<[(u64, u64)]>,
    path: [u64; 16],
    history: u64,
    draws: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum DirectionState {
    Counters(Counters),
    Tournament(Tournament),
    Ltage(Box<Ltage>),
}

impl Predictor {
    /// A predictor that has seen nothing.
    pub fn new(sizes: &BranchUnit, directions: Directions) -> Self {
        Self {
            sizes: *sizes,
            directions: match directions {
                Directions::Bimodal => DirectionState::Counters(Counters::new(sizes, 0)),
                Directions::Gshare => {
                    DirectionState::Counters(Counters::new(sizes, sizes.history_bits))
                }
                Directions::Tournament => DirectionState::Tournament(Tournament::new(sizes)),
                Directions::Tage => DirectionState::Ltage(Box::new(Ltage::new(sizes, false))),
                Directions::Ltage => DirectionState::Ltage(Box::new(Ltage::new(sizes, true))),
            },
            targets: vec![(u64::MAX, 0); sizes.target_buffer_entries as usize].into(),
            ends: vec![0; sizes.target_buffer_entries as usize].into(),
            returns: vec![NEVER; sizes.return_stack_entries as usize].into(),
            top: 0,
            indirect: vec![(u64::MAX, 0); (sizes.indirect_sets * sizes.indirect_ways) as usize]
                .into(),
            path: [0; 16],
            history: 0,
            draws: 0,
        }
    }

    /// Predicts a branch and learns what it did. `target` is where it goes if taken, `behind` the address behind it.
    #[inline]
    pub fn branch(
        &mut self,
        kind: BranchKind,
        address: u64,
        taken: bool,
        target: u64,
        behind: u64,
    ) -> Prediction {
        let conditional = kind == BranchKind::Conditional;
        let wanted = !conditional || self.direction(address);
        let (slot, tag) = self.place(address);
        let known = self.targets[slot].0 == tag;
        let mut predicted = (wanted && known).then_some(self.targets[slot].1);
        match kind {
            BranchKind::Call | BranchKind::IndirectCall => self.push(behind),
            BranchKind::Return => predicted = self.pop(),
            _ => {}
        }
        let indirect = matches!(kind, BranchKind::Indirect | BranchKind::IndirectCall);
        let set = if indirect {
            let set = self.indirect_set(address);
            if let Some(way) = self.indirect_way(set, address) {
                predicted = Some(self.indirect[way].1);
            }
            set
        } else {
            0
        };
        let prediction = Prediction {
            taken: predicted.is_some(),
            target: predicted.unwrap_or(behind),
        };
        // A branch that goes to the next instruction anyway is never found out, and what was believed of it is learnt.
        let right = prediction.target == if taken { target } else { behind };
        let taken = if right { prediction.taken } else { taken };
        if !right && taken {
            if indirect {
                self.record_indirect(set, address, target);
            } else if kind != BranchKind::Return {
                self.targets[slot] = (tag, target);
                self.ends[slot] = behind as u8;
            }
        }
        self.learn(conditional, address, taken, prediction.taken);
        self.history =
            (self.history << 1 | u64::from(taken)) & ((1 << self.sizes.indirect_history_bits) - 1);
        if indirect {
            self.path.rotate_right(1);
            self.path[0] = target;
        }
        prediction
    }

    /// Where an address stands in the target buffer, and its tag there.
    #[inline(always)]
    fn place(&self, address: u64) -> (usize, u64) {
        let entries = self.targets.len() as u64;
        let tag_shift = SHIFT + entries.trailing_zeros();
        let tag = address >> tag_shift & ((1 << self.sizes.target_buffer_tag_bits) - 1);
        ((address >> SHIFT & (entries - 1)) as usize, tag)
    }

    /// The branch that the target buffer knows near an address, which may be any of its four bytes: how far behind the
    /// address it ends, and where it goes.
    pub(super) fn known(&self, address: u64) -> Option<(u64, u64)> {
        let (slot, tag) = self.place(address);
        let (known, target) = self.targets[slot];
        let end = self.ends[slot].wrapping_sub(address as u8);
        (known == tag).then_some((u64::from(end), target))
    }

    #[inline]
    fn direction(&mut self, address: u64) -> bool {
        match &mut self.directions {
            DirectionState::Counters(c) => c.predict(address),
            DirectionState::Tournament(t) => t.predict(address),
            DirectionState::Ltage(l) => l.predict(address),
        }
    }

    #[inline]
    fn learn(&mut self, conditional: bool, address: u64, taken: bool, predicted: bool) {
        match &mut self.directions {
            DirectionState::Counters(c) => c.learn(conditional, address, taken),
            DirectionState::Tournament(t) => t.learn(conditional, address, taken),
            DirectionState::Ltage(l) => l.learn(conditional, address, taken, predicted),
        }
    }

    fn push(&mut self, address: u64) {
        self.top = (self.top + 1) % self.returns.len();
        self.returns[self.top] = address;
    }

    /// What lies on top, also where as many were taken as were ever put there; `None` where nothing ever was.
    fn pop(&mut self) -> Option<u64> {
        let address = self.returns[self.top];
        self.top = (self.top + self.returns.len() - 1) % self.returns.len();
        (address != NEVER).then_some(address)
    }

    fn indirect_set(&self, address: u64) -> usize {
        let bits = self.sizes.indirect_sets.trailing_zeros();
        let step = bits / self.sizes.indirect_path as u32;
        let mut hash = address >> SHIFT ^ self.history;
        for (i, target) in self.path[..self.sizes.indirect_path.min(16) as usize]
            .iter()
            .enumerate()
        {
            hash ^= target >> (SHIFT + i as u32 * step);
        }
        (hash & (self.sizes.indirect_sets - 1)) as usize * self.sizes.indirect_ways as usize
    }

    fn indirect_tag(&self, address: u64) -> u64 {
        address >> SHIFT & ((1 << self.sizes.indirect_tag_bits) - 1)
    }

    fn indirect_way(&self, set: usize, address: u64) -> Option<usize> {
        let tag = self.indirect_tag(address);
        let ways = self.sizes.indirect_ways as usize;
        (set..set + ways).find(|&way| self.indirect[way].0 == tag)
    }

    fn record_indirect(&mut self, set: usize, address: u64, target: u64) {
        let way = self.indirect_way(set, address).unwrap_or_else(|| {
            self.draws = self.draws.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            set + (self.draws >> 16) as usize % self.sizes.indirect_ways as usize
        });
        self.indirect[way] = (self.indirect_tag(address), target);
    }
}

/// Adds to or takes from a two-bit counter.
#[inline(always)]
fn count(counter: &mut u8, up: bool) {
    *counter = if up {
        (*counter + 1).min(3)
    } else {
        counter.saturating_sub(1)
    };
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Counters {
    counters: Box<[u8]>,
    history: u64,
    history_mask: u64,
    history_shift: u32,
}

impl Counters {
    fn new(sizes: &BranchUnit, history_bits: u64) -> Self {
        let index_bits = sizes.counter_entries.trailing_zeros();
        Self {
            counters: vec![0; sizes.counter_entries as usize].into(),
            history: 0,
            history_mask: (1 << history_bits) - 1,
            history_shift: index_bits - history_bits as u32,
        }
    }

    #[inline(always)]
    fn index(&self, address: u64) -> usize {
        let index = address >> SHIFT ^ self.history << self.history_shift;
        index as usize & (self.counters.len() - 1)
    }

    fn predict(&self, address: u64) -> bool {
        self.counters[self.index(address)] > 1
    }

    fn learn(&mut self, conditional: bool, address: u64, taken: bool) {
        if conditional {
            let index = self.index(address);
            count(&mut self.counters[index], taken);
            self.history = (self.history << 1 | u64::from(taken)) & self.history_mask;
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Tournament {
    local: Box<[u8]>,
    histories: Box<[u32]>,
    global: Box<[u8]>,
    choice: Box<[u8]>,
    history: u64,
}

impl Tournament {
    fn new(sizes: &BranchUnit) -> Self {
        Self {
            local: vec![0; sizes.local_entries as usize].into(),
            histories: vec![0; sizes.local_histories as usize].into(),
            global: vec![0; sizes.global_entries as usize].into(),
            choice: vec![0; sizes.choice_entries as usize].into(),
            history: 0,
        }
    }

    #[inline(always)]
    fn indices(&self, address: u64) -> (usize, usize, usize, usize) {
        let own = (address >> SHIFT) as usize & (self.histories.len() - 1);
        (
            own,
            self.histories[own] as usize & (self.local.len() - 1),
            self.history as usize & (self.global.len() - 1),
            self.history as usize & (self.choice.len() - 1),
        )
    }

    #[inline(always)]
    fn predict(&self, address: u64) -> bool {
        let (_, local, global, choice) = self.indices(address);
        if self.choice[choice] > 1 {
            self.global[global] > 1
        } else {
            self.local[local] > 1
        }
    }

    #[inline(always)]
    fn learn(&mut self, conditional: bool, address: u64, taken: bool) {
        let (own, local, global, choice) = self.indices(address);
        if conditional {
            let local_taken = self.local[local] > 1;
            let global_taken = self.global[global] > 1;
            if local_taken != global_taken {
                count(&mut self.choice[choice], global_taken == taken);
            }
            count(&mut self.local[local], taken);
            self.histories[own] = self.histories[own] << 1 | u32::from(taken);
        }
        count(&mut self.global[global], taken);
        self.history = self.history << 1 | u64::from(taken);
    }
}

/// The shortest history of the tagged tables.
const SHORTEST: u64 = 4;
/// All tagged tables in one: where each begins. The large ones come first, so that each begins at a multiple of its size.
const OFFSETS: [u32; TABLES + 1] = {
    let mut offsets = [0; TABLES + 1];
    let mut next = 0;
    let mut log = 11;
    while log >= 9 {
        let mut t = 1;
        while t <= TABLES {
            if LOG_SIZES[t] == log {
                offsets[t] = next;
                next += 1 << log;
            }
            t += 1;
        }
        log -= 1;
    }
    assert!(next as usize <= ENTRIES);
    offsets
};
const LOOPS: usize = 256;
/// A power of two that holds them.
const ENTRIES: usize = 1 << 14;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tagged {
    counter: i8,
    useful: u8,
    tag: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LoopEntry {
    iterations: u16,
    current: u16,
    confidence: u8,
    tag: u16,
    age: u8,
}

/// The latest prediction, which the update refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Latest {
    /// By tagged table: the entry that was looked at, and the tag that it should have had.
    indices: Lanes,
    tags: Lanes,
    /// The entry of the bimodal table.
    base: u16,
    /// The matching tables of the longest histories; 0 is the bimodal one.
    hit: u8,
    alternative: u8,
    alternative_taken: bool,
    longest_taken: bool,
    tagged_taken: bool,
    new: bool,
    loop_way: i8,
    loop_valid: bool,
    loop_taken: bool,
    predicted: bool,
}

/// The lanes of a word that are zero, as bits.
#[inline(always)]
fn zero_lanes(word: u64) -> u32 {
    const LOW: u64 = 0x7fff_7fff_7fff_7fff;
    // The upper bit of a lane stays zero if all of its bits are.
    let zero = !(((word & LOW) + LOW) | word | LOW) >> 15;
    // Lane `i` reaches bit 48 + i by the term that shifts it by 48 - 15 * i; what the others make of it lies elsewhere.
    const GATHER: u64 = 1 << 48 | 1 << 33 | 1 << 18 | 1 << 3;
    (zero.wrapping_mul(GATHER) >> 48 & 15) as u32
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ltage {
    /// With the loop predictor.
    with_loops: bool,
    /// Shared by all copies of the core: it is constant, and large.
    folding: Arc<Folding>,
    bimodal: Box<[bool]>,
    hysteresis: Box<[bool]>,
    tables: Box<[Tagged; ENTRIES]>,
    loops: Box<[LoopEntry; LOOPS]>,
    loop_use: i8,
    use_alternative: i8,
    updates: u64,
    history: u64,
    path: u32,
    draws: u32,
    latest: Latest,
}

impl Ltage {
    fn new(sizes: &BranchUnit, with_loops: bool) -> Self {
        Self {
            with_loops,
            folding: Arc::new(Folding::new(
                &lengths(SHORTEST, sizes.history_max),
                &OFFSETS,
            )),
            bimodal: vec![false; 1 << LOG_SIZES[0]].into(),
            hysteresis: vec![true; 1 << (LOG_SIZES[0] - 2)].into(),
            tables: vec![Tagged::default(); ENTRIES]
                .into_boxed_slice()
                .try_into()
                .expect("a vector of as many elements as the array has"),
            loops: Box::new([LoopEntry::default(); LOOPS]),
            loop_use: -1,
            use_alternative: 0,
            updates: 1 << 17,
            history: 0,
            path: 0,
            draws: 1,
            latest: Latest::default(),
        }
    }

    fn draw(&mut self) -> u32 {
        self.draws = self.draws.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        self.draws >> 16
    }

    /// The entry of a table that the latest prediction looked at.
    #[inline(always)]
    fn entry(&mut self, table: usize) -> &mut Tagged {
        &mut self.tables[usize::from(lane(&self.latest.indices, table)) & (ENTRIES - 1)]
    }

    #[inline]
    fn predict(&mut self, address: u64) -> bool {
        const LANE: u64 = (1 << 16) - 1;
        const BOUND: u64 = (ENTRIES as u64 - 1) * 0x0001_0001_0001_0001;
        let pc = (address >> SHIFT) as u32;
        let (indices, tags) = self.folding.hash(pc, self.history, self.path);
        // Bit 0 stands for the bimodal table, which always matches.
        let mut matches = 1;
        for (word, (at, tags)) in indices.into_iter().zip(tags).enumerate() {
            let at = at & BOUND;
            let tag = |lane: u32| u64::from(self.tables[(at >> (16 * lane) & LANE) as usize].tag);
            let found = tag(0) | tag(1) << 16 | tag(2) << 32 | tag(3) << 48;
            matches |= zero_lanes(found ^ tags) << (1 + 4 * word);
        }
        let hit = matches.ilog2() as usize;
        let others = matches & !(1 << hit);
        let alternative = (others | 1).ilog2() as usize;
        let base = (pc & ((1 << LOG_SIZES[0]) - 1)) as u16;
        let bimodal = i8::from(self.bimodal[usize::from(base)]) - 1;
        let counter = |table: usize| {
            let at = usize::from(lane(&indices, table.max(1)));
            let tagged = self.tables[at & (ENTRIES - 1)].counter;
            select_unpredictable(table == 0, bimodal, tagged)
        };
        let longest = counter(hit);
        let alternative_taken = counter(alternative) >= 0;
        let longest_taken = longest >= 0;
        let new = hit > 0 && (longest == 0 || longest == -1);
        let tagged_taken = if new && self.use_alternative >= 0 {
            alternative_taken
        } else {
            longest_taken
        };
        let (loop_way, found) = self.find_loop(pc);
        let loop_valid = loop_way >= 0 && found.confidence == 3;
        let loop_taken = found.current + 1 != found.iterations;
        // The loop predictor overrules where it is sure and has been of use.
        let predicted = if self.loop_use >= 0 && loop_valid {
            loop_taken
        } else {
            tagged_taken
        };
        self.latest = Latest {
            indices,
            tags,
            base,
            hit: hit as u8,
            alternative: alternative as u8,
            alternative_taken,
            longest_taken,
            tagged_taken,
            new,
            loop_way,
            loop_valid,
            loop_taken,
            predicted,
        };
        predicted
    }

    /// In which way the loop predictor knows a branch, and what; -1 if it does not.
    #[inline(always)]
    fn find_loop(&self, pc: u32) -> (i8, LoopEntry) {
        let set = (pc as usize & 63) << 2;
        let tag = (pc >> 6) as u16 & 0x3fff;
        let mut found = -1;
        for way in (0..4).rev() {
            let matches = self.loops[(set + way) & (LOOPS - 1)].tag == tag;
            found = select_unpredictable(matches, way as i8, found);
        }
        let entry = self.loops[(set + (found & 3) as usize) & (LOOPS - 1)];
        (found, entry)
    }

    fn learn(&mut self, conditional: bool, address: u64, taken: bool, _predicted: bool) {
        if conditional {
            let draw = self.draw();
            if self.with_loops {
                self.learn_loop(address, taken);
            }
            self.learn_tables(taken, draw & 3);
        }
        self.history = self.history << 1 | u64::from(taken);
        self.path = (self.path << 1 | (address >> SHIFT & 1) as u32) & ((1 << PATH_BITS) - 1);
    }

    fn learn_loop(&mut self, address: u64, taken: bool) {
        let l = &self.latest;
        if l.loop_valid && l.predicted != l.loop_taken {
            let up = l.loop_taken == taken;
            self.loop_use = if up {
                self.loop_use.saturating_add(1).min(63)
            } else {
                (self.loop_use - 1).max(-64)
            };
        }
        let pc = (address >> SHIFT) as usize;
        let set = (pc & 63) << 2;
        if l.loop_way >= 0 {
            let entry = &mut self.loops[set + l.loop_way as usize];
            if l.loop_valid {
                if taken != l.loop_taken {
                    *entry = LoopEntry {
                        tag: entry.tag,
                        ..LoopEntry::default()
                    };
                    return;
                }
                if l.loop_taken != l.tagged_taken {
                    entry.age = entry.age.saturating_add(1);
                }
            }
            entry.current = (entry.current + 1) & 0x3fff;
            if entry.current > entry.iterations {
                entry.confidence = 0;
                if entry.iterations != 0 {
                    entry.iterations = 0;
                    entry.age = 0;
                }
            }
            if !taken {
                if entry.current == entry.iterations {
                    entry.confidence = (entry.confidence + 1).min(3);
                    if entry.iterations < 3 {
                        entry.iterations = 0;
                        entry.age = 0;
                        entry.confidence = 0;
                    }
                } else if entry.iterations == 0 {
                    entry.confidence = 0;
                    entry.iterations = entry.current;
                } else {
                    entry.iterations = 0;
                    entry.age = 0;
                    entry.confidence = 0;
                }
                entry.current = 0;
            }
        } else if taken {
            let start = self.draw() as usize;
            for i in 0..4 {
                let entry = &mut self.loops[set + ((start + i) & 3)];
                if entry.age == 0 {
                    *entry = LoopEntry {
                        iterations: 0,
                        current: 1,
                        confidence: 0,
                        tag: (pc >> 6) as u16 & 0x3fff,
                        age: 255,
                    };
                    break;
                }
                entry.age -= 1;
            }
        }
    }

    fn learn_tables(&mut self, taken: bool, draw: u32) {
        let l = &self.latest;
        let (hit, alternative) = (usize::from(l.hit), usize::from(l.alternative));
        let (tagged_taken, alternative_taken) = (l.tagged_taken, l.alternative_taken);
        let mut allocate = tagged_taken != taken && hit < TABLES;
        if hit > 0 && l.new {
            if l.longest_taken == taken {
                allocate = false;
            }
            if l.longest_taken != alternative_taken {
                let up = alternative_taken == taken;
                self.use_alternative = if up {
                    (self.use_alternative + 1).min(7)
                } else {
                    (self.use_alternative - 1).max(-8)
                };
            }
        }
        if allocate {
            self.allocate(taken, draw);
        }
        self.updates += 1;
        if self.updates & ((1 << 19) - 1) == 0 {
            for entry in self.tables.iter_mut() {
                entry.useful >>= 1;
            }
        }
        if hit == 0 {
            self.learn_base(taken);
            return;
        }
        let entry = self.entry(hit);
        entry.counter = step(entry.counter, taken);
        let useless = entry.useful == 0;
        if useless {
            if alternative > 0 {
                let other = self.entry(alternative);
                other.counter = step(other.counter, taken);
            } else {
                self.learn_base(taken);
            }
        }
        if tagged_taken != alternative_taken {
            let entry = self.entry(hit);
            entry.useful = if tagged_taken == taken {
                (entry.useful + 1).min(3)
            } else {
                entry.useful.saturating_sub(1)
            };
        }
    }

    fn allocate(&mut self, taken: bool, draw: u32) {
        let hit = usize::from(self.latest.hit);
        let free = (hit + 1..=TABLES).any(|t| self.entry(t).useful == 0);
        let draw = draw & ((1u32 << (TABLES - hit - 1)) - 1);
        let mut first = hit + 1;
        if draw & 1 == 1 {
            first += 1;
            if draw & 2 == 2 {
                first += 1;
            }
        }
        if !free {
            self.entry(first).useful = 0;
        }
        for t in first..=TABLES {
            let tag = lane(&self.latest.tags, t);
            let entry = self.entry(t);
            if entry.useful == 0 {
                entry.tag = tag;
                entry.counter = if taken { 0 } else { -1 };
                break;
            }
        }
    }

    fn learn_base(&mut self, taken: bool) {
        let i = usize::from(self.latest.base);
        let mut state = u8::from(self.bimodal[i]) << 1 | u8::from(self.hysteresis[i >> 2]);
        count(&mut state, taken);
        self.bimodal[i] = state > 1;
        self.hysteresis[i >> 2] = state & 1 == 1;
    }
}

fn step(counter: i8, up: bool) -> i8 {
    if up {
        (counter + 1).min(3)
    } else {
        (counter - 1).max(-4)
    }
}

/// History lengths of the tagged tables: a geometric series from `min` to `max`, rounded.
///
/// The ratio is a root, found in whole numbers: `x` rounds `min * (max/min)^(i/11)` if `(2x-1)/2 <= ... < (2x+1)/2`,
/// which raised to the eleventh power compares integers.
fn lengths(min: u64, max: u64) -> [u32; TABLES + 1] {
    let mut lengths = [0; TABLES + 1];
    let last = TABLES as u32 - 1;
    for (i, length) in lengths.iter_mut().enumerate().skip(1) {
        let i = i as u32 - 1;
        // (x - 1/2)^last <= min^(last-i) * max^i, in logarithms of wide integers: at most 64^11 * 2^11 < 2^77.
        let bound = u128::from(min).pow(last - i) * u128::from(max).pow(i) * (1 << last);
        let mut x = min;
        while (2 * u128::from(x) + 1).pow(last) <= bound {
            x += 1;
        }
        *length = x as u32;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::{Core, catalog};

    fn predictor(machine: &str) -> Predictor {
        let Core::OutOfOrder(core) = catalog::machine(machine).unwrap().core else {
            panic!("{machine} is out of order");
        };
        Predictor::new(&core.predictor, core.directions)
    }

    /// Wrong predictions of the direction among the last `count` of these outcomes, repeated.
    fn wrong(p: &mut Predictor, outcomes: &[bool], rounds: usize, count: usize) -> usize {
        let mut results = Vec::new();
        for _ in 0..rounds {
            for &taken in outcomes {
                let prediction = p.branch(BranchKind::Conditional, 0x4000, taken, 0x5000, 0x4002);
                results.push(prediction.taken != taken);
            }
        }
        results[results.len() - count..]
            .iter()
            .filter(|&&w| w)
            .count()
    }

    #[test]
    fn lanes_are_zero_only_if_all_of_their_bits_are() {
        let lanes = [0, 1, 0x7fff, 0x8000, 0xffff];
        for code in 0..5usize.pow(4) {
            let own = [code, code / 5, code / 25, code / 125].map(|c| lanes[c % 5]);
            let word = (0..4).fold(0u64, |word, i| word | own[i] << (16 * i));
            let zero = (0..4).fold(0, |bits, i| bits | u32::from(own[i] == 0) << i);
            assert_eq!(zero_lanes(word), zero, "{own:x?}");
        }
    }

    #[test]
    fn lengths_grow_from_four_to_thirty_four() {
        assert_eq!(
            lengths(4, 34)[1..],
            [4, 5, 6, 7, 9, 11, 13, 16, 19, 23, 28, 34]
        );
    }

    #[test]
    fn both_learn_a_pattern_within_their_history() {
        let pattern = [true, true, false, true, false, false, true];
        assert_eq!(wrong(&mut predictor("gem5-o3"), &pattern, 200, 70), 0);
        assert_eq!(wrong(&mut predictor("skylake"), &pattern, 200, 70), 0);
    }

    #[test]
    fn only_the_loop_predictor_sees_the_end_of_a_long_loop() {
        let mut long = [true; 60];
        long[59] = false;
        assert_eq!(wrong(&mut predictor("skylake"), &long, 60, 600), 0);
        assert_eq!(wrong(&mut predictor("gem5-o3"), &long, 60, 600), 10);
    }

    #[test]
    fn a_taken_branch_without_a_target_falls_through() {
        let mut p = predictor("gem5-o3");
        let first = p.branch(BranchKind::Jump, 0x4000, true, 0x5000, 0x4002);
        assert!(!first.taken, "the target buffer is empty");
        let second = p.branch(BranchKind::Jump, 0x4000, true, 0x5000, 0x4002);
        assert_eq!(
            second,
            Prediction {
                taken: true,
                target: 0x5000
            }
        );
    }

    #[test]
    fn returns_come_from_the_stack() {
        let mut p = predictor("gem5-o3");
        p.branch(BranchKind::Call, 0x4000, true, 0x5000, 0x4005);
        let back = p.branch(BranchKind::Return, 0x5000, true, 0x4005, 0x5001);
        assert_eq!(back.target, 0x4005);
    }

    /// The predictor of test-tiny with directions of this kind: six bits of history where it keeps some.
    fn tiny(kind: &str) -> Predictor {
        of_kind("test-tiny", kind)
    }

    fn of_kind(machine: &str, kind: &str) -> Predictor {
        let machine = catalog::machine(machine).unwrap();
        let overrides: &[(&str, &str)] = match kind {
            "gshare" => &[
                ("predictor.kind", "gshare"),
                ("predictor.counter_entries", "64"),
                ("predictor.history_bits", "6"),
            ],
            kind => &[("predictor.kind", kind)],
        };
        let Core::OutOfOrder(core) = machine.with_overrides(overrides).unwrap().core else {
            panic!("{} is out of order", machine.name);
        };
        Predictor::new(&core.predictor, core.directions)
    }

    #[test]
    fn an_alternation_tells_gshare_from_bimodal() {
        let pair = [true, false];
        // From 0: taken is wrong (1), not taken is right (0), for ever.
        assert_eq!(wrong(&mut tiny("bimodal"), &pair, 100, 100), 50);
        assert_eq!(wrong(&mut tiny("gshare"), &pair, 100, 100), 0);
    }

    #[test]
    fn a_pattern_between_noise_tells_tournament_from_gshare() {
        // A branch that alternates, and between each two of its outcomes seven of a branch without a pattern: the latest
        // directions of all branches are noise, its own are not. The tables are gem5's, so that the noise, which has its
        // own histories too, seldom comes upon the counters of the pattern.
        let wrong = |p: &mut Predictor| {
            let (mut noise, mut wrong) = (1u32, 0);
            for i in 0..2000 {
                let taken = i % 2 == 0;
                let known = p.branch(BranchKind::Conditional, 0x4000, taken, 0x5000, 0x4002);
                wrong += u32::from(i >= 1000 && known.taken != taken);
                for _ in 0..7 {
                    noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let taken = noise >> 31 == 1;
                    p.branch(BranchKind::Conditional, 0x4104, taken, 0x5000, 0x4106);
                }
            }
            wrong
        };
        assert!(wrong(&mut of_kind("gem5-o3", "gshare")) > 300);
        assert!(wrong(&mut of_kind("gem5-o3", "tournament")) < 100);
    }

    #[test]
    fn a_dozen_directions_tell_tage_from_tournament() {
        let mut dozen = [true; 12];
        dozen[11] = false;
        assert_eq!(wrong(&mut tiny("tournament"), &dozen, 100, 120), 10);
        assert_eq!(wrong(&mut tiny("tage"), &dozen, 100, 120), 0);
    }

    #[test]
    fn a_long_loop_tells_ltage_from_tage() {
        let mut long = [true; 60];
        long[59] = false;
        assert_eq!(wrong(&mut tiny("tage"), &long, 60, 600), 10);
        assert_eq!(wrong(&mut tiny("ltage"), &long, 60, 600), 0);
    }
}
