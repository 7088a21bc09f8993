//! C++ candidates to executables: the compiler's command, the driver around a function, the compiler's verdict.
use super::lacking::lacking;
use super::libraries::{Finder, GuestFile, read_dynamic};
use super::precompiled::HEADER;
use super::toolchain::{CppCompiler, compiler_environment};
use super::{BuildFailure, ContentHash, ElfArtifact, calls};
use crate::dataset::{Signature, cpp_text};
use crate::measurement::BackendFailure;
use crate::process::{
    self, Ending, Finished, Isolation, Limits, PrivateFolder, ProcessError, Request,
};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How a C++ candidate is compiled. Part of the fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Optimisation level.
    pub optimisation: Optimisation,
    /// Static or dynamic.
    pub linking: Linking,
    /// The instructions that the compiler may use.
    pub isa: Isa,
    /// The language standard, as after `-std=`.
    pub standard: String,
    /// What the compiler may use.
    pub limits: CompileLimits,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            optimisation: Optimisation::O2,
            linking: Linking::Static,
            isa: Isa::Baseline,
            standard: "c++17".to_owned(),
            limits: CompileLimits::default(),
        }
    }
}

/// What the compiler may use; exceeding it is a property of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// CPU time of each of the compiler's processes.
    pub cpu: Duration,
    /// Wall-clock time of the whole: a guard, whose end is a failure of the host.
    pub wall: Duration,
    /// Address space of each of the compiler's processes, in bytes.
    pub memory_bytes: u64,
    /// Size of the executable and of each file on the way, in bytes.
    pub file_bytes: u64,
    /// What the compiler may say, in bytes; more is cut.
    pub text_bytes: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(60),
            wall: Duration::from_secs(600),
            memory_bytes: 4 << 30,
            file_bytes: 256 << 20,
            text_bytes: 1 << 20,
        }
    }
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $what:literal, { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every choice.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self { $(Self::$variant => $text),* })
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|choice| choice.to_string() == text).ok_or_else(|| {
                    let all: Vec<_> = Self::ALL.iter().map(|choice| format!("`{choice}`")).collect();
                    format!("`{text}` is no {}: choose one of {}", $what, all.join(", "))
                })
            }
        }
    };
}

choice! {
    /// Optimisation level.
    Optimisation, "optimisation level", {
        /// None.
        O0 = "O0",
        /// Some.
        O1 = "O1",
        /// The usual.
        O2 = "O2",
        /// More.
        O3 = "O3",
    }
}
choice! {
    /// How libraries are linked.
    Linking, "way of linking", {
        /// Into the program.
        Static = "static",
        /// When it starts, at any address.
        DynamicPie = "dynamic-pie",
    }
}
choice! {
    /// The instructions that the compiler may use. `native` is no choice: the result would depend on the host.
    Isa, "instruction set (`native` would depend on the host)", {
        /// x86-64 as it began.
        Baseline = "x86-64",
        /// With SSE4.2 and POPCNT.
        V2 = "x86-64-v2",
        /// With AVX2, BMI and FMA.
        V3 = "x86-64-v3",
    }
}

/// How the driver's markers stand around the entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrapping {
    /// An object with the entry point's own type: arguments are made before the region.
    Object,
    /// An object that takes anything, for overloads, templates and default arguments: arguments are made before the
    /// region and converted to parameters inside.
    Generic,
    /// A macro, for these with braced lists as arguments: arguments are made inside the region.
    Macro,
}

const DRIVER: &str = include_str!("driver/driver.hpp");
const CALLS: &str = include_str!("driver/calls.hpp");
const BOOST_ANY: &str = include_str!("driver/include/boost/any.hpp");
const OPENSSL_MD5: &str = include_str!("driver/include/openssl/md5.h");

/// The language standard of functions and classes that a driver of ours calls: that of the site whose answers they are.
const CALLS_STANDARD: &str = "c++23";

/// File names as the compiler's messages show them.
const CANDIDATE: &str = "candidate.cpp";
const TEST: &str = "test.cpp";
const UNIT: &str = "program.cpp";
const PROGRAM: &str = "program";

/// Builds a program that reads standard input, as it is.
pub(super) fn build_program(
    source: &str,
    compiler: &CppCompiler,
    options: &BuildOptions,
) -> Result<ElfArtifact, BuildFailure> {
    compile(
        &format!("#line 1 \"{CANDIDATE}\"\n{source}\n"),
        None,
        compiler,
        options,
    )
}

