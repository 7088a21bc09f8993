//! `jeto2026`: does a patch make a Java project's tests faster, by rounds of the original and the patched tree?
//!
//! One warm-up round, then 30 rounds of both; every round of both passes all tests, else the patch fails tests (or the
//! original voids the instance). For each test class and for all together, a paired one-sided binomial test over rounds
//! asks whether the patched tree needs less than `1 - margin` of the original's time in more than half of the rounds,
//! and the other way round, since a regression is reported as well.
use super::{ClassReport, JUnitError, parse_report};
use crate::stats::{StatsError, mean, paired_binomial};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The margin and the level of the test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Margin {
    /// Least improvement that counts in a round, as a share of the time.
    pub improvement: f64,
    /// Highest p-value.
    pub level: f64,
}

impl Margin {
    /// The default: 5% at p 0.10.
    pub const DEFAULT: Self = Self {
        improvement: 0.05,
        level: 0.10,
    };
    /// The conservative one: 10% at p 0.05.
    pub const CONSERVATIVE: Self = Self {
        improvement: 0.10,
        level: 0.05,
    };
}

/// Seconds by test class, a map a round; warm-up left out.
pub type Rounds = Vec<BTreeMap<String, ClassReport>>;

/// What becomes of a patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PatchVerdict {
    /// It cannot be applied.
    BadPatch {
        /// What the tool said.
        text: String,
    },
    /// The patched tree does not compile.
    DoesNotCompile {
        /// What the compiler said, at its end.
        text: String,
    },
    /// A test fails with the patch.
    FailsTests {
        /// The round, from 1; 0 is the warm-up.
        round: usize,
        /// Class and names of the failing tests.
        tests: Vec<String>,
    },
    /// The original itself does not compile or fails a test: the instance says nothing.
    Void {
        /// Why.
        text: String,
    },
    /// All rounds of both passed.
    Judged(Judgement),
}

/// The direction in which a difference is significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The patched tree is faster.
    Improvement,
    /// The patched tree is slower.
    Regression,
    /// Neither.
    None,
}

/// The tests of one class, or of all together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassJudgement {
    /// Name of the class; `all` for the sum.
    pub class: String,
    /// Mean seconds of the original's rounds.
    pub original_seconds: f64,
    /// Mean seconds of the patched tree's rounds.
    pub patched_seconds: f64,
    /// p of "the patched tree improves by the margin".
    pub improvement_p: f64,
    /// p of "the original improves on the patched tree by the margin".
    pub regression_p: f64,
    /// What is significant.
    pub direction: Direction,
}

/// What the rounds say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Rounds of each.
    pub rounds: usize,
    /// Margin and level.
    pub margin: Margin,
    /// The sum over classes.
    pub overall: ClassJudgement,
    /// Each class that ran in every round of both.
    pub classes: Vec<ClassJudgement>,
    /// Classes that did not run in every round of both, which no test is made of.
    pub left_out: Vec<String>,
}

/// Judges the rounds of both trees, in pairs.
///
/// # Errors
/// No round, or different numbers of them.
pub fn judge_rounds(
    original: &Rounds,
    patched: &Rounds,
    margin: Margin,
) -> Result<PatchVerdict, StatsError> {
    let failing = |rounds: &Rounds| {
        rounds.iter().enumerate().find_map(|(round, classes)| {
            let tests: Vec<String> = (classes.iter())
                .flat_map(|(class, report)| {
                    report
                        .failed
                        .iter()
                        .map(move |test| format!("{class}.{test}"))
                })
                .collect();
            (!tests.is_empty()).then_some((round + 1, tests))
        })
    };
    if let Some((round, tests)) = failing(original) {
        let text = format!("the original fails in round {round}: {}", tests.join(", "));
        return Ok(PatchVerdict::Void { text });
    }
    if let Some((round, tests)) = failing(patched) {
        return Ok(PatchVerdict::FailsTests { round, tests });
    }
    let ran = |classes: &BTreeMap<String, ClassReport>, name: &str| {
        classes.get(name).is_some_and(|report| report.passed > 0)
    };
    let all: BTreeSet<&String> = original
        .iter()
        .chain(patched)
        .flat_map(BTreeMap::keys)
        .collect();
    let (common, left_out): (Vec<&String>, Vec<&String>) = (all.into_iter()).partition(|name| {
        original
            .iter()
            .chain(patched)
            .all(|classes| ran(classes, name))
    });
    if common.is_empty() && !original.is_empty() {
        let text = "no test class ran in every round of both trees".to_owned();
        return Ok(PatchVerdict::Void { text });
    }
    let seconds = |rounds: &Rounds, names: &[&String]| -> Vec<f64> {
        let of = |classes: &BTreeMap<String, ClassReport>| -> f64 {
            names.iter().map(|name| classes[*name].seconds).sum()
        };
        rounds.iter().map(of).collect()
    };
    let judged = |class: &str, names: &[&String]| -> Result<ClassJudgement, StatsError> {
        let (old, new) = (seconds(original, names), seconds(patched, names));
        let improvement_p = paired_binomial(&old, &new, margin.improvement)?.p;
        let regression_p = paired_binomial(&new, &old, margin.improvement)?.p;
        Ok(ClassJudgement {
            class: class.to_owned(),
            original_seconds: mean(&old),
            patched_seconds: mean(&new),
            improvement_p,
            regression_p,
            direction: if improvement_p <= margin.level {
                Direction::Improvement
            } else if regression_p <= margin.level {
                Direction::Regression
            } else {
                Direction::None
            },
        })
    };
    Ok(PatchVerdict::Judged(Judgement {
        rounds: original.len(),
        margin,
        overall: judged("all", &common)?,
        classes: common
            .iter()
            .map(|name| judged(name, &[name]))
            .collect::<Result<_, _>>()?,
        left_out: left_out.into_iter().cloned().collect(),
    }))
}

