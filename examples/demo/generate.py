#!/usr/bin/env python3
"""Writes the demo: problems of our own in the three forms, and the answers of three invented models.

`heron` knows its algorithms, `otter` is middling and wrong twice (once it does not even compile), `snail` is naive and
loops for ever once. Inputs come from a fixed generator and the programs' expected outputs from the reference solutions
below, so that the files can be made again byte for byte.
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def numbers(seed, count, low, high):
    """A linear congruential generator: the same numbers with every version of Python."""
    values = []
    for _ in range(count):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append(low + (seed >> 33) % (high - low + 1))
    return values


# ---------------------------------------------------------------------------------------------------------------------
# Programs that read standard input.


def pair_count(values, target):
    seen, pairs = {}, 0
    for value in values:
        pairs += seen.get(target - value, 0)
        seen[value] = seen.get(value, 0) + 1
    return pairs


def rising(values):
    """Length of the longest strictly rising subsequence."""
    import bisect

    tails = []
    for value in values:
        at = bisect.bisect_left(tails, value)
        tails[at : at + 1] = [value]
    return len(tails)


def primes_below(limit):
    sieve = bytearray([1]) * limit
    sieve[0:2] = b"\0\0"
    for p in range(2, int(limit**0.5) + 1):
        if sieve[p]:
            sieve[p * p :: p] = bytes(len(range(p * p, limit, p)))
    primes = [n for n in range(limit) if sieve[n]]
    return len(primes), sum(primes)


def steps(grid):
    """Fewest steps from the first cell to the last, or -1."""
    height, width = len(grid), len(grid[0])
    distance, front = {(0, 0): 0}, [(0, 0)]
    for row, column in front:
        for r, c in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= r < height and 0 <= c < width and grid[r][c] == "." and (r, c) not in distance:
                distance[r, c] = distance[row, column] + 1
                front.append((r, c))
    return distance.get((height - 1, width - 1), -1)


def pairs_case(seed, count, spread, target):
    values = numbers(seed, count, 1, spread)
    return f"{count} {target}\n{' '.join(map(str, values))}\n", f"{pair_count(values, target)}\n"


def rising_case(seed, count):
    values = numbers(seed, count, -10**9, 10**9)
    return f"{count}\n{' '.join(map(str, values))}\n", f"{rising(values)}\n"


def ranges_case(seed, count, queries):
    values = numbers(seed, count, -1000, 1000)
    ends = numbers(seed + 1, 2 * queries, 1, count)
    lines, sums = [], []
    for a, b in zip(ends[::2], ends[1::2]):
        a, b = min(a, b), max(a, b)
        lines.append(f"{a} {b}\n")
        sums.append(f"{sum(values[a - 1:b])}\n")
    return f"{count} {queries}\n{' '.join(map(str, values))}\n{''.join(lines)}", "".join(sums)


def primes_case(limit):
    count, total = primes_below(limit)
    return f"{limit}\n", f"{count} {total}\n"


def grid_case(seed, height, width, walls):
    cells = numbers(seed, height * width, 0, 99)
    grid = [["#" if cells[r * width + c] < walls else "." for c in range(width)] for r in range(height)]
    grid[0][0] = grid[-1][-1] = "."
    rows = "".join("".join(row) + "\n" for row in grid)
    return f"{height} {width}\n{rows}", f"{steps(grid)}\n"


STDIO = {
    "pair-sum": [pairs_case(1, 5, 4, 5), pairs_case(2, 3000, 5000, 6000), pairs_case(3, 2500, 40, 41)],
    "longest-rise": [("6\n5 1 4 2 3 6\n", "4\n"), rising_case(4, 1500), rising_case(5, 2500)],
    "range-sum": [ranges_case(6, 4, 3), ranges_case(7, 3000, 2000)],
    "prime-sum": [primes_case(2), primes_case(1000), primes_case(100000)],
    "grid-walk": [grid_case(10, 3, 4, 20), grid_case(8, 40, 40, 25), grid_case(9, 60, 50, 28), ("2 2\n.#\n#.\n", "-1\n")],
}

CPP_READ = "#include <bits/stdc++.h>\nusing namespace std;\n"

STDIO_ANSWERS = {
    "heron": {
        "pair-sum": CPP_READ + """int main() {
    int n; long long target;
    scanf("%d %lld", &n, &target);
    unordered_map<long long, int> seen;
    seen.reserve(2 * n);
    long long pairs = 0;
    for (int i = 0; i < n; i++) {
        long long x;
        scanf("%lld", &x);
        auto match = seen.find(target - x);
        if (match != seen.end()) pairs += match->second;
        seen[x]++;
    }
    printf("%lld\\n", pairs);
}
""",
        "longest-rise": CPP_READ + """int main() {
    int n;
    scanf("%d", &n);
    vector<int> tails;
    for (int i = 0; i < n; i++) {
        int x;
        scanf("%d", &x);
        auto at = lower_bound(tails.begin(), tails.end(), x);
        if (at == tails.end()) tails.push_back(x); else *at = x;
    }
    printf("%zu\\n", tails.size());
}
""",
        "range-sum": """The sum of a range is the difference of two prefix sums, so each query takes constant time:

