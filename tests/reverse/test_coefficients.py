"""The coefficients of a cotangent are added before it is multiplied, where that means fewer operations."""
from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.expr import Call, Const, Expr, Load, call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Store
from sdfgad.reverse.coefficients import collect_coefficients
from sdfgad.reverse.gather import GatheredTerm
from tests.codegen.build_programs import F8, add, compare, load, mapped, mul, num, span, store

I = ix("i")
G, A, B = load("g", I), load("a", I), load("b", I)
C = load("c")
TARGET = mapped([span("i", 1, 9)], store("g", (I,), num(0.0)))


def collected(*exprs: Expr) -> list[Expr]:
    """The terms, each for a target of its own."""
    part = TARGET.body[0]
    assert isinstance(part, Store) and isinstance(G, Load)
    terms = [GatheredTerm(f"y{k}", (I,), e) for k, e in enumerate(exprs)]
    return [t.expr for t in collect_coefficients(TARGET, G, terms)]


def sub(a: Expr, b: Expr) -> Call:
    return call("sub", a, b)


def guarded(e: Expr) -> Call:
    return call("select", compare("eq", G, num(0.0)), num(0.0), e, dtype=F8)


@pytest.mark.parametrize(("e", "expected"), [
    (add(mul(G, num(0.5)), mul(A, G)), mul(G, add(num(0.5), A))),
    (sub(sub(G, mul(A, G)), mul(G, mul(num(0.1), B))), mul(G, sub(sub(num(1.0), A), mul(num(0.1), B)))),
    (mul(C, mul(num(0.5), G)), mul(G, mul(num(0.5), C))),
    (add(call("neg", mul(A, G)), mul(G, B)), mul(G, sub(B, A))),
    (sub(mul(guarded(G), B), mul(A, guarded(G))), mul(guarded(G), sub(B, A))),
], ids=["sum", "differences", "same at all points", "negative first", "choice"])
def test_coefficients_are_added_first(e: Expr, expected: Expr) -> None:
    assert collected(e) == [expected]


def test_numbers_are_folded() -> None:
    eighth = mul(num(0.125), G)
    assert collected(add(G, mul(num(2.0), sub(sub(call("neg", eighth), eighth), eighth)))) == [mul(G, num(0.25))]


def test_coefficients_are_nested() -> None:
    """The derivative of a polynomial costs no more than the polynomial."""
    e = mul(G, A)
    for k in range(3):
        e = add(e, mul(mul(load(f"p{k}", I), G), reduce(mul, [B] * (k + 1))))
    p = [load(f"p{k}", I) for k in range(3)]
    assert collected(e) == [mul(G, add(A, mul(B, add(p[0], mul(B, add(p[1], mul(B, p[2])))))))]
    assert collected(sub(mul(G, mul(num(0.1), A)), mul(mul(A, B), G))) == [mul(G, mul(A, sub(num(0.1), B)))]


@pytest.mark.parametrize("e", [
    mul(A, mul(B, G)), add(mul(A, mul(G, B)), mul(G, B)), sub(mul(G, num(2.0)), mul(num(2.0), G)),
    add(mul(G, Const(np.inf, F8)), mul(G, Const(np.inf, F8))), add(call("div", G, A), mul(B, G)),
    call("select", compare("gt", A, num(0.0)), add(mul(A, G), mul(B, G)), num(0.0), dtype=F8),
], ids=["one product", "as many", "nothing left", "no finite number", "different parts", "choice"])
def test_other_terms_stay(e: Expr) -> None:
    assert collected(e) == [e]


def test_what_terms_share_is_not_computed_twice() -> None:
    """`g * a` and `g * b` are needed anyway: their sum with other coefficients would be another product."""
    products = [mul(mul(G, A), load(n, I)) for n in "pqr"]
    e = add(add(mul(G, A), mul(mul(G, A), B)), mul(mul(G, A), load("p", I)))
    assert collected(e, *products)[1:] == products


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_stay_right(dtype: type) -> None:
    def step(u, v):
        w = u.copy()
        u[1:-1] = w[1:-1] - 0.1 * v[1:-1] * (w[1:-1] - w[:-2]) + 0.01 * (w[2:] - 2 * w[1:-1] + w[:-2])
        return np.sum(u * v)

    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 40)).astype(dtype)
    found = sdfgad.grad(step, wrt=("u", "v"))(u, v)
    sdfgad.check_grads(step, u.astype(np.float64), v.astype(np.float64), wrt=("u", "v"))
    expected = sdfgad.grad(step, wrt=("u", "v"))(u.astype(np.float64), v.astype(np.float64))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5 if dtype == np.float32 else 1e-15)


def test_a_cotangent_that_is_zero_stays_zero() -> None:
    def f(x, y):
        return np.sum((np.sqrt(x) * 3.0 + np.sqrt(x) * y) * np.where(x > 0.0, 1.0, 0.0))

    x, y = np.array([0.0, 1.0, 4.0]), np.array([1.0, 2.0, 3.0])
    gx, gy = sdfgad.grad(f, wrt=("x", "y"))(x, y)
    np.testing.assert_allclose(gx, [0.0, 2.5, 1.5])
    np.testing.assert_allclose(gy, [0.0, 1.0, 2.0])
