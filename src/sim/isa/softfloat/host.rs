//! Checks of the software arithmetic against the host processor: results and exception flags, bit for bit.
#![expect(
    unsafe_code,
    reason = "the oracle is the host's own SSE and x87 unit, reached by inline assembly"
)]
use super::arithmetic::{add, div, fused_multiply_add, mul, sqrt, sub};
use super::compare::{Relation, compare, max, min};
use super::convert::{convert, from_integer, round_to_integral, to_integer};
use super::extended::*;
use super::{BEFORE_RESULT, Env, F32, F64, Format, Rounding};
use crate::sim::isa::state::F80;
use std::arch::asm;

/// Random cases of each operation.
const CASES: u32 = 40_000;

/// Operands that are likely to meet corner cases (a splitmix64 sequence underneath).
pub(crate) struct Operands(pub(crate) u64);

impl Operands {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// A fraction of `bits` bits: none, one, all, few or random ones.
    fn fraction(&mut self, bits: u32) -> u64 {
        let all = u64::MAX >> (64 - bits);
        let top = 1u64 << (bits - 1);
        match self.below(12) {
            0 => 0,
            1 => 1,
            2 => all,
            3 => all - 1,
            4 => top,
            5 => top - 1,
            6 => top | 1,
            7 => 1 << self.below(u64::from(bits)),
            8 => all & !(all >> self.below(u64::from(bits))),
            9 => self.next() & self.next() & self.next() & all,
            _ => self.next() & all,
        }
    }
    fn exponent(&mut self, max: u64) -> u64 {
        let bias = max / 2;
        match self.below(10) {
            0 => 0,
            1 => max,
            2 => 1 + self.below(3),
            3 => max - 1 - self.below(3),
            4..=6 => bias - 4 + self.below(8),
            7 => bias + self.below(68).min(bias),
            _ => self.below(max + 1),
        }
    }
    pub(crate) fn f32(&mut self) -> u32 {
        let sign = (self.next() & 1) as u32;
        sign << 31 | (self.exponent(255) as u32) << 23 | self.fraction(23) as u32
    }
    pub(crate) fn f64(&mut self) -> u64 {
        (self.next() & 1) << 63 | self.exponent(2047) << 52 | self.fraction(52)
    }
    fn f80(&mut self) -> F80 {
        let sign = (self.next() & 1) as u16;
        let exponent = self.exponent(0x7fff) as u16;
        let integer = if self.below(16) == 0 {
            self.next() & 1
        } else {
            u64::from(exponent != 0)
        };
        F80 {
            sign_exponent: sign << 15 | exponent,
            significand: integer << 63 | self.fraction(63),
        }
    }
    /// A number that is often close to `other`.
    pub(crate) fn f32_near(&mut self, other: u32) -> u32 {
        match self.below(4) {
            0 => {
                other.wrapping_add((self.below(5) as u32).wrapping_sub(2))
                    ^ (self.next() as u32 & 1) << 31
            }
            1 => {
                self.f32() & 0x807f_ffff
                    | other.wrapping_add((self.below(60) as u32).wrapping_sub(30) << 23)
                        & 0x7f80_0000
            }
            _ => self.f32(),
        }
    }
    pub(crate) fn f64_near(&mut self, other: u64) -> u64 {
        match self.below(4) {
            0 => other.wrapping_add(self.below(5).wrapping_sub(2)) ^ (self.next() & 1) << 63,
            1 => {
                self.f64() & !(0x7ff << 52)
                    | other.wrapping_add(self.below(120).wrapping_sub(60) << 52) & 0x7ff << 52
            }
            _ => self.f64(),
        }
    }
    fn f80_near(&mut self, other: F80) -> F80 {
        let mut near = self.f80();
        match self.below(4) {
            0 => {
                near.sign_exponent = other.sign_exponent ^ (self.next() as u16 & 1) << 15;
                near.significand = other
                    .significand
                    .wrapping_add(self.below(5).wrapping_sub(2));
            }
            1 => {
                let exponent = other
                    .sign_exponent
                    .wrapping_add(self.below(130) as u16)
                    .wrapping_sub(65);
                near.sign_exponent = near.sign_exponent & 0x8000 | exponent & 0x7fff;
                near.significand |= u64::from(exponent & 0x7fff != 0) << 63;
            }
            _ => {}
        }
        near
    }
    /// MXCSR with all exceptions masked, and random rounding, DAZ, FTZ.
    pub(crate) fn mxcsr(&mut self) -> u32 {
        let r = self.next() as u32;
        0x1f80 | (r & 3) << 13 | (r >> 2 & 1) << 6 | (r >> 3 & 1) << 15
    }
    /// A control word with all exceptions masked, and random rounding and precision.
    fn control(&mut self) -> u16 {
        let r = self.next() as u16;
        0x7f | (r & 3) << 10 | [0, 2, 3, 3][usize::from(r >> 2 & 3)] << 8
    }
}

