//! Progress on standard error: one line that is rewritten on a terminal, a line every few seconds elsewhere.
use crate::evaluation::{Observer, Progress, Row};
use crate::report::number;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tells how far an evaluation is.
#[derive(Debug)]
pub(super) struct Told {
    terminal: bool,
    last: Mutex<Option<Instant>>,
}

impl Told {
    pub(super) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            last: Mutex::new(None),
        }
    }

    fn interval(&self) -> Duration {
        if self.terminal {
            Duration::from_millis(200)
        } else {
            Duration::from_secs(5)
        }
    }
}

impl Observer for Told {
    fn begun(&self, samples: usize) {
        eprintln!("evaluating {samples} samples");
    }

    fn finished(&self, _row: &Row, _reused: bool, progress: &Progress) {
        let finished = progress.done == progress.samples;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !finished && last.is_some_and(|then| then.elapsed() < self.interval()) {
            return;
        }
        *last = Some(Instant::now());
        let remaining = match progress.remaining {
            Some(time) if !finished => format!(", about {} left", number::duration(time.as_secs())),
            _ => String::new(),
        };
        let line = format!(
            "{} of {} samples, {}{remaining}",
            progress.done,
            progress.samples,
            number::duration(progress.elapsed.as_secs())
        );
        let mut stderr = std::io::stderr().lock();
        let _ = if self.terminal {
            write!(
                stderr,
                "\r\x1b[2K{line}{}",
                if finished { "\n" } else { "" }
            )
        } else {
            writeln!(stderr, "{line}")
        };
    }
}
