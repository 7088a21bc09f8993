//! Python candidates, the interpreter that runs them, and what the interpreter needs.
use super::libraries::{Finder, GuestFile, read_dynamic};
use super::toolchain::{ask, look_up};
use super::{ContentHash, Fingerprint};
use crate::measurement::BackendFailure;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Modules that the driver imports before the candidate is known, so that a snapshot holds them. Part of the driver's
/// text, and with it of the fingerprint.
pub const PRELOADED: &[&str] = &[
    "abc",
    "array",
    "base64",
    "bisect",
    "calendar",
    "cmath",
    "collections",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "inspect",
    "io",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "os",
    "queue",
    "random",
    "re",
    "statistics",
    "string",
    "struct",
    "sys",
    "textwrap",
    "time",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "uuid",
    "zlib",
];

const DRIVER: &str = include_str!("driver/driver.py");

/// A Python interpreter of the host, and where a guest finds it and its files.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The interpreter's executable, without symbolic links or shims.
    pub executable: PathBuf,
    /// `sys.prefix` of the installation (not of a virtual environment).
    pub prefix: PathBuf,
    /// Folder of the standard library.
    pub standard_library: PathBuf,
    /// Folder of its compiled modules.
    pub dynamic_modules: PathBuf,
    /// Folder of the installed packages, where the interpreter is that of a virtual environment. Those of the
    /// installation itself are not seen: what happens to be there is not part of a comparison.
    pub packages: Option<PathBuf>,
    /// First line of `sys.version`.
    pub version: String,
    /// Tag in the names of byte code files, such as `cpython-311`.
    pub cache_tag: String,
    /// The executable in the guest; everything else of the interpreter is below [`Self::GUEST_PREFIX`].
    pub guest_executable: String,
    /// Folder of the standard library in the guest.
    pub guest_library: String,
    /// Executable, dynamic linker and shared libraries, of the interpreter and of its compiled modules.
    pub libraries: Vec<GuestFile>,
    /// Libraries that compiled modules want and that are not there: importing those modules fails, as on the host.
    pub missing_libraries: Vec<String>,
    /// Files that decide what it does, by role.
    pub(super) files: BTreeMap<String, ContentHash>,
}

/// A script, or a function with the driver, and the interpreter for it.
#[derive(Clone, Debug)]
pub struct PythonArtifact {
    /// The file to start: the candidate's script or the driver.
    pub script: Arc<[u8]>,
    /// Name of that file.
    pub script_name: &'static str,
    /// The interpreter.
    pub interpreter: Arc<Interpreter>,
    /// What made it.
    pub fingerprint: Arc<Fingerprint>,
    function: Option<Function>,
}

#[derive(Clone, Debug)]
struct Function {
    source: String,
    entry_point: String,
    test: String,
}

/// Inputs of the device at whose `read` the driver has reached a state worth keeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPoints {
    /// Interpreter and preloaded modules are there; nothing of the candidate is known.
    pub interpreter: usize,
    /// The candidate's module is loaded; the test is not known.
    pub candidate: usize,
}

impl Interpreter {
    /// Where the interpreter is installed in a guest.
    pub const GUEST_PREFIX: &'static str = "/python";
    /// Where the packages of a virtual environment are in a guest.
    pub const GUEST_PACKAGES: &'static str = "/python/packages";

    /// Options before the script.
    ///
    /// Not `-I`: it implies `-E`, which ignores the fixed hash seed. What `-I` keeps out is kept out by an environment
    /// that is ours alone, `-s` (no user packages), `-S` (no site packages) and, for the driver, a search path without
    /// the script's folder. `-B` writes no byte code.
    pub const FLAGS: &[&str] = &["-s", "-S", "-B", "-X", "utf8"];

    /// The whole environment, for an installation at `prefix` with packages in a folder and with this hash seed (0: no
    /// hash randomisation).
    pub fn environment(
        prefix: &str,
        packages: Option<&str>,
        hash_seed: u32,
    ) -> Vec<(String, String)> {
        let packages = packages.map(|folder| ("PYTHONPATH", folder.to_owned()));
        [
            ("PYTHONHASHSEED", hash_seed.to_string()),
            ("PYTHONHOME", prefix.to_owned()),
            // Libraries with threads of their own would make results depend on the number of processors.
            ("OMP_NUM_THREADS", "1".to_owned()),
            ("OPENBLAS_NUM_THREADS", "1".to_owned()),
        ]
        .into_iter()
        .chain(packages)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }
}

impl PythonArtifact {
    /// It holds the driver, which reads from the device.
    pub fn has_device(&self) -> bool {
        self.function.is_some()
    }

