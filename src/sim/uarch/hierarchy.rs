//! The caches between a core and its memory: when each access is answered.
//!
//! After gem5's classic caches: tag, data and response latencies; misses held by MSHRs, of which too few block the
//! cache; crossbars with a latency and a width between the levels; write-back, write-allocate. An access is followed
//! through all levels at once, in program order, with the cycle at which each part of the path is free again kept from
//! access to access. So two accesses whose times are in the other order than the program's see each other's effects the
//! wrong way round; that is the price of a model without an event queue.
//!
//! A cache also takes nothing while as many accesses wait for one miss as it has targets, or while its write buffers are
//! full: a written line that is displaced leaves through the crossbar, one after the other. TLBs are free, as in gem5's
//! emulation mode, or walk a page table ([`super::tlb`]).
//!
//! Not modelled: snoops.
use super::ahead::Prefetcher;
use super::dram::Dram;
use super::tlb::Tlb;
use crate::sim::machine::{CacheLevel, Inclusion, MemorySystem, Replacement};

const EMPTY: u64 = u64::MAX;
const LINE_SHIFT: u32 = 6;
/// More miss registers than this never run out behind queues of a core.
const COUNTED: usize = 64;

/// Which first-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Instructions.
    Instruction,
    /// Data.
    Data,
}

/// What a cache knows of a line that it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    /// When it arrived, or will.
    filled: u64,
    /// Time of last use (LRU); the bits of a tree stand in [`Cache::trees`].
    used: u64,
    dirty: bool,
    prefetched: bool,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cache {
    settings: CacheLevel,
    hit: u64,
    /// From the arrival of a line until all of it can be read as ever: its first bytes come first.
    whole: u64,
    set_mask: u64,
    ways: usize,
    lines: Box<[u64]>,
    held: Box<[Held]>,
    trees: Box<[u32]>,
    /// By way: the bits of a tree that a touch sets anew, and those of them that it sets.
    touches: Box<[(u32, u32)]>,
    /// By set: the line touched last. To touch it again changes no order.
    latest: Box<[u32]>,
    clock: u64,
    /// From and until when the latest misses are in flight: four times as many as may be at once, since accesses do
    /// not come in the order of their times.
    misses: Vec<(u64, u64)>,
    next_miss: usize,
    /// When the last of them ends.
    quiet: u64,
    /// From and until when no access is taken for want of targets or write buffers.
    blocked: (u64, u64),
    /// Accesses that wait for the latest line that one joined.
    joined: (u64, u64),
    /// When the latest lines left the write buffers, the next to be overwritten first.
    leaving: Box<[u64]>,
    next_leaving: usize,
    ahead: Option<Box<Prefetcher>>,
    draws: u32,
    accesses: u64,
    missed: u64,
}

/// Answers of the data cache leave one a cycle; others of the same cycle reach the core too late for it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answers {
    cycles: Box<[u64; ANSWERS]>,
}

const ANSWERS: usize = 4096;

impl Answers {
    #[inline(always)]
    fn take(&mut self, cycle: u64) -> u64 {
        let slot = &mut self.cycles[cycle as usize & (ANSWERS - 1)];
        cycle + u64::from(std::mem::replace(slot, cycle) == cycle)
    }
}

