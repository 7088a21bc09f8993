//! The guest process: its program image, its first stack, its kernel and the files that it sees.
//!
//! | file | what |
//! |---|---|
//! | [`world`] | the files that the guest can see, given by the backend |
//! | [`profile`] | what CPUID answers and where things lie |
//! | `elf` | reading and mapping executables and their interpreters |
//! | `stack` | the initial stack |
//! | `symbols` | names of functions, for reports |
//! | [`kernel`] | system calls and faults |
//! | `abi` | the numbers of Linux on x86-64 |
//!
//! [`load`] makes a [`Guest`] of a program; the run loop executes its instructions and calls [`Kernel::syscall`] and
//! [`Kernel::fault`]. Everything is a function of the program, the limits, the profile and the time that the run loop
//! tells: no file, clock, environment or randomness of the host.
mod abi;
mod elf;
pub mod kernel;
pub mod profile;
mod stack;
mod symbols;
pub mod world;

use super::isa::state::{Cpu, RSP};
use super::memory::{Backing, Memory, PAGE_SIZE, Protection, Purpose};
use super::outcome::{Limits, Program};
use elf::{Image, Kind};
use kernel::{Entropy, Kernel, Layout, STACK_GUARD, Start};
use profile::Profile;
use std::sync::Arc;
use world::{Node, World};

/// Scripts may name scripts as their interpreters, this deep.
const MAX_SCRIPT_DEPTH: usize = 5;
/// Longest first line of a script, bytes.
const MAX_SCRIPT_LINE: usize = 256;
/// Most links that are followed from a path to a file.
const MAX_LINKS: usize = 40;
/// Smallest and largest stack that can be laid out, bytes.
const STACK_RANGE: std::ops::RangeInclusive<u64> = 16 * PAGE_SIZE..=1 << 44;

/// Why a program could not be loaded, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct LoadError {
    /// Guest path of the file that is at fault.
    pub path: String,
    /// What is wrong and what to do.
    pub reason: String,
}

/// A process: registers, memory, kernel.
#[derive(Debug)]
pub struct Guest {
    /// The registers.
    pub cpu: Cpu,
    /// The address space.
    pub mem: Memory,
    /// The kernel's side.
    pub kernel: Kernel,
}

impl Guest {
    /// A copy that shares every page until one side writes to it.
    #[must_use]
    pub fn snapshot(&mut self) -> Self {
        Self {
            cpu: self.cpu.clone(),
            mem: self.mem.snapshot(),
            kernel: self.kernel.clone(),
        }
    }

    /// A copy of a guest that has not run since its snapshot was taken.
    ///
    /// # Panics
    /// If it has run (see [`Memory::fork_frozen`]).
    #[must_use]
    pub fn fork_frozen(&self) -> Self {
        Self {
            cpu: self.cpu.clone(),
            mem: self.mem.fork_frozen(),
            kernel: self.kernel.clone(),
        }
    }
}

/// A program with its script lines followed to an ELF file.
struct Target {
    path: String,
    content: Arc<[u8]>,
    arguments: Vec<Vec<u8>>,
    /// Files read on the way.
    read: Vec<String>,
}

/// Loads a program: maps it and its interpreter, builds its stack, sets its registers.
///
/// # Errors
/// What is wrong with the program or the limits, and what to do.
pub fn load(program: &Program, limits: &Limits, profile: &Profile) -> Result<Guest, LoadError> {
    let mut entropy = Entropy::new(program.seed);
    let find = |path: &str| file(&program.world, path);
    let request = Request {
        path: &program.path,
        arguments: &program.arguments,
        environment: &program.environment,
        find: &find,
    };
    let loaded = prepare(&request, &mut entropy, limits, profile)?;
    let mut kernel = Kernel::new(
        program,
        limits,
        profile,
        loaded.layout,
        loaded.start,
        entropy,
    );
    for path in &loaded.read {
        kernel.note_read(path);
    }
    Ok(Guest {
        cpu: loaded.cpu,
        mem: loaded.mem,
        kernel,
    })
}

/// Finds a regular file by its path: canonical path and content.
type Find<'a> = dyn Fn(&str) -> Option<(String, Arc<[u8]>)> + 'a;

/// A program that is to be started.
struct Request<'a> {
    path: &'a str,
    arguments: &'a [Vec<u8>],
    environment: &'a [Vec<u8>],
    find: &'a Find<'a>,
}

/// A program in memory, before its first instruction.
struct Prepared {
    cpu: Cpu,
    mem: Memory,
    layout: Layout,
    start: Start,
    /// Files that were read.
    read: Vec<String>,
}

