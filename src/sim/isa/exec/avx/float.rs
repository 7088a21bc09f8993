//! Arithmetic, comparison and conversion of floating-point lanes.
//!
//! As in the legacy forms, the exceptions of all lanes are gathered before the destination is written: of both halves.
use super::{is_wide, per_half, read, sources, write};
use crate::sim::isa::exec::sse_float::{
    Done, Lane, alternate, approximate, compare_to_flags, comparison, dot_products, environment,
    from_i32, lane, lanes, neighbours, read_scalar, rounding, scalar_to_integer, settle, to_i32s,
};
use crate::sim::isa::exec::{Answer, read_integer, sign_extend, xmm_number};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::arithmetic::{add, div, mul, sqrt, sub};
use crate::sim::isa::softfloat::compare::{max, min};
use crate::sim::isa::softfloat::convert::{convert, from_integer};
use crate::sim::isa::softfloat::{Env, F32, F64};
use iced_x86::{Instruction, Mnemonic};

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    Some(match insn.mnemonic() {
        M::Vaddps => packed(cx, insn, add::<F32>),
        M::Vaddpd => packed(cx, insn, add::<F64>),
        M::Vaddss => scalar(cx, insn, add::<F32>),
        M::Vaddsd => scalar(cx, insn, add::<F64>),
        M::Vsubps => packed(cx, insn, sub::<F32>),
        M::Vsubpd => packed(cx, insn, sub::<F64>),
        M::Vsubss => scalar(cx, insn, sub::<F32>),
        M::Vsubsd => scalar(cx, insn, sub::<F64>),
        M::Vmulps => packed(cx, insn, mul::<F32>),
        M::Vmulpd => packed(cx, insn, mul::<F64>),
        M::Vmulss => scalar(cx, insn, mul::<F32>),
        M::Vmulsd => scalar(cx, insn, mul::<F64>),
        M::Vdivps => packed(cx, insn, div::<F32>),
        M::Vdivpd => packed(cx, insn, div::<F64>),
        M::Vdivss => scalar(cx, insn, div::<F32>),
        M::Vdivsd => scalar(cx, insn, div::<F64>),
        M::Vminps => packed(cx, insn, min::<F32>),
        M::Vminpd => packed(cx, insn, min::<F64>),
        M::Vminss => scalar(cx, insn, min::<F32>),
        M::Vminsd => scalar(cx, insn, min::<F64>),
        M::Vmaxps => packed(cx, insn, max::<F32>),
        M::Vmaxpd => packed(cx, insn, max::<F64>),
        M::Vmaxss => scalar(cx, insn, max::<F32>),
        M::Vmaxsd => scalar(cx, insn, max::<F64>),
        M::Vsqrtps => packed(cx, insn, |_, b: F32, env| sqrt(b, env)),
        M::Vsqrtpd => packed(cx, insn, |_, b: F64, env| sqrt(b, env)),
        M::Vsqrtss => scalar(cx, insn, |_, b: F32, env| sqrt(b, env)),
        M::Vsqrtsd => scalar(cx, insn, |_, b: F64, env| sqrt(b, env)),
        M::Vrcpps => packed(cx, insn, |_, b, _| approximate::reciprocal(b)),
        M::Vrcpss => scalar(cx, insn, |_, b, _| approximate::reciprocal(b)),
        M::Vrsqrtps => packed(cx, insn, |_, b, _| approximate::reciprocal_root(b)),
        M::Vrsqrtss => scalar(cx, insn, |_, b, _| approximate::reciprocal_root(b)),
        M::Vcmpps => packed(cx, insn, comparison::<F32>(insn.immediate8() & 31)),
        M::Vcmppd => packed(cx, insn, comparison::<F64>(insn.immediate8() & 31)),
        M::Vcmpss => scalar(cx, insn, comparison::<F32>(insn.immediate8() & 31)),
        M::Vcmpsd => scalar(cx, insn, comparison::<F64>(insn.immediate8() & 31)),
        M::Vroundps => packed(cx, insn, rounding::<F32>(insn)),
        M::Vroundpd => packed(cx, insn, rounding::<F64>(insn)),
        M::Vroundss => scalar(cx, insn, rounding::<F32>(insn)),
        M::Vroundsd => scalar(cx, insn, rounding::<F64>(insn)),
        M::Vaddsubps => halves(cx, insn, alternate::<F32>),
        M::Vaddsubpd => halves(cx, insn, alternate::<F64>),
        M::Vhaddps => halves(cx, insn, |a, b, env| neighbours(a, b, add::<F32>, env)),
        M::Vhaddpd => halves(cx, insn, |a, b, env| neighbours(a, b, add::<F64>, env)),
        M::Vhsubps => halves(cx, insn, |a, b, env| neighbours(a, b, sub::<F32>, env)),
        M::Vhsubpd => halves(cx, insn, |a, b, env| neighbours(a, b, sub::<F64>, env)),
        M::Vdpps => dot_product::<F32>(cx, insn),
        M::Vdppd => dot_product::<F64>(cx, insn),
        M::Vcomiss => compare_to_flags::<F32>(cx, insn, true),
        M::Vcomisd => compare_to_flags::<F64>(cx, insn, true),
        M::Vucomiss => compare_to_flags::<F32>(cx, insn, false),
        M::Vucomisd => compare_to_flags::<F64>(cx, insn, false),
        M::Vcvtss2sd => scalar_to_scalar::<F32, F64>(cx, insn),
        M::Vcvtsd2ss => scalar_to_scalar::<F64, F32>(cx, insn),
        M::Vcvtsi2ss => integer_to_scalar::<F32>(cx, insn),
        M::Vcvtsi2sd => integer_to_scalar::<F64>(cx, insn),
        M::Vcvtss2si => scalar_to_integer::<F32>(cx, insn, integer_size(insn, 0), false),
        M::Vcvtsd2si => scalar_to_integer::<F64>(cx, insn, integer_size(insn, 0), false),
        M::Vcvttss2si => scalar_to_integer::<F32>(cx, insn, integer_size(insn, 0), true),
        M::Vcvttsd2si => scalar_to_integer::<F64>(cx, insn, integer_size(insn, 0), true),
        M::Vcvtdq2ps => halves(cx, insn, |_, b, env| {
            lanes(4, |i| from_i32::<F32>(b, i, env))
        }),
        M::Vcvtps2dq => halves(cx, insn, |_, b, env| to_i32s::<F32>(b, 4, false, env)),
        M::Vcvttps2dq => halves(cx, insn, |_, b, env| to_i32s::<F32>(b, 4, true, env)),
        M::Vcvtps2pd => widen(cx, insn, |source, env| {
            lanes(2, |i| convert::<F32, F64>(lane(source, i), true, env))
        }),
        M::Vcvtdq2pd => widen(cx, insn, |source, env| {
            lanes(2, |i| from_i32::<F64>(source, i, env))
        }),
        M::Vcvtpd2ps => narrow(cx, insn, |source, env| {
            lanes(2, |i| convert::<F64, F32>(lane(source, i), true, env))
        }),
        M::Vcvtpd2dq => narrow(cx, insn, |source, env| {
            to_i32s::<F64>(source, 2, false, env)
        }),
        M::Vcvttpd2dq => narrow(cx, insn, |source, env| to_i32s::<F64>(source, 2, true, env)),
        _ => return None,
    })
}

