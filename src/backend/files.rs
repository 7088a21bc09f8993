//! Folders of the host as a guest sees them: read-only, read lazily, remembered.
use crate::artifact::{ContentHash, Interpreter};
use crate::process::{self, PrivateFolder, Request};
use crate::sim::guest::world::{FileProvider, Node};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A read-only folder of the host. What has been read once is answered from memory, so that a run sees one state.
#[derive(Debug)]
pub struct HostFolder {
    root: PathBuf,
    nodes: Mutex<BTreeMap<String, Option<Node>>>,
    lists: Mutex<BTreeMap<String, Option<Vec<String>>>>,
}

impl HostFolder {
    /// The folder at `root`; links that lead out of it are not followed.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            root: root.canonicalize().unwrap_or(root),
            nodes: Mutex::default(),
            lists: Mutex::default(),
        }
    }

    fn read(&self, relative: &str) -> Option<Node> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.root.join(relative);
        // Symbolic links inside the folder are followed here: the guest sees what they lead to.
        let real = path.canonicalize().ok()?;
        if !real.starts_with(&self.root) {
            return None;
        }
        let metadata = real.metadata().ok()?;
        if metadata.is_dir() {
            return Some(Node::Directory);
        }
        if !metadata.is_file() {
            return None;
        }
        let executable = metadata.permissions().mode() & 0o111 != 0;
        Some(Node::File {
            content: std::fs::read(&real).ok()?.into(),
            executable,
        })
    }
}

impl FileProvider for HostFolder {
    fn lookup(&self, relative: &str) -> Option<Node> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes
            .entry(relative.to_owned())
            .or_insert_with(|| self.read(relative))
            .clone()
    }

    fn list(&self, relative: &str) -> Option<Vec<String>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists
            .entry(relative.to_owned())
            .or_insert_with(|| {
                let real = self.root.join(relative).canonicalize().ok()?;
                if !real.starts_with(&self.root) {
                    return None;
                }
                let mut names: Vec<String> = std::fs::read_dir(real)
                    .ok()?
                    .flatten()
                    .filter_map(|entry| entry.file_name().into_string().ok())
                    .collect();
                names.sort();
                Some(names)
            })
            .clone()
    }
}

/// The standard library of an interpreter, or its packages, with their byte code compiled ahead.
///
/// Byte code on the host is tied to the times of its sources, which a guest does not see: each import would compile
/// its module again, in the simulation. So byte code is made here, in the form that is not checked against its source
/// (PEP 552), each module by an interpreter of its own, so that its bytes depend on nothing but source and
/// interpreter. It is kept in the user's cache.
#[derive(Debug)]
pub(super) struct PythonLibrary {
    sources: HostFolder,
    /// Where the sources are on the host, and in the guest.
    host: PathBuf,
    guest: String,
    /// What stands under `lib-dynload`, if that is elsewhere.
    dynamic_modules: Option<HostFolder>,
    interpreter: Arc<Interpreter>,
    cache: PathBuf,
    compiled: Mutex<BTreeMap<String, Option<Node>>>,
}

const COMPILE: &str = "
import sys, importlib._bootstrap_external as external
path, guest = sys.argv[1:]
with open(path, 'rb') as file:
    source = file.read()
code = compile(source, guest, 'exec', dont_inherit=True, optimize=0)
sys.stdout.buffer.write(external._code_to_hash_pyc(code, bytes(8), False))
";

impl PythonLibrary {
    /// The library of `interpreter`; byte code is kept below `cache`.
    pub(super) fn standard(interpreter: Arc<Interpreter>, cache: &Path) -> Self {
        let dynamic_modules = Some(HostFolder::new(&interpreter.dynamic_modules));
        Self {
            dynamic_modules,
            ..Self::packages(
                &interpreter.standard_library.clone(),
                interpreter.guest_library.clone(),
                interpreter,
                cache,
            )
        }
    }

