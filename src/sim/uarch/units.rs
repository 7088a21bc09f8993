//! The out-of-order part of a pipeline: the scheduler's entries, and the units and issue slots of each cycle.
use super::micro::Class;
use crate::sim::machine::OutOfOrderCore;

/// Cycles ahead for which units and scheduler entries are booked.
const HORIZON: usize = 1 << 14;

/// Zeros for every cycle that can be booked; made on the heap, as they are large.
fn horizon<T: Copy + Default + std::fmt::Debug>() -> Box<[T; HORIZON]> {
    vec![T::default(); HORIZON]
        .into_boxed_slice()
        .try_into()
        .expect("a vector of as many elements as the array has")
}

/// What a micro-op needs to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// Units that do it, as bits; the bit that no unit has for those that need none.
    pub(super) units: u64,
    /// Units that do all of this alike, as bits: it does not matter which is taken.
    alike: u64,
    /// Cycles from issue to the result.
    pub(super) latency: u8,
    class: u8,
    /// It holds its unit for its whole latency.
    pub(super) holds: bool,
}

/// Units and issue slots by cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// The cycle's number above the index from bit 40 on, [`FULL`] less the slots that are left, a bit for each busy unit.
    slots: Box<[u64; HORIZON]>,
    /// An unused cycle.
    empty: u64,
    needs: [Needs; Class::COUNT],
    /// By class: the units behind the one taken last.
    behind: [u64; 32],
}

const COUNT: u64 = 1 << 32;
/// No slot is left.
const FULL: u64 = 64 * COUNT;
/// The unit of what needs none: never busy.
const NO_UNIT: u64 = 1 << 39;
const UNITS: u64 = COUNT - 1;
/// Busy when no slot is left.
const EVERY_UNIT: u64 = UNITS | NO_UNIT;
const TAG: u32 = 40;
const _: () = assert!(Class::COUNT <= 32);

impl Units {
    pub(super) fn new(core: &OutOfOrderCore) -> Self {
        let of_class = |class: usize| {
            let mut needs = Needs {
                units: 0,
                alike: 0,
                latency: 1,
                class: class as u8,
                holds: core.units.iter().any(|u| u.unpipelined >> class & 1 == 1),
            };
            for (i, unit) in core.units.iter().enumerate() {
                if unit.latency[class] > 0 {
                    needs.units |= 1 << i;
                    needs.latency = needs.latency.max(unit.latency[class]);
                }
            }
            let mut units = core.units.iter().filter(|u| u.latency[class] > 0);
            let first = units.next();
            if units.all(|u| Some(u) == first) && !needs.holds {
                needs.alike = needs.units;
            }
            if needs.units == 0 {
                needs.units = NO_UNIT;
            }
            needs
        };
        let mut units = Self {
            slots: horizon(),
            empty: FULL - core.pipeline.issue_width * COUNT,
            needs: std::array::from_fn(of_class),
            behind: [0; 32],
        };
        // The first turn of the index has the number 0, as zeros have: those must read as empty too.
        units.slots.fill(units.empty);
        units
    }

    /// What micro-ops of this class need.
    #[inline(always)]
    pub(super) fn needs(&self, class: Class) -> Needs {
        self.needs[class as usize]
    }

    /// What is taken of a cycle.
    #[inline(always)]
    fn slot(&self, cycle: u64) -> u64 {
        let slot = self.slots[cycle as usize & (HORIZON - 1)] ^ number(cycle);
        // The number of another turn of the index leaves bits up there: nothing has been taken of this one.
        if slot >> TAG == 0 { slot } else { self.empty }
    }

    /// Issues a micro-op at the first cycle from `earliest` on that has a slot and a unit. Units take turns.
    #[inline(always)]
    pub(super) fn issue(&mut self, class: Class, earliest: u64) -> u64 {
        let needs = self.needs(class);
        let (cycle, unit) = self.take(&needs, earliest);
        if needs.holds {
            self.hold(unit & UNITS, cycle, needs.latency);
        }
        cycle
    }

    /// The same for what does not hold its unit.
    #[inline(always)]
    pub(super) fn issue_pipelined(&mut self, class: Class, earliest: u64) -> u64 {
        self.take(&self.needs(class), earliest).0
    }

