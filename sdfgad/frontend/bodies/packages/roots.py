"""Roots near a place, of systems and fixed points, as `scipy.optimize` finds them, in plain NumPy for the interpreter
to run in place of a call; derivatives as in `brackets.py`.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sdfgad.frontend.bodies.implicit import dense
from sdfgad.frontend.bodies.packages.brackets import (
    EPS,
    NOT_FOUND,
    WRONG,
    between,
    by_hyperbolas,
    by_quadratics,
    by_ridder,
    halving,
    late,
    root,
    told,
)
from sdfgad.frontend.bodies.packages.powell import hybrid

NAMES = ("newton", "root_scalar", "fsolve")


def newton(func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0,
           full_output=False, disp=True):
    if tol <= 0:
        raise WRONG("tol too small")
    others, counts = args if isinstance(args, tuple) else (args,), []

    def of(x):
        return func(x, *others)

    def solve(f, start):
        if fprime is None:
            x, calls, steps = (_secants if np.ndim(start) else _secant)(f, start, x1, tol, rtol, maxiter)
        else:
            x, calls, steps = (_newtons if np.ndim(start) else _newton)(f, start, fprime, fprime2, others, tol, rtol,
                                                                       maxiter)
        counts.append((calls, steps))
        return x

    x = root(of, _as_float(x0), solve, _one_by_one if np.ndim(x0) else None)
    if np.ndim(x0):
        if full_output:
            raise ValueError("how newton has found several roots")
        return x
    return told(x, counts, full_output, "secant" if fprime is None else "newton" if fprime2 is None else "halley")


def _as_float(x0):
    return np.float64(x0) if isinstance(x0, (int, float)) else np.asarray(x0) * 1.0


def _one_by_one(operator, b):
    """A linear system whose matrix is mostly a diagonal: where it is not, as a matrix."""
    slopes = operator(np.ones_like(b))
    x = np.where(b == 0, 0.0, b / slopes)
    if np.max(np.abs(operator(x) - b)) <= 1e-10 * np.max(np.abs(b)):
        return x
    return dense(operator, b)


def _newton(f, x, fprime, fprime2, others, tol, rtol, maxiter):
    calls, steps, done = 0, 0, False
    while not done:
        late(steps, maxiter)
        fx, calls = f(x), calls + 1
        done = fx == 0
        if not done:
            slope, calls = fprime(x, *others), calls + 1
            if slope == 0:
                raise NOT_FOUND("Derivative was zero. Failed to converge")
            move = fx / slope
            if fprime2 is not None:
                bend, calls = move * fprime2(x, *others) / slope / 2.0, calls + 1
                move = move / (1.0 - bend) if np.abs(bend) < 1.0 else move
            done = np.abs(x - move - x) <= tol + rtol * np.abs(x)
            x, steps = x - move, steps + 1
    return x, calls, steps


def _secant(f, x, x1, tol, rtol, maxiter):
    if x1 is None:
        moved = x * (1.0 + 1e-4)
        last = moved + (1e-4 if moved >= 0 else -1e-4)
    else:
        last = x1 * 1.0
    fx, f_last = f(x), f(last)
    if np.abs(f_last) < np.abs(fx):  # the better one comes last
        x, last, fx, f_last = last, x, f_last, fx
    calls, steps, done = 2, 0, False
    while not done:
        late(steps, maxiter)
        if f_last == fx and last != x:
            raise NOT_FOUND("Failed to converge: two places have the same value")
        one, two = (-fx / f_last * last + x) / (1.0 - fx / f_last), (-f_last / fx * x + last) / (1.0 - f_last / fx)
        found = (last + x) / 2.0 if f_last == fx else one if np.abs(f_last) > np.abs(fx) else two
        done = np.abs(found - last) <= tol + rtol * np.abs(last)
        x, fx, last, steps = last, f_last, found, steps + 1
        if not done:
            f_last, calls = f(last), calls + 1
    return last, calls, steps


def _newtons(f, x, fprime, fprime2, others, tol, rtol, maxiter):
    """Roots next to several places, of a function that is asked for all of them."""
    x = x.astype(np.result_type(x, np.float64))
    steps, done = 0, False
    while not done:
        late(steps, maxiter)
        fx = f(x)
        done = not np.any(fx)
        if not done:
            slope = np.asarray(fprime(x, *others))
            if np.any((slope == 0) & (fx != 0)):
                raise NOT_FOUND("derivatives were zero")
            move = np.where(slope == 0, 0.0, fx / slope)
            if fprime2 is not None:
                move = move / (1.0 - 0.5 * move * np.where(slope == 0, 0.0, fprime2(x, *others) / slope))
            x, steps, done = x - move, steps + 1, np.max(np.abs(move)) < tol
    return x, steps, steps


def _secants(f, x, x1, tol, rtol, maxiter):
    x = x.astype(np.result_type(x, np.float64))
    apart = EPS ** 0.33
    last = x * (1.0 + apart) + np.where(x >= 0, apart, -apart)
    fx, f_last, steps, done = f(x), f(last), 0, False
    while not done:
        late(steps, maxiter)
        same = f_last == fx
        if np.any(same & (last != x) & (fx != 0)):
            raise NOT_FOUND("Failed to converge: two places have the same value")
        move = np.where(same, 0.0, f_last * (last - x) / (f_last - fx))
        x, fx, last, steps, done = last, f_last, last - move, steps + 1, np.max(np.abs(move)) < tol
        if not done:
            f_last = f(last)
    return last, steps, steps


def root_scalar(f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None,
                rtol=None, maxiter=None, options=None):
    if options or fprime2 is True:
        raise ValueError("options of root_scalar, or two derivatives from one function: give xtol, rtol and maxiter")
    others, both = args if isinstance(args, tuple) else (args,), fprime is True
    ways = {"brentq": by_quadratics, "brenth": by_hyperbolas, "bisect": halving, "ridder": by_ridder}

    def of(x):
        return f(x, *others)[0] if both else f(x, *others)

    def slope(x):
        return f(x, *others)[1] if both else fprime(x, *others)

    def difference(x):
        apart = EPS ** 0.5 * np.maximum(1.0, np.abs(x)) * (1.0 if x >= 0 else -1.0)
        return (of(x + apart) - of(x)) / (x + apart - x)

    def bend(x):
        return fprime2(x, *others)

    if method is None:
        method = "brentq" if bracket is not None else "halley" if fprime and fprime2 else (
            "secant" if not fprime and x1 is not None else "newton")
    if method in ways:
        return between(ways[method], of, bracket[0], bracket[1], (), 2e-12 if xtol is None else xtol,
                       4 * EPS if rtol is None else rtol, 100 if maxiter is None else maxiter, True, method)[1]
    if method not in ("newton", "secant", "halley"):
        raise ValueError("this method of root_scalar: brentq, brenth, bisect, ridder, newton, secant and halley")
    slopes = None if method == "secant" else slope if fprime else difference
    found = newton(of, x0, slopes, (), 1.48e-8 if xtol is None else xtol, 50 if maxiter is None else maxiter,
                   bend if method == "halley" else None, x1 if method == "secant" else None,
                   0.0 if rtol is None else rtol, True)[1]
    if both:  # SciPy asks once for both
        found.function_calls = (found.function_calls + 1) // 2
    return found


# several unknowns

def fixed_point_of(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    """`scipy.optimize.fixed_point`: with Aitken's extrapolation, or without it."""
    def of(x):
        return x - func(x, *args)

    def solve(f, start):
        x, steps, done = start, 0, False
        while not done:
            late(steps, maxiter)
            found = func(x, *args)
            if method == "del2":
                third = func(found, *args)
                bend = third - 2.0 * found + x
                found = np.where(bend == 0, third, x - (found - x) ** 2 / bend)
            done = np.all(np.abs(np.where(x == 0, found, (found - x) / x)) < xtol)
            x, steps = found, steps + 1
        return x

    if method not in ("del2", "iteration"):
        raise ValueError("this method of fixed_point")
    return root(of, _as_float(x0), solve, _one_by_one)


