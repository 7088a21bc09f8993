//! Fuzzes the simulator and what reads files: `fuzz --target decoder --seconds 600`. The same seed makes the same inputs.
#![expect(clippy::print_stdout, reason = "a command that reports")]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = "../tests/fuzz/mod.rs"]
mod fuzz;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = ""]
mod support {
    #[allow(
        dead_code,
        unreachable_pub,
        reason = "only the maker of executables is used here"
    )]
    #[path = "../tests/support/single_step.rs"]
    pub(crate) mod single_step;
}

use std::path::PathBuf;

/// What to fuzz, and for how long.
#[derive(Debug, clap::Parser)]
struct Options {
    /// What is fuzzed; all targets in turn where it is left out.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[arg(long)]
    target: Option<fuzz::Target>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Inputs for each target, at most.
    #[arg(long, default_value_t = u64::MAX)]
    iterations: u64,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first input.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Folder for inputs that fail, minimised.
    #[arg(long, default_value = "fuzz-failures")]
    out: PathBuf,
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() -> std::process::ExitCode {
    use std::time::{Duration, Instant};
    let options: Options = clap::Parser::parse();
    let targets = options
        .target
        .map_or(fuzz::Target::ALL.to_vec(), |target| vec![target]);
    // A panic is a finding, told with its input.
    std::panic::set_hook(Box::new(|_| {}));
    let mut failures = 0;
    for target in targets {
        let began = Instant::now();
        let time = Duration::from_secs(options.seconds);
        let mut inputs = 0;
        let mut found = 0;
        while inputs < options.iterations && began.elapsed() < time && found < 10 {
            let number = options.first + inputs;
            let input = target.input(options.seed, number);
            inputs += 1;
            let Err(why) = target.check(&input) else {
                continue;
            };
            found += 1;
            let short = target.minimised(&input, Duration::from_secs(20));
            let short_why = target.check(&short).err().unwrap_or(why);
            let text = fuzz::to_text(&short);
            println!(
                "{target}: input {number} of seed {}: {short_why}\n{text}",
                options.seed
            );
            let path = options
                .out
                .join(format!("{target}-{}-{number}.hex", options.seed));
            let kept =
                std::fs::create_dir_all(&options.out).and_then(|()| std::fs::write(&path, &text));
            match kept {
                Ok(()) => println!("kept in {}", path.display()),
                Err(error) => println!("cannot write {}: {error}", path.display()),
            }
        }
        println!(
            "{target}: {inputs} inputs, {found} failures, {:.0?}",
            began.elapsed()
        );
        failures += found;
    }
    std::process::ExitCode::from(u8::from(failures > 0))
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() {
    println!("fuzzing compares with the host processor and needs x86-64 Linux");
}
