//! Samples: models' answers, from JSON lines (`.gz` accepted) or from folders `HumanEval_0/0.py`.
//!
//! An object has `task_id` (or `id`) and `solution`, which stands alone, or `completion`, which continues the prompt;
//! where both stand, `solution` counts. Several answers to a problem keep the order of the file. An empty answer is a
//! sample, which fails.
use super::Answer;
use crate::dataset::json_lines::{self, Record};
use crate::dataset::leetcode_dataset::codes;
use crate::dataset::{Defect, Language, Problem};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Longest answer that is accepted, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The answers of one model.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Answers by problem id, each in the order of the file.
    pub answers: BTreeMap<String, Vec<Answer>>,
    /// How many answers there are to each task that the data set does not have.
    pub unknown_tasks: BTreeMap<String, usize>,
    /// Lines and files that are no samples, and why.
    pub refused: Vec<Defect>,
}

impl Imported {
    fn add(&mut self, ids: &Ids<'_>, id: String, answer: Answer) {
        match ids.find(&id) {
            Some(id) => self.answers.entry(id.into()).or_default().push(answer),
            None => *self.unknown_tasks.entry(id).or_default() += 1,
        }
    }
}

/// The ids of a data set, found by other spellings too.
///
/// People write `Mbpp/2`, `MbppEval/2`, `MBPP_2` or `2` for `MBPP/2`. A spelling that fits two ids fits none.
struct Ids<'a> {
    exact: BTreeSet<&'a str>,
    /// By spelling; `None` where two ids share it.
    by_spelling: BTreeMap<String, Option<&'a str>>,
}

impl<'a> Ids<'a> {
    fn of(problems: &'a [Problem]) -> Self {
        let exact: BTreeSet<&str> = problems.iter().map(|problem| problem.id.as_str()).collect();
        let mut by_spelling: BTreeMap<String, Option<&str>> = BTreeMap::new();
        for &id in &exact {
            let folded = fold(id);
            let number = (folded.rsplit_once('/')).map(|(_, number)| number.to_owned());
            for spelling in std::iter::once(folded).chain(number) {
                (by_spelling.entry(spelling))
                    .and_modify(|found| *found = None)
                    .or_insert(Some(id));
            }
        }
        Self { exact, by_spelling }
    }

    fn find(&self, id: &str) -> Option<&'a str> {
        self.exact
            .get(id)
            .copied()
            .or_else(|| self.by_spelling.get(&fold(id)).copied().flatten())
    }
}

/// Small letters, `_` as `/`, without what versions of a data set add to its name.
fn fold(id: &str) -> String {
    let id = id.to_lowercase().replace('_', "/");
    match id.split_once('/') {
        Some((name, rest)) => {
            let name = (name.strip_suffix("eval"))
                .filter(|name| *name == "mbpp")
                .unwrap_or(name);
            format!("{}/{rest}", name.strip_suffix("plus").unwrap_or(name))
        }
        None => id,
    }
}

/// Reads the answers to `problems` from a file or folder. `model` chooses among sets of answers in one file.
///
/// # Errors
/// The path cannot be read, or holds no sample of any task.
pub fn import(path: &Path, problems: &[Problem], model: &str) -> Result<Imported, Defect> {
    let imported = if path.is_dir() {
        import_folder(path, problems)?
    } else {
        let bytes = json_lines::read(path)?;
        import_bytes(&path.display().to_string(), &bytes, problems, model)
    };
    if imported.answers.is_empty() && imported.unknown_tasks.is_empty() {
        return Err(imported.refused.into_iter().next().unwrap_or_else(|| {
            let remedy = "write JSON lines with `task_id` and `completion` or `solution`";
            Defect::of_file(path.display(), "holds no sample", remedy)
        }));
    }
    Ok(imported)
}

