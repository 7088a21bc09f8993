//! Futexes: waiting on a word of memory, and waking who waits there, first in first out.
use super::abi::*;
use super::clock::parse_timespec;
use super::thread::{Cause, Resume, Wait};
use super::user::{check_range, give, take, take_u32};
use super::{Answer, Kernel, Stop, unsupported};
use crate::sim::memory::Memory;

const WAIT: u32 = 0;
const WAKE: u32 = 1;
const REQUEUE: u32 = 3;
const CMP_REQUEUE: u32 = 4;
const WAKE_OP: u32 = 5;
const WAIT_BITSET: u32 = 9;
const WAKE_BITSET: u32 = 10;
const PRIVATE: u32 = 128;
const CLOCK_REALTIME: u32 = 256;

impl Kernel {
    /// `fourth` is a timeout or a number, by the operation.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of the system call"
    )]
    pub(super) fn futex(
        &mut self,
        mem: &mut Memory,
        at: u64,
        operation: u32,
        value: u32,
        fourth: u64,
        second: u64,
        last: u32,
    ) -> Answer {
        let command = operation & !(PRIVATE | CLOCK_REALTIME);
        match command {
            WAIT => self.futex_wait(mem, at, operation, value, fourth, u32::MAX),
            WAIT_BITSET => self.futex_wait(mem, at, operation, value, fourth, last),
            WAKE | WAKE_BITSET => {
                let bits = if command == WAKE { u32::MAX } else { last };
                check_word(at)?;
                if bits == 0 {
                    return Err(EINVAL.into());
                }
                // A count below 1 wakes one, as on Linux.
                Ok(self.wake_futex(at, (value as i32).max(1) as u32, bits))
            }
            REQUEUE | CMP_REQUEUE => {
                check_word(at)?;
                check_word(second)?;
                let (wake, requeue) = (value as i32, fourth as u32 as i32);
                if wake < 0 || requeue < 0 {
                    return Err(EINVAL.into());
                }
                if command == CMP_REQUEUE && take_u32(mem, at)? != last {
                    return Err(EAGAIN.into());
                }
                let woken = self.wake_futex(at, wake as u32, u32::MAX);
                let moved = self.requeue(at, second, requeue as usize);
                Ok(woken + if command == CMP_REQUEUE { moved } else { 0 })
            }
            WAKE_OP => {
                check_word(at)?;
                check_word(second)?;
                let holds = change_word(mem, second, last)?;
                let woken = self.wake_futex(at, (value as i32).max(1) as u32, u32::MAX);
                let also = if holds {
                    self.wake_futex(second, (fourth as u32 as i32).max(1) as u32, u32::MAX)
                } else {
                    0
                };
                Ok(woken + also)
            }
            other => Err(unsupported(format!("futex operation {other}"))),
        }
    }

    fn futex_wait(
        &mut self,
        mem: &mut Memory,
        at: u64,
        operation: u32,
        value: u32,
        time: u64,
        bits: u32,
    ) -> Answer {
        if bits == 0 {
            return Err(EINVAL.into());
        }
        let limit = if time == 0 {
            None
        } else {
            Some(parse_timespec(take(mem, time)?)?)
        };
        check_word(at)?;
        if take_u32(mem, at)? != value {
            return Err(EAGAIN.into());
        }
        // WAIT takes a duration, WAIT_BITSET a point in time.
        let now = self.elapsed_ns();
        let relative = operation & !(PRIVATE | CLOCK_REALTIME) == WAIT;
        let left = |limit: u64| match (relative, operation & CLOCK_REALTIME != 0) {
            (true, _) => limit,
            (false, true) => limit.saturating_sub(self.realtime_ns()),
            (false, false) => limit.saturating_sub(self.monotonic_ns()),
        };
        let deadline = limit.map(|limit| now.saturating_add(left(limit)));
        let me = self.threads.me.tid;
        self.threads.futexes.push_back((at, me, bits));
        Err(Stop::Wait(Wait {
            cause: Cause::Futex,
            deadline,
            restart: limit.is_none(),
        }))
    }

    /// Wakes up to `most` of those that wait on a word with one of these bits; how many it woke.
    pub(super) fn wake_futex(&mut self, at: u64, most: u32, bits: u32) -> u64 {
        let mut woken = Vec::new();
        self.threads.futexes.retain(|&(address, tid, waits_for)| {
            let chosen = address == at && waits_for & bits != 0 && woken.len() < most as usize;
            if chosen {
                woken.push(tid);
            }
            !chosen
        });
        for &tid in &woken {
            self.threads.make_ready(tid, Resume::Answer(0));
        }
        woken.len() as u64
    }

    /// Moves up to `most` of those that wait on one word to the end of the queue of another.
    fn requeue(&mut self, from: u64, to: u64, most: usize) -> u64 {
        let mut moved = Vec::new();
        self.threads.futexes.retain(|&(address, tid, bits)| {
            let chosen = address == from && moved.len() < most;
            if chosen {
                moved.push((to, tid, bits));
            }
            !chosen
        });
        let count = moved.len() as u64;
        self.threads.futexes.extend(moved);
        count
    }
}

fn check_word(at: u64) -> Result<(), Errno> {
    if !at.is_multiple_of(4) {
        return Err(EINVAL);
    }
    check_range(at, 4)
}

