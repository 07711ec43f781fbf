"""Second derivatives and Jacobians: against differences of gradients, symmetric, and what is refused."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad


def coupled(x):
    """Tapes, updates in place, and neighbours."""
    for _ in range(3):
        x[1:] = x[1:] * x[:-1] + np.sin(x[1:])
    return np.sum(x * x)


def with_products(x):
    y = np.outer(x, x) @ np.exp(x)
    return np.sum(y * y)


def with_branches(x):
    s = 0.0
    for i in range(x.size):
        if x[i] > 0.5:
            s = s + x[i] ** 3 * s
        else:
            s = s * np.cos(x[i]) + x[i] ** 2
    return s


def until_small(x):
    """A tape that grows."""
    y = x * 1.0
    while np.sum(y * y) > 0.1:
        y[1:] = y[1:] * y[:-1] * 0.9
        y[0] = y[0] * 0.7
    return np.sum(np.exp(y))


def newton(x):
    """A loop that carries its slope along, which has a slope itself."""
    y = 0.5 * (x + 1.0)
    for _ in range(5):
        y = 0.5 * (y + x / y)
    return np.sum(y * x)


def solved(x):
    a = np.eye(x.size) * 3.0 + np.outer(x, np.sin(x[::-1]))
    return np.sum(np.linalg.solve(a, x * x)) + np.sum(np.linalg.inv(a) ** 2) + np.linalg.det(a)


def decomposed(x):
    a = np.outer(x, x) + np.diag(np.exp(x))
    w, v = np.linalg.eigh(a)
    return np.sum(w**3) + np.sum(np.linalg.svd(np.outer(x, np.cos(x)) + np.diag(1.0 + x), compute_uv=False))


def transformed(x):
    z = np.fft.fft(x * x)
    return np.sum(np.abs(np.fft.ifft(z * z * np.exp(1j * x))) ** 2)


def factorised(x):
    """In place, and with scalars that are replaced."""
    a = np.outer(x, x) + np.diag(2.0 + x)
    for i in range(x.size):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    return np.sum(np.tril(a))


def extremes(x):
    return np.max(x) ** 3 + np.sum(np.maximum(x, 0.5) ** 2) + np.sum(np.where(x > 0.4, x**3, 0.0))


PROGRAMS = (coupled, with_products, with_branches, until_small, newton, solved, decomposed, transformed, factorised,
            extremes)
POINT = np.array([0.9, 0.3, 0.75, 0.45, 0.62])


def differences(fn: Callable[..., Any], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    gradient = sdfgad.grad(fn)
    rows = []
    for k in range(x.size):
        e = np.zeros_like(x)
        e[k] = step
        rows.append((gradient(x + e) - gradient(x - e)) / (2 * step))
    return np.stack(rows, axis=-1)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_hessians(fn):
    found = sdfgad.hessian(fn)(POINT)
    size = np.max(np.abs(found))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(found, differences(fn, POINT), rtol=0, atol=1e-7 * size)
    along = np.linspace(-1.0, 1.0, POINT.size)
    np.testing.assert_allclose(sdfgad.hvp(fn, (POINT,), (along,)), found @ along, rtol=0, atol=1e-13 * size)


def with_logarithms(x):
    return np.sum(np.log(x) ** 2) + np.log(x[0]) * np.sqrt(x[1])


def guarded(x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0) * x[::-1])


def test_cotangents_that_are_zero_change_nevertheless():
    """A partial that may be infinite takes no part where its cotangent is zero, but the cotangent moves."""
    found = sdfgad.hessian(with_logarithms)(np.array([1.0, 2.0]))
    cross, last = 0.5 / np.sqrt(2.0), (1.0 - np.log(2.0)) / 2.0
    np.testing.assert_allclose(found, [[2.0 - np.sqrt(2.0), cross], [cross, last]], rtol=1e-14)


def test_branches_that_are_not_taken_take_no_part():
    found = sdfgad.hessian(guarded)(np.array([4.0, 0.0]))
    np.testing.assert_allclose(found, [[0.0, 0.25], [0.25, 0.0]], rtol=1e-14)


def two(x, a, n):
    return np.sum(np.sin(a[:, None] * x) ** n)


def test_blocks_of_several_arguments():
    x, a = np.array([0.3, 0.5, 0.9]), np.array([1.1, 0.7])
    found = sdfgad.hessian(two)(x, a, 3)
    assert found.x.a.shape == (3, 2) and found.a.a.shape == (2, 2) and found.x.x.shape == (3, 3)
    np.testing.assert_allclose(found.x.a, found.a.x.T, rtol=1e-13)
    along = np.array([0.2, -0.4])
    np.testing.assert_allclose(sdfgad.hvp(two, (x, a, 3), {"a": along}, wrt="x"), found.x.a @ along, rtol=1e-12)
    both = sdfgad.hvp(two, (x, a, 3), {"x": np.ones(3), "a": along})
    np.testing.assert_allclose(both.a, found.a.x @ np.ones(3) + found.a.a @ along, rtol=1e-12)
    np.testing.assert_allclose(sdfgad.hessian(two, wrt="a")(x, a, n=3), found.a.a, rtol=1e-13)


def test_arguments_without_effect():
    def one(x, a, n):
        return np.sum(x**n)

    with pytest.warns(sdfgad.UnusedArgumentWarning):
        sdfgad.grad(one)(POINT, POINT, 3)
    found = sdfgad.hessian(one)(POINT, POINT[:2], 3)
    np.testing.assert_allclose(found.x.x, np.diag(6 * POINT), rtol=1e-14)
    assert found.a.x.shape == (2, 5) and not np.any(found.a.x) and not np.any(found.x.a)


def test_zeros_are_the_callers_own():
    for _ in range(2):
        found = sdfgad.hvp(one_linear, (POINT, POINT), {"x": POINT, "a": POINT})
        assert not np.any(found.x) and not np.any(found.a)
        found.x[:], found.a[:] = 1.0, 1.0


def one_linear(x, a):
    return np.sum(3.0 * x)


def test_matrices_as_arguments():
    def energy(w):
        return np.sum(np.tanh(w @ w.T))

    w = np.array([[0.3, -0.2, 0.5], [0.1, 0.8, -0.6]])
    found = sdfgad.hessian(energy)(w)
    assert found.shape == (2, 3, 2, 3)
    np.testing.assert_allclose(found.reshape(6, 6), differences(lambda v: energy(v.reshape(2, 3)), w.ravel()),
                               rtol=0, atol=1e-7)


def test_complex_arguments_have_products():
    def energy(z):
        return np.sum(np.abs(z * z * z) ** 2)

    z, dz, step = np.array([0.5 + 0.2j, 0.1 - 0.7j]), np.array([0.3 - 1j, 0.8 + 0.4j]), 1e-6
    gradient = sdfgad.grad(energy)
    expected = (gradient(z + step * dz) - gradient(z - step * dz)) / (2 * step)
    np.testing.assert_allclose(sdfgad.hvp(energy, (z,), (dz,)), expected, rtol=1e-7)
    with pytest.raises(sdfgad.UsageError, match="'z' is complex"):
        sdfgad.hessian(energy)(z)


def test_a_complex_system():
    def energy(x, a, b):
        y = np.linalg.solve(a * x[0] + 1j * x[1], b * x[2])
        return np.sum(np.abs(np.linalg.inv(a + x[1] * 1j) @ y) ** 2)

    rng = np.random.default_rng(3)
    a = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) + 3.0 * np.eye(3)
    b = rng.standard_normal((3, 2)) + 1j * rng.standard_normal((3, 2))
    found = sdfgad.hessian(lambda x: energy(x, a, b))(POINT[:3])
    np.testing.assert_allclose(found, found.T, rtol=1e-11)
    np.testing.assert_allclose(found, differences(lambda x: energy(x, a, b), POINT[:3]), rtol=1e-6)


def cube(x):
    return x**3


def test_numbers_and_linear_functions():
    assert sdfgad.hessian(cube)(2.0) == pytest.approx(12.0)
    assert not np.any(sdfgad.hessian(lambda x: np.sum(3.0 * x))(POINT))


def test_arguments_are_left_alone_and_the_program_is_made_once():
    x = POINT.copy()
    first = sdfgad.hvp(coupled, (x,), (np.ones(5),))
    np.testing.assert_array_equal(x, POINT)
    np.testing.assert_array_equal(sdfgad.hvp(coupled, (x,), (np.ones(5),)), first)


def mapped(x, a):
    y = np.zeros((2, 3))
    for i in range(3):
        y[0, i] = x[i] * x[i + 1] * a
        y[1, i] = np.sin(x[i + 1])
    return y


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobians(mode):
    x = POINT[:4]
    found = sdfgad.jacobian(mapped, wrt="x", mode=mode)(x, 2.0)
    assert found.shape == (2, 3, 4)
    expected = np.zeros((2, 3, 4))
    for i in range(3):
        expected[0, i, i], expected[0, i, i + 1], expected[1, i, i + 1] = 2 * x[i + 1], 2 * x[i], np.cos(x[i + 1])
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    several = sdfgad.jacobian(mapped, wrt=("x", "a"), mode=mode)(x, 2.0)
    np.testing.assert_allclose(several.a, mapped(x, 2.0) / 2.0 * [[1], [0]], rtol=1e-14)
    np.testing.assert_allclose(several.x, expected, rtol=1e-14)


def test_the_jacobian_of_an_argument_that_is_updated():
    def step(u):
        u[1:] = u[1:] * u[:-1]

    found = sdfgad.jacobian(step, output="u")(POINT[:3])
    a, b, c = POINT[:3]
    np.testing.assert_allclose(found, [[1, 0, 0], [b, a, 0], [0, c, b]], rtol=1e-14)


def pair(x):
    return x * 2.0, x * x


@pytest.mark.parametrize("ask, message", [
    (lambda: sdfgad.jacobian(pair)(POINT), "not one floating array"),
    (lambda: sdfgad.jacobian(mapped, mode="sideways"), "mode='sideways'"),
    (lambda: sdfgad.hessian(sdfgad.grad(coupled)), "derivative of a derivative"),
    (lambda: sdfgad.hvp(coupled, (POINT,), (np.ones(3),)), "shape"),
    (lambda: sdfgad.hvp(coupled, (sdfgad.spec(5),), (np.ones(5),)), "spec"),
    (lambda: sdfgad.hessian(pair)(POINT), "one real scalar"),
])
def test_what_is_refused(ask, message):
    with pytest.raises(sdfgad.SdfgadError, match=message):
        ask()


def test_a_complex_output_has_the_columns_of_forward_mode():
    np.testing.assert_allclose(sdfgad.jacobian(lambda x: np.exp(2j * x))(POINT), np.diag(2j * np.exp(2j * POINT)))
    with pytest.raises(sdfgad.UsageError, match="the output is complex"):
        sdfgad.jacobian(lambda x: np.exp(2j * x), mode="reverse")(POINT)


def test_an_output_may_be_named():
    np.testing.assert_allclose(sdfgad.jacobian(pair, output=1)(POINT), np.diag(2 * POINT), rtol=1e-15)
    np.testing.assert_allclose(sdfgad.hessian(pair, output=1, reduce="sum")(POINT), 2 * np.eye(5), rtol=1e-15)


SYSTEM = np.random.default_rng(0).standard_normal((5, 5))
RULES = {
    "qr": lambda x: sum(np.sum(m**3) for m in np.linalg.qr(np.outer(x, np.sin(x)) + np.diag(1 + x))),
    "pinv": lambda x: np.sum(np.linalg.pinv(np.outer(x, x[:3]) + SYSTEM[:, :3]) ** 2),
    "slogdet": lambda x: np.linalg.slogdet(np.outer(x, np.sin(x)) + np.diag(1 + x))[1] ** 2,
    "eigh": lambda x: np.sum(np.linalg.eigh(np.outer(x, x) + np.diag(np.exp(x)))[1] ** 4),
    "norm": lambda x: np.linalg.norm(x) ** 3 + np.linalg.norm(np.outer(x, x)),
    "sort": lambda x: np.sum(np.sort(x * x) * np.arange(5.0) * np.sort(x)),
    "cumsum": lambda x: np.sum(np.cumsum(x * x) ** 2),
    "cumprod": lambda x: np.sum(np.cumprod(x) ** 2),
    "prod": lambda x: np.prod(x) ** 2,
    "convolve": lambda x: np.sum(np.convolve(x, x * x) ** 2),
    "std": lambda x: np.std(x) * np.var(x * x),
    "einsum": lambda x: np.einsum("i,ij,j->", x, SYSTEM, np.exp(x)) ** 2,
    "abs": lambda x: np.sum(np.abs(x - 0.5) ** 3) + np.sum(np.hypot(x, x[::-1])),
    "pow": lambda x: np.sum(x**x) + np.sum(np.arctan2(x, x[::-1])),
    "rfft": lambda x: np.sum(np.abs(np.fft.rfft(x * x)) ** 2 * np.arange(3.0)),
    "gather": lambda x: np.sum(x[np.array([0, 0, 3, 2])] ** 3 * x[1:]),
    "roll": lambda x: np.sum(np.roll(x, 1) * x**2 * np.roll(x, -2)),
    "trace": lambda x: np.trace(np.outer(x, x) @ np.outer(x, x) @ SYSTEM),
    "div": lambda x: np.sum(1 / x) + np.sum(x / (1 + x * x[::-1])),
    "floor": lambda x: np.sum(np.floor(x * 3) * x * x) + np.sum((x % 0.4) ** 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_every_kind_of_rule_has_a_second_derivative(name):
    found = sdfgad.hessian(RULES[name])(POINT)
    size = np.max(np.abs(found))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(found, differences(RULES[name], POINT), rtol=0, atol=1e-6 * size)
