# Forty modules of the standard library: imported, and one thing done with several of them.
import abc, argparse, array, ast, base64, bisect, calendar, cmath, collections, contextlib
import copy, csv, dataclasses, datetime, decimal, difflib, enum, fractions, functools, hashlib
import heapq, inspect, io, itertools, json, math, numbers, operator, os, pprint
import queue, random, re, statistics, string, struct, sys, textwrap, typing, zlib

print(json.dumps({"b": [1, 2.5, None], "a": "\u00e9"}, sort_keys=True), json.loads("[1e3]"))
print(re.findall(r"(\w+)@(\w+)", "one@two, three@four"))
heap = [5, 1, 4]
heapq.heapify(heap)
print(heapq.heappop(heap), bisect.bisect([1, 3, 5], 4))
print(collections.Counter("mississippi").most_common(2))
decimal.getcontext().prec = 50
print(decimal.Decimal(2).sqrt(), fractions.Fraction(3, 9))
print(hashlib.sha256(b"text").hexdigest(), hashlib.md5(b"text").hexdigest())
random.seed(7)
print(random.random(), random.sample(range(100), 5))
print(datetime.date(2024, 2, 28) + datetime.timedelta(days=2), calendar.isleap(2024))
point = dataclasses.make_dataclass("Point", ["x", "y"])(1, 2)
print(point, dataclasses.astuple(point))
print(math.gamma(5.5), cmath.sqrt(-2), statistics.stdev([1, 2, 4]))
print(struct.pack(">If", 7, 1.5).hex(), zlib.crc32(b"text"), base64.b64encode(b"text"))
print(list(itertools.permutations("abc", 2))[:3], functools.reduce(operator.mul, range(1, 25)))
print(textwrap.fill("a line that is longer than it may be", 12))
print(list(csv.reader(io.StringIO('1,"two, three"\n'))), string.Template("$x").substitute(x=3))
print(ast.literal_eval("{'k': (1, 2)}"), difflib.get_close_matches("appel", ["ape", "apple"]))
print(typing.get_type_hints(lambda: 0), inspect.signature(lambda a, *b: 0), enum.Enum("E", "A B").A)
print(sorted(sys.argv[1:]), sys.stdin.read().split(), 0.1 + 0.2, 2**100, 1e22)
try:
    1 / 0
except ZeroDivisionError as error:
    print(error)
