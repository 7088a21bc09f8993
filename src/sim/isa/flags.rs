//! RFLAGS and the lazy rules: the last writer leaves its operation, operand and result; flags are computed when read.

/// Carry flag.
pub const CF: u64 = 1 << 0;
/// Parity flag.
pub const PF: u64 = 1 << 2;
/// Auxiliary carry flag.
pub const AF: u64 = 1 << 4;
/// Zero flag.
pub const ZF: u64 = 1 << 6;
/// Sign flag.
pub const SF: u64 = 1 << 7;
/// Trap flag.
pub const TF: u64 = 1 << 8;
/// Direction flag.
pub const DF: u64 = 1 << 10;
/// Overflow flag.
pub const OF: u64 = 1 << 11;
/// Alignment check (user-settable, without effect here).
pub const AC: u64 = 1 << 18;
/// CPUID may be used (user-settable).
pub const ID: u64 = 1 << 21;
/// The six arithmetic flags.
pub const STATUS: u64 = CF | PF | AF | ZF | SF | OF;

/// Which rule derives the flags from `result` and `operand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rule {
    /// `operand` holds the six flags themselves.
    Explicit,
    /// result = a + b; operand = b.
    Add,
    /// result = a - b; operand = b.
    Sub,
    /// Bitwise result: CF, OF and AF are 0.
    Logic,
    /// `operand` holds CF, AF and OF themselves; the others follow from the result.
    Partial,
    /// result = a + 1; `operand` is the CF kept from before (0 or 1).
    Inc,
    /// result = a - 1; `operand` is the CF kept from before (0 or 1).
    Dec,
}

/// The lazily kept arithmetic flags, and the other flag bits.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// How to derive the flags.
    pub rule: Rule,
    /// Operand width: log2 of bytes.
    pub width: u8,
    /// The result, zero-extended from its width.
    pub result: u64,
    /// See [`Rule`].
    pub operand: u64,
    /// DF, AC, ID, TF: everything that is not arithmetic.
    pub other: u64,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            rule: Rule::Explicit,
            width: 3,
            result: 0,
            operand: 0,
            other: 0,
        }
    }
}

const fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - (8 << width))
}

/// PF, ZF and SF of a result that is zero-extended from its width.
#[inline]
pub fn pzs(result: u64, width: u8) -> u64 {
    let parity = if (result as u8).count_ones().is_multiple_of(2) {
        PF
    } else {
        0
    };
    let zero = if result == 0 { ZF } else { 0 };
    let sign = if result >> ((8 << width) - 1) & 1 != 0 {
        SF
    } else {
        0
    };
    parity | zero | sign
}

impl Flags {
    /// Sets the lazy state.
    #[inline(always)]
    pub fn set(&mut self, rule: Rule, width: u8, result: u64, operand: u64) {
        self.rule = rule;
        self.width = width;
        self.result = result;
        self.operand = operand;
    }

    /// Sets the six arithmetic flags from RFLAGS bits.
    #[inline]
    pub fn set_status(&mut self, bits: u64) {
        self.set(Rule::Explicit, 3, 0, bits & STATUS);
    }

    /// Replaces the flags in `mask` by those of `bits`, keeping the others.
    pub fn merge_status(&mut self, mask: u64, bits: u64) {
        let kept = self.status() & !mask;
        self.set_status(kept | bits & mask);
    }

