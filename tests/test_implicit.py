"""Implicit functions: the derivative is that of the solution, and flows to all that is captured."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError

RNG = np.random.default_rng(5)
A = np.eye(3) + 0.2 * RNG.normal(size=(3, 3))
P, U = RNG.normal(size=(3, 3)), RNG.normal(size=3)


def relax(matvec, b):
    x = 0.0 * b
    r = b - matvec(x)
    while np.max(np.abs(r)) > 1e-15:
        x = x + 0.7 * r
        r = b - matvec(x)
    return x


def divide(matvec, b):
    return b / matvec(1.0)


def newton(f, x):
    """Writes a new x where the old one lay, were it not in use."""
    r = f(x)
    n = 0
    while abs(r) > 1e-15 and n < 40:
        x = x - r / (f(x + 0.5e-6) - f(x - 0.5e-6)) * 1e-6
        r = f(x)
        n += 1
    return x


def cooling(conductors, u, a):
    """Systems in loops and branches, which capture items of containers, rows at loop variables, and numbers."""
    s = 0.0
    for k in range(6):
        def system(v):
            w = v + 0.2 * (conductors["A"] @ v)
            return w + 0.1 * a * conductors["rows"][k % 3] * v

        if u[0] > -10.0:
            u = sdfgad.linear_solve(system, u + 0.1 * np.sin(u), relax)
        for i in range(k):
            s = s + sdfgad.linear_solve(lambda v: (2.0 + conductors["A"][i % 3, 0]) * v, u[0] * a, divide)
    return s + np.sum(u**2)


def settling(conductors, u, a):
    """A fixed point in a root, and one whose step has a loop; what they give is overwritten afterwards."""
    def balance(x):
        inner = sdfgad.fixed_point(lambda y: 0.5 * np.cos(a * y + x), 0.3, 1e-15)
        return x + inner - u[1]

    def step(z):
        for k in range(2):
            z = np.tanh(0.3 * (conductors["A"] @ z) + u * (k + 1))
        return z

    a = a + sdfgad.root(balance, 0.5, newton)
    z = sdfgad.fixed_point(step, 0.0 * u, 1e-15)
    z[1:] *= z[:-1] * a
    u[0] = z[1]
    return np.sum(z * u) + np.sum(sdfgad.root(lambda x: x**3 + x - a * conductors["rows"][1], u, many))


def many(f, x):
    for _ in range(90):
        x = x - 0.35 * f(x)
    return x


def given():
    return {"A": A.copy(), "rows": P.copy()}, U.copy(), 0.4


def moved(step, h):
    conductors, u, a = given()
    return {n: v + h * step[n] for n, v in conductors.items()}, u + h * step["u"], a + h * step["a"]


STEPS = [{"A": RNG.normal(size=(3, 3)), "rows": RNG.normal(size=(3, 3)), "u": RNG.normal(size=3), "a": 0.7}
         for _ in range(2)]
WRT = ("conductors", "u", "a")


def along(gradient, step):
    return float(sum(np.sum(g * s) for g, s in zip(gradient.values(), step.values(), strict=True)))


def slope(f, step, h=1e-3):
    """Central differences, extrapolated."""
    def of(h):
        return (f(*moved(step, h)) - f(*moved(step, -h))) / (2 * h)
    return (4 * of(h) - of(2 * h)) / 3


@pytest.mark.parametrize("f", [cooling, settling])
def test_derivatives_of_both_modes_and_orders(f):
    first, second = STEPS
    both = sdfgad.value_and_grad(f, wrt=WRT)
    value, gradient = both(*given())
    assert value == pytest.approx(f(*given()), rel=1e-12)
    assert along(gradient, first) == pytest.approx(slope(f, first), rel=1e-8)
    tangents = ({n: first[n] for n in ("A", "rows")}, first["u"], first["a"])
    assert sdfgad.jvp(f, given(), tangents)[1] == pytest.approx(along(gradient, first), rel=1e-11)
    product = sdfgad.hvp(f, given(), {"conductors": {n: second[n] for n in ("A", "rows")}, "u": second["u"],
                                      "a": second["a"]}, wrt=WRT)
    assert along(product, first) == pytest.approx(slope(lambda *x: along(both(*x)[1], first), second), rel=1e-7)


def chain(x, f):
    return np.sum(sdfgad.fixed_point(lambda z: 0.5 * np.cos(z + f * x), 0.0 * x, 1e-13) ** 2)


def steps_of(u, n):
    for _ in range(n):
        u = sdfgad.linear_solve(lambda v: v + 0.1 * u * v, u * u, relax)
    return np.sum(u)


def test_only_solutions_are_kept():
    kept = {(i.array, i.bytes) for i in sdfgad.plan(steps_of, U, 50).problem.items}
    assert {array for array, _ in kept} <= {"u", "solution"} and max(size for _, size in kept) == 50 * U.nbytes
    plan = sdfgad.plan(chain, U, 2.0)
    assert plan.predicted.peak_bytes < 40 * U.nbytes  # no tape of unknown length
    limited = sdfgad.grad(steps_of, memory_limit=1000)
    assert limited.plan(U, 50).predicted.peak_bytes <= 1000 < sdfgad.plan(steps_of, U, 50).predicted.peak_bytes
    u, h = np.abs(U) * 0.5 + 0.5, 1e-6
    assert limited(u, 4) @ U == pytest.approx((steps_of(u + h * U, 4) - steps_of(u - h * U, 4)) / (2 * h), rel=1e-7)


def test_a_batch():
    xs = np.stack([U, 2.0 * U, -U])
    found = sdfgad.vmap(sdfgad.grad(chain, wrt="x"), in_axes=(0, None))(xs, 0.7)
    for x, gradient in zip(xs, found, strict=True):
        step = 1e-6 * U[::-1]
        difference = (chain(x + step, 0.7) - chain(x - step, 0.7)) / 2e-6
        assert gradient @ U[::-1] == pytest.approx(difference, rel=1e-7, abs=1e-9)


def direct(matvec, b):
    matrix = np.zeros((b.size, b.size), b.dtype)
    for k in range(b.size):
        unit = np.zeros(b.size, b.dtype)
        unit[k] = 1.0
        matrix[:, k] = matvec(unit)
    return np.linalg.solve(matrix, b)


@pytest.mark.parametrize("solve", [direct, relax])
def test_several_directions_at_once(solve):
    """The loop of the second solver ends elsewhere for each of them."""
    def f(b):
        return sdfgad.linear_solve(lambda v: A @ v, b, solve)

    seeds = np.array([[1.0, 0.0, 0.0], [0.0, 1e-9, 0.0], [0.0, 0.0, 0.0], [0.5, 1.0, -2.0]])
    cotangents = sdfgad.vjp(f, U)[1](seeds, batched=True)
    np.testing.assert_allclose(cotangents, seeds @ np.linalg.inv(A), rtol=1e-5, atol=1e-13)
    if solve is relax:
        tangents = sdfgad.jvp(f, (U,), (seeds,), batched=True)[1]
        np.testing.assert_allclose(tangents, seeds @ np.linalg.inv(A).T, rtol=1e-5, atol=1e-13)


def test_solvers_that_do_something_else():
    """Only so can be seen which one is used."""
    def twice(matvec, b):
        return 2.0 * b

    def f(b):
        x = sdfgad.linear_solve(lambda v: A @ v, b, relax, transpose_solve=twice)
        y = sdfgad.linear_solve(lambda v: A @ v, b, direct, symmetric=True)  # which it is not
        return x, y

    cotangents = sdfgad.vjp(f, U)[1]
    np.testing.assert_allclose(cotangents(U, None), 2.0 * U, rtol=1e-14)
    np.testing.assert_allclose(cotangents(None, U), np.linalg.solve(A, U), rtol=1e-12)


def test_complex_systems_and_single_precision():
    def f(b):
        return np.sum(np.abs(sdfgad.linear_solve(lambda v: (A + 0.3j * P) @ v, b, direct)) ** 2)

    b, matrix = U + 1j * U[::-1], A + 0.3j * P
    expected = 2.0 * np.linalg.solve(matrix.conj().T, np.linalg.solve(matrix, b))
    np.testing.assert_allclose(sdfgad.grad(f)(b), expected, rtol=1e-12)
    x = U.astype(np.float32)
    found = sdfgad.grad(single, wrt="x")(x)
    assert found.dtype == np.float32
    z = [float(sdfgad.root(lambda z, v=v: z + 0.2 * z**3 - v, 0.0, newton)) for v in U]
    np.testing.assert_allclose(found, [1.0 / (1.0 + 0.6 * v * v) for v in z], rtol=1e-5)


def single(x):
    return np.sum(sdfgad.root(lambda z: z + 0.2 * z**3 - x, 0.0 * x, many))


def test_what_has_no_end_is_raised():
    def f(a):
        return sdfgad.fixed_point(lambda z: a * z + 1.0, 0.0, 1e-12, max_iter=400)

    with pytest.raises(ArithmeticError, match="within 400 iterations"):
        f(2.0)
    assert f(0.5) == pytest.approx(2.0)
    gradient = sdfgad.grad(f)
    assert gradient(0.5) == pytest.approx(4.0)
    with pytest.raises(ArithmeticError, match="within 400 iterations"):
        gradient(2.0)


def in_place(matvec, b):
    b *= 0.5
    return b


CAPTURED = np.ones(3)


def remembering(f, x):
    CAPTURED[0] = x[0]
    return x


def same_array(b):
    x = sdfgad.linear_solve(lambda v: v, b, lambda m, q: q, symmetric=True)
    x[0] = 5.0
    return np.sum(x) + b[0]


@pytest.mark.parametrize("f, message", [
    (same_array, "shares memory"),
    (lambda b: np.sum(sdfgad.linear_solve(lambda v: v[:1] * v[:2], b, relax)), "shapes"),
    (lambda b: np.sum(sdfgad.linear_solve(lambda v: 2.0 * np.sum(v), b, many)), "an equation of linear_solve"),
    (lambda b: sdfgad.linear_solve(lambda v: v, b, lambda m, b: (b, 0))[0][0], "return one array"),
    (lambda b: np.sum(sdfgad.linear_solve(lambda v: 2.0 * v, b, in_place)), "updates 'b' in place"),
    (lambda b: np.sum(np.abs(sdfgad.root(lambda v: v * v - b, b + 0j, lambda f, x: x - f(x)))), "parts apart"),
    (lambda b: np.sum(sdfgad.root(lambda v: v - b, b, remembering)), "an array from outside"),
    (lambda b: np.sum(sdfgad.linear_solve(lambda v: A @ v, b, lambda m, q: np.linalg.solve(A, q))), "does not call"),
])
def test_what_does_not_fit_is_refused_at_its_line(f, message):
    with pytest.raises(UnsupportedError, match=message) as refused:
        sdfgad.grad(f)(U.copy())
    assert refused.value.file == __file__


def test_equations_that_capture_nothing_have_no_derivative():
    assert sdfgad.grad(lambda a: a * sdfgad.root(lambda x: x**3 - 2.0, 1.0, newton))(1.0) == pytest.approx(2 ** (1 / 3))