/// Reads the answers from the bytes of a JSON-lines file; `file` is its name in messages, `model` as for [`import`].
pub fn import_bytes(file: &str, bytes: &[u8], problems: &[Problem], model: &str) -> Imported {
    let ids = Ids::of(problems);
    let language = problems.first().map_or(Language::Cpp, |p| p.language);
    let mut imported = Imported::default();
    for record in json_lines::records(file, bytes) {
        let read = record.and_then(|record| match several(&record, &ids, model, language)? {
            Some(answers) => Ok(answers),
            None => sample(record).map(|sample| vec![sample]),
        });
        match read {
            Ok(answers) => {
                for (id, answer) in answers {
                    imported.add(&ids, id, answer);
                }
            }
            Err(defect) => imported.refused.push(defect),
        }
    }
    imported
}

/// The answers of a row with several: `completions`, or sets of sources by language and by who wrote them
/// (`{"cpp": {"someone/repository": [{"code": "..."}]}}`), of which `model` names one, whole or up to the `/`. `None`
/// for a row with one answer.
fn several(
    record: &Record<'_>,
    ids: &Ids<'_>,
    model: &str,
    language: Language,
) -> Result<Option<Vec<(String, Answer)>>, Defect> {
    let id_of = |fields: &[&str]| {
        let mut names = Vec::new();
        for field in fields {
            match record.fields.get(*field) {
                Some(Value::String(text)) => names.push(text.clone()),
                Some(Value::Number(number)) => {
                    names.push(number.to_string());
                    names.push(format!("leetcode/{number}"));
                }
                _ => {}
            }
        }
        let known = names.iter().find(|name| ids.find(name).is_some());
        known.or(names.first()).cloned().ok_or_else(|| {
            let remedy = "add `\"task_id\": \"...\"` to the object";
            record
                .defect("has no id", remedy)
                .in_field(fields.first().unwrap_or(&""))
        })
    };
    if let Some(Value::Array(completions)) = record.fields.get("completions") {
        let id = id_of(&["task_id", "id", "name"])?;
        let texts = completions.iter().filter_map(Value::as_str);
        let answers = texts.map(|text| (id.clone(), Answer::Completion(text.into())));
        return Ok(Some(answers.collect()));
    }
    let key = match language {
        Language::Cpp => "cpp",
        Language::Python => "python",
    };
    let Some(Value::Object(sets)) = record.fields.get(key) else {
        return Ok(None);
    };
    let id = id_of(&["task_id", "id", "slug", "question_id"])?;
    let set =
        (sets.iter()).find(|(name, _)| *name == model || name.split('/').next() == Some(model));
    let answers = set.into_iter().flat_map(|(_, set)| codes(set));
    Ok(Some(
        answers
            .map(|code| (id.clone(), Answer::Solution(code.into())))
            .collect(),
    ))
}

fn sample(mut record: Record<'_>) -> Result<(String, Answer), Defect> {
    let id = match (record.fields.get("task_id")).or_else(|| record.fields.get("id")) {
        // MBPP numbers its tasks.
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(id)) => id.clone(),
        Some(_) => {
            let remedy = "write the id of the problem as text";
            return Err(record.defect("not text", remedy).in_field("task_id"));
        }
        None => {
            let remedy = "add `\"task_id\": \"...\"` to the object";
            return Err(record
                .defect("the field is missing", remedy)
                .in_field("task_id"));
        }
    };
    for field in ["solution", "completion"] {
        match record.fields.get_mut(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => {
                let text = std::mem::take(text);
                check_size(&text).map_err(|(reason, remedy)| {
                    record
                        .defect(reason, remedy)
                        .of_problem(&id)
                        .in_field(field)
                })?;
                let answer = if field == "solution" {
                    Answer::Solution(text)
                } else {
                    Answer::Completion(text)
                };
                return Ok((id, answer));
            }
            Some(_) => {
                let defect = record.defect("not text", "write the answer as a JSON string");
                return Err(defect.of_problem(&id).in_field(field));
            }
        }
    }
    let reason = "neither `completion` nor `solution` is there";
    let remedy =
        "write the answer as `solution` (stands alone) or `completion` (continues the prompt)";
    Err(record.defect(reason, remedy).of_problem(&id))
}

