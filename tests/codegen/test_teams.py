"""One team of threads for all kernels of a loop: nobody reads what is not there yet, or is no longer."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from sdfgad.codegen.cpu.footprint import scheduled
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel
from sdfgad.codegen.program import compile_program
from sdfgad.ir.expr import Index, const
from sdfgad.ir.index import elem, ix
from sdfgad.ir.program import If, Lib, Loop, Program, Stmt, While, view_of
from sdfgad.thresholds import RowLimits
from tests.codegen.build_programs import (
    B1,
    F8,
    I8,
    add,
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
from tests.support.oracle import sample
from tests.support.point_loops import run
from tests.support.thresholds import change

N = 19
CALLS, THREADS = 25, (1, 2, 4, 8)


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, parallel_work=512)


def build(*body: Stmt, rows: int = N) -> Program:
    return program(body, {n: ((rows, N), F8) for n in ("x", "y", "z")} | {"v": ((N,), F8), "s": ((), F8)},
                   {"go": ((), B1), "n": ((), I8), "m": ((), I8), "w": ((N,), F8)})


def teams(items: tuple[Item, ...]) -> Iterator[Stmt]:
    for item in items:
        if isinstance(item, ControlFlow):
            if item.team:
                yield item.stmt
            for part in item.parts:
                yield from teams(part)


def same(made: Program, values: Mapping[str, np.ndarray] | None = None) -> None:
    """Native code leaves what the interpreter does, every time and with any number of threads."""
    start = {n: (values or {}).get(n, sample(made.arrays[n], k)) for k, n in enumerate(made.arguments)}
    expected, code = copies(start), compile_program(made)
    run(made, expected)
    for code.threads in THREADS:
        for _ in range(CALLS):
            actual = copies(start)
            code(actual)
            for name in made.arguments:
                np.testing.assert_allclose(actual[name], expected[name], rtol=1e-12, atol=1e-12, err_msg=name)


def copies(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {n: np.array(v, order="C") for n, v in values.items()}


def team_of(made: Program) -> list[Stmt]:
    """The loops that teams run."""
    same(made)
    found = list(teams(scheduled(made).items))
    assert source(lower(made)).count("#pragma omp parallel firstprivate(") == len(found)
    return found


def across(to: str, origin: str, rows: int = N, step: int = 1) -> Stmt:
    """Rows in another order: each thread reads what others wrote."""
    i = span("i", rows) if step > 0 else span("i", rows - 1, -1, step=-1)
    value = add(load(origin, rows - 1 - ix("i"), "j"), mul(load(origin, "i", N - 1 - ix("j")), num(0.25)), load("s"))
    return mapped([i, span("j", N)], store(to, ["i", "j"], mul(value, num(0.5))))


THERE, BACK = across("y", "x"), across("x", "y")
SCALAR = mapped([], store("s", [], mul(add(load("s"), load("x", 0, 4)), num(0.125))))
BORDER = mapped([span("j", N)], store("y", [0, "j"], load("y", N - 1, "j")))
COUNT = mapped([], store("n", [], add(load("n", dtype=I8), index(1))))
SMALLER = mapped([], store("go", [], compare("lt", load("n", dtype=I8), index(5))))
ZERO = mapped([], store("n", [], const(0, I8)))


def test_threads_wait_for_each_other_and_for_what_one_of_them_does() -> None:
    outer = Loop(span("t", 7), (THERE, SCALAR, BORDER, BACK))
    assert team_of(build(outer)) == [outer]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 64, 67])
@pytest.mark.parametrize("step", [1, -1])
def test_few_rows_and_odd_numbers_of_them(rows: int, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, parallel_work=1)
    team_of(build(Loop(span("t", 9), (across("y", "x", rows, step), across("x", "y", rows, step), SCALAR)), rows=rows))


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_loops_inside(trips: int) -> None:
    inner = Loop(span("q", trips), (THERE, BACK))
    outer = Loop(span("t", 4, -1, step=-1), (THERE, inner, SCALAR, BACK))
    made = build(outer)
    assert team_of(made) == [outer]


def test_loops_whose_bounds_change_from_iteration_to_iteration() -> None:
    """Also to no iteration at all, where nothing parts one reading of the bounds from the next writing."""
    count = mapped([], store("m", [], Index(ix("t") - (ix("t") // 2) * 2, I8)))
    inner = Loop(span("q", elem("m", ())), (THERE, BACK))
    outer = Loop(span("t", 40), (count, inner))
    assert team_of(build(outer)) == [outer]


def test_triangles() -> None:
    lower_part = mapped([span("i", 1, N), span("j", "i")], store("y", ["i", "j"], load("x", "j", "i"), "+"))
    rows = mapped([span("i", "t", N), span("j", N)], store("x", ["i", "j"], mul(load("y", N - 1 - ix("i"), "j"),
                                                                                num(0.5))))
    outer = Loop(span("t", N), (lower_part, rows, SCALAR))
    same(build(outer))


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_branches(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two is taken, by all threads; it may change what it was chosen by."""
    change(monkeypatch, team_waits=9)
    turn = mapped([], store("s", [], mul(load("s"), num(-1.0))))
    branch = If(compare("lt", load("s"), num(0.0)), (turn, THERE, BACK), (turn, BACK, THERE))
    outer = Loop(span("t", 20), (If(compare("lt", index("t"), index(limit)), (THERE,), ()), THERE, branch, BACK))
    assert team_of(build(outer)) == [outer]


