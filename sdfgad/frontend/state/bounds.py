"""What is known of integers at one point of the program: ranges of loop variables, facts of the branches taken."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sdfgad.ir.index import Bounds, Elem, Ix, floordiv, ix, maximum, minimum, mod
from sdfgad.ir.program import Range

UNKNOWN: Bounds = (None, None)
"""Of integers of which nothing is known."""


@dataclass
class KnownBounds:
    """Enclosing loops, outermost first, with facts `f >= 0` and known bounds of integer containers."""

    ranges: list[Range] = field(default_factory=list)
    facts: list[Ix] = field(default_factory=list)
    containers: dict[str, Bounds] = field(default_factory=dict)
    unsigned: set[str] = field(default_factory=set)

    def bounds(self, i: Ix, extra: Sequence[Range] = ()) -> Bounds:
        """Proven smallest and largest value; None where nothing is known."""
        if i.const is not None:
            return (i.const, i.const)
        i, known = self._named(i)
        ranges = [*self.ranges, *extra]
        env = self._intervals(ranges, known)
        low, high = i.bounds(env)
        for sign in (-1, 1):
            reached = _extreme(i, ranges, sign)
            found = reached.bounds(env) if reached is not None else UNKNOWN
            low, high = (_tighter(max, low, found[0]), high) if sign < 0 else (low, _tighter(min, high, found[1]))
        for fact in self.facts:
            if (gap := (i - fact).const) is not None:
                low = _tighter(max, low, gap)
            if (total := (i + fact).const) is not None:
                high = _tighter(min, high, total)
        return low, high

    def nonnegative(self, i: Ix) -> bool:
        """Whether `i >= 0` is proven."""
        low = self.bounds(i)[0]
        return low is not None and low >= 0

    def forget(self, array: str) -> None:
        """Facts about elements of `array` no longer hold: it has been written."""
        for k, fact in enumerate(self.facts):
            if any(e.array == array for e in fact.elems):
                self.facts[k] = ix(0)

    def env(self, extra: Sequence[Range] = ()) -> Mapping[str, Bounds]:
        """Intervals of all variables in sight."""
        return self._intervals([*self.ranges, *extra], {})

    def least(self, a: Ix, b: Ix) -> Ix:
        """`min(a, b)`, decided where possible."""
        low, high = self.bounds(a - b)
        if high is not None and high <= 0:
            return a
        return b if low is not None and low >= 0 else minimum(a, b)

    def greatest(self, a: Ix, b: Ix) -> Ix:
        """`max(a, b)`, decided where possible."""
        low, high = self.bounds(a - b)
        if low is not None and low >= 0:
            return a
        return b if high is not None and high <= 0 else maximum(a, b)

    def wrapped(self, i: Ix, extent: Ix) -> Ix:
        """An index as Python reads it: negative ones count from the end."""
        low, high = self.bounds(i)
        if low is not None and low >= 0:
            return i
        if high is not None and high < 0:
            return i + extent
        return mod(i, extent)

    def slice(self, start: Ix | None, stop: Ix | None, step: int, extent: Ix) -> tuple[Ix, Ix]:
        """First index and number of items of `start:stop:step` over `extent` items."""
        if extent.const is not None and all(e is None or e.const is not None for e in (start, stop)):
            chosen = range(*slice(None if start is None else start.const, None if stop is None else stop.const,
                                  step).indices(extent.const))
            return ix(chosen.start), ix(len(chosen))
        bottom, top = (ix(0), extent) if step > 0 else (ix(-1), extent - 1)
        first = self._clamped(start, extent, bottom, top) if start is not None else (bottom if step > 0 else top)
        last = self._clamped(stop, extent, bottom, top) if stop is not None else (top if step > 0 else bottom)
        gap = last - first if step > 0 else first - last
        gap = self.greatest(gap, ix(0))
        return first, gap if abs(step) == 1 else floordiv(gap + (abs(step) - 1), abs(step))

    def disjoint(self, a: Sequence[Ix], b: Sequence[Ix], domain: Sequence[Range]) -> bool:
        """Whether no two points of `domain` make element `a` of one and element `b` of the other equal."""
        other = {r.var: f"{r.var}'" for r in domain}
        copies = [replace(r, var=other[r.var], start=r.start.subs(other), stop=r.stop.subs(other)) for r in domain]
        for left, right in zip(a, b, strict=True):
            gap = left.subs(other) - right
            low, high = self.bounds(gap, [*domain, *copies])
            if (low is not None and low > 0) or (high is not None and high < 0) or _parity(gap):
                return True
        return False

    def _clamped(self, i: Ix, extent: Ix, bottom: Ix, top: Ix) -> Ix:
        low, high = self.bounds(i)
        if high is not None and high < 0:
            i = i + extent
        elif low is None or low < 0:
            # -max(-1, min(0, i)) is 1 exactly when i is negative
            i = i - extent * maximum(minimum(i, 0), -1)
        return self.least(self.greatest(i, bottom), top)

    def _named(self, i: Ix) -> tuple[Ix, dict[str, Bounds]]:
        """Array elements inside `i` as symbols with the bounds known for their container."""
        known: dict[str, Bounds] = {}

        def one(atom: object) -> Ix | None:
            if not isinstance(atom, Elem):
                return None
            known[f"@{atom}"] = self.containers.get(atom.array, (0, None) if atom.array in self.unsigned else UNKNOWN)
            return ix(f"@{atom}")

        return (i.rebuild(one) if i.elems else i), known

    def _intervals(self, ranges: Sequence[Range], known: Mapping[str, Bounds]) -> dict[str, Bounds]:
        env = dict(known)
        for r in ranges:
            (start_ix, more), (end_ix, others) = self._named(r.start), self._named(_end(r))
            env.update(more | others)
            first, last = start_ix.bounds(env), end_ix.bounds(env)
            env[r.var] = (first[0], last[1]) if r.step > 0 else (last[0], first[1])
        return env


def _end(r: Range) -> Ix:
    """The last number of a range, or what none of its numbers lies behind: of 0:6:2 it is 4."""
    if r.trips:
        return r.start + (r.trips - 1) * r.step
    return r.stop - 1 if r.step > 0 else r.stop + 1


def _tighter(pick: object, a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else pick(a, b)  # type: ignore[operator]


def _extreme(i: Ix, ranges: Sequence[Range], sign: int) -> Ix | None:
    """`i` with loop variables, innermost first, put at the end of their range that makes it largest (or smallest)."""
    for r in reversed(ranges):
        factor = i.coefficient(r.var)
        if factor is None:
            return None
        if factor:
            upper = factor * sign > 0
            i = i.subs({r.var: _end(r) if upper == (r.step > 0) else r.start})
    return i


def _parity(gap: Ix) -> bool:
    """Whether a common divisor of all coefficients, not of the constant, keeps `gap` from being 0."""
    affine = gap.affine
    if affine is None or not affine[0]:
        return affine is not None and affine[1] != 0
    divisor = 0
    for c in affine[0].values():
        divisor, c = abs(c), divisor
        while c:
            divisor, c = c, divisor % c
    return affine[1] % divisor != 0
