//! What the kernel itself puts into the tree of files: devices, and the process as `/proc` shows it.
use super::Kernel;
use super::abi::*;
use super::descriptor::{CharacterDevice, Object, Open};
use super::filesystem::{DirectoryStatus, Entry};
use crate::sim::memory::{Backing, Memory, PAGE_SIZE, Protection, Purpose};
use std::fmt::Write as _;

/// A file that the kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Synthetic {
    /// A device, with its major and minor number.
    Character(CharacterDevice, u32, u32),
    /// A text of `/proc`, of a thread of a process where it is one's.
    Text(Text, Of),
}

/// A process and a thread of it, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Of {
    pid: u32,
    tid: u32,
}

/// The texts of `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Auxv,
    Cgroup,
    CommandLine,
    Comm,
    CpuInfo,
    Environ,
    Limits,
    Maps,
    MemInfo,
    Mounts,
    OomScore,
    OsRelease,
    Personality,
    Stat,
    Statm,
    Status,
    SystemStat,
    Uptime,
    Version,
}

const DEVICES: &[(&str, CharacterDevice, u32, u32)] = &[
    ("full", CharacterDevice::Full, 1, 7),
    ("null", CharacterDevice::Null, 1, 3),
    ("random", CharacterDevice::Random, 1, 8),
    ("urandom", CharacterDevice::Random, 1, 9),
    ("zero", CharacterDevice::Zero, 1, 5),
];
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
];
const SYSTEM_TEXTS: &[(&str, Text)] = &[
    ("cpuinfo", Text::CpuInfo),
    ("meminfo", Text::MemInfo),
    ("stat", Text::SystemStat),
    ("uptime", Text::Uptime),
    ("version", Text::Version),
];
const PROCESS_TEXTS: &[(&str, Text)] = &[
    ("auxv", Text::Auxv),
    ("cgroup", Text::Cgroup),
    ("cmdline", Text::CommandLine),
    ("comm", Text::Comm),
    ("environ", Text::Environ),
    ("limits", Text::Limits),
    ("maps", Text::Maps),
    ("mounts", Text::Mounts),
    ("oom_score", Text::OomScore),
    ("personality", Text::Personality),
    ("stat", Text::Stat),
    ("statm", Text::Statm),
    ("status", Text::Status),
];
const PROCESS_LINKS: &[&str] = &["cwd", "exe", "root"];

impl Kernel {
    /// What the kernel puts at a canonical path.
    pub(super) fn synthetic(&self, path: &str) -> Option<Entry> {
        let mut parts = path.strip_prefix('/')?.split('/');
        match parts.next()? {
            "dev" => match (parts.next(), parts.next()) {
                (None, _) => Some(self.directory(0o755, 0)),
                (Some(name), None) => {
                    let link = DEVICE_LINKS
                        .iter()
                        .find(|l| l.0 == name)
                        .map(|l| Entry::Symlink(l.1.into()));
                    link.or_else(|| {
                        let &(_, device, major, minor) = DEVICES.iter().find(|d| d.0 == name)?;
                        Some(Entry::Synthetic(Synthetic::Character(device, major, minor)))
                    })
                }
                _ => None,
            },
            "proc" => {
                let rest: Vec<&str> = parts.collect();
                self.proc_entry(&rest)
            }
            _ => None,
        }
    }

    fn directory(&self, mode: u32, owner: u32) -> Entry {
        Entry::Directory(DirectoryStatus {
            mode,
            owner,
            times: self.files.start_times(),
        })
    }

    /// The process whose number this is in its plain form.
    fn process_named(&self, name: &str) -> Option<u32> {
        let pid = name.parse().ok().filter(|n: &u32| n.to_string() == name)?;
        self.process_numbers().contains(&pid).then_some(pid)
    }

