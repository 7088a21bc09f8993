//! Epoll: sets of open files of which those that are ready are told.
//!
//! An edge-triggered interest is told when something has happened on its side of the file since it was last told; files
//! count such events ([`Kernel::edges`]).
use super::abi::*;
use super::descriptor::{Object, Open, OpenId};
use super::user::{Record, check_range, give, take, take_u32, take_u64};
use super::wait::{POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI, POLLRDHUP, Timeout};
use super::{Answer, Kernel};
use crate::sim::memory::Memory;
use std::collections::BTreeMap;

const EDGE: u32 = 1 << 31;
const ONCE: u32 = 1 << 30;
const EXCLUSIVE: u32 = 1 << 28;
/// How deep sets may watch sets.
const MAX_NESTS: u32 = 5;
/// Bytes of what is told of one file.
const EVENT_SIZE: u64 = 12;

/// An interest in an open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    events: u32,
    data: u64,
    /// The file's edges when it was last told of; `None`: not yet.
    seen: Option<[u64; 2]>,
    /// It was to be told once, and has been.
    spent: bool,
}

/// The interests of a set: by descriptor and what it stood for.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    all: BTreeMap<(i32, OpenId), Watch>,
    /// Behind this one the next search begins, so that all have their turn.
    last: Option<(i32, OpenId)>,
}

impl Watched {
    /// An open file is no more.
    pub(super) fn forget(&mut self, gone: OpenId) {
        self.all.retain(|&(_, open), _| open != gone);
    }
}

impl Kernel {
    /// Counts of what has happened to a file that could make it readable, and writable.
    fn edges(&self, open: &Open) -> [u64; 2] {
        let pipes = &self.descriptors.pipes;
        let input = |id| pipes.get(id).map_or(u64::MAX, |p| p.filled);
        let output = |id| pipes.get(id).map_or(u64::MAX, |p| p.emptied);
        match &open.object {
            Object::PipeReader(id) => [input(id), 0],
            Object::PipeWriter(id) => [0, output(id)],
            Object::Pair {
                input: i,
                output: o,
            } => [input(i), output(o)],
            Object::Event { edges, .. } => *edges,
            Object::Timer(id) => [self.descriptors.timers.get(id).map_or(0, |t| t.edges), 0],
            Object::Signals { .. } => [self.signals_sent, 0],
            Object::Epoll(_) => [self.descriptor_changes, 0],
            Object::Process { pid } => [self.has_ended(*pid).into(), 0],
            _ => [0, 0],
        }
    }

    /// What is to be told of an interest now.
    fn told(&self, open: &Open, watch: &Watch, depth: u32) -> u32 {
        if watch.spent {
            return 0;
        }
        if let (true, Some(seen)) = (watch.events & EDGE != 0, watch.seen) {
            let now = self.edges(open);
            let input = watch.events & (POLLIN | POLLPRI | POLLRDHUP) != 0 && now[0] != seen[0];
            let output = watch.events & POLLOUT != 0 && now[1] != seen[1];
            // The end of the other side is told whatever was asked for.
            let ended = now != seen && self.ready(open, depth) & POLLHUP != 0;
            if !(input || output || ended) {
                return 0;
            }
        }
        self.ready(open, depth) & (watch.events | POLLERR | POLLHUP)
    }

    /// Whether a set has anything to tell; sets within sets are looked into so deep.
    pub(super) fn any_told(&self, watched: &Watched, depth: u32) -> bool {
        depth < MAX_NESTS
            && watched.all.iter().any(|(&(_, id), watch)| {
                (self.descriptors.open(id)).is_some_and(|o| self.told(o, watch, depth + 1) != 0)
            })
    }

    pub(super) fn epoll_create(&mut self, size: i32, flags: u32, old: bool) -> Answer {
        if old && size <= 0 || flags & !O_CLOEXEC != 0 {
            return Err(EINVAL.into());
        }
        let open = Open::new(Object::Epoll(Watched::default()), O_RDWR, None);
        Ok(self.descriptors.insert(open, flags & O_CLOEXEC != 0)? as u64)
    }

    /// How deep sets watch sets below this one; an error if one of them is `not`.
    fn depth_below(&self, id: OpenId, not: OpenId, depth: u32) -> Result<(), Errno> {
        if id == not || depth >= MAX_NESTS {
            return Err(ELOOP);
        }
        if let Some(Open {
            object: Object::Epoll(watched),
            ..
        }) = self.descriptors.open(id)
        {
            for &(_, below) in watched.all.keys() {
                self.depth_below(below, not, depth + 1)?;
            }
        }
        Ok(())
    }

