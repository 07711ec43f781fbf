"""Arguments that are arrays without dimensions: numbers, unless a program asks for the array."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import V6, Case, collector

STEP = np.array(0.1)
CASES: list[Case] = []
case = collector(CASES)


@case(V6, STEP, 70)
def replaced_in_a_loop(x, dt, n):
    s = 0.0
    for t in range(n):
        s = s + np.sum(x) * dt
        dt = dt * 1.1
    return s, dt


def next_step(x, dt):
    ratio = np.sum(x) * dt
    if ratio > 1.2:
        dt = 1.2 * dt
    elif ratio < 1.0:
        dt = ratio
    return dt


@case(V6, STEP, 3)
def replaced_in_a_branch(x, dt, n):
    s = 0.0
    for t in range(n):
        dt = next_step(x, dt)
        s = s + dt
    return s * (dt if s > 2 else 0.5 * dt)


@case(V6, {"dt": STEP, "scale": np.array(2.0, np.float32)})
def in_a_dict(x, p):
    dt, scale = p["dt"], p["scale"]
    if np.sum(x) > 0:
        dt = dt * scale
    return x * dt, x.astype(np.float32) * scale


@case(V6, STEP.copy())
def updated_in_place(x, dt):
    dt += 1.0
    dt[...] = dt * 2.0
    dt[()] -= 0.5
    np.multiply(dt, 2.0, out=dt)
    return np.sum(x) * dt


@case(V6, STEP.copy())
def updated_by_a_helper(x, dt):
    def grow(step):
        step *= 2.0
    grow(dt)
    return x * dt


@case(V6, STEP)
def asked_what_it_is(x, dt):
    scale = 2.0 if isinstance(dt, np.ndarray) else 3.0
    return x * dt * scale, isinstance(dt, float), np.ndim(dt), dt.shape


@case(V6, STEP, np.array(0.5))
def one_of_two_written(x, a, b):
    a += 1.0
    for k in range(80):
        b = b * 1.01
    return x * a * b


@case(V6, STEP, 70)
def summed_beside(x, dt, n):
    s = 0.0
    for t in range(n):
        s += np.sum(x) * dt
        dt = dt * 1.01
    return s


@case(V6, STEP.copy())
def updated_in_a_list(x, dt):
    items = [dt]
    items.append(dt)
    items[1] += 1.0
    return x * dt * items[0]


@case(V6, {"dt": STEP.copy()})
def updated_in_a_dict(x, p):
    q = p["dt"]
    p["dt"] += 1.0
    return x * q * p["dt"]


@case(V6, STEP.copy(), 70)
def updated_by_another_name(x, dt, n):
    y = z = dt
    for t in range(n):
        z *= 1.01
    return x * dt * y


@case(V6, STEP.copy(), 70)
def updated_where_a_loop_has_left_it(x, dt, n):
    y = 0.0
    for t in range(n):
        y, _ = dt, t
    y += 1.0
    return x * dt * y


@case(V6, STEP.copy())
def updated_behind_a_walrus(x, dt):
    x = x * (y := dt)
    y += 1.0
    return x * dt * y


@case(V6, STEP.copy())
def written_through_arrays_of_it(x, dt):
    row, same = dt.reshape(1), np.asarray(dt)
    row[0] = 5.0
    same += 1.0
    new = dt[None]
    new += 0.5
    return x * dt


@case(V6, STEP.copy())
def updated_with_an_axis_more(x, dt):
    new = dt[None]
    new += 0.5
    return x * dt


@pytest.mark.parametrize(("fn", "arguments"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_like_numpy(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)


def test_the_derivative_is_that_of_the_number() -> None:
    x = np.linspace(0.1, 0.4, 5)
    array, number = (sdfgad.grad(replaced_in_a_branch, wrt=("x", "dt"))(x, dt, 3) for dt in (STEP, 0.1))
    np.testing.assert_array_equal(array.x, number.x)
    np.testing.assert_array_equal(array.dt, number.dt)


def written_and_replaced(x, dt):
    dt[...] = 2.0
    if np.sum(x) > 0:
        dt = 2.0 * dt
    return np.sum(x) * dt


def one_of_two_updated(x, dt):
    y = dt if np.sum(x) > 0 else 2.0 * dt
    y += 1.0
    return np.sum(x) * dt * y


def one_of_two_from_a_helper(x, dt):
    def either(v):
        if np.sum(x) > 0:
            return v
        return 2.0 * v
    y = either(dt)
    y *= 2.0
    return np.sum(x) * dt * y


def angle_from(x, y, t):
    """As in pymap3d: flags of numbers select from numbers and arrays without dimensions."""
    r = np.hypot(np.asarray(x), y)
    beta = np.empty_like(r)
    bad = np.isclose(r, 0) | (r > 2.0)
    beta[~bad] = np.arctan(r[~bad] / t[~bad])
    beta[~bad] += np.sin(beta[~bad]) * np.sum(t[~bad])
    beta[bad] = np.pi / 2
    return beta


def near_zero(e):
    try:
        e[abs(e) < 1e-3] = 0.0
    except TypeError:
        if abs(e) < 1e-3:
            e = 0.0
    return e


def of_one_or_many(v, n):
    """What asks forgiveness where others ask for the class."""
    try:
        count = len(v)
    except TypeError:
        count = 1
    try:
        total = 0.0
        for e in v:
            total += np.sin(e)
    except TypeError:
        total = v * v
    try:
        count += len(n)
    except (TypeError, AttributeError):
        count += n
    return total * count


def test_numbers_have_no_length_and_no_items() -> None:
    check_both_modes(lambda v: np.sum(of_one_or_many(v, 2)) + of_one_or_many(v[0], v[1] > 0) + of_one_or_many(2.0, 1),
                     (V6,))


def ends_late(v):
    total = 0.0
    try:
        for n in map(len, ["ab", "c", 3]):
            total += n * v
    except TypeError:
        total += 100.0 * v
    return total


def ends_inside(v):
    total = 0.0
    try:
        for k in range(2):
            total += v
            for e in v[0]:
                total += e
    except TypeError:
        total += 100.0 * v
    return total


@pytest.mark.parametrize("run", [ends_late, ends_inside])
def test_what_loops_have_done_before_an_error_is_not_forgotten(run) -> None:
    with pytest.raises(UnsupportedError, match="the length of 3|a loop over a number"):
        parse(run, (V6,))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_flags_of_the_run_select_all_or_nothing(sign: float) -> None:
    def rows(v):
        t = v.copy()
        t[v[0] > 0] *= 2.0
        return np.sum(t[v[1] > 0]) + angle_from(v[0], v[1], v[2]) + near_zero(v[2] * 2.0) + np.sum(t)

    check_both_modes(rows, (V6 * sign,))
    check_both_modes(rows, (5.0 * V6,))


def one_for_the_other(x, dt):
    a = dt
    if np.sum(x) > 0:
        dt = 2.0 * dt
    dt += 1.0
    return np.sum(x) * dt * a


def one_of_two_asked(x, dt):
    return np.sum(x) * dt * isinstance(dt if np.sum(x) > 0 else 2.0 * dt, np.ndarray)


@pytest.mark.parametrize("fn", [written_and_replaced, one_of_two_updated, one_of_two_from_a_helper, one_for_the_other,
                                one_of_two_asked])
def test_what_depends_on_the_data_is_refused(fn: Callable[..., Any]) -> None:
    """Whether the name is an array, which an update changes in place, or a number."""
    with pytest.raises(UnsupportedError, match="test_zero_dimensions.py"):
        check(fn, V6, STEP.copy())
