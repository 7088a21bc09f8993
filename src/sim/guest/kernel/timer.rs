//! Timers that send signals at a point of simulated time: the interval timers, and those of `timer_create`.
use super::abi::*;
use super::signal::{Info, Target};
use super::user::{Record, give, take, take_u32, take_u64};
use super::{Answer, Kernel, Stop};
use crate::sim::memory::Memory;
use crate::sim::outcome::Exit;
use std::collections::BTreeMap;

pub(super) const NS: u64 = 1_000_000_000;
/// ITIMER_REAL, which counts all time; ITIMER_VIRTUAL and ITIMER_PROF count that of the processor.
const REAL: usize = 0;
/// What each interval timer sends.
const SIGNALS_OF: [u8; 3] = [SIGALRM, SIGVTALRM, SIGPROF];
// `si_code` of a signal that the kernel itself sends, and of one that a timer does.
const SI_KERNEL: i32 = 0x80;
pub(super) const SI_TIMER: i32 = -2;
/// Most timers of a process.
const MAX_TIMERS: usize = 1024;
/// The time of a timer is a point and not a duration.
pub(super) const ABSOLUTE: u32 = 1;

/// A timer that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    /// When it expires, on its own clock, nanoseconds.
    pub(super) next: u64,
    /// Nanoseconds from then on to the next time; 0: only once.
    pub(super) interval: u64,
}

impl Timer {
    /// How often it has expired by now, and what is left of it.
    pub(super) fn expire(timer: &mut Option<Self>, now: u64) -> u64 {
        let Some(due) = timer.filter(|t| t.next <= now) else {
            return 0;
        };
        if due.interval == 0 {
            *timer = None;
            return 1;
        }
        let times = (now - due.next) / due.interval + 1;
        *timer = Some(Self {
            next: due.next.saturating_add(due.interval.saturating_mul(times)),
            ..due
        });
        times
    }
}

/// What a timer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// All time.
    Real,
    /// The time that the processor runs.
    Processor,
    /// The time that a thread runs.
    Thread(u32),
}

/// A timer of `timer_create`.
#[derive(Clone, Copy, Debug)]
struct Created {
    /// The clock by its number, to read points in time.
    clock: i32,
    counted: Counted,
    timer: Option<Timer>,
    /// The signal, to which thread if to one; `None`: it only counts.
    notice: Option<(u8, Option<u32>)>,
    value: u64,
    /// Its signal has been sent and not yet been taken: what expires meanwhile is an overrun.
    sent: bool,
    overrun: u32,
}

/// The timers of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    intervals: [Option<Timer>; 3],
    created: BTreeMap<u32, Created>,
    next: u32,
}

impl Timers {
    /// After `execve`: the interval timers go on.
    pub(super) fn after_exec(&mut self) {
        self.created.clear();
    }
}

impl Kernel {
    /// The clock of an interval timer.
    fn interval_clock(&self, which: usize) -> u64 {
        if which == REAL {
            self.elapsed_ns()
        } else {
            self.processor_ns()
        }
    }

    /// What a timer counts, now. A thread that is no more counts nothing.
    fn counted(&self, counted: Counted) -> u64 {
        match counted {
            Counted::Real => self.elapsed_ns(),
            Counted::Processor => self.processor_ns(),
            Counted::Thread(tid) => self.thread_ns(tid).unwrap_or(0),
        }
    }

    /// Nanoseconds of processor time at which the next timer expires if the guest runs on until then.
    pub fn timer_due_ns(&self) -> Option<u64> {
        let intervals = (self.timers.intervals.iter().enumerate())
            .filter_map(|(which, timer)| Some((timer.as_ref()?.next, self.interval_clock(which))));
        let runs = |counted| match counted {
            Counted::Thread(tid) => tid == self.threads.me.tid,
            _ => true,
        };
        let created = (self.timers.created.values())
            .filter(|t| !t.sent && t.notice.is_some() && runs(t.counted))
            .filter_map(|t| Some((t.timer?.next, self.counted(t.counted))));
        let descriptors = self.next_descriptor_timer();
        intervals
            .chain(created)
            .chain(descriptors.map(|next| (next, self.elapsed_ns())))
            .map(|(next, clock)| next.saturating_sub(clock))
            .min()
            .map(|left| self.now.nanoseconds.saturating_add(left))
    }

