"""Integer updates that can be undone without rounding: what an element was follows from what it is.

Integers of w bits form the ring modulo 2**w, in which sums, differences, exclusive ors and products with an odd number
have inverses, overflow or not; an undo computes with unsigned integers of that width. The other kind is an update
modulo a number m of a value that is known to lie between 0 and m.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import gcd
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.elements.access import AFTER, Access, Site, interval_env, reads_of, same_instance_overlap
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, index_elems, walk
from sdfgad.ir.index import Bounds, Elem, Ix, Mod
from sdfgad.ir.program import Array, Map, Store
from sdfgad.ir.walk import expr_reads, range_elems

_INT64 = np.dtype(np.int64)
_LIMIT = 2**62
"""Numbers up to this size can be added without overflow."""

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
Interval = tuple[int, int]


@dataclass(frozen=True)
class Undone:
    """restore: puts back what a statement overwrote. reads: all it looks at, as seen from the statement."""

    restore: Map
    reads: tuple[Access, ...]


def undone(stmt: Map, site: Site, array: Array, interval: Interval | None) -> Undone | None:
    """How to take an update of an integer array back; None when that is not seen to be exact.

    interval: of all numbers that the array ever holds, where that is known.
    """
    part = stmt.body[0]
    if len(stmt.body) != 1 or not isinstance(part, Store) or array.dtype.kind not in "iub" or \
            array.name in _decisive(stmt, part) or not _same_again(part.expr):
        return None
    reads = [a for a in reads_of(stmt, site) if (a.array, a.index) != (part.array, part.index)]
    answer = Access(part.array, part.index, stmt.domain, site, AFTER)
    if any(a.array == array.name and same_instance_overlap(a, answer) for a in reads):
        return None
    env = interval_env((*site.path, *stmt.domain))
    before = _subtracted(part, array) if part.op else \
        _Solver(Load(array.name, part.index, array.dtype), interval, env).of(part.expr)
    if before is None:
        return None
    restore = Map(stmt.domain, (Store(part.array, part.index, before, part.op),), stmt.source)
    return Undone(restore, (answer, *reads))


def _decisive(stmt: Map, part: Store) -> set[str]:
    """Arrays that say which elements are written."""
    return {e.array for r in stmt.domain for e in range_elems(r)} | {e.array for i in part.index for e in i.elems}


def _same_again(e: Expr) -> bool:
    """Whether it has the same bits when it is computed again: of floating-point numbers it compares elements only."""
    floating = [n for n in walk(e) if isinstance(n, Call) and any(a.dtype.kind in "fc" for a in (n, *n.args))]
    return all(n.fn in _COMPARISONS and not any(isinstance(a, Call) for a in n.args) for n in floating)


def _subtracted(part: Store, array: Array) -> Expr | None:
    """a += e   ->   a += -e, where e looks at other arrays only."""
    if part.op != "+" or array.dtype.kind == "b" or array.name in expr_reads(part.expr):
        return None
    return algebra.cast(Call("neg", (_in_ring(part.expr, array.dtype),), _ring(array.dtype)), array.dtype)


def _ring(dtype: np.dtype) -> np.dtype:
    """Unsigned integers of the same width: their arithmetic is defined whatever the numbers are."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind in "iu" else dtype


def _in_ring(e: Expr, dtype: np.dtype) -> Expr:
    """An integer operand of an update of elements of a type, modulo their number."""
    ring = _ring(dtype)
    if isinstance(e, Const) and ring.kind == "u":
        return Const(int(e.value.real) % 2 ** (8 * ring.itemsize), ring)
    if isinstance(e, Index) and e.ix.const is not None:
        return _in_ring(Const(e.ix.const, _INT64), dtype)
    return algebra.cast(e, ring)


