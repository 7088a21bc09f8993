//! ENAMEL: HumanEval's problems with generators of large inputs, in a CSV file: `task_id`, `prompt`, `entry_point`,
//! `input_generator`, `input_levels`, `reference_solution`, `checker`.
//!
//! Quirks:
//! - A generator is `generate_input(size, level, case)`; inputs are made by it in the simulator, with a fixed seed: 8
//!   of level 0 and 4 of each level above. `L2.1` is case 1 of level 2.
//! - Generators use functions that stand in the benchmark's program and not in the file (`rand_parens`, `rand_primality`,
//!   `rand_probably_prime`). Ours do the same job, so that inputs are of the same kind and size but not the same.
//! - A checker is `__check(input, answer, output)`; it is run in the simulator too.
use super::humaneval::is_identifier;
use super::signature::Target;
use super::{Calls, Collector, Defect, Form, Generator, Language, Loaded, Problem};
use crate::verdict::{Checker, Judging};
use std::collections::BTreeMap;

/// Cases of each level.
const CASES: [u32; 4] = [8, 4, 4, 4];

/// What generators and checkers take for granted.
const HELPERS: &str = "\
import math
import random
import string

def rand_parens(size, sep='', valid=True, par='()'):
    size = max(2, size // 2 * 2)
    depth, parts = 0, []
    for left in range(size, 0, -1):
        opens = depth == 0 or depth < left and random.random() < 0.5
        depth += 1 if opens else -1
        parts.append(par[0] if opens else par[1])
        if depth == 0 and left > 1:
            parts.append(sep)
    if not valid:
        places = [place for place, part in enumerate(parts) if part]
        place = random.choice(places)
        parts[place] = par[1] if parts[place] == par[0] else par[0]
    return ''.join(parts)

def _is_prime(n):
    return n >= 2 and all(n % d for d in range(2, math.isqrt(n) + 1))

def rand_probably_prime(low, high=None):
    low, high = (2, max(2, low)) if high is None else (low, max(low, high))
    n = random.randint(low, high)
    while n > low and not _is_prime(n):
        n -= 1
    while not _is_prime(n):
        n += 1
    return n

def rand_primality(size, lid, cid):
    root = max(2, math.isqrt(size))
    if lid == 0 and cid < 4:
        return (4, 9, rand_probably_prime(size), 2 * random.randint(2, max(2, size // 2)))[cid]
    if cid % 4 == 0:
        return rand_probably_prime(max(2, root - 20), root) * rand_probably_prime(max(2, root - 20), root)
    if cid % 4 == 1:
        return rand_probably_prime(root) ** 2
    return rand_probably_prime(max(2, size // 2), size) if cid % 4 == 2 else random.randint(4, max(4, size // 2)) * 2

";

/// Reads cases as a checker gets them and asks `__check`.
const CHECK: &str = "
import sys
_data = sys.stdin.buffer
_names = {'nan': float('nan'), 'inf': float('inf')}
while True:
    _line = _data.readline()
    if not _line:
        break
    _texts = [_data.read(int(size)) for size in _line.split()]
    _data.readline()
    try:
        _values = [eval(text, dict(_names)) for text in _texts]
    except SyntaxError:
        print('wrong no value')
        continue
    print('accepted' if __check(*_values) else 'wrong')
";

/// Reads the problems of a file.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Loaded {
    let mut collector = Collector::default();
    let text = String::from_utf8_lossy(bytes);
    let mut rows = rows(&text).into_iter();
    let names = rows.next().map_or(Vec::new(), |(_, names)| names);
    for (line, fields) in rows {
        let row: BTreeMap<&str, &str> = (names.iter().map(String::as_str))
            .zip(fields.iter().map(String::as_str))
            .collect();
        let defect = |reason: String| {
            Defect::of_file(file, reason, "take the file as its authors give it").at_line(line)
        };
        let read = match row.get("task_id") {
            Some(id) => problem(&row, id).map_err(|reason| defect(reason).of_problem(id)),
            None => Err(defect("has no `task_id`".into())),
        };
        collector.add(file, format!("line {line}"), read);
    }
    collector.loaded
}

fn problem(row: &BTreeMap<&str, &str>, id: &str) -> Result<Problem, String> {
    let field = |name: &str| {
        (row.get(name).copied().filter(|text| !text.is_empty()))
            .ok_or_else(|| format!("`{name}` is missing"))
    };
    let entry_point = field("entry_point")?;
    if !is_identifier(entry_point) {
        return Err(format!("`{entry_point}` is not a name"));
    }
    let (prompt, solution) = (field("prompt")?, field("reference_solution")?);
    let levels: Result<Vec<u64>, _> = field("input_levels")?
        .split_whitespace()
        .map(str::parse)
        .collect();
    let levels = levels.map_err(|_| "`input_levels` are no numbers".to_owned())?;
    let wanted = CASES.iter().zip(&levels).enumerate();
    let (list, names): (Vec<String>, Vec<String>) = wanted
        .flat_map(|(level, (cases, size))| {
            (0..*cases).map(move |case| {
                let call = format!("({size}, {level}, {case})");
                (call, format!("L{level}.{case}"))
            })
        })
        .unzip();
    let whole = format!("{prompt}\n{solution}");
    let source = format!(
        "{HELPERS}{whole}\n{}\nrandom.seed(20240601)\nfor _size, _level, _case in [{}]:\n    \
         print(list(generate_input(_size, _level, _case)))\n",
        field("input_generator")?,
        list.join(", ")
    );
    Ok(Problem {
        id: id.into(),
        language: Language::Python,
        form: Form::Calls(Calls {
            target: Target::Function(entry_point.to_owned()),
            prompt: format!("{prompt}\n"),
            preface: String::new(),
            template: None,
            cases: Vec::new(),
            generator: Some(Generator { source, names }),
        }),
        canonical: Some(solution.to_owned()),
        judging: Judging::Checker(Checker {
            language: Language::Python,
            source: format!("{whole}\n{}\n{CHECK}", field("checker")?),
        }),
    })
}

/// The rows of a CSV text with the line on which each begins; quoted fields may hold line feeds.
fn rows(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut rows = Vec::new();
    let (mut fields, mut field) = (Vec::new(), String::new());
    let (mut quoted, mut line, mut start) = (false, 1, 1);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        line += usize::from(letter == '\n');
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                fields.push(std::mem::take(&mut field));
                rows.push((start, std::mem::take(&mut fields)));
                start = line;
            }
            other => field.push(other),
        }
    }
    if !field.is_empty() || !fields.is_empty() {
        fields.push(field);
        rows.push((start, fields));
    }
    rows.retain(|(_, fields)| fields.iter().any(|field| !field.is_empty()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "task_id,prompt,input_generator,input_levels,reference_solution,checker,entry_point\n";

    #[test]
    fn a_row_gives_a_generator_and_a_checker() {
        let row = "HumanEval/0,\"def f(a):\n    \"\"\"\"\"\"Doc, \"\"\"\"\"\"\",\"def generate_input(size, lid, cid):\n    return [size],\n\",\
                   1 2 3 4,\"    return a\n\",\"def __check(input, answer, output):\n    return True\n\",f\n";
        let loaded = parse("f", format!("{HEAD}{row}HumanEval/1,p,,,,,f\n").as_bytes());
        let problem = &loaded.problems[0];
        let Form::Calls(calls) = &problem.form else {
            panic!("no calls");
        };
        let generator = calls.generator.as_ref().unwrap();
        let source = &generator.source;
        assert!(source.contains("(1, 0, 0)") && source.contains("(4, 3, 3)"));
        assert!(!source.contains("(4, 3, 4)"));
        // The names tell eff@k which level a case is of.
        assert_eq!(generator.names.len(), 20);
        assert_eq!(generator.names[..2], ["L0.0", "L0.1"]);
        assert_eq!(generator.names[19], "L3.3");
        assert_eq!(calls.prompt, "def f(a):\n    \"\"\"Doc, \"\"\"\n");
        let message = loaded.skipped[0].to_string();
        assert!(
            message.contains("line 9, problem `HumanEval/1`"),
            "{message}"
        );
    }

    #[test]
    fn csv_quotes_and_line_feeds_are_kept() {
        let found = rows("a,\"b\"\"c\nd\"\r\n\n1,\n");
        assert_eq!(found[0], (1, vec!["a".into(), "b\"c\nd".into()]));
        assert_eq!(found[1], (4, vec!["1".into(), String::new()]));
    }
}
