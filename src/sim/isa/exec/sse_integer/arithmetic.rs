//! Packed integer arithmetic, comparison and logic: pure functions of lanes.
//!
//! In each function `a` is the destination and `b` the source operand. All of them also serve MMX, whose operands are
//! the low 8 bytes and whose result is the low half.
use std::array::from_fn;

macro_rules! lanewise {
    ($($(#[$doc:meta])* $name:ident: [$t:ty; $n:literal], |$a:ident, $b:ident| $result:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: [$t; $n], b: [$t; $n]) -> [$t; $n] {
            from_fn(|i| {
                let ($a, $b) = (a[i], b[i]);
                $result
            })
        }
    )*};
}

lanewise! {
    /// PADDB.
    paddb: [u8; 16], |a, b| a.wrapping_add(b);
    /// PADDW.
    paddw: [u16; 8], |a, b| a.wrapping_add(b);
    /// PADDD.
    paddd: [u32; 4], |a, b| a.wrapping_add(b);
    /// PADDQ.
    paddq: [u64; 2], |a, b| a.wrapping_add(b);
    /// PADDSB.
    paddsb: [i8; 16], |a, b| a.saturating_add(b);
    /// PADDSW.
    paddsw: [i16; 8], |a, b| a.saturating_add(b);
    /// PADDUSB.
    paddusb: [u8; 16], |a, b| a.saturating_add(b);
    /// PADDUSW.
    paddusw: [u16; 8], |a, b| a.saturating_add(b);

    /// PSUBB.
    psubb: [u8; 16], |a, b| a.wrapping_sub(b);
    /// PSUBW.
    psubw: [u16; 8], |a, b| a.wrapping_sub(b);
    /// PSUBD.
    psubd: [u32; 4], |a, b| a.wrapping_sub(b);
    /// PSUBQ.
    psubq: [u64; 2], |a, b| a.wrapping_sub(b);
    /// PSUBSB.
    psubsb: [i8; 16], |a, b| a.saturating_sub(b);
    /// PSUBSW.
    psubsw: [i16; 8], |a, b| a.saturating_sub(b);
    /// PSUBUSB.
    psubusb: [u8; 16], |a, b| a.saturating_sub(b);
    /// PSUBUSW.
    psubusw: [u16; 8], |a, b| a.saturating_sub(b);

    /// PMULLW: the low half of the product.
    pmullw: [u16; 8], |a, b| a.wrapping_mul(b);
    /// PMULLD: the low half of the product.
    pmulld: [u32; 4], |a, b| a.wrapping_mul(b);
    /// PMULHW: the high half of the signed product.
    pmulhw: [i16; 8], |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16;
    /// PMULHUW: the high half of the unsigned product.
    pmulhuw: [u16; 8], |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16;
    /// PMULHRSW: the signed product over 2^15, rounded half up; -1 times -1 wraps to -1.
    pmulhrsw: [i16; 8], |a, b| ((((i32::from(a) * i32::from(b)) >> 14) + 1) >> 1) as i16;

    /// PAVGB: the mean, rounded half up.
    pavgb: [u8; 16], |a, b| ((u16::from(a) + u16::from(b) + 1) >> 1) as u8;
    /// PAVGW: the mean, rounded half up.
    pavgw: [u16; 8], |a, b| ((u32::from(a) + u32::from(b) + 1) >> 1) as u16;

    /// PSIGNB: `a` with the sign of `b` applied; 0 where `b` is 0.
    psignb: [i8; 16], |a, b| if b == 0 { 0 } else { (a ^ b >> 7).wrapping_sub(b >> 7) };
    /// PSIGNW.
    psignw: [i16; 8], |a, b| if b == 0 { 0 } else { (a ^ b >> 15).wrapping_sub(b >> 15) };
    /// PSIGND.
    psignd: [i32; 4], |a, b| if b == 0 { 0 } else { (a ^ b >> 31).wrapping_sub(b >> 31) };

    /// PMINUB.
    pminub: [u8; 16], |a, b| a.min(b);
    /// PMINUW.
    pminuw: [u16; 8], |a, b| a.min(b);
    /// PMINUD.
    pminud: [u32; 4], |a, b| a.min(b);
    /// PMINSB.
    pminsb: [i8; 16], |a, b| a.min(b);
    /// PMINSW.
    pminsw: [i16; 8], |a, b| a.min(b);
    /// PMINSD.
    pminsd: [i32; 4], |a, b| a.min(b);
    /// PMAXUB.
    pmaxub: [u8; 16], |a, b| a.max(b);
    /// PMAXUW.
    pmaxuw: [u16; 8], |a, b| a.max(b);
    /// PMAXUD.
    pmaxud: [u32; 4], |a, b| a.max(b);
    /// PMAXSB.
    pmaxsb: [i8; 16], |a, b| a.max(b);
    /// PMAXSW.
    pmaxsw: [i16; 8], |a, b| a.max(b);
    /// PMAXSD.
    pmaxsd: [i32; 4], |a, b| a.max(b);

    /// PCMPEQB: all ones where equal.
    pcmpeqb: [u8; 16], |a, b| if a == b { u8::MAX } else { 0 };
    /// PCMPEQW.
    pcmpeqw: [u16; 8], |a, b| if a == b { u16::MAX } else { 0 };
    /// PCMPEQD.
    pcmpeqd: [u32; 4], |a, b| if a == b { u32::MAX } else { 0 };
    /// PCMPEQQ.
    pcmpeqq: [u64; 2], |a, b| if a == b { u64::MAX } else { 0 };
    /// PCMPGTB: all ones where `a` is greater, signed.
    pcmpgtb: [i8; 16], |a, b| if a > b { -1 } else { 0 };
    /// PCMPGTW.
    pcmpgtw: [i16; 8], |a, b| if a > b { -1 } else { 0 };
    /// PCMPGTD.
    pcmpgtd: [i32; 4], |a, b| if a > b { -1 } else { 0 };
    /// PCMPGTQ.
    pcmpgtq: [i64; 2], |a, b| if a > b { -1 } else { 0 };

    /// PAND, ANDPS, ANDPD.
    pand: [u64; 2], |a, b| a & b;
    /// PANDN, ANDNPS, ANDNPD: the destination is the one that is inverted.
    pandn: [u64; 2], |a, b| !a & b;
    /// POR, ORPS, ORPD.
    por: [u64; 2], |a, b| a | b;
    /// PXOR, XORPS, XORPD.
    pxor: [u64; 2], |a, b| a ^ b;
}

