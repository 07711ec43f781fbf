"""The tool that compares other derivatives of random programs finds what is wrong, with nothing compiled to compare."""
from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen import program
from sdfgad.verbs import sparsity
from tests.programs import derivatives
from tests.support.interpreted import interpreted


def energy(x, n):
    for _ in range(n):
        x[1:] = np.sin(x[1:]) * x[:-1]
    return np.sum(x**3)


def step(x, k):
    return np.sin(x) * k, np.sum(x * x)


@pytest.fixture
def nothing_compiled():
    with patch.object(program, "publish", side_effect=AssertionError("a program was compiled")), interpreted():
        yield


def test_derivatives_without_a_compiler(nothing_compiled):
    x = np.array([0.3, -0.8, 0.5])
    given = x.copy()
    gradient = sdfgad.grad(energy)(given, 2)
    np.testing.assert_array_equal(given, x)
    differences = [(energy(x + d, 2) - energy(x - d, 2)) / 2e-6 for d in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-9)
    along = np.array([1.0, 2.0, -1.0])
    assert sdfgad.jvp(energy, (x.copy(), 2), (along, None))[1] == pytest.approx(gradient @ along, rel=1e-12)
    curvature = (sdfgad.grad(energy)(x + 1e-6 * along, 2) - sdfgad.grad(energy)(x - 1e-6 * along, 2)) / 2e-6
    np.testing.assert_allclose(sdfgad.hvp(energy, (x, 2), (along, None)), curvature, rtol=1e-6, atol=1e-8)
    (moved, total), pullback = sdfgad.vjp(step, x, np.ones(3), wrt="x")
    np.testing.assert_array_equal(moved, np.sin(x))
    assert total == pytest.approx(x @ x)
    np.testing.assert_allclose(pullback((along, 2.0)), np.cos(x) * along + 4.0 * x, rtol=1e-14)


def test_what_is_compiled_is_not_taken_for_interpreted():
    x = np.array([0.3, -0.8, 0.5])
    compiled = sdfgad.grad(energy)(x.copy(), 3)
    with patch.object(program, "publish", side_effect=AssertionError("a program was compiled")), interpreted():
        np.testing.assert_allclose(sdfgad.grad(energy)(x.copy(), 3), compiled, rtol=1e-14)
    np.testing.assert_array_equal(sdfgad.grad(energy)(x.copy(), 3), compiled)


@pytest.mark.parametrize("kind", ["implicit", "sparse"])
def test_a_right_program(kind, tmp_path):
    assert derivatives.verdict(kind, 14, tmp_path) == ("right", "")


def test_a_wrong_implicit_function_is_found(tmp_path):
    def other(text, names, seed):
        mine, plain = with_equation(text, names, seed)
        return mine, plain.replace("np.sum(x * x)", "np.sum(x * x * 1.001)")

    with_equation = derivatives.with_equation
    with patch.object(derivatives, "with_equation", other):
        kind, why = derivatives.verdict("implicit", 14, tmp_path)
    assert kind == "wrong" and "gradient" in why


def test_a_wrong_sparse_matrix_is_found(tmp_path):
    together, in_parts = sparsity.together, sparsity.in_parts
    with patch.object(sparsity, "together", lambda parts, count: 1.001 * together(parts, count)), \
            patch.object(sparsity, "in_parts", lambda d, forms: in_parts(1.001 * d, forms)):
        assert derivatives.verdict("sparse", 14, tmp_path)[0] == "wrong"
