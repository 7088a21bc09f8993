//! The table of errors.
use super::Comparison;
use super::microbenchmark::{ITERATIONS, Measured};
use crate::stats;
use std::fmt::Write;

/// The comparisons as text: a table a machine and group, with the mean and the largest absolute error of the cycles and
/// their rank correlation.
pub fn table(rows: &[Comparison]) -> String {
    let mut out = String::new();
    let mut rest = rows;
    while let Some(first) = rest.first() {
        let same = |row: &Comparison| {
            row.capture.machine == first.capture.machine && row.capture.group == first.capture.group
        };
        let count = rest.iter().position(|row| !same(row)).unwrap_or(rest.len());
        let (group, others) = rest.split_at(count);
        rest = others;
        let _ = writeln!(out, "{}, {}", first.capture.machine, first.capture.group);
        let _ = writeln!(
            out,
            "  {:<20} {:>13} {:>9} {:>13} {:>9} {:>13} {:>13} {:>9}",
            "program", "instructions", "off", "micro-ops", "off", "cycles", "reference", "error"
        );
        for row in group {
            let _ = writeln!(
                out,
                "  {:<20} {:>13} {:>+9} {:>13} {:>+9} {:>13} {:>13} {:>+8.2}%",
                row.capture.program,
                row.instructions,
                difference(row.instructions, row.capture.instructions),
                row.micro_ops,
                difference(row.micro_ops, row.capture.micro_ops),
                row.cycles,
                row.capture.cycles,
                100.0 * row.error()
            );
        }
        let errors: Vec<f64> = group.iter().map(|row| row.error().abs()).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(
            out,
            "  mean absolute error {:.2}%, largest {:.2}%, Spearman {:.4}\n",
            100.0 * mean,
            100.0 * worst,
            spearman(group)
        );
    }
    out
}

/// Microbenchmarks as text, with what was computed by hand where it was.
pub fn micro_table(machine: &str, rows: &[Measured]) -> String {
    let mut out = format!(
        "{machine}, cycles an iteration\n  {:<20} {:>10} {:>10} {:>9}  {}\n",
        "microbenchmark", "measured", "by hand", "error", "arithmetic"
    );
    let iterations = f64::from(ITERATIONS);
    for row in rows {
        let measured = row.cycles as f64;
        let _ = write!(
            out,
            "  {:<20} {:>10.3}",
            row.benchmark.name,
            measured / iterations
        );
        match (row.expected, row.expected_cycles()) {
            (Some(expected), Some(cycles)) => {
                let error = 100.0 * (measured / cycles - 1.0);
                let _ = writeln!(
                    out,
                    " {:>10.3} {error:>+8.2}%  {}",
                    cycles / iterations,
                    expected.arithmetic
                );
            }
            _ => {
                let _ = writeln!(out, " {:>10} {:>9}  {}", "-", "-", row.benchmark.feature);
            }
        }
    }
    out
}

fn difference(a: u64, b: u64) -> i64 {
    a as i64 - b as i64
}

/// Spearman's rank correlation of the cycles; 1 where it is not defined.
fn spearman(rows: &[Comparison]) -> f64 {
    let ours: Vec<f64> = rows.iter().map(|row| row.cycles as f64).collect();
    let theirs: Vec<f64> = (rows.iter()).map(|row| row.capture.cycles as f64).collect();
    stats::spearman(&ours, &theirs).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::Capture;

    fn row(program: &str, cycles: u64, reference: u64) -> Comparison {
        Comparison {
            capture: Capture {
                machine: "m".to_owned(),
                group: "g".to_owned(),
                program: program.to_owned(),
                instructions: 10,
                micro_ops: 20,
                cycles: reference,
            },
            instructions: 10,
            micro_ops: 21,
            cycles,
        }
    }

    #[test]
    fn the_table_ends_with_mean_largest_and_rank_correlation() {
        let text = table(&[row("a", 110, 100), row("b", 190, 200), row("c", 300, 300)]);
        assert!(text.starts_with("m, g\n"), "{text}");
        assert!(
            text.ends_with("mean absolute error 5.00%, largest 10.00%, Spearman 1.0000\n\n"),
            "{text}"
        );
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(stats::ranks(&[5.0, 1.0, 5.0, 9.0]).0, [2.5, 1.0, 2.5, 4.0]);
        let reversed = [row("a", 1, 3), row("b", 2, 2), row("c", 3, 1)];
        assert_eq!(spearman(&reversed), -1.0);
    }
}
