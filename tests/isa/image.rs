//! The register image that is loaded before an instruction and stored behind it, on either side.

/// First address of the area through which the stub passes registers: where no bit offset from the data reaches.
pub(crate) const CONTROL: u64 = 0x3f00_0000;
/// First address of the instruction bytes.
pub(crate) const CODE: u64 = 0x1100_0000;
/// Bytes of it.
pub(crate) const CODE_SIZE: u64 = 0x4_0000;
/// First address of the memory that operands point into. The page before it and the page behind it are not mapped.
pub(crate) const DATA: u64 = 0x2000_0000;
/// Bytes that may be read and written.
pub(crate) const DATA_SIZE: u64 = 0x3000;
/// Bytes behind them that may only be read.
pub(crate) const READ_ONLY_SIZE: u64 = 0x1000;
/// First address behind the data.
pub(crate) const DATA_END: u64 = DATA + DATA_SIZE + READ_ONLY_SIZE;
/// A page.
pub(crate) const PAGE: u64 = 0x1000;

/// The flags that an instruction in user mode can change here (alignment checks and single steps stay off).
pub(crate) const FLAGS: u64 = 0x8d5 | 0x400;

/// General registers by encoding number, RFLAGS, and an XSAVE64 area with the x87, SSE and AVX components. The stub knows
/// these offsets.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) gpr: [u64; 16],
    pub(crate) rflags: u64,
    /// Where the run stood at its end; not an input.
    pub(crate) rip: u64,
    pub(crate) reserved: [u64; 6],
    pub(crate) fx: [u8; 512],
    /// The header of the XSAVE area: all three components are there.
    pub(crate) header: [u64; 8],
    /// Bits 255:128 of the YMM registers.
    pub(crate) upper: [u128; 16],
}

const _: () = assert!(std::mem::offset_of!(Image, fx) == 192);
const _: () = assert!(std::mem::offset_of!(Image, upper) == 192 + 576);

impl Default for Image {
    fn default() -> Self {
        let mut image = Self {
            gpr: [0; 16],
            rflags: 0x202,
            rip: 0,
            reserved: [0; 6],
            fx: [0; 512],
            header: [7, 0, 0, 0, 0, 0, 0, 0],
            upper: [0; 16],
        };
        image.set_control_word(0x37f);
        image.set_mxcsr(0x1f80);
        image
    }
}

impl Image {
    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.fx[at], self.fx[at + 1]])
    }
    pub(crate) fn control_word(&self) -> u16 {
        self.u16_at(0)
    }
    pub(crate) fn set_control_word(&mut self, value: u16) {
        self.fx[..2].copy_from_slice(&value.to_le_bytes());
    }
    /// The status word with TOP in bits 11 to 13.
    pub(crate) fn status_word(&self) -> u16 {
        self.u16_at(2)
    }
    pub(crate) fn set_status_word(&mut self, value: u16) {
        self.fx[2..4].copy_from_slice(&value.to_le_bytes());
    }
    pub(crate) fn top(&self) -> u8 {
        (self.status_word() >> 11 & 7) as u8
    }
    /// Bit i is set where physical register i is not empty.
    pub(crate) fn valid(&self) -> u8 {
        self.fx[4]
    }
    pub(crate) fn set_valid(&mut self, value: u8) {
        self.fx[4] = value;
    }
    pub(crate) fn mxcsr(&self) -> u32 {
        u32::from_le_bytes(self.fx[24..28].try_into().expect("four bytes"))
    }
    pub(crate) fn set_mxcsr(&mut self, value: u32) {
        self.fx[24..28].copy_from_slice(&value.to_le_bytes());
    }
    /// ST(i): sign and exponent, significand.
    pub(crate) fn st(&self, i: usize) -> (u16, u64) {
        let at = 32 + 16 * i;
        let significand = u64::from_le_bytes(self.fx[at..at + 8].try_into().expect("eight bytes"));
        (self.u16_at(at + 8), significand)
    }
    pub(crate) fn set_st(&mut self, i: usize, (sign_exponent, significand): (u16, u64)) {
        let at = 32 + 16 * i;
        self.fx[at..at + 8].copy_from_slice(&significand.to_le_bytes());
        self.fx[at + 8..at + 10].copy_from_slice(&sign_exponent.to_le_bytes());
    }
    pub(crate) fn xmm(&self, i: usize) -> u128 {
        let at = 160 + 16 * i;
        u128::from_le_bytes(self.fx[at..at + 16].try_into().expect("sixteen bytes"))
    }
    pub(crate) fn set_xmm(&mut self, i: usize, value: u128) {
        let at = 160 + 16 * i;
        self.fx[at..at + 16].copy_from_slice(&value.to_le_bytes());
    }
}

/// Why an instruction did not complete, as both sides can tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trap {
    /// #PF, with the page of the access.
    Page(u64),
    /// #GP, or #SS for addresses made from RSP and RBP.
    Protection,
    /// #DE
    Divide,
    /// #UD
    InvalidOpcode,
    /// #BP
    Breakpoint,
    /// #XM
    SimdFloat,
    /// #MF
    X87Float,
    /// Any other vector of the host processor.
    Other(u64),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Control reached the exit at this address.
    Exit(u64),
    /// An instruction faulted.
    Trap(Trap),
}
