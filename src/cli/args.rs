//! The command line, exactly as typed; nothing is read or looked up here.
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Compares programs by exact instruction and cycle counts in a deterministic simulation of an x86-64 processor.
#[derive(Debug, Parser)]
#[command(
    name = "tickmark",
    version,
    help_expected = true,
    disable_help_subcommand = true
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run one program and report its counters.
    Run(RunArgs),
    /// Evaluate models' samples on a data set: verdicts, pass@k, normalised runtime.
    Evaluate(Box<EvaluateArgs>),
    /// Compute metrics again from a store, without running anything.
    Metrics(MetricsArgs),
    /// Look into a store of results, export it, prune it.
    Store(StoreArgs),
    /// Evaluate the shipped examples: problems in C++ and Python, with answers of three invented models.
    Demo(Box<DemoArgs>),
    /// Compare programs or models by speed: exactly in the simulator, with statistics natively.
    Compare(CompareArgs),
    /// Run the same candidates natively and simulated, and say how far both agree.
    Agree(AgreeArgs),
    /// Measure and decide as published studies do.
    Protocol(ProtocolArgs),
    /// Compare the timing models with captures of another simulator and print the table of errors.
    Calibrate(CalibrateArgs),
    /// List the data sets that can be read, or check the files of one.
    Datasets(DatasetsArgs),
    /// Say what this host has, what is missing and how to get it.
    Doctor(DoctorArgs),
    /// List the machine models, or print one with every effective value.
    Machines(MachinesArgs),
    /// Look at your gem5, or have it write down a machine's whole configuration.
    Gem5(Gem5CommandArgs),
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
    /// What CPUID and the start of the process show to the program: x86-64-v2, x86-64-v3 or gem5, on any machine.
    #[arg(long, value_name = "PROFILE")]
    pub(super) guest: Option<String>,
}

/// Where programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BackendChoice {
    /// The embedded simulator.
    Sim,
    /// The host processor, in a sandboxed child: CPU time and memory instead of counts.
    Native,
    /// Your own gem5, on the same machine file: a process for each run.
    Gem5,
}

/// Which gem5 is used.
#[derive(Clone, Debug, Args)]
pub(super) struct Gem5Args {
    /// gem5's executable, or its source tree once it is built; without, TICKMARK_GEM5 or PATH names it.
    #[arg(long = "gem5", value_name = "PATH")]
    pub(super) gem5: Option<PathBuf>,
}

/// A year: longer limits of time are slips.
const MOST_SECONDS: u64 = 366 * 24 * 3600;

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
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
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
    /// Native runs: let candidates that nobody has read run on this host, in the sandbox that docs/isolation.md describes.
    #[arg(long)]
    pub(super) run_untrusted: bool,
    #[command(flatten)]
    pub(super) gem5: Gem5Args,
    /// Run a configuration that `tickmark gem5 freeze` has written, in process through libgem5.
    #[arg(long, value_name = "DIR", conflicts_with = "gem5")]
    pub(super) gem5_frozen: Option<PathBuf>,
    /// Copy gem5's output folder (statistics, configuration, its job) to this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) gem5_out: Option<PathBuf>,
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
    /// Run every job several times, from the start and from snapshots, and compare every counter, exit and output; a
    /// job whose runs differ is a failure of ours, and the exit code is then 4.
    #[arg(long)]
    pub(super) verify_determinism: bool,
    /// Name by which the program is called (`argv[0]`). Without, it is `program` whatever the file's name is, so that
    /// the name does not change the counts; programs that are many in one, such as busybox, need theirs.
    #[arg(long, value_name = "NAME")]
    pub(super) argv0: Option<std::ffi::OsString>,
    /// The program (an ELF executable, or `python3`) and its arguments; standard input is passed on.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(super) command: Vec<std::ffi::OsString>,
}

