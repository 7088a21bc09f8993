"""sortedcontainers: lists, dictionaries and sets that stay sorted."""
from sortedcontainers import SortedDict, SortedList, SortedSet

numbers = SortedList(i * 7919 % 10007 for i in range(5000))
for i in range(0, 3000, 3):
    numbers.add(i)
    numbers.discard(i * 2)
print(len(numbers), numbers[0], numbers[-1], numbers.bisect(5000), list(numbers.irange(100, 120)), numbers.count(9))
table = SortedDict((f"k{i * 37 % 101}", i) for i in range(200))
print(table.peekitem(0), table.peekitem(-1), list(table.irange("k3", "k33"))[:5], SortedSet("mississippi") & SortedSet("spring"))
