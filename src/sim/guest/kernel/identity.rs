//! Who and where the process is: ids, limits, the system's name, scheduling, resource use, randomness.
use super::abi::*;
use super::descriptor::{DESCRIPTOR_HARD_LIMIT, DESCRIPTOR_LIMIT};
use super::process::Usage;
use super::thread::MAX_THREADS;
use super::user::{Record, check_range, give, scatter, take, take_path, take_u32};
use super::{Answer, Kernel, unsupported};
use crate::sim::isa::state::{Cpu, FS, GS};
use crate::sim::memory::{Memory, PAGE_SIZE, USER_END};
use std::collections::BTreeMap;

const INFINITY: u64 = u64::MAX;
/// Number of resources of `getrlimit`.
const RESOURCES: u32 = 16;
const RLIMIT_STACK: u32 = 3;
const RLIMIT_CORE: u32 = 4;
const RLIMIT_RSS: u32 = 5;
const RLIMIT_NPROC: u32 = 6;
const RLIMIT_NOFILE: u32 = 7;
const RLIMIT_MEMLOCK: u32 = 8;
const RLIMIT_SIGPENDING: u32 = 11;
const RLIMIT_MSGQUEUE: u32 = 12;
const RLIMIT_NICE: u32 = 13;
const RLIMIT_RTPRIO: u32 = 14;

/// What the process has said of itself.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// Name of the thread: at most 15 bytes.
    pub(super) name: Vec<u8>,
    umask: u32,
    personality: u32,
    nice: i32,
    dumpable: u64,
    no_new_privileges: bool,
    death_signal: u64,
    timer_slack: u64,
    /// Limits that the process has changed: soft and hard.
    limits: BTreeMap<u32, (u64, u64)>,
}

impl Identity {
    pub(super) fn new(executable: &str) -> Self {
        let name = executable.rsplit('/').next().unwrap_or_default();
        Self {
            name: name.bytes().take(15).collect(),
            umask: 0o022,
            personality: 0,
            nice: 0,
            dumpable: 1,
            no_new_privileges: false,
            death_signal: 0,
            timer_slack: 50_000,
            limits: BTreeMap::new(),
        }
    }

    /// After `execve`.
    pub(super) fn rename(&mut self, executable: &str) {
        self.name = Self::new(executable).name;
    }

    pub(super) fn set_umask(&mut self, mask: u32) -> u32 {
        std::mem::replace(&mut self.umask, mask & 0o777)
    }

    /// Permission bits that new files do not get.
    pub(super) fn umask(&self) -> u32 {
        self.umask
    }

    pub(super) fn set_personality(&mut self, wanted: u32) -> u32 {
        let before = self.personality;
        if wanted != u32::MAX {
            self.personality = wanted;
        }
        before
    }
}

impl Kernel {
    /// Whether a process number given to a scheduling call is this process.
    pub(super) fn check_process(&self, pid: i32) -> Result<(), Errno> {
        match pid {
            0 => Ok(()),
            _ if pid < 0 => Err(EINVAL),
            _ if self.threads.get(pid as u32).is_some() => Ok(()),
            _ => Err(ESRCH),
        }
    }

    pub(super) fn three_ids(&mut self, mem: &mut Memory, at: [u64; 3]) -> Answer {
        for at in at {
            give(mem, at, &GUEST_UID.to_le_bytes())?;
        }
        Ok(0)
    }

    /// Without privilege, ids can be set to what they are.
    pub(super) fn set_id(&mut self, ids: &[u32]) -> Answer {
        if ids.iter().all(|&id| id == GUEST_UID || id == u32::MAX) {
            Ok(0)
        } else {
            Err(EPERM.into())
        }
    }

    pub(super) fn uname(&mut self, mem: &mut Memory, at: u64) -> Answer {
        let record = Record::new()
            .text("Linux", 65)
            .text("tickmark", 65)
            .text(self.profile.kernel_release, 65)
            .text("#1 tickmark", 65)
            .text("x86_64", 65)
            .text("(none)", 65);
        give(mem, at, &record.bytes())?;
        Ok(0)
    }