    pub(super) fn epoll_ctl(
        &mut self,
        mem: &mut Memory,
        epoll: i32,
        operation: u32,
        fd: i32,
        event: u64,
    ) -> Answer {
        const ADD: u32 = 1;
        const REMOVE: u32 = 2;
        const MODIFY: u32 = 3;
        let (events, data) = if operation == REMOVE {
            (0, 0)
        } else {
            (take_u32(mem, event)?, take_u64(mem, event.wrapping_add(4))?)
        };
        let set = self.descriptors.open_id(epoll)?;
        let key = (fd, self.descriptors.open_id(fd)?);
        let target = &self.descriptors.get(fd)?.object;
        if matches!(
            target,
            Object::File(_) | Object::Directory { .. } | Object::Text(_) | Object::Character(_)
        ) {
            return Err(EPERM.into());
        }
        let nested = matches!(target, Object::Epoll(_));
        let Object::Epoll(watched) = &self.descriptors.get(epoll)?.object else {
            return Err(EINVAL.into());
        };
        if key.1 == set {
            return Err(EINVAL.into());
        }
        let present = watched.all.contains_key(&key);
        if events & EXCLUSIVE != 0 && (operation == MODIFY || nested || events & ONCE != 0) {
            return Err(EINVAL.into());
        }
        if operation == ADD && nested {
            self.depth_below(key.1, set, 1)?;
        }
        let Object::Epoll(watched) = &mut self.descriptors.get_mut(epoll)?.object else {
            return Err(EINVAL.into());
        };
        match (operation, present) {
            (ADD, true) => return Err(EEXIST.into()),
            (REMOVE | MODIFY, false) => return Err(ENOENT.into()),
            (ADD | MODIFY, _) => {
                let watch = Watch {
                    events,
                    data,
                    seen: None,
                    spent: false,
                };
                watched.all.insert(key, watch);
            }
            (REMOVE, true) => {
                watched.all.remove(&key);
            }
            _ => return Err(EINVAL.into()),
        }
        Ok(0)
    }

    pub(super) fn epoll_wait(
        &mut self,
        mem: &mut Memory,
        epoll: i32,
        at: u64,
        max: i32,
        timeout: Timeout,
    ) -> Answer {
        let max = usize::try_from(max)
            .ok()
            .filter(|&m| m > 0 && m <= (i32::MAX / EVENT_SIZE as i32) as usize)
            .ok_or(EINVAL)?;
        check_range(at, EVENT_SIZE * max as u64)?;
        let Object::Epoll(watched) = &self.descriptors.get(epoll)?.object else {
            return Err(EINVAL.into());
        };
        let behind = |key: &(i32, OpenId)| watched.last.is_some_and(|last| *key <= last);
        let (later, sooner): (Vec<_>, Vec<_>) = watched.all.iter().partition(|w| !behind(w.0));
        let mut found = Vec::new();
        for (&key, watch) in later.into_iter().chain(sooner) {
            let Some(open) = self.descriptors.open(key.1) else {
                continue;
            };
            let told = self.told(open, watch, 1);
            if told != 0 && found.len() < max {
                found.push((key, told, watch.data, self.edges(open)));
            }
        }
        for (i, &(_, told, data, _)) in found.iter().enumerate() {
            let event = Record::new().u32(told).u64(data).bytes();
            give(mem, at + EVENT_SIZE * i as u64, &event)?;
        }
        if let Object::Epoll(watched) = &mut self.descriptors.get_mut(epoll)?.object {
            for &(key, _, _, edges) in &found {
                watched.last = Some(key);
                if let Some(watch) = watched.all.get_mut(&key) {
                    watch.seen = Some(edges);
                    watch.spent = watch.events & ONCE != 0;
                }
            }
        }
        if found.is_empty() {
            self.wait_in_vain(timeout)?;
        }
        Ok(found.len() as u64)
    }

    pub(super) fn epoll_pwait(
        &mut self,
        mem: &mut Memory,
        epoll: i32,
        at: u64,
        max: i32,
        timeout: Timeout,
        [mask, size]: [u64; 2],
    ) -> Answer {
        self.take_mask(mem, mask, size)?;
        self.epoll_wait(mem, epoll, at, max, timeout)
    }

    pub(super) fn epoll_pwait2(
        &mut self,
        mem: &mut Memory,
        epoll: i32,
        at: u64,
        max: i32,
        time: u64,
        mask: [u64; 2],
    ) -> Answer {
        let timeout = if time == 0 {
            Timeout::NEVER
        } else {
            Timeout::nanoseconds(super::clock::parse_timespec(take(mem, time)?)?)
        };
        self.epoll_pwait(mem, epoll, at, max, timeout, mask)
    }
}
