//! The microbenchmarks of caches, memory, queues of loads and stores, and branch predictors.
use super::Microbenchmark;
use super::list::{Made, nothing};
use iced_x86::code_asm::*;

/// Loads from one address after the other, each needing the one before. The value is always 0.
fn chase(a: &mut CodeAssembler, addresses: impl IntoIterator<Item = u32>) -> Made {
    for address in addresses {
        a.mov(rax, ptr(rdi + rax + address))?;
    }
    Ok(())
}

/// A ring of lines at a distance of 2^`shift` bytes.
fn ring(a: &mut CodeAssembler, lines: u32, shift: u32) -> Made {
    chase(a, (0..lines).map(|i| i << shift))
}

/// Lines of one set, of which the first comes again before the last: which are kept depends on the replacement.
fn again(a: &mut CodeAssembler, shift: u32) -> Made {
    chase(a, [0, 1, 2, 0, 3, 4].map(|i| i << shift))
}

fn writes(a: &mut CodeAssembler, lines: u32, shift: u32) -> Made {
    for i in 0..lines {
        a.mov(ptr(rdi + (i << shift)), rax)?;
    }
    Ok(())
}

/// RBX points to the data.
fn start(a: &mut CodeAssembler) -> Made {
    a.mov(rbx, rdi)
}

/// RBX walks through 2^`bits` bytes in steps of `step`, from iteration to iteration.
fn walk(a: &mut CodeAssembler, step: i32, bits: u32) -> Made {
    a.add(rsi, step)?;
    a.and(rsi, (1i32 << bits) - 1)?;
    a.lea(rbx, ptr(rdi + rsi))
}

/// Loads at once, whose values the next ones need. RAX is always 0.
fn together(a: &mut CodeAssembler, addresses: &[u32]) -> Made {
    const TO: [AsmRegister64; 5] = [r8, r9, r10, r11, r12];
    for (to, &address) in TO.into_iter().zip(addresses) {
        a.mov(to, ptr(rbx + rax + address))?;
    }
    for (to, _) in TO.into_iter().zip(addresses) {
        a.or(rax, to)?;
    }
    Ok(())
}

/// Bytes that are jumped over.
fn fill(a: &mut CodeAssembler, bytes: usize) -> Made {
    for _ in 0..bytes {
        a.nop()?;
    }
    Ok(())
}

/// Jumps by `bytes` from the start of each to the start of the next.
fn jump_ahead(a: &mut CodeAssembler, jumps: usize, bytes: usize) -> Made {
    // A jump of up to 127 bytes is encoded in two, a farther one in five.
    let jump = if bytes <= 129 { 2 } else { 5 };
    for _ in 0..jumps {
        let mut next = a.create_label();
        a.jmp(next)?;
        fill(a, bytes - jump)?;
        a.set_label(&mut next)?;
    }
    a.nop()
}

/// A jump to A where a bit of the counter is set, else to B, sixteen bytes behind A. `branched`: behind a branch on bit 0
/// and one that is always taken.
fn indirect(a: &mut CodeAssembler, bit: i32, branched: bool) -> Made {
    let mut labels = [(); 4].map(|()| a.create_label());
    let [first, second, over, next] = &mut labels;
    a.lea(rcx, ptr(*first))?;
    a.lea(rbx, ptr(*second))?;
    a.test(r15d, bit)?;
    a.cmovz(rcx, rbx)?;
    if branched {
        a.test(r15d, 1)?;
        a.jz(*over)?;
        a.nop()?;
        a.set_label(over)?;
        a.jmp(*next)?;
        a.nop()?;
        a.set_label(next)?;
    }
    a.jmp(rcx)?;
    a.set_label(first)?;
    fill(a, 16)?;
    a.set_label(second)?;
    a.nop()
}

