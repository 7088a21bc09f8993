//! What crosses the halves of a register or has no legacy form: broadcasts, permutations, halves in and out, blends of
//! doublewords, shifts with a count for each lane.
use super::{is_wide, per_half, read, sources, store, write};
use crate::sim::isa::exec::Answer;
use crate::sim::isa::exec::sse_integer::lane::view;
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::Vector;
use crate::sim::memory::Fault;
use bytemuck::must_cast;
use iced_x86::{Instruction, Mnemonic, OpKind};
use std::array::from_fn;

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let done = match insn.mnemonic() {
        M::Vpbroadcastb => broadcast(cx, insn, 8),
        M::Vpbroadcastw => broadcast(cx, insn, 16),
        M::Vpbroadcastd | M::Vbroadcastss => broadcast(cx, insn, 32),
        M::Vpbroadcastq | M::Vbroadcastsd => broadcast(cx, insn, 64),
        M::Vbroadcastf128 | M::Vbroadcasti128 => broadcast(cx, insn, 128),
        M::Vinsertf128 | M::Vinserti128 => insert(cx, insn),
        M::Vextractf128 | M::Vextracti128 => extract(cx, insn),
        M::Vperm2f128 | M::Vperm2i128 => both(cx, insn, |a, b, imm| {
            [half_of(a, b, imm), half_of(a, b, imm >> 4)]
        }),
        M::Vpermq | M::Vpermpd => both(cx, insn, |_, b, imm| {
            let lanes: [u64; 4] = must_cast(b);
            let chosen: [u64; 4] = from_fn(|i| lanes[usize::from(imm >> (2 * i) & 3)]);
            must_cast(chosen)
        }),
        M::Vpermd | M::Vpermps => both(cx, insn, |a, b, _| {
            let (index, lanes): ([u32; 8], [u32; 8]) = (must_cast(a), must_cast(b));
            must_cast(index.map(|i| lanes[i as usize % 8]))
        }),
        M::Vpermilps if by_immediate(insn) => both(cx, insn, |_, b, imm| {
            b.map(|half| {
                let lanes: [u32; 4] = view(&half);
                let chosen: [u32; 4] = from_fn(|i| lanes[usize::from(imm >> (2 * i) & 3)]);
                must_cast(chosen)
            })
        }),
        M::Vpermilpd if by_immediate(insn) => both(cx, insn, |_, b, imm| {
            let lanes: [u64; 4] = must_cast(b);
            let chosen: [u64; 4] = from_fn(|i| lanes[i & 2 | usize::from(imm >> i & 1)]);
            must_cast(chosen)
        }),
        M::Vpermilps => halves(cx, insn, |a, control| {
            let (lanes, control): ([u32; 4], [u32; 4]) = (must_cast(a), must_cast(control));
            must_cast(control.map(|c| lanes[c as usize & 3]))
        }),
        // Bit 1 of the control, not bit 0.
        M::Vpermilpd => halves(cx, insn, |a, control| {
            let (lanes, control): ([u64; 2], [u64; 2]) = (must_cast(a), must_cast(control));
            must_cast(control.map(|c| lanes[c as usize >> 1 & 1]))
        }),
        M::Vpblendd => both(cx, insn, |a, b, imm| {
            let (a, b): ([u32; 8], [u32; 8]) = (must_cast(a), must_cast(b));
            let blended: [u32; 8] = from_fn(|i| if imm >> i & 1 != 0 { b[i] } else { a[i] });
            must_cast(blended)
        }),
        M::Vpsllvd => shift32(cx, insn, |x, count| x.checked_shl(count).unwrap_or(0)),
        M::Vpsrlvd => shift32(cx, insn, |x, count| x.checked_shr(count).unwrap_or(0)),
        M::Vpsravd => shift32(cx, insn, |x, count| (x as i32 >> count.min(31)) as u32),
        M::Vpsllvq => shift64(cx, insn, |x, count| if count > 63 { 0 } else { x << count }),
        M::Vpsrlvq => shift64(cx, insn, |x, count| if count > 63 { 0 } else { x >> count }),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

fn by_immediate(insn: &Instruction) -> bool {
    insn.op2_kind() == OpKind::Immediate8
}

/// The destination becomes `f` of the sources and the immediate, if there is one.
fn both(
    cx: &mut Context,
    insn: &Instruction,
    f: impl Fn(Vector, Vector, u8) -> Vector,
) -> Result<(), Fault> {
    let (a, b) = sources(cx, insn)?;
    let last = insn.op_count() - 1;
    let imm = if insn.op_kind(last) == OpKind::Immediate8 {
        insn.immediate8()
    } else {
        0
    };
    write(cx, insn, f(a, b, imm));
    Ok(())
}

/// Each half of the destination becomes `f` of those of the sources.
fn halves(
    cx: &mut Context,
    insn: &Instruction,
    f: impl Fn(u128, u128) -> u128,
) -> Result<(), Fault> {
    let (a, b) = sources(cx, insn)?;
    let result = per_half(insn, a, b, f);
    write(cx, insn, result);
    Ok(())
}

/// The low `bits` of the source in every lane.
fn broadcast(cx: &mut Context, insn: &Instruction, bits: u32) -> Result<(), Fault> {
    let element = read(cx, insn, 1)?[0] & (u128::MAX >> (128 - bits));
    let half = (0..128 / bits).fold(0, |half, i| half | element << (i * bits));
    write(cx, insn, [half; 2]);
    Ok(())
}

/// The half of two registers that the low four bits of a control name; bit 3 makes it zero.
fn half_of(a: Vector, b: Vector, control: u8) -> u128 {
    if control & 8 != 0 {
        return 0;
    }
    [a[0], a[1], b[0], b[1]][usize::from(control & 3)]
}

fn insert(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let mut result = read(cx, insn, 1)?;
    result[usize::from(insn.immediate8() & 1)] = read(cx, insn, 2)?[0];
    write(cx, insn, result);
    Ok(())
}

fn extract(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    debug_assert!(is_wide(insn, 1));
    let half = read(cx, insn, 1)?[usize::from(insn.immediate8() & 1)];
    if insn.op0_kind() == OpKind::Register {
        write(cx, insn, [half, 0]);
        return Ok(());
    }
    store(cx, insn, [half, 0])
}

fn shift32(cx: &mut Context, insn: &Instruction, f: fn(u32, u32) -> u32) -> Result<(), Fault> {
    halves(cx, insn, |a, b| {
        let (a, counts): ([u32; 4], [u32; 4]) = (must_cast(a), must_cast(b));
        let shifted: [u32; 4] = from_fn(|i| f(a[i], counts[i]));
        must_cast(shifted)
    })
}

fn shift64(cx: &mut Context, insn: &Instruction, f: fn(u64, u64) -> u64) -> Result<(), Fault> {
    halves(cx, insn, |a, b| {
        let (a, counts): ([u64; 2], [u64; 2]) = (must_cast(a), must_cast(b));
        let shifted: [u64; 2] = from_fn(|i| f(a[i], counts[i]));
        must_cast(shifted)
    })
}
