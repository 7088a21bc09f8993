//! XGETBV and the XSAVE instructions, for x87, SSE and AVX state.
//!
//! Whether a component counts as "in use" is told by its content: it is, unless it stands as after reset. XSAVEOPT and
//! XSAVEC leave out what is not in use; XSAVEOPT does not remember what it saved before.
use super::x87::environment::{MXCSR_MASK, restore_x87, x87_image};
use super::{Answer, address};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::{Cpu, MXCSR_RESET, RAX, RCX, RDX, X87};
use crate::sim::memory::Fault;
use iced_x86::{Instruction, Mnemonic};

/// The x87 component.
const X87_STATE: u64 = 1;
/// The XMM registers (and, in the compacted form, MXCSR).
const SSE_STATE: u64 = 2;
/// The upper halves of the YMM registers.
const AVX_STATE: u64 = 4;
/// XCR0: the components that the (simulated) kernel has enabled, wherever the guest has XSAVE at all.
pub const XCR0: u64 = X87_STATE | SSE_STATE | AVX_STATE;

/// Offset of MXCSR and its mask.
const MXCSR_AT: u64 = 24;
/// Offset of XMM0.
const XMM_AT: u64 = 160;
/// Offset of the header: XSTATE_BV, XCOMP_BV, and 48 bytes of zeros.
const HEADER_AT: u64 = 512;
/// Offset of the upper half of YMM0: in both forms, as there is no other component behind the header.
pub const AVX_AT: u64 = 576;
/// Bytes of the upper halves.
pub const AVX_SIZE: u64 = 256;
/// Set in XCOMP_BV where the area has the compacted form.
const COMPACTED: u64 = 1 << 63;

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let done = match insn.mnemonic() {
        M::Xgetbv => get(cx),
        // Privileged.
        M::Xsetbv => Err(Fault::GeneralProtection),
        M::Xsave => save(cx, insn, Form::Full, false),
        M::Xsave64 => save(cx, insn, Form::Full, true),
        M::Xsaveopt => save(cx, insn, Form::Optimised, false),
        M::Xsaveopt64 => save(cx, insn, Form::Optimised, true),
        M::Xsavec => save(cx, insn, Form::Compacted, false),
        M::Xsavec64 => save(cx, insn, Form::Compacted, true),
        M::Xrstor => restore(cx, insn, false),
        M::Xrstor64 => restore(cx, insn, true),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// The components that do not stand as after reset.
fn in_use(cpu: &Cpu) -> u64 {
    let vectors = &cpu.vec.0[..16];
    let component = |used: bool, bit: u64| if used { bit } else { 0 };
    component(!is_initial(&cpu.x87), X87_STATE)
        | component(vectors.iter().any(|v| v[0] != 0), SSE_STATE)
        | component(vectors.iter().any(|v| v[1] != 0), AVX_STATE)
}

fn is_initial(x: &X87) -> bool {
    let reset = X87::default();
    x.registers == reset.registers
        && (x.control, x.status, x.top, x.valid)
            == (reset.control, reset.status, reset.top, reset.valid)
        && (x.last_opcode, x.last_instruction, x.last_data) == (0, 0, 0)
}

fn get(cx: &mut Context) -> Result<(), Fault> {
    let value = match cx.cpu.gpr[RCX] as u32 {
        0 => XCR0,
        1 => XCR0 & in_use(&cx.cpu),
        _ => return Err(Fault::GeneralProtection),
    };
    cx.cpu.gpr[RAX] = value;
    cx.cpu.gpr[RDX] = 0;
    Ok(())
}

/// The components that EDX:EAX asks for.
fn requested(cx: &Context) -> u64 {
    (cx.cpu.gpr[RDX] << 32 | cx.cpu.gpr[RAX] & 0xffff_ffff) & XCR0
}

/// The address of the area, which must be aligned to 64 bytes.
fn area(cx: &Context, insn: &Instruction) -> Result<u64, Fault> {
    let at = address(cx, insn);
    if at & 63 != 0 {
        return Err(Fault::GeneralProtection);
    }
    Ok(at)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// XSAVE.
    Full,
    /// XSAVEOPT.
    Optimised,
    /// XSAVEC.
    Compacted,
}

fn save(cx: &mut Context, insn: &Instruction, form: Form, wide: bool) -> Result<(), Fault> {
    let at = area(cx, insn)?;
    let requested = requested(cx);
    let mut used = in_use(&cx.cpu) & requested;
    if form == Form::Compacted && cx.cpu.mxcsr() != MXCSR_RESET {
        // Here MXCSR is part of the component; in the other forms it is saved on its own account.
        used |= SSE_STATE & requested;
    }
    let written = if form == Form::Full { requested } else { used };
    let mxcsr = match form {
        Form::Compacted => written & SSE_STATE != 0,
        Form::Full | Form::Optimised => requested & (SSE_STATE | AVX_STATE) != 0,
    };
    let size = if written & AVX_STATE != 0 {
        AVX_AT + AVX_SIZE
    } else {
        AVX_AT
    };
    cx.mem.probe_write(at, size)?;
    let header = at.wrapping_add(HEADER_AT);
    let old: u64 = if form == Form::Compacted {
        0
    } else {
        cx.mem.read(header)?
    };
    if written & X87_STATE != 0 {
        let image = x87_image(&cx.cpu.x87, wide);
        cx.mem.write(at, image[0])?;
        cx.mem.write(at.wrapping_add(16), image[1] as u64)?;
        for (i, register) in (2..).zip(&image[2..]) {
            cx.mem.write(at.wrapping_add(16 * i), *register)?;
        }
    }
    if mxcsr {
        let value = u64::from(cx.cpu.mxcsr()) | u64::from(MXCSR_MASK) << 32;
        cx.mem.write(at.wrapping_add(MXCSR_AT), value)?;
    }
    for (component, first, half) in [(SSE_STATE, XMM_AT, 0), (AVX_STATE, AVX_AT, 1)] {
        if written & component == 0 {
            continue;
        }
        for i in 0..16u8 {
            let value = cx.cpu.vec[i][half];
            cx.mem
                .write(at.wrapping_add(first + 16 * u64::from(i)), value)?;
        }
    }
    cx.mem.write(header, old & !requested | used)?;
    if form == Form::Compacted {
        cx.mem
            .write(header.wrapping_add(8), requested | COMPACTED)?;
    }
    Ok(())
}

fn restore(cx: &mut Context, insn: &Instruction, wide: bool) -> Result<(), Fault> {
    let at = area(cx, insn)?;
    let requested = requested(cx);
    let mut header = [0u64; 8];
    for (i, word) in (0..).zip(header.iter_mut()) {
        *word = cx.mem.read(at.wrapping_add(HEADER_AT + 8 * i))?;
    }
    let [present, compaction, reserved @ ..] = header;
    let compacted = compaction & COMPACTED != 0;
    let valid = if compacted {
        let held = compaction & !COMPACTED;
        held & !XCR0 == 0 && present & !held == 0 && reserved == [0; 6]
    } else {
        // Of the reserved bytes the standard form checks the first eight.
        present & !XCR0 == 0 && compaction == 0 && reserved[0] == 0
    };
    if !valid {
        return Err(Fault::GeneralProtection);
    }
    let loaded = requested & present;

    // Everything is read before anything changes.
    let mut x87 = [0u128; 10];
    if loaded & X87_STATE != 0 {
        for (i, part) in (0..).zip(x87.iter_mut()) {
            *part = cx.mem.read(at.wrapping_add(16 * i))?;
        }
    }
    let mxcsr = match (compacted, requested & SSE_STATE != 0) {
        (true, false) => None,
        (true, true) if loaded & SSE_STATE == 0 => Some(MXCSR_RESET),
        (false, false) if requested & AVX_STATE == 0 => None,
        _ => Some(cx.mem.read::<u32>(at.wrapping_add(MXCSR_AT))?),
    };
    if mxcsr.is_some_and(|value| value & !MXCSR_MASK != 0) {
        return Err(Fault::GeneralProtection);
    }
    let mut vectors = [[0u128; 2]; 16];
    for (component, first, half) in [(SSE_STATE, XMM_AT, 0), (AVX_STATE, AVX_AT, 1)] {
        if loaded & component == 0 {
            continue;
        }
        for (i, vector) in (0..).zip(vectors.iter_mut()) {
            vector[half] = cx.mem.read(at.wrapping_add(first + 16 * i))?;
        }
    }

    if loaded & X87_STATE != 0 {
        restore_x87(&mut cx.cpu.x87, &x87, wide);
    } else if requested & X87_STATE != 0 {
        cx.cpu.x87 = X87::default();
    }
    if let Some(value) = mxcsr {
        cx.cpu.set_mxcsr(value);
    }
    for (i, vector) in (0..).zip(vectors) {
        for (component, half) in [(SSE_STATE, 0), (AVX_STATE, 1)] {
            if requested & component != 0 {
                cx.cpu.vec[i][half] = vector[half];
            }
        }
    }
    Ok(())
}

/// Bytes of an FXSAVE area.
pub const FXSAVE_SIZE: usize = 512;
/// Bytes of an XSAVE area in the standard form.
pub const AREA_SIZE: usize = (AVX_AT + AVX_SIZE) as usize;

/// What FXSAVE64 would store: x87 and SSE state.
pub fn fxsave_image(cpu: &Cpu) -> [u8; FXSAVE_SIZE] {
    let mut area = [0; FXSAVE_SIZE];
    let mut image = x87_image(&cpu.x87, true);
    image[1] |= u128::from(cpu.mxcsr()) << 64 | u128::from(MXCSR_MASK) << 96;
    let vectors = cpu.vec.0[..16].iter().map(|v| v[0]);
    for (bytes, word) in area
        .chunks_exact_mut(16)
        .zip(image.into_iter().chain(vectors))
    {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    area
}

/// What XSAVE64 would store for all components.
pub fn xsave_image(cpu: &Cpu) -> [u8; AREA_SIZE] {
    let mut area = [0; AREA_SIZE];
    area[..FXSAVE_SIZE].copy_from_slice(&fxsave_image(cpu));
    let uppers = cpu.vec.0[..16].iter().map(|v| v[1]);
    for (bytes, word) in area[AVX_AT as usize..].chunks_exact_mut(16).zip(uppers) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    // The old components always count as in use where the kernel saves.
    let present = in_use(cpu) | X87_STATE | SSE_STATE;
    area[HEADER_AT as usize..][..8].copy_from_slice(&present.to_le_bytes());
    area
}

/// Takes x87 and SSE state from an FXSAVE area; `None`, with nothing changed, if its MXCSR is invalid.
pub fn load_fxsave(cpu: &mut Cpu, area: &[u8; FXSAVE_SIZE]) -> Option<()> {
    let word = |i: usize| u128::from_le_bytes(std::array::from_fn(|j| area[16 * i + j]));
    let mxcsr = (word(1) >> 64) as u32;
    if mxcsr & !MXCSR_MASK != 0 {
        return None;
    }
    restore_x87(&mut cpu.x87, &std::array::from_fn(word), true);
    cpu.set_mxcsr(mxcsr);
    for (i, vector) in cpu.vec.0[..16].iter_mut().enumerate() {
        vector[0] = word(10 + i);
    }
    Some(())
}

/// Takes all components from an XSAVE area in the standard form, as XRSTOR does; `None` where that faults.
pub fn load_xsave(cpu: &mut Cpu, area: &[u8; AREA_SIZE]) -> Option<()> {
    let word = |at: u64| u64::from_le_bytes(std::array::from_fn(|i| area[at as usize + i]));
    let present = word(HEADER_AT);
    if present & !XCR0 != 0 || word(HEADER_AT + 8) != 0 || word(HEADER_AT + 16) != 0 {
        return None;
    }
    load_fxsave(cpu, area.first_chunk()?)?;
    if present & X87_STATE == 0 {
        cpu.x87 = X87::default();
    }
    for (i, vector) in (0..).zip(&mut cpu.vec.0[..16]) {
        if present & SSE_STATE == 0 {
            vector[0] = 0;
        }
        let at = AVX_AT + 16 * i;
        vector[1] = match present & AVX_STATE {
            0 => 0,
            _ => u128::from(word(at)) | u128::from(word(at + 8)) << 64,
        };
    }
    Some(())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod host;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::isa::state::RDI;
    use crate::sim::memory::{Backing, Memory, PAGE_SIZE, Protection, Purpose};
    use iced_x86::{Code, MemoryOperand, Register};

    const AT: u64 = 0x10_0000;

    fn context() -> Context {
        let mut mem = Memory::new(1 << 20);
        mem.map(
            AT,
            PAGE_SIZE,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
        let mut cx = Context::new(Cpu::new([].into()), mem);
        cx.cpu.gpr[RDI] = AT;
        cx.cpu.gpr[RAX] = 7;
        cx
    }

    fn run(cx: &mut Context, code: Code) -> Option<Result<Flow, Fault>> {
        let at = MemoryOperand::with_base(Register::RDI);
        let insn = Instruction::with1(code, at).expect("a memory operand");
        execute(cx, &insn)
    }

    #[test]
    fn xgetbv_gives_the_enabled_components_and_those_in_use() {
        let mut cx = context();
        let get = |ecx: u64, cx: &mut Context| {
            cx.cpu.gpr[RCX] = ecx;
            let answer = execute(cx, &Instruction::with(Code::Xgetbv));
            answer.map(|a| a.map(|_| (cx.cpu.gpr[RDX], cx.cpu.gpr[RAX])))
        };
        assert_eq!(get(0, &mut cx), Some(Ok((0, 7))));
        assert_eq!(get(1, &mut cx), Some(Ok((0, 0))));
        cx.cpu.vec[3] = [0, 1];
        assert_eq!(get(1, &mut cx), Some(Ok((0, AVX_STATE))));
        cx.cpu.vec[3] = [1, 0];
        assert_eq!(get(1, &mut cx), Some(Ok((0, SSE_STATE))));
        assert_eq!(get(2, &mut cx), Some(Err(Fault::GeneralProtection)));
    }

    #[test]
    fn the_header_is_checked_before_anything_changes() {
        let good = [
            [0u64, 0, 0],
            [7, 0, 0],
            [5, COMPACTED | 7, 0],
            [0, COMPACTED, 0],
        ];
        let bad = [
            [8, 0, 0],
            [7, 1, 0],
            [7, 0, 1],
            [7, COMPACTED | 3, 0],
            [0, COMPACTED | 8, 0],
            [0, COMPACTED | 7, 1],
        ];
        for (headers, valid) in [(&good[..], true), (&bad[..], false)] {
            for header in headers {
                let mut cx = context();
                cx.mem.write(AT + MXCSR_AT, 0x1f80u32).expect("mapped");
                for (i, word) in (0..).zip(header) {
                    cx.mem.write(AT + HEADER_AT + 8 * i, *word).expect("mapped");
                }
                cx.cpu.vec[1] = [1, 2];
                let answer = run(&mut cx, Code::Xrstor_mem);
                if valid {
                    assert_eq!(answer, Some(Ok(Flow::Next)), "{header:x?}");
                    assert_eq!(cx.cpu.vec[1], [0; 2]);
                } else {
                    assert_eq!(answer, Some(Err(Fault::GeneralProtection)), "{header:x?}");
                    assert_eq!(cx.cpu.vec[1], [1, 2]);
                }
            }
        }
    }

    #[test]
    fn areas_must_be_aligned_and_there() {
        for code in [
            Code::Xsave_mem,
            Code::Xsavec_mem,
            Code::Xsaveopt_mem,
            Code::Xrstor_mem,
        ] {
            let mut cx = context();
            cx.cpu.gpr[RDI] = AT + 16;
            assert_eq!(run(&mut cx, code), Some(Err(Fault::GeneralProtection)));
            cx.cpu.gpr[RDI] = AT + PAGE_SIZE - 64;
            cx.cpu.vec[0] = [1, 1];
            let answer = run(&mut cx, code);
            assert!(
                matches!(answer, Some(Err(Fault::Page { .. }))),
                "{answer:?}"
            );
            assert_eq!(cx.mem.read::<u128>(AT + PAGE_SIZE - 64), Ok(0));
        }
    }
}
