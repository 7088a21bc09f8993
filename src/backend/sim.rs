//! The embedded simulator as a backend: artifacts to programs, worlds and snapshots; outcomes to measurements.
use super::Backend;
use super::files::{HostFolder, PythonLibrary};
use crate::artifact::{
    Artifact, ContentHash, ElfArtifact, GuestFile, Interpreter, PythonArtifact, SnapshotPoints,
};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::guest::profile::Profile;
use crate::sim::guest::world::World;
use crate::sim::guest::{self};
use crate::sim::isa::decode::Features;
use crate::sim::isa::run::Engine;
use crate::sim::machine::{Core, Machine, Profile as GuestProfile};
use crate::sim::outcome::{Device, Exit, Limits, Outcome, Program};
use crate::sim::simulation::{Simulation, Snapshot};
use crate::sim::uarch::Timing;
use crate::sim::uarch::atomic::Atomic;
use crate::sim::uarch::blocking::Blocking;
use crate::sim::uarch::ooo::OutOfOrder;
use crate::sim::uarch::simple::Simple;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How the simulator is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// The processor.
    pub machine: Machine,
    /// Resume Python candidates from snapshots; without, every run starts from the first instruction. Both give the
    /// same measurements.
    pub snapshots: bool,
    /// Seed of everything random in the guest.
    pub seed: u64,
    /// Guard against runs that take too long on the host: beyond it, a run is a backend failure.
    pub wall_clock: Duration,
    /// Where byte code of the standard library is kept between runs.
    pub cache: PathBuf,
    /// Read-only folders of the host that guests see: guest path and host path.
    pub roots: Vec<(String, PathBuf)>,
}

/// The simulator.
#[derive(Debug)]
pub struct Sim {
    options: Options,
    kind: Kind,
    python_worlds: Mutex<Option<(ContentHash, World)>>,
    /// How an empty script ended, by interpreter and limits: what is needed before a program's own first line.
    empty_scripts: Kept<Exit>,
}

/// How a run gets to its end. All ways give the same measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the first instruction to the last.
    Unbroken,
    /// From the snapshots of interpreter and loaded candidate, where there are such; they are made first if need be.
    Kept,
    /// By a snapshot at the last block boundary before this instruction, from which another simulation goes on.
    Broken {
        /// Instructions since the start.
        at: u64,
    },
}

/// One pool a timing model: the code is compiled for each, so that none pays for the choice.
#[derive(Debug)]
enum Kind {
    Atomic(Box<Pool<Atomic>>),
    Simple(Box<Pool<Simple>>),
    Blocking(Box<Pool<Blocking>>),
    OutOfOrder(Box<Pool<OutOfOrder>>),
}

/// What is shared between runs: the fresh core, warm block caches, snapshots.
#[derive(Debug)]
struct Pool<T: Timing> {
    core: T,
    profile: Profile,
    engines: Mutex<Vec<Engine<T>>>,
    /// Interpreters with their preloaded modules.
    interpreters: Kept<Snapshot<T>>,
    /// Loaded candidates, for those that run again.
    candidates: Kept<Snapshot<T>>,
    making: Mutex<()>,
}

/// A few values by key, the latest ones.
#[derive(Debug)]
struct Kept<V> {
    values: Mutex<Vec<(ContentHash, Arc<V>)>>,
    most: usize,
}

impl<V> Kept<V> {
    fn new(most: usize) -> Self {
        Self {
            values: Mutex::default(),
            most,
        }
    }

    fn get(&self, key: &ContentHash) -> Option<Arc<V>> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values
            .iter()
            .find(|(of, _)| of == key)
            .map(|(_, value)| Arc::clone(value))
    }

    fn put(&self, key: ContentHash, value: Arc<V>) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if values.len() >= self.most {
            values.remove(0);
        }
        values.push((key, value));
    }
}

/// A simulation that has been brought to where it is to run from.
enum Begun<T: Timing> {
    Ready(Simulation<T>),
    /// It ended on the way there.
    Ended(Simulation<T>, Exit),
}

