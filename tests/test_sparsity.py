"""Sparse Jacobians and Hessians: against dense ones, with patterns that are found or given, and what is refused."""
from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import sdfgad
from sdfgad.thresholds import changed
from sdfgad.verbs import products

sparse = pytest.importorskip("scipy.sparse")
sparsity = import_module("sdfgad.verbs.sparsity")

U, K = np.linspace(0.3, 1.9, 9), np.linspace(1.0, 2.0, 9)


def residual(u, k):
    """Diffusion with a conductivity that depends on the place; the ends are given."""
    r = u.copy()
    r[1:-1] = k[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2]) + u[1:-1] ** 2
    return r


def energy(u):
    d = u[1:] - u[:-1]
    return np.sum(d**4) + np.sum(np.exp(u))


def mixed(u, k):
    return np.sum(u[1:] * k[:-1] ** 2) + np.sum(u**3)


@pytest.fixture(scope="module")
def dense():
    """By rows: the other way than by default."""
    return sdfgad.jacobian(residual, mode="reverse")(U, K)


def same(found, expected):
    assert isinstance(found, sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("mode", ("auto", "forward", "reverse"))
def test_a_tridiagonal_matrix_in_three_products(mode, dense, monkeypatch):
    taken = []
    several = sparsity.at_once
    monkeypatch.setattr(sparsity, "at_once", lambda d, *ways: taken.append(len(d)) or several(d, *ways))
    found = sdfgad.jacobian(residual, wrt="u", sparsity="auto", mode=mode)(U, K)
    same(found, dense.u)
    assert found.nnz == 2 + 3 * 7 and taken == [3]


def test_several_arguments(dense):
    found = sdfgad.jacobian(residual, sparsity="auto")(U, K)
    same(found.u, dense.u)
    same(found.k, dense.k)


@pytest.mark.parametrize("of", (np.asarray, sparse.csr_array, sparse.coo_matrix))
def test_a_pattern_that_is_given(of, dense):
    pattern = abs(np.subtract.outer(np.arange(9), np.arange(9))) <= 1
    same(sdfgad.jacobian(residual, wrt="u", sparsity=of(pattern))(U, K), dense.u)


@pytest.mark.parametrize("mode", ("forward", "reverse"))
def test_a_pattern_that_lacks_nonzeros(mode):
    with pytest.raises(sdfgad.UsageError, match="lacks nonzeros of " + ("row 1" if mode == "forward" else "column 0")):
        sdfgad.jacobian(residual, wrt="u", sparsity=np.eye(9, dtype=bool), mode=mode)(U, K)


@pytest.mark.parametrize("sparsity, mode, message", [
    ("all", "auto", "sparsity='all'"), (np.ones((9, 8)), "forward", "shape"), (np.ones((8, 9)), "reverse", "shape"),
    (np.ones((8, 9)), "forward", "shape"), (np.ones(9), "auto", "shape")])
def test_what_is_no_pattern(sparsity, mode, message):
    with pytest.raises(sdfgad.UsageError, match=message):
        sdfgad.jacobian(residual, wrt="u", sparsity=sparsity, mode=mode)(U, K)


def test_hessians():
    expected = sdfgad.hessian(energy)(U)
    found = sdfgad.hessian(energy, sparsity="auto")(U)
    same(found, expected)
    assert found.nnz == 9 + 2 * 8
    same(sdfgad.hessian(energy, sparsity=found)(U), expected)
    same(sdfgad.jacobian(sdfgad.grad(energy), sparsity="auto")(U), expected)
    with pytest.raises(sdfgad.UsageError, match="lacks nonzeros"):
        sdfgad.hessian(energy, sparsity=np.eye(9))(U)


def test_blocks_of_hessians():
    expected, found = sdfgad.hessian(mixed)(U, K), sdfgad.hessian(mixed, sparsity="auto")(U, K)
    for row in ("u", "k"):
        for column in ("u", "k"):
            same(found[row][column], expected[row][column])


def gathered(x, places):
    return x[places] * x


def test_integers_of_the_call_are_part_of_the_pattern():
    j = sdfgad.jacobian(gathered, wrt="x", sparsity="auto")
    x = np.array([2.0, 3.0, 5.0])
    for places in (np.array([1, 2, 0]), np.array([-1, 0, 0])):
        expected = np.zeros((3, 3))
        for i, p in enumerate(places):
            expected[i, i] += x[p]
            expected[i, p] += x[i]
        same(j(x, places), expected)


PLACES = np.array([1, 2, 0])


def gathered_from_outside(x):
    return x[PLACES] ** 2


def test_integers_from_outside_may_change():
    j = sdfgad.jacobian(gathered_from_outside, sparsity="auto")
    for place in (1, 2):
        PLACES[0] = place
        found = j(np.ones(3)).toarray()
        assert found[0, place] == 2.0 and np.count_nonzero(found) == 3


def test_more_products_than_a_program_takes_at_once():
    u = np.linspace(0.1, 1.0, 20, dtype=np.float32)
    found = sdfgad.jacobian(products_of_all, sparsity="auto")(u)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), np.outer(u, np.ones(20)) + np.sum(u) * np.eye(20), rtol=1e-5)


def products_of_all(u):
    return u * np.sum(u)


@sdfgad.custom_jvp
def halved(x):
    return 0.5 * x


halved.defjvp(lambda p, t: (0.5 * p[0], 0.5 * t[0]))


def with_own_rule(x):
    return halved(x) * x


def test_own_rules_are_looked_into():
    found = sdfgad.jacobian(with_own_rule, sparsity="auto")(U)
    assert found.nnz == 9
    same(found, np.diag(U))


def test_refusals(monkeypatch):
    with changed(pattern_neighbours=5), pytest.raises(sdfgad.UnsupportedError, match="very many others") as refused:
        sdfgad.jacobian(residual, wrt="u", sparsity="auto")(U, K)
    assert refused.value.code == "SG191" and "test_sparsity.py" in str(refused.value)
    with pytest.raises(sdfgad.UsageError, match="not one real array"):
        sdfgad.jacobian(lambda x: (x, 2.0 * x), sparsity="auto")(U)
    with pytest.raises(sdfgad.UsageError, match="complex"):
        sdfgad.jacobian(residual, wrt="u", sparsity="auto")(U + 0j, K)


def test_what_takes_one_direction_at_a_time(dense, monkeypatch):
    """Where several at once are refused, the products are the same."""
    def refused(fn, *args, batched=False, **options):
        if batched:
            raise sdfgad.UnsupportedError("several", code="SG190")
        return products.jvp(fn, *args, **options)

    monkeypatch.setattr(sparsity, "jvp", refused)
    same(sdfgad.jacobian(residual, wrt="u", sparsity="auto")(U, K), dense.u)


def test_nothing_depends_on_anything():
    assert sdfgad.jacobian(lambda u, k: np.floor(u) + k, wrt="u", sparsity="auto")(U, K).nnz == 0
    assert sdfgad.jacobian(lambda u: u * u, sparsity="auto")(U[:0]).shape == (0, 0)
