//! Parallel running with a fixed result order.
//!
//! Jobs start in rounds: one sample of every problem on all machines, then the next of every problem, each round in an
//! order that a hash gives. So after the first round something is known of every problem, and slow neighbours are spread out,
//! which the estimate of the remaining time lives on. The result order does not depend on it.
use super::OnMachine;
use super::estimate::Estimate;
use super::observer::{Observer, Progress};
use super::plan::Plan;
use super::row::{Place, Row};
use super::run::SampleRun;
use crate::candidate::Answer;
use crate::dataset::Problem;
use crate::verdict::Verdict;
use rayon::ThreadPool;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Stack of a worker thread: parsers of large answers and the simulator's set-up run on it.
const STACK_BYTES: usize = 16 << 20;

/// One sample to evaluate on one machine.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    /// Its problem.
    pub(super) problem: &'a Problem,
    /// Number of the problem in the plan.
    pub(super) problem_index: usize,
    /// Name of the model.
    pub(super) model: &'a str,
    /// Number of the model in the plan.
    pub(super) model_index: usize,
    /// Number among the model's samples of the problem.
    pub(super) sample: usize,
    /// The answer.
    pub(super) answer: &'a Answer,
    /// The machine, and what runs it there.
    pub(super) on: OnMachine<'a>,
    /// Number of the machine.
    pub(super) machine_index: usize,
}

/// A finished job.
pub(super) struct Done {
    /// Its row.
    pub(super) row: Row,
    /// Nothing was run for it.
    pub(super) known: bool,
    /// Instructions of the runs that were made for it.
    pub(super) instructions: u64,
}

/// The jobs by problem, model, sample, machine: those of one artifact stand side by side.
pub(super) fn jobs<'a>(plan: &'a Plan, machines: &[OnMachine<'a>]) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for (problem_index, problem) in plan.problems.iter().enumerate() {
        for (model_index, model) in plan.models.iter().enumerate() {
            let answers = model
                .answers
                .get(&problem.id)
                .map_or(&[][..], Vec::as_slice);
            for (sample, answer) in answers.iter().enumerate() {
                for (machine_index, &on) in machines.iter().enumerate() {
                    jobs.push(Job {
                        problem,
                        problem_index,
                        model: &model.name,
                        model_index,
                        sample,
                        answer,
                        on,
                        machine_index,
                    });
                }
            }
        }
    }
    jobs
}

/// The plan's threads; `None` on a host that grants none.
pub(super) fn pool(plan: &Plan) -> Option<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(plan.threads.unwrap_or(0))
        .stack_size(STACK_BYTES)
        .build()
        .ok()
}

