"""Least squares and minima of functions of several numbers by `scipy.optimize`, in plain NumPy for the interpreter to
run in place of a call; the derivative is that of the place where the slopes are zero.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sdfgad.frontend.bodies.packages.brackets import NOT_FOUND, late, root

NAMES = ("least_squares", "curve_fit", "minimize")
_SETTLED = 1e-9
"""Of the slopes at the first guess, those at a minimum: tolerances alone are no measure, as slopes have units."""
_METHODS = ("bfgs", "l-bfgs-b", "cg", "newton-cg", "nelder-mead", "powell", "tnc", "slsqp", "trust-constr")


def slope_along(f, x, t):
    """The derivative of `f` at x along t; `frontend/libraries/implicit.py` has the rule, and that of `slope_back`."""
    raise NotImplementedError


def slope_back(f, x, g):
    """The transpose of the derivative of `f` at x times g."""
    raise NotImplementedError


def named_parameters(f):
    """How many parameters a function names: a rule of `frontend/libraries/implicit.py`, too."""
    raise NotImplementedError


def least_squares(fun, x0, jac="2-point", bounds=None, method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8, x_scale=1.0,
                  loss="linear", f_scale=1.0, diff_step=None, tr_solver=None, tr_options=None, jac_sparsity=None,
                  max_nfev=None, verbose=0, args=(), kwargs=None):
    if bounds is not None or loss != "linear":
        raise ValueError("bounds or a loss of least_squares: put x = low + np.exp(u), or the loss, into the function")
    named = {} if kwargs is None else kwargs

    def of(x):
        return np.atleast_1d(fun(x, *args, **named))

    x = _fitted(of, x0, xtol, ftol, gtol, 100 if max_nfev is None else max_nfev)
    rest, matrix = of(x), _slopes(of, x)
    slopes = matrix.T @ rest
    return SimpleNamespace(x=x, cost=0.5 * np.sum(rest * rest), fun=rest, jac=matrix, grad=slopes,
                           optimality=np.max(np.abs(slopes)), success=True)


def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=True, bounds=None, method=None,
              jac=None, full_output=False, nan_policy=None, ftol=1e-8, xtol=1e-8, gtol=1e-8, maxfev=None):
    if p0 is None:
        p0 = np.ones(named_parameters(f) - 1)
    if bounds is not None or full_output or sigma is not None and np.ndim(sigma) > 1:
        raise ValueError("bounds, full_output or a matrix sigma of curve_fit: give p0 and a sigma for each point")
    wanted = np.asarray(ydata)
    scale = np.ones_like(wanted) if sigma is None else sigma

    def of(p):
        return (f(xdata, *[p[k] for k in range(p.shape[0])]) - wanted) / scale

    p = _fitted(of, p0, xtol, ftol, gtol, 1000 if maxfev is None else maxfev)
    matrix = _slopes(of, p)
    spread = np.linalg.inv(matrix.T @ matrix)
    if absolute_sigma:
        return p, spread
    return p, spread * (np.sum(of(p) ** 2) / (wanted.shape[0] - p.shape[0]))


def minimize(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
             callback=None, options=None):
    given = {} if options is None else options
    if bounds is not None or len(constraints) > 0 or callback is not None:
        raise ValueError("bounds, constraints or a callback of minimize: minima without them are understood")
    if method is not None and method.lower() not in _METHODS:
        raise ValueError("this method of minimize")
    for option in given:
        if option not in ("gtol", "ftol", "xtol", "xatol", "fatol", "maxiter", "disp"):
            raise ValueError("this option of minimize: gtol, maxiter and the tolerances")
    others = args if isinstance(args, tuple) else (args,)

    def of(x):
        return np.float64(fun(x, *others)[0] if jac is True else fun(x, *others))

    def slopes(x):
        return slope_back(of, x, np.float64(1.0))

    def solve(f, start):
        return _lowest(of, slopes, start, given.get("gtol", 1e-5 if tol is None else tol),
                       given.get("maxiter", 200 * start.shape[0]))

    x = root(slopes, np.ravel(np.asarray(x0) * 1.0), solve)
    return SimpleNamespace(x=x, fun=of(x), jac=slopes(x), success=True, status=0,
                           message="Optimization terminated successfully.")


def _slopes(f, x):
    """The matrix of the derivatives of `f`, column by column."""
    n = x.shape[0]
    unit = np.eye(n)
    return np.stack([slope_along(f, x, unit[k]) for k in range(n)], axis=1)


def _fitted(of, x0, xtol, ftol, gtol, most):
    """Where J' f is zero."""
    def slopes(x):
        return slope_back(of, x, of(x))

    def solve(f, start):  # None is no tolerance
        return _nearer(of, start, min(xtol or 0.0, 1e-10), min(ftol or 0.0, 1e-14), gtol or 0.0, most)

    return root(slopes, np.atleast_1d(np.asarray(x0) * 1.0), solve)