    fn proc_entry(&self, rest: &[&str]) -> Option<Entry> {
        let pid = self.processes.pid;
        let me = Of {
            pid,
            tid: self.threads.me.tid,
        };
        let text = |table: &[(&str, Text)], name: &str| {
            let found = table.iter().find(|t| t.0 == name);
            found.map(|t| Entry::Synthetic(Synthetic::Text(t.1, me)))
        };
        match rest {
            [] => Some(self.directory(0o555, 0)),
            ["self"] => Some(Entry::Symlink(pid.to_string().into())),
            ["thread-self"] => Some(Entry::Symlink(format!("{pid}/task/{}", me.tid).into())),
            ["mounts"] => Some(Entry::Symlink("self/mounts".into())),
            ["sys", "kernel", "osrelease"] => {
                Some(Entry::Synthetic(Synthetic::Text(Text::OsRelease, me)))
            }
            [name, below @ ..] => {
                let Some(pid) = self.process_named(name) else {
                    return text(SYSTEM_TEXTS, name).filter(|_| below.is_empty());
                };
                match below {
                    ["task"] => Some(self.directory(0o555, GUEST_UID)),
                    ["task", thread, below @ ..] => {
                        let threads = self.threads.numbers(pid).into_iter();
                        let tid = threads.into_iter().find(|t| t.to_string() == *thread)?;
                        self.process_entry(Of { pid, tid }, below)
                    }
                    below => self.process_entry(Of { pid, tid: pid }, below),
                }
            }
        }
    }

    fn process_entry(&self, of: Of, below: &[&str]) -> Option<Entry> {
        let (start, working_directory) = self.start_of(of.pid)?;
        match below {
            [] => Some(self.directory(0o555, GUEST_UID)),
            ["exe"] => Some(Entry::Symlink(start.executable.as_str().into())),
            ["cwd"] => Some(Entry::Symlink(working_directory.into())),
            ["root"] => Some(Entry::Symlink("/".into())),
            ["fd"] => Some(self.directory(0o500, GUEST_UID)),
            // What others have open is theirs.
            ["fd", number] if of.pid == self.processes.pid => {
                // Only the plain form of a number is a name.
                let fd = number
                    .parse::<i32>()
                    .ok()
                    .filter(|n| n.to_string() == *number)?;
                self.descriptors.get(fd).ok().map(|_| Entry::Descriptor(fd))
            }
            [name] => PROCESS_TEXTS
                .iter()
                .find(|t| t.0 == *name)
                .map(|t| Entry::Synthetic(Synthetic::Text(t.1, of))),
            _ => None,
        }
    }

    /// The names that the kernel puts into a directory.
    pub(super) fn synthetic_names(&self, path: &str) -> Vec<String> {
        let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        if let ["proc", name, below @ ..] = &parts[..]
            && let Some(pid) = self.process_named(name)
        {
            let threads = self.threads.numbers(pid);
            let numbers = |all: &[u32]| all.iter().map(u32::to_string).collect();
            return match below {
                [] => self.process_names(true),
                ["task"] => numbers(&threads),
                ["task", thread] if threads.iter().any(|t| t.to_string() == *thread) => {
                    self.process_names(false)
                }
                ["fd"] | ["task", _, "fd"] if pid == self.processes.pid => {
                    self.descriptors.numbers().map(|n| n.to_string()).collect()
                }
                _ => Vec::new(),
            };
        }
        match parts[..] {
            [""] => own(&["dev", "proc"]),
            ["dev"] => DEVICES
                .iter()
                .map(|d| d.0)
                .chain(DEVICE_LINKS.iter().map(|l| l.0))
                .map(str::to_owned)
                .collect(),
            ["proc"] => {
                let mut all = own(&["self", "thread-self", "mounts"]);
                all.extend(self.process_numbers().iter().map(u32::to_string));
                all.extend(SYSTEM_TEXTS.iter().map(|t| t.0.to_owned()));
                all
            }
            ["proc", "sys", "kernel"] => own(&["osrelease"]),
            _ => Vec::new(),
        }
    }

    fn process_names(&self, with_tasks: bool) -> Vec<String> {
        let mut all: Vec<String> = PROCESS_TEXTS.iter().map(|t| t.0.to_owned()).collect();
        all.extend(PROCESS_LINKS.iter().map(|n| (*n).to_owned()));
        all.push("fd".to_owned());
        if with_tasks {
            all.push("task".to_owned());
        }
        all
    }

