//! Single elements in and out of vector registers, sign masks, tests, and the string comparisons.
use super::{is_wide, read, write};
use crate::sim::isa::exec::sse_integer::element::{extract, float_to_insert, replaced};
use crate::sim::isa::exec::sse_integer::lane::{self, view};
use crate::sim::isa::exec::sse_integer::text::{Lengths, index_result, mask_result, strings};
use crate::sim::isa::exec::sse_integer::{arithmetic, shuffle};
use crate::sim::isa::exec::{Answer, read_integer, write_integer, xmm_number};
use crate::sim::isa::flags::{CF, ZF};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::memory::Fault;
use iced_x86::{Instruction, Mnemonic};

/// Runs the instruction if it moves or tests elements.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    const TOP32: u128 = 0x8000_0000_8000_0000_8000_0000_8000_0000;
    const TOP64: u128 = 0x8000_0000_0000_0000_8000_0000_0000_0000;
    let done = match insn.mnemonic() {
        M::Vpinsrb => insert(cx, insn, 1),
        M::Vpinsrw => insert(cx, insn, 2),
        M::Vpinsrd => insert(cx, insn, 4),
        M::Vpinsrq => insert(cx, insn, 8),
        M::Vinsertps => float_to_insert(cx, insn, 2).map(|(source, imm)| {
            let mut register = cx.cpu.xmm(xmm_number(insn, 1));
            lane::apply(&mut register, &source, |a, b| shuffle::insertps(a, b, imm));
            write(cx, insn, [register, 0]);
        }),
        M::Vpextrb => extract(cx, insn, 1),
        M::Vpextrw => extract(cx, insn, 2),
        M::Vpextrd | M::Vextractps => extract(cx, insn, 4),
        M::Vpextrq => extract(cx, insn, 8),
        M::Vpmovmskb => mask(cx, insn, 16, arithmetic::pmovmskb),
        M::Vmovmskps => mask(cx, insn, 4, |half| arithmetic::movmskps(view(&half))),
        M::Vmovmskpd => mask(cx, insn, 2, |half| arithmetic::movmskpd(view(&half))),
        M::Vptest => test(cx, insn, u128::MAX),
        M::Vtestps => test(cx, insn, TOP32),
        M::Vtestpd => test(cx, insn, TOP64),
        M::Vpcmpestrm => string_mask(cx, insn, Lengths::Explicit32),
        M::Vpcmpestrm64 => string_mask(cx, insn, Lengths::Explicit64),
        M::Vpcmpistrm => string_mask(cx, insn, Lengths::Implicit),
        M::Vpcmpestri => strings(cx, insn, Lengths::Explicit32, index_result),
        M::Vpcmpestri64 => strings(cx, insn, Lengths::Explicit64, index_result),
        M::Vpcmpistri => strings(cx, insn, Lengths::Implicit, index_result),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// VPCMPxSTRM: the mask goes to YMM0.
fn string_mask(cx: &mut Context, insn: &Instruction, lengths: Lengths) -> Result<(), Fault> {
    strings(cx, insn, lengths, mask_result)?;
    cx.cpu.vec[0][1] = 0;
    Ok(())
}

/// The second operand with one element replaced by the low bytes of a general register, or by memory.
fn insert(cx: &mut Context, insn: &Instruction, size: u64) -> Result<(), Fault> {
    let value = read_integer(cx, insn, 2, size)?;
    let register = replaced(insn, size, cx.cpu.xmm(xmm_number(insn, 1)), value);
    write(cx, insn, [register, 0]);
    Ok(())
}

/// The mask of each half, `count` bits of it.
fn mask(
    cx: &mut Context,
    insn: &Instruction,
    count: u32,
    of: fn(u128) -> u64,
) -> Result<(), Fault> {
    let value = read(cx, insn, 1)?;
    let high = if is_wide(insn, 1) { of(value[1]) } else { 0 };
    write_integer(cx, insn, 0, 8, of(value[0]) | high << count)
}

/// VPTEST, VTESTPS, VTESTPD, of which the last two look at sign bits: ZF if no bit of `considered` is set in both, CF if
/// the first operand has every such bit that the second has.
fn test(cx: &mut Context, insn: &Instruction, considered: u128) -> Result<(), Fault> {
    let a = read(cx, insn, 0)?;
    let b = read(cx, insn, 1)?;
    let zero = (0..2).all(|i| a[i] & b[i] & considered == 0);
    let carry = (0..2).all(|i| !a[i] & b[i] & considered == 0);
    let bits = if zero { ZF } else { 0 } | if carry { CF } else { 0 };
    cx.cpu.flags.set_status(bits);
    Ok(())
}