/// What builds candidates, and how.
#[derive(Clone, Debug, Args)]
pub(super) struct BuildArgs {
    /// Optimisation level of C++ candidates: O0, O1, O2 or O3.
    #[arg(long, value_name = "LEVEL", default_value = "O2")]
    pub(super) optimisation: String,
    /// Link C++ candidates dynamically, as position-independent executables.
    #[arg(long)]
    pub(super) dynamic: bool,
    /// Instruction set of C++ candidates, as after `-march=`.
    #[arg(long, value_name = "ISA", default_value = "x86-64")]
    pub(super) isa: String,
    /// C++ compiler, as a path or a name in PATH; without, CXX, g++ or clang++.
    #[arg(long, value_name = "PROGRAM")]
    pub(super) compiler: Option<PathBuf>,
    /// Python interpreter, as a path or a name in PATH; without, python3.
    #[arg(long, value_name = "PROGRAM")]
    pub(super) python: Option<PathBuf>,
}

/// How candidates are built and run.
#[derive(Clone, Debug, Args)]
pub(super) struct CandidateArgs {
    /// Machine model: a name from `tickmark machines`, or a TOML file; several, separated by commas or by repeating the
    /// option, are evaluated side by side.
    #[arg(
        long = "machine",
        value_name = "NAME|FILE",
        value_delimiter = ',',
        default_value = "simple"
    )]
    pub(super) machines: Vec<String>,
    /// Override one key of the machine models, such as `l2.ways=8`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) overrides: Vec<String>,
    /// What CPUID and the start of the process show to the program: x86-64-v2, x86-64-v3 or gem5, on any machine.
    #[arg(long, value_name = "PROFILE")]
    pub(super) guest: Option<String>,
    /// Where candidates run.
    #[arg(long, value_enum, default_value_t = BackendChoice::Sim)]
    pub(super) backend: BackendChoice,
    /// Native runs: let candidates that nobody has read run on this host, in the sandbox that docs/isolation.md describes.
    #[arg(long)]
    pub(super) run_untrusted: bool,
    #[command(flatten)]
    pub(super) gem5: Gem5Args,
    /// Run a configuration that `tickmark gem5 freeze` has written, in process through libgem5.
    #[arg(long, value_name = "DIR", conflicts_with = "gem5")]
    pub(super) gem5_frozen: Option<PathBuf>,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Judge every sample on a machine that only counts (`atomic`) first, and run only those that it accepts, or that
    /// read the simulated clock, on the machines with cycles. The verdicts are the same; rejected samples have no
    /// figures. `--screen=false` overrules a plan.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(super) screen: bool,
    /// Start every Python candidate from the first instruction instead of from a snapshot; the results are the same.
    #[arg(long)]
    pub(super) no_snapshot: bool,
    /// Run every job several times, from the start and from snapshots, and compare every counter, exit and output; a
    /// job whose runs differ is a failure of ours, and the exit code is then 4.
    #[arg(long)]
    pub(super) verify_determinism: bool,
    #[command(flatten)]
    pub(super) build: BuildArgs,
    /// CPU time that a native run may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    pub(super) max_cpu: u64,
    /// Memory that the compiler may use, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub(super) compile_memory: u64,
    /// CPU time that the compiler may use, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    pub(super) compile_cpu: u64,
    /// Runs of each case, natively; the mean counts. In the simulator all runs are equal, so that one stands for all.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) repetitions: u32,
    /// Worker threads; without, one a processor. The results are the same.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,
    /// Seed of everything that is random in the guest.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) seed: u64,
    /// Folder for the results: `store.sqlite` holds what is found as it comes, `results.jsonl` the rows and the table
    /// at the end. An interrupted evaluation with the same folder goes on.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Store for what is found, shared between evaluations; without, that of `--out`, or none that lasts.
    #[arg(long, value_name = "FILE")]
    pub(super) store: Option<PathBuf>,
    /// What is said of progress on standard error: a line now and then, nothing, or JSON lines.
    #[arg(long, value_enum, default_value_t = ProgressChoice::Text)]
    pub(super) progress: ProgressChoice,
    /// Say nothing of progress: the same as `--progress none`.
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) report: ReportArgs,
    #[command(flatten)]
    pub(super) shown: ShownArgs,
}

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgressChoice {
    /// For people.
    Text,
    /// Not at all.
    None,
    /// For programs.
    Json,
}

