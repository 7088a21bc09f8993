//! Every instruction that x86-64-v3 adds, and AES-NI, PCLMULQDQ and SHA, against the processor that runs the tests.
//!
//! A stub loads all registers, runs one instruction and stores them; the same instruction goes through `execute`, and
//! everything that it could have changed is compared: both halves of the vector registers, general registers, flags,
//! MXCSR, memory, and whether it raised #XM.
#![expect(
    unsafe_code,
    reason = "the oracle is the host processor, which runs assembled stubs and may raise SIGFPE in them"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect"
)]
use super::execute;
use crate::sim::isa::accesses::fixed_access_count;
use crate::sim::isa::flags::STATUS;
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::host::Operands;
use crate::sim::isa::state::{Cpu, RAX, RCX, RDI, RDX};
use crate::sim::memory::{Backing, Fault, Memory, PAGE_SIZE, Protection, Purpose};
use iced_x86::code_asm::registers::ymm::*;
use iced_x86::code_asm::{
    CodeAssembler, dword_ptr, ptr, qword_ptr, r8, r10, r10d, r11, rax, rcx, rdi, rdx, rsi,
    ymmword_ptr,
};
use iced_x86::{
    Code, CpuidFeature, EncodingKind, Instruction, Mnemonic, OpCodeOperandKind, OpKind, Register,
};
use std::ffi::c_void;

const VECTORS: usize = 0;
const GPRS: usize = 512;
const FLAGS: usize = GPRS + 32;
const MXCSR: usize = FLAGS + 8;
const RESET: usize = MXCSR + 4;
const FAULTED: usize = RESET + 4;
const MEMORY: usize = 576;
const MEMORY_LEN: usize = 128;
const IMAGE: usize = MEMORY + MEMORY_LEN;
/// Where the memory operand lies in the guest.
const GUEST: u64 = 0x1_0800;
const UNMAPPED: u64 = 0x9_0000;
const NUMBERS: [u8; 4] = [RAX, RCX, RDX, 8];

/// What the stub reads and writes: YMM0 to YMM15, RAX, RCX, RDX, R8, flags, MXCSR, and the memory operand.
#[repr(C, align(64))]
#[derive(Clone)]
struct Image([u8; IMAGE]);

impl Image {
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }
    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }
    fn u128(&self, at: usize) -> u128 {
        u128::from_le_bytes(self.0[at..at + 16].try_into().unwrap())
    }
    fn vector(&self, i: usize) -> [u128; 2] {
        let at = VECTORS + 32 * i;
        [self.u128(at), self.u128(at + 16)]
    }
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
    fn put_vector(&mut self, at: usize, [low, high]: [u128; 2]) {
        self.put(at, &low.to_le_bytes());
        self.put(at + 16, &high.to_le_bytes());
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
        // SAFETY: a handler that only changes registers of its context. The tests of `sse_float` install one with the
        // same convention (R11 is where to go on, R10 tells), so it does not matter whose is in place.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = resume as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            let done = libc::sigaction(libc::SIGFPE, &action, std::ptr::null_mut());
            assert_eq!(done, 0);
        }
        Self(page.cast())
    }

    /// Assembles the stub around an instruction.
    fn load(&mut self, insn: Instruction) {
        const YMM: [iced_x86::code_asm::AsmRegisterYmm; 16] = [
            ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11, ymm12, ymm13,
            ymm14, ymm15,
        ];
        let mut a = CodeAssembler::new(64).unwrap();
        let mut after = a.create_label();
        let at = |offset: usize| rsi + offset as i32;
        let mut build = || -> Result<(), iced_x86::IcedError> {
            a.mov(rsi, rdi)?;
            a.lea(rdi, ptr(at(MEMORY)))?;
            for (i, r) in YMM.into_iter().enumerate() {
                a.vmovdqu(r, ymmword_ptr(at(VECTORS + 32 * i)))?;
            }
            for (i, r) in [rax, rcx, rdx, r8].into_iter().enumerate() {
                a.mov(r, qword_ptr(at(GPRS + 8 * i)))?;
            }
            a.lea(r11, ptr(after))?;
            a.mov(r10d, 0)?;
            a.ldmxcsr(dword_ptr(at(MXCSR)))?;
            a.push(qword_ptr(at(FLAGS)))?;
            a.popfq()?;
            a.add_instruction(insn)?;
            a.set_label(&mut after)?;
            a.pushfq()?;
            a.pop(qword_ptr(at(FLAGS)))?;
            a.stmxcsr(dword_ptr(at(MXCSR)))?;
            a.ldmxcsr(dword_ptr(at(RESET)))?;
            for (i, r) in [rax, rcx, rdx, r8].into_iter().enumerate() {
                a.mov(qword_ptr(at(GPRS + 8 * i)), r)?;
            }
            a.mov(qword_ptr(at(FAULTED)), r10)?;
            for (i, r) in YMM.into_iter().enumerate() {
                a.vmovdqu(ymmword_ptr(at(VECTORS + 32 * i)), r)?;
            }
            a.vzeroupper()?;
            a.ret()
        };
        build().unwrap_or_else(|e| panic!("{insn}: {e}"));
        let code = a.assemble(self.0 as u64).unwrap();
        assert!(code.len() <= 4096);
        // SAFETY: the page is ours, writable and long enough.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), self.0, code.len()) };
    }

    fn run(&self, image: &mut Image) {
        // SAFETY: the code follows the C calling convention: it uses only registers that a callee may change, sets MXCSR
        // back, and writes only to the image, in which the memory operand lies.
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

extern "C" fn resume(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid context; only stubs raise SIGFPE in this test process.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RIP as usize] = registers[libc::REG_R11 as usize];
    registers[libc::REG_R10 as usize] = 1;
}

