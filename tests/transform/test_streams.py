"""Products of large matrices with vectors run as maps, with the value of the product."""
from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Map, Program, View, axis
from sdfgad.transform.products.write_out_products import WrittenOut, write_out_products
from tests.support.build import C16, F8
from tests.support.oracle import check_same
from tests.support.thresholds import change

ROWS, COLUMNS = 300, 500
STREAMED = WrittenOut.STREAMED
NEAR = {"rows": 6, "columns": 5}
"""For the interpreter."""


def program(transpose: bool, dtype: np.dtype, attrs: dict[str, Any], rows: int = ROWS,
            columns: int = COLUMNS) -> Program:
    inner, outer = (rows, columns) if transpose else (columns, rows)
    arrays = {n: Array(n, s, dtype, "argument") for n, s in
              {"A": (rows, columns), "x": (inner,), "y": (outer,)}.items()}
    matrix = arrays["A"].whole
    ins = (arrays["x"].whole, matrix) if transpose else (matrix, arrays["x"].whole)
    return Program("p", arrays, tuple(arrays), (Lib("matmul", (arrays["y"].whole,), ins, MappingProxyType(attrs)),))


@pytest.mark.parametrize("dtype", [F8, C16], ids=str)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("attrs", [{}, {"accumulate": True}, {"conj_a": True}, {"conj_b": True}, {"factor": -2.0}],
                         ids=str)
def test_the_map_is_the_product(transpose, attrs, dtype, monkeypatch):
    change(monkeypatch, streamed_matrix=1)
    before = program(transpose, dtype, attrs, **NEAR)
    after = write_out_products(before, STREAMED)
    assert not any(isinstance(s, Lib) for s in after.body)
    check_same(before, after, tolerance=1e-12)


def test_small_matrices_and_moving_extents_stay():
    assert isinstance(write_out_products(program(False, F8, {}, rows=20), STREAMED).body[0], Lib)
    assert isinstance(write_out_products(program(False, F8, {}), STREAMED).body[0], Map)
    before = program(False, F8, {})
    a, y = before.arrays["A"], before.arrays["y"]
    n = ix("t")
    ins = View("A", (ix(ROWS), n), a.whole.index, F8), View("x", (n,), (ix(axis(0)),), F8)
    moving = Lib("matmul", (y.whole,), ins)
    assert write_out_products(before.but(body=(moving,)), STREAMED).body == (moving,)
