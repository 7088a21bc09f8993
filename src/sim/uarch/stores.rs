//! Stores from their execution until the cache has them: what loads find of them, and when they drain.
use super::hierarchy::Hierarchy;
use super::queues::Ring;

const LINE: u64 = 64;
/// Stores and loads conflict by this many bytes.
const GRANULE_SHIFT: u32 = 4;
const GRANULES: usize = 1024;

/// Bytes from an address to the one behind the last.
pub(super) type Span = (u64, u64);

#[inline(always)]
fn granule(address: u64) -> usize {
    (address >> GRANULE_SHIFT) as usize & (GRANULES - 1)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Store {
    pub(super) address: u64,
    /// Address behind it; 0 if it only occupies the queue.
    pub(super) end: u64,
    pub(super) pc: u64,
    pub(super) executed: u64,
    pub(super) committed: u64,
}

/// What a load finds among the stores before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing that it needs: the cache has it.
    Nothing,
    /// All of it, in one store.
    Value,
    /// A store that is executed only later.
    Conflict {
        /// When.
        executed: u64,
        /// The instruction that stores.
        pc: u64,
    },
}

/// The latest stores; those from `sent` to `count` have not been sent to the cache yet: they are once something needs
/// to know, so that loads of the same cycle come first, as they do in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stores {
    latest: Box<[Store]>,
    count: usize,
    sent: usize,
    /// By granule: how many stores there had been with the latest one there.
    by_granule: Box<[u64; GRANULES]>,
    /// When the latest store was sent, and when all that were sent are done.
    sent_at: u64,
    drained: u64,
    /// When the next one is sent; never, if there is none.
    due: u64,
    /// Each waits for the answer to the one before.
    total_order: bool,
    queue: Ring,
}

impl Stores {
    pub(super) fn new(entries: u64, total_order: bool) -> Self {
        Self {
            latest: vec![Store::default(); (entries as usize).next_power_of_two()].into(),
            count: 0,
            sent: 0,
            by_granule: vec![0; GRANULES]
                .into_boxed_slice()
                .try_into()
                .expect("a vector of as many elements as the array has"),
            sent_at: 0,
            drained: 0,
            due: u64::MAX,
            total_order,
            queue: Ring::new(entries),
        }
    }

    /// When all that were sent are done.
    pub(super) fn drained(&self) -> u64 {
        self.drained
    }

    /// When the entry of the queue that the next store needs became free.
    #[inline(always)]
    pub(super) fn freed(&mut self, memory: &mut Hierarchy) -> u64 {
        // The store that frees the entry has been sent, or is now.
        while self.count - self.sent >= self.queue.entries() {
            self.send(memory);
        }
        // The ring holds those that were sent, behind as many as it has entries.
        self.queue.ahead(self.count - self.sent)
    }

    /// Puts a store into the queue.
    #[inline(always)]
    pub(super) fn push(&mut self, store: Store) {
        let at = self.count & (self.latest.len() - 1);
        self.latest[at] = store;
        if self.count == self.sent {
            self.due = self.sent_next(&store);
        }
        self.count += 1;
        if store.end != 0 {
            self.by_granule[granule(store.address)] = self.count as u64;
            self.by_granule[granule(store.end - 1)] = self.count as u64;
        }
    }

    /// When this store will be sent, the oldest that has not been.
    #[inline(always)]
    fn sent_next(&self, store: &Store) -> u64 {
        let sent = (store.committed + 2).max(self.sent_at);
        if self.total_order {
            sent.max(self.drained)
        } else {
            sent
        }
    }

    /// Sends the oldest store that has not been sent.
    #[inline(never)]
    fn send(&mut self, memory: &mut Hierarchy) {
        let mask = self.latest.len() - 1;
        let store = self.latest[self.sent & mask];
        self.sent_at = self.due;
        self.sent += 1;
        let mut answered = self.sent_at;
        if store.end != 0 {
            answered = memory.data(store.pc, store.address, self.sent_at, true, 0);
            if store.address / LINE != (store.end - 1) / LINE {
                let second = memory.data(store.pc, store.end - 1, self.sent_at, true, 0);
                answered = answered.max(second);
            }
        }
        self.drained = self.drained.max(answered);
        self.queue.push(self.drained);
        self.due = if self.sent == self.count {
            u64::MAX
        } else {
            self.sent_next(&self.latest[self.sent & mask])
        };
    }

    /// Sends what goes to the cache before this cycle.
    #[inline(always)]
    pub(super) fn send_before(&mut self, cycle: u64, memory: &mut Hierarchy) {
        while self.due < cycle {
            self.send(memory);
        }
    }

    pub(super) fn send_all(&mut self, memory: &mut Hierarchy) {
        while self.sent < self.count {
            self.send(memory);
        }
    }

    /// What a load of these bytes finds that looks at `now`; that is put off where it has to wait for a store to reach
    /// the cache.
    #[inline(always)]
    pub(super) fn find(&mut self, load: Span, now: &mut u64, memory: &mut Hierarchy) -> Found {
        if self.count == self.sent {
            return Found::Nothing;
        }
        let newest = self.by_granule[granule(load.0)].max(self.by_granule[granule(load.1 - 1)]);
        if newest as usize <= self.sent {
            return Found::Nothing;
        }
        self.search(load, now, newest as usize, memory)
    }

    /// Looks for stores that the load needs, the youngest first.
    #[inline(never)]
    fn search(
        &mut self,
        (address, end): Span,
        now: &mut u64,
        newest: usize,
        memory: &mut Hierarchy,
    ) -> Found {
        let mut conflict: Option<Store> = None;
        let mut i = newest;
        while i > self.sent {
            i -= 1;
            let store = self.latest[i & (self.latest.len() - 1)];
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
                return Found::Value;
            }
            // Part of the value is in the queue: the load tries again once the store has been sent.
            while self.sent <= i {
                self.send(memory);
            }
            *now = (*now).max(self.sent_at + 2);
        }
        match conflict {
            None => Found::Nothing,
            Some(Store { executed, pc, .. }) => Found::Conflict { executed, pc },
        }
    }
}

/// Loads and stores that met too early once wait for each other from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoreSets {
    sets: Box<[u16]>,
    /// By set: when its latest store issued and executed.
    latest: Box<[(u64, u64)]>,
    accesses: u64,
    period: u64,
}

const NO_SET: u16 = u16::MAX;

impl StoreSets {
    pub(super) fn new(sets: u64, period: u64) -> Self {
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
    pub(super) fn wait(&mut self, pc: u64, dispatch: u64) -> u64 {
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
    pub(super) fn store(&mut self, pc: u64, issued: u64, executed: u64) {
        let set = self.sets[self.index(pc)];
        if set != NO_SET {
            self.latest[usize::from(set)] = (issued, executed);
        }
    }

    pub(super) fn met(&mut self, store: u64, load: u64) {
        let (s, l) = (self.index(store), self.index(load));
        let set = match (self.sets[s], self.sets[l]) {
            (NO_SET, NO_SET) => l as u16,
            (NO_SET, set) | (set, NO_SET) => set,
            (a, b) => a.min(b),
        };
        (self.sets[s], self.sets[l]) = (set, set);
    }
}
