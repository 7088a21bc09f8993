//! Processes beside the first: fork, vfork, execve, their ends and waiting for them.
//!
//! The state of the process whose thread runs is in the kernel's own fields and its memory is with the run loop; that of
//! the others is here. The run is over when the first process ends. Files, open descriptions, pipes, standard output
//! and time are shared by all; a process that shares memory with its parent (`vfork`) has the same memory number.
use super::abi::*;
use super::descriptor::{Object, Table};
use super::identity::Identity;
use super::signal::{Info, Signals, Target};
use super::thread::{Cause, Resume, Wait};
use super::timer::Timers;
use super::user::{Record, give, take_path, take_u64};
use super::{Answer, Kernel, Layout, Start, Stop, unsupported};
use crate::sim::guest::{self, LoadError};
use crate::sim::isa::state::Cpu;
use crate::sim::memory::{Memory, PAGE_SIZE};
use crate::sim::outcome::Exit;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most processes at a time: each may need as much memory of the host as the limit allows.
const MAX_PROCESSES: usize = 64;
/// Most bytes of arguments and environment that `execve` takes.
const MAX_STRINGS: usize = 2 << 20;
// clone flags
const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;
// options of wait
const WNOHANG: u32 = 1;
const WEXITED: u32 = 4;
const WNOWAIT: u32 = 0x0100_0000;
/// Options that mean nothing here: nobody stops or goes on, and all children are children of all threads.
const HARMLESS: u32 = 2 | 8 | 0xe000_0000;
// si_code of SIGCHLD
const CLD_EXITED: i32 = 1;
const CLD_KILLED: i32 = 2;

/// Memory of a process that does not run. A clone is a snapshot.
#[derive(Debug)]
pub(super) struct Parked(Memory);

impl Clone for Parked {
    fn clone(&self) -> Self {
        Self(self.0.fork_frozen())
    }
}

/// What a process has of its own, while another one runs.
#[derive(Clone, Debug)]
pub(super) struct Process {
    parent: u32,
    group: u32,
    session: u32,
    /// Number of its memory.
    memory: u32,
    layout: Layout,
    start: Start,
    pub(super) signals: Signals,
    pub(super) timers: Timers,
    identity: Identity,
    working_directory: String,
    /// What the children used for which it has waited.
    waited: Usage,
    table: Table,
    descriptor_limit: u64,
}

/// What a process has used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Nanoseconds of processor time.
    pub(super) ns: u64,
    /// Most KiB of its own memory at once.
    pub(super) peak_kib: u64,
}

impl Usage {
    /// A `rusage`: user time, system time, then the peak as the first of fourteen numbers.
    pub(super) fn bytes(self) -> Vec<u8> {
        Record::new()
            .u64(self.ns / 1_000_000_000)
            .u64(self.ns % 1_000_000_000 / 1000)
            .zeros(16)
            .u64(self.peak_kib)
            .zeros(13 * 8)
            .bytes()
    }

    fn add(&mut self, other: Self) {
        self.ns += other.ns;
        self.peak_kib = self.peak_kib.max(other.peak_kib);
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(u8),
    Killed(u8),
}

impl Ending {
    /// The status of `wait`.
    fn status(self) -> u32 {
        match self {
            Self::Exited(code) => u32::from(code) << 8,
            Self::Killed(signal) => signal.into(),
        }
    }

    fn info(self, pid: u32) -> Info {
        let (code, status) = match self {
            Self::Exited(code) => (CLD_EXITED, code),
            Self::Killed(signal) => (CLD_KILLED, signal),
        };
        let who = u64::from(pid) | u64::from(GUEST_UID) << 32;
        Info::new(SIGCHLD, code, [who, status.into()])
    }

    /// What an exit is for a process that is not the first; `None` if it ends the run.
    fn of(exit: &Exit) -> Option<Self> {
        match exit {
            Exit::Exited { code } => Some(Self::Exited(*code)),
            Exit::Signaled { signal, .. } => Some(Self::Killed(*signal)),
            Exit::StackOverflow { .. } => Some(Self::Killed(SIGSEGV)),
            _ => None,
        }
    }
}

/// A process that has ended and for which its parent has not waited.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    pid: u32,
    parent: u32,
    group: u32,
    ending: Ending,
    usage: Usage,
}

