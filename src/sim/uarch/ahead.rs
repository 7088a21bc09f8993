//! Prefetchers of a data or shared cache: what to fetch before it is asked for.
//!
//! - next-line: the line behind the one that missed (Smith, "Cache Memories", 1982, tagged: also behind one that was
//!   fetched so and is used now).
//! - stride: [`super::stride`].
//! - stream: misses to neighbouring lines, whatever instructions make them, are a stream once they have gone the same
//!   way twice; then the next four lines that way are fetched (Jouppi, ISCA 1990, with the direction learnt and the
//!   lines brought into the cache instead of buffers). A stream lies in a page of 4 KiB and stops at its end; sixteen
//!   are known, the one used longest ago is forgotten.
use super::stride::Stride;
use crate::sim::machine::Prefetching;

const LINE: u64 = 64;
const LINES_OF_PAGE: u64 = 64;
const STREAMS: usize = 16;
/// Lines fetched ahead.
const DEGREE: usize = 4;
const SURE: i8 = 2;

/// A prefetcher with what it has learnt.
#[expect(clippy::large_enum_variant, reason = "a cache has one, in a box")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prefetcher {
    /// The line behind.
    NextLine,
    /// By instruction.
    Stride(Stride),
    /// By region.
    Stream(Streams),
}

impl Prefetcher {
    /// The prefetcher of a cache, if it has one.
    pub fn new(prefetching: Prefetching) -> Option<Box<Self>> {
        Some(Box::new(match prefetching {
            Prefetching::None => return None,
            Prefetching::NextLine => Self::NextLine,
            Prefetching::Stride => Self::Stride(Stride::new()),
            Prefetching::Stream => Self::Stream(Streams::default()),
        }))
    }

    /// An access that missed, or used what was fetched ahead: the addresses to fetch.
    pub fn access(&mut self, pc: u64, address: u64) -> impl Iterator<Item = u64> + use<> {
        let mut list = [0; DEGREE];
        let mut count = 0;
        let mut add = |ahead: u64| {
            list[count] = ahead;
            count += 1;
        };
        match self {
            Self::NextLine => add(address.wrapping_add(LINE)),
            Self::Stride(stride) => stride.access(pc, address).for_each(add),
            Self::Stream(streams) => streams.access(address / LINE).for_each(add),
        }
        list.into_iter().take(count)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Direction {
    page: u64,
    latest: u64,
    /// How often it has gone up in a row; down if negative.
    steps: i8,
}

/// What the stream prefetcher knows, the latest used first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    known: [Direction; STREAMS],
}

impl Streams {
    fn access(&mut self, line: u64) -> impl Iterator<Item = u64> + use<> {
        let page = line / LINES_OF_PAGE;
        let found = self.known.iter().position(|s| s.page == page);
        self.known[..=found.unwrap_or(STREAMS - 1)].rotate_right(1);
        let stream = &mut self.known[0];
        if found.is_none() {
            *stream = Direction {
                page,
                latest: line,
                steps: 0,
            };
        }
        // The lines that were fetched ahead are skipped by misses: a step may be as long as they are.
        let far = DEGREE as u64 + 1;
        stream.steps = match line.wrapping_sub(stream.latest) {
            0 => stream.steps,
            up if up <= far => stream.steps.max(0).saturating_add(1),
            down if down.wrapping_neg() <= far => stream.steps.min(0).saturating_sub(1),
            _ => 0,
        };
        stream.latest = line;
        let (sure, up) = (stream.steps.abs() >= SURE, stream.steps > 0);
        (1..=if sure { DEGREE as u64 } else { 0 })
            .map(move |i| if up { line + i } else { line.wrapping_sub(i) })
            .filter(move |ahead| ahead / LINES_OF_PAGE == page)
            .map(|ahead| ahead * LINE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(prefetcher: &mut Prefetcher, pc: u64, address: u64) -> Vec<u64> {
        prefetcher.access(pc, address).collect()
    }

    #[test]
    fn next_line_needs_no_history() {
        let mut p = Prefetcher::NextLine;
        assert_eq!(fetched(&mut p, 0, 0x1008), [0x1048]);
    }

    #[test]
    fn a_stream_needs_two_steps_the_same_way_and_not_one_instruction() {
        let mut p = Prefetcher::Stream(Streams::default());
        // Three instructions, each seen once, walk down: the stride prefetcher would know none of them.
        assert!(fetched(&mut p, 1, 0x1400).is_empty());
        assert!(fetched(&mut p, 2, 0x13c0).is_empty());
        assert_eq!(fetched(&mut p, 3, 0x1380), [0x1340, 0x1300, 0x12c0, 0x1280]);
        // A step the other way is a new start.
        assert!(fetched(&mut p, 4, 0x13c0).is_empty());
        // At the page's end it stops.
        for address in [0x5f00, 0x5f40] {
            fetched(&mut p, 5, address);
        }
        assert_eq!(fetched(&mut p, 6, 0x5f80), [0x5fc0]);
        assert!(fetched(&mut p, 7, 0x5fc0).is_empty());
    }

    #[test]
    fn a_stride_of_one_instruction_beyond_neighbours_is_no_stream() {
        let mut stream = Prefetcher::Stream(Streams::default());
        let mut stride = Prefetcher::Stride(Stride::new());
        for address in [0x1000, 0x1200] {
            fetched(&mut stream, 9, address);
            fetched(&mut stride, 9, address);
        }
        assert!(fetched(&mut stream, 9, 0x1400).is_empty());
        assert_eq!(
            fetched(&mut stride, 9, 0x1400),
            [0x1600, 0x1800, 0x1a00, 0x1c00]
        );
    }
}
