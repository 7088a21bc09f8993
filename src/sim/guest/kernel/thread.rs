//! The threads of the process on its one processor: who runs, who waits for what, and how they begin and end.
//!
//! The running thread's registers are with the run loop; those of the others are here. Threads that can run stand in a
//! queue, first in first out; a thread runs until it waits, yields, ends or has used up its [`QUANTUM`]. When all wait,
//! the clock advances to the next point at which one of them, or a timer, is due; without one that is a deadlock.
//!
//! A call that must wait for a descriptor is made again when some descriptor has changed; the other waits are answered
//! by whoever ends them.
use super::abi::*;
use super::futex::{Key, OWNER, OWNER_DIED, WAITERS, Waiter};
use super::signal::{Alternate, Pending};
use super::user::{give, take_u32, take_u64};
use super::{Answer, Kernel, R11, Stop, names, unsupported};
use crate::sim::isa::state::{Cpu, FS, RAX, RCX, RSP};
use crate::sim::memory::{Memory, USER_END};
use crate::sim::outcome::Exit;
use std::collections::{BTreeMap, VecDeque};

/// Instructions that a thread may run while others want to.
pub(super) const QUANTUM: u64 = 100_000;
/// Most threads of a process, as `RLIMIT_NPROC` shows it.
pub(super) const MAX_THREADS: u64 = 1024;
/// Entries of a robust list that are looked at: it may be a circle.
const ROBUST_LIST_LIMIT: usize = 2048;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A descriptor: the call is made again when any has changed since it was last made.
    Descriptor {
        /// [`Kernel::descriptor_changes`] at that time.
        seen: u64,
        /// Bytes that the call has already moved.
        progress: u64,
    },
    /// A futex: it stands in its queue.
    Futex,
    /// To own a futex: likewise, and after any signal it goes on waiting.
    Lock,
    /// The time only. Where what is left is written if a signal interrupts; 0 for nowhere.
    Sleep { left: u64 },
    /// A child that ends.
    Child,
    /// A child that uses this memory meanwhile (`vfork`).
    Lent { child: u32 },
    /// One of these signals, to be taken by the call; or, without any, one that is delivered.
    Signal { set: u64 },
}

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) cause: Cause,
    /// When it ends by itself: nanoseconds of [`Kernel::elapsed_ns`].
    pub(super) deadline: Option<u64>,
    /// Whether a handler with SA_RESTART makes the call start again.
    pub(super) restart: bool,
}

/// How a thread goes on when it runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// Behind its last instruction.
    Run,
    /// With this result of its system call.
    Answer(u64),
    /// By making its call again; whether the wait is over whatever the call finds.
    Repeat { wait: Wait, expired: bool },
    /// With a signal that has ended its wait.
    Interrupted(Wait),
}

/// A thread.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) tid: u32,
    /// Its process.
    pub(super) pid: u32,
    /// The registers of a thread that does not run.
    cpu: Option<Box<Cpu>>,
    waiting: Option<Wait>,
    /// Which of the waits of all threads this is: they end in the order in which they began.
    since: u64,
    pub(super) resume: Resume,
    /// Signals: bit n-1 for signal n.
    pub(super) blocked: u64,
    /// The mask to go back to when the present call has ended (`sigsuspend`, `ppoll`).
    pub(super) saved_mask: Option<u64>,
    pub(super) pending: Pending,
    pub(super) alternate: Alternate,
    /// Trap number, error code and address of the last fault, as a signal frame shows them.
    pub(super) trap: [u64; 3],
    pub(super) clear_tid: u64,
    robust_list: u64,
    /// Nanoseconds that it had run when it last stopped running, and those of the process when it began to run.
    ran_ns: u64,
    began_ns: u64,
    /// Its name where it is not that of the process.
    pub(super) name: Option<Vec<u8>>,
}

impl Thread {
    fn new(tid: u32) -> Self {
        Self {
            tid,
            pid: 0,
            cpu: None,
            waiting: None,
            since: 0,
            resume: Resume::Run,
            blocked: 0,
            saved_mask: None,
            pending: Pending::default(),
            alternate: Alternate::default(),
            trap: [0; 3],
            clear_tid: 0,
            robust_list: 0,
            ran_ns: 0,
            began_ns: 0,
            name: None,
        }
    }

    /// Its program has been replaced by another.
    pub(super) fn after_exec(&mut self) {
        let kept = std::mem::replace(self, Self::new(self.tid));
        self.pid = kept.pid;
        self.blocked = kept.blocked;
        self.pending = kept.pending;
        self.ran_ns = kept.ran_ns;
        self.began_ns = kept.began_ns;
    }

