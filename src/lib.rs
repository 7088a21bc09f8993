//! tickmark: compares programs by exact instruction and cycle counts instead of by the clock of a shared machine.
pub mod sim;
