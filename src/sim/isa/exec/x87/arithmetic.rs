//! Sums, products, quotients, comparisons, and the operations on one or two registers that are exact or correctly
//! rounded.
use super::stack::{C0, C1, C2, C3, Class, INDEFINITE, class, infinity, negative, quiet, zero};
use super::stack::{DE, IE, ONE, PE, ZE, signalling};
use crate::sim::isa::flags::{CF, Flags, PF, STATUS, ZF};
use crate::sim::isa::softfloat::compare::Relation;
use crate::sim::isa::softfloat::{Env, Format, Parts, arithmetic, extended, round};
use crate::sim::isa::state::{F80, X87};

/// The operations of the eight-fold encoding, apart from the comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// destination + source
    Add,
    /// destination * source
    Multiply,
    /// destination - source
    Subtract,
    /// source - destination
    SubtractReverse,
    /// destination / source
    Divide,
    /// source / destination
    DivideReverse,
}

/// The other operand of a sum or a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// ST(i).
    Stack(u8),
    /// From memory, in whatever format.
    Memory(Parts),
}

impl Source {
    /// An integer.
    pub(super) fn integer(value: i64) -> Self {
        Self::Memory(extended::f80_from_i64(value, &mut Env::default()).unpack())
    }

    /// `None` for an empty register.
    fn get(self, x: &X87) -> Option<Parts> {
        match self {
            Self::Stack(i) if x.empty(i) => None,
            Self::Stack(i) => Some(x.st(i).unpack()),
            Self::Memory(parts) => Some(parts),
        }
    }
}

/// The environment that the control word describes.
pub(super) fn environment(x: &X87) -> Env {
    Env::from_x87_control(x.control)
}

/// The same for operations that ignore precision control.
pub(super) fn full_precision(x: &X87) -> Env {
    Env {
        precision: 64,
        ..environment(x)
    }
}

/// Enters flags and C1. Whether the result counts: an unmasked IE, DE or ZE keeps it from being written.
pub(super) fn settle(x: &mut X87, mut env: Env) -> bool {
    let stopped = env.stopped_before_result();
    x.raise(env.flags.into(), env.rounded_up && !stopped);
    !stopped
}

/// Both operands or a stack underflow, whose masked response goes to ST(`target`).
fn underflow(x: &mut X87, target: u8, pops: u8) {
    if x.stack_fault(false) {
        x.set(target, INDEFINITE);
        (0..pops).for_each(|_| x.pop());
    }
}

/// FADD to FDIVR: ST(target) becomes the result.
pub(super) fn binary(x: &mut X87, operation: Operation, target: u8, source: Source, pop: bool) {
    use arithmetic::Binary::{Add, Div, Mul, Sub};
    let pops = u8::from(pop);
    let (Some(a), Some(b)) = (Source::Stack(target).get(x), source.get(x)) else {
        return underflow(x, target, pops);
    };
    let (operation, a, b) = match operation {
        Operation::Add => (Add, a, b),
        Operation::Multiply => (Mul, a, b),
        Operation::Subtract => (Sub, a, b),
        Operation::SubtractReverse => (Sub, b, a),
        Operation::Divide => (Div, a, b),
        Operation::DivideReverse => (Div, b, a),
    };
    let mut env = environment(x);
    let result = extended::f80_binary(operation, a, b, &mut env);
    if settle(x, env) {
        x.set(target, result);
        (0..pops).for_each(|_| x.pop());
    }
}

/// An operation on ST(0) alone.
pub(super) fn unary(x: &mut X87, compute: impl FnOnce(F80, &mut Env) -> F80) {
    if x.empty(0) {
        return underflow(x, 0, 0);
    }
    let mut env = environment(x);
    let result = compute(x.st(0), &mut env);
    if settle(x, env) {
        x.set(0, result);
    }
}

/// FABS and FCHS: bit operations that raise nothing but a stack fault.
pub(super) fn sign(x: &mut X87, change: impl FnOnce(u16) -> u16) {
    unary(x, |a, _| F80 {
        sign_exponent: change(a.sign_exponent),
        ..a
    });
}

/// Compares ST(0); and whether the instruction goes on. C1 is changed by a stack fault only.
fn relation(x: &mut X87, source: Source, signaling: bool) -> (Relation, bool) {
    let (Some(a), Some(b)) = (Source::Stack(0).get(x), source.get(x)) else {
        let masked = x.stack_fault(false);
        return (Relation::Unordered, masked);
    };
    let mut env = environment(x);
    env.rounded_up = x.status & C1 != 0;
    let relation = extended::f80_compare_parts(a, b, signaling, &mut env);
    let flags = u16::from(env.flags);
    x.raise(flags, env.rounded_up);
    (relation, !x.unmasked(flags))
}

