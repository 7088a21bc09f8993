//! The microbenchmarks of core and front end; those of caches and memory stand in `list_memory`.
use super::{Microbenchmark, list_memory};
use iced_x86::IcedError;
use iced_x86::code_asm::*;
use std::sync::OnceLock;

/// Every microbenchmark.
pub fn all() -> &'static [Microbenchmark] {
    static ALL: OnceLock<Vec<Microbenchmark>> = OnceLock::new();
    ALL.get_or_init(|| [CORE, list_memory::MEMORY].concat())
}

pub(super) type Made = Result<(), IcedError>;

pub(super) fn nothing(_: &mut CodeAssembler) -> Made {
    Ok(())
}

fn nops(a: &mut CodeAssembler, count: usize) -> Made {
    for _ in 0..count {
        a.nop()?;
    }
    Ok(())
}

const TWELVE: [AsmRegister64; 12] = [rax, rbx, rcx, rdx, rsi, r8, r9, r10, r11, r12, r13, r14];
const EIGHT: [AsmRegister64; 8] = [rbx, rcx, rdx, rsi, r8, r9, r10, r11];

/// A return over the next instruction for which there was no call.
fn stray_return(a: &mut CodeAssembler) -> Made {
    let mut behind = a.create_label();
    a.lea(rax, ptr(behind))?;
    a.push(rax)?;
    a.ret()?;
    a.nop()?;
    a.set_label(&mut behind)?;
    a.nop()
}

/// XMM0 and XMM1 hold 1.
fn ones(a: &mut CodeAssembler) -> Made {
    a.mov(eax, 1)?;
    a.cvtsi2sd(xmm0, eax)?;
    a.cvtsi2sd(xmm1, eax)
}

const CORE: &[Microbenchmark] = &[
    Microbenchmark {
        name: "add_chain",
        feature: "sixteen additions, each needs the one before",
        setup: nothing,
        body: |a| {
            for _ in 0..16 {
                a.add(rax, rbx)?;
            }
            Ok(())
        },
    },
    Microbenchmark {
        name: "nops",
        feature: "sixteen instructions that need nothing",
        setup: nothing,
        body: |a| nops(a, 16),
    },
    Microbenchmark {
        name: "nops_12",
        feature: "a loop of 17 bytes",
        setup: nothing,
        body: |a| nops(a, 12),
    },
    Microbenchmark {
        name: "add_indep",
        feature: "twelve additions to registers of their own",
        setup: nothing,
        body: |a| {
            for r in TWELVE {
                a.add(r, rdi)?;
            }
            Ok(())
        },
    },
    Microbenchmark {
        name: "imul_chain",
        feature: "four multiplications, each needs the one before",
        setup: nothing,
        body: |a| {
            for _ in 0..4 {
                a.imul_2(rax, rax)?;
            }
            Ok(())
        },
    },
    Microbenchmark {
        name: "div_indep",
        feature: "a divide of 32 bits",
        setup: nothing,
        body: |a| {
            a.xor(edx, edx)?;
            a.mov(eax, 1)?;
            a.mov(ecx, 1)?;
            a.div(ecx)
        },
    },
    Microbenchmark {
        name: "div_64",
        feature: "a divide of 64 bits",
        setup: nothing,
        body: |a| {
            a.xor(edx, edx)?;
            a.mov(eax, 1)?;
            a.mov(ecx, 1)?;
            a.div(rcx)
        },
    },
    Microbenchmark {
        name: "float_divide",
        feature: "a division of the lower half of a vector register",
        setup: ones,
        body: |a| a.divsd(xmm0, xmm1),
    },
    Microbenchmark {
        name: "float_sqrt",
        feature: "a square root",
        setup: ones,
        body: |a| a.sqrtsd(xmm0, xmm0),
    },
    Microbenchmark {
        name: "sine",
        feature: "an x87 transcendental",
        setup: |a| a.fldz(),
        body: |a| a.fsin(),
    },
    Microbenchmark {
        name: "window",
        feature: "a multiplication and 24 NOPs: as many micro-ops as the window of test-tiny holds",
        setup: nothing,
        body: |a| {
            a.imul_3(rax, rdi, 1)?;
            nops(a, 24)
        },
    },
    Microbenchmark {
        name: "moves_return",
        feature: "eight moves, and a return that was never called",
        setup: nothing,
        body: |a| {
            for r in EIGHT {
                a.mov(r, rdi)?;
            }
            stray_return(a)
        },
    },
    Microbenchmark {
        name: "compares_return",
        feature: "eight comparisons, and a return that was never called",
        setup: nothing,
        body: |a| {
            for r in EIGHT {
                a.cmp(r, rdi)?;
            }
            stray_return(a)
        },
    },
    Microbenchmark {
        name: "vectors_return",
        feature: "six vector moves, and a return that was never called",
        setup: nothing,
        body: |a| {
            for x in [xmm2, xmm3, xmm4, xmm5, xmm6, xmm7] {
                a.movaps(x, xmm1)?;
            }
            stray_return(a)
        },
    },
    Microbenchmark {
        name: "stray_return",
        feature: "a return that was never called: mispredicted each time",
        setup: nothing,
        body: stray_return,
    },
    Microbenchmark {
        name: "late_return",
        feature: "the same behind two multiplications: the wrong path fills the window",
        setup: nothing,
        body: |a| {
            let mut behind = a.create_label();
            a.lea(rax, ptr(behind))?;
            a.imul_3(rbx, rdi, 0)?;
            a.imul_2(rbx, rbx)?;
            a.add(rax, rbx)?;
            a.push(rax)?;
            a.ret()?;
            a.nop()?;
            a.set_label(&mut behind)?;
            a.nop()
        },
    },
    Microbenchmark {
        name: "jumps",
        feature: "four jumps over a NOP: each ends its cycle of fetch",
        setup: nothing,
        body: |a| {
            for _ in 0..4 {
                let mut next = a.create_label();
                a.jmp(next)?;
                a.nop()?;
                a.set_label(&mut next)?;
            }
            a.nop()
        },
    },
    Microbenchmark {
        name: "system_call",
        feature: "getpid",
        setup: nothing,
        body: |a| {
            a.mov(eax, 39)?;
            a.syscall()
        },
    },
    Microbenchmark {
        name: "cpuid",
        feature: "an instruction that serialises",
        setup: nothing,
        body: |a| {
            a.xor(eax, eax)?;
            a.cpuid()
        },
    },
    Microbenchmark {
        name: "fence",
        feature: "a load behind a fence behind a store",
        setup: nothing,
        body: |a| {
            a.mov(ptr(rdi), rax)?;
            a.mfence()?;
            a.mov(rbx, ptr(rdi + 8))
        },
    },
    Microbenchmark {
        name: "profile",
        feature: "sixteen more dependent additions where CPUID shows SSE4.2",
        setup: |a| {
            a.mov(eax, 1)?;
            a.cpuid()?;
            a.and(ecx, 1 << 20)?;
            a.mov(r14d, ecx)
        },
        body: |a| {
            let mut without = a.create_label();
            a.test(r14d, r14d)?;
            a.jz(without)?;
            for _ in 0..16 {
                a.add(rax, rdi)?;
            }
            a.set_label(&mut without)?;
            for _ in 0..16 {
                a.add(rax, rdi)?;
            }
            Ok(())
        },
    },
    Microbenchmark {
        name: "rep_stos",
        feature: "microcode that stores eight times eight bytes",
        setup: nothing,
        body: |a| {
            a.mov(ecx, 8)?;
            a.mov(rdi, super::DATA)?;
            a.rep().stosq()
        },
    },
];
