"""sympy: simplification, calculus, equations, matrices, number theory."""
from sympy import Matrix, Rational, cos, diff, exp, factor, factorint, integrate, limit, oo, pi, series, simplify, sin, solve, sqrt, symbols

x, y = symbols("x y")
print(factor(x**4 - 1), simplify(sin(x) ** 2 + cos(x) ** 2), solve(x**3 - 6 * x**2 + 11 * x - 6, x))
print(integrate(x * exp(-x), x), diff(sin(x * y), x, y), limit(sin(x) / x, x, 0), series(exp(x), x, 0, 5))
print(Matrix([[1, 2], [3, 4]]).eigenvals(), Matrix([[2, x], [y, 3]]).det(), integrate(exp(-x**2), (x, -oo, oo)))
print(factorint(2**32 + 1), pi.evalf(40), sqrt(8) * Rational(1, 3), solve([x + y - 3, x - y - 1], [x, y]))
