//! The command-line tool, run as a user runs it.
use super::scratch::shared;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

/// A run of the tool, being prepared.
pub(crate) struct Tickmark {
    command: Command,
    stdin: Vec<u8>,
}

/// A run of the tool that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; -1 where a signal killed it.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Tickmark {
    /// With these arguments, no standard input, and an environment of its own.
    pub(crate) fn new(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tickmark"));
        command.args(arguments);
        Self::prepared(command)
    }

    /// A line for the shell, in which `"$0"` is the tool.
    pub(crate) fn in_shell(line: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line, env!("CARGO_BIN_EXE_tickmark")]);
        Self::prepared(command)
    }

    fn prepared(mut command: Command) -> Self {
        command.env_clear();
        // The interpreter may be a shim that needs them.
        for name in ["PATH", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("TICKMARK_CACHE", shared().join("cache"));
        Self {
            command,
            stdin: Vec::new(),
        }
    }

    /// `tickmark run --json` of a program on a machine.
    pub(crate) fn run(machine: &str, program: impl AsRef<OsStr>, arguments: &[&str]) -> Self {
        let fixed = ["run", "--json", "--machine", machine, "--"].map(OsString::from);
        let program = [program.as_ref().to_owned()];
        let arguments = arguments.iter().map(OsString::from);
        Self::new(fixed.into_iter().chain(program).chain(arguments))
    }

    /// Standard input.
    pub(crate) fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        bytes.as_ref().clone_into(&mut self.stdin);
        self
    }

    /// One more variable in its environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Its working directory.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Starts it, to be ended by the test; what it writes to standard error can be read.
    pub(crate) fn spawn(mut self) -> std::process::Child {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo has built the binary")
    }

    /// Runs it to its end.
    pub(crate) fn finish(mut self) -> Finished {
        use std::io::Write;
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo has built the binary");
        let mut pipe = child.stdin.take().expect("it was piped");
        let _ = pipe.write_all(&self.stdin);
        drop(pipe);
        let output = child.wait_with_output().expect("our own child");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let finished = Finished {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(
            !finished.stderr.contains("panicked at"),
            "the tool panicked: {finished:?}"
        );
        finished
    }

    /// Runs it to its end, and reads the one JSON object that it prints.
    pub(crate) fn json(self) -> Value {
        let finished = self.finish();
        serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|error| panic!("no JSON object ({error}): {finished:?}"))
    }
}

impl Finished {
    /// The JSON objects of standard output, one a line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        (self.stdout.lines())
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {self:?}")))
            .collect()
    }
}
