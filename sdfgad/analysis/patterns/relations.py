"""Relations between elements and inputs: sparse boolean matrices, a row for each element, a column for each input."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

Relation: TypeAlias = Any
"""A `csr_array` of booleans; SciPy has no types."""


def empty(rows: int, columns: int) -> Relation:
    """Nothing depends on anything."""
    return csr_array((rows, columns), dtype=bool)


def part_of_identity(rows: int, first: int, columns: int) -> Relation:
    """Element k depends on input `first` + k."""
    return csr_array((np.ones(rows, bool), np.arange(first, first + rows), np.arange(rows + 1)), (rows, columns))


def chosen(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Relation:
    """The pairs of row and column."""
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape)


def joined(parts: Sequence[Relation | None]) -> Relation | None:
    """What is in one of them; None is nothing."""
    total = None
    for part in parts:
        if part is not None and part.nnz:
            total = part if total is None else total + part
    return total


def all_rows(relation: Relation) -> Relation:
    """One row with the inputs that any element depends on."""
    found = np.unique(relation.indices)
    return csr_array((np.ones(len(found), bool), found, np.array([0, len(found)])), (1, relation.shape[1]))


def repeated(row: Relation, times: int) -> Relation:
    """The same row many times."""
    return csr_array((np.ones(row.nnz * times, bool), np.tile(row.indices, times), np.arange(times + 1) * row.nnz),
                     (times, row.shape[1]))


def without_rows(relation: Relation, rows: np.ndarray) -> Relation:
    """The relation in which these elements depend on nothing."""
    kept = np.ones(relation.shape[0], bool)
    kept[rows] = False
    lengths = np.diff(relation.indptr)
    ends = np.concatenate(([0], np.cumsum(np.where(kept, lengths, 0))))
    return csr_array((np.ones(ends[-1], bool), relation.indices[np.repeat(kept, lengths)], ends), relation.shape)


def placed(relation: Relation, rows: np.ndarray, count: int) -> Relation:
    """The rows of a relation as those numbered `rows` of one with `count` rows; what has the same number is joined."""
    return chosen(rows, np.arange(len(rows)), (count, len(rows))) @ relation
