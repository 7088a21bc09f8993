//! The guest's address space: 4 KiB copy-on-write pages behind a direct-mapped software TLB of host pointers.
//!
//! Loads and stores that hit the TLB are one subtraction, one comparison and one host access. Everything else (page
//! crossings, first touches, permissions, pages that hold decoded code, faults) takes the slow path. Pages are
//! reference-counted: a snapshot shares them, and the first store after it copies.
//!
//! This is the only file of the simulator that holds `unsafe`.
#![expect(
    unsafe_code,
    reason = "a software TLB of host pointers: the safe form (indexing a page table per access) costs three dependent loads and two bounds checks for every guest access"
)]

use super::gaps::Gaps;
use super::shared::{SharedId, SharedMemory};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes in a page.
pub const PAGE_SIZE: u64 = 4096;
const PAGE_MASK: u64 = PAGE_SIZE - 1;
const TLB_ENTRIES: usize = 1024;
const CHUNK_PAGES: usize = 512;
/// First address beyond the user half of a canonical 47-bit address space.
pub const USER_END: u64 = 0x7fff_ffff_f000;

/// What an access wanted to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A data load.
    Read,
    /// A data store.
    Write,
    /// An instruction fetch.
    Execute,
}

/// Why an instruction could not complete. The instruction has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No page, or a page without the permission (SIGSEGV).
    Page {
        /// Guest address of the access.
        addr: u64,
        /// What was attempted.
        kind: AccessKind,
        /// A mapping exists and forbids the access (`SEGV_ACCERR`), or there is none (`SEGV_MAPERR`).
        mapped: bool,
    },
    /// A file mapping was touched beyond the end of its file (SIGBUS).
    Bus {
        /// Guest address of the access.
        addr: u64,
    },
    /// A page was needed beyond the memory limit of the job.
    MemoryLimit,
    /// The first touch of a page, where those are told ([`Memory::set_demand`]): [`Memory::fill`] makes the page, and the
    /// instruction runs again. The guest never sees it.
    FirstTouch {
        /// Guest address of the access.
        addr: u64,
        /// What was attempted.
        kind: AccessKind,
    },
    /// #GP: misaligned operand, non-canonical address, privileged instruction (SIGSEGV).
    GeneralProtection,
    /// #DE: division by zero or quotient overflow (SIGFPE).
    Divide,
    /// #UD: an encoding that is not an instruction, or `ud2` (SIGILL).
    InvalidOpcode,
    /// #BP: `int3` (SIGTRAP).
    Breakpoint,
    /// #XM: an unmasked SSE exception (SIGFPE).
    SimdFloat,
    /// #MF: an unmasked x87 exception (SIGFPE).
    X87Float,
    /// A real instruction that this simulator does not implement.
    Unsupported,
}

/// Page permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Protection(u8);

impl Protection {
    /// No access at all.
    pub const NONE: Self = Self(0);
    /// Read.
    pub const READ: Self = Self(1);
    /// Write.
    pub const WRITE: Self = Self(2);
    /// Execute.
    pub const EXECUTE: Self = Self(4);
    /// Read and write.
    pub const READ_WRITE: Self = Self(3);

    /// From the `PROT_*` bits of Linux (which are these very bits).
    pub fn from_linux(bits: u64) -> Self {
        Self((bits & 7) as u8)
    }
    /// The `PROT_*` bits of Linux.
    pub fn bits(self) -> u8 {
        self.0
    }
    /// Both sets together.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Whether every right of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    fn allows(self, kind: AccessKind) -> bool {
        match kind {
            // x86 has no write-only or execute-only pages (without protection keys): any right implies reading.
            AccessKind::Read => self.0 != 0,
            AccessKind::Write => self.contains(Self::WRITE),
            AccessKind::Execute => self.contains(Self::EXECUTE),
        }
    }
}

/// Where the bytes of a mapping come from before the guest writes to it.
#[derive(Clone, Debug)]
pub enum Backing {
    /// Zeros.
    Anonymous,
    /// A private copy of file bytes, from this offset on; zeros fill the rest of the last page of the file.
    File {
        /// The whole file.
        content: Arc<[u8]>,
        /// Offset of the first byte of the mapping.
        offset: u64,
    },
    /// Memory that others may map too: what one writes, all see.
    Shared {
        /// What is mapped.
        object: SharedId,
        /// Offset of the first byte of the mapping.
        offset: u64,
    },
}

/// What a mapping is for, for `/proc/self/maps` and for telling a stack overflow from a wild pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Anonymous memory.
    Anonymous,
    /// The `brk` heap.
    Heap,
    /// The initial stack.
    Stack,
    /// A mapped file, with its guest path.
    File(Arc<str>),
}

/// A mapped range.
#[derive(Clone, Debug)]
pub struct Region {
    /// First address beyond the range.
    pub end: u64,
    /// Permissions.
    pub protection: Protection,
    /// Initial content.
    pub backing: Backing,
    /// What it is for.
    pub purpose: Purpose,
}

/// A memory access of a retired instruction, as the timing model sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Guest address of the first byte.
    pub addr: u64,
    /// Bytes, at most 64. None: no access, but work that an instruction did; the address is its amount.
    pub size: u8,
    /// A store rather than a load.
    pub store: bool,
}

/// Whether fast handlers record their accesses; a type, so that counting alone pays nothing.
pub trait Recording: Copy + 'static {
    /// Record addresses.
    const ON: bool;
}
/// No recording.
#[derive(Clone, Copy, Debug)]
pub struct Silent;
impl Recording for Silent {
    const ON: bool = false;
}
/// Every access is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Recorded;
impl Recording for Recorded {
    const ON: bool = true;
}

/// An unsigned integer that moves between registers and memory, little-endian.
pub trait Scalar: Copy + Default + sealed::Sealed + 'static {
    /// Bytes.
    const SIZE: u64;
    /// From the first `SIZE` bytes of the buffer.
    fn from_bytes(bytes: [u8; 16]) -> Self;
    /// Into the first `SIZE` bytes of a buffer.
    fn into_bytes(self) -> [u8; 16];
    /// To or from the guest's byte order.
    #[must_use]
    fn swapped(self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalar {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            const SIZE: u64 = size_of::<$t>() as u64;
            #[inline(always)]
            fn from_bytes(bytes: [u8; 16]) -> Self {
                u128::from_le_bytes(bytes) as $t
            }
            #[inline(always)]
            fn into_bytes(self) -> [u8; 16] {
                u128::from(self).to_le_bytes()
            }
            #[inline(always)]
            fn swapped(self) -> Self {
                self.to_le()
            }
        }
    )*};
}
scalar!(u8, u16, u32, u64, u128);

