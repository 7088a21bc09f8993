//! The interval timers: signals at a point of simulated time.
use super::abi::*;
use super::signal::{Info, Target};
use super::user::{Record, give, take};
use super::{Answer, Kernel, Stop};
use crate::sim::memory::Memory;
use crate::sim::outcome::Exit;

const NS: u64 = 1_000_000_000;
/// ITIMER_REAL, which counts all time; ITIMER_VIRTUAL and ITIMER_PROF count that of the processor.
const REAL: usize = 0;
/// What each timer sends.
const SIGNALS_OF: [u8; 3] = [SIGALRM, SIGVTALRM, SIGPROF];
/// `si_code` of a signal that the kernel itself sends.
const SI_KERNEL: i32 = 0x80;

/// A timer that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    /// When it expires, on its own clock, nanoseconds.
    next: u64,
    /// Nanoseconds from then on to the next time; 0: only once.
    interval: u64,
}

/// The three timers of a process.
pub(super) type Timers = [Option<Timer>; 3];

impl Kernel {
    /// The clock of a timer.
    fn timer_clock(&self, which: usize) -> u64 {
        if which == REAL {
            self.elapsed_ns()
        } else {
            self.processor_ns()
        }
    }

    /// Nanoseconds of processor time at which the next timer expires if the guest runs on until then.
    pub fn timer_due_ns(&self) -> Option<u64> {
        let ends = self.timers.iter().enumerate().filter_map(|(which, timer)| {
            let left = timer.as_ref()?.next.saturating_sub(self.timer_clock(which));
            Some(self.now.nanoseconds.saturating_add(left))
        });
        ends.min()
    }

    /// When ITIMER_REAL expires, if its signal could change anything while all threads wait.
    pub(super) fn next_alarm(&self) -> Option<u64> {
        let timer = self.timers[REAL]?;
        self.could_matter(SIGALRM).then_some(timer.next)
    }

    /// Raises the signals of timers that have expired.
    pub(super) fn expire_timers(&mut self, mem: &Memory) -> Result<(), Exit> {
        for (which, signal) in SIGNALS_OF.into_iter().enumerate() {
            let now = self.timer_clock(which);
            let Some(timer) = self.timers[which].filter(|t| t.next <= now) else {
                continue;
            };
            self.timers[which] = (timer.interval > 0).then(|| Timer {
                // Expiries that were missed are one.
                next: timer.next.saturating_add(
                    timer
                        .interval
                        .saturating_mul((now - timer.next) / timer.interval + 1),
                ),
                ..timer
            });
            let info = Info::new(signal, SI_KERNEL, [0; 2]);
            if let Err(Stop::Exit(exit)) = self.send(mem, Target::Process, info) {
                return Err(exit);
            }
        }
        Ok(())
    }

    /// What is left of a timer, and its interval.
    fn timer_left(&self, which: usize) -> (u64, u64) {
        let now = self.timer_clock(which);
        // A timer that runs has something left.
        self.timers[which].map_or((0, 0), |t| {
            (t.next.saturating_sub(now).max(1000), t.interval)
        })
    }

    fn start_timer(&mut self, which: usize, first: u64, interval: u64) {
        let next = self.timer_clock(which).saturating_add(first);
        // What the guest does may from now on depend on the time.
        self.clock_read |= first > 0;
        self.timers[which] = (first > 0).then_some(Timer { next, interval });
    }

    pub(super) fn alarm(&mut self, seconds: u32) -> Answer {
        let (left, _) = self.timer_left(REAL);
        self.start_timer(REAL, u64::from(seconds) * NS, 0);
        // To the nearest second, but 0 means that no alarm was set.
        Ok(if left == 0 {
            0
        } else {
            ((left + NS / 2) / NS).max(1)
        })
    }

    pub(super) fn getitimer(&mut self, mem: &mut Memory, which: u32, at: u64) -> Answer {
        if which > 2 {
            return Err(EINVAL.into());
        }
        let (left, interval) = self.timer_left(which as usize);
        give(mem, at, &timer_value(left, interval))?;
        Ok(0)
    }

    pub(super) fn setitimer(&mut self, mem: &mut Memory, which: u32, new: u64, old: u64) -> Answer {
        let wanted = if new == 0 {
            [0; 32]
        } else {
            take::<32>(mem, new)?
        };
        let word = |i: usize| i64::from_le_bytes(std::array::from_fn(|j| wanted[8 * i + j]));
        let time = |i: usize| match (word(i), word(i + 1)) {
            (seconds @ 0.., us @ 0..1_000_000) => Ok((seconds as u64)
                .saturating_mul(NS)
                .saturating_add(us as u64 * 1000)),
            _ => Err(EINVAL),
        };
        if which > 2 {
            return Err(EINVAL.into());
        }
        let (interval, first) = (time(0)?, time(2)?);
        let (left, before) = self.timer_left(which as usize);
        self.start_timer(which as usize, first, interval);
        if old != 0 {
            give(mem, old, &timer_value(left, before))?;
        }
        Ok(0)
    }
}

/// Interval and rest as seconds and microseconds.
fn timer_value(left: u64, interval: u64) -> Vec<u8> {
    let time = |record: Record, ns: u64| record.u64(ns / NS).u64(ns % NS / 1000);
    time(time(Record::new(), interval), left).bytes()
}
