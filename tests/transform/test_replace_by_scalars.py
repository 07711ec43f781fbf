"""Recurrences keep their values in registers exactly when every meeting of elements is known; results stay the same."""
from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.schedule.recurrences.replace_by_scalars import replace_by_scalars
from sdfgad.codegen.program import compile_program
from sdfgad.ir.algebra import where
from sdfgad.ir.index import ix
from sdfgad.ir.layout import Packing
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import rebuild
from tests.support.build import BOOL, C16, F8, I8, at, each, lit, loop, number_at, one, position, put, span, when
from tests.support.oracle import check_same, numerical_gradient, sample
from tests.support.passes import replace_pass

N = 16
I, J = ix("i"), ix("j")
SHAPES = {"x": (N,), "y": (N, N), "b": (N,), "c": ()}
UP = span("j", 3, N - 3)
CHAIN = one("x", (J,), at("x", J - 1) / 2.0 + at("b", J))


def build(*body: Stmt, dtype: np.dtype = F8, own: tuple[str, ...] = ()) -> Program:
    arrays = {n: Array(n, s, dtype, "transient" if n in own else "argument") for n, s in SHAPES.items()}
    arrays |= {"k": Array("k", (N,), I8, "argument"), "stop": Array("stop", (), BOOL)}
    arguments = tuple(n for n, a in arrays.items() if a.role == "argument")
    return Program("p", arrays, arguments, rebuild(body, lambda s: (replace(s),)))


def carried(*body: Stmt, dtype: np.dtype = F8) -> int:
    """How many elements live in registers after the pass, which leaves exactly the same."""
    before = build(*body, dtype=dtype)
    after = replace_by_scalars(before)
    check_same(before, after, {"k": np.arange(N)[::-1] % 5})
    return len(after.arrays) - len(before.arrays)


@pytest.mark.parametrize("trips", range(1, 6))
@pytest.mark.parametrize("step", [1, -1, 2, -3])
@pytest.mark.parametrize("far", range(1, 5))
def test_any_distance(trips, step, far):
    start = 1 if step > 0 else N - 2
    line = tuple(at("y", 1, J - k * step) * (k + 1.5) for k in range(1, far + 1) if 0 <= start - far * step < N)
    if line:
        body = one("y", (1, J), sum(line, at("b", J)))
        assert carried(loop(span("j", start, start + trips * step, step), body)) == (far + 1 if far < 4 else 0)


@pytest.mark.parametrize("trips", range(6))
@pytest.mark.parametrize("step", [1, -1, 2])
def test_sums_that_are_looked_at_next(trips, step):
    start = 2 if step > 0 else N - 3
    body = one("x", (J,), at("x", J) / 3.0), one("x", (J + step,), at("x", J), "+")
    assert carried(loop(span("j", start, start + trips * step, step), *body)) == (2 if trips else 0)


@pytest.mark.parametrize("op", ["+", "*", "min", "max", None])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_stores_to_several_elements(op, order):
    body = [one("x", (J + k,), at("x", J + (k + 1) % 3) * 0.5 + at("b", J), op) for k in order]
    assert carried(loop(UP, *body)) == 3


@pytest.mark.parametrize("dtype", [np.dtype("f4"), C16])
def test_other_numbers(dtype):
    value = at("x", J - 1, dtype=dtype) * lit(0.5, dtype) + at("b", J, dtype=dtype)
    assert carried(loop(UP, one("x", (J,), value)), dtype=dtype) == 2


def test_an_element_is_stored_once():
    before = build(loop(UP, one("x", (J,), at("x", J) / 3.0), one("x", (J + 1,), at("x", J), "+")))
    loops = [s for s in replace_by_scalars(before).body if isinstance(s, Loop)]
    stores = [p for m in loops[0].body if isinstance(m, Map) for p in m.body if isinstance(p, Store) and p.array == "x"]
    assert [p.index for p in stores] == [(J,)]


def test_what_is_read_elsewhere_in_the_body_sees_the_change():
    body = (one("x", (J,), at("x", J - 1) + 1.0), one("b", (J,), at("x", J) * 2.0), one("x", (J,), at("b", J), "+"),
            one("c", (), at("x", J) + at("x", J - 1), "+"))
    assert carried(loop(UP, *body)) == 2


def test_lines_of_one_array_that_never_meet():
    rows = one("y", (2, J), at("y", 2, J - 1) + at("y", 5, J)), one("y", (5, J), at("y", 5, J - 1) * 0.5)
    assert carried(loop(UP, *rows)) == 4
    odd = one("x", (2 * J,), at("x", 2 * J - 2) + at("x", 2 * J + 1))
    assert carried(loop(span("j", 2, 7), odd)) == 2
    diagonal = one("y", (J, J), at("y", J - 1, J - 1) + at("y", J, J - 1))
    assert carried(loop(UP, diagonal)) == 2


def test_rows_of_loops_around():
    body = one("y", (I, J), at("y", I, J - 1) + at("y", I - 1, J))
    assert carried(loop(span("i", 1, N), loop(UP, body))) == 2
    assert carried(loop(span("i", 1, N), loop(span("j", 1, I + 1), body))) == 2
    assert carried(loop(span("i", N - 1, 0, -1), loop(span("j", I, 0, -1), body))) == 0
    back = one("y", (I, J), at("y", I, J + 1) * 0.5 + at("b", J))
    assert carried(loop(span("i", N - 1, 0, -1), loop(span("j", N - 2, I - 2, -1), back))) == 2


