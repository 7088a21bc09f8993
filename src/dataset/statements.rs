//! Statements of LeetCode problems, for data sets whose files have none: from LeetCodeDataset or LeetCodeEval files, or
//! from a folder of Markdown pages as collections of solutions have them, one a problem, whose first heading links to
//! the problem.
use super::json_lines::{Record, read, records};
use super::{Defect, stdio};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Deepest folder that is looked into.
const DEPTH_MAX: usize = 8;
/// Where the site has its problems; the problem's name follows.
const ADDRESS: &str = "leetcode.com/problems/";

/// Statements by the names of the problems in their addresses. The numbers that data sets have are of two kinds, so that
/// they tell nothing.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    texts: BTreeMap<String, String>,
}

impl Statements {
    /// Reads JSON-lines files (`.gz` accepted) and folders. The first statement of a problem that has constraints is
    /// taken.
    ///
    /// # Errors
    /// A path cannot be read, or holds no statement.
    pub fn of(paths: &[PathBuf]) -> Result<Self, Defect> {
        let mut statements = Self::default();
        for path in paths {
            let before = statements.texts.len();
            if path.is_dir() {
                statements.add_folder(path, 0)?;
            } else {
                statements.add_file(path)?;
            }
            if statements.texts.len() == before && before == 0 {
                return Err(Defect::of_file(
                    path.display(),
                    "holds no statement of a LeetCode problem",
                    "give a LeetCodeDataset or LeetCodeEval file, or a folder with a page a problem (docs/formats.md)",
                ));
            }
        }
        Ok(statements)
    }

    /// The statement of a problem.
    pub(super) fn get(&self, id: &str) -> Option<&str> {
        self.texts.get(id).map(String::as_str)
    }

    /// How many problems have one.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    fn add(&mut self, id: &str, text: String) {
        if text.contains("Constraints") {
            self.texts.entry(id.to_owned()).or_insert(text);
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Defect> {
        let file = path.display().to_string();
        let bytes = read(path)?;
        if path.extension().is_some_and(|extension| extension == "md") {
            self.add_page(&String::from_utf8_lossy(&bytes));
            return Ok(());
        }
        // A line that cannot be read leaves one problem without bounds; its own loader tells it.
        for record in records(&file, &bytes).flatten() {
            let id = ["task_id", "slug"]
                .iter()
                .find_map(|field| record.fields.get(*field).and_then(Json::as_str))
                .map(str::to_owned)
                .or_else(|| slug(record.fields.get("url")?.as_str()?));
            if let (Some(id), Some(text)) = (id, of_record(&record)) {
                self.add(&id, text);
            }
        }
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path, depth: usize) -> Result<(), Defect> {
        for name in stdio::entries(folder)? {
            let path = folder.join(&name);
            if path.is_dir() && depth < DEPTH_MAX {
                self.add_folder(&path, depth + 1)?;
            } else if path.extension().is_some_and(|extension| extension == "md") {
                self.add_page(&String::from_utf8_lossy(&read(&path)?));
            } else if depth == 0 && path.is_file() {
                self.add_file(&path)?;
            }
        }
        Ok(())
    }

    /// `# [18. 4Sum](https://leetcode.com/problems/4sum)`, then the statement.
    fn add_page(&mut self, page: &str) {
        let heading = page.lines().find(|line| line.starts_with("# "));
        if let Some(id) = heading.and_then(slug) {
            // Solutions follow, in sections of their own.
            let statement = page.split("\n## Solution").next().unwrap_or_default();
            self.add(&id, statement.to_owned());
        }
    }
}

/// The name of the problem in an address.
fn slug(text: &str) -> Option<String> {
    let (_, behind) = text.split_once(ADDRESS)?;
    let end = behind.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let slug = &behind[..end.unwrap_or(behind.len())];
    (!slug.is_empty()).then(|| slug.to_owned())
}

/// The statement that a row of a data set has itself.
pub(super) fn of_record(record: &Record<'_>) -> Option<String> {
    let text = |field: &str| record.fields.get(field).and_then(Json::as_str);
    if let Some(constraints) = text("constraints") {
        return Some(format!(
            "{}\n\n{constraints}",
            text("description").unwrap_or_default()
        ));
    }
    let within = record
        .fields
        .get("meta")
        .and_then(|meta| meta.get("question_title"));
    (text("problem_description").or(within.and_then(Json::as_str))).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_read_from_rows_and_pages() {
        let folder =
            std::env::temp_dir().join(format!("tickmark-statements-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("pages/0001.Two Sum")).unwrap();
        let page = "---\ntags: x\n---\n# [1. Two Sum](https://leetcode.com/problems/two-sum)\n\n<p>Constraints:</p>\n\n## Solutions\n\nConstraints: none\n";
        std::fs::write(folder.join("pages/0001.Two Sum/README_EN.md"), page).unwrap();
        let rows = [
            serde_json::json!({"task_id": "two-sum", "problem_description": "Later.\nConstraints:\n1 <= n"}),
            serde_json::json!({"task_id": "a", "meta": {"question_title": "A.\nConstraints:\n1 <= n"}}),
            serde_json::json!({"id": "leetcode_2", "url": "https://leetcode.com/problems/b-c/", "description": "B.", "constraints": "**Constraints:**\n* `1 <= n`"}),
            serde_json::json!({"task_id": "without", "problem_description": "None."}),
        ]
        .map(|row| row.to_string());
        let file = folder.join("rows.jsonl");
        std::fs::write(&file, format!("{}\nno JSON\n", rows.join("\n"))).unwrap();
        let statements = Statements::of(&[folder.join("pages"), file.clone()]).unwrap();
        assert_eq!(statements.len(), 3);
        let page = statements.get("two-sum").unwrap();
        assert!(page.contains("<p>Constraints:") && !page.contains("none"));
        assert!(statements.get("a").unwrap().starts_with("A."));
        assert_eq!(
            statements.get("b-c").unwrap(),
            "B.\n\n**Constraints:**\n* `1 <= n`"
        );
        assert!(statements.get("without").is_none());
        std::fs::write(&file, "{}").unwrap();
        let error = Statements::of(&[file]).unwrap_err().to_string();
        assert!(error.contains("holds no statement"), "{error}");
        assert!(Statements::of(&[folder.join("absent")]).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
