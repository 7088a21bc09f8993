//! Whole programs in the guest: against the host, against hand-made expectations, and counted.
mod counts;
mod regressions;
mod witnesses;
