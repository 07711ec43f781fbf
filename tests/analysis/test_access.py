"""Who overwrites what: against the program run step by step."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from sdfgad.analysis.elements.access import Access, extent_bound, interval_env, overwrites, reads_of, sites, writes_of
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Loop, Program, Range
from sdfgad.ir.walk import children, statements
from tests.support.build import at, loop, one, program, span
from tests.support.shapes import NESTS, N


def points(domain: tuple[Range, ...], env: dict[str, int]) -> Iterator[dict[str, int]]:
    """Every point of nested ranges."""
    if not domain:
        yield env
        return
    first, rest = domain[0], domain[1:]
    for p in range(first.start.evaluate(env), first.stop.evaluate(env), first.step):
        yield from points(rest, {**env, first.var: p})


class Simulation:
    """When each access touches each element, with statements run one by one."""

    def __init__(self, body: Block) -> None:
        self.place = sites(body)
        self.accesses = {id(s): (reads_of(s, self.place[id(s)]), writes_of(s, self.place[id(s)]))
                         for s in statements(body)}
        self.clock = count()
        self.touched: dict[int, list[tuple[int, tuple[str, tuple[int, ...]]]]] = {}
        self.run(body, {})

    def run(self, block: Block, env: dict[str, int]) -> None:
        for stmt in block:
            reads, writes = self.accesses[id(stmt)]
            for group in (reads, writes):
                now = next(self.clock)
                for access in group:
                    self.note(access, env, now)
            if isinstance(stmt, Loop):
                for inner in points((stmt.range,), env):
                    self.run(stmt.body, inner)
            else:
                assert not children(stmt)

    def note(self, access: Access, env: dict[str, int], now: int) -> None:
        for p in points(access.domain, env):
            element = (access.array, tuple(i.evaluate(p) for i in access.index))
            self.touched.setdefault(id(access), []).append((now, element))

    def overwritten(self, read: Access, write: Access) -> bool:
        last = {}
        for now, element in self.touched.get(id(write), []):
            last[element] = now
        return any(last.get(element, -1) > now for now, element in self.touched.get(id(read), []))


def verdicts(made: Program) -> Iterator[tuple[bool, bool, Access, Access]]:
    """(claimed, true) for every pair of a read and a write of one array."""
    simulation = Simulation(made.body)
    reads = [a for r, _ in simulation.accesses.values() for a in r]
    writes = [a for _, w in simulation.accesses.values() for a in w]
    for read in reads:
        for write in writes:
            if read.array == write.array:
                yield overwrites(read, write), simulation.overwritten(read, write), read, write


@pytest.mark.parametrize("name", NESTS)
def test_overwrites_agrees_with_a_run(name):
    pairs = list(verdicts(NESTS[name]()))
    assert pairs
    for claimed, true, read, write in pairs:
        assert claimed == true, (read, write)


@pytest.mark.parametrize("start, stop, step, shift", [
    (0, N, 1, 1), (0, N, 1, -1), (N - 1, -1, -1, 1), (N - 1, -1, -1, -1), (0, 2 * N, 2, 1), (0, 2 * N, 2, 2),
    (1, 2 * N, 3, -3), (2 * N - 1, 0, -3, 2), (0, 0, 1, 1), (3, 0, 1, 1)])
def test_directions_and_steps(start, stop, step, shift):
    i = ix("i")
    made = program({"x": (3 * N,)}, [loop(span("i", start, stop, step), one("x", (i + 3,), at("x", i + 3 + shift)))])
    for claimed, true, read, write in verdicts(made):
        assert claimed or not true, (read, write)
        assert claimed == true or start == stop or step not in (1, -1)


def test_two_statements_of_one_program_are_two_objects():
    same = one("x", (0,), 1.0)
    with pytest.raises(ValueError, match="two places"):
        sites((same, same))


@pytest.mark.parametrize("r, around, expected", [
    (span("i", 0, 7), (), 7), (span("i", 0, 7, 3), (), 3), (span("i", 6, -1, -2), (), 4), (span("i", 5, 2), (), 0),
    (span("j", 0, "i"), (span("i", 0, 5),), 4), (span("j", "i", 5), (span("i", 0, 5),), 5),
    (span("j", "i", -1, -1), (span("i", 0, 5),), 5),
])
def test_the_most_iterations_a_loop_can_make(r, around, expected):
    assert extent_bound(r, interval_env(around)) == expected
