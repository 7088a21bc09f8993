"""decimal, fractions, math, cmath, statistics, random, big integers."""
import cmath
import decimal
import fractions
import math
import random
import statistics

decimal.getcontext().prec = 60
print(decimal.Decimal(2).sqrt(), decimal.Decimal(1).exp(), decimal.Decimal("0.1") * 3)
print(sum(fractions.Fraction(1, n) for n in range(1, 40)), fractions.Fraction(math.pi).limit_denominator(1000))
print(math.factorial(60) % (10**9 + 7), pow(3, 10**20, 10**9 + 7), math.isqrt(10**41), len(str(7**3000)))
print([getattr(math, f)(0.7) for f in "sin cos tan asin acos atan sinh cosh tanh exp expm1 log1p erf gamma lgamma".split()])
print(math.fsum([0.1] * 10), math.hypot(3, 4, 12), math.comb(50, 25), math.gcd(2**40, 6**20), cmath.sqrt(-2 + 1j), cmath.exp(1j))
rng = random.Random(5)
values = [rng.gauss(10, 2) for _ in range(500)]
print(statistics.mean(values), statistics.stdev(values), statistics.median(values), statistics.quantiles(values, n=4))
print(rng.sample(range(1000), 8), rng.choices("abc", k=10), rng.shuffle(values), values[0])
print(0.1 + 0.2, 1e308 * 10, -0.0, float("nan"), round(2.675, 2), (1.1).as_integer_ratio(), float.hex(math.e))
