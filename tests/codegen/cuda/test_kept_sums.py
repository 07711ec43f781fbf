"""Sums that loops add to, kept by each point until the loop is over."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cuda.kept_sums import sums_kept
from sdfgad.codegen.cuda.schedule import DeviceProgram
from sdfgad.codegen.cuda.work import DeviceItems, HostControl
from sdfgad.thresholds import changed, thresholds
from tests.codegen.cuda.test_components import numbers, planned
from tests.support.on_cpu import in_order, running_here


def priced(spot: float, sigma: float, rate: float, z: np.ndarray) -> float:
    """An Asian option by pairs of paths that mirror each other."""
    steps = z.shape[0]
    up, down = (np.full(z.shape[1], np.log(spot)) for _ in range(2))
    means = np.zeros((2, z.shape[1]))
    for k in range(steps):
        up = up + (rate - 0.5 * sigma ** 2) / steps + sigma * z[k]
        down = down + (rate - 0.5 * sigma ** 2) / steps - sigma * z[k]
        means[0] += np.exp(up)
        means[1] += np.exp(down)
    return np.exp(-rate) * np.mean(np.maximum(means / steps - 0.9 * spot, 0.0))


def relaxed(f: np.ndarray, omega: float, push: float) -> float:
    """Neighbours, and short axes that a thread adds up."""
    for _ in range(6):
        mean = np.sum(f, axis=0) + push
        f = f + omega * (mean * 0.2 - f)
        f[1, 1:] = f[1, :-1] * (1.0 + 0.1 * omega)
    return np.sum(f ** 2)


def looked_at(x: np.ndarray, a: float) -> float:
    """A sum that each iteration looks at, one of fewer points in each, and one of a row."""
    total, rest, rows = 0.0, 0.0, np.zeros(3)
    for k in range(5):
        total += np.sum(np.sin(a * x))
        x = x * (1.0 + 0.01 * total)
        for i in range(k):
            rest += x[i] * a
        rows[1] += np.sum(x * a)
        rows[2] = rows[1] * rest
    return total + rest + rows[1] * rows[2]


PROGRAMS: dict[Callable[..., float], tuple[tuple[str, ...], tuple[Any, ...]]] = {
    priced: (("spot", "sigma", "rate"), (2.0, 0.2, 0.05, (5, 40))),
    relaxed: (("f", "omega", "push"), ((3, 30), 0.7, 0.1)), looked_at: (("x", "a"), ((30,), 0.3))}


@pytest.mark.parametrize("function", PROGRAMS)
def test_gradients(function: Callable[..., float]) -> None:
    """Those of the processor, and the same digits in two orders of threads."""
    names, given = PROGRAMS[function]
    rng = np.random.default_rng(2)
    arguments = tuple(rng.normal(size=a) if isinstance(a, tuple) else a for a in given)

    def own() -> list[Any]:
        return [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]

    value, expected = sdfgad.value_and_grad(function, wrt=names)(*own())
    with running_here(), changed(device=replace(thresholds().device, points=8, terms=4)):
        both = sdfgad.value_and_grad(function, wrt=names)
        found = []
        for seed in (1, 2):
            with in_order(seed):
                found.append(both(*own()))
        plan = both.measure(*own())
    assert plan.measured.device_bytes == plan.predicted.peak_bytes
    np.testing.assert_allclose(found[0][0], value, rtol=1e-12)
    for name in names:
        np.testing.assert_allclose(found[0][1][name], expected[name], rtol=1e-10)
        np.testing.assert_array_equal(found[0][1][name], found[1][1][name])


def _loops(items: DeviceItems) -> list[HostControl]:
    return [i for i in items if isinstance(i, HostControl)]


def test_a_step_of_paths_waits_for_nobody() -> None:
    """The loops are in the threads: of the way back each step had six barriers, and twice the bytes."""
    assert not _loops(_made().items)


def _made() -> DeviceProgram:
    return planned(priced, 2.0, 0.2, 0.05, numbers(50, 1 << 16), wrt=("spot", "sigma", "rate"))


def test_what_is_looked_at_is_not_kept() -> None:
    """The sum that iterations look at, in either sweep."""
    made = planned(looked_at, numbers(1 << 16), 0.3)
    assert not [n for n in sums_kept(made.program).arrays if n.startswith(("kept_total", "kept_rest"))]
