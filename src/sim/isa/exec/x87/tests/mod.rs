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
use random::Random;
use references::REFERENCES;

mod native;
mod random;
mod references;

/// Where the simulated memory operand lies.
const OPERAND: u64 = 0x1_0000;
/// Bytes of it.
const OPERAND_SIZE: usize = 1024;

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

fn context() -> Context {
    let mut mem = Memory::new(1 << 20);
    mem.map(
        OPERAND,
        PAGE_SIZE,
        Protection::READ_WRITE,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    Context::new(Cpu::new([].into()), mem)
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
fn fxsave_and_fxrstor_want_all_of_their_512_bytes() {
    let mut cx = context();
    let end = OPERAND + PAGE_SIZE;
    for bytes in [[0x0f, 0xae, 0x06], [0x0f, 0xae, 0x0e]] {
        for room in [512, 496, 464, 416] {
            cx.cpu.gpr[RSI] = end - room;
            let done = execute(&mut cx, &one(&bytes));
            assert_eq!(done.is_ok(), room == 512, "{bytes:x?}, room {room}");
        }
    }
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
