//! The core of kind `out-of-order`, after gem5's O3: each micro-op passes once, in program order, through all stages.
//!
//! There is no loop over cycles. A micro-op's times are the earliest that every limit allows: the fetch buffer and its
//! line, the width of each stage, free entries of the window, the scheduler and the queues, operands, units, older
//! stores, order of commitment. What younger micro-ops need of older ones are these times, kept in rings as long as the
//! structure that they describe. docs/timing-model.md derives the constants from the stages of gem5.
//!
//! Not followed: the wrong path. It costs the time until the branch is resolved and the window is cleared; its fetches
//! and loads are not made.
use super::crack_gem5::{BranchKind, Repeats};
use super::hierarchy::{Hierarchy, Side};
use super::micro::{Class, FLAGS, Micro, NONE, REGISTERS, flags, traits};
use super::micro_block::{Block, Step, accesses_of, passes};
use super::predict_gem5::Predictor;
use super::{Retired, Timing};
use crate::sim::machine::{OutOfOrderCore, Pipeline};
use crate::sim::memory::Access;
use iced_x86::Instruction;
use std::collections::BTreeMap;

const LINE: u64 = 64;
const NOWHERE: u64 = u64::MAX;
/// Cycles ahead for which units and scheduler entries are booked.
const HORIZON: usize = 1 << 14;
/// Stores and loads conflict by this many bytes.
const GRANULE_SHIFT: u32 = 4;
const GRANULES: usize = 1024;

/// In-order slots of a stage: at most `width` a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    width: u32,
    cycle: u64,
    used: u32,
}

impl Stage {
    fn new(width: u64) -> Self {
        Self {
            width: width as u32,
            cycle: 0,
            used: 0,
        }
    }

    /// The first slot that is not before `earliest` nor before the one given last.
    #[inline(always)]
    fn take(&mut self, earliest: u64) -> u64 {
        // Without branches: the host could not predict them.
        let later = earliest > self.cycle;
        let full = self.used >= self.width;
        self.cycle = if later {
            earliest
        } else {
            self.cycle + u64::from(full)
        };
        self.used = if later | full { 1 } else { self.used + 1 };
        self.cycle
    }
}

/// A stage that could not pass on what came: it takes what is already on its way, and tells the stage before it to go on
/// only when all of that has left, which costs a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Blocked {
    /// What the stage before sends up to this cycle is still taken.
    until: u64,
    active: bool,
}

impl Blocked {
    /// When the stage before may send what it could send at `cycle`; `left` is when the latest micro-op left this one.
    #[inline(always)]
    fn sent(&mut self, cycle: u64, left: u64) -> u64 {
        if self.active && cycle > self.until {
            self.active = false;
            return cycle.max(left + 1);
        }
        cycle
    }

    /// A micro-op that came at `arrived` left at `left`.
    #[inline(always)]
    fn passed(&mut self, arrived: u64, left: u64) {
        if left > arrived && !self.active {
            self.active = true;
            self.until = arrived;
        }
    }
}

/// The latest times of a queue that empties in order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ring {
    times: Box<[u64]>,
    mask: usize,
    count: usize,
    entries: usize,
}

impl Ring {
    fn new(entries: u64) -> Self {
        let size = (entries as usize).next_power_of_two();
        Self {
            times: vec![0; size].into(),
            mask: size - 1,
            // As if as many had come and gone at the start: no question whether the ring is full yet.
            count: entries as usize,
            entries: entries as usize,
        }
    }

    /// When the entry that the next one needs became free; 0 while there are unused ones.
    #[inline(always)]
    fn freed(&self) -> u64 {
        self.times[(self.count - self.entries) & self.mask]
    }

    #[inline(always)]
    fn push(&mut self, time: u64) {
        self.times[self.count & self.mask] = time;
        self.count += 1;
    }

    /// How many of the latest entries are free only after this time.
    fn later_than(&self, time: u64) -> u64 {
        let (mut low, mut high) = (0, self.count.min(self.entries));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.times[(self.count - middle) & self.mask] > time {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low as u64
    }
}

/// Zeros for every cycle that can be booked; made on the heap, as they are large.
fn horizon<T: Copy + Default + std::fmt::Debug>() -> Box<[T; HORIZON]> {
    vec![T::default(); HORIZON]
        .into_boxed_slice()
        .try_into()
        .expect("a vector of as many elements as the array has")
}

/// Units and issue slots by cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Units {
    /// The cycle's number above the index, the micro-ops issued, a bit for each busy unit.
    slots: Box<[u64; HORIZON]>,
    width: u64,
    masks: [u32; Class::COUNT],
    latencies: [u8; Class::COUNT],
    unpipelined: u64,
    /// Classes whose units all do the same: it does not matter which is taken.
    alike: u64,
    latest: [u8; Class::COUNT],
}

