"""Quotients of powers of two by the same number: one division."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import frexp, isfinite

from sdfgad.ir.expr import Call, Const, Expr, call, const, rewrite, walk
from sdfgad.ir.program import Map, Program, Stmt
from sdfgad.ir.walk import rebuild


def share_quotients(program: Program) -> Program:
    """map i: y[i] = f(1 / x[i]) + g(0.5 / x[i])   ->   map i: y[i] = f(2 * (0.5 / x[i])) + g(0.5 / x[i])

    The division with the smallest number is left, and the others are its multiples: none of them is infinite where it
    was not. To multiply by a power of two is exact; a quotient below the smallest normal number may lose a last digit.
    """
    return program.but(body=rebuild(program.body, lambda s: (_shared(s),)))


def _shared(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, Map):
        return stmt
    found: dict[Expr, set[float]] = {}
    for part in stmt.body:
        for top, below in _quotients(part.expr):
            found.setdefault(below, set()).add(top)
    least = {below: min(tops, key=abs) for below, tops in found.items() if len(tops) > 1}
    if not least:
        return stmt

    def multiple(e: Expr) -> Expr | None:
        quotient = _quotient(e)
        if quotient is None or (base := least.get(quotient[1])) in (None, quotient[0]):
            return None
        top, below = quotient
        return call("mul", const(top / base, e.dtype), call("div", const(base, e.dtype), below))

    return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, multiple)) for p in stmt.body))


def _quotients(e: Expr) -> Iterator[tuple[float, Expr]]:
    yield from (found for n in walk(e) if (found := _quotient(n)) is not None)


def _quotient(e: Expr) -> tuple[float, Expr] | None:
    """A power of two and what it is divided by."""
    if not isinstance(e, Call) or e.fn != "div" or e.dtype.kind != "f" or not isinstance(e.args[0], Const):
        return None
    top = e.args[0].value
    plain = isinstance(top, (int, float)) and isfinite(top) and abs(frexp(top)[0]) == 0.5
    return (float(top), e.args[1]) if plain and isinstance(top, (int, float)) else None
