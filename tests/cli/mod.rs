//! The command line as users type it, under bad input, and with hostile candidates.
mod bad_data;
mod bad_programs;
mod comparing;
mod hostile;
mod machines;
mod study;
