"""What a rank of a distributed program has, and what it sends: read off its program."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdfgad.analysis.lifetimes import copy_name
from sdfgad.checkpoint.outlook import LoopTraffic, Traffic
from sdfgad.ir.messages import EXCHANGE, OP, is_finish, sent
from sdfgad.ir.program import Array, Block, Lib, Loop, Program
from sdfgad.ir.walk import children
from sdfgad.names import loop_name
from sdfgad.plans.emission import Emission
from sdfgad.transform.cutting.blocks import Distribution

Counts = tuple[int, int, int]
"""Messages, their bytes, sums."""


def traffic_of(emission: Emission, wanted: Distribution) -> Traffic:
    """Of the rank that a program is for. Sums are counted where they are in the program."""
    program, held = emission.whole, emission.finished.held.always
    messages, size, sums = _counted(program.body)
    cut = {n: a for n, a in program.arrays.items() if a.window is not None and a.role == "argument"}
    blocks = {a.label or n: _window(a) for n, a in cut.items()}
    copied = sum(held.get(copy_name(name), 0) for name in program.arguments)
    return Traffic(wanted.grid.size, wanted.rank, blocks, messages, size, sums, tuple(_loops(program.body)), copied)


def sent_by(program: Program) -> Counts:
    """What a call of a program sends. Loops of unknown length count once."""
    return _counted(program.body)


def _window(array: Array) -> str:
    return ", ".join(f"{first}:{behind}" for first, behind in array.window or ())


def _counted(block: Block) -> Counts:
    """What a block sends."""
    total = (0, 0, 0)
    for stmt in block:
        if isinstance(stmt, Lib) and stmt.op == OP:
            found = _of(stmt)
        else:
            times = (stmt.range.trips or 1) if isinstance(stmt, Loop) else 1
            found = _times(_added([_counted(b) for b in children(stmt)]), times)
        total = _added([total, found])
    return total


def _added(counts: Iterable[Counts]) -> Counts:
    messages, size, sums = map(sum, zip((0, 0, 0), *counts, strict=True))
    return messages, size, sums


def _times(counts: Counts, by: int) -> Counts:
    return by * counts[0], by * counts[1], by * counts[2]


def _of(stmt: Lib) -> Counts:
    if is_finish(stmt):
        return 0, 0, 0
    if stmt.attrs["kind"] == EXCHANGE:
        return len(sent(stmt)), sum(v.bytes for v in sent(stmt)), 0
    return 0, 0, 1


def _loops(block: Block) -> Iterator[LoopTraffic]:
    """Outer loops in which something is sent."""
    for stmt in block:
        counts = _counted(stmt.body) if isinstance(stmt, Loop) else (0, 0, 0)
        if isinstance(stmt, Loop) and any(counts):
            yield LoopTraffic(loop_name(stmt.range.var), *counts)
        elif not isinstance(stmt, Loop):
            for inner in children(stmt):
                yield from _loops(inner)
