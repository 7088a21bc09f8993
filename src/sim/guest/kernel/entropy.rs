//! Randomness from the job's seed.

/// A SplitMix64 generator: `state` grows by the golden-ratio constant, the output is Stafford's 13th mix of it.
#[derive(Clone, Debug)]
pub(crate) struct Entropy {
    state: u64,
}

impl Entropy {
    /// The generator of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Fills the buffer. A started word is thrown away, so that the stream depends on the sizes asked for.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_of_seed_zero_are_those_of_the_published_generator() {
        let mut bytes = [0; 20];
        Entropy::new(0).fill(&mut bytes);
        assert_eq!(bytes[..8], 0xe220_a839_7b1d_cdafu64.to_le_bytes());
        assert_eq!(bytes[8..16], 0x6e78_9e6a_a1b9_65f4u64.to_le_bytes());
        assert_eq!(bytes[16..], 0x06c4_5d18_8009_454fu64.to_le_bytes()[..4]);
    }
}
