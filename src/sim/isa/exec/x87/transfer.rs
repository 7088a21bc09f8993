//! Stores to memory, with their conversions, and binary-coded decimals.
use super::environment::{read_f80, write_f80};
use super::stack::{IE, INDEFINITE, OE, PE, UE};
use crate::sim::isa::op::Context;
use crate::sim::isa::softfloat::{Env, extended};
use crate::sim::isa::state::{F80, X87};
use crate::sim::memory::Fault;

/// What a store converts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// The register as it is.
    F80,
    /// 16-bit integer; `truncate` for FISTTP.
    I16 { truncate: bool },
    /// 32-bit integer.
    I32 { truncate: bool },
    /// 64-bit integer.
    I64 { truncate: bool },
    /// Eighteen decimal digits.
    Decimal,
}

/// The packed decimal that an invalid operation stores.
const DECIMAL_INDEFINITE: F80 = F80 {
    sign_exponent: 0xffff,
    significand: 0xc000_0000_0000_0000,
};
/// The largest packed decimal.
const DECIMAL_MAX: u64 = 999_999_999_999_999_999;

/// The bits to store, in the form of an 80-bit image whose low bytes count.
fn convert(value: F80, format: Format, env: &mut Env) -> F80 {
    let integer = |significand| F80 {
        significand,
        sign_exponent: 0,
    };
    match format {
        Format::F32 => integer(extended::f80_to_f32(value, env).into()),
        Format::F64 => integer(extended::f80_to_f64(value, env)),
        Format::F80 => value,
        Format::I16 { truncate } => {
            integer(extended::f80_to_i16(value, truncate, env) as u16 as u64)
        }
        Format::I32 { truncate } => {
            integer(extended::f80_to_i32(value, truncate, env) as u32 as u64)
        }
        Format::I64 { truncate } => integer(extended::f80_to_i64(value, truncate, env) as u64),
        Format::Decimal => to_decimal(value, env),
    }
}

fn to_decimal(value: F80, env: &mut Env) -> F80 {
    let mut trial = *env;
    let integer = extended::f80_to_i64(value, false, &mut trial);
    if trial.flags & IE as u8 != 0 || integer.unsigned_abs() > DECIMAL_MAX {
        env.raise(IE as u8);
        return DECIMAL_INDEFINITE;
    }
    *env = trial;
    let (mut rest, mut digits) = (integer.unsigned_abs(), 0u128);
    for i in 0..18 {
        digits |= u128::from(rest % 10) << (4 * i);
        rest /= 10;
    }
    // The sign is that of the operand, even where it rounds to zero.
    F80 {
        significand: digits as u64,
        sign_exponent: (digits >> 64) as u16 | value.sign_exponent & 0x8000,
    }
}

/// FBLD: the value of a packed decimal. The digits are not checked, as the processor does not check them either.
pub(super) fn from_decimal(image: F80) -> F80 {
    let digits = u128::from(image.sign_exponent & 0xff) << 64 | u128::from(image.significand);
    let magnitude = (0..18)
        .rev()
        .fold(0u64, |sum, i| sum * 10 + (digits >> (4 * i)) as u64 % 16);
    let value = extended::f80_from_i64(magnitude as i64, &mut Env::default());
    F80 {
        sign_exponent: value.sign_exponent | image.sign_exponent & 0x8000,
        ..value
    }
}

fn write(cx: &mut Context, at: u64, format: Format, bits: F80) -> Result<(), Fault> {
    match format {
        Format::I16 { .. } => cx.mem.write(at, bits.significand as u16),
        Format::F32 | Format::I32 { .. } => cx.mem.write(at, bits.significand as u32),
        Format::F64 | Format::I64 { .. } => cx.mem.write(at, bits.significand),
        Format::F80 | Format::Decimal => write_f80(&mut cx.mem, at, bits),
    }
}

/// Bytes of a format in memory.
fn size(format: Format) -> u64 {
    match format {
        Format::I16 { .. } => 2,
        Format::F32 | Format::I32 { .. } => 4,
        Format::F64 | Format::I64 { .. } => 8,
        Format::F80 | Format::Decimal => 10,
    }
}

/// FST, FIST, FISTTP, FBSTP and their popping forms. An unmasked exception, save PE, keeps memory and stack as they
/// are.
pub(super) fn store(cx: &mut Context, at: u64, format: Format, pop: bool) -> Result<(), Fault> {
    let x = &cx.cpu.x87;
    let mut env = Env::from_x87_control(x.control);
    let empty = x.empty(0);
    let bits = if empty {
        env.raise(IE as u8);
        // Any NaN gives the indefinite value of the format.
        convert(INDEFINITE, format, &mut env.clone())
    } else {
        convert(x.st(0), format, &mut env)
    };
    let keep = u16::from(env.unmasked()) & (IE | OE | UE) == 0;
    if keep {
        write(cx, at, format, bits)?;
    } else {
        // A page that could not be written faults first, though nothing would be stored; and the access is made, as the
        // timing model counts on as many as the encoding has.
        cx.mem.probe_write(at, size(format))?;
        match size(format) {
            2 => cx.mem.read::<u16>(at).map(drop)?,
            4 => cx.mem.read::<u32>(at).map(drop)?,
            8 => cx.mem.read::<u64>(at).map(drop)?,
            _ => read_f80(&mut cx.mem, at).map(drop)?,
        }
    }
    let x = &mut cx.cpu.x87;
    if empty {
        x.stack_fault(false);
    } else {
        // An operation that was not carried out is not inexact either.
        let hide = if keep { 0 } else { PE };
        x.raise(u16::from(env.flags) & !hide, env.rounded_up && keep);
    }
    if keep && pop {
        x.pop();
    }
    Ok(())
}

/// FST and FSTP to ST(i).
pub(super) fn store_register(x: &mut X87, i: u8, pop: bool) {
    let value = if x.empty(0) {
        if !x.stack_fault(false) {
            return;
        }
        INDEFINITE
    } else {
        x.raise(0, false);
        x.st(0)
    };
    x.set(i, value);
    if pop {
        x.pop();
    }
}

/// FLD ST(i).
pub(super) fn load_register(x: &mut X87, i: u8) {
    if x.empty(i) {
        if x.stack_fault(false) {
            x.push(INDEFINITE);
        }
    } else {
        let value = x.st(i);
        x.load(value, 0);
    }
}