/// Runs one SSE instruction under an MXCSR; gives what a block of assembly left, and the flags.
macro_rules! sse {
    ($mxcsr:expr, $instruction:expr, $($operands:tt)*) => {{
        let mut state: u32 = $mxcsr;
        let reset: u32 = 0x1f80;
        // SAFETY: the instructions touch only the named registers, and MXCSR, which is set back.
        unsafe {
            asm!("ldmxcsr [{state}]", $instruction, "stmxcsr [{state}]", "ldmxcsr [{reset}]",
                state = in(reg) &raw mut state, reset = in(reg) &raw const reset, $($operands)*, options(nostack));
        }
        (state & 0x3f) as u8
    }};
}

/// A test of a two-operand instruction on 32- or 64-bit numbers.
macro_rules! sse_binary {
    ($name:ident, $instruction:literal, $float:ident, $draw:ident, $near:ident, $ours:expr) => {
        #[test]
        fn $name() {
            let mut draw = Operands(1);
            for _ in 0..CASES {
                let mxcsr = draw.mxcsr();
                let a = draw.$draw();
                let b = draw.$near(a);
                let mut x = $float::from_bits(a);
                let flags = sse!(mxcsr, concat!($instruction, " {x}, {y}"), x = inout(xmm_reg) x,
                    y = in(xmm_reg) $float::from_bits(b));
                let mut env = Env::from_mxcsr(mxcsr);
                let ours = $ours(a, b, &mut env);
                assert_eq!((ours, env.flags), (x.to_bits(), flags), "{a:#x} {b:#x} mxcsr {mxcsr:#x}: ours, host");
            }
        }
    };
}

macro_rules! sse_arithmetic {
    ($($name32:ident, $name64:ident, $base32:literal, $base64:literal, $op:ident;)*) => {$(
        sse_binary!($name32, $base32, f32, f32, f32_near, |a, b, e: &mut Env| $op(F32(a), F32(b), e).0);
        sse_binary!($name64, $base64, f64, f64, f64_near, |a, b, e: &mut Env| $op(F64(a), F64(b), e).0);
    )*};
}

sse_arithmetic! {
    sums_of_32_bits_are_those_of_the_host, sums_of_64_bits_are_those_of_the_host, "addss", "addsd", add;
    differences_of_32_bits_are_those_of_the_host, differences_of_64_bits_are_those_of_the_host, "subss", "subsd", sub;
    products_of_32_bits_are_those_of_the_host, products_of_64_bits_are_those_of_the_host, "mulss", "mulsd", mul;
    quotients_of_32_bits_are_those_of_the_host, quotients_of_64_bits_are_those_of_the_host, "divss", "divsd", div;
    minima_of_32_bits_are_those_of_the_host, minima_of_64_bits_are_those_of_the_host, "minss", "minsd", min;
    maxima_of_32_bits_are_those_of_the_host, maxima_of_64_bits_are_those_of_the_host, "maxss", "maxsd", max;
}
sse_binary!(
    roots_of_32_bits_are_those_of_the_host,
    "sqrtss",
    f32,
    f32,
    f32_near,
    |_, b, e: &mut Env| sqrt(F32(b), e).0
);
sse_binary!(
    roots_of_64_bits_are_those_of_the_host,
    "sqrtsd",
    f64,
    f64,
    f64_near,
    |_, b, e: &mut Env| sqrt(F64(b), e).0
);