impl<T: Timing> Pool<T> {
    fn new(core: T, profile: Profile) -> Self {
        Self {
            core,
            profile,
            engines: Mutex::default(),
            interpreters: Kept::new(2),
            candidates: Kept::new(8),
            making: Mutex::default(),
        }
    }

    fn engine(&self) -> Engine<T> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines
            .pop()
            .unwrap_or_else(|| Engine::new(Features::from_cpuid(&self.profile.cpuid)))
    }

    fn give_back(&self, engine: Engine<T>) {
        self.engines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(engine);
    }
}

impl Sim {
    /// A simulator of this machine.
    pub fn new(options: Options) -> Self {
        let profile = match options.machine.guest.profile {
            GuestProfile::X86_64V2 => Profile::x86_64_v2(),
            GuestProfile::X86_64V3 => Profile::x86_64_v3(),
            GuestProfile::Gem5 => Profile::gem5(),
        };
        let kind = match &options.machine.core {
            Core::Atomic(core) => Kind::Atomic(Box::new(Pool::new(Atomic::new(core), profile))),
            Core::InOrder(core) => Kind::Simple(Box::new(Pool::new(Simple::new(core), profile))),
            Core::Blocking(core) => {
                Kind::Blocking(Box::new(Pool::new(Blocking::new(core), profile)))
            }
            Core::OutOfOrder(core) => {
                Kind::OutOfOrder(Box::new(Pool::new(OutOfOrder::new(core), profile)))
            }
        };
        Self {
            options,
            kind,
            python_worlds: Mutex::default(),
            empty_scripts: Kept::new(8),
        }
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn simulate<T: Timing>(
        &self,
        pool: &Pool<T>,
        program: &Program,
        points: Option<(ContentHash, SnapshotPoints)>,
        limits: &Limits,
        way: Way,
    ) -> (Outcome, usize) {
        let started = Instant::now();
        let expired = || started.elapsed() > self.options.wall_clock;
        let simulation = match (points, &program.device, way) {
            (_, _, Way::Broken { at }) => self.broken(pool, program, limits, at, &expired),
            (Some((interpreter, points)), Some(device), Way::Kept) => self.warm(
                pool,
                program,
                device,
                &interpreter,
                points,
                limits,
                &expired,
            ),
            _ => self.fresh(pool, program, limits),
        };
        let (mut simulation, exit) = match simulation {
            Ok(Begun::Ready(simulation)) => (simulation, None),
            Ok(Begun::Ended(simulation, exit)) => (simulation, Some(exit)),
            Err(outcome) => return (*outcome, 0),
        };
        let exit = exit.unwrap_or_else(|| simulation.run(&expired));
        let outcome = simulation.outcome(exit);
        let inputs_read = simulation.inputs_read();
        pool.give_back(simulation.into_engine());
        (outcome, inputs_read)
    }

    /// A simulation at its first instruction.
    fn fresh<T: Timing>(
        &self,
        pool: &Pool<T>,
        program: &Program,
        limits: &Limits,
    ) -> Result<Begun<T>, Box<Outcome>> {
        let guest = guest::load(program, limits, &pool.profile);
        Simulation::new(guest, pool.core.clone(), pool.engine(), *limits)
            .map(Begun::Ready)
            .map_err(|error| Box::new(load_failure(error.to_string())))
    }

    /// A simulation that has been taken up from a snapshot on its way, by an engine without blocks.
    fn broken<T: Timing>(
        &self,
        pool: &Pool<T>,
        program: &Program,
        limits: &Limits,
        at: u64,
        expired: &dyn Fn() -> bool,
    ) -> Result<Begun<T>, Box<Outcome>> {
        let Begun::Ready(mut simulation) = self.fresh(pool, program, limits)? else {
            unreachable!("a fresh simulation has not ended")
        };
        if let Some(exit) = simulation.run_near(at, expired) {
            return Ok(Begun::Ended(simulation, exit));
        }
        let snapshot = simulation.snapshot();
        pool.give_back(simulation.into_engine());
        let features = Features::from_cpuid(&pool.profile.cpuid);
        let resumed = Simulation::resume(&snapshot, Engine::new(features));
        Ok(Begun::Ready(resumed))
    }

    /// A simulation that stands where the test is about to be read: behind what every candidate of the interpreter does
    /// alike (the first snapshot), and behind the loading of this candidate (the second), where that has been run
    /// before.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one run, used in one place"
    )]
    fn warm<T: Timing>(
        &self,
        pool: &Pool<T>,
        program: &Program,
        device: &Device,
        interpreter: &ContentHash,
        points: SnapshotPoints,
        limits: &Limits,
        expired: &dyn Fn() -> bool,
    ) -> Result<Begun<T>, Box<Outcome>> {
        let interpreter = ContentHash::of_parts([interpreter.to_string(), format!("{limits:?}")]);
        let loading = &device.inputs[points.interpreter..points.candidate];
        let parts = loading.iter().map(|input| input.to_vec());
        let candidate = ContentHash::of_parts(
            // What the candidate reads while it is loaded.
            [interpreter.to_string().into_bytes(), program.stdin.to_vec()]
                .into_iter()
                .chain(parts),
        );
        let loaded = pool.candidates.get(&candidate);
        let loaded = match loaded {
            Some(snapshot) => snapshot,
            None => {
                let first = match pool.interpreters.get(&interpreter) {
                    Some(snapshot) => snapshot,
                    None => {
                        // One thread makes it while the others that need it wait.
                        let _making = pool.making.lock().unwrap_or_else(PoisonError::into_inner);
                        match pool.interpreters.get(&interpreter) {
                            Some(snapshot) => snapshot,
                            None => {
                                let mut paused = program.clone();
                                let pause_at = Some(points.interpreter);
                                paused.device = Some(Device {
                                    pause_at,
                                    ..device.clone()
                                });
                                let Begun::Ready(mut simulation) =
                                    self.fresh(pool, &paused, limits)?
                                else {
                                    unreachable!("a fresh simulation has not ended")
                                };
                                let exit = simulation.run(expired);
                                if exit != Exit::Paused {
                                    return Ok(Begun::Ended(simulation, exit));
                                }
                                let snapshot = Arc::new(simulation.snapshot());
                                pool.give_back(simulation.into_engine());
                                pool.interpreters.put(interpreter, Arc::clone(&snapshot));
                                snapshot
                            }
                        }
                    }
                };
                let mut simulation = Simulation::resume(&first, pool.engine());
                // Nothing has been read of it so far.
                simulation.set_stdin(Arc::clone(&program.stdin));
                simulation
                    .resume_with(&device.inputs[points.interpreter..], Some(points.candidate));
                let exit = simulation.run(expired);
                if exit != Exit::Paused {
                    return Ok(Begun::Ended(simulation, exit));
                }
                let snapshot = Arc::new(simulation.snapshot());
                pool.candidates.put(candidate, snapshot);
                simulation.resume_with(&device.inputs[points.candidate..], None);
                return Ok(Begun::Ready(simulation));
            }
        };
        let mut simulation = Simulation::resume(&loaded, pool.engine());
        simulation.resume_with(&device.inputs[points.candidate..], None);
        Ok(Begun::Ready(simulation))
    }

    /// The program, with a world of its own.
    fn program(
        &self,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
    ) -> Result<Program, BackendFailure> {
        let nonce = nonce(artifact, self.options.seed);
        let device = artifact.device(nonce);
        let mut program = match artifact {
            Artifact::Elf(elf) => elf_program(elf)?,
            Artifact::Python(python) => self.python_program(python)?,
        };
        program.arguments.extend_from_slice(arguments);
        program.stdin = stdin.into();
        program.device = device;
        program.seed = self.options.seed;
        for (guest, host) in &self.options.roots {
            program
                .world
                .add_host_tree(guest, Arc::new(HostFolder::new(host)));
        }
        Ok(program)
    }

    fn python_program(&self, python: &PythonArtifact) -> Result<Program, BackendFailure> {
        let interpreter = &python.interpreter;
        let mut world = self.python_world(python)?;
        let script = format!("/job/{}", python.script_name);
        world.add_file(&script, Arc::clone(&python.script), false);
        let mut arguments = vec![interpreter.guest_executable.clone()];
        arguments.extend(Interpreter::FLAGS.iter().map(|flag| (*flag).to_owned()));
        arguments.push(script);
        // PYTHONHASHSEED has 32 bits; 0 means no randomisation, which is what seed 0 stands for.
        let hash_seed = (self.options.seed % (1 << 32)) as u32;
        let environment = Interpreter::environment(
            Interpreter::GUEST_PREFIX,
            interpreter
                .packages
                .as_ref()
                .map(|_| Interpreter::GUEST_PACKAGES),
            hash_seed,
        )
        .into_iter()
        .map(|(name, value)| format!("{name}={value}").into_bytes())
        .collect();
        Ok(Program {
            path: interpreter.guest_executable.clone(),
            arguments: arguments.into_iter().map(String::into_bytes).collect(),
            environment,
            stdin: Arc::from([]),
            world,
            device: None,
            seed: 0,
        })
    }

    /// Interpreter, libraries and standard library; made once.
    fn python_world(&self, python: &PythonArtifact) -> Result<World, BackendFailure> {
        let interpreter = &python.interpreter;
        let key = python.fingerprint.content_hash();
        let mut kept = self
            .python_worlds
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((of, world)) = &*kept
            && *of == key
        {
            return Ok(world.clone());
        }
        let mut world = World::new();
        add_files(&mut world, &interpreter.libraries)?;
        let cache = &self.options.cache;
        let library = PythonLibrary::standard(Arc::clone(interpreter), cache);
        world.add_host_tree(&interpreter.guest_library, Arc::new(library));
        if let Some(folder) = &interpreter.packages {
            let guest = Interpreter::GUEST_PACKAGES;
            let packages =
                PythonLibrary::packages(folder, guest.to_owned(), Arc::clone(interpreter), cache);
            world.add_host_tree(guest, Arc::new(packages));
        }
        *kept = Some((key, world.clone()));
        Ok(world)
    }

    /// Runs an artifact one way or another.
    pub(super) fn run_by(
        &self,
        way: Way,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Measurement, BackendFailure> {
        let program = self.program(artifact, arguments, stdin)?;
        let points = match artifact {
            Artifact::Python(python) => python.snapshot_points(),
            Artifact::Elf(_) => None,
        };
        let warm = points.map(|points| (artifact.fingerprint().content_hash(), points));
        let (outcome, inputs_read) = self.outcome(&program, warm, limits, way);
        match (&outcome.exit, points, artifact) {
            (Exit::WallClock | Exit::LoadFailed { .. }, ..) => {}
            // Nothing of the candidate is known by then: its verdict cannot depend on what happened.
            (exit, Some(points), _) if inputs_read <= points.interpreter => {
                return Err(not_begun(exit));
            }
            (Exit::Exited { code: 0 }, ..) => {}
            (_, None, Artifact::Python(python)) => self.check_empty_script(python, limits)?,
            _ => {}
        }
        Ok(self.measurement(outcome))
    }

    fn outcome(
        &self,
        program: &Program,
        warm: Option<(ContentHash, SnapshotPoints)>,
        limits: &Limits,
        way: Way,
    ) -> (Outcome, usize) {
        match &self.kind {
            Kind::Atomic(pool) => self.simulate(pool, program, warm, limits, way),
            Kind::Simple(pool) => self.simulate(pool, program, warm, limits, way),
            Kind::Blocking(pool) => self.simulate(pool, program, warm, limits, way),
            Kind::OutOfOrder(pool) => self.simulate(pool, program, warm, limits, way),
        }
    }

    /// Whether the interpreter comes through a script without a line under these limits. Asked when a script of a
    /// candidate has failed, which has no driver that would tell how far it came.
    fn check_empty_script(
        &self,
        python: &PythonArtifact,
        limits: &Limits,
    ) -> Result<(), BackendFailure> {
        let interpreter = python.fingerprint.content_hash().to_string();
        let key = ContentHash::of_parts([interpreter, format!("{limits:?}")]);
        let exit = match self.empty_scripts.get(&key) {
            Some(exit) => exit,
            None => {
                let empty = Artifact::Python(python.without_a_line());
                let program = self.program(&empty, &[], &[])?;
                let (outcome, _) = self.outcome(&program, None, limits, Way::Unbroken);
                let exit = Arc::new(outcome.exit);
                self.empty_scripts.put(key, Arc::clone(&exit));
                exit
            }
        };
        match &*exit {
            Exit::Exited { code: 0 } => Ok(()),
            exit => Err(not_begun(exit)),
        }
    }

    fn measurement(&self, outcome: Outcome) -> Measurement {
        Measurement {
            backend: BackendName::Sim,
            machine: self.options.machine.name.clone(),
            exit: outcome.exit,
            counters: outcome.counters,
            regions: outcome.regions,
            region_cpu_time_ns: Vec::new(),
            open_region: outcome.open_region,
            messages: outcome.messages,
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            unanswered_system_calls: outcome.unanswered_system_calls,
            clock_read: outcome.clock_read,
        }
    }
}

