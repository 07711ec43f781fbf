"""Minima of functions of one number as `scipy.optimize` finds them, in plain NumPy for the interpreter to run in place
of a call; the derivative is that of the place where the slope is zero.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sdfgad.frontend.bodies.packages.brackets import NOT_FOUND, WRONG, late
from sdfgad.frontend.bodies.packages.initial_values import stop_gradient

NAMES = ("minimize_scalar", "fminbound")
_GOLD = 1.618034
_FOUND = "\nOptimization terminated successfully;\nThe returned value satisfies the termination criteria\n"


def stationary(f, x):
    """The same place, where the slope of `f` is zero; `frontend/libraries/implicit.py` has the rule for its slopes."""
    raise NotImplementedError


def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    others = args if isinstance(args, tuple) else (args,)
    given = {} if options is None else options
    name = method.lower() if method is not None else "brent" if bounds is None else "bounded"
    if name not in ("brent", "bounded") or name == "brent" and bounds is not None:
        raise ValueError("this method of minimize_scalar: brent, or bounded with bounds")
    for option in given:
        if option not in ("xtol" if name == "brent" else "xatol", "maxiter", "disp"):
            raise ValueError("this option of minimize_scalar")
    most = given.get("maxiter", 500)

    def of(x):
        return np.float64(fun(x, *others))

    if name == "bounded":
        x, calls = _bounded(of, bounds[0], bounds[1], given.get("xatol", 1e-5 if tol is None else tol), most)
        return SimpleNamespace(x=x, fun=of(x), nfev=calls, nit=calls, success=True, status=0,
                               message="Solution found.")
    xtol = given.get("xtol", 1.48e-8 if tol is None else tol)
    x, calls, steps = _brent(of, bracket, xtol, most)
    return SimpleNamespace(x=x, fun=of(x), nfev=calls, nit=steps, success=True,
                           message=_FOUND + f"(using xtol = {xtol} )")


def fminbound(func, x1, x2, args=(), xtol=1e-5, maxfun=500, full_output=0, disp=1):
    if full_output:
        raise ValueError("full_output of fminbound: scipy.optimize.minimize_scalar says how it went")

    def of(x):
        return np.float64(func(x, *args))

    return _bounded(of, x1, x2, xtol, maxfun)[0]


def _bounded(f, low, high, xatol, most):
    """A minimum between two places. One at an end moves with the end, and with nothing else."""
    if not (np.isfinite(low) and np.isfinite(high)):
        raise WRONG("Optimization bounds must be finite scalars.")
    if low > high:
        raise WRONG("The lower bound exceeds the upper bound.")
    low, high = np.float64(low), np.float64(high)
    share = 0.5 * (3.0 - np.sqrt(5.0))
    start = low + share * (high - low)
    x, steps = _down(f, low, high, start, f(start), np.sqrt(2.2e-16), xatol / 3.0, share, 1, most)
    x = stop_gradient(x)
    near = 3.0 * (np.sqrt(2.2e-16) * np.abs(x) + xatol / 3.0)
    if x - low <= near:
        x = low + stop_gradient(x - low)
    elif high - x <= near:
        x = high - stop_gradient(high - x)
    else:
        x = stationary(f, x)
    return x, steps


def _brent(f, bracket, tol, most):
    if bracket is None or len(bracket) == 2:
        a, b, c, fb, calls = _bracketed(f, *(np.float64(0.0), np.float64(1.0)) if bracket is None else (
            np.float64(bracket[0]), np.float64(bracket[1])))
    else:
        a, b, c = (np.float64(v) for v in bracket)
        fb, calls = f(b), 3
        if not ((a < b and b < c or c < b and b < a) and fb < f(a) and fb < f(c)):
            raise WRONG("Bracketing values (xa, xb, xc) do not fulfill what is asked of them")
    x, steps = _down(f, np.minimum(a, c), np.maximum(a, c), b, fb, tol, 1e-11, 0.3819660, 0, most)
    return stationary(f, stop_gradient(x)), calls + steps, steps


def _down(f, low, high, x, fx, relative, least, share, steps, most):
    """R. P. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 5: parabolas through the three best
    places, and the golden section where these lead nowhere. share: the smaller part of it."""
    second, third, f_second, f_third, before, move, done = x, x, fx, fx, 0.0 * x, 0.0 * x, False
    while not done:
        near, middle = relative * np.abs(x) + least, 0.5 * (low + high)
        done = not np.abs(x - middle) > 2.0 * near - 0.5 * (high - low)
        if not done:
            late(steps, most)
            one, two = (x - second) * (fx - f_third), (x - third) * (fx - f_second)
            p, q = (x - third) * two - (x - second) * one, 2.0 * (two - one)
            p, q = (-p if q > 0 else p), np.abs(q)
            fits = np.abs(before) > near and p > q * (low - x) and p < q * (high - x) and (
                np.abs(p) < np.abs(0.5 * q * before))
            jump, side = p / q, (low - x if x >= middle else high - x)
            closes = x + jump - low < 2.0 * near or high - x - jump < 2.0 * near
            before, move = (move if fits else side), ((near if middle >= x else -near) if fits and closes else
                                                      jump if fits else share * side)
            u = x + (move if np.abs(move) >= near else near if move >= 0 else -near)
            fu, steps = f(u), steps + 1
            worse, right = fu > fx, u >= x
            low, high = ((u if not right else low) if worse else x if right else low,
                         (u if right else high) if worse else high if right else x)
            next_best = worse and (fu <= f_second or second == x)
            last_one = worse and not next_best and (fu <= f_third or third in (x, second))
            shifts = next_best or not worse
            third, f_third = (second if shifts else u if last_one else third), (
                f_second if shifts else fu if last_one else f_third)
            second, f_second = (u if next_best else second if worse else x), (
                fu if next_best else f_second if worse else fx)
            x, fx = (x if worse else u), (fx if worse else fu)
    return x, steps


def _bracketed(f, a, b):
    """Three places, of which the middle one is the lowest: W. H. Press et al., Numerical Recipes, 2007, 10.1."""
    fa, fb = f(a), f(b)
    up = fa < fb
    a, b, fa, fb = (b if up else a), (a if up else b), (fb if up else fa), (fa if up else fb)
    c = b + _GOLD * (b - a)
    fc, calls, steps = f(c), 3, 0
    done = not fc < fb
    while not done:
        late(steps, 1001)
        one, two = (b - a) * (fb - fc), (b - c) * (fb - fa)
        size = two - one
        w = b - ((b - c) * two - (b - a) * one) / (2e-21 if np.abs(size) < 1e-21 else 2.0 * size)
        far = b + 110.0 * (c - b)
        inside = (w - c) * (b - w) > 0.0
        at_end = not inside and (w - far) * (far - c) >= 0.0
        beyond = not inside and not at_end and (w - far) * (c - w) > 0.0
        w = far if at_end else w if inside or beyond else c + _GOLD * (c - b)
        fw, calls, steps = f(w), calls + 1, steps + 1
        if inside and fw < fc:
            a, b, fa, fb, done = b, w, fb, fw, True
        elif inside and fw > fb:
            c, fc, done = w, fw, True
        else:
            lower = beyond and fw < fc
            if lower:
                b, c, fb, fc = c, w, fc, fw
            if lower or inside:
                w = c + _GOLD * (c - b)
                fw, calls = f(w), calls + 1
            a, b, c, fa, fb, fc = b, c, w, fb, fc, fw
            done = not fc < fb
    if not ((fb < fc and fb <= fa or fb < fa and fb <= fc) and (a < b and b < c or c < b and b < a)):
        raise NOT_FOUND("The algorithm terminated without finding a valid bracket.")
    return a, b, c, fb, calls
