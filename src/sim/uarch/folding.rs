//! The indices and tags of LTAGE's tables: hashes of the address, the latest directions and the path, kept from branch to
//! branch.
//!
//! Every one of them is made by shifts, masks and exclusive or, so it is linear. With each branch all bits of history and
//! path move up by one, which rotates a hash by one: but for the bit that comes in, the one that drops out, and one of the
//! path that is folded elsewhere. So a hash is rotated, and these bits are put right, for all tables side by side, as
//! vectors of the host. Each hash stands at the upper end of its sixteen bits: so one rotation fits all widths.

/// LTAGE's tagged tables.
pub(super) const TABLES: usize = 12;
/// Logarithms of the sizes of the tables of LTAGE, the bimodal one first; then their tags' bits.
pub(super) const LOG_SIZES: [u32; TABLES + 1] = [14, 10, 10, 11, 11, 11, 11, 10, 10, 10, 10, 9, 9];
const TAG_BITS: [u32; TABLES + 1] = [0, 7, 7, 8, 8, 9, 10, 11, 12, 12, 13, 14, 15];
/// Bits of the path that count.
pub(super) const PATH_BITS: u32 = 16;
/// Sixteen bits for each table, rounded up to whole vectors; number 0 is not used.
pub(super) type Lanes = [u16; LANES];
pub(super) const LANES: usize = 16;
/// Addresses whose hashes are kept, each in its place.
const ADDRESSES: usize = 1 << 9;

/// Hashes of history and path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hashes {
    index: Lanes,
    /// A tag is the sum of two hashes, one of a bit less.
    tag: Lanes,
    short_tag: Lanes,
}

/// Hashes of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
struct Address {
    index: Lanes,
    tag: Lanes,
}

/// The hashes of the addresses of the latest branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addresses {
    /// Of which address; all of address 0 are 0.
    known: Box<[u32; ADDRESSES]>,
    hashes: Box<[Address]>,
}

/// What moves where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Folding {
    /// The lowest bit of each hash: there a direction comes in.
    lowest: Hashes,
    /// The last direction that counts, as a bit of one of the four parts of the history; what it leaves when it drops out.
    last: [Lanes; 4],
    dropped: Hashes,
    /// Where a bit of the path comes into the index; bits of the path that do not just move, and what they change.
    path: Lanes,
    moved: [Lanes; 2],
    changed: [Lanes; 2],
    /// Brings an index, times this, to where it can be used; where its table begins.
    scale: Lanes,
    offsets: Lanes,
}

/// The latest `length` directions folded to `bits` bits, the latest in bit 0 of its fold.
fn folded(history: u64, length: u32, bits: u32) -> u32 {
    let mut rest = history & ((1u64 << length) - 1);
    let mut folded = 0;
    while rest != 0 {
        folded ^= rest & ((1 << bits) - 1);
        rest >>= bits;
    }
    folded as u32
}

fn path_hash(path: u32, length: u32, table: u32) -> u32 {
    let log = LOG_SIZES[table as usize];
    let mask = (1u32 << log) - 1;
    let path = path & ((1u64 << length.min(PATH_BITS)) - 1) as u32;
    let low = path & mask;
    let high = path >> log;
    let turn = |x: u32| ((x << table) & mask) + if log > table { x >> (log - table) } else { 0 };
    turn(low ^ turn(high))
}

/// A hash of so many bits at the upper end of its lane.
fn upper(hash: u32, bits: u32) -> u16 {
    (hash << (16 - bits)) as u16
}

/// The definition of the hashes of history and path; `lengths` are the histories' by table.
fn define(lengths: &[u32; TABLES + 1], history: u64, path: u32) -> Hashes {
    let mut hashes = Hashes::default();
    for t in 1..=TABLES {
        let (log, length, bits) = (LOG_SIZES[t], lengths[t], TAG_BITS[t]);
        let index = folded(history, length, log) ^ path_hash(path, length, t as u32);
        hashes.index[t] = upper(index, log);
        hashes.tag[t] = upper(folded(history, length, bits), bits);
        hashes.short_tag[t] = upper(folded(history, length, bits - 1), bits - 1);
    }
    hashes
}

/// The definition of the hashes of an address.
fn define_address(pc: u32) -> Address {
    let mut hashes = Address::default();
    for t in 1..=TABLES {
        let (log, bits) = (LOG_SIZES[t], TAG_BITS[t]);
        let skew = (log as i32 - t as i32).unsigned_abs() + 1;
        hashes.index[t] = upper((pc ^ pc >> skew) & ((1 << log) - 1), log);
        hashes.tag[t] = upper(pc & ((1 << bits) - 1), bits);
    }
    hashes
}

/// All bits or none.
#[inline(always)]
fn mask(set: bool) -> u16 {
    u16::from(set).wrapping_neg()
}

/// A hash rotated up by one, with this bit added at its lower end.
#[inline(always)]
fn rotated(hash: u16, lowest: u16, bit: u16) -> u16 {
    let top = ((hash as i16) >> 15) as u16;
    hash << 1 ^ (top ^ bit) & lowest
}

impl Addresses {
    pub(super) fn new() -> Self {
        Self {
            known: Box::new([0; ADDRESSES]),
            hashes: vec![Address::default(); ADDRESSES].into(),
        }
    }

    #[inline(always)]
    fn hashes(&mut self, pc: u32) -> &Address {
        let at = pc as usize & (ADDRESSES - 1);
        if self.known[at] != pc {
            self.known[at] = pc;
            self.hashes[at] = define_address(pc);
        }
        &self.hashes[at]
    }
}