```cpp
#include <cstdio>
#include <vector>

int main() {
    int n, q;
    std::scanf("%d %d", &n, &q);
    std::vector<long long> prefix(n + 1);
    for (int i = 1; i <= n; i++) {
        int x;
        std::scanf("%d", &x);
        prefix[i] = prefix[i - 1] + x;
    }
    while (q--) {
        int a, b;
        std::scanf("%d %d", &a, &b);
        std::printf("%lld\\n", prefix[b] - prefix[a - 1]);
    }
}
```

This reads the values once and answers a query with one subtraction.
""",
        "prime-sum": CPP_READ + """int main() {
    int limit;
    scanf("%d", &limit);
    vector<bool> composite(max(limit, 2));
    int count = 0;
    long long sum = 0;
    for (int p = 2; p < limit; p++) {
        if (composite[p]) continue;
        count++;
        sum += p;
        for (long long q = (long long)p * p; q < limit; q += p) composite[q] = true;
    }
    printf("%d %lld\\n", count, sum);
}
""",
        "grid-walk": CPP_READ + """int main() {
    int h, w;
    cin >> h >> w;
    vector<string> grid(h);
    for (auto& row : grid) cin >> row;
    vector<int> distance(h * w, -1);
    vector<int> front{0};
    distance[0] = 0;
    for (size_t i = 0; i < front.size(); i++) {
        int r = front[i] / w, c = front[i] % w;
        const int dr[] = {1, -1, 0, 0}, dc[] = {0, 0, 1, -1};
        for (int d = 0; d < 4; d++) {
            int y = r + dr[d], x = c + dc[d];
            if (y < 0 || y >= h || x < 0 || x >= w || grid[y][x] == '#' || distance[y * w + x] >= 0) continue;
            distance[y * w + x] = distance[front[i]] + 1;
            front.push_back(y * w + x);
        }
    }
    cout << distance.back() << endl;
}
""",
    },
    "otter": {
        "pair-sum": CPP_READ + """int main() {
    int n; long long target;
    cin >> n >> target;
    vector<long long> a(n);
    for (auto& x : a) cin >> x;
    sort(a.begin(), a.end());
    long long pairs = 0;
    for (int i = 0; i < n; i++) {
        auto range = equal_range(a.begin() + i + 1, a.end(), target - a[i]);
        pairs += range.second - range.first;
    }
    cout << pairs << endl;
}
""",
        "longest-rise": CPP_READ + """int main() {
    int n;
    cin >> n;
    vector<int> a(n), best(n, 1);
    for (auto& x : a) cin >> x;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (a[j] < a[i]) best[i] = max(best[i], best[j] + 1);
    cout << *max_element(best.begin(), best.end()) << endl;
}
""",
        "range-sum": CPP_READ + """int main() {
    int n, q;
    cin >> n >> q;
    vector<long long> tree(n + 1);
    for (int i = 1; i <= n; i++) {
        long long x;
        cin >> x;
        for (int j = i; j <= n; j += j & -j) tree[j] += x;
    }
    auto upto = [&](int i) { long long s = 0; for (; i > 0; i -= i & -i) s += tree[i]; return s; };
    while (q--) {
        int a, b;
        cin >> a >> b;
        cout << upto(b) - upto(a - 1) << "\\n";
    }
}
""",
        "prime-sum": CPP_READ + """int main() {
    int limit;
    cin >> limit;
    vector<int> primes;
    long long sum = 0;
    for (int n = 2; n < limit; n++) {
        bool prime = true;
        for (int p : primes) {
            if (p * p > n) break;
            if (n % p == 0) { prime = false; break; }
        }
        if (prime) { primes.push_back(n); sum += n; }
    }
    cout << primes.size() << " " << sum << endl;
}
""",
        # Forgets the declaration of `queue`'s element type: it does not compile.
        "grid-walk": """#include <iostream>
