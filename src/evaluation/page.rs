//! Summaries and stored samples as a page.
use super::memory::Memory;
use super::row::Row;
use super::study::StoredStudy;
use super::summary::Summary;
use crate::report::{self, Page, PageCase, PageSample, PageSection, Plot, number};
use crate::store::Store;

/// The page of these summaries, one section each, with the samples to drill down to.
pub fn page(summaries: &[Summary], samples: Vec<PageSample>) -> String {
    let mut names: Vec<&str> = summaries
        .iter()
        .map(|summary| summary.study.as_str())
        .collect();
    names.dedup();
    let section = |summary: &Summary| PageSection {
        heading: if names.len() > 1 {
            format!("{} on {}", summary.study, summary.machine)
        } else {
            format!("Machine {}", summary.machine)
        },
        tables: summary.to_tables(),
        plots: plots(summary),
    };
    let provenance = summaries.iter().take(1).flat_map(|summary| {
        (summary.provenance.iter()).map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), text)
        })
    });
    report::page(&Page {
        title: names.join(", "),
        sections: summaries.iter().map(section).collect(),
        provenance: provenance.collect(),
        samples,
    })
}

/// Runtime by model, the win matrix, and passing against efficiency.
fn plots(summary: &Summary) -> Vec<Plot> {
    let mut plots = Vec::new();
    if let Some(scores) = summary.scores_of("normalised-runtime") {
        let items: Vec<_> = (scores.models.iter())
            .filter_map(|model| {
                let interval = model.interval.map(|interval| (interval.low, interval.high));
                Some((model.model.clone(), model.value?, interval))
            })
            .collect();
        if !items.is_empty() {
            plots.push(Plot::Bars {
                title: "Normalised runtime by model".into(),
                axis: format!(
                    "percent of the summed {}, less is faster",
                    summary.unit.name()
                ),
                items,
            });
        }
    }
    if summary.models.len() > 1 {
        plots.push(Plot::Matrix {
            title: "Wins: how often the row is at least 10% faster than the column".into(),
            labels: summary
                .models
                .iter()
                .map(|model| model.model.clone())
                .collect(),
            cells: (summary.wins.iter())
                .map(|row| row.iter().map(|win| win.map(|win| win.rate)).collect())
                .collect(),
        });
        let points: Vec<_> = (summary.models.iter().enumerate())
            .filter_map(|(index, model)| {
                let pass = 100.0 * summary.value("pass@1", index)?;
                Some((
                    model.model.clone(),
                    pass,
                    summary.value("normalised-runtime", index)?,
                ))
            })
            .collect();
        if !points.is_empty() {
            plots.push(Plot::Points {
                title: "Passing against efficiency".into(),
                x_axis: "pass@1 in percent, more is better".into(),
                y_axis: "normalised runtime in percent, less is better".into(),
                points,
            });
        }
    }
    plots
}

impl StoredStudy {
    /// The samples with their counters and sources, those of one problem side by side.
    pub fn page_samples(&self, store: &Store) -> Vec<PageSample> {
        let memory = Memory::new(store);
        let mut samples: Vec<PageSample> = (self.rows.iter().zip(&self.sources))
            .map(|(row, source)| {
                let source = (source.as_deref())
                    .and_then(|hash| store.content(hash).ok().flatten())
                    .map_or_else(String::new, |bytes| {
                        String::from_utf8_lossy(&bytes).into_owned()
                    });
                PageSample {
                    problem: row.problem.clone(),
                    model: row.model.clone(),
                    sample: row.sample,
                    machine: row.machine.clone(),
                    accepted: row.verdict.is_accepted(),
                    verdict: row.verdict.to_string(),
                    runtime: runtime(
                        row.runtime_cpu_time_ns,
                        row.runtime_cycles,
                        row.runtime_instructions,
                    ),
                    cases: (row.cases.iter())
                        .map(|case| PageCase {
                            name: case.name.clone(),
                            runtime: runtime(case.cpu_time_ns, case.cycles, case.instructions),
                            verdict: case.verdict.as_ref().map(ToString::to_string),
                        })
                        .collect(),
                    counters: counters(&memory, row),
                    source,
                }
            })
            .collect();
        let place = |sample: &PageSample| {
            let problem = self
                .definition
                .problems
                .iter()
                .position(|id| *id == sample.problem);
            let model =
                (self.definition.models.iter()).position(|model| model.name == sample.model);
            (problem, model, sample.sample)
        };
        samples.sort_by_cached_key(place);
        samples
    }
}

fn runtime(cpu_time_ns: Option<u64>, cycles: Option<u64>, instructions: Option<u64>) -> String {
    match (cpu_time_ns, cycles, instructions) {
        (Some(time), _, _) => format!("{} ns", number::count(time)),
        (_, Some(cycles), _) => format!("{} cycles", number::count(cycles)),
        (_, _, Some(instructions)) => format!("{} instructions", number::count(instructions)),
        _ => String::new(),
    }
}

/// The counters of the sample's runs, summed over the runs (the peak of memory is the highest).
fn counters(memory: &Memory<'_>, row: &Row) -> Vec<(String, u64)> {
    let Some(run) = memory.result(&row.key) else {
        return Vec::new();
    };
    let mut sums: Vec<(String, u64)> = Vec::new();
    for measurement in run.jobs.iter().filter_map(|job| memory.measurement(job)) {
        let Ok(serde_json::Value::Object(values)) = serde_json::to_value(&measurement.counters)
        else {
            continue;
        };
        for (name, value) in values {
            let Some(value) = value.as_u64() else {
                continue;
            };
            match sums.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) if name == "peak_memory_bytes" => *sum = (*sum).max(value),
                Some((_, sum)) => *sum = sum.saturating_add(value),
                None => sums.push((name, value)),
            }
        }
    }
    sums
}
