//! Microbenchmarks: loops that show one feature each, with the cycles an iteration that follow by hand from a machine.
//!
//! Each is a freestanding executable made here, without a compiler: a set-up, a loop whose first instruction begins a
//! line of 64 bytes, and an exit. What is counted lies between the ends of two iterations of one run, so start and end
//! cost nothing and the counts are exact.
mod elf;
mod expected;
mod list;
mod list_memory;

pub use list::all;

use super::{CalibrateError, cycles_between, profile_of, run};
use crate::sim::guest::profile::Profile;
use crate::sim::guest::world::World;
use crate::sim::machine::{AtomicCore, Machine, MicroOpTable, catalog};
use crate::sim::outcome::Program;
use crate::sim::uarch::atomic::Atomic;
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, eax, edi, r15d, rdi};
use rayon::prelude::*;

/// First address of the code.
pub const CODE: u64 = 0x40_1000;
/// First address of the data: 32 MiB of zeros.
pub const DATA: u64 = 0x1000_0000;
/// Bytes of it.
pub const DATA_BYTES: u64 = 32 << 20;
const LINE: usize = 64;
/// Iterations that warm everything up, and those that are measured: a multiple of the periods that occur.
const WARM: u32 = 960;
/// Iterations measured.
pub const ITERATIONS: u32 = 960;

/// XOR, MOV and SYSCALL behind the loop.
const EXIT_INSTRUCTIONS: u64 = 3;

type Code = fn(&mut CodeAssembler) -> Result<(), IcedError>;

/// What a microbenchmark takes on a machine, computed by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The microbenchmark, by its name.
    pub benchmark: &'static str,
    /// The machine, by its name.
    pub machine: &'static str,
    /// Cycles that [`Expected::iterations`] take.
    pub cycles: u64,
    /// For averages that are no whole numbers.
    pub iterations: u64,
    /// How they add up.
    pub arithmetic: &'static str,
}

/// One microbenchmark.
#[derive(Clone, Copy, Debug)]
pub struct Microbenchmark {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub feature: &'static str,
    /// Runs once. RDI is [`DATA`]; R15 is not its.
    setup: Code,
    /// Runs once an iteration; R15 is not its.
    body: Code,
}

impl Microbenchmark {
    /// The microbenchmark of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        all().iter().find(|m| m.name == name)
    }

    /// What was computed for a built-in machine.
    pub fn expected(&self, machine: &str) -> Option<Expected> {
        expected::EXPECTED
            .iter()
            .copied()
            .find(|e| e.benchmark == self.name && e.machine == machine)
    }

    /// The executable that makes so many iterations (at least one).
    pub fn executable(&self, iterations: u32) -> Vec<u8> {
        elf::file(&self.code(iterations).expect(
            "the code of a microbenchmark does not depend on input, and a test assembles each",
        ))
    }

    fn code(&self, iterations: u32) -> Result<Vec<u8>, IcedError> {
        let mut a = CodeAssembler::new(64)?;
        a.mov(rdi, DATA)?;
        a.mov(r15d, iterations)?;
        (self.setup)(&mut a)?;
        let mut code = a.assemble(CODE)?;
        code.resize(code.len().next_multiple_of(LINE), 0x90);
        let mut a = CodeAssembler::new(64)?;
        let mut top = a.create_label();
        a.set_label(&mut top)?;
        (self.body)(&mut a)?;
        a.dec(r15d)?;
        a.jnz(top)?;
        a.xor(edi, edi)?;
        a.mov(eax, 60)?;
        a.syscall()?;
        code.extend(a.assemble(CODE + code.len() as u64)?);
        Ok(code)
    }

    /// The program that a simulator runs.
    pub fn program(&self, iterations: u32) -> Program {
        let path = self.name.to_owned();
        let mut world = World::new();
        world.add_file(
            &format!("/{path}"),
            self.executable(iterations).into(),
            true,
        );
        world.set_working_directory("/");
        Program {
            path: path.clone(),
            arguments: vec![path.into_bytes()],
            environment: Vec::new(),
            stdin: Vec::new().into(),
            world,
            device: None,
            seed: 0,
        }
    }

    /// Cycles that [`ITERATIONS`] iterations take on a machine once warm: between the commits of two loop branches.
    ///
    /// # Errors
    /// The run did not end as it should, or the machine keeps no cycles.
    pub fn cycles(&self, machine: &Machine) -> Result<u64, CalibrateError> {
        let count = |profile: &Profile, iterations| {
            let core = AtomicCore {
                frequency_hz: machine.frequency_hz(),
                micro_ops: MicroOpTable::Hardware,
            };
            run(Atomic::new(&core), &self.program(iterations), profile)
                .map(|outcome| outcome.counters.instructions - EXIT_INSTRUCTIONS)
        };
        profile_of(machine)
            .and_then(|profile| {
                let marks = [count(&profile, WARM)?, count(&profile, WARM + ITERATIONS)?];
                // One more, so that none of what is measured knows of the end.
                let program = self.program(WARM + ITERATIONS + 1);
                cycles_between(machine, &program, &profile, marks)
            })
            .map_err(|what| CalibrateError::Run {
                program: self.name.to_owned(),
                machine: machine.name.clone(),
                what,
            })
    }
}

/// A microbenchmark on a machine.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Which.
    pub benchmark: &'static Microbenchmark,
    /// What was computed by hand for this machine, if anything was.
    pub expected: Option<Expected>,
    /// Cycles that [`ITERATIONS`] iterations took.
    pub cycles: u64,
}

impl Measured {
    /// Cycles that were expected of [`ITERATIONS`] iterations.
    pub fn expected_cycles(&self) -> Option<f64> {
        self.expected
            .map(|e| (e.cycles * u64::from(ITERATIONS)) as f64 / e.iterations as f64)
    }

    /// Whether the count is what was computed, to the cycle.
    pub fn agrees(&self) -> bool {
        self.expected
            .is_none_or(|e| self.cycles * e.iterations == e.cycles * u64::from(ITERATIONS))
    }
}

/// Names of the machines for which something was computed by hand.
pub fn machines() -> Vec<&'static str> {
    let computed = |name: &str| expected::EXPECTED.iter().any(|e| e.machine == name);
    catalog::ENTRIES
        .iter()
        .map(|entry| entry.name)
        .filter(|name| computed(name))
        .collect()
}

/// Runs the microbenchmarks of these names, or all, on a machine, in parallel; the result is in the order of the list.
///
/// # Errors
/// The first run that did not end as it should.
pub fn measure(machine: &Machine, only: &[String]) -> Result<Vec<Measured>, CalibrateError> {
    // What was computed for a built-in machine holds for no variant of it.
    let built_in = catalog::machine(&machine.name).is_ok_and(|m| &m == machine);
    all()
        .par_iter()
        .filter(|benchmark| only.is_empty() || only.iter().any(|name| name == benchmark.name))
        .map(|benchmark| {
            let expected = benchmark.expected(&machine.name).filter(|_| built_in);
            Ok(Measured {
                benchmark,
                expected,
                cycles: benchmark.cycles(machine)?,
            })
        })
        .collect::<Vec<_>>()
        .into_iter()
        .collect()
}
