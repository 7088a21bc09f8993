//! Moving bytes in and out of open files: read, write and their relatives, positions, sizes.
use super::abi::*;
use super::descriptor::{CharacterDevice, Object, PIPE_CAPACITY};
use super::filesystem::{FileId, MAX_FILE_SIZE, MAY_WRITE};
use super::user::{
    Piece, gather, give, one_piece, scatter, take_path, take_pieces, take_u64, total,
};
use super::{Answer, Kernel, MarkKind, Stop};
use crate::sim::memory::Memory;
use crate::sim::outcome::{Device, Exit};
use crate::sim::shared::SharedId;
use std::borrow::Cow;
use std::sync::Arc;

/// The pieces without their first bytes.
fn behind(pieces: &[Piece], mut bytes: u64) -> Vec<Piece> {
    let mut rest = Vec::new();
    for &(addr, len) in pieces {
        let skipped = bytes.min(len);
        bytes -= skipped;
        rest.push((addr + skipped, len - skipped));
    }
    rest
}

/// A write of at most this many bytes to a pipe is done whole or not at all.
const PIPE_ATOMIC: u64 = 4096;
/// Bytes that `sendfile` moves at a time.
const COPY_CHUNK: u64 = 1 << 16;
/// Flags of `preadv2` and `pwritev2` that change nothing here: HIPRI, DSYNC, SYNC, NOWAIT.
const HARMLESS_RWF: u32 = 0xf;

/// Bytes that can be read at once, without holding on to the kernel.
enum Source {
    Fixed(Arc<[u8]>),
    Owned(Arc<Vec<u8>>),
    /// Memory that processes map, of this many bytes.
    Mapped(SharedId, u64),
}

impl Source {
    /// Up to this many bytes from a position on, as many as are moved at a time.
    fn chunk(&self, mem: &Memory, position: u64, most: u64) -> Cow<'_, [u8]> {
        let most = most.min(COPY_CHUNK);
        let part = |bytes: &[u8]| {
            let from = bytes.len().min(position as usize);
            from..bytes.len().min(from + most as usize)
        };
        match self {
            Self::Fixed(bytes) => Cow::Borrowed(&bytes[part(bytes)]),
            Self::Owned(bytes) => Cow::Borrowed(&bytes[part(bytes)]),
            Self::Mapped(object, size) => {
                let mut bytes = vec![0; most.min(size.saturating_sub(position)) as usize];
                mem.read_shared(*object, position, &mut bytes);
                Cow::Owned(bytes)
            }
        }
    }

    /// Copies from a position on into the pieces; how many bytes.
    fn copy(&self, mem: &mut Memory, pieces: &[Piece], position: u64) -> Result<u64, Stop> {
        let (object, size) = match self {
            Self::Fixed(bytes) => return copy_from(mem, pieces, bytes, position),
            Self::Owned(bytes) => return copy_from(mem, pieces, bytes, position),
            Self::Mapped(object, size) => (*object, *size),
        };
        let wanted = total(pieces).min(size.saturating_sub(position));
        let mut done = 0;
        let mut buffer = vec![0; COPY_CHUNK.min(wanted) as usize];
        while done < wanted {
            let n = (wanted - done).min(COPY_CHUNK);
            let chunk = &mut buffer[..n as usize];
            mem.read_shared(object, position + done, chunk);
            match copy_from(mem, &behind(pieces, done), chunk, 0) {
                Ok(copied) => {
                    done += copied;
                    if copied < n {
                        break;
                    }
                }
                Err(Stop::Errno(_)) if done > 0 => break,
                Err(stop) => return Err(stop),
            }
        }
        Ok(done)
    }
}

impl Kernel {
    pub(super) fn read(&mut self, mem: &mut Memory, fd: i32, at: u64, count: u64) -> Answer {
        self.readable(fd)?;
        self.read_pieces(mem, fd, &one_piece(at, count)?, None)
    }

    pub(super) fn readv(&mut self, mem: &mut Memory, fd: i32, at: u64, count: u64) -> Answer {
        self.readable(fd)?;
        let pieces = take_pieces(mem, at, count)?;
        self.read_pieces(mem, fd, &pieces, None)
    }

    pub(super) fn pread(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        offset: i64,
    ) -> Answer {
        let offset = u64::try_from(offset).map_err(|_| EINVAL)?;
        self.seekable(fd)?;
        self.readable(fd)?;
        self.read_pieces(mem, fd, &one_piece(at, count)?, Some(offset))
    }

