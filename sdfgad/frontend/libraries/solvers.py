"""`scipy.integrate.solve_ivp` by explicit formulas, whose coefficients SciPy says, and `odeint` by one of them."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from sdfgad.frontend.bodies.packages import initial_values as bodies
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.libraries.routines import unchanged
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.frames import CallFrame
from sdfgad.frontend.state.values import ListValue, Value, is_number

_EXPLICIT = ("RK45", "RK23", "DOP853")
_OPTIONS = ("first_step", "max_step", "rtol", "atol")
_LSODA = 1.49012e-8
_MOST = 10_000
"""Steps of `odeint` between two times, where it is not told another number: those of stiff equations are shorter."""


def solve_ivp(ctx: Context, fun: Value, t_span: Value, y0: Value, method: Value = "RK45", t_eval: Value = None,
              dense_output: Value = False, events: Value = None, vectorized: Value = False, args: Value = None,
              **options: Value) -> Value:
    """The states on the way, and where they are."""
    name = getattr(method, "__name__", method)
    if name not in _EXPLICIT:
        raise ctx.refuse(f"solve_ivp by the method {name if isinstance(name, str) else describe(name)}",
                         "RK45, RK23 and DOP853 are understood; write implicit steps as a loop over sdfgad.root",
                         "SG121")
    if dense_output or events is not None:
        raise ctx.refuse("solve_ivp with dense_output or events", "give t_eval= the times at which states are needed",
                         "SG121")
    if unknown := sorted(options.keys() - set(_OPTIONS)):
        raise ctx.refuse(f"the argument {unknown[0]!r} of solve_ivp by explicit formulas", "leave it out", "SG121")
    span = items_of(ctx, t_span)
    if len(span) != 2:
        raise ctx.refuse("an interval of solve_ivp without two ends", "give t_span=(start, end)", "SG101")
    start, end = (ctx.invoke(ctx, np.float64, [v], {}) for v in span)
    given = () if args is None else args
    with unchanged(ctx, "solve_ivp"), _nothing_kept(ctx, "solve_ivp"):
        if is_number(start) and is_number(end) and start == end and t_eval is None:
            return ctx.invoke(ctx, bodies.without_length, [start, y0], {})
        limits = {"first_step": None, "max_step": np.inf, "rtol": 1e-3, "atol": 1e-6, **options}
        return ctx.invoke(ctx, bodies.solve_ivp, [
            fun, start, end, y0, _pair(name), t_eval, given, vectorized, *(limits[n] for n in _OPTIONS)], {})


def odeint(ctx: Context, func: Value, y0: Value, t: Value, args: Value = (), Dfun: Value = None, col_deriv: Value = 0,
           full_output: Value = 0, ml: Value = None, mu: Value = None, rtol: Value = None, atol: Value = None,
           tcrit: Value = None, h0: Value = 0.0, hmax: Value = 0.0, hmin: Value = 0.0, ixpr: Value = 0,
           mxstep: Value = 0, mxhnil: Value = 0, mxordn: Value = 12, mxords: Value = 5, printmessg: Value = 0,
           tfirst: Value = False) -> Value:
    """The states at given times: to the tolerances that LSODA keeps, by RK45, which asks for no Jacobian."""
    if full_output or tcrit is not None or hmin:
        raise ctx.refuse("odeint with full_output, tcrit or hmin",
                         "leave them out; at a jump of the slope end one call, and begin another one", "SG121")
    with unchanged(ctx, "odeint"), _nothing_kept(ctx, "odeint"):
        return ctx.invoke(ctx, bodies.odeint, [
            func, y0, t, args, _pair("RK45"), h0 or None, hmax or np.inf, mxstep or _MOST,
            *(_LSODA if v is None else v for v in (rtol, atol)), bool(tfirst)], {})


@contextmanager
def _nothing_kept(ctx: Context, name: str) -> Iterator[None]:
    """Within, no list, dict or name around changes: a function that counts its calls would count those of the search,
    and those of the steps once more."""
    contents, frames = ctx.changeable(), [(f, dict(f.names)) for f in _around(ctx)]
    yield
    changed = any(len(v.items) != len(items) or any(a is not b for a, b in zip(v.items, items, strict=True))
                  if isinstance(v, ListValue) else v.items != items for v, items in contents)
    if changed or any(f.names.get(n) is not v for f, names in frames for n, v in names.items()):
        raise ctx.refuse(f"a function given to {name} that changes a list, a dict or a name outside of it",
                         "let it return what it computes", "SG136")


def _around(ctx: Context) -> list[CallFrame]:
    """The frames of calls, and of functions that hold others."""
    found = list(ctx.frames)
    for frame in found:
        if frame.enclosing is not None and all(frame.enclosing is not f for f in found):
            found.append(frame.enclosing)
    return found


def _pair(name: str) -> tuple[Any, ...]:
    """The formulas of a method: stages behind the first one, estimates of the error, values between, the order of the
    estimate. Of a row there are the numbers that are not zero, each with its place."""
    form = getattr(import_module("scipy.integrate"), name)
    stages = _rows(form.A[1:]), _sparse(form.B), tuple(form.C[1:].tolist())
    if name == "DOP853":
        between = _rows(form.A_EXTRA), tuple(form.C_EXTRA.tolist()), _rows(form.D)
        return stages, (_sparse(form.E5), _sparse(form.E3)), between, int(form.error_estimator_order)
    powers = tuple((i, tuple(row.tolist())) for i, row in enumerate(form.P) if row.any())
    return stages, (_sparse(form.E),), (powers,), int(form.error_estimator_order)


def _rows(matrix: np.ndarray) -> tuple[Any, ...]:
    return tuple(map(_sparse, matrix))


def _sparse(row: np.ndarray) -> tuple[tuple[int, float], ...]:
    return tuple((int(i), float(row[i])) for i in np.flatnonzero(row))
