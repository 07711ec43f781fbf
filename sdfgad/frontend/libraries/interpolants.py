"""Interpolants of SciPy: those made outside, whose coefficients are constants, and cubic splines and lines made inside,
through values and knots that may be active."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.bodies import series
from sdfgad.frontend.bodies.packages import interpolation as bodies
from sdfgad.frontend.elements.elementwise import FLOAT, as_array, convert, describe
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.libraries.matrix_operations import system_dtype
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Opaque, Value, is_number
from sdfgad.frontend.static.outside import found_outside

_PIECES = frozenset({"PPoly", "CubicSpline", "CubicHermiteSpline", "PchipInterpolator", "Akima1DInterpolator"})
_HELP = "make the interpolant outside of the function and call it inside, or use CubicSpline, interp1d or np.interp"


@dataclass(frozen=True, eq=False)
class Piecewise(Opaque):
    """Polynomials between knots. coefficients: the highest power first, then pieces, then what is interpolated."""

    coefficients: Value
    knots: Value
    extrapolate: Any


@dataclass(frozen=True, eq=False)
class ThroughPoints(Opaque):
    """What `interp1d` makes of points, which need not be in order; `strict`: beyond the ends is an error."""

    knots: Value
    values: Value
    below: Value
    above: Value
    strict: bool
    kind: str


@dataclass(frozen=True, eq=False)
class OnGrid(Opaque):
    """Lines along each dimension of a grid. outside: what stands there, None where they go on; `strict`: an error."""

    grids: Value
    values: Value
    outside: Value
    strict: bool


_FAMILIES: Mapping[str, int] = MappingProxyType({
    "Polynomial": -1, "Chebyshev": 0, "Legendre": 1, "Hermite": 2, "HermiteE": 3, "Laguerre": 4})
"""Polynomials that are objects of NumPy, and which recurrence theirs is."""


def is_polynomial(value: Value) -> bool:
    """Whether this is a polynomial of NumPy's made outside."""
    return isinstance(value, np.poly1d) or type(value).__module__.startswith("numpy.polynomial") and (
        type(value).__name__ in _FAMILIES)


def polynomial(ctx: Context, made: Any, x: Value) -> Value:
    """The values of such a polynomial."""
    if isinstance(made, np.poly1d):
        return ctx.invoke(ctx, np.polyval, [found_outside(ctx, made, "coeffs", made.coeffs), x], {})
    offset, scale = (float(v) for v in made.mapparms())
    for name in ("domain", "window"):  # their numbers are part of the program
        found_outside(ctx, made, name, part := getattr(made, name))
        ctx.surroundings.watched.append((part, part.copy()))
    found = found_outside(ctx, made, "coef", made.coef)
    return ctx.invoke(ctx, series.of_object, [x, found, offset, scale, _FAMILIES[type(made).__name__]], {})


def is_interpolant(value: Value) -> bool:
    """Whether a call of this value interpolates."""
    form = type(value)
    made_here = isinstance(value, (Piecewise, ThroughPoints, OnGrid))
    return made_here or form.__module__.startswith("scipy.interpolate") and (
        form.__name__ in (*_PIECES, "BSpline", "interp1d"))


def call(ctx: Context, interpolant: Value, x: Value, nu: Value = 0, extrapolate: Value = None) -> Value:
    """The values of an interpolant, or those of its derivative of the order nu."""
    if isinstance(interpolant, OnGrid):
        on = interpolant
        return ctx.invoke(ctx, bodies.on_grid, [on.grids, on.values, x, on.strict, on.outside], {})
    found = interpolant if isinstance(interpolant, (Piecewise, ThroughPoints)) else _of_outside(ctx, interpolant)
    if isinstance(found, ThroughPoints):
        return ctx.invoke(ctx, bodies.through_points, [
            found.knots, found.values, x, found.below, found.above, found.strict, found.kind], {})
    if not is_number(nu) or nu != int(nu) or nu < 0:
        raise ctx.refuse(f"the derivative of order {describe(nu)} of an interpolant", _HELP, "SG101")
    beyond = found.extrapolate if extrapolate is None else extrapolate
    x = convert(ctx, x, FLOAT)
    return ctx.invoke(ctx, bodies.evaluated, [found.coefficients, found.knots, x, int(nu), beyond], {})


