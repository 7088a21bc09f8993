//! The in-order parts of a pipeline: stages of some width, queues that empty in order, and what blocks them.
//!
//! All of it is without branches that depend on the times: the host could not predict them.

/// A slot of a stage: a point of time in fractions of a cycle. Slots of one stage differ; what compares cycles uses
/// their starts.
pub(super) type Slot = u64;

const FRACTION: u32 = 20;
/// The length of a cycle.
pub(super) const CYCLE: Slot = 1 << FRACTION;

/// The cycle that a slot lies in.
#[inline(always)]
pub(super) fn cycle(slot: Slot) -> u64 {
    slot >> FRACTION
}

/// The first slot of a cycle.
#[inline(always)]
pub(super) fn start(cycle: u64) -> Slot {
    cycle << FRACTION
}

/// The first slot of the cycle behind the one that this slot lies in.
#[inline(always)]
pub(super) fn behind(slot: Slot) -> Slot {
    (slot | (CYCLE - 1)) + 1
}

/// In-order slots: at most `width` a cycle.
///
/// Each slot is `step` behind the one before, so that taking one is a maximum and a sum. A width that does not divide
/// the fraction loses one slot in some thousands of full cycles.
///
/// A stage may be asked for the very slot that the stage before it gave, a number of cycles later: that lies within its
/// cycle, but behind what came before it in that cycle, so no slot is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    step: Slot,
    latest: Slot,
}

impl Stage {
    pub(super) fn new(width: u64) -> Self {
        Self {
            step: CYCLE.div_ceil(width),
            latest: 0,
        }
    }

    /// The first slot that is not before `earliest` and behind the one given last. Nothing comes in cycle 0.
    #[inline(always)]
    pub(super) fn take(&mut self, earliest: Slot) -> Slot {
        self.latest = (self.latest + self.step).max(earliest);
        self.latest
    }

    /// Gives a later slot instead of `slot`, the latest.
    #[inline(always)]
    pub(super) fn postpone(&mut self, slot: Slot, earliest: Slot) -> Slot {
        self.latest = slot.max(earliest);
        self.latest
    }

    /// The slot given last.
    #[inline(always)]
    pub(super) fn latest(&self) -> Slot {
        self.latest
    }

    /// The cycle of the slot given last.
    #[inline(always)]
    pub(super) fn cycle(&self) -> u64 {
        cycle(self.latest)
    }
}

/// A [`Stage`] that nothing comes before, and that can go on elsewhere: fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The first slot that has not been given.
    next: Slot,
    step: Slot,
    latest: Slot,
}

impl Source {
    pub(super) fn new(width: u64) -> Self {
        Self {
            next: 0,
            step: CYCLE.div_ceil(width),
            latest: 0,
        }
    }

    /// The first slot that is not before `earliest` nor before the one given last.
    #[inline(always)]
    pub(super) fn take(&mut self, earliest: Slot) -> Slot {
        let slot = self.next.max(earliest);
        self.next = slot + self.step;
        self.latest = slot;
        slot
    }

    /// The first slot that has not been given.
    #[inline(always)]
    pub(super) fn next(&self) -> Slot {
        self.next
    }

    /// The slot given last, or where the stage is to go on.
    #[inline(always)]
    pub(super) fn latest(&self) -> Slot {
        self.latest
    }

    /// The cycle of the slot given last, or where the stage is to go on.
    #[inline(always)]
    pub(super) fn cycle(&self) -> u64 {
        cycle(self.latest)
    }

    /// Goes on at `cycle`, with all of its slots.
    #[inline(always)]
    pub(super) fn restart(&mut self, cycle: u64) {
        self.next = start(cycle);
        self.latest = self.next;
    }
}

/// Divides by a width, by multiplying: division is slow on the host, and this one is asked for at every line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divider {
    width: u64,
    inverse: u64,
}

impl Divider {
    /// For a width from 1 to 64.
    pub(super) fn new(width: u64) -> Self {
        Self {
            width,
            inverse: (1 << 32) / width + 1,
        }
    }