impl Units {
    fn new(core: &OutOfOrderCore) -> Self {
        let mut masks = [0; Class::COUNT];
        let mut latencies = [1; Class::COUNT];
        let mut unpipelined = 0;
        for (i, unit) in core.units.iter().enumerate() {
            for class in 0..Class::COUNT {
                if unit.latency[class] > 0 {
                    masks[class] |= 1 << i;
                    latencies[class] = latencies[class].max(unit.latency[class]);
                }
            }
            unpipelined |= unit.unpipelined;
        }
        let alike = (0..Class::COUNT)
            .filter(|&class| {
                let mut units = core.units.iter().filter(|u| u.latency[class] > 0);
                let first = units.next();
                units.all(|u| Some(u) == first)
            })
            .fold(0, |set, class| set | 1 << class);
        Self {
            alike,
            slots: horizon(),
            width: core.pipeline.issue_width,
            masks,
            latencies,
            unpipelined,
            latest: [31; Class::COUNT],
        }
    }

    #[inline(always)]
    fn slot(&mut self, cycle: u64) -> &mut u64 {
        let slot = &mut self.slots[cycle as usize & (HORIZON - 1)];
        let tag = (cycle >> HORIZON.trailing_zeros()) & 0xff_ffff;
        if *slot >> 40 != tag {
            *slot = tag << 40;
        }
        slot
    }

    /// Issues a micro-op of this class at the first cycle from `earliest` on that has a slot and a unit.
    #[inline(always)]
    fn issue(&mut self, class: Class, earliest: u64) -> u64 {
        let class = class as usize;
        let (mask, width) = (self.masks[class], self.width);
        let mut cycle = earliest;
        loop {
            let slot = *self.slot(cycle);
            let free = mask & !(slot as u32);
            if (slot >> 32 & 0xff) < width && (free != 0 || mask == 0) {
                let unit = if free != 0 {
                    1 << self.choose(class, free, cycle)
                } else {
                    0
                };
                self.slots[cycle as usize & (HORIZON - 1)] = (slot + (1 << 32)) | unit;
                return cycle;
            }
            cycle += 1;
        }
    }

    /// Units take turns.
    #[inline(always)]
    fn choose(&mut self, class: usize, free: u32, cycle: u64) -> u32 {
        if (self.alike & !self.unpipelined) >> class & 1 == 1 {
            return free.trailing_zeros();
        }
        self.choose_in_turn(class, free, cycle)
    }

    fn choose_in_turn(&mut self, class: usize, free: u32, cycle: u64) -> u32 {
        let above = free & (u32::MAX << ((u32::from(self.latest[class]) + 1) & 31));
        let unit = if above != 0 && self.latest[class] < 31 {
            above
        } else {
            free
        }
        .trailing_zeros();
        self.latest[class] = unit as u8;
        if self.unpipelined >> class & 1 == 1 {
            for held in 1..u64::from(self.latencies[class]) {
                *self.slot(cycle + held) |= 1 << unit;
            }
        }
        unit
    }
}

/// How many micro-ops stand in the scheduler: they leave it out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scheduler {
    leaving: Box<[u16; HORIZON]>,
    cycle: u64,
    used: u64,
    entries: u64,
}

impl Scheduler {
    fn advance(&mut self, cycle: u64) {
        while self.cycle < cycle {
            self.cycle += 1;
            let leaving = &mut self.leaving[self.cycle as usize & (HORIZON - 1)];
            self.used -= u64::from(std::mem::take(leaving));
            if self.used == 0 {
                // Nothing left to wait for.
                self.cycle = self.cycle.max(cycle);
            }
        }
    }

    /// The first cycle from `earliest` on that has a free entry.
    #[inline(always)]
    fn enter(&mut self, earliest: u64) -> u64 {
        self.advance(earliest - 1);
        while self.used >= self.entries {
            self.advance(self.cycle + 1);
        }
        self.used += 1;
        earliest.max(self.cycle + 1)
    }

    #[inline(always)]
    fn leave(&mut self, cycle: u64) {
        let cycle = cycle.clamp(self.cycle + 1, self.cycle + HORIZON as u64 - 1);
        self.leaving[cycle as usize & (HORIZON - 1)] += 1;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Store {
    address: u64,
    /// Address behind it; 0 if it only occupies the queue.
    end: u64,
    pc: u64,
    executed: u64,
    committed: u64,
}

/// Loads and stores that met too early once wait for each other from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StoreSets {
    sets: Box<[u16]>,
    /// By set: when its latest store issued and executed.
    latest: Box<[(u64, u64)]>,
    accesses: u64,
    period: u64,
}

const NO_SET: u16 = u16::MAX;

impl StoreSets {
    fn new(sets: u64, period: u64) -> Self {
        Self {
            sets: vec![NO_SET; sets as usize].into(),
            latest: vec![(0, 0); sets as usize].into(),
            accesses: 0,
            period,
        }
    }