def _of_outside(ctx: Context, made: Any) -> Piecewise | ThroughPoints:
    if type(made).__name__ == "interp1d":
        return _points_of_outside(ctx, made)
    if type(made).__name__ == "BSpline":
        key = ("pieces", id(made))
        if key not in ctx.hints:
            form = import_module("scipy.interpolate").PPoly
            ctx.hints[key] = made, form.from_spline(made, made.extrapolate)
        made = ctx.hints[key][1]
    if made.axis != 0 and made.c.ndim > 2:
        raise ctx.refuse("an interpolant along another axis than the first one", _HELP, "SG101")
    beyond = True if made.extrapolate is None else made.extrapolate
    return Piecewise(found_outside(ctx, made, "c", made.c), found_outside(ctx, made, "x", made.x), beyond)


def _points_of_outside(ctx: Context, made: Any) -> ThroughPoints:
    if made.y.ndim > 1:
        raise ctx.refuse(f"interp1d through {describe(made.y)}", _HELP, "SG101")
    kind = _kind(ctx, made._spline.k if made._kind == "spline" else made._kind, made.x.shape[0])
    below, above = _BEYOND.get(kind, (None, None)) if made._extrapolate else (
        float(np.ravel(getattr(made, f"_fill_value_{side}"))[0]) for side in ("below", "above"))
    return ThroughPoints(found_outside(ctx, made, "x", made.x), found_outside(ctx, made, "y", made.y), below, above,
                         bool(made.bounds_error), kind)


_BEYOND: Mapping[str, tuple[Value, Value]] = MappingProxyType({"previous": (np.nan, None), "next": (None, np.nan)})
"""What stands below and above points where something is to go on and has nothing to go on from."""


def _kind(ctx: Context, kind: Value, count: int) -> str:
    """The kind of `interp1d`, by its name."""
    known = {1: "linear", 3: "cubic"}.get(kind, kind)
    if known not in ("linear", "cubic", "nearest", "previous", "next") or known == "cubic" and count < 4:
        raise ctx.refuse(f"interp1d of the kind {kind!r} through {count} points",
                         'use kind="linear" or, through at least four points, "cubic"', "SG101")
    return str(known)


def cubic_spline(ctx: Context, x: Value, y: Value, axis: Value = 0, bc_type: Value = "not-a-knot",
                 extrapolate: Value = None) -> Value:
    """`scipy.interpolate.CubicSpline`."""
    knots, values = _points(ctx, x, y, True)
    if axis != 0:
        raise ctx.refuse("a spline along another axis than the first one", _HELP, "SG101")
    first, last = _ends(ctx, bc_type)
    made = ctx.invoke(ctx, bodies.cubic_spline, [knots, values, first, last], {})
    return Piecewise(made, knots, True if extrapolate is None else extrapolate)


def _ends(ctx: Context, bc_type: Value) -> tuple[Value, Value]:
    both = bc_type if isinstance(bc_type, (tuple, list)) else (bc_type, bc_type)
    known = {"not-a-knot": None, "natural": (2, 0.0), "clamped": (1, 0.0)}
    found = [known.get(c, c) if isinstance(c, str) else c for c in both]
    if len(found) != 2 or any(isinstance(c, str) for c in found):
        raise ctx.refuse(f"a spline with bc_type={bc_type!r}", _HELP, "SG101")
    return found[0], found[1]


def interpolating_spline(ctx: Context, x: Value, y: Value, k: Value = 3, t: Value = None, bc_type: Value = None,
                         axis: Value = 0, check_finite: Value = True) -> Value:
    """`scipy.interpolate.make_interp_spline` of degree 3 or 1: the same function as polynomials between knots."""
    if k not in (1, 3) or t is not None or axis != 0:
        raise ctx.refuse("make_interp_spline with another degree than 1 or 3, knots of its own or another axis", _HELP,
                         "SG101")
    if k == 3:
        return cubic_spline(ctx, x, y, 0, "not-a-knot" if bc_type is None else bc_type)
    knots, values = _points(ctx, x, y, True)
    return Piecewise(ctx.invoke(ctx, bodies.linear_pieces, [knots, values], {}), knots, True)


def through_points(ctx: Context, x: Value, y: Value, kind: Value = "linear", axis: Value = -1, copy: Value = True,
                   bounds_error: Value = None, fill_value: Value = None, assume_sorted: Value = False) -> Value:
    """`scipy.interpolate.interp1d` through numbers."""
    knots, values = _points(ctx, x, y, kind in ("cubic", 3))
    if values.ndim != 1:
        raise ctx.refuse(f"interp1d through {describe(values)}", _HELP, "SG101")
    kind = _kind(ctx, kind, knots.shape[0].const or 0)
    if isinstance(fill_value, str):
        if fill_value != "extrapolate" or bounds_error:
            raise ctx.refuse(f"interp1d with fill_value={fill_value!r}", _HELP, "SG101")
        return ThroughPoints(knots, values, *_BEYOND.get(kind, (None, None)), False, kind)
    strict = fill_value is None if bounds_error is None else bool(bounds_error)
    ends = fill_value if isinstance(fill_value, tuple) and len(fill_value) == 2 else (fill_value, fill_value)
    below, above = (np.nan if e is None else e for e in ends)
    return ThroughPoints(knots, values, below, above, strict, kind)


