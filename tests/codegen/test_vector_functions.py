"""Scalar functions in vector loops: within 4 units in the last place, and right at infinities, NaN and zero."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.program import compile_program
from sdfgad.ir.expr import call
from tests.codegen.build_programs import load, mapped, program, span, store

MOST_ULP = 4
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)
RANGES = {"exp": (-100.0, 88.0), "log": (1e-30, 1e30), "sin": (-100.0, 100.0), "cos": (-100.0, 100.0),
          "tanh": (-20.0, 20.0), "expm1": (-20.0, 80.0), "log1p": (-0.99, 1e20),
          "arctan": (-1e6, 1e6), "sinh": (-80.0, 80.0), "cosh": (-80.0, 80.0)}
WIDER = {"float32": np.dtype("f8"), "float64": np.dtype("longdouble")}


def points(low: float, high: float, dtype: np.dtype) -> np.ndarray:
    """Evenly spaced numbers, tiny ones, the smallest ones and those that stand for something."""
    tiny = np.finfo(dtype).tiny * np.array([1.0, 0.5, -0.5, 4.0])
    even = np.linspace(low, high, 4001)
    small = np.geomspace(1e-12, 1.0, 400)
    return np.concatenate([even, small, tiny, SPECIAL]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(RANGES))
def test_accuracy(name: str, dtype: str) -> None:
    kind = np.dtype(dtype)
    x = points(*RANGES[name], kind)
    made = program((mapped([span("i", x.size)], store("y", ("i",), call(name, load("x", "i", dtype=kind)))),),
                   {"x": (x.shape, kind), "y": (x.shape, kind)})
    y = np.empty_like(x)
    compile_program(made)({"x": x, "y": y})
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(WIDER[dtype]))
        nearest = exact.astype(kind)
    usual = np.isfinite(nearest) & (np.abs(nearest) >= np.finfo(kind).tiny)
    error = np.abs(y[usual].astype(exact.dtype) - exact[usual]) / np.spacing(np.abs(nearest[usual])).astype(exact.dtype)
    assert error.max() <= MOST_ULP
    odd = ~usual
    np.testing.assert_allclose(y[odd], nearest[odd], rtol=0, atol=np.finfo(kind).tiny)
