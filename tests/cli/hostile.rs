//! Candidates that attack: each gets the verdict of what it did, and the samples after it are judged as ever.
use crate::support::dataset::{function, lines, program, solution};
use crate::support::program::compiled;
use crate::support::scratch::Scratch;
use crate::support::tickmark::Tickmark;
use serde_json::{Value, json};

/// Small enough that a loop without end ends soon, large enough for the interpreter and its modules.
const LIMITS: &str =
    "--machine atomic --max-instructions 700000000 --max-memory 128 --max-stack 16 --max-output 1";

/// Evaluates samples of one problem; the kinds of their verdicts, the rows, and the exit code.
fn verdicts(form: &str, problem: &Value, answers: &[&str]) -> (Vec<Value>, i32) {
    let id = problem.get("task_id").or(problem.get("id")).expect("an id");
    let id = id.as_str().expect("text");
    let samples: Vec<Value> = answers.iter().map(|answer| solution(id, answer)).collect();
    let scratch = Scratch::new();
    scratch.write("problems.jsonl", lines(std::slice::from_ref(problem)));
    scratch.write("samples.jsonl", lines(&samples));
    let fixed = format!(
        "evaluate --json --dataset {form} problems.jsonl --samples m=samples.jsonl {LIMITS}"
    );
    let finished = Tickmark::new(fixed.split_whitespace())
        .folder(scratch.path())
        .finish();
    let mut rows = finished.json_lines();
    let table = rows.pop().expect("the last object is the table");
    assert!(table["table"].is_object(), "{table}");
    assert_eq!(rows.len(), answers.len(), "{finished:?}");
    (rows, finished.code)
}

/// Each answer gets one of the kinds of verdict beside it, with this text in it, and the one after it is accepted.
fn judged(form: &str, problem: &Value, good: &str, cases: &[(&str, &str, &str)]) -> i32 {
    let answers: Vec<&str> = (cases.iter())
        .flat_map(|(answer, _, _)| [*answer, good])
        .collect();
    let (rows, code) = verdicts(form, problem, &answers);
    for (pair, (answer, kind, text)) in rows.chunks(2).zip(cases) {
        let verdict = &pair[0]["verdict"];
        assert_eq!(verdict["kind"], *kind, "{answer}\n{verdict}");
        assert!(verdict.to_string().contains(text), "{answer}\n{verdict}");
        if *kind != "accepted" {
            for figure in ["runtime_cycles", "runtime_instructions"] {
                assert_eq!(pair[0][figure], Value::Null, "{answer}");
            }
        }
        assert_eq!(
            pair[1]["verdict"],
            json!({"kind": "accepted"}),
            "after\n{answer}"
        );
    }
    code
}