def test_loops_that_end_when_data_say_so() -> None:
    again = While("go", (COUNT, SMALLER, THERE, BACK, across("z", "x"), across("x", "z"), THERE, BACK), "n")
    made = build(Loop(span("t", 6), (ZERO, SMALLER, again, THERE, BACK)))
    assert len(team_of(made)) == 1
    assert team_of(build(ZERO, SMALLER, again)) == [again]


def test_loops_that_may_end_early() -> None:
    """`until` is looked at before every iteration."""
    ends = mapped([], store("go", [], compare("gt", load("n", dtype=I8), index(3))))
    early = Loop(span("q", 9), (COUNT, ends, THERE, BACK, across("z", "x"), across("x", "z")), until="go", trips="n")
    never = mapped([], store("go", [], const(False, B1)))
    outer = Loop(span("t", 5), (ZERO, never, early, THERE, BACK))
    assert team_of(build(outer)) == [outer]


def test_sums_of_all_rows() -> None:
    total = mapped([span("i", N), span("j", N)], store("s", [], mul(load("x", "i", "j"), num(0.001)), "+"))
    down = mapped([span("i", N), span("j", N)], store("v", ["j"], mul(load("y", "i", "j"), num(0.01)), "+"))
    outer = Loop(span("t", 5), (THERE, total, BACK, down, THERE, BACK))
    assert team_of(build(outer)) == [outer]


@pytest.mark.parametrize("stack", [RowLimits().stack, 0], ids=["stack", "room"])
def test_rows_with_arrays_of_their_own(stack: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread has its own, on its stack or in its room."""
    change(monkeypatch, rows=RowLimits(stack=stack))
    fill = mapped([span("j", N)], store("w", ["j"], load("x", N - 1 - ix("i"), "j")))
    use = mapped([span("j", N)], store("y", ["i", "j"], add(load("w", N - 1 - ix("j")), load("s"))))
    rows = Loop(span("i", N), (fill, use), parallel=True, private=("w",))
    outer = Loop(span("t", 5), (rows, SCALAR, BACK))
    assert team_of(build(outer)) == [outer]


def test_not_a_number_goes_where_it_goes() -> None:
    made = build(Loop(span("t", 3), (THERE, SCALAR, BACK)))
    values = {"x": np.full((N, N), 1.0), "s": np.array(np.inf)}
    values["x"][2, 3] = np.nan
    same(made, values)


def test_errors_do_not_leave_a_team() -> None:
    """A loop with a piece that may fail has none; loops inside it may."""
    inner = Loop(span("q", 3), (THERE, BACK))
    arrays = build(inner).arrays
    product = Lib("matmul", (view_of(arrays["z"]),), (view_of(arrays["x"]), view_of(arrays["y"])))
    assert team_of(build(Loop(span("t", 2), (inner, product)))) == [inner]


def test_rare_kernels_have_no_team() -> None:
    """Others would only wait for the one that does nearly everything."""
    small = [mapped([span("k", 9)], store("v", ["k"], load("v", ix("k") + 1), "+")) for _ in range(2)]
    rare = If(compare("lt", load("s"), num(0.0)), (THERE,), ())
    assert team_of(build(Loop(span("t", 20), (small[0], SCALAR, rare, small[1])))) == []


def in_team(monkeypatch: pytest.MonkeyPatch, least: int, *body: Stmt) -> list[type]:
    """What a loop is made of that a team runs, where so many operations are worth a share."""
    change(monkeypatch, team_share=least)
    made = build(Loop(span("t", 5), body))
    assert len(team_of(made)) == 1
    (region,) = (i for i in scheduled(made).items if isinstance(i, ControlFlow))
    return [type(i) for i in region.parts[0]]


TURNED = mapped([span("i", N), span("j", 9)], store("z", ["i", "j"], load("y", N - 1 - ix("i"), "j")))
AGAIN = mapped([span("i", N), span("j", 9)], store("z", ["i", "j"], load("y", N - 1 - ix("i"), "j"), "+"))
ONWARDS = across("x", "z")


def test_threads_that_are_there_share_small_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_team(monkeypatch, 128, THERE, TURNED, AGAIN, ONWARDS) == [Kernel, Kernel, Kernel]


@pytest.mark.parametrize("least, body", [
    (10 ** 5, (THERE, TURNED, AGAIN, ONWARDS)),
    (128, (THERE, TURNED, SCALAR, ONWARDS)),
], ids=["little work", "a scalar among them"])
def test_one_thread_does_the_rest(least: int, body: tuple[Stmt, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    assert Group in in_team(monkeypatch, least, *body)
