//! Progress on standard error: one line that is rewritten on a terminal, a line every few seconds elsewhere, or JSON.
use super::args::ProgressChoice;
use crate::evaluation::{Observer, Progress, Row};
use crate::report::number;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tells how far an evaluation is.
#[derive(Debug)]
pub(super) struct Told {
    choice: ProgressChoice,
    terminal: bool,
    last: Mutex<Option<Instant>>,
}

impl Told {
    pub(super) fn new(choice: ProgressChoice) -> Self {
        Self {
            choice,
            terminal: std::io::stderr().is_terminal(),
            last: Mutex::new(None),
        }
    }

    fn interval(&self) -> Duration {
        match self.choice {
            ProgressChoice::Text if self.terminal => Duration::from_millis(200),
            ProgressChoice::Json => Duration::from_secs(1),
            _ => Duration::from_secs(5),
        }
    }
}

impl Observer for Told {
    fn begun(&self, samples: usize) {
        match self.choice {
            ProgressChoice::Text => eprintln!("evaluating {samples} samples"),
            ProgressChoice::None => {}
            ProgressChoice::Json => {
                eprintln!(
                    "{}",
                    serde_json::json!({"event": "begun", "samples": samples})
                );
            }
        }
    }

    fn finished(&self, _row: &Row, _reused: bool, progress: &Progress) {
        let finished = progress.done == progress.samples;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if self.choice == ProgressChoice::None
            || !finished && last.is_some_and(|then| then.elapsed() < self.interval())
        {
            return;
        }
        *last = Some(Instant::now());
        let mut stderr = std::io::stderr().lock();
        let _ = match self.choice {
            ProgressChoice::Json => writeln!(stderr, "{}", json(progress)),
            _ if self.terminal => write!(
                stderr,
                "\r\x1b[2K{}{}",
                text(progress),
                if finished { "\n" } else { "" }
            ),
            _ => writeln!(stderr, "{}", text(progress)),
        };
    }
}

fn text(progress: &Progress) -> String {
    let mut line = format!(
        "{} of {} samples, {}",
        progress.done,
        progress.samples,
        number::duration(progress.elapsed.as_secs())
    );
    let mut add = |text: String| {
        line.push_str(", ");
        line.push_str(&text);
    };
    if let Some(left) = progress
        .remaining
        .filter(|_| progress.done < progress.samples)
    {
        add(format!("about {} left", number::duration(left.as_secs())));
    }
    if progress.instructions > 0 {
        add(format!("{:.0} MIPS", progress.mips()));
    }
    if progress.reused > 0 {
        add(format!("{} known", progress.reused));
    }
    add(format!("{} rejected", progress.rejected));
    if progress.failures > 0 {
        add(format!("{} FAILURES OF OURS", progress.failures));
    }
    line
}

fn json(progress: &Progress) -> serde_json::Value {
    serde_json::json!({
        "event": "progress",
        "done": progress.done,
        "samples": progress.samples,
        "known": progress.reused,
        "rejected": progress.rejected,
        "failures_of_ours": progress.failures,
        "instructions": progress.instructions,
        "mips": progress.mips(),
        "elapsed_seconds": progress.elapsed.as_secs_f64(),
        "remaining_seconds": progress.remaining.map(|left| left.as_secs_f64()),
    })
}

/// A line on standard error every second on a terminal and every five elsewhere, with what is left at the rate so far.
#[derive(Debug)]
pub(super) struct Pace {
    what: &'static str,
    begun: Instant,
    last: Instant,
}

impl Pace {
    pub(super) fn new(what: &'static str) -> Self {
        let now = Instant::now();
        Self {
            what,
            begun: now,
            last: now,
        }
    }

    pub(super) fn tell(&mut self, done: usize, planned: usize) {
        let interval = if std::io::stderr().is_terminal() {
            1
        } else {
            5
        };
        if self.last.elapsed() < Duration::from_secs(interval) || done == 0 {
            return;
        }
        self.last = Instant::now();
        let elapsed = self.begun.elapsed().as_secs_f64();
        let left = elapsed / done as f64 * planned.saturating_sub(done) as f64;
        eprintln!(
            "{} {done} of {planned}, about {} left",
            self.what,
            number::duration(left as u64)
        );
    }
}

/// Tells how far the search for expected results is, which can take longer than the evaluation itself.
pub(super) fn expected_results(choice: ProgressChoice) -> impl Fn(usize, usize) + Sync {
    let pace = Mutex::new(Pace::new("expected results of problems: found"));
    move |done, planned| {
        let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
        match choice {
            ProgressChoice::Text => pace.tell(done, planned),
            ProgressChoice::None => {}
            ProgressChoice::Json => eprintln!(
                "{}",
                serde_json::json!({"event": "expected_results", "done": done, "problems": planned})
            ),
        }
    }
}
