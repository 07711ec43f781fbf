"""An array with equal rows becomes one row, if the rows are equal wherever somebody looks."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Program, Stmt, Store
from sdfgad.transform.normal.normalise import normalise
from sdfgad.transform.storage.collapse import collapse_equal_rows
from tests.support.build import F8, at, each, loop, one, position, put, span
from tests.support.oracle import check_same

I, J = span("i", 0, 4), span("j", 0, 5)
INNER = span("i", 1, 3)
SHAPES = {"u": (4,), "w": (5,), "y": (4, 5), "p": (4, 5), "q": (4, 5)}
USE = each((I, J), put("y", ("i", "j"), at("y", "i", "j") * at("p", "i", "j")))
FILL = each((I, J), put("p", ("i", "j"), at("w", "j") * 2.0))


def check(*body: Stmt) -> dict[str, tuple[int, ...]]:
    """The pass keeps the meaning; returns the shapes of the temporaries afterwards."""
    arrays = {n: Array(n, s, F8, "transient" if n in "pq" else "argument") for n, s in SHAPES.items()}
    before = Program("p", arrays, ("u", "w", "y"), body)
    after = collapse_equal_rows(normalise(before).but(live_out=frozenset(("y",))))
    check_same(before, after)
    return {n: after.arrays[n].shape for n in "pq"}


def chain(rows: object = INNER) -> tuple[Stmt, Stmt]:
    step = each(rows, put("p", ("i", "j"), at("w", "j") / (at("p", "i", ix("j") - 1) + 3.0)))
    return each(rows, put("p", ("i", 0), 0.0)), loop(span("j", 1, 5), step)


def test_a_recurrence_that_is_the_same_in_all_rows():
    use = each((INNER, J), put("y", ("i", "j"), at("p", "i", "j"), "+"))
    assert check(*chain(), use)["p"] == (5,)
    assert check(each((I, J), put("p", ("i", "j"), 0.0)), *chain(), use)["p"] == (5,)


def test_equal_rows_are_handed_on():
    on = each((I, J), put("q", ("i", "j"), at("p", "i", "j") + 1.0))
    assert check(FILL, on, USE, each((I, J), put("y", ("i", "j"), at("q", "i", "j"), "+"))) == {"p": (5,), "q": (5,)}


def test_both_axes_of_a_constant():
    assert check(each((I, J), put("p", ("i", "j"), 3.0)), USE)["p"] == ()


def test_sums_over_equal_rows():
    more = each((I, J, span("k", 0, 5)), put("p", ("i", "j"), at("w", "k"), "+"))
    assert check(FILL, more, USE)["p"] == (5,)


@pytest.mark.parametrize("body", [
    (each((I, J), put("p", ("i", "j"), at("u", "i"))), each((I, J), put("p", ("i", "j"), at("w", "j"), "+")), USE),
    (each((I, J), put("p", ("i", "j"), at("w", "j") + position("i"))), USE),
    (FILL, one("p", (2, 3), 1.0), USE),
    (FILL, each((INNER, J), put("p", ("i", "j"), 5.0)), USE),
    (FILL, each((INNER, J), put("p", (ix("i") + 1, "j"), at("p", ix("i") + 1, "j"), "+")), USE),
    (FILL, loop(I, each(J, put("p", ("i", "j"), at("p", 0, "j") * 2.0 + at("u", "i")))), USE),
    (each((I, J), put("p", ("i", "j"), at("w", "j")), put("y", ("i", "j"), at("u", "i"))), USE),
    (each((I, span("j", 0, ix("i") + 2)), put("p", ("i", "j"), at("w", "j"))),
     each((I, span("j", 0, 2)), put("y", ("i", "j"), at("p", "i", "j")))),
], ids=["sum", "index", "patched", "part", "part of a sum", "loop", "beside", "triangle"])
def test_rows_that_differ_stay(body: tuple[Stmt, ...]):
    assert check(*body)["p"] == (4, 5)


def test_gradients_through_equal_rows():
    def spread(w, y):
        p = np.zeros(y.shape)
        p[:, 0] = w[0]
        for j in range(1, w.shape[0]):
            p[:, j] = w[j] / (p[:, j - 1] + 3.0)
        return np.sum(p * y)

    w, y = np.linspace(0.5, 2.0, 5), np.arange(20.0).reshape(4, 5)
    found = sdfgad.grad(spread, wrt="w")(w, y)
    h = 1e-6
    slope = [(spread(w + h * e, y) - spread(w - h * e, y)) / (2 * h) for e in np.eye(5)]
    np.testing.assert_allclose(found, slope, rtol=1e-8)


def test_the_stores_go_with_the_axis():
    arrays = {n: Array(n, s, F8, "transient" if n in "pq" else "argument") for n, s in SHAPES.items()}
    after = collapse_equal_rows(Program("p", arrays, ("u", "w", "y"), (FILL, USE)).but(live_out=frozenset(("y",))))
    assert after.body[0] == each(span("j", 0, 5), Store("p", (ix("j"),), (at("w", "j") * 2.0).expr))
