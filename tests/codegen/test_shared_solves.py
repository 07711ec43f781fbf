"""Right-hand sides of one system are shared out among threads: every thread solves all of its own."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from sdfgad.codegen.program import Executable, compile_program
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Program, View, axis
from tests.codegen.build_programs import C16, F8

N = 64


def solver(dtype: np.dtype, columns: int) -> Executable:
    """x = A^-1 b and y = A^-H b, of one factorisation."""
    shapes: Mapping[str, tuple[tuple[int, ...], np.dtype, str]] = {
        "A": ((N, N), dtype, "argument"), "f": ((N, N), dtype, "transient"), "p": ((N,), np.dtype("i4"), "transient"),
        **{n: ((N, columns), dtype, "argument") for n in "bxy"}}
    arrays = {n: Array(n, *what) for n, what in shapes.items()}
    v = {n: View(n, tuple(ix(e) for e in a.shape), tuple(ix(axis(k)) for k in range(len(a.shape))), a.dtype)
         for n, a in arrays.items()}
    body = (Lib("lu", (v["f"], v["p"]), (v["A"],)), Lib("solve", (v["x"],), (v["f"], v["p"], v["b"])),
            Lib("solve", (v["y"],), (v["f"], v["p"], v["b"]), {"adjoint": True}))
    return compile_program(Program("p", arrays, tuple("Abxy"), body))


@pytest.mark.parametrize("dtype", [F8, C16], ids=["real", "complex"])
@pytest.mark.parametrize("columns", [1, 7, 61])
def test_the_same_at_every_number_of_threads(dtype: np.dtype, columns: int) -> None:
    rng = np.random.default_rng(0)
    a, b = ((rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if dtype == C16 else 0)).astype(dtype)
            for shape in ((N, N), (N, columns)))
    a += N * np.eye(N)
    code = solver(dtype, columns)
    for threads in (1, 2, 3, 8):
        code.threads = threads
        memory = {"A": a.copy(), "b": b.copy(), "x": np.empty_like(b), "y": np.empty_like(b)}
        code(memory)
        np.testing.assert_allclose(memory["x"], np.linalg.solve(a, b), rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(memory["y"], np.linalg.solve(a.conj().T, b), rtol=1e-11, atol=1e-13)
