//! Metrics: numbers with unit, population and what they leave out, from verdicts and runtimes.
//!
//! A metric takes [`Facts`] and gives [`Scores`]: for each model the values of its problems, of which the score is the
//! mean. It never asks where facts come from. What leaves a population is named with its reason. Each file says where
//! its formula comes from; docs/metrics.md has them all on one page.
mod beats;
mod beyond;
mod dps;
mod eff_at_k;
mod facts;
mod kind;
mod normalised_runtime;
mod pass_at_k;
mod resources;
mod scores;
mod speed_up;
mod stability;
mod win;

pub use facts::{Aggregate, Facts, LeftOut, Outcome, ProblemFacts, SampleFact, Whole};
pub use kind::{Metric, Scale, Settings};
pub use normalised_runtime::{Share, pairwise_shares};
pub use pass_at_k::estimate;
pub use scores::{Direction, ModelScore, Scores, Unit};
pub use stability::{Stability, stability};
pub use win::{WinRate, win_matrix};

#[cfg(test)]
mod python;
#[cfg(test)]
mod tests;