/// Whether the host has every instruction that is compared. Where it lacks one, the tests say so and pass.
fn host_has_all() -> bool {
    let all = std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("f16c")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("lzcnt")
        && std::is_x86_feature_detected!("movbe")
        && std::is_x86_feature_detected!("sha")
        && std::is_x86_feature_detected!("vaes")
        && std::is_x86_feature_detected!("vpclmulqdq");
    if !all {
        #[expect(clippy::print_stdout, reason = "a skipped test says so")]
        {
            println!("skipped: this processor lacks an instruction set of the comparison");
        }
    }
    all
}

/// Every opcode of these instruction sets.
fn codes() -> impl Iterator<Item = Code> {
    use CpuidFeature::*;
    Code::values().filter(|code| {
        let features = code.cpuid_features();
        let own = [
            AVX, AVX2, FMA, F16C, BMI1, BMI2, LZCNT, MOVBE, AES, PCLMULQDQ, SHA, VAES, VPCLMULQDQ,
        ];
        !features.is_empty()
            && features.iter().all(|f| own.contains(f))
            && code.op_code().mode64()
            && matches!(code.encoding(), EncodingKind::VEX | EncodingKind::Legacy)
    })
}

/// How the operands of a test instruction are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    /// Register numbers of the operands.
    registers: [u32; 4],
    /// The operand that can be in memory is, this far behind RDI.
    memory: Option<u8>,
}

const fn registers(registers: [u32; 4]) -> Shape {
    Shape {
        registers,
        memory: None,
    }
}
const fn memory(registers: [u32; 4], displacement: u8) -> Shape {
    Shape {
        registers,
        memory: Some(displacement),
    }
}
const SHAPES: [Shape; 7] = [
    registers([1, 2, 3, 4]),
    registers([2, 2, 3, 3]),
    registers([9, 1, 9, 0]),
    registers([3, 5, 3, 12]),
    memory([1, 2, 3, 4], 0),
    memory([12, 12, 5, 12], 36),
    memory([5, 2, 2, 3], 64),
];

/// The number of the index register of a gather.
const INDEX: u32 = 5;

