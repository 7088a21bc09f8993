//! Finds the user's gem5 and asks it what it is.
use super::job::{self, Asked, SCRIPT};
use crate::artifact::ContentHash;
use crate::measurement::BackendFailure;
use crate::process::{self, Ending, Isolation, PrivateFolder, Request};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names that gem5's build gives, in the order in which they are looked for: `fast` has no tracing and is fastest.
const NAMES: [&str; 4] = ["gem5.fast", "gem5.opt", "gem5", "gem5.debug"];
/// The environment variable that names gem5.
pub const VARIABLE: &str = "TICKMARK_GEM5";
/// Major versions for which the script and the statistics are written.
const WRITTEN_FOR: std::ops::RangeInclusive<u32> = 21..=25;

/// A gem5 on this host.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The executable.
    pub executable: PathBuf,
    /// Hash of the executable: part of every job key.
    pub hash: ContentHash,
    /// What it says about itself.
    pub about: About,
}

/// What a gem5 says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct About {
    /// Its version, such as `24.0.0.1`.
    pub version: String,
    /// When it was compiled.
    pub compiled: String,
    /// Instruction sets that it was built for.
    pub isas: Vec<String>,
    /// It can trace: the variants `opt` and `debug`.
    pub tracing: bool,
    /// Kinds of core that it has.
    pub cores: Vec<String>,
    /// Version of its Python.
    pub python: String,
    /// Where its Python looks for modules.
    pub python_path: Vec<PathBuf>,
    /// Files that it has mapped: itself and its libraries.
    pub files: Vec<PathBuf>,
}

impl Installation {
    /// Finds gem5 and asks it: the path that was given, else the variable [`VARIABLE`], else `PATH`. A folder stands for
    /// a source tree, whose builds are looked through.
    ///
    /// # Errors
    /// There is none, it does not run, or it is of no use here; the remedy says what to do.
    pub fn find(chosen: Option<&Path>) -> Result<Self, BackendFailure> {
        let executable = look(chosen)?;
        Self::ask(executable)
    }

    fn ask(executable: PathBuf) -> Result<Self, BackendFailure> {
        let failure = |what: String| BackendFailure {
            what: format!("`{}` {what}", executable.display()),
            remedy: format!(
                "give the path of a gem5 of version 21 to 25 that was built for X86, with `--gem5` or in {VARIABLE}"
            ),
        };
        let folder = PrivateFolder::new().map_err(|error| failure(error.to_string()))?;
        let out = folder.path();
        let result = out.join("about.json");
        job::write(out, &Asked::Identify { result: &result })
            .map_err(|error| failure(format!("cannot be asked: {error}")))?;
        let finished = process::run(request(executable.clone(), out))
            .map_err(|error| failure(format!("does not run: {error}")))?;
        let text = std::fs::read_to_string(&result).map_err(|_| {
            let stderr = String::from_utf8_lossy(&finished.stderr);
            let last = stderr.lines().rfind(|line| !line.trim().is_empty());
            let how = match finished.ending {
                Ending::Exited { code } => format!("exit code {code}"),
                other => format!("{other:?}"),
            };
            failure(format!(
                "does not answer as gem5 does ({how}{})",
                last.map(|line| format!(": {line}")).unwrap_or_default()
            ))
        })?;
        let about: About = serde_json::from_str(&text)
            .map_err(|error| failure(format!("gives an answer that cannot be read: {error}")))?;
        if !about.isas.iter().any(|isa| isa == "x86") {
            return Err(failure(format!(
                "is gem5 {} for {}, not for X86",
                about.version,
                about.isas.join(", ")
            )));
        }
        let hash =
            hash_of(&executable).map_err(|error| failure(format!("cannot be read: {error}")))?;
        Ok(Self {
            hash,
            executable,
            about,
        })
    }

    /// What to say about its version, if the version is not one that this was written for.
    pub fn warning(&self) -> Option<String> {
        let major = self.about.version.split('.').next();
        let major = major.and_then(|word| word.trim_start_matches('v').parse::<u32>().ok());
        match major {
            Some(major) if WRITTEN_FOR.contains(&major) => None,
            _ => Some(format!(
                "gem5 {} is not one of v{} to v{}, for which names and statistics are known",
                self.about.version,
                WRITTEN_FOR.start(),
                WRITTEN_FOR.end()
            )),
        }
    }

    /// Version, variant and instruction sets in one line.
    pub fn describe(&self) -> String {
        format!(
            "gem5 {} ({}; {}; Python {})",
            self.about.version,
            self.about.isas.join(", "),
            if self.about.tracing {
                "with tracing, which is slow"
            } else {
                "without tracing"
            },
            self.about.python
        )
    }

    /// What it must be able to read on this host.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let mut paths = system_libraries();
        paths.push(self.executable.clone());
        paths.extend(self.about.files.iter().cloned());
        // The folder of our own script is among them, and gone.
        let there = |path: &&PathBuf| path.exists() && path.components().count() > 2;
        paths.extend(self.about.python_path.iter().filter(there).cloned());
        paths
    }
}

/// Where the host's own libraries lie.
pub(super) fn system_libraries() -> Vec<PathBuf> {
    [
        "/lib",
        "/lib64",
        "/usr/lib",
        "/usr/lib64",
        "/etc/ld.so.cache",
    ]
    .map(PathBuf::from)
    .into()
}

