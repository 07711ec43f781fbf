"""What reaches a node of an expression under several conditions, as one cotangent under one condition."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from typing import TypeAlias

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, walk

_Part: TypeAlias = tuple[Expr | None, Expr]
"""A condition, or None for none, and what arrives where it holds; elsewhere it may be anything."""
_BOOL = np.dtype(bool)


def together(node: Expr, parts: Mapping[Expr | None, Expr], sure: Collection[Load]) -> _Part:
    """{b and c: x, b and not c: y}   ->   {b: select(c, x, y)}
    {c: x, d: y}   ->   {None: select(c, x, 0) + select(d, y, 0)}

    What lies below the node is computed once so, and not for each condition. sure: what is loaded whatever the
    conditions say; where something else is below the node, `c or d` remains as the condition.
    """
    guarded = any(isinstance(n, Load) and n not in sure for n in walk(node))
    # What is inside other choices comes last, and finds its counterpart first.
    return reduce(lambda found, part: _joined(part, found, guarded), list(parts.items())[::-1])


def _joined(one: _Part, other: _Part, guarded: bool) -> _Part:
    for (a, x), (b, y) in ((one, other), (other, one)):
        outer, inner = _split(a)
        if b is not None and inner is not None and _split(b) == (outer, _opposite(inner)):
            return outer, algebra.select(inner, x, y)
    return _either(one[0], other[0]) if guarded else None, algebra.add(_where(*one), _where(*other))


def _split(guard: Expr | None) -> tuple[Expr | None, Expr | None]:
    """The conditions that hold anyway, and the last one."""
    if isinstance(guard, Call) and guard.fn == "and":
        return guard.args[0], guard.args[1]
    return None, guard


def _opposite(condition: Expr) -> Expr:
    return Call("not", (condition,), _BOOL)


def _either(a: Expr | None, b: Expr | None) -> Expr | None:
    return None if a is None or b is None else Call("or", (a, b), _BOOL)


def _where(guard: Expr | None, e: Expr) -> Expr:
    return e if guard is None else algebra.select(guard, e, algebra.zero(e.dtype))
