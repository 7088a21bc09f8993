//! `tickmark metrics`: tables from stored facts; nothing is built or run.
use super::args::MetricsArgs;
use super::error::CliError;
use super::store::open;
use super::{Status, output};
use crate::evaluation::{Memory, StoredStudy, page};

pub(super) fn metrics(args: &MetricsArgs) -> Result<Status, CliError> {
    let options = output::report_options(&args.report)?;
    let store = open(&args.store)?;
    let entry = store.find_study(args.study.as_deref())?;
    let study = StoredStudy::read(&Memory::new(&store), &entry)?;
    let models: Vec<&str> = (study.definition.models.iter())
        .map(|model| model.name.as_str())
        .collect();
    output::check_models(&args.report, &models)?;
    if entry.done < entry.samples {
        eprintln!(
            "warning: {} of {} samples of `{}` have no result; they are left out like failures of ours",
            entry.samples - entry.done,
            entry.samples,
            entry.name
        );
    }
    let summaries = study.summaries(&options);
    args.shown.print(&summaries, &[])?;
    args.shown
        .write_page(|| page(&summaries, study.page_samples(&store)))?;
    Ok(Status::Success)
}
