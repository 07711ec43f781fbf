"""Sparsity patterns of programs: which elements of the results may depend on which elements of some arguments.

A program is run with, in place of each number, the set of inputs that it depends on (index domains and dependence
sets: A. Griewank, A. Walther, Evaluating Derivatives, 2008, section 7.1). Indices are numbers where they are made of
loop variables and integers that are given; what is unknown may be anything: patterns have too many places, never too
few. Of a tangent program, which is linear in its tangents, this is the pattern of the Jacobian.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdfgad.analysis.patterns.known import Integers
from sdfgad.analysis.patterns.library import SPREADS, Operand, of_all
from sdfgad.analysis.patterns.points import Instances, Numbers, everywhere
from sdfgad.analysis.patterns.relations import (
    Relation,
    all_rows,
    chosen,
    joined,
    part_of_identity,
    placed,
    repeated,
    without_rows,
)
from sdfgad.errors import unsupported
from sdfgad.ir.expr import Call, Expr, Load, Local, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Block, If, Let, Lib, Loop, Map, Program, Stmt, Store, View, While
from sdfgad.ir.walk import within
from sdfgad.thresholds import thresholds

STATEMENT = 5000
"""Work of a statement beside that of its points and pairs."""


def patterns(program: Program, inputs: Mapping[str, int], columns: int, integers: Mapping[str, np.ndarray],
             results: Sequence[View | None]) -> list[Relation | None]:
    """Which elements of each result may depend on which inputs: a csr_array of booleans with a row for each element of
    the result and so many columns, or None for nothing.

    inputs: arrays, and the number of the first element of each among the columns. integers: the contents of integer
    arrays that are known. UnsupportedError (SG191) where it would take too long.
    """
    flow = _Flow(program, columns, Integers(program.arrays, dict(integers)))
    for name, first in inputs.items():
        flow.rows[name] = part_of_identity(program.arrays[name].size, first, columns)
    flow.block(program.body)
    return [None if view is None else flow.operand(view).rows for view in results]


@dataclass
class _Flow:
    """rows: what the elements of an array depend on, for those arrays of which any does."""

    program: Program
    columns: int
    known: Integers
    rows: dict[str, Relation] = field(default_factory=dict)
    symbols: dict[str, Numbers] = field(default_factory=dict)
    work: int = 0

    @property
    def here(self) -> Instances:
        return Instances(1, self.symbols, self.known.read)

    def block(self, block: Block) -> None:
        for stmt in block:
            if self.concerns(stmt):
                self.statement(stmt)

    def concerns(self, stmt: Stmt) -> bool:
        """Whether anything may become of a statement that somebody asks for."""
        read, written = within(stmt)
        return not self.rows.keys().isdisjoint(read | written) or any(map(self.known.is_integer, written))

    def statement(self, stmt: Stmt) -> None:
        self.spend(STATEMENT, stmt)
        if isinstance(stmt, Map):
            self.map(stmt)
        elif isinstance(stmt, Lib):
            self.library(stmt)
        elif isinstance(stmt, Loop):
            self.loop(stmt)
        elif isinstance(stmt, While):
            self.again_and_again(stmt.body)
        elif isinstance(stmt, If):
            self.branch(stmt)

    def spend(self, work: int, stmt: Stmt) -> None:
        self.work += work
        if self.work > thresholds().pattern_work:
            raise unsupported(stmt.source, "a sparsity pattern that takes very long to find, or has very many places",
                              "give it with sparsity=, or leave sparsity out: the matrix is hardly sparse", "SG191")

    def map(self, stmt: Map) -> None:
        points = self.here.over(stmt.domain)
        if points is None:
            self.anywhere(stmt)
            return
        self.spend(points.count * sum(p.expr.size for p in stmt.body), stmt)
        named: dict[str, Relation | None] = {}
        values: dict[str, np.ndarray | None] = {}
        for part in stmt.body:
            found = self.expression(part.expr, points, named, values)
            self.spend(0 if found is None else found.nnz, stmt)
            value = self.known.value(part.expr, points, values)
            if isinstance(part, Let):
                named[part.name], values[part.name] = found, value
            else:
                certain = not any(r.early for r in stmt.domain)
                self.known.store(part, points, value, certain)
                self.store(part, points, found, certain, stmt)

    def expression(self, e: Expr, points: Instances, named: Mapping[str, Relation | None],
                   values: Mapping[str, np.ndarray | None]) -> Relation | None:
        """What an expression depends on at each point."""
        found: list[Relation | None] = []
        for node, where in self.reached(e, points, values):
            if isinstance(node, Local):
                part = named[node.name]
                found.append(part if part is None or where is None else without_rows(part, np.flatnonzero(~where)))
            elif isinstance(node, Load) and node.array in self.rows:
                found.append(self.gathered(node.array, node.index, points, where))
        return joined(found)

    def reached(self, e: Expr, points: Instances,
                values: Mapping[str, np.ndarray | None]) -> Iterator[tuple[Expr, np.ndarray | None]]:
        """The nodes that hand something on, and at which points they are looked at: None for all of them."""
        where: dict[Expr, np.ndarray | None] = {e: None}
        for node in reversed(list(walk(e, _handing_on))):
            at = where[node]
            yield node, at
            for k, part in enumerate(_handing_on(node)):
                mine = at
                if isinstance(node, Call) and node.fn == "select":
                    condition = self.known.value(node.args[0], points, values)
                    if condition is not None:
                        mine = _both(at, condition if k == 0 else ~condition)
                where[part] = _either(where[part], mine) if part in where else mine

    def gathered(self, array: str, index: tuple[Ix, ...], points: Instances,
                 where: np.ndarray | None) -> Relation | None:
        rows, size = self.rows[array], points.count
        elements = points.elements(index, self.program.arrays[array].shape)
        if elements is None:
            return repeated(all_rows(rows), size)
        number, inside = elements
        at = np.flatnonzero(inside if where is None else inside & where)
        return chosen(at, number[at], (size, rows.shape[0])) @ rows

    def store(self, part: Store, points: Instances, found: Relation | None, certain: bool, stmt: Stmt) -> None:
        old, size = self.rows.get(part.array), self.program.arrays[part.array].size
        if found is None and old is None:
            return
        elements = points.elements(part.index, self.program.arrays[part.array].shape)
        if elements is None:
            self.keep(part.array, joined([old, None if found is None else repeated(all_rows(found), size)]), stmt)
            return
        at = elements[0]
        if certain and part.op is None and old is not None and self.program.arrays[part.array].role != "tape":
            old = without_rows(old, at)
        self.keep(part.array, joined([old, None if found is None else placed(found, at, size)]), stmt)

    def keep(self, array: str, rows: Relation | None, stmt: Stmt) -> None:
        if rows is None:
            self.rows.pop(array, None)
            return
        self.spend(rows.nnz + rows.shape[0], stmt)
        self.rows[array] = rows

    def anywhere(self, stmt: Map) -> None:
        """A map over nobody knows what: every store may be of everything that is read, anywhere."""
        found = joined([all_rows(self.rows[n]) for n in sorted(within(stmt)[0]) if n in self.rows])
        for part in stmt.body:
            if isinstance(part, Store):
                self.known.forget(part.array)
                size = self.program.arrays[part.array].size
                more = None if found is None else repeated(all_rows(found), size)
                self.keep(part.array, joined([self.rows.get(part.array), more]), stmt)

    def library(self, stmt: Lib) -> None:
        ins = tuple(map(self.operand, stmt.ins))
        for out in stmt.outs:
            self.known.forget(out.array)
            positions = everywhere(out.shape, self.here)
            elements = None if positions is None else \
                positions.elements(out.index, self.program.arrays[out.array].shape)
            size, old = self.program.arrays[out.array].size, self.rows.get(out.array)
            if elements is None:
                self.keep(out.array, joined([old, of_all(ins, (size,))]), stmt)
                continue
            found = SPREADS.get(stmt.op, of_all)(ins, self.shape(out))
            if not stmt.attrs.get("accumulate") and old is not None:
                old = without_rows(old, elements[0])
            self.keep(out.array, joined([old, None if found is None else placed(found, elements[0], size)]), stmt)

    def shape(self, view: View) -> tuple[int, ...]:
        return tuple(int(n or 0) for n in map(self.here.value, view.shape))

    def operand(self, view: View) -> Operand:
        """A view, and what its elements depend on; all of the array where its place is unknown."""
        rows = self.rows.get(view.array)
        positions = everywhere(view.shape, self.here)
        if positions is None:
            return Operand(self.program.arrays[view.array].shape, rows)
        shape = self.shape(view)
        return Operand(shape, None if rows is None else self.gathered(view.array, view.index, positions, None))

    def loop(self, stmt: Loop) -> None:
        start, stop, r = self.here.value(stmt.range.start), self.here.value(stmt.range.stop), stmt.range
        if start is None or stop is None:
            self.symbols.pop(r.var, None)
            self.again_and_again(stmt.body)
            return
        outer, left = self.symbols.get(r.var), []
        for p in range(int(start), int(stop), r.step):
            self.spend(STATEMENT, stmt)
            if stmt.until or r.early:
                left.append(self.state())
            self.symbols[r.var] = p
            self.block(stmt.body)
        for state in left:
            self.join(state)
        self.symbols.pop(r.var, None)
        if outer is not None:
            self.symbols[r.var] = outer

    def again_and_again(self, body: Block) -> None:
        """Any number of iterations: until one more adds nothing."""
        while True:
            before = self.state()
            self.block(body)
            self.join(before)
            if self.is_as(before):
                return

    def branch(self, stmt: If) -> None:
        taken = self.known.value(stmt.cond, self.here, {})
        if taken is not None:
            self.block(stmt.then if taken[0] else stmt.orelse)
            return
        before = self.state()
        self.block(stmt.then)
        after = self.state()
        self.rows, self.known = dict(before[0]), before[1].copy()
        self.block(stmt.orelse)
        self.join(after)

    def state(self) -> tuple[dict[str, Relation], Integers]:
        """What is known now; relations are never changed."""
        return dict(self.rows), self.known.copy()

    def join(self, other: tuple[Mapping[str, Relation], Integers]) -> None:
        """What holds if the state may be the other one, too."""
        for name, rows in other[0].items():
            self.rows[name] = joined([self.rows.get(name), rows]) if self.rows.get(name) is not rows else rows
        self.known.join(other[1])

    def is_as(self, other: tuple[Mapping[str, Relation], Integers]) -> bool:
        """Whether no more is in a state than in one that was joined to it."""
        return self.known.is_as(other[1]) and self.rows.keys() == other[0].keys() and \
            all(rows.nnz == other[0][name].nnz for name, rows in self.rows.items())


def _handing_on(node: Expr) -> tuple[Expr, ...]:
    """The operands that a number may depend on: no condition is one."""
    if not isinstance(node, Call) or node.dtype.kind not in "fc":
        return ()
    return node.args[1:] if node.fn == "select" else node.args


def _both(a: np.ndarray | None, b: np.ndarray) -> np.ndarray:
    return b if a is None else a & b


def _either(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    return None if a is None or b is None else a | b