/// Builds a function with its test and the driver.
pub(super) fn build_function(
    source: &str,
    entry_point: &str,
    test: &str,
    compiler: &CppCompiler,
    options: &BuildOptions,
) -> Result<ElfArtifact, BuildFailure> {
    if !is_identifier(entry_point) {
        return Err(BuildFailure::Ours(BackendFailure {
            what: format!("the entry point `{entry_point}` is no C++ name"),
            remedy: "correct the problem's `entry_point`".to_owned(),
        }));
    }
    let declaration = overload(source, entry_point);
    let wrappers = [
        Some(Wrapper::Object),
        declaration.map(Wrapper::Overload),
        Some(Wrapper::Generic),
        Some(Wrapper::Macro),
    ];
    let prelude = prelude(DRIVER);
    let mut result = Err(BuildFailure::CompileError {
        text: String::new(),
    });
    for wrapper in wrappers.into_iter().flatten() {
        match &result {
            // The wrapper could not be made or was called in a way that only a less exact one understands. An error
            // in the candidate's own text would come again.
            Err(BuildFailure::CompileError { text }) if !blames_candidate(text) => {
                let unit = assemble(source, entry_point, test, &wrapper);
                let driver = Some((wrapper.wrapping(), prelude.as_str()));
                result = compile(&unit, driver, compiler, options);
            }
            _ => break,
        }
    }
    result
}

/// Builds a function or class with the driver that calls it.
pub(super) fn build_calls(
    source: &str,
    definitions: &str,
    signature: &Signature,
    compiler: &CppCompiler,
    options: &BuildOptions,
) -> Result<ElfArtifact, BuildFailure> {
    let options = &BuildOptions {
        standard: CALLS_STANDARD.to_owned(),
        ..options.clone()
    };
    let namespace = namespace(source);
    let prelude = prelude(DRIVER) + &prelude(CALLS);
    let driver = without_prelude(DRIVER).replace("TICKMARK_NAMESPACE", &namespace);
    let calls = without_prelude(CALLS).replace("TICKMARK_NAMESPACE", &namespace);
    let main = calls::main_of(signature, &namespace);
    let unit = format!(
        "#include \"{HEADER}\"\n#line 1 \"driver.hpp\"\n{driver}\n#line 1 \"calls.hpp\"\n{calls}\n#line 1 \"definitions.hpp\"\n{definitions}\n\
         #line 1 \"{CANDIDATE}\"\n{source}\n#line 1 \"driver_end.hpp\"\n{main}\n"
    );
    let built = compile(&unit, Some((Wrapping::Object, &prelude)), compiler, options);
    match built {
        Err(BuildFailure::CompileError { text }) => Err(match lacking(&text, source) {
            Some(feature) => BuildFailure::Ours(BackendFailure {
                what: format!("{} does not know {feature}", compiler.version),
                remedy: "give a newer compiler with `--compiler`, g++ 14 or clang++ 19".to_owned(),
            }),
            None => BuildFailure::CompileError { text },
        }),
        built => built,
    }
}

/// A name that no candidate can know when it is written: it depends on the candidate's text.
fn namespace(source: &str) -> String {
    let hash = ContentHash::of(source.as_bytes()).to_string();
    format!("tickmark_{}", &hash[..16])
}

/// The text that puts the markers around the entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wrapper<'a> {
    Object,
    /// As `Object`, for the function of this declaration.
    Overload(&'a str),
    Generic,
    Macro,
}

impl Wrapper<'_> {
    fn wrapping(&self) -> Wrapping {
        match self {
            Self::Object | Self::Overload(_) => Wrapping::Object,
            Self::Generic => Wrapping::Generic,
            Self::Macro => Wrapping::Macro,
        }
    }
}

