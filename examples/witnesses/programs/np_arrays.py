"""numpy arrays: sorting, searching, sums, unique, einsum, broadcasting, strings, files in memory."""
import io
import numpy as np

rng = np.random.default_rng(2)
show = lambda name, v: print(name, np.asarray(v).ravel()[:4], hash(np.ascontiguousarray(v).tobytes()))
for kind in (np.int8, np.int16, np.int32, np.int64, np.uint32, np.float32, np.float64):
    values = (rng.standard_normal(5000) * 100).astype(kind)
    show(f"sort {kind.__name__}", np.sort(values))
    show("argsort", np.argsort(values, kind="stable"))
    show("partition", np.partition(values, 100)[:100].sum())
    show("sum", values.sum(dtype=np.float64))
    show("extremes", [values.min(), values.max(), values.argmax()])
grid = rng.integers(0, 50, (60, 70))
show("unique", np.unique(grid, return_counts=True)[1])
show("einsum", np.einsum("ij,jk,kl->il", grid[:20, :30], grid[:30, :20], grid[:20, :20]))
show("einsum float", np.einsum("ij,ij->j", grid * 0.1, grid * 0.3))
show("broadcast", (grid[:, None, :3] * grid[None, :, :3]).sum(axis=-1))
show("cumulative", np.cumsum(grid * 0.1, axis=1))
show("where", np.where(grid > 25, grid, -grid)[np.nonzero(grid % 7 == 0)])
show("search", np.searchsorted(np.arange(0, 100, 3), grid[0]))
show("bits", np.bitwise_xor.reduce(grid, axis=0) ^ np.packbits(grid[:, 0] > 9).sum())
show("histogram", np.histogram(grid, bins=9)[0])
buffer = io.BytesIO()
np.savez_compressed(buffer, grid=grid)
buffer.seek(0)
show("saved", np.load(buffer)["grid"])
records = np.array([(1, 2.5, "x"), (3, 4.5, "yy")], dtype=[("a", "i4"), ("b", "f8"), ("c", "U3")])
print(records["c"], np.char.upper(records["c"]), np.array2string(grid[:3, :3]), np.datetime64("2024-02-29") + 365)