    #[inline(always)]
    fn index(&self, pc: u64) -> usize {
        (pc >> 2) as usize & (self.sets.len() - 1)
    }

    /// When an access that is dispatched at `dispatch` may issue.
    #[inline(always)]
    fn wait(&mut self, pc: u64, dispatch: u64) -> u64 {
        self.accesses += 1;
        if self.accesses > self.period {
            self.accesses = 0;
            self.sets.fill(NO_SET);
        }
        let set = self.sets[self.index(pc)];
        if set == NO_SET {
            return 0;
        }
        let (issued, executed) = self.latest[usize::from(set)];
        if issued >= dispatch { executed } else { 0 }
    }

    #[inline(always)]
    fn store(&mut self, pc: u64, issued: u64, executed: u64) {
        let set = self.sets[self.index(pc)];
        if set != NO_SET {
            self.latest[usize::from(set)] = (issued, executed);
        }
    }

    fn met(&mut self, store: u64, load: u64) {
        let (s, l) = (self.index(store), self.index(load));
        let set = match (self.sets[s], self.sets[l]) {
            (NO_SET, NO_SET) => l as u16,
            (NO_SET, set) | (set, NO_SET) => set,
            (a, b) => a.min(b),
        };
        (self.sets[s], self.sets[l]) = (set, set);
    }
}

/// When a micro-op passed the stages of the front end.
#[derive(Clone, Copy, Debug)]
struct Front {
    decoded: u64,
    renamed: u64,
    dispatched: u64,
}

/// The core with its caches and predictors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    frequency_hz: u64,
    p: Pipeline,
    total_store_order: bool,
    memory: Hierarchy,
    predictor: Predictor,
    micro_ops: u64,

    fetch: Stage,
    /// The line, or part of one, in the fetch buffer.
    buffer: u64,
    /// The last micro-op fetched was predicted taken.
    redirected: bool,
    fetch_queue: Ring,
    to_decode: Stage,
    decode: Stage,
    decode_blocked: Blocked,
    rename: Stage,
    rename_blocked: Blocked,
    /// Micro-ops and cycles of the front end alone, for the rate at which the wrong path comes.
    front_rate: (u64, u64),
    /// Micro-ops since the latest taken branch or end of a line, and cycles from the request of a line to its use.
    group: u64,
    fetch_latency: u64,
    dispatch: Stage,
    /// Dispatch takes fewer than rename gives, and registers may run out before the window does: else there is nothing
    /// to keep.
    narrow_dispatch: bool,
    few_integers: bool,
    few_floats: bool,
    few_flags: bool,
    commit: Stage,
    window: Ring,
    scheduler: Scheduler,
    load_queue: Ring,
    store_queue: Ring,
    integers: Ring,
    floats: Ring,
    flag_registers: Ring,
    units: Units,
    ready: [u64; REGISTERS],
    /// The latest stores; those from `sent_count` to `store_count` have not been sent to the cache yet: they are once
    /// something needs to know, so that loads of the same cycle come first, as they do in the cache.
    stores: Box<[Store]>,
    store_count: usize,
    sent_count: usize,
    by_granule: Box<[u64]>,
    /// When the latest store was sent, and when all that were sent are done.
    sent: u64,
    drained: u64,
    store_sets: StoreSets,
    /// Until when rename waits, and loads and stores wait to issue.
    serial: u64,
    fenced: u64,
    repeating: u64,
    /// The branch at the end of the latest iteration of a `rep` has not been predicted yet.
    open_branch: bool,

    mispredictions: u64,
    branches: u64,
    violations: u64,
    forwarded: u64,
}

