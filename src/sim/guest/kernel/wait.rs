//! Waiting: poll, select and sleeping.
//!
//! What is not ready becomes so by another thread or by a signal's handler, or never: the scheduler tells (`thread`).
use super::abi::*;
use super::clock::{parse_timespec, parse_timeval, timespec};
use super::descriptor::{Object, Open, PIPE_CAPACITY, PipeId};
use super::thread::{Cause, Wait};
use super::user::{Record, give, take, take_u64};
use super::{Answer, Kernel, Stop, unsupported};
use crate::sim::memory::Memory;

pub(super) const POLLIN: u32 = 1;
pub(super) const POLLPRI: u32 = 2;
pub(super) const POLLOUT: u32 = 4;
pub(super) const POLLERR: u32 = 8;
pub(super) const POLLHUP: u32 = 16;
const POLLNVAL: u32 = 32;
const POLLRDNORM: u32 = 0x40;
const POLLWRNORM: u32 = 0x100;
pub(super) const POLLRDHUP: u32 = 0x2000;
/// Most descriptors that `select` takes: those of its fixed sets.
const SELECT_MAX: u64 = 1024;

/// How long a wait may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timeout(Option<u64>);

impl Timeout {
    /// It lasts until it is over.
    pub(super) const NEVER: Self = Self(None);

    /// From nanoseconds.
    pub(super) fn nanoseconds(ns: u64) -> Self {
        Self(Some(ns))
    }

    /// From milliseconds; negative: for ever.
    pub(super) fn milliseconds(ms: i32) -> Self {
        Self(u64::try_from(ms).ok().map(|ms| ms * 1_000_000))
    }
}

impl Kernel {
    fn readable_pipe(&self, id: PipeId) -> u32 {
        let Some(pipe) = self.descriptors.pipes.get(&id) else {
            return POLLHUP;
        };
        let input = if pipe.bytes.is_empty() {
            0
        } else {
            POLLIN | POLLRDNORM
        };
        input | if pipe.writers == 0 { POLLHUP } else { 0 }
    }

    fn writable_pipe(&self, id: PipeId) -> u32 {
        match self.descriptors.pipes.get(&id) {
            // Linux calls a pipe writable while a whole page fits.
            Some(pipe) if pipe.readers > 0 && PIPE_CAPACITY - pipe.bytes.len() < 4096 => 0,
            Some(pipe) if pipe.readers > 0 => POLLOUT | POLLWRNORM,
            _ => POLLOUT | POLLWRNORM | POLLERR,
        }
    }

    /// What `poll` would report of an open file. Sets of files within sets are looked into: how deep this one lies.
    pub(super) fn ready(&self, open: &Open, depth: u32) -> u32 {
        match &open.object {
            Object::PipeReader(id) => self.readable_pipe(*id),
            Object::PipeWriter(id) => self.writable_pipe(*id),
            Object::Pair { input, output } => {
                let (read, write) = (self.readable_pipe(*input), self.writable_pipe(*output));
                // A gone peer shows as the end of the input, not as an error.
                let end = if read & POLLHUP != 0 {
                    POLLIN | POLLRDNORM | POLLRDHUP
                } else {
                    0
                };
                read | end | write & !POLLERR
            }
            Object::Stdin => {
                let rest = self.stdin_position < self.stdin.len() as u64;
                POLLHUP | if rest { POLLIN | POLLRDNORM } else { 0 }
            }
            Object::Stdout | Object::Stderr => POLLOUT | POLLWRNORM,
            Object::Event { count, .. } => {
                (if *count > 0 { POLLIN } else { 0 })
                    | if *count < u64::MAX - 1 { POLLOUT } else { 0 }
            }
            Object::Timer(id) => {
                let timer = self.descriptors.timers.get(id);
                if timer.is_some_and(super::timerfd::ReadTimer::is_readable) {
                    POLLIN
                } else {
                    0
                }
            }
            Object::Signals { mask } if self.pending() & mask != 0 => POLLIN,
            Object::Signals { .. } => 0,
            Object::Process { pid } if self.has_ended(*pid) => POLLIN | POLLRDNORM,
            Object::Process { .. } => 0,
            Object::Epoll(watched) => {
                if self.any_told(watched, depth) {
                    POLLIN | POLLRDNORM
                } else {
                    0
                }
            }
            _ => POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM,
        }
    }

