//! The restrictions of a child, prepared before `fork` and applied between `fork` and `exec`.
#![expect(
    unsafe_code,
    reason = "system calls between fork and exec have no safe interface"
)]
use super::{Isolation, Limits, filter, system};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use seccompiler::BpfProgram;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

/// What a child does to itself before `exec`. Prepared whole, because nothing may be allocated after `fork`.
#[derive(Debug)]
pub(super) struct Confinement {
    limits: [(libc::__rlimit_resource_t, libc::rlim_t, Step); 7],
    landlock: Option<OwnedFd>,
    filters: Vec<BpfProgram>,
    trusted: bool,
    fixed_layout: bool,
    processor: Option<usize>,
    channel: Option<(OwnedFd, RawFd)>,
    /// Where the child writes the number of each step that failed.
    report: OwnedFd,
}

/// A restriction that may fail to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    ProcessGroup,
    Trace,
    CpuLimit,
    AddressSpaceLimit,
    FileLimit,
    StackLimit,
    CoreLimit,
    DescriptorLimit,
    MessageQueueLimit,
    Layout,
    Processor,
    Privileges,
    Landlock,
    LandlockPartly,
    Filter,
}

impl Step {
    const ALL: [(Step, &'static str); 15] = [
        (Step::ProcessGroup, "own process group"),
        (
            Step::Trace,
            "own high-water mark of memory and fault addresses (ptrace)",
        ),
        (Step::CpuLimit, "CPU time limit (RLIMIT_CPU)"),
        (Step::AddressSpaceLimit, "address space limit (RLIMIT_AS)"),
        (Step::FileLimit, "file size limit (RLIMIT_FSIZE)"),
        (Step::StackLimit, "stack limit (RLIMIT_STACK)"),
        (Step::CoreLimit, "no core dumps (RLIMIT_CORE)"),
        (Step::DescriptorLimit, "descriptor limit (RLIMIT_NOFILE)"),
        (
            Step::MessageQueueLimit,
            "no message queues (RLIMIT_MSGQUEUE)",
        ),
        (Step::Layout, "fixed address layout (personality)"),
        (Step::Processor, "one processor (sched_setaffinity)"),
        (
            Step::Privileges,
            "no privileges (capabilities, no_new_privs)",
        ),
        (Step::Landlock, "file and network isolation (Landlock)"),
        (
            Step::LandlockPartly,
            "isolation from signals and abstract sockets (Landlock 6)",
        ),
        (Step::Filter, "system call filter (seccomp)"),
    ];

    /// The name for the user.
    pub(super) fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(step, _)| *step == self)
            .map_or("?", |(_, name)| name)
    }

    /// The step whose number a child reported.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL
            .iter()
            .map(|(step, _)| *step)
            .find(|step| *step as u8 == number)
    }
}

impl Confinement {
    /// Prepares the restrictions; those that this system cannot grant are pushed on `missing`.
    pub(super) fn prepare(
        limits: &Limits,
        isolation: &Isolation,
        processor: Option<usize>,
        channel: Option<(OwnedFd, RawFd)>,
        report: OwnedFd,
        missing: &mut Vec<Step>,
    ) -> Self {
        let cpu = limits.cpu.as_secs() + u64::from(limits.cpu.subsec_nanos() > 0);
        // A process with a limit of CPU time has a clock of CPU time that moves with the scheduler's ticks only (4 ms):
        // regions of a native run would be timed by it. The watcher sees to the limit of a program that is one process.
        let cpu = if isolation.single_process {
            libc::RLIM_INFINITY
        } else {
            cpu.max(1)
        };
        let limits = [
            (libc::RLIMIT_CPU, cpu, Step::CpuLimit),
            (
                libc::RLIMIT_AS,
                limits.address_space_bytes.unwrap_or(libc::RLIM_INFINITY),
                Step::AddressSpaceLimit,
            ),
            (libc::RLIMIT_FSIZE, limits.file_bytes, Step::FileLimit),
            (libc::RLIMIT_STACK, limits.stack_bytes, Step::StackLimit),
            (libc::RLIMIT_CORE, 0, Step::CoreLimit),
            // The channel's descriptor must be below it.
            (libc::RLIMIT_NOFILE, 1024, Step::DescriptorLimit),
            (libc::RLIMIT_MSGQUEUE, 0, Step::MessageQueueLimit),
        ];
        let (mut landlock, mut filters) = (None, Vec::new());
        if !isolation.trusted {
            match ruleset(isolation) {
                Ok(Some(descriptor)) => landlock = Some(descriptor),
                Ok(None) | Err(_) => missing.push(Step::Landlock),
            }
            if landlock.is_some() && super::support().landlock < 6 {
                missing.push(Step::LandlockPartly);
            }
            match filter::programs(isolation.single_process) {
                Some(programs) if super::support().seccomp => filters = programs,
                _ => missing.push(Step::Filter),
            }
        }
        Self {
            limits,
            landlock,
            filters,
            trusted: isolation.trusted,
            fixed_layout: isolation.fixed_layout,
            processor,
            channel,
            report,
        }
    }