/// PABSB: the magnitude, as an unsigned number.
#[inline(always)]
pub fn pabsb(b: [i8; 16]) -> [u8; 16] {
    b.map(i8::unsigned_abs)
}
/// PABSW.
#[inline(always)]
pub fn pabsw(b: [i16; 8]) -> [u16; 8] {
    b.map(i16::unsigned_abs)
}
/// PABSD.
#[inline(always)]
pub fn pabsd(b: [i32; 4]) -> [u32; 4] {
    b.map(i32::unsigned_abs)
}

// The operations on pairs below take each pair as one lane of twice the width: indexing single elements at a stride
// makes LLVM give up the vector.

/// PMULUDQ: full products of the even lanes (the low halves of the 64-bit lanes), unsigned.
#[inline(always)]
pub fn pmuludq(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    let low = |x: u64| x & 0xffff_ffff;
    from_fn(|i| low(a[i]) * low(b[i]))
}
/// PMULDQ: full products of the even lanes, signed.
#[inline(always)]
pub fn pmuldq(a: [i32; 4], b: [i32; 4]) -> [i64; 2] {
    from_fn(|i| i64::from(a[2 * i]) * i64::from(b[2 * i]))
}
/// PMADDWD: sums of two neighbouring signed products; only four times -2^15 wraps.
#[inline(always)]
pub fn pmaddwd(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
    let low = |x: i32| i32::from(x as i16);
    let high = |x: i32| x >> 16;
    from_fn(|i| (low(a[i]) * low(b[i])).wrapping_add(high(a[i]) * high(b[i])))
}
/// PMADDUBSW: saturated sums of two neighbouring products, the bytes of `a` unsigned and those of `b` signed.
#[inline(always)]
pub fn pmaddubsw(a: [u16; 8], b: [i16; 8]) -> [i16; 8] {
    from_fn(|i| {
        let low = i32::from(a[i] & 0xff) * i32::from(b[i] as i8);
        let high = i32::from(a[i] >> 8) * i32::from(b[i] >> 8);
        (low + high).clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
    })
}

