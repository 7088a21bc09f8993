//! One instruction at a time, from its decoded form: complete rather than fast.
//!
//! Each file owns a family and answers `None` for instructions that are not its own. [`execute`] asks them in turn, so
//! that an instruction nobody claims is [`Fault::Unsupported`], never a silent no-op.
use super::op::{Context, Flow};
use super::state::{FS, GS, RAX, RCX, RDX, ZERO};
use crate::sim::memory::{Fault, Purpose, Scalar};
use iced_x86::{EncodingKind, Instruction, Mnemonic, OpKind, Register};

pub mod avx;
pub mod bmi;
pub mod crypto;
pub mod integer;
pub mod sse_float;
pub mod sse_integer;
pub mod string;
#[cfg(all(test, target_arch = "x86_64"))]
mod v3_host;
pub mod x87;
pub mod xsave;

/// What a family answers: `None` if the instruction is not its own.
pub type Answer = Option<Result<Flow, Fault>>;

/// Runs one instruction. `cx.cpu.rip` is the address behind it. On an error nothing has changed.
///
/// # Errors
/// The fault that the instruction raises.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Result<Flow, Fault> {
    let answer = if insn.encoding() == EncodingKind::VEX {
        avx::execute(cx, insn)
            .or_else(|| bmi::execute(cx, insn))
            .or_else(|| crypto::execute(cx, insn))
    } else {
        integer::execute(cx, insn)
            .or_else(|| sse_integer::execute(cx, insn))
            .or_else(|| sse_float::execute(cx, insn))
            .or_else(|| x87::execute(cx, insn))
            .or_else(|| bmi::execute(cx, insn))
            .or_else(|| crypto::execute(cx, insn))
            .or_else(|| xsave::execute(cx, insn))
    };
    answer.unwrap_or(Err(Fault::Unsupported))
}

/// The result of RDTSC or RDTSCP.
pub(crate) fn set_time(cx: &mut Context, insn: &Instruction, cycles: u64) {
    cx.cpu.gpr[RAX] = cycles & 0xffff_ffff;
    cx.cpu.gpr[RDX] = cycles >> 32;
    if insn.mnemonic() == Mnemonic::Rdtscp {
        cx.cpu.gpr[RCX] = 0;
    }
    // The dynamic linker times itself in every program; that shows nowhere.
    let of_linker = cx
        .mem
        .region_at(insn.ip())
        .is_some_and(|(_, region)| match &region.purpose {
            Purpose::File(path) => path
                .rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with("ld-")),
            Purpose::Anonymous | Purpose::Heap | Purpose::Stack => false,
        });
    cx.clock_read |= !of_linker;
}

/// The number of a general register, 0 to 15, for any width (AH to BH give 0 to 3: see [`is_high_byte`]).
pub fn gpr_number(register: Register) -> u8 {
    if is_high_byte(register) {
        return (register as u32 - Register::AH as u32) as u8;
    }
    (register.full_register() as u32 - Register::RAX as u32) as u8
}

/// AH, CH, DH or BH.
pub fn is_high_byte(register: Register) -> bool {
    matches!(
        register,
        Register::AH | Register::CH | Register::DH | Register::BH
    )
}

/// The number of an XMM or YMM register.
pub fn vec_number(register: Register) -> u8 {
    register.number() as u8
}

/// The effective address of the memory operand, with segment base and address size applied.
pub fn address(cx: &Context, insn: &Instruction) -> u64 {
    let index = register_part(cx, insn.memory_index());
    address_with_index(cx, insn, index)
}

/// What a base or index register adds to an address.
fn register_part(cx: &Context, register: Register) -> u64 {
    match register {
        Register::None => 0,
        Register::RIP | Register::EIP => 0, // iced gives the absolute address as the displacement.
        _ => {
            let value = cx.cpu.gpr[gpr_number(register)];
            if register.is_gpr32() {
                value & 0xffff_ffff
            } else {
                value
            }
        }
    }
}

/// [`address`] with this number for the index: of a gather, each element has its own.
pub fn address_with_index(cx: &Context, insn: &Instruction, index: u64) -> u64 {
    let scale = u64::from(insn.memory_index_scale());
    let mut offset = register_part(cx, insn.memory_base())
        .wrapping_add(index.wrapping_mul(scale))
        .wrapping_add(insn.memory_displacement64());
    if has_narrow_address(insn) {
        offset &= 0xffff_ffff;
    }
    offset.wrapping_add(segment_base(cx, insn.segment_prefix()))
}

/// Whether the memory operand has a 32-bit address (prefix 0x67).
pub fn has_narrow_address(insn: &Instruction) -> bool {
    let (base, index) = (insn.memory_base(), insn.memory_index());
    base.is_gpr32()
        || index.is_gpr32()
        || base == Register::EIP
        || insn.memory_displ_size() == 4 && base == Register::None && !index.is_gpr64()
}