/// Maps a program and its interpreter, builds its stack, sets its registers.
fn prepare(
    program: &Request<'_>,
    entropy: &mut Entropy,
    limits: &Limits,
    profile: &Profile,
) -> Result<Prepared, LoadError> {
    let target = find(program)?;
    let at = |path: &str| {
        let path = path.to_owned();
        move |reason: String| LoadError { path, reason }
    };
    let image = elf::parse(Arc::clone(&target.content)).map_err(at(&target.path))?;
    let mut random = [0; 16];
    entropy.fill(&mut random);

    let mut mem = Memory::new(limits.memory_bytes);
    let strings = stack::Strings {
        executable: program.path.as_bytes(),
        arguments: &target.arguments,
        environment: program.environment,
        random,
    };
    let (stack_bottom, mmap_top) =
        map_stack(&mut mem, &image, limits, profile, &strings).map_err(at(&target.path))?;

    let mut read = target.read;
    let wanted = (image.kind == Kind::PositionIndependent).then_some(profile.pie_base);
    let placed = image
        .map(&mut mem, &target.path, wanted, mmap_top)
        .map_err(at(&target.path))?;
    let mut interpreter_base = 0;
    let mut entry = placed.entry;
    if let Some(path) = &image.interpreter {
        let (real, content) = (program.find)(path).ok_or_else(|| LoadError {
            path: target.path.clone(),
            reason: format!(
                "its interpreter {path} is not among the guest's files: build the program with -static, or make the \
                 directory of its libraries visible to the guest"
            ),
        })?;
        let interpreter = elf::parse(content).map_err(at(path))?;
        let place = interpreter
            .map(&mut mem, &real, None, mmap_top)
            .map_err(at(path))?;
        interpreter_base = place.bias;
        entry = place.entry;
        read.push(real);
    }

    let loaded = stack::Loaded {
        headers: placed.headers,
        header_count: image.header_count,
        interpreter_base,
        entry: placed.entry,
    };
    let built = stack::build(&mut mem, profile, strings, loaded).map_err(|_| {
        at(&target.path)(
            "the memory limit is too small to start it: raise the memory limit".to_owned(),
        )
    })?;

    let mut cpu = Cpu::new(Arc::clone(&profile.cpuid));
    cpu.rip = entry;
    cpu.gpr[RSP] = built.pointer;
    let layout = Layout {
        heap_start: placed.end,
        heap_end: placed.end,
        mmap_top,
        stack_bottom,
        stack_top: profile.stack_top,
        stack_pointer: built.pointer,
    };
    let joined = |strings: &[Vec<u8>]| -> Arc<[u8]> {
        strings
            .iter()
            .flat_map(|s| s.iter().copied().chain([0]))
            .collect::<Vec<u8>>()
            .into()
    };
    let start = Start {
        arguments: joined(&target.arguments),
        environment: joined(program.environment),
        auxv: built.auxv.into(),
        executable: target.path,
    };
    Ok(Prepared {
        cpu,
        mem,
        layout,
        start,
        read,
    })
}

/// Maps the stack as one region; its lowest address and the top of what may be mapped below its guard zone.
fn map_stack(
    mem: &mut Memory,
    image: &Image,
    limits: &Limits,
    profile: &Profile,
    strings: &stack::Strings<'_>,
) -> Result<(u64, u64), String> {
    if !STACK_RANGE.contains(&limits.stack_bytes) {
        return Err(format!(
            "a stack of {} bytes cannot be laid out: set the stack limit between {} bytes and {} bytes",
            limits.stack_bytes,
            STACK_RANGE.start(),
            STACK_RANGE.end()
        ));
    }
    let size = limits
        .stack_bytes
        .min(profile.stack_bytes)
        .next_multiple_of(PAGE_SIZE);
    // Linux gives arguments and environment a quarter of the stack.
    if strings.size() > size / 4 {
        return Err(format!(
            "its arguments and environment need {} bytes, but may take a quarter of the stack of {size}: pass fewer, or \
             raise the stack limit",
            strings.size()
        ));
    }
    let bottom = profile.stack_top - size;
    let mut protection = Protection::READ_WRITE;
    if image.executable_stack {
        protection = protection.union(Protection::EXECUTE);
    }
    mem.map(bottom, size, protection, Backing::Anonymous, Purpose::Stack);
    Ok((bottom, profile.mmap_top.min(bottom - STACK_GUARD.min(size))))
}

