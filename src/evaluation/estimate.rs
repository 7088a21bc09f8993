//! The estimate of the time that is left.
//!
//! Samples of one problem cost about the same and problems differ by orders of magnitude; so what is left is weighted
//! by what the samples of the same problem have cost, and a problem of which nothing is known by the mean problem.
//! The work is divided by the rate at which work was done so far, which counts threads and a busy host.
use std::time::Duration;

/// What is known of the work that was done and that is left.
#[derive(Debug)]
pub(super) struct Estimate {
    problems: Vec<Work>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    left: u32,
    done: u32,
    time: Duration,
}

impl Estimate {
    /// No work is done yet; `samples` are the numbers of samples by problem.
    pub(super) fn new(samples: &[u32]) -> Self {
        let work = |&left: &u32| Work {
            left,
            ..Work::default()
        };
        Self {
            problems: samples.iter().map(work).collect(),
        }
    }

    /// A sample of the problem is done and took this long.
    pub(super) fn done(&mut self, problem: usize, time: Duration) {
        let work = &mut self.problems[problem];
        work.left = work.left.saturating_sub(1);
        work.done += 1;
        work.time += time;
    }

    /// A sample of the problem took no time and says nothing of the others: it was taken over, or was empty.
    pub(super) fn free(&mut self, problem: usize) {
        let work = &mut self.problems[problem];
        work.left = work.left.saturating_sub(1);
    }

    /// The time that is left after `elapsed`; `None` before a sample is done.
    pub(super) fn remaining(&self, elapsed: Duration) -> Option<Duration> {
        let seen: Vec<f64> = (self.problems.iter())
            .filter(|work| work.done > 0)
            .map(|work| work.time.as_secs_f64() / f64::from(work.done))
            .collect();
        let done: f64 = self
            .problems
            .iter()
            .map(|work| work.time.as_secs_f64())
            .sum();
        if seen.is_empty() || done <= 0.0 || elapsed.is_zero() {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 problems")]
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        let left: f64 = (self.problems.iter())
            .map(|work| {
                let one = match work.done {
                    0 => mean,
                    n => work.time.as_secs_f64() / f64::from(n),
                };
                one * f64::from(work.left)
            })
            .sum();
        Duration::try_from_secs_f64(left / (done / elapsed.as_secs_f64())).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_left_is_weighted_by_the_problem() {
        // Two problems with two samples each; the first took 9 s, the second 1 s, one after the other.
        let mut estimate = Estimate::new(&[2, 2]);
        assert_eq!(estimate.remaining(SECOND), None);
        estimate.done(0, 9 * SECOND);
        estimate.done(1, SECOND);
        assert_eq!(estimate.remaining(10 * SECOND), Some(10 * SECOND));
        estimate.done(0, 9 * SECOND);
        assert_eq!(estimate.remaining(19 * SECOND), Some(SECOND));
        // On two threads the same work takes half the time.
        assert_eq!(estimate.remaining(19 * SECOND / 2), Some(SECOND / 2));
    }

    #[test]
    fn free_samples_are_not_left_and_do_not_count_as_fast() {
        let mut estimate = Estimate::new(&[3]);
        estimate.free(0);
        assert_eq!(estimate.remaining(SECOND), None);
        estimate.done(0, 4 * SECOND);
        assert_eq!(estimate.remaining(4 * SECOND), Some(4 * SECOND));
    }
}
