//! Running a host program: limits, capture, kill, isolation. The only user of `Command`.
//!
//! [`run`] starts one program in a [`PrivateFolder`], feeds it, captures what it writes, stops it at its limits and
//! says how it ended. A restriction that this kernel does not offer is never dropped silently: it stands in
//! [`Finished::not_applied`]. docs/isolation.md lists what is enforced, what is not, and the test of each.
mod channel;
mod confine;
mod events;
mod filter;
mod folder;
mod pump;
mod support;
mod system;

pub use channel::Channel;
pub use events::{Absence, Event, Reading, probe};
pub use folder::{PrivateFolder, write_executable};
pub use support::{Support, support};

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run and everything that it may use.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Absolute path of the program: `PATH` is not searched.
    pub program: PathBuf,
    /// `argv[0]`, if it is not to be the path of the program.
    pub name: Option<OsString>,
    /// Arguments after `argv[0]`.
    pub arguments: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Working folder.
    pub folder: PathBuf,
    /// Bytes of standard input, given through a pipe.
    pub stdin: &'a [u8],
    /// Limits.
    pub limits: Limits,
    /// What the program may reach.
    pub isolation: Isolation,
    /// A message channel on a fixed file descriptor.
    pub channel: Option<Channel>,
    /// What is counted, and where it runs.
    pub counting: Counting,
}

/// What is counted while a program runs, and on which processor it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// The events, in the order of the readings.
    pub events: Vec<Event>,
    /// The only processor on which the program may run; without, the scheduler chooses.
    pub cpu: Option<usize>,
}

/// What a host program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time, a guard against programs that wait.
    pub wall: Duration,
    /// CPU time of each process, rounded up to seconds by the kernel's limit.
    pub cpu: Duration,
    /// Resident bytes. Seen by sampling and, at the end, by the high-water mark, so that the verdict is exact although
    /// the kill is late. `None`: not limited.
    pub memory_bytes: Option<u64>,
    /// Bytes of address space of each process. `None`: not limited, since address space is not memory.
    pub address_space_bytes: Option<u64>,
    /// Bytes of each file that is written.
    pub file_bytes: u64,
    /// Bytes of stack.
    pub stack_bytes: u64,
    /// Bytes of standard output and standard error, each.
    pub output_bytes: u64,
}

/// What a host program may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Files, and folders with all below them, that may be read and executed.
    pub readable: Vec<PathBuf>,
    /// Folders in which anything may be done, and device files that may be written.
    pub writable: Vec<PathBuf>,
    /// No further process: threads only. It makes memory and CPU time those of the one process, and the kill complete.
    pub single_process: bool,
    /// Address space randomisation off, so that addresses repeat.
    pub fixed_layout: bool,
    /// Standard error cannot be opened again under a name (`/dev/stderr`, `/proc/self/fd/2`): where it is ours and the
    /// program lends its eyes and hands to another one.
    pub sealed_stderr: bool,
    /// No restriction but limits: for programs that we trust, such as the interpreter asked for its version.
    pub trusted: bool,
}

/// How a host program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited.
    Exited {
        /// 0 to 255.
        code: u8,
    },
    /// A signal killed it that we did not send.
    Signaled {
        /// Signal number.
        signal: u8,
        /// Address of the instruction; 0 where it could not be read.
        rip: u64,
        /// Data address of a memory fault.
        address: Option<u64>,
        /// The fault lies where the stack would have grown beyond its limit.
        stack_overflow: bool,
    },
    /// We killed it: wall-clock limit.
    WallLimit,
    /// CPU time limit.
    CpuLimit,
    /// Resident memory beyond its limit.
    MemoryLimit,
    /// Standard output or standard error beyond its limit.
    OutputLimit,
}

/// Everything that a run of a host program gives.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Standard output, at most the limit.
    pub stdout: Vec<u8>,
    /// Standard error, at most the limit.
    pub stderr: Vec<u8>,
    /// Messages that the program sent over the channel, in order.
    pub messages: Vec<Vec<u8>>,
    /// User and system time of the process and of its children that it waited for, from its first instruction on where
    /// it is traced, else from the `fork` of the launcher.
    pub cpu_time_ns: u64,
    /// From its first instruction to its end where it is traced, else from just before the `fork` of the launcher.
    pub wall_time_ns: u64,
    /// Highest resident memory of the program itself.
    pub peak_memory_bytes: u64,
    /// `peak_memory_bytes` is the program's own high-water mark; else it is the kernel's `ru_maxrss`, which starts at
    /// the memory of the process that started it.
    pub peak_memory_is_own: bool,
    /// A reading for every event that was asked for, or why there is none.
    pub readings: Vec<Reading>,
    /// Restrictions that were asked for and that this system did not grant.
    pub not_applied: Vec<&'static str>,
}

/// A program could not be run: a failure of the system, never of the program.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started.
    #[error("cannot start `{}`: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something around it failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

/// Makes a named pipe that only we may use.
///
/// # Errors
/// What the kernel says; a path with a NUL byte.
#[cfg(feature = "gem5")]
pub fn make_pipe(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    system::make_pipe(&path)
}

/// Has the kernel send a signal to this process whenever a descriptor has something to read.
///
/// # Errors
/// What the kernel says.
#[cfg(feature = "gem5")]
pub fn signal_on_data(descriptor: std::os::fd::RawFd, signal: i32) -> std::io::Result<()> {
    system::signal_on_data(descriptor, signal)
}

/// Runs a program to its end or to its limits.
///
/// Blocks. Safe to call from several threads at once.
///
/// # Errors
/// [`ProcessError`] when the program could not be started or watched.
pub fn run(request: Request<'_>) -> Result<Finished, ProcessError> {
    pump::run(request)
}
