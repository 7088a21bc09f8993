//! The simulated side: the same program, arguments, files and environment in a guest.
use super::level;
use super::native::{self, Place};
use super::single_step::FirstStack;
use super::trace::{Trace, Traced};
use super::witness::{Program as Kind, Witness};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickmark::artifact::{BuildOptions, Toolchain, ToolchainOptions, build};
use tickmark::backend::sim::{Options, Sim};
use tickmark::backend::{Backend, HostFolder};
use tickmark::candidate::Candidate;
use tickmark::sim::guest::profile::Profile;
use tickmark::sim::guest::world::{FileProvider, Node, World};
use tickmark::sim::isa::decode::Features;
use tickmark::sim::isa::run::Engine;
use tickmark::sim::isa::state::RSP;
use tickmark::sim::machine::{Core, Machine, Profile as ProfileName, catalog};
use tickmark::sim::outcome::{Device, Exit, Limits, Program};
use tickmark::sim::simulation::Simulation;
use tickmark::sim::uarch::Timing;
use tickmark::sim::uarch::atomic::Atomic;

/// What the programs write behind the kind of a marker.
const NONCE: [u8; 16] = *b"0123456789abcdef";
/// Links beside `/usr`, the folder of the host that guests see.
const LINKS: &[(&str, &str)] = &[("/bin", "usr/bin"), ("/lib", "usr/lib")];
/// Where programs name the loader of libraries.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// `/usr` of the host, with its links to elsewhere followed: configuration and alternatives stand in `/etc`.
struct Usr(HostFolder);

impl FileProvider for Usr {
    fn lookup(&self, relative: &str) -> Option<Node> {
        self.0.lookup(&format!("usr/{relative}"))
    }

    fn list(&self, relative: &str) -> Option<Vec<String>> {
        self.0.list(&format!("usr/{relative}"))
    }
}

/// What a simulated run gave.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    pub(crate) exit: Exit,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) instructions: u64,
    pub(crate) spans: Vec<u64>,
    pub(crate) unanswered: Vec<String>,
}

fn limits() -> Limits {
    Limits {
        memory_bytes: 6 << 30,
        stack_bytes: 8 << 20,
        ..Limits::default()
    }
}

fn machine(v3: bool) -> Machine {
    let mut machine = catalog::machine("atomic").expect("built in");
    if v3 {
        machine.guest.profile = ProfileName::X86_64V3;
    }
    machine
}

/// Runs a row in a guest, for at most so long; with `trace`, notes there the address of every instruction of a program
/// that is no script of ours.
pub(crate) fn run(
    witness: &Witness,
    program: &Path,
    place: &Place,
    patience: Duration,
    trace: Option<&Trace>,
) -> Result<Simulated, String> {
    match witness.program {
        Kind::Python { script, .. } => python(witness, program, script, place, patience),
        _ => elf(witness, program, place, patience, trace),
    }
}

/// As `tickmark run -- python3 SCRIPT` does it.
fn python(
    witness: &Witness,
    interpreter: &Path,
    script: &str,
    place: &Place,
    patience: Duration,
) -> Result<Simulated, String> {
    let source = std::fs::read_to_string(native::sources().join(script))
        .map_err(|error| format!("{script}: {error}"))?;
    let toolchain = Toolchain::new(ToolchainOptions {
        python: Some(interpreter.to_owned()),
        ..ToolchainOptions::default()
    });
    let candidate = Candidate::PythonProgram { source };
    let artifact = build(&candidate, &toolchain, &BuildOptions::default())
        .map_err(|error| error.to_string())?;
    let sim = Sim::new(Options {
        machine: machine(witness.v3),
        snapshots: false,
        seed: 0,
        wall_clock: patience,
        cache: place.work.join("cache"),
        roots: Vec::new(),
    });
    let arguments: Vec<_> = (witness.arguments.iter())
        .map(|argument| argument.as_bytes().to_vec())
        .collect();
    let measured = sim
        .run_with_arguments(&artifact, &arguments, witness.stdin.as_bytes(), &limits())
        .map_err(|failure| failure.to_string())?;
    Ok(Simulated {
        exit: measured.exit,
        stdout: measured.stdout,
        stderr: measured.stderr,
        instructions: measured.counters.instructions,
        spans: Vec::new(),
        unanswered: measured.unanswered_system_calls,
    })
}