impl OutOfOrder {
    /// A core that has run nothing.
    pub fn new(core: &OutOfOrderCore) -> Self {
        let p = core.pipeline;
        Self {
            frequency_hz: core.frequency_hz,
            p,
            total_store_order: core.total_store_order,
            memory: Hierarchy::new(&core.memory, core.frequency_hz),
            predictor: Predictor::new(&core.predictor, core.directions),
            micro_ops: 0,
            fetch: Stage::new(p.fetch_width),
            buffer: NOWHERE,
            redirected: false,
            fetch_queue: Ring::new(p.fetch_queue_entries),
            to_decode: Stage::new(p.decode_width),
            decode: Stage::new(p.decode_width),
            decode_blocked: Blocked::default(),
            rename: Stage::new(p.rename_width),
            rename_blocked: Blocked::default(),
            front_rate: (4, 1),
            group: 0,
            fetch_latency: core.memory.l1i.tag_cycles.max(core.memory.l1i.data_cycles),
            dispatch: Stage::new(p.dispatch_width),
            narrow_dispatch: p.dispatch_width < p.rename_width,
            few_integers: p.spare_integer_registers < p.rob_entries,
            few_floats: p.spare_float_registers < p.rob_entries,
            few_flags: p.spare_flag_registers < 3 * p.rob_entries,
            commit: Stage::new(p.commit_width),
            window: Ring::new(p.rob_entries),
            scheduler: Scheduler {
                leaving: horizon(),
                cycle: 0,
                used: 0,
                entries: p.scheduler_entries,
            },
            load_queue: Ring::new(p.load_queue_entries),
            store_queue: Ring::new(p.store_queue_entries),
            integers: Ring::new(p.spare_integer_registers),
            floats: Ring::new(p.spare_float_registers),
            flag_registers: Ring::new(p.spare_flag_registers),
            units: Units::new(core),
            ready: [0; REGISTERS],
            stores: vec![Store::default(); (p.store_queue_entries as usize).next_power_of_two()]
                .into(),
            store_count: 0,
            sent_count: 0,
            by_granule: vec![0; GRANULES].into(),
            sent: 0,
            drained: 0,
            store_sets: StoreSets::new(p.store_sets, p.store_set_period),
            serial: 0,
            fenced: 0,
            repeating: NOWHERE,
            open_branch: false,
            mispredictions: 0,
            branches: 0,
            violations: 0,
            forwarded: 0,
        }
    }

    /// Brings the bytes of an instruction into the fetch buffer, line after line.
    #[inline(always)]
    fn bring(&mut self, address: u64, end: u64, micros: usize) {
        let bytes = self.p.fetch_buffer_bytes;
        let first = address & !(bytes - 1);
        if first != self.buffer {
            self.request(first);
        } else if self.redirected {
            self.fetch.cycle += 1;
            self.fetch.used = 0;
            self.end_group(0);
        }
        self.redirected = false;
        self.group += micros as u64;
        let last = (end - 1) & !(bytes - 1);
        if last != first {
            if self.fetch.used == self.fetch.width {
                // The first bytes are looked at in the next cycle only.
                self.fetch.cycle += 1;
            }
            self.request(last);
        }
    }

    /// What is fetched up to a taken branch or the end of a line takes as many cycles as it fills, and `more`.
    #[inline(always)]
    fn end_group(&mut self, more: u64) {
        let (micros, cycles) = self.front_rate;
        let group = self.group.div_ceil(self.p.fetch_width).max(1) + more;
        // The latest hundred or so count.
        let (micros, cycles) = if micros > 128 {
            (micros >> 1, cycles >> 1)
        } else {
            (micros, cycles)
        };
        self.front_rate = (micros + self.group, cycles + group);
        self.group = 0;
    }

    #[inline(never)]
    fn request(&mut self, line: u64) {
        self.end_group(self.fetch_latency - 1);
        let ready = self
            .memory
            .access(Side::Instruction, line, self.fetch.cycle, false, 0);
        self.buffer = line;
        self.fetch.cycle = ready;
        self.fetch.used = 0;
    }

    /// The wrong path asks for its lines, one after the other, until it is stopped: programs often need them later.
    fn fetch_ahead(&mut self, address: u64, until: u64) {
        let bytes = self.p.fetch_buffer_bytes;
        let mut line = address & !(bytes - 1);
        let mut cycle = self.fetch.cycle;
        if line == self.buffer {
            line += bytes;
            cycle += 1;
        }
        let (micros, cycles) = self.front_rate;
        // x86 micro-ops of this table take about two bytes each.
        let each = (bytes * cycles / (2 * micros).max(1)).max(1);
        while cycle < until {
            cycle = self.memory.access(Side::Instruction, line, cycle, false, 0) + each;
            line += bytes;
        }
    }

    /// Fetch starts again at `cycle`.
    fn restart(&mut self, cycle: u64, inside: bool) {
        self.fetch.cycle = cycle;
        self.fetch.used = 0;
        self.redirected = false;
        if !inside {
            self.buffer = NOWHERE;
        }
    }

    /// Passes one micro-op through the pipeline. `taken` and `target` are for branches.
    #[inline(always)]
    fn micro(&mut self, micro: &Micro, step: &Step, accesses: &[Access], taken: bool, target: u64) {
        if micro.traits & !traits::LAST == 0 {
            self.plain(micro);
        } else if micro.is(traits::LOAD | traits::STORE) {
            self.memory_access(micro, step, accesses);
        } else {
            self.special(micro, step, taken, target);
        }
    }

