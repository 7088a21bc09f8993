//! The threat model names a test for each claim, and the tests that it names exist.
use std::path::Path;

/// The tests that docs/isolation.md names: a file in code marks with a colon behind it, then names with commas between
/// them, over the ends of lines, up to whatever else comes.
fn named(text: &str) -> Vec<(String, String)> {
    let mut tests = Vec::new();
    for (at, _) in text.match_indices(".rs`:") {
        let start = text[..at].rfind('`').map_or(0, |mark| mark + 1);
        let file = format!("{}.rs", &text[start..at]);
        for name in text[at + ".rs`:".len()..].split(',') {
            let name = name.trim_start();
            let end =
                name.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
            let (name, rest) = name.split_at(end.unwrap_or(name.len()));
            if name.is_empty() {
                break;
            }
            tests.push((file.clone(), name.to_owned()));
            if !rest.trim().is_empty() {
                break;
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
    assert!(tests.len() > 25, "{tests:?}");
    for (file, name) in tests {
        let source =
            std::fs::read_to_string(root.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(
            source.contains(&format!("fn {name}()")),
            "{file} has no test {name}"
        );
    }
}
