//! `dseffi2026`: efficiency of data-science code on generated inputs, scored against the spectrum of all solutions.
//!
//! An instance is a JSON object with `task_id`, `entry_point`, `prompt`, `input_domain` (`{"correctness": [...],
//! "stress": [...]}`: any JSON values), and Python sources: `input_generator` (defines `input_generator(seed, domain)`,
//! which gives the arguments as a tuple, or one argument), `output_validator` (defines `output_validator(pred, ref)`),
//! `reference_solution` (defines the entry point). The correctness domains come first; only what passes them meets the
//! stress domains: one warm-up and three timed runs, their mean for each test, the mean over tests for the task. Any
//! failure, or more than five seconds on a test, scores 0.
use crate::dataset::json_lines::{self, Record};
use crate::dataset::{Defect, Form, Language, Problem};
use crate::verdict::Judging;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// Longest time of a test natively, in nanoseconds.
pub const TASK_LIMIT_NS: f64 = 5e9;
/// From this share of the slower one's time on, a difference is a win.
const WIN: f64 = 0.10;

/// One instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Id, as samples name it.
    pub id: String,
    prompt: String,
    entry_point: String,
    generator: String,
    validator: String,
    reference: String,
    correctness: Vec<Value>,
    stress: Vec<Value>,
}

/// Reads instances from a JSON-lines file, `.gz` accepted; what is not one is told and left out.
///
/// # Errors
/// The file cannot be read or has no instance.
pub fn load_instances(path: &Path) -> Result<(Vec<Instance>, Vec<Defect>), Defect> {
    let bytes = json_lines::read(path)?;
    let (instances, skipped) = parse_instances(&path.display().to_string(), &bytes);
    if instances.is_empty() {
        return Err(skipped.into_iter().next().unwrap_or_else(|| {
            Defect::of_file(path.display(), "holds no instance", "see docs/protocols.md")
        }));
    }
    Ok((instances, skipped))
}

/// The same, from the bytes of a file of that name.
pub fn parse_instances(file: &str, bytes: &[u8]) -> (Vec<Instance>, Vec<Defect>) {
    let (mut instances, mut skipped) = (Vec::new(), Vec::new());
    for record in json_lines::records(file, bytes) {
        match record.and_then(|record| instance(&record)) {
            Ok(instance) => instances.push(instance),
            Err(defect) => skipped.push(defect),
        }
    }
    (instances, skipped)
}

fn instance(record: &Record<'_>) -> Result<Instance, Defect> {
    let text = |field: &str| match record.fields.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        other => {
            let reason = if other.is_none() {
                "the field is missing"
            } else {
                "not text"
            };
            Err(record
                .defect(reason, "write it as a JSON string")
                .in_field(field))
        }
    };
    let domains = |name: &str| {
        let list = record
            .fields
            .get("input_domain")
            .and_then(|domain| domain.get(name));
        match list.and_then(Value::as_array) {
            Some(list) if !list.is_empty() => Ok(list.clone()),
            _ => Err(record
                .defect(
                    format!("`{name}` is not a list with a domain in it"),
                    "write `\"input_domain\": {\"correctness\": [...], \"stress\": [...]}`",
                )
                .in_field("input_domain")),
        }
    };
    Ok(Instance {
        id: text("task_id")?,
        prompt: text("prompt")?,
        entry_point: text("entry_point")?,
        generator: text("input_generator")?,
        validator: text("output_validator")?,
        reference: text("reference_solution")?,
        correctness: domains("correctness")?,
        stress: domains("stress")?,
    })
}

impl Instance {
    /// The problem of the correctness domains.
    pub fn correctness(&self) -> Problem {
        self.problem(&self.correctness)
    }

    /// The problem of the stress domains, of at most the first `most` of them.
    pub fn stress(&self, most: usize) -> Problem {
        self.problem(&self.stress[..most.clamp(1, self.stress.len())])
    }

    /// How many stress domains there are.
    pub fn stress_domains(&self) -> usize {
        self.stress.len()
    }

    fn problem(&self, domains: &[Value]) -> Problem {
        Problem {
            id: self.id.clone(),
            language: Language::Python,
            form: Form::Function {
                prompt: self.prompt.clone(),
                entry_point: self.entry_point.clone(),
                test: self.test(domains),
            },
            canonical: Some(self.reference.clone()),
            judging: Judging::default(),
        }
    }

    /// Source of `check(candidate)`. The reference lives in a namespace of its own, so that neither it nor the candidate
    /// sees the other's names; it works on a copy, since either may change its arguments.
    fn test(&self, domains: &[Value]) -> String {
        let quoted = |text: &str| Value::String(text.to_owned()).to_string();
        let domains = Value::Array(domains.to_vec()).to_string();
        format!(
            "import copy as _copy, json as _json\n\
             def _names(source):\n    names = {{}}\n    exec(compile(source, 'instance', 'exec'), names)\n    return names\n\
             _generate = _names({generator})['input_generator']\n\
             _valid = _names({validator})['output_validator']\n\
             _reference = _names({reference})[{entry}]\n\
             def check(candidate):\n    \
                 for seed, domain in enumerate(_json.loads({domains})):\n        \
                     given = _generate(seed, domain)\n        \
                     given = given if isinstance(given, tuple) else (given,)\n        \
                     expected = _reference(*_copy.deepcopy(given))\n        \
                     got = candidate(*given)\n        \
                     assert _valid(got, expected), 'domain %d: not valid' % seed\n",
            generator = quoted(&self.generator),
            validator = quoted(&self.validator),
            reference = quoted(&self.reference),
            entry = quoted(&self.entry_point),
            domains = quoted(&domains),
        )
    }
}

