"""Programs written so that less is recorded: the copy of a state that a loop makes anyway, in place of what the loop
then overwrites of the state; a factor that several arrays make, in place of them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sdfgad.analysis.block_local import block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.analysis.formula import inverse
from sdfgad.ir.expr import Call, Expr, Load, certain, loads, rewrite, walk
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.walk import children, reads, rebuild, statements, within
from sdfgad.names import fresh
from sdfgad.reverse.inversion import worth_undoing
from sdfgad.reverse.made import ReverseRequest
from sdfgad.reverse.storage import SLACK, least_bytes
from sdfgad.rules import registry
from sdfgad.transform.copies.read_copies import copied, read_copies

TRIED = 12
"""Statements at most that are written otherwise to see what is kept then, which each time takes as long as to lay out
the storage of the whole program."""
LOOKED_AT = 100
"""Statements of a program of which factors are tried: of longer ones that takes seconds."""


def record_copies(program: Program, request: ReverseRequest) -> Program:
    """for i: { t = s ; y += f(s) ; s = g(t) }   ->   for i: { t = s ; y += f(t) ; s = g(t) }

    When the reverse sweep would be given back elements of s, and with all or some of the copies read it keeps no more
    bytes, give or take the difference between a whole array and the part of it that is overwritten.
    """
    sources = copied(program) & request.sets(program)[0]
    if not sources or read_copies(program, sources) is program:
        return program
    now = _Candidate(program, request)
    lost = sources & now.kept.keys()
    for group in _groups(lost):
        other = _Candidate(read_copies(now.program, group), request)
        if other.bytes <= now.bytes * (1 + SLACK) and not group <= other.kept.keys():
            now = other
            if group == lost:
                break
    return now.program


def _groups(names: frozenset[str]) -> Iterator[frozenset[str]]:
    """All of them, then each on its own."""
    if names:
        yield names
    if len(names) > 1:
        yield from (frozenset({n}) for n in sorted(names))


def record_factors(program: Program, request: ReverseRequest) -> Program:
    """for t: { e[i] += c[i] * (h[i] - h[i - 1] - g[i]) ; h = .. ; g = .. }
    ->   for t: { w[i] = h[i] - h[i - 1] - g[i] ; e[i] += c[i] * w[i] ; h = .. ; g = .. }

    When the reverse sweep needs the values of h and g for this product alone, and would be given them back: then it is
    less to keep w, of which each iteration makes its own, and nothing is put back. What is kept of a product is the
    value of its other factor (Griewank and Walther: Evaluating Derivatives (SIAM 2008), section 4.3). Not where more
    arrays are kept then, as of the components of one array or of what comparisons decide: each is a stream of its own.
    """
    if sum(1 for _ in statements(program.body)) > LOOKED_AT:
        return program
    now = _Candidate(program, request)
    tried = 0
    for stmt in list(statements(program.body)):
        found = _factors(stmt, now) if tried < TRIED and now.put_back else []
        if not found or all(stmt is not s for s in statements(now.program.body)):
            continue
        tried += 1
        other = replace(now, program=_apart(now.program, stmt, found))
        if other.is_less_than(now):
            now = other
    return now.program


@dataclass(frozen=True)
class _Candidate:
    """A way to write the program."""

    program: Program
    request: ReverseRequest

    @cached_property
    def active(self) -> frozenset[str]:
        return self.request.sets(self.program)[0]

    @cached_property
    def kept(self) -> Mapping[str, float]:
        """Bytes kept for the reverse sweep, by array."""
        active, seen = self.request.sets(self.program)
        return least_bytes(self.program, active, seen, worth_undoing(self.program, active, seen))

    @cached_property
    def own(self) -> frozenset[str]:
        """Arrays that each iteration makes afresh: they may have a place for each."""
        return frozenset(block_locals(self.program, sites(self.program.body), self.request.sets(self.program)[1]))

    @property
    def bytes(self) -> float:
        return sum(self.kept.values())

    def is_less_than(self, other: _Candidate) -> bool:
        """Whether less is put back, and no more kept, give or take what SLACK is for."""
        return self.put_back < other.put_back and len(self.kept) <= len(other.kept) and \
            self.bytes <= other.bytes * (1 + SLACK)

    @property
    def put_back(self) -> float:
        """Of these, what is copied to a tape and back."""
        return sum(size for name, size in self.kept.items() if name not in self.own)

    @cached_property
    def recorded(self) -> frozenset[str]:
        """What is put back, and what is made of it in one iteration."""
        found = self.kept.keys() - self.own
        for stmt in self.inside:
            if not found.isdisjoint(reads(stmt)):
                found |= within(stmt)[1] & self.own
        return frozenset(found)

    @cached_property
    def inside(self) -> tuple[Stmt, ...]:
        """The statements of loops."""
        loops = (s for s in statements(self.program.body) if isinstance(s, (Loop, While)))
        return tuple(s for loop in loops for s in statements(loop.body) if not children(s))


def _factors(stmt: Stmt, of: _Candidate) -> list[Expr]:
    """The factors of active products that a map computes from several elements of what is recorded."""
    store = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    if not isinstance(stmt, Map) or not isinstance(store, Store) or all(stmt is not s for s in of.inside) or \
            inverse(stmt, store) is None or not all(_fixed(stmt)):
        return []
    found = [e for e in _multiplied(store.expr, of.active) if _is_made(e) and
             not of.recorded.isdisjoint(n.array for n in loads(e))]
    return [e for e in dict.fromkeys(found) if not any(e is not o and e in set(walk(o)) for o in found)]


def _fixed(stmt: Map) -> Iterator[bool]:
    """Whether the ranges of a map are known, one by one."""
    return (r.step == 1 and r.start.const is not None and r.trips is not None for r in stmt.domain)


def _multiplied(e: Expr, active: frozenset[str]) -> Iterator[Expr]:
    """What is multiplied with something active wherever the expression is computed."""
    for n in walk(e, _derived):
        if isinstance(n, Call) and n.fn == "mul":
            for factor, other in (n.args, n.args[::-1]):
                if not active.isdisjoint(x.array for x in loads(other)):
                    yield factor


def _derived(n: Expr) -> tuple[Expr, ...]:
    """The operands that are always evaluated, and have a part in the derivative."""
    return () if isinstance(n, Call) and n.fn in registry.without_gradient() else certain(n)


def _is_made(e: Expr) -> bool:
    """Whether a factor is a number made of several elements."""
    return isinstance(e, Call) and e.dtype.kind in "fc" and e.fn != "mul" and len(set(loads(e))) > 1


def _apart(program: Program, stmt: Stmt, factors: Iterable[Expr]) -> Program:
    """The program in which a map has some factors computed ahead of it."""
    if not isinstance(stmt, Map):
        raise TypeError("a map computes factors")
    arrays = dict(program.arrays)
    loaded: dict[Expr, Load] = {}
    makers: list[Stmt] = []
    for e in factors:
        name = fresh("factor", arrays)
        arrays[name] = Array(name, tuple(r.trips or 0 for r in stmt.domain), np.dtype(e.dtype), source=stmt.source)
        loaded[e] = Load(name, tuple(ix(r.var) - r.start for r in stmt.domain), e.dtype)
        makers.append(replace(stmt, body=(Store(name, loaded[e].index, e),)))
    rest = replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, loaded.get)) for p in stmt.body))
    return program.but(body=rebuild(program.body, lambda s: (*makers, rest) if s is stmt else (s,)), arrays=arrays)