/// Builds the instruction, or `None` where it has no such shape.
fn build(code: Code, shape: Shape, imm: u8) -> Option<Instruction> {
    use OpCodeOperandKind as Kind;
    let mut insn = Instruction::new();
    insn.set_code(code);
    let mut in_memory = false;
    for (i, &kind) in code.op_code().op_kinds().iter().enumerate() {
        let number = shape.registers[i];
        let i = i as u32;
        let name = format!("{kind:?}");
        let can_be_memory = name.starts_with("mem") || name.ends_with("_or_mem");
        if kind == Kind::imm8 {
            insn.set_op_kind(i, OpKind::Immediate8);
            insn.set_immediate8(imm);
        } else if kind == Kind::seg_rDI {
            in_memory = true;
            insn.set_op_kind(i, OpKind::MemorySegRDI);
        } else if let (true, Some(displacement)) = (can_be_memory, shape.memory) {
            in_memory = true;
            insn.set_op_kind(i, OpKind::Memory);
            insn.set_memory_base(Register::RDI);
            let mut displacement = displacement;
            if name.starts_with("mem_vsib") {
                let first = if name.ends_with('x') {
                    Register::XMM0
                } else {
                    Register::YMM0
                };
                insn.set_memory_index(first + INDEX);
                insn.set_memory_index_scale(if displacement == 0 { 8 } else { 1 });
                displacement = 64;
            }
            insn.set_memory_displacement64(u64::from(displacement));
            insn.set_memory_displ_size(u32::from(displacement != 0));
        } else if name.starts_with("mem") {
            return None;
        } else {
            let (first, number) = match &name[..name.find('_').unwrap()] {
                "xmm" => (Register::XMM0, number),
                "ymm" => (Register::YMM0, number),
                "r16" => (Register::AX, number % 4),
                "r32" => (Register::EAX, number % 4),
                "r64" => (Register::RAX, number % 4),
                other => panic!("{code:?}: operand {other}"),
            };
            let register = match (first.is_gpr(), number) {
                (true, 3) => first + 8,
                _ => first + number,
            };
            insn.set_op_kind(i, OpKind::Register);
            insn.set_op_register(i, register);
        }
    }
    (in_memory == shape.memory.is_some()).then_some(insn)
}

/// The shapes of an opcode: gathers demand three different registers.
fn instructions(code: Code, imm: u8) -> impl Iterator<Item = Instruction> {
    SHAPES
        .iter()
        .copied()
        .chain([memory([1, 0, 3, 0], 0), memory([9, 0, 2, 0], 1)])
        .enumerate()
        .filter_map(move |(i, shape)| {
            let insn = build(code, shape, imm)?;
            let gather = insn.is_vsib();
            let plain = i < SHAPES.len();
            // Operands that must be aligned are, but for the test about that.
            let crooked = is_aligned(&insn) && shape.memory == Some(36);
            let none = insn.op_count() == 0 && i > 0;
            (gather != plain && !crooked && !none).then_some(insn)
        })
}

/// Whether the memory operand must be aligned to its size.
fn is_aligned(insn: &Instruction) -> bool {
    use Mnemonic as M;
    let size = insn.memory_size().size();
    match insn.mnemonic() {
        M::Vmovaps
        | M::Vmovapd
        | M::Vmovdqa
        | M::Vmovntps
        | M::Vmovntpd
        | M::Vmovntdq
        | M::Vmovntdqa => true,
        _ if insn.cpuid_features().contains(&CpuidFeature::SHA) => false,
        _ => insn.encoding() == EncodingKind::Legacy && size == 16,
    }
}