/// FCOM, FUCOM, FICOM, FTST and their popping forms. The condition codes are set even where an unmasked exception
/// keeps the stack from being popped.
pub(super) fn compare(x: &mut X87, source: Source, signaling: bool, pops: u8) {
    let (relation, go_on) = relation(x, source, signaling);
    x.set_conditions(C1, 0);
    let bits = match relation {
        Relation::Greater => 0,
        Relation::Less => C0,
        Relation::Equal => C3,
        Relation::Unordered => C0 | C2 | C3,
    };
    x.set_conditions(C0 | C2 | C3, bits);
    if go_on {
        (0..pops).for_each(|_| x.pop());
    }
}

/// FCOMI, FUCOMI: the same into RFLAGS.
pub(super) fn compare_flags(
    x: &mut X87,
    flags: &mut Flags,
    source: Source,
    signaling: bool,
    pops: u8,
) {
    let (relation, go_on) = relation(x, source, signaling);
    flags.merge_status(
        STATUS,
        match relation {
            Relation::Greater => 0,
            Relation::Less => CF,
            Relation::Equal => ZF,
            Relation::Unordered => ZF | PF | CF,
        },
    );
    if go_on {
        (0..pops).for_each(|_| x.pop());
    }
}

/// FTST.
pub(super) fn test(x: &mut X87) {
    compare(x, Source::Memory(zero(false).unpack()), true, 0);
}

/// FXAM: classifies ST(0) without exceptions.
pub(super) fn examine(x: &mut X87) {
    let value = x.st(0);
    let bits = if x.empty(0) {
        C3 | C0
    } else {
        match class(value) {
            Class::Unsupported => 0,
            Class::Nan => C0,
            Class::Normal => C2,
            Class::Infinity => C2 | C0,
            Class::Zero => C3,
            Class::Denormal => C3 | C2,
        }
    };
    let sign = if negative(value) { C1 } else { 0 };
    x.set_conditions(C0 | C1 | C2 | C3, bits | sign);
}

/// FCMOVcc: both registers must be full whether or not the condition holds.
pub(super) fn conditional_move(x: &mut X87, source: u8, holds: bool) {
    if x.empty(0) || x.empty(source) {
        return underflow(x, 0, 0);
    }
    if holds {
        let value = x.st(source);
        x.set(0, value);
    }
}

/// FXCH: empty registers are filled with the masked response before they are exchanged.
pub(super) fn exchange(x: &mut X87, i: u8) {
    x.raise(0, false);
    if (x.empty(0) || x.empty(i)) && !x.stack_fault(false) {
        return;
    }
    let get = |j| if x.empty(j) { INDEFINITE } else { x.st(j) };
    let (a, b) = (get(0), get(i));
    x.set(0, b);
    x.set(i, a);
}

/// The common special cases of operations on two registers: a stack fault (`Err`), or a NaN for an operand that is
/// not a number, whose flags are in `env`.
pub(super) fn two_operands(x: &X87, env: &mut Env) -> Option<(F80, F80, Option<F80>)> {
    if x.empty(0) || x.empty(1) {
        return None;
    }
    let (a, b) = (x.st(0), x.st(1));
    let number = |v| !matches!(class(v), Class::Nan | Class::Unsupported);
    if number(a) && number(b) {
        return Some((a, b, None));
    }
    // A sum chooses among NaNs as every operation does.
    let nan = extended::f80_add(a, b, env);
    Some((a, b, Some(nan)))
}

/// The invalid operation.
pub(super) fn invalid(env: &mut Env) -> F80 {
    env.raise(IE as u8);
    INDEFINITE
}

/// DE if one of the operands is denormal.
pub(super) fn note_denormal(env: &mut Env, operands: &[F80]) {
    if operands.iter().any(|v| class(*v) == Class::Denormal) {
        env.raise(DE as u8);
    }
}

/// FSCALE: ST(0) times two to the truncated ST(1).
pub(super) fn scale(x: &mut X87) {
    let mut env = full_precision(x);
    let Some((a, b, nan)) = two_operands(x, &mut env) else {
        return underflow(x, 0, 0);
    };
    let result = nan.unwrap_or_else(|| scaled(a, b, &mut env));
    if settle(x, env) {
        x.set(0, result);
    }
}

fn scaled(a: F80, b: F80, env: &mut Env) -> F80 {
    let invalid_pair = match class(b) {
        Class::Infinity if negative(b) => class(a) == Class::Infinity,
        Class::Infinity => class(a) == Class::Zero,
        _ => false,
    };
    if invalid_pair {
        return invalid(env);
    }
    note_denormal(env, &[a, b]);
    match (class(a), class(b)) {
        (Class::Zero | Class::Infinity, _) => a,
        (_, Class::Infinity) if negative(b) => zero(negative(a)),
        (_, Class::Infinity) => infinity(negative(a)),
        _ => {
            // Beyond this the result overflows or underflows all the way, whatever ST(0) is.
            const LIMIT: u64 = 1 << 20;
            let exponent = i32::from(b.sign_exponent & 0x7fff) - 16383;
            let magnitude = match exponent {
                ..0 => 0,
                0..=63 => (b.significand >> (63 - exponent)).min(LIMIT),
                _ => LIMIT,
            } as i32;
            let by = if negative(b) { -magnitude } else { magnitude };
            // By zero too: a pseudo-denormal becomes the normal number that it is.
            let parts = a.unpack();
            let significand = u128::from(parts.significand) << 64;
            let result = round(parts.sign, parts.exponent + by, significand, 64, env);
            // Where not even the wrapped exponent of an unmasked overflow or underflow fits, the result is inexact.
            match class(result) {
                Class::Zero => env.raise(PE as u8),
                Class::Infinity => {
                    env.raise(PE as u8);
                    env.rounded_up = true;
                }
                _ => {}
            }
            result
        }
    }
}