/// The times of a task: of each model that is correct, and of the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpectrumTask {
    /// Id of the task.
    pub task: String,
    /// Time of the reference, in the quantity's unit; absent where it failed, which is the instance's fault.
    pub reference: Option<f64>,
    /// Time of each model, in their order; absent where it failed.
    pub models: Vec<Option<f64>>,
}

/// The scores of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelScore {
    /// Name.
    pub model: String,
    /// Share of tasks that it passes, 0 to 1.
    pub pass: f64,
    /// Mean over all tasks of `(ln t_max - ln t) / (ln t_max - ln t_min)`, 0 where it fails.
    pub beyond: f64,
    /// The same over the tasks that it passes; absent without one.
    pub beyond_given_pass: Option<f64>,
    /// Against the other models, on tasks that both pass: share of comparisons in which it needs at least 10% less time.
    pub win_rate: Option<f64>,
    /// Share in which the other one does.
    pub loss_rate: Option<f64>,
    /// Tasks in whose spectrum all times are equal: Beyond is 1 there.
    pub flat_spectra: usize,
}

/// Scores models over tasks. The spectrum of a task is every correct solution and the reference, so that another model
/// changes the scores of all.
pub fn score(models: &[String], tasks: &[SpectrumTask]) -> Vec<ModelScore> {
    (models.iter().enumerate())
        .map(|(model, name)| {
            let mut beyonds = Vec::new();
            let mut flat = 0;
            for task in tasks {
                let Some(time) = task.models[model] else {
                    continue;
                };
                let times = || task.models.iter().flatten().copied().chain(task.reference);
                let low = times().fold(f64::INFINITY, f64::min).ln();
                let high = times().fold(0.0, f64::max).ln();
                if high > low {
                    beyonds.push((high - time.ln()) / (high - low));
                } else {
                    flat += 1;
                    beyonds.push(1.0);
                }
            }
            let (mut wins, mut losses, mut compared) = (0, 0, 0);
            for task in tasks {
                let Some(time) = task.models[model] else {
                    continue;
                };
                for (other, theirs) in task.models.iter().enumerate() {
                    let Some(theirs) = theirs.filter(|_| other != model) else {
                        continue;
                    };
                    compared += 1;
                    wins += usize::from((theirs - time) / theirs >= WIN);
                    losses += usize::from((time - theirs) / time >= WIN);
                }
            }
            let share = |count: usize| (compared > 0).then(|| count as f64 / compared as f64);
            let all = tasks.len().max(1) as f64;
            let sum: f64 = beyonds.iter().sum();
            ModelScore {
                model: name.clone(),
                pass: beyonds.len() as f64 / all,
                beyond: sum / all,
                beyond_given_pass: (!beyonds.is_empty()).then(|| sum / beyonds.len() as f64),
                win_rate: share(wins),
                loss_rate: share(losses),
                flat_spectra: flat,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_follow_the_spectrum_of_all_solutions() {
        let task = |models: [Option<f64>; 2], reference| SpectrumTask {
            task: String::new(),
            reference: Some(reference),
            models: models.to_vec(),
        };
        // Task one: times 1, 10, reference 100: Beyond 1 and 1/2. Task two: the first fails; the second is as slow as
        // the reference: a flat spectrum. Task three: 10 against 10.5: no win.
        let tasks = [
            task([Some(1.0), Some(10.0)], 100.0),
            task([None, Some(7.0)], 7.0),
            task([Some(10.0), Some(10.5)], 10.0),
        ];
        let scores = score(&["a".into(), "b".into()], &tasks);
        let close =
            |got: f64, expected: f64| assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        close(scores[0].pass, 2.0 / 3.0);
        close(scores[0].beyond, (1.0 + 0.0 + 1.0) / 3.0);
        close(scores[0].beyond_given_pass.unwrap(), 1.0);
        assert_eq!(
            (scores[0].win_rate, scores[0].loss_rate),
            (Some(0.5), Some(0.0))
        );
        close(scores[1].pass, 1.0);
        close(scores[1].beyond, (0.5 + 1.0 + 0.0) / 3.0);
        assert_eq!(
            (scores[1].loss_rate, scores[1].flat_spectra),
            (Some(0.5), 1)
        );
    }

    #[test]
    fn what_is_not_an_instance_is_told_with_its_field() {
        let good = r#"{"task_id": "t", "prompt": "p", "entry_point": "f", "input_domain": {"correctness": [1], "stress": [2, 3]}, "input_generator": "g", "output_validator": "v", "reference_solution": "r"}"#;
        let bad = good.replace("[2, 3]", "[]");
        let worse = good.replace("\"entry_point\": \"f\", ", "");
        let (instances, skipped) =
            parse_instances("x", format!("{good}\n{bad}\n{worse}\n").as_bytes());
        assert_eq!((instances.len(), skipped.len()), (1, 2));
        assert_eq!(instances[0].stress_domains(), 2);
        let text = |index: usize| skipped[index].to_string();
        assert!(
            text(0).contains("stress") && text(0).contains("2"),
            "{}",
            text(0)
        );
        assert!(text(1).contains("entry_point"), "{}", text(1));
    }
}
