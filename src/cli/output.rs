//! What `evaluate`, `demo` and `metrics` print and write: tables in every form, and the page.
use super::args::{FormatChoice, ReportArgs, ShownArgs};
use super::error::CliError;
use super::{Status, print_data};
use crate::evaluation::{ReportOptions, Row, Summary};
use crate::metric::{Metric, Settings};
use crate::report::{self, Table};

/// The metrics and the population that the options say.
pub(super) fn report_options(args: &ReportArgs) -> Result<ReportOptions, CliError> {
    let usage = |error: String| CliError::usage(error, "docs/metrics.md describes the metrics");
    if args.k.contains(&0) {
        return Err(CliError::usage(
            "`--k 0` is out of range",
            "give numbers of samples from 1 on",
        ));
    }
    let mut metrics: Vec<Metric> = args.k.iter().map(|&k| Metric::PassAtK(k)).collect();
    for name in &args.metrics {
        let metric = name.trim().parse().map_err(usage)?;
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    if args.metrics.is_empty() {
        if metrics.is_empty() {
            metrics.push(Metric::PassAtK(1));
        }
        metrics.push(Metric::NormalisedRuntime);
    }
    Ok(ReportOptions {
        metrics,
        aggregate: args.aggregate.parse().map_err(usage)?,
        exclude: args.exclude.clone(),
        reference: args.reference.clone(),
        pairwise: args.pairwise,
        stability: args.stability,
        intervals: args.intervals,
        settings: Settings {
            resamples: args.resamples as usize,
            seed: args.bootstrap_seed,
            ..Settings::default()
        },
    })
}

/// A model that an option names must be there.
pub(super) fn check_models(args: &ReportArgs, models: &[&str]) -> Result<(), CliError> {
    for name in args.exclude.iter().chain(&args.reference) {
        if !models.contains(&name.as_str()) {
            return Err(CliError::usage(
                format!("there is no model `{name}`"),
                format!("the models are {}", models.join(", ")),
            ));
        }
    }
    if !models.is_empty()
        && models
            .iter()
            .all(|model| args.exclude.iter().any(|name| name == model))
    {
        return Err(CliError::usage(
            "`--exclude` leaves no model",
            "leave out fewer",
        ));
    }
    Ok(())
}

impl ShownArgs {
    /// The form, whichever way it was asked for.
    pub(super) fn form(&self) -> FormatChoice {
        match (self.json, self.markdown) {
            (true, _) => FormatChoice::Json,
            (_, true) => FormatChoice::Markdown,
            _ => self.format,
        }
    }

    /// Prints the summaries; `rows` come before them in JSON.
    pub(super) fn print(&self, summaries: &[Summary], rows: &[Row]) -> Result<(), CliError> {
        let form = self.form();
        if form == FormatChoice::Json {
            let rows = rows.iter().map(Row::to_json_line);
            let last = summaries.iter().map(Summary::to_json_line);
            return print_data(rows.chain(last).collect::<String>());
        }
        for summary in summaries {
            let mut tables = summary.to_tables();
            if summaries.len() > 1 {
                let machine = format!("machine {}", summary.machine);
                let title = &mut tables[0].title;
                *title = if title.is_empty() {
                    machine
                } else {
                    format!("{title}, {machine}")
                };
            }
            for (index, table) in tables.iter().enumerate() {
                if index > 0 {
                    print_data("\n")?;
                }
                print_data(rendered(table, form))?;
            }
            if summaries.len() > 1 && form != FormatChoice::Csv {
                print_data("\n")?;
            }
        }
        Ok(())
    }

    /// Writes the page, if it is asked for.
    pub(super) fn write_page(&self, page: impl FnOnce() -> String) -> Result<(), CliError> {
        let Some(path) = &self.html else {
            return Ok(());
        };
        std::fs::write(path, page()).map_err(|error| CliError {
            message: format!("cannot write `{}`: {error}", path.display()),
            hint: "choose a file that can be written with `--html`".into(),
            status: Status::Failure,
        })?;
        eprintln!("the page is in {}", path.display());
        Ok(())
    }
}

fn rendered(table: &Table, form: FormatChoice) -> String {
    match form {
        FormatChoice::Text | FormatChoice::Json => report::to_text(table),
        FormatChoice::Markdown => report::to_markdown(table),
        FormatChoice::Latex => report::to_latex(table),
        FormatChoice::Csv => report::to_csv(table),
    }
}
