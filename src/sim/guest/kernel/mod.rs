//! The kernel that the guest sees: system calls by number, and what becomes of faults.
//!
//! | file | calls |
//! |---|---|
//! | `transfer` | read, write and relatives, lseek, copies between files |
//! | `path` | open, directories, links, names, permissions, working directory |
//! | `status` | stat and relatives, statfs, access, times |
//! | `handle` | close, dup, fcntl, ioctl, pipe, eventfd |
//! | `wait` | poll, select, sleeping |
//! | `epoll` | epoll |
//! | `futex` | futex |
//! | `memory` | brk, mmap and relatives |
//! | `clock` | clocks |
//! | `identity` | who and where the process is: ids, limits, uname, scheduling, resource use |
//! | `socket` | pairs within the process; none that leave it |
//! | `signal` | dispositions, masks, kill, and faults |
//! | `signalfd` | signals that are read |
//! | `timer` | alarm, the interval timers, `timer_create` |
//! | `timerfd` | timers that are read |
//! | `process` | fork, execve, wait |
//! | `pidfd` | descriptors of processes |
//! | `thread` | clone, exit, robust lists; who runs |
//!
//! `filesystem` keeps the files, `synthetic` makes those of `/dev` and `/proc`, `descriptor` keeps what is open, `user`
//! moves bytes to and from the guest, `frame` builds what a signal handler finds, `names` has the names of all calls.
//!
//! Calls that Linux has and that are not answered here get ENOSYS and are listed once in `unanswered`. Some get ENOSYS
//! or EPERM by decision, because programs then take another way that works; the table below marks them. What cannot be
//! answered truthfully ends the run as [`Exit::UnsupportedSyscall`].
mod clock;
mod descriptor;
mod entropy;
mod epoll;
mod filesystem;
mod frame;
mod futex;
mod handle;
#[cfg(test)]
mod host_comparison;
mod identity;
mod memory;
mod names;
mod path;
mod pidfd;
mod process;
mod signal;
mod signalfd;
mod socket;
mod status;
mod synthetic;
#[cfg(test)]
mod testing;
mod thread;
mod timer;
mod timerfd;
mod transfer;
mod user;
mod wait;

pub(super) use super::abi;
use super::profile::Profile;
use super::world::World;
use crate::sim::isa::state::{Cpu, RAX, RDI, RDX, RSI};
use crate::sim::memory::{Fault, Memory};
use crate::sim::outcome::{Device, Exit, Limits, Program};
use abi::*;
use descriptor::{Descriptors, Object, Open};
pub(super) use entropy::Entropy;
use filesystem::FileSystem;
use std::collections::BTreeSet;
use std::sync::Arc;
use thread::{Cause, Resume, finish};

/// Registers of arguments that have no name of their own elsewhere.
const R8: u8 = 8;
const R9: u8 = 9;
const R10: u8 = 10;
const R11: u8 = 11;
/// Bytes of the SYSCALL instruction.
const SYSCALL_SIZE: u64 = 2;
/// Below the stack's limit, this many bytes count as its guard: a fault there is a stack overflow.
pub(super) const STACK_GUARD: u64 = 1 << 20;

/// Simulated time at a system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Cycles since the start; retired instructions on machines that only count.
    pub cycles_or_instructions: u64,
    /// Nanoseconds that the processor has run.
    pub nanoseconds: u64,
    /// Retired instructions.
    pub instructions: u64,
}

/// A region marker of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// The region begins behind this system call.
    Begin,
    /// The region has ended before this system call.
    End,
}

/// What the run loop does after a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// The guest has ended.
    Exit(Exit),
    /// A region marker; the call is answered, go on behind it.
    Mark(MarkKind),
    /// The driver asks for the input at which the job pauses. RIP is back at the SYSCALL instruction, nothing else has
    /// changed: the call has not been counted and its instruction has not retired.
    Pause,
}

/// How a system call ends that has no plain result.
#[derive(Debug)]
enum Stop {
    Errno(Errno),
    Exit(Exit),
    Mark(MarkKind, u64),
    Pause,
    /// The running thread waits.
    Wait(thread::Wait),
    /// It lets others run first.
    Yield,
    /// It has ended.
    Leave,
    /// The call has set all registers itself.
    Return,
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::MemoryLimit => Self::Exit(Exit::MemoryLimit),
            _ => Self::Errno(EFAULT),
        }
    }
}

/// What a system call answers.
type Answer = Result<u64, Stop>;

/// Ends the run: `name` cannot be answered truthfully.
fn unsupported(name: impl Into<String>) -> Stop {
    Stop::Exit(Exit::UnsupportedSyscall { name: name.into() })
}

/// Whether a call may make a descriptor ready for somebody: reads and writes in all their forms, and whatever opens,
/// closes and sets flags.
fn changes_descriptors(number: u64) -> bool {
    matches!(
        number,
        0 | 1 | 3 | 17
            ..=20
                | 22
                | 32
                | 33
                | 40
                | 44
                | 45
                | 46
                | 47
                | 53
                | 72
                | 233
                | 282
                | 284
                | 286
                | 289
                | 290
                | 292
                | 293
                | 295
                | 296
                | 327
                | 328
                | 436
    )
}