    /// Nothing is ready: the thread waits, unless its time is over.
    pub(super) fn wait_in_vain(&self, timeout: Timeout) -> Result<(), Stop> {
        if timeout.0 == Some(0) || self.expired() {
            return Ok(());
        }
        Err(match self.descriptor_wait(timeout.0, 0) {
            // No call of these starts again after a handler.
            Stop::Wait(wait) => Stop::Wait(Wait {
                restart: false,
                ..wait
            }),
            other => other,
        })
    }

    /// The temporary mask of a call that waits.
    pub(super) fn take_mask(&mut self, mem: &mut Memory, mask: u64, size: u64) -> Result<(), Stop> {
        if mask == 0 {
            return Ok(());
        }
        if size != 8 {
            return Err(EINVAL.into());
        }
        let mask = take_u64(mem, mask)?;
        self.with_mask(mask);
        Ok(())
    }

    pub(super) fn poll(
        &mut self,
        mem: &mut Memory,
        list: u64,
        count: u64,
        timeout: Timeout,
    ) -> Answer {
        // An `unsigned int` for the kernel, too.
        let count = count & 0xffff_ffff;
        if count > self.descriptors.limit {
            return Err(EINVAL.into());
        }
        let mut answered = 0;
        for i in 0..count {
            let at = list.wrapping_add(8 * i);
            let entry = u64::from_le_bytes(take(mem, at)?);
            let (fd, events) = (entry as i32, (entry >> 32) as u32 & 0xffff);
            let found = match self.descriptors.get(fd) {
                _ if fd < 0 => 0,
                Ok(open) => self.ready(open, 0) & (events | POLLERR | POLLHUP),
                Err(_) => POLLNVAL,
            };
            answered += u64::from(found != 0);
            give(mem, at.wrapping_add(6), &(found as u16).to_le_bytes())?;
        }
        if answered == 0 {
            self.wait_in_vain(timeout)?;
        }
        Ok(answered)
    }

    pub(super) fn ppoll(
        &mut self,
        mem: &mut Memory,
        list: u64,
        count: u64,
        time: u64,
        mask: u64,
        size: u64,
    ) -> Answer {
        let timeout = self.timeout_at(mem, time)?;
        self.take_mask(mem, mask, size)?;
        self.poll(mem, list, count, timeout)
    }

    fn timeout_at(&self, mem: &mut Memory, at: u64) -> Result<Timeout, Stop> {
        if at == 0 {
            return Ok(Timeout(None));
        }
        Ok(Timeout(Some(parse_timespec(take(mem, at)?)?)))
    }

    pub(super) fn select(
        &mut self,
        mem: &mut Memory,
        count: i32,
        sets: [u64; 3],
        time: u64,
    ) -> Answer {
        let timeout = if time == 0 {
            Timeout(None)
        } else {
            Timeout(Some(parse_timeval(take(mem, time)?)?))
        };
        let answer = self.select_sets(mem, count, sets, timeout)?;
        if time != 0 {
            // Linux writes back what is left of the time.
            let left = if answer == 0 {
                0
            } else {
                timeout.0.unwrap_or(0)
            };
            give(
                mem,
                time,
                &Record::new()
                    .u64(left / 1_000_000_000)
                    .u64(left % 1_000_000_000 / 1000)
                    .bytes(),
            )?;
        }
        Ok(answer)
    }

