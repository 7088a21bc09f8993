//! Checks against the host processor.
