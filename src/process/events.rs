//! Hardware and kernel event counters of a child, in user mode only, through `perf_event_open`.
//!
//! A counter is opened while the traced child stands at its `exec`, so that it counts the program from its first
//! instruction. A reading that is not the whole truth (multiplexed, hybrid processor, impossible value) is an
//! [`Absence`], never a number, and nothing takes its place.
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Counter};
use serde::Serialize;
use std::fmt;
use std::io;
use std::path::Path;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Retired instructions in user mode.
    Instructions,
    /// Core cycles in user mode.
    Cycles,
    /// Retired branches in user mode.
    Branches,
    /// Mispredicted branches in user mode.
    BranchMisses,
    /// Misses of the last-level cache in user mode, as the processor defines them.
    CacheMisses,
    /// CPU time by the scheduler's clock, in nanoseconds, user and kernel mode.
    TaskClock,
}

impl Event {
    /// Every event, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Instructions,
        Self::Cycles,
        Self::Branches,
        Self::BranchMisses,
        Self::CacheMisses,
        Self::TaskClock,
    ];

    /// Name of the counter in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Instructions => "hardware_instructions",
            Self::Cycles => "hardware_cycles",
            Self::Branches => "hardware_branches",
            Self::BranchMisses => "hardware_branch_misses",
            Self::CacheMisses => "hardware_cache_misses",
            Self::TaskClock => "task_clock_ns",
        }
    }

    /// Whether the processor counts it, and not the kernel.
    pub fn is_hardware(self) -> bool {
        self != Self::TaskClock
    }

    fn builder<'a>(self) -> Builder<'a> {
        let mut builder = match self {
            Self::Instructions => Builder::new(Hardware::INSTRUCTIONS),
            Self::Cycles => Builder::new(Hardware::CPU_CYCLES),
            Self::Branches => Builder::new(Hardware::BRANCH_INSTRUCTIONS),
            Self::BranchMisses => Builder::new(Hardware::BRANCH_MISSES),
            Self::CacheMisses => Builder::new(Hardware::CACHE_MISSES),
            Self::TaskClock => Builder::new(Software::TASK_CLOCK),
        };
        builder.exclude_hv(true).exclude_kernel(true);
        builder
    }
}

/// Why there is no reading of an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Absence {
    /// The processor that this system sees has no such counter.
    NoCounter,
    /// The kernel's setting forbids it.
    Paranoid {
        /// `kernel.perf_event_paranoid`.
        level: i32,
    },
    /// Refused although the setting allows it: a filter of system calls, as containers have it.
    Filtered,
    /// The kernel has no performance events at all.
    NoKernelSupport,
    /// The child is not traced, so that its start cannot be caught.
    NotTraced,
    /// The counter shared its hardware with others: `running` of `enabled` nanoseconds were counted.
    Multiplexed {
        /// Nanoseconds in which it counted.
        running: u64,
        /// Nanoseconds in which it should have.
        enabled: u64,
    },
    /// The processor has cores of two kinds whose counts differ, and the program was not pinned to one.
    HybridCores,
    /// A value that cannot be: zero, or so large that the counter has wrapped.
    Impossible {
        /// The value.
        value: u64,
    },
    /// Another error of the system.
    System {
        /// Its message.
        message: String,
    },
}

impl Absence {
    fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Self::NoCounter,
            Some(libc::ENOSYS) => Self::NoKernelSupport,
            Some(libc::EACCES | libc::EPERM) => match paranoid_level() {
                Some(level) if level > 2 => Self::Paranoid { level },
                _ => Self::Filtered,
            },
            _ => Self::System {
                message: error.to_string(),
            },
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoCounter => {
                "virtual machines often hide the counters: use bare metal, an instance type that exposes them, or `--metric cpu-time`"
            }
            Self::Paranoid { .. } => {
                "as root: `sysctl kernel.perf_event_paranoid=2`, or give the program CAP_PERFMON"
            }
            Self::Filtered => {
                "start the container with a seccomp profile that allows perf_event_open, or with CAP_PERFMON"
            }
            Self::NoKernelSupport => "use a kernel with CONFIG_PERF_EVENTS",
            Self::NotTraced => "allow ptrace (container capability SYS_PTRACE)",
            Self::Multiplexed { .. } => {
                "count fewer events at a time, or end other users of the counters (such as the NMI watchdog)"
            }
            Self::HybridCores => "pin the program to one core with `--cpu NUMBER`",
            Self::Impossible { .. } => {
                "report it with the processor's model; do not use the reading"
            }
            Self::System { .. } => "see the message",
        }
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCounter => {
                f.write_str("the processor, as this system sees it, has no such counter")
            }
            Self::Paranoid { level } => write!(f, "kernel.perf_event_paranoid is {level}"),
            Self::Filtered => {
                f.write_str("perf_event_open is refused, though the kernel's setting allows it")
            }
            Self::NoKernelSupport => f.write_str("the kernel has no performance events"),
            Self::NotTraced => f.write_str("the program could not be traced at its start"),
            Self::Multiplexed { running, enabled } => {
                write!(
                    f,
                    "it was counted only {running} of {enabled} ns (multiplexed)"
                )
            }
            Self::HybridCores => {
                f.write_str("the processor has cores of two kinds, and the program was not pinned")
            }
            Self::Impossible { value } => write!(f, "it read {value}, which cannot be"),
            Self::System { message } => f.write_str(message),
        }
    }
}

