//! The tree of files as the guest sees it: the world below, and over it what the guest has changed.
//!
//! Changes are kept by canonical path. A file is a number, so that names can come and go while it is open: opening a
//! file of the world gives it a number, and closing it takes the number back unless something was changed.
use super::super::world::{Node, World, join, parent};
use super::Stop;
use super::abi::*;
use crate::sim::memory::{Memory, PAGE_SIZE};
use crate::sim::outcome::Exit;
use crate::sim::shared::SharedId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Number of a file that has been opened or changed.
pub(super) type FileId = u64;

/// What an entry of the overlay costs besides its content: without a price, names alone could fill the host's memory.
const ENTRY_COST: u64 = 512;
/// The largest file, as on ext4 with blocks of 4 KiB.
pub(super) const MAX_FILE_SIZE: u64 = (1 << 44) - 4096;
/// Inode numbers of guest-made files follow this one; those of the world are hashes below it.
const FIRST_NEW_INODE: u64 = 1 << 40;

/// The bytes of a file.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// As the world has them.
    World(Arc<[u8]>),
    /// Written by the guest.
    Owned(Arc<Vec<u8>>),
    /// Memory that processes map.
    Mapped {
        object: SharedId,
        /// Bytes.
        size: u64,
    },
}

impl Content {
    /// Bytes.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::World(bytes) => bytes.len() as u64,
            Self::Owned(bytes) => bytes.len() as u64,
            Self::Mapped { size, .. } => *size,
        }
    }
}

/// Access and modification time, nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) accessed: u64,
    pub(super) modified: u64,
}

/// A file that has been opened or changed.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) content: Content,
    /// Permission bits.
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) inode: u64,
    /// Names.
    pub(super) links: u32,
    /// Open descriptions.
    opens: u32,
    pub(super) times: Times,
    /// The path in the world, while the file is as the world has it.
    unchanged: Option<String>,
}

/// A directory's status.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectoryStatus {
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) times: Times,
}

#[derive(Clone, Debug)]
enum Change {
    /// Removed from the world.
    Gone,
    File(FileId),
    Directory(DirectoryStatus),
    Symlink(Arc<str>),
}

/// What stands at a path.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A file that has a number.
    File(FileId),
    /// A file of the world that nobody has opened.
    Unopened {
        content: Arc<[u8]>,
        executable: bool,
    },
    Directory(DirectoryStatus),
    Symlink(Arc<str>),
    /// What the kernel makes: `/dev`, `/proc`.
    Synthetic(super::synthetic::Synthetic),
    /// `/proc/self/fd/N`: whatever that descriptor stands for.
    Descriptor(i32),
}

/// Permission to search, write or read, in the bits of `access`.
pub(super) const MAY_EXECUTE: u32 = 1;
pub(super) const MAY_WRITE: u32 = 2;
pub(super) const MAY_READ: u32 = 4;

/// Whether the guest's user may do this.
pub(super) fn permits(mode: u32, owner: u32, wanted: u32) -> bool {
    let granted = if owner == GUEST_UID { mode >> 6 } else { mode };
    granted & wanted == wanted
}

/// The tree of files.
#[derive(Clone, Debug)]
pub(super) struct FileSystem {
    world: World,
    changes: BTreeMap<String, Change>,
    files: BTreeMap<FileId, File>,
    next_file: FileId,
    /// Bytes that the changes hold, for the memory limit.
    held_bytes: u64,
    /// Canonical path of the working directory.
    pub(super) working_directory: String,
    /// Paths of the world's files that were opened.
    pub(super) read_set: BTreeSet<String>,
    /// Memory that was the content of files that are no more.
    pub(super) dropped: Vec<SharedId>,
    start_ns: u64,
}

impl FileSystem {
    pub(super) fn new(world: World, start_ns: u64) -> Self {
        Self {
            working_directory: world.working_directory().to_owned(),
            world,
            changes: BTreeMap::new(),
            files: BTreeMap::new(),
            next_file: 0,
            held_bytes: 0,
            read_set: BTreeSet::new(),
            dropped: Vec::new(),
            start_ns,
        }
    }

    /// The time stamp of everything that the guest has not stamped itself.
    pub(super) fn start_times(&self) -> Times {
        Times {
            accessed: self.start_ns,
            modified: self.start_ns,
        }
    }

