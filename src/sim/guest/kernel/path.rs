//! Paths: resolution, and the calls that open, make, move and remove what they name.
//!
//! Names are UTF-8, as on file systems that insist on it: others answer EILSEQ.
use super::super::world::{join, parent};
use super::abi::*;
use super::descriptor::{DirectoryEntry, Object, Open};
use super::filesystem::{
    Entry, FileId, MAY_EXECUTE, MAY_READ, MAY_WRITE, directory_of, inode_of, permits,
};
use super::synthetic::Synthetic;
use super::user::{check_range, give, take_path, take_u64};
use super::{Answer, Kernel, Stop, unsupported};
use crate::sim::memory::Memory;
use std::collections::VecDeque;

/// Most symbolic links that one resolution follows.
const MAX_LINKS: usize = 40;
/// The flags that O_PATH leaves standing.
const PATH_FLAGS: u32 = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Where a path leads.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Canonical path.
    pub(super) path: String,
    /// What stands there; `None` if only the directory above exists.
    pub(super) entry: Option<Entry>,
    /// The path ended in a slash, so that only a directory will do.
    pub(super) slash: bool,
    /// The path ended in `.` or `..` or was the root.
    pub(super) dots: bool,
}

impl Place {
    /// What stands there.
    pub(super) fn found(&self) -> Result<&Entry, Errno> {
        let entry = self.entry.as_ref().ok_or(ENOENT)?;
        if self.slash && !matches!(entry, Entry::Directory(_)) {
            return Err(ENOTDIR);
        }
        Ok(entry)
    }
}

impl Kernel {
    /// What stands at a canonical path.
    pub(super) fn entry(&self, path: &str) -> Option<Entry> {
        self.synthetic(path).or_else(|| self.files.entry(path))
    }

    /// Where a relative path starts.
    fn base(&self, directory: i32) -> Result<String, Errno> {
        if directory == AT_FDCWD {
            return Ok(self.files.working_directory.clone());
        }
        let open = self.descriptors.get(directory)?;
        match (&open.object, &open.path) {
            (Object::Directory { .. }, Some(path)) => Ok(path.clone()),
            _ => Err(ENOTDIR),
        }
    }

