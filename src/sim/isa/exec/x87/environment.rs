//! Saving and restoring the state: FNSTENV, FLDENV, FNSAVE, FRSTOR, FXSAVE, FXRSTOR.
//!
//! The last instruction and data addresses are kept; their selectors and the last opcode read as zero, as the processor
//! may leave them when no exception is pending.
use super::stack::EXCEPTIONS;
use crate::sim::isa::op::Context;
use crate::sim::isa::state::{F80, X87};
use crate::sim::memory::{Fault, Memory};

/// The bits of MXCSR that may be set: those of an AMD processor, with the misaligned-exception mask.
pub(in crate::sim::isa::exec) const MXCSR_MASK: u32 = 0x0002_ffff;
/// Bytes of the FXSAVE area. The processor leaves the last 96 alone, of which 48 are reserved and 48 belong to software,
/// but faults where it may not reach them.
const FXSAVE_AREA: usize = 512;
/// Offset of XMM0 in the FXSAVE area.
const FXSAVE_XMM: u64 = 160;

/// Loads 80 bits.
pub(super) fn read_f80(mem: &mut Memory, at: u64) -> Result<F80, Fault> {
    Ok(F80 {
        significand: mem.read(at)?,
        sign_exponent: mem.read(at.wrapping_add(8))?,
    })
}

/// Stores 80 bits, all or nothing.
pub(super) fn write_f80(mem: &mut Memory, at: u64, value: F80) -> Result<(), Fault> {
    mem.probe_write(at, 10)?;
    mem.write(at, value.significand)?;
    mem.write(at.wrapping_add(8), value.sign_exponent)
}

/// Size of the environment in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 14 bytes, of 16-bit fields (operand-size prefix).
    Short,
    /// 28 bytes, of 32-bit fields.
    Long,
}

impl Form {
    fn size(self) -> u64 {
        match self {
            Self::Short => 14,
            Self::Long => 28,
        }
    }
    fn field(self) -> u64 {
        self.size() / 7
    }
}

fn write_environment(cx: &mut Context, at: u64, form: Form) -> Result<(), Fault> {
    let x = &cx.cpu.x87;
    // Control, status, tags, instruction offset and selector (with the opcode), data offset and selector.
    let fields = [
        u32::from(x.control) | 0xffff_0000,
        u32::from(x.status_word()) | 0xffff_0000,
        u32::from(x.tag_word()) | 0xffff_0000,
        x.last_instruction as u32,
        u32::from(x.last_opcode) << 16,
        x.last_data as u32,
        0xffff_0000,
    ];
    for (i, value) in fields.into_iter().enumerate() {
        let at = at.wrapping_add(i as u64 * form.field());
        match form {
            Form::Short => cx.mem.write(at, value as u16)?,
            Form::Long => cx.mem.write(at, value)?,
        }
    }
    Ok(())
}

fn read_environment(cx: &mut Context, at: u64, form: Form) -> Result<[u32; 7], Fault> {
    let mut fields = [0; 7];
    for (i, field) in fields.iter_mut().enumerate() {
        let at = at.wrapping_add(i as u64 * form.field());
        *field = match form {
            Form::Short => u32::from(cx.mem.read::<u16>(at)?),
            Form::Long => cx.mem.read::<u32>(at)?,
        };
    }
    Ok(fields)
}

fn apply_environment(cx: &mut Context, fields: [u32; 7]) {
    let x = &mut cx.cpu.x87;
    x.set_control(fields[0] as u16);
    x.set_status_word(fields[1] as u16);
    x.set_tag_word(fields[2] as u16);
    x.last_instruction = fields[3].into();
    x.last_opcode = (fields[4] >> 16 & 0x7ff) as u16;
    x.last_data = fields[5].into();
}

/// FNSTENV: stores the environment, then masks all exceptions.
pub(super) fn store_environment(cx: &mut Context, at: u64, form: Form) -> Result<(), Fault> {
    cx.mem.probe_write(at, form.size())?;
    write_environment(cx, at, form)?;
    let masked = cx.cpu.x87.control | EXCEPTIONS;
    cx.cpu.x87.set_control(masked);
    Ok(())
}

/// FLDENV.
pub(super) fn load_environment(cx: &mut Context, at: u64, form: Form) -> Result<(), Fault> {
    let fields = read_environment(cx, at, form)?;
    apply_environment(cx, fields);
    Ok(())
}

/// FNSAVE: stores the environment and the registers, then initialises.
pub(super) fn save(cx: &mut Context, at: u64, form: Form) -> Result<(), Fault> {
    cx.mem.probe_write(at, form.size() + 80)?;
    write_environment(cx, at, form)?;
    for i in 0..8 {
        let value = cx.cpu.x87.st(i);
        let at = at.wrapping_add(form.size() + 10 * u64::from(i));
        write_f80(&mut cx.mem, at, value)?;
    }
    cx.cpu.x87.initialise();
    Ok(())
}

