//! The status of files: stat and relatives, permissions, times, file systems.
use super::abi::*;
use super::clock::parse_timespec;
use super::descriptor::{CharacterDevice, Object};
use super::filesystem::{Entry, MAY_WRITE, Times, inode_of, permits};
use super::path::Place;
use super::synthetic::Synthetic;
use super::user::{Record, give, take, take_path};
use super::{Answer, Kernel, Stop};
use crate::sim::memory::{Memory, PAGE_SIZE};

/// The device number of every file: one file system.
const DEVICE: (u32, u32) = (0, 16);
/// The device number of pipes and the like.
const ANONYMOUS_DEVICE: (u32, u32) = (0, 14);
/// Bytes that programs should read at a time: fixed, as stdio sizes its buffers by it.
const BLOCK_SIZE: u64 = 4096;
/// The same for what the kernel itself writes below `/proc`.
const PROC_BLOCK_SIZE: u64 = 1024;
const NS: u64 = 1_000_000_000;

/// The status of a file.
#[derive(Clone, Copy, Debug)]
struct Status {
    device: (u32, u32),
    inode: u64,
    mode: u32,
    links: u32,
    owner: u32,
    special: (u32, u32),
    size: u64,
    /// Bytes that programs should read at a time.
    block_size: u64,
    times: Times,
}

/// Bytes that programs should read of a file at a time.
fn block_size(path: &str) -> u64 {
    if path == "/proc" || path.starts_with("/proc/") {
        PROC_BLOCK_SIZE
    } else {
        BLOCK_SIZE
    }
}

/// A device number as `stat` holds it.
fn device_number((major, minor): (u32, u32)) -> u64 {
    u64::from(minor & 0xff) | u64::from(major & 0xfff) << 8 | u64::from(minor & !0xff) << 12
}

impl Kernel {
    fn status_of(&self, place: &Place) -> Result<Status, Errno> {
        let base = Status {
            device: DEVICE,
            inode: inode_of(&place.path),
            mode: 0,
            links: 1,
            owner: 0,
            special: (0, 0),
            size: 0,
            block_size: block_size(&place.path),
            times: self.files.start_times(),
        };
        Ok(match place.found()? {
            Entry::File(id) => {
                let file = self.files.file(*id)?;
                Status {
                    inode: file.inode,
                    mode: S_IFREG | file.mode,
                    links: file.links,
                    owner: file.owner,
                    size: file.content.size(),
                    times: file.times,
                    ..base
                }
            }
            Entry::Unopened {
                content,
                executable,
            } => Status {
                mode: S_IFREG | if *executable { 0o755 } else { 0o644 },
                size: content.len() as u64,
                ..base
            },
            Entry::Directory(status) => Status {
                mode: S_IFDIR | status.mode,
                links: 2,
                owner: status.owner,
                size: BLOCK_SIZE,
                times: status.times,
                ..base
            },
            Entry::Symlink(target) => Status {
                mode: S_IFLNK | 0o777,
                size: target.len() as u64,
                ..base
            },
            Entry::Synthetic(Synthetic::Character(_, major, minor)) => Status {
                mode: S_IFCHR | 0o666,
                special: (*major, *minor),
                ..base
            },
            Entry::Synthetic(Synthetic::Text(..)) => Status {
                mode: S_IFREG | 0o444,
                ..base
            },
            Entry::Descriptor(fd) => self.status_of_open(*fd)?,
        })
    }

