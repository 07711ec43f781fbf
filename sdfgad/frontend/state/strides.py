"""Steps through memory: how far each dimension of a result moves in the arrays it is made of."""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.frontend.state.values import ArrayValue, Lazy, Opaque, Shape, ViewValue
from sdfgad.ir.expr import Expr, loads
from sdfgad.ir.index import FloorDiv, Ix, Mod, floordiv, ix, mod
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Array, View


@dataclass(frozen=True, eq=False)
class Stride(Opaque):
    """What `x.strides` holds: so many elements along each dimension of x, wherever those lie."""

    view: View
    moves: tuple[int, ...]

    def combined(self, ufunc: np.ufunc, other: object) -> Stride | None:
        """A step after another one, or several of them; None for what is no step."""
        if ufunc is np.multiply and isinstance(other, int):
            return replace(self, moves=tuple(other * m for m in self.moves))
        if ufunc is np.add and isinstance(other, Stride) and other.view == self.view:
            return replace(self, moves=tuple(a + b for a, b in zip(self.moves, other.moves, strict=True)))
        return None


_MANY = 2**20
"""Stands for a size that is no number, where only the order of steps is asked for."""


def steps_of(sizes: Sequence[int], index: Sequence[Ix], position: Sequence[Ix]) -> list[int] | None:
    """Elements of an array of these sizes passed with each symbol of a position; None where that is no constant."""
    weights = [1] * len(sizes)
    for k in range(len(weights) - 2, -1, -1):
        weights[k] = weights[k + 1] * max(sizes[k + 1], 1)
    flat = ix(0)
    for i, weight in zip(index, weights, strict=True):
        flat = flat + i * weight
    flat, steps = _joined(flat), []
    for place in position:
        (symbol, *_) = (*place.symbols, None)
        step = flat.coefficient(symbol) if symbol is not None else 0
        if step is None:
            return None
        steps.append(step)
    return steps


def _joined(flat: Ix) -> Ix:
    """n * (e // n) + e % n   ->   e: what a change of shape takes apart, in the array that it started from."""
    factors = dict(flat.terms)
    for atoms, factor in flat.terms:
        atom = atoms[0] if len(atoms) == 1 else None
        if not isinstance(atom, Mod) or (n := atom.parts[1].const) is None:
            continue
        e = atom.parts[0]
        for quotient in _quotients(e, n):
            if factors.get(quotient.terms[0][0]) == factor * n * quotient.terms[0][1]:
                return _joined(flat - quotient * (factor * n) - mod(e, n) * factor + e * factor)
    return flat


def _quotients(e: Ix, n: int) -> list[Ix]:
    """e // n as it may stand in an index: (g // m) // n is g // (m * n)."""
    found = [floordiv(e, n)]
    atom = e.terms[0][0][0] if len(e.terms) == 1 and len(e.terms[0][0]) == 1 and e.terms[0][1] == 1 else None
    if isinstance(atom, FloorDiv) and atom.parts[1].const:
        found.append(floordiv(atom.parts[0], atom.parts[1] * n))
    return [q for q in found if len(q.terms) == 1]


def regroups(sizes: Sequence[int], steps: Sequence[int], target: Sequence[int]) -> bool:
    """Whether elements with these steps can be shown in the shape `target`, of as many, in C order and where they are:
    dimensions that are taken together have to follow one another."""
    if 0 in sizes:
        return True
    old = [(n, s) for n, s in zip(sizes, steps, strict=True) if n != 1]
    new = [n for n in target if n != 1]
    while old:
        (size, step), other = old.pop(0), new.pop(0)
        while size != other:
            if size > other:
                other *= new.pop(0)
                continue
            further, inner = old.pop(0)
            if step != inner * further:
                return False
            size, step = size * further, inner
    return True


def turned(arrays: Mapping[str, Array], any_order: Set[str], value: ArrayValue, e: Expr,
           position: Sequence[Ix]) -> bool:
    """Whether what is stored of a value, with the element `e`, may lie in another order than C. NumPy keeps the orders
    of the operands of an elementwise result, where they agree; loads tell them, and what has become of its parts."""
    if (known := getattr(value, "any_order", None)) is not None:
        return bool(known)
    places = [p for p, n in zip(position, value.shape, strict=True) if n.const != 1]
    if len(places) < 2:
        return False
    read = any(n.array in any_order or not _falling(steps_of(arrays[n.array].shape, n.index, places)) for n in loads(e))
    return read or made_of_turned(arrays, any_order, value)


def made_of_turned(arrays: Mapping[str, Array], any_order: Set[str], value: ArrayValue) -> bool:
    """Whether a value is, or has a part that is, an array of several dimensions in another order than C, or in any."""
    todo, seen = [value], set()
    while todo:
        one = todo.pop()
        one = one.stored if isinstance(one, Lazy) and one.stored is not None else one
        places = [axis(k) for k, n in enumerate(one.shape) if n.const != 1]
        if id(one) in seen or len(places) < 2:
            continue
        seen.add(id(one))
        if isinstance(one, ViewValue):
            steps = steps_of(arrays[one.view.array].shape, one.view.index, [ix(p) for p in places])
            if one.view.array in any_order or not _falling(steps):
                return True
        elif isinstance(one, Lazy):
            if one.any_order:
                return True
            todo += one.parts if one.any_order is None else ()
    return False


def keeps_order(old: Shape, index: Sequence[Ix], shape: Shape) -> bool:
    """Whether an array in C order of the shape `old`, seen in another shape by an index, is in C order still."""
    places = [ix(axis(k)) for k, n in enumerate(shape) if n.const != 1]
    return len(places) < 2 or _falling(steps_of([n.const or _MANY for n in old], index, places))


def _falling(steps: list[int] | None) -> bool:
    """Whether no step is longer than the ones before it. Dimensions in which nothing moves have no say."""
    moving = [abs(s) for s in steps or () if s]
    return steps is not None and moving == sorted(moving, reverse=True)
