"""Where functions have no derivative, or an infinite one: the convention is stated, and no NaN leaks from elsewhere."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.ir import algebra
from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import Call, Load
from sdfgad.ir.index import elem, ix
from sdfgad.ir.program import Map, Store
from sdfgad.rules.linearise import inline_lets
from tests.support.build import C16, at, each, lit, one, program, put, span
from tests.support.oracle import program_gradient, program_tangent


def slopes(value: Term, **point: float) -> list[float]:
    """Derivatives of an expression in the scalars of `point`; both modes must agree."""
    made = program({n: () for n in point}, [one("s", (), value)])
    arrays = {n: np.array(float(v)) for n, v in point.items()}
    _, found = program_gradient(made, arrays, list(point))
    for n in point:
        zero = {m: np.array(float(m == n)) for m in point}
        _, pushed = program_tangent(made, arrays, zero)
        np.testing.assert_array_equal(pushed, found[n], err_msg=n)
    return [float(found[n]) for n in point]


X, Y = at("x"), at("y")


def test_the_slope_of_abs_at_zero_is_zero():
    assert slopes(X.apply("abs"), x=0.0) == [0.0]


def test_the_slope_of_complex_abs_at_zero_is_zero():
    made = program({"z": ((), C16)}, [one("s", (), Term(Call("abs", (at("z", dtype=C16).expr,), np.dtype("f8"))))])
    _, found = program_gradient(made, {"z": np.array(0j)}, ["z"])
    assert found["z"] == 0


@pytest.mark.parametrize("fn", ["maximum", "minimum", "fmax", "fmin"])
def test_a_tie_gives_half_to_each(fn):
    assert slopes(X.apply(fn, Y), x=0.7, y=0.7) == [0.5, 0.5]


@pytest.mark.parametrize("fn", ["fmax", "fmin"])
def test_a_number_wins_against_nan(fn):
    assert slopes(X.apply(fn, Y), x=np.nan, y=0.7) == [0.0, 1.0]
    assert slopes(X.apply(fn, Y), x=0.7, y=np.nan) == [1.0, 0.0]


@pytest.mark.parametrize("fn, low", [("maximum", -0.7), ("minimum", 0.7), ("fmax", -0.7), ("fmin", 0.7)])
def test_what_loses_has_no_slope_behind_a_pole(fn, low):
    value = X.apply(fn, Term(algebra.number(0.0, np.dtype("f8")))).apply("abs").apply("sqrt")
    made = program({"x": ()}, [one("s", (), value)])
    _, found = program_gradient(made, {"x": np.array(low)}, ["x"])
    assert found["x"] == 0


@pytest.mark.parametrize("op", ["max", "min"])
def test_ties_of_a_reduction_share(op):
    data = np.array([0.2, 0.9, 0.9, 0.9]) * (1 if op == "max" else -1)
    made = program({"x": data}, [one("s", (), at("x", 0)), each(span("i", 0, 4), put("s", (), at("x", "i"), op))])
    _, found = program_gradient(made, {"x": data}, ["x"])
    np.testing.assert_allclose(found["x"], [0, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("fn, slope", [(None, 1.0), ("exp", np.exp(0.9))])
def test_ties_of_results_that_data_name_share(fn, slope):
    """Several points of a map may ask for the same element, and none for another one, which stays what it was."""
    data = {"x": np.array([0.9, 0.2, 0.9, 0.2]), "h": np.array([0.0, 5.0, 0.5]), "k": np.array([0, 1, 0, 1])}
    value = at("x", "i").apply(fn) if fn else at("x", "i")
    made = program(data, [each(span("i", 0, 4), put("h", (ix(elem("k", (ix("i"),))),), value, "max")),
                          one("s", (), at("h", 0) + 3 * at("h", 1) + 7 * at("h", 2))])
    _, found = program_gradient(made, data, ["x", "h"])
    np.testing.assert_allclose(found["x"], [0.5 * slope, 0, 0.5 * slope, 0])
    np.testing.assert_allclose(found["h"], [0, 3, 7])
    _, pushed = program_tangent(made, data, {"x": np.array([1.0, 10, 3, 10]), "h": np.array([2.0, 0.1, 0.01])})
    np.testing.assert_allclose(pushed, 2 * slope + 0.3 + 0.07)


def _largest_so_far(x, y):
    s = 0.0
    for k in range(x.shape[0]):
        s += np.max(np.sin(x[:k + 1] * y[:k + 1] + 0.3 * x[:k + 1])) * y[k]
    return s


def _largest_of_what_came(x, y):
    u, k = x * 1.0, 1
    while k < x.shape[0] and u[0] > -1.0:
        u[k] = 0.5 * u[k] + np.max(np.exp(u[:k]) * y[:k] - u[:k] * y[k])
        k += 1
    return np.sum(u)


@pytest.mark.parametrize("fn", [_largest_so_far, _largest_of_what_came])
def test_winners_among_more_and_more_points(fn):
    """What is computed twice may differ in the last digit: compared with the result, no point would have won."""
    x, y = np.random.default_rng(1).uniform(0.1, 1.0, (2, 5))
    found = sdfgad.grad(fn)(x, y)
    for g, k in ((found.x, 0), (found.y, 1)):
        steps = [[z + h * e * (k == n) for n, z in enumerate((x, y))] for e in np.eye(5) for h in (1e-6, -1e-6)]
        values = np.array([fn(*step) for step in steps]).reshape(5, 2)
        np.testing.assert_allclose(g, (values[:, 0] - values[:, 1]) / 2e-6, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("untaken", [X.apply("sqrt"), 1 / X, X.apply("log"), X ** 0.5, Y / (X * X)],
                         ids=["sqrt", "reciprocal", "log", "power", "quotient"])
def test_the_branch_not_taken_is_neither_evaluated_nor_propagated(untaken):
    value = where(X.compare("gt", 0.0), untaken, 3.0 * X)
    assert slopes(value, x=0.0, y=2.0) == [3.0, 0.0]


def test_a_singular_value_shared_with_a_branch_not_taken():
    root = X.apply("sqrt")
    value = where(X.compare("gt", 0.0), root * root + root, 2.0 * X)
    assert slopes(value, x=0.0) == [2.0]


@pytest.mark.parametrize("singular", [X.apply("sqrt"), X.apply("cbrt"), X ** 0.5, X.apply("hypot", 0.0)],
                         ids=["sqrt", "cbrt", "power", "hypot"])
def test_an_infinite_slope_times_a_zero_cotangent_is_zero(singular):
    made = program({"x": (), "y": ()}, [one("s", (), Y * singular)])
    _, found = program_gradient(made, {"x": np.array(0.0), "y": np.array(0.0)}, ["x", "y"])
    assert (found["x"], found["y"]) == (0, 0)


@pytest.mark.parametrize("singular", [X.apply("sqrt"), X ** 0.5], ids=["sqrt", "power"])
def test_an_infinite_slope_is_not_hidden(singular):
    assert slopes(singular, x=0.0) == [np.inf]


def test_a_masked_division_by_zero():
    assert slopes(where(Y.compare("ne", 0.0), X / Y, 0.0), x=1.5, y=0.0) == [0.0, 0.0]


@pytest.mark.parametrize("x, p, expected", [
    (0.0, 0.0, [0.0, 0.0]), (0.0, 2.0, [0.0, 0.0]), (0.0, 1.0, [1.0, 0.0]), (1.5, 0.0, [0.0, np.log(1.5)]),
    (-2.0, 2.0, None), (0.0, 0.5, [np.inf, 0.0]),
])
def test_powers_at_the_edges(x, p, expected):
    found = slopes(X ** Y, x=x, y=p) if expected else None
    if found is None:
        made = program({"x": ()}, [one("s", (), X ** p)])
        assert program_gradient(made, {"x": np.array(x)}, ["x"])[1]["x"] == -4.0
        return
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("p, expected", [(0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)])
def test_a_known_power_at_zero(p, expected):
    assert slopes(X ** p, x=0.0) == [expected]


def test_stop_gradient():
    assert slopes(X.apply("stop_gradient") * X, x=1.5) == [1.5]


def test_a_nan_is_passed_on():
    assert np.isnan(slopes(X * X.apply("exp"), x=np.nan)[0])


def test_literals_are_folded_only_to_finite_numbers():
    assert isinstance(algebra._folded("div", lit(1.0).expr, lit(0.0).expr), Call)


def test_a_store_that_reads_an_earlier_store_of_its_body_is_refused() -> None:
    f8 = np.dtype("f8")
    first = Store("y", (), Load("x", (), f8))
    second = Store("z", (), Load("y", (), f8))
    with pytest.raises(UnsupportedError, match="just written"):
        inline_lets(Map((), (first, second)))


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e-300])
def test_angles_of_large_and_small_numbers(size):
    """Their squares are infinite, or zero."""
    assert slopes(X.apply("arctan2", Y) * size, x=3 * size, y=4 * size) == pytest.approx([0.16, -0.12])
    assert slopes(X.apply("hypot", Y), x=3 * size, y=4 * size) == pytest.approx([0.6, 0.8])
