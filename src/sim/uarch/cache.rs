//! A set-associative level of cache with LRU replacement: which lines it holds, in which order they were last used.
use crate::sim::machine;

/// No line: line numbers are addresses without their low bits, so none has all bits set.
const EMPTY: u64 = u64::MAX;

/// One level. It holds line numbers (address divided by the line), no data: `isa` keeps the values.
///
/// Lines stay in their ways, and a stamp says when each was last used: to use a line again is one store, however deep it
/// lies in the order. The latest line of each set is kept apart, so that the common case, using it again, is a single
/// comparison and changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    latest: Box<[u64]>,
    lines: Box<[u64]>,
    stamps: Box<[u64]>,
    clock: u64,
    ways: usize,
    set_mask: u64,
}

impl Cache {
    /// An empty level.
    pub fn new(cache: &machine::Cache, line_bytes: u64) -> Self {
        let sets = cache.size_bytes / (cache.ways * line_bytes);
        let entries = (sets * cache.ways) as usize;
        Self {
            latest: vec![EMPTY; sets as usize].into(),
            lines: vec![EMPTY; entries].into(),
            stamps: vec![0; entries].into(),
            clock: 0,
            ways: cache.ways as usize,
            set_mask: sets - 1,
        }
    }

    /// Whether `line` is the latest of its set: then [`Cache::touch`] would hit and change nothing.
    #[inline(always)]
    pub fn is_latest(&self, line: u64) -> bool {
        self.latest[(line & self.set_mask) as usize] == line
    }

    /// Uses `line`: true on a hit. On a miss it replaces the line of its set that was used longest ago.
    #[inline]
    pub fn touch(&mut self, line: u64) -> bool {
        if self.is_latest(line) {
            return true;
        }
        // The usual numbers of ways as constants: the search becomes straight code.
        match self.ways {
            8 => self.search::<8>(line, 8),
            16 => self.search::<16>(line, 16),
            ways => self.search::<0>(line, ways),
        }
    }

    /// `WAYS` is `ways` where it is known at compile time, and 0 where not.
    #[inline(always)]
    fn search<const WAYS: usize>(&mut self, line: u64, ways: usize) -> bool {
        let ways = if WAYS == 0 { ways } else { WAYS };
        let index = (line & self.set_mask) as usize;
        let start = index * ways;
        let lines = &mut self.lines[start..start + ways];
        let stamps = &mut self.stamps[start..start + ways];
        self.latest[index] = line;
        self.clock += 1;
        // Where a line lies in its set is as good as random: looking at every way is cheaper than a branch that ends the
        // search and is mispredicted on the host.
        let mut found = ways;
        for (way, &held) in lines.iter().enumerate() {
            found = if held == line { way } else { found };
        }
        if found < ways {
            stamps[found] = self.clock;
            return true;
        }
        let (mut oldest, mut stamp) = (0, u64::MAX);
        for (way, &used) in stamps.iter().enumerate() {
            (oldest, stamp) = if used < stamp {
                (way, used)
            } else {
                (oldest, stamp)
            };
        }
        lines[oldest] = line;
        stamps[oldest] = self.clock;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(size_bytes: u64, ways: u64) -> Cache {
        let cache = machine::Cache {
            size_bytes,
            ways,
            latency_cycles: 1,
        };
        Cache::new(&cache, 16)
    }

    #[test]
    fn the_line_used_longest_ago_is_replaced_not_the_oldest_one() {
        // One set of two ways. A, B, A, C: LRU drops B (A was used since), FIFO would drop A.
        let (a, b, c) = (1, 2, 3);
        let mut cache = level(32, 2);
        let hits = [a, b, a, c, a, b].map(|line| cache.touch(line));
        assert_eq!(hits, [false, false, true, false, true, false]);
    }

    #[test]
    fn four_ways_keep_the_order_of_use() {
        let mut cache = level(64, 4);
        for line in [1, 2, 3, 4] {
            assert!(!cache.touch(line));
        }
        // Order of use is now 4 3 2 1; using 2 and 1 makes it 1 2 4 3; two new lines then drop 3 and 4.
        assert!(cache.touch(2) && cache.touch(1));
        assert!(!cache.touch(5) && !cache.touch(6));
        assert!(cache.touch(1) && cache.touch(2) && cache.touch(5) && cache.touch(6));
        assert!(!cache.touch(3) && !cache.touch(4));
    }

    #[test]
    fn sets_do_not_disturb_each_other() {
        // Two sets of one way: even and odd lines.
        let mut cache = level(32, 1);
        assert!(!cache.touch(2) && !cache.touch(3));
        assert!(cache.touch(2) && cache.touch(3));
        assert!(!cache.touch(4));
        assert!(cache.touch(3) && !cache.touch(2));
    }

    #[test]
    fn touching_the_latest_line_changes_nothing() {
        let mut cache = level(64, 2);
        for line in [1, 3, 5, 2] {
            cache.touch(line);
            assert!(cache.is_latest(line));
            let before = cache.clone();
            assert!(cache.touch(line));
            assert_eq!(cache, before);
        }
        assert!(!cache.is_latest(3));
    }
}