/// Each half of the destination becomes `f` of those of the sources.
fn halves(cx: &mut Context, insn: &Instruction, f: impl Fn(u128, u128, &mut Env) -> u128) -> Done {
    let (a, b) = sources(cx, insn)?;
    let mut env = environment(cx);
    let result = per_half(insn, a, b, |a, b| f(a, b, &mut env));
    settle(cx, env)?;
    write(cx, insn, result);
    Ok(Flow::Next)
}

/// Each lane of the destination becomes `f` of those of the sources.
fn packed<F: Lane>(cx: &mut Context, insn: &Instruction, f: impl Fn(F, F, &mut Env) -> F) -> Done {
    halves(cx, insn, |a, b, env| {
        lanes(128 / F::BITS, |i| f(lane(a, i), lane(b, i), env))
    })
}

/// The low lane becomes `f` of those of the sources; the lanes above it are those of the second operand.
fn scalar<F: Lane>(cx: &mut Context, insn: &Instruction, f: impl Fn(F, F, &mut Env) -> F) -> Done {
    let b = read_scalar(cx, insn, 2)?;
    let a = cx.cpu.xmm(xmm_number(insn, 1));
    let mut env = environment(cx);
    let result = f(lane(a, 0), b, &mut env);
    settle(cx, env)?;
    write_low(cx, insn, result);
    Ok(Flow::Next)
}

