"""Steps through memory: how far each dimension of a result moves in the arrays it is made of."""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from sdfgad.ir.expr import Expr, loads
from sdfgad.ir.index import FloorDiv, Ix, Mod, floordiv, ix, mod
from sdfgad.ir.program import Array


def steps_of(array: Array, index: Sequence[Ix], position: Sequence[Ix]) -> list[int] | None:
    """Elements of the array passed with each symbol of a position; None where that is no constant."""
    weights = [1] * len(array.shape)
    for k in range(len(weights) - 2, -1, -1):
        weights[k] = weights[k + 1] * max(array.shape[k + 1], 1)
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


def turned(arrays: Mapping[str, Array], any_order: Set[str], e: Expr, shape: Sequence[Ix],
           position: Sequence[Ix]) -> bool:
    """Whether an elementwise result has an operand that is not, or may not be, in C order: NumPy keeps such orders."""
    places = [p for p, n in zip(position, shape, strict=True) if n.const != 1]
    for load in loads(e) if len(places) > 1 else ():
        steps = steps_of(arrays[load.array], load.index, places)
        if load.array in any_order or steps is None:
            return True
        moving = [abs(s) for s in steps if s]
        if moving != sorted(moving, reverse=True):
            return True
    return False
