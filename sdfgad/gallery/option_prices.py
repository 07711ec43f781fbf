"""
Calibrating volatility to option prices
=======================================

Prices of options say how much the market expects a price to move, and that depends on the strike. Dupire's equation
gives the prices of all strikes from a local volatility. Here its nodes are found from prices: an implicit step is a
tridiagonal system, solved by the usual two loops, and the gradient goes through them.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

STRIKES, STEPS, MATURITY, RATE, SPOT = 160, 60, 1.0, 0.02, 1.0
strikes = np.linspace(0.3, 2.2, STRIKES)
nodes = np.linspace(0.6, 1.6, 7)
hats = np.array([np.interp(strikes, nodes, one) for one in np.eye(7)]).T


def solve(lower, diagonal, upper, right):
    """Thomas' algorithm."""
    n = right.shape[0]
    factor, x = np.zeros(n), np.zeros(n)
    factor[0] = upper[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * factor[i - 1]
        factor[i] = upper[i] / pivot
        x[i] = (right[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - factor[i] * x[i + 1]
    return x


def prices(volatility):
    """Call prices at maturity for all strikes: dC/dT = (s K)^2 / 2 d2C/dK2 - r K dC/dK, implicit Euler."""
    dk, dt = strikes[1] - strikes[0], MATURITY / STEPS
    diffusion = 0.5 * dt * (hats @ volatility * strikes / dk) ** 2
    drift = 0.5 * dt * RATE * strikes / dk
    lower, upper, diagonal = -diffusion - drift, -diffusion + drift, 1.0 + 2.0 * diffusion
    lower[-1] = upper[0] = 0.0
    lower[0] = upper[-1] = 0.0
    diagonal[0] = diagonal[-1] = 1.0
    call = np.maximum(SPOT - strikes, 0.0)
    for t in range(STEPS):
        call[0] = SPOT - strikes[0] * np.exp(-RATE * (t + 1) * dt)
        call = solve(lower, diagonal, upper, call)
    return call


def misfit(volatility, market, quoted, stiffness):
    bend = volatility[2:] - 2 * volatility[1:-1] + volatility[:-2]
    return 1e4 * np.sum((prices(volatility)[quoted] - market) ** 2) + stiffness * np.sum(bend**2)


# %%
# A market with a smile, quoted at 24 strikes, to a hundredth of a percent of the spot.
smile = 0.2 + 0.35 * (nodes - 1.05) ** 2
quoted = np.linspace(30, 105, 24).astype(int)
market = np.round(prices(smile)[quoted], 4)
start = np.full(7, 0.3)
print(sdfgad.check_grads(misfit, start, market, quoted, 0.1, wrt="volatility"))

# %%
# Newton's method with products of the Hessian: few iterations.
fun, x0, unflatten = sdfgad.as_scipy(misfit, (start, market, quoted, 0.1), wrt="volatility")
found = minimize(fun, x0, jac=True, hessp=fun.hessp, method="trust-krylov")
print(f"{found.nit} iterations, misfit {fun(x0)[0]:.3g} -> {found.fun:.3g}")
print("found", np.round(unflatten(found.x), 3), "truth", np.round(smile, 3))

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].plot(nodes, smile, "k-", nodes, found.x, "o", nodes, start, ":")
axes[0].set(title="local volatility", xlabel="strike", ylim=(0.1, 0.4))
axes[0].legend(["truth", "calibrated", "start"])
axes[1].plot(strikes[quoted], market, "k.", strikes, prices(found.x), "-", strikes, prices(start), ":")
axes[1].set(title="prices of calls", xlabel="strike")
axes[1].legend(["market", "calibrated", "start"])
plt.show()
