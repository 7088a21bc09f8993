//! Odd calls made here and to the host's kernel: both must answer the same.
#![expect(
    unsafe_code,
    reason = "system calls of the host, with arguments that libc's wrappers would refuse"
)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use super::abi::*;
use super::names;
use super::testing::Process;
use Argument::{Buffer, Bytes, Fd, Number, Path};

/// An argument that can be made on both sides.
#[derive(Clone, Copy, Debug)]
enum Argument {
    Number(u64),
    /// The address of a path.
    Path(&'static str),
    /// The address of this many zeros.
    Buffer(usize),
    /// The address of these bytes.
    Bytes(&'static [u8]),
    /// One of [`OPEN`].
    Fd(usize),
}

/// What is opened on both sides, by the call that opens it.
const OPEN: [(&str, &[Argument]); 10] = [
    ("open", &[Path("/etc/passwd"), Number(0)]),
    ("open", &[Path("/tmp"), Number(O_DIRECTORY as u64)]),
    ("open", &[Path("/dev/null"), Number(2)]),
    ("open", &[Path("/etc/passwd"), Number(O_PATH as u64)]),
    ("epoll_create1", &[Number(0)]),
    ("eventfd2", &[Number(0), Number(O_NONBLOCK as u64)]),
    ("open", &[Path("/dev/zero"), Number(0)]),
    ("timerfd_create", &[Number(1), Number(O_NONBLOCK as u64)]),
    (
        "signalfd4",
        &[
            Number(u64::MAX),
            Bytes(&[0, 2, 0, 0, 0, 0, 0, 0]),
            Number(8),
            Number(O_NONBLOCK as u64),
        ],
    ),
    ("memfd_create", &[Path("x"), Number(0)]),
];
const FILE: Argument = Fd(0);
const DIRECTORY: Argument = Fd(1);
const NULL: Argument = Fd(2);
const PATH_ONLY: Argument = Fd(3);
const EPOLL: Argument = Fd(4);
const EVENT: Argument = Fd(5);
const ZERO: Argument = Fd(6);
const TIMER: Argument = Fd(7);
const SIGNALS: Argument = Fd(8);
const MEMORY: Argument = Fd(9);
const BAD_FD: Argument = Number(900);
const BAD_POINTER: Argument = Number(8);
const HIGH_POINTER: Argument = Number(1 << 63);
const HERE: Argument = Number(AT_FDCWD as u64);
const NONE: Argument = Number(0);
const MINUS_ONE: Argument = Number(u64::MAX);

type Case = (&'static str, &'static [Argument]);

const CASES: &[Case] = &[
    ("read", &[BAD_FD, BAD_POINTER, Number(1)]),
    ("read", &[FILE, BAD_POINTER, Number(1)]),
    ("read", &[FILE, BAD_POINTER, NONE]),
    ("read", &[FILE, HIGH_POINTER, NONE]),
    ("read", &[FILE, Buffer(8), Number(1 << 63)]),
    ("read", &[DIRECTORY, Buffer(8), Number(8)]),
    ("read", &[PATH_ONLY, Buffer(8), Number(8)]),
    ("read", &[EPOLL, Buffer(8), Number(8)]),
    ("read", &[EVENT, Buffer(8), Number(8)]),
    ("read", &[EVENT, Buffer(8), Number(4)]),
    ("read", &[NULL, Buffer(8), Number(8)]),
    ("read", &[ZERO, Buffer(8), Number(8)]),
    ("write", &[FILE, Buffer(8), Number(8)]),
    ("write", &[NULL, BAD_POINTER, Number(8)]),
    ("write", &[NULL, HIGH_POINTER, Number(8)]),
    ("write", &[EVENT, Buffer(8), Number(4)]),
    ("write", &[EVENT, Bytes(&[0xff; 8]), Number(8)]),
    ("write", &[ZERO, Buffer(8), Number(8)]),
    ("readv", &[FILE, BAD_POINTER, Number(1)]),
    ("readv", &[FILE, BAD_POINTER, Number(1025)]),
    ("readv", &[FILE, BAD_POINTER, Number(0)]),
    ("readv", &[FILE, Bytes(&[0xff; 16]), Number(1)]),
    ("readv", &[BAD_FD, BAD_POINTER, Number(1025)]),
    ("pread64", &[FILE, Buffer(8), Number(8), MINUS_ONE]),
    ("pread64", &[FILE, Buffer(8), Number(4), Number(1 << 40)]),
    ("pread64", &[EVENT, Buffer(8), Number(8), NONE]),
    ("pread64", &[DIRECTORY, Buffer(8), Number(8), NONE]),
    ("pwrite64", &[FILE, Buffer(8), Number(8), NONE]),
    ("lseek", &[BAD_FD, NONE, NONE]),
    ("lseek", &[FILE, NONE, Number(9)]),
    ("lseek", &[FILE, MINUS_ONE, NONE]),
    ("lseek", &[FILE, Number(i64::MAX as u64), Number(1)]),
    ("lseek", &[EVENT, NONE, NONE]),
    ("lseek", &[PATH_ONLY, NONE, NONE]),
    ("lseek", &[NULL, Number(5), NONE]),
    ("open", &[BAD_POINTER, NONE]),
    ("open", &[Path(""), NONE]),
    ("open", &[Path("/etc/passwd/"), NONE]),
    ("open", &[Path("/etc/passwd/x"), NONE]),
    ("open", &[Path("/etc"), Number(1)]),
    ("open", &[Path("/etc"), Number(0o100)]),
    ("open", &[Path("/no/such"), Number(0o100)]),
    ("open", &[Path("/etc/passwd"), Number(O_DIRECTORY as u64)]),
    ("open", &[Path("/etc/passwd"), Number(0o300)]),
    ("open", &[Path("/tmp/."), Number(0o101)]),
    ("open", &[Path("/tmp/not-there/"), Number(0o101)]),
    ("open", &[Path("/proc/self/cwd"), Number(O_NOFOLLOW as u64)]),
    ("openat", &[BAD_FD, Path("relative"), NONE]),
    ("openat", &[FILE, Path("relative"), NONE]),
    ("openat", &[DIRECTORY, Path(""), NONE]),
    ("close", &[BAD_FD]),
    ("close", &[MINUS_ONE]),
    ("stat", &[Path("/no/such"), Buffer(144)]),
    ("stat", &[Path("/etc"), BAD_POINTER]),
    ("stat", &[BAD_POINTER, Buffer(144)]),
    ("fstat", &[BAD_FD, Buffer(144)]),
    ("fstat", &[FILE, BAD_POINTER]),
    ("newfstatat", &[FILE, Path(""), Buffer(144), Number(0x1000)]),
    ("newfstatat", &[FILE, Path(""), Buffer(144), NONE]),
    (
        "newfstatat",
        &[HERE, Path("/etc"), Buffer(144), Number(0x80)],
    ),
    (
        "statx",
        &[HERE, Path("/etc"), NONE, Number(1 << 31), Buffer(256)],
    ),
    (
        "statx",
        &[
            HERE,
            Path("/etc"),
            Number(0x6000),
            Number(0x7ff),
            Buffer(256),
        ],
    ),
    (
        "statx",
        &[HERE, Path("/etc"), NONE, Number(0x7ff), BAD_POINTER],
    ),
    ("access", &[Path("/etc/passwd"), Number(8)]),
    ("access", &[Path("/no/such"), NONE]),
    ("access", &[Path("/etc/passwd"), Number(1)]),
    ("faccessat2", &[HERE, Path("/etc"), NONE, Number(0x8000)]),
    ("readlink", &[Path("/etc"), Buffer(8), Number(8)]),
    ("readlink", &[Path("/proc/self/cwd"), Buffer(8), NONE]),
    ("readlink", &[Path("/proc/self/cwd"), Buffer(8), MINUS_ONE]),
    (
        "readlink",
        &[Path("/proc/self/cwd"), BAD_POINTER, Number(8)],
    ),
    ("getcwd", &[Buffer(8), NONE]),
    ("getcwd", &[Buffer(8), Number(1)]),
    ("chdir", &[Path("/etc/passwd")]),
    ("chdir", &[Path("/no/such")]),
    ("chdir", &[BAD_POINTER]),
    ("fchdir", &[FILE]),
    ("fchdir", &[BAD_FD]),
    ("fchdir", &[HERE]),
    ("getdents64", &[FILE, Buffer(64), Number(64)]),
    ("getdents64", &[DIRECTORY, Buffer(64), Number(8)]),
    ("getdents64", &[BAD_FD, Buffer(64), Number(64)]),
    ("mkdir", &[Path("/tmp"), Number(0o755)]),
    ("mkdir", &[Path("/"), Number(0o755)]),
    ("mkdir", &[Path("/tmp/."), Number(0o755)]),
    ("mkdir", &[Path("/tmp/.."), Number(0o755)]),
    ("mkdir", &[Path("/no/such"), Number(0o755)]),
    ("rmdir", &[Path("/tmp/.")]),
    ("rmdir", &[Path("/tmp/..")]),
    ("rmdir", &[Path("/")]),
    ("unlink", &[Path("/tmp/")]),
    ("unlink", &[Path("/tmp/.")]),
    ("unlink", &[Path("/tmp/no-such-file")]),
    ("unlink", &[Path("/etc/passwd/")]),
    ("unlinkat", &[HERE, Path("/tmp/x"), Number(1)]),
    ("rename", &[Path("/tmp/no-such-file"), Path("/tmp/other")]),
    ("rename", &[Path("/tmp/."), Path("/tmp/other")]),
    ("rename", &[Path("/etc/passwd"), Path("/etc/passwd")]),
    (
        "renameat2",
        &[HERE, Path("/tmp/a"), HERE, Path("/tmp/b"), Number(64)],
    ),
    ("link", &[Path("/tmp"), Path("/tmp/no-such-link")]),
    ("link", &[Path("/no/such"), Path("/tmp/no-such-link")]),
    ("symlink", &[Path(""), Path("/tmp/no-such-link")]),
    ("symlink", &[Path("x"), Path("/tmp")]),
    ("truncate", &[Path("/tmp"), NONE]),
    ("truncate", &[Path("/tmp/no-such-file"), NONE]),
    ("truncate", &[Path("/etc/passwd"), MINUS_ONE]),
    ("ftruncate", &[FILE, NONE]),
    ("ftruncate", &[BAD_FD, NONE]),
    ("ftruncate", &[NULL, MINUS_ONE]),
    ("fsync", &[BAD_FD]),
    ("fsync", &[EVENT]),
    ("fallocate", &[FILE, NONE, NONE, Number(1)]),
    ("fallocate", &[FILE, NONE, NONE, NONE]),
    ("fallocate", &[NULL, NONE, NONE, Number(1)]),
    ("fadvise64", &[FILE, NONE, NONE, Number(9)]),
    ("fadvise64", &[FILE, NONE, NONE, Number(4)]),
    ("dup", &[BAD_FD]),
    ("dup2", &[BAD_FD, BAD_FD]),
    ("dup2", &[FILE, FILE]),
    ("dup2", &[FILE, MINUS_ONE]),
    ("dup3", &[FILE, FILE, NONE]),
    ("dup3", &[FILE, Number(901), Number(1)]),
    ("fcntl", &[BAD_FD, Number(1)]),
    ("fcntl", &[FILE, Number(1)]),
    ("fcntl", &[FILE, Number(3)]),
    ("fcntl", &[EVENT, Number(3)]),
    ("fcntl", &[PATH_ONLY, Number(3)]),
    ("fcntl", &[PATH_ONLY, Number(4), NONE]),
    ("fcntl", &[FILE, NONE, MINUS_ONE]),
    ("fcntl", &[FILE, Number(777)]),
    ("fcntl", &[FILE, Number(6), BAD_POINTER]),
    ("fcntl", &[FILE, Number(6), Bytes(&[1; 32])]),
    ("fcntl", &[FILE, Number(1032)]),
    ("ioctl", &[FILE, Number(0x5401), Buffer(64)]),
    ("ioctl", &[NULL, Number(0x5413), Buffer(64)]),
    ("ioctl", &[BAD_FD, Number(0x5401), Buffer(64)]),
    ("ioctl", &[PATH_ONLY, Number(0x5451), NONE]),
    ("ioctl", &[FILE, Number(0x541b), BAD_POINTER]),
    ("pipe", &[BAD_POINTER]),
    ("pipe2", &[Buffer(8), Number(1)]),
    ("eventfd2", &[NONE, Number(2)]),
    ("epoll_create", &[NONE]),
    ("epoll_create1", &[Number(1)]),
    ("epoll_ctl", &[EPOLL, Number(1), FILE, Buffer(12)]),
    ("epoll_ctl", &[EPOLL, Number(2), EVENT, NONE]),
    ("epoll_ctl", &[EPOLL, Number(9), EVENT, Buffer(12)]),
    ("epoll_ctl", &[EPOLL, Number(1), BAD_FD, Buffer(12)]),
    ("epoll_ctl", &[EPOLL, Number(1), EPOLL, Buffer(12)]),
    ("epoll_ctl", &[EVENT, Number(1), EPOLL, Buffer(12)]),
    ("epoll_wait", &[EPOLL, Buffer(12), NONE, NONE]),
    ("epoll_wait", &[EVENT, Buffer(12), Number(1), NONE]),
    ("epoll_wait", &[EPOLL, Buffer(12), Number(1), NONE]),
    ("poll", &[NONE, NONE, NONE]),
    ("poll", &[BAD_POINTER, Number(1), NONE]),
    (
        "poll",
        &[Bytes(&[0x84, 3, 0, 0, 1, 0, 0, 0]), Number(1), MINUS_ONE],
    ),
    ("poll", &[Bytes(&[0xff; 8]), Number(1), NONE]),
    ("select", &[MINUS_ONE, NONE, NONE, NONE, Buffer(16)]),
    ("select", &[NONE, NONE, NONE, NONE, Buffer(16)]),
    ("select", &[NONE, NONE, NONE, NONE, Bytes(&[0xff; 16])]),
    (
        "pselect6",
        &[NONE, NONE, NONE, NONE, Bytes(&[0xff; 16]), NONE],
    ),
    ("ppoll", &[NONE, NONE, Buffer(16), Buffer(8), Number(4)]),
    (
        "mmap",
        &[NONE, NONE, Number(3), Number(0x22), MINUS_ONE, NONE],
    ),
    (
        "mmap",
        &[NONE, Number(4096), Number(3), Number(0x20), MINUS_ONE, NONE],
    ),
    (
        "mmap",
        &[
            NONE,
            Number(4096),
            Number(3),
            Number(0x22),
            MINUS_ONE,
            Number(5),
        ],
    ),
    (
        "mmap",
        &[NONE, Number(4096), Number(3), Number(2), BAD_FD, NONE],
    ),
    (
        "mmap",
        &[NONE, Number(4096), Number(1), Number(2), EVENT, NONE],
    ),
    (
        "mmap",
        &[NONE, Number(4096), Number(1), Number(2), DIRECTORY, NONE],
    ),
    (
        "mmap",
        &[NONE, Number(4096), Number(1), Number(2), PATH_ONLY, NONE],
    ),
    (
        "mmap",
        &[NONE, Number(4096), Number(3), Number(1), FILE, NONE],
    ),
    (
        "mmap",
        &[
            NONE,
            Number(1 << 48),
            Number(3),
            Number(0x4022),
            MINUS_ONE,
            NONE,
        ],
    ),
    (
        "mmap",
        &[NONE, MINUS_ONE, Number(3), Number(0x22), MINUS_ONE, NONE],
    ),
    (
        "mmap",
        &[
            Number(4097),
            Number(4096),
            Number(3),
            Number(0x32),
            MINUS_ONE,
            NONE,
        ],
    ),
    (
        "mmap",
        &[
            Number(1 << 47),
            Number(4096),
            Number(3),
            Number(0x32),
            MINUS_ONE,
            NONE,
        ],
    ),
    ("munmap", &[Number(1), Number(1)]),
    ("munmap", &[Number(4096), NONE]),
    ("munmap", &[Number(1 << 47), Number(4096)]),
    ("munmap", &[NONE, MINUS_ONE]),
    ("mprotect", &[Number(1), Number(1), NONE]),
    ("mprotect", &[Number(4096), Number(4096), Number(1)]),
    ("mprotect", &[Number(4096), NONE, Number(1)]),
    ("mprotect", &[Number(4096), Number(4096), Number(0x40)]),
    ("mprotect", &[Number(4096), MINUS_ONE, Number(1)]),
    ("mremap", &[Number(4096), Number(4096), Number(8192), NONE]),
    ("mremap", &[Number(4097), Number(4096), Number(8192), NONE]),
    ("mremap", &[Number(4096), Number(4096), NONE, NONE]),
    (
        "mremap",
        &[Number(4096), Number(4096), Number(8192), Number(2)],
    ),
    (
        "mremap",
        &[Number(4096), Number(4096), Number(8192), Number(8)],
    ),
    ("madvise", &[Number(1), Number(1), Number(4)]),
    ("madvise", &[Number(4096), Number(4096), Number(4)]),
    ("madvise", &[Number(4096), Number(4096), Number(99)]),
    ("madvise", &[Number(4096), NONE, Number(4)]),
    ("msync", &[Number(4096), Number(4096), Number(5)]),
    ("msync", &[Number(4096), Number(4096), Number(4)]),
    ("mincore", &[Number(1), Number(1), Buffer(8)]),
    ("mincore", &[Number(4096), Number(4096), Buffer(8)]),
    ("mlock", &[Number(4096), Number(4096)]),
    ("clock_gettime", &[Number(77), Buffer(16)]),
    ("clock_gettime", &[NONE, BAD_POINTER]),
    ("clock_getres", &[Number(77), Buffer(16)]),
    ("clock_getres", &[Number(1), NONE]),
    (
        "clock_nanosleep",
        &[Number(1), NONE, Bytes(&[0xff; 16]), NONE],
    ),
    ("clock_nanosleep", &[Number(3), NONE, Buffer(16), NONE]),
    ("clock_nanosleep", &[Number(77), NONE, Buffer(16), NONE]),
    ("clock_nanosleep", &[Number(1), NONE, Buffer(16), NONE]),
    ("nanosleep", &[Bytes(&[0xff; 16]), NONE]),
    ("nanosleep", &[BAD_POINTER, NONE]),
    ("gettimeofday", &[NONE, NONE]),
    ("gettimeofday", &[HIGH_POINTER, NONE]),
    ("getrandom", &[Buffer(8), Number(8), Number(8)]),
    ("getrandom", &[Buffer(8), Number(8), Number(6)]),
    ("getrandom", &[Buffer(8), Number(8), Number(1)]),
    ("getrandom", &[BAD_POINTER, Number(8), NONE]),
    ("uname", &[BAD_POINTER]),
    ("sysinfo", &[BAD_POINTER]),
    ("getrlimit", &[Number(99), Buffer(16)]),
    ("setrlimit", &[Number(7), BAD_POINTER]),
    ("prlimit64", &[NONE, Number(99), NONE, Buffer(16)]),
    ("prlimit64", &[NONE, Number(7), NONE, BAD_POINTER]),
    ("prlimit64", &[NONE, Number(7), NONE, NONE]),
    ("getrusage", &[Number(5), Buffer(144)]),
    ("sched_getaffinity", &[NONE, Number(4), Buffer(128)]),
    ("sched_getaffinity", &[NONE, Number(12), Buffer(128)]),
    ("sched_getaffinity", &[MINUS_ONE, Number(128), Buffer(128)]),
    ("sched_getparam", &[NONE, NONE]),
    ("sched_getparam", &[MINUS_ONE, Buffer(8)]),
    ("sched_getscheduler", &[NONE]),
    ("sched_getscheduler", &[MINUS_ONE]),
    ("sched_get_priority_max", &[Number(1)]),
    ("sched_get_priority_max", &[NONE]),
    ("sched_get_priority_min", &[Number(2)]),
    ("sched_get_priority_min", &[Number(99)]),
    ("getpriority", &[Number(5), NONE]),
    ("getcpu", &[NONE, NONE, NONE]),
    ("getcpu", &[BAD_POINTER, NONE, NONE]),
    ("prctl", &[Number(9999), NONE]),
    ("prctl", &[Number(16), BAD_POINTER]),
    ("prctl", &[Number(38), NONE, NONE, NONE, NONE]),
    ("arch_prctl", &[Number(0x9999), NONE]),
    ("arch_prctl", &[Number(0x1003), BAD_POINTER]),
    ("personality", &[Number(0xffff_ffff)]),
    (
        "futex",
        &[Buffer(4), Number(1), Number(1), NONE, NONE, NONE],
    ),
    ("futex", &[Buffer(4), NONE, Number(5), NONE, NONE, NONE]),
    ("futex", &[Buffer(4), NONE, NONE, Buffer(16), NONE, NONE]),
    ("futex", &[BAD_POINTER, NONE, NONE, Buffer(16), NONE, NONE]),
    ("futex", &[Number(9), NONE, NONE, Buffer(16), NONE, NONE]),
    (
        "futex",
        &[Buffer(4), Number(9), NONE, Buffer(16), NONE, NONE],
    ),
    ("set_robust_list", &[NONE, Number(5)]),
    ("rt_sigaction", &[NONE, NONE, Buffer(32), Number(8)]),
    ("rt_sigaction", &[Number(65), NONE, Buffer(32), Number(8)]),
    ("rt_sigaction", &[Number(9), Buffer(32), NONE, Number(8)]),
    ("rt_sigaction", &[Number(10), NONE, Buffer(32), Number(16)]),
    ("rt_sigaction", &[Number(10), BAD_POINTER, NONE, Number(8)]),
    ("rt_sigprocmask", &[Number(9), Buffer(8), NONE, Number(8)]),
    ("rt_sigprocmask", &[NONE, NONE, NONE, Number(4)]),
    ("rt_sigprocmask", &[NONE, BAD_POINTER, NONE, Number(8)]),
    ("rt_sigpending", &[Buffer(8), Number(9)]),
    ("sigaltstack", &[BAD_POINTER, NONE]),
    ("sigaltstack", &[Bytes(&[0xff; 24]), NONE]),
    ("sigaltstack", &[Buffer(24), NONE]),
    ("kill", &[NONE, Number(99)]),
    ("tgkill", &[NONE, NONE, NONE]),
    ("getitimer", &[Number(9), Buffer(32)]),
    ("setitimer", &[Number(9), NONE, NONE]),
    ("alarm", &[NONE]),
    ("umask", &[Number(0o022)]),
    ("chmod", &[Path("/no/such"), NONE]),
    ("fchmod", &[BAD_FD, NONE]),
    ("fchmod", &[PATH_ONLY, NONE]),
    ("utimensat", &[HERE, Path("/no/such"), NONE, NONE]),
    ("utimensat", &[HERE, Path("/etc"), Bytes(&[0xff; 32]), NONE]),
    ("utimensat", &[HERE, NONE, NONE, NONE]),
    ("statfs", &[Path("/no/such"), Buffer(120)]),
    ("statfs", &[Path("/"), BAD_POINTER]),
    ("fstatfs", &[BAD_FD, Buffer(120)]),
    ("memfd_create", &[BAD_POINTER, NONE]),
    ("memfd_create", &[Path("x"), Number(0x8000)]),
    ("sendfile", &[NULL, BAD_FD, NONE, Number(8)]),
    ("sendfile", &[FILE, FILE, NONE, Number(8)]),
    ("sendfile", &[NULL, FILE, BAD_POINTER, Number(8)]),
    ("close_range", &[Number(5), Number(4), NONE]),
    ("close_range", &[Number(5000), Number(6000), Number(64)]),
    ("capget", &[BAD_POINTER, NONE]),
    ("timerfd_create", &[Number(77), NONE]),
    ("timerfd_create", &[Number(1), Number(4)]),
    ("timerfd_create", &[Number(2), NONE]),
    ("timerfd_settime", &[FILE, NONE, Buffer(32), NONE]),
    ("timerfd_settime", &[BAD_FD, NONE, Buffer(32), NONE]),
    ("timerfd_settime", &[TIMER, NONE, BAD_POINTER, NONE]),
    ("timerfd_settime", &[TIMER, NONE, Bytes(&[0xff; 32]), NONE]),
    ("timerfd_settime", &[TIMER, Number(8), Buffer(32), NONE]),
    ("timerfd_settime", &[TIMER, NONE, Buffer(32), Buffer(32)]),
    ("timerfd_gettime", &[EVENT, Buffer(32)]),
    ("timerfd_gettime", &[TIMER, BAD_POINTER]),
    ("read", &[TIMER, Buffer(8), Number(8)]),
    ("read", &[TIMER, Buffer(8), Number(4)]),
    ("write", &[TIMER, Buffer(8), Number(8)]),
    ("lseek", &[TIMER, NONE, NONE]),
    ("signalfd4", &[BAD_FD, Buffer(8), Number(8), NONE]),
    ("signalfd4", &[FILE, Buffer(8), Number(8), NONE]),
    ("signalfd4", &[MINUS_ONE, Buffer(8), Number(4), NONE]),
    ("signalfd4", &[MINUS_ONE, BAD_POINTER, Number(8), NONE]),
    ("signalfd4", &[MINUS_ONE, Buffer(8), Number(8), Number(1)]),
    ("read", &[SIGNALS, Buffer(128), Number(128)]),
    ("read", &[SIGNALS, Buffer(128), Number(127)]),
    ("write", &[SIGNALS, Buffer(8), Number(8)]),
    ("pidfd_open", &[NONE, NONE]),
    ("pidfd_open", &[MINUS_ONE, NONE]),
    ("pidfd_open", &[Number(1), Number(1)]),
    ("pidfd_send_signal", &[FILE, NONE, NONE, NONE]),
    ("pidfd_send_signal", &[BAD_FD, NONE, NONE, NONE]),
    ("pidfd_send_signal", &[BAD_FD, NONE, NONE, Number(99)]),
    ("waitid", &[Number(3), BAD_FD, NONE, Number(4)]),
    ("waitid", &[Number(3), FILE, NONE, Number(4)]),
    ("waitid", &[Number(9), NONE, NONE, Number(4)]),
    ("waitid", &[NONE, NONE, NONE, NONE]),
    ("timer_create", &[Number(77), NONE, Buffer(4)]),
    ("timer_create", &[Number(1), BAD_POINTER, Buffer(4)]),
    ("timer_create", &[Number(1), Bytes(&[0xff; 64]), Buffer(4)]),
    ("timer_settime", &[Number(99), NONE, Buffer(32), NONE]),
    ("timer_settime", &[Number(99), NONE, NONE, NONE]),
    ("timer_settime", &[Number(99), NONE, BAD_POINTER, NONE]),
    ("timer_gettime", &[Number(99), Buffer(32)]),
    ("timer_getoverrun", &[Number(99)]),
    ("timer_delete", &[Number(99)]),
    ("futex", &[Number(9), Number(6), NONE, NONE, NONE, NONE]),
    ("futex", &[Buffer(4), Number(7), NONE, NONE, NONE, NONE]),
    (
        "futex",
        &[
            Bytes(&[0xff, 0xff, 0xff, 0x3f]),
            Number(8),
            NONE,
            NONE,
            NONE,
            NONE,
        ],
    ),
    ("futex", &[BAD_POINTER, Number(8), NONE, NONE, NONE, NONE]),
    ("futex", &[Buffer(4), Number(8), NONE, NONE, NONE, NONE]),
    (
        "futex",
        &[Buffer(4), Number(12), Number(2), NONE, Buffer(4), NONE],
    ),
    ("execveat", &[BAD_FD, Path("x"), NONE, NONE, NONE]),
    ("execveat", &[HERE, Path("/no/such"), NONE, NONE, NONE]),
    ("execveat", &[HERE, Path("/etc/passwd"), NONE, NONE, NONE]),
    (
        "execveat",
        &[HERE, Path("/etc/passwd"), NONE, NONE, Number(1)],
    ),
    ("execveat", &[FILE, Path(""), NONE, NONE, Number(0x1000)]),
    (
        "epoll_ctl",
        &[
            EPOLL,
            Number(1),
            TIMER,
            Bytes(&[1, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ],
    ),
    (
        "epoll_ctl",
        &[
            EPOLL,
            Number(3),
            TIMER,
            Bytes(&[1, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0]),
        ],
    ),
    ("epoll_ctl", &[EPOLL, Number(2), TIMER, NONE]),
    (
        "epoll_pwait2",
        &[EPOLL, Buffer(12), Number(1), Buffer(16), NONE, Number(8)],
    ),
    (
        "epoll_pwait2",
        &[
            EPOLL,
            Buffer(12),
            Number(1),
            Bytes(&[0xff; 16]),
            NONE,
            Number(8),
        ],
    ),
    ("ftruncate", &[MEMORY, Number(8192)]),
    ("fallocate", &[MEMORY, NONE, NONE, Number(10000)]),
    ("lseek", &[MEMORY, NONE, Number(2)]),
    ("pkey_alloc", &[NONE, Number(9)]),
    ("connect", &[BAD_FD, NONE, NONE]),
    ("connect", &[FILE, NONE, NONE]),
    ("getsockname", &[EVENT, NONE, NONE]),
];

fn on_host(name: &str, arguments: &[Argument], open: &[i64]) -> i64 {
    // The buffers live until the call has returned.
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut words = [0u64; 6];
    for (word, argument) in words.iter_mut().zip(arguments) {
        let bytes = match *argument {
            Number(n) => {
                *word = n;
                continue;
            }
            Fd(i) => {
                *word = open[i] as u64;
                continue;
            }
            Path(path) => format!("{path}\0").into_bytes(),
            Buffer(len) => vec![0; len],
            Bytes(bytes) => bytes.to_vec(),
        };
        kept.push(bytes);
        *word = kept.last_mut().expect("just pushed").as_mut_ptr() as u64;
    }
    let [a, b, c, d, e, f] = words;
    // SAFETY: every call of the table either fails or writes only to the buffers above, which are as large as it says.
    let result = unsafe { libc::syscall(names::number(name) as i64, a, b, c, d, e, f) };
    if result == -1 {
        return -i64::from(
            std::io::Error::last_os_error()
                .raw_os_error()
                .expect("an error of the system"),
        );
    }
    result
}

fn in_guest(process: &mut Process, name: &str, arguments: &[Argument], open: &[i64]) -> i64 {
    let words: Vec<u64> = arguments
        .iter()
        .map(|argument| match *argument {
            Number(n) => n,
            Fd(i) => open[i] as u64,
            Path(path) => process.text(path),
            Buffer(len) => process.bytes(&vec![0; len]),
            Bytes(bytes) => process.bytes(bytes),
        })
        .collect();
    process.call(name, &words)
}

#[test]
fn odd_calls_are_answered_as_the_host_answers_them() {
    let mut process = Process::new();
    let host: Vec<i64> = OPEN
        .iter()
        .map(|(name, arguments)| on_host(name, arguments, &[]))
        .collect();
    let guest: Vec<i64> = OPEN
        .iter()
        .map(|(name, arguments)| in_guest(&mut process, name, arguments, &[]))
        .collect();
    assert!(
        host.iter().chain(&guest).all(|&fd| fd > 2),
        "{host:?} {guest:?}"
    );
    let fd = |result: i64, open: &[i64]| open.iter().position(|&fd| fd == result);
    let mut differences = Vec::new();
    for (name, arguments) in CASES {
        let (expected, found) = (
            on_host(name, arguments, &host),
            in_guest(&mut process, name, arguments, &guest),
        );
        // Descriptors have other numbers on the other side.
        let same_descriptor =
            name.starts_with("dup") && expected >= 0 && fd(expected, &host) == fd(found, &guest);
        if expected != found && !same_descriptor {
            differences.push(format!(
                "{name} {arguments:?}: the host says {expected}, the guest's kernel {found}"
            ));
        }
    }
    for fd in host {
        on_host("close", &[Number(fd as u64)], &[]);
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        CASES.len(),
        differences.join("\n")
    );
}
