//! Every instruction of the family against the host processor: registers, flags, MXCSR and #XM, in stubs that are
//! assembled at run time.
#![expect(
    unsafe_code,
    reason = "the oracle is the host processor, which runs assembled stubs and may raise SIGFPE in them"
)]
use super::execute;
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::host::Operands;
use crate::sim::isa::state::{Cpu, RAX, RCX, RDI};
use crate::sim::memory::{AccessKind, Backing, Fault, Memory, PAGE_SIZE, Protection, Purpose};
use iced_x86::{
    Code, EncodingKind, IcedError, Instruction, MemoryOperand, Mnemonic, OpCodeOperandKind,
    Register,
};
use std::ffi::c_void;

/// Runs of each form of each instruction.
const CASES: u32 = 1500;
/// Where the state lies in the guest; the memory operand is `xmm1` in it.
const AT: u64 = 0x10_0000;

/// What a stub loads and stores; [`AT`] + 16 in the guest is `xmm1`.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    xmm0: u128,
    xmm1: u128,
    mm0: u64,
    mm1: u64,
    rax: u64,
    rcx: u64,
    mxcsr: u32,
    reset: u32,
    flags: u64,
    faulted: u64,
}

type Stub = unsafe extern "sysv64" fn(*mut State);

/// Executable memory, filled once.
struct Stubs {
    base: *mut u8,
    used: usize,
}

impl Stubs {
    const SIZE: usize = 1 << 20;

    fn new() -> Self {
        // SAFETY: a fresh anonymous mapping, whose address is not chosen by us.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Self::SIZE,
                libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED);
        Self {
            base: base.cast(),
            used: 0,
        }
    }

    /// Assembles a stub around an instruction: loads the state, runs it, stores the state.
    fn add(&mut self, insn: Instruction) -> Stub {
        // SAFETY: the mapping is private to this struct and large enough (checked).
        unsafe {
            let at = self.base.add(self.used);
            let code = Self::assemble(insn, at as u64).expect("the operands fit the instructions");
            self.used += code.len().next_multiple_of(16);
            assert!(self.used <= Self::SIZE);
            at.copy_from_nonoverlapping(code.as_ptr(), code.len());
            std::mem::transmute::<*mut u8, Stub>(at)
        }
    }

    fn assemble(insn: Instruction, at: u64) -> Result<Vec<u8>, IcedError> {
        use iced_x86::code_asm::{
            CodeAssembler, mm0, mm1, ptr, r10, r10d, r11, rax, rcx, rdi, rdx, xmm0, xmm1,
        };
        let mut a = CodeAssembler::new(64)?;
        let mut after = a.create_label();
        a.movups(xmm0, ptr(rdi))?;
        a.movups(xmm1, ptr(rdi + 16))?;
        a.movq(mm0, ptr(rdi + 32))?;
        a.movq(mm1, ptr(rdi + 40))?;
        a.mov(rax, ptr(rdi + 48))?;
        a.mov(rcx, ptr(rdi + 56))?;
        a.ldmxcsr(ptr(rdi + 64))?;
        // The handler of SIGFPE goes on at R11 and sets R10.
        a.lea(r11, ptr(after))?;
        a.mov(r10d, 0)?;
        a.add_instruction(insn)?;
        a.set_label(&mut after)?;
        a.pushfq()?;
        a.pop(rdx)?;
        a.mov(ptr(rdi + 72), rdx)?;
        a.stmxcsr(ptr(rdi + 64))?;
        a.ldmxcsr(ptr(rdi + 68))?;
        a.movups(ptr(rdi), xmm0)?;
        a.movups(ptr(rdi + 16), xmm1)?;
        a.movq(ptr(rdi + 32), mm0)?;
        a.movq(ptr(rdi + 40), mm1)?;
        a.mov(ptr(rdi + 48), rax)?;
        a.mov(ptr(rdi + 56), rcx)?;
        a.mov(ptr(rdi + 80), r10)?;
        a.emms()?;
        a.ret()?;
        a.assemble(at)
    }
}

impl Drop for Stubs {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; no stub outlives the test that owns this.
        unsafe { libc::munmap(self.base.cast(), Self::SIZE) };
    }
}

