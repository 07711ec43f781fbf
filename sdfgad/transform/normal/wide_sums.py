"""Sums made in a wider type than the array that keeps them, with an element for each iteration of the loop around."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.ir.expr import Call, Load
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Map
from sdfgad.ir.walk import map_accesses, places_of
from sdfgad.transform.normal.expand import iteration_slots
from sdfgad.transform.normal.temporaries import Body, LoopScope, Role, role_of
from sdfgad.transform.spelling import only_store


def version_wide_sums(body: Body, scope: LoopScope) -> tuple[Body, dict[str, Array]] | None:
    """for i: { t[j] = 0 ; t[j] += f(i, j) ; y[i, j] = float32(t[j]) }
    ->   for i: { t[i, j] = 0 ; t[i, j] += f(i, j) ; y[i, j] = float32(t[i, j]) }

    The iterations no longer wait for each other because of `t`, which cannot be added up in `y` itself: there every
    addition would be rounded. For a temporary of the body alone that is read by one such copy, and has no more elements
    in all iterations than `y`. Also returns the temporaries as they are now; None where there is no such sum.
    """
    slots = iteration_slots(scope.path[-1:])
    if slots is None:
        return None
    extent, position = slots[0]
    places = places_of(body)
    wide = [n for n in scope.private if n in places and _rounded_into(body, role_of(body, n, places[n]), scope, extent)]
    if not wide:
        return None
    versions = {n: replace(scope.arrays[n], shape=(extent, *scope.arrays[n].shape)) for n in wide}

    def place(name: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        return (position, *index) if name in versions else index

    return [m for s in body if isinstance(m := map_accesses(s, place), Map)], versions


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
