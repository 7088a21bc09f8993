//! The micro-op: what one instruction becomes in the core.
//!
//! Register numbers are one space for every table of micro-ops, a superset of what each needs: a table that renames
//! whole XMM registers uses only [`xmm`]; one that splits them (as gem5 does) adds [`xmm_high`]. Flags are groups that a
//! core renames together, as bits in a mask.
use iced_x86::Register;

/// A register of the core.
pub type Reg = u8;

/// No register.
pub const NONE: Reg = 255;

/// General register `i` (0 to 15 by encoding number).
pub const fn gpr(i: u8) -> Reg {
    i
}
/// Vector register `i` (0 to 15): the whole of it, or its low half in tables that split it.
pub const fn xmm(i: u8) -> Reg {
    16 + i
}
/// Bits 64 to 127 of vector register `i`, in tables that split it.
pub const fn xmm_high(i: u8) -> Reg {
    32 + i
}
/// ST(i), relative to the top of stack before the instruction; MMX register `i` has the same number.
pub const fn st(i: u8) -> Reg {
    48 + i
}
/// MXCSR.
pub const MXCSR: Reg = 56;
/// The x87 control and status words.
pub const X87_CONTROL: Reg = 57;
/// The FS base.
pub const FS_BASE: Reg = 58;
/// The GS base.
pub const GS_BASE: Reg = 59;
/// Value `i` (0 to 3) that lives only between the micro-ops of one instruction.
pub const fn temporary(i: u8) -> Reg {
    64 + i
}

/// Groups of flags, as bits of [`Uop::flags_read`] and [`Uop::flags_written`].
pub mod flag_group {
    /// ZF, AF, PF and SF.
    pub const ZAPS: u8 = 1;
    /// CF.
    pub const CF: u8 = 2;
    /// OF.
    pub const OF: u8 = 4;
    /// DF.
    pub const DF: u8 = 8;
    /// The carry that gem5's microcode keeps for itself.
    pub const ECF: u8 = 16;
    /// The zero that gem5's microcode keeps for itself.
    pub const EZF: u8 = 32;
}

/// The kind of work: what decides latency and unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum UopKind {
    /// Nothing: NOP, hints, ENDBR64.
    Nop,
    /// Add, logic, compare, move, address computation.
    IntAlu,
    /// Shift or rotate.
    IntShift,
    /// Bit scan and count, CRC32, PDEP, PEXT: three cycles on current cores.
    IntBits,
    /// Integer multiply.
    IntMultiply,
    /// Integer divide.
    IntDivide,
    /// A load of one memory operand.
    Load,
    /// A store of one memory operand, address and data together.
    Store,
    /// Any change of control.
    Branch,
    /// Floating add, subtract, compare, minimum, maximum, rounding.
    FloatAdd,
    /// Floating multiply, reciprocal estimates.
    FloatMultiply,
    /// Fused multiply-add.
    FloatMultiplyAdd,
    /// Floating divide.
    FloatDivide,
    /// Square root.
    FloatSqrt,
    /// Conversion between formats.
    FloatConvert,
    /// x87 transcendentals, remainders and decimal forms: microcoded, tens of cycles.
    Transcendental,
    /// Vector and x87 moves, and transfers between register files.
    VectorMove,
    /// Vector logic and integer arithmetic, floating logic.
    VectorAlu,
    /// Vector integer multiply, AES, carry-less multiply.
    VectorMultiply,
    /// Shuffle, pack, insert, extract, blend.
    VectorShuffle,
    /// SSE4.2 string comparison.
    VectorString,
    /// Memory fences and PAUSE.
    Fence,
    /// Serialising and state instructions: CPUID, SYSCALL, FXSAVE, MXCSR.
    System,
}

/// A micro-op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uop {
    /// The work.
    pub kind: UopKind,
    /// Bytes loaded, stored or computed on (the first operand), at most 255.
    pub width: u8,
    /// Index of its instruction in the block.
    pub instruction: u16,
    /// Registers read, then [`NONE`].
    pub sources: [Reg; 4],
    /// Registers written, then [`NONE`].
    pub destinations: [Reg; 3],
    /// Groups of flags read.
    pub flags_read: u8,
    /// Groups of flags written.
    pub flags_written: u8,
}

const _: () = assert!(size_of::<Uop>() <= 16);

impl Uop {
    /// A micro-op without registers.
    pub fn new(kind: UopKind, width: u8, instruction: u16) -> Self {
        Self {
            kind,
            width,
            instruction,
            sources: [NONE; 4],
            destinations: [NONE; 3],
            flags_read: 0,
            flags_written: 0,
        }
    }

    /// Adds a source. Beyond four it is dropped: only system instructions, which drain the core, read more.
    pub fn read(&mut self, register: Reg) {
        insert(&mut self.sources, register);
    }

    /// Adds a destination. Beyond three it is dropped: only CPUID and the like, which drain the core, write more.
    pub fn write(&mut self, register: Reg) {
        insert(&mut self.destinations, register);
    }
}

fn insert(slots: &mut [Reg], register: Reg) {
    for slot in slots {
        if *slot == register {
            return;
        }
        if *slot == NONE {
            *slot = register;
            return;
        }
    }
}

/// The number of an architectural register, for the table `hardware`; `None` for those that no program renames.
pub fn number(register: Register) -> Option<Reg> {
    Some(match register {
        Register::None | Register::RIP | Register::EIP => return None,
        Register::FS => FS_BASE,
        Register::GS => GS_BASE,
        r if r.is_gpr() => gpr((r.full_register() as u32 - Register::RAX as u32) as u8),
        r if r.is_vector_register() => xmm((r.number() & 15) as u8),
        r if r.is_st() || r.is_mm() => st(r.number() as u8),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_register_share_its_number() {
        for r in [
            Register::AL,
            Register::AH,
            Register::AX,
            Register::EAX,
            Register::RAX,
        ] {
            assert_eq!(number(r), Some(gpr(0)));
        }
        assert_eq!(number(Register::R15L), Some(gpr(15)));
        assert_eq!(number(Register::XMM7), Some(xmm(7)));
        assert_eq!(number(Register::YMM7), Some(xmm(7)));
        assert_eq!(number(Register::ST3), Some(st(3)));
        assert_eq!(number(Register::RIP), None);
        assert_eq!(number(Register::DS), None);
    }

    #[test]
    fn numbers_do_not_collide() {
        let mut all: Vec<Reg> = (0..16).map(gpr).collect();
        all.extend((0..16).map(xmm));
        all.extend((0..16).map(xmm_high));
        all.extend((0..8).map(st));
        all.extend([MXCSR, X87_CONTROL, FS_BASE, GS_BASE, NONE]);
        all.extend((0..4).map(temporary));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