    /// When a timer expires whose signal could change anything while all threads wait.
    pub(super) fn next_alarm(&self) -> Option<u64> {
        let others = self.processes.others.iter();
        let timers = others.map(|(&pid, p)| (pid, &p.timers));
        let all = timers.chain([(self.processes.pid, &self.timers)]);
        let mut next = None;
        let mut sooner = |at: u64| next = Some(next.map_or(at, |n: u64| n.min(at)));
        for (pid, timers) in all {
            if let Some(timer) = timers.intervals[REAL]
                && self.could_matter(pid, SIGALRM)
            {
                sooner(timer.next);
            }
            for created in timers.created.values() {
                if let (Some(timer), Some((signal, _))) = (created.timer, created.notice)
                    && created.counted == Counted::Real
                    && !created.sent
                    && self.could_matter(pid, signal)
                {
                    sooner(timer.next);
                }
            }
        }
        if let Some(at) = self.next_descriptor_timer() {
            sooner(at);
        }
        next
    }

    /// Raises the signals of timers that have expired.
    pub(super) fn expire_timers(&mut self, mem: &mut Memory) -> Result<(), Exit> {
        self.expire_descriptor_timers();
        let mut expired = Vec::new();
        let me = self.processes.pid;
        for (which, signal) in SIGNALS_OF.into_iter().enumerate() {
            let now = self.interval_clock(which);
            if Timer::expire(&mut self.timers.intervals[which], now) > 0 {
                expired.push((Target::Process(me), Info::new(signal, SI_KERNEL, [0; 2])));
            }
        }
        let clocks: Vec<u64> = (self.timers.created.values())
            .map(|t| self.counted(t.counted))
            .collect();
        for ((&id, timer), now) in self.timers.created.iter_mut().zip(clocks) {
            expired.extend(timer.fire(me, id, now));
        }
        let now = self.elapsed_ns();
        for (&pid, process) in &mut self.processes.others {
            if Timer::expire(&mut process.timers.intervals[REAL], now) > 0 {
                expired.push((Target::Process(pid), Info::new(SIGALRM, SI_KERNEL, [0; 2])));
            }
            for (&id, timer) in &mut process.timers.created {
                if timer.counted == Counted::Real {
                    expired.extend(timer.fire(pid, id, now));
                }
            }
        }
        for (target, info) in expired {
            if let Err(Stop::Exit(exit)) = self.send(mem, target, info) {
                return Err(exit);
            }
            if let Some(id) = info.timer() {
                self.go_on_unheard(target, id);
            }
        }
        Ok(())
    }

    /// A timer whose signal nobody will take, as it is ignored, goes on.
    fn go_on_unheard(&mut self, target: Target, id: u32) {
        let pid = match target {
            Target::Process(pid) => pid,
            Target::Thread(tid) => self.threads.get(tid).map_or(0, |t| t.pid),
        };
        if self.timer_signal_waits(pid, id) {
            return;
        }
        let Some(counted) = self
            .timers_of(pid)
            .and_then(|t| Some(t.created.get(&id)?.counted))
        else {
            return;
        };
        let now = self.counted(counted);
        if let Some(timer) = self.timers_of(pid).and_then(|t| t.created.get_mut(&id)) {
            timer.sent = false;
            Timer::expire(&mut timer.timer, now);
        }
    }

    fn timers_of(&mut self, pid: u32) -> Option<&mut Timers> {
        if pid == self.processes.pid {
            return Some(&mut self.timers);
        }
        self.processes.others.get_mut(&pid).map(|p| &mut p.timers)
    }