    pub(super) fn preadv(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        offset: i64,
    ) -> Answer {
        let offset = u64::try_from(offset).map_err(|_| EINVAL)?;
        self.seekable(fd)?;
        self.readable(fd)?;
        let pieces = take_pieces(mem, at, count)?;
        self.read_pieces(mem, fd, &pieces, Some(offset))
    }

    pub(super) fn preadv2(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        offset: i64,
        flags: u32,
    ) -> Answer {
        if flags & !HARMLESS_RWF != 0 {
            return Err(EOPNOTSUPP.into());
        }
        if offset == -1 {
            self.readv(mem, fd, at, count)
        } else {
            self.preadv(mem, fd, at, count, offset)
        }
    }

    pub(super) fn write(&mut self, mem: &mut Memory, fd: i32, at: u64, count: u64) -> Answer {
        self.writable(fd)?;
        self.write_pieces(mem, fd, &one_piece(at, count)?, None)
    }

    pub(super) fn writev(&mut self, mem: &mut Memory, fd: i32, at: u64, count: u64) -> Answer {
        self.writable(fd)?;
        let pieces = take_pieces(mem, at, count)?;
        self.write_pieces(mem, fd, &pieces, None)
    }

    pub(super) fn pwrite(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        offset: i64,
    ) -> Answer {
        let offset = u64::try_from(offset).map_err(|_| EINVAL)?;
        self.seekable(fd)?;
        self.writable(fd)?;
        self.write_pieces(mem, fd, &one_piece(at, count)?, Some(offset))
    }

    pub(super) fn pwritev(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        offset: i64,
    ) -> Answer {
        let offset = u64::try_from(offset).map_err(|_| EINVAL)?;
        self.seekable(fd)?;
        self.writable(fd)?;
        let pieces = take_pieces(mem, at, count)?;
        self.write_pieces(mem, fd, &pieces, Some(offset))
    }

    pub(super) fn pwritev2(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        offset: i64,
        flags: u32,
    ) -> Answer {
        if flags & !HARMLESS_RWF != 0 {
            return Err(EOPNOTSUPP.into());
        }
        if offset == -1 {
            self.writev(mem, fd, at, count)
        } else {
            self.pwritev(mem, fd, at, count, offset)
        }
    }

    fn readable(&self, fd: i32) -> Result<(), Errno> {
        if self.descriptors.get(fd)?.readable() {
            Ok(())
        } else {
            Err(EBADF)
        }
    }

    fn writable(&self, fd: i32) -> Result<(), Errno> {
        if self.descriptors.get(fd)?.writable() {
            Ok(())
        } else {
            Err(EBADF)
        }
    }

    /// Whether positions mean anything.
    fn seekable(&self, fd: i32) -> Result<(), Errno> {
        let open = self.descriptors.get(fd)?;
        if open.status & O_PATH != 0 {
            return Err(EBADF);
        }
        match open.object {
            Object::File(_) | Object::Directory { .. } | Object::Character(_) | Object::Text(_) => {
                Ok(())
            }
            _ => Err(ESPIPE),
        }
    }