/// The stack with which the guest of a row begins.
pub(crate) fn first_stack(
    witness: &Witness,
    path: &Path,
    place: &Place,
) -> Result<FirstStack, String> {
    let program = elf_program(witness, path, place)?;
    let profile = Profile::named(witness.profile()).expect("both are built in");
    let guest = tickmark::sim::guest::load(&program, &limits(), &profile);
    let mut guest = guest.map_err(|error| error.to_string())?;
    let pointer = guest.cpu.gpr[RSP];
    let mut content = vec![0; (profile.stack_top - pointer) as usize];
    (guest.mem.copy_out(pointer, &mut content))
        .map_err(|fault| format!("the first stack cannot be read: {fault:?}"))?;
    Ok(FirstStack { pointer, content })
}

/// What a guest runs for a row that is not a script of ours. Its files have the names that they have on the host, whose
/// lengths decide what the C library and shells allocate.
fn elf_program(witness: &Witness, program: &Path, place: &Place) -> Result<Program, String> {
    let mut world = World::new();
    world.add_host_tree("/usr", Arc::new(Usr(HostFolder::new("/"))));
    for (path, target) in LINKS {
        world.add_symlink(path, target);
    }
    // Its own path stands in `/proc/self/maps`, which the C library reads into memory that it allocates.
    if let Ok(real) = std::fs::canonicalize(LOADER) {
        world.add_symlink(LOADER, &real.to_string_lossy());
    }
    for (guest, host) in witness.roots {
        world.add_host_tree(guest, Arc::new(HostFolder::new(host)));
    }
    if let Ok(cache) = std::fs::read("/etc/ld.so.cache") {
        world.add_file("/etc/ld.so.cache", cache.into(), false);
    }
    let folder = native::folder(place).to_string_lossy().into_owned();
    world.set_working_directory(&folder);
    for (name, content) in native::inputs() {
        world.add_file(&format!("{folder}/{name}"), content.into(), false);
    }
    let path = program.to_string_lossy().into_owned();
    if let Kind::Built { .. } = witness.program {
        let content = std::fs::read(program).map_err(|e| e.to_string())?;
        world.add_file(&path, content.into(), true);
    }
    let arguments = std::iter::once(native::argv0(witness, program).into_owned())
        .chain(
            witness
                .arguments
                .iter()
                .map(|&argument| argument.to_owned()),
        )
        .map(String::into_bytes)
        .collect();
    let environment = level::environment(witness.v3)
        .into_iter()
        .map(|(name, value)| format!("{name}={value}").into_bytes())
        .collect();
    Ok(Program {
        path,
        arguments,
        environment,
        stdin: witness.stdin.as_bytes().into(),
        world,
        device: Some(Device {
            nonce: NONCE,
            inputs: Vec::new(),
            pause_at: None,
        }),
        seed: 0,
    })
}

/// Runs a program; with `trace`, notes there the address of every instruction.
fn elf(
    witness: &Witness,
    program: &Path,
    place: &Place,
    patience: Duration,
    trace: Option<&Trace>,
) -> Result<Simulated, String> {
    let program = elf_program(witness, program, place)?;
    let machine = machine(witness.v3);
    let Core::Atomic(core) = &machine.core else {
        return Err("`atomic` counts only".to_owned());
    };
    let core = Atomic::new(core);
    match trace {
        Some(trace) => simulate(
            witness,
            &program,
            patience,
            Traced::new(core, trace.clone()),
        ),
        None => simulate(witness, &program, patience, core),
    }
}

fn simulate<T: Timing>(
    witness: &Witness,
    program: &Program,
    patience: Duration,
    core: T,
) -> Result<Simulated, String> {
    let profile = Profile::named(witness.profile()).expect("both are built in");
    let guest = tickmark::sim::guest::load(program, &limits(), &profile);
    let engine = Engine::new(Features::from_cpuid(&profile.cpuid));
    let mut simulation =
        Simulation::new(guest, core, engine, limits()).map_err(|error| error.to_string())?;
    let started = Instant::now();
    let exit = simulation.run(&|| started.elapsed() > patience);
    let outcome = simulation.outcome(exit);
    Ok(Simulated {
        exit: outcome.exit,
        stdout: outcome.stdout,
        stderr: outcome.stderr,
        instructions: outcome.counters.instructions,
        spans: (outcome.regions.iter())
            .map(|region| region.instructions)
            .collect(),
        unanswered: outcome.unanswered_system_calls,
    })
}
