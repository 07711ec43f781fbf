"""What several choices make of one value is differentiated once, not once for each condition."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.expr import Call, Expr, call, walk
from sdfgad.reverse.guards import together
from sdfgad.reverse.transpose import contributions
from tests.codegen.build_programs import B1, F8, add, compare, load, num

X, Y, G, T = (load(n, "i") for n in "xygt")
BELOW, ABOVE = compare("lt", X, num(1.0)), compare("lt", num(2.0), X)
SHARED = call("times", call("sin", Y), T)
"""A tangent times a partial derivative."""


def select(c: Expr, a: Expr, b: Expr) -> Expr:
    return call("select", c, a, b, dtype=F8)


def negated(c: Expr) -> Expr:
    return call("not", c, dtype=B1)


def adjoint(e: Expr) -> Expr:
    (_, found), = contributions(e, G, lambda n: n == "t")
    return found


def test_conditions_that_exclude_each_other_are_one_choice() -> None:
    assert together(SHARED, {BELOW: X, negated(BELOW): Y}, {Y, T}) == (None, select(BELOW, X, Y))
    inside = {call("and", ABOVE, c, dtype=B1): e for c, e in ((negated(BELOW), X), (BELOW, Y))}
    assert together(SHARED, inside, {Y, T}) == (ABOVE, select(BELOW, Y, X))
    chain = {call("and", negated(ABOVE), c, dtype=B1): e for c, e in ((BELOW, X), (negated(BELOW), Y))}
    assert together(SHARED, {ABOVE: G, **chain}, {Y, T}) == (None, select(ABOVE, G, select(BELOW, X, Y)))


def test_other_conditions_are_added_up() -> None:
    both = add(select(BELOW, X, num(0.0)), select(ABOVE, Y, num(0.0)))
    assert together(SHARED, {ABOVE: Y, BELOW: X}, {Y, T})[0] is None
    assert together(SHARED, {BELOW: X, ABOVE: Y}, {Y, T})[1] in (both, add(*both.args[::-1]))


def test_what_is_loaded_under_conditions_alone_stays_under_them() -> None:
    """Elsewhere it may lie outside its array."""
    guard, _ = together(SHARED, {BELOW: X, ABOVE: Y}, {T})
    assert isinstance(guard, Call) and (guard.fn, set(guard.args)) == ("or", {BELOW, ABOVE})


def test_a_partial_derivative_is_multiplied_once() -> None:
    found = adjoint(add(select(BELOW, SHARED, num(0.0)), select(ABOVE, SHARED, num(0.0)), call("times", Y, SHARED)))
    assert sum(isinstance(n, Call) and call("sin", Y) in n.args for n in walk(found)) == 1


@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_choices(seed: int) -> None:
    def energy(x, y):
        far = np.sqrt(x[:-1] ** 2 + y[1:] ** 2)
        gap = far - 1.0
        wall = np.where(gap < 0.0, 3.0 * (1.0 - far), 0.0)
        pull = np.where(gap < 0.5, x[1:] * np.where(gap < 0.0, 1.0, 1.0 - gap / 0.5), 0.0)
        pull = np.where(y[:-1] > 0.3, -np.abs(pull), pull)
        return np.sum(wall + pull + np.where(gap < 0.2, y[1:] * np.where(gap < 0.0, 1.0, 1.0 - gap / 0.2), gap * gap))

    rng = np.random.default_rng(seed)
    sdfgad.check_grads(energy, *rng.uniform(0.2, 1.0, (2, 60)), wrt=("x", "y"))


def test_values_under_two_conditions() -> None:
    def f(x, k):
        y = x * k
        return np.sum(np.where(k < 5.0, y, 0.0) + np.where(k < 3.0, y * y, 0.0))

    found = sdfgad.grad(f, wrt="x")(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    np.testing.assert_allclose(found, [2.0 + 8.0, 4.0, 0.0])
