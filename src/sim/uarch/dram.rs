//! A DRAM channel: banks with open rows, activation windows, a shared data bus, refresh, and a queue of writes.
//!
//! After gem5's `DRAMInterface` under `MemCtrl` (open-adaptive pages, first ready first come): with requests in flight
//! the bank, the bus and the four-activate window decide; writes wait in a queue until it fills to its high mark, or to
//! its low mark while no read waits, and are then written in a batch. Times here are picoseconds.
use crate::sim::machine::Dram as Settings;

const NO_ROW: u64 = u64::MAX;
const RANKS: usize = 2;
const BANKS: usize = 16;
const GROUPS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bank {
    row: u64,
    /// Earliest precharge, and earliest activate and column command as far as the bank's own commands tell.
    precharge: u64,
    activate: u64,
    column: u64,
    accesses: u64,
}

/// What commands of one bank keep from all banks of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Group {
    /// Earliest activate, read and write command.
    activate: u64,
    read: u64,
    write: u64,
}

/// Where a line lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    line: u64,
    rank: u8,
    bank: u8,
    row: u64,
}

/// The channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dram {
    settings: Settings,
    banks: [[Bank; BANKS]; RANKS],
    groups: [[Group; GROUPS]; RANKS],
    /// The latest four activates of each rank.
    activates: [[u64; 4]; RANKS],
    bus: u64,
    refreshes: u64,
    /// Lines waiting to be written.
    writes: Vec<Place>,
    /// When there were enough of them for a batch: reads that come later wait for it.
    due: u64,
    /// Reads served.
    pub reads: u64,
    /// Writes served.
    pub written: u64,
    /// Reads that found their row open.
    pub row_hits: u64,
}

impl Dram {
    /// An idle channel with all rows closed.
    pub fn new(settings: Settings) -> Self {
        let bank = Bank {
            row: NO_ROW,
            precharge: 0,
            activate: 0,
            column: 0,
            accesses: 0,
        };
        Self {
            settings,
            banks: [[bank; BANKS]; RANKS],
            groups: Default::default(),
            activates: [[0; 4]; RANKS],
            bus: 0,
            refreshes: 0,
            writes: Vec::with_capacity(1 + settings.write_low as usize),
            due: u64::MAX,
            reads: 0,
            written: 0,
            row_hits: 0,
        }
    }

    /// Reads the line at this address; the time at which the controller answers.
    pub fn read(&mut self, address: u64, now: u64) -> u64 {
        if self.due <= now {
            self.refresh(self.due);
            self.drain(self.due);
        }
        self.refresh(now);
        self.reads += 1;
        let ready = self.burst(self.place(address), now, false);
        if self.writes.len() as u64 > self.settings.write_high {
            self.drain(ready);
        }
        ready + self.settings.controller_ps
    }

    /// Takes a line to be written some time.
    pub fn write(&mut self, address: u64, now: u64) {
        self.written += 1;
        if self.writes.iter().any(|w| w.line == address >> 6) {
            return;
        }
        self.writes.push(self.place(address));
        if self.writes.len() as u64 > self.settings.write_low && self.due == u64::MAX {
            self.due = now;
        }
    }

    /// Writes a batch: down to sixteen below the low mark.
    fn drain(&mut self, now: u64) {
        self.due = u64::MAX;
        let keep = self.settings.write_low.saturating_sub(16);
        while self.writes.len() as u64 > keep {
            // The first of those whose row is open, or whose bank can be opened soonest.
            let (mut best, mut least) = (0, u64::MAX);
            for (i, place) in self.writes.iter().enumerate() {
                let wait = self.wait(place, now);
                if wait < least {
                    (best, least) = (i, wait);
                }
                if wait == 0 {
                    break;
                }
            }
            let place = self.writes.remove(best);
            self.burst(place, now, true);
        }
    }

    /// How long the bank of a line needs before it takes a column command; nothing if its row is open.
    #[inline(always)]
    fn wait(&self, place: &Place, now: u64) -> u64 {
        let (rank, bank) = (usize::from(place.rank) % RANKS, usize::from(place.bank) % BANKS);
        let group = &self.groups[rank][bank % GROUPS];
        let bank = &self.banks[rank][bank];
        if bank.row == place.row {
            return 0;
        }
        let closed = if bank.row == NO_ROW {
            0
        } else {
            bank.precharge.max(now) + self.settings.precharge_ps
        };
        bank.activate.max(group.activate).max(closed).max(now) - now + 1
    }

    fn place(&self, address: u64) -> Place {
        let rest = address / self.settings.row_bytes;
        Place {
            line: address >> 6,
            rank: (rest / BANKS as u64 % RANKS as u64) as u8,
            bank: (rest % BANKS as u64) as u8,
            row: rest / (BANKS * RANKS) as u64,
        }
    }

    /// All banks of both ranks close for a refresh at every interval that has begun.
    fn refresh(&mut self, now: u64) {
        let due = now / self.settings.refresh_interval_ps;
        if due == self.refreshes {
            return;
        }
        self.refreshes = due;
        let end = due * self.settings.refresh_interval_ps + self.settings.refresh_ps;
        for bank in self.banks.iter_mut().flatten() {
            bank.row = NO_ROW;
            bank.activate = bank.activate.max(end);
        }
    }

