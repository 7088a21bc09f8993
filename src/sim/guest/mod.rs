//! The guest process: its program image, its first stack, its kernel and the files that it sees.
pub mod world;
