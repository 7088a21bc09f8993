//! A row of the table: both runs of a witness, compared.
use super::native::{self, Place, Ran};
use super::simulated::{self, Simulated};
use super::trace::{self, Trace};
use super::witness::{Program, Witness};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tickmark::sim::outcome::Exit;

/// Longest span that is single-stepped, instructions.
const LONGEST_SPAN: u64 = 2_000_000;

/// How the outputs compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Equal,
    /// The first difference.
    Differs(String),
    /// The guest did not come to its end, and why; or there is nothing to compare with.
    NotRun(String),
    /// The program is not there, and how to get it.
    NotInstalled(String),
}

/// How the counts of the spans compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spans {
    Unmarked,
    /// Native and simulated instructions.
    Counted(Vec<u64>, Vec<u64>),
    NotCounted(String),
}

/// A row with its results.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) source: String,
    pub(crate) profile: &'static str,
    pub(crate) instructions: Option<u64>,
    pub(crate) output: Output,
    pub(crate) spans: Spans,
    /// Why the spans may differ a little.
    pub(crate) apart: Option<&'static str>,
    pub(crate) stderr: String,
}

/// Runs a witness on both sides.
pub(crate) fn run(
    witness: &Witness,
    place: &Place,
    patience: Duration,
    step: bool,
    explain: bool,
) -> Row {
    let mut row = Row {
        name: witness.name,
        what: witness.what,
        source: source(witness, place),
        profile: witness.profile(),
        instructions: None,
        output: Output::Equal,
        spans: Spans::Unmarked,
        apart: witness.apart,
        stderr: String::new(),
    };
    let program = match native::prepare(witness, place) {
        Ok(program) => program,
        Err(why) if why.starts_with("not installed") => {
            row.output = Output::NotInstalled(why);
            return row;
        }
        Err(why) => {
            row.output = Output::NotRun(why);
            return row;
        }
    };
    let expected = match native::run(witness, &program, place) {
        Ok(ran) => ran,
        Err(why) => {
            row.output = Output::NotRun(why);
            return row;
        }
    };
    let spans = (witness.marked && step).then(|| {
        let stack = simulated::first_stack(witness, &program, place)?;
        native::spans(witness, &program, place, LONGEST_SPAN, &stack)
    });
    let trace = (explain && spans.is_some()).then(Trace::default);
    // A panic of the simulator is a result too.
    let simulated = catch_unwind(AssertUnwindSafe(|| {
        simulated::run(witness, &program, place, patience, trace.as_ref())
    }));
    let simulated = match simulated {
        Ok(Ok(simulated)) => simulated,
        Ok(Err(why)) => {
            row.output = Output::NotRun(why);
            return row;
        }
        Err(_) => {
            row.output = Output::NotRun("the simulator panicked".to_owned());
            return row;
        }
    };
    row.instructions = Some(simulated.instructions);
    row.stderr = String::from_utf8_lossy(&simulated.stderr).into_owned();
    if !simulated.unanswered.is_empty() {
        let calls = simulated.unanswered.join(" ");
        row.stderr.push_str(&format!("\nunanswered: {calls}"));
    }
    if let (Some(trace), Some(Ok(native))) = (&trace, &spans)
        && native.instructions != simulated.spans
    {
        row.stderr.push_str(&trace::partings(native, &trace.take()));
    }
    row.output = compare(&expected, &simulated);
    row.spans = match spans {
        None => Spans::Unmarked,
        Some(Ok(native)) => Spans::Counted(native.instructions, simulated.spans),
        Some(Err(why)) => Spans::NotCounted(why),
    };
    row
}

fn compare(expected: &Ran, simulated: &Simulated) -> Output {
    let code = match &simulated.exit {
        Exit::Exited { code } => i32::from(*code),
        Exit::Signaled { signal, .. } => -i32::from(*signal),
        Exit::UnsupportedInstruction {
            mnemonic, function, ..
        } => {
            let place = function.as_deref().unwrap_or("unknown");
            return Output::NotRun(format!("unsupported instruction {mnemonic} in {place}"));
        }
        Exit::UnsupportedSyscall { name } => {
            return Output::NotRun(format!("unsupported: {name}"));
        }
        Exit::Deadlock { call } => {
            return Output::NotRun(format!("deadlock: all threads wait, the oldest in {call}"));
        }
        Exit::LoadFailed { reason } => {
            return Output::NotRun(format!("not loaded: {reason}"));
        }
        Exit::WallClock => {
            return Output::NotRun(format!(
                "no end within {} instructions",
                simulated.instructions
            ));
        }
        other => return Output::NotRun(format!("{other:?}")),
    };
    if expected.code != code {
        let last = String::from_utf8_lossy(&simulated.stderr).into_owned();
        let last = last
            .trim_end()
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned();
        let how = match &simulated.exit {
            Exit::Signaled {
                signal, function, ..
            } => format!(
                "signal {signal} in {}",
                function.as_deref().unwrap_or("unknown")
            ),
            _ => format!("exit code {code}"),
        };
        return Output::Differs(format!("{how} instead of {}: {last}", expected.code));
    }
    if expected.stdout != simulated.stdout {
        return Output::Differs(first_difference(&expected.stdout, &simulated.stdout));
    }
    if expected.stdout.is_empty() {
        return Output::NotRun("no output to compare".to_owned());
    }
    Output::Equal
}

