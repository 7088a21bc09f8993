//! Tests of this family against the processor that runs them: every opcode, by executing it.
//!
//! A stub loads registers, runs one instruction and stores the registers; the same instruction goes through `execute`,
//! and everything that it could have changed is compared: XMM, x87/MMX, general registers, flags, memory.
#![expect(
    unsafe_code,
    reason = "runs generated code on the host to learn what the instruction does"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]
use super::super::Answer;
use super::{execute, table};
use crate::sim::isa::accesses::fixed_access_count;
use crate::sim::isa::flags::STATUS;
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::{Cpu, RAX, RCX, RDI, RDX};
use crate::sim::memory::{Backing, Fault, Memory, Protection, Purpose};
use iced_x86::code_asm::{CodeAssembler, byte_ptr, qword_ptr, r8, r11, rax, rcx, rdi, rdx};
use iced_x86::{
    Code, CpuidFeature, EncodingKind, Instruction, OpCodeOperandKind, OpKind, Register,
};
use std::sync::Arc;

const IN: usize = 0;
const OUT: usize = 512;
const GPR: usize = 1024;
const FLAGS: usize = GPR + 32;
const MEMORY: usize = 1088;
const MEMORY_LEN: usize = 64;
/// Where the memory operand lies in the guest: in the middle of a page, aligned.
const GUEST: u64 = 0x1_0800;
const UNMAPPED: u64 = 0x9_0000;

/// What the stub reads and writes. Two FXSAVE images, then RAX, RCX, RDX, R8, the flags and the memory operand.
#[repr(C, align(64))]
#[derive(Clone)]
struct Image([u8; MEMORY + MEMORY_LEN]);

impl Image {
    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }
    fn u128(&self, at: usize) -> u128 {
        u128::from_le_bytes(self.0[at..at + 16].try_into().unwrap())
    }
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// A page of executable memory.
struct Stub(*mut u8);

impl Stub {
    fn new() -> Self {
        // SAFETY: an anonymous mapping at no particular address touches nothing that exists.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(page, libc::MAP_FAILED, "no executable page");
        Self(page.cast())
    }

    /// Assembles the stub around an instruction.
    fn load(&mut self, insn: Instruction) {
        let mut a = CodeAssembler::new(64).unwrap();
        let gpr = |i: usize| r11 + (GPR + 8 * i) as i32;
        let mut build = || -> Result<(), iced_x86::IcedError> {
            a.mov(r11, rdi)?;
            a.fxrstor64(byte_ptr(r11 + IN as i32))?;
            for (i, r) in [rax, rcx, rdx, r8].into_iter().enumerate() {
                a.mov(r, qword_ptr(gpr(i)))?;
            }
            a.push(qword_ptr(r11 + FLAGS as i32))?;
            a.popfq()?;
            a.lea(rdi, qword_ptr(r11 + MEMORY as i32))?;
            a.add_instruction(insn)?;
            for (i, r) in [rax, rcx, rdx, r8].into_iter().enumerate() {
                a.mov(qword_ptr(gpr(i)), r)?;
            }
            a.pushfq()?;
            a.pop(qword_ptr(r11 + FLAGS as i32))?;
            a.fxsave64(byte_ptr(r11 + OUT as i32))?;
            a.emms()?;
            a.ret()
        };
        build().unwrap();
        let code = a.assemble(self.0 as u64).unwrap();
        assert!(code.len() <= 4096);
        // SAFETY: the page is ours, writable and long enough.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), self.0, code.len()) };
    }

