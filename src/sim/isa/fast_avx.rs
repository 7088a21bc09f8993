//! Fast handlers for VEX instructions: moves, lane operations, and arithmetic where the host computes what the guest does.
//!
//! The first source stands in the upper half of [`Op::imm`], and the lower half numbers the instruction in
//! [`SideTables::slow`](super::op::SideTables::slow), as any handler may hand over to the complete path. The second
//! source is [`Op::base`], or memory. `WIDE` handlers work on YMM registers.
use super::exec::avx::lanes::{form, immediates};
use super::exec::sse_integer::arithmetic;
use super::exec::sse_integer::table::Form;
use super::exec::{gpr_number, vec_number};
use super::fast::{
    FADD, FDIV, FMUL, FSUB, Float, Int, cvtt_float_to_int, empty, exact, fault, fcomi_rm, fcomi_rr,
    lanes_f32, lanes_f64, low, set_address, set_low, slow,
};
use super::op::{Context, Flow, Handler, LaneOp, Op};
use super::state::Vector;
use crate::sim::memory::{Fault, PAGE_SIZE, Recording, Scalar, Silent};
use iced_x86::{Instruction, Mnemonic, OpKind};

/// The complete path.
#[cold]
#[inline(never)]
fn complete(cx: &mut Context, op: &Op) -> Flow {
    let plain = Op {
        imm: op.imm & 0xffff_ffff,
        ..*op
    };
    slow(cx, &plain)
}

#[inline(always)]
fn first(op: &Op) -> u8 {
    (op.imm >> 32) as u8
}

/// Loads 16 or 32 bytes; the rest is zero.
#[inline(always)]
fn load<R: Recording, const WIDE: bool>(cx: &mut Context, at: u64) -> Result<Vector, Fault> {
    let low = cx.mem.load::<u128, R>(at)?;
    let high = if WIDE {
        cx.mem.load::<u128, R>(at.wrapping_add(16))?
    } else {
        0
    };
    Ok([low, high])
}

/// The second source without recording its load, and its address if it is memory: the complete path may load it again.
#[inline(always)]
fn second<const WIDE: bool, const MEMORY: bool>(
    cx: &mut Context,
    op: &Op,
) -> Result<(Vector, u64), Fault> {
    if !MEMORY {
        return Ok((cx.cpu.vec[op.base], 0));
    }
    let at = op.address(&cx.cpu);
    load::<Silent, WIDE>(cx, at).map(|value| (value, at))
}

/// As [`second`], of the low lane.
#[inline(always)]
fn second_low<F: Float, const MEMORY: bool>(cx: &mut Context, op: &Op) -> Result<(F, u64), Fault> {
    if !MEMORY {
        return Ok((low(cx.cpu.vec[op.base][0]), 0));
    }
    let at = op.address(&cx.cpu);
    let bits = cx.mem.load::<F::Bits, Silent>(at)?;
    Ok((F::from_bits(bits), at))
}

/// Records the load of [`second`] once it is sure that the complete path will not.
#[inline(always)]
fn record<R: Recording, const WIDE: bool, const MEMORY: bool>(cx: &mut Context, at: u64) {
    if R::ON && MEMORY {
        cx.mem.record_load(at, 16);
        if WIDE {
            cx.mem.record_load(at.wrapping_add(16), 16);
        }
    }
}

#[inline(always)]
fn write<const WIDE: bool>(cx: &mut Context, op: &Op, [low, high]: Vector) {
    cx.cpu.vec[op.dst] = [low, if WIDE { high } else { 0 }];
}

// ---- moves -----------------------------------------------------------------------------------------------------------

fn move_rr<const WIDE: bool>(cx: &mut Context, op: &Op) -> Flow {
    let value = cx.cpu.vec[op.base];
    write::<WIDE>(cx, op, value);
    Flow::Next
}

fn move_rm<R: Recording, const WIDE: bool, const ALIGNED: bool>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    if ALIGNED && at & if WIDE { 31 } else { 15 } != 0 {
        return fault(cx, Fault::GeneralProtection);
    }
    match load::<R, WIDE>(cx, at) {
        Ok(value) => {
            write::<WIDE>(cx, op, value);
            Flow::Next
        }
        Err(f) => fault(cx, f),
    }
}

