//! The rows.
use super::witness::Witness;

const GCC: &str = "gcc libc6-dev";
const GXX: &str = "g++ libstdc++-12-dev";
const NUMPY: &[&str] = &["numpy"];

/// One line a file, so that a difference of the tables is a difference of lines.
const SQL: &str = "
    create table words (word text primary key, length integer);
    insert into words values ('one', 3), ('three', 5), ('eleven', 6);
    create index by_length on words (length);
    select word, length * 1.5 from words where length > 3 order by length desc;
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 2000)
        select count(*), sum(n), avg(n), group_concat(case when n % 500 = 0 then n end) from numbers;
    select upper(substr(word, 2)), hex(word), printf('%.10f', length / 7.0) from words;
    select w.word, v.word from words w join words v on w.length < v.length order by 1, 2;
    select word, sum(length) over (order by word), row_number() over (order by length) from words;
    select json_extract('{\"a\": [1, 2, {\"b\": 3}]}', '$.a[2].b'), strftime('%Y-%j', '2024-02-29'), sqrt(2), pow(2, 0.5);
";

const TEXT: &str =
    "delta 4 the end\nalpha 1 of the\ncharlie 3 story\nbravo 2 begins\nalpha 1 again\n";

const AWK: &str = "{ sum += $2; count[$1]++; line[NR] = $0 } END { print sum, length(count), substr(line[3], 2, 6), \
sprintf(\"%.8f|%5d|%x\", sqrt(2), 42, 255), toupper(line[1]), index(line[2], \"of\"), exp(1), 2 ^ 40; \
split(\"c b a\", parts, \" \"); print parts[1], match(line[4], /b.g/), RSTART; gsub(/[aeiou]/, \"<&>\", line[5]); print line[5] }";

const BC: &str = "scale=60\n4*a(1)\ne(1)\nsqrt(2)\n2^300\ndefine f(n){if(n<2)return 1;return n*f(n-1)}\nf(40)\nobase=16\n48879\n";

const DC: &str =
    "[Hello]p 50k 2v p 2 100^ p 16o 48879 p [d1-d1<F*]sF 0k Ai 10o 20 lFx p 100 7 ~ f\n";

/// Every row.
pub(crate) fn all() -> Vec<Witness> {
    let mut all = compiled();
    all.extend(tools());
    all.extend(runtimes());
    all.extend(python());
    all.extend(packages());
    all
}

