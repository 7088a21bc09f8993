//! Masked loads and stores, and gathers: elements whose mask has its top bit set, each an access of its own.
use super::{is_wide, read, write};
use crate::sim::isa::exec::{
    Answer, address, address_with_index, load_integer, sign_extend, store_integer, vec_number,
};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::Vector;
use crate::sim::memory::Fault;
use iced_x86::{Instruction, Mnemonic, OpKind};

/// Runs the instruction if it is masked.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let done = match insn.mnemonic() {
        M::Vmaskmovps | M::Vpmaskmovd => move_masked(cx, insn, 4),
        M::Vmaskmovpd | M::Vpmaskmovq => move_masked(cx, insn, 8),
        M::Vpgatherdd | M::Vgatherdps => gather(cx, insn, 4, 4),
        M::Vpgatherdq | M::Vgatherdpd => gather(cx, insn, 4, 8),
        M::Vpgatherqd | M::Vgatherqps => gather(cx, insn, 8, 4),
        M::Vpgatherqq | M::Vgatherqpd => gather(cx, insn, 8, 8),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// Element `i` of `size` (4, 8) bytes.
fn element(vector: &Vector, i: u64, size: u64) -> u64 {
    let bit = i * size * 8;
    let value = (vector[(bit / 128) as usize] >> (bit % 128)) as u64;
    value & (u64::MAX >> (64 - 8 * size))
}

fn set_element(vector: &mut Vector, i: u64, size: u64, value: u64) {
    let bit = i * size * 8;
    let half = &mut vector[(bit / 128) as usize];
    let mask = u128::MAX >> (128 - 8 * size);
    *half = *half & !(mask << (bit % 128)) | u128::from(value) << (bit % 128);
}

fn selected(mask: &Vector, i: u64, size: u64) -> bool {
    element(mask, i, size) >> (8 * size - 1) != 0
}

/// VMASKMOVPx, VPMASKMOVx. Elements that are not selected are not accessed: they cannot fault, and load as zero.
fn move_masked(cx: &mut Context, insn: &Instruction, size: u64) -> Result<(), Fault> {
    let mask = read(cx, insn, 1)?;
    let at = address(cx, insn);
    let count = insn.memory_size().size() as u64 / size;
    let chosen = || (0..count).filter(|&i| selected(&mask, i, size));
    if insn.op0_kind() == OpKind::Register {
        let mut result = [0; 2];
        for i in chosen() {
            let value = load_integer(cx, at.wrapping_add(i * size), size)?;
            set_element(&mut result, i, size, value);
        }
        write(cx, insn, result);
        return Ok(());
    }
    let value = read(cx, insn, 2)?;
    for i in chosen() {
        cx.mem.probe_write(at.wrapping_add(i * size), size)?;
    }
    for i in chosen() {
        store_integer(
            cx,
            at.wrapping_add(i * size),
            size,
            element(&value, i, size),
        )?;
    }
    Ok(())
}

/// VPGATHERxx, VGATHERxPx: with indices of `index_size` bytes, elements of `size`.
///
/// Where an element faults, those before it are done: they stand in the destination and their masks are cleared, as on a
/// processor, so that the instruction goes on from there once the handler has mended the page. This is the one exception
/// to the rule that a fault changes nothing.
fn gather(cx: &mut Context, insn: &Instruction, index_size: u64, size: u64) -> Result<(), Fault> {
    let index_register = insn.memory_index();
    let (to, of_mask) = (
        vec_number(insn.op0_register()),
        vec_number(insn.op2_register()),
    );
    let from = vec_number(index_register);
    if to == of_mask || to == from || of_mask == from {
        return Err(Fault::InvalidOpcode);
    }
    let indices = cx.cpu.vec[from];
    let index_bytes = if index_register.is_ymm() { 32 } else { 16 };
    let bytes = if is_wide(insn, 0) { 32 } else { 16 };
    let count = (index_bytes / index_size).min(bytes / size);
    let (mut result, mut mask) = (cx.cpu.vec[to], cx.cpu.vec[of_mask]);
    for i in 0..count {
        if !selected(&mask, i, size) {
            continue;
        }
        let index = sign_extend(element(&indices, i, index_size), index_size);
        let at = address_with_index(cx, insn, index);
        match load_integer(cx, at, size) {
            Ok(value) => set_element(&mut result, i, size, value),
            Err(fault) => {
                cx.cpu.vec[to] = result;
                cx.cpu.vec[of_mask] = mask;
                return Err(fault);
            }
        }
        set_element(&mut mask, i, size, 0);
    }
    // Elements that the indices are too few for are zero.
    for i in count..32 / size {
        set_element(&mut result, i, size, 0);
    }
    cx.cpu.vec[to] = result;
    cx.cpu.vec[of_mask] = [0; 2];
    Ok(())
}