impl Cache {
    /// An empty one, whose lines take `payload` cycles to come.
    fn new(settings: CacheLevel, payload: u64) -> Self {
        let lines = (settings.size_bytes >> LINE_SHIFT) as usize;
        let ways = settings.ways as usize;
        let counted = if settings.mshrs as usize > COUNTED {
            0
        } else {
            settings.mshrs as usize
        };
        Self {
            settings,
            hit: settings.tag_cycles.max(settings.data_cycles),
            whole: settings.data_cycles + payload,
            set_mask: (lines / ways) as u64 - 1,
            ways,
            lines: vec![EMPTY; lines].into(),
            held: vec![Held::default(); lines].into(),
            trees: vec![0; lines / ways].into(),
            touches: (0..ways)
                .map(|way| {
                    let set = tree_touched(0, ways, way);
                    (set | !tree_touched(u32::MAX, ways, way), set)
                })
                .collect(),
            latest: (0..lines as u32).step_by(ways).collect(),
            clock: 0,
            misses: vec![(0, 0); 4 * counted],
            next_miss: 0,
            quiet: 0,
            blocked: (0, 0),
            joined: (EMPTY, 0),
            leaving: vec![0; settings.write_buffers.min(1024) as usize].into(),
            next_leaving: 0,
            ahead: Prefetcher::new(settings.prefetching),
            draws: 1,
            accesses: 0,
            missed: 0,
        }
    }

    /// The line touched last of its set, if it is this one.
    #[inline(always)]
    fn find_latest(&self, line: u64) -> Option<usize> {
        let latest = self.latest[(line & self.set_mask) as usize] as usize;
        (self.lines[latest] == line).then_some(latest)
    }

    #[inline(always)]
    fn find(&self, line: u64) -> Option<usize> {
        let latest = self.find_latest(line);
        if latest.is_some() {
            return latest;
        }
        self.search(line)
    }

    #[inline]
    fn search(&self, line: u64) -> Option<usize> {
        let start = (line & self.set_mask) as usize * self.ways;
        let ways = &self.lines[start..start + self.ways];
        ways.iter().position(|&l| l == line).map(|way| start + way)
    }

    /// Finds a line and touches it.
    #[inline(always)]
    fn use_line(&mut self, line: u64) -> Option<usize> {
        let latest = self.find_latest(line);
        if latest.is_some() {
            return latest;
        }
        self.use_other(line)
    }

    /// The same for a line that is not the latest of its set.
    #[inline(never)]
    fn use_other(&mut self, line: u64) -> Option<usize> {
        let index = self.search(line)?;
        self.touch(index, line);
        Some(index)
    }

    fn touch(&mut self, index: usize, line: u64) {
        let set = (line & self.set_mask) as usize;
        if self.settings.replacement == Replacement::Lru {
            self.clock += 1;
            self.held[index].used = self.clock;
        } else {
            let (points_elsewhere, points_right) = self.touches[index - set * self.ways];
            self.trees[set] = self.trees[set] & !points_elsewhere | points_right;
        }
        self.latest[set] = index as u32;
    }

    fn victim(&mut self, line: u64) -> usize {
        let set = (line & self.set_mask) as usize;
        let start = set * self.ways;
        let way = match self.settings.replacement {
            Replacement::Lru => {
                let held = &self.held[start..start + self.ways];
                (0..self.ways).min_by_key(|&w| held[w].used).unwrap_or(0)
            }
            Replacement::TreePlru => tree_victim(self.trees[set], self.ways),
            Replacement::Random => {
                let lines = &self.lines[start..start + self.ways];
                let empty = lines.iter().position(|&l| l == EMPTY);
                empty.unwrap_or_else(|| {
                    self.draws = draw(self.draws);
                    (self.draws >> 16) as usize % self.ways
                })
            }
        };
        start + way
    }

    /// Another access waits for the line that arrives at `filled`.
    #[inline(never)]
    fn join(&mut self, line: u64, now: u64, filled: u64) {
        // The one that missed is the first.
        let waiting = if self.joined.0 == line {
            self.joined.1
        } else {
            1
        } + 1;
        self.joined = (line, waiting);
        if waiting >= self.settings.targets {
            self.block(now, filled);
        }
    }

    fn block(&mut self, from: u64, until: u64) {
        self.blocked = (from, until);
        self.quiet = self.quiet.max(until);
    }