fn context() -> Context {
    let mut mem = Memory::new(1 << 20);
    mem.map(
        GUEST & !0xfff,
        PAGE_SIZE,
        Protection::READ_WRITE,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    Context::new(Cpu::new([].into()), mem)
}

/// What stands in the lanes of an operand.
#[derive(Clone, Copy, PartialEq)]
enum Lanes {
    Half,
    Single,
    Double,
    Integer,
}

/// The lanes that mean something to an opcode, most of the time.
fn lanes_of(code: Code, draw: &mut Operands) -> Lanes {
    let name = format!("{:?}", code.mnemonic()).to_lowercase();
    let any = [Lanes::Half, Lanes::Single, Lanes::Double, Lanes::Integer];
    let usual: &[Lanes] = if name.contains("cvt") {
        &any
    } else if name.ends_with("ps") || name.ends_with("ss") {
        &[Lanes::Single]
    } else if name.ends_with("pd") || name.ends_with("sd") {
        &[Lanes::Double]
    } else {
        &[Lanes::Integer]
    };
    let from = if draw.below(8) == 0 { &any } else { usual };
    from[draw.below(from.len() as u64) as usize]
}

fn integer_lane(draw: &mut Operands, width: u32) -> u64 {
    let top = 1u64 << (width - 1);
    let all = u64::MAX >> (64 - width);
    match draw.below(10) {
        0 => 0,
        1 => 1,
        2 => all,
        3 => top,
        4 => top - 1,
        5 => draw.below(70),
        6 => u64::from(b"aab\0z\x7f\x80\xff"[draw.below(8) as usize]),
        _ => draw.next() & all,
    }
}

/// Three vectors whose lanes have to do with each other: near in size, the third near the product of the others.
fn related(draw: &mut Operands, lanes: Lanes) -> [[u128; 2]; 3] {
    let mut vectors = [[0u128; 2]; 3];
    let width = match lanes {
        Lanes::Half => 16,
        Lanes::Single => 32,
        Lanes::Double => 64,
        Lanes::Integer => 8 << draw.below(4),
    };
    for bit in (0..256).step_by(width) {
        let values: [u64; 3] = match lanes {
            Lanes::Half => std::array::from_fn(|_| match draw.below(6) {
                0 => draw.below(4) << 15 | draw.below(2),
                1 => 0x7c00 | draw.next() & 0x83ff,
                2 => draw.next() & 0x83ff,
                _ => draw.next() & 0xffff,
            }),
            Lanes::Single => {
                let a = draw.f32();
                let b = draw.f32_near(a);
                let c = if draw.below(3) == 0 {
                    let product = f32::from_bits(a) * f32::from_bits(b);
                    let off = (draw.below(5) as u32).wrapping_sub(2);
                    (-product).to_bits().wrapping_add(off)
                } else {
                    draw.f32_near(b)
                };
                [a.into(), b.into(), c.into()]
            }
            Lanes::Double => {
                let a = draw.f64();
                let b = draw.f64_near(a);
                let c = if draw.below(3) == 0 {
                    let product = f64::from_bits(a) * f64::from_bits(b);
                    (-product)
                        .to_bits()
                        .wrapping_add(draw.below(5).wrapping_sub(2))
                } else {
                    draw.f64_near(b)
                };
                [a, b, c]
            }
            Lanes::Integer => std::array::from_fn(|_| integer_lane(draw, width as u32)),
        };
        let values = match draw.below(6) {
            0 => [values[1], values[2], values[0]],
            1 => [values[0], values[2], values[1]],
            2 => [values[0], values[0], values[2]],
            _ => values,
        };
        for (vector, value) in vectors.iter_mut().zip(values) {
            vector[bit / 128] |= u128::from(value) << (bit % 128);
        }
    }
    vectors
}

fn random_image(draw: &mut Operands, insn: &Instruction) -> Image {
    let mut image = Image([0; IMAGE]);
    let lanes = lanes_of(insn.code(), draw);
    let far = draw.next() as u8;
    for i in 0..16 {
        image.put_vector(VECTORS + 32 * i, [u128::from(far) << 8 | i as u128; 2]);
    }
    let [a, b, c] = related(draw, lanes);
    let [d, e, f] = related(draw, lanes);
    for (i, vector) in [
        (1, a),
        (2, b),
        (3, c),
        (9, b),
        (12, a),
        (0, d),
        (4, e),
        (5, f),
    ] {
        image.put_vector(VECTORS + 32 * i, vector);
    }
    for (i, vector) in [c, d, b, e].into_iter().enumerate() {
        image.put_vector(MEMORY + 32 * i, vector);
    }
    if draw.below(4) == 0 {
        // A shift count.
        let count = [u128::from(draw.below(70)), 0];
        for at in [MEMORY, MEMORY + 64, VECTORS + 32 * 3] {
            image.put_vector(at, count);
        }
    }
    if insn.is_vsib() {
        let width = if format!("{:?}", insn.code()).contains("_vm32") {
            32
        } else {
            64
        };
        let range = 64 / u64::from(insn.memory_index_scale());
        let mut index = [0u128; 2];
        for bit in (0..256).step_by(width) {
            // From -range to what leaves 8 bytes before the end.
            let below = 2 * range - 8 / u64::from(insn.memory_index_scale());
            let value = (draw.below(below + 1) as i64 - range as i64) as u64;
            let value = value & (u64::MAX >> (64 - width));
            index[bit / 128] |= u128::from(value) << (bit % 128);
        }
        image.put_vector(VECTORS + 32 * INDEX as usize, index);
    }
    for i in 0..4 {
        let shift = draw.below(64);
        let value = match draw.below(3) {
            0 => draw.next(),
            1 => (draw.next() as i64 >> shift) as u64,
            _ => draw.next() & 0x3f3f | draw.next() << 32,
        };
        image.put(GPRS + 8 * i, &value.to_le_bytes());
    }
    image.put(FLAGS, &(draw.next() & STATUS | 0x202).to_le_bytes());
    let mut mxcsr = draw.mxcsr();
    if draw.below(2) == 0 {
        mxcsr ^= (draw.next() as u32 & 0x3f) << 7;
    }
    if draw.below(8) == 0 {
        mxcsr |= draw.next() as u32 & 0x3f;
    }
    image.put(MXCSR, &mxcsr.to_le_bytes());
    image.put(RESET, &0x1f80u32.to_le_bytes());
    if insn.mnemonic() == Mnemonic::Vldmxcsr {
        for at in [MEMORY, MEMORY + 36, MEMORY + 64] {
            image.put(at, &draw.mxcsr().to_le_bytes());
        }
    }
    image
}

fn load_guest(cx: &mut Context, image: &Image) {
    for i in 0..16 {
        cx.cpu.vec[i as u8] = image.vector(i);
    }
    for (i, &number) in NUMBERS.iter().enumerate() {
        cx.cpu.gpr[number] = image.u64(GPRS + 8 * i);
    }
    cx.cpu.gpr[RDI] = GUEST;
    cx.cpu.flags.set_rflags(image.u64(FLAGS));
    cx.cpu.set_mxcsr(image.u32(MXCSR));
    cx.mem.copy_in(GUEST, &image.0[MEMORY..]).unwrap();
}

/// What differs between the guest and the image after the instruction.
fn difference(cx: &mut Context, image: &Image) -> Option<String> {
    for i in 0..16 {
        let (is, should) = (cx.cpu.vec[i as u8], image.vector(i));
        if is != should {
            return Some(format!("YMM{i} is {is:#x?}, should be {should:#x?}"));
        }
    }
    for (i, &number) in NUMBERS.iter().enumerate() {
        let (is, should) = (cx.cpu.gpr[number], image.u64(GPRS + 8 * i));
        if is != should {
            return Some(format!(
                "general register {number} is {is:#x}, should be {should:#x}"
            ));
        }
    }
    let (is, should) = (cx.cpu.flags.status(), image.u64(FLAGS) & STATUS);
    if is != should {
        return Some(format!("flags are {is:#x}, should be {should:#x}"));
    }
    let (is, should) = (cx.cpu.mxcsr(), image.u32(MXCSR));
    if is != should {
        return Some(format!("MXCSR is {is:#x}, should be {should:#x}"));
    }
    let mut memory = [0; MEMORY_LEN];
    cx.mem.copy_out(GUEST, &mut memory).unwrap();
    (memory != image.0[MEMORY..])
        .then(|| format!("memory is {memory:x?}, should be {:x?}", &image.0[MEMORY..]))
}

/// RCPxx and RSQRTxx, of which processors differ.
fn is_approximate(code: Code) -> bool {
    use Mnemonic::*;
    matches!(code.mnemonic(), Vrcpps | Vrcpss | Vrsqrtps | Vrsqrtss)
}

/// Compares at least 2000 runs of each selected opcode; gives how many opcodes those were.
fn compare_all(selected: impl Fn(Code) -> bool, cases: usize) {
    if !host_has_all() {
        return;
    }
    let mut stub = Stub::new();
    let mut cx = context();
    let (mut compared, mut wrong) = (0, Vec::new());
    for code in codes().filter(|&code| !is_approximate(code) && selected(code)) {
        let mut draw = Operands(code as u64);
        let immediate = code.op_code().op_kinds().contains(&OpCodeOperandKind::imm8);
        let last = if immediate { 255 } else { 0 };
        let shapes = instructions(code, 0).count();
        assert!(shapes > 0, "{code:?} was not built");
        let each = cases.div_ceil(shapes * (usize::from(last) + 1));
        let (mut done, mut different) = (0, None);
        'code: for imm in 0..=last {
            for insn in instructions(code, imm) {
                stub.load(insn);
                for _ in 0..each {
                    let before = random_image(&mut draw, &insn);
                    let mut after = before.clone();
                    stub.run(&mut after);
                    load_guest(&mut cx, &before);
                    let answer = execute(&mut cx, &insn);
                    let expected = if after.u64(FAULTED) != 0 {
                        Err(Fault::SimdFloat)
                    } else {
                        Ok(Flow::Next)
                    };
                    let found = if answer == expected {
                        difference(&mut cx, &after)
                    } else {
                        Some(format!("answer {answer:?}, should be {expected:?}"))
                    };
                    if let Some(found) = found {
                        let used: Vec<_> = [0, 1, 2, 3, 4, 5, 9, 12]
                            .iter()
                            .map(|&i| format!("YMM{i} {:#x?}", before.vector(i)))
                            .collect();
                        different = Some(format!(
                            "{insn} ({code:?} {imm:#x}) after {done}: {found}\nMXCSR {:#x} flags {:#x} general {:x?}\n{}\nmemory {:x?}",
                            before.u32(MXCSR),
                            before.u64(FLAGS),
                            [0, 1, 2, 3].map(|i| before.u64(GPRS + 8 * i)),
                            used.join("\n"),
                            &before.0[MEMORY..],
                        ));
                        break 'code;
                    }
                    done += 1;
                }
            }
        }
        wrong.extend(different.clone());
        assert!(
            different.is_some() || done >= 2000.min(cases),
            "{code:?}: {done} cases"
        );
        compared += 1;
    }
    assert!(compared > 0, "nothing was compared");
    let heads: Vec<_> = wrong.iter().filter_map(|w| w.split('\n').next()).collect();
    assert!(
        wrong.is_empty(),
        "{} of {compared} opcodes differ:\n{}\n\nthe first in full:\n{}",
        wrong.len(),
        heads.join("\n"),
        wrong[0]
    );
}