    fn run(&self, image: &mut Image) {
        // SAFETY: the code follows the C calling convention: it uses only registers that a callee may change, restores
        // nothing else than it found in MXCSR and the x87 control word (both images hold the defaults), and writes only
        // to the image, in which the memory operand lies with 16 bytes to spare.
        unsafe {
            let f: extern "C" fn(*mut u8) = std::mem::transmute(self.0);
            f(image.0.as_mut_ptr());
        }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.0.cast(), 4096) };
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() as usize % from.len()]
    }
    fn bits(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// A vector with edges in its lanes, text, a shift count, or anything.
    fn vector(&mut self) -> u128 {
        const EDGES: [u64; 20] = [
            0,
            1,
            2,
            0x7e,
            0x7f,
            0x80,
            0xff,
            0x100,
            0x7ffe,
            0x7fff,
            0x8000,
            0x8001,
            0xffff,
            0x1_0000,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x7fff_ffff_ffff_ffff,
            0x8000_0000_0000_0000,
            u64::MAX,
        ];
        match self.next() % 8 {
            0 => self.bits(),
            1 => u128::from(self.next() % 70) | u128::from(self.next()) << 64,
            2 => (0..16).fold(0, |v, _| {
                v << 8 | u128::from(self.pick(b"aabbbccz\0\x7f\x80"))
            }),
            3 => (0..8).fold(0, |v, _| v << 16 | u128::from(self.pick(b"aabbc\0"))),
            mode => {
                let width = 8u32 << (mode - 4);
                (0..128 / width).fold(0, |v, _| {
                    let lane = if self.next().is_multiple_of(4) {
                        self.next()
                    } else {
                        self.pick(&EDGES)
                    };
                    v << width | u128::from(lane & (u64::MAX >> (64 - width)))
                })
            }
        }
    }

    /// An operand of general registers, with the lengths that PCMPESTRx takes among them.
    fn integer(&mut self) -> u64 {
        match self.next() % 4 {
            0 => self.next(),
            1 => self.pick(&[
                i64::MIN as u64,
                0x8000_0000,
                0xffff_fff7,
                0x1_0000_0003,
                u64::MAX - 6,
            ]),
            _ => (self.next() % 20) as u32 as u64,
        }
    }
}

/// Every opcode of the instruction sets that this family covers, but those that it leaves to others.
fn codes() -> impl Iterator<Item = Code> {
    use iced_x86::Mnemonic::*;
    Code::values().filter(|code| {
        let covered = code.cpuid_features().iter().any(|f| {
            matches!(
                f,
                CpuidFeature::MMX
                    | CpuidFeature::SSE
                    | CpuidFeature::SSE2
                    | CpuidFeature::SSE3
                    | CpuidFeature::SSSE3
                    | CpuidFeature::SSE4_1
                    | CpuidFeature::SSE4_2
                    | CpuidFeature::CLFSH
                    | CpuidFeature::CLFLUSHOPT
                    | CpuidFeature::CLWB
                    | CpuidFeature::PREFETCHW
            )
        });
        let name = format!("{:?}", code.mnemonic());
        let float = [
            "Cvt", "Sqrt", "Rsqrt", "Rcp", "Round", "Ucom", "Com", "Addsub", "Hadd", "Hsub", "Dpp",
        ]
        .iter()
        .any(|p| name.starts_with(p))
            || ["Add", "Sub", "Mul", "Div", "Min", "Max", "Cmp"]
                .iter()
                .any(|p| {
                    name.strip_prefix(p)
                        .is_some_and(|rest| ["ps", "pd", "ss", "sd"].contains(&rest))
                });
        let others = matches!(code.mnemonic(), Emms | Ldmxcsr | Stmxcsr | Fisttp | Pause);
        covered && code.op_code().encoding() == EncodingKind::Legacy && !float && !others
    })
}

fn is_hint(code: Code) -> bool {
    let name = format!("{:?}", code.mnemonic());
    ["Prefetch", "Clflush", "Clwb", "Lfence", "Mfence", "Sfence"]
        .iter()
        .any(|p| name.starts_with(p))
}

/// How the operands of a test instruction are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Registers with these numbers for the first and second operand.
    Registers(u32, u32),
    /// The operand that can be in memory is in memory, this far behind RDI; the first register has number 1.
    Memory(u8),
}

