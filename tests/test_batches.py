"""Several directions at once: the same as one after the other, from one program that runs the function once."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import OutputError, UsageError
from sdfgad.verbs.pipeline import Derivative

RNG = np.random.default_rng(5)
X, W = RNG.normal(size=6), RNG.normal(size=(4, 6))


def stencil(x, w):
    for _ in range(3):
        x[1:-1] = 0.3 * (x[:-2] + np.sin(x[1:-1]) + x[2:] * x[1:-1])
    return x * w[0, 1], np.max(x)


def dense(x, w):
    y = np.tanh(w @ x)
    return w.T @ y, np.sum(y * y) * x[0]


def branching(x, w):
    s = 0.0
    for i in range(x.size):
        if x[i] > 0.0:
            s = s + x[i] ** 2 * s + w[0, i]
        else:
            s = s * np.cos(x[i])
    return s, np.cumsum(x) / s


def until_small(x, w):
    y = x * 1.0
    while np.sum(y * y) > 0.1:
        y[1:] = y[1:] * y[:-1] * 0.5 + 0.1 * y[1:]
        y[0] = y[0] * 0.7
    return np.exp(y), w[1, 1] * y[0]


def solved(x, w):
    a = np.eye(4) * 3.0 + w[:, :4] * x[0]
    return np.linalg.solve(a, x[:4]), np.linalg.det(a)


def integers(x, w):
    picked = np.argsort(x)[:3]
    return x[picked] ** 2, picked, np.prod(x[picked])


PROGRAMS = (stencil, dense, branching, until_small, solved, integers)


def seeds_for(outputs, n):
    return [RNG.normal(size=(n, *np.shape(o))) for o in outputs if np.asarray(o).dtype.kind == "f"]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_several_cotangents(fn):
    out, pullback = sdfgad.vjp(fn, X, W)
    seeds = seeds_for(out, 3)
    found = pullback(*seeds, batched=True)
    assert found.x.shape == (3, 6) and found.w.shape == (3, 4, 6)
    for k in range(3):
        one = pullback(*(s[k] for s in seeds))
        np.testing.assert_allclose(found.x[k], one.x, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(found.w[k], one.w, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_several_tangents(fn):
    tangents = (RNG.normal(size=(3, 6)), RNG.normal(size=(3, 4, 6)))
    out, found = sdfgad.jvp(fn, (X, W), tangents, batched=True)
    for k in range(3):
        value, one = sdfgad.jvp(fn, (X, W), tuple(t[k] for t in tangents))
        for a, b, c, d in zip(out, value, found, one, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
            if d is not None:
                assert c.shape == (3, *np.shape(b))
                np.testing.assert_allclose(c[k], d, rtol=1e-13, atol=1e-14)


def test_directions_of_zero_and_of_some_outputs():
    out, pullback = sdfgad.vjp(dense, X, W, wrt="x")
    seeds = RNG.normal(size=(2, 6))
    found = pullback(seeds, None, batched=True)
    for k in range(2):
        np.testing.assert_allclose(found[k], pullback(seeds[k], None), rtol=1e-13)
    assert pullback(seeds[:1], np.ones(1), batched=True).shape == (1, 6)
    assert pullback(seeds[:0], np.ones(0), batched=True).shape == (0, 6)


def test_a_program_of_so_many_seeds_is_made_once(monkeypatch):
    seeds = RNG.normal(size=(2, 6)), RNG.normal(size=2)
    first = sdfgad.vjp(dense, X, W)[1](*seeds, batched=True)
    monkeypatch.delattr(Derivative, "of_several")
    np.testing.assert_array_equal(sdfgad.vjp(dense, X, W)[1](*seeds, batched=True).x, first.x)


def scaled(x, a):
    return a * x, 3.0, x.size


def test_numbers_and_outputs_that_do_not_move():
    _, pullback = sdfgad.vjp(scaled, X, 2.0, wrt=("x", "a"))
    found = pullback(np.eye(6), batched=True)
    np.testing.assert_array_equal(found.x, 2.0 * np.eye(6))
    np.testing.assert_array_equal(found.a, X)
    out, tangent = sdfgad.jvp(scaled, (X, 2.0), (None, np.array([1.0, -2.0])), batched=True)
    np.testing.assert_array_equal(tangent[0], [X, -2.0 * X])
    np.testing.assert_array_equal(tangent[1], np.zeros(2))


def test_complex_and_single_precision():
    def waves(z):
        return np.fft.fft(z * z) * np.exp(z[0])

    z = (RNG.normal(size=4) + 1j * RNG.normal(size=4)).astype(np.complex64)
    seeds = (RNG.normal(size=(3, 4)) + 1j).astype(np.complex64)
    _, pullback = sdfgad.vjp(waves, z)
    found = pullback(seeds, batched=True)
    assert found.dtype == np.complex64
    for k in range(3):
        np.testing.assert_allclose(found[k], pullback(seeds[k]), rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_limit_holds_for_all_directions_together(threads):
    def steps(x, n):
        for _ in range(n):
            x[1:] = np.sin(x[1:]) * x[:-1]
        return x

    x = RNG.normal(size=2000)
    with sdfgad.config(num_threads=threads):
        _, pullback = sdfgad.vjp(steps, x, 40)
        seeds = RNG.normal(size=(4, 2000))
        everything = pullback(seeds, batched=True)
        _, pullback = sdfgad.vjp(steps, x, 40, memory_limit=400_000)
        np.testing.assert_allclose(pullback(seeds, batched=True), everything, rtol=1e-13)
        with pytest.raises(sdfgad.MemoryLimitError):
            pullback(RNG.normal(size=(40, 2000)), batched=True)


@pytest.mark.parametrize("ask, error, message", [
    (lambda: sdfgad.vjp(dense, X, W)[1](np.ones((2, 6)), np.ones(3), batched=True), UsageError, "no common first axis"),
    (lambda: sdfgad.vjp(dense, X, W)[1](np.ones(6), 1.0, batched=True), UsageError, "no common first axis"),
    (lambda: sdfgad.vjp(dense, X, W)[1](np.ones((2, 5)), np.ones(2), batched=True), OutputError, "does not fit"),
    (lambda: sdfgad.vjp(dense, X, W)[1](None, None, batched=True), UsageError, "shapes none"),
    (lambda: sdfgad.jvp(dense, (X, W), (X, None), batched=True), UsageError, "shape"),
    (lambda: sdfgad.jvp(dense, (X, W), (np.ones((2, 6)), np.ones((3, 4, 6))), batched=True), UsageError, "common"),
])
def test_directions_that_do_not_fit(ask, error, message):
    with pytest.raises(error, match=message):
        ask()