def _points(ctx: Context, x: Value, y: Value, double: bool) -> tuple[Any, Any]:
    """Knots and values in memory. double: in double precision whatever they are, as SciPy has its splines."""
    knots, values = as_array(ctx, x), as_array(ctx, y)
    if knots.ndim != 1 or not values.shape or knots.shape[0].const is None or knots.dtype.kind == "c" or (
            values.shape[0].const != knots.shape[0].const or (knots.shape[0].const or 0) < 2):
        raise ctx.refuse(f"an interpolant with knots that are {describe(knots)} and {describe(values)}", "", "SG103")
    least = np.dtype(np.float64 if double else np.float32)
    kinds = (np.result_type(system_dtype(v.dtype), least) for v in (knots, values))
    stored = [ctx.builder.materialise(as_array(ctx, convert(ctx, v, kind)), "points")
              for v, kind in zip((knots, values), kinds, strict=True)]
    return stored[0], stored[1]


def _cubics(pieces: Callable[..., Any], beyond: bool) -> Callable[..., Value]:
    """A maker of cubics from knots and values. beyond: whether they go on outside where nothing is said."""

    def made(ctx: Context, x: Value, y: Value, axis: Value = 0, method: Value = "akima",
             extrapolate: Value = None) -> Value:
        knots, values = _points(ctx, x, y, True)
        if axis != 0 or method != "akima" or pieces is bodies.akima_pieces and knots.shape[0].const < 3:
            raise ctx.refuse("an interpolant along another axis than the first one, by another method, or through two "
                             "points", _HELP, "SG101")
        coefficients = ctx.invoke(ctx, pieces, [knots, values], {})
        return Piecewise(coefficients, knots, beyond if extrapolate is None else extrapolate)

    return made


def hermite_spline(ctx: Context, x: Value, y: Value, dydx: Value, axis: Value = 0, extrapolate: Value = None) -> Value:
    """`scipy.interpolate.CubicHermiteSpline`."""
    knots, values = _points(ctx, x, y, True)
    if axis != 0:
        raise ctx.refuse("a spline along another axis than the first one", _HELP, "SG101")
    slopes = _points(ctx, knots, dydx, True)[1]
    made = ctx.invoke(ctx, bodies.hermite_pieces, [knots, values, slopes], {})
    return Piecewise(made, knots, True if extrapolate is None else extrapolate)


def grid(ctx: Context, points: Value, values: Value, method: Value = "linear", bounds_error: Value = True,
         fill_value: Value = np.nan) -> Value:
    """`scipy.interpolate.RegularGridInterpolator` of the method "linear"."""
    if method != "linear":
        raise ctx.refuse(f"interpolation on a grid by the method {method!r}", _HELP, "SG101")
    grids = tuple(_rising(ctx, g) for g in items_of(ctx, points))
    stored = ctx.builder.materialise(as_array(ctx, values), "points")
    return OnGrid(grids, stored, fill_value, bool(bounds_error))


def _rising(ctx: Context, places: Value) -> Value:
    found = as_array(ctx, places)
    if found.ndim != 1 or found.shape[0].const is None or found.shape[0].const < 2:
        raise ctx.refuse(f"places of a grid that are {describe(found)}", "", "SG103")
    return ctx.builder.materialise(found, "points")


MAKERS: Mapping[str, Callable[..., Value]] = MappingProxyType({
    "CubicSpline": cubic_spline, "make_interp_spline": interpolating_spline, "interp1d": through_points,
    "PchipInterpolator": _cubics(bodies.monotone_pieces, True), "CubicHermiteSpline": hermite_spline,
    "Akima1DInterpolator": _cubics(bodies.akima_pieces, False), "RegularGridInterpolator": grid})
"""What SciPy makes interpolants with, by name."""


def maker(callee: Value) -> Callable[..., Value] | None:
    """The rule for a class or function of SciPy's that makes an interpolant."""
    module = str(getattr(callee, "__module__", ""))
    return MAKERS.get(getattr(callee, "__name__", "")) if module.startswith("scipy.interpolate") else None
