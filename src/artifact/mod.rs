//! Artifacts: what a backend can start, built from a candidate.
