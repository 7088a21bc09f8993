//! How a run under gem5 ended, as the same endings that the simulator of ours has.
//!
//! gem5 gives the guest's exit code as that of its own exit event and gives no signals at all: a guest that faults ends
//! gem5 with a message, an abort looks like `exit(0)`, and a system call that gem5 lacks ends gem5 too. So this is the
//! one place where text is read to learn how a run ended. What is not known for certain to be the guest's doing is a
//! crash of gem5, a failure of ours.
use crate::process::Ending;
use crate::sim::outcome::Exit;

const SIGILL: u8 = 4;
const SIGTRAP: u8 = 5;
const SIGABRT: u8 = 6;
const SIGBUS: u8 = 7;
const SIGFPE: u8 = 8;
const SIGSEGV: u8 = 11;

/// What our script says about gem5's last exit event.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct ExitEvent {
    /// gem5's words for it.
    pub cause: String,
    /// The code that came with it.
    pub code: i64,
}

/// gem5 ended for a reason of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// What is known, in one line.
    pub what: String,
    /// It may go better a second time.
    pub retry: bool,
}

/// How the guest ended.
///
/// `event` is the exit event, if our script got as far; `ending` is how gem5's process ended; `log` is what gem5 wrote to
/// its standard error; `stderr` is what the guest wrote to its own.
///
/// # Errors
/// [`Crash`] when gem5, not the guest, is at fault.
pub fn ending(
    event: Option<&ExitEvent>,
    ending: &Ending,
    log: &str,
    stderr: &[u8],
) -> Result<Exit, Crash> {
    if let Some(event) = event {
        return of_event(event, stderr);
    }
    if matches!(ending, Ending::WallLimit | Ending::CpuLimit) {
        return Ok(Exit::WallClock);
    }
    of_message(log).ok_or_else(|| Crash {
        what: format!("gem5 {}{}", ended(ending), last_lines(log)),
        retry: true,
    })
}

fn of_event(event: &ExitEvent, stderr: &[u8]) -> Result<Exit, Crash> {
    match event.cause.as_str() {
        // gem5 keeps the low eight bits, as the kernel does.
        "exiting with last active thread context" | "target called exit()" => {
            let code = u8::try_from(event.code & 0xff).expect("eight bits were kept");
            Ok(match unseen(code, stderr) {
                Some(exit) => exit,
                None => Exit::Exited { code },
            })
        }
        "a thread reached the max instruction count"
        | "all threads reached the max instruction count" => Ok(Exit::InstructionLimit),
        // There is no limit on ticks: gem5 had no event left, so every thread waits for another.
        "simulate() limit reached" => Ok(Exit::Deadlock {
            call: "futex".to_owned(),
        }),
        // A program that speaks to the simulator itself: nothing that is measured of it can be believed.
        "m5_exit instruction encountered"
        | "m5_fail instruction encountered"
        | "checkpoint"
        | "switchcpu"
        | "workbegin"
        | "workend" => Ok(Exit::ForgedMarker),
        other => Err(Crash {
            what: format!("gem5 left its simulation with `{other}`"),
            retry: false,
        }),
    }
}

/// Endings that gem5 shows as an exit with code 0 or 1, as what the C library and CPython say about them on standard
/// error. A program that prints such words and exits in peace is taken for one that was aborted.
fn unseen(code: u8, stderr: &[u8]) -> Option<Exit> {
    const ABORTS: &[&str] = &[
        "terminate called",
        "*** stack smashing detected ***",
        "*** buffer overflow detected ***",
        "free(): ",
        "double free or corruption",
        "malloc(): ",
        "malloc_consolidate(): ",
        "munmap_chunk(): ",
        "realloc(): ",
        "corrupted ",
        "pure virtual method called",
        "Fatal glibc error",
    ];
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let last = [lines.next()?, lines.next().unwrap_or_default()];
    let no_thread = last.iter().any(|line| {
        line.contains("Resource temporarily unavailable") || line.contains("can't start new thread")
    });
    let aborted = code == 0
        && (last[0].contains("Assertion `") && last[0].ends_with("failed.")
            || last
                .iter()
                .any(|line| ABORTS.iter().any(|word| line.starts_with(word))));
    if no_thread && (aborted || code == 1) {
        return Some(Exit::UnsupportedSyscall {
            name: "clone: gem5 runs one thread on each core, and this machine has one core"
                .to_owned(),
        });
    }
    aborted.then_some(Exit::Signaled {
        signal: SIGABRT,
        rip: 0,
        address: None,
        function: None,
    })
}

