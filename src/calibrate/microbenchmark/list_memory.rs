//! The microbenchmarks of caches, memory, queues of loads and stores, and branch predictors.
use super::list::{Made, nothing};
use super::Microbenchmark;
use iced_x86::code_asm::*;

/// Loads from one address after the other, each needing the one before. The value is always 0.
fn chase(a: &mut CodeAssembler, addresses: impl IntoIterator<Item = u32>) -> Made {
    for address in addresses {
        a.mov(rax, ptr(rdi + rax + address))?;
    }
    Ok(())
}

/// Loads that need nothing.
fn loads(a: &mut CodeAssembler, addresses: impl IntoIterator<Item = u32>) -> Made {
    for address in addresses {
        a.mov(rax, ptr(rdi + address))?;
    }
    Ok(())
}

/// RBX walks through 2^`bits` bytes in steps of `step`, from iteration to iteration.
fn walk(a: &mut CodeAssembler, step: i32, bits: u32) -> Made {
    a.add(rbx, step)?;
    a.and(rbx, (1i32 << bits) - 1)
}

pub(super) const MEMORY: &[Microbenchmark] = &[
    Microbenchmark {
        name: "load_l1",
        feature: "four loads of one line, each needing the one before",
        setup: nothing,
        body: |a| chase(a, [0; 4]),
        expected: &[],
    },
    Microbenchmark {
        name: "load_l2",
        feature: "a ring of four lines of one set of L1: each comes from L2",
        setup: nothing,
        body: |a| chase(a, (0..4).map(|i| i << 8)),
        expected: &[],
    },
    Microbenchmark {
        name: "load_l3",
        feature: "a ring of eight lines of one set of L2: each comes from L3",
        setup: nothing,
        body: |a| chase(a, (0..8).map(|i| i << 9)),
        expected: &[],
    },
    Microbenchmark {
        name: "load_rows",
        feature: "lines of 16 KiB in sequence: each comes from memory",
        setup: nothing,
        body: |a| {
            a.mov(rax, ptr(rdi + rbx + rax))?;
            walk(a, 64, 14)
        },
        expected: &[],
    },
    Microbenchmark {
        name: "load_banks",
        feature: "a ring of eight rows of one bank: each load finds another row open",
        setup: nothing,
        body: |a| {
            a.mov(rax, ptr(rdi + rbx + rax))?;
            walk(a, 32 << 10, 18)
        },
        expected: &[],
    },
    Microbenchmark {
        name: "store_load",
        feature: "a load of what has just been stored",
        setup: nothing,
        body: |a| {
            a.mov(ptr(rdi), rax)?;
            a.mov(rax, ptr(rdi))
        },
        expected: &[],
    },
    Microbenchmark {
        name: "store_partial",
        feature: "a load of which the latest store wrote only a part",
        setup: nothing,
        body: |a| {
            a.mov(dword_ptr(rdi), eax)?;
            a.mov(rax, ptr(rdi))
        },
        expected: &[],
    },
    Microbenchmark {
        name: "stores",
        feature: "eight stores to one line",
        setup: nothing,
        body: |a| {
            for i in 0..8 {
                a.mov(ptr(rdi + 8 * i), rax)?;
            }
            Ok(())
        },
        expected: &[],
    },
];