    pub(super) fn pselect(
        &mut self,
        mem: &mut Memory,
        count: i32,
        sets: [u64; 3],
        time: u64,
        mask: u64,
    ) -> Answer {
        let timeout = self.timeout_at(mem, time)?;
        if mask != 0 {
            let (set, size) = (take_u64(mem, mask)?, take_u64(mem, mask.wrapping_add(8))?);
            self.take_mask(mem, set, size)?;
        }
        let answer = self.select_sets(mem, count, sets, timeout)?;
        if time != 0 {
            let left = if answer == 0 {
                0
            } else {
                timeout.0.unwrap_or(0)
            };
            give(mem, time, &timespec(left))?;
        }
        Ok(answer)
    }

    fn select_sets(
        &mut self,
        mem: &mut Memory,
        count: i32,
        sets: [u64; 3],
        timeout: Timeout,
    ) -> Answer {
        let count = u64::try_from(count).map_err(|_| EINVAL)?.min(SELECT_MAX);
        let words = count.div_ceil(64);
        let wanted = [
            POLLIN | POLLRDNORM | POLLHUP | POLLERR,
            POLLOUT | POLLWRNORM | POLLERR,
            0,
        ];
        let mut results = Vec::new();
        let mut answered = 0;
        for (set, events) in sets.into_iter().zip(wanted) {
            for word in 0..if set == 0 { 0 } else { words } {
                let at = set.wrapping_add(8 * word);
                let bits = take_u64(mem, at)?;
                let mut out = 0;
                for bit in (0..64).filter(|b| bits >> b & 1 != 0 && word * 64 + b < count) {
                    let open = self.descriptors.get((word * 64 + bit) as i32)?;
                    if self.ready(open, 0) & events != 0 {
                        out |= 1 << bit;
                        answered += 1;
                    }
                }
                results.push((at, out));
            }
        }
        // Before the sets are overwritten: a call that is made again reads them again.
        if answered == 0 {
            self.wait_in_vain(timeout)?;
        }
        for (at, out) in results {
            give(mem, at, &u64::to_le_bytes(out))?;
        }
        Ok(answered)
    }

    /// Sleeps; what is left goes to `left` if a signal interrupts.
    fn sleep_for(&self, ns: u64, left: u64) -> Answer {
        if ns == 0 {
            return Ok(0);
        }
        Err(Stop::Wait(Wait {
            cause: Cause::Sleep { left },
            deadline: Some(self.elapsed_ns().saturating_add(ns)),
            restart: false,
        }))
    }

    pub(super) fn nanosleep(&mut self, mem: &mut Memory, request: u64, left: u64) -> Answer {
        let ns = parse_timespec(take(mem, request)?)?;
        self.sleep_for(ns, left)
    }

