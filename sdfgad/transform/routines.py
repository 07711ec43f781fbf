"""Routines are put into programs: their statements, on arrays of the program."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sdfgad.errors import SourceLine
from sdfgad.ir.index import ix
from sdfgad.ir.own import Routine
from sdfgad.ir.program import Array, Block, Loop, Map, Stmt, Store, View, While, axis
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import map_exprs, rebuild
from sdfgad.rules.linearise import finish

Fresh = Callable[..., Array]


def put_in(routine: Routine, given: Mapping[str, str], fresh: Fresh) -> tuple[Block, dict[str, View]]:
    """The statements of a routine, and its own arrays as they are called there. given: the names of those it reads."""
    made = {n: fresh(f"own_{n}", a.shape, a.dtype, a.role) for n, a in routine.arrays.items()}
    names = {**given, **{n: a.name for n, a in made.items()}}
    body = on_arrays(routine.body, names)
    return tuple(map_exprs(s, finish) for s in body), {n: a.whole for n, a in made.items()}


def on_arrays(block: Block, names: Mapping[str, str]) -> Block:
    """The statements on arrays of other names, those that end loops among them."""
    return rebuild(renamed(block, names), lambda s: (_with_flags(s, names),))


def _with_flags(stmt: Stmt, names: Mapping[str, str]) -> Stmt:
    """A loop that is ended, and counted, by other scalars."""
    if isinstance(stmt, While):
        return replace(stmt, flag=names.get(stmt.flag, stmt.flag), trips=names.get(stmt.trips, stmt.trips))
    if isinstance(stmt, Loop) and stmt.until and stmt.trips:
        return replace(stmt, until=names.get(stmt.until, stmt.until), trips=names.get(stmt.trips, stmt.trips))
    return stmt


def operands(names: Sequence[str], views: Sequence[View], fresh: Fresh,
             source: SourceLine | None) -> tuple[dict[str, str], list[Stmt]]:
    """The arrays that stand for the operands of an operation, by their names in its routines, and the statements that
    copy those of which an operand shows a part."""
    held: dict[str, str] = {}
    copies: list[Stmt] = []
    for name, view in zip(names, views, strict=True):
        if view.index == tuple(ix(axis(k)) for k in range(len(view.shape))):
            held[name] = view.array
            continue
        copy = fresh(f"own_{name}", tuple(n.const or 0 for n in view.shape), view.dtype)
        copies.append(copied(copy.whole, view, None, source))
        held[name] = copy.name
    return held, copies


def copied(out: View, source: View, op: str | None, line: SourceLine | None) -> Map:
    """`out op= source`, element by element."""
    domain, at = out.points()
    return Map(domain, (Store(out.array, out.at(at), source.load(at), op),), line)