/// What a message with which gem5 ended itself says about the guest.
fn of_message(log: &str) -> Option<Exit> {
    let signaled = |signal, address| Exit::Signaled {
        signal,
        rip: program_counter(log).unwrap_or(0),
        address,
        function: None,
    };
    for line in log.lines() {
        let Some((_, message)) = line.split_once("panic: ").or(line.split_once("fatal: ")) else {
            continue;
        };
        if let Some((_, address)) = message.split_once("unmapped address ") {
            return Some(signaled(SIGSEGV, number(address)));
        }
        if let Some(rest) = message.strip_prefix("fault (") {
            let (fault, _) = rest.split_once(')')?;
            let signal = match fault {
                "Divide-Error"
                | "x87 Floating-Point Exception Pending"
                | "SIMD Floating-Point"
                | "Overflow" => SIGFPE,
                "General-Protection" | "Page-Fault" | "Stack" | "Bound-Range" => SIGSEGV,
                "Invalid-Opcode" => SIGILL,
                "Breakpoint" | "Debug" => SIGTRAP,
                "Alignment-Check" => SIGBUS,
                _ => return None,
            };
            return Some(signaled(signal, None));
        }
        if message.starts_with("Unrecognized/invalid instruction executed") {
            return Some(invalid_instruction(log));
        }
        if let Some((_, rest)) = message.split_once("unimplemented instruction '") {
            return Some(Exit::UnsupportedInstruction {
                mnemonic: rest.split('\'').next().unwrap_or_default().to_owned(),
                rip: program_counter(log).unwrap_or(0),
                function: None,
            });
        }
        if message.starts_with("Maximum stack size exceeded") {
            return Some(Exit::StackOverflow {
                rip: 0,
                function: None,
            });
        }
        if message.starts_with("Out of memory") {
            return Some(Exit::MemoryLimit);
        }
        // Both come with the number only: `Syscall 435 out of range`, `syscall NAME (#57) unimplemented.`
        if message.starts_with("Syscall ") && message.contains("out of range")
            || message.starts_with("syscall ") && message.contains("unimplemented")
        {
            let name = message.get(8..).unwrap_or_default();
            return Some(Exit::UnsupportedSyscall {
                name: format!("{} (gem5)", name.trim_end_matches('.')),
            });
        }
        if message.starts_with("Cannot load object file")
            || message.contains("Couldn't find appropriate workload")
            || message.contains("Failed to find workload")
        {
            return Some(Exit::LoadFailed {
                reason: format!("gem5 says: {message}"),
            });
        }
    }
    None
}

/// `UD2` is a program's own end; every other encoding is one that gem5 does not know.
fn invalid_instruction(log: &str) -> Exit {
    let field = |name: &str| {
        log.lines()
            .map(str::trim)
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))
            .map(|value| value.trim_end_matches(','))
    };
    // The operation's own number stands below `op = {`.
    let operation = log
        .lines()
        .map(str::trim)
        .filter_map(|line| line.strip_prefix("op = "))
        .find(|value| value.starts_with("0x"))
        .map(|value| value.trim_end_matches(','));
    let kind = field("type").unwrap_or("unknown");
    let rip = program_counter(log).unwrap_or(0);
    if kind.contains("two byte") && operation == Some("0xb") {
        return Exit::Signaled {
            signal: SIGILL,
            rip,
            address: None,
            function: None,
        };
    }
    // The encoding of gem5's magic instructions, on no processor that there is.
    if kind.contains("two byte") && operation == Some("0x4") {
        return Exit::ForgedMarker;
    }
    Exit::UnsupportedInstruction {
        mnemonic: format!(
            "opcode {} ({kind}), unknown to gem5",
            operation.unwrap_or("?")
        ),
        rip,
        function: None,
    }
}

/// The address behind `PC`: `PC: (0x4014f0=>0x4014f7).(0=>1)`.
fn program_counter(log: &str) -> Option<u64> {
    let (_, rest) = log.split_once("PC: (").or(log.split_once("@ PC ("))?;
    number(rest)
}

