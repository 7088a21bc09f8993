//! Timers that are read: `timerfd_create` and its relatives.
use super::abi::*;
use super::descriptor::{Object, Open};
use super::timer::{ABSOLUTE, Timer, timer_value, times};
use super::user::{give, take};
use super::{Answer, Kernel};
use crate::sim::memory::Memory;

/// A timer that is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadTimer {
    /// It counts from 1970 on, or from the machine's start.
    since_1970: bool,
    timer: Option<Timer>,
    /// How often it has expired since it was last read.
    expired: u64,
    /// How often it became readable.
    pub(super) edges: u64,
}

impl ReadTimer {
    pub(super) fn is_readable(&self) -> bool {
        self.expired > 0
    }

    /// Counts what has expired by now; whether it became readable.
    fn look(&mut self, now: u64) -> bool {
        let times = Timer::expire(&mut self.timer, now);
        let first = self.expired == 0 && times > 0;
        self.expired = self.expired.saturating_add(times);
        self.edges += u64::from(times > 0);
        first
    }
}

impl Kernel {
    fn read_timer(&mut self, fd: i32) -> Result<&mut ReadTimer, Errno> {
        let id = match self.descriptors.get(fd)?.object {
            Object::Timer(id) => id,
            _ => return Err(EINVAL),
        };
        self.descriptors.timers.get_mut(&id).ok_or(EINVAL)
    }

    pub(super) fn timerfd_create(&mut self, clock: i32, flags: u32) -> Answer {
        if flags & !(O_CLOEXEC | O_NONBLOCK) != 0 || !matches!(clock, 0 | 1 | 7..=9) {
            return Err(EINVAL.into());
        }
        if matches!(clock, 8 | 9) {
            return Err(EPERM.into());
        }
        let timer = ReadTimer {
            since_1970: clock == 0,
            ..ReadTimer::default()
        };
        let id = self.descriptors.new_timer(timer);
        let open = Open::new(Object::Timer(id), O_RDWR | flags & O_NONBLOCK, None);
        Ok(self.descriptors.insert(open, flags & O_CLOEXEC != 0)? as u64)
    }

    pub(super) fn timerfd_settime(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        flags: u32,
        new: u64,
        old: u64,
    ) -> Answer {
        const CANCEL_ON_SET: u32 = 2;
        let (interval, first) = times(&take::<32>(mem, new)?, 1)?;
        if flags & !(ABSOLUTE | CANCEL_ON_SET) != 0 {
            return Err(EINVAL.into());
        }
        let (now, realtime, monotonic) =
            (self.elapsed_ns(), self.realtime_ns(), self.monotonic_ns());
        let timer = self.read_timer(fd)?;
        let before = left(timer, now);
        let reading = if timer.since_1970 {
            realtime
        } else {
            monotonic
        };
        let wait = if flags & ABSOLUTE != 0 {
            first.saturating_sub(reading)
        } else {
            first
        };
        let next = now.saturating_add(wait);
        timer.timer = (first > 0).then_some(Timer { next, interval });
        timer.expired = 0;
        if timer.look(now) {
            self.descriptor_changes += 1;
        }
        self.clock_read |= first > 0;
        if old != 0 {
            give(mem, old, &timer_value(before.0, before.1))?;
        }
        Ok(0)
    }

    pub(super) fn timerfd_gettime(&mut self, mem: &mut Memory, fd: i32, at: u64) -> Answer {
        let now = self.elapsed_ns();
        let (left, interval) = left(self.read_timer(fd)?, now);
        self.clock_read = true;
        give(mem, at, &timer_value(left, interval))?;
        Ok(0)
    }

    /// How often a timer has expired since it was last asked; 0 if a read would wait.
    pub(super) fn take_expiries(&mut self, fd: i32) -> Result<u64, Errno> {
        let now = self.elapsed_ns();
        let timer = self.read_timer(fd)?;
        timer.look(now);
        Ok(std::mem::take(&mut timer.expired))
    }

    /// When the next timer becomes readable.
    pub(super) fn next_descriptor_timer(&self) -> Option<u64> {
        let timers = self.descriptors.timers.values();
        let waiting = timers.filter(|t| !t.is_readable());
        waiting.filter_map(|t| t.timer.map(|t| t.next)).min()
    }

    /// Timers that have expired are readable.
    pub(super) fn expire_descriptor_timers(&mut self) {
        let now = self.elapsed_ns();
        for timer in self.descriptors.timers.values_mut() {
            if timer.look(now) {
                self.descriptor_changes += 1;
            }
        }
    }
}

/// What is left of a timer, and its interval.
fn left(timer: &ReadTimer, now: u64) -> (u64, u64) {
    let mut timer = *timer;
    timer.look(now);
    timer
        .timer
        .map_or((0, 0), |t| (t.next.saturating_sub(now), t.interval))
}
