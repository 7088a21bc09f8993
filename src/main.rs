//! The `tickmark` command.
fn main() {}