    /// A signal of a timer of the present process is taken: what has expired since it was sent is its overrun.
    pub(super) fn take_timer_signal(&mut self, info: Info) -> Info {
        let Some(id) = info.timer() else {
            return info;
        };
        let Some(counted) = self.timers.created.get(&id).map(|t| t.counted) else {
            return info;
        };
        let now = self.counted(counted);
        let Some(timer) = self.timers.created.get_mut(&id) else {
            return info;
        };
        timer.sent = false;
        let times = Timer::expire(&mut timer.timer, now);
        timer.overrun = times.min(i32::MAX as u64) as u32;
        info.with_overrun(timer.overrun)
    }

    /// What is left of a timer, and its interval.
    fn timer_left(&self, which: usize) -> (u64, u64) {
        let now = self.interval_clock(which);
        // A timer that runs has something left.
        self.timers.intervals[which].map_or((0, 0), |t| {
            (t.next.saturating_sub(now).max(1000), t.interval)
        })
    }

    fn start_timer(&mut self, which: usize, first: u64, interval: u64) {
        let next = self.interval_clock(which).saturating_add(first);
        // What the guest does may from now on depend on the time.
        self.clock_read |= first > 0;
        self.timers.intervals[which] = (first > 0).then_some(Timer { next, interval });
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
        give(mem, at, &interval_value(left, interval))?;
        Ok(0)
    }

    pub(super) fn setitimer(&mut self, mem: &mut Memory, which: u32, new: u64, old: u64) -> Answer {
        let wanted = if new == 0 {
            [0; 32]
        } else {
            take::<32>(mem, new)?
        };
        let (interval, first) = times(&wanted, 1000)?;
        if which > 2 {
            return Err(EINVAL.into());
        }
        let (left, before) = self.timer_left(which as usize);
        self.start_timer(which as usize, first, interval);
        if old != 0 {
            give(mem, old, &interval_value(left, before))?;
        }
        Ok(0)
    }

    pub(super) fn timer_create(
        &mut self,
        mem: &mut Memory,
        clock: i32,
        event: u64,
        id_at: u64,
    ) -> Answer {
        const SIGNAL: u32 = 0;
        const NONE: u32 = 1;
        const THREAD: u32 = 2;
        const THREAD_ID: u32 = 4;
        let counted = match clock {
            0 | 1 | 7 | 11 => Counted::Real,
            // Those that wake the machine need a privilege.
            8 | 9 => return Err(EPERM.into()),
            2 => Counted::Processor,
            3 => Counted::Thread(self.threads.me.tid),
            // Of a process or thread by number.
            ..0 if self.sleeping_clock(clock).is_ok() => match clock & 4 {
                0 => Counted::Processor,
                _ => Counted::Thread(match !(clock >> 3) {
                    0 => self.threads.me.tid,
                    tid => tid as u32,
                }),
            },
            _ => return Err(EINVAL.into()),
        };
        let id = self.timers.next;
        let (value, notice) = if event == 0 {
            (id.into(), Some((SIGALRM, None)))
        } else {
            let value = take_u64(mem, event)?;
            let signal = take_u32(mem, event.wrapping_add(8))?;
            let how = take_u32(mem, event.wrapping_add(12))?;
            let tid = take_u32(mem, event.wrapping_add(16))?;
            let valid = u8::try_from(signal)
                .ok()
                .filter(|s| (1..=SIGNALS).contains(s));
            let mine = |tid: u32| {
                let thread = self.threads.get(tid);
                thread.is_some_and(|t| t.pid == self.processes.pid)
            };
            let notice = match (how, valid) {
                (NONE, _) => None,
                // The library makes a thread for it; here it is a signal.
                (SIGNAL | THREAD, Some(signal)) => Some((signal, None)),
                (THREAD_ID, Some(signal)) if mine(tid) => Some((signal, Some(tid))),
                _ => return Err(EINVAL.into()),
            };
            (value, notice)
        };
        if self.timers.created.len() >= MAX_TIMERS {
            return Err(EAGAIN.into());
        }
        give(mem, id_at, &id.to_le_bytes())?;
        self.timers.next += 1;
        let created = Created {
            clock,
            counted,
            timer: None,
            notice,
            value,
            sent: false,
            overrun: 0,
        };
        self.timers.created.insert(id, created);
        Ok(0)
    }