/// Builds the instruction, or `None` where it has no such shape.
fn build(code: Code, shape: Shape, imm: u8) -> Option<Instruction> {
    let mut insn = Instruction::new();
    insn.set_code(code);
    let mut in_memory = false;
    for (i, &kind) in code.op_code().op_kinds().iter().enumerate() {
        let i = i as u32;
        let number = match (shape, i) {
            (Shape::Registers(first, _), 0) => first,
            (Shape::Registers(_, second), _) => second,
            (Shape::Memory(_), _) => 1,
        };
        let name = format!("{kind:?}");
        let memory = kind == OpCodeOperandKind::mem || name.ends_with("_or_mem");
        if kind == OpCodeOperandKind::imm8 {
            insn.set_op_kind(i, OpKind::Immediate8);
            insn.set_immediate8(imm);
        } else if kind == OpCodeOperandKind::seg_rDI {
            insn.set_op_kind(i, OpKind::MemorySegRDI);
        } else if let (true, Shape::Memory(displacement)) = (memory, shape) {
            in_memory = true;
            insn.set_op_kind(i, OpKind::Memory);
            insn.set_memory_base(Register::RDI);
            insn.set_memory_displacement64(u64::from(displacement));
            insn.set_memory_displ_size(u32::from(displacement != 0));
        } else if kind == OpCodeOperandKind::mem {
            return None;
        } else {
            let first = match &name[..name.find('_').unwrap()] {
                "xmm" => Register::XMM0,
                "mm" => Register::MM0,
                "r8" => Register::AL,
                "r16" => Register::AX,
                "r32" => Register::EAX,
                "r64" => Register::RAX,
                other => panic!("{code:?}: operand {other}"),
            };
            // Of the general registers only the first three are loaded; CH, which no REX prefix allows, is one
            // more.
            let register = match (first, number) {
                (Register::AL, 3) if code == Code::Crc32_r32_rm8 => Register::CH,
                (first, number) if first.is_gpr() => first + number.min(2),
                (first, number) => first + number,
            };
            insn.set_op_kind(i, OpKind::Register);
            insn.set_op_register(i, register);
        }
    }
    (in_memory == matches!(shape, Shape::Memory(_))).then_some(insn)
}