fn is_float(code: Code) -> bool {
    let name = format!("{:?}", code.mnemonic()).to_lowercase();
    let float = ["ps", "pd", "ss", "sd"]
        .iter()
        .any(|end| name.ends_with(end));
    float || name.contains("cvt")
}

fn is_text(code: Code) -> bool {
    format!("{:?}", code.mnemonic()).starts_with("Vpcmp") && {
        let name = format!("{:?}", code.mnemonic());
        name.contains("estr") || name.contains("istr")
    }
}

#[test]
fn integer_instructions_agree_with_the_host() {
    compare_all(|code| !is_float(code) && !is_text(code), 2048);
}

#[test]
fn floating_point_instructions_agree_with_the_host() {
    let fused = |code: Code| code.cpuid_features().contains(&CpuidFeature::FMA);
    compare_all(|code| is_float(code) && !fused(code), 4096);
}

#[test]
fn fused_instructions_agree_with_the_host() {
    compare_all(
        |code| code.cpuid_features().contains(&CpuidFeature::FMA),
        4096,
    );
}

#[test]
fn string_comparisons_agree_with_the_host_in_every_mode() {
    compare_all(is_text, 256 * 32);
}

/// Runs the memory form at an address, having checked that a fault changed nothing (but for gathers).
fn answer_at(code: Code, at: u64) -> Option<(Instruction, Result<Flow, Fault>)> {
    let insn = instructions(code, 0)
        .find(|i| (0..i.op_count()).any(|o| i.op_kind(o) == OpKind::Memory))?;
    let mut cx = context();
    let mut draw = Operands(code as u64);
    let mut image = random_image(&mut draw, &insn);
    image.put(MXCSR, &0x1f80u32.to_le_bytes());
    // All masks are set, and all indices zero.
    for i in [0, 2, 3] {
        image.put_vector(VECTORS + 32 * i, [u128::MAX; 2]);
    }
    image.put_vector(VECTORS + 32 * INDEX as usize, [0; 2]);
    load_guest(&mut cx, &image);
    cx.cpu.gpr[RDI] = at.wrapping_sub(insn.memory_displacement64());
    let before = cx.cpu.clone();
    let answer = execute(&mut cx, &insn);
    if answer != Ok(Flow::Next) {
        assert_eq!(cx.cpu.vec.0, before.vec.0, "{code:?}");
        assert_eq!(cx.cpu.gpr.0, before.gpr.0, "{code:?}");
        assert_eq!(cx.cpu.mxcsr(), before.mxcsr(), "{code:?}");
        assert_eq!(cx.cpu.flags.status(), before.flags.status(), "{code:?}");
    }
    Some((insn, answer))
}

