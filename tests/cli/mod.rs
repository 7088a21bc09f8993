//! The command line under bad input and hostile candidates.
mod bad_data;
mod bad_programs;
mod hostile;
mod study;
