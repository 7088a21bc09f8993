//! IEEE 754 arithmetic on bits, with the exceptions, NaN rules and corner cases of x86.
//!
//! Only integers are used, so the results do not depend on the host. The files: this one holds the environment and the
//! one place that rounds; `format` takes numbers apart and puts them together; [`arithmetic`], [`compare`] and
//! [`convert`] hold the operations, generic over [`Format`]; [`extended`] names the 80-bit forms as the x87 unit needs
//! them.
//!
//! Numbers: [`F16`], [`F32`] and [`F64`] wrap bit patterns; the 80-bit format is [`F80`](super::state::F80), as it stands in a
//! register.
pub mod arithmetic;
pub mod compare;
pub mod convert;
pub mod extended;
mod format;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod host;

use format::INTEGER;
pub use format::{Class, F16, F32, F64, Format, Parts};

/// Invalid operation.
pub const IE: u8 = 1;
/// Denormal operand.
pub const DE: u8 = 2;
/// Division of a finite number by zero.
pub const ZE: u8 = 4;
/// Overflow.
pub const OE: u8 = 8;
/// Underflow.
pub const UE: u8 = 16;
/// Inexact result ("precision").
pub const PE: u8 = 32;
/// The exceptions that are found before the result is computed; unmasked, they keep it from being computed.
pub const BEFORE_RESULT: u8 = IE | DE | ZE;

/// Where a result goes that lies between two numbers. The order is that of the RC fields of MXCSR and the x87 control
/// word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, ties to even.
    #[default]
    NearestEven,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// Towards zero.
    Zero,
}

impl Rounding {
    /// The meaning of the two low bits of an RC field.
    #[inline]
    pub fn from_field(field: u32) -> Self {
        match field & 3 {
            0 => Self::NearestEven,
            1 => Self::Down,
            2 => Self::Up,
            _ => Self::Zero,
        }
    }
}

/// How to compute, and what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Env {
    /// Rounding direction.
    pub rounding: Rounding,
    /// Denormal operands count as zeros (MXCSR only).
    pub daz: bool,
    /// Tiny results become zeros while underflow is masked (MXCSR only).
    pub ftz: bool,
    /// Significant bits of 80-bit sums, products, quotients and roots: 24, 53 or 64.
    pub precision: u32,
    /// Set bits are masked exceptions, in the order of the flags.
    pub masks: u8,
    /// The exceptions that occurred ([`IE`] to [`PE`]); sticky.
    pub flags: u8,
    /// The last operation that rounds made the magnitude larger (C1 of the x87 status word).
    pub rounded_up: bool,
}

impl Default for Env {
    fn default() -> Self {
        Self {
            rounding: Rounding::NearestEven,
            daz: false,
            ftz: false,
            precision: 64,
            masks: 0x3f,
            flags: 0,
            rounded_up: false,
        }
    }
}

impl Env {
    /// The environment that MXCSR describes, without flags.
    #[inline]
    pub fn from_mxcsr(mxcsr: u32) -> Self {
        Self {
            rounding: Rounding::from_field(mxcsr >> 13),
            daz: mxcsr & 1 << 6 != 0,
            ftz: mxcsr & 1 << 15 != 0,
            masks: (mxcsr >> 7) as u8 & 0x3f,
            ..Self::default()
        }
    }

    /// The environment that an x87 control word describes, without flags. The reserved precision 01 counts as 64 bits.
    #[inline]
    pub fn from_x87_control(control: u16) -> Self {
        Self {
            rounding: Rounding::from_field(u32::from(control) >> 10),
            precision: match control >> 8 & 3 {
                0 => 24,
                2 => 53,
                _ => 64,
            },
            masks: control as u8 & 0x3f,
            ..Self::default()
        }
    }

    /// Raises exceptions.
    #[inline]
    pub fn raise(&mut self, flags: u8) {
        self.flags |= flags;
    }

    /// The exceptions that occurred and are not masked.
    #[inline]
    pub fn unmasked(&self) -> u8 {
        self.flags & !self.masks
    }

