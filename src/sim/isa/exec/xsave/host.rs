//! XSAVE, XSAVEC, XSAVEOPT and XRSTOR against the host processor.
#![expect(
    unsafe_code,
    reason = "the oracle is the host processor, whose registers are loaded and stored by assembly"
)]
use super::{AVX_AT, HEADER_AT, MXCSR_AT, XCR0, execute};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::host::Operands;
use crate::sim::isa::state::{Cpu, RAX, RDX, RSI};
use crate::sim::memory::{Backing, Memory, PAGE_SIZE, Protection, Purpose};
use iced_x86::{Code, Instruction, MemoryOperand, Register};

const AT: u64 = 0x10_0000;
const SIZE: usize = 832;

#[repr(C, align(64))]
#[derive(Clone, PartialEq)]
struct Area([u8; SIZE]);

impl Area {
    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.0[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    fn header(&self) -> u64 {
        let at = HEADER_AT as usize;
        u64::from_le_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }
}

/// Restores from one area and saves to another.
macro_rules! on_host {
    ($restore:literal, $save:literal, $from:expr, $to:expr, $restored:expr, $saved:expr) => {{
        let reset = 0x1f80u32;
        // SAFETY: the areas are aligned and large enough for the components asked for; every register that XRSTOR
        // loads is a clobber, and MXCSR and the x87 control word are set back.
        unsafe {
            std::arch::asm!(
                $restore,
                "mov eax, {saved:e}",
                $save,
                "fninit",
                "ldmxcsr [{reset}]",
                "vzeroupper",
                saved = in(reg) $saved,
                reset = in(reg) &raw const reset,
                in("rdi") $from.0.as_ptr(),
                in("rsi") $to.0.as_mut_ptr(),
                inout("eax") $restored => _,
                in("edx") 0,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack)
            );
        }
    }};
}

fn random_area(draw: &mut Operands) -> Area {
    let mut area = Area([0; SIZE]);
    // x87: all exceptions masked, none pending; some registers in use.
    area.put(0, &(0x37f | (draw.next() as u16 & 0xc00)).to_le_bytes());
    area.put(2, &(draw.next() as u16 & 0x7f00).to_le_bytes());
    area.put(4, &[draw.next() as u8]);
    for i in 0..8 {
        let low = draw.next() | 1 << 63;
        area.put(32 + 16 * i, &low.to_le_bytes());
        area.put(40 + 16 * i, &(draw.next() as u16).to_le_bytes());
    }
    area.put(MXCSR_AT, &draw.mxcsr().to_le_bytes());
    for i in (160..416).chain(AVX_AT..SIZE as u64).step_by(8) {
        area.put(i, &draw.next().to_le_bytes());
    }
    let present = draw.next() & 7;
    area.put(HEADER_AT, &present.to_le_bytes());
    if draw.below(2) == 0 {
        let held = present | draw.next() & 7 | 1 << 63;
        area.put(HEADER_AT + 8, &held.to_le_bytes());
    }
    area
}

#[test]
fn areas_are_those_of_the_host() {
    if !std::is_x86_feature_detected!("xsavec") || !std::is_x86_feature_detected!("xsaveopt") {
        #[expect(clippy::print_stdout, reason = "a skipped test says so")]
        {
            println!("skipped: this processor lacks XSAVEC or XSAVEOPT");
        }
        return;
    }
    let mut mem = Memory::new(1 << 20);
    mem.map(
        AT,
        PAGE_SIZE,
        Protection::READ_WRITE,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    let mut cx = Context::new(Cpu::new([].into()), mem);
    let mut draw = Operands(77);
    let run = |code: Code, base: Register, cx: &mut Context| {
        let insn =
            Instruction::with1(code, MemoryOperand::with_base(base)).expect("a memory operand");
        assert_eq!(execute(cx, &insn), Some(Ok(Flow::Next)), "{code:?}");
    };
    for case in 0..4000 {
        let from = random_area(&mut draw);
        let (restored, saved) = (7u32, draw.next() as u32 & 7);
        // What is not written shows.
        let mut blank = Area([0x5a; SIZE]);
        blank.put(HEADER_AT, &[0; 64]);
        let on_the_host = || {
            let mut host = blank.clone();
            let code = match case % 4 {
                0 => {
                    on_host!(
                        "xrstor64 [rdi]",
                        "xsave64 [rsi]",
                        from,
                        host,
                        restored,
                        saved
                    );
                    Code::Xsave64_mem
                }
                1 => {
                    on_host!(
                        "xrstor64 [rdi]",
                        "xsavec64 [rsi]",
                        from,
                        host,
                        restored,
                        saved
                    );
                    Code::Xsavec64_mem
                }
                2 => {
                    on_host!(
                        "xrstor64 [rdi]",
                        "xsaveopt64 [rsi]",
                        from,
                        host,
                        restored,
                        saved
                    );
                    Code::Xsaveopt64_mem
                }
                _ => {
                    on_host!("xrstor [rdi]", "xsave [rsi]", from, host, restored, saved);
                    Code::Xsave_mem
                }
            };
            (code, host)
        };
        let (code, mut host) = on_the_host();
        cx.mem.copy_in(AT, &from.0).expect("mapped");
        cx.mem.copy_in(AT + 1024, &blank.0).expect("mapped");
        cx.cpu.gpr[crate::sim::isa::state::RDI] = AT;
        cx.cpu.gpr[RSI] = AT + 1024;
        cx.cpu.gpr[RDX] = 0;
        cx.cpu.gpr[RAX] = u64::from(restored);
        let restore = if case % 4 == 3 {
            Code::Xrstor_mem
        } else {
            Code::Xrstor64_mem
        };
        run(restore, Register::RDI, &mut cx);
        cx.cpu.gpr[RAX] = u64::from(saved);
        run(code, Register::RSI, &mut cx);
        let mut ours = Area([0; SIZE]);
        cx.mem.copy_out(AT + 1024, &mut ours.0).expect("mapped");
        // The host once said that a component just restored to its first state was in use. A switch to another process
        // between the two instructions would explain it, so the host is asked again; an answer that stays counts.
        for _ in 0..3 {
            if ours.0 != host.0 {
                host = on_the_host().1;
            }
        }
        let at = (0..SIZE).find(|&i| ours.0[i] != host.0[i]);
        assert_eq!(
            at,
            None,
            "case {case}, {code:?} of {saved:#x}, header {:#x}, of the host {:#x}, from {:#x}: {:x?}, should be {:x?}",
            ours.header(),
            host.header(),
            from.header(),
            at.map(|at| &ours.0[at..(at + 16).min(SIZE)]),
            at.map(|at| &host.0[at..(at + 16).min(SIZE)]),
        );
    }
    assert_eq!(XCR0, 7);
}
