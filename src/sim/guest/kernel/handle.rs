//! Descriptors themselves: close, dup, fcntl, ioctl, pipes, events.
use super::abi::*;
use super::descriptor::{CharacterDevice, DESCRIPTOR_LIMIT, Object, Open, PIPE_CAPACITY};
use super::user::{Record, give, take_u32};
use super::{Answer, Kernel, unsupported};
use crate::sim::memory::Memory;

/// Status flags that `F_SETFL` changes: APPEND, NONBLOCK, ASYNC, DIRECT, NOATIME.
const CHANGEABLE: u32 = O_APPEND | O_NONBLOCK | 0o20_000 | 0o40_000 | 0o1_000_000;

impl Kernel {
    pub(super) fn close(&mut self, fd: i32) -> Answer {
        match self.descriptors.close(fd)? {
            Some(Object::File(id)) => self.files.close(id),
            Some(object) => self.files.release(object.kept_bytes()),
            None => {}
        }
        Ok(0)
    }

    pub(super) fn close_range(&mut self, first: u32, last: u32, flags: u32) -> Answer {
        const UNSHARE: u32 = 2;
        const CLOEXEC: u32 = 4;
        if flags & !(UNSHARE | CLOEXEC) != 0 || first > last {
            return Err(EINVAL.into());
        }
        let chosen: Vec<i32> = self
            .descriptors
            .numbers()
            .filter(|&n| (first..=last).contains(&(n as u32)))
            .collect();
        for fd in chosen {
            if flags & CLOEXEC != 0 {
                self.descriptors.set_close_on_exec(fd, true)?;
            } else {
                self.close(fd)?;
            }
        }
        Ok(0)
    }

    pub(super) fn dup(&mut self, fd: i32) -> Answer {
        self.descriptors.get(fd)?;
        let to = self.descriptors.lowest_free(0)?;
        self.descriptors.duplicate(fd, to, false)?;
        Ok(to as u64)
    }

    /// `dup2` (where both may be the same) and `dup3`.
    pub(super) fn dup_to(&mut self, from: i32, to: i32, flags: u32, old: bool) -> Answer {
        if flags & !O_CLOEXEC != 0 {
            return Err(EINVAL.into());
        }
        if from == to {
            if !old {
                return Err(EINVAL.into());
            }
            self.descriptors.get(from)?;
            return Ok(to as u64);
        }
        if u64::try_from(to).map_or(true, |n| n >= self.descriptors.limit) {
            return Err(EBADF.into());
        }
        self.descriptors.get(from)?;
        if self.descriptors.get(to).is_ok() {
            self.close(to)?;
        }
        self.descriptors
            .duplicate(from, to, flags & O_CLOEXEC != 0)?;
        Ok(to as u64)
    }

    pub(super) fn fcntl(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        command: u32,
        argument: u64,
    ) -> Answer {
        let open = self.descriptors.get(fd)?;
        let path_only = open.status & O_PATH != 0;
        match command {
            // DUPFD, DUPFD_CLOEXEC
            0 | 1030 => {
                let from = i32::try_from(argument as u32)
                    .ok()
                    .filter(|&n| (n as u64) < self.descriptors.limit)
                    .ok_or(EINVAL)?;
                let to = self.descriptors.lowest_free(from)?;
                self.descriptors.duplicate(fd, to, command == 1030)?;
                Ok(to as u64)
            }
            1 => Ok(self.descriptors.close_on_exec(fd)?.into()),
            2 => {
                self.descriptors.set_close_on_exec(fd, argument & 1 != 0)?;
                Ok(0)
            }
            3 => {
                // What `open` opened, it opened as a large file.
                let large = matches!(
                    open.object,
                    Object::File(_)
                        | Object::Directory { .. }
                        | Object::Character(_)
                        | Object::Text(_)
                );
                Ok((open.status | if large && !path_only { O_LARGEFILE } else { 0 }).into())
            }
            _ if path_only => Err(EBADF.into()),
            4 => {
                let wanted = argument as u32 & CHANGEABLE;
                let open = self.descriptors.get_mut(fd)?;
                open.status = open.status & !CHANGEABLE | wanted;
                Ok(0)
            }
            // GETLK, OFD_GETLK: nobody else holds a lock, so the answer is F_UNLCK.
            5 | 36 => {
                super::user::take::<32>(mem, argument)?;
                give(mem, argument, &Record::new().u16(2).bytes())?;
                Ok(0)
            }
            // SETLK, SETLKW, OFD_SETLK, OFD_SETLKW: granted, for the same reason.
            6 | 7 | 37 | 38 => {
                let lock = super::user::take::<32>(mem, argument)?;
                let kind = u16::from_le_bytes([lock[0], lock[1]]);
                match kind {
                    0 if !open.readable() => Err(EBADF.into()),
                    1 if !open.writable() => Err(EBADF.into()),
                    0..=2 => Ok(0),
                    _ => Err(EINVAL.into()),
                }
            }
            // SETOWN, GETOWN, SETSIG, GETSIG
            8..=11 => Ok(0),
            // GETLEASE: F_UNLCK
            1025 => Ok(2),
            // SETPIPE_SZ, GETPIPE_SZ
            1031 | 1032 => match open.object {
                Object::PipeReader(_)
                | Object::PipeWriter(_)
                | Object::Stdin
                | Object::Stdout
                | Object::Stderr => Ok(PIPE_CAPACITY as u64),
                _ => Err(EBADF.into()),
            },
            _ => Err(EINVAL.into()),
        }
    }

