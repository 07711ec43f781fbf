"""Integers and flags that are known before a program runs: made of loop variables, and of arrays that are given."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdfgad.analysis.patterns.points import Instances, Numbers
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local, walk
from sdfgad.ir.primal import PRIMALS
from sdfgad.ir.program import Array, Store


@dataclass
class Integers:
    """contents: integer arrays of which all elements are known; they are never changed. Others are forgotten."""

    arrays: Mapping[str, Array]
    contents: dict[str, np.ndarray]

    def copy(self) -> Integers:
        return Integers(self.arrays, dict(self.contents))

    def is_integer(self, array: str) -> bool:
        """Whether it holds integers or flags."""
        return self.arrays[array].dtype.kind in "iub"

    def read(self, array: str, index: tuple[Numbers, ...]) -> Numbers | None:
        """Elements of an array. Where there is none, what is read is looked at by nobody."""
        known = self.contents.get(array)
        if known is None or not known.size:
            return None
        found = known[tuple(np.clip(i, 0, n - 1) for i, n in zip(index, known.shape, strict=True))]
        return found.astype(np.int64) if known.dtype.kind != "b" else found

    def value(self, e: Expr, points: Instances, named: Mapping[str, np.ndarray | None]) -> np.ndarray | None:
        """An integer or a flag at all points."""
        if e.dtype.kind not in "iub":
            return None
        found: dict[Expr, Numbers] = {}
        for node in walk(e):
            value = self._node(node, points, named, found)
            if value is None:
                return None
            found[node] = value
        return np.broadcast_to(np.asarray(found[e]).astype(e.dtype), points.count)

    def _node(self, node: Expr, points: Instances, named: Mapping[str, np.ndarray | None],
              found: Mapping[Expr, Numbers]) -> Numbers | None:
        if isinstance(node, Const):
            return np.asarray(node.value, node.dtype)
        if isinstance(node, Index):
            return points.value(node.ix)
        if isinstance(node, Local):
            return named.get(node.name)
        if isinstance(node, Load):
            at = tuple(v for v in map(points.value, node.index) if v is not None)
            return self.read(node.array, at) if len(at) == len(node.index) else None
        return _called(node, [found[a] for a in node.args])

    def store(self, part: Store, points: Instances, value: np.ndarray | None, certain: bool) -> None:
        """Elements of an integer array are given other values; all at once where it was unknown."""
        if not self.is_integer(part.array):
            return
        a = self.arrays[part.array]
        elements = points.elements(part.index, a.shape)
        old = self.contents.get(part.array)
        unsure = value is None or part.op or not certain or a.role == "tape"
        if unsure or elements is None or old is None and len(np.unique(elements[0])) < a.size:
            self.forget(part.array)
            return
        made = np.zeros(a.size, a.dtype) if old is None else old.ravel().copy()
        made[elements[0]] = value
        self.contents[part.array] = made.reshape(a.shape)

    def forget(self, array: str) -> None:
        self.contents.pop(array, None)

    def join(self, other: Integers) -> None:
        """What is known whichever of the two holds."""
        self.contents = {n: v for n, v in self.contents.items() if n in other.contents
                         and (v is other.contents[n] or np.array_equal(v, other.contents[n]))}

    def is_as(self, other: Integers) -> bool:
        """Whether as much is known as by one that was joined to it."""
        return self.contents.keys() == other.contents.keys()


def _called(node: Expr, args: list[Numbers]) -> Numbers | None:
    """A function of known numbers, none of which the derivative takes along."""
    if not isinstance(node, Call):
        return None
    with np.errstate(all="ignore"):
        if node.fn == "select":
            return np.where(*args)
        result = args[0] if node.fn == "cast" else PRIMALS[node.fn](*args)
        return np.asarray(result).astype(node.dtype)
