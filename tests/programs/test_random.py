"""Random programs: a right gradient or a refusal, never anything else."""
from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

import sdfgad
from sdfgad.frontend import parse
from tests.programs.running import WRT, Runner, arguments, check, copied, load
from tests.programs.sums import programs as with_sums
from tests.support.oracle import program_gradient, program_tangent, rebuildable, undoable

MOST_REFUSED = 0.1


class Interpreted:
    """The engine run by the reference interpreter."""

    def gradient(self, fn: Callable[..., Any], args: dict[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        parsed = parse(fn, tuple(args.values()))
        held = parsed.collect(tuple(copied(args).values()))
        names = {n: parsed.traced[n] for n in WRT}
        wrt = list(names.values())
        value, grads = program_gradient(parsed.program, held, wrt)
        chosen = rebuildable(parsed.program, wrt)
        _, rebuilt = program_gradient(parsed.program, held, wrt, recompute=chosen) if chosen else (value, grads)
        for n in wrt:
            np.testing.assert_allclose(rebuilt[n], grads[n], rtol=1e-6, atol=1e-9, err_msg="recomputing")
        _, undone = program_gradient(parsed.program, held, wrt, undone=undoable(parsed.program))
        for n in wrt:
            np.testing.assert_array_equal(undone[n], grads[n], err_msg="undoing")
        return value, {n: grads[a] for n, a in names.items()}

    def tangent(self, fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray]) -> Any:
        parsed = parse(fn, tuple(args.values()))
        held = parsed.collect(tuple(copied(args).values()))
        given_ = {parsed.traced[n]: np.asarray(d, np.asarray(args[n]).dtype) for n, d in direction.items()}
        return program_tangent(parsed.program, held, given_)[1]


class Compiled:
    """The public functions."""

    def gradient(self, fn: Callable[..., Any], args: dict[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sdfgad.UnusedArgumentWarning)
            value, grads = sdfgad.value_and_grad(fn, wrt=WRT)(**args)
        return value, dict(grads.items())

    def tangent(self, fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray]) -> Any:
        return sdfgad.jvp(fn, tuple(args.values()), direction)[1]


def examine(runner: Runner, folder: Path, examples: int, number: int, shrink: bool = False,
            programs: st.SearchStrategy[str] = with_sums()) -> Counter[str]:
    """Check `examples` programs; a failing one is shown with its text, made smaller (which takes long) on request."""
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    seen: Counter[str] = Counter()

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, print_blob=False,
              suppress_health_check=list(HealthCheck), phases=phases)
    @given(source=programs, data=st.integers(0, 3), single=st.integers(0, 9))
    def one(source: str, data: int, single: int) -> None:
        note(source)
        seen["programs"] += 1
        fn = load(source, folder, seen["programs"])
        outcome = check(fn, runner, arguments(data, "f4" if single == 9 else "f8"))
        seen["refused"] += bool(outcome.refused)
        seen[f"refused: {outcome.refused}"] += bool(outcome.refused)
        seen["smooth"] += outcome.smooth and not outcome.refused

    one()
    return seen


def assert_few_refused(seen: Counter[str]) -> None:
    reasons = "\n".join(f"{n} {what}" for what, n in seen.most_common() if what.startswith("refused:"))
    assert seen["refused"] <= MOST_REFUSED * seen["programs"], reasons
    assert seen["smooth"] >= 0.6 * seen["programs"]


def test_interpreted_gradients(tmp_path):
    assert_few_refused(examine(Interpreted(), tmp_path, 100, 1))


def test_compiled_gradients(tmp_path):
    examine(Compiled(), tmp_path, 6, 3)


@pytest.mark.slow
def test_many_compiled_gradients(tmp_path):
    assert_few_refused(examine(Compiled(), tmp_path, 100, 4))


@pytest.mark.slow
def test_many_interpreted_gradients(tmp_path):
    assert_few_refused(examine(Interpreted(), tmp_path, 1000, 2, shrink=True))
