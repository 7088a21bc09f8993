//! The architectural registers.
use super::flags::Flags;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// A register file indexed by a byte. It has 256 entries so that no index needs a bounds check on the hot path.
#[derive(Clone)]
pub struct RegFile<T>(pub [T; 256]);

impl<T: Copy + Default> Default for RegFile<T> {
    fn default() -> Self {
        Self([T::default(); 256])
    }
}
impl<T> Index<u8> for RegFile<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: u8) -> &T {
        &self.0[i as usize]
    }
}
impl<T> IndexMut<u8> for RegFile<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: u8) -> &mut T {
        &mut self.0[i as usize]
    }
}
impl<T: std::fmt::Debug> std::fmt::Debug for RegFile<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().take(18)).finish()
    }
}

/// RAX.
pub const RAX: u8 = 0;
/// RCX.
pub const RCX: u8 = 1;
/// RDX.
pub const RDX: u8 = 2;
/// RBX.
pub const RBX: u8 = 3;
/// RSP.
pub const RSP: u8 = 4;
/// RBP.
pub const RBP: u8 = 5;
/// RSI.
pub const RSI: u8 = 6;
/// RDI.
pub const RDI: u8 = 7;
/// A register that is always zero: the base or index of an address that has none.
pub const ZERO: u8 = 16;
/// The entry address of the running block: the base of RIP-relative addresses.
pub const BLOCK: u8 = 17;
/// The FS base, as an address base.
pub const FS: u8 = 18;
/// The GS base, as an address base.
pub const GS: u8 = 19;

/// A vector register: 256 bits, of which SSE uses (and preserves beyond) the low half.
pub type Vector = [u128; 2];

/// An 80-bit extended-precision number as it stands in a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F80 {
    /// Sign (bit 15) and biased exponent.
    pub sign_exponent: u16,
    /// Significand with its explicit integer bit.
    pub significand: u64,
}

/// The x87 (and MMX) state.
#[derive(Clone, Debug)]
pub struct X87 {
    /// Physical registers R0 to R7; ST(i) is `registers[(top + i) % 8]`. MMX register i is the significand of R(i).
    pub registers: [F80; 8],
    /// Control word.
    pub control: u16,
    /// Status word without the TOP field.
    pub status: u16,
    /// TOP, 0 to 7.
    pub top: u8,
    /// Bit i is set where physical register i is not empty (the abridged tag word of FXSAVE).
    pub valid: u8,
    /// Last x87 opcode (11 bits), instruction address and data address.
    pub last_opcode: u16,
    /// Address of the last non-control x87 instruction.
    pub last_instruction: u64,
    /// Address of its memory operand.
    pub last_data: u64,
}

impl Default for X87 {
    fn default() -> Self {
        Self {
            registers: [F80::default(); 8],
            control: 0x37f,
            status: 0,
            top: 0,
            valid: 0,
            last_opcode: 0,
            last_instruction: 0,
            last_data: 0,
        }
    }
}

/// One answer of the CPUID instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuidLeaf {
    /// EAX on input.
    pub leaf: u32,
    /// ECX on input, for leaves that look at it.
    pub subleaf: Option<u32>,
    /// EAX, EBX, ECX, EDX on output.
    pub out: [u32; 4],
}

/// What CPUID answers by a table; all zero for unknown leaves.
pub fn answer(table: &[CpuidLeaf], leaf: u32, subleaf: u32) -> [u32; 4] {
    table
        .iter()
        .find(|l| l.leaf == leaf && l.subleaf.is_none_or(|s| s == subleaf))
        .map_or([0; 4], |l| l.out)
}

/// MXCSR after reset: all exceptions masked, round to nearest.
pub const MXCSR_RESET: u32 = 0x1f80;

/// The registers of one thread.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// General registers 0 to 15 by encoding number, then [`ZERO`], [`BLOCK`], [`FS`], [`GS`].
    pub gpr: RegFile<u64>,
    /// Vector registers.
    pub vec: RegFile<Vector>,
    /// Address of the next instruction. Inside a block it is exact only where an instruction needs it.
    pub rip: u64,
    /// RFLAGS.
    pub flags: Flags,
    mxcsr: u32,
    /// Host arithmetic gives the exact result and flags for normal operands and results (see [`Cpu::set_mxcsr`]).
    pub fp_fast: bool,
    /// The x87 state.
    pub x87: X87,
    /// What CPUID answers.
    pub cpuid: Arc<[CpuidLeaf]>,
}

impl Cpu {
    /// Registers as the kernel hands them to a new process.
    pub fn new(cpuid: Arc<[CpuidLeaf]>) -> Self {
        Self {
            gpr: RegFile::default(),
            vec: RegFile::default(),
            rip: 0,
            flags: Flags::default(),
            mxcsr: MXCSR_RESET,
            fp_fast: false,
            x87: X87::default(),
            cpuid,
        }
    }

    /// MXCSR.
    #[inline]
    pub fn mxcsr(&self) -> u32 {
        self.mxcsr
    }

    /// Sets MXCSR. Host arithmetic may be used only with all exceptions masked, rounding to nearest, no DAZ or FTZ and
    /// the inexact flag already up, as then an operation on normal operands with a normal result changes nothing else.
    #[inline]
    pub fn set_mxcsr(&mut self, value: u32) {
        self.mxcsr = value;
        self.fp_fast = value & 0xffe0 == 0x1fa0;
    }

    /// Raises sticky exception flags (the low six bits of MXCSR).
    #[inline]
    pub fn raise_mxcsr(&mut self, flags: u32) {
        self.set_mxcsr(self.mxcsr | flags & 0x3f);
    }

    /// The low 128 bits of a vector register.
    #[inline]
    pub fn xmm(&self, i: u8) -> u128 {
        self.vec[i][0]
    }

    /// Sets the low 128 bits, preserving the upper half (legacy SSE).
    #[inline]
    pub fn set_xmm(&mut self, i: u8, value: u128) {
        self.vec[i][0] = value;
    }

    /// The answer of CPUID; all zero for unknown leaves.
    pub fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        answer(&self.cpuid, leaf, subleaf)
    }
}
