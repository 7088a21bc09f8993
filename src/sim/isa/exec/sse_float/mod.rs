//! Floating-point arithmetic of SSE to SSE4.1 in legacy encoding: everything that MXCSR governs.
//!
//! The instructions read here as lists of lanes; what happens in a lane is [`softfloat`](crate::sim::isa::softfloat).
//! Exceptions of all lanes are gathered first: an unmasked one leaves the destination alone.
use super::{
    Answer, address, read_integer, read_xmm, sign_extend, store_integer, write_register, xmm_number,
};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::arithmetic::{add, div, mul, sqrt, sub};
use crate::sim::isa::softfloat::compare::{Relation, compare, max, min};
use crate::sim::isa::softfloat::convert::{convert, from_integer, round_to_integral, to_integer};
use crate::sim::isa::softfloat::{Env, F32, F64, Format, Rounding};
use crate::sim::isa::state::F80;
use crate::sim::memory::Fault;
use iced_x86::{Code, Instruction, OpKind, Register};

pub(super) mod approximate;
#[cfg(all(test, target_arch = "x86_64"))]
mod host;

/// The bits of MXCSR that may be set.
const MXCSR_MASK: u32 = 0xffff;

/// What an instruction without a jump gives.
pub(super) type Done = Result<Flow, Fault>;

/// A format that stands in lanes of an XMM register.
pub(super) trait Lane: Format {
    /// Bits of a lane.
    const BITS: u32;
    /// The number with these low bits.
    fn from_low(bits: u128) -> Self;
    /// Its bits.
    fn low(self) -> u128;
}

impl Lane for F32 {
    const BITS: u32 = 32;
    fn from_low(bits: u128) -> Self {
        Self(bits as u32)
    }
    fn low(self) -> u128 {
        u128::from(self.0)
    }
}

impl Lane for F64 {
    const BITS: u32 = 64;
    fn from_low(bits: u128) -> Self {
        Self(bits as u64)
    }
    fn low(self) -> u128 {
        u128::from(self.0)
    }
}

/// Lane `i` of a register.
pub(super) fn lane<F: Lane>(register: u128, i: u32) -> F {
    F::from_low(register >> (i * F::BITS))
}