/// PSADBW: the sum of absolute differences of each 8 bytes.
#[inline(always)]
pub fn psadbw(a: [u8; 16], b: [u8; 16]) -> [u64; 2] {
    from_fn(|half| {
        (8 * half..8 * half + 8)
            .map(|i| u64::from(a[i].abs_diff(b[i])))
            .sum()
    })
}
/// MPSADBW: sums of absolute differences of four bytes of `b` (block `imm[1:0]`) and each of the eight quadruples of
/// `a` from byte 4 x `imm[2]` on.
#[inline(always)]
pub fn mpsadbw(a: [u8; 16], b: [u8; 16], imm: u8) -> [u16; 8] {
    let (from, block) = (usize::from(imm >> 2 & 1) * 4, usize::from(imm & 3) * 4);
    from_fn(|i| {
        (0..4)
            .map(|j| u16::from(a[from + i + j].abs_diff(b[block + j])))
            .sum()
    })
}
/// PHMINPOSUW: the least lane and its (first) index.
#[inline(always)]
pub fn phminposuw(b: [u16; 8]) -> [u16; 8] {
    let mut at = 0;
    for i in 1..8 {
        if b[i] < b[at] {
            at = i;
        }
    }
    [b[at], at as u16, 0, 0, 0, 0, 0, 0]
}

macro_rules! horizontal {
    ($($(#[$doc:meta])* $name:ident: [$t:ty; $n:literal], |$x:ident, $y:ident| $result:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: [$t; $n], b: [$t; $n]) -> [$t; $n] {
            from_fn(|i| {
                let (from, i) = if i < $n / 2 { (&a, 2 * i) } else { (&b, 2 * i - $n) };
                let ($x, $y) = (from[i], from[i + 1]);
                $result
            })
        }
    )*};
}

// The sums of neighbours in `a`, then those in `b`.
horizontal! {
    /// PHADDW.
    phaddw: [u16; 8], |x, y| x.wrapping_add(y);
    /// PHADDD.
    phaddd: [u32; 4], |x, y| x.wrapping_add(y);
    /// PHADDSW.
    phaddsw: [i16; 8], |x, y| x.saturating_add(y);
    /// PHSUBW: the even lane minus the odd one.
    phsubw: [u16; 8], |x, y| x.wrapping_sub(y);
    /// PHSUBD.
    phsubd: [u32; 4], |x, y| x.wrapping_sub(y);
    /// PHSUBSW.
    phsubsw: [i16; 8], |x, y| x.saturating_sub(y);
}

/// PTEST: whether `a & b` is zero (ZF), and whether `b & !a` is (CF).
#[inline(always)]
pub fn ptest(a: u128, b: u128) -> (bool, bool) {
    (a & b == 0, !a & b == 0)
}

/// PMOVMSKB: the sign bits of 16 bytes.
#[inline(always)]
pub fn pmovmskb(a: u128) -> u64 {
    // Multiplying gathers bit 8i of a word into bit 56 + i: no two partial products meet in those bits.
    let gather =
        |half: u64| (half >> 7 & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    gather(a as u64) | gather((a >> 64) as u64) << 8
}
/// MOVMSKPS: the sign bits of four lanes.
#[inline(always)]
pub fn movmskps(a: [u32; 4]) -> u64 {
    (0..4).map(|i| u64::from(a[i] >> 31) << i).sum()
}
/// MOVMSKPD: the sign bits of two lanes.
#[inline(always)]
pub fn movmskpd(a: [u64; 2]) -> u64 {
    a[0] >> 63 | a[1] >> 63 << 1
}
