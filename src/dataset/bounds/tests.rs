//! Statements as the site, its copies and the data sets write them.
use super::super::{Parameter, leetcode};
use super::*;

fn function(parameters: &str) -> Function {
    Function {
        name: "f".into(),
        result: "int".into(),
        parameters: (parameters.split(','))
            .map(|parameter| {
                let (name, written) = parameter
                    .trim()
                    .split_once(':')
                    .unwrap_or((parameter.trim(), "int"));
                Parameter {
                    name: name.into(),
                    written: written.into(),
                    by_value: true,
                }
            })
            .collect(),
    }
}

/// What arguments (`nums = [1]`) break of these lines; `-` where nothing is broken.
fn told(parameters: &str, lines: &str, arguments: &str) -> String {
    let function = function(parameters);
    let bounds = Bounds::read(&format!("Do it.\n\nConstraints:\n\n{lines}\n"), &function);
    let found = leetcode::in_order(leetcode::arguments(arguments).unwrap(), &function).unwrap();
    bounds.broken(&found).unwrap_or_else(|| "-".into())
}

fn unread(parameters: &str, lines: &str) -> usize {
    Bounds::read(&format!("Constraints:\n{lines}"), &function(parameters))
        .counts()
        .1
}

#[test]
fn lengths_and_elements_are_looked_at() {
    let lines = "1 <= nums.length <= 3\n-10^1 <= nums[i] <= 2^3 - 1\n1 <= k <= nums.length";
    let told = |arguments| told("nums, k", lines, arguments);
    assert_eq!(told("nums = [-10, 7], k = 2"), "-");
    assert_eq!(
        told("nums = [1,2,3,4], k = 2"),
        "`1 <= nums.length <= 3`, and nums.length is 4"
    );
    assert_eq!(
        told("nums = [1,8], k = 2"),
        "`-10^1 <= nums[i] <= 2^3 - 1`, and nums[i] is 8 at i = 1"
    );
    assert_eq!(
        told("nums = [-11], k = 1"),
        "`-10^1 <= nums[i] <= 2^3 - 1`, and nums[i] is -11 at i = 0"
    );
    assert_eq!(
        told("nums = [1], k = 2"),
        "`1 <= k <= nums.length`, and k is 2, nums.length is 1"
    );
    assert!(
        told("nums = [100000000000000000000000000000000000000000000], k = 1")
            .contains("more than 38 digits")
    );
}

#[test]
fn names_are_defined_by_equations() {
    let lines = "2 <= n == grid.length\nn == grid[i].length\n0 <= grid[i][j] < n * n";
    let grid = |arguments| told("grid", lines, arguments);
    assert_eq!(grid("grid = [[0,1],[2,3]]"), "-");
    assert_eq!(grid("grid = [[0]]"), "`2 <= n == grid.length`, and n is 1");
    assert_eq!(
        grid("grid = [[0,1],[2]]"),
        "`n == grid[i].length`, and n is 2, grid[i].length is 1 at i = 1"
    );
    assert_eq!(
        grid("grid = [[0,1],[2,4]]"),
        "`0 <= grid[i][j] < n * n`, and grid[i][j] is 4 at i = 1, j = 1, n * n is 4"
    );
    let lines = "edges.length == n - 1\n0 <= edges[i][0], edges[i][1] < n\nk == n";
    assert_eq!(told("edges, k", lines, "edges = [[0,1],[1,2]], k = 3"), "-");
    assert_eq!(
        told("edges, k", lines, "edges = [[0,1],[1,3]], k = 3"),
        "`0 <= edges[i][0], edges[i][1] < n`, and edges[i][1] is 3 at i = 1, n is 3"
    );
    assert_eq!(
        told("edges, k", lines, "edges = [[0,1]], k = 3"),
        "`k == n`, and k is 3, n is 2"
    );
}

#[test]
fn components_have_the_names_that_the_statement_gives_them() {
    let text = "You get <code>edges1[i] = [a<sub>i</sub>, b<sub>i</sub>]</code>.\n<p><strong>Constraints:</strong></p>\n<ul>\n\
                <li><code>0 &lt;= a<sub>i</sub>, b<sub>i</sub> &lt; n</code></li>\n<li><code>a<sub>i</sub> != b<sub>i</sub></code></li>\n\
                <li><code>1 &lt;= n &lt;= 10<sup>5</sup></code></li>\n</ul>";
    let function = function("n, edges1");
    let bounds = Bounds::read(text, &function);
    assert_eq!(bounds.counts(), (3, 0));
    let told = |arguments| {
        let found = leetcode::in_order(leetcode::arguments(arguments).unwrap(), &function).unwrap();
        bounds.broken(&found)
    };
    assert_eq!(told("n = 105, edges1 = [[0,1],[2,104]]"), None);
    assert_eq!(
        told("n = 3, edges1 = [[0,1],[2,3]]").unwrap(),
        "`0 <= a_i, b_i < n`, and b_i is 3 at i = 0, n is 3".replace("i = 0", "i = 1")
    );
    assert_eq!(
        told("n = 3, edges1 = [[0,1],[2,2]]").unwrap(),
        "`a_i != b_i`, and a_i is 2 at i = 1, b_i is 2 at i = 1"
    );
    // By an equation, as some statements have it; a place that is not there says nothing.
    let lines = "profiti == items[i][0]\n1 <= profiti <= 5\nyi == items[i][7]\n1 <= yi <= 2";
    assert_eq!(
        super::tests::told("items", lines, "items = [[5],[6]]"),
        "`1 <= profiti <= 5`, and profiti is 6 at i = 1"
    );
    // What two lists are called alike is called so of neither.
    let lines = "a[i] = [x_i]\nb[i] = [x_i]\n1 <= x_i <= 5";
    assert_eq!(
        super::tests::told("a, b", lines, "a = [[9]], b = [[9]]"),
        "-"
    );
}