/// One page of guest memory.
#[repr(C, align(64))]
#[derive(Clone)]
pub struct Page([u8; PAGE_SIZE as usize]);

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Page")
    }
}

impl Page {
    /// The bytes of the page.
    pub fn bytes(&self) -> &[u8; PAGE_SIZE as usize] {
        &self.0
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8; PAGE_SIZE as usize] {
        &mut self.0
    }

    /// These bytes, at most a page of them, and zeros.
    pub(super) fn starting_with(bytes: &[u8]) -> Self {
        let mut page = Self([0; PAGE_SIZE as usize]);
        page.0[..bytes.len()].copy_from_slice(bytes);
        page
    }
}

#[derive(Clone, Debug, Default)]
struct Slot {
    page: Option<Arc<Page>>,
    protection: Protection,
    /// Blocks were decoded from this page: stores must go through the slow path.
    code: bool,
}

/// 2 MiB of address space. Shared between snapshots until one of them writes.
#[derive(Clone, Debug)]
struct Chunk {
    slots: Vec<Slot>,
}

impl Chunk {
    fn new() -> Self {
        Self {
            slots: vec![Slot::default(); CHUNK_PAGES],
        }
    }
}

#[derive(Clone, Copy)]
#[repr(align(32))]
struct TlbEntry {
    /// Page address that may be read through `host`, or an address that maps to another entry.
    read: u64,
    /// Likewise for writing.
    write: u64,
    host: *mut u8,
}

/// A page address that no access which indexes entry `i` can have.
/// The page numbers of a range, as far as it lies in user space.
fn user_pages(start: u64, end: u64) -> (u64, u64) {
    (
        start.min(USER_END) / PAGE_SIZE,
        end.min(USER_END) / PAGE_SIZE,
    )
}

fn never(i: usize) -> u64 {
    ((i ^ 1) as u64) * PAGE_SIZE
}

/// The address space of one process.
pub struct Memory {
    tlb: [TlbEntry; TLB_ENTRIES],
    chunks: BTreeMap<u64, Arc<Chunk>>,
    regions: BTreeMap<u64, Region>,
    /// What no region covers.
    gaps: Gaps,
    /// What this and other processes share, while this one runs; otherwise nothing.
    shared: SharedMemory,
    /// Numbers of pages of shared memory from which blocks were decoded here.
    shared_code: BTreeSet<u64>,
    /// Private pages.
    live_pages: u64,
    peak_live_pages: u64,
    /// The most private pages at once since the address space was made.
    high_water: u64,
    limit_pages: u64,
    /// Whether the first touch of a page is a fault.
    demand: bool,
    /// Whether `read` and `write` append to `accesses`. Fast handlers know it from their type.
    recording: bool,
    accesses: Vec<Access>,
    /// Pages with decoded code that a store, a protection change or an unmapping touched.
    stale_code: Vec<u64>,
    /// The run loop has something to do: live pages changed or code became stale.
    attention: bool,
}

