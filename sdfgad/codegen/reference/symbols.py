"""Index expressions as DaCe's symbolic ones."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy
from dace import subsets, symbolic

from sdfgad.codegen.cpp import symbol
from sdfgad.ir.index import Atom, Ix, Max, Min


@lru_cache(maxsize=1 << 13)
def symbolic_index(index: Ix) -> Any:
    """An index as an expression of sympy."""
    total: Any = sympy.Integer(0)
    for atoms, factor in index.terms:
        term: Any = sympy.Integer(factor)
        for atom in atoms:
            term = term * _atom(atom)
        total = total + term
    return total


def _atom(atom: Atom) -> Any:
    if isinstance(atom, str):
        return symbolic.symbol(symbol(atom))
    if not isinstance(atom, (Min, Max)):
        raise TypeError(f"{atom} is no bound")
    return (sympy.Min if isinstance(atom, Min) else sympy.Max)(*map(symbolic_index, atom.parts))


def index_code(index: Ix) -> str:
    """A bound as Python, for loops."""
    return str(symbolic.symstr(symbolic_index(index)))


def element(index: tuple[Ix, ...]) -> subsets.Range:
    """One element of an array; of a number in an array of its own, the first one."""
    places = [symbolic_index(i) for i in index] or [sympy.Integer(0)]
    return subsets.Range([(p, p, 1) for p in places])


def everything(shape: tuple[int, ...]) -> subsets.Range:
    """All of a container."""
    return subsets.Range([(0, n - 1, 1) for n in shape])