#[test]
fn comparisons_are_those_of_the_host() {
    let mut draw = Operands(2);
    for _ in 0..CASES {
        let mxcsr = draw.mxcsr();
        let a = draw.f64();
        let b = draw.f64_near(a);
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        for signaling in [false, true] {
            let (zero, parity, carry): (u8, u8, u8);
            let flags = if signaling {
                sse!(mxcsr, "comisd {x}, {y}; setz {z}; setp {p}; setc {c}", x = in(xmm_reg) x, y = in(xmm_reg) y,
                    z = out(reg_byte) zero, p = out(reg_byte) parity, c = out(reg_byte) carry)
            } else {
                sse!(mxcsr, "ucomisd {x}, {y}; setz {z}; setp {p}; setc {c}", x = in(xmm_reg) x, y = in(xmm_reg) y,
                    z = out(reg_byte) zero, p = out(reg_byte) parity, c = out(reg_byte) carry)
            };
            let host = match (zero, parity, carry) {
                (1, 1, 1) => Relation::Unordered,
                (0, 0, 1) => Relation::Less,
                (1, 0, 0) => Relation::Equal,
                _ => Relation::Greater,
            };
            let mut env = Env::from_mxcsr(mxcsr);
            let ours = compare(F64(a), F64(b), signaling, &mut env);
            assert_eq!(
                (ours, env.flags),
                (host, flags),
                "{a:#x} {b:#x} mxcsr {mxcsr:#x} {signaling}: ours, host"
            );
        }
    }
}

#[test]
fn sse_conversions_are_those_of_the_host() {
    let mut draw = Operands(3);
    for _ in 0..CASES {
        let mxcsr = draw.mxcsr();
        let env = Env::from_mxcsr(mxcsr);
        let (a, b) = (draw.f32(), draw.f64());
        let (x, y) = (f32::from_bits(a), f64::from_bits(b));
        let at = format!("{a:#x} {b:#x} mxcsr {mxcsr:#x}: ours, host");

        let (wide, narrow): (f64, f32);
        let flags = sse!(mxcsr, "cvtss2sd {r}, {x}", x = in(xmm_reg) x, r = out(xmm_reg) wide);
        let mut e = env;
        assert_eq!(
            (convert::<F32, F64>(F32(a), true, &mut e).0, e.flags),
            (wide.to_bits(), flags),
            "{at}"
        );
        let flags = sse!(mxcsr, "cvtsd2ss {r}, {x}", x = in(xmm_reg) y, r = out(xmm_reg) narrow);
        let mut e = env;
        assert_eq!(
            (convert::<F64, F32>(F64(b), true, &mut e).0, e.flags),
            (narrow.to_bits(), flags),
            "{at}"
        );

        macro_rules! integers {
            ($($instruction:literal, $source:expr, $ours:expr, $integer:ty, $truncate:literal;)*) => {$(
                let r: $integer;
                let flags = sse!(mxcsr, $instruction, x = in(xmm_reg) $source, r = out(reg) r);
                let mut e = env;
                let rounding = if $truncate { Rounding::Zero } else { e.rounding };
                let ours = to_integer($ours, <$integer>::BITS, rounding, &mut e);
                assert_eq!((ours as $integer, e.flags), (r, flags), "{at}");
            )*};
        }
        integers! {
            "cvtss2si {r:e}, {x}", x, F32(a), i32, false;
            "cvtss2si {r}, {x}", x, F32(a), i64, false;
            "cvtsd2si {r:e}, {x}", y, F64(b), i32, false;
            "cvtsd2si {r}, {x}", y, F64(b), i64, false;
            "cvttss2si {r:e}, {x}", x, F32(a), i32, true;
            "cvttss2si {r}, {x}", x, F32(a), i64, true;
            "cvttsd2si {r:e}, {x}", y, F64(b), i32, true;
            "cvttsd2si {r}, {x}", y, F64(b), i64, true;
        }

        let integer = (draw.next() as i64) >> draw.below(64);
        let (wide, narrow): (f64, f32);
        let flags = sse!(mxcsr, "cvtsi2sd {r}, {x}", x = in(reg) integer, r = out(xmm_reg) wide);
        let mut e = env;
        assert_eq!(
            (from_integer::<F64>(integer, &mut e).0, e.flags),
            (wide.to_bits(), flags),
            "{integer} {at}"
        );
        let flags = sse!(mxcsr, "cvtsi2ss {r}, {x}", x = in(reg) integer, r = out(xmm_reg) narrow);
        let mut e = env;
        assert_eq!(
            (from_integer::<F32>(integer, &mut e).0, e.flags),
            (narrow.to_bits(), flags),
            "{integer} {at}"
        );
    }
}

