//! The formats: bit patterns taken apart into one common form, and put together again.
use crate::sim::isa::state::F80;

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
pub(super) const INTEGER: u64 = 1 << 63;

impl Parts {
    /// A NaN of either kind.
    #[inline]
    pub fn is_nan(&self) -> bool {
        matches!(self.class, Class::QuietNan | Class::SignalingNan)
    }

    pub(super) fn zero(sign: bool) -> Self {
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

/// A 16-bit number by its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F16(pub u16);
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

impl Format for F16 {
    const PRECISION: u32 = 11;
    const MAX_EXPONENT: i32 = 15;
    const X87: bool = false;

    #[inline]
    fn unpack(self) -> Parts {
        let fraction = u64::from(self.0 & 0x3ff) << 53;
        unpack_hidden(
            self.0 >> 15 != 0,
            u32::from(self.0 >> 10 & 0x1f),
            fraction,
            15,
        )
    }
    #[inline]
    fn pack(sign: bool, biased: u32, significand: u64) -> Self {
        Self(u16::from(sign) << 15 | (biased as u16) << 10 | (significand << 1 >> 54) as u16)
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
