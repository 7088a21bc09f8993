//! A set-associative level of cache with LRU replacement: which lines it holds, in which order they were last used.
use crate::sim::machine;

/// No line: line numbers are addresses without their low bits, so none has all bits set.
const EMPTY: u64 = u64::MAX;

/// One level. It holds line numbers (address divided by the line), no data: `isa` keeps the values.
///
/// The ways of a set stand in the order of their last use, the latest first. So the common case, a line used again, is
/// one comparison with the head of its set and changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    lines: Box<[u64]>,
    ways: usize,
    set_mask: u64,
}

impl Cache {
    /// An empty level.
    pub fn new(cache: &machine::Cache, line_bytes: u64) -> Self {
        let sets = cache.size_bytes / (cache.ways * line_bytes);
        Self {
            lines: vec![EMPTY; (sets * cache.ways) as usize].into(),
            ways: cache.ways as usize,
            set_mask: sets - 1,
        }
    }

    /// Whether `line` is the latest of its set: then [`Cache::touch`] would hit and change nothing.
    #[inline(always)]
    pub fn is_latest(&self, line: u64) -> bool {
        self.lines[(line & self.set_mask) as usize * self.ways] == line
    }

    /// Uses `line`: true on a hit. On a miss it replaces the line of its set that was used longest ago.
    #[inline]
    pub fn touch(&mut self, line: u64) -> bool {
        let start = (line & self.set_mask) as usize * self.ways;
        let set = &mut self.lines[start..start + self.ways];
        // Shifts the order by one up to the place where the line was found, or to the end, where the oldest drops out.
        let mut displaced = line;
        for way in set {
            std::mem::swap(way, &mut displaced);
            if displaced == line {
                return true;
            }
        }
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