    /// The status of what a descriptor stands for.
    fn status_of_open(&self, fd: i32) -> Result<Status, Errno> {
        let open = self.descriptors.get(fd)?;
        let base = Status {
            device: ANONYMOUS_DEVICE,
            inode: 1,
            mode: S_IFIFO | 0o600,
            links: 1,
            owner: GUEST_UID,
            special: (0, 0),
            size: 0,
            block_size: BLOCK_SIZE,
            times: self.files.start_times(),
        };
        Ok(match &open.object {
            Object::File(_) | Object::Directory { .. } => {
                return self.status_of(&self.place_of(fd)?);
            }
            Object::Stdin => base,
            Object::Stdout => Status { inode: 2, ..base },
            Object::Stderr => Status { inode: 3, ..base },
            Object::PipeReader(id) | Object::PipeWriter(id) => Status {
                inode: 100 + id,
                ..base
            },
            Object::Pair { input, .. } => Status {
                mode: S_IFSOCK | 0o777,
                inode: 100 + input,
                ..base
            },
            Object::Driver => Status {
                mode: S_IFCHR | 0o600,
                special: (10, 198),
                inode: 4,
                ..base
            },
            Object::Event { .. }
            | Object::Epoll(_)
            | Object::Timer(_)
            | Object::Signals { .. }
            | Object::Process { .. } => Status {
                mode: 0o600,
                inode: 5,
                ..base
            },
            Object::Text(_) => {
                let path = open.path.as_deref().unwrap_or_default();
                Status {
                    device: DEVICE,
                    mode: S_IFREG | 0o444,
                    owner: 0,
                    inode: inode_of(path),
                    block_size: block_size(path),
                    ..base
                }
            }
            Object::Character(device) => {
                let minor = match device {
                    CharacterDevice::Null => 3,
                    CharacterDevice::Zero => 5,
                    CharacterDevice::Full => 7,
                    CharacterDevice::Random if open.path.as_deref() == Some("/dev/random") => 8,
                    CharacterDevice::Random => 9,
                };
                let path = open.path.as_deref().unwrap_or_default();
                Status {
                    device: DEVICE,
                    mode: S_IFCHR | 0o666,
                    owner: 0,
                    special: (1, minor),
                    inode: inode_of(path),
                    ..base
                }
            }
        })
    }

