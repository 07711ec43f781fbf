"""The value of a reduced objective: the sum of the outputs as NumPy has it, at every dtype, shape and aliasing."""

from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.config import config
from sdfgad.ir.program import views_of


def square(x):
    return x * x


def several(x, y):
    a = x * y[:, None]
    return np.sum(a), a, y * y


def moved(x):
    x[1:] = x[1:] * x[:-1]


def itself(x):
    return x


def both_ways(x):
    return x.T, x[::2, 1:]


def stepped(x, n):
    for _ in range(n):
        x[1:-1] = x[1:-1] * x[:-2] * 0.5 + x[2:]
    return x


def spread(x):
    return np.zeros((3, 4)) + x


def scaled(x, s):
    return s * np.exp(x) + 1j * s


def random(shape, dtype="float64"):
    rng = np.random.default_rng(7)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype)


def expected(fn, *args, output=None):
    copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    found = fn(*copies)
    parts = [copies[0]] if output else list(found) if isinstance(found, tuple) else [found]
    return sum(float(np.sum(np.real(part))) for part in parts)


def value_of(fn, *args, **options):
    value, _ = sdfgad.value_and_grad(fn, reduce="sum", **options)(*args)
    assert type(value) is float
    return value


@pytest.fixture(params=[1, 2])
def threads(request):
    with config(num_threads=request.param):
        yield request.param


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (5000,), (3, 0, 2), (7, 11, 13)])
def test_shapes_and_types(shape, dtype, threads):
    x = random(shape, dtype)
    size = float(np.sum(np.abs(x) ** 2))
    rounding = 20 * float(np.finfo(x.dtype).eps) * size
    assert value_of(square, x) == pytest.approx(expected(square, x), rel=0, abs=rounding)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_several_outputs_each_in_its_precision(dtype, threads):
    x, y = random((40, 30), dtype), random(40, dtype)
    close = 1e-12 if dtype == "float64" else 1e-4
    assert value_of(several, x, y) == pytest.approx(expected(several, x, y), rel=close)
    assert value_of(several, x, y, output=(1, 2)) == pytest.approx(
        float(np.sum(x * y[:, None])) + float(np.sum(y * y)), rel=close)


def test_a_sum_in_single_precision_keeps_small_terms():
    x = np.full(1 << 22, 1e-3, np.float32)
    x[0] = 100.0
    assert value_of(itself, x) == np.float32(np.sum(x.astype(np.float64)))


def test_a_sum_too_large_for_its_type():
    with np.errstate(over="ignore"):
        assert value_of(itself, np.full(8, 3e38, np.float32)) == np.inf


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_number_spreads(bad, threads):
    x = random(300)
    x[17] = bad
    assert np.array_equal(value_of(itself, x), float(np.sum(x)), equal_nan=True)


def test_an_output_that_is_the_argument(threads):
    x = random((9, 8))
    assert value_of(itself, x) == pytest.approx(np.sum(x), rel=1e-12)
    assert value_of(both_ways, x) == pytest.approx(expected(both_ways, x), rel=1e-12)


def test_an_argument_updated_in_place(threads):
    x = random(500)
    before = x.copy()
    assert value_of(moved, x, output="x") == pytest.approx(expected(moved, x, output="x"), rel=1e-12)
    assert np.array_equal(x, before)
    given = value_of(moved, x, output="x", donate=("x",))
    assert given == pytest.approx(expected(moved, before, output="x"), rel=1e-12)


def test_an_output_that_the_reverse_sweep_overwrites(threads):
    x = random(200)
    assert value_of(stepped, x, 6) == pytest.approx(expected(stepped, x, 6), rel=1e-12)


def test_a_number_spread_over_an_array():
    assert value_of(spread, random(4)) == pytest.approx(3 * np.sum(random(4)), rel=1e-12)


def test_the_imaginary_part_does_not_count():
    x = random(50)
    assert value_of(scaled, x, 2.0) == pytest.approx(2 * np.sum(np.exp(x)), rel=1e-12)


def test_the_same_at_every_number_of_threads():
    x = random((300, 70))
    found = []
    for threads in (1, 2):
        with config(num_threads=threads):
            found.append(value_of(square, x))
    assert found[0] == found[1]


def test_an_output_nobody_sees_is_not_made():
    """Only the sum and the gradient leave the call; the square is added up where it is computed."""
    call = sdfgad.value_and_grad(square, reduce="sum")
    program = call._derivative(bind(square, (random(100),), {}), True).program
    assert {view.array for view in views_of(program.returns)} == {"value_0"}
    assert {a.name for a in program.arrays.values() if a.shape} == {"x", "grad_x"}


def test_without_a_reduction_the_value_is_what_the_function_returns():
    def norm(x):
        return np.sum(x * x), x[0]

    value, _ = sdfgad.value_and_grad(norm, output=0)(random(6))
    assert value == pytest.approx(np.sum(random(6) ** 2))


def weighted(x, *ws, order=2, scale):
    total = 0.5 * len(ws) * np.sum(x)
    for w in ws:
        total += scale * np.sum(w * x**order)
    return total


def test_arguments_in_a_row_and_by_name():
    x, w, v = random(4), random(4) + 1, random(4) - 1
    value, found = sdfgad.value_and_grad(weighted, wrt=("x", "ws"))(x, w, v, scale=0.3)
    np.testing.assert_allclose(value, weighted(x, w, v, scale=0.3), rtol=1e-13)
    np.testing.assert_allclose(found.x, 1 + 0.6 * x * (w + v), rtol=1e-13)
    np.testing.assert_allclose(found["ws[1]"], 0.3 * x * x, rtol=1e-13)
    np.testing.assert_allclose(sdfgad.forward(weighted)(x, w, order=3, scale=0.3), weighted(x, w, order=3, scale=0.3))
    out, pushed = sdfgad.jvp(weighted, (x, w, v), {"x": np.ones(4)}, scale=0.3)
    np.testing.assert_allclose((out, pushed), (value, found.x.sum()), rtol=1e-13)