/// Finds the program's ELF file, following `#!` lines as Linux does.
fn find(program: &Request<'_>) -> Result<Target, LoadError> {
    let mut path = program.path.to_owned();
    let mut arguments = program.arguments.to_vec();
    let mut read = Vec::new();
    for depth in 0..MAX_SCRIPT_DEPTH {
        let error = |reason: String| LoadError {
            path: path.clone(),
            reason,
        };
        let Some((real, content)) = (program.find)(&path) else {
            return Err(error(match depth {
                0 => "not found among the guest's files: name a file that the guest can see"
                    .to_owned(),
                _ => format!(
                    "interpreter {path} not found among the guest's files: the first line of {} names it; make it \
                     visible to the guest or change that line",
                    program.path
                ),
            }));
        };
        read.push(real.clone());
        let Some(line) = content.strip_prefix(b"#!") else {
            if !elf::is_elf(&content) {
                return Err(error(not_a_program(&content)));
            }
            return Ok(Target {
                path: real,
                content,
                arguments,
                read,
            });
        };
        let line = &line[..line.len().min(MAX_SCRIPT_LINE)];
        let line = line
            .split(|&b| b == b'\n')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        let mut words = line.splitn(2, |b| b.is_ascii_whitespace());
        let interpreter = words.next().filter(|w| !w.is_empty());
        let interpreter = interpreter
            .and_then(|w| std::str::from_utf8(w).ok())
            .ok_or_else(|| {
                error(
                    "its first line starts with #! but names no interpreter: write one behind it"
                        .to_owned(),
                )
            })?;
        // Linux passes the rest of the line as one argument, then the script's path in place of argv[0].
        let mut next = vec![interpreter.as_bytes().to_vec()];
        next.extend(
            words
                .next()
                .map(|w| w.trim_ascii().to_vec())
                .filter(|w| !w.is_empty()),
        );
        next.push(path.clone().into_bytes());
        next.extend(arguments.into_iter().skip(1));
        arguments = next;
        path = interpreter.to_owned();
    }
    Err(LoadError {
        path: program.path.to_owned(),
        reason: format!(
            "scripts that name scripts as interpreters more than {MAX_SCRIPT_DEPTH} deep: name a program"
        ),
    })
}

fn not_a_program(content: &[u8]) -> String {
    let kind = match content {
        [] => "the file is empty",
        [b'M', b'Z', ..] => "a Windows program",
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => {
            "a macOS program or a Java class"
        }
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "a library archive (.a)",
        _ => "neither an ELF file nor a script with a #! line",
    };
    format!("{kind}: the guest runs x86-64 Linux programs")
}