/// Where things lie in the address space of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// First address of the heap, and its present end.
    pub(super) heap_start: u64,
    pub(super) heap_end: u64,
    /// Mappings go below this address.
    pub(super) mmap_top: u64,
    /// Lowest address of the stack, and the first beyond it.
    pub(super) stack_bottom: u64,
    pub(super) stack_top: u64,
    /// RSP at the first instruction.
    pub(super) stack_pointer: u64,
}

/// What the process was started with, for `/proc/self`.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) executable: String,
    pub(super) arguments: Arc<[u8]>,
    pub(super) environment: Arc<[u8]>,
    pub(super) auxv: Arc<[u8]>,
}

/// The kernel's side of one process. A clone is a snapshot.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Bytes written to standard output.
    pub stdout: Vec<u8>,
    /// Bytes written to standard error.
    pub stderr: Vec<u8>,
    /// Kind and text of the driver's messages other than markers, in order.
    pub messages: Vec<(u8, Vec<u8>)>,
    /// Calls that were answered ENOSYS because nobody has decided an answer, each once, in the order of the first.
    pub unanswered: Vec<String>,
    /// The guest read a clock.
    pub clock_read: bool,
    /// The same at the moment when the driver told how the candidate ended.
    pub clock_read_when_told: Option<bool>,
    /// System calls so far.
    pub system_calls: u64,
    limits: Limits,
    profile: Profile,
    layout: Layout,
    start: Start,
    files: FileSystem,
    descriptors: Descriptors,
    entropy: Entropy,
    stdin: Arc<[u8]>,
    stdin_position: u64,
    device: Option<Device>,
    next_input: usize,
    message_bytes: u64,
    now: Now,
    /// Address behind the SYSCALL instruction of the present call, for the report of a signal.
    rip: u64,
    /// Nanoseconds slept: the processor did nothing in them.
    slept_ns: u64,
    signals: signal::Signals,
    timers: timer::Timers,
    threads: thread::Threads,
    processes: process::Processes,
    /// Number of the memory that the run loop has.
    loaded_memory: u32,
    /// The first process was killed while another ran.
    killed_first: bool,
    /// The wait after which the present call is made again, and whether its time is over.
    repeated: Option<(thread::Wait, bool)>,
    /// Counts the calls that may have made some descriptor ready.
    descriptor_changes: u64,
    /// Counts the signals that were sent.
    signals_sent: u64,
    identity: identity::Identity,
}

impl Kernel {
    /// The kernel of a program that has been mapped.
    pub(super) fn new(
        program: &Program,
        limits: &Limits,
        profile: &Profile,
        layout: Layout,
        start: Start,
        entropy: Entropy,
    ) -> Self {
        let mut descriptors = Descriptors::new();
        let standard = [
            (0, Object::Stdin, O_RDONLY),
            (1, Object::Stdout, O_WRONLY),
            (2, Object::Stderr, O_WRONLY),
        ];
        for (fd, object, status) in standard {
            descriptors.insert_at(fd, Open::new(object, status, None), false);
        }
        if program.device.is_some() {
            descriptors.insert_at(Device::FD, Open::new(Object::Driver, O_RDWR, None), false);
        }
        let world: World = program.world.clone();
        Self {
            stdout: Vec::new(),
            stderr: Vec::new(),
            messages: Vec::new(),
            unanswered: Vec::new(),
            clock_read: false,
            clock_read_when_told: None,
            system_calls: 0,
            limits: *limits,
            identity: identity::Identity::new(&start.executable),
            files: FileSystem::new(world, profile.start_time_s.saturating_mul(1_000_000_000)),
            profile: profile.clone(),
            layout,
            start,
            descriptors,
            entropy,
            stdin: Arc::clone(&program.stdin),
            stdin_position: 0,
            device: program.device.clone(),
            next_input: 0,
            message_bytes: 0,
            now: Now::default(),
            rip: 0,
            slept_ns: 0,
            signals: signal::Signals::default(),
            timers: timer::Timers::default(),
            threads: thread::Threads::new(),
            processes: process::Processes::new(limits.memory_bytes),
            loaded_memory: 0,
            killed_first: false,
            repeated: None,
            descriptor_changes: 0,
            signals_sent: 0,
        }
    }

    /// Paths of the world's files that were opened or executed.
    pub fn read_set(&self) -> &BTreeSet<String> {
        &self.files.read_set
    }

    pub(super) fn note_read(&mut self, path: &str) {
        self.files.read_set.insert(path.to_owned());
    }

    /// Goes on after [`Control::Pause`]: these are the inputs from the one that was asked for on, and nothing pauses
    /// any more. Without a device, does nothing.
    pub fn resume_with(&mut self, inputs: Vec<Arc<[u8]>>) {
        if let Some(device) = &mut self.device {
            device.inputs.truncate(self.next_input);
            device.inputs.extend(inputs);
            device.pause_at = None;
        }
    }

