"""Hand-written programs read like the loops they stand for: `at("x", i - 1) * 2.0`, `put("y", (i,), ...)`."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sdfgad.ir.algebra import Term, number
from sdfgad.ir.expr import Index, Load
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Range, Stmt, Store, View, While, view_of

F8, C16, I8, BOOL = np.dtype("f8"), np.dtype("c16"), np.dtype("i8"), np.dtype(bool)
Like = Ix | int | str


def at(array: str, *index: Like, dtype: np.dtype = F8) -> Term:
    """One element, ready for arithmetic."""
    return Term(Load(array, tuple(ix(i) for i in index), dtype))


def lit(value: complex, dtype: np.dtype = F8) -> Term:
    """A number, ready for arithmetic."""
    return Term(number(value, dtype))


def position(index: Like, dtype: np.dtype = F8) -> Term:
    """The value of an index expression."""
    return Term(Index(ix(index), dtype))


def put(array: str, index: Sequence[Like], value: Term | float, op: str | None = None) -> Store:
    """`array[index] = value`, or `op=`."""
    expr = value.expr if isinstance(value, Term) else number(value, F8)
    return Store(array, tuple(ix(i) for i in index), expr, op)


def one(array: str, index: Sequence[Like], value: Term | float, op: str | None = None) -> Map:
    """A single assignment."""
    return Map((), (put(array, index, value, op),))


def span(var: str, start: Like, stop: Like, step: int = 1) -> Range:
    """`for var in range(start, stop, step)`."""
    return Range(var, ix(start), ix(stop), step)


def each(ranges: Range | Sequence[Range], *stores: Store) -> Map:
    """A parallel map."""
    return Map((ranges,) if isinstance(ranges, Range) else tuple(ranges), stores)


def loop(range_: Range, *body: Stmt, until: str | None = None, trips: str | None = None) -> Loop:
    """A sequential loop."""
    return Loop(range_, body, until=until, trips=trips)


def repeat(flag: str, trips: str, *body: Stmt) -> While:
    """A while loop."""
    return While(flag, body, trips)


def when(condition: Term, then: Block, orelse: Block = ()) -> If:
    """A branch."""
    return If(condition.expr, then, orelse)


def number_at(array: str, *index: Like) -> Ix:
    """An element of an integer array as an index."""
    return elem(array, tuple(ix(i) for i in index))


def total(array: str, shape: Sequence[int], dtype: np.dtype = F8) -> tuple[Map, Map]:
    """`s = sum(weight * array + array ** 2)`: every element matters, each in its own way."""
    ranges = tuple(span(f"z{k}", 0, n) for k, n in enumerate(shape))
    here = tuple(ix(r.var) for r in ranges)
    weight = position(sum((h * (k + 2) for k, h in enumerate(here)), ix(1)), dtype)
    value = at(array, *here, dtype=dtype)
    return one("s", (), lit(0, dtype)), Map(ranges, (put("s", (), weight * value + value * value, "+"),))


def program(arguments: Mapping[str, Any], body: Sequence[Any], returns: str = "s", **transients: Any) -> Program:
    """Arguments are arrays or shapes (of floats); transients shapes or (shape, dtype). Nested tuples are spliced."""
    arrays = {n: _array(n, a, "argument") for n, a in arguments.items()}
    arrays |= {n: _array(n, a, "transient") for n, a in {"s": (), **transients}.items() if n not in arrays}
    result: View = view_of(arrays[returns])
    return Program("hand", arrays, tuple(arguments), flat(body), result)


def flat(body: Any) -> Block:
    """Splice nested sequences of statements."""
    if isinstance(body, (list, tuple)):
        return tuple(s for part in body for s in flat(part))
    return (body,)


def _array(name: str, what: Any, role: str) -> Array:
    if isinstance(what, np.ndarray):
        return Array(name, what.shape, what.dtype, role)
    if len(what) == 2 and isinstance(what[0], tuple):
        return Array(name, what[0], np.dtype(what[1]), role)
    return Array(name, tuple(what), F8, role)