// SAFETY: the raw pointers in the TLB point into pages owned (through `Arc`) by `chunks` of the same value; no other
// thread can reach them through this value, and entries that allow writing exist only for uniquely owned pages.
// JUSTIFICATION: jobs run on a thread pool, and a guest moves to the thread that resumes it.
unsafe impl Send for Memory {}
// SAFETY: a shared `Memory` offers only methods that neither use nor fill the TLB (`peek`, `code_page`, queries).
unsafe impl Sync for Memory {}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("regions", &self.regions)
            .field("live_pages", &self.live_pages)
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// An empty address space that may hold at most `limit_bytes` of live pages.
    pub fn new(limit_bytes: u64) -> Self {
        Self {
            tlb: Self::empty_tlb(),
            chunks: BTreeMap::new(),
            regions: BTreeMap::new(),
            gaps: Gaps::new(USER_END / PAGE_SIZE),
            shared: SharedMemory::default(),
            shared_code: BTreeSet::new(),
            live_pages: 0,
            peak_live_pages: 0,
            high_water: 0,
            limit_pages: limit_bytes / PAGE_SIZE,
            demand: false,
            recording: false,
            accesses: Vec::with_capacity(1024),
            stale_code: Vec::new(),
            attention: false,
        }
    }

    fn empty_tlb() -> [TlbEntry; TLB_ENTRIES] {
        std::array::from_fn(|i| TlbEntry {
            read: never(i),
            write: never(i),
            host: std::ptr::null_mut(),
        })
    }

    /// A copy that shares every page until one side writes to it.
    pub fn snapshot(&mut self) -> Self {
        // This side may no longer write to pages that it now shares.
        self.flush_tlb();
        self.fork_frozen()
    }

    /// A copy of a frozen address space. `&self` suffices because a frozen one has an empty TLB.
    ///
    /// # Panics
    /// If this address space has run since its snapshot was taken.
    pub fn fork_frozen(&self) -> Self {
        assert!(
            (self.tlb.iter().enumerate()).all(|(i, e)| e.write == never(i)),
            "only an address space that has not run since its snapshot can be forked through a shared reference"
        );
        Self {
            tlb: Self::empty_tlb(),
            chunks: self.chunks.clone(),
            regions: self.regions.clone(),
            gaps: self.gaps.clone(),
            shared: self.shared.clone(),
            shared_code: self.shared_code.clone(),
            accesses: Vec::with_capacity(1024),
            stale_code: self.stale_code.clone(),
            ..*self
        }
    }

    fn flush_tlb(&mut self) {
        for (i, entry) in self.tlb.iter_mut().enumerate() {
            *entry = TlbEntry {
                read: never(i),
                write: never(i),
                host: std::ptr::null_mut(),
            };
        }
    }

    // ---- the fast path -------------------------------------------------------------------------------------------

    /// Loads `T` from `addr`.
    ///
    /// # Errors
    /// The fault that the access raises; nothing has changed.
    #[inline(always)]
    pub fn load<T: Scalar, R: Recording>(&mut self, addr: u64) -> Result<T, Fault> {
        if R::ON {
            self.accesses.push(Access {
                addr,
                size: T::SIZE as u8,
                store: false,
            });
        }
        let entry = &self.tlb[(addr / PAGE_SIZE) as usize % TLB_ENTRIES];
        let offset = addr.wrapping_sub(entry.read);
        if offset <= PAGE_SIZE - T::SIZE {
            // SAFETY: `entry.read` is a page address only while `host` points to the 4096 bytes of that live page
            // (every unmapping, copy and replacement flushes or refills the entry), and `offset + SIZE <= 4096`.
            let value = unsafe { entry.host.add(offset as usize).cast::<T>().read_unaligned() };
            return Ok(value.swapped());
        }
        self.load_slow(addr)
    }

    /// Stores `value` at `addr`.
    ///
    /// # Errors
    /// The fault that the access raises; nothing has changed.
    #[inline(always)]
    pub fn store<T: Scalar, R: Recording>(&mut self, addr: u64, value: T) -> Result<(), Fault> {
        self.store_checked::<T, R>(addr, value).map(|_| ())
    }

    /// As [`Memory::store`]; true if the store changed a page with decoded code, so that the running block must end.
    ///
    /// # Errors
    /// The fault that the access raises; nothing has changed.
    #[inline(always)]
    pub fn store_checked<T: Scalar, R: Recording>(
        &mut self,
        addr: u64,
        value: T,
    ) -> Result<bool, Fault> {
        if R::ON {
            self.accesses.push(Access {
                addr,
                size: T::SIZE as u8,
                store: true,
            });
        }
        let entry = &self.tlb[(addr / PAGE_SIZE) as usize % TLB_ENTRIES];
        let offset = addr.wrapping_sub(entry.write);
        if offset <= PAGE_SIZE - T::SIZE {
            // SAFETY: as in `load`; in addition `entry.write` is set only while this address space owns the page
            // alone, so that no other snapshot and no `&Page` sees the write.
            unsafe {
                entry
                    .host
                    .add(offset as usize)
                    .cast::<T>()
                    .write_unaligned(value.swapped())
            };
            return Ok(false);
        }
        self.store_slow(addr, value)?;
        Ok(self.has_stale_code())
    }

    /// Loads `T`, recording the access where recording is on: for handlers off the hot path.
    ///
    /// # Errors
    /// The fault that the access raises.
    #[inline]
    pub fn read<T: Scalar>(&mut self, addr: u64) -> Result<T, Fault> {
        if self.recording {
            self.load::<T, Recorded>(addr)
        } else {
            self.load::<T, Silent>(addr)
        }
    }

    /// Stores `T`, recording the access where recording is on: for handlers off the hot path.
    ///
    /// # Errors
    /// The fault that the access raises.
    #[inline]
    pub fn write<T: Scalar>(&mut self, addr: u64, value: T) -> Result<(), Fault> {
        if self.recording {
            self.store::<T, Recorded>(addr, value)
        } else {
            self.store::<T, Silent>(addr, value)
        }
    }

    /// Checks that `len` bytes at `addr` could be stored to, so that a handler with several stores faults before the
    /// first of them.
    ///
    /// # Errors
    /// The fault that a store would raise.
    pub fn probe_write(&mut self, addr: u64, len: u64) -> Result<(), Fault> {
        let mut page = addr & !PAGE_MASK;
        while page < addr.saturating_add(len.max(1)) {
            self.resolve(page.max(addr), AccessKind::Write)?;
            page += PAGE_SIZE;
        }
        Ok(())
    }

    // ---- the slow path -------------------------------------------------------------------------------------------

    #[cold]
    #[inline(never)]
    fn load_slow<T: Scalar>(&mut self, addr: u64) -> Result<T, Fault> {
        let mut bytes = [0; 16];
        self.copy_out(addr, &mut bytes[..T::SIZE as usize])?;
        Ok(T::from_bytes(bytes))
    }

    #[cold]
    #[inline(never)]
    fn store_slow<T: Scalar>(&mut self, addr: u64, value: T) -> Result<(), Fault> {
        let last = addr.wrapping_add(T::SIZE - 1);
        if addr / PAGE_SIZE != last / PAGE_SIZE {
            // Both pages are checked before either is written: a store that faults has stored nothing.
            self.resolve(addr, AccessKind::Write)?;
            self.resolve(last & !PAGE_MASK, AccessKind::Write)?;
        }
        self.copy_in(addr, &value.into_bytes()[..T::SIZE as usize])
    }

    /// Makes the page of `addr` accessible for `kind` and fills its TLB entry; the host address of the page.
    fn resolve(&mut self, addr: u64, kind: AccessKind) -> Result<*mut u8, Fault> {
        let page_addr = addr & !PAGE_MASK;
        let number = addr / PAGE_SIZE;
        let index = number as usize % TLB_ENTRIES;
        if addr >= USER_END {
            let canonical = !(0x0000_8000_0000_0000..0xffff_8000_0000_0000).contains(&addr);
            return Err(if canonical {
                Fault::Page {
                    addr,
                    kind,
                    mapped: false,
                }
            } else {
                Fault::GeneralProtection
            });
        }
        let present = self.slot(number).is_some_and(|s| s.page.is_some());
        if !present && let Some(host) = self.resolve_absent(addr, kind)? {
            return Ok(host);
        }
        let chunk = self
            .chunks
            .get_mut(&(number / CHUNK_PAGES as u64))
            .expect("populate made the chunk");
        let in_chunk = number as usize % CHUNK_PAGES;
        if !chunk.slots[in_chunk].protection.allows(kind) {
            return Err(Fault::Page {
                addr,
                kind,
                mapped: true,
            });
        }
        if kind == AccessKind::Write {
            let chunk = Arc::make_mut(chunk);
            let slot = &mut chunk.slots[in_chunk];
            if slot.code {
                slot.code = false;
                self.stale_code.push(number);
                self.attention = true;
            }
            let page = Arc::make_mut(slot.page.as_mut().expect("populate filled the slot"));
            let host = page.0.as_mut_ptr();
            self.tlb[index] = TlbEntry {
                read: page_addr,
                write: page_addr,
                host,
            };
            return Ok(host);
        }
        let slot = &chunk.slots[in_chunk];
        let host = Arc::as_ptr(slot.page.as_ref().expect("populate filled the slot"))
            .cast::<u8>()
            .cast_mut();
        let entry = &mut self.tlb[index];
        if entry.read != page_addr {
            // The pointer came from a shared reference, so the entry may only read; the first store refills it.
            *entry = TlbEntry {
                read: page_addr,
                write: never(index),
                host,
            };
        }
        Ok(host)
    }

    fn slot(&self, number: u64) -> Option<&Slot> {
        self.chunks
            .get(&(number / CHUNK_PAGES as u64))
            .map(|c| &c.slots[number as usize % CHUNK_PAGES])
    }

    /// A page without content of its own: shared memory, whose host address this gives, or the first touch of a page.
    fn resolve_absent(&mut self, addr: u64, kind: AccessKind) -> Result<Option<*mut u8>, Fault> {
        let Some((start, region)) = self.region_at(addr) else {
            return Err(Fault::Page {
                addr,
                kind,
                mapped: false,
            });
        };
        if !region.protection.allows(kind) {
            return Err(Fault::Page {
                addr,
                kind,
                mapped: true,
            });
        }
        if let Backing::Shared { object, offset } = region.backing {
            let index = (offset + (addr - start)) / PAGE_SIZE;
            return self.resolve_shared(addr, kind, object, index).map(Some);
        }
        self.admit_page(addr, kind)?;
        self.populate(addr)?;
        Ok(None)
    }

    /// Whether a page may be made now.
    fn admit_page(&self, addr: u64, kind: AccessKind) -> Result<(), Fault> {
        if self.live_pages() >= self.limit_pages {
            return Err(Fault::MemoryLimit);
        }
        if self.demand {
            return Err(Fault::FirstTouch { addr, kind });
        }
        Ok(())
    }

    fn count_new_page(&mut self) {
        self.peak_live_pages = self.peak_live_pages.max(self.live_pages());
        self.high_water = self.high_water.max(self.live_pages);
        self.attention = true;
    }

    /// As [`Memory::resolve`], for a page of shared memory.
    fn resolve_shared(
        &mut self,
        addr: u64,
        kind: AccessKind,
        object: SharedId,
        index: u64,
    ) -> Result<*mut u8, Fault> {
        let page_addr = addr & !PAGE_MASK;
        let tlb_index = (addr / PAGE_SIZE) as usize % TLB_ENTRIES;
        if !self.shared.reaches(object, index) {
            return Err(Fault::Bus { addr });
        }
        if self.shared.page(object, index).is_none() {
            self.admit_page(addr, kind)?;
            self.shared.populate(object, index);
            self.count_new_page();
        }
        if kind == AccessKind::Write {
            let host = self.write_shared(object, index);
            self.tlb[tlb_index] = TlbEntry {
                read: page_addr,
                write: page_addr,
                host,
            };
            return Ok(host);
        }
        let shared = self.shared.page(object, index).expect("populated above");
        let host = Arc::as_ptr(&shared.page).cast::<u8>().cast_mut();
        let entry = &mut self.tlb[tlb_index];
        if entry.read != page_addr {
            *entry = TlbEntry {
                read: page_addr,
                write: never(tlb_index),
                host,
            };
        }
        Ok(host)
    }

    /// Makes a page of shared memory that is there fit to be written to: code decoded from it is stale, and snapshots
    /// keep the page as it is. Its host address.
    fn write_shared(&mut self, object: SharedId, index: u64) -> *mut u8 {
        let shared = (self.shared.page_mut(object, index)).expect("the caller has seen it");
        let is_code = std::mem::take(&mut shared.code);
        // Other addresses of this address space may lead to the page that snapshots keep.
        let moves = Arc::strong_count(&shared.page) > 1;
        let host = Arc::make_mut(&mut shared.page).0.as_mut_ptr();
        if moves {
            self.flush_tlb();
        }
        if is_code {
            let here = |number: &u64| {
                self.region_at(number * PAGE_SIZE)
                    .is_some_and(|(start, r)| {
                        let at = number * PAGE_SIZE - start;
                        matches!(r.backing, Backing::Shared { object: o, offset }
                        if o == object && (offset + at) / PAGE_SIZE == index)
                    })
            };
            let stale: Vec<u64> = self.shared_code.iter().copied().filter(here).collect();
            for number in stale {
                self.shared_code.remove(&number);
                self.stale_code.push(number);
            }
            self.attention |= !self.stale_code.is_empty();
        }
        host
    }

    /// Makes the page of an access that [`Fault::FirstTouch`] told of.
    ///
    /// # Errors
    /// The fault that the access raises for the guest.
    pub fn fill(&mut self, addr: u64, kind: AccessKind) -> Result<(), Fault> {
        let demand = std::mem::replace(&mut self.demand, false);
        let result = self.resolve(addr, kind).map(|_| ());
        self.demand = demand;
        result
    }

    /// Gives a page its first content.
    fn populate(&mut self, addr: u64) -> Result<(), Fault> {
        let (start, region) = self.region_at(addr).expect("the caller has found it");
        let number = addr / PAGE_SIZE;
        let mut page = Page([0; PAGE_SIZE as usize]);
        if let Backing::File { content, offset } = &region.backing {
            let from = offset + (number * PAGE_SIZE - start);
            let file_pages_end = (content.len() as u64).next_multiple_of(PAGE_SIZE);
            if from >= file_pages_end {
                return Err(Fault::Bus { addr });
            }
            let available = (content.len() as u64 - from).min(PAGE_SIZE) as usize;
            page.0[..available].copy_from_slice(&content[from as usize..from as usize + available]);
        }
        let protection = region.protection;
        let chunk = self
            .chunks
            .entry(number / CHUNK_PAGES as u64)
            .or_insert_with(|| Arc::new(Chunk::new()));
        Arc::make_mut(chunk).slots[number as usize % CHUNK_PAGES] = Slot {
            page: Some(Arc::new(page)),
            protection,
            code: false,
        };
        self.live_pages += 1;
        self.count_new_page();
        Ok(())
    }

    /// Copies guest bytes out; not recorded. For the kernel and for page-crossing loads.
    ///
    /// # Errors
    /// The fault of the first byte that cannot be read; the buffer is then partly filled.
    pub fn copy_out(&mut self, addr: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let mut done = 0;
        while done < buffer.len() {
            let at = addr.wrapping_add(done as u64);
            let host = self.resolve(at, AccessKind::Read)?;
            let offset = (at & PAGE_MASK) as usize;
            let n = (PAGE_SIZE as usize - offset).min(buffer.len() - done);
            // SAFETY: `resolve` returned the host address of a live page; `offset + n <= 4096`; `buffer` is not guest memory.
            unsafe {
                std::ptr::copy_nonoverlapping(host.add(offset), buffer[done..].as_mut_ptr(), n)
            };
            done += n;
        }
        Ok(())
    }

    /// Copies bytes into the guest; not recorded.
    ///
    /// # Errors
    /// The fault of the first byte that cannot be written; the bytes before it are written.
    pub fn copy_in(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Fault> {
        let mut done = 0;
        while done < bytes.len() {
            let at = addr.wrapping_add(done as u64);
            let host = self.resolve(at, AccessKind::Write)?;
            let offset = (at & PAGE_MASK) as usize;
            let n = (PAGE_SIZE as usize - offset).min(bytes.len() - done);
            // SAFETY: as in `copy_out`, and `resolve` for writing made the page uniquely owned.
            unsafe { std::ptr::copy_nonoverlapping(bytes[done..].as_ptr(), host.add(offset), n) };
            done += n;
        }
        Ok(())
    }

    /// A zero-terminated string of at most `max` bytes, without the zero; not recorded.
    ///
    /// # Errors
    /// The fault of the first unreadable byte; `None` if no zero was found within `max`.
    pub fn copy_c_string(&mut self, addr: u64, max: usize) -> Result<Option<Vec<u8>>, Fault> {
        let mut out = Vec::new();
        while out.len() <= max {
            let mut byte = [0];
            self.copy_out(addr.wrapping_add(out.len() as u64), &mut byte)?;
            if byte[0] == 0 {
                return Ok(Some(out));
            }
            out.push(byte[0]);
        }
        Ok(None)
    }

    // ---- mappings ------------------------------------------------------------------------------------------------

    /// Maps `[start, start + len)`, replacing what was there. Both are multiples of the page size.
    pub fn map(
        &mut self,
        start: u64,
        len: u64,
        protection: Protection,
        backing: Backing,
        purpose: Purpose,
    ) {
        debug_assert!(start.is_multiple_of(PAGE_SIZE) && len.is_multiple_of(PAGE_SIZE) && len > 0);
        // Before what was there goes: that may have been the last mapping of the same memory.
        if let Backing::Shared { object, .. } = backing {
            self.shared.map(object);
        }
        self.unmap(start, len);
        let mut end = start + len;
        let (first, last) = user_pages(start, end);
        self.gaps.take(first, last);
        // Anonymous neighbours of one kind are one mapping, as Linux shows them; files keep their offsets apart.
        if matches!(backing, Backing::Anonymous)
            && let Some(after) = self.regions.get(&end)
            && after.protection == protection
            && after.purpose == purpose
            && matches!(after.backing, Backing::Anonymous)
        {
            let after_end = after.end;
            self.regions.remove(&end);
            end = after_end;
        }
        if matches!(backing, Backing::Anonymous)
            && let Some((_, before)) = self.regions.range_mut(..start).next_back()
            && before.end == start
            && before.protection == protection
            && before.purpose == purpose
            && matches!(before.backing, Backing::Anonymous)
        {
            before.end = end;
            return;
        }
        self.regions.insert(
            start,
            Region {
                end,
                protection,
                backing,
                purpose,
            },
        );
    }

    /// Removes every mapping of `[start, start + len)` and frees its pages.
    pub fn unmap(&mut self, start: u64, len: u64) {
        let end = start + len;
        self.split_at(start);
        self.split_at(end);
        let gone: Vec<u64> = self.regions.range(start..end).map(|(&s, _)| s).collect();
        if gone.is_empty() {
            return;
        }
        for s in gone {
            if let Some(Region {
                backing: Backing::Shared { object, .. },
                ..
            }) = self.regions.remove(&s)
            {
                self.shared.unmap(object);
                self.attention = true;
            }
        }
        let (first, last) = user_pages(start, end);
        self.gaps.give(first, last);
        self.discard(start, len);
        self.forget_shared_code(start, len);
        self.drop_empty_chunks(start, end);
    }

    /// Code decoded from shared memory that is no longer mapped so is stale.
    fn forget_shared_code(&mut self, start: u64, len: u64) {
        let (first, end) = (start / PAGE_SIZE, (start + len) / PAGE_SIZE);
        let gone: Vec<u64> = self.shared_code.range(first..end).copied().collect();
        for number in gone {
            self.shared_code.remove(&number);
            self.stale_code.push(number);
            self.attention = true;
        }
    }

    /// Gives back the tables of address space without pages: a guest that maps ever new addresses must not make them
    /// pile up.
    fn drop_empty_chunks(&mut self, start: u64, end: u64) {
        let chunk_bytes = CHUNK_PAGES as u64 * PAGE_SIZE;
        let empty: Vec<u64> = self
            .chunks
            .range(start / chunk_bytes..=(end - 1) / chunk_bytes)
            .filter(|(_, chunk)| chunk.slots.iter().all(|slot| slot.page.is_none()))
            .map(|(&number, _)| number)
            .collect();
        for number in empty {
            self.chunks.remove(&number);
        }
    }

    /// Frees the pages of `[start, start + len)`: the next touch finds the initial content again (`MADV_DONTNEED`).
    pub fn discard(&mut self, start: u64, len: u64) {
        self.for_each_slot(start, len, |memory_stale, live, number, slot| {
            if slot.page.take().is_some() {
                *live -= 1;
            }
            if std::mem::take(&mut slot.code) {
                memory_stale.push(number);
            }
        });
        self.flush_tlb();
    }

    /// Moves the pages that have content from `[from, from + len)` to `[to, to + len)`, which does not overlap it and is
    /// mapped and untouched (`mremap`). The mappings stay as they are.
    pub fn move_pages(&mut self, from: u64, to: u64, len: u64) {
        let mut moved = Vec::new();
        self.for_each_slot(from, len, |stale, live, number, slot| {
            if let Some(page) = slot.page.take() {
                moved.push((number, page));
                *live -= 1;
            }
            if std::mem::take(&mut slot.code) {
                stale.push(number);
            }
        });
        for (number, page) in moved {
            let number = number - from / PAGE_SIZE + to / PAGE_SIZE;
            let Some((_, region)) = self.region_at(number * PAGE_SIZE) else {
                continue;
            };
            let protection = region.protection;
            let chunk = self
                .chunks
                .entry(number / CHUNK_PAGES as u64)
                .or_insert_with(|| Arc::new(Chunk::new()));
            Arc::make_mut(chunk).slots[number as usize % CHUNK_PAGES] = Slot {
                page: Some(page),
                protection,
                code: false,
            };
            self.live_pages += 1;
        }
        self.flush_tlb();
    }

    /// Changes the protection of `[start, start + len)`; false if part of it is not mapped (then the mapped part before
    /// the hole has changed, as on Linux).
    pub fn protect(&mut self, start: u64, len: u64, protection: Protection) -> bool {
        let end = start + len;
        self.split_at(start);
        self.split_at(end);
        let mut at = start;
        while at < end {
            let Some(region) = self.regions.get_mut(&at) else {
                return false;
            };
            region.protection = protection;
            let region_end = region.end;
            self.for_each_slot(at, region_end - at, |stale, _, number, slot| {
                slot.protection = protection;
                if std::mem::take(&mut slot.code) {
                    stale.push(number);
                }
            });
            self.forget_shared_code(at, region_end - at);
            at = region_end;
        }
        self.flush_tlb();
        true
    }

    fn for_each_slot(
        &mut self,
        start: u64,
        len: u64,
        mut f: impl FnMut(&mut Vec<u64>, &mut u64, u64, &mut Slot),
    ) {
        let (first, last) = (start / PAGE_SIZE, (start + len) / PAGE_SIZE);
        let before = self.live_pages;
        let chunk_size = CHUNK_PAGES as u64;
        for (&c, chunk) in self
            .chunks
            .range_mut(first / chunk_size..=last / chunk_size)
        {
            let lo = first.max(c * chunk_size);
            let hi = last.min((c + 1) * chunk_size);
            if lo >= hi || !(lo..hi).any(|n| chunk.slots[(n % chunk_size) as usize].page.is_some())
            {
                continue;
            }
            let chunk = Arc::make_mut(chunk);
            for number in lo..hi {
                let slot = &mut chunk.slots[(number % chunk_size) as usize];
                if slot.page.is_some() {
                    f(&mut self.stale_code, &mut self.live_pages, number, slot);
                }
            }
        }
        self.attention |= self.live_pages != before || !self.stale_code.is_empty();
    }

    fn split_at(&mut self, at: u64) {
        if let Some((&start, region)) = self.regions.range_mut(..at).next_back()
            && at < region.end
        {
            let mut tail = region.clone();
            region.end = at;
            match &mut tail.backing {
                Backing::Anonymous => {}
                Backing::File { offset, .. } => *offset += at - start,
                Backing::Shared { object, offset } => {
                    *offset += at - start;
                    self.shared.map(*object);
                }
            }
            self.regions.insert(at, tail);
        }
    }

    /// The mapping that holds `addr`, with its start.
    pub fn region_at(&self, addr: u64) -> Option<(u64, &Region)> {
        self.regions
            .range(..=addr)
            .next_back()
            .filter(|(_, r)| addr < r.end)
            .map(|(&s, r)| (s, r))
    }

    /// Every mapping, by address.
    pub fn regions(&self) -> impl Iterator<Item = (u64, &Region)> {
        self.regions.iter().map(|(&s, r)| (s, r))
    }

    /// How many mappings there are.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// Whether nothing is mapped in `[start, start + len)`.
    pub fn is_free(&self, start: u64, len: u64) -> bool {
        let Some(end) = start.checked_add(len) else {
            return false;
        };
        end <= USER_END
            && self
                .regions
                .range(..end)
                .next_back()
                .is_none_or(|(_, r)| r.end <= start)
    }

    /// The highest free range of `len` bytes below `top` and not below `bottom`, all of them multiples of the page size.
    pub fn find_free(&self, len: u64, bottom: u64, top: u64) -> Option<u64> {
        let found = self
            .gaps
            .highest(len.div_ceil(PAGE_SIZE), top / PAGE_SIZE)?;
        Some(found * PAGE_SIZE).filter(|&start| start >= bottom)
    }

    // ---- shared memory --------------------------------------------------------------------------------------------

    /// New shared memory of this size, which begins with these bytes; `held` until [`Memory::release_shared`], and else
    /// as long as it is mapped.
    pub fn create_shared(&mut self, base: Arc<[u8]>, size: u64, held: bool) -> SharedId {
        self.shared.create(base, size, held)
    }

    /// Bytes of shared memory.
    pub fn shared_size(&self, id: SharedId) -> u64 {
        self.shared.size(id)
    }

    /// Sets the size of shared memory: what is cut off is gone, what is added is zero.
    pub fn resize_shared(&mut self, id: SharedId, size: u64) {
        if size < self.shared.size(id) {
            // Code in what goes is stale, wherever it is mapped.
            for number in self.shared_code.iter().copied().collect::<Vec<_>>() {
                if self
                    .shared_at(number)
                    .is_some_and(|(object, _)| object == id)
                {
                    self.forget_shared_code(number * PAGE_SIZE, PAGE_SIZE);
                }
            }
            self.flush_tlb();
            self.attention = true;
        }
        self.shared.resize(id, size);
    }

    /// Reads from shared memory at an offset; beyond its end there are zeros.
    pub fn read_shared(&self, id: SharedId, offset: u64, buffer: &mut [u8]) {
        self.shared.read(id, offset, buffer);
    }

    /// Writes to shared memory at an offset, within its size.
    ///
    /// # Errors
    /// [`Fault::MemoryLimit`]; the bytes before are written.
    pub fn write_shared_bytes(
        &mut self,
        id: SharedId,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let within = (at % PAGE_SIZE) as usize;
            let n = (PAGE_SIZE as usize - within).min(bytes.len() - done);
            let index = at / PAGE_SIZE;
            if !self.shared.reaches(id, index) {
                return Err(Fault::Bus { addr: at });
            }
            if self.shared.page(id, index).is_none() {
                if self.live_pages() >= self.limit_pages {
                    return Err(Fault::MemoryLimit);
                }
                self.shared.populate(id, index);
                self.count_new_page();
            }
            // The page is made fit first, through the same door as a store; then its bytes are safe to change.
            self.write_shared(id, index);
            let shared = (self.shared.page_mut(id, index)).expect("populated above");
            Arc::make_mut(&mut shared.page).bytes_mut()[within..within + n]
                .copy_from_slice(&bytes[done..done + n]);
            done += n;
        }
        Ok(())
    }

    /// The file whose content this was has gone: what nobody maps any more is freed.
    pub fn release_shared(&mut self, id: SharedId) {
        self.shared.release(id);
        self.attention = true;
    }

    /// The shared memory at an address, with the offset in it.
    pub fn shared_word(&self, addr: u64) -> Option<(SharedId, u64)> {
        let (object, index) = self.shared_at(addr / PAGE_SIZE)?;
        Some((object, index * PAGE_SIZE + addr % PAGE_SIZE))
    }

    /// The address space of a new process: its pages are copies, what is shared stays so.
    pub fn fork(&mut self) -> Self {
        let mut copy = self.snapshot();
        copy.shared = SharedMemory::default();
        copy.high_water = copy.live_pages;
        for region in self.regions.values() {
            if let Backing::Shared { object, .. } = region.backing {
                self.shared.map(object);
            }
        }
        copy
    }

    /// Takes over what all processes share from the address space that ran before.
    pub fn take_shared(&mut self, from: &mut Self) {
        from.flush_tlb();
        self.shared = std::mem::take(&mut from.shared);
    }

    /// An address space that is not the running one has gone.
    pub fn forget(&mut self, gone: &Self) {
        for region in gone.regions.values() {
            if let Backing::Shared { object, .. } = region.backing {
                self.shared.unmap(object);
                self.attention = true;
            }
        }
    }

    // ---- code ----------------------------------------------------------------------------------------------------

    /// The page at this page number as code: its bytes stay as they are until [`Memory::take_stale_code`] names it.
    ///
    /// # Errors
    /// The fetch fault.
    pub fn code_page(&mut self, number: u64) -> Result<Arc<Page>, Fault> {
        self.resolve(number * PAGE_SIZE, AccessKind::Execute)?;
        let in_chunk = number as usize % CHUNK_PAGES;
        let private = self.slot(number).is_some_and(|slot| slot.page.is_some());
        if let Some((object, index)) = self.shared_at(number).filter(|_| !private) {
            let shared = (self.shared.page_mut(object, index)).expect("resolve populated it");
            let page = Arc::clone(&shared.page);
            if !std::mem::replace(&mut shared.code, true) {
                // It may be written to through any address.
                self.flush_tlb();
            }
            self.shared_code.insert(number);
            return Ok(page);
        }
        let chunk = self
            .chunks
            .get_mut(&(number / CHUNK_PAGES as u64))
            .expect("resolve populated it");
        if !chunk.slots[in_chunk].code {
            Arc::make_mut(chunk).slots[in_chunk].code = true;
            let index = number as usize % TLB_ENTRIES;
            self.tlb[index].write = never(index);
        }
        Ok(Arc::clone(
            self.slot(number)
                .and_then(|s| s.page.as_ref())
                .expect("resolve populated it"),
        ))
    }

    /// The shared memory that is mapped at this page number: the object, and the number of the page in it.
    fn shared_at(&self, number: u64) -> Option<(SharedId, u64)> {
        let (start, region) = self.region_at(number * PAGE_SIZE)?;
        match region.backing {
            Backing::Shared { object, offset } => {
                Some((object, (offset + (number * PAGE_SIZE - start)) / PAGE_SIZE))
            }
            _ => None,
        }
    }

    /// The page of shared memory at this page number, if it may be executed.
    fn shared_code_page(&self, number: u64) -> Option<&Arc<Page>> {
        let (_, region) = self.region_at(number * PAGE_SIZE)?;
        let (object, index) = self.shared_at(number)?;
        if !region.protection.contains(Protection::EXECUTE) {
            return None;
        }
        self.shared.page(object, index).map(|shared| &shared.page)
    }

    /// The page as it is now, if it has been touched and may be executed; fills nothing.
    pub fn peek_code_page(&self, number: u64) -> Option<&Arc<Page>> {
        if self.shared_code.contains(&number) {
            return self.shared_code_page(number);
        }
        self.slot(number)
            .filter(|s| s.code && s.protection.contains(Protection::EXECUTE))
            .and_then(|s| s.page.as_ref())
    }

    /// Whether code that was decoded from `page` is valid for the page at this number: it is that very page and may be
    /// executed. If so, it is guarded as [`Memory::code_page`] does.
    pub fn adopt_code_page(&mut self, number: u64, page: &Arc<Page>) -> bool {
        let own = self.slot(number).filter(|slot| slot.page.is_some());
        let now = match own {
            Some(slot) => {
                (slot.page.as_ref()).filter(|_| slot.protection.contains(Protection::EXECUTE))
            }
            None => self.shared_code_page(number),
        };
        let same = now.is_some_and(|now| Arc::ptr_eq(now, page));
        same && self.code_page(number).is_ok()
    }

    /// Whether a page with decoded code has changed since the last call of [`Memory::take_stale_code`].
    #[inline(always)]
    pub fn has_stale_code(&self) -> bool {
        !self.stale_code.is_empty()
    }

    /// The numbers of pages whose decoded code is no longer valid.
    pub fn take_stale_code(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.stale_code)
    }

    // ---- accounting ----------------------------------------------------------------------------------------------

    /// Pages that hold content now: those of this address space, and what all processes share while this one runs.
    pub fn live_pages(&self) -> u64 {
        self.live_pages + self.shared.live_pages()
    }
    /// The most pages that ever held content at once.
    pub fn peak_live_pages(&self) -> u64 {
        self.peak_live_pages
    }
    /// The most private pages that this address space ever held at once.
    pub fn high_water_pages(&self) -> u64 {
        self.high_water
    }
    /// Whether the number of live pages or decoded code has changed since the last call.
    #[inline(always)]
    pub fn take_attention(&mut self) -> bool {
        std::mem::take(&mut self.attention)
    }
    /// As [`Memory::take_attention`], without taking it.
    #[inline(always)]
    pub fn wants_attention(&self) -> bool {
        self.attention
    }
    /// Bytes of live pages allowed.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_pages * PAGE_SIZE
    }
    /// Sets how many bytes of live pages are allowed from now on.
    pub fn set_limit_bytes(&mut self, bytes: u64) {
        self.limit_pages = bytes / PAGE_SIZE;
    }
    /// From now on [`Memory::peak_live_pages`] counts from here.
    pub fn restart_peak(&mut self) {
        self.peak_live_pages = self.live_pages();
    }
    /// Makes it ready for [`Memory::fork_frozen`], until it runs again.
    pub fn freeze(&mut self) {
        self.flush_tlb();
    }
    /// Whether the first touch of a page is told as [`Fault::FirstTouch`] before it happens. While instructions run, it
    /// is, so that pages come at exact instructions; the kernel's own accesses make pages as they go.
    pub fn set_demand(&mut self, on: bool) {
        self.demand = on;
    }
    /// Switches recording for [`Memory::read`] and [`Memory::write`].
    pub fn set_recording(&mut self, on: bool) {
        self.recording = on;
    }
    /// Whether accesses are recorded.
    pub fn is_recording(&self) -> bool {
        self.recording
    }
    /// The accesses since the last [`Memory::clear_accesses`], in program order.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }
    /// Records a load that a handler made silently.
    #[inline(always)]
    pub(crate) fn record_load(&mut self, addr: u64, size: u8) {
        self.accesses.push(Access {
            addr,
            size,
            store: false,
        });
    }
    /// Records how much work an instruction did that takes its time by the values: a divide, whose microcode goes on for
    /// as many steps as its quotient needs. It stands among the accesses as one of no bytes; the address is the amount.
    #[inline]
    pub(crate) fn record_work(&mut self, amount: u64) {
        if self.recording {
            self.accesses.push(Access {
                addr: amount,
                size: 0,
                store: false,
            });
        }
    }
    /// Forgets the recorded accesses from this number on: they belong to work that faulted.
    pub(crate) fn truncate_accesses(&mut self, count: usize) {
        self.accesses.truncate(count);
    }
    /// Forgets the recorded accesses.
    #[inline(always)]
    pub fn clear_accesses(&mut self) {
        self.accesses.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix;

    fn map(mem: &mut Memory, start: u64, pages: u64) {
        mem.map(
            start,
            pages * PAGE_SIZE,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
    }

    #[test]
    fn tables_of_unmapped_addresses_are_given_back() {
        let mut mem = Memory::new(1 << 20);
        for i in 0..1000 {
            let at = 0x10_0000_0000 + i * (4 << 20);
            map(&mut mem, at, 1);
            mem.write(at, 1u8).unwrap();
            mem.unmap(at, PAGE_SIZE);
        }
        assert!(mem.chunks.is_empty());
        assert_eq!((mem.live_pages(), mem.peak_live_pages()), (0, 1));
        // A neighbour in the same table keeps it.
        map(&mut mem, 0x10_0000_0000, 2);
        mem.write(0x10_0000_0000, 7u8).unwrap();
        mem.write(0x10_0000_1000, 8u8).unwrap();
        mem.unmap(0x10_0000_1000, PAGE_SIZE);
        assert_eq!(mem.read::<u8>(0x10_0000_0000).unwrap(), 7);
    }

    #[test]
    fn moved_pages_keep_their_bytes_and_take_the_new_protection() {
        let mut mem = Memory::new(1 << 20);
        let (from, to) = (0x10_0000_0000, 0x20_001f_f000);
        map(&mut mem, from, 3);
        mem.write(from + PAGE_SIZE, 7u8).unwrap();
        mem.map(
            to,
            3 * PAGE_SIZE,
            Protection::READ,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
        let snapshot = mem.snapshot();
        mem.move_pages(from, to, 3 * PAGE_SIZE);
        assert_eq!(mem.live_pages(), 1);
        assert_eq!(mem.read::<u8>(to + PAGE_SIZE).unwrap(), 7);
        assert!(mem.write(to + PAGE_SIZE, 1u8).is_err());
        assert_eq!(mem.read::<u8>(from + PAGE_SIZE).unwrap(), 0);
        let mut before = snapshot.fork_frozen();
        assert_eq!(before.read::<u8>(from + PAGE_SIZE).unwrap(), 7);
    }

    /// The search for free ranges as a walk over all mappings.
    fn find_free_plain(mem: &Memory, len: u64, bottom: u64, top: u64) -> Option<u64> {
        let mut ceiling = top;
        for (start, region) in mem.regions().collect::<Vec<_>>().into_iter().rev() {
            if start >= top {
                continue;
            }
            if region.end < ceiling && ceiling - region.end >= len {
                break;
            }
            ceiling = ceiling.min(start);
        }
        ceiling
            .checked_sub(len)
            .filter(|&s| s >= bottom && mem.is_free(s, len))
    }

    #[test]
    fn free_ranges_are_found_where_a_walk_over_all_mappings_finds_them() {
        let mut random = SplitMix::new(3);
        let mut page = |bound: usize| random.below(bound) as u64 * PAGE_SIZE;
        let mut mem = Memory::new(1 << 30);
        let base = 0x7000_0000_0000;
        for round in 0..20_000 {
            let start = base + page(2000);
            let len = PAGE_SIZE + page(20);
            match round % 5 {
                0 | 1 => mem.unmap(start, len),
                2 => {
                    let protection = Protection::from_linux(1 + round % 3);
                    let (backing, purpose) = (Backing::Anonymous, Purpose::Anonymous);
                    mem.map(start, len, protection, backing, purpose);
                }
                3 => _ = mem.protect(start, len, Protection::READ),
                _ => {}
            }
            let top = base + page(2200);
            let len = PAGE_SIZE + page(60);
            let bottom = base + page(300);
            let found = mem.find_free(len, bottom, top);
            assert_eq!(found, find_free_plain(&mem, len, bottom, top));
            if let Some(start) = found.filter(|_| round % 7 == 0) {
                map(&mut mem, start, len / PAGE_SIZE);
            }
        }
    }

    #[test]
    fn anonymous_neighbours_are_one_mapping_from_either_side() {
        let mut mem = Memory::new(1 << 20);
        let at = 0x10_0000_0000;
        map(&mut mem, at + PAGE_SIZE, 1);
        map(&mut mem, at, 1);
        map(&mut mem, at + 3 * PAGE_SIZE, 1);
        assert_eq!(mem.region_count(), 2);
        map(&mut mem, at + 2 * PAGE_SIZE, 1);
        assert_eq!(mem.region_count(), 1);
        assert_eq!(
            mem.region_at(at).map(|(start, region)| (start, region.end)),
            Some((at, at + 4 * PAGE_SIZE))
        );
    }
}
