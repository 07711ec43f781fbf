"""Products with matrices that are made for them alone, before and after by the reference interpreter."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.index import ix
from sdfgad.ir.program import Lib, Loop, Map, Program, Stmt, View
from sdfgad.ir.walk import statements
from sdfgad.transform.fusion.fuse import fuse_pointwise
from sdfgad.transform.products.write_out_products import WrittenOut, write_out_products
from tests.codegen.build_programs import C16, F8, add, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N, M = 5, 4
ROW, COLUMN = ix("_0"), ix("_1")
MADE = mapped((span("i", N), span("j", M)), store("A", ("i", "j"), mul(load("x", "i"), load("v", "j"))))
A, TURNED = View("A", (ix(N), ix(M)), (ROW, COLUMN), F8), View("A", (ix(M), ix(N)), (COLUMN, ROW), F8)


def vector(name: str, n: int) -> View:
    return View(name, (ix(n),), (ROW,), F8)


def column(name: str, n: int) -> View:
    return View(name, (ix(n), ix(1)), (ROW,), F8)


def made(*body: Stmt, seen: tuple[str, ...] = ()) -> Program:
    arrays = {"x": ((N,), F8), "v": ((M,), F8), "y": ((N,), F8), "z": ((M,), F8), "B": ((M, 2), F8), "C": ((N, 2), F8)}
    before = program([Loop(span("k", 2), body)], arrays, {"A": ((N, M), F8)})
    after = write_out_products(before.but(live_out=frozenset(seen)), WrittenOut.MADE_FOR_IT)
    check_same(before, after, tolerance=1e-13)
    return after


def products(after: Program) -> list[Lib]:
    return [s for s in statements(after.body) if isinstance(s, Lib)]


@pytest.mark.parametrize("stmt", [
    Lib("matmul", (vector("y", N),), (A, vector("v", M)), {}),
    Lib("matmul", (vector("y", N),), (A, vector("v", M)), {"accumulate": True}),
    Lib("matmul", (vector("z", M),), (vector("x", N), A), {}),
    Lib("matmul", (vector("z", M),), (TURNED, vector("x", N)), {}),
    Lib("matmul", (column("y", N),), (A, column("v", M)), {}),
])
def test_no_matrix_is_left(stmt: Lib) -> None:
    after = made(MADE, stmt)
    assert not products(after)
    fused = fuse_pointwise(after.but(live_out=frozenset(("y", "z"))))
    check_same(after, fused, tolerance=1e-13)
    assert all("A" not in (p.array for p in s.body) for s in statements(fused.body) if isinstance(s, Map))


TIMES = Lib("matmul", (vector("y", N),), (A, vector("v", M)), {})


@pytest.mark.parametrize("body", [
    pytest.param((MADE, TIMES, TIMES), id="read twice"),
    pytest.param((MADE, mapped((span("i", N),), store("x", ("i",), num(2.0))), TIMES), id="what it is made of changes"),
    pytest.param((mapped((span("i", 1, N), span("j", M)), *MADE.body), TIMES), id="not all of it made"),
    pytest.param((TIMES, MADE), id="made by another iteration"),
    pytest.param((MADE, Lib("matmul", (View("C", (ix(N), ix(2)), (ROW, COLUMN), F8),),
                            (A, View("B", (ix(M), ix(2)), (ROW, COLUMN), F8)), {})), id="product of matrices"),
])
def test_left_to_the_library(body: tuple[Stmt, ...]) -> None:
    assert products(made(*body))


def test_a_matrix_that_is_seen_afterwards_is_multiplied_as_a_whole() -> None:
    assert products(made(MADE, TIMES, seen=("A",)))


def test_conjugates() -> None:
    whole = View("A", (ix(N), ix(N)), (ROW, COLUMN), C16)
    x, y = View("x", (ix(N),), (ROW,), C16), View("y", (ix(N),), (ROW,), C16)
    maker = mapped((span("i", N), span("j", N)), store("A", ("i", "j"), add(load("x", "i", dtype=C16),
                                                                          load("x", "j", dtype=C16))))
    for attrs in ({"conj_a": True}, {"conj_b": True, "accumulate": True}):
        before = program([maker, Lib("matmul", (y,), (whole, x), attrs)], {"x": ((N,), C16), "y": ((N,), C16)},
                         {"A": ((N, N), C16)})
        after = write_out_products(before.but(live_out=frozenset(())), WrittenOut.MADE_FOR_IT)
        assert not products(after)
        check_same(before, after, tolerance=1e-13)


def test_the_gradient_of_forces_between_pairs() -> None:
    def forces(x, m):
        d = x.T - x
        r = d ** 2 + 0.1
        r[r > 0] = r[r > 0] ** (-1.5)
        return np.sum(((d * r) @ m) ** 2)

    x, m = np.linspace(0.0, 2.0, 7).reshape(7, 1) ** 2, 0.5 + np.linspace(0.0, 1.0, 7).reshape(7, 1)
    found = sdfgad.grad(forces)(x, m)
    h = 1e-6
    for value, gradient, at in ((x, found.x, 0), (m, found.m, 1)):
        slope = np.zeros_like(value)
        for k in range(7):
            low, high = [x.copy(), m.copy()], [x.copy(), m.copy()]
            low[at][k] -= h
            high[at][k] += h
            slope[k] = (forces(*high) - forces(*low)) / (2 * h)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)
