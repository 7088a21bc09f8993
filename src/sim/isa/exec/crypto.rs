//! AES-NI, PCLMULQDQ and SHA, in legacy and VEX encoding.
use super::avx::{self, is_wide};
use super::sse_integer::lane::view;
use super::{Answer, read_xmm, xmm_number};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::Vector;
use crate::sim::memory::Fault;
use bytemuck::must_cast;
use iced_x86::{CpuidFeature, EncodingKind, Instruction, Mnemonic};
use std::array::from_fn;

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let imm = insn.immediate8();
    let done = match insn.mnemonic() {
        M::Aesenc | M::Vaesenc => run(cx, insn, |state, key| {
            mix(substitute(shift_rows(state, 1), &SBOX), [2, 3, 1, 1]) ^ key
        }),
        M::Aesenclast | M::Vaesenclast => run(cx, insn, |state, key| {
            substitute(shift_rows(state, 1), &SBOX) ^ key
        }),
        M::Aesdec | M::Vaesdec => run(cx, insn, |state, key| {
            mix(substitute(shift_rows(state, 3), &INVERSE_SBOX), INVERSE_MIX) ^ key
        }),
        M::Aesdeclast | M::Vaesdeclast => run(cx, insn, |state, key| {
            substitute(shift_rows(state, 3), &INVERSE_SBOX) ^ key
        }),
        M::Aesimc | M::Vaesimc => run(cx, insn, |_, source| mix(source, INVERSE_MIX)),
        M::Aeskeygenassist | M::Vaeskeygenassist => {
            run(cx, insn, |_, source| key_assist(source, imm))
        }
        M::Pclmulqdq | M::Vpclmulqdq => run(cx, insn, |a, b| {
            carryless(
                (a >> (64 * (imm & 1))) as u64,
                (b >> (64 * (imm >> 4 & 1))) as u64,
            )
        }),
        M::Sha1rnds4 => run(cx, insn, |a, b| sha1_rounds(a, b, imm & 3)),
        M::Sha1nexte => run(cx, insn, |a, b| {
            let a: [u32; 4] = view(&a);
            let mut b: [u32; 4] = view(&b);
            b[3] = b[3].wrapping_add(a[3].rotate_left(30));
            must_cast(b)
        }),
        M::Sha1msg1 => run(cx, insn, |a, b| {
            let (a, b): ([u32; 4], [u32; 4]) = (must_cast(a), must_cast(b));
            must_cast([a[0] ^ b[2], a[1] ^ b[3], a[2] ^ a[0], a[3] ^ a[1]])
        }),
        M::Sha1msg2 => run(cx, insn, |a, b| {
            let (a, b): ([u32; 4], [u32; 4]) = (must_cast(a), must_cast(b));
            let w16 = (a[3] ^ b[2]).rotate_left(1);
            let w17 = (a[2] ^ b[1]).rotate_left(1);
            let w18 = (a[1] ^ b[0]).rotate_left(1);
            let w19 = (a[0] ^ w16).rotate_left(1);
            must_cast([w19, w18, w17, w16])
        }),
        M::Sha256rnds2 => {
            let words = cx.cpu.xmm(0) as u64;
            run(cx, insn, |a, b| sha256_rounds(a, b, words))
        }
        M::Sha256msg1 => run(cx, insn, |a, b| {
            let (a, b): ([u32; 4], [u32; 4]) = (must_cast(a), must_cast(b));
            let next = [a[1], a[2], a[3], b[0]];
            let sums: [u32; 4] = from_fn(|i| {
                let x = next[i];
                a[i].wrapping_add(x.rotate_right(7) ^ x.rotate_right(18) ^ x >> 3)
            });
            must_cast(sums)
        }),
        M::Sha256msg2 => run(cx, insn, |a, b| {
            let (a, b): ([u32; 4], [u32; 4]) = (must_cast(a), must_cast(b));
            let sigma = |x: u32| x.rotate_right(17) ^ x.rotate_right(19) ^ x >> 10;
            let w16 = a[0].wrapping_add(sigma(b[2]));
            let w17 = a[1].wrapping_add(sigma(b[3]));
            let w18 = a[2].wrapping_add(sigma(w16));
            let w19 = a[3].wrapping_add(sigma(w17));
            must_cast([w16, w17, w18, w19])
        }),
        _ => return None,
    };
    Some(done.map(|()| Flow::Next))
}

/// The destination becomes `f` of the sources: of the first operand and the second, or in VEX encoding as [`avx`] has it.
fn run(cx: &mut Context, insn: &Instruction, f: impl Fn(u128, u128) -> u128) -> Result<(), Fault> {
    if insn.encoding() == EncodingKind::VEX {
        let (a, b) = avx::sources(cx, insn)?;
        let result: Vector = avx::per_half(insn, a, b, f);
        debug_assert!(is_wide(insn, 0) || result[1] == 0);
        avx::write(cx, insn, result);
        return Ok(());
    }
    // The SHA instructions take their operand at any address, on Zen 4 at least; those of AES and PCLMULQDQ do not.
    let aligned = !insn.cpuid_features().contains(&CpuidFeature::SHA);
    let b = read_xmm(cx, insn, 1, aligned)?;
    let to = xmm_number(insn, 0);
    cx.cpu.set_xmm(to, f(cx.cpu.xmm(to), b));
    Ok(())
}

/// The product in the field of AES: polynomials over two elements, modulo x^8 + x^4 + x^3 + x + 1.
const fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

