//! The microbenchmarks of core and front end; those of caches and memory stand in `list_memory`.
use super::{Expected, Microbenchmark, list_memory};
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

/// The chain that keeps a branch waiting: each multiplication needs the one before.
fn multiply_chain(a: &mut CodeAssembler, count: usize) -> Made {
    for _ in 0..count {
        a.imul_2(rax, rax)?;
    }
    Ok(())
}

const CORE: &[Microbenchmark] = &[
    Microbenchmark {
        name: "add_chain",
        feature: "each addition needs the one before",
        setup: nothing,
        body: |a| {
            for _ in 0..16 {
                a.add(rax, rbx)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "nops",
        feature: "sixteen instructions that need nothing",
        setup: nothing,
        body: |a| nops(a, 16),
        expected: &[],
    },
    Microbenchmark {
        name: "nops_12",
        feature: "a loop of 17 bytes",
        setup: nothing,
        body: |a| nops(a, 12),
        expected: &[],
    },
    Microbenchmark {
        name: "add_indep",
        feature: "twelve additions to registers of their own",
        setup: nothing,
        body: |a| {
            for r in [rax, rbx, rcx, rdx, rsi, r8, r9, r10, r11, r12, r13, r14] {
                a.add(r, rdi)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "imul_chain",
        feature: "each multiplication needs the one before",
        setup: nothing,
        body: |a| multiply_chain(a, 8),
        expected: &[],
    },
    Microbenchmark {
        name: "imul_indep",
        feature: "eight multiplications to registers of their own: one unit, pipelined",
        setup: nothing,
        body: |a| {
            for r in [rax, rbx, rcx, rdx, rsi, r8, r9, r10] {
                a.imul_2(r, rdi)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "fdiv_indep",
        feature: "four x87 divisions in a chain of one register: one unit, not pipelined",
        setup: |a| {
            a.fld1()?;
            a.fld1()
        },
        body: |a| {
            for _ in 0..4 {
                a.fdiv_2(st0, st1)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "sqrt_window",
        feature: "a square root and 27 NOPs: as many roots at once as the window has room for",
        setup: nothing,
        body: |a| {
            a.sqrtsd(xmm0, xmm1)?;
            nops(a, 27)
        },
        expected: &[],
    },
    Microbenchmark {
        name: "sqrt_integers",
        feature: "a square root and 12 additions that write registers",
        setup: nothing,
        body: |a| {
            a.sqrtsd(xmm0, xmm1)?;
            for r in [rax, rbx, rcx, rdx, rsi, r8, r9, r10, r11, r12, r13, r14] {
                a.add(r, rdi)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "sqrt_moves",
        feature: "a square root and 12 moves without flags",
        setup: nothing,
        body: |a| {
            a.sqrtsd(xmm0, xmm1)?;
            for r in [rax, rbx, rcx, rdx, rsi, r8, r9, r10, r11, r12, r13, r14] {
                a.mov(r, rdi)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "sqrt_floats",
        feature: "a square root and four vector moves",
        setup: nothing,
        body: |a| {
            a.sqrtsd(xmm0, xmm1)?;
            for x in [xmm2, xmm3, xmm4, xmm5] {
                a.movaps(x, xmm1)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "sqrt_waiters",
        feature: "a square root and 15 additions that wait for it in the scheduler",
        setup: nothing,
        body: |a| {
            a.sqrtsd(xmm0, xmm1)?;
            a.movq(rax, xmm0)?;
            for r in [rbx, rcx, rdx, rsi, r8, r9, r10, r11, r12, r13, r14] {
                a.lea(r, ptr(rax))?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "sqrt_loads",
        feature: "a square root and four loads that leave the queue behind it",
        setup: nothing,
        body: |a| {
            a.sqrtsd(xmm0, xmm1)?;
            for r in [rax, rbx, rcx, rdx] {
                a.mov(r, ptr(rdi))?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "sqrt_stores",
        feature: "a square root and four stores that leave the queue behind it",
        setup: nothing,
        body: |a| {
            a.sqrtsd(xmm0, xmm1)?;
            for i in 0..4 {
                a.mov(ptr(rdi + 8 * i), rax)?;
            }
            Ok(())
        },
        expected: &[],
    },
    Microbenchmark {
        name: "mispredicted_return",
        feature: "a return that was never called: mispredicted each time",
        setup: nothing,
        body: |a| {
            let mut behind = a.create_label();
            a.lea(rax, ptr(behind))?;
            a.push(rax)?;
            a.ret()?;
            a.set_label(&mut behind)?;
            a.nop()
        },
        expected: &[],
    },
    Microbenchmark {
        name: "late_return",
        feature: "the same behind twelve multiplications: the wrong path fills the window",
        setup: nothing,
        body: |a| {
            let mut behind = a.create_label();
            a.lea(rax, ptr(behind))?;
            for _ in 0..12 {
                a.imul_2(rbx, rbx)?;
            }
            a.and(rbx, 0)?;
            a.add(rax, rbx)?;
            a.push(rax)?;
            a.ret()?;
            a.set_label(&mut behind)?;
            a.nop()
        },
        expected: &[],
    },
    Microbenchmark {
        name: "jumps",
        feature: "four jumps to the next instruction: each ends its cycle of fetch",
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
        expected: &[],
    },
    Microbenchmark {
        name: "system_call",
        feature: "getpid",
        setup: nothing,
        body: |a| {
            a.mov(eax, 39)?;
            a.syscall()
        },
        expected: &[],
    },
    Microbenchmark {
        name: "cpuid",
        feature: "an instruction that serialises",
        setup: nothing,
        body: |a| {
            a.xor(eax, eax)?;
            a.cpuid()
        },
        expected: &[],
    },
    Microbenchmark {
        name: "fence",
        feature: "loads and stores wait for all before",
        setup: nothing,
        body: |a| {
            a.mov(ptr(rdi), rax)?;
            a.mfence()?;
            a.mov(rbx, ptr(rdi + 8))
        },
        expected: &[],
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
        expected: &[],
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
        expected: &[],
    },
];

pub(super) const fn on(machine: &'static str, cycles: u64, arithmetic: &'static str) -> Expected {
    Expected {
        machine,
        cycles,
        iterations: 1,
        arithmetic,
    }
}
