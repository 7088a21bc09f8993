//! The MMX registers: the significands of the x87 registers, and what touching them does to the x87 state.
use super::read_memory;
use crate::sim::isa::op::Context;
use crate::sim::memory::Fault;
use iced_x86::{Instruction, OpKind};

/// The fault that a pending unmasked x87 exception raises at any MMX instruction.
///
/// # Errors
/// #MF.
pub fn check(cx: &Context) -> Result<(), Fault> {
    if cx.cpu.x87.status & !cx.cpu.x87.control & 0x3f != 0 {
        return Err(Fault::X87Float);
    }
    Ok(())
}

/// What every MMX instruction but EMMS does besides its work: TOP is 0 and no register is empty.
pub fn enter(cx: &mut Context) {
    cx.cpu.x87.top = 0;
    cx.cpu.x87.valid = 0xff;
}

/// The MMX register that an operand names.
pub fn read(cx: &Context, insn: &Instruction, operand: u32) -> u64 {
    cx.cpu.x87.registers[number(insn, operand)].significand
}

/// Reads an MMX register or 8 bytes of memory.
///
/// # Errors
/// The fault of the load.
pub fn read_or_load(cx: &mut Context, insn: &Instruction, operand: u32) -> Result<u64, Fault> {
    if insn.op_kind(operand) == OpKind::Register {
        Ok(read(cx, insn, operand))
    } else {
        read_memory(cx, insn)
    }
}

/// Writes the MMX register that an operand names, and does what [`enter`] does.
pub fn write(cx: &mut Context, insn: &Instruction, operand: u32, value: u64) {
    enter(cx);
    let register = &mut cx.cpu.x87.registers[number(insn, operand)];
    register.significand = value;
    register.sign_exponent = 0xffff;
}

/// The two operands of the usual form, zero-extended.
pub(super) fn operands(cx: &mut Context, insn: &Instruction) -> Result<(u128, u128), Fault> {
    check(cx)?;
    let b = read_or_load(cx, insn, 1)?;
    Ok((u128::from(read(cx, insn, 0)), u128::from(b)))
}

fn number(insn: &Instruction, operand: u32) -> usize {
    insn.op_register(operand).number() & 7
}
