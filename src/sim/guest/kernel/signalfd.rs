//! Signals that are read: `signalfd`.
use super::abi::*;
use super::descriptor::{Object, Open};
use super::signal::Info;
use super::user::{Record, take_u64};
use super::{Answer, Kernel};
use crate::sim::memory::Memory;

/// Bytes of what is read of one signal.
pub(super) const RECORD_SIZE: u64 = 128;

impl Kernel {
    pub(super) fn signalfd(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        mask: u64,
        size: u64,
        flags: u32,
    ) -> Answer {
        if flags & !(O_CLOEXEC | O_NONBLOCK) != 0 || size != 8 {
            return Err(EINVAL.into());
        }
        let mask = take_u64(mem, mask)? & !(1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1));
        if fd == -1 {
            let object = Object::Signals { mask };
            let open = Open::new(object, O_RDWR | flags & O_NONBLOCK, None);
            return Ok(self.descriptors.insert(open, flags & O_CLOEXEC != 0)? as u64);
        }
        match &mut self.descriptors.get_mut(fd)?.object {
            Object::Signals { mask: kept } => *kept = mask,
            _ => return Err(EINVAL.into()),
        }
        self.descriptor_changes += 1;
        Ok(fd as u64)
    }

    /// Takes as many pending signals of a mask as there is room for; what is read of them.
    pub(super) fn read_signals(&mut self, mask: u64, room: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) + RECORD_SIZE <= room {
            let Some(info) = self.take_pending(mask) else {
                break;
            };
            bytes.extend(record(&info));
        }
        bytes
    }
}

/// A `signalfd_siginfo`.
fn record(info: &Info) -> Vec<u8> {
    let [first, second] = info.fields();
    let (low, high) = (first as u32, (first >> 32) as u32);
    let record = Record::new()
        .u32(info.signal.into())
        .u32(0)
        .u32(info.code() as u32);
    let record = match (info.code(), info.signal) {
        // Timer: number, overrun, value.
        (super::timer::SI_TIMER, _) => (record.u32(0).u32(0).u32(0).u32(low).u32(0).u32(high))
            .u32(0)
            .u32(0)
            .u32(second as u32)
            .u64(second)
            .zeros(24),
        // A child: which, whose, how it ended.
        (1.., SIGCHLD) => (record.u32(low).u32(high).zeros(20))
            .u32(second as u32)
            .u32(0)
            .zeros(32),
        // A fault: where.
        (1.., _) => record.zeros(60).u64(first),
        // Somebody: who, and the value that came along.
        _ => (record.u32(low).u32(high).zeros(24))
            .u32(second as u32)
            .u64(second)
            .zeros(24),
    };
    let mut bytes = record.bytes();
    bytes.resize(RECORD_SIZE as usize, 0);
    bytes
}