    /// What is left of a created timer, and its interval.
    fn created_left(&self, timer: &Created) -> (u64, u64) {
        let now = self.counted(timer.counted);
        let Some(Timer { next, interval }) = timer.timer else {
            return (0, 0);
        };
        // One that is past its time and has not been looked at shows the next one.
        let next = match now.checked_sub(next) {
            Some(late) if interval > 0 => next + (late / interval + 1) * interval,
            Some(_) if timer.notice.is_none() => return (0, 0),
            _ => next,
        };
        (next.saturating_sub(now).max(1), interval)
    }

    pub(super) fn timer_settime(
        &mut self,
        mem: &mut Memory,
        id: u32,
        flags: u32,
        new: u64,
        old: u64,
    ) -> Answer {
        if new == 0 {
            return Err(EINVAL.into());
        }
        let (interval, first) = times(&take::<32>(mem, new)?, 1)?;
        let timer = *self.timers.created.get(&id).ok_or(EINVAL)?;
        let before = self.created_left(&timer);
        let clock = self.counted(timer.counted);
        // A point in time is told on the clock's own reading.
        let reading = self.sleeping_clock(timer.clock).unwrap_or(clock);
        let left = if flags & ABSOLUTE != 0 {
            first.saturating_sub(reading)
        } else {
            first
        };
        self.clock_read |= first > 0;
        let next = clock.saturating_add(left);
        if let Some(timer) = self.timers.created.get_mut(&id) {
            timer.timer = (first > 0).then_some(Timer { next, interval });
            timer.overrun = 0;
            timer.sent = false;
        }
        // A signal of before that has not been taken is taken back.
        self.forget_timer_signals(id);
        if old != 0 {
            give(mem, old, &timer_value(before.0, before.1))?;
        }
        Ok(0)
    }

    pub(super) fn timer_gettime(&mut self, mem: &mut Memory, id: u32, at: u64) -> Answer {
        let timer = *self.timers.created.get(&id).ok_or(EINVAL)?;
        self.clock_read = true;
        let (left, interval) = self.created_left(&timer);
        give(mem, at, &timer_value(left, interval))?;
        Ok(0)
    }

    pub(super) fn timer_getoverrun(&self, id: u32) -> Answer {
        let timer = self.timers.created.get(&id).ok_or(EINVAL)?;
        Ok(timer.overrun.into())
    }

    pub(super) fn timer_delete(&mut self, id: u32) -> Answer {
        self.timers.created.remove(&id).ok_or(EINVAL)?;
        self.forget_timer_signals(id);
        Ok(0)
    }
}

impl Created {
    /// Its signal, if it has expired by now and the one before has been taken.
    fn fire(&mut self, pid: u32, id: u32, now: u64) -> Option<(Target, Info)> {
        let (signal, thread) = self.notice?;
        let due = self.timer.filter(|t| t.next <= now && !self.sent)?;
        // From here the next time is counted; what comes before the signal is taken is overrun.
        self.timer = (due.interval > 0).then(|| Timer {
            next: due.next.saturating_add(due.interval),
            ..due
        });
        self.sent = true;
        let target = thread.map_or(Target::Process(pid), Target::Thread);
        Some((target, Info::new(signal, SI_TIMER, [id.into(), self.value])))
    }
}

/// Interval and first time of a structure of two times, as nanoseconds; `unit` is that of its small numbers.
pub(super) fn times(bytes: &[u8; 32], unit: u64) -> Result<(u64, u64), Errno> {
    let word = |i: usize| i64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j]));
    let time = |i: usize| match (word(i), word(i + 1)) {
        (seconds @ 0.., rest @ 0..) if (rest as u64) < NS / unit => Ok((seconds as u64)
            .saturating_mul(NS)
            .saturating_add(rest as u64 * unit)),
        _ => Err(EINVAL),
    };
    Ok((time(0)?, time(2)?))
}

