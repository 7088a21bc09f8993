//! The indices and tags of LTAGE's tables: hashes of the address, the latest directions and the path, by look-up.
//!
//! Every one of them is made by shifts, masks and exclusive or, so it is linear: the hash of a number is the exclusive or
//! of what each of its digits (of some bits) contributes. Those contributions stand in tables, for all of LTAGE's tables side
//! by side, which the host adds up as vectors.

/// LTAGE's tagged tables.
pub(super) const TABLES: usize = 12;
/// Logarithms of the sizes of the tables of LTAGE, the bimodal one first; then their tags' bits.
pub(super) const LOG_SIZES: [u32; TABLES + 1] = [14, 10, 10, 11, 11, 11, 11, 10, 10, 10, 10, 9, 9];
const TAG_BITS: [u32; TABLES + 1] = [0, 7, 7, 8, 8, 9, 10, 11, 12, 12, 13, 14, 15];
/// Bits of the path that count.
pub(super) const PATH_BITS: u32 = 16;
/// Sixteen bits for each tagged table, from number 1 on, four a word: the host adds words up as vectors.
pub(super) type Lanes = [u64; WORDS];
const WORDS: usize = TABLES / 4;
/// Indices, then tags.
type Hash = [u64; 2 * WORDS];
/// Bits of an address that reach an index: 11, and 10 by which they are shifted; its digits are those of few branches.
const ADDRESS_BITS: u32 = 24;
const WIDE: u32 = 8;
/// Bits of the digits of histories and paths, which may be any: their tables are to stay in the host's first cache.
const NARROW: u32 = 6;
/// What a digit contributes, in one line of the host's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Part(Hash);
type Wide = [Part; 1 << WIDE];
type Narrow = [Part; 1 << NARROW];

/// What stands for this table.
#[inline(always)]
pub(super) fn lane(lanes: &Lanes, table: usize) -> u16 {
    let at = table - 1;
    (lanes[at / 4] >> (16 * (at % 4))) as u16
}

/// The lanes of no table set yet, with this one set.
fn with_lane(lanes: &mut [u64], table: usize, value: u32) {
    let at = table - 1;
    lanes[at / 4] |= u64::from(value) << (16 * (at % 4));
}

/// What each digit contributes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Folding {
    /// What is there without any: where each table begins.
    start: Hash,
    address: Box<[Wide]>,
    history: Box<[Narrow]>,
    path: Box<[Narrow]>,
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

/// The definition of the hashes; `lengths` are the histories' by table.
fn hash(lengths: &[u32; TABLES + 1], pc: u32, history: u64, path: u32) -> Hash {
    let mut hash = [0; 2 * WORDS];
    for t in 1..=TABLES {
        let (log, length, bits) = (LOG_SIZES[t], lengths[t], TAG_BITS[t]);
        let skew = (log as i32 - t as i32).unsigned_abs() + 1;
        let index =
            pc ^ pc >> skew ^ folded(history, length, log) ^ path_hash(path, length, t as u32);
        with_lane(&mut hash[..WORDS], t, index & ((1 << log) - 1));
        let tag = pc ^ folded(history, length, bits) ^ folded(history, length, bits - 1) << 1;
        with_lane(&mut hash[WORDS..], t, tag & ((1 << bits) - 1));
    }
    hash
}

/// The contributions of all digits of so many bits in a number.
fn digits<const DIGITS: usize>(bits: u32, of: impl Fn(u64) -> Hash) -> Box<[[Part; DIGITS]]> {
    (0..bits)
        .step_by(DIGITS.trailing_zeros() as usize)
        .map(|shift| std::array::from_fn(|digit| Part(of((digit as u64) << shift))))
        .collect()
}

/// Adds what the digits of a number contribute.
#[inline(always)]
fn add<const DIGITS: usize>(sum: &mut Hash, digits: &[[Part; DIGITS]], mut number: u64) {
    for digit in digits {
        let part = &digit[number as usize & (DIGITS - 1)];
        number >>= DIGITS.trailing_zeros();
        for (sum, part) in sum.iter_mut().zip(&part.0) {
            *sum ^= part;
        }
    }
}

impl Folding {
    /// For histories of these lengths and tables that begin at these indices, of which no two share a bit with the
    /// indices into their tables.
    pub(super) fn new(lengths: &[u32; TABLES + 1], offsets: &[u32; TABLES + 1]) -> Self {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut start = [0; 2 * WORDS];
        for (t, &offset) in offsets.iter().enumerate().skip(1) {
            with_lane(&mut start[..WORDS], t, offset);
        }
        Self {
            start,
            address: digits(ADDRESS_BITS, |x| hash(lengths, x as u32, 0, 0)),
            history: digits(longest, |x| hash(lengths, 0, x, 0)),
            path: digits(PATH_BITS, |x| hash(lengths, 0, 0, x as u32)),
        }
    }

    /// The index into each table, from where it begins, and the tag in it.
    #[inline(always)]
    pub(super) fn hash(&self, pc: u32, history: u64, path: u32) -> (Lanes, Lanes) {
        let mut sum = self.start;
        add(&mut sum, &self.address, pc.into());
        add(&mut sum, &self.history, history);
        add(&mut sum, &self.path, path.into());
        let (mut indices, mut tags) = ([0; WORDS], [0; WORDS]);
        indices.copy_from_slice(&sum[..WORDS]);
        tags.copy_from_slice(&sum[WORDS..]);
        (indices, tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_definition() {
        let lengths = [0, 4, 5, 6, 7, 9, 11, 13, 16, 19, 23, 28, 34];
        let offsets = std::array::from_fn(|t| if t == 0 { 0 } else { 1 << LOG_SIZES[t] });
        let folding = Folding::new(&lengths, &offsets);
        let mut x = 1u64;
        for _ in 0..1000 {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (pc, path) = ((x >> 33) as u32, (x >> 20) as u32 & 0xffff);
            let (indices, tags) = folding.hash(pc, x, path);
            let expected = hash(&lengths, pc, x, path);
            assert_eq!(tags, expected[WORDS..]);
            for t in 1..=TABLES {
                let begin = 1 << LOG_SIZES[t];
                let expected: &Lanes = expected[..WORDS].try_into().unwrap();
                assert_eq!(lane(&indices, t) - begin, lane(expected, t));
            }
        }
    }
}