/// FRSTOR.
pub(super) fn restore(cx: &mut Context, at: u64, form: Form) -> Result<(), Fault> {
    let fields = read_environment(cx, at, form)?;
    let mut stack = [F80::default(); 8];
    for (i, value) in stack.iter_mut().enumerate() {
        *value = read_f80(&mut cx.mem, at.wrapping_add(form.size() + 10 * i as u64))?;
    }
    apply_environment(cx, fields);
    set_stack(&mut cx.cpu.x87, &stack);
    Ok(())
}

/// Sets the registers from ST(0) to ST(7), whether empty or not.
fn set_stack(x: &mut X87, stack: &[F80; 8]) {
    for (i, value) in stack.iter().enumerate() {
        x.registers[(usize::from(x.top) + i) % 8] = *value;
    }
}

/// The x87 part of an FXSAVE or XSAVE area: its first 160 bytes, with zeros for MXCSR and its mask.
pub(in crate::sim::isa::exec) fn x87_image(x: &X87, wide: bool) -> [u128; 10] {
    let keep = if wide { u64::MAX } else { 0xffff_ffff };
    let mut image = [0; 10];
    image[0] = u128::from(x.control)
        | u128::from(x.status_word()) << 16
        | u128::from(x.valid) << 32
        | u128::from(x.last_opcode) << 48
        | u128::from(x.last_instruction & keep) << 64;
    image[1] = u128::from(x.last_data & keep);
    for (i, part) in (0..).zip(&mut image[2..]) {
        let value = x.st(i);
        *part = u128::from(value.significand) | u128::from(value.sign_exponent) << 64;
    }
    image
}

/// Takes the x87 state from the first 160 bytes of an FXSAVE or XSAVE area.
pub(in crate::sim::isa::exec) fn restore_x87(x: &mut X87, area: &[u128; 10], wide: bool) {
    let keep = if wide { u64::MAX } else { 0xffff_ffff };
    x.set_control(area[0] as u16);
    x.set_status_word((area[0] >> 16) as u16);
    x.valid = (area[0] >> 32) as u8;
    x.last_opcode = (area[0] >> 48) as u16 & 0x7ff;
    x.last_instruction = (area[0] >> 64) as u64 & keep;
    x.last_data = area[1] as u64 & keep;
    let stack = std::array::from_fn(|i| F80 {
        significand: area[2 + i] as u64,
        sign_exponent: (area[2 + i] >> 64) as u16,
    });
    set_stack(x, &stack);
}

/// FXSAVE and FXSAVE64, which keep 32 and 64 bits of the two addresses.
pub(super) fn fxsave(cx: &mut Context, at: u64, wide: bool) -> Result<(), Fault> {
    if at & 15 != 0 {
        return Err(Fault::GeneralProtection);
    }
    cx.mem.probe_write(at, FXSAVE_AREA as u64)?;
    let mut image = x87_image(&cx.cpu.x87, wide);
    image[1] |= u128::from(cx.cpu.mxcsr()) << 64 | u128::from(MXCSR_MASK) << 96;
    for (i, part) in (0..).zip(image) {
        cx.mem.write(at.wrapping_add(16 * i), part)?;
    }
    for i in 0..16 {
        let value = cx.cpu.xmm(i);
        cx.mem
            .write(at.wrapping_add(FXSAVE_XMM + 16 * u64::from(i)), value)?;
    }
    Ok(())
}

/// FXRSTOR and FXRSTOR64.
pub(super) fn fxrstor(cx: &mut Context, at: u64, wide: bool) -> Result<(), Fault> {
    if at & 15 != 0 {
        return Err(Fault::GeneralProtection);
    }
    cx.mem.copy_out(at, &mut [0; FXSAVE_AREA])?;
    let mut area = [0u128; 26];
    for (i, part) in area.iter_mut().enumerate() {
        *part = cx.mem.read(at.wrapping_add(16 * i as u64))?;
    }
    let mxcsr = (area[1] >> 64) as u32;
    if mxcsr & !MXCSR_MASK != 0 {
        return Err(Fault::GeneralProtection);
    }
    let mut x87 = [0; 10];
    x87.copy_from_slice(&area[..10]);
    restore_x87(&mut cx.cpu.x87, &x87, wide);
    cx.cpu.set_mxcsr(mxcsr);
    for (i, value) in (0..16).zip(&area[10..]) {
        cx.cpu.set_xmm(i, *value);
    }
    Ok(())
}
