//! The decoded operation: a handler and its packed operands.
use super::state::Cpu;
use crate::sim::memory::{Fault, Memory};

/// What the run loop does after a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Flow {
    /// Go on with the next operation of the block.
    Next,
    /// The branch at the end of the block is taken: go to its static target.
    Taken,
    /// The branch at the end of the block is not taken: go on behind it.
    NotTaken,
    /// `cpu.rip` holds the next address (indirect branch, return).
    Indirect,
    /// A system call: the kernel acts, then execution goes on behind the instruction.
    Syscall,
    /// The instruction needs the time (RDTSC, RDTSCP): the run loop supplies it, then goes on behind it.
    Time,
    /// The instruction did part of its work (`rep`): run it again; it has not retired yet.
    Again,
    /// The instruction is done, and the block must end behind it, as decoded code may have changed.
    Stop,
    /// The fault is in [`Context::fault`]; nothing has changed.
    Fault,
}

/// Runs one operation. On [`Flow::Fault`] the fault stands in [`Context::fault`].
pub type Handler = fn(&mut Context, &Op) -> Flow;

/// What decoded operations need beyond their 24 bytes. It belongs to the block cache and travels with it.
#[derive(Debug, Default)]
pub struct SideTables {
    /// Decoded instructions, for the complete path.
    pub slow: Vec<iced_x86::Instruction>,
    /// Lane operations with their immediate.
    pub lanes: Vec<LaneOp>,
}

impl SideTables {
    /// How much is in the tables.
    pub(super) fn mark(&self) -> [usize; 2] {
        [self.slow.len(), self.lanes.len()]
    }

    /// Drops what has come since that mark.
    pub(super) fn back_to(&mut self, [slow, lanes]: [usize; 2]) {
        self.slow.truncate(slow);
        self.lanes.truncate(lanes);
    }

    /// Empties the tables.
    pub fn clear(&mut self) {
        self.slow.clear();
        self.lanes.clear();
    }
}

/// A pure operation on vector registers.
#[derive(Clone, Copy, Debug)]
pub enum LaneOp {
    /// Destination and source.
    Binary(fn(&mut u128, &u128)),
    /// Destination, source and immediate.
    Immediate(fn(&mut u128, &u128, u8), u8),
    /// Destination and a constant source.
    Constant(fn(&mut u128, &u128), u128),
}

/// What handlers work on: the registers and the memory of the running thread.
#[derive(Debug)]
pub struct Context {
    /// The registers.
    pub cpu: Cpu,
    /// The address space.
    pub mem: Memory,
    /// Why the last handler returned [`Flow::Fault`].
    pub fault: Fault,
    /// Iterations that `rep` instructions have done since the run loop last looked.
    pub repeats: u64,
    /// An instruction read the time.
    pub clock_read: bool,
    /// What operations refer to by index ([`Op::imm`]).
    pub side: SideTables,
}

impl Context {
    /// Registers and memory, with nothing pending.
    pub fn new(cpu: Cpu, mem: Memory) -> Self {
        Self {
            cpu,
            mem,
            fault: Fault::Unsupported,
            repeats: 0,
            clock_read: false,
            side: SideTables::default(),
        }
    }
}

/// A decoded operation.
///
/// 24 bytes: an x86 instruction can carry a 32-bit displacement and a 32-bit immediate beside four registers, which do
/// not fit in the 8 bytes that a 16-byte operation leaves beside its handler.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The function that runs it.
    pub handler: Handler,
    /// First operand (destination) register.
    pub dst: u8,
    /// Second operand register, or the base of the address.
    pub base: u8,
    /// Index register of the address.
    pub index: u8,
    /// Shift of the index (0 to 3).
    pub scale: u8,
    /// Displacement.
    pub disp: i32,
    /// Immediate, sign-extended; or whatever else the handler needs.
    pub imm: i64,
}

const _: () = assert!(size_of::<Op>() == 24);

impl Op {
    /// The effective address.
    #[inline(always)]
    pub fn address(&self, cpu: &Cpu) -> u64 {
        cpu.gpr[self.base]
            .wrapping_add(cpu.gpr[self.index] << (self.scale & 63))
            .wrapping_add(self.disp as i64 as u64)
    }
}
