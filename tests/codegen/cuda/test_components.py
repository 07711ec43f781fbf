"""Short axes that are written out where it saves launches, and sums of pairs that go both ways."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.arrays import Spec
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda.components import components_apart
from sdfgad.codegen.cuda.schedule import DeviceProgram, scheduled
from sdfgad.codegen.cuda.work import launches, works
from sdfgad.thresholds import changed, thresholds
from sdfgad.verbs.pipeline import Request, derive
from tests.codegen.cuda.test_atomics import kernels
from tests.support.on_cpu import in_order, running_here


def slopes(s: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.stack([p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]])


def ensemble(s: np.ndarray, p: np.ndarray, steps: int) -> float:
    """Systems of three numbers, which know nothing of each other."""
    for _ in range(steps):
        k = slopes(s, p)
        s = s + 0.005 * (k + slopes(s + 0.01 * k, p))
    return np.mean(s[2])


def moving(x: np.ndarray, v: np.ndarray, steps: int) -> float:
    """Bodies whose components stand last."""
    for _ in range(steps):
        d = x[:, None, :] - x[None, :, :]
        v = v + 0.01 * np.sum(d / (0.1 + np.sum(d * d, axis=2))[:, :, None], axis=1)
        x = x + 0.01 * v
    return np.sum(x * x)


def pairs(x: np.ndarray, m: np.ndarray, steps: int) -> float:
    """What each pair has of both, which is added up by either: its cotangent is used up where both get theirs."""
    for _ in range(steps):
        d = x[:, None, :] - x[None, :, :]
        q = np.sqrt(np.sum(d * d, axis=2) + 0.01)
        p = np.where(q < 1.0, (1.0 - q) ** 3, 0.0) @ m + 0.1
        r = p * p
        g = np.where(q < 1.0, -3.0 * (1.0 - q) ** 2 / q, 0.0)
        c = g * (r / p**2)[:, None] + g * (r / p**2)[None, :]
        x = x - 0.01 * np.sum((c * m[None, :])[:, :, None] * d, axis=1)
    return np.sum(x * x)


def planned(function: Callable[..., Any], *arguments: Any, wrt: tuple[str, ...] = ()) -> DeviceProgram:
    wrt = wrt or tuple(n for n, a in bind(function, arguments, {}).leaves.items() if not isinstance(a, int))
    with sdfgad.config(device="gpu"):
        return scheduled(derive(function, bind(function, arguments, {}), Request(wrt, None, None, False)).program)


def numbers(*shape: int) -> Spec:
    return Spec(shape, np.dtype("f8"))


def test_systems_of_their_own_are_loops_of_threads() -> None:
    """With the component for a coordinate, each step took a dozen kernels."""
    made = planned(ensemble, numbers(3, 100000), np.array([10.0, 28.0, 8 / 3]), 200)
    assert launches(made.items) <= 5
    with changed(device=replace(thresholds().device, components=1)):
        assert launches(planned(ensemble, numbers(3, 100000), np.array([10.0, 28.0, 8 / 3]), 200).items) > 1000


def test_no_sum_of_pairs_is_atomic() -> None:
    made = planned(pairs, numbers(2048, 3), numbers(2048), 20)
    assert not [w for k in kernels(made.items) for w in works(k.parts) if w.atomic]


@pytest.mark.parametrize("function, shapes", [(ensemble, ((3, 41), (3,))), (moving, ((9, 3), (9, 3))),
                                              (pairs, ((9, 3), (9,)))])
@pytest.mark.parametrize("rounds", [0, 32])
def test_gradients(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], rounds: int) -> None:
    """In two orders of threads the same digits, with loops on the host and in one block."""
    rng = np.random.default_rng(4)
    arguments = (*(rng.random(shape) + 0.1 for shape in shapes), 3)
    names = tuple(bind(function, arguments, {}).leaves)[:2]
    gradient = sdfgad.value_and_grad(function, wrt=names)
    value, expected = gradient(*arguments)
    found = []
    with running_here(), changed(device=replace(thresholds().device, rounds=rounds, shared=1)):
        for seed in (1, 2):
            with in_order(seed):
                found.append(gradient(*arguments))
    for one, grads in found:
        np.testing.assert_allclose(one, value, rtol=1e-12)
        for name in names:
            np.testing.assert_allclose(grads[name], expected[name], rtol=1e-10, atol=1e-11)
            np.testing.assert_array_equal(grads[name], found[0][1][name])


def cubes(x: np.ndarray) -> float:
    return np.sum(x * x * x)


@pytest.mark.parametrize("shape, short", [((20, 30), False), ((3, 3), False), ((3, 30), True), ((30, 3), True)])
def test_what_is_written_out(shape: tuple[int, ...], short: bool) -> None:
    """Short axes of what is stored, where there is another axis."""
    bound = bind(cubes, (numbers(*shape),), {})
    program = derive(cubes, bound, Request(("x",), None, None, False)).program
    assert (components_apart(program) is not program) == short
