//! The simulated machine: program, world, machine and limits in; outcome out.
//!
//! Rooms: [`memory`] (the guest's address space), [`isa`] (what an instruction does to values), [`guest`] (the process
//! and its kernel), [`uarch`] (what it costs in time), [`machine`] (the typed model of a processor).
mod gaps;
pub mod guest;
pub mod isa;
pub mod machine;
pub mod memory;
pub mod outcome;
pub mod shared;
pub mod simulation;
pub mod uarch;