    /// Whether an unmasked exception keeps the result from being computed. If so, what only the computation
    /// could have told (other flags, `rounded_up`) is taken back.
    #[inline]
    pub fn stopped_before_result(&mut self) -> bool {
        let stopped = self.unmasked() & BEFORE_RESULT != 0;
        if stopped {
            self.flags &= BEFORE_RESULT;
            self.rounded_up = false;
        }
        stopped
    }
}

/// Takes an operand apart; with DAZ, denormals are zeros.
#[inline]
pub fn operand<F: Format>(value: F, env: &Env) -> Parts {
    let parts = value.unpack();
    if parts.denormal && env.daz {
        Parts::zero(parts.sign)
    } else {
        parts
    }
}

/// Raises DE if one of the operands is denormal. To be called where no operand is a NaN and the operation is valid, as
/// those conditions go before DE and hide it.
#[inline]
fn note_denormal(operands: &[&Parts], env: &mut Env) {
    if operands.iter().any(|p| p.denormal) {
        env.raise(DE);
    }
}

/// The result where an operand is a NaN or no number at all; raises IE as its kind demands.
#[inline]
fn propagate<F: Format>(a: &Parts, b: &Parts, env: &mut Env) -> Option<F> {
    if matches!(a.class, Class::Zero | Class::Finite | Class::Infinity)
        && matches!(b.class, Class::Zero | Class::Finite | Class::Infinity)
    {
        return None;
    }
    env.rounded_up = false;
    if a.class == Class::Unsupported || b.class == Class::Unsupported {
        env.raise(IE);
        return Some(F::indefinite());
    }
    if a.class == Class::SignalingNan || b.class == Class::SignalingNan {
        env.raise(IE);
    }
    let first = if !b.is_nan() {
        true
    } else if !a.is_nan() {
        false
    } else if !F::X87 {
        true
    } else if a.significand != b.significand {
        // So a quiet one goes before a signaling one.
        a.significand > b.significand
    } else {
        !a.sign
    };
    Some(F::nan(if first { a } else { b }))
}

/// The invalid operation: IE and the default NaN.
#[inline]
fn invalid<F: Format>(env: &mut Env) -> F {
    env.raise(IE);
    env.rounded_up = false;
    F::indefinite()
}

/// Shifts right; bits that fall out leave a one in the lowest bit.
#[inline]
fn shift_right_sticky(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..=127 => value >> by | u128::from(value << (128 - by) != 0),
        _ => u128::from(value != 0),
    }
}

/// Whether to round away from zero, for a discarded `tail` of which `half` is one half of the last place.
#[inline]
fn rounds_away(rounding: Rounding, sign: bool, odd: bool, tail: u128, half: u128) -> bool {
    match rounding {
        Rounding::NearestEven => tail > half || tail == half && odd,
        Rounding::Down => sign && tail != 0,
        Rounding::Up => !sign && tail != 0,
        Rounding::Zero => false,
    }
}

/// A significand rounded to some precision.
struct Rounded {
    significand: u64,
    /// The significand became 2.0 and was halved.
    carry: bool,
    inexact: bool,
    away: bool,
}

/// Rounds a significand with its point behind bit 127 to `precision` bits behind that point.
#[inline]
fn round_significand(sign: bool, significand: u128, precision: u32, rounding: Rounding) -> Rounded {
    let unit = 1u64 << (64 - precision);
    let high = (significand >> 64) as u64;
    let tail = significand & ((1u128 << (128 - precision)) - 1);
    let away = rounds_away(
        rounding,
        sign,
        high & unit != 0,
        tail,
        1u128 << (127 - precision),
    );
    let truncated = high & !(unit - 1);
    let (sum, carry) = truncated.overflowing_add(if away { unit } else { 0 });
    Rounded {
        significand: if carry { INTEGER } else { sum },
        carry,
        inexact: tail != 0,
        away,
    }
}

/// By how much the x87 unit moves the exponent of a result whose overflow or underflow is unmasked.
const WRAP: i32 = 24576;