/// The modules of the files that a unified diff changes: what stands before `src/`, or the top of the tree (empty).
pub fn modified_modules(patch: &str) -> BTreeSet<String> {
    (patch.lines())
        .filter_map(|line| {
            line.strip_prefix("+++ ")
                .or_else(|| line.strip_prefix("--- "))
        })
        .filter_map(|path| {
            let path = path.split('\t').next().unwrap_or_default().trim();
            let path = path
                .strip_prefix("a/")
                .or_else(|| path.strip_prefix("b/"))
                .unwrap_or(path);
            if path == "/dev/null"
                || path.starts_with('/')
                || path.split('/').any(|part| part == "..")
            {
                return None;
            }
            if path.starts_with("src/") {
                return Some(String::new());
            }
            Some(
                path.find("/src/")
                    .map_or(String::new(), |end| path[..end].to_owned()),
            )
        })
        .collect()
}

/// Reads recorded rounds: folders `round-0` (warm-up, left out), `round-1`, ... with JUnit's XML files below them.
///
/// # Errors
/// A sentence that names the file: it cannot be read, or is no report.
pub fn read_rounds(folder: &Path) -> Result<Rounds, String> {
    let mut rounds = Vec::new();
    for number in 1.. {
        let round = folder.join(format!("round-{number}"));
        if !round.is_dir() {
            break;
        }
        rounds.push(read_reports(&round)?);
    }
    if rounds.is_empty() {
        return Err(format!(
            "`{}` has no folder `round-1` with JUnit's XML reports",
            folder.display()
        ));
    }
    Ok(rounds)
}

/// Every report below a folder, as one map.
pub(crate) fn read_reports(folder: &Path) -> Result<BTreeMap<String, ClassReport>, String> {
    let mut classes: BTreeMap<String, ClassReport> = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
        let mut entries: Vec<_> = (std::fs::read_dir(&folder).map_err(failed)?)
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "xml")
            {
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
                let report = parse_report(&text)
                    .map_err(|error: JUnitError| format!("`{}`: {error}", path.display()))?;
                for (class, report) in report {
                    let sum = classes.entry(class).or_default();
                    sum.seconds += report.seconds;
                    sum.passed += report.passed;
                    sum.skipped += report.skipped;
                    sum.failed.extend(report.failed);
                }
            }
        }
    }
    Ok(classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(seconds: impl Fn(usize) -> f64, count: usize) -> Rounds {
        (0..count)
            .map(|round| {
                let report = ClassReport {
                    seconds: seconds(round),
                    passed: 1,
                    ..ClassReport::default()
                };
                BTreeMap::from([("a.Test".to_owned(), report)])
            })
            .collect()
    }

    fn judgement(original: &Rounds, patched: &Rounds, margin: Margin) -> Judgement {
        match judge_rounds(original, patched, margin).unwrap() {
            PatchVerdict::Judged(judgement) => judgement,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn improvement_and_regression_are_judged_with_the_margin() {
        let original = rounds(|_| 1.0, 30);
        // 20 of 30 rounds are 7% faster: p = 0.0494 (see the binomial test); with a margin of 10% none is.
        let patched = rounds(|round| if round < 20 { 0.93 } else { 1.0 }, 30);
        let normal = judgement(&original, &patched, Margin::DEFAULT);
        assert_eq!(normal.overall.direction, Direction::Improvement);
        assert!((normal.overall.improvement_p - 0.049_368).abs() < 1e-6);
        assert_eq!(normal.classes[0].direction, Direction::Improvement);
        let conservative = judgement(&original, &patched, Margin::CONSERVATIVE);
        assert_eq!(conservative.overall.direction, Direction::None);
        let back = judgement(&patched, &original, Margin::DEFAULT);
        assert_eq!(back.overall.direction, Direction::Regression);
    }

    #[test]
    fn a_failing_original_voids_and_a_failing_patch_fails() {
        let good = rounds(|_| 1.0, 3);
        let mut bad = good.clone();
        bad[1]
            .get_mut("a.Test")
            .unwrap()
            .failed
            .push("one".to_owned());
        let verdict = |a: &Rounds, b: &Rounds| judge_rounds(a, b, Margin::DEFAULT).unwrap();
        assert!(matches!(verdict(&bad, &good), PatchVerdict::Void { .. }));
        assert_eq!(
            verdict(&good, &bad),
            PatchVerdict::FailsTests {
                round: 2,
                tests: vec!["a.Test.one".to_owned()]
            }
        );
        assert!(judge_rounds(&good, &rounds(|_| 1.0, 2), Margin::DEFAULT).is_err());
        let mut partial = good.clone();
        partial[0].insert("b.Test".to_owned(), ClassReport::default());
        assert_eq!(
            judgement(&partial, &good, Margin::DEFAULT).left_out,
            ["b.Test"]
        );
    }

    #[test]
    fn modules_come_from_the_paths_of_a_patch() {
        let patch = "--- a/core/util/src/main/java/A.java\t2026\n+++ b/core/util/src/main/java/A.java\n\
                     --- /dev/null\n+++ b/src/main/java/B.java\n--- a/../x/src/C.java\n";
        let modules: Vec<_> = modified_modules(patch).into_iter().collect();
        assert_eq!(modules, ["", "core/util"]);
    }
}