    /// A written line is displaced at `now`, and takes `each` cycles to leave.
    fn give_up(&mut self, now: u64, each: u64) {
        let count = self.leaving.len();
        let before = self.leaving[(self.next_leaving + count - 1) % count];
        self.leaving[self.next_leaving] = before.max(now) + each;
        self.next_leaving = (self.next_leaving + 1) % count;
        // Where the next one would go there is still one.
        let free = self.leaving[self.next_leaving];
        if free > now {
            self.block(now, free);
        }
    }

    /// The cycle from which an access that comes at `now` is taken: a cache without a free miss register takes none.
    #[inline(always)]
    fn taken_at(&self, now: u64, retry: u64) -> u64 {
        if now >= self.quiet {
            return now;
        }
        self.unblocked_at(now, retry)
    }

    #[inline(never)]
    fn unblocked_at(&self, mut now: u64, retry: u64) -> u64 {
        if self.blocked.0 < now && now < self.blocked.1 {
            now = self.blocked.1 + retry;
        }
        loop {
            if self.misses.is_empty() {
                return now;
            }
            let mut busy = 0;
            let mut first_free = u64::MAX;
            for &(from, until) in &self.misses {
                if from <= now && now < until {
                    busy += 1;
                    first_free = first_free.min(until);
                }
            }
            if busy < self.settings.mshrs {
                return now;
            }
            now = first_free + retry;
        }
    }

    fn hold(&mut self, from: u64, until: u64) {
        self.quiet = self.quiet.max(until);
        if let Some(slot) = self.misses.get_mut(self.next_miss) {
            *slot = (from, until);
            self.next_miss = (self.next_miss + 1) % self.misses.len();
        }
    }
}

/// The next of a sequence that starts the same each time.
fn draw(latest: u32) -> u32 {
    latest.wrapping_mul(1_103_515_245).wrapping_add(12_345)
}

/// A tree of bits over the ways: each inner node points to the half to replace next.
fn tree_touched(mut tree: u32, ways: usize, way: usize) -> u32 {
    let mut node = 1usize;
    let mut half = ways / 2;
    let mut rest = way;
    while half > 0 {
        let right = rest >= half;
        if right {
            tree &= !(1 << node);
            rest -= half;
        } else {
            tree |= 1 << node;
        }
        node = 2 * node + usize::from(right);
        half /= 2;
    }
    tree
}

fn tree_victim(tree: u32, ways: usize) -> usize {
    let mut node = 1usize;
    let mut half = ways / 2;
    let mut way = 0;
    while half > 0 {
        let right = tree >> node & 1 == 1;
        if right {
            way += half;
        }
        node = 2 * node + usize::from(right);
        half /= 2;
    }
    way
}

/// Where the requests of one level meet on their way to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Crossbar {
    request: u64,
    response: u64,
    payload: u64,
    requests_free: u64,
    responses_free: [u64; 2],
}

/// Everything behind the core.
///
/// Virtual addresses stand for physical ones: an emulated kernel hands out pages in the order in which programs touch
/// them, which for large data is mostly ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    first: [Cache; 2],
    /// L2, then L3 where there is one.
    shared: Vec<Cache>,
    /// Before each shared level, and before memory.
    crossbars: Vec<Crossbar>,
    dram: Dram,
    period_ps: u64,
    answers: Answers,
    /// A prefetcher listens to the data cache.
    prefetches: bool,
    /// For instructions and data, unless translation is free.
    tlbs: Option<Box<[Tlb; 2]>>,
}