    /// Where `/proc/self/fd/N` points to.
    pub(super) fn descriptor_link(&self, open: &Open) -> String {
        match (&open.path, &open.object) {
            (Some(path), _) => path.clone(),
            (None, Object::Stdin) => "pipe:[1]".to_owned(),
            (None, Object::Stdout) => "pipe:[2]".to_owned(),
            (None, Object::Stderr) => "pipe:[3]".to_owned(),
            (None, Object::PipeReader(id) | Object::PipeWriter(id)) => {
                format!("pipe:[{}]", id + 100)
            }
            (None, Object::Pair { input, .. }) => format!("socket:[{}]", input + 100),
            (None, Object::Event { .. }) => "anon_inode:[eventfd]".to_owned(),
            (None, Object::Epoll(_)) => "anon_inode:[eventpoll]".to_owned(),
            (None, Object::Timer(_)) => "anon_inode:[timerfd]".to_owned(),
            (None, Object::Signals { .. }) => "anon_inode:[signalfd]".to_owned(),
            (None, Object::Process { .. }) => "anon_inode:[pidfd]".to_owned(),
            (None, _) => "/memfd: (deleted)".to_owned(),
        }
    }

    /// A text of `/proc` as it is now.
    pub(super) fn text(&mut self, mem: &Memory, text: Text, of: Of) -> Vec<u8> {
        let text = self.as_process(mem, of.pid, |kernel, mem| {
            kernel.own_text(mem, text, of.tid)
        });
        // A process that has gone meanwhile has no text.
        text.unwrap_or_default()
    }

    fn own_text(&mut self, mem: &Memory, text: Text, tid: u32) -> Vec<u8> {
        match text {
            Text::Auxv => return self.start.auxv.to_vec(),
            Text::CommandLine => return self.start.arguments.to_vec(),
            Text::Environ => return self.start.environment.to_vec(),
            Text::Comm => {
                let mut name = self.name_of(tid);
                name.push(b'\n');
                return name;
            }
            Text::Status => return self.status_text(mem, tid),
            Text::Stat | Text::SystemStat | Text::Uptime => self.clock_read = true,
            _ => {}
        }
        match text {
            Text::Cgroup => "0::/\n".to_owned(),
            Text::CpuInfo => self.cpu_info(),
            Text::Limits => self.limits_text(),
            Text::Maps => maps(mem),
            Text::MemInfo => memory_info(mem),
            Text::Mounts => "root / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n".to_owned(),
            Text::OomScore => "0\n".to_owned(),
            Text::OsRelease => format!("{}\n", self.profile.kernel_release),
            Text::Personality => "00000000\n".to_owned(),
            Text::Stat => self.stat_text(mem, tid),
            Text::Statm => {
                let resident = mem.live_pages();
                let text_pages = pages_of(mem, |p| p.contains(Protection::EXECUTE));
                let data = pages_of(mem, |p| p.contains(Protection::WRITE));
                format!("{} {resident} 0 {text_pages} 0 {data} 0\n", pages_of(mem, |_| true))
            }
            Text::SystemStat => {
                let ticks = self.monotonic_ns() / (1_000_000_000 / CLOCK_TICKS);
                let boot = self.profile.start_time_s - self.profile.uptime_s;
                format!(
                    "cpu  {ticks} 0 0 0 0 0 0 0 0 0\ncpu0 {ticks} 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime {boot}\n\
                     processes {GUEST_PID}\nprocs_running 1\nprocs_blocked 0\n"
                )
            }
            Text::Uptime => {
                let hundredths = self.monotonic_ns() / 10_000_000;
                format!("{}.{:02} 0.00\n", hundredths / 100, hundredths % 100)
            }
            Text::Version => format!("Linux version {} (tickmark) #1 tickmark\n", self.profile.kernel_release),
            Text::Auxv | Text::CommandLine | Text::Environ | Text::Comm | Text::Status => String::new(),
        }
        .into_bytes()
    }

