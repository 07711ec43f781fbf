"""Tasklets as the body of a map: what each output connector is, in terms of what comes in."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.graphs.formulas import GraphFormula, Refuse
from sdfgad.frontend.graphs.numbers import chosen, literal, truth
from sdfgad.frontend.graphs.places import ContainerPlace, ElementBox
from sdfgad.frontend.state.builder import cast
from sdfgad.ir.expr import Const, Expr, Load
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Store

MOST_STATEMENTS = 2000
_TYPES = frozenset(("float64", "float32", "int64", "int32", "double", "float", "int", "bool", "auto"))


@dataclass(frozen=True)
class Pointer:
    """A connector that stands for several elements."""

    place: ContainerPlace
    box: ElementBox

    def at(self, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        """The index in the array of the program; short ones leave out dimensions of one element."""
        full = self.box.at(index) if len(index) == len(self.box.counts) else self.box.unsqueezed(index)
        return self.place.at(full)

    def fits(self, count: int) -> bool:
        return count in (len(self.box.counts), len(self.box.extents))


@dataclass(eq=False)
class TaskletBody:
    """One tasklet being read. inputs: connectors with values; pointers: those with arrays; outer: what other names are.

    dtypes: of the outputs. stores: what it writes under indices, in order; values: what its names are, outputs among
    them.
    """

    inputs: Mapping[str, Expr]
    pointers: Mapping[str, Pointer]
    outer: Callable[[str], Expr | None]
    outputs: Sequence[str]
    refuse: Refuse
    dtypes: Mapping[str, np.dtype] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)
    stores: list[Store] = field(default_factory=list)
    statements: int = 0

    def read(self, code: Sequence[ast.stmt]) -> None:
        for stmt in code:
            self.statements += 1
            if self.statements > MOST_STATEMENTS:
                raise self.refuse("a tasklet of so many statements", "write loops as maps")
            reader = _STATEMENTS.get(type(stmt))
            if reader is None:
                raise self.strange(stmt)
            reader(self, stmt)

    def strange(self, node: ast.AST) -> UnsupportedError:
        return self.refuse(f"`{ast.unparse(node)}` in a tasklet", "use assignments, if, and for over range(n)")

    @property
    def formula(self) -> GraphFormula:
        return GraphFormula(self.value, self.element, self.refuse)

    def value(self, name: str) -> Expr | None:
        if name in self.values:
            return self.values[name]
        if name in self.inputs:
            return self.inputs[name]
        if name in self.pointers:
            return None
        return self.outer(name)

    def element(self, name: str, index: tuple[Ix, ...]) -> Expr | None:
        if name in self.inputs and all(i.const == 0 for i in index):
            return self.inputs[name]
        found = self.pointers.get(name)
        if found is None or not found.fits(len(index)):
            return None
        at = found.at(index)
        if any(s.array == found.place.array for s in self.stores):
            raise self.refuse(f"{name!r}, which is read after something was written to it in the same tasklet",
                              "use two tasklets")
        return Load(found.place.array, at, found.place.dtype)

    def assign(self, stmt: ast.Assign) -> None:
        value = self.formula.read(stmt.value)
        for target in stmt.targets:
            self.bind(target, value)

    def annotated(self, stmt: ast.AnnAssign) -> None:
        if stmt.value is not None:
            value = self.formula.read(stmt.value)
            kind = stmt.annotation.attr if isinstance(stmt.annotation, ast.Attribute) else ast.unparse(stmt.annotation)
            self.bind(stmt.target, self.formula.read(ast.Call(ast.Name(kind), [stmt.value], []))
                      if kind in _TYPES - {"auto"} else value)

    def augmented(self, stmt: ast.AugAssign) -> None:
        here = ast.parse(ast.unparse(stmt.target), mode="eval").body
        self.bind(stmt.target, self.formula.read(ast.BinOp(here, stmt.op, stmt.value)))

    def bind(self, target: ast.expr, value: Expr) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.dtypes:
                self.values[target.id] = cast(value, self.dtypes[target.id])
                return
            before = self.values.get(target.id)
            # The first assignment says what a variable is.
            typed = before is not None and not isinstance(before, Const)
            self.values[target.id] = cast(value, before.dtype) if typed and before is not None else value
            return
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            raise self.strange(target)
        parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        found, name = self.pointers.get(target.value.id), target.value.id
        index = tuple(self.formula.index(p) for p in parts)
        if found is None and name in self.outputs and all(i.const == 0 for i in index):
            self.bind(target.value, value)
            return
        if found is None or name not in self.outputs or not found.fits(len(index)):
            raise self.strange(target)
        self.stores.append(Store(found.place.array, found.at(index), cast(value, found.place.dtype)))

    def branch(self, stmt: ast.If) -> None:
        cond = truth(self.formula.read(stmt.test))
        if isinstance(cond, Const):
            self.read(stmt.body if cond.value else stmt.orelse)
            return
        before, written = dict(self.values), len(self.stores)
        self.read(stmt.body)
        then, self.values = self.values, dict(before)
        self.read(stmt.orelse)
        if len(self.stores) > written:
            raise self.refuse("an element written in one branch of a tasklet", "write it after the branch")
        for name in then.keys() | self.values.keys():
            sides = then.get(name), self.values.get(name)
            if sides[0] is not None and sides[1] is not None:
                self.values[name] = chosen(cond, sides[0], sides[1])
            elif name in self.outputs:
                raise self.refuse(f"{name!r}, which only one branch of a tasklet writes", "write it in both branches")
            else:
                self.values.pop(name, None)

    def loop(self, stmt: ast.For) -> None:
        call = stmt.iter
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "range" or \
                not isinstance(stmt.target, ast.Name):
            raise self.strange(stmt)
        ends = [self.formula.index(a).const for a in call.args]
        if None in ends:
            raise self.refuse("a loop of unknown length in a tasklet", "write a loop around the tasklet")
        for k in range(*ends):  # type: ignore[arg-type]
            self.values[stmt.target.id] = literal(k)
            self.read(stmt.body)
        self.values.pop(stmt.target.id, None)

    def expression(self, stmt: ast.Expr) -> None:
        """A formula that nobody keeps, or a text."""
        if not isinstance(stmt.value, ast.Constant):
            self.formula.read(stmt.value)


def _nothing(body: TaskletBody, stmt: ast.stmt) -> None:
    """`pass`."""


_STATEMENTS: Mapping[type, Callable[..., None]] = MappingProxyType({
    ast.Assign: TaskletBody.assign, ast.AnnAssign: TaskletBody.annotated, ast.AugAssign: TaskletBody.augmented,
    ast.If: TaskletBody.branch, ast.For: TaskletBody.loop, ast.Expr: TaskletBody.expression, ast.Pass: _nothing})
