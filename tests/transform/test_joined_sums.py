"""Sums over the same data run together only where nothing between them, and neither of the two, minds."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.schedule.sums.joined_sums import join_sums
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Loop, Map, Program, Stmt
from sdfgad.ir.walk import statements
from sdfgad.pipeline import Request, derive
from tests.codegen.build_programs import F8, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

I, J = ix("i"), ix("j")
ROW, COLUMN = span("i", 6), span("j", 9)


def build(*body: Stmt) -> Program:
    """For every i; s and t start from zero."""
    start: Block = tuple(mapped([], store(n, (I,), num(0.0))) for n in ("s", "t"))
    arrays = {"x": ((9,), F8), **dict.fromkeys(("s", "t", "y"), ((6,), F8))}
    return program((Loop(ROW, (*start, *body)),), arrays, {})


def together(before: Program) -> bool:
    """Whether two sums became one map, which computes the same."""
    after = join_sums(before)
    check_same(before, after)
    return any(isinstance(s, Map) and len(s.body) == 2 for s in statements(after.body))


FIRST = mapped([COLUMN], store("s", (I,), load("x", J), "+"))
SECOND = mapped([span("l", 9)], store("t", (I,), mul(load("x", "l"), load("x", "l")), "+"))


def test_two_sums_over_the_same_data_are_one_pass() -> None:
    assert together(build(FIRST, SECOND))


def test_what_stands_between_and_minds_nothing_stays_first() -> None:
    assert together(build(FIRST, mapped([], store("y", (I,), num(2.0))), SECOND))


@pytest.mark.parametrize("between", [
    mapped([], store("y", (I,), load("s", I))),
    mapped([], store("s", (I,), num(1.0), "*")),
    mapped([COLUMN], store("x", (J,), num(2.0), "*")),
], ids=["reads the sum", "changes the sum", "changes the data"])
def test_what_stands_between_and_minds(between: Map) -> None:
    assert not together(build(FIRST, between, SECOND))


def test_a_sum_of_the_other_sum_waits() -> None:
    mean = mapped([COLUMN], store("t", (I,), mul(load("x", J), load("s", I)), "+"))
    assert not together(build(FIRST, mean))


def test_other_points_or_other_data_stay_apart() -> None:
    assert not together(build(FIRST, mapped([span("j", 8)], store("t", (I,), load("x", J), "+"))))
    assert not together(build(FIRST, mapped([COLUMN], store("t", (I,), load("y", I), "+"))))


def test_sums_of_several_elements_stay_apart() -> None:
    """Each is a nest of its own that may be tiled."""
    several = [mapped([ROW, COLUMN], store(n, (I,), load("x", J), "+")) for n in ("s", "t")]
    made = program(several, {"x": ((9,), F8), "s": ((6,), F8), "t": ((6,), F8)}, {})
    assert join_sums(made).body == made.body


def ratio(x):
    return np.sum(x) / np.sum(x * x)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_value_and_gradient_of_two_sums_over_an_array(threads: int) -> None:
    x = np.random.default_rng(0).random(200_000)
    made = derive(ratio, bind(ratio, (x,), {}), Request(("x",), value=True)).program
    assert any(isinstance(s, Map) and [p.op for p in s.body] == ["+", "+"] for s in statements(made.body))
    with sdfgad.config(num_threads=threads):
        value, gradient = sdfgad.value_and_grad(ratio)(x)
    first, second = np.sum(x), np.sum(x * x)
    assert value == pytest.approx(first / second, rel=1e-13)
    np.testing.assert_allclose(gradient, 1.0 / second - 2.0 * x * first / second ** 2, rtol=0, atol=1e-12 / second)


def moments(x, edges):
    out = np.zeros(edges.shape[0] - 1)
    for i in range(edges.shape[0] - 1):
        inside = np.logical_and(edges[i] <= x, x < edges[i + 1])
        out[i] = (x[inside] ** 2).mean()
    return out


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_value_and_gradient_of_means_under_masks(threads: int) -> None:
    rng = np.random.default_rng(0)
    x, edges = rng.random(3000), np.linspace(0.0, 1.0, 40)
    with sdfgad.config(num_threads=threads):
        value, made = sdfgad.value_and_grad(moments, wrt="x", reduce="sum")(x, edges)
    place = np.searchsorted(edges, x, "right") - 1
    assert value == pytest.approx(moments(x, edges).sum(), rel=1e-13)
    np.testing.assert_allclose(made, 2.0 * x / np.bincount(place)[place], rtol=1e-12)
