//! IEEE 754 arithmetic on bits, with the exceptions, NaN rules and corner cases of x86.
//!
//! Only integers are used, so the results do not depend on the host. The files: this one holds the environment, the
//! formats and the one place that rounds; [`arithmetic`], [`compare`] and [`convert`] hold the operations, generic over
//! [`Format`]; [`extended`] names the 80-bit forms as the x87 unit needs them.
//!
//! Numbers: [`F32`] and [`F64`] wrap bit patterns; the 80-bit format is [`F80`], as it stands in a register.
use super::state::F80;

pub mod arithmetic;
pub mod compare;
pub mod convert;
pub mod extended;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod host;

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

    /// Whether an unmasked exception keeps the result from being computed. If so, the flags that only the computation
    /// could have raised are taken back.
    #[inline]
    pub fn stopped_before_result(&mut self) -> bool {
        let stopped = self.unmasked() & BEFORE_RESULT != 0;
        if stopped {
            self.flags &= BEFORE_RESULT;
        }
        stopped
    }
}

/// What kind of datum a bit pattern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Plus or minus zero.
    Zero,
    /// A normal or denormal number.
    Finite,
    /// Plus or minus infinity.
    Infinity,
    /// A quiet NaN.
    QuietNan,
    /// A signaling NaN.
    SignalingNan,
    /// An 80-bit pattern that is no datum since the 80387: pseudo-NaN, pseudo-infinity, unnormal.
    Unsupported,
}

/// A number taken apart, the same for all formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What it is.
    pub class: Class,
    /// Negative.
    pub sign: bool,
    /// Its format holds it as a denormal (or pseudo-denormal).
    pub denormal: bool,
    /// Of a finite number, whose value is `significand * 2^(exponent - 63)`.
    pub exponent: i32,
    /// Of a finite number: bit 63 is set. Of a NaN: bit 63 is set, bit 62 is the quiet bit, the payload is below.
    pub significand: u64,
}

/// The quiet bit of a NaN in [`Parts::significand`].
const QUIET: u64 = 1 << 62;
/// The integer bit of [`Parts::significand`].
const INTEGER: u64 = 1 << 63;

impl Parts {
    /// A NaN of either kind.
    #[inline]
    pub fn is_nan(&self) -> bool {
        matches!(self.class, Class::QuietNan | Class::SignalingNan)
    }

    fn zero(sign: bool) -> Self {
        Self {
            class: Class::Zero,
            sign,
            denormal: false,
            exponent: 0,
            significand: 0,
        }
    }
}

/// A binary floating-point format.
pub trait Format: Copy + Eq + std::fmt::Debug {
    /// Significant bits, with the integer bit.
    const PRECISION: u32;
    /// The largest exponent; the smallest normal one is `1 - MAX_EXPONENT`.
    const MAX_EXPONENT: i32;
    /// Whether the x87 rules hold: which NaN is chosen, precision control, and results with a wrapped exponent where
    /// overflow or underflow is unmasked.
    const X87: bool;

    /// Takes the number apart.
    fn unpack(self) -> Parts;
    /// Puts a number together: biased exponent, significand as in [`Parts`] (bit 63 clear only in zeros and denormals).
    fn pack(sign: bool, biased: u32, significand: u64) -> Self;

    /// Zero.
    #[inline]
    fn zero(sign: bool) -> Self {
        Self::pack(sign, 0, 0)
    }
    /// Infinity.
    #[inline]
    fn infinity(sign: bool) -> Self {
        Self::pack(sign, 2 * Self::MAX_EXPONENT as u32 + 1, INTEGER)
    }
    /// The negative quiet NaN without payload that invalid operations give.
    #[inline]
    fn indefinite() -> Self {
        Self::pack(true, 2 * Self::MAX_EXPONENT as u32 + 1, INTEGER | QUIET)
    }
    /// A NaN, made quiet; payload bits beyond the format are lost.
    #[inline]
    fn nan(parts: &Parts) -> Self {
        Self::pack(
            parts.sign,
            2 * Self::MAX_EXPONENT as u32 + 1,
            parts.significand | INTEGER | QUIET,
        )
    }
}

