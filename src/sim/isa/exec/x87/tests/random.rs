//! Operands that sit on the boundaries.
use crate::sim::isa::state::F80;

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    pub(super) fn significand(&mut self) -> u64 {
        match self.below(8) {
            0 => 1 << 63,
            1 => u64::MAX,
            2 => 1 << 63 | 1 << self.below(63),
            3 => u64::MAX << self.below(64),
            4 => u64::MAX << self.below(64) & self.next() | 1 << 63,
            // Halfway between two numbers of a shorter format.
            5 => self.next() & u64::MAX << 39 | 1 << 39 | 1 << 63,
            6 => self.next() & u64::MAX << 10 | 1 << 10 | 1 << 63,
            _ => self.next() | 1 << 63,
        }
    }

    /// An 80-bit pattern, special ones in every sixth case.
    pub(super) fn f80(&mut self) -> F80 {
        let sign = (self.next() as u16 & 1) << 15;
        let significand = self.significand();
        let (exponent, significand) = match self.below(24) {
            0 => (0, 0),
            1 => (0, significand >> (1 + self.below(63))),
            2 => (0, significand), // pseudo-denormal
            3 => (0x7fff, 1 << 63),
            4 => (0x7fff, self.next() | 1 << 63),
            5 => (self.next() as u16 & 0x7fff, self.next() >> 1), // mostly unsupported
            6 => (1 + self.below(70) as u16, significand),
            7 => (0x7ffe - self.below(70) as u16, significand),
            8 => (self.next() as u16 & 0x7fff, significand),
            9 => (0x3fff - 16400 / 2 + self.below(16400) as u16, significand),
            10..12 => (0x3fff + self.below(70) as u16, significand),
            12..14 => (0x3fff - self.below(80) as u16, significand),
            // About the ends of the ranges of 32- and 64-bit floats.
            14 => (0x3fff - 127 - 30 + self.below(60) as u16, significand),
            15 => (0x3fff + 127 - 5 + self.below(10) as u16, significand),
            16 => (0x3fff - 1023 - 60 + self.below(70) as u16, significand),
            17 => (0x3fff + 1023 - 5 + self.below(10) as u16, significand),
            // Small integers and halves.
            18 | 19 => {
                let value = self.below(64) + 1;
                let shift = value.leading_zeros() as u16;
                (0x3fff + 63 - shift - self.below(3) as u16, value << shift)
            }
            _ => (0x3fff - 3 + self.below(6) as u16, significand),
        };
        F80 {
            sign_exponent: sign | exponent & 0x7fff,
            significand,
        }
    }

    /// Operand bytes that make sense as floats or integers of every size.
    pub(super) fn operand(&mut self) -> [u8; 16] {
        let mut bytes = (u128::from(self.next()) << 64 | u128::from(self.next())).to_le_bytes();
        match self.below(7) {
            0 => {
                let sign = (self.next() as u32 & 1) << 31;
                let exponent = self.pick(&[0, 1, 2, 126, 127, 128, 150, 253, 254, 255]);
                let fraction = self.pick(&[0, 1, 0x40_0000, 0x7f_ffff, 0x12_3456]);
                bytes[..4].copy_from_slice(&(sign | exponent << 23 | fraction).to_le_bytes());
            }
            1 => {
                let sign = (self.next() & 1) << 63;
                let exponent = self.pick(&[0, 1, 2, 1022, 1023, 1024, 1075, 2045, 2046, 2047]);
                let fraction = self.pick(&[0, 1, 1 << 51, (1 << 52) - 1, 0x12_3456_789a]);
                bytes[..8].copy_from_slice(&(sign | exponent << 52 | fraction).to_le_bytes());
            }
            2 => {
                let value = self.below(20).wrapping_sub(10);
                bytes[..8].copy_from_slice(&value.to_le_bytes());
            }
            3 => bytes[..8]
                .copy_from_slice(&self.pick(&[1u64 << 63, 1 << 31, 1 << 15]).to_le_bytes()),
            4 => {
                for byte in &mut bytes[..9] {
                    *byte = (self.below(10) << 4 | self.below(10)) as u8;
                }
                bytes[9] = self.pick(&[0, 0x80]);
            }
            5 => {
                let value = self.f80();
                bytes[..8].copy_from_slice(&value.significand.to_le_bytes());
                bytes[8..10].copy_from_slice(&value.sign_exponent.to_le_bytes());
            }
            _ => {}
        }
        bytes
    }
}
