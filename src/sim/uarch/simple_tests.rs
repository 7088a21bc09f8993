//! Exact cycles of `simple` on the machine `test-tiny-in-order`, with the arithmetic; and runs cut anywhere cost the same.
//!
//! test-tiny-in-order: lines of 16 bytes. L1I and L1D: 2 sets of 2 ways (set = bit 4 of the address). L2: 4 sets of 4 ways (bits 4
//! and 5). A first-level miss costs 10 cycles if L2 has the line and 100 if not; a misprediction 7; every micro-op 1.
use super::*;
use crate::sim::machine::{Core, catalog};
use crate::sim::uarch::atomic::Atomic;
use crate::sim::uarch::test_block::{decode, retired};

const CODE: u64 = 0x1000;
const LOAD: &[u8] = &[0x48, 0x8b, 0x07]; // mov rax,[rdi]
const STORE: &[u8] = &[0x48, 0x89, 0x07]; // mov [rdi],rax
const NOP: &[u8] = &[0x90];

fn tiny() -> Simple {
    let Core::InOrder(core) = catalog::machine("test-tiny-in-order").unwrap().core else {
        panic!("test-tiny is in order");
    };
    Simple::new(&core)
}

fn load(addr: u64) -> Access {
    Access {
        addr,
        size: 8,
        store: false,
    }
}

fn store(addr: u64) -> Access {
    Access {
        addr,
        size: 8,
        store: true,
    }
}

/// Retires the whole block and returns the cycles that it took.
fn run(core: &mut Simple, block: &Block, accesses: &[Access], next: u64) -> u64 {
    let before = core.cycles;
    let count = block.before.len() - 1;
    core.retire(block, retired(0, count, accesses, 0, next));
    core.cycles - before
}

fn counter(core: &Simple, name: &str) -> u64 {
    let mut parts = BTreeMap::new();
    core.report(&mut parts);
    parts[name]
}

/// A core whose only block, at [`CODE`], has been fetched, so that what follows is the data alone.
fn warm(bytes: &[u8]) -> (Simple, Block) {
    let mut core = tiny();
    let block = core.prepare(&decode(CODE, bytes));
    core.fetch(CODE >> 4);
    core.cycles = 0;
    (core, block)
}

#[test]
fn a_load_waits_for_the_level_that_has_the_line() {
    let mut core = tiny();
    let block = core.prepare(&decode(CODE, LOAD));
    let next = CODE + 3;
    // 1 micro-op + 100 code from memory + 100 data from memory.
    assert_eq!(run(&mut core, &block, &[load(0x2000)], next), 201);
    // The line is the current one, and L1D has the data.
    assert_eq!(run(&mut core, &block, &[load(0x2008)], next), 1);
    // Two more lines of set 0 push 0x2000 out of L1D; L2 keeps it (its set 0 holds 0x1000, 0x2000 and 0x2040).
    assert_eq!(run(&mut core, &block, &[load(0x2020)], next), 101);
    assert_eq!(run(&mut core, &block, &[load(0x2040)], next), 101);
    assert_eq!(run(&mut core, &block, &[load(0x2000)], next), 11);
    assert_eq!(core.cycles(), Some(201 + 1 + 101 + 101 + 11));
    let counts = [
        "l1i.accesses",
        "l1i.misses",
        "l1d.accesses",
        "l1d.misses",
        "l2.accesses",
        "l2.misses",
    ]
    .map(|name| counter(&core, name));
    // L2: one code line and four data misses, of which all but the last missed there too.
    assert_eq!(counts, [1, 1, 5, 4, 5, 4]);
}

#[test]
fn a_full_set_of_l2_forgets_the_line_used_longest_ago() {
    let (mut core, block) = warm(LOAD);
    // Set 0 of L2 (multiples of 0x40) holds the code line 0x1000 and then four data lines: the fifth pushes out the code.
    for addr in [0x2000, 0x2040, 0x2080, 0x20c0] {
        assert_eq!(run(&mut core, &block, &[load(addr)], CODE + 3), 101);
    }
    // L1I still has the code: it does not follow L2 (the levels are neither inclusive nor exclusive).
    assert!(core.l1i.touch(CODE >> 4));
    assert!(!core.l2.touch(CODE >> 4));
}

#[test]
fn lru_keeps_the_line_that_was_used_again() {
    let (mut core, block) = warm(LOAD);
    // Set 0 of L1D: A B A C A B. C pushes out B, not A, which was used since; the last B comes from L2.
    let cycles = [0x2000, 0x2020, 0x2000, 0x2040, 0x2000, 0x2020]
        .map(|addr| run(&mut core, &block, &[load(addr)], CODE + 3));
    assert_eq!(cycles, [101, 101, 1, 101, 1, 11]);
}

