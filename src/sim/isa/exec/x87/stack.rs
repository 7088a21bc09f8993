//! The register stack, its tags and the status word: what every x87 instruction goes through.
use crate::sim::isa::state::{F80, X87};
use crate::sim::memory::Fault;

/// Invalid operation.
pub(super) const IE: u16 = 1 << 0;
/// Denormal operand.
pub(super) const DE: u16 = 1 << 1;
/// Division by zero.
pub(super) const ZE: u16 = 1 << 2;
/// Overflow.
pub(super) const OE: u16 = 1 << 3;
/// Underflow.
pub(super) const UE: u16 = 1 << 4;
/// Inexact result.
pub(super) const PE: u16 = 1 << 5;
/// Stack fault: qualifies [`IE`].
pub(super) const SF: u16 = 1 << 6;
/// An unmasked exception is pending.
pub(super) const ES: u16 = 1 << 7;
/// Condition code 0.
pub(super) const C0: u16 = 1 << 8;
/// Condition code 1: direction of rounding, or overflow rather than underflow of the stack.
pub(super) const C1: u16 = 1 << 9;
/// Condition code 2.
pub(super) const C2: u16 = 1 << 10;
/// Condition code 3.
pub(super) const C3: u16 = 1 << 14;
/// Busy: a copy of [`ES`] since the 80387.
pub(super) const BUSY: u16 = 1 << 15;
/// The six exceptions, in the status word as well as their masks in the control word.
pub(super) const EXCEPTIONS: u16 = 0x3f;
/// The bits of the control word that exist; bit 6 always reads as one.
const CONTROL_BITS: u16 = 0x1f3f;
/// The TOP field.
const TOP: u16 = 7 << 11;

/// The NaN that a masked invalid operation gives.
pub(super) const INDEFINITE: F80 = F80 {
    sign_exponent: 0xffff,
    significand: 0xc000_0000_0000_0000,
};
/// 1.0.
pub(super) const ONE: F80 = F80 {
    sign_exponent: 0x3fff,
    significand: 1 << 63,
};

/// What kind of number a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Unnormals, pseudo-infinities and pseudo-NaNs, which processors since the 80387 refuse.
    Unsupported,
    /// Any NaN.
    Nan,
    /// An infinity.
    Infinity,
    /// A zero.
    Zero,
    /// A denormal or pseudo-denormal.
    Denormal,
    /// Everything else.
    Normal,
}

/// The class of a number.
pub(super) fn class(x: F80) -> Class {
    let integer_bit = x.significand >> 63 != 0;
    match (x.sign_exponent & 0x7fff, integer_bit) {
        (0, _) if x.significand == 0 => Class::Zero,
        (0, _) => Class::Denormal,
        (_, false) => Class::Unsupported,
        (0x7fff, true) if x.significand << 1 == 0 => Class::Infinity,
        (0x7fff, true) => Class::Nan,
        (_, true) => Class::Normal,
    }
}

/// Whether the sign bit is set.
pub(super) fn negative(x: F80) -> bool {
    x.sign_exponent >> 15 != 0
}

/// A signalling NaN.
pub(super) fn signalling(x: F80) -> bool {
    class(x) == Class::Nan && x.significand >> 62 & 1 == 0
}

/// A NaN with its quiet bit set.
pub(super) fn quiet(x: F80) -> F80 {
    F80 {
        significand: x.significand | 1 << 62,
        ..x
    }
}

/// A zero or an infinity of the given sign.
pub(super) fn zero(negative: bool) -> F80 {
    F80 {
        sign_exponent: u16::from(negative) << 15,
        significand: 0,
    }
}

/// An infinity of the given sign.
pub(super) fn infinity(negative: bool) -> F80 {
    F80 {
        sign_exponent: u16::from(negative) << 15 | 0x7fff,
        significand: 1 << 63,
    }
}

impl X87 {
    fn physical(&self, i: u8) -> usize {
        usize::from(self.top.wrapping_add(i) & 7)
    }

    /// ST(i), whether empty or not.
    pub(super) fn st(&self, i: u8) -> F80 {
        self.registers[self.physical(i)]
    }

    /// Whether ST(i) is empty.
    pub(super) fn empty(&self, i: u8) -> bool {
        self.valid >> self.physical(i) & 1 == 0
    }

    /// Fills ST(i).
    pub(super) fn set(&mut self, i: u8, value: F80) {
        let at = self.physical(i);
        self.registers[at] = value;
        self.valid |= 1 << at;
    }