/// Puts a register together from its lanes, from lane 0 on.
pub(super) fn lanes<F: Lane>(count: u32, mut of: impl FnMut(u32) -> F) -> u128 {
    (0..count).fold(0, |register, i| register | of(i).low() << (i * F::BITS))
}

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    Some(match insn.code() {
        Code::Addps_xmm_xmmm128 => packed(cx, insn, add::<F32>),
        Code::Addpd_xmm_xmmm128 => packed(cx, insn, add::<F64>),
        Code::Addss_xmm_xmmm32 => scalar(cx, insn, add::<F32>),
        Code::Addsd_xmm_xmmm64 => scalar(cx, insn, add::<F64>),
        Code::Subps_xmm_xmmm128 => packed(cx, insn, sub::<F32>),
        Code::Subpd_xmm_xmmm128 => packed(cx, insn, sub::<F64>),
        Code::Subss_xmm_xmmm32 => scalar(cx, insn, sub::<F32>),
        Code::Subsd_xmm_xmmm64 => scalar(cx, insn, sub::<F64>),
        Code::Mulps_xmm_xmmm128 => packed(cx, insn, mul::<F32>),
        Code::Mulpd_xmm_xmmm128 => packed(cx, insn, mul::<F64>),
        Code::Mulss_xmm_xmmm32 => scalar(cx, insn, mul::<F32>),
        Code::Mulsd_xmm_xmmm64 => scalar(cx, insn, mul::<F64>),
        Code::Divps_xmm_xmmm128 => packed(cx, insn, div::<F32>),
        Code::Divpd_xmm_xmmm128 => packed(cx, insn, div::<F64>),
        Code::Divss_xmm_xmmm32 => scalar(cx, insn, div::<F32>),
        Code::Divsd_xmm_xmmm64 => scalar(cx, insn, div::<F64>),
        Code::Minps_xmm_xmmm128 => packed(cx, insn, min::<F32>),
        Code::Minpd_xmm_xmmm128 => packed(cx, insn, min::<F64>),
        Code::Minss_xmm_xmmm32 => scalar(cx, insn, min::<F32>),
        Code::Minsd_xmm_xmmm64 => scalar(cx, insn, min::<F64>),
        Code::Maxps_xmm_xmmm128 => packed(cx, insn, max::<F32>),
        Code::Maxpd_xmm_xmmm128 => packed(cx, insn, max::<F64>),
        Code::Maxss_xmm_xmmm32 => scalar(cx, insn, max::<F32>),
        Code::Maxsd_xmm_xmmm64 => scalar(cx, insn, max::<F64>),
        Code::Sqrtps_xmm_xmmm128 => packed(cx, insn, |_, b: F32, env| sqrt(b, env)),
        Code::Sqrtpd_xmm_xmmm128 => packed(cx, insn, |_, b: F64, env| sqrt(b, env)),
        Code::Sqrtss_xmm_xmmm32 => scalar(cx, insn, |_, b: F32, env| sqrt(b, env)),
        Code::Sqrtsd_xmm_xmmm64 => scalar(cx, insn, |_, b: F64, env| sqrt(b, env)),
        Code::Rcpps_xmm_xmmm128 => packed(cx, insn, |_, b, _| approximate::reciprocal(b)),
        Code::Rcpss_xmm_xmmm32 => scalar(cx, insn, |_, b, _| approximate::reciprocal(b)),
        Code::Rsqrtps_xmm_xmmm128 => packed(cx, insn, |_, b, _| approximate::reciprocal_root(b)),
        Code::Rsqrtss_xmm_xmmm32 => scalar(cx, insn, |_, b, _| approximate::reciprocal_root(b)),
        Code::Cmpps_xmm_xmmm128_imm8 => packed(cx, insn, predicate::<F32>(insn)),
        Code::Cmppd_xmm_xmmm128_imm8 => packed(cx, insn, predicate::<F64>(insn)),
        Code::Cmpss_xmm_xmmm32_imm8 => scalar(cx, insn, predicate::<F32>(insn)),
        Code::Cmpsd_xmm_xmmm64_imm8 => scalar(cx, insn, predicate::<F64>(insn)),
        Code::Roundps_xmm_xmmm128_imm8 => packed(cx, insn, rounding::<F32>(insn)),
        Code::Roundpd_xmm_xmmm128_imm8 => packed(cx, insn, rounding::<F64>(insn)),
        Code::Roundss_xmm_xmmm32_imm8 => scalar(cx, insn, rounding::<F32>(insn)),
        Code::Roundsd_xmm_xmmm64_imm8 => scalar(cx, insn, rounding::<F64>(insn)),
        Code::Addsubps_xmm_xmmm128 => alternating::<F32>(cx, insn),
        Code::Addsubpd_xmm_xmmm128 => alternating::<F64>(cx, insn),
        Code::Haddps_xmm_xmmm128 => horizontal(cx, insn, add::<F32>),
        Code::Haddpd_xmm_xmmm128 => horizontal(cx, insn, add::<F64>),
        Code::Hsubps_xmm_xmmm128 => horizontal(cx, insn, sub::<F32>),
        Code::Hsubpd_xmm_xmmm128 => horizontal(cx, insn, sub::<F64>),
        Code::Dpps_xmm_xmmm128_imm8 => dot_product::<F32>(cx, insn),
        Code::Dppd_xmm_xmmm128_imm8 => dot_product::<F64>(cx, insn),
        Code::Comiss_xmm_xmmm32 => compare_to_flags::<F32>(cx, insn, true),
        Code::Comisd_xmm_xmmm64 => compare_to_flags::<F64>(cx, insn, true),
        Code::Ucomiss_xmm_xmmm32 => compare_to_flags::<F32>(cx, insn, false),
        Code::Ucomisd_xmm_xmmm64 => compare_to_flags::<F64>(cx, insn, false),
        Code::Cvtss2sd_xmm_xmmm32 => scalar_to_scalar::<F32, F64>(cx, insn),
        Code::Cvtsd2ss_xmm_xmmm64 => scalar_to_scalar::<F64, F32>(cx, insn),
        Code::Cvtsi2ss_xmm_rm32 => integer_to_scalar::<F32>(cx, insn, 4),
        Code::Cvtsi2ss_xmm_rm64 => integer_to_scalar::<F32>(cx, insn, 8),
        Code::Cvtsi2sd_xmm_rm32 => integer_to_scalar::<F64>(cx, insn, 4),
        Code::Cvtsi2sd_xmm_rm64 => integer_to_scalar::<F64>(cx, insn, 8),
        Code::Cvtss2si_r32_xmmm32 => scalar_to_integer::<F32>(cx, insn, 4, false),
        Code::Cvtss2si_r64_xmmm32 => scalar_to_integer::<F32>(cx, insn, 8, false),
        Code::Cvtsd2si_r32_xmmm64 => scalar_to_integer::<F64>(cx, insn, 4, false),
        Code::Cvtsd2si_r64_xmmm64 => scalar_to_integer::<F64>(cx, insn, 8, false),
        Code::Cvttss2si_r32_xmmm32 => scalar_to_integer::<F32>(cx, insn, 4, true),
        Code::Cvttss2si_r64_xmmm32 => scalar_to_integer::<F32>(cx, insn, 8, true),
        Code::Cvttsd2si_r32_xmmm64 => scalar_to_integer::<F64>(cx, insn, 4, true),
        Code::Cvttsd2si_r64_xmmm64 => scalar_to_integer::<F64>(cx, insn, 8, true),
        Code::Cvtps2pd_xmm_xmmm64 => convert_low(cx, insn, |source, env| {
            lanes(2, |i| convert::<F32, F64>(lane(source, i), true, env))
        }),
        Code::Cvtdq2pd_xmm_xmmm64 => convert_low(cx, insn, |source, env| {
            lanes(2, |i| from_i32::<F64>(source, i, env))
        }),
        Code::Cvtpd2ps_xmm_xmmm128 => convert_all(cx, insn, |source, env| {
            lanes(2, |i| convert::<F64, F32>(lane(source, i), true, env))
        }),
        Code::Cvtdq2ps_xmm_xmmm128 => convert_all(cx, insn, |source, env| {
            lanes(4, |i| from_i32::<F32>(source, i, env))
        }),
        Code::Cvtps2dq_xmm_xmmm128 => convert_all(cx, insn, |source, env| {
            to_i32s::<F32>(source, 4, false, env)
        }),
        Code::Cvttps2dq_xmm_xmmm128 => {
            convert_all(cx, insn, |source, env| to_i32s::<F32>(source, 4, true, env))
        }
        Code::Cvtpd2dq_xmm_xmmm128 => convert_all(cx, insn, |source, env| {
            to_i32s::<F64>(source, 2, false, env)
        }),
        Code::Cvttpd2dq_xmm_xmmm128 => {
            convert_all(cx, insn, |source, env| to_i32s::<F64>(source, 2, true, env))
        }
        Code::Cvtpi2ps_xmm_mmm64 => mmx_to_packed::<F32>(cx, insn),
        Code::Cvtpi2pd_xmm_mmm64 => mmx_to_packed::<F64>(cx, insn),
        Code::Cvtps2pi_mm_xmmm64 => packed_to_mmx::<F32>(cx, insn, false),
        Code::Cvttps2pi_mm_xmmm64 => packed_to_mmx::<F32>(cx, insn, true),
        Code::Cvtpd2pi_mm_xmmm128 => packed_to_mmx::<F64>(cx, insn, false),
        Code::Cvttpd2pi_mm_xmmm128 => packed_to_mmx::<F64>(cx, insn, true),
        Code::Ldmxcsr_m32 => load_mxcsr(cx, insn),
        Code::Stmxcsr_m32 => store_mxcsr(cx, insn),
        _ => return None,
    })
}

