"""collections, heapq, bisect, itertools, functools, dataclasses, enum, typing, contextlib, copy."""
import bisect
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import itertools


@dataclasses.dataclass(order=True, frozen=True)
class Point:
    x: int
    y: int = 0
    tags: tuple = dataclasses.field(default=(), compare=False)


class Colour(enum.Flag):
    RED = enum.auto()
    GREEN = enum.auto()


@functools.lru_cache(maxsize=None)
def ways(n, coins=(1, 2, 5, 10, 25, 50)):
    if n < 0 or not coins:
        return 0
    return 1 if n == 0 else ways(n - coins[-1], coins) + ways(n, coins[:-1])


@contextlib.contextmanager
def noted(log):
    log.append("in")
    try:
        yield
    finally:
        log.append("out")


log = []
with contextlib.suppress(KeyError), noted(log):
    {}["missing"]
print(log, sorted([Point(2, 1), Point(1, 5), Point(1, 2)]), dataclasses.replace(Point(1), y=9), Colour.RED | Colour.GREEN)
print(ways(100), list(itertools.accumulate(range(1, 8), lambda a, b: a * b)), functools.reduce(lambda a, b: a ^ b, range(100)))
heap = [(i * 37 % 101, i) for i in range(50)]
heapq.heapify(heap)
print([heapq.heappop(heap) for _ in range(5)], heapq.nlargest(3, range(50), key=lambda v: v % 13))
print(bisect.bisect([1, 3, 5, 5, 7], 5), collections.Counter("mississippi").most_common(), collections.deque([1, 2, 3], maxlen=2))
print(list(itertools.islice(itertools.permutations("abcd", 3), 5)), [(k, len(list(g))) for k, g in itertools.groupby("aaabbc")])
chained = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
deep = copy.deepcopy({"list": [1, [2, 3]], "set": {4}})
print(dict(chained), deep, hash(Point(1, 2)), {1, 2, 3} ^ {3, 4}, [*map(str, range(3))], {**{"x": 1}, "y": 2})
print(list(itertools.chain.from_iterable(zip(*[iter(range(9))] * 3))), max("ab", "abc", key=len), any([]), all([]))