/// All processes.
#[derive(Clone, Debug)]
pub(super) struct Processes {
    /// The one whose state is in the kernel's fields: its number, its parent, the number of its memory.
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    session: u32,
    memory: u32,
    pub(super) waited: Usage,
    /// It has ended, and its state is nobody's.
    ended: bool,
    pub(super) others: BTreeMap<u32, Process>,
    memories: BTreeMap<u32, Parked>,
    zombies: Vec<Zombie>,
    next_memory: u32,
    /// Counts how often the run loop's memory has become another, and others have come and gone.
    memory_changes: u64,
    /// The most live pages of all processes together, where there was more than one.
    pub(super) peak_pages: u64,
    /// Bytes of memory that all processes may have.
    limit_bytes: u64,
}

impl Processes {
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self {
            pid: GUEST_PID,
            parent: PARENT_PID,
            group: GUEST_PID,
            session: GUEST_PID,
            memory: 0,
            waited: Usage::default(),
            ended: false,
            others: BTreeMap::new(),
            memories: BTreeMap::new(),
            zombies: Vec::new(),
            next_memory: 1,
            memory_changes: 0,
            peak_pages: 0,
            limit_bytes,
        }
    }

    /// Live pages of memory that is not the running process's.
    fn parked_pages(&self) -> u64 {
        self.memories.values().map(|m| m.0.live_pages()).sum()
    }

    /// Number of the memory of the present process.
    pub(super) fn memory(&self) -> u32 {
        self.memory
    }

    fn is_used(&self, memory: u32) -> bool {
        self.others.values().any(|p| p.memory == memory) || !self.ended && self.memory == memory
    }
}

impl Kernel {
    /// Counts the times that the memory has become that of another process, and that memory of others has come or gone:
    /// the run loop then looks at its blocks and at [`Kernel::live_pages`].
    pub fn memory_changes(&self) -> u64 {
        self.processes.memory_changes
    }

    /// Live pages of all processes; `mem` is that of the present one.
    pub fn live_pages(&self, mem: &Memory) -> u64 {
        self.processes.parked_pages() + mem.live_pages()
    }

    /// The most live pages of all processes at once.
    pub fn peak_pages(&self, mem: &Memory) -> u64 {
        let now = self.processes.parked_pages() + mem.peak_live_pages();
        now.max(self.processes.peak_pages)
    }

    /// Makes the state of another process the present one.
    pub(super) fn switch_process(&mut self, pid: u32, mem: &mut Memory) {
        let Some(mut next) = self.processes.others.remove(&pid) else {
            return;
        };
        self.exchange(&mut next);
        let before = std::mem::replace(&mut self.processes.pid, pid);
        if !std::mem::take(&mut self.processes.ended) {
            self.processes.others.insert(before, next);
        }
        self.take_memory(mem);
    }

    /// Swaps what a process has of its own with the kernel's fields.
    fn exchange(&mut self, other: &mut Process) {
        use std::mem::swap;
        swap(&mut self.processes.parent, &mut other.parent);
        swap(&mut self.processes.group, &mut other.group);
        swap(&mut self.processes.session, &mut other.session);
        swap(&mut self.processes.memory, &mut other.memory);
        swap(&mut self.processes.waited, &mut other.waited);
        swap(&mut self.layout, &mut other.layout);
        swap(&mut self.start, &mut other.start);
        swap(&mut self.signals, &mut other.signals);
        swap(&mut self.timers, &mut other.timers);
        swap(&mut self.identity, &mut other.identity);
        swap(
            &mut self.files.working_directory,
            &mut other.working_directory,
        );
        self.descriptors.swap_table(&mut other.table);
        swap(&mut self.descriptors.limit, &mut other.descriptor_limit);
    }

    /// Hands the run loop the memory of the present process, if that is not what it has.
    fn take_memory(&mut self, mem: &mut Memory) {
        self.processes.peak_pages = self.peak_pages(mem);
        let processes = &mut self.processes;
        let Some(parked) = processes.memories.remove(&processes.memory) else {
            return;
        };
        let mut old = std::mem::replace(mem, parked.0);
        mem.take_shared(&mut old);
        let number = std::mem::replace(&mut self.loaded_memory, processes.memory);
        if processes.is_used(number) {
            old.freeze();
            processes.memories.insert(number, Parked(old));
        } else {
            mem.forget(&old);
        }
        processes.memory_changes += 1;
        self.limit_memory(mem);
    }

