"""The next state is written where the next iteration looks for it, and only where nobody could tell."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.schedule.joining.join_pointwise import join_pointwise
from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Loop, Program, Stmt
from sdfgad.ir.walk import reads, statements, writes
from sdfgad.thresholds import JoinLimits
from sdfgad.transform.copies.write_ahead import write_ahead
from tests.codegen.build_programs import F4, F8, add, compare, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same, numerical_gradient

N, STEPS = 8, 4
ALL, INNER = (span("i", N),), (span("i", 1, N - 1),)
COPY = mapped(ALL, store("t", ("n", "i"), load("s", "i")))
STEP = mapped(INNER, store("s", ("i",), add(mul(load("t", "n", "i"), load("t", "n", ix("i") - 1)), num(0.25))))
READ = mapped(ALL, store("y", ("i",), add(load("s", "i"), load("y", "i"))))
BACK = Loop(span("m", STEPS - 1, -1, step=-1), (mapped(ALL, store("y", ("i",), load("t", "m", "i"), "+")),))
TIMES = span("n", STEPS)


def ahead(loop: Loop, before: tuple[Stmt, ...] = (), after: tuple[Stmt, ...] = (READ, BACK), dtype: np.dtype = F8,
          keep: tuple[str, ...] = ("y",)) -> tuple[Program, Program]:
    arrays = {"s": ((N,), dtype), "y": ((N,), F8)}
    first = program([*before, loop, *after], arrays, {"t": ((STEPS, N), dtype), "z": ((N,), F8)})
    first = first.but(live_out=frozenset(keep))
    second = write_ahead(first)
    check_same(first, second, keep=keep)
    return first, second


def changed(made: tuple[Program, Program]) -> bool:
    first, second = made
    assert (first is second) == ("s" in {n for s in statements(second.body) for n in writes(s)})
    return first is not second


@pytest.mark.parametrize("body", [
    pytest.param((COPY, STEP), id="a rim of two elements"),
    pytest.param((COPY, STEP, mapped((), store("s", (0,), num(0.5))), mapped((), store("s", (N - 1,), num(1.5)))),
                 id="all replaced, in pieces"),
    pytest.param((COPY, mapped(ALL, store("s", ("i",), num(9.0))), STEP), id="twice replaced"),
    pytest.param((mapped(ALL, store("z", ("i",), num(1.0))), COPY, STEP,
                  mapped(ALL, store("y", ("i",), load("t", "n", "i"), "+"))), id="others beside"),
    pytest.param((COPY, mapped(INNER, store("z", ("i",), num(2.0)), store("s", ("i",), load("t", "n", "i")))),
                 id="a map of several stores"),
])
def test_the_state_is_written_ahead(body: tuple[Stmt, ...]) -> None:
    made = ahead(Loop(TIMES, body))
    assert changed(made)
    assert made[1].arrays["t"].shape == (STEPS + 1, N)
    assert sum("s" in reads(s) for s in statements(made[1].body)) == 1


def test_counted_from_elsewhere_and_looked_at_in_regions_behind() -> None:
    loop = Loop(span("n", 3, 3 + STEPS), (
        mapped(ALL, store("t", (ix("n") - 3, "i"), load("s", "i"))),
        mapped(INNER, store("s", ("i",), mul(load("t", ix("n") - 3, "i"), num(0.5))))))
    region = If(compare("lt", load("s", 2), num(9.0)), (Loop(span("k", 2), (READ,)),), ())
    assert changed(ahead(loop, after=(region,)))


def test_two_states_and_two_loops() -> None:
    arrays = {"s": ((N,), F8), "y": ((N,), F8)}
    second = mapped(ALL, store("r", ("n", "i"), load("y", "i")))
    other = mapped(INNER, store("y", ("i",), mul(load("r", "n", "i"), load("t", "n", "i"))))
    last = mapped(ALL, store("z", ("i",), add(load("s", "i"), load("y", "i"))))
    first = program([Loop(TIMES, (COPY, second, STEP, other)), last], {**arrays, "z": ((N,), F8)},
                    {"t": ((STEPS, N), F8), "r": ((STEPS, N), F8)})
    made = write_ahead(first.but(live_out=frozenset(("z",))))
    check_same(first, made, keep=("z",))
    assert not {"s", "y"} & {n for s in statements(made.body) for n in writes(s)}


def test_what_is_in_another_slice_joins() -> None:
    arrays = {"s": ((N,), F8), "y": ((N,), F8)}
    one = mapped(INNER, store("t", (ix("n") + 1, "i"), mul(load("t", "n", "i"), load("t", "n", ix("i") - 1))))
    two = mapped(INNER, store("r", (ix("n") + 1, "i"), mul(load("t", "n", "i"), load("t", "n", ix("i") + 1))))
    last = mapped(ALL, store("y", ("i",), add(load("t", STEPS, "i"), load("r", STEPS, "i"))))
    start = [mapped((span("k", STEPS + 1), *ALL), store(n, ("k", "i"), load("s", "i"))) for n in ("t", "r")]
    transients = {n: ((STEPS + 1, N), F8) for n in ("t", "r")}
    first = program([*start, Loop(TIMES, (one, two)), last], arrays, transients)
    made = join_pointwise(first.but(live_out=frozenset(("y",))), JoinLimits(points=2))
    check_same(first, made, keep=("y",))
    assert [len(s.body) for s in made.body if isinstance(s, Loop)] == [1]
    # One that looks at what the first one writes stays behind it.
    spoilt = replace(two, body=(store("r", (ix("n") + 1, "i"), load("t", ix("n") + 1, ix("i") + 1)),))
    first = program([*start, Loop(TIMES, (one, spoilt)), last], arrays, transients)
    made = join_pointwise(first.but(live_out=frozenset(("y",))), JoinLimits(points=2))
    check_same(first, made, keep=("y",))
    assert [len(s.body) for s in made.body if isinstance(s, Loop)] == [2]


ODD = mapped((span("i", 2, N, step=2),), *STEP.body)


@pytest.mark.parametrize(("loop", "more"), [
    pytest.param(Loop(TIMES, (COPY, STEP)), {"keep": ("y", "s")}, id="the state is a result"),
    pytest.param(Loop(TIMES, (COPY, STEP, READ)), {}, id="read in the loop"),
    pytest.param(Loop(TIMES, (READ, COPY, STEP)), {}, id="read before the copy"),
    pytest.param(Loop(TIMES, (STEP, COPY)), {}, id="written before the copy"),
    pytest.param(Loop(TIMES, (COPY, mapped(INNER, store("s", ("i",), num(0.5), "+")))), {}, id="added to"),
    pytest.param(Loop(TIMES, (COPY, ODD)), {}, id="every other element"),
    pytest.param(Loop(TIMES, (COPY, mapped((span("i", 1, 3),), *STEP.body))), {}, id="mostly handed on"),
    pytest.param(Loop(TIMES, (COPY, If(compare("lt", load("y", 2), num(9.0)), (STEP,), ()))), {}, id="perhaps written"),
    pytest.param(Loop(TIMES, (COPY, Loop(span("k", 2), (STEP,)))), {}, id="written in a loop"),
    pytest.param(Loop(span("n", STEPS - 1), (COPY, STEP)), {}, id="another number of states"),
    pytest.param(Loop(span("n", STEPS - 1, -1, step=-1), (COPY, STEP)), {}, id="downwards"),
    pytest.param(Loop(TIMES, (COPY, STEP)), {"after": (STEP_AFTER := mapped(ALL, store("s", ("i",), num(1.0))), READ)},
                 id="written behind the loop"),
    pytest.param(Loop(TIMES, (COPY, STEP)), {"before": (STEP_AFTER,)}, id="written in front of the loop"),
    pytest.param(Loop(TIMES, (COPY, STEP, mapped((), store("t", ("n", 2), num(1.0))))), {}, id="the states changed"),
    pytest.param(Loop(TIMES, (mapped(INNER, *COPY.body), STEP)), {"after": (READ,)}, id="not all copied"),
    pytest.param(Loop(TIMES, (mapped(ALL, store("t", ("n", N - 1 - ix("i")), load("s", "i"))), STEP)), {},
                 id="turned round"),
])
def test_left_alone(loop: Loop, more: dict[str, tuple[Stmt, ...]]) -> None:
    first, second = ahead(loop, **more)
    assert first is second


def test_states_that_are_a_result_stay() -> None:
    first, _ = ahead(Loop(TIMES, (COPY, STEP)))
    assert write_ahead(p := first.but(live_out=frozenset(("y", "t")))) is p


def test_one_more_element_makes_too_much() -> None:
    half = [mapped((span("i", k),), store("s", ("i",), num(0.5))) for k in (N // 2, N // 2 - 1)]
    assert [changed(ahead(Loop(TIMES, (COPY, h)))) for h in half] == [True, False]


def test_single_precision() -> None:
    copy = mapped(ALL, store("t", ("n", "i"), load("s", "i", dtype=F4)))
    step = mapped(INNER, store("s", ("i",), mul(load("t", "n", "i", dtype=F4), num(0.5, F4))))
    read = mapped(ALL, store("z", ("i",), load("s", "i", dtype=F4)))
    made = ahead(Loop(TIMES, (copy, step)), after=(read,), dtype=F4)
    assert changed(made)


def burgers(u, v, steps):
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        u[1:-1] = un[1:-1] - 0.1 * un[1:-1] * (un[1:-1] - un[:-2]) - 0.1 * vn[1:-1] * un[2:]
        v[1:-1] = vn[1:-1] - 0.1 * un[1:-1] * (vn[1:-1] - vn[:-2])
        v[0] = un[3]
    return np.sum(u * u + v)


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_gradients(steps: int) -> None:
    u, v = (np.random.default_rng(k).random(9) for k in range(2))
    for k, gradient in enumerate(sdfgad.grad(burgers, wrt=("u", "v"))(u, v, steps)):
        expected = numerical_gradient(lambda a, b: burgers(a, b, steps), (u, v), k)
        np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9)


def test_the_callers_arrays_stay_and_memory_is_as_planned() -> None:
    data = tuple(np.random.default_rng(k).random(400) for k in range(2))
    kept = [d.copy() for d in data]
    gradient = sdfgad.grad(burgers, wrt=("u", "v"))
    value, _ = sdfgad.value_and_grad(burgers, wrt=("u", "v"))(*data, 6)
    found = gradient.measure(*data, 6)
    assert found.measured.peak_bytes == found.predicted.peak_bytes
    assert value == pytest.approx(burgers(*(d.copy() for d in data), 6))
    assert all(np.array_equal(a, b) for a, b in zip(data, kept, strict=True))
