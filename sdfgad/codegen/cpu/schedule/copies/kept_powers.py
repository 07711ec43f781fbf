"""A power that differs by one from a power that was kept is a quotient of what was kept."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, Local, loads, rewrite, symbols_of, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Let, Map, Program, Stmt, Store
from sdfgad.ir.walk import rebuild, statements, writes

Index = tuple[Ix, ...]


@dataclass(frozen=True)
class _KeptPower:
    """`power[i]` holds `base[i] ** exponent` wherever `guard`, an expression in terms of `_BASE`, is true of `base[i]`;
    everywhere if it is None."""

    base: str
    power: str
    exponent: float
    guard: Expr | None

    def holds(self, load: Load, known: frozenset[Expr]) -> bool:
        return self.guard is None or rewrite(self.guard, lambda e: load if _is_base(e) else None) in known


def divide_kept_powers(program: Program) -> Program:
    """map i: { x[i] = f(i) ; y[i] = x[i] ** -1.5 } ; map i: z[i] = g(i) * y[i] * x[i] ** -2.5
    ->   map i: { x[i] = f(i) ; y[i] = x[i] ** -1.5 } ; map i: z[i] = g(i) * y[i] * (y[i] / abs(x[i]))

    For negative exponents that are no whole numbers, where a map looks at both elements anyway: a division instead of a
    root and a division. One map writes both arrays, nobody else writes either, and a choice that surrounds the power
    tells the case in which `y` holds it. Zeros, infinities and negative numbers give the same.
    """
    if not any(_has_power(p.expr) for s in statements(program.body) if isinstance(s, Map) for p in s.body):
        return program
    kept = _kept_powers(program)
    return program.but(body=rebuild(program.body, lambda s: (_divided(s, kept),))) if kept else program


@lru_cache(maxsize=1 << 12)
def _has_power(e: Expr) -> bool:
    return any(_exponent(n) is not None for n in walk(e))


def _exponent(e: Expr) -> float | None:
    """The exponent of a power with a root in its denominator."""
    if not isinstance(e, Call) or e.fn != "pow" or e.dtype.kind != "f" or not isinstance(e.args[1], Const):
        return None
    p = e.args[1].value
    return float(p) if isinstance(p, float) and p < 0 and p != int(p) else None


def _kept_powers(program: Program) -> Mapping[str, list[_KeptPower]]:
    """What is known of arrays, by the array that holds the base."""
    writers = Counter(n for s in statements(program.body) for n in writes(s))
    single = {n for n, a in program.arrays.items() if writers[n] == 1 and a.role == "transient" and a.shape}
    found: dict[str, list[_KeptPower]] = {}
    for stmt in statements(program.body):
        if isinstance(stmt, Map) and any(_has_power(p.expr) for p in stmt.body):
            for kept in _kept_by(stmt, single):
                found.setdefault(kept.base, []).append(kept)
    return found


def _kept_by(stmt: Map, single: set[str]) -> Iterator[_KeptPower]:
    counts = Counter(p.array for p in stmt.body if isinstance(p, Store))
    stores = [(s, e) for s, e in _inlined(stmt) if s.op is None and s.array in single and counts[s.array] == 1]
    for base, value in stores:
        named = {value: _base(value)}
        for power, e in stores:
            kept = _relation(base.array, power.array, rewrite(e, named.get)) if power.index == base.index else None
            if kept is not None:
                yield kept


def _inlined(stmt: Map) -> list[tuple[Store, Expr]]:
    """The stores of a map with what they store, in terms of what was there before."""
    bound: dict[str, Expr] = {}
    stored: dict[Load, Expr] = {}
    found: list[tuple[Store, Expr]] = []

    def known(e: Expr) -> Expr | None:
        return bound.get(e.name) if isinstance(e, Local) else stored.get(e) if isinstance(e, Load) else None

    for part in stmt.body:
        e = rewrite(part.expr, known)
        if isinstance(part, Let):
            bound[part.name] = e
        else:
            found.append((part, e))
            stored[Load(part.array, part.index, e.dtype)] = e
    return found


def _base(e: Expr) -> Local:
    return Local("base", e.dtype)


def _is_base(e: Expr) -> bool:
    return isinstance(e, Local) and e.name == "base"


def _relation(base: str, power: str, e: Expr) -> _KeptPower | None:
    """What an expression of the base says about the array that holds it."""
    guard, value = (e.args[0], e.args[1]) if isinstance(e, Call) and e.fn == "select" else (None, e)
    p = _exponent(value)
    if p is None or not isinstance(value, Call) or not _is_base(value.args[0]):
        return None
    return _KeptPower(base, power, p, guard) if guard is None or not (loads(guard) or symbols_of(guard)) else None


def _divided(stmt: Stmt, kept: Mapping[str, list[_KeptPower]]) -> Stmt:
    if not isinstance(stmt, Map) or not any(_has_power(p.expr) for p in stmt.body):
        return stmt
    there = {(n.array, n.index): n for p in stmt.body for n in loads(p.expr) if n.array not in writes(stmt)}
    work = _Division(kept, there, {})
    return replace(stmt, body=tuple(replace(p, expr=work.of(p.expr, frozenset())) for p in stmt.body))


@dataclass(frozen=True)
class _Division:
    """Rewrites the expressions of a map. there: the elements it looks at."""

    kept: Mapping[str, list[_KeptPower]]
    there: Mapping[tuple[str, Index], Load]
    memo: dict[tuple[Expr, frozenset[Expr]], Expr]

    def of(self, e: Expr, known: frozenset[Expr]) -> Expr:
        """known: conditions that are true wherever the expression counts."""
        if not isinstance(e, Call) or not _has_power(e):
            return e
        if (e, known) not in self.memo:
            self.memo[e, known] = self._quotient(e, known) or self._parts(e, known)
        return self.memo[e, known]

    def _parts(self, e: Call, known: frozenset[Expr]) -> Expr:
        if e.fn == "select":
            test, yes, no = e.args
            return Call("select", (self.of(test, known), self.of(yes, known | {test}), self.of(no, known)), e.dtype)
        return Call(e.fn, tuple(self.of(a, known) for a in e.args), e.dtype)

    def _quotient(self, e: Call, known: frozenset[Expr]) -> Expr | None:
        exponent, base = _exponent(e), e.args[0]
        if exponent is None or not isinstance(base, Load):
            return None
        for k in self.kept.get(base.array, ()) if (base.array, base.index) in self.there else ():
            power = self.there.get((k.power, base.index))
            if power is not None and k.exponent == exponent + 1 and k.holds(base, known):
                return algebra.div(power, Call("abs", (base,), base.dtype))
        return None