def fsolve(func, x0, args=(), fprime=None, full_output=0, col_deriv=0, xtol=1.49012e-8, maxfev=0, band=None,
           epsfcn=None, factor=100, diag=None):
    if full_output or band is not None:
        raise ValueError("full_output or band of fsolve: scipy.optimize.root says how it went")
    return _hybr(func, x0, args, fprime, col_deriv, xtol, maxfev, epsfcn, factor, diag)[0]


def root_of_system(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    """`scipy.optimize.root` by Powell's method."""
    if method != "hybr" or callback is not None:
        raise ValueError("a method of root other than hybr, or a callback: give sdfgad.root a solver of your own")
    given = {"xtol": 1.49012e-8 if tol is None else tol, **({} if options is None else options)}
    for name in given:
        if name not in ("xtol", "maxfev", "eps", "factor", "diag", "col_deriv"):
            raise ValueError("this option of root: xtol, maxfev, eps, factor, diag and col_deriv")
    others, both = args if isinstance(args, tuple) else (args,), jac is True

    def of(x):
        return fun(x, *others)[0] if both else fun(x, *others)

    def slopes(x):
        return fun(x, *others)[1] if both else jac(x, *others)

    x, fx, calls = _hybr(of, x0, (), slopes if jac else None, given.get("col_deriv", 0), given["xtol"],
                         given.get("maxfev", 0), given.get("eps"), given.get("factor", 100),
                         given.get("diag"))
    return SimpleNamespace(x=x, success=True, status=1, message="The solution converged.", fun=fx, nfev=calls,
                           method="hybr")


def _hybr(func, x0, args, fprime, col_deriv, xtol, maxfev, epsfcn, factor, diag):
    others, counts = args if isinstance(args, tuple) else (args,), []
    start = np.ravel(np.array(x0, np.float64))
    n = start.shape[0]

    def of(x):
        return np.reshape(np.asarray(func(x, *others), np.float64), x.shape)

    def slopes(x, fx):
        if fprime is not None:
            found = np.asarray(fprime(x, *others), np.float64)
            return found.T if col_deriv else found
        return _differences(of, x, fx, np.sqrt(max(EPS if epsfcn is None else epsfcn, EPS)))

    def solve(f, x):
        most = maxfev if maxfev else (200 if fprime is None else 100) * (n + 1)
        x, calls, status = hybrid(f, slopes, x, xtol, most, factor, diag, n if fprime is None else 0)
        if status != 1 and status != 3:
            raise NOT_FOUND("The iteration is not making good progress, or has reached maxfev")
        counts.append(calls + 2)  # SciPy looks twice at what the function gives
        return x

    x = root(of, start, solve)
    return x, of(x), counts[-1]


def _differences(f, x, fx, apart):
    n = x.shape[0]
    found = np.zeros((n, n))
    for k in range(n):
        h = apart * np.abs(x[k]) if x[k] != 0 else apart
        moved = x.copy()
        moved[k] = x[k] + h
        found[:, k] = (f(moved) - fx) / h
    return found
