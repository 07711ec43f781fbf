"""Sums into elements that data chooses: each block of terms has a copy of the targets when terms are many."""
from __future__ import annotations

import numpy as np

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.footprint import footprint
from sdfgad.verbs.pipeline import Request, derive

RNG = np.random.default_rng(3)


def weigh(x, place):
    out = np.zeros(7)
    np.add.at(out, place, x * x)
    return np.sum(out * out)


def copies(count: int) -> bool:
    x, place = RNG.random(count), RNG.integers(0, 7, count)
    made = derive(weigh, bind(weigh, (x, place), {}), Request(("x",))).program
    # 7 elements, and 512 bytes or a little more to the next copy.
    return any("partial" in name and a.shape[1:] == (72,) for name, a in footprint(made).own.items())


def test_copies_are_for_many_terms():
    assert copies(200_000)
    assert not copies(500)


def test_sums_are_the_same_at_every_number_of_threads():
    x, place = RNG.random(200_001), RNG.integers(-7, 7, 200_001)
    made = []
    for threads in (1, 2, 3):
        with sdfgad.config(num_threads=threads):
            made.append(sdfgad.grad(weigh, wrt="x")(x, place))
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])
    out = np.bincount(place % 7, x * x, 7)
    np.testing.assert_allclose(made[0], 4.0 * x * out[place], rtol=1e-12)


def spread(x, w):
    """Single precision `w` beside double `x`: each term of its adjoint is a double."""
    return np.sum(np.sum(x * w, axis=1) ** 2)


def test_copies_in_single_precision_are_rounded_once():
    x, w = RNG.random((40_000, 7)), RNG.random(7).astype(np.float32)
    program = derive(spread, bind(spread, (x, w), {}), Request(("w",))).program
    assert {a.dtype for name, a in footprint(program).own.items() if "partial" in name} == {np.dtype("float64")}
    made = sdfgad.grad(spread, wrt="w")(x, w)
    exact = 2.0 * (x @ w.astype(np.float64)) @ x
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, exact, rtol=64 * np.finfo(np.float32).eps)
