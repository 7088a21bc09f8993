//! Helpers of this room's tests: bytes to instructions, and runs of them.
use super::Retired;
use crate::sim::memory::Access;
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// The instructions at `address` that these bytes are.
pub(super) fn decode(address: u64, bytes: &[u8]) -> Vec<Instruction> {
    let instructions: Vec<Instruction> = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE)
        .into_iter()
        .collect();
    assert!(instructions.iter().all(|i| !i.is_invalid()), "{bytes:02x?}");
    instructions
}

/// A run.
pub(super) fn retired(
    first: usize,
    count: usize,
    accesses: &[Access],
    repeats: u64,
    next: u64,
) -> Retired<'_> {
    Retired {
        first,
        count,
        accesses,
        repeats,
        next,
    }
}