    /// `count / width`, rounded up.
    #[inline(always)]
    pub(super) fn div_ceil(self, count: u64) -> u64 {
        // The inverse is too large by 2^-32 at most, so the product by count / 2^32: less than 1 / width up to here.
        if count < 1 << 24 {
            (count + self.width - 1) * self.inverse >> 32
        } else {
            count.div_ceil(self.width)
        }
    }
}

/// A stage that could not pass on what came: it takes what is already on its way, and tells the stage before it to go on
/// only when all of that has left, which costs a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    /// What the stage before sends before this is still taken.
    until: Slot,
}

impl Blocked {
    pub(super) fn new() -> Self {
        Self { until: Slot::MAX }
    }

    /// Whether what the stage before sends at `slot` finds it going on again.
    #[inline(always)]
    pub(super) fn is_over(self, slot: Slot) -> bool {
        self.until == Slot::MAX || slot >= self.until
    }

    /// When the stage before may send what it could send at `slot`; `left` is when the latest micro-op left this one.
    #[inline(always)]
    pub(super) fn sent(&mut self, slot: Slot, left: Slot) -> Slot {
        // A branch, which the host mostly foresees: so it need not wait for `left`, the end of a long chain.
        if slot < self.until {
            return slot;
        }
        self.until = Slot::MAX;
        slot.max(behind(left))
    }

    /// A micro-op that came at `arrived` left at `left`. Micro-ops arrive in order: the first that waits sets the time.
    #[inline(always)]
    pub(super) fn passed(&mut self, arrived: Slot, left: Slot) {
        let next = behind(arrived);
        if left >= next && self.until == Slot::MAX {
            self.until = next;
        }
    }
}

/// Most entries that any of the histories looks back.
const MOST: usize = 4096;

/// A time for each of the latest entries, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History {
    slots: Box<[u64; MOST]>,
    /// As short as it can be, to stay in the host's cache.
    mask: usize,
    back: usize,
}

impl History {
    /// One that looks back by `entries`: when the entry that a new one needs became free.
    pub(super) fn new(entries: u64) -> Self {
        let size = (entries as usize).next_power_of_two();
        assert!(size <= MOST, "the table of keys bounds all queues");
        Self {
            slots: vec![0; MOST]
                .into_boxed_slice()
                .try_into()
                .expect("a vector of as many elements as the array has"),
            mask: size - 1,
            back: entries as usize,
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.back
    }

    /// The time of the one that many before this one; 0 if there is none.
    #[inline(always)]
    pub(super) fn freed(&self, number: usize) -> u64 {
        self.slots[number.wrapping_sub(self.back) & self.mask & (MOST - 1)]
    }

    #[inline(always)]
    pub(super) fn set(&mut self, number: usize, time: u64) {
        self.slots[number & self.mask & (MOST - 1)] = time;
    }
}

/// What the window keeps of a micro-op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Passed {
    /// The slot in which it commits.
    commit: Slot,
    /// The cycle from which it and all before it have left the scheduler.
    left: u64,
}

/// The latest micro-ops, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    passed: Box<[Passed; MOST]>,
    /// As short as it can be, to stay in the host's cache.
    mask: usize,
    window: usize,
    scheduler: usize,
}

