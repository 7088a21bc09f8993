//! Verdicts: right or wrong, and why, from a measurement and what was expected.
//!
//! Takes measurements, gives [`Verdict`]s; reads exits and outputs, never counters. A failure of ours
//! ([`Verdict::is_failure_of_ours`]) is never a failure of the candidate and leaves every denominator.
mod compare;
mod judge;
mod judging;

pub use compare::{Comparison, Difference, NanPolicy, Tolerance, compare, compare_bytes};
pub use judge::{Results, judge_calls, judge_case, judge_function};
pub use judging::{Checker, Judging, Order, ValueRules, judge_value, values_equal};

use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of the judge: a verdict with another version may differ for the same measurement.
pub const JUDGE_VERSION: u32 = 2;

/// What a candidate's run was worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// Every case passed.
    Accepted,
    /// The output of a case differs from what was expected.
    WrongAnswer {
        /// Name of the case.
        case: String,
        /// The first place that differs.
        #[serde(flatten)]
        difference: Difference,
    },
    /// The test of a function problem failed: an assertion, or an exception out of the candidate.
    TestFailed {
        /// Name of the call after or during which it failed, if there was one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
        /// What the driver reports.
        text: String,
    },
    /// A program ended with a code other than 0.
    ExitCode {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
        /// 1 to 255.
        code: u8,
        /// The last line of standard error.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        text: Option<String>,
    },
    /// A signal killed it.
    Signal {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
        /// Name of the signal (`SIGSEGV`).
        signal: String,
        /// Data address of a memory fault.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        address: Option<u64>,
        /// `function+offset` where symbols tell.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        function: Option<String>,
        /// The last line of standard error.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        text: Option<String>,
    },
    /// The stack grew beyond its limit.
    StackOverflow {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
        /// `function+offset` where symbols tell.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        function: Option<String>,
    },
    /// Live memory reached its limit.
    MemoryLimit {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
    },
    /// Standard output or standard error reached its limit.
    OutputLimit {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
    },
    /// The instruction limit was reached (simulated backends).
    InstructionLimit {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
    },
    /// All threads wait, and nothing will wake one (simulated backends).
    Deadlock {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
        /// The system call in which the oldest thread waits.
        call: String,
    },
    /// The limit of CPU time was reached (native backend, which has no other way to end a loop).
    TimeLimit {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
    },
    /// The compiler refused the source.
    CompileError {
        /// The compiler's text.
        text: String,
    },
    /// Compiling took more time, memory or output than it may.
    CompileLimit {
        /// Which limit.
        text: String,
    },
    /// The guest needs what the simulator does not implement. A failure of ours.
    Unsupported {
        /// Name of the case.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        case: Option<String>,
        /// The instruction (mnemonic, function or address) or the system call.
        what: String,
    },
    /// The candidate wrote to the driver's channel.
    ForgedMarker,
    /// It exited with code 0 before the driver had reported the end of the test.
    PrematureExit,
    /// The model's answer has no code.
    EmptyAnswer,
    /// Something of ours went wrong. A failure of ours.
    BackendFailure {
        /// What went wrong and where.
        what: String,
        /// What to do.
        remedy: String,
    },
}

impl Verdict {
    /// Whether the candidate passed.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted)
    }

    /// Whether the run says nothing about the candidate: a failure of ours leaves every denominator.
    pub fn is_failure_of_ours(&self) -> bool {
        matches!(self, Self::BackendFailure { .. } | Self::Unsupported { .. })
    }

    /// The verdict's kind as it stands in the JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::WrongAnswer { .. } => "wrong_answer",
            Self::TestFailed { .. } => "test_failed",
            Self::ExitCode { .. } => "exit_code",
            Self::Signal { .. } => "signal",
            Self::StackOverflow { .. } => "stack_overflow",
            Self::MemoryLimit { .. } => "memory_limit",
            Self::OutputLimit { .. } => "output_limit",
            Self::InstructionLimit { .. } => "instruction_limit",
            Self::Deadlock { .. } => "deadlock",
            Self::TimeLimit { .. } => "time_limit",
            Self::CompileError { .. } => "compile_error",
            Self::CompileLimit { .. } => "compile_limit",
            Self::Unsupported { .. } => "unsupported",
            Self::ForgedMarker => "forged_marker",
            Self::PrematureExit => "premature_exit",
            Self::EmptyAnswer => "empty_answer",
            Self::BackendFailure { .. } => "backend_failure",
        }
    }
}

