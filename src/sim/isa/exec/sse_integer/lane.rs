//! A vector register seen as an array of lanes, without leaving memory.
//!
//! Lane operations take and give arrays (`[u16; 8]`) rather than `u128`: LLVM turns an array operation whose operands
//! are in memory into one vector instruction of the host, but takes a `u128` value apart with a dozen shifts. Handlers
//! therefore reinterpret references to registers ([`apply`]) instead of converting values.
use bytemuck::{AnyBitPattern, Pod, must_cast_mut, must_cast_ref};

const _: () = assert!(
    cfg!(target_endian = "little"),
    "lanes are views of host integers: lane 0 must come first in memory"
);

/// An operation on a register in place: `(destination, source)`.
pub type Binary = fn(&mut u128, &u128);
/// An operation on a register in place with an immediate: `(destination, source, immediate)`.
pub type BinaryImmediate = fn(&mut u128, &u128, u8);
/// A blend by a mask register: `(destination, source, mask)`.
pub type Masked = fn(&mut u128, &u128, &u128);

/// `d = f(d, s)` with the lane shapes that `f` asks for (16 bytes each; anything else does not compile).
///
/// The source must come from memory by reference for good code: a `u128` just loaded by value is taken apart lane by
/// lane where this is inlined. A function of type [`Binary`] that is called, not inlined, is safe from that.
#[inline(always)]
pub fn apply<A: Pod, B: Pod, R: Pod>(d: &mut u128, s: &u128, f: impl FnOnce(A, B) -> R) {
    let result = f(view(d), view(s));
    *must_cast_mut::<u128, R>(d) = result;
}

/// The lanes of a register.
#[inline(always)]
pub fn view<A: AnyBitPattern>(register: &u128) -> A {
    *must_cast_ref::<u128, A>(register)
}