/// Which metrics are computed, over which population.
#[derive(Clone, Debug, Args)]
pub(super) struct ReportArgs {
    /// The k of pass@k, separated by commas: columns beside those of `--metric`.
    #[arg(long, value_name = "K,K", value_delimiter = ',')]
    pub(super) k: Vec<usize>,
    /// The metrics, separated by commas: pass@K, normalised-runtime, speed-up, opt, beyond, win, eff@K, dps, net, nmu,
    /// ntmu, beats and others (docs/metrics.md).
    #[arg(long = "metric", value_name = "NAME,NAME", value_delimiter = ',')]
    pub(super) metrics: Vec<String>,
    /// How the runtimes of a sample's cases become one: max, mean or sum.
    #[arg(long, value_name = "NAME", default_value = "max")]
    pub(super) aggregate: String,
    /// Leave these models out of the population, separated by commas.
    #[arg(long, value_name = "MODEL,MODEL", value_delimiter = ',')]
    pub(super) exclude: Vec<String>,
    /// The model that speed-up, eff@k, DPS, NET, NMU, NTMU and %Beats compare with; without, `canonical`.
    #[arg(long, value_name = "MODEL")]
    pub(super) reference: Option<String>,
    /// Add a table of normalised runtimes in pairs of models, each over the problems that both solve.
    #[arg(long)]
    pub(super) pairwise: bool,
    /// Add a table of rank correlations between the metrics, and between the machines.
    #[arg(long)]
    pub(super) stability: bool,
    /// Show 95% intervals beside the values (the bootstrap over problems); the JSON always has them.
    #[arg(long)]
    pub(super) intervals: bool,
    /// Resamples of the bootstrap; 0 for none.
    #[arg(long, value_name = "NUMBER", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(super) resamples: u32,
    /// Seed of the bootstrap.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) bootstrap_seed: u64,
}

/// How tables are shown.
#[derive(Clone, Debug, Args)]
pub(super) struct ShownArgs {
    /// Form of the tables on standard output.
    #[arg(long, value_enum, default_value_t = FormatChoice::Text)]
    pub(super) format: FormatChoice,
    /// Print the rows and the tables as JSON lines: the same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,
    /// Print the tables as Markdown: the same as `--format markdown`.
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(super) markdown: bool,
    /// Write a page with the tables, plots and every sample to this file; it needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

/// A form of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatChoice {
    /// Aligned columns.
    Text,
    /// Markdown.
    Markdown,
    /// LaTeX, with booktabs.
    Latex,
    /// Comma-separated values, unrounded.
    Csv,
    /// JSON lines.
    Json,
}

