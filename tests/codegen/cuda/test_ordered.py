"""`deterministic=True`: sums into elements that data name, with the same bits in every order of threads."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.codegen.cuda.work import works
from sdfgad.codegen.targets import TARGETS
from sdfgad.thresholds import thresholds
from sdfgad.verbs.pipeline import Request, derive
from tests.codegen.cuda.test_atomics import kernels
from tests.support.on_cpu import ON_CPU, ON_CPU_ORDERED, in_order, running_here
from tests.support.thresholds import change

SEEDS = (1, 2, 3)
MANY = np.random.default_rng(5)
X, PLACES = MANY.normal(size=40), MANY.integers(0, 40, size=(300, 2))
ROWS, COUNTS = np.sort(MANY.integers(0, 40, 50)), MANY.integers(0, 5, 50)


def gathered(x: np.ndarray, places: np.ndarray) -> float:
    """Many terms of each element; a triangle of terms, and a product of them, where few are."""
    y = x[places[:, 0]] * np.sin(x[places[:, 1]])
    total = np.sum(y**3)
    for i in range(12):
        for j in range(i):
            total += x[places[i, 0]] * x[places[j, 1]] ** 2
    return total


def unknown(x: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> float:
    """How many terms there are is in the data."""
    total = 0.0
    for i in range(50):
        for j in range(counts[i]):
            total += np.sin(x[rows[i] - j]) * (j + 1.0)
    return total


def runs(function: Callable[..., Any], target: Any, *arguments: Any) -> list[np.ndarray]:
    gradient = sdfgad.grad(function, wrt="x")
    found = []
    with running_here(target):
        for seed in SEEDS:
            with in_order(seed):
                found.append(gradient(*arguments))
    return found


@pytest.mark.parametrize("alone", [256, 1])
def test_the_same_bits_in_every_order(alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted, or by one thread; atomic sums differ."""
    expected = sdfgad.grad(gathered, wrt="x")(X, PLACES)
    limits = sdfgad.thresholds.thresholds().device
    change(monkeypatch, device=type(limits)(**{**vars(limits), "alone": alone}))
    found = runs(gathered, ON_CPU_ORDERED, X, PLACES)
    np.testing.assert_allclose(found[0], expected, rtol=1e-10)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_atomic_sums_differ() -> None:
    """What is asked for is no matter of course."""
    found = runs(gathered, ON_CPU, X, PLACES)
    assert any(np.any(other != found[0]) for other in found[1:])


def test_a_number_of_terms_that_nobody_knows() -> None:
    found = runs(unknown, ON_CPU_ORDERED, X, ROWS, COUNTS)
    np.testing.assert_allclose(found[0], sdfgad.grad(unknown, wrt="x")(X, ROWS, COUNTS), rtol=1e-10)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_every_part_says_at_which_points_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be joined to a kernel of more points: numbers of terms were written behind the end of their array."""
    change(monkeypatch, device=replace(thresholds().device, alone=1))
    with sdfgad.config(device="gpu"):
        made = derive(gathered, bind(gathered, (X, PLACES), {}), Request(("x",), None, None, False))
    found = list(kernels(scheduled(made.program, ordered=True).items))
    assert any("pairs" in name for kernel in found for name in kernel.fills)
    for kernel in found:
        for work in works(kernel.parts):
            assert {side.var for side in kernel.box} <= {r.var for r in work.domain}


def test_the_plan_says_what_it_costs() -> None:
    free = sdfgad.plan(gathered, X, PLACES, wrt="x", device="gpu")
    with sdfgad.config(deterministic=True):
        fixed = sdfgad.plan(gathered, X, PLACES, wrt="x", device="gpu")
        usual = sdfgad.plan(gathered, X, PLACES, wrt="x")
    assert "fixed order" not in str(free) and usual.about.work is None
    work = fixed.about.work
    assert work is not None and work.ordered_sums >= 2 and work.ordered_launches > 45 * work.ordered_sums
    assert fixed.predicted.peak_bytes > free.predicted.peak_bytes and work.ordered_bytes >= 2 * 512 * 24
    assert f"for {work.ordered_sums} sums in a fixed order" in " ".join(str(fixed).split())
    assert sdfgad.Plan.from_json(fixed.to_json()).about == fixed.about


def test_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an option, the settings, the environment."""
    chosen = sdfgad.config.__globals__["chosen_target"]
    assert chosen("gpu") == "cuda" and chosen("gpu", True) == "cuda ordered" and chosen(None, True) == "cpu"
    with sdfgad.config(device="gpu", deterministic=True):
        assert chosen() == "cuda ordered" and chosen("cpu") == "cpu"
    monkeypatch.setenv("SDFGAD_DETERMINISTIC", "1")
    assert chosen("gpu") == "cuda ordered" in TARGETS