    /// Gives the job another standard input, from its beginning.
    pub fn set_stdin(&mut self, stdin: Arc<[u8]>) {
        self.stdin = stdin;
        self.stdin_position = 0;
    }

    /// Sets at the read of which input (0 for the first of the whole run) the job pauses next.
    pub fn set_pause_at(&mut self, pause_at: Option<usize>) {
        if let Some(device) = &mut self.device {
            device.pause_at = pause_at;
        }
    }

    /// How many inputs the driver has read.
    pub fn inputs_read(&self) -> usize {
        self.next_input
    }

    /// Answers the system call in the registers. RIP is the address behind the SYSCALL instruction.
    ///
    /// The registers are those of another thread afterwards if this one waits or ends.
    pub fn syscall(&mut self, cpu: &mut Cpu, mem: &mut Memory, now: Now) -> Control {
        self.now = now;
        self.rip = cpu.rip;
        let answer = self.dispatch(cpu, mem);
        if let Err(Stop::Pause) = answer {
            cpu.rip = cpu.rip.wrapping_sub(SYSCALL_SIZE);
            return Control::Pause;
        }
        self.system_calls += 1;
        let ended = self
            .conclude(cpu, mem, answer)
            .and_then(|mark| Ok(mark.or(self.go_on(cpu, mem)?)));
        let ended = self.contain(cpu, mem, ended);
        match ended {
            Ok(None) => Control::Continue,
            Ok(Some(kind)) => Control::Mark(kind),
            Err(exit) => Control::Exit(exit),
        }
    }

    /// A point in time that [`Kernel::quantum_end`] or [`Kernel::timer_due_ns`] asked for: timers expire, and a thread
    /// that has used up its time makes way for another.
    pub fn tick(&mut self, cpu: &mut Cpu, mem: &mut Memory, now: Now) -> Option<Exit> {
        self.now = now;
        self.rip = cpu.rip;
        let result = self.on_tick(cpu, mem).map(|()| None::<()>);
        self.contain(cpu, mem, result).err()
    }