    fn cpu_info(&self) -> String {
        let (family, model, stepping) = self.profile.signature();
        let [_, _, ecx, edx] = self.profile.leaf(1, 0);
        let [_, _, extended_ecx, extended_edx] = self.profile.leaf(0x8000_0001, 0);
        let names = |bits: u32, table: &[(u32, &'static str)]| {
            table
                .iter()
                .filter(|n| bits >> n.0 & 1 != 0)
                .map(|n| n.1)
                .collect::<Vec<_>>()
        };
        let mut flags = names(
            edx,
            &[
                (0, "fpu"),
                (4, "tsc"),
                (8, "cx8"),
                (15, "cmov"),
                (19, "clflush"),
                (23, "mmx"),
                (24, "fxsr"),
                (25, "sse"),
                (26, "sse2"),
            ],
        );
        flags.extend(names(
            extended_edx,
            &[(11, "syscall"), (20, "nx"), (27, "rdtscp"), (29, "lm")],
        ));
        flags.extend(names(
            ecx,
            &[
                (0, "pni"),
                (1, "pclmulqdq"),
                (9, "ssse3"),
                (12, "fma"),
                (13, "cx16"),
                (19, "sse4_1"),
                (20, "sse4_2"),
                (22, "movbe"),
                (23, "popcnt"),
                (25, "aes"),
                (26, "xsave"),
                (28, "avx"),
                (29, "f16c"),
            ],
        ));
        flags.extend(names(extended_ecx, &[(0, "lahf_lm"), (5, "abm")]));
        flags.extend(names(
            self.profile.leaf(7, 0)[1],
            &[(3, "bmi1"), (5, "avx2"), (8, "bmi2"), (29, "sha_ni")],
        ));
        flags.extend(names(
            self.profile.leaf(0xd, 1)[0],
            &[(0, "xsaveopt"), (1, "xsavec"), (2, "xgetbv1")],
        ));
        format!(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {}\n\
             stepping\t: {stepping}\ncache size\t: 8192 KB\nphysical id\t: 0\nsiblings\t: 1\ncore id\t\t: 0\n\
             cpu cores\t: 1\nfpu\t\t: yes\ncpuid level\t: {}\nwp\t\t: yes\nflags\t\t: {}\nclflush size\t: 64\n\
             cache_alignment\t: 64\naddress sizes\t: 39 bits physical, 48 bits virtual\n\n",
            self.profile.brand(),
            self.profile.leaf(0, 0)[0],
            flags.join(" "),
        )
    }

    fn limits_text(&self) -> String {
        const ROWS: [(&str, &str); 16] = [
            ("Max cpu time", "seconds"),
            ("Max file size", "bytes"),
            ("Max data size", "bytes"),
            ("Max stack size", "bytes"),
            ("Max core file size", "bytes"),
            ("Max resident set", "bytes"),
            ("Max processes", "processes"),
            ("Max open files", "files"),
            ("Max locked memory", "bytes"),
            ("Max address space", "bytes"),
            ("Max file locks", "locks"),
            ("Max pending signals", "signals"),
            ("Max msgqueue size", "bytes"),
            ("Max nice priority", ""),
            ("Max realtime priority", ""),
            ("Max realtime timeout", "us"),
        ];
        let shown = |limit: u64| {
            if limit == u64::MAX {
                "unlimited".to_owned()
            } else {
                limit.to_string()
            }
        };
        let mut out = format!(
            "{:<26}{:<21}{:<21}{:<10}\n",
            "Limit", "Soft Limit", "Hard Limit", "Units"
        );
        for (resource, (name, unit)) in ROWS.iter().enumerate() {
            let (soft, hard) = self
                .resource(resource as u32)
                .unwrap_or((u64::MAX, u64::MAX));
            let _ = writeln!(
                out,
                "{name:<26}{:<21}{:<21}{unit:<10}",
                shown(soft),
                shown(hard)
            );
        }
        out
    }

    /// The name of a thread: its own, or that of the process.
    fn name_of(&self, tid: u32) -> Vec<u8> {
        let own = self.threads.get(tid).and_then(|t| t.name.clone());
        own.unwrap_or_else(|| self.identity.name.clone())
    }

    /// Whether a thread runs or could, or sleeps.
    fn state_of(&self, tid: u32) -> (char, &'static str) {
        if self
            .threads
            .get(tid)
            .is_some_and(super::thread::Thread::waits)
        {
            ('S', "sleeping")
        } else {
            ('R', "running")
        }
    }

    fn status_text(&self, mem: &Memory, tid: u32) -> Vec<u8> {
        let (pid, parent) = (self.processes.pid, self.processes.parent);
        let (letter, state) = self.state_of(tid);
        let thread = self.threads.get(tid);
        let (pending, blocked) = thread.map_or((0, 0), |t| (t.pending.bits, t.blocked));
        let kib = |pages: u64| pages * PAGE_SIZE / 1024;
        let size = kib(pages_of(mem, |_| true));
        let stack = (self.layout.stack_top - self.layout.stack_bottom) / 1024;
        let heap = kib(pages_of(mem, |p| p.contains(Protection::WRITE)));
        let code = kib(pages_of(mem, |p| p.contains(Protection::EXECUTE)));
        let (ignored, caught) = self.signals.ignored_and_caught();
        let mut out = b"Name:\t".to_vec();
        out.extend_from_slice(&self.name_of(tid));
        out.extend_from_slice(
            format!(
                "\nUmask:\t{:04o}\nState:\t{letter} ({state})\nTgid:\t{pid}\nNgid:\t0\nPid:\t{tid}\n\
                 PPid:\t{parent}\nTracerPid:\t0\nUid:\t{GUEST_UID}\t{GUEST_UID}\t{GUEST_UID}\t{GUEST_UID}\n\
                 Gid:\t{GUEST_UID}\t{GUEST_UID}\t{GUEST_UID}\t{GUEST_UID}\nFDSize:\t64\nGroups:\t \n\
                 VmPeak:\t{size:8} kB\nVmSize:\t{size:8} kB\nVmLck:\t{:8} kB\nVmHWM:\t{:8} kB\nVmRSS:\t{:8} kB\n\
                 VmData:\t{heap:8} kB\nVmStk:\t{stack:8} kB\nVmExe:\t{code:8} kB\nVmLib:\t{:8} kB\nVmSwap:\t{:8} kB\n\
                 Threads:\t{}\nSigQ:\t0/1024\nSigPnd:\t{:016x}\nShdPnd:\t{:016x}\nSigBlk:\t{:016x}\n\
                 SigIgn:\t{ignored:016x}\nSigCgt:\t{caught:016x}\nCapInh:\t{:016x}\nCapPrm:\t{:016x}\n\
                 CapEff:\t{:016x}\nCapBnd:\t{:016x}\nCapAmb:\t{:016x}\nNoNewPrivs:\t0\nSeccomp:\t0\n\
                 Cpus_allowed:\t1\nCpus_allowed_list:\t0\nMems_allowed:\t1\nMems_allowed_list:\t0\n\
                 voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
                self.identity.umask(),
                0,
                kib(mem.high_water_pages()),
                kib(mem.live_pages()),
                0,
                0,
                self.threads.numbers(pid).len(),
                pending,
                self.signals.pending.bits,
                blocked,
                0,
                0,
                0,
                0,
                0,
            )
            .as_bytes(),
        );
        out
    }

    /// The 52 fields of `/proc/self/stat`.
    fn stat_text(&self, mem: &Memory, tid: u32) -> String {
        let (pid, parent) = (self.processes.pid, self.processes.parent);
        let (group, session) = (self.processes.group, self.session());
        let shown = tid;
        let (state, _) = self.state_of(tid);
        let threads = self.threads.numbers(pid).len();
        let thread = self.threads.get(tid);
        let (pending, blocked) = thread.map_or((0, 0), |t| (t.pending.bits, t.blocked));
        let ticks = self.processor_ns() / (1_000_000_000 / CLOCK_TICKS);
        let start = self.profile.uptime_s * CLOCK_TICKS;
        let layout = &self.layout;
        let size = pages_of(mem, |_| true) * PAGE_SIZE;
        let (ignored, caught) = self.signals.ignored_and_caught();
        format!(
            "{shown} ({}) {state} {parent} {group} {session} 0 -1 4194304 0 0 0 0 {ticks} 0 0 0 20 0 {threads} 0 {start} \
             {size} {} {} 0 0 {} 0 0 {} {} {ignored} {caught} 0 0 0 17 0 0 0 0 0 0 0 0 {} 0 0 0 0 0\n",
            String::from_utf8_lossy(&self.name_of(tid)),
            mem.live_pages(),
            u64::MAX,
            layout.stack_pointer,
            pending | self.signals.pending.bits,
            blocked,
            layout.heap_start,
        )
    }
}

/// Mapped pages whose protection passes.
fn pages_of(mem: &Memory, passes: impl Fn(Protection) -> bool) -> u64 {
    mem.regions()
        .filter(|(_, r)| passes(r.protection))
        .map(|(s, r)| (r.end - s) / PAGE_SIZE)
        .sum()
}

/// `/proc/self/maps`.
fn maps(mem: &Memory) -> String {
    let mut out = String::new();
    for (start, region) in mem.regions() {
        let p = region.protection;
        let letter = |right: Protection, c: char| if p.contains(right) { c } else { '-' };
        let offset = match &region.backing {
            Backing::File { offset, .. } | Backing::Shared { offset, .. } => *offset,
            Backing::Anonymous => 0,
        };
        let name = match &region.purpose {
            Purpose::Anonymous => "",
            Purpose::Heap => "[heap]",
            Purpose::Stack => "[stack]",
            Purpose::File(path) => path,
        };
        let (device, inode) = match &region.purpose {
            Purpose::File(path) => ("00:10", super::filesystem::inode_of(path)),
            _ => ("00:00", 0),
        };
        let line = format!(
            "{start:x}-{:x} {}{}{}{} {offset:08x} {device} {inode} ",
            region.end,
            letter(Protection::READ, 'r'),
            letter(Protection::WRITE, 'w'),
            letter(Protection::EXECUTE, 'x'),
            if matches!(region.backing, Backing::Shared { .. }) {
                's'
            } else {
                'p'
            },
        );
        let _ = if name.is_empty() {
            writeln!(out, "{line}")
        } else {
            writeln!(out, "{line:<73}{name}")
        };
    }
    out
}

/// `/proc/meminfo`: a machine with as much memory as the job's limit.
fn memory_info(mem: &Memory) -> String {
    let total = mem.limit_bytes() / 1024;
    let free = total.saturating_sub(mem.live_pages() * PAGE_SIZE / 1024);
    let row = |name: &str, kib: u64| format!("{:<16}{kib:>8} kB\n", format!("{name}:"));
    [
        row("MemTotal", total),
        row("MemFree", free),
        row("MemAvailable", free),
        row("Buffers", 0),
        row("Cached", 0),
        row("SwapCached", 0),
        row("SwapTotal", 0),
        row("SwapFree", 0),
        row("Shmem", 0),
        row("CommitLimit", total),
        row("Hugepagesize", 2048),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, failed};

    fn text(process: &mut Process, path: &str) -> String {
        String::from_utf8(process.content(path)).unwrap()
    }

    #[test]
    fn the_process_describes_itself() {
        let mut process = Process::new();
        assert_eq!(process.content("/proc/self/cmdline"), b"prog\0");
        assert_eq!(process.content("/proc/100/environ"), b"LANG=C\0");
        assert_eq!(text(&mut process, "/proc/thread-self/comm"), "prog\n");
        let maps = text(&mut process, "/proc/self/maps");
        assert!(maps.lines().any(
            |l| l.ends_with("/bin/prog") && l.starts_with("00400000-") || l.contains("400000-")
        ));
        assert!(maps.lines().last().unwrap().ends_with("[stack]"), "{maps}");
        assert_eq!(
            text(&mut process, "/proc/self/stat")
                .split_whitespace()
                .count(),
            52
        );
        assert_eq!(
            text(&mut process, "/proc/self/statm")
                .split_whitespace()
                .count(),
            7
        );
        let status = text(&mut process, "/proc/self/status");
        for line in ["Name:\tprog", "Pid:\t100", "PPid:\t99", "Threads:\t1"] {
            assert!(status.lines().any(|l| l == line), "{line} in {status}");
        }
        assert!(text(&mut process, "/proc/meminfo").starts_with("MemTotal:          65536 kB\n"));
        let cpu = text(&mut process, "/proc/cpuinfo");
        assert!(
            cpu.contains("model name\t: tickmark x86-64-v2")
                && cpu.contains(" sse4_2 popcnt lahf_lm\n"),
            "{cpu}"
        );
        assert_eq!(text(&mut process, "/proc/sys/kernel/osrelease"), "6.1.0\n");
        assert_eq!(text(&mut process, "/sys/devices/system/cpu/online"), "0\n");
        assert_eq!(
            process.at_path("open", "/proc/self/maps", &[1]),
            failed(super::EACCES)
        );
        assert_eq!(
            process.at_path("open", "/proc/self/mem", &[0]),
            failed(super::ENOENT)
        );
    }

    #[test]
    fn every_listed_name_leads_somewhere() {
        let mut process = Process::new();
        let mut ahead = vec!["/".to_owned()];
        let mut seen = 0;
        while let Some(path) = ahead.pop() {
            let buffer = process.bytes(&[0; 144]);
            assert_eq!(process.at_path("lstat", &path, &[buffer]), 0, "{path}");
            seen += 1;
            let kernel = &process.guest.kernel;
            let mut names = kernel.files.list(&path);
            names.extend(kernel.synthetic_names(&path));
            ahead.extend(
                names
                    .iter()
                    .map(|n| super::super::super::world::join(&path, n)),
            );
        }
        assert!(seen > 80, "{seen}");
    }
}