/// Writes the low lane of the destination; the lanes above it are those of the second operand.
fn write_low<F: Lane>(cx: &mut Context, insn: &Instruction, value: F) {
    let kept = cx.cpu.xmm(xmm_number(insn, 1)) >> F::BITS << F::BITS;
    write(cx, insn, [kept | value.low(), 0]);
}

/// VDPPS, VDPPD.
fn dot_product<F: Lane>(cx: &mut Context, insn: &Instruction) -> Done {
    let (a, b) = sources(cx, insn)?;
    let control = insn.immediate8();
    let result = if is_wide(insn, 0) {
        dot_products::<F, 2>(cx, a, b, control)?
    } else {
        let [low] = dot_products::<F, 1>(cx, [a[0]], [b[0]], control)?;
        [low, 0]
    };
    write(cx, insn, result);
    Ok(Flow::Next)
}

fn scalar_to_scalar<A: Lane, B: Lane>(cx: &mut Context, insn: &Instruction) -> Done {
    let source = read_scalar::<A>(cx, insn, 2)?;
    let mut env = environment(cx);
    let result = convert::<A, B>(source, true, &mut env);
    settle(cx, env)?;
    write_low(cx, insn, result);
    Ok(Flow::Next)
}

/// Bytes of the general register or memory that an operand is.
fn integer_size(insn: &Instruction, operand: u32) -> u64 {
    let register = insn.op_register(operand);
    if register.is_gpr() {
        register.size() as u64
    } else {
        insn.memory_size().size() as u64
    }
}

fn integer_to_scalar<F: Lane>(cx: &mut Context, insn: &Instruction) -> Done {
    let size = integer_size(insn, 2);
    let source = read_integer(cx, insn, 2, size)?;
    let mut env = environment(cx);
    let result = from_integer::<F>(sign_extend(source, size) as i64, &mut env);
    settle(cx, env)?;
    write_low(cx, insn, result);
    Ok(Flow::Next)
}

/// Lanes of 32 bits become lanes of 64: `f` makes half a register of the low 8 bytes of its source.
fn widen(cx: &mut Context, insn: &Instruction, f: impl Fn(u128, &mut Env) -> u128) -> Done {
    let source = read(cx, insn, 1)?[0];
    let mut env = environment(cx);
    let result = per_half(insn, [source, source >> 64], [0; 2], |a, _| f(a, &mut env));
    settle(cx, env)?;
    write(cx, insn, result);
    Ok(Flow::Next)
}

/// Lanes of 64 bits become lanes of 32: `f` makes 8 bytes of half a register.
fn narrow(cx: &mut Context, insn: &Instruction, f: impl Fn(u128, &mut Env) -> u128) -> Done {
    let source = read(cx, insn, 1)?;
    let mut env = environment(cx);
    let mut result = f(source[0], &mut env);
    if is_wide(insn, 1) {
        result |= f(source[1], &mut env) << 64;
    }
    settle(cx, env)?;
    write(cx, insn, [result, 0]);
    Ok(Flow::Next)
}
