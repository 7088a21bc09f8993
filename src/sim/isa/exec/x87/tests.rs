//! The unit against the processor below: every encoding, on states and operands that sit on the boundaries.
//!
//! The native side loads an FXSAVE image, runs one instruction, and saves an image; the code is assembled into a page.
use super::super::execute;
use super::stack::{C1, PE};
use crate::sim::isa::flags::STATUS;
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::{Cpu, F80, RAX, RSI};
use crate::sim::memory::{Backing, Fault, Memory, PAGE_SIZE, Protection, Purpose};
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// Where the simulated memory operand lies.
const OPERAND: u64 = 0x1_0000;
/// Bytes of it.
const OPERAND_SIZE: usize = 1024;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn significand(&mut self) -> u64 {
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
    fn f80(&mut self) -> F80 {
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
    fn operand(&mut self) -> [u8; 16] {
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
            3 => bytes[..8].copy_from_slice(&self.pick(&[1u64 << 63, 1 << 31, 1 << 15]).to_le_bytes()),
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

/// What an instruction works on, or leaves.
#[derive(Clone, PartialEq, Eq)]
struct State {
    control: u16,
    status: u16,
    valid: u8,
    /// ST(0) to ST(7).
    stack: [F80; 8],
    flags: u64,
    rax: u64,
    memory: Vec<u8>,
}

impl State {
    fn top(&self) -> u8 {
        (self.status >> 11 & 7) as u8
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "cw={:04x} sw={:04x} top={} valid={:08b} flags={:03x} rax={:x}",
            self.control,
            self.status,
            self.top(),
            self.valid,
            self.flags & 0xfff,
            self.rax
        )?;
        for value in &self.stack[..3] {
            write!(f, " {:04x}:{:016x}", value.sign_exponent, value.significand)?;
        }
        write!(f, " mem={:02x?}", &self.memory[..16])
    }
}

mod native {
    //! The processor below.
    #![expect(unsafe_code, reason = "runs single instructions on the host processor")]
    use super::{F80, OPERAND_SIZE, State};

    #[repr(C, align(64))]
    struct Area([u8; 512]);
    #[repr(C, align(64))]
    struct Operand([u8; OPERAND_SIZE]);

    /// A page of code.
    pub(super) struct Code(*mut u8);

    impl Code {
        /// The code that loads the state, runs `instruction` (whose memory operand is `[rsi]`) and saves the state.
        pub(super) fn new(instruction: &[u8]) -> Self {
            let mut bytes = vec![
                0x48, 0x0f, 0xae, 0x02, // fxsave64 [rdx]
                0x48, 0x0f, 0xae, 0x0f, // fxrstor64 [rdi]
                0xff, 0x31, 0x9d, // push [rcx]; popfq
                0x48, 0x8b, 0x41, 0x08, // mov rax, [rcx+8]
            ];
            bytes.extend_from_slice(instruction);
            bytes.extend_from_slice(&[
                0x48, 0x89, 0x41, 0x08, // mov [rcx+8], rax
                0x9c, 0x8f, 0x01, // pushfq; pop [rcx]
                0x48, 0x0f, 0xae, 0x07, // fxsave64 [rdi]
                0x48, 0x0f, 0xae, 0x0a, // fxrstor64 [rdx]
                0xc3,
            ]);
            // SAFETY: a new private mapping, filled within its bounds before it becomes executable.
            unsafe {
                let page = libc::mmap(
                    std::ptr::null_mut(),
                    4096,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                );
                assert_ne!(page, libc::MAP_FAILED);
                let page = page.cast::<u8>();
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), page, bytes.len());
                let changed = libc::mprotect(page.cast(), 4096, libc::PROT_READ | libc::PROT_EXEC);
                assert_eq!(changed, 0);
                Self(page)
            }
        }

        pub(super) fn run(&self, state: &State) -> State {
            let mut image = Area([0; 512]);
            image.0[0..2].copy_from_slice(&state.control.to_le_bytes());
            image.0[2..4].copy_from_slice(&state.status.to_le_bytes());
            image.0[4] = state.valid;
            image.0[24..28].copy_from_slice(&0x1f80u32.to_le_bytes());
            for (i, value) in state.stack.iter().enumerate() {
                image.0[32 + 16 * i..][..8].copy_from_slice(&value.significand.to_le_bytes());
                image.0[40 + 16 * i..][..2].copy_from_slice(&value.sign_exponent.to_le_bytes());
            }
            let mut operand = Operand([0; OPERAND_SIZE]);
            operand.0.copy_from_slice(&state.memory);
            let mut own = Area([0; 512]);
            let mut io = [state.flags, state.rax];
            // SAFETY: the page holds a function of this signature. It keeps to the areas it is given, restores the
            // floating-point state, and changes no register that the callee must save; the flags it loads are
            // arithmetic ones.
            unsafe {
                let function: extern "sysv64" fn(*mut u8, *mut u8, *mut u8, *mut u64) =
                    std::mem::transmute(self.0);
                function(
                    image.0.as_mut_ptr(),
                    operand.0.as_mut_ptr(),
                    own.0.as_mut_ptr(),
                    io.as_mut_ptr(),
                );
            }
            let word = |at: usize| u16::from_le_bytes([image.0[at], image.0[at + 1]]);
            State {
                control: word(0),
                status: word(2),
                valid: image.0[4],
                stack: std::array::from_fn(|i| F80 {
                    significand: u64::from_le_bytes(
                        image.0[32 + 16 * i..][..8].try_into().expect("eight bytes"),
                    ),
                    sign_exponent: word(40 + 16 * i),
                }),
                flags: io[0],
                rax: io[1],
                memory: operand.0.to_vec(),
            }
        }
    }

    impl Drop for Code {
        fn drop(&mut self) {
            // SAFETY: the mapping that `new` made, which nothing else refers to.
            unsafe { libc::munmap(self.0.cast(), 4096) };
        }
    }
}

