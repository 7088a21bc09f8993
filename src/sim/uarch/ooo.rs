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
use super::micro::{FLAGS, NONE, traits};
use super::micro_block::{Step, passes};
use super::packed::{
    ARITHMETIC_FLAGS, Block, Demand, FEW_SOURCES, OTHER_FLAGS, Packed, RARE, SIMPLE_SOURCES, file,
    rare,
};
use super::predict_gem5::{Prediction, Predictor, SHIFT};
use super::queues::{
    Blocked, Divider, History, Ring, Slot, Source, Stage, Window, behind, cycle, start,
};
use super::stores::{Found, Span, Store, StoreSets, Stores};
use super::units::{Scheduler, Units};
use super::{Retired, Timing};
use crate::sim::machine::{OutOfOrderCore, Pipeline};
use crate::sim::memory::Access;
use iced_x86::Instruction;
use std::collections::BTreeMap;

const LINE: u64 = 64;
/// Bytes from the first byte of the quarter word in which a branch begins to its end, at most.
const LONGEST_BRANCH: u64 = (1 << SHIFT) - 1 + 15;
const NOWHERE: u64 = u64::MAX;
/// A power of two, so that no bound is checked; the last stands for nothing.
const STOCKS: usize = 4;
/// As many times of registers as a [`super::micro::Reg`] can name, and eight behind it, so that no bound is checked.
const REGISTERS: usize = (1 << 8) + 8;