fn context() -> Context {
    let mut mem = Memory::new(1 << 20);
    mem.map(
        GUEST & !0xfff,
        4096,
        Protection::READ_WRITE,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    Context::new(Cpu::new(Arc::from([])), mem)
}

/// The x87 state of the images before the instruction: not the one that MMX leaves.
const TOP: u8 = 5;
const VALID: u8 = 0b1010_0110;

fn random_image(random: &mut Random) -> Image {
    let mut image = Image([0; MEMORY + MEMORY_LEN]);
    image.put(IN, &0x37fu16.to_le_bytes());
    image.put(IN + 2, &(u16::from(TOP) << 11).to_le_bytes());
    image.put(IN + 4, &[VALID]);
    image.put(IN + 24, &0x1f80u32.to_le_bytes());
    for i in 0..8 {
        // The significand, then sign and exponent.
        image.put(IN + 32 + 16 * i, &random.vector().to_le_bytes()[..10]);
    }
    for i in 0..4 {
        image.put(IN + 160 + 16 * i, &random.vector().to_le_bytes());
    }
    if random.next().is_multiple_of(4) {
        // Equal operands are rare otherwise.
        let same = image.u128(IN + 160 + 16);
        image.put(IN + 160 + 32, &same.to_le_bytes());
    }
    for i in 0..4 {
        image.put(GPR + 8 * i, &random.integer().to_le_bytes());
    }
    image.put(FLAGS, &(random.next() & STATUS | 0x202).to_le_bytes());
    for i in 0..MEMORY_LEN / 16 {
        image.put(MEMORY + 16 * i, &random.vector().to_le_bytes());
    }
    image
}

const UPPER: u128 = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;
const GPRS: [u8; 4] = [RAX, RCX, RDX, 8];

fn load_guest(cx: &mut Context, image: &Image) {
    for i in 0..8usize {
        let physical = (usize::from(TOP) + i) % 8;
        let register = &mut cx.cpu.x87.registers[physical];
        register.significand = image.u64(IN + 32 + 16 * i);
        register.sign_exponent = image.u64(IN + 40 + 16 * i) as u16;
    }
    cx.cpu.x87.top = TOP;
    cx.cpu.x87.valid = VALID;
    for (i, &gpr) in GPRS.iter().enumerate() {
        cx.cpu.vec[i as u8] = [image.u128(IN + 160 + 16 * i), UPPER];
        cx.cpu.gpr[gpr] = image.u64(GPR + 8 * i);
    }
    cx.cpu.gpr[RDI] = GUEST;
    cx.cpu.flags.set_rflags(image.u64(FLAGS));
    cx.mem.copy_in(GUEST, &image.0[MEMORY..]).unwrap();
}

/// What differs between the guest and the image after the instruction.
fn difference(cx: &mut Context, image: &Image) -> Option<String> {
    let top = (image.u64(OUT) >> 27 & 7) as u8;
    if (cx.cpu.x87.top, cx.cpu.x87.valid) != (top, image.0[OUT + 4]) {
        return Some(format!(
            "TOP {} valid {:#x}, should be {top} and {:#x}",
            cx.cpu.x87.top,
            cx.cpu.x87.valid,
            image.0[OUT + 4]
        ));
    }
    for i in 0..8 {
        let at = OUT + 32 + 16 * i;
        let r = cx.cpu.x87.registers[(usize::from(top) + i) % 8];
        let (significand, exponent) = (image.u64(at), image.u64(at + 8) as u16);
        if (r.significand, r.sign_exponent) != (significand, exponent) {
            return Some(format!(
                "ST({i}) is {r:x?}, should be {exponent:#x} {significand:#x}"
            ));
        }
    }
    for (i, &gpr) in GPRS.iter().enumerate() {
        let should = [image.u128(OUT + 160 + 16 * i), UPPER];
        let is = cx.cpu.vec[i as u8];
        if is != should {
            return Some(format!("XMM{i} is {is:#x?}, should be {should:#x?}"));
        }
        let (is, should) = (cx.cpu.gpr[gpr], image.u64(GPR + 8 * i));
        if is != should {
            return Some(format!(
                "general register {i} is {is:#x}, should be {should:#x}"
            ));
        }
    }
    let (is, should) = (cx.cpu.flags.status(), image.u64(FLAGS) & STATUS);
    if is != should {
        return Some(format!("flags are {is:#x}, should be {should:#x}"));
    }
    let mut memory = [0; MEMORY_LEN];
    cx.mem.copy_out(GUEST, &mut memory).unwrap();
    (memory != image.0[MEMORY..])
        .then(|| format!("memory is {memory:x?}, should be {:x?}", &image.0[MEMORY..]))
}

fn compare_all(selected: impl Fn(Code) -> bool, cases: usize) {
    let mut stub = Stub::new();
    let mut cx = context();
    let shapes = [
        Shape::Registers(1, 2),
        Shape::Registers(2, 3),
        Shape::Registers(3, 3),
        Shape::Registers(0, 1),
        Shape::Memory(0),
        Shape::Memory(16),
    ];
    let mut compared = 0;
    for code in codes().filter(|&c| !is_hint(c) && selected(c)) {
        let mut random = Random(code as u64);
        let mut done = 0;
        let immediate = code.op_code().op_kinds().contains(&OpCodeOperandKind::imm8);
        let last = if immediate { 255 } else { 0 };
        for (shape, imm) in shapes
            .iter()
            .flat_map(|&s| (0..=last).map(move |imm| (s, imm)))
        {
            let Some(insn) = build(code, shape, imm) else {
                continue;
            };
            stub.load(insn);
            for _ in 0..cases.div_ceil(usize::from(last) + 1) {
                let image = random_image(&mut random);
                let mut after = image.clone();
                stub.run(&mut after);
                load_guest(&mut cx, &image);
                let answer = execute(&mut cx, &insn);
                assert_eq!(answer, Some(Ok(Flow::Next)), "{code:?} {shape:?}");
                if let Some(difference) = difference(&mut cx, &after) {
                    panic!(
                        "{code:?} {shape:?} immediate {imm:#x}: {difference}\nXMM before: {:#x?}\nmemory: {:x?}",
                        [0, 1, 2, 3].map(|i| image.u128(IN + 160 + 16 * i)),
                        &image.0[MEMORY..],
                    );
                }
                done += 1;
            }
        }
        assert!(done >= 2000, "{code:?}: only {done} cases");
        compared += 1;
    }
    assert!(compared > 0, "nothing was compared");
}

fn is_text(code: Code) -> bool {
    format!("{code:?}").starts_with("Pcmpest") || format!("{code:?}").starts_with("Pcmpist")
}

#[test]
fn lane_operations_agree_with_the_host() {
    compare_all(|code| table::form(code).is_some(), 2048);
}

#[test]
fn moves_and_elements_agree_with_the_host() {
    compare_all(|code| table::form(code).is_none() && !is_text(code), 2048);
}

#[test]
fn string_comparisons_agree_with_the_host_in_every_mode() {
    compare_all(is_text, 256 * 64);
}

#[test]
fn every_opcode_of_the_family_is_claimed() {
    let mut cx = context();
    let missing: Vec<_> = codes()
        .filter(|&code| {
            let insn = build(code, Shape::Memory(0), 0)
                .or_else(|| build(code, Shape::Registers(1, 2), 0))
                .expect("every opcode has one of the two shapes");
            cx.cpu.gpr[RDI] = GUEST;
            execute(&mut cx, &insn).is_none()
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn vex_forms_are_left_to_others() {
    let mut cx = context();
    for code in [
        Code::VEX_Vpaddb_xmm_xmm_xmmm128,
        Code::VEX_Vmovdqa_xmm_xmmm128,
    ] {
        let insn = build(code, Shape::Registers(1, 2), 0).unwrap();
        assert_eq!(execute(&mut cx, &insn), None);
    }
}

/// Runs the memory form at an address; the answer, having checked that a fault changed nothing.
fn answer_at(code: Code, at: u64) -> Option<Answer> {
    let insn = build(code, Shape::Memory(0), 0x11)?;
    let mut cx = context();
    let image = random_image(&mut Random(code as u64));
    load_guest(&mut cx, &image);
    cx.cpu.gpr[RDI] = at;
    let before = cx.cpu.clone();
    let answer = execute(&mut cx, &insn);
    if answer != Some(Ok(Flow::Next)) {
        assert_eq!(cx.cpu.vec.0, before.vec.0, "{code:?}");
        assert_eq!(cx.cpu.gpr.0, before.gpr.0, "{code:?}");
        assert_eq!(cx.cpu.x87.registers, before.x87.registers, "{code:?}");
        assert_eq!((cx.cpu.x87.top, cx.cpu.x87.valid), (TOP, VALID), "{code:?}");
        assert_eq!(cx.cpu.flags.status(), before.flags.status(), "{code:?}");
    }
    Some(answer)
}

#[test]
fn memory_faults_change_nothing() {
    let mut seen = 0;
    for code in codes() {
        let Some(answer) = answer_at(code, UNMAPPED) else {
            continue;
        };
        let prefetch = format!("{code:?}").starts_with("Prefetch");
        match answer {
            Some(Ok(Flow::Next)) if prefetch => {}
            Some(Err(Fault::Page { addr: UNMAPPED, .. })) if !prefetch => {}
            other => panic!("{code:?}: {other:?}"),
        }
        seen += 1;
    }
    assert!(seen > 200);
}

#[test]
fn sixteen_byte_operands_must_be_aligned_unless_the_instruction_says_otherwise() {
    let mut strict = 0;
    for code in codes().filter(|&c| !is_hint(c)) {
        let Some(answer) = answer_at(code, GUEST + 8) else {
            continue;
        };
        let wide = code.op_code().memory_size().size() == 16;
        let name = format!("{code:?}");
        let lax = ["Movup", "Movdqu", "Lddqu", "Pcmpes", "Pcmpis"]
            .iter()
            .any(|p| name.starts_with(p));
        if wide && !lax {
            assert_eq!(answer, Some(Err(Fault::GeneralProtection)), "{code:?}");
            strict += 1;
        } else {
            assert_eq!(answer, Some(Ok(Flow::Next)), "{code:?}");
        }
    }
    assert!(strict > 100);
}

#[test]
fn recorded_accesses_are_those_that_the_encoding_promises() {
    let mut cx = context();
    cx.cpu.gpr[RDI] = GUEST;
    cx.mem.set_recording(true);
    let mut seen = 0;
    for code in codes() {
        let Some(insn) = build(code, Shape::Memory(0), 0) else {
            continue;
        };
        cx.mem.clear_accesses();
        assert_eq!(execute(&mut cx, &insn), Some(Ok(Flow::Next)), "{code:?}");
        let made = cx.mem.accesses().len();
        assert_eq!(fixed_access_count(&insn), Some(made as u8), "{code:?}");
        if made > 0 {
            let size = cx.mem.accesses()[0].size;
            assert_eq!(usize::from(size), insn.memory_size().size(), "{code:?}");
        }
        seen += 1;
    }
    assert!(seen > 200);
}

#[test]
fn a_pending_x87_exception_stops_mmx_instructions_only() {
    let mut cx = context();
    cx.cpu.x87.status = 1;
    cx.cpu.x87.control = 0x37e;
    for code in codes().filter(|&c| !is_hint(c)) {
        let insn =
            build(code, Shape::Registers(1, 2), 0).or_else(|| build(code, Shape::Memory(0), 0));
        let insn = insn.expect("every opcode has one of the two shapes");
        cx.cpu.gpr[RDI] = GUEST;
        let mmx = (0..insn.op_count()).any(|i| insn.op_register(i).is_mm());
        let expected = if mmx {
            Err(Fault::X87Float)
        } else {
            Ok(Flow::Next)
        };
        assert_eq!(execute(&mut cx, &insn), Some(expected), "{code:?}");
    }
}

#[test]
fn masked_stores_touch_only_the_selected_bytes() {
    let mut cx = context();
    let insn = build(Code::Maskmovdqu_rDI_xmm_xmm, Shape::Registers(0, 1), 0).unwrap();
    cx.cpu.set_xmm(1, u128::MAX >> 64);
    // The last 8 bytes of the page: the upper half of the operand lies on a page that does not exist.
    let edge = (GUEST & !0xfff) + 4096 - 8;
    cx.cpu.gpr[RDI] = edge;
    assert_eq!(execute(&mut cx, &insn), Some(Ok(Flow::Next)));
    assert_eq!(cx.mem.read::<u64>(edge), Ok(u64::MAX));
    cx.cpu.gpr[RDI] = UNMAPPED;
    assert!(matches!(
        execute(&mut cx, &insn),
        Some(Err(Fault::Page { .. }))
    ));
    cx.cpu.set_xmm(1, 0);
    assert_eq!(execute(&mut cx, &insn), Some(Ok(Flow::Next)));
}

#[test]
fn the_checksum_is_crc_32c() {
    assert_eq!(!super::text::crc32c(!0, b"123456789"), 0xe306_9283);
}
