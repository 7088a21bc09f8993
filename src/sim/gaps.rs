//! The free ranges of an address space, with the highest one of a size found in logarithmic time.
use std::collections::BTreeMap;

/// Bits of a page number by which each level is coarser than the one below it.
const STEP: u32 = 5;
/// Levels that bring the 35 bits of a page number below one step.
const LEVELS: usize = 8;

/// Ranges of free pages, none touching another.
///
/// The lowest level has the length of each range by its first page; each level above has the longest of those whose first
/// pages agree but for their lowest bits. A search climbs until some range is long enough and then descends to it.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    levels: [BTreeMap<u64, u64>; LEVELS],
}

impl Gaps {
    /// All pages below `end` are free.
    pub(super) fn new(end: u64) -> Self {
        let mut gaps = Self {
            levels: Default::default(),
        };
        gaps.insert(0, end);
        gaps
    }

    /// Pages `[start, end)`, all of them free, are no longer so.
    pub(super) fn take(&mut self, start: u64, end: u64) {
        let Some((first, gap_end)) = self.at_or_before(start).filter(|_| start < end) else {
            return;
        };
        self.remove(first);
        self.insert(first, start);
        self.insert(end, gap_end);
    }

    /// Pages `[start, end)` are free, whether or not they or some of them were.
    pub(super) fn give(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (mut from, mut to) = (start, end);
        if let Some((first, gap_end)) = self.at_or_before(start)
            && gap_end >= start
        {
            from = first;
            to = to.max(gap_end);
        }
        let merged: Vec<(u64, u64)> = (self.levels[0].range(from..=end))
            .map(|(&first, &length)| (first, first + length))
            .collect();
        for (first, gap_end) in merged {
            self.remove(first);
            to = to.max(gap_end);
        }
        self.insert(from, to);
    }

    /// The first page of the highest `length` free pages below the page `top`.
    pub(super) fn highest(&self, length: u64, top: u64) -> Option<u64> {
        let (first, end) = self.at_or_before(top.checked_sub(1)?)?;
        // The range that the bound cuts.
        let end = end.min(top);
        if end - first >= length {
            return Some(end - length);
        }
        let (first, gap_length) = self.below(first, length)?;
        Some(first + gap_length - length)
    }

    /// The highest range of at least this length that begins before a page: its first page and its length.
    fn below(&self, page: u64, length: u64) -> Option<(u64, u64)> {
        let mut end = page;
        for level in 0..LEVELS {
            let group = end >> STEP << STEP;
            if let Some(key) = self.last(level, group, end, length) {
                return self.descend(level, key, length);
            }
            end >>= STEP;
        }
        None
    }

    fn descend(&self, level: usize, mut key: u64, length: u64) -> Option<(u64, u64)> {
        for level in (0..level).rev() {
            let group = key << STEP;
            key = self.last(level, group, group + (1 << STEP), length)?;
        }
        Some((key, *self.levels[0].get(&key)?))
    }

    /// The last key of `[start, end)` on a level with at least this length.
    fn last(&self, level: usize, start: u64, end: u64, length: u64) -> Option<u64> {
        (self.levels[level].range(start..end).rev())
            .find(|&(_, &longest)| longest >= length)
            .map(|(&key, _)| key)
    }

    /// The last range that begins at or before a page: first page, and the page behind it.
    fn at_or_before(&self, page: u64) -> Option<(u64, u64)> {
        let found = self.levels[0].range(..=page).next_back();
        found.map(|(&first, &length)| (first, first + length))
    }

    fn insert(&mut self, first: u64, end: u64) {
        if first < end {
            self.levels[0].insert(first, end - first);
            self.update(first);
        }
    }

    fn remove(&mut self, first: u64) {
        self.levels[0].remove(&first);
        self.update(first);
    }

    /// The lengths above a range that has changed.
    fn update(&mut self, first: u64) {
        let mut key = first;
        for level in 1..LEVELS {
            key >>= STEP;
            let group = key << STEP;
            let longest = self.levels[level - 1].range(group..group + (1 << STEP));
            let longest = longest.map(|(_, &length)| length).max();
            let before = match longest {
                Some(longest) => self.levels[level].insert(key, longest),
                None => self.levels[level].remove(&key),
            };
            if before == longest {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix;

    const END: u64 = 1 << 17;

    /// The rule in its plainest form: pages from the top down, one after another.
    fn highest_plain(used: &[bool], length: u64, top: u64) -> Option<u64> {
        let mut free = 0;
        for page in (0..top).rev() {
            free = if used[page as usize] { 0 } else { free + 1 };
            if free == length {
                return Some(page);
            }
        }
        None
    }

    #[test]
    fn random_ranges_are_found_where_a_walk_over_all_pages_finds_them() {
        let size = 600;
        let mut random = SplitMix::new(5);
        let mut below = |bound: u64| random.below(bound as usize) as u64;
        for _ in 0..60 {
            let mut gaps = Gaps::new(size);
            let mut used = vec![false; size as usize];
            for _ in 0..200 {
                let start = below(size);
                let end = (start + 1 + below(12)).min(size);
                gaps.give(start, end);
                let taken = below(3) > 0;
                if taken {
                    gaps.take(start, end);
                }
                used[start as usize..end as usize].fill(taken);
                let (length, top) = (1 + below(15), below(size + 1));
                let found = gaps.highest(length, top);
                assert_eq!(found, highest_plain(&used, length, top), "{gaps:?}");
            }
        }
    }

    #[test]
    fn the_search_passes_over_ranges_that_are_too_short_without_looking_at_each() {
        let mut gaps = Gaps::new(END);
        for page in (END / 2..END).step_by(2) {
            gaps.take(page, page + 1);
        }
        // A walk over the ranges makes 1.6 thousand million steps.
        for _ in 0..50_000 {
            assert_eq!(gaps.highest(2, END), Some(END / 2 - 2));
        }
        gaps.give(0, END);
        assert_eq!(gaps.levels[0], BTreeMap::from([(0, END)]));
        assert!(gaps.levels[LEVELS - 1].len() == 1);
    }
}