fn move_mr<R: Recording, const WIDE: bool, const ALIGNED: bool>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    if ALIGNED && at & if WIDE { 31 } else { 15 } != 0 {
        return fault(cx, Fault::GeneralProtection);
    }
    let [low, high] = cx.cpu.vec[op.dst];
    if WIDE && at % PAGE_SIZE > PAGE_SIZE - 32 {
        return complete(cx, op);
    }
    let mut stale = match cx.mem.store_checked::<u128, R>(at, low) {
        Ok(stale) => stale,
        Err(f) => return fault(cx, f),
    };
    if WIDE {
        // On the same page, so it cannot fault where the first half did not.
        stale |= match cx.mem.store_checked::<u128, R>(at.wrapping_add(16), high) {
            Ok(stale) => stale,
            Err(f) => return fault(cx, f),
        };
    }
    if stale { Flow::Stop } else { Flow::Next }
}

/// VMOVSS, VMOVSD, VMOVD, VMOVQ from memory.
fn load_low<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    match cx.mem.load::<T, R>(at) {
        Ok(value) => {
            cx.cpu.vec[op.dst] = [u128::from(value.to_u64()), 0];
            Flow::Next
        }
        Err(f) => fault(cx, f),
    }
}

fn store_low<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let value = T::from_u64(cx.cpu.vec[op.dst][0] as u64);
    match cx.mem.store_checked::<T, R>(at, value) {
        Ok(true) => Flow::Stop,
        Ok(false) => Flow::Next,
        Err(f) => fault(cx, f),
    }
}

fn from_gpr<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let value = T::from_u64(cx.cpu.gpr[op.base]).to_u64();
    cx.cpu.vec[op.dst] = [u128::from(value), 0];
    Flow::Next
}

fn to_gpr<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let value = T::from_u64(cx.cpu.vec[op.base][0] as u64);
    T::put(&mut cx.cpu.gpr[op.dst], value);
    Flow::Next
}

fn zero_upper(cx: &mut Context, _op: &Op) -> Flow {
    for i in 0..16 {
        cx.cpu.vec[i][1] = 0;
    }
    Flow::Next
}

fn byte_mask<const WIDE: bool>(cx: &mut Context, op: &Op) -> Flow {
    let [low, high] = cx.cpu.vec[op.base];
    let high = if WIDE { arithmetic::pmovmskb(high) } else { 0 };
    cx.cpu.gpr[op.dst] = arithmetic::pmovmskb(low) | high << 16;
    Flow::Next
}

// ---- lane operations -------------------------------------------------------------------------------------------------

/// The low half of [`Op::imm`] numbers the operation in the lane table: there is nothing to hand over here.
#[inline(always)]
fn lane<R: Recording, const WIDE: bool, const MEMORY: bool>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let b = if MEMORY {
        match load::<R, WIDE>(cx, at) {
            Ok(value) => value,
            Err(f) => return fault(cx, f),
        }
    } else {
        cx.cpu.vec[op.base]
    };
    let mut a = cx.cpu.vec[first(op)];
    match cx.side.lanes[(op.imm & 0xffff_ffff) as usize] {
        LaneOp::Binary(f) => {
            f(&mut a[0], &b[0]);
            if WIDE {
                f(&mut a[1], &b[1]);
            }
        }
        LaneOp::Immediate(f, immediate) => {
            f(&mut a[0], &b[0], immediate);
            if WIDE {
                f(&mut a[1], &b[1], immediate);
            }
        }
        LaneOp::Constant(f, constant) => {
            f(&mut a[0], &constant);
            if WIDE {
                f(&mut a[1], &constant);
            }
        }
    }
    write::<WIDE>(cx, op, a);
    Flow::Next
}

fn lane_rr<const WIDE: bool>(cx: &mut Context, op: &Op) -> Flow {
    lane::<Silent, WIDE, false>(cx, op)
}

fn lane_rm<R: Recording, const WIDE: bool>(cx: &mut Context, op: &Op) -> Flow {
    lane::<R, WIDE, true>(cx, op)
}

// ---- floating point --------------------------------------------------------------------------------------------------

