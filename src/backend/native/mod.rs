//! The host processor: the same artifact in a confined child, with CPU time and peak memory.
mod host;

pub use host::{HostSetting, host_settings};

use super::Backend;
use crate::artifact::{Artifact, ElfArtifact, Interpreter, PythonArtifact};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::process::{
    self, Absence, Channel, Counting, Ending, Event, Finished, Isolation, PrivateFolder,
    ProcessError, Request, write_executable,
};
use crate::sim::outcome::{Counters, Device, Exit, Limits, Region};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Runs artifacts on the host.
#[derive(Debug)]
pub struct Native {
    cpu_limit: Duration,
    wall_limit: Duration,
    fixed_layout: bool,
    counting: Counting,
    not_applied: Mutex<BTreeSet<&'static str>>,
    not_counted: Mutex<BTreeMap<Event, Absence>>,
}

impl Default for Native {
    fn default() -> Self {
        Self::new(Duration::from_secs(10))
    }
}

impl Native {
    /// Name of the executable, the same in every run: its length moves the stack.
    pub const PROGRAM_NAME: &'static str = "program";
    /// A test calls the entry point a few times; more messages than this are an attack on our memory.
    const MOST_MESSAGES: usize = 4 << 20;

    /// A backend with this limit of CPU time. A program that only waits is ended after ten times as long and 10 s more,
    /// so that a busy neighbour cannot make a verdict.
    pub fn new(cpu_limit: Duration) -> Self {
        Self {
            cpu_limit,
            wall_limit: cpu_limit
                .saturating_mul(10)
                .saturating_add(Duration::from_secs(10)),
            fixed_layout: true,
            counting: Counting::default(),
            not_applied: Mutex::default(),
            not_counted: Mutex::default(),
        }
    }

    /// Counts these events, on this processor only if one is given. What could be counted stands among the parts of the
    /// counters under [`Event::name`]; what could not, in [`Native::not_counted`].
    #[must_use]
    pub fn counting(mut self, events: Vec<Event>, cpu: Option<usize>) -> Self {
        self.counting = Counting { events, cpu };
        self
    }

    /// Leaves the addresses of every run to chance (ASLR), so that no result hangs on one layout.
    #[must_use]
    pub fn with_random_layout(mut self) -> Self {
        self.fixed_layout = false;
        self
    }

    /// Events that could not be counted in some run so far, and why.
    pub fn not_counted(&self) -> Vec<(Event, Absence)> {
        let absent = (self.not_counted.lock()).unwrap_or_else(PoisonError::into_inner);
        absent
            .iter()
            .map(|(event, why)| (*event, why.clone()))
            .collect()
    }

    /// Restrictions that this system did not grant in some run so far: what a report must say about native results.
    pub fn not_applied(&self) -> Vec<&'static str> {
        let names = self
            .not_applied
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        names.iter().copied().collect()
    }
}

/// What to start.
struct Start {
    program: PathBuf,
    name: Option<OsString>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    readable: Vec<PathBuf>,
}

impl Backend for Native {
    fn name(&self) -> BackendName {
        BackendName::Native
    }

    fn machine(&self) -> &'static str {
        "host"
    }

    fn run_with_arguments(
        &self,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Measurement, BackendFailure> {
        let folder = PrivateFolder::new().map_err(failure)?;
        let mut start = match artifact {
            Artifact::Elf(elf) => start_elf(elf, &folder),
            Artifact::Python(python) => start_python(python, &folder),
        }
        .map_err(failure)?;
        let given = arguments.iter().cloned().map(OsString::from_vec);
        start.arguments.extend(given);
        let nonce = fresh_nonce()?;
        let device = artifact.device(nonce);
        let mut environment = start.environment;
        if device.is_some() {
            environment.push(("TICKMARK_CLOCK".into(), "1".into()));
        }
        let mut readable = start.readable;
        readable.extend(
            [
                "/etc/ld.so.cache",
                "/dev/zero",
                "/dev/urandom",
                "/dev/random",
            ]
            .map(PathBuf::from),
        );
        let finished = process::run(Request {
            program: start.program,
            name: start.name,
            arguments: start.arguments,
            environment,
            folder: folder.path().to_owned(),
            stdin,
            limits: process::Limits {
                wall: self.wall_limit,
                cpu: self.cpu_limit,
                memory_bytes: Some(limits.memory_bytes),
                // Reserved memory is not used memory, but a bound keeps the kernel's tables small.
                address_space_bytes: Some(
                    limits
                        .memory_bytes
                        .saturating_mul(4)
                        .saturating_add(64 << 30),
                ),
                file_bytes: limits.output_bytes,
                stack_bytes: limits.stack_bytes,
                output_bytes: limits.output_bytes,
            },
            isolation: Isolation {
                readable,
                writable: vec![folder.path().to_owned(), PathBuf::from("/dev/null")],
                single_process: true,
                sealed_stderr: false,
                fixed_layout: self.fixed_layout,
                trusted: false,
            },
            channel: device.map(|device| Channel {
                descriptor: Device::FD,
                inputs: device.inputs,
                most_messages: Self::MOST_MESSAGES,
                most_bytes: usize::try_from(limits.output_bytes).unwrap_or(usize::MAX),
            }),
            counting: self.counting.clone(),
        })
        .map_err(failure)?;
        self.not_applied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(&finished.not_applied);
        let mut absent = (self.not_counted.lock()).unwrap_or_else(PoisonError::into_inner);
        for (event, reading) in &finished.readings {
            if let Err(why) = reading {
                absent.entry(*event).or_insert_with(|| why.clone());
            }
        }
        drop(absent);
        Ok(measure(finished, nonce))
    }
}

