//! Descriptors of processes.
use super::abi::*;
use super::descriptor::{Object, Open};
use super::user::{take_u32, take_u64};
use super::{Answer, Kernel};
use crate::sim::memory::Memory;

impl Kernel {
    pub(super) fn pidfd_open(&mut self, pid: i32, flags: u32) -> Answer {
        if flags & !O_NONBLOCK != 0 || pid <= 0 {
            return Err(EINVAL.into());
        }
        let pid = pid as u32;
        if !self.process_numbers().contains(&pid) && !self.is_zombie(pid) {
            return Err(if self.threads.get(pid).is_some() {
                EINVAL
            } else {
                ESRCH
            }
            .into());
        }
        Ok(self.open_process(pid, flags & O_NONBLOCK)? as u64)
    }

    /// Opens a descriptor of a process; it closes on exec.
    pub(super) fn open_process(&mut self, pid: u32, status: u32) -> Result<i32, Errno> {
        let open = Open::new(Object::Process { pid }, O_RDWR | status, None);
        self.descriptors.insert(open, true)
    }

    /// The process that a descriptor stands for.
    pub(super) fn process_of(&self, fd: i32) -> Result<u32, Errno> {
        match self.descriptors.get(fd)?.object {
            Object::Process { pid } => Ok(pid),
            _ => Err(EBADF),
        }
    }

    /// Whether a process has ended.
    pub(super) fn has_ended(&self, pid: u32) -> bool {
        !self.process_numbers().contains(&pid)
    }

    pub(super) fn pidfd_send_signal(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        signal: i32,
        info: u64,
        flags: u32,
    ) -> Answer {
        if flags != 0 {
            return Err(EINVAL.into());
        }
        let pid = self.process_of(fd)?;
        if info != 0 {
            let told = take_u32(mem, info)? as i32;
            take_u64(mem, info.wrapping_add(16))?;
            if told != signal {
                return Err(EINVAL.into());
            }
        }
        if self.has_ended(pid) {
            return Err(ESRCH.into());
        }
        if info == 0 {
            self.kill(mem, pid as i32, signal)
        } else {
            self.rt_sigqueueinfo(mem, pid as i32, None, signal, info)
        }
    }
}
