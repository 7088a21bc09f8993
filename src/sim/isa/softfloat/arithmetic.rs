//! Sum, difference, product, quotient, root and fused multiply-add.
//!
//! Each operation has a form on [`Parts`], so that the x87 unit can mix formats (`fadd m32`) without a conversion that
//! would quieten a NaN or lose the denormal mark before its time.
use super::{
    Class, Env, Format, IE, Parts, Rounding, ZE, invalid, note_denormal, operand, precision,
    propagate, round, shift_right_sticky,
};

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
    /// a / b
    Div,
}

/// Computes `a op b` in the format `F`.
#[inline]
pub fn binary<F: Format>(op: Binary, a: F, b: F, env: &mut Env) -> F {
    binary_parts(op, operand(a, env), operand(b, env), env)
}

/// a + b
#[inline]
pub fn add<F: Format>(a: F, b: F, env: &mut Env) -> F {
    binary(Binary::Add, a, b, env)
}

/// a - b
#[inline]
pub fn sub<F: Format>(a: F, b: F, env: &mut Env) -> F {
    binary(Binary::Sub, a, b, env)
}

/// a * b
#[inline]
pub fn mul<F: Format>(a: F, b: F, env: &mut Env) -> F {
    binary(Binary::Mul, a, b, env)
}

/// a / b
#[inline]
pub fn div<F: Format>(a: F, b: F, env: &mut Env) -> F {
    binary(Binary::Div, a, b, env)
}

/// Computes `a op b` for operands of any format, rounding to the format `F`.
#[inline]
pub fn binary_parts<F: Format>(op: Binary, a: Parts, b: Parts, env: &mut Env) -> F {
    if let Some(nan) = propagate(&a, &b, env) {
        return nan;
    }
    match op {
        Binary::Add => add_parts(a, b, env),
        Binary::Sub => add_parts(a, Parts { sign: !b.sign, ..b }, env),
        Binary::Mul => mul_parts(a, b, env),
        Binary::Div => div_parts(a, b, env),
    }
}

/// The sign of an exact zero that is the sum of numbers with different signs.
fn sign_of_cancellation(env: &Env) -> bool {
    env.rounding == Rounding::Down
}

fn add_parts<F: Format>(a: Parts, b: Parts, env: &mut Env) -> F {
    if a.class == Class::Infinity && b.class == Class::Infinity && a.sign != b.sign {
        return invalid(env);
    }
    note_denormal(&[&a, &b], env);
    env.rounded_up = false;
    if a.class == Class::Infinity || b.class == Class::Infinity {
        return F::infinity(if a.class == Class::Infinity {
            a.sign
        } else {
            b.sign
        });
    }
    let (a, b) = match (a.class, b.class) {
        (Class::Zero, Class::Zero) if a.sign == b.sign => return F::zero(a.sign),
        (Class::Zero, Class::Zero) => return F::zero(sign_of_cancellation(env)),
        // A zero changes nothing, but the other still has to be rounded (x87 precision control, FTZ).
        (Class::Zero, _) => {
            return round_sum(b.sign, b.exponent, u128::from(b.significand) << 63, env);
        }
        (_, Class::Zero) => {
            return round_sum(a.sign, a.exponent, u128::from(a.significand) << 63, env);
        }
        _ if (a.exponent, a.significand) >= (b.exponent, b.significand) => (a, b),
        _ => (b, a),
    };
    // One bit of room above for the carry, 63 bits below: far more than the two that the sticky bit needs.
    let large = u128::from(a.significand) << 63;
    let small = shift_right_sticky(
        u128::from(b.significand) << 63,
        (a.exponent - b.exponent) as u32,
    );
    let sum = if a.sign == b.sign {
        large + small
    } else {
        large - small
    };
    if sum == 0 {
        return F::zero(sign_of_cancellation(env));
    }
    round_sum(a.sign, a.exponent, sum, env)
}

/// Rounds a sum whose point stands behind bit 126.
fn round_sum<F: Format>(sign: bool, exponent: i32, sum: u128, env: &mut Env) -> F {
    let shift = sum.leading_zeros();
    round(
        sign,
        exponent + 1 - shift as i32,
        sum << shift,
        precision::<F>(env),
        env,
    )
}

fn mul_parts<F: Format>(a: Parts, b: Parts, env: &mut Env) -> F {
    let sign = a.sign != b.sign;
    let infinite = a.class == Class::Infinity || b.class == Class::Infinity;
    let zero = a.class == Class::Zero || b.class == Class::Zero;
    if infinite && zero {
        return invalid(env);
    }
    note_denormal(&[&a, &b], env);
    env.rounded_up = false;
    if infinite {
        return F::infinity(sign);
    }
    if zero {
        return F::zero(sign);
    }
    let product = u128::from(a.significand) * u128::from(b.significand);
    let shift = product.leading_zeros();
    let exponent = a.exponent + b.exponent + 1 - shift as i32;
    round(sign, exponent, product << shift, precision::<F>(env), env)
}