/// `tickmark evaluate`.
#[derive(Clone, Debug, Args)]
pub(super) struct EvaluateArgs {
    /// Name of the data set, as `tickmark datasets` lists them.
    #[arg(long, value_name = "NAME", required_unless_present = "plan")]
    pub(super) dataset: Option<String>,
    /// The data set's files (`.gz` accepted) or their folder.
    #[arg(required_unless_present = "plan")]
    pub(super) problems: Vec<PathBuf>,
    /// A model and its samples: a JSON-lines file (`.gz` accepted), a folder, or FOLDER/*TEXT* for the files with
    /// TEXT in their names in the folders of the problems (as PIE has them). `canonical` without `=` stands for the data
    /// set's own solutions. May be repeated.
    #[arg(long = "samples", value_name = "NAME=FILE", required_unless_present = "plan", num_args = 1..)]
    pub(super) samples: Vec<String>,
    /// A model whose answers were to improve those of another, for speed-up; may be repeated.
    #[arg(long = "base", value_name = "NAME=BASE")]
    pub(super) bases: Vec<String>,
    /// Take only the first samples of each model and problem.
    #[arg(long, value_name = "NUMBER")]
    pub(super) first: Option<usize>,
    /// Take only these problems, by id, separated by commas.
    #[arg(long, value_name = "ID,ID", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// Language of the candidates where the data set serves both: cpp or python.
    #[arg(long, value_name = "LANGUAGE", default_value = "cpp")]
    pub(super) language: String,
    /// LeetCode data sets: statements of the problems, where the data set's own file has none. Tests whose input is
    /// outside of the bounds that a statement sets are left out. A LeetCodeDataset or LeetCodeEval file, or a folder with
    /// a page a problem; may be repeated.
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) statements: Vec<PathBuf>,
    /// Who tells the right results that the files do not have: `reference` (the data set's own solutions) or
    /// `agreement` (what most of the models' first answers give).
    #[arg(long, value_name = "WHO", default_value = "reference")]
    pub(super) expected: String,
    /// A plan file (TOML) that names data, samples and options; options that are given here win.
    #[arg(long, value_name = "FILE")]
    pub(super) plan: Option<PathBuf>,
    /// Folder that the paths of the plan start from; without, the plan's own.
    #[arg(long, value_name = "DIR", requires = "plan")]
    pub(super) data: Option<PathBuf>,
    /// Write the hashes of data, machines and toolchain into the plan file, and run nothing.
    #[arg(long, requires = "plan")]
    pub(super) lock: bool,
    /// Options as a study has them: niu2024 or pie2024 (docs/metrics.md); options that are given here win.
    #[arg(long, value_name = "NAME")]
    pub(super) preset: Option<String>,
    /// Name of the study in the store; without, that of the plan, or the form of the data set.
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) candidates: CandidateArgs,
}

/// `tickmark datasets`.
#[derive(Debug, Args)]
pub(super) struct DatasetsArgs {
    #[command(subcommand)]
    pub(super) command: Option<DatasetsCommand>,
    /// Print JSON lines.
    #[arg(long)]
    pub(super) json: bool,
}

/// What `tickmark datasets` can do besides listing.
#[derive(Debug, Subcommand)]
pub(super) enum DatasetsCommand {
    /// Say how many problems of the files can be used, and why the others cannot.
    Check(DatasetsCheckArgs),
}

/// `tickmark datasets check`.
#[derive(Debug, Args)]
pub(super) struct DatasetsCheckArgs {
    /// Name of the data set.
    pub(super) name: String,
    /// Its files (`.gz` accepted) or their folder.
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Language of the candidates where the data set serves both: cpp or python.
    #[arg(long, value_name = "LANGUAGE", default_value = "cpp")]
    pub(super) language: String,
    /// LeetCode data sets: statements of the problems, as for `tickmark evaluate`.
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) statements: Vec<PathBuf>,
    /// Also build the driver of every problem that has a template.
    #[arg(long)]
    pub(super) build: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// `tickmark demo`.
#[derive(Clone, Debug, Args)]
pub(super) struct DemoArgs {
    #[command(flatten)]
    pub(super) candidates: CandidateArgs,
}

/// `tickmark metrics`.
#[derive(Clone, Debug, Args)]
pub(super) struct MetricsArgs {
    /// The store: a file, or the folder that was given with `--out`.
    pub(super) store: PathBuf,
    /// The study: its name, or the beginning of its key; needed where the store holds several.
    #[arg(long, value_name = "NAME|KEY")]
    pub(super) study: Option<String>,
    #[command(flatten)]
    pub(super) report: ReportArgs,
    #[command(flatten)]
    pub(super) shown: ShownArgs,
}

