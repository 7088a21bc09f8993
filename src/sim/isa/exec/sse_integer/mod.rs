//! MMX and SSE instructions without floating-point arithmetic, in their legacy encodings.
//!
//! [`table`] names the lane operation of an opcode and the shape of its operands; this file fetches and stores them.
//! What is no lane operation stands in [`transfer`], [`element`], [`text`] and [`hint`]. The VEX forms belong elsewhere,
//! but may use the same operations.
use super::{Answer, address, read_memory, read_xmm, xmm_number};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::memory::Fault;
use iced_x86::{Instruction, OpKind};
use table::Form;

pub mod arithmetic;
pub mod element;
pub mod hint;
#[cfg(all(test, target_arch = "x86_64"))]
mod host;
pub mod lane;
pub mod mmx;
pub mod shift;
pub mod shuffle;
pub mod table;
pub mod text;
pub mod transfer;

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    if let Some(form) = table::form(insn.code()) {
        return Some(lanes(cx, insn, form).map(|()| Flow::Next));
    }
    transfer::execute(cx, insn)
        .or_else(|| element::execute(cx, insn))
        .or_else(|| text::execute(cx, insn))
        .or_else(|| hint::execute(cx, insn))
}

/// Runs a lane operation.
fn lanes(cx: &mut Context, insn: &Instruction, form: Form) -> Result<(), Fault> {
    let imm = || insn.immediate8();
    match form {
        Form::Xmm(f) => {
            let source = read_xmm(cx, insn, 1, true)?;
            f(destination(cx, insn), &source);
        }
        Form::XmmImmediate(f) => {
            let source = read_xmm(cx, insn, 1, true)?;
            f(destination(cx, insn), &source, imm());
        }
        Form::XmmCount(f) => f(destination(cx, insn), &u128::from(imm())),
        Form::XmmMasked(f) => {
            let source = read_xmm(cx, insn, 1, true)?;
            let mask = cx.cpu.xmm(0);
            f(destination(cx, insn), &source, &mask);
        }
        Form::XmmLow64(f) => {
            let source = read_xmm_low(cx, insn, 1, 8)?;
            f(destination(cx, insn), &source);
        }
        Form::XmmLow32(f) => {
            let source = read_xmm_low(cx, insn, 1, 4)?;
            f(destination(cx, insn), &source);
        }
        Form::XmmLow16(f) => {
            let source = read_xmm_low(cx, insn, 1, 2)?;
            f(destination(cx, insn), &source);
        }
        Form::Mmx(f) => {
            let (mut a, b) = mmx::operands(cx, insn)?;
            f(&mut a, &b);
            mmx::write(cx, insn, 0, a as u64);
        }
        Form::MmxPair(f) => {
            let (a, b) = mmx::operands(cx, insn)?;
            let mut pair = a | b << 64;
            f(&mut pair, &0);
            mmx::write(cx, insn, 0, pair as u64);
        }
        Form::MmxLow(f) => {
            mmx::check(cx)?;
            let b = match insn.op1_kind() {
                OpKind::Register => mmx::read(cx, insn, 1),
                _ => u64::from(read_memory::<u32>(cx, insn)?),
            };
            let mut a = u128::from(mmx::read(cx, insn, 0));
            f(&mut a, &u128::from(b));
            mmx::write(cx, insn, 0, a as u64);
        }
        Form::MmxHigh(f) => {
            let (mut a, b) = mmx::operands(cx, insn)?;
            f(&mut a, &b);
            mmx::write(cx, insn, 0, (a >> 64) as u64);
        }
        Form::MmxImmediate(f) => {
            let (mut a, b) = mmx::operands(cx, insn)?;
            f(&mut a, &b, imm());
            mmx::write(cx, insn, 0, a as u64);
        }
        Form::MmxCount(f) => {
            mmx::check(cx)?;
            let mut a = u128::from(mmx::read(cx, insn, 0));
            f(&mut a, &u128::from(imm()));
            mmx::write(cx, insn, 0, a as u64);
        }
    }
    Ok(())
}

/// The low half of the destination register.
fn destination<'a>(cx: &'a mut Context, insn: &Instruction) -> &'a mut u128 {
    &mut cx.cpu.vec[xmm_number(insn, 0)][0]
}

/// Reads an XMM register, or its low `size` (2, 4, 8) bytes from memory at any alignment, zero-extended.
fn read_xmm_low(
    cx: &mut Context,
    insn: &Instruction,
    operand: u32,
    size: u64,
) -> Result<u128, Fault> {
    if insn.op_kind(operand) == OpKind::Register {
        return Ok(cx.cpu.xmm(xmm_number(insn, operand)));
    }
    let at = address(cx, insn);
    super::load_integer(cx, at, size).map(u128::from)
}