fn div_parts<F: Format>(a: Parts, b: Parts, env: &mut Env) -> F {
    let sign = a.sign != b.sign;
    if a.class == b.class && matches!(a.class, Class::Infinity | Class::Zero) {
        return invalid(env);
    }
    env.rounded_up = false;
    if b.class == Class::Zero && a.class == Class::Finite {
        env.raise(ZE);
        return F::infinity(sign);
    }
    note_denormal(&[&a, &b], env);
    if a.class == Class::Infinity {
        return F::infinity(sign);
    }
    if a.class == Class::Zero || b.class == Class::Infinity {
        return F::zero(sign);
    }
    let divisor = u128::from(b.significand);
    // Shifted so that the quotient has exactly 64 bits; one more bit and a sticky bit come from the remainder.
    let below_one = a.significand < b.significand;
    let dividend = u128::from(a.significand) << if below_one { 64 } else { 63 };
    let (quotient, remainder) = (dividend / divisor, dividend % divisor);
    let guard = 2 * remainder >= divisor;
    let rest = 2 * remainder - if guard { divisor } else { 0 };
    let significand = quotient << 64 | u128::from(guard) << 63 | u128::from(rest != 0);
    let exponent = a.exponent - b.exponent - i32::from(below_one);
    round(sign, exponent, significand, precision::<F>(env), env)
}

/// The square root.
#[inline]
pub fn sqrt<F: Format>(a: F, env: &mut Env) -> F {
    sqrt_parts(operand(a, env), env)
}

/// The square root of a number of any format, rounded to the format `F`.
pub fn sqrt_parts<F: Format>(a: Parts, env: &mut Env) -> F {
    if let Some(nan) = propagate(&a, &a, env) {
        return nan;
    }
    if a.sign && a.class != Class::Zero {
        return invalid(env);
    }
    note_denormal(&[&a], env);
    env.rounded_up = false;
    match a.class {
        Class::Zero => return F::zero(a.sign),
        Class::Infinity => return F::infinity(false),
        _ => {}
    }
    // The root of a number in [2^126, 2^128) has 64 bits; halving the exponent needs it even.
    let odd = a.exponent & 1;
    let radicand = u128::from(a.significand) << (63 + odd);
    let root = radicand.isqrt();
    let remainder = radicand - root * root;
    // The exact root lies above root + 1/2 if and only if the remainder exceeds root; it is never equal to it.
    let significand = root << 64 | u128::from(remainder > root) << 63 | u128::from(remainder != 0);
    round(
        false,
        (a.exponent - odd) / 2,
        significand,
        precision::<F>(env),
        env,
    )
}

/// a * b + c with one rounding, for formats of at most 53 bits (there is no 80-bit form).
///
/// The first NaN in the order a, b, c is chosen. With the operands 1, 2, 3 of the instruction, the form 132 is
/// (1, 3, 2), 213 is (2, 1, 3) and 231 is (2, 3, 1).
pub fn fused_multiply_add<F: Format>(a: F, b: F, c: F, env: &mut Env) -> F {
    const { assert!(F::PRECISION <= 53) };
    let (a, b, c) = (operand(a, env), operand(b, env), operand(c, env));
    if a.is_nan() || b.is_nan() || c.is_nan() {
        if [a, b, c].iter().any(|p| p.class == Class::SignalingNan) {
            env.raise(IE);
        }
        let chosen = if a.is_nan() {
            a
        } else if b.is_nan() {
            b
        } else {
            c
        };
        return F::nan(&chosen);
    }
    let sign = a.sign != b.sign;
    let infinite = a.class == Class::Infinity || b.class == Class::Infinity;
    let zero = a.class == Class::Zero || b.class == Class::Zero;
    if infinite && (zero || c.class == Class::Infinity && c.sign != sign) {
        return invalid(env);
    }
    note_denormal(&[&a, &b, &c], env);
    env.rounded_up = false;
    if infinite {
        return F::infinity(sign);
    }
    if c.class == Class::Infinity {
        return F::infinity(c.sign);
    }
    if zero {
        if c.class == Class::Zero {
            return F::zero(if sign == c.sign {
                sign
            } else {
                sign_of_cancellation(env)
            });
        }
        return round(
            c.sign,
            c.exponent,
            u128::from(c.significand) << 64,
            F::PRECISION,
            env,
        );
    }
    let product = u128::from(a.significand) * u128::from(b.significand);
    let shift = product.leading_zeros();
    let exponent = a.exponent + b.exponent + 1 - shift as i32;
    let product = product << shift;
    if c.class == Class::Zero {
        return round(sign, exponent, product, F::PRECISION, env);
    }
    // At most 106 significant bits: one position lower is still exact and leaves room for the carry.
    let addend = u128::from(c.significand) << 63;
    let product = product >> 1;
    let product_larger = (exponent, product) >= (c.exponent, addend);
    let (top, large, low, small, sign_large, sign_small) = if product_larger {
        (exponent, product, c.exponent, addend, sign, c.sign)
    } else {
        (c.exponent, addend, exponent, product, c.sign, sign)
    };
    let small = shift_right_sticky(small, (top - low) as u32);
    let sum = if sign_large == sign_small {
        large + small
    } else {
        large - small
    };
    if sum == 0 {
        return F::zero(sign_of_cancellation(env));
    }
    round_sum(sign_large, top, sum, env)
}
