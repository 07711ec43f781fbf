"""Sums made in a wider type than the array that keeps them, with an element for each iteration of the loop around."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sdfgad.ir.expr import Call, Load, rewrite
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Let, Map, Store
from sdfgad.ir.walk import places_of
from sdfgad.names import fresh
from sdfgad.transform.normal.expand import iteration_slots
from sdfgad.transform.normal.temporaries import Body, LoopScope, Role, role_of
from sdfgad.transform.spelling import only_store


def version_wide_sums(body: Body, scope: LoopScope) -> tuple[Body, dict[str, Array]] | None:
    """for i: { t[j] = 0 ; t[j] += f(i, j) ; y[i, j] = float32(t[j]) }
    ->   for i: { s[i, j] = 0 ; s[i, j] += f(i, j) ; y[i, j] = float32(s[i, j]) }

    The iterations no longer wait for each other because of `t`, which cannot be added up in `y` itself: there every
    addition would be rounded. For a temporary that only the body reads, in one such copy, and that has no more elements
    in all iterations than `y`. What is stored into it elsewhere stays. Also returns the new arrays; None where there is
    no such sum.
    """
    slots = iteration_slots(scope.path[-1:])
    if slots is None:
        return None
    extent, position = slots[0]
    places = places_of(body)
    wide = [n for n in scope.private if n in places and _rounded_into(body, role_of(body, n, places[n]), scope, extent)]
    if not wide:
        return None
    names = {n: fresh(f"{n}_each", scope.arrays) for n in wide}
    versions = {names[n]: replace(scope.arrays[n], name=names[n], shape=(extent, *scope.arrays[n].shape)) for n in wide}
    return [_versioned(stmt, names, position) for stmt in body], versions


def _versioned(stmt: Map, names: Mapping[str, str], position: Ix) -> Map:
    """The statement with the elements that belong to an iteration in the place of those of some arrays."""

    def load(e: object) -> Load | None:
        return Load(names[e.array], (position, *e.index), e.dtype) if isinstance(e, Load) and e.array in names else None

    def part(p: Let | Store) -> Let | Store:
        p = replace(p, expr=rewrite(p.expr, load))
        if isinstance(p, Let) or p.array not in names:
            return p
        return replace(p, array=names[p.array], index=(position, *p.index))

    return replace(stmt, body=tuple(part(p) for p in stmt.body))


def _rounded_into(body: Body, role: Role | None, scope: LoopScope, extent: int) -> bool:
    """Whether a temporary is a sum that one copy puts into an array of another type, which is no smaller than all its
    versions."""
    if role is None or len(role.readers) > 1 or len(role.makers) < 2:
        return False
    store = only_store(body[role.readers[0]])
    if store is None or not isinstance(store.expr, Call) or store.expr.fn != "cast":
        return False
    copied = store.expr.args[0]
    into = scope.arrays[store.array]
    return store.op is None and isinstance(copied, Load) and copied.array == role.name \
        and scope.arrays[role.name].size * extent <= into.size