    /// What the driver reads behind its nonce.
    pub(super) fn messages(&self) -> Option<Vec<Arc<[u8]>>> {
        let function = self.function.as_ref()?;
        let texts = [&function.entry_point, &function.source, &function.test];
        Some(texts.into_iter().flat_map(|text| framed(text)).collect())
    }

    /// Where snapshots can be taken; `None` without a driver.
    pub fn snapshot_points(&self) -> Option<SnapshotPoints> {
        let function = self.function.as_ref()?;
        let loading = framed(&function.entry_point).count() + framed(&function.source).count();
        Some(SnapshotPoints {
            interpreter: 1,
            candidate: 1 + loading,
        })
    }

    /// The same with an empty script, whose run is the interpreter's start and end alone.
    #[must_use]
    pub fn without_a_line(&self) -> Self {
        Self {
            script: Arc::from([]),
            ..self.clone()
        }
    }

    pub(super) fn content_hash(&self) -> ContentHash {
        let interpreter = self.fingerprint.content_hash().to_string();
        let function = self.function.iter().flat_map(|function| {
            [&function.entry_point, &function.source, &function.test].map(|text| text.as_bytes())
        });
        ContentHash::of_parts(
            [interpreter.as_bytes(), &self.script]
                .into_iter()
                .chain(function),
        )
    }
}

/// A text as messages: its length in bytes, then its bytes in parts of at most [`crate::process::Channel::LONGEST`].
fn framed(text: &str) -> impl Iterator<Item = Arc<[u8]>> {
    let length = Arc::from(text.len().to_string().into_bytes());
    let parts = text
        .as_bytes()
        .chunks(crate::process::Channel::LONGEST)
        .map(Arc::from);
    std::iter::once(length).chain(parts)
}

pub(super) fn program(source: &str, interpreter: &Arc<Interpreter>) -> PythonArtifact {
    PythonArtifact {
        script: Arc::from(source.as_bytes()),
        script_name: "candidate.py",
        interpreter: interpreter.clone(),
        fingerprint: Arc::new(fingerprint(interpreter, b"")),
        function: None,
    }
}

pub(super) fn function(
    source: &str,
    entry_point: &str,
    test: &str,
    interpreter: &Arc<Interpreter>,
) -> PythonArtifact {
    let driver = driver();
    PythonArtifact {
        fingerprint: Arc::new(fingerprint(interpreter, driver.as_bytes())),
        script: Arc::from(driver.into_bytes()),
        script_name: "driver.py",
        interpreter: interpreter.clone(),
        function: Some(Function {
            source: source.to_owned(),
            entry_point: entry_point.to_owned(),
            test: test.to_owned(),
        }),
    }
}

fn driver() -> String {
    let names: Vec<_> = PRELOADED.iter().map(|name| format!("{name:?}")).collect();
    format!("PRELOADED = ({})\n{DRIVER}", names.join(", "))
}

fn fingerprint(interpreter: &Interpreter, driver: &[u8]) -> Fingerprint {
    let mut files = interpreter.files.clone();
    files.insert("driver".to_owned(), ContentHash::of(driver));
    let flags = Interpreter::FLAGS
        .iter()
        .map(|flag| (*flag).to_owned())
        .collect();
    Fingerprint {
        version: interpreter.version.clone(),
        flags,
        files,
    }
}

/// What the interpreter says about itself.
#[derive(serde::Deserialize)]
struct Description {
    executable: PathBuf,
    prefix: PathBuf,
    library: PathBuf,
    dynamic_modules: PathBuf,
    packages: Option<PathBuf>,
    lib_folder: String,
    version: String,
    name: String,
    cache_tag: String,
}

const QUESTION: &str = "
import json, os, sys, sysconfig
name = 'python%d.%d' % sys.version_info[:2]
environment = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
packages = os.path.join(environment, 'lib', name, 'site-packages')
in_environment = os.path.isfile(os.path.join(environment, 'pyvenv.cfg')) and os.path.isdir(packages)
platform = sysconfig.get_path('platstdlib', vars={'platbase': sys.base_exec_prefix, 'installed_platbase': sys.base_exec_prefix})
print(json.dumps({
    'executable': os.path.realpath(getattr(sys, '_base_executable', None) or sys.executable),
    'prefix': sys.base_prefix,
    'library': os.path.dirname(os.path.realpath(os.__file__)),
    'dynamic_modules': os.path.join(platform, 'lib-dynload'),
    'packages': packages if in_environment else None,
    'lib_folder': getattr(sys, 'platlibdir', 'lib'),
    'version': sys.version.splitlines()[0],
    'name': name,
    'cache_tag': sys.implementation.cache_tag,
}))
";