fn check_size(text: &str) -> Result<(), (String, &'static str)> {
    if text.len() <= ANSWER_BYTES_MAX {
        return Ok(());
    }
    let reason = format!(
        "the answer has {} bytes; at most {ANSWER_BYTES_MAX} are accepted",
        text.len()
    );
    Err((reason, "shorten the answer or remove the sample"))
}

/// `HumanEval_0/0.py`: the folder's name is the task id with `/` as `_`, the file's name the number of the sample.
fn import_folder(path: &Path, problems: &[Problem]) -> Result<Imported, Defect> {
    let ids = Ids::of(problems);
    let mut imported = Imported::default();
    for folder in entries(path)? {
        let task = path.join(&folder);
        if !task.is_dir() {
            continue;
        }
        let mut files: Vec<(u64, String)> = (entries(&task)?.into_iter())
            .filter_map(|name| {
                let (stem, extension) = name.rsplit_once('.')?;
                let is_source = matches!(extension, "py" | "cpp" | "cc" | "cxx");
                is_source.then_some(())?;
                Some((stem.parse().ok()?, name))
            })
            .collect();
        files.sort_unstable();
        let id = ids.find(&folder).unwrap_or(&folder);
        for (_, name) in files {
            match read_source(&task.join(name)) {
                Ok(text) => imported.add(&ids, id.into(), Answer::Solution(text)),
                Err(defect) => imported.refused.push(defect.of_problem(id)),
            }
        }
    }
    Ok(imported)
}

fn read_source(path: &Path) -> Result<String, Defect> {
    let defect = |reason: String, remedy: &str| Defect::of_file(path.display(), reason, remedy);
    let bytes = std::fs::read(path)
        .map_err(|error| defect(format!("cannot read it: {error}"), "make it readable"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        defect(format!("invalid UTF-8 at byte {at}"), "write it in UTF-8")
    })?;
    check_size(&text).map_err(|(reason, remedy)| defect(reason, remedy))?;
    Ok(text)
}

