//! Statistics as plain functions of numbers: intervals, rank correlation. Nothing here knows what the numbers mean.
mod bootstrap;
mod random;
mod rank;

pub use bootstrap::{Interval, mean, mean_interval, quantile};
pub use random::Random;
pub use rank::{kendall_tau_b, ranks, spearman_rho};
