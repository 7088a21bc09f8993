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

#[cfg(test)]
mod tests {
    use super::table::{Form, form};
    use iced_x86::Code;

    /// The expected value comes from an x86-64 host on which the comparison with the processor (`host`) passes: it
    /// carries that result to hosts where the comparison cannot run.
    #[test]
    fn lane_operations_give_the_same_bytes_on_every_host() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        let mut next = || {
            seed = seed.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645) | 1;
            // Halves that are often saturated, equal or small, as well as anything.
            match seed >> 125 {
                0 => seed >> 64,
                1 => seed | seed << 1 | seed >> 1,
                2 => seed & seed << 1 & seed >> 3,
                3 => seed >> 120,
                _ => seed ^ seed >> 67,
            }
        };
        let mut digest = 0u128;
        for code in Code::values() {
            let Some(form) = form(code) else { continue };
            for _ in 0..64 {
                let (mut d, s, mask, imm) = (next(), next(), next(), next() as u8);
                match form {
                    Form::Xmm(f)
                    | Form::XmmCount(f)
                    | Form::XmmLow64(f)
                    | Form::XmmLow32(f)
                    | Form::XmmLow16(f)
                    | Form::Mmx(f)
                    | Form::MmxPair(f)
                    | Form::MmxLow(f)
                    | Form::MmxHigh(f)
                    | Form::MmxCount(f) => f(&mut d, &s),
                    Form::XmmImmediate(f) | Form::MmxImmediate(f) => f(&mut d, &s, imm),
                    Form::XmmMasked(f) => f(&mut d, &s, &mask),
                }
                digest = (digest ^ d).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
            }
        }
        for imm in 0..=255 {
            let compared = super::text::compare(next(), next(), None, imm);
            digest ^= compared.mask(imm).rotate_left(u32::from(imm)) ^ u128::from(compared.flags);
        }
        assert_eq!(digest, 0x32d2_19cb_dddf_bccf_efc4_04f9_74a5_80d7);
    }
}
