//! The system calls of this room that have no safe interface, each in a safe one.
#![expect(
    unsafe_code,
    reason = "wait4, ptrace, poll and socketpair have no safe interface in std"
)]
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A child's number, from `Command::spawn`, not yet waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pid(pub(super) libc::pid_t);

/// What a stopped or ended child is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It has ended and can be reaped.
    Ended,
    /// A traced child is about to be given a signal.
    Signal(i32),
    /// A traced child has called `exec`, or has an event that only needs to be continued.
    Event,
    /// A traced child is about to end; its memory is still there.
    Exiting,
}

/// Processor state at a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) signal: i32,
    pub(super) rip: u64,
    /// Data address, if the kernel and not a program sent the signal.
    pub(super) address: Option<u64>,
}

/// How a child ended and what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reaped {
    /// Exit code, or the signal.
    pub(super) status: Result<u8, u8>,
    pub(super) cpu_time: Duration,
    pub(super) max_rss_bytes: u64,
}

fn check(result: i64) -> io::Result<i64> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A connected pair of sockets that keep the borders of messages.
pub(super) fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut pair = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for two descriptors, which are ours alone afterwards.
    unsafe {
        check(libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()).into())?;
        let (ours, theirs) = (OwnedFd::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1]));
        check(libc::fcntl(ours.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK).into())?;
        Ok((ours, theirs))
    }
}

/// Makes reads and writes of a descriptor return instead of waiting.
pub(super) fn never_block(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a flag of a descriptor that the caller borrows.
    unsafe {
        let flags = check(libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL).into())?;
        let flags = i32::try_from(flags).unwrap_or(0) | libc::O_NONBLOCK;
        check(libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFL, flags).into())?;
    }
    Ok(())
}

/// Makes a named pipe that only we may use.
#[cfg(feature = "gem5")]
pub(super) fn make_pipe(path: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: the path is a string that outlives the call.
    unsafe { check(libc::mkfifo(path.as_ptr(), 0o600).into()) }.map(|_| ())
}

/// Has the kernel send a signal to this process whenever there is something to read.
#[cfg(feature = "gem5")]
pub(super) fn signal_on_data(descriptor: std::os::fd::RawFd, signal: i32) -> io::Result<()> {
    // From fcntl.h; the crate does not have it.
    const F_SETSIG: i32 = 10;
    // SAFETY: settings of a descriptor that is open for the time of the calls.
    unsafe {
        check(libc::fcntl(descriptor, libc::F_SETOWN, libc::getpid()).into())?;
        check(libc::fcntl(descriptor, F_SETSIG, signal).into())?;
        check(libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK).into())?;
    }
    Ok(())
}

/// Sends one message without waiting and without SIGPIPE.
pub(super) fn send(socket: BorrowedFd<'_>, message: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the buffer is readable for its length.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            message.as_ptr().cast(),
            message.len(),
            flags,
        )
    };
    check(sent as i64).map(|sent| usize::try_from(sent).unwrap_or(0))
}

/// Says that nothing more will be sent: the reader gets end of file.
pub(super) fn end_sending(socket: BorrowedFd<'_>) {
    // SAFETY: a system call on a descriptor that the caller borrows. It fails only if the other side is gone.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) };
}

/// Receives one message without waiting; `None` at the end.
pub(super) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the buffer is writable for its length.
    let received = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_DONTWAIT | libc::MSG_TRUNC,
        )
    };
    let received = usize::try_from(check(received as i64)?).unwrap_or(0);
    Ok((received > 0).then_some(received))
}

/// Waits until a descriptor can be read or written, or the time is over. `events` and the result are `POLL*` bits.
pub(super) fn poll(entries: &mut [libc::pollfd], wait: Duration) -> io::Result<()> {
    let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the slice is valid for its length.
    let result = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, wait) };
    match check(result.into()) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            entries.iter_mut().for_each(|entry| entry.revents = 0);
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

/// Kills the child and its process group. The child must not have been reaped: its number is then still its own.
pub(super) fn kill_group(Pid(pid): Pid) {
    // SAFETY: signals; the group may be empty already.
    unsafe {
        libc::kill(-pid, libc::SIGKILL);
        libc::kill(pid, libc::SIGKILL);
    }
}

/// Processor time that the calling thread has taken; zero where the host does not tell.
pub(super) fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills what it is handed.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0 {
        return Duration::ZERO;
    }
    Duration::new(
        time.tv_sec.cast_unsigned(),
        time.tv_nsec.cast_unsigned() as u32,
    )
}

