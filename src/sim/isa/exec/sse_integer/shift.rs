//! Packed shifts. A count beyond the lane gives zeros, or copies of the sign.
//!
//! The count is the low 64 bits of the source operand: an immediate comes as `[imm, 0]`.
macro_rules! shifts {
    ($($(#[$doc:meta])* $name:ident: [$t:ty; $n:literal], $op:tt;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: [$t; $n], count: [u64; 2]) -> [$t; $n] {
            if count[0] >= u64::from(<$t>::BITS) {
                return [0; $n];
            }
            a.map(|x| x $op count[0])
        }
    )*};
}
macro_rules! signed_shifts {
    ($($(#[$doc:meta])* $name:ident: [$t:ty; $n:literal];)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: [$t; $n], count: [u64; 2]) -> [$t; $n] {
            let count = count[0].min(u64::from(<$t>::BITS - 1));
            a.map(|x| x >> count)
        }
    )*};
}

shifts! {
    /// PSLLW.
    psllw: [u16; 8], <<;
    /// PSLLD.
    pslld: [u32; 4], <<;
    /// PSLLQ.
    psllq: [u64; 2], <<;
    /// PSRLW.
    psrlw: [u16; 8], >>;
    /// PSRLD.
    psrld: [u32; 4], >>;
    /// PSRLQ.
    psrlq: [u64; 2], >>;
}
signed_shifts! {
    /// PSRAW.
    psraw: [i16; 8];
    /// PSRAD.
    psrad: [i32; 4];
}

/// PSLLDQ: the count is in bytes.
#[inline(always)]
pub fn pslldq(a: u128, count: [u64; 2]) -> u128 {
    if count[0] > 15 {
        0
    } else {
        a << (8 * count[0])
    }
}
/// PSRLDQ: the count is in bytes.
#[inline(always)]
pub fn psrldq(a: u128, count: [u64; 2]) -> u128 {
    if count[0] > 15 {
        0
    } else {
        a >> (8 * count[0])
    }
}
