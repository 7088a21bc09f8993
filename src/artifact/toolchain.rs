//! Finding the compiler and the interpreter of this host, and their identity.
use super::libraries::Finder;
use super::precompiled::Precompiled;
use super::python::{self, Interpreter};
use super::{ContentHash, Fingerprint};
use crate::measurement::BackendFailure;
use crate::process::{self, Ending, Isolation, Limits, PrivateFolder, Request};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What the user chose instead of what is found.
#[derive(Clone, Debug, Default)]
pub struct ToolchainOptions {
    /// The C++ compiler, as a path or a name in `PATH`. Else the environment's `CXX`, `g++` or `clang++`.
    pub compiler: Option<PathBuf>,
    /// The Python interpreter, as a path or a name in `PATH`. Else `python3`.
    pub python: Option<PathBuf>,
    /// Where precompiled headers are kept, which make building faster and change no artifact; `None`: none are made.
    pub cache: Option<PathBuf>,
}

/// The compiler and the interpreter; each is looked for when it is first needed.
#[derive(Debug, Default)]
pub struct Toolchain {
    options: ToolchainOptions,
    cpp: OnceLock<Result<CppCompiler, BackendFailure>>,
    python: OnceLock<Result<Arc<Interpreter>, BackendFailure>>,
}

/// A C++ compiler.
#[derive(Clone, Debug)]
pub struct CppCompiler {
    /// Absolute path.
    pub path: PathBuf,
    /// First line of `--version`.
    pub version: String,
    /// Its target, such as `x86_64-linux-gnu`.
    pub target: String,
    /// Static versions of the standard libraries are there.
    pub links_statically: bool,
    /// Files that decide what it makes, by role.
    pub(super) files: BTreeMap<String, ContentHash>,
    /// What it must be able to read.
    pub(super) readable: Vec<PathBuf>,
    pub(super) finder: Finder,
    pub(super) precompiled: Precompiled,
}

impl Toolchain {
    /// A toolchain that is found by the rules of [`ToolchainOptions`] when it is first needed.
    pub fn new(options: ToolchainOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// The C++ compiler.
    ///
    /// # Errors
    /// [`BackendFailure`] where there is none that works.
    pub fn cpp(&self) -> Result<&CppCompiler, BackendFailure> {
        self.cpp
            .get_or_init(|| find_cpp(self.options.compiler.as_deref(), self.options.cache.clone()))
            .as_ref()
            .map_err(BackendFailure::clone)
    }

    /// The Python interpreter.
    ///
    /// # Errors
    /// [`BackendFailure`] where there is none that works.
    pub fn python(&self) -> Result<&Arc<Interpreter>, BackendFailure> {
        self.python
            .get_or_init(|| python::find(self.options.python.as_deref()))
            .as_ref()
            .map_err(BackendFailure::clone)
    }
}

impl CppCompiler {
    /// Whether it is gcc, by what it says of itself.
    pub(super) fn is_gcc(&self) -> bool {
        !self.version.contains("clang")
    }

