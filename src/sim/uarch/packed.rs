//! The micro-op as the out-of-order core wants it: everything that does not depend on the run is worked out once a block.
use super::micro::{FLAGS, Micro, NONE, REGISTERS, Reg, flags};
use super::micro_block::{self, Step};
use super::units::{Needs, Units};
use iced_x86::Instruction;

/// All flags at once: the latest of their groups.
pub(super) const ALL_FLAGS: Reg = FLAGS + 6;
/// Where micro-ops that write no flags, or no register, write to: nothing reads it.
const NOWHERE: Reg = 100;
const _: () = assert!(NOWHERE + 6 < REGISTERS as u8 && ALL_FLAGS < NOWHERE && FLAGS + 5 == NONE);

/// What is rare, as bits of [`Packed::rare`].
pub(super) mod rare {
    /// Reads more than three registers.
    pub(crate) const SOURCES: u8 = 1;
    /// Writes more than one register.
    pub(crate) const DESTINATIONS: u8 = 2;
    /// Reads some flags, neither none nor all of them.
    pub(crate) const FLAGS_READ: u8 = 4;
    /// Writes other flags than those of arithmetic.
    pub(crate) const FLAGS_WRITTEN: u8 = 8;
}

/// A micro-op.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub(super) needs: Needs,
    pub(super) traits: u16,
    /// Registers read, then [`NONE`].
    pub(super) sources: [Reg; 5],
    /// Flags read, as a register.
    pub(super) flags: Reg,
    pub(super) flags_read: u8,
    /// Registers written: the first of them, if any, is written always.
    pub(super) destinations: [Reg; 3],
    /// Where the times of the two groups of arithmetic go, and six behind it that of all flags: [`FLAGS`], or registers
    /// that nothing reads.
    pub(super) flags_to: Reg,
    pub(super) flags_written: u8,
    /// 0 takes no register, 1 an integer one, 2 a floating one.
    pub(super) file: u8,
    pub(super) rare: u8,
    /// Which access of its instruction it makes.
    pub(super) access: u8,
    /// Bytes from the start of that access.
    pub(super) offset: u8,
    /// Bytes that it accesses, at least one.
    pub(super) size: u8,
}

const _: () = assert!(size_of::<Packed>() <= 48);

/// The stock that a register is taken from: 0 none, 1 the integer one, 2 the floating one.
pub(super) fn file(register: Reg) -> usize {
    match register {
        0..32 => 1,
        32..FLAGS => 2,
        _ => 0,
    }
}

impl Packed {
    pub(super) fn new(micro: &Micro, units: &Units) -> Self {
        const ARITHMETIC: u8 = flags::ZAPS | flags::CFOF;
        let [first, second, _] = micro.destinations;
        let mut rare = 0;
        if micro.sources[3] != NONE {
            rare |= rare::SOURCES;
        }
        if second != NONE {
            rare |= rare::DESTINATIONS;
        }
        let flags = match micro.flags_read {
            0 => NONE,
            flags::ALL => ALL_FLAGS,
            _ => {
                rare |= rare::FLAGS_READ;
                NONE
            }
        };
        let flags_to = match micro.flags_written {
            ARITHMETIC => FLAGS,
            0 => NOWHERE,
            _ => {
                rare |= rare::FLAGS_WRITTEN;
                NOWHERE
            }
        };
        Self {
            needs: units.needs(micro),
            traits: micro.traits,
            sources: micro.sources,
            flags,
            flags_read: micro.flags_read,
            destinations: [
                if first == NONE { NOWHERE } else { first },
                micro.destinations[1],
                micro.destinations[2],
            ],
            flags_to,
            flags_written: micro.flags_written,
            file: file(first) as u8,
            rare,
            access: micro.access,
            offset: micro.offset,
            size: micro.size.max(1),
        }
    }

    /// Whether it has any of these bits.
    #[inline(always)]
    pub(super) fn is(&self, traits: u16) -> bool {
        self.traits & traits != 0
    }
}

/// A block as the out-of-order core sees it.
#[derive(Debug)]
pub struct Block {
    micros: Box<[Packed]>,
    /// The instructions, in program order.
    pub(super) steps: Box<[Step]>,
}

impl Block {
    pub(super) fn new(instructions: &[Instruction], units: &Units) -> Self {
        let (micros, steps) = micro_block::Block::new(instructions).into_parts();
        Self {
            micros: micros.iter().map(|m| Packed::new(m, units)).collect(),
            steps,
        }
    }

    /// The micro-ops of an instruction.
    #[inline(always)]
    pub(super) fn micros(&self, step: &Step) -> &[Packed] {
        &self.micros[step.range()]
    }
}