fn failure(error: ProcessError) -> BackendFailure {
    let remedy = match &error {
        ProcessError::Start { .. } => {
            "check that programs may be executed in the folder for temporary files \
                                       (`TMPDIR`; a `noexec` mount forbids it)"
        }
        ProcessError::System { .. } => "check free space, memory and descriptors of this system",
    };
    BackendFailure {
        what: error.to_string(),
        remedy: remedy.to_owned(),
    }
}

fn start_elf(elf: &ElfArtifact, folder: &PrivateFolder) -> Result<Start, ProcessError> {
    let program = folder.path().join(Native::PROGRAM_NAME);
    write_executable(&program, &elf.bytes)?;
    Ok(Start {
        program,
        name: Some(OsString::from_vec(elf.name.to_vec())),
        arguments: Vec::new(),
        environment: Vec::new(),
        readable: elf
            .libraries
            .iter()
            .map(|library| library.host.clone())
            .collect(),
    })
}

fn start_python(python: &PythonArtifact, folder: &PrivateFolder) -> Result<Start, ProcessError> {
    let script = folder.path().join(python.script_name);
    std::fs::write(&script, &python.script).map_err(|source| ProcessError::System {
        action: "write a script",
        source,
    })?;
    let interpreter = &python.interpreter;
    let mut readable = vec![
        interpreter.standard_library.clone(),
        interpreter.dynamic_modules.clone(),
    ];
    readable.extend(
        interpreter
            .libraries
            .iter()
            .map(|library| library.host.clone()),
    );
    readable.extend(interpreter.packages.clone());
    let prefix = interpreter.prefix.to_string_lossy();
    let packages = interpreter
        .packages
        .as_ref()
        .map(|folder| folder.to_string_lossy());
    Ok(Start {
        program: interpreter.executable.clone(),
        name: None,
        arguments: Interpreter::FLAGS
            .iter()
            .map(OsString::from)
            .chain([script.into_os_string()])
            .collect(),
        environment: Interpreter::environment(&prefix, packages.as_deref(), 0)
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        readable,
    })
}

/// A nonce that a candidate cannot guess: the messages of a run are believed by it.
fn fresh_nonce() -> Result<[u8; 16], BackendFailure> {
    let mut random = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut random))
        .map_err(|error| BackendFailure {
            what: format!("cannot read `/dev/urandom`: {error}"),
            remedy: "run on a system that has it".to_owned(),
        })?;
    let mut nonce = [0; 16];
    for (pair, byte) in nonce.chunks_mut(2).zip(random) {
        pair.copy_from_slice(format!("{byte:02x}").as_bytes());
    }
    Ok(nonce)
}

