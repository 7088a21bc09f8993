//! Generated guests: instructions, loops, code that rewrites itself, system calls; and the ways to their ends.
use super::Choices;
use crate::support::single_step::{ENTRY, elf};
use std::sync::Arc;
use tickmark::sim::guest::{self, profile::Profile, world::World};
use tickmark::sim::isa::decode::Features;
use tickmark::sim::isa::run::Engine;
use tickmark::sim::machine::{Core, catalog};
use tickmark::sim::outcome::{Exit, Limits, Outcome, Program};
use tickmark::sim::simulation::Simulation;
use tickmark::sim::uarch::{Timing, atomic::Atomic, ooo::OutOfOrder, simple::Simple};

/// Zeroed memory behind the code, where addresses are likely to point.
pub(super) const DATA: u64 = 0x40_4000;
/// Bytes of it.
const DATA_BYTES: u64 = 0x6000;
/// Longest code, bytes.
const MOST_CODE: usize = 0x3000;
/// What a generated guest may retire.
const INSTRUCTIONS: u64 = 30_000;

fn program(code: &[u8]) -> Program {
    let mut world = World::new();
    let file = elf(code, DATA + DATA_BYTES - ENTRY - code.len() as u64);
    world.add_file("/job/program", file.into(), true);
    world.add_file("/job/words", b"some words\n".as_slice().into(), false);
    Program {
        path: "/job/program".to_owned(),
        arguments: vec![b"program".to_vec()],
        environment: Vec::new(),
        stdin: Arc::from(b"some input\n".as_slice()),
        world,
        device: None,
        seed: 0,
    }
}

fn limits(instructions: u64) -> Limits {
    Limits {
        instructions,
        memory_bytes: 16 << 20,
        stack_bytes: 1 << 20,
        output_bytes: 1 << 16,
    }
}

fn fresh<T: Timing>(core: &T, program: &Program, limits: Limits) -> Result<Simulation<T>, String> {
    let profile = Profile::x86_64_v3();
    let guest = guest::load(program, &limits, &profile);
    let engine = Engine::new(Features::from_cpuid(&profile.cpuid));
    Simulation::new(guest, core.clone(), engine, limits).map_err(|error| error.to_string())
}

/// An outcome as text, without the integral of memory over time, which is exact at block boundaries only.
fn told(outcome: &Outcome, integral: bool) -> String {
    let mut outcome = outcome.clone();
    if !integral {
        outcome.counters.memory_kib_cycles = 0;
    }
    format!("{outcome:?}")
}

fn same(what: &str, expected: &str, found: &str) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}:\n{found}\ninstead of\n{expected}"))
}

fn put_mov(code: &mut Vec<u8>, register: u8, value: u64) {
    code.extend([0x48 | register >> 3, 0xb8 | register & 7]);
    code.extend(value.to_le_bytes());
}

/// Writes all the general registers and some memory to standard output, and ends: what was computed shows.
fn put_end(code: &mut Vec<u8>) {
    // mov [DATA + 8 * r], r
    for register in 0..16u8 {
        let at = (DATA as u32 + 0x100 + 8 * u32::from(register)).to_le_bytes();
        code.extend([
            0x48 | (register >> 3) << 2,
            0x89,
            0x04 | (register & 7) << 3,
            0x25,
        ]);
        code.extend(at);
    }
    put_mov(code, 0, 1);
    put_mov(code, 7, 1);
    put_mov(code, 6, DATA);
    put_mov(code, 2, 0x800);
    code.extend([0x0f, 0x05]);
    put_mov(code, 0, 231);
    put_mov(code, 7, 0);
    code.extend([0x0f, 0x05]);
}