/// The declaration of the entry point in the candidate's text, which chooses its function where a library has others
/// of that name (`strlen`). `None` where the text has no such function, several, or a template.
fn overload<'a>(source: &'a str, entry_point: &str) -> Option<&'a str> {
    let functions = cpp_text::functions(source);
    let mut named = functions
        .iter()
        .filter(|function| function.name == entry_point);
    let (function, None) = (named.next()?, named.next()) else {
        return None;
    };
    let text = &source[function.start..function.end?];
    let name = text.find(entry_point)?;
    let open = name + text[name..].find('(')?;
    let mut depth = 0_usize;
    let close = text[open..].find(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    let declaration = &text[..=open + close];
    (!declaration.starts_with("template")).then_some(declaration)
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Whether the first error stands in the candidate's text.
fn blames_candidate(text: &str) -> bool {
    text.lines()
        .find(|line| line.contains("error: "))
        .is_some_and(|line| line.starts_with(CANDIDATE))
}

fn assemble(source: &str, entry_point: &str, test: &str, wrapper: &Wrapper<'_>) -> String {
    let namespace = namespace(source);
    let driver = without_prelude(DRIVER).replace("TICKMARK_NAMESPACE", &namespace);
    let wrapper = match wrapper {
        // `::` finds the candidate's function where a using-directive also offers a library's of the same name.
        Wrapper::Object => format!(
            "static const auto {namespace}_entry = {namespace}::wrap(&::{entry_point});\n\
             #define {entry_point} {namespace}_entry\n"
        ),
        // The same declaration in a namespace of its own has the same type, whatever stands in it.
        Wrapper::Overload(declaration) => format!(
            "namespace {namespace}_declared {{\n{declaration};\n}}\n\
             static const auto {namespace}_entry = {namespace}::wrap(\
             static_cast<decltype(&{namespace}_declared::{entry_point})>(&::{entry_point}));\n\
             #define {entry_point} {namespace}_entry\n"
        ),
        Wrapper::Generic => format!(
            "static const auto {namespace}_entry = {namespace}::wrap_generic([](auto &&...given) -> decltype(auto) \
             {{ return ::{entry_point}(static_cast<decltype(given) &&>(given)...); }});\n\
             #define {entry_point} {namespace}_entry\n"
        ),
        Wrapper::Macro => format!(
            "#define {entry_point}(...) \
             {namespace}::around([&]() -> decltype(auto) {{ return ::{entry_point}(__VA_ARGS__); }})\n"
        ),
    };
    format!(
        "#include \"{HEADER}\"\n#line 1 \"driver.hpp\"\n{driver}\n#line 1 \"{CANDIDATE}\"\n{source}\n\
         #line 1 \"driver_end.hpp\"\n{wrapper}#line 1 \"{TEST}\"\n{test}\n"
    )
}

/// The flags that decide the result, apart from the driver's.
fn flags(options: &BuildOptions) -> Vec<String> {
    let mut flags = vec![
        format!("-std={}", options.standard),
        format!("-{}", options.optimisation),
        format!("-march={}", options.isa),
    ];
    flags.extend(match options.linking {
        Linking::Static => ["-static", "-no-pie", "-fno-pie"]
            .map(str::to_owned)
            .to_vec(),
        Linking::DynamicPie => ["-pie", "-fPIE"].map(str::to_owned).to_vec(),
    });
    flags.extend(
        [
            // Names of internal symbols and of the build would else be drawn at random.
            "-frandom-seed=tickmark",
            "-Wl,--build-id=none",
            "-w",
            "-fdiagnostics-color=never",
            "-fmax-errors=20",
        ]
        .map(str::to_owned),
    );
    flags
}

/// What stands before every candidate of a form: the first lines of the driver, which include headers.
fn prelude(driver: &str) -> String {
    let lines = driver.lines().filter(|line| line.starts_with("#include"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The driver without the lines of the prelude; the numbers of its lines stay.
fn without_prelude(driver: &str) -> String {
    let lines = driver.lines();
    let kept = lines.map(|line| {
        if line.starts_with("#include") {
            ""
        } else {
            line
        }
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// Compiles a unit; with a wrapping, which tells that it has the driver, the unit includes `prelude`.
fn compile(
    unit: &str,
    wrapping: Option<(Wrapping, &str)>,
    compiler: &CppCompiler,
    options: &BuildOptions,
) -> Result<ElfArtifact, BuildFailure> {
    if options.linking == Linking::Static && !compiler.links_statically {
        return Err(BuildFailure::Ours(BackendFailure {
            what: format!("`{}` has no static standard libraries", compiler.path.display()),
            remedy: "install them (Fedora: `dnf install libstdc++-static glibc-static`) or link dynamically"
                .to_owned(),
        }));
    }
    let folder = PrivateFolder::new()?;
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|source| ProcessError::System {
                action: "write a source file",
                source,
            })
    };
    write(UNIT, unit)?;
    let mut flags = flags(options);
    let mut readable = compiler.readable.clone();
    if let Some((_, prelude)) = wrapping {
        write(HEADER, prelude)?;
        if let Some(path) = compiler.precompiled.get(compiler, &flags, prelude) {
            // Beside the header, where the compiler looks for it. Without it the header itself is compiled.
            let beside = folder.path().join(format!("{HEADER}.gch"));
            if std::os::unix::fs::symlink(&path, beside).is_ok() {
                readable.push(path);
            }
        }
        write("include/boost/any.hpp", BOOST_ANY)?;
        write("include/openssl/md5.h", OPENSSL_MD5)?;
        flags.extend(["-isystem", "include", "-Wl,--wrap=main"].map(str::to_owned));
    }
    let mut arguments: Vec<_> = flags.iter().map(Into::into).collect();
    arguments.push(format!("-ffile-prefix-map={}=.", folder.path().display()).into());
    arguments.extend([UNIT, "-o", PROGRAM].map(Into::into));
    let limits = &options.limits;
    let finished = process::run(Request {
        program: compiler.path.clone(),
        name: None,
        arguments,
        environment: compiler_environment(&compiler.path, folder.path()),
        folder: folder.path().to_owned(),
        stdin: b"",
        limits: Limits {
            wall: limits.wall,
            cpu: limits.cpu,
            memory_bytes: None,
            address_space_bytes: Some(limits.memory_bytes),
            file_bytes: limits.file_bytes,
            // The compiler recurses over the nesting of its input.
            stack_bytes: 64 << 20,
            output_bytes: limits.text_bytes,
        },
        isolation: Isolation {
            readable,
            writable: vec![folder.path().to_owned(), PathBuf::from("/dev/null")],
            ..Isolation::default()
        },
        channel: None,
        counting: process::Counting::default(),
    })?;
    verdict(&finished, limits, folder.path())?;
    let bytes =
        std::fs::read(folder.path().join(PROGRAM)).map_err(|source| ProcessError::System {
            action: "read the built program",
            source,
        })?;
    let libraries = libraries(&bytes, &compiler.finder)?;
    let driver = match wrapping {
        Some(_) => driver_hash(),
        None => ContentHash::of(b""),
    };
    Ok(ElfArtifact {
        content_hash: ContentHash::of(&bytes),
        bytes: bytes.into(),
        name: ElfArtifact::NAME.as_bytes().into(),
        device: wrapping.is_some(),
        wrapping: wrapping.map(|(wrapping, _)| wrapping),
        libraries,
        fingerprint: Arc::new(compiler.fingerprint(&flags, driver)),
    })
}

/// What the end of the compiler means.
fn verdict(finished: &Finished, limits: &CompileLimits, folder: &Path) -> Result<(), BuildFailure> {
    let limit = |what: String| Err(BuildFailure::CompileLimit { what });
    let memory = || limit(format!("{} bytes of memory", limits.memory_bytes));
    let cpu = || limit(format!("{} s of CPU time", limits.cpu.as_secs()));
    let text = readable_text(&finished.stderr, folder);
    // The processes of the compiler have their limits each; the driver only tells in words how they ended.
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    match finished.ending {
        Ending::Exited { code: 0 } => Ok(()),
        // The CPU time is the candidate's, the wall clock the host's.
        Ending::WallLimit => Err(BuildFailure::Ours(BackendFailure {
            what: format!(
                "the compiler was not done after {} s by the wall clock, within its CPU time",
                limits.wall.as_secs()
            ),
            remedy: "run again on a host that is less busy, or with fewer `--threads`".to_owned(),
        })),
        Ending::CpuLimit => cpu(),
        Ending::MemoryLimit => memory(),
        Ending::OutputLimit => limit(format!("{} bytes of messages", limits.text_bytes)),
        _ if says(&[
            "CPU time limit exceeded",
            "Killed signal terminated program",
        ]) =>
        {
            cpu()
        }
        _ if says(&[
            "out of memory allocating",
            "virtual memory exhausted",
            "memory exhausted",
            "std::bad_alloc",
        ]) =>
        {
            memory()
        }
        _ if says(&["File size limit exceeded", "File too large"]) => {
            limit(format!("{} bytes of program", limits.file_bytes))
        }
        _ if says(&["No space left on device"]) => Err(BuildFailure::Ours(BackendFailure {
            what: "the compiler found no space left on device".to_owned(),
            remedy: "free some in the folder for temporary files".to_owned(),
        })),
        Ending::Exited { .. } | Ending::Signaled { .. } => Err(BuildFailure::CompileError { text }),
    }
}

/// The compiler's words without the names of our temporary files.
fn readable_text(stderr: &[u8], folder: &Path) -> String {
    let folder = folder.to_string_lossy();
    let text = String::from_utf8_lossy(stderr).replace(&format!("{folder}/"), "");
    let text = text.replace(&*folder, ".");
    // Objects on the way are called `cc` and six random characters.
    let mut parts = Vec::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '.') {
        let random = part.len() > 9
            && part.starts_with("cc")
            && [".o", ".s", ".ltrans"]
                .iter()
                .any(|end| part[8..].starts_with(end))
            && part[2..8].bytes().all(|byte| byte.is_ascii_alphanumeric());
        parts.push(if random {
            format!("program{}", &part[8..])
        } else {
            part.to_owned()
        });
    }
    parts.concat()
}

/// Hash of the driver and of the headers that come with it.
pub(super) fn driver_hash() -> ContentHash {
    ContentHash::of_parts([DRIVER, CALLS, CALLS_STANDARD, BOOST_ANY, OPENSSL_MD5])
}

/// The dynamic linker and the libraries of a program.
pub(super) fn libraries(bytes: &[u8], finder: &Finder) -> Result<Vec<GuestFile>, BuildFailure> {
    let ours = |what: String| {
        BuildFailure::Ours(BackendFailure {
            what,
            remedy: "link statically, or install the library".to_owned(),
        })
    };
    let dynamic = read_dynamic(bytes).map_err(ours)?;
    let Some(interpreter) = dynamic.interpreter.clone() else {
        return Ok(Vec::new());
    };
    let (found, missing) = finder.resolve(&[(PathBuf::from("/program"), dynamic)]);
    if let Some(name) = missing.first() {
        return Err(ours(format!(
            "the program needs the library `{name}`, which is not found"
        )));
    }
    let folder = finder.default_folder();
    let linker_name = Path::new(&interpreter)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let mut files = vec![(interpreter.clone(), PathBuf::from(&interpreter))];
    for library in found {
        // The linker is a library too; it is known by the path in the program.
        if linker_name.as_ref() != Some(&library.name) {
            files.push((
                folder.join(&library.name).to_string_lossy().into_owned(),
                library.host,
            ));
        }
    }
    files
        .into_iter()
        .map(|(guest, host)| {
            let content_hash = ContentHash::of_file(&host)
                .map_err(|error| ours(format!("cannot read `{}`: {error}", host.display())))?;
            Ok(GuestFile {
                guest,
                host,
                content_hash,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Toolchain, build};
    use super::*;
    use crate::candidate::Candidate;

    fn build_cpp(
        candidate: &Candidate,
        options: &BuildOptions,
    ) -> Result<ElfArtifact, BuildFailure> {
        match build(candidate, &Toolchain::default(), options)? {
            super::super::Artifact::Elf(elf) => Ok(elf),
            other => panic!("{other:?}"),
        }
    }

    fn program(source: &str) -> Candidate {
        Candidate::CppProgram {
            source: source.to_owned(),
        }
    }

    fn function(source: &str, test: &str) -> Candidate {
        Candidate::CppFunction {
            source: source.to_owned(),
            entry_point: "f".to_owned(),
            test: test.to_owned(),
        }
    }

    fn error_text(candidate: &Candidate) -> String {
        match build_cpp(candidate, &BuildOptions::default()) {
            Err(BuildFailure::CompileError { text }) => text,
            other => panic!("{other:?} for {candidate:?}"),
        }
    }

    #[test]
    fn two_builds_in_different_folders_give_the_same_bytes() {
        let source = "#include <cstdio>\n#include <cassert>\nstatic int x;\nnamespace { struct S { S() { x = 3; } } s; }\n\
                      int main() { assert(x == 3); puts(__FILE__ __DATE__ __TIME__); }";
        let candidates = [
            program(source),
            function(
                "int f(int x) { return x; }",
                "int main() { assert(f(3) == 3); }",
            ),
        ];
        for candidate in candidates {
            for linking in Linking::ALL {
                let options = BuildOptions {
                    linking: *linking,
                    ..BuildOptions::default()
                };
                let first = build_cpp(&candidate, &options).unwrap();
                let second = build_cpp(&candidate, &options).unwrap();
                assert!(first.bytes == second.bytes, "{linking}");
                assert_eq!(first.fingerprint, second.fingerprint);
                let name = b"tickmark-";
                assert!(!first.bytes.windows(name.len()).any(|window| window == name));
            }
        }
    }

    #[test]
    fn options_change_the_bytes_and_the_fingerprint() {
        let candidate = program(
            "#include <cstdlib>\nint main(int n, char **v) { int s = 0; for (int i = 0; i < n; i++) s += atoi(v[i]) * 7; return s; }",
        );
        let plain = build_cpp(&candidate, &BuildOptions::default()).unwrap();
        let options = BuildOptions {
            optimisation: Optimisation::O0,
            ..BuildOptions::default()
        };
        let slow = build_cpp(&candidate, &options).unwrap();
        assert_ne!(plain.content_hash, slow.content_hash);
        assert_ne!(plain.fingerprint, slow.fingerprint);
    }

    #[test]
    fn a_dynamic_program_lists_its_linker_and_libraries() {
        let options = BuildOptions {
            linking: Linking::DynamicPie,
            ..BuildOptions::default()
        };
        let elf = build_cpp(
            &program("#include <iostream>\nint main() { std::cout << 1; }"),
            &options,
        )
        .unwrap();
        let names: Vec<_> = elf
            .libraries
            .iter()
            .map(|file| file.guest.rsplit('/').next().unwrap_or_default().to_owned())
            .collect();
        assert!(names[0].starts_with("ld-linux"), "{names:?}");
        for name in ["libstdc++.so.6", "libc.so.6", "libm.so.6", "libgcc_s.so.1"] {
            assert_eq!(
                names.iter().filter(|found| *found == name).count(),
                1,
                "{names:?}"
            );
        }
    }

    #[test]
    fn native_is_refused_by_name() {
        assert_eq!("x86-64-v3".parse(), Ok(Isa::V3));
        assert!(
            "native"
                .parse::<Isa>()
                .unwrap_err()
                .contains("depend on the host")
        );
    }

    #[test]
    fn errors_stand_in_the_candidate_and_name_no_path_of_ours() {
        let text = error_text(&program("int main() {\n  return nothing;\n}\n"));
        assert!(text.contains("candidate.cpp:2:10: error:"), "{text}");
        assert!(
            !text.contains("/tmp") && !text.contains("tickmark-"),
            "{text}"
        );
        let text = error_text(&program("int f(); int main() { return f(); }"));
        assert!(text.contains("undefined reference to `f()'"), "{text}");
        assert!(!text.contains("/tmp"), "{text}");
        let text = error_text(&function("int g() { return 1; }", "int main() { f(); }"));
        assert!(text.contains("test.cpp:1"), "{text}");
    }

    #[test]
    fn a_candidate_cannot_read_the_host_through_the_compiler() {
        for (line, file) in [
            ("#include \"/dev/zero\"", "/dev/zero"),
            ("#include \"/etc/passwd\"", "/etc/passwd"),
            ("#include \"/proc/self/environ\"", "/proc/self/environ"),
            ("asm(\".incbin \\\"/etc/shadow\\\"\");", "/etc/shadow"),
            ("asm(\".include \\\"/etc/passwd\\\"\");", "/etc/passwd"),
        ] {
            let text = error_text(&program(&format!("{line}\nint main() {{}}\n")));
            assert!(text.contains(file) && !text.contains("root:"), "{text}");
        }
    }

    #[test]
    fn compile_bombs_end_at_a_limit() {
        let limits = CompileLimits {
            cpu: Duration::from_secs(2),
            wall: Duration::from_secs(30),
            memory_bytes: 400 << 20,
            file_bytes: 8 << 20,
            text_bytes: 1 << 16,
        };
        let options = BuildOptions {
            limits,
            ..BuildOptions::default()
        };
        let bombs = [
            // Time: doubling instantiations.
            "template<int N, int M> struct T { enum { v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v }; };\n\
             template<int M> struct T<0, M> { enum { v = M }; };\nint main() { return T<30, 0>::v; }",
            // Memory: a table in the preprocessor.
            "#define A(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__\n\
             #define B(...) A(A(A(__VA_ARGS__)))\n#define C(...) B(B(B(B(__VA_ARGS__))))\n\
             int t[] = { C(1,) };\nint main() {}",
            // Space: a large initialised array.
            "char big[1 << 28] = {1};\nint main() { return big[5]; }",
        ];
        for bomb in bombs {
            match build_cpp(&program(bomb), &options) {
                Err(BuildFailure::CompileLimit { .. }) => {}
                other => panic!("{:?} for {bomb}", other.map(|elf| elf.content_hash)),
            }
        }
    }

    #[test]
    fn temporary_names_of_the_compiler_are_replaced() {
        let folder = Path::new("/tmp/tickmark-1-2");
        let text = readable_text(
            b"/usr/bin/ld: /tmp/tickmark-1-2/ccAb3xYz.o: in function `main'",
            folder,
        );
        assert_eq!(text, "/usr/bin/ld: program.o: in function `main'");
    }
}
