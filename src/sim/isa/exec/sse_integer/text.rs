//! SSE4.2: the string comparisons (PCMPESTRx, PCMPISTRx) and CRC32.
use super::super::{Answer, read_integer, read_xmm, write_register, xmm_number};
use super::lane::view;
use crate::sim::isa::flags::{CF, OF, SF, ZF};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::{RAX, RCX, RDX};
use crate::sim::memory::Fault;
use iced_x86::{Code, Instruction};
use std::array::from_fn;

/// Runs the instruction if it is one of SSE4.2 for text.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Code::*;
    let done = match insn.code() {
        Pcmpestrm_xmm_xmmm128_imm8 => strings(cx, insn, Lengths::Explicit32, mask_result),
        Pcmpestrm64_xmm_xmmm128_imm8 => strings(cx, insn, Lengths::Explicit64, mask_result),
        Pcmpistrm_xmm_xmmm128_imm8 => strings(cx, insn, Lengths::Implicit, mask_result),
        Pcmpestri_xmm_xmmm128_imm8 => strings(cx, insn, Lengths::Explicit32, index_result),
        Pcmpestri64_xmm_xmmm128_imm8 => strings(cx, insn, Lengths::Explicit64, index_result),
        Pcmpistri_xmm_xmmm128_imm8 => strings(cx, insn, Lengths::Implicit, index_result),
        Crc32_r32_rm8 | Crc32_r64_rm8 => checksum(cx, insn, 1),
        Crc32_r32_rm16 => checksum(cx, insn, 2),
        Crc32_r32_rm32 => checksum(cx, insn, 4),
        Crc32_r64_rm64 => checksum(cx, insn, 8),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// Where the lengths of the two strings come from.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim::isa::exec) enum Lengths {
    /// EAX and EDX.
    Explicit32,
    /// RAX and RDX.
    Explicit64,
    /// The first zero.
    Implicit,
}

/// What a string comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// IntRes2 of the manual: one bit an element of the second string.
    pub bits: u32,
    /// Elements in a register: 16 bytes or 8 words.
    pub elements: u32,
    /// CF, ZF, SF and OF.
    pub flags: u64,
}

impl Comparison {
    /// The index that PCMPxSTRI gives: of the lowest or (bit 6 of the immediate) highest set bit, or the number of
    /// elements if there is none.
    pub fn index(&self, imm: u8) -> u64 {
        u64::from(match (self.bits, imm & 0x40 != 0) {
            (0, _) => self.elements,
            (bits, false) => bits.trailing_zeros(),
            (bits, true) => bits.ilog2(),
        })
    }

    /// The mask that PCMPxSTRM gives: the bits themselves, or (bit 6 of the immediate) an element of ones for each.
    pub fn mask(&self, imm: u8) -> u128 {
        if imm & 0x40 == 0 {
            return u128::from(self.bits);
        }
        let width = 128 / self.elements;
        (0..self.elements)
            .filter(|i| self.bits >> i & 1 != 0)
            .map(|i| (u128::MAX >> (128 - width)) << (i * width))
            .sum()
    }
}

