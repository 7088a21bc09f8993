//! Instruction counts of the simulator against single-stepping on the host processor.
use crate::support::single_step::{BASE, ENTRY, Steps, elf, single_step};
use iced_x86::IcedError;
use iced_x86::code_asm::*;
use object::{Object, ObjectSymbol};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use tickmark::sim::guest::profile::Profile;
use tickmark::sim::guest::world::World;
use tickmark::sim::isa::decode::Features;
use tickmark::sim::isa::run::Engine;
use tickmark::sim::machine::Core;
use tickmark::sim::outcome::{Device, Exit, Limits, Outcome, Program};
use tickmark::sim::simulation::Simulation;
use tickmark::sim::uarch::atomic::Atomic;

/// What the programs write before a region, after its kind.
const NONCE: [u8; 16] = *b"0123456789abcdef";

/// A folder of this process that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tickmark-counts-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder is writable");
        Self(path)
    }

    /// Stores a program.
    fn program(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.join("program");
        std::fs::write(&path, bytes).expect("our own folder");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("our own file");
        path
    }

    /// Compiles a C program, or says why this test is skipped.
    fn compile(&self, source: &str, options: &[&str]) -> Option<PathBuf> {
        let (from, to) = (self.0.join("source.c"), self.0.join("program"));
        std::fs::write(&from, source).expect("our own folder");
        let ran = Command::new("cc")
            .arg(&from)
            .arg("-o")
            .arg(&to)
            .args(options)
            .output();
        let Ok(ran) = ran else {
            println!("skipped: there is no C compiler `cc`");
            return None;
        };
        assert!(
            ran.status.success(),
            "cc: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        Some(to)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left-overs in a temporary folder harm nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a program in the simulator, without arguments and environment.
fn simulate(bytes: Vec<u8>) -> Outcome {
    let mut world = World::new();
    world.add_file("/program", bytes.into(), true);
    let program = Program {
        path: "/program".into(),
        arguments: vec![b"/program".to_vec()],
        environment: Vec::new(),
        stdin: Arc::new([]),
        world,
        device: Some(Device {
            nonce: NONCE,
            inputs: Vec::new(),
            pause_at: None,
        }),
        seed: 1,
    };
    let limits = Limits::default();
    let guest = tickmark::sim::guest::load(&program, &limits, &Profile::x86_64_v2());
    let machine = tickmark::sim::machine::catalog::machine("atomic").expect("built in");
    let Core::Atomic(core) = &machine.core else {
        panic!("`atomic` counts only")
    };
    let core = Atomic::new(core);
    let mut simulation = Simulation::new(guest, core, Engine::new(Features::default()), limits)
        .expect("the program loads");
    let exit = simulation.run(&|| false);
    simulation.outcome(exit)
}

/// Both counts of a whole program, which must agree.
fn agree(name: &str, path: &PathBuf) -> Steps {
    let steps = single_step(path, None).expect("the program can be stepped");
    let outcome = simulate(std::fs::read(path).expect("our own file"));
    assert_eq!(
        outcome.exit,
        Exit::Exited {
            code: steps.exit_code as u8
        },
        "{name}"
    );
    assert_eq!(outcome.counters.instructions, steps.instructions, "{name}");
    println!("{name}: {} instructions", steps.instructions);
    steps
}

fn assembled(name: &str, write: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>) -> Steps {
    let mut a = CodeAssembler::new(64).expect("64 is a mode");
    write(&mut a)
        .and_then(|()| {
            a.mov(edi, 3)?;
            a.mov(eax, 60)?;
            a.syscall()
        })
        .expect("the program is valid");
    let folder = Folder::new(name);
    let path = folder.program(&elf(
        &a.assemble(ENTRY).expect("the program assembles"),
        0x4000,
    ));
    agree(name, &path)
}

#[test]
fn every_rep_counts_once_in_the_simulator_and_on_the_host() {
    let buffer = BASE as u32 + 0x1000;
    for count in [0u32, 1, 50, 5000] {
        let steps = assembled(&format!("rep-{count}"), |a| {
            for i in 0..5 {
                a.mov(ecx, count)?;
                a.mov(edi, buffer)?;
                a.mov(esi, buffer + 0x1800)?;
                a.xor(eax, eax)?;
                match i {
                    0 => a.rep().stosb()?,
                    1 => a.rep().movsb()?,
                    2 => a.repe().cmpsb()?,
                    3 => a.repne().scasb()?,
                    _ => a.rep().lodsb()?,
                }
            }
            Ok(())
        });
        assert_eq!(steps.instructions, 5 * 5 + 3);
    }
}

#[test]
fn calls_loops_and_system_calls_count_alike() {
    let steps = assembled("calls", |a| {
        let mut fibonacci = a.create_label();
        let mut base = a.create_label();
        let mut start = a.create_label();
        a.jmp(start)?;
        a.set_label(&mut fibonacci)?;
        a.cmp(edi, 2)?;
        a.jb(base)?;
        a.push(rdi)?;
        a.dec(edi)?;
        a.call(fibonacci)?;
        a.pop(rdi)?;
        a.push(rax)?;
        a.sub(edi, 2)?;
        a.call(fibonacci)?;
        a.pop(rdx)?;
        a.add(eax, edx)?;
        a.ret()?;
        a.set_label(&mut base)?;
        a.mov(eax, edi)?;
        a.ret()?;
        a.set_label(&mut start)?;
        a.mov(edi, 12)?;
        a.call(fibonacci)?;
        // getpid, whose result is not looked at, some times
        let mut again = a.create_label();
        a.mov(ebx, 7)?;
        a.set_label(&mut again)?;
        a.mov(eax, 39)?;
        a.syscall()?;
        a.dec(ebx)?;
        a.jnz(again)
    });
    assert!(steps.instructions > 3000);
}

/// Work that no library routine takes part in: what the host's glibc chooses by CPUID would count differently.
const WORK: &str = r#"
static double matrix[3][6][6];
static unsigned char sieve[400];
static int numbers[60];
static char text[512], copy[512];
static void sort(int *a, int low, int high) {
    int i = low, j = high, pivot = a[(low + high) / 2];
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    if (low < j) sort(a, low, j);
    if (i < high) sort(a, i, high);
}
static int work(void) {
    unsigned seed = 12345;
    for (int i = 0; i < 60; i++) { seed = seed * 1664525 + 1013904223; numbers[i] = seed >> 8; }
    sort(numbers, 0, 59);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) { matrix[0][i][j] = i * 0.5 - j; matrix[1][i][j] = 1.0 / (i + j + 1); }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int k = 0; k < 6; k++) matrix[2][i][j] += matrix[0][i][k] * matrix[1][k][j];
    int primes = 0;
    for (int i = 2; i < 400; i++)
        if (!sieve[i]) { primes++; for (int j = 2 * i; j < 400; j += i) sieve[j] = 1; }
    for (int n = 0; n < 400; n += 37) {
        void *to = copy, *from = text; long count = n;
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) :: "memory");
        to = text; count = n / 8;
        __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0x6162636465666768L + n) : "memory");
    }
    long double sum = 0;
    for (int i = 1; i < 40; i++) sum += 1.0L / i / i;
    long long quotient = 1;
    for (int i = 1; i < 60; i++) quotient = (quotient * 48271 + i) % 2147483647;
    return primes + (int)(sum * 1000) + (int)(matrix[2][3][4] * 10) + numbers[30] % 7 + (int)quotient % 11 + text[5];
}
"#;