fn context() -> Context {
    let mut mem = Memory::new(1 << 20);
    mem.map(
        OPERAND,
        PAGE_SIZE,
        Protection::READ_WRITE,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    Context {
        cpu: Cpu::new([].into()),
        mem,
        fault: Fault::Unsupported,
        slow: Vec::new(),
    }
}

fn decode(bytes: &[u8]) -> Instruction {
    Decoder::with_ip(64, bytes, 0x40_0000, DecoderOptions::NONE).decode()
}

fn simulate(cx: &mut Context, insn: &Instruction, state: &State) -> Result<State, Fault> {
    let x = &mut cx.cpu.x87;
    x.set_control(state.control);
    x.set_status_word(state.status);
    x.valid = state.valid;
    for (i, value) in state.stack.iter().enumerate() {
        x.registers[(usize::from(x.top) + i) % 8] = *value;
    }
    cx.cpu.flags.set_rflags(state.flags);
    cx.cpu.gpr[RAX] = state.rax;
    cx.cpu.gpr[RSI] = OPERAND;
    cx.mem.copy_in(OPERAND, &state.memory)?;
    assert_eq!(execute(cx, insn)?, Flow::Next);
    let mut memory = vec![0; OPERAND_SIZE];
    cx.mem.copy_out(OPERAND, &mut memory)?;
    let x = &cx.cpu.x87;
    Ok(State {
        control: x.control,
        status: x.status_word(),
        valid: x.valid,
        stack: std::array::from_fn(|i| x.registers[(usize::from(x.top) + i) % 8]),
        flags: cx.cpu.flags.rflags(),
        rax: cx.cpu.gpr[RAX],
        memory,
    })
}

/// A state without a pending exception.
fn state(random: &mut Random, masked: bool) -> State {
    let control = random.next() as u16 & 0x0f00
        | if masked || random.below(3) == 0 {
            0x7f
        } else {
            random.next() as u16 & 0x3f | 0x40
        };
    let flags = random.next() as u16 & control & 0x3f;
    let status = random.next() as u16 & 0x7f00 | if random.below(2) == 0 { 0 } else { flags };
    let valid = match random.below(6) {
        0 => random.next() as u8,
        1 => 0xff,
        // Full but for ST(7), so that loads do not overflow.
        _ => !(1u8.rotate_left(u32::from(status >> 11 & 7) + 7)),
    };
    let mut memory = vec![0xcc; OPERAND_SIZE];
    memory[..16].copy_from_slice(&random.operand());
    let mut stack = std::array::from_fn(|_| random.f80());
    if random.below(4) == 0 {
        // Close to each other, for cancellation and comparisons.
        stack[1] = stack[0];
        stack[1].significand ^= random.below(4);
    }
    State {
        control,
        status,
        valid,
        stack,
        flags: 0x202 | random.next() & STATUS,
        rax: random.next(),
        memory,
    }
}

/// Every x87 encoding with its bytes: memory forms on `[rsi]`, and register forms.
fn encodings() -> Vec<[u8; 2]> {
    let mut all = Vec::new();
    for opcode in 0xd8..=0xdfu8 {
        all.extend((0..8).map(|reg| [opcode, reg << 3 | 6]));
        all.extend((0xc0..=0xff).map(|modrm| [opcode, modrm]));
    }
    all
}

/// Compares `count` runs; `approximate` allows for results that differ in the last bits.
fn check(bytes: &[u8], count: u32, seed: u64, approximate: bool) -> Vec<String> {
    let insn = decode(bytes);
    let native = native::Code::new(bytes);
    let mut random = Random(seed);
    let mut cx = context();
    let mut failures = Vec::new();
    let mut bad = 0;
    for i in 0..count {
        let before = state(&mut random, i % 2 == 0);
        let mut expected = native.run(&before);
        let mut actual = match simulate(&mut cx, &insn, &before) {
            Ok(state) => state,
            Err(fault) => return vec![format!("{insn} {bytes:02x?}: {fault:?}")],
        };
        if approximate {
            if expected.status & PE != 0 && before.status & PE == 0 {
                // Which way the result was rounded follows from its last bit.
                expected.status &= !C1;
                actual.status &= !C1;
            }
            for (a, b) in actual.stack.iter_mut().zip(&expected.stack) {
                if distance(*a, *b) <= 2 {
                    *a = *b;
                }
            }
        }
        if expected != actual {
            bad += 1;
            if bad <= 3 {
                failures.push(format!(
                    "{insn} {bytes:02x?}\n  before {before:?}\n  native {expected:?}\n  ours   {actual:?}"
                ));
            }
        }
    }
    if bad > 3 {
        failures.push(format!("{insn} {bytes:02x?}: {bad} of {count} differ"));
    }
    failures
}

/// Units in the last place between two numbers of the same sign.
fn distance(a: F80, b: F80) -> u128 {
    let key = |v: F80| {
        let exponent = u128::from(v.sign_exponent & 0x7fff);
        exponent << 63 | u128::from(v.significand << 1 >> 1)
    };
    if a.sign_exponent >> 15 != b.sign_exponent >> 15 {
        return u128::MAX;
    }
    key(a).abs_diff(key(b))
}

const TRANSCENDENTAL: [[u8; 2]; 8] = [
    [0xd9, 0xf0],
    [0xd9, 0xf1],
    [0xd9, 0xf2],
    [0xd9, 0xf3],
    [0xd9, 0xf9],
    [0xd9, 0xfb],
    [0xd9, 0xfe],
    [0xd9, 0xff],
];

#[test]
fn every_encoding_does_what_the_processor_does() {
    let mut failures = Vec::new();
    for (i, bytes) in encodings().into_iter().enumerate() {
        let insn = decode(&bytes);
        if insn.is_invalid() || TRANSCENDENTAL.contains(&bytes) {
            continue;
        }
        // The last-instruction pointers that these store are not compared.
        let environment = matches!(bytes, [0xd9, 0x36] | [0xdd, 0x36] | [0xd9, 0x26] | [0xdd, 0x26]);
        if environment {
            continue;
        }
        failures.extend(check(&bytes, 2500, i as u64, false));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_transcendental_functions_are_close_to_those_of_the_processor() {
    let mut failures = Vec::new();
    for (i, bytes) in TRANSCENDENTAL.into_iter().enumerate() {
        failures.extend(check(&bytes, 10_000, 1000 + i as u64, true));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
