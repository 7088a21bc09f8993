//! Packs, unpacks, shuffles, blends and extensions: lanes that move without arithmetic.
//!
//! `a` is the destination operand and `b` the source.
use std::array::from_fn;

macro_rules! packs {
    ($($(#[$doc:meta])* $name:ident: [$t:ty; $n:literal] -> [$r:ty; $m:literal];)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: [$t; $n], b: [$t; $n]) -> [$r; $m] {
            from_fn(|i| {
                let x = if i < $n { a[i] } else { b[i - $n] };
                x.clamp(<$r>::MIN as $t, <$r>::MAX as $t) as $r
            })
        }
    )*};
}
// Signed lanes, saturated to the range of the narrower type: first those of `a`, then those of `b`.
packs! {
    /// PACKSSWB.
    packsswb: [i16; 8] -> [i8; 16];
    /// PACKSSDW.
    packssdw: [i32; 4] -> [i16; 8];
    /// PACKUSWB.
    packuswb: [i16; 8] -> [u8; 16];
    /// PACKUSDW.
    packusdw: [i32; 4] -> [u16; 8];
}

macro_rules! unpacks {
    ($($(#[$doc:meta])* $name:ident: [$t:ty; $n:literal] from $from:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: [$t; $n], b: [$t; $n]) -> [$t; $n] {
            from_fn(|i| if i % 2 == 0 { a[$from + i / 2] } else { b[$from + i / 2] })
        }
    )*};
}
// Lanes of `a` and `b` alternate, from the low or the high half.
unpacks! {
    /// PUNPCKLBW.
    punpcklbw: [u8; 16] from 0;
    /// PUNPCKLWD.
    punpcklwd: [u16; 8] from 0;
    /// PUNPCKLDQ, UNPCKLPS.
    punpckldq: [u32; 4] from 0;
    /// PUNPCKLQDQ, UNPCKLPD, MOVLHPS.
    punpcklqdq: [u64; 2] from 0;
    /// PUNPCKHBW.
    punpckhbw: [u8; 16] from 8;
    /// PUNPCKHWD.
    punpckhwd: [u16; 8] from 4;
    /// PUNPCKHDQ, UNPCKHPS.
    punpckhdq: [u32; 4] from 2;
    /// PUNPCKHQDQ, UNPCKHPD.
    punpckhqdq: [u64; 2] from 1;
}

/// The two-bit selector `i` of an immediate.
#[inline(always)]
fn pick(imm: u8, i: usize) -> usize {
    usize::from(imm >> (2 * i) & 3)
}

/// PSHUFB: byte `b[i] & 15` of `a`, or 0 where bit 7 of `b[i]` is set.
#[inline(always)]
pub fn pshufb(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    let mut result = [0; 16];
    for (lane, index) in result.iter_mut().zip(b) {
        let keep = !((index as i8 >> 7) as u8);
        *lane = a[usize::from(index & 15)] & keep;
    }
    result
}
/// PSHUFB on the 8 bytes of an MMX register: the index has three bits.
#[inline(always)]
pub fn pshufb_mmx(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    pshufb(a, b.map(|x| x & 0x87))
}
/// PSHUFD.
#[inline(always)]
pub fn pshufd(b: [u32; 4], imm: u8) -> [u32; 4] {
    from_fn(|i| b[pick(imm, i)])
}
/// PSHUFLW, and PSHUFW in the low half.
#[inline(always)]
pub fn pshuflw(b: [u16; 8], imm: u8) -> [u16; 8] {
    from_fn(|i| if i < 4 { b[pick(imm, i)] } else { b[i] })
}
/// PSHUFHW.
#[inline(always)]
pub fn pshufhw(b: [u16; 8], imm: u8) -> [u16; 8] {
    from_fn(|i| if i < 4 { b[i] } else { b[4 + pick(imm, i - 4)] })
}
/// SHUFPS: two lanes of `a`, then two of `b`.
#[inline(always)]
pub fn shufps(a: [u32; 4], b: [u32; 4], imm: u8) -> [u32; 4] {
    from_fn(|i| {
        if i < 2 {
            a[pick(imm, i)]
        } else {
            b[pick(imm, i)]
        }
    })
}
/// SHUFPD: a lane of `a`, then one of `b`.
#[inline(always)]
pub fn shufpd(a: [u64; 2], b: [u64; 2], imm: u8) -> [u64; 2] {
    [a[usize::from(imm & 1)], b[usize::from(imm >> 1 & 1)]]
}
/// MOVSHDUP: the odd lanes, twice each.
#[inline(always)]
pub fn movshdup(b: [u64; 2]) -> [u64; 2] {
    b.map(|x| x >> 32 | x >> 32 << 32)
}
/// MOVSLDUP: the even lanes, twice each.
#[inline(always)]
pub fn movsldup(b: [u64; 2]) -> [u64; 2] {
    b.map(|x| x & 0xffff_ffff | x << 32)
}
/// MOVDDUP: the low half, twice.
#[inline(always)]
pub fn movddup(b: [u64; 2]) -> [u64; 2] {
    [b[0]; 2]
}