/// FPREM and FPREM1. Where the exponents are 64 or more apart, one step takes off between 32 and 63 bits, as the
/// processors of AMD do it, and C2 asks for another.
pub(super) fn remainder(x: &mut X87, to_nearest: bool) {
    let mut env = full_precision(x);
    let Some((a, b, nan)) = two_operands(x, &mut env) else {
        x.set_conditions(C2, 0);
        return underflow(x, 0, 0);
    };
    let outcome = match nan {
        Some(nan) => (nan, None),
        None => divided(a, b, to_nearest, &mut env),
    };
    x.set_conditions(C1 | C2, 0);
    if settle(x, env) {
        x.set(0, outcome.0);
        if let Some(bits) = outcome.1 {
            x.set_conditions(C0 | C1 | C2 | C3, bits);
        }
    }
}

/// The remainder, and the condition codes if the operation was valid.
fn divided(a: F80, b: F80, to_nearest: bool, env: &mut Env) -> (F80, Option<u16>) {
    if class(a) == Class::Infinity || class(b) == Class::Zero {
        return (invalid(env), None);
    }
    note_denormal(env, &[a, b]);
    if class(a) == Class::Zero {
        return (a, Some(0));
    }
    let (p, q) = (a.unpack(), b.unpack());
    let (distance, small) = if class(b) == Class::Infinity {
        (-2, true)
    } else {
        let distance = p.exponent - q.exponent;
        (distance, distance < if to_nearest { -1 } else { 0 })
    };
    if small {
        let whole = round(p.sign, p.exponent, u128::from(p.significand) << 64, 64, env);
        return (whole, Some(0));
    }
    let divisor = u128::from(q.significand);
    let whole = distance < 64;
    let bits = if whole {
        distance.max(0)
    } else {
        distance & 31 | 32
    };
    // The unit of the rest is that of the divisor, or of the smaller dividend if the exponent is one less.
    let (dividend, divisor, unit) = if distance < 0 {
        (u128::from(p.significand), divisor << 1, p.exponent)
    } else {
        (
            u128::from(p.significand) << bits,
            divisor,
            p.exponent - bits,
        )
    };
    let (mut quotient, mut rest) = (dividend / divisor, dividend % divisor);
    let mut sign = p.sign;
    if to_nearest && whole && (2 * rest > divisor || 2 * rest == divisor && quotient & 1 != 0) {
        rest = divisor - rest;
        quotient += 1;
        sign = !sign;
    }
    let codes = if whole {
        let bit = |n: u32, code| if quotient >> n & 1 != 0 { code } else { 0 };
        bit(0, C1) | bit(1, C3) | bit(2, C0)
    } else {
        C2
    };
    let result = if rest == 0 {
        zero(p.sign)
    } else {
        let shift = rest.leading_zeros();
        // `rest` counts units of 2^(unit - 63).
        round(sign, unit + 64 - shift as i32, rest << shift, 64, env)
    };
    (result, Some(codes))
}

/// FXTRACT: the exponent stays, the significand is pushed.
pub(super) fn extract(x: &mut X87) {
    if x.empty(0) || !x.empty(7) {
        let overflow = !x.empty(0);
        return both_indefinite(x, overflow);
    }
    let mut env = full_precision(x);
    let a = x.st(0);
    let (exponent, significand) = match class(a) {
        Class::Unsupported => (invalid(&mut env), INDEFINITE),
        Class::Nan => {
            if signalling(a) {
                env.raise(IE as u8);
            }
            (quiet(a), quiet(a))
        }
        Class::Infinity => (infinity(false), a),
        Class::Zero => {
            env.raise(ZE as u8);
            (infinity(true), a)
        }
        Class::Normal | Class::Denormal => {
            note_denormal(&mut env, &[a]);
            let parts = a.unpack();
            let exponent = extended::f80_from_i64(parts.exponent.into(), &mut Env::default());
            let significand = F80 {
                sign_exponent: ONE.sign_exponent | u16::from(parts.sign) << 15,
                significand: parts.significand,
            };
            (exponent, significand)
        }
    };
    if settle(x, env) {
        x.set(0, exponent);
        x.push(significand);
    }
}

/// The stack fault of an operation with two results.
pub(super) fn both_indefinite(x: &mut X87, overflow: bool) {
    if x.stack_fault(overflow) {
        x.set(0, INDEFINITE);
        x.push(INDEFINITE);
    }
}
