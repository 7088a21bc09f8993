//! A stride prefetcher: loads of one instruction that step by a constant distance are fetched ahead.
//!
//! After gem5's StridePrefetcher (Fu, Patel and Janssens, MICRO 1992, with confidence): a table of 64 instructions in
//! sets of four, a three-bit confidence that starts at half, four lines ahead. It is told of misses and of hits on lines
//! that it brought. What gem5 replaces at random is replaced in turn.

const SETS: usize = 16;
const WAYS: usize = 4;
/// Lines ahead.
const DEGREE: i64 = 4;
const START: u8 = 4;
const SURE: u8 = 4;
const MOST: u8 = 7;
const LINE: i64 = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    pc: u64,
    last: u64,
    stride: i64,
    confidence: u8,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stride {
    entries: [[Entry; WAYS]; SETS],
    next: [u8; SETS],
}

impl Stride {
    /// A table that knows no instruction.
    pub fn new() -> Self {
        Self {
            entries: [[Entry::default(); WAYS]; SETS],
            next: [0; SETS],
        }
    }

    /// An access by the instruction at `pc`; the addresses to fetch ahead.
    pub fn access(&mut self, pc: u64, address: u64) -> impl Iterator<Item = u64> + use<> {
        let step = self.learn(pc, address);
        (1..=if step == 0 { 0 } else { DEGREE })
            .map(move |i| address.wrapping_add_signed(step.wrapping_mul(i)))
    }

    /// The distance to fetch ahead by; 0 for none.
    fn learn(&mut self, pc: u64, address: u64) -> i64 {
        let set = (pc >> 1) as usize % SETS;
        let Some(entry) = self.entries[set].iter_mut().find(|e| e.pc == pc) else {
            let way = usize::from(self.next[set]);
            self.next[set] = ((way + 1) % WAYS) as u8;
            self.entries[set][way] = Entry {
                pc,
                last: address,
                stride: 0,
                confidence: START,
            };
            return 0;
        };
        let stride = address.wrapping_sub(entry.last) as i64;
        entry.last = address;
        if stride == entry.stride && stride != 0 {
            entry.confidence = (entry.confidence + 1).min(MOST);
        } else {
            entry.confidence = entry.confidence.saturating_sub(1);
            if entry.confidence < SURE {
                entry.stride = stride;
            }
        }
        if entry.confidence < SURE {
            return 0;
        }
        // Steps within a line would ask for the same line again.
        match entry.stride {
            s if s.abs() >= LINE => s,
            s => s.signum() * LINE,
        }
    }
}

impl Default for Stride {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_stride_is_followed_once_it_has_been_seen_twice() {
        let mut stride = Stride::new();
        let ahead = |s: &mut Stride, address| s.access(0x400, address).collect::<Vec<u64>>();
        // New; the first distance (confidence 4 - 1 = 3); then it repeats (4).
        assert!(ahead(&mut stride, 0x1000).is_empty());
        assert!(ahead(&mut stride, 0x1100).is_empty());
        assert_eq!(ahead(&mut stride, 0x1200), [0x1300, 0x1400, 0x1500, 0x1600]);
        // Another distance: not sure any more.
        assert!(ahead(&mut stride, 0x9000).is_empty());
    }
}
