//! Placeholder until its family lands.
use super::Answer;
use crate::sim::isa::op::Context;
use iced_x86::Instruction;

/// Runs the instruction if it belongs to this family.
pub fn execute(_cx: &mut Context, _insn: &Instruction) -> Answer {
    None
}