#[test]
fn programs_without_a_library_count_alike() {
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let folder = Folder::new(&format!("bare{level}"));
        let source = format!(
            "{WORK}
            void _start(void) {{
                int code = work() & 127;
                __asm__ volatile(\"syscall\" :: \"a\"(60), \"D\"(code) : \"rcx\", \"r11\", \"memory\");
                __builtin_unreachable();
            }}"
        );
        // The stack of `_start` is not aligned as that of a function, which vectorised code expects.
        let options = [
            level,
            "-nostdlib",
            "-static",
            "-ffreestanding",
            "-fno-stack-protector",
            "-fno-builtin",
            "-fno-pie",
            "-no-pie",
            "-mstackrealign",
            "-march=x86-64-v2",
            "-fno-tree-loop-distribute-patterns",
        ];
        let Some(path) = folder.compile(&source, &options) else {
            return;
        };
        assert!(agree(&format!("bare {level}"), &path).instructions > 5_000);
    }
}

#[test]
fn regions_between_two_markers_of_c_programs_count_alike() {
    for level in ["-O0", "-O2"] {
        let folder = Folder::new(&format!("marked{level}"));
        let source = format!(
            "#include <stdio.h>
            {WORK}
            __attribute__((noinline, noclone)) static void mark(const char *message) {{
                long result = 1;
                __asm__ volatile(\".globl tickmark_marker\\ntickmark_marker: syscall\"
                    : \"+a\"(result) : \"D\"(198), \"S\"(message), \"d\"(17) : \"rcx\", \"r11\", \"memory\");
            }}
            int main(void) {{
                printf(\"%d before\\n\", 1);
                mark(\"B0123456789abcdef\");
                int code = work();
                mark(\"E0123456789abcdef\");
                mark(\"B0123456789abcdef\");
                mark(\"E0123456789abcdef\");
                printf(\"%d after\\n\", code);
                return code & 127;
            }}"
        );
        let Some(path) = folder.compile(&source, &[level, "-static", "-fno-builtin"]) else {
            return;
        };
        let bytes = std::fs::read(&path).expect("our own file");
        let marker = object::File::parse(&*bytes)
            .expect("cc writes ELF")
            .symbols()
            .find(|symbol| symbol.name() == Ok("tickmark_marker"))
            .expect("the program defines it")
            .address();
        let steps = single_step(&path, Some(marker)).expect("the program can be stepped");
        let outcome = simulate(bytes);
        assert_eq!(
            outcome.exit,
            Exit::Exited {
                code: steps.exit_code as u8
            },
            "{level}"
        );
        let native: Vec<u64> = steps
            .arrivals
            .chunks(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        let simulated: Vec<u64> = outcome
            .regions
            .iter()
            .map(|region| region.instructions)
            .collect();
        assert_eq!(native, simulated, "{level}");
        assert!(native[0] > 5_000 && native[1] < 100, "{native:?}");
        println!("marked {level}: {native:?} instructions");
    }
}
