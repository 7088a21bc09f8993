//! The command line, exactly as typed; nothing is read or looked up here.
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Compares programs by exact instruction and cycle counts in a deterministic simulation of an x86-64 processor.
#[derive(Debug, Parser)]
#[command(name = "tickmark", version, help_expected = true, disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run one program and report its counters.
    Run(RunArgs),
    /// Say what this host has, what is missing and how to get it.
    Doctor(DoctorArgs),
    /// List the machine models, or print one with every effective value.
    Machines(MachinesArgs),
}

/// Which processor is simulated.
#[derive(Clone, Debug, Args)]
pub(super) struct MachineArgs {
    /// Machine model: a name from `tickmark machines`, or a TOML file.
    #[arg(long, value_name = "NAME|FILE", default_value = "simple")]
    pub(super) machine: String,
    /// Override one key of the machine model, such as `l2.ways=8`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
}

/// Where programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BackendChoice {
    /// The embedded simulator.
    Sim,
    /// The host processor, in a sandboxed child: CPU time and memory instead of counts.
    Native,
}

/// What a program may use.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LimitArgs {
    /// Instructions that a run may retire; more is the verdict "instruction limit".
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = 100_000_000_000)]
    pub(super) max_instructions: u64,
    /// Live memory of a run in MiB; more is the verdict "memory limit".
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub(super) max_memory: u64,
    /// Stack of a run in MiB; more is the verdict "stack overflow".
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub(super) max_stack: u64,
    /// Standard output, and standard error, of a run in MiB; more is the verdict "output limit".
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub(super) max_output: u64,
    /// Wall-clock guard of a run in seconds; beyond it the run is a failure of the infrastructure, not of the program.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub(super) max_wall: u64,
}

/// `tickmark run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) machine: MachineArgs,
    /// Where the program runs.
    #[arg(long, value_enum, default_value_t = BackendChoice::Sim)]
    pub(super) backend: BackendChoice,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Print one JSON object instead of the program's output and a summary.
    #[arg(long)]
    pub(super) json: bool,
    /// Show the guest a folder of this host, read-only, under this absolute guest path; may be repeated.
    #[arg(long = "root", value_name = "GUEST=HOST")]
    pub(super) roots: Vec<String>,
    /// Seed of everything that is random in the guest.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) seed: u64,
    /// The program (an ELF executable, or `python3`) and its arguments; standard input is passed on.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(super) command: Vec<std::ffi::OsString>,
}

/// `tickmark doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// `tickmark machines`.
#[derive(Debug, Args)]
pub(super) struct MachinesArgs {
    /// A machine to print, with every value and where it comes from.
    pub(super) name: Option<String>,
    /// Override one key of the machine model; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// The folder for what is kept between runs.
pub(super) fn cache_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    variable("TICKMARK_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|p| p.join("tickmark")))
        .or_else(|| variable("HOME").map(|p| p.join(".cache/tickmark")))
        .unwrap_or_else(|| std::env::temp_dir().join("tickmark-cache"))
}