fn compiled() -> Vec<Witness> {
    let built = Witness::built;
    vec![
        built(
            "C library -O0",
            "sorting, text, mathematics, heap, setjmp",
            "library.c",
            &["gcc", "-O0", "{in}", "-o", "{out}", "-lm"],
            GCC,
        ),
        built(
            "C library -O2",
            "the same, position-independent",
            "library.c",
            &["gcc", "-O2", "-pie", "-fPIE", "{in}", "-o", "{out}", "-lm"],
            GCC,
        ),
        built(
            "C library -O3 static",
            "the same, static",
            "library.c",
            &["gcc", "-O3", "-static", "{in}", "-o", "{out}", "-lm"],
            GCC,
        ),
        built(
            "C library v3",
            "the same with the routines of x86-64-v3",
            "library.c",
            &[
                "gcc",
                "-O2",
                "-march=x86-64-v3",
                "{in}",
                "-o",
                "{out}",
                "-lm",
            ],
            GCC,
        )
        .v3(),
        built(
            "C kernels -O0",
            "matrices, sieve, stencil, bits",
            "kernels.c",
            &["gcc", "-O0", "{in}", "-o", "{out}"],
            GCC,
        ),
        built(
            "C kernels -O3",
            "the same, vectorised with SSE",
            "kernels.c",
            &["gcc", "-O3", "-march=x86-64-v2", "{in}", "-o", "{out}"],
            GCC,
        ),
        built(
            "C kernels -O3 v3",
            "the same, vectorised with AVX2 and FMA",
            "kernels.c",
            &[
                "gcc",
                "-O3",
                "-march=x86-64-v3",
                "-ffast-math",
                "{in}",
                "-o",
                "{out}",
            ],
            GCC,
        )
        .v3(),
        built(
            "C threads",
            "barrier, condition, read-write lock, thread-local data",
            "threads.c",
            &["gcc", "-O2", "-pthread", "{in}", "-o", "{out}"],
            GCC,
        )
        .unmarked(),
        built(
            "C++ containers -O0",
            "containers, algorithms, exceptions, virtual calls, variants",
            "containers.cpp",
            &["g++", "-std=c++20", "-O0", "{in}", "-o", "{out}"],
            GXX,
        ),
        built(
            "C++ containers -O1",
            "the same",
            "containers.cpp",
            &["g++", "-std=c++20", "-O1", "{in}", "-o", "{out}"],
            GXX,
        ),
        built(
            "C++ containers -O2 static",
            "the same, static",
            "containers.cpp",
            &["g++", "-std=c++20", "-O2", "-static", "{in}", "-o", "{out}"],
            GXX,
        ),
        built(
            "C++ containers -O3 v3",
            "the same with AVX2",
            "containers.cpp",
            &[
                "g++",
                "-std=c++20",
                "-O3",
                "-march=x86-64-v3",
                "{in}",
                "-o",
                "{out}",
            ],
            GXX,
        )
        .v3(),
        built(
            "C++ text",
            "regex, streams, formatting, charconv, complex numbers",
            "text.cpp",
            &["g++", "-std=c++20", "-O2", "{in}", "-o", "{out}"],
            GXX,
        )
        .stdin("ann@site.com and Bob@Place.ORG\nno address here\n"),
        built(
            "C++ text static v3",
            "the same, static",
            "text.cpp",
            &[
                "g++",
                "-std=c++20",
                "-O1",
                "-static",
                "-march=x86-64-v3",
                "{in}",
                "-o",
                "{out}",
            ],
            GXX,
        )
        .stdin("ann@site.com and Bob@Place.ORG\nno address here\n")
        .v3(),
        built(
            "C++20",
            "coroutines, ranges, concepts, spans",
            "modern.cpp",
            &["g++", "-std=c++20", "-O2", "{in}", "-o", "{out}"],
            GXX,
        ),
        built(
            "C++20 -O3 v3",
            "the same with AVX2",
            "modern.cpp",
            &[
                "g++",
                "-std=c++20",
                "-O3",
                "-march=x86-64-v3",
                "{in}",
                "-o",
                "{out}",
            ],
            GXX,
        )
        .v3(),
        built(
            "C++ threads",
            "jthread, futures, conditions, call_once",
            "threads.cpp",
            &[
                "g++",
                "-std=c++20",
                "-O2",
                "-pthread",
                "{in}",
                "-o",
                "{out}",
            ],
            GXX,
        )
        .unmarked(),
        built(
            "C++ threads static",
            "the same, static",
            "threads.cpp",
            &[
                "g++",
                "-std=c++20",
                "-O2",
                "-static",
                "-pthread",
                "{in}",
                "-o",
                "{out}",
            ],
            GXX,
        )
        .unmarked(),
        built(
            "C++ filesystem",
            "folders, links, iteration, errors",
            "files.cpp",
            &["g++", "-std=c++20", "-O2", "{in}", "-o", "{out}"],
            GXX,
        )
        .unmarked(),
        built(
            "C++ parallel sort",
            "execution policies of the standard library on TBB",
            "parallel.cpp",
            &["g++", "-std=c++17", "-O2", "{in}", "-o", "{out}", "-ltbb"],
            "libtbb-dev",
        )
        .unmarked(),
        built(
            "C++ parallel sort v3",
            "the same with AVX2",
            "parallel.cpp",
            &[
                "g++",
                "-std=c++17",
                "-O3",
                "-march=x86-64-v3",
                "{in}",
                "-o",
                "{out}",
                "-ltbb",
            ],
            "libtbb-dev",
        )
        .unmarked()
        .v3(),
        built(
            "Rust",
            "collections, strings, sorting, caught panics",
            "hello.rs",
            &["rustc", "-O", "--edition", "2021", "{in}", "-o", "{out}"],
            "rustc",
        ),
        built(
            "Rust v3",
            "the same with AVX2",
            "hello.rs",
            &[
                "rustc",
                "-Copt-level=3",
                "-Ctarget-cpu=x86-64-v3",
                "--edition",
                "2021",
                "{in}",
                "-o",
                "{out}",
            ],
            "rustc",
        )
        .v3(),
        built(
            "Rust threads",
            "scoped threads, channels, locks, barriers",
            "threads.rs",
            &["rustc", "-O", "--edition", "2021", "{in}", "-o", "{out}"],
            "rustc",
        )
        .unmarked(),
        built(
            "Go",
            "maps, sorting, JSON, interfaces, recover",
            "hello.go",
            &["go", "build", "-o", "{out}", "{in}"],
            "golang-go",
        )
        .unmarked(),
        built(
            "Go goroutines",
            "channels, select, locks, garbage collection",
            "goroutines.go",
            &["go", "build", "-o", "{out}", "{in}"],
            "golang-go",
        )
        .unmarked(),
        built(
            "Go maps v3",
            "maps, sorting, hashing, text",
            "mapsort.go",
            &["go", "build", "-o", "{out}", "{in}"],
            "golang-go",
        )
        .unmarked()
        .v3(),
        built(
            "Fortran",
            "array expressions, matmul",
            "heat.f90",
            &["gfortran", "-O2", "-march=x86-64-v3", "{in}", "-o", "{out}"],
            "gfortran",
        )
        .unmarked()
        .v3(),
        built(
            "OCaml native",
            "maps, pattern matching, exceptions",
            "work.ml",
            &["ocamlopt", "{in}", "-o", "{out}"],
            "ocaml-nox",
        )
        .unmarked(),
    ]
}