/// Code of pieces: arithmetic, memory, branches, stores into code, page ends, raw bytes, system calls.
fn code(choices: &mut Choices<'_>, calls: bool) -> Vec<u8> {
    let mut code = Vec::new();
    // Registers that point somewhere; the stack stays.
    for register in [0u8, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] {
        put_mov(&mut code, register, DATA + u64::from(register) * 0x80);
    }
    while choices.more() && code.len() < MOST_CODE {
        let kind = choices.below(if calls { 12 } else { 10 });
        match kind {
            // Short forms of arithmetic between registers: an opcode and a byte that names them.
            0 | 1 => {
                let opcode = choices.pick(&[
                    0x01, 0x03, 0x09, 0x0b, 0x11, 0x13, 0x21, 0x29, 0x31, 0x39, 0x85, 0x87, 0x89,
                ]);
                code.extend([0x48, opcode, 0xc0 | choices.byte() & 0x3f & !0x24]);
            }
            // The same on memory.
            2 => {
                let opcode = choices.pick(&[0x01, 0x03, 0x29, 0x31, 0x89, 0x8b, 0x88, 0x8a, 0x8d]);
                code.extend([
                    0x48,
                    opcode,
                    0x40 | choices.byte() & 0x3b,
                    choices.byte() & 0x78,
                ]);
            }
            // A constant.
            3 => {
                let value = choices.edge();
                put_mov(
                    &mut code,
                    choices.pick(&[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
                    value,
                );
            }
            // A branch on a condition, a little forwards or backwards.
            4 => {
                let (condition, distance) = (choices.byte() & 15, choices.byte());
                code.extend([0x70 | condition, distance]);
            }
            // A counted loop backwards.
            5 => {
                let distance = choices.below(40).min(code.len()) as u8;
                put_mov(&mut code, 1, u64::from(choices.byte() & 15) + 1);
                code.extend([0x90, 0xe2, 0u8.wrapping_sub(distance + 3)]);
            }
            // A byte written into the code.
            6 => {
                let at = (ENTRY as u32).wrapping_add(choices.number(2) as u32 % 0x3000);
                code.extend([0xc6, 0x04, 0x25]);
                code.extend(at.to_le_bytes());
                code.push(choices.byte());
            }
            // On to the end of the page, so that what follows may cross it.
            7 => {
                let here = ENTRY as usize + code.len();
                let short = choices.below(16);
                let fill = (4096 - here % 4096).saturating_sub(short + 5);
                code.push(0xe9);
                code.extend((fill as u32).to_le_bytes());
                code.extend(std::iter::repeat_n(0x90, fill));
            }
            // Anything.
            8 => {
                let n = 1 + choices.below(15);
                code.extend(choices.rest(n));
            }
            // Prefixes before anything.
            9 => {
                for _ in 0..choices.below(16) {
                    code.push(choices.pick(&[
                        0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x64, 0x65, 0x40, 0x48, 0x4f, 0xc4,
                        0xc5, 0x0f,
                    ]));
                }
                code.extend(choices.rest(3));
            }
            _ => put_call(&mut code, choices),
        }
    }
    put_end(&mut code);
    code
}

/// One system call with any number and any arguments, and memory that its pointers may name.
fn put_call(code: &mut Vec<u8>, choices: &mut Choices<'_>) {
    if choices.below(3) == 0 {
        // mov [DATA + n], rax
        let text: &[u8; 8] = choices.pick(&[
            b"/tmp/a\0\0",
            b"/proc/\0\0",
            b"/job/wo\0",
            b"../../.\0",
            b"/dev/fd\0",
            b"a/b/c/d\0",
        ]);
        let value = if choices.below(2) == 0 {
            u64::from_le_bytes(*text)
        } else {
            choices.edge()
        };
        put_mov(code, 0, value);
        code.extend([0x48, 0x89, 0x04, 0x25]);
        code.extend((DATA as u32 + 16 * choices.number(1) as u32).to_le_bytes());
    }
    let number = match choices.below(8) {
        0 => 424 + choices.number(1) % 45,
        1 => choices.edge(),
        _ => choices.number(2) % 335,
    };
    // The end of the program would end it too soon.
    if matches!(number, 60 | 231) {
        return;
    }
    for register in [7, 6, 2, 10, 8, 9] {
        let value = match choices.below(4) {
            0 => choices.number(1) % 8,
            1 => DATA + 16 * choices.number(1),
            _ => choices.edge(),
        };
        put_mov(code, register, value);
    }
    put_mov(code, 0, number);
    code.extend([0x0f, 0x05]);
}

const NEVER: fn() -> bool = || false;

/// A guest that runs in blocks ends as one that runs instruction for instruction, and as one whose blocks are cut.
pub(super) fn blocks_are_single_steps(choices: &mut Choices<'_>) -> Result<(), String> {
    let stride = choices.number(1) % 60 + 2;
    let program = program(&code(choices, false));
    let core = Atomic::new(&atomic_core());
    let run = |step: u64| -> Result<String, String> {
        let mut simulation = fresh(&core, &program, limits(INSTRUCTIONS / 8))?;
        let mut at = 0;
        let exit = loop {
            at += step;
            if let Some(exit) = simulation.run_to(at, &NEVER) {
                break exit;
            }
        };
        Ok(told(&simulation.outcome(exit), false))
    };
    let mut whole = fresh(&core, &program, limits(INSTRUCTIONS / 8))?;
    let exit = whole.run(&NEVER);
    let whole = told(&whole.outcome(exit), false);
    same("single steps", &whole, &run(1)?)?;
    same(&format!("steps of {stride}"), &whole, &run(stride)?)
}

fn atomic_core() -> tickmark::sim::machine::AtomicCore {
    match catalog::machine("atomic").expect("a built-in machine").core {
        Core::Atomic(core) => core,
        other => panic!("not counting alone: {other:?}"),
    }
}

/// Calls end in an answer or a verdict, the same ones each time.
pub(super) fn calls_are_answered(choices: &mut Choices<'_>) -> Result<(), String> {
    let program = program(&code(choices, true));
    let core = Atomic::new(&atomic_core());
    let run = || -> Result<String, String> {
        let mut simulation = fresh(&core, &program, limits(INSTRUCTIONS))?;
        let exit = simulation.run(&NEVER);
        if matches!(
            exit,
            Exit::Paused | Exit::WallClock | Exit::LoadFailed { .. }
        ) {
            return Err(format!("{exit:?}"));
        }
        Ok(told(&simulation.outcome(exit), true))
    };
    same("again", &run()?, &run()?)
}

/// A run with stops, some of them taken up from snapshots, tells what an unbroken one tells.
pub(super) fn snapshots_change_nothing(choices: &mut Choices<'_>) -> Result<(), String> {
    let machine = choices.pick(&["atomic", "simple", "gem5-o3"]);
    let stops: Vec<u64> = (0..4).map(|_| choices.number(2)).collect();
    let program = program(&code(choices, true));
    match catalog::machine(machine).expect("a built-in machine").core {
        Core::Atomic(core) => broken_is_unbroken(&Atomic::new(&core), &program, &stops),
        Core::InOrder(core) => broken_is_unbroken(&Simple::new(&core), &program, &stops),
        Core::OutOfOrder(core) => broken_is_unbroken(&OutOfOrder::new(&core), &program, &stops),
        other @ Core::Blocking(_) => Err(format!("{other:?}")),
    }
}

fn broken_is_unbroken<T: Timing>(core: &T, program: &Program, stops: &[u64]) -> Result<(), String> {
    let limits = limits(INSTRUCTIONS / 3);
    let mut unbroken = fresh(core, program, limits)?;
    let exit = unbroken.run(&NEVER);
    let expected = unbroken.outcome(exit);
    let all = expected.counters.instructions;
    for whole_blocks in [true, false] {
        let mut stops: Vec<u64> = stops.iter().map(|stop| stop % (all + 1)).collect();
        stops.sort_unstable();
        let mut broken = fresh(core, program, limits)?;
        let mut ended = None;
        for (n, &stop) in stops.iter().enumerate() {
            ended = if whole_blocks {
                broken.run_near(stop, &NEVER)
            } else {
                broken.run_to(stop, &NEVER)
            };
            if ended.is_some() {
                break;
            }
            let snapshot = broken.snapshot();
            let features = Features::from_cpuid(&Profile::x86_64_v3().cpuid);
            let engine = if n % 2 == 0 {
                Engine::new(features)
            } else {
                broken.into_engine()
            };
            broken = Simulation::resume(&snapshot, engine);
        }
        let exit = ended.unwrap_or_else(|| broken.run(&NEVER));
        same(
            &format!("stopped at {stops:?}, whole blocks: {whole_blocks}"),
            &told(&expected, whole_blocks),
            &told(&broken.outcome(exit), whole_blocks),
        )?;
    }
    Ok(())
}
