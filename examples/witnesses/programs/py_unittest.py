"""unittest, mock, doctest, ast, dis, inspect, tokenize, timeit-free."""
import ast
import dis
import doctest
import inspect
import io
import sys
import tokenize
import unittest
import unittest.mock


def double(x):
    """
    >>> double(4)
    8
    """
    return x * 2


class Tests(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(3), 6)

    def test_mock(self):
        with unittest.mock.patch(__name__ + ".double", return_value=1) as fake:
            self.assertEqual(double(5), 1)
        fake.assert_called_once_with(5)

    @unittest.expectedFailure
    def test_fails(self):
        self.assertAlmostEqual(0.1, 0.2)

    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i), self.assertRaises(ZeroDivisionError):
                1 / 0


result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(Tests))
print(result.testsRun, len(result.failures), len(result.expectedFailures), doctest.testmod())
tree = ast.parse("x = [a + b * 2 for a in c if a]")
print(ast.dump(tree), ast.unparse(tree), eval(compile(ast.parse("2 ** 10", mode="eval"), "", "eval")))
print([op.opname for op in dis.get_instructions(double)], inspect.signature(double))
print(len(list(tokenize.generate_tokens(io.StringIO("a = b + 1  # c\n").readline))), sys.getrecursionlimit())