fn tools() -> Vec<Witness> {
    let busybox = |name, what| {
        Witness::installed(name, what, "/usr/bin/busybox", "busybox-static").argv0("busybox")
    };
    let tool = Witness::installed;
    vec![
        busybox("busybox sort", "sorts").arguments(&["sort", "-k2"]).stdin(TEXT),
        busybox("busybox sed", "edits with expressions").arguments(&["sed", "-n", "s/a\\(.\\)/<\\1>/gp"]).stdin(TEXT),
        busybox("busybox awk", "an awk program").arguments(&["awk", AWK]).stdin(TEXT),
        busybox("busybox md5sum", "digest").arguments(&["md5sum", "words.txt", "text.cpp"]),
        busybox("busybox sha512sum", "digest").arguments(&["sha512sum", "text.cpp"]),
        busybox("busybox gzip", "compresses").arguments(&["gzip", "-c", "text.cpp"]),
        busybox("busybox tar", "packs").arguments(&["sh", "-c", "busybox tar c --numeric-owner words.txt | busybox tar xO"]),
        busybox("busybox bc", "arbitrary precision").arguments(&["bc", "-l"]).stdin(BC),
        busybox("busybox dc", "reverse Polish calculator").arguments(&["dc", "-e", "50 k 2 v p 2 100 ^ p"]),
        busybox("busybox sh", "shell script").arguments(&["sh", "work.sh"]),
        busybox("busybox grep", "searches").arguments(&["grep", "-nE", "^[a-c].*[0-9]"]).stdin(TEXT),
        busybox("busybox xxd", "dump").arguments(&["xxd", "words.txt"]),
        tool("sqlite3", "tables, windows, JSON, recursion", "/usr/bin/sqlite3", "sqlite3").arguments(&["-batch", ":memory:"]).stdin(SQL),
        tool("sqlite3 v3", "the same", "/usr/bin/sqlite3", "sqlite3").arguments(&["-batch", ":memory:"]).stdin(SQL).v3(),
        tool("mawk", "an awk program", "/usr/bin/mawk", "mawk").arguments(&[AWK]).stdin(TEXT),
        tool("gawk", "an awk program", "/usr/bin/gawk", "gawk").arguments(&[AWK]).stdin(TEXT),
        tool("bash", "arrays, patterns, pipelines of programs", "/usr/bin/bash", "bash").arguments(&["work.bash"]).marked(),
        tool("dash", "shell script", "/usr/bin/dash", "dash").arguments(&["work.sh"]),
        tool("bc", "arbitrary precision", "/usr/bin/bc", "bc").arguments(&["-lq"]).stdin(BC),
        tool("dc", "reverse Polish calculator", "/usr/bin/dc", "dc").stdin(DC),
        tool("gzip", "compresses a text", "/usr/bin/gzip", "gzip").arguments(&["-9nc", "text.cpp"]),
        tool("xz", "compresses a text", "/usr/bin/xz", "xz-utils").arguments(&["-c", "text.cpp"]),
        tool("zstd", "compresses a text", "/usr/bin/zstd", "zstd").arguments(&["-19", "-q", "-c", "text.cpp"]),
        tool("zstd v3", "the same", "/usr/bin/zstd", "zstd").arguments(&["-3", "-q", "-c", "text.cpp"]).v3(),
        tool("bzip2", "compresses a text", "/usr/bin/bzip2", "bzip2").arguments(&["-c", "text.cpp"]),
        tool("openssl digest", "SHA-256 in plain code", "/usr/bin/openssl", "openssl").arguments(&["dgst", "-sha256", "text.cpp"]),
        tool("openssl digest v3", "SHA-256 with SHA-NI", "/usr/bin/openssl", "openssl").arguments(&["dgst", "-sha256", "text.cpp"]).v3(),
        tool("openssl cipher", "AES-256-CBC, vector permutations", "/usr/bin/openssl", "openssl").arguments(&["enc", "-aes-256-cbc", "-K", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "-iv", "000102030405060708090a0b0c0d0e0f", "-in", "text.cpp"]),
        tool("openssl cipher v3", "AES-128-CTR with AES-NI", "/usr/bin/openssl", "openssl").arguments(&["enc", "-aes-128-ctr", "-K", "00112233445566778899aabbccddeeff", "-iv", "000102030405060708090a0b0c0d0e0f", "-in", "text.cpp"]).v3(),
        tool("jq", "JSON queries", "/usr/bin/jq", "jq").arguments(&["-c", "([.items[] | select(.n > 1) | {name, twice: (.n * 2)}] | sort_by(.name)), (.items | map(.n) | add), ([limit(5; range(100))] | @csv)"]).stdin("{\"items\": [{\"name\": \"b\", \"n\": 2}, {\"name\": \"a\", \"n\": 3.5}, {\"name\": \"c\", \"n\": 1}]}"),
        tool("GNU sed", "edits with expressions", "/usr/bin/sed", "sed").arguments(&["-E", "s/([a-z]+) ([0-9])/\\2 \\U\\1/; $!N; P; D"]).stdin(TEXT),
        tool("GNU grep", "searches with Perl's expressions", "/usr/bin/grep", "grep").arguments(&["-Pno", "(?<=a)\\w+|\\d(?= )"]).stdin(TEXT),
        tool("GNU sort", "sorts by two keys", "/usr/bin/sort", "coreutils").arguments(&["-k1,1", "-k2,2nr", "-u"]).stdin(TEXT),
        tool("diff", "compares two files", "/usr/bin/diff", "diffutils").arguments(&["-u", "--label", "a", "--label", "b", "threads.c", "library.c"]),
        tool("make", "runs rules through a shell", "/usr/bin/make", "make").arguments(&["-s"]),
        tool("m4", "macros", "/usr/bin/m4", "m4").stdin("define(`f', `ifelse($1, 0, 1, `eval($1 * f(eval($1 - 1)))')')f(10) len(`text') translit(`abc', `a-c', `x-z')\n"),
        tool("nasm", "assembles to ELF", "/usr/bin/nasm", "nasm").arguments(&["-f", "elf64", "work.asm", "-o", "/dev/stdout"]),
        tool("GNU as", "assembles; its listing", "/usr/bin/x86_64-linux-gnu-as", "binutils").arguments(&["-al", "-o", "/dev/null"]).stdin(".text\nmov $1, %eax\nvaddpd %ymm1, %ymm2, %ymm3\nret\n.data\n.quad 1, 2\n"),
        tool("gcc (cc1)", "compiles C to assembly", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "gcc-12").arguments(&["-quiet", "-O2", "small.c", "-o", "-"]),
        tool("gcc (cc1) -O0", "the same without optimisation", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "gcc-12").arguments(&["-quiet", "-O0", "small.c", "-o", "-"]).v3(),
        tool("gcc", "preprocesses, through a process", "/usr/bin/x86_64-linux-gnu-gcc-12", "gcc-12").arguments(&["-E", "-P", "small.c"]),
        tool("tcc -run", "compiles in memory and runs that", "/usr/bin/tcc", "tcc libc6-dev").arguments(&["-run", "run.c", "argument"]),
    ]
}