    /// Whether it waits.
    pub(super) fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// Whether the thread's call takes this signal when it comes.
    pub(super) fn awaits(&self, signal: u64) -> bool {
        matches!(self.waiting, Some(Wait { cause: Cause::Signal { set }, .. }) if set & signal != 0)
    }
}

/// All threads.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    /// The one that runs.
    pub(super) me: Thread,
    pub(super) others: BTreeMap<u32, Thread>,
    /// Those of the others that can run, first in first out.
    queue: VecDeque<u32>,
    /// Who waits on a futex, first in first out.
    pub(super) futexes: VecDeque<Waiter>,
    next_tid: u32,
    waits: u64,
    /// Number of the instruction at which the running thread has used up its quantum.
    quantum_end: u64,
    /// The first thread has ended with this code, and others go on.
    leader_code: Option<u8>,
}

impl Threads {
    pub(super) fn new() -> Self {
        Self {
            me: Thread {
                pid: GUEST_PID,
                ..Thread::new(GUEST_PID)
            },
            others: BTreeMap::new(),
            queue: VecDeque::new(),
            futexes: VecDeque::new(),
            next_tid: GUEST_PID + 1,
            waits: 0,
            quantum_end: 0,
            leader_code: None,
        }
    }

    /// A thread by number.
    pub(super) fn get(&self, tid: u32) -> Option<&Thread> {
        if tid == self.me.tid {
            Some(&self.me)
        } else {
            self.others.get(&tid)
        }
    }

    /// A thread by number.
    pub(super) fn get_mut(&mut self, tid: u32) -> Option<&mut Thread> {
        if tid == self.me.tid {
            Some(&mut self.me)
        } else {
            self.others.get_mut(&tid)
        }
    }

    /// The numbers of all threads of a process, ascending: the first thread comes first.
    pub(super) fn numbers(&self, pid: u32) -> Vec<u32> {
        let theirs = self.others.values().filter(|t| t.pid == pid);
        let mut all: Vec<u32> = theirs.map(|t| t.tid).collect();
        // While nobody runs, its place is held by number 0.
        if self.me.tid != 0
            && self.me.pid == pid
            && let Err(at) = all.binary_search(&self.me.tid)
        {
            all.insert(at, self.me.tid);
        }
        all
    }

    /// Ends the wait of a thread.
    pub(super) fn make_ready(&mut self, tid: u32, resume: Resume) {
        if let Some(thread) = self.others.get_mut(&tid)
            && thread.waiting.take().is_some()
        {
            thread.resume = resume;
            self.queue.push_back(tid);
        }
    }

    /// A signal ends the wait of a thread, if it waits.
    pub(super) fn interrupt(&mut self, tid: u32) {
        let Some(wait) = self.others.get(&tid).and_then(|t| t.waiting) else {
            return;
        };
        let resume = match wait.cause {
            Cause::Lent { .. } => return,
            Cause::Descriptor { progress, .. } if progress > 0 => Resume::Answer(progress),
            _ => Resume::Interrupted(wait),
        };
        self.futexes.retain(|waiter| waiter.tid != tid);
        self.make_ready(tid, resume);
    }

    /// The threads that wait for this.
    pub(super) fn waiting_for(&self, cause: Cause) -> Vec<u32> {
        let all = self.waiting(|w| w.cause == cause);
        all.into_iter().map(|w| w.1).collect()
    }

    /// The running thread is the only one left of its process, and has its number.
    pub(super) fn remain_alone(&mut self) {
        let pid = self.me.pid;
        let me = std::mem::replace(&mut self.me, Thread::new(0));
        self.leave(pid);
        self.me = Thread { tid: pid, ..me };
        if pid == GUEST_PID {
            // It leads from now on, whoever did before.
            self.leader_code = None;
        }
    }

    /// The threads of a process are no more.
    pub(super) fn leave(&mut self, pid: u32) {
        let gone = self.numbers(pid);
        self.others.retain(|tid, _| !gone.contains(tid));
        self.queue.retain(|tid| !gone.contains(tid));
        self.futexes.retain(|waiter| !gone.contains(&waiter.tid));
        if self.me.pid == pid {
            self.me = Thread::new(0);
        }
    }

    /// A signal has come that the call of a waiting thread takes.
    pub(super) fn take_signal(&mut self, tid: u32) {
        if let Some(wait) = self.others.get(&tid).and_then(|t| t.waiting) {
            let expired = false;
            self.make_ready(tid, Resume::Repeat { wait, expired });
        }
    }

