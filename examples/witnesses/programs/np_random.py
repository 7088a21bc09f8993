"""numpy.random: bit generators and distributions."""
import numpy as np

show = lambda name, v: print(name, np.asarray(v).ravel()[:2], hash(np.ascontiguousarray(v).tobytes()))
for kind in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
    rng = np.random.Generator(kind(12345))
    show(kind.__name__, rng.random(500))
    for name, parameters in [("normal", (1, 2)), ("exponential", (2,)), ("gamma", (2.5, 1)), ("beta", (2, 3)), ("binomial", (50, 0.3)),
                             ("poisson", (4,)), ("standard_t", (5,)), ("vonmises", (0, 4)), ("geometric", (0.2,)), ("zipf", (3,)),
                             ("hypergeometric", (15, 15, 15)), ("laplace", (0, 1)), ("weibull", (1.5,)), ("multinomial", (20, [0.2, 0.3, 0.5]))]:
        show(name, getattr(rng, name)(*parameters, size=200))
    show("permutation", rng.permutation(300))
    show("choice", rng.choice(1000, 50, replace=False))
np.random.seed(0)
show("legacy", [np.random.rand(), np.random.randn(), np.random.randint(1000)])
show("multivariate", np.random.default_rng(1).multivariate_normal([0, 1], [[2, 0.5], [0.5, 1]], 40))