    /// The status that a path (or, with AT_EMPTY_PATH, a descriptor) names.
    fn lookup_status(
        &self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        flags: u32,
    ) -> Result<Status, Stop> {
        // Linux takes a null pointer for the empty path since 6.11; before, it is a bad address.
        let path = take_path(mem, path)?;
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            if directory == AT_FDCWD {
                let path = self.files.working_directory.clone();
                let entry = self.entry(&path);
                return Ok(self.status_of(&Place {
                    path,
                    entry,
                    slash: false,
                    dots: true,
                })?);
            }
            return Ok(self.status_of_open(directory)?);
        }
        let follow = flags & AT_SYMLINK_NOFOLLOW == 0;
        let place = self.resolve(directory, &path, follow)?;
        if let (Some(Entry::Descriptor(fd)), false) = (&place.entry, follow) {
            // The link itself.
            let size = 64;
            let status = self.status_of_open(*fd)?;
            let inode = inode_of(&place.path);
            return Ok(Status {
                device: DEVICE,
                mode: S_IFLNK | 0o700,
                size,
                inode,
                special: (0, 0),
                ..status
            });
        }
        Ok(self.status_of(&place)?)
    }

    pub(super) fn stat(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        at: u64,
        flags: u32,
    ) -> Answer {
        if flags & !(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE)
            != 0
        {
            return Err(EINVAL.into());
        }
        let status = self.lookup_status(mem, directory, path, flags)?;
        give(mem, at, &stat_record(&status))?;
        Ok(0)
    }

    pub(super) fn fstat(&mut self, mem: &mut Memory, fd: i32, at: u64) -> Answer {
        let status = self.status_of_open(fd)?;
        give(mem, at, &stat_record(&status))?;
        Ok(0)
    }

    pub(super) fn statx(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        flags: u32,
        mask: u32,
        at: u64,
    ) -> Answer {
        const RESERVED: u32 = 0x8000_0000;
        if mask & RESERVED != 0
            || flags & !(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE)
                != 0
            || flags & AT_STATX_SYNC_TYPE == AT_STATX_SYNC_TYPE
        {
            return Err(EINVAL.into());
        }
        let status = self.lookup_status(mem, directory, path, flags)?;
        give(mem, at, &statx_record(&status))?;
        Ok(0)
    }

    pub(super) fn access(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        mode: u32,
        flags: u32,
    ) -> Answer {
        if mode & !7 != 0 || flags & !(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
            return Err(EINVAL.into());
        }
        let status = self.lookup_status(mem, directory, path, flags)?;
        if permits(status.mode, status.owner, mode) {
            Ok(0)
        } else {
            Err(EACCES.into())
        }
    }

    pub(super) fn statfs(&mut self, mem: &mut Memory, path: u64, at: u64) -> Answer {
        let path = take_path(mem, path)?;
        self.resolve(AT_FDCWD, &path, true)?.found()?;
        self.give_statfs(mem, at)
    }

    pub(super) fn fstatfs(&mut self, mem: &mut Memory, fd: i32, at: u64) -> Answer {
        self.descriptors.get(fd)?;
        self.give_statfs(mem, at)
    }

    /// One ext4-like file system that is as large as memory.
    fn give_statfs(&self, mem: &mut Memory, at: u64) -> Answer {
        const EXT4_MAGIC: u64 = 0xef53;
        let blocks = mem.limit_bytes() / BLOCK_SIZE;
        let free = blocks.saturating_sub(mem.live_pages() * PAGE_SIZE / BLOCK_SIZE);
        let record = Record::new()
            .u64(EXT4_MAGIC)
            .u64(BLOCK_SIZE)
            .u64(blocks)
            .u64(free)
            .u64(free)
            .u64(1 << 20)
            .u64(1 << 19)
            .u64(0)
            .u64(NAME_MAX as u64)
            .u64(BLOCK_SIZE)
            .u64(0x1020) // ST_VALID | ST_RELATIME
            .zeros(32);
        give(mem, at, &record.bytes())?;
        Ok(0)
    }

    pub(super) fn utime(&mut self, mem: &mut Memory, path: u64, at: u64) -> Answer {
        let times = if at == 0 {
            [None, None]
        } else {
            let both = u128::from_le_bytes(take(mem, at)?);
            [both as u64, (both >> 64) as u64].map(|s| Some(s.saturating_mul(NS)))
        };
        let path = take_path(mem, path)?;
        let place = self.resolve(AT_FDCWD, &path, true)?;
        self.set_times(mem, &place, times)
    }

    pub(super) fn utimes(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        at: u64,
    ) -> Answer {
        let mut times = [None, None];
        if at != 0 {
            for (i, time) in times.iter_mut().enumerate() {
                let pair = u128::from_le_bytes(take(mem, at.wrapping_add(16 * i as u64))?);
                let (seconds, us) = (pair as u64, (pair >> 64) as u64);
                if us >= 1_000_000 {
                    return Err(EINVAL.into());
                }
                *time = Some(seconds.saturating_mul(NS).saturating_add(us * 1000));
            }
        }
        let path = take_path(mem, path)?;
        let place = self.resolve(directory, &path, true)?;
        self.set_times(mem, &place, times)
    }

    pub(super) fn utimensat(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        at: u64,
        flags: u32,
    ) -> Answer {
        const NOW: u64 = 0x3fff_ffff;
        const OMIT: u64 = 0x3fff_fffe;
        if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
            return Err(EINVAL.into());
        }
        let mut times = [None, None];
        let mut kept = [false; 2];
        if at != 0 {
            for i in 0..2 {
                let bytes: [u8; 16] = take(mem, at.wrapping_add(16 * i as u64))?;
                match (u128::from_le_bytes(bytes) >> 64) as u64 {
                    NOW => {}
                    OMIT => kept[i] = true,
                    _ => times[i] = Some(parse_timespec(bytes)?),
                }
            }
        }
        if kept == [true; 2] {
            return Ok(0);
        }
        let place = if path == 0 {
            if directory == AT_FDCWD {
                return Err(EFAULT.into());
            }
            self.place_of(directory)?
        } else {
            let path = take_path(mem, path)?;
            if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
                self.place_of(directory)?
            } else {
                self.resolve(directory, &path, flags & AT_SYMLINK_NOFOLLOW == 0)?
            }
        };
        let before = self.status_of(&place)?.times;
        if kept[0] {
            times[0] = Some(before.accessed);
        }
        if kept[1] {
            times[1] = Some(before.modified);
        }
        self.set_times(mem, &place, times)
    }

    /// Sets access and modification time; `None` is the present, which the owner and whoever may write can set.
    fn set_times(&mut self, mem: &Memory, place: &Place, times: [Option<u64>; 2]) -> Answer {
        let now = self.realtime_ns();
        let touches = times == [None, None];
        let status = self.status_of(place)?;
        if status.owner != GUEST_UID {
            return if touches && permits(status.mode, status.owner, MAY_WRITE) {
                Ok(0)
            } else {
                Err(if touches { EACCES } else { EPERM }.into())
            };
        }
        let times = Times {
            accessed: times[0].unwrap_or(now),
            modified: times[1].unwrap_or(now),
        };
        match place.found()?.clone() {
            Entry::File(id) => self.files.change(id)?.times = times,
            Entry::Directory(mut directory) => {
                directory.times = times;
                self.files.set_directory(mem, &place.path, directory)?;
            }
            _ => {}
        }
        Ok(0)
    }
}

