"""How the body of a map reaches arrays: elements that are known beforehand through memlets, the rest by pointers."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sdfgad.codegen.expressions import topological
from sdfgad.codegen.reference.formulas import is_plain
from sdfgad.ir.expr import Load, certain, index_elems, loads
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Let, Map, Store

Element: TypeAlias = tuple[str, tuple[Ix, ...]]


@dataclass(frozen=True)
class Accesses:
    """exact: elements that are surely loaded, from places that are formulas of loop variables. whole: arrays that are
    written by a pointer to all of them. held: numbers that the body reads and writes in a local of its own."""

    exact: frozenset[Element]
    whole: frozenset[str]
    held: frozenset[str]


def accesses_of(stmt: Map, arrays: Mapping[str, Array]) -> Accesses:
    """How each array of a body is reached."""
    exact = frozenset(_exact(stmt, arrays))
    whole: set[str] = set()
    held: set[str] = set()
    joined = False
    for name in dict.fromkeys(p.array for p in stmt.body if isinstance(p, Store)):
        number = not arrays[name].shape
        special = _joins_specially(stmt, arrays[name])
        # DaCe gives the functions that join values one name: a tasklet may have one.
        if special > 1 - joined or not (_put_once(stmt, name) if number else _apart(stmt, name, exact)):
            (held if number else whole).add(name)
        else:
            joined |= special > 0
    return Accesses(frozenset(e for e in exact if e[0] not in whole), frozenset(whole), frozenset(held))


def is_sum(op: str | None, dtype: np.dtype) -> bool:
    """Whether a store adds to what is there as DaCe does: the only way to accumulate that it knows by name."""
    return op == "+" and dtype.kind in "fc"


def _joins_specially(stmt: Map, array: Array) -> int:
    """How many stores of an array join what is there in another way."""
    ops = [p.op for p in stmt.body if isinstance(p, Store) and p.array == array.name]
    return sum(op is not None and not is_sum(op, array.dtype) for op in ops)


def _exact(stmt: Map, arrays: Mapping[str, Array]) -> Iterator[Element]:
    for part in stmt.body:
        for node in topological([part.expr], certain):
            if isinstance(node, Load) and arrays[node.array].shape and all(map(is_plain, node.index)):
                yield node.array, node.index


def _put_once(stmt: Map, name: str) -> bool:
    """Whether a number is only looked at before it changes, by one plain store or by sums of one kind."""
    stores = [k for k, p in enumerate(stmt.body) if isinstance(p, Store) and p.array == name]
    ops = {p.op for p in stmt.body if isinstance(p, Store) and p.array == name}
    later = Map((), stmt.body[stores[0] + 1:])
    looked_at = {load.array for p in later.body for load in loads(p.expr)} | _looked_up(later)
    return len(ops) == 1 and (len(stores) == 1 or None not in ops) and name not in looked_at


def _looked_up(stmt: Map) -> set[str]:
    """Arrays whose elements are part of an index."""
    found = {e.array for p in stmt.body for e in index_elems(p.expr)}
    return found | {e.array for p in stmt.body if isinstance(p, Store) for i in p.index for e in i.elems}


def _apart(stmt: Map, name: str, exact: frozenset[Element]) -> bool:
    """Whether each load and store of an array is of an element that is known beforehand, and no load finds what the
    body has put there but by a plain store to the same element."""
    earlier: list[Store] = []
    if name in _looked_up(stmt):
        return False
    for part in stmt.body:
        for load in loads(part.expr):
            if load.array == name and ((name, load.index) not in exact or not _is_clear(load.index, earlier)):
                return False
        if isinstance(part, Let) or part.array != name:
            continue
        if not all(map(is_plain, part.index)) or not _joins(part, earlier):
            return False
        earlier.append(part)
    return True


def _is_clear(index: tuple[Ix, ...], earlier: list[Store]) -> bool:
    return all(s.op is None and s.index == index or _differ(s.index, index) for s in earlier)


def _joins(store: Store, earlier: list[Store]) -> bool:
    """Whether stores of one kind may all happen at the end, in any order."""
    if store.op is not None:
        return all(s.op == store.op for s in earlier)
    return all(s.op is None and _differ(s.index, store.index) for s in earlier)


def _differ(first: tuple[Ix, ...], other: tuple[Ix, ...]) -> bool:
    """Whether two elements are never the same."""
    return any((a - b).const not in (None, 0) for a, b in zip(first, other, strict=True))


def reads_first(stmt: Map, name: str) -> bool:
    """Whether a body may look at a number before it puts another one there."""
    for part in stmt.body:
        if name in {n.array for n in loads(part.expr)} | {e.array for e in index_elems(part.expr)}:
            return True
        if isinstance(part, Store) and any(e.array == name for i in part.index for e in i.elems):
            return True
        if isinstance(part, Store) and part.array == name:
            return part.op is not None
    return False

