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
use super::micro::{FLAGS, NONE, REGISTERS, traits};
use super::micro_block::{Step, passes};
use super::packed::{ALL_FLAGS, Block, Packed, file, rare};
use super::predict_gem5::Predictor;
use super::queues::{Blocked, History, Ring, Slot, Stage, behind, cycle, start};
use super::units::{Scheduler, Units};
use super::{Retired, Timing};
use crate::sim::machine::{OutOfOrderCore, Pipeline};
use crate::sim::memory::Access;
use iced_x86::Instruction;
use std::collections::BTreeMap;

const LINE: u64 = 64;
const NOWHERE: u64 = u64::MAX;
/// Stores and loads conflict by this many bytes.
const GRANULE_SHIFT: u32 = 4;
const GRANULES: usize = 1024;

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
    decoded: Slot,
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
    /// What is fetched passes decode and rename without a wait: their state is not kept, see [`Self::starts_flowing`].
    flowing: bool,
    may_flow: bool,
    /// When the latest micro-op that passed so was fetched.
    flowed: Slot,
    /// The number of the micro-op that comes next; those that come again have a new one.
    number: usize,
    fetch_queue: History,
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
    /// From stage to stage, as distances between slots.
    fetch_to_decode: Slot,
    decode_to_rename: Slot,
    dispatch: Stage,
    /// Dispatch takes fewer than rename gives, and registers may run out before the window does: else there is nothing
    /// to keep.
    narrow_dispatch: bool,
    few_registers: bool,
    few_flags: bool,
    commit: Stage,
    window: History,
    scheduler: Scheduler,
    load_queue: Ring,
    store_queue: Ring,
    /// By stock, see [`Packed::file`]; those of no stock are so many that the window is full before they are used up.
    registers: [Ring; 3],
    flag_registers: Ring,
    units: Units,
    ready: [u64; REGISTERS],
    /// When the groups of flags are ready that arithmetic does not write.
    other_flags: u64,
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
    serial: Slot,
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
        let few_integers = p.spare_integer_registers < p.rob_entries;
        let few_floats = p.spare_float_registers < p.rob_entries;
        let stock = |few, spare| Ring::new(if few { spare } else { p.rob_entries + 64 });
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
            flowing: false,
            may_flow: p.fetch_width <= p.decode_width
                && p.decode_width <= p.rename_width
                && p.fetch_width <= p.fetch_queue_entries,
            flowed: 0,
            number: 0,
            fetch_queue: History::new(p.fetch_queue_entries),
            to_decode: Stage::new(p.decode_width),
            decode: Stage::new(p.decode_width),
            decode_blocked: Blocked::new(),
            rename: Stage::new(p.rename_width),
            rename_blocked: Blocked::new(),
            front_rate: (4, 1),
            group: 0,
            fetch_to_decode: start(p.fetch_to_decode_cycles),
            decode_to_rename: start(p.decode_to_rename_cycles),
            fetch_latency: core.memory.l1i.tag_cycles.max(core.memory.l1i.data_cycles),
            dispatch: Stage::new(p.dispatch_width),
            narrow_dispatch: p.dispatch_width < p.rename_width,
            few_registers: few_integers | few_floats,
            few_flags: p.spare_flag_registers < 3 * p.rob_entries,
            commit: Stage::new(p.commit_width),
            window: History::new(p.rob_entries),
            scheduler: Scheduler::new(p.scheduler_entries),
            load_queue: Ring::new(p.load_queue_entries),
            store_queue: Ring::new(p.store_queue_entries),
            registers: [
                stock(false, 0),
                stock(few_integers, p.spare_integer_registers),
                stock(few_floats, p.spare_float_registers),
            ],
            flag_registers: Ring::new(p.spare_flag_registers),
            units: Units::new(core),
            ready: [0; REGISTERS],
            other_flags: 0,
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
            self.request(first, self.fetch.cycle());
        } else if self.redirected {
            self.fetch.restart(self.fetch.cycle() + 1);
            self.starts_flowing();
            self.end_group(0);
        }
        self.redirected = false;
        self.group += micros as u64;
        let last = (end - 1) & !(bytes - 1);
        if last != first {
            // If the first cycle is full, its bytes are looked at in the next only.
            self.request(last, self.fetch.next_cycle());
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
    fn request(&mut self, line: u64, at: u64) {
        self.end_group(self.fetch_latency - 1);
        let ready = self.memory.access(Side::Instruction, line, at, false, 0);
        self.buffer = line;
        self.fetch.restart(ready);
        self.starts_flowing();
    }

    /// The wrong path asks for its lines, one after the other, until it is stopped: programs often need them later.
    fn fetch_ahead(&mut self, address: u64, until: u64) {
        let bytes = self.p.fetch_buffer_bytes;
        let mut line = address & !(bytes - 1);
        let mut cycle = self.fetch.cycle();
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
        self.fetch.restart(cycle);
        self.redirected = false;
        if !inside {
            self.buffer = NOWHERE;
        }
    }

    /// Passes one micro-op through the pipeline. `taken` and `target` are for branches.
    #[inline(always)]
    fn micro(
        &mut self,
        micro: &Packed,
        step: &Step,
        accesses: &[Access],
        taken: bool,
        target: u64,
    ) {
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
    fn front(&mut self, micro: &Packed, wait: u64) -> Front {
        let number = self.number;
        let free = start(wait)
            .max(self.window.freed(number))
            .max(self.serial)
            .max(self.registers_freed(micro));
        let (decoded, renamed) = 'renamed: {
            if self.flowing {
                let fetched = self.fetch.take(0);
                let decoded = fetched + self.fetch_to_decode;
                let renamed = decoded + self.decode_to_rename;
                if free <= renamed && self.scheduler.is_free(number, renamed) {
                    self.flowed = fetched;
                    break 'renamed (decoded, renamed);
                }
                self.stop_flowing();
                break 'renamed self.pass(fetched, free);
            }
            let fetched = self.fetch.take(self.fetch_queue.freed(number));
            self.pass(fetched, free)
        };
        let renamed = cycle(renamed);
        let mut dispatched = renamed + self.p.rename_to_dispatch_cycles;
        if self.narrow_dispatch {
            dispatched = cycle(self.dispatch.take(start(dispatched)));
        }
        Front {
            decoded,
            renamed,
            dispatched,
        }
    }

    /// Decode and rename, where they may hold up what was fetched; rename has what it needs at `free`.
    #[inline(never)]
    fn pass(&mut self, fetched: Slot, free: Slot) -> (Slot, Slot) {
        let number = self.number;
        let left = self
            .decode_blocked
            .sent(fetched.max(self.to_decode.latest()), self.decode.latest());
        let left = self.to_decode.take(left);
        self.fetch_queue.set(number, behind(left));
        let arrived = left + self.fetch_to_decode;
        let decoded = self
            .rename_blocked
            .sent(arrived.max(self.decode.latest()), self.rename.latest());
        let decoded = self.decode.take(decoded);
        self.decode_blocked.passed(arrived, decoded);
        let arrived = decoded + self.decode_to_rename;
        let free = arrived.max(free);
        let before = self.rename.latest();
        let mut renamed = self.rename.take(free);
        if !self.scheduler.is_free(number, renamed) {
            let entered = self.scheduler.wait(number, cycle(free.max(before)));
            renamed = self.rename.postpone(renamed, start(entered));
        }
        self.rename_blocked.passed(arrived, renamed);
        (decoded, renamed)
    }

    /// Whether what is fetched from `slot` on passes decode and rename without a wait, unless rename lacks something: all
    /// before it has left them, they are no narrower than fetch, and the fetch queue cannot fill.
    #[inline(always)]
    fn starts_flowing(&mut self) {
        if !self.flowing && self.may_flow {
            let fetched = self.fetch.latest();
            let decoded = fetched + self.fetch_to_decode;
            let renamed = decoded + self.decode_to_rename;
            if fetched >= behind(self.to_decode.latest()).max(behind(self.decode.latest()))
                && decoded >= behind(self.decode.latest()).max(behind(self.rename.latest()))
                && renamed >= behind(self.rename.latest())
                && self.decode_blocked.is_over(fetched)
                && self.rename_blocked.is_over(decoded)
            {
                self.flowing = true;
                self.flowed = 0;
                self.decode_blocked = Blocked::new();
                self.rename_blocked = Blocked::new();
            }
        }
    }

    /// Gives the stages the state in which the latest micro-op left them.
    fn stop_flowing(&mut self) {
        self.flowing = false;
        let fetched = self.flowed;
        if fetched > 0 {
            self.to_decode.take(fetched);
            let decoded = fetched + self.fetch_to_decode;
            self.decode.take(decoded);
            self.rename.take(decoded + self.decode_to_rename);
        }
    }

    /// When the operands are there, at the earliest at `dispatched`.
    #[inline(always)]
    fn operands(&self, micro: &Packed, dispatched: u64) -> u64 {
        let ready = |register: u8| self.ready[usize::from(register) & (REGISTERS - 1)];
        let [a, b, c, d, e] = micro.sources;
        let operands = dispatched.max(ready(a)).max(ready(b));
        let operands = operands.max(ready(c)).max(ready(micro.flags));
        if micro.rare & (rare::SOURCES | rare::FLAGS_READ) == 0 {
            return operands;
        }
        let groups = (0..5).filter(|i| micro.flags_read >> i & 1 == 1);
        let flags = groups.map(|i| ready(FLAGS + i)).max().unwrap_or(0);
        operands.max(ready(d)).max(ready(e)).max(flags)
    }

    /// Commits what is done at `done`.
    #[inline(always)]
    fn finish(&mut self, micro: &Packed, done: u64) -> u64 {
        let slot = self
            .commit
            .take(start(done + self.p.execute_to_commit_cycles + 1));
        let committed = cycle(slot);
        self.window.set(self.number, behind(slot));
        self.number += 1;
        self.write(micro, done, committed);
        committed
    }

    /// What only computes.
    #[inline(never)]
    fn plain(&mut self, micro: &Packed) {
        let front = self.front(micro, 0);
        let operands = self.operands(micro, front.dispatched);
        let issued = self.units.issue(&micro.needs, operands);
        self.scheduler.leave(self.number, front.renamed, issued);
        let latency = micro.needs.latency;
        self.finish(micro, issued + u64::from(latency));
    }

    /// Loads and stores.
    #[inline(never)]
    fn memory_access(&mut self, micro: &Packed, step: &Step, accesses: &[Access]) {
        let load = micro.is(traits::LOAD);
        let mut again = 0;
        loop {
            let wait = if load {
                self.load_queue.freed() + 1
            } else {
                // The store that frees the entry has been sent, or is now.
                while self.store_count - self.sent_count >= self.store_queue.entries() {
                    self.send();
                }
                // The ring holds those that were sent, behind as many as it has entries.
                self.store_queue.ahead(self.store_count - self.sent_count) + 1
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
            let issued = self.units.issue(&micro.needs, operands);
            let mut done = issued + 1;
            if load && !micro.is(traits::NO_ACCESS) {
                match self.load(micro, step, accesses, done) {
                    Ok(answered) => done = answered,
                    Err(conflict) => {
                        // It came before a store that it needed: all from it on is fetched again.
                        self.scheduler.leave(self.number, front.renamed, conflict);
                        self.window.set(self.number, start(conflict + 1));
                        self.number += 1;
                        self.load_queue.push(conflict);
                        self.violations += 1;
                        again = conflict;
                        self.restart(conflict + self.p.execute_to_commit_cycles + 2, true);
                        continue;
                    }
                }
            }
            self.scheduler.leave(self.number, front.renamed, done);
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
        dispatched.max(self.commit.cycle() + 1).max(self.drained) + 2
    }

    /// Branches, fences, and what serialises.
    #[inline(never)]
    fn special(&mut self, micro: &Packed, step: &Step, taken: bool, target: u64) {
        let mut wait = 0;
        if micro.is(traits::SERIAL_BEFORE) {
            self.send_all();
            wait = self.commit.cycle().max(self.drained) + 1;
        }
        let front = self.front(micro, wait);
        let mut operands = self.operands(micro, front.dispatched);
        if micro.is(traits::NON_SPECULATIVE | traits::FENCE) {
            operands = operands.max(self.oldest(front.dispatched));
        }
        let issued = self.units.issue(&micro.needs, operands);
        self.scheduler.leave(self.number, front.renamed, issued);
        let done = issued + u64::from(micro.needs.latency);
        let committed = self.finish(micro, done);
        if micro.is(traits::BRANCH | traits::MICRO_BRANCH) {
            self.branch(micro, step, front, done, taken, target);
        }
        if micro.is(traits::FENCE) {
            self.fenced = done;
        }
        if micro.is(traits::SERIAL_AFTER) {
            self.send_all();
            self.serial = start(committed.max(self.drained) + 1);
        }
        if micro.is(traits::SYSCALL) {
            self.restart(committed + self.p.trap_cycles + 3, false);
        }
    }

    #[inline(always)]
    fn registers_freed(&self, micro: &Packed) -> u64 {
        let mut freed = 0;
        if self.few_registers {
            freed = self.registers[usize::from(micro.file) % 3].freed();
        }
        if self.few_flags && micro.flags_written != 0 {
            freed = freed.max(self.flag_registers.freed());
        }
        start(freed + 2)
    }

    #[inline(always)]
    fn write(&mut self, micro: &Packed, done: u64, committed: u64) {
        self.ready[usize::from(micro.destinations[0]) & (REGISTERS - 1)] = done;
        let flags = usize::from(micro.flags_to);
        self.ready[flags & (REGISTERS - 1)] = done;
        self.ready[(flags + 1) & (REGISTERS - 1)] = done;
        self.ready[(flags + 6) & (REGISTERS - 1)] = done.max(self.other_flags);
        if self.few_registers {
            self.registers[usize::from(micro.file) % 3].push(committed);
        }
        if self.few_flags | (micro.rare & (rare::DESTINATIONS | rare::FLAGS_WRITTEN) != 0) {
            self.write_more(micro, done, committed);
        }
    }

    #[inline(never)]
    fn write_more(&mut self, micro: &Packed, done: u64, committed: u64) {
        for register in micro.destinations[1..].iter().filter(|&&r| r != NONE) {
            self.ready[usize::from(*register) & (REGISTERS - 1)] = done;
            if self.few_registers && file(*register) != 0 {
                self.registers[file(*register)].push(committed);
            }
        }
        let groups = (0..5).filter(|i| micro.flags_written >> i & 1 == 1);
        for group in groups {
            self.ready[usize::from(FLAGS) + group] = done;
            if self.few_flags {
                self.flag_registers.push(committed);
            }
        }
        let at = |i: usize| self.ready[usize::from(FLAGS) + i];
        self.other_flags = at(2).max(at(3)).max(at(4));
        self.ready[usize::from(ALL_FLAGS)] = self.other_flags.max(at(0)).max(at(1));
    }

    fn access(micro: &Packed, accesses: &[Access]) -> Option<(u64, u64)> {
        let access = accesses
            .get(usize::from(micro.access))
            .or(accesses.last())
            .filter(|a| a.size > 0)?;
        let address = access.addr.wrapping_add(micro.offset.into());
        Some((address, address.wrapping_add(micro.size.into())))
    }

    /// Executes a load at `now`: when its value is there, or when the store executes that it should have waited for.
    #[inline]
    fn load(
        &mut self,
        micro: &Packed,
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
        micro: &Packed,
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
        micro: &Packed,
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
            let decoded = cycle(decoded);
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
        let room = self.p.rob_entries - self.window.later_than(self.number, start(done + 1));
        let clearing = came.min(room).div_ceil(self.p.squash_width);
        self.serial = self.serial.max(start(cleared + clearing + 1));
    }

    fn all(&mut self, micros: &[Packed], step: &Step, accesses: &[Access]) {
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
        let each = micros[body..tail]
            .iter()
            .filter(|m| m.is(traits::LOAD | traits::STORE));
        let each = each.count().max(1);
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
        Block::new(instructions, &self.units)
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
        Some(self.commit.cycle())
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