    /// The cycle and the unit, which is busy in this cycle.
    #[inline(always)]
    fn take(&mut self, needs: &Needs, earliest: u64) -> (u64, u64) {
        let mut cycle = earliest;
        let (slot, free) = loop {
            let slot = self.slot(cycle);
            let free = needs.units & !slot;
            if free != 0 {
                break (slot, free);
            }
            cycle += 1;
        };
        let behind = &mut self.behind[usize::from(needs.class) & 31];
        let next = free & (*behind | needs.alike);
        let next = if next == 0 { free } else { next };
        let unit = next & next.wrapping_neg();
        *behind = (unit << 1).wrapping_neg();
        let mut slot = (slot + COUNT) | (unit & UNITS);
        if slot & FULL != 0 {
            slot |= EVERY_UNIT;
        }
        self.slots[cycle as usize & (HORIZON - 1)] = slot ^ number(cycle);
        (cycle, unit)
    }

    #[inline(never)]
    fn hold(&mut self, unit: u64, cycle: u64, latency: u8) {
        for held in cycle + 1..cycle + u64::from(latency) {
            self.slots[held as usize & (HORIZON - 1)] = (self.slot(held) | unit) ^ number(held);
        }
    }
}

/// The turn of the index that a cycle lies in, as it stands in a slot.
#[inline(always)]
fn number(cycle: u64) -> u64 {
    cycle >> HORIZON.trailing_zeros() << TAG
}

/// How many micro-ops stand in the scheduler: they leave it out of order.
///
/// The core's window answers the common case: if all but the latest `entries - 1` have left, one entry is free. Only
/// when that cannot tell are those that leave counted, from the cycle up to which that was done last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scheduler {
    entries: usize,
    /// The cycle from which all so far have left.
    latest: u64,
    leaving: Box<[u16; HORIZON]>,
    /// Those that left up to this cycle are in `left` instead.
    cycle: u64,
    left: usize,
}

impl Scheduler {
    pub(super) fn new(entries: u64) -> Self {
        Self {
            entries: entries as usize,
            latest: 0,
            leaving: horizon(),
            cycle: 0,
            left: 0,
        }
    }

    /// Counts those that leave in the next cycle.
    #[inline(always)]
    fn next(&mut self) {
        self.cycle += 1;
        let leaving = &mut self.leaving[self.cycle as usize & (HORIZON - 1)];
        self.left += usize::from(std::mem::take(leaving));
    }

    /// Counts those that leave up to this cycle.
    #[inline(always)]
    fn advance(&mut self, cycle: u64) {
        if cycle > self.cycle + 64 {
            self.advance_far(cycle);
            return;
        }
        let (mut at, mut left) = (self.cycle, self.left);
        while at < cycle {
            at += 1;
            left += usize::from(std::mem::take(
                &mut self.leaving[at as usize & (HORIZON - 1)],
            ));
        }
        (self.cycle, self.left) = (at, left);
    }

    /// The same for a long way, of which most is empty.
    #[inline(never)]
    fn advance_far(&mut self, cycle: u64) {
        let from = (self.cycle + 1) as usize & (HORIZON - 1);
        let count = (cycle - self.cycle).min(HORIZON as u64) as usize;
        let (wrapped, rest) = self.leaving.split_at_mut(from);
        let first = count.min(rest.len());
        for part in [&mut rest[..first], &mut wrapped[..count - first]] {
            // No more leave than there are micro-ops in flight, some thousands: sixteen bits are enough.
            let left = part.iter().fold(0, |sum: u16, &l| sum.wrapping_add(l));
            self.left += usize::from(left);
            part.fill(0);
        }
        self.cycle = cycle;
    }

    /// The first cycle from `earliest` on that has a free entry for micro-op `number`. `earliest` is not before that of
    /// the one before.
    #[inline(always)]
    pub(super) fn wait(&mut self, number: usize, earliest: u64) -> u64 {
        self.advance(earliest - 1);
        while number - self.left >= self.entries {
            self.next();
        }
        earliest.max(self.cycle + 1)
    }

    /// Whether the array reaches to this cycle.
    #[inline(always)]
    pub(super) fn reaches(&self, cycle: u64) -> bool {
        cycle - self.cycle < HORIZON as u64
    }

    /// A micro-op leaves at `cycle`: when it and all before it have left.
    #[inline(always)]
    pub(super) fn leave(&mut self, cycle: u64) -> u64 {
        self.latest = self.latest.max(cycle + 1);
        self.leaving[cycle as usize & (HORIZON - 1)] += 1;
        self.latest
    }

    /// Makes room in the array for a micro-op that entered at `entered`; what leaves beyond its end is taken to leave
    /// there.
    #[cold]
    #[inline(never)]
    pub(super) fn catch_up(&mut self, entered: u64, cycle: u64) -> u64 {
        self.advance(entered - 1);
        cycle.min(self.cycle + HORIZON as u64 - 1)
    }
}
