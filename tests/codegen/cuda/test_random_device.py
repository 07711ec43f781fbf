"""Random programs by CUDA text, in three orders of threads: against NumPy, differences and forward mode."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.target import Target
from sdfgad.thresholds import LEAST, changed, thresholds
from tests.programs.examine import Task
from tests.programs.runners import Interpreted
from tests.programs.running import Outcome, check, load, wrt_of
from tests.support.on_cpu import in_order, on_cpu, running_here

ORDERS = (1, 2, 3)
MANY, QUICK = 300, 4
"""Programs, and how many of them the quick suite looks at: one for each of the limits."""


@dataclass
class OnDevice:
    """By CUDA text. pushed: tangents, too, which are else interpreted. atomic: whether sums were found whose order the
    device does not fix: gradients are computed again with all orders fixed then."""

    pushed: bool
    atomic: bool = False

    def gradient(self, fn: Callable[..., Any], args: dict[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        close = 1e-3 if args["x"].dtype == np.float32 else 1e-10
        first, *others = self._in_orders(fn, args, on_cpu(self._seen))
        for other in others:
            _same(other, first, close if self.atomic else 0.0)
        if self.atomic:
            again = self._in_orders(fn, args, on_cpu(ordered=True))
            _same(again[0], first, close)
            for other in again[1:]:
                _same(other, again[0], 0.0)
        return first

    def _seen(self, text: str) -> str:
        self.atomic |= "join_atomically" in text
        return text

    def _in_orders(self, fn: Callable[..., Any], args: dict[str, Any], target: Target) -> list[tuple[Any, Any]]:
        found = []
        with running_here(target), warnings.catch_warnings():
            warnings.simplefilter("ignore", sdfgad.UnusedArgumentWarning)
            function = sdfgad.value_and_grad(fn, wrt=wrt_of(args))
            for seed in ORDERS:
                with in_order(seed):
                    value, grads = function(**args)
                    found.append((value, dict(grads.items())))
        return found

    def tangent(self, fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray]) -> Any:
        if not self.pushed:
            return Interpreted(watched=False).tangent(fn, args, direction)
        with running_here():
            return sdfgad.jvp(fn, tuple(args.values()), direction)[1]


def _same(found: tuple[Any, Any], expected: tuple[Any, Any], close: float) -> None:
    """Of one call and another: equal to the last bit, or up to the order of sums."""
    pairs = {"the value": (found[0], expected[0]), **{n: (found[1][n], e) for n, e in expected[1].items()}}
    for name, (one, other) in pairs.items():
        scale = float(np.max(np.abs(other), initial=0.0))
        np.testing.assert_allclose(one, other, rtol=close, atol=close * scale, err_msg=f"{name} in another order")


def examined(number: int, folder: Path) -> tuple[Outcome, OnDevice]:
    """One program: of five elements as it is, with all sums shared, or with loops of the host; and a larger one."""
    usual, shared = thresholds(), LEAST.device
    limits = (usual.device, shared, replace(usual.device, rounds=0), replace(shared, rounds=0))[number % 4]
    task = Task(number, 40 if number % 12 == 11 else 5, compiled=True)
    runner = OnDevice(pushed=number % 5 == 0)
    with changed(device=limits):
        return check(load(task.text, folder, number), runner, task.arguments), runner


@pytest.mark.parametrize("number", range(QUICK))
def test_a_few(number: int, tmp_path: Path) -> None:
    examined(number, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(QUICK, MANY))
def test_many(number: int, tmp_path: Path) -> None:
    outcome, runner = examined(number, tmp_path)
    print(f"program {number}: refused {outcome.refused!r}, smooth {outcome.smooth}, atomic {runner.atomic}")
