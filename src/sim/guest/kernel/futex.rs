//! Futexes: waiting on a word of memory, and waking who waits there, first in first out.
//!
//! A word is known by the memory that it lies in, not by its address alone: processes that share the memory meet there.
//! All threads have one priority, so of priority inheritance the ownership remains: the kernel hands a lock to the first
//! of those that wait for it.
use super::abi::*;
use super::clock::parse_timespec;
use super::thread::{Cause, Resume, Wait};
use super::user::{check_range, give, take, take_u32};
use super::{Answer, Kernel, Stop, unsupported};
use crate::sim::memory::Memory;
use crate::sim::shared::SharedId;

const WAIT: u32 = 0;
const WAKE: u32 = 1;
const REQUEUE: u32 = 3;
const CMP_REQUEUE: u32 = 4;
const WAKE_OP: u32 = 5;
const LOCK_PI: u32 = 6;
const UNLOCK_PI: u32 = 7;
const TRYLOCK_PI: u32 = 8;
const WAIT_BITSET: u32 = 9;
const WAKE_BITSET: u32 = 10;
const WAIT_REQUEUE_PI: u32 = 11;
const CMP_REQUEUE_PI: u32 = 12;
const LOCK_PI2: u32 = 13;
const PRIVATE: u32 = 128;
const CLOCK_REALTIME: u32 = 256;
// What a word says that holds an owner.
pub(super) const WAITERS: u32 = 1 << 31;
pub(super) const OWNER_DIED: u32 = 1 << 30;
pub(super) const OWNER: u32 = OWNER_DIED - 1;

/// Which word is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// An address in the memory of this number.
    Own { memory: u32, address: u64 },
    /// An offset in memory that processes share.
    Shared { object: SharedId, offset: u64 },
}

/// What a waiter waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// To be woken by who names one of these bits.
    Wake { bits: u32 },
    /// To own the word, which this thread owns now.
    Own { owner: u32 },
    /// To be moved to the queue of those who want to own this word.
    Move { to: Key },
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    key: Key,
    pub(super) tid: u32,
    want: Want,
}

/// The arguments of the system call.
struct Call {
    at: u64,
    operation: u32,
    value: u32,
    /// A timeout or a number, by the operation.
    fourth: u64,
    second: u64,
    last: u32,
}

