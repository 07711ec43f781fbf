"""Powell's hybrid method for systems of equations, as MINPACK has it, in plain NumPy."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np

_EPS = float(np.finfo(np.float64).eps)


def hybrid(f, slopes, x, xtol, most, factor, scales, cost):
    """Steps within a region that one trusts, by a matrix that Broyden's formula keeps up to date.

    M. J. D. Powell, A hybrid method for nonlinear equations, 1970; J. J. More, B. S. Garbow, K. E. Hillstrom, User
    guide for MINPACK-1, 1980. cost: the calls of `f` that `slopes` makes. Gives x, the number of calls, and how it
    ended: 1 converged, 2 too many calls, 3 no better number, 4 and 5 no progress.
    """
    fx = f(x)
    size, n = _length(fx), x.shape[0]
    matrix, scale = np.zeros((n, n)), np.zeros(n) if scales is None else np.asarray(scales, np.float64)
    radius, x_size, calls, steps, status = np.float64(0.0), np.float64(0.0), 1, 1, 0
    good, bad, slow, slow_matrices, renew = 0, 0, 0, 0, True
    while status == 0:
        if renew:
            matrix, calls = slopes(x, fx), calls + cost
            if scales is None:
                scale = np.maximum(scale, np.sqrt(np.sum(matrix * matrix, axis=0)))
                scale = np.where(scale == 0, 1.0, scale)
            if steps == 1:
                x_size = _length(scale * x)
                radius = factor * x_size if x_size != 0 else np.float64(factor)
        move = -_dogleg(matrix, scale, fx, radius)
        length = _length(scale * move)
        radius = np.minimum(radius, length) if steps == 1 else radius
        f_ahead, model, calls = f(x + move), fx + matrix @ move, calls + 1
        gained, expected = _gain(_length(f_ahead), size, -1.0), _gain(_length(model), size, 0.0)
        ratio = gained / expected if expected > 0 else 0.0
        good, bad = (0 if ratio < 0.1 else good + 1), (bad + 1 if ratio < 0.1 else 0)
        radius = _radius(ratio, radius, length, good)
        change = np.outer((f_ahead - model) / length, scale * scale * move / length)
        if ratio >= 1e-4:
            x, fx, size, steps = x + move, f_ahead, _length(f_ahead), steps + 1
            x_size = _length(scale * x)
        slow = 0 if gained >= 1e-3 else slow + 1
        slow_matrices = 0 if gained >= 0.1 else slow_matrices + 1 if renew else slow_matrices
        if radius <= xtol * x_size or size == 0:
            status = 1
        else:
            small = 0.1 * np.maximum(0.1 * radius, length) <= _EPS * x_size
            status = 5 if slow == 10 else 4 if slow_matrices == 5 else 3 if small else 2 if calls >= most else 0
        renew = bad == 2
        if not renew:
            matrix = matrix + change
    return x, calls, status


def _length(x):
    return np.sqrt(np.sum(x * x))


def _gain(ahead, size, worse):
    """How much smaller the residual has become, or would become."""
    return 1.0 - (ahead / size) ** 2 if ahead < size else worse


def _radius(ratio, radius, length, good):
    """How far one trusts the matrix, from how well it has foretold the last step."""
    if ratio < 0.1:
        return 0.5 * radius
    if np.abs(ratio - 1.0) <= 0.1:
        return length / 0.5
    return np.maximum(radius, length / 0.5) if ratio >= 0.5 or good > 1 else radius


def _dogleg(matrix, scale, fx, radius):
    """Newton's step where it is short enough, else one between it and steepest descent."""
    q, r = np.linalg.qr(matrix)
    right = q.T @ fx
    step = _solved(r, right)
    length = _length(scale * step)
    if length <= radius:
        return step
    down = (r.T @ right) / scale
    steepness = _length(down)
    if steepness == 0:
        return radius / length * step
    down = down / steepness / scale
    along = _length(r @ down)
    far = steepness / along / along
    both = _length(right) / steepness * (_length(right) / length)
    share = _share(radius / length, far / radius, both) if far < radius else 0.0
    return (1.0 - share) * np.minimum(far, radius) * down + share * step


def _share(newton, steepest, both):
    """Where on the way from one point to the other the border of the region is."""
    part = both * steepest
    part = part - newton * steepest ** 2 + np.sqrt((part - newton) ** 2 + (1.0 - newton ** 2) * (1.0 - steepest ** 2))
    return newton * (1.0 - steepest ** 2) / part


def _solved(r, right):
    """A triangular system, with something small in place of zeros on its diagonal."""
    n = right.shape[0]
    step = np.zeros(n)
    for k in range(n - 1, -1, -1):
        pivot = r[k, k]
        if pivot == 0:
            largest = np.max(np.abs(r[:, k]))
            pivot = _EPS * largest if largest != 0 else np.float64(_EPS)
        step[k] = (right[k] - r[k] @ step) / pivot
    return step
