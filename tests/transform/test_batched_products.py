"""Products of several directions that share a factor are one product, with the numbers of one after the other."""
from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from sdfgad.ir.program import Array, Lib, Loop, Program, View
from sdfgad.transform.batch import several
from tests.support.build import C16
from tests.support.point_loops import run

COUNT = 3
RNG = np.random.default_rng(3)
CASES = {
    "matrix and vector": ("A", "x", "x", {"conj_a": True}), "vector and matrix": ("x", "B", "x", {"conj_b": True}),
    "vectors": ("x", "v", "x", {}), "vectors, the second one": ("v", "x", "x", {"conj_a": True}),
    "rows": ("A", "B", "A", {"accumulate": True, "factor": 2.0}), "rows and a vector": ("A", "x", "A", {})}
SHAPES = {"A": (2, 4), "B": (4, 5), "x": (4,), "v": (4,)}


def product(a: View, b: View, attrs: dict[str, Any]) -> Program:
    shape = tuple(n.const for n in (*a.shape[:-1], *b.shape[1:]))
    arrays = {n: Array(n, s, C16, "argument") for n, s in {**SHAPES, "C": shape}.items()}
    body = (Lib("matmul", (arrays["C"].whole,), (a, b), MappingProxyType(attrs)),)
    return Program("p", arrays, tuple(arrays), body)


def whole(name: str) -> View:
    return Array(name, SHAPES[name], C16, "argument").whole


def values(program: Program, names: set[str]) -> dict[str, np.ndarray]:
    found = {}
    for name, array in program.arrays.items():
        shape = (COUNT, *array.shape) if name in names else array.shape
        found[name] = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
    return found


def check(program: Program, own: str) -> Program:
    """What each direction gives is what the program gives for it."""
    many = {own, "C"}
    after, given = several(program, frozenset({own}), COUNT), values(program, many)
    found = {n: v.copy() for n, v in given.items()}
    run(after, found)
    for k in range(COUNT):
        one = {n: np.array(v[k] if n in many else v) for n, v in given.items()}
        run(program, one)
        np.testing.assert_allclose(found["C"][k], one["C"], rtol=1e-13)
    return after


@pytest.mark.parametrize("name", CASES)
def test_one_product_for_all_directions(name):
    a, b, own, attrs = CASES[name]
    (one,) = check(product(whole(a), whole(b), attrs), own).body
    assert isinstance(one, Lib)


def test_rows_of_a_part_and_factors_on_the_left_go_one_after_the_other():
    a = whole("A")
    part = View("A", (a.shape[0] - 1, a.shape[1]), (a.index[0] + 1, a.index[1]), C16)
    for left, own in ((part, "A"), (a, "B")):
        (loop,) = check(product(left, whole("B"), {}), own).body
        assert isinstance(loop, Loop)
