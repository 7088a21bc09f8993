"""numpy.linalg through OpenBLAS: matrix products, solve, svd, eigenvalues, qr, determinants."""
import numpy as np

rng = np.random.default_rng(1)
a, b = rng.standard_normal((120, 90)), rng.standard_normal((90, 110))
show = lambda name, v: print(name, np.asarray(v).tobytes().hex()[-64:], hash(np.ascontiguousarray(v).tobytes()))
show("matmul", a @ b)
show("float32", a.astype(np.float32) @ b.astype(np.float32))
show("complex", (a + 1j * a[::-1]) @ (b - 1j * b))
square = rng.standard_normal((60, 60))
show("solve", np.linalg.solve(square, rng.standard_normal((60, 3))))
show("inverse", np.linalg.inv(square))
show("determinant", np.linalg.det(square))
for part in np.linalg.svd(a[:50, :40], full_matrices=False):
    show("svd", part)
for part in np.linalg.eigh(square + square.T):
    show("eigh", part)
show("eigenvalues", np.linalg.eigvals(square))
for part in np.linalg.qr(a[:40, :30]):
    show("qr", part)
show("cholesky", np.linalg.cholesky(square @ square.T + 60 * np.eye(60)))
show("norm", np.linalg.norm(a))
show("vector", a[:, 0] @ a[:, 1])
show("matrix-vector", a @ b[:, 0])
