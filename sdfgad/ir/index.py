"""Integer index expressions in normal form: polynomials with integer coefficients over opaque atoms.

Two indices are equal as values exactly when they compare equal, as long as they only add, subtract and multiply.
Division, remainder, minimum, maximum and elements read from an integer array are atoms.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from types import MappingProxyType
from typing import TypeAlias, Union

from sdfgad.ir.atoms import Atom as Atom
from sdfgad.ir.atoms import Elem as Elem
from sdfgad.ir.atoms import FloorDiv as FloorDiv
from sdfgad.ir.atoms import Max as Max
from sdfgad.ir.atoms import Min as Min
from sdfgad.ir.atoms import Mod as Mod
from sdfgad.ir.atoms import Subscript as Subscript
from sdfgad.ir.interned import Table
from sdfgad.ir.intervals import Bounds as Bounds
from sdfgad.ir.intervals import known_of, product

Like: TypeAlias = Union["Ix", int, str]
LONGEST_TEXT = 1 << 12
"""Characters. Indices that share parts may be exponentially longer than what is stored: a digest stands for those."""


_KNOWN = Table()


@dataclass(frozen=True, eq=False, init=False)
class Ix:
    """An integer expression: sum of coefficient times product of atoms. Build with `ix`, never directly. There is one
    object for each: equal indices are the same."""

    terms: tuple[tuple[tuple[Atom, ...], int], ...]

    def __new__(cls, terms: tuple[tuple[tuple[Atom, ...], int], ...]) -> Ix:
        found: Ix | None = _KNOWN.get(terms)
        if found is None:
            made = object.__new__(cls)
            made.__dict__["terms"] = terms
            found = _KNOWN.add(terms, made)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return Ix, (self.terms,)

    @cached_property
    def const(self) -> int | None:
        """The value when it is a literal number, else None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def __add__(self, other: Like) -> Ix:
        terms = ix(other).terms
        if not terms:
            return self
        if len(terms) == 1 and not terms[0][0]:
            return self._more(terms[0][1])
        return _collect([*self.terms, *terms])

    def _more(self, number: int) -> Ix:
        """So much more; a constant is the last term."""
        rest = self.terms
        if rest and not rest[-1][0]:
            number += rest[-1][1]
            rest = rest[:-1]
        return Ix((*rest, ((), number)) if number else rest)

    def __sub__(self, other: Like) -> Ix:
        terms = ix(other).terms
        if not terms:
            return self
        if len(terms) == 1 and not terms[0][0]:
            return self._more(-terms[0][1])
        return _collect([*self.terms, *[(m, -c) for m, c in terms]])

    def __neg__(self) -> Ix:
        return Ix(tuple((m, -c) for m, c in self.terms))

    def __mul__(self, other: Like) -> Ix:
        other = ix(other)
        return _collect([(_monomial(m + n), c * d) for m, c in self.terms for n, d in other.terms])

    def __floordiv__(self, other: Like) -> Ix:
        return floordiv(self, ix(other))

    def __mod__(self, other: Like) -> Ix:
        return mod(self, ix(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Like) -> Ix:
        return ix(other) - self

    @cached_property
    def atoms(self) -> frozenset[Atom]:
        """Every atom of every monomial, not descending into atoms."""
        return frozenset(a for m, _ in self.terms for a in m)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """Names of all symbols, inside atoms too."""
        return frozenset(s for a in self.atoms for s in ([a] if isinstance(a, str) else _atom_symbols(a)))

    @cached_property
    def elems(self) -> tuple[Elem, ...]:
        """Array elements the index reads, inner ones first."""
        found: dict[Elem, None] = {}
        for m, _ in self.terms:
            for atom in m:
                if not isinstance(atom, str):
                    found.update(dict.fromkeys(e for part in atom.parts for e in part.elems))
                    if isinstance(atom, Elem):
                        found[atom] = None
        return tuple(found)

    @cached_property
    def affine(self) -> tuple[dict[str, int], int] | None:
        """`({symbol: coefficient}, constant)` when the index is affine in plain symbols, else None."""
        coefficients, constant = {}, 0
        for m, c in self.terms:
            if not m:
                constant = c
            elif len(m) == 1 and isinstance(m[0], str):
                coefficients[m[0]] = c
            else:
                return None
        return coefficients, constant

    def coefficient(self, symbol: str) -> int | None:
        """The integer factor of `symbol`, or None when the index is not linear in it."""
        if self.affine is not None:
            return self.affine[0].get(symbol, 0)
        factor = 0
        for m, c in self.terms:
            if m == (symbol,):
                factor = c
            elif any(a == symbol or (not isinstance(a, str) and symbol in _atom_symbols(a)) for a in m):
                return None
        return factor

    def subs(self, mapping: Mapping[str, Like]) -> Ix:
        """Replace symbols simultaneously."""
        if not mapping or self.symbols.isdisjoint(mapping):
            return self
        def put(atom: Atom) -> Ix | None:
            return ix(mapping[atom]) if isinstance(atom, str) and atom in mapping else None

        total: list[tuple[tuple[Atom, ...], int]] = []
        for m, c in self.terms:
            if len(m) != 1 or type(m[0]) is not str:
                total += _rebuilt(m, c, put)
            elif m[0] in mapping:
                total += [(n, c * d) for n, d in ix(mapping[m[0]]).terms]
            else:
                total.append((m, c))
        return _collect(total)

    def rebuild(self, replace: Callable[[Atom], Ix | None]) -> Ix:
        """Rewrite atoms bottom up; `replace` returns None to keep an atom (its parts are rewritten all the same)."""
        return _collect([term for m, c in self.terms for term in _rebuilt(m, c, replace)])

    def bounds(self, env: Mapping[str, Bounds]) -> Bounds:
        """Smallest and largest value when each symbol lies in its (inclusive) interval; None is unbounded."""
        low: int | None = 0
        high: int | None = 0
        for m, c in self.terms:
            part: Bounds = (c, c)
            for atom in m:
                known = env.get(atom, (None, None)) if type(atom) is str else _atom_bounds(atom, env)
                part = known if part == (1, 1) else product(part, known)
            low = None if low is None or part[0] is None else low + part[0]
            high = None if high is None or part[1] is None else high + part[1]
        return low, high

    def simplify(self, env: Mapping[str, Bounds]) -> Ix:
        """Drop divisions, remainders, minima and maxima that the bounds decide."""
        if all(isinstance(a, str) for a in self.atoms):
            return self
        return self.rebuild(lambda a: None if isinstance(a, str) else _decide(a, env))

    def evaluate(self, env: Mapping[str, int], read: Callable[[str, tuple[int, ...]], int] | None = None) -> int:
        """The number, given every symbol (and a reader for array elements)."""
        total = 0
        for m, c in self.terms:
            for a in m:
                c = c * (env[a] if isinstance(a, str) else a.value([p.evaluate(env, read) for p in a.parts], read))
            total = total + c  # not in place: arrays of numbers are taken, too
        return total

    @cached_property
    def _text(self) -> str:
        text = ""
        for m, c in self.terms:
            body = "*".join(str(a) for a in m)
            factor = str(abs(c)) if not body else body if abs(c) == 1 else f"{abs(c)}*{body}"
            text += (" - " if c < 0 else " + ") + factor
        text = (text[3:] if text.startswith(" + ") else "-" + text[3:]) if text else "0"
        return text if len(text) <= LONGEST_TEXT else f"<{hashlib.sha256(text.encode()).hexdigest()}>"

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def ix(value: Like) -> Ix:
    """An index from a number, a symbol name or an index."""
    if isinstance(value, Ix):
        return value
    return _symbol(value) if isinstance(value, str) else _number(int(value))


@lru_cache(maxsize=1 << 12)
def _symbol(name: str) -> Ix:
    return Ix((((name,), 1),))


@lru_cache(maxsize=1 << 12)
def _number(value: int) -> Ix:
    return Ix((((), value),) if value else ())


def floordiv(a: Like, b: Like) -> Ix:
    """Python's `a // b`; terms that `b` divides leave the division."""
    a, b = ix(a), ix(b)
    if b.const in (None, 0):
        return of_atom(FloorDiv((a, b)))
    whole, rest = _split_divisible(a, b.const)
    if rest.const is not None:
        return whole + rest.const // b.const
    return whole + of_atom(FloorDiv((rest, b)))


def mod(a: Like, b: Like) -> Ix:
    """Python's `a % b`; multiples of `b` are dropped, and remainders of `b` on the way to the last one."""
    a, b = ix(a), ix(b)
    if b.const in (None, 0):
        return of_atom(Mod((a, b)))
    _, rest = _split_divisible(without_remainders(a, b), b.const)
    return ix(rest.const % b.const) if rest.const is not None else of_atom(Mod((rest, b)))


def place(a: Like, b: Like) -> Ix:
    """`a` as an index into `b` elements, looked at by the run where data decide it; the remainder where they do not."""
    a, b = ix(a), ix(b)
    return of_atom(Subscript((a, b))) if a.elems else mod(a, b)


def minimum(a: Like, b: Like) -> Ix:
    """The smaller of two indices; decided at once when they differ by a constant."""
    a, b = ix(a), ix(b)
    gap = (a - b).const
    return (a if gap <= 0 else b) if gap is not None else of_atom(Min(tuple(sorted((a, b), key=str))))


def maximum(a: Like, b: Like) -> Ix:
    """The larger of two indices; decided at once when they differ by a constant."""
    a, b = ix(a), ix(b)
    gap = (a - b).const
    return (a if gap >= 0 else b) if gap is not None else of_atom(Max(tuple(sorted((a, b), key=str))))


def elem(array: str, index: tuple[Like, ...]) -> Ix:
    """The index read from element `index` of integer array `array`."""
    return of_atom(Elem(array, tuple(ix(i) for i in index)))


def of_atom(atom: Atom) -> Ix:
    """The index that is an atom alone."""
    return Ix((((atom,), 1),))


def _collect(terms: list[tuple[tuple[Atom, ...], int]]) -> Ix:
    total: dict[tuple[Atom, ...], int] = {}
    for m, c in terms:
        total[m] = total.get(m, 0) + c
    kept = [(m, c) for m, c in total.items() if c]
    if len(kept) > 2 or len(kept) == 2 and kept[1][0]:  # of two, a constant is last
        kept.sort(key=_order)
    return Ix(tuple(kept)) if kept else ZERO


def _order(term: tuple[tuple[Atom, ...], int]) -> tuple[bool, int, list[str]]:
    """By which the terms of an index are sorted, constants last."""
    monomial = term[0]
    return not monomial, len(monomial), [a if type(a) is str else str(a) for a in monomial]


def _monomial(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    return tuple(sorted(atoms, key=str)) if len(atoms) > 1 else atoms


def _split_divisible(a: Ix, b: int) -> tuple[Ix, Ix]:
    whole = _collect([(m, c // b) for m, c in a.terms if m and c % b == 0])
    rest = _collect([(m, c) for m, c in a.terms if not m or c % b])
    return whole, rest


def without_remainders(a: Ix, b: Ix | None = None) -> Ix:
    """The index with `x` for each term `x % b` in it, whatever the divisor if `b` is None."""
    total = ZERO
    for m, c in a.terms:
        inner = [n.parts[0] if isinstance(n, Mod) and b in (None, n.parts[1]) else of_atom(n) for n in m]
        total = total + reduce(Ix.__mul__, inner, ix(c))
    return total


def _atom_symbols(atom: Atom) -> Iterator[str]:
    if isinstance(atom, str):
        yield atom
        return
    for part in atom.parts:
        yield from part.symbols


def _rebuilt(monomial: tuple[Atom, ...], factor: int,
             replace: Callable[[Atom], Ix | None]) -> list[tuple[tuple[Atom, ...], int]]:
    """The terms that a term becomes when its atoms are rewritten."""
    product: list[tuple[tuple[Atom, ...], int]] = [((), factor)]
    for atom in monomial:
        new = _rebuild_atom(atom, replace).terms
        product = [(_monomial(a + b), d * e) for a, d in product for b, e in new]
    return product


def _rebuild_atom(atom: Atom, replace: Callable[[Atom], Ix | None]) -> Ix:
    if isinstance(atom, str):
        new = replace(atom)
        return of_atom(atom) if new is None else new
    parts = tuple(p.rebuild(replace) for p in atom.parts)
    if isinstance(atom, Elem):
        rebuilt: Atom = Elem(atom.array, parts)
        new = replace(rebuilt)
        return of_atom(rebuilt) if new is None else new
    combined = _COMBINE[type(atom)](*parts)
    if combined.atoms and len(combined.terms) == 1 and len(combined.terms[0][0]) == 1 and combined.terms[0][1] == 1:
        new = replace(combined.terms[0][0][0])
        return combined if new is None or isinstance(combined.terms[0][0][0], str) else new
    return combined


_COMBINE: Mapping[type, Callable[[Ix, Ix], Ix]] = MappingProxyType(
    {FloorDiv: floordiv, Mod: mod, Subscript: place, Min: minimum, Max: maximum})


def _atom_bounds(atom: Atom, env: Mapping[str, Bounds]) -> Bounds:
    if isinstance(atom, str):
        return env.get(atom, (None, None))
    if isinstance(atom, Elem):
        return (None, None)
    (alo, ahi), (blo, bhi) = (p.bounds(env) for p in atom.parts)
    if isinstance(atom, Min):
        return (None if alo is None or blo is None else min(alo, blo), known_of(min, ahi, bhi))
    if isinstance(atom, Max):
        return (known_of(max, alo, blo), None if ahi is None or bhi is None else max(ahi, bhi))
    if blo is None or blo <= 0 or blo != bhi:
        return (None, None)
    if isinstance(atom, Mod):
        return (0, blo - 1)
    return (None if alo is None else alo // blo, None if ahi is None else ahi // blo)


def _decide(atom: Atom, env: Mapping[str, Bounds]) -> Ix | None:
    if isinstance(atom, (str, Elem)):
        return None
    a, b = atom.parts
    if isinstance(atom, (FloorDiv, Mod)):
        low, high = a.bounds(env)
        if b.const is None or b.const <= 0 or low is None or high is None or low // b.const != high // b.const:
            return None
        return ix(low // b.const) if isinstance(atom, FloorDiv) else a - (low // b.const) * b.const
    low, high = (a - b).bounds(env)
    if high is not None and high <= 0:
        return a if isinstance(atom, Min) else b
    if low is not None and low >= 0:
        return b if isinstance(atom, Min) else a
    return None


ZERO = Ix(())
