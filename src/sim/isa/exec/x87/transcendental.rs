//! F2XM1, FYL2X, FYL2XP1, FPATAN, FSIN, FCOS, FSINCOS, FPTAN.
//!
//! Processors differ in the last bit here, so this is a definition of our own: the function is computed with 128
//! significant bits ([`Wide`]) and rounded once, as RC says and whatever PC says. At most 160 truncating operations
//! with a relative error of 2^-125 each come before the rounding, so a result is within 0.5 + 2^-50 units in the last
//! place (1 + 2^-50 for directed rounding) of the exact function.
//!
//! The trigonometric functions take multiples of half a pi of 66 significant bits from their argument, exactly, as
//! Intel's and AMD's processors do: the functions meant above have this pi's multiples as their zeros.
//!
//! Outside the documented domains: F2XM1 beyond 1 gives its operand, FYL2XP1 gives its operand up to -1 and the
//! logarithm from there on, as AMD's processors do.
use super::arithmetic::{
    both_indefinite, full_precision, invalid, note_denormal, settle, two_operands,
};
use super::stack::{C2, Class, IE, INDEFINITE, ONE, PE, UE, ZE};
use super::stack::{class, infinity, negative, quiet, signalling, zero};
use super::wide::{self, Wide};
use crate::sim::isa::softfloat::{Env, round};
use crate::sim::isa::state::{F80, X87};

/// pi/2 to 66 significant bits, in units of 2^-65.
const HALF_PI_66: u128 = 0xc_90fd_aa22_168c_234c >> 2;

/// Rounds a result that is never exact.
fn inexact(value: Wide, env: &mut Env) -> F80 {
    if value.is_zero() {
        // Only for arguments for which the series could not tell the result from zero; there are none.
        return zero(value.negative);
    }
    env.raise(PE as u8);
    // The lost rest is positive, as every operation truncates; the last bit stands for it.
    round(
        value.negative,
        value.exponent,
        value.significand | 1,
        64,
        env,
    )
}

/// Rounds a result that may be exact, but counts as inexact as the processor does not find out.
fn approximate(value: Wide, env: &mut Env) -> F80 {
    if value.is_zero() {
        return zero(value.negative);
    }
    let result = round(value.negative, value.exponent, value.significand, 64, env);
    env.raise(PE as u8);
    if class(result) == Class::Denormal {
        env.raise(UE as u8);
    }
    result
}

/// The operand that is a NaN or no number.
fn not_a_number(a: F80, env: &mut Env) -> Option<F80> {
    match class(a) {
        Class::Unsupported => Some(invalid(env)),
        Class::Nan => {
            if signalling(a) {
                env.raise(IE as u8);
            }
            Some(quiet(a))
        }
        _ => None,
    }
}

/// F2XM1.
pub(super) fn exponential(x: &mut X87) {
    super::arithmetic::unary(x, |a, env| {
        env.precision = 64;
        if let Some(nan) = not_a_number(a, env) {
            return nan;
        }
        note_denormal(env, &[a]);
        match class(a) {
            Class::Zero => a,
            Class::Infinity if negative(a) => F80 {
                sign_exponent: ONE.sign_exponent | 0x8000,
                ..ONE
            },
            Class::Infinity => a,
            _ => {
                let wide = Wide::from_f80(a);
                if wide.exponent >= 0 {
                    // Exact at 1, -1/2 at -1, and undefined beyond.
                    env.raise(PE as u8);
                    return if a.sign_exponent == 0xbfff && a.significand == ONE.significand {
                        F80 {
                            sign_exponent: 0xbffe,
                            ..ONE
                        }
                    } else {
                        a
                    };
                }
                inexact(wide::exp_minus_one(wide.mul(Wide::LN_2)), env)
            }
        }
    });
}

/// The functions of ST(0) and ST(1) that leave one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// FYL2X.
    Logarithm,
    /// FYL2XP1.
    LogarithmOnePlus,
    /// FPATAN.
    Arctangent,
}

/// FYL2X, FYL2XP1, FPATAN.
pub(super) fn binary(x: &mut X87, function: Function) {
    let mut env = full_precision(x);
    let Some((a, b, nan)) = two_operands(x, &mut env) else {
        if x.stack_fault(false) {
            x.set(1, INDEFINITE);
            x.pop();
        }
        return;
    };
    let result = nan.unwrap_or_else(|| match function {
        Function::Logarithm => logarithm(a, b, &mut env),
        Function::LogarithmOnePlus => logarithm_one_plus(a, b, &mut env),
        Function::Arctangent => arctangent(a, b, &mut env),
    });
    if settle(x, env) {
        x.set(1, result);
        x.pop();
    }
}

/// y * log2(x).
fn logarithm(x: F80, y: F80, env: &mut Env) -> F80 {
    let sign = negative(y);
    if class(x) == Class::Zero {
        return match class(y) {
            Class::Zero => invalid(env),
            Class::Infinity => infinity(!sign),
            _ => {
                env.raise(ZE as u8);
                infinity(!sign)
            }
        };
    }
    let one = x == ONE;
    if negative(x)
        || class(x) == Class::Infinity && class(y) == Class::Zero
        || one && class(y) == Class::Infinity
    {
        return invalid(env);
    }
    note_denormal(env, &[x, y]);
    if class(x) == Class::Infinity {
        return infinity(sign);
    }
    let below_one = x.sign_exponent < ONE.sign_exponent;
    match class(y) {
        Class::Infinity => infinity(sign != below_one),
        Class::Zero => zero(sign != below_one),
        _ if one => zero(sign),
        _ => {
            let log = wide::log2(Wide::from_f80(x));
            let product = log.mul(Wide::from_f80(y));
            if x.significand == 1 << 63 && class(x) == Class::Normal {
                // A power of two: the product is exact here, and its rounding is correct.
                return approximate(product, env);
            }
            inexact(product, env)
        }
    }
}

