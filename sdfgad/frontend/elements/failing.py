"""Where a run stops: an exception under a condition, and slices that have to lie in their arrays."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sdfgad.frontend.elements.caught import note
from sdfgad.frontend.elements.comparisons import facts_of
from sdfgad.frontend.elements.elementwise import BOOL, INT
from sdfgad.frontend.state.context import Context
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
