"""Values that depend on sizes alone, computed once when the program is made."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.ir.expr import Call, Const, Expr, Index, Load, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.primal import PRIMALS
from sdfgad.ir.program import Map, Program, Stmt, Store
from sdfgad.ir.special import SPECIAL
from sdfgad.ir.walk import reads, statements, writes
from sdfgad.thresholds import thresholds

_DEAR = frozenset((
    "pow", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2", "hypot", "erf"))
"""Functions worth a table; sums and products are as fast as reading one."""
_MORE: Mapping[str, Callable[..., Any]] = MappingProxyType({"cast": np.asarray, "select": np.where})
"""What expressions hold beside functions."""


def tabulate(program: Program) -> Program:
    """map i: t[i] = exp(2 * i)   ->   a constant t

    For transient arrays outside `seen` that top-level maps fill once, from numbers, indices and other such arrays,
    constants that never change among them.
    """
    known = _Known(program)
    for stmt in program.body:
        known.run(stmt)
    dear = known.dear - program.live_out
    found = {n: v for n, v in known.values.items() if known.filled[n].all() and n in dear}
    if not found:
        return program
    arrays = {n: replace(a, role="constant") if n in found else a for n, a in program.arrays.items()}
    body = tuple(s for s in program.body if not writes(s) & found.keys())
    return program.but(arrays=arrays, body=body, constants={**program.constants, **found})


@dataclass
class _Known:
    """Arrays as far as they can be told; `dear` ones took an expensive function to make."""

    program: Program
    values: dict[str, np.ndarray] = field(default_factory=dict)
    filled: dict[str, np.ndarray] = field(default_factory=dict)
    dear: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        writers = [(n, k) for k, top in enumerate(self.program.body) for s in statements((top,)) for n in writes(s)]
        plain = {k for k, s in enumerate(self.program.body) if _assigns(s)}
        spoilt = {n for n, k in writers if k not in plain}
        for name in sorted(_wanted([self.program.body[k] for k in sorted(plain)]) - spoilt):
            array = self.program.arrays[name]
            if array.role == "transient" and array.shape and array.bytes <= thresholds().table_bytes:
                self.values[name] = np.empty(array.shape, array.dtype)
                self.filled[name] = np.zeros(array.shape, bool)

    def run(self, stmt: Stmt) -> None:
        """Carry out a statement if all it needs is known; otherwise what it writes never is."""
        names = writes(stmt)
        if not names <= self.values.keys():
            return
        store = stmt.body[0] if isinstance(stmt, Map) else None
        if not isinstance(stmt, Map) or not isinstance(store, Store) or not self._store(stmt, store):
            for name in names:
                del self.values[name], self.filled[name]
        elif _is_dear(store.expr):
            self.dear.add(store.array)

    def _store(self, stmt: Map, store: Store) -> bool:
        axes = _axes(stmt)
        known = self.values.keys() | self.program.constants.keys() - self.program.live
        if axes is None or not reads(stmt) <= known:
            return False
        place = [_position(i, axes) for i in store.index]
        with np.errstate(all="ignore"):
            value = value_of(store.expr, axes, lambda e: self._element(e, axes))
        if value is None or any(p is None for p in place):
            return False
        at = tuple(p for p in place if p is not None)
        if self.filled[store.array][at].any():  # written before, so perhaps read before as well
            return False
        self.values[store.array][at] = value
        self.filled[store.array][at] = True
        return True

    def _element(self, e: Load, axes: dict[str, np.ndarray]) -> np.ndarray | None:
        place = [_position(i, axes) for i in e.index]
        if any(p is None for p in place):
            return None
        at = tuple(p for p in place if p is not None)
        if e.array in self.program.constants:
            return np.asarray(self.program.constants[e.array][at])
        return self.values[e.array][at] if self.filled[e.array][at].all() else None


def value_of(e: Expr, axes: Mapping[str, np.ndarray],
             element: Callable[[Load], np.ndarray | None]) -> np.ndarray | None:
    """An expression at every point of `axes`, the values of the loop variables; None where an `element` is unknown."""
    if isinstance(e, Const):
        return np.asarray(e.value, e.dtype)
    if isinstance(e, Index):
        place = _position(e.ix, axes)
        return None if place is None else np.asarray(place).astype(e.dtype)
    if isinstance(e, Load):
        return element(e)
    args = [value_of(a, axes, element) for a in e.args] if isinstance(e, Call) else [None]
    if not isinstance(e, Call) or any(a is None for a in args):
        return None
    primal = _MORE.get(e.fn) or (None if e.fn in SPECIAL else PRIMALS.get(e.fn))  # mpmath takes its time
    return None if primal is None else np.asarray(primal(*args)).astype(e.dtype)


def _is_dear(e: Expr) -> bool:
    return any(isinstance(n, Call) and n.fn in _DEAR for n in walk(e))


def _wanted(body: Sequence[Stmt]) -> set[str]:
    """The arrays that take expensive functions to make, and what they are made of: only those are carried out."""
    wanted = {n for s in body if isinstance(s, Map) and _is_dear(s.body[0].expr) for n in writes(s)}
    while more := {n for s in body if not writes(s).isdisjoint(wanted) for n in reads(s)} - wanted:
        wanted |= more
    return wanted & {n for s in body for n in writes(s)}


def _assigns(stmt: Stmt) -> bool:
    """Whether a statement is a map with one plain store."""
    return isinstance(stmt, Map) and len(stmt.body) == 1 and isinstance(stmt.body[0], Store) and \
        stmt.body[0].op is None and stmt.body[0].array not in reads(stmt)


def _axes(stmt: Map) -> dict[str, np.ndarray] | None:
    """The values of the loop variables, each along its own dimension."""
    count, axes = len(stmt.domain), {}
    for k, r in enumerate(stmt.domain):
        if r.start.const is None or r.stop.const is None:
            return None
        axes[r.var] = np.arange(r.start.const, r.stop.const, r.step).reshape((1,) * k + (-1,) + (1,) * (count - k - 1))
    return axes


def _position(index: Ix, axes: Mapping[str, np.ndarray]) -> np.ndarray | int | None:
    """An affine index at every point."""
    affine = index.affine
    if affine is None or not affine[0].keys() <= axes.keys():
        return None
    total: np.ndarray | int = affine[1]
    for var, factor in affine[0].items():
        total = total + factor * axes[var]
    return total
