//! What an instruction does to values. No cycles here.
//!
//! An instruction is decoded once (`decode`) into an [`op::Op`]: a handler and its packed operands. Hot forms have a
//! handler of their own (`fast`); every other form goes through [`exec::execute`], which works on the decoded iced
//! instruction. Both must agree, and both are checked against the host processor. [`run`] chains decoded blocks.
pub mod accesses;
pub mod decode;
pub mod exec;
mod fast;
mod fast_avx;
pub mod flags;
pub mod op;
pub mod run;
pub mod softfloat;
pub mod state;
