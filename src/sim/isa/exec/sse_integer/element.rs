//! Single elements in and out of vector registers, sign masks, PTEST.
use super::super::{Answer, address, read_integer, read_memory, write_integer, xmm_number};
use super::{arithmetic, destination, lane, mmx, shuffle};
use crate::sim::isa::flags::{CF, ZF};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::memory::Fault;
use iced_x86::{Code, Instruction, OpKind};

/// Runs the instruction if it moves an element or a mask.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Code::*;
    let done = match insn.code() {
        Pinsrb_xmm_r32m8_imm8 | Pinsrb_xmm_r64m8_imm8 => insert(cx, insn, 1),
        Pinsrw_xmm_r32m16_imm8 | Pinsrw_xmm_r64m16_imm8 => insert(cx, insn, 2),
        Pinsrd_xmm_rm32_imm8 => insert(cx, insn, 4),
        Pinsrq_xmm_rm64_imm8 => insert(cx, insn, 8),
        Insertps_xmm_xmmm32_imm8 => insert_float(cx, insn),

        Pextrb_r32m8_xmm_imm8 | Pextrb_r64m8_xmm_imm8 => extract(cx, insn, 1),
        Pextrw_r32_xmm_imm8
        | Pextrw_r64_xmm_imm8
        | Pextrw_r32m16_xmm_imm8
        | Pextrw_r64m16_xmm_imm8 => extract(cx, insn, 2),
        Pextrd_rm32_xmm_imm8 | Extractps_rm32_xmm_imm8 | Extractps_r64m32_xmm_imm8 => {
            extract(cx, insn, 4)
        }
        Pextrq_rm64_xmm_imm8 => extract(cx, insn, 8),

        Pmovmskb_r32_xmm | Pmovmskb_r64_xmm => {
            let mask = arithmetic::pmovmskb(cx.cpu.xmm(xmm_number(insn, 1)));
            write_integer(cx, insn, 0, 8, mask)
        }
        Movmskps_r32_xmm | Movmskps_r64_xmm => {
            let mask = arithmetic::movmskps(lane::view(&cx.cpu.xmm(xmm_number(insn, 1))));
            write_integer(cx, insn, 0, 8, mask)
        }
        Movmskpd_r32_xmm | Movmskpd_r64_xmm => {
            let mask = arithmetic::movmskpd(lane::view(&cx.cpu.xmm(xmm_number(insn, 1))));
            write_integer(cx, insn, 0, 8, mask)
        }
        Ptest_xmm_xmmm128 => super::read_xmm(cx, insn, 1, true).map(|b| {
            let (zero, carry) = arithmetic::ptest(cx.cpu.xmm(xmm_number(insn, 0)), b);
            let bits = if zero { ZF } else { 0 } | if carry { CF } else { 0 };
            cx.cpu.flags.set_status(bits);
        }),

        Pinsrw_mm_r32m16_imm8 | Pinsrw_mm_r64m16_imm8 => mmx::check(cx)
            .and_then(|()| read_integer(cx, insn, 1, 2))
            .map(|value| {
                let shift = u32::from(insn.immediate8() & 3) * 16;
                let old = mmx::read(cx, insn, 0) & !(0xffff << shift);
                mmx::write(cx, insn, 0, old | value << shift);
            }),
        Pextrw_r32_mm_imm8 | Pextrw_r64_mm_imm8 => mmx::check(cx).and_then(|()| {
            mmx::enter(cx);
            let shift = u32::from(insn.immediate8() & 3) * 16;
            let value = mmx::read(cx, insn, 1) >> shift & 0xffff;
            write_integer(cx, insn, 0, 8, value)
        }),
        Pmovmskb_r32_mm | Pmovmskb_r64_mm => mmx::check(cx).and_then(|()| {
            mmx::enter(cx);
            let mask = arithmetic::pmovmskb(u128::from(mmx::read(cx, insn, 1)));
            write_integer(cx, insn, 0, 8, mask)
        }),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// Bit position of the element of `size` bytes that the immediate selects: only the bits that can matter count.
fn position(insn: &Instruction, size: u64) -> u32 {
    let index = u64::from(insn.immediate8()) % (16 / size);
    (index * size * 8) as u32
}

fn element_mask(size: u64) -> u128 {
    u128::MAX >> (128 - 8 * size)
}

/// Replaces one element of the destination by the low bytes of a general register, or by memory.
fn insert(cx: &mut Context, insn: &Instruction, size: u64) -> Result<(), Fault> {
    let value = read_integer(cx, insn, 1, size)?;
    let register = destination(cx, insn);
    *register = replaced(insn, size, *register, value);
    Ok(())
}

/// `register` with `value` in the element of `size` bytes that the immediate selects.
pub(in crate::sim::isa::exec) fn replaced(
    insn: &Instruction,
    size: u64,
    register: u128,
    value: u64,
) -> u128 {
    let shift = position(insn, size);
    register & !(element_mask(size) << shift) | u128::from(value) << shift
}

/// Moves one element to memory, or zero-extended to a general register.
pub(in crate::sim::isa::exec) fn extract(
    cx: &mut Context,
    insn: &Instruction,
    size: u64,
) -> Result<(), Fault> {
    let value = cx.cpu.xmm(xmm_number(insn, 1)) >> position(insn, size) & element_mask(size);
    if insn.op0_kind() == OpKind::Register {
        return write_integer(cx, insn, 0, 8, value as u64);
    }
    let at = address(cx, insn);
    super::super::store_integer(cx, at, size, value as u64)
}

/// INSERTPS.
fn insert_float(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let (source, imm) = float_to_insert(cx, insn, 1)?;
    lane::apply(destination(cx, insn), &source, |a, b| {
        shuffle::insertps(a, b, imm)
    });
    Ok(())
}

/// The source of INSERTPS and its immediate: from memory there is one lane to choose, so the selector of the source lane
/// is ignored.
pub(in crate::sim::isa::exec) fn float_to_insert(
    cx: &mut Context,
    insn: &Instruction,
    operand: u32,
) -> Result<(u128, u8), Fault> {
    Ok(if insn.op_kind(operand) == OpKind::Register {
        (cx.cpu.xmm(xmm_number(insn, operand)), insn.immediate8())
    } else {
        (
            u128::from(read_memory::<u32>(cx, insn)?),
            insn.immediate8() & 0x3f,
        )
    })
}