    fn on_tick(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Result<(), Exit> {
        self.expire_timers(mem)?;
        let ended = self
            .quantum_end()
            .is_some_and(|end| end <= self.now.instructions);
        if ended {
            self.rotate(cpu, mem)?;
        }
        self.go_on(cpu, mem).map(|_| ())
    }

    /// Brings what a call answered to the registers, and lets others run where it waits.
    fn conclude(
        &mut self,
        cpu: &mut Cpu,
        mem: &mut Memory,
        answer: Answer,
    ) -> Result<Option<MarkKind>, Exit> {
        match answer {
            Ok(value) => finish(cpu, value),
            Err(Stop::Errno(errno)) => finish(cpu, errno.as_result()),
            Err(Stop::Mark(kind, value)) => {
                finish(cpu, value);
                return Ok(Some(kind));
            }
            Err(Stop::Exit(exit)) => return Err(exit),
            Err(Stop::Return | Stop::Pause) => {}
            Err(Stop::Wait(wait))
                if self.is_signalled() && !matches!(wait.cause, Cause::Lent { .. }) =>
            {
                let me = self.threads.me.tid;
                self.threads.futexes.retain(|waiter| waiter.tid != me);
                self.threads.me.resume = Resume::Interrupted(wait);
            }
            Err(Stop::Wait(wait)) => {
                self.put_away(cpu, Some(wait), Resume::Run);
                self.next_thread(cpu, mem)?;
            }
            Err(Stop::Yield) => {
                finish(cpu, 0);
                if self.others_can_run() {
                    self.put_away(cpu, None, Resume::Run);
                    self.next_thread(cpu, mem)?;
                }
            }
            Err(Stop::Leave) => self.next_thread(cpu, mem)?,
        }
        Ok(None)
    }

    /// The running thread goes on: its call ends or is made again, and signals are delivered. A region mark, if the call
    /// was one.
    fn go_on(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Result<Option<MarkKind>, Exit> {
        let mut mark = None;
        // It ends: a call that is made again waits for a change that is yet to come, or for a time that passes.
        while let Resume::Answer(_) | Resume::Repeat { .. } = self.threads.me.resume {
            match std::mem::replace(&mut self.threads.me.resume, Resume::Run) {
                Resume::Answer(value) => finish(cpu, value),
                Resume::Repeat { wait, expired } => {
                    self.repeated = Some((wait, expired));
                    let answer = self.dispatch(cpu, mem);
                    self.repeated = None;
                    mark = self.conclude(cpu, mem, answer)?;
                }
                Resume::Run | Resume::Interrupted(_) => {}
            }
        }
        let interrupted = matches!(self.threads.me.resume, Resume::Interrupted(_));
        if !interrupted && let Some(mask) = self.threads.me.saved_mask.take() {
            // The call has ended without a signal: its mask goes before signals are looked at.
            self.set_blocked(mask);
        }
        self.deliver(cpu, mem)?;
        Ok(mark)
    }

    /// Makes the call that the registers tell.
    fn dispatch(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Answer {
        let number = cpu.gpr[RAX];
        let answer = self.answer(number, cpu, mem);
        self.release_dropped(mem);
        if answer.is_ok() && changes_descriptors(number) {
            self.descriptor_changes += 1;
        }
        answer
    }

    /// Frees the content of files that are no more.
    fn release_dropped(&mut self, mem: &mut Memory) {
        for id in std::mem::take(&mut self.files.dropped) {
            mem.release_shared(id);
        }
    }

    /// The table of system calls.
    #[expect(clippy::too_many_lines, reason = "a table, a line or two a call")]
    fn answer(&mut self, number: u64, cpu: &mut Cpu, mem: &mut Memory) -> Answer {
        let [a, b, c, d, e, f] = [RDI, RSI, RDX, R10, R8, R9].map(|r| cpu.gpr[r]);
        // Descriptors, flags and modes are `int`s: their upper halves do not count.
        let (fd_a, fd_b, fd_c, fd_e) = (a as i32, b as i32, c as i32, e as i32);
        match number {
            // transfer
            0 => self.read(mem, fd_a, b, c),
            1 => self.write(mem, fd_a, b, c),
            8 => self.lseek(fd_a, b as i64, c as u32),
            17 => self.pread(mem, fd_a, b, c, d as i64),
            18 => self.pwrite(mem, fd_a, b, c, d as i64),
            19 => self.readv(mem, fd_a, b, c),
            20 => self.writev(mem, fd_a, b, c),
            40 => self.sendfile(mem, fd_a, fd_b, c, d),
            295 => self.preadv(mem, fd_a, b, c, d as i64),
            296 => self.pwritev(mem, fd_a, b, c, d as i64),
            327 => self.preadv2(mem, fd_a, b, c, d as i64, f as u32),
            328 => self.pwritev2(mem, fd_a, b, c, d as i64, f as u32),
            // copy_file_range, by decision: callers fall back to reading and writing.
            326 => Err(ENOSYS.into()),
            74 | 75 => self.fsync(fd_a),
            162 => Ok(0),
            306 => self.descriptors.get(fd_a).map(|_| 0).map_err(Stop::from),
            76 => self.truncate(mem, a, b as i64),
            77 => self.ftruncate(mem, fd_a, b as i64),
            285 => self.fallocate(mem, fd_a, b as u32, c as i64, d as i64),
            221 => self.fadvise(fd_a, b as i64, c as i64, d as u32),
            187 => self.descriptors.get(fd_a).map(|_| 0).map_err(Stop::from),
            // path
            2 => self.open(mem, AT_FDCWD, a, b as u32, c as u32),
            85 => self.open(mem, AT_FDCWD, a, O_CREAT | O_WRONLY | O_TRUNC, b as u32),
            257 => self.open(mem, fd_a, b, c as u32, d as u32),
            437 => self.openat2(mem, fd_a, b, c, d),
            78 | 217 => self.getdents(mem, fd_a, b, c, number == 217),
            79 => self.getcwd(mem, a, b),
            80 => self.chdir(mem, a),
            81 => self.fchdir(fd_a),
            82 => self.rename(mem, AT_FDCWD, a, AT_FDCWD, b, 0),
            264 => self.rename(mem, fd_a, b, fd_c, d, 0),
            316 => self.rename(mem, fd_a, b, fd_c, d, e as u32),
            83 => self.mkdir(mem, AT_FDCWD, a, b as u32),
            258 => self.mkdir(mem, fd_a, b, c as u32),
            84 => self.unlink(mem, AT_FDCWD, a, AT_REMOVEDIR),
            87 => self.unlink(mem, AT_FDCWD, a, 0),
            263 => self.unlink(mem, fd_a, b, c as u32),
            86 => self.link(mem, AT_FDCWD, a, AT_FDCWD, b, 0),
            265 => self.link(mem, fd_a, b, fd_c, d, e as u32),
            88 => self.symlink(mem, a, AT_FDCWD, b),
            266 => self.symlink(mem, a, fd_b, c),
            89 => self.readlink(mem, AT_FDCWD, a, b, c as i32),
            267 => self.readlink(mem, fd_a, b, c, d as i32),
            90 => self.chmod(mem, AT_FDCWD, a, b as u32),
            91 => self.fchmod(mem, fd_a, b as u32),
            268 => self.chmod(mem, fd_a, b, c as u32),
            92 => self.chown(mem, AT_FDCWD, a, b as u32, c as u32, 0),
            93 => self.fchown(fd_a, b as u32, c as u32),
            94 => self.chown(mem, AT_FDCWD, a, b as u32, c as u32, AT_SYMLINK_NOFOLLOW),
            260 => self.chown(mem, fd_a, b, c as u32, d as u32, e as u32),
            95 => Ok(self.identity.set_umask(a as u32).into()),
            133 => self.mknod(mem, AT_FDCWD, a, b as u32),
            259 => self.mknod(mem, fd_a, b, c as u32),
            161 | 155 | 165 | 166 | 167 | 168 => Err(EPERM.into()), // chroot, mount and the like need privilege
            319 => self.memfd_create(mem, a, b as u32),
            // extended attributes: the file system has none
            188..=190 => Err(EOPNOTSUPP.into()),
            191..=193 => Err(EOPNOTSUPP.into()),
            194..=196 => Ok(0),
            197..=199 => Err(EOPNOTSUPP.into()),
            // status
            4 => self.stat(mem, AT_FDCWD, a, b, 0),
            5 => self.fstat(mem, fd_a, b),
            6 => self.stat(mem, AT_FDCWD, a, b, AT_SYMLINK_NOFOLLOW),
            262 => self.stat(mem, fd_a, b, c, d as u32),
            332 => self.statx(mem, fd_a, b, c as u32, d as u32, e),
            21 => self.access(mem, AT_FDCWD, a, b as u32, 0),
            269 => self.access(mem, fd_a, b, c as u32, 0),
            439 => self.access(mem, fd_a, b, c as u32, d as u32),
            137 => self.statfs(mem, a, b),
            138 => self.fstatfs(mem, fd_a, b),
            132 => self.utime(mem, a, b),
            235 => self.utimes(mem, AT_FDCWD, a, b),
            261 => self.utimes(mem, fd_a, b, c),
            280 => self.utimensat(mem, fd_a, b, c, d as u32),
            // handle
            3 => self.close(fd_a),
            436 => self.close_range(a as u32, b as u32, c as u32),
            32 => self.dup(fd_a),
            33 => self.dup_to(fd_a, fd_b, 0, true),
            292 => self.dup_to(fd_a, fd_b, c as u32, false),
            72 => self.fcntl(mem, fd_a, b as u32, c),
            73 => self.descriptors.get(fd_a).map(|_| 0).map_err(Stop::from), // flock: nobody else could hold it
            16 => self.ioctl(mem, fd_a, b as u32, c),
            22 => self.pipe(mem, a, 0),
            293 => self.pipe(mem, a, b as u32),
            284 => self.eventfd(a as u32, 0),
            290 => self.eventfd(a as u32, b as u32),
            // wait
            7 => self.poll(mem, a, b, wait::Timeout::milliseconds(c as i32)),
            271 => self.ppoll(mem, a, b, c, d, e),
            23 => self.select(mem, fd_a, [b, c, d], e),
            270 => self.pselect(mem, fd_a, [b, c, d], e, f),
            213 => self.epoll_create(a as i32, 0, true),
            291 => self.epoll_create(1, a as u32, false),
            233 => self.epoll_ctl(mem, fd_a, b as u32, fd_c, d),
            232 => self.epoll_wait(
                mem,
                fd_a,
                b,
                c as i32,
                wait::Timeout::milliseconds(d as i32),
            ),
            281 => {
                let timeout = wait::Timeout::milliseconds(d as i32);
                self.epoll_pwait(mem, fd_a, b, c as i32, timeout, [e, f])
            }
            441 => self.epoll_pwait2(mem, fd_a, b, c as i32, d, [e, f]),
            282 => self.signalfd(mem, fd_a, b, c, 0),
            289 => self.signalfd(mem, fd_a, b, c, d as u32),
            283 => self.timerfd_create(a as i32, b as u32),
            286 => self.timerfd_settime(mem, fd_a, b as u32, c, d),
            287 => self.timerfd_gettime(mem, fd_a, b),
            202 => self.futex(mem, a, b as u32, c as u32, d, e, f as u32),
            35 => self.nanosleep(mem, a, b),
            230 => self.clock_nanosleep(mem, a as i32, b as u32, c, d),
            34 => self.pause(),
            // Protection keys: a processor without them has none to give.
            329 if d as i32 == -1 => self.mprotect(mem, a, b, c),
            329 | 331 => Err(EINVAL.into()),
            330 if a != 0 || b > 3 => Err(EINVAL.into()),
            330 => Err(ENOSPC.into()),
            // Memory policies, by decision: a machine with one node has none.
            237..=239 | 256 | 279 => Err(ENOSYS.into()),
            // memory
            9 => self.mmap(mem, a, b, c, d, fd_e, f),
            10 => self.mprotect(mem, a, b, c),
            11 => self.munmap(mem, a, b),
            12 => self.brk(mem, a),
            25 => self.mremap(mem, a, b, c, d, e),
            26 => self.msync(mem, a, b, c as u32),
            27 => self.mincore(mem, a, b, c),
            28 => self.madvise(mem, a, b, c as u32),
            149 | 150 | 325 => self.mlock(mem, a, b),
            151 | 152 => Ok(0),
            // clock
            96 => self.gettimeofday(mem, a, b),
            100 => self.times(mem, a),
            201 => self.time(mem, a),
            228 => self.clock_gettime(mem, a as i32, b),
            229 => self.clock_getres(mem, a as i32, b),
            227 | 164 | 159 | 305 => Err(EPERM.into()), // setting clocks needs privilege
            // identity
            39 => Ok(self.processes.pid.into()),
            186 => Ok(self.threads.me.tid.into()),
            110 => Ok(self.processes.parent.into()),
            102 | 104 | 107 | 108 => Ok(GUEST_UID.into()),
            118 | 120 => self.three_ids(mem, [a, b, c]),
            105 | 106 => self.set_id(&[a as u32]),
            113 | 114 => self.set_id(&[a as u32, b as u32]),
            117 | 119 => self.set_id(&[a as u32, b as u32, c as u32]),
            122 | 123 => Ok(GUEST_UID.into()), // setfsuid and setfsgid answer the old id
            115 => Ok(0),                      // getgroups: no supplementary groups
            116 => Err(EPERM.into()),          // setgroups
            111 => self.group_number(0, false),
            121 | 124 => self.group_number(fd_a, number == 124),
            109 => self.setpgid(fd_a, fd_b),
            112 => self.setsid(),
            63 => self.uname(mem, a),
            99 => self.sysinfo(mem, a),
            97 => self.getrlimit(mem, a as u32, b),
            160 => self.setrlimit(mem, a as u32, b),
            302 => self.prlimit(mem, fd_a, b as u32, c, d),
            98 => self.getrusage(mem, fd_a, b),
            24 => Err(Stop::Yield),
            140 => self.getpriority(a as u32, b as u32),
            141 => self.setpriority(a as u32, b as u32, c as i32),
            142 | 144 => self.set_scheduler(fd_a),
            143 => self.sched_getparam(mem, fd_a, b),
            145 => self.check_process(fd_a).map(|()| 0).map_err(Stop::from),
            146 | 147 => identity::scheduler_priority(a as i32, number == 146),
            148 => self.sched_rr_get_interval(mem, fd_a, b),
            203 => self.sched_setaffinity(mem, fd_a, b, c),
            204 => self.sched_getaffinity(mem, fd_a, b, c),
            314 => Err(EPERM.into()),
            315 => self.sched_getattr(mem, fd_a, b, c as u32, d as u32),
            251 | 252 => Ok(0), // ioprio_set, ioprio_get
            309 => self.getcpu(mem, a, b),
            318 => self.getrandom(mem, a, b, c as u32),
            157 => self.prctl(mem, a as u32, b, c),
            158 => self.arch_prctl(cpu, mem, a as u32, b),
            135 => Ok(self.identity.set_personality(a as u32).into()),
            125 => self.capget(mem, a, b),
            126 => Err(EPERM.into()),
            218 => self.set_tid_address(a),
            273 => self.set_robust_list(a, b),
            274 => Err(ENOSYS.into()),
            // rseq, by decision: glibc goes on without restartable sequences.
            334 if self.profile.accepts_rseq => Ok(0),
            334 => Err(ENOSYS.into()),
            // membarrier, by decision: callers fall back to ordinary barriers.
            324 => Err(ENOSYS.into()),
            // io_uring, by decision: callers fall back to ordinary calls.
            425..=427 => Err(ENOSYS.into()),
            // landlock, seccomp, bpf, perf_event_open, kcmp, userfaultfd, keyrings: not for this user.
            444..=446 | 317 | 321 | 298 | 312 | 323 | 248..=250 => Err(EPERM.into()),
            101 | 310 | 311 => Err(EPERM.into()), // ptrace and the memory of other processes
            103 | 153 | 169 | 170..=176 | 246 | 320 => Err(EPERM.into()), // syslog, reboot, modules, kexec
            // socket: refused as a sandbox refuses it.
            41 => Err(EACCES.into()),
            53 => self.socketpair(mem, a as u32, b as u32, c as u32, d),
            44 => self.transfer(mem, fd_a, b, c, d as u32, true),
            45 => self.transfer(mem, fd_a, b, c, d as u32, false),
            51 | 52 => self.socket_name(mem, fd_a, b, c),
            54 => self.setsockopt(fd_a, b as u32, d, e),
            55 => self.getsockopt(mem, fd_a, b as u32, c as u32, d, e),
            46 => self.message(mem, fd_a, b, c as u32, true),
            47 => self.message(mem, fd_a, b, c as u32, false),
            42 | 43 | 48..=50 | 288 | 299 | 307 => {
                self.other_socket_call(fd_a, names::name(number))
            }
            // threads, and processes: none but this one
            56 => self.clone_thread(cpu, mem, [a, b, c, d, e]),
            57 => self.fork(cpu, mem, [SIGCHLD.into(), 0, 0, 0, 0]),
            58 => self.fork(cpu, mem, [0x4100 | u64::from(SIGCHLD), 0, 0, 0, 0]),
            59 => self.execve(cpu, mem, (AT_FDCWD, 0), [a, b, c]),
            322 => self.execve(cpu, mem, (fd_a, e as u32), [b, c, d]),
            434 => self.pidfd_open(fd_a, b as u32),
            424 => self.pidfd_send_signal(mem, fd_a, b as i32, c, d as u32),
            438 => Err(EPERM.into()), // pidfd_getfd, as ptrace
            // clone3, by decision: glibc falls back to clone.
            435 => Err(ENOSYS.into()),
            61 => self.wait4(mem, fd_a, b, c as u32, d),
            247 => self.waitid(mem, a as u32, b as u32, c, d as u32, e),
            60 => Err(self.exit_thread(mem, a as u8)),
            231 => Err(Stop::Exit(Exit::Exited { code: a as u8 })),
            // signal
            13 => self.rt_sigaction(mem, a, b, c, d),
            14 => self.rt_sigprocmask(mem, a as u32, b, c, d),
            127 => self.rt_sigpending(mem, a, b),
            131 => self.sigaltstack(cpu, mem, a, b),
            15 => self.rt_sigreturn(cpu, mem),
            128 => self.rt_sigtimedwait(mem, a, b, c, d),
            130 => self.rt_sigsuspend(mem, a, b),
            62 => self.kill(mem, fd_a, b as i32),
            200 => self.tkill(mem, fd_a, b as i32),
            234 => self.tgkill(mem, fd_a, fd_b, c as i32),
            129 => self.rt_sigqueueinfo(mem, fd_a, None, b as i32, c),
            297 => self.rt_sigqueueinfo(mem, fd_a, Some(fd_b), c as i32, d),
            37 => self.alarm(a as u32),
            36 => self.getitimer(mem, a as u32, b),
            38 => self.setitimer(mem, a as u32, b, c),
            222 => self.timer_create(mem, a as i32, b, c),
            223 => self.timer_settime(mem, a as u32, b as u32, c, d),
            224 => self.timer_gettime(mem, a as u32, b),
            225 => self.timer_getoverrun(a as u32),
            226 => self.timer_delete(a as u32),
            _ => {
                let name = names::name(number);
                if !self.unanswered.iter().any(|n| n == name) {
                    self.unanswered.push(name.to_owned());
                }
                Err(ENOSYS.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Guest;
    use super::testing::{Process, failed, limits, program};
    use super::*;
    use crate::sim::isa::state::{RCX, RDI};

    fn with_device(inputs: &[&[u8]], pause_at: Option<usize>) -> Process {
        let mut program = program();
        program.device = Some(Device {
            nonce: *b"0123456789abcdef",
            inputs: inputs.iter().map(|i| Arc::from(*i)).collect(),
            pause_at,
        });
        Process::of(&program, &limits())
    }

    fn message(process: &mut Process, kind: u8, text: &str) -> Control {
        let bytes = [&[kind], &b"0123456789abcdef"[..], text.as_bytes()].concat();
        let at = process.bytes(&bytes);
        process.control("write", &[198, at, bytes.len() as u64])
    }

    #[test]
    fn a_call_sets_the_registers_that_the_instruction_sets() {
        let mut process = Process::new();
        process.guest.cpu.rip = 0x1234;
        process.guest.cpu.flags.set_rflags(0x246);
        assert_eq!(process.call("getpid", &[]), 100);
        assert_eq!(process.guest.cpu.gpr[RCX], 0x1234);
        assert_eq!(process.guest.cpu.gpr[R11], 0x246);
        assert_eq!(process.guest.kernel.system_calls, 1);
    }

    #[test]
    fn unknown_calls_are_listed_once_and_decided_ones_are_not() {
        let mut process = Process::new();
        for name in [
            "io_setup",
            "rseq",
            "io_setup",
            "clone3",
            "membarrier",
            "copy_file_range",
        ] {
            assert_eq!(process.call(name, &[0; 6]), failed(ENOSYS), "{name}");
        }
        for number in [500, 1 << 40, u64::MAX] {
            process.guest.cpu.gpr[RAX] = number;
            let Guest { cpu, mem, kernel } = &mut process.guest;
            assert_eq!(kernel.syscall(cpu, mem, Now::default()), Control::Continue);
        }
        assert_eq!(
            process.guest.kernel.unanswered,
            ["io_setup", "unknown number"]
        );
    }

    #[test]
    fn other_processes_and_machines_are_refused() {
        let mut process = Process::new();
        for (name, flags) in [("clone", 0), ("clone", 0x2000_0011)] {
            let Exit::UnsupportedSyscall { name: reason } = process.exit(name, &[flags; 6]) else {
                panic!("{name}")
            };
            assert!(reason.starts_with(name), "{reason}");
        }
        assert_eq!(process.call("execve", &[0; 3]), failed(EFAULT));
        assert_eq!(process.call("socket", &[2, 1, 0]), failed(EACCES));
        assert_eq!(process.call("connect", &[0, 0, 0]), failed(ENOTSOCK));
        assert_eq!(process.call("connect", &[77, 0, 0]), failed(EBADF));
        assert_eq!(process.call("ptrace", &[0; 4]), failed(EPERM));
        assert_eq!(process.call("wait4", &[u64::MAX, 0, 0, 0]), failed(ECHILD));
        assert_eq!(
            process.exit("exit_group", &[0x1_07]),
            Exit::Exited { code: 7 }
        );
    }

    #[test]
    fn the_driver_marks_reports_and_reads() {
        let mut process = with_device(&[b"one", b"", b"three"], None);
        assert_eq!(
            message(&mut process, Device::BEGIN, ""),
            Control::Mark(MarkKind::Begin)
        );
        assert_eq!(process.guest.cpu.gpr[RAX], 17);
        assert_eq!(
            message(&mut process, Device::END, ""),
            Control::Mark(MarkKind::End)
        );
        assert_eq!(
            message(&mut process, Device::FAILED, "text"),
            Control::Continue
        );
        assert_eq!(
            process.guest.kernel.messages,
            [(Device::FAILED, b"text".to_vec())]
        );
        let at = process.bytes(&[0; 16]);
        assert_eq!(process.call("read", &[198, at, 2]), failed(EMSGSIZE));
        assert_eq!(process.call("read", &[198, at, 16]), 3);
        assert_eq!(process.get(at, 3), b"one");
        assert_eq!(process.call("read", &[198, at, 16]), 0);
        assert_eq!(process.call("read", &[198, at, 16]), 5);
        assert_eq!(process.call("read", &[198, at, 16]), 0);
    }

    #[test]
    fn messages_without_the_nonce_are_forged() {
        for bytes in [&b"B"[..], b"B0123456789abcdeX", b"", b"D0123456789abcde"] {
            let mut process = with_device(&[], None);
            let at = process.bytes(bytes);
            assert_eq!(
                process.exit("write", &[198, at, bytes.len() as u64]),
                Exit::ForgedMarker,
                "{bytes:?}"
            );
        }
        let mut process = Process::new();
        let at = process.bytes(b"B0123456789abcdef");
        assert_eq!(
            process.call("write", &[198, at, 17]),
            failed(EBADF),
            "without a device there is none"
        );
    }

    #[test]
    fn a_paused_job_goes_on_as_if_it_had_not_paused() {
        let read = |process: &mut Process| {
            let at = testing::SCRATCH;
            process.guest.cpu.rip = 0x40_0080;
            process.control("read", &[198, at, 100])
        };
        let mut straight = with_device(&[b"load", b"case"], None);
        let mut paused = with_device(&[b"load", b"other"], Some(1));
        for process in [&mut straight, &mut paused] {
            assert_eq!(read(process), Control::Continue);
        }
        let before = paused.guest.cpu.gpr[RAX];
        assert_eq!(read(&mut paused), Control::Pause);
        assert_eq!(paused.guest.cpu.rip, 0x40_007e);
        assert_eq!((paused.guest.kernel.system_calls, before), (1, 4));
        let mut resumed = paused.guest.snapshot();
        resumed.kernel.resume_with(vec![Arc::from(*b"case")]);
        resumed.cpu.rip = 0x40_0080;
        let Guest { cpu, mem, kernel } = &mut resumed;
        assert_eq!(kernel.syscall(cpu, mem, Now::default()), Control::Continue);
        assert_eq!(read(&mut straight), Control::Continue);
        assert_eq!(resumed.cpu.gpr[RAX], straight.guest.cpu.gpr[RAX]);
        assert_eq!(resumed.cpu.gpr[RDI], 198);
        // All of the kernel's state is the same, the way there is not in it.
        straight.guest.kernel.set_pause_at(None);
        assert_eq!(
            format!("{:?}", resumed.kernel),
            format!("{:?}", straight.guest.kernel)
        );
    }

    #[test]
    fn no_call_panics_or_allocates_by_a_claim() {
        let words = [
            0,
            1,
            2,
            3,
            4,
            8,
            16,
            100,
            4095,
            0x40_0000,
            testing::SCRATCH,
            testing::SCRATCH + 100,
            testing::SCRATCH + 200,
            testing::SCRATCH + 400,
            testing::SCRATCH + 2048,
            1 << 31,
            1 << 47,
            1 << 63,
            u64::MAX,
            u64::MAX - 99,
        ];
        let mut pick = Entropy::new(7);
        let mut next = |n: usize| {
            let mut bytes = [0; 8];
            pick.fill(&mut bytes);
            (u64::from_le_bytes(bytes) % n as u64) as usize
        };
        let mut process = with_device(&[b"x"], None);
        // Pointers lead to paths, small numbers and garbage.
        let mut garbage = vec![0; 4096];
        Entropy::new(8).fill(&mut garbage[2048..]);
        garbage[100..106].copy_from_slice(b"/tmp/a");
        garbage[200..215].copy_from_slice(b"/proc/self/fd/1");
        garbage[400] = 3;
        process.bytes(&garbage);
        let mut fresh = process.guest.snapshot();
        for round in 0..100_000 {
            let number = if round % 2 == 0 { next(463) } else { next(340) } as u64;
            let Guest { cpu, mem, kernel } = &mut process.guest;
            cpu.gpr[RAX] = number;
            for register in [RDI, RSI, RDX, R10, R8, R9] {
                cpu.gpr[register] = words[next(words.len())];
            }
            if matches!(kernel.syscall(cpu, mem, Now::default()), Control::Exit(_))
                || round % 500 == 0
            {
                process.guest = fresh.snapshot();
            }
        }
    }
}
