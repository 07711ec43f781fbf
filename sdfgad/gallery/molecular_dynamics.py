"""
Fitting a force field to a trajectory
=====================================

Atoms attract each other from afar and repel each other nearby. How strongly, and at which distance? The parameters of
a Lennard-Jones potential are found from how a cluster of atoms moves. The gradient goes through all steps of
molecular dynamics (velocity Verlet), and Newton's method through products with the Hessian.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

STEPS, EVERY, DT = 120, 6, 0.01


def forces(x, depth, size):
    """The gradient of the potential energy, 4 depth ((size/r)^12 - (size/r)^6) for each pair."""
    away = x[:, None, :] - x[None, :, :]
    square = np.sum(away**2, axis=2) + np.eye(x.shape[0])  # an atom does not meet itself
    sixth = (size**2 / square) ** 3
    strength = 24.0 * depth * (2.0 * sixth**2 - sixth) / square
    return np.sum((strength * (1.0 - np.eye(x.shape[0])))[:, :, None] * away, axis=1)


def trajectory(parameters, x, v):
    seen = np.zeros((STEPS // EVERY, *x.shape))
    f = forces(x, parameters[0], parameters[1])
    for t in range(STEPS):
        v = v + 0.5 * DT * f
        x = x + DT * v
        f = forces(x, parameters[0], parameters[1])
        v = v + 0.5 * DT * f
        if t % EVERY == EVERY - 1:
            seen[t // EVERY] = x
    return seen


def misfit(parameters, x, v, seen):
    return np.mean((trajectory(parameters, x, v) - seen) ** 2)


# %%
# 27 atoms on a grid, a little warm, observed with some noise.
rng = np.random.default_rng(0)
x = 1.2 * np.stack(np.meshgrid(*[np.arange(3.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
v = 0.5 * rng.normal(size=x.shape)
truth, start = np.array([1.3, 1.05]), np.array([0.9, 0.98])
seen = trajectory(truth, x, v) + 0.005 * rng.normal(size=(STEPS // EVERY, *x.shape))
print(sdfgad.check_grads(misfit, start, x, v, seen, wrt="parameters"))

# %%
fun, x0, unflatten = sdfgad.as_scipy(misfit, (start, x, v, seen), wrt="parameters")
path = [x0]
found = minimize(fun, x0, jac=True, hessp=fun.hessp, method="trust-ncg", callback=lambda q: path.append(q.copy()))
print(f"depth {found.x[0]:.4f}, size {found.x[1]:.4f}, misfit {fun(x0)[0]:.2g} -> {found.fun:.2g}")

# %%
path = np.array(path)
depths, sizes = np.linspace(0.6, 1.6, 40), np.linspace(0.94, 1.1, 40)
value = sdfgad.forward(misfit)
landscape = np.array([[value(np.array([d, s]), x, v, seen) for d in depths] for s in sizes])
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].contourf(depths, sizes, np.log10(landscape), levels=20)
axes[0].plot(*path.T, "w.-", *truth, "r*")
axes[0].set(xlabel="depth", ylabel="size", title="misfit, and the way of the minimiser")
atom = 13
axes[1].plot(seen[:, atom, 0], seen[:, atom, 1], "k.")
for parameters, style in ((start, ":"), (found.x, "-")):
    axes[1].plot(*trajectory(parameters, x, v)[:, atom, :2].T, style)
axes[1].legend(["seen", "start", "fitted"])
axes[1].set_title("the atom in the middle")
plt.show()
