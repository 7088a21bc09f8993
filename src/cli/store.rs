//! `tickmark store`: what a store holds, as a list, as text, and less of it.
use super::args::{ExportFormat, StoreCommand};
use super::error::CliError;
use super::{Status, print_data};
use crate::evaluation::{Memory, Row, StoredStudy};
use crate::report::{Cell, Table as ReportTable, number, to_text};
use crate::store::{Store, Table, Tables};
use serde_json::json;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// Opens the store of a file, or of a folder of results; it must be there.
pub(super) fn open(path: &Path) -> Result<Store, CliError> {
    let file = if path.is_dir() {
        path.join("store.sqlite")
    } else {
        path.to_owned()
    };
    // An empty file is what SQLite would make a store of.
    if !std::fs::metadata(&file).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Err(CliError::usage(
            format!("there is no store `{}`", file.display()),
            "give the file of `--store` or the folder of `--out`",
        ));
    }
    Ok(Store::open(&file)?)
}

pub(super) fn store(command: &StoreCommand) -> Result<Status, CliError> {
    match command {
        StoreCommand::Show { store, json } => show(&open(store)?, *json),
        StoreCommand::Export {
            store,
            format,
            table,
            study,
        } => match study {
            Some(study) => export_rows(&open(store)?, study, *format),
            None => export(&open(store)?, *format, table.as_deref()),
        },
        StoreCommand::Prune { store, studies, .. } => prune(&open(store)?, studies),
    }
}

fn show(store: &Store, json: bool) -> Result<Status, CliError> {
    let studies = store.studies()?;
    if json {
        let lines = studies.iter().map(|study| {
            let definition: serde_json::Value =
                serde_json::from_str(&study.blob).unwrap_or_default();
            let object = json!({
                "study": study.name, "key": study.key, "samples": study.samples, "done": study.done,
                "definition": definition,
            });
            format!("{object}\n")
        });
        print_data(lines.collect::<String>())?;
        return Ok(Status::Success);
    }
    let names = |blob: &str, list: &str| -> String {
        let definition: serde_json::Value = serde_json::from_str(blob).unwrap_or_default();
        let names = definition[list].as_array().into_iter().flatten();
        let names: Vec<&str> = names
            .filter_map(|one| one.as_str().or(one["name"].as_str()))
            .collect();
        names.join(", ")
    };
    let table = ReportTable {
        title: String::new(),
        columns: ["study", "key", "samples", "done", "machines", "models"]
            .map(String::from)
            .into(),
        rows: (studies.iter())
            .map(|study| {
                vec![
                    Cell::Text(study.name.clone()),
                    Cell::Text(study.key.chars().take(12).collect()),
                    Cell::Count(study.samples),
                    Cell::Count(study.done),
                    Cell::Text(names(&study.blob, "machines")),
                    Cell::Text(names(&study.blob, "models")),
                ]
            })
            .collect(),
        notes: Vec::new(),
    };
    print_data(to_text(&table))?;
    Ok(Status::Success)
}

fn export(store: &Store, format: ExportFormat, table: Option<&str>) -> Result<Status, CliError> {
    let tables: Vec<Table> = match table {
        None => Tables::ALL.into(),
        Some(name) => {
            let found = Tables::ALL.into_iter().find(|table| table.name() == name);
            vec![found.ok_or_else(|| {
                let names = Tables::ALL.map(Table::name).join(", ");
                CliError::usage(
                    format!("there is no table `{name}`"),
                    format!("the tables are {names}"),
                )
            })?]
        }
    };
    if format == ExportFormat::Csv && tables.len() > 1 {
        return Err(CliError::usage(
            "CSV holds one table",
            "name it with `--table`, or leave `--format csv` out for JSON lines of all",
        ));
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    for table in tables {
        let written = match format {
            ExportFormat::Jsonl => store.export_json_lines(table, &mut out)?,
            ExportFormat::Csv => store.export_csv(table, &mut out)?,
        };
        match written.and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Status::Success),
            Err(error) => {
                return Err(CliError {
                    message: format!("cannot write to standard output: {error}"),
                    hint: "check the disk or the program that it goes to".to_owned(),
                    status: Status::Failure,
                });
            }
            Ok(()) => {}
        }
    }
    Ok(Status::Success)
}

fn export_rows(store: &Store, study: &str, format: ExportFormat) -> Result<Status, CliError> {
    let entry = store.find_study(Some(study))?;
    let study = StoredStudy::read(&Memory::new(store), &entry)?;
    print_data(match format {
        ExportFormat::Jsonl => study.rows.iter().map(Row::to_json_line).collect::<String>(),
        ExportFormat::Csv => rows_csv(&study.rows),
    })?;
    Ok(Status::Success)
}

/// A sample a line; what its cases took stands in the JSON lines.
fn rows_csv(rows: &[Row]) -> String {
    let cell = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
    let mut text = String::from(
        "problem,model,sample,machine,verdict,runtime_cycles,runtime_instructions,runtime_cpu_time_ns,cases,\
         total_cycles,total_instructions,peak_memory_bytes\r\n",
    );
    for row in rows {
        let total = row.total.unwrap_or_default();
        let cells = [
            number::csv(&row.problem),
            number::csv(&row.model),
            row.sample.to_string(),
            number::csv(&row.machine),
            row.verdict.kind().to_owned(),
            cell(row.runtime_cycles),
            cell(row.runtime_instructions),
            cell(row.runtime_cpu_time_ns),
            row.cases.len().to_string(),
            cell(total.cycles),
            cell(total.instructions),
            cell(row.total.map(|total| total.peak_memory_bytes)),
        ];
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

fn prune(store: &Store, names: &[String]) -> Result<Status, CliError> {
    let mut keys = Vec::new();
    for name in names {
        keys.push(store.find_study(Some(name))?.key);
    }
    let pruned = store.prune(&keys)?;
    eprintln!(
        "removed {} studies, {} results, {} measurements and {} contents",
        pruned.studies, pruned.results, pruned.measurements, pruned.contents
    );
    Ok(Status::Success)
}
