//! The micro-op of the table `gem5`, and its classes and registers.
//!
//! gem5 renames the halves of XMM registers, its microcode's own registers and five groups of flags. They have one
//! numbering here, so that a core keeps the time of each in one array.

/// A register of the core.
pub type Reg = u8;

/// Micro-register `i` of the microcode (1 to 7).
pub const fn temporary(i: u8) -> Reg {
    16 + i
}
/// Low half of a multiplication.
pub const PRODUCT_LOW: Reg = 24;
/// High half of a multiplication.
pub const PRODUCT_HIGH: Reg = 25;
/// Quotient so far.
pub const QUOTIENT: Reg = 26;
/// Remainder so far.
pub const REMAINDER: Reg = 27;
/// Divisor.
pub const DIVISOR: Reg = 28;
/// The second operand of a double-width shift.
pub const DOUBLE_BITS: Reg = 29;
/// Low half of vector register `i`.
pub const fn low(i: u8) -> Reg {
    32 + i
}
/// High half of vector register `i`.
pub const fn high(i: u8) -> Reg {
    48 + i
}
/// Floating micro-register `i` of the microcode (1 to 7).
pub const fn float_temporary(i: u8) -> Reg {
    64 + i
}
/// x87 or MMX register `i`.
pub const fn stack(i: u8) -> Reg {
    72 + i
}
/// First of the five groups of flags; group `i` is bit `i` of a mask.
pub const FLAGS: Reg = 80;
/// No register: always ready.
pub const NONE: Reg = 85;
/// Numbers of registers, a power of two and more than there are.
pub const REGISTERS: usize = 128;

/// Groups of flags that gem5 renames, as bits.
pub mod flags {
    /// ZF, AF, PF, SF.
    pub const ZAPS: u8 = 1;
    /// CF and OF.
    pub const CFOF: u8 = 2;
    /// DF.
    pub const DF: u8 = 4;
    /// The microcode's own carry.
    pub const ECF: u8 = 8;
    /// The microcode's own zero.
    pub const EZF: u8 = 16;
    /// Every group: what a conditional micro-op reads.
    pub const ALL: u8 = 31;
}

/// What a micro-op needs a unit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// Needs no unit.
    None,
    /// Integer addition, logic, moves.
    IntAlu,
    /// Integer multiplication.
    IntMult,
    /// Integer division step.
    IntDiv,
    /// x87 addition, immediates of floating registers.
    FloatAdd,
    /// x87 comparison.
    FloatCmp,
    /// x87 conversion.
    FloatCvt,
    /// x87 multiplication.
    FloatMult,
    /// x87 division.
    FloatDiv,
    /// x87 square root and transcendentals.
    FloatSqrt,
    /// x87 state.
    FloatMisc,
    /// Vector integer addition.
    SimdAdd,
    /// Vector logic.
    SimdAlu,
    /// Vector minimum and maximum.
    SimdCmp,
    /// Vector integer comparison.
    SimdCvt,
    /// Shuffles, transfers between register files.
    SimdMisc,
    /// Vector integer multiplication.
    SimdMult,
    /// Vector shift.
    SimdShift,
    /// SSE addition.
    SimdFloatAdd,
    /// SSE estimates.
    SimdFloatAlu,
    /// SSE minimum and maximum.
    SimdFloatCmp,
    /// SSE conversion and comparison.
    SimdFloatCvt,
    /// SSE division.
    SimdFloatDiv,
    /// SSE multiplication.
    SimdFloatMult,
    /// SSE square root.
    SimdFloatSqrt,
    /// Load of an integer register.
    MemRead,
    /// Store of an integer register.
    MemWrite,
    /// Load of a floating register.
    FloatMemRead,
    /// Store of a floating register.
    FloatMemWrite,
}