/// A width whose lanes this file can take through a register.
trait Lanes: Float {
    fn binary<const OP: u8>(a: u128, b: u128) -> Option<u128>;
    const COUNT: u32;
}
impl Lanes for f32 {
    #[inline(always)]
    fn binary<const OP: u8>(a: u128, b: u128) -> Option<u128> {
        lanes_f32::<OP>(a, b)
    }
    const COUNT: u32 = 4;
}
impl Lanes for f64 {
    #[inline(always)]
    fn binary<const OP: u8>(a: u128, b: u128) -> Option<u128> {
        lanes_f64::<OP>(a, b)
    }
    const COUNT: u32 = 2;
}

fn scalar<F: Float, R: Recording, const OP: u8, const MEMORY: bool>(
    cx: &mut Context,
    op: &Op,
) -> Flow {
    if cx.cpu.fp_fast {
        let (b, at) = match second_low::<F, MEMORY>(cx, op) {
            Ok(found) => found,
            Err(f) => return fault(cx, f),
        };
        let mut a = cx.cpu.vec[first(op)][0];
        if let Some(result) = exact::<F, OP>(low(a), b) {
            set_low(&mut a, result);
            cx.cpu.vec[op.dst] = [a, 0];
            if R::ON && MEMORY {
                cx.mem.record_load(at, F::Bits::SIZE as u8);
            }
            return Flow::Next;
        }
    }
    complete(cx, op)
}

fn packed<F: Lanes, R: Recording, const OP: u8, const WIDE: bool, const MEMORY: bool>(
    cx: &mut Context,
    op: &Op,
) -> Flow {
    if cx.cpu.fp_fast {
        let (b, at) = match second::<WIDE, MEMORY>(cx, op) {
            Ok(found) => found,
            Err(f) => return fault(cx, f),
        };
        let a = cx.cpu.vec[first(op)];
        let high = if WIDE {
            F::binary::<OP>(a[1], b[1])
        } else {
            Some(0)
        };
        if let (Some(low), Some(high)) = (F::binary::<OP>(a[0], b[0]), high) {
            cx.cpu.vec[op.dst] = [low, high];
            record::<R, WIDE, MEMORY>(cx, at);
            return Flow::Next;
        }
    }
    complete(cx, op)
}

/// Factors and summand among the operands 0, 1, 2, a digit each, from the manual's names.
const O132: u8 = 0;
const O213: u8 = 1;
const O231: u8 = 2;

/// The fused result where the host gives it with the flags that the guest would: plain operands, and a result that is
/// neither tiny nor zero.
#[inline(always)]
fn fuse<F: Float, const ORDER: u8, const PRODUCT: bool, const SUMMAND: bool>(
    operands: [F; 3],
) -> Option<F> {
    let [x, y, z] = operands;
    if !(x.is_plain() && y.is_plain() && z.is_plain()) {
        return None;
    }
    let (a, b, c) = match ORDER {
        O132 => (x, z, y),
        O213 => (y, x, z),
        _ => (y, z, x),
    };
    let a = if PRODUCT { a.negative() } else { a };
    let c = if SUMMAND { c.negative() } else { c };
    let result = a.fused(b, c);
    result.is_safe_result().then_some(result)
}

fn fused_scalar<
    F: Float,
    R: Recording,
    const ORDER: u8,
    const PRODUCT: bool,
    const SUMMAND: bool,
    const MEMORY: bool,
>(
    cx: &mut Context,
    op: &Op,
) -> Flow {
    if cx.cpu.fp_fast {
        let (z, at) = match second_low::<F, MEMORY>(cx, op) {
            Ok(found) => found,
            Err(f) => return fault(cx, f),
        };
        let mut x = cx.cpu.vec[op.dst][0];
        let y = low(cx.cpu.vec[first(op)][0]);
        if let Some(result) = fuse::<F, ORDER, PRODUCT, SUMMAND>([low(x), y, z]) {
            set_low(&mut x, result);
            cx.cpu.vec[op.dst] = [x, 0];
            if R::ON && MEMORY {
                cx.mem.record_load(at, F::Bits::SIZE as u8);
            }
            return Flow::Next;
        }
    }
    complete(cx, op)
}

