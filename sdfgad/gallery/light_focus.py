"""
Shaping glass that focuses light
================================

Where should there be glass, so that a plane wave meets in a point behind it? Maxwell's equations are solved in time
(FDTD) and the permittivity of each point of a region is changed by the gradient of the light that arrives: topology
optimisation, with one simulation forwards and one backwards per step.
"""
import matplotlib.pyplot as plt
import numpy as np

import sdfgad

WIDTH, HEIGHT, STEPS, PERIOD = 90, 60, 260, 20.0
LEFT, RIGHT, FOCUS = 20, 34, (70, 30)
edge = np.minimum(np.minimum(np.arange(WIDTH), WIDTH - 1 - np.arange(WIDTH)) / 8, 1.0)
absorb = (1.0 - 0.25 * (1.0 - edge) ** 2)[:, None]


def glass(design):
    """Permittivity 1 to 4: smoothed, so that nothing is smaller than can be made, and pushed to air or glass."""
    smooth = design
    for _ in range(3):
        smooth = 0.5 * smooth + 0.25 * (np.roll(smooth, 1, axis=1) + np.roll(smooth, -1, axis=1))
        inner = 0.5 * smooth[1:-1] + 0.25 * (smooth[2:] + smooth[:-2])
        smooth = np.concatenate((smooth[:1], inner, smooth[-1:]))
    return 1.0 + 3.0 / (1.0 + np.exp(-4.0 * smooth))


def light(design):
    """The power along the line of the focus, and the electric field in the end. It is periodic up and down."""
    permittivity = np.ones((WIDTH, HEIGHT))
    permittivity[LEFT:RIGHT] = glass(design)
    e, hx, hy = np.zeros((WIDTH, HEIGHT)), np.zeros((WIDTH, HEIGHT)), np.zeros((WIDTH, HEIGHT))
    power = np.zeros(HEIGHT)
    for t in range(STEPS):
        hx -= 0.5 * (np.roll(e, -1, axis=1) - e)
        hy[:-1] += 0.5 * (e[1:] - e[:-1])
        hx *= absorb
        hy *= absorb
        e[1:] += 0.5 / permittivity[1:] * (hy[1:] - hy[:-1] - hx[1:] + np.roll(hx, 1, axis=1)[1:])
        e *= absorb
        e[10] += 0.25 * np.sin(2 * np.pi * t / PERIOD) * (1 - np.exp(-t / 20))
        if t >= STEPS - 3 * int(PERIOD):
            power += e[FOCUS[0]] ** 2
    return power, e


def darkness(design):
    """Minus the light at the focus."""
    power, _ = light(design)
    return -np.sum(power[FOCUS[1] - 1:FOCUS[1] + 2])


# %%
start = np.zeros((RIGHT - LEFT, HEIGHT))
print(sdfgad.check_grads(darkness, start))

# %%
# Adam, as in machine learning.
step = sdfgad.value_and_grad(darkness, memory_limit="20MB")
design, mean, square, values = start.copy(), np.zeros_like(start), np.zeros_like(start), []
for t in range(1, 81):
    value, g = step(design)
    mean += 0.1 * (g - mean)
    square += 0.01 * (g**2 - square)
    design = design - 0.1 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.99**t)) + 1e-12)
    values.append(-value)
print(f"light at the focus {values[0]:.3g} -> {values[-1]:.3g}")

# %%
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for axis, one, title in zip(axes, (start, design), ("before", "after")):
    axis.imshow(light(one)[1].T, cmap="RdBu", vmin=-1, vmax=1, origin="lower")
    shape = np.full((WIDTH, HEIGHT), np.nan)
    shape[LEFT:RIGHT] = glass(one)
    axis.imshow(shape.T, cmap="gray_r", vmin=1, vmax=6, alpha=0.6, origin="lower")
    axis.plot(*FOCUS, "k+", markersize=12)
    axis.set_title(f"the wave {title}")
axes[2].plot(values)
axes[2].set(xlabel="step", title="light at the focus")
plt.show()
