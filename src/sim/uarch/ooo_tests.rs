//! Exact cycles of short loops on the machines that the captures cover, with the arithmetic beside them.
use super::*;
use crate::sim::machine::{Core, catalog};
use crate::sim::uarch::test_block::{decode, retired};

fn core(machine: &str, overrides: &[(&str, &str)]) -> OutOfOrder {
    let machine = catalog::machine(machine).unwrap();
    let Core::OutOfOrder(core) = machine.with_overrides(overrides).unwrap().core else {
        panic!("an out-of-order machine");
    };
    OutOfOrder::new(&core)
}

/// Cycles of one round of a loop of this code, with `accesses` a round, once it has warmed up.
fn round(core: &mut OutOfOrder, code: &[u8], accesses: &[Access]) -> u64 {
    // jmp back to the start.
    let mut bytes = code.to_vec();
    bytes.extend([0xeb, (-(code.len() as i64) - 2) as u8]);
    let block = core.prepare(&decode(0x1000, &bytes));
    let count = block.steps.len();
    for _ in 0..200 {
        core.retire(&block, retired(0, count, accesses, 0, 0x1000));
    }
    let before = core.cycles().unwrap();
    for _ in 0..100 {
        core.retire(&block, retired(0, count, accesses, 0, 0x1000));
    }
    (core.cycles().unwrap() - before + 50) / 100
}

const ADD: [u8; 3] = [0x48, 0x01, 0xc8]; // add rax,rcx

#[test]
fn dependent_additions_take_a_cycle_each() {
    assert_eq!(round(&mut core("gem5-o3", &[]), &ADD.repeat(16), &[]), 16);
}

#[test]
fn independent_work_is_bound_by_units_and_widths() {
    // add r8..r15,rcx, twice, and the three micro-ops of the jump: 19 on six units, 3.17 cycles; 8 wide fetch: 3.
    let code: Vec<u8> = (0..16).flat_map(|i| [0x49, 0x01, 0xc8 + i % 8]).collect();
    assert_eq!(round(&mut core("gem5-o3", &[]), &code, &[]), 3);
    let one = [(
        "core.units",
        "1x IntAlu:1 IntMult:3 IntDiv:1 FloatAdd:2 FloatCmp:2 FloatCvt:2 FloatMult:4 FloatDiv:12 FloatSqrt:24 FloatMisc:3 SimdAdd:1 SimdAlu:1 SimdCmp:1 SimdCvt:1 SimdMisc:1 SimdMult:1 SimdShift:1 SimdFloatAdd:1 SimdFloatAlu:1 SimdFloatCmp:1 SimdFloatCvt:1 SimdFloatDiv:1 SimdFloatMult:1 SimdFloatSqrt:1 MemRead:1 MemWrite:1 FloatMemRead:1 FloatMemWrite:1",
    )];
    assert_eq!(round(&mut core("gem5-o3", &one), &code, &[]), 19);
}

#[test]
fn skylake_takes_sixteen_bytes_every_fourth_cycle_and_four_micro_ops_a_cycle() {
    // 16 NOPs fill the first 16 bytes: 4 cycles after the 4 of the cache; the jump's three come 4 cycles after the last.
    assert_eq!(
        round(&mut core("skylake", &[]), &[0x90; 16], &[]),
        4 + 3 + 4
    );
}

#[test]
fn a_store_and_a_load_of_it_take_three_cycles() {
    // mov [rbp],rax; mov rax,[rbp]: the store executes a cycle after it issues, then the load issues, executes a cycle
    // later, and has its value another cycle later.
    let code = [0x48, 0x89, 0x45, 0x00, 0x48, 0x8b, 0x45, 0x00];
    let access = |store| Access {
        addr: 0x8000,
        size: 8,
        store,
    };
    let pair = [access(true), access(false)];
    assert_eq!(round(&mut core("gem5-o3", &[]), &code, &pair), 3);
}

#[test]
fn a_load_of_a_hit_takes_three_cycles_from_issue_to_issue() {
    // mov rax,[rax]: executes a cycle after issue, and the cache answers two cycles later.
    let access = [Access {
        addr: 0x8000,
        size: 8,
        store: false,
    }];
    assert_eq!(
        round(&mut core("gem5-o3", &[]), &[0x48, 0x8b, 0x00], &access),
        3
    );
    assert_eq!(
        round(&mut core("skylake", &[]), &[0x48, 0x8b, 0x00], &access),
        5
    );
}

#[test]
fn stores_drain_one_after_the_other_under_total_store_order_only() {
    // Eight stores a round, each of two cycles of the cache. Side by side, the queue of 32 bounds: an entry is held for
    // ten cycles (rename to dispatch 2, issue 1, execution to commit 2, commit to cache 2, cache 2, back to rename 1), so
    // a round takes 8 x 10 / 32 = 2.5, in whole cycles 3.
    let code = [0x48, 0x89, 0x45, 0x00].repeat(8);
    let accesses = [Access {
        addr: 0x8000,
        size: 8,
        store: true,
    }; 8];
    assert_eq!(round(&mut core("gem5-o3", &[]), &code, &accesses), 16);
    assert_eq!(round(&mut core("gem5-o3-notso", &[]), &code, &accesses), 3);
}

#[test]
fn cutting_a_run_changes_nothing() {
    let code = [
        0x48, 0x01, 0xc8, 0x48, 0x8b, 0x07, 0x48, 0x89, 0x07, 0x75, 0xf5,
    ];
    let accesses = [
        Access {
            addr: 0x8000,
            size: 8,
            store: false,
        },
        Access {
            addr: 0x8000,
            size: 8,
            store: true,
        },
    ];
    let mut whole = core("gem5-o3", &[]);
    let mut cut = whole.clone();
    let block = whole.prepare(&decode(0x1000, &code));
    for i in 0..50 {
        let next = if i % 3 == 0 { 0x100b } else { 0x1000 };
        whole.retire(&block, retired(0, 4, &accesses, 0, next));
        cut.retire(&block, retired(0, 2, &accesses[..1], 0, 0x1006));
        cut.retire(&block, retired(2, 2, &accesses[1..], 0, next));
    }
    assert_eq!(cut, whole);
}

#[test]
fn cutting_a_repeat_changes_nothing() {
    let mut whole = core("gem5-o3", &[]);
    let block = whole.prepare(&decode(0x1000, &[0xf3, 0xa4]));
    let accesses: Vec<Access> = (0..20)
        .map(|i| Access {
            addr: 0x8000 + i / 2,
            size: 1,
            store: i % 2 == 1,
        })
        .collect();
    let mut cut = whole.clone();
    whole.retire(&block, retired(0, 1, &accesses, 10, 0x1002));
    cut.retire(&block, retired(0, 0, &accesses[..8], 4, 0x1000));
    cut.retire(&block, retired(0, 1, &accesses[8..], 6, 0x1002));
    assert_eq!(cut, whole);
}
