//! The threat model names a test for each claim, and the tests that it names exist.
use std::path::Path;

/// The tests that a line of docs/isolation.md names: `file`: name, name; `file`: name.
fn named(text: &str) -> Vec<(String, String)> {
    let mut tests = Vec::new();
    for line in text.lines().filter(|line| line.contains(".rs`: ")) {
        let mut file = None;
        for part in line.split(['`', ';', ',', '|', ' ', '(', ')', ':']) {
            let part = part.trim_end_matches('.');
            if part.ends_with(".rs") {
                file = Some(part.to_owned());
            } else if let Some(file) = &file
                && part.contains('_')
                && part
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            {
                tests.push((file.clone(), part.to_owned()));
            }
        }
    }
    tests
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text =
        std::fs::read_to_string(root.join("docs/isolation.md")).expect("part of the repository");
    let tests = named(&text);
    assert!(tests.len() > 20, "{tests:?}");
    for (file, name) in tests {
        let source =
            std::fs::read_to_string(root.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(
            source.contains(&format!("fn {name}()")),
            "{file} has no test {name}"
        );
    }
}
