"""Triangular solves of right-hand sides that begin with zeros: only the rest is solved, where zeros stay zeros."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.program import compile_program
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Program, View, axis
from tests.codegen.build_programs import C16, F4, F8

M = 61


def solved(t: np.ndarray, b: np.ndarray, lower: bool, unit: bool = False, swap: bool = False,
           threads: int = 1) -> np.ndarray:
    """What native code makes of it, with the matrix stored by rows or by columns."""
    m, n, dtype = *b.shape, b.dtype
    places = (ix(axis(1)), ix(axis(0))) if swap else (ix(axis(0)), ix(axis(1)))
    here = ix(axis(0)), ix(axis(1))
    views = {"x": View("x", (ix(m), ix(n)), here, dtype), "b": View("b", (ix(m), ix(n)), here, dtype),
             "t": View("t", (ix(m), ix(m)), places, dtype)}
    arrays = {"x": Array("x", (m, n), dtype, "argument"), "b": Array("b", (m, n), dtype, "argument"),
              "t": Array("t", (m, m), dtype, "argument")}
    body = (Lib("trsolve", (views["x"],), (views["t"], views["b"]), {"lower": lower, "unit": unit}),)
    code = compile_program(Program("p", arrays, ("x", "t", "b"), body))
    code.threads = threads
    memory = {"x": np.empty((m, n), dtype), "t": np.array(t.T if swap else t, order="C"), "b": np.array(b)}
    code(memory)
    return memory["x"]


def substituted(t: np.ndarray, b: np.ndarray, lower: bool, unit: bool = False) -> np.ndarray:
    """The same, row by row."""
    x = np.array(b)
    order = range(len(b)) if lower else range(len(b) - 1, -1, -1)
    for k in order:
        known = slice(0, k) if lower else slice(k + 1, None)
        x[k] = x[k] - t[k, known] @ x[known]
        x[k] = x[k] if unit else x[k] / t[k, k]
    return x


def matrix(dtype: np.dtype, columns: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    made = rng.uniform(-0.5, 0.5, (M, columns)) + (1j * rng.uniform(-0.5, 0.5, (M, columns)) if dtype == C16 else 0)
    return made.astype(dtype)


@pytest.mark.parametrize("dtype, columns", [(F8, 1), (F8, 31), (F8, 150), (F4, M), (C16, 150)])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit, swap", [(False, False), (False, True), (True, True)])
def test_any_right_hand_side(dtype, columns, lower, unit, swap):
    t = matrix(dtype, M) / 4 + 2 * np.eye(M, dtype=dtype)
    tolerance = 1e-4 if dtype == F4 else 1e-11
    for form in (np.triu, np.tril, np.array):
        b = form(matrix(dtype, columns, 1))
        for threads in (1, 2):
            found = solved(t, b, lower, unit, swap, threads)
            np.testing.assert_allclose(found, substituted(t, b, lower, unit), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("lower", [False, True])
def test_zeros_and_columns_of_zeros(lower):
    t = matrix(F8, M) / 4 + 2 * np.eye(M)
    assert not solved(t, np.zeros((M, 64)), lower).any()
    b = matrix(F8, 100)
    b[:, 20:70] = 0
    b[:40] = 0
    np.testing.assert_allclose(solved(t, b, lower), substituted(t, b, lower), rtol=1e-10, atol=1e-12)
    b[45, 50] = np.nan
    np.testing.assert_array_equal(np.isnan(solved(t, b, lower)[:, 50]), np.isnan(substituted(t, b, lower)[:, 50]))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
@pytest.mark.parametrize("away", [0, 3])
def test_a_matrix_that_makes_nan_of_zeros(lower, bad, away):
    """The zeros of all columns meet the bad element, beside the diagonal or on it."""
    t = matrix(F8, M) / 4 + 2 * np.eye(M)
    b = (np.tril if lower else np.triu)(matrix(F8, M, 1))
    b[:6] = b[-6:] = 0
    row, column = (3 + away, 3) if lower else (M - 4 - away, M - 4)
    t[row, column] = bad
    found, expected = solved(t, b, lower), substituted(t, b, lower)
    assert np.isfinite(expected).all() == (bad == (0 if away else np.inf))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


def test_what_the_other_triangle_holds_is_not_looked_at():
    t = np.triu(matrix(F8, M) / 4 + 2 * np.eye(M))
    b = np.triu(matrix(F8, M, 1))
    expected = solved(t, b, False)
    np.testing.assert_array_equal(solved(t + np.tril(np.full((M, M), np.nan), -1), b, False), expected)


@pytest.mark.parametrize("n", [5, 70])
def test_derivatives_of_factorisations(n):
    rng = np.random.default_rng(3)
    base, weights = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    a = base @ base.T + n * np.eye(n)

    def loss(a, weights):
        return np.sum(np.linalg.cholesky(a) * weights)

    found, d = sdfgad.grad(loss, wrt="a")(a, weights), rng.standard_normal((n, n))
    d, h = d + d.T, 1e-5
    slope = (loss(a + h * d, weights) - loss(a - h * d, weights)) / (2 * h)
    np.testing.assert_allclose(np.sum(found * d), slope, rtol=1e-7)