#[test]
fn a_store_allocates_its_line_and_does_not_wait() {
    let (mut core, block) = warm(&[STORE, LOAD].concat());
    // 2 micro-ops; the store misses without waiting, the load finds the line.
    assert_eq!(
        run(&mut core, &block, &[store(0x2000), load(0x2008)], CODE + 6),
        2
    );
    assert_eq!(counter(&core, "l1d.misses"), 1);
    assert_eq!((counter(&core, "loads"), counter(&core, "stores")), (1, 1));
}

#[test]
fn an_access_that_crosses_a_line_touches_both() {
    let (mut core, block) = warm(LOAD);
    // 8 bytes at 0x200c lie in 0x2000 and 0x2010: 1 + 100 + 100.
    assert_eq!(run(&mut core, &block, &[load(0x200c)], CODE + 3), 201);
    assert_eq!(counter(&core, "l1d.accesses"), 2);
    // Both are there now; an access that ends with the line does not cross.
    assert_eq!(run(&mut core, &block, &[load(0x200c)], CODE + 3), 1);
    assert_eq!(run(&mut core, &block, &[load(0x2008)], CODE + 3), 1);
    assert_eq!(counter(&core, "l1d.accesses"), 5);
    // 64 bytes at 0x2004 lie in five lines, of which three are new.
    let wide = Access {
        size: 64,
        ..load(0x2004)
    };
    assert_eq!(run(&mut core, &block, &[wide], CODE + 3), 301);
}

#[test]
fn code_is_fetched_once_for_each_entry_to_a_line() {
    let mut core = tiny();
    // 15 NOPs and a load whose three bytes straddle 0x1010: 16 micro-ops + 2 x 100 code + 100 data.
    let block = core.prepare(&decode(CODE, &[NOP.repeat(15).as_slice(), LOAD].concat()));
    assert_eq!(run(&mut core, &block, &[load(0x2000)], CODE), 316);
    assert_eq!(counter(&core, "l1i.accesses"), 2);
    // Again from the top: both lines are entered again, and L1I has them.
    assert_eq!(run(&mut core, &block, &[load(0x2000)], CODE), 16);
    assert_eq!(counter(&core, "l1i.accesses"), 4);
}

#[test]
fn accesses_of_an_instruction_that_faulted_do_not_count() {
    let (mut core, block) = warm(&[LOAD, STORE].concat());
    // The store faults behind the load, after its address was recorded.
    core.retire(
        &block,
        retired(0, 1, &[load(0x2000), store(0x5000)], 0, CODE + 3),
    );
    assert_eq!(
        (core.cycles(), counter(&core, "l1d.accesses")),
        (Some(101), 1)
    );
}

#[test]
fn an_instruction_is_fetched_before_its_data_and_after_the_data_of_those_before() {
    let mut core = tiny();
    // A load at 0x1000 and, on the next line, another: L2 sees code, data, code, data. All four lines are of set 1 of L2
    // but the first; the order of use in it tells.
    let block = core.prepare(&decode(
        CODE,
        &[LOAD, NOP.repeat(13).as_slice(), LOAD].concat(),
    ));
    run(&mut core, &block, &[load(0x2010), load(0x2050)], CODE + 19);
    // Set 1 holds 0x2010, 0x1010, 0x2050, the oldest first. Two more lines push out exactly 0x2010.
    core.l2.touch(0x3010 >> 4);
    core.l2.touch(0x3050 >> 4);
    assert!(!core.l2.clone().touch(0x2010 >> 4));
    assert!(core.l2.clone().touch(0x1010 >> 4) && core.l2.clone().touch(0x2050 >> 4));
}

#[test]
fn a_loop_pays_for_the_warm_up_of_its_branch_and_for_its_end() {
    let mut core = tiny();
    let block = core.prepare(&decode(CODE, &[0x48, 0xff, 0xc9, 0x75, 0xfb])); // dec rcx; jnz 0x1000
    for i in 1..=10 {
        run(&mut core, &block, &[], if i < 10 { CODE } else { CODE + 5 });
    }
    // 10 x 2 micro-ops + 100 code + 7 x (histories 00, 01 and 11, and the end).
    assert_eq!(core.cycles(), Some(20 + 100 + 28));
    assert_eq!(counter(&core, "branch.mispredictions"), 4);
    assert_eq!(counter(&core, "branch.executed"), 10);
}