/// Processor time of a child with all its threads; `None` once it is gone.
pub(super) fn cpu_time(Pid(pid): Pid) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the library and the kernel fill what they are handed.
    let read = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    read.then(|| {
        Duration::new(
            time.tv_sec.cast_unsigned(),
            time.tv_nsec.cast_unsigned() as u32,
        )
    })
}

/// Binds the calling process to one processor. Runs between `fork` and `exec`.
pub(super) fn pin(cpu: usize) -> bool {
    // SAFETY: an all-zero set is empty; `CPU_SET` writes within it, and the kernel reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu >= libc::CPU_SETSIZE as usize {
            return false;
        }
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
}

/// Asks to be traced by the parent. Runs between `fork` and `exec`.
pub(super) fn trace_me() -> bool {
    // SAFETY: changes only who is told of the own signals.
    unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 }
}

/// Waits for the child's end or, if it is traced, its next stop, and leaves an ended child to [`reap`].
pub(super) fn wait(Pid(pid): Pid, traced: bool) -> io::Result<Stop> {
    let stops = if traced { libc::WSTOPPED } else { 0 };
    loop {
        // SAFETY: an all-zero siginfo_t is valid, and the kernel fills it.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | stops | libc::WNOWAIT | libc::__WALL;
        // SAFETY: the structure is ours.
        let result =
            unsafe { libc::waitid(libc::P_PID, pid.cast_unsigned(), &raw mut info, flags) };
        match check(result.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if matches!(
            info.si_code,
            libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED
        ) {
            return Ok(Stop::Ended);
        }
        let mut status = 0;
        let flags = libc::__WALL | libc::WNOHANG;
        // SAFETY: the integer is ours.
        let result = unsafe { libc::wait4(pid, &raw mut status, flags, std::ptr::null_mut()) };
        // The child was killed out of its stop in between: its end is next.
        if check(result.into())? == 0 || !libc::WIFSTOPPED(status) {
            continue;
        }
        return Ok(match status >> 16 {
            0 => Stop::Signal(libc::WSTOPSIG(status)),
            libc::PTRACE_EVENT_EXIT => Stop::Exiting,
            _ => Stop::Event,
        });
    }
}

/// Sets what a traced child stops for: `exec` and its end. It dies with us.
pub(super) fn trace_end(Pid(pid): Pid) -> bool {
    let options = libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
    // SAFETY: the child is stopped and traced by this thread; else the call fails.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) == 0 }
}

/// Lets a stopped child go on, with a signal or without (0). It may have been killed meanwhile.
pub(super) fn go_on(Pid(pid): Pid, signal: i32) {
    // SAFETY: as in `trace_end`.
    unsafe { libc::ptrace(libc::PTRACE_CONT, pid, 0, signal) };
}

/// Processor state of a child that is stopped for a signal.
pub(super) fn fault(Pid(pid): Pid, signal: i32) -> Fault {
    let mut fault = Fault {
        signal,
        ..Fault::default()
    };
    // SAFETY: an all-zero siginfo_t is valid; the kernel fills it; the child is stopped and ours.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        if libc::ptrace(libc::PTRACE_GETSIGINFO, pid, 0, &raw mut info) == 0 && info.si_code > 0 {
            fault.address =
                matches!(signal, libc::SIGSEGV | libc::SIGBUS).then(|| info.si_addr() as u64);
        }
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: an all-zero user_regs_struct is valid; the kernel fills it.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        if libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers) == 0 {
            fault.rip = registers.rip;
        }
    }
    fault
}

/// Takes an ended child's status and use.
pub(super) fn reap(Pid(pid): Pid) -> io::Result<Reaped> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid; both are ours.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: as above.
        let result = unsafe { libc::wait4(pid, &raw mut status, libc::__WALL, &raw mut usage) };
        match check(result.into()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    let byte = |value: i32| u8::try_from(value & 0xff).unwrap_or(0);
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec.unsigned_abs())
            + Duration::from_micros(value.tv_usec.unsigned_abs())
    };
    Ok(Reaped {
        status: if libc::WIFSIGNALED(status) {
            Err(byte(libc::WTERMSIG(status)))
        } else {
            Ok(byte(libc::WEXITSTATUS(status)))
        },
        cpu_time: time(usage.ru_utime) + time(usage.ru_stime),
        // The kernel counts in KiB.
        max_rss_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
    })
}

/// Version of the Landlock interface; 0 where it is missing or switched off.
pub(super) fn landlock_version() -> u32 {
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag the call only answers a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0,
            VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// Whether the kernel has system call filters.
pub(super) fn has_seccomp() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads one integer and changes nothing.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        ) == 0
    }
}
