//! Signals: dispositions, masks, sending, delivering, and what becomes of faults.
//!
//! A signal that some thread does not block goes to that thread at once: its default action acts, or its handler runs
//! when the thread next returns to the program. Others are pending. `frame` builds what a handler finds on its stack.
use super::super::elf::is_elf;
use super::super::symbols;
use super::abi::*;
use super::clock::parse_timespec;
use super::thread::{Cause, Resume, Wait, finish};
use super::timer::SI_TIMER;
use super::user::{Record, give, take, take_u32, take_u64};
use super::{Answer, Kernel, Now, STACK_GUARD, SYSCALL_SIZE, Stop};
use crate::sim::isa::state::{Cpu, RSP};
use crate::sim::memory::{AccessKind, Backing, Fault, Memory, PAGE_SIZE, Protection, Purpose};
use crate::sim::outcome::Exit;
use std::collections::BTreeMap;

const SIG_DEFAULT: u64 = 0;
const SIG_IGNORE: u64 = 1;
// sa_flags
pub(super) const SA_SIGINFO: u64 = 4;
pub(super) const SA_RESTORER: u64 = 0x0400_0000;
pub(super) const SA_ONSTACK: u64 = 0x0800_0000;
const SA_RESTART: u64 = 0x1000_0000;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;
/// Flags that Linux keeps: those above, NOCLDSTOP, NOCLDWAIT and EXPOSE_TAGBITS.
const SA_KNOWN: u64 =
    3 | 0x800 | SA_SIGINFO | SA_RESTORER | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND;
// flags of an alternate stack
pub(super) const SS_ONSTACK: u32 = 1;
pub(super) const SS_DISABLE: u32 = 2;
pub(super) const SS_AUTODISARM: u32 = 1 << 31;
/// Least size of an alternate stack, bytes.
const MINSIGSTKSZ: u64 = 2048;
// si_code
const SI_USER: i32 = 0;
const SI_KERNEL: i32 = 0x80;
const SI_TKILL: i32 = -6;
/// Signals that may be pending in one queue.
const MOST_PENDING: usize = 1024;
/// The first signal of which several may be pending.
const FIRST_REAL_TIME: u8 = 32;
/// Signals of faults: they are delivered before all others.
const SYNCHRONOUS: u64 = 1 << (SIGILL - 1)
    | 1 << (SIGTRAP - 1)
    | 1 << (SIGBUS - 1)
    | 1 << (SIGFPE - 1)
    | 1 << (SIGSEGV - 1)
    | 1 << (SIGSYS - 1);

/// A disposition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) handler: u64,
    pub(super) flags: u64,
    pub(super) restorer: u64,
    mask: u64,
}

/// What a signal does.
enum Disposition {
    Ignore,
    Handle(Action),
    Stop,
    Kill,
}

/// A signal on its way, with what `siginfo` tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Info {
    pub(super) signal: u8,
    code: i32,
    /// The words behind the header: sender and value, or an address.
    fields: [u64; 2],
}

impl Info {
    pub(super) fn new(signal: u8, code: i32, fields: [u64; 2]) -> Self {
        Self {
            signal,
            code,
            fields,
        }
    }

    /// From the process itself.
    fn own(pid: u32, signal: u8, code: i32) -> Self {
        let sender = u64::from(pid) | u64::from(GUEST_UID) << 32;
        Self::new(signal, code, [sender, 0])
    }

    pub(super) fn code(&self) -> i32 {
        self.code
    }

    pub(super) fn fields(&self) -> [u64; 2] {
        self.fields
    }

    /// The timer that sent it, by number.
    pub(super) fn timer(&self) -> Option<u32> {
        (self.code == SI_TIMER).then_some(self.fields[0] as u32)
    }

    /// Of a timer, with how often it has expired unseen.
    pub(super) fn with_overrun(mut self, overrun: u32) -> Self {
        self.fields[0] = self.fields[0] & 0xffff_ffff | u64::from(overrun) << 32;
        self
    }

    /// A `siginfo`: 128 bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        Record::new()
            .u32(self.signal.into())
            .u32(0)
            .u32(self.code as u32)
            .u32(0)
            .u64(self.fields[0])
            .u64(self.fields[1])
            .zeros(96)
            .bytes()
    }
}

/// Signals that wait to be delivered.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    infos: Vec<Info>,
    pub(super) bits: u64,
}

impl Pending {
    /// Adds a signal; false if there is no room. Of the old signals only one is kept.
    fn push(&mut self, info: Info) -> bool {
        // What a timer sends is kept beside: the timer waits until it is taken.
        let one = info.signal < FIRST_REAL_TIME && info.timer().is_none();
        if one && self.bits & bit(info.signal) != 0 {
            return true;
        }
        if self.infos.len() >= MOST_PENDING {
            return false;
        }
        self.bits |= bit(info.signal);
        self.infos.push(info);
        true
    }

    /// Takes the first of the signals in `mask`.
    fn take(&mut self, mask: u64) -> Option<Info> {
        let ready = self.bits & mask;
        let ready = if ready & SYNCHRONOUS != 0 {
            ready & SYNCHRONOUS
        } else {
            ready
        };
        if ready == 0 {
            return None;
        }
        let signal = ready.trailing_zeros() as u8 + 1;
        let at = self.infos.iter().position(|i| i.signal == signal)?;
        let info = self.infos.remove(at);
        if self.infos.iter().all(|i| i.signal != signal) {
            self.bits &= !bit(signal);
        }
        Some(info)
    }

