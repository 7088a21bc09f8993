//! The estimate of the time that is left.
//!
//! Samples of one problem cost about the same and problems differ by orders of magnitude; so what is left is weighted
//! by what the samples of the same problem have cost. Of a problem without a finished sample two things are known: the
//! mean of the other problems, and how long its own samples run by now. Both count, since the short problems finish
//! first: a mean over finished ones alone would be of the short ones, and the estimate too low until the long ones are
//! done. The work is divided by the rate at which work was done so far, which counts threads and a busy host.
use std::collections::BTreeMap;
use std::time::Duration;

/// What is known of the work that was done and that is left.
#[derive(Debug)]
pub(super) struct Estimate {
    problems: Vec<Work>,
    /// Running samples: their problem, and when they began.
    running: BTreeMap<usize, (usize, Duration)>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    /// Samples that are not done; running ones count.
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
            running: BTreeMap::new(),
        }
    }

    /// A sample of the problem begins at this time.
    pub(super) fn begun(&mut self, sample: usize, problem: usize, now: Duration) {
        self.running.insert(sample, (problem, now));
    }

    /// A sample of the problem is done and took this long.
    pub(super) fn done(&mut self, sample: usize, problem: usize, time: Duration) {
        self.running.remove(&sample);
        let work = &mut self.problems[problem];
        work.left = work.left.saturating_sub(1);
        work.done += 1;
        work.time += time;
    }

    /// A sample of the problem took no time and says nothing of the others: it was known, or was empty.
    pub(super) fn free(&mut self, sample: usize, problem: usize) {
        self.running.remove(&sample);
        let work = &mut self.problems[problem];
        work.left = work.left.saturating_sub(1);
    }

    /// The time that is left after `elapsed`; `None` before a sample is done.
    pub(super) fn remaining(&self, elapsed: Duration) -> Option<Duration> {
        let done: f64 = (self.problems.iter())
            .map(|work| work.time.as_secs_f64())
            .sum();
        if done <= 0.0 || elapsed.is_zero() {
            return None;
        }
        // How long the longest running sample of each problem has run.
        let mut ages: BTreeMap<usize, f64> = BTreeMap::new();
        let mut all_ages = 0.0;
        for &(problem, begun) in self.running.values() {
            let age = elapsed.saturating_sub(begun).as_secs_f64();
            all_ages += age;
            let oldest = ages.entry(problem).or_default();
            *oldest = oldest.max(age);
        }
        // The mean problem, as if costs were distributed exponentially: all time that was spent, over what it finished.
        let mut spent = 0.0;
        let mut finished = 0.0;
        for (problem, work) in self.problems.iter().enumerate() {
            if work.done > 0 {
                spent += work.time.as_secs_f64() / f64::from(work.done);
                finished += 1.0;
            } else if let Some(age) = ages.get(&problem) {
                spent += age;
            }
        }
        let mean = spent / finished;
        let cost = |problem: usize, work: &Work| {
            let age = ages.get(&problem).copied().unwrap_or(0.0);
            match work.done {
                // What has run for long is likely to run for long.
                0 => mean.max(2.0 * age),
                n => (work.time.as_secs_f64() / f64::from(n)).max(age),
            }
        };
        let left: f64 = (self.problems.iter().enumerate())
            .map(|(problem, work)| cost(problem, work) * f64::from(work.left))
            .sum();
        let rate = (done + all_ages) / elapsed.as_secs_f64();
        let shared = (left - all_ages).max(0.0) / rate;
        // One sample runs on one thread.
        let longest = (self.running.values())
            .map(|&(problem, begun)| {
                let age = elapsed.saturating_sub(begun).as_secs_f64();
                cost(problem, &self.problems[problem]) - age
            })
            .fold(0.0, f64::max);
        Duration::try_from_secs_f64(shared.max(longest)).ok()
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
        estimate.done(0, 0, 9 * SECOND);
        estimate.done(1, 1, SECOND);
        assert_eq!(estimate.remaining(10 * SECOND), Some(10 * SECOND));
        estimate.done(2, 0, 9 * SECOND);
        assert_eq!(estimate.remaining(19 * SECOND), Some(SECOND));
        // On two threads the same work takes half the time.
        assert_eq!(estimate.remaining(19 * SECOND / 2), Some(SECOND / 2));
    }

    #[test]
    fn free_samples_are_not_left_and_do_not_count_as_fast() {
        let mut estimate = Estimate::new(&[3]);
        estimate.free(0, 0);
        assert_eq!(estimate.remaining(SECOND), None);
        estimate.done(1, 0, 4 * SECOND);
        assert_eq!(estimate.remaining(4 * SECOND), Some(4 * SECOND));
    }

    #[test]
    fn a_sample_that_runs_for_long_counts_before_it_is_done() {
        // Three problems: one took 1 s; one runs for 9 s on the other thread; one has not begun. The mean is (1 + 9) / 1,
        // what runs is taken to run as long again, so 9 s are left of it and 10 s of the third, at a rate of one.
        let mut estimate = Estimate::new(&[1, 1, 1]);
        estimate.begun(0, 0, Duration::ZERO);
        estimate.begun(1, 1, Duration::ZERO);
        estimate.done(0, 0, SECOND);
        let left = estimate.remaining(9 * SECOND).unwrap().as_secs_f64();
        assert!((left - 19.0 / (10.0 / 9.0)).abs() < 1e-6, "{left}");
        // Without the running one it would be 2 s.
    }
}