fn measure(finished: Finished, nonce: [u8; 16]) -> Measurement {
    let Finished {
        stdout,
        stderr,
        messages,
        ..
    } = finished;
    let mut exit = match finished.ending {
        Ending::Exited { code } => Exit::Exited { code },
        Ending::Signaled {
            stack_overflow: true,
            rip,
            ..
        } => Exit::StackOverflow {
            rip,
            function: None,
        },
        Ending::Signaled {
            signal,
            rip,
            address,
            ..
        } => Exit::Signaled {
            signal,
            rip,
            address,
            function: None,
        },
        Ending::CpuLimit => Exit::TimeLimit,
        Ending::WallLimit => Exit::WallClock,
        Ending::MemoryLimit => Exit::MemoryLimit,
        Ending::OutputLimit => Exit::OutputLimit,
    };
    let told = Told::read(messages, nonce);
    if told.forged {
        exit = Exit::ForgedMarker;
    }
    let mut parts = BTreeMap::from([
        ("cpu_time_ns".to_owned(), finished.cpu_time_ns),
        ("wall_time_ns".to_owned(), finished.wall_time_ns),
    ]);
    for (event, reading) in &finished.readings {
        if let Ok(value) = reading {
            parts.insert(event.name().to_owned(), *value);
        }
    }
    if !finished.peak_memory_is_own {
        // A program that started small then seems to have the size of tickmark itself.
        parts.insert("peak_memory_inherited".to_owned(), 1);
    }
    Measurement {
        backend: BackendName::Native,
        machine: "host".to_owned(),
        exit,
        counters: Counters {
            peak_memory_bytes: finished.peak_memory_bytes,
            parts,
            ..Counters::default()
        },
        regions: vec![
            Region {
                instructions: 0,
                cycles: None
            };
            told.region_cpu_time_ns.len()
        ],
        region_cpu_time_ns: told.region_cpu_time_ns,
        open_region: told.open,
        messages: told.others,
        stdout,
        stderr,
        unanswered_system_calls: Vec::new(),
        clock_read: false,
    }
}

/// What the driver's messages say.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    region_cpu_time_ns: Vec<u64>,
    open: bool,
    others: Vec<(u8, Vec<u8>)>,
    /// Something came that the driver does not write.
    forged: bool,
}

impl Told {
    fn read(messages: Vec<Vec<u8>>, nonce: [u8; 16]) -> Self {
        let mut told = Self::default();
        for message in messages {
            let genuine =
                message.get(1..17) == Some(&nonce) && told.take(message[0], &message[17..]);
            if !genuine {
                told.forged = true;
                break;
            }
        }
        told
    }

    /// Takes one message in its turn; `false` when the driver cannot have written it here.
    fn take(&mut self, kind: u8, text: &[u8]) -> bool {
        let ends = |kind| matches!(kind, Device::DONE | Device::FAILED);
        let finished = self.others.last().is_some_and(|(kind, _)| ends(*kind));
        match kind {
            Device::BEGIN if !self.open && !finished && text.is_empty() => self.open = true,
            Device::END if self.open => {
                let Some(time) = elapsed(text) else {
                    return false;
                };
                self.open = false;
                self.region_cpu_time_ns.push(time);
            }
            Device::REHEARSAL if self.region_cpu_time_ns.is_empty() && !self.open => {}
            Device::PART | Device::RESULT if !finished && !self.open => {
                self.others.push((kind, text.to_vec()));
            }
            kind if ends(kind) && !finished => self.others.push((kind, text.to_vec())),
            _ => return false,
        }
        true
    }
}

