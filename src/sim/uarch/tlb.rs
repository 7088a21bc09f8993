//! TLBs: which pages have been translated lately, and the reads that find a translation that has not.
//!
//! Pages of 4 KiB, in sets by the low bits of their number, the one used longest ago replaced. A hit is free: it is
//! looked up beside the cache. A miss walks a page table of so many levels from its root, one read of the data cache
//! after the other. The table lies beyond the addresses of programs: each level an array of 8-byte entries under what is
//! left of the page's number after nine bits a level below it, so neighbouring pages share the lines of their entries.
use crate::sim::machine::TlbSizes;

const EMPTY: u64 = u64::MAX;
const PAGE_SHIFT: u32 = 12;
/// Bits of the page's number that a level resolves.
const LEVEL_BITS: u64 = 9;
/// Where the arrays of the page table lie, a level each.
const TABLES: u64 = 1 << 62;
const LEVEL_SHIFT: u32 = 56;

/// One TLB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tlb {
    /// Pages by set, the latest used first.
    pages: Box<[u64]>,
    ways: usize,
    levels: u64,
    /// Misses so far.
    pub misses: u64,
}

impl Tlb {
    /// A TLB of so many entries that holds nothing.
    pub fn new(entries: u64, sizes: &TlbSizes) -> Self {
        Self {
            pages: vec![EMPTY; entries as usize].into(),
            ways: sizes.ways as usize,
            levels: sizes.levels,
            misses: 0,
        }
    }

    /// Looks a page up, and keeps it. If it was not there: the addresses that the walk reads, from the root on.
    pub fn look_up(&mut self, address: u64) -> Option<impl Iterator<Item = u64> + use<>> {
        let page = address >> PAGE_SHIFT;
        let sets = self.pages.len() / self.ways;
        let start = (page as usize & (sets - 1)) * self.ways;
        let set = &mut self.pages[start..start + self.ways];
        let found = set.iter().position(|&p| p == page);
        set[..=found.unwrap_or(self.ways - 1)].rotate_right(1);
        set[0] = page;
        if found.is_some() {
            return None;
        }
        self.misses += 1;
        Some((0..self.levels).rev().map(move |level| {
            TABLES | level << LEVEL_SHIFT | (page >> (LEVEL_BITS * level).min(63)) << 3
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_walks_from_the_root_and_a_set_forgets_the_page_used_longest_ago() {
        let sizes = TlbSizes {
            instruction_entries: 4,
            data_entries: 4,
            ways: 2,
            levels: 2,
        };
        let mut tlb = Tlb::new(4, &sizes);
        let mut misses = |page: u64| tlb.look_up(page << 12).map(Iterator::collect::<Vec<_>>);
        // Level 1 has an entry for 512 pages, level 0 one a page.
        let walk = vec![TABLES | 1 << LEVEL_SHIFT | 8, TABLES | 0x202 << 3];
        assert_eq!(misses(0x202), Some(walk));
        assert_eq!(misses(0x202), None);
        // Set 0 holds two of the even pages.
        assert!(misses(4).is_some());
        assert!(misses(0x202).is_none());
        assert!(misses(6).is_some(), "4 goes");
        assert!(misses(0x202).is_none());
        assert!(misses(4).is_some());
    }
}
