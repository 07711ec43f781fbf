"""Values that only a sum reads: added up where they are computed, not stored first."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, index_elems, loads, map_indices, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, places_of, reads, within
from sdfgad.transform.spelling import only_store


def sum_directly(program: Program) -> Program:
    """map i: x[i] = f(i) ; map j: v += x[j]   ->   map j: v += f(j)

    map i: x[i] = 0 ; map i, k: x[i] += f(i, k) ; map j: v += x[j]   ->   map i, k: v += f(i, k)

    Where nobody reads x afterwards, whatever it held before; f may read the element it replaces. An argument that is
    written nowhere else need not be copied any more.
    """
    body: list[Stmt] = list(program.body)
    kept, places = program.live_out, places_of(body)
    for k in range(len(body) - 1, -1, -1):
        for name in sorted(reads(body[k]) - kept) if _is_sum(body[k]) else ():
            for move in (_move, _move_sum):
                if move(body, k, name, places.get(name, ())):
                    places = places_of(body)
    body = [s for s in body if s is not _GONE]
    return program.but(body=tuple(body)) if len(body) != len(program.body) else program


_GONE: Stmt = Map((), ())


def _is_sum(stmt: Stmt) -> bool:
    store = only_store(stmt) if isinstance(stmt, Map) and stmt is not _GONE else None
    return store is not None and store.op == "+"


def _move(body: list[Stmt], k: int, name: str, places: Sequence[int]) -> bool:
    """Replace the elements of an array in the sum at position k by what they were set to, if nobody else reads them.

    places: of the statements that touch the array.
    """
    total = body[k]
    before = places[:bisect_left(places, k)]
    if not before or not isinstance(total, Map) or _is_read_after(body, k, name, places):
        return False
    made = body[before[-1]]
    source = only_store(made) if isinstance(made, Map) else None
    sum_ = only_store(total)
    if not isinstance(made, Map) or source is None or source.op is not None or source.array != name or sum_ is None:
        return False
    fused = _fused(total, sum_, made, source)
    if fused is None or not _steady(made, source, body[before[-1] + 1:k + 1]):
        return False
    body[k], body[before[-1]] = fused, _GONE
    return True


def _is_read_after(body: Sequence[Stmt], k: int, name: str, places: Sequence[int]) -> bool:
    return any(name in within(body[p])[0] for p in places if p > k)


def _move_sum(body: list[Stmt], k: int, name: str, places: Sequence[int]) -> bool:
    """Replace elements in the sum at position k by the terms of the sums they are, if nobody else reads them.

    places: as for `_move`.
    """
    before = places[:bisect_left(places, k)]
    if len(before) < 2 or _is_read_after(body, k, name, places):
        return False
    clear, made, total = body[before[-2]], body[before[-1]], body[k]
    if not isinstance(clear, Map) or not isinstance(made, Map) or not isinstance(total, Map):
        return False
    zero, source, sum_ = only_store(clear), only_store(made), only_store(total)
    if zero is None or source is None or sum_ is None or zero.array != name or source.array != name:
        return False
    fused = _sum_of_sums((total, sum_), (clear, zero), (made, source))
    if fused is None or not _steady(made, source, body[before[-1] + 1:k + 1]):
        return False
    body[k], body[before[-1]], body[before[-2]] = fused, _GONE, _GONE
    return True


def _sum_of_sums(total: tuple[Map, Store], clear: tuple[Map, Store], made: tuple[Map, Store]) -> Map | None:
    """v += x[j], of all elements that are cleared and added to; None when it is another selection of them."""
    sum_, zero, source = total[1], clear[1], made[1]
    load = sum_.expr.args[0] if isinstance(sum_.expr, Call) and sum_.expr.fn == "cast" else sum_.expr
    if (sum_.op, zero.op, source.op) != ("+", None, "+") or sum_.index or not algebra.is_number(zero.expr, 0) \
            or not isinstance(load, Load) or load.array != source.array or not _each_once(load.index, total[0]) \
            or source.array in reads(_set(*made)) or not _holds(sum_.expr.dtype, load.dtype):
        return None
    elements = replace(made[0], domain=tuple(r for r in made[0].domain if ix(r.var) in source.index))
    boxes = [_same_box(load.index, total[0], zero.index, clear[0]),
             _same_box(load.index, total[0], source.index, elements)]
    if None in boxes:
        return None
    return replace(made[0], body=(replace(sum_, expr=algebra.cast(source.expr, sum_.expr.dtype)),))


def _each_once(index: Sequence[Ix], stmt: Map) -> bool:
    """Whether the variables of a map are the index, in any order."""
    own = {ix(r.var) for r in stmt.domain}
    return set(index) <= own and len(set(index)) == len(index) == len(own)


def _steady(made: Map, source: Store, between: Sequence[Stmt]) -> bool:
    """Whether what a map reads besides its target is the same after other statements."""
    return reads(_set(made, source)).isdisjoint(all_writes(tuple(between)))


def _set(stmt: Map, store: Store) -> Map:
    """A map that does not add to what was there."""
    return replace(stmt, body=(replace(store, op=None),))


def _holds(wide: np.dtype, narrow: np.dtype) -> bool:
    """Whether adding in `wide` is at least as good as in `narrow`."""
    return narrow.kind in "fc" and np.can_cast(narrow, wide)


def _fused(total: Map, sum_: Store, made: Map, source: Store) -> Map | None:
    """The sum of the elements as they are computed; None when it is another selection of them, or more than a sum."""
    found = [e for e in loads(sum_.expr) if e.array == source.array]
    inside = {e.array for i in sum_.index for e in i.elems} | {e.array for e in index_elems(sum_.expr)}
    if sum_.op != "+" or len(found) != 1 or source.array in inside or any(i.symbols for i in sum_.index):
        return None
    (load,) = found
    if not _each_once(load.index, total):
        return None
    names = _same_box(load.index, total, source.index, made)
    if names is None:
        return None
    value = algebra.cast(map_indices(source.expr, lambda i: i.subs(names)), load.dtype)
    return replace(total, body=(replace(sum_, expr=_with(sum_.expr, load, value)),))


def _same_box(at: Sequence[Ix], total: Map, place: Sequence[Ix], made: Map) -> dict[str, Ix] | None:
    """The variables of the one map in those of the other, when both go over the same elements once."""
    first, second = _by_index(made.domain), _by_index(total.domain)
    if len(place) != len(made.domain) or set(place) != set(first):
        return None
    for here, there in zip(place, at, strict=True):
        a, b = first[here], second[there]
        if (a.start.const, a.stop.const, a.step) != (b.start.const, b.stop.const, b.step) or a.start.const is None \
                or a.stop.const is None:
            return None
    return {first[here].var: there for here, there in zip(place, at, strict=True)}


def _by_index(domain: Sequence[Range]) -> dict[Ix, Range]:
    return {ix(r.var): r for r in domain}


def _with(e: Expr, load: Load, value: Expr) -> Expr:
    return rewrite(e, lambda node: value if node == load else None)