/// The environment of the next operation.
pub(super) fn environment(cx: &Context) -> Env {
    Env::from_mxcsr(cx.cpu.mxcsr())
}

/// Records the exceptions of all lanes of a step. An error where one of them is unmasked: the destination must not
/// change then. Exceptions that are found before the result keep those of the result from being recorded.
pub(super) fn settle(cx: &mut Context, mut env: Env) -> Result<(), Fault> {
    env.stopped_before_result();
    cx.cpu.raise_mxcsr(u32::from(env.flags));
    if env.unmasked() != 0 {
        Err(Fault::SimdFloat)
    } else {
        Ok(())
    }
}

/// The low lane of a register, or a number in memory, which need not be aligned.
pub(super) fn read_scalar<F: Lane>(
    cx: &mut Context,
    insn: &Instruction,
    operand: u32,
) -> Result<F, Fault> {
    if insn.op_kind(operand) == OpKind::Register {
        return Ok(lane(cx.cpu.xmm(xmm_number(insn, operand)), 0));
    }
    read_integer(cx, insn, operand, u64::from(F::BITS / 8)).map(|bits| F::from_low(bits.into()))
}

/// The low half of a register, or eight bytes of memory, which need not be aligned.
fn read_half(cx: &mut Context, insn: &Instruction, operand: u32) -> Result<u128, Fault> {
    read_scalar::<F64>(cx, insn, operand).map(Lane::low)
}

