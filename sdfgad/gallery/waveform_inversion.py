"""
Seismic waveform inversion in a memory limit
============================================

Sound is sent from one borehole and recorded in another one. Which speed of sound in between explains the recordings?
The misfit is a loop over time steps; its gradient needs the wave field of every step, backwards. ``memory_limit``
says how many bytes that may take: what does not fit is computed again from snapshots.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

N, STEPS, DT = 72, 320, 0.4
SHOTS = np.array([10, 27, 44, 61])

edge = np.minimum(np.arange(N), N - 1 - np.arange(N))
damping = np.exp(-(0.015 * np.maximum(12 - edge, 0)) ** 2)
sponge = damping[:, None] * damping[None, :]
time = DT * np.arange(STEPS)
pulse = (1 - 0.12 * (time - 12) ** 2) * np.exp(-0.06 * (time - 12) ** 2)


def recorded(speed, shot):
    """What arrives on the right after a pulse on the left: second order in time and space."""
    before, now, seen = np.zeros((N, N)), np.zeros((N, N)), np.zeros((STEPS, N))
    for t in range(STEPS):
        after = 2 * now - before
        after[1:-1, 1:-1] += (DT * speed[1:-1, 1:-1]) ** 2 * (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1])
        after[shot, 3] += DT**2 * pulse[t]
        before, now = now * sponge, after * sponge
        seen[t] = now[:, -4]
    return seen


def misfit(speed, data):
    total = 0.0
    for k in range(4):
        total += np.sum((recorded(speed, SHOTS[k]) - data[k]) ** 2)
    return total


# %%
# The truth has a fast block and a slow one, the start has neither.
truth = np.ones((N, N))
truth[20:34, 18:34] = 1.15
truth[42:54, 36:56] = 0.88
start = np.ones((N, N))
data = np.array([recorded(truth, shot) for shot in SHOTS])

# %%
# What the gradient would keep without a limit, and what it keeps with one:
free = sdfgad.grad(misfit, wrt="speed").plan(start, data)
limited = sdfgad.grad(misfit, wrt="speed", memory_limit="4MB").plan(start, data)
for name, plan in (("no limit", free), ("4 MB", limited)):
    print(f"{name:>8}: {plan.predicted.peak_bytes / 1e6:.1f} MB, {plan.policy}")

# %%
# The gradient is right:
print(sdfgad.check_grads(misfit, start, data, wrt="speed"))

# %%
# L-BFGS from SciPy, on the speed of every point.
fun, x0, unflatten = sdfgad.as_scipy(misfit, (start, data), wrt="speed", memory_limit="4MB")
found = minimize(fun, x0, jac=True, method="L-BFGS-B", bounds=[(0.7, 1.4)] * x0.size, options={"maxiter": 40})
print(f"misfit {fun(x0)[0]:.3g} -> {found.fun:.3g} in {found.nit} iterations")

# %%
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for axis, field, title in zip(axes, (truth, unflatten(found.x)), ("truth", "found from the recordings")):
    image = axis.imshow(field, vmin=0.75, vmax=1.25, cmap="RdBu_r")
    axis.set_title(title)
fig.colorbar(image, ax=axes[:2], label="speed")
axes[2].imshow(data[1], aspect="auto", cmap="gray")
axes[2].set(title="recording of one shot", xlabel="receiver", ylabel="time step")
plt.show()
