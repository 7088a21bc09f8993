//! JUnit's XML reports: which classes ran, for how long, and whether they passed.
use std::collections::BTreeMap;

/// What a report says of one test class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassReport {
    /// Seconds of its test cases together.
    pub seconds: f64,
    /// Test cases that ran.
    pub passed: usize,
    /// Names of those that failed or ended in an error.
    pub failed: Vec<String>,
    /// Test cases that were skipped.
    pub skipped: usize,
}

/// Why a report cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JUnitError {
    /// Not XML.
    #[error("not XML: {0}")]
    Xml(String),
    /// XML, but not a report.
    #[error("the root element is `{0}`, not `testsuite` or `testsuites`")]
    Root(String),
    /// A test case without a usable time.
    #[error("line {line}: `time` is {value}, not a number of seconds from 0 on")]
    Time {
        /// Line of the test case.
        line: u32,
        /// The attribute.
        value: String,
    },
}

/// Reads a report: the classes by name.
///
/// Times may have commas between thousands, as Maven's Surefire writes them. A test case without `classname` belongs to
/// its suite.
///
/// # Errors
/// Not XML, not a report, or a time that is not a number: no time is ever guessed.
pub fn parse_report(text: &str) -> Result<BTreeMap<String, ClassReport>, JUnitError> {
    let document = roxmltree::Document::parse(text).map_err(|e| JUnitError::Xml(e.to_string()))?;
    let root = document.root_element();
    if !matches!(root.tag_name().name(), "testsuite" | "testsuites") {
        return Err(JUnitError::Root(root.tag_name().name().to_owned()));
    }
    let mut classes: BTreeMap<String, ClassReport> = BTreeMap::new();
    for case in root
        .descendants()
        .filter(|node| node.has_tag_name("testcase"))
    {
        let suite = case
            .parent_element()
            .and_then(|suite| suite.attribute("name"));
        let class = case.attribute("classname").or(suite).unwrap_or_default();
        let report = classes.entry(class.to_owned()).or_default();
        let has = |name: &str| case.children().any(|child| child.has_tag_name(name));
        if has("skipped") {
            report.skipped += 1;
            continue;
        }
        let value = case.attribute("time").unwrap_or_default();
        let seconds = (value.replace(',', "").parse::<f64>().ok())
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
            .ok_or_else(|| JUnitError::Time {
                line: document.text_pos_at(case.range().start).row,
                value: format!("`{value}`"),
            })?;
        report.seconds += seconds;
        if has("failure") || has("error") {
            report
                .failed
                .push(case.attribute("name").unwrap_or("?").to_owned());
        } else {
            report.passed += 1;
        }
    }
    Ok(classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_summed_by_class_and_failures_are_named() {
        let text = r#"<?xml version="1.0"?><testsuites><testsuite name="s" time="9">
            <testcase classname="a.B" name="one" time="1,000.5"/>
            <testcase classname="a.B" name="two" time="0.25"><failure message="x">trace</failure></testcase>
            <testcase classname="a.C" name="three" time="0"><skipped/></testcase>
            <testcase name="four" time="2"/></testsuite></testsuites>"#;
        let classes = parse_report(text).unwrap();
        let names: Vec<_> = classes.keys().map(String::as_str).collect();
        assert_eq!(names, ["a.B", "a.C", "s"]);
        assert_eq!(classes["a.B"].seconds, 1000.75);
        assert_eq!(classes["a.B"].failed, ["two"]);
        assert_eq!((classes["a.C"].skipped, classes["s"].passed), (1, 1));
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(matches!(parse_report("<a>"), Err(JUnitError::Xml(_))));
        assert_eq!(
            parse_report("<html/>"),
            Err(JUnitError::Root("html".into()))
        );
        let nan = "<testsuite>\n<testcase classname='c' name='n' time='NaN'/></testsuite>";
        assert!(matches!(
            parse_report(nan),
            Err(JUnitError::Time { line: 2, .. })
        ));
        assert!(parse_report("<testsuite><testcase name='n'/></testsuite>").is_err());
    }
}
