"""
Smoke that draws a ring: control of a flow
==========================================

A fluid carries smoke. Which flow at the beginning makes a ring of a square of smoke? The Navier-Stokes equations are
solved in small steps: what lies upstream is carried along, and the pressure makes the flow free of divergence, by a
transform of Fourier. The gradient goes back through all of it, the places upstream included.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

N, STEPS, DT, VISCOSITY = 48, 30, 1.0, 0.02
x, y = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")
waves = 2 * np.sin(2 * np.pi * np.fft.fftfreq(N) / 2)
laplace = -(waves[:, None] ** 2 + waves[None, :] ** 2)
laplace[0, 0] = 1.0


def carried(field, u, v):
    """What was upstream a step ago, between the four points around that place."""
    px, py = x - DT * u, y - DT * v
    left, below = np.floor(px), np.floor(py)
    fx, fy = px - left, py - below
    i, j = left.astype(int) % N, below.astype(int) % N
    right, above = (i + 1) % N, (j + 1) % N
    return (1 - fx) * ((1 - fy) * field[i, j] + fy * field[i, above]) + fx * (
        (1 - fy) * field[right, j] + fy * field[right, above])


def without_divergence(u, v):
    """The part of a velocity that neither gathers nor spreads: u minus the gradient of a pressure."""
    divergence = u - np.roll(u, 1, axis=0) + v - np.roll(v, 1, axis=1)
    pressure = np.real(np.fft.ifft2(np.fft.fft2(divergence) / laplace))
    return u - (np.roll(pressure, -1, axis=0) - pressure), v - (np.roll(pressure, -1, axis=1) - pressure)


def rubbed(w):
    return w + VISCOSITY * DT * (np.roll(w, 1, axis=0) + np.roll(w, -1, axis=0) + np.roll(w, 1, axis=1)
                                 + np.roll(w, -1, axis=1) - 4 * w)


def blown(flow, smoke):
    """The smoke in the end."""
    u, v = without_divergence(flow[0], flow[1])
    for _ in range(STEPS):
        u, v = without_divergence(rubbed(carried(u, u, v)), rubbed(carried(v, u, v)))
        smoke = carried(smoke, u, v)
    return smoke


def miss(flow, smoke, wanted, price):
    return np.sum((blown(flow, smoke) - wanted) ** 2) + price * np.sum(flow**2)


# %%
distance = np.sqrt((x - 23.5) ** 2 + (y - 23.5) ** 2)
wanted = 0.7 * np.exp(-((distance - 13.0) / 3.0) ** 2)
smoke = 1.0 * ((np.abs(x - 23.5) < 11) & (np.abs(y - 23.5) < 11))
still = np.zeros((2, N, N))
rng = np.random.default_rng(0)
print(sdfgad.check_grads(miss, 0.3 + 0.1 * rng.normal(size=still.shape), smoke, wanted, 1e-2, wrt="flow"))

# %%
fun, x0, unflatten = sdfgad.as_scipy(miss, (still, smoke, wanted, 1e-2), wrt="flow", memory_limit="20MB")
found = minimize(fun, x0, jac=True, method="L-BFGS-B", options={"maxiter": 100})
flow = unflatten(found.x)
print(f"miss {fun(x0)[0]:.1f} -> {found.fun:.1f}")

# %%
fig, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
u, v = without_divergence(*flow)
for axis, field, title in zip(axes, (smoke, blown(flow, smoke), wanted), ("before", "after", "wanted")):
    axis.imshow(field.T, origin="lower", cmap="gray_r", vmin=0, vmax=1)
    axis.set_title(title)
axes[3].quiver(x[::3, ::3], y[::3, ::3], u[::3, ::3], v[::3, ::3])
axes[3].set(title="the flow at the beginning", aspect="equal")
plt.show()