#[test]
fn hostile_functions_in_python_get_their_verdicts() {
    let problem = function(
        "H/0",
        "next_number",
        &["candidate(1) == 2", "candidate(5) == 6"],
    );
    let good = "def next_number(n):\n    return n + 1\n";
    let code = judged(
        "humaneval",
        &problem,
        good,
        &[
            (
                "def next_number(n):\n    while True: print('x' * 1000)\n",
                "output_limit",
                "",
            ),
            (
                "def next_number(n):\n    return next_number(n)\n",
                "test_failed",
                "RecursionError",
            ),
            (
                "def next_number(n):\n    while True: pass\n",
                "instruction_limit",
                "",
            ),
            ("while True: pass\n", "instruction_limit", ""),
            (
                "def next_number(n):\n    kept = []\n    while True: kept.append(bytearray(b'x') * 1000000)\n",
                "memory_limit",
                "",
            ),
            (
                "import os, shutil\ndef next_number(n):\n    shutil.rmtree(os.getcwd())\n    shutil.rmtree('/job')\n    return n + 1\n",
                "test_failed",
                "",
            ),
            (
                "def next_number(n):\n    return len(open('/etc/shadow').read())\n",
                "test_failed",
                "FileNotFoundError",
            ),
            (
                "import socket\ndef next_number(n):\n    socket.create_connection(('127.0.0.1', 80))\n    return n + 1\n",
                "test_failed",
                "Error",
            ),
            (
                "import os, signal\ndef next_number(n):\n    os.kill(os.getppid(), signal.SIGKILL)\n    return -1\n",
                "test_failed",
                "",
            ),
            (
                "import os\ndef next_number(n):\n    os.write(198, b'E' + b'0' * 16)\n    return n + 1\n",
                "forged_marker",
                "",
            ),
            (
                "import os\nos.write(198, b'D0123456789abcdef')\nos._exit(0)\n",
                "forged_marker",
                "",
            ),
            (
                "import os\nos.write(198, b'')\ndef next_number(n): return n\n",
                "forged_marker",
                "",
            ),
            (
                "import os\ndef next_number(n):\n    os._exit(0)\n",
                "premature_exit",
                "",
            ),
            (
                "import sys\ndef next_number(n):\n    sys.exit(0)\n",
                "test_failed",
                "SystemExit",
            ),
            ("raise SystemExit(0)\n", "test_failed", "SystemExit"),
            (
                "import os\ndef next_number(n):\n    os._exit(3)\n",
                "exit_code",
                "3",
            ),
            // It has found the driver's own message, and speaks before the driver could.
            (
                "import os, sys\nframe = sys._getframe()\nwhile 'done' not in frame.f_locals: frame = frame.f_back\n\
                 os.write(198, frame.f_locals['done'])\nos._exit(0)\n",
                "forged_marker",
                "",
            ),
            (
                "import os, sys\ndef next_number(n):\n    frame = sys._getframe()\n    while 'done' not in frame.f_locals: frame = frame.f_back\n    \
                 os.write(198, frame.f_locals['done'])\n    os._exit(0)\n",
                "forged_marker",
                "",
            ),
            (
                "import os\nx = os.dup(198)\nos.write(x, b'E' * 17)\ndef next_number(n): return n + 1\n",
                "forged_marker",
                "",
            ),
            (
                "import os\ndef next_number(n):\n    os.dup2(1, 198)\n    return n + 1\n",
                "premature_exit",
                "",
            ),
            (
                "import os\ndef next_number(n):\n    os.close(198)\n    return n + 1\n",
                "exit_code",
                "Bad file descriptor",
            ),
            // The depth of C, not of Python.
            (
                "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\n\
                 def next_number(n): return repr(A())\n",
                "stack_overflow",
                "",
            ),
            (
                "import ctypes\ndef next_number(n): return ctypes.string_at(0)\n",
                "signal",
                "SIGSEGV",
            ),
            // Files are memory here.
            (
                "def next_number(n):\n    with open('/tmp/x', 'wb') as file:\n        while True: file.write(b'x' * 10**6)\n",
                "memory_limit",
                "",
            ),
            (
                "import mmap\ndef next_number(n): return mmap.mmap(-1, 1 << 40)[0]\n",
                "test_failed",
                "Cannot allocate memory",
            ),
            (
                "import os\ndef next_number(n):\n    while True: os.pipe()\n",
                "test_failed",
                "Too many open files",
            ),
            // Names that the driver uses, replaced: it has taken its own before.
            (
                "import os, builtins\nbuiltins.AssertionError = ValueError\nbuiltins.type = None\nos.write = os._exit = None\n\
                 def next_number(n):\n    return 0\n",
                "test_failed",
                "",
            ),
            // A result that equals everything is the test's to notice, not the judge's: HumanEval compares with `==`.
            (
                "class E:\n    def __eq__(self, other): return True\ndef next_number(n): return E()\n",
                "accepted",
                "",
            ),
        ],
    );
    assert_eq!(code, 0);
}

/// docs/isolation.md says what is not enforced: this is how far it goes, and where it ends.
#[test]
fn a_candidate_against_this_driver_forges_a_test_but_no_result() {
    // It ends the region of its first call itself, says that all is done, and leaves.
    let speaks_for_the_driver = "import os, sys\ndef next_number(n):\n    frame = sys._getframe()\n    \
         while 'done' not in frame.f_locals: frame = frame.f_back\n    \
         os.write(198, frame.f_locals['end'])\n    os.write(198, frame.f_locals['done'])\n    os._exit(0)\n";
    let good = "def next_number(n):\n    return n + 1\n";
    let problem = function("H/2", "next_number", &["candidate(1) == 2"]);
    let cases = [(speaks_for_the_driver, "accepted", "")];
    assert_eq!(judged("humaneval", &problem, good, &cases), 0);

    // Where results are compared outside of the guest, it has to have the right ones.
    let problem = json!({
        "task_id": "H/3",
        "entry_point": "next_number",
        "prompt": "def next_number(n):\n    \"\"\"One more.\"\"\"\n",
        "canonical_solution": "    return n + 1\n",
        "base_input": [[1], [5]],
        "plus_input": [],
        "atol": 0,
    });
    let equals_all =
        "class E:\n    def __eq__(self, other): return True\ndef next_number(n): return E()\n";
    let shown = "class I(int):\n    def __repr__(self): return '2'\n    __str__ = __repr__\n\
                 def next_number(n): return I(7)\n";
    let cases = [
        (speaks_for_the_driver, "forged_marker", ""),
        (equals_all, "wrong_answer", ""),
        (shown, "wrong_answer", "7"),
    ];
    assert_eq!(judged("humaneval-plus", &problem, good, &cases), 0);
}

#[test]
fn only_the_first_process_of_a_candidate_speaks_for_the_driver() {
    let problem = function("H/1", "next_number", &["candidate(1) == 2"]);
    let good = "def next_number(n):\n    return n + 1\n";
    let helper = "import os\ndef next_number(n):\n    if os.fork() == 0:\n        os._exit(n + 1)\n    \
                  return os.waitstatus_to_exitcode(os.wait()[1])\n";
    let twin =
        "import os\ndef next_number(n):\n    if os.fork():\n        os.wait()\n    return n + 1\n";
    let cases = [(helper, "accepted", ""), (twin, "forged_marker", "")];
    assert_eq!(judged("humaneval", &problem, good, &cases), 0);
}