/// Interval and rest as seconds and microseconds.
fn interval_value(left: u64, interval: u64) -> Vec<u8> {
    let time = |record: Record, ns: u64| record.u64(ns / NS).u64(ns % NS / 1000);
    time(time(Record::new(), interval), left).bytes()
}

/// Interval and rest as seconds and nanoseconds.
pub(super) fn timer_value(left: u64, interval: u64) -> Vec<u8> {
    let time = |record: Record, ns: u64| record.u64(ns / NS).u64(ns % NS);
    time(time(Record::new(), interval), left).bytes()
}

#[cfg(test)]
mod tests {
    use super::super::clock::timespec;
    use super::super::testing::{Process, failed};
    use super::*;

    fn new_timer(process: &mut Process, clock: u64, event: &[u8]) -> u64 {
        let event = process.bytes(event);
        let id = process.bytes(&[0xff; 4]);
        process.succeed("timer_create", &[clock, event, id]);
        u32::from_le_bytes(process.get(id, 4).try_into().unwrap()).into()
    }

    fn value(process: &mut Process, interval: u64, first: u64) -> u64 {
        process.bytes(&[timespec(interval), timespec(first)].concat())
    }

    #[test]
    fn a_created_timer_sends_its_value_and_counts_what_it_missed() {
        let mut process = Process::new();
        let signal = 34u32;
        let event = Record::new().u64(0xabcd).u32(signal).u32(0).zeros(48);
        let id = new_timer(&mut process, 1, &event.bytes());
        let blocked = process.bytes(&(1u64 << (signal - 1)).to_le_bytes());
        process.succeed("rt_sigprocmask", &[0, blocked, 0, 8]);
        let spec = value(&mut process, 1000, 5000);
        process.succeed("timer_settime", &[id, 0, spec, 0]);
        let left = process.bytes(&[0; 32]);
        process.succeed("timer_gettime", &[id, left]);
        assert_eq!(process.get(left, 32), timer_value(5000, 1000));
        let info = process.bytes(&[0; 128]);
        let none = process.bytes(&[0; 16]);
        assert_eq!(
            process.call("rt_sigtimedwait", &[blocked, info, none, 8]),
            failed(EAGAIN)
        );
        assert_eq!(
            process.call("rt_sigtimedwait", &[blocked, info, 0, 8]),
            34,
            "time passes until the timer is due"
        );
        process.now.nanoseconds += 3500;
        let (cpu, mem) = (&mut process.guest.cpu, &mut process.guest.mem);
        let exit = process.guest.kernel.tick(cpu, mem, process.now);
        assert_eq!(exit, None);
        process.succeed("rt_sigtimedwait", &[blocked, info, none, 8]);
        let bytes = process.get(info, 32);
        let word = |i: usize| i32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
        assert_eq!((word(0), word(2), word(4)), (34, SI_TIMER, id as i32));
        assert_eq!(
            (word(5), word(6)),
            (2, 0xabcd),
            "one was sent, two were missed"
        );
        assert_eq!(process.call("timer_getoverrun", &[id]), 2);
        assert_eq!(process.call("timer_delete", &[id]), 0);
        assert_eq!(process.call("timer_delete", &[id]), failed(EINVAL));
    }

    #[test]
    fn odd_timers_are_refused() {
        let mut process = Process::new();
        let id = process.bytes(&[0; 4]);
        assert_eq!(process.call("timer_create", &[77, 0, id]), failed(EINVAL));
        assert_eq!(process.call("timer_create", &[1, 8, id]), failed(EFAULT));
        assert_eq!(process.call("timer_create", &[1, 0, 8]), failed(EFAULT));
        let bad = process.bytes(&Record::new().u64(0).u32(99).u32(0).zeros(48).bytes());
        assert_eq!(process.call("timer_create", &[1, bad, id]), failed(EINVAL));
        assert_eq!(process.call("timer_settime", &[5, 0, 0, 0]), failed(EINVAL));
        assert_eq!(process.call("timer_gettime", &[5, id]), failed(EINVAL));
    }
}
