//! What two runs of an instruction must agree on, and how a disagreement is shown.
use super::catalog::Standing;
use super::generate::Instance;
use super::image::{DATA, Ending, Image, Trap};
use iced_x86::{
    Code, Formatter, GasFormatter, Instruction, InstructionInfoFactory, MemorySize, Mnemonic,
    OpKind, Register, RflagsBits,
};
use std::fmt::Write;

const CF: u64 = 1;
const AF: u64 = 1 << 4;
const OF: u64 = 1 << 11;

/// The flags that the instruction leaves undefined, from iced's table and, for shifts, from the count.
pub(crate) fn undefined_flags(insn: &Instruction, before: &Image) -> u64 {
    use Mnemonic as M;
    let mnemonic = insn.mnemonic();
    if !shifts(mnemonic) {
        return rflags(insn.rflags_undefined());
    }
    let size = 8 * match insn.op0_kind() {
        OpKind::Register => insn.op0_register().size(),
        _ => insn.memory_size().size(),
    } as u64;
    let last = insn.op_count() - 1;
    let count = match insn.op_kind(last) {
        OpKind::Register => before.gpr[1],
        _ => insn.immediate(last),
    } & if size == 64 { 63 } else { 31 };
    if count == 0 {
        return 0;
    }
    let overflow = if count == 1 { 0 } else { OF };
    match mnemonic {
        M::Rol | M::Ror | M::Rcl | M::Rcr => overflow,
        M::Sar => overflow | AF,
        // Vendors' manuals leave CF open for counts of the width and more.
        _ => overflow | AF | if count >= size { CF } else { 0 },
    }
}

/// Whether it shifts or rotates by a count, which decides the flags.
pub(crate) fn shifts(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(
        mnemonic,
        M::Rol | M::Ror | M::Rcl | M::Rcr | M::Shl | M::Sal | M::Shr | M::Sar | M::Shld | M::Shrd
    )
}

/// RFLAGS bits of iced's flag sets.
pub(crate) fn rflags(set: u32) -> u64 {
    [
        (RflagsBits::CF, 0),
        (RflagsBits::PF, 2),
        (RflagsBits::AF, 4),
        (RflagsBits::ZF, 6),
        (RflagsBits::SF, 7),
        (RflagsBits::DF, 10),
        (RflagsBits::OF, 11),
    ]
    .iter()
    .filter(|(flag, _)| set & flag != 0)
    .fold(0, |bits, (_, at)| bits | 1 << at)
}

/// The condition bits of the x87 status word that the instruction leaves undefined.
pub(crate) fn undefined_status(insn: &Instruction) -> u16 {
    let set = insn.rflags_undefined();
    [
        (RflagsBits::C0, 8),
        (RflagsBits::C1, 9),
        (RflagsBits::C2, 10),
        (RflagsBits::C3, 14),
    ]
    .iter()
    .filter(|(flag, _)| set & flag != 0)
    .fold(0, |bits, (_, at)| bits | 1 << at)
}

/// Bytes of the stored x87 state that hold the last instruction's opcode and addresses (processors differ in when they
/// keep them) or that are reserved: offsets in the memory operand.
pub(crate) fn opaque_bytes(insn: &Instruction) -> &'static [(u64, u64)] {
    if !matches!(
        insn.mnemonic(),
        Mnemonic::Fnstenv | Mnemonic::Fnsave | Mnemonic::Fxsave | Mnemonic::Fxsave64
    ) {
        return &[];
    }
    match insn.memory_size() {
        // Upper halves of the three words are reserved, and read as ones.
        MemorySize::FpuEnv28 | MemorySize::FpuState108 => &[(12, 28)],
        MemorySize::FpuEnv14 | MemorySize::FpuState94 => &[(6, 14)],
        // MXCSR_MASK, which the processor chooses, and what software may use.
        _ => &[(6, 24), (28, 32), (416, 512)],
    }
}