impl Folding {
    /// For histories of these lengths, and tables that begin at these indices.
    pub(super) fn new(lengths: &[u32; TABLES + 1], offsets: &[u16; TABLES + 1]) -> Self {
        let lowest = define(lengths, 1, 0);
        let mut folding = Self {
            lowest,
            last: [[0; LANES]; 4],
            dropped: Hashes::default(),
            path: define(lengths, 0, 1).index,
            moved: [[0; LANES]; 2],
            changed: [[0; LANES]; 2],
            scale: [0; LANES],
            offsets: [0; LANES],
        };
        for t in 1..=TABLES {
            folding.scale[t] = 1 << LOG_SIZES[t];
            folding.offsets[t] = offsets[t];
            let last = lengths[t] - 1;
            folding.last[last as usize / 16][t] = 1 << (last % 16);
            let drops = define(lengths, 1 << last, 0);
            folding.dropped.index[t] = rotated(drops.index[t], lowest.index[t], 0);
            folding.dropped.tag[t] = rotated(drops.tag[t], lowest.tag[t], 0);
            folding.dropped.short_tag[t] = rotated(drops.short_tag[t], lowest.short_tag[t], 0);
            let mut moved = 0;
            for bit in 0..PATH_BITS {
                let from = define(lengths, 0, 1 << bit).index[t];
                let to = define(lengths, 0, (2 << bit) & ((1 << PATH_BITS) - 1)).index[t];
                let change = rotated(from, lowest.index[t], 0) ^ to;
                if change != 0 {
                    folding.moved[moved][t] = 1 << bit;
                    folding.changed[moved][t] = change;
                    moved += 1;
                }
            }
        }
        folding
    }

    /// Follows a branch: the bits that it adds to history and path, as they were before it.
    #[inline(always)]
    pub(super) fn follow(
        &self,
        hashes: &mut Hashes,
        (history, taken): (u64, bool),
        (path, step): (u32, bool),
    ) {
        let parts: [u16; 4] = std::array::from_fn(|part| (history >> (16 * part)) as u16);
        let (path, step, taken) = (path as u16, mask(step), mask(taken));
        for t in 0..LANES {
            let last = parts[0] & self.last[0][t]
                | parts[1] & self.last[1][t]
                | parts[2] & self.last[2][t]
                | parts[3] & self.last[3][t];
            let drops = mask(last != 0);
            let first = mask(path & self.moved[0][t] != 0) & self.changed[0][t];
            let second = mask(path & self.moved[1][t] != 0) & self.changed[1][t];
            hashes.index[t] = rotated(hashes.index[t], self.lowest.index[t], taken)
                ^ drops & self.dropped.index[t]
                ^ step & self.path[t]
                ^ first
                ^ second;
            hashes.tag[t] = rotated(hashes.tag[t], self.lowest.tag[t], taken)
                ^ drops & self.dropped.tag[t];
            hashes.short_tag[t] = rotated(hashes.short_tag[t], self.lowest.short_tag[t], taken)
                ^ drops & self.dropped.short_tag[t];
        }
    }

    /// The entry of each table to look at for a branch, and the tag in it.
    #[inline(always)]
    pub(super) fn look_up(
        &self,
        hashes: &Hashes,
        addresses: &mut Addresses,
        pc: u32,
    ) -> (Lanes, Lanes) {
        let address = addresses.hashes(pc);
        let (mut entries, mut tags) = ([0; LANES], [0; LANES]);
        for t in 0..LANES {
            let index = u32::from(hashes.index[t] ^ address.index[t]);
            entries[t] = (index * u32::from(self.scale[t]) >> 16) as u16 + self.offsets[t];
            tags[t] = hashes.tag[t] ^ hashes.short_tag[t] ^ address.tag[t];
        }
        (entries, tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_that_follow_branches_stay_what_they_are_defined_to_be() {
        for longest in [34, 20, 63] {
            let mut lengths = [0, 4, 5, 6, 7, 9, 11, 13, 16, 19, 23, 28, 34];
            for length in &mut lengths {
                *length = (*length).min(longest);
            }
            lengths[TABLES] = longest;
            let folding = Folding::new(&lengths, &[0; TABLES + 1]);
            let mut hashes = Hashes::default();
            let (mut history, mut path, mut x) = (0u64, 0u32, 1u64);
            for _ in 0..1000 {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let (taken, step) = (x >> 40 & 1 == 1, x >> 50 & 1 == 1);
                folding.follow(&mut hashes, (history, taken), (path, step));
                history = history << 1 | u64::from(taken);
                path = (path << 1 | u32::from(step)) & ((1 << PATH_BITS) - 1);
                assert_eq!(hashes, define(&lengths, history, path));
            }
        }
    }

    #[test]
    fn an_entry_lies_in_its_table_and_the_same_address_gives_it_again() {
        let lengths = [0, 4, 5, 6, 7, 9, 11, 13, 16, 19, 23, 28, 34];
        let offsets = std::array::from_fn(|t| 100 * t as u16);
        let folding = Folding::new(&lengths, &offsets);
        let mut addresses = Addresses::new();
        let hashes = define(&lengths, 0x3_1234_5678, 0x9abc);
        for pc in [0x40_1234, 0, 0x40_1434, 0x40_1234] {
            let (entries, tags) = folding.look_up(&hashes, &mut addresses, pc);
            let own = define_address(pc);
            for t in 1..=TABLES {
                let log = LOG_SIZES[t];
                let index = (hashes.index[t] ^ own.index[t]) >> (16 - log);
                assert_eq!(entries[t] - offsets[t], index);
                assert!(index < 1 << log);
                assert_eq!(tags[t], hashes.tag[t] ^ hashes.short_tag[t] ^ own.tag[t]);
            }
        }
    }
}
