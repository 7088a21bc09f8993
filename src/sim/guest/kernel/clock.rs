//! Clocks. They all follow simulated time; a guest that reads one is flagged, as its behaviour may depend on it.
use super::abi::*;
use super::user::{Record, give};
use super::{Answer, Kernel};
use crate::sim::memory::Memory;

const NS: u64 = 1_000_000_000;
/// Seconds and nanoseconds.
pub(super) fn timespec(ns: u64) -> Vec<u8> {
    Record::new().u64(ns / NS).u64(ns % NS).bytes()
}

/// Reads seconds and nanoseconds as one number; durations beyond its range (584 years) are cut to it.
pub(super) fn parse_timespec(bytes: [u8; 16]) -> Result<u64, Errno> {
    let (seconds, ns) = halves(bytes);
    if seconds < 0 || !(0..NS as i64).contains(&ns) {
        return Err(EINVAL);
    }
    Ok((seconds as u64)
        .saturating_mul(NS)
        .saturating_add(ns as u64))
}

/// Reads seconds and microseconds as nanoseconds. Linux takes more than a second's worth of microseconds in `select`
/// and refuses it elsewhere; here the sum is taken.
pub(super) fn parse_timeval(bytes: [u8; 16]) -> Result<u64, Errno> {
    let (seconds, us) = halves(bytes);
    if seconds < 0 || us < 0 {
        return Err(EINVAL);
    }
    Ok((seconds as u64)
        .saturating_mul(NS)
        .saturating_add((us as u64).saturating_mul(1000)))
}

fn halves(bytes: [u8; 16]) -> (i64, i64) {
    let both = i128::from_le_bytes(bytes);
    (both as i64, (both >> 64) as i64)
}

impl Kernel {
    /// Nanoseconds that the process has run.
    pub(super) fn processor_ns(&self) -> u64 {
        self.now.nanoseconds
    }

    /// CLOCK_MONOTONIC.
    pub(super) fn monotonic_ns(&self) -> u64 {
        (self.profile.uptime_s.saturating_mul(NS))
            .saturating_add(self.now.nanoseconds)
            .saturating_add(self.slept_ns)
    }

    /// CLOCK_REALTIME.
    pub(super) fn realtime_ns(&self) -> u64 {
        (self.profile.start_time_s.saturating_mul(NS))
            .saturating_add(self.now.nanoseconds)
            .saturating_add(self.slept_ns)
    }

    /// Time passes while the process sleeps.
    pub(super) fn sleep(&mut self, ns: u64) {
        self.slept_ns = self.slept_ns.saturating_add(ns);
    }

    /// The reading of a clock by its number.
    fn clock(&self, clock: i32) -> Result<u64, Errno> {
        Ok(match clock {
            // REALTIME, REALTIME_COARSE, REALTIME_ALARM, TAI
            0 | 5 | 8 | 11 => self.realtime_ns(),
            // MONOTONIC, MONOTONIC_RAW, MONOTONIC_COARSE, BOOTTIME, BOOTTIME_ALARM
            1 | 4 | 6 | 7 | 9 => self.monotonic_ns(),
            2 => self.processor_ns(),
            3 => self.thread_ns(self.threads.me.tid).ok_or(EINVAL)?,
            // Clocks of a process or thread by number: the number inverted above three bits of kind.
            negative if negative < 0 && negative & 3 < 3 => {
                let pid = !(negative >> 3);
                if negative & 4 != 0 {
                    let tid = if pid == 0 {
                        self.threads.me.tid
                    } else {
                        pid as u32
                    };
                    return self.thread_ns(tid).ok_or(EINVAL);
                }
                if pid == 0 || pid == self.processes.pid as i32 {
                    self.processor_ns()
                } else {
                    return Err(EINVAL);
                }
            }
            _ => return Err(EINVAL),
        })
    }

    pub(super) fn clock_gettime(&mut self, mem: &mut Memory, clock: i32, at: u64) -> Answer {
        let ns = self.clock(clock)?;
        self.clock_read = true;
        give(mem, at, &timespec(ns))?;
        Ok(0)
    }

    pub(super) fn clock_getres(&mut self, mem: &mut Memory, clock: i32, at: u64) -> Answer {
        self.clock(clock)?;
        // Coarse clocks of Linux tick 250 times a second.
        let resolution = if matches!(clock, 5 | 6) { 4_000_000 } else { 1 };
        if at != 0 {
            give(mem, at, &timespec(resolution))?;
        }
        Ok(0)
    }

    /// The absolute reading of a clock that can be slept on.
    pub(super) fn sleeping_clock(&self, clock: i32) -> Result<u64, Errno> {
        match clock {
            3..=6 => Err(EOPNOTSUPP),
            _ => self.clock(clock),
        }
    }

    pub(super) fn gettimeofday(&mut self, mem: &mut Memory, time: u64, zone: u64) -> Answer {
        self.clock_read = true;
        if time != 0 {
            let ns = self.realtime_ns();
            give(
                mem,
                time,
                &Record::new().u64(ns / NS).u64(ns % NS / 1000).bytes(),
            )?;
        }
        if zone != 0 {
            give(mem, zone, &[0; 8])?;
        }
        Ok(0)
    }

    pub(super) fn time(&mut self, mem: &mut Memory, at: u64) -> Answer {
        self.clock_read = true;
        let seconds = self.realtime_ns() / NS;
        if at != 0 {
            give(mem, at, &seconds.to_le_bytes())?;
        }
        Ok(seconds)
    }

    pub(super) fn times(&mut self, mem: &mut Memory, at: u64) -> Answer {
        self.clock_read = true;
        let tick = NS / CLOCK_TICKS;
        if at != 0 {
            give(
                mem,
                at,
                &Record::new()
                    .u64(self.processor_ns() / tick)
                    .zeros(24)
                    .bytes(),
            )?;
        }
        Ok(self.monotonic_ns() / tick)
    }
}
