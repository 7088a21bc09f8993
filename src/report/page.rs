//! One self-contained page: tables, plots as inline SVG, and every sample with verdict, counters and source.
//!
//! No script, no font, no file beside it. Colours follow the reader's choice of dark or light; what colour says is also
//! said by position, shape or text.
use super::plot::{Plot, to_svg};
use super::{Cell, Table, number};
use std::fmt::Write;

/// How many cases of a sample are listed.
const CASES_SHOWN: usize = 40;

/// A page as data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// Tables and plots, one section a machine.
    pub sections: Vec<PageSection>,
    /// The samples, those of one problem side by side.
    pub samples: Vec<PageSample>,
    /// What the results come from: names and values.
    pub provenance: Vec<(String, String)>,
}

/// A part of a page with a heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageSection {
    /// Its heading.
    pub heading: String,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Its plots.
    pub plots: Vec<Plot>,
}

/// One sample of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageSample {
    /// Id of the problem.
    pub problem: String,
    /// Name of the model.
    pub model: String,
    /// Number of the sample.
    pub sample: usize,
    /// Name of the machine.
    pub machine: String,
    /// Whether it is right.
    pub accepted: bool,
    /// The verdict in words.
    pub verdict: String,
    /// The runtime in words; empty where there is none.
    pub runtime: String,
    /// The cases.
    pub cases: Vec<PageCase>,
    /// Counters of the whole runs, by name.
    pub counters: Vec<(String, u64)>,
    /// The source that was built; empty where there is none.
    pub source: String,
}

/// One case of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageCase {
    /// Its name.
    pub name: String,
    /// Its runtime in words.
    pub runtime: String,
    /// Its verdict, if it was not passed.
    pub verdict: Option<String>,
}

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c1d21; --paper: #fcfcfa; --soft: #666a73; --line: #d4d5d9;
  --fill: #2f6db5; --tint: 47, 109, 181; --good: #1b7a3d; --bad: #b3261e; --code: #f1f1ee; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e3; --paper: #16171a; --soft: #9da1aa; --line: #3a3c42;
  --fill: #7fb0ea; --tint: 127, 176, 234; --good: #7fd199; --bad: #f2938c; --code: #202227; } }
