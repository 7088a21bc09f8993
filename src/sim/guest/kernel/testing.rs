//! A process for tests that makes system calls by setting registers, without executing instructions.
use super::super::profile::Profile;
use super::super::{Guest, elf, load};
use super::{Control, Now, names};
use crate::sim::guest::world::World;
use crate::sim::isa::state::{RAX, RDI, RDX, RSI};
use crate::sim::memory::{Backing, Protection, Purpose};
use crate::sim::outcome::{Exit, Limits, Program};
use std::sync::Arc;

/// Where the test's own memory lies, and how much of it there is.
pub(super) const SCRATCH: u64 = 0x10_0000_0000;
/// Bytes of [`SCRATCH`].
pub(super) const SCRATCH_SIZE: u64 = 1 << 20;

/// A process.
pub(super) struct Process {
    pub(super) guest: Guest,
    pub(super) now: Now,
    next_scratch: u64,
}

/// A program of one instruction in a world with one file more than the base.
pub(super) fn program() -> Program {
    let mut world = World::new();
    world.add_file(
        "/bin/prog",
        elf::tests::executable(b"\x0f\x05").into(),
        true,
    );
    Program {
        path: "/bin/prog".to_owned(),
        arguments: vec![b"prog".to_vec()],
        environment: vec![b"LANG=C".to_vec()],
        stdin: Arc::from(*b"first\nsecond\n"),
        world,
        device: None,
        seed: 1,
    }
}

/// Limits that are quickly reached.
pub(super) fn limits() -> Limits {
    Limits {
        memory_bytes: 64 << 20,
        stack_bytes: 1 << 20,
        output_bytes: 1000,
        ..Limits::default()
    }
}

impl Process {
    pub(super) fn new() -> Self {
        Self::of(&program(), &limits())
    }

    pub(super) fn of(program: &Program, limits: &Limits) -> Self {
        let mut guest = load(program, limits, &Profile::x86_64_v2()).unwrap();
        guest.mem.map(
            SCRATCH,
            SCRATCH_SIZE,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
        Self {
            guest,
            now: Now::default(),
            next_scratch: SCRATCH,
        }
    }

    /// Makes a system call.
    pub(super) fn control(&mut self, name: &str, arguments: &[u64]) -> Control {
        let Guest { cpu, mem, kernel } = &mut self.guest;
        cpu.gpr[RAX] = names::number(name);
        for (register, value) in [RDI, RSI, RDX, 10, 8, 9].into_iter().zip(arguments) {
            cpu.gpr[register] = *value;
        }
        kernel.syscall(cpu, mem, self.now)
    }

    /// Makes a system call that comes back; its result.
    pub(super) fn call(&mut self, name: &str, arguments: &[u64]) -> i64 {
        assert_eq!(
            self.control(name, arguments),
            Control::Continue,
            "{name} {arguments:x?}"
        );
        self.guest.cpu.gpr[RAX] as i64
    }

    /// Makes a system call that must succeed.
    pub(super) fn succeed(&mut self, name: &str, arguments: &[u64]) -> u64 {
        let result = self.call(name, arguments);
        u64::try_from(result).unwrap_or_else(|_| panic!("{name} {arguments:x?} gave {result}"))
    }

    /// Makes a system call that ends the run.
    pub(super) fn exit(&mut self, name: &str, arguments: &[u64]) -> Exit {
        match self.control(name, arguments) {
            Control::Exit(exit) => exit,
            other => panic!(
                "{name} gave {other:?} and RAX {:x}",
                self.guest.cpu.gpr[RAX]
            ),
        }
    }

    /// A buffer with this content.
    pub(super) fn bytes(&mut self, content: &[u8]) -> u64 {
        let at = self.next_scratch;
        self.next_scratch = (at + content.len() as u64).next_multiple_of(16);
        assert!(
            self.next_scratch <= SCRATCH + SCRATCH_SIZE,
            "the test's memory is used up"
        );
        self.guest.mem.copy_in(at, content).unwrap();
        at
    }

    /// A string with its terminating zero.
    pub(super) fn text(&mut self, text: &str) -> u64 {
        self.bytes(format!("{text}\0").as_bytes())
    }

    /// What stands in guest memory.
    pub(super) fn get(&mut self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.guest.mem.copy_out(at, &mut bytes).unwrap();
        bytes
    }

    /// Makes a call with a path as its first argument.
    pub(super) fn at_path(&mut self, name: &str, path: &str, rest: &[u64]) -> i64 {
        let mut arguments = vec![self.text(path)];
        arguments.extend(rest);
        self.call(name, &arguments)
    }

    /// Opens a file.
    pub(super) fn open(&mut self, path: &str, flags: u32) -> u64 {
        let fd = self.at_path("open", path, &[flags.into(), 0o644]);
        u64::try_from(fd).unwrap_or_else(|_| panic!("open {path} gave {fd}"))
    }

    /// Makes a file with this content.
    pub(super) fn file(&mut self, path: &str, content: &[u8]) {
        let fd = self.open(
            path,
            super::abi::O_CREAT | super::abi::O_WRONLY | super::abi::O_TRUNC,
        );
        let at = self.bytes(content);
        assert_eq!(
            self.call("write", &[fd, at, content.len() as u64]),
            content.len() as i64
        );
        self.call("close", &[fd]);
    }

    /// The whole content of a file.
    pub(super) fn content(&mut self, path: &str) -> Vec<u8> {
        let fd = self.open(path, 0);
        let at = self.bytes(&[0; 4096]);
        let mut all = Vec::new();
        loop {
            let n = self.succeed("read", &[fd, at, 4096]) as usize;
            all.extend(self.get(at, n));
            if n == 0 {
                break;
            }
        }
        self.call("close", &[fd]);
        all
    }
}

/// The result of a call that fails with this error.
pub(super) fn failed(errno: super::abi::Errno) -> i64 {
    -i64::from(errno.0)
}