/// The number, hexadecimal behind `0x`, with which a text begins.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], radix).ok()
}

fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Exited { code } => format!("exited with code {code} and left no result"),
        Ending::Signaled { signal: 25, .. } => {
            "wrote a file beyond its limit (signal 25)".to_owned()
        }
        Ending::Signaled { signal, .. } => format!("was killed by signal {signal}"),
        Ending::WallLimit => "took too long".to_owned(),
        Ending::CpuLimit => "took too much CPU time".to_owned(),
        Ending::MemoryLimit => "took too much memory".to_owned(),
        Ending::OutputLimit => "wrote too much".to_owned(),
    }
}

/// The last lines of gem5's messages that say something, without the backtrace.
fn last_lines(log: &str) -> String {
    const SHOWN: usize = 3;
    let telling = |line: &&str| {
        let line = line.trim();
        !line.is_empty()
            && !line.contains("LIBC BACKTRACE")
            && !line.contains(")[0x")
            && !line.starts_with("For more info on how to address this issue")
    };
    let lines: Vec<&str> = log.lines().filter(telling).map(str::trim).collect();
    if lines.is_empty() {
        return String::new();
    }
    let last = &lines[lines.len().saturating_sub(SHOWN)..];
    let text = last.join(" / ");
    let short: String = text.chars().take(600).collect();
    format!("; its last words: {short}")
}