    /// All processes together have one limit.
    fn limit_memory(&self, mem: &mut Memory) {
        let parked = self.processes.parked_pages() * PAGE_SIZE;
        mem.restart_peak();
        mem.set_limit_bytes(self.processes.limit_bytes.saturating_sub(parked));
    }

    /// `fork`, `vfork`, and `clone` without a thread: a new process, or the wait of the parent that has lent its memory.
    pub(super) fn fork(
        &mut self,
        cpu: &Cpu,
        mem: &mut Memory,
        [flags, stack, parent_tid, child_tid, tls]: [u64; 5],
    ) -> Answer {
        const PARENT_SET: u64 = 0x10_0000;
        const CHILD_CLEAR: u64 = 0x20_0000;
        const CHILD_SET: u64 = 0x100_0000;
        const SET_TLS: u64 = 0x8_0000;
        const PIDFD: u64 = 0x1000;
        const CLEAR_HANDLERS: u64 = 1 << 32;
        let known = CLONE_VM
            | CLONE_VFORK
            | PARENT_SET
            | CHILD_CLEAR
            | CHILD_SET
            | SET_TLS
            | PIDFD
            | CLEAR_HANDLERS;
        let signal = flags & 0xff;
        if flags & !(known | 0xff) != 0 || signal != u64::from(SIGCHLD) {
            return Err(unsupported(format!("clone with flags {flags:#x}")));
        }
        let shares = flags & CLONE_VM != 0;
        if self.processes.others.len() + self.processes.zombies.len() + 1 >= MAX_PROCESSES {
            return Err(EAGAIN.into());
        }
        let tid = self.new_thread(cpu, [stack, if flags & SET_TLS != 0 { tls } else { 0 }])?;
        if flags & PARENT_SET != 0 && flags & PIDFD == 0 {
            give(mem, parent_tid, &tid.to_le_bytes())?;
        }
        let memory = if shares {
            self.processes.memory
        } else {
            self.processes.peak_pages = self.peak_pages(mem);
            let mut copy = mem.fork();
            if flags & CHILD_SET != 0 {
                // A number that cannot be written is not written, as on Linux. In shared memory both see it.
                copy.take_shared(mem);
                let _ = give(&mut copy, child_tid, &tid.to_le_bytes());
                mem.take_shared(&mut copy);
            }
            copy.freeze();
            let number = self.processes.next_memory;
            self.processes.next_memory += 1;
            self.processes.memories.insert(number, Parked(copy));
            self.processes.memory_changes += 1;
            self.limit_memory(mem);
            number
        };
        let child = Process {
            parent: self.processes.pid,
            group: self.processes.group,
            session: self.processes.session,
            memory,
            layout: self.layout,
            start: self.start.clone(),
            signals: {
                let mut signals = self.signals.of_child();
                if flags & CLEAR_HANDLERS != 0 {
                    signals.reset_handlers();
                }
                signals
            },
            timers: Timers::default(),
            identity: self.identity.clone(),
            working_directory: self.files.working_directory.clone(),
            waited: Usage::default(),
            table: self.descriptors.share_table(),
            descriptor_limit: self.descriptors.limit,
        };
        self.processes.others.insert(tid, child);
        let alternate = self.threads.me.alternate;
        if let Some(thread) = self.threads.get_mut(tid) {
            thread.pid = tid;
            if !shares {
                thread.alternate = alternate;
            }
            if flags & CHILD_CLEAR != 0 {
                thread.clear_tid = child_tid;
            }
        }
        if flags & PIDFD != 0 {
            // The child does not have it.
            let fd = self.open_process(tid, 0)?;
            give(mem, parent_tid, &(fd as u32).to_le_bytes())?;
        }
        if flags & CLONE_VFORK == 0 {
            return Ok(tid.into());
        }
        Err(Stop::Wait(Wait {
            cause: Cause::Lent { child: tid },
            deadline: None,
            restart: false,
        }))
    }

    /// The child no longer uses its parent's memory: a parent that waits for that goes on.
    fn give_back(&mut self, child: u32) {
        let lender = self.threads.waiting_for(Cause::Lent { child });
        for tid in lender {
            self.threads.make_ready(tid, Resume::Answer(child.into()));
        }
    }

