//! File descriptors and the open files behind them.
use super::abi::*;
use super::epoll::Watched;
use super::filesystem::FileId;
use super::timerfd::ReadTimer;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Number of an open file description.
pub(super) type OpenId = u64;
/// Number of a pipe.
pub(super) type PipeId = u64;
/// Number of a timer that is read.
pub(super) type TimerId = u64;

/// Bytes that a pipe holds.
pub(super) const PIPE_CAPACITY: usize = 1 << 16;
/// Soft limit of open descriptors, as RLIMIT_NOFILE shows it.
pub(super) const DESCRIPTOR_LIMIT: u64 = 1024;
/// Hard limit.
pub(super) const DESCRIPTOR_HARD_LIMIT: u64 = 4096;

/// Character devices without state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharacterDevice {
    Null,
    Zero,
    Full,
    Random,
}

/// What an open file is.
#[derive(Clone, Debug)]
pub(super) enum Object {
    /// The program's input: a pipe whose writer has written everything and gone.
    Stdin,
    Stdout,
    Stderr,
    /// The driver's side channel.
    Driver,
    File(FileId),
    /// A directory, by canonical path; its entries as they were when reading began.
    Directory {
        entries: Option<Arc<[DirectoryEntry]>>,
    },
    Character(CharacterDevice),
    /// A file of `/proc`, with the text that it had when it was opened.
    Text(Arc<[u8]>),
    PipeReader(PipeId),
    PipeWriter(PipeId),
    /// One end of a pair of connected sockets.
    Pair {
        input: PipeId,
        output: PipeId,
    },
    /// An `eventfd`.
    Event {
        count: u64,
        semaphore: bool,
        /// How often it was added to, and taken from.
        edges: [u64; 2],
    },
    /// An `epoll` instance.
    Epoll(Watched),
    /// A timer that is read.
    Timer(TimerId),
    /// Signals that are read.
    Signals {
        mask: u64,
    },
    /// A process.
    Process {
        pid: u32,
    },
}

impl Object {
    /// Bytes that the kernel keeps for this besides what files hold: they count against the memory limit, or opening
    /// the same thing many times would fill the host's memory.
    pub(super) fn kept_bytes(&self) -> u64 {
        match self {
            Self::Text(bytes) => bytes.len() as u64,
            Self::Directory {
                entries: Some(entries),
            } => entries
                .iter()
                .map(|e| (size_of::<DirectoryEntry>() + e.name.len()) as u64)
                .sum(),
            _ => 0,
        }
    }
}

/// One name of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DirectoryEntry {
    pub(super) name: String,
    pub(super) inode: u64,
    /// `DT_*`.
    pub(super) kind: u8,
}

/// An open file description: what `dup` shares.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) object: Object,
    /// Position in bytes; in a directory, number of the next entry.
    pub(super) offset: u64,
    /// Access mode and status flags (`O_APPEND`, `O_NONBLOCK`, `O_PATH`).
    pub(super) status: u32,
    /// Canonical path, for directories and `/proc/self/fd`.
    pub(super) path: Option<String>,
    handles: u32,
}

impl Open {
    pub(super) fn new(object: Object, status: u32, path: Option<String>) -> Self {
        Self {
            object,
            offset: 0,
            status,
            path,
            handles: 0,
        }
    }
    pub(super) fn readable(&self) -> bool {
        self.status & O_PATH == 0 && matches!(self.status & O_ACCMODE, O_RDONLY | O_RDWR)
    }
    pub(super) fn writable(&self) -> bool {
        self.status & O_PATH == 0 && matches!(self.status & O_ACCMODE, O_WRONLY | O_RDWR)
    }
    pub(super) fn nonblocking(&self) -> bool {
        self.status & O_NONBLOCK != 0
    }
}

/// The descriptors of a process.
pub(super) type Table = BTreeMap<i32, Handle>;

/// A descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    open: OpenId,
    close_on_exec: bool,
}

/// A pipe.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    pub(super) bytes: VecDeque<u8>,
    /// Open descriptions of either end.
    pub(super) readers: u32,
    pub(super) writers: u32,
    /// How often bytes or the end came, and room or the end of reading.
    pub(super) filled: u64,
    pub(super) emptied: u64,
}

/// The table of descriptors, and what they stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Descriptors {
    table: Table,
    open: BTreeMap<OpenId, Open>,
    next_open: OpenId,
    pub(super) pipes: BTreeMap<PipeId, Pipe>,
    next_pipe: PipeId,
    pub(super) timers: BTreeMap<TimerId, ReadTimer>,
    next_timer: TimerId,
    /// The soft limit; the guest may change it.
    pub(super) limit: u64,
}

impl Descriptors {
    pub(super) fn new() -> Self {
        Self {
            limit: DESCRIPTOR_LIMIT,
            ..Self::default()
        }
    }

    /// The open file of a descriptor.
    pub(super) fn get(&self, fd: i32) -> Result<&Open, Errno> {
        let handle = self.table.get(&fd).ok_or(EBADF)?;
        self.open.get(&handle.open).ok_or(EBADF)
    }

    /// The open file of a descriptor.
    pub(super) fn get_mut(&mut self, fd: i32) -> Result<&mut Open, Errno> {
        let handle = self.table.get(&fd).ok_or(EBADF)?;
        self.open.get_mut(&handle.open).ok_or(EBADF)
    }

