//! Data sets, samples and machine files: bent texts are read or refused with a reason, and nothing is lost silently.
use super::Choices;
use tickmark::candidate::{assemble, import_bytes};
use tickmark::dataset::{DatasetForm, Language, parse};
use tickmark::sim::machine::Machine;

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "1e999",
    "-0",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\n",
    "\r\n",
    "\"task_id\": \"T/0\", ",
    "\"prompt\": \"def f(n):\\n\", ",
    "\"entry_point\": \"f\", ",
    "\"canonical_solution\": \"    return n\\n\", ",
    "\"test\": \"def check(candidate):\\n    assert candidate(1) == 1\\n\"",
    "\"completion\": \"    return n\\n\", ",
    "\"solution\": \"def f(n): return n\\n\", ",
    "\"id\": \"T/0\", ",
    "\"tests\": [{\"input\": \"1\", \"output\": \"2\"}], ",
    "\"language\": \"cpp\", ",
    "\"declaration\": \"int f(int n) {\\n\", ",
    "```python\\n",
    "```",
    "\"task_id\": 7, ",
    "\"x\": 0",
    "[[[[[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    "é",
    "\u{202e}",
];

fn text(choices: &mut Choices<'_>, pieces: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    while choices.more() && text.len() < 1 << 16 {
        match choices.below(8) {
            0 => text.push(choices.byte()),
            1 if !text.is_empty() => {
                let from = choices.below(text.len().min(65536));
                let copy = text[from..(from + 64).min(text.len())].to_vec();
                text.extend(copy);
            }
            2 => {
                let n = choices.below(200);
                let piece = choices.pick(pieces);
                text.extend(piece.repeat(n).bytes());
            }
            _ => text.extend(choices.pick(pieces).bytes()),
        }
    }
    text
}

pub(super) fn json_is_read_or_refused(choices: &mut Choices<'_>) -> Result<(), String> {
    let language = choices.pick(&[Language::Cpp, Language::Python]);
    let form = choices.pick(&["humaneval", "humaneval-x", "stdio"]);
    let form: DatasetForm = form.parse()?;
    let whole = "{\"task_id\": \"T/0\", \"id\": \"T/0\", \"prompt\": \"def f(n):\\n\", \"entry_point\": \"f\", \"canonical_solution\": \"    return n\\n\", \"declaration\": \"int f(int n) {\\n\", \"test\": \"def check(candidate):\\n    assert candidate(1) == 1\\n\", \"tests\": [{\"input\": \"1\", \"output\": \"2\"}]}\n";
    let split = choices.number(2) as usize;
    let bent = text(choices, PIECES);
    let (first, second) = bent.split_at(split % (bent.len() + 1));
    let data = [whole.as_bytes(), first, b"\n", whole.as_bytes()].concat();
    let loaded = parse(form, "problems.jsonl", &data, language);
    for defect in &loaded.skipped {
        if defect.to_string().is_empty() {
            return Err("a defect without a word".to_owned());
        }
    }
    let imported = import_bytes("samples.jsonl", second, &loaded.problems, "m");
    for problem in &loaded.problems {
        for answer in imported.answers.get(&problem.id).into_iter().flatten() {
            let _ = assemble(problem, answer);
        }
    }
    Ok(())
}

const KEYS: &[&str] = &[
    "[l1d]\n",
    "[guest]\n",
    "[core]\n",
    "[",
    "]",
    "=",
    "\n",
    "\"",
    "kind = \"out-of-order\"\n",
    "kind = \"in-order\"\n",
    "size_kib = ",
    "ways = ",
    "0\n",
    "-1\n",
    "9223372036854775807\n",
    "1\n",
    "3\n",
    "latency = ",
    "profile = \"x86-64-v3\"\n",
    "name = \"m\"\n",
    "base = \"simple\"\n",
    "frequency_mhz = ",
    "nan\n",
    "inf\n",
    "[[",
    "]]",
    "'''",
    "#",
    ".",
    "{",
    "}",
];

pub(super) fn toml_is_read_or_refused(choices: &mut Choices<'_>) -> Result<(), String> {
    // A built-in machine with bent numbers, or a text of pieces.
    let text = if choices.below(2) == 0 {
        let whole = choices.pick(&[
            include_str!("../../sim-configs/simple.toml"),
            include_str!("../../sim-configs/gem5-o3.toml"),
        ]);
        let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        for _ in 0..=choices.below(4) {
            let at = choices.below(lines.len());
            match choices.below(4) {
                0 => drop(lines.remove(at)),
                1 => lines[at] = String::from_utf8_lossy(&text(choices, KEYS)).into_owned(),
                _ => {
                    if let Some((key, _)) = lines[at].split_once('=') {
                        lines[at] = format!("{key}= {}", choices.edge() as i64);
                    }
                }
            }
        }
        lines.join("\n")
    } else {
        String::from_utf8_lossy(&text(choices, KEYS)).into_owned()
    };
    match Machine::parse(&text, "fuzz.toml") {
        Ok(machine) => {
            if machine.frequency_hz() == 0 && machine.name != "atomic" {
                return Err(format!("a machine that stands still: {}", machine.name));
            }
            Ok(())
        }
        Err(error) if error.to_string().is_empty() => Err("refused without a word".to_owned()),
        Err(_) => Ok(()),
    }
}