    /// The carry flag.
    #[inline]
    pub fn carry(&self) -> bool {
        match self.rule {
            Rule::Explicit | Rule::Partial => self.operand & CF != 0,
            Rule::Add => self.result < self.operand,
            Rule::Sub => (self.result.wrapping_add(self.operand) & mask(self.width)) < self.operand,
            Rule::Logic => false,
            Rule::Inc | Rule::Dec => self.operand != 0,
        }
    }
    /// The zero flag.
    #[inline]
    pub fn zero(&self) -> bool {
        match self.rule {
            Rule::Explicit => self.operand & ZF != 0,
            Rule::Add | Rule::Sub | Rule::Logic | Rule::Partial | Rule::Inc | Rule::Dec => {
                self.result == 0
            }
        }
    }
    /// The sign flag.
    #[inline]
    pub fn sign(&self) -> bool {
        match self.rule {
            Rule::Explicit => self.operand & SF != 0,
            Rule::Add | Rule::Sub | Rule::Logic | Rule::Partial | Rule::Inc | Rule::Dec => {
                self.result >> ((8u32 << self.width) - 1) & 1 != 0
            }
        }
    }
    /// The parity flag.
    #[inline]
    pub fn parity(&self) -> bool {
        match self.rule {
            Rule::Explicit => self.operand & PF != 0,
            Rule::Add | Rule::Sub | Rule::Logic | Rule::Partial | Rule::Inc | Rule::Dec => {
                (self.result as u8).count_ones().is_multiple_of(2)
            }
        }
    }
    /// The overflow flag.
    #[inline]
    pub fn overflow(&self) -> bool {
        let top = (8u32 << self.width) - 1;
        match self.rule {
            Rule::Explicit | Rule::Partial => self.operand & OF != 0,
            Rule::Add => {
                let a = self.result.wrapping_sub(self.operand);
                (a ^ self.result) & (self.operand ^ self.result) & 1 << top != 0
            }
            Rule::Sub => {
                let a = self.result.wrapping_add(self.operand);
                (a ^ self.operand) & (a ^ self.result) & 1 << top != 0
            }
            Rule::Logic => false,
            Rule::Inc => self.result == 1 << top,
            Rule::Dec => self.result == (1 << top) - 1,
        }
    }
    /// The auxiliary carry flag.
    #[inline]
    pub fn auxiliary(&self) -> bool {
        match self.rule {
            Rule::Explicit | Rule::Partial => self.operand & AF != 0,
            Rule::Add => {
                let a = self.result.wrapping_sub(self.operand);
                (a ^ self.operand ^ self.result) & 0x10 != 0
            }
            Rule::Sub => {
                let a = self.result.wrapping_add(self.operand);
                (a ^ self.operand ^ self.result) & 0x10 != 0
            }
            Rule::Logic => false,
            Rule::Inc => self.result & 0xf == 0,
            Rule::Dec => self.result & 0xf == 0xf,
        }
    }

    /// The six arithmetic flags as RFLAGS bits.
    #[inline]
    pub fn status(&self) -> u64 {
        if self.rule == Rule::Explicit {
            return self.operand & STATUS;
        }
        let bit = |on: bool, bit: u64| if on { bit } else { 0 };
        bit(self.carry(), CF)
            | bit(self.auxiliary(), AF)
            | bit(self.overflow(), OF)
            | pzs(self.result, self.width)
    }

    /// RFLAGS as `pushf` shows it (bit 1 and IF are always set).
    pub fn rflags(&self) -> u64 {
        self.status() | self.other | 0x202
    }

    /// RFLAGS as `popf` sets it in user mode.
    pub fn set_rflags(&mut self, value: u64) {
        self.set_status(value);
        self.other = value & (DF | AC | ID | TF);
    }

    /// Whether condition code `cc` (0 to 15, as in the encoding of `jcc`) holds.
    #[inline]
    pub fn condition(&self, cc: u8) -> bool {
        let holds = match cc >> 1 {
            0 => self.overflow(),
            1 => self.carry(),
            2 => self.zero(),
            3 => self.carry() || self.zero(),
            4 => self.sign(),
            5 => self.parity(),
            6 => self.sign() != self.overflow(),
            _ => self.zero() || self.sign() != self.overflow(),
        };
        holds != (cc & 1 == 1)
    }

    /// 1, or -1 where DF is set.
    #[inline]
    pub fn direction(&self) -> i64 {
        if self.other & DF != 0 { -1 } else { 1 }
    }
}
