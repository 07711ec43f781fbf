"""
Where is it, and how sure are we? A Kalman filter with fitted noise
===================================================================

A thing moves on a line, pushed at random, and its place is measured with errors. How strong the pushes and the errors
are is not known. The Kalman filter gives the likelihood of all measurements, which is made as large as it can be; the
inverse Hessian at the best point says how far the strengths may be off.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

STEPS, STEP = 400, 0.5
move = np.array([[1.0, STEP], [0.0, 1.0]])
push = np.array([[STEP**3 / 3, STEP**2 / 2], [STEP**2 / 2, STEP]])
look = np.array([1.0, 0.0])


def filtered(q, measured):
    """Place and speed after each measurement, the variance of the place, and minus the logarithm of the likelihood."""
    pushes, errors = np.exp(2 * q[0]) * push, np.exp(2 * q[1])
    state, spread = np.zeros(2), 100.0 * np.eye(2)
    states, doubts, total = np.zeros((measured.shape[0], 2)), np.zeros(measured.shape[0]), 0.0
    for t in range(measured.shape[0]):
        state = move @ state
        spread = move @ spread @ move.T + pushes
        surprise = measured[t] - look @ state
        variance = look @ spread @ look + errors
        total += 0.5 * (np.log(2 * np.pi * variance) + surprise**2 / variance)
        gain = spread @ look / variance
        state = state + gain * surprise
        spread = spread - np.outer(gain, gain) * variance
        states[t] = state
        doubts[t] = spread[0, 0]
    return states, doubts, total


def likelihood(q, measured):
    return filtered(q, measured)[2]


# %%
# A path whose pushes and errors are then forgotten. q holds the logarithms of both.
truth = np.log(np.array([0.3, 1.5]))
rng = np.random.default_rng(7)
pushed = np.linalg.cholesky(np.exp(2 * truth[0]) * push)
path, here = np.zeros((STEPS, 2)), np.zeros(2)
for t in range(STEPS):
    here = move @ here + pushed @ rng.normal(size=2)
    path[t] = here
measured = path[:, 0] + np.exp(truth[1]) * rng.normal(size=STEPS)

start = np.zeros(2)
print(sdfgad.check_grads(likelihood, start, measured, wrt="q"))

# %%
fun, x0, unflatten = sdfgad.as_scipy(likelihood, (start, measured), wrt="q")
found = minimize(fun, x0, jac=True, hessp=fun.hessp, method="trust-ncg", options={"gtol": 1e-6})
hessian = sdfgad.hessian(likelihood, wrt="q")(found.x, measured)
errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
for name, value, error, true in zip(("pushes", "errors"), found.x, errors, truth):
    strength, off = np.exp(value), abs(value - true) / error
    print(f"{name} {strength:.3f} +- {strength * error:.3f}   truth {np.exp(true):.3f}, {off:.1f} errors away")

# %%
states, doubts, _ = filtered(found.x, measured)
print(f"measured {np.std(measured - path[:, 0]):.2f} off, filtered {np.std(states[:, 0] - path[:, 0]):.2f}")
shown = slice(0, 120)
times, band, off = STEP * np.arange(STEPS)[shown], 2 * np.sqrt(doubts[shown]), (states - path)[shown, 0]
fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
ax.plot(times, (measured - path[:, 0])[shown], ".", ms=3, color="0.6", label="measured")
ax.fill_between(times, off - band, off + band, alpha=0.3, label="filtered, 2 standard deviations")
ax.axhline(0.0, color="k", lw=0.8)
ax.set(xlabel="time", ylabel="distance from the path")
ax.legend()
plt.show()
