"""Rows that only meet in sums: they may run one after the other, each with all of its statements."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sdfgad.analysis.loops.numbering import Numberings
from sdfgad.analysis.loops.rows import RowNumbering, distance, maps_of, reach, seeds, touches
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, loads
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Let, Map, Stmt, Store
from sdfgad.ir.walk import reads, rebuild_blocks, rename_symbols, statements, writes
from sdfgad.transform.spelling import only_store

Terms: TypeAlias = dict[tuple[str, int], Expr]


@dataclass(frozen=True)
class InTurn:
    """A run taken apart: `before` for all rows, then `body` row by row, in any order but not at the same time.

    met: the arrays in which rows meet.
    """

    before: Block
    body: Block
    rows: RowNumbering
    met: frozenset[str]


def rows_in_turn(run: Block, arrays: Mapping[str, Array]) -> Iterator[InTurn]:
    """map i = 0:n: y[i] = 0 ; map i = 0:n: t[i] = f(i) ; map i = 1:n: y[i] += t[i] + t[i - 1]
    ->   map i = 0:n: y[i] = 0 | map i = 0:n: t[i] = f(i) ; map i = 1:n: y[i] += t[i] ; map i = 0:n-1: y[i + 1] += t[i]

    Sums over neighbouring rows are split: each row adds its own terms wherever they go. What else writes the target
    has to come before everything that looks at it.
    """
    written = {t.array for m in maps_of(run) for t in touches(m) if t.written}
    split = (m for m in maps_of(run) if len(_by_shift(m, written)) > 1)
    met = frozenset(p.array for m in split for p in m.body if isinstance(p, Store))
    if not met:
        return
    before, body = _hoisted(rebuild_blocks(run, lambda b: _scattered(b, met, written)), met)
    if not _only_sums(body, met):
        return
    numbering = Numberings(body)
    for name, dim in seeds(body, arrays):
        if name in met:
            continue
        rows = numbering.numbered(name, dim, met)
        parts = [reach(s, rows) for s in body]
        if all(p is not None and p.stray.isdisjoint(written - met) for p in parts):
            yield InTurn(before, body, rows, met)


def _by_shift(stmt: Map, written: set[str]) -> Terms:
    """The terms of a sum by the variable and the distance at which they read what the run writes; empty when all of
    them read their own row, or one several rows."""
    store = only_store(stmt)
    if store is None or store.op not in (None, "+"):
        return {}
    bounds = {s for r in stmt.domain for s in r.start.symbols | r.stop.symbols}
    for r in stmt.domain:
        if r.step == 1 and r.start.const is not None and r.stop.const is not None and r.var not in bounds:
            found = _grouped(store.expr, r.var, written)
            if found and found.keys() != {(r.var, 0)}:
                return found
    return {}


def _grouped(e: Expr, var: str, written: set[str]) -> Terms:
    found: Terms = {}
    for term in _terms(e):
        shift = _shift(term, var, written)
        if shift is None:
            return {}
        found[var, shift] = algebra.add(found[var, shift], term) if (var, shift) in found else term
    return found


def _terms(e: Expr, minus: bool = False) -> Iterator[Expr]:
    if isinstance(e, Call) and e.fn in ("add", "sub"):
        yield from _terms(e.args[0], minus)
        yield from _terms(e.args[1], minus != (e.fn == "sub"))
    elif isinstance(e, Call) and e.fn == "neg":
        yield from _terms(e.args[0], not minus)
    else:
        yield algebra.neg(e) if minus else e


def _shift(term: Expr, var: str, written: set[str]) -> int | None:
    """The distance from `var` at which a term reads what the run writes; None when there are several."""
    found = {distance(i, var) for n in loads(term) if n.array in written for i in n.index if var in i.symbols}
    return (found or {0}).pop() if len(found) < 2 else None


def _scattered(block: Sequence[Stmt], met: frozenset[str], written: set[str]) -> Block:
    """The block with each sum into `met` in parts, one per row that its terms come from."""
    out: list[Stmt] = []
    for stmt in block:
        for part in _parts(stmt, met, written) if isinstance(stmt, Map) else (stmt,):
            found = ((k, _joined(before, part)) for k, before in _sums_before(out, part))
            place, whole = next(((k, whole) for k, whole in found if whole is not None), (len(out), part))
            out[place:place + 1] = [whole]
    return tuple(out)


def _parts(stmt: Map, met: frozenset[str], written: set[str]) -> tuple[Map, ...]:
    store = only_store(stmt)
    terms = _by_shift(stmt, written)
    if store is None or store.array not in met or not terms:
        return (stmt,)
    clear = replace(stmt, body=(replace(store, expr=algebra.zero(store.expr.dtype)),))
    parts = tuple(_shifted(replace(stmt, body=(replace(store, expr=e, op="+"),)), *key) for key, e in terms.items())
    return parts if store.op else (clear, *parts)


def _shifted(stmt: Map, var: str, by: int) -> Map:
    """The same map with a variable that counts from `by` on."""
    domain = tuple(replace(r, start=r.start + by, stop=r.stop + by) if r.var == var else r for r in stmt.domain)
    return Map(domain, _body(stmt, {var: ix(var) - by}), stmt.source)


def _body(stmt: Map, names: Mapping[str, Ix]) -> tuple[Let | Store, ...]:
    """The body of a map with other variables."""
    moved, = rename_symbols((replace(stmt, domain=()),), names)
    if not isinstance(moved, Map):
        raise TypeError("new names change no statement into another")
    return moved.body


def _sums_before(block: Sequence[Stmt], part: Stmt) -> Iterator[tuple[int, Map]]:
    """The sums into the same array at the end of a block, which may change places with this one, and where they are."""
    target = _target(part)
    for k in range(len(block) - 1, -1, -1):
        before = block[k]
        if target is None or not isinstance(before, Map) or _target(before) != target:
            return
        yield k, before


def _target(stmt: Stmt) -> str | None:
    """What a sum that does not read its target adds to."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if store is None or store.op != "+" or not isinstance(stmt, Map):
        return None
    return None if any(t.array == store.array and not t.written for t in touches(stmt)) else store.array


