"""
The weather of yesterday: 4D-Var for shallow water
==================================================

Waves in a basin are seen at a few buoys, now and then. What did the whole surface look like at the beginning? The
cost is how far a forecast from there misses what was seen, and how rough the beginning is (strong-constraint 4D-Var).
Its gradient goes back through the forecast.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

N, STEPS, EVERY, DT, GRAVITY = 40, 120, 8, 0.2, 1.0


def forecast(height, buoys):
    """The heights at the buoys, every few steps: nonlinear shallow water in a closed basin, on staggered places."""
    h = 1.0 + height
    u, v = np.zeros((N - 1, N)), np.zeros((N, N - 1))
    seen = np.zeros((STEPS // EVERY, buoys.shape[0]))
    for t in range(STEPS):
        u = u - DT * GRAVITY * (h[1:] - h[:-1])
        v = v - DT * GRAVITY * (h[:, 1:] - h[:, :-1])
        across = 0.5 * (h[1:] + h[:-1]) * u
        along = 0.5 * (h[:, 1:] + h[:, :-1]) * v
        h = h.copy()
        h[:-1] -= DT * across
        h[1:] += DT * across
        h[:, :-1] -= DT * along
        h[:, 1:] += DT * along
        if t % EVERY == EVERY - 1:
            seen[t // EVERY] = h[buoys[:, 0], buoys[:, 1]]
    return seen


def cost(height, buoys, observed, smoothness):
    rough = np.sum((height[1:] - height[:-1]) ** 2) + np.sum((height[:, 1:] - height[:, :-1]) ** 2)
    return np.sum((forecast(height, buoys) - observed) ** 2) + smoothness * rough


# %%
# Two hills of water, 60 buoys, and readings with some noise.
rng = np.random.default_rng(1)
x, y = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")
truth = 0.2 * np.exp(-((x - 12) ** 2 + (y - 15) ** 2) / 20) - 0.15 * np.exp(-((x - 27) ** 2 + (y - 24) ** 2) / 30)
buoys = rng.integers(0, N, size=(60, 2))
observed = forecast(truth, buoys) + 0.002 * rng.normal(size=(STEPS // EVERY, 60))
background = np.zeros((N, N))

print(sdfgad.check_grads(cost, background, buoys, observed, 1e-3, wrt="height"))

# %%
fun, x0, unflatten = sdfgad.as_scipy(cost, (background, buoys, observed, 1e-3), wrt="height", memory_limit="20MB")
found = minimize(fun, x0, jac=True, method="L-BFGS-B", options={"maxiter": 150})
analysis = unflatten(found.x)
error = np.sqrt(np.mean((analysis - truth) ** 2) / np.mean(truth**2))
print(f"cost {fun(x0)[0]:.3g} -> {found.fun:.3g}; the analysis is {100 * error:.0f} % off")

# %%
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for axis, field, title in zip(axes, (truth, analysis, analysis - truth), ("truth", "analysis", "difference")):
    image = axis.imshow(field.T, vmin=-0.2, vmax=0.2, cmap="RdBu_r", origin="lower")
    axis.plot(*buoys.T, "k.", markersize=2)
    axis.set_title(title)
fig.colorbar(image, ax=axes, label="height at the beginning")
plt.show()