extern "C" fn resume(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid context; only stubs of this file raise SIGFPE in this test process.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RIP as usize] = registers[libc::REG_R11 as usize];
    registers[libc::REG_R10 as usize] = 1;
}

fn catch_exceptions() {
    // SAFETY: a handler that only changes registers of its context.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = resume as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(
            libc::sigaction(libc::SIGFPE, &action, std::ptr::null_mut()),
            0
        );
    }
}

/// The instruction with its first operand in XMM0, MM0 or RAX, its second in XMM1, MM1, RCX or memory; `None` for
/// codes with other operands.
fn instruction(code: Code, immediate: u8, memory: bool) -> Option<Instruction> {
    use OpCodeOperandKind as Kind;
    let info = code.op_code();
    if info.encoding() != EncodingKind::Legacy || info.op_count() < 2 {
        return None;
    }
    let first = match info.op0_kind() {
        Kind::xmm_reg => Register::XMM0,
        Kind::mm_reg => Register::MM0,
        Kind::r32_reg => Register::EAX,
        Kind::r64_reg => Register::RAX,
        _ => return None,
    };
    let second = match info.op1_kind() {
        Kind::xmm_or_mem => Register::XMM1,
        Kind::mm_or_mem => Register::MM1,
        Kind::r32_or_mem => Register::ECX,
        Kind::r64_or_mem => Register::RCX,
        _ => return None,
    };
    let at = MemoryOperand::with_base_displ(Register::RDI, 16);
    match (info.op_count(), info.op2_kind(), memory) {
        (2, _, false) => Instruction::with2(code, first, second).ok(),
        (2, _, true) => Instruction::with2(code, first, at).ok(),
        (3, Kind::imm8, false) => {
            Instruction::with3(code, first, second, u32::from(immediate)).ok()
        }
        (3, Kind::imm8, true) => Instruction::with3(code, first, at, u32::from(immediate)).ok(),
        _ => None,
    }
}