impl Hierarchy {
    /// Empty caches.
    pub fn new(settings: &MemorySystem, frequency_hz: u64) -> Self {
        let crossbar = |request, response, width_bytes| Crossbar {
            request,
            response,
            payload: 64u64.div_ceil(width_bytes),
            ..Crossbar::default()
        };
        let between = &settings.crossbar;
        let between = crossbar(
            between.request_cycles,
            between.response_cycles,
            between.width_bytes,
        );
        let last = &settings.memory_crossbar;
        let last = crossbar(last.request_cycles, last.response_cycles, last.width_bytes);
        let levels: Vec<CacheLevel> = [settings.l2, settings.l3]
            .into_iter()
            .filter(|level| level.size_bytes > 0)
            .collect();
        let mut crossbars = vec![between; levels.len()];
        crossbars.push(last);
        let payload = |level: usize| crossbars[level].payload;
        let first = [settings.l1i, settings.l1d].map(|level| Cache::new(level, payload(0)));
        let below = levels.iter().zip(1..);
        let shared: Vec<Cache> = below
            .map(|(&level, crossbar)| Cache::new(level, payload(crossbar)))
            .collect();
        Self {
            prefetches: first[1].ahead.is_some() || shared[0].ahead.is_some(),
            first,
            shared,
            crossbars,
            dram: Dram::new(settings.dram),
            period_ps: 1_000_000_000_000 / frequency_hz,
            answers: Answers {
                cycles: vec![0; ANSWERS]
                    .into_boxed_slice()
                    .try_into()
                    .expect("a vector of as many elements as the array has"),
            },
            tlbs: settings.tlbs.walks.then(|| {
                let sizes = &settings.tlbs.sizes;
                Box::new([
                    Tlb::new(sizes.instruction_entries, sizes),
                    Tlb::new(sizes.data_entries, sizes),
                ])
            }),
        }
    }

    /// A data access of a core that has several in flight: [`Hierarchy::access`] with a port that answers once a cycle.
    #[inline(always)]
    pub fn data(&mut self, pc: u64, address: u64, now: u64, write: bool, retry: u64) -> u64 {
        let missed = self.first[1].missed;
        let answer = self.access(Side::Data, address, now, write, retry);
        if self.prefetches {
            self.fetch_ahead(pc, address, now, self.first[1].missed != missed);
        }
        self.answers.take(answer)
    }

    /// Tells the prefetchers of an access, and fetches what they ask for: at L1 and L2 behind a miss of L1 (L2 sees no
    /// other accesses), at L1 also behind a hit on a line that was fetched so.
    #[inline(never)]
    fn fetch_ahead(&mut self, pc: u64, address: u64, now: u64, missed: bool) {
        let line = address >> LINE_SHIFT;
        let l1 = &mut self.first[1];
        let fetched = !missed
            && l1
                .find(line)
                .is_some_and(|index| std::mem::take(&mut l1.held[index].prefetched));
        if !missed && !fetched {
            return;
        }
        if missed && let Some(mut prefetcher) = self.shared[0].ahead.take() {
            for (at, ahead) in (now + 1..).zip(prefetcher.access(pc, address)) {
                let ahead = ahead >> LINE_SHIFT;
                if self.shared[0].find(ahead).is_none() {
                    let filled = self.fill(1, ahead, at + self.shared[0].settings.tag_cycles, 0);
                    self.install(0, ahead, filled, false);
                }
            }
            self.shared[0].ahead = Some(prefetcher);
        }
        if let Some(mut prefetcher) = self.first[1].ahead.take() {
            for (at, ahead) in (now + 1..).zip(prefetcher.access(pc, address)) {
                let ahead = ahead >> LINE_SHIFT;
                if self.first[1].find(ahead).is_none() {
                    self.miss(Side::Data, ahead, at, false);
                    if let Some(index) = self.first[1].find(ahead) {
                        self.first[1].held[index].prefetched = true;
                    }
                }
            }
            self.first[1].ahead = Some(prefetcher);
        }
    }

    /// An access of the first level at cycle `now`; the cycle of the answer.
    ///
    /// `retry` is what the requester needs to come again after the cache was blocked.
    #[inline]
    pub fn access(&mut self, side: Side, address: u64, now: u64, write: bool, retry: u64) -> u64 {
        let now = if self.tlbs.is_some() {
            self.translate(side, address, now)
        } else {
            now
        };
        self.translated(side, address, now, write, retry)
    }

