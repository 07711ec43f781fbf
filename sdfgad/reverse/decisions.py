"""Keep how comparisons turned out instead of the values compared, where the derivative needs no more than that."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from sdfgad.analysis.block_local import blocks
from sdfgad.analysis.reversal.needed import Needed
from sdfgad.ir.bits import BOOL, BYTE, FOLLOWS, MOST_BITS, bits, packed, truths_of
from sdfgad.ir.expr import Call, Const, Expr, Load, loads, rewrite, walk
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import reads, rebuild, statements
from sdfgad.names import fresh

MIRRORED = MappingProxyType({"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"})
"""Each comparison, and what it is with its operands exchanged."""


def with_decisions(program: Program, facts: Needed, lost: frozenset[str]) -> tuple[Program, frozenset[str]]:
    """x = min(x, y)   ->   code = (x < y) + 2 * (y < x) + ... ; x = min(x, y)

    For statements whose derivative looks at values it would have to be given back (`lost`) in comparisons only. Also
    returns the names of the codes; the derivative takes the bits from there (`bits_of`).
    """
    arrays = dict(program.arrays)
    codes: dict[int, Map] = {}
    for stmt in statements(program.body):
        found = _comparisons(stmt, facts, lost)
        if found and isinstance(stmt, Map):
            name = fresh("decision", set(arrays))
            shape = tuple(r.trips or 0 for r in stmt.domain)
            arrays[name] = Array(name, shape, BYTE, source=stmt.source, label="decision")
            at = tuple(ix(r.var) - r.start for r in stmt.domain)
            codes[id(stmt)] = Map(stmt.domain, (Store(name, at, packed(found)),), stmt.source)
    body = rebuild(program.body, lambda s: (codes[id(s)], s) if id(s) in codes else (s,))
    names = frozenset(arrays) - frozenset(program.arrays)
    return program.but(body=body, arrays=arrays), names


def _comparisons(stmt: Stmt, facts: Needed, lost: frozenset[str]) -> list[Expr]:
    """The comparisons in the derivative of a statement, when they alone look at something lost."""
    linear = facts.linear.get(id(stmt))
    if linear is None or linear.after or linear.prep or not isinstance(stmt, Map):
        return []
    if any(r.step != 1 or r.trips is None or r.start.const is None for r in stmt.domain):
        return []
    parts = [p.expr for s in linear.linear if isinstance(s, Map) and s.domain == stmt.domain for p in s.body]
    found = _once(n for e in parts for n in walk(e) if isinstance(n, Call) and _compares(n))
    inside = {n.array for c in found for n in loads(c)} & lost
    outside = set().union(*(reads(_undecided(s)) for s in linear.linear)) if linear.linear else set()
    nested = any(_compares(n) for c in found for n in walk(c) if n != c)
    return found if inside - outside and len(found) <= MOST_BITS and not nested else []


def _once(comparisons: Iterable[Call]) -> list[Expr]:
    """Each comparison once, whichever way round it stands."""
    found: dict[Call, None] = {}
    for c in comparisons:
        if _mirror(c) not in found:
            found[c] = None
    return [c for pair in _pairs(found) for c in pair]


def _pairs(comparisons: Iterable[Call]) -> Iterator[tuple[Call, ...]]:
    """The comparisons of the same two numbers; more than two follow from two, of which both hold where they are equal
    and neither does where one is NaN."""
    groups: dict[frozenset[Expr], list[Call]] = {}
    for c in comparisons:
        groups.setdefault(frozenset(c.args), []).append(c)
    for group in groups.values():
        first, dtypes = group[0], {a.dtype.kind for a in group[0].args}
        both_ways = Call("le", first.args, BOOL), Call("ge", first.args, BOOL)
        yield both_ways if len(group) > 2 and dtypes <= set("fiu") else tuple(group)


def _mirror(c: Call) -> Call:
    """The same comparison from the other side."""
    return Call(MIRRORED[c.fn], tuple(reversed(c.args)), c.dtype)


def _compares(n: Expr) -> bool:
    return isinstance(n, Call) and n.fn in MIRRORED and bool(loads(n))


def _undecided(stmt: Stmt) -> Stmt:
    """The statement with every comparison decided one way: what is left does not depend on how."""
    if not isinstance(stmt, Map):
        return stmt
    body = tuple(replace(p, expr=rewrite(p.expr, lambda n: Const(True, BOOL) if _compares(n) else None))
                 for p in stmt.body)
    return replace(stmt, body=body)


def bits_of(program: Program, codes: frozenset[str]) -> Mapping[int, Mapping[Expr, Expr]]:
    """For each statement (its `id`) that follows the making of a code: where to find its comparisons."""
    return {id(after): table for block in blocks(program.body) for after, table in _tables(block, codes)}


def _tables(block: Block, codes: frozenset[str]) -> Iterator[tuple[Stmt, Mapping[Expr, Expr]]]:
    for before, after in zip(block, block[1:], strict=False):
        part = before.body[0] if isinstance(before, Map) else None
        if isinstance(part, Store) and part.array in codes:
            code = Load(part.array, part.index, BYTE)
            found = [c for c in truths_of(part.expr) if isinstance(c, Call)]
            own: dict[Call, Expr] = {c: bits(code, k, [True]) for k, c in enumerate(found)}
            known = {**_following(code, found), **own}
            yield after, {way: bit for c, bit in known.items() for way in (c, _mirror(c))}


def _following(code: Load, found: list[Call]) -> dict[Call, Expr]:
    """The comparisons that follow from `x <= y` and `x >= y`, whose bits are neighbours."""
    out: dict[Call, Expr] = {}
    for k, (c, other) in enumerate(pairwise(found)):
        if c.fn == "le" and other == Call("ge", c.args, c.dtype):
            for values, fn in FOLLOWS.items():
                out[Call(fn, c.args, BOOL)] = bits(code, k, values)
            equal = bits(code, k, (True, True))
            out[Call("ne", c.args, BOOL)] = Call("ne", equal.args, BOOL) if isinstance(equal, Call) else equal
    return out
