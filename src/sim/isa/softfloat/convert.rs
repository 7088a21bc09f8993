//! Conversions between formats, to and from integers, and rounding to an integral value.
use super::{
    Class, Env, Format, IE, INTEGER, PE, Parts, Rounding, note_denormal, operand, propagate, round,
    rounds_away,
};

/// Converts between formats. `denormal_operand`: whether a denormal raises DE (everywhere but in x87 stores).
#[inline]
pub fn convert<A: Format, B: Format>(a: A, denormal_operand: bool, env: &mut Env) -> B {
    let a = operand(a, env);
    if let Some(nan) = propagate(&a, &a, env) {
        return nan;
    }
    if denormal_operand {
        note_denormal(&[&a], env);
    }
    env.rounded_up = false;
    match a.class {
        Class::Zero => B::zero(a.sign),
        Class::Infinity => B::infinity(a.sign),
        _ => round(
            a.sign,
            a.exponent,
            u128::from(a.significand) << 64,
            B::PRECISION,
            env,
        ),
    }
}

/// Converts a signed integer.
#[inline]
pub fn from_integer<F: Format>(value: i64, env: &mut Env) -> F {
    env.rounded_up = false;
    if value == 0 {
        return F::zero(false);
    }
    let magnitude = value.unsigned_abs();
    let shift = magnitude.leading_zeros();
    let significand = u128::from(magnitude << shift) << 64;
    round(value < 0, 63 - shift as i32, significand, F::PRECISION, env)
}

/// The magnitude of a finite number rounded to an integer.
struct Integer {
    magnitude: u64,
    inexact: bool,
    away: bool,
}

/// Rounds a finite number to an integer; `None` from 2^64 on.
#[inline]
fn round_to_integer(a: &Parts, rounding: Rounding) -> Option<Integer> {
    if a.exponent > 63 {
        return None;
    }
    // Below 2^-2 the size of the number no longer matters: more than nothing, less than one half.
    let shift = (63 - a.exponent).min(65) as u32;
    let value = u128::from(a.significand);
    let tail = value & ((1 << shift) - 1);
    let magnitude = (value >> shift) as u64;
    let half = if shift == 0 { 1 } else { 1 << (shift - 1) };
    let away = rounds_away(rounding, a.sign, magnitude & 1 != 0, tail, half);
    let (magnitude, carry) = magnitude.overflowing_add(u64::from(away));
    (!carry).then_some(Integer {
        magnitude,
        inexact: tail != 0,
        away,
    })
}

/// Converts to a signed integer of `bits` (16, 32, 64) bits. NaN and overflow give the "integer indefinite"
/// (-2^(bits - 1)) and IE. Denormals raise no DE.
#[inline]
pub fn to_integer<F: Format>(a: F, bits: u32, rounding: Rounding, env: &mut Env) -> i64 {
    let a = operand(a, env);
    let limit = 1u64 << (bits - 1);
    env.rounded_up = false;
    let rounded = match a.class {
        Class::Zero => return 0,
        Class::Finite => round_to_integer(&a, rounding),
        _ => None,
    };
    match rounded {
        Some(r) if r.magnitude < limit || a.sign && r.magnitude == limit => {
            env.rounded_up = r.away;
            if r.inexact {
                env.raise(PE);
            }
            let value = r.magnitude as i64;
            if a.sign { value.wrapping_neg() } else { value }
        }
        _ => {
            env.raise(IE);
            (limit as i64).wrapping_neg()
        }
    }
}

/// Rounds to an integral value of the same format. PE is raised if the value changes, unless `suppress_inexact`;
/// `denormal_operand`: whether a denormal raises DE (FRNDINT) or not (ROUNDxx).
#[inline]
pub fn round_to_integral<F: Format>(
    value: F,
    rounding: Rounding,
    suppress_inexact: bool,
    denormal_operand: bool,
    env: &mut Env,
) -> F {
    let a = operand(value, env);
    if let Some(nan) = propagate(&a, &a, env) {
        return nan;
    }
    if denormal_operand {
        note_denormal(&[&a], env);
    }
    env.rounded_up = false;
    match a.class {
        Class::Zero => return F::zero(a.sign),
        Class::Infinity => return value,
        _ if a.exponent >= F::PRECISION as i32 - 1 => return value,
        _ => {}
    }
    // Below 2^63, so that rounding up by one cannot leave 64 bits.
    let Some(r) = round_to_integer(&a, rounding) else {
        return value;
    };
    if r.inexact && !suppress_inexact {
        env.raise(PE);
    }
    env.rounded_up = r.away;
    if r.magnitude == 0 {
        return F::zero(a.sign);
    }
    let shift = r.magnitude.leading_zeros();
    let significand = r.magnitude << shift;
    debug_assert!(significand & INTEGER != 0);
    F::pack(
        a.sign,
        (63 - shift as i32 + F::MAX_EXPONENT) as u32,
        significand,
    )
}
