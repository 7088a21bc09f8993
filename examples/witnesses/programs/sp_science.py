"""scipy: optimisation, integration, sparse matrices, signal, spatial, special functions, statistics."""
import numpy as np
from scipy import integrate, interpolate, linalg, optimize, signal, sparse, spatial, special, stats
from scipy.sparse import csgraph
from scipy.sparse.linalg import spsolve

rng = np.random.default_rng(6)
show = lambda name, v: print(name, np.asarray(v).ravel()[:3], hash(np.ascontiguousarray(v).tobytes()))
show("minimize", optimize.minimize(optimize.rosen, [1.3, 0.7, 0.8], method="BFGS").x)
show("root", optimize.brentq(lambda x: x**3 - 2, 0, 2))
show("linprog", optimize.linprog([-1, -2], [[1, 1], [3, 1]], [4, 6]).x)
show("quad", integrate.quad(lambda x: np.exp(-x * x), 0, 3))
show("ode", integrate.solve_ivp(lambda t, y: [y[1], -y[0]], (0, 5), [1, 0]).y)
matrix = sparse.random(80, 80, 0.05, random_state=1) + sparse.eye(80) * 3
show("spsolve", spsolve(matrix.tocsc(), np.ones(80)))
show("dijkstra", csgraph.dijkstra(abs(matrix.tocsr())[:30, :30], indices=0))
show("butter", signal.lfilter(*signal.butter(4, 0.2), rng.standard_normal(300)))
show("kdtree", spatial.cKDTree(rng.random((200, 3))).query(rng.random((20, 3)), k=3)[0])
show("hull", spatial.ConvexHull(rng.random((50, 2))).volume)
show("special", [special.gamma(4.5), special.jv(2, 1.5), special.erfinv(0.3), special.betainc(2, 3, 0.4)])
show("ttest", stats.ttest_ind(rng.normal(0, 1, 50), rng.normal(0.5, 1, 60)))
show("spline", interpolate.CubicSpline(np.arange(10), np.sin(np.arange(10)))(np.linspace(0, 9, 30)))
show("expm", linalg.expm(rng.standard_normal((8, 8)) / 4))
show("lu", linalg.lu(rng.standard_normal((20, 20)))[2])
