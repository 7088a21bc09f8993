//! The worker: one simulation of libgem5 in this process, from a job and a frozen configuration.
//!
//! It does what our script does under gem5's Python: it sets program and limits, runs, notes when markers come, writes
//! the statistics and, last, the result.
use super::job::{BEGIN, FrozenJob, MOST_MARKS};
use gem5_sys::Simulation;
use serde_json::json;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The core in a configuration that our script has made.
const CORE: &str = "system.cpu";
const PROCESS: &str = "system.cpu.workload";
const FILES: &str = "system.redirect_paths";

/// Runs the job in a file.
///
/// # Errors
/// What went wrong, in one line; a panic of gem5 ends the process instead.
pub fn work(file: &Path) -> Result<(), String> {
    let text = std::fs::read(file).map_err(|error| format!("cannot read the job: {error}"))?;
    let job: FrozenJob =
        serde_json::from_slice(&text).map_err(|error| format!("cannot read the job: {error}"))?;
    let out = file.parent().unwrap_or(Path::new("."));
    run(&job, out).map_err(|error| error.to_string())
}

fn run(job: &FrozenJob, out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let out = out.to_string_lossy();
    let mut simulation = Simulation::load(&job.configuration, &out)?;
    simulation.set_list(PROCESS, "cmd", &job.command)?;
    simulation.set_list(PROCESS, "env", &job.environment)?;
    for (parameter, value) in [
        ("executable", &job.executable),
        ("cwd", &job.working_folder),
        ("input", &job.stdin),
        ("errout", &job.stderr),
    ] {
        simulation.set(PROCESS, parameter, value)?;
    }
    simulation.set(PROCESS, "output", "cout")?;
    let root = format!("{}/", job.jail);
    simulation.set_list(FILES, "host_paths", std::slice::from_ref(&root))?;
    simulation.set_interpreter_folder(&root)?;
    if job.max_instructions > 0 {
        simulation.set(
            CORE,
            "max_insts_any_thread",
            &job.max_instructions.to_string(),
        )?;
    }
    let mut markers = job.markers.as_deref().map(Markers::new).transpose()?;
    let mut running = simulation.start(CORE)?;
    if let Some(markers) = &markers {
        markers.arm()?;
    }
    println_begin()?;
    let mut marks = Vec::new();
    let stop = loop {
        let stop = running.run()?;
        let more = stop.cause == "user interrupt received" && (marks.len() as u64) < MOST_MARKS;
        match &mut markers {
            Some(markers) if more => {
                // The signal comes, too, when the program closes its end, and nothing was written.
                if let Some(message) = markers.read()? {
                    marks.push(json!([
                        stop.instructions,
                        stop.ticks,
                        hexadecimal(&message)
                    ]));
                }
            }
            _ => break stop,
        }
    };
    if let Some(markers) = &mut markers
        && let Some(message) = markers.read()?
    {
        marks.push(json!([
            stop.instructions,
            stop.ticks,
            hexadecimal(&message)
        ]));
    }
    running.dump()?;
    let lost = marks.len() as u64 >= MOST_MARKS;
    let result = json!({
        "cause": stop.cause, "code": stop.code, "tick": stop.ticks, "marks": marks, "lost_marks": lost,
    });
    let partial = format!("{}.partial", job.result);
    std::fs::write(&partial, result.to_string())?;
    std::fs::rename(&partial, &job.result)?;
    Ok(())
}

/// Everything on standard output behind this line is the guest's.
fn println_begin() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{BEGIN}")?;
    stdout.flush()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The named pipe of the markers: the kernel sends SIGINT when one is written, which gem5 takes as the wish to leave its
/// simulation before the next event.
struct Markers(std::fs::File);

impl Markers {
    fn new(path: &str) -> io::Result<Self> {
        crate::process::make_pipe(Path::new(path))?;
        // For reading only: an end that can write would be told of every read, too.
        let file = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        Ok(Self(file))
    }

    fn arm(&self) -> io::Result<()> {
        crate::process::signal_on_data(self.0.as_raw_fd(), libc::SIGINT)
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut message = vec![0; 1 << 16];
        match self.0.read(&mut message) {
            Ok(0) => Ok(None),
            Ok(length) => {
                message.truncate(length);
                Ok(Some(message))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}
