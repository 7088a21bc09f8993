//! The unit against the processor below: every encoding, on states and operands that sit on the boundaries.
//!
//! The native side loads an FXSAVE image, runs one instruction, and saves an image; the code is assembled into a page.
//! Only the processors of AMD are compared with, as those of Intel choose otherwise here and there.
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
            3 => bytes[..8]
                .copy_from_slice(&self.pick(&[1u64 << 63, 1 << 31, 1 << 15]).to_le_bytes()),
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

    /// Whether the processor is one of those whose choices the simulation follows.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub(super) fn is_amd() -> bool {
        let leaf = std::arch::x86_64::__cpuid(0);
        let amd = [leaf.ebx, leaf.edx, leaf.ecx]
            == [b"Auth", b"enti", b"cAMD"].map(|part| u32::from_le_bytes(*part));
        if !amd {
            eprintln!("skipped: the reference is an AMD processor, and this is none");
        }
        amd
    }

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

fn decode(bytes: &[u8]) -> Vec<Instruction> {
    Decoder::with_ip(64, bytes, 0x40_0000, DecoderOptions::NONE)
        .into_iter()
        .collect()
}

fn text(code: &[Instruction], bytes: &[u8]) -> String {
    let names: Vec<_> = code.iter().map(ToString::to_string).collect();
    format!("{} {bytes:02x?}", names.join("; "))
}