    /// The threads whose waits pass, in the order in which they began to wait, with their waits.
    fn waiting(&self, passes: impl Fn(&Wait) -> bool) -> Vec<(u64, u32, Wait)> {
        let waits = self.others.values();
        let mut all: Vec<_> = waits
            .filter_map(|t| t.waiting.map(|w| (t.since, t.tid, w)))
            .filter(|(_, _, wait)| passes(wait))
            .collect();
        all.sort_unstable_by_key(|w| w.0);
        all
    }
}

/// Puts the result of a system call where the instruction puts it.
pub(super) fn finish(cpu: &mut Cpu, value: u64) {
    cpu.gpr[RAX] = value;
    cpu.gpr[RCX] = cpu.rip;
    cpu.gpr[R11] = cpu.flags.rflags();
}

impl Kernel {
    /// Number of the instruction at which the scheduler wants to look again, if there is more than one thread.
    pub fn quantum_end(&self) -> Option<u64> {
        (!self.threads.others.is_empty()).then_some(self.threads.quantum_end)
    }

    /// Nanoseconds since the start, sleep included.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.now.nanoseconds.saturating_add(self.slept_ns)
    }

    /// Nanoseconds that a thread has run.
    pub(super) fn thread_ns(&self, tid: u32) -> Option<u64> {
        let thread = self.threads.get(tid)?;
        let running = tid == self.threads.me.tid;
        let since = self.now.nanoseconds.saturating_sub(thread.began_ns);
        Some(thread.ran_ns + if running { since } else { 0 })
    }

    /// A wait that ends when some descriptor allows the call, or at the call's own deadline, if it has one.
    pub(super) fn descriptor_wait(&self, timeout_ns: Option<u64>, progress: u64) -> Stop {
        let fresh = timeout_ns.map(|ns| self.elapsed_ns().saturating_add(ns));
        let deadline = self.repeated.map_or(fresh, |(wait, _)| wait.deadline);
        Stop::Wait(Wait {
            cause: Cause::Descriptor {
                seen: self.descriptor_changes,
                progress,
            },
            deadline,
            restart: timeout_ns.is_none(),
        })
    }

    /// Whether the call is being made again and its time is over.
    pub(super) fn expired(&self) -> bool {
        self.repeated.is_some_and(|(_, expired)| expired)
    }

    /// Bytes that the present call has moved before it was made again.
    pub(super) fn progress(&self) -> u64 {
        match self.repeated {
            Some((wait, _)) => match wait.cause {
                Cause::Descriptor { progress, .. } => progress,
                _ => 0,
            },
            None => 0,
        }
    }

    /// The running thread begins to wait: its registers are put away, and it is one of the others.
    pub(super) fn put_away(&mut self, cpu: &Cpu, wait: Option<Wait>, resume: Resume) {
        let threads = &mut self.threads;
        // Which of several threads goes on first then depends on simulated time, as if the guest had looked at it.
        self.clock_read |=
            !threads.others.is_empty() && wait.is_some_and(|wait| wait.deadline.is_some());
        let mut thread = std::mem::replace(&mut threads.me, Thread::new(0));
        thread.ran_ns += self.now.nanoseconds.saturating_sub(thread.began_ns);
        thread.cpu = Some(Box::new(cpu.clone()));
        thread.waiting = wait;
        thread.resume = resume;
        thread.since = threads.waits;
        threads.waits += 1;
        if wait.is_none() {
            threads.queue.push_back(thread.tid);
        }
        threads.others.insert(thread.tid, thread);
    }

    /// Lets the next thread run, and time pass until there is one. The running thread has been put away or has ended.
    pub(super) fn next_thread(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Result<(), Exit> {
        loop {
            self.wake_due(mem)?;
            if let Some(tid) = self.threads.queue.pop_front() {
                let Some(mut thread) = self.threads.others.remove(&tid) else {
                    continue;
                };
                if let Some(saved) = thread.cpu.take() {
                    *cpu = *saved;
                }
                thread.began_ns = self.now.nanoseconds;
                if thread.pid != self.processes.pid {
                    self.switch_process(thread.pid, mem);
                }
                self.rip = cpu.rip;
                self.threads.me = thread;
                self.threads.quantum_end = self.now.instructions.saturating_add(QUANTUM);
                return Ok(());
            }
            match self.next_due() {
                Some(at) => self.sleep(at.saturating_sub(self.elapsed_ns())),
                None => return Err(self.deadlock()),
            }
        }
    }

    /// Ends the waits that are over and raises the signals of timers that have expired.
    fn wake_due(&mut self, mem: &mut Memory) -> Result<(), Exit> {
        self.expire_timers(mem)?;
        if self.threads.others.is_empty() {
            return Ok(());
        }
        let now = self.elapsed_ns();
        let changes = self.descriptor_changes;
        let due = |wait: &Wait| wait.deadline.is_some_and(|d| d <= now);
        let changed =
            |wait: &Wait| matches!(wait.cause, Cause::Descriptor { seen, .. } if seen != changes);
        for (_, tid, wait) in self.threads.waiting(|w| due(w) || changed(w)) {
            let resume = match wait.cause {
                Cause::Child | Cause::Lent { .. } => continue,
                Cause::Descriptor { .. } | Cause::Signal { .. } => Resume::Repeat {
                    wait,
                    expired: due(&wait) && !changed(&wait),
                },
                Cause::Sleep { .. } => Resume::Answer(0),
                Cause::Futex | Cause::Lock => {
                    self.threads.futexes.retain(|waiter| waiter.tid != tid);
                    Resume::Answer(ETIMEDOUT.as_result())
                }
            };
            self.threads.make_ready(tid, resume);
        }
        Ok(())
    }

    /// When the next wait or useful timer is over, while nothing runs.
    fn next_due(&self) -> Option<u64> {
        let waits = self.threads.others.values();
        let deadlines = waits.filter_map(|t| t.waiting.and_then(|w| w.deadline));
        deadlines.chain(self.next_alarm()).min()
    }

    /// Everybody waits, and nothing will end that. The call in which the first thread, or else the oldest, waits.
    fn deadlock(&self) -> Exit {
        let first = self.threads.others.values().next();
        let cpu = first.and_then(|t| t.cpu.as_ref());
        let call = cpu.map_or("exit", |cpu| names::name(cpu.gpr[RAX]));
        Exit::Deadlock {
            call: call.to_owned(),
        }
    }

    /// The running thread has used up its quantum.
    pub(super) fn rotate(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Result<(), Exit> {
        self.wake_due(mem)?;
        if self.threads.queue.is_empty() {
            self.threads.quantum_end = self.now.instructions.saturating_add(QUANTUM);
            return Ok(());
        }
        self.put_away(cpu, None, Resume::Run);
        self.next_thread(cpu, mem)
    }

    /// Whether another thread could run now.
    pub(super) fn others_can_run(&self) -> bool {
        !self.threads.queue.is_empty()
    }

    pub(super) fn clone_thread(
        &mut self,
        cpu: &Cpu,
        mem: &mut Memory,
        [flags, stack, parent_tid, child_tid, tls]: [u64; 5],
    ) -> Answer {
        const VM: u64 = 0x100;
        const FILE_SYSTEM: u64 = 0x200;
        const FILES: u64 = 0x400;
        const HANDLERS: u64 = 0x800;
        const THREAD: u64 = 0x1_0000;
        const SYSTEM_V: u64 = 0x4_0000;
        const SET_TLS: u64 = 0x8_0000;
        const PARENT_SET: u64 = 0x10_0000;
        const CHILD_CLEAR: u64 = 0x20_0000;
        const DETACHED: u64 = 0x40_0000;
        const CHILD_SET: u64 = 0x100_0000;
        if flags & THREAD == 0 {
            return self.fork(cpu, mem, [flags, stack, parent_tid, child_tid, tls]);
        }
        if flags & HANDLERS == 0 || flags & VM == 0 {
            return Err(EINVAL.into());
        }
        let known = VM
            | FILE_SYSTEM
            | FILES
            | HANDLERS
            | THREAD
            | SYSTEM_V
            | SET_TLS
            | PARENT_SET
            | CHILD_CLEAR
            | DETACHED
            | CHILD_SET;
        if flags & !known != 0 || flags & FILE_SYSTEM == 0 || flags & FILES == 0 {
            return Err(unsupported(format!("clone with flags {flags:#x}")));
        }
        let tls = if flags & SET_TLS != 0 { tls } else { 0 };
        let tid = self.new_thread(cpu, [stack, tls])?;
        if flags & PARENT_SET != 0 {
            give(mem, parent_tid, &tid.to_le_bytes())?;
        }
        if flags & CHILD_SET != 0 {
            give(mem, child_tid, &tid.to_le_bytes())?;
        }
        if flags & CHILD_CLEAR != 0
            && let Some(thread) = self.threads.get_mut(tid)
        {
            thread.clear_tid = child_tid;
        }
        Ok(tid.into())
    }

    /// A thread that goes on where the running one is, with its own stack and thread-local storage where they are not 0.
    /// It stands at the end of the queue.
    pub(super) fn new_thread(&mut self, cpu: &Cpu, [stack, tls]: [u64; 2]) -> Result<u32, Errno> {
        if self.threads.others.len() as u64 + 1 >= MAX_THREADS {
            return Err(EAGAIN);
        }
        if tls >= USER_END {
            return Err(EPERM);
        }
        let tid = self.threads.next_tid;
        self.threads.next_tid += 1;
        let mut child = cpu.clone();
        finish(&mut child, 0);
        if stack != 0 {
            child.gpr[RSP] = stack;
        }
        if tls != 0 {
            child.gpr[FS] = tls;
        }
        let mut thread = Thread::new(tid);
        thread.pid = self.processes.pid;
        thread.cpu = Some(Box::new(child));
        thread.blocked = self.threads.me.blocked;
        thread.name = self.threads.me.name.clone();
        if self.threads.others.is_empty() {
            self.threads.quantum_end = self.now.instructions.saturating_add(QUANTUM);
        }
        self.threads.others.insert(tid, thread);
        self.threads.queue.push_back(tid);
        Ok(tid)
    }

    /// `exit`: the thread ends; with the last one, the process.
    pub(super) fn exit_thread(&mut self, mem: &mut Memory, code: u8) -> Stop {
        let pid = self.processes.pid;
        if self.threads.me.tid == GUEST_PID {
            self.threads.leader_code = Some(code);
        }
        if self.threads.numbers(pid).len() == 1 {
            return Stop::Exit(Exit::Exited {
                code: self
                    .threads
                    .leader_code
                    .filter(|_| pid == GUEST_PID)
                    .unwrap_or(code),
            });
        }
        let (tid, memory) = (self.threads.me.tid, self.processes.memory());
        self.release_locks(mem, memory, tid);
        let word = self.threads.me.clear_tid;
        if word != 0 && give(mem, word, &[0; 4]).is_ok() {
            let key = Key::of(mem, memory, word, false);
            self.wake_futex(key, 1, u32::MAX);
        }
        self.threads.me = Thread::new(0);
        Stop::Leave
    }

    /// The locks that a thread of the process that has this memory, of this number, leaves behind.
    pub(super) fn release_locks(&mut self, mem: &mut Memory, memory: u32, tid: u32) {
        self.release_robust(mem, memory, tid);
        self.hand_over_locks(mem, tid);
    }

    /// The locks of the robust list that the thread still holds are marked, and who waits for them is woken. A list that
    /// cannot be read ends there, as on Linux.
    fn release_robust(&mut self, mem: &mut Memory, memory: u32, tid: u32) {
        let head = self.threads.get(tid).map_or(0, |t| t.robust_list);
        if head == 0 {
            return;
        }
        let read = |mem: &mut Memory, at: u64| take_u64(mem, at).ok();
        let (Some(first), Some(offset), Some(pending)) = (
            read(mem, head),
            read(mem, head.wrapping_add(8)),
            read(mem, head.wrapping_add(16)),
        ) else {
            return;
        };
        // The lowest bit of an entry tells a lock with priority inheritance.
        let mut entry = first;
        for _ in 0..ROBUST_LIST_LIMIT {
            if entry & !1 == head {
                break;
            }
            let next = read(mem, entry & !1);
            if entry & !1 != pending & !1 {
                self.release_lock(mem, memory, tid, entry, offset);
            }
            match next {
                Some(next) => entry = next,
                None => return,
            }
        }
        if pending & !1 != 0 {
            self.release_lock(mem, memory, tid, pending, offset);
        }
    }

    fn release_lock(&mut self, mem: &mut Memory, memory: u32, tid: u32, entry: u64, offset: u64) {
        let (at, inherits) = ((entry & !1).wrapping_add(offset), entry & 1 != 0);
        let Ok(value) = take_u32(mem, at) else {
            return;
        };
        if value & OWNER != tid {
            return;
        }
        let released = value & WAITERS | OWNER_DIED;
        let marked = give(mem, at, &released.to_le_bytes()).is_ok();
        if marked && value & WAITERS != 0 && !inherits {
            let key = Key::of(mem, memory, at, false);
            // Who waits as for memory of the process's own stands under another key.
            if self.wake_futex(key, 1, u32::MAX) == 0 {
                let key = Key::of(mem, memory, at, true);
                self.wake_futex(key, 1, u32::MAX);
            }
        }
    }

    pub(super) fn set_tid_address(&mut self, at: u64) -> Answer {
        self.threads.me.clear_tid = at;
        Ok(self.threads.me.tid.into())
    }

    pub(super) fn set_robust_list(&mut self, head: u64, size: u64) -> Answer {
        if size != 24 {
            return Err(EINVAL.into());
        }
        self.threads.me.robust_list = head;
        Ok(0)
    }
}