/// What WAKE_OP does to the second word, coded in `operation`; whether its old value passes the coded comparison.
fn change_word(mem: &mut Memory, at: u64, operation: u32) -> Result<bool, Stop> {
    let signed = |field: u32| ((field << 20) as i32) >> 20;
    let (argument, compared) = (signed(operation >> 12 & 0xfff), signed(operation & 0xfff));
    // The highest bit says that the argument is the number of a bit.
    let argument = if operation >> 31 != 0 {
        1i32.wrapping_shl(argument as u32)
    } else {
        argument
    };
    let old = take_u32(mem, at)? as i32;
    let new = match operation >> 28 & 7 {
        0 => argument,
        1 => old.wrapping_add(argument),
        2 => old | argument,
        3 => old & !argument,
        4 => old ^ argument,
        _ => return Err(ENOSYS.into()),
    };
    give(mem, at, &new.to_le_bytes())?;
    Ok(match operation >> 24 & 0xf {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        5 => old >= compared,
        _ => return Err(ENOSYS.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, failed};
    use super::*;
    use crate::sim::isa::state::RAX;
    use crate::sim::outcome::Exit;

    /// CLONE_VM and what `pthread_create` adds, without TLS and words for the number.
    const THREAD: u64 = 0x5_0f00;

    /// Lets this many new threads wait on a word, one after the other; the first thread is the last to run.
    fn waiters(process: &mut Process, word: u64, count: u64) {
        for _ in 0..count {
            process.succeed("clone", &[THREAD, 0, 0, 0, 0]);
            // The new thread runs when the first one yields; it waits, so the first one goes on.
            process.succeed("sched_yield", &[]);
            assert_ne!(process.succeed("gettid", &[]), 100);
            process.control("futex", &[word, 128, 0, 0, 0, 0]);
            assert_eq!(process.succeed("gettid", &[]), 100);
        }
    }

    /// The threads that run next, in order, each waiting for ever; until the first one's turn.
    fn order(process: &mut Process, word: u64) -> Vec<u64> {
        let mut order = Vec::new();
        process.succeed("sched_yield", &[]);
        loop {
            let tid = process.succeed("gettid", &[]);
            if tid == 100 {
                return order;
            }
            order.push(tid);
            process.control("futex", &[word, 128, 0, 0, 0, 0]);
        }
    }

    #[test]
    fn waiters_are_woken_first_in_first_out() {
        let mut process = Process::new();
        let word = process.bytes(&[0; 4]);
        waiters(&mut process, word, 4);
        assert_eq!(process.call("futex", &[word, 129, 2, 0, 0, 0]), 2);
        assert_eq!(order(&mut process, word), [101, 102]);
        assert_eq!(process.call("futex", &[word, 129, 100, 0, 0, 0]), 4);
        assert_eq!(order(&mut process, word), [103, 104, 101, 102]);
    }

    #[test]
    fn waiters_are_moved_to_another_word() {
        let mut process = Process::new();
        let (word, other) = (process.bytes(&[0; 4]), process.bytes(&[0; 4]));
        waiters(&mut process, word, 4);
        let wrong = process.call("futex", &[word, 132, 1, 100, other, 7]);
        assert_eq!(wrong, failed(EAGAIN), "the word is compared");
        assert_eq!(process.call("futex", &[word, 132, 1, 2, other, 0]), 3);
        assert_eq!(process.call("futex", &[other, 129, 100, 0, 0, 0]), 2);
        assert_eq!(process.call("futex", &[word, 129, 100, 0, 0, 0]), 1);
        assert_eq!(order(&mut process, word), [101, 102, 103, 104]);
    }

    #[test]
    fn wake_op_changes_the_second_word_and_compares_its_old_value() {
        let mut process = Process::new();
        let (word, other) = (process.bytes(&[0; 4]), process.bytes(&5u32.to_le_bytes()));
        waiters(&mut process, word, 1);
        // Add 3; wake there if the old value was above 4.
        let code = 1 << 28 | 4 << 24 | 3 << 12 | 4;
        assert_eq!(process.call("futex", &[word, 133, 1, 1, other, code]), 1);
        assert_eq!(process.get(other, 4), 8u32.to_le_bytes());
        let set_bit = 0x8000_0000 | 2 << 28 | 8 << 12;
        assert_eq!(process.call("futex", &[word, 133, 1, 1, other, set_bit]), 0);
        assert_eq!(process.get(other, 4), 0x108u32.to_le_bytes());
    }

    #[test]
    fn bits_choose_and_time_runs_out() {
        let mut process = Process::new();
        let word = process.bytes(&[0; 4]);
        let time = process.bytes(&[0; 16]);
        process.succeed("clone", &[THREAD, 0, 0, 0, 0]);
        process.succeed("sched_yield", &[]);
        process.control("futex", &[word, 128 | WAIT_BITSET as u64, 0, 0, 0, 0b100]);
        assert_eq!(process.call("futex", &[word, 138, 9, 0, 0, 0b011]), 0);
        assert_eq!(
            process.call("futex", &[word, 138, 9, 0, 0, 0]),
            failed(EINVAL)
        );
        // A point in time that is past.
        assert_eq!(
            process.call("futex", &[word, 128 | WAIT_BITSET as u64, 0, time, 0, 1]),
            failed(ETIMEDOUT)
        );
        assert_eq!(process.call("futex", &[word, 138, 9, 0, 0, 0b110]), 1);
        // The last that waits for ever is a deadlock with the one that waits already.
        process.control("futex", &[word, 128, 0, 0, 0, 0]);
        assert_eq!(process.guest.cpu.gpr[RAX], 0, "the woken one runs");
        let deadlock = Exit::Deadlock {
            call: "futex".to_owned(),
        };
        assert_eq!(process.exit("futex", &[word, 128, 0, 0, 0, 0]), deadlock);
    }
}