    /// Fetch, decode, rename and dispatch. Rename does not come before `wait`.
    #[inline(always)]
    fn front(&mut self, micro: &Micro, wait: u64) -> Front {
        let fetched = self.fetch.take(self.fetch_queue.freed() + 1);
        let left = self
            .decode_blocked
            .sent(fetched.max(self.to_decode.cycle), self.decode.cycle);
        let left = self.to_decode.take(left);
        self.fetch_queue.push(left);
        let arrived = left + self.p.fetch_to_decode_cycles;
        let decoded = self
            .rename_blocked
            .sent(arrived.max(self.decode.cycle), self.rename.cycle);
        let decoded = self.decode.take(decoded);
        self.decode_blocked.passed(arrived, decoded);
        let arrived = decoded + self.p.decode_to_rename_cycles;
        let free = wait
            .max(self.window.freed() + 1)
            .max(self.serial)
            .max(self.registers_freed(micro));
        let entered = self
            .scheduler
            .enter(arrived.max(free).max(self.rename.cycle));
        let renamed = self.rename.take(entered);
        self.rename_blocked.passed(arrived, renamed);
        let mut dispatched = renamed + self.p.rename_to_dispatch_cycles;
        if self.narrow_dispatch {
            dispatched = self.dispatch.take(dispatched);
        }
        Front {
            decoded,
            renamed,
            dispatched,
        }
    }

    /// When the operands are there, at the earliest at `dispatched`.
    #[inline(always)]
    fn operands(&self, micro: &Micro, dispatched: u64) -> u64 {
        let mut operands = dispatched;
        for &source in &micro.sources {
            operands = operands.max(self.ready[usize::from(source) & (REGISTERS - 1)]);
        }
        if micro.flags_read != 0 {
            operands = operands.max(self.flags_ready(micro.flags_read));
        }
        operands
    }

    /// Commits what is done at `done`.
    #[inline(always)]
    fn finish(&mut self, micro: &Micro, done: u64) -> u64 {
        let committed = self.commit.take(done + self.p.execute_to_commit_cycles + 1);
        self.window.push(committed);
        self.write(micro, done, committed);
        committed
    }

    /// What only computes.
    #[inline(never)]
    fn plain(&mut self, micro: &Micro) {
        let front = self.front(micro, 0);
        let operands = self.operands(micro, front.dispatched);
        let issued = self.units.issue(micro.class, operands);
        self.scheduler.leave(issued);
        let latency = self.units.latencies[micro.class as usize];
        self.finish(micro, issued + u64::from(latency));
    }

    /// Loads and stores.
    #[inline(never)]
    fn memory_access(&mut self, micro: &Micro, step: &Step, accesses: &[Access]) {
        let load = micro.is(traits::LOAD);
        let mut again = 0;
        loop {
            let wait = if load {
                self.load_queue.freed() + 1
            } else {
                // The store that frees the entry has been sent, or is now.
                while self.store_count - self.sent_count >= self.store_queue.entries {
                    self.send();
                }
                // The ring holds those that were sent, behind as many as it has entries.
                self.store_queue.times[self.store_count & self.store_queue.mask] + 1
            };
            let front = self.front(micro, wait);
            let mut operands = self
                .operands(micro, front.dispatched)
                .max(self.store_sets.wait(step.address, front.dispatched))
                .max(self.fenced)
                .max(again);
            if micro.is(traits::NON_SPECULATIVE) {
                operands = operands.max(self.oldest(front.dispatched));
            }
            let issued = self.units.issue(micro.class, operands);
            let mut done = issued + 1;
            if load && !micro.is(traits::NO_ACCESS) {
                match self.load(micro, step, accesses, done) {
                    Ok(answered) => done = answered,
                    Err(conflict) => {
                        // It came before a store that it needed: all from it on is fetched again.
                        self.scheduler.leave(conflict);
                        self.window.push(conflict);
                        self.load_queue.push(conflict);
                        self.violations += 1;
                        again = conflict;
                        self.restart(conflict + self.p.execute_to_commit_cycles + 2, true);
                        continue;
                    }
                }
            }
            self.scheduler.leave(done);
            let committed = self.finish(micro, done);
            if load {
                self.load_queue.push(committed);
            } else {
                self.store(micro, step, accesses, issued, done, committed);
            }
            return;
        }
    }

    /// When a micro-op that must be the oldest issues: older stores are done, and commit has found it and told.
    fn oldest(&mut self, dispatched: u64) -> u64 {
        self.send_all();
        dispatched.max(self.commit.cycle + 1).max(self.drained) + 2
    }