/// The regular file that a path of the world leads to, with its canonical path.
fn file(world: &World, path: &str) -> Option<(String, Arc<[u8]>)> {
    let start = if path.starts_with('/') {
        "/"
    } else {
        world.working_directory()
    };
    let mut at = start.to_owned();
    let mut ahead: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                at = world::parent(&at).unwrap_or("/").to_owned();
                continue;
            }
            _ => {}
        }
        let child = world::join(&at, &name);
        match world.lookup(&child)? {
            Node::Directory => at = child,
            Node::Symlink { target } => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                if target.starts_with('/') {
                    at = "/".to_owned();
                }
                ahead.extend(target.split('/').rev().map(str::to_owned));
            }
            Node::File { content, .. } => {
                return ahead
                    .iter()
                    .all(String::is_empty)
                    .then_some((child, content));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::isa::state::RAX;

    fn program(path: &str) -> Program {
        Program {
            path: path.to_owned(),
            arguments: vec![path.as_bytes().to_vec(), b"argument".to_vec()],
            environment: Vec::new(),
            stdin: Arc::from([]),
            world: World::new(),
            device: None,
            seed: 3,
        }
    }

    fn loaded(program: &Program) -> Result<Guest, LoadError> {
        load(program, &Limits::default(), &Profile::x86_64_v2())
    }

    fn reason(program: &Program) -> String {
        loaded(program).expect_err("it must be refused").to_string()
    }

    fn argument(guest: &mut Guest, number: u64) -> Vec<u8> {
        let pointer = guest
            .mem
            .read::<u64>(guest.cpu.gpr[RSP] + 8 + 8 * number)
            .unwrap();
        guest.mem.copy_c_string(pointer, 1000).unwrap().unwrap()
    }

    #[test]
    fn what_cannot_run_is_refused_with_its_reason() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "empty"),
            (b"MZ\x90", "Windows"),
            (b"!<arch>\n", "archive"),
            (b"hello", "neither an ELF"),
            (b"#!\n", "names no interpreter"),
            (
                b"#!/no/such/python3\n",
                "interpreter /no/such/python3 not found",
            ),
            (b"#!/x\n", "more than 5 deep"),
            (b"\x7fELF", "truncated"),
        ];
        for (content, part) in cases {
            let mut program = program("/x");
            program.world.add_file("/x", (*content).into(), true);
            let text = reason(&program);
            assert!(text.contains(part), "{text:?} should say {part:?}");
        }
        assert!(reason(&program("/nope")).contains("/nope: not found"));
        assert!(reason(&program("/tmp")).contains("not found"));
        let mut small = program("/x");
        small
            .world
            .add_file("/x", elf::tests::executable(b"").into(), true);
        let limits = Limits {
            stack_bytes: 100,
            ..Limits::default()
        };
        let text = load(&small, &limits, &Profile::x86_64_v2())
            .unwrap_err()
            .to_string();
        assert!(text.contains("stack of 100 bytes"), "{text}");
        let limits = Limits {
            memory_bytes: 4096,
            ..Limits::default()
        };
        let text = load(&small, &limits, &Profile::x86_64_v2())
            .unwrap_err()
            .to_string();
        assert!(text.contains("memory limit"), "{text}");
        small.arguments = vec![vec![b'x'; 1 << 20]; 80];
        assert!(reason(&small).contains("arguments and environment"));
    }

    #[test]
    fn a_missing_dynamic_linker_is_named() {
        // A second program header, PT_INTERP, whose path stands at the end of the file.
        let path = b"/lib64/ld.so\0";
        let mut file = elf::tests::executable(&[0; 64]);
        elf::tests::put(&mut file, 56, &2u16.to_le_bytes());
        elf::tests::put(&mut file, 120, &3u32.to_le_bytes());
        let at = file.len() as u64;
        elf::tests::put(&mut file, 128, &at.to_le_bytes());
        elf::tests::put(&mut file, 152, &(path.len() as u64).to_le_bytes());
        file.extend_from_slice(path);
        let mut program = program("/x");
        program.world.add_file("/x", file.into(), true);
        assert!(reason(&program).contains("its interpreter /lib64/ld.so is not among"));
        // With one, execution starts there.
        let mut linker = elf::tests::executable(b"\x0f\x05");
        elf::tests::put(&mut linker, 16, &3u16.to_le_bytes());
        elf::tests::put(&mut linker, 24, &0x78u64.to_le_bytes());
        elf::tests::put(&mut linker, 80, &0u64.to_le_bytes());
        program
            .world
            .add_file("/lib/ld-real.so", linker.into(), true);
        program
            .world
            .add_symlink("/lib64/ld.so", "../lib/ld-real.so");
        let guest = loaded(&program).unwrap();
        let top = Profile::x86_64_v2().stack_top - (256 << 20) - STACK_GUARD;
        assert_eq!(guest.cpu.rip, top - PAGE_SIZE + 0x78);
        let read: Vec<&str> = guest.kernel.read_set().iter().map(String::as_str).collect();
        assert_eq!(read, ["/lib/ld-real.so", "/x"]);
    }

    #[test]
    fn a_script_runs_its_interpreter_with_its_line() {
        let mut program = program("script");
        program.world.add_file(
            "/tmp/script",
            b"#! /usr/bin/tool  -a  b \nrest"[..].into(),
            true,
        );
        program
            .world
            .add_file("/usr/bin/tool", elf::tests::executable(b"").into(), true);
        let mut guest = loaded(&program).unwrap();
        let arguments: Vec<Vec<u8>> = (0..4).map(|i| argument(&mut guest, i)).collect();
        assert_eq!(
            arguments,
            [&b"/usr/bin/tool"[..], b"-a  b", b"script", b"argument"]
        );
    }

    #[test]
    fn the_first_state_depends_on_the_program_alone() {
        let mut program = program("/x");
        program
            .world
            .add_file("/x", elf::tests::executable(b"\x0f\x05").into(), true);
        let (one, two) = (loaded(&program).unwrap(), loaded(&program).unwrap());
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
        assert_eq!((one.cpu.rip, one.cpu.gpr[RSP] % 16), (0x40_0078, 0));
        assert_eq!(one.cpu.gpr[RAX], 0);
    }

    #[test]
    fn snapshots_do_not_see_each_other() {
        let mut program = program("/x");
        program
            .world
            .add_file("/x", elf::tests::executable(b"\x0f\x05").into(), true);
        let mut guest = loaded(&program).unwrap();
        let frozen = guest.snapshot();
        let mut fork = frozen.fork_frozen();
        fork.mem.copy_in(fork.cpu.gpr[RSP], &[9]).unwrap();
        fork.kernel.stdout.push(1);
        assert_eq!(guest.mem.read::<u8>(guest.cpu.gpr[RSP]).unwrap(), 2, "argc");
        assert!(guest.kernel.stdout.is_empty() && frozen.kernel.stdout.is_empty());
    }
}
