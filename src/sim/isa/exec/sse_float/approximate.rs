//! RCPSS and RSQRTSS: one definition of ours, where processors differ from each other.
//!
//! The result is the exact value rounded to the nearest number of 13 significant bits, so its relative error is at most
//! 2^-13 (and the truncation of the intermediate, below 2^-28), while the instruction set allows 1.5 * 2^-12. As the
//! instruction set demands: denormal operands count as zeros, tiny results are zeros, and no exception is raised.
use crate::sim::isa::softfloat::{Class, F32, Format, Parts};

/// Significant bits of the results.
const PRECISION: u32 = 13;

/// RCPSS: about 1 / a.
pub(in crate::sim::isa::exec) fn reciprocal(a: F32) -> F32 {
    let parts = a.unpack();
    match parts.class {
        Class::Finite if !parts.denormal => {
            // An integer in [2^23, 2^24), so the quotient lies in (2^39, 2^40].
            let divisor = u128::from(parts.significand >> 40);
            number(parts.sign, (1 << 63) / divisor, 40 + parts.exponent)
        }
        Class::Finite | Class::Zero => F32::infinity(parts.sign),
        Class::Infinity => F32::zero(parts.sign),
        _ => F32::nan(&parts),
    }
}

/// RSQRTSS: about 1 / sqrt(a).
pub(in crate::sim::isa::exec) fn reciprocal_root(a: F32) -> F32 {
    let parts = a.unpack();
    match parts {
        Parts {
            class: Class::Finite,
            denormal: false,
            sign: false,
            ..
        } => {
            // With an even exponent an integer V in [2^23, 2^25), so sqrt(2^83 / V) lies in (2^29, 2^30].
            let odd = parts.exponent & 1;
            let divisor = u128::from(parts.significand >> 40) << odd;
            let root = ((1u128 << 83) / divisor).isqrt();
            number(false, root, 30 + (parts.exponent - odd) / 2)
        }
        _ if parts.is_nan() => F32::nan(&parts),
        _ if parts.denormal || parts.class == Class::Zero => F32::infinity(parts.sign),
        _ if parts.sign => F32::indefinite(),
        _ => F32::zero(false),
    }
}

/// `value / 2^scale`, rounded to [`PRECISION`] bits, ties upwards.
fn number(sign: bool, value: u128, scale: i32) -> F32 {
    let shift = value.ilog2() + 1 - PRECISION;
    let rounded = ((value >> (shift - 1)) + 1) >> 1;
    let top = rounded.ilog2();
    let exponent = (top + shift) as i32 - scale;
    if exponent < 1 - F32::MAX_EXPONENT {
        return F32::zero(sign);
    }
    F32::pack(
        sign,
        (exponent + F32::MAX_EXPONENT) as u32,
        (rounded as u64) << (63 - top),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: f64 = 1.5 / 4096.0;

    #[test]
    fn errors_stay_below_the_bound_that_the_instruction_set_sets() {
        let mut worst: [f64; 2] = [0.0; 2];
        // Every ninth significand, of an even and an odd exponent.
        for bits in (0x3f80_0000..0x4080_0000u32).step_by(9) {
            let x = f64::from(f32::from_bits(bits));
            let r = f64::from(f32::from_bits(reciprocal(F32(bits)).0));
            let s = f64::from(f32::from_bits(reciprocal_root(F32(bits)).0));
            worst[0] = worst[0].max((r * x - 1.0).abs());
            worst[1] = worst[1].max((s * x.sqrt() - 1.0).abs());
        }
        assert!(worst.iter().all(|w| *w < BOUND), "{worst:?}");
        // The definition promises more than the bound.
        assert!(
            worst
                .iter()
                .all(|w| *w < 1.001 / 8192.0 && *w > 0.9 / 8192.0),
            "{worst:?}"
        );
    }

    #[test]
    fn every_exponent_gives_a_result_near_the_true_one() {
        for exponent in 1..=254u32 {
            for fraction in [0, 1, 0x2a_5a5a, 0x7f_ffff] {
                let x = f64::from(f32::from_bits(exponent << 23 | fraction));
                let s = f64::from(f32::from_bits(
                    reciprocal_root(F32(exponent << 23 | fraction)).0,
                ));
                assert!((s * x.sqrt() - 1.0).abs() < BOUND, "1/sqrt({x:e}) = {s:e}");
                for sign in [0, 1 << 31] {
                    let x = if sign == 0 { x } else { -x };
                    let r = f32::from_bits(reciprocal(F32(sign | exponent << 23 | fraction)).0);
                    let (r, tiny) = (f64::from(r), (1.0 / x).abs() < f64::from(f32::MIN_POSITIVE));
                    assert!(
                        tiny && r == 0.0 || (r * x - 1.0).abs() < BOUND,
                        "1/{x:e} = {r:e}"
                    );
                    assert_eq!(r.is_sign_negative(), x.is_sign_negative());
                }
            }
        }
    }

    #[test]
    fn special_operands_give_the_results_of_the_instruction_set() {
        let (infinity, minus) = (0x7f80_0000, 0x8000_0000);
        for (x, r, s) in [
            (0, infinity, infinity),
            (minus, infinity | minus, infinity | minus),
            (1, infinity, infinity),
            (minus | 0x7f_ffff, infinity | minus, infinity | minus),
            (infinity, 0, 0),
            (infinity | minus, minus, 0xffc0_0000),
            (0xbf80_0000, 0xbf80_0000, 0xffc0_0000),
            (0x7f80_0001, 0x7fc0_0001, 0x7fc0_0001),
            (0xffc1_2345, 0xffc1_2345, 0xffc1_2345),
        ] {
            assert_eq!(reciprocal(F32(x)), F32(r), "RCPSS {x:#x}");
            assert_eq!(reciprocal_root(F32(x)), F32(s), "RSQRTSS {x:#x}");
        }
    }
}
