import os
os.write(198, b"B0123456789abcdef")
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
total = fib(9)
table = {}
for i in range(100):
    table[i * 7919 % 1009] = str(i)
words = sorted(table.values(), reverse=True)
text = ",".join(words).encode()
numbers = [x * x % 97 for x in range(150) if x % 3]
big = 3 ** 100 % (10 ** 30 + 7)
fraction = sum(1 / n for n in range(1, 60))
try:
    [].pop()
except IndexError as error:
    message = str(error)
os.write(198, b"E0123456789abcdef")
print(total, len(text), sum(numbers), big, fraction, message)
