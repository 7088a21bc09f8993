//! BMI1, BMI2, LZCNT and MOVBE: bit manipulation on general registers.
//!
//! Flags that the manuals leave undefined are those of AMD's Zen 4.
use super::{Answer, read_integer, truncate, write_integer, write_register};
use crate::sim::isa::flags::{AF, CF, OF, SF, STATUS, ZF, pzs};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::RDX;
use crate::sim::memory::Fault;
use iced_x86::{Instruction, Mnemonic, OpKind};

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let done = match insn.mnemonic() {
        M::Andn => andn(cx, insn),
        M::Blsr => lowest_bit(cx, insn, |x| (x & x.wrapping_sub(1), x == 0)),
        M::Blsmsk => lowest_bit(cx, insn, |x| (x ^ x.wrapping_sub(1), x == 0)),
        M::Blsi => lowest_bit(cx, insn, |x| (x & x.wrapping_neg(), x != 0)),
        M::Bextr => bextr(cx, insn),
        M::Bzhi => bzhi(cx, insn),
        M::Tzcnt => count(cx, insn, |x, bits| x.trailing_zeros().min(bits)),
        M::Lzcnt => count(cx, insn, |x, bits| x.leading_zeros() + bits - 64),
        M::Pdep => three(cx, insn, deposit),
        M::Pext => three(cx, insn, extract),
        M::Mulx => mulx(cx, insn),
        M::Rorx => rorx(cx, insn),
        M::Shlx => shift(cx, insn, |x, count, _| x << count),
        M::Shrx => shift(cx, insn, |x, count, _| x >> count),
        M::Sarx => shift(cx, insn, |x, count, bits| {
            (((x << (64 - bits)) as i64) >> (64 - bits) >> count) as u64
        }),
        M::Movbe => movbe(cx, insn),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// Bytes of the general register among the operands.
fn size(insn: &Instruction) -> u64 {
    let register = if insn.op0_kind() == OpKind::Register {
        insn.op0_register()
    } else {
        insn.op1_register()
    };
    register.size() as u64
}

fn bits_if(on: bool, bits: u64) -> u64 {
    if on { bits } else { 0 }
}

/// PF, ZF and SF of a result.
fn result_flags(result: u64, size: u64) -> u64 {
    pzs(result, size.trailing_zeros() as u8)
}

fn andn(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size(insn);
    let a = read_integer(cx, insn, 1, size)?;
    let b = read_integer(cx, insn, 2, size)?;
    let result = !a & b;
    write_register(cx, insn.op0_register(), size, result);
    let flags = result_flags(result, size);
    cx.cpu.flags.set_status(flags);
    Ok(())
}

/// BLSR, BLSMSK, BLSI: `f` gives the result and CF.
fn lowest_bit(
    cx: &mut Context,
    insn: &Instruction,
    f: fn(u64) -> (u64, bool),
) -> Result<(), Fault> {
    let size = size(insn);
    let (result, carry) = f(read_integer(cx, insn, 1, size)?);
    let result = truncate(result, size);
    write_register(cx, insn.op0_register(), size, result);
    let flags = result_flags(result, size) | bits_if(carry, CF);
    cx.cpu.flags.set_status(flags);
    Ok(())
}

/// BEXTR: the field whose first bit and length are bytes of the control.
fn bextr(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size(insn);
    let value = read_integer(cx, insn, 1, size)?;
    let control = read_integer(cx, insn, 2, size)?;
    let (start, length) = (control as u8, (control >> 8) as u8);
    let shifted = if start > 63 { 0 } else { value >> start };
    let result = low_bits(shifted, length);
    write_register(cx, insn.op0_register(), size, result);
    let flags = result_flags(result, size) & !SF | AF;
    cx.cpu.flags.set_status(flags);
    Ok(())
}

/// The value without its bits from `count` on.
fn low_bits(value: u64, count: u8) -> u64 {
    match count {
        0 => 0,
        1..=63 => value & (u64::MAX >> (64 - count)),
        _ => value,
    }
}

fn bzhi(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size(insn);
    let value = read_integer(cx, insn, 1, size)?;
    let index = read_integer(cx, insn, 2, size)? as u8;
    let result = low_bits(value, index);
    write_register(cx, insn.op0_register(), size, result);
    let beyond = u64::from(index) >= 8 * size;
    let flags = result_flags(result, size) | bits_if(beyond, CF);
    cx.cpu.flags.set_status(flags);
    Ok(())
}

/// TZCNT, LZCNT.
fn count(cx: &mut Context, insn: &Instruction, f: fn(u64, u32) -> u32) -> Result<(), Fault> {
    let size = size(insn);
    let value = read_integer(cx, insn, 1, size)?;
    let result = f(value, 8 * size as u32);
    write_register(cx, insn.op0_register(), size, result.into());
    let flags = bits_if(result == 0, ZF) | bits_if(value == 0, CF);
    cx.cpu.flags.merge_status(STATUS & !OF, flags);
    Ok(())
}

fn three(cx: &mut Context, insn: &Instruction, f: fn(u64, u64) -> u64) -> Result<(), Fault> {
    let size = size(insn);
    let a = read_integer(cx, insn, 1, size)?;
    let b = read_integer(cx, insn, 2, size)?;
    write_register(cx, insn.op0_register(), size, f(a, b));
    Ok(())
}

/// PDEP: the low bits of the value, one to each set bit of the mask.
fn deposit(mut value: u64, mut mask: u64) -> u64 {
    let mut result = 0;
    while mask != 0 {
        if value & 1 != 0 {
            result |= mask & mask.wrapping_neg();
        }
        value >>= 1;
        mask &= mask - 1;
    }
    result
}

/// PEXT: the bits of the value at the set bits of the mask, side by side.
fn extract(value: u64, mut mask: u64) -> u64 {
    let (mut result, mut bit) = (0, 1u64);
    while mask != 0 {
        if value & mask & mask.wrapping_neg() != 0 {
            result |= bit;
        }
        bit <<= 1;
        mask &= mask - 1;
    }
    result
}

/// MULX: the high half is written last, so it stays where both destinations are one register.
fn mulx(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size(insn);
    let b = read_integer(cx, insn, 2, size)?;
    let product = u128::from(truncate(cx.cpu.gpr[RDX], size)) * u128::from(b);
    write_register(cx, insn.op1_register(), size, product as u64);
    write_register(
        cx,
        insn.op0_register(),
        size,
        (product >> (8 * size)) as u64,
    );
    Ok(())
}

fn rorx(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size(insn);
    let value = read_integer(cx, insn, 1, size)?;
    let by = u32::from(insn.immediate8());
    let result = if size == 4 {
        u64::from((value as u32).rotate_right(by))
    } else {
        value.rotate_right(by)
    };
    write_register(cx, insn.op0_register(), size, result);
    Ok(())
}

/// SHLX, SHRX, SARX: `f` gets the value, the masked count and the width in bits.
fn shift(cx: &mut Context, insn: &Instruction, f: fn(u64, u32, u32) -> u64) -> Result<(), Fault> {
    let size = size(insn);
    let bits = 8 * size as u32;
    let value = read_integer(cx, insn, 1, size)?;
    let count = read_integer(cx, insn, 2, size)? as u32 & (bits - 1);
    let result = truncate(f(value, count, bits), size);
    write_register(cx, insn.op0_register(), size, result);
    Ok(())
}

fn movbe(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size(insn);
    let value = read_integer(cx, insn, 1, size)?;
    let swapped = value.swap_bytes() >> (64 - 8 * size);
    write_integer(cx, insn, 0, size, swapped)
}
