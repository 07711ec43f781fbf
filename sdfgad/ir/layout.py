"""Where the elements of an array lie that only uses part of its box: one after the other, with nothing in between.

The part is a nest of ranges: positions along a dimension go from one affine function of the positions before it to
another. The place of an element is the number of elements before it, a polynomial in the positions: in a triangle of
rows of 0, 1, 2, ... elements, element j of row i lies at i (i - 1) / 2 + j.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import comb, gcd, lcm, prod

from sdfgad.ir.index import Ix, floordiv, ix


def axis(k: int) -> str:
    """The placeholder symbol of the k-th dimension of an array or a view."""
    return f"_{k}"


@dataclass(frozen=True)
class Packing:
    """bounds: for each dimension its first position and the one after its last, in the symbols `axis(0)`, `axis(1)`,
    ... of the dimensions before it. No range of the nest is ever shorter than empty."""

    bounds: tuple[tuple[Ix, Ix], ...]

    @cached_property
    def size(self) -> int:
        """Elements of the part."""
        total, scale = self._counts[0]
        return (total.const or 0) // scale

    @cached_property
    def offset(self) -> Ix:
        """The place of element (axis(0), axis(1), ...)."""
        sums = [_sum_over(self._counts[k + 1], axis(k), low, ix(axis(k))) for k, (low, _) in enumerate(self.bounds)]
        scale = lcm(*(s for _, s in sums))
        whole = ix(0)
        for total, own in sums:
            whole = whole + total * (scale // own)
        return floordiv(whole, scale)

    @cached_property
    def _counts(self) -> tuple[tuple[Ix, int], ...]:
        """For each dimension the elements that share the positions before it, as numerator and denominator."""
        counts = [(ix(1), 1)]
        for k, (low, high) in reversed(list(enumerate(self.bounds))):
            counts.append(_sum_over(counts[-1], axis(k), low, high))
        return tuple(reversed(counts))

    def place(self, index: Sequence[Ix]) -> Ix:
        """The place of one element."""
        return self.offset.subs({axis(k): i for k, i in enumerate(index)})

    def loosened(self, free: Collection[int], shape: Sequence[int]) -> int:
        """Elements of the part if it could not make use of the positions along some dimensions: no fewer than that."""
        names = {axis(k) for k in free}
        loose = Packing(tuple(
            (ix(0), ix(n)) if k in free or not names.isdisjoint(low.symbols | high.symbols) else (low, high)
            for k, ((low, high), n) in enumerate(zip(self.bounds, shape, strict=True))))
        return min(max(loose.size, self.size), prod(shape))

    def holds(self, at: Sequence[int]) -> bool:
        """Whether a position belongs to the part."""
        here = {axis(k): p for k, p in enumerate(at)}
        return all(low.evaluate(here) <= p < high.evaluate(here)
                   for p, (low, high) in zip(at, self.bounds, strict=True))

    def __str__(self) -> str:
        return ", ".join(f"{low}:{high}" for low, high in self.bounds)


def _sum_over(term: tuple[Ix, int], var: str, low: Ix, high: Ix) -> tuple[Ix, int]:
    """The sum of a polynomial over low <= var < high; polynomials as numerator and denominator."""
    numerator, scale = term
    by_power: dict[int, Ix] = {}
    for atoms, c in numerator.terms:
        power = atoms.count(var)
        rest = Ix(((tuple(a for a in atoms if a != var), c),))
        by_power[power] = by_power.get(power, ix(0)) + rest
    common = lcm(*(c.denominator for power in by_power for c in _power_sum(power)))
    total = ix(0)
    for power, factor in by_power.items():
        whole = [int(c * common) for c in _power_sum(power)]
        total = total + factor * (_polynomial(whole, high) - _polynomial(whole, low))
    shared = gcd(scale * common, *(c for _, c in total.terms))
    return floordiv(total, shared), scale * common // shared


@cache
def _power_sum(power: int) -> tuple[Fraction, ...]:
    """Coefficients, from the constant on, of the polynomial in n that is the sum of k**power over 0 <= k < n."""
    found = [Fraction(0)] * (power + 1) + [Fraction(1)]
    for lower in range(power):
        for k, c in enumerate(_power_sum(lower)):
            found[k] -= comb(power + 1, lower) * c
    return tuple(c / (power + 1) for c in found)


def _polynomial(coefficients: Sequence[int], at: Ix) -> Ix:
    total = ix(0)
    for c in reversed(coefficients):
        total = total * at + c
    return total
