"""NaN and infinity in matrices: what NumPy gives, not an error that NumPy does not raise."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad


def _results(a, b):
    return np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.det(a)


def test_factorisations_go_on():
    forward = sdfgad.forward(_results)
    for value in (np.inf, np.nan):
        a, b = np.eye(3) * 3.0, np.ones(3)
        a[0, 1] = value
        for x, y in ((a, b), (np.eye(3) * 3.0, np.array([1.0, value, 2.0]))):
            with np.errstate(all="ignore"):
                expected = _results(x, y)
            for found, wanted in zip(forward(x, y), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-14)
    gradient = sdfgad.grad(lambda a, b: np.sum(np.linalg.solve(a, b)), wrt="a")
    assert np.isnan(gradient(np.eye(3) * np.nan, np.ones(3))).all()


def _sizes(a):
    sign, size = np.linalg.slogdet(a)
    return np.linalg.det(a), sign, size


def test_a_singular_matrix_has_a_determinant():
    """But no derivative here, and no solution."""
    a = np.array([[2.0, 2.0], [2.0, 2.0]])
    for target in ("cpu", "reference"):
        with sdfgad.config(target=target):
            assert sdfgad.forward(_sizes)(a) == (0.0, 0.0, -np.inf)
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                sdfgad.grad(lambda a: np.linalg.det(a))(a)
