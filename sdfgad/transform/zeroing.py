"""Drop clearings that the next accumulation makes pointless. Cotangents are cleared far more often than is needed."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeGuard

import numpy as np

from sdfgad.analysis.cover import covers, fills
from sdfgad.ir import algebra
from sdfgad.ir.expr import Const, loads
from sdfgad.ir.index import ix
from sdfgad.ir.program import (
    Array,
    Block,
    If,
    Lib,
    Loop,
    Map,
    Program,
    Range,
    Stmt,
    Store,
    View,
    While,
    axis,
)
from sdfgad.ir.walk import children, reads, rebuild_blocks, statements, with_children, writes

Box = tuple[tuple[int, int], ...]


def fold_zeroing(program: Program, results: Iterable[str]) -> Program:
    """x[Z] = 0 ; ... ; x[C] += e, C inside Z   ->   x[Z minus C] = 0 ; ... ; x[C] = e

    Also across the end of a loop body, for arrays that only this body looks at and that each iteration starts by
    filling whole; and clearings after which nobody looks at the array again disappear.
    """
    outside = set(results) | set(program.arguments)
    body = rebuild_blocks(program.body, _within_block)
    body = _around_loops(body, program, outside)
    body = _drop_last(body, outside)
    return program.but(body=body)


def _is_zero(part: object) -> TypeGuard[Store]:
    return isinstance(part, Store) and part.op is None and isinstance(part.expr, Const) and part.expr.value == 0


def _touches(stmt: Stmt, name: str) -> bool:
    return any(name in reads(s) or name in writes(s) for s in statements((stmt,)))


def _sole_accumulation(stmt: Stmt, name: str) -> Store | None:
    """The one store of a map that adds to `name`, when the map does nothing else with it."""
    if not isinstance(stmt, Map):
        return None
    stores = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    if len(stores) != 1 or stores[0].op != "+" or any(n.array == name for p in stmt.body for n in loads(p.expr)):
        return None
    return stores[0]


def _without(stmt: Map, part: Store) -> list[Stmt]:
    body = tuple(p for p in stmt.body if p is not part)
    return [replace(stmt, body=body)] if any(isinstance(p, Store) for p in body) else []


def _assigning(stmt: Map, part: Store) -> Map:
    return replace(stmt, body=tuple(replace(p, op=None) if p is part else p for p in stmt.body))


def _within_block(work: list[Stmt]) -> Block:
    """The rule inside one block."""
    k = 0
    while k < len(work):
        stmt = work[k]
        done = False
        for part in (p for p in stmt.body if _is_zero(p)) if isinstance(stmt, Map) else ():
            found = _next_accumulation(work, k, part)
            if found is not None:
                position, assigning, strips = found
                work[position] = assigning
                work[k:k + 1] = [*(_without(stmt, part) if isinstance(stmt, Map) else ()), *strips]
                done = True
                break
        k += 0 if done else 1
    return tuple(work)


def _next_accumulation(work: list[Stmt], k: int, zero: Store) -> tuple[int, Stmt, list[Stmt]] | None:
    """The next statement that looks at the array, if it fills part of what was cleared, turned into an assignment; and
    what remains to clear."""
    stmt = work[k]
    if not isinstance(stmt, Map) or sum(isinstance(p, Store) and p.array == zero.array for p in stmt.body) != 1:
        return None
    position = next((n for n in range(k + 1, len(work)) if _touches(work[n], zero.array)), None)
    if position is None:
        return None
    cleared = _box(stmt, zero)
    filled, assigning = _filled(work[position], zero.array)
    if cleared is None or filled is None or any(low >= high for low, high in filled):
        return None
    if any(f[0] < c[0] or f[1] > c[1] for f, c in zip(filled, cleared, strict=True)):
        return None
    return position, assigning, [_clearing(stmt, zero, piece) for piece in _difference(cleared, filled)]


def _filled(target: Stmt, name: str) -> tuple[Box | None, Stmt]:
    """The box a statement accumulates into, and the same statement assigning instead."""
    store = _sole_accumulation(target, name)
    if store is not None and isinstance(target, Map):
        return _box(target, store), _assigning(target, store)
    if isinstance(target, Lib) and target.attrs.get("accumulate") and all(v.array != name for v in target.ins):
        attrs = MappingProxyType({key: value for key, value in target.attrs.items() if key != "accumulate"})
        return _view_box(target.outs[0]), replace(target, attrs=attrs)
    return _filled_branch(target, name) if isinstance(target, If) else (None, target)


def _filled_branch(target: If, name: str) -> tuple[Box | None, Stmt]:
    """The same where the first branch accumulates into a box: the other one clears it itself."""
    places = [k for k, s in enumerate(target.then) if _touches(s, name)]
    if len(places) != 1 or name in reads(target) or isinstance(target.then[places[0]], If):
        return None, target
    box, assigning = _filled(target.then[places[0]], name)
    if box is None:
        return None, target
    domain = tuple(Range(f"z{d}", ix(low), ix(high)) for d, (low, high) in enumerate(box))
    zero = algebra.zero(_dtype_of(target.then[places[0]], name))
    clearing = Map(domain, (Store(name, tuple(ix(r.var) for r in domain), zero),), target.source)
    then = (*target.then[:places[0]], assigning, *target.then[places[0] + 1:])
    return box, replace(target, then=then, orelse=(clearing, *target.orelse))


def _dtype_of(stmt: Stmt, name: str) -> np.dtype:
    """The type of the one array a map or a library call accumulates into."""
    if isinstance(stmt, Lib):
        return stmt.outs[0].dtype
    store = _sole_accumulation(stmt, name)
    assert store is not None
    return store.expr.dtype


def _view_box(view: View) -> Box | None:
    domain = tuple(Range(axis(k), ix(0), n) for k, n in enumerate(view.shape))
    store = Store(view.array, view.index, algebra.zero(view.dtype))
    return _box(Map(domain, (store,)), store)


def _box(stmt: Map, store: Store) -> Box | None:
    """The elements a store touches when they form a box and each is touched once."""
    ranges = {r.var: r for r in stmt.domain}
    box = []
    for i in store.index:
        affine = i.affine
        interval = None if affine is None else _interval(affine[0], affine[1], ranges)
        if interval is None:
            return None
        box.append(interval)
    return None if ranges else tuple(box)


def _interval(factors: Mapping[str, int], offset: int, ranges: dict[str, Range]) -> tuple[int, int] | None:
    """The numbers an index takes when they follow each other and each comes once: digits of one number. Takes the
    variables out of `ranges`."""
    low, step = offset, 1
    for var, factor in sorted(factors.items(), key=lambda item: item[1]):
        r = ranges.pop(var, None)
        if r is None or factor != step or r.step != 1 or r.start.const is None or r.stop.const is None:
            return None
        low += factor * r.start.const
        step *= max(0, r.stop.const - r.start.const)
    return low, low + step


def _difference(outer: Box, inner: Box) -> list[Box]:
    pieces = []
    rest = list(outer)
    for k, ((low, high), (a, b)) in enumerate(zip(outer, inner, strict=True)):
        for piece in ((low, a), (b, high)):
            if piece[0] < piece[1]:
                pieces.append((*rest[:k], piece, *rest[k + 1:]))
        rest[k] = (a, b)
    return pieces


def _clearing(stmt: Map, zero: Store, box: Box) -> Map:
    domain = tuple(Range(f"c{k}", ix(low), ix(high)) for k, (low, high) in enumerate(box))
    store = Store(zero.array, tuple(ix(r.var) for r in domain), algebra.zero(zero.expr.dtype))
    return Map(domain, (store,), stmt.source)


def _around_loops(body: Block, program: Program, outside: set[str]) -> Block:
    """The rule across the end of a loop body."""
    names = {p.array for s in statements(body) if isinstance(s, Map) for p in s.body if _is_zero(p)} - outside
    for name in sorted(names):
        home = _home(body, name)
        if home is None:
            continue
        first = next(s for s in home if _touches(s, name))
        store = _sole_accumulation(first, name)
        array = program.arrays[name]
        if store is not None and isinstance(first, Map) and fills(first, store, array) and \
                _ends_clear(home, array):
            body = _drop_clearings(body, home, name, first, store)
    return body


def _ends_clear(home: Block, array: Array) -> bool:
    """Whether the last thing the block does with the array is to clear all of it."""
    last = next(s for s in reversed(home) if _touches(s, array.name))
    if not isinstance(last, Map):
        return False
    part = [p for p in last.body if isinstance(p, Store) and p.array == array.name][-1:]
    return bool(part) and _is_zero(part[0]) and covers(last, part[0], array)


def _home(body: Block, name: str) -> Block | None:
    """The loop body that holds every statement about `name` but clearings outside it; None when there is none."""
    here = [s for s in body if _touches(s, name) and not _only_clears(s, name)]
    if len(here) != 1 or not isinstance(here[0], (Loop, While, If)):
        return None
    inner = [b for b in children(here[0]) if any(_touches(s, name) for s in b)]
    if len(inner) != 1:
        return None
    deeper = _home(inner[0], name)
    if deeper is not None:
        return deeper
    return inner[0] if isinstance(here[0], (Loop, While)) else None


def _only_clears(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Map) and name not in reads(stmt) and \
        all(_is_zero(p) for p in stmt.body if isinstance(p, Store) and p.array == name)


def _drop_clearings(body: Block, home: Block, name: str, first: Map, store: Store) -> Block:
    """Outside `home` every clearing goes; inside, those after the last look at the array."""

    def visit(block: Block, inside: bool) -> Block:
        inside = inside or block is home
        out: list[Stmt] = []
        last = max((k for k, s in enumerate(block) if _touches(s, name) and not _only_clears(s, name)), default=-1)
        for k, stmt in enumerate(block):
            if stmt is first:
                out.append(_assigning(first, store))
            elif children(stmt):
                out.append(with_children(stmt, [visit(b, inside) for b in children(stmt)]))
            elif _only_clears(stmt, name) and _touches(stmt, name) and (not inside or (block is home and k > last)):
                out += _strip(stmt, name)
            elif block is home and k == last:
                out += _strip_trailing(stmt, name)
            else:
                out.append(stmt)
        return tuple(out)

    return visit(body, False)


def _strip(stmt: Stmt, name: str) -> list[Stmt]:
    if not isinstance(stmt, Map):
        return [stmt]
    kept = tuple(p for p in stmt.body if not (isinstance(p, Store) and p.array == name))
    return [replace(stmt, body=kept)] if any(isinstance(p, Store) for p in kept) else []


def _strip_trailing(stmt: Stmt, name: str) -> list[Stmt]:
    """Drop a clearing that is the last thing a map does with the array."""
    if not isinstance(stmt, Map):
        return [stmt]
    about = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    return _without(stmt, about[-1]) if about and _is_zero(about[-1]) else [stmt]


def _drop_last(body: Block, outside: set[str]) -> Block:
    """Clearings at the end of the program that nobody looks at."""
    out = list(body)
    for k in reversed(range(len(out))):
        stmt = out[k]
        if not isinstance(stmt, Map):
            continue
        for part in [p for p in stmt.body if _is_zero(p)]:
            later = any(_touches(s, part.array) for s in out[k + 1:])
            about = [p for p in stmt.body if isinstance(p, Store) and p.array == part.array]
            if part.array not in outside and not later and about[-1] is part and isinstance(out[k], Map):
                left = _without(out[k], part)  # type: ignore[arg-type]
                out[k:k + 1] = left
                if not left:
                    break
    return tuple(out)