fn simulate(cx: &mut Context, code: &[Instruction], state: &State) -> Result<State, Fault> {
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
    for insn in code {
        assert_eq!(execute(cx, insn)?, Flow::Next);
    }
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

/// Whether the last three bits of the encoding number a register.
fn has_stack_operand([opcode, modrm]: [u8; 2]) -> bool {
    match opcode {
        0xd9 => (0xc0..0xd0).contains(&modrm),
        0xdb => !(0xe0..0xe8).contains(&modrm) && modrm >= 0xc0,
        _ => modrm >= 0xc0,
    }
}

/// How states are made and compared.
struct Comparison {
    bytes: Vec<u8>,
    count: u32,
    seed: u64,
    /// Changes the random state.
    prepare: fn(&mut Random, &mut State),
    /// Levels what need not agree: native state, then ours.
    level: fn(&mut State, &mut State),
}

impl Comparison {
    fn new(bytes: &[u8], count: u32, seed: u64) -> Self {
        Self {
            bytes: bytes.to_vec(),
            count,
            seed,
            prepare: |_, _| {},
            level: |_, _| {},
        }
    }

    /// What differs, the first few cases in full.
    fn failures(&self) -> Vec<String> {
        if !native::is_amd() {
            return Vec::new();
        }
        let code = decode(&self.bytes);
        let name = text(&code, &self.bytes);
        let native = native::Code::new(&self.bytes);
        let mut random = Random(self.seed);
        let mut cx = context();
        let mut failures = Vec::new();
        let mut bad = 0;
        for i in 0..self.count {
            let mut before = state(&mut random, i % 2 == 0);
            (self.prepare)(&mut random, &mut before);
            let mut expected = native.run(&before);
            let mut actual = match simulate(&mut cx, &code, &before) {
                Ok(state) => state,
                Err(fault) => return vec![format!("{name}: {fault:?} from {before:?}")],
            };
            (self.level)(&mut expected, &mut actual);
            if expected != actual {
                bad += 1;
                if bad <= 3 {
                    failures.push(format!(
                        "{name}\n  before {before:?}\n  native {expected:?}\n  ours   {actual:?}"
                    ));
                }
            }
        }
        if bad > 3 {
            failures.push(format!("{name}: {bad} of {} differ", self.count));
        }
        failures
    }
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
        // The environments hold instruction pointers, which have a test of their own.
        let environment = matches!(bytes, [0xd9 | 0xdd, 0x26 | 0x36]);
        let invalid = decode(&bytes).iter().any(Instruction::is_invalid);
        if invalid || environment || TRANSCENDENTAL.contains(&bytes) {
            continue;
        }
        // The forms of one operation with ST(0) to ST(7) share its cases.
        let count = if has_stack_operand(bytes) {
            2500
        } else {
            12_000
        };
        failures.extend(Comparison::new(&bytes, count, i as u64).failures());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn emms_and_fwait_do_what_the_processor_does() {
    for bytes in [&[0x0f, 0x77][..], &[0x9b]] {
        let failures = Comparison::new(bytes, 1000, 1).failures();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

#[test]
fn the_transcendental_functions_are_close_to_those_of_the_processor() {
    let mut failures = Vec::new();
    for (i, bytes) in TRANSCENDENTAL.into_iter().enumerate() {
        let comparison = Comparison {
            // So that PE tells whether this result is inexact.
            prepare: |_, before| before.status &= !PE,
            level: |native, ours| {
                if native.status & PE != 0 {
                    // Which way the result was rounded follows from its last bit.
                    native.status &= !C1;
                    ours.status &= !C1;
                }
                for (a, b) in ours.stack.iter_mut().zip(&native.stack) {
                    if distance(*a, *b) <= 2 {
                        *a = *b;
                    }
                }
            },
            ..Comparison::new(&bytes, 10_000, 1000 + i as u64)
        };
        failures.extend(comparison.failures());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Clears the addresses and selectors of an environment whose fields have `size` bytes.
fn forget_pointers(memory: &mut [u8], size: usize) {
    memory[3 * size..7 * size].fill(0);
}

#[test]
fn saved_environments_are_those_of_the_processor() {
    let mut failures = Vec::new();
    // FNSTENV and FNSAVE do not mind pending exceptions; FNSTSW shows what is left of them.
    for opcode in [0xd9u8, 0xdd] {
        let long = Comparison {
            prepare: |random, before| before.status |= random.next() as u16 & 0x7f,
            level: |native, ours| {
                forget_pointers(&mut native.memory, 4);
                forget_pointers(&mut ours.memory, 4);
            },
            ..Comparison::new(&[opcode, 0x36, 0xdf, 0xe0], 2000, 3)
        };
        failures.extend(long.failures());
        let short = Comparison {
            level: |native, ours| {
                forget_pointers(&mut native.memory, 2);
                forget_pointers(&mut ours.memory, 2);
            },
            bytes: vec![0x66, opcode, 0x36, 0xdf, 0xe0],
            ..long
        };
        failures.extend(short.failures());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn environments_are_loaded_as_by_the_processor() {
    let mut failures = Vec::new();
    for bytes in [
        &[0xd9u8, 0x26][..],
        &[0xdd, 0x26],
        &[0x66, 0xd9, 0x26],
        &[0x66, 0xdd, 0x26],
    ] {
        let comparison = Comparison {
            prepare: |random, before| {
                for byte in &mut before.memory[..128] {
                    *byte = random.next() as u8;
                }
            },
            ..Comparison::new(bytes, 2000, 4)
        };
        failures.extend(comparison.failures());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn control_instructions_ignore_pending_exceptions_as_on_the_processor() {
    let mut failures = Vec::new();
    for bytes in [
        &[0xdbu8, 0xe2][..],
        &[0xdb, 0xe3],
        &[0xdb, 0xe0],
        &[0xdb, 0xe1],
        &[0xdb, 0xe4],
        &[0xd9, 0x3e],
        &[0xdd, 0x3e],
        &[0xdf, 0xe0],
    ] {
        let comparison = Comparison {
            prepare: |random, before| before.status |= random.next() as u16 & 0x7f,
            ..Comparison::new(bytes, 1000, 5)
        };
        failures.extend(comparison.failures());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn fxrstor_and_fxsave_are_those_of_the_processor() {
    let mut failures = Vec::new();
    for wide in [false, true] {
        let rex: &[u8] = if wide { &[0x48] } else { &[] };
        // fxrstor [rsi]; fxsave [rsi+512]
        let restore = [0x0f, 0xae, 0x0e];
        let save = [0x0f, 0xae, 0x86, 0x00, 0x02, 0x00, 0x00];
        let comparison = Comparison {
            prepare: |random, before| {
                for byte in &mut before.memory {
                    *byte = random.next() as u8;
                }
                before.memory[26..28].copy_from_slice(&random.pick(&[[0, 0], [2, 0]]));
            },
            level: |native, ours| {
                // Opcode and pointers: the processor drops them where no exception is pending.
                native.memory[512 + 6..512 + 24].fill(0);
                ours.memory[512 + 6..512 + 24].fill(0);
            },
            ..Comparison::new(&[rex, &restore, rex, &save].concat(), 2000, 6)
        };
        failures.extend(comparison.failures());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn one(bytes: &[u8]) -> Instruction {
    decode(bytes)[0]
}

#[test]
fn fxsave_and_fxrstor_refuse_misaligned_areas_and_unknown_mxcsr_bits() {
    let mut cx = context();
    for offset in [1, 8, 15] {
        cx.cpu.gpr[RSI] = OPERAND + offset;
        for bytes in [[0x0f, 0xae, 0x06], [0x0f, 0xae, 0x0e]] {
            assert_eq!(
                execute(&mut cx, &one(&bytes)),
                Err(Fault::GeneralProtection)
            );
        }
    }
    cx.cpu.gpr[RSI] = OPERAND;
    cx.mem.write(OPERAND, 0x0c7fu16).expect("mapped");
    cx.mem.write(OPERAND + 24, 1u32 << 16).expect("mapped");
    assert_eq!(
        execute(&mut cx, &one(&[0x0f, 0xae, 0x0e])),
        Err(Fault::GeneralProtection)
    );
    assert_eq!(cx.cpu.x87.control, 0x37f);
}

#[test]
fn a_pending_exception_stops_every_waiting_instruction_before_it_does_anything() {
    let mut cx = context();
    let mut count = 0;
    for bytes in encodings() {
        let insn = one(&bytes);
        let control = matches!(
            bytes,
            [0xd9, 0x36 | 0x3e] | [0xdd, 0x36 | 0x3e] | [0xdb, 0xe0..=0xe4] | [0xdf, 0xe0]
        );
        if insn.is_invalid() || control {
            continue;
        }
        let x = &mut cx.cpu.x87;
        x.set_control(0x37e);
        x.set_status_word(1);
        x.valid = 0xff;
        // No memory there: #MF comes first.
        cx.cpu.gpr[RSI] = 0;
        assert_eq!(execute(&mut cx, &insn), Err(Fault::X87Float), "{insn}");
        assert_eq!(cx.cpu.x87.status_word(), 0x8081, "{insn}");
        assert_eq!(cx.cpu.x87.valid, 0xff, "{insn}");
        count += 1;
    }
    assert!(count > 400);
}

#[test]
fn a_store_that_faults_changes_nothing() {
    let mut cx = context();
    let stores: [(&[u8], u64); 12] = [
        (&[0xd9, 0x1e], 4),
        (&[0xdd, 0x1e], 8),
        (&[0xdb, 0x3e], 10),
        (&[0xdf, 0x36], 10),
        (&[0xdf, 0x1e], 2),
        (&[0xdb, 0x1e], 4),
        (&[0xdf, 0x3e], 8),
        (&[0xd9, 0x36], 28),
        (&[0xdd, 0x36], 108),
        (&[0x66, 0xd9, 0x36], 14),
        (&[0x66, 0xdd, 0x36], 94),
        (&[0xdd, 0x3e], 2),
    ];
    for (bytes, size) in stores {
        let x = &mut cx.cpu.x87;
        x.initialise();
        x.valid = 0xff;
        // Inexact in every format but the widest.
        x.registers = [F80 {
            sign_exponent: 0x3ffd,
            significand: 0xaaaa_aaaa_aaaa_aaab,
        }; 8];
        let before = format!("{x:?}");
        cx.mem
            .copy_in(OPERAND, &[0xcc; PAGE_SIZE as usize])
            .expect("mapped");
        cx.cpu.gpr[RSI] = OPERAND + PAGE_SIZE - size + 1;
        let insn = one(bytes);
        let result = execute(&mut cx, &insn);
        assert!(
            matches!(result, Err(Fault::Page { .. })),
            "{insn}: {result:?}"
        );
        assert_eq!(format!("{:?}", cx.cpu.x87), before, "{insn}");
        let mut page = [0; PAGE_SIZE as usize];
        cx.mem.copy_out(OPERAND, &mut page).expect("mapped");
        assert!(page.iter().all(|b| *b == 0xcc), "{insn}");
    }
}

/// Results to 64 bits, computed with 600 bits by an arbitrary-precision library; for the trigonometric functions with
/// the argument reduced by the 66-bit pi. Second byte of the encoding, ST(0) and ST(1), result.
type Reference = (u8, [(u16, u64); 2], (u16, u64));
#[rustfmt::skip]
const REFERENCES: &[Reference] = &[
    (0xf0, [(0x3ffe, 0xdbc8_fbbc_bde5_c099), (0x0000, 0x0000_0000_0000_0000)], (0x3ffe, 0xd02d_aa33_b197_509d)),
    (0xf0, [(0xbff5, 0xd76d_4330_f144_6bea), (0x0000, 0x0000_0000_0000_0000)], (0xbff5, 0x953c_ca18_cf59_28bd)),
    (0xf0, [(0xbffe, 0x87b0_b125_ec1d_7da0), (0x0000, 0x0000_0000_0000_0000)], (0xbffd, 0x9d6b_f93d_3268_158c)),
    (0xf0, [(0xbfc4, 0xc6a5_3877_7733_0bdb), (0x0000, 0x0000_0000_0000_0000)], (0xbfc4, 0x89b0_c436_e2e7_77fa)),
    (0xf0, [(0xbffc, 0xe6a1_6a3b_0d46_4138), (0x0000, 0x0000_0000_0000_0000)], (0xbffc, 0x9401_e4d4_f736_e24c)),
    (0xf0, [(0x3fcd, 0xf814_e8a2_5f2d_d97f), (0x0000, 0x0000_0000_0000_0000)], (0x3fcd, 0xabf5_0561_e482_5ea0)),
    (0xf0, [(0x3ffc, 0x9a1a_fe87_8b33_e968), (0x0000, 0x0000_0000_0000_0000)], (0x3ffb, 0xe12d_06bf_9d18_6da3)),
    (0xf0, [(0x3fe7, 0xbb2e_db20_035b_7399), (0x0000, 0x0000_0000_0000_0000)], (0x3fe7, 0x81be_d226_e1bf_d5f4)),
    (0xf1, [(0x1d3c, 0xc78c_281d_687c_966c), (0xbfc9, 0xc406_9545_de11_cc9d)], (0x3fd6, 0xd4ed_9a24_dc63_6f2f)),
    (0xf1, [(0x3fff, 0xc30d_8b76_28db_d25e), (0x3fad, 0x9e11_5e4b_9e30_691c)], (0x3fac, 0xc01f_5d8b_036d_e157)),
    (0xf1, [(0x3a6f, 0xa1da_8978_206f_5c66), (0xbf9b, 0x815c_33b2_df14_61aa)], (0x3fa5, 0xb3d9_450d_77b4_84ea)),
    (0xf1, [(0x3ffe, 0xb729_c619_c60a_3cab), (0xbfc5, 0xca0f_e75d_2a9e_ba0c)], (0x3fc4, 0xc332_a26c_5f49_1df5)),
    (0xf1, [(0x29a4, 0xb2ea_6928_f623_6bf2), (0xc025, 0xa02f_daa1_ad86_4c44)], (0x4031, 0xdfcc_0683_e68c_13f9)),
    (0xf1, [(0x3ffe, 0xf0e3_cd97_2e81_d66d), (0x404b, 0xf710_8e96_f770_c226)], (0xc048, 0xad7a_b13e_b0e4_ca26)),
    (0xf1, [(0x73e5, 0xcc7d_6df0_621a_ef57), (0x3fa0, 0xaa7c_1880_6a37_5391)], (0x3fae, 0x8a41_5e68_266d_e8ca)),
    (0xf1, [(0x3ffe, 0x90ac_ff00_4389_2dfc), (0x3fef, 0x9a65_6aaf_d141_2584)], (0xbfee, 0xfe3c_2c86_c9d3_2317)),
    (0xf9, [(0xbffc, 0xb52a_43ab_ad8d_194a), (0x3ff1, 0xdaf8_4e6b_4f59_6727)], (0xbfef, 0xf607_76bc_4b34_5006)),
    (0xf9, [(0x3fe0, 0xd0d7_d13f_b248_9191), (0x3fca, 0xb465_3252_78f8_45f5)], (0x3fac, 0xd450_875a_d2cc_3fc9)),
    (0xf9, [(0x3ffc, 0xf9a0_1fe8_4195_21fe), (0xbfa0, 0xdb8e_8fb2_bff2_9101)], (0xbf9f, 0x8a33_43b9_a3fc_9995)),
    (0xf9, [(0x3fec, 0xc9a9_37a6_8c8f_95ef), (0x4006, 0x9419_cf4d_6059_7bdc)], (0x3ff4, 0xa84f_b247_2329_11db)),
    (0xf9, [(0x3ffc, 0xb52f_a53c_0bf6_4ef7), (0xbfc9, 0xf453_324e_f486_ab73)], (0xbfc7, 0xe5b4_6ec5_1bd4_64dc)),
    (0xf9, [(0x3fd2, 0xbeff_8b3f_c177_f113), (0x4011, 0xdad3_ba32_8332_f05a)], (0x3fe5, 0xeb8a_4623_cb4b_0a0e)),
    (0xf9, [(0xbffc, 0x9ba9_5a54_767d_5274), (0xc031, 0xcc17_0c31_c7ee_c61b)], (0x402f, 0xc233_6e50_4be4_3c96)),
    (0xf9, [(0xbfe8, 0x8960_afe9_4bbd_bb01), (0xc009, 0x9757_905e_fa74_9692)], (0x3ff2, 0xea56_34d8_81c0_6965)),
    (0xf3, [(0x3ffe, 0x9c5f_319e_834c_1b69), (0xbfff, 0xd707_9670_25f0_2628)], (0xbfff, 0x9c6c_393e_8a3e_1f08)),
    (0xf3, [(0xbfff, 0x8b8e_8f4e_b3de_08f9), (0x3ffd, 0xd119_cdcc_af9b_74f8)], (0x4000, 0xb21f_ca67_16be_5431)),
    (0xf3, [(0x3fff, 0x9404_ab1e_cc7c_6d81), (0xbffe, 0xcf2e_84fc_b06d_bee0)], (0xbffe, 0x9c52_06d4_1081_3fe4)),
    (0xf3, [(0x4000, 0x8c6d_ea3d_b85a_5cd2), (0xbffd, 0x8895_787f_99c4_258b)], (0xbffb, 0xf7c6_147a_15e7_a87f)),
    (0xf3, [(0x4000, 0xbd95_3dc2_3cc2_1779), (0x4001, 0xc00d_b00d_d388_1a50)], (0x3fff, 0x8e60_1688_3593_3755)),
    (0xf3, [(0xc000, 0xa547_f19c_6bf8_4914), (0xbffd, 0xa369_39ef_ea83_854a)], (0xc000, 0xc131_3d88_793c_cdab)),
    (0xf3, [(0xbffd, 0xd58d_2adb_7e5a_3930), (0x3ffe, 0xbb4e_5c11_fb36_8220)], (0x4000, 0x85b0_b444_ea8b_2b21)),
    (0xf3, [(0xc001, 0xa161_d909_21fd_ac3a), (0x4000, 0xef3f_0240_2b37_d817)], (0x4000, 0xa03c_f785_eb52_ea41)),
    (0xf2, [(0x4016, 0xd840_7b1a_0f0b_9752), (0x0000, 0x0000_0000_0000_0000)], (0xbffe, 0xa13a_98e3_20d5_8392)),
    (0xf2, [(0x3ff8, 0xf401_f5ce_2425_d75a), (0x0000, 0x0000_0000_0000_0000)], (0x3ff8, 0xf406_9436_d290_cdb0)),
    (0xf2, [(0xc03a, 0xda2d_3b3d_9ed2_aa0c), (0x0000, 0x0000_0000_0000_0000)], (0x3ffd, 0x9879_143c_b62b_a035)),
    (0xf2, [(0xbff0, 0xf41b_324d_85ae_8770), (0x0000, 0x0000_0000_0000_0000)], (0xbff0, 0xf41b_3252_256b_571a)),
    (0xf2, [(0x403c, 0xbac0_d757_b057_c162), (0x0000, 0x0000_0000_0000_0000)], (0xc002, 0xf613_064f_bf99_7859)),
    (0xf2, [(0x3ff5, 0xca80_7546_4627_3141), (0x0000, 0x0000_0000_0000_0000)], (0x3ff5, 0xca80_7fd5_65a0_a665)),
    (0xf2, [(0x401d, 0xa581_70f9_e6e0_53f7), (0x0000, 0x0000_0000_0000_0000)], (0x4000, 0xba68_50bd_eb6c_3dbc)),
    (0xf2, [(0x3fee, 0xfd06_f9f6_d272_3248), (0x0000, 0x0000_0000_0000_0000)], (0x3fee, 0xfd06_f9f7_24d7_4f27)),
    (0xfe, [(0xc021, 0xa080_c6a5_2dec_e95a), (0x0000, 0x0000_0000_0000_0000)], (0x3ffe, 0x8be8_4147_8178_1139)),
    (0xfe, [(0xbffa, 0xae1c_5d3a_56a6_8b41), (0x0000, 0x0000_0000_0000_0000)], (0xbffa, 0xae0e_f147_7ced_e49b)),
    (0xfe, [(0x4004, 0x83e2_c328_45b6_1df2), (0x0000, 0x0000_0000_0000_0000)], (0x3ffe, 0xfff8_5ab0_f571_48da)),
    (0xfe, [(0xbffc, 0xdc7f_e058_80b9_1b2e), (0x0000, 0x0000_0000_0000_0000)], (0xbffc, 0xdacc_a90f_6a39_6ea4)),
    (0xfe, [(0xc003, 0xc65f_b8a2_cb8f_1137), (0x0000, 0x0000_0000_0000_0000)], (0x3ffd, 0xa8d0_7caa_a8a8_d8f2)),
    (0xfe, [(0xbff6, 0xa9fd_1ce9_9665_5f23), (0x0000, 0x0000_0000_0000_0000)], (0xbff6, 0xa9fd_106b_a849_ccd7)),
    (0xfe, [(0xc001, 0xdd09_dd29_4e42_4b92), (0x0000, 0x0000_0000_0000_0000)], (0xbffe, 0x95a2_0ffd_f5a8_fd3c)),
    (0xfe, [(0xbffc, 0xc7e5_eb8d_ab16_3406), (0x0000, 0x0000_0000_0000_0000)], (0xbffc, 0xc6a1_83e5_5738_0770)),
    (0xff, [(0x4034, 0xc50e_2b99_43cd_c356), (0x0000, 0x0000_0000_0000_0000)], (0xbffc, 0x90a2_306e_65cc_020e)),
    (0xff, [(0xc001, 0xf4f6_717c_4b39_e336), (0x0000, 0x0000_0000_0000_0000)], (0x3ffc, 0xca54_dfe0_949b_a20b)),
    (0xff, [(0x403b, 0xadbb_f762_a652_3995), (0x0000, 0x0000_0000_0000_0000)], (0xbffe, 0xa139_b860_8ad4_8c4c)),
    (0xff, [(0xbffd, 0xf96b_fa00_02f6_f33d), (0x0000, 0x0000_0000_0000_0000)], (0x3ffe, 0xe238_2cb9_d4f4_27b5)),
    (0xff, [(0xc022, 0xd36e_816b_402d_5ebb), (0x0000, 0x0000_0000_0000_0000)], (0xbffe, 0xd0e0_1fb7_41a3_70d2)),
    (0xff, [(0x4000, 0xc9f0_88d4_7683_2b62), (0x0000, 0x0000_0000_0000_0000)], (0xbffe, 0xfff9_d67b_df46_cd34)),
    (0xff, [(0xc033, 0xac73_8c8c_a5be_6d6b), (0x0000, 0x0000_0000_0000_0000)], (0x3ffd, 0x9638_00ff_b944_616c)),
    (0xff, [(0x3ff6, 0xa4e1_5158_461c_b6e0), (0x0000, 0x0000_0000_0000_0000)], (0x3ffe, 0xffff_cae7_4691_478a)),
];

#[test]
fn the_transcendental_functions_are_correctly_rounded_at_reference_points() {
    let mut cx = context();
    for &(modrm, operands, expected) in REFERENCES {
        let [st0, st1] = operands.map(|(sign_exponent, significand)| F80 {
            sign_exponent,
            significand,
        });
        let x = &mut cx.cpu.x87;
        x.initialise();
        x.push(st1);
        x.push(st0);
        let insn = one(&[0xd9, modrm]);
        assert_eq!(execute(&mut cx, &insn), Ok(Flow::Next));
        // FPTAN leaves its result below a 1.
        let result = cx.cpu.x87.st(u8::from(modrm == 0xf2));
        assert_eq!(
            (result.sign_exponent, result.significand),
            expected,
            "{insn} of {operands:x?}"
        );
    }
}

#[test]
fn encodings_of_other_families_are_left_alone() {
    let mut cx = context();
    // add eax, ecx; xsave [rsi]; xrstor [rsi]; xgetbv; ldmxcsr [rsi]
    for bytes in [
        &[0x01u8, 0xc8][..],
        &[0x0f, 0xae, 0x26],
        &[0x0f, 0xae, 0x2e],
        &[0x0f, 0x01, 0xd0],
        &[0x0f, 0xae, 0x16],
    ] {
        assert!(super::execute(&mut cx, &one(bytes)).is_none());
    }
}