fn fused_packed<
    F: Lanes,
    R: Recording,
    const ORDER: u8,
    const PRODUCT: bool,
    const SUMMAND: bool,
    const WIDE: bool,
    const MEMORY: bool,
>(
    cx: &mut Context,
    op: &Op,
) -> Flow {
    if cx.cpu.fp_fast {
        let (z, at) = match second::<WIDE, MEMORY>(cx, op) {
            Ok(found) => found,
            Err(f) => return fault(cx, f),
        };
        let operands = [cx.cpu.vec[op.dst], cx.cpu.vec[first(op)], z];
        let half = |half: usize| -> Option<u128> {
            let width = 128 / F::COUNT;
            let mut out = 0;
            for i in 0..F::COUNT {
                let lane = operands.map(|v| low::<F>(v[half] >> (i * width)));
                let result = fuse::<F, ORDER, PRODUCT, SUMMAND>(lane)?;
                out |= u128::from(result.to_bits().to_u64()) << (i * width);
            }
            Some(out)
        };
        let high = if WIDE { half(1) } else { Some(0) };
        if let (Some(low), Some(high)) = (half(0), high) {
            cx.cpu.vec[op.dst] = [low, high];
            record::<R, WIDE, MEMORY>(cx, at);
            return Flow::Next;
        }
    }
    complete(cx, op)
}

/// VCVTSI2SD from a register: exact from 32 bits, otherwise rounded as the host does.
fn int_to_float<T: Int, F: Float>(cx: &mut Context, op: &Op) -> Flow {
    if !cx.cpu.fp_fast {
        return complete(cx, op);
    }
    let shift = 64 - (8 << T::WIDTH);
    let value = ((cx.cpu.gpr[op.base] << shift) as i64) >> shift;
    let mut a = cx.cpu.vec[first(op)][0];
    set_low(&mut a, F::from_i64(value));
    cx.cpu.vec[op.dst] = [a, 0];
    Flow::Next
}

// ---- translation -----------------------------------------------------------------------------------------------------

/// The operation of a VEX instruction in a block that begins at `entry`; `slot` is its number in the table of the
/// complete path.
pub(super) fn translate<R: Recording>(
    insn: &Instruction,
    entry: u64,
    slot: usize,
    lanes: &mut Vec<LaneOp>,
) -> Option<Op> {
    let mut op = empty(complete);
    op.imm = slot as i64;
    if let Some(form) = form(insn) {
        return translate_lanes::<R>(insn, entry, form, lanes);
    }
    op.handler = translate_move::<R>(&mut op, insn, entry)
        .or_else(|| translate_float::<R>(&mut op, insn, entry))?;
    Some(op)
}

/// Whether the last operand is memory, having set the operands: destination, first source, second source.
fn three(op: &mut Op, insn: &Instruction, entry: u64) -> Option<bool> {
    op.dst = vec_number(insn.op0_register());
    op.imm |= i64::from(vec_number(insn.op1_register())) << 32;
    if insn.op2_kind() == OpKind::Memory {
        return set_address(op, insn, entry).then_some(true);
    }
    op.base = vec_number(insn.op2_register());
    Some(false)
}

fn translate_lanes<R: Recording>(
    insn: &Instruction,
    entry: u64,
    form: Form,
    lanes: &mut Vec<LaneOp>,
) -> Option<Op> {
    let mut op = empty(complete);
    op.imm = lanes.len() as i64;
    let wide = insn.op0_register().is_ymm();
    let two = insn.op_count() == 2 || insn.op_count() == 3 && insn.op2_kind() == OpKind::Immediate8;
    let constant = matches!(form, Form::XmmCount(_));
    let entry_of_table = match form {
        Form::Xmm(f) => LaneOp::Binary(f),
        Form::XmmImmediate(f) => match immediates(insn) {
            [low, high] if low == high || !wide => LaneOp::Immediate(f, low),
            _ => return None,
        },
        Form::XmmCount(f) => LaneOp::Constant(f, u128::from(insn.immediate8())),
        _ => return None,
    };
    // The last vector operand must be as wide as the first: not the count of a shift.
    let last = if two { 1 } else { 2 };
    let last_is_wide = match insn.op_kind(last) {
        OpKind::Memory => insn.memory_size().size() == 32,
        _ => insn.op_register(last).is_ymm(),
    };
    if last_is_wide != wide {
        return None;
    }
    op.dst = vec_number(insn.op0_register());
    let memory = insn.op_kind(last) == OpKind::Memory;
    if memory {
        if !set_address(&mut op, insn, entry) {
            return None;
        }
    } else {
        op.base = vec_number(insn.op_register(last));
    }
    if !two || constant {
        op.imm |= i64::from(vec_number(insn.op1_register())) << 32;
    }
    op.handler = match (memory, wide) {
        (false, false) => lane_rr::<false>,
        (false, true) => lane_rr::<true>,
        (true, false) => lane_rm::<R, false>,
        (true, true) => lane_rm::<R, true>,
    };
    lanes.push(entry_of_table);
    Some(op)
}