/// The base that a segment prefix adds: only FS and GS have one in 64-bit mode.
pub fn segment_base(cx: &Context, prefix: Register) -> u64 {
    cx.cpu.gpr[match prefix {
        Register::FS => FS,
        Register::GS => GS,
        _ => ZERO,
    }]
}

/// Reads the `size` low bytes (1, 2, 4, 8) of an integer operand: register, memory or immediate, zero-extended.
///
/// # Errors
/// The fault of the load.
pub fn read_integer(
    cx: &mut Context,
    insn: &Instruction,
    operand: u32,
    size: u64,
) -> Result<u64, Fault> {
    match insn.op_kind(operand) {
        OpKind::Register => {
            let r = insn.op_register(operand);
            let value = cx.cpu.gpr[gpr_number(r)];
            Ok(truncate(
                if is_high_byte(r) { value >> 8 } else { value },
                size,
            ))
        }
        OpKind::Memory => {
            let at = address(cx, insn);
            load_integer(cx, at, size)
        }
        _ => Ok(truncate(insn.immediate(operand), size)),
    }
}

/// Loads `size` (1, 2, 4, 8) bytes, zero-extended.
///
/// # Errors
/// The fault of the load.
pub fn load_integer(cx: &mut Context, at: u64, size: u64) -> Result<u64, Fault> {
    match size {
        1 => cx.mem.read::<u8>(at).map(u64::from),
        2 => cx.mem.read::<u16>(at).map(u64::from),
        4 => cx.mem.read::<u32>(at).map(u64::from),
        _ => cx.mem.read::<u64>(at),
    }
}

/// Stores the `size` low bytes.
///
/// # Errors
/// The fault of the store.
pub fn store_integer(cx: &mut Context, at: u64, size: u64, value: u64) -> Result<(), Fault> {
    match size {
        1 => cx.mem.write(at, value as u8),
        2 => cx.mem.write(at, value as u16),
        4 => cx.mem.write(at, value as u32),
        _ => cx.mem.write(at, value),
    }
}

/// Writes an integer operand: 32-bit registers are zero-extended, 8- and 16-bit ones merged.
///
/// # Errors
/// The fault of the store.
pub fn write_integer(
    cx: &mut Context,
    insn: &Instruction,
    operand: u32,
    size: u64,
    value: u64,
) -> Result<(), Fault> {
    if insn.op_kind(operand) == OpKind::Register {
        write_register(cx, insn.op_register(operand), size, value);
        return Ok(());
    }
    let at = address(cx, insn);
    store_integer(cx, at, size, value)
}

/// Writes `size` bytes of a general register by the rules of 64-bit mode.
pub fn write_register(cx: &mut Context, register: Register, size: u64, value: u64) {
    let slot = &mut cx.cpu.gpr[gpr_number(register)];
    *slot = match size {
        1 if is_high_byte(register) => *slot & !0xff00 | (value & 0xff) << 8,
        1 => *slot & !0xff | value & 0xff,
        2 => *slot & !0xffff | value & 0xffff,
        4 => value & 0xffff_ffff,
        _ => value,
    };
}

/// The `size` low bytes of a value.
pub fn truncate(value: u64, size: u64) -> u64 {
    value & (u64::MAX >> (64 - 8 * size))
}

/// The value with the sign of its `size` low bytes.
pub fn sign_extend(value: u64, size: u64) -> u64 {
    let shift = 64 - 8 * size;
    (((value << shift) as i64) >> shift) as u64
}

/// Reads `T` from memory.
///
/// # Errors
/// The fault of the load.
pub fn read_memory<T: Scalar>(cx: &mut Context, insn: &Instruction) -> Result<T, Fault> {
    let at = address(cx, insn);
    cx.mem.read(at)
}

/// Reads an XMM register or 16 bytes of memory; legacy SSE demands alignment (`aligned`), except for the `movu` forms
/// and a few others.
///
/// # Errors
/// #GP if misaligned, or the fault of the load.
pub fn read_xmm(
    cx: &mut Context,
    insn: &Instruction,
    operand: u32,
    aligned: bool,
) -> Result<u128, Fault> {
    if insn.op_kind(operand) == OpKind::Register {
        return Ok(cx.cpu.xmm(vec_number(insn.op_register(operand))));
    }
    let at = address(cx, insn);
    if aligned && at & 15 != 0 {
        return Err(Fault::GeneralProtection);
    }
    cx.mem.read(at)
}

/// The XMM register that an operand names.
pub fn xmm_number(insn: &Instruction, operand: u32) -> u8 {
    vec_number(insn.op_register(operand))
}
