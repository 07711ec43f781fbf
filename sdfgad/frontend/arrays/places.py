"""Indices that may leave their arrays: noted where they are known before a run, looked at by it where data decide."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from sdfgad.errors import SourceLine
from sdfgad.frontend.state.accesses import MOST_LOOPS, IndexedAccess
from sdfgad.frontend.state.builder import Builder
from sdfgad.frontend.state.context import Context
from sdfgad.ir.index import Ix, mod, place
from sdfgad.ir.program import Lookup, Range


def note_access(builder: Builder, i: Ix, extent: Ix, source: SourceLine | None, domain: Sequence[Range] = ()) -> bool:
    """Remember an index that every run uses and that is not proven to stay inside `extent` elements.

    False for what only some runs may use.
    """
    low, high = builder.scope.bounds(i, domain)
    size = extent.const
    ranges = (*builder.scope.ranges, *domain)
    if size is None or len(builder.regions) != len(builder.scope.ranges) or len(ranges) > MOST_LOOPS:
        return False
    if low is None or low < -size or high is None or high >= size:
        builder.accesses.append(IndexedAccess(i, size, ranges, source))
    return True


def places(ctx: Context, i: Ix, extent: Ix) -> Callable[[Ix], Ix]:
    """How Python reads an index like `i`: negative ones count from the end. The run looks at what data decide, but
    where a branch decides whether it is used, and in lines of ours: NumPy does not raise where those leave an array."""
    builder = ctx.builder
    given = frozenset(builder.arguments) - builder.mutated
    decided = any(e.array not in builder.constants and e.array not in given for e in i.elems)
    sure = not builder.unsure and not ctx.is_ours and len(builder.regions) == builder.loops
    if extent.const is None or not decided or not sure:
        return partial(in_memory, builder, extent=extent)
    low, high = builder.scope.bounds(i)
    if low is None or low < -extent.const or high is None or high >= extent.const:
        builder.lookups.append(Lookup(extent.const, ctx.here))
    return lambda at: _looked_at(builder, at, extent)


def in_memory(builder: Builder, i: Ix, extent: Ix) -> Ix:
    """An index as Python reads it. Unsigned ones that the program computes, which nobody has looked at, are modulo the
    length as all others are."""
    found = builder.scope.wrapped(i, extent)
    made = {e.array for e in i.elems} - {*builder.constants, *builder.arguments}
    if found is not i or not made & builder.scope.unsigned:
        return found
    high = builder.scope.bounds(extent - 1 - i)[0]
    return found if high is not None and high >= 0 else mod(i, extent)


def _looked_at(builder: Builder, i: Ix, extent: Ix) -> Ix:
    low, high = builder.scope.bounds(i)
    inside = low is not None and high is not None and extent.const is not None and -extent.const <= low \
        and high < extent.const
    return builder.scope.wrapped(i, extent) if inside else place(i, extent)


@contextmanager
def perhaps(builder: Builder, unsure: bool = True) -> Iterator[None]:
    """Around what may not be looked at."""
    builder.unsure += unsure
    try:
        yield
    finally:
        builder.unsure -= unsure