    /// Branches, fences, and what serialises.
    #[inline(never)]
    fn special(&mut self, micro: &Micro, step: &Step, taken: bool, target: u64) {
        let mut wait = 0;
        if micro.is(traits::SERIAL_BEFORE) {
            self.send_all();
            wait = self.commit.cycle.max(self.drained) + 1;
        }
        let front = self.front(micro, wait);
        let mut operands = self.operands(micro, front.dispatched);
        if micro.is(traits::NON_SPECULATIVE | traits::FENCE) {
            operands = operands.max(self.oldest(front.dispatched));
        }
        let issued = self.units.issue(micro.class, operands);
        self.scheduler.leave(issued);
        let done = issued + u64::from(self.units.latencies[micro.class as usize]);
        let committed = self.finish(micro, done);
        if micro.is(traits::BRANCH | traits::MICRO_BRANCH) {
            self.branch(micro, step, front, done, taken, target);
        }
        if micro.is(traits::FENCE) {
            self.fenced = done;
        }
        if micro.is(traits::SERIAL_AFTER) {
            self.send_all();
            self.serial = committed.max(self.drained) + 1;
        }
        if micro.is(traits::SYSCALL) {
            self.restart(committed + self.p.trap_cycles + 3, false);
        }
    }

    #[inline(always)]
    fn flags_ready(&self, mask: u8) -> u64 {
        let at = |i: usize| self.ready[(usize::from(FLAGS) + i) & (REGISTERS - 1)];
        if mask == flags::ALL {
            return at(0).max(at(1)).max(at(2)).max(at(3)).max(at(4));
        }
        (0..5)
            .filter(|i| mask >> i & 1 == 1)
            .map(at)
            .max()
            .unwrap_or(0)
    }

    #[inline(always)]
    fn registers_freed(&self, micro: &Micro) -> u64 {
        let mut freed = 0;
        if self.few_integers && micro.destinations[0] < 32 {
            freed = self.integers.freed();
        }
        if self.few_floats && (32..FLAGS).contains(&micro.destinations[0]) {
            freed = freed.max(self.floats.freed());
        }
        if self.few_flags && micro.flags_written != 0 {
            freed = freed.max(self.flag_registers.freed());
        }
        freed + 2
    }

    #[inline(always)]
    fn write(&mut self, micro: &Micro, done: u64, committed: u64) {
        let [a, b, c] = micro.destinations;
        for destination in [a, b, c] {
            self.ready[usize::from(destination) & (REGISTERS - 1)] = done;
        }
        self.ready[usize::from(NONE)] = 0;
        if self.few_integers | self.few_floats {
            for destination in [a, b, c] {
                if destination < 32 {
                    self.integers.push(committed);
                } else if destination < FLAGS {
                    self.floats.push(committed);
                }
            }
        }
        if micro.flags_written != 0 {
            self.write_flags(micro.flags_written, done, committed);
        }
    }

    #[inline(always)]
    fn write_flags(&mut self, mut written: u8, done: u64, committed: u64) {
        const BOTH: u8 = flags::ZAPS | flags::CFOF;
        if written == BOTH && !self.few_flags {
            self.ready[usize::from(FLAGS)] = done;
            self.ready[usize::from(FLAGS) + 1] = done;
            return;
        }
        while written != 0 {
            self.ready
                [(usize::from(FLAGS) + written.trailing_zeros() as usize) & (REGISTERS - 1)] = done;
            written &= written - 1;
            if self.few_flags {
                self.flag_registers.push(committed);
            }
        }
    }

    fn access(micro: &Micro, accesses: &[Access]) -> Option<(u64, u64)> {
        let access = accesses
            .get(usize::from(micro.access))
            .or(accesses.last())
            .filter(|a| a.size > 0)?;
        let address = access.addr.wrapping_add(micro.offset.into());
        Some((address, address.wrapping_add(micro.size.max(1).into())))
    }

    /// Executes a load at `now`: when its value is there, or when the store executes that it should have waited for.
    #[inline]
    fn load(
        &mut self,
        micro: &Micro,
        step: &Step,
        accesses: &[Access],
        now: u64,
    ) -> Result<u64, u64> {
        let Some((address, end)) = Self::access(micro, accesses) else {
            return Ok(now);
        };
        let mut now = now;
        self.send_before(now);
        let granule = |a: u64| (a >> GRANULE_SHIFT) as usize & (GRANULES - 1);
        let newest =
            self.by_granule[granule(address)].max(self.by_granule[granule(end - 1)]) as usize;
        if newest > self.sent_count
            && let Some(answer) = self.search(step, address, end, &mut now, newest)?
        {
            return Ok(answer);
        }
        let done = self.memory.data(step.address, address, now, false, 2);
        if address / LINE == (end - 1) / LINE {
            return Ok(done);
        }
        Ok(done.max(self.memory.data(step.address, end - 1, now, false, 2)))
    }