#[test]
fn hostile_programs_in_cpp_get_their_verdicts() {
    if compiled("hello.cpp", &["-static"]).is_none() {
        return;
    }
    let problem = program("echo", "cpp", &[("7\n", "7\n"), ("8\n", "8\n")]);
    let good = "#include <stdio.h>\nint main() { int n; if (scanf(\"%d\", &n) == 1) printf(\"%d\\n\", n); }\n";
    let code = judged(
        "stdio",
        &problem,
        good,
        &[
            (
                "#include <stdio.h>\nint main() { for (;;) puts(\"x\"); }\n",
                "output_limit",
                "",
            ),
            (
                "int f(volatile int *p) { volatile int a[99] = {*p}; return f(a) + a[1]; }\nint main() { int a = 1; return f(&a); }\n",
                "stack_overflow",
                "",
            ),
            (
                "int main() { for (volatile int i = 0;; i = i + 1); }\n",
                "instruction_limit",
                "",
            ),
            (
                "#include <string.h>\n#include <stdlib.h>\nint main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }\n",
                "memory_limit",
                "",
            ),
            (
                "#include <unistd.h>\n#include <stdio.h>\nint main() { char p[99]; rmdir(getcwd(p, 99)); unlink(\"program\"); unlink(\"/job/program\"); puts(\"gone\"); }\n",
                "wrong_answer",
                "gone",
            ),
            (
                "#include <stdio.h>\nint main() { FILE *f = fopen(\"/etc/shadow\", \"r\"); printf(\"%d\\n\", f ? fgetc(f) : -1); }\n",
                "wrong_answer",
                "-1",
            ),
            (
                "#include <stdio.h>\n#include <sys/socket.h>\nint main() { printf(\"%d\\n\", socket(AF_INET, SOCK_STREAM, 0)); }\n",
                "wrong_answer",
                "-1",
            ),
            (
                "#include <signal.h>\n#include <unistd.h>\nint main() { kill(getppid(), 9); kill(-1, 9); return 4; }\n",
                "exit_code",
                "4",
            ),
            (
                "#include <unistd.h>\nint main() { return write(198, \"D0123456789abcdef\", 17) < 0 ? 5 : 0; }\n",
                "exit_code",
                "5",
            ),
            (
                "#include <stdlib.h>\nint main() { exit(0); }\n",
                "wrong_answer",
                "",
            ),
            (
                "int main() { return *(volatile int *)8; }\n",
                "signal",
                "SIGSEGV",
            ),
            (
                "#include <nothing_of_the_kind.h>\nint main() {}\n",
                "compile_error",
                "nothing_of_the_kind",
            ),
            (
                "#include \"/etc/shadow\"\nint main() {}\n",
                "compile_error",
                "",
            ),
        ],
    );
    assert_eq!(code, 0);
}

#[test]
fn hostile_functions_in_cpp_do_not_forge_results() {
    if compiled("hello.cpp", &["-static"]).is_none() {
        return;
    }
    let problem = json!({
        "task_id": "CPP/0",
        "prompt": "int next_number(int n) {\n",
        "declaration": "int next_number(int n) {\n",
        "canonical_solution": "    return n + 1;\n}\n",
        "test": "#undef NDEBUG\n#include <assert.h>\nint main() {\n    assert(next_number(1) == 2);\n    assert(next_number(5) == 6);\n}\n",
    });
    let good = "int next_number(int n) { return n + 1; }\n";
    let code = judged(
        "humaneval-x",
        &problem,
        good,
        &[
            (
                "#include <unistd.h>\nint next_number(int n) { return write(198, \"D0123456789abcdef\", 17) + n; }\n",
                "forged_marker",
                "",
            ),
            (
                "#include <stdlib.h>\nint next_number(int n) { exit(0); }\n",
                "premature_exit",
                "",
            ),
            (
                "int next_number(int n) { return n; }\n",
                "test_failed",
                "next_number(1) == 2",
            ),
        ],
    );
    assert_eq!(code, 0);
}

#[test]
fn system_calls_with_absurd_arguments_end_in_a_verdict_that_repeats() {
    let Some(program) = compiled("calls.c", &["-O1", "-static", "-no-pie"]) else {
        return;
    };
    let limits =
        "run --json --machine atomic --max-memory 64 --max-output 1 --max-instructions 5000000 --";
    for seed in 0..24 {
        let run = || {
            let program = program.to_string_lossy().into_owned();
            let arguments = limits.split(' ').map(str::to_owned);
            let seed = seed.to_string();
            Tickmark::new(arguments.chain([program, seed])).finish()
        };
        let first = run();
        assert!(first.code == 0 || first.code == 1, "seed {seed}: {first:?}");
        assert_eq!(run().stdout, first.stdout, "seed {seed}");
    }
}