    pub(super) fn read_pieces(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        pieces: &[Piece],
        offset: Option<u64>,
    ) -> Answer {
        let wanted = total(pieces);
        let open = self.descriptors.get(fd)?;
        let position = offset.unwrap_or(open.offset);
        let nonblocking = open.nonblocking();
        match open.object.clone() {
            Object::Stdin => {
                let stdin = Arc::clone(&self.stdin);
                let n = copy_from(mem, pieces, &stdin, self.stdin_position)?;
                self.stdin_position += n;
                Ok(n)
            }
            Object::File(_) | Object::Text(_) => {
                let source = self.source(fd)?;
                let n = source.copy(mem, pieces, position)?;
                if offset.is_none() {
                    self.descriptors.get_mut(fd)?.offset = position + n;
                }
                Ok(n)
            }
            Object::Character(CharacterDevice::Null) => Ok(0),
            Object::Character(CharacterDevice::Zero | CharacterDevice::Full) => {
                scatter(mem, pieces, wanted, |_, buffer| buffer.fill(0))
            }
            Object::Character(CharacterDevice::Random) => {
                let Self { entropy, .. } = self;
                scatter(mem, pieces, wanted, |_, buffer| entropy.fill(buffer))
            }
            Object::PipeReader(id) | Object::Pair { input: id, .. } => {
                let pipe = self.descriptors.pipes.get_mut(&id).ok_or(EIO)?;
                if wanted == 0 {
                    return Ok(0);
                }
                if pipe.bytes.is_empty() {
                    return match (pipe.writers, nonblocking) {
                        (0, _) => Ok(0),
                        (_, true) => Err(EAGAIN.into()),
                        _ => Err(self.descriptor_wait(None, 0)),
                    };
                }
                let bytes = pipe.bytes.make_contiguous();
                let n = copy_from(mem, pieces, bytes, 0)?;
                // Those who wait to write are woken where there was no room.
                pipe.emptied += u64::from(pipe.bytes.len() == PIPE_CAPACITY && n > 0);
                pipe.bytes.drain(..n as usize);
                Ok(n)
            }
            Object::Event {
                count, semaphore, ..
            } => {
                if wanted < 8 {
                    return Err(EINVAL.into());
                }
                if count == 0 {
                    return Err(if nonblocking {
                        EAGAIN.into()
                    } else {
                        self.descriptor_wait(None, 0)
                    });
                }
                let (value, left) = if semaphore {
                    (1, count - 1)
                } else {
                    (count, 0)
                };
                let n = copy_from(mem, pieces, &value.to_le_bytes(), 0)?;
                if let Object::Event { count, edges, .. } =
                    &mut self.descriptors.get_mut(fd)?.object
                {
                    *count = left;
                    edges[1] += 1;
                }
                Ok(n)
            }
            Object::Timer(_) => {
                if wanted < 8 {
                    return Err(EINVAL.into());
                }
                match self.take_expiries(fd)? {
                    0 if nonblocking => Err(EAGAIN.into()),
                    0 => Err(self.descriptor_wait(None, 0)),
                    times => copy_from(mem, pieces, &times.to_le_bytes(), 0),
                }
            }
            Object::Signals { mask } => {
                if wanted < super::signalfd::RECORD_SIZE {
                    return Err(EINVAL.into());
                }
                let bytes = self.read_signals(mask, wanted);
                match bytes.is_empty() {
                    true if nonblocking => Err(EAGAIN.into()),
                    true => Err(self.descriptor_wait(None, 0)),
                    false => copy_from(mem, pieces, &bytes, 0),
                }
            }
            Object::Driver => self.read_input(mem, pieces),
            Object::Directory { .. } => Err(EISDIR.into()),
            Object::Stdout
            | Object::Stderr
            | Object::PipeWriter(_)
            | Object::Epoll(_)
            | Object::Process { .. } => Err(EINVAL.into()),
        }
    }

    /// The bytes of an open file or text.
    fn source(&self, fd: i32) -> Result<Source, Errno> {
        use super::filesystem::Content;
        match &self.descriptors.get(fd)?.object {
            Object::File(id) => Ok(match &self.files.file(*id)?.content {
                Content::World(bytes) => Source::Fixed(Arc::clone(bytes)),
                Content::Owned(bytes) => Source::Owned(Arc::clone(bytes)),
                Content::Mapped { object, size } => Source::Mapped(*object, *size),
            }),
            Object::Text(bytes) => Ok(Source::Fixed(Arc::clone(bytes))),
            _ => Err(EINVAL),
        }
    }

    /// The content of a file, whole.
    pub(super) fn content(&self, mem: &Memory, id: FileId) -> Result<Arc<[u8]>, Errno> {
        use super::filesystem::Content;
        Ok(match &self.files.file(id)?.content {
            Content::World(bytes) => Arc::clone(bytes),
            Content::Owned(bytes) => bytes[..].into(),
            Content::Mapped { size, .. } if *size > mem.limit_bytes() => return Err(ENOMEM),
            Content::Mapped { object, size } => {
                let mut bytes = vec![0; *size as usize];
                mem.read_shared(*object, 0, &mut bytes);
                bytes.into()
            }
        })
    }

    /// Copies a part of a file's content to an address that can be written to.
    pub(super) fn copy_file(
        &self,
        mem: &mut Memory,
        id: FileId,
        part: std::ops::Range<u64>,
        to: u64,
    ) -> Result<(), Stop> {
        use super::filesystem::Content;
        let source = match &self.files.file(id)?.content {
            Content::World(bytes) => Source::Fixed(Arc::clone(bytes)),
            Content::Owned(bytes) => Source::Owned(Arc::clone(bytes)),
            Content::Mapped { object, size } => Source::Mapped(*object, *size),
        };
        source.copy(mem, &[(to, part.end - part.start)], part.start)?;
        Ok(())
    }

