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
    if rows.iter().any(|row| row.mismatches > 0) {
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() -> std::process::ExitCode {
    println!("there is nothing to compare with: this host is not x86-64 Linux");
    std::process::ExitCode::SUCCESS
}
