"""How often a condition holds, where the counters of the loops around decide it."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from sdfgad.ir.expr import Call, Expr, Index, index_elems, symbols_of
from sdfgad.ir.program import Range
from sdfgad.thresholds import thresholds

_COMPARED: Mapping[str, Callable[[int, int], bool]] = MappingProxyType({
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge})


def chance(cond: Expr, path: Sequence[Range], middle: Mapping[str, int]) -> float | None:
    """The share of the iterations of the innermost loop it looks at in which a condition holds, with the other
    counters in their `middle`; None where it looks at anything else."""
    counted = [r for r in path if r.var in symbols_of(cond)]
    if not counted or not symbols_of(cond) <= middle.keys() or index_elems(cond) or not _decided(cond):
        return None
    r = counted[-1]
    if not middle.keys() >= r.start.symbols | r.stop.symbols or (*r.start.elems, *r.stop.elems):
        return None
    trips = range(r.start.evaluate(middle), r.stop.evaluate(middle), r.step)
    # An odd step meets even and odd iterations alike.
    looks = trips[::len(trips) // thresholds().looks | 1]
    return sum(_holds(cond, {**middle, r.var: k}) for k in looks) / len(looks) if looks else None


def _decided(e: Expr) -> bool:
    """Whether an expression only compares numbers made from counters."""
    if not isinstance(e, Call):
        return False
    return all(isinstance(a, Index) for a in e.args) if e.fn in _COMPARED else \
        e.fn in ("and", "or", "not") and all(_decided(a) for a in e.args)


def _holds(e: Expr, env: Mapping[str, int]) -> bool:
    if not isinstance(e, Call):
        raise TypeError(f"{e!r} is no condition")
    if e.fn in _COMPARED:
        left, right = (a.ix.evaluate(env) for a in e.args if isinstance(a, Index))
        return _COMPARED[e.fn](left, right)
    found = [_holds(a, env) for a in e.args]
    return not found[0] if e.fn == "not" else all(found) if e.fn == "and" else any(found)
