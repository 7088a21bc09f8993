//! Numbers of the Linux x86-64 interface, written out because the host's `libc` has those of the host's architecture.
use std::fmt;

/// A Linux error number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Errno(pub(super) u16);

impl Errno {
    /// The value of RAX that says so.
    pub(super) fn as_result(self) -> u64 {
        u64::from(self.0).wrapping_neg()
    }
}

macro_rules! errnos {
    ($($name:ident = $value:literal),* $(,)?) => {
        $(pub(super) const $name: Errno = Errno($value);)*
        impl fmt::Debug for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($value => f.write_str(stringify!($name)),)*
                    other => write!(f, "errno {other}"),
                }
            }
        }
    };
}
errnos! {
    EPERM = 1, ENOENT = 2, ESRCH = 3, EINTR = 4, EIO = 5, ENXIO = 6, E2BIG = 7, ENOEXEC = 8, EBADF = 9, ECHILD = 10, EAGAIN = 11,
    ENOMEM = 12, EACCES = 13, EFAULT = 14, EBUSY = 16, EEXIST = 17, EXDEV = 18, ENODEV = 19, ENOTDIR = 20,
    EISDIR = 21, EINVAL = 22, EMFILE = 24, ENOTTY = 25, EFBIG = 27, ENOSPC = 28, ESPIPE = 29,
    EPIPE = 32, ERANGE = 34, EDEADLK = 35, ENAMETOOLONG = 36, ENOSYS = 38, ENOTEMPTY = 39, ELOOP = 40,
    ENOTSOCK = 88, EOVERFLOW = 75, EILSEQ = 84, EMSGSIZE = 90,
    ENOPROTOOPT = 92,
    EPROTONOSUPPORT = 93,
    EISCONN = 106, EOPNOTSUPP = 95, ETIMEDOUT = 110,
}

// open flags
pub(super) const O_ACCMODE: u32 = 0o3;
pub(super) const O_RDONLY: u32 = 0;
pub(super) const O_WRONLY: u32 = 1;
pub(super) const O_RDWR: u32 = 2;
pub(super) const O_CREAT: u32 = 0o100;
pub(super) const O_EXCL: u32 = 0o200;
pub(super) const O_TRUNC: u32 = 0o1000;
pub(super) const O_APPEND: u32 = 0o2000;
pub(super) const O_NONBLOCK: u32 = 0o4000;
pub(super) const O_LARGEFILE: u32 = 0o100_000;
pub(super) const O_DIRECTORY: u32 = 0o200_000;
pub(super) const O_NOFOLLOW: u32 = 0o400_000;
pub(super) const O_CLOEXEC: u32 = 0o2_000_000;
pub(super) const O_PATH: u32 = 0o10_000_000;
pub(super) const O_TMPFILE: u32 = 0o20_000_000;

// file types of st_mode
pub(super) const S_IFIFO: u32 = 0o010_000;
pub(super) const S_IFCHR: u32 = 0o020_000;
pub(super) const S_IFDIR: u32 = 0o040_000;
pub(super) const S_IFREG: u32 = 0o100_000;
pub(super) const S_IFSOCK: u32 = 0o140_000;
pub(super) const S_IFLNK: u32 = 0o120_000;

// *at flags
pub(super) const AT_FDCWD: i32 = -100;
pub(super) const AT_SYMLINK_NOFOLLOW: u32 = 0x100;
pub(super) const AT_REMOVEDIR: u32 = 0x200;
pub(super) const AT_EACCESS: u32 = 0x200;
pub(super) const AT_SYMLINK_FOLLOW: u32 = 0x400;
pub(super) const AT_NO_AUTOMOUNT: u32 = 0x800;
pub(super) const AT_EMPTY_PATH: u32 = 0x1000;
pub(super) const AT_STATX_SYNC_TYPE: u32 = 0x6000;

