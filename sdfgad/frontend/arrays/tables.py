"""Constant sequences of numbers that a loop walks over, as tables that it reads.

Written out, every item is a constant: a shift is a fixed neighbour, a weight is folded, a choice is made beforehand.
That is best where it is short. A long sequence, or a large body, makes a program whose compilation takes minutes; there
the loop stays one, unless its body is refused without the constants.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.elements.elementwise import FLOAT, as_array, convert
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import IntValue, Rows, Value, ViewValue
from sdfgad.ir.index import Ix, ix

MOST_ITEMS = 64
"""Items of a sequence that is written out whatever the body."""
MOST_STEPS = 512
"""Statements and calls that a loop over a constant sequence is written out to."""

Column: TypeAlias = "np.ndarray | tuple[Column, ...]"


def rows_from_table(ctx: Context, stmt: ast.For, items: Sequence[Value]) -> Rows | None:
    """The items read from tables; None where they are few, or more than numbers."""
    steps = sum(isinstance(n, (ast.stmt, ast.Call)) for s in stmt.body for n in ast.walk(s))
    if len(items) < 2 or len(items) <= MOST_ITEMS and len(items) * steps <= MOST_STEPS:
        return None
    column = column_of(items)
    if column is None:
        return None
    stored = stored_column(ctx, column)
    return Rows(ix(len(items)), lambda k: item_of_column(ctx, stored, k))


def column_of(items: Sequence[Value]) -> Column | None:
    """Numbers of one type, or tuples of one length with such numbers at every place."""
    kinds = {type(v) for v in items}
    if kinds == {int} and all(-2**63 <= v < 2**63 for v in items) or kinds == {float}:
        return np.array(items, np.int64 if kinds == {int} else np.float64)
    if kinds != {tuple} or len({len(v) for v in items}) != 1:
        return None
    parts = [column_of(part) for part in zip(*items, strict=True)]
    return None if any(p is None for p in parts) else tuple(p for p in parts if p is not None)


def stored_column(ctx: Context, column: Column) -> Value:
    if isinstance(column, tuple):
        return tuple(stored_column(ctx, part) for part in column)
    stored = ctx.builder.constant(column, "table")
    ctx.builder.frozen.add(stored.view.array)
    return stored


def item_of_column(ctx: Context, stored: Value, k: Ix) -> Value:
    """Item k, of Python's own numbers."""
    if not isinstance(stored, ViewValue):
        return tuple(item_of_column(ctx, part, k) for part in stored)
    found = as_array(ctx, subscript(ctx, stored, IntValue(k)))
    if found.dtype == FLOAT:
        return convert(ctx, found, FLOAT, weak=True)
    number = to_int(ctx, found)
    return IntValue(number.ix) if isinstance(number, IntValue) else int(number)