impl Kernel {
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
        let call = Call {
            at,
            operation,
            value,
            fourth,
            second,
            last,
        };
        let command = operation & !(PRIVATE | CLOCK_REALTIME);
        match command {
            WAIT | WAIT_BITSET => self.futex_wait(mem, &call),
            WAKE | WAKE_BITSET => {
                let bits = if command == WAKE { u32::MAX } else { last };
                check_word(at)?;
                if bits == 0 {
                    return Err(EINVAL.into());
                }
                // A count below 1 wakes one, as on Linux.
                let key = self.futex_key(mem, at, operation);
                Ok(self.wake_futex(key, (value as i32).max(1) as u32, bits))
            }
            REQUEUE | CMP_REQUEUE => self.futex_requeue(mem, &call),
            WAKE_OP => {
                check_word(at)?;
                check_word(second)?;
                let holds = change_word(mem, second, last)?;
                let key = self.futex_key(mem, at, operation);
                let woken = self.wake_futex(key, (value as i32).max(1) as u32, u32::MAX);
                let also = if holds {
                    let key = self.futex_key(mem, second, operation);
                    self.wake_futex(key, (fourth as u32 as i32).max(1) as u32, u32::MAX)
                } else {
                    0
                };
                Ok(woken + also)
            }
            LOCK_PI | LOCK_PI2 | TRYLOCK_PI => self.futex_lock(mem, &call),
            UNLOCK_PI => self.futex_unlock(mem, &call),
            WAIT_REQUEUE_PI => self.futex_wait_moved(mem, &call),
            CMP_REQUEUE_PI => self.futex_move_to_lock(mem, &call),
            other => Err(unsupported(format!("futex operation {other}"))),
        }
    }

    /// The word at an address of the present process.
    pub(super) fn futex_key(&self, mem: &Memory, at: u64, operation: u32) -> Key {
        Key::of(mem, self.processes.memory(), at, operation & PRIVATE != 0)
    }

    /// When a wait with this timeout ends: WAIT takes a duration, the others a point in time.
    fn futex_deadline(&self, mem: &mut Memory, call: &Call) -> Result<Option<u64>, Stop> {
        if call.fourth == 0 {
            return Ok(None);
        }
        let limit = parse_timespec(take(mem, call.fourth)?)?;
        let command = call.operation & !(PRIVATE | CLOCK_REALTIME);
        let realtime = call.operation & CLOCK_REALTIME != 0 || command == LOCK_PI;
        let left = match command {
            WAIT => limit,
            _ if realtime => limit.saturating_sub(self.realtime_ns()),
            _ => limit.saturating_sub(self.monotonic_ns()),
        };
        Ok(Some(self.elapsed_ns().saturating_add(left)))
    }

    fn futex_wait(&mut self, mem: &mut Memory, call: &Call) -> Answer {
        let command = call.operation & !(PRIVATE | CLOCK_REALTIME);
        let bits = if command == WAIT { u32::MAX } else { call.last };
        if bits == 0 {
            return Err(EINVAL.into());
        }
        let deadline = self.futex_deadline(mem, call)?;
        check_word(call.at)?;
        if take_u32(mem, call.at)? != call.value {
            return Err(EAGAIN.into());
        }
        let key = self.futex_key(mem, call.at, call.operation);
        self.enqueue(key, Want::Wake { bits });
        Err(Stop::Wait(Wait {
            cause: Cause::Futex,
            deadline,
            restart: call.fourth == 0,
        }))
    }

    /// The running thread stands in a queue.
    fn enqueue(&mut self, key: Key, want: Want) {
        let tid = self.threads.me.tid;
        self.threads.futexes.push_back(Waiter { key, tid, want });
    }

    fn futex_requeue(&mut self, mem: &mut Memory, call: &Call) -> Answer {
        check_word(call.at)?;
        check_word(call.second)?;
        let (wake, requeue) = (call.value as i32, call.fourth as u32 as i32);
        if wake < 0 || requeue < 0 {
            return Err(EINVAL.into());
        }
        let compares = call.operation & !(PRIVATE | CLOCK_REALTIME) == CMP_REQUEUE;
        if compares && take_u32(mem, call.at)? != call.last {
            return Err(EAGAIN.into());
        }
        let from = self.futex_key(mem, call.at, call.operation);
        let to = self.futex_key(mem, call.second, call.operation);
        let woken = self.wake_futex(from, wake as u32, u32::MAX);
        let moved = self.requeue(from, to, requeue as usize);
        Ok(woken + if compares { moved } else { 0 })
    }

    /// Wakes up to `most` of those that wait on a word with one of these bits; how many it woke.
    pub(super) fn wake_futex(&mut self, key: Key, most: u32, bits: u32) -> u64 {
        let mut woken = Vec::new();
        self.threads.futexes.retain(|waiter| {
            let wanted = matches!(waiter.want, Want::Wake { bits: b } if b & bits != 0);
            let chosen = waiter.key == key && wanted && woken.len() < most as usize;
            if chosen {
                woken.push(waiter.tid);
            }
            !chosen
        });
        for &tid in &woken {
            self.threads.make_ready(tid, Resume::Answer(0));
        }
        woken.len() as u64
    }

    /// Moves up to `most` of those that wait on one word to the end of the queue of another.
    fn requeue(&mut self, from: Key, to: Key, most: usize) -> u64 {
        let mut moved = Vec::new();
        self.threads.futexes.retain(|waiter| {
            let chosen = waiter.key == from
                && matches!(waiter.want, Want::Wake { .. })
                && moved.len() < most;
            if chosen {
                moved.push(Waiter { key: to, ..*waiter });
            }
            !chosen
        });
        let count = moved.len() as u64;
        self.threads.futexes.extend(moved);
        count
    }

    /// Takes a lock that is free, or waits until its owner hands it over.
    fn futex_lock(&mut self, mem: &mut Memory, call: &Call) -> Answer {
        let trying = call.operation & !(PRIVATE | CLOCK_REALTIME) == TRYLOCK_PI;
        let deadline = if trying {
            None
        } else {
            self.futex_deadline(mem, call)?
        };
        check_word(call.at)?;
        let key = self.futex_key(mem, call.at, call.operation);
        let word = take_u32(mem, call.at)?;
        let owner = word & OWNER;
        let me = self.threads.me.tid;
        if owner == 0 {
            let waited_for = self.threads.futexes.iter().any(|w| w.wants_to_own(key));
            let waiters = if waited_for { WAITERS } else { 0 };
            give(
                mem,
                call.at,
                &(word & OWNER_DIED | me | waiters).to_le_bytes(),
            )?;
            return Ok(0);
        }
        self.check_owner_of_lock(owner)?;
        give(mem, call.at, &(word | WAITERS).to_le_bytes())?;
        if trying {
            return Err(EAGAIN.into());
        }
        self.enqueue(key, Want::Own { owner });
        Err(Stop::Wait(Wait {
            cause: Cause::Lock,
            deadline,
            restart: true,
        }))
    }

    /// Whether the running thread may wait for this owner: it exists, and does not itself wait for the running thread.
    fn check_owner_of_lock(&self, owner: u32) -> Result<(), Errno> {
        let me = self.threads.me.tid;
        let mut at = owner;
        // No circle goes on without the running thread: the last of it would have been refused.
        for _ in 0..=self.threads.futexes.len() {
            if at == me {
                return Err(EDEADLK);
            }
            let waits = self.threads.futexes.iter().find(|w| w.tid == at);
            match waits.map(|w| w.want) {
                Some(Want::Own { owner }) => at = owner,
                _ => break,
            }
        }
        if self.threads.get(owner).is_none() {
            return Err(ESRCH);
        }
        Ok(())
    }

    fn futex_unlock(&mut self, mem: &mut Memory, call: &Call) -> Answer {
        check_word(call.at)?;
        let word = take_u32(mem, call.at)?;
        if word & OWNER != self.threads.me.tid {
            return Err(EPERM.into());
        }
        let key = self.futex_key(mem, call.at, call.operation);
        let next = self.next_owner(key).map_or(0, |tid| tid | WAITERS);
        give(mem, call.at, &next.to_le_bytes())?;
        Ok(0)
    }

    /// The first of those that want to own a word owns it and goes on.
    fn next_owner(&mut self, key: Key) -> Option<u32> {
        let at = (self.threads.futexes.iter()).position(|w| w.wants_to_own(key))?;
        let tid = self.threads.futexes.remove(at)?.tid;
        for waiter in &mut self.threads.futexes {
            if waiter.wants_to_own(key) {
                waiter.want = Want::Own { owner: tid };
            }
        }
        self.threads.make_ready(tid, Resume::Answer(0));
        Some(tid)
    }

    /// The locks that a thread owned and others wait for go to the first of those, marked.
    pub(super) fn hand_over_locks(&mut self, mem: &mut Memory, dead: u32) {
        loop {
            let held = (self.threads.futexes.iter())
                .find(|w| w.want == Want::Own { owner: dead })
                .map(|w| w.key);
            let Some(key) = held else { return };
            let Some(tid) = self.next_owner(key) else {
                return;
            };
            let word = (tid | WAITERS | OWNER_DIED).to_le_bytes();
            // A word that cannot be written to stays, as on Linux.
            let _ = match key {
                Key::Own { address, .. } => give(mem, address, &word),
                Key::Shared { object, offset } => {
                    (mem.write_shared_bytes(object, offset, &word)).map_err(Stop::from)
                }
            };
        }
    }

    fn futex_wait_moved(&mut self, mem: &mut Memory, call: &Call) -> Answer {
        let deadline = self.futex_deadline(mem, call)?;
        check_word(call.at)?;
        check_word(call.second)?;
        if call.at == call.second {
            return Err(EINVAL.into());
        }
        if take_u32(mem, call.at)? != call.value {
            return Err(EAGAIN.into());
        }
        let key = self.futex_key(mem, call.at, call.operation);
        let to = self.futex_key(mem, call.second, call.operation);
        self.enqueue(key, Want::Move { to });
        Err(Stop::Wait(Wait {
            cause: Cause::Lock,
            deadline,
            restart: true,
        }))
    }

    /// Lets the first of those that wait to be moved own the second word, if it is free, and the others wait for it.
    fn futex_move_to_lock(&mut self, mem: &mut Memory, call: &Call) -> Answer {
        check_word(call.at)?;
        check_word(call.second)?;
        let most = call.fourth as u32 as i32;
        if call.value != 1 || most < 0 || call.at == call.second {
            return Err(EINVAL.into());
        }
        if take_u32(mem, call.at)? != call.last {
            return Err(EAGAIN.into());
        }
        let from = self.futex_key(mem, call.at, call.operation);
        let to = self.futex_key(mem, call.second, call.operation);
        let here = self.threads.futexes.iter().filter(|w| w.key == from);
        if here.clone().any(|w| w.want != Want::Move { to }) {
            return Err(EINVAL.into());
        }
        let waiting: Vec<u32> = here.map(|w| w.tid).take(1 + most as usize).collect();
        if waiting.is_empty() {
            return Ok(0);
        }
        let word = take_u32(mem, call.second)?;
        let mut owner = word & OWNER;
        let mut moved = waiting.clone();
        if owner == 0 {
            owner = moved.remove(0);
            self.threads.futexes.retain(|w| w.tid != owner);
            self.threads.make_ready(owner, Resume::Answer(0));
        } else if self.threads.get(owner).is_none() {
            return Err(ESRCH.into());
        }
        let waiters = if moved.is_empty() {
            word & WAITERS
        } else {
            WAITERS
        };
        give(
            mem,
            call.second,
            &(word & OWNER_DIED | owner | waiters).to_le_bytes(),
        )?;
        self.threads.futexes.retain(|w| !moved.contains(&w.tid));
        let want = Want::Own { owner };
        let wanting = moved.into_iter().map(|tid| Waiter { key: to, tid, want });
        self.threads.futexes.extend(wanting);
        Ok(waiting.len() as u64)
    }
}

impl Key {
    /// The word at an address of the memory of this number. Where only the process itself is meant, others that share
    /// the memory do not count.
    pub(super) fn of(mem: &Memory, memory: u32, address: u64, private: bool) -> Self {
        match mem.shared_word(address).filter(|_| !private) {
            Some((object, offset)) => Self::Shared { object, offset },
            None => Self::Own { memory, address },
        }
    }
}

impl Waiter {
    fn wants_to_own(&self, key: Key) -> bool {
        self.key == key && matches!(self.want, Want::Own { .. })
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