/// FIPS 197, 5.1.1: the inverse in the field, then an affine map.
static SBOX: [u8; 256] = {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        // x^254 is the inverse, and zero stays zero.
        let mut inverse = 1;
        let mut i = 0;
        while i < 254 {
            inverse = multiply(inverse, x as u8);
            i += 1;
        }
        table[x] = inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4)
            ^ 0x63;
        x += 1;
    }
    table
};

static INVERSE_SBOX: [u8; 256] = {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        table[SBOX[x] as usize] = x as u8;
        x += 1;
    }
    table
};

/// The first row of the matrix of InvMixColumns.
const INVERSE_MIX: [u8; 4] = [14, 11, 13, 9];

/// ShiftRows: row `r` of the state moves left by `r * step` columns; a step of 3 undoes one of 1. Byte `4 * c + r` is
/// row `r` of column `c`.
fn shift_rows(state: u128, step: usize) -> u128 {
    let bytes = state.to_le_bytes();
    u128::from_le_bytes(from_fn(|i| {
        let row = i % 4;
        bytes[(i + 4 * row * step) % 16]
    }))
}

fn substitute(state: u128, table: &[u8; 256]) -> u128 {
    u128::from_le_bytes(state.to_le_bytes().map(|byte| table[usize::from(byte)]))
}

/// MixColumns with a circulant matrix of this first row.
fn mix(state: u128, row: [u8; 4]) -> u128 {
    let bytes = state.to_le_bytes();
    u128::from_le_bytes(from_fn(|i| {
        let (column, of) = (i / 4 * 4, i % 4);
        (0..4).fold(0, |sum, j| {
            sum ^ multiply(bytes[column + j], row[(j + 4 - of) % 4])
        })
    }))
}

/// AESKEYGENASSIST.
fn key_assist(source: u128, constant: u8) -> u128 {
    let words: [u32; 4] = must_cast(substitute(source, &SBOX));
    let rotated = |word: u32| word.rotate_right(8) ^ u32::from(constant);
    must_cast([words[1], rotated(words[1]), words[3], rotated(words[3])])
}

/// The product of polynomials over two elements.
fn carryless(a: u64, b: u64) -> u128 {
    (0..64)
        .filter(|i| b >> i & 1 != 0)
        .fold(0, |sum, i| sum ^ u128::from(a) << i)
}

/// SHA1RNDS4: lane 3 of the first operand is A and lane 0 is D; lane 3 of the second is the first word plus E.
fn sha1_rounds(state: u128, words: u128, which: u8) -> u128 {
    let (state, words): ([u32; 4], [u32; 4]) = (must_cast(state), must_cast(words));
    let [mut d, mut c, mut b, mut a] = state;
    let mut e = 0;
    let constant = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6][usize::from(which)];
    for word in words.into_iter().rev() {
        let f = match which {
            0 => b & c ^ !b & d,
            2 => b & c ^ b & d ^ c & d,
            _ => b ^ c ^ d,
        };
        let next = f
            .wrapping_add(a.rotate_left(5))
            .wrapping_add(word)
            .wrapping_add(e)
            .wrapping_add(constant);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    must_cast([d, c, b, a])
}

/// SHA256RNDS2: the first operand holds C, D, G, H from lane 3 down, the second A, B, E, F; `words` are two message words
/// with their constants added.
fn sha256_rounds(cdgh: u128, abef: u128, words: u64) -> u128 {
    let ([mut h, mut g, mut d, mut c], [mut f, mut e, mut b, mut a]): ([u32; 4], [u32; 4]) =
        (must_cast(cdgh), must_cast(abef));
    for word in [words as u32, (words >> 32) as u32] {
        let choice = e & f ^ !e & g;
        let majority = a & b ^ a & c ^ b & c;
        let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let t = choice.wrapping_add(sum1).wrapping_add(word).wrapping_add(h);
        (h, g, f, e) = (g, f, e, t.wrapping_add(d));
        (d, c, b, a) = (c, b, a, t.wrapping_add(majority).wrapping_add(sum0));
    }
    must_cast([f, e, b, a])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_s_box_is_that_of_the_standard() {
        assert_eq!(
            [SBOX[0], SBOX[0x53], SBOX[0xff]],
            [0x63, 0xed, 0x16],
            "FIPS 197, figure 7"
        );
        assert_eq!(INVERSE_SBOX[0xed], 0x53);
    }

    #[test]
    fn one_round_is_that_of_the_example_in_the_standard() {
        // FIPS 197, appendix B, round 1: start of round, and round key; bytes in memory order.
        let bytes = |text: u128| text.swap_bytes();
        let state = bytes(0x193d_e3be_a0f4_e22b_9ac6_8d2a_e9f8_4808);
        let key = bytes(0xa0fa_fe17_8854_2cb1_23a3_3939_2a6c_7605);
        let next = mix(substitute(shift_rows(state, 1), &SBOX), [2, 3, 1, 1]) ^ key;
        assert_eq!(next, bytes(0xa49c_7ff2_689f_352b_6b5b_ea43_026a_5049));
        let mixed = mix(next, [2, 3, 1, 1]);
        assert_eq!(mix(mixed, INVERSE_MIX), next);
        assert_eq!(shift_rows(shift_rows(state, 1), 3), state);
    }

    #[test]
    fn products_without_carries() {
        assert_eq!(carryless(3, 3), 5);
        assert_eq!(carryless(u64::MAX, 2), u128::from(u64::MAX) << 1);
    }
}
