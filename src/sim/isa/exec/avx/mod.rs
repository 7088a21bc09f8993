//! AVX, AVX2, FMA and F16C: the vector instructions in VEX encoding.
//!
//! What happens to 16 bytes is what the legacy instruction of the same name does, so the lane operations come from
//! [`sse_integer`](super::sse_integer) and [`sse_float`](super::sse_float). What differs stands here: the destination is
//! an operand of its own, bits above the operand's width become zero, memory need not be aligned (but for the moves that
//! say so), and most operations run on both halves of a YMM register.
//!
//! A memory operand of 32 bytes is two accesses of 16.
use super::{Answer, address, load_integer, store_integer, vec_number};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::Vector;
use crate::sim::memory::{Fault, PAGE_SIZE};
use iced_x86::{Instruction, OpKind};

pub mod element;
pub mod float;
pub mod fused;
pub mod half;
pub mod lanes;
pub mod masked;
pub mod permute;
pub mod transfer;

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    if let Some(form) = lanes::form(insn) {
        return Some(lanes::run(cx, insn, form).map(|()| Flow::Next));
    }
    transfer::execute(cx, insn)
        .or_else(|| float::execute(cx, insn))
        .or_else(|| fused::execute(cx, insn))
        .or_else(|| permute::execute(cx, insn))
        .or_else(|| element::execute(cx, insn))
        .or_else(|| masked::execute(cx, insn))
        .or_else(|| half::execute(cx, insn))
}

/// Whether an operand has 32 bytes.
pub(super) fn is_wide(insn: &Instruction, operand: u32) -> bool {
    match insn.op_kind(operand) {
        OpKind::Register => insn.op_register(operand).is_ymm(),
        _ => insn.memory_size().size() == 32,
    }
}

/// Reads a vector operand: a register, or as many bytes of memory as the instruction names, at any alignment. What the
/// operand does not have is zero.
///
/// # Errors
/// The fault of the load.
pub(super) fn read(cx: &mut Context, insn: &Instruction, operand: u32) -> Result<Vector, Fault> {
    if insn.op_kind(operand) == OpKind::Register {
        let register = insn.op_register(operand);
        let [low, high] = cx.cpu.vec[vec_number(register)];
        return Ok([low, if register.is_ymm() { high } else { 0 }]);
    }
    let at = address(cx, insn);
    match insn.memory_size().size() {
        32 => Ok([cx.mem.read(at)?, cx.mem.read(at.wrapping_add(16))?]),
        16 => Ok([cx.mem.read(at)?, 0]),
        size => Ok([u128::from(load_integer(cx, at, size as u64)?), 0]),
    }
}

/// The sources of the usual forms: of three vector operands the second and the third, of two the second alone, after
/// zeros that take no part. Immediates do not count.
///
/// # Errors
/// The fault of the load.
pub(super) fn sources(cx: &mut Context, insn: &Instruction) -> Result<(Vector, Vector), Fault> {
    if insn.op_count() > 2 && insn.op2_kind() != OpKind::Immediate8 {
        Ok((read(cx, insn, 1)?, read(cx, insn, 2)?))
    } else {
        Ok(([0; 2], read(cx, insn, 1)?))
    }
}

/// Writes the vector register that is the first operand. Bits above its width become zero.
pub(super) fn write(cx: &mut Context, insn: &Instruction, [low, high]: Vector) {
    let register = insn.op0_register();
    cx.cpu.vec[vec_number(register)] = [low, if register.is_ymm() { high } else { 0 }];
}

/// Stores as many bytes of the value as the memory operand has: all or nothing.
///
/// # Errors
/// The fault of the store.
pub(super) fn store(
    cx: &mut Context,
    insn: &Instruction,
    [low, high]: Vector,
) -> Result<(), Fault> {
    let at = address(cx, insn);
    match insn.memory_size().size() {
        32 => {
            // Within a page the second half cannot fault if the first did not.
            if at % PAGE_SIZE > PAGE_SIZE - 32 {
                cx.mem.probe_write(at, 32)?;
            }
            cx.mem.write(at, low)?;
            cx.mem.write(at.wrapping_add(16), high)
        }
        16 => cx.mem.write(at, low),
        size => store_integer(cx, at, size as u64, low as u64),
    }
}

/// `f` of each half of both sources that the destination has; the other half is zero and `f` is not asked about it, as
/// it could raise exceptions.
pub(super) fn per_half(
    insn: &Instruction,
    a: Vector,
    b: Vector,
    mut f: impl FnMut(u128, u128) -> u128,
) -> Vector {
    let low = f(a[0], b[0]);
    [low, if is_wide(insn, 0) { f(a[1], b[1]) } else { 0 }]
}