fn translate_move<R: Recording>(op: &mut Op, insn: &Instruction, entry: u64) -> Option<Handler> {
    use Mnemonic as M;
    let kinds = (insn.op0_kind(), insn.op1_kind());
    let (r0, r1) = (insn.op0_register(), insn.op1_register());
    // The register that moves, and the address of the other operand.
    let load = kinds == (OpKind::Register, OpKind::Memory);
    let store = kinds == (OpKind::Memory, OpKind::Register);
    let scalar = |op: &mut Op, four: bool| -> Option<Handler> {
        if !set_address(op, insn, entry) {
            return None;
        }
        op.dst = vec_number(if load { r0 } else { r1 });
        Some(match (load, four) {
            (true, true) => load_low::<u32, R>,
            (true, false) => load_low::<u64, R>,
            (false, true) => store_low::<u32, R>,
            (false, false) => store_low::<u64, R>,
        })
    };
    match insn.mnemonic() {
        M::Vmovaps | M::Vmovapd | M::Vmovdqa | M::Vmovups | M::Vmovupd | M::Vmovdqu | M::Vlddqu => {
            let aligned = matches!(insn.mnemonic(), M::Vmovaps | M::Vmovapd | M::Vmovdqa);
            if load || store {
                if !set_address(op, insn, entry) {
                    return None;
                }
                let register = if load { r0 } else { r1 };
                op.dst = vec_number(register);
                return Some(match (load, register.is_ymm(), aligned) {
                    (true, false, false) => move_rm::<R, false, false>,
                    (true, false, true) => move_rm::<R, false, true>,
                    (true, true, false) => move_rm::<R, true, false>,
                    (true, true, true) => move_rm::<R, true, true>,
                    (false, false, false) => move_mr::<R, false, false>,
                    (false, false, true) => move_mr::<R, false, true>,
                    (false, true, false) => move_mr::<R, true, false>,
                    (false, true, true) => move_mr::<R, true, true>,
                });
            }
            (op.dst, op.base) = (vec_number(r0), vec_number(r1));
            Some(if r0.is_ymm() {
                move_rr::<true>
            } else {
                move_rr::<false>
            })
        }
        M::Vmovss if load || store => scalar(op, true),
        M::Vmovsd if load || store => scalar(op, false),
        M::Vmovd if load || store => scalar(op, true),
        M::Vmovq if load || store => scalar(op, false),
        M::Vmovd | M::Vmovq if r1.is_gpr() => {
            (op.dst, op.base) = (vec_number(r0), gpr_number(r1));
            Some(if insn.mnemonic() == M::Vmovd {
                from_gpr::<u32>
            } else {
                from_gpr::<u64>
            })
        }
        M::Vmovd | M::Vmovq if r0.is_gpr() => {
            (op.dst, op.base) = (gpr_number(r0), vec_number(r1));
            Some(if insn.mnemonic() == M::Vmovd {
                to_gpr::<u32>
            } else {
                to_gpr::<u64>
            })
        }
        M::Vzeroupper => Some(zero_upper),
        M::Vpmovmskb => {
            (op.dst, op.base) = (gpr_number(r0), vec_number(r1));
            Some(if r1.is_ymm() {
                byte_mask::<true>
            } else {
                byte_mask::<false>
            })
        }
        _ => None,
    }
}