impl From<crate::measurement::BackendFailure> for Verdict {
    fn from(failure: crate::measurement::BackendFailure) -> Self {
        Self::BackendFailure {
            what: failure.what,
            remedy: failure.remedy,
        }
    }
}

/// One line for people: the kind in words, then what is known.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind().replace('_', " "))?;
        match self {
            Self::Accepted | Self::ForgedMarker | Self::PrematureExit | Self::EmptyAnswer => Ok(()),
            Self::WrongAnswer { case, difference } => write!(f, " in case {case}: {difference}"),
            Self::TestFailed { case, text } => {
                in_case(f, case.as_deref())?;
                write!(f, ": {}", first_line(text))
            }
            Self::ExitCode { case, code, text } => {
                write!(f, " {code}")?;
                in_case(f, case.as_deref())?;
                after_colon(f, text.as_deref())
            }
            Self::Signal {
                case,
                signal,
                address,
                function,
                text,
            } => {
                write!(f, " {signal}")?;
                if let Some(function) = function {
                    write!(f, " in `{function}`")?;
                }
                if let Some(address) = address {
                    write!(f, " at address {address:#x}")?;
                }
                in_case(f, case.as_deref())?;
                after_colon(f, text.as_deref())
            }
            Self::StackOverflow { case, function } => {
                if let Some(function) = function {
                    write!(f, " in `{function}`")?;
                }
                in_case(f, case.as_deref())
            }
            Self::MemoryLimit { case }
            | Self::OutputLimit { case }
            | Self::InstructionLimit { case }
            | Self::TimeLimit { case } => in_case(f, case.as_deref()),
            Self::Deadlock { case, call } => {
                write!(f, " in `{call}`")?;
                in_case(f, case.as_deref())
            }
            Self::CompileError { text } | Self::CompileLimit { text } => {
                write!(f, ": {}", first_line(text))
            }
            Self::Unsupported { case, what } => {
                write!(f, " {what}")?;
                in_case(f, case.as_deref())
            }
            Self::BackendFailure { what, remedy } => write!(f, ": {what}; {remedy}"),
        }
    }
}

fn in_case(f: &mut fmt::Formatter<'_>, case: Option<&str>) -> fmt::Result {
    match case {
        Some(case) => write!(f, " in case {case}"),
        None => Ok(()),
    }
}

fn after_colon(f: &mut fmt::Formatter<'_>, text: Option<&str>) -> fmt::Result {
    match text {
        Some(text) => write!(f, ": {}", first_line(text)),
        None => Ok(()),
    }
}

fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("")
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_in_json_is_the_kind() {
        let verdicts = [
            Verdict::Accepted,
            Verdict::WrongAnswer {
                case: "2".into(),
                difference: Difference {
                    line: 3,
                    expected: Some("a".into()),
                    got: None,
                },
            },
            Verdict::TestFailed {
                case: None,
                text: "AssertionError".into(),
            },
            Verdict::ExitCode {
                case: None,
                code: 3,
                text: None,
            },
            Verdict::Signal {
                case: None,
                signal: "SIGFPE".into(),
                address: None,
                function: None,
                text: None,
            },
            Verdict::StackOverflow {
                case: None,
                function: None,
            },
            Verdict::MemoryLimit { case: None },
            Verdict::OutputLimit { case: None },
            Verdict::InstructionLimit { case: None },
            Verdict::TimeLimit { case: None },
            Verdict::Deadlock {
                case: None,
                call: "futex".into(),
            },
            Verdict::CompileError { text: "no".into() },
            Verdict::CompileLimit {
                text: "time".into(),
            },
            Verdict::Unsupported {
                case: None,
                what: "vaddps".into(),
            },
            Verdict::ForgedMarker,
            Verdict::PrematureExit,
            Verdict::EmptyAnswer,
            Verdict::BackendFailure {
                what: "w".into(),
                remedy: "r".into(),
            },
        ];
        for verdict in verdicts {
            let json = serde_json::to_value(&verdict).unwrap();
            assert_eq!(json["kind"], verdict.kind());
            assert_eq!(serde_json::from_value::<Verdict>(json).unwrap(), verdict);
            assert!(!verdict.to_string().contains('\n'));
        }
    }

    #[test]
    fn only_backend_failures_and_unsupported_are_ours() {
        assert!(
            Verdict::Unsupported {
                case: None,
                what: "x".into()
            }
            .is_failure_of_ours()
        );
        assert!(!Verdict::InstructionLimit { case: None }.is_failure_of_ours());
        assert!(!Verdict::TimeLimit { case: None }.is_failure_of_ours());
        assert!(!Verdict::EmptyAnswer.is_failure_of_ours());
    }
}
