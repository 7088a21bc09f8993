//! brk, mmap and their relatives.
use super::super::elf::MINIMUM_ADDRESS;
use super::abi::*;
use super::descriptor::{CharacterDevice, Object};
use super::filesystem::Content;
use super::user::{check_range, give};
use super::{Answer, Kernel, Stop, unsupported};
use crate::sim::memory::{Backing, Memory, PAGE_SIZE, Protection, Purpose, USER_END};
use std::sync::Arc;

/// Most mappings of a process, as `/proc/sys/vm/max_map_count` says.
const MAX_MAPPINGS: usize = 65530;
/// Mappings that fit below 2 GiB go below this address.
const LOW_TOP: u64 = 0x8000_0000;
/// The largest answer that one `mincore` computes at a time, bytes.
const MINCORE_CHUNK: u64 = 4096;

/// A length in whole pages, if the address space could hold it.
fn whole_pages(len: u64) -> Option<u64> {
    len.checked_next_multiple_of(PAGE_SIZE)
        .filter(|&l| l <= USER_END)
}

/// Maps zeros that children share.
fn map_shared_zeros(mem: &mut Memory, start: u64, len: u64, protection: Protection) {
    let object = mem.create_shared(Arc::from([]), len, false);
    let backing = Backing::Shared { object, offset: 0 };
    let purpose = Purpose::File("/dev/zero (deleted)".into());
    mem.map(start, len, protection, backing, purpose);
}

impl Kernel {
    /// Linux refuses at once what could never fit in the machine, and grants the rest in the hope that it stays
    /// untouched (`overcommit_memory` 0). The machine has as much memory as the job's limit.
    fn overcommits(&self, mem: &Memory, len: u64) -> bool {
        len > mem.limit_bytes()
    }

