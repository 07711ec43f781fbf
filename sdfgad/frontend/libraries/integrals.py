"""`scipy.integrate.quad` and `dblquad`: between numbers, or up to infinity, which has to be known before the call."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sdfgad.frontend.bodies.packages import quadrature as bodies
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.libraries.routines import Translated
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, Opaque, Value, is_number


class ErrorOfBoth(Opaque):
    """In the place of the error that `dblquad` gives, which SciPy takes from all of its integrals."""

    described = "the error that dblquad tells: quad has one"


class _Inner(Translated):
    """The inner integral as a function of the outer variable."""

    def apply(self, ctx: Context, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        return self.function(*arguments)


def _infinite(bound: Value) -> int:
    """1 and -1 for the two infinities, 0 for numbers. What is no number before the call is looked at in the run."""
    return int(math.copysign(1, bound)) if is_number(bound) and math.isinf(bound) else 0


def quad(ctx: Context, func: Value, a: Value, b: Value, args: Value = (), full_output: Value = 0,
         epsabs: Value = 1.49e-8, epsrel: Value = 1.49e-8, limit: Value = 50, points: Value = None,
         weight: Value = None, wvar: Value = None, wopts: Value = None, maxp1: Value = 50, limlst: Value = 50,
         complex_func: Value = False) -> Value:
    """The integral and a bound of its error."""
    if full_output or points is not None or weight is not None or complex_func:
        raise ctx.refuse("quad with points, weights, complex values or more than the integral and its error",
                         "add up the integrals between the points, or put the weight into the function", "SG101")
    options = [args if isinstance(args, tuple) else (args,), epsabs, epsrel, limit]
    low, high = _infinite(a), _infinite(b)
    if low == high:
        return ctx.invoke(ctx, bodies.quad, [func, a, b, *options], {})
    if low and high:
        found = ctx.invoke(ctx, bodies.quad_beyond, [func, 0.0, 0, *options], {})
        return found if low < 0 else ctx.invoke(ctx, bodies.turned, [*found], {})
    start, sign = (b, low) if low else (a, high)
    found = ctx.invoke(ctx, bodies.quad_beyond, [func, start, sign, *options], {})
    forward = sign > 0 if high else sign < 0
    return found if forward else ctx.invoke(ctx, bodies.turned, [*found], {})


def dblquad(ctx: Context, func: Value, a: Value, b: Value, gfun: Value, hfun: Value, args: Value = (),
            epsabs: Value = 1.49e-8, epsrel: Value = 1.49e-8) -> Value:
    """The integral of func(y, x) over y between two places that may depend on x, and over x."""
    others = args if isinstance(args, tuple) else (args,)

    def end(place: Value, x: Value) -> Value:
        known = is_number(place) or isinstance(place, (ArrayValue, IntValue))
        return place if known else ctx.invoke(ctx, place, [x], {})

    def over_y(x: Value) -> Value:
        x = kept(ctx, x, "x")
        found: Value = quad(ctx, func, end(gfun, x), end(hfun, x), (x, *others), 0, epsabs, epsrel)[0]
        return found

    inner = _Inner()
    inner.stand_for(over_y)
    return quad(ctx, inner, a, b, (), 0, epsabs, epsrel)[0], ErrorOfBoth()