/// `tickmark store`.
#[derive(Clone, Debug, Args)]
pub(super) struct StoreArgs {
    #[command(subcommand)]
    pub(super) command: StoreCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// List the studies and how far each is.
    Show {
        /// The store: a file, or the folder that was given with `--out`.
        store: PathBuf,
        /// Print JSON lines.
        #[arg(long)]
        json: bool,
    },
    /// Print the stored facts, ordered by key: the same facts give the same bytes.
    Export {
        /// The store: a file, or the folder that was given with `--out`.
        store: PathBuf,
        /// JSON lines or CSV.
        #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
        format: ExportFormat,
        /// Only this table: build, measurement, result, study, study_sample or content. CSV needs it.
        #[arg(long, value_name = "NAME")]
        table: Option<String>,
        /// The rows of this study, as `results.jsonl` has them, in place of tables.
        #[arg(long, value_name = "NAME|KEY", conflicts_with = "table")]
        study: Option<String>,
    },
    /// Remove studies, and the facts that no other study uses.
    Prune {
        /// The store: a file, or the folder that was given with `--out`.
        store: PathBuf,
        /// Study to remove: its name, or the beginning of its key; may be repeated.
        #[arg(long = "study", value_name = "NAME|KEY")]
        studies: Vec<String>,
        /// Remove only facts that no study uses.
        #[arg(long, conflicts_with = "studies", required_unless_present = "studies")]
        unused: bool,
    },
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// JSON lines.
    Jsonl,
    /// Comma-separated values.
    Csv,
}

/// What is compared natively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MetricChoice {
    /// CPU time: of the timed calls of functions, of the whole run of programs.
    CpuTime,
    /// Wall-clock time of the whole run.
    WallTime,
    /// Retired instructions; natively in user mode, by the processor's counter.
    Instructions,
    /// Core cycles; natively in user mode, by the processor's counter.
    Cycles,
}

/// Who is compared, and how they are built and run.
#[derive(Clone, Debug, Args)]
pub(super) struct EntrantArgs {
    /// Two or more. Without `--dataset`: programs (executables, `.cpp`, `.py`), judged by the output of the first. With
    /// `--dataset`: models as NAME=FILE of samples (as `evaluate --samples` takes them), or `canonical`.
    #[arg(value_name = "ENTRANT", required = true)]
    pub(super) entrants: Vec<std::ffi::OsString>,
    /// Form of the data set whose problems the models answer.
    #[arg(long, value_name = "FORM", requires = "problems")]
    pub(super) dataset: Option<String>,
    /// The data set: a file (`.gz` accepted), or a folder for stdio problems.
    #[arg(long, value_name = "PATH", requires = "dataset")]
    pub(super) problems: Option<PathBuf>,
    /// Language of the candidates of stdio problems: cpp or python.
    #[arg(long, value_name = "LANGUAGE", default_value = "cpp")]
    pub(super) language: String,
    /// With `--dataset`: samples of each problem that count. The second of one model is compared with the second of the
    /// others, as a task of its own (`PROBLEM#2`).
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        requires = "dataset",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(super) samples: u32,
    /// A file for the standard input of programs; may be repeated, each is a test case.
    #[arg(long, value_name = "FILE", conflicts_with = "dataset")]
    pub(super) stdin: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) machine: MachineArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Native runs: let candidates that nobody has read run on this host, in the sandbox that docs/isolation.md describes.
    #[arg(long)]
    pub(super) run_untrusted: bool,
    /// Native runs: timed runs of each entrant on each task, interleaved in a seeded random order; without, 30 (3 for
    /// `dseffi2026`).
    #[arg(long, value_name = "NUMBER")]
    pub(super) repetitions: Option<usize>,
    /// Native runs: runs of each before them, judged but not timed.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) warm_up: usize,
    /// Native runs: the only processor on which candidates run.
    #[arg(long, value_name = "NUMBER")]
    pub(super) cpu: Option<usize>,
    /// Native runs: leave the address layout to chance (ASLR) instead of fixing it.
    #[arg(long)]
    pub(super) random_layout: bool,
    /// Native runs: CPU time that a run may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    pub(super) max_cpu: u64,
    #[command(flatten)]
    pub(super) build: BuildArgs,
    /// Seed of the order of runs, of the bootstrap, and of everything that is random in the guest.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) seed: u64,
}

