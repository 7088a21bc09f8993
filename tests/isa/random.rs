//! A seeded generator and the boundary values that operands are drawn from.

/// SplitMix64 (Steele, Lea and Flood, 2014): one word of state, so that a printed seed is a whole reproduction.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator of its own for a part of the work, so that parts can be run alone.
    pub(crate) fn derived(seed: u64, part: u64) -> Self {
        let mut mixed = Self(seed ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(mixed.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Below `n`, which is not 0. The bias of the multiplication is of no account here.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    pub(crate) fn percent(&mut self, p: u64) -> bool {
        self.below(100) < p
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// An integer of `bits` bits at or near a boundary, a single bit, a run of bits, or random; upper bits are random.
    pub(crate) fn integer(&mut self, bits: u32) -> u64 {
        let top = 1u64 << (bits - 1);
        let mask = u64::MAX >> (64 - bits);
        let value = match self.below(16) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => top,
            4 => top - 1,
            5 => (top >> (bits / 2)).wrapping_sub(1),
            6 => top >> (bits / 2),
            7 => 1 << self.below(u64::from(bits)),
            8 => !(1 << self.below(u64::from(bits))),
            9 => self.below(32),
            10 => self.below(32).wrapping_neg(),
            11 => {
                let low = self.below(u64::from(bits));
                (mask >> low) & (mask << self.below(u64::from(bits)))
            }
            12 => top.wrapping_add(self.below(4)).wrapping_sub(2),
            _ => self.next(),
        };
        value & mask | if bits == 64 { 0 } else { self.next() & !mask }
    }

    /// The bits of a `float` (binary32) at or near a boundary of the format.
    pub(crate) fn float32(&mut self) -> u32 {
        let sign = (self.next() as u32) & 0x8000_0000;
        let any = self.next() as u32;
        sign | match self.below(20) {
            0 => 0,
            1 => 0x0000_0001,
            2 => 0x007f_ffff,
            3 => any & 0x007f_ffff,
            4 => 0x0080_0000,
            5 => 0x0080_0000 | any & 0x0100_0001,
            6 => 0x7f7f_ffff,
            7 => 0x7f80_0000,
            8 => 0x7fc0_0000 | any & 0x003f_ffff,
            9 => 0x7f80_0001 | any & 0x003f_ffff,
            10 => ((any % 1000) as f32).to_bits(),
            11 => ((any % 1000) as f32 + 0.5).to_bits(),
            12 => ((any >> 8) as f32).to_bits(),
            // Around the limits of the integers: 2^31, 2^32, 2^63, 2^64 and their neighbours.
            13 => ((127u32 + self.pick(&[15, 16, 31, 32, 62, 63, 64])) << 23)
                .wrapping_add(any & 3)
                .wrapping_sub(2),
            14 => 0x3f80_0000u32.wrapping_add(any & 3).wrapping_sub(2),
            15 => (any & 0x007f_ffff) | ((100 + self.below(50) as u32) << 23),
            16 => (any & 0x0000_0fff).wrapping_add(self.pick(&[
                0x3f00_0000,
                0x4b00_0000,
                0x4b80_0000,
            ])),
            _ => any & 0x7fff_ffff,
        }
    }

    /// The bits of a `double` (binary64) at or near a boundary of the format.
    pub(crate) fn float64(&mut self) -> u64 {
        let sign = self.next() & 1 << 63;
        let any = self.next();
        sign | match self.below(22) {
            0 => 0,
            1 => 1,
            2 => 0x000f_ffff_ffff_ffff,
            3 => any >> 12,
            4 => 1 << 52,
            5 => 1 << 52 | any & 1 << 53 | any & 1,
            6 => 0x7fef_ffff_ffff_ffff,
            7 => 0x7ff0_0000_0000_0000,
            8 => 0x7ff8_0000_0000_0000 | any >> 13,
            9 => 0x7ff0_0000_0000_0001 | any >> 13,
            10 => ((any % 1000) as f64).to_bits(),
            11 => ((any % 1000) as f64 + 0.5).to_bits(),
            12 => ((any >> 11) as f64).to_bits(),
            13 => ((1023u64 + self.pick(&[15, 16, 31, 32, 62, 63, 64])) << 52)
                .wrapping_add(any & 3)
                .wrapping_sub(2),
            14 => 0x3ff0_0000_0000_0000u64
                .wrapping_add(any & 3)
                .wrapping_sub(2),
            15 => any >> 12 | (1000 + self.below(50)) << 52,
            16 => (any & 0xffff).wrapping_add(0x4330_0000_0000_0000),
            // Near-halfway cases and limits of the narrower format.
            17 => f64::from(f32::from_bits(self.float32() & 0x7fff_ffff)).to_bits() & !(1 << 63),
            18 => {
                let narrow = f64::from(f32::from_bits(any as u32 & 0x7f7f_ffff)).to_bits();
                (narrow | 1 << 28)
                    .wrapping_add(self.below(3))
                    .wrapping_sub(1)
                    & !(1 << 63)
            }
            19 => 0x41df_ffff_ffc0_0000u64.wrapping_add(self.below(1 << 22)),
            _ => any & !(1 << 63),
        }
    }

    /// An 80-bit number: (sign and exponent, significand), encodings that no operation produces included.
    pub(crate) fn float80(&mut self) -> (u16, u64) {
        let sign = (self.next() as u16) & 0x8000;
        let any = self.next();
        let top = 1u64 << 63;
        let (exponent, significand) = match self.below(24) {
            0 => (0, 0),
            1 => (0, 1),
            2 => (0, any & !top),
            3 => (0, any | top), // pseudo-denormal
            4 => (1, top),
            5 => (0x7ffe, u64::MAX),
            6 => (0x7fff, top),
            7 => (0x7fff, top | 1 << 62 | any >> 2),
            8 => (0x7fff, top | 1 | any >> 2),
            9 => (0x7fff, any & !top), // pseudo-NaN, pseudo-infinity
            10 => (self.below(0x7fff) as u16, any & !top), // unnormal
            11 | 12 => {
                let integer = 1 + self.below(1000);
                let shift = integer.leading_zeros();
                ((16383 + 63 - shift) as u16, integer << shift)
            }
            13 => {
                let doubled = 2 * self.below(1000) + 1;
                let shift = doubled.leading_zeros();
                ((16383 + 62 - shift) as u16, doubled << shift)
            }
            14 => (
                16383 + self.pick(&[15, 16, 31, 32, 62, 63, 64]),
                top | any & 3,
            ),
            15 => (16382 + self.below(3) as u16, u64::MAX << self.below(64)),
            16 => (16383 + 58 + self.below(5) as u16, top | any), // packed decimal range
            17 => {
                let bits = f64::from_bits(self.float64()).abs();
                let bits = if bits.is_normal() {
                    bits.to_bits()
                } else {
                    0x3ff8_0000_0000_0000
                };
                ((bits >> 52) as u16 + 16383 - 1023, top | bits << 11)
            }
            18 => (self.below(200) as u16, any | top),
            19 => (0x7fff - self.below(200) as u16, any | top),
            20 => (16383 - 1022 - self.below(60) as u16, any | top), // double denormal range
            21 => (16383 - 126 - self.below(30) as u16, any | top),
            _ => (16383 - 20 + self.below(40) as u16, any | top),
        };
        (sign | exponent, significand)
    }

    /// 16 bytes of a vector register, in lanes of one of the formats.
    pub(crate) fn vector(&mut self, lanes: Lanes) -> u128 {
        let mut bytes = [0u8; 16];
        match lanes {
            Lanes::Float32 => bytes
                .chunks_mut(4)
                .for_each(|c| c.copy_from_slice(&self.float32().to_le_bytes())),
            Lanes::Float64 => bytes
                .chunks_mut(8)
                .for_each(|c| c.copy_from_slice(&self.float64().to_le_bytes())),
            Lanes::Text => {
                // Few letters, so that strings match, and zeros, so that they end.
                let wide = self.percent(50);
                let zeros = self.percent(70);
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte = match self.below(12) {
                        0 if zeros => 0,
                        1 => self.next() as u8,
                        _ => b'a' + self.below(4) as u8,
                    };
                    if wide && i % 2 == 1 {
                        *byte = 0;
                    }
                }
            }
            Lanes::Integer(bits) => {
                let size = bits as usize / 8;
                bytes
                    .chunks_mut(size)
                    .for_each(|c| c.copy_from_slice(&self.integer(bits).to_le_bytes()[..size]));
            }
            Lanes::Any => {
                let lanes = match self.below(8) {
                    0 => Lanes::Float32,
                    1 => Lanes::Float64,
                    2 => Lanes::Text,
                    3 => Lanes::Integer(8),
                    4 => Lanes::Integer(16),
                    5 => Lanes::Integer(32),
                    6 => Lanes::Integer(64),
                    _ => return u128::from(self.next()) << 64 | u128::from(self.next()),
                };
                return self.vector(lanes);
            }
        }
        u128::from_le_bytes(bytes)
    }
}

/// What the lanes of a vector operand hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    Float32,
    Float64,
    Text,
    Integer(u32),
    Any,
}
