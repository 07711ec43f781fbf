"""
Where is the heat source? A solver inside of the objective
==========================================================

A plate is cooled at its edge, and its temperature is known at a few places. The temperature for a source is the
solution of a linear system, found by conjugate gradients that stop at a tolerance. Its derivative is not that of the
iterations: ``custom_vjp`` says that the adjoint of a solution is one more solution (the matrix is symmetric), and
nothing of the iterations is stored.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

N = 40


def slopes(u):
    """Differences of neighbours in both directions, zero outside of the plate."""
    padded = np.zeros((N + 2, N + 2))
    padded[1:-1, 1:-1] = u
    return padded[1:, 1:-1] - padded[:-1, 1:-1], padded[1:-1, 1:] - padded[1:-1, :-1]


def applied(u, conductivity):
    """- div(k grad u). k belongs to the faces between points, alike in both directions."""
    down, right = slopes(u)
    down, right = conductivity * down, conductivity.T * right
    return down[:-1] - down[1:] + right[:, :-1] - right[:, 1:]


def conjugate_gradients(source, conductivity):
    u, r = np.zeros((N, N)), source.copy()
    d, rr = r.copy(), np.sum(r * r)
    first = rr
    for _ in range(400):
        if rr <= 1e-24 * first:
            break
        q = applied(d, conductivity)
        step = rr / np.sum(d * q)
        u += step * d
        r -= step * q
        before, rr = rr, np.sum(r * r)
        d = r + (rr / before) * d
    return u


@sdfgad.custom_vjp
def temperature(source, conductivity):
    return conjugate_gradients(source, conductivity)


def temperature_forward(source, conductivity):
    u = temperature(source, conductivity)
    return u, (u, conductivity)


def temperature_backward(kept, cotangent):
    u, conductivity = kept
    adjoint = conjugate_gradients(cotangent, conductivity)
    (down, right), (adjoint_down, adjoint_right) = slopes(u), slopes(adjoint)
    return adjoint, -(adjoint_down * down + (adjoint_right * right).T)


temperature.defvjp(temperature_forward, temperature_backward)


def misfit(source, conductivity, places, measured, weight):
    u = temperature(source, conductivity)
    return np.sum((u[places[:, 0], places[:, 1]] - measured) ** 2) + weight * np.sum(source**2)


# %%
# A source of two spots, seen by 80 sensors.
rng = np.random.default_rng(2)
x, y = np.meshgrid(np.linspace(0, 1, N), np.linspace(0, 1, N), indexing="ij")
truth = np.exp(-((x - 0.3) ** 2 + (y - 0.35) ** 2) / 0.006) + 0.7 * np.exp(-((x - 0.7) ** 2 + (y - 0.6) ** 2) / 0.01)
conductivity = 1.0 + 0.5 * rng.random((N + 1, N))
places = rng.integers(0, N, size=(80, 2))
measured = temperature(truth, conductivity)[places[:, 0], places[:, 1]]
measured += 1e-3 * np.max(measured) * rng.normal(size=80)
start = np.full((N, N), 0.1)
given = (conductivity, places, measured, 1e-3)
print(sdfgad.check_grads(misfit, start, *given, wrt=("source", "conductivity")))

# %%
fun, x0, unflatten = sdfgad.as_scipy(misfit, (start, *given), wrt="source")
found = minimize(fun, x0, jac=True, method="L-BFGS-B", bounds=[(0, None)] * x0.size, options={"maxiter": 100})
print(f"misfit {fun(x0)[0]:.3g} -> {found.fun:.3g} in {found.nit} iterations")

# %%
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
shown = (truth, temperature(truth, conductivity), unflatten(found.x))
for axis, field, title in zip(axes, shown, ("source", "temperature and sensors", "source found")):
    fig.colorbar(axis.imshow(field.T, origin="lower", cmap="inferno"), ax=axis)
    axis.set_title(title)
axes[1].plot(*places.T, "w.", markersize=3)
plt.show()