    fn burst(&mut self, place: Place, now: u64, is_write: bool) -> u64 {
        let s = &self.settings;
        let (rank, number) = (usize::from(place.rank) % RANKS, usize::from(place.bank) % BANKS);
        let group = number % GROUPS;
        let bank = &mut self.banks[rank][number];
        let opens = bank.row != place.row;
        if opens {
            if bank.row != NO_ROW {
                let closed = bank.precharge.max(now) + s.precharge_ps;
                bank.activate = bank.activate.max(closed);
            }
            let at = bank.activate.max(self.groups[rank][group].activate).max(now);
            bank.row = place.row;
            bank.accesses = 0;
            bank.precharge = at + s.row_active_ps;
            bank.column = bank.column.max(at + s.row_to_column_ps);
            self.activated(rank, group, at);
        } else {
            self.row_hits += u64::from(!is_write);
        }
        let s = &self.settings;
        let bank = &mut self.banks[rank][number];
        let of_group = self.groups[rank][group];
        let allowed = if is_write {
            of_group.write
        } else {
            of_group.read
        };
        let command = allowed.max(bank.column).max(self.bus).max(now);
        let ready = command + s.column_ps + s.burst_ps;
        self.bus = command + s.burst_ps;
        let free = if is_write {
            ready + s.write_recovery_ps
        } else {
            command + s.read_to_precharge_ps
        };
        bank.precharge = bank.precharge.max(free);
        bank.accesses += 1;
        if bank.accesses == s.row_accesses {
            bank.activate = bank.activate.max(bank.precharge + s.precharge_ps);
            bank.row = NO_ROW;
        }
        self.commanded(rank, group, command, is_write);
        ready
    }

    /// A column command keeps others from all banks for a while.
    fn commanded(&mut self, rank: usize, group: usize, command: u64, is_write: bool) {
        let s = &self.settings;
        let to_read = if is_write {
            s.column_ps + s.burst_ps + s.write_to_read_ps
        } else {
            s.burst_ps
        };
        let to_write = if is_write {
            s.burst_ps
        } else {
            s.burst_ps + s.read_to_write_ps
        };
        for (r, groups) in self.groups.iter_mut().enumerate() {
            for (g, other) in groups.iter_mut().enumerate() {
                let (read, write) = if r != rank {
                    let other_rank = s.burst_ps + s.rank_switch_ps;
                    (other_rank, other_rank)
                } else if g == group {
                    (to_read.max(s.same_group_ps), to_write.max(s.same_group_ps))
                } else {
                    (to_read, to_write)
                };
                other.read = other.read.max(command + read);
                other.write = other.write.max(command + write);
            }
        }
    }

    /// An activate keeps others from the banks of its rank for a while.
    fn activated(&mut self, rank: usize, group: usize, at: u64) {
        let s = &self.settings;
        let recent = &mut self.activates[rank];
        recent.rotate_right(1);
        recent[0] = at;
        let window = if recent[3] == 0 {
            0
        } else {
            recent[3] + s.activate_window_ps
        };
        for (g, other) in self.groups[rank].iter_mut().enumerate() {
            let gap = if g == group {
                s.activate_same_group_ps
            } else {
                s.activate_ps
            };
            other.activate = other.activate.max(at + gap).max(window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::{Core, catalog};

    fn dram() -> Dram {
        let Core::Blocking(core) = catalog::machine("gem5-timing").unwrap().core else {
            panic!("gem5-timing waits for each access");
        };
        Dram::new(core.memory.dram)
    }

    #[test]
    fn closed_open_and_other_rows_cost_what_the_data_sheet_says() {
        let mut dram = dram();
        let start = 1_000_000;
        // Activate, column command, burst, controller: 14.16 + 14.16 + 3.332 + 20 ns.
        let first = dram.read(0, start);
        assert_eq!(first, start + 51_652);
        // The open row needs no activate.
        let second = dram.read(64, first);
        assert_eq!(second, first + 37_492);
        // The next row of the same bank lies 16 banks of 2 ranks of 8 KiB further: precharge too.
        let third = dram.read(32 * 8192, second);
        assert_eq!(third, second + 65_812);
        assert_eq!((dram.reads, dram.row_hits), (3, 1));
    }

    #[test]
    fn a_refresh_closes_the_rows_and_holds_the_banks() {
        let mut dram = dram();
        dram.read(0, 1_000_000);
        // 7.8 us: a refresh begins, and takes 350 ns.
        assert_eq!(dram.read(64, 7_800_000), 7_800_000 + 350_000 + 51_652);
    }

    #[test]
    fn writes_wait_until_there_are_many() {
        let mut dram = dram();
        for i in 0..64 {
            dram.write(i * 64, 1_000_000);
        }
        assert_eq!(dram.writes.len(), 64);
        dram.write(64 * 64, 1_000_000);
        dram.read(1 << 30, 900_000);
        assert_eq!(
            dram.writes.len(),
            65,
            "that read came before the last write"
        );
        dram.read(1 << 30, 1_000_000);
        assert_eq!(dram.writes.len(), 48, "a batch of 17 went out");
    }
}
