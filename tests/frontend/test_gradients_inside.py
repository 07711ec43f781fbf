"""Gradients that functions take inside: as in Python, and differentiated with the program around them."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from tests.frontend.checking import weighted
from tests.support.interpreted import interpreted

X = np.array([0.7, 1.3, 0.4, 1.1])
ALONG = np.array([0.3, -0.7, 0.5, 0.2])


def energy(x, k=0.8):
    d = x[1:] - x[:-1]
    return np.sum(k * (d - 0.3) ** 2 * np.cos(d)) + 0.1 * np.sum(x ** 4)


force = sdfgad.grad(energy, wrt="x")
both = sdfgad.value_and_grad(energy, argnums=(1, 0))


def hamiltonian(q, p, m=1.3):
    return 0.5 * p * p / m + 0.25 * q ** 4 - np.cos(q)


class Spring:
    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return np.sum(self.k * x ** 2 * np.sin(x))

    def __call__(self, x):
        return self.energy(2.0 * x)


def verlet(x):
    """Forces in a loop over time steps."""
    v, x = 0.1 * x, x.copy()
    for _ in range(3):
        v -= 0.05 * force(x, 0.5)
        x += 0.1 * v
        v -= 0.05 * force(x, 0.5)
    return x


def symplectic(x):
    """Of numbers: one argument after the other, and a function made anew in each step."""
    q, p = x[0], float(x[1])
    for k in range(3):
        slope = sdfgad.grad(lambda a, b: hamiltonian(a, b, x[2]), wrt="a" if k < 9 else "b")
        p = p - 0.1 * slope(q, p)
        q = q + 0.1 * sdfgad.grad(hamiltonian, wrt=1)(q, p)
    return np.array([q, p])


def several(x):
    value, (slope, forces) = both(x, x[0] * 2)
    named = sdfgad.grad(energy, argnums=(0, 1))(x, k=x[1])
    return forces * value + slope + named.x * named[1]


def training(x):
    """A step of descent inside, whose step size is asked for: reverse over reverse."""
    w = np.array([0.1, -0.2])
    for _ in range(2):
        def loss(u):
            return np.mean((np.tanh(np.outer(x, u)) - 0.3) ** 2)

        w = w - x[0] * sdfgad.grad(loss)(w)
    return w


def third(x):
    """The gradient of a function that takes a gradient itself."""
    return sdfgad.grad(lambda y: np.sum(force(y, 0.4) ** 2))(x)


def own_arrays(x):
    """A function that works in place on its argument, which stays as it is outside."""
    def filled(y):
        for k in range(1, 4):
            y[k] = y[k] * y[k - 1] + x[k]
        return np.sum(y ** 2)

    return sdfgad.grad(filled)(x + 0.0) + x


def chosen(x):
    """By default arrays alone; every number where there is none."""
    a = sdfgad.grad(energy)(x, 0.3)
    b = sdfgad.grad(lambda s, t: s * s * t)(float(x[0]), float(x[1]))
    return a * b.s + b.t


@sdfgad.custom_vjp
def clipped(y):
    return np.sum(np.sin(y))


clipped.defvjp(lambda y: (np.sum(np.sin(y)), y), lambda y, g: (g * np.minimum(y, 0.5) ** 2,))


def rules(x):
    return sdfgad.grad(clipped)(x) * x


def of_equations(x):
    return sdfgad.grad(lambda y: sdfgad.root(lambda z: z ** 3 + z - y, y, newton).sum())(x)


def newton(f, z):
    for _ in range(30):
        z = z - f(z) / 3.0
    return z


def spectra(x):
    """Derivatives of values alone take the vectors, and move with them."""
    def size(y):
        a = np.outer(y, y) + np.diag(1.5 + y ** 2)
        return np.sum(np.linalg.eigvalsh(a) ** 3) + np.linalg.svd(a + x, compute_uv=False)[0]

    return sdfgad.grad(size)(x)


def summed(x):
    return sdfgad.grad(lambda y: y ** 3 * x, reduce="sum")(x)


def of_objects(x):
    spring = Spring(x[0])
    return sdfgad.grad(spring.energy)(x) + sdfgad.grad(Spring(1.5))(x)


PROGRAMS = (verlet, symplectic, several, training, third, own_arrays, chosen, rules, spectra, summed, of_objects)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_derivatives(program: Callable[..., Any]) -> None:
    """Python runs the same functions, and takes the gradients inside as calls of their own."""
    with interpreted():
        total = weighted(program)
        value, gradient = sdfgad.value_and_grad(total)(X)
        pushed = sdfgad.jvp(total, (X,), (ALONG,))
        ahead, behind = (total(X + h * ALONG) for h in (1e-5, -1e-5))
        expected = total(X)
    np.testing.assert_allclose((value, pushed[0]), expected, rtol=1e-12)
    np.testing.assert_allclose(gradient @ ALONG, pushed[1], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(pushed[1], (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-7)


def weighed(x, w=np.array([1.0, 2.0, 3.0, 4.0])):
    return np.sum(x ** 2 * w)


def named_alone(x, *, k):
    return np.sum(k * x ** 2)


def working(y):
    y[0] = y[1] * y[0]
    return np.sum(y ** 2)


def untouched(x):
    """What a function does in place to its argument it does to a copy, for the value as well."""
    z = 1.0 * x
    value, slope = sdfgad.value_and_grad(working)(z)
    return slope * z + value


FORMS = {
    "numbers of NumPy and of Python": lambda x: tuple(sdfgad.grad(lambda a, b: a * a * b)(x[0], float(x[1]))),
    "an array and a number of NumPy": lambda x: tuple(sdfgad.grad(energy)(x, x[0])),
    "an array and a number of Python": lambda x: sdfgad.grad(energy)(x, float(x[0])),
    "by name, in the order of the function": lambda x: tuple(sdfgad.grad(energy)(k=x[0], x=x)),
    "as asked for": lambda x: tuple(sdfgad.grad(energy, wrt=["k", "x"])(x, x[0])),
    "an array from outside": lambda x: sdfgad.grad(energy)(X) * x,
    "two arrays": lambda x: tuple(sdfgad.grad(weighed)(w=2.0 * x, x=x)),
    "by name alone": lambda x: sdfgad.grad(named_alone, wrt="x")(x, k=x[1]),
    "with an underscore": lambda x: sdfgad.grad(lambda _a: np.sum(_a ** 2))(x),
    "partial": lambda x: sdfgad.grad(partial(energy, k=x[0]))(x),
    "of NumPy": lambda x: sdfgad.grad(np.sum)(x),
    "of a gradient": lambda x: sdfgad.grad(sdfgad.grad(lambda t: t ** 3 * x[1]))(float(x[0])),
    "beside a container": lambda x: sdfgad.grad(lambda p, y: np.sum(p[0] * y ** 2), wrt="y")((x, 2.0 * x), x),
    "in place": untouched}


@pytest.mark.parametrize("name", FORMS)
def test_what_comes_back_is_as_in_python(name: str) -> None:
    with interpreted():
        found, expected = sdfgad.forward(FORMS[name])(X), FORMS[name](X)
    assert type(found) is type(expected)
    for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_single_precision_and_complex_numbers() -> None:
    def program(x, z):
        single = sdfgad.grad(energy)(x, 0.5)
        return single, sdfgad.grad(lambda y: np.sum(np.abs(y) ** 2 * y.real))(z)

    given = X.astype(np.float32), X + 1j * ALONG
    with interpreted():
        found, expected = sdfgad.forward(program)(*given), program(*given)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.dtype == np.float32 else 1e-12)


def test_solutions_of_equations_have_gradients_inside_and_tangents_of_these() -> None:
    total = weighted(of_equations)
    with interpreted():
        value, pushed = sdfgad.jvp(total, (X,), (ALONG,))
        ahead, behind = (total(X + h * ALONG) for h in (1e-5, -1e-5))
        expected = total(X)
    assert value == pytest.approx(expected, rel=1e-9)
    assert pushed == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)
    with pytest.raises(UnsupportedError, match="reverse mode through root"):
        sdfgad.grad(total)(X)


def until(x):
    def length(y):
        while np.sum(y ** 2) < 30.0:
            y = y * (1.5 + 0.1 * x[0])
        return np.sum(y)

    return np.sum(sdfgad.grad(length)(1.0 * x))


def test_loops_of_unknown_length() -> None:
    with interpreted():
        value, gradient = sdfgad.value_and_grad(until)(X)
        ahead, behind, expected = (until(X + h * ALONG) for h in (1e-5, -1e-5, 0.0))
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient @ ALONG == pytest.approx((ahead - behind) / 2e-5, rel=1e-7)


def changing(x):
    kept = x.copy()

    def updating(y):
        kept[0] = 2.0
        return np.sum(y * kept)

    return np.sum(sdfgad.grad(updating)(x))


def star(x):
    return np.sum(sdfgad.grad(lambda *y: np.sum(y[0]))(x))


limited = sdfgad.grad(energy, memory_limit="1GB")


@pytest.mark.parametrize("program, text", [
    (lambda x: np.sum(limited(x)), "memory_limit= inside another function(.|\n)*the gradient around it"),
    (lambda x: np.sum(sdfgad.grad(energy, output=0)(x)), "output= inside another function"),
    (lambda x: np.sum(sdfgad.grad(lambda y: y * 2.0)(x)), "whose value is(.|\n)*reduce='sum'"),
    (lambda x: np.sum(sdfgad.grad(energy, wrt="q")(x)), "with respect to 'q'(.|\n)*: x"),
    (lambda x: np.sum(sdfgad.grad(lambda n: 1.0 * n)(3)), "no argument of which is a floating"),
    (lambda x: np.sum(sdfgad.grad(x)(x)), "sdfgad.grad of"),
    (lambda x: np.sum(sdfgad.grad(wrt="x")(energy)(x)), "without a function"),
    (lambda x: np.sum(sdfgad.hessian(energy)(x)), "sdfgad.hessian inside another function"),
    (lambda x: np.sum(sdfgad.grad(weighed)(x)[0]), "by what is in w, too(.|\n)*with wrt="),
    (lambda x: np.sum(sdfgad.grad(lambda p, y: np.sum(p[0] * y))((x, x), x)[0]), "by what is in p, too"),
    (lambda x: np.sum(sdfgad.grad(energy, wrt=("x", "x"))(x)[0]), "the same argument twice"),
    (lambda x: np.sum(sdfgad.grad(energy, wrt="x", argnums=0)(x)), "these options of sdfgad.grad"),
    (lambda x: np.sum(sdfgad.grad(energy, reduce="mean")(x)), "these options of sdfgad.grad"),
    (lambda x: np.sum(sdfgad.grad(named_alone, wrt="x")(x, 2.0)), "arguments|parameters"),
    (changing, "that updates (.|\\n)*copy what it changes"), (star, "no names")])
def test_refused_with_the_line(program: Callable[..., Any], text: str) -> None:
    with pytest.raises(UnsupportedError, match=text) as refused:
        sdfgad.grad(program)(X)
    assert "test_gradients_inside.py" in str(refused.value)


@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_under_a_limit(threads: int) -> None:
    """The forces of the steps are what the limit leaves to be computed again."""
    def steps(x, k):
        v = np.zeros_like(x)
        for _ in range(40):
            v = v - 0.05 * force(x, k)
            x = x + 0.1 * v
        return np.sum(x * v)

    given = np.linspace(0.0, 6.0, 200) ** 1.1, 0.7
    with sdfgad.config(num_threads=threads):
        free = sdfgad.grad(steps, wrt=("x", "k"))
        found = free(*given)
        limit = free.plan(*given).predicted.peak_bytes // 3
        kept = sdfgad.grad(steps, wrt=("x", "k"), memory_limit=limit)(*given)
    along = np.cos(np.arange(200.0))
    slope = (steps(given[0] + 1e-6 * along, 0.7) - steps(given[0] - 1e-6 * along, 0.7)) / 2e-6
    assert found.x @ along == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(kept.x, found.x, rtol=1e-11, atol=1e-12)
    assert kept.k == pytest.approx(found.k, rel=1e-11)
