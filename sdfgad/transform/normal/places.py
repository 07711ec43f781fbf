"""Index arrays that hold a straight or a cyclic row of places: the places themselves."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.ir.expr import Expr, Index, Load, rewrite
from sdfgad.ir.index import Atom, Elem, Ix, Mod, ix
from sdfgad.ir.program import Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import map_stmt_indices, reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.normal.grids import Grid, grids
from sdfgad.transform.normal.tables import value_of


def write_out_places(program: Program) -> Program:
    """map k = 0:n: p[k] = (k + 1) % n ; map i: y[i] = x[p[i]]   ->   map i: y[i] = x[(i + 1) % n]

    For temporaries outside `seen` that one map fills, from numbers and its variable, and for constant tables, whose
    places lie evenly apart or go once around; and for those of several dimensions, `i, j = np.mgrid[0:n, 0:m]`, the
    parts of which maps outside loops fill with places. Neighbours under such places can be told apart from the
    others, and their derivatives collect where they would scatter.
    """
    seen = {*program.live_out, *_elsewhere(program)}
    found = dict(_rows(program, seen)) | grids(program, seen)
    if not found:
        return program
    body = rebuild(program.body, lambda s: _written_out(s, found))
    return program.but(body=body)


@dataclass(frozen=True)
class _Progression:
    """`first + step * k` for element k; around: the remainder by it, if that is not 0. low, high: the ends of all."""

    first: int
    step: int
    around: int
    low: int
    high: int

    def at(self, places: Sequence[Ix]) -> Ix:
        place = places[0] * self.step + self.first
        return place % self.around if self.around else place

    def between(self, _: Sequence[Ix]) -> tuple[int, int]:
        """The least and the largest of all."""
        return self.low, self.high


def _elsewhere(program: Program) -> set[str]:
    """Arrays that more than maps look at."""
    return {n for s in statements(program.body) if not isinstance(s, Map) for n in reads(s) | writes(s)}


def _rows(program: Program, seen: set[str]) -> Iterator[tuple[str, _Progression]]:
    count = Counter(n for s in statements(program.body) for n in writes(s))
    for name, array in program.arrays.items():
        plain = len(array.shape) == 1 and array.dtype.kind == "i" and 0 < array.shape[0] <= thresholds().places
        if plain and name in program.constants and name not in {*program.live, *seen} and not count[name]:
            row = _row(program.constants[name])
            if row is not None:
                yield name, row
    for stmt in statements(program.body):
        table = _table(program, stmt) if isinstance(stmt, Map) else None
        if table is not None and count[table[0]] == 1 and table[0] not in seen and (row := _row(table[1])) is not None:
            yield table[0], row


def _table(program: Program, stmt: Map) -> tuple[str, np.ndarray] | None:
    """The array that a map fills as a whole, and what with."""
    store = stmt.body[0] if len(stmt.body) == len(stmt.domain) == 1 else None
    if not isinstance(store, Store) or store.op is not None or len(store.index) != 1:
        return None
    r, array = stmt.domain[0], program.arrays[store.array]
    whole = r.start.const == 0 and r.step == 1 and not r.early and r.stop.const == array.shape[0]
    if not whole or store.index[0] != ix(r.var) or array.dtype.kind != "i" or array.role != "transient" \
            or not 0 < array.shape[0] <= thresholds().places:
        return None
    value = value_of(store.expr, {r.var: np.arange(array.shape[0])}, lambda _: None)
    return None if value is None else (store.array, np.broadcast_to(value, array.shape).astype(array.dtype))


def _row(table: np.ndarray) -> _Progression | None:
    n, first = len(table), int(table[0])
    step = int(table[1]) - first if n > 1 else 0
    number, ends = np.arange(n), (int(table.min()), int(table.max()))
    if step and np.array_equal(table, first + step * number):
        return _Progression(first, step, 0, *ends)
    if 0 <= first < n and np.array_equal(table, (first + number) % n):
        return _Progression(first if 2 * first <= n else first - n, 1, n, *ends)
    return None


def _written_out(stmt: Stmt, found: Mapping[str, _Progression | Grid]) -> Block:
    """A statement with places in place of the arrays; nothing for one that fills such an array of one dimension."""
    if not isinstance(stmt, Map) or found.keys().isdisjoint(reads(stmt) | writes(stmt)):
        return (stmt,)
    if not found.keys().isdisjoint(writes(stmt)):
        return (stmt,) if any(isinstance(found.get(n), Grid) for n in writes(stmt)) else ()

    def idle(atom: Atom) -> Ix | None:
        """What is left of a remainder that changes nothing."""
        part = atom.parts[0] if isinstance(atom, Mod) else None
        elem = _only(part) if part is not None else None
        divisor = atom.parts[1].const if isinstance(atom, Mod) else None
        if elem is None or elem.array not in found or divisor is None:
            return None
        low, high = found[elem.array].between(elem.parts)
        return part if 0 <= low <= high < divisor else None

    def place(atom: Atom) -> Ix | None:
        return found[atom.array].at(atom.parts) if isinstance(atom, Elem) and atom.array in found else None

    def value(e: Expr) -> Expr | None:
        number = found[e.array].at(e.index) if isinstance(e, Load) and e.array in found else None
        return None if number is None else Index(number, e.dtype)

    made = map_stmt_indices(stmt, lambda i: i.rebuild(idle).rebuild(place) if i.elems else i)
    assert isinstance(made, Map)
    return (replace(made, body=tuple(replace(p, expr=rewrite(p.expr, value)) for p in made.body)),)


def _only(place: Ix) -> Elem | None:
    """The element of an array that a place is, and nothing else."""
    atoms = place.terms[0][0] if len(place.terms) == 1 and place.terms[0][1] == 1 else ()
    return atoms[0] if len(atoms) == 1 and isinstance(atoms[0], Elem) else None