    /// The driver reads its next input, whole.
    fn read_input(&mut self, mem: &mut Memory, pieces: &[Piece]) -> Answer {
        self.check_driver()?;
        let Some(device) = &self.device else {
            return Err(EIO.into());
        };
        if device.pause_at == Some(self.next_input) {
            return Err(Stop::Pause);
        }
        let Some(input) = device.inputs.get(self.next_input).map(Arc::clone) else {
            return Ok(0);
        };
        if (input.len() as u64) > total(pieces) {
            // Cutting it would lose its end without a word.
            return Err(EMSGSIZE.into());
        }
        let n = copy_from(mem, pieces, &input, 0)?;
        if n < input.len() as u64 {
            return Err(EFAULT.into());
        }
        if self.next_input <= 1 {
            // What the interpreter and the driver did before they knew the candidate is not the candidate's doing.
            self.clock_read = false;
        }
        self.next_input += 1;
        Ok(n)
    }

    pub(super) fn write_pieces(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        pieces: &[Piece],
        offset: Option<u64>,
    ) -> Answer {
        match self.descriptors.get(fd)?.object {
            Object::Driver => return self.write_message(mem, pieces),
            // These do not look at what they are given.
            Object::Character(CharacterDevice::Null | CharacterDevice::Zero) => {
                return Ok(total(pieces));
            }
            Object::Character(CharacterDevice::Full) if total(pieces) > 0 => {
                return Err(ENOSPC.into());
            }
            _ => {}
        }
        let before = self.progress();
        let rest = behind(pieces, before);
        let pieces: &[Piece] = if before > 0 { &rest } else { pieces };
        let mut written = 0;
        let mut full = false;
        let result = gather(mem, pieces, |mem, bytes| {
            let n = self.write_chunk(
                mem,
                fd,
                bytes,
                offset.map(|o| o + written),
                written == 0,
                total(pieces),
            )?;
            written += n;
            full = n < bytes.len() as u64;
            Ok(n)
        });
        let open = self.descriptors.get(fd)?;
        let pipe = matches!(open.object, Object::PipeWriter(_) | Object::Pair { .. });
        match result {
            // A writer that waits does so until everything is in the pipe.
            Ok(n) if full && pipe && !open.nonblocking() => {
                if n > 0 {
                    self.descriptor_changes += 1;
                }
                Err(self.descriptor_wait(None, before + n))
            }
            Ok(n) => Ok(before + n),
            Err(Stop::Errno(_)) if before > 0 => Ok(before),
            Err(stop) => Err(stop),
        }
    }

    /// Writes a part of one call's bytes; `whole` is the size of the call.
    fn write_chunk(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        bytes: &[u8],
        offset: Option<u64>,
        first: bool,
        whole: u64,
    ) -> Answer {
        let limit = self.limits.output_bytes;
        let open = self.descriptors.get(fd)?;
        let (nonblocking, append, position) =
            (open.nonblocking(), open.status & O_APPEND != 0, open.offset);
        let len = bytes.len() as u64;
        match open.object {
            Object::Stdout => output(&mut self.stdout, bytes, limit),
            Object::Stderr => output(&mut self.stderr, bytes, limit),
            Object::File(id) => {
                // Linux appends even where `pwrite` names an offset.
                let at = if append {
                    self.size(id)?
                } else {
                    offset.unwrap_or(position)
                };
                self.files.write(mem, id, at, bytes)?;
                if offset.is_none() {
                    self.descriptors.get_mut(fd)?.offset = at + len;
                }
                Ok(len)
            }
            Object::Character(CharacterDevice::Full) => Err(ENOSPC.into()),
            Object::Character(_) => Ok(len),
            Object::PipeWriter(id) | Object::Pair { output: id, .. } => {
                let pipe = self.descriptors.pipes.get_mut(&id).ok_or(EIO)?;
                if pipe.readers == 0 {
                    return Err(self.broken_pipe(mem));
                }
                let room = (PIPE_CAPACITY - pipe.bytes.len()) as u64;
                if first && (room == 0 || whole <= PIPE_ATOMIC && room < whole) {
                    return if nonblocking {
                        Err(EAGAIN.into())
                    } else {
                        Ok(0)
                    };
                }
                let n = room.min(len);
                pipe.bytes.extend(&bytes[..n as usize]);
                pipe.filled += u64::from(n > 0);
                Ok(n)
            }
            Object::Event {
                count,
                semaphore,
                edges: [added, taken],
            } => {
                let word = bytes.first_chunk::<8>().ok_or(EINVAL)?;
                let value = u64::from_le_bytes(*word);
                if value == u64::MAX {
                    return Err(EINVAL.into());
                }
                let Some(sum) = count.checked_add(value).filter(|&s| s < u64::MAX) else {
                    return Err(if nonblocking {
                        EAGAIN.into()
                    } else {
                        self.descriptor_wait(None, 0)
                    });
                };
                self.descriptors.get_mut(fd)?.object = Object::Event {
                    count: sum,
                    semaphore,
                    edges: [added + 1, taken],
                };
                Ok(8)
            }
            _ => Err(EINVAL.into()),
        }
    }

