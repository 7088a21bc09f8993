//! Parallel running with a fixed result order.
//!
//! Jobs start in rounds: one sample of every problem, then the next of every problem, each round in an order that a
//! hash gives. So after the first round something is known of every problem, and slow neighbours are spread out,
//! which the estimate of the remaining time lives on. The result order does not depend on it.
use super::estimate::Estimate;
use super::observer::{Observer, Progress};
use super::plan::Plan;
use super::row::Row;
use super::run::SampleRun;
use crate::candidate::Answer;
use crate::dataset::Problem;
use crate::verdict::Verdict;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Stack of a worker thread: parsers of large answers and the simulator's set-up run on it.
const STACK_BYTES: usize = 16 << 20;

/// One sample to evaluate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    /// Its problem.
    pub(super) problem: &'a Problem,
    /// Number of the problem in the plan.
    problem_index: usize,
    /// Name of the model.
    pub(super) model: &'a str,
    /// Number among the model's samples of the problem.
    pub(super) sample: usize,
    /// The answer.
    pub(super) answer: &'a Answer,
}

/// The jobs in result order: by problem, then by model, then by sample.
pub(super) fn jobs(plan: &Plan) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (problem_index, problem) in plan.problems.iter().enumerate() {
        for model in &plan.models {
            let answers = model
                .answers
                .get(&problem.id)
                .map_or(&[][..], Vec::as_slice);
            jobs.extend((answers.iter().enumerate()).map(|(sample, answer)| Job {
                problem,
                problem_index,
                model: &model.name,
                sample,
                answer,
            }));
        }
    }
    jobs
}