/// What gem5 left out without ending: system calls that it ignored and instructions that it skipped, each once. Those
/// that every program's start makes are not told.
pub(super) fn left_out(log: &str) -> Vec<String> {
    const USUAL: &[&str] = &[
        "set_robust_list",
        "rseq",
        "mprotect",
        "rt_sigaction",
        "rt_sigprocmask",
    ];
    let mut found: Vec<String> = Vec::new();
    for line in log.lines() {
        let name = if let Some((_, rest)) = line.split_once("ignoring syscall ") {
            let name = rest.split('(').next().unwrap_or_default();
            if USUAL.contains(&name) {
                continue;
            }
            name.to_owned()
        } else if let Some((_, rest)) = line.split_once("warn: instruction '") {
            let name = rest.split('\'').next().unwrap_or_default();
            format!("instruction `{name}`")
        } else {
            continue;
        };
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cause: &str, code: i64) -> ExitEvent {
        ExitEvent {
            cause: cause.to_owned(),
            code,
        }
    }
    const LAST: &str = "exiting with last active thread context";
    const DONE: Ending = Ending::Exited { code: 0 };

    fn told(log: &str) -> Result<Exit, Crash> {
        let killed = Ending::Signaled {
            signal: 6,
            rip: 0,
            address: None,
            stack_overflow: false,
        };
        ending(None, &killed, log, b"")
    }

    #[test]
    fn exit_codes_and_limits_are_the_events() {
        let of = |cause, code| ending(Some(&event(cause, code)), &DONE, "", b"");
        assert_eq!(of(LAST, 3), Ok(Exit::Exited { code: 3 }));
        assert_eq!(of(LAST, 0), Ok(Exit::Exited { code: 0 }));
        assert_eq!(
            of("a thread reached the max instruction count", 0),
            Ok(Exit::InstructionLimit)
        );
        assert!(matches!(
            of("simulate() limit reached", 0),
            Ok(Exit::Deadlock { .. })
        ));
        assert_eq!(of("workbegin", 0), Ok(Exit::ForgedMarker));
        assert!(!of("user interrupt received", 0).unwrap_err().retry);
    }

    #[test]
    fn an_abort_is_seen_by_the_words_of_the_library() {
        let of = |code, stderr: &[u8]| ending(Some(&event(LAST, code)), &DONE, "", stderr).unwrap();
        let aborted = |exit| matches!(exit, Exit::Signaled { signal: 6, .. });
        assert!(aborted(of(
            0,
            b"p: p.c:2: main: Assertion `argc == 0' failed.\n"
        )));
        assert!(aborted(of(
            0,
            b"terminate called after throwing an instance of 'int'\n"
        )));
        assert!(aborted(of(
            0,
            b"terminate called after throwing an instance of 'std::out_of_range'\n  what():  x\n"
        )));
        assert!(aborted(of(0, b"free(): invalid pointer\n")));
        assert_eq!(of(0, b"all good\n"), Exit::Exited { code: 0 });
        // A program that ends with a code has not been aborted, whatever it has printed.
        assert_eq!(of(2, b"terminate called\n"), Exit::Exited { code: 2 });
        let no_thread = b"terminate called after throwing an instance of 'std::system_error'\n  \
                          what():  Resource temporarily unavailable\n";
        assert!(matches!(of(0, no_thread), Exit::UnsupportedSyscall { .. }));
    }

    #[test]
    fn messages_are_signals_and_what_gem5_lacks() {
        assert_eq!(
            told(
                "src/arch/x86/faults.cc:166: panic: Tried to read unmapped address 0x1f.\n\
                 PC: (0x4014f0=>0x4014f7).(0=>1), Instr:   MOV_R_M : ld   eax, DS:[t0 + t0]\n"
            ),
            Ok(Exit::Signaled {
                signal: 11,
                rip: 0x4014f0,
                address: Some(0x1f),
                function: None
            })
        );
        assert_eq!(
            told(
                "src/sim/faults.cc:60: panic: fault (Divide-Error) detected @ PC (0x401000=>0x401003).(4=>5)"
            ),
            Ok(Exit::Signaled {
                signal: 8,
                rip: 0x401000,
                address: None,
                function: None
            })
        );
        assert_eq!(
            told("src/sim/syscall_desc.hh:209: fatal: Syscall 435 out of range"),
            Ok(Exit::UnsupportedSyscall {
                name: "435 out of range (gem5)".to_owned()
            })
        );
        assert_eq!(
            told("src/sim/syscall_emul.cc:67: fatal: syscall fork (#57) unimplemented."),
            Ok(Exit::UnsupportedSyscall {
                name: "fork (#57) unimplemented (gem5)".to_owned()
            })
        );
        assert_eq!(
            told(
                "src/sim/mem_pool.cc:121: fatal: Out of memory, please increase size of physical memory."
            ),
            Ok(Exit::MemoryLimit)
        );
        assert!(matches!(
            told("src/sim/mem_state.cc:445: fatal: Maximum stack size exceeded"),
            Ok(Exit::StackOverflow { .. })
        ));
        let invalid = |kind: &str, op: &str| {
            told(&format!(
                "src/arch/x86/faults.cc:131: panic: Unrecognized/invalid instruction executed:\n \n{{\n\tleg = 0,\n\t\
                 rex = 0,\n\tvex/xop = 0,\n\top = {{\n\t\ttype = {kind},\n\t\top = {op},\n\t\t}},\n\tmodRM = 0,\n"
            ))
        };
        assert!(matches!(
            invalid("two byte", "0xb"),
            Ok(Exit::Signaled { signal: 4, .. })
        ));
        assert_eq!(invalid("two byte", "0x4"), Ok(Exit::ForgedMarker));
        let Ok(Exit::UnsupportedInstruction { mnemonic, .. }) = invalid("three byte 0f38", "0x41")
        else {
            panic!("an unknown encoding is unsupported");
        };
        assert_eq!(mnemonic, "opcode 0x41 (three byte 0f38), unknown to gem5");
    }

    #[test]
    fn everything_else_is_a_crash_with_the_last_words() {
        let crash =
            told("warn: one\npanic: this is gem5's own\nMemory Usage: 1 KBytes\n").unwrap_err();
        assert_eq!(
            crash.what,
            "gem5 was killed by signal 6; its last words: warn: one / panic: this is gem5's own / \
             Memory Usage: 1 KBytes"
        );
        assert!(crash.retry);
        assert_eq!(
            ending(None, &DONE, "", b"").unwrap_err().what,
            "gem5 exited with code 0 and left no result"
        );
        assert_eq!(
            ending(None, &Ending::WallLimit, "", b""),
            Ok(Exit::WallClock)
        );
    }

    #[test]
    fn what_gem5_leaves_out_is_told_once() {
        let log = "src/sim/syscall_emul.cc:74: warn: ignoring syscall rseq(...)\n\
                   src/sim/syscall_emul.cc:74: warn: ignoring syscall madvise(...)\n\
                   src/sim/syscall_emul.cc:74: warn: ignoring syscall madvise(...)\n\
                   src/x: warn: instruction 'fwait' unimplemented\n";
        assert_eq!(left_out(log), ["madvise", "instruction `fwait`"]);
    }
}
