//! Compares the simulator's instructions with the host processor: `differential --codes all --instances 500`.
#![expect(clippy::print_stdout, reason = "a command that reports")]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = "../tests/isa/mod.rs"]
mod isa;

/// How much to compare.
#[derive(Debug, clap::Parser)]
struct Options {
    /// `all`, `none`, or parts of names of iced codes, separated by commas.
    #[arg(long, default_value = "all")]
    codes: String,
    /// Instances for each code.
    #[arg(long, default_value_t = 500)]
    instances: u64,
    /// Sequences of 8 to 32 instructions that are run as blocks.
    #[arg(long, default_value_t = 0)]
    sequences: u64,
    /// Number of the first sequence: to run one again.
    #[arg(long, default_value_t = 0)]
    first_sequence: u64,
    /// Seed of the generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print sums and mismatches only.
    #[arg(long)]
    quiet: bool,
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() -> std::process::ExitCode {
    let options: Options = clap::Parser::parse();
    let parts: Vec<String> = options.codes.split(',').map(str::to_lowercase).collect();
    let wanted = |name: &str| {
        let name = name.to_lowercase();
        options.codes == "all" || parts.iter().any(|part| name.contains(part.as_str()))
    };
    println!("seed {}", options.seed);
    let rows = match isa::campaign::run_codes(options.seed, options.instances, wanted) {
        Ok(rows) => rows,
        Err(why) => {
            println!("the host side does not start: {why}");
            return std::process::ExitCode::from(2);
        }
    };
    print!("{}", isa::campaign::report(&rows, !options.quiet));
    let mut mismatches: u64 = rows.iter().map(|row| row.mismatches).sum();
    if options.sequences > 0 {
        match isa::sequence::run_sequences(options.seed, options.first_sequence, options.sequences)
        {
            Ok(outcome) => {
                print!("{}", outcome.report());
                mismatches += outcome.mismatches;
            }
            Err(why) => {
                println!("the host side does not start: {why}");
                return std::process::ExitCode::from(2);
            }
        }
    }
    if mismatches > 0 {
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() -> std::process::ExitCode {
    println!("there is nothing to compare with: this host is not x86-64 Linux");
    std::process::ExitCode::SUCCESS
}
