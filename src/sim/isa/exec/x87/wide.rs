//! A binary floating-point number with 128 significant bits, for the functions that the processor approximates.
//!
//! Every operation truncates: its relative error is below 2^-125, unless a subtraction cancels, which its callers avoid
//! or do only where it is exact.
use crate::sim::isa::state::F80;

/// `(-1)^negative * significand * 2^(exponent - 127)`; the top bit of the significand is set unless the value is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wide {
    pub(super) negative: bool,
    pub(super) exponent: i32,
    pub(super) significand: u128,
}

impl Wide {
    pub(super) const ZERO: Self = Self::constant(0, 0);
    pub(super) const ONE: Self = Self::constant(0, 1 << 127);
    pub(super) const PI: Self = Self::constant(1, 0xc90f_daa2_2168_c234_c4c6_628b_80dc_1cd1);
    pub(super) const HALF_PI: Self = Self::constant(0, 0xc90f_daa2_2168_c234_c4c6_628b_80dc_1cd1);
    pub(super) const QUARTER_PI: Self =
        Self::constant(-1, 0xc90f_daa2_2168_c234_c4c6_628b_80dc_1cd1);
    /// log2(e).
    pub(super) const LOG2_E: Self = Self::constant(0, 0xb8aa_3b29_5c17_f0bb_be87_fed0_691d_3e88);
    /// ln(2).
    pub(super) const LN_2: Self = Self::constant(-1, 0xb172_17f7_d1cf_79ab_c9e3_b398_03f2_f6af);

    const fn constant(exponent: i32, significand: u128) -> Self {
        Self {
            negative: false,
            exponent,
            significand,
        }
    }

    /// Normalises `significand * 2^(exponent - 127)`.
    pub(super) fn new(negative: bool, exponent: i32, significand: u128) -> Self {
        if significand == 0 {
            return Self::ZERO;
        }
        let shift = significand.leading_zeros();
        Self {
            negative,
            exponent: exponent - shift as i32,
            significand: significand << shift,
        }
    }

    /// An integer.
    pub(super) fn integer(value: i32) -> Self {
        Self::new(value < 0, 127, value.unsigned_abs().into())
    }

    /// A finite number, exactly.
    pub(super) fn from_f80(x: F80) -> Self {
        let biased = i32::from(x.sign_exponent & 0x7fff).max(1);
        Self::new(
            x.sign_exponent >> 15 != 0,
            biased - 16383,
            u128::from(x.significand) << 64,
        )
    }

    pub(super) fn is_zero(self) -> bool {
        self.significand == 0
    }

    pub(super) fn negate(self) -> Self {
        Self {
            negative: !self.negative,
            ..self
        }
    }

    pub(super) fn abs(self) -> Self {
        Self {
            negative: false,
            ..self
        }
    }

    /// Whether the magnitude is less than that of `other`.
    pub(super) fn less_in_magnitude(self, other: Self) -> bool {
        match (self.is_zero(), other.is_zero()) {
            (true, zero) => !zero,
            (false, true) => false,
            _ => (self.exponent, self.significand) < (other.exponent, other.significand),
        }
    }

    pub(super) fn mul(self, other: Self) -> Self {
        let (high, low) = multiply(self.significand, other.significand);
        // The product of two significands in [2^127, 2^128) has 255 or 256 bits.
        let (significand, carry) = if high >> 127 != 0 {
            (high, 1)
        } else {
            (high << 1 | low >> 127, 0)
        };
        Self {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent + carry,
            significand,
        }
        .or_zero()
    }

    /// The quotient; zero for a zero divisor, which no caller has.
    pub(super) fn div(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::ZERO;
        }
        let (mut rest, mut quotient) = (self.significand, 0u128);
        let mut exponent = self.exponent - other.exponent;
        if rest < other.significand {
            exponent -= 1;
        } else {
            rest -= other.significand;
            quotient = 1;
        }
        // Now rest < divisor, and each step shifts one quotient bit in, until the first of them reaches the top.
        while quotient >> 127 == 0 {
            let overflow = rest >> 127 != 0;
            rest <<= 1;
            let fits = overflow || rest >= other.significand;
            if fits {
                rest = rest.wrapping_sub(other.significand);
            }
            quotient = quotient << 1 | u128::from(fits);
        }
        Self {
            negative: self.negative != other.negative,
            exponent,
            significand: quotient,
        }
    }

    /// The quotient by a small positive integer.
    pub(super) fn div_small(self, divisor: u32) -> Self {
        let divisor = u128::from(divisor);
        let high = self.significand / divisor;
        // 64 more bits of the quotient, so that normalising does not shift zeros in.
        let low = ((self.significand % divisor) << 64) / divisor;
        let shift = high.leading_zeros().min(63);
        Self {
            negative: self.negative,
            exponent: self.exponent - shift as i32,
            significand: high << shift | low >> (64 - shift),
        }
        .or_zero()
    }

    pub(super) fn add(self, other: Self) -> Self {
        let (big, small) = if self.less_in_magnitude(other) {
            (other, self)
        } else {
            (self, other)
        };
        if small.is_zero() {
            return big;
        }
        let distance = (big.exponent - small.exponent) as u32;
        let aligned = small.significand.checked_shr(distance).unwrap_or(0);
        if big.negative == small.negative {
            let (sum, carry) = big.significand.overflowing_add(aligned);
            return if carry {
                Self {
                    exponent: big.exponent + 1,
                    significand: sum >> 1 | 1 << 127,
                    ..big
                }
            } else {
                Self {
                    significand: sum,
                    ..big
                }
            };
        }
        // Rounds towards zero, so that 1 - tiny stays below 1.
        let lost = distance > 127 || distance > 0 && small.significand << (128 - distance) != 0;
        Self::new(
            big.negative,
            big.exponent,
            big.significand - aligned - u128::from(lost),
        )
    }

    pub(super) fn sub(self, other: Self) -> Self {
        self.add(other.negate())
    }

    fn or_zero(self) -> Self {
        if self.significand == 0 {
            Self::ZERO
        } else {
            self
        }
    }
}

