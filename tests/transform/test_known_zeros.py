"""Sums assign where every element they meet is known to be zero, and only there."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.clearing.known_zeros import assign_to_zeros
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Map, Program, Stmt, Store
from sdfgad.ir.walk import rebuild, statements
from tests.support.build import F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

N = 6
I, J = span("i", 0, N), span("j", 0, N)
INNER, COLUMNS = span("i", 1, N - 1), span("j", 1, N - 1)
ADD = each((I, J), put("x", ("i", "j"), at("y", "i", "j"), "+"))
MIDDLE = each((INNER, COLUMNS), put("x", ("i", "j"), 0.0))


def line(k: int, value: object = 0.0, op: str | None = None) -> Map:
    return each(J, put("x", (k, "j"), value, op))  # type: ignore[arg-type]


def column(k: int, value: object = 0.0, op: str | None = None) -> Map:
    return each(I, put("x", ("i", k), value, op))  # type: ignore[arg-type]


RIM = (line(0), line(N - 1), column(0), column(N - 1))


def assigned(*body: Stmt) -> int:
    """How many of the sums into x assign afterwards; the meaning stays."""
    arrays = {n: Array(n, (N, N) if n in "xy" else (), F8, "argument") for n in ("x", "y", "s")}
    before = Program("p", arrays, tuple(arrays), rebuild(body, lambda s: (Map(s.domain, s.body),)
                                                         if isinstance(s, Map) else (s,)))
    after = assign_to_zeros(before)
    check_same(before, after, {n: np.random.default_rng(k).uniform(0.2, 0.8, a.shape)
                               for k, (n, a) in enumerate(arrays.items())})
    return _sums(before) - _sums(after)


def _sums(program: Program) -> int:
    return sum(isinstance(p, Store) and p.op == "+" for s in statements(program.body) if isinstance(s, Map)
               for p in s.body)


def test_cleared_part_by_part() -> None:
    assert assigned(*RIM, MIDDLE, ADD) == 1
    assert assigned(MIDDLE, each(J, put("x", (0, "j"), 0.0), put("x", (N - 1, "j"), 0.0)), *RIM[2:], ADD) == 1


@pytest.mark.parametrize("left_out", range(5))
def test_one_part_left_out(left_out: int) -> None:
    parts = [*RIM, MIDDLE]
    parts[left_out] = one("x", (2, 2), 0.0)
    corners = [one("x", (a, b), 0.0) for a in (0, N - 1) for b in (0, N - 1)]
    assert assigned(*parts, *corners, ADD) == 0


def test_sums_and_copies_of_zeros_are_zeros() -> None:
    """A border that was given to its neighbour: where borders meet, zeros are added to zeros."""
    give = (each(I, put("x", ("i", 1), at("x", "i", 0), "+"), put("x", ("i", 0), 0.0)),
            each(J, put("x", (1, "j"), at("x", 0, "j"), "+"), put("x", (0, "j"), 0.0)))
    assert assigned(line(N - 1), *give, column(N - 1), MIDDLE, ADD) == 1
    for row in (N - 1, N - 2):
        copy = each(I, put("x", ("i", 0), at("x", row, "i")))
        assert assigned(line(N - 1), copy, line(0), column(N - 1), MIDDLE, ADD) == (row == N - 1)
    assert assigned(*RIM, MIDDLE, each(INNER, put("x", ("i", 1), at("x", "i", 0), "+")), ADD) == 2
    assert assigned(*RIM, MIDDLE, each(INNER, put("x", ("i", 1), at("y", "i", 0), "+")), ADD) == 1
    diagonal = each(span("i", 3, N - 1), put("x", ("i", 1), at("x", "i", ix("i") - 1), "+"))
    assert assigned(*RIM, MIDDLE, diagonal, ADD) == 2
    assert assigned(*RIM, MIDDLE, one("x", (4, 3), 1.0), diagonal, ADD) == 1
    assert assigned(*RIM, MIDDLE, each(span("i", 0, 0), put("x", ("i", "i"), at("y", 1, 1))), ADD) == 1


@pytest.mark.parametrize(("low", "high", "ahead"), [(2, 5, 0), (2, 5, 1), (1, 4, -1)])
def test_a_part_that_is_zero_stays_one_where_it_is_copied(low: int, high: int, ahead: int) -> None:
    clear = each(span("i", low, high), put("x", ("i", 0), 0.0))
    copy = each(INNER, put("x", ("i", 3), at("x", ix("i") + ahead, 0)))
    for first in (low - ahead, low - ahead - 1):
        for last in (high - ahead, high - ahead + 1):
            add = each(span("i", first, last), put("x", ("i", 3), at("y", "i", 3), "+"))
            assert assigned(clear, copy, add) == (first == low - ahead and last == high - ahead)


@pytest.mark.parametrize("between", [
    one("x", (3, 3), at("y", 1, 1)),
    one("x", (3, 3), 1.0),
    one("x", (0, 3), at("y", 1, 1), "+"),
    each(span("i", 0, 2), put("x", (ix("i") * 2, 3), at("y", 1, "i"))),
    loop(span("t", 0, 2), one("x", (ix("t"), 3), at("y", 1, 1))),
    when(at("s").compare("gt", 0.1), (one("x", (1, 3), at("y", 1, 1)),)),
    one("x", (3, 3), 2.0, "*"),
    one("x", (3, 3), -2.0, "min"),
], ids=["value", "number", "sum", "step", "loop", "condition", "product", "least"])
def test_what_is_stored_in_between(between: Stmt) -> None:
    alone = 1 if isinstance(between, Map) and any(isinstance(p, Store) and p.op == "+" for p in between.body) else 0
    assert assigned(*RIM, MIDDLE, between, ADD) == alone


def test_loops() -> None:
    """What an iteration clears, it knows itself; at its start it knows what the loop leaves alone."""
    clear = each((I, J), put("x", ("i", "j"), 0.0))
    use = one("s", (), at("x", 1, 1), "+")
    assert assigned(clear, loop(span("t", 0, 3), ADD, use)) == 0
    assert assigned(clear, loop(span("t", 0, 3), use, ADD, clear)) == 0
    assert assigned(loop(span("t", 0, 3), clear, ADD)) == 1
    assert assigned(loop(span("t", 0, 3), clear), ADD) == 1
    assert assigned(loop(span("t", 0, 0), clear), ADD) == 0
    assert assigned(loop(span("k", 0, 3), loop(span("t", 0, "k"), clear), ADD)) == 0
    assert assigned(when(at("s").compare("gt", 0.9), (clear,)), ADD) == 0
    assert assigned(clear, when(at("s").compare("gt", 0.1), (ADD,), (ADD,))) == 2
    assert assigned(clear, when(at("s").compare("gt", 0.1), (ADD,)), ADD) == 1
    assert assigned(loop(span("t", 0, N), each(J, put("x", ("t", "j"), 0.0))), ADD) == 0
    assert assigned(clear, loop(span("t", 0, 2), each(I, put("x", ("i", "t"), at("y", "i", 0), "+"))), ADD) == 0


def test_several_additions_to_one_element_are_a_sum() -> None:
    clear = each((I, J), put("x", ("i", "j"), 0.0))
    assert assigned(clear, each((I, J), put("x", ("i", 0), at("y", "i", "j"), "+"))) == 0
    assert assigned(clear, each(span("i", 0, 3), put("x", (ix("i") * 2, 1), at("y", "i", 0), "+"))) == 0


def _random(rng: np.random.Generator) -> Stmt:
    a, b, c, d = (int(k) for k in rng.integers(0, N + 1, 4))
    rows, columns = span("i", min(a, b), max(a, b)), span("j", min(c, d), max(c, d))
    k, m = (int(p) for p in rng.integers(0, N, 2))
    op = "+" if rng.random() < 0.5 else None
    choices = [each((rows, columns), put("x", ("i", "j"), 0.0)), each((rows, columns), put("x", ("i", "j"), 0.0)),
               line(k), column(m), each((rows, columns), put("x", ("i", "j"), at("y", "i", "j"), "+"))]
    if k != m:
        choices += [each(rows, put("x", ("i", k), at("x", "i", m), op)),
                    each(columns, put("x", (k, "j"), at("x", m, "j"), op)),
                    each(columns, put("x", (k, "j"), at("x", m, "j"), op), put("x", (m, "j"), 0.0))]
    return choices[rng.integers(len(choices))]


@pytest.mark.parametrize("seed", range(200))
def test_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = [_random(rng) for _ in range(rng.integers(3, 12))]
    assigned(*body) if rng.random() < 0.5 else assigned(*body[:3], loop(span("t", 0, 2), *body[3:]), *(_random(rng),))


def test_random_programs_are_changed() -> None:
    made = [[_random(rng) for _ in range(9)] for rng in map(np.random.default_rng, range(100))]
    assert sum(assigned(*body) > 0 for body in made) > 20


WIDE = 16
X, Y = (Array(n, (WIDE, WIDE), F8, "argument").whole for n in "xy")
ROWS, OTHERS = span("i", 0, WIDE), span("j", 0, WIDE)
SUM = each((ROWS, OTHERS), put("x", ("i", "j"), at("y", "i", "j") + at("y", "j", "i"), "+"))
SHIFTED = each((span("i", -2, WIDE - 2), span("j", 3, WIDE + 3)), put("x", (ix("j") - 3, ix("i") + 2), at("s"), "+"))


def cleared(low: int, high: int) -> Map:
    return each((span("i", low, high), span("j", low, high)), put("x", ("i", "j"), 0.0))


def wide(*body: Stmt) -> Program:
    arrays = {n: Array(n, (WIDE, WIDE) if n in "xy" else (), F8, "argument") for n in ("x", "y", "s")}
    before = Program("p", arrays, tuple(arrays), body)
    after = assign_to_zeros(before)
    check_same(before, after, {n: np.random.default_rng(k).uniform(0.2, 0.8, a.shape)
                               for k, (n, a) in enumerate(arrays.items())})
    return after


def test_zeros_are_not_added() -> None:
    """Of a loop's target only what may be something else; all of it, or nothing, where that is no box."""
    clear = each((ROWS, OTHERS), put("y", ("i", "j"), 0.0))
    move = each((ROWS, OTHERS), put("x", ("i", "j"), at("y", "i", "j"), "+"))
    make = each((span("i", 1, 5), span("j", 2, WIDE)), put("y", ("i", "j"), at("s") + at("x", "j", "i")))
    look = one("s", (), at("y", 0, 3) + at("x", 0, 3), "+")

    def left(*body: Stmt) -> list[list[int | None]]:
        return [[r.trips for r in s.domain] for s in statements(wide(*body).body) if isinstance(s, Map)
                and any(isinstance(p, Store) and (p.array, p.op) == ("x", "+") for p in s.body)]

    run = span("t", 0, 3)
    assert left(clear, loop(run, make, move, look)) == [[4, WIDE - 2]]
    assert left(clear, move) == left(clear, loop(run, move)) == []
    assert left(loop(run, make, move)) == left(clear, make, make, loop(run, make, one("y", (9, 9), 1.0), move)) \
        == left(clear, loop(run, move, each(span("i", 0, "t"), put("y", ("i", "i"), 1.0)))) \
        == left(clear, loop(run, when(at("s").compare("gt", 0.1), (one("y", (9, 9), 1.0),)), make, move)) \
        == left(clear, loop(run, make, move, one("y", (9, 9), 1.0))) \
        == left(clear, loop(run, move, Lib("matmul", (Y,), (X, X), {}))) == [[WIDE, WIDE]]