/// A run of gem5 that simulates nothing and writes its answer into `out`.
pub(super) fn request(executable: PathBuf, out: &Path) -> Request<'static> {
    Request {
        program: executable,
        name: None,
        arguments: arguments(out),
        environment: environment(),
        folder: out.to_owned(),
        stdin: b"",
        limits: process::Limits {
            wall: Duration::from_secs(300),
            cpu: Duration::from_secs(300),
            memory_bytes: None,
            address_space_bytes: None,
            file_bytes: 64 << 20,
            stack_bytes: 8 << 20,
            output_bytes: 1 << 20,
        },
        isolation: Isolation {
            trusted: true,
            ..Default::default()
        },
        channel: None,
        counting: process::Counting::default(),
    }
}

/// Arguments of gem5: the output folder, no port for debuggers, our script and its job.
pub(super) fn arguments(out: &Path) -> Vec<OsString> {
    let mut outdir = OsString::from("--outdir=");
    outdir.push(out);
    vec![
        outdir,
        "--listener-mode=off".into(),
        // Nobody looks at the figure, and drawing it takes longer than a short run.
        "--dot-config=".into(),
        "--json-config=".into(),
        out.join(SCRIPT).into_os_string(),
        out.join(job::FILE).into_os_string(),
    ]
}

/// gem5's own environment, which its guests do not see: what its Python and libraries may need to be found.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = vec![
        ("LC_ALL".into(), "C".into()),
        ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
    ];
    for name in ["LD_LIBRARY_PATH", "PYTHONHOME"] {
        if let Some(value) = std::env::var_os(name) {
            environment.push((name.into(), value));
        }
    }
    environment
}

/// Hash of a file that may have a gigabyte: of the hashes of its parts.
fn hash_of(path: &Path) -> std::io::Result<ContentHash> {
    use std::io::Read;
    let mut file = std::fs::File::open(path)?;
    let mut part = Vec::new();
    let mut hashes = Vec::new();
    loop {
        part.clear();
        file.by_ref().take(16 << 20).read_to_end(&mut part)?;
        if part.is_empty() {
            return Ok(ContentHash::of_parts(hashes));
        }
        hashes.push(ContentHash::of(&part).to_string());
    }
}

fn look(chosen: Option<&Path>) -> Result<PathBuf, BackendFailure> {
    let named = chosen
        .map(|path| (path.to_owned(), "`--gem5`"))
        .or_else(|| Some((std::env::var_os(VARIABLE)?.into(), VARIABLE)));
    let Some((path, origin)) = named else {
        return NAMES
            .iter()
            .find_map(|name| in_path(Path::new(name)))
            .ok_or_else(|| BackendFailure {
                what: format!("there is no gem5: neither {} is in PATH", NAMES.join(" nor ")),
                remedy: format!(
                    "build one (`scons build/X86/gem5.fast` in its source tree) and give its path with `--gem5` or in \
                     {VARIABLE}"
                ),
            });
    };
    let found = if path.is_dir() {
        in_tree(&path)
    } else {
        in_path(&path)
    };
    found.ok_or_else(|| BackendFailure {
        what: format!("{origin} names `{}`, and there is no gem5", path.display()),
        remedy:
            "give the executable (`build/X86/gem5.fast`), or gem5's source tree once it is built"
                .to_owned(),
    })
}

fn in_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return std::path::absolute(name).ok().filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// The fastest build of a source tree, or of its `build` folder.
fn in_tree(tree: &Path) -> Option<PathBuf> {
    let mut folders = vec![tree.to_owned()];
    for base in [tree.join("build"), tree.to_owned()] {
        let mut below: Vec<PathBuf> = std::fs::read_dir(base)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        below.sort();
        folders.extend(below);
    }
    NAMES.iter().find_map(|name| {
        folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
            .and_then(|path| std::path::absolute(path).ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_gives_its_fastest_build() {
        let folder = PrivateFolder::new().unwrap();
        let tree = folder.path();
        assert_eq!(in_tree(tree), None);
        std::fs::create_dir_all(tree.join("build/X86")).unwrap();
        std::fs::write(tree.join("build/X86/gem5.opt"), "").unwrap();
        assert_eq!(in_tree(tree), Some(tree.join("build/X86/gem5.opt")));
        std::fs::write(tree.join("build/X86/gem5.fast"), "").unwrap();
        assert_eq!(in_tree(tree), Some(tree.join("build/X86/gem5.fast")));
        assert_eq!(
            in_tree(&tree.join("build/X86")),
            Some(tree.join("build/X86/gem5.fast"))
        );
    }

    #[test]
    fn what_is_not_there_is_named_with_its_remedy() {
        let error = Installation::find(Some(Path::new("/nowhere/gem5.fast"))).unwrap_err();
        assert_eq!(
            error.what,
            "`--gem5` names `/nowhere/gem5.fast`, and there is no gem5"
        );
        let error = Installation::find(Some(Path::new("/bin/true"))).unwrap_err();
        assert!(
            error.what.contains("does not answer as gem5 does"),
            "{error}"
        );
    }
}
