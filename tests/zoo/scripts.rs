//! Hostile Python programs that are to print the number they read: what each does, and what becomes of it.
use super::Beast;

/// The good answer, which stands behind all of them.
pub(super) const GOOD: &str = "print(int(input()))\n";

/// Scripts with their verdicts in the simulator and on the host processor.
pub(super) const PYTHON: &[Beast] = &[
    Beast::both(
        "fork bomb",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
        "memory_limit",
        "time_limit",
        "",
    ),
    Beast::both(
        "a number too large",
        "print(10 ** 10 ** 10)\n",
        "instruction_limit",
        "time_limit",
        "",
    ),
    Beast::both(
        "a list too large",
        "print(len([0] * 10 ** 13))\n",
        "exit_code",
        "exit_code",
        "MemoryError",
    ),
    Beast::both(
        "packed zeros",
        "import zlib\npacked = zlib.compress(bytes(10 ** 5))\nparts = []\nwhile True: parts.append(zlib.decompress(packed) * 256)\n",
        "memory_limit",
        "memory_limit",
        "",
    ),
    Beast::both(
        "an expression that backtracks",
        "import re\nprint(re.match(r'(a+)+$', 'a' * 40 + 'b'))\n",
        "instruction_limit",
        "time_limit",
        "",
    ),
    Beast::both(
        "the processes of the host",
        "import os\ntry: n = sum(name.isdigit() and int(name) not in (1, os.getpid()) for name in os.listdir('/proc'))\nexcept OSError: n = 0\nprint('others', n)\n",
        "wrong_answer",
        "wrong_answer",
        "others 0",
    ),
    Beast::both(
        "programs of the host",
        "import subprocess\nfor command in (['/bin/sh', '-c', 'echo 7'], ['/bin/ls', '/'], ['/proc/self/exe', '-V']):\n    try: print(subprocess.run(command, capture_output=True).returncode)\n    except OSError as error: print(type(error).__name__)\n",
        "wrong_answer",
        "wrong_answer",
        "",
    ),
    Beast::both(
        "its own killer",
        "import os\nos.kill(0, 9)\n",
        "signal",
        "exit_code",
        "",
    ),
    Beast::both(
        "code that was never compiled",
        "import types\nf = (lambda: 0).__code__\nexec(f.replace(co_code=bytes([100, 255, 83, 0]) * 4, co_consts=()))\n",
        "signal",
        "signal",
        "SIGSEGV",
    ),
    Beast::both(
        "memory by its address",
        "import ctypes\nctypes.memset(8, 1, 8)\n",
        "signal",
        "signal",
        "SIGSEGV",
    ),
    Beast::both(
        "recursion in C",
        "import sys\nsys.setrecursionlimit(10 ** 9)\nclass A:\n    def __repr__(self): return repr(self)\nprint(repr(A()))\n",
        "stack_overflow",
        "stack_overflow",
        "",
    ),
    Beast::both(
        "threads without end",
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(10 ** 6,)).start()\n",
        "instruction_limit",
        "",
        "",
    ),
    Beast::both(
        "streams closed",
        "import os\nos.close(1)\nos.close(0)\nprint(7)\n",
        "exit_code",
        "exit_code",
        "",
    ),
    Beast::both(
        "last words",
        "import atexit, os\natexit.register(os._exit, 5)\nprint(7)\n",
        "exit_code",
        "exit_code",
        "5",
    ),
    Beast::both(
        "the clock and the names of the host",
        "import time, os, socket\nprint(time.time() > 1735689600, len(os.environ) < 9, os.getpid() < 3)\n",
        "wrong_answer",
        "",
        "False True",
    ),
    Beast::both(
        "a hook on everything",
        "import sys\nsys.settrace(lambda *a: sys.settrace)\nsys.setprofile(print)\nsys.stdout = None\nprint(8)\n",
        "wrong_answer",
        "wrong_answer",
        "",
    ),
    Beast::both(
        "files without end",
        "n = 0\nwhile True:\n    open('/tmp/f%d' % n, 'w').write('x' * 9999)\n    n += 1\n",
        "instruction_limit",
        "exit_code",
        "",
    ),
];