    /// Packages for `interpreter` in a folder of the host, which the guest sees at `guest`.
    pub(super) fn packages(
        host: &Path,
        guest: String,
        interpreter: Arc<Interpreter>,
        cache: &Path,
    ) -> Self {
        Self {
            sources: HostFolder::new(host),
            host: host.to_owned(),
            guest,
            dynamic_modules: None,
            cache: cache.join("bytecode"),
            compiled: Mutex::default(),
            interpreter,
        }
    }

    /// The path of the source in the library, for the path of a byte code file in it.
    fn source_of(&self, relative: &str) -> Option<String> {
        let (folder, name) = relative.rsplit_once('/')?;
        let parent = folder.strip_suffix("__pycache__")?;
        let module = name
            .strip_suffix(".pyc")?
            .strip_suffix(&format!(".{}", self.interpreter.cache_tag))?;
        Some(format!("{parent}{module}.py"))
    }

    fn byte_code(&self, source: &str) -> Option<Node> {
        let Some(Node::File { content, .. }) = self.sources.lookup(source) else {
            return None;
        };
        let executable = self.interpreter.executable.to_string_lossy();
        let guest = format!("{}/{source}", self.guest);
        let key = ContentHash::of_parts([
            content.as_ref(),
            guest.as_bytes(),
            executable.as_bytes(),
            self.interpreter.version.as_bytes(),
            COMPILE.as_bytes(),
        ]);
        let kept = self.cache.join(format!("{key}.pyc"));
        if let Ok(bytes) = std::fs::read(&kept) {
            return Some(Node::File {
                content: bytes.into(),
                executable: false,
            });
        }
        let bytes = self.compile(source, &guest)?;
        // A cache that cannot be written costs time, nothing else.
        let _ = std::fs::create_dir_all(&self.cache);
        let partial = self
            .cache
            .join(format!("{key}.{}.partial", std::process::id()));
        if std::fs::write(&partial, &bytes).is_ok() {
            let _ = std::fs::rename(&partial, &kept);
        }
        Some(Node::File {
            content: bytes.into(),
            executable: false,
        })
    }

    fn compile(&self, source: &str, guest: &str) -> Option<Vec<u8>> {
        let path = self.host.join(source);
        let arguments = ["-I", "-S", "-B", "-c", COMPILE].map(OsString::from);
        let arguments = arguments
            .into_iter()
            .chain([path.into_os_string(), OsString::from(guest)]);
        let folder = PrivateFolder::new().ok()?;
        let finished = process::run(Request {
            program: self.interpreter.executable.clone(),
            name: None,
            arguments: arguments.collect(),
            environment: Vec::new(),
            folder: folder.path().to_owned(),
            stdin: b"",
            limits: process::Limits {
                wall: Duration::from_secs(60),
                cpu: Duration::from_secs(60),
                memory_bytes: None,
                address_space_bytes: None,
                file_bytes: 0,
                stack_bytes: 8 << 20,
                output_bytes: 64 << 20,
            },
            isolation: process::Isolation {
                trusted: true,
                ..Default::default()
            },
            channel: None,
            counting: process::Counting::default(),
        });
        let finished = finished.ok()?;
        (finished.ending == process::Ending::Exited { code: 0 }).then_some(finished.stdout)
    }
}

impl FileProvider for PythonLibrary {
    fn lookup(&self, relative: &str) -> Option<Node> {
        if let Some(source) = self.source_of(relative) {
            let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(node) = compiled.get(relative) {
                return node.clone();
            }
            let node = self.byte_code(&source);
            compiled.insert(relative.to_owned(), node.clone());
            return node;
        }
        if let Some(modules) = &self.dynamic_modules
            && let Some(module) = relative.strip_prefix("lib-dynload/")
        {
            return modules.lookup(module);
        }
        self.sources.lookup(relative)
    }

    fn list(&self, relative: &str) -> Option<Vec<String>> {
        match &self.dynamic_modules {
            Some(modules) if relative == "lib-dynload" => modules.list(""),
            _ => self.sources.list(relative),
        }
    }
}