fn entries(path: &Path) -> Result<Vec<String>, Defect> {
    let unreadable = |error: std::io::Error| {
        let reason = format!("cannot list it: {error}");
        Defect::of_file(path.display(), reason, "check path and permissions")
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Form;

    fn problems() -> Vec<Problem> {
        ["HumanEval/0", "HumanEval/1"]
            .map(|id| Problem {
                id: id.into(),
                language: Language::Python,
                form: Form::Program { cases: Vec::new() },
                canonical: None,
                judging: crate::verdict::Judging::default(),
            })
            .into()
    }

    #[test]
    fn answers_keep_their_order_and_unknown_tasks_are_counted() {
        let text = "{\"task_id\": \"HumanEval/0\", \"completion\": \"a\"}\n\
                    {\"task_id\": \"HumanEval/0\", \"completion\": \"\", \"solution\": \"b\"}\n\
                    {\"task_id\": \"HumanEval/0\", \"completion\": \"\"}\n\
                    {\"task_id\": \"HumanEval/9\", \"completion\": \"c\"}\n\
                    {\"task_id\": \"HumanEval/9\", \"completion\": \"c\"}\n";
        let imported = import_bytes("s", text.as_bytes(), &problems(), "m");
        assert_eq!(
            imported.answers["HumanEval/0"],
            [
                Answer::Completion("a".into()),
                Answer::Solution("b".into()),
                Answer::Completion(String::new())
            ]
        );
        assert_eq!(imported.unknown_tasks["HumanEval/9"], 2);
        assert!(imported.refused.is_empty());
    }

    #[test]
    fn a_row_can_have_several_answers_or_sets_of_them() {
        let text = "{\"name\": \"HumanEval_0_f\", \"task_id\": \"HumanEval/0\", \"completions\": [\"a\", \"b\"]}\n\
                    {\"slug\": \"x\", \"question_id\": 0, \"task_id\": \"HumanEval/1\", \"python\": {\"me/repo\": [{\"code\": \"c\"}], \
                    \"you/repo\": [{\"code\": \"d\"}, {\"code\": \"e\"}]}}\n";
        let imported = import_bytes("s", text.as_bytes(), &problems(), "you");
        assert_eq!(
            imported.answers["HumanEval/0"],
            [
                Answer::Completion("a".into()),
                Answer::Completion("b".into())
            ]
        );
        assert_eq!(
            imported.answers["HumanEval/1"],
            [Answer::Solution("d".into()), Answer::Solution("e".into())]
        );
        let other = import_bytes("s", text.as_bytes(), &problems(), "nobody");
        assert!(!other.answers.contains_key("HumanEval/1"));
    }

    #[test]
    fn other_spellings_of_an_id_find_it() {
        let mut problems = problems();
        problems[0].id = "MBPP/2".into();
        problems[1].id = "other/2".into();
        let ids = Ids::of(&problems);
        for spelling in ["MBPP/2", "Mbpp/2", "MbppEval/2", "MBPP_2", "mbppplus/2"] {
            assert_eq!(ids.find(spelling), Some("MBPP/2"), "{spelling}");
        }
        // Two problems have this number.
        assert_eq!(ids.find("2"), None);
        problems[1].id = "other/3".into();
        assert_eq!(Ids::of(&problems).find("2"), Some("MBPP/2"));
    }

    #[test]
    fn lines_that_are_no_samples_are_refused_with_their_place() {
        let text = "{\"task_id\": \"HumanEval/0\"}\n{\"completion\": \"a\"}\nnonsense\n\
                    {\"task_id\": \"HumanEval/1\", \"completion\": 7}\n\
                    {\"task_id\": \"HumanEval/1\", \"completion\": \"\\u0000\"}\n";
        let imported = import_bytes("s", text.as_bytes(), &problems(), "m");
        let messages: Vec<_> = imported.refused.iter().map(Defect::to_string).collect();
        assert!(messages[0].contains("line 1, problem `HumanEval/0`: neither"));
        assert!(messages[1].contains("line 2, field `task_id`: the field is missing"));
        assert!(messages[2].contains("line 3: invalid JSON"));
        assert!(messages[3].contains("line 4, problem `HumanEval/1`, field `completion`"));
        // A NUL inside an answer is the model's text: the compiler or interpreter refuses it.
        assert_eq!(imported.answers["HumanEval/1"].len(), 1);
    }

    #[test]
    fn an_answer_of_50_megabytes_is_accepted_and_a_longer_one_refused() {
        let line = |bytes: usize| {
            let answer = "x".repeat(bytes);
            format!("{{\"task_id\": \"HumanEval/0\", \"completion\": \"{answer}\"}}")
        };
        let imported = import_bytes("s", line(50_000_000).as_bytes(), &problems(), "m");
        assert_eq!(imported.answers["HumanEval/0"][0].text().len(), 50_000_000);
        let imported = import_bytes("s", line(ANSWER_BYTES_MAX + 1).as_bytes(), &problems(), "m");
        assert!(imported.refused[0].to_string().contains("at most 67108864"));
    }

    #[test]
    fn folders_of_sources_are_read_in_numeric_order() {
        let root = std::env::temp_dir().join(format!("tickmark-samples-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let task = root.join("HumanEval_0");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::create_dir_all(root.join("HumanEval_7")).unwrap();
        for (name, text) in [("10.py", "ten"), ("2.py", "two"), ("notes.txt", "")] {
            std::fs::write(task.join(name), text).unwrap();
        }
        std::fs::write(task.join("3.py"), b"\xff").unwrap();
        std::fs::write(root.join("HumanEval_7/0.py"), "x").unwrap();
        let imported = import(&root, &problems(), "m").unwrap();
        let answers: Vec<_> = imported.answers["HumanEval/0"]
            .iter()
            .map(Answer::text)
            .collect();
        assert_eq!(answers, ["two", "ten"]);
        assert_eq!(imported.unknown_tasks["HumanEval_7"], 1);
        assert!(imported.refused[0].to_string().contains("invalid UTF-8"));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
