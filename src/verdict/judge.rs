//! From a measurement to a verdict: one function for programs, one for functions under the driver.
use super::{Judging, Verdict, compare, compare_bytes, judge_value};
use crate::dataset::{Calls, TestCase, Value};
use crate::measurement::Measurement;
use crate::sim::outcome::{Device, Exit};

/// How much of standard error a verdict quotes.
const QUOTED_BYTES: usize = 400;
const SIGABRT: u8 = 6;

/// Judges the run of a program on one test case: exit code 0 and a right standard output.
///
/// Where a checker decides, this only judges the exit.
pub fn judge_case(measurement: &Measurement, case: &TestCase, judging: &Judging) -> Verdict {
    if let Some(verdict) = judge_exit(measurement, Some(case.name.clone())) {
        return verdict;
    }
    let difference = |expected: &[u8]| match judging {
        Judging::Exact => compare_bytes(expected, &measurement.stdout),
        Judging::Tokens(comparison) => compare(expected, &measurement.stdout, comparison),
        Judging::Values(_) | Judging::Presence => output_value(expected, measurement, judging),
        Judging::Checker(_) => None,
    };
    let first = difference(&case.expected);
    let others = || (case.alternatives.iter()).any(|expected| difference(expected).is_none());
    match first {
        Some(difference) if !others() => Verdict::WrongAnswer {
            case: case.name.clone(),
            difference,
        },
        _ => Verdict::Accepted,
    }
}

/// A program's output as one value; an output that is none differs as text.
fn output_value(
    expected: &[u8],
    measurement: &Measurement,
    judging: &Judging,
) -> Option<super::Difference> {
    let value = |bytes: &[u8]| Value::parse(&String::from_utf8_lossy(bytes)).ok();
    match (value(expected), value(&measurement.stdout)) {
        (Some(expected), Some(got)) => judge_value(&[expected], &got, judging),
        _ => compare(expected, &measurement.stdout, &super::Comparison::default()),
    }
}

/// The results that a driver of ours reported, in the order of the cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The text of each, and the value that it is.
    pub texts: Vec<String>,
    /// The value of each, or why the text is none.
    pub values: Vec<Result<Value, String>>,
}

impl Results {
    /// The results of a run.
    pub fn of(measurement: &Measurement) -> Self {
        let mut results = Self::default();
        let mut bytes = Vec::new();
        for (kind, text) in &measurement.messages {
            if matches!(*kind, Device::PART | Device::RESULT) {
                bytes.extend_from_slice(text);
            }
            if *kind == Device::RESULT {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                results.values.push(Value::parse(&text));
                results.texts.push(text);
                bytes.clear();
            }
        }
        results
    }
}

/// Judges the run of a driver of ours: each result, then the end of the run.
///
/// Where a checker decides, this judges everything but the results.
pub fn judge_calls(
    measurement: &Measurement,
    calls: &Calls,
    results: &Results,
    judging: &Judging,
) -> Verdict {
    if measurement.exit == Exit::ForgedMarker {
        return Verdict::ForgedMarker;
    }
    if !matches!(judging, Judging::Checker(_)) {
        for (case, value) in calls.cases.iter().zip(&results.values) {
            let Some(expected) = &case.expected else {
                return Verdict::BackendFailure {
                    what: format!("case {} has no expected result", case.name),
                    remedy: "report this as a fault of tickmark".into(),
                };
            };
            let difference = match value {
                Ok(value) => judge_value(&expected.answers, value, judging),
                Err(error) => {
                    let expected = expected.answers.first().map(Value::to_string);
                    Some(super::compare::difference_of_texts(
                        expected.as_deref(),
                        error,
                    ))
                }
            };
            if let Some(difference) = difference {
                return Verdict::WrongAnswer {
                    case: case.name.clone(),
                    difference,
                };
            }
        }
    }
    match judge_function(measurement) {
        // The driver reports a result a case before it is done.
        Verdict::Accepted if results.values.len() != calls.cases.len() => Verdict::ForgedMarker,
        verdict => verdict,
    }
}

