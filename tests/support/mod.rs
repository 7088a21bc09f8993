//! What several integration tests use.
pub(crate) mod dataset;
pub(crate) mod program;
pub(crate) mod scratch;
#[allow(
    dead_code,
    reason = "shared with examples, of which each takes what it needs"
)]
pub(crate) mod single_step;
pub(crate) mod tickmark;