@pytest.mark.parametrize("body", [
    one("x", (J,), at("x", ix(5)) + at("x", J - 1)),
    one("x", (J,), at("x", I) + at("x", J - 1)),
    one("y", (J, I), at("y", J - 1, I) + at("y", J - 1, 2)),
    one("x", (J,), at("x", 12 - J) + at("x", J - 1)),
    one("x", (J,), at("x", number_at("k", J)) + at("x", J - 1)),
    one("x", (number_at("k", J),), at("x", J - 1) + 1.0),
    one("x", (J // 2,), at("x", J // 2 - 1) + 1.0),
    one("x", (J,), at("x", J - 2) * 0.5),
    one("x", (J,), at("x", J + 1) * 0.5),
    one("x", (J,), at("b", J - 1) * 0.5),
    one("c", (), at("x", J - 1) * 0.5, "+"),
    Map((), (put("x", (J,), at("x", J + 1) + at("b", J)), put("x", (J + 2,), at("x", J), "+"))),
    each(span("d", 0, 1), put("x", (J,), at("x", J - 1) + 1.0)),
    when(at("b", J).compare("gt", 0.5), (CHAIN,)),
])
def test_what_is_left_alone(body):
    assert carried(loop(span("i", 2, 6), loop(UP, body))) == 0


def test_a_read_under_a_condition_may_have_no_element():
    before = where(position(J).compare("gt", position(0)), at("x", J - 1), 1.0)
    assert carried(loop(span("j", 0, N), one("x", (J,), before))) == 0


def test_loops_that_may_not_run_or_stop_early():
    assert carried(loop(span("i", 0, 4), loop(span("j", I + 1, 3), CHAIN))) == 0
    assert carried(loop(span("i", 0, 4), loop(span("j", I + 1, 5), CHAIN))) == 2
    odd = one("x", (J + 1,), at("x", J - 1) + 1.0)
    assert carried(loop(span("i", 0, 4), loop(span("j", 1, I + 3, 2), odd))) == 0
    over = one("stop", (), at("x", J).compare("gt", 2.0))
    early = one("stop", (), position(0).compare("gt", position(1))), loop(UP, CHAIN, over, until="stop")
    assert carried(*early) == 0


def test_arrays_that_are_packed_are_left_alone():
    before = build(loop(UP, CHAIN))
    x = before.arrays["x"]
    packed = before.but(arrays={**before.arrays, "x": replace(x, packing=Packing(((ix(0), ix(N)),)))})
    assert replace_by_scalars(packed) is packed


def test_parallel_iterations_have_registers_of_their_own():
    body = loop(UP, one("y", (I, J), at("y", I, J - 1) * 0.5 + at("b", J)))
    rows = Loop(span("i", 0, N), (body,), parallel=True)
    after = replace_by_scalars(build(rows))
    made = after.body[0]
    assert isinstance(made, Loop) and set(made.private) == set(after.arrays) - set(build(rows).arrays) != set()
    check_same(build(rows), after, {"k": np.zeros(N, int)})


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed):
    pick = random.Random(seed)

    def place() -> tuple[str, tuple]:
        offset, array = pick.randint(-2, 2), pick.choice(["x", "x", "y", "b"])
        rows = (J, J + offset), (2, J + offset), (J + offset, 3)
        return array, (J + offset,) if array != "y" else pick.choice(rows)

    body = []
    for _ in range(pick.randint(1, 4)):
        target, index = place()
        value = sum((at(*_flat(place())) * pick.uniform(-0.6, 0.6) for _ in range(pick.randint(1, 3))), lit(0.1))
        body.append(one(target, index, value, pick.choice([None, None, "+", "*"])))
    step = pick.choice([1, -1, 2, -2])
    start = 2 if step > 0 else N - 3
    trips = pick.randint(1, 6)
    nest = loop(span("j", start, start + trips * step, step), *body)
    before = build(loop(span("t", 0, 2), nest))
    after = replace_by_scalars(before)
    given = {"k": np.zeros(N, int)}
    check_same(before, after, given)
    if seed % 10 == 0 and after is not before:
        start_values = {n: sample(before.arrays[n], k) for k, n in enumerate(before.arguments)}
        found = [{n: np.array(v) for n, v in start_values.items()} for _ in range(2)]
        for program, memory in zip((before, after), found, strict=True):
            compile_program(program)(memory)
        for name in before.arguments:
            np.testing.assert_allclose(found[1][name], found[0][name], rtol=1e-13, err_msg=name)


def _flat(where):
    return where[0], *where[1]


def smooth(x, a):
    for _ in range(3):
        for i in range(1, x.shape[0] - 1):
            x[i] = (x[i - 1] * a[i] + x[i] + x[i + 1]) / 3.0
    return np.sum(x * x)


def test_derivatives_of_recurrences(monkeypatch):
    rng = np.random.default_rng(5)
    x, a = rng.uniform(0.5, 1.0, 12), rng.uniform(0.5, 1.0, 12)
    used = []
    replace_pass(monkeypatch, "replace_by_scalars", lambda p: used.append(replace_by_scalars(p)) or used[-1])
    found = sdfgad.grad(smooth, wrt=("x", "a"))(x.copy(), a)
    assert any("x_here" in name for name in used[-1].arrays)
    for k in range(2):
        np.testing.assert_allclose(found[k], numerical_gradient(smooth, (x, a), k), rtol=1e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_spreads_as_before(bad):
    before = build(loop(UP, CHAIN))
    after = replace_by_scalars(before)
    x = sample(before.arrays["x"], 0)
    x[2] = bad
    check_same(before, after, {"x": x, "k": np.zeros(N, int)})
