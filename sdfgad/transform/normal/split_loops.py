"""Loops cut where a condition on their variable changes: index-set splitting (Griebl, Feautrier, Lengauer 2000)."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import is_
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.afresh import looked_at_before_made
from sdfgad.ir.expr import Call, Const, Expr, Index, const, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, If, Loop, Map, Program, Range, Stmt, While, views_of
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import (
    all_variables,
    apart,
    children,
    reads,
    rebuild,
    statements,
    with_children,
    with_other_loops,
    writes,
)
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds

_BOOL = np.dtype(bool)
_TRUE, _FALSE = const(True, _BOOL), const(False, _BOOL)
_CUTS: Mapping[str, tuple[int, ...]] = MappingProxyType({
    "lt": (0,), "ge": (0,), "le": (1,), "gt": (1,), "eq": (0, 1), "ne": (0, 1)})
"""Where `var op bound` changes, from the bound on."""


def split_loops(program: Program) -> Program:
    """for i = 0:n: if i > 0: a else: b   ->   for i = 0:1: b; for i = 1:n: a

    For nests over single elements, with few statements: those that treat the rim of a grid apart. A scalar that each of
    the pieces makes anew becomes one for each, so that iterations can be told to be independent.
    """
    taken = {*program.arrays, *all_variables(program.body)}
    body = rebuild(program.body, lambda s: _split(s, taken) if isinstance(s, Loop) else (s,))
    if len(body) == len(program.body) and all(map(is_, body, program.body)):
        return program
    pieces = _LoopScalars(program.but(body=body), taken)
    return program.but(body=pieces.apart(body), arrays=pieces.arrays)


def _split(loop: Loop, taken: set[str]) -> Block:
    start, stop = loop.range.start.const, loop.range.stop.const
    if start is None or stop is None or loop.range.step != 1 or loop.until is not None or not _small(loop):
        return (loop,)
    cuts = {c for cond in _conditions(loop) for c in _cuts(cond, loop.range.var) if start < c < stop}
    if not 0 < len(cuts) <= thresholds().loop_cuts:
        return (loop,)
    edges = [start, *sorted(cuts), stop]
    first, *others = [_piece(loop, a, b) for a, b in zip(edges, edges[1:], strict=False)]
    return (first, *(s for p in apart((first, *others))[1:] for s in with_other_loops((p,), taken)))


class _LoopScalars:
    """Gives loops side by side scalars of their own. arrays: what there is, theirs added."""

    def __init__(self, program: Program, taken: set[str]) -> None:
        self.arrays, self.taken = dict(program.arrays), taken
        loops = [s for s in statements(program.body) if isinstance(s, (Loop, While))]
        flags = {n for s in loops for n in (s.flag if isinstance(s, While) else s.until, s.trips)}
        seen = {*program.live_out, *program.watched, *(v.array for v in views_of(program.returns)), *flags}
        self.local = {a.name for a in program.arrays.values() if a.role == "transient" and not a.shape} - seen
        self.uses = _uses(program.body)

    def apart(self, block: Block) -> Block:
        """A block whose loops share no scalar, if each of them makes it first and nobody else looks at it."""
        found = {id(s): _uses((s,)) for s in block if isinstance(s, Loop)}
        shared = Counter(n for used in found.values() for n in used if n in self.local)
        names: dict[int, dict[str, str]] = {k: {} for k in found}
        for name in sorted(n for n, count in shared.items() if count > 1):
            users = [s for s in block if isinstance(s, Loop) and name in found[id(s)]]
            alone = self.uses[name] == sum(found[id(s)][name] for s in users)
            if alone and not any(looked_at_before_made([self.arrays[name]], s.body) for s in users):
                for loop in users[1:]:
                    names[id(loop)][name] = self._another(name, found[id(loop)][name])
        return tuple(self._inside(s, names.get(id(s), {})) for s in block)

    def _another(self, name: str, uses: int) -> str:
        other = fresh(name, self.taken)
        self.taken.add(other)
        self.local.add(other)
        self.arrays[other] = replace(self.arrays[name], name=other)
        self.uses[other], self.uses[name] = uses, self.uses[name] - uses
        return other

    def _inside(self, stmt: Stmt, names: Mapping[str, str]) -> Stmt:
        stmt = renamed((stmt,), names)[0] if names else stmt
        return with_children(stmt, [self.apart(b) for b in children(stmt)])


def _uses(block: Block) -> Counter[str]:
    return Counter(n for s in statements(block) for n in reads(s) | writes(s))


def _small(loop: Loop) -> bool:
    """Whether all that is in a loop are single elements, and not many."""
    inside = list(statements(loop.body))
    leaves = [s for s in inside if not children(s)]
    single = all(isinstance(s, Map) and not s.domain for s in leaves)
    counted = all(isinstance(s, (If, Map)) or isinstance(s, Loop) and s.until is None for s in inside)
    return single and counted and len(leaves) <= thresholds().split_statements


def _conditions(loop: Loop) -> Iterator[Expr]:
    """The conditions of branches that say something about the loop's variable where they stand."""
    inner = all_variables(loop.body)
    for stmt in statements(loop.body):
        if isinstance(stmt, If):
            yield from (n for n in walk(stmt.cond) if _side(n, loop.range.var) and not _symbols(n) & inner)