    /// Follows a path. A link at its end is followed if `follow` says so or a slash stands behind it.
    pub(super) fn resolve(
        &self,
        directory: i32,
        path: &[u8],
        follow: bool,
    ) -> Result<Place, Errno> {
        if path.is_empty() {
            return Err(ENOENT);
        }
        let text = std::str::from_utf8(path).map_err(|_| EILSEQ)?;
        let start = if text.starts_with('/') {
            "/".to_owned()
        } else {
            self.base(directory)?
        };
        let slash = text.ends_with('/');
        let mut ahead: VecDeque<String> = components(text).map(str::to_owned).collect();
        let mut place = Place {
            entry: self.entry(&start),
            path: start,
            slash,
            dots: true,
        };
        let mut links = 0;
        while let Some(name) = ahead.pop_front() {
            let status = match &place.entry {
                Some(Entry::Directory(status)) => *status,
                Some(_) => return Err(ENOTDIR),
                None => return Err(ENOENT),
            };
            if name.len() > NAME_MAX {
                return Err(ENAMETOOLONG);
            }
            if !permits(status.mode, status.owner, MAY_EXECUTE) {
                return Err(EACCES);
            }
            place.dots = matches!(name.as_str(), "." | "..");
            match name.as_str() {
                "." => continue,
                ".." => {
                    place.path = parent(&place.path).unwrap_or("/").to_owned();
                    place.entry = self.entry(&place.path);
                    continue;
                }
                _ => {}
            }
            let child = join(&place.path, &name);
            let last = ahead.is_empty();
            match self.entry(&child) {
                Some(Entry::Symlink(target)) if !last || follow || slash => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(ELOOP);
                    }
                    if target.is_empty() {
                        return Err(ENOENT);
                    }
                    if target.starts_with('/') {
                        place.path = "/".to_owned();
                        place.entry = self.entry("/");
                        place.dots = true;
                    }
                    for part in components(&target).rev() {
                        ahead.push_front(part.to_owned());
                    }
                }
                Some(Entry::Descriptor(fd)) if !last => {
                    let open = self.descriptors.get(fd)?;
                    let (Object::Directory { .. }, Some(path)) = (&open.object, &open.path) else {
                        return Err(ENOTDIR);
                    };
                    place.path = path.clone();
                    place.entry = self.entry(path);
                }
                None if !last => return Err(ENOENT),
                entry => {
                    place.path = child;
                    place.entry = entry;
                }
            }
        }
        Ok(place)
    }

    /// Whether names may be added to and taken from the directory above a path.
    fn may_change_names(&self, path: &str) -> Result<(), Errno> {
        match self.entry(directory_of(path)) {
            Some(Entry::Directory(status))
                if permits(status.mode, status.owner, MAY_WRITE | MAY_EXECUTE) =>
            {
                Ok(())
            }
            Some(Entry::Directory(_)) => Err(EACCES),
            _ => Err(ENOENT),
        }
    }

    /// In a sticky directory, only what belongs to the user goes.
    fn may_remove(&self, place: &Place) -> Result<(), Errno> {
        self.may_change_names(&place.path)?;
        let owner = match &place.entry {
            Some(Entry::File(id)) => self.files.file(*id)?.owner,
            Some(Entry::Directory(status)) => status.owner,
            Some(Entry::Unopened { .. }) => 0,
            // Links that the guest made are its own; those of the world are not told apart, and are let go.
            _ => GUEST_UID,
        };
        match self.entry(directory_of(&place.path)) {
            Some(Entry::Directory(status))
                if status.mode & 0o1000 != 0 && status.owner != GUEST_UID && owner != GUEST_UID =>
            {
                Err(EPERM)
            }
            _ => Ok(()),
        }
    }

    /// The number of the regular file at a path, if the user may do this with it.
    pub(super) fn file_for(
        &mut self,
        directory: i32,
        path: &[u8],
        wanted: u32,
    ) -> Result<FileId, Stop> {
        let place = self.resolve(directory, path, true)?;
        match place.found()? {
            Entry::File(_) | Entry::Unopened { .. } => {}
            Entry::Directory(_) => return Err(EISDIR.into()),
            Entry::Symlink(_) => return Err(ELOOP.into()),
            Entry::Synthetic(_) | Entry::Descriptor(_) => return Err(EINVAL.into()),
        }
        let id = self.files.adopt(&place.path)?;
        let file = self.files.file(id)?;
        if permits(file.mode, file.owner, wanted) {
            Ok(id)
        } else {
            Err(EACCES.into())
        }
    }

    pub(super) fn open(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        flags: u32,
        mode: u32,
    ) -> Answer {
        let path = take_path(mem, path)?;
        self.open_path(mem, directory, &path, flags, mode)
    }

    pub(super) fn openat2(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        how: u64,
        size: u64,
    ) -> Answer {
        if size < 24 {
            return Err(EINVAL.into());
        }
        let (flags, mode, resolve) = (
            take_u64(mem, how)?,
            take_u64(mem, how.wrapping_add(8))?,
            take_u64(mem, how.wrapping_add(16))?,
        );
        if resolve != 0 || size > 24 {
            return Err(unsupported("openat2: restrictions on resolution"));
        }
        if flags > u64::from(u32::MAX) || mode > 0o7777 {
            return Err(EINVAL.into());
        }
        self.open(mem, directory, path, flags as u32, mode as u32)
    }

    fn open_path(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: &[u8],
        flags: u32,
        mode: u32,
    ) -> Answer {
        let flags = if flags & O_PATH != 0 {
            flags & PATH_FLAGS
        } else {
            flags
        };
        self.descriptors.lowest_free(0)?;
        if flags & O_TMPFILE != 0 {
            return self.open_unnamed(mem, directory, path, flags, mode);
        }
        let exclusive = flags & O_CREAT != 0 && flags & O_EXCL != 0;
        let follow = flags & O_NOFOLLOW == 0 && !exclusive;
        let place = self.resolve(directory, path, follow)?;
        let writing = matches!(flags & O_ACCMODE, O_WRONLY | O_RDWR) || flags & O_TRUNC != 0;
        let reading = matches!(flags & O_ACCMODE, O_RDONLY | O_RDWR);
        let wanted = if reading { MAY_READ } else { 0 } | if writing { MAY_WRITE } else { 0 };
        let wanted = if flags & O_PATH != 0 { 0 } else { wanted };
        let status = flags & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_PATH);
        let close_on_exec = flags & O_CLOEXEC != 0;
        if place.entry.is_none() && flags & O_CREAT != 0 {
            if place.slash || place.dots {
                return Err(EISDIR.into());
            }
            self.may_change_names(&place.path)?;
            self.files
                .create(mem, &place.path, mode & !self.identity.umask())?;
            let id = self.files.open(&place.path)?;
            let open = Open::new(Object::File(id), status, Some(place.path));
            return Ok(self.descriptors.insert(open, close_on_exec)? as u64);
        }
        if exclusive && place.entry.is_some() {
            return Err(EEXIST.into());
        }
        let entry = place.found()?.clone();
        if flags & O_DIRECTORY != 0 && !matches!(entry, Entry::Directory(_)) {
            return Err(ENOTDIR.into());
        }
        let open = match entry {
            Entry::Directory(directory) => {
                if writing || flags & O_CREAT != 0 {
                    return Err(EISDIR.into());
                }
                if !permits(directory.mode, directory.owner, wanted) {
                    return Err(EACCES.into());
                }
                Open::new(
                    Object::Directory { entries: None },
                    status,
                    Some(place.path),
                )
            }
            Entry::File(_) | Entry::Unopened { .. } => {
                let id = self.files.open(&place.path)?;
                let file = self.files.file(id)?;
                if !permits(file.mode, file.owner, wanted) {
                    self.files.close(id);
                    return Err(EACCES.into());
                }
                if flags & O_TRUNC != 0 && flags & O_PATH == 0 {
                    self.files.truncate(mem, id, 0)?;
                }
                Open::new(Object::File(id), status, Some(place.path))
            }
            Entry::Symlink(_) if flags & O_PATH != 0 => {
                return Err(unsupported("open: O_PATH of a symbolic link"));
            }
            Entry::Symlink(_) => return Err(ELOOP.into()),
            Entry::Synthetic(Synthetic::Character(device, ..)) => {
                Open::new(Object::Character(device), status, Some(place.path))
            }
            Entry::Synthetic(Synthetic::Text(text, of)) => {
                if writing {
                    return Err(EACCES.into());
                }
                let bytes = self.text(mem, text, of);
                self.files.charge(mem, bytes.len() as u64)?;
                Open::new(Object::Text(bytes.into()), status, Some(place.path))
            }
            Entry::Descriptor(fd) => {
                let original = self.descriptors.get(fd)?;
                let (object, path) = (original.object.clone(), original.path.clone());
                match object {
                    Object::File(id) => {
                        let file = self.files.file(id)?;
                        if !permits(file.mode, file.owner, wanted) {
                            return Err(EACCES.into());
                        }
                        self.files.reopen(id)?;
                        if flags & O_TRUNC != 0 {
                            self.files.truncate(mem, id, 0)?;
                        }
                    }
                    // Programs open /dev/stdin, /dev/stdout and /dev/stderr.
                    Object::Stdin if writing => return Err(EACCES.into()),
                    Object::Stdout | Object::Stderr if reading => return Err(EACCES.into()),
                    Object::Event { .. } | Object::Epoll(_) | Object::Driver => {
                        return Err(ENXIO.into());
                    }
                    Object::PipeReader(_) if writing => {
                        return Err(unsupported("open: the other end of a pipe"));
                    }
                    Object::PipeWriter(_) if reading => {
                        return Err(unsupported("open: the other end of a pipe"));
                    }
                    _ => {}
                }
                Open::new(object, status, path)
            }
        };
        Ok(self.descriptors.insert(open, close_on_exec)? as u64)
    }

    fn open_unnamed(
        &mut self,
        mem: &Memory,
        directory: i32,
        path: &[u8],
        flags: u32,
        mode: u32,
    ) -> Answer {
        if flags & O_DIRECTORY == 0 || !matches!(flags & O_ACCMODE, O_WRONLY | O_RDWR) {
            return Err(EINVAL.into());
        }
        let place = self.resolve(directory, path, true)?;
        let Entry::Directory(status) = place.found()? else {
            return Err(ENOTDIR.into());
        };
        if !permits(status.mode, status.owner, MAY_WRITE | MAY_EXECUTE) {
            return Err(EACCES.into());
        }
        let id = self
            .files
            .create_unnamed(mem, mode & !self.identity.umask())?;
        self.files.reopen(id)?;
        let open = Open::new(
            Object::File(id),
            flags & (O_ACCMODE | O_APPEND | O_NONBLOCK),
            None,
        );
        Ok(self.descriptors.insert(open, flags & O_CLOEXEC != 0)? as u64)
    }

    pub(super) fn memfd_create(&mut self, mem: &mut Memory, name: u64, flags: u32) -> Answer {
        const CLOEXEC: u32 = 1;
        // ALLOW_SEALING and the two about execution; huge pages are not there.
        if flags & !(CLOEXEC | 2 | 8 | 16) != 0 {
            return Err(EINVAL.into());
        }
        self.check_name(mem, name)?;
        self.descriptors.lowest_free(0)?;
        let id = self.files.create_unnamed(mem, 0o777)?;
        self.files.reopen(id)?;
        Ok(self.descriptors.insert(
            Open::new(Object::File(id), O_RDWR, None),
            flags & CLOEXEC != 0,
        )? as u64)
    }

    pub(super) fn getdents(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        wide: bool,
    ) -> Answer {
        let open = self.descriptors.get(fd)?;
        let (Object::Directory { entries }, Some(path)) = (&open.object, &open.path) else {
            return Err(ENOTDIR.into());
        };
        if open.status & O_PATH != 0 {
            return Err(EBADF.into());
        }
        // An `unsigned int` for the kernel.
        let count = count & 0xffff_ffff;
        check_range(at, count)?;
        let entries = match entries {
            Some(entries) => entries.clone(),
            None => {
                let path = path.clone();
                if !matches!(self.entry(&path), Some(Entry::Directory(_))) {
                    return Err(ENOENT.into());
                }
                let entries: std::sync::Arc<[DirectoryEntry]> =
                    self.directory_entries(&path).into();
                let object = Object::Directory {
                    entries: Some(entries.clone()),
                };
                self.files.charge(mem, object.kept_bytes())?;
                self.descriptors.get_mut(fd)?.object = object;
                entries
            }
        };
        let mut number = self.descriptors.get(fd)?.offset;
        let mut done = 0;
        while let Some(entry) = entries.get(number as usize) {
            let record = directory_record(entry, number + 1, wide);
            if done + record.len() as u64 > count {
                if done == 0 {
                    return Err(EINVAL.into());
                }
                break;
            }
            give(mem, at + done, &record)?;
            done += record.len() as u64;
            number += 1;
        }
        self.descriptors.get_mut(fd)?.offset = number;
        Ok(done)
    }

    /// The names of a directory, as `readdir` gives them: `.` and `..`, then sorted.
    fn directory_entries(&self, path: &str) -> Vec<DirectoryEntry> {
        let mut names = self.files.list(path);
        names.extend(self.synthetic_names(path));
        let dot = |name: &str, at: &str| DirectoryEntry {
            name: name.to_owned(),
            inode: inode_of(at),
            kind: 4,
        };
        let mut entries = vec![dot(".", path), dot("..", parent(path).unwrap_or("/"))];
        for name in names {
            let child = join(path, &name);
            let (kind, inode) = match self.entry(&child) {
                Some(Entry::File(id)) => (8, self.files.file(id).map_or(0, |f| f.inode)),
                Some(Entry::Unopened { .. } | Entry::Synthetic(Synthetic::Text(..))) => {
                    (8, inode_of(&child))
                }
                Some(Entry::Directory(_)) => (4, inode_of(&child)),
                Some(Entry::Symlink(_) | Entry::Descriptor(_)) => (10, inode_of(&child)),
                Some(Entry::Synthetic(Synthetic::Character(..))) => (2, inode_of(&child)),
                None => continue,
            };
            entries.push(DirectoryEntry { name, inode, kind });
        }
        entries
    }

    pub(super) fn getcwd(&mut self, mem: &mut Memory, at: u64, size: u64) -> Answer {
        let path = self.files.working_directory.clone();
        if !matches!(self.entry(&path), Some(Entry::Directory(_))) {
            return Err(ENOENT.into());
        }
        let mut bytes = path.into_bytes();
        bytes.push(0);
        if bytes.len() as u64 > size {
            return Err(ERANGE.into());
        }
        give(mem, at, &bytes)?;
        Ok(bytes.len() as u64)
    }

    pub(super) fn chdir(&mut self, mem: &mut Memory, path: u64) -> Answer {
        let path = take_path(mem, path)?;
        let place = self.resolve(AT_FDCWD, &path, true)?;
        self.enter(place)
    }

    pub(super) fn fchdir(&mut self, fd: i32) -> Answer {
        let path = self.base(if fd == AT_FDCWD { -1 } else { fd })?;
        let entry = self.entry(&path);
        self.enter(Place {
            path,
            entry,
            slash: false,
            dots: false,
        })
    }

    fn enter(&mut self, place: Place) -> Answer {
        match place.found()? {
            Entry::Directory(status) if permits(status.mode, status.owner, MAY_EXECUTE) => {
                self.files.working_directory = place.path;
                Ok(0)
            }
            Entry::Directory(_) => Err(EACCES.into()),
            _ => Err(ENOTDIR.into()),
        }
    }

    pub(super) fn mkdir(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        mode: u32,
    ) -> Answer {
        let path = take_path(mem, path)?;
        let place = self.new_name(directory, &path)?;
        self.files
            .create_directory(mem, &place.path, mode & !self.identity.umask())?;
        Ok(0)
    }

    /// Where something new is to be made.
    fn new_name(&self, directory: i32, path: &[u8]) -> Result<Place, Errno> {
        // A link that leads nowhere is something, too; and a slash behind a new name must not look behind a link.
        let trimmed = match path.iter().rposition(|&b| b != b'/') {
            Some(end) => &path[..=end],
            None => path,
        };
        let place = self.resolve(directory, trimmed, false)?;
        if place.entry.is_some() {
            return Err(EEXIST);
        }
        self.may_change_names(&place.path)?;
        Ok(place)
    }

    pub(super) fn mknod(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        mode: u32,
    ) -> Answer {
        let path = take_path(mem, path)?;
        match mode & 0o170_000 {
            0 | S_IFREG => {
                let place = self.new_name(directory, &path)?;
                self.files
                    .create(mem, &place.path, mode & 0o7777 & !self.identity.umask())?;
                Ok(0)
            }
            S_IFIFO => Err(unsupported("mknod: a named pipe")),
            _ => Err(EPERM.into()),
        }
    }

    pub(super) fn unlink(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        flags: u32,
    ) -> Answer {
        if flags & !AT_REMOVEDIR != 0 {
            return Err(EINVAL.into());
        }
        let path = take_path(mem, path)?;
        let place = self.resolve(directory, &path, false)?;
        let removing_directory = flags & AT_REMOVEDIR != 0;
        if place.dots {
            let last = components(std::str::from_utf8(&path).unwrap_or_default()).next_back();
            return Err(match (removing_directory, last) {
                (false, _) => EISDIR,
                (true, Some(".")) => EINVAL,
                (true, Some("..")) => ENOTEMPTY,
                (true, _) => EBUSY,
            }
            .into());
        }
        let entry = match (place.found(), &place.entry) {
            // A slash is looked at before permission.
            (_, Some(Entry::Directory(_))) if place.slash && !removing_directory => {
                return Err(EISDIR.into());
            }
            (found, _) => found?,
        };
        self.may_remove(&place)?;
        match (entry, removing_directory) {
            (Entry::Directory(_), false) => return Err(EISDIR.into()),
            (Entry::Directory(_), true) => self.check_empty(&place.path)?,
            (_, true) => return Err(ENOTDIR.into()),
            _ => {}
        }
        self.files.remove(mem, &place.path)?;
        Ok(0)
    }

    fn check_empty(&self, path: &str) -> Result<(), Errno> {
        if self.files.list(path).is_empty() && self.synthetic_names(path).is_empty() {
            Ok(())
        } else {
            Err(ENOTEMPTY)
        }
    }

    pub(super) fn rename(
        &mut self,
        mem: &mut Memory,
        old_directory: i32,
        old: u64,
        new_directory: i32,
        new: u64,
        flags: u32,
    ) -> Answer {
        const NOREPLACE: u32 = 1;
        let (old, new) = (take_path(mem, old)?, take_path(mem, new)?);
        if flags & !NOREPLACE != 0 {
            return Err(EINVAL.into());
        }
        let from = self.resolve(old_directory, &old, false)?;
        let to = self.resolve(new_directory, &new, false)?;
        if from.dots || to.dots {
            return Err(EBUSY.into());
        }
        let entry = from.found()?.clone();
        let is_directory = matches!(entry, Entry::Directory(_));
        if to.entry.is_some() && flags & NOREPLACE != 0 {
            return Err(EEXIST.into());
        }
        if to.slash && !is_directory {
            return Err(ENOTDIR.into());
        }
        if from.path == to.path {
            return Ok(0);
        }
        if let (Entry::File(a), Some(Entry::File(b))) = (&entry, &to.entry)
            && a == b
        {
            return Ok(0);
        }
        if is_directory && to.path.starts_with(&join(&from.path, "")) {
            return Err(EINVAL.into());
        }
        if from.path.starts_with(&join(&to.path, "")) {
            return Err(ENOTEMPTY.into());
        }
        self.may_remove(&from)?;
        self.may_change_names(&to.path)?;
        match (&to.entry, is_directory) {
            (Some(Entry::Directory(_)), true) => self.check_empty(&to.path)?,
            (Some(Entry::Directory(_)), false) => return Err(EISDIR.into()),
            (Some(_), true) => return Err(ENOTDIR.into()),
            _ => {}
        }
        if to.entry.is_some() {
            self.may_remove(&to)?;
        }
        if is_directory {
            // Refused before anything is removed: a directory of the world cannot be moved.
            self.files.check_movable(&from.path)?;
        }
        if to.entry.is_some() {
            self.files.remove(mem, &to.path)?;
        }
        if is_directory {
            self.files.rename_directory(mem, &from.path, &to.path)?;
        } else {
            self.files.rename(mem, &from.path, &to.path)?;
        }
        Ok(0)
    }

    pub(super) fn link(
        &mut self,
        mem: &mut Memory,
        old_directory: i32,
        old: u64,
        new_directory: i32,
        new: u64,
        flags: u32,
    ) -> Answer {
        if flags & !(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) != 0 {
            return Err(EINVAL.into());
        }
        let (old, new) = (take_path(mem, old)?, take_path(mem, new)?);
        let from = self.resolve(old_directory, &old, flags & AT_SYMLINK_FOLLOW != 0)?;
        let entry = from.found()?.clone();
        let to = self.new_name(new_directory, &new)?;
        match entry {
            Entry::File(_) | Entry::Unopened { .. } => {
                self.files.link(mem, &from.path, &to.path)?
            }
            Entry::Symlink(target) => self.files.create_symlink(mem, &to.path, &target)?,
            Entry::Directory(_) => return Err(EPERM.into()),
            Entry::Synthetic(_) | Entry::Descriptor(_) => return Err(EXDEV.into()),
        }
        Ok(0)
    }

    pub(super) fn symlink(
        &mut self,
        mem: &mut Memory,
        target: u64,
        directory: i32,
        path: u64,
    ) -> Answer {
        let (target, path) = (take_path(mem, target)?, take_path(mem, path)?);
        if target.is_empty() {
            return Err(ENOENT.into());
        }
        let target = std::str::from_utf8(&target).map_err(|_| EILSEQ)?;
        let place = self.new_name(directory, &path)?;
        self.files.create_symlink(mem, &place.path, target)?;
        Ok(0)
    }

    pub(super) fn readlink(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        at: u64,
        size: i32,
    ) -> Answer {
        let size = u64::try_from(size).ok().filter(|&s| s > 0).ok_or(EINVAL)?;
        let path = take_path(mem, path)?;
        let place = self.resolve(directory, &path, false)?;
        let target = match place.found()? {
            Entry::Symlink(target) => target.to_string(),
            Entry::Descriptor(fd) => self.descriptor_link(self.descriptors.get(*fd)?),
            _ => return Err(EINVAL.into()),
        };
        let bytes = &target.as_bytes()[..target.len().min(size as usize)];
        give(mem, at, bytes)?;
        Ok(bytes.len() as u64)
    }

    pub(super) fn chmod(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        mode: u32,
    ) -> Answer {
        let path = take_path(mem, path)?;
        let place = self.resolve(directory, &path, true)?;
        place.found()?;
        self.set_mode(mem, &place, mode)
    }

    pub(super) fn fchmod(&mut self, mem: &Memory, fd: i32, mode: u32) -> Answer {
        let place = self.place_of(fd)?;
        if self.descriptors.get(fd)?.status & O_PATH != 0 {
            return Err(EBADF.into());
        }
        self.set_mode(mem, &place, mode)
    }

    /// What an open descriptor stands for, as a place.
    pub(super) fn place_of(&self, fd: i32) -> Result<Place, Errno> {
        let open = self.descriptors.get(fd)?;
        let path = open.path.clone().unwrap_or_default();
        let entry = match &open.object {
            Object::File(id) => Some(Entry::File(*id)),
            Object::Directory { .. } => self.entry(&path),
            _ => Some(Entry::Descriptor(fd)),
        };
        Ok(Place {
            path,
            entry,
            slash: false,
            dots: false,
        })
    }

    fn set_mode(&mut self, mem: &Memory, place: &Place, mode: u32) -> Answer {
        let mode = mode & 0o7777;
        match place.entry.clone() {
            Some(Entry::File(id)) => {
                if self.files.file(id)?.owner != GUEST_UID {
                    return Err(EPERM.into());
                }
                self.files.change(id)?.mode = mode;
                Ok(0)
            }
            Some(Entry::Directory(mut status)) => {
                if status.owner != GUEST_UID || self.synthetic(&place.path).is_some() {
                    return Err(EPERM.into());
                }
                status.mode = mode;
                self.files.set_directory(mem, &place.path, status)?;
                Ok(0)
            }
            Some(_) => Err(EPERM.into()),
            None => Err(ENOENT.into()),
        }
    }

    pub(super) fn chown(
        &mut self,
        mem: &mut Memory,
        directory: i32,
        path: u64,
        user: u32,
        group: u32,
        flags: u32,
    ) -> Answer {
        if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
            return Err(EINVAL.into());
        }
        let path = take_path(mem, path)?;
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            return self.fchown(directory, user, group);
        }
        let place = self.resolve(directory, &path, flags & AT_SYMLINK_NOFOLLOW == 0)?;
        self.check_owner(&place, user, group)
    }

    pub(super) fn fchown(&mut self, fd: i32, user: u32, group: u32) -> Answer {
        let place = self.place_of(fd)?;
        self.check_owner(&place, user, group)
    }

    /// Without privilege, a file can only be given to whom it belongs.
    fn check_owner(&self, place: &Place, user: u32, group: u32) -> Answer {
        let owner = match place.found()? {
            Entry::File(id) => self.files.file(*id)?.owner,
            Entry::Directory(status) => status.owner,
            Entry::Symlink(_) | Entry::Descriptor(_) => GUEST_UID,
            Entry::Unopened { .. } | Entry::Synthetic(_) => 0,
        };
        let stays = [user, group]
            .iter()
            .all(|&id| id == u32::MAX || id == owner && owner == GUEST_UID);
        if stays { Ok(0) } else { Err(EPERM.into()) }
    }
}