    pub(super) fn sysinfo(&mut self, mem: &mut Memory, at: u64) -> Answer {
        self.clock_read = true;
        let total = mem.limit_bytes();
        let free = total.saturating_sub(mem.live_pages() * PAGE_SIZE);
        let record = Record::new()
            .u64(self.monotonic_ns() / 1_000_000_000)
            .zeros(24)
            .u64(total)
            .u64(free)
            .zeros(32)
            .u16(1)
            .zeros(6)
            .zeros(16)
            .u32(1)
            .zeros(4);
        give(mem, at, &record.bytes())?;
        Ok(0)
    }

    /// The soft and the hard limit of a resource.
    pub(super) fn resource(&self, resource: u32) -> Result<(u64, u64), Errno> {
        if resource >= RESOURCES {
            return Err(EINVAL);
        }
        if let Some(&limit) = self.identity.limits.get(&resource) {
            return Ok(limit);
        }
        Ok(match resource {
            RLIMIT_STACK => {
                let size = self.layout.stack_top - self.layout.stack_bottom;
                (size, size)
            }
            RLIMIT_CORE | RLIMIT_NICE | RLIMIT_RTPRIO => (0, 0),
            RLIMIT_RSS => (INFINITY, INFINITY),
            RLIMIT_NPROC => (MAX_THREADS, MAX_THREADS),
            RLIMIT_NOFILE => (DESCRIPTOR_LIMIT, DESCRIPTOR_HARD_LIMIT),
            RLIMIT_MEMLOCK => (8 << 20, 8 << 20),
            RLIMIT_SIGPENDING => (1024, 1024),
            RLIMIT_MSGQUEUE => (819_200, 819_200),
            _ => (INFINITY, INFINITY),
        })
    }

    fn set_resource(&mut self, resource: u32, soft: u64, hard: u64) -> Result<(), Errno> {
        let (_, before) = self.resource(resource)?;
        if soft > hard {
            return Err(EINVAL);
        }
        if hard > before {
            return Err(EPERM);
        }
        if resource == RLIMIT_NOFILE {
            self.descriptors.limit = soft;
        }
        self.identity.limits.insert(resource, (soft, hard));
        Ok(())
    }

    pub(super) fn getrlimit(&mut self, mem: &mut Memory, resource: u32, at: u64) -> Answer {
        let (soft, hard) = self.resource(resource)?;
        give(mem, at, &Record::new().u64(soft).u64(hard).bytes())?;
        Ok(0)
    }

    pub(super) fn setrlimit(&mut self, mem: &mut Memory, resource: u32, at: u64) -> Answer {
        let both = u128::from_le_bytes(take(mem, at)?);
        self.set_resource(resource, both as u64, (both >> 64) as u64)?;
        Ok(0)
    }

    pub(super) fn prlimit(
        &mut self,
        mem: &mut Memory,
        pid: i32,
        resource: u32,
        new: u64,
        old: u64,
    ) -> Answer {
        let wanted = if new == 0 {
            None
        } else {
            Some(u128::from_le_bytes(take(mem, new)?))
        };
        if pid != 0 && pid as u32 != self.processes.pid {
            return Err(self.not_mine(pid).into());
        }
        let (soft, hard) = self.resource(resource)?;
        if let Some(both) = wanted {
            self.set_resource(resource, both as u64, (both >> 64) as u64)?;
        }
        if old != 0 {
            give(mem, old, &Record::new().u64(soft).u64(hard).bytes())?;
        }
        Ok(0)
    }

    pub(super) fn getrusage(&mut self, mem: &mut Memory, who: i32, at: u64) -> Answer {
        let usage = match who {
            // SELF and THREAD
            0 | 1 => Usage {
                ns: self.processor_ns(),
                peak_kib: mem.high_water_pages() * PAGE_SIZE / 1024,
            },
            // CHILDREN
            -1 => self.processes.waited,
            _ => return Err(EINVAL.into()),
        };
        self.clock_read = true;
        give(mem, at, &usage.bytes())?;
        Ok(0)
    }

    pub(super) fn getpriority(&self, which: u32, who: u32) -> Answer {
        let mine = match which {
            0 | 1 => who == 0 || who == self.processes.pid,
            2 => who == 0 || who == GUEST_UID,
            _ => return Err(EINVAL.into()),
        };
        // The call answers 20 minus the nice value, so that it is never negative.
        if mine {
            Ok((20 - self.identity.nice) as u64)
        } else {
            Err(ESRCH.into())
        }
    }