    /// When the page of an address has been found.
    #[inline(never)]
    fn translate(&mut self, side: Side, address: u64, mut now: u64) -> u64 {
        let walk = self
            .tlbs
            .as_mut()
            .and_then(|t| t[side as usize].look_up(address));
        for entry in walk.into_iter().flatten() {
            now = self.translated(Side::Data, entry, now, false, 0);
        }
        now
    }

    #[inline(always)]
    fn translated(&mut self, side: Side, address: u64, now: u64, write: bool, retry: u64) -> u64 {
        let line = address >> LINE_SHIFT;
        let cache = &mut self.first[side as usize];
        let now = cache.taken_at(now, retry);
        cache.accesses += 1;
        if let Some(index) = cache.use_line(line) {
            let held = &mut cache.held[index];
            held.dirty |= write;
            let filled = held.filled;
            let whole = filled + cache.whole;
            if whole <= now + cache.hit {
                return now + cache.hit;
            }
            if now < filled {
                cache.join(line, now, filled);
                // The words behind the first come one crossbar width at a time.
                let payload = self.crossbars[0].payload;
                return (filled + cache.settings.response_cycles + payload).max(now + cache.hit);
            }
            return now + cache.hit + (whole - now);
        }
        let answer = self.miss(side, line, now, write);
        if side == Side::Instruction && self.first[0].ahead.is_some() {
            let next = line + 1;
            if self.first[0].find(next).is_none() {
                self.miss(side, next, now + 1, false);
            }
        }
        answer
    }

    #[inline(never)]
    fn miss(&mut self, side: Side, line: u64, now: u64, write: bool) -> u64 {
        let cache = &mut self.first[side as usize];
        cache.missed += 1;
        let request = now + cache.settings.tag_cycles;
        let response = cache.settings.response_cycles;
        let filled = self.fill(0, line, request, side as usize);
        let cache = &mut self.first[side as usize];
        cache.hold(now, filled);
        let index = cache.victim(line);
        let evicted = (cache.lines[index], cache.held[index].dirty);
        cache.lines[index] = line;
        cache.held[index] = Held {
            filled,
            dirty: write,
            ..Held::default()
        };
        cache.touch(index, line);
        if evicted.0 != EMPTY && evicted.1 {
            let each = 1 + self.crossbars[0].payload;
            self.first[side as usize].give_up(filled, each);
            self.write_back(0, evicted.0, filled);
        }
        filled + response
    }

    /// Asks shared level `level` (memory behind the last) at cycle `now`; the cycle at which the line arrives above.
    fn fill(&mut self, level: usize, line: u64, now: u64, port: usize) -> u64 {
        let crossbar = &mut self.crossbars[level];
        let at = now.max(crossbar.requests_free);
        crossbar.requests_free = at + 1;
        let delay = crossbar.request;
        let answered = if level == self.shared.len() {
            let ready = self.dram.read(line << LINE_SHIFT, at * self.period_ps);
            ready.div_ceil(self.period_ps) + delay
        } else {
            self.shared_read(level, line, at, delay)
        };
        let crossbar = &mut self.crossbars[level];
        let sent = answered.max(crossbar.responses_free[port]);
        crossbar.responses_free[port] = sent + 1 + crossbar.payload;
        sent + crossbar.response
    }

    fn shared_read(&mut self, level: usize, line: u64, now: u64, delay: u64) -> u64 {
        let cache = &mut self.shared[level];
        let now = cache.taken_at(now, 0);
        cache.accesses += 1;
        if let Some(index) = cache.use_line(line) {
            let Held { filled, dirty, .. } = cache.held[index];
            if cache.settings.inclusion == Inclusion::Exclusive && !dirty {
                cache.lines[index] = EMPTY;
            }
            let ready = filled + cache.whole;
            let start = now + delay;
            if ready <= start + cache.hit {
                return start + cache.hit;
            }
            if now < filled {
                return (filled + cache.settings.response_cycles).max(start + cache.hit);
            }
            return start + cache.hit + (ready - start);
        }
        cache.missed += 1;
        let request = now + delay + cache.settings.tag_cycles;
        let response = cache.settings.response_cycles;
        let exclusive = cache.settings.inclusion == Inclusion::Exclusive;
        let filled = self.fill(level + 1, line, request, 0);
        let cache = &mut self.shared[level];
        cache.hold(now, filled);
        if !exclusive {
            self.install(level, line, filled, false);
        }
        filled + response
    }

