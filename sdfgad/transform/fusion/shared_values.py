"""Compute a value once that a program computes twice: value numbers for whole arrays."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from sdfgad.analysis.elements.cover import replaced
from sdfgad.ir.program import Block, If, Lib, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.renamed import RenamedArrays
from sdfgad.ir.walk import (
    all_writes,
    children,
    own_ranges,
    reads,
    rename_symbols,
    statements,
    with_children,
)
from sdfgad.transform.dropping.dead import without_dead_code


def share_values(program: Program) -> Program:
    """x = f(a) ; y = f(a) ; z = g(x, y)   ->   x = f(a) ; z = g(x, x)

    map i: { x[i] = f(a[i]) ; y[i] = f(a[i]) } ; z = g(x, y)   ->   map i: x[i] = f(a[i]) ; z = g(x, x)

    For arrays that one and the same run of statements made of the same values, loops and conditions included, as long
    as the first of them still holds the value.
    """
    numbering = _Numbering(program)
    body = tuple(numbering.statement(s) for s in program.body)
    if body == program.body:
        return program
    counters = {s.trips for s in statements(body) if isinstance(s, (Loop, While)) and s.trips}
    return without_dead_code(program.but(body=body), {*program.live_out, *program.arguments, *counters})


class _Numbering:
    """Equal numbers, equal contents. numbers: of what each array holds now; holders: arrays that have held a number."""

    def __init__(self, program: Program) -> None:
        self.arrays = program.arrays
        self.table: dict[Any, int] = {}
        self.tokens = count()
        self.holders: dict[int, list[str]] = {}
        self.numbers: dict[str, int] = {}
        self.inside: list[str] = []
        given = {*program.arguments, *program.constants}
        for name, a in program.arrays.items():
            # Nobody reads what was in a temporary before its first write, so all of one kind are alike.
            self.numbers[name] = self.number(("given", name) if name in given else ("blank", a.shape, a.dtype.str))
        self.holders = {self.numbers[name]: [name] for name in sorted(given)}

    def number(self, key: Any) -> int:
        return self.table.setdefault(key, len(self.table))

    def note(self, name: str, key: Any) -> None:
        self.numbers[name] = number = self.number(key)
        self.holders.setdefault(number, []).append(name)

    def forget(self, names: Iterable[str]) -> None:
        """Nothing is known of what these arrays hold."""
        for name in names:
            self.note(name, ("unknown", next(self.tokens)))

    def statement(self, stmt: Stmt) -> Stmt:
        """The statement with every read sent to the first array that holds the value."""
        written = frozenset(all_writes((stmt,)))
        names = {n: first for n in reads(stmt) - written if (first := self.first(n, written)) != n}
        stmt = _reading(stmt, names) if names else stmt
        if children(stmt) and not (isinstance(stmt, Loop) and stmt.range.var in self.inside):
            before = dict(self.numbers)
            stmt = with_children(stmt, [self.inner(b, stmt, before) for b in children(stmt)])
            self.numbers = before
        self.result(stmt, sorted(written))
        return stmt

    def inner(self, block: Block, stmt: Stmt, before: Mapping[str, int]) -> Block:
        """A block inside a region; what an iteration finds may come from another one."""
        self.numbers = dict(before)
        if isinstance(stmt, (Loop, While)):
            self.forget(sorted(all_writes((stmt,))))
        # A variable stands for one number at a time: statements that name it are alike within one iteration.
        self.inside.append(stmt.range.var if isinstance(stmt, Loop) else "")
        made = tuple(self.statement(s) for s in block)
        self.inside.pop()
        return made

    def first(self, name: str, written: frozenset[str]) -> str:
        number = self.numbers[name]
        holders = (h for h in self.holders.get(number, ()) if self.numbers[h] == number and h not in written)
        return next(holders, name)

    def result(self, stmt: Stmt, written: Sequence[str]) -> None:
        """Number what the statement leaves behind: by its text, and by what it found in the arrays it names."""
        order: dict[str, str] = {}
        key = _key(stmt, RenamedArrays(lambda n: order.setdefault(n, f"@{len(order)}")), 0)
        if key is None:
            return self.forget(written)
        fresh = replaced(stmt, self.arrays) - reads(stmt)
        found = tuple((self.arrays[n].shape, self.arrays[n].dtype.str, -1 if n in fresh else self.numbers[n])
                      for n in order)
        made = self.number((key, found))
        same: dict[Any, str] = {}
        for name in sorted(written, key=lambda n: list(order).index(n)):
            self.note(name, (made, same.setdefault(self.assigned(stmt, name) or name, order[name])))
        return None

    def assigned(self, stmt: Stmt, name: str) -> Any:
        """What a map assigns to an array: others of its kind to which it assigns the same hold the same."""
        if not isinstance(stmt, Map) or name not in replaced(stmt, self.arrays) - reads(stmt):
            return None
        parts = [(p.index, p.expr, p.op) for p in stmt.body if isinstance(p, Store) and p.array == name]
        return self.arrays[name].shape, self.arrays[name].dtype.str, tuple(parts)


def _reading(stmt: Stmt, names: Mapping[str, str]) -> Stmt:
    """The statement itself with reads sent elsewhere. It writes none of these arrays."""
    return RenamedArrays(lambda n: names.get(n, n)).own(stmt)


def _key(stmt: Stmt, names: RenamedArrays, depth: int) -> Any:
    """The same for statements that differ in the names of arrays and variables alone; None for what is never alike."""
    stmt, depth = _plain(stmt, depth)
    own = names.own(stmt)
    inner = tuple(tuple(_key(s, names, depth) for s in b) for b in children(stmt))
    if any(k is None for b in inner for k in b):
        return None
    if isinstance(own, Map):
        return own.domain, own.body
    if isinstance(own, Lib):
        return own.op, own.outs, own.ins, repr(sorted(own.attrs.items()))
    if isinstance(own, Loop):
        control = [names.name(n) if n else "" for n in (own.until, own.trips)]
        return own.range, *control, own.parallel, inner
    if isinstance(own, While):
        return names.name(own.flag), names.name(own.trips), inner
    return (own.cond, inner) if isinstance(own, If) else None


def _plain(stmt: Stmt, depth: int) -> tuple[Stmt, int]:
    """The statement with variables named by their depth, and the depth inside it."""
    names = {r.var: f"%{depth + k}" for k, r in enumerate(own_ranges(stmt))}
    if not names:
        return stmt, depth
    plain = rename_symbols((stmt,), names)[0]
    moved = tuple(replace(r, var=names[r.var]) for r in own_ranges(plain))
    plain = replace(plain, domain=moved) if isinstance(plain, Map) else plain
    return (replace(plain, range=moved[0]) if isinstance(plain, Loop) else plain), depth + len(names)