class _Solver:
    """Solves y = f(x) for the element x of an integer array."""

    def __init__(self, own: Load, interval: Interval | None, env: Mapping[str, Bounds]) -> None:
        self.own = own
        self.interval = interval
        self.env = env
        self.ring = _ring(own.dtype)

    def of(self, e: Expr) -> Expr | None:
        """x in terms of its new value, given that this is e."""
        modular = self._modular(e)
        if modular is not None:
            return modular
        found = self._solved(e, algebra.cast(self.own, self.ring))
        return None if found is None else algebra.cast(found, self.own.dtype)

    def touches(self, e: Expr) -> bool:
        """Whether x decides the value, by an index perhaps."""
        place = Elem(self.own.array, self.own.index)
        return any(n == self.own for n in walk(e)) or place in index_elems(e)

    def _solved(self, e: Expr, y: Expr) -> Expr | None:
        """x, given that e has the value y: in the ring, and only if each step can be taken back in it."""
        if e == self.own:
            return y
        if isinstance(e, Index):
            return self._from_index(e.ix, y) if e.dtype.kind in "iu" and e.dtype.itemsize >= y.dtype.itemsize else None
        if not isinstance(e, Call) or not self._wide_enough(e):
            return None
        if e.fn == "select":
            return self._select(e, y)
        inside = [k for k, a in enumerate(e.args) if self.touches(a)]
        step = _STEPS.get((e.fn, "b" if self.own.dtype.kind == "b" else "i"))
        if step is None or len(inside) != 1:
            return None
        others = [_in_ring(a, self.own.dtype) for a in e.args if not self.touches(a)]
        back = step(y, others, inside[0])
        return None if back is None else self._solved(e.args[inside[0]], back)

    def _wide_enough(self, e: Call) -> bool:
        """Whether no bit of x gets lost in the type of an intermediate result."""
        kinds = [a.dtype.kind for a in e.args[e.fn == "select":]]
        if self.own.dtype.kind == "b":
            return e.dtype.kind == "b" and set(kinds) == {"b"}
        return e.dtype.kind in "iu" and e.dtype.itemsize >= self.own.dtype.itemsize and \
            all(a.dtype.kind in "iu" for a in e.args if self.touches(a))

    def _select(self, e: Call, y: Expr) -> Expr | None:
        """A masked update, whose mask does not depend on x."""
        if self.touches(e.args[0]):
            return None
        yes, no = (self._solved(a, y) for a in e.args[1:])
        return None if yes is None or no is None else algebra.select(e.args[0], yes, no)

    def _from_index(self, i: Ix, y: Expr) -> Expr | None:
        """x from y = c x + rest with an odd number c."""
        linear = self._linear(i)
        if linear is None or self.own.dtype.kind == "b":
            return None
        factor, rest = linear
        return _divided(algebra.sub(y, _in_ring(Index(rest, _INT64), self.own.dtype)), factor)

    def _linear(self, i: Ix) -> tuple[int, Ix] | None:
        """(c, rest) of an index c x + rest whose rest does not look at the array."""
        atom = Elem(self.own.array, self.own.index)
        factor = next((c for m, c in i.terms if m == (atom,)), 0)
        rest = i - Ix((((atom,), 1),)) * factor
        return None if factor == 0 or any(e.array == self.own.array for e in rest.elems) else (factor, rest)

    # x = (a x + c) mod m, with x in [0, m).

    def _modular(self, e: Expr) -> Expr | None:
        found = self._congruence(e) if self.own.dtype == _INT64 else None
        if found is None or self.interval is None:
            return None
        factor, shift, bounds, m = found
        low, high = self.interval
        if not 0 <= low <= high < m < _LIMIT or gcd(factor, m) != 1 or _is_large(bounds, abs(factor) * m + m):
            return None
        back = pow(factor, -1, m)
        if back * m >= _LIMIT:
            return None
        plain = Call("mod", (algebra.sub(self.own, shift), algebra.number(m, _INT64)), _INT64)
        return plain if back == 1 else \
            Call("mod", (algebra.mul(algebra.number(back, _INT64), plain), algebra.number(m, _INT64)), _INT64)

    def _congruence(self, e: Expr) -> tuple[int, Expr, Bounds, int] | None:
        """(a, c, bounds of c, m) of an expression (a x + c) mod m."""
        if isinstance(e, Index) and len(e.ix.terms) == 1 and e.dtype == _INT64:
            (atoms, times), = e.ix.terms
            if times != 1 or len(atoms) != 1 or not isinstance(atoms[0], Mod):
                return None
            inner, divisor = atoms[0].parts
            linear = self._linear(inner)
            if linear is None or divisor.const is None:
                return None
            return linear[0], Index(linear[1], _INT64), linear[1].bounds(self.env), divisor.const
        if isinstance(e, Call) and e.fn == "mod" and e.dtype == _INT64 and isinstance(e.args[1], Const):
            affine = self._affine(e.args[0])
            return None if affine is None else \
                (affine[0], algebra.number(affine[1], _INT64), (affine[1], affine[1]), int(e.args[1].value.real))
        return None

    def _affine(self, e: Expr) -> tuple[int, int] | None:
        """(a, c) of a x + c with two numbers."""
        if e.dtype != _INT64:
            return None
        if e == self.own:
            return 1, 0
        if isinstance(e, Const):
            return 0, int(e.value.real)
        if isinstance(e, Call) and e.fn in ("add", "sub", "mul"):
            left, right = (self._affine(a) for a in e.args)
            if left is None or right is None or e.fn == "mul" and left[0] and right[0]:
                return None
            sign = -1 if e.fn == "sub" else 1
            return (left[0] * right[1] + left[1] * right[0], left[1] * right[1]) if e.fn == "mul" else \
                (left[0] + sign * right[0], left[1] + sign * right[1])
        return None


