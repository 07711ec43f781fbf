"""Second derivatives by composition: gradients of gradients, their tangents, cotangents and matrices."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import OutputError, UnsupportedError, UsageError

X, A = np.array([0.9, 0.3, 0.75]), np.array([0.4, -1.2])


def cube(x):
    return x**3


def energy(x, a):
    for _ in range(2):
        x[1:] = x[1:] * x[:-1] + np.sin(x[1:]) * a[0]
    return np.sum(x * x) * a[1]


def test_the_second_derivative_of_a_number():
    assert sdfgad.grad(sdfgad.grad(cube))(2.0) == pytest.approx(12.0, rel=1e-15)
    assert sdfgad.grad(sdfgad.grad(lambda x: x**3))(np.float64(2.0)) == pytest.approx(12.0, rel=1e-15)
    assert sdfgad.value_and_grad(sdfgad.grad(cube))(2.0) == (pytest.approx(12.0), pytest.approx(12.0))
    found = sdfgad.grad(sdfgad.grad(cube))(np.float32(2.0))
    assert found.dtype == np.float32 and found == pytest.approx(12.0)

    @sdfgad.grad
    @sdfgad.grad
    def decorated(x):
        return np.sin(x)

    assert decorated(0.7) == pytest.approx(-np.sin(0.7), rel=1e-14)
    assert decorated.__name__ == "decorated"


def test_mixed_derivatives_of_numbers():
    def wave(x, t):
        return np.sin(3 * x) * np.exp(-t) * x

    inner = sdfgad.grad(wave, argnums=0)
    found = sdfgad.grad(inner, argnums=1)(0.4, 0.2)
    expected = -(3 * np.cos(1.2) * 0.4 + np.sin(1.2)) * np.exp(-0.2)
    assert found == pytest.approx(expected, rel=1e-14)
    both = sdfgad.grad(inner)(0.4, 0.2)
    assert both.t == pytest.approx(expected, rel=1e-14)
    assert both.x == pytest.approx((6 * np.cos(1.2) - 9 * np.sin(1.2) * 0.4) * np.exp(-0.2), rel=1e-13)


def test_the_gradient_of_the_sum_of_a_gradient():
    gradient = sdfgad.grad(energy, wrt="x")
    value, found = sdfgad.value_and_grad(gradient, wrt=("x", "a"), reduce="sum")(X, A)
    assert value == pytest.approx(np.sum(gradient(X, A)))
    matrix = sdfgad.hessian(energy)(X, A)
    np.testing.assert_allclose(found.x, matrix.x.x.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.a, matrix.x.a.sum(axis=0), rtol=1e-12)


def test_tangents_and_cotangents_of_a_gradient():
    gradient = sdfgad.grad(energy, wrt="x")
    matrix = sdfgad.hessian(energy)(X, A)
    value, tangent = sdfgad.jvp(gradient, (X, A), (None, np.array([1.0, -2.0])))
    np.testing.assert_allclose(value, gradient(X, A), rtol=1e-13)
    np.testing.assert_allclose(tangent, matrix.x.a @ [1.0, -2.0], rtol=1e-12)
    x = X.copy()
    value, pullback = sdfgad.vjp(gradient, x, A)
    x[:] = 0.0
    np.testing.assert_allclose(value, gradient(X, A), rtol=1e-13)
    for seed in (np.array([1.0, 2.0, -0.5]), np.ones(3)):
        np.testing.assert_allclose(pullback(seed).a, seed @ matrix.x.a, rtol=1e-12)
        np.testing.assert_allclose(pullback((seed,)).x, seed @ matrix.x.x, rtol=1e-12)
    value, pullback = sdfgad.vjp(sdfgad.grad(energy), X, A, wrt="a")
    np.testing.assert_allclose(pullback(np.ones(3), None), matrix.x.a.sum(axis=0), rtol=1e-12)
    with pytest.raises(OutputError, match="does not fit"):
        pullback(np.ones(2), None)


def test_the_jacobian_of_a_gradient():
    matrix = sdfgad.hessian(energy)(X, A)
    np.testing.assert_allclose(sdfgad.jacobian(sdfgad.grad(energy, wrt="x"), wrt="a")(X, A), matrix.x.a, rtol=1e-13)
    found = sdfgad.jacobian(sdfgad.grad(energy))(X, A)
    np.testing.assert_allclose(found.a.x, matrix.x.a.T, rtol=1e-12)
    np.testing.assert_allclose(sdfgad.jacobian(sdfgad.grad(energy, argnums=0), argnums=0)(X, A), matrix.x.x, rtol=1e-13)
    assert sdfgad.jacobian(sdfgad.grad(cube))(2.0) == pytest.approx(12.0)


def test_a_product_that_nothing_depends_on_adds_no_derivative_and_takes_none_away():
    def squares(x):
        none = np.zeros_like(x)
        return np.sum(x @ none) + np.sum(x * x)

    x = np.array([[0.3, 0.4], [-1.0, 2.0]])
    np.testing.assert_array_equal(sdfgad.hvp(squares, (x,), {"x": x}), 2.0 * x)


def test_complex_gradients_have_tangents_that_are_symmetric():
    def power(z):
        return np.sum(np.abs(z * z * z) ** 2)

    z, v, w = (np.array(p) for p in ([0.5 + 0.2j, 0.1 - 0.7j], [0.3 - 1j, 0.8 + 0.4j], [1.2 + 0.1j, -0.3 + 2j]))
    gradient, step = sdfgad.grad(power), 1e-6
    expected = (gradient(z + step * v) - gradient(z - step * v)) / (2 * step)
    found = sdfgad.jvp(gradient, (z,), (v,))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    pulled = sdfgad.vjp(gradient, z)[1](w)
    assert np.vdot(w, found).real == pytest.approx(np.vdot(pulled, v).real, rel=1e-12)


def test_a_gradient_without_the_argument():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sdfgad.UnusedArgumentWarning)
        found = sdfgad.grad(sdfgad.grad(lambda x, a: x * x, argnums=0))(2.0, 1.0)
    assert (found.x, found.a) == (2.0, 0.0)
    assert sdfgad.grad(sdfgad.grad(lambda x: 3.0 * x))(2.0) == 0.0


second = sdfgad.hessian(cube)


@pytest.mark.parametrize("ask, error, message", [
    (lambda: sdfgad.grad(sdfgad.grad(sdfgad.grad(cube)))(2.0), UnsupportedError, "derivative of a derivative"),
    (lambda: sdfgad.hvp(sdfgad.grad(cube), (2.0,), (1.0,)), UnsupportedError, "the function f itself"),
    (lambda: sdfgad.grad(second)(2.0), UnsupportedError, "derivative of a derivative"),
    (lambda: sdfgad.jvp(second, (2.0,), (1.0,)), UnsupportedError, "derivative of a derivative"),
    (lambda: sdfgad.vjp(second, 2.0), UnsupportedError, "derivative of a derivative"),
    (lambda: sdfgad.plan(sdfgad.grad(cube), 2.0), UnsupportedError, "derivative of a derivative"),
    (lambda: sdfgad.grad(sdfgad.grad(energy))(X, A), OutputError, "hessian"),
    (lambda: sdfgad.grad(sdfgad.grad(cube, memory_limit="1MB")), UsageError, "memory_limit"),
    (lambda: sdfgad.grad(sdfgad.grad(cube), memory_limit="1MB"), UsageError, "memory_limit"),
    (lambda: sdfgad.grad(sdfgad.value_and_grad(cube)), UsageError, "a pair"),
    (lambda: sdfgad.vjp(sdfgad.grad(cube), 2.0, output=0), UsageError, "leave it out"),
    (lambda: sdfgad.jacobian(sdfgad.grad(cube), mode="reverse"), UsageError, "forward mode"),
])
def test_what_is_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def test_the_hessian_of_a_likelihood():
    """A Gaussian one, by a Cholesky factorisation."""
    places, seen = np.linspace(0.0, 2.0, 5), np.array([0.3, -1.2, 0.8, 0.1, 0.5])

    def likelihood(p):
        low = np.linalg.cholesky(np.exp(-np.subtract.outer(places, places) ** 2 * p[0]) + p[1] * np.eye(5))
        return np.sum(np.linalg.solve(low, seen) ** 2) + 2.0 * np.sum(np.log(np.diag(low)))

    p, h = np.array([1.3, 0.4]), 1e-6
    gradient = sdfgad.grad(likelihood)
    found = sdfgad.hessian(likelihood)(p)
    steps = [(gradient(p + h * e) - gradient(p - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(found, np.array(steps), rtol=1e-7)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)


def inside(x):
    return second(x) * x


def test_a_derivative_inside_a_function_is_refused_at_its_line():
    """It is not taken for the function that it is made from."""
    with pytest.raises(UnsupportedError, match="inside another function") as refused:
        sdfgad.grad(inside)(2.0)
    assert refused.value.line == inside.__code__.co_firstlineno + 1
