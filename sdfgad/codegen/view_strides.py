"""How the elements of a view lie in memory: fixed steps from neighbour to neighbour, where there are such."""
from __future__ import annotations

from sdfgad.codegen.cpp import Frame, flat
from sdfgad.ir.index import Atom, FloorDiv, Ix, Mod, ix, of_atom
from sdfgad.ir.program import View, axis


def view_strides(frame: Frame, view: View) -> tuple[tuple[int | None, ...], Ix]:
    """Elements between neighbours along each axis (None: not a fixed number), and the offset of the first element."""
    place = _merged(flat(frame.arrays[view.array], view.index))
    steps = tuple(place.coefficient(axis(k)) for k in range(len(view.shape)))
    return steps, place.subs({axis(k): ix(0) for k in range(len(view.shape))})


def _merged(place: Ix) -> Ix:
    """`c * n * floor(e, n) + c * mod(e, n)`   ->   `c * e`: dimensions that lie behind one another are one."""
    factor = {m[0]: c for m, c in place.terms if len(m) == 1}
    for atom, c in factor.items():
        if isinstance(atom, Mod) and (n := atom.parts[1].const):
            whole = next((w for w in _quotients(atom) if factor.get(w) == c * n), None)
            if whole is not None:
                return _merged(place - of_atom(atom) * c - of_atom(whole) * (c * n) + atom.parts[0] * c)
    return place


def _quotients(remainder: Mod) -> tuple[Atom, ...]:
    """The ways to write the division that belongs to a remainder."""
    e, n = remainder.parts
    inner = [a for a in e.atoms if isinstance(a, FloorDiv) and e == of_atom(a)]
    return (FloorDiv((e, n)), *(FloorDiv((a.parts[0], a.parts[1] * n)) for a in inner))
