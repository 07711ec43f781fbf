"""Interpolants of SciPy made outside and inside of a program: values, derivatives, ends, what is refused."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

interpolate = pytest.importorskip("scipy.interpolate")
CubicSpline, interp1d = interpolate.CubicSpline, interpolate.interp1d
make_interp_spline = interpolate.make_interp_spline

KNOTS = np.array([0.0, 0.4, 0.7, 1.5, 1.9, 2.6, 3.1])
VALUES = np.array([0.3, 1.1, -0.4, 0.7, 0.2, -0.9, 0.5])
TWO = np.stack((VALUES, VALUES[::-1] ** 2), axis=1)
INSIDE = np.array([0.1, 0.4, 1.0, 1.45, 2.61, 3.05])
BEYOND = np.array([-0.3, 0.0, 0.55, 3.1, 3.8, np.nan])

OUTSIDE = {
    "cubic": CubicSpline(KNOTS, VALUES), "cubic of two": CubicSpline(KNOTS, TWO),
    "periodic": CubicSpline(KNOTS, np.append(VALUES[:-1], VALUES[0]), bc_type="periodic"),
    "ends": CubicSpline(KNOTS, VALUES, extrapolate=False), "monotone": interpolate.PchipInterpolator(KNOTS, VALUES),
    "akima": interpolate.Akima1DInterpolator(KNOTS, VALUES), "basis": make_interp_spline(KNOTS, VALUES, k=2),
    "pieces": interpolate.PPoly(np.sin(np.arange(18.0)).reshape(3, 6), KNOTS),
    "lines": interp1d(KNOTS, VALUES, fill_value="extrapolate"),
    "filled": interp1d(KNOTS, VALUES, bounds_error=False, fill_value=(1.0, 2.0)),
    "not filled": interp1d(KNOTS, VALUES, bounds_error=False),
    **{f"{kind}, {end}": interp1d(KNOTS[::-1], VALUES, kind=kind, bounds_error=False, fill_value=fill)
       for kind in ("cubic", "nearest", "previous", "next")
       for end, fill in (("lines", "extrapolate"), ("filled", (1.0, 2.0)))}}


@pytest.mark.parametrize("name", OUTSIDE)
def test_made_outside(name):
    made = OUTSIDE[name]
    check(lambda x: (made(x), made(x[0])), BEYOND.copy())
    if not name.endswith(("lines", "filled")):
        check(lambda x: (made(x, 1), made(x, nu=2), made(x, 5)), BEYOND[:-1].copy())


ENDS = ["not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.7)), ("natural", "not-a-knot")]


@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_cubic_splines(ends):
    def run(k, y, x):
        return CubicSpline(k, y, bc_type=ends)(x), CubicSpline(k[:4], y[:4], bc_type=ends)(x, 1)

    check(run, KNOTS.copy(), VALUES.copy(), BEYOND.copy(), rtol=1e-11)


def test_others_made_inside():
    def run(k, y, two, x, inside):
        return (make_interp_spline(k, y)(x), make_interp_spline(k, two, k=1)(x), CubicSpline(k, two)(x),
                CubicSpline(k[:3], y[:3])(x), CubicSpline(k[:2], y[:2])(x), interp1d(k, y)(inside),
                interp1d(k[::-1], y)(inside), interp1d(k, y, fill_value="extrapolate")(x),
                interp1d(k, y, bounds_error=False, fill_value=(x[2], 5.0))(x),
                CubicSpline(KNOTS, y)(x), np.interp(x, k, y, period=1.3))

    check(run, KNOTS.copy(), VALUES.copy(), TWO.copy(), BEYOND[:-1].copy(), INSIDE.copy(), rtol=1e-11)


@pytest.mark.parametrize("kind", ["cubic", 3, "nearest", "previous", "next"])
def test_other_kinds_of_interp1d_made_inside(kind):
    halves = (KNOTS[1:] + KNOTS[:-1]) / 2

    def run(k, y, x, inside):
        return (interp1d(k, y, kind=kind)(inside), interp1d(k[::-1], y, kind, fill_value="extrapolate")(x),
                interp1d(k, y, kind, bounds_error=False, fill_value=(x[2], 5.0))(x), interp1d(k, y, kind=kind)(k))

    check(run, KNOTS.copy(), VALUES.copy(), BEYOND[:-1].copy(), np.concatenate((INSIDE, halves)), rtol=1e-11)


def test_derivatives():
    """With respect to knots, values and places."""
    def run(k, y, x):
        spline = CubicSpline(k, y)
        total = np.sum(spline(x) ** 2) + np.sum(spline(x, 1) * x) + np.sum(interp1d(k, y)(x) ** 2)
        total += np.sum(interp1d(k, y, "cubic")(x) * interp1d(k, y, "nearest")(x))
        return total + np.sum(np.sin(OUTSIDE["monotone"](x)))

    places = INSIDE + 0.013
    sdfgad.check_grads(run, KNOTS.copy(), VALUES.copy(), places)


def test_a_place_beyond_the_ends_is_an_error():
    run = sdfgad.forward(lambda x: interp1d(KNOTS, VALUES)(x))
    np.testing.assert_allclose(run(INSIDE), interp1d(KNOTS, VALUES)(INSIDE), rtol=1e-13)
    with pytest.raises(ValueError, match="below the interpolation range"):
        run(INSIDE - 0.2)


def test_what_changes_between_calls():
    """Elements of arrays and the arrays themselves."""
    spline, series = CubicSpline(KNOTS, VALUES), np.polynomial.Polynomial([1.0, 2.0], domain=[0.0, 2.0])
    old = np.poly1d([1.0, 2.0])

    def run(x):
        return spline(x) + series(x) + old(x)

    ours = sdfgad.forward(run)
    for change in (lambda: None, lambda: spline.c.__imul__(2.0), lambda: setattr(spline, "c", spline.c + 1.0),
                   lambda: setattr(series, "coef", np.array([0.5, 3.0])), lambda: series.domain.__imul__(1.5),
                   lambda: old.coeffs.__imul__(3.0)):
        change()
        np.testing.assert_allclose(ours(INSIDE), run(INSIDE), rtol=1e-13)


@pytest.mark.parametrize("program", [
    lambda x: CubicSpline(KNOTS, VALUES, bc_type="periodic")(x),
    lambda x: CubicSpline(KNOTS, x)(x),
    lambda x: CubicSpline(KNOTS, VALUES),
    lambda x: make_interp_spline(KNOTS, VALUES, k=2)(x),
    lambda x: interp1d(KNOTS, VALUES, kind="quadratic")(x),
    lambda x: interp1d(KNOTS[:3], VALUES[:3], kind="cubic")(x),
    lambda x: interpolate.PchipInterpolator(KNOTS, VALUES, axis=1)(x),
    lambda x: OUTSIDE["cubic"](x, x[0]),
], ids=lambda program: f"line {program.__code__.co_firstlineno}")
def test_refusals(program):
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (INSIDE.copy(),))
    assert caught.value.line == program.__code__.co_firstlineno