    /// Whether the signal of a timer waits.
    fn holds_timer(&self, id: u32) -> bool {
        self.infos.iter().any(|i| i.timer() == Some(id))
    }

    fn discard_timer(&mut self, id: u32) {
        self.infos.retain(|i| i.timer() != Some(id));
        self.bits = self.infos.iter().fold(0, |bits, i| bits | bit(i.signal));
    }

    fn discard(&mut self, signal: u8) {
        self.infos.retain(|i| i.signal != signal);
        self.bits &= !bit(signal);
    }
}

/// Who a signal is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A thread, by number.
    Thread(u32),
    /// Any thread of this process that does not block it.
    Process(u32),
}

/// An alternate stack for handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alternate {
    pub(super) base: u64,
    pub(super) flags: u32,
    pub(super) size: u64,
}

impl Default for Alternate {
    fn default() -> Self {
        Self {
            base: 0,
            flags: SS_DISABLE,
            size: 0,
        }
    }
}

impl Alternate {
    /// Whether the stack pointer is in it, whatever its flags.
    pub(super) fn holds(&self, pointer: u64) -> bool {
        pointer > self.base && pointer - self.base <= self.size
    }

    /// Whether a handler runs on it. One that disarms itself never counts as in use.
    pub(super) fn in_use(&self, pointer: u64) -> bool {
        self.flags & SS_AUTODISARM == 0 && self.holds(pointer)
    }

    /// Whether a handler that begins now goes to it.
    pub(super) fn is_free(&self, pointer: u64) -> bool {
        self.size > 0 && !self.in_use(pointer)
    }
}

/// The signal state of the process; that of threads is with them.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    actions: BTreeMap<u8, Action>,
    pub(super) pending: Pending,
}

impl Signals {
    fn action(&self, signal: u8) -> Action {
        self.actions.get(&signal).copied().unwrap_or_default()
    }

    fn disposition(&self, signal: u8) -> Disposition {
        let action = self.action(signal);
        match (action.handler, signal) {
            (SIG_IGNORE, _) | (SIG_DEFAULT, SIGCHLD | SIGCONT | SIGURG | SIGWINCH) => {
                Disposition::Ignore
            }
            (SIG_DEFAULT, SIGSTOP..=SIGTTOU) => Disposition::Stop,
            (SIG_DEFAULT, _) => Disposition::Kill,
            _ => Disposition::Handle(action),
        }
    }

    /// Those of a child: nothing is pending.
    pub(super) fn of_child(&self) -> Self {
        Self {
            actions: self.actions.clone(),
            pending: Pending::default(),
        }
    }

    /// After `execve`: there are no handlers any more; what is ignored stays so.
    pub(super) fn reset_handlers(&mut self) {
        self.actions
            .retain(|_, action| action.handler == SIG_IGNORE);
    }

    /// Whether children that end leave nothing to wait for.
    pub(super) fn ignores_children(&self) -> bool {
        const SA_NOCLDWAIT: u64 = 2;
        let action = self.action(SIGCHLD);
        action.handler == SIG_IGNORE || action.flags & SA_NOCLDWAIT != 0
    }

    /// Signals that are ignored, and those that have a handler, for `/proc/self/status`.
    pub(super) fn ignored_and_caught(&self) -> (u64, u64) {
        let mut masks = (0, 0);
        for (&signal, action) in &self.actions {
            match action.handler {
                SIG_DEFAULT => {}
                SIG_IGNORE => masks.0 |= bit(signal),
                _ => masks.1 |= bit(signal),
            }
        }
        masks
    }
}

/// The bit of a signal in a mask.
fn bit(signal: u8) -> u64 {
    1 << ((signal - 1) & 63)
}

/// The signals that cannot be blocked.
const UNBLOCKABLE: u64 = 1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1);

fn valid(signal: u64) -> Result<u8, Errno> {
    match u8::try_from(signal) {
        Ok(s) if (1..=SIGNALS).contains(&s) => Ok(s),
        _ => Err(EINVAL),
    }
}

