"""Library nodes: both modes against differences of NumPy's own operation, and against each other."""
from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import GradientMismatchError, UnsupportedError
from sdfgad.ir.interpret import LIBRARY
from sdfgad.ir.program import Array, Lib, Program, View, view_of
from sdfgad.rules import registry
from tests.support.build import one, program
from tests.support.oracle import execute, inner, program_gradient, program_tangent

RULES = [r for r in registry.node_rules() if r.op not in ("lu", "det", "logdet", "detsign")]
"""Factors are opaque: what makes them is tested with those that read them, determinants in test_determinants."""
REAL, COMPLEX = "real", "complex"


def draw_of(rng, kind):
    def draw(*shape: int) -> np.ndarray:
        x = rng.normal(size=shape)
        return x + 1j * rng.normal(size=shape) if kind == COMPLEX else x

    return draw


def node_program(op: str, ins: tuple[np.ndarray, ...], attrs: dict[str, Any], transpose: tuple[int, ...] = (),
                 overwrite: bool = False) -> tuple[Program, dict[str, np.ndarray]]:
    """`y = op(x0, x1)`; `transpose`: operands passed as views of transposed arrays; accumulation is into `y`.

    The system of a `solve` is factorised first.
    """
    held = [np.ascontiguousarray(a.T) if k in transpose else a for k, a in enumerate(ins)]
    arrays = {f"x{k}": a for k, a in enumerate(held)}
    shape, dtype = _result(op, ins, attrs)
    declared = program(arrays, [], returns="x0").arrays
    views = tuple(view_of(declared[f"x{k}"]).transposed if k in transpose else view_of(declared[f"x{k}"])
                  for k in range(len(ins)))
    if attrs.get("accumulate"):
        arrays["y"] = np.ones(shape, dtype)
    made = program(arrays, [], returns="x0", y=(shape, dtype))
    out = view_of(made.arrays["y"])
    spoil = [one("x0", (0,) * ins[0].ndim, 0.0)] if overwrite else []
    if op == "solve":
        made, factors = factorised(made, views[0])
        last = Lib(op, (out,), (*factors.outs, *views[1:]), MappingProxyType(attrs))
        return made.but(body=(factors, last, *spoil), returns=out), arrays
    return made.but(body=(Lib(op, (out,), views, MappingProxyType(attrs)), *spoil), returns=out), arrays


def factorised(made: Program, matrix: View) -> tuple[Program, Lib]:
    """The program with room for the factors of a matrix, and the statement that makes them."""
    n = matrix.shape[0].const or 0
    room = [Array("f", (n, n), matrix.dtype), Array("p", (n,), np.dtype(np.int32))]
    arrays = {**made.arrays, **{a.name: a for a in room}}
    return made.but(arrays=arrays), Lib("lu", tuple(a.whole for a in room), (matrix,))