    /// Looks for stores that the load needs, the youngest first.
    fn search(
        &mut self,
        step: &Step,
        address: u64,
        end: u64,
        now: &mut u64,
        newest: usize,
    ) -> Result<Option<u64>, u64> {
        let mut conflict: Option<Store> = None;
        let mut i = newest;
        while i > self.sent_count {
            i -= 1;
            let store = self.stores[i & (self.stores.len() - 1)];
            if store.end == 0 {
                continue;
            }
            let near = address >> GRANULE_SHIFT <= (store.end - 1) >> GRANULE_SHIFT
                && (end - 1) >> GRANULE_SHIFT >= store.address >> GRANULE_SHIFT;
            if !near {
                continue;
            }
            if store.executed > *now {
                if conflict.is_none_or(|c| store.executed < c.executed) {
                    conflict = Some(store);
                }
                continue;
            }
            if conflict.is_some() || end <= store.address || address >= store.end {
                continue;
            }
            if store.address <= address && end <= store.end {
                self.forwarded += 1;
                return Ok(Some(*now + 1));
            }
            // Part of the value is in the queue: the load tries again once the store has been sent.
            while self.sent_count <= i {
                self.send();
            }
            *now = (*now).max(self.sent + 2);
        }
        match conflict {
            None => Ok(None),
            Some(store) => {
                self.store_sets.met(store.pc, step.address);
                Err(store.executed)
            }
        }
    }

    /// Puts a store into its queue.
    #[inline]
    fn store(
        &mut self,
        micro: &Micro,
        step: &Step,
        accesses: &[Access],
        issued: u64,
        done: u64,
        committed: u64,
    ) {
        self.store_sets.store(step.address, issued, done);
        let access = if micro.is(traits::NO_ACCESS) {
            None
        } else {
            Self::access(micro, accesses)
        };
        let (address, end) = access.unwrap_or((0, 0));
        self.stores[self.store_count & (self.stores.len() - 1)] = Store {
            address,
            end,
            pc: step.address,
            executed: done,
            committed,
        };
        self.store_count += 1;
        if end != 0 {
            let granule = |a: u64| (a >> GRANULE_SHIFT) as usize & (GRANULES - 1);
            self.by_granule[granule(address)] = self.store_count as u64;
            self.by_granule[granule(end - 1)] = self.store_count as u64;
        }
    }

    /// When the oldest store that has not been sent will be.
    #[inline(always)]
    fn next_sent(&self) -> u64 {
        let store = &self.stores[self.sent_count & (self.stores.len() - 1)];
        let sent = (store.committed + 2).max(self.sent);
        if self.total_store_order {
            sent.max(self.drained)
        } else {
            sent
        }
    }

    /// Sends the oldest store that has not been sent.
    fn send(&mut self) {
        let store = self.stores[self.sent_count & (self.stores.len() - 1)];
        self.sent = self.next_sent();
        self.sent_count += 1;
        let mut answered = self.sent;
        if store.end != 0 {
            answered = self
                .memory
                .data(store.pc, store.address, self.sent, true, 0);
            if store.address / LINE != (store.end - 1) / LINE {
                answered =
                    answered.max(
                        self.memory
                            .data(store.pc, store.end - 1, self.sent, true, 0),
                    );
            }
        }
        self.drained = self.drained.max(answered);
        self.store_queue.push(self.drained);
    }

    /// Sends what goes to the cache before this cycle.
    #[inline(always)]
    fn send_before(&mut self, cycle: u64) {
        while self.sent_count < self.store_count && self.next_sent() < cycle {
            self.send();
        }
    }

    fn send_all(&mut self) {
        while self.sent_count < self.store_count {
            self.send();
        }
    }

    #[inline(always)]
    fn branch(
        &mut self,
        micro: &Micro,
        step: &Step,
        front: Front,
        done: u64,
        taken: bool,
        target: u64,
    ) {
        let Front {
            decoded, renamed, ..
        } = front;
        let inside = micro.is(traits::MICRO_BRANCH);
        let kind = if inside {
            BranchKind::Conditional
        } else {
            step.branch
        };
        self.branches += 1;
        let prediction = self
            .predictor
            .branch(kind, step.address, taken, target, step.end);
        if prediction.taken == taken && (!taken || prediction.target == target) {
            // Inside an instruction fetch goes on in the same cycle.
            self.redirected = taken && !inside;
            return;
        }
        self.mispredictions += 1;
        let direct = matches!(
            kind,
            BranchKind::Conditional | BranchKind::Jump | BranchKind::Call
        );
        let seen_at_decode =
            direct && taken && (kind != BranchKind::Conditional || prediction.taken);
        if seen_at_decode {
            self.fetch_ahead(step.end, decoded + 1);
            self.restart(decoded + 2, inside);
            return;
        }
        let cleared = done + self.p.execute_to_commit_cycles;
        if !inside {
            self.fetch_ahead(
                if prediction.taken {
                    prediction.target
                } else {
                    step.end
                },
                cleared + 1,
            );
        }
        self.restart(cleared + 2, inside);
        // Until then the wrong path comes in, as fast as the front end has been, as long as the window has room; then it
        // leaves the window, and only after that rename goes on.
        let (micros, cycles) = self.front_rate;
        let came = (done - renamed) * micros / cycles.max(1);
        let room = self.p.rob_entries - self.window.later_than(done).min(self.p.rob_entries);
        let clearing = came.min(room).div_ceil(self.p.squash_width);
        self.serial = self.serial.max(cleared + clearing + 1);
    }