    /// The driver is the first process; one that a candidate has forked off it does not speak for it.
    fn check_driver(&self) -> Result<(), Stop> {
        if self.processes.pid == GUEST_PID {
            Ok(())
        } else {
            Err(Stop::Exit(Exit::ForgedMarker))
        }
    }

    /// A message of the driver: kind, nonce, text.
    fn write_message(&mut self, mem: &mut Memory, pieces: &[Piece]) -> Answer {
        self.check_driver()?;
        let len = total(pieces);
        if len > self.limits.output_bytes {
            return Err(Stop::Exit(Exit::OutputLimit));
        }
        let mut message = Vec::new();
        let n = gather(mem, pieces, |_, bytes| {
            message.extend_from_slice(bytes);
            Ok(bytes.len() as u64)
        })?;
        if n < len {
            return Err(EFAULT.into());
        }
        let Some(device) = &self.device else {
            return Err(EIO.into());
        };
        let (kind, text) = match message.split_first() {
            Some((&kind, rest)) if rest.starts_with(&device.nonce) => {
                (kind, &rest[device.nonce.len()..])
            }
            _ => return Err(Stop::Exit(Exit::ForgedMarker)),
        };
        match kind {
            Device::BEGIN => Err(Stop::Mark(MarkKind::Begin, n)),
            Device::END => Err(Stop::Mark(MarkKind::End, n)),
            Device::REHEARSAL => Ok(n),
            _ => {
                self.message_bytes += n;
                if self.message_bytes > self.limits.output_bytes {
                    return Err(Stop::Exit(Exit::OutputLimit));
                }
                if matches!(kind, Device::DONE | Device::FAILED) {
                    // What the driver does afterwards is not the candidate's doing: an interpreter that empties its
                    // streams takes locks, which read the clock.
                    self.clock_read_when_told.get_or_insert(self.clock_read);
                }
                self.messages.push((kind, text.to_vec()));
                Ok(n)
            }
        }
    }

    /// Bytes of a file.
    pub(super) fn size(&self, id: FileId) -> Result<u64, Errno> {
        Ok(self.files.file(id)?.content.size())
    }

    pub(super) fn lseek(&mut self, fd: i32, offset: i64, whence: u32) -> Answer {
        const SET: u32 = 0;
        const CURRENT: u32 = 1;
        const END: u32 = 2;
        const DATA: u32 = 3;
        const HOLE: u32 = 4;
        if let Object::Event { .. }
        | Object::Epoll(_)
        | Object::Timer(_)
        | Object::Signals { .. }
        | Object::Process { .. } = self.descriptors.get(fd)?.object
        {
            return Ok(0);
        }
        self.seekable(fd)?;
        if whence > HOLE {
            return Err(EINVAL.into());
        }
        let open = self.descriptors.get(fd)?;
        let size = match &open.object {
            Object::File(id) => self.size(*id)?,
            Object::Text(bytes) => bytes.len() as u64,
            Object::Character(_) => return Ok(0),
            _ => 0,
        };
        let base = match whence {
            SET => 0,
            CURRENT => open.offset,
            END => size,
            // A file without holes: everything is data, and the hole is its end.
            DATA | HOLE => {
                let at = u64::try_from(offset)
                    .ok()
                    .filter(|&o| o < size)
                    .ok_or(ENXIO)?;
                let at = if whence == DATA { at } else { size };
                self.descriptors.get_mut(fd)?.offset = at;
                return Ok(at);
            }
            _ => return Err(EINVAL.into()),
        };
        let at = (base as i64).checked_add(offset).ok_or(EOVERFLOW)?;
        let at = u64::try_from(at)
            .ok()
            .filter(|&a| a <= MAX_FILE_SIZE)
            .ok_or(EINVAL)?;
        let open = self.descriptors.get_mut(fd)?;
        open.offset = at;
        if let (Object::Directory { .. }, 0) = (&open.object, at) {
            // Reading starts anew, with the names of then.
            let before = std::mem::replace(&mut open.object, Object::Directory { entries: None });
            self.files.release(before.kept_bytes());
        }
        Ok(at)
    }

