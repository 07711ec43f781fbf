"""What all contributions of a cotangent have in common is computed once, in its place."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sdfgad.ir.algebra import zero
from sdfgad.ir.expr import Call, Expr, Load, certain, rewrite, walk
from sdfgad.ir.program import Map, Store
from sdfgad.reverse.gather import GatheredTerm

_CHEAP = frozenset({"add", "sub", "mul", "neg", "select", "cast", "conj", "real", "imag", "complex", "abs", "sign",
                    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"})
"""Functions that cost no more than a load."""


def factor_out(stmt: Map, store: Store, terms: Sequence[GatheredTerm]) -> tuple[Map, list[GatheredTerm]] | None:
    """y[i] += c * (g[i] / p[i]) ; z[i - 1] += g[i] / p[i]
    ->   g[i] = g[i] / p[i] ; y[i] += c * g[i] ; z[i - 1] += g[i]

    For a cotangent that nobody looks at afterwards: it has no other use, and collecting the terms from neighbours would
    do the work once per neighbour. None where nothing costly is shared.
    """
    g = Load(store.array, store.index, store.expr.dtype)
    shared = _shared(stmt, g, [t.expr for t in terms]) if len(terms) > 1 else None
    if shared is None:
        return None
    own = replace(stmt, body=(replace(store, expr=shared, op=None),))
    return own, [replace(t, expr=_put(t.expr, shared, g)) for t in terms]


def _shared(stmt: Map, g: Load, terms: Sequence[Expr]) -> Expr | None:
    """The largest costly expression through which alone every term looks at `g`, and that one of them always needs."""
    everywhere = frozenset.intersection(*(frozenset(walk(t)) for t in terms))
    safe = everywhere.intersection(n for t in terms for n in walk(t, certain))
    for e in reversed([n for n in walk(terms[0]) if isinstance(n, Call) and n in safe]):
        if e.dtype == g.dtype and _costly(stmt, e) and not any(_looks_at(_put(t, e, zero(g.dtype)), g) for t in terms):
            return e
    return None


def _costly(stmt: Map, e: Expr) -> bool:
    """Whether it computes something beyond sums and products anew at each point; conditions do not count."""
    names = {r.var for r in stmt.domain}
    return any(isinstance(n, Call) and n.fn not in _CHEAP and changes(n, names) for n in _computed(e))


def changes(e: Expr, names: set[str]) -> bool:
    """Whether it loads elements that these variables choose."""
    return any(isinstance(n, Load) and any(i.symbols & names for i in n.index) for n in walk(e))


def _computed(e: Expr) -> Iterable[Expr]:
    """The parts of an expression that are no part of a condition only."""

    def branches(n: Expr) -> Expr | None:
        return Call("add", n.args[1:], n.dtype) if isinstance(n, Call) and n.fn == "select" else None

    return walk(rewrite(e, branches))


def _looks_at(e: Expr, g: Load) -> bool:
    return any(n == g for n in walk(e))


def _put(e: Expr, old: Expr, new: Expr) -> Expr:
    return rewrite(e, lambda n: new if n == old else None)