    /// Turns the end of a process that is not the first into that process's end, and lets others go on.
    pub(super) fn contain<R>(
        &mut self,
        cpu: &mut Cpu,
        mem: &mut Memory,
        mut result: Result<Option<R>, Exit>,
    ) -> Result<Option<R>, Exit> {
        while let Err(exit) = &result {
            let Some(ending) = Ending::of(exit).filter(|_| !self.first_has_ended()) else {
                break;
            };
            self.end_present(mem, ending)?;
            result = self
                .next_thread(cpu, mem)
                .and_then(|()| self.go_on(cpu, mem))
                .map(|_| None);
        }
        result
    }

    /// Whether an ending is that of the first process.
    fn first_has_ended(&self) -> bool {
        self.killed_first || self.processes.pid == GUEST_PID
    }

    /// The present process ends.
    fn end_present(&mut self, mem: &mut Memory, ending: Ending) -> Result<(), Exit> {
        let pid = self.processes.pid;
        self.close_all();
        self.release_dropped(mem);
        for tid in self.threads.numbers(pid) {
            self.release_locks(mem, self.processes.memory, tid);
        }
        let usage = Usage {
            ns: self.process_ns(pid),
            peak_kib: mem.high_water_pages() * PAGE_SIZE / 1024,
        };
        self.processes.ended = true;
        self.threads.leave(pid);
        let (parent, group) = (self.processes.parent, self.processes.group);
        self.bury(mem, [pid, parent, group], ending, usage)
    }

    /// Another process is killed.
    pub(super) fn kill_other(
        &mut self,
        mem: &mut Memory,
        pid: u32,
        signal: u8,
    ) -> Result<(), Exit> {
        let Some(mut process) = self.processes.others.remove(&pid) else {
            return Ok(());
        };
        self.descriptors.swap_table(&mut process.table);
        self.close_all();
        self.descriptors.swap_table(&mut process.table);
        self.release_dropped(mem);
        let mut usage = Usage {
            ns: self.process_ns(pid),
            peak_kib: 0,
        };
        if let Some(mut parked) = self.processes.memories.remove(&process.memory) {
            parked.0.take_shared(mem);
            for tid in self.threads.numbers(pid) {
                self.release_locks(&mut parked.0, process.memory, tid);
            }
            mem.take_shared(&mut parked.0);
            usage.peak_kib = parked.0.high_water_pages() * PAGE_SIZE / 1024;
            self.processes.memories.insert(process.memory, parked);
        }
        self.threads.leave(pid);
        if !self.processes.is_used(process.memory) {
            if let Some(gone) = self.processes.memories.remove(&process.memory) {
                mem.forget(&gone.0);
            }
            self.processes.memory_changes += 1;
        }
        let family = [pid, process.parent, process.group];
        self.bury(mem, family, Ending::Killed(signal), usage)
    }

    /// Nanoseconds that the threads of a process have run, those that are.
    fn process_ns(&self, pid: u32) -> u64 {
        let threads = self.threads.numbers(pid).into_iter();
        threads.filter_map(|tid| self.thread_ns(tid)).sum()
    }

    fn close_all(&mut self) {
        let open: Vec<i32> = self.descriptors.numbers().collect();
        for fd in open {
            // Every one of them is open.
            let _ = self.close(fd);
        }
        self.descriptor_changes += 1;
    }

    /// The parent learns of an end; children are nobody's from now on.
    fn bury(
        &mut self,
        mem: &mut Memory,
        [pid, parent, group]: [u32; 3],
        ending: Ending,
        usage: Usage,
    ) -> Result<(), Exit> {
        self.give_back(pid);
        self.processes.zombies.retain(|z| z.parent != pid);
        for other in self.processes.others.values_mut() {
            if other.parent == pid {
                other.parent = 1;
            }
        }
        let parent_lives = parent == self.processes.pid && !self.processes.ended
            || self.processes.others.contains_key(&parent);
        if !parent_lives {
            return Ok(());
        }
        if !self
            .signals_of(parent)
            .is_some_and(Signals::ignores_children)
        {
            self.processes.zombies.push(Zombie {
                pid,
                parent,
                group,
                ending,
                usage,
            });
        }
        for tid in self.threads.waiting_for(Cause::Child) {
            if self.threads.get(tid).is_some_and(|t| t.pid == parent) {
                self.threads.take_signal(tid);
            }
        }
        match self.send(mem, Target::Process(parent), ending.info(pid)) {
            Err(Stop::Exit(exit)) => Err(exit),
            _ => Ok(()),
        }
    }

