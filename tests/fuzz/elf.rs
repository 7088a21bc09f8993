//! Executables with bent headers: each is refused with a reason, or runs to an end.
use super::Choices;
use crate::support::single_step::elf;
use std::sync::Arc;
use tickmark::artifact::existing;
use tickmark::sim::guest::{self, profile::Profile, world::World};
use tickmark::sim::isa::decode::Features;
use tickmark::sim::isa::run::Engine;
use tickmark::sim::machine::{Core, catalog};
use tickmark::sim::outcome::{Exit, Limits, Program};
use tickmark::sim::simulation::Simulation;
use tickmark::sim::uarch::atomic::Atomic;

/// `mov edi, 7; mov eax, 60; syscall`.
const CODE: &[u8] = &[0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];

fn put(file: &mut Vec<u8>, at: usize, value: u64, bytes: usize) {
    if file.len() < at + bytes {
        file.resize(at + bytes, 0);
    }
    file[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
}

fn file(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut file = elf(CODE, 64);
    // More program headers, behind the code, where there is room.
    let headers = choices.below(5);
    if headers > 0 {
        let table = 512;
        put(&mut file, 32, table as u64, 8);
        put(&mut file, 56, headers as u64, 2);
        for i in 0..headers {
            let at = table + 56 * i;
            let kind = choices.pick(&[1, 1, 1, 2, 3, 6, 7, 0x6474_e551, 0x6474_e553, 0]);
            put(&mut file, at, kind, 4);
            put(&mut file, at + 4, choices.number(1) % 8, 4);
            for field in 1..7 {
                let value = match choices.below(4) {
                    0 => 0x40_0000 + (choices.number(1) << 8),
                    1 => 0x1000 << (choices.number(1) % 8),
                    2 => choices.number(2),
                    _ => choices.edge(),
                };
                put(&mut file, at + 8 * field, value, 8);
            }
        }
    }
    // Fields of the file header and bytes anywhere.
    while choices.more() {
        if choices.below(2) == 0 {
            let (at, bytes) = choices.pick(&[
                (4, 1),
                (5, 1),
                (6, 1),
                (16, 2),
                (18, 2),
                (20, 4),
                (24, 8),
                (32, 8),
                (40, 8),
                (52, 2),
                (54, 2),
                (56, 2),
                (58, 2),
                (60, 2),
                (62, 2),
                (64, 4),
                (72, 8),
                (80, 8),
                (96, 8),
                (104, 8),
                (112, 8),
            ]);
            let value = choices.edge();
            put(&mut file, at, value, bytes);
        } else {
            let at = choices.below(file.len().min(65536));
            file[at] = choices.byte();
        }
        if choices.below(16) == 15 {
            let length = choices.below(file.len().min(65536));
            file.truncate(length.max(1));
        }
    }
    file
}

pub(super) fn loads_or_refuses(choices: &mut Choices<'_>) -> Result<(), String> {
    let bytes: Arc<[u8]> = file(choices).into();
    // Where it would look for its libraries: any answer is right but a panic.
    match existing(Arc::clone(&bytes), b"program") {
        Err(failure) if failure.what.is_empty() => return Err("refused without a word".to_owned()),
        _ => {}
    }
    let mut world = World::new();
    world.add_file("/job/program", bytes, true);
    let program = Program {
        path: "/job/program".to_owned(),
        arguments: vec![b"program".to_vec()],
        environment: Vec::new(),
        stdin: Arc::from([]),
        world,
        device: None,
        seed: 0,
    };
    let limits = Limits {
        instructions: 2000,
        memory_bytes: 8 << 20,
        stack_bytes: 1 << 20,
        output_bytes: 1 << 12,
    };
    let profile = Profile::x86_64_v2();
    let Core::Atomic(core) = catalog::machine("atomic").expect("a built-in machine").core else {
        return Err("the machine `atomic` is another".to_owned());
    };
    let guest = guest::load(&program, &limits, &profile);
    let engine = Engine::new(Features::from_cpuid(&profile.cpuid));
    match Simulation::new(guest, Atomic::new(&core), engine, limits) {
        Err(error) if error.reason.is_empty() => Err("refused without a word".to_owned()),
        Err(_) => Ok(()),
        Ok(mut simulation) => {
            let exit = simulation.run(&|| false);
            let peak = simulation.outcome(exit.clone()).counters.peak_memory_bytes;
            if peak > limits.memory_bytes {
                return Err(format!("{peak} bytes live, {exit:?}"));
            }
            match exit {
                Exit::Paused | Exit::WallClock | Exit::LoadFailed { .. } => {
                    Err(format!("{exit:?}"))
                }
                _ => Ok(()),
            }
        }
    }
}