/// The time between two readings of a clock, written as two decimal numbers.
fn elapsed(text: &[u8]) -> Option<u64> {
    let (before, after) = std::str::from_utf8(text).ok()?.split_once(' ')?;
    after.parse::<u64>().ok()?.checked_sub(before.parse().ok()?)
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
mod tests {
    use super::*;
    use crate::artifact::{BuildOptions, Linking, Toolchain, Wrapping, build};
    use crate::candidate::{self, Answer, Candidate};
    use crate::dataset::{self, DatasetForm, Language};
    use std::sync::LazyLock;

    static TOOLCHAIN: LazyLock<Toolchain> = LazyLock::new(Toolchain::default);

    fn run(candidate: &Candidate, stdin: &[u8], limits: &Limits) -> Measurement {
        let artifact = build(candidate, &TOOLCHAIN, &BuildOptions::default()).unwrap();
        Native::new(Duration::from_secs(2))
            .run(&artifact, stdin, limits)
            .unwrap()
    }

    fn cpp(source: &str) -> Measurement {
        let limits = Limits {
            memory_bytes: 256 << 20,
            stack_bytes: 64 << 20,
            output_bytes: 1 << 20,
            ..Limits::default()
        };
        run(
            &Candidate::CppProgram {
                source: source.to_owned(),
            },
            b"",
            &limits,
        )
    }

    fn function(source: &str, test: &str) -> Candidate {
        let (source, entry_point, test) = (source.to_owned(), "f".to_owned(), test.to_owned());
        Candidate::CppFunction {
            source,
            entry_point,
            test,
        }
    }

    fn cpp_function(source: &str, test: &str) -> Measurement {
        run(&function(source, test), b"", &Limits::default())
    }

    fn python_function(source: &str, test: &str) -> Measurement {
        let (source, entry_point, test) = (source.to_owned(), "f".to_owned(), test.to_owned());
        run(
            &Candidate::PythonFunction {
                source,
                entry_point,
                test,
            },
            b"",
            &Limits::default(),
        )
    }

    fn told(measurement: &Measurement) -> String {
        measurement
            .messages
            .iter()
            .map(|(kind, text)| format!("{}{}", char::from(*kind), String::from_utf8_lossy(text)))
            .collect()
    }

    #[test]
    fn a_cpp_program_reads_its_input_and_answers() {
        let source = "#include <iostream>\nint main() { long s = 0, x; while (std::cin >> x) s += x; std::cout << s; return 3; }";
        let candidate = Candidate::CppProgram {
            source: source.to_owned(),
        };
        let input: String = (0..200_000).map(|i| format!("{i}\n")).collect();
        let measurement = run(&candidate, input.as_bytes(), &Limits::default());
        assert_eq!(measurement.exit, Exit::Exited { code: 3 });
        assert_eq!(measurement.stdout, b"19999900000");
        assert!(measurement.counters.parts["cpu_time_ns"] > 0);
        assert!(measurement.regions.is_empty() && measurement.messages.is_empty());
    }

    #[test]
    fn each_call_of_a_cpp_function_is_a_region_behind_the_empty_one() {
        let measurement = cpp_function(
            "vector<int> f(vector<int> x, int n = 1) { for (int i = 0; i < n; i++) x.push_back(i); return x; }",
            "int main() { assert(f({1, 2}, 1).size() == 3); for (int i = 0; i < 3; i++) assert(f({}, i).size() == i); }",
        );
        assert_eq!(
            measurement.exit,
            Exit::Exited { code: 0 },
            "{measurement:?}"
        );
        assert_eq!(
            (measurement.regions.len(), told(&measurement)),
            (5, "D".to_owned())
        );
        assert!(!measurement.open_region);
    }

    #[test]
    fn time_in_the_test_is_not_time_in_the_region() {
        let measurement = cpp_function(
            "int f(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s = s + i; return s; }",
            "int main() { volatile int s = 0; for (int i = 0; i < 100000000; i++) s = s + i; f(0); f(20000000); }",
        );
        let times = &measurement.region_cpu_time_ns;
        assert_eq!(times.len(), 3);
        assert!(times[1] < times[2] / 10, "{times:?}");
        assert!(
            measurement.counters.parts["cpu_time_ns"] > 3 * times[2],
            "{measurement:?}"
        );
    }

    #[test]
    fn overloads_templates_and_default_arguments_are_entry_points_too() {
        let plain = "int main() { assert(f(3) == 3); assert(f(f(4)) == 4); }";
        let braced = "int main() { assert(f({3}) == 3); assert(f({4}) == 4); }";
        for (source, test, wrapping) in [
            ("int f(int x) { return x; }", plain, Wrapping::Object),
            (
                "vector<int> unused; int f(vector<int> x) { return x[0]; }",
                braced,
                Wrapping::Object,
            ),
            (
                "int f(int x) { return x; } double f(double x) { return x; }",
                plain,
                Wrapping::Generic,
            ),
            (
                "template <class T> T f(T x) { return x; }",
                plain,
                Wrapping::Generic,
            ),
            (
                "int f(const int &x, int y = 0) { return x + y; }",
                plain,
                Wrapping::Generic,
            ),
            (
                "int f(vector<int> x, int y = 0) { return x[0] + y; }",
                braced,
                Wrapping::Macro,
            ),
            // Helpers of the same name cannot be told from the entry point; a library's can.
            (
                "int f(int x, int y) { return x * y; } int f(int x) { return f(x, 1); }",
                plain,
                Wrapping::Generic,
            ),
        ] {
            let measurement = cpp_function(source, test);
            let expected = if test == plain { 4 } else { 3 };
            assert_eq!(
                (measurement.regions.len(), told(&measurement)),
                (expected, "D".to_owned()),
                "{source}"
            );
            let candidate = function(source, test);
            let Ok(Artifact::Elf(elf)) = build(&candidate, &TOOLCHAIN, &BuildOptions::default())
            else {
                panic!()
            };
            assert_eq!(elf.wrapping, Some(wrapping), "{source}");
        }
    }

    #[test]
    fn a_function_with_the_name_of_a_librarys_is_the_one_that_is_called() {
        let candidate = Candidate::CppFunction {
            source:
                "/* not strlen( */ int strlen(string text = (\"\")) { return text.size() + 40; }"
                    .to_owned(),
            entry_point: "strlen".to_owned(),
            test: "int main() { assert(strlen(\"ab\") == 42); }".to_owned(),
        };
        let measurement = run(&candidate, b"", &Limits::default());
        assert_eq!(
            (measurement.regions.len(), told(&measurement)),
            (2, "D".to_owned())
        );
    }

    #[test]
    fn a_failed_cpp_test_aborts_and_an_early_exit_says_nothing() {
        let measurement = cpp_function("int f() { return 1; }", "int main() { assert(f() == 2); }");
        assert!(
            matches!(measurement.exit, Exit::Signaled { signal: 6, .. }),
            "{measurement:?}"
        );
        assert!(String::from_utf8_lossy(&measurement.stderr).contains("test.cpp:1"));
        let measurement = cpp_function("int f() { exit(0); }", "int main() { assert(f() == 2); }");
        assert_eq!(measurement.exit, Exit::Exited { code: 0 });
        assert_eq!(told(&measurement), "");
        assert!(measurement.open_region);
    }

    #[test]
    fn what_a_candidate_writes_to_the_device_is_a_forgery() {
        let write =
            "#include <unistd.h>\nint f() { write(198, \"Daaaaaaaaaaaaaaaa\", 17); return 2; }";
        let measurement = cpp_function(write, "int main() { assert(f() == 1); }");
        assert_eq!(measurement.exit, Exit::ForgedMarker);
        let write = "import os\ndef f():\n    os.write(198, b'D' + b'a' * 16)\n    return 2\n";
        let measurement = python_function(write, "def check(f):\n    assert f() == 2\n");
        assert_eq!(measurement.exit, Exit::ForgedMarker);
    }

    #[test]
    fn a_flood_of_messages_ends_at_the_output_limit() {
        let source = "#include <unistd.h>\nint f() { static char x[65536]; for (;;) write(198, x, sizeof x); }";
        let limits = Limits {
            output_bytes: 1 << 20,
            ..Limits::default()
        };
        let measurement = run(&function(source, "int main() { f(); }"), b"", &limits);
        // What came before the flood ended is no driver's message either.
        assert_eq!(measurement.exit, Exit::ForgedMarker);
        assert!(
            measurement.counters.parts["cpu_time_ns"] < 1_500_000_000,
            "{measurement:?}"
        );
    }

    #[test]
    fn messages_out_of_turn_are_forgeries() {
        let nonce = *b"0123456789abcdef";
        let message = |text: &str| [&text.as_bytes()[..1], &nonce, &text.as_bytes()[1..]].concat();
        let forged = |texts: &[&str]| {
            Told::read(texts.iter().map(|text| message(text)).collect(), nonce).forged
        };
        assert!(!forged(&["B", "E5 9", "B", "E9 9", "D"]));
        assert!(!forged(&["B", "E5 9", "B", "Fwhy"]));
        for texts in [
            &["E1 2"][..],
            &["B", "B"],
            &["D", "D"],
            &["D", "B"],
            &["B", "E2 1"],
            &["B", "E"],
            &["X"],
        ] {
            assert!(forged(texts), "{texts:?}");
        }
        assert!(Told::read(vec![b"D".to_vec()], nonce).forged);
    }

    #[test]
    fn each_end_of_a_program_is_told_from_the_others() {
        assert_eq!(cpp("int main() {}").exit, Exit::Exited { code: 0 });
        let null = cpp("int main() { *(volatile int *)16 = 1; }");
        assert!(
            matches!(null.exit, Exit::Signaled { signal: 11, address: Some(16), rip, .. } if rip != 0),
            "{null:?}"
        );
        let divide =
            cpp("int main(int n, char **) { volatile int zero = n - 1; return 77 / zero; }");
        assert!(
            matches!(divide.exit, Exit::Signaled { signal: 8, .. }),
            "{divide:?}"
        );
        let recursion = cpp(
            "int g(volatile char *p) { volatile char big[4096]; big[0] = *p; return g(big) + big[0]; }\n\
                             int main() { char c = 1; return g(&c); }",
        );
        assert!(
            matches!(recursion.exit, Exit::StackOverflow { .. }),
            "{recursion:?}"
        );
        assert_eq!(
            cpp("int main() { volatile int x = 0; for (;;) x = x + 1; }").exit,
            Exit::TimeLimit
        );
        assert_eq!(
            cpp("#include <cstdio>\nint main() { for (;;) puts(\"x\"); }").exit,
            Exit::OutputLimit
        );
        // Number 20 of the 32-bit calls (`getpid`), which no filter of ours knows.
        let other_abi = cpp(
            "int main() { int r; asm volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r > 0; }",
        );
        assert!(
            matches!(other_abi.exit, Exit::Signaled { signal: 31, .. }),
            "{other_abi:?}"
        );
        let memory = "#include <cstdlib>\n#include <cstring>\nint main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }";
        assert_eq!(cpp(memory).exit, Exit::MemoryLimit);
        let itself =
            cpp("#include <csignal>\n#include <unistd.h>\nint main() { kill(getpid(), SIGKILL); }");
        assert!(
            matches!(itself.exit, Exit::Signaled { signal: 9, .. }),
            "{itself:?}"
        );
        let caught = cpp(
            "#include <csignal>\n#include <cstdlib>\n#include <cstdio>\n\
                          void h(int) { puts(\"caught\"); fflush(stdout); _Exit(4); }\n\
                          int main() { signal(SIGSEGV, h); *(volatile int *)16 = 1; }",
        );
        assert_eq!(
            (caught.exit, caught.stdout),
            (Exit::Exited { code: 4 }, b"caught\n".to_vec())
        );
    }

    #[test]
    fn peak_memory_is_the_programs_own_and_sees_a_short_peak() {
        // Our own memory must not become the child's.
        let ours = std::hint::black_box(vec![1u8; 300 << 20]);
        let small = cpp("int main() {}");
        assert!(small.counters.peak_memory_bytes < 16 << 20, "{small:?}");
        let short = cpp(
            "#include <sys/mman.h>\n#include <cstring>\nint main() { size_t n = 200 << 20;\n\
                         void *p = mmap(0, n, 3, 0x22, -1, 0); memset(p, 1, n); munmap(p, n); }",
        );
        assert!(short.counters.peak_memory_bytes >= 200 << 20, "{short:?}");
        assert!(ours.iter().step_by(4096).all(|&byte| byte == 1));
    }

    #[test]
    fn reserved_memory_is_not_used_memory_and_threads_run() {
        let measurement = cpp(
            "#include <thread>\n#include <vector>\n#include <cstdio>\n#include <sys/mman.h>\n\
             int main() { if (mmap(0, 1ul << 34, 3, 0x4022, -1, 0) == MAP_FAILED) return 1;\n\
             std::vector<std::thread> all; int sum[8] = {};\n\
             for (int i = 0; i < 8; i++) all.emplace_back([&, i] { sum[i] = i; });\n\
             for (auto &one : all) one.join(); int s = 0; for (int x : sum) s += x; printf(\"%d\", s); }",
        );
        assert_eq!(
            (measurement.exit, measurement.stdout),
            (Exit::Exited { code: 0 }, b"28".to_vec())
        );
    }

    #[test]
    fn the_host_is_out_of_reach() {
        let measurement = cpp(
            "#include <cstdio>\n#include <cerrno>\n#include <csignal>\n#include <fcntl.h>\n#include <unistd.h>\n\
             #include <sys/socket.h>\n#include <sys/ptrace.h>\n#include <sys/resource.h>\n#include <sys/syscall.h>\n\
             static void say(const char *what, long result) { printf(\"%s %d\\n\", what, result < 0); }\n\
             int main() {\n\
             say(\"shadow\", open(\"/etc/shadow\", O_RDONLY));\n\
             say(\"passwd\", open(\"/etc/passwd\", O_RDONLY));\n\
             say(\"proc\", open(\"/proc/1/environ\", O_RDONLY));\n\
             say(\"list\", open(\"/\", O_RDONLY));\n\
             say(\"write\", open(\"/tmp/tickmark-escaped\", O_CREAT | O_WRONLY, 0600));\n\
             say(\"socket\", socket(AF_INET, SOCK_STREAM, 0));\n\
             say(\"unix socket\", socket(AF_UNIX, SOCK_STREAM, 0));\n\
             say(\"parent\", kill(getppid(), 0));\n\
             say(\"parent thread\", syscall(SYS_tgkill, getppid(), getppid(), 0));\n\
             say(\"everyone\", kill(-1, 0));\n\
             say(\"ptrace\", ptrace(PTRACE_ATTACH, getppid(), 0, 0));\n\
             say(\"fork\", fork());\n\
             say(\"vfork\", syscall(SYS_vfork));\n\
             say(\"session\", setsid());\n\
             say(\"x32\", syscall(0x40000000 | SYS_getpid));\n\
             rlimit more = {RLIM_INFINITY, RLIM_INFINITY};\n\
             say(\"limits\", setrlimit(RLIMIT_FSIZE, &more));\n\
             say(\"own file\", open(\"mine\", O_CREAT | O_WRONLY, 0600));\n\
             say(\"null\", open(\"/dev/null\", O_WRONLY));\n\
             say(\"itself\", kill(getpid(), 0));\n\
             }",
        );
        let text = String::from_utf8_lossy(&measurement.stdout).into_owned();
        assert_eq!(measurement.exit, Exit::Exited { code: 0 }, "{text}");
        let (reached, refused): (Vec<_>, Vec<_>) =
            text.lines().partition(|line| line.ends_with(" 0"));
        assert_eq!(reached, ["own file 0", "null 0", "itself 0"]);
        assert_eq!(refused.len(), 16, "{text}");
    }

    #[test]
    fn a_candidate_that_deletes_its_folder_or_stops_itself_is_only_one_more_candidate() {
        let measurement = cpp(
            "#include <unistd.h>\n#include <csignal>\n#include <cstdio>\n\
             int main() { unlink(\"program\"); char path[4096]; rmdir(getcwd(path, 4096)); raise(SIGSTOP); puts(\"on\"); }",
        );
        assert_eq!(
            (measurement.exit, measurement.stdout),
            (Exit::Exited { code: 0 }, b"on\n".to_vec())
        );
    }

    #[test]
    fn the_environment_is_ours_alone_and_descriptors_are_closed() {
        let _kept_open = std::fs::File::open("/dev/null").unwrap();
        let measurement = cpp(
            "#include <cstdio>\n#include <unistd.h>\n#include <fcntl.h>\nextern char **environ;\n\
             int main(int n, char **v) { for (char **e = environ; *e; e++) puts(*e); puts(v[0]);\n\
             for (int i = 3; i < 1000; i++) if (fcntl(i, F_GETFD) >= 0) printf(\"open %d\\n\", i); }",
        );
        assert_eq!(String::from_utf8_lossy(&measurement.stdout), "program\n");
    }

    #[test]
    fn each_call_of_a_python_function_is_a_region_and_iterators_are_settled() {
        let measurement = python_function(
            "def f(n):\n    print('noise')\n    return (i * i for i in range(n))\n",
            "def check(candidate):\n    for n in range(3):\n        assert list(candidate(n)) == [i * i for i in range(n)]\n    assert next(candidate(5)) == 0\n",
        );
        assert_eq!(told(&measurement), "D", "{measurement:?}");
        assert_eq!(measurement.exit, Exit::Exited { code: 0 });
        assert_eq!(
            (measurement.regions.len(), measurement.stdout.as_slice()),
            (5, &b"noise\n".repeat(4)[..])
        );
    }

    #[test]
    fn recursion_through_the_modules_name_is_one_region() {
        let measurement = python_function(
            "def f(n):\n    return 1 if n < 2 else n * f(n - 1)\n",
            "def check(candidate):\n    assert candidate(50) > 0\n",
        );
        assert_eq!(
            (measurement.regions.len(), told(&measurement)),
            (2, "D".to_owned())
        );
    }

    #[test]
    fn a_failed_python_test_says_type_message_and_line() {
        for (source, test, expected) in [
            (
                "def f(): return 1",
                "def check(c):\n    assert c() == 2, 'two'\n",
                "FAssertionError: two at test.py:2: assert c() == 2, 'two'",
            ),
            (
                "def f(): return 1 // 0",
                "def check(c):\n    c()\n",
                "FZeroDivisionError: integer division or modulo by zero at candidate.py:1: def f(): return 1 // 0",
            ),
            (
                "import sys\ndef f(): sys.exit(0)",
                "def check(c):\n    c()\n",
                "FSystemExit: 0 at candidate.py:2: def f(): sys.exit(0)",
            ),
            (
                "def f(:",
                "",
                "FSyntaxError: invalid syntax (candidate.py, line 1) at candidate.py:1",
            ),
            (
                "def g(): pass",
                "",
                "FNameError: the entry point `f` is not defined",
            ),
            (
                "def f(n): return f(n + 1)",
                "def check(c):\n    c(0)\n",
                "FRecursionError: maximum recursion depth exceeded at candidate.py:1: def f(n): return f(n + 1)",
            ),
        ] {
            let measurement = python_function(source, test);
            assert_eq!(told(&measurement), expected);
            assert_eq!(measurement.exit, Exit::Exited { code: 1 });
        }
        let measurement = python_function(
            "import os\ndef f(): os._exit(0)",
            "def check(c):\n    c()\n",
        );
        assert_eq!(
            (measurement.exit, measurement.open_region),
            (Exit::Exited { code: 0 }, true)
        );
        assert_eq!(measurement.messages, []);
    }

    #[test]
    fn a_long_source_reaches_the_python_driver_whole() {
        let long = format!("x = '{}'\ndef f(): return len(x)\n", "é".repeat(400_000));
        let measurement = python_function(&long, "def check(c):\n    assert c() == 400000\n");
        assert_eq!(told(&measurement), "D");
    }

    #[test]
    fn python_hash_order_repeats_and_a_program_reads_its_input() {
        let source = "import sys\nprint(sys.stdin.read().strip(), list({str(i) for i in range(50)}), hash('a'), sys.flags.no_site)\n";
        let candidate = Candidate::PythonProgram {
            source: source.to_owned(),
        };
        let [first, second] = [(); 2].map(|()| run(&candidate, b"hello\n", &Limits::default()));
        assert!(first.stdout.starts_with(b"hello ["), "{first:?}");
        assert_eq!(first.stdout, second.stdout);
    }

    /// A data file, from the folder in `TICKMARK_DATA` or beside the package.
    fn data(name: &str) -> Option<PathBuf> {
        let beside = || concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data").into();
        let folder = std::env::var_os("TICKMARK_DATA").unwrap_or_else(beside);
        let path = PathBuf::from(folder).join(name);
        if !path.is_file() {
            eprintln!("skipped: `{}` is not there", path.display());
        }
        path.is_file().then_some(path)
    }

    /// Runs the canonical solutions: every 20th, or all with `TICKMARK_DATA_ALL`.
    fn canonical_solutions_pass(form: DatasetForm, file: &str, options: &BuildOptions) {
        let Some(path) = data(file) else { return };
        let step = if std::env::var_os("TICKMARK_DATA_ALL").is_some() {
            1
        } else if options.linking == Linking::DynamicPie {
            80
        } else {
            20
        };
        let problems = dataset::load(form, &path, Language::Cpp).unwrap().problems;
        assert_eq!(problems.len(), 164);
        let native = Native::default();
        // The ones with libraries that need not be installed.
        let special = ["CPP/22", "CPP/162"];
        let mut cases = 0;
        for (_, problem) in problems
            .iter()
            .enumerate()
            .filter(|(index, problem)| index % step == 0 || special.contains(&problem.id.as_str()))
        {
            let answer = Answer::Completion(problem.canonical.clone().unwrap());
            let candidate = candidate::assemble(problem, &answer).unwrap();
            let artifact = build(&candidate, &TOOLCHAIN, options)
                .unwrap_or_else(|error| panic!("{}: {error:?}", problem.id));
            if let Artifact::Elf(elf) = &artifact {
                assert_eq!(elf.wrapping, Some(Wrapping::Object), "{}", problem.id);
            }
            let measurement = native.run(&artifact, b"", &Limits::default()).unwrap();
            assert_eq!(told(&measurement), "D", "{}: {measurement:?}", problem.id);
            assert!(measurement.regions.len() > 1, "{}", problem.id);
            cases += measurement.regions.len() - 1;
        }
        eprintln!("{cases} cases");
        assert_eq!(native.not_applied(), Vec::<&str>::new());
    }

    #[test]
    fn canonical_cpp_solutions_pass() {
        let file = "humaneval_x/humaneval_cpp.jsonl.gz";
        canonical_solutions_pass(DatasetForm::HumanevalX, file, &BuildOptions::default());
    }

    #[test]
    fn canonical_cpp_solutions_pass_as_dynamic_programs() {
        let file = "humaneval_x/humaneval_cpp.jsonl.gz";
        let options = BuildOptions {
            linking: Linking::DynamicPie,
            ..BuildOptions::default()
        };
        canonical_solutions_pass(DatasetForm::HumanevalX, file, &options);
    }

    #[test]
    fn canonical_python_solutions_pass() {
        let file = "humaneval/HumanEval.jsonl.gz";
        canonical_solutions_pass(DatasetForm::Humaneval, file, &BuildOptions::default());
    }
}
