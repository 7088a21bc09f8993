//! How often `compare` errs on this host: a program against itself (A/A), and against ones that do more work (A/B).
//!
//! `cargo run --release --example noise_study -- [COMPARISONS [AB_COMPARISONS]]` prints a Markdown table. A comparison is
//! 30 runs of each of two entrants, interleaved in a random order, decided by the rules of `tickmark compare`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of its own"
)]
use std::error::Error;
use std::time::{Duration, Instant};
use tickmark::artifact::{BuildOptions, Toolchain, build};
use tickmark::backend::Backend;
use tickmark::backend::native::{Native, host_settings};
use tickmark::candidate::Candidate;
use tickmark::compare::{Outcome, Rules, decide};
use tickmark::sim::outcome::{Exit, Limits};
use tickmark::stats::SplitMix;

const RUNS: usize = 30;
/// Rounds of the program's loop: some milliseconds.
const WORK: u64 = 4_000_000;
/// The program's input is how much it works.
const PROGRAM: &str = "#include <cstdio>\n\
    int main() { unsigned long n; if (scanf(\"%lu\", &n) != 1) return 1; unsigned s = 1;\n\
    for (unsigned long i = 0; i < n; i++) s = s * 1664525u + 1013904223u; printf(\"%u\\n\", s); }\n";

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = (std::env::args().skip(1))
        .map(|argument| argument.parse())
        .collect::<Result<_, _>>()?;
    let comparisons = numbers.first().copied().unwrap_or(1000);
    let ab_comparisons = numbers.get(1).copied().unwrap_or(100);
    let candidate = Candidate::CppProgram {
        source: PROGRAM.to_owned(),
    };
    let artifact = build(&candidate, &Toolchain::default(), &BuildOptions::default())?;
    let native = Native::new(Duration::from_secs(10));
    let mut random = SplitMix::new(1);
    for setting in host_settings() {
        println!("- {}: {}", setting.name, setting.value);
    }
    println!(
        "\n| difference | comparisons | quantity | faster or slower | right sign | equal within 1% | undecided |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (percent, comparisons) in [
        (0, comparisons),
        (1, ab_comparisons),
        (2, ab_comparisons),
        (5, ab_comparisons),
        (10, ab_comparisons),
        (50, ab_comparisons),
    ] {
        let inputs = [WORK, WORK + WORK * percent / 100].map(|work| format!("{work}\n"));
        // By quantity: decided, with the right sign, equal, undecided.
        let mut counts = [[0_usize; 4]; 2];
        let begun = Instant::now();
        let mut told = Instant::now();
        for comparison in 0..comparisons {
            let mut times: [[Vec<f64>; 2]; 2] = Default::default();
            for _ in 0..RUNS {
                let mut order = [0, 1];
                random.shuffle(&mut order);
                for entrant in order {
                    let run =
                        native.run(&artifact, inputs[entrant].as_bytes(), &Limits::default())?;
                    if run.exit != (Exit::Exited { code: 0 }) {
                        return Err(format!("the program ended as {:?}", run.exit).into());
                    }
                    for (quantity, part) in ["cpu_time_ns", "wall_time_ns"].iter().enumerate() {
                        times[quantity][entrant].push(run.counters.parts[*part] as f64);
                    }
                }
            }
            for (quantity, [first, second]) in times.iter().enumerate() {
                let decision = decide(first, second, &Rules::default())?;
                let count = &mut counts[quantity];
                match decision.outcome {
                    Outcome::Faster | Outcome::Slower => count[0] += 1,
                    Outcome::Equal => count[2] += 1,
                    Outcome::Undecided => count[3] += 1,
                }
                count[1] += usize::from(percent > 0 && decision.outcome == Outcome::Slower);
            }
            if told.elapsed() > Duration::from_secs(10) {
                told = Instant::now();
                let left = begun.elapsed().as_secs_f64() / (comparison + 1) as f64
                    * (comparisons - comparison - 1) as f64;
                eprintln!(
                    "{percent}%: {} of {comparisons}, about {left:.0} s left",
                    comparison + 1
                );
            }
        }
        for (name, count) in ["CPU time", "wall time"].iter().zip(counts) {
            let share =
                |count: usize| format!("{:.1}%", 100.0 * count as f64 / comparisons.max(1) as f64);
            let sign = if percent == 0 {
                "-".to_owned()
            } else {
                share(count[1])
            };
            println!(
                "| {percent}% | {comparisons} | {name} | {} | {sign} | {} | {} |",
                share(count[0]),
                share(count[2]),
                share(count[3])
            );
        }
    }
    Ok(())
}