    pub(super) fn fsync(&self, fd: i32) -> Answer {
        let open = self.descriptors.get(fd)?;
        match open.object {
            _ if open.status & O_PATH != 0 => Err(EBADF.into()),
            Object::File(_) | Object::Directory { .. } => Ok(0),
            _ => Err(EINVAL.into()),
        }
    }

    pub(super) fn truncate(&mut self, mem: &mut Memory, path: u64, size: i64) -> Answer {
        let path = take_path(mem, path)?;
        let size = u64::try_from(size).map_err(|_| EINVAL)?;
        let id = self.file_for(AT_FDCWD, &path, MAY_WRITE)?;
        self.files.truncate(mem, id, size)?;
        Ok(0)
    }

    pub(super) fn ftruncate(&mut self, mem: &mut Memory, fd: i32, size: i64) -> Answer {
        let size = u64::try_from(size).map_err(|_| EINVAL)?;
        let open = self.descriptors.get(fd)?;
        match open.object {
            _ if open.status & O_PATH != 0 => Err(EBADF.into()),
            Object::File(id) if open.writable() => {
                self.files.truncate(mem, id, size)?;
                Ok(0)
            }
            _ => Err(EINVAL.into()),
        }
    }

    pub(super) fn fallocate(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        mode: u32,
        offset: i64,
        len: i64,
    ) -> Answer {
        const KEEP_SIZE: u32 = 1;
        let offset = u64::try_from(offset).map_err(|_| EINVAL)?;
        let len = u64::try_from(len).ok().filter(|&l| l > 0).ok_or(EINVAL)?;
        let open = self.descriptors.get(fd)?;
        if mode & !KEEP_SIZE != 0 {
            return Err(EOPNOTSUPP.into());
        }
        if !open.writable() {
            return Err(EBADF.into());
        }
        let Object::File(id) = open.object else {
            return Err(match open.object {
                Object::PipeWriter(_) | Object::Stdout | Object::Stderr => ESPIPE,
                _ => ENODEV,
            }
            .into());
        };
        let end = offset
            .checked_add(len)
            .filter(|&e| e <= i64::MAX as u64)
            .ok_or(EFBIG)?;
        if mode & KEEP_SIZE == 0 && end > self.size(id)? {
            self.files.truncate(mem, id, end)?;
        }
        Ok(0)
    }

    pub(super) fn fadvise(&self, fd: i32, _offset: i64, len: i64, advice: u32) -> Answer {
        let open = self.descriptors.get(fd)?;
        if matches!(
            open.object,
            Object::Stdin
                | Object::Stdout
                | Object::Stderr
                | Object::PipeReader(_)
                | Object::PipeWriter(_)
        ) {
            return Err(ESPIPE.into());
        }
        if advice > 5 || len < 0 {
            Err(EINVAL.into())
        } else {
            Ok(0)
        }
    }

    pub(super) fn sendfile(
        &mut self,
        mem: &mut Memory,
        out: i32,
        input: i32,
        at: u64,
        count: u64,
    ) -> Answer {
        self.readable(input)?;
        self.writable(out)?;
        let mut position = if at == 0 {
            self.descriptors.get(input)?.offset
        } else {
            take_u64(mem, at)?
        };
        if position > i64::MAX as u64 || matches!(self.descriptors.get(out)?.object, Object::Driver)
        {
            return Err(EINVAL.into());
        }
        let count = count.min(MAX_RW_COUNT);
        let source = self.source(input)?;
        let mut done = 0;
        while done < count {
            let bytes = source.chunk(mem, position, count - done);
            if bytes.is_empty() {
                break;
            }
            let n = self.write_chunk(mem, out, &bytes, None, done == 0, count)?;
            if n == 0 && done == 0 {
                // A pipe without room, whose writer waits.
                return Err(self.descriptor_wait(None, 0));
            }
            position += n;
            done += n;
            if n < bytes.len() as u64 {
                break;
            }
        }
        if at == 0 {
            self.descriptors.get_mut(input)?.offset = position;
        } else {
            give(mem, at, &position.to_le_bytes())?;
        }
        Ok(done)
    }
}

/// Copies what a file has from an offset on into the guest's buffer.
fn copy_from(mem: &mut Memory, pieces: &[Piece], bytes: &[u8], offset: u64) -> Answer {
    let available = (bytes.len() as u64).saturating_sub(offset);
    let n = available.min(total(pieces));
    scatter(mem, pieces, n, |done, buffer| {
        let from = (offset + done) as usize;
        buffer.copy_from_slice(&bytes[from..from + buffer.len()]);
    })
}