/// Rounds the nonzero number `significand * 2^(exponent - 127)`, bit 127 set, to a format: the only place where OE, UE
/// and PE of a floating-point result arise. `precision` may be below that of the format (x87 precision control).
#[inline]
pub(crate) fn round<F: Format>(
    sign: bool,
    exponent: i32,
    significand: u128,
    precision: u32,
    env: &mut Env,
) -> F {
    let minimum = 1 - F::MAX_EXPONENT;
    let r = round_significand(sign, significand, precision, env.rounding);
    // As if the exponent had no bounds: this decides about tininess ("after rounding").
    let unbounded = exponent + i32::from(r.carry);
    env.rounded_up = r.away;
    if unbounded > F::MAX_EXPONENT {
        return overflow(sign, unbounded, r, precision, env);
    }
    if unbounded >= minimum {
        if r.inexact {
            env.raise(PE);
        }
        return F::pack(sign, (unbounded + F::MAX_EXPONENT) as u32, r.significand);
    }
    if env.masks & UE == 0 {
        env.raise(if r.inexact { UE | PE } else { UE });
        let wrapped = unbounded + WRAP;
        // SSE writes no result then. Results that are out of reach even so are those of scaling (FSCALE) alone.
        return if F::X87 && wrapped >= minimum {
            F::pack(sign, (wrapped + F::MAX_EXPONENT) as u32, r.significand)
        } else {
            F::zero(sign)
        };
    }
    if env.ftz {
        env.raise(UE | PE);
        env.rounded_up = false;
        return F::zero(sign);
    }
    let shifted = shift_right_sticky(significand, (minimum - exponent) as u32);
    let r = round_significand(sign, shifted, precision, env.rounding);
    env.rounded_up = r.away;
    if r.inexact {
        env.raise(UE | PE);
    }
    F::pack(sign, (r.significand >> 63) as u32, r.significand)
}

/// The result beyond the largest number of a format.
#[cold]
fn overflow<F: Format>(sign: bool, unbounded: i32, r: Rounded, precision: u32, env: &mut Env) -> F {
    if env.masks & OE == 0 {
        env.raise(if r.inexact { OE | PE } else { OE });
        let wrapped = unbounded - WRAP;
        return if F::X87 && wrapped <= F::MAX_EXPONENT {
            F::pack(sign, (wrapped + F::MAX_EXPONENT) as u32, r.significand)
        } else {
            F::infinity(sign)
        };
    }
    env.raise(OE | PE);
    let to_infinity = match env.rounding {
        Rounding::NearestEven => true,
        Rounding::Down => sign,
        Rounding::Up => !sign,
        Rounding::Zero => false,
    };
    env.rounded_up = to_infinity;
    if to_infinity {
        F::infinity(sign)
    } else {
        F::pack(
            sign,
            2 * F::MAX_EXPONENT as u32,
            u64::MAX << (64 - precision),
        )
    }
}

/// The precision to which arithmetic rounds in this format.
#[inline]
fn precision<F: Format>(env: &Env) -> u32 {
    if F::X87 { env.precision } else { F::PRECISION }
}

#[cfg(test)]
mod tests {
    //! What holds on every host; the wide net is cast in `host`, where the host is an x86 processor.
    use super::arithmetic::{add, div, mul, sqrt, sub};
    use super::*;
    use crate::sim::isa::state::F80;

    fn f64(x: f64) -> F64 {
        F64(x.to_bits())
    }

    fn env(rounding: Rounding) -> Env {
        Env {
            rounding,
            ..Env::default()
        }
    }

    #[test]
    fn directed_roundings_enclose_the_exact_result() {
        let third = |rounding| div(f64(1.0), f64(3.0), &mut env(rounding)).0;
        assert_eq!(third(Rounding::NearestEven), 0x3fd5_5555_5555_5555);
        assert_eq!(third(Rounding::Down), 0x3fd5_5555_5555_5555);
        assert_eq!(third(Rounding::Up), 0x3fd5_5555_5555_5556);
        assert_eq!(
            sqrt(f64(2.0), &mut env(Rounding::Up)).0,
            0x3ff6_a09e_667f_3bcd
        );
        assert_eq!(
            sqrt(f64(2.0), &mut env(Rounding::Zero)).0,
            0x3ff6_a09e_667f_3bcc
        );
    }

