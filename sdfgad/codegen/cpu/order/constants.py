"""What all iterations of a kernel share: computed once ahead of it, not by every block of every map."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel, pieces
from sdfgad.ir.expr import Call, Const, Expr, Load, operands, rewrite, walk
from sdfgad.ir.program import Block, Map, Stmt
from sdfgad.ir.walk import all_writes, assigned, reads, writes

FEWEST = 2
"""Maps of a kernel from which on it pays: a single one computes such values ahead of its own loops."""


def constants_ahead(items: tuple[Item, ...], scalar: Callable[[str, np.dtype], str]) -> tuple[Item, ...]:
    """parallel: { map i: x[i] = (1 / h) * y[i] ; map i: z[i] = (1 / h) * w[i] }
    ->   c = 1 / h ; parallel: { map i: x[i] = c * y[i] ; map i: z[i] = c * w[i] }

    Also of what only some iterations use: numbers of floating point are computed without harm. And ahead of the loops
    around as far as nothing in them changes what it is computed from.
    """
    return _Ahead(scalar).items(items)


class _Ahead:
    """Moves what is constant ahead of kernels. made: the scalars that hold it."""

    def __init__(self, scalar: Callable[[str, np.dtype], str]) -> None:
        self.scalar = scalar
        self.made: set[str] = set()

    def items(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        done: list[Item] = []
        for item in items:
            if isinstance(item, ControlFlow):
                _follow(done, *self.apart(item, [self.items(part) for part in item.parts]))
                continue
            maps = [s for s in item.body if isinstance(s, Map)] if isinstance(item, Kernel) else []
            if not isinstance(item, Kernel) or len(maps) < max(FEWEST, len(item.body)):
                _follow(done, (), item)
                continue
            known = _named(_shared(maps), self.scalar)
            self.made |= {v.array for v in known.values()}
            ahead = tuple(assigned(v.array, e) for e, v in known.items())
            _follow(done, ahead, replace(item, body=tuple(_with(m, known) for m in maps)))
        return tuple(done)

    def apart(self, item: ControlFlow, parts: list[tuple[Item, ...]]) -> tuple[Block, ControlFlow]:
        """What is the same in every iteration, and control flow without it."""
        changed = {n for part in parts for p in pieces(part) for n in all_writes(p.body)}
        leaving: list[Stmt] = []
        for stmt in (s for part in parts for i in part if isinstance(i, Group) for s in i.body):
            if isinstance(stmt, Map) and writes(stmt) <= self.made and reads(stmt).isdisjoint(changed):
                leaving.append(stmt)
                changed -= writes(stmt)
        left = {id(s) for s in leaving}
        kept = ([Group(tuple(s for s in i.body if id(s) not in left)) if isinstance(i, Group) else i for i in part]
                for part in parts)
        return tuple(leaving), replace(item, parts=tuple(tuple(i for i in part if i != Group(())) for part in kept))


def _follow(done: list[Item], ahead: Block, item: Item) -> None:
    """Add an item, with statements right before it."""
    if ahead and done and isinstance(before := done[-1], Group):
        done[-1] = Group((*before.body, *ahead))
    elif ahead:
        done.append(Group(ahead))
    done.append(item)


def _named(parts: Iterable[Expr], scalar: Callable[[str, np.dtype], str]) -> dict[Expr, Load]:
    """A scalar for each part, those inside others first and with their names there."""
    known: dict[Expr, Load] = {}
    for part in sorted(parts, key=lambda e: sum(1 for _ in walk(e))):
        known[rewrite(part, known.get)] = Load(scalar("constant", part.dtype), (), part.dtype)
    return known


def _shared(maps: Iterable[Map]) -> dict[Expr, None]:
    """The largest parts of what maps compute that are made of numbers alone."""
    fixed: set[Expr] = set()
    found: dict[Expr, None] = {}
    changed = {n for m in maps for n in writes(m)}
    for root in (p.expr for m in maps for p in m.body):
        for node in walk(root):
            if _number(node) and not (isinstance(node, Load) and node.array in changed) \
                    and all(a in fixed for a in operands(node)):
                fixed.add(node)
        found.update(dict.fromkeys(n for n in _largest(root, fixed) if isinstance(n, Call)))
    return found


def _number(node: Expr) -> bool:
    """Whether a node is a number of floating point, or computed from such."""
    plain = isinstance(node, (Call, Const)) or (isinstance(node, Load) and not node.index)
    return plain and node.dtype.kind == "f"


def _largest(root: Expr, fixed: set[Expr]) -> Iterator[Expr]:
    if root in fixed:
        yield root
        return
    for node in walk(root):
        if node not in fixed:
            yield from (a for a in operands(node) if a in fixed)


def _with(stmt: Map, known: dict[Expr, Load]) -> Map:
    return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, known.get)) for p in stmt.body))