    /// What stands at a canonical path, apart from what the kernel makes.
    pub(super) fn entry(&self, path: &str) -> Option<Entry> {
        match self.changes.get(path) {
            Some(Change::Gone) => return None,
            Some(Change::File(id)) => return Some(Entry::File(*id)),
            Some(Change::Directory(status)) => return Some(Entry::Directory(*status)),
            Some(Change::Symlink(target)) => return Some(Entry::Symlink(Arc::clone(target))),
            None => {}
        }
        Some(match self.world.lookup(path)? {
            Node::File {
                content,
                executable,
            } => Entry::Unopened {
                content,
                executable,
            },
            Node::Directory => Entry::Directory(self.world_directory(path)),
            Node::Symlink { target } => Entry::Symlink(target),
        })
    }

    /// Directories of the world belong to root, but for those that everybody may write to and the working directory.
    fn world_directory(&self, path: &str) -> DirectoryStatus {
        let (mode, owner) = match path {
            "/tmp" | "/var/tmp" | "/dev/shm" => (0o1777, 0),
            _ if path == self.world.working_directory() => (0o755, GUEST_UID),
            _ => (0o755, 0),
        };
        DirectoryStatus {
            mode,
            owner,
            times: self.start_times(),
        }
    }

    /// The names in a directory, sorted, apart from those that the kernel makes.
    pub(super) fn list(&self, path: &str) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = self.world.list(path).into_iter().collect();
        let prefix = join(path, "");
        for (below, change) in self
            .changes
            .range(prefix.clone()..)
            .take_while(|(p, _)| p.starts_with(&prefix))
        {
            let name = &below[prefix.len()..];
            if name.is_empty() || name.contains('/') {
                continue;
            }
            if matches!(change, Change::Gone) {
                names.remove(name);
            } else {
                names.insert(name.to_owned());
            }
        }
        names
    }

    /// The file of this number.
    pub(super) fn file(&self, id: FileId) -> Result<&File, Errno> {
        self.files.get(&id).ok_or(EIO)
    }

    /// The file of this number, to be changed: it no longer is as the world has it.
    pub(super) fn change(&mut self, id: FileId) -> Result<&mut File, Errno> {
        let file = self.files.get_mut(&id).ok_or(EIO)?;
        file.unchanged = None;
        Ok(file)
    }

    /// Gives a file of the world a number; one that has one keeps it.
    pub(super) fn adopt(&mut self, path: &str) -> Result<FileId, Errno> {
        match self.entry(path).ok_or(ENOENT)? {
            Entry::File(id) => Ok(id),
            Entry::Unopened {
                content,
                executable,
            } => {
                let file = File {
                    content: Content::World(content),
                    mode: if executable { 0o755 } else { 0o644 },
                    owner: 0,
                    inode: inode_of(path),
                    links: 1,
                    opens: 0,
                    times: self.start_times(),
                    unchanged: Some(path.to_owned()),
                };
                Ok(self.insert_file(path, file))
            }
            _ => Err(EINVAL),
        }
    }

    fn insert_file(&mut self, path: &str, file: File) -> FileId {
        let id = self.next_file;
        self.next_file += 1;
        self.files.insert(id, file);
        self.changes.insert(path.to_owned(), Change::File(id));
        id
    }

    /// Opens a file of the world or a changed one.
    pub(super) fn open(&mut self, path: &str) -> Result<FileId, Errno> {
        let id = self.adopt(path)?;
        let file = self.files.get_mut(&id).ok_or(EIO)?;
        file.opens += 1;
        if file.unchanged.is_some() {
            self.read_set.insert(path.to_owned());
        }
        Ok(id)
    }

    /// Counts another open description of a file.
    pub(super) fn reopen(&mut self, id: FileId) -> Result<(), Errno> {
        self.files.get_mut(&id).ok_or(EIO)?.opens += 1;
        Ok(())
    }

    /// A file's last handle of one description was closed.
    pub(super) fn close(&mut self, id: FileId) {
        if let Some(file) = self.files.get_mut(&id) {
            file.opens -= 1;
            self.forget(id);
        }
    }

    /// Drops a file that has neither names nor openings, or that is as the world has it.
    fn forget(&mut self, id: FileId) {
        let Some(file) = self.files.get(&id).filter(|f| f.opens == 0) else {
            return;
        };
        if let Some(path) = &file.unchanged {
            self.changes.remove(path);
        } else if file.links == 0 {
            let bytes = owned_bytes(&file.content) + ENTRY_COST;
            self.release(bytes);
        } else {
            return;
        }
        if let Some(File {
            content: Content::Mapped { object, .. },
            ..
        }) = self.files.remove(&id)
        {
            self.dropped.push(object);
        }
    }

    /// Makes an empty file.
    pub(super) fn create(&mut self, mem: &Memory, path: &str, mode: u32) -> Result<FileId, Stop> {
        self.charge(mem, name_cost(path))?;
        let id = self.create_unnamed(mem, mode)?;
        self.files.get_mut(&id).ok_or(EIO)?.links = 1;
        self.changes.insert(path.to_owned(), Change::File(id));
        Ok(id)
    }

    /// Makes an empty file without a name.
    pub(super) fn create_unnamed(&mut self, mem: &Memory, mode: u32) -> Result<FileId, Stop> {
        self.charge(mem, ENTRY_COST)?;
        let id = self.next_file;
        self.next_file += 1;
        let file = File {
            content: Content::Owned(Arc::default()),
            mode: mode & 0o7777,
            owner: GUEST_UID,
            inode: FIRST_NEW_INODE + id,
            links: 0,
            opens: 0,
            times: self.start_times(),
            unchanged: None,
        };
        self.files.insert(id, file);
        Ok(id)
    }

    /// Makes an empty directory where nothing stands.
    pub(super) fn create_directory(
        &mut self,
        mem: &Memory,
        path: &str,
        mode: u32,
    ) -> Result<(), Stop> {
        self.charge(mem, name_cost(path))?;
        let status = DirectoryStatus {
            mode: mode & 0o1777,
            owner: GUEST_UID,
            times: self.start_times(),
        };
        self.changes
            .insert(path.to_owned(), Change::Directory(status));
        Ok(())
    }

    /// Makes a symbolic link where nothing stands.
    pub(super) fn create_symlink(
        &mut self,
        mem: &Memory,
        path: &str,
        target: &str,
    ) -> Result<(), Stop> {
        self.charge(mem, name_cost(path) + target.len() as u64)?;
        self.changes
            .insert(path.to_owned(), Change::Symlink(target.into()));
        Ok(())
    }

    /// Gives a file another name, where nothing stands.
    pub(super) fn link(&mut self, mem: &Memory, from: &str, to: &str) -> Result<(), Stop> {
        self.charge(mem, name_cost(to))?;
        let id = self.adopt(from)?;
        self.change(id)?.links += 1;
        self.changes.insert(to.to_owned(), Change::File(id));
        Ok(())
    }

    /// Changes a directory's status.
    pub(super) fn set_directory(
        &mut self,
        mem: &Memory,
        path: &str,
        status: DirectoryStatus,
    ) -> Result<(), Stop> {
        if !self.changes.contains_key(path) {
            self.charge(mem, name_cost(path))?;
        }
        self.changes
            .insert(path.to_owned(), Change::Directory(status));
        Ok(())
    }

    /// Takes a name away: of a file, a link or an empty directory.
    pub(super) fn remove(&mut self, mem: &Memory, path: &str) -> Result<(), Stop> {
        let file = match self.entry(path).ok_or(ENOENT)? {
            Entry::File(id) => Some(id),
            _ => None,
        };
        if self.world.lookup(path).is_some() {
            if !self.changes.contains_key(path) {
                self.charge(mem, name_cost(path))?;
            }
            self.changes.insert(path.to_owned(), Change::Gone);
        } else {
            self.changes.remove(path);
            self.release(name_cost(path));
        }
        if let Some(id) = file {
            self.change(id)?.links -= 1;
            self.forget(id);
        }
        Ok(())
    }

    /// Moves a file or a link to a name where nothing stands.
    pub(super) fn rename(&mut self, mem: &Memory, from: &str, to: &str) -> Result<(), Stop> {
        match self.entry(from).ok_or(ENOENT)? {
            Entry::File(_) | Entry::Unopened { .. } => self.link(mem, from, to)?,
            Entry::Symlink(target) => self.create_symlink(mem, to, &target)?,
            _ => return Err(EXDEV.into()),
        }
        self.remove(mem, from)
    }

    /// Whether a directory can be moved.
    pub(super) fn check_movable(&self, from: &str) -> Result<(), Errno> {
        // As an overlay file system of Linux answers: a directory of the lower layer cannot be moved, only copied.
        if self.world.lookup(from).is_some() {
            Err(EXDEV)
        } else {
            Ok(())
        }
    }

    /// Moves a directory that the guest made, with everything in it, to a name where nothing stands.
    pub(super) fn rename_directory(
        &mut self,
        mem: &Memory,
        from: &str,
        to: &str,
    ) -> Result<(), Stop> {
        self.check_movable(from)?;
        let prefix = join(from, "");
        let below: Vec<String> = std::iter::once(from.to_owned())
            .chain(
                self.changes
                    .range(prefix.clone()..)
                    .map(|(p, _)| p.clone())
                    .take_while(|p| p.starts_with(&prefix)),
            )
            .collect();
        // A name that hides one of the world has to stay hidden where the directory goes.
        self.charge(mem, below.iter().map(|p| p.len() as u64).sum())?;
        for path in below {
            if let Some(change) = self.changes.remove(&path) {
                self.changes
                    .insert(format!("{to}{}", &path[from.len()..]), change);
            }
        }
        if let Some(rest) = self.working_directory.strip_prefix(from)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            self.working_directory = format!("{to}{rest}");
        }
        Ok(())
    }

    /// Writes at an offset, filling a gap before it with zeros.
    pub(super) fn write(
        &mut self,
        mem: &mut Memory,
        id: FileId,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        let end = offset
            .checked_add(bytes.len() as u64)
            .filter(|&e| e <= MAX_FILE_SIZE)
            .ok_or(EFBIG)?;
        let size = self.file(id)?.content.size();
        self.own(mem, id, end.max(size))?;
        let at = offset as usize;
        match &mut self.change(id)?.content {
            Content::Owned(content) => {
                Arc::make_mut(content)[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Content::Mapped { object, .. } => mem.write_shared_bytes(*object, offset, bytes)?,
            Content::World(_) => return Err(EIO.into()),
        }
        Ok(())
    }

    /// Sets the size, cutting off or adding zeros.
    pub(super) fn truncate(&mut self, mem: &mut Memory, id: FileId, size: u64) -> Result<(), Stop> {
        if size > MAX_FILE_SIZE {
            return Err(EFBIG.into());
        }
        self.own(mem, id, size)
    }

    /// Makes the content the guest's own and of this size.
    fn own(&mut self, mem: &mut Memory, id: FileId, size: u64) -> Result<(), Stop> {
        if let Content::Mapped { object, size: now } = &mut self.change(id)?.content {
            if *now != size {
                mem.resize_shared(*object, size);
                *now = size;
            }
            return Ok(());
        }
        let before = owned_bytes(&self.file(id)?.content);
        if size > before {
            self.charge(mem, size - before)?;
        } else {
            self.release(before - size);
        }
        let file = self.change(id)?;
        if let Content::World(bytes) = &file.content {
            file.content =
                Content::Owned(Arc::new(bytes[..bytes.len().min(size as usize)].to_vec()));
        }
        if let Content::Owned(bytes) = &mut file.content {
            Arc::make_mut(bytes).resize(size as usize, 0);
        }
        Ok(())
    }

    /// Makes the content memory that processes map; `writing` if they may change it through that.
    pub(super) fn share(
        &mut self,
        mem: &mut Memory,
        id: FileId,
        writing: bool,
    ) -> Result<SharedId, Stop> {
        let file = if writing {
            self.change(id)?
        } else {
            self.files.get_mut(&id).ok_or(EIO)?
        };
        let size = file.content.size();
        let (object, owned) = match &file.content {
            Content::Mapped { object, .. } => return Ok(*object),
            Content::World(bytes) => (mem.create_shared(Arc::clone(bytes), size, true), None),
            Content::Owned(bytes) => (
                mem.create_shared(Arc::from([]), size, true),
                Some(Arc::clone(bytes)),
            ),
        };
        file.content = Content::Mapped { object, size };
        let Some(bytes) = owned else {
            return Ok(object);
        };
        // Its pages count from now on as memory.
        self.release(size);
        for (page, bytes) in (0u64..).zip(bytes.chunks(PAGE_SIZE as usize)) {
            if bytes.iter().any(|&byte| byte != 0) {
                mem.write_shared_bytes(object, page * PAGE_SIZE, bytes)?;
            }
        }
        Ok(object)
    }

    /// Takes back what was charged.
    pub(super) fn release(&mut self, bytes: u64) {
        // Charges and releases of one name can differ where it stood in the world before: never below zero.
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }

    /// Counts bytes against the memory limit, together with the live pages of the process.
    pub(super) fn charge(&mut self, mem: &Memory, bytes: u64) -> Result<(), Stop> {
        let held = self.held_bytes.saturating_add(bytes);
        if held.saturating_add(mem.live_pages() * PAGE_SIZE) > mem.limit_bytes() {
            return Err(Stop::Exit(Exit::MemoryLimit));
        }
        self.held_bytes = held;
        Ok(())
    }
}

/// What a name costs.
fn name_cost(path: &str) -> u64 {
    ENTRY_COST + path.len() as u64
}

fn owned_bytes(content: &Content) -> u64 {
    match content {
        Content::World(_) | Content::Mapped { .. } => 0,
        Content::Owned(bytes) => bytes.len() as u64,
    }
}

/// The inode number of a path of the world: its FNV-1a hash, below those of new files and never 0.
pub(super) fn inode_of(path: &str) -> u64 {
    let hash = path.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ hash >> 40) % (FIRST_NEW_INODE - 1) + 1
}

/// The directory above a path, for permission to change its names.
pub(super) fn directory_of(path: &str) -> &str {
    parent(path).unwrap_or("/")
}
