"""Factors are looked at once, whether they solve anything: the reverse sweep solves with those of the forward sweep.

    for z: F[z] = lu(A) ; x = solve(F[z], b)   ...   for z from the last one: y = solve(F[z], c)
    ->   the same, where the second solve looks for no pivot of zero
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.library_forms import Forms
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Index, call, const
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Block, Lib, Loop, Map, Program, Range, Stmt, Store, View
from sdfgad.ir.walk import children, statements, with_children, writes

_INT32, _INT64, _BOOL = (np.dtype(t) for t in (np.int32, np.int64, np.bool_))
KNOWN = "known"
"""The attribute of a solve whose factors another one has looked at."""


@dataclass(frozen=True)
class _Solve:
    """A solve, the loops around it, whether they all run to their ends, and what comes before it in its block."""

    stmt: Lib
    path: tuple[Range, ...]
    sure: bool
    before: Block

    def place(self) -> tuple[Ix, ...] | None:
        """Where the factors lie, with a name for the numbers that each loop goes through; None where no such name is
        known."""
        names: dict[str, str] = {}
        used = frozenset[str]().union(*(i.symbols for i in self.stmt.ins[0].index))
        for r in self.path:
            start, stop = r.start.const, r.stop.const
            if r.var in used and start is not None and stop is not None:
                turns = range(start, stop, r.step)[::1 if r.step > 0 else -1]
                names[r.var] = f"turns of {turns}"
        around = {r.var for r in self.path}
        if used & around != names.keys() or len(set(names.values())) < len(names):
            return None
        return tuple(i.subs(names) for i in self.stmt.ins[0].index)


def checked_once(program: Program) -> Program:
    """The program with a word at each solve whose factors a solve before it has surely looked at."""
    first: dict[str, _Solve] = {}
    known: set[int] = set()
    for solve in _solves(program.body, (), True):
        array = solve.stmt.ins[0].array
        one = first.setdefault(array, solve)
        same = one is not solve and one.sure and one.place() is not None and one.place() == solve.place()
        if same and one.stmt.ins[0].shape == solve.stmt.ins[0].shape and _is_made_before(program, one):
            known.add(id(solve.stmt))
    return program.but(body=_marked(program.body, known)) if known else program


def _solves(block: Block, path: tuple[Range, ...], sure: bool) -> Iterator[_Solve]:
    for k, stmt in enumerate(block):
        if isinstance(stmt, Lib) and stmt.op == "solve":
            yield _Solve(stmt, path, sure, block[:k])
        whole = isinstance(stmt, Loop) and stmt.until is None
        inner = (*path, stmt.range) if isinstance(stmt, Loop) else path
        for part in children(stmt):
            yield from _solves(part, inner, sure and whole)


def _is_made_before(program: Program, solve: _Solve) -> bool:
    """Whether a factorisation in the same block is all that makes the factors."""
    array = solve.stmt.ins[0].array
    makers = [s for s in statements(program.body) if array in writes(s)]
    return len(makers) == 1 and any(s is makers[0] for s in solve.before) and getattr(makers[0], "op", "") == "lu"


def _marked(block: Block, known: set[int]) -> Block:
    return tuple(_mark(s, known) for s in block)


def _mark(stmt: Stmt, known: set[int]) -> Stmt:
    if isinstance(stmt, Lib):
        return replace(stmt, attrs=MappingProxyType({**stmt.attrs, KNOWN: True})) if id(stmt) in known else stmt
    inner = children(stmt)
    return with_children(stmt, [_marked(part, known) for part in inner]) if inner else stmt


def without_pivots(forms: Forms, frame: Frame, factors: View) -> tuple[list[Stmt], Expr]:
    """Whether factors have a pivot of zero. With NaN or infinity in it a matrix counts as none that is singular."""
    none, wild = (forms.workspace(frame, (), _INT32) for _ in range(2))
    ranges, at = factors.points("w")
    here, zero, one = factors.load(at), const(0, _INT32), const(1, _INT32)
    on = Call("eq", (Index(at[0], _INT64), Index(at[1], _INT64)), _BOOL)
    empty = Call("and", (on, Call("eq", (here, algebra.zero(here.dtype)), _BOOL)), _BOOL)
    finite = call("isfinite", here, dtype=_BOOL)
    found = ((none, algebra.select(empty, one, zero)), (wild, algebra.select(finite, zero, one)))
    clear = Map((), tuple(Store(v.array, v.at(()), zero) for v, _ in found))
    look = Map(ranges, tuple(Store(v.array, v.at(()), sign, "max") for v, sign in found))
    signs = [Call(fn, (v.load(()), zero), _BOOL) for fn, v in (("ne", none), ("eq", wild))]
    return [clear, look], Call("and", tuple(signs), _BOOL)
