"""Lines of an array that others change as a whole are read before, and added to after, what runs together."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.joining.join_pointwise import join_pointwise
from sdfgad.ir.expr import Load, call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.thresholds import JoinLimits
from tests.codegen.build_programs import (
    F8,
    I8,
    add,
    agree,
    compare,
    index,
    load,
    mapped,
    mul,
    num,
    program,
    span,
    store,
)
from tests.support.oracle import check_same

N, M = 9, 11
POINTS = (span("i", N), span("j", M))
NAMES = {n: ((N, M), F8) for n in ("x", "y", "t")}
X, T = load("x", "i", "j"), load("t", "i", "j")


def joined(*body: Stmt) -> Program:
    before = program(body, {**NAMES, "row": ((M,), F8)}, {})
    after = join_pointwise(before.but(live_out=frozenset(before.arguments)), JoinLimits(points=1))
    check_same(before, after, tolerance=1e-12)
    return after


def large(made: Program) -> list[Map]:
    return [s for s in statements(made.body) if isinstance(s, Map) and len(s.domain) == 2]


def outer(*loads: Load) -> Map:
    """t gets the sum of lines."""
    return mapped(POINTS, store("t", ("i", "j"), add(num(1.0), *loads)))


UPDATE = mapped(POINTS, store("x", ("i", "j"), mul(X, T)))
MAKE = mapped(POINTS, store("t", ("i", "j"), mul(X, num(2.0))), store("x", ("i", "j"), mul(X, num(3.0))))


def test_lines_are_read_before_the_array_changes() -> None:
    made = joined(outer(load("x", "i", 2), load("x", 3, "j")), UPDATE)
    assert len(large(made)) == 1
    agree(made)


def test_sums_are_added_after_the_array_has_changed() -> None:
    made = joined(MAKE, mapped(POINTS, store("x", (3, "j"), T, "+")), mapped(POINTS, store("x", ("i", 2), T, "+")))
    assert len(large(made)) == 1
    agree(made)


def test_sums_of_arrays_that_nobody_else_touches_need_no_copy() -> None:
    made = joined(MAKE, mapped(POINTS, store("row", ("j",), T, "+")))
    assert len(made.body) == 1


def test_two_sums_into_one_element_stay_sums() -> None:
    made = joined(MAKE, mapped(POINTS, store("row", ("j",), T, "+"), store("row", ("j",), X, "+")))
    assert [p.op for s in large(made) for p in s.body if isinstance(p, Store) and p.array == "row"] == ["+", "+"]


def test_a_sum_that_the_other_map_reads_is_added_after() -> None:
    first = mapped(POINTS, store("t", ("i", "j"), mul(X, load("row", "j"))))
    assert len(large(joined(first, mapped(POINTS, store("row", ("j",), T, "+"))))) == 1


@pytest.mark.parametrize("second", [
    mapped(POINTS, store("row", ("j",), X, "+")),
    mapped(POINTS, store("x", (3, "j"), T, "max")),
], ids=["adds what was there before", "no sum"])
def test_other_collections_stay_apart(second: Map) -> None:
    first = mapped(POINTS, store("t", ("i", "j"), mul(X, num(2.0))))
    assert len(large(joined(first, second))) == 2


SQUARE = mul(X, X)


def test_sums_of_what_a_map_computes_anyway_join_it() -> None:
    update = mapped(POINTS, store("t", ("i", "j"), add(SQUARE, num(2.0))))
    added = mapped(POINTS, store("row", ("j",), SQUARE, "+"))
    for body in ((added, update), (update, added), (added, update, added)):
        assert len(large(joined(*body))) == 1


def test_two_sums_into_the_same_elements_are_added_first() -> None:
    added = mapped(POINTS, store("row", ("j",), SQUARE, "+"))
    update = mapped(POINTS, store("x", ("i", "j"), add(SQUARE, num(2.0))))
    made = joined(added, update, mapped(POINTS, store("row", ("j",), mul(X, num(3.0)), "+")))
    (stmt,) = large(made)
    assert [p.op for p in stmt.body if isinstance(p, Store) and p.array == "row"] == ["+"]
    agree(made)


def test_what_follows_a_sum_stays_apart() -> None:
    update = mapped(POINTS, store("t", ("i", "j"), mul(X, num(2.0))))
    assert len(large(joined(mapped(POINTS, store("row", ("j",), X, "+")), update))) == 2


@pytest.mark.parametrize(("line", "count"), [
    (load("x", "i", ix(M - 1) - ix("j")), 2),
    (load("x", 1, ix(M - 1) - ix("j")), 1),
], ids=["a whole array", "a line backwards"])
def test_lines_in_other_directions(line: Load, count: int) -> None:
    assert len(large(joined(outer(line), UPDATE))) == count


def test_what_only_one_branch_reads_is_not_read_ahead() -> None:
    inside = compare("gt", index("j"), num(0, I8))
    guarded = call("select", inside, load("x", 0, ix("j") - 1), num(0.0), dtype=F8)
    assert len(large(joined(mapped(POINTS, store("t", ("i", "j"), guarded)), UPDATE))) == 2


@pytest.mark.parametrize(("points", "length"), [
    ((span("i", N), span("j", ix("i") + 1, M)), M - 1),
    ((span("i", N), span("j", 0, ix(M) - ix("i"))), M),
    # Rows 0 to 5 are empty: the smallest start, -5, is never reached.
    ((span("i", N), span("j", ix("i") - 5, ix("i") * 2 - 10)), None),
    ((span("i", N), span("j", ix("i"), M, step=2)), None),
], ids=["upper", "lower", "beyond the array", "every second one"])
def test_lines_of_maps_that_are_no_boxes(points: tuple[Range, ...], length: int | None) -> None:
    make = mapped(points, store("t", ("i", "j"), add(num(1.0), load("x", 3, "j"))))
    update = mapped(points, store("x", ("i", "j"), mul(X, T)))
    look = mapped(points, store("t", ("i", "j"), mul(X, load("row", "j"))))
    for pair in ((make, update), (look, mapped(points, store("row", ("j",), T, "+")))):
        made = joined(*pair)
        assert len(large(made)) == (1 if length else 2)
        lines = {a.shape[0] for n, a in made.arrays.items() if n not in (*NAMES, "row")}
        assert lines == ({length} if length else set())
        agree(made)