/// The names in a path.
fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|c| !c.is_empty())
}

/// A `linux_dirent` or `linux_dirent64`; `next` is the position of the next one.
fn directory_record(entry: &DirectoryEntry, next: u64, wide: bool) -> Vec<u8> {
    let mut record = Vec::with_capacity(32);
    record.extend_from_slice(&entry.inode.to_le_bytes());
    record.extend_from_slice(&next.to_le_bytes());
    let header = if wide { 19 } else { 18 };
    let size = (header + entry.name.len() + if wide { 1 } else { 2 }).next_multiple_of(8);
    record.extend_from_slice(&(size as u16).to_le_bytes());
    if wide {
        record.push(entry.kind);
    }
    record.extend_from_slice(entry.name.as_bytes());
    record.resize(size, 0);
    if !wide {
        record[size - 1] = entry.kind;
    }
    record
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, failed, limits, program};
    use super::*;

    /// `/tmp/real/file`, links to it and to its directory, and two that go round.
    fn linked() -> Process {
        let mut program = program();
        program
            .world
            .add_file("/data/real/file", b"content"[..].into(), false);
        program.world.add_symlink("/data/file-link", "real/file");
        program.world.add_symlink("/data/dir-link", "/data/real");
        program.world.add_symlink("/data/up", "real/../real/./file");
        program.world.add_symlink("/data/a", "b");
        program.world.add_symlink("/data/b", "a");
        program.world.add_symlink("/data/dangling", "nowhere");
        program.world.set_working_directory("/data/real");
        Process::of(&program, &limits())
    }

    fn status(process: &mut Process, path: &str) -> i64 {
        let buffer = process.bytes(&[0; 144]);
        process.at_path("stat", path, &[buffer])
    }

    #[test]
    fn paths_lead_where_they_lead_on_linux() {
        let mut process = linked();
        for path in [
            "/data/real/file",
            "file",
            "./file",
            "../real/file",
            "../file-link",
            "../dir-link/file",
            "/data/up",
            "//data///real//file",
            "/../../data/real/file",
            "/proc/self/cwd/file",
            "/proc/self/root/data/real/file",
        ] {
            assert_eq!(process.content(path), b"content", "{path}");
        }
        let long = "x".repeat(256);
        let longer = "a/".repeat(2048);
        for (path, errno) in [
            ("", ENOENT),
            ("missing", ENOENT),
            ("missing/file", ENOENT),
            ("file/", ENOTDIR),
            ("file/.", ENOTDIR),
            ("file/..", ENOTDIR),
            ("file/x", ENOTDIR),
            ("../file-link/", ENOTDIR),
            ("/data/a", ELOOP),
            ("/data/a/x", ELOOP),
            ("/data/dangling", ENOENT),
            (long.as_str(), ENAMETOOLONG),
            (longer.as_str(), ENAMETOOLONG),
            ("/proc/self/fd/0/x", ENOTDIR),
            ("/proc/self/fd/00", ENOENT),
            ("/proc/101", ENOENT),
        ] {
            assert_eq!(status(&mut process, path), failed(errno), "{path}");
        }
        assert_eq!(status(&mut process, "../dir-link/"), 0);
        let target = process.bytes(&[0; 64]);
        assert_eq!(process.at_path("readlink", "/data/up", &[target, 4]), 4);
        assert_eq!(process.get(target, 5), b"real\0");
        assert_eq!(
            process.at_path("readlink", "/data/dir-link/", &[target, 64]),
            failed(EINVAL)
        );
        assert_eq!(
            process.at_path("readlink", "/proc/self/exe", &[target, 64]),
            9
        );
        assert_eq!(process.get(target, 9), b"/bin/prog");
        assert_eq!(
            process.at_path("open", "/data/file-link", &[O_NOFOLLOW.into()]),
            failed(ELOOP)
        );
    }

    #[test]
    fn only_opened_files_of_the_world_are_in_the_read_set() {
        let mut process = linked();
        status(&mut process, "file");
        process.content("/etc/group");
        process.content("../file-link");
        process.file("/tmp/own", b"x");
        process.content("/tmp/own");
        let read: Vec<&str> = process
            .guest
            .kernel
            .read_set()
            .iter()
            .map(String::as_str)
            .collect();
        assert_eq!(read, ["/bin/prog", "/data/real/file", "/etc/group"]);
    }

    #[test]
    fn files_are_made_changed_moved_and_removed_over_the_world() {
        let mut process = Process::new();
        let mut program_world = program();
        program_world
            .world
            .add_file("/tmp/w/old", b"as given"[..].into(), false);
        assert_eq!(
            process.at_path("open", "/etc/new", &[u64::from(O_CREAT | O_WRONLY), 0o644]),
            failed(EACCES)
        );
        assert_eq!(
            process.at_path("open", "/etc/passwd", &[u64::from(O_RDWR)]),
            failed(EACCES)
        );
        process.file("/tmp/a", b"one");
        assert_eq!(process.content("/tmp/a"), b"one");
        let flags = u64::from(O_CREAT | O_EXCL | O_WRONLY);
        assert_eq!(
            process.at_path("open", "/tmp/a", &[flags, 0o644]),
            failed(EEXIST)
        );
        assert_eq!(
            process.at_path("open", "/tmp/new/", &[u64::from(O_CREAT | O_WRONLY), 0o644]),
            failed(EISDIR)
        );
        assert_eq!(process.at_path("mkdir", "/tmp/d/", &[0o755]), 0);
        assert_eq!(process.at_path("mkdir", "/tmp/d", &[0o755]), failed(EEXIST));
        assert_eq!(
            process.at_path("mkdir", "/tmp/x/y", &[0o755]),
            failed(ENOENT)
        );
        let inside = process.text("/tmp/d/b");
        assert_eq!(process.at_path("rename", "/tmp/a", &[inside]), 0);
        assert_eq!(status(&mut process, "/tmp/a"), failed(ENOENT));
        assert_eq!(process.content("/tmp/d/b"), b"one");
        assert_eq!(process.at_path("rmdir", "/tmp/d", &[]), failed(ENOTEMPTY));
        assert_eq!(process.at_path("unlink", "/tmp/d", &[]), failed(EISDIR));
        assert_eq!(process.at_path("rmdir", "/tmp/d/b", &[]), failed(ENOTDIR));
        let deeper = process.text("/tmp/d/e");
        assert_eq!(
            process.at_path("rename", "/tmp/d", &[deeper]),
            failed(EINVAL)
        );
        let moved = process.text("/tmp/m");
        assert_eq!(process.at_path("rename", "/tmp/d", &[moved]), 0);
        assert_eq!(process.content("/tmp/m/b"), b"one");
        // An open file outlives its name.
        let fd = process.open("/tmp/m/b", 0);
        assert_eq!(process.at_path("unlink", "/tmp/m/b", &[]), 0);
        let at = process.bytes(&[0; 8]);
        assert_eq!(process.call("read", &[fd, at, 8]), 3);
        assert_eq!(process.at_path("rmdir", "/tmp/m", &[]), 0);
        assert_eq!(process.at_path("rmdir", "/", &[]), failed(EBUSY));
        assert_eq!(process.at_path("rmdir", "/tmp/.", &[]), failed(EINVAL));
    }

    #[test]
    fn a_changed_file_of_the_world_changes_for_this_guest_alone() {
        let mut program = program();
        program
            .world
            .add_file("/box/in.txt", b"as given"[..].into(), false);
        program.world.set_working_directory("/box");
        let mut process = Process::of(&program, &limits());
        // It is root's: the guest can replace it in its own directory, not write to it.
        assert_eq!(
            process.at_path("open", "in.txt", &[u64::from(O_WRONLY)]),
            failed(EACCES)
        );
        let held = process.open("in.txt", 0);
        assert_eq!(process.at_path("unlink", "in.txt", &[]), 0);
        assert_eq!(status(&mut process, "in.txt"), failed(ENOENT));
        process.file("in.txt", b"mine");
        assert_eq!(process.content("/box/in.txt"), b"mine");
        let at = process.bytes(&[0; 8]);
        assert_eq!(process.call("read", &[held, at, 8]), 8);
        assert_eq!(process.get(at, 8), b"as given");
        process.call("close", &[held]);
        assert_eq!(process.content("/box/in.txt"), b"mine");
        assert_eq!(
            Process::of(&program, &limits()).content("/box/in.txt"),
            b"as given"
        );
    }

    #[test]
    fn links_share_a_file_and_permissions_hold() {
        let mut process = Process::new();
        process.file("/tmp/a", b"one");
        let other = process.text("/tmp/b");
        assert_eq!(process.at_path("link", "/tmp/a", &[other]), 0);
        process.file("/tmp/b", b"two");
        assert_eq!(process.content("/tmp/a"), b"two");
        assert_eq!(process.at_path("unlink", "/tmp/a", &[]), 0);
        assert_eq!(process.content("/tmp/b"), b"two");
        assert_eq!(process.at_path("chmod", "/tmp/b", &[0]), 0);
        assert_eq!(process.at_path("open", "/tmp/b", &[0]), failed(EACCES));
        assert_eq!(
            process.at_path("chmod", "/etc/passwd", &[0o777]),
            failed(EPERM)
        );
        let link = process.text("/tmp/s");
        assert_eq!(process.at_path("symlink", "nowhere", &[link]), 0);
        assert_eq!(process.at_path("mkdir", "/tmp/s", &[0o755]), failed(EEXIST));
        // Creating through a dangling link makes what it names.
        process.file("/tmp/s", b"made");
        assert_eq!(process.content("/tmp/nowhere"), b"made");
    }

    #[test]
    fn directories_list_everything_once_and_sorted() {
        let mut program = program();
        program.world.add_file("/box/m", b""[..].into(), false);
        program.world.add_file("/box/sub/x", b""[..].into(), false);
        program.world.set_working_directory("/box");
        let mut process = Process::of(&program, &limits());
        process.file("z", b"");
        process.file("a", b"");
        process.at_path("unlink", "m", &[]);
        let fd = process.open(".", O_DIRECTORY);
        let at = process.bytes(&[0; 400]);
        assert_eq!(process.call("getdents64", &[fd, at, 10]), failed(EINVAL));
        let mut names = Vec::new();
        loop {
            // Room for two at a time.
            let n = process.succeed("getdents64", &[fd, at, 60]) as usize;
            if n == 0 {
                break;
            }
            let bytes = process.get(at, n);
            let mut from = 0;
            while from < n {
                let size = usize::from(u16::from_le_bytes([bytes[from + 16], bytes[from + 17]]));
                let name = bytes[from + 19..from + size]
                    .split(|&b| b == 0)
                    .next()
                    .unwrap();
                names.push((String::from_utf8(name.to_vec()).unwrap(), bytes[from + 18]));
                from += size;
            }
        }
        let expected =
            [(".", 4), ("..", 4), ("a", 8), ("sub", 4), ("z", 8)].map(|(n, k)| (n.to_owned(), k));
        assert_eq!(names, expected);
    }

    #[test]
    fn a_working_directory_can_go_away() {
        let mut process = Process::new();
        process.at_path("mkdir", "/tmp/d", &[0o755]);
        assert_eq!(process.at_path("chdir", "/tmp/d", &[]), 0);
        let at = process.bytes(&[0; 64]);
        assert_eq!(process.call("getcwd", &[at, 7]), 7);
        assert_eq!(process.get(at, 7), b"/tmp/d\0");
        assert_eq!(process.call("getcwd", &[at, 6]), failed(ERANGE));
        assert_eq!(process.at_path("rmdir", "/tmp/d", &[]), 0);
        assert_eq!(process.call("getcwd", &[at, 64]), failed(ENOENT));
        assert_eq!(
            process.at_path("open", "x", &[u64::from(O_CREAT | O_WRONLY), 0o644]),
            failed(ENOENT)
        );
        assert_eq!(
            process.at_path("chdir", "/etc/passwd", &[]),
            failed(ENOTDIR)
        );
        assert_eq!(process.at_path("chdir", "/nope", &[]), failed(ENOENT));
    }

    #[test]
    fn what_the_guest_writes_counts_against_its_memory() {
        use crate::sim::outcome::Exit;
        let mut process = Process::new();
        let fd = process.open("/tmp/big", O_CREAT | O_RDWR);
        assert_eq!(
            process.exit("ftruncate", &[fd, 65 << 20]),
            Exit::MemoryLimit
        );
        assert_eq!(process.call("ftruncate", &[fd, 60 << 20]), 0);
        let at = process.bytes(b"x");
        assert_eq!(
            process.exit("pwrite64", &[fd, at, 1, 1 << 40]),
            Exit::MemoryLimit
        );
        assert_eq!(
            process.exit("ftruncate", &[fd, 64 << 20]),
            Exit::MemoryLimit
        );
        process.call("close", &[fd]);
        process.at_path("unlink", "/tmp/big", &[]);
        let fd = process.open("/tmp/next", O_CREAT | O_RDWR);
        assert_eq!(
            process.call("ftruncate", &[fd, 60 << 20]),
            0,
            "what was removed counts no more"
        );
    }

    #[test]
    fn devices_and_descriptors_have_paths() {
        let mut process = Process::new();
        let at = process.bytes(&[1; 16]);
        let zero = process.open("/dev/zero", 0);
        assert_eq!(process.call("read", &[zero, at, 16]), 16);
        assert_eq!(process.get(at, 16), [0; 16]);
        let full = process.open("/dev/full", O_WRONLY);
        assert_eq!(process.call("write", &[full, at, 1]), failed(ENOSPC));
        let null = process.open("/dev/null", O_RDWR);
        assert_eq!(process.call("write", &[null, at, 16]), 16);
        assert_eq!(process.call("read", &[null, at, 16]), 0);
        let stdin = process.open("/dev/stdin", 0);
        assert_eq!(process.call("read", &[stdin, at, 6]), 6);
        assert_eq!(process.get(at, 6), b"first\n");
        assert_eq!(
            process.call("read", &[0, at, 16]),
            7,
            "a pipe has one position"
        );
        process.file("/tmp/f", b"abc");
        let fd = process.open("/tmp/f", 0);
        process.call("read", &[fd, at, 2]);
        assert_eq!(
            process.content(&format!("/dev/fd/{fd}")),
            b"abc",
            "a file is opened anew"
        );
        assert_eq!(process.at_path("open", "/dev/tty", &[2]), failed(ENOENT));
        assert_eq!(process.at_path("open", "/etc/shadow", &[0]), failed(ENOENT));
    }
}
