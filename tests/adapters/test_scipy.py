"""Functions as SciPy's optimisers take them."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import sdfgad

A = np.array([[3.0, 1.0], [1.0, 2.0], [0.0, 1.0]])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def misfit(p, y, scale=2.0):
    """Real, complex and single numbers; `n` has no derivative."""
    r = p["w"] @ y + p["b"][0] - scale
    return np.sum(r**2) + np.sum(np.abs(p["z"] * p["c"] - (1 + 2j)) ** 2) + p["n"] * (p["c"] - 2.0) ** 2


def parameters():
    return {"w": np.ones((3, 2), np.float32), "b": [np.zeros(3)], "z": np.array([0.5 + 1j]), "c": 1.5, "n": 3}


@pytest.fixture(scope="module")
def container():
    return sdfgad.as_scipy(misfit, (parameters(), A.T), wrt="p")


def test_rosenbrock_with_products_of_its_hessian():
    start = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    fun, x0, unflatten = sdfgad.as_scipy(rosenbrock, start)
    np.testing.assert_array_equal(x0, start)
    for method in ("L-BFGS-B", "Newton-CG", "trust-ncg"):
        hessp = None if method == "L-BFGS-B" else fun.hessp
        found = minimize(fun, x0, jac=True, hessp=hessp, method=method)
        np.testing.assert_allclose(unflatten(found.x), 1.0, atol=1e-3, err_msg=method)


def test_a_container_of_all_kinds_of_numbers(container):
    fun, x0, unflatten = container
    assert x0.dtype == np.float64 and x0.shape == (6 + 3 + 2 + 1,)
    assert check_grad(lambda x: fun(x)[0], lambda x: fun(x)[1], x0 + 0.25, epsilon=1e-4) < 1e-2
    found = minimize(fun, x0, jac=True, hessp=fun.hessp, method="trust-krylov")
    best = unflatten(found.x)
    assert found.fun < 1e-6 and best["n"] == 3 and type(best["c"]) is float
    assert best["w"].dtype == np.float32 and best["b"][0].shape == (3,) and best["z"].dtype == np.complex128
    np.testing.assert_allclose(best["z"] * best["c"], 1 + 2j, rtol=1e-4)
    np.testing.assert_allclose(misfit(best, A.T), found.fun, atol=1e-6)
    np.testing.assert_allclose(fun.flatten(best), found.x, rtol=1e-6, atol=1e-6)


def test_products_are_differences_of_gradients(container):
    fun, x0, _ = container
    p = np.linspace(-1.0, 1.0, len(x0))
    step = 2.0**-7  # exact in single precision
    there, back = fun(x0 + step * p)[1], fun(x0 - step * p)[1]
    np.testing.assert_allclose(fun.hessp(x0, p), (there - back) / (2 * step), rtol=2e-3, atol=2e-3)


def test_several_arguments():
    def energy(x, k, y):
        return np.sum((x.a * k - y) ** 2) + np.sum(x.b**2)

    x = SimpleNamespace(a=np.ones(2), b=np.ones(()))
    fun, x0, unflatten = sdfgad.as_scipy(energy, (x, np.ones(2), 2.0), wrt=("x", "y"))
    value, gradient = fun(np.array([1.0, 2.0, 3.0, 4.0]))
    assert value == 9.0 + 4.0 + 9.0
    np.testing.assert_allclose(gradient, [-6.0, -4.0, 6.0, 10.0])
    first, last = unflatten(x0 + 1.0)
    assert type(first) is SimpleNamespace and first.b == 2.0 and last == 3.0
    np.testing.assert_array_equal(fun.flatten((first, last)), x0 + 1.0)
    with pytest.raises(sdfgad.UsageError, match="a tuple of 2 arguments: x, y"):
        fun.flatten(first)


def test_what_is_asked_wrongly(container):
    fun, x0, _ = container
    for wrong in (x0[1:], x0 + 0j, x0[None]):
        with pytest.raises(sdfgad.UsageError, match="a vector of 12 real numbers"):
            fun(wrong)
    with pytest.raises(sdfgad.UsageError, match="built in another way"):
        fun.flatten({"w": np.ones(2)})
    with pytest.raises(sdfgad.UsageError, match="as_scipy of what sdfgad has made"):
        sdfgad.as_scipy(sdfgad.grad(rosenbrock), np.ones(3))
    with pytest.raises(sdfgad.UsageError, match="no argument of this name"):
        sdfgad.as_scipy(misfit, (parameters(), A.T), wrt="q")
    limited, start, _ = sdfgad.as_scipy(rosenbrock, np.ones(5), memory_limit="1MB")
    with pytest.raises(sdfgad.UsageError, match="memory_limit with a derivative of a gradient"):
        limited.hessp(start, start)
