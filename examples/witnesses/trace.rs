//! Where two runs of the same span part: the instructions that only one of them ran.
use super::single_step::Spans;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tickmark::sim::uarch::atomic::{Atomic, Block as Counted};
use tickmark::sim::uarch::{Retired, Timing};

/// Instructions that have to be the same on both sides for the runs to be taken to have met again.
const WINDOW: usize = 12;
/// How far behind a parting the runs are looked for to meet again, instructions of both sides.
const REACH: usize = 6000;
/// How many partings are told.
const TOLD: usize = 40;

/// The addresses of retired instructions, in order; shared by the clones of a core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Mutex<Vec<u64>>>);

impl Trace {
    /// What has been noted so far.
    pub(crate) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A core that counts, and notes the address of each instruction.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    core: Atomic,
    trace: Trace,
}

impl Traced {
    pub(crate) fn new(core: Atomic, trace: Trace) -> Self {
        Self { core, trace }
    }
}

/// What a block adds to the counters, and the addresses of its instructions.
#[derive(Debug)]
pub(crate) struct Block {
    counted: Counted,
    addresses: Box<[u64]>,
}

impl Timing for Traced {
    const NEEDS_ADDRESSES: bool = Atomic::NEEDS_ADDRESSES;
    type Block = Block;

    fn prepare(&self, instructions: &[iced_x86::Instruction]) -> Block {
        Block {
            counted: self.core.prepare(instructions),
            addresses: (instructions.iter())
                .map(|instruction| instruction.ip())
                .collect(),
        }
    }

    fn retire(&mut self, block: &Block, retired: Retired<'_>) {
        let run = &block.addresses[retired.first..retired.first + retired.count];
        let mut trace = self.trace.0.lock().unwrap_or_else(PoisonError::into_inner);
        trace.extend_from_slice(run);
        drop(trace);
        self.core.retire(&block.counted, retired);
    }

    fn cycles(&self) -> Option<u64> {
        self.core.cycles()
    }

    fn frequency_hz(&self) -> u64 {
        self.core.frequency_hz()
    }

    fn micro_ops(&self) -> u64 {
        self.core.micro_ops()
    }

    fn report(&self, parts: &mut std::collections::BTreeMap<String, u64>) {
        self.core.report(parts);
    }
}

/// Text about each parting of the native spans from the instructions of a whole simulated run.
pub(crate) fn partings(native: &Spans, simulated: &[u64]) -> String {
    let mut out = String::new();
    let mut rest = native.trace.as_slice();
    let mut begun = 0;
    for &length in &native.instructions {
        let (span, behind) = rest.split_at((length as usize).min(rest.len()));
        rest = behind;
        // Several places may begin like it.
        let head = &span[..span.len().min(WINDOW)];
        let starts = (0..simulated.len()).filter(|&at| simulated[at..].starts_with(head));
        let agreeing = |&at: &usize| (span.iter().zip(&simulated[at..])).position(|(a, b)| a != b);
        let Some(start) = starts.max_by_key(|at| agreeing(at).unwrap_or(usize::MAX)) else {
            out.push_str("the runs have parted before the span\n");
            break;
        };
        let (mut a, mut b) = (span, &simulated[start..]);
        for _ in 0..TOLD {
            let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
            if same == a.len() || same == b.len() {
                break;
            }
            let at = span.len() - a.len() + same;
            let last = a[same.saturating_sub(1)];
            (a, b) = (&a[same..], &b[same..]);
            let met = (1..REACH).find_map(|sum| {
                (0..=sum).map(|x| (x, sum - x)).find(|&(x, y)| {
                    let (p, q) = (a.get(x..x + WINDOW), b.get(y..y + WINDOW));
                    p.is_some() && p == q
                })
            });
            let place = |address| place(&native.maps, address);
            let (x, y) = met.unwrap_or((a.len(), 0));
            let _ = writeln!(
                out,
                "at {at}, behind {}: {x} on the host (from {}), {y} in the guest (from {}); RDI, RSI, RDX {:x?}",
                place(last),
                place(a[0]),
                place(b[0]),
                native.operands[begun + at],
            );
            if met.is_none() {
                out.push_str("  and do not meet again\n");
                break;
            }
            (a, b) = (&a[x..], &b[y..]);
        }
        begun += span.len();
    }
    out
}

/// An address as a file and an offset in it.
fn place(maps: &str, address: u64) -> String {
    for line in maps.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [range, _, offset, _, _, path] = words[..] else {
            continue;
        };
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or_default();
        let Some((start, end)) = range.split_once('-') else {
            continue;
        };
        if (number(start)..number(end)).contains(&address) {
            let name = path.rsplit('/').next().unwrap_or(path);
            return format!("{name}+{:#x}", address - number(start) + number(offset));
        }
    }
    format!("{address:#x}")
}
