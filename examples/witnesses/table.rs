//! The table as Markdown.
use super::level;
use super::row::{Output, Row, Spans};
use std::fmt::Write;

/// A number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// The page docs/witnesses.md.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let count = |wanted: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).count();
    let mut out = String::from(INTRODUCTION);
    for v3 in [false, true] {
        let variables = level::environment(v3);
        let of = |name: &str| {
            let found = variables.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let profile = if v3 { "x86-64-v3" } else { "x86-64-v2" };
        let _ = writeln!(
            out,
            "- {profile}: `OPENBLAS_CORETYPE={}`, `GLIBC_TUNABLES={}`",
            of("OPENBLAS_CORETYPE"),
            of("GLIBC_TUNABLES")
        );
    }
    let counted = |row: &Row| matches!(&row.spans, Spans::Counted(a, b) if a == b);
    let _ = writeln!(
        out,
        "\n{} rows: {} with equal output, {} that differ, {} that do not run, {} not installed. Spans counted: {}, of \
         which {} equal.\n",
        rows.len(),
        count(&|row| row.output == Output::Equal),
        count(&|row| matches!(row.output, Output::Differs(_))),
        count(&|row| matches!(row.output, Output::NotRun(_))),
        count(&|row| matches!(row.output, Output::NotInstalled(_))),
        count(&|row| matches!(row.spans, Spans::Counted(..))),
        count(&counted),
    );
    out.push_str("| program | what it does | source | profile | instructions | output equal | span equal |\n");
    out.push_str("|---|---|---|---|---:|---|---|\n");
    for row in rows {
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.name,
            cell(row.what),
            cell(&row.source),
            row.profile.trim_start_matches("x86-64-"),
            row.instructions.map(grouped).unwrap_or_default(),
            cell(&row.output_text()),
            cell(&row.spans_text()),
        );
    }
    out
}

const INTRODUCTION: &str = "\
# Witnesses

Real programs, libraries and language runtimes, run in the simulator and on the host. This page is the output of

    python3 -m venv VENV && VENV/bin/pip install numpy pandas scipy sympy networkx sortedcontainers
    cargo run --release --example witnesses -- --python VENV/bin/python > docs/witnesses.md

`--only NAME` runs some rows, `--json` prints JSON lines. What is not installed is a row that says how to get it.

- *instructions*: of the whole run in the simulator.
- *output equal*: standard output and exit code are those of the native run with the same arguments, input, files and
  environment.
- *span equal*: the program writes a marker before and after a part of its work. The instructions between are counted in
  the simulator, and natively by single-stepping; a `rep` counts once. The column says the sum of the spans.

Copies and comparisons go by alignment, so a native span is counted with the addresses of the guest: the process begins with
the guest's first stack, byte for byte, without randomised addresses and without the kernel's own functions (vDSO), whose
place a guest gives to libraries; files have the same names on both sides, since `/proc/self/maps`, which the C library reads,
and shells keep them in memory. `--explain` steps through both sides and prints where they part. A row that differs for a
reason that is known says it; the command fails where the difference passes 1%, and for any other row that differs at all.

`tickmark run -- VENV/bin/python SCRIPT` and `tickmark evaluate --python VENV/bin/python` give Python candidates the packages
of that virtual environment, and only those, in the guest at `/python/packages`; their files are part of the fingerprint.
Byte code of each module is compiled when it is first imported and kept in the cache folder (`TICKMARK_CACHE`), so the
first run takes longer.

Sources are in `examples/witnesses/programs`. Libraries choose routines by what the processor can do, and routines differ
in rounding and in counts, so the native side is told to stay at the guest's level (the guest gets the same environment):

- `NPY_DISABLE_CPU_FEATURES` gets every feature for which numpy has routines
  (`numpy._core._multiarray_umath.__cpu_dispatch__`), on x86-64-v3 without AVX, F16C, FMA3, AVX2 and X86_V3.
";
