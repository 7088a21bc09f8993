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