impl Kernel {
    pub(super) fn rt_sigaction(
        &mut self,
        mem: &mut Memory,
        signal: u64,
        new: u64,
        old: u64,
        size: u64,
    ) -> Answer {
        if size != 8 {
            return Err(EINVAL.into());
        }
        let new = if new == 0 {
            None
        } else {
            Some(take::<32>(mem, new)?)
        };
        let signal = valid(signal & 0xffff_ffff)?;
        if new.is_some() && matches!(signal, SIGKILL | SIGSTOP) {
            return Err(EINVAL.into());
        }
        let before = self.signals.action(signal);
        if let Some(bytes) = new {
            let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j]));
            let action = Action {
                handler: word(0),
                flags: word(1) & SA_KNOWN,
                restorer: word(2),
                mask: word(3) & !UNBLOCKABLE,
            };
            self.signals.actions.insert(signal, action);
            if matches!(self.signals.disposition(signal), Disposition::Ignore) {
                // What is pending is forgotten, even where it is blocked.
                self.signals.pending.discard(signal);
                for tid in self.threads.numbers(self.processes.pid) {
                    if let Some(thread) = self.threads.get_mut(tid) {
                        thread.pending.discard(signal);
                    }
                }
            }
        }
        if old != 0 {
            let record = Record::new().u64(before.handler).u64(before.flags);
            let record = record.u64(before.restorer).u64(before.mask);
            give(mem, old, &record.bytes())?;
        }
        Ok(0)
    }

    pub(super) fn rt_sigprocmask(
        &mut self,
        mem: &mut Memory,
        how: u32,
        set: u64,
        old: u64,
        size: u64,
    ) -> Answer {
        if size != 8 {
            return Err(EINVAL.into());
        }
        let before = self.threads.me.blocked;
        if set != 0 {
            let bits = take_u64(mem, set)?;
            let blocked = match how {
                0 => before | bits,
                1 => before & !bits,
                2 => bits,
                _ => return Err(EINVAL.into()),
            };
            self.set_blocked(blocked);
        }
        if old != 0 {
            give(mem, old, &before.to_le_bytes())?;
        }
        Ok(0)
    }

    /// Sets the mask of the running thread.
    pub(super) fn set_blocked(&mut self, mask: u64) {
        self.threads.me.blocked = mask & !UNBLOCKABLE;
    }

    /// Signals that are pending for the running thread.
    pub(super) fn pending(&self) -> u64 {
        self.threads.me.pending.bits | self.signals.pending.bits
    }

    /// Whether the running thread has a signal to act on.
    pub(super) fn is_signalled(&self) -> bool {
        self.pending() & !self.threads.me.blocked != 0
    }

    pub(super) fn rt_sigpending(&mut self, mem: &mut Memory, at: u64, size: u64) -> Answer {
        if size > 8 {
            return Err(EINVAL.into());
        }
        let blocked = self.pending() & self.threads.me.blocked;
        give(mem, at, &blocked.to_le_bytes()[..size as usize])?;
        Ok(0)
    }

    pub(super) fn sigaltstack(
        &mut self,
        cpu: &Cpu,
        mem: &mut Memory,
        new: u64,
        old: u64,
    ) -> Answer {
        let pointer = cpu.gpr[RSP];
        let before = self.threads.me.alternate;
        if new != 0 {
            let wanted = Alternate {
                base: take_u64(mem, new)?,
                flags: take_u32(mem, new.wrapping_add(8))?,
                size: take_u64(mem, new.wrapping_add(16))?,
            };
            self.set_alternate(pointer, wanted)?;
        }
        if old != 0 {
            let flags = match () {
                () if before.size == 0 => SS_DISABLE,
                () if before.in_use(pointer) => SS_ONSTACK,
                () => 0,
            };
            let flags = flags | before.flags & SS_AUTODISARM;
            let record = Record::new().u64(before.base).u32(flags).u32(0);
            give(mem, old, &record.u64(before.size).bytes())?;
        }
        Ok(0)
    }

    /// Sets the alternate stack of the running thread, whose stack pointer this is.
    pub(super) fn set_alternate(&mut self, pointer: u64, wanted: Alternate) -> Result<(), Errno> {
        if self.threads.me.alternate.in_use(pointer) {
            return Err(EPERM);
        }
        let least = self.profile.minimum_signal_stack.max(MINSIGSTKSZ);
        self.threads.me.alternate = match wanted.flags & !SS_AUTODISARM {
            SS_DISABLE => Alternate {
                base: 0,
                size: 0,
                ..wanted
            },
            0 | SS_ONSTACK if wanted.size < least => return Err(ENOMEM),
            0 | SS_ONSTACK => wanted,
            _ => return Err(EINVAL),
        };
        Ok(())
    }

    pub(super) fn rt_sigtimedwait(
        &mut self,
        mem: &mut Memory,
        set: u64,
        info: u64,
        time: u64,
        size: u64,
    ) -> Answer {
        if size != 8 {
            return Err(EINVAL.into());
        }
        let wanted = take_u64(mem, set)? & !UNBLOCKABLE;
        let limit = if time == 0 {
            None
        } else {
            Some(parse_timespec(take(mem, time)?)?)
        };
        if let Some(found) = self.take_pending(wanted) {
            if info != 0 {
                give(mem, info, &found.bytes())?;
            }
            return Ok(found.signal.into());
        }
        if limit == Some(0) || self.expired() {
            return Err(EAGAIN.into());
        }
        let fresh = limit.map(|ns| self.elapsed_ns().saturating_add(ns));
        let deadline = self.repeated.map_or(fresh, |(wait, _)| wait.deadline);
        Err(Stop::Wait(Wait {
            cause: Cause::Signal { set: wanted },
            deadline,
            restart: false,
        }))
    }

    /// Takes the first signal of a mask that is pending for the running thread.
    pub(super) fn take_pending(&mut self, mask: u64) -> Option<Info> {
        let own = self.threads.me.pending.take(mask);
        let info = own.or_else(|| self.signals.pending.take(mask))?;
        Some(self.take_timer_signal(info))
    }

    /// Whether a signal that a timer of a process sent waits to be taken.
    pub(super) fn timer_signal_waits(&self, pid: u32, id: u32) -> bool {
        let threads = self.threads.numbers(pid).into_iter();
        self.signals_of(pid)
            .is_some_and(|s| s.pending.holds_timer(id))
            || threads
                .filter_map(|tid| self.threads.get(tid))
                .any(|t| t.pending.holds_timer(id))
    }

    /// What a timer of the present process has sent and nobody has taken is taken back.
    pub(super) fn forget_timer_signals(&mut self, id: u32) {
        self.signals.pending.discard_timer(id);
        for tid in self.threads.numbers(self.processes.pid) {
            if let Some(thread) = self.threads.get_mut(tid) {
                thread.pending.discard_timer(id);
            }
        }
    }

    /// Sets another mask until the call has ended.
    pub(super) fn with_mask(&mut self, mask: u64) {
        let before = self.threads.me.blocked;
        // A call that is made again has done so already.
        self.threads.me.saved_mask.get_or_insert(before);
        self.set_blocked(mask);
    }

    pub(super) fn rt_sigsuspend(&mut self, mem: &mut Memory, set: u64, size: u64) -> Answer {
        if size != 8 {
            return Err(EINVAL.into());
        }
        let mask = take_u64(mem, set)?;
        self.with_mask(mask);
        self.pause()
    }

    /// Waits for a signal that is delivered.
    pub(super) fn pause(&self) -> Answer {
        Err(Stop::Wait(Wait {
            cause: Cause::Signal { set: 0 },
            deadline: None,
            restart: false,
        }))
    }

    /// Whether a signal would do anything if it came while all threads wait.
    pub(super) fn could_matter(&self, pid: u32, signal: u8) -> bool {
        self.signals_of(pid).is_some_and(|signals| {
            let pending = signals.pending.bits & bit(signal) != 0;
            !pending && !matches!(signals.disposition(signal), Disposition::Ignore)
        })
    }

    /// The signal state of a process.
    pub(super) fn signals_of(&self, pid: u32) -> Option<&Signals> {
        if pid == self.processes.pid {
            Some(&self.signals)
        } else {
            self.processes.others.get(&pid).map(|p| &p.signals)
        }
    }

    /// Sends a signal: it acts, waits to be handled, or is pending.
    pub(super) fn send(
        &mut self,
        mem: &mut Memory,
        target: Target,
        info: Info,
    ) -> Result<(), Stop> {
        let mask = bit(info.signal);
        let accepts = |threads: &super::thread::Threads, tid: u32| {
            (threads.get(tid)).is_some_and(|t| t.blocked & mask == 0 || t.awaits(mask))
        };
        let chosen = match target {
            Target::Thread(tid) => Some(tid).filter(|&t| accepts(&self.threads, t)),
            Target::Process(pid) => {
                let all = self.threads.numbers(pid);
                all.into_iter().find(|&t| accepts(&self.threads, t))
            }
        };
        let no_room = || Err(EAGAIN.into());
        // Whoever waits to read it looks again.
        self.signals_sent += 1;
        self.descriptor_changes += 1;
        let Some(tid) = chosen else {
            let queue = match target {
                Target::Thread(tid) => self.threads.get_mut(tid).map(|t| &mut t.pending),
                Target::Process(pid) if pid == self.processes.pid => {
                    Some(&mut self.signals.pending)
                }
                Target::Process(pid) => {
                    let other = self.processes.others.get_mut(&pid);
                    other.map(|p| &mut p.signals.pending)
                }
            };
            return match queue.map(|queue| queue.push(info)) {
                Some(true) => Ok(()),
                Some(false) => no_room(),
                None => Err(ESRCH.into()),
            };
        };
        let awaited = self.threads.get(tid).is_some_and(|t| t.awaits(mask));
        if !awaited {
            let pid = self.threads.get(tid).map_or(0, |t| t.pid);
            let Some(signals) = self.signals_of(pid) else {
                return Err(ESRCH.into());
            };
            match signals.disposition(info.signal) {
                Disposition::Ignore => return Ok(()),
                Disposition::Stop => return Err(Stop::Exit(stopped(info.signal))),
                Disposition::Kill if pid != self.processes.pid && pid != GUEST_PID => {
                    return self.kill_other(mem, pid, info.signal).map_err(Stop::Exit);
                }
                Disposition::Kill => {
                    // The first process ends the run, whoever kills it.
                    self.killed_first |= pid == GUEST_PID;
                    return Err(Stop::Exit(self.killed(mem, info.signal, self.rip, None)));
                }
                Disposition::Handle(_) => {}
            }
        }
        let Some(thread) = self.threads.get_mut(tid) else {
            return Err(ESRCH.into());
        };
        if !thread.pending.push(info) {
            return no_room();
        }
        if awaited {
            self.threads.take_signal(tid);
        } else {
            self.threads.interrupt(tid);
        }
        Ok(())
    }

    /// A write found nobody to read: the signal, and EPIPE where it does not kill.
    pub(super) fn broken_pipe(&mut self, mem: &mut Memory) -> Stop {
        let me = Target::Thread(self.threads.me.tid);
        match self.send(mem, me, Info::own(self.processes.pid, SIGPIPE, SI_USER)) {
            Err(stop @ Stop::Exit(_)) => stop,
            _ => EPIPE.into(),
        }
    }

    /// `kill`: a process, a group, or everybody else.
    pub(super) fn kill(&mut self, mem: &mut Memory, pid: i32, signal: i32) -> Answer {
        if !(0..=i32::from(SIGNALS)).contains(&signal) {
            return Err(EINVAL.into());
        }
        let me = self.processes.pid;
        let everybody = self.process_numbers();
        let of_group = |group: u32| {
            let all = everybody.iter().copied();
            all.filter(|&p| self.group_of(p) == Some(group)).collect()
        };
        let targets: Vec<u32> = match pid {
            // `kill(-1)` leaves out the caller.
            -1 => everybody.iter().copied().filter(|&p| p != me).collect(),
            0 => of_group(self.processes.group),
            ..0 => of_group(pid.unsigned_abs()),
            // The number of any thread stands for its process.
            _ => (self.threads.get(pid as u32).map(|t| t.pid))
                .into_iter()
                .collect(),
        };
        if targets.is_empty() {
            let waited_for = pid > 0 && self.is_zombie(pid as u32);
            return if waited_for {
                Ok(0)
            } else {
                Err(self.not_mine(pid).into())
            };
        }
        if signal != 0 {
            let info = Info::own(me, signal as u8, SI_USER);
            for target in targets {
                self.send(mem, Target::Process(target), info)?;
            }
        }
        Ok(0)
    }

    /// Why a signal does not reach another process: only the parent and the first process exist, and they are root's.
    pub(super) fn not_mine(&self, pid: i32) -> Errno {
        if pid == 1 || pid == PARENT_PID as i32 {
            EPERM
        } else {
            ESRCH
        }
    }

    /// `tgkill`, and `tkill` with the group of the process.
    pub(super) fn tgkill(
        &mut self,
        mem: &mut Memory,
        group: i32,
        thread: i32,
        signal: i32,
    ) -> Answer {
        if group <= 0 || thread <= 0 || !(0..=i32::from(SIGNALS)).contains(&signal) {
            return Err(EINVAL.into());
        }
        let tid = self.thread_of(group, thread)?;
        if signal != 0 {
            let info = Info::own(self.processes.pid, signal as u8, SI_TKILL);
            self.send(mem, Target::Thread(tid), info)?;
        }
        Ok(0)
    }

    pub(super) fn tkill(&mut self, mem: &mut Memory, thread: i32, signal: i32) -> Answer {
        let pid = u32::try_from(thread).ok().and_then(|t| self.threads.get(t));
        let group = pid.map_or(self.processes.pid, |t| t.pid) as i32;
        self.tgkill(mem, group, thread, signal)
    }

    fn thread_of(&self, group: i32, thread: i32) -> Result<u32, Errno> {
        let tid = thread as u32;
        if (self.threads.get(tid)).is_some_and(|t| t.pid == group as u32) {
            Ok(tid)
        } else {
            Err(self.not_mine(if group == thread { thread } else { 0 }))
        }
    }

    /// `rt_sigqueueinfo`, and with a thread `rt_tgsigqueueinfo`.
    pub(super) fn rt_sigqueueinfo(
        &mut self,
        mem: &mut Memory,
        pid: i32,
        thread: Option<i32>,
        signal: i32,
        info: u64,
    ) -> Answer {
        let code = take_u32(mem, info.wrapping_add(8))? as i32;
        let fields = [
            take_u64(mem, info.wrapping_add(16))?,
            take_u64(mem, info.wrapping_add(24))?,
        ];
        if !(0..=i32::from(SIGNALS)).contains(&signal) {
            return Err(EINVAL.into());
        }
        let target = match thread {
            Some(thread) => Target::Thread(self.thread_of(pid, thread)?),
            None if self.group_of(pid as u32).is_some() => Target::Process(pid as u32),
            None => return Err(self.not_mine(pid).into()),
        };
        if signal != 0 {
            self.send(mem, target, Info::new(signal as u8, code, fields))?;
        }
        Ok(0)
    }

    /// Before the running thread goes on in the program: signals act, and calls that they interrupted end.
    pub(super) fn deliver(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Result<(), Exit> {
        loop {
            let blocked = self.threads.me.blocked;
            let Some(info) = self.take_pending(!blocked) else {
                self.end_interrupted(cpu, mem, None);
                match self.threads.me.saved_mask.take() {
                    // What that unblocks acts now.
                    Some(mask) => self.set_blocked(mask),
                    None => return Ok(()),
                }
                continue;
            };
            match self.signals.disposition(info.signal) {
                Disposition::Ignore => {}
                Disposition::Stop => return Err(stopped(info.signal)),
                Disposition::Kill => return Err(self.killed(mem, info.signal, cpu.rip, None)),
                Disposition::Handle(action) => {
                    self.end_interrupted(cpu, mem, Some(action));
                    self.run_handler(cpu, mem, &info, action)?;
                }
            }
        }
    }

    /// A call that a signal interrupted fails, or starts again.
    fn end_interrupted(&mut self, cpu: &mut Cpu, mem: &mut Memory, handler: Option<Action>) {
        let Resume::Interrupted(wait) = self.threads.me.resume else {
            return;
        };
        self.threads.me.resume = Resume::Run;
        if let (Cause::Sleep { left }, Some(deadline)) = (wait.cause, wait.deadline)
            && left != 0
        {
            let rest = deadline.saturating_sub(self.elapsed_ns());
            // A sleeper that cannot be told what is left is not told.
            let _ = give(mem, left, &super::clock::timespec(rest));
        }
        let restarts = |a: Action| wait.restart && a.flags & SA_RESTART != 0;
        let again = wait.cause == Cause::Lock || handler.is_none_or(restarts);
        if again {
            cpu.rip = cpu.rip.wrapping_sub(SYSCALL_SIZE);
        } else {
            finish(cpu, EINTR.as_result());
        }
    }

    /// Lets the running thread enter a handler.
    fn run_handler(
        &mut self,
        cpu: &mut Cpu,
        mem: &mut Memory,
        info: &Info,
        action: Action,
    ) -> Result<(), Exit> {
        if action.flags & SA_RESETHAND != 0
            && let Some(kept) = self.signals.actions.get_mut(&info.signal)
        {
            kept.handler = SIG_DEFAULT;
        }
        let rip = cpu.rip;
        if let Err(fault) = self.push_frame(cpu, mem, info, action) {
            // No stack for the handler: Linux kills with SIGSEGV (a handler of that would need the same stack).
            return Err(match fault {
                Fault::MemoryLimit => Exit::MemoryLimit,
                Fault::Page { addr, mapped, .. } if self.overflows(cpu, mem, addr, mapped) => {
                    self.overflow(mem, rip)
                }
                _ => self.killed(mem, SIGSEGV, rip, None),
            });
        }
        let me = &mut self.threads.me;
        me.saved_mask = None;
        me.blocked |= action.mask;
        if action.flags & SA_NODEFER == 0 {
            me.blocked |= bit(info.signal) & !UNBLOCKABLE;
        }
        Ok(())
    }

    /// The instruction at `cpu.rip` faults: its signal is handled, or the run ends.
    pub fn fault(
        &mut self,
        cpu: &mut Cpu,
        mem: &mut Memory,
        fault: Fault,
        now: Now,
    ) -> Option<Exit> {
        self.now = now;
        self.rip = cpu.rip;
        let result = self.take_fault(cpu, mem, fault).map(|()| None::<()>);
        self.contain(cpu, mem, result).err()
    }

    fn take_fault(&mut self, cpu: &mut Cpu, mem: &mut Memory, fault: Fault) -> Result<(), Exit> {
        let rip = cpu.rip;
        let (info, address, trap) = match fault {
            Fault::MemoryLimit => return Err(Exit::MemoryLimit),
            Fault::Unsupported => {
                return Err(Exit::UnsupportedInstruction {
                    mnemonic: mnemonic(mem, rip),
                    rip,
                    function: self.symbolize(mem, rip),
                });
            }
            // The run loop makes the page; what reaches here could not be made.
            Fault::FirstTouch { .. } => return Err(Exit::MemoryLimit),
            Fault::Page { addr, kind, mapped } => {
                // Error code: page present, write, user mode, instruction fetch.
                let access = match kind {
                    AccessKind::Read => 0,
                    AccessKind::Write => 2,
                    AccessKind::Execute => 0x10,
                };
                let error = u64::from(mapped) | access | 4;
                let info = Info::new(SIGSEGV, 1 + i32::from(mapped), [addr, 0]);
                (info, Some(addr), [14, error, addr])
            }
            Fault::Bus { addr } => {
                let info = Info::new(SIGBUS, 2, [addr, 0]);
                (info, Some(addr), [14, 4, addr])
            }
            Fault::GeneralProtection => (Info::new(SIGSEGV, SI_KERNEL, [0; 2]), None, [13, 0, 0]),
            Fault::Divide => (Info::new(SIGFPE, 1, [rip, 0]), None, [0; 3]),
            Fault::InvalidOpcode => (Info::new(SIGILL, 2, [rip, 0]), None, [6, 0, 0]),
            Fault::Breakpoint => (Info::new(SIGTRAP, SI_KERNEL, [0; 2]), None, [3, 0, 0]),
            Fault::SimdFloat => {
                let mxcsr = cpu.mxcsr();
                let code = float_code(mxcsr & !(mxcsr >> 7));
                (Info::new(SIGFPE, code, [rip, 0]), None, [19, 0, 0])
            }
            Fault::X87Float => {
                let code = float_code(u32::from(cpu.x87.status & !cpu.x87.control));
                (Info::new(SIGFPE, code, [rip, 0]), None, [16, 0, 0])
            }
        };
        let mapped = matches!(fault, Fault::Page { mapped: true, .. });
        let overflow = matches!(fault, Fault::Page { .. })
            && address.is_some_and(|a| self.overflows(cpu, mem, a, mapped));
        let action = match self.signals.disposition(info.signal) {
            Disposition::Handle(action) if self.threads.me.blocked & bit(info.signal) == 0 => {
                Some(action)
            }
            // A fault whose signal is blocked or ignored kills.
            _ => None,
        };
        // After an overflow there is no stack for a handler but an alternate one.
        let spare = |a: &Action| {
            a.flags & SA_ONSTACK != 0 && self.threads.me.alternate.is_free(cpu.gpr[RSP])
        };
        let Some(action) = action.filter(|a| !overflow || spare(a)) else {
            return Err(if overflow {
                self.overflow(mem, rip)
            } else {
                self.killed(mem, info.signal, rip, address)
            });
        };
        let me = &mut self.threads.me;
        me.trap = if matches!(fault, Fault::Page { .. } | Fault::Bus { .. }) {
            trap
        } else {
            // The address of the last page fault stays.
            [trap[0], trap[1], me.trap[2]]
        };
        if fault == Fault::Breakpoint {
            // This one is reported behind its instruction.
            let mut first = [0];
            let short = mem.copy_out(rip, &mut first).is_ok() && first[0] == 0xcc;
            cpu.rip = rip.wrapping_add(if short { 1 } else { 2 });
        }
        self.run_handler(cpu, mem, &info, action)?;
        self.deliver(cpu, mem)
    }

    fn overflow(&self, mem: &Memory, rip: u64) -> Exit {
        Exit::StackOverflow {
            rip,
            function: self.symbolize(mem, rip),
        }
    }

    /// Whether an access that faulted was the stack growing beyond its limit.
    fn overflows(&self, cpu: &Cpu, mem: &Memory, addr: u64, mapped: bool) -> bool {
        if mapped {
            self.in_thread_guard(cpu, mem, addr)
        } else {
            self.beyond_stack(cpu, mem, addr)
        }
    }

    /// Whether an access hit the inaccessible pages below the stack of a thread.
    fn in_thread_guard(&self, cpu: &Cpu, mem: &Memory, addr: u64) -> bool {
        let Some((start, region)) = mem.region_at(addr) else {
            return false;
        };
        let pointer = cpu.gpr[RSP];
        region.protection == Protection::NONE
            && self.threads.me.tid != self.processes.pid
            && pointer >= start
            && pointer < region.end.saturating_add(PAGE_SIZE)
    }

    /// Whether an access hit the guard zone of the stack, or the stack pointer itself has left the stack downwards (a
    /// frame larger than the zone) without having gone to another mapping, as that of a coroutine.
    fn beyond_stack(&self, cpu: &Cpu, mem: &Memory, addr: u64) -> bool {
        let bottom = self.layout.stack_bottom;
        let pointer = cpu.gpr[RSP];
        let in_guard = |a: u64| a < bottom && a >= bottom - STACK_GUARD;
        // What a program can take from the stack at once and still mean the stack: as much again as it may use.
        let reach = bottom.saturating_sub(self.layout.stack_top - bottom);
        in_guard(addr) || pointer < bottom && pointer >= reach && mem.region_at(pointer).is_none()
    }

    fn killed(&self, mem: &Memory, signal: u8, rip: u64, address: Option<u64>) -> Exit {
        Exit::Signaled {
            signal,
            rip,
            address,
            function: self.symbolize(mem, rip),
        }
    }

    /// `name+0xoff` of the function at an address, from the symbol tables of the file that is mapped there.
    pub fn symbolize(&self, mem: &Memory, addr: u64) -> Option<String> {
        let (start, region) = mem.region_at(addr)?;
        let (Purpose::File(_), Backing::File { content, offset }) =
            (&region.purpose, &region.backing)
        else {
            return None;
        };
        if !is_elf(content) {
            return None;
        }
        symbols::name(content, offset + (addr - start))
    }
}