#[test]
fn memory_faults_change_nothing() {
    let mut seen = 0;
    for code in codes() {
        let Some((insn, answer)) = answer_at(code, UNMAPPED) else {
            continue;
        };
        assert!(
            matches!(answer, Err(Fault::Page { addr: UNMAPPED, .. })),
            "{insn}: {answer:?}"
        );
        seen += 1;
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn operands_that_cross_into_a_page_that_is_not_there_change_nothing() {
    let end = (GUEST & !0xfff) + PAGE_SIZE;
    let mut seen = 0;
    for code in codes() {
        let size = code.op_code().memory_size().size() as u64;
        if size < 16 {
            continue;
        }
        let Some((insn, answer)) = answer_at(code, end - size / 2) else {
            continue;
        };
        if is_aligned(&insn) || insn.is_vsib() {
            continue;
        }
        // An element of a masked move, or either half, may straddle the end.
        let fault = matches!(answer, Err(Fault::Page { addr, .. }) if addr == end || addr == end - size / 2);
        assert!(fault, "{insn}: {answer:?}");
        seen += 1;
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn only_the_aligned_moves_and_legacy_forms_demand_alignment() {
    let (mut strict, mut lax) = (0, 0);
    for code in codes() {
        let Some((insn, answer)) = answer_at(code, GUEST + 8) else {
            continue;
        };
        if is_aligned(&insn) {
            assert_eq!(answer, Err(Fault::GeneralProtection), "{insn}");
            strict += 1;
        } else {
            assert!(
                matches!(answer, Ok(Flow::Next) | Err(Fault::SimdFloat)),
                "{insn}: {answer:?}"
            );
            lax += 1;
        }
    }
    assert!(strict > 20 && lax > 300, "{strict} {lax}");
}

#[test]
fn recorded_accesses_are_those_that_the_encoding_promises() {
    let mut cx = context();
    cx.mem.set_recording(true);
    let mut seen = 0;
    for code in codes() {
        let mut draw = Operands(code as u64);
        for insn in instructions(code, 0) {
            let Some(promised) = fixed_access_count(&insn) else {
                assert!(
                    insn.is_vsib() || format!("{:?}", insn.mnemonic()).contains("mask"),
                    "{insn} ends its block"
                );
                continue;
            };
            let mut image = random_image(&mut draw, &insn);
            image.put(MXCSR, &0x1f80u32.to_le_bytes());
            load_guest(&mut cx, &image);
            cx.mem.clear_accesses();
            assert_eq!(execute(&mut cx, &insn), Ok(Flow::Next), "{insn}");
            let made = cx.mem.accesses().len();
            assert_eq!(usize::from(promised), made, "{insn}");
            seen += made;
        }
    }
    assert!(seen > 1000, "{seen}");
}

#[test]
fn a_gather_that_faults_has_done_the_elements_before() {
    let mut cx = context();
    let insn = instructions(Code::VEX_Vpgatherqq_ymm_vm64y_ymm, 0)
        .next()
        .unwrap();
    let image = random_image(&mut Operands(1), &insn);
    load_guest(&mut cx, &image);
    let [to, mask] = [0, 2].map(|i| insn.op_register(i).number() as u8);
    let (at, scale) = (64u64, u64::from(insn.memory_index_scale()));
    let far = (UNMAPPED - GUEST - at) / scale;
    // The first element is left out, the second is there, the third is not.
    cx.cpu.vec[INDEX as u8] = [0, u128::from(far)];
    cx.cpu.vec[mask] = [u128::MAX << 64, u128::MAX];
    cx.cpu.vec[to] = [7, 9];
    let answer = execute(&mut cx, &insn);
    assert!(
        matches!(answer, Err(Fault::Page { addr: UNMAPPED, .. })),
        "{answer:?}"
    );
    let loaded = u128::from(cx.mem.read::<u64>(GUEST + at).unwrap());
    assert_eq!(cx.cpu.vec[to], [7 | loaded << 64, 9]);
    assert_eq!(cx.cpu.vec[mask], [0, u128::MAX]);
    // With two registers the same it is no instruction.
    let mut twice = insn;
    twice.set_op2_register(insn.op0_register());
    assert_eq!(execute(&mut cx, &twice), Err(Fault::InvalidOpcode));
}

#[test]
fn approximations_are_those_of_the_legacy_forms() {
    let mut cx = context();
    let mut draw = Operands(5);
    let mut seen = 0;
    for (vex, legacy) in [
        (Code::VEX_Vrcpps_ymm_ymmm256, Code::Rcpps_xmm_xmmm128),
        (Code::VEX_Vrcpps_xmm_xmmm128, Code::Rcpps_xmm_xmmm128),
        (Code::VEX_Vrsqrtps_ymm_ymmm256, Code::Rsqrtps_xmm_xmmm128),
        (Code::VEX_Vrsqrtps_xmm_xmmm128, Code::Rsqrtps_xmm_xmmm128),
        (Code::VEX_Vrcpss_xmm_xmm_xmmm32, Code::Rcpss_xmm_xmmm32),
        (Code::VEX_Vrsqrtss_xmm_xmm_xmmm32, Code::Rsqrtss_xmm_xmmm32),
    ] {
        let insn = build(vex, registers([1, 2, 3, 0]), 0).unwrap();
        let old = build(legacy, registers([1, 2, 3, 0]), 0).unwrap();
        for _ in 0..500 {
            let image = random_image(&mut draw, &insn);
            load_guest(&mut cx, &image);
            assert_eq!(execute(&mut cx, &insn), Ok(Flow::Next));
            let is = cx.cpu.vec[1];
            let wide = insn.op0_register().is_ymm();
            let scalar = insn.op_count() == 3;
            let (second, third) = (image.vector(2), image.vector(3));
            let mut should = [0; 2];
            for half in 0..1 + usize::from(wide) {
                // The scalar form takes its upper lanes from the second operand, which a legacy destination holds.
                let source = if scalar { third[half] } else { second[half] };
                cx.cpu.vec[1] = [second[half], 0];
                cx.cpu.vec[2] = [source, 0];
                assert_eq!(execute(&mut cx, &old), Ok(Flow::Next));
                should[half] = cx.cpu.vec[1][0];
            }
            assert_eq!(is, should, "{insn}");
            seen += 1;
        }
    }
    assert_eq!(seen, 3000);
}

#[test]
fn bit_fields_agree_with_the_host_at_length() {
    let fields = [Mnemonic::Bextr, Mnemonic::Bzhi, Mnemonic::Blsi];
    compare_all(|code| fields.contains(&code.mnemonic()), 20_000);
}
