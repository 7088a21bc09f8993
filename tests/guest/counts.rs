//! Instruction counts against single steps of the host processor: equal, to the instruction.
use crate::support::program::{BARE, compiled};
use crate::support::single_step::single_step;
use crate::support::tickmark::Tickmark;
use object::{Object, ObjectSymbol};
use std::sync::Arc;
use tickmark::sim::guest::{self, profile::Profile, world::World};
use tickmark::sim::isa::{decode::Features, run::Engine};
use tickmark::sim::machine::{Core, catalog};
use tickmark::sim::outcome::{Device, Exit, Limits, Outcome, Program};
use tickmark::sim::simulation::Simulation;
use tickmark::sim::uarch::atomic::Atomic;

#[test]
fn programs_without_a_library_count_as_single_steps_do() {
    let with = |more: &[&'static str]| [BARE, more].concat();
    for (name, flags) in [
        ("bare_integers.c", with(&["-O0"])),
        ("bare_integers.c", with(&["-O2"])),
        ("bare_strings.c", with(&["-O2"])),
        ("bare_floats.c", with(&["-O3"])),
        ("rep_count.S", with(&[])),
    ] {
        let Some(program) = compiled(name, &flags) else {
            continue;
        };
        let steps = single_step(&program, None).expect("the host lets us trace a child");
        for machine in ["atomic", "simple"] {
            let result = Tickmark::run(machine, &program, &[]).json();
            assert_eq!(result["exit"]["code"], steps.exit_code, "{name} {result}");
            assert_eq!(
                result["counters"]["instructions"], steps.instructions,
                "{name} {flags:?} on {machine}"
            );
        }
    }
}

#[test]
fn spans_between_markers_count_as_single_steps_do() {
    for flags in [&["-static", "-O0"][..], &["-static", "-O2"]] {
        let Some(program) = compiled("marked.c", flags) else {
            continue;
        };
        let bytes = std::fs::read(&program).expect("just compiled");
        let marker = address_of(&bytes, "marker_point");
        let steps = single_step(&program, Some(marker)).expect("the host lets us trace a child");
        let native: Vec<u64> = (steps.arrivals.chunks(2))
            .map(|pair| pair[1] - pair[0])
            .collect();
        assert_eq!(native.len(), 4);
        let outcome = simulate(bytes);
        assert_eq!(outcome.exit, Exit::Exited { code: 0 });
        let simulated: Vec<u64> = outcome.regions.iter().map(|r| r.instructions).collect();
        assert_eq!(simulated, native, "{flags:?}");
    }
}

fn address_of(elf: &[u8], symbol: &str) -> u64 {
    let file = object::File::parse(elf).expect("the compiler makes ELF files");
    let found = file
        .symbols()
        .find(|candidate| candidate.name() == Ok(symbol));
    found.expect("the program has the symbol").address()
}

/// Runs a static program that reads the nonce from the device and writes markers to it.
fn simulate(elf: Vec<u8>) -> Outcome {
    let mut world = World::new();
    world.add_file("/program", elf.into(), true);
    let program = Program {
        path: "/program".into(),
        arguments: vec![b"program".to_vec()],
        environment: Vec::new(),
        stdin: Arc::from([]),
        world,
        device: Some(Device {
            nonce: *b"0123456789abcdef",
            inputs: vec![Arc::from(*b"0123456789abcdef")],
            pause_at: None,
        }),
        seed: 0,
    };
    let machine = catalog::machine("atomic").expect("a built-in machine");
    let Core::Atomic(core) = &machine.core else {
        panic!("`atomic` counts only");
    };
    let limits = Limits::default();
    let guest = guest::load(&program, &limits, &Profile::x86_64_v2());
    let engine = Engine::new(Features::default());
    let mut simulation =
        Simulation::new(guest, Atomic::new(core), engine, limits).expect("it loads");
    let exit = simulation.run(&|| false);
    simulation.outcome(exit)
}