    /// The first child that has ended and is meant; ECHILD if there is none that could.
    fn ended_child(&self, meant: impl Fn(u32, u32) -> bool) -> Result<Option<usize>, Errno> {
        let me = self.processes.pid;
        let zombies = &mut self.processes.zombies.iter();
        let found = zombies.position(|z| z.parent == me && meant(z.pid, z.group));
        let mut others = self.processes.others.iter();
        let alive = others.any(|(&pid, p)| p.parent == me && meant(pid, p.group));
        if found.is_none() && !alive {
            return Err(ECHILD);
        }
        Ok(found)
    }

    /// Whether a process has ended and can still be waited for.
    pub(super) fn is_zombie(&self, pid: u32) -> bool {
        self.processes.zombies.iter().any(|z| z.pid == pid)
    }

    /// The numbers of all processes that run, ascending.
    pub(super) fn process_numbers(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.processes.others.keys().copied().collect();
        if !self.processes.ended {
            all.push(self.processes.pid);
        }
        all.sort_unstable();
        all
    }

    /// Runs `f` as if this process ran, with its memory; `None` if there is none such.
    pub(super) fn as_process<R>(
        &mut self,
        mem: &Memory,
        pid: u32,
        f: impl FnOnce(&mut Self, &Memory) -> R,
    ) -> Option<R> {
        if pid == self.processes.pid {
            return Some(f(self, mem));
        }
        let mut other = self.processes.others.remove(&pid)?;
        self.exchange(&mut other);
        let me = std::mem::replace(&mut self.processes.pid, pid);
        // One that shares the memory of the running process has none of its own.
        let parked = self.processes.memories.remove(&self.processes.memory);
        let result = f(self, parked.as_ref().map_or(mem, |p| &p.0));
        if let Some(parked) = parked {
            self.processes
                .memories
                .insert(self.processes.memory, parked);
        }
        self.processes.pid = me;
        self.exchange(&mut other);
        self.processes.others.insert(pid, other);
        Some(result)
    }

    /// What a process was started with, and its working directory.
    pub(super) fn start_of(&self, pid: u32) -> Option<(&Start, &str)> {
        if pid == self.processes.pid {
            return Some((&self.start, &self.files.working_directory));
        }
        let other = self.processes.others.get(&pid)?;
        Some((&other.start, &other.working_directory))
    }

    /// The session of the present process.
    pub(super) fn session(&self) -> u32 {
        self.processes.session
    }

    /// The group of a process.
    pub(super) fn group_of(&self, pid: u32) -> Option<u32> {
        if pid == self.processes.pid {
            return Some(self.processes.group);
        }
        self.processes.others.get(&pid).map(|p| p.group)
    }

    /// `getpgid` and `getsid`; 0 is the caller.
    pub(super) fn group_number(&self, pid: i32, of_session: bool) -> Answer {
        let pid = match u32::try_from(pid).map_err(|_| ESRCH)? {
            0 => self.processes.pid,
            other => other,
        };
        let group = self.group_of(pid).ok_or(ESRCH)?;
        let session = match self.processes.others.get(&pid) {
            Some(other) => other.session,
            None => self.processes.session,
        };
        Ok(if of_session { session } else { group }.into())
    }

    /// `setsid`: who leads a group cannot leave it.
    pub(super) fn setsid(&mut self) -> Answer {
        let pid = self.processes.pid;
        if self.processes.group == pid {
            return Err(EPERM.into());
        }
        self.processes.group = pid;
        self.processes.session = pid;
        Ok(pid.into())
    }

