//! The files that a guest under gem5 sees: a folder of links that stands for its `/`.
//!
//! gem5 gives its guests the files of the host. Ours are sent into a folder that holds the program, its libraries and,
//! for Python, the interpreter; the process is confined on top of that, so that a path that climbs out leads nowhere.
use super::super::sim::PROGRAM_PATH;
use crate::artifact::{Artifact, GuestFile, Interpreter};
use crate::process::write_executable;
use std::io;
use std::path::{Path, PathBuf};

/// Where the driver finds its channel, since gem5 hands no descriptor over.
const CHANNEL: &str = "tickmark";
/// What the driver reads: its nonce, then messages behind their length.
const INPUTS: &str = "tickmark/inputs";
/// What it writes to.
const MARKERS: &str = "tickmark/markers";
/// Where a guest stands.
pub(super) const WORKING_FOLDER: &str = "/tmp";

/// A guest's files, and how its program is started.
#[derive(Debug)]
pub(super) struct World {
    /// The folder that is its `/`.
    pub(super) root: PathBuf,
    /// The program on the host.
    pub(super) executable: PathBuf,
    /// `argv` before the arguments of the run.
    pub(super) command: Vec<String>,
    /// `NAME=value`.
    pub(super) environment: Vec<String>,
    /// Files and folders of the host to which the links lead.
    pub(super) readable: Vec<PathBuf>,
    /// The pipe for markers, if there is a driver.
    pub(super) markers: Option<PathBuf>,
}

impl World {
    /// Lays the files out in `root`, an empty folder. `inputs` is what the driver reads.
    pub(super) fn new(
        root: &Path,
        artifact: &Artifact,
        inputs: Option<&[std::sync::Arc<[u8]>]>,
        seed: u64,
    ) -> io::Result<Self> {
        let mut world = Self {
            root: root.to_owned(),
            executable: PathBuf::new(),
            command: Vec::new(),
            environment: Vec::new(),
            readable: Vec::new(),
            markers: None,
        };
        std::fs::create_dir_all(world.place(WORKING_FOLDER))?;
        std::fs::create_dir_all(world.place("/dev"))?;
        world.link("/dev/null", Path::new("/dev/null"))?;
        match artifact {
            Artifact::Elf(elf) => {
                world.libraries(&elf.libraries)?;
                world.executable = world.place(PROGRAM_PATH);
                std::fs::create_dir_all(world.place("/job"))?;
                write_executable(&world.executable, &elf.bytes).map_err(io::Error::other)?;
                world.command = vec![String::from_utf8_lossy(&elf.name).into_owned()];
            }
            Artifact::Python(python) => {
                let interpreter = &python.interpreter;
                world.libraries(&interpreter.libraries)?;
                world.standard_library(interpreter)?;
                std::fs::create_dir_all(world.place("/job"))?;
                let script = format!("/job/{}", python.script_name);
                std::fs::write(world.place(&script), &python.script)?;
                world.executable = interpreter.executable.clone();
                world.command = vec![interpreter.guest_executable.clone()];
                world
                    .command
                    .extend(Interpreter::FLAGS.iter().map(|flag| (*flag).to_owned()));
                world.command.push(script);
                let hash_seed = (seed % (1 << 32)) as u32;
                let packages = interpreter.packages.as_deref();
                if let Some(packages) = packages {
                    world.link(Interpreter::GUEST_PACKAGES, packages)?;
                }
                let packages = packages.map(|_| Interpreter::GUEST_PACKAGES);
                world.environment =
                    Interpreter::environment(Interpreter::GUEST_PREFIX, packages, hash_seed)
                        .into_iter()
                        .map(|(name, value)| format!("{name}={value}"))
                        .collect();
            }
        }
        // gem5 would answer with the path on the host, whose length then changes what the C library's start-up counts.
        let own = match artifact {
            Artifact::Elf(_) => PROGRAM_PATH,
            Artifact::Python(python) => &python.interpreter.guest_executable,
        };
        std::fs::create_dir_all(world.place("/proc/self"))?;
        std::os::unix::fs::symlink(own, world.place("/proc/self/exe"))?;
        if let Some(inputs) = inputs {
            world.channel(inputs)?;
        }
        Ok(world)
    }

    /// Where a guest's path lies on the host.
    fn place(&self, guest: &str) -> PathBuf {
        self.root.join(guest.trim_start_matches('/'))
    }

    fn link(&mut self, guest: &str, host: &Path) -> io::Result<()> {
        let place = self.place(guest);
        if let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::os::unix::fs::symlink(host, place)?;
        self.readable.push(host.to_owned());
        Ok(())
    }

    fn libraries(&mut self, files: &[GuestFile]) -> io::Result<()> {
        for file in files {
            self.link(&file.guest, &file.host)?;
        }
        Ok(())
    }

    /// The standard library, whose compiled modules may stand elsewhere on the host.
    fn standard_library(&mut self, interpreter: &Interpreter) -> io::Result<()> {
        let folder = interpreter.guest_library.clone();
        std::fs::create_dir_all(self.place(&folder))?;
        for entry in std::fs::read_dir(&interpreter.standard_library)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != "lib-dynload" && name != "site-packages" {
                let guest = format!("{folder}/{}", name.to_string_lossy());
                std::os::unix::fs::symlink(entry.path(), self.place(&guest))?;
            }
        }
        self.readable.push(interpreter.standard_library.clone());
        self.link(
            &format!("{folder}/lib-dynload"),
            &interpreter.dynamic_modules,
        )
    }

    fn channel(&mut self, inputs: &[std::sync::Arc<[u8]>]) -> io::Result<()> {
        std::fs::create_dir_all(self.root.join(CHANNEL))?;
        let mut bytes = Vec::new();
        for (index, input) in inputs.iter().enumerate() {
            if index > 0 {
                bytes.extend_from_slice(format!("{:08}", input.len()).as_bytes());
            }
            bytes.extend_from_slice(input);
        }
        std::fs::write(self.root.join(INPUTS), bytes)?;
        self.markers = Some(self.root.join(MARKERS));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{ElfArtifact, existing};
    use crate::process::PrivateFolder;
    use std::sync::Arc;

    #[test]
    fn a_guest_sees_its_program_under_the_path_that_the_simulator_shows() {
        let folder = PrivateFolder::new().unwrap();
        let elf = existing(Arc::from(&b"bytes"[..]), ElfArtifact::NAME.as_bytes()).unwrap();
        let inputs: [Arc<[u8]>; 3] = [
            Arc::from(&b"0123456789abcdef"[..]),
            Arc::from(&b"5"[..]),
            Arc::from(&b"hello"[..]),
        ];
        let world = World::new(folder.path(), &Artifact::Elf(elf), Some(&inputs), 0).unwrap();
        let root = folder.path();
        assert_eq!(std::fs::read(root.join("job/program")).unwrap(), b"bytes");
        let own = std::fs::read_link(root.join("proc/self/exe")).unwrap();
        assert_eq!(own, Path::new("/job/program"));
        assert_eq!(
            std::fs::read(root.join("tickmark/inputs")).unwrap(),
            b"0123456789abcdef00000001500000005hello".as_slice()
        );
        assert_eq!(world.command, ["program"]);
        // Our script makes the pipe, under this name.
        assert_eq!(world.markers, Some(root.join("tickmark/markers")));
        assert!(!root.join("tickmark/markers").exists());
    }
}
