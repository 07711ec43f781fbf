"""Several directions at once: an axis more for every array that depends on what a program is given several times.

map i: g[i] += p[i] * seed[i]   ->   map k, i: g[k, i] += p[i] * seed[k, i]
y = matmul(A, x)                ->   y[k, i] = matmul(x[k, :], A')
while f: x = ...                ->   for k: { f' = f[k] ; while f': x[k] = ... ; f[k] = f' }

What does not depend on it is computed once; a loop or a branch that depends on it is gone through for one direction
after the other. Vector mode: A. Griewank, A. Walther, Evaluating Derivatives, 2008, section 3.2.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from sdfgad.errors import UnsupportedError, unsupported
from sdfgad.ir.called import PYTHON
from sdfgad.ir.expr import Expr, Load, Local, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import (
    FAILED,
    Array,
    Block,
    If,
    Let,
    Lib,
    Loop,
    Map,
    Pop,
    Program,
    Push,
    Range,
    Stmt,
    Store,
    View,
    While,
)
from sdfgad.ir.walk import (
    all_reads,
    all_variables,
    all_writes,
    children,
    expr_reads,
    map_accesses,
    own_ranges,
    range_elems,
    statements,
    view_elems,
    with_children,
    within,
)
from sdfgad.names import fresh
from sdfgad.transform.batched_products import at_once
from sdfgad.transform.batched_terms import kept_apart
from sdfgad.transform.routines import on_arrays


def several(program: Program, given: frozenset[str], extent: int) -> Program:
    """The program for `extent` values of the arrays `given`, which lie along a first axis, as do those that depend on
    them. UnsupportedError where a tape is as long as one of them says, or Python is called for each."""
    many = dependent(program.body, given)
    arrays = {n: replace(a, shape=(extent, *a.shape)) if n in many else a for n, a in program.arrays.items()}
    variable = fresh("direction", all_variables(program.body) | program.arrays.keys())
    body = _Spread(many, variable, extent, arrays).block(program.body)
    return program.but(body=body, arrays=arrays)


def with_axis(view: View, extent: int) -> View:
    """The view of an array that has an axis more."""
    later = {axis(k): ix(axis(k + 1)) for k in range(len(view.shape))}
    return View(view.array, (ix(extent), *view.shape), (ix(axis(0)), *(i.subs(later) for i in view.index)), view.dtype)


def side_by_side(block: Block, many: frozenset[str]) -> Block:
    """t[k, i] = f(x[i], d[k, i]) ; y[i] = h(x[i]) ; x[i] = g(x[i]) ; d[k, i] = t[k, i]
    ->   y[i] = h(x[i]) ; t[k, i] = f(x[i], d[k, i]) ; d[k, i] = t[k, i] ; x[i] = g(x[i])

    What writes `many` stands together as far as it does not wait for what is between, which goes before it or, where it
    replaces what is still read, behind it. Then one direction can be done after the other, in a cache that holds the
    temporaries of one, but hardly those of all.
    """
    out: list[Stmt] = []
    together: list[Stmt] = []
    behind: list[Stmt] = []
    for stmt in block:
        read, written = within(stmt)
        if written and written <= many:
            if not read.isdisjoint(all_writes(tuple(behind))):
                out, together, behind = [*out, *together, *behind], [], []
            together.append(stmt)
        elif not written or not (read | written).isdisjoint(many):
            out, together, behind = [*out, *together, *behind, stmt], [], []
        elif _may_precede(stmt, (*together, *behind)):
            out.append(stmt)
        else:
            behind.append(stmt)
    return (*out, *together, *behind)


def _may_precede(stmt: Stmt, others: Block) -> bool:
    read, written = within(stmt)
    return (read | written).isdisjoint(all_writes(others)) and written.isdisjoint(all_reads(others))


def dependent(block: Block, given: frozenset[str]) -> frozenset[str]:
    """The arrays given, and those whose contents depend on theirs."""
    many, edges = set(given), [edge for stmt in statements(block) for edge in (*_flows(stmt), *_control(stmt))]
    while more := {written for read, written in edges if written not in many and not many.isdisjoint(read)}:
        many |= more
    return frozenset(many)


def _control(stmt: Stmt) -> list[tuple[set[str], str]]:
    """What decides whether and how often each array is written inside a statement. That an exception was raised is
    known once for all."""
    asked = _asked(stmt)
    return [(asked, name) for name in (within(stmt)[1] if asked else ()) if name != FAILED]


def _asked(stmt: Stmt) -> set[str]:
    """What a loop or a branch looks at."""
    if isinstance(stmt, While):
        return {stmt.flag}
    if isinstance(stmt, If):
        return expr_reads(stmt.cond)
    return {e.array for e in range_elems(stmt.range)} | ({stmt.until} if stmt.until else set()) \
        if isinstance(stmt, Loop) else set()


def _flows(stmt: Stmt) -> list[tuple[set[str], str]]:
    """What is read for each array that a statement writes."""
    if isinstance(stmt, Lib):
        places = {e.array for v in (*stmt.ins, *stmt.outs) for e in view_elems(v)}
        return [({v.array for v in stmt.ins} | places, out.array) for out in stmt.outs]
    if not isinstance(stmt, Map):
        return []
    ranges = {e.array for r in stmt.domain for e in range_elems(r)}
    return [(found | ranges, part.array) for part, found in _read_by(stmt) if isinstance(part, Store)]


def _read_by(stmt: Map) -> list[tuple[Let | Store, set[str]]]:
    """Each part of a body with what it reads, through the names it uses, too."""
    named: dict[str, set[str]] = {}
    out: list[tuple[Let | Store, set[str]]] = []
    for part in stmt.body:
        found = _reads(part.expr, named)
        if isinstance(part, Let):
            named[part.name] = found
        else:
            found = found | {e.array for i in part.index for e in i.elems}
        out.append((part, found))
    return out


def _reads(e: Expr, named: Mapping[str, set[str]]) -> set[str]:
    return expr_reads(e).union(*(named[n.name] for n in walk(e) if isinstance(n, Local)))


Computation = TypeVar("Computation", Map, Lib)


class _Spread:
    """Statements with one axis more where they write one of `many`."""

    def __init__(self, many: frozenset[str], var: str, extent: int, arrays: dict[str, Array]) -> None:
        self.many, self.var, self.extent, self.arrays = many, var, extent, arrays
        self.range = Range(var, ix(0), ix(extent))
        self.path: tuple[Range, ...] = ()

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if children(stmt) and not _asked(stmt).isdisjoint(self.many):
                out.append(self.one_by_one(stmt))
            else:
                out += (self.region(stmt),) if children(stmt) else self.statement(stmt)
        return side_by_side(tuple(out), self.many)

    def region(self, stmt: Stmt) -> Stmt:
        """A loop or a branch that all directions go through together."""
        around = self.path
        self.path = (*around, *own_ranges(stmt))
        made = with_children(stmt, [self.block(b) for b in children(stmt)])
        self.path = around
        return made

    def one_by_one(self, stmt: Stmt) -> Loop:
        """A loop or a branch for one direction after the other. What ends loops has no index: it is copied."""
        for inner in statements((stmt,)):
            if isinstance(inner, (Push, Pop)) or isinstance(inner, Lib) and inner.op == PYTHON:
                raise self.refusal(stmt, "a branch or a loop that depends on a direction")
        flags = sorted({n for s in statements((stmt,)) for n in _flags(s) if n in self.many})
        held = {n: fresh(f"{n}_here", self.arrays) for n in flags}
        for name, here in held.items():
            self.arrays[here] = replace(self.arrays[name], name=here, shape=())
        body = on_arrays(self.indexed_all(stmt, held), held)
        dtypes = {n: self.arrays[n].dtype for n in flags}
        place = (ix(self.var),)
        before = [Map((), (Store(held[n], (), Load(n, place, dtypes[n])),)) for n in flags]
        after = [Map((), (Store(n, place, Load(held[n], (), dtypes[n])),)) for n in flags]
        return Loop(self.range, (*before, *body, *after), stmt.source)

    def indexed_all(self, stmt: Stmt, held: Mapping[str, str]) -> Block:
        """The statement and all in it, for one direction."""
        def moved(array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
            return (ix(self.var), *index) if array in self.many and array not in held else index

        return (map_accesses(stmt, moved),)

    def statement(self, stmt: Stmt) -> Block:
        if isinstance(stmt, Map):
            return self.spread(stmt)
        if isinstance(stmt, Lib):
            return self.library(stmt)
        if isinstance(stmt, (Push, Pop)):
            return (replace(stmt, shape=(self.range.stop, *stmt.shape)),) if stmt.tape in self.many else (stmt,)
        return (stmt,)

    def spread(self, stmt: Map) -> Block:
        """Stores of the two kinds become statements of their own, in the order in which one looks at the other."""
        kinds = {part.array in self.many for part in stmt.body if isinstance(part, Store)}
        if kinds == {False}:
            return (stmt,)
        mine = replace(stmt, body=self.parts(stmt, True))
        kept, mine = kept_apart(mine, self.many, self.extent, self.path, self.arrays)
        spread = self.indexed(mine)
        whole = (*kept, replace(spread, domain=(self.range, *spread.domain)))
        if kinds == {True}:
            return whole
        once = replace(stmt, body=self.parts(stmt, False))
        return (*whole, once) if self.looks_first(stmt) else (once, *whole)

    def parts(self, stmt: Map, many: bool) -> tuple[Let | Store, ...]:
        """The stores of one kind, and the names that they use."""
        kept: list[Let | Store] = []
        used: set[str] = set()
        for part in reversed(stmt.body):
            if part.name in used if isinstance(part, Let) else (part.array in self.many) is many:
                kept.append(part)
                used |= {n.name for n in walk(part.expr) if isinstance(n, Local)}
        return tuple(reversed(kept))

    def looks_first(self, stmt: Map) -> bool:
        """Whether the stores with the axis read what the others write before it is written; refused where some do and
        some do not."""
        mine, later = self.parts(stmt, True), {p.array for p in self.parts(stmt, False) if isinstance(p, Store)}
        written: set[str] = set()
        before = after = False
        for part in stmt.body:
            if part in mine:
                found = expr_reads(part.expr)
                before, after = before or bool(found & later), after or bool(found & written)
            elif isinstance(part, Store):
                written.add(part.array)
                later.discard(part.array)
        if before and after:
            raise self.refusal(stmt, "a statement that reads what it has just written")
        return not after

    def library(self, stmt: Lib) -> Block:
        outs = {v.array in self.many for v in stmt.outs}
        if outs == {False}:
            return (stmt,)
        if stmt.op == PYTHON:
            raise self.refusal(stmt, "a function that stays Python")
        if False in outs and stmt.attrs.get("accumulate"):
            raise self.refusal(stmt, "a library operation that adds to two arrays")
        whole = at_once(stmt, self.many, self.extent, self.arrays) if stmt.op == "matmul" else None
        return (Loop(self.range, (self.indexed(stmt),), stmt.source),) if whole is None else (whole,)

    def indexed(self, stmt: Computation) -> Computation:
        def moved(array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
            return (ix(self.var), *index) if array in self.many else index

        found = map_accesses(stmt, moved)
        assert isinstance(found, type(stmt))
        return found

    def refusal(self, stmt: Stmt, what: str) -> UnsupportedError:
        return unsupported(stmt.source, f"{what}, for several directions at once", "ask for one direction at a time",
                           "SG190")


def _flags(stmt: Stmt) -> tuple[str, ...]:
    """The scalars by which a loop is ended and counted."""
    if isinstance(stmt, While):
        return (stmt.flag, stmt.trips)
    return tuple(n for n in (stmt.until, stmt.trips) if n) if isinstance(stmt, Loop) else ()
