//! String instructions with their prefixes: `movs`, `stos`, `lods`, `cmps`, `scas`.
use super::integer::width;
use super::{Answer, load_integer, segment_base, store_integer, truncate};
use crate::sim::isa::flags::Rule;
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::{RAX, RCX, RDI, RSI};
use crate::sim::memory::Fault;
use iced_x86::{Instruction, Mnemonic, Register};

/// Iterations between two returns to the run loop: bounds the accesses recorded at once and the time between checks.
const CHUNK: u64 = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Move,
    Store,
    Load,
    Compare,
    Scan,
}

/// Runs the instruction if it is a string instruction.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let (kind, size) = match insn.mnemonic() {
        M::Movsb => (Kind::Move, 1),
        M::Movsw => (Kind::Move, 2),
        M::Movsd if insn.is_string_instruction() => (Kind::Move, 4),
        M::Movsq => (Kind::Move, 8),
        M::Stosb => (Kind::Store, 1),
        M::Stosw => (Kind::Store, 2),
        M::Stosd => (Kind::Store, 4),
        M::Stosq => (Kind::Store, 8),
        M::Lodsb => (Kind::Load, 1),
        M::Lodsw => (Kind::Load, 2),
        M::Lodsd => (Kind::Load, 4),
        M::Lodsq => (Kind::Load, 8),
        M::Cmpsb => (Kind::Compare, 1),
        M::Cmpsw => (Kind::Compare, 2),
        M::Cmpsd if insn.is_string_instruction() => (Kind::Compare, 4),
        M::Cmpsq => (Kind::Compare, 8),
        M::Scasb => (Kind::Scan, 1),
        M::Scasw => (Kind::Scan, 2),
        M::Scasd => (Kind::Scan, 4),
        M::Scasq => (Kind::Scan, 8),
        _ => return None,
    };
    Some(run(cx, insn, kind, size))
}

fn run(cx: &mut Context, insn: &Instruction, kind: Kind, size: u64) -> Result<Flow, Fault> {
    let narrow = (0..insn.op_count()).any(|i| {
        use iced_x86::OpKind as K;
        matches!(insn.op_kind(i), K::MemorySegESI | K::MemoryESEDI)
    });
    let wrap = if narrow { 0xffff_ffff } else { u64::MAX };
    let step = (cx.cpu.flags.direction() as u64).wrapping_mul(size);
    let source_base = segment_base(
        cx,
        match insn.segment_prefix() {
            Register::None => Register::DS,
            prefix => prefix,
        },
    );
    let repeated = insn.has_rep_prefix() || insn.has_repne_prefix();
    let mut iterations = 0;
    if repeated && cx.cpu.gpr[RCX] & wrap == 0 {
        // Nothing is done, so nothing is written: with 0x67 the upper half of RCX stays too.
        return Ok(Flow::Next);
    }
    loop {
        let (si, di) = (cx.cpu.gpr[RSI] & wrap, cx.cpu.gpr[RDI] & wrap);
        let source = source_base.wrapping_add(si);
        let mark = cx.mem.accesses().len();
        let compared = match iterate(cx, kind, [source, di], size) {
            Ok(compared) => compared,
            Err(fault) => {
                // What the iteration has accessed is not done: it is made again, or never.
                cx.mem.truncate_accesses(mark);
                return Err(fault);
            }
        };
        if let Some((a, b)) = compared {
            cx.cpu
                .flags
                .set(Rule::Sub, width(size), truncate(a.wrapping_sub(b), size), b);
        }
        if matches!(kind, Kind::Move | Kind::Load | Kind::Compare) {
            cx.cpu.gpr[RSI] = si.wrapping_add(step) & wrap;
        }
        if kind != Kind::Load {
            cx.cpu.gpr[RDI] = di.wrapping_add(step) & wrap;
        }
        if !repeated {
            return Ok(Flow::Next);
        }
        let left = (cx.cpu.gpr[RCX] & wrap).wrapping_sub(1) & wrap;
        cx.cpu.gpr[RCX] = left;
        iterations += 1;
        let stop = left == 0
            || compared.is_some_and(|(a, b)| {
                if insn.has_repne_prefix() {
                    a == b
                } else {
                    a != b
                }
            });
        cx.repeats += 1;
        if stop {
            return Ok(Flow::Next);
        }
        // A store into a code page must end the instruction stream here, as the next iteration may be different code.
        if iterations == CHUNK || cx.mem.has_stale_code() {
            return Ok(Flow::Again);
        }
    }
}
/// The accesses of one iteration, from and to these addresses; what it compares.
#[inline]
fn iterate(
    cx: &mut Context,
    kind: Kind,
    [source, di]: [u64; 2],
    size: u64,
) -> Result<Option<(u64, u64)>, Fault> {
    match kind {
        Kind::Move => {
            let value = load_integer(cx, source, size)?;
            store_integer(cx, di, size, value)?;
        }
        Kind::Store => {
            let value = cx.cpu.gpr[RAX];
            store_integer(cx, di, size, value)?;
        }
        Kind::Load => {
            let value = load_integer(cx, source, size)?;
            let old = cx.cpu.gpr[RAX];
            cx.cpu.gpr[RAX] = match size {
                1 => old & !0xff | value,
                2 => old & !0xffff | value,
                _ => value,
            };
        }
        Kind::Compare => {
            let a = load_integer(cx, source, size)?;
            let b = load_integer(cx, di, size)?;
            return Ok(Some((a, b)));
        }
        Kind::Scan => {
            let b = load_integer(cx, di, size)?;
            return Ok(Some((truncate(cx.cpu.gpr[RAX], size), b)));
        }
    }
    Ok(None)
}