// mmap
pub(super) const PROT_WRITE: u64 = 2;
pub(super) const PROT_ALL: u64 = 7;
pub(super) const PROT_GROWSDOWN: u64 = 0x0100_0000;
pub(super) const PROT_GROWSUP: u64 = 0x0200_0000;
pub(super) const MAP_SHARED: u64 = 1;
pub(super) const MAP_PRIVATE: u64 = 2;
pub(super) const MAP_SHARED_VALIDATE: u64 = 3;
pub(super) const MAP_TYPE: u64 = 0xf;
pub(super) const MAP_FIXED: u64 = 0x10;
pub(super) const MAP_ANONYMOUS: u64 = 0x20;
pub(super) const MAP_32BIT: u64 = 0x40;
pub(super) const MAP_NORESERVE: u64 = 0x4000;
pub(super) const MAP_HUGETLB: u64 = 0x40000;
pub(super) const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
pub(super) const MREMAP_MAYMOVE: u64 = 1;
pub(super) const MREMAP_FIXED: u64 = 2;
pub(super) const MREMAP_DONTUNMAP: u64 = 4;

// signals
pub(super) const SIGILL: u8 = 4;
pub(super) const SIGTRAP: u8 = 5;
pub(super) const SIGBUS: u8 = 7;
pub(super) const SIGFPE: u8 = 8;
pub(super) const SIGKILL: u8 = 9;
pub(super) const SIGSEGV: u8 = 11;
pub(super) const SIGPIPE: u8 = 13;
pub(super) const SIGALRM: u8 = 14;
pub(super) const SIGCHLD: u8 = 17;
pub(super) const SIGCONT: u8 = 18;
pub(super) const SIGSTOP: u8 = 19;
pub(super) const SIGTTOU: u8 = 22;
pub(super) const SIGURG: u8 = 23;
pub(super) const SIGVTALRM: u8 = 26;
pub(super) const SIGPROF: u8 = 27;
pub(super) const SIGWINCH: u8 = 28;
pub(super) const SIGSYS: u8 = 31;
pub(super) const SIGNALS: u8 = 64;

// auxiliary vector
pub(super) const AT_NULL: u64 = 0;
pub(super) const AT_PHDR: u64 = 3;
pub(super) const AT_PHENT: u64 = 4;
pub(super) const AT_PHNUM: u64 = 5;
pub(super) const AT_PAGESZ: u64 = 6;
pub(super) const AT_BASE: u64 = 7;
pub(super) const AT_FLAGS: u64 = 8;
pub(super) const AT_ENTRY: u64 = 9;
pub(super) const AT_UID: u64 = 11;
pub(super) const AT_EUID: u64 = 12;
pub(super) const AT_GID: u64 = 13;
pub(super) const AT_EGID: u64 = 14;
/// The vDSO.
pub(super) const AT_SYSINFO_EHDR: u64 = 33;
pub(super) const AT_PLATFORM: u64 = 15;
pub(super) const AT_HWCAP: u64 = 16;
pub(super) const AT_CLKTCK: u64 = 17;
pub(super) const AT_SECURE: u64 = 23;
pub(super) const AT_RANDOM: u64 = 25;
pub(super) const AT_HWCAP2: u64 = 26;
pub(super) const AT_EXECFN: u64 = 31;
pub(super) const AT_MINSIGSTKSZ: u64 = 51;

/// Longest path that the kernel takes, with its terminating zero.
pub(super) const PATH_MAX: usize = 4096;
/// Longest name of a file.
pub(super) const NAME_MAX: usize = 255;
/// Most bytes that one read or write moves.
pub(super) const MAX_RW_COUNT: u64 = 0x7fff_f000;
/// Most vectors of `readv` and `writev`.
pub(super) const IOV_MAX: u64 = 1024;

/// User and group of the guest.
pub(super) const GUEST_UID: u32 = 1000;
/// Process number of the guest.
pub(super) const GUEST_PID: u32 = 100;
/// Process number of its parent, which belongs to somebody else.
pub(super) const PARENT_PID: u32 = 99;
/// Clock ticks a second, as `times` and `AT_CLKTCK` count them.
pub(super) const CLOCK_TICKS: u64 = 100;

/// Names of the first 31 signals, from 1.
const SIGNAL_NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The name of a signal.
pub(super) fn signal_name(signal: u8) -> String {
    SIGNAL_NAMES
        .get(usize::from(signal).wrapping_sub(1))
        .map_or_else(|| format!("signal {signal}"), |n| (*n).to_owned())
}