    pub(super) fn ioctl(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        request: u32,
        argument: u64,
    ) -> Answer {
        const FIONREAD: u32 = 0x541b;
        const FIONBIO: u32 = 0x5421;
        const FIONCLEX: u32 = 0x5450;
        const FIOCLEX: u32 = 0x5451;
        const RNDGETENTCNT: u32 = 0x8004_5200;
        let open = self.descriptors.get(fd)?;
        if open.status & O_PATH != 0 {
            return Err(EBADF.into());
        }
        match request {
            FIOCLEX | FIONCLEX => {
                self.descriptors.set_close_on_exec(fd, request == FIOCLEX)?;
                Ok(0)
            }
            FIONBIO => {
                let on = take_u32(mem, argument)? != 0;
                let open = self.descriptors.get_mut(fd)?;
                open.status = open.status & !O_NONBLOCK | if on { O_NONBLOCK } else { 0 };
                Ok(0)
            }
            FIONREAD => {
                let waiting = match &open.object {
                    Object::Stdin => self.stdin.len() as u64 - self.stdin_position,
                    Object::Stdout | Object::Stderr => 0,
                    Object::File(id) => self.size(*id)?.saturating_sub(open.offset),
                    Object::PipeReader(id)
                    | Object::PipeWriter(id)
                    | Object::Pair { input: id, .. } => self
                        .descriptors
                        .pipes
                        .get(id)
                        .map_or(0, |p| p.bytes.len() as u64),
                    _ => return Err(ENOTTY.into()),
                };
                give(mem, argument, &(waiting as u32).to_le_bytes())?;
                Ok(0)
            }
            RNDGETENTCNT if matches!(open.object, Object::Character(CharacterDevice::Random)) => {
                give(mem, argument, &256u32.to_le_bytes())?;
                Ok(0)
            }
            // Terminals are asked for with TCGETS and TIOCGWINSZ; there is none.
            _ => Err(ENOTTY.into()),
        }
    }

    pub(super) fn pipe(&mut self, mem: &mut Memory, at: u64, flags: u32) -> Answer {
        const O_DIRECT: u32 = 0o40_000;
        if flags & !(O_CLOEXEC | O_NONBLOCK | O_DIRECT) != 0 {
            return Err(EINVAL.into());
        }
        if flags & O_DIRECT != 0 {
            return Err(unsupported("pipe2: O_DIRECT"));
        }
        let first = self.descriptors.lowest_free(0)?;
        let second = self.descriptors.lowest_free(first + 1)?;
        give(
            mem,
            at,
            &Record::new().u32(first as u32).u32(second as u32).bytes(),
        )?;
        let pipe = self.descriptors.new_pipe();
        let (status, close_on_exec) = (flags & O_NONBLOCK, flags & O_CLOEXEC != 0);
        self.descriptors.insert_at(
            first,
            Open::new(Object::PipeReader(pipe), O_RDONLY | status, None),
            close_on_exec,
        );
        self.descriptors.insert_at(
            second,
            Open::new(Object::PipeWriter(pipe), O_WRONLY | status, None),
            close_on_exec,
        );
        Ok(0)
    }

    pub(super) fn eventfd(&mut self, count: u32, flags: u32) -> Answer {
        const SEMAPHORE: u32 = 1;
        if flags & !(SEMAPHORE | O_CLOEXEC | O_NONBLOCK) != 0 {
            return Err(EINVAL.into());
        }
        let object = Object::Event {
            count: count.into(),
            semaphore: flags & SEMAPHORE != 0,
            edges: [0; 2],
        };
        let open = Open::new(object, O_RDWR | flags & O_NONBLOCK, None);
        Ok(self.descriptors.insert(open, flags & O_CLOEXEC != 0)? as u64)
    }
}

const _: () = assert!(
    DESCRIPTOR_LIMIT > 198,
    "the driver's descriptor is within the limit"
);
