"""Roots between two places as `scipy.optimize` finds them, in plain NumPy for the interpreter to run in place of a
call.

The way to a solution is that of SciPy, and no derivative looks at it: that is the one of the solution, as `root` of
`frontend/libraries/implicit.py` has it.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sdfgad.frontend.bodies.order import WRONG as WRONG

NOT_FOUND = RuntimeError
EPS = float(np.finfo(np.float64).eps)
NAMES = ("bisect", "ridder", "brentq", "brenth", "toms748")


def root(f, x0, solve, tangent_solve=None):
    """`sdfgad.root`, which the table has under this name."""
    raise NotImplementedError


def brentq(f, a, b, args=(), xtol=2e-12, rtol=4 * EPS, maxiter=100, full_output=False, disp=True):
    return between(by_quadratics, f, a, b, args, xtol, rtol, maxiter, full_output, "brentq")


def brenth(f, a, b, args=(), xtol=2e-12, rtol=4 * EPS, maxiter=100, full_output=False, disp=True):
    return between(by_hyperbolas, f, a, b, args, xtol, rtol, maxiter, full_output, "brenth")


def bisect(f, a, b, args=(), xtol=2e-12, rtol=4 * EPS, maxiter=100, full_output=False, disp=True):
    return between(halving, f, a, b, args, xtol, rtol, maxiter, full_output, "bisect")


def ridder(f, a, b, args=(), xtol=2e-12, rtol=4 * EPS, maxiter=100, full_output=False, disp=True):
    return between(by_ridder, f, a, b, args, xtol, rtol, maxiter, full_output, "ridder")


def toms748(f, a, b, args=(), k=1, xtol=2e-12, rtol=4 * EPS, maxiter=100, full_output=False, disp=True):
    """The same root to the same tolerance, found as `brentq` does."""
    if full_output:
        raise ValueError("how toms748 has found a root: use brentq")
    return between(by_quadratics, f, a, b, args, xtol, rtol, maxiter, False, "brentq")


def between(way, f, a, b, args, xtol, rtol, maxiter, full_output, name):
    """The root between two places where the function has different signs."""
    if xtol <= 0 or rtol < EPS:
        raise WRONG("xtol or rtol too small")
    others, counts = args if isinstance(args, tuple) else (args,), []

    def of(x):
        return f(x, *others)

    def solve(g, start):
        x, calls, steps = way(g, start, np.float64(b), xtol, rtol, maxiter)
        counts.append((calls, steps))
        return x

    return told(root(of, np.float64(a), solve), counts, full_output, name)


def told(x, counts, full_output, name):
    if not full_output:
        return x
    calls, steps = counts[-1]
    return x, SimpleNamespace(root=x, iterations=steps, function_calls=calls, converged=True, flag="converged",
                              method=name)


def _value(f, x):
    found = np.float64(f(x))
    if np.isnan(found):
        raise WRONG("The function value is NaN; solver cannot continue.")
    return found


def _at_ends(f, a, b):
    """The values at both ends; which of them is a root is returned in place of the second one."""
    fa, fb = _value(f, a), _value(f, b)
    if fa != 0 and fb != 0 and (fa < 0) == (fb < 0):
        raise WRONG("f(a) and f(b) must have different signs")
    return (a if fa == 0 else b), fa, fb, fa == 0 or fb == 0


def late(steps, maxiter):
    if steps >= maxiter:
        raise NOT_FOUND("Failed to converge: more iterations than maxiter")


def by_quadratics(f, a, b, xtol, rtol, maxiter):
    return _brent(f, a, b, xtol, rtol, maxiter, False)


def by_hyperbolas(f, a, b, xtol, rtol, maxiter):
    return _brent(f, a, b, xtol, rtol, maxiter, True)


def _brent(f, a, b, xtol, rtol, maxiter, hyperbolic):
    """R. P. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 4; with hyperbolas: Bus and Dekker,
    Two efficient algorithms with guaranteed convergence, 1975."""
    x, f_last, fx, done = _at_ends(f, a, b)
    last, other, f_other, move, before, calls, steps = a, a, f_last, b - a, b - a, 2, 0
    while not done:
        steps = steps + 1
        if f_last != 0 and fx != 0 and (f_last < 0) != (fx < 0):
            other, f_other, move, before = last, f_last, x - last, x - last
        if np.abs(f_other) < np.abs(fx):
            last, x, other = x, other, x
            f_last, fx, f_other = fx, f_other, fx
        delta, half = 0.5 * (xtol + rtol * np.abs(x)), 0.5 * (other - x)
        done = fx == 0 or np.abs(half) < delta
        if not done:
            trial = _interpolated(last, x, other, f_last, fx, f_other, hyperbolic)
            good = np.abs(before) > delta and np.abs(fx) < np.abs(f_last) and 2.0 * np.abs(trial) < np.minimum(
                np.abs(before), 3.0 * np.abs(half) - delta)
            before, move = (move if good else half), (trial if good else half)
            last, f_last = x, fx
            x = x + (move if np.abs(move) > delta else delta if half > 0 else -delta)
            fx, calls = _value(f, x), calls + 1
            late(steps, maxiter)
    return x, calls, steps


def _interpolated(last, x, other, f_last, fx, f_other, hyperbolic):
    """The way to the zero of a line through two points, or of what goes through three."""
    line = -fx * (x - last) / (fx - f_last)
    one, two = (f_last - fx) / (last - x), (f_other - fx) / (other - x)
    if hyperbolic:
        curve = -fx * (f_other - f_last) / (f_other * one - f_last * two)
    else:
        curve = -fx * (f_other * two - f_last * one) / (two * one * (f_other - f_last))
    return line if last == other else curve


def halving(f, a, b, xtol, rtol, maxiter):
    x, fa, _, done = _at_ends(f, a, b)
    width, calls, steps = b - a, 2, 0
    while not done:
        late(steps, maxiter)
        steps, calls, width = steps + 1, calls + 1, 0.5 * width
        x = a + width
        fx = _value(f, x)
        a = x if (fx < 0) == (fa < 0) else a
        done = fx == 0 or np.abs(width) < xtol + rtol * np.abs(x)
    return x, calls, steps


def by_ridder(f, a, b, xtol, rtol, maxiter):
    """C. Ridders, A new algorithm for computing a single root of a real continuous function, 1979."""
    x, fa, fb, done = _at_ends(f, a, b)
    near, calls, steps = xtol + rtol * np.minimum(np.abs(a), np.abs(b)), 2, 0
    while not done:
        late(steps, maxiter)
        half = 0.5 * (b - a)
        middle = a + half
        fm = _value(f, middle)
        move = (1.0 if fb - fa > 0 else -1.0) * half * fm / np.sqrt(fm * fm - fa * fb)
        x = middle - (1.0 if move > 0 else -1.0) * np.minimum(np.abs(move), np.abs(half) - 0.5 * near)
        fx = _value(f, x)
        beyond, below = (fx < 0) != (fm < 0), (fx < 0) != (fa < 0)
        a, b, fa, fb = ((x if beyond or not below else a), (middle if beyond else x if below else b),
                        (fx if beyond or not below else fa), (fm if beyond else fx if below else fb))
        steps, calls, near = steps + 1, calls + 2, xtol + rtol * x
        done = fx == 0 or np.abs(b - a) < near
    return x, calls, steps


