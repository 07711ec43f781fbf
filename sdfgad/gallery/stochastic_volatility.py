"""
Calibrating Heston's model to option prices
===========================================

In Heston's model the variance of a price is random itself: it returns to a mean, and moves with the price or against
it. The value of an option solves an equation in two variables, price and variance. Here five numbers of the model are
found from prices at two maturities: the gradient goes through all steps of the scheme, within a limit of memory.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

STEPS, HALF_YEAR, RATE = 250, 0.5, 0.02
moneyness = np.linspace(-1.0, 1.0, 41)
variance = np.linspace(0.0, 0.5, 21)
dx, dv, dt = moneyness[1] - moneyness[0], variance[1] - variance[0], HALF_YEAR / STEPS
quoted = np.arange(14, 27)
strikes = np.exp(-moneyness[quoted])


def weights(v):
    """Of the first five variances, for the value in between: Lagrange's polynomials."""
    found = np.ones(5)
    for j in range(5):
        for m in range(5):
            if m != j:
                found[j] *= (v - variance[m]) / (variance[j] - variance[m])
    return found


def advance(u, v, reversion, mean, spread, correlation):
    """A step of Euler's method for calls over their strike, by the logarithm of price over strike and by variance."""
    inner, at_zero = u[1:-1, 1:-1], u[1:-1, 0]
    u_x = (u[2:] - u[:-2]) / (2 * dx)
    u_xx = (u[2:, 1:-1] - 2 * inner + u[:-2, 1:-1]) / dx**2
    u_v = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dv)
    u_vv = (u[1:-1, 2:] - 2 * inner + u[1:-1, :-2]) / dv**2
    u_xv = (u_x[:, 2:] - u_x[:, :-2]) / (2 * dv)
    change = 0.5 * v * (u_xx - u_x[:, 1:-1] + spread**2 * u_vv) + correlation * spread * v * u_xv
    change += RATE * (u_x[:, 1:-1] - inner) + reversion * (mean - v) * u_v
    floor = RATE * (u_x[:, 0] - at_zero) + reversion * mean * (u[1:-1, 1] - at_zero) / dv
    u[1:-1, 0] = at_zero + dt * floor
    u[1:-1, 1:-1] = inner + dt * change
    u[:, -1] = u[:, -2]


def prices(model):
    """Calls at both maturities. model: reversion, mean, spread, correlation, and the variance of today."""
    u = np.maximum(np.exp(moneyness) - 1.0, 0.0)[:, None] + np.zeros((41, 21))
    found = np.zeros((2, strikes.size))
    for maturity in range(2):
        for t in range(STEPS):
            advance(u, variance[1:-1], model[0], model[1], model[2], model[3])
            u[-1] = np.exp(moneyness[-1]) - np.exp(-RATE * (maturity * STEPS + t + 1) * dt)
        found[maturity] = strikes * (u[quoted, :5] @ weights(model[4]))
    return found


def misfit(model, market):
    return 1e5 * np.sum((prices(model) - market) ** 2)


# %%
# A market, to a thousandth of a percent of the price, and a guess far from it.
truth = np.array([2.0, 0.06, 0.5, -0.6, 0.04])
start = np.array([1.0, 0.04, 0.3, -0.2, 0.06])
market = np.round(prices(truth), 5)
print(sdfgad.check_grads(misfit, start, market, wrt="model"))
print(sdfgad.plan(misfit, start, market, wrt="model", memory_limit="1MB"))

# %%
# Five numbers with bounds: a quasi-Newton method, with every variable in units of its guess.
gradient = sdfgad.value_and_grad(misfit, wrt="model", memory_limit="1MB")


def scaled(y):
    value, slope = gradient(y * np.abs(start), market)
    return value, slope * np.abs(start)


bounds = [(0.2, 5.0), (0.2, 3.0), (0.2, 3.0), (-4.5, 0.0), (0.2, 1.6)]
found = minimize(scaled, np.sign(start), jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12})
model = found.x * np.abs(start)
print(f"{found.nit} iterations, misfit {misfit(start, market):.3g} -> {found.fun:.3g}")
print("found", np.round(model, 3), "truth", truth)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, k, label in zip(axes, range(2), ("half a year", "a year"), strict=True):
    for values, form in ((market, "k."), (prices(model), "-"), (prices(start), ":")):
        ax.plot(strikes, values[k] - np.maximum(1.0 - strikes, 0.0), form)
    ax.set(title=f"time value of calls, {label}", xlabel="strike")
    ax.legend(["market", "calibrated", "start"])
plt.show()