/// The 256-bit product.
fn multiply(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0) = (a >> 64, a & LOW);
    let (b1, b0) = (b >> 64, b & LOW);
    let (low, cross, other) = (a0 * b0, a1 * b0, a0 * b1);
    let middle = (low >> 64) + (cross & LOW) + (other & LOW);
    (
        a1 * b1 + (cross >> 64) + (other >> 64) + (middle >> 64),
        middle << 64 | low & LOW,
    )
}

/// sin(r) and cos(r) for |r| <= pi/4, by their power series.
pub(super) fn sin_cos(r: Wide) -> (Wide, Wide) {
    // (pi/4)^38 / 38! < 2^-159.
    let square = r.mul(r);
    let (mut sin, mut cos) = (Wide::ONE, Wide::ONE);
    for k in (1..=18).rev() {
        sin = Wide::ONE.sub(square.mul(sin).div_small(2 * k * (2 * k + 1)));
        cos = Wide::ONE.sub(square.mul(cos).div_small(2 * k * (2 * k - 1)));
    }
    (sin.mul(r), cos)
}

/// exp(t) - 1 for |t| <= ln(2), by its power series.
pub(super) fn exp_minus_one(t: Wide) -> Wide {
    // ln(2)^36 / 36! < 2^-157.
    let mut h = Wide::ONE;
    for k in (2..=36).rev() {
        h = Wide::ONE.add(t.mul(h).div_small(k));
    }
    t.mul(h)
}

/// 2 * atanh(s) = ln((1+s)/(1-s)) for |s| <= 0.1716, by its power series.
fn twice_atanh(s: Wide) -> Wide {
    // 0.1716^2 < 2^-5.08, and 26 terms follow the first.
    let square = s.mul(s);
    let mut h = Wide::ZERO;
    for k in (0..=26).rev() {
        h = Wide::ONE.div_small(2 * k + 1).add(square.mul(h));
    }
    let half = s.mul(h);
    half.add(half)
}

/// log2(x) for x > 0; exact for powers of two.
pub(super) fn log2(x: Wide) -> Wide {
    const SQRT_2: u128 = 0xb504_f333_f9de_6484 << 64;
    let up = i32::from(x.significand > SQRT_2);
    let m = Wide { exponent: -up, ..x };
    // m - 1 is exact, and m is within [1/sqrt(2), sqrt(2)], so the sum does not cancel: |log2(m)| <= 1/2.
    let s = m.sub(Wide::ONE).div(m.add(Wide::ONE));
    Wide::integer(x.exponent + up).add(twice_atanh(s).mul(Wide::LOG2_E))
}

/// log2(1 + x) for x > -1, without loss for small x.
pub(super) fn log2_one_plus(x: Wide) -> Wide {
    // 1/4 < 1 - 1/sqrt(2): the series converges as fast as it does in `log2`.
    if x.exponent < -2 {
        let s = x.div(Wide::integer(2).add(x));
        return twice_atanh(s).mul(Wide::LOG2_E);
    }
    log2(Wide::ONE.add(x))
}

/// The angle of the point (x, y), not the origin, from -pi to pi.
pub(super) fn atan2(y: Wide, x: Wide) -> Wide {
    let (a, b) = (y.abs(), x.abs());
    let steep = b.less_in_magnitude(a);
    let (low, high) = if steep { (b, a) } else { (a, b) };
    // atan(low/high) in the first octant; beyond tan(pi/8) as pi/4 - atan((high-low)/(high+low)).
    let ratio = low.div(high);
    const TAN_EIGHTH_PI: Wide = Wide::constant(-2, 0xd413_cccf_e779_9211 << 64);
    let octant = if TAN_EIGHTH_PI.less_in_magnitude(ratio) {
        Wide::QUARTER_PI.sub(atan_series(high.sub(low).div(high.add(low))))
    } else {
        atan_series(ratio)
    };
    let quadrant = if steep {
        Wide::HALF_PI.sub(octant)
    } else {
        octant
    };
    let half = if x.negative {
        Wide::PI.sub(quadrant)
    } else {
        quadrant
    };
    Wide {
        negative: y.negative,
        ..half
    }
}

/// atan(q) for 0 <= q <= tan(pi/8), by its power series.
fn atan_series(q: Wide) -> Wide {
    // tan(pi/8)^2 < 2^-2.54, and 50 terms follow the first.
    let square = q.mul(q);
    let mut h = Wide::ZERO;
    for k in (0..=50).rev() {
        h = Wide::ONE.div_small(2 * k + 1).sub(square.mul(h));
    }
    q.mul(h)
}
