//! pass@k, Beyond, eff@k and DPS against an independent computation in Python, with exact binomials and fractions.
use super::*;
use crate::stats::SplitMix;
use std::process::Command;

const SCRIPT: &str = r"
import json, math, sys
from fractions import Fraction
from itertools import combinations

problems = json.load(open(sys.argv[1]))
out = {}

def mean(values):
    values = list(values)
    return float(sum(values) / len(values)) if values else None

def pass_at(k):
    # By definition: over every choice of k samples, whether one passes.
    def one(samples):
        choices = list(combinations(samples, k))
        return Fraction(sum(any(s is not None for s in c) for c in choices), len(choices))
    return mean(one(p['model']) for p in problems)

def beyond(f):
    def one(p):
        right = [s for who in p.values() for s in who if s is not None]
        def place(t):
            if t is None: return 0
            if max(right) == min(right): return 1
            return (f(max(right)) - f(t)) / (f(max(right)) - f(min(right)))
        return sum(place(t) for t in p['model']) / len(p['model'])
    return mean(one(p) for p in problems)

def beyond_rank():
    def one(p):
        right = [s for who in p.values() for s in who if s is not None]
        def place(t):
            if t is None: return 0
            if max(right) == min(right): return 1
            rank = 1 + sum(o < t for o in right)
            return Fraction(len(right) - rank, len(right) - 1)
        return sum(place(t) for t in p['model']) / len(p['model'])
    return mean(one(p) for p in problems)

def eff_at(k):
    def one(p):
        ref = p['canonical'][0]
        limit = 2 * ref
        e = [0 if t is None or t >= limit else Fraction(limit - t, limit - ref) for t in p['model']]
        choices = list(combinations(e, k))
        return Fraction(sum(max(c) for c in choices)) / len(choices)
    return mean(one(p) for p in problems if p['canonical'][0] is not None)

def dps(norm):
    values = []
    for p in problems:
        passing = [t for t in p['model'] if t is not None]
        refs = sorted(t for t in p['canonical'] if t is not None)
        if not passing or not refs: continue
        t = passing[0]
        clusters = [[refs[0]]]
        for r in refs[1:]:
            if r > clusters[-1][-1] * 1.2: clusters.append([])
            clusters[-1].append(r)
        reached = [c for c in clusters if t <= c[-1]]
        values.append(Fraction(len(reached), len(clusters)) if norm
                      else Fraction(sum(map(len, reached)), len(refs)))
    return mean(values)

for k in (1, 2, 5): out[f'pass@{k}'] = pass_at(k)
for k in (1, 3): out[f'eff@{k}'] = eff_at(k)
out['beyond'] = beyond(lambda t: t)
out['beyond-log'] = beyond(math.log)
out['beyond-rank'] = beyond_rank()
out['dps'] = dps(False)
out['dps-norm'] = dps(True)
print(json.dumps(out))
";

#[test]
fn an_independent_computation_in_python_gives_the_same_values() {
    let mut random = SplitMix::new(42);
    let mut samples = |count: usize| -> Vec<Option<u64>> {
        (0..count)
            .map(|_| (random.below(10) < 7).then(|| 50 + random.below(400) as u64))
            .collect()
    };
    // The reference's first sample is right, so that eff@k has a time limit.
    let problems: Vec<[Vec<Option<u64>>; 3]> = (0..25)
        .map(|index| {
            let mut canonical = samples(4);
            canonical[0] = Some(100 + 7 * index);
            [canonical, samples(6), samples(3)]
        })
        .collect();
    let as_json: Vec<_> = (problems.iter())
        .map(|[canonical, model, other]| {
            serde_json::json!({"canonical": canonical, "model": model, "other": other})
        })
        .collect();
    let path = std::env::temp_dir().join(format!("tickmark-metric-{}.json", std::process::id()));
    std::fs::write(&path, serde_json::to_vec(&as_json).unwrap()).unwrap();
    let python = Command::new("python3")
        .arg("-c")
        .arg(SCRIPT)
        .arg(&path)
        .output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = python else {
        #[expect(
            clippy::print_stderr,
            reason = "what is skipped belongs in a test run's output"
        )]
        {
            eprintln!("skipped: there is no python3");
        }
        return;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let expected: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&output.stdout).unwrap();
    let facts = Facts {
        models: ["canonical", "model", "other"].map(String::from).into(),
        problems: (problems.iter().enumerate())
            .map(|(index, samples)| ProblemFacts {
                id: index.to_string(),
                samples: samples.each_ref().map(|list| facts_of(list)).into(),
            })
            .collect(),
        reference: Some(0),
        bases: Vec::new(),
    };
    assert_eq!(expected.len(), 10);
    for (metric, expected) in expected {
        let scores = (metric.parse::<Metric>().unwrap()).score(&facts, &Settings::default());
        let found = scores.models[1].value.unwrap();
        let expected = expected.as_f64().unwrap();
        assert!(
            (found - expected).abs() < 1e-12,
            "{metric}: {found}, Python {expected}"
        );
    }
}

fn facts_of(samples: &[Option<u64>]) -> Vec<SampleFact> {
    (samples.iter())
        .map(|sample| match sample {
            Some(time) => SampleFact::accepted(Some(*time as f64)),
            None => SampleFact::without_runtime(Outcome::Rejected),
        })
        .collect()
}
