//! Verdicts: right or wrong, and why, from a measurement and what was expected.
