//! Moves of whole registers and halves between registers and memory.
use super::super::{
    Answer, address, read_integer, read_memory, read_xmm, write_integer, xmm_number,
};
use super::mmx;
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::RDI;
use crate::sim::memory::Fault;
use iced_x86::{Code, Instruction, OpKind};

const LOW64: u128 = u64::MAX as u128;
const LOW32: u128 = u32::MAX as u128;

/// Runs the instruction if it is a move.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Code::*;
    let done = match insn.code() {
        Movdqa_xmm_xmmm128 | Movaps_xmm_xmmm128 | Movapd_xmm_xmmm128 | Movntdqa_xmm_m128 => {
            load(cx, insn, true)
        }
        Movdqu_xmm_xmmm128 | Movups_xmm_xmmm128 | Movupd_xmm_xmmm128 | Lddqu_xmm_m128 => {
            load(cx, insn, false)
        }
        Movdqa_xmmm128_xmm | Movaps_xmmm128_xmm | Movapd_xmmm128_xmm | Movntdq_m128_xmm
        | Movntps_m128_xmm | Movntpd_m128_xmm => store(cx, insn, true),
        Movdqu_xmmm128_xmm | Movups_xmmm128_xmm | Movupd_xmmm128_xmm => store(cx, insn, false),

        Movq_xmm_xmmm64 => (|| {
            let value = read_half(cx, insn, 1)?;
            cx.cpu.set_xmm(xmm_number(insn, 0), u128::from(value));
            Ok(())
        })(),
        Movq_xmmm64_xmm if insn.op0_kind() == OpKind::Register => {
            let value = cx.cpu.xmm(xmm_number(insn, 1)) & LOW64;
            cx.cpu.set_xmm(xmm_number(insn, 0), value);
            Ok(())
        }
        Movq_xmmm64_xmm | Movlps_m64_xmm | Movlpd_m64_xmm => store_half(cx, insn, 0),
        Movhps_m64_xmm | Movhpd_m64_xmm => store_half(cx, insn, 64),

        Movss_xmm_xmmm32 | Movss_xmmm32_xmm if both_registers(insn) => merge(cx, insn, LOW32),
        Movsd_xmm_xmmm64 | Movsd_xmmm64_xmm if both_registers(insn) => merge(cx, insn, LOW64),
        Movss_xmm_xmmm32 => read_memory::<u32>(cx, insn)
            .map(|value| cx.cpu.set_xmm(xmm_number(insn, 0), u128::from(value))),
        Movsd_xmm_xmmm64 => read_memory::<u64>(cx, insn)
            .map(|value| cx.cpu.set_xmm(xmm_number(insn, 0), u128::from(value))),
        Movss_xmmm32_xmm => {
            let value = cx.cpu.xmm(xmm_number(insn, 1)) as u32;
            let at = address(cx, insn);
            cx.mem.write(at, value)
        }
        Movsd_xmmm64_xmm => store_half(cx, insn, 0),

        Movlps_xmm_m64 | Movlpd_xmm_m64 => {
            read_memory::<u64>(cx, insn).map(|value| set_half(cx, insn, 0, value))
        }
        Movhps_xmm_m64 | Movhpd_xmm_m64 => {
            read_memory::<u64>(cx, insn).map(|value| set_half(cx, insn, 64, value))
        }
        Movhlps_xmm_xmm => {
            let value = (cx.cpu.xmm(xmm_number(insn, 1)) >> 64) as u64;
            set_half(cx, insn, 0, value);
            Ok(())
        }
        Movlhps_xmm_xmm => {
            let value = cx.cpu.xmm(xmm_number(insn, 1)) as u64;
            set_half(cx, insn, 64, value);
            Ok(())
        }

        Movd_xmm_rm32 => read_integer(cx, insn, 1, 4)
            .map(|value| cx.cpu.set_xmm(xmm_number(insn, 0), u128::from(value))),
        Movq_xmm_rm64 => read_integer(cx, insn, 1, 8)
            .map(|value| cx.cpu.set_xmm(xmm_number(insn, 0), u128::from(value))),
        Movd_rm32_xmm => {
            let value = cx.cpu.xmm(xmm_number(insn, 1)) as u64;
            write_integer(cx, insn, 0, 4, value)
        }
        Movq_rm64_xmm => {
            let value = cx.cpu.xmm(xmm_number(insn, 1)) as u64;
            write_integer(cx, insn, 0, 8, value)
        }
        Movnti_m32_r32 => {
            read_integer(cx, insn, 1, 4).and_then(|value| write_integer(cx, insn, 0, 4, value))
        }
        Movnti_m64_r64 => {
            read_integer(cx, insn, 1, 8).and_then(|value| write_integer(cx, insn, 0, 8, value))
        }
        Maskmovdqu_rDI_xmm_xmm => {
            let value = cx.cpu.xmm(xmm_number(insn, 1));
            let mask = cx.cpu.xmm(xmm_number(insn, 2));
            store_masked(cx, insn, value, mask)
        }

        Movd_mm_rm32 | Movq_mm_rm64 | Movq_mm_mmm64 | Movd_rm32_mm | Movq_rm64_mm
        | Movq_mmm64_mm | Movntq_m64_mm | Movq2dq_xmm_mm | Movdq2q_mm_xmm | Maskmovq_rDI_mm_mm => {
            mmx::check(cx).and_then(|()| through_mmx(cx, insn))
        }
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// The moves that touch an MMX register.
fn through_mmx(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    match insn.code() {
        Code::Movd_mm_rm32 => {
            let value = read_integer(cx, insn, 1, 4)?;
            mmx::write(cx, insn, 0, value);
        }
        Code::Movq_mm_rm64 => {
            let value = read_integer(cx, insn, 1, 8)?;
            mmx::write(cx, insn, 0, value);
        }
        Code::Movq_mm_mmm64 => {
            let value = mmx::read_or_load(cx, insn, 1)?;
            mmx::write(cx, insn, 0, value);
        }
        Code::Movd_rm32_mm => {
            let value = mmx::read(cx, insn, 1);
            write_integer(cx, insn, 0, 4, value)?;
        }
        Code::Movq_rm64_mm => {
            let value = mmx::read(cx, insn, 1);
            write_integer(cx, insn, 0, 8, value)?;
        }
        Code::Movq_mmm64_mm if insn.op0_kind() == OpKind::Register => {
            let value = mmx::read(cx, insn, 1);
            mmx::write(cx, insn, 0, value);
        }
        Code::Movq_mmm64_mm | Code::Movntq_m64_mm => {
            let value = mmx::read(cx, insn, 1);
            let at = address(cx, insn);
            cx.mem.write(at, value)?;
        }
        Code::Movq2dq_xmm_mm => {
            let value = mmx::read(cx, insn, 1);
            cx.cpu.set_xmm(xmm_number(insn, 0), u128::from(value));
        }
        Code::Movdq2q_mm_xmm => {
            let value = cx.cpu.xmm(xmm_number(insn, 1)) as u64;
            mmx::write(cx, insn, 0, value);
        }
        _ => {
            let value = mmx::read(cx, insn, 1);
            let mask = mmx::read(cx, insn, 2);
            store_masked(cx, insn, u128::from(value), u128::from(mask))?;
        }
    }
    mmx::enter(cx);
    Ok(())
}

fn load(cx: &mut Context, insn: &Instruction, aligned: bool) -> Result<(), Fault> {
    let value = read_xmm(cx, insn, 1, aligned)?;
    cx.cpu.set_xmm(xmm_number(insn, 0), value);
    Ok(())
}

fn store(cx: &mut Context, insn: &Instruction, aligned: bool) -> Result<(), Fault> {
    let value = cx.cpu.xmm(xmm_number(insn, 1));
    if insn.op0_kind() == OpKind::Register {
        cx.cpu.set_xmm(xmm_number(insn, 0), value);
        return Ok(());
    }
    let at = address(cx, insn);
    if aligned && at & 15 != 0 {
        return Err(Fault::GeneralProtection);
    }
    cx.mem.write(at, value)
}

/// Reads the low half of an XMM register, or 8 bytes.
fn read_half(cx: &mut Context, insn: &Instruction, operand: u32) -> Result<u64, Fault> {
    if insn.op_kind(operand) == OpKind::Register {
        return Ok(cx.cpu.xmm(xmm_number(insn, operand)) as u64);
    }
    read_memory(cx, insn)
}

/// Stores the 8 bytes of the source register from bit `shift` on.
fn store_half(cx: &mut Context, insn: &Instruction, shift: u32) -> Result<(), Fault> {
    let value = (cx.cpu.xmm(xmm_number(insn, 1)) >> shift) as u64;
    let at = address(cx, insn);
    cx.mem.write(at, value)
}

/// Replaces the 8 bytes of the destination register from bit `shift` on.
fn set_half(cx: &mut Context, insn: &Instruction, shift: u32, value: u64) {
    let old = cx.cpu.xmm(xmm_number(insn, 0));
    let new = old & !(LOW64 << shift) | u128::from(value) << shift;
    cx.cpu.set_xmm(xmm_number(insn, 0), new);
}

/// Replaces the bits of `mask` in the destination register by those of the source register.
fn merge(cx: &mut Context, insn: &Instruction, mask: u128) -> Result<(), Fault> {
    let old = cx.cpu.xmm(xmm_number(insn, 0));
    let new = old & !mask | cx.cpu.xmm(xmm_number(insn, 1)) & mask;
    cx.cpu.set_xmm(xmm_number(insn, 0), new);
    Ok(())
}

fn both_registers(insn: &Instruction) -> bool {
    insn.op0_kind() == OpKind::Register && insn.op1_kind() == OpKind::Register
}

/// MASKMOVDQU and MASKMOVQ: stores the bytes whose mask byte has its top bit set, at RDI.
///
/// Bytes that are not selected are not accessed, so they cannot fault; each selected byte is a store of its own.
pub(in crate::sim::isa::exec) fn store_masked(
    cx: &mut Context,
    insn: &Instruction,
    value: u128,
    mask: u128,
) -> Result<(), Fault> {
    let mut at = cx.cpu.gpr[RDI];
    if insn.op0_kind() == OpKind::MemorySegEDI {
        at &= 0xffff_ffff;
    }
    at = at.wrapping_add(super::super::segment_base(cx, insn.segment_prefix()));
    let selected = || (0..16u64).filter(move |i| mask >> (8 * i + 7) & 1 != 0);
    for i in selected() {
        cx.mem.probe_write(at.wrapping_add(i), 1)?;
    }
    for i in selected() {
        cx.mem.write(at.wrapping_add(i), (value >> (8 * i)) as u8)?;
    }
    Ok(())
}