/// Finds the interpreter behind `python3`, which may be a script that chooses one.
pub(super) fn find(chosen: Option<&Path>) -> Result<Arc<Interpreter>, BackendFailure> {
    let name = chosen.unwrap_or(Path::new("python3"));
    let failure = |what: String| BackendFailure {
        what,
        remedy:
            "install Python 3.8 or newer (Debian, Ubuntu: `apt install python3`), or give its path"
                .to_owned(),
    };
    let path = look_up(name).ok_or_else(|| {
        failure(format!(
            "there is no Python interpreter `{}`",
            name.display()
        ))
    })?;
    // The user's environment chooses among versions, but does not configure the one that answers.
    let environment: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| !name.to_string_lossy().starts_with("PYTHON"))
        .collect();
    let answer = ask(&path, &["-I", "-S", "-c", QUESTION], environment).map_err(failure)?;
    let description: Description = serde_json::from_str(&answer)
        .map_err(|error| failure(format!("`{}` gave no answer: {error}", path.display())))?;
    interpreter(description).map(Arc::new).map_err(failure)
}

fn interpreter(description: Description) -> Result<Interpreter, String> {
    let Description {
        executable,
        prefix,
        library,
        dynamic_modules,
        packages,
        ..
    } = description;
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    };
    let bytes = read(&executable)?;
    let dynamic =
        read_dynamic(&bytes).map_err(|error| format!("`{}` is {error}", executable.display()))?;
    let linker = dynamic.interpreter.clone();
    let mut roots = vec![(executable.clone(), dynamic)];
    let mut modules: Vec<PathBuf> = std::fs::read_dir(&dynamic_modules)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "so"))
        .collect();
    modules.sort();
    let package_files = packages.as_deref().map(files_below).unwrap_or_default();
    modules.extend(
        package_files
            .iter()
            .filter(|path| is_library(path))
            .cloned(),
    );
    for module in modules {
        if let Ok(dynamic) = read_dynamic(&read(&module)?) {
            // The linker gives a module the run path of the program that loads it.
            roots.push((module, dynamic));
        }
    }
    let finder = Finder::of_host();
    let (found, missing_libraries) = finder.resolve(&roots);
    let guest_executable = format!("{}/bin/{}", Interpreter::GUEST_PREFIX, description.name);
    let mut paths = vec![(guest_executable.clone(), executable.clone())];
    let linker_name = linker
        .as_deref()
        .and_then(|path| path.rsplit('/').next())
        .map(str::to_owned);
    paths.extend(linker.map(|path| (path.clone(), PathBuf::from(path))));
    let folder = finder.default_folder();
    for library in found {
        // What packages bring along stands where they look for it.
        let of_package = packages
            .as_ref()
            .is_some_and(|folder| library.host.starts_with(folder));
        if of_package {
            continue;
        }
        if linker_name.as_ref() != Some(&library.name) {
            paths.push((
                folder.join(&library.name).to_string_lossy().into_owned(),
                library.host,
            ));
        }
    }
    let mut libraries = Vec::new();
    for (guest, host) in paths {
        let content_hash = ContentHash::of(&read(&host)?);
        libraries.push(GuestFile {
            guest,
            host,
            content_hash,
        });
    }
    let mut files = BTreeMap::from([
        ("interpreter".to_owned(), ContentHash::of(&bytes)),
        (
            "shared libraries".to_owned(),
            ContentHash::of_parts(libraries.iter().map(GuestFile::identity)),
        ),
        (
            "standard library".to_owned(),
            hash_library(&library, &dynamic_modules)?,
        ),
    ]);
    if let Some(folder) = &packages {
        files.insert(
            "packages".to_owned(),
            hash_files(&package_files, &[folder])?,
        );
    }
    Ok(Interpreter {
        packages,
        guest_library: format!(
            "{}/{}/{}",
            Interpreter::GUEST_PREFIX,
            description.lib_folder,
            description.name
        ),
        version: description.version,
        cache_tag: description.cache_tag,
        executable,
        prefix,
        standard_library: library,
        dynamic_modules,
        guest_executable,
        libraries,
        missing_libraries,
        files,
    })
}