def _joined(first: Map, second: Stmt) -> Map | None:
    """One map for two that do the same on neighbouring ranges of one variable."""
    if not isinstance(second, Map):
        return None
    names = {r.var: ix(have.var) for have, r in zip(first.domain, second.domain, strict=False)}
    gaps = [(a, b) for a, b in zip(first.domain, second.domain, strict=False)
            if (a.start, a.stop, a.step) != (b.start, b.stop, b.step)]
    if len(first.domain) != len(second.domain) or _body(second, names) != first.body or len(gaps) != 1:
        return None
    (a, b), = gaps
    if a.step != 1 or b.step != 1 or None in (a.start.const, b.start.const) or a.stop != b.start and b.stop != a.start:
        return None
    whole = replace(a, stop=b.stop) if a.stop == b.start else replace(a, start=b.start)
    return replace(first, domain=tuple(whole if r is a else r for r in first.domain))


def _hoisted(run: Block, met: frozenset[str]) -> tuple[Block, Block]:
    """What gives the arrays of `met` their first values, and the rest."""
    made = {n for s in statements(run) for n in writes(s)}
    before: list[Stmt] = []
    body: list[Stmt] = []
    for stmt in run:
        plain = isinstance(stmt, Map) and all(isinstance(p, Store) and p.op is None for p in stmt.body)
        touched = {n for s in statements(tuple(body)) for n in reads(s) | writes(s)}
        first = plain and writes(stmt) <= met - touched and reads(stmt).isdisjoint(made)
        (before if first else body).append(stmt)
    return tuple(before), tuple(body)


def _only_sums(body: Block, met: frozenset[str]) -> bool:
    """Whether every touch of the arrays `met` adds to them."""
    parts = [p for m in maps_of(body) for p in m.body if isinstance(p, Store) and p.array in met]
    read = {t.array for m in maps_of(body) for t in touches(m) if not t.written}
    bounds = {n for s in statements(body) if not isinstance(s, Map) for n in reads(s)}
    return all(p.op == "+" for p in parts) and met.isdisjoint(read | bounds)