    /// Puts a line into a shared level, and what it displaces into the next.
    fn install(&mut self, level: usize, line: u64, filled: u64, dirty: bool) {
        let cache = &mut self.shared[level];
        let index = cache.victim(line);
        let mut evicted = (cache.lines[index], cache.held[index].dirty);
        cache.lines[index] = line;
        let held = &mut cache.held[index];
        (held.filled, held.dirty) = (filled, dirty);
        cache.touch(index, line);
        if evicted.0 == EMPTY {
            return;
        }
        if cache.settings.inclusion == Inclusion::Strict {
            let above = self.first.iter_mut().chain(&mut self.shared[..level]);
            for cache in above {
                if let Some(index) = cache.find(evicted.0) {
                    cache.lines[index] = EMPTY;
                    evicted.1 |= std::mem::take(&mut cache.held[index].dirty);
                }
            }
        }
        if evicted.1 {
            let each = 1 + self.crossbars[level + 1].payload;
            self.shared[level].give_up(filled, each);
            self.write_back(level + 1, evicted.0, filled);
        }
    }

    /// A dirty line on its way down. Misses go before it, so it takes nothing from them but time in memory.
    fn write_back(&mut self, level: usize, line: u64, at: u64) {
        if level == self.shared.len() {
            self.dram.write(line << LINE_SHIFT, at * self.period_ps);
            return;
        }
        let cache = &mut self.shared[level];
        if let Some(index) = cache.use_line(line) {
            cache.held[index].dirty = true;
        } else {
            self.install(level, line, at, true);
        }
    }

