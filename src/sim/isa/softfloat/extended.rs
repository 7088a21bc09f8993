//! The 80-bit operations by the names that the x87 unit uses.
//!
//! Operands from memory: `fadd m32` and its like take the operand apart in its own format and compute with
//! [`f80_binary`] or [`f80_compare_parts`], so that NaNs and denormals keep their marks; `fld m32` converts with
//! [`f80_from_f32`].
use super::arithmetic::{self, Binary};
use super::compare::{self, Relation};
use super::{Env, F32, F64, Format, OE, PE, Parts, Rounding, UE, convert};
use crate::sim::isa::state::F80;

/// a + b
pub fn f80_add(a: F80, b: F80, env: &mut Env) -> F80 {
    arithmetic::add(a, b, env)
}

/// a - b
pub fn f80_sub(a: F80, b: F80, env: &mut Env) -> F80 {
    arithmetic::sub(a, b, env)
}

/// a * b
pub fn f80_mul(a: F80, b: F80, env: &mut Env) -> F80 {
    arithmetic::mul(a, b, env)
}

/// a / b
pub fn f80_div(a: F80, b: F80, env: &mut Env) -> F80 {
    arithmetic::div(a, b, env)
}

/// `a op b` for operands of any format, taken apart by [`super::Format::unpack`].
pub fn f80_binary(op: Binary, a: Parts, b: Parts, env: &mut Env) -> F80 {
    arithmetic::binary_parts(op, a, b, env)
}

/// The square root.
pub fn f80_sqrt(a: F80, env: &mut Env) -> F80 {
    arithmetic::sqrt(a, env)
}

/// Compares; IE for signaling NaNs and unsupported patterns, and with `signaling` (FCOM, FCOMI) for quiet NaNs too.
pub fn f80_compare(a: F80, b: F80, signaling: bool, env: &mut Env) -> Relation {
    compare::compare(a, b, signaling, env)
}

/// [`f80_compare`] for operands of any format.
pub fn f80_compare_parts(a: Parts, b: Parts, signaling: bool, env: &mut Env) -> Relation {
    compare::compare_parts(a, b, signaling, env)
}

/// FRNDINT.
pub fn f80_round_to_int(a: F80, env: &mut Env) -> F80 {
    convert::round_to_integral(a, env.rounding, false, true, env)
}

/// FLD m32: exact; a signaling NaN is quietened with IE, a denormal raises DE.
pub fn f80_from_f32(bits: u32, env: &mut Env) -> F80 {
    convert::convert(F32(bits), true, env)
}

/// FLD m64: exact; a signaling NaN is quietened with IE, a denormal raises DE.
pub fn f80_from_f64(bits: u64, env: &mut Env) -> F80 {
    convert::convert(F64(bits), true, env)
}

/// A store as a shorter format. Unlike arithmetic, a store that an unmasked overflow or underflow keeps from happening
/// reports no inexact result.
fn shorten<F: Format>(a: F80, env: &mut Env) -> F {
    let before = env.flags;
    env.flags = 0;
    let result = convert::convert(a, false, env);
    if env.unmasked() & (OE | UE) != 0 {
        env.flags &= !PE;
        env.rounded_up = false;
    }
    env.flags |= before;
    result
}

/// FST m32. Where it leaves an unmasked exception in `env`, nothing may be stored.
pub fn f80_to_f32(a: F80, env: &mut Env) -> u32 {
    shorten::<F32>(a, env).0
}

/// FST m64. Where it leaves an unmasked exception in `env`, nothing may be stored.
pub fn f80_to_f64(a: F80, env: &mut Env) -> u64 {
    shorten::<F64>(a, env).0
}

/// FILD: exact for every integer.
pub fn f80_from_i64(value: i64, env: &mut Env) -> F80 {
    convert::from_integer(value, env)
}

fn direction(truncate: bool, env: &Env) -> Rounding {
    if truncate {
        Rounding::Zero
    } else {
        env.rounding
    }
}

/// FIST m16; with `truncate`, FISTTP.
pub fn f80_to_i16(a: F80, truncate: bool, env: &mut Env) -> i16 {
    convert::to_integer(a, 16, direction(truncate, env), env) as i16
}

/// FIST m32; with `truncate`, FISTTP.
pub fn f80_to_i32(a: F80, truncate: bool, env: &mut Env) -> i32 {
    convert::to_integer(a, 32, direction(truncate, env), env) as i32
}

/// FIST m64; with `truncate`, FISTTP.
pub fn f80_to_i64(a: F80, truncate: bool, env: &mut Env) -> i64 {
    convert::to_integer(a, 64, direction(truncate, env), env)
}
