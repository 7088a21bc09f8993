//! The timing models, by microbenchmarks whose cycles were computed by hand.
mod keys;
mod rows;