    pub(super) fn clock_nanosleep(
        &mut self,
        mem: &mut Memory,
        clock: i32,
        flags: u32,
        request: u64,
        left: u64,
    ) -> Answer {
        const ABSOLUTE: u32 = 1;
        let reading = self.sleeping_clock(clock)?;
        let ns = parse_timespec(take(mem, request)?)?;
        // A sleep on the processor's own clock never ends: it does not run while the process sleeps.
        if clock == 2 && (flags & ABSOLUTE == 0 || ns > reading) {
            return Err(unsupported(
                "clock_nanosleep: on the processor time of a sleeping process",
            ));
        }
        if flags & ABSOLUTE != 0 {
            self.sleep_for(ns.saturating_sub(reading), 0)
        } else {
            self.sleep_for(ns, left)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, failed};
    use super::*;
    use crate::sim::outcome::Exit;

    fn clock(process: &mut Process, clock: u64) -> u64 {
        let at = process.bytes(&[0; 16]);
        process.succeed("clock_gettime", &[clock, at]);
        let bytes = process.get(at, 16);
        parse_timespec(bytes.try_into().unwrap()).unwrap()
    }

    #[test]
    fn sleeping_advances_the_clocks_but_not_processor_time() {
        let mut process = Process::new();
        process.now.nanoseconds = 5;
        let before = [0, 1, 2].map(|c| clock(&mut process, c));
        assert_eq!(before, [1_704_067_200_000_000_005, 1_000_000_000_005, 5]);
        let time = process.bytes(&timespec(2_500_000_000));
        process.succeed("nanosleep", &[time, 0]);
        process.succeed("poll", &[0, 0, 1000]);
        let after = [0, 1, 2].map(|c| clock(&mut process, c));
        assert_eq!(
            after,
            [before[0] + 3_500_000_000, before[1] + 3_500_000_000, 5]
        );
        let until = process.bytes(&timespec(after[1] + 7));
        process.succeed("clock_nanosleep", &[1, 1, until, 0]);
        process.succeed("clock_nanosleep", &[1, 1, until, 0]);
        assert_eq!(clock(&mut process, 1), after[1] + 7);
        assert!(process.guest.kernel.clock_read);
        let ever = process.bytes(&[&(i64::MAX as u64).to_le_bytes()[..], &[0; 8]].concat());
        process.succeed("nanosleep", &[ever, 0]);
        process.succeed("nanosleep", &[ever, 0]);
        clock(&mut process, 0);
    }

    #[test]
    fn waiting_for_ever_ends_the_run() {
        let mut process = Process::new();
        for (name, arguments) in [
            ("poll", vec![0, 0, u64::MAX]),
            ("select", vec![0, 0, 0, 0, 0]),
            ("pause", vec![]),
            ("futex", vec![super::super::testing::SCRATCH, 0, 0, 0, 0, 0]),
        ] {
            assert!(
                matches!(Process::new().exit(name, &arguments), Exit::Deadlock { call } if call == name),
                "{name}"
            );
        }
        let timeout = process.bytes(&timespec(10));
        let word = process.bytes(&[0; 4]);
        assert_eq!(
            process.call("futex", &[word, 128, 0, timeout, 0, 0]),
            failed(ETIMEDOUT)
        );
        assert_eq!(process.call("futex", &[word, 129, 1, 0, 0, 0]), 0);
    }

    #[test]
    fn poll_select_and_epoll_see_what_is_ready() {
        let mut process = Process::new();
        let at = process.bytes(&[0; 8]);
        process.succeed("pipe", &[at]);
        // Descriptors 0, 1, 3 (empty), 4, 77 (closed), -1.
        let list: Vec<u8> = [0, 1, 3, 4, 77, -1]
            .into_iter()
            .flat_map(|fd: i32| [fd.to_le_bytes(), [5, 0, 0, 0]].concat())
            .collect();
        let list = process.bytes(&list);
        assert_eq!(process.call("poll", &[list, 6, 0]), 4);
        let found: Vec<u8> = process.get(list, 48).chunks(8).map(|c| c[6]).collect();
        assert_eq!(
            found,
            [0x11, 4, 0, 4, 0x20, 0],
            "input and hang-up, output, nothing, output, invalid, left out"
        );
        let set = process.bytes(&0b11001u64.to_le_bytes());
        let time = process.bytes(&[0; 16]);
        assert_eq!(process.call("select", &[5, set, 0, 0, time]), 1);
        assert_eq!(process.get(set, 1), [1]);
        let epoll = process.succeed("epoll_create1", &[0]);
        let event = process.bytes(&Record::new().u32(1).u64(0xabcd).bytes());
        assert_eq!(process.call("epoll_ctl", &[epoll, 1, 3, event]), 0);
        assert_eq!(
            process.call("epoll_ctl", &[epoll, 1, 3, event]),
            failed(EEXIST)
        );
        let out = process.bytes(&[0; 24]);
        assert_eq!(process.call("epoll_wait", &[epoll, out, 2, 0]), 0);
        process.succeed("write", &[4, set, 1]);
        assert_eq!(process.call("epoll_wait", &[epoll, out, 2, u64::MAX]), 1);
        assert_eq!(
            process.get(out, 12),
            Record::new().u32(1).u64(0xabcd).bytes()
        );
        process.call("close", &[3]);
        assert_eq!(process.call("epoll_wait", &[epoll, out, 2, 0]), 0);
    }
}