def _symbols(e: Expr) -> set[str]:
    return {s for n in walk(e) if isinstance(n, Index) for s in n.ix.symbols}


def _side(e: Expr, var: str) -> tuple[Ix, str] | None:
    """`(bound, op)` of a condition `var op bound` with a bound that is known."""
    if not isinstance(e, Call) or e.fn not in _CUTS:
        return None
    first, second = (integer_of(a) for a in e.args)
    if first is None or second is None:
        return None
    gap = first - second
    if gap.coefficient(var) not in (1, -1) or gap.symbols != {var} or gap.elems:
        return None
    turned = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
    if gap.coefficient(var) == 1:
        return ix(var) - gap, e.fn
    return gap + ix(var), turned.get(e.fn, e.fn)


def integer_of(e: Expr) -> Ix | None:
    """An operand of a condition as an affine index."""
    if isinstance(e, Const) and e.dtype.kind in "iu":
        return ix(int(e.value.real))
    return e.ix if isinstance(e, Index) and e.dtype.kind in "iu" and e.ix.affine is not None else None


def _cuts(cond: Expr, var: str) -> list[int]:
    side = _side(cond, var)
    bound = None if side is None else side[0].const
    return [] if side is None or bound is None else [bound + by for by in _CUTS[side[1]]]


def _piece(loop: Loop, start: int, stop: int) -> Loop:
    """The iterations from start to stop, with what is known of them."""
    def settled(stmt: Stmt) -> Block:
        if not isinstance(stmt, If):
            return (stmt,)
        cond = _known(stmt.cond, loop.range.var, start, stop)
        if cond in (_TRUE, _FALSE):
            return stmt.then if cond == _TRUE else stmt.orelse
        return (stmt if cond == stmt.cond else replace(stmt, cond=cond),)

    return replace(loop, range=Range(loop.range.var, ix(start), ix(stop)), body=rebuild(loop.body, settled))


def _known(e: Expr, var: str, start: int, stop: int) -> Expr:
    """A condition with those parts settled that all values of the variable agree on."""
    side = _side(e, var)
    if side is not None and side[0].const is not None:
        ends = {_OPERATIONS[side[1]](v, side[0].const) for v in (start, stop - 1)}
        # No cut lies inside, so that what holds at both ends holds in between.
        return e if len(ends) > 1 else _TRUE if ends.pop() else _FALSE
    if not isinstance(e, Call) or e.fn not in ("and", "or", "not", "select") or e.dtype != _BOOL:
        return e
    parts = [_known(a, var, start, stop) for a in e.args]
    if e.fn == "not":
        return _FALSE if parts[0] == _TRUE else _TRUE if parts[0] == _FALSE else Call("not", (parts[0],), _BOOL)
    if e.fn == "select":
        first, yes, no = parts
        return yes if first == _TRUE else no if first == _FALSE else e if parts == list(e.args) else Call(
            "select", tuple(parts), _BOOL)
    decisive, neutral = (_FALSE, _TRUE) if e.fn == "and" else (_TRUE, _FALSE)
    if decisive in parts:
        return decisive
    left = [p for p in parts if p != neutral]
    return neutral if not left else left[0] if len(left) == 1 else e if parts == list(e.args) else Call(
        e.fn, tuple(left), _BOOL)


_OPERATIONS = MappingProxyType({
    "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "eq": int.__eq__, "ne": int.__ne__})