impl Class {
    /// Every class, in the order of its numbers.
    pub const ALL: [Self; 29] = [
        Self::None,
        Self::IntAlu,
        Self::IntMult,
        Self::IntDiv,
        Self::FloatAdd,
        Self::FloatCmp,
        Self::FloatCvt,
        Self::FloatMult,
        Self::FloatDiv,
        Self::FloatSqrt,
        Self::FloatMisc,
        Self::SimdAdd,
        Self::SimdAlu,
        Self::SimdCmp,
        Self::SimdCvt,
        Self::SimdMisc,
        Self::SimdMult,
        Self::SimdShift,
        Self::SimdFloatAdd,
        Self::SimdFloatAlu,
        Self::SimdFloatCmp,
        Self::SimdFloatCvt,
        Self::SimdFloatDiv,
        Self::SimdFloatMult,
        Self::SimdFloatSqrt,
        Self::MemRead,
        Self::MemWrite,
        Self::FloatMemRead,
        Self::FloatMemWrite,
    ];
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
}

/// How the pipeline treats a micro-op, as bits of [`Micro::traits`].
pub mod traits {
    /// Loads.
    pub const LOAD: u16 = 1;
    /// Stores.
    pub const STORE: u16 = 2;
    /// Changes the address of the next instruction.
    pub const BRANCH: u16 = 4;
    /// Branches inside the instruction's microcode.
    pub const MICRO_BRANCH: u16 = 8;
    /// Last of its instruction.
    pub const LAST: u16 = 16;
    /// Waits until everything before it has left the core.
    pub const SERIAL_BEFORE: u16 = 32;
    /// What follows waits until it has left the core.
    pub const SERIAL_AFTER: u16 = 64;
    /// Executes only when it is the oldest.
    pub const NON_SPECULATIVE: u16 = 128;
    /// Orders loads and stores.
    pub const FENCE: u16 = 256;
    /// Occupies the queue of its kind without an access.
    pub const NO_ACCESS: u16 = 512;
    /// Brings a line near and waits for nothing.
    pub const PREFETCH: u16 = 1024;
    /// Traps to the kernel.
    pub const SYSCALL: u16 = 2048;
    /// A branch inside the microcode that is taken whenever it is reached.
    pub const TAKEN: u16 = 4096;
}

/// A micro-op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Micro {
    /// What unit it needs.
    pub class: Class,
    /// Groups of flags read.
    pub flags_read: u8,
    /// Groups of flags written.
    pub flags_written: u8,
    /// Which access of its instruction it makes.
    pub access: u8,
    /// Bytes from the start of that access.
    pub offset: u8,
    /// Bytes that it accesses.
    pub size: u8,
    /// Bits of [`traits`].
    pub traits: u16,
    /// Registers read, then [`NONE`].
    pub sources: [Reg; 5],
    /// Registers written, then [`NONE`].
    pub destinations: [Reg; 3],
}

impl Micro {
    /// A micro-op of this class that reads and writes nothing.
    pub fn new(class: Class) -> Self {
        Self {
            class,
            flags_read: 0,
            flags_written: 0,
            access: 0,
            offset: 0,
            size: 0,
            traits: 0,
            sources: [NONE; 5],
            destinations: [NONE; 3],
        }
    }

    /// Adds sources; those beyond five are dropped.
    pub fn reads(mut self, registers: &[Reg]) -> Self {
        for &register in registers {
            insert(&mut self.sources, register);
        }
        self
    }

    /// Adds destinations.
    pub fn writes(mut self, registers: &[Reg]) -> Self {
        for &register in registers {
            insert(&mut self.destinations, register);
        }
        self
    }

    /// Sets the groups of flags that it reads and writes.
    pub fn with_flags(mut self, read: u8, written: u8) -> Self {
        self.flags_read |= read;
        self.flags_written |= written;
        self
    }

    /// Adds bits of [`traits`].
    pub fn with(mut self, traits: u16) -> Self {
        self.traits |= traits;
        self
    }

    /// Whether it has all of these bits.
    #[inline(always)]
    pub fn is(&self, traits: u16) -> bool {
        self.traits & traits != 0
    }
}

fn insert(slots: &mut [Reg], register: Reg) {
    if register == NONE {
        return;
    }
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
