"""numpy functions of real and complex numbers, FFT, polynomials, statistics."""
import numpy as np

rng = np.random.default_rng(3)
show = lambda name, v: print(name, hash(np.ascontiguousarray(v).tobytes()))
for kind in (np.float32, np.float64):
    x = rng.uniform(0.01, 0.99, 1003).astype(kind)
    for name in "sin cos tan arcsin arccos arctan sinh cosh tanh exp expm1 exp2 log log1p log2 log10 sqrt cbrt".split():
        show(f"{name} {kind.__name__}", getattr(np, name)(x))
    for name in "power arctan2 hypot fmod copysign nextafter logaddexp maximum floor_divide".split():
        show(f"{name} {kind.__name__}", getattr(np, name)(x, x[::-1]))
    show("rounding", [np.floor(x * 9), np.ceil(x * 9), np.rint(x * 9), np.trunc(-x * 9)])
    show("half", x.astype(np.float16))
z = rng.standard_normal(1000) + 1j * rng.standard_normal(1000)
for name in "exp log sqrt sin abs angle conj".split():
    show(f"complex {name}", getattr(np, name)(z))
for size in (64, 100, 243, 509, 1000):
    show(f"fft {size}", np.fft.fft(z[:size]))
    show(f"rfft {size}", np.fft.irfft(np.fft.rfft(z.real[:size]), size))
show("fft2", np.fft.fft2(z[:900].reshape(30, 30)))
show("convolve", np.convolve(z.real[:300], z.imag[:50]))
show("polynomial", np.polynomial.Polynomial.fit(np.arange(30), z.real[:30], 5).coef)
show("statistics", [z.real.mean(), z.real.std(), np.median(z.real), np.percentile(z.real, 31), np.corrcoef(z.real, z.imag)[0, 1]])
show("interpolation", np.interp(np.linspace(0, 9, 77), np.arange(10), z.real[:10]))
show("integers", np.array([[1 << 40, 7], [9, -3]]) // np.array([3, -2]))