def _result(op: str, ins: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
    plain = {k: v for k, v in attrs.items() if k != "accumulate"}
    from_numpy = np.asarray(RUN[op](*ins, **plain))
    return from_numpy.shape, from_numpy.dtype


def _trsolve(t, b, lower, unit=False):
    t = np.tril(t) if lower else np.triu(t)
    if unit:
        t = t - np.diag(np.diag(t)) + np.eye(len(t))
    return np.linalg.solve(t, b)


RUN = {
    "matmul": lambda a, b, conj_a=False, conj_b=False: (a.conj() if conj_a else a) @ (b.conj() if conj_b else b),
    "solve": np.linalg.solve, "inv": np.linalg.inv, "trsolve": _trsolve,
    "cholesky": lambda a: np.linalg.cholesky(np.tril(a) + np.tril(a, -1).T),
    "cholesky_adjoint": LIBRARY["cholesky_adjoint"],
    "eigh": lambda a: np.vstack(np.linalg.eigh(a)[::-1]),
    "svd": lambda a: LIBRARY["svd"](a), "qr": lambda a: np.vstack(np.linalg.qr(a)), "pinv": np.linalg.pinv,
    "fft": LIBRARY["fft"],
}


def check_node(op: str, ins: tuple[np.ndarray, ...], attrs: dict[str, Any], **how: Any) -> None:
    """Raise GradientMismatchError where modes and differences disagree."""
    made, arrays = node_program(op, ins, attrs, **how)
    rng = np.random.default_rng(5)
    draws = {k: draw_of(rng, COMPLEX if a.dtype.kind == "c" else REAL)(*a.shape) for k, a in arrays.items()}
    value, pushed = program_tangent(made, arrays, draws)
    h = 1e-6
    ahead, behind = (execute(made, {n: a + s * h * draws[n] for n, a in arrays.items()})[0] for s in (1, -1))
    _agree(op, "forward mode", pushed, (ahead - behind) / (2 * h), 1e-6)
    w = draw_of(rng, COMPLEX if np.iscomplexobj(value) else REAL)(*value.shape)
    again, pulled = program_gradient(made, arrays, list(arrays), (w,))
    np.testing.assert_array_equal(again, value)
    _agree(op, "reverse mode", sum(inner(pulled[n], draws[n]) for n in arrays), inner(w, pushed), 1e-10)


def _agree(op: str, mode: str, found: Any, expected: Any, tolerance: float) -> None:
    if not np.allclose(found, expected, rtol=tolerance, atol=tolerance):
        raise GradientMismatchError(f"node '{op}': {mode} gives {found}, expected {expected}")


VECTORS = ("eigh", "svd")
"""Where the matrix is complex these are known up to a phase; those of "eig" always: tests/test_decompositions.py."""


@pytest.mark.parametrize(("rule", "kind"), [(r, k) for r in RULES for k in (REAL, COMPLEX)
                                            if r.op != "eig" and (k == REAL or r.op not in VECTORS)],
                         ids=lambda v: getattr(v, "op", v))
def test_a_node_agrees_with_differences(rule, kind):
    rng = np.random.default_rng(3)
    sample = rule.sample(rng, draw_of(rng, kind))
    check_node(rule.op, tuple(sample["ins"]), dict(sample["attrs"]))


@pytest.mark.parametrize("shapes", [((3, 4), (4, 2)), ((3, 4), (4,)), ((4,), (4, 2)), ((1, 3), (3, 1)),
                                    ((2, 0), (0, 3))],
                         ids=str)
@pytest.mark.parametrize("kind", [REAL, COMPLEX])
def test_products_of_all_shapes(shapes, kind):
    draw = draw_of(np.random.default_rng(1), kind)
    check_node("matmul", tuple(draw(*s) for s in shapes), {})


@pytest.mark.parametrize("attrs", [{"accumulate": True}, {"conj_a": True}, {"conj_b": True},
                                   {"conj_a": True, "conj_b": True, "accumulate": True}], ids=lambda a: "+".join(a))
@pytest.mark.parametrize("shapes", [((3, 4), (4, 2)), ((3, 4), (4,)), ((4,), (4, 2))], ids=str)
def test_product_flags(attrs, shapes):
    draw = draw_of(np.random.default_rng(1), COMPLEX)
    check_node("matmul", tuple(draw(*s) for s in shapes), attrs)


@pytest.mark.parametrize("transpose", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("kind", [REAL, COMPLEX])
def test_products_of_transposed_views(transpose, kind):
    draw = draw_of(np.random.default_rng(2), kind)
    check_node("matmul", (draw(3, 4), draw(4, 2)), {}, transpose=transpose)


@pytest.mark.parametrize("op", ["solve", "trsolve"])
@pytest.mark.parametrize("kind", [REAL, COMPLEX])
@pytest.mark.parametrize("shape", [(3,), (3, 2)], ids=str)
def test_systems_with_vectors_matrices_and_transposed_matrices(op, kind, shape):
    draw = draw_of(np.random.default_rng(4), kind)
    a = draw(3, 3) + 3 * np.eye(3)
    for transpose in ((), (0,)):
        check_node(op, (a, draw(*shape)), {} if op == "solve" else {"lower": True}, transpose=transpose)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangles(lower, unit):
    draw = draw_of(np.random.default_rng(4), REAL)
    check_node("trsolve", (draw(3, 3) + 3 * np.eye(3), draw(3, 2)), {"lower": lower, "unit": unit})


@pytest.mark.parametrize("inverse", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_transforms(inverse, scaled):
    draw = draw_of(np.random.default_rng(4), COMPLEX)
    check_node("fft", (draw(2, 3),), {"inverse": inverse, "scaled": scaled})
    check_node("fft", (draw(5),), {"inverse": inverse, "scaled": scaled, "accumulate": scaled})
    check_node("fft", (draw(2, 5).real,), {"inverse": inverse, "scaled": scaled})


@pytest.mark.parametrize("op", ["matmul", "solve", "inv", "cholesky"])
def test_an_operand_overwritten_afterwards_is_kept(op):
    rng = np.random.default_rng(3)
    sample = registry.node(op).sample(rng, draw_of(rng, REAL))
    check_node(op, tuple(sample["ins"]), dict(sample["attrs"]), overwrite=True)


def test_the_derivative_of_a_complex_factorisation_is_refused():
    a = np.eye(2, dtype=complex)
    made, arrays = node_program("cholesky", (a,), {})
    with pytest.raises(UnsupportedError, match="complex Cholesky"):
        program_gradient(made, arrays, ["x0"], (a,))


def wrong_inverse(c, out: View, ins, attrs, tangent: View) -> None:
    """X' = -A' X: one factor is missing."""
    c.minus(tangent, None, c.lib("matmul", c.scratch(out), c.tangent_of(ins[0]), out))


def test_a_wrong_node_rule_is_caught(monkeypatch):
    rng = np.random.default_rng(3)
    sample = registry.node("inv").sample(rng, draw_of(rng, REAL))
    monkeypatch.setitem(registry._NODES, "inv", registry.NodeRule("inv", wrong_inverse, registry.node("inv").sample))
    with pytest.raises(GradientMismatchError, match="'inv'"):
        check_node("inv", tuple(sample["ins"]), {})