def _is_large(bounds: Bounds, besides: int) -> bool:
    """Whether a number within the bounds plus another of a given size may overflow."""
    return None in bounds or max(abs(b or 0) for b in bounds) + besides >= _LIMIT


def _divided(y: Expr, factor: int) -> Expr | None:
    """x from y = factor x in the ring."""
    bits = 8 * y.dtype.itemsize
    if factor % 2 == 0:
        return None
    back = pow(factor, -1, 2**bits)
    return algebra.neg(y) if back == 2**bits - 1 else algebra.mul(y, Const(back, y.dtype))


def _product(y: Expr, others: list[Expr], place: int) -> Expr | None:
    factor = others[0]
    return _divided(y, int(factor.value.real)) if isinstance(factor, Const) else None


Step = Callable[[Expr, list[Expr], int], Expr | None]
_STEPS: Mapping[tuple[str, str], Step] = MappingProxyType({
    ("add", "i"): lambda y, others, place: algebra.sub(y, others[0]),
    ("sub", "i"): lambda y, others, place: algebra.add(y, others[0]) if place == 0 else algebra.sub(others[0], y),
    ("neg", "i"): lambda y, others, place: algebra.neg(y),
    ("cast", "i"): lambda y, others, place: y,
    ("mul", "i"): _product,
    ("bitxor", "i"): lambda y, others, place: Call("bitxor", (y, others[0]), y.dtype),
    ("invert", "i"): lambda y, others, place: Call("invert", (y,), y.dtype),
    ("bitxor", "b"): lambda y, others, place: Call("ne", (y, others[0]), y.dtype),
    ("ne", "b"): lambda y, others, place: Call("ne", (y, others[0]), y.dtype),
    ("not", "b"): lambda y, others, place: Call("not", (y,), y.dtype),
    ("invert", "b"): lambda y, others, place: Call("not", (y,), y.dtype),
})
"""How to take back one step of an expression: y, the other operands, and which operand x is in."""


def held(e: Expr, env: Mapping[str, Bounds]) -> Interval | None:
    """Bounds of an integer expression; None when they are not seen."""
    if e.dtype.kind not in "biu":
        return None
    if isinstance(e, Const):
        return int(e.value.real), int(e.value.real)
    if isinstance(e, Index):
        low, high = e.ix.bounds(env)
        return None if low is None or high is None else (low, high)
    if isinstance(e, Call) and e.fn == "mod" and isinstance(e.args[1], Const) and e.args[1].value.real > 0:
        return 0, int(e.args[1].value.real) - 1
    if isinstance(e, Call) and e.fn == "select":
        yes, no = (held(a, env) for a in e.args[1:])
        return None if yes is None or no is None else (min(yes[0], no[0]), max(yes[1], no[1]))
    return None
