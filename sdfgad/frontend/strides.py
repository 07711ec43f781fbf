"""Steps through memory: how far each dimension of a result moves in the arrays it is made of."""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from sdfgad.ir.expr import Expr, loads
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array


def steps_of(array: Array, index: Sequence[Ix], position: Sequence[Ix]) -> list[int] | None:
    """Elements of the array passed with each symbol of a position; None where that is no constant."""
    weights = [1] * len(array.shape)
    for k in range(len(weights) - 2, -1, -1):
        weights[k] = weights[k + 1] * max(array.shape[k + 1], 1)
    steps = []
    for place in position:
        (symbol, *_) = (*place.symbols, None)
        factors = [i.coefficient(symbol) if symbol is not None else 0 for i in index]
        if None in factors:
            return None
        steps.append(sum((f or 0) * w for f, w in zip(factors, weights, strict=True)))
    return steps


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