pub(super) const MEMORY: &[Microbenchmark] = &[
    Microbenchmark {
        name: "load_l1",
        feature: "four loads of one line, each needs the one before",
        setup: nothing,
        body: |a| chase(a, [0; 4]),
    },
    Microbenchmark {
        name: "loads",
        feature: "four loads of one line that need nothing",
        setup: nothing,
        body: |a| {
            for r in [rax, rbx, rcx, rdx] {
                a.mov(r, ptr(rdi))?;
            }
            Ok(())
        },
    },
    Microbenchmark {
        name: "load_l2",
        feature: "a ring of four lines, 256 bytes apart",
        setup: nothing,
        body: |a| ring(a, 4, 8),
    },
    Microbenchmark {
        name: "load_l3",
        feature: "a ring of eight lines, 512 bytes apart",
        setup: nothing,
        body: |a| ring(a, 8, 9),
    },
    Microbenchmark {
        name: "ring_5",
        feature: "a ring of five lines, 2 KiB apart",
        setup: nothing,
        body: |a| ring(a, 5, 11),
    },
    Microbenchmark {
        name: "again_l1",
        feature: "lines 0 1 2 0 3 4, 256 bytes apart",
        setup: nothing,
        body: |a| again(a, 8),
    },
    Microbenchmark {
        name: "again_l2",
        feature: "lines 0 1 2 0 3 4, 512 bytes apart",
        setup: nothing,
        body: |a| again(a, 9),
    },
    Microbenchmark {
        name: "again_l3",
        feature: "lines 0 1 2 0 3 4, 2048 bytes apart",
        setup: nothing,
        body: |a| again(a, 11),
    },
    Microbenchmark {
        name: "load_rows",
        feature: "lines of 16 KiB in sequence, each load needs the one before",
        setup: start,
        body: |a| {
            a.mov(rax, ptr(rbx + rax))?;
            walk(a, 64, 14)
        },
    },
    Microbenchmark {
        name: "load_banks",
        feature: "eight rows of one bank in turn, each load needs the one before",
        setup: start,
        body: |a| {
            a.mov(rax, ptr(rbx + rax))?;
            walk(a, 32 << 10, 18)
        },
    },
    Microbenchmark {
        name: "sequence",
        feature: "lines of 1 KiB in sequence, each load needs the one before",
        setup: start,
        body: |a| {
            a.mov(rax, ptr(rbx + rax))?;
            walk(a, 64, 10)
        },
    },
    Microbenchmark {
        name: "sequence_l3",
        feature: "lines of 4 KiB in sequence, each load needs the one before",
        setup: start,
        body: |a| {
            a.mov(rax, ptr(rbx + rax))?;
            walk(a, 64, 12)
        },
    },
    Microbenchmark {
        name: "two_lines",
        feature: "two lines of a row at once, then the next",
        setup: start,
        body: |a| {
            together(a, &[0, 64])?;
            walk(a, 128, 14)
        },
    },
    Microbenchmark {
        name: "two_groups",
        feature: "rows of two banks of different groups at once, then the next",
        setup: start,
        body: |a| {
            together(a, &[0, 1024])?;
            walk(a, 32768, 18)
        },
    },
    Microbenchmark {
        name: "two_banks",
        feature: "rows of two banks of one group at once, then the next",
        setup: start,
        body: |a| {
            together(a, &[0, 4096])?;
            walk(a, 32768, 18)
        },
    },
    Microbenchmark {
        name: "two_ranks",
        feature: "rows of two ranks at once, then the next",
        setup: start,
        body: |a| {
            together(a, &[0, 16384])?;
            walk(a, 32768, 18)
        },
    },
    Microbenchmark {
        name: "five_banks",
        feature: "rows of five banks at once, then the next",
        setup: start,
        body: |a| {
            together(a, &[0, 1024, 2048, 3072, 8192])?;
            walk(a, 32768, 18)
        },
    },
    Microbenchmark {
        name: "join",
        feature: "three times three words of a line at once",
        setup: nothing,
        body: |a| {
            for line in [0, 256, 512] {
                a.mov(r8, ptr(rdi + rax + line))?;
                a.mov(r9, ptr(rdi + rax + (line + 8)))?;
                a.mov(r10, ptr(rdi + rax + (line + 16)))?;
                for r in [r8, r9, r10] {
                    a.or(rax, r)?;
                }
            }
            Ok(())
        },
    },
    Microbenchmark {
        name: "crossing",
        feature: "four loads over the end of a line, each needs the one before",
        setup: nothing,
        body: |a| chase(a, [60; 4]),
    },
    Microbenchmark {
        name: "store_load",
        feature: "a load of what has just been stored",
        setup: nothing,
        body: |a| {
            a.mov(ptr(rdi), rax)?;
            a.mov(rax, ptr(rdi))
        },
    },
    Microbenchmark {
        name: "store_part",
        feature: "a load of which the latest store wrote only a part",
        setup: nothing,
        body: |a| {
            a.mov(dword_ptr(rdi), eax)?;
            a.mov(rax, ptr(rdi))
        },
    },
    Microbenchmark {
        name: "late_store",
        feature: "a store whose address comes late, and a load of it",
        setup: nothing,
        body: |a| {
            a.imul_3(rax, rdi, 0)?;
            a.mov(ptr(rdi + rax), rbx)?;
            a.mov(rcx, ptr(rdi))
        },
    },
    Microbenchmark {
        name: "innocent",
        feature: "the same, and a load of another line that the next address waits for",
        setup: nothing,
        body: |a| {
            a.imul_3(rax, rbx, 0)?;
            a.mov(ptr(rdi + rax), rcx)?;
            a.mov(rdx, ptr(rdi))?;
            a.nop()?;
            a.mov(rbx, ptr(rdi + 64))
        },
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
    },
    Microbenchmark {
        name: "dirty_l2",
        feature: "a ring of eight written lines, 512 bytes apart",
        setup: nothing,
        body: |a| writes(a, 8, 9),
    },
    Microbenchmark {
        name: "dirty_l3",
        feature: "a ring of eight written lines, 2 KiB apart",
        setup: nothing,
        body: |a| writes(a, 8, 11),
    },
    Microbenchmark {
        name: "dirty_rows",
        feature: "a ring of eight written lines of one bank",
        setup: nothing,
        body: |a| writes(a, 8, 15),
    },
    Microbenchmark {
        name: "pages",
        feature: "a ring of eight lines, each sixteen pages and a line behind the one before",
        setup: nothing,
        body: |a| chase(a, (0..8).map(|i| i * (16 * 4096 + 64))),
    },
    Microbenchmark {
        name: "kept_above",
        feature: "a line between each two of five others, 512 bytes apart",
        setup: nothing,
        body: |a| chase(a, (2..12).map(|i| if i % 2 == 0 { 0 } else { i / 2 * 512 })),
    },
    Microbenchmark {
        name: "code_again",
        feature: "calls of functions 0 1 2 0 3 4, 256 bytes apart",
        setup: nothing,
        body: |a| {
            let mut labels = [(); 5].map(|()| a.create_label());
            for i in [0, 1, 2, 0, 3, 4] {
                a.call(labels[i])?;
            }
            let mut over = a.create_label();
            a.jmp(over)?;
            // Six calls of five bytes and the jump to behind the functions, which is one of five.
            fill(a, 256 - 6 * 5 - 5)?;
            for label in &mut labels {
                a.set_label(label)?;
                a.ret()?;
                fill(a, 255)?;
            }
            a.set_label(&mut over)?;
            a.nop()
        },
    },
    Microbenchmark {
        name: "lines",
        feature: "a jump to the next line, 32 times",
        setup: nothing,
        body: |a| jump_ahead(a, 32, 64),
    },
    Microbenchmark {
        name: "lines_of_set",
        feature: "a jump 512 bytes ahead, three times",
        setup: nothing,
        body: |a| jump_ahead(a, 3, 512),
    },
    Microbenchmark {
        name: "code_pages",
        feature: "a jump 4160 bytes ahead",
        setup: nothing,
        body: |a| jump_ahead(a, 1, 4160),
    },
    Microbenchmark {
        name: "alternate",
        feature: "a branch that is taken every other time",
        setup: nothing,
        body: |a| {
            let mut over = a.create_label();
            a.test(r15d, 1)?;
            a.jz(over)?;
            a.nop()?;
            a.set_label(&mut over)?;
            a.nop()
        },
    },
    Microbenchmark {
        name: "one_in_12",
        feature: "a branch that is not taken every twelfth time",
        setup: |a| a.mov(ebx, 12),
        body: |a| {
            let mut over = a.create_label();
            a.xor(eax, eax)?;
            a.dec(ebx)?;
            a.jnz(over)?;
            a.mov(ebx, 12)?;
            a.set_label(&mut over)?;
            a.nop()
        },
    },
    Microbenchmark {
        name: "inner_loop",
        feature: "a loop of 60 rounds",
        setup: nothing,
        body: |a| {
            let mut round = a.create_label();
            a.mov(ebx, 60)?;
            a.set_label(&mut round)?;
            a.dec(ebx)?;
            a.jnz(round)
        },
    },
    Microbenchmark {
        name: "two_branches",
        feature: "two taken branches 128 bytes apart",
        setup: |a| a.xor(eax, eax),
        body: |a| {
            let (mut over, mut ahead, mut end) =
                (a.create_label(), a.create_label(), a.create_label());
            a.test(eax, eax)?;
            a.jz(over)?;
            a.nop()?;
            a.set_label(&mut over)?;
            a.jmp(ahead)?;
            // The first branch is the third byte.
            fill(a, 128 + 2 - 7)?;
            a.set_label(&mut ahead)?;
            a.jz(end)?;
            a.nop()?;
            a.set_label(&mut end)?;
            a.nop()
        },
    },
    Microbenchmark {
        name: "calls",
        feature: "a call in a call in a call",
        setup: nothing,
        body: |a| {
            let mut labels = [(); 4].map(|()| a.create_label());
            let [first, second, third, over] = &mut labels;
            a.jmp(*over)?;
            a.set_label(first)?;
            a.call(*second)?;
            a.ret()?;
            a.set_label(second)?;
            a.call(*third)?;
            a.ret()?;
            a.set_label(third)?;
            a.ret()?;
            a.set_label(over)?;
            a.call(*first)
        },
    },
    Microbenchmark {
        name: "targets_ab",
        feature: "an indirect jump to A B A B",
        setup: nothing,
        body: |a| indirect(a, 1, false),
    },
    Microbenchmark {
        name: "targets_aabb",
        feature: "an indirect jump to A A B B",
        setup: nothing,
        body: |a| indirect(a, 2, false),
    },
    Microbenchmark {
        name: "targets_behind",
        feature: "an indirect jump to A A B B, two branches behind one that tells which",
        setup: nothing,
        body: |a| indirect(a, 2, true),
    },
    Microbenchmark {
        name: "two_indirect",
        feature: "two indirect jumps, each to its own target",
        setup: nothing,
        body: |a| {
            for _ in 0..2 {
                let mut target = a.create_label();
                a.lea(rax, ptr(target))?;
                a.jmp(rax)?;
                // The second jump is 61 bytes behind the first.
                fill(a, 61 - 7 - 2 - 1)?;
                a.set_label(&mut target)?;
                a.nop()?;
            }
            Ok(())
        },
    },
];
