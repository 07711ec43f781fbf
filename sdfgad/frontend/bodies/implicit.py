"""Solutions of equations, and the linear systems of their derivatives, in plain NumPy for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def iterate(step, x0, tol, max_iter):
    """x = step(x) until no element changes by more than `tol`."""
    x = x0 * 1.0
    count = 0
    change = np.inf
    while not change <= tol:
        if count >= max_iter:
            not_converged(max_iter)
        following = step(x)
        change = np.max(np.abs(following - x))
        x = following
        count = count + 1
    return x


def refine(operator, b, tol, max_iter):
    """x with operator(x) = b, by x = x + (b - operator(x)): Richardson's iteration, which converges where the fixed
    point iteration does whose derivative is asked for."""
    x = b * 1.0
    count = 0
    change = np.inf
    while not change <= tol * np.max(np.abs(x)):
        if count >= max_iter:
            not_converged(max_iter)
        rest = b - operator(x)
        x = x + rest
        change = np.max(np.abs(rest))
        count = count + 1
    return x


def dense(operator, b):
    """x with operator(x) = b, by the matrix of the operator, which `np.linalg.solve` factorises."""
    n = np.size(b)
    if n == 1:
        return b / operator(np.ones_like(b))
    matrix = np.zeros((n, n), b.dtype)
    for k in range(n):
        unit = np.zeros(n, b.dtype)
        unit[k] = 1.0
        matrix[:, k] = np.reshape(operator(np.reshape(unit, np.shape(b))), n)
    return np.reshape(np.linalg.solve(matrix, np.reshape(b, n)), np.shape(b))


def not_converged(max_iter):
    """Say so: a rule of `frontend/libraries/implicit.py` in compiled programs."""
    raise ArithmeticError(f"fixed_point: no convergence within {max_iter} iterations")


PARTS = (iterate, refine, dense)