/// PALIGNR: bytes `imm` to `imm + 15` of `b` with `a` above it; beyond the 32 bytes there are zeros.
#[inline(always)]
pub fn palignr(a: u128, b: u128, imm: u8) -> u128 {
    let bits = u32::from(imm) * 8;
    match imm {
        0 => b,
        1..=15 => b >> bits | a << (128 - bits),
        16..=31 => a >> (bits - 128),
        32.. => 0,
    }
}
/// PALIGNR on MMX registers: both operands have 8 bytes.
#[inline(always)]
pub fn palignr_mmx(a: u128, b: u128, imm: u8) -> u128 {
    let both = a << 64 | b;
    if imm < 16 {
        both >> (8 * u32::from(imm))
    } else {
        0
    }
}

/// BLENDPS: lanes of `b` where the bit of the immediate is set.
#[inline(always)]
pub fn blendps(a: [u32; 4], b: [u32; 4], imm: u8) -> [u32; 4] {
    from_fn(|i| if imm >> i & 1 != 0 { b[i] } else { a[i] })
}
/// BLENDPD.
#[inline(always)]
pub fn blendpd(a: [u64; 2], b: [u64; 2], imm: u8) -> [u64; 2] {
    from_fn(|i| if imm >> i & 1 != 0 { b[i] } else { a[i] })
}
/// PBLENDW.
#[inline(always)]
pub fn pblendw(a: [u16; 8], b: [u16; 8], imm: u8) -> [u16; 8] {
    from_fn(|i| if imm >> i & 1 != 0 { b[i] } else { a[i] })
}
/// PBLENDVB: bytes of `b` where the sign bit of the mask is set.
#[inline(always)]
pub fn pblendvb(a: [u8; 16], b: [u8; 16], mask: [i8; 16]) -> [u8; 16] {
    from_fn(|i| if mask[i] < 0 { b[i] } else { a[i] })
}
/// BLENDVPS.
#[inline(always)]
pub fn blendvps(a: [u32; 4], b: [u32; 4], mask: [i32; 4]) -> [u32; 4] {
    from_fn(|i| if mask[i] < 0 { b[i] } else { a[i] })
}
/// BLENDVPD.
#[inline(always)]
pub fn blendvpd(a: [u64; 2], b: [u64; 2], mask: [i64; 2]) -> [u64; 2] {
    from_fn(|i| if mask[i] < 0 { b[i] } else { a[i] })
}

/// INSERTPS from a register: lane `imm[7:6]` of `b` goes to lane `imm[5:4]`; lanes in `imm[3:0]` become zero.
#[inline(always)]
pub fn insertps(a: [u32; 4], b: [u32; 4], imm: u8) -> [u32; 4] {
    let to = pick(imm, 2);
    from_fn(|i| {
        if imm >> i & 1 != 0 {
            0
        } else if i == to {
            b[pick(imm, 3)]
        } else {
            a[i]
        }
    })
}

macro_rules! extends {
    ($($(#[$doc:meta])* $name:ident: [$t:ty; $n:literal] -> [$r:ty; $m:literal];)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(b: [$t; $n]) -> [$r; $m] {
            from_fn(|i| <$r>::from(b[i]))
        }
    )*};
}
// The low lanes, widened with their sign (S) or with zeros (Z).
extends! {
    /// PMOVSXBW.
    pmovsxbw: [i8; 16] -> [i16; 8];
    /// PMOVSXBD.
    pmovsxbd: [i8; 16] -> [i32; 4];
    /// PMOVSXBQ.
    pmovsxbq: [i8; 16] -> [i64; 2];
    /// PMOVSXWD.
    pmovsxwd: [i16; 8] -> [i32; 4];
    /// PMOVSXWQ.
    pmovsxwq: [i16; 8] -> [i64; 2];
    /// PMOVSXDQ.
    pmovsxdq: [i32; 4] -> [i64; 2];
    /// PMOVZXBW.
    pmovzxbw: [u8; 16] -> [u16; 8];
    /// PMOVZXBD.
    pmovzxbd: [u8; 16] -> [u32; 4];
    /// PMOVZXBQ.
    pmovzxbq: [u8; 16] -> [u64; 2];
    /// PMOVZXWD.
    pmovzxwd: [u16; 8] -> [u32; 4];
    /// PMOVZXWQ.
    pmovzxwq: [u16; 8] -> [u64; 2];
    /// PMOVZXDQ.
    pmovzxdq: [u32; 4] -> [u64; 2];
}
