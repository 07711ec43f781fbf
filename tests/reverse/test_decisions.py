"""What is kept for the reverse sweep: decisions instead of values, nothing that is as cheap to compute again."""
from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.bits import BOOL, BYTE, bits, packed, unpacked
from sdfgad.ir.expr import Call, Const, Expr, Load, rewrite, walk
from sdfgad.ir.primal import PRIMALS
from sdfgad.ir.text import program_text
from sdfgad.transform.passes import leaving_out
from sdfgad.verbs.pipeline import Request, derive
from tests.support.oracle import numerical_gradient

SQUARE = np.array([[4.0, 9.1, 1.3], [2.2, 5.7, 8.4], [7.9, 0.6, 3.5]])


def shortest(path):
    path = path.copy()
    for k in range(3):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return np.sum(path * path)


def until_small(x):
    """The number of steps depends on the data."""
    x = x.copy()
    n = 0
    while np.sum(x) > 1.0 and n < 20:
        x[:] = np.maximum(0.7 * x, x - 0.5)
        n += 1
    return np.sum(x * x)


def clipped_twice(x):
    """The second statement needs the values that the first one only compares."""
    x = x.copy()
    y = 0.0
    for _ in range(3):
        x[:] = np.minimum(x, 0.8 * x[::-1] + 0.1)
        y += np.sum(x * x)
        x[:] = np.sin(x)
    return y


def bins(x, r):
    out = np.zeros(4)
    for i in range(4):
        mask = np.logical_and(0.25 * i <= r, r < 0.25 * (i + 1))
        out[i] = np.sum(np.where(mask, x, 0.0)) / np.sum(mask)
    return np.sum(out * out)


def drifting(x):
    """Neighbours from both sides, put together piece by piece, in a loop of unknown length."""
    x = x.copy()
    n = 0
    while n < 5 and x[0] < 100.0:
        old = x.copy()
        x[:] = x + 0.1 * np.roll(x, 1) * np.roll(old, -1)
        n += 1
    return np.sum(x * x)


X = np.array([0.9, 0.35, 1.4, 0.62, 0.18])


@pytest.mark.parametrize("fn", [until_small, clipped_twice, drifting], ids=lambda f: f.__name__)
def test_gradients(fn):
    np.testing.assert_allclose(sdfgad.grad(fn)(X), numerical_gradient(fn, [X]), rtol=1e-7, atol=1e-8)


def test_decisions_take_a_byte_each():
    plan = sdfgad.plan(shortest, SQUARE)
    assert {i.array: i.bytes for i in plan.problem.items} == {"decision": 27}
    np.testing.assert_allclose(sdfgad.grad(shortest)(SQUARE), numerical_gradient(shortest, [SQUARE]), rtol=1e-7)


def test_ties_share_as_before():
    tied = np.minimum(SQUARE, 3.0)
    with_nan = SQUARE.copy()
    with_nan[0, 1] = np.nan
    g = sdfgad.grad(shortest)(tied)
    assert np.isfinite(g).all()
    assert np.isclose(np.sum(g * tied), 2 * shortest(tied)), "homogeneous of degree two"
    assert np.isnan(sdfgad.grad(shortest)(with_nan)).any()


def lowest(x, bounds):
    x = x.copy()
    for k in range(bounds.shape[0]):
        x[:] = np.minimum(x, bounds[k])
    return np.sum(x)


