//! Verified runs: every job several times, from the start and from snapshots, and every figure of them compared.
use super::Backend;
use super::sim::{Sim, Way};
use crate::artifact::{Artifact, ContentHash};
use crate::measurement::{BackendFailure, BackendName, Measurement};
use crate::sim::outcome::{Counters, Exit, Limits, Region};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Marks the message of a failure that comes from runs that differ.
const NOT_DETERMINISTIC: &str = "not deterministic";

/// A simulator whose measurements have been made more than once.
///
/// A job runs twice from its first instruction, and once more by a snapshot: for a Python function those of the
/// interpreter and of the loaded candidate (the second one is then resumed too), for any other program one that is
/// taken in the midst of the run. A difference in any counter, exit or output is a [`BackendFailure`].
#[derive(Debug)]
pub struct Verified<'a> {
    sim: &'a Sim,
    differences: AtomicUsize,
}

impl<'a> Verified<'a> {
    /// Verifies the runs of this simulator.
    pub fn new(sim: &'a Sim) -> Self {
        Self {
            sim,
            differences: AtomicUsize::new(0),
        }
    }

    /// How many jobs so far have differed between their runs.
    pub fn differences(&self) -> usize {
        self.differences.load(Ordering::Relaxed)
    }

    /// The ways of the runs behind the first, each with what it is called.
    fn ways(artifact: &Artifact, input: &[u8], first: &Measurement) -> Vec<(Way, String)> {
        let mut ways = vec![(Way::Unbroken, "a second run from the start".to_owned())];
        let kept = match artifact {
            Artifact::Python(python) => python.snapshot_points().is_some(),
            Artifact::Elf(_) => false,
        };
        if kept {
            // The first makes the candidate's snapshot, if it is new; the second is resumed from it.
            let from = |what: &str| (Way::Kept, format!("a run from the snapshot of {what}"));
            ways.extend([from("the interpreter"), from("the candidate")]);
        } else {
            let at = midst(artifact, input, first.counters.instructions);
            let what = format!("a run from a snapshot near instruction {at}");
            ways.push((Way::Broken { at }, what));
        }
        ways
    }
}

/// An instruction between the first and the last, as good as any other, and the same whenever the job runs.
fn midst(artifact: &Artifact, input: &[u8], instructions: u64) -> u64 {
    let artifact = artifact.content_hash().to_string();
    let hash = ContentHash::of_parts([artifact.as_bytes(), input]).to_string();
    let number = u64::from_str_radix(&hash[..12], 16).unwrap_or(0);
    // The product has 48 + 64 bits at most.
    ((u128::from(number) * u128::from(instructions)) >> 48) as u64
}

impl Backend for Verified<'_> {
    fn name(&self) -> BackendName {
        self.sim.name()
    }

    fn machine(&self) -> &str {
        self.sim.machine()
    }

    fn run_with_arguments(
        &self,
        artifact: &Artifact,
        arguments: &[Vec<u8>],
        stdin: &[u8],
        limits: &Limits,
    ) -> Result<Measurement, BackendFailure> {
        let run = |way| (self.sim).run_by(way, artifact, arguments, stdin, limits);
        let first = run(Way::Unbroken)?;
        if first.exit == Exit::WallClock {
            return Ok(first);
        }
        for (way, what) in Self::ways(artifact, stdin, &first) {
            let again = run(way)?;
            // The host was too slow: a failure of ours too, but none that tells anything about the runs.
            if again.exit == Exit::WallClock {
                return Ok(again);
            }
            if let Some(difference) = difference(&first, &again) {
                self.differences.fetch_add(1, Ordering::Relaxed);
                return Err(BackendFailure {
                    what: format!("{NOT_DETERMINISTIC}: {difference} in {what}"),
                    remedy: "see that no file which the program can read changes meanwhile; if none does, report this \
                             as a fault of tickmark, with the program and its input"
                        .to_owned(),
                });
            }
        }
        Ok(first)
    }
}

/// The first figure that differs: its name, and its value in the first run and in the other.
fn difference(first: &Measurement, other: &Measurement) -> Option<String> {
    let (first, other) = (facts(first), facts(other));
    let differing = first.iter().zip(&other).find(|(a, b)| a != b);
    let Some(((name, a), (other_name, b))) = differing else {
        let more = first.len().max(other.len());
        return (first.len() != other.len()).then(|| {
            let longer = if first.len() > other.len() {
                &first
            } else {
                &other
            };
            format!("`{}` is in one run only", longer[more - 1].0)
        });
    };
    Some(if name == other_name {
        format!("`{name}` is {a} in the first run and {b}")
    } else {
        format!("the first run has `{name}` ({a}) where there is `{other_name}` ({b})")
    })
}