    /// Marks ST(i) empty.
    pub(super) fn free(&mut self, i: u8) {
        self.valid &= !(1 << self.physical(i));
    }

    /// Moves TOP by `by` registers, leaving the tags alone.
    pub(super) fn rotate(&mut self, by: u8) {
        self.top = self.top.wrapping_add(by) & 7;
    }

    /// Drops ST(0).
    pub(super) fn pop(&mut self) {
        self.free(0);
        self.rotate(1);
    }

    /// Puts a value on top, whatever was there.
    pub(super) fn push(&mut self, value: F80) {
        self.rotate(7);
        self.set(0, value);
    }

    /// #MF of an earlier instruction is due: every instruction but the `FN` ones starts with this.
    pub(super) fn wait(&self) -> Result<(), Fault> {
        if self.pending() {
            Err(Fault::X87Float)
        } else {
            Ok(())
        }
    }

    fn pending(&self) -> bool {
        self.status & !self.control & EXCEPTIONS != 0
    }

    /// Whether any of the exceptions is unmasked.
    pub(super) fn unmasked(&self, flags: u16) -> bool {
        flags & !self.control & EXCEPTIONS != 0
    }

    /// ES and B follow from the flags and the masks.
    fn summarise(&mut self) {
        let summary = if self.pending() { ES | BUSY } else { 0 };
        self.status = self.status & !(ES | BUSY) | summary;
    }

    /// Replaces the condition codes in `mask`.
    pub(super) fn set_conditions(&mut self, mask: u16, bits: u16) {
        self.status = self.status & !mask | bits & mask;
    }

    /// Raises exceptions, and sets or clears C1.
    pub(super) fn raise(&mut self, flags: u16, c1: bool) {
        self.set_conditions(C1, if c1 { C1 } else { 0 });
        self.status |= flags & (EXCEPTIONS | SF);
        self.summarise();
    }

    /// Raises a stack fault. Whether the masked response (the indefinite NaN) is to be given.
    pub(super) fn stack_fault(&mut self, overflow: bool) -> bool {
        self.raise(IE | SF, overflow);
        !self.unmasked(IE)
    }

    /// Pushes the value of a load that raised `flags`. On an unmasked IE only the flags change; an unmasked DE does
    /// not keep AMD's processors from loading.
    pub(super) fn load(&mut self, value: F80, flags: u16) {
        if !self.empty(7) {
            if self.stack_fault(true) {
                self.push(INDEFINITE);
            }
            return;
        }
        self.raise(flags, false);
        if !self.unmasked(flags & IE) {
            self.push(value);
        }
    }

    /// The status word with its TOP field.
    pub(super) fn status_word(&self) -> u16 {
        self.status & !TOP | u16::from(self.top) << 11
    }

    /// Sets the status word and TOP. ES and B are not taken over: they follow from the flags.
    pub(super) fn set_status_word(&mut self, value: u16) {
        self.status = value & !TOP;
        self.top = (value >> 11 & 7) as u8;
        self.summarise();
    }

    /// Sets the control word, which may uncover an exception that was masked.
    pub(super) fn set_control(&mut self, value: u16) {
        self.control = value & CONTROL_BITS | 0x40;
        self.summarise();
    }

    /// Clears the exceptions.
    pub(super) fn clear_exceptions(&mut self) {
        self.status &= !(EXCEPTIONS | SF | ES | BUSY);
    }

    /// The full tag word: two bits a physical register (valid, zero, special, empty).
    pub(super) fn tag_word(&self) -> u16 {
        (0..8).rev().fold(0, |word, i| {
            let tag = if self.valid >> i & 1 == 0 {
                3
            } else {
                match class(self.registers[i]) {
                    Class::Normal => 0,
                    Class::Zero => 1,
                    _ => 2,
                }
            };
            word << 2 | tag
        })
    }

    /// Takes the empty registers from a full tag word; the processor finds the other tags out for itself.
    pub(super) fn set_tag_word(&mut self, word: u16) {
        self.valid = (0..8).fold(0, |valid, i| {
            valid | u8::from(word >> (2 * i) & 3 != 3) << i
        });
    }

    /// FNINIT: everything but the contents of the registers.
    pub(super) fn initialise(&mut self) {
        *self = Self {
            registers: self.registers,
            ..Self::default()
        };
    }
}