* { box-sizing: border-box; }
body { margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th { white-space: normal; vertical-align: bottom; } th:not(:first-child) { max-width: 9rem; }
th:first-child, td:first-child, .text { text-align: left; }
thead th { border-bottom: 2px solid var(--ink); }
.note { color: var(--soft); font-size: .875rem; margin: .15rem 0; }
.plots { display: flex; flex-wrap: wrap; gap: 2rem; }
figure { margin: 1rem 0; max-width: 100%; } figcaption { font-weight: 600; margin-bottom: .5rem; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg .soft { fill: var(--soft); } svg .axis { stroke: var(--soft); } svg .grid { stroke: var(--line); }
svg .bar { fill: var(--fill); } svg .mark { fill: none; stroke: var(--fill); stroke-width: 2; }
svg .whisker { stroke: var(--ink); stroke-width: 1.5; }
svg .cell { stroke: var(--line); }
details { border-bottom: 1px solid var(--line); } summary { padding: .3rem 0; cursor: pointer; }
details details { margin-left: 1.5rem; border: 0; }
.good { color: var(--good); } .bad { color: var(--bad); }
pre { background: var(--code); padding: .8rem; overflow-x: auto; font: 13px/1.45 ui-monospace, monospace; }
.from td { white-space: normal; vertical-align: top; } .from td:first-child { white-space: nowrap; }
.from code { overflow-wrap: anywhere; }
.counters { columns: 3 14rem; font-size: .875rem; } .counters div { display: flex; justify-content: space-between;
  break-inside: avoid; gap: 1rem; }
";

/// The page as HTML.
pub fn page(page: &Page) -> String {
    let mut html = String::new();
    let title = escape(&page.title);
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for section in &page.sections {
        let _ = writeln!(html, "<section>\n<h2>{}</h2>", escape(&section.heading));
        for table in &section.tables {
            write_table(&mut html, table);
        }
        html.push_str("<div class=\"plots\">\n");
        for plot in &section.plots {
            let _ = writeln!(
                html,
                "<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>",
                escape(plot.title()),
                to_svg(plot)
            );
        }
        html.push_str("</div>\n</section>\n");
    }
    if !page.samples.is_empty() {
        html.push_str("<h2>Problems</h2>\n");
        for samples in page.samples.chunk_by(|a, b| a.problem == b.problem) {
            write_problem(&mut html, samples);
        }
    }
    if !page.provenance.is_empty() {
        html.push_str("<h2>Where this comes from</h2>\n<table class=\"from\">\n<tbody>\n");
        for (name, value) in &page.provenance {
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td class=\"text\"><code>{}</code></td></tr>",
                escape(name),
                escape(value)
            );
        }
        html.push_str("</tbody>\n</table>\n");
    }
    html.push_str("</body>\n</html>\n");
    html
}

fn write_table(html: &mut String, table: &Table) {
    if !table.title.is_empty() {
        let _ = writeln!(html, "<h3>{}</h3>", escape(&table.title));
    }
    html.push_str("<table>\n<thead><tr>");
    for head in &table.columns {
        let _ = write!(html, "<th>{}</th>", escape(head));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for cell in row {
            // Words stand left, and what begins like a number right.
            let words = |text: &str| !text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let class = if matches!(cell, Cell::Text(text) if words(text)) {
                " class=\"text\""
            } else {
                ""
            };
            let _ = write!(html, "<td{class}>{}</td>", escape(&cell.shown()));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n");
    for note in &table.notes {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(note));
    }
}

fn write_problem(html: &mut String, samples: &[PageSample]) {
    let right = samples.iter().filter(|sample| sample.accepted).count();
    let _ = writeln!(
        html,
        "<details>\n<summary><b>{}</b> <span class=\"note\">{right} of {} accepted</span></summary>",
        escape(&samples[0].problem),
        samples.len()
    );
    let mut last_source = "";
    for sample in samples {
        let (class, mark) = if sample.accepted {
            ("good", "\u{2713}")
        } else {
            ("bad", "\u{2717}")
        };
        let _ = writeln!(
            html,
            "<details>\n<summary>{} sample {} on {}: <span class=\"{class}\">{mark} {}</span> {}</summary>",
            escape(&sample.model),
            sample.sample,
            escape(&sample.machine),
            escape(&sample.verdict),
            escape(&sample.runtime)
        );
        if !sample.cases.is_empty() {
            html.push_str("<table>\n<thead><tr><th>case</th><th>runtime</th><th>verdict</th></tr></thead>\n<tbody>\n");
            for case in sample.cases.iter().take(CASES_SHOWN) {
                let _ = writeln!(
                    html,
                    "<tr><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>",
                    escape(&case.name),
                    escape(&case.runtime),
                    escape(case.verdict.as_deref().unwrap_or("passed"))
                );
            }
            html.push_str("</tbody>\n</table>\n");
            if sample.cases.len() > CASES_SHOWN {
                let _ = writeln!(
                    html,
                    "<p class=\"note\">and {} more cases</p>",
                    sample.cases.len() - CASES_SHOWN
                );
            }
        }
        if !sample.counters.is_empty() {
            html.push_str("<div class=\"counters\">\n");
            for (name, value) in &sample.counters {
                let _ = writeln!(
                    html,
                    "<div><span>{}</span><span>{}</span></div>",
                    escape(name),
                    number::count(*value)
                );
            }
            html.push_str("</div>\n");
        }
        // On several machines the same source stands once.
        if !sample.source.is_empty() && sample.source != last_source {
            let _ = writeln!(html, "<pre>{}</pre>", escape(&sample.source));
        }
        last_source = &sample.source;
        html.push_str("</details>\n");
    }
    html.push_str("</details>\n");
}

/// Text as HTML and as SVG. Control characters other than line feeds and tabs are no characters of HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_wrote_is_shown_and_never_run() {
        let html = page(&Page {
            title: "a < b".into(),
            samples: vec![PageSample {
                problem: "<script>alert(1)</script>".into(),
                verdict: "test failed: \"</pre>\"\u{1b}".into(),
                source: "</pre><img src=x onerror=alert(1)>".into(),
                ..PageSample::default()
            }],
            ..Page::default()
        });
        assert!(
            !html.contains("<script") && !html.contains("<img"),
            "{html}"
        );
        assert!(html.contains("&lt;/pre&gt;&lt;img src=x onerror=alert(1)&gt;"));
        assert!(html.contains("<title>a &lt; b</title>"));
        assert!(!html.contains('\u{1b}'));
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let html = page(&Page {
            title: "t".into(),
            sections: vec![PageSection {
                heading: "m".into(),
                tables: vec![Table::default()],
                plots: vec![Plot::Bars {
                    title: "bars".into(),
                    axis: "percent".into(),
                    items: vec![("a".into(), 1.0, None)],
                }],
            }],
            ..Page::default()
        });
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("url("));
        assert!(html.contains("<svg "));
    }
}