/// Appends to an output up to its limit.
fn output(stream: &mut Vec<u8>, bytes: &[u8], limit: u64) -> Answer {
    let room = limit.saturating_sub(stream.len() as u64);
    let n = room.min(bytes.len() as u64);
    stream.extend_from_slice(&bytes[..n as usize]);
    if n < bytes.len() as u64 {
        Err(Stop::Exit(Exit::OutputLimit))
    } else {
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, SCRATCH, SCRATCH_SIZE, failed};
    use super::*;

    fn pieces(process: &mut Process, list: &[(u64, u64)]) -> u64 {
        let bytes: Vec<u8> = list
            .iter()
            .flat_map(|&(a, n)| [a, n])
            .flat_map(u64::to_le_bytes)
            .collect();
        process.bytes(&bytes)
    }

    #[test]
    fn output_is_kept_up_to_its_limit() {
        let mut process = Process::new();
        let at = process.bytes(&[b'x'; 600]);
        assert_eq!(process.call("write", &[1, at, 600]), 600);
        assert_eq!(
            process.call("write", &[2, at, 600]),
            600,
            "each stream has its own limit"
        );
        assert_eq!(process.call("write", &[1, at, 400]), 400);
        assert_eq!(process.exit("write", &[1, at, 1]), Exit::OutputLimit);
        assert_eq!(process.exit("write", &[2, at, 600]), Exit::OutputLimit);
        assert_eq!(
            (
                process.guest.kernel.stdout.len(),
                process.guest.kernel.stderr.len()
            ),
            (1000, 1000)
        );
    }

    #[test]
    fn input_ends_and_output_gathers() {
        let mut process = Process::new();
        let at = process.bytes(&[0; 64]);
        let list = pieces(&mut process, &[(at, 3), (at + 16, 0), (at + 32, 32)]);
        assert_eq!(process.call("readv", &[0, list, 3]), 13);
        assert_eq!(
            (process.get(at, 4), process.get(at + 32, 4)),
            (b"fir\0".to_vec(), b"st\ns".to_vec())
        );
        assert_eq!(process.call("read", &[0, at, 64]), 0);
        assert_eq!(process.call("writev", &[1, list, 2]), 3);
        assert_eq!(process.guest.kernel.stdout, b"fir");
        assert_eq!(process.call("lseek", &[0, 0, 1]), failed(ESPIPE));
        assert_eq!(process.call("pread64", &[0, at, 1, 0]), failed(ESPIPE));
    }

    #[test]
    fn bad_pointers_and_counts_give_linuxs_answers() {
        let mut process = Process::new();
        let end = SCRATCH + SCRATCH_SIZE;
        let fd = process.open("/etc/passwd", 0);
        assert_eq!(process.call("read", &[fd, 8, 4]), failed(EFAULT));
        assert_eq!(
            process.call("read", &[fd, SCRATCH, 1 << 63]),
            failed(EFAULT)
        );
        assert_eq!(
            process.call("read", &[fd, end - 5, 20]),
            5,
            "what fits before the bad page"
        );
        assert_eq!(process.call("read", &[fd, end, 20]), failed(EFAULT));
        assert_eq!(process.call("write", &[1, end - 5, 20]), 5);
        assert_eq!(process.call("write", &[1, end, 20]), failed(EFAULT));
        assert_eq!(process.call("write", &[1, 1 << 63, 0]), failed(EFAULT));
        assert_eq!(process.call("write", &[fd, SCRATCH, 1]), failed(EBADF));
        assert_eq!(process.call("read", &[1, SCRATCH, 1]), failed(EBADF));
        assert_eq!(process.call("read", &[77, 8, 4]), failed(EBADF));
        assert_eq!(process.call("readv", &[fd, SCRATCH, 1025]), failed(EINVAL));
        assert_eq!(process.call("readv", &[fd, 8, 1]), failed(EFAULT));
        let list = pieces(&mut process, &[(SCRATCH, u64::MAX)]);
        assert_eq!(process.call("readv", &[fd, list, 1]), failed(EINVAL));
        assert_eq!(
            process.call("pread64", &[fd, SCRATCH, 1, u64::MAX]),
            failed(EINVAL)
        );
        let directory = process.open("/etc", 0);
        assert_eq!(
            process.call("read", &[directory, SCRATCH, 1]),
            failed(EISDIR)
        );
    }

    #[test]
    fn positions_and_sizes_follow_the_calls() {
        let mut process = Process::new();
        let fd = process.open("/tmp/f", O_CREAT | O_RDWR);
        let at = process.bytes(b"0123456789");
        assert_eq!(process.call("write", &[fd, at, 10]), 10);
        assert_eq!(process.call("lseek", &[fd, (-4i64) as u64, 2]), 6);
        assert_eq!(
            process.call("lseek", &[fd, (-7i64) as u64, 1]),
            failed(EINVAL)
        );
        assert_eq!(process.call("lseek", &[fd, 3, 3]), 3);
        assert_eq!(process.call("lseek", &[fd, 3, 4]), 10);
        assert_eq!(process.call("lseek", &[fd, 10, 3]), failed(ENXIO));
        assert_eq!(process.call("pwrite64", &[fd, at, 2, 15]), 2);
        assert_eq!(process.content("/tmp/f"), b"0123456789\0\0\0\0\x0001");
        assert_eq!(process.call("ftruncate", &[fd, 3]), 0);
        assert_eq!(process.call("ftruncate", &[fd, 5]), 0);
        assert_eq!(process.content("/tmp/f"), b"012\0\0");
        let append = process.open("/tmp/f", O_WRONLY | O_APPEND);
        assert_eq!(process.call("write", &[append, at, 1]), 1);
        assert_eq!(process.content("/tmp/f"), b"012\0\x000");
        assert_eq!(process.call("fallocate", &[fd, 0, 0, 8]), 0);
        assert_eq!(
            process.call("fallocate", &[fd, 3, 0, 8]),
            failed(EOPNOTSUPP)
        );
        let out = process.open("/tmp/g", O_CREAT | O_WRONLY);
        process.call("lseek", &[fd, 1, 0]);
        assert_eq!(process.call("sendfile", &[out, fd, 0, 1 << 40]), 7);
        assert_eq!(process.content("/tmp/g"), b"12\0\x000\0\0");
    }

    #[test]
    fn pipes_carry_bytes_and_never_wait_for_ever() {
        let mut process = Process::new();
        let at = process.bytes(&[0; 16]);
        process.succeed("pipe2", &[at, O_NONBLOCK.into()]);
        let ends = process.get(at, 8);
        let (reader, writer) = (u64::from(ends[0]), u64::from(ends[4]));
        assert_eq!((reader, writer), (3, 4));
        assert_eq!(process.call("read", &[reader, at, 8]), failed(EAGAIN));
        let big = process.bytes(&[7; 70_000]);
        assert_eq!(
            process.call("write", &[writer, big, 70_000]),
            PIPE_CAPACITY as i64
        );
        assert_eq!(process.call("write", &[writer, big, 1]), failed(EAGAIN));
        assert_eq!(
            process.call("read", &[reader, big, 70_000]),
            PIPE_CAPACITY as i64
        );
        process.call("close", &[writer]);
        assert_eq!(process.call("read", &[reader, at, 8]), 0);
        for (call, count) in [("read", 8), ("write", 70_000)] {
            let mut stuck = Process::new();
            let at = stuck.bytes(&[0; 70_000]);
            stuck.succeed("pipe", &[at]);
            let fd = if call == "read" { 3 } else { 4 };
            let deadlock = Exit::Deadlock {
                call: call.to_owned(),
            };
            assert_eq!(stuck.exit(call, &[fd, at, count]), deadlock);
        }
        process.succeed("pipe", &[at]);
        process.call("close", &[4]);
        let Exit::Signaled { signal, .. } = process.exit("write", &[5, at, 1]) else {
            panic!("SIGPIPE kills")
        };
        assert_eq!(signal, SIGPIPE);
        let ignore = process.bytes(&[&1u64.to_le_bytes()[..], &[0; 24]].concat());
        process.succeed("rt_sigaction", &[SIGPIPE.into(), ignore, 0, 8]);
        assert_eq!(process.call("write", &[5, at, 1]), failed(EPIPE));
    }

    #[test]
    fn events_count() {
        let mut process = Process::new();
        let fd = process.succeed("eventfd2", &[2, O_NONBLOCK.into()]);
        let at = process.bytes(&5u64.to_le_bytes());
        assert_eq!(process.call("write", &[fd, at, 8]), 8);
        assert_eq!(process.call("write", &[fd, at, 4]), failed(EINVAL));
        assert_eq!(process.call("read", &[fd, at, 4]), failed(EINVAL));
        assert_eq!(process.call("read", &[fd, at, 8]), 8);
        assert_eq!(process.get(at, 8), 7u64.to_le_bytes());
        assert_eq!(process.call("read", &[fd, at, 8]), failed(EAGAIN));
    }
}
