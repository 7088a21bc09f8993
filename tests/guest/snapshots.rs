//! Snapshots at any instruction: a run that is taken up from one is the unbroken run.
use crate::support::program::compiled;
use std::path::Path;
use std::sync::Arc;
use tickmark::sim::guest::{self, profile::Profile, world::World};
use tickmark::sim::isa::decode::Features;
use tickmark::sim::isa::run::Engine;
use tickmark::sim::machine::{Core, catalog};
use tickmark::sim::outcome::{Exit, Limits, Outcome, Program};
use tickmark::sim::simulation::Simulation;
use tickmark::sim::uarch::{
    Timing, atomic::Atomic, blocking::Blocking, ooo::OutOfOrder, simple::Simple,
};

/// Stops of one run.
const STOPS: u64 = 40;

fn program(path: &Path, argument: &str) -> Program {
    let mut world = World::new();
    let bytes = std::fs::read(path).expect("just compiled");
    world.add_file("/job/program", bytes.into(), true);
    Program {
        path: "/job/program".to_owned(),
        arguments: vec![b"program".to_vec(), argument.as_bytes().to_vec()],
        environment: Vec::new(),
        stdin: Arc::from([]),
        world,
        device: None,
        seed: 0,
    }
}

/// Everything that an outcome tells.
fn told(outcome: &Outcome) -> String {
    assert_eq!(outcome.exit, Exit::Exited { code: 0 });
    format!("{outcome:?}")
}

/// The same numbers on every run and every host.
fn scrambled(n: u64) -> u64 {
    let mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
}

fn check<T: Timing>(core: &T, program: &Program) {
    let profile = Profile::x86_64_v2();
    let limits = Limits {
        stack_bytes: 8 << 20,
        ..Limits::default()
    };
    let engine = || Engine::<T>::new(Features::from_cpuid(&profile.cpuid));
    let fresh = || {
        let guest = guest::load(program, &limits, &profile);
        Simulation::new(guest, core.clone(), engine(), limits).expect("it loads")
    };
    let never = || false;
    let mut unbroken = fresh();
    let exit = unbroken.run(&never);
    let expected = unbroken.outcome(exit);
    let all = expected.counters.instructions;

    let mut broken = fresh();
    let mut stops: Vec<u64> = (0..STOPS).map(|n| scrambled(n) % all).collect();
    stops.sort_unstable();
    for (n, stop) in stops.into_iter().enumerate() {
        assert_eq!(broken.run_to(stop, &never), None, "before {stop}");
        let snapshot = broken.snapshot();
        // Sometimes from the snapshot, with the blocks of before or none; sometimes on as if nothing had been.
        broken = match n % 3 {
            0 => Simulation::resume(&snapshot, engine()),
            1 => Simulation::resume(&snapshot, broken.into_engine()),
            _ => broken,
        };
    }
    let exit = broken.run(&never);
    assert_eq!(told(&broken.outcome(exit)), told(&expected));
}

fn check_on_every_core(program: &Program) {
    for name in ["atomic", "simple", "gem5-timing", "skylake"] {
        match catalog::machine(name).expect("it is built in").core {
            Core::Atomic(core) => check(&Atomic::new(&core), program),
            Core::InOrder(core) => check(&Simple::new(&core), program),
            Core::Blocking(core) => check(&Blocking::new(&core), program),
            Core::OutOfOrder(core) => check(&OutOfOrder::new(&core), program),
        }
    }
}

#[test]
fn runs_with_threads_are_taken_up_at_any_instruction() {
    let flags = ["-std=c++17", "-O1", "-static", "-pthread"];
    if let Some(path) = compiled("threads.cpp", &flags) {
        check_on_every_core(&program(&path, "all"));
    }
}

#[test]
fn runs_with_processes_are_taken_up_at_any_instruction() {
    if let Some(path) = compiled("processes.c", &["-O1", "-static", "-pthread"]) {
        check_on_every_core(&program(&path, "all"));
    }
}

#[test]
fn runs_with_signals_and_timers_are_taken_up_at_any_instruction() {
    if let Some(path) = compiled("signals.c", &["-O1", "-static"]) {
        check_on_every_core(&program(&path, ""));
    }
}

#[test]
fn runs_with_shared_memory_are_taken_up_at_any_instruction() {
    if let Some(path) = compiled("shared_memory.c", &["-O1", "-static", "-pthread"]) {
        check_on_every_core(&program(&path, ""));
    }
}

#[test]
fn runs_with_open_descriptors_of_all_kinds_are_taken_up_at_any_instruction() {
    if let Some(path) = compiled("events.c", &["-O1", "-w", "-static", "-pthread"]) {
        check_on_every_core(&program(&path, ""));
    }
}
