//! F16C: conversions between 16-bit and 32-bit numbers.
use super::{is_wide, per_half, read, write};
use crate::sim::isa::exec::sse_float::{Done, Lane, environment, lane, lanes, settle};
use crate::sim::isa::exec::{Answer, address};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::convert::convert;
use crate::sim::isa::softfloat::{F16, F32, Rounding};
use iced_x86::{Instruction, Mnemonic, OpKind};

impl Lane for F16 {
    const BITS: u32 = 16;
    fn from_low(bits: u128) -> Self {
        Self(bits as u16)
    }
    fn low(self) -> u128 {
        u128::from(self.0)
    }
}

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    match insn.mnemonic() {
        Mnemonic::Vcvtph2ps => Some(widen(cx, insn)),
        Mnemonic::Vcvtps2ph => Some(narrow(cx, insn)),
        _ => None,
    }
}

/// VCVTPH2PS: exact, so only a signaling NaN raises anything; 16-bit denormals are numbers whatever DAZ says.
fn widen(cx: &mut Context, insn: &Instruction) -> Done {
    let source = read(cx, insn, 1)?[0];
    let mut env = environment(cx);
    env.daz = false;
    let result = per_half(insn, [source, source >> 64], [0; 2], |half, _| {
        lanes(4, |i| convert::<F16, F32>(lane(half, i), false, &mut env))
    });
    settle(cx, env)?;
    write(cx, insn, result);
    Ok(Flow::Next)
}

/// VCVTPS2PH: bits 1:0 of the immediate are the direction, unless bit 2 says to take that of MXCSR. Tiny results are
/// 16-bit denormals whatever FTZ says.
fn narrow(cx: &mut Context, insn: &Instruction) -> Done {
    let source = read(cx, insn, 1)?;
    let mut env = environment(cx);
    env.ftz = false;
    let control = u32::from(insn.immediate8());
    if control & 4 == 0 {
        env.rounding = Rounding::from_field(control);
    }
    let mut to_half =
        |half: u128| lanes::<F16>(4, |i| convert::<F32, F16>(lane(half, i), true, &mut env));
    let mut result = to_half(source[0]);
    if is_wide(insn, 1) {
        result |= to_half(source[1]) << 64;
    }
    if insn.op0_kind() == OpKind::Register {
        settle(cx, env)?;
        write(cx, insn, [result, 0]);
        return Ok(Flow::Next);
    }
    // A fault of the store goes before the exceptions of the numbers, and leaves MXCSR alone.
    let (at, size) = (address(cx, insn), insn.memory_size().size() as u64);
    cx.mem.probe_write(at, size)?;
    settle(cx, env)?;
    super::store(cx, insn, [result, 0])?;
    Ok(Flow::Next)
}
