//! Comparing: is one candidate faster than another, by how much, and how sure is that?
//!
//! ```text
//! Task (two or more entrants) -> interleaved runs -> Decision -> Overall
//! ```
//! On `sim` one run tells the whole truth, and the decision is exact. Natively runs are repeated in a seeded random
//! order, so that a drift of the host meets all entrants alike, and the decision carries its p-value, effect size and
//! interval. Every run is judged: an entrant that once fails has no times.
mod agree;
mod decision;
mod runs;

pub use agree::{Agreement, AgreementPair, agree};
pub use decision::{Decision, Outcome, Overall, Rules, decide, exact, overall};
pub use runs::{Aggregate, Entrant, EntrantRuns, Protocol, Quantity, Task, run_interleaved};