fn context() -> Context {
    let mut mem = Memory::new(1 << 20);
    mem.map(
        AT,
        PAGE_SIZE,
        Protection::READ_WRITE,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    Context::new(Cpu::new([].into()), mem)
}

/// Runs the instruction in the simulator, on and into the same state as a stub.
fn simulate(
    cx: &mut Context,
    insn: &Instruction,
    state: &mut State,
) -> Option<Result<Flow, Fault>> {
    cx.cpu.set_xmm(0, state.xmm0);
    cx.cpu.set_xmm(1, state.xmm1);
    cx.cpu.x87.registers[0].significand = state.mm0;
    cx.cpu.x87.registers[1].significand = state.mm1;
    cx.cpu.gpr[RAX] = state.rax;
    cx.cpu.gpr[RCX] = state.rcx;
    cx.cpu.gpr[RDI] = AT;
    cx.cpu.set_mxcsr(state.mxcsr);
    cx.mem
        .write(AT + 16, state.xmm1)
        .expect("the page is mapped");
    let answer = execute(cx, insn);
    state.xmm0 = cx.cpu.xmm(0);
    state.xmm1 = cx.cpu.xmm(1);
    state.mm0 = cx.cpu.x87.registers[0].significand;
    state.mm1 = cx.cpu.x87.registers[1].significand;
    state.rax = cx.cpu.gpr[RAX];
    state.rcx = cx.cpu.gpr[RCX];
    state.mxcsr = cx.cpu.mxcsr();
    state.flags = cx.cpu.flags.status();
    state.faulted = u64::from(answer == Some(Err(Fault::SimdFloat)));
    answer
}

/// Two XMM registers whose lanes are numbers of one format, or integers.
fn operands(draw: &mut Operands) -> (u128, u128) {
    let mut a = 0;
    let mut b = 0;
    match draw.below(5) {
        0 | 1 => {
            for i in 0..4 {
                let x = draw.f32();
                a |= u128::from(x) << (32 * i);
                b |= u128::from(draw.f32_near(x)) << (32 * i);
            }
        }
        2 | 3 => {
            for i in 0..2 {
                let x = draw.f64();
                a |= u128::from(x) << (64 * i);
                b |= u128::from(draw.f64_near(x)) << (64 * i);
            }
        }
        _ => {
            for i in 0..4 {
                let shift = draw.below(32);
                a |= u128::from(draw.next() as u32) << (32 * i);
                b |= u128::from((draw.next() as i32 >> shift) as u32) << (32 * i);
            }
        }
    }
    (a, b)
}

/// The codes of this family that have two operands.
fn family() -> Vec<Code> {
    let mut cx = context();
    Code::values()
        .filter(|code| {
            instruction(*code, 0, false).is_some_and(|insn| execute(&mut cx, &insn).is_some())
        })
        .collect()
}

#[test]
fn every_instruction_does_what_the_host_does() {
    catch_exceptions();
    let approximate = [
        Mnemonic::Rcpps,
        Mnemonic::Rcpss,
        Mnemonic::Rsqrtps,
        Mnemonic::Rsqrtss,
    ];
    let compares = [
        Mnemonic::Comiss,
        Mnemonic::Comisd,
        Mnemonic::Ucomiss,
        Mnemonic::Ucomisd,
    ];
    let mut draw = Operands(11);
    let mut stubs = Stubs::new();
    let mut cx = context();
    let family = family();
    assert_eq!(family.len(), 80);
    for code in family {
        if approximate.contains(&code.mnemonic()) {
            continue;
        }
        let mut faults = 0;
        // Where there is an immediate it changes eight times, so that its bits take many values over the instructions.
        let immediates = code.op_code().op_count() == 3;
        for form in 0..if immediates { 32 } else { 2 } {
            let memory = form % 2 == 1;
            let immediate = if immediates && code.op_code().op_code() == 0xc2 {
                form / 2 % 8
            } else {
                draw.next() as u8
            };
            let insn = instruction(code, immediate, memory).expect("it is in the family");
            let stub = stubs.add(insn);
            for i in 0..CASES / if immediates { 8 } else { 1 } {
                let (xmm0, xmm1) = operands(&mut draw);
                let shift = draw.below(64);
                let mut ours = State {
                    xmm0,
                    xmm1,
                    mm0: draw.next(),
                    mm1: xmm1 as u64,
                    rax: draw.next(),
                    rcx: (draw.next() as i64 >> shift) as u64,
                    // In half of the cases some exceptions are unmasked; their flags may already be up.
                    mxcsr: draw.mxcsr()
                        ^ if i % 2 == 0 {
                            (draw.next() as u32 & 0x3f) << 7
                        } else {
                            0
                        },
                    reset: 0x1f80,
                    ..State::default()
                };
                if i % 8 == 0 {
                    ours.mxcsr |= draw.next() as u32 & 0x3f;
                }
                let before = ours;
                let mut host = ours;
                // SAFETY: the stub touches only `host` and registers that the call may change.
                unsafe { stub(&mut host) };
                let answer = simulate(&mut cx, &insn, &mut ours).expect("it is in the family");
                let is_compare = compares.contains(&code.mnemonic()) && host.faulted == 0;
                host.flags = if is_compare {
                    host.flags & crate::sim::isa::flags::STATUS
                } else {
                    ours.flags
                };
                assert_eq!(
                    ours, host,
                    "{insn} ({code:?} {immediate:#x}): ours, host; before: {before:x?}"
                );
                assert!(
                    answer == Ok(Flow::Next) || answer == Err(Fault::SimdFloat),
                    "{answer:?}"
                );
                faults += host.faulted;
            }
        }
        let exact = [
            Code::Cvtdq2pd_xmm_xmmm64,
            Code::Cvtpi2pd_xmm_mmm64,
            Code::Cvtsi2sd_xmm_rm32,
        ];
        assert_eq!(
            faults == 0,
            exact.contains(&code),
            "{code:?} raised #XM {faults} times"
        );
    }
}

#[test]
fn packed_memory_operands_must_be_aligned_and_others_need_not_be() {
    let mut cx = context();
    for code in family() {
        let mut insn = instruction(code, 0, true).expect("it is in the family");
        let size = insn.memory_size().size();
        insn.set_memory_displacement64(17);
        let answer = simulate(
            &mut cx,
            &insn,
            &mut State {
                mxcsr: 0x1f80,
                ..State::default()
            },
        );
        let expected = if size == 16 {
            Err(Fault::GeneralProtection)
        } else {
            Ok(Flow::Next)
        };
        assert_eq!(answer, Some(expected), "{code:?}");
        // Beyond the page.
        insn.set_memory_displacement64(PAGE_SIZE + 32);
        let answer = simulate(
            &mut cx,
            &insn,
            &mut State {
                mxcsr: 0x1f80,
                ..State::default()
            },
        );
        let missing = matches!(
            answer,
            Some(Err(Fault::Page {
                kind: AccessKind::Read,
                mapped: false,
                ..
            }))
        );
        assert!(missing, "{code:?} {answer:?}");
    }
}

#[test]
fn other_encodings_are_left_to_others() {
    let mut cx = context();
    for code in Code::values().filter(|c| c.op_code().encoding() != EncodingKind::Legacy) {
        let mut insn = Instruction::default();
        insn.set_code(code);
        assert_eq!(execute(&mut cx, &insn), None, "{code:?}");
    }
}

#[test]
fn mxcsr_is_loaded_and_stored_and_its_reserved_bits_are_refused() {
    let mut cx = context();
    let at = MemoryOperand::with_base_displ(Register::RDI, 16);
    let load = Instruction::with1(Code::Ldmxcsr_m32, at).expect("a memory operand");
    let store = Instruction::with1(Code::Stmxcsr_m32, at).expect("a memory operand");
    let mut state = State {
        xmm1: 0x1fa0,
        mxcsr: 0x1f80,
        ..State::default()
    };
    assert_eq!(simulate(&mut cx, &load, &mut state), Some(Ok(Flow::Next)));
    assert_eq!((state.mxcsr, cx.cpu.fp_fast), (0x1fa0, true));
    state.xmm1 = 0x1_1f80;
    assert_eq!(
        simulate(&mut cx, &load, &mut state),
        Some(Err(Fault::GeneralProtection))
    );
    assert_eq!(state.mxcsr, 0x1fa0);
    state.mxcsr = 0x9fc5;
    state.xmm1 = u128::MAX;
    assert_eq!(simulate(&mut cx, &store, &mut state), Some(Ok(Flow::Next)));
    assert_eq!(cx.mem.read::<u64>(AT + 16), Ok(0xffff_ffff_0000_9fc5));
}

#[test]
fn conversions_with_mmx_registers_enter_the_mmx_state() {
    let mut cx = context();
    let mut state = State {
        mxcsr: 0x1f80,
        ..State::default()
    };
    for (code, memory, enters) in [
        (Code::Cvtpi2ps_xmm_mmm64, false, true),
        (Code::Cvtpi2ps_xmm_mmm64, true, false),
        (Code::Cvtpi2pd_xmm_mmm64, false, true),
        (Code::Cvtpi2pd_xmm_mmm64, true, false),
        (Code::Cvtps2pi_mm_xmmm64, true, true),
        (Code::Cvttpd2pi_mm_xmmm128, false, true),
    ] {
        cx.cpu.x87 = Default::default();
        cx.cpu.x87.top = 5;
        let insn = instruction(code, 0, memory).expect("it is in the family");
        assert_eq!(simulate(&mut cx, &insn, &mut state), Some(Ok(Flow::Next)));
        let x87 = &cx.cpu.x87;
        assert_eq!(
            (x87.top, x87.valid),
            if enters { (0, 0xff) } else { (5, 0) },
            "{code:?}"
        );
        let writes = insn.op_register(0) == Register::MM0;
        assert_eq!(
            x87.registers[0].sign_exponent,
            if writes { 0xffff } else { 0 },
            "{code:?}"
        );
        // An unmasked x87 exception is still pending.
        cx.cpu.x87.control = 0x37e;
        cx.cpu.x87.status = 0x81;
        let answer = simulate(&mut cx, &insn, &mut state);
        assert_eq!(
            answer == Some(Err(Fault::X87Float)),
            enters,
            "{code:?} {answer:?}"
        );
    }
}
