//! The programs of tests/guest/programs, each compiled once by the host's compiler.
use super::scratch::shared;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use tickmark::artifact::ContentHash;

/// The source of a program.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/guest/programs")
        .join(name)
}

/// Flags of a program without a library.
pub(crate) const BARE: &[&str] = &["-nostdlib", "-static"];

/// Compiles a source of tests/guest/programs. `None`, said in the test's output, where the host has no compiler for it.
///
/// The executable is kept in the build folder under a name made of everything that goes into it.
pub(crate) fn compiled(name: &str, flags: &[&str]) -> Option<PathBuf> {
    // One at a time: tests that want the same program wait for it.
    static COMPILING: Mutex<()> = Mutex::new(());
    let _turn = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let source = source(name);
    let compiler = if name.ends_with(".cpp") { "g++" } else { "gcc" };
    let Ok(version) = Command::new(compiler).arg("--version").output() else {
        println!("skipped: this host has no `{compiler}`, which {name} needs");
        return None;
    };
    let text = std::fs::read(&source).expect("the programs are part of the repository");
    let flags_text = flags.join("\n").into_bytes();
    let key = ContentHash::of_parts([version.stdout, flags_text, text]).to_string();
    let stem = source.file_stem().expect("a source has a name");
    let program = shared().join(format!("{}-{}", stem.to_string_lossy(), &key[..16]));
    if !program.exists() {
        let partial = shared().join(format!("partial-{}", std::process::id()));
        let finished = Command::new(compiler)
            .args(flags)
            .arg("-o")
            .arg(&partial)
            .arg(&source)
            .arg("-lm")
            .output()
            .expect("it has just told its version");
        assert!(
            finished.status.success(),
            "{}",
            String::from_utf8_lossy(&finished.stderr)
        );
        std::fs::rename(&partial, &program).expect("both are in the build folder");
    }
    Some(program)
}

/// Standard output of a program that the host runs, with an empty environment.
pub(crate) fn native(program: &Path, arguments: &[&str], stdin: &str) -> String {
    finish(Command::new(program).args(arguments).env_clear(), stdin)
}

/// Standard output of a script that the host's interpreter runs, with the flags and the environment of ours; `None`,
/// said in the test's output, where there is none.
pub(crate) fn native_python(script: &Path, arguments: &[&str], stdin: &str) -> Option<String> {
    let found = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let Some(found) = found.ok().filter(|found| found.status.success()) else {
        println!("skipped: this host has no `python3`");
        return None;
    };
    let executable = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let mut command = Command::new(executable);
    command
        .args(["-s", "-S", "-B", "-X", "utf8"])
        .arg(script)
        .args(arguments);
    Some(finish(
        command.env_clear().env("PYTHONHASHSEED", "0"),
        stdin,
    ))
}

fn finish(command: &mut Command, stdin: &str) -> String {
    use std::io::Write;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("it was piped");
    // A program that does not read its input is no failure.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    let finished = child.wait_with_output().expect("our own child");
    String::from_utf8(finished.stdout).expect("the programs print text")
}
