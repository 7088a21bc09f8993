//! Comparison, minimum and maximum.
use super::{Class, Env, Format, IE, Parts, note_denormal, operand};
use std::cmp::Ordering;

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// a < b
    Less,
    /// a = b, also for zeros of different sign.
    Equal,
    /// a > b
    Greater,
    /// At least one is a NaN.
    Unordered,
}

/// Compares; IE for signaling NaNs, and with `signaling` for quiet ones too.
#[inline]
pub fn compare<F: Format>(a: F, b: F, signaling: bool, env: &mut Env) -> Relation {
    compare_parts(operand(a, env), operand(b, env), signaling, env)
}

/// Compares numbers of any format. Patterns that are no number count as signaling NaNs.
pub fn compare_parts(a: Parts, b: Parts, signaling: bool, env: &mut Env) -> Relation {
    let no_number = |p: &Parts| p.is_nan() || p.class == Class::Unsupported;
    if no_number(&a) || no_number(&b) {
        if signaling
            || a.class != Class::QuietNan && no_number(&a)
            || b.class != Class::QuietNan && no_number(&b)
        {
            env.raise(IE);
        }
        return Relation::Unordered;
    }
    note_denormal(&[&a, &b], env);
    // Ordered by kind (zero, finite, infinite), then by size; the sign decides first, except between zeros.
    let rank = |p: &Parts| match p.class {
        Class::Zero => (0, 0, 0),
        Class::Finite => (1, p.exponent, p.significand),
        _ => (2, 0, 0),
    };
    let magnitude = rank(&a).cmp(&rank(&b));
    let order = match (a.sign, b.sign) {
        _ if a.class == Class::Zero && b.class == Class::Zero => Ordering::Equal,
        (false, false) => magnitude,
        (true, true) => magnitude.reverse(),
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
    };
    match order {
        Ordering::Less => Relation::Less,
        Ordering::Equal => Relation::Equal,
        Ordering::Greater => Relation::Greater,
    }
}

/// The operand itself, or the zero for which DAZ takes it.
#[inline]
fn flushed<F: Format>(value: F, env: &Env) -> F {
    let parts = value.unpack();
    if parts.denormal && env.daz {
        F::zero(parts.sign)
    } else {
        value
    }
}

/// MINxx: `b` unless a < b; so `b`, bit for bit, if either is a NaN or both are zeros. IE for any NaN.
#[inline]
pub fn min<F: Format>(a: F, b: F, env: &mut Env) -> F {
    if compare(a, b, true, env) == Relation::Less {
        flushed(a, env)
    } else {
        flushed(b, env)
    }
}

/// MAXxx: `b` unless a > b; so `b`, bit for bit, if either is a NaN or both are zeros. IE for any NaN.
#[inline]
pub fn max<F: Format>(a: F, b: F, env: &mut Env) -> F {
    if compare(a, b, true, env) == Relation::Greater {
        flushed(a, env)
    } else {
        flushed(b, env)
    }
}
