//! Software floating point: against the host's arithmetic where both round to the nearest, and against itself in the
//! other directions.
use super::Choices;
use tickmark::sim::isa::softfloat::arithmetic::{add, div, fused_multiply_add, mul, sqrt, sub};
use tickmark::sim::isa::softfloat::convert::{convert, from_integer, to_integer};
use tickmark::sim::isa::softfloat::{Env, F32, F64, PE, Rounding};

/// A number of the kind at which arithmetic breaks.
fn number(choices: &mut Choices<'_>) -> f64 {
    let bits = choices.number(8);
    f64::from_bits(match choices.below(8) {
        // Exponents at the ends and in the middle, fractions of few bits.
        0 => bits & 0x800f_ffff_ffff_ffff,
        1 => bits | 0x7fe0_0000_0000_0000,
        2 => bits & 0xbff0_0000_0000_0000 | 0x3ff0_0000_0000_0000,
        3 => bits & !0x0000_ffff_ffff_ffff,
        4 => (bits as i8 as f64).to_bits(),
        5 => (f64::from(f32::from_bits(bits as u32))).to_bits(),
        6 => bits & 0x800f_ffff_ffff_ffff | 0x4330_0000_0000_0000,
        _ => bits,
    })
}

fn equal64(what: &str, found: F64, expected: f64) -> Result<(), String> {
    let found = f64::from_bits(found.0);
    let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
    let text = || {
        format!(
            "{what}: {found:e} ({:#x}), host {expected:e} ({:#x})",
            found.to_bits(),
            expected.to_bits()
        )
    };
    same.then_some(()).ok_or_else(text)
}

fn equal32(what: &str, found: F32, expected: f32) -> Result<(), String> {
    let found = f32::from_bits(found.0);
    let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
    let text = || {
        format!(
            "{what}: {found:e} ({:#x}), host {expected:e} ({:#x})",
            found.to_bits(),
            expected.to_bits()
        )
    };
    same.then_some(()).ok_or_else(text)
}

type Operation = fn(F64, F64, &mut Env) -> F64;

/// Down is at most nearest is at most up; they are one where nothing is lost, and neighbours or one otherwise.
fn directions_are_in_order(what: &str, a: F64, b: F64, operation: Operation) -> Result<(), String> {
    let in_direction = |rounding| {
        let mut env = Env {
            rounding,
            ..Env::default()
        };
        (f64::from_bits(operation(a, b, &mut env).0), env.flags)
    };
    let (down, flags) = in_direction(Rounding::Down);
    let (near, near_flags) = in_direction(Rounding::NearestEven);
    let (up, up_flags) = in_direction(Rounding::Up);
    if near.is_nan() {
        return Ok(());
    }
    let lost = [flags, near_flags, up_flags].map(|flags| flags & PE != 0);
    let order = down <= near && near <= up && (near == down || near == up);
    // A zero has another sign downwards.
    let exact = down == up;
    let steps = down == up || down.next_up() == up;
    if order && steps && lost.iter().all(|&l| l != exact) {
        return Ok(());
    }
    Err(format!(
        "{what} in its directions: {down:e} {near:e} {up:e}, inexact {lost:?}"
    ))
}

pub(super) fn agrees_with_the_host(choices: &mut Choices<'_>) -> Result<(), String> {
    for _ in 0..8 {
        let (x, y, z) = (number(choices), number(choices), number(choices));
        let (a, b, c) = (F64(x.to_bits()), F64(y.to_bits()), F64(z.to_bits()));
        let what = |name: &str| {
            format!(
                "{name} of {x:e} ({:#x}), {y:e} ({:#x}), {z:e}",
                x.to_bits(),
                y.to_bits()
            )
        };
        let mut env = Env::default();
        equal64(&what("sum"), add(a, b, &mut env), x + y)?;
        equal64(&what("difference"), sub(a, b, &mut env), x - y)?;
        equal64(&what("product"), mul(a, b, &mut env), x * y)?;
        equal64(&what("quotient"), div(a, b, &mut env), x / y)?;
        equal64(&what("root"), sqrt(a, &mut env), x.sqrt())?;
        equal64(
            &what("fused"),
            fused_multiply_add(a, b, c, &mut env),
            x.mul_add(y, z),
        )?;
        equal32(&what("narrowed"), convert(a, true, &mut env), x as f32)?;
        let (s, t) = (x as f32, y as f32);
        let (d, e) = (F32(s.to_bits()), F32(t.to_bits()));
        equal32(&what("single sum"), add(d, e, &mut env), s + t)?;
        equal32(&what("single product"), mul(d, e, &mut env), s * t)?;
        equal32(&what("single quotient"), div(d, e, &mut env), s / t)?;
        equal32(&what("single root"), sqrt(d, &mut env), s.sqrt())?;
        equal64(&what("widened"), convert(d, true, &mut env), f64::from(s))?;
        let integer = x.to_bits() as i64 >> (y.to_bits() % 64);
        equal64(
            &format!("{integer} as a number"),
            from_integer(integer, &mut env),
            integer as f64,
        )?;
        if x.is_finite() && x.abs() < 9e18 {
            let found = to_integer(a, 64, Rounding::Zero, &mut env);
            if found != x as i64 {
                return Err(format!("{x:e} as an integer: {found}, host {}", x as i64));
            }
        }
        for (name, operation) in [
            ("sum", add as Operation),
            ("product", mul),
            ("quotient", div),
        ] {
            directions_are_in_order(&what(name), a, b, operation)?;
        }
        if !choices.more() {
            break;
        }
    }
    Ok(())
}