    /// What makes an artifact with these flags and this driver.
    pub(super) fn fingerprint(&self, flags: &[String], driver: ContentHash) -> Fingerprint {
        let mut files = self.files.clone();
        files.insert("driver".to_owned(), driver);
        Fingerprint {
            version: self.version.clone(),
            flags: flags.to_vec(),
            files,
        }
    }
}

impl Toolchain {
    /// One hash of everything but the candidate that decides an artifact: compiler or interpreter, libraries, driver
    /// and options.
    ///
    /// # Errors
    /// [`BackendFailure`] where the compiler or interpreter is missing.
    pub fn identity(
        &self,
        language: crate::dataset::Language,
        options: &super::BuildOptions,
    ) -> Result<ContentHash, BackendFailure> {
        Ok(match language {
            crate::dataset::Language::Cpp => {
                let compiler = self.cpp()?;
                compiler
                    .fingerprint(&[format!("{options:?}")], super::cpp::driver_hash())
                    .content_hash()
            }
            crate::dataset::Language::Python => python::function("", "", "", self.python()?)
                .fingerprint
                .content_hash(),
        })
    }
}

/// The program of that name or path; names are looked up in `PATH`.
pub(super) fn look_up(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return std::path::absolute(name).ok().filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Asks a trusted program something and gives its standard output, or why it has none.
pub(super) fn ask(
    program: &Path,
    arguments: &[&str],
    environment: Vec<(OsString, OsString)>,
) -> Result<String, String> {
    let folder = PrivateFolder::new().map_err(|error| error.to_string())?;
    let finished = process::run(Request {
        program: program.to_owned(),
        name: None,
        arguments: arguments.iter().map(OsString::from).collect(),
        environment,
        folder: folder.path().to_owned(),
        stdin: b"",
        limits: Limits {
            wall: Duration::from_secs(60),
            cpu: Duration::from_secs(60),
            memory_bytes: None,
            address_space_bytes: None,
            file_bytes: 1 << 20,
            stack_bytes: 8 << 20,
            output_bytes: 1 << 20,
        },
        isolation: Isolation {
            trusted: true,
            ..Isolation::default()
        },
        channel: None,
        counting: process::Counting::default(),
    })
    .map_err(|error| error.to_string())?;
    if finished.ending != (Ending::Exited { code: 0 }) {
        let said = String::from_utf8_lossy(&finished.stderr);
        return Err(format!(
            "`{}` ended with {:?}: {said}",
            program.display(),
            finished.ending
        ));
    }
    String::from_utf8(finished.stdout).map_err(|error| error.to_string())
}

/// The environment in which a compiler runs: nothing of the user's, so that nothing of it can change the result.
pub(super) fn compiler_environment(compiler: &Path, folder: &Path) -> Vec<(OsString, OsString)> {
    let own = compiler
        .parent()
        .unwrap_or(Path::new("/"))
        .to_string_lossy()
        .into_owned();
    vec![
        (
            "PATH".into(),
            format!("{own}:/usr/local/bin:/usr/bin:/bin").into(),
        ),
        ("LC_ALL".into(), "C".into()),
        ("TMPDIR".into(), folder.into()),
        ("SOURCE_DATE_EPOCH".into(), "0".into()),
    ]
}

fn find_cpp(chosen: Option<&Path>, cache: Option<PathBuf>) -> Result<CppCompiler, BackendFailure> {
    let from_environment = std::env::var_os("CXX")
        .filter(|name| !name.is_empty())
        .map(PathBuf::from);
    let path = match chosen.map(Path::to_owned).or(from_environment) {
        Some(name) => look_up(&name).ok_or_else(|| BackendFailure {
            what: format!("there is no C++ compiler `{}`", name.display()),
            remedy: "give its path, or leave the choice out to take `g++` of PATH".to_owned(),
        })?,
        None => ["g++", "clang++"]
            .iter()
            .find_map(|name| look_up(Path::new(name)))
            .ok_or_else(|| BackendFailure {
                what: "there is no C++ compiler: neither `g++` nor `clang++` is in PATH".to_owned(),
                remedy:
                    "install one (Debian, Ubuntu: `apt install g++`; Fedora: `dnf install gcc-c++ \
                         libstdc++-static glibc-static`)"
                        .to_owned(),
            })?,
    };
    let say = |arguments: &[&str]| {
        ask(
            &path,
            arguments,
            compiler_environment(&path, &std::env::temp_dir()),
        )
        .map(|text| text.trim().to_owned())
        .map_err(|what| BackendFailure {
            what,
            remedy: "choose a C++ compiler that works".to_owned(),
        })
    };
    let version = say(&["--version"])?
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    let target = say(&["-dumpmachine"])?;
    let mut files = BTreeMap::new();
    let mut readable: Vec<PathBuf> = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache"]
        .into_iter()
        .map(PathBuf::from)
        .collect();
    readable.push(path.clone());
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    readable.push(real.clone());
    // Compilers outside /usr keep their parts beside their `bin`.
    if let Some(prefix) = real
        .parent()
        .filter(|bin| bin.ends_with("bin"))
        .and_then(Path::parent)
        && prefix.parent().is_some()
    {
        readable.push(prefix.to_owned());
    }
    // gcc is a driver of `cc1plus`; clang is all in one.
    let proper = PathBuf::from(say(&["-print-prog-name=cc1plus"])?);
    let proper = if proper.is_absolute() { proper } else { real };
    let mut links_statically = true;
    let mut add = |role: &str, path: &Path| {
        let hash = ContentHash::of_file(path);
        if let Ok(hash) = hash {
            files.insert(role.to_owned(), hash);
        }
        path.is_absolute() && files.contains_key(role)
    };
    add("compiler", &proper);
    for name in ["libstdc++.a", "libc.a", "libm.a", "libgcc.a", "crt1.o"] {
        let path = PathBuf::from(say(&[&format!("-print-file-name={name}")])?);
        links_statically &= add(name, &path);
    }
    Ok(CppCompiler {
        path,
        version,
        target,
        links_statically,
        files,
        readable,
        finder: Finder::of_host(),
        precompiled: Precompiled::under(cache),
    })
}