/// Everything that a measurement tells, by name, outputs as their hashes.
fn facts(measurement: &Measurement) -> Vec<(String, String)> {
    let Measurement {
        backend: _,
        machine,
        exit,
        counters,
        regions,
        region_cpu_time_ns: _,
        open_region,
        messages,
        stdout,
        stderr,
        unanswered_system_calls,
        clock_read,
    } = measurement;
    let Counters {
        instructions,
        micro_ops,
        cycles,
        simulated_time_ps,
        system_calls,
        peak_memory_bytes,
        memory_kib_cycles,
        parts,
    } = counters;
    let hash = |bytes: &[u8]| format!("{} bytes of hash {}", bytes.len(), ContentHash::of(bytes));
    let some = |value: &Option<u64>| value.map_or("absent".to_owned(), |value| value.to_string());
    let mut facts: Vec<(String, String)> = [
        ("machine", machine.clone()),
        ("exit", format!("{exit:?}")),
        ("instructions", instructions.to_string()),
        ("micro_ops", micro_ops.to_string()),
        ("cycles", some(cycles)),
        ("simulated_time_ps", some(simulated_time_ps)),
        ("system_calls", system_calls.to_string()),
        ("peak_memory_bytes", peak_memory_bytes.to_string()),
        ("memory_kib_cycles", memory_kib_cycles.to_string()),
        ("standard output", hash(stdout)),
        ("standard error", hash(stderr)),
        ("open_region", open_region.to_string()),
        ("clock_read", clock_read.to_string()),
        ("unanswered_system_calls", unanswered_system_calls.join(" ")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    facts.extend((parts.iter()).map(|(name, value)| (name.clone(), value.to_string())));
    for (
        index,
        Region {
            instructions,
            cycles,
        },
    ) in regions.iter().enumerate()
    {
        facts.push((
            format!("region {index} instructions"),
            instructions.to_string(),
        ));
        facts.push((format!("region {index} cycles"), some(cycles)));
    }
    for (index, (kind, text)) in messages.iter().enumerate() {
        let kind = char::from(*kind);
        facts.push((format!("message {index}"), format!("{kind} {}", hash(text))));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement() -> Measurement {
        Measurement {
            backend: BackendName::Sim,
            machine: "atomic".into(),
            exit: Exit::Exited { code: 0 },
            counters: Counters {
                parts: [("l1d.misses".to_owned(), 5)].into(),
                ..Counters::default()
            },
            regions: vec![Region {
                instructions: 7,
                cycles: Some(9),
            }],
            region_cpu_time_ns: Vec::new(),
            open_region: false,
            messages: vec![(b'D', Vec::new())],
            stdout: b"out".to_vec(),
            stderr: Vec::new(),
            unanswered_system_calls: Vec::new(),
            clock_read: false,
        }
    }

    #[test]
    fn each_figure_that_differs_is_named() {
        type Change = fn(&mut Measurement);
        let changes: [(&str, Change); 17] = [
            ("exit", |m| m.exit = Exit::MemoryLimit),
            ("instructions", |m| m.counters.instructions += 1),
            ("micro_ops", |m| m.counters.micro_ops += 1),
            ("cycles", |m| m.counters.cycles = Some(1)),
            ("simulated_time_ps", |m| {
                m.counters.simulated_time_ps = Some(1)
            }),
            ("system_calls", |m| m.counters.system_calls += 1),
            ("peak_memory_bytes", |m| m.counters.peak_memory_bytes += 1),
            ("memory_kib_cycles", |m| m.counters.memory_kib_cycles += 1),
            ("l1d.misses", |m| {
                *m.counters.parts.entry("l1d.misses".into()).or_default() += 1
            }),
            ("region 0 instructions", |m| m.regions[0].instructions += 1),
            ("region 0 cycles", |m| m.regions[0].cycles = None),
            ("message 0", |m| m.messages[0].1.push(b'x')),
            ("standard output", |m| m.stdout[0] ^= 1),
            ("standard error", |m| m.stderr.push(b'x')),
            ("open_region", |m| m.open_region = true),
            ("clock_read", |m| m.clock_read = true),
            ("unanswered_system_calls", |m| {
                m.unanswered_system_calls.push("x".into())
            }),
        ];
        for (name, change) in changes {
            let mut other = measurement();
            change(&mut other);
            let told = difference(&measurement(), &other).expect(name);
            assert!(told.starts_with(&format!("`{name}` is ")), "{told}");
        }
        assert_eq!(difference(&measurement(), &measurement()), None);
    }

    #[test]
    fn a_region_or_counter_in_one_run_only_is_a_difference() {
        let mut other = measurement();
        other.messages.push((b'F', Vec::new()));
        let told = difference(&measurement(), &other).expect("a difference");
        assert_eq!(told, "`message 1` is in one run only");
        let mut other = measurement();
        other.counters.parts.insert("a".into(), 1);
        let told = difference(&measurement(), &other).expect("a difference");
        assert!(
            told.contains("`l1d.misses` (5)") && told.contains("`a` (1)"),
            "{told}"
        );
    }
}