/// How strictly two images are compared.
#[derive(Clone, Copy, Debug, Default)]
struct Leeway {
    /// Flags that may differ.
    flags: u64,
    /// Bits of MXCSR that may differ.
    mxcsr: u32,
    /// Bits of the x87 status word that may differ.
    status: u16,
    /// The x87 state is not looked at.
    no_x87: bool,
    /// An XMM register that is not looked at.
    vector: Option<usize>,
    /// x87 values may differ in the last bits.
    near: bool,
}

/// The places where the results of an instance differ in what must agree.
pub(crate) fn differences(
    instance: &Instance,
    standing: Standing,
    ending: Ending,
    host: &Image,
    guest: &Image,
) -> Vec<String> {
    let insn = &instance.insn;
    let mut leeway = Leeway::default();
    if matches!(ending, Ending::Exit(_)) {
        leeway.flags = undefined_flags(insn, &instance.image);
        leeway.status = undefined_status(insn);
        if matches!(standing, Standing::ValueExempt(_)) {
            // Inexact and the rounding direction follow the value.
            leeway.status |= 0x0220;
            leeway.near = true;
            leeway.vector = insn
                .op0_register()
                .is_vector_register()
                .then(|| insn.op0_register().number());
        }
    }
    if ending == Ending::Trap(Trap::SimdFloat) {
        leeway = leeway.after_simd_exception();
    }
    compare(host, guest, leeway)
}

/// The places where two images differ, but for the `undefined` flags; `simd` after an unmasked SSE exception.
pub(crate) fn image_differences(
    host: &Image,
    guest: &Image,
    undefined: u64,
    simd: bool,
) -> Vec<String> {
    let leeway = Leeway {
        flags: undefined,
        ..Leeway::default()
    };
    compare(
        host,
        guest,
        if simd {
            leeway.after_simd_exception()
        } else {
            leeway
        },
    )
}

impl Leeway {
    /// An unmasked SSE exception leaves its cause in MXCSR, which nothing but a signal handler sees, and the move to MMX
    /// state comes before the conversion that it stops.
    fn after_simd_exception(self) -> Self {
        Self {
            mxcsr: 0x3f,
            no_x87: true,
            ..self
        }
    }
}

fn compare(host: &Image, guest: &Image, leeway: Leeway) -> Vec<String> {
    let mut out = Vec::new();
    for i in 0..16 {
        if host.gpr[i] != guest.gpr[i] {
            let name = Register::RAX + i as u32;
            out.push(format!(
                "{name:?}: {:#018x}, not {:#018x}",
                host.gpr[i], guest.gpr[i]
            ));
        }
    }
    let flags = (host.rflags ^ guest.rflags) & !leeway.flags;
    if flags != 0 {
        out.push(format!(
            "RFLAGS: {} ({:#x}, not {:#x})",
            flag_names(flags),
            host.rflags & !leeway.flags,
            guest.rflags & !leeway.flags
        ));
    }
    for i in 0..16 {
        let of = |image: &Image| [image.xmm(i), image.upper[i]];
        if of(host) != of(guest) && leeway.vector != Some(i) {
            let [low, high] = of(host);
            let [guest_low, guest_high] = of(guest);
            out.push(format!(
                "YMM{i}: {high:#034x}:{low:032x}, not {guest_high:#034x}:{guest_low:032x}"
            ));
        }
    }
    if (host.mxcsr() ^ guest.mxcsr()) & !leeway.mxcsr != 0 {
        out.push(format!(
            "MXCSR: {:#06x}, not {:#06x}",
            host.mxcsr(),
            guest.mxcsr()
        ));
    }
    if leeway.no_x87 {
        return out;
    }
    if host.control_word() != guest.control_word() {
        out.push(format!(
            "x87 control: {:#06x}, not {:#06x}",
            host.control_word(),
            guest.control_word()
        ));
    }
    if (host.status_word() ^ guest.status_word()) & !leeway.status != 0 {
        out.push(format!(
            "x87 status: {:#06x}, not {:#06x} (TOP {}, {})",
            host.status_word() & !leeway.status,
            guest.status_word() & !leeway.status,
            host.top(),
            guest.top()
        ));
    }
    if host.valid() != guest.valid() {
        out.push(format!(
            "x87 tags: {:#010b}, not {:#010b}",
            host.valid(),
            guest.valid()
        ));
    }
    for i in 0..8 {
        let (h, g) = (host.st(i), guest.st(i));
        if h != g && !(leeway.near && close(h, g)) {
            out.push(format!(
                "ST({i}): {:#06x}:{:#018x}, not {:#06x}:{:#018x}",
                h.0, h.1, g.0, g.1
            ));
        }
    }
    out
}