    /// Applies all of it to the calling process.
    ///
    /// Runs in a fork of a process with threads: it only makes system calls, allocates nothing and takes no lock. A
    /// step that fails is reported and the next one is taken; only a missing channel is an error.
    pub(super) fn apply(&mut self) -> io::Result<()> {
        let report = self.report.as_raw_fd();
        let check = |step: Step, done: bool| {
            if !done {
                let byte = [step as u8];
                // SAFETY: the buffer is one readable byte. A failed report has no one left to be told.
                unsafe { libc::write(report, byte.as_ptr().cast(), 1) };
            }
        };
        // SAFETY: plain system calls on the own process. No descriptor of the parent's survives `exec`: what std
        // opened is close-on-exec already, and `close_range` marks the rest.
        unsafe {
            check(Step::ProcessGroup, libc::setpgid(0, 0) == 0);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::umask(0o077);
            libc::syscall(
                libc::SYS_close_range,
                3,
                u32::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
        }
        if let Some((socket, descriptor)) = &self.channel {
            let socket = socket.as_raw_fd();
            // A copy is not close-on-exec. Where the socket has the very number already, `dup2` would do nothing, and
            // the socket would be closed.
            let moved = if socket == *descriptor {
                // SAFETY: changes a flag of a descriptor of ours.
                unsafe { libc::fcntl(socket, libc::F_SETFD, 0) }
            } else {
                // SAFETY: both are descriptors of ours.
                unsafe { libc::dup2(socket, *descriptor) }
            };
            if moved < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        for &(resource, value, step) in &self.limits {
            check(step, limit(resource, value));
        }
        if self.fixed_layout {
            // SAFETY: changes a flag of the own process that the next `exec` reads.
            let done = unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } >= 0;
            check(Step::Layout, done);
        }
        if let Some(cpu) = self.processor {
            check(Step::Processor, system::pin(cpu));
        }
        // Before the filters, which refuse it.
        check(Step::Trace, system::trace_me());
        if self.trusted {
            return Ok(());
        }
        check(Step::Privileges, drop_privileges());
        if let Some(ruleset) = &self.landlock {
            // SAFETY: a system call on a descriptor of ours.
            let done =
                unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
            check(Step::Landlock, done == 0);
        }
        filter::set_own_process(&mut self.filters, std::process::id());
        for program in &self.filters {
            check(Step::Filter, install(program));
        }
        Ok(())
    }
}

/// Sets a limit, soft and hard, to the value or to the hard limit that is already there and lower. For CPU time the
/// hard limit is a second later: the first signal can be told from a kill by someone else.
fn limit(resource: libc::__rlimit_resource_t, value: libc::rlim_t) -> bool {
    let mut now = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let later = if resource == libc::RLIMIT_CPU {
        value.saturating_add(1)
    } else {
        value
    };
    // SAFETY: the structure is ours and outlives the calls.
    unsafe {
        if libc::getrlimit(resource, &raw mut now) != 0 {
            return false;
        }
        let wanted = libc::rlimit {
            rlim_cur: value.min(now.rlim_max),
            rlim_max: later.min(now.rlim_max),
        };
        // A limit that is lower already is not granted for the stack, where less changes what a program can do.
        let granted = resource != libc::RLIMIT_STACK || wanted.rlim_cur == value;
        libc::setrlimit(resource, &raw const wanted) == 0 && granted
    }
}

/// Gives up every capability, now and after `exec`, also for user 0.
fn drop_privileges() -> bool {
    #[repr(C)]
    struct Header {
        version: u32,
        process: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    const SECBIT_NOROOT_LOCKED: libc::c_ulong = 0b11;
    let header = Header {
        version: VERSION_3,
        process: 0,
    };
    // Two sets of effective, permitted, inheritable.
    let none = [0u32; 6];
    // SAFETY: the structures have the layout of the kernel's and outlive the calls.
    unsafe {
        let no_new = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
        // Only user 0 gets capabilities from `exec`, and only a process with CAP_SETPCAP may forbid that.
        let root = libc::geteuid() == 0;
        let plain = !root || libc::prctl(libc::PR_SET_SECUREBITS, SECBIT_NOROOT_LOCKED) == 0;
        let dropped = libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) == 0;
        no_new && plain && dropped
    }
}

fn install(program: &BpfProgram) -> bool {
    let Ok(length) = u16::try_from(program.len()) else {
        return false;
    };
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut().cast(),
    };
    // Without the flag, older kernels slow the stores of a filtered process down (speculative store bypass), which
    // would change what is measured.
    // SAFETY: `sock_filter` of seccompiler has the kernel's layout; the kernel copies the program.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
            &raw const program,
        ) == 0
    }
}

/// The Landlock rules; `None` where the kernel has none.
fn ruleset(isolation: &Isolation) -> Result<Option<OwnedFd>, RulesetError> {
    let all = ABI::V6;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(all))?
        .handle_access(AccessNet::from_all(all))?
        .scope(Scope::from_all(all))?
        .create()?;
    let files = AccessFs::from_file(all);
    let mut add = |path: &Path, access| -> Result<(), RulesetError> {
        // A path that is not there needs no rule.
        if let Ok(descriptor) = PathFd::new(path) {
            let access = if path.is_dir() {
                access
            } else {
                access & files
            };
            (&mut ruleset).add_rule(PathBeneath::new(descriptor, access))?;
        }
        Ok(())
    };
    for path in &isolation.readable {
        add(path, AccessFs::from_read(all))?;
    }
    for path in &isolation.writable {
        // No device files: they would be doors.
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        add(path, AccessFs::from_all(all) & !devices)?;
    }
    Ok(ruleset.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_name_and_a_number_of_its_own() {
        for (index, (step, _)) in Step::ALL.iter().enumerate() {
            assert_eq!(*step as usize, index);
            assert_eq!(Step::from_number(*step as u8), Some(*step));
        }
        assert_eq!(Step::from_number(200), None);
    }
}
