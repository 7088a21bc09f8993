# What depends on hash seeds, addresses and entropy.
import os
import random


class Key:
    pass


order = 0
for word in {"word %d" % n for n in range(1000)}:
    order = (order * 31 + sum(word.encode())) % 1000000007
keys = {Key(): n for n in range(200)}
addresses = 0
for key in set(keys):
    addresses = (addresses * 31 + keys[key]) % 1000000007
print(order, addresses)
print(random.random(), os.urandom(4).hex())