/// Hash of the standard library's sources and compiled modules, by relative path. Not of byte code, which follows from
/// the sources, nor of packages and tests, which no candidate sees or needs.
fn hash_library(library: &Path, dynamic_modules: &Path) -> Result<ContentHash, String> {
    const LEFT_OUT: &[&str] = &[
        "__pycache__",
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idlelib",
        "lib2to3",
        "ensurepip",
    ];
    let mut files = Vec::new();
    let mut folders = vec![library.to_owned()];
    if !dynamic_modules.starts_with(library) {
        folders.push(dynamic_modules.to_owned());
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if !LEFT_OUT.iter().any(|left| name == *left) {
                    folders.push(path);
                }
            } else if path
                .extension()
                .is_some_and(|extension| extension == "py" || extension == "so")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    hash_files(&files, &[library, dynamic_modules])
}

/// Hash of files by their paths relative to the first folder that they are in.
fn hash_files(files: &[PathBuf], folders: &[&Path]) -> Result<ContentHash, String> {
    let mut parts = Vec::new();
    for file in files {
        let hash = ContentHash::of_file(file)
            .map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
        let name = folders
            .iter()
            .find_map(|folder| file.strip_prefix(folder).ok())
            .unwrap_or(file);
        parts.push(format!("{}={hash}", name.display()));
    }
    Ok(ContentHash::of_parts(parts))
}

/// All files below a folder but byte code, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                // A link to a folder may lead back up.
                Ok(kind) if kind.is_dir() && entry.file_name() != "__pycache__" => {
                    folders.push(path);
                }
                Ok(_) if path.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// Whether a file name is that of a shared library: `x.so`, `libx.so.3`.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.")
}

#[cfg(test)]
mod tests {
    use super::super::{Artifact, BuildOptions, Toolchain, build};
    use super::*;
    use crate::candidate::Candidate;

    #[test]
    fn the_interpreter_is_a_real_program_with_its_library_and_all_that_it_links() {
        let toolchain = Toolchain::default();
        let interpreter = toolchain.python().unwrap();
        assert_eq!(
            interpreter.executable,
            interpreter.executable.canonicalize().unwrap()
        );
        assert!(
            std::fs::read(&interpreter.executable)
                .unwrap()
                .starts_with(b"\x7fELF")
        );
        assert!(interpreter.standard_library.join("os.py").is_file());
        assert!(interpreter.dynamic_modules.is_dir());
        assert!(interpreter.guest_library.starts_with("/python/lib"));
        assert_eq!(interpreter.libraries[0].guest, interpreter.guest_executable);
        let guests: Vec<_> = interpreter
            .libraries
            .iter()
            .map(|file| &file.guest)
            .collect();
        assert!(
            guests.iter().any(|guest| guest.ends_with("/libc.so.6")),
            "{guests:?}"
        );
        let mut unique = guests.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), guests.len());
    }

    #[test]
    fn a_text_is_framed_by_its_length_and_split_where_a_message_must_end() {
        let lengths = |text: &str| framed(text).map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(lengths(""), [1]);
        assert_eq!(lengths("abc"), [1, 3]);
        assert_eq!(lengths(&"x".repeat(65537)), [5, 65536, 1]);
    }

    #[test]
    fn snapshots_are_taken_before_the_candidate_and_before_the_test() {
        let candidate = Candidate::PythonFunction {
            source: "y".repeat(70_000),
            entry_point: "f".to_owned(),
            test: "t".to_owned(),
        };
        let artifact = build(&candidate, &Toolchain::default(), &BuildOptions::default()).unwrap();
        let inputs = artifact.device(*b"0123456789abcdef").unwrap().inputs;
        let Artifact::Python(python) = &artifact else {
            panic!("{artifact:?}")
        };
        let points = python.snapshot_points().unwrap();
        assert_eq!(&*inputs[0], b"0123456789abcdef");
        // Length of the entry point; then length, two parts of the source; then length of the test.
        assert_eq!(&*inputs[points.interpreter], b"1");
        assert_eq!(
            points,
            SnapshotPoints {
                interpreter: 1,
                candidate: 6
            }
        );
        assert_eq!((&*inputs[6], &*inputs[7]), (&b"1"[..], &b"t"[..]));
    }

    #[test]
    fn every_text_of_a_candidate_is_in_its_hash() {
        let toolchain = Toolchain::default();
        let hash = |source: &str, entry_point: &str, test: &str| {
            let [source, entry_point, test] = [source, entry_point, test].map(str::to_owned);
            let candidate = Candidate::PythonFunction {
                source,
                entry_point,
                test,
            };
            build(&candidate, &toolchain, &BuildOptions::default())
                .unwrap()
                .content_hash()
        };
        let all = [
            hash("a", "b", "c"),
            hash("x", "b", "c"),
            hash("a", "x", "c"),
            hash("a", "b", "x"),
            hash("ab", "", "c"),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one));
        }
        assert_eq!(all[0], hash("a", "b", "c"));
    }
}
