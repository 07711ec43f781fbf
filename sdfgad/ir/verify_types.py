"""Ranks, dtypes and the like of one statement."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdfgad.ir.expr import Call, Expr, Index, Load, Local, walk
from sdfgad.ir.index import Elem, Ix
from sdfgad.ir.primal import ACCUMULATE, PRIMALS
from sdfgad.ir.program import Array, Let, Lib, Loop, Map, Pop, Push, Range, Stmt, View, While
from sdfgad.ir.special import OF_ORDERS, SHAPES
from sdfgad.ir.verify_lib import operand_faults

_COUNTER, BOOL = np.dtype(np.int64), np.dtype(bool)
_TO_BOOL = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "isnan", "isinf", "isfinite"))
_SAME = frozenset(("add", "sub", "mul", "div", "pow", "neg", "maximum", "minimum", "fmax", "fmin", "select"))
"""Functions whose operands, apart from a condition, have the dtype of the result."""


@dataclass(frozen=True)
class Fault:
    """A rule that a program breaks, what breaks it, and where."""

    rule: str
    what: str
    stmt: Stmt | None = None


@dataclass(frozen=True)
class Types:
    """Ranks, dtypes and the like of one statement."""

    stmt: Stmt
    arrays: Mapping[str, Array]

    def fault(self, rule: str, what: str) -> Fault:
        return Fault(rule, what, self.stmt)

    def range(self, r: Range) -> Iterator[Fault]:
        if r.step == 0:
            yield self.fault("ranges", f"{r.var} stays where it is")
        yield from self.indices((r.start, r.stop))

    def map(self, stmt: Map) -> Iterator[Fault]:
        variables = [r.var for r in stmt.domain]
        if len(set(variables)) < len(variables):
            yield self.fault("shadowing", f"two ranges of one map have the variable {_twice(variables)}")
        bound: dict[str, np.dtype] = {}
        for part in stmt.body:
            yield from self.expr(part.expr, bound)
            if isinstance(part, Let):
                if part.name in bound:
                    yield self.fault("locals", f"{part.name} is bound twice")
                bound[part.name] = part.expr.dtype
                continue
            yield from self.access(part.array, part.index, part.expr.dtype, "stored in")
            if part.op is not None and part.op not in ACCUMULATE:
                yield self.fault("functions", f"nobody knows how to accumulate by {part.op!r}")
            if self.arrays[part.array].role == "constant":
                yield self.fault("roles", f"the constant {part.array} is written")

    def access(self, name: str, index: tuple[Ix, ...], dtype: np.dtype, how: str) -> Iterator[Fault]:
        array = self.arrays[name]
        if len(index) != len(array.shape):
            yield self.fault("ranks", f"{len(index)} indices of {name}, which has {len(array.shape)} dimensions")
        if dtype != array.dtype:
            yield self.fault("dtypes", f"{dtype} is {how} {name}, which is {array.dtype}")
        yield from self.indices(index)

    def indices(self, indices: tuple[Ix, ...]) -> Iterator[Fault]:
        for i in indices:
            for e in i.elems:
                yield from self.element(e)

    def element(self, e: Elem) -> Iterator[Fault]:
        array = self.arrays[e.array]
        if len(e.parts) != len(array.shape):
            yield self.fault("ranks", f"{len(e.parts)} indices of {e.array}, which has {len(array.shape)} dimensions")
        if array.dtype.kind not in "iub":
            yield self.fault("dtypes", f"an index reads {e.array}, which is {array.dtype}")

    def expr(self, e: Expr, bound: Mapping[str, np.dtype]) -> Iterator[Fault]:
        for node in walk(e):
            if isinstance(node, Load):
                yield from self.access(node.array, node.index, node.dtype, "loaded from")
            elif isinstance(node, Index):
                yield from self.indices((node.ix,))
            elif isinstance(node, Local) and (node.name not in bound or bound[node.name] != node.dtype):
                yield self.fault("locals", f"no value {node.name} of dtype {node.dtype} is bound here")
            elif isinstance(node, Call):
                yield from self.call(node)

    def call(self, node: Call) -> Iterator[Fault]:
        arity = 3 if node.fn == "select" else 1 if node.fn == "cast" else _arity(node.fn)
        if arity is None:
            yield self.fault("functions", f"there is no function {node.fn!r}")
        elif arity != len(node.args):
            yield self.fault("functions", f"{node.fn} of {len(node.args)} operands")
        elif node.fn in _TO_BOOL and node.dtype != BOOL:
            yield self.fault("dtypes", f"{node.fn} gives {node.dtype}")
        elif node.fn == "select" and node.args[0].dtype != BOOL:
            yield self.fault("dtypes", f"select by a condition of dtype {node.args[0].dtype}")
        elif node.fn in _SAME:
            others = {a.dtype for a in node.args[node.fn == "select":]} - {node.dtype}
            if others:
                yield self.fault("dtypes", f"{node.fn} of {listed({d.name for d in others})} gives {node.dtype}")

    def view(self, view: View) -> Iterator[Fault]:
        yield from self.access(view.array, view.index, view.dtype, "seen in")
        yield from self.indices(view.shape)

    def lib(self, stmt: Lib) -> Iterator[Fault]:
        for view in (*stmt.outs, *stmt.ins):
            yield from self.view(view)
        for view in stmt.outs:
            if self.arrays[view.array].role == "constant":
                yield self.fault("roles", f"the constant {view.array} is written")
        yield from (self.fault("operands", what) for what in operand_faults(stmt))

    def loop(self, stmt: Loop | While) -> Iterator[Fault]:
        flag = stmt.until if isinstance(stmt, Loop) else stmt.flag
        for name, dtype in ((flag, BOOL), (stmt.trips if stmt.trips in self.arrays else None, _COUNTER)):
            if name is not None:
                yield from self.scalar(name, dtype)
        if isinstance(stmt, Loop):
            if (stmt.until is None) != (stmt.trips is None):
                yield self.fault("counting", "a loop that may end early and one that counts are the same thing")
            yield from self.private(stmt)

    def scalar(self, name: str, dtype: np.dtype) -> Iterator[Fault]:
        array = self.arrays.get(name)
        if array is None:
            yield self.fault("names", f"there is no array {name}")
        elif array.shape or array.dtype != dtype:
            yield self.fault("counting", f"{name} is {array.dtype}{list(array.shape)}, not a scalar of dtype {dtype}")

    def private(self, stmt: Loop) -> Iterator[Fault]:
        for name in stmt.private:
            if name not in self.arrays:
                yield self.fault("names", f"there is no array {name}")
            elif self.arrays[name].role != "transient":
                yield self.fault("roles", f"the {self.arrays[name].role} {name} is private")
        if stmt.behind is not None and stmt.behind.progress not in self.arrays:
            yield self.fault("names", f"there is no array {stmt.behind.progress}")

    def entry(self, stmt: Stmt) -> Iterator[Fault]:
        if isinstance(stmt, (Push, Pop)):
            array = self.arrays[stmt.tape]
            if array.role != "tape":
                yield self.fault("roles", f"the {array.role} {stmt.tape} is no tape")
            if len(stmt.shape) != len(array.shape):
                yield self.fault("ranks", f"{len(stmt.shape)} extents of {stmt.tape}, which has {len(array.shape)}")
            yield from self.indices(stmt.shape)


def _twice(names: list[str]) -> str:
    return listed({n for n in names if names.count(n) > 1})


def _arity(fn: str) -> int | None:
    """How many operands a scalar function takes; None when there is none of this name."""
    known = PRIMALS.get(fn)
    if known is None:
        return None
    return int(known.nin) if isinstance(known, np.ufunc) else _ARITIES.get(fn, 1)


_ARITIES: Mapping[str, int] = MappingProxyType({"complex": 2, "decimal": 2, "scale": 2, "with_partial": 3,
                                                  "attached": 2, **dict.fromkeys(OF_ORDERS, 2),
                                                  **{n: 1 + k for n, k in SHAPES.items()}})


def listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))
