"""Factorisations and systems of small matrices in threads: program to program.

    for b: F = lu(A[b]) ; x[b] = solve(F, c[b])   ->   for b, each in a thread: loops over rows and columns

A library takes some tens of kernels for what one thread does in the time of a few. Iterations that know nothing of each
other (`batches.py`) have a thread each, and one kernel is all of the loop. What takes a thread too long stays as it is;
sums over iterations, and what is large in one of them, are kernels of their own between.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from math import prod

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.libraries.batches import Batches, LoopApart, cleared_first, for_all, is_of_matrices
from sdfgad.codegen.cuda.libraries.operations import SIGNS
from sdfgad.codegen.cuda.libraries.small_matrices import OPERATIONS, ThreadForms, sign_of
from sdfgad.ir.expr import const
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Lib, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_variables, children, with_children, writes
from sdfgad.names import fresh, variable
from sdfgad.thresholds import thresholds

MOST = 1 << 18
"""Multiplications of one thread, however many there are: some milliseconds."""
SPREAD = 8
"""Temporaries of all iterations may take so many times the bytes of the largest array that the loop touches anyway."""


def systems_in_threads(program: Program) -> Program:
    """The program with such operations in loops of threads; the same one where there are none."""
    pass_ = _Systems(cleared_first(program, libraries=True))
    body = pass_.block(pass_.program.body)
    if not pass_.found:
        return program
    signs = tuple(pass_.arrays[n] for n in sorted(pass_.signs.values()))
    clear = tuple(Map((Range("w0", ix(0), ix(a.shape[0])),), (Store(a.name, (ix("w0"),), const(0, a.dtype)),))
                  for a in signs)
    told = (Lib(SIGNS, (), tuple(a.whole for a in signs)),) if signs else ()
    return program.but(arrays=pass_.arrays, body=(*clear, *body, *told))


class _Systems(Batches):
    """signs: by numbers of iterations, where these say that a matrix has no result. found: whether there are any."""

    spread = SPREAD

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.taken = all_variables(program.body)
        self.signs: dict[int, str] = {}
        self.found = False

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            parts = self.parts(stmt) if isinstance(stmt, Loop) else None
            if parts is not None:
                out += self.apart(parts)
            elif _is_system(stmt) and _work((stmt,)) <= _most(1):
                once = variable("each", self.taken)
                self.taken.add(once)
                out.append(self.in_threads(Range(once, ix(0), ix(1)), (stmt,)))
            else:
                out.append(with_children(stmt, [self.block(b) for b in children(stmt)]))
        return tuple(out)

    def takes(self, libraries: list[Lib], r: Range) -> bool:
        """Whether there is more than products, and all but large products are small."""
        systems = [s for s in libraries if _is_system(s)]
        return bool(systems) and _work(systems) <= _most(r.trips or 0) and all(
            _work((s,)) <= _longest(systems) or is_of_matrices(s) for s in libraries if s.op == "matmul")

    def apart(self, parts: LoopApart) -> list[Stmt]:
        """What a thread does of the loop is one kernel, what is between for all iterations another one."""
        out: list[Stmt] = []
        r, shared = parts.range, parts.shared
        most = _longest(parts.body)
        for own, group in groupby(self.moved(parts), lambda s: _is_own(s, shared, most)):
            stmts = tuple(group)
            out += [self.in_threads(r, stmts)] if own else [for_all(s, r) for s in stmts]
        return out

    def in_threads(self, r: Range, body: Block) -> Loop:
        """A loop with a thread for each iteration."""
        self.found, trips = True, r.trips or 0
        sign = self.signs.get(trips) or fresh("signs", self.arrays)
        forms = ThreadForms(self.arrays, self.taken, around=r, sign=sign)
        made = forms.block(Frame(self.arrays).inside([r]), body)
        if forms.fails and trips not in self.signs:
            self.signs[trips] = sign
            self.arrays[sign] = sign_of(sign, trips)
        return Loop(r, made, next((s.source for s in body if s.source), None), parallel=True)


def _is_system(stmt: Stmt) -> bool:
    return isinstance(stmt, Lib) and stmt.op != "matmul"


def _is_own(stmt: Stmt, shared: frozenset[str], most: float) -> bool:
    """Whether one thread does a statement of an iteration, which adds to nothing that others add to and is no longer
    than the systems."""
    return writes(stmt).isdisjoint(shared) and _work((stmt,)) <= most


def _longest(stmts: Iterable[Stmt]) -> float:
    """The most that one statement of a thread may take."""
    return max(_most(1), *(_work((s,)) for s in stmts if _is_system(s)))


def _most(trips: int) -> int:
    """Multiplications of a thread, of so many: no more than take the time of calls of libraries for all of them."""
    return min(thresholds().device.system * trips, MOST)


def _work(stmts: Iterable[Stmt]) -> float:
    return sum(_multiplications(s) for s in stmts)


def _multiplications(stmt: Stmt) -> float:
    """Of a statement in one thread; none are allowed for what no thread can do."""
    if isinstance(stmt, Map):
        trips = [r.trips for r in stmt.domain]
        return float("inf") if None in trips else float(prod(n or 0 for n in trips))
    if not isinstance(stmt, Lib) or stmt.op not in OPERATIONS:
        return float("inf")
    extents = list(_extents(stmt))
    if None in extents or stmt.op != "matmul" and stmt.attrs.get("accumulate"):
        return float("inf")
    if stmt.op == "matmul":
        return float(prod(n.const or 0 for n in (*stmt.outs[0].shape, stmt.ins[0].shape[-1])))
    matrix = stmt.ins[0].shape[0].const or 0
    return float(matrix * matrix * max(n or 0 for n in extents))


def _extents(stmt: Lib) -> Iterator[int | None]:
    return (n.const for v in (*stmt.outs, *stmt.ins) for n in v.shape)