fn first_difference(expected: &[u8], got: &[u8]) -> String {
    let lines = |bytes: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(bytes)
            .split('\n')
            .map(str::to_owned)
            .collect()
    };
    let (expected, got) = (lines(expected), lines(got));
    let at = (0..)
        .find(|&i| expected.get(i) != got.get(i))
        .unwrap_or_default();
    let show = |lines: &[String]| {
        lines
            .get(at)
            .map_or("nothing".to_owned(), |line| format!("`{line:.60}`"))
    };
    format!(
        "line {}: {} instead of {}",
        at + 1,
        show(&got),
        show(&expected)
    )
}

/// Where the program comes from, with its version.
fn source(witness: &Witness, place: &Place) -> String {
    let package = |name: &str| {
        let version = first_line("dpkg-query", &["-W", "-f", "${Version}", name]);
        match version {
            Some(version) => format!("Debian `{name}` {version}"),
            None => format!("Debian `{name}`"),
        }
    };
    match witness.program {
        Program::Installed { package: name, .. } => package(name),
        Program::Built { source, build, .. } => {
            let version = if build[0] == "go" {
                "version"
            } else {
                "--version"
            };
            let version = first_line(build[0], &[version]).unwrap_or_else(|| build[0].to_owned());
            let flags: Vec<_> = (build[1..].iter().copied())
                .filter(|part| !part.contains('{') && *part != "-o")
                .collect();
            format!("`{source}`, {version}, `{}`", flags.join(" "))
        }
        Program::Python { script, packages } => {
            let python = place.python.as_deref().unwrap_or(Path::new("python3"));
            if packages.is_empty() {
                return format!("`{script}`, {}", package("python3.11"));
            }
            const QUESTION: &str = "
import importlib.metadata as m, sys
print(*[name + ' ' + m.version(name) for name in sys.argv[1:]], sep=', ', end='')
print(', Python %d.%d.%d' % sys.version_info[:3])";
            let mut arguments = vec!["-c", QUESTION];
            arguments.extend(packages);
            let versions = first_line(&python.to_string_lossy(), &arguments);
            let versions = versions.unwrap_or_else(|| packages.join(", "));
            format!("`{script}`, PyPI {versions}")
        }
    }
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let finished = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&finished.stdout).into_owned();
    let line = text.lines().next()?.trim();
    (finished.status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Whether each count is within 1% of its counterpart: as far as a known reason goes.
fn are_near(native: &[u64], simulated: &[u64]) -> bool {
    native.len() == simulated.len()
        && (native.iter().zip(simulated)).all(|(a, b)| a.abs_diff(*b) <= a / 100)
}

impl Row {
    /// The simulator did something else than the host: a failure of the run.
    pub(crate) fn is_wrong(&self) -> bool {
        let unequal = match &self.spans {
            Spans::Counted(native, simulated) if native != simulated => {
                self.apart.is_none() || !are_near(native, simulated)
            }
            _ => false,
        };
        matches!(self.output, Output::Differs(_)) || unequal
    }

    /// The column of the outputs.
    pub(crate) fn output_text(&self) -> String {
        match &self.output {
            Output::Equal => "yes".to_owned(),
            Output::Differs(how) => format!("**no**: {how}"),
            Output::NotRun(why) | Output::NotInstalled(why) => why.clone(),
        }
    }

    /// The column of the counts.
    pub(crate) fn spans_text(&self) -> String {
        match &self.spans {
            Spans::Unmarked => String::new(),
            Spans::NotCounted(why) => why.clone(),
            Spans::Counted(native, simulated) if native == simulated => {
                let sum: u64 = native.iter().sum();
                format!("yes: {}", super::table::grouped(sum))
            }
            Spans::Counted(native, simulated) => {
                let why = self.apart.map(|why| format!(": {why}")).unwrap_or_default();
                format!("**no**: {simulated:?} instead of {native:?}{why}")
            }
        }
    }

    pub(crate) fn summary(&self) -> String {
        let count = self.instructions.unwrap_or_default();
        format!("{count} {} | {}", self.output_text(), self.spans_text())
    }

    pub(crate) fn json(&self) -> Value {
        let (native, simulated) = match &self.spans {
            Spans::Counted(native, simulated) => (json!(native), json!(simulated)),
            _ => (Value::Null, Value::Null),
        };
        json!({
            "name": self.name,
            "what": self.what,
            "source": self.source,
            "profile": self.profile,
            "instructions": self.instructions,
            "output_equal": self.output == Output::Equal,
            "output": self.output_text(),
            "span_instructions_native": native,
            "span_instructions": simulated,
        })
    }
}