    /// `setpgid`: of the caller, or of a child that has not left the session.
    pub(super) fn setpgid(&mut self, pid: i32, group: i32) -> Answer {
        let (Ok(pid), Ok(group)) = (u32::try_from(pid), u32::try_from(group)) else {
            return Err(if group < 0 { EINVAL } else { ESRCH }.into());
        };
        let me = self.processes.pid;
        let pid = if pid == 0 { me } else { pid };
        let group = if group == 0 { pid } else { group };
        let session = self.processes.session;
        let groups = self.process_numbers();
        let exists = group == pid || groups.iter().any(|&p| self.group_of(p) == Some(group));
        let target = if pid == me {
            (session != me).then_some(&mut self.processes.group)
        } else {
            match self.processes.others.get_mut(&pid) {
                Some(child) if child.parent == me => {
                    (child.session == session && session != pid).then_some(&mut child.group)
                }
                _ => return Err(ESRCH.into()),
            }
        };
        match target {
            Some(kept) if exists => {
                *kept = group;
                Ok(0)
            }
            _ => Err(EPERM.into()),
        }
    }

    fn wait_for_child(&self) -> Stop {
        Stop::Wait(Wait {
            cause: Cause::Child,
            deadline: None,
            restart: true,
        })
    }

    pub(super) fn wait4(
        &mut self,
        mem: &mut Memory,
        pid: i32,
        status: u64,
        options: u32,
        usage: u64,
    ) -> Answer {
        if options & !(WNOHANG | HARMLESS) != 0 {
            return Err(EINVAL.into());
        }
        let mine = self.processes.group;
        let meant = |child: u32, group: u32| match pid {
            -1 => true,
            0 => group == mine,
            ..0 => group == pid.unsigned_abs(),
            _ => child == pid as u32,
        };
        let Some(at) = self.ended_child(meant)? else {
            return if options & WNOHANG != 0 {
                Ok(0)
            } else {
                Err(self.wait_for_child())
            };
        };
        let zombie = self.processes.zombies[at];
        if status != 0 {
            give(mem, status, &zombie.ending.status().to_le_bytes())?;
        }
        if usage != 0 {
            give(mem, usage, &zombie.usage.bytes())?;
        }
        self.processes.waited.add(zombie.usage);
        self.processes.zombies.remove(at);
        Ok(zombie.pid.into())
    }

    pub(super) fn waitid(
        &mut self,
        mem: &mut Memory,
        kind: u32,
        id: u32,
        info: u64,
        options: u32,
        usage: u64,
    ) -> Answer {
        if options & !(WNOHANG | WEXITED | WNOWAIT | HARMLESS) != 0 || options & WEXITED == 0 {
            return Err(EINVAL.into());
        }
        let mut nonblocking = false;
        let id = match kind {
            3 => {
                nonblocking = self.descriptors.get(id as i32)?.nonblocking();
                self.process_of(id as i32)?
            }
            2 if id == 0 => self.processes.group,
            _ => id,
        };
        let meant: &dyn Fn(u32, u32) -> bool = match kind {
            0 => &|_, _| true,
            1 | 3 => &|child, _| child == id,
            2 => &|_, group| group == id,
            _ => return Err(EINVAL.into()),
        };
        let Some(at) = self.ended_child(meant)? else {
            if options & WNOHANG == 0 && nonblocking {
                return Err(EAGAIN.into());
            }
            if options & WNOHANG == 0 {
                return Err(self.wait_for_child());
            }
            if info != 0 {
                give(mem, info, &[0; 32])?;
            }
            return Ok(0);
        };
        let zombie = self.processes.zombies[at];
        if info != 0 {
            give(mem, info, &zombie.ending.info(zombie.pid).bytes())?;
        }
        if usage != 0 {
            give(mem, usage, &zombie.usage.bytes())?;
        }
        if options & WNOWAIT == 0 {
            self.processes.waited.add(zombie.usage);
            self.processes.zombies.remove(at);
        }
        Ok(0)
    }

