//! Checks against the host.