    /// What a descriptor stands for, by number.
    pub(super) fn open_id(&self, fd: i32) -> Result<OpenId, Errno> {
        Ok(self.table.get(&fd).ok_or(EBADF)?.open)
    }

    /// An open file by number.
    pub(super) fn open(&self, id: OpenId) -> Option<&Open> {
        self.open.get(&id)
    }

    /// Open descriptors, ascending.
    pub(super) fn numbers(&self) -> impl Iterator<Item = i32> {
        self.table.keys().copied()
    }

    /// Whether anything can be opened.
    pub(super) fn lowest_free(&self, from: i32) -> Result<i32, Errno> {
        let mut fd = from;
        for (&used, _) in self.table.range(from..) {
            if used > fd {
                break;
            }
            fd = used + 1;
        }
        if (fd as u64) < self.limit {
            Ok(fd)
        } else {
            Err(EMFILE)
        }
    }

    /// Opens something on the lowest free descriptor. The caller has counted the opening of a file.
    pub(super) fn insert(&mut self, open: Open, close_on_exec: bool) -> Result<i32, Errno> {
        let fd = self.lowest_free(0)?;
        self.insert_at(fd, open, close_on_exec);
        Ok(fd)
    }

    /// Opens something on a free descriptor.
    pub(super) fn insert_at(&mut self, fd: i32, mut open: Open, close_on_exec: bool) {
        open.handles = 1;
        match open.object {
            Object::PipeReader(pipe) => self.pipes.entry(pipe).or_default().readers += 1,
            Object::PipeWriter(pipe) => self.pipes.entry(pipe).or_default().writers += 1,
            Object::Pair { input, output } => {
                self.pipes.entry(input).or_default().readers += 1;
                self.pipes.entry(output).or_default().writers += 1;
            }
            _ => {}
        }
        let id = self.next_open;
        self.next_open += 1;
        self.open.insert(id, open);
        self.table.insert(
            fd,
            Handle {
                open: id,
                close_on_exec,
            },
        );
    }

    /// A number for a new pipe.
    pub(super) fn new_pipe(&mut self) -> PipeId {
        self.next_pipe += 1;
        self.next_pipe
    }

    /// Keeps a new timer.
    pub(super) fn new_timer(&mut self, timer: ReadTimer) -> TimerId {
        self.next_timer += 1;
        self.timers.insert(self.next_timer, timer);
        self.next_timer
    }

    /// Makes `to`, which is free, another handle of what `from` stands for.
    pub(super) fn duplicate(
        &mut self,
        from: i32,
        to: i32,
        close_on_exec: bool,
    ) -> Result<(), Errno> {
        let handle = *self.table.get(&from).ok_or(EBADF)?;
        self.open.get_mut(&handle.open).ok_or(EBADF)?.handles += 1;
        self.table.insert(
            to,
            Handle {
                open: handle.open,
                close_on_exec,
            },
        );
        Ok(())
    }

    /// Closes a descriptor; what it stood for, if that was its last handle.
    pub(super) fn close(&mut self, fd: i32) -> Result<Option<Object>, Errno> {
        let handle = self.table.remove(&fd).ok_or(EBADF)?;
        let open = self.open.get_mut(&handle.open).ok_or(EBADF)?;
        open.handles -= 1;
        if open.handles > 0 {
            return Ok(None);
        }
        // An open file leaves the epoll sets with its last handle.
        let Some(open) = self.open.remove(&handle.open) else {
            return Ok(None);
        };
        for other in self.open.values_mut() {
            if let Object::Epoll(watched) = &mut other.object {
                watched.forget(handle.open);
            }
        }
        let pipes = match open.object {
            Object::PipeReader(pipe) => [Some(pipe), None],
            Object::PipeWriter(pipe) => [None, Some(pipe)],
            Object::Pair { input, output } => [Some(input), Some(output)],
            Object::Timer(id) => {
                self.timers.remove(&id);
                return Ok(None);
            }
            object => return Ok(Some(object)),
        };
        let [read, written] = pipes;
        for (pipe, reading) in [(read, true), (written, false)] {
            let Some(id) = pipe else { continue };
            let pipe = self.pipes.entry(id).or_default();
            if reading {
                pipe.readers -= 1;
                pipe.emptied += 1;
            } else {
                pipe.writers -= 1;
                pipe.filled += 1;
            }
            if pipe.readers == 0 && pipe.writers == 0 {
                self.pipes.remove(&id);
            }
        }
        Ok(None)
    }

    /// The table of a new process, which stands for the same open files.
    pub(super) fn share_table(&mut self) -> Table {
        for handle in self.table.values() {
            if let Some(open) = self.open.get_mut(&handle.open) {
                open.handles += 1;
            }
        }
        self.table.clone()
    }

    /// Makes the descriptors of another process the present ones.
    pub(super) fn swap_table(&mut self, other: &mut Table) {
        std::mem::swap(&mut self.table, other);
    }

    /// Whether the descriptor closes on exec.
    pub(super) fn close_on_exec(&self, fd: i32) -> Result<bool, Errno> {
        self.table.get(&fd).map(|h| h.close_on_exec).ok_or(EBADF)
    }

    /// Sets whether the descriptor closes on exec.
    pub(super) fn set_close_on_exec(&mut self, fd: i32, on: bool) -> Result<(), Errno> {
        self.table.get_mut(&fd).ok_or(EBADF)?.close_on_exec = on;
        Ok(())
    }
}