    #[test]
    fn exact_cancellation_is_positive_unless_rounding_down() {
        for (rounding, zero) in [(Rounding::NearestEven, 0), (Rounding::Down, 1 << 63)] {
            let mut e = env(rounding);
            assert_eq!(sub(f64(1.5), f64(1.5), &mut e), F64(zero));
            assert_eq!(e.flags, 0);
        }
    }

    #[test]
    fn underflow_needs_a_tiny_and_inexact_result_while_masked() {
        let smallest = F64(1);
        let mut e = Env::default();
        assert_eq!(mul(smallest, f64(2.0), &mut e), F64(2));
        assert_eq!(e.flags, DE);
        let mut e = Env::default();
        assert_eq!(mul(smallest, f64(0.5), &mut e), F64(0));
        assert_eq!(e.flags, DE | UE | PE);
        let mut e = Env {
            masks: 0x3f & !UE,
            ..Env::default()
        };
        let _ = mul(f64(f64::MIN_POSITIVE), f64(0.5), &mut e);
        assert_eq!((e.flags, e.unmasked()), (UE, UE));
    }

    #[test]
    fn daz_and_ftz_make_zeros() {
        let mut e = Env {
            daz: true,
            ..Env::default()
        };
        assert_eq!(add(F64(1 | 1 << 63), F64(1 << 63), &mut e), F64(1 << 63));
        assert_eq!(e.flags, 0);
        let mut e = Env {
            ftz: true,
            ..Env::default()
        };
        assert_eq!(mul(f64(-f64::MIN_POSITIVE), f64(0.5), &mut e), F64(1 << 63));
        assert_eq!(e.flags, UE | PE);
    }

    #[test]
    fn nans_are_chosen_by_position_or_by_significand() {
        let (quiet, signaling) = (F64(0x7ff8_0000_0000_0001), F64(0xfff0_0000_0000_0002));
        let mut e = Env::default();
        assert_eq!(add(signaling, quiet, &mut e), F64(0xfff8_0000_0000_0002));
        assert_eq!(e.flags, IE);
        let wide = |significand| F80 {
            sign_exponent: 0x7fff,
            significand,
        };
        let mut e = Env::default();
        let sum = add(
            wide(0x8000_0000_0000_0005),
            wide(0xc000_0000_0000_0001),
            &mut e,
        );
        assert_eq!((sum, e.flags), (wide(0xc000_0000_0000_0001), IE));
        let mut e = Env::default();
        assert_eq!(
            sub(F64::infinity(false), F64::infinity(false), &mut e),
            F64::indefinite()
        );
        assert_eq!((F64::indefinite().0 >> 48, e.flags), (0xfff8, IE));
    }

    #[test]
    fn precision_control_rounds_and_an_unmasked_overflow_wraps_the_exponent() {
        let (one, three) = (
            F80 {
                sign_exponent: 0x3fff,
                significand: 1 << 63,
            },
            F80 {
                sign_exponent: 0x4000,
                significand: 3 << 62,
            },
        );
        let mut e = Env {
            precision: 24,
            ..Env::default()
        };
        assert_eq!(
            div(one, three, &mut e),
            F80 {
                sign_exponent: 0x3ffd,
                significand: 0xaaaa_ab00_0000_0000
            }
        );
        assert!(e.rounded_up);
        let large = F80 {
            sign_exponent: 0x7ffe,
            significand: 1 << 63,
        };
        let mut e = Env {
            masks: 0x3f & !OE,
            ..Env::default()
        };
        let product = mul(large, large, &mut e);
        assert_eq!(
            product,
            F80 {
                sign_exponent: (2 * 0x7ffe - 0x3fff - 24576) as u16,
                significand: 1 << 63
            }
        );
        assert_eq!(e.flags, OE);
    }
}
