//! A message channel to the program: an inherited socket that keeps the borders of messages.
use std::sync::Arc;

/// A message channel on a fixed file descriptor of the program.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The file descriptor in the program.
    pub descriptor: i32,
    /// What the program reads, one message a `read`; further reads give end of file.
    ///
    /// A message may have up to 64 KiB: the kernel bounds what a socket takes at once.
    pub inputs: Vec<Arc<[u8]>>,
    /// Most messages that are kept; more end the run as too much output.
    pub most_messages: usize,
    /// Most bytes of all messages together; more end the run as too much output.
    pub most_bytes: usize,
}

impl Channel {
    /// Longest message in bytes, in either direction.
    pub const LONGEST: usize = 65536;
}