/// Whether two 80-bit numbers are within a few units of the last place.
fn close(a: (u16, u64), b: (u16, u64)) -> bool {
    let line = |(exponent, significand): (u16, u64)| {
        u128::from(exponent & 0x7fff) << 63 | u128::from(significand & !(1 << 63))
    };
    a.0 & 0x8000 == b.0 & 0x8000 && line(a).abs_diff(line(b)) <= 8
}

/// The first bytes of memory that differ.
pub(crate) fn memory_differences(host: &[u8], guest: &[u8]) -> Vec<String> {
    let mut differing = (0..host.len()).filter(|&i| host[i] != guest[i]);
    let Some(first) = differing.next() else {
        return Vec::new();
    };
    let last = differing.next_back().unwrap_or(first).min(first + 31);
    vec![format!(
        "memory at {:#x}: {}, not {}",
        DATA + first as u64,
        hex(&host[first..=last]),
        hex(&guest[first..=last])
    )]
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

pub(crate) fn disassembly(insn: &Instruction) -> String {
    let mut text = String::new();
    GasFormatter::new().format(insn, &mut text);
    text
}

fn flag_names(bits: u64) -> String {
    [
        (0, "CF"),
        (2, "PF"),
        (4, "AF"),
        (6, "ZF"),
        (7, "SF"),
        (10, "DF"),
        (11, "OF"),
    ]
    .iter()
    .filter(|(at, _)| bits >> at & 1 == 1)
    .map(|(_, name)| *name)
    .collect::<Vec<_>>()
    .join(" ")
}

/// The part of the input that the instruction looks at.
pub(crate) fn inputs(instance: &Instance, data: &[u8]) -> String {
    let mut out = String::new();
    let image = &instance.image;
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&instance.insn);
    let mut seen = Vec::new();
    for used in info.used_registers() {
        let register = used.register();
        let full = register.full_register();
        if seen.contains(&full) {
            continue;
        }
        seen.push(full);
        if full.is_gpr64() {
            let i = full as usize - Register::RAX as usize;
            let _ = write!(out, " {full:?}={:#x}", image.gpr[i]);
        } else if register.is_vector_register() {
            let i = register.number();
            let (high, low) = (image.upper[i], image.xmm(i));
            let _ = write!(out, " YMM{i}={high:#034x}:{low:032x}");
        }
    }
    let _ = write!(
        out,
        " RFLAGS={:#x} MXCSR={:#06x}",
        image.rflags,
        image.mxcsr()
    );
    let name = format!("{:?}", instance.insn.code());
    if name.starts_with('F')
        || name.contains("_mm")
        || name.starts_with("Emms")
        || instance.insn.code() == Code::Wait
    {
        let _ = write!(
            out,
            " FCW={:#06x} FSW={:#06x} TAGS={:#010b}",
            image.control_word(),
            image.status_word(),
            image.valid()
        );
        for i in 0..8 {
            let (exponent, significand) = image.st(i);
            let _ = write!(out, " ST{i}={exponent:#06x}:{significand:#018x}");
        }
    }
    if let Some(at) = instance.memory {
        let size = instance.insn.memory_size().size().clamp(1, 32) as u64;
        let _ = write!(out, " [{at:#x}]");
        if let Some(offset) = at.checked_sub(DATA)
            && (offset + size) <= data.len() as u64
        {
            let _ = write!(
                out,
                "={}",
                hex(&data[offset as usize..(offset + size) as usize])
            );
        }
    }
    out
}
