"""What library operations make depend on what: by rows and columns where they work by rows or columns."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from sdfgad.analysis.patterns.relations import Relation, all_rows, chosen, joined, repeated


@dataclass(frozen=True)
class Operand:
    """An operand or a result of an operation. rows: what its elements depend on, None for nothing."""

    shape: tuple[int, ...]
    rows: Relation | None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


Spread: TypeAlias = Callable[[tuple[Operand, ...], tuple[int, ...]], Relation | None]
"""From operands, and the shape of the result, to what the result depends on."""


def of_all(ins: tuple[Operand, ...], shape: tuple[int, ...]) -> Relation | None:
    """Everything on everything."""
    found = joined([all_rows(a.rows) for a in ins if a.rows is not None])
    return None if found is None else repeated(all_rows(found), int(np.prod(shape, dtype=np.int64)))


def _collected(a: Operand, groups: np.ndarray, count: int) -> Relation | None:
    """A row for each group of elements."""
    if a.rows is None:
        return None
    return chosen(groups.ravel(), np.arange(a.size), (count, a.size)) @ a.rows


def _handed_out(rows: Relation | None, groups: np.ndarray) -> Relation | None:
    """For each element of a result the row of its group."""
    return None if rows is None else rows[groups.ravel()]


def _product(ins: tuple[Operand, ...], shape: tuple[int, ...]) -> Relation | None:
    """`a @ b`: a row of a, and a column of b."""
    a, b, *scale = ins
    if len(a.shape) > 2 or len(b.shape) > 2 or not shape:
        return of_all(ins, shape)
    m, n = a.shape[0] if len(a.shape) == 2 else 1, b.shape[1] if len(b.shape) == 2 else 1
    of_a = np.broadcast_to(np.arange(m)[:, None], (m, a.shape[-1]))
    of_b = np.broadcast_to(np.arange(n), (b.shape[0], n))
    row, column = np.divmod(np.arange(m * n), n) if m * n else (np.arange(0), np.arange(0))
    return joined([_handed_out(_collected(a, of_a, m), row), _handed_out(_collected(b, of_b, n), column),
                   of_all(tuple(scale), shape)])


def _columns(ins: tuple[Operand, ...], shape: tuple[int, ...]) -> Relation | None:
    """Systems with one matrix: a column of the right-hand side, and all of the matrix."""
    *matrix, b = ins
    whole = of_all(tuple(matrix), shape)
    if len(b.shape) != 2 or b.shape != shape:
        return joined([whole, of_all((b,), shape)])
    groups = np.broadcast_to(np.arange(shape[1]), shape)
    return joined([whole, _handed_out(_collected(b, groups, shape[1]), groups)])


def _last_axis(ins: tuple[Operand, ...], shape: tuple[int, ...]) -> Relation | None:
    """A transform of each row."""
    a, = ins
    if a.shape != shape or not shape:
        return of_all(ins, shape)
    lines = int(np.prod(shape[:-1], dtype=np.int64))
    groups = np.broadcast_to(np.arange(lines).reshape(*shape[:-1], 1), shape)
    return _handed_out(_collected(a, groups, lines), groups)


SPREADS: Mapping[str, Spread] = MappingProxyType({
    "matmul": _product, "solve": _columns, "trsolve": _columns, "fft": _last_axis})
"""Any other operation makes everything of everything."""
