//! Moves of whole registers and parts between registers and memory, VZEROUPPER and VZEROALL.
use super::{read, store, write};
use crate::sim::isa::exec::sse_float::{load_mxcsr, store_mxcsr};
use crate::sim::isa::exec::sse_integer::transfer::store_masked;
use crate::sim::isa::exec::{
    Answer, address, load_integer, read_integer, write_integer, xmm_number,
};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::memory::Fault;
use iced_x86::{Instruction, Mnemonic, OpKind};

const LOW64: u128 = u64::MAX as u128;
const LOW32: u128 = u32::MAX as u128;

/// Runs the instruction if it is a move.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let done = match insn.mnemonic() {
        M::Vmovaps
        | M::Vmovapd
        | M::Vmovdqa
        | M::Vmovntdqa
        | M::Vmovntdq
        | M::Vmovntps
        | M::Vmovntpd => aligned(cx, insn).and_then(|()| whole(cx, insn)),
        M::Vmovups | M::Vmovupd | M::Vmovdqu | M::Vlddqu => whole(cx, insn),
        M::Vmovss if insn.op_count() == 3 => merge(cx, insn, LOW32),
        M::Vmovsd if insn.op_count() == 3 => merge(cx, insn, LOW64),
        // Loads and stores of the low lane.
        M::Vmovss | M::Vmovsd => whole(cx, insn),
        M::Vmovd => through_integer(cx, insn, 4),
        M::Vmovq => through_integer(cx, insn, 8),
        M::Vmovlps | M::Vmovlpd => half(cx, insn, 0),
        M::Vmovhps | M::Vmovhpd => half(cx, insn, 64),
        M::Vmovlhps => read(cx, insn, 1).and_then(|a| {
            let b = read(cx, insn, 2)?;
            write(cx, insn, [a[0] & LOW64 | b[0] << 64, 0]);
            Ok(())
        }),
        M::Vmovhlps => read(cx, insn, 1).and_then(|a| {
            let b = read(cx, insn, 2)?;
            write(cx, insn, [a[0] & !LOW64 | b[0] >> 64, 0]);
            Ok(())
        }),
        M::Vmaskmovdqu => {
            let value = cx.cpu.xmm(xmm_number(insn, 1));
            let mask = cx.cpu.xmm(xmm_number(insn, 2));
            store_masked(cx, insn, value, mask)
        }
        M::Vzeroupper => {
            for i in 0..16 {
                cx.cpu.vec[i][1] = 0;
            }
            Ok(())
        }
        M::Vzeroall => {
            for i in 0..16 {
                cx.cpu.vec[i] = [0; 2];
            }
            Ok(())
        }
        M::Vldmxcsr => return Some(load_mxcsr(cx, insn)),
        M::Vstmxcsr => return Some(store_mxcsr(cx, insn)),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// #GP for a memory operand that is not aligned to its size.
fn aligned(cx: &Context, insn: &Instruction) -> Result<(), Fault> {
    let memory = (0..2).any(|i| insn.op_kind(i) == OpKind::Memory);
    let size = insn.memory_size().size() as u64;
    if memory && !address(cx, insn).is_multiple_of(size) {
        return Err(Fault::GeneralProtection);
    }
    Ok(())
}

fn whole(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let value = read(cx, insn, 1)?;
    if insn.op0_kind() == OpKind::Register {
        write(cx, insn, value);
        return Ok(());
    }
    store(cx, insn, value)
}

/// The low lane of the third operand in the second one.
fn merge(cx: &mut Context, insn: &Instruction, mask: u128) -> Result<(), Fault> {
    let a = cx.cpu.xmm(xmm_number(insn, 1));
    let b = cx.cpu.xmm(xmm_number(insn, 2));
    write(cx, insn, [a & !mask | b & mask, 0]);
    Ok(())
}

/// VMOVD, VMOVQ: `size` bytes between the low lane of a vector register and a general register, memory, or another
/// vector register.
fn through_integer(cx: &mut Context, insn: &Instruction, size: u64) -> Result<(), Fault> {
    let value = if insn.op1_register().is_xmm() {
        cx.cpu.xmm(xmm_number(insn, 1)) as u64
    } else {
        read_integer(cx, insn, 1, size)?
    };
    if insn.op0_register().is_xmm() {
        write(cx, insn, [u128::from(value), 0]);
        return Ok(());
    }
    write_integer(cx, insn, 0, size, value)
}

/// VMOVLPx, VMOVHPx: the 8 bytes from bit `shift` on are stored, or come from memory into a copy of the second operand.
fn half(cx: &mut Context, insn: &Instruction, shift: u32) -> Result<(), Fault> {
    let a = cx.cpu.xmm(xmm_number(insn, 1));
    if insn.op0_kind() == OpKind::Memory {
        return store(cx, insn, [a >> shift, 0]);
    }
    let at = address(cx, insn);
    let value = u128::from(load_integer(cx, at, 8)?);
    write(cx, insn, [a & !(LOW64 << shift) | value << shift, 0]);
    Ok(())
}