#include <queue>
#include <string>
#include <vector>
int main() {
    int h, w;
    std::cin >> h >> w;
    std::vector<std::string> grid(h);
    for (auto& row : grid) std::cin >> row;
    std::queue<Cell> front;
    front.push({0, 0});
    std::cout << front.size() << std::endl;
}
""",
    },
    "snail": {
        "pair-sum": CPP_READ + """int main() {
    int n; long long target;
    cin >> n >> target;
    vector<long long> a(n);
    for (auto& x : a) cin >> x;
    long long pairs = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (a[i] + a[j] == target) pairs++;
    cout << pairs << endl;
}
""",
        "longest-rise": CPP_READ + """int main() {
    int n;
    cin >> n;
    vector<int> a(n);
    for (auto& x : a) cin >> x;
    map<int, int> best;
    int longest = 0;
    for (int x : a) {
        int length = 1;
        for (auto& [value, before] : best) {
            if (value >= x) break;
            length = max(length, before + 1);
        }
        best[x] = max(best[x], length);
        longest = max(longest, length);
    }
    cout << longest << endl;
}
""",
        "range-sum": CPP_READ + """int main() {
    int n, q;
    cin >> n >> q;
    vector<long long> a(n);
    for (auto& x : a) cin >> x;
    while (q--) {
        int from, to;
        cin >> from >> to;
        long long sum = 0;
        for (int i = from - 1; i < to; i++) sum += a[i];
        cout << sum << endl;
    }
}
""",
        "prime-sum": CPP_READ + """bool prime(int n) {
    for (int d = 2; d * d <= n; d++)
        if (n % d == 0) return false;
    return n > 1;
}
int main() {
    int limit, count = 0;
    cin >> limit;
    long long sum = 0;
    for (int n = 0; n < limit; n++)
        if (prime(n)) { count++; sum += n; }
    cout << count << " " << sum << endl;
}
""",
        # Never leaves the loop where the last cell cannot be reached.
        "grid-walk": CPP_READ + """int main() {
    int h, w;
    cin >> h >> w;
    vector<string> grid(h);
    for (auto& row : grid) cin >> row;
    vector<vector<int>> reached(h, vector<int>(w, -1));
    reached[0][0] = 0;
    for (int step = 0; reached[h - 1][w - 1] < 0; step++)
        for (int r = 0; r < h; r++)
            for (int c = 0; c < w; c++)
                if (reached[r][c] == step)
                    for (auto [y, x] : {pair{r + 1, c}, {r - 1, c}, {r, c + 1}, {r, c - 1}})
                        if (y >= 0 && y < h && x >= 0 && x < w && grid[y][x] == '.' && reached[y][x] < 0)
                            reached[y][x] = step + 1;
    cout << reached[h - 1][w - 1] << endl;
}
""",
    },
}

# ---------------------------------------------------------------------------------------------------------------------
# Python functions.

HUMANEVAL = [
    {
        "task_id": "Demo/0",
        "entry_point": "shared_items",
        "prompt": '''from typing import List


def shared_items(first: List[int], second: List[int]) -> List[int]:
    """ Return the numbers that stand in both lists, each once, in rising order.
    >>> shared_items([3, 1, 2, 3], [3, 4, 1])
    [1, 3]
    """
''',
        "canonical_solution": "    return sorted(set(first) & set(second))\n",
        "test": '''def check(candidate):
    assert candidate([3, 1, 2, 3], [3, 4, 1]) == [1, 3]
    assert candidate([], [1]) == []
    assert candidate(list(range(0, 1200, 2)), list(range(0, 1200, 3))) == list(range(0, 1200, 6))
    assert candidate([7] * 400, list(range(400, 0, -1))) == [7]
''',
    },
    {
        "task_id": "Demo/1",
        "entry_point": "best_window",
        "prompt": '''def best_window(values, width):
    """ Return the largest sum of `width` values that stand next to each other (`width` is at most the length).
    >>> best_window([1, 5, -2, 8], 2)
    6
    """
''',
        "canonical_solution": '''    total = best = sum(values[:width])
    for gone, come in zip(values, values[width:]):
        total += come - gone
        best = max(best, total)
    return best
''',
        "test": '''def check(candidate):
    assert candidate([1, 5, -2, 8], 2) == 6
    assert candidate([-4], 1) == -4
    values = [(i * 7919) % 1009 - 500 for i in range(1500)]
    assert candidate(values, 1) == 508
    assert candidate(values, 150) == max(sum(values[i:i + 150]) for i in range(1351))
''',
    },
    {
        "task_id": "Demo/2",
        "entry_point": "ways_to_climb",
        "prompt": '''def ways_to_climb(stairs: int) -> int:
    """ In how many ways can one climb `stairs` stairs, taking one, two or three at a time?
    >>> ways_to_climb(4)
    7
    """
''',
        "canonical_solution": '''    a, b, c = 1, 0, 0
    for _ in range(stairs):
        a, b, c = a + b + c, a, b
    return a
''',
        "test": '''def check(candidate):
    assert candidate(0) == 1
    assert candidate(4) == 7
    assert candidate(12) == 927
    assert candidate(16) == 10609
''',
    },
    {
        "task_id": "Demo/3",
        "entry_point": "most_common_words",
        "prompt": '''from typing import List


def most_common_words(text: str, count: int) -> List[str]:
    """ Return the `count` words that occur most often, most frequent first, and in alphabetical order where they
    occur equally often. Words are separated by blanks; case does not matter and the result is in lower case.
    >>> most_common_words("b a B c a b", 2)
    ['b', 'a']
    """
''',
        "canonical_solution": '''    seen = {}
    for word in text.lower().split():
        seen[word] = seen.get(word, 0) + 1
    return sorted(seen, key=lambda word: (-seen[word], word))[:count]
''',
        "test": '''def check(candidate):
    assert candidate("b a B c a b", 2) == ["b", "a"]
    assert candidate("", 3) == []
    assert candidate("One two one", 5) == ["one", "two"]
    text = " ".join("w" + str(i * i % 97) for i in range(900))
    assert candidate(text, 3) == ["w1", "w12", "w16"]
''',
    },
]

HUMANEVAL_ANSWERS = {
    "heron": {
        "Demo/0": ("completion", "    return sorted(set(first).intersection(second))\n"),
        "Demo/1": ("solution", '''def best_window(values, width):
    total = sum(values[:width])
    best = total
    for i in range(width, len(values)):
        total += values[i] - values[i - width]
        if total > best:
            best = total
    return best
'''),
        "Demo/2": ("completion", '''    counts = [1, 1, 2]
    for _ in range(stairs - 2):
        counts = [counts[1], counts[2], sum(counts)]
    return counts[2] if stairs >= 2 else 1

print(ways_to_climb(4))
'''),
        "Demo/3": ("solution", '''from collections import Counter


def most_common_words(text: str, count: int) -> List[str]:
    seen = Counter(text.lower().split())
    return sorted(seen, key=lambda word: (-seen[word], word))[:count]
'''),
    },
    "otter": {
        "Demo/0": ("completion", '''    shared = []
    second = set(second)
    for number in first:
        if number in second and number not in shared:
            shared.append(number)
    return sorted(shared)
'''),
        "Demo/1": ("completion", '''    prefix = [0]
    for value in values:
        prefix.append(prefix[-1] + value)
    return max(prefix[i + width] - prefix[i] for i in range(len(values) - width + 1))
'''),
        "Demo/2": ("completion", '''    known = {0: 1}
    def ways(n):
        if n < 0:
            return 0
        if n not in known:
            known[n] = ways(n - 1) + ways(n - 2) + ways(n - 3)
        return known[n]
    return ways(stairs)
'''),
        # Forgets that case does not matter.
        "Demo/3": ("completion", '''    words = text.split()
    return sorted(set(words), key=lambda word: (-words.count(word), word))[:count]
'''),
    },
    "snail": {
        "Demo/0": ("completion", '''    shared = []
    for number in first:
        if number in second and number not in shared:
            shared.append(number)
    return sorted(shared)
'''),
        "Demo/1": ("solution", '''Here is one way to do it. It tries every window:

```python
def best_window(values, width):
    sums = []
    for i in range(len(values) - width + 1):
        sums.append(sum(values[i:i + width]))
    return max(sums)
```

Let me know if you need anything else!
'''),
        "Demo/2": ("completion", '''    if stairs < 0:
        return 0
    if stairs == 0:
        return 1
    return ways_to_climb(stairs - 1) + ways_to_climb(stairs - 2) + ways_to_climb(stairs - 3)
'''),
        "Demo/3": ("completion", '''    words = text.lower().split()
    unique = []
    for word in words:
        if word not in unique:
            unique.append(word)
    unique.sort(key=lambda word: (-words.count(word), word))
    return unique[:count]
'''),
    },
}

# ---------------------------------------------------------------------------------------------------------------------
# C++ functions.

HEAD = "#include<vector>\nusing namespace std;\n"

HUMANEVAL_X = [
    {
        "task_id": "DemoCPP/0",
        "prompt": """/*
The price of a share on successive days. Return the largest profit of buying on one day and selling on a later one,
or 0 if no such pair gains.
>>> best_trade({7, 1, 5, 3, 6, 4})
5
*/
#include<vector>
using namespace std;
int best_trade(vector<int> prices){
""",
        "declaration": HEAD + "#include<algorithm>\nint best_trade(vector<int> prices){\n",
        "canonical_solution": """    int lowest=prices.empty()?0:prices[0],best=0;
    for (int price:prices)
    {
        best=max(best,price-lowest);
        lowest=min(lowest,price);
    }
    return best;
}
""",
        "test": """#undef NDEBUG