    pub(super) fn brk(&mut self, mem: &mut Memory, wanted: u64) -> Answer {
        let heap = self.layout.heap_start;
        let now = self.layout.heap_end;
        let Some(end) = wanted
            .checked_next_multiple_of(PAGE_SIZE)
            .filter(|&e| wanted >= heap && e <= USER_END)
        else {
            return Ok(now);
        };
        let mapped_end = now.next_multiple_of(PAGE_SIZE);
        if end < mapped_end {
            // Whole pages go and come back zeroed; the bytes in the page that stays are kept.
            mem.unmap(end, mapped_end - end);
        } else if end > mapped_end {
            let more = end - mapped_end;
            if self.overcommits(mem, end - heap)
                || !mem.is_free(mapped_end, more)
                || mem.region_count() >= MAX_MAPPINGS
            {
                return Ok(now);
            }
            mem.map(
                mapped_end,
                more,
                Protection::READ_WRITE,
                Backing::Anonymous,
                Purpose::Heap,
            );
        }
        self.layout.heap_end = wanted;
        Ok(wanted)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of the system call"
    )]
    pub(super) fn mmap(
        &mut self,
        mem: &mut Memory,
        addr: u64,
        len: u64,
        prot: u64,
        flags: u64,
        fd: i32,
        offset: u64,
    ) -> Answer {
        if !offset.is_multiple_of(PAGE_SIZE) {
            return Err(EINVAL.into());
        }
        let anonymous = flags & MAP_ANONYMOUS != 0;
        if !anonymous {
            self.descriptors.get(fd)?;
        }
        if len == 0 {
            return Err(EINVAL.into());
        }
        let len = whole_pages(len).ok_or(ENOMEM)?;
        if offset
            .checked_add(len)
            .is_none_or(|end| end > i64::MAX as u64)
        {
            return Err(EOVERFLOW.into());
        }
        let kind = flags & MAP_TYPE;
        if !matches!(kind, MAP_SHARED | MAP_PRIVATE | MAP_SHARED_VALIDATE) {
            return Err(EINVAL.into());
        }
        if flags & MAP_HUGETLB != 0 {
            // No huge pages are reserved.
            return Err(ENOMEM.into());
        }
        let start = self.place(mem, addr, len, flags)?;
        if mem.region_count() >= MAX_MAPPINGS {
            return Err(ENOMEM.into());
        }
        let protection = Protection::from_linux(prot);
        if anonymous {
            let accountable = kind != MAP_PRIVATE || prot & PROT_WRITE != 0;
            if accountable && flags & MAP_NORESERVE == 0 && self.overcommits(mem, len) {
                return Err(ENOMEM.into());
            }
            if kind == MAP_PRIVATE {
                let backing = Backing::Anonymous;
                mem.map(start, len, protection, backing, Purpose::Anonymous);
            } else {
                map_shared_zeros(mem, start, len, protection);
            }
            return Ok(start);
        }
        self.map_file(mem, fd, start, len, protection, kind != MAP_PRIVATE, offset)
    }

    /// Chooses the address of a new mapping.
    fn place(&self, mem: &Memory, addr: u64, len: u64, flags: u64) -> Result<u64, Stop> {
        if flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) != 0 {
            if !addr.is_multiple_of(PAGE_SIZE) {
                return Err(EINVAL.into());
            }
            if addr.checked_add(len).is_none_or(|end| end > USER_END) {
                return Err(ENOMEM.into());
            }
            if addr < MINIMUM_ADDRESS {
                return Err(EPERM.into());
            }
            if flags & MAP_FIXED_NOREPLACE != 0 && !mem.is_free(addr, len) {
                return Err(EEXIST.into());
            }
            return Ok(addr);
        }
        let hint = addr & !(PAGE_SIZE - 1);
        let ceiling = if flags & MAP_32BIT != 0 {
            LOW_TOP
        } else {
            self.layout.mmap_top
        };
        if hint >= MINIMUM_ADDRESS
            && hint.checked_add(len).is_some_and(|end| end <= ceiling)
            && mem.is_free(hint, len)
        {
            return Ok(hint);
        }
        Ok(mem.find_free(len, MINIMUM_ADDRESS, ceiling).ok_or(ENOMEM)?)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what mmap knows of a file mapping"
    )]
    fn map_file(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        start: u64,
        len: u64,
        protection: Protection,
        shared: bool,
        offset: u64,
    ) -> Answer {
        let open = self.descriptors.get(fd)?;
        if !open.readable() {
            return Err(if open.status & O_PATH != 0 {
                EBADF
            } else {
                EACCES
            }
            .into());
        }
        if shared && protection.contains(Protection::WRITE) && !open.writable() {
            return Err(EACCES.into());
        }
        let id = match open.object {
            Object::File(id) => id,
            Object::Character(CharacterDevice::Zero) if shared => {
                map_shared_zeros(mem, start, len, protection);
                return Ok(start);
            }
            Object::Character(CharacterDevice::Zero) => {
                mem.map(
                    start,
                    len,
                    protection,
                    Backing::Anonymous,
                    Purpose::Anonymous,
                );
                return Ok(start);
            }
            Object::Text(_) => return Err(EIO.into()),
            _ => return Err(ENODEV.into()),
        };
        let writing = open.writable();
        let name: Arc<str> = open.path.as_deref().unwrap_or("/memfd: (deleted)").into();
        match self.files.file(id)?.content.clone() {
            // Nobody changes what is in the world; a file that is written to becomes another.
            Content::World(content) if !(shared && writing) => {
                let backing = Backing::File { content, offset };
                mem.map(start, len, protection, backing, Purpose::File(name));
            }
            _ if shared => {
                let object = self.files.share(mem, id, writing)?;
                let backing = Backing::Shared { object, offset };
                mem.map(start, len, protection, backing, Purpose::File(name));
            }
            content => {
                // What the guest has written may change under the mapping, and each version would be kept alive by it:
                // the bytes are copied now, into pages that count.
                mem.map(
                    start,
                    len,
                    Protection::READ_WRITE,
                    Backing::Anonymous,
                    Purpose::File(name),
                );
                let from = content.size().min(offset);
                let to = content.size().min(offset + len);
                self.copy_file(mem, id, from..to, start)?;
                let end = start + (to - from).next_multiple_of(PAGE_SIZE);
                if end < start + len {
                    // Linux sends SIGBUS beyond the end of the file.
                    let backing = Backing::File {
                        content: Arc::from([]),
                        offset: 0,
                    };
                    mem.map(
                        end,
                        start + len - end,
                        protection,
                        backing,
                        Purpose::Anonymous,
                    );
                }
                mem.protect(start, len, protection);
            }
        }
        Ok(start)
    }

    pub(super) fn munmap(&mut self, mem: &mut Memory, addr: u64, len: u64) -> Answer {
        if !addr.is_multiple_of(PAGE_SIZE) || len == 0 {
            return Err(EINVAL.into());
        }
        let len = whole_pages(len).ok_or(EINVAL)?;
        if addr.checked_add(len).is_none_or(|end| end > USER_END) {
            return Err(EINVAL.into());
        }
        if mem.region_count() >= MAX_MAPPINGS
            && mem
                .region_at(addr)
                .is_some_and(|(s, r)| s < addr && r.end > addr + len)
        {
            return Err(ENOMEM.into());
        }
        mem.unmap(addr, len);
        Ok(0)
    }

    pub(super) fn mprotect(&mut self, mem: &mut Memory, addr: u64, len: u64, prot: u64) -> Answer {
        if prot & !(PROT_ALL | PROT_GROWSDOWN | PROT_GROWSUP) != 0
            || prot & PROT_GROWSDOWN != 0 && prot & PROT_GROWSUP != 0
            || !addr.is_multiple_of(PAGE_SIZE)
        {
            return Err(EINVAL.into());
        }
        if len == 0 {
            return Ok(0);
        }
        let len = len.checked_next_multiple_of(PAGE_SIZE).ok_or(ENOMEM)?;
        if addr.checked_add(len).is_none_or(|end| end > USER_END)
            || mem.region_count() >= MAX_MAPPINGS
        {
            return Err(ENOMEM.into());
        }
        if prot & (PROT_GROWSDOWN | PROT_GROWSUP) != 0 {
            return self.protect_stack(mem, addr, len, prot);
        }
        if mem.protect(addr, len, Protection::from_linux(prot)) {
            Ok(0)
        } else {
            Err(ENOMEM.into())
        }
    }

    /// `PROT_GROWSDOWN` reaches down to the start of the stack: the dynamic linker makes stacks executable that way.
    fn protect_stack(&mut self, mem: &mut Memory, addr: u64, len: u64, prot: u64) -> Answer {
        let (start, region) = mem.region_at(addr).ok_or(ENOMEM)?;
        if prot & PROT_GROWSUP != 0 || region.purpose != Purpose::Stack {
            return Err(EINVAL.into());
        }
        let all = addr + len - start;
        if mem.protect(start, all, Protection::from_linux(prot)) {
            Ok(0)
        } else {
            Err(ENOMEM.into())
        }
    }

    pub(super) fn mremap(
        &mut self,
        mem: &mut Memory,
        addr: u64,
        old: u64,
        new: u64,
        flags: u64,
        target: u64,
    ) -> Answer {
        if flags & !(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) != 0
            || flags & MREMAP_FIXED != 0 && flags & MREMAP_MAYMOVE == 0
            || !addr.is_multiple_of(PAGE_SIZE)
            || new == 0
        {
            return Err(EINVAL.into());
        }
        if flags & MREMAP_DONTUNMAP != 0 {
            return Err(unsupported("mremap: MREMAP_DONTUNMAP"));
        }
        let (old, new) = (
            whole_pages(old).ok_or(EINVAL)?,
            whole_pages(new).ok_or(EINVAL)?,
        );
        let (start, region) = mem.region_at(addr).ok_or(EFAULT)?;
        let region = region.clone();
        let doubles = old == 0;
        if doubles && !matches!(region.backing, Backing::Shared { .. }) {
            // A second mapping of the same pages; private memory cannot have one.
            return Err(EINVAL.into());
        }
        if flags & MREMAP_FIXED != 0 {
            let overlaps = target < addr.saturating_add(old) && addr < target.saturating_add(new);
            if !target.is_multiple_of(PAGE_SIZE)
                || target.checked_add(new).is_none_or(|e| e > USER_END)
                || overlaps
            {
                return Err(EINVAL.into());
            }
            if target < MINIMUM_ADDRESS {
                return Err(EPERM.into());
            }
        } else if new <= old && !doubles {
            if new < old {
                mem.unmap(addr + new, old - new);
            }
            return Ok(addr);
        }
        if addr + old > region.end {
            return Err(EFAULT.into());
        }
        if new > old && self.overcommits(mem, new) {
            return Err(ENOMEM.into());
        }
        let backing = |from: u64| match &region.backing {
            Backing::Anonymous => Backing::Anonymous,
            Backing::File { content, offset } => Backing::File {
                content: Arc::clone(content),
                offset: offset + (from - start),
            },
            Backing::Shared { object, offset } => Backing::Shared {
                object: *object,
                offset: offset + (from - start),
            },
        };
        if flags & MREMAP_FIXED == 0
            && !doubles
            && addr + old == region.end
            && mem.is_free(addr + old, new - old)
        {
            let more = addr + old;
            mem.map(
                more,
                new - old,
                region.protection,
                backing(more),
                region.purpose.clone(),
            );
            return Ok(addr);
        }
        if flags & MREMAP_MAYMOVE == 0 || mem.region_count() >= MAX_MAPPINGS {
            return Err(ENOMEM.into());
        }
        let to = if flags & MREMAP_FIXED != 0 {
            target
        } else {
            mem.find_free(new, MINIMUM_ADDRESS, self.layout.mmap_top)
                .ok_or(ENOMEM)?
        };
        let purpose = if region.purpose == Purpose::Heap {
            Purpose::Anonymous
        } else {
            region.purpose.clone()
        };
        mem.map(to, new, region.protection, backing(addr), purpose);
        if !doubles {
            mem.move_pages(addr, to, old.min(new));
            mem.unmap(addr, old);
        }
        Ok(to)
    }

    pub(super) fn madvise(&mut self, mem: &mut Memory, addr: u64, len: u64, advice: u32) -> Answer {
        if !addr.is_multiple_of(PAGE_SIZE) {
            return Err(EINVAL.into());
        }
        // NORMAL to DONTNEED, FREE, DONTFORK, DOFORK, (UN)MERGEABLE, (NO)HUGEPAGE, DO(NT)DUMP, WIPEONFORK, KEEPONFORK,
        // COLD, PAGEOUT, POPULATE_READ, POPULATE_WRITE.
        if !matches!(advice, 0..=4 | 8 | 10..=23) {
            return Err(EINVAL.into());
        }
        let len = len.checked_next_multiple_of(PAGE_SIZE).ok_or(EINVAL)?;
        let end = addr.checked_add(len).ok_or(EINVAL)?;
        if len == 0 {
            return Ok(0);
        }
        let mut whole = true;
        let mut at = addr;
        while at < end {
            let next = match mem.region_at(at) {
                Some((_, region)) => region.end.min(end),
                None => {
                    whole = false;
                    match mem.regions().map(|(s, _)| s).find(|&s| s > at) {
                        Some(s) if s < end => s,
                        _ => break,
                    }
                }
            };
            // MADV_FREE may drop pages at any time; here it does so at once.
            if matches!(advice, 4 | 8) && mem.region_at(at).is_some() {
                mem.discard(at, next - at);
            }
            at = next;
        }
        if whole { Ok(0) } else { Err(ENOMEM.into()) }
    }

    pub(super) fn msync(&mut self, mem: &Memory, addr: u64, len: u64, flags: u32) -> Answer {
        const MS_ASYNC: u32 = 1;
        const MS_SYNC: u32 = 4;
        if flags & !7 != 0
            || flags & MS_ASYNC != 0 && flags & MS_SYNC != 0
            || !addr.is_multiple_of(PAGE_SIZE)
        {
            return Err(EINVAL.into());
        }
        self.mlock(mem, addr, len)
    }

    /// Succeeds where everything is mapped.
    pub(super) fn mlock(&mut self, mem: &Memory, addr: u64, len: u64) -> Answer {
        let start = addr & !(PAGE_SIZE - 1);
        let end = addr
            .checked_add(len)
            .and_then(|e| e.checked_next_multiple_of(PAGE_SIZE))
            .ok_or(ENOMEM)?;
        let mut at = start;
        while at < end {
            at = mem.region_at(at).ok_or(ENOMEM)?.1.end;
        }
        Ok(0)
    }

    pub(super) fn mincore(&mut self, mem: &mut Memory, addr: u64, len: u64, vector: u64) -> Answer {
        if !addr.is_multiple_of(PAGE_SIZE) {
            return Err(EINVAL.into());
        }
        check_range(addr, len).map_err(|_| ENOMEM)?;
        let pages = len.div_ceil(PAGE_SIZE);
        check_range(vector, pages)?;
        self.mlock(mem, addr, len)?;
        // Every mapped page is called resident: what has not been touched is zero or file bytes, one access away.
        let ones = vec![1; pages.min(MINCORE_CHUNK) as usize];
        let mut done = 0;
        while done < pages {
            let n = (pages - done).min(MINCORE_CHUNK);
            give(mem, vector + done, &ones[..n as usize])?;
            done += n;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, SCRATCH, failed, limits, program};
    use super::*;

    const FLAGS: u64 = MAP_PRIVATE | MAP_ANONYMOUS;
    const NO_FD: u64 = u64::MAX;

    fn map(process: &mut Process, at: u64, len: u64, flags: u64) -> i64 {
        process.call("mmap", &[at, len, 3, flags, NO_FD, 0])
    }

    #[test]
    fn brk_zeroes_whole_pages_and_keeps_bytes_inside_the_last() {
        let mut process = Process::new();
        let start = process.succeed("brk", &[0]);
        assert_eq!(start % PAGE_SIZE, 0);
        assert_eq!(
            process.succeed("brk", &[start + 3 * PAGE_SIZE]),
            start + 3 * PAGE_SIZE
        );
        process
            .guest
            .mem
            .copy_in(start, &[7; 3 * PAGE_SIZE as usize])
            .unwrap();
        let live = process.guest.mem.live_pages();
        assert_eq!(process.succeed("brk", &[start + 100]), start + 100);
        assert_eq!(
            process.guest.mem.live_pages(),
            live - 2,
            "released pages do not count"
        );
        assert_eq!(
            process.succeed("brk", &[start + 3 * PAGE_SIZE]),
            start + 3 * PAGE_SIZE
        );
        assert_eq!(
            process.get(start + 50, 100),
            [7; 100],
            "the page that stayed keeps its bytes"
        );
        assert_eq!(
            process.get(start + PAGE_SIZE, 2 * PAGE_SIZE as usize),
            [0; 2 * PAGE_SIZE as usize]
        );
    }

    #[test]
    fn brk_refuses_by_answering_the_present_end() {
        let mut process = Process::new();
        let start = process.succeed("brk", &[0]);
        for wanted in [1, start - 1, u64::MAX, 1 << 47, start + (65 << 20)] {
            assert_eq!(process.succeed("brk", &[wanted]), start, "{wanted:x}");
        }
        map(
            &mut process,
            start + 8 * PAGE_SIZE,
            PAGE_SIZE,
            FLAGS | MAP_FIXED,
        );
        assert_eq!(
            process.succeed("brk", &[start + 9 * PAGE_SIZE]),
            start,
            "a mapping is in the way"
        );
        assert_eq!(
            process.succeed("brk", &[start + 8 * PAGE_SIZE]),
            start + 8 * PAGE_SIZE
        );
    }

    #[test]
    fn mappings_go_down_from_the_top_and_fill_holes() {
        let mut process = Process::new();
        let a = map(&mut process, 0, 3 * PAGE_SIZE, FLAGS) as u64;
        assert_eq!(a, 0x7fff_f7ff_f000 - 3 * PAGE_SIZE);
        let b = map(&mut process, 0, 1, FLAGS) as u64;
        assert_eq!(b, a - PAGE_SIZE);
        process.succeed("munmap", &[a, PAGE_SIZE]);
        assert_eq!(map(&mut process, 0, PAGE_SIZE, FLAGS) as u64, a);
    }

    #[test]
    fn a_large_stack_moves_the_mappings_below_its_guard() {
        let program = program();
        let limits = crate::sim::outcome::Limits {
            stack_bytes: 256 << 20,
            memory_bytes: 1 << 30,
            ..limits()
        };
        let mut process = Process::of(&program, &limits);
        let a = map(&mut process, 0, PAGE_SIZE, FLAGS) as u64;
        assert_eq!(a, USER_END - (256 << 20) - (1 << 20) - PAGE_SIZE);
    }

    #[test]
    fn hints_and_fixed_addresses_are_honoured_as_linux_does() {
        let mut process = Process::new();
        let hint = 0x20_0000_0000;
        assert_eq!(map(&mut process, hint + 5, PAGE_SIZE, FLAGS), hint as i64);
        assert_ne!(
            map(&mut process, hint, PAGE_SIZE, FLAGS),
            hint as i64,
            "taken"
        );
        assert_eq!(
            map(&mut process, hint, PAGE_SIZE, FLAGS | MAP_FIXED_NOREPLACE),
            failed(EEXIST)
        );
        process.guest.mem.copy_in(hint, &[9; 10]).unwrap();
        assert_eq!(
            map(&mut process, hint, PAGE_SIZE, FLAGS | MAP_FIXED),
            hint as i64
        );
        assert_eq!(process.get(hint, 10), [0; 10], "replaced");
        assert_eq!(
            map(&mut process, hint + 1, PAGE_SIZE, FLAGS | MAP_FIXED),
            failed(EINVAL)
        );
        assert_eq!(
            map(&mut process, 0, PAGE_SIZE, FLAGS | MAP_FIXED),
            failed(EPERM)
        );
        assert_eq!(
            map(&mut process, 1 << 47, PAGE_SIZE, FLAGS | MAP_FIXED),
            failed(ENOMEM)
        );
        assert_eq!(map(&mut process, 0, 0, FLAGS), failed(EINVAL));
        assert_eq!(map(&mut process, 0, u64::MAX, FLAGS), failed(ENOMEM));
        assert_eq!(
            map(&mut process, 0, 65 << 20, FLAGS),
            failed(ENOMEM),
            "more than the machine has"
        );
        assert!(map(&mut process, 0, 65 << 20, FLAGS | MAP_NORESERVE) > 0);
        assert!(map(&mut process, 0, PAGE_SIZE, FLAGS | MAP_32BIT) < LOW_TOP as i64);
    }

    #[test]
    fn a_file_is_mapped_privately_and_ends_in_sigbus() {
        let mut process = Process::new();
        for path in ["/etc/passwd", "/tmp/copy"] {
            if path == "/tmp/copy" {
                let content = process.content("/etc/passwd");
                process.file(path, &content);
            }
            let fd = process.open(path, 0);
            let at = process.succeed("mmap", &[0, 2 * PAGE_SIZE, 3, MAP_PRIVATE, fd, 0]);
            assert_eq!(process.get(at, 5), b"root:");
            process.guest.mem.copy_in(at, b"ROOT").unwrap();
            assert_eq!(process.get(at + PAGE_SIZE - 1, 1), [0]);
            let beyond = process.guest.mem.read::<u8>(at + PAGE_SIZE).unwrap_err();
            assert_eq!(
                beyond,
                crate::sim::memory::Fault::Bus {
                    addr: at + PAGE_SIZE
                },
                "{path}"
            );
            assert!(process.content(path).starts_with(b"root:"));
        }
        let fd = process.open("/etc/passwd", 0);
        assert_eq!(
            process.call("mmap", &[0, 1, 3, MAP_SHARED, fd, 0]),
            failed(EACCES)
        );
        assert_eq!(
            process.call("mmap", &[0, 1, 1, MAP_PRIVATE, fd, 1]),
            failed(EINVAL)
        );
        assert_eq!(
            process.call("mmap", &[0, 1, 1, MAP_PRIVATE, 99, 0]),
            failed(EBADF)
        );
        assert_eq!(
            process.call("mmap", &[0, 1, 1, MAP_PRIVATE, 0, 0]),
            failed(ENODEV)
        );
    }

    #[test]
    fn mremap_grows_in_place_or_moves_the_bytes() {
        let mut process = Process::new();
        let a = process.succeed("mmap", &[0x20_0000_0000, 2 * PAGE_SIZE, 3, FLAGS, NO_FD, 0]);
        process.guest.mem.copy_in(a, &[5; 100]).unwrap();
        let live = process.guest.mem.live_pages();
        assert_eq!(
            process.succeed("mremap", &[a, 2 * PAGE_SIZE, 4 * PAGE_SIZE, 0]),
            a
        );
        map(
            &mut process,
            a + 4 * PAGE_SIZE,
            PAGE_SIZE,
            FLAGS | MAP_FIXED,
        );
        process.succeed("mprotect", &[a + 4 * PAGE_SIZE, PAGE_SIZE, 1]);
        assert_eq!(
            process.call("mremap", &[a, 4 * PAGE_SIZE, 8 * PAGE_SIZE, 0]),
            failed(ENOMEM)
        );
        let b = process.succeed("mremap", &[a, 4 * PAGE_SIZE, 8 * PAGE_SIZE, MREMAP_MAYMOVE]);
        assert_ne!(a, b);
        assert_eq!(process.get(b, 100), [5; 100]);
        assert_eq!(process.guest.mem.live_pages(), live);
        assert!(process.guest.mem.read::<u8>(a).is_err());
        assert_eq!(
            process.succeed("mremap", &[b, 8 * PAGE_SIZE, PAGE_SIZE, 0]),
            b
        );
        assert!(process.guest.mem.read::<u8>(b + PAGE_SIZE).is_err());
        assert_eq!(
            process.call("mremap", &[a, PAGE_SIZE, PAGE_SIZE * 2, 0]),
            failed(EFAULT)
        );
        let to = 0x30_0000_0000;
        let moved = process.succeed(
            "mremap",
            &[b, PAGE_SIZE, PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to],
        );
        assert_eq!((moved, process.get(to, 1)), (to, vec![5]));
    }

    #[test]
    fn protection_and_advice_act_on_what_is_mapped() {
        let mut process = Process::new();
        let a = process.succeed("mmap", &[0x20_0000_0000, 4 * PAGE_SIZE, 3, FLAGS, NO_FD, 0]);
        process.guest.mem.copy_in(a, &[5; 100]).unwrap();
        assert_eq!(process.call("mprotect", &[a, PAGE_SIZE, 1]), 0);
        assert!(process.guest.mem.copy_in(a, &[1]).is_err());
        assert_eq!(
            process.call("mprotect", &[a + 1, PAGE_SIZE, 1]),
            failed(EINVAL)
        );
        assert_eq!(
            process.call("mprotect", &[a, 8 * PAGE_SIZE, 3]),
            failed(ENOMEM)
        );
        assert_eq!(
            process.call("mprotect", &[a, PAGE_SIZE, 64]),
            failed(EINVAL)
        );
        assert_eq!(process.call("madvise", &[a, PAGE_SIZE, 4]), 0);
        assert_eq!(process.get(a, 4), [0; 4], "MADV_DONTNEED drops the bytes");
        assert_eq!(
            process.call("madvise", &[a, 8 * PAGE_SIZE, 4]),
            failed(ENOMEM)
        );
        assert_eq!(process.call("madvise", &[a, PAGE_SIZE, 77]), failed(EINVAL));
        let vector = process.bytes(&[0; 8]);
        assert_eq!(process.call("mincore", &[a, 4 * PAGE_SIZE, vector]), 0);
        assert_eq!(process.get(vector, 5), [1, 1, 1, 1, 0]);
        assert_eq!(
            process.call("mincore", &[a, 5 * PAGE_SIZE, vector]),
            failed(ENOMEM)
        );
        assert_eq!(process.call("munmap", &[a, 0]), failed(EINVAL));
        assert_eq!(process.call("munmap", &[a + 1, 1]), failed(EINVAL));
        assert_eq!(
            process.call("munmap", &[a, 1 << 40]),
            0,
            "holes do not matter"
        );
        assert!(process.guest.mem.read::<u8>(a).is_err());
        assert!(process.guest.mem.read::<u8>(SCRATCH).is_ok());
    }
}
