//! Fuzzing with fixed seeds: generated inputs, what must hold for each, and the shortest input that breaks it.
//!
//! An input is a string of bytes that a target reads as choices, so that any input means something, a shorter one
//! means something simpler, and a stored one means the same for ever. Hostile inputs may end a guest in any way; what
//! must hold is that the host neither panics nor hangs, and that two ways to the same end tell the same.
mod elf;
mod float;
mod program;
mod text;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long one input may take on a busy host before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// The loader of executables: headers bent and made.
    Elf,
    /// Decoder and block cache: blocks against single steps.
    Decoder,
    /// Software floating point against the host's.
    Float,
    /// System calls with any number and any argument.
    Syscalls,
    /// Runs taken up from snapshots against unbroken ones.
    Snapshots,
    /// Data sets and samples.
    Json,
    /// Machine files.
    Toml,
}

impl Target {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Elf,
        Self::Decoder,
        Self::Float,
        Self::Syscalls,
        Self::Snapshots,
        Self::Json,
        Self::Toml,
    ];

    /// Whether what must hold does; otherwise what does not.
    fn holds(self, input: &[u8]) -> Result<(), String> {
        let choices = &mut Choices::new(input);
        match self {
            Self::Elf => elf::loads_or_refuses(choices),
            Self::Decoder => program::blocks_are_single_steps(choices),
            Self::Float => float::agrees_with_the_host(choices),
            Self::Syscalls => program::calls_are_answered(choices),
            Self::Snapshots => program::snapshots_change_nothing(choices),
            Self::Json => text::json_is_read_or_refused(choices),
            Self::Toml => text::toml_is_read_or_refused(choices),
        }
    }

    /// The same with panics and hanging as failures.
    pub(crate) fn check(self, input: &[u8]) -> Result<(), String> {
        let began = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| self.holds(input))).unwrap_or_else(|panic| {
            let text = (panic.downcast_ref::<String>().map(String::as_str))
                .or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("without a text")))
        });
        let took = began.elapsed();
        if result.is_ok() && took > PATIENCE {
            return Err(format!("hangs: {took:?}"));
        }
        result
    }

    /// The input of this number.
    pub(crate) fn input(self, seed: u64, number: u64) -> Vec<u8> {
        let mut random =
            Random::new(seed ^ (self as u64) << 56 ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let longest = 1 << (4 + random.below(8));
        (0..random.below(longest))
            .map(|_| random.below(256) as u8)
            .collect()
    }

    #[cfg_attr(test, allow(dead_code, reason = "the command minimises"))]
    /// A shorter or simpler input that still fails: pieces are left out, and bytes made 0, while that is so.
    pub(crate) fn minimised(self, input: &[u8], time: Duration) -> Vec<u8> {
        let began = Instant::now();
        let mut best = input.to_vec();
        let mut piece = best.len().div_ceil(2);
        while piece > 0 && began.elapsed() < time {
            let mut at = 0;
            let mut better = false;
            while at < best.len() && began.elapsed() < time {
                let end = (at + piece).min(best.len());
                let mut shorter = best.clone();
                shorter.drain(at..end);
                if self.check(&shorter).is_err() {
                    best = shorter;
                    better = true;
                    continue;
                }
                let mut simpler = best.clone();
                simpler[at..end].fill(0);
                if simpler != best && self.check(&simpler).is_err() {
                    best = simpler;
                    better = true;
                }
                at = end;
            }
            piece = if better && piece > 1 {
                piece
            } else {
                piece / 2
            };
        }
        best
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{self:?}");
        formatter.write_str(&name.to_lowercase())
    }
}

/// Reads an input as choices; behind its end every choice is the first one.
pub(crate) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Choices<'a> {
    fn new(input: &'a [u8]) -> Self {
        Self {
            bytes: input.iter(),
        }
    }

    /// Something is left of the input.
    fn more(&self) -> bool {
        !self.bytes.as_slice().is_empty()
    }

    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// A number below `bound`, which is at most 65536.
    fn below(&mut self, bound: usize) -> usize {
        let bytes = if bound > 256 { 2 } else { 1 };
        self.number(bytes) as usize % bound.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number of 64 bits of the kind at which programs break.
    fn edge(&mut self) -> u64 {
        let small = self.number(1);
        match self.below(6) {
            0 => small,
            1 => small.wrapping_neg(),
            2 => (1u64 << (small % 64))
                .wrapping_add(self.number(1))
                .wrapping_sub(128),
            3 => self.pick(&[
                0x7fff_ffff,
                0x8000_0000,
                0xffff_ffff,
                1 << 47,
                (1 << 47) - 4096,
                1 << 63,
            ]),
            4 => program::DATA + (small << 4),
            _ => self.number(8),
        }
    }

    fn rest(&mut self, most: usize) -> Vec<u8> {
        let n = self.bytes.len().min(most);
        (0..n).map(|_| self.byte()).collect()
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % bound.max(1)
    }
}

/// Bytes as they stand in the files of tests/fuzz/corpus.
pub(crate) fn to_text(input: &[u8]) -> String {
    input.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of such a file.
#[cfg_attr(not(test), allow(dead_code, reason = "the tests read them"))]
pub(crate) fn from_text(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .trim()
        .chars()
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    digits
        .chunks(2)
        .map(|pair| Some((pair[0] * 16 + pair.get(1)?) as u8))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few inputs of each target; `examples/fuzz.rs` goes on from there.
    fn some(target: Target, count: u64) {
        for number in 0..count {
            let input = target.input(1, number);
            if let Err(why) = target.check(&input) {
                panic!("{target} {number}: {why}\n{}", to_text(&input));
            }
        }
    }

    #[test]
    fn executables() {
        some(Target::Elf, 300);
    }
    #[test]
    fn blocks() {
        some(Target::Decoder, 150);
    }
    #[test]
    fn floating_point() {
        some(Target::Float, 20_000);
    }
    #[test]
    fn system_calls() {
        some(Target::Syscalls, 150);
    }
    #[test]
    fn snapshots() {
        some(Target::Snapshots, 60);
    }
    #[test]
    fn json() {
        some(Target::Json, 1000);
    }
    #[test]
    fn toml() {
        some(Target::Toml, 300);
    }

    #[test]
    fn what_once_failed_holds() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder)
            .expect("part of the repository")
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(target) = Target::ALL
                .iter()
                .find(|t| name.starts_with(&t.to_string()))
            else {
                panic!("{name} names no target");
            };
            let text = std::fs::read_to_string(entry.path()).expect("part of the repository");
            let input = from_text(&text).expect("hexadecimal digits");
            assert_eq!(target.check(&input), Ok(()), "{name}");
            seen += 1;
        }
        assert!(seen > 0);
    }
}