fn runtimes() -> Vec<Witness> {
    let tool = Witness::installed;
    vec![
        tool("lua", "closures, patterns, coroutines", "/usr/bin/lua5.4", "lua5.4").arguments(&["work.lua"]),
        tool("luajit", "compiled loops, FFI: code that is written while it runs", "/usr/bin/luajit", "luajit").arguments(&["work_jit.lua"]),
        tool("luajit v3", "the same", "/usr/bin/luajit", "luajit").arguments(&["work_jit.lua"]).v3(),
        tool("luajit -joff", "interpreted", "/usr/bin/luajit", "luajit").arguments(&["-joff", "work_jit.lua"]),
        tool("perl", "hashes, expressions, closures", "/usr/bin/perl", "perl-base").arguments(&["work.pl"]).stdin("a,b,c\n1,2\n").marked(),
        tool("perl v3", "the same", "/usr/bin/perl", "perl-base").arguments(&["work.pl"]).stdin("a,b,c\n1,2\n").v3().marked(),
        tool("pypy3", "Python with a compiler", "/usr/bin/pypy3.9", "pypy3").arguments(&["py_span.py"]),
        tool("pypy3 loops", "loops that become hot", "/usr/bin/pypy3.9", "pypy3").arguments(&["-c", "s = 0\nfor i in range(200000):\n    s = (s * 31 + i) % 1000003\nprint(s, [x * x for x in range(5)])"]),
        tool("ruby", "blocks, structs, fibers, big numbers", "/usr/bin/ruby3.1", "ruby").arguments(&["work.rb"]),
        tool("node", "classes, promises, expressions", "/usr/bin/node", "nodejs").arguments(&["work.js"]),
        tool("node --jitless", "the same without a compiler", "/usr/bin/node", "nodejs").arguments(&["--jitless", "work.js"]),
        tool("java", "compiles and runs a source: records, streams", "/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "openjdk-17-jdk-headless").arguments(&["Hello.java"]).roots(JAVA),
        tool("java -Xint", "the version of the interpreter", "/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "openjdk-17-jre-headless").arguments(&["-Xint", "-Xshare:off", "-XX:+UseSerialGC", "--version"]).roots(JAVA),
        tool("php", "arrays, expressions, exceptions", "/usr/bin/php8.2", "php-cli").arguments(&["-n", "work.php"]),
        tool("tcl", "procedures, dictionaries", "/usr/bin/tclsh8.6", "tcl8.6").arguments(&["work.tcl"]),
        tool("ocaml", "byte code, compiled first", "/usr/bin/ocaml", "ocaml-nox").arguments(&["work.ml"]),
        tool("guile", "Scheme", "/usr/lib/x86_64-linux-gnu/guile/3.0/bin/guile", "guile-3.0").arguments(&["--no-auto-compile", "work.scm"]),
        tool("sbcl", "Lisp that compiles", "/usr/bin/sbcl", "sbcl").arguments(&["--script", "work.lisp"]),
        tool("clisp", "Lisp byte code", "/usr/bin/clisp", "clisp").arguments(&["-q", "-norc", "work.lisp"]),
        tool("gforth", "Forth", "/usr/bin/gforth-0.7.3", "gforth").arguments(&["work.fs"]),
        tool("swipl", "Prolog", "/usr/lib/swi-prolog/bin/x86_64-linux/swipl", "swi-prolog-nox").arguments(&["-q", "work.pro"]),
    ]
}

const JAVA: &[(&str, &str)] = &[("/etc/java-17-openjdk", "/etc/java-17-openjdk")];

/// Seen with `--explain`: all partings are branches of `memcpy` by addresses and of `malloc` and `free` by what is free.
const PYTHON_HEAP: &str = "before the span blocks of its heap come to lie at other addresses than in the guest, and copying \
and allocating go by these";

fn python() -> Vec<Witness> {
    let script = |name, what, file| Witness::python(name, what, file, &[]);
    let python = |name, what| Witness::installed(name, what, "/usr/bin/python3.11", "python3.11");
    vec![
        python(
            "python3.11 span",
            "calls, dictionaries, sorting, big numbers",
        )
        .arguments(&["-s", "-S", "-B", "py_span.py"])
        .marked()
        .apart(PYTHON_HEAP),
        python("python3.11 span v3", "the same")
            .arguments(&["-s", "-S", "-B", "py_span.py"])
            .v3()
            .marked()
            .apart(PYTHON_HEAP),
        script(
            "python text",
            "json, re, csv, difflib, formatting",
            "py_text.py",
        ),
        script(
            "python bytes",
            "hashlib, zlib, lzma, bz2, struct, pickle",
            "py_hash.py",
        ),
        script("python bytes v3", "the same", "py_hash.py").v3(),
        script(
            "python numbers",
            "decimal, fractions, math, random, statistics",
            "py_numbers.py",
        ),
        script(
            "python numbers v3",
            "the same with FMA in the C library",
            "py_numbers.py",
        )
        .v3(),
        script(
            "python structures",
            "collections, itertools, dataclasses, heapq",
            "py_structures.py",
        ),
        script("python asyncio", "tasks, queues, timeouts", "py_async.py"),
        script(
            "python threading",
            "threads, locks, queues, executors, timers",
            "py_threads.py",
        ),
        script(
            "python processes",
            "subprocess, fork, pipes, signals",
            "py_processes.py",
        ),
        script(
            "python multiprocessing",
            "pool, queue, shared value",
            "py_multiprocessing.py",
        ),
        script(
            "python sqlite3",
            "tables, joins, windows, functions",
            "py_sqlite.py",
        ),
        script(
            "python unittest",
            "unittest, mock, doctest, ast, dis",
            "py_unittest.py",
        ),
        script(
            "python time and files",
            "datetime, calendar, pathlib, shutil",
            "py_time.py",
        ),
    ]
}

fn packages() -> Vec<Witness> {
    let script = Witness::python;
    let linear = "matrix product, solve, svd, eigenvalues through OpenBLAS";
    let arrays = "sort, sum, unique, einsum, histogram, files";
    let math = "functions, FFT, polynomials, statistics";
    let random = "four generators, fifteen distributions";
    let tables = "groupby, merge, pivot, to_csv, resample";
    let science = "optimisation, integration, sparse matrices, signals, statistics";
    vec![
        script("numpy linear algebra", linear, "np_linear.py", NUMPY),
        script("numpy linear algebra v3", linear, "np_linear.py", NUMPY).v3(),
        script("numpy arrays", arrays, "np_arrays.py", NUMPY),
        script("numpy arrays v3", arrays, "np_arrays.py", NUMPY).v3(),
        script("numpy mathematics", math, "np_math.py", NUMPY),
        script("numpy mathematics v3", math, "np_math.py", NUMPY).v3(),
        script("numpy random", random, "np_random.py", NUMPY),
        script("numpy random v3", random, "np_random.py", NUMPY).v3(),
        script("pandas", tables, "pd_tables.py", &["pandas", "numpy"]),
        script("pandas v3", tables, "pd_tables.py", &["pandas", "numpy"]).v3(),
        script("scipy", science, "sp_science.py", &["scipy", "numpy"]),
        script("scipy v3", science, "sp_science.py", &["scipy", "numpy"]).v3(),
        script(
            "sympy",
            "algebra, calculus, number theory",
            "sympy_algebra.py",
            &["sympy"],
        ),
        script(
            "networkx",
            "paths, flows, trees, centrality",
            "networkx_graphs.py",
            &["networkx"],
        ),
        script(
            "sortedcontainers",
            "sorted lists, dictionaries, sets",
            "sortedcontainers_work.py",
            &["sortedcontainers"],
        ),
    ]
}