/// `tickmark compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    #[command(flatten)]
    pub(super) entrants: EntrantArgs,
    /// Where the entrants run.
    #[arg(long, value_enum, default_value_t = BackendChoice::Sim)]
    pub(super) backend: BackendChoice,
    /// What is compared; without, CPU time natively, cycles in the simulator (instructions on machines that only count).
    #[arg(long, value_enum)]
    pub(super) metric: Option<MetricChoice>,
    /// Highest p-value at which a native difference is called one: 0.000001 to below 0.5.
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    pub(super) level: f64,
    /// Percent within which two entrants are called equal natively if the whole interval lies there.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub(super) equal_within: f64,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Print the table as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub(super) markdown: bool,
}

/// `tickmark agree`.
#[derive(Debug, Args)]
pub(super) struct AgreeArgs {
    #[command(flatten)]
    pub(super) entrants: EntrantArgs,
    /// What is taken natively; without, CPU time. The simulator gives cycles (instructions on machines that only count).
    #[arg(long, value_enum)]
    pub(super) metric: Option<MetricChoice>,
    /// A file for the scatter plot of speed-ups (SVG).
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Print the table as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub(super) markdown: bool,
}

/// `tickmark protocol`.
#[derive(Debug, Args)]
pub(super) struct ProtocolArgs {
    #[command(subcommand)]
    pub(super) protocol: ProtocolCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProtocolCommand {
    /// Le et al. 2026: is the performant solution of a task faster than the canonical one?
    Le2026(LeArgs),
    /// DSEffi-Bench 2026: data-science code on generated inputs, against the spectrum of all solutions.
    Dseffi2026(DseffiArgs),
    /// JETO 2026: does a patch make the tests of a Java project faster?
    Jeto2026(JetoArgs),
}

/// `tickmark protocol le2026`.
#[derive(Debug, Args)]
pub(super) struct LeArgs {
    #[command(flatten)]
    pub(super) entrants: EntrantArgs,
    /// CPU time that a run of a suite may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    pub(super) limit: u64,
    /// Take wall-clock time instead of CPU time natively.
    #[arg(long)]
    pub(super) wall_time: bool,
    /// Only simulate: nothing runs on this host itself.
    #[arg(long)]
    pub(super) simulated_only: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Print the table as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub(super) markdown: bool,
}

/// `tickmark protocol dseffi2026`.
#[derive(Debug, Args)]
pub(super) struct DseffiArgs {
    /// The instances, as JSON lines (`.gz` accepted).
    #[arg(long, value_name = "FILE")]
    pub(super) instances: PathBuf,
    #[command(flatten)]
    pub(super) entrants: EntrantArgs,
    /// Run in the simulator instead of natively.
    #[arg(long)]
    pub(super) simulated: bool,
    /// Use only the first stress inputs of each instance, as simulation is slower; the report says so.
    #[arg(long, value_name = "NUMBER")]
    pub(super) stress_inputs: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Print the table as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub(super) markdown: bool,
}

/// `tickmark protocol jeto2026`.
#[derive(Debug, Args)]
pub(super) struct JetoArgs {
    /// The original tree.
    #[arg(long, value_name = "DIR", conflicts_with = "recorded")]
    pub(super) original: Option<PathBuf>,
    /// The patch (unified diff), or the ground truth where a test class is judged.
    #[arg(long, value_name = "FILE")]
    pub(super) patch: Option<PathBuf>,
    /// Judge this generated test class, alone, on the original against the ground truth.
    #[arg(long, value_name = "FILE")]
    pub(super) test_class: Option<PathBuf>,
    /// Line of shell that builds a tree; run once in each.
    #[arg(long, value_name = "COMMAND")]
    pub(super) build: Option<String>,
    /// Line of shell that runs the tests and writes JUnit's XML; TICKMARK_TEST_CLASSES and TICKMARK_MODULES tell which.
    #[arg(long, value_name = "COMMAND")]
    pub(super) test: Option<String>,
    /// Folder of the XML reports within a tree; emptied before each round.
    #[arg(long, value_name = "DIR", default_value = "target/surefire-reports")]
    pub(super) reports: PathBuf,
    /// Rounds of both trees behind one of warm-up.
    #[arg(long, value_name = "NUMBER", default_value_t = 30)]
    pub(super) rounds: usize,
    /// Wall-clock limit of a command in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    pub(super) limit: u64,
    /// Judge recorded rounds instead: `original/round-N` and `patched/round-N` with the XML reports below.
    #[arg(long, value_name = "DIR")]
    pub(super) recorded: Option<PathBuf>,
    /// Ask for 10% at p 0.05 instead of 5% at p 0.10.
    #[arg(long)]
    pub(super) conservative: bool,
    /// Let the project's commands run on this host, without a sandbox.
    #[arg(long)]
    pub(super) run_untrusted: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Print the table as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub(super) markdown: bool,
}

/// `tickmark calibrate`.
#[derive(Debug, Args)]
pub(super) struct CalibrateArgs {
    /// Compare with your own gem5, which runs the same programs now: the shipped microbenchmarks, or with `--captures`
    /// the executables of that folder.
    #[arg(long, value_name = "gem5", value_parser = ["gem5"])]
    pub(super) backend: Option<String>,
    #[command(flatten)]
    pub(super) gem5: Gem5Args,
    /// Run a configuration that `tickmark gem5 freeze` has written, in process through libgem5.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "gem5",
        requires = "backend"
    )]
    pub(super) gem5_frozen: Option<PathBuf>,
    /// Folder of captures: `summary.jsonl` and the executables under `micro/` and `programs/`.
    #[arg(long, value_name = "DIR")]
    pub(super) captures: Option<PathBuf>,
    /// The shipped microbenchmarks against what was computed by hand; this is also what happens without `--captures`.
    #[arg(long)]
    pub(super) micro: bool,
    /// Only this machine: a name from `tickmark machines`, or a TOML file for microbenchmarks.
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) machine: Option<String>,
    /// Override one key of the machine for microbenchmarks; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "machine")]
    pub(super) overrides: Vec<String>,
    /// Only this microbenchmark; may be repeated.
    #[arg(long = "only", value_name = "MICROBENCHMARK")]
    pub(super) only: Vec<String>,
}