/// Runs something on the threads, or on this one where there are none.
pub(super) fn within<T: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Runs `row_of` over the jobs on the pool's threads until `stop`; gives the rows that were finished with the numbers
/// of their jobs, in no order.
pub(super) fn run(
    pool: Option<&ThreadPool>,
    plan: &Plan,
    jobs: &[Job<'_>],
    stop: &AtomicBool,
    observer: &dyn Observer,
    row_of: impl Fn(usize) -> Done + Sync,
) -> Vec<(usize, Row)> {
    observer.begun(jobs.len());
    let desk = Mutex::new(Desk::new(plan, jobs));
    let locked = || desk.lock().unwrap_or_else(PoisonError::into_inner);
    let one = |index: usize| {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let job = &jobs[index];
        let begun = Instant::now();
        locked().begun(index, job);
        let done = catch_unwind(AssertUnwindSafe(|| row_of(index))).unwrap_or_else(|panic| Done {
            row: failed(job, panic.as_ref()),
            known: false,
            instructions: 0,
        });
        let mut desk = locked();
        let ran = !done.known && done.row.verdict != Verdict::EmptyAnswer;
        let progress = desk.finished(index, job, &done, ran.then(|| begun.elapsed()));
        observer.finished(&done.row, done.known, &progress);
        Some((index, done.row))
    };
    let order = order(jobs);
    // Rayon hands out halves of a range, which would start jobs from the middle; the counter keeps the order.
    let next = AtomicUsize::new(0);
    let at = |_: &usize| one(order[next.fetch_add(1, Ordering::Relaxed)]);
    match pool {
        Some(pool) => pool.install(|| order.par_iter().filter_map(at).collect()),
        // A host that grants no thread still evaluates, on this one.
        None => order.iter().filter_map(at).collect(),
    }
}

/// The order in which jobs start. The machines of a sample follow each other, so that it is built once.
fn order(jobs: &[Job<'_>]) -> Vec<usize> {
    let mut round = 0_u32;
    let mut sample = 0_usize;
    let mut keyed: Vec<(u32, u64, usize)> = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        if job.machine_index == 0 {
            sample = index;
            let first = index == 0 || jobs[index - 1].problem_index != job.problem_index;
            round = if first { 0 } else { round + 1 };
        }
        keyed.push((round, scatter(sample as u64), index));
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
    let place = Place {
        problem: &job.problem.id,
        model: job.model,
        sample: job.sample,
        machine: job.on.machine,
    };
    Row::new(
        place,
        String::new(),
        SampleRun::without_measurement(verdict),
    )
}

/// Where finished jobs are counted, one at a time.
struct Desk {
    begun: Instant,
    progress: Progress,
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
            progress: Progress {
                done: 0,
                samples: jobs.len(),
                reused: 0,
                rejected: 0,
                failures: 0,
                instructions: 0,
                elapsed: Duration::ZERO,
                remaining: None,
            },
            estimate: Estimate::new(&samples),
        }
    }

    fn begun(&mut self, index: usize, job: &Job<'_>) {
        self.estimate
            .begun(index, job.problem_index, self.begun.elapsed());
    }

    /// Counts a job; `took` is `None` where nothing ran.
    fn finished(
        &mut self,
        index: usize,
        job: &Job<'_>,
        done: &Done,
        took: Option<Duration>,
    ) -> Progress {
        match took {
            Some(time) => self.estimate.done(index, job.problem_index, time),
            None => self.estimate.free(index, job.problem_index),
        }
        let elapsed = self.begun.elapsed();
        let progress = &mut self.progress;
        progress.done += 1;
        progress.reused += usize::from(done.known);
        let verdict = &done.row.verdict;
        if verdict.is_failure_of_ours() {
            progress.failures += 1;
        } else if !verdict.is_accepted() {
            progress.rejected += 1;
        }
        progress.instructions = progress.instructions.saturating_add(done.instructions);
        progress.elapsed = elapsed;
        progress.remaining = self.estimate.remaining(elapsed);
        *progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidate;
    use crate::dataset::{Form, Language};
    use crate::evaluation::{Model, Runner};

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
                ..Model::default()
            })
            .collect();
        Plan {
            problems,
            models,
            ..Plan::default()
        }
    }

    struct Never;

    impl Runner for Never {
        fn key(&self, _: &Candidate, _: &Problem) -> String {
            String::new()
        }

        fn run(&self, _: &Candidate, _: &Problem) -> SampleRun {
            unreachable!("only the order is looked at")
        }
    }

    fn on<'a>(names: &[&'a str]) -> Vec<OnMachine<'a>> {
        let one = |&machine| OnMachine {
            machine,
            runner: &Never,
            screen: None,
        };
        names.iter().map(one).collect()
    }

    #[test]
    fn every_job_starts_once_and_each_round_visits_every_problem() {
        let plan = plan(7, 2, 3);
        let jobs = jobs(&plan, &on(&["a"]));
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

    #[test]
    fn the_machines_of_a_sample_follow_each_other() {
        let plan = plan(5, 2, 2);
        let jobs = jobs(&plan, &on(&["a", "b", "c"]));
        let order = order(&jobs);
        assert_eq!(order.len(), 60);
        for sample in order.chunks(3) {
            let place = |index: usize| {
                let job = &jobs[index];
                (job.problem_index, job.model_index, job.sample)
            };
            assert!(sample.iter().all(|&index| place(index) == place(sample[0])));
            let machines: Vec<_> = sample.iter().map(|&index| jobs[index].on.machine).collect();
            assert_eq!(machines, ["a", "b", "c"]);
        }
    }

    /// Two workers on a virtual clock; the costs of samples differ by up to a factor of 4, those of problems by 512.
    /// One sample a problem tells nothing of the problems that are left, so there the estimate may be further off.
    #[test]
    fn at_half_time_the_estimate_is_near_the_truth() {
        for (models, magnitudes, within) in
            [(1, 5, 0.25), (1, 10, 0.6), (2, 10, 0.25), (4, 10, 0.25)]
        {
            let plan = plan(164, 1, models);
            let jobs = jobs(&plan, &on(&["a"]));
            let cost = |job: &Job<'_>, index: usize| {
                let magnitude = scatter(job.problem_index as u64 + 1000) % magnitudes;
                let sample = 100 + scatter(index as u64 + 5000) % 300;
                Duration::from_micros(sample << magnitude)
            };
            // Begins and ends in the order of the clock.
            let mut free_at = [Duration::ZERO; 2];
            let mut events = Vec::new();
            for index in order(&jobs) {
                let worker = usize::from(free_at[1] < free_at[0]);
                let time = cost(&jobs[index], index);
                events.push((free_at[worker], 1, index, time));
                free_at[worker] += time;
                events.push((free_at[worker], 0, index, time));
            }
            events.sort_unstable();
            let all = free_at[0].max(free_at[1]);
            let mut estimate = Estimate::new(&vec![u32::try_from(models).unwrap(); 164]);
            let mut checked = false;
            for (now, begins, index, time) in events {
                let problem = jobs[index].problem_index;
                if begins == 1 {
                    estimate.begun(index, problem, now);
                    continue;
                }
                estimate.done(index, problem, time);
                if now >= all / 2 && !checked {
                    let truth = (all - now).as_secs_f64();
                    let told = estimate.remaining(now).unwrap().as_secs_f64();
                    assert!(
                        (told / truth - 1.0).abs() < within,
                        "{models} models, {magnitudes} magnitudes: {told} of {truth}"
                    );
                    checked = true;
                }
            }
            assert!(checked);
        }
    }
}