fn translate_float<R: Recording>(op: &mut Op, insn: &Instruction, entry: u64) -> Option<Handler> {
    use Mnemonic as M;
    let wide = insn.op0_register().is_ymm();
    macro_rules! by_shape {
        (scalar, $name:ident, $($parameter:tt),*) => {
            match three(op, insn, entry)? {
                false => $name::<$($parameter,)* false>,
                true => $name::<$($parameter,)* true>,
            }
        };
        (packed, $name:ident, $($parameter:tt),*) => {
            match (wide, three(op, insn, entry)?) {
                (false, false) => $name::<$($parameter,)* false, false>,
                (false, true) => $name::<$($parameter,)* false, true>,
                (true, false) => $name::<$($parameter,)* true, false>,
                (true, true) => $name::<$($parameter,)* true, true>,
            }
        };
    }
    macro_rules! arithmetic {
        ($F:tt, scalar, $O:tt) => {
            by_shape!(scalar, scalar, $F, R, $O)
        };
        ($F:tt, packed, $O:tt) => {
            by_shape!(packed, packed, $F, R, $O)
        };
    }
    macro_rules! fused {
        ($F:tt, scalar, $O:tt, $P:tt, $S:tt) => {
            by_shape!(scalar, fused_scalar, $F, R, $O, $P, $S)
        };
        ($F:tt, packed, $O:tt, $P:tt, $S:tt) => {
            by_shape!(packed, fused_packed, $F, R, $O, $P, $S)
        };
    }
    macro_rules! compare {
        ($F:ty) => {{
            op.dst = vec_number(insn.op0_register());
            if insn.op1_kind() == OpKind::Memory {
                if !set_address(op, insn, entry) {
                    return None;
                }
                fcomi_rm::<$F, R>
            } else {
                op.base = vec_number(insn.op1_register());
                fcomi_rr::<$F>
            }
        }};
    }
    macro_rules! truncate {
        ($F:ty) => {{
            if insn.op1_kind() != OpKind::Register {
                return None;
            }
            op.dst = gpr_number(insn.op0_register());
            op.base = vec_number(insn.op1_register());
            if insn.op0_register().is_gpr64() {
                cvtt_float_to_int::<$F, u64>
            } else {
                cvtt_float_to_int::<$F, u32>
            }
        }};
    }
    macro_rules! convert {
        ($F:ty) => {{
            if insn.op2_kind() != OpKind::Register {
                return None;
            }
            op.dst = vec_number(insn.op0_register());
            op.imm |= i64::from(vec_number(insn.op1_register())) << 32;
            op.base = gpr_number(insn.op2_register());
            if insn.op2_register().is_gpr64() {
                int_to_float::<u64, $F>
            } else {
                int_to_float::<u32, $F>
            }
        }};
    }
    let handler: Handler = match insn.mnemonic() {
        M::Vaddps => arithmetic!(f32, packed, FADD),
        M::Vaddpd => arithmetic!(f64, packed, FADD),
        M::Vaddss => arithmetic!(f32, scalar, FADD),
        M::Vaddsd => arithmetic!(f64, scalar, FADD),
        M::Vsubps => arithmetic!(f32, packed, FSUB),
        M::Vsubpd => arithmetic!(f64, packed, FSUB),
        M::Vsubss => arithmetic!(f32, scalar, FSUB),
        M::Vsubsd => arithmetic!(f64, scalar, FSUB),
        M::Vmulps => arithmetic!(f32, packed, FMUL),
        M::Vmulpd => arithmetic!(f64, packed, FMUL),
        M::Vmulss => arithmetic!(f32, scalar, FMUL),
        M::Vmulsd => arithmetic!(f64, scalar, FMUL),
        M::Vdivps => arithmetic!(f32, packed, FDIV),
        M::Vdivpd => arithmetic!(f64, packed, FDIV),
        M::Vdivss => arithmetic!(f32, scalar, FDIV),
        M::Vdivsd => arithmetic!(f64, scalar, FDIV),
        M::Vfmadd132ps => fused!(f32, packed, O132, false, false),
        M::Vfmadd132pd => fused!(f64, packed, O132, false, false),
        M::Vfmadd132ss => fused!(f32, scalar, O132, false, false),
        M::Vfmadd132sd => fused!(f64, scalar, O132, false, false),
        M::Vfmadd213ps => fused!(f32, packed, O213, false, false),
        M::Vfmadd213pd => fused!(f64, packed, O213, false, false),
        M::Vfmadd213ss => fused!(f32, scalar, O213, false, false),
        M::Vfmadd213sd => fused!(f64, scalar, O213, false, false),
        M::Vfmadd231ps => fused!(f32, packed, O231, false, false),
        M::Vfmadd231pd => fused!(f64, packed, O231, false, false),
        M::Vfmadd231ss => fused!(f32, scalar, O231, false, false),
        M::Vfmadd231sd => fused!(f64, scalar, O231, false, false),
        M::Vfmsub132ps => fused!(f32, packed, O132, false, true),
        M::Vfmsub132pd => fused!(f64, packed, O132, false, true),
        M::Vfmsub132ss => fused!(f32, scalar, O132, false, true),
        M::Vfmsub132sd => fused!(f64, scalar, O132, false, true),
        M::Vfmsub213ps => fused!(f32, packed, O213, false, true),
        M::Vfmsub213pd => fused!(f64, packed, O213, false, true),
        M::Vfmsub213ss => fused!(f32, scalar, O213, false, true),
        M::Vfmsub213sd => fused!(f64, scalar, O213, false, true),
        M::Vfmsub231ps => fused!(f32, packed, O231, false, true),
        M::Vfmsub231pd => fused!(f64, packed, O231, false, true),
        M::Vfmsub231ss => fused!(f32, scalar, O231, false, true),
        M::Vfmsub231sd => fused!(f64, scalar, O231, false, true),
        M::Vfnmadd132ps => fused!(f32, packed, O132, true, false),
        M::Vfnmadd132pd => fused!(f64, packed, O132, true, false),
        M::Vfnmadd132ss => fused!(f32, scalar, O132, true, false),
        M::Vfnmadd132sd => fused!(f64, scalar, O132, true, false),
        M::Vfnmadd213ps => fused!(f32, packed, O213, true, false),
        M::Vfnmadd213pd => fused!(f64, packed, O213, true, false),
        M::Vfnmadd213ss => fused!(f32, scalar, O213, true, false),
        M::Vfnmadd213sd => fused!(f64, scalar, O213, true, false),
        M::Vfnmadd231ps => fused!(f32, packed, O231, true, false),
        M::Vfnmadd231pd => fused!(f64, packed, O231, true, false),
        M::Vfnmadd231ss => fused!(f32, scalar, O231, true, false),
        M::Vfnmadd231sd => fused!(f64, scalar, O231, true, false),
        M::Vfnmsub132ps => fused!(f32, packed, O132, true, true),
        M::Vfnmsub132pd => fused!(f64, packed, O132, true, true),
        M::Vfnmsub132ss => fused!(f32, scalar, O132, true, true),
        M::Vfnmsub132sd => fused!(f64, scalar, O132, true, true),
        M::Vfnmsub213ps => fused!(f32, packed, O213, true, true),
        M::Vfnmsub213pd => fused!(f64, packed, O213, true, true),
        M::Vfnmsub213ss => fused!(f32, scalar, O213, true, true),
        M::Vfnmsub213sd => fused!(f64, scalar, O213, true, true),
        M::Vfnmsub231ps => fused!(f32, packed, O231, true, true),
        M::Vfnmsub231pd => fused!(f64, packed, O231, true, true),
        M::Vfnmsub231ss => fused!(f32, scalar, O231, true, true),
        M::Vfnmsub231sd => fused!(f64, scalar, O231, true, true),
        M::Vcomiss | M::Vucomiss => compare!(f32),
        M::Vcomisd | M::Vucomisd => compare!(f64),
        M::Vcvttss2si => truncate!(f32),
        M::Vcvttsd2si => truncate!(f64),
        M::Vcvtsi2ss => convert!(f32),
        M::Vcvtsi2sd => convert!(f64),
        _ => return None,
    };
    Some(handler)
}