/// Judges the run of a function under the driver: the driver's `DONE` message, no failure message, exit code 0, and
/// regions that were all ended.
///
/// The messages come with the driver's nonce already checked and stripped; a message without it is
/// [`Exit::ForgedMarker`]. Exit code 0 alone proves nothing, since a candidate may call `exit(0)`.
pub fn judge_function(measurement: &Measurement) -> Verdict {
    let case = call_in_question(measurement);
    let failed = (measurement.messages.iter()).find(|(kind, _)| *kind == Device::FAILED);
    // A forged marker comes first: after it, nothing that the channel says can be believed.
    if measurement.exit != Exit::ForgedMarker
        && let Some((_, text)) = failed
    {
        return Verdict::TestFailed {
            case,
            text: quote(text),
        };
    }
    if let Some(text) = failed_assertion(measurement) {
        return Verdict::TestFailed { case, text };
    }
    if let Some(verdict) = judge_exit(measurement, case) {
        return verdict;
    }
    let done = (measurement.messages.iter())
        .filter(|(kind, _)| *kind == Device::DONE)
        .count();
    match done {
        0 => Verdict::PrematureExit,
        1 if measurement.open_region => Verdict::ForgedMarker,
        // The driver cannot come to its end without the baseline: a candidate has found the nonce and spoken for it.
        1 if measurement.regions.is_empty() => Verdict::ForgedMarker,
        1 => Verdict::Accepted,
        _ => Verdict::ForgedMarker,
    }
}

/// Name of the call that was running, or else of the last one that returned; calls count from 1 and region 0 is the
/// driver's baseline.
fn call_in_question(measurement: &Measurement) -> Option<String> {
    let returned = measurement.regions.len().checked_sub(1)?;
    let call = if measurement.open_region {
        returned + 1
    } else {
        returned
    };
    (call > 0).then(|| call.to_string())
}

/// The text of a failed C `assert`, which ends in `SIGABRT`. A candidate can print the same text and abort: that is
/// a failure too.
fn failed_assertion(measurement: &Measurement) -> Option<String> {
    let aborted = matches!(
        measurement.exit,
        Exit::Signaled {
            signal: SIGABRT,
            ..
        }
    );
    let text = last_line(&measurement.stderr)?;
    (aborted && text.contains("Assertion `")).then_some(text)
}

/// The verdict that the exit alone gives; `None` for exit code 0.
fn judge_exit(measurement: &Measurement, case: Option<String>) -> Option<Verdict> {
    Some(match &measurement.exit {
        Exit::Exited { code: 0 } => return None,
        Exit::Exited { code } => Verdict::ExitCode {
            case,
            code: *code,
            text: last_line(&measurement.stderr),
        },
        Exit::Signaled {
            signal,
            address,
            function,
            ..
        } => Verdict::Signal {
            case,
            signal: signal_name(*signal),
            address: *address,
            function: function.clone(),
            text: last_line(&measurement.stderr),
        },
        Exit::StackOverflow { function, .. } => Verdict::StackOverflow {
            case,
            function: function.clone(),
        },
        Exit::MemoryLimit => Verdict::MemoryLimit { case },
        Exit::OutputLimit => Verdict::OutputLimit { case },
        Exit::InstructionLimit => Verdict::InstructionLimit { case },
        Exit::Deadlock { call } => Verdict::Deadlock {
            case,
            call: call.clone(),
        },
        Exit::TimeLimit => Verdict::TimeLimit { case },
        Exit::UnsupportedInstruction {
            mnemonic,
            rip,
            function,
        } => Verdict::Unsupported {
            case,
            what: match function {
                Some(function) => format!("instruction `{mnemonic}` at {rip:#x} in `{function}`"),
                None => format!("instruction `{mnemonic}` at {rip:#x}"),
            },
        },
        Exit::UnsupportedSyscall { name } => Verdict::Unsupported {
            case,
            what: format!("system call `{name}`"),
        },
        Exit::ForgedMarker => Verdict::ForgedMarker,
        Exit::Paused => Verdict::BackendFailure {
            what: "the run paused where it had to go on".into(),
            remedy: "report this as a fault of tickmark".into(),
        },
        Exit::LoadFailed { reason } => Verdict::BackendFailure {
            what: format!("cannot load the program: {reason}"),
            remedy: "run `tickmark doctor`, which checks compiler and interpreter".into(),
        },
        Exit::WallClock => Verdict::BackendFailure {
            what: "the wall-clock guard of the host ended the run".into(),
            remedy: "run again on a less busy host, or lower the instruction limit".into(),
        },
    })
}

fn last_line(stderr: &[u8]) -> Option<String> {
    let text = stderr.trim_ascii_end();
    let start = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    (!text.is_empty()).then(|| quote(&text[start..]))
}