#include<assert.h>
int main(){
    assert (best_trade({7, 1, 5, 3, 6, 4})==5);
    assert (best_trade({7, 6, 4, 3, 1})==0);
    assert (best_trade({})==0);
    vector<int> prices;
    for (int i=0;i<3000;i++) prices.push_back((i*7919)%10007);
    assert (best_trade(prices)==10006);
}
""",
        "example_test": """#undef NDEBUG
#include<assert.h>
int main(){
    assert (best_trade({7, 1, 5, 3, 6, 4})==5);
}
""",
    },
    {
        "task_id": "DemoCPP/1",
        "prompt": """/*
The Collatz sequence goes from n to n / 2 if n is even, and to 3 * n + 1 otherwise, until it is 1. Return the start
below the limit (at least 2) whose sequence has the most steps, the smallest where there are several.
>>> longest_collatz(10)
9
*/
#include<vector>
using namespace std;
int longest_collatz(int limit){
""",
        "declaration": HEAD + "#include<algorithm>\nint longest_collatz(int limit){\n",
        "canonical_solution": """    vector<int> steps(limit,0);
    int best=1;
    for (int start=2;start<limit;start++)
    {
        long long n=start;
        int count=0;
        while (n>=start)
        {
            n=n%2==0?n/2:3*n+1;
            count++;
        }
        steps[start]=count+steps[n];
        if (steps[start]>steps[best]) best=start;
    }
    return best;
}
""",
        "test": """#undef NDEBUG