@pytest.mark.parametrize("sum_", [SUM, SHIFTED], ids=["plain", "shifted"])
@pytest.mark.parametrize("low, high, pieces", [(1, WIDE - 1, 5), (0, WIDE - 1, 3), (2, WIDE, 3)])
def test_a_sum_over_zeros_and_their_rim_comes_apart(sum_: Map, low: int, high: int, pieces: int) -> None:
    after = wide(cleared(low, high), sum_)
    assert len(after.body) == 1 + pieces
    assert _sums(after) == pieces - 1


@pytest.mark.parametrize("before", [(cleared(3, WIDE - 3),), (cleared(1, WIDE - 1), one("x", (5, 5), at("s"))), ()],
                         ids=["few", "changed since", "none"])
def test_a_sum_over_few_zeros_stays_whole(before: tuple[Stmt, ...]) -> None:
    assert len(wide(*before, SUM).body) == len(before) + 1


def test_a_sum_over_zeros_alone_stays_whole() -> None:
    rim = [each(OTHERS, put("x", (k, "j"), 0.0)) for k in (0, WIDE - 1)]
    rim += [each(ROWS, put("x", ("i", k), 0.0)) for k in (0, WIDE - 1)]
    after = wide(cleared(1, WIDE - 1), *rim, SUM)
    assert len(after.body) == 6
    assert _sums(after) == 0