#[test]
fn integral_values_are_those_of_the_host() {
    let mut draw = Operands(4);
    for _ in 0..CASES {
        let mxcsr = draw.mxcsr();
        let env = Env::from_mxcsr(mxcsr);
        let (a, b) = (draw.f32(), draw.f64());
        macro_rules! roundings {
            ($($control:literal, $rounding:expr, $suppress:literal;)*) => {$(
                let (mut x, mut y) = (f32::from_bits(a), f64::from_bits(b));
                let flags = sse!(mxcsr, concat!("roundss {x}, {x}, ", $control), x = inout(xmm_reg) x);
                let mut e = env;
                let ours = round_to_integral(F32(a), $rounding, $suppress, false, &mut e);
                assert_eq!((ours.0, e.flags), (x.to_bits(), flags), "{a:#x} mxcsr {mxcsr:#x}: ours, host");
                let flags = sse!(mxcsr, concat!("roundsd {x}, {x}, ", $control), x = inout(xmm_reg) y);
                let mut e = env;
                let ours = round_to_integral(F64(b), $rounding, $suppress, false, &mut e);
                assert_eq!((ours.0, e.flags), (y.to_bits(), flags), "{b:#x} mxcsr {mxcsr:#x}: ours, host");
            )*};
        }
        roundings! {
            "0", Rounding::NearestEven, false;
            "1", Rounding::Down, false;
            "2", Rounding::Up, false;
            "3", Rounding::Zero, false;
            "4", env.rounding, false;
            "9", Rounding::Down, true;
            "12", env.rounding, true;
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn fused_multiply_add_is_that_of_the_host() {
    if !std::arch::is_x86_feature_detected!("fma") {
        eprintln!("skipped: the host has no FMA");
        return;
    }
    let mut draw = Operands(5);
    macro_rules! forms {
        ($mxcsr:ident, $a:ident, $b:ident, $c:ident, $float:ident, $wrap:ident, $($instruction:literal, $order:expr;)*) => {$(
            let (mut x, y, z) = ($float::from_bits($a), $float::from_bits($b), $float::from_bits($c));
            let flags = sse!($mxcsr, concat!($instruction, " {x}, {y}, {z}"), x = inout(xmm_reg) x,
                y = in(xmm_reg) y, z = in(xmm_reg) z);
            let mut env = Env::from_mxcsr($mxcsr);
            let [p, q, r] = $order;
            let ours = fused_multiply_add($wrap(p), $wrap(q), $wrap(r), &mut env).0;
            assert_eq!((ours, env.flags), (x.to_bits(), flags),
                "{} {:#x} {:#x} {:#x} mxcsr {:#x}: ours, host", $instruction, $a, $b, $c, $mxcsr);
        )*};
    }
    for _ in 0..CASES {
        let mxcsr = draw.mxcsr();
        let (a, b) = (draw.f64(), draw.f64());
        // Often close to the product, so that most of it cancels.
        let c = draw.f64_near((f64::from_bits(a) * f64::from_bits(b)).to_bits());
        // The order of the arguments also says which NaN goes first.
        forms! { mxcsr, a, b, c, f64, F64,
            "vfmadd213sd", [b, a, c];
            "vfmadd132sd", [a, c, b];
            "vfmadd231sd", [b, c, a];
        }
        let (a, b) = (draw.f32(), draw.f32());
        let c = draw.f32_near((f32::from_bits(a) * f32::from_bits(b)).to_bits());
        forms! { mxcsr, a, b, c, f32, F32,
            "vfmadd213ss", [b, a, c];
            "vfmadd132ss", [a, c, b];
            "vfmadd231ss", [b, c, a];
        }
    }
}

/// Ten bytes as FLD and FSTP m80 see them, with room.
type Memory = [u8; 16];

fn to_memory(value: F80) -> Memory {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value.significand.to_le_bytes());
    bytes[8..10].copy_from_slice(&value.sign_exponent.to_le_bytes());
    bytes
}
fn from_memory(bytes: Memory) -> F80 {
    let bits = u128::from_le_bytes(bytes);
    F80 {
        significand: bits as u64,
        sign_exponent: (bits >> 64) as u16,
    }
}

/// Loads ST1 = b and ST0 = a, runs an instruction under a control word, and gives the status word; pending exceptions
/// are cleared before `$after` stores what the test wants.
macro_rules! x87 {
    ($control:expr, $a:expr, $b:expr, $instruction:literal, $after:literal, $result:expr) => {{
        let (a, b, control) = (to_memory($a), to_memory($b), $control);
        let status: u16;
        // SAFETY: reads and writes the named variables; the x87 stack is empty before and after.
        unsafe {
            asm!("fninit", "fldcw [{control}]", "fld tbyte ptr [{b}]", "fld tbyte ptr [{a}]",
                $instruction, "fnstsw ax", "fnclex", $after, "fninit",
                control = in(reg) &raw const control, a = in(reg) &raw const a, b = in(reg) &raw const b,
                r = in(reg) $result, out("ax") status, options(nostack),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _);
        }
        status
    }};
}

/// Flags and C1 of a status word, and of an environment.
fn status_of(status: u16) -> (u8, bool) {
    (status as u8 & 0x3f, status & 0x200 != 0)
}

macro_rules! x87_binary {
    ($($name:ident, $instruction:literal, $ours:expr;)*) => {$(
        #[test]
        fn $name() {
            let mut draw = Operands(6);
            for i in 0..2 * CASES {
                // In a part of the cases some exceptions are unmasked: wrapped exponents, unchanged operands.
                let unmasked = if i % 4 == 0 { draw.next() as u16 & 0x3f } else { 0 };
                let control = draw.control() & !unmasked;
                let a = draw.f80();
                let b = draw.f80_near(a);
                let mut result = Memory::default();
                let status = x87!(control, a, b, $instruction, "fstp tbyte ptr [{r}]", &raw mut result);
                let mut env = Env::from_x87_control(control);
                let ours: F80 = $ours(a, b, &mut env);
                let stopped = env.stopped_before_result();
                let ours = if stopped { a } else { ours };
                let ours = (ours, env.flags, env.rounded_up);
                let (flags, up) = status_of(status);
                assert_eq!(ours, (from_memory(result), flags, up), "{a:x?} {b:x?} control {control:#x}: ours, host");
            }
        }
    )*};
}

x87_binary! {
    sums_of_80_bits_are_those_of_the_host, "fadd st(0), st(1)", f80_add;
    differences_of_80_bits_are_those_of_the_host, "fsub st(0), st(1)", f80_sub;
    products_of_80_bits_are_those_of_the_host, "fmul st(0), st(1)", f80_mul;
    quotients_of_80_bits_are_those_of_the_host, "fdiv st(0), st(1)", f80_div;
    roots_of_80_bits_are_those_of_the_host, "fsqrt", |a, _, e: &mut Env| f80_sqrt(a, e);
    integral_values_of_80_bits_are_those_of_the_host, "frndint", |a, _, e: &mut Env| f80_round_to_int(a, e);
}

#[test]
fn comparisons_of_80_bits_are_those_of_the_host() {
    let mut draw = Operands(7);
    for _ in 0..CASES {
        let a = draw.f80();
        let b = draw.f80_near(a);
        let mut unused = Memory::default();
        for signaling in [false, true] {
            let after = &raw mut unused;
            let status = if signaling {
                x87!(0x37fu16, a, b, "fcom st(1)", "fstp tbyte ptr [{r}]", after)
            } else {
                x87!(0x37fu16, a, b, "fucom st(1)", "fstp tbyte ptr [{r}]", after)
            };
            let host = match status & 0x4500 {
                0x4500 => Relation::Unordered,
                0x100 => Relation::Less,
                0x4000 => Relation::Equal,
                _ => Relation::Greater,
            };
            let mut env = Env::default();
            let ours = f80_compare(a, b, signaling, &mut env);
            assert_eq!(
                (ours, env.flags),
                (host, status as u8 & 0x3f),
                "{a:x?} {b:x?} {signaling}: ours, host"
            );
        }
    }
}

#[test]
fn conversions_from_80_bits_are_those_of_the_host() {
    let mut draw = Operands(8);
    for i in 0..2 * CASES {
        let unmasked = if i % 4 == 0 {
            draw.next() as u16 & 0x3f
        } else {
            0
        };
        let control = draw.control() & !unmasked;
        let a = draw.f80();
        let a = match draw.below(3) {
            0 => F80 {
                sign_exponent: a.sign_exponent & 0x8000 | (16383 - 160 + draw.below(320) as u16),
                ..a
            },
            1 => F80 {
                sign_exponent: a.sign_exponent & 0x8000 | (16383 - 1090 + draw.below(2180) as u16),
                ..a
            },
            _ => a,
        };
        macro_rules! stores {
            ($($instruction:literal, $integer:ty, $ours:expr;)*) => {$(
                // What is in memory before stays there if an unmasked exception keeps the store from happening.
                let mut result: $integer = 0x55;
                let status = x87!(control, a, a, $instruction, "fstp st(0)", &raw mut result);
                let mut env = Env::from_x87_control(control);
                let ours: $integer = $ours(&mut env);
                let stopped = env.stopped_before_result();
                let kept = stopped || env.unmasked() & !super::PE != 0;
                let ours = if kept { 0x55 } else { ours };
                let (flags, up) = status_of(status);
                assert_eq!((ours, env.flags, env.rounded_up), (result, flags, up),
                    "{a:x?} control {control:#x} {}: ours, host", $instruction);
            )*};
        }
        stores! {
            "fst dword ptr [{r}]", u32, |e: &mut Env| f80_to_f32(a, e);
            "fst qword ptr [{r}]", u64, |e: &mut Env| f80_to_f64(a, e);
            "fist word ptr [{r}]", i16, |e: &mut Env| f80_to_i16(a, false, e);
            "fist dword ptr [{r}]", i32, |e: &mut Env| f80_to_i32(a, false, e);
            "fistp qword ptr [{r}]", i64, |e: &mut Env| f80_to_i64(a, false, e);
            "fisttp word ptr [{r}]", i16, |e: &mut Env| f80_to_i16(a, true, e);
            "fisttp dword ptr [{r}]", i32, |e: &mut Env| f80_to_i32(a, true, e);
            "fisttp qword ptr [{r}]", i64, |e: &mut Env| f80_to_i64(a, true, e);
        }
    }
}

#[test]
fn conversions_to_80_bits_are_those_of_the_host() {
    let mut draw = Operands(9);
    let zero = F80::default();
    for _ in 0..CASES {
        let control = draw.control();
        let (a, b, c) = (
            draw.f32(),
            draw.f64(),
            (draw.next() as i64) >> draw.below(64),
        );
        // The operand follows the ten bytes that receive the result.
        let mut memory = [Memory::default(); 2];
        let result = &raw mut memory;
        macro_rules! loads {
            ($($instruction:literal, $bits:expr, $ours:expr;)*) => {$(
                memory[1][..8].copy_from_slice(&($bits as u64).to_le_bytes());
                let status = x87!(control, zero, zero, $instruction, "fstp tbyte ptr [{r}]", result);
                let mut env = Env::from_x87_control(control);
                let ours: F80 = $ours(&mut env);
                assert_eq!((ours, env.flags), (from_memory(memory[0]), status as u8 & 0x3f),
                    "{a:#x} {b:#x} {c} {}: ours, host", $instruction);
            )*};
        }
        loads! {
            "fld dword ptr [{r} + 16]", a, |e: &mut Env| f80_from_f32(a, e);
            "fld qword ptr [{r} + 16]", b, |e: &mut Env| f80_from_f64(b, e);
            "fild qword ptr [{r} + 16]", c, |e: &mut Env| f80_from_i64(c, e);
        }
    }
}

#[test]
fn x87_operands_from_memory_are_those_of_the_host() {
    let mut draw = Operands(10);
    for _ in 0..CASES {
        let control = draw.control();
        let (a, b, c) = (draw.f80(), draw.f32(), draw.f64());
        let mut memory = [Memory::default(); 2];
        let result = &raw mut memory;
        macro_rules! operands {
            ($($instruction:literal, $bits:expr, $ours:expr;)*) => {$(
                memory[1][..8].copy_from_slice(&u64::from($bits).to_le_bytes());
                let status = x87!(control, a, a, $instruction, "fstp tbyte ptr [{r}]", result);
                let mut env = Env::from_x87_control(control);
                let ours: F80 = $ours(&mut env);
                let (flags, up) = status_of(status);
                assert_eq!((ours, env.flags, env.rounded_up), (from_memory(memory[0]), flags, up),
                    "{a:x?} {b:#x} {c:#x} control {control:#x} {}: ours, host", $instruction);
            )*};
        }
        use super::arithmetic::Binary::{Add, Div, Mul, Sub};
        let (x, y, z) = (a.unpack(), F32(b).unpack(), F64(c).unpack());
        operands! {
            "fadd dword ptr [{r} + 16]", b, |e: &mut Env| f80_binary(Add, x, y, e);
            "fmul dword ptr [{r} + 16]", b, |e: &mut Env| f80_binary(Mul, x, y, e);
            "fsub qword ptr [{r} + 16]", c, |e: &mut Env| f80_binary(Sub, x, z, e);
            "fdivr qword ptr [{r} + 16]", c, |e: &mut Env| f80_binary(Div, z, x, e);
        }
    }
}

#[test]
fn exceptions_before_the_result_take_back_the_others() {
    let mut env = Env {
        masks: 0x3f & !super::DE,
        ..Env::default()
    };
    let tiny = F64(1);
    let _ = div(tiny, F64(3f64.to_bits()), &mut env);
    assert!(env.flags & !BEFORE_RESULT != 0);
    assert!(env.stopped_before_result());
    assert_eq!(env.flags, super::DE);
}