#[test]
fn exponents_that_are_lost_are_read_both_ways() {
    // 105 may be 10^5, and -231 <= x <= 231 - 1 is certainly not meant as it stands.
    let lines = "1 <= nums.length <= 105\n-231 <= nums[i] <= 231 - 1\n0 <= k <= 3 * 104";
    let told = |arguments| told("nums, k", lines, arguments);
    assert_eq!(told("nums = [-2147483648, 2147483647], k = 30000"), "-");
    assert!(told("nums = [2147483648], k = 0").starts_with("`-231"));
    assert!(told("nums = [], k = 0").starts_with("`1 <= nums.length"));
    assert!(told("nums = [0], k = 30001").starts_with("`0 <= k"));
    // With exponents elsewhere, digits are digits.
    let lines = "1 <= k <= 105\n0 <= nums[i] <= 10^4";
    assert!(
        super::tests::told("nums, k", lines, "nums = [], k = 106").starts_with("`1 <= k <= 105`")
    );
}

#[test]
fn letters_of_texts_are_looked_at() {
    for (line, good, bad) in [
        ("s consists only of lowercase English letters.", "abz", "aB"),
        ("s consists of lowercase English letters only", "", "a b"),
        (
            "s contains only lowercase English letters and spaces ' '.",
            "a b",
            "a-b",
        ),
        (
            "s contains English letters (upper-case and lower-case), digits, and spaces ' '.",
            "aZ 0",
            "a\u{a0}b",
        ),
        ("s only consists of digits '0' through '9'.", "09", "a"),
        ("s consists of only 'N', 'S', 'E', and 'W'.", "NSEW", "NSX"),
        (
            "s consists of upper case and lower case English letters.",
            "aB",
            "1",
        ),
        (
            "s consists of English letters, digits, period '.', slash '/' or '_'.",
            "/a_b.1",
            "-",
        ),
        (
            "s consists only of printable ASCII characters.",
            "~ !",
            "\u{e9}",
        ),
        ("s[i] is either 'T' or 'F'.", "TF", "TX"),
        ("s[i] is '(', or ')'", "()", "["),
        (
            "s[i] is either a lowercase English letter or '?'.",
            "a?",
            "A",
        ),
        ("'0' <= s[i] <= '9'", "09", "a"),
        ("Each character occurs at most once in s.", "abc", "aba"),
    ] {
        assert_eq!(told("s", line, &format!("s = \"{good}\"")), "-", "{line}");
        assert!(
            told("s", line, &format!("s = \"{bad}\"")).starts_with('`'),
            "{line}"
        );
    }
    let told = |line, arguments| told("words, t, board", line, arguments);
    let line = "t and words[i] consist of lowercase English letters.";
    assert_eq!(
        told(line, "words = [\"a\", \"b\"], t = \"c\", board = []"),
        "-"
    );
    assert_eq!(
        told(line, "words = [\"a\", \"B\"], t = \"c\", board = []"),
        "`t and words[i] consist of lowercase English letters`, and there is 'B'"
    );
    let line = "board[i][j] is 'W' or 'B'";
    assert!(
        told(line, "words = [], t = \"\", board = [[\"W\"],[\"x\"]]").ends_with("there is \"x\"")
    );
}

