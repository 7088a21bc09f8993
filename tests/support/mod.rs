//! What several integration tests use.
pub(crate) mod single_step;
