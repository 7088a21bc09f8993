//! The differential harness: every instruction against the host processor.
//!
//! An instance is one instruction with drawn operands, registers, flags and memory. [`host`] runs it on the processor
//! through a stub, [`guest`] through the simulator, over memory at the same addresses; [`compare`] says what must agree.
pub(crate) mod campaign;
pub(crate) mod catalog;
pub(crate) mod compare;
pub(crate) mod generate;
pub(crate) mod guest;
pub(crate) mod host;
pub(crate) mod image;
pub(crate) mod random;
pub(crate) mod sequence;