    pub(super) fn setpriority(&mut self, which: u32, who: u32, nice: i32) -> Answer {
        self.getpriority(which, who)?;
        let nice = nice.clamp(-20, 19);
        if nice < self.identity.nice {
            return Err(EACCES.into());
        }
        self.identity.nice = nice;
        Ok(0)
    }

    pub(super) fn set_scheduler(&self, pid: i32) -> Answer {
        self.check_process(pid)?;
        Err(EPERM.into())
    }

    pub(super) fn sched_getparam(&mut self, mem: &mut Memory, pid: i32, at: u64) -> Answer {
        if at == 0 {
            return Err(EINVAL.into());
        }
        self.check_process(pid)?;
        give(mem, at, &[0; 4])?;
        Ok(0)
    }

    pub(super) fn sched_rr_get_interval(&mut self, mem: &mut Memory, pid: i32, at: u64) -> Answer {
        self.check_process(pid)?;
        give(mem, at, &super::clock::timespec(4_000_000))?;
        Ok(0)
    }

    pub(super) fn sched_getattr(
        &mut self,
        mem: &mut Memory,
        pid: i32,
        at: u64,
        size: u32,
        flags: u32,
    ) -> Answer {
        if at == 0 || flags != 0 || !(48..=PAGE_SIZE as u32).contains(&size) {
            return Err(EINVAL.into());
        }
        self.check_process(pid)?;
        give(
            mem,
            at,
            &Record::new()
                .u32(48)
                .u32(0)
                .u64(0)
                .u32(self.identity.nice as u32)
                .zeros(28)
                .bytes(),
        )?;
        Ok(0)
    }

    pub(super) fn sched_getaffinity(
        &mut self,
        mem: &mut Memory,
        pid: i32,
        len: u64,
        at: u64,
    ) -> Answer {
        let len = len & 0xffff_ffff;
        if len < 8 || !len.is_multiple_of(8) {
            return Err(EINVAL.into());
        }
        self.check_process(pid).map_err(|_| ESRCH)?;
        give(mem, at, &1u64.to_le_bytes())?;
        Ok(8)
    }

    pub(super) fn sched_setaffinity(
        &mut self,
        mem: &mut Memory,
        pid: i32,
        len: u64,
        at: u64,
    ) -> Answer {
        self.check_process(pid).map_err(|_| ESRCH)?;
        let mut first = [0; 1];
        if len > 0 {
            first = take(mem, at)?;
        }
        if first[0] & 1 != 0 {
            Ok(0)
        } else {
            Err(EINVAL.into())
        }
    }

    pub(super) fn getcpu(&mut self, mem: &mut Memory, processor: u64, node: u64) -> Answer {
        for at in [processor, node] {
            if at != 0 {
                give(mem, at, &[0; 4])?;
            }
        }
        Ok(0)
    }

    pub(super) fn getrandom(
        &mut self,
        mem: &mut Memory,
        at: u64,
        count: u64,
        flags: u32,
    ) -> Answer {
        const RANDOM: u32 = 2;
        const INSECURE: u32 = 4;
        if flags & !7 != 0 || flags & (RANDOM | INSECURE) == RANDOM | INSECURE {
            return Err(EINVAL.into());
        }
        let count = count.min(i32::MAX as u64);
        check_range(at, count)?;
        let Self { entropy, .. } = self;
        scatter(mem, &[(at, count)], count, |_, buffer| entropy.fill(buffer))
    }

