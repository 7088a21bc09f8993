//! The typed model of a processor, read from a machine file.