#[test]
fn returns_are_predicted_as_deep_as_the_stack() {
    let mut core = tiny();
    let call = core.prepare(&decode(0x1000, &[0xe8, 0x0b, 0, 0, 0])); // call 0x1010
    let again = core.prepare(&decode(0x1010, &[0xe8, 0xfb, 0xff, 0xff, 0xff])); // call 0x1010
    let ret = core.prepare(&decode(0x1015, &[0xc3]));
    // 2 micro-ops (store, branch) + 100 code; the store does not wait.
    assert_eq!(run(&mut core, &call, &[store(0x3008)], 0x1010), 102);
    assert_eq!(run(&mut core, &again, &[store(0x3000)], 0x1010), 102);
    assert_eq!(run(&mut core, &again, &[store(0x2ff8)], 0x1010), 2);
    // Two returns to 0x1015 are known: 2 micro-ops (load, branch), the stack is in L1D.
    assert_eq!(run(&mut core, &ret, &[load(0x2ff8)], 0x1015), 2);
    assert_eq!(run(&mut core, &ret, &[load(0x3000)], 0x1015), 2);
    // The third call pushed the first one out: 2 + 7.
    assert_eq!(run(&mut core, &ret, &[load(0x3008)], 0x1005), 9);
}

#[test]
fn indirect_branches_are_predicted_to_go_where_they_went() {
    let (mut core, jump) = warm(&[0xff, 0xe0]); // jmp rax
    let cycles = [0x1100, 0x1100, 0x1200].map(|target| run(&mut core, &jump, &[], target));
    assert_eq!(cycles, [8, 1, 8]);
    let (mut core, call) = warm(&[0xff, 0xd0]); // call rax
    let cycles = [0x1100, 0x1100].map(|target| run(&mut core, &call, &[store(0x3000)], target));
    assert_eq!(cycles, [9, 2]);
    let ret = core.prepare(&decode(0x1004, &[0xc3]));
    assert_eq!(
        run(&mut core, &ret, &[load(0x3000)], 0x1002),
        2,
        "the indirect call pushed its return address"
    );
}

#[test]
fn divides_hold_the_core() {
    for (bytes, cycles) in [
        (&[0xf7, 0xf1][..], 20),         // div ecx
        (&[0x48, 0xf7, 0xf9], 40),       // idiv rcx
        (&[0xf2, 0x0f, 0x5e, 0xc1], 10), // divsd xmm0,xmm1
        (&[0xf2, 0x0f, 0x51, 0xc1], 15), // sqrtsd xmm0,xmm1
        (&[0xd9, 0xfe], 100),            // fsin
        (&[0x48, 0x0f, 0xaf, 0xc1], 1),  // imul rax,rcx
    ] {
        let (mut core, block) = warm(bytes);
        // A divide of integers records its work, which takes no time here.
        let work = [Access {
            addr: 3,
            size: 0,
            store: false,
        }];
        let accesses = if bytes[0] == 0xf7 || bytes[1] == 0xf7 {
            &work[..]
        } else {
            &[]
        };
        assert_eq!(
            run(&mut core, &block, accesses, CODE),
            cycles,
            "{bytes:02x?}"
        );
    }
}

#[test]
fn a_repeat_costs_its_iterations_wherever_it_is_interrupted() {
    // rep movsb that straddles a line: 15 NOPs, f3 at 0x100f, a4 at 0x1010.
    let bytes = [NOP.repeat(15).as_slice(), &[0xf3, 0xa4]].concat();
    let mut whole = tiny();
    let block = whole.prepare(&decode(CODE, &bytes));
    let accesses: Vec<Access> = (0..4)
        .flat_map(|i| [load(0x2000 + i), store(0x3000 + i)].map(|a| Access { size: 1, ..a }))
        .collect();
    whole.retire(&block, retired(0, 16, &accesses, 4, CODE + 17));
    // 15 + 1 micro-ops, 4 x 2 for the iterations, 2 x 100 code, 100 data (the store does not wait).
    assert_eq!(whole.cycles(), Some(16 + 8 + 200 + 100));
    let mut parts = tiny();
    parts.retire(&block, retired(0, 15, &accesses[..2], 1, CODE + 15));
    parts.retire(&block, retired(15, 0, &accesses[2..6], 2, CODE + 15));
    parts.retire(&block, retired(15, 1, &accesses[6..], 1, CODE + 17));
    assert_eq!(parts, whole);
    // Without iterations it is fetched and costs its one micro-op.
    assert_eq!(run(&mut whole, &block, &[], CODE + 17), 16);
}

/// xorshift64*, from a fixed seed.
struct Random(u64);
impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