#include<assert.h>
int main(){
    assert (longest_collatz(2)==1);
    assert (longest_collatz(10)==9);
    assert (longest_collatz(1000)==871);
    assert (longest_collatz(20000)==17647);
}
""",
        "example_test": """#undef NDEBUG
#include<assert.h>
int main(){
    assert (longest_collatz(10)==9);
}
""",
    },
]

HUMANEVAL_X_ANSWERS = {
    "heron": {
        "DemoCPP/0": ("completion", """    int best = 0, lowest = 1 << 30;
    for (int price : prices) {
        lowest = min(lowest, price);
        best = max(best, price - lowest);
    }
    return best;
}

int main() {
    vector<int> prices = {7, 1, 5, 3, 6, 4};
    return best_trade(prices) == 5 ? 0 : 1;
}
"""),
        "DemoCPP/1": ("completion", """    vector<int> steps(limit, 0);
    int best = 1;
    for (int start = 2; start < limit; start++) {
        unsigned n = start;
        int count = 0;
        while (n >= (unsigned)start) {
            n = n & 1 ? 3 * n + 1 : n >> 1;
            count++;
        }
        steps[start] = count + steps[n];
        if (steps[start] > steps[best]) best = start;
    }
    return best;
}
"""),
    },
    "otter": {
        "DemoCPP/0": ("completion", """    int n = prices.size(), best = 0;
    vector<int> highest(n + 1, 0);
    for (int i = n - 1; i >= 0; i--) highest[i] = max(highest[i + 1], prices[i]);
    for (int i = 0; i < n; i++) best = max(best, highest[i] - prices[i]);
    return best;
}
"""),
        "DemoCPP/1": ("solution", """```cpp
#include <unordered_map>

unordered_map<long long, int> known;

int steps(long long n) {
    if (n == 1) return 0;
    auto it = known.find(n);
    if (it != known.end()) return it->second;
    return known[n] = 1 + steps(n % 2 ? 3 * n + 1 : n / 2);
}

int longest_collatz(int limit) {
    int best = 1;
    for (int start = 2; start < limit; start++)
        if (steps(start) > steps(best)) best = start;
    return best;
}
```
"""),
    },
    "snail": {
        "DemoCPP/0": ("completion", """    int best = 0;
    for (int i = 0; i < prices.size(); i++)
        for (int j = i + 1; j < prices.size(); j++)
            best = max(best, prices[j] - prices[i]);
    return best;
}
"""),
        "DemoCPP/1": ("completion", """    int best = 1, most = 0;
    for (int start = 1; start < limit; start++) {
        long long n = start;
        int count = 0;
        while (n != 1) {
            if (n % 2 == 0) n = n / 2;
            else n = 3 * n + 1;
            count++;
        }
        if (count > most) { most = count; best = start; }
    }
    return best;
}
"""),
    },
}


def write(form, name, objects):
    folder = os.path.join(HERE, form)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".jsonl"), "w", encoding="utf-8") as file:
        for item in objects:
            file.write(json.dumps(item) + "\n")


def main():
    write("stdio", "problems", [
        {"id": name, "language": "cpp", "tests": [{"input": i, "output": o} for i, o in cases]}
        for name, cases in STDIO.items()
    ])
    write("humaneval", "problems", HUMANEVAL)
    write("humaneval-x", "problems", HUMANEVAL_X)
    for model in ("heron", "otter", "snail"):
        answers = STDIO_ANSWERS[model]
        write("stdio", model, [{"task_id": name, "solution": answers[name]} for name in STDIO])
        for form, problems, all_answers in (
            ("humaneval", HUMANEVAL, HUMANEVAL_ANSWERS),
            ("humaneval-x", HUMANEVAL_X, HUMANEVAL_X_ANSWERS),
        ):
            write(form, model, [
                {"task_id": p["task_id"], all_answers[model][p["task_id"]][0]: all_answers[model][p["task_id"]][1]}
                for p in problems
            ])


if __name__ == "__main__":
    main()