/// Replaces the low lane of a register.
fn write_scalar<F: Lane>(cx: &mut Context, register: u8, value: F) {
    let kept = cx.cpu.xmm(register) >> F::BITS << F::BITS;
    cx.cpu.set_xmm(register, kept | value.low());
}

/// Each lane of the first operand becomes `f` of the lanes of both.
fn packed<F: Lane>(cx: &mut Context, insn: &Instruction, f: impl Fn(F, F, &mut Env) -> F) -> Done {
    let b = read_xmm(cx, insn, 1, true)?;
    let to = xmm_number(insn, 0);
    let a = cx.cpu.xmm(to);
    let mut env = environment(cx);
    let result = lanes(128 / F::BITS, |i| f(lane(a, i), lane(b, i), &mut env));
    settle(cx, env)?;
    cx.cpu.set_xmm(to, result);
    Ok(Flow::Next)
}

/// The low lane of the first operand becomes `f` of the low lanes of both.
fn scalar<F: Lane>(cx: &mut Context, insn: &Instruction, f: impl Fn(F, F, &mut Env) -> F) -> Done {
    let b = read_scalar(cx, insn, 1)?;
    let to = xmm_number(insn, 0);
    let mut env = environment(cx);
    let result = f(lane(cx.cpu.xmm(to), 0), b, &mut env);
    settle(cx, env)?;
    write_scalar(cx, to, result);
    Ok(Flow::Next)
}

/// Which relations make each of the sixteen predicates of CMPxx hold: bits for less, equal, greater and unordered.
const PREDICATES: [u8; 16] = [2, 1, 3, 8, 13, 14, 12, 7, 10, 9, 11, 0, 5, 6, 4, 15];

/// The predicate of a legacy CMPxx, of whose immediate three bits count.
fn predicate<F: Lane>(insn: &Instruction) -> impl Fn(F, F, &mut Env) -> F + use<F> {
    comparison(insn.immediate8() & 7)
}