/// One event of one run.
pub type Reading = (Event, Result<u64, Absence>);

fn paranoid_level() -> Option<i32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

/// Cores of two kinds, each with counters of its own.
fn has_hybrid_cores() -> bool {
    ["cpu_core", "cpu_atom"].iter().all(|name| {
        Path::new("/sys/bus/event_source/devices")
            .join(name)
            .exists()
    })
}

/// Which events this system can count, tried on this very process.
pub fn probe() -> Vec<(Event, Result<(), Absence>)> {
    Event::ALL
        .into_iter()
        .map(|event| {
            let opened = event.builder().observe_self().any_cpu().build();
            (event, opened.map(drop).map_err(|error| Absence::of(&error)))
        })
        .collect()
}

/// Counters that have been opened on a child.
#[derive(Debug, Default)]
pub(super) struct Attached {
    counters: Vec<(Event, Result<Counter, Absence>)>,
}

impl Attached {
    /// Opens and starts counters of a process that stands still, and of the threads that it will start.
    pub(super) fn to(pid: libc::pid_t, events: &[Event], pinned: bool) -> Self {
        let hybrid = !pinned && has_hybrid_cores();
        let open = |event: Event| {
            if hybrid && event.is_hardware() {
                return Err(Absence::HybridCores);
            }
            let mut builder = event.builder();
            builder.observe_pid(pid).any_cpu().inherit(true);
            let opened = builder.build().and_then(|mut counter| {
                counter.enable()?;
                Ok(counter)
            });
            opened.map_err(|error| Absence::of(&error))
        };
        Self {
            counters: events.iter().map(|&event| (event, open(event))).collect(),
        }
    }

    /// What stands in for counters of a child that was not caught at its start.
    pub(super) fn to_none(events: &[Event]) -> Self {
        let absent = |&event: &Event| (event, Err(Absence::NotTraced));
        Self {
            counters: events.iter().map(absent).collect(),
        }
    }

    /// The readings, after the child's end.
    pub(super) fn read(self) -> Vec<Reading> {
        (self.counters.into_iter())
            .map(|(event, counter)| (event, counter.and_then(|counter| reading(event, counter))))
            .collect()
    }
}

fn reading(event: Event, mut counter: Counter) -> Result<u64, Absence> {
    let data = counter.read_full().map_err(|error| Absence::of(&error))?;
    let nanoseconds = |time: Option<std::time::Duration>| {
        time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    };
    judged(
        event,
        data.count(),
        nanoseconds(data.time_enabled()),
        nanoseconds(data.time_running()),
    )
}

/// A reading, if it can be believed.
fn judged(event: Event, value: u64, enabled: u64, running: u64) -> Result<u64, Absence> {
    if running < enabled {
        return Err(Absence::Multiplexed { running, enabled });
    }
    // A program that ran has retired instructions, in some cycles, over some branches; misses can be none.
    let can_be_zero = matches!(event, Event::BranchMisses | Event::CacheMisses);
    if value >= 1 << 63 || (value == 0 && !can_be_zero) {
        return Err(Absence::Impossible { value });
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_that_is_not_the_whole_truth_is_none() {
        assert_eq!(judged(Event::Cycles, 10, 5, 5), Ok(10));
        assert_eq!(
            judged(Event::Cycles, 10, 6, 5),
            Err(Absence::Multiplexed {
                running: 5,
                enabled: 6
            })
        );
        assert_eq!(
            judged(Event::Instructions, 0, 5, 5),
            Err(Absence::Impossible { value: 0 })
        );
        assert_eq!(judged(Event::BranchMisses, 0, 5, 5), Ok(0));
        assert!(judged(Event::CacheMisses, u64::MAX, 5, 5).is_err());
    }

    #[test]
    fn every_event_is_probed_and_every_absence_has_a_reason_and_a_remedy() {
        let probed = probe();
        assert_eq!(probed.len(), Event::ALL.len());
        for (event, result) in probed {
            if let Err(absence) = result {
                assert!(!absence.to_string().is_empty(), "{event:?}");
                assert!(!absence.remedy().is_empty(), "{event:?}");
            }
        }
        for (errno, absence) in [
            (libc::ENOENT, Absence::NoCounter),
            (libc::ENOSYS, Absence::NoKernelSupport),
        ] {
            assert_eq!(Absence::of(&io::Error::from_raw_os_error(errno)), absence);
        }
    }
}
