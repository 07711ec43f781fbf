"""Statements over the same points run together only where one point never meets another."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.joining.join_pointwise import join_pointwise
from sdfgad.ir.expr import Expr, Load, Local, call, loads
from sdfgad.ir.index import elem, ix, minimum, mod
from sdfgad.ir.program import Let, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.thresholds import JoinLimits, Thresholds
from tests.codegen.build_programs import F4, F8, I8, add, agree, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N = 7
POINTS = (span("i", N), span("j", N))
OTHER = (span("a", 1, N + 1), span("b", N))
LIMITS = JoinLimits(points=1)
MATRICES = ("x", "y", "z", "t")


def build(*body: Stmt, dtypes: tuple = ()) -> Program:
    arrays = {**{n: ((N, N), F8) for n in MATRICES}, "row": ((N,), F8), "wide": ((N, 8 * N), F8), **dict(dtypes)}
    return program(body, arrays, {})


def joined(before: Program, keep: tuple[str, ...] = (*MATRICES, "row", "wide"), limits: JoinLimits = LIMITS,
           tolerance: float = 0.0) -> Program:
    after = join_pointwise(before.but(live_out=frozenset(keep)), limits)
    check_same(before, after, tolerance=tolerance)
    return after


def maps(made: Program) -> list[Map]:
    return [s for s in statements(made.body) if isinstance(s, Map)]


def pointwise(target: str, *operands: Load, op: str | None = None) -> Map:
    return mapped(POINTS, store(target, ("i", "j"), add(num(1.0), *operands), op))


X, T, Y = load("x", "i", "j"), load("t", "i", "j"), load("y", "i", "j")

MIRROR = ix(N - 1) - ix("j")


def test_two_passes_over_the_same_data_are_one() -> None:
    assert len(maps(joined(build(pointwise("y", X), pointwise("z", X))))) == 1


def test_only_rows_are_joined_where_only_they_count() -> None:
    row = [mapped([span("j", N)], store("row", ("j",), load("x", 0, "j"))),
           mapped([span("k", N)], store("y", (0, "k"), mul(load("row", "k"), load("x", 1, "k"))))]
    made = maps(joined(build(pointwise("y", X), pointwise("z", X), *row), limits=JoinLimits(points=1, rows=True)))
    assert [len(m.domain) for m in made] == [2, 2, 1]


@pytest.mark.parametrize(("points", "count"), [(8, 1), (7, 2)])
def test_rows_of_the_narrowest_strips_are_joined(points: int, count: int) -> None:
    lanes, arrays = span("j", points), [(n, ((8,), F8)) for n in "abc"]
    row = (mapped([lanes], store("b", ("j",), load("a", "j"))),
           mapped([lanes], store("c", ("j",), mul(load("b", "j"), load("a", "j")))))
    assert len(maps(joined(build(*row, dtypes=tuple(arrays)), ("b", "c"), Thresholds().small_rows))) == count


def of_slices(target: str, k: int, source: str, *more: Load, op: str | None = None) -> Map:
    """Slice `k` of one array from that of another."""
    return mapped(POINTS, store(target, (k, "i", "j"), add(load(source, k, "i", "j"), *more), op))


def sliced(*body: Stmt) -> Program:
    return build(*body, dtypes=tuple((n, ((3, N, N), F8)) for n in SLICED))


SLICED = ("a3", "b3", "c3")
A3, B3, C3 = SLICED


def test_maps_that_write_other_slices_of_an_array_are_one() -> None:
    assert len(maps(joined(sliced(*(of_slices(B3, k, A3, X) for k in range(3))), SLICED))) == 1


def test_slices_that_are_read_and_written_are_handed_on_by_themselves() -> None:
    after = joined(sliced(*(of_slices(B3, k, A3, X, op="+") for k in (0, 2, 0, 2)), of_slices(C3, 2, B3)), SLICED)
    (made,) = maps(after)
    stores = [p for p in made.body if isinstance(p, Store)]
    assert [(p.array, p.index[0]) for p in stores] == [(B3, ix(0)), (B3, ix(2)), (C3, ix(2))]
    agree(after)


def test_what_stands_between_leaves_where_it_touches_other_slices() -> None:
    turned = mapped(POINTS, store(B3, (0, "i", "j"), load(C3, 0, "i", MIRROR)))
    before = sliced(of_slices(C3, 0, A3, X), of_slices("a3", 1, B3), turned, of_slices(C3, 1, B3, X))
    assert sum(any(isinstance(p, Store) and p.array == C3 for p in m.body) for m in maps(joined(before, SLICED))) == 1


@pytest.mark.parametrize("place", [(1, "i", "j"), (mod(ix("i"), 3), "i", "j")], ids=["the same", "any"])
def test_what_stands_between_stays_where_it_touches_that_slice(place: tuple) -> None:
    between = mapped(POINTS, store(A3, place, load(C3, 0, "i", MIRROR)))
    before = sliced(of_slices(C3, 0, A3, X), between, of_slices(C3, 1, A3, X))
    assert [p.array for p in maps(joined(before, SLICED))[0].body if isinstance(p, Store)] == [C3]


def test_slices_at_other_points_stay_apart() -> None:
    turned = mapped(POINTS, store(C3, (1, "i", "j"), add(X, load(C3, 0, "i", MIRROR))))
    assert len(maps(joined(sliced(of_slices(C3, 0, A3, X), turned), SLICED))) == 2


def test_single_rows_of_an_array_stay_apart() -> None:
    rows = [mapped([span("j", N)], store("y", (k, "j"), add(load("x", k, "j"), load("row", "j")))) for k in (0, 1)]
    assert len(maps(joined(build(*rows)))) == 2


def test_a_value_is_handed_on_and_not_loaded_again() -> None:
    (made,) = maps(joined(build(pointwise("t", X), pointwise("y", T), pointwise("y", X, op="+"), pointwise("z", Y))))
    assert {n.array for p in made.body for n in loads(p.expr)} == {"x"}
    assert [p.array for p in made.body if isinstance(p, Store)] == ["t", "y", "z"]


def test_native_code_hands_values_on() -> None:
    agree(joined(build(pointwise("t", X), pointwise("y", T, op="+"), pointwise("z", Y, op="*"), pointwise("y", X))))


def test_what_nobody_reads_afterwards_is_not_stored() -> None:
    before = build(pointwise("t", X), pointwise("y", T))
    (made,) = maps(join_pointwise(before.but(arguments=("x",)).but(live_out=frozenset(("y",))), LIMITS))
    assert [p.array for p in made.body if isinstance(p, Store)] == ["y"]


def test_private_arrays_that_are_gone_are_no_longer_named() -> None:
    inner = (span("j", N),)
    body = (mapped(inner, store("row", ("j",), load("x", "i", "j"))),
            mapped(inner, store("y", ("i", "j"), mul(load("row", "j"), load("x", "i", "j")))))
    before = build(Loop(span("i", N), body, parallel=True, private=("row",))).but(arguments=("x",))
    (loop,) = join_pointwise(before.but(live_out=frozenset(("y",))), LIMITS).body
    assert isinstance(loop, Loop) and not loop.private and len(loop.body) == 1


def test_an_element_without_a_value_yet_is_loaded_once_and_stored_once() -> None:
    (made,) = maps(joined(build(pointwise("y", X, op="+"), pointwise("y", op="+"), pointwise("z", Y))))
    assert [p.array for p in made.body if isinstance(p, Store)] == ["y", "z"]


def test_other_names_and_other_starts() -> None:
    shifted = mapped(OTHER, store("z", (ix("a") - 1, "b"), load("x", ix("a") - 1, "b")))
    assert len(maps(joined(build(pointwise("y", X), shifted)))) == 1


def test_names_of_values_stay_apart() -> None:
    def named(target: str, value: float) -> Map:
        v = Let("v", mul(X, num(value)))
        return mapped(POINTS, v, store(target, ("i", "j"), add(Local("v", F8), num(1.0))))

    assert len(maps(joined(build(named("y", 2.0), named("z", 3.0))))) == 1


@pytest.mark.parametrize("second", [
    mapped(POINTS, store("z", ("i", "j"), add(load("y", "i", MIRROR), X))),
    mapped(POINTS, store("x", ("i", MIRROR), Y)),
    mapped(POINTS, store("y", ("i", MIRROR), mul(X, load("t", "i", "j")))),  # turned round, more accesses would fall
    mapped(POINTS, store("z", ("i", "j"), load("x", 0, "j"))),
    mapped((span("i", N), span("j", N - 1)), store("z", ("i", "j"), X)),
    mapped(POINTS, store("row", ("j",), X, "+")),
    mapped(POINTS, store("z", ("i", "j"), num(1.0))),
], ids=["reads another point", "replaces what others read", "replaces what others write", "shares little",
        "other points", "collects",
        "other data"])
def test_maps_that_stay_apart(second: Map) -> None:
    assert len(maps(joined(build(pointwise("y", X), second)))) == 2


def test_distant_elements_stay_apart() -> None:
    def column(target: str) -> Map:
        return mapped(POINTS, store(target, ("i", "j"), load("wide", "i", ix("j") * 8)))

    assert len(maps(joined(build(column("y"), column("z"))))) == 2


@pytest.mark.parametrize("shared, count", [("exp", 1), ("neg", 2)])
def test_distant_elements_of_one_row_are_worth_common_work(shared: str, count: int) -> None:
    """There is one order of the loop, so that both go through the same lines of the cache."""
    def summed(target: str, fn: str) -> Map:
        return mapped(POINTS[:1], store(target, (0, 0), mul(call(fn, load("wide", "i", 3)), load("row", "i")), "+"))

    made = joined(build(summed("y", "exp"), summed("z", shared)), tolerance=1e-13)
    assert sum(len(m.domain) == 1 for m in maps(made)) == count


def test_small_maps_stay_as_they_are() -> None:
    assert len(maps(joined(build(pointwise("y", X), pointwise("z", X)), limits=JoinLimits()))) == 2


@pytest.mark.parametrize(("width", "count"), [(32, 1), (20, 2)])
def test_strips_count_as_whole_ones_though_the_last_is_a_part(width: int, count: int) -> None:
    low = ix("s") * width
    strip = span("i", low, minimum(50, low + width))
    body = (mapped([strip], store("b", ("i",), mul(num(2.0), load("a", "i")))),
            mapped([strip], store("c", ("i",), add(load("a", "i"), load("b", "i")))))
    vectors = {n: ((50,), F8) for n in "abc"}
    before = program((Loop(span("s", -(-50 // width)), body),), vectors, {})
    assert len(maps(joined(before, keep=tuple("bc"), limits=JoinLimits(points=24)))) == count


def test_values_that_a_store_rounds_stay_apart() -> None:
    single = (("s", ((N, N), F4)),)
    first = mapped(POINTS, store("s", ("i", "j"), X))
    second = mapped(POINTS, store("z", ("i", "j"), mul(X, load("s", "i", "j", dtype=F4))))
    assert len(maps(joined(build(first, second, dtypes=single), (*MATRICES, "s")))) == 2


ROW = mapped((span("j", N),), store("row", ("j",), num(1.0)))


@pytest.mark.parametrize(("between", "count"), [
    (ROW, 2),
    (mapped((span("j", N),), store("row", ("j",), load("y", 0, "j"))), 2),
    (mapped((span("j", N),), store("x", (0, "j"), num(2.0))), 3),
    (mapped((span("j", N),), store("x", (0, "j"), load("y", 0, "j"))), 3),
], ids=["nothing shared", "reads the first", "changes the second", "both"])
def test_what_stands_between(between: Map, count: int) -> None:
    assert len(maps(joined(build(pointwise("y", X), between, pointwise("z", X))))) == count


BOTH = mul(load("row", "i"), load("row", "j"))
"""Work that changes along both variables."""


def working(target: str, extra: float, op: str | None = None) -> Map:
    return mapped(POINTS, store(target, ("i", "j"), add(BOTH, num(extra)), op))


def test_maps_that_share_nothing_but_work_are_one() -> None:
    summing = mapped(POINTS, store("line", ("i",), BOTH, "+"), store("y", ("i", "j"), num(1.0)))
    before = build(summing, working("z", 2.0), dtypes=(("line", ((N,), F8)),))
    after = join_pointwise(before.but(live_out=frozenset((*MATRICES, "row", "line"))), LIMITS)
    check_same(before, after)
    assert len([s for s in maps(after) if len(s.domain) == 2]) == 1


def test_what_stands_between_goes_before_or_after_both() -> None:
    ahead = mapped((span("j", N),), store("row", ("j",), num(3.0)))  # the second map waits for it
    behind = mapped(POINTS, store("t", ("j", "i"), Y))  # waits for the first map
    second = mapped(POINTS, store("z", ("i", "j"), add(X, load("row", "j"))))
    after = joined(build(pointwise("y", X), ahead, behind, second))
    assert [[p.array for p in s.body if isinstance(p, Store)] for s in maps(after)] == [["row"], ["y", "z"], ["t"]]


def test_what_both_wait_for_in_turn_keeps_them_apart() -> None:
    between = mapped((span("j", N),), store("row", ("j",), load("y", 0, "j")))
    second = mapped(POINTS, store("z", ("i", "j"), add(X, load("row", "j"))))
    assert len(maps(joined(build(pointwise("y", X), between, second)))) == 3


PLACE = elem("p", ("i",))


def scattered(*targets: tuple[str, object], value: Expr = mul(X, Y)) -> list[Map]:
    """Sums of the same values, at places of arrays that another one decides."""
    return [mapped(POINTS, store(t, (mod(place, N), "j"), value, "+")) for t, place in targets]  # type: ignore[arg-type]


def looked_up(*body: Stmt, keep: tuple[str, ...] = ("x", "y", "z", "t")) -> list[Map]:
    before = build(*body, dtypes=(("p", ((N,), I8)),))
    return maps(joined(before, keep, tolerance=1e-14))


def test_sums_at_places_that_an_array_decides_share_what_they_compute() -> None:
    assert len(looked_up(*scattered(("z", PLACE), ("t", PLACE)))) == 1


def test_sums_at_several_places_of_one_array_run_together() -> None:
    (made,) = looked_up(*scattered(("z", PLACE), ("z", PLACE + 1)))
    assert len(made.body) == 2


def test_such_a_sum_joins_what_is_computed_at_each_point() -> None:
    found = mul(mul(X, Y), load("row", mod(PLACE, N)))
    (made,) = looked_up(*scattered(("z", PLACE), value=found), mapped(POINTS, store("t", ("i", "j"), found)))
    assert [p.array for p in made.body if isinstance(p, Store)] == ["z", "t"]


def test_what_may_become_vectors_joins_no_such_sum() -> None:
    assert len(looked_up(*scattered(("z", PLACE)), mapped(POINTS, store("t", ("i", "j"), mul(X, Y))))) == 2


@pytest.mark.parametrize("other", [
    mapped(POINTS, store("t", ("i", "j"), mul(mul(X, Y), load("z", "i", "j")))),
    mapped(POINTS, store("z", ("i", "j"), mul(X, Y))),
    mapped(POINTS, store("z", (mod(PLACE, N), "j"), mul(X, Y))),
], ids=["looked at", "replaced", "replaced somewhere"])
def test_what_looks_at_such_sums_or_replaces_them_stays_apart(other: Map) -> None:
    assert len(looked_up(*scattered(("z", PLACE)), other)) == 2


def test_sums_at_neighbouring_points_stay_apart() -> None:
    sums = [mapped(POINTS, store("wide", ("i", ix("j") + k), mul(X, Y), "+")) for k in (0, 1)]
    assert len(maps(joined(build(*sums), tolerance=1e-14))) == 2


def test_what_makes_the_places_stays_apart() -> None:
    places = mapped(POINTS, store("q", ("i", "j"), call("cast", mul(X, Y), dtype=I8)))
    sums = mapped(POINTS, store("z", (mod(elem("q", ("i", "j")), N), "j"), mul(X, Y), "+"))
    before = build(places, sums, dtypes=(("q", ((N, N), I8)),))
    assert len(maps(joined(before, ("x", "y", "z", "q")))) == 2


def test_native_code_adds_where_an_array_says() -> None:
    before = build(*scattered(("z", PLACE), ("z", PLACE + 1), ("t", PLACE - 2)),
                   mapped(POINTS, store("row", ("j",), mul(X, Y), "+")), dtypes=(("p", ((N,), I8)),))
    made = joined(before, tolerance=1e-14)
    assert len(maps(made)) < 4
    agree(made, {"p": np.array([3, -1, 3, 0, 6, 99, 3])})


@pytest.mark.parametrize("other, count", [
    (mul(X, T), 1), (mul(Y, load("t", "i", 0)), 2), (X, 1),
], ids=["what both load", "something else", "itself"])
def test_sums_over_all_points_share_what_they_load(other: Expr, count: int) -> None:
    first = mapped(POINTS, store("row", (0,), mul(X, load("z", "i", "j")), "+"))
    made = maps(joined(build(first, mapped(POINTS, store("row", (3,), other, "+"))), tolerance=1e-13))
    assert sum(len(m.domain) == 2 for m in made) == count


def test_sums_of_rows_stay_apart() -> None:
    first, other = store("row", ("i",), mul(X, T), "+"), store("wide", (0, "j"), mul(X, Y), "+")
    assert len(maps(joined(build(mapped(POINTS, first), mapped(POINTS, other))))) == 2