/// `struct stat` of x86-64.
fn stat_record(status: &Status) -> Vec<u8> {
    let time = |ns: u64| (ns / NS, ns % NS);
    let (accessed, modified) = (time(status.times.accessed), time(status.times.modified));
    Record::new()
        .u64(device_number(status.device))
        .u64(status.inode)
        .u64(status.links.into())
        .u32(status.mode)
        .u32(status.owner)
        .u32(status.owner)
        .u32(0)
        .u64(device_number(status.special))
        .u64(status.size)
        .u64(status.block_size)
        .u64(status.size.div_ceil(512))
        .u64(accessed.0)
        .u64(accessed.1)
        .u64(modified.0)
        .u64(modified.1)
        .u64(modified.0)
        .u64(modified.1)
        .zeros(24)
        .bytes()
}

/// `struct statx`: the basic fields and the birth time.
fn statx_record(status: &Status) -> Vec<u8> {
    const BASIC_STATS_AND_BIRTH: u32 = 0xfff;
    let time = |record: Record, ns: u64| record.u64(ns / NS).u32((ns % NS) as u32).u32(0);
    let record = Record::new()
        .u32(BASIC_STATS_AND_BIRTH)
        .u32(status.block_size as u32)
        .u64(0)
        .u32(status.links)
        .u32(status.owner)
        .u32(status.owner)
        .u16(status.mode as u16)
        .u16(0)
        .u64(status.inode)
        .u64(status.size)
        .u64(status.size.div_ceil(512))
        .u64(0);
    let record = time(record, status.times.accessed);
    let record = time(record, status.times.modified);
    let record = time(record, status.times.modified);
    let record = time(record, status.times.modified);
    record
        .u32(status.special.0)
        .u32(status.special.1)
        .u32(status.device.0)
        .u32(status.device.1)
        .u64(1)
        .zeros(104)
        .bytes()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Process;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn files_are_read_in_blocks_of_the_same_size_as_on_the_host() {
        let mut process = Process::new();
        for path in [
            "/proc",
            "/proc/self/maps",
            "/proc/self/",
            "/proc/meminfo",
            "/dev/null",
            "/tmp",
        ] {
            let Ok(host) = std::fs::metadata(path) else {
                continue;
            };
            let status = process.bytes(&[0; 144]);
            let name = process.text(path);
            process.succeed("stat", &[name, status]);
            let size = process.get(status + 56, 8);
            assert_eq!(size, host.blksize().to_le_bytes(), "{path}");
        }
        let maps = process.open("/proc/self/maps", 0);
        let status = process.bytes(&[0; 144]);
        process.succeed("fstat", &[maps, status]);
        assert_eq!(process.get(status + 56, 8), 1024u64.to_le_bytes());
    }
}