impl Backend for Sim {
    fn name(&self) -> BackendName {
        BackendName::Sim
    }

    fn machine(&self) -> &str {
        &self.options.machine.name
    }

    fn run_with_arguments(
        &self,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Measurement, BackendFailure> {
        let way = if self.options.snapshots {
            Way::Kept
        } else {
            Way::Unbroken
        };
        self.run_by(way, artifact, arguments, stdin, limits)
    }
}

/// The interpreter and its modules came to an end before the candidate was read.
fn not_begun(exit: &Exit) -> BackendFailure {
    let (how, remedy) = match exit {
        Exit::InstructionLimit => (
            "reached the instruction limit",
            "raise `--max-instructions`",
        ),
        Exit::MemoryLimit => ("reached the memory limit", "raise `--max-memory`"),
        Exit::StackOverflow { .. } => ("reached the stack limit", "raise `--max-stack`"),
        _ => (
            "ended",
            "check the interpreter with `tickmark doctor`, and `tickmark run -- python3` with a script",
        ),
    };
    BackendFailure {
        what: format!("the interpreter {how} before it read the candidate ({exit:?})"),
        remedy: remedy.to_owned(),
    }
}

/// The driver's nonce: what an artifact's driver is and the seed decide it, so that runs repeat.
fn nonce(artifact: &Artifact, seed: u64) -> [u8; 16] {
    let driver = match artifact {
        Artifact::Elf(elf) => elf.content_hash,
        // All candidates of an interpreter share the snapshot that already holds the nonce.
        Artifact::Python(python) => python.fingerprint.content_hash(),
    };
    let hash =
        ContentHash::of_parts([driver.to_string().into_bytes(), seed.to_le_bytes().to_vec()])
            .to_string();
    let mut nonce = [0; 16];
    nonce.copy_from_slice(&hash.as_bytes()[..16]);
    nonce
}

/// Where a program without a name of its own stands in the guest: its host path must not change its counts.
pub(super) const PROGRAM_PATH: &str = "/job/program";

fn elf_program(elf: &ElfArtifact) -> Result<Program, BackendFailure> {
    let mut world = World::new();
    add_files(&mut world, &elf.libraries)?;
    world.add_file(PROGRAM_PATH, Arc::clone(&elf.bytes), true);
    Ok(Program {
        path: PROGRAM_PATH.to_owned(),
        arguments: vec![elf.name.to_vec()],
        environment: Vec::new(),
        stdin: Arc::from([]),
        world,
        device: None,
        seed: 0,
    })
}

fn add_files(world: &mut World, files: &[GuestFile]) -> Result<(), BackendFailure> {
    for file in files {
        let content = std::fs::read(&file.host).map_err(|error| BackendFailure {
            what: format!("cannot read `{}`: {error}", file.host.display()),
            remedy:
                "the file was there when the toolchain was looked up: run again, or reinstall it"
                    .to_owned(),
        })?;
        world.add_file(&file.guest, content.into(), true);
    }
    Ok(())
}

fn load_failure(reason: String) -> Outcome {
    Outcome {
        exit: Exit::LoadFailed { reason },
        counters: Default::default(),
        regions: Vec::new(),
        open_region: false,
        messages: Vec::new(),
        stdout: Vec::new(),
        stderr: Vec::new(),
        unanswered_system_calls: Vec::new(),
        clock_read: false,
    }
}