/// All ones where one of the 32 predicates holds, else zero. Those from 16 on are the first sixteen with the other
/// answer to the question whether quiet NaNs raise IE.
pub(super) fn comparison<F: Lane>(predicate: u8) -> impl Fn(F, F, &mut Env) -> F + use<F> {
    let holds_for = PREDICATES[usize::from(predicate & 15)];
    // "Less" and "less or equal" are questions about order, which no NaN can answer: IE even for quiet ones.
    let signaling = matches!(predicate & 3, 1 | 2) != (predicate & 16 != 0);
    move |a, b, env| {
        let relation = match compare(a, b, signaling, env) {
            Relation::Less => 1,
            Relation::Equal => 2,
            Relation::Greater => 4,
            Relation::Unordered => 8,
        };
        F::from_low(if holds_for & relation != 0 {
            u128::MAX
        } else {
            0
        })
    }
}

/// ROUNDxx: bits 1:0 of the immediate are the direction, unless bit 2 says to take that of MXCSR; bit 3 keeps PE down.
pub(super) fn rounding<F: Lane>(insn: &Instruction) -> impl Fn(F, F, &mut Env) -> F + use<F> {
    let control = u32::from(insn.immediate8());
    move |_, b, env| {
        let direction = if control & 4 != 0 {
            env.rounding
        } else {
            Rounding::from_field(control)
        };
        round_to_integral(b, direction, control & 8 != 0, false, env)
    }
}

/// ADDSUBxx.
fn alternating<F: Lane>(cx: &mut Context, insn: &Instruction) -> Done {
    whole(cx, insn, alternate::<F>)
}

/// Even lanes are subtracted, odd ones added.
pub(super) fn alternate<F: Lane>(a: u128, b: u128, env: &mut Env) -> u128 {
    lanes::<F>(128 / F::BITS, |i| {
        let f = if i % 2 == 0 { sub } else { add };
        f(lane(a, i), lane(b, i), env)
    })
}

/// HADDxx, HSUBxx.
fn horizontal<F: Lane>(
    cx: &mut Context,
    insn: &Instruction,
    f: impl Fn(F, F, &mut Env) -> F,
) -> Done {
    whole(cx, insn, |a, b, env| neighbours(a, b, &f, env))
}

/// `f` of neighbouring lanes, those of the first operand below those of the second.
pub(super) fn neighbours<F: Lane>(
    a: u128,
    b: u128,
    f: impl Fn(F, F, &mut Env) -> F,
    env: &mut Env,
) -> u128 {
    let count = 128 / F::BITS;
    lanes(count, |i| {
        let (source, first) = if i < count / 2 {
            (a, 2 * i)
        } else {
            (b, 2 * i - count)
        };
        f(lane(source, first), lane(source, first + 1), env)
    })
}

/// The first operand becomes `f` of both.
fn whole(cx: &mut Context, insn: &Instruction, f: impl Fn(u128, u128, &mut Env) -> u128) -> Done {
    let b = read_xmm(cx, insn, 1, true)?;
    let to = xmm_number(insn, 0);
    let mut env = environment(cx);
    let result = f(cx.cpu.xmm(to), b, &mut env);
    settle(cx, env)?;
    cx.cpu.set_xmm(to, result);
    Ok(Flow::Next)
}

/// DPPS, DPPD.
fn dot_product<F: Lane>(cx: &mut Context, insn: &Instruction) -> Done {
    let b = read_xmm(cx, insn, 1, true)?;
    let to = xmm_number(insn, 0);
    let [result] = dot_products::<F, 1>(cx, [cx.cpu.xmm(to)], [b], insn.immediate8())?;
    cx.cpu.set_xmm(to, result);
    Ok(Flow::Next)
}

/// In each of `N` registers: the products that bits 7:4 of `control` choose, summed pairwise, go to the lanes that bits
/// 3:0 choose. Products and each level of sums are steps of their own with their own exceptions.
pub(super) fn dot_products<F: Lane, const N: usize>(
    cx: &mut Context,
    a: [u128; N],
    b: [u128; N],
    control: u8,
) -> Result<[u128; N], Fault> {
    let mut count = 128 / F::BITS;
    let mut env = environment(cx);
    let mut terms: [u128; N] = std::array::from_fn(|half| {
        lanes::<F>(count, |i| {
            if control >> (4 + i) & 1 != 0 {
                mul(lane(a[half], i), lane(b[half], i), &mut env)
            } else {
                F::zero(false)
            }
        })
    });
    settle(cx, env)?;
    while count > 1 {
        count /= 2;
        let mut env = environment(cx);
        terms = terms.map(|terms| {
            lanes::<F>(count, |i| {
                add(lane(terms, 2 * i), lane(terms, 2 * i + 1), &mut env)
            })
        });
        settle(cx, env)?;
    }
    Ok(terms.map(|terms| {
        lanes::<F>(128 / F::BITS, |i| {
            if control >> i & 1 != 0 {
                lane(terms, 0)
            } else {
                F::zero(false)
            }
        })
    }))
}

