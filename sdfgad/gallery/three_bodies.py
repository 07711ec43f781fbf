"""
Three stars that dance in an eight
==================================

Three bodies of equal mass can follow each other on one curve like an eight. Which velocities and which period? The
orbit is periodic where the bodies are back after a period: the objective is a loop over time steps of Newton's
equations, and its gradient and its Hessian go through all of them.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

STEPS = 300


def accelerations(x):
    away = x[None, :, :] - x[:, None, :]
    square = np.sum(away**2, axis=2) + np.eye(3)
    return np.sum(away / square[:, :, None] ** 1.5, axis=1)


def orbit(q):
    """The path of three bodies in a row, the outer ones with the velocity q[0], q[1], for the time q[2]: leapfrog."""
    dt = q[2] / STEPS
    x = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    v = np.zeros((3, 2))
    v[0, 0] = v[1, 0] = q[0]
    v[0, 1] = v[1, 1] = q[1]
    v[2, 0], v[2, 1] = -2 * q[0], -2 * q[1]
    path = np.zeros((STEPS, 3, 2))
    for t in range(STEPS):
        x = x + 0.5 * dt * v
        v = v + dt * accelerations(x)
        x = x + 0.5 * dt * v
        path[t] = x
    return path, v


def return_error(q):
    """How far places and velocities are from those of the beginning."""
    path, v = orbit(q)
    missed = np.sum((path[-1, 0] - np.array([-1.0, 0.0])) ** 2) + np.sum((path[-1, 1] - np.array([1.0, 0.0])) ** 2)
    return missed + (v[0, 0] - q[0]) ** 2 + (v[0, 1] - q[1]) ** 2 + (v[1, 0] - q[0]) ** 2 + (v[1, 1] - q[1]) ** 2


# %%
# From a guess that is some percent off.
start = np.array([0.34, 0.535, 6.25])
print(sdfgad.check_grads(return_error, start))

# %%
fun, x0, unflatten = sdfgad.as_scipy(return_error, start)
found = minimize(fun, x0, jac=True, hessp=fun.hessp, method="trust-ncg", options={"gtol": 1e-9, "maxiter": 100})
print(f"velocity {found.x[0]:.5f}, {found.x[1]:.5f}, period {found.x[2]:.5f}")
print(f"error {fun(x0)[0]:.2g} -> {found.fun:.2g} in {found.nit} iterations")

# %%
# The Hessian says how sharply the velocities and the period are determined: its eigenvalues differ by orders.
print("eigenvalues of the Hessian:", *(f"{e:.2g}" for e in np.linalg.eigvalsh(sdfgad.hessian(return_error)(found.x))))

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True, sharey=True, layout="constrained")
for axis, q, title in zip(axes, (x0, found.x), ("the guess", "the eight")):
    path, _ = orbit(q)
    for body in range(3):
        axis.plot(*path[:, body].T, lw=1.2)
        axis.plot(*path[-1, body], "ko", markersize=4)
    axis.set(title=title, aspect="equal")
plt.show()
