"""The statements of one matrix product: its operands as views or masked copies, the product, and where it goes."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.analysis.elements.polyhedron import Row
from sdfgad.analysis.elements.region import Region, between, row_index
from sdfgad.errors import SourceLine
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, map_indices
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Array, If, Lib, Map, Range, Stmt, Store, View, axis
from sdfgad.names import fresh
from sdfgad.transform.products.masked_products import TOUCHED
from sdfgad.transform.products.products import Summand, single, variables_of

_INT, _BOOL = np.dtype(np.int64), np.dtype(bool)


@dataclass(frozen=True)
class Interval:
    """The values of a variable: from `low` to before `high`."""

    low: Ix
    high: Ix

    @property
    def extent(self) -> Ix:
        return self.high - self.low


@dataclass(frozen=True)
class _Side:
    """A factor of the product as a matrix: its two variables, what it is made of, and the rows that mask it."""

    variables: tuple[str, str]
    factors: list[Expr]
    mask: list[Row]


@dataclass
class Operands:
    """`C[i, j] += sum over k of A[i, k] * B[k, j]` as statements; `roles` are the variables i, k and j."""

    sum_: Summand
    roles: tuple[str, str, str]
    boxes: Mapping[str, Interval]
    source: SourceLine | None
    path: tuple[Range, ...]
    arrays: dict[str, Array]
    before: list[Stmt] = field(default_factory=list)
    given: Region = Region(())

    def statements(self) -> list[Stmt] | None:
        """None when the region is not made of conditions that each concern one matrix, or something is in doubt."""
        i, k, j = self.roles
        left, right, out = _Side((i, k), [], []), _Side((k, j), [], []), _Side((i, j), [], [])
        points = self.sum_.region.onto(self.roles, [])
        if points is None:
            return None
        self.given = self._box_region([]).with_rows(points.rows)
        if not self._deal(left, right, out) or not all(self._confine(side) for side in (left, right, out)):
            return None
        direct = self._target() if not out.factors and not out.mask else None
        scale = self._absorbed(left, right, out, direct)
        a, b = self._operand(left), self._operand(right)
        ins, attrs = self._scaled(scale)
        attrs |= self._touched(left, right)
        attrs |= {name: True for name, (_, conj) in (("conj_a", a), ("conj_b", b)) if conj}
        if direct is not None:
            attrs["accumulate"] = True
            product = Lib("matmul", (direct,), (a[0], b[0], *ins), MappingProxyType(attrs), self.source)
            return self._guarded([*self.before, product])
        held = self._matrix("product", (i, j))
        product = Lib("matmul", (held,), (a[0], b[0], *ins), MappingProxyType(attrs), self.source)
        add = self._added(out, held)
        return None if add is None else self._guarded([*self.before, product, add])

    def _guarded(self, made: list[Stmt]) -> list[Stmt]:
        """The statements, where the loops around leave the sum any points: elsewhere its ranges mean nothing."""
        known = self._box_region([])
        open_ = [row for row in self.given.rows if not known.implies(row)]
        return [If(reduce(algebra.both, map(_holds, open_)), tuple(made), (), self.source)] if open_ else made

    def _deal(self, left: _Side, right: _Side, out: _Side) -> bool:
        """Give every factor and every condition on several variables to the matrix that has the variables."""
        own = set(self.roles)
        common: list[Expr] = []
        for f in self.sum_.term.factors:
            here = variables_of(f) & own
            side = next((s for s in (left, right) if len(here) == 2 and here == set(s.variables)), None)
            (common if side is None else side.factors).append(f)
        for f in common:
            # A factor of one variable belongs to a matrix that is copied anyway, if there is one.
            here = variables_of(f) & own
            able = [s for s in (left, right, out) if here <= set(s.variables)]
            if not able:
                return False
            min(able, key=lambda s: (not self._is_copied(s, out), self._elements(s))).factors.append(f)
        for row in self._conditions():
            side = next((s for s in (left, right, out) if row[0].keys() & own <= set(s.variables)), None)
            if side is None:
                return False
            side.mask.append(row)
        return bool(left.factors and right.factors)

    def _is_copied(self, side: _Side, out: _Side) -> bool:
        return bool(side.factors) if side is out else self._plain(side) is None

    def _elements(self, side: _Side) -> int:
        env = interval_env(self.path)
        sizes = [extent_bound(Range(v, self.boxes[v].low, self.boxes[v].high), env) or 0 for v in side.variables]
        return sizes[0] * sizes[1]

    def _conditions(self) -> list[Row]:
        """Rows that couple variables and do not follow from the ranges of the variables."""
        own = set(self.roles)
        box = self._box_region(self.roles).with_rows(self.given.rows)
        return [r for r in self.sum_.region.rows if len(r[0].keys() & own) > 1 and not box.implies(r)]

    def _box_region(self, variables: Iterable[str]) -> Region:
        """The ranges of some variables and what is known about the loops around."""
        parameters = [r for r in self.sum_.region.rows if r[0].keys().isdisjoint(self.roles)
                      and r[0].keys() <= {p.var for p in self.path}]
        rows = [row for v in variables for row in between(v, self.boxes[v].low, self.boxes[v].high) or ()]
        return Region((*parameters, *rows))

    def _confine(self, side: _Side) -> bool:
        """Mask what the sum does not touch; False when that is more than conditions on both variables."""
        touched = self.sum_.region.onto(self.roles, side.variables)
        if touched is None:
            return False
        for row in touched.rows:
            if not self._box_region(side.variables).with_rows((*self.given.rows, *side.mask)).implies(row):
                side.mask.append(row)
        return all(set(side.variables) <= row[0].keys() for row in side.mask)

    def _absorbed(self, left: _Side, right: _Side, out: _Side, direct: View | None) -> Expr:
        """The scale of the product, after it went into a copy that is made anyway."""
        scale = self.sum_.term.scale
        if algebra.is_number(scale, 1):
            return scale
        side = next((s for s in (left, right) if self._plain(s) is None), out if direct is None else None)
        if side is None:
            return scale
        side.factors.insert(0, scale)
        return algebra.number(1, self.sum_.dtype)

    def _scaled(self, scale: Expr) -> tuple[tuple[View, ...], dict[str, Any]]:
        """The scale as an attribute or, when it is computed, as one more input."""
        if isinstance(scale, Const):
            return (), {} if algebra.is_number(scale, 1) else {"factor": scale.value}
        if isinstance(scale, Load):
            return (View(scale.array, (), scale.index, scale.dtype),), {}
        name = self._fresh("scale", ())
        self.before.append(Map((), (Store(name, (), scale),), self.source))
        return (self.arrays[name].whole,), {}

    def _touched(self, left: _Side, right: _Side) -> dict[str, Expr]:
        """The masks of both operands, for data that zero times is not zero."""
        rows = [*left.mask, *right.mask]
        if not rows:
            return {}
        place = {v: ix(axis(d)) + self.boxes[v].low for d, v in enumerate(self.roles)}
        return {TOUCHED: map_indices(reduce(algebra.both, map(_holds, rows)), lambda i: i.subs(place))}

    def _plain(self, side: _Side) -> tuple[View, bool] | None:
        """A side that is part of one array as it lies there, and whether it is taken conjugated."""
        if len(side.factors) != 1 or side.mask:
            return None
        e, conj = side.factors[0], False
        if isinstance(e, Call) and e.fn == "conj":
            e, conj = e.args[0], True
        if not isinstance(e, Load) or e.dtype != self.sum_.dtype:
            return None
        view = self._view(e.array, e.index, side.variables)
        return None if view is None else (view, conj)

    def _target(self) -> View | None:
        i, _, j = self.roles
        return self._view(self.sum_.target, self.sum_.index, (i, j))

    def _view(self, array: str, index: tuple[Ix, ...], variables: tuple[str, str]) -> View | None:
        """The elements `array[index]` as a matrix over the ranges of two variables."""
        used = [single(i, variables) for i in index if i.symbols & set(variables)]
        if sorted(v or "" for v in used) != sorted(variables) or any(i.affine is None for i in index):
            return None
        place = {v: ix(axis(d)) + self.boxes[v].low for d, v in enumerate(variables)}
        shape = tuple(self.boxes[v].extent for v in variables)
        return View(array, shape, tuple(i.subs(place) for i in index), self.arrays[array].dtype)

    def _operand(self, side: _Side) -> tuple[View, bool]:
        """The side as it lies, or a copy with its factors multiplied and zero where its conditions do not hold."""
        plain = self._plain(side)
        if plain is not None:
            return plain
        value = reduce(algebra.mul, side.factors)
        if side.mask:
            value = algebra.select(reduce(algebra.both, map(_holds, side.mask)), value, algebra.zero(value.dtype))
        ordered = self._stored_order(side)
        held = self._matrix("factor", ordered)
        domain = tuple(Range(v, self.boxes[v].low, self.boxes[v].high) for v in ordered)
        at = tuple(ix(v) - self.boxes[v].low for v in ordered)
        self.before.append(Map(domain, (Store(held.array, at, value),), self.source))
        if ordered == side.variables:
            return held, False
        return held.transposed, False

    def _stored_order(self, side: _Side) -> tuple[str, str]:
        """The two variables in the order in which the array that is copied counts them."""
        for f in side.factors:
            if isinstance(f, Load) and variables_of(f) >= set(side.variables):
                last = single(f.index[-1], side.variables)
                if last == side.variables[0]:
                    return side.variables[1], side.variables[0]
        return side.variables

    def _added(self, out: _Side, held: View) -> Map | None:
        """The map that adds the product to its target, where the conditions on the target hold."""
        i, j = out.variables
        low, high = self.boxes[j].low, self.boxes[j].high
        for coefficients, constant in out.mask:
            rest = row_index(({v: c for v, c in coefficients.items() if v != j}, constant))
            if coefficients[j] == 1:
                low = maximum(low, -rest)
            elif coefficients[j] == -1:
                high = minimum(high, rest + 1)
            else:
                return None
        at = tuple(ix(v) - self.boxes[v].low for v in (i, j))
        value = reduce(algebra.mul, [*out.factors, Load(held.array, at, held.dtype)])
        domain = (Range(i, self.boxes[i].low, self.boxes[i].high), Range(j, low, high))
        return Map(domain, (Store(self.sum_.target, self.sum_.index, value, "+"),), self.source)

    def _matrix(self, stem: str, variables: tuple[str, str]) -> View:
        """A fresh matrix that holds the ranges of two variables at their largest, seen at its current extents."""
        env = interval_env(self.path)
        largest = tuple(extent_bound(Range(v, self.boxes[v].low, self.boxes[v].high), env) or 0 for v in variables)
        name = self._fresh(stem, largest)
        return View(name, tuple(self.boxes[v].extent for v in variables), (ix(axis(0)), ix(axis(1))), self.sum_.dtype)

    def _fresh(self, stem: str, shape: tuple[int, ...]) -> str:
        name = fresh(stem, self.arrays)
        self.arrays[name] = Array(name, shape, self.sum_.dtype, source=self.source)
        return name


def _holds(row: Row) -> Expr:
    """A row as a condition, its negative part on the right."""
    coefficients, constant = row
    left = row_index(({v: c for v, c in coefficients.items() if c > 0}, max(0, constant)))
    right = row_index(({v: -c for v, c in coefficients.items() if c < 0}, max(0, -constant)))
    return Call("ge", (Index(left, _INT), Index(right, _INT)), _BOOL)