/// Compares two strings whose lengths (in elements, at most those of a register) are given, or end at the first zero.
pub fn compare(a: u128, b: u128, lengths: Option<(u32, u32)>, imm: u8) -> Comparison {
    // As numbers wide enough for every element type, so that one comparison serves all.
    let elements = if imm & 1 == 0 { 16 } else { 8 };
    let widen = |x: &u128| -> [i32; 16] {
        match imm & 3 {
            0 => view::<[u8; 16]>(x).map(i32::from),
            2 => view::<[i8; 16]>(x).map(i32::from),
            1 => pad(view::<[u16; 8]>(x).map(i32::from)),
            _ => pad(view::<[i16; 8]>(x).map(i32::from)),
        }
    };
    let (a, b) = (widen(&a), widen(&b));
    let terminated = |x: &[i32; 16]| {
        let zero = x[..elements].iter().position(|&e| e == 0);
        zero.unwrap_or(elements)
    };
    let (a_len, b_len) = match lengths {
        Some((a_len, b_len)) => (
            (a_len as usize).min(elements),
            (b_len as usize).min(elements),
        ),
        None => (terminated(&a), terminated(&b)),
    };

    let found = |j: usize| match imm >> 2 & 3 {
        // Equal any: the element of `b` is in the set `a`.
        0 => j < b_len && a[..a_len].contains(&b[j]),
        // Ranges: it is in one of the ranges that pairs of `a` give; half a pair is no range.
        1 => {
            j < b_len
                && a[..a_len]
                    .chunks_exact(2)
                    .any(|range| (range[0]..=range[1]).contains(&b[j]))
        }
        // Equal each: position by position; beyond both ends counts as equal.
        2 => match (j < a_len, j < b_len) {
            (true, true) => a[j] == b[j],
            (in_a, in_b) => in_a == in_b,
        },
        // Equal ordered: `a` starts here in `b`, as far as the register reaches.
        _ => (0..a_len.min(elements - j)).all(|i| j + i < b_len && a[i] == b[j + i]),
    };
    let raw = (0..elements).fold(0u32, |bits, j| bits | u32::from(found(j)) << j);
    let all = (1u32 << elements) - 1;
    let bits = match imm >> 4 & 3 {
        1 => raw ^ all,
        3 => raw ^ ((1u32 << b_len) - 1),
        _ => raw,
    };
    let flag = |on: bool, bit: u64| if on { bit } else { 0 };
    Comparison {
        bits,
        elements: elements as u32,
        flags: flag(bits != 0, CF)
            | flag(b_len < elements, ZF)
            | flag(a_len < elements, SF)
            | flag(bits & 1 != 0, OF),
    }
}

/// Words in the low half; the rest is never looked at.
fn pad(words: [i32; 8]) -> [i32; 16] {
    from_fn(|i| if i < 8 { words[i] } else { 0 })
}

/// Compares operands 0 and 1 and hands the outcome to `finish`.
pub(in crate::sim::isa::exec) fn strings(
    cx: &mut Context,
    insn: &Instruction,
    lengths: Lengths,
    finish: fn(&mut Context, &Comparison, u8),
) -> Result<(), Fault> {
    let b = read_xmm(cx, insn, 1, false)?;
    let a = cx.cpu.xmm(xmm_number(insn, 0));
    let imm = insn.immediate8();
    let (rax, rdx) = (cx.cpu.gpr[RAX], cx.cpu.gpr[RDX]);
    // The magnitude counts, saturated at the elements of a register.
    let short = |x: u64| (x as i32).unsigned_abs();
    let long = |x: u64| (x as i64).unsigned_abs().min(16) as u32;
    let lengths = match lengths {
        Lengths::Explicit32 => Some((short(rax), short(rdx))),
        Lengths::Explicit64 => Some((long(rax), long(rdx))),
        Lengths::Implicit => None,
    };
    let comparison = compare(a, b, lengths, imm);
    finish(cx, &comparison, imm);
    cx.cpu.flags.set_status(comparison.flags);
    Ok(())
}

/// The mask goes to XMM0.
pub(in crate::sim::isa::exec) fn mask_result(cx: &mut Context, comparison: &Comparison, imm: u8) {
    cx.cpu.set_xmm(0, comparison.mask(imm));
}

/// The index goes to RCX.
pub(in crate::sim::isa::exec) fn index_result(cx: &mut Context, comparison: &Comparison, imm: u8) {
    cx.cpu.gpr[RCX] = comparison.index(imm);
}

fn checksum(cx: &mut Context, insn: &Instruction, size: u64) -> Result<(), Fault> {
    let data = read_integer(cx, insn, 1, size)?;
    let old = read_integer(cx, insn, 0, 4)?;
    let new = crc32c(old as u32, &data.to_le_bytes()[..size as usize]);
    write_register(cx, insn.op0_register(), 8, u64::from(new));
    Ok(())
}

/// The CRC-32C (Castagnoli) register after some bytes, without the inversions of the finished checksum.
pub fn crc32c(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, &byte| {
        crc >> 8 ^ CRC32C[usize::from(crc as u8 ^ byte)]
    })
}

/// The remainder of each byte by the reflected polynomial 0x1EDC6F41.
static CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 != 0 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};
