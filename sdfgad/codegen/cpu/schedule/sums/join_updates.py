"""A sum of a recurrence and what is added outside its loop in the same way, written as one."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sdfgad.analysis.elements.dependence import clash, edges
from sdfgad.analysis.elements.region import region_of
from sdfgad.ir.program import Block, Loop, Map, Program, Range, Stmt, While
from sdfgad.ir.walk import children, rename_symbols, with_children
from sdfgad.thresholds import thresholds

Path = tuple[Range, ...]


def join_updates(program: Program) -> Program:
    """for j = 0:i: { x[j] /= a[j, j] ; map d = j + 1:i: x[d] += x[j] * a[j, d] }
         map e = i:n, k = 0:i: x[e] += x[k] * a[k, e]
    ->   for j = 0:i: { x[j] /= a[j, j] ; map d = j + 1:n: x[d] += x[j] * a[j, d] }

    For a map before or after a loop of maps, with a range that takes the values of the loop. One iteration after the
    other it does what a map of the loop does, for points that go on where those of that map stop. Nothing that would
    come to stand on its other side may depend on it.
    """
    body = _block(program.body, ())
    return program.but(body=body) if body != program.body else program


def _block(block: Block, path: Path) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if not isinstance(stmt, While) and children(stmt):
            inner = (*path, stmt.range) if isinstance(stmt, Loop) else path
            stmt = with_children(stmt, [_block(b, inner) for b in children(stmt)])
        while out and (joined := _neighbours(out[-1], stmt, path)) is not None:
            out.pop()
            stmt = joined
        out.append(stmt)
    return tuple(out)


def _neighbours(first: Stmt, second: Stmt, path: Path) -> Loop | None:
    """A loop with the map that stands next to it inside."""
    if isinstance(first, Loop) and isinstance(second, Map):
        return _joined(first, second, path, sooner=True)
    return _joined(second, first, path, sooner=False) if isinstance(first, Map) and isinstance(second, Loop) else None


def _joined(loop: Loop, stmt: Map, path: Path, sooner: bool) -> Loop | None:
    """The loop with the points of the map in its iterations, which come sooner so, or later."""
    body = [s for s in loop.body if isinstance(s, Map)]
    if not len(loop.body) == len(body) <= thresholds().joined_statements or loop.parallel or loop.until is not None or \
            len(stmt.domain) != 2 or abs(loop.range.step) != 1 or any(r.step != 1 for r in stmt.domain):
        return None
    inside = (*path, loop.range)
    for turn, own in (stmt.domain, stmt.domain[::-1]):
        for place, other in enumerate(body):
            made = _part(other, stmt, turn, own, loop.range)
            domain = None if made is None else _whole(other.domain[0], made.domain[0], inside)
            if made is None or domain is None:
                continue
            both = replace(other, domain=(domain,))
            if _may_move(body, place, made, inside, sooner) and not clash(both, inside):
                return replace(loop, body=(*body[:place], both, *body[place + 1:]))
    return None


def _part(other: Map, stmt: Map, turn: Range, own: Range, over: Range) -> Map | None:
    """What a map does in one iteration, in the words of a map of the loop, if that does the same."""
    values = over.upwards
    if (turn.start, turn.stop) != (values.start, values.stop) or len(other.domain) != 1 or \
            turn.var in own.start.symbols | own.stop.symbols:
        return None
    var = other.domain[0].var
    made = rename_symbols((Map((), stmt.body, stmt.source),), {turn.var: over.var, own.var: var})[0]
    same = isinstance(made, Map) and made.body == other.body
    return Map((replace(own, var=var),), other.body, stmt.source) if same else None


def _whole(one: Range, other: Range, path: Path) -> Range | None:
    """Two ranges of which one goes on where the other stops as one, when neither runs backwards."""
    region = region_of((), path)
    sizes = [(r.stop - r.start).affine for r in (one, other)]
    if region is None or one.step != 1 or any(s is None or not region.implies(s) for s in sizes):
        return None
    ends = list(_chained(one, other))
    return replace(one, start=ends[0].start, stop=ends[1].stop) if ends else None


def _chained(one: Range, other: Range) -> Iterator[Range]:
    if one.stop == other.start:
        yield from (one, other)
    elif other.stop == one.start:
        yield from (other, one)


def _may_move(body: Sequence[Map], place: int, made: Map, path: Path, sooner: bool) -> bool:
    """Whether a part of a map may stand at a place of a loop, before or behind which it has stood."""
    found = edges([*body[:place], made, *body[place:]], path)
    return not any((e.before if sooner else e.after) == place for e in found)