    pub(super) fn prctl(&mut self, mem: &mut Memory, option: u32, b: u64, c: u64) -> Answer {
        let identity = &mut self.identity;
        match option {
            // PDEATHSIG: the parent never dies.
            1 if b > u64::from(SIGNALS) => Err(EINVAL.into()),
            1 => {
                identity.death_signal = b;
                Ok(0)
            }
            2 => give(mem, b, &(identity.death_signal as u32).to_le_bytes()).map(|()| 0),
            3 => Ok(identity.dumpable),
            4 if b > 1 => Err(EINVAL.into()),
            4 => {
                identity.dumpable = b;
                Ok(0)
            }
            15 => {
                // A name that is too long is cut, as is one without an end.
                let mut name = Vec::new();
                while name.len() < 15 {
                    let [byte] = take(mem, b.wrapping_add(name.len() as u64))?;
                    if byte == 0 {
                        break;
                    }
                    name.push(byte);
                }
                if self.threads.me.tid == self.processes.pid {
                    identity.name = name;
                } else {
                    self.threads.me.name = Some(name);
                }
                Ok(0)
            }
            16 => {
                let own = self.threads.me.name.as_ref();
                let mut name = own.unwrap_or(&identity.name).clone();
                name.resize(16, 0);
                give(mem, b, &name).map(|()| 0)
            }
            // KEEPCAPS, SECUREBITS, CAPBSET_READ
            7 | 27 => Ok(0),
            8 | 23 if b <= 40 => Ok(u64::from(option == 23)),
            8 | 23 => Err(EINVAL.into()),
            24 | 28 => Err(EPERM.into()),
            // TIMERSLACK
            29 => {
                identity.timer_slack = if b == 0 { 50_000 } else { b };
                Ok(0)
            }
            30 => Ok(identity.timer_slack),
            // CHILD_SUBREAPER: there are no children.
            36 => Ok(0),
            37 => give(mem, b, &[0; 4]).map(|()| 0),
            38 if b != 1 || c != 0 => Err(EINVAL.into()),
            38 => {
                identity.no_new_privileges = true;
                Ok(0)
            }
            39 => Ok(identity.no_new_privileges.into()),
            // THP_DISABLE
            41 | 42 => Ok(0),
            // SECCOMP mode 0
            21 => Ok(0),
            22 => Err(unsupported("prctl: PR_SET_SECCOMP")),
            // PR_SET_VMA names a mapping; Linux may be built without it, and then refuses.
            _ => Err(EINVAL.into()),
        }
    }

    pub(super) fn arch_prctl(
        &mut self,
        cpu: &mut Cpu,
        mem: &mut Memory,
        code: u32,
        addr: u64,
    ) -> Answer {
        let register = if matches!(code, 0x1002 | 0x1003) {
            FS
        } else {
            GS
        };
        match code {
            0x1001 | 0x1002 => {
                if addr >= USER_END {
                    return Err(EPERM.into());
                }
                cpu.gpr[register] = addr;
                Ok(0)
            }
            0x1003 | 0x1004 => give(mem, addr, &cpu.gpr[register].to_le_bytes()).map(|()| 0),
            // CPUID faulting: CPUID is allowed and that cannot be changed.
            0x1011 => Ok(1),
            0x1012 => Err(ENODEV.into()),
            _ => Err(EINVAL.into()),
        }
    }

    pub(super) fn capget(&mut self, mem: &mut Memory, header: u64, data: u64) -> Answer {
        const VERSION_1: u32 = 0x1998_0330;
        const VERSION_2: u32 = 0x2007_1026;
        const VERSION_3: u32 = 0x2008_0522;
        let size = match take_u32(mem, header)? {
            VERSION_1 => 12,
            VERSION_2 | VERSION_3 => 24,
            _ => {
                give(mem, header, &VERSION_3.to_le_bytes())?;
                return if data == 0 { Ok(0) } else { Err(EINVAL.into()) };
            }
        };
        let pid = take_u32(mem, header.wrapping_add(4))? as i32;
        self.check_process(pid)?;
        if data != 0 {
            give(mem, data, &vec![0; size])?;
        }
        Ok(0)
    }

    /// The name of a `memfd`, which only has to be a string.
    pub(super) fn check_name(&self, mem: &mut Memory, at: u64) -> Result<(), super::Stop> {
        let name = take_path(mem, at)?;
        if name.len() > 249 {
            Err(EINVAL.into())
        } else {
            Ok(())
        }
    }
}

/// The priorities of a scheduling policy: 1 to 99 for the real-time ones.
pub(super) fn scheduler_priority(policy: i32, highest: bool) -> Answer {
    match policy {
        1 | 2 => Ok(if highest { 99 } else { 1 }),
        0 | 3 | 5 | 6 => Ok(0),
        _ => Err(EINVAL.into()),
    }
}