    /// `execve`, and `execveat` with a directory and flags: another program takes the place of this one.
    pub(super) fn execve(
        &mut self,
        cpu: &mut Cpu,
        mem: &mut Memory,
        (directory, flags): (i32, u32),
        [path, arguments, environment]: [u64; 3],
    ) -> Answer {
        if flags & !(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0 {
            return Err(EINVAL.into());
        }
        let path = self.path_to_execute(take_path(mem, path)?, directory, flags)?;
        let arguments = take_strings(mem, arguments)?;
        let environment = take_strings(mem, environment)?;
        self.executable(mem, &path)?;
        let path = String::from_utf8(path).map_err(|_| EILSEQ)?;
        let mut entropy = self.entropy.clone();
        let seen: &Memory = mem;
        let find = |path: &str| {
            let (real, content) = self.executable(seen, path.as_bytes()).ok()?;
            Some((real, content))
        };
        let request = guest::Request {
            path: &path,
            arguments: &arguments,
            environment: &environment,
            find: &find,
        };
        let image = guest::prepare(&request, &mut entropy, &self.limits, &self.profile);
        let image = match image {
            Ok(image) => image,
            Err(LoadError { .. }) => return Err(ENOEXEC.into()),
        };
        self.entropy = entropy;
        for path in &image.read {
            self.note_read(path);
        }
        self.layout = image.layout;
        self.start = image.start;
        self.identity.rename(&self.start.executable);
        self.signals.reset_handlers();
        for tid in self.threads.numbers(self.processes.pid) {
            self.release_locks(mem, self.processes.memory, tid);
        }
        self.threads.remain_alone();
        self.threads.me.after_exec();
        self.timers.after_exec();
        let closing: Vec<i32> = (self.descriptors.numbers())
            .filter(|&fd| self.descriptors.close_on_exec(fd) == Ok(true))
            .collect();
        for fd in closing {
            self.close(fd)?;
        }
        self.descriptor_changes += 1;
        let number = self.processes.next_memory;
        self.processes.next_memory += 1;
        let mut new = image.mem;
        new.freeze();
        self.processes.memories.insert(number, Parked(new));
        self.processes.memory = number;
        self.take_memory(mem);
        self.give_back(self.processes.pid);
        *cpu = image.cpu;
        Err(Stop::Return)
    }

    /// The path from the working directory of what `execveat` means.
    fn path_to_execute(&self, path: Vec<u8>, directory: i32, flags: u32) -> Result<Vec<u8>, Errno> {
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 && directory != AT_FDCWD {
            self.descriptors.get(directory)?;
            return Ok(format!("/dev/fd/{directory}").into_bytes());
        }
        if flags & AT_SYMLINK_NOFOLLOW != 0 {
            let place = self.resolve(directory, &path, false)?;
            if matches!(place.entry, Some(super::filesystem::Entry::Symlink(_))) {
                return Err(ELOOP);
            }
        }
        if directory == AT_FDCWD || path.starts_with(b"/") {
            return Ok(path);
        }
        let place = self.resolve(directory, &path, true)?;
        Ok(place.path.into_bytes())
    }

    /// The file at a path that is to be executed, with its canonical path.
    fn executable(&self, mem: &Memory, path: &[u8]) -> Result<(String, Arc<[u8]>), Errno> {
        use super::filesystem::{Entry, MAY_EXECUTE, permits};
        let place = self.resolve(AT_FDCWD, path, true)?;
        let content = match place.found()? {
            Entry::Descriptor(fd) => {
                let open = self.descriptors.get(*fd)?;
                let Object::File(id) = open.object else {
                    return Err(EACCES);
                };
                let file = self.files.file(id)?;
                if !permits(file.mode, file.owner, MAY_EXECUTE) {
                    return Err(EACCES);
                }
                let content = self.content(mem, id)?;
                return Ok((open.path.clone().unwrap_or(place.path), content));
            }
            Entry::Unopened {
                content,
                executable: true,
            } => Arc::clone(content),
            Entry::File(id) => {
                let file = self.files.file(*id)?;
                if !permits(file.mode, file.owner, MAY_EXECUTE) {
                    return Err(EACCES);
                }
                self.content(mem, *id)?
            }
            _ => return Err(EACCES),
        };
        Ok((place.path, content))
    }
}

/// The strings of an array of pointers that ends with a null pointer.
fn take_strings(mem: &mut Memory, at: u64) -> Result<Vec<Vec<u8>>, Stop> {
    let mut strings = Vec::new();
    let mut bytes = 0;
    if at == 0 {
        return Ok(strings);
    }
    loop {
        let pointer = take_u64(mem, at.wrapping_add(8 * strings.len() as u64))?;
        if pointer == 0 {
            return Ok(strings);
        }
        let text = mem.copy_c_string(pointer, MAX_STRINGS)?.ok_or(E2BIG)?;
        bytes += text.len() + 1 + size_of::<u64>();
        if bytes > MAX_STRINGS {
            return Err(E2BIG.into());
        }
        strings.push(text);
    }
}