def _nearer(f, x, xtol, ftol, gtol, most):
    """D. W. Marquardt, An algorithm for least-squares estimation of nonlinear parameters, 1963. It goes on until a step
    is small, as steps become with the damping where none is better."""
    rest, matrix, damping, steps, done = f(x), _slopes(f, x), np.float64(1e-3), 0, False
    cost, level = np.sum(rest * rest), np.minimum(1e-6 * gtol, _SETTLED * np.max(np.abs(matrix.T @ rest)))
    while not done:
        late(steps, most)
        square, slopes = matrix.T @ matrix, matrix.T @ rest
        scale = np.diagonal(square)
        scale = np.where(scale > 0, scale, 1.0)
        step = np.linalg.solve(square + damping * np.diag(scale), -slopes)
        ahead = f(x + step)
        new = np.sum(ahead * ahead)
        better, small = new < cost, np.sqrt(np.sum(step * step)) <= xtol * (xtol + np.sqrt(np.sum(x * x)))
        done = small or np.max(np.abs(slopes)) <= level or better and cost - new <= ftol * cost
        if better:
            x, rest, cost, damping = x + step, ahead, new, np.maximum(0.1 * damping, 1e-15)
            matrix = _slopes(f, x)
        else:
            damping = 10.0 * damping
        steps = steps + 1
    return x


def _lowest(f, slopes, x, gtol, most):
    """The formula of Broyden, Fletcher, Goldfarb and Shanno: J. Nocedal, S. J. Wright, Numerical Optimization, 2006,
    chapter 6. A length of a step is doubled or cut until it keeps to both of Wolfe's conditions. Where slopes are as
    small as asked for, it goes on until they are small beside those at the first guess, or no step leads down."""
    n = x.shape[0]
    matrix, g, fx, steps, reach = np.eye(n), slopes(x), f(x), 0, np.max(np.abs(x))
    level, ended = np.minimum(gtol, _SETTLED * np.max(np.abs(g))), False
    while np.max(np.abs(g)) > level and not ended:
        enough = np.max(np.abs(g)) <= gtol
        if not enough:
            late(steps, most)
        down = -(matrix @ g)
        fall = np.sum(down * g)
        if not fall < 0:
            matrix, down, fall = np.eye(n), -g, -np.sum(g * g)
        low, high, length, tries, found = np.float64(0.0), np.float64(np.inf), np.float64(1.0), 0, False
        if steps == 0:
            length = np.minimum(1.0, 1.0 / np.sqrt(np.sum(g * g)))
        ahead, g_ahead = fx, g
        while not found and not ended:
            if tries >= 60 and not enough:
                raise NOT_FOUND("Desired error not necessarily achieved due to precision loss.")
            ahead, g_ahead = f(x + length * down), slopes(x + length * down)
            far = not ahead <= fx + 1e-4 * length * fall
            short = not far and np.sum(g_ahead * down) < 0.9 * fall
            found = not far and not short
            ended = enough and not found and (
                tries >= 60 or far and length * np.max(np.abs(down)) <= 1e-8 * reach)
            if not found:
                high, low = (length if far else high), (length if short else low)
                length = 0.5 * (low + high) if np.isfinite(high) else 2.0 * length
            tries = tries + 1
        if found:
            step, change = length * down, g_ahead - g
            x, g, fx, steps = x + step, g_ahead, ahead, steps + 1
            ended = enough and steps >= most
            reach = np.maximum(reach, np.max(np.abs(x)))
            along = np.sum(step * change)
            if along > 0:
                if steps == 1:
                    matrix = matrix * (along / np.sum(change * change))
                turned = np.eye(n) - np.outer(step, change) / along
                matrix = turned @ matrix @ turned.T + np.outer(step, step) / along
    return x
