"""The adjoint of a Cholesky factorisation, by blocks: each size of block, storage by rows and columns, both modes."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.footprint import library_bytes
from sdfgad.codegen.library_forms import library_forms
from sdfgad.codegen.program import compile_program
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Program, View, axis
from tests.codegen.build_programs import F4, F8

SIZES = (0, 1, 2, 31, 32, 33, 64, 97, 255, 256, 257, 300)


def adjoint(n: int, dtype: np.dtype, swap: bool, of: str = "") -> tuple[dict[str, Array], Lib]:
    """`x = cholesky_adjoint(l, g)`, matrices stored by rows or by columns. of: the end of their names."""
    places = tuple(ix(axis(k)) for k in ((1, 0) if swap else (0, 1)))
    x, low, g = (View(name + of, (ix(n), ix(n)), places, dtype) for name in "xlg")
    arrays = {v.array: Array(v.array, (n, n), dtype, "argument") for v in (x, low, g)}
    return arrays, Lib("cholesky_adjoint", (x,), (low, g), {})


def adjoint_program(n: int, dtype: np.dtype, swap: bool) -> Program:
    arrays, statement = adjoint(n, dtype, swap)
    return Program("p", arrays, tuple(arrays), (statement,))


def native(low: np.ndarray, g: np.ndarray, swap: bool = False, threads: int = 1) -> np.ndarray:
    code = compile_program(adjoint_program(len(low), low.dtype, swap))
    code.threads = threads
    memory = memory_of(low, g, swap)
    code(memory)
    return memory["x"].T if swap else memory["x"]


def memory_of(low: np.ndarray, g: np.ndarray, swap: bool, of: str = "") -> dict[str, np.ndarray]:
    turned = [np.array(a.T if swap else a, order="C") for a in (low, g)]
    return {"x" + of: np.full(low.shape, np.nan, low.dtype), "l" + of: turned[0], "g" + of: turned[1]}


def by_solving(low: np.ndarray, g: np.ndarray) -> np.ndarray:
    """L^-T P L^-1 with P the symmetric part of the lower triangle of L^T G, its diagonal halved; then one triangle."""
    p = np.tril(low.T @ np.tril(g))
    p = p + p.T - np.diag(np.diag(p))
    inner = np.linalg.solve(low.T, np.linalg.solve(low.T, p).T) / 2
    return np.tril(inner + inner.T) - np.diag(np.diag(inner))


def operands(n: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    base = rng.standard_normal((n, n))
    low = np.linalg.cholesky(base @ base.T + n * np.eye(n)) if n else base
    return low.astype(dtype), rng.standard_normal((n, n)).astype(dtype)


@pytest.mark.parametrize("dtype", [F4, F8], ids=str)
def test_every_size(dtype):
    """One program for all of them, by one thread and by two."""
    each = {f"{n}{'turned' if swap else ''}": (n, swap) for n in SIZES for swap in (False, True)}
    made = {of: adjoint(n, dtype, swap, of) for of, (n, swap) in each.items()}
    arrays = {name: array for found, _ in made.values() for name, array in found.items()}
    code = compile_program(Program("p", arrays, tuple(arrays), tuple(statement for _, statement in made.values())))
    given = {n: operands(n, dtype) for n in SIZES}
    expected = {n: by_solving(*(a.astype(F8) for a in pair)) for n, pair in given.items()}
    for code.threads in (1, 2):
        memory: dict[str, np.ndarray] = {}
        for of, (n, swap) in each.items():
            memory |= memory_of(*given[n], swap, of)
        code(memory)
        for of, (n, swap) in each.items():
            found = memory["x" + of].T if swap else memory["x" + of]
            np.testing.assert_allclose(found, expected[n], rtol=0, err_msg=f"{of} by {code.threads} threads",
                                       atol=(1e-5 if dtype == F4 else 1e-13) * np.abs(expected[n]).max(initial=1))


def test_what_the_upper_triangles_hold_is_not_looked_at():
    low, g = operands(300, F8)
    above = np.triu(np.full(low.shape, np.nan), 1)
    np.testing.assert_array_equal(native(low + above, g + above), native(low, g))


@pytest.mark.parametrize("n", [5, 40, 140])
def test_nan_stays_above_and_left(n):
    """A cotangent reaches no rows below its own."""
    low, g = operands(n, F8)
    g[n // 2, 1] = np.nan
    found = native(low, g)
    assert np.isnan(found[n // 2, 1]) and np.isnan(found[0, 0])
    assert n > 32 or np.isfinite(found[n // 2 + 1:]).all()


@pytest.mark.parametrize("n", [20, 100, 300])
def test_the_room_it_takes_is_known(n):
    formed = library_forms(adjoint_program(n, F8, False))
    code = compile_program(adjoint_program(n, F8, False))
    low, g = operands(n, F8)
    code({"x": np.empty((n, n)), "l": low, "g": g})
    assert code.peak_bytes == library_bytes(formed.body) == {20: 0, 100: 32 ** 2 * 8, 300: (32 ** 2 + 128 ** 2) * 8}[n]


def one(a, weights):
    return np.sum(np.linalg.cholesky(a) * weights)


def stacked(a, weights):
    return np.sum(np.linalg.cholesky(np.stack((a, 2 * a, a.T))) * weights)


def in_place(a, weights):
    b = a * 1.0
    b[:] = np.linalg.cholesky(b) + np.triu(b, k=1)
    return np.sum(b * weights)


def of_its_own_factor(a, weights):
    low = np.linalg.cholesky(a)
    return np.sum(np.linalg.cholesky(low @ low.T + a) * weights)


@pytest.mark.parametrize("loss", [one, stacked, in_place, of_its_own_factor])
@pytest.mark.parametrize("n", [6, 70])
def test_programs_in_both_modes(loss, n):
    rng = np.random.default_rng(3)
    base, weights = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    a, d = base @ base.T + n * np.eye(n), rng.standard_normal((n, n))
    d = d + d.T
    found = np.sum(sdfgad.grad(loss, wrt="a")(a, weights) * d)
    slope = (loss(a + 1e-5 * d, weights) - loss(a - 1e-5 * d, weights)) / 2e-5
    np.testing.assert_allclose(found, slope, rtol=1e-6)
    np.testing.assert_allclose(sdfgad.jvp(loss, (a, weights), {"a": d})[1], found, rtol=1e-9)
