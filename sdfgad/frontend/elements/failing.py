"""Where a run stops: an exception under a condition, and slices and places that have to lie in their arrays."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sdfgad.config import looks_closely
from sdfgad.frontend.elements.caught import note
from sdfgad.frontend.elements.comparisons import facts_of
from sdfgad.frontend.elements.elementwise import BOOL, INT, as_array
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue
from sdfgad.ir.expr import Expr, Index, call, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import FAILED, Failure, If, Lib, View


def raise_if(ctx: Context, condition: Expr, run: Callable[[], None]) -> None:
    """`run`, which raises, under a condition: behind it everything is as it was, as nobody comes out of it."""
    builder, frame, source = ctx.builder, ctx.frame, ctx.builder.source
    names, shared = dict(frame.names), builder.shared
    with builder.region() as block:
        builder.scope.facts.extend(facts_of(condition, True))
        run()
    frame.names, builder.shared, builder.source = names, shared, source
    builder.emit(If(condition, tuple(block), (), source))


def fail(ctx: Context, failure: Failure) -> None:
    """Raised at once where every call with these arguments comes by, else by the compiled program."""
    builder = ctx.builder
    failure = replace(failure, source=builder.source)
    if note(ctx, failure):
        return
    if not builder.regions and not builder.quiet and not builder.failures:
        raise failure.error()
    view = View(FAILED, (ix(1),), (ix("_0"),), np.dtype(np.int64))
    builder.emit(Lib("fail", (view,), (), {"which": len(builder.failures), "accumulate": True}, builder.source))
    builder.failures.append(failure)


def stop_beside(ctx: Context, i: Ix, extent: Ix) -> None:
    """The run stops where an index that a branch guards leaves its array: nothing looks at it before the call.

    Places that the data say are looked at under `debug_nans` alone: elsewhere they count modulo the length.
    """
    size, scope = extent.const, ctx.builder.scope
    if size is None or ctx.is_ours or i.elems and not looks_closely():
        return
    low, high = scope.bounds(i)
    if low is not None and low >= -size and high is not None and high < size:
        return
    if {*i.symbols} <= {r.var for r in scope.ranges}:
        raise_if(ctx, _outside(Index(i, INT), -size, size), lambda: fail(ctx, _leaving(size)))


def stop_beside_any(ctx: Context, places: ArrayValue, extent: Ix) -> None:
    """The same for an array of places that the program computes, under `debug_nans`."""
    size = extent.const
    if size is None or ctx.is_ours or not looks_closely():
        return
    beside = ctx.builder.lazy(places.shape, BOOL, lambda p: _outside(
        call("cast", places.at(p), dtype=INT), -size, size), places.reads, parts=(places,))
    found = as_array(ctx, ctx.invoke(ctx, np.any, [beside], {}))
    raise_if(ctx, found.at(()), lambda: fail(ctx, _leaving(size)))


def _outside(place: Expr, low: int, high: int) -> Expr:
    below, above = call("lt", place, const(low, INT), dtype=BOOL), call("ge", place, const(high, INT), dtype=BOOL)
    return call("select", below, const(True, BOOL), above, dtype=BOOL)


def _leaving(size: int) -> Failure:
    return Failure(IndexError, (f"an index that is out of bounds for {size} elements",))


def whole_slice(ctx: Context, start: Ix, stop: Ix, extent: Ix) -> Ix | None:
    """The size of a slice whose ends data move together, where its array is not to cut it off: the run stops where it
    does. None for any other slice, where that is not assumed, or where a handler would take it for NumPy's error."""
    builder, size = ctx.builder, (stop - start).const
    if any(w.handler(ValueError) for w in ctx.watches) or builder.assumed.cut_off or size is None or size <= 0:
        return None
    if not start.elems or not {*start.symbols} <= {r.var for r in builder.scope.ranges}:
        return None
    left, right = (call(fn, Index(i, INT), Index(end, INT), dtype=BOOL)
                   for fn, i, end in (("lt", start, ix(0)), ("gt", stop, extent)))
    beside = call("select", left, const(True, BOOL), right, dtype=BOOL)
    text = f"a slice of {size} elements that leaves its array of {extent}, or counts from its end"
    raise_if(ctx, beside, lambda: fail(ctx, Failure(ValueError, (text,))))
    return ix(size)