/// A 32-bit number by its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F32(pub u32);
/// A 64-bit number by its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F64(pub u64);

/// Takes apart a format with a hidden integer bit. `fraction` is left-aligned below bit 63.
#[inline]
fn unpack_hidden(sign: bool, biased: u32, fraction: u64, max_exponent: i32) -> Parts {
    let (class, exponent, significand) = if biased == 0 {
        if fraction == 0 {
            return Parts::zero(sign);
        }
        let shift = fraction.leading_zeros();
        (
            Class::Finite,
            1 - max_exponent - shift as i32,
            fraction << shift,
        )
    } else if biased == 2 * max_exponent as u32 + 1 {
        let class = match fraction {
            0 => Class::Infinity,
            f if f & QUIET != 0 => Class::QuietNan,
            _ => Class::SignalingNan,
        };
        (class, 0, fraction | INTEGER)
    } else {
        (
            Class::Finite,
            biased as i32 - max_exponent,
            fraction | INTEGER,
        )
    };
    Parts {
        class,
        sign,
        denormal: biased == 0,
        exponent,
        significand,
    }
}

impl Format for F32 {
    const PRECISION: u32 = 24;
    const MAX_EXPONENT: i32 = 127;
    const X87: bool = false;

    #[inline]
    fn unpack(self) -> Parts {
        let fraction = u64::from(self.0 & 0x7f_ffff) << 40;
        unpack_hidden(self.0 >> 31 != 0, self.0 >> 23 & 0xff, fraction, 127)
    }
    #[inline]
    fn pack(sign: bool, biased: u32, significand: u64) -> Self {
        Self(u32::from(sign) << 31 | biased << 23 | (significand << 1 >> 41) as u32)
    }
}

impl Format for F64 {
    const PRECISION: u32 = 53;
    const MAX_EXPONENT: i32 = 1023;
    const X87: bool = false;

    #[inline]
    fn unpack(self) -> Parts {
        let fraction = (self.0 & ((1 << 52) - 1)) << 11;
        unpack_hidden(
            self.0 >> 63 != 0,
            (self.0 >> 52) as u32 & 0x7ff,
            fraction,
            1023,
        )
    }
    #[inline]
    fn pack(sign: bool, biased: u32, significand: u64) -> Self {
        Self(u64::from(sign) << 63 | u64::from(biased) << 52 | significand << 1 >> 12)
    }
}

impl Format for F80 {
    const PRECISION: u32 = 64;
    const MAX_EXPONENT: i32 = 16383;
    const X87: bool = true;

    #[inline]
    fn unpack(self) -> Parts {
        let sign = self.sign_exponent >> 15 != 0;
        let biased = i32::from(self.sign_exponent & 0x7fff);
        let significand = self.significand;
        if biased == 0 {
            if significand == 0 {
                return Parts::zero(sign);
            }
            let shift = significand.leading_zeros();
            return Parts {
                class: Class::Finite,
                sign,
                denormal: true,
                exponent: 1 - Self::MAX_EXPONENT - shift as i32,
                significand: significand << shift,
            };
        }
        let class = if significand & INTEGER == 0 {
            Class::Unsupported
        } else if biased != 0x7fff {
            Class::Finite
        } else if significand == INTEGER {
            Class::Infinity
        } else if significand & QUIET != 0 {
            Class::QuietNan
        } else {
            Class::SignalingNan
        };
        Parts {
            class,
            sign,
            denormal: false,
            exponent: biased - Self::MAX_EXPONENT,
            significand,
        }
    }
    #[inline]
    fn pack(sign: bool, biased: u32, significand: u64) -> Self {
        Self {
            sign_exponent: u16::from(sign) << 15 | biased as u16,
            significand,
        }
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
    } else if a.class != b.class {
        // The x87 unit prefers the quiet one, even if the other has the larger significand.
        a.class == Class::QuietNan
    } else if a.significand != b.significand {
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