/// Runs `row_of` over the jobs on the plan's threads; the rows come in the order of `jobs`.
pub(super) fn run(
    plan: &Plan,
    jobs: &[Job<'_>],
    observer: &dyn Observer,
    row_of: impl Fn(&Job<'_>) -> (Row, bool) + Sync,
) -> Vec<Row> {
    observer.begun(jobs.len());
    let desk = Mutex::new(Desk::new(plan, jobs));
    let one = |index: usize| {
        let job = &jobs[index];
        let begun = Instant::now();
        let (row, reused) = catch_unwind(AssertUnwindSafe(|| row_of(job)))
            .unwrap_or_else(|panic| (failed(job, panic.as_ref()), false));
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        let ran = !reused && row.verdict != Verdict::EmptyAnswer;
        let progress = desk.finished(job, ran.then(|| begun.elapsed()));
        observer.finished(&row, reused, &progress);
        (index, row)
    };
    let order = order(jobs);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(plan.threads.unwrap_or(0))
        .stack_size(STACK_BYTES)
        .build();
    let mut rows: Vec<(usize, Row)> = match pool {
        // Rayon hands out halves of a range, which would start jobs from the middle; the counter keeps the order.
        Ok(pool) => pool.install(|| {
            let next = std::sync::atomic::AtomicUsize::new(0);
            let all: Vec<usize> = (0..order.len()).collect();
            all.par_iter()
                .map(|_| {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    one(order[at])
                })
                .collect()
        }),
        // A host that grants no thread still evaluates, on this one.
        Err(_) => order.iter().map(|&index| one(index)).collect(),
    };
    rows.sort_unstable_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The order in which jobs start.
fn order(jobs: &[Job<'_>]) -> Vec<usize> {
    let mut round = 0_u32;
    let mut keyed: Vec<(u32, u64, usize)> = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        let first = index == 0 || jobs[index - 1].problem_index != job.problem_index;
        round = if first { 0 } else { round + 1 };
        keyed.push((round, scatter(index as u64), index));
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, index)| index).collect()
}

/// A well-mixed number for each index (the finaliser of SplitMix64).
fn scatter(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The row of a job that panicked.
fn failed(job: &Job<'_>, panic: &(dyn std::any::Any + Send)) -> Row {
    let text = (panic.downcast_ref::<&str>().map(ToString::to_string))
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".into());
    let verdict = Verdict::BackendFailure {
        what: format!("panic while running the sample: {text}"),
        remedy: "report this as a fault of tickmark, with the sample".into(),
    };
    Row::new(job, String::new(), SampleRun::without_measurement(verdict))
}

/// Where finished jobs are counted, one at a time.
struct Desk {
    begun: Instant,
    done: usize,
    samples: usize,
    estimate: Estimate,
}

impl Desk {
    fn new(plan: &Plan, jobs: &[Job<'_>]) -> Self {
        let mut samples = vec![0_u32; plan.problems.len()];
        for job in jobs {
            samples[job.problem_index] += 1;
        }
        Self {
            begun: Instant::now(),
            done: 0,
            samples: jobs.len(),
            estimate: Estimate::new(&samples),
        }
    }

    /// Counts a job; `took` is `None` where nothing ran.
    fn finished(&mut self, job: &Job<'_>, took: Option<Duration>) -> Progress {
        match took {
            Some(time) => self.estimate.done(job.problem_index, time),
            None => self.estimate.free(job.problem_index),
        }
        self.done += 1;
        let elapsed = self.begun.elapsed();
        Progress {
            done: self.done,
            samples: self.samples,
            elapsed,
            remaining: self.estimate.remaining(elapsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Form, Language};
    use crate::evaluation::Model;

    fn plan(problems: usize, samples: usize, models: usize) -> Plan {
        let problems: Vec<Problem> = (0..problems)
            .map(|index| Problem {
                id: format!("p{index}"),
                language: Language::Cpp,
                form: Form::Program { cases: Vec::new() },
                canonical: None,
                judging: crate::verdict::Judging::default(),
            })
            .collect();
        let answers = vec![Answer::Solution("x".into()); samples];
        let models = (0..models)
            .map(|index| Model {
                name: format!("m{index}"),
                answers: (problems.iter())
                    .map(|p| (p.id.clone(), answers.clone()))
                    .collect(),
            })
            .collect();
        Plan {
            problems,
            models,
            ..Plan::default()
        }
    }

    #[test]
    fn every_job_starts_once_and_each_round_visits_every_problem() {
        let plan = plan(7, 2, 3);
        let jobs = jobs(&plan);
        let order = order(&jobs);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..42).collect::<Vec<_>>());
        for round in order.chunks(7) {
            let mut problems: Vec<_> = round
                .iter()
                .map(|&index| jobs[index].problem_index)
                .collect();
            problems.sort_unstable();
            assert_eq!(problems, (0..7).collect::<Vec<_>>());
        }
        assert_ne!(order[..7], sorted[..7]);
    }

    /// Two workers on a virtual clock; the costs of samples differ by up to a factor of 4, those of problems by 512.
    /// One sample a problem tells nothing of the problems that are left: there start-up must be most of the cost, as
    /// it is for HumanEval in CPython, and problems differ by a factor of 16.
    #[test]
    fn at_half_time_the_estimate_is_within_a_quarter_of_the_truth() {
        for (models, magnitudes) in [(1, 5), (2, 10), (4, 10)] {
            let plan = plan(164, 1, models);
            let jobs = jobs(&plan);
            let cost = |job: &Job<'_>, index: usize| {
                let magnitude = scatter(job.problem_index as u64 + 1000) % magnitudes;
                let sample = 100 + scatter(index as u64 + 5000) % 300;
                Duration::from_micros(sample << magnitude)
            };
            let mut free_at = [Duration::ZERO; 2];
            let mut ends = Vec::new();
            for index in order(&jobs) {
                let worker = usize::from(free_at[1] < free_at[0]);
                let time = cost(&jobs[index], index);
                free_at[worker] += time;
                ends.push((free_at[worker], jobs[index].problem_index, time));
            }
            ends.sort_unstable();
            let all = free_at[0].max(free_at[1]);
            let mut estimate = Estimate::new(&vec![u32::try_from(models).unwrap(); 164]);
            let mut checked = false;
            for (now, problem, time) in ends {
                estimate.done(problem, time);
                if now >= all / 2 && !checked {
                    let truth = (all - now).as_secs_f64();
                    let told = estimate.remaining(now).unwrap().as_secs_f64();
                    assert!(
                        (told / truth - 1.0).abs() < 0.25,
                        "{models} models: {told} of {truth}"
                    );
                    checked = true;
                }
            }
            assert!(checked);
        }
    }
}
