"""Library nodes with all that they can be told."""
from __future__ import annotations

from typing import Any

import dace
import numpy as np
import pytest
from dace import Memlet
from dace.libraries.blas.nodes.gemm import Gemm
from dace.libraries.blas.nodes.gemv import Gemv
from dace.libraries.blas.nodes.ger import Ger
from dace.libraries.linalg.nodes.ttranspose import TensorTranspose

from sdfgad.errors import UnsupportedError
from tests.graphs.pairs import numbers
from tests.graphs.test_functions import results


def of_node(node: Any, inputs: dict[str, str], output: tuple[str, str], **arrays: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays after a graph with one node. inputs: array of each connector; output: connector and array."""
    sdfg = dace.SDFG("of_node")
    for name, value in arrays.items():
        sdfg.add_array(name, value.shape, dace.float64)
    state = sdfg.add_state("only")
    state.add_node(node)
    for connector, name in inputs.items():
        state.add_edge(state.add_read(name), None, node, connector, Memlet.from_array(name, sdfg.arrays[name]))
    connector, name = output
    state.add_edge(node, connector, state.add_write(name), None, Memlet.from_array(name, sdfg.arrays[name]))
    return results(sdfg, **arrays)


@pytest.mark.parametrize("turned_a, turned_b", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("alpha, beta", [(1, 0), (2.5, 0.5)])
def test_gemm(turned_a: bool, turned_b: bool, alpha: float, beta: float) -> None:
    a, b, c = numbers(*((4, 3) if turned_a else (3, 4))), numbers(*((5, 4) if turned_b else (4, 5))), numbers(3, 5)
    inputs = {"_a": "a", "_b": "b", **({"_c": "c"} if beta else {})}
    found = of_node(Gemm("gemm", transA=turned_a, transB=turned_b, alpha=alpha, beta=beta), inputs, ("_c", "out"),
                    a=a, b=b, c=c, out=np.zeros((3, 5)))
    expected = alpha * (a.T if turned_a else a) @ (b.T if turned_b else b) + beta * c
    np.testing.assert_allclose(found["out"], expected, rtol=1e-14)


@pytest.mark.parametrize("turned", [False, True])
def test_gemv(turned: bool) -> None:
    a, x, y = numbers(3, 4), numbers(3 if turned else 4), numbers(4 if turned else 3)
    found = of_node(Gemv("gemv", transA=turned, alpha=2, beta=3), {"_A": "a", "_x": "x", "_y": "y"}, ("_y", "out"),
                    a=a, x=x, y=y, out=np.zeros_like(y))
    np.testing.assert_allclose(found["out"], 2 * (a.T if turned else a) @ x + 3 * y, rtol=1e-14)


def test_ger_and_transposes() -> None:
    a, x, y = numbers(3, 4), numbers(3), numbers(4)
    found = of_node(Ger("ger", n=4, m=3, alpha=2), {"_A": "a", "_x": "x", "_y": "y"}, ("_res", "out"), a=a, x=x, y=y,
                    out=np.zeros((3, 4)))
    np.testing.assert_allclose(found["out"], a + 2 * np.outer(x, y), rtol=1e-14)
    t = numbers(2, 3, 4)
    found = of_node(TensorTranspose("turn", axes=[2, 0, 1], alpha=3), {"_inp_tensor": "t"}, ("_out_tensor", "out"), t=t,
                    out=np.zeros((4, 2, 3)))
    np.testing.assert_allclose(found["out"], 3 * t.transpose(2, 0, 1), rtol=1e-14)


@pytest.mark.parametrize("wcr, identity, expected", [
    ("lambda p, q: p + q", 0, lambda a, y: a.sum(axis=1)), ("lambda p, q: p + q", None, lambda a, y: y + a.sum(axis=1)),
    ("lambda p, q: p * q", 1, lambda a, y: a.prod(axis=1)),
    ("lambda p, q: min(p, q)", np.inf, lambda a, y: a.min(axis=1)),
    ("lambda p, q: max(p, q)", None, lambda a, y: np.maximum(y, a.max(axis=1)))])
def test_reductions(wcr: str, identity: Any, expected: Any) -> None:
    sdfg = dace.SDFG("reducing")
    sdfg.add_array("a", [3, 4, 2], dace.float64)
    sdfg.add_array("y", [3, 2], dace.float64)
    state = sdfg.add_state("only")
    node = state.add_reduce(wcr, [1], identity)
    state.add_edge(state.add_read("a"), None, node, None, Memlet("a[0:3, 0:4, 0:2]"))
    state.add_edge(node, None, state.add_write("y"), None, Memlet("y[0:3, 0:2]"))
    a, y = numbers(3, 4, 2), numbers(3, 2)
    np.testing.assert_allclose(results(sdfg, a=a, y=y)["y"], expected(a, y), rtol=1e-14)


def test_what_nobody_can_accumulate_by() -> None:
    with pytest.raises(UnsupportedError, match="a reduction by|accumulation by"):
        test_reductions("lambda p, q: p * 2 + q", 0, None)
