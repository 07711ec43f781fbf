"""Updates of rank one are put off until a few of them are one product, and nothing else changes."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.index import elem
from sdfgad.ir.program import Array, Loop, Map, Program, Range, Stmt
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import statements
from sdfgad.transform.products.delayed import delay_updates
from sdfgad.verbs.pipeline import Request, derive
from tests.support.build import F8, I8, at, each, loop, one, put, span
from tests.support.oracle import check_same, numerical_gradient

N, M = 80, 70
"""As many as 9 iterations are put off."""
SHAPES = {"c": (N, M), "e": (M, N), "h": (2, N, M), "v": (N,), "w": (M,), "x": (90, M), "s": (), "n": (1,)}
COUNT = 1 - at("n", 0, dtype=I8)
I, J = span("i", 0, N), span("j", 0, M)
STEP = each(I, put("v", ("i",), at("v", "i") * 0.9 + at("x", "t", 0)))
UPDATE = each((I, J), put("c", ("i", "j"), at("v", "i") * at("x", "t", "j") * 3.0, "+"))
TURNED = each((I, J), put("e", ("j", "i"), at("v", "i") * at("w", "j"), "+"))


def build(*body: Stmt) -> Program:
    arrays = {n: Array(n, s, I8 if n == "n" else F8, "argument") for n, s in SHAPES.items()}
    return Program("p", arrays, tuple(SHAPES), body)


def delayed(*body: Stmt) -> Program:
    """What the pass makes of a program; it computes the same."""
    before = build(*body)
    after = delay_updates(before)
    check_same(before, after, tolerance=1e-12)
    return after


def sizes(program: Program) -> list[int | None]:
    """The terms of the products."""
    return [s.domain[2].trips for s in statements(program.body) if isinstance(s, Map) and len(s.domain) == 3]


@pytest.mark.parametrize("turns, loops", [
    (span("t", 0, 9), [9]), (span("t", 3, 21), [2, 9]), (span("t", 29, 5, step=-1), [3, 8]),
    (span("t", 0, 22), [2, 9, 4]), (span("t", 10, -1, step=-1), [9, 2]),
], ids=["at once", "two blocks", "downwards", "some left over", "fewer than two blocks"])
def test_blocks_of_iterations(turns: Range, loops: list[int]):
    made = delayed(loop(turns, STEP, UPDATE))
    assert [s.range.trips for s in statements(made.body) if isinstance(s, Loop)] == loops
    assert len(sizes(made)) == 1
    assert len({id(s) for s in statements(made.body)}) == len(list(statements(made.body)))


def test_two_matrices_and_what_comes_between():
    made = delayed(loop(span("t", 0, 18), UPDATE, STEP, each(J, put("w", ("j",), at("v", 3) + at("w", "j"))), TURNED))
    assert sizes(made) == [9, 9]


@pytest.mark.parametrize("body", [
    (STEP, UPDATE, one("s", (), at("c", 0, 0))),
    (STEP, UPDATE, one("c", (0, 0), 1.0)),
    (STEP, each((I, J), put("c", ("i", "j"), at("v", "i") * at("x", "t", "j") * at("c", "i", 0), "+"))),
    (STEP, each((I, J), put("c", ("i", "j"), at("v", "i") + at("x", "t", "j"), "+"))),
    (STEP, each((span("i", 0, 8), span("j", 0, 9)), put("c", ("i", "j"), at("v", "i") * at("x", "t", "j"), "+"))),
    (STEP, each((I, J), put("c", ("i", "j"), at("v", "i") * at("x", "t", "j")))),
    (each((I, J), put("h", (elem("n", (0,)), "i", "j"), at("v", "i") * at("w", "j"), "+")), one("n", (0,), COUNT)),
], ids=["looked at", "written elsewhere", "a factor of its own", "a sum", "small", "assigned", "data say where"])
def test_what_stays_as_it_is(body: tuple[Stmt, ...]):
    before = build(loop(span("t", 0, 18), *body))
    assert delay_updates(before) is before
    assert delay_updates(build(loop(span("t", 0, 5), STEP, UPDATE))) == build(loop(span("t", 0, 5), STEP, UPDATE))


def test_iterations_that_run_at_once_share_no_vectors():
    update = each((I, J), put("h", ("r", "i", "j"), at("x", "t", 0) * at("x", "t", "j"), "+"))
    before = build(Loop(span("r", 0, 2), (loop(span("t", 0, 18), update),), parallel=True))
    assert delay_updates(before) is before


def test_weights_of_a_recurrent_network():
    def loss(w, x):
        h = np.zeros(w.shape[0])
        for t in range(x.shape[0]):
            h = np.tanh(w @ h + x[t])
        return np.sum(h * h)

    rng = np.random.default_rng(3)
    w, x = rng.standard_normal((70, 70)) * 0.1, rng.standard_normal((13, 70))
    text = program_text(derive(loss, bind(loss, (w, x), {}), Request(("w", "x"))).program)
    assert text.count("grad_w[_0, _1]") == 1
    found = sdfgad.grad(loss, wrt="w")(w, x)
    for k, j in ((0, 3), (40, 69), (69, 0)):
        step = np.zeros_like(w)
        step[k, j] = 1.0
        slope = numerical_gradient(lambda s, step=step: loss(w + s * step, x), [np.zeros(())])
        np.testing.assert_allclose(found[k, j], slope, rtol=1e-6, atol=1e-9)