/// y * log2(1 + x).
fn logarithm_one_plus(x: F80, y: F80, env: &mut Env) -> F80 {
    let sign = negative(x) != negative(y);
    let invalid_pair = match class(x) {
        Class::Zero => class(y) == Class::Infinity,
        Class::Infinity => negative(x) || class(y) == Class::Zero,
        _ => false,
    };
    if invalid_pair {
        return invalid(env);
    }
    note_denormal(env, &[x, y]);
    if class(x) == Class::Zero || class(y) == Class::Zero {
        return zero(sign);
    }
    if class(x) == Class::Infinity || class(y) == Class::Infinity {
        return infinity(sign);
    }
    let wide = Wide::from_f80(x);
    if wide.negative && wide.exponent >= 0 {
        env.raise(PE as u8);
        return x;
    }
    inexact(wide::log2_one_plus(wide).mul(Wide::from_f80(y)), env)
}

/// The angle of the point (x, y).
fn arctangent(x: F80, y: F80, env: &mut Env) -> F80 {
    note_denormal(env, &[x, y]);
    // Only the directions matter where one of them is infinite or zero.
    let (a, b) = match (class(x), class(y)) {
        (Class::Infinity, Class::Infinity) => (unit(x), unit(y)),
        (Class::Infinity, _) => (unit(x), Wide::ZERO),
        (_, Class::Infinity) => (Wide::ZERO, unit(y)),
        (Class::Zero, Class::Zero) => (unit(x), Wide::ZERO),
        _ => (Wide::from_f80(x), Wide::from_f80(y)),
    };
    if b.is_zero() && !a.negative {
        return zero(negative(y));
    }
    let angle = Wide {
        negative: negative(y),
        ..wide::atan2(b, a)
    };
    inexact(angle, env)
}

/// One, with the sign of `x`.
fn unit(x: F80) -> Wide {
    Wide {
        negative: negative(x),
        ..Wide::ONE
    }
}

/// What the trigonometric instructions leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigonometric {
    /// FSIN.
    Sine,
    /// FCOS.
    Cosine,
    /// FSINCOS: the sine, and the cosine pushed.
    Both,
    /// FPTAN: the tangent, and 1 pushed.
    Tangent,
}

/// FSIN, FCOS, FSINCOS, FPTAN. From 2^63 on C2 is set and nothing else happens.
pub(super) fn trigonometric(x: &mut X87, function: Trigonometric) {
    use Trigonometric::{Both, Cosine, Sine, Tangent};
    let pushes = matches!(function, Both | Tangent);
    x.set_conditions(C2, 0);
    if pushes && (x.empty(0) || !x.empty(7)) {
        let overflow = !x.empty(0);
        return both_indefinite(x, overflow);
    }
    if x.empty(0) {
        if x.stack_fault(false) {
            x.set(0, INDEFINITE);
        }
        return;
    }
    let mut env = full_precision(x);
    let a = x.st(0);
    let (first, second) = if let Some(nan) = not_a_number(a, &mut env) {
        (nan, nan)
    } else if class(a) == Class::Infinity {
        (invalid(&mut env), INDEFINITE)
    } else if class(a) == Class::Zero {
        match function {
            Cosine => (ONE, ONE),
            Sine | Both | Tangent => (a, ONE),
        }
    } else {
        if a.sign_exponent & 0x7fff >= 16383 + 63 {
            x.raise(0, false);
            x.set_conditions(C2, C2);
            return;
        }
        note_denormal(&mut env, &[a]);
        let (sine, cosine) = sin_cos(Wide::from_f80(a));
        match function {
            Sine => (inexact(sine, &mut env), ONE),
            Cosine => (inexact(cosine, &mut env), ONE),
            Both => {
                // C1 and the exceptions are those of both, the cosine coming first.
                let cosine = inexact(cosine, &mut env);
                (inexact(sine, &mut env), cosine)
            }
            Tangent => (inexact(sine.div(cosine), &mut env), ONE),
        }
    };
    if settle(x, env) {
        x.set(0, first);
        if pushes {
            x.push(second);
        }
    }
}

/// The sine and the cosine of a number below 2^63.
fn sin_cos(x: Wide) -> (Wide, Wide) {
    let (quadrant, rest) = reduce(x);
    let (sine, cosine) = wide::sin_cos(rest);
    let (sine, cosine) = match quadrant & 3 {
        0 => (sine, cosine),
        1 => (cosine, sine.negate()),
        2 => (sine.negate(), cosine.negate()),
        _ => (cosine.negate(), sine),
    };
    if x.negative {
        (sine.negate(), cosine)
    } else {
        (sine, cosine)
    }
}

/// Takes multiples of pi/2 from |x|, exactly: their number modulo 4, and the rest between -pi/4 and pi/4.
fn reduce(x: Wide) -> (u8, Wide) {
    let x = x.abs();
    // x = significand * 2^(exponent - 63) with a 64-bit significand, and the unit of pi/2 is 2^-65.
    let Ok(shift) = u32::try_from(x.exponent + 2) else {
        return (0, x);
    };
    let (mut quadrant, mut rest) = (0u8, x.significand >> 64);
    for _ in 0..shift {
        rest <<= 1;
        quadrant = quadrant.wrapping_mul(2);
        if rest >= HALF_PI_66 {
            rest -= HALF_PI_66;
            quadrant = quadrant.wrapping_add(1);
        }
    }
    let beyond = 2 * rest > HALF_PI_66;
    if beyond {
        rest = HALF_PI_66 - rest;
        quadrant = quadrant.wrapping_add(1);
    }
    (quadrant, Wide::new(beyond, 127 - 65, rest))
}