#[test]
fn words_about_lists_are_understood() {
    let told = |line, arguments| told("a, b, n", line, arguments);
    for (line, good, bad) in [
        (
            "a[i] is either 0 or 1.",
            "a = [0,1], b = 0, n = 0",
            "a = [2], b = 0, n = 0",
        ),
        (
            "a[i][j] is -1, 0, or 1.",
            "a = [[-1],[1]], b = 0, n = 0",
            "a = [[0],[2]], b = 0, n = 0",
        ),
        ("n is odd.", "a = [], b = 0, n = 3", "a = [], b = 0, n = 4"),
        (
            "a.length is divisible by n",
            "a = [1,2], b = 0, n = 2",
            "a = [1,2,3], b = 0, n = 2",
        ),
        (
            "All the values of a are unique.",
            "a = [1,2], b = 0, n = 0",
            "a = [1,1], b = 0, n = 0",
        ),
        (
            "All a[i] are distinct.",
            "a = [[1],[2]], b = 0, n = 0",
            "a = [[1],[1]], b = 0, n = 0",
        ),
        (
            "Each number in a appears either once or twice.",
            "a = [1,1], b = 0, n = 0",
            "a = [1,1,1], b = 0, n = 0",
        ),
        (
            "a is sorted in ascending order.",
            "a = [1,1,2], b = 0, n = 0",
            "a = [2,1], b = 0, n = 0",
        ),
        (
            "a is a permutation of [0, 1, 2, ..., n - 1].",
            "a = [1,0], b = 0, n = 0",
            "a = [1,2], b = 0, n = 0",
        ),
        (
            "The input is generated such that a contains distinct elements in the range [0, n - 1].",
            "a = [0,2], b = 0, n = 3",
            "a = [0,3], b = 0, n = 3",
        ),
        (
            "b is a permutation of a.",
            "a = \"ab\", b = \"ba\", n = 0",
            "a = \"ab\", b = \"bb\", n = 0",
        ),
        (
            "The input is generated such that a and b are anagrams of each other.",
            "a = \"ab\", b = \"ba\", n = 0",
            "a = \"ab\", b = \"b\", n = 0",
        ),
        (
            "The input is generated such that a appears as a subsequence in b.",
            "a = \"ac\", b = \"abc\", n = 0",
            "a = \"ca\", b = \"abc\", n = 0",
        ),
        (
            "The input is generated such that a represents a valid tree.",
            "a = [[0,1],[2,1]], b = 0, n = 0",
            "a = [[0,1],[1,0]], b = 0, n = 0",
        ),
        (
            "The input is generated such that a and b represent valid trees.",
            "a = [], b = [[0,1]], n = 0",
            "a = [], b = [[0,2]], n = 0",
        ),
        (
            "1 <= a.length <= min(n, 2)",
            "a = [1], b = 0, n = 9",
            "a = [1,2,3], b = 0, n = 9",
        ),
    ] {
        assert_eq!(told(line, good), "-", "{line}");
        assert!(told(line, bad).starts_with('`'), "{line}");
    }
}

#[test]
fn nodes_are_counted_and_their_values_looked_at() {
    let lines = "The number of nodes in the tree is in the range [1, 3].\n-100 <= Node.val <= 100";
    let told = |arguments| told("root:Optional[TreeNode], k", lines, arguments);
    assert_eq!(told("root = [1,null,2,null,3], k = 0"), "-");
    assert_eq!(
        told("root = [], k = 0"),
        "`The number of nodes in the tree is in the range [1, 3]`, and Node.count is 0"
    );
    assert_eq!(
        told("root = [1,null,101], k = 0"),
        "`-100 <= Node.val <= 100`, and Node.val is 101 at node = 1"
    );
}

#[test]
fn what_is_not_said_plainly_is_not_judged() {
    let lines = [
        "The input is generated such that the answer is unique.",
        "n == number of houses",
        "1 <= s.length <= floor(log_10(n)) + 1",
        "0 <= a[i] <= a.length - 1, 1 <= n <= 5",
        "There are no two queries such that i != j and a[i] < a[j].",
        "a[i] <= b[i + 1] where i lies in the range [0, n - 2].",
        "s contains at least one '1'.",
        "p contains only lowercase English letters and exactly two '*'.",
        "All the words in a and b combined are distinct.",
        "s consists only of numeric digits which are at most limit.",
        "a[i] is a prime number.",
        "s[i] is '('",
        "It is guaranteed that 1 <= n <= 5",
        "1 <= 2n <= 5",
        "sum(words[i].length) <= 10^5",
        "commands consists only of \"UP\", \"RIGHT\", \"DOWN\", and \"LEFT\".",
    ];
    assert_eq!(unread("a, b, s, p, n", &lines.join("\n")), lines.len());
    // Lines below another one mean what that one says.
    let text = "<strong>Constraints:</strong><ul><li>If so:\n<ul><li><code>1 &lt;= n</code></li></ul></li><li>7 &lt;= n</li></ul>";
    let bounds = Bounds::read(text, &function("n"));
    assert_eq!(bounds.counts(), (0, 0));
    // Names that nothing is known of, values that are no numbers, and places that are not there.
    assert_eq!(
        told(
            "a, n",
            "1 <= m <= 5\nx < n\na[i] != a[j]\na[3] == 1\na[i] < 5",
            "a = [\"x\", 2.5, null], n = 1"
        ),
        "-"
    );
    assert_eq!(told("a, n", "no constraints", "a = [], n = 1"), "-");
}

#[test]
fn no_text_makes_the_readers_panic() {
    let pieces = [
        "nums",
        "[",
        "]",
        "<=",
        "'",
        "\"",
        "é",
        "10^",
        "^99999",
        "-",
        "(",
        ")",
        ".length",
        " is ",
        "either ",
        "'a",
        "* ",
        "</",
        "&lt;",
        "<sup",
        "All ",
        " are unique",
        "%",
        "0",
        ",",
        " and ",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut line = String::from("Constraints:\n");
        for _ in 0..7 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            line.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        let function = function("nums");
        let bounds = Bounds::read(&line, &function);
        bounds.broken(&[Value::List(vec![Value::Integer("0".into())])]);
    }
}
