"""Initial value problems as `scipy.integrate.solve_ivp` and `odeint` solve them, in plain NumPy for the interpreter to
run in place of a call.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,index"
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

_WRONG = ValueError  # of data: unlike what these bodies do not take, it is raised in the run
_NOT_FOUND = ArithmeticError
_REACHED = "The solver successfully reached the end of the integration interval."


def stop_gradient(x):
    """`sdfgad.stop_gradient`, which the table has under this name."""
    raise NotImplementedError


def solve_ivp(fun, start, end, y0, pair, t_eval, args, vectorized, first_step, max_step, rtol, atol):
    """Steps of an embedded pair of Runge-Kutta formulas, as long as the error that they estimate allows.

    E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993, II.4. How long steps are is
    searched for without derivatives. The derivative is that of the steps taken, with their lengths held: H. G. Bock,
    Numerical treatment of inverse problems in chemical reaction kinetics, 1981; M. Alexe, A. Sandu, On the discrete
    adjoints of adaptive time stepping algorithms, 2009. The last step ends where the interval does.
    """
    y = np.asarray(y0)
    y = y.astype(np.complex128 if y.dtype.kind == "c" else np.float64)
    if y.ndim != 1 or np.ndim(atol) and np.shape(atol) != y.shape:
        raise ValueError("a state of solve_ivp that is no vector, or atol of another shape")
    if not np.all(np.isfinite(y)):
        raise _WRONG("All components of the initial state `y0` must be finite.")
    if np.any(np.asarray(atol) < 0):
        raise _WRONG("`atol` must be positive.")
    if max_step <= 0:
        raise _WRONG("`max_step` must be positive.")

    def slope(t, y):
        found = np.asarray(fun(t, y[:, None], *args) if vectorized else fun(t, y, *args), y.dtype)
        return _alike(np.ravel(found) if vectorized else found, y, "solve_ivp")

    way, length, f = -1.0 if end < start else 1.0, np.abs(end - start), slope(start, y)
    limits = max_step, np.maximum(rtol, 100 * np.finfo(np.float64).eps), atol
    if first_step is None:
        size, calls = _first_step(slope, start, y, f, way, length, pair[-1], limits), 2
    elif first_step <= 0 or first_step > length:
        raise _WRONG("`first_step` must be positive, and no longer than the interval.")
    else:
        size, calls = np.float64(first_step), 1
    times, states, calls = _integrated(slope, start, end, way, y, f, size, calls, pair, limits, _times(
        t_eval, start, end, way), None)
    return result(times, states.T, calls) if t_eval is None else result(np.array(t_eval), states.T.copy(), calls)


def odeint(func, y0, t, args, pair, first_step, max_step, most, rtol, atol, tfirst):
    """States at times, a row for each: the first one is the state that is given.

    most: steps between two times.
    """
    y, times = np.atleast_1d(np.asarray(y0, np.float64)), np.asarray(t, np.float64)
    if y.ndim != 1 or times.ndim != 1:
        raise ValueError("a state or times of odeint that are no vector")
    start, end, moves = times[0], times[-1], np.diff(times)
    if np.any(moves < 0) and np.any(moves > 0):
        raise _WRONG("The values in t must be monotonically increasing or monotonically decreasing.")
    if times.shape[0] == 1:
        return np.stack((y,))

    def slope(t, y):
        return _alike(np.asarray(func(t, y, *args) if tfirst else func(y, t, *args), np.float64), y, "odeint")

    way, length, f = -1.0 if end < start else 1.0, np.abs(end - start), slope(start, y)
    limits = max_step, np.maximum(rtol, 100 * np.finfo(np.float64).eps), atol
    size = np.minimum(first_step, length) if first_step is not None else _first_step(
        slope, start, y, f, way, length, pair[-1], limits)
    return _integrated(slope, start, end, way, y, f, size, 0, pair, limits, np.append(times, way * np.inf),
                       most * (times.shape[0] - 1))[1]


def _alike(found, y, name):
    """A slope, as long as the state."""
    found = found if found.ndim else found + np.zeros_like(y)
    if found.shape != y.shape:
        raise ValueError(f"a slope of {name} of another shape than the state")
    return found


def _integrated(slope, t, end, way, y, f, size, calls, pair, limits, times, most):
    """Step after step: times, rows of states, and how often the slope was asked for. times: those that are asked for,
    and one behind them that is never reached. most: steps."""
    formulas, errors, between, order = pair
    found, i, steps = None if times is None else np.zeros((times.shape[0] - 1, y.shape[0]), y.dtype), 0, 0
    ts, ys = [t], [y]
    while way * (t - end) < 0:
        if most is not None:
            if steps >= most:
                raise _NOT_FOUND("odeint: more steps than mxstep allows: the equations may be stiff")
            steps = steps + 1
        h, last, size, tried = _search(slope, t, end, way, y, f, size, formulas, errors, order, limits)
        calls = calls + (len(formulas[0]) + 1) * tried
        ahead = end if last else t + stop_gradient(h)
        h = ahead - t
        behind, k = _stages(slope, t, y, f, h, formulas)
        if times is None:
            ts.append(ahead)
            ys.append(behind)
        elif way * (times[i] - ahead) <= 0:
            calls = calls + (len(between[1]) if len(between) > 1 else 0)
            parts = _parts(slope, t, y, behind, h, k, between)
            while way * (times[i] - ahead) <= 0:
                found[i] = _value_between((times[i] - t) / h, y, h, parts, k, between)
                i = i + 1
        t, y, f = ahead, behind, k[-1]
    return (np.array(ts), np.vstack(ys), calls) if times is None else (None, found, calls)


def without_length(start, y0):
    """What there is where the interval ends at its start: SciPy has the state twice."""
    y = np.asarray(y0)
    y = y.astype(np.complex128 if y.dtype.kind == "c" else np.float64)
    return result(np.array([start, start]), np.stack((y, y), axis=1), 1)


def result(t, y, calls):
    """What `solve_ivp` gives."""
    return SimpleNamespace(t=t, y=y, sol=None, t_events=None, y_events=None, nfev=calls, njev=0, nlu=0, status=0,
                           message=_REACHED, success=True)


def _times(t_eval, start, end, way):
    """The times asked for, with one behind them that is never reached."""
    if t_eval is None:
        return None
    times = np.asarray(t_eval, np.float64)
    if times.ndim != 1:
        raise ValueError("t_eval of solve_ivp that is no vector")
    if np.any((times - start) * way < 0) or np.any((times - end) * way > 0):
        raise _WRONG("Values in `t_eval` are not within `t_span`.")
    if np.any(np.diff(times) * way <= 0):
        raise _WRONG("Values in `t_eval` are not properly sorted.")
    return np.append(times, way * np.inf)


def _first_step(slope, t, y, f, way, length, order, limits):
    """How long the first step is: Hairer, Norsett and Wanner, as above."""
    max_step, rtol, atol = limits
    if length == 0:
        raise _NOT_FOUND("solve_ivp or odeint: the interval has no length, which is not known before the call")
    scale = atol + np.abs(y) * rtol
    d0, d1 = _size(y / scale), _size(f / scale)
    h0 = np.minimum(np.where(np.minimum(d0, d1) < 1e-5, 1e-6, 0.01 * d0 / d1), length)
    d2 = _size((slope(t + h0 * way, y + h0 * way * f) - f) / scale) / h0
    larger = np.fmax(d1, d2)
    h1 = np.where(larger <= 1e-15, np.maximum(1e-6, h0 * 1e-3), (0.01 / larger) ** (1.0 / (order + 1)))
    return np.minimum(np.minimum(100.0 * h0, h1), np.minimum(length, max_step))


def _search(slope, t, end, way, y, f, size, formulas, errors, order, limits):
    """The step whose error is small enough, whether it is the last one, the size to try next, and how many were tried.
    """
    max_step, rtol, atol = limits
    least = 10.0 * np.abs(np.spacing(t))
    size = np.minimum(np.maximum(size, least), max_step)
    error, h, last, tried = np.float64(np.inf), size, False, 0
    while not error < 1.0:
        if not size >= least:
            raise _NOT_FOUND("solve_ivp or odeint: Required step size is less than spacing between numbers.")
        last = way * (t + way * size - end) >= 0
        h = (end if last else t + way * size) - t
        behind, k = _stages(slope, t, y, f, h, formulas)
        error = _error(k, h, atol + np.maximum(np.abs(y), np.abs(behind)) * rtol, errors)
        factor = 0.9 * error ** (-1.0 / (order + 1))
        most = 1.0 if tried > 0 else 10.0
        size = np.abs(h) * np.where(error < 1.0, np.minimum(factor, most), np.fmax(factor, 0.2))
        tried = tried + 1
    return h, last, size, tried


def _stages(slope, t, y, f, h, formulas):
    """The state behind a step, and the slopes on the way to it, that at the end among them."""
    rows, weights, places = formulas
    k = [f]
    for row, place in zip(rows, places, strict=True):
        k.append(slope(t + place * h, y + _mixed(row, k) * h))
    behind = y + h * _mixed(weights, k)
    k.append(slope(t + h, behind))
    return behind, k


def _mixed(weights, k):
    """A sum of slopes, each with its weight. weights: the numbers of slopes, and what is not zero for them."""
    return _added([w * k[i] for i, w in weights])


def _added(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _size(x):
    """The root of the mean of squares."""
    return np.sqrt(np.sum(np.abs(x) ** 2) / x.shape[0])


def _error(k, h, scale, errors):
    """The error of a step in units of what is allowed. Of order 8 by those of orders 5 and 3."""
    if len(errors) == 1:
        return _size(_mixed(errors[0], k) * h / scale)
    five, three = (np.sum(np.abs(_mixed(w, k) / scale) ** 2) for w in errors)
    spread = np.sqrt((five + 0.01 * three) * scale.shape[0])
    return np.where(spread == 0, 0.0, np.abs(h) * five / spread)


def _parts(slope, t, y, behind, h, k, between):
    """What the polynomial in a step is made of: of order 8 with more slopes."""
    if len(between) == 1:
        return ()
    rows, places, weights = between
    more = list(k)
    for row, place in zip(rows, places, strict=True):
        more.append(slope(t + place * h, y + _mixed(row, more) * h))
    moved = behind - y
    return (moved, h * k[0] - moved, 2.0 * moved - h * (k[-1] + k[0]), *[h * _mixed(w, more) for w in weights])


def _value_between(x, y, h, parts, k, between):
    """The state at a share x of a step."""
    if len(between) == 1:
        return y + h * _added([_powers(row, x) * k[i] for i, row in between[0]])
    total = parts[-1] * x
    for i, part in enumerate(parts[-2::-1]):
        total = (total + part) * (1.0 - x if i % 2 == 0 else x)
    return y + total


def _powers(row, x):
    """A polynomial without a constant, by Horner's rule."""
    value = row[-1] * x
    for factor in row[-2::-1]:
        value = (factor + value) * x
    return value


PARTS = (solve_ivp, without_length, odeint)
"""What the rule runs in place of a call."""