/// COMISx, UCOMISx: ZF, PF and CF tell the relation; OF, SF and AF are cleared.
pub(super) fn compare_to_flags<F: Lane>(
    cx: &mut Context,
    insn: &Instruction,
    signaling: bool,
) -> Done {
    use crate::sim::isa::flags::{CF, PF, ZF};
    let b = read_scalar::<F>(cx, insn, 1)?;
    let a = lane(cx.cpu.xmm(xmm_number(insn, 0)), 0);
    let mut env = environment(cx);
    let relation = compare(a, b, signaling, &mut env);
    settle(cx, env)?;
    cx.cpu.flags.set_status(match relation {
        Relation::Unordered => ZF | PF | CF,
        Relation::Less => CF,
        Relation::Equal => ZF,
        Relation::Greater => 0,
    });
    Ok(Flow::Next)
}

/// CVTSS2SD, CVTSD2SS.
fn scalar_to_scalar<A: Lane, B: Lane>(cx: &mut Context, insn: &Instruction) -> Done {
    let source = read_scalar::<A>(cx, insn, 1)?;
    let mut env = environment(cx);
    let result = convert::<A, B>(source, true, &mut env);
    settle(cx, env)?;
    write_scalar(cx, xmm_number(insn, 0), result);
    Ok(Flow::Next)
}

/// CVTSI2SS, CVTSI2SD from `size` bytes.
fn integer_to_scalar<F: Lane>(cx: &mut Context, insn: &Instruction, size: u64) -> Done {
    let source = read_integer(cx, insn, 1, size)?;
    let mut env = environment(cx);
    let result = from_integer::<F>(sign_extend(source, size) as i64, &mut env);
    settle(cx, env)?;
    write_scalar(cx, xmm_number(insn, 0), result);
    Ok(Flow::Next)
}

/// CVT(T)SS2SI, CVT(T)SD2SI to `size` bytes.
pub(super) fn scalar_to_integer<F: Lane>(
    cx: &mut Context,
    insn: &Instruction,
    size: u64,
    truncate: bool,
) -> Done {
    let source = read_scalar::<F>(cx, insn, 1)?;
    let mut env = environment(cx);
    let direction = if truncate {
        Rounding::Zero
    } else {
        env.rounding
    };
    let result = to_integer(source, 8 * size as u32, direction, &mut env);
    settle(cx, env)?;
    write_register(cx, insn.op_register(0), size, result as u64);
    Ok(Flow::Next)
}

/// Lane `i` of 32-bit integers as a number.
pub(super) fn from_i32<F: Lane>(source: u128, i: u32, env: &mut Env) -> F {
    from_integer(i64::from((source >> (32 * i)) as i32), env)
}

/// The low `count` lanes as 32-bit integers.
pub(super) fn to_i32s<F: Lane>(source: u128, count: u32, truncate: bool, env: &mut Env) -> u128 {
    let direction = if truncate {
        Rounding::Zero
    } else {
        env.rounding
    };
    (0..count).fold(0, |register, i| {
        let integer = to_integer(lane::<F>(source, i), 32, direction, env) as u32;
        register | u128::from(integer) << (32 * i)
    })
}

/// A conversion that reads eight bytes.
fn convert_low(cx: &mut Context, insn: &Instruction, f: impl Fn(u128, &mut Env) -> u128) -> Done {
    let source = read_half(cx, insn, 1)?;
    convert_source(cx, insn, source, f)
}