impl Window {
    /// One that looks back by the entries of window and scheduler.
    pub(super) fn new(window: u64, scheduler: u64) -> Self {
        let size = (window.max(scheduler) as usize).next_power_of_two();
        assert!(size <= MOST, "the table of keys bounds all queues");
        Self {
            passed: vec![Passed::default(); MOST]
                .into_boxed_slice()
                .try_into()
                .expect("a vector of as many elements as the array has"),
            mask: size - 1,
            window: window as usize,
            scheduler: scheduler as usize,
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.window
    }

    #[inline(always)]
    fn before(&self, number: usize, count: usize) -> &Passed {
        &self.passed[number.wrapping_sub(count) & self.mask & (MOST - 1)]
    }

    /// The slot in which the micro-op committed whose entry of the window this one needs; 0 if it was unused.
    #[inline(always)]
    pub(super) fn freed(&self, number: usize) -> Slot {
        self.before(number, self.window).commit
    }

    /// From which cycle the scheduler surely has an entry for this micro-op.
    #[inline(always)]
    pub(super) fn schedulable(&self, number: usize) -> u64 {
        self.before(number, self.scheduler).left
    }

    #[inline(always)]
    pub(super) fn set(&mut self, number: usize, commit: Slot, left: u64) {
        self.passed[number & self.mask & (MOST - 1)] = Passed { commit, left };
    }

    /// How many of the latest micro-ops before this one commit in this slot or a later one.
    pub(super) fn not_before(&self, number: usize, slot: Slot) -> u64 {
        let (mut low, mut high) = (0, self.window);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.before(number, middle).commit >= slot {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low as u64
    }
}

/// The latest times of a queue that empties in order, and how many there have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    times: History,
    count: usize,
}

impl Ring {
    pub(super) fn new(entries: u64) -> Self {
        Self {
            times: History::new(entries),
            count: 0,
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.times.entries()
    }

    /// When the entry that the next one needs became free; 0 while there are unused ones.
    #[inline(always)]
    pub(super) fn freed(&self) -> u64 {
        self.ahead(0)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, time: u64) {
        self.times.set(self.count, time);
        self.count += 1;
    }

    /// When the entry became free that is needed `count` entries behind the next one: less than there are.
    #[inline(always)]
    pub(super) fn ahead(&self, count: usize) -> u64 {
        self.times.freed(self.count + count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_gives_its_width_a_cycle_whatever_the_width() {
        for width in [1, 2, 3, 5, 8, 64] {
            let (mut stage, mut source) = (Stage::new(width), Source::new(width));
            for i in 0..1000 {
                assert_eq!(cycle(stage.take(start(7))), 7 + i / width, "width {width}");
                assert_eq!(cycle(source.take(start(7))), 7 + i / width, "width {width}");
            }
            assert_eq!(cycle(stage.take(start(100_000))), 100_000);
            assert_eq!(cycle(source.take(start(100_000))), 100_000);
            assert_eq!(cycle(source.next()) > source.cycle(), width == 1);
            source.restart(200_000);
            assert_eq!(cycle(source.take(0)), 200_000);
        }
    }

    #[test]
    fn a_window_knows_when_entries_are_free() {
        let mut window = Window::new(5, 3);
        assert_eq!((window.freed(0), window.not_before(0, 1)), (0, 0));
        for (i, time) in [10, 20, 20, 30, 40, 50, 60].into_iter().enumerate() {
            window.set(i, time, 7 * time);
        }
        assert_eq!((window.freed(7), window.schedulable(7)), (20, 280));
        let later = [1, 21, 30, 31, 60, 61].map(|time| window.not_before(7, time));
        assert_eq!(later, [5, 4, 4, 3, 1, 0]);
    }

    #[test]
    fn a_divider_rounds_up_whatever_the_width() {
        for width in 1..=64 {
            let divider = Divider::new(width);
            let far = (1 << 24) - 100;
            for count in (0..1000).chain(far..far + 200) {
                assert_eq!(divider.div_ceil(count), count.div_ceil(width), "{count} / {width}");
            }
        }
    }

    #[test]
    fn a_blocked_stage_takes_what_is_on_its_way_and_then_costs_a_cycle() {
        let mut blocked = Blocked::new();
        let mut sent = |slot, left| cycle(blocked.sent(start(slot), start(left)));
        assert_eq!(sent(5, 3), 5);
        blocked.passed(start(6), start(9));
        blocked.passed(start(7), start(10));
        let mut sent = |slot, left| cycle(blocked.sent(start(slot), start(left)));
        assert_eq!(sent(6, 10), 6, "it was on its way");
        assert_eq!(sent(7, 10), 11);
        assert_eq!(sent(12, 11), 12, "it goes on");
    }
}