fn quote(text: &[u8]) -> String {
    let text = text.trim_ascii();
    if text.len() <= QUOTED_BYTES {
        return String::from_utf8_lossy(text).into_owned();
    }
    format!("{}...", String::from_utf8_lossy(&text[..QUOTED_BYTES]))
}

/// Name of a Linux signal.
fn signal_name(signal: u8) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::BackendName;
    use crate::sim::outcome::{Counters, Region};

    fn measurement(exit: Exit) -> Measurement {
        Measurement {
            backend: BackendName::Sim,
            machine: "atomic".into(),
            exit,
            counters: Counters::default(),
            regions: vec![
                Region {
                    instructions: 5,
                    cycles: None,
                };
                3
            ],
            region_cpu_time_ns: Vec::new(),
            open_region: false,
            messages: Vec::new(),
            stdout: Vec::new(),
            stderr: Vec::new(),
            unanswered_system_calls: Vec::new(),
            clock_read: false,
        }
    }

    fn case() -> TestCase {
        TestCase {
            name: "7".into(),
            stdin: b"1\n".as_slice().into(),
            expected: b"2\n".as_slice().into(),
            alternatives: Vec::new(),
        }
    }

    fn judged(measurement: &Measurement) -> Verdict {
        judge_case(measurement, &case(), &Judging::default())
    }

    fn done() -> (u8, Vec<u8>) {
        (Device::DONE, Vec::new())
    }

    #[test]
    fn a_right_output_with_a_wrong_exit_code_is_not_accepted() {
        let mut run = measurement(Exit::Exited { code: 0 });
        run.stdout = b"2".to_vec();
        assert_eq!(judged(&run), Verdict::Accepted);
        run.exit = Exit::Exited { code: 3 };
        run.stderr = b"first\nlast words\n".to_vec();
        assert_eq!(
            judged(&run),
            Verdict::ExitCode {
                case: Some("7".into()),
                code: 3,
                text: Some("last words".into())
            }
        );
    }

    #[test]
    fn a_wrong_output_names_case_and_difference() {
        let mut run = measurement(Exit::Exited { code: 0 });
        run.stdout = b"3\n".to_vec();
        let Verdict::WrongAnswer { case, difference } = judged(&run) else {
            panic!("{:?}", judged(&run));
        };
        assert_eq!((case.as_str(), difference.line), ("7", 1));
    }

    #[test]
    fn a_signal_has_its_name_address_and_function() {
        let run = measurement(Exit::Signaled {
            signal: 11,
            rip: 0x401000,
            address: Some(0),
            function: Some("main+4".into()),
        });
        assert_eq!(
            judged(&run).to_string(),
            "signal SIGSEGV in `main+4` at address 0x0 in case 7"
        );
    }

    #[test]
    fn the_wall_clock_is_our_failure_and_the_limit_of_cpu_time_is_the_candidates() {
        assert!(judged(&measurement(Exit::WallClock)).is_failure_of_ours());
        assert_eq!(
            judged(&measurement(Exit::TimeLimit)),
            Verdict::TimeLimit {
                case: Some("7".into())
            }
        );
    }

    #[test]
    fn a_function_that_exits_before_the_driver_is_done_is_premature() {
        assert_eq!(
            judge_function(&measurement(Exit::Exited { code: 0 })),
            Verdict::PrematureExit
        );
    }

    #[test]
    fn a_function_is_accepted_once_the_driver_is_done() {
        let mut run = measurement(Exit::Exited { code: 0 });
        run.messages.push(done());
        assert_eq!(judge_function(&run), Verdict::Accepted);
        run.exit = Exit::Exited { code: 1 };
        assert_eq!(judge_function(&run).kind(), "exit_code");
    }

    fn calls() -> Calls {
        let case = |name: &str, expected: &str| crate::dataset::Call {
            name: name.into(),
            arguments: "[]".into(),
            expected: Some(crate::dataset::Expected {
                answers: vec![Value::parse(expected).unwrap()],
                source: crate::dataset::ExpectedSource::DataSet,
            }),
        };
        Calls {
            target: crate::dataset::Target::Function("f".into()),
            prompt: String::new(),
            preface: String::new(),
            template: None,
            cases: vec![case("1", "[1, 2]"), case("2", "None")],
            generator: None,
        }
    }

    fn judged_calls(exit: Exit, messages: &[(u8, &str)]) -> Verdict {
        let mut run = measurement(exit);
        run.messages = (messages.iter())
            .map(|(kind, text)| (*kind, text.as_bytes().to_vec()))
            .collect();
        let judging = Judging::Values(crate::verdict::ValueRules::PYTHON);
        judge_calls(&run, &calls(), &Results::of(&run), &judging)
    }

    #[test]
    fn results_are_judged_case_by_case_and_before_the_end_of_the_run() {
        const PART: u8 = Device::PART;
        const RESULT: u8 = Device::RESULT;
        let done = Exit::Exited { code: 0 };
        let end = (Device::DONE, "");
        assert_eq!(
            judged_calls(
                done.clone(),
                &[(PART, "[1,"), (RESULT, "2]"), (RESULT, "null"), end]
            ),
            Verdict::Accepted
        );
        let Verdict::WrongAnswer { case, .. } =
            judged_calls(Exit::InstructionLimit, &[(RESULT, "[1, 3]")])
        else {
            panic!("not a wrong answer");
        };
        assert_eq!(case, "1");
        assert_eq!(
            judged_calls(Exit::InstructionLimit, &[(RESULT, "[1, 2]")]).kind(),
            "instruction_limit"
        );
        // A candidate that speaks for the driver.
        assert_eq!(judged_calls(done.clone(), &[end]), Verdict::ForgedMarker);
        assert_eq!(
            judged_calls(done, &[(RESULT, "[1, 2]")]),
            Verdict::PrematureExit
        );
    }

    #[test]
    fn another_right_output_is_accepted_and_rules_apply_to_programs() {
        let mut run = measurement(Exit::Exited { code: 0 });
        run.stdout = b"3\n".to_vec();
        let mut case = case();
        assert!(!judge_case(&run, &case, &Judging::default()).is_accepted());
        case.alternatives.push(b"3".as_slice().into());
        assert!(judge_case(&run, &case, &Judging::default()).is_accepted());
        assert!(!judge_case(&run, &case, &Judging::Exact).is_accepted());
        case.alternatives[0] = b"3.0".as_slice().into();
        let values = Judging::Values(crate::verdict::ValueRules::PYTHON);
        assert!(judge_case(&run, &case, &values).is_accepted());
    }

    #[test]
    fn done_twice_or_inside_a_region_is_forged() {
        let mut run = measurement(Exit::Exited { code: 0 });
        run.messages.push(done());
        run.open_region = true;
        assert_eq!(judge_function(&run), Verdict::ForgedMarker);
        run.open_region = false;
        run.messages.push(done());
        assert_eq!(judge_function(&run), Verdict::ForgedMarker);
    }

    #[test]
    fn a_failure_message_is_the_verdict_and_names_the_call() {
        let mut run = measurement(Exit::Exited { code: 1 });
        run.messages
            .push((Device::FAILED, b"AssertionError: off by one".to_vec()));
        assert_eq!(
            judge_function(&run),
            Verdict::TestFailed {
                case: Some("2".into()),
                text: "AssertionError: off by one".into()
            }
        );
        run.open_region = true;
        let Verdict::TestFailed { case, .. } = judge_function(&run) else {
            panic!("not a failed test");
        };
        assert_eq!(case.as_deref(), Some("3"));
        run.exit = Exit::ForgedMarker;
        assert_eq!(judge_function(&run), Verdict::ForgedMarker);
    }

    #[test]
    fn a_failed_c_assertion_is_a_failed_test() {
        let mut run = measurement(Exit::Signaled {
            signal: 6,
            rip: 1,
            address: None,
            function: None,
        });
        run.stderr = b"c: c.cpp:9: int main(): Assertion `f(1) == 2' failed.\n".to_vec();
        assert_eq!(judge_function(&run).kind(), "test_failed");
        run.stderr = b"terminate called\n".to_vec();
        assert_eq!(judge_function(&run).kind(), "signal");
    }

    #[test]
    fn unsupported_is_ours_and_says_what() {
        let run = measurement(Exit::UnsupportedInstruction {
            mnemonic: "vaddps".into(),
            rip: 0x400010,
            function: None,
        });
        let verdict = judged(&run);
        assert!(verdict.is_failure_of_ours());
        assert!(verdict.to_string().contains("`vaddps` at 0x400010"));
    }
}
