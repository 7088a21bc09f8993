//! What several integration tests use.
pub(crate) mod dataset;
pub(crate) mod program;
pub(crate) mod scratch;
pub(crate) mod single_step;
pub(crate) mod tickmark;
