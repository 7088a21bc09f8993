//! FMA: products and sums with one rounding.
use super::{per_half, read, write};
use crate::sim::isa::exec::sse_float::{Done, Lane, environment, lane, lanes, read_scalar, settle};
use crate::sim::isa::exec::{Answer, xmm_number};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::arithmetic::fused_multiply_add;
use crate::sim::isa::softfloat::{Env, F32, F64};
use iced_x86::{Instruction, Mnemonic};

/// Which operands of the instruction, from 0 on, are the factors and the summand.
type Order = [usize; 3];
const O132: Order = [0, 2, 1];
const O213: Order = [1, 0, 2];
const O231: Order = [1, 2, 0];

/// What is negated.
#[derive(Clone, Copy)]
struct Signs {
    product: bool,
    summand: bool,
}
const ADD: Signs = Signs {
    product: false,
    summand: false,
};
const SUB: Signs = Signs {
    product: false,
    summand: true,
};
const NEGATED_ADD: Signs = Signs {
    product: true,
    summand: false,
};
const NEGATED_SUB: Signs = Signs {
    product: true,
    summand: true,
};

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    Some(match insn.mnemonic() {
        M::Vfmadd132ps => packed::<F32>(cx, insn, O132, ADD, ADD),
        M::Vfmadd132pd => packed::<F64>(cx, insn, O132, ADD, ADD),
        M::Vfmadd132ss => scalar::<F32>(cx, insn, O132, ADD),
        M::Vfmadd132sd => scalar::<F64>(cx, insn, O132, ADD),
        M::Vfmadd213ps => packed::<F32>(cx, insn, O213, ADD, ADD),
        M::Vfmadd213pd => packed::<F64>(cx, insn, O213, ADD, ADD),
        M::Vfmadd213ss => scalar::<F32>(cx, insn, O213, ADD),
        M::Vfmadd213sd => scalar::<F64>(cx, insn, O213, ADD),
        M::Vfmadd231ps => packed::<F32>(cx, insn, O231, ADD, ADD),
        M::Vfmadd231pd => packed::<F64>(cx, insn, O231, ADD, ADD),
        M::Vfmadd231ss => scalar::<F32>(cx, insn, O231, ADD),
        M::Vfmadd231sd => scalar::<F64>(cx, insn, O231, ADD),
        M::Vfmsub132ps => packed::<F32>(cx, insn, O132, SUB, SUB),
        M::Vfmsub132pd => packed::<F64>(cx, insn, O132, SUB, SUB),
        M::Vfmsub132ss => scalar::<F32>(cx, insn, O132, SUB),
        M::Vfmsub132sd => scalar::<F64>(cx, insn, O132, SUB),
        M::Vfmsub213ps => packed::<F32>(cx, insn, O213, SUB, SUB),
        M::Vfmsub213pd => packed::<F64>(cx, insn, O213, SUB, SUB),
        M::Vfmsub213ss => scalar::<F32>(cx, insn, O213, SUB),
        M::Vfmsub213sd => scalar::<F64>(cx, insn, O213, SUB),
        M::Vfmsub231ps => packed::<F32>(cx, insn, O231, SUB, SUB),
        M::Vfmsub231pd => packed::<F64>(cx, insn, O231, SUB, SUB),
        M::Vfmsub231ss => scalar::<F32>(cx, insn, O231, SUB),
        M::Vfmsub231sd => scalar::<F64>(cx, insn, O231, SUB),
        M::Vfnmadd132ps => packed::<F32>(cx, insn, O132, NEGATED_ADD, NEGATED_ADD),
        M::Vfnmadd132pd => packed::<F64>(cx, insn, O132, NEGATED_ADD, NEGATED_ADD),
        M::Vfnmadd132ss => scalar::<F32>(cx, insn, O132, NEGATED_ADD),
        M::Vfnmadd132sd => scalar::<F64>(cx, insn, O132, NEGATED_ADD),
        M::Vfnmadd213ps => packed::<F32>(cx, insn, O213, NEGATED_ADD, NEGATED_ADD),
        M::Vfnmadd213pd => packed::<F64>(cx, insn, O213, NEGATED_ADD, NEGATED_ADD),
        M::Vfnmadd213ss => scalar::<F32>(cx, insn, O213, NEGATED_ADD),
        M::Vfnmadd213sd => scalar::<F64>(cx, insn, O213, NEGATED_ADD),
        M::Vfnmadd231ps => packed::<F32>(cx, insn, O231, NEGATED_ADD, NEGATED_ADD),
        M::Vfnmadd231pd => packed::<F64>(cx, insn, O231, NEGATED_ADD, NEGATED_ADD),
        M::Vfnmadd231ss => scalar::<F32>(cx, insn, O231, NEGATED_ADD),
        M::Vfnmadd231sd => scalar::<F64>(cx, insn, O231, NEGATED_ADD),
        M::Vfnmsub132ps => packed::<F32>(cx, insn, O132, NEGATED_SUB, NEGATED_SUB),
        M::Vfnmsub132pd => packed::<F64>(cx, insn, O132, NEGATED_SUB, NEGATED_SUB),
        M::Vfnmsub132ss => scalar::<F32>(cx, insn, O132, NEGATED_SUB),
        M::Vfnmsub132sd => scalar::<F64>(cx, insn, O132, NEGATED_SUB),
        M::Vfnmsub213ps => packed::<F32>(cx, insn, O213, NEGATED_SUB, NEGATED_SUB),
        M::Vfnmsub213pd => packed::<F64>(cx, insn, O213, NEGATED_SUB, NEGATED_SUB),
        M::Vfnmsub213ss => scalar::<F32>(cx, insn, O213, NEGATED_SUB),
        M::Vfnmsub213sd => scalar::<F64>(cx, insn, O213, NEGATED_SUB),
        M::Vfnmsub231ps => packed::<F32>(cx, insn, O231, NEGATED_SUB, NEGATED_SUB),
        M::Vfnmsub231pd => packed::<F64>(cx, insn, O231, NEGATED_SUB, NEGATED_SUB),
        M::Vfnmsub231ss => scalar::<F32>(cx, insn, O231, NEGATED_SUB),
        M::Vfnmsub231sd => scalar::<F64>(cx, insn, O231, NEGATED_SUB),
        M::Vfmaddsub132ps => packed::<F32>(cx, insn, O132, SUB, ADD),
        M::Vfmaddsub132pd => packed::<F64>(cx, insn, O132, SUB, ADD),
        M::Vfmaddsub213ps => packed::<F32>(cx, insn, O213, SUB, ADD),
        M::Vfmaddsub213pd => packed::<F64>(cx, insn, O213, SUB, ADD),
        M::Vfmaddsub231ps => packed::<F32>(cx, insn, O231, SUB, ADD),
        M::Vfmaddsub231pd => packed::<F64>(cx, insn, O231, SUB, ADD),
        M::Vfmsubadd132ps => packed::<F32>(cx, insn, O132, ADD, SUB),
        M::Vfmsubadd132pd => packed::<F64>(cx, insn, O132, ADD, SUB),
        M::Vfmsubadd213ps => packed::<F32>(cx, insn, O213, ADD, SUB),
        M::Vfmsubadd213pd => packed::<F64>(cx, insn, O213, ADD, SUB),
        M::Vfmsubadd231ps => packed::<F32>(cx, insn, O231, ADD, SUB),
        M::Vfmsubadd231pd => packed::<F64>(cx, insn, O231, ADD, SUB),
        _ => return None,
    })
}