/// A conversion that reads sixteen bytes.
fn convert_all(cx: &mut Context, insn: &Instruction, f: impl Fn(u128, &mut Env) -> u128) -> Done {
    let source = read_xmm(cx, insn, 1, true)?;
    convert_source(cx, insn, source, f)
}

/// The whole first operand becomes `f` of the source.
fn convert_source(
    cx: &mut Context,
    insn: &Instruction,
    source: u128,
    f: impl Fn(u128, &mut Env) -> u128,
) -> Done {
    let mut env = environment(cx);
    let result = f(source, &mut env);
    settle(cx, env)?;
    cx.cpu.set_xmm(xmm_number(insn, 0), result);
    Ok(Flow::Next)
}

/// The physical x87 register that is an MMX register.
fn mmx_number(register: Register) -> usize {
    register.number() & 7
}

/// #MF for an x87 exception that is still pending, as before every instruction that uses MMX registers.
fn check_pending_x87(cx: &Context) -> Result<(), Fault> {
    let pending = cx.cpu.x87.status & 0x3f & !cx.cpu.x87.control != 0;
    if pending {
        Err(Fault::X87Float)
    } else {
        Ok(())
    }
}

/// What every MMX instruction does to the x87 unit.
fn enter_mmx(cx: &mut Context) {
    cx.cpu.x87.top = 0;
    cx.cpu.x87.valid = 0xff;
}

/// CVTPI2PS (which keeps the upper half of its destination), CVTPI2PD. With a memory operand no MMX register takes
/// part, and the x87 unit is left alone.
fn mmx_to_packed<F: Lane>(cx: &mut Context, insn: &Instruction) -> Done {
    let from_register = insn.op_kind(1) == OpKind::Register;
    let source = if from_register {
        check_pending_x87(cx)?;
        cx.cpu.x87.registers[mmx_number(insn.op_register(1))].significand
    } else {
        read_integer(cx, insn, 1, 8)?
    };
    let mut env = environment(cx);
    let result = lanes::<F>(2, |i| from_i32(source.into(), i, &mut env));
    settle(cx, env)?;
    if from_register {
        enter_mmx(cx);
    }
    let to = xmm_number(insn, 0);
    // Two lanes are the lower half, or all of it.
    let written = u128::MAX >> (128 - 2 * F::BITS);
    cx.cpu.set_xmm(to, cx.cpu.xmm(to) & !written | result);
    Ok(Flow::Next)
}

/// CVT(T)PS2PI, CVT(T)PD2PI.
fn packed_to_mmx<F: Lane>(cx: &mut Context, insn: &Instruction, truncate: bool) -> Done {
    check_pending_x87(cx)?;
    let source = if F::BITS == 32 {
        read_half(cx, insn, 1)?
    } else {
        read_xmm(cx, insn, 1, true)?
    };
    let mut env = environment(cx);
    let result = to_i32s::<F>(source, 2, truncate, &mut env);
    settle(cx, env)?;
    enter_mmx(cx);
    cx.cpu.x87.registers[mmx_number(insn.op_register(0))] = F80 {
        sign_exponent: 0xffff,
        significand: result as u64,
    };
    Ok(Flow::Next)
}

/// LDMXCSR: #GP for reserved bits.
pub(super) fn load_mxcsr(cx: &mut Context, insn: &Instruction) -> Done {
    let value = read_integer(cx, insn, 0, 4)? as u32;
    if value & !MXCSR_MASK != 0 {
        return Err(Fault::GeneralProtection);
    }
    cx.cpu.set_mxcsr(value);
    Ok(Flow::Next)
}

/// STMXCSR.
pub(super) fn store_mxcsr(cx: &mut Context, insn: &Instruction) -> Done {
    let at = address(cx, insn);
    store_integer(cx, at, 4, cx.cpu.mxcsr().into())?;
    Ok(Flow::Next)
}