    /// Counters by part.
    pub fn report(&self, parts: &mut std::collections::BTreeMap<String, u64>) {
        let mut cache = |name: &str, cache: &Cache| {
            parts.insert(format!("{name}.accesses"), cache.accesses);
            parts.insert(format!("{name}.misses"), cache.missed);
        };
        cache("l1i", &self.first[0]);
        cache("l1d", &self.first[1]);
        for (level, shared) in self.shared.iter().enumerate() {
            cache(&format!("l{}", level + 2), shared);
        }
        for (name, tlb) in ["itlb.misses", "dtlb.misses"]
            .into_iter()
            .zip(self.tlbs.iter().flat_map(|t| t.iter()))
        {
            parts.insert(name.to_owned(), tlb.misses);
        }
        parts.insert("dram.reads".to_owned(), self.dram.reads);
        parts.insert("dram.writes".to_owned(), self.dram.written);
        parts.insert("dram.row_hits".to_owned(), self.dram.row_hits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::{Core, catalog};

    fn hierarchy(machine: &str) -> Hierarchy {
        let core = catalog::machine(machine).unwrap().core;
        let (memory, hz) = match &core {
            Core::OutOfOrder(core) => (core.memory, core.frequency_hz),
            Core::Blocking(core) => (core.memory, core.frequency_hz),
            _ => panic!("{machine} has no such caches"),
        };
        Hierarchy::new(&memory, hz)
    }

    #[test]
    fn the_path_of_a_load_adds_up() {
        let mut h = hierarchy("gem5-o3");
        let start = 10_000;
        let load =
            |h: &mut Hierarchy, address, now| h.access(Side::Data, address, now, false, 0) - now;
        // L1 tags 2, crossbar 1, L2 tags 20, crossbar 8, DRAM 51.652 ns = 156 cycles of 333 ps (from a cycle's edge),
        // crossbar 2, L2 response 20, crossbar 1, L1 response 2.
        assert_eq!(
            load(&mut h, 0, start),
            2 + 1 + 20 + 8 + 156 + 2 + 20 + 1 + 2
        );
        assert_eq!(load(&mut h, 8, 20_000), 2, "a hit");
        // Eight other lines of its set displace it from L1, not from L2.
        for way in 1..=8 {
            load(&mut h, way * 4096, 30_000 + 1000 * way);
        }
        assert_eq!(load(&mut h, 0, 50_000), 2 + 1 + 20 + 1 + 2, "from L2");
    }

    #[test]
    fn a_second_load_of_a_line_on_its_way_joins_the_first() {
        let mut h = hierarchy("gem5-o3");
        let first = h.access(Side::Data, 0, 10_000, false, 0);
        // The words behind the first come two cycles later: 64 bytes over 32 bytes a cycle.
        assert_eq!(h.access(Side::Data, 32, 10_010, false, 0), first + 2);
    }

    #[test]
    fn without_a_free_miss_register_the_cache_takes_nothing() {
        let mut h = hierarchy("gem5-o3");
        h.access(Side::Data, 0x80_0000, 5_000, false, 0);
        let fills: Vec<u64> = (0..4)
            .map(|i| h.access(Side::Data, i << 16, 10_000, false, 0))
            .collect();
        // A hit waits too, until the first miss has its line, two cycles before its answer.
        let hit = h.access(Side::Data, 0x80_0000, 10_001, false, 0);
        assert_eq!(hit, fills[0] - 2 + 2);
    }

    #[test]
    fn a_tree_replaces_where_it_was_not_lately() {
        let mut tree = 0;
        for way in [0, 1, 2, 3] {
            tree = tree_touched(tree, 4, way);
        }
        assert_eq!(tree_victim(tree, 4), 0);
        assert_eq!(tree_victim(tree_touched(tree, 4, 0), 4), 2);
    }

    fn tiny(overrides: &[(&str, &str)]) -> Hierarchy {
        let machine = catalog::machine("test-tiny").unwrap();
        let Core::OutOfOrder(core) = machine.with_overrides(overrides).unwrap().core else {
            panic!("test-tiny is out of order");
        };
        Hierarchy::new(&core.memory, core.frequency_hz)
    }

    /// Misses of L1 by five lines of one of its sets of four, in turn.
    fn misses_of_five(replacement: &str) -> u64 {
        let mut h = tiny(&[
            ("l1d.ways", "4"),
            ("l1d.size_bytes", "1024"),
            ("l1d.replacement", replacement),
        ]);
        for i in 0..1000 {
            h.access(Side::Data, (i % 5) << 8, 10_000 + 1000 * i, false, 0);
        }
        h.first[1].missed
    }

    #[test]
    fn random_replacement_keeps_what_lru_loses_and_draws_the_same_each_time() {
        assert_eq!(misses_of_five("lru"), 1000);
        let random = misses_of_five("random");
        // A line stays while three others come with probability (3/4)^(misses between), so about two thirds hit.
        assert!((200..600).contains(&random), "{random}");
        assert_eq!(misses_of_five("random"), random);
    }

    #[test]
    fn a_written_line_that_an_inclusive_level_loses_takes_the_newer_copy_along() {
        let written = |inclusion| {
            let mut h = tiny(&[("l2.inclusion", inclusion)]);
            let mut now = 10_000;
            let mut touch = |h: &mut Hierarchy, line: u64, write| {
                now += 1000;
                h.access(Side::Data, line << 9, now, write, 0)
            };
            // Line 0 is written in L1 and used there again between four others of its set of L2.
            touch(&mut h, 0, true);
            for line in 1..5 {
                touch(&mut h, line, false);
                touch(&mut h, 0, false);
            }
            h.first[1].missed
        };
        assert_eq!(written("mostly-inclusive"), 5);
        assert_eq!(written("inclusive"), 6, "the fourth took line 0 out of L1");
    }
}