/// `tickmark doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// `tickmark gem5`.
#[derive(Debug, Args)]
pub(super) struct Gem5CommandArgs {
    #[command(subcommand)]
    pub(super) command: Gem5Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Gem5Command {
    /// Find gem5, say what it is, and whether it can run the machines that it is compared on.
    Check(Gem5CheckArgs),
    /// Have gem5 write the complete configuration of a machine, for runs in process or to read.
    Freeze(Gem5FreezeArgs),
    /// Run one job of a frozen configuration: what this program starts for itself.
    #[command(hide = true)]
    Worker {
        /// The job.
        job: PathBuf,
    },
}

/// `tickmark gem5 check`.
#[derive(Debug, Args)]
pub(super) struct Gem5CheckArgs {
    #[command(flatten)]
    pub(super) gem5: Gem5Args,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// `tickmark gem5 freeze`.
#[derive(Debug, Args)]
pub(super) struct Gem5FreezeArgs {
    #[command(flatten)]
    pub(super) gem5: Gem5Args,
    #[command(flatten)]
    pub(super) machine: MachineArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
    /// Folder for the configuration: `config.ini` as gem5 writes it, and `frozen.json`, which says of what it is.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
}

/// `tickmark machines`.
#[derive(Debug, Args)]
pub(super) struct MachinesArgs {
    /// A machine to print, with every value and where it comes from.
    pub(super) name: Option<String>,
    /// Override one key of the machine model; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "name")]
    pub(super) overrides: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// The folder for what is kept between runs.
pub(super) fn cache_folder() -> PathBuf {
    let variable = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    variable("TICKMARK_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|p| p.join("tickmark")))
        .or_else(|| variable("HOME").map(|p| p.join(".cache/tickmark")))
        .unwrap_or_else(|| std::env::temp_dir().join("tickmark-cache"))
}
