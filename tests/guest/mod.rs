//! Whole programs in the guest: against the host and against hand-made expectations.
mod processes;
mod regressions;
mod signals;
mod snapshots;
mod threads;
mod witness_table;
mod witnesses;
