//! Memory that several address spaces map: its pages by number of the object that they belong to.
//!
//! The running process's [`Memory`](super::memory::Memory) has all of it; those of other processes refer to it by number
//! and find it when they run. A snapshot shares the pages until one side writes.
use super::memory::{PAGE_SIZE, Page};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of an object. Numbers are not used again.
pub type SharedId = u64;

/// One page of an object.
#[derive(Clone, Debug)]
pub(super) struct SharedPage {
    pub(super) page: Arc<Page>,
    /// Blocks were decoded from it by some process: stores must look for them.
    pub(super) code: bool,
}

/// Memory that can be mapped many times: anonymous, or the content of a file.
#[derive(Clone, Debug)]
struct Object {
    /// What the pages hold before they are touched; zeros follow.
    base: Arc<[u8]>,
    /// Bytes; what is mapped beyond the last page of these is no memory.
    size: u64,
    pages: BTreeMap<u64, SharedPage>,
    /// Mapped ranges of all processes.
    mappings: u64,
    /// A file whose content this is exists.
    held: bool,
}

/// All objects.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedMemory {
    objects: BTreeMap<SharedId, Object>,
    next: SharedId,
    live_pages: u64,
}

impl SharedMemory {
    pub(super) fn create(&mut self, base: Arc<[u8]>, size: u64, held: bool) -> SharedId {
        let id = self.next;
        self.next += 1;
        let object = Object {
            base,
            size,
            pages: BTreeMap::new(),
            mappings: 0,
            held,
        };
        self.objects.insert(id, object);
        id
    }

    /// Pages that hold content.
    pub(super) fn live_pages(&self) -> u64 {
        self.live_pages
    }

    /// Bytes of an object.
    pub(super) fn size(&self, id: SharedId) -> u64 {
        self.objects.get(&id).map_or(0, |o| o.size)
    }

    /// Whether this page belongs to the object at all.
    pub(super) fn reaches(&self, id: SharedId, index: u64) -> bool {
        index < self.size(id).div_ceil(PAGE_SIZE)
    }

    pub(super) fn page(&self, id: SharedId, index: u64) -> Option<&SharedPage> {
        self.objects.get(&id)?.pages.get(&index)
    }

    pub(super) fn page_mut(&mut self, id: SharedId, index: u64) -> Option<&mut SharedPage> {
        self.objects.get_mut(&id)?.pages.get_mut(&index)
    }

    /// Gives a page that is not there its first content.
    pub(super) fn populate(&mut self, id: SharedId, index: u64) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let from = object.base.len().min((index * PAGE_SIZE) as usize);
        let to = object.base.len().min(from + PAGE_SIZE as usize);
        let page = Page::starting_with(&object.base[from..to]);
        let page = SharedPage {
            page: Arc::new(page),
            code: false,
        };
        if object.pages.insert(index, page).is_none() {
            self.live_pages += 1;
        }
    }

    /// Sets the size. What is cut off is gone: zeros stand there if the object grows again.
    pub(super) fn resize(&mut self, id: SharedId, size: u64) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        if size < object.size {
            let gone = object.pages.split_off(&size.div_ceil(PAGE_SIZE));
            self.live_pages -= gone.len() as u64;
            if size < object.base.len() as u64 {
                object.base = Arc::from(&object.base[..size as usize]);
            }
            let rest = (size % PAGE_SIZE) as usize;
            if rest > 0
                && let Some(last) = object.pages.get_mut(&(size / PAGE_SIZE))
            {
                Arc::make_mut(&mut last.page).bytes_mut()[rest..].fill(0);
            }
        }
        object.size = size;
    }

    /// Fills the buffer from an offset on, with zeros where nothing has been written.
    pub(super) fn read(&self, id: SharedId, offset: u64, buffer: &mut [u8]) {
        let Some(object) = self.objects.get(&id) else {
            buffer.fill(0);
            return;
        };
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let within = (at % PAGE_SIZE) as usize;
            let n = (PAGE_SIZE as usize - within).min(buffer.len() - done);
            let out = &mut buffer[done..done + n];
            if let Some(shared) = object.pages.get(&(at / PAGE_SIZE)) {
                out.copy_from_slice(&shared.page.bytes()[within..within + n]);
            } else {
                let from = object.base.len().min(at as usize);
                let there = (object.base.len() - from).min(n);
                out[..there].copy_from_slice(&object.base[from..from + there]);
                out[there..].fill(0);
            }
            done += n;
        }
    }

    /// A range of some process maps the object.
    pub(super) fn map(&mut self, id: SharedId) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.mappings += 1;
        }
    }

    /// A range no longer maps the object.
    pub(super) fn unmap(&mut self, id: SharedId) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.mappings -= 1;
        }
        self.forget(id);
    }

    /// The file whose content this is has gone.
    pub(super) fn release(&mut self, id: SharedId) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.held = false;
        }
        self.forget(id);
    }

    fn forget(&mut self, id: SharedId) {
        if let Some(object) = self.objects.get(&id)
            && object.mappings == 0
            && !object.held
        {
            self.live_pages -= object.pages.len() as u64;
            self.objects.remove(&id);
        }
    }
}
