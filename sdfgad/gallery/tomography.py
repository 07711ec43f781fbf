"""
Tomography with a sparse projection
===================================

A slice of a body from few, noisy X-ray projections. The projection is a sparse matrix of SciPy, and what speaks for a
smooth picture with sharp edges is its total variation.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

import sdfgad

N, ANGLES = 64, 24


def rays(n, angles):
    """One row for each ray: how much of it lies in each pixel, from points along it."""
    middle = (n - 1) / 2
    steps = np.arange(-n, n, 0.5)
    rows, columns, row = [], [], 0
    for angle in np.linspace(0, np.pi, angles, endpoint=False):
        c, s = np.cos(angle), np.sin(angle)
        for offset in np.arange(n) - middle:
            x = np.round(middle + offset * c - steps * s).astype(int)
            y = np.round(middle + offset * s + steps * c).astype(int)
            inside = (x >= 0) & (x < n) & (y >= 0) & (y < n)
            columns.append(x[inside] * n + y[inside])
            rows.append(np.full(columns[-1].size, row))
            row += 1
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.full(rows.size, 0.5), (rows, columns)), shape=(row, n * n))


def objective(picture, projection, measured, weight):
    miss = projection @ picture.ravel() - measured
    down, right = picture[1:, :-1] - picture[:-1, :-1], picture[:-1, 1:] - picture[:-1, :-1]
    return np.sum(miss**2) + weight * np.sum(np.sqrt(down**2 + right**2 + 1e-4))


# %%
x, y = np.meshgrid(np.linspace(-1, 1, N), np.linspace(-1, 1, N), indexing="ij")
body = 1.0 * (x**2 + (y / 0.75) ** 2 < 0.8)
body[(x - 0.3) ** 2 + (y + 0.2) ** 2 < 0.05] = 0.2
body[(np.abs(x + 0.35) < 0.2) & (np.abs(y - 0.1) < 0.25)] = 1.6
projection = rays(N, ANGLES)
rng = np.random.default_rng(0)
measured = projection @ body.ravel()
measured += 0.5 * rng.normal(size=measured.size)
empty = np.zeros((N, N))
print(sdfgad.check_grads(objective, 0.5 * body, projection, measured, 2.0, wrt="picture"))

# %%
# With total variation and without.
pictures = []
for weight in (0.0, 3.0):
    fun, x0, unflatten = sdfgad.as_scipy(objective, (empty, projection, measured, weight), wrt="picture")
    found = minimize(fun, x0, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    pictures.append(unflatten(found.x))
    off = np.linalg.norm(pictures[-1] - body) / np.linalg.norm(body)
    print(f"weight {weight}: {found.nit} iterations, {100 * off:.0f} % off")

# %%
fig, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
shown = (measured.reshape(ANGLES, N), body, *pictures)
titles = (f"{ANGLES} projections", "truth", "least squares", "with total variation")
for axis, image, title in zip(axes, shown, titles):
    axis.imshow(image, cmap="gray", aspect="auto", vmin=0, vmax=None if image is shown[0] else 1.7)
    axis.set_title(title)
    axis.axis("off")
plt.show()
