"""Choices between numbers that recorded bits decide are made in bytes: a vector holds eight times as many."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, loads, rewrite, walk
from sdfgad.ir.program import Map, Program, Stmt
from sdfgad.ir.walk import rebuild
from sdfgad.thresholds import thresholds

_BYTE = np.dtype(np.uint8)
_MOST_HALVINGS = 7


def narrow_choices(program: Program) -> Program:
    """y[i] = select(a[i] & 1 != 0, 1.0, select(a[i] & 2 != 0, 0.5, 0.0)) * x[i]
    ->   y[i] = cast(select(a[i] & 1 != 0, 2, select(a[i] & 2 != 0, 1, 0))) * 0.5 * x[i]

    For choices within choices between literals that are small multiples of the same power of two, zero or positive,
    where the conditions look at nothing wider than a byte. Every result is the same number.
    """
    return program.but(body=rebuild(program.body, lambda s: (_narrowed(s),)))


def _narrowed(stmt: Stmt) -> Stmt:
    fewest = thresholds().narrowed_choices
    if not isinstance(stmt, Map) or not any(_chooses(p.expr, fewest) for p in stmt.body):
        return stmt
    return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, lambda n: _narrow(n, fewest))) for p in stmt.body))


@lru_cache(maxsize=1 << 12)
def _chooses(e: Expr, fewest: int) -> bool:
    return any(_narrow(n, fewest) is not None for n in walk(e))


def _narrow(node: Expr, fewest: int) -> Expr | None:
    """The number as the multiple of a power of two that bytes choose; at least so many choices within each other."""
    if not isinstance(node, Call) or node.fn != "select" or node.dtype.kind != "f":
        return None
    nodes = list(_tree(node))
    leaves = [n.value for n in nodes if isinstance(n, Const)]
    choices = [n for n in nodes if isinstance(n, Call) and n.fn == "select"]
    halvings = _halvings(leaves) if len(leaves) + len(choices) == len(nodes) else None
    if halvings is None or len(choices) < fewest or not all(_is_narrow(c.args[0]) for c in choices):
        return None
    chosen = algebra.cast(_in_bytes(node, 2**halvings), node.dtype)
    return algebra.mul(chosen, algebra.number(0.5**halvings, node.dtype))


def _tree(node: Expr) -> Iterator[Expr]:
    """The choices within a choice, and what they lead to."""
    yield node
    if isinstance(node, Call) and node.fn == "select":
        for branch in node.args[1:]:
            yield from _tree(branch)


def _halvings(leaves: Sequence[object]) -> int | None:
    """How often all numbers are to be doubled until they are bytes."""
    if not all(isinstance(v, float) and np.isfinite(v) and not np.signbit(v) for v in leaves):
        return None
    numbers = np.array(leaves, float)
    fits = (k for k in range(_MOST_HALVINGS + 1) if (numbers * 2**k == np.rint(numbers * 2**k)).all())
    halvings = next(fits, None)
    return halvings if halvings is not None and (numbers * 2**halvings <= np.iinfo(_BYTE).max).all() else None


def _is_narrow(condition: Expr) -> bool:
    """Whether the condition looks at data, all of it a byte wide."""
    return bool(loads(condition)) and all(n.dtype.itemsize == 1 for n in walk(condition))


def _in_bytes(node: Expr, scale: int) -> Expr:
    if isinstance(node, Call):
        return algebra.select(node.args[0], _in_bytes(node.args[1], scale), _in_bytes(node.args[2], scale))
    assert isinstance(node, Const)
    return algebra.number(round(float(node.value.real) * scale), _BYTE)
