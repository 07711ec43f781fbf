"""What a point gives to several of its neighbours is computed once, at the point, before the neighbours collect it."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from sdfgad.analysis.cost import HANDED_ON, operations_of
from sdfgad.analysis.elements.access import extents_of, position
from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.ir.expr import Call, Const, Expr, Load, certain, operands, put, walk
from sdfgad.ir.program import Array, Map, Range, Store
from sdfgad.reverse.factors import changes
from sdfgad.reverse.gather import GatheredTerm
from sdfgad.thresholds import thresholds

Fresh = Callable[[str, tuple[int, ...], np.dtype], Array]


def share_all(stmt: Map, terms: Sequence[GatheredTerm]) -> bool:
    """Whether y[i] += a * f(i, j) ; z[j] += b * f(i, j) are one statement: no two terms meet in an array, so that no
    neighbours collect them, and each by itself would compute much again."""
    gathered = _gathered(stmt, terms)
    return len({t.array for t in terms}) == len(terms) and len(gathered) > 1 and \
        _cost_apart(gathered) - operations_of(gathered) >= thresholds().kept_terms


def keep_shared(stmt: Map, terms: Sequence[GatheredTerm], fresh: Fresh,
                path: tuple[Range, ...]) -> tuple[list[Map], list[GatheredTerm]]:
    """y[i - 1] += a[i] * f(i) ; y[i] += b[i] * f(i)   ->   lin[i] = f(i) ; y[i - 1] += a[i] * lin[i] ; ...

    For terms that neighbours collect: each of them would compute `f` again, which as a scatter all terms of a point
    share. The maps that fill the new arrays come first. Nothing changes where that saves little, and nothing is
    evaluated ahead that reads what the terms do not read anyway.
    """
    gathered, least = _gathered(stmt, terms), thresholds().kept_terms
    before = _cost_apart(gathered)
    if len(gathered) < 2 or before - operations_of(gathered) < least:
        return [], list(terms)
    bare = dict.fromkeys(_but_for_numbers(e) for e in gathered)
    for chosen in (_shared(gathered, {r.var for r in stmt.domain}), [e for e in bare if isinstance(e, Call)]):
        extents = extents_of(stmt, path)
        after = operations_of(chosen) + HANDED_ON * len(chosen) + _cost_apart([_cut(e, chosen) for e in gathered])
        if chosen and extents is not None and len(chosen) <= len(gathered) and before - after >= least:
            return _kept(stmt, terms, chosen, extents, fresh)
    return [], list(terms)


def _gathered(stmt: Map, terms: Sequence[GatheredTerm]) -> list[Expr]:
    """What neighbours collect: terms of arrays to which a point adds more than once."""
    count = Counter(t.array for t in terms)
    return [t.expr for t in terms if count[t.array] > 1 or not is_pointwise(stmt.domain, t.index)]


def _cost_apart(exprs: Iterable[Expr]) -> int:
    return sum(operations_of([e]) for e in exprs)


def _shared(exprs: Sequence[Expr], names: set[str]) -> list[Expr]:
    """The largest parts that more than one expression contains, that change from point to point and that may be
    computed wherever the expressions are."""
    count: Counter[Expr] = Counter(n for e in dict.fromkeys(exprs) for n in walk(e) if isinstance(n, Call))
    ahead = {n for e in exprs for n in walk(e, certain) if isinstance(n, Load)}
    found: dict[Expr, None] = {}

    def visit(n: Expr) -> None:
        if count[n] > 1 and n.dtype.kind in "fc" and operations_of([n]) > HANDED_ON and changes(n, names) and \
                ahead.issuperset(m for m in walk(n, certain) if isinstance(m, Load)):
            found[n] = None
        elif n not in passed:
            passed.add(n)
            for part in operands(n):
                visit(part)

    passed: set[Expr] = set()
    for e in exprs:
        visit(e)
    return list(found)


def _but_for_numbers(e: Expr) -> Expr:
    """-(0.5 * f(i))   ->   f(i), of which neighbours make all that differs by a sign and a factor."""
    while isinstance(e, Call) and e.fn in ("neg", "mul"):
        rest = [a for a in e.args if not isinstance(a, Const)]
        if len(rest) != 1 or rest[0].dtype != e.dtype:
            break
        e = rest[0]
    return e


def _cut(e: Expr, chosen: Sequence[Expr]) -> Expr:
    """The expression with a load in place of each chosen part."""
    return put(e, {c: Load(f"kept{k}", (), c.dtype) for k, c in enumerate(chosen)})


def _kept(stmt: Map, terms: Sequence[GatheredTerm], chosen: Sequence[Expr], extents: tuple[int, ...],
          fresh: Fresh) -> tuple[list[Map], list[GatheredTerm]]:
    at = position(stmt)
    places = {c: Load(fresh("lin", extents, c.dtype).name, at, c.dtype) for c in chosen}
    stores = tuple(Store(held.array, at, c) for c, held in places.items())
    return [Map(stmt.domain, stores, stmt.source)], [replace(t, expr=put(t.expr, places)) for t in terms]