/// A stop is for ever: nobody is there who would send `SIGCONT`.
fn stopped(signal: u8) -> Exit {
    Exit::Deadlock {
        call: format!("a stop by {}", signal_name(signal)),
    }
}

/// The `si_code` of the most urgent of the unmasked floating-point exceptions.
fn float_code(exceptions: u32) -> i32 {
    match exceptions {
        e if e & 1 != 0 => 7,
        e if e & 4 != 0 => 3,
        e if e & 8 != 0 => 4,
        e if e & (2 | 16) != 0 => 5,
        e if e & 32 != 0 => 6,
        _ => 0,
    }
}

/// The mnemonic of the instruction at an address.
fn mnemonic(mem: &mut Memory, rip: u64) -> String {
    let mut bytes = [0; 15];
    let mut len = 0;
    while len < bytes.len()
        && mem
            .copy_out(rip.wrapping_add(len as u64), &mut bytes[len..=len])
            .is_ok()
    {
        len += 1;
    }
    let mut decoder =
        iced_x86::Decoder::with_ip(64, &bytes[..len], rip, iced_x86::DecoderOptions::NONE);
    format!("{:?}", decoder.decode().mnemonic()).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::Control;
    use super::super::testing::{Process, failed};
    use super::*;
    use crate::sim::isa::state::RDI;

    /// What a fault at an address does; `None` if a handler runs.
    fn handled_fault(process: &mut Process, fault: Fault, rip: u64) -> Option<Exit> {
        let super::super::super::Guest { cpu, mem, kernel } = &mut process.guest;
        cpu.rip = rip;
        kernel.fault(cpu, mem, fault, Now::default())
    }

    fn fault(process: &mut Process, fault: Fault, rip: u64) -> Exit {
        handled_fault(process, fault, rip).expect("nothing handles it")
    }

    fn unmapped(addr: u64) -> Fault {
        Fault::Page {
            addr,
            kind: AccessKind::Write,
            mapped: false,
        }
    }

    fn action(process: &mut Process, signal: u8, handler: u64) {
        let record = Record::new().u64(handler).u64(SA_RESTORER | SA_SIGINFO);
        let at = process.bytes(&record.u64(0x40_0090).u64(0).bytes());
        process.succeed("rt_sigaction", &[signal.into(), at, 0, 8]);
    }

    #[test]
    fn faults_become_the_signals_of_linux() {
        let mut process = Process::new();
        for (cause, signal, address) in [
            (unmapped(8), SIGSEGV, Some(8)),
            (
                Fault::Page {
                    addr: 9,
                    kind: AccessKind::Write,
                    mapped: true,
                },
                SIGSEGV,
                Some(9),
            ),
            (Fault::Bus { addr: 7 }, SIGBUS, Some(7)),
            (Fault::GeneralProtection, SIGSEGV, None),
            (Fault::Divide, SIGFPE, None),
            (Fault::SimdFloat, SIGFPE, None),
            (Fault::X87Float, SIGFPE, None),
            (Fault::InvalidOpcode, SIGILL, None),
            (Fault::Breakpoint, SIGTRAP, None),
        ] {
            let expected = Exit::Signaled {
                signal,
                rip: 0x1000,
                address,
                function: None,
            };
            assert_eq!(fault(&mut process, cause, 0x1000), expected);
        }
        assert_eq!(
            fault(&mut process, Fault::MemoryLimit, 0),
            Exit::MemoryLimit
        );
        let Exit::UnsupportedInstruction { mnemonic, .. } =
            fault(&mut process, Fault::Unsupported, 0x40_0078)
        else {
            panic!("an instruction that is not implemented");
        };
        assert_eq!(mnemonic, "syscall");
    }

    #[test]
    fn a_stack_overflow_is_told_from_a_wild_pointer() {
        let mut process = Process::new();
        let bottom = process.guest.kernel.layout.stack_bottom;
        let top = process.guest.kernel.layout.stack_top;
        let is_overflow = |exit: Exit| matches!(exit, Exit::StackOverflow { .. });
        assert!(is_overflow(fault(&mut process, unmapped(bottom - 8), 0)));
        assert!(is_overflow(fault(
            &mut process,
            unmapped(bottom - STACK_GUARD),
            0
        )));
        assert!(!is_overflow(fault(
            &mut process,
            unmapped(bottom - STACK_GUARD - 1),
            0
        )));
        assert!(!is_overflow(fault(&mut process, unmapped(0), 0)));
        // A huge frame: the stack pointer has jumped over the guard, the access is anywhere in the frame.
        process.guest.cpu.gpr[RSP] = bottom - (top - bottom) + 8;
        assert!(is_overflow(fault(
            &mut process,
            unmapped(bottom - STACK_GUARD - 1),
            0
        )));
        // A coroutine's stack that stands there is none of ours.
        let at = (bottom - STACK_GUARD - (64 << 10)) & !4095;
        process.guest.mem.map(
            at,
            4096,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
        process.guest.cpu.gpr[RSP] = at + 64;
        assert!(!is_overflow(fault(&mut process, unmapped(at - 8), 0)));
    }

    #[test]
    fn a_signal_to_oneself_acts_by_its_disposition() {
        let mut process = Process::new();
        process.guest.cpu.rip = 0x1234;
        let killed = |signal| Exit::Signaled {
            signal,
            rip: 0x1234,
            address: None,
            function: None,
        };
        assert_eq!(process.exit("tgkill", &[100, 100, 6]), killed(6));
        assert_eq!(process.exit("kill", &[100, 15]), killed(15));
        assert_eq!(process.exit("kill", &[0, 9]), killed(9));
        assert_eq!(process.call("kill", &[100, 0]), 0);
        assert_eq!(
            process.call("kill", &[100, u64::from(SIGCHLD)]),
            0,
            "ignored unless handled"
        );
        action(&mut process, 15, SIG_IGNORE);
        assert_eq!(process.call("kill", &[100, 15]), 0);
        action(&mut process, 10, 0x40_0078);
        let pointer = process.guest.cpu.gpr[RSP];
        assert_eq!(process.control("kill", &[100, 10]), Control::Continue);
        let cpu = &process.guest.cpu;
        assert_eq!((cpu.rip, cpu.gpr[RDI]), (0x40_0078, 10));
        assert!(cpu.gpr[RSP] < pointer - 128 && cpu.gpr[RSP] % 16 == 8);
        // The restorer has taken the return address when it calls back.
        process.guest.cpu.gpr[RSP] += 8;
        assert_eq!(process.call("rt_sigreturn", &[]), 0, "the result of `kill`");
        let cpu = &process.guest.cpu;
        assert_eq!((cpu.rip, cpu.gpr[RSP]), (0x1234, pointer));
        action(&mut process, SIGSEGV, 0x40_0078);
        assert_eq!(handled_fault(&mut process, unmapped(8), 0x77), None);
        assert_eq!(process.guest.cpu.rip, 0x40_0078);
        // In the handler the signal is blocked: the same fault again kills.
        assert!(matches!(
            fault(&mut process, unmapped(8), 0x77),
            Exit::Signaled {
                signal: SIGSEGV,
                ..
            }
        ));
        process.guest.cpu.gpr[RSP] += 8;
        process.control("rt_sigreturn", &[]);
        assert_eq!(process.guest.cpu.rip, 0x77);
        // Without an alternate stack, a handler cannot run after an overflow.
        let bottom = process.guest.kernel.layout.stack_bottom;
        assert!(matches!(
            fault(&mut process, unmapped(bottom - 8), 0),
            Exit::StackOverflow { .. }
        ));
        assert_eq!(process.call("kill", &[99, 9]), failed(EPERM));
        assert_eq!(process.call("kill", &[1, 9]), failed(EPERM));
        assert_eq!(process.call("kill", &[4242, 9]), failed(ESRCH));
        assert_eq!(process.call("tgkill", &[100, 101, 9]), failed(ESRCH));
    }

    #[test]
    fn a_blocked_signal_waits_until_it_is_unblocked() {
        let mut process = Process::new();
        let set = process.bytes(&bit(15).to_le_bytes());
        process.succeed("rt_sigprocmask", &[0, set, 0, 8]);
        assert_eq!(process.call("kill", &[100, 15]), 0);
        let pending = process.bytes(&[0; 8]);
        process.succeed("rt_sigpending", &[pending, 8]);
        assert_eq!(process.get(pending, 8), bit(15).to_le_bytes());
        assert!(matches!(
            process.exit("rt_sigprocmask", &[1, set, 0, 8]),
            Exit::Signaled { signal: 15, .. }
        ));
        let unblockable = process.bytes(&[0xff; 8]);
        process.succeed("rt_sigprocmask", &[0, unblockable, 0, 8]);
        assert!(matches!(
            process.exit("kill", &[100, 9]),
            Exit::Signaled { signal: 9, .. }
        ));
    }
}