const STRAIGHT: &[&[u8]] = &[
    NOP,
    LOAD,
    STORE,
    &[0x48, 0x01, 0x07],                            // add [rdi],rax
    &[0x50],                                        // push rax
    &[0xff, 0x37],                                  // push qword [rdi]
    &[0xf7, 0xf1],                                  // div ecx
    &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],          // mov rax,imm64
    &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], // nop of 10 bytes
    &[0xdb, 0x2f],                                  // fld tbyte [rdi]
];
const ENDINGS: &[&[u8]] = &[
    NOP,
    &[0x75, 0x10],             // jnz
    &[0xe8, 0, 1, 0, 0],       // call
    &[0xff, 0x17],             // call [rdi]
    &[0xc3],                   // ret
    &[0xff, 0xe0],             // jmp rax
    &[0xeb, 0x20],             // jmp
    &[0xf3, 0xa4],             // rep movsb
    &[0xf3, 0x48, 0xab],       // rep stosq
    &[0x0f, 0xae, 0x07],       // fxsave [rdi]
    &[0x48, 0x0f, 0xb1, 0x0f], // cmpxchg [rdi],rcx
];

#[test]
fn runs_cut_anywhere_leave_the_same_core() {
    let mut random = Random(0x7469_636b_6d61_726b);
    let (mut whole, mut cut) = (tiny(), tiny());
    let mut cuts = 0;
    for _ in 0..4000 {
        let start = 0x1000 + random.below(0x180);
        let mut bytes = Vec::new();
        for _ in 0..random.below(12) {
            bytes.extend(STRAIGHT[random.below(STRAIGHT.len() as u64) as usize]);
        }
        bytes.extend(ENDINGS[random.below(ENDINGS.len() as u64) as usize]);
        let instructions = decode(start, &bytes);
        let block = whole.prepare(&instructions);
        let count = instructions.len();
        let repeats = if block.ending == Ending::Repeat {
            random.below(6)
        } else {
            0
        };
        let variable = match instructions[count - 1].mnemonic() {
            iced_x86::Mnemonic::Movsb => 2 * repeats,
            iced_x86::Mnemonic::Stosq => repeats,
            iced_x86::Mnemonic::Fxsave => 33,
            iced_x86::Mnemonic::Cmpxchg => 1 + random.below(2),
            _ => 0,
        };
        let accesses: Vec<Access> = (0..u64::from(block.before[count].accesses) + variable)
            .map(|_| Access {
                addr: 0x1000 + random.below(0x400),
                size: [1, 2, 4, 8, 16][random.below(5) as usize],
                store: random.below(2) == 0,
            })
            .collect();
        let next = if random.below(2) == 0 {
            block.end
        } else {
            0x1000 + random.below(0x180)
        };
        whole.retire(&block, retired(0, count, &accesses, repeats, next));

        let per_repeat = variable.checked_div(repeats).unwrap_or(0) as usize;
        let (mut at, mut used, mut left) = (0, 0, repeats);
        while at < count {
            let n = random.below((count - at) as u64 + 1) as usize;
            let last = at + n == count;
            // Without its last instruction a run may end with some iterations of it.
            let part = match at + n + 1 == count {
                _ if last => left,
                true if left > 0 => random.below(left),
                _ => 0,
            };
            let until = match (last, part) {
                (true, _) => accesses.len(),
                (false, 0) => (block.before[at + n].accesses as usize).max(used),
                (false, part) => {
                    block.before[at + n].accesses.max(used as u32) as usize
                        + part as usize * per_repeat
                }
            };
            let after = if last {
                next
            } else {
                instructions[at + n].ip()
            };
            cut.retire(&block, retired(at, n, &accesses[used..until], part, after));
            (at, used, left) = (at + n, until, left - part);
            cuts += usize::from(!last);
        }
        assert_eq!(cut, whole, "{bytes:02x?} at {start:#x}");
    }
    assert!(cuts > 4000, "{cuts} cuts are too few to mean anything");
    let misses = [
        "l1i.misses",
        "l1d.misses",
        "l2.misses",
        "branch.mispredictions",
    ]
    .map(|n| counter(&whole, n));
    assert!(
        misses.iter().all(|&n| n > 500),
        "the caches saw no pressure: {misses:?}"
    );
}

#[test]
fn the_table_counts_the_same_on_every_machine() {
    let Core::Atomic(core) = catalog::machine("atomic").unwrap().core else {
        panic!("atomic is atomic");
    };
    let (mut atomic, mut simple) = (Atomic::new(&core), tiny());
    let bytes = [LOAD, &[0x48, 0x01, 0x07], &[0xf3, 0xa4]].concat();
    let instructions = decode(CODE, &bytes);
    let (a, s) = (atomic.prepare(&instructions), simple.prepare(&instructions));
    atomic.retire(&a, retired(0, 3, &[], 5, CODE + 8));
    simple.retire(&s, retired(0, 3, &[load(0); 13], 5, CODE + 8));
    // 1 + 3 + 1 + 5 x 2.
    assert_eq!(atomic.micro_ops(), 15);
    assert_eq!(simple.micro_ops(), 15);
    let mut parts = BTreeMap::new();
    atomic.report(&mut parts);
    for (name, count) in parts {
        assert_eq!(counter(&simple, &name), count, "{name}");
    }
}