    fn all(&mut self, micros: &[Micro], step: &Step, accesses: &[Access]) {
        self.micro_ops += micros.len() as u64;
        for micro in micros {
            let taken = micro.is(traits::TAKEN);
            self.micro(micro, step, accesses, taken, inside(step, 1));
        }
    }

    fn step(&mut self, block: &Block, step: &Step, accesses: &[Access], next: u64) {
        self.bring(step.address, step.end, block.micros(step).len());
        let micros = block.micros(step);
        match step.repeats {
            Repeats::Steps { body, tail, steps } => {
                let (body, tail) = (usize::from(body), usize::from(tail));
                self.all(&micros[..body], step, accesses);
                let passes = passes(accesses, steps);
                for pass in 1..=passes {
                    self.all(&micros[body..tail - 1], step, accesses);
                    self.micro_ops += 1;
                    self.micro(
                        &micros[tail - 1],
                        step,
                        accesses,
                        pass < passes,
                        inside(step, body),
                    );
                }
                self.all(&micros[tail..], step, accesses);
            }
            _ if step.branch != BranchKind::None => {
                let taken = step.branch != BranchKind::Conditional || next != step.end;
                self.micro_ops += micros.len() as u64;
                for micro in micros {
                    self.micro(micro, step, accesses, taken, next);
                }
            }
            _ => self.all(micros, step, accesses),
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
        let (body, tail, skip) = (usize::from(body), usize::from(tail), usize::from(skip));
        let top = inside(step, body);
        if self.repeating != step.address {
            self.bring(step.address, step.end, block.micros(step).len());
            let nothing = repeats == 0 && ends;
            self.all(&micros[..skip - 1], step, accesses);
            self.micro_ops += 1;
            self.micro(
                &micros[skip - 1],
                step,
                accesses,
                nothing,
                inside(step, tail),
            );
            if !nothing {
                self.all(&micros[skip..body], step, accesses);
            }
            self.repeating = step.address;
            self.open_branch = false;
        }
        let each = accesses_of(micros, body..tail).max(1);
        let mut groups = accesses.chunks(each);
        for _ in 0..repeats {
            if self.open_branch {
                self.micro_ops += 1;
                self.micro(&micros[tail - 1], step, accesses, true, top);
            }
            self.all(&micros[body..tail - 1], step, groups.next().unwrap_or(&[]));
            self.open_branch = true;
        }
        if ends {
            if self.open_branch {
                self.micro_ops += 1;
                self.micro(&micros[tail - 1], step, accesses, false, top);
            }
            self.all(&micros[tail..], step, accesses);
            self.repeating = NOWHERE;
            self.open_branch = false;
        }
    }
}

/// A target inside the microcode of an instruction: no address of a program.
fn inside(step: &Step, micro: usize) -> u64 {
    step.address | (micro as u64) << 56
}

impl Timing for OutOfOrder {
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
            self.step(block, step, own, retired.next);
        }
        if retired.repeats > 0
            && let Some(step) = block.steps.get(end)
        {
            self.repeat(block, step, accesses, retired.repeats, false);
        }
    }

    fn cycles(&self) -> Option<u64> {
        Some(self.commit.cycle)
    }

    fn frequency_hz(&self) -> u64 {
        self.frequency_hz
    }

    fn micro_ops(&self) -> u64 {
        self.micro_ops
    }

    fn report(&self, parts: &mut BTreeMap<String, u64>) {
        self.memory.report(parts);
        for (name, count) in [
            ("branch.executed", self.branches),
            ("branch.mispredictions", self.mispredictions),
            ("loads.forwarded", self.forwarded),
            ("loads.repeated", self.violations),
        ] {
            parts.insert(name.to_owned(), count);
        }
    }
}

#[cfg(test)]
#[path = "ooo_tests.rs"]
mod tests;