/// The core with its caches and predictors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    frequency_hz: u64,
    p: Pipeline,
    memory: Hierarchy,
    predictor: Predictor,
    micro_ops: u64,

    fetch: Source,
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
    /// While what is fetched flows: micro-ops before this number find all that rename needs, see [`Self::look_ahead`].
    clear: usize,
    /// From this number on the times in the window ascend.
    ascending: usize,
    fetch_queue: History,
    to_decode: Stage,
    decode: Stage,
    decode_blocked: Blocked,
    rename: Stage,
    rename_blocked: Blocked,
    /// Micro-ops and cycles of the front end alone, for the rate at which the wrong path comes.
    front_rate: (u64, u64),
    /// Cycles that so many micro-ops take to fetch.
    fetch_groups: Divider,
    /// Micro-ops since the latest taken branch or end of a line, and cycles from the request of a line to its use.
    group: u64,
    fetch_latency: u64,
    /// From stage to stage, as distances between slots.
    fetch_to_decode: Slot,
    decode_to_rename: Slot,
    fetch_to_rename_cycles: u64,
    dispatch: Stage,
    /// Dispatch takes fewer than rename gives, and registers may run out before the window does: else there is nothing
    /// to keep.
    narrow_dispatch: bool,
    few_registers: bool,
    few_flags: bool,
    /// Most micro-ops for which [`Self::look_ahead`] can answer.
    most_ahead: usize,
    commit: Stage,
    window: Window,
    /// From execution to commitment.
    to_commit: Slot,
    scheduler: Scheduler,
    load_queue: Ring,
    /// By stock, see [`Packed::file`]; those of no stock are so many that the window is full before they are used up.
    registers: [Ring; STOCKS],
    flag_registers: Ring,
    units: Units,
    ready: [u64; REGISTERS],
    stores: Stores,
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
        let narrow_dispatch = p.dispatch_width < p.rename_width;
        let few_flags = p.spare_flag_registers < 3 * p.rob_entries;
        let stock = |few, spare| Ring::new(if few { spare } else { p.rob_entries + 64 });
        Self {
            frequency_hz: core.frequency_hz,
            p,
            memory: Hierarchy::new(&core.memory, core.frequency_hz),
            predictor: Predictor::new(&core.predictor, core.directions),
            micro_ops: 0,
            fetch: Source::new(p.fetch_width),
            buffer: NOWHERE,
            redirected: false,
            flowing: false,
            may_flow: p.fetch_width <= p.decode_width
                && p.decode_width <= p.rename_width
                && p.fetch_width <= p.fetch_queue_entries,
            flowed: 0,
            number: 0,
            clear: 0,
            ascending: 0,
            fetch_queue: History::new(p.fetch_queue_entries),
            to_decode: Stage::new(p.decode_width),
            decode: Stage::new(p.decode_width),
            decode_blocked: Blocked::new(),
            rename: Stage::new(p.rename_width),
            rename_blocked: Blocked::new(),
            front_rate: (4, 1),
            fetch_groups: Divider::new(p.fetch_width),
            group: 0,
            fetch_to_decode: start(p.fetch_to_decode_cycles),
            decode_to_rename: start(p.decode_to_rename_cycles),
            fetch_to_rename_cycles: p.fetch_to_decode_cycles + p.decode_to_rename_cycles,
            most_ahead: if few_flags || narrow_dispatch {
                0
            } else {
                p.rob_entries.min(p.scheduler_entries) as usize
            },
            fetch_latency: core.memory.l1i.tag_cycles.max(core.memory.l1i.data_cycles),
            dispatch: Stage::new(p.dispatch_width),
            narrow_dispatch,
            few_registers: few_integers | few_floats,
            few_flags,
            commit: Stage::new(p.commit_width),
            window: Window::new(p.rob_entries, p.scheduler_entries),
            to_commit: start(p.execute_to_commit_cycles + 1),
            scheduler: Scheduler::new(p.scheduler_entries),
            load_queue: Ring::new(p.load_queue_entries),
            registers: [
                stock(false, 0),
                stock(few_integers, p.spare_integer_registers),
                stock(few_floats, p.spare_float_registers),
                Ring::new(1),
            ],
            flag_registers: Ring::new(p.spare_flag_registers),
            units: Units::new(core),
            ready: [0; REGISTERS],
            stores: Stores::new(p.store_queue_entries, core.total_store_order),
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
    fn bring(&mut self, address: u64, end: u64, micros: u64) {
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
        self.group += micros;
        let last = (end - 1) & !(bytes - 1);
        if last != first {
            // If the first cycle is full, its bytes are looked at in the next only.
            self.request(last, cycle(self.fetch.next()));
        }
    }

    /// What is fetched up to a taken branch or the end of a line takes as many cycles as it fills, and `more`.
    #[inline(always)]
    fn end_group(&mut self, more: u64) {
        let (micros, cycles) = self.front_rate;
        let group = self.fetch_groups.div_ceil(self.group).max(1) + more;
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

    /// Whether a wrong path from `address` on, fetched at full width from `from` on, is stopped at `until` before it leaves the line in
    /// the fetch buffer. It follows the branches that the target buffer knows, as if all were taken.
    fn stays(&self, address: u64, from: u64, until: u64) -> bool {
        // Two bytes a micro-op, as above.
        let bytes = 2 * self.p.fetch_width;
        let first = |address: u64| address & !(self.p.fetch_buffer_bytes - 1);
        let mut at = address;
        for _ in from..until {
            if first(at) != self.buffer {
                return false;
            }
            let mut quarters = (at & !((1 << SHIFT) - 1)..at + bytes).step_by(1 << SHIFT);
            let branch = quarters.find_map(|near| {
                let (end, target) = self.predictor.known(near)?;
                // Neither one that fetch has passed nor one far away that has the same tag.
                (near + end > at && end <= LONGEST_BRANCH).then_some((near + end, target))
            });
            let end;
            (end, at) = branch.unwrap_or((at + bytes, at + bytes));
            if first(end - 1) != self.buffer {
                return false;
            }
        }
        first(at) == self.buffer
    }

    /// Fetch starts again at `cycle`.
    fn restart(&mut self, cycle: u64, inside: bool) {
        self.fetch.restart(cycle);
        self.redirected = false;
        if !inside {
            self.buffer = NOWHERE;
        }
    }

    /// Whether the next micro-ops, as many as these, surely find room in window and scheduler and registers when they
    /// reach rename: then none of them has to look.
    ///
    /// All of these times ascend, as rename is in order: what the last of them needs, once the first gets there, is
    /// enough.
    #[inline(always)]
    fn look_ahead(&mut self, demand: &Demand) {
        let count = demand.micros as usize;
        if self.flowing && count <= self.most_ahead && self.number >= self.ascending {
            let last = self.number + count - 1;
            let renamed = cycle(self.fetch.next()) + self.fetch_to_rename_cycles;
            if self.window.freed(last) < start(renamed)
                && self.window.schedulable(last) <= renamed
                && self.serial <= start(renamed)
                && (!self.few_registers || self.registers_ahead(demand, renamed))
            {
                self.clear = last + 1;
            }
        }
    }

    /// Whether the stocks surely have what is needed, in this cycle. Stock 0 has: it is larger than the window by more
    /// than commits in a cycle.
    #[inline(always)]
    fn registers_ahead(&self, demand: &Demand, renamed: u64) -> bool {
        self.stock_ahead(1, demand, renamed) && self.stock_ahead(2, demand, renamed)
    }

    #[inline(always)]
    fn stock_ahead(&self, stock: usize, demand: &Demand, renamed: u64) -> bool {
        let count = usize::from(demand.stocks[stock]);
        let ring = &self.registers[stock];
        count == 0 || count <= ring.entries() && ring.ahead(count - 1) + 2 <= renamed
    }

    /// Fetch, decode, rename and dispatch, in the cycle of which it arrives. Rename does not come before `wait`.
    #[inline(always)]
    fn front(&mut self, micro: &Packed, wait: u64) -> u64 {
        if self.number < self.clear {
            let renamed = cycle(self.fetch.next()) + self.fetch_to_rename_cycles;
            if wait <= renamed {
                self.flowed = self.fetch.take(0);
                return renamed + self.p.rename_to_dispatch_cycles;
            }
        }
        self.looking_apart(micro, wait)
    }

    /// The same, where something may hold the micro-op up. Not part of its callers, whose own values it would displace.
    #[inline(never)]
    fn looking_apart(&mut self, micro: &Packed, wait: u64) -> u64 {
        self.looking(micro, wait)
    }

    #[inline(always)]
    fn looking(&mut self, micro: &Packed, wait: u64) -> u64 {
        let number = self.number;
        let free = start(wait)
            .max(behind(self.window.freed(number)))
            .max(self.serial)
            .max(self.registers_freed(micro));
        let renamed = 'renamed: {
            let fetched = if self.flowing {
                let fetched = self.fetch.take(0);
                let renamed = fetched + self.fetch_to_decode + self.decode_to_rename;
                if free <= renamed && self.window.schedulable(number) <= cycle(renamed) {
                    self.flowed = fetched;
                    break 'renamed renamed;
                }
                self.stop_flowing();
                fetched
            } else {
                self.fetch.take(self.fetch_queue.freed(number))
            };
            self.pass(fetched, free)
        };
        let dispatched = cycle(renamed) + self.p.rename_to_dispatch_cycles;
        if self.narrow_dispatch {
            return cycle(self.dispatch.take(start(dispatched)));
        }
        dispatched
    }

    /// When the latest micro-op was decoded.
    fn decoded(&self) -> u64 {
        if self.flowing {
            cycle(self.flowed + self.fetch_to_decode)
        } else {
            self.decode.cycle()
        }
    }

    /// When the latest micro-op was renamed.
    fn renamed(&self) -> u64 {
        if self.flowing {
            cycle(self.flowed) + self.fetch_to_rename_cycles
        } else {
            self.rename.cycle()
        }
    }

    /// Decode and rename, where they may hold up what was fetched; rename has what it needs at `free`.
    #[inline(always)]
    fn pass(&mut self, fetched: Slot, free: Slot) -> Slot {
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
        if self.window.schedulable(number) > cycle(renamed) {
            let entered = self.scheduler.wait(number, cycle(free.max(before)));
            renamed = self.rename.postpone(renamed, start(entered));
        }
        self.rename_blocked.passed(arrived, renamed);
        renamed
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
        self.clear = 0;
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
        let (few, more) = micro.sources.split_at(FEW_SOURCES);
        let latest = |operands: u64, &source: &u8| operands.max(self.ready[usize::from(source)]);
        let operands = few.iter().fold(dispatched, latest);
        if micro.rare & rare::SOURCES == 0 {
            return operands;
        }
        more.iter().fold(operands, latest)
    }

    /// Takes a micro-op out of the scheduler at `left`, and commits what is done at `done`.
    #[inline(always)]
    fn finish(&mut self, micro: &Packed, left: u64, done: u64) -> u64 {
        let committed = self.commit(left, done);
        self.write(micro, done, committed);
        if micro.rare & rare::WRITES != 0 {
            self.write_more(micro, done, committed);
        }
        committed
    }

    #[inline(always)]
    fn commit(&mut self, left: u64, done: u64) -> u64 {
        let number = self.number;
        let left = self.leave(left);
        let slot = self.commit.take(start(done) + self.to_commit);
        let committed = cycle(slot);
        self.window.set(number, slot, left);
        self.number = number + 1;
        committed
    }

    #[inline(always)]
    fn leave(&mut self, cycle: u64) -> u64 {
        let mut cycle = cycle;
        if !self.scheduler.reaches(cycle) {
            cycle = self.scheduler.catch_up(self.renamed(), cycle);
        }
        self.scheduler.leave(cycle)
    }

    /// What only computes and is nothing rare.
    #[inline(always)]
    fn simple(&mut self, micro: &Packed) {
        let dispatched = self.front_inside(micro);
        let sources = micro.sources[..SIMPLE_SOURCES].iter();
        let operands = sources.fold(dispatched, |operands, &source| {
            operands.max(self.ready[usize::from(source)])
        });
        let issued = self.units.issue_pipelined(micro.class, operands);
        let done = issued + u64::from(micro.latency);
        let committed = self.commit(issued, done);
        self.write(micro, done, committed);
    }

    /// What only computes.
    #[inline(never)]
    fn plain(&mut self, micro: &Packed) {
        let dispatched = self.front_inside(micro);
        let operands = self.operands(micro, dispatched);
        let issued = self.units.issue(micro.class, operands);
        self.finish(micro, issued, issued + u64::from(micro.latency));
    }

    /// [`Self::front`] for what waits for nothing of its own, as part of its caller.
    #[inline(always)]
    fn front_inside(&mut self, micro: &Packed) -> u64 {
        if self.number < self.clear {
            self.front(micro, 0)
        } else {
            self.looking(micro, 0)
        }
    }

    /// Loads and stores of the instruction at `pc`.
    #[inline(never)]
    fn memory_access(&mut self, micro: &Packed, pc: u64, access: Option<&Access>) {
        let span = span(micro, access);
        if micro.is(traits::LOAD) {
            self.load(micro, pc, span);
        } else {
            self.store(micro, pc, span);
        }
    }

    #[inline(always)]
    fn load(&mut self, micro: &Packed, pc: u64, span: Option<Span>) {
        let mut again = 0;
        loop {
            let wait = self.load_queue.freed() + 1;
            let dispatched = self.front(micro, wait);
            let operands = self.operands(micro, dispatched).max(again);
            let issued = self.issue_access(micro, pc, dispatched, operands);
            match self.look_up(pc, span, issued + 1) {
                Ok(done) => {
                    let committed = self.finish(micro, done, done);
                    self.load_queue.push(committed);
                    return;
                }
                Err(conflict) => {
                    self.load_again(conflict);
                    again = conflict;
                }
            }
        }
    }

    /// A load came before a store that it needed, which executes at `conflict`: all from it on is fetched again.
    #[cold]
    #[inline(never)]
    fn load_again(&mut self, conflict: u64) {
        let left = self.leave(conflict);
        self.window.set(self.number, start(conflict), left);
        self.number += 1;
        self.clear = 0;
        self.ascending = self.number + self.window.entries();
        self.load_queue.push(conflict);
        self.violations += 1;
        self.restart(conflict + self.p.execute_to_commit_cycles + 2, true);
    }

    #[inline(always)]
    fn store(&mut self, micro: &Packed, pc: u64, span: Option<Span>) {
        let wait = self.stores.freed(&mut self.memory) + 1;
        let dispatched = self.front(micro, wait);
        let operands = self.operands(micro, dispatched);
        let issued = self.issue_access(micro, pc, dispatched, operands);
        let executed = issued + 1;
        let committed = self.finish(micro, executed, executed);
        self.store_sets.store(pc, issued, executed);
        let (address, end) = span.unwrap_or((0, 0));
        self.stores.push(Store {
            address,
            end,
            pc,
            executed,
            committed,
        });
    }

    /// Issues a load or store that has its operands.
    #[inline(always)]
    fn issue_access(&mut self, micro: &Packed, pc: u64, dispatched: u64, operands: u64) -> u64 {
        let mut operands = operands
            .max(self.store_sets.wait(pc, dispatched))
            .max(self.fenced);
        if micro.is(traits::NON_SPECULATIVE) {
            operands = operands.max(self.oldest(dispatched));
        }
        self.units.issue(micro.class, operands)
    }

    /// When the value of a load that executes at `now` is there, or when the store executes that it should have waited
    /// for.
    #[inline(always)]
    fn look_up(&mut self, pc: u64, span: Option<Span>, mut now: u64) -> Result<u64, u64> {
        let Some((address, end)) = span else {
            return Ok(now);
        };
        self.stores.send_before(now, &mut self.memory);
        match self.stores.find((address, end), &mut now, &mut self.memory) {
            Found::Nothing => {}
            Found::Value => {
                self.forwarded += 1;
                return Ok(now + 1);
            }
            Found::Conflict {
                executed,
                pc: store,
            } => {
                self.store_sets.met(store, pc);
                return Err(executed);
            }
        }
        let done = self.memory.data(pc, address, now, false, 2);
        if address / LINE == (end - 1) / LINE {
            return Ok(done);
        }
        Ok(self.look_up_rest(pc, end - 1, now, done))
    }

    /// The part of a load that lies in the next line.
    #[inline(never)]
    fn look_up_rest(&mut self, pc: u64, last: u64, now: u64, done: u64) -> u64 {
        done.max(self.memory.data(pc, last, now, false, 2))
    }

    /// When a micro-op that must be the oldest issues: older stores are done, and commit has found it and told.
    #[inline(never)]
    fn oldest(&mut self, dispatched: u64) -> u64 {
        self.stores.send_all(&mut self.memory);
        let committed = self.commit.cycle() + 1;
        dispatched.max(committed).max(self.stores.drained()) + 2
    }

    /// Branches, fences, and what serialises.
    #[inline(never)]
    fn special(&mut self, micro: &Packed, step: &Step, taken: bool, target: u64) {
        let mut wait = 0;
        if micro.is(traits::SERIAL_BEFORE) {
            self.stores.send_all(&mut self.memory);
            wait = self.commit.cycle().max(self.stores.drained()) + 1;
        }
        let dispatched = self.front(micro, wait);
        let mut operands = self.operands(micro, dispatched);
        if micro.is(traits::NON_SPECULATIVE | traits::FENCE) {
            operands = operands.max(self.oldest(dispatched));
        }
        let issued = self.units.issue(micro.class, operands);
        let mut done = issued + u64::from(micro.latency);
        if micro.is(traits::SYSCALL) {
            // A fault: taken first of a cycle, and with all stores answered.
            self.stores.send_all(&mut self.memory);
            let earliest = (self.commit.cycle() + 1).max(self.stores.drained());
            done = done.max(earliest.saturating_sub(cycle(self.to_commit)));
        }
        let committed = self.finish(micro, issued, done);
        if micro.is(traits::BRANCH | traits::MICRO_BRANCH) {
            self.branch(micro, step, done, taken, target);
        }
        if micro.is(traits::FENCE) {
            self.fenced = done;
        }
        if micro.is(traits::SERIAL_AFTER) {
            self.stores.send_all(&mut self.memory);
            self.serial = start(committed.max(self.stores.drained()) + 1);
            self.clear = 0;
        }
        if micro.is(traits::SYSCALL) {
            self.restart(committed + self.p.trap_cycles + 4, false);
        }
    }

    #[inline(always)]
    fn registers_freed(&self, micro: &Packed) -> u64 {
        let mut freed = 0;
        if self.few_registers {
            freed = self.registers[usize::from(micro.file) % STOCKS].freed();
        }
        if self.few_flags && micro.flags_written != 0 {
            freed = freed.max(self.flag_registers.freed());
        }
        start(freed + 2)
    }

    #[inline(always)]
    fn write(&mut self, micro: &Packed, done: u64, committed: u64) {
        self.ready[usize::from(micro.destinations[0])] = done;
        let flags = usize::from(micro.flags_to);
        self.ready[flags] = done;
        self.ready[flags + 1] = done;
        self.ready[flags + 6] = done;
        if self.few_registers {
            self.registers[usize::from(micro.file) % STOCKS].push(committed);
        }
    }

    #[inline(never)]
    fn write_more(&mut self, micro: &Packed, done: u64, committed: u64) {
        for register in micro.destinations[1..].iter().filter(|&&r| r != NONE) {
            self.ready[usize::from(*register)] = done;
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
        let (arithmetic, other) = (at(0).max(at(1)), at(2).max(at(3)).max(at(4)));
        self.ready[usize::from(ARITHMETIC_FLAGS)] = arithmetic;
        self.ready[usize::from(OTHER_FLAGS)] = other;
    }

    #[inline(always)]
    fn branch(&mut self, micro: &Packed, step: &Step, done: u64, taken: bool, target: u64) {
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
        // What matters is where fetch goes: to the next instruction also a jump goes that nobody saw.
        if prediction.target == (if taken { target } else { step.end }) {
            // Inside an instruction fetch goes on in the same cycle.
            self.redirected = taken && !inside;
        } else {
            self.mispredicted(step, kind, inside, done, taken, prediction);
        }
    }

    /// A branch that is done at `done` was taken for another one.
    #[inline(never)]
    fn mispredicted(
        &mut self,
        step: &Step,
        kind: BranchKind,
        inside: bool,
        done: u64,
        taken: bool,
        prediction: Prediction,
    ) {
        self.mispredictions += 1;
        let direct = matches!(
            kind,
            BranchKind::Conditional | BranchKind::Jump | BranchKind::Call
        );
        let seen_at_decode =
            direct && taken && (kind != BranchKind::Conditional || prediction.taken);
        if seen_at_decode {
            let decoded = self.decoded();
            let wrong = prediction.target;
            let from = self.fetch.cycle() + u64::from(prediction.taken);
            let stays = self.stays(wrong, from, decoded + 1);
            // Also where it stays: without the lines that come so, start-up code is further off the time of gem5.
            self.fetch_ahead(wrong, decoded + 1);
            self.restart(decoded + 2, inside || stays);
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
        let came = (done - self.renamed()) * micros / cycles.max(1);
        let room = self.p.rob_entries - self.window.not_before(self.number, start(done + 1));
        let clearing = came.min(room).div_ceil(self.p.squash_width);
        self.serial = self.serial.max(start(cleared + clearing + 1));
        self.clear = 0;
    }

    /// Passes one micro-op of an instruction through the pipeline. `taken` and `target` are for branches.
    fn micro(
        &mut self,
        micro: &Packed,
        step: &Step,
        accesses: &[Access],
        taken: bool,
        target: u64,
    ) {
        if micro.traits == 0 {
            self.simple(micro);
        } else if micro.traits == RARE {
            self.plain(micro);
        } else if micro.is(traits::LOAD | traits::STORE) {
            let access = accesses.get(usize::from(micro.access));
            self.memory_access(micro, step.address, access.or(accesses.last()));
        } else {
            self.special(micro, step, taken, target);
        }
    }

    fn all(&mut self, micros: &[Packed], step: &Step, accesses: &[Access]) {
        self.micro_ops += micros.len() as u64;
        for micro in micros {
            let taken = micro.is(traits::TAKEN);
            self.micro(micro, step, accesses, taken, inside(step, 1));
        }
    }

    /// Passes a whole block through the pipeline, run by run; `accesses` are all that it makes.
    #[inline(always)]
    fn block(&mut self, block: &Block, accesses: &[Access], next: u64) {
        self.look_ahead(&block.demand);
        for run in &block.runs {
            if run.special {
                for step in &block.steps[run.steps.start as usize..run.steps.end as usize] {
                    let own =
                        step.first_access()..step.first_access() + step.accesses().unwrap_or(0);
                    self.step(block, step, accesses.get(own).unwrap_or(&[]), next);
                }
                continue;
            }
            self.bring(run.address, run.end, run.head);
            let count = u64::from(run.demand.micros);
            self.group += count - run.head;
            self.micro_ops += count;
            if self.number >= self.clear {
                self.look_ahead(&run.demand);
            }
            let micros = &block.micros[run.micros.start as usize..run.micros.end as usize];
            for micro in micros {
                if micro.traits == 0 {
                    self.simple(micro);
                    continue;
                }
                if micro.traits == RARE {
                    self.plain(micro);
                    continue;
                }
                let Some(step) = block.steps.get(usize::from(micro.step)) else {
                    continue;
                };
                if micro.is(traits::LOAD | traits::STORE) {
                    let access = accesses.get(usize::from(micro.place));
                    self.memory_access(micro, step.address, access);
                } else {
                    let (taken, target) = if step.branch == BranchKind::None {
                        (micro.is(traits::TAKEN), inside(step, 1))
                    } else {
                        (taken(step, next), next)
                    };
                    self.special(micro, step, taken, target);
                }
            }
        }
        // What has been found out holds for whole runs only.
        self.clear = 0;
    }

    fn step(&mut self, block: &Block, step: &Step, accesses: &[Access], next: u64) {
        self.bring(step.address, step.end, block.micros(step).len() as u64);
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
                let taken = taken(step, next);
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
            self.bring(step.address, step.end, block.micros(step).len() as u64);
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

/// Whether a branch goes elsewhere if `next` comes next.
fn taken(step: &Step, next: u64) -> bool {
    step.branch != BranchKind::Conditional || next != step.end
}

/// The bytes that a micro-op accesses, if it does.
#[inline(always)]
fn span(micro: &Packed, access: Option<&Access>) -> Option<Span> {
    let access = access.filter(|a| a.size > 0 && !micro.is(traits::NO_ACCESS))?;
    let address = access.addr.wrapping_add(micro.offset.into());
    Some((address, address.wrapping_add(micro.size.into())))
}

/// A target inside the microcode of an instruction: no address of a program.
fn inside(step: &Step, micro: usize) -> u64 {
    step.address | (micro as u64) << 56
}

impl Timing for OutOfOrder {
    const NEEDS_ADDRESSES: bool = true;
    type Block = Block;

    fn prepare(&self, instructions: &[Instruction]) -> Block {
        Block::new(
            instructions,
            &self.units,
            self.p.fetch_buffer_bytes,
            self.few_flags,
        )
    }

    fn retire(&mut self, block: &Block, retired: Retired<'_>) {
        let mut accesses = retired.accesses;
        if retired.count == block.steps.len()
            && retired.repeats == 0
            && accesses.len() == block.accesses
            && !block.runs.is_empty()
        {
            self.block(block, accesses, retired.next);
            return;
        }
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