def lowest_gradients(x, bounds):
    """For each value and bound: 1 where it is smaller, 0 where it is larger, a half on a tie and beside NaN."""
    before = [x, *(np.minimum.reduce([x, *bounds[:k]]) for k in range(1, len(bounds)))]
    g, of_bounds = np.ones(x.shape), np.zeros(bounds.shape)
    for k, (old, bound) in reversed(list(enumerate(zip(before, bounds, strict=True)))):
        share = np.where(bound < old, 1.0, np.where(bound > old, 0.0, 0.5))
        of_bounds[k] = share * g
        g = (1.0 - share) * g
    return g, of_bounds


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_comparison_follows_from_two(dtype):
    """All triples of a value and two bounds, ties, zeros of both signs, infinities and NaN among them."""
    special = [1.0, 2.0, 0.0, -0.0, np.inf, -np.inf, np.nan]
    x, *bounds = (np.ravel(a).astype(dtype) for a in np.meshgrid(special, special, special))
    gradient = sdfgad.grad(lowest)
    derivative = gradient._derivative(bind(lowest, (x, np.array(bounds)), {}), False)
    (code,) = (s for s in program_text(derivative.program).splitlines() if "decision[" in s and " = (uint8" in s)
    assert code.count("uint8(") == 2, "one bit for <= and one for >="
    for found, expected in zip(gradient(x, np.array(bounds)), lowest_gradients(x, np.array(bounds)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_values_needed_anyway_are_not_kept_twice():
    items = {i.array for i in sdfgad.plan(clipped_twice, X).problem.items}
    assert "x" in items
    assert "decision" not in items


def test_no_mask_is_stored():
    x, r = np.arange(1.0, 13.0), (np.arange(12) * 5 % 12) / 12
    plan = sdfgad.plan(bins, x, r)
    assert not any(i.array.startswith("mask") and plan.decisions[i.name] == "store" for i in plan.problem.items)
    np.testing.assert_allclose(sdfgad.grad(bins, wrt="x")(x, r), numerical_gradient(bins, [x, r]), rtol=1e-8, atol=1e-8)


def escaping(x, y):
    c = x + 1j * y
    z = np.zeros(c.shape, dtype=np.complex128)
    steps = np.zeros(c.shape, dtype=np.int64)
    for n in range(6):
        inside = abs(z) < 2.0
        steps[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    return np.sum(z.real * z.real + z.imag), steps


def test_no_mask_of_what_it_changes_is_stored():
    x, y = np.linspace(-1.7, 0.6, 12), np.linspace(-1.0, 0.9, 12)
    with leaving_out("preaccumulate"):  # which would keep nothing of it
        plan = sdfgad.plan(escaping, x, y, output=0)
    assert {i.array for i in plan.problem.items} == {"z"}
    found = sdfgad.grad(escaping, output=0)(x, y)
    for name, k in (("x", 0), ("y", 1)):
        expected = numerical_gradient(lambda *a: escaping(*a)[0], [x, y], k)
        np.testing.assert_allclose(found[name], expected, rtol=1e-5)


def test_neighbours_are_not_stored():
    plan = sdfgad.plan(drifting, X)
    stored = [i for i in plan.problem.items if plan.decisions[i.name] == "store"]
    assert plan.recomputed
    assert all(i.array in ("x", "old") for i in stored)


def value_of(e: Expr) -> object:
    if isinstance(e, Const):
        return np.asarray(e.value, e.dtype)
    assert isinstance(e, Call)
    args = [value_of(a) for a in e.args]
    return np.asarray(args[0], e.dtype) if e.fn == "cast" else PRIMALS[e.fn](*args)


@pytest.mark.parametrize("values", list(product((False, True), repeat=3)))
def test_bits_of_what_is_packed_in_the_same_expression(values: tuple[bool, ...]):
    """Each bit, and the ways that two of them may turn out, as the code itself says."""
    truths = [Const(v, BOOL) for v in values]
    code = packed(truths)
    tests = [bits(code, k, [True]) for k in range(3)]
    tests += [bits(code, k, both) for k in range(2) for both in product((False, True), repeat=2)]
    tests += [replace(t, fn="ne") for t in tests if isinstance(t, Call) and t.fn == "eq"]
    for test in tests:
        plain = rewrite(test, unpacked)
        assert "bitand" not in {n.fn for n in walk(plain) if isinstance(n, Call)}
        assert bool(value_of(plain)) == bool(value_of(test))


def test_comparisons_both_ways_are_one():
    x, y = (Load(n, (), np.dtype(float)) for n in "xy")
    code = packed([Call("le", (x, y), BOOL), Call("ge", (x, y), BOOL)])
    assert unpacked(bits(code, 0, (True, False))) == Call("lt", (x, y), BOOL)
    assert unpacked(bits(code, 0, (True, True))) == Call("eq", (x, y), BOOL)
    assert unpacked(bits(Load("c", (), BYTE), 0, (True,))) is None


def test_decisions_computed_again_are_comparisons():
    """Where the values compared are at hand nothing is packed."""
    def limited(q):
        for _ in range(5):
            d = q[1:] - q[:-1]
            s = np.where(d[:-1] * d[1:] > 0.0, np.where(np.abs(d[:-1]) < np.abs(d[1:]), d[:-1], d[1:]), 0.0)
            q = np.concatenate([q[:1], q[1:-1] + 0.1 * s, q[-1:]])
        return np.sum(q * q)

    q = np.random.default_rng(2).random(40)
    program = derive(limited, bind(limited, (q,), {}), Request(("q",))).program
    assert "bitand" not in program_text(program)
    np.testing.assert_allclose(sdfgad.grad(limited)(q), numerical_gradient(limited, [q]), rtol=1e-6, atol=1e-8)
