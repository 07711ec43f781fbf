"""
How sure are the parameters? GARCH with errors from the Hessian
===============================================================

A GARCH model says how the volatility of a price follows from what happened before. Its parameters are found by
maximum likelihood, and the inverse Hessian at the best point says how far they may be off. The likelihood is a loop
over days.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import sdfgad

DAYS = 2500


def natural(q):
    """omega > 0, alpha and beta positive and with a sum below 1, from three numbers without bounds."""
    omega = np.exp(q[0])
    total = 1 / (1 + np.exp(-q[1]))
    share = 1 / (1 + np.exp(-q[2]))
    return omega, total * share, total * (1 - share)


def variances(q, returns):
    omega, alpha, beta = natural(q)
    variance = np.zeros(returns.shape[0])
    variance[0] = omega / (1 - alpha - beta)
    for t in range(1, returns.shape[0]):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    return variance


def likelihood(q, returns):
    """Minus the logarithm, up to a constant."""
    variance = variances(q, returns)
    return 0.5 * np.sum(np.log(variance) + returns**2 / variance)


# %%
# Ten years of days, made with parameters that are then forgotten.
truth = np.array([np.log(0.05), 3.0, -2.0])
rng = np.random.default_rng(3)
returns, variance = np.zeros(DAYS), 1.0
omega, alpha, beta = natural(truth)
for t in range(DAYS):
    variance = omega + alpha * (returns[t - 1] ** 2 if t else variance) + beta * variance
    returns[t] = np.sqrt(variance) * rng.normal()

start = np.array([-2.0, 1.0, -1.0])
print(sdfgad.check_grads(likelihood, start, returns, wrt="q"))

# %%
fun, x0, unflatten = sdfgad.as_scipy(likelihood, (start, returns), wrt="q")
found = minimize(fun, x0, jac=True, hessp=fun.hessp, method="trust-ncg", options={"gtol": 1e-6})

# %%
# Errors: the covariance of q is the inverse of the Hessian; that of the natural parameters follows from their Jacobian.
hessian = sdfgad.hessian(likelihood, wrt="q")(found.x, returns)
covariance = np.linalg.inv(hessian)
rows = [sdfgad.jacobian(lambda q, k=k: natural(q)[k])(found.x) for k in range(3)]
errors = np.sqrt([row @ covariance @ row for row in rows])
for name, value, error, true in zip(("omega", "alpha", "beta"), natural(found.x), errors, natural(truth)):
    print(f"{name:>6} {value:.4f} +- {error:.4f}   truth {true:.4f}, {abs(value - true) / error:.1f} errors away")

# %%
fig, axes = plt.subplots(2, 1, figsize=(9, 4.5), sharex=True, layout="constrained")
axes[0].plot(returns, lw=0.5)
axes[0].set(ylabel="return")
axes[1].plot(np.sqrt(variances(found.x, returns)), "C1")
axes[1].set(ylabel="volatility", xlabel="day")
plt.show()