/// The number with its sign flipped, but a NaN as it is: its sign would otherwise show in the result.
fn negated<F: Lane>(value: F, negate: bool) -> F {
    if !negate || value.unpack().is_nan() {
        return value;
    }
    F::from_low(value.low() ^ 1 << (F::BITS - 1))
}

fn fused<F: Lane>(operands: [F; 3], order: Order, signs: Signs, env: &mut Env) -> F {
    let [a, b, c] = order.map(|i| operands[i]);
    fused_multiply_add(negated(a, signs.product), b, negated(c, signs.summand), env)
}

/// Lanes with an even number are computed with one choice of signs, the others with the other.
fn packed<F: Lane>(
    cx: &mut Context,
    insn: &Instruction,
    order: Order,
    even: Signs,
    odd: Signs,
) -> Done {
    let operands = [read(cx, insn, 0)?, read(cx, insn, 1)?, read(cx, insn, 2)?];
    let mut env = environment(cx);
    let mut half = 0;
    let result = per_half(insn, [0; 2], [0; 2], |_, _| {
        let of_half = operands.map(|vector| vector[half]);
        half += 1;
        lanes::<F>(128 / F::BITS, |i| {
            let signs = if i % 2 == 0 { even } else { odd };
            fused(of_half.map(|v| lane(v, i)), order, signs, &mut env)
        })
    });
    settle(cx, env)?;
    write(cx, insn, result);
    Ok(Flow::Next)
}

/// The lanes above the low one are those of the first operand.
fn scalar<F: Lane>(cx: &mut Context, insn: &Instruction, order: Order, signs: Signs) -> Done {
    let last = read_scalar::<F>(cx, insn, 2)?;
    let [first, second] = [0, 1].map(|i| cx.cpu.xmm(xmm_number(insn, i)));
    let mut env = environment(cx);
    let operands = [lane(first, 0), lane(second, 0), last];
    let result = fused(operands, order, signs, &mut env);
    settle(cx, env)?;
    write(cx, insn, [first >> F::BITS << F::BITS | result.low(), 0]);
    Ok(Flow::Next)
}
