"""Translation validation: the programs before and after every pass compute the same, by the reference semantics."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from sdfgad.ir.program import Program
from sdfgad.ir.text import program_text
from sdfgad.transform.passes import Application
from tests.support.oracle import sample
from tests.support.vectors import run

Arrays = Mapping[str, np.ndarray]
CLOSE = {"f": 1e-3, "d": 1e-9, "F": 1e-3, "D": 1e-9}
"""Relative to the largest entry, by dtype: sums may be added up in another order."""
DIGITS = 100
"""How much more than the last digits of its arguments may move a result."""


class Mistaken(AssertionError):
    """A pass changed what a program computes."""


class Validator:
    """A watcher (`passes.watching`) that runs what goes into a pass and what comes out of it on the same arguments.

    given: arguments by name; others hold random numbers. fired: how often each pass changed a program.
    """

    def __init__(self, given: Arrays, fired: Counter[str] | None = None) -> None:
        self.given = given
        self.fired: Counter[str] = Counter() if fired is None else fired
        self._known: dict[Any, dict[str, np.ndarray]] = {}

    def __call__(self, done: Application) -> None:
        if not done.changed:
            return
        self.fired[done.name] += 1
        expected, actual = self.results(done.before), self.results(done.after)
        for name in sorted(done.keep):
            if name in expected:
                self._compare(done, name, expected[name], actual.get(name))

    def _compare(self, done: Application, name: str, expected: np.ndarray, actual: np.ndarray | None) -> None:
        assert actual is not None, f"{done.name} removed {name}, which is looked at afterwards"
        close = CLOSE.get(expected.dtype.char, 0.0)
        finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind in "fc" else np.abs(expected)
        scale = float(np.max(finite, initial=0.0))
        if np.allclose(actual, expected, rtol=close, atol=close * scale, equal_nan=True):
            return
        rounding = DIGITS * self._rounding(done.before, name)
        if not np.allclose(actual, expected, rtol=close, atol=rounding, equal_nan=True):
            raise Mistaken(self._report(done, name, expected, actual))

    def _rounding(self, program: Program, name: str) -> float:
        """How far a result moves with the last digits of the arguments: all of it may be what is left of sums that
        cancel."""
        start, rng = self._start(program), np.random.default_rng(0)
        for argument, values in ((n, np.asarray(v)) for n, v in start.items()):
            if values.dtype.kind in "fc":
                last = np.finfo(values.dtype).eps * rng.uniform(-1.0, 1.0, values.shape)
                start[argument] = (values * (1.0 + last)).astype(values.dtype)
        with np.errstate(all="ignore"):
            moved = np.abs(run(program, start)[name] - self.results(program)[name])
        return float(np.max(moved[np.isfinite(moved)], initial=0.0))

    def _report(self, done: Application, name: str, expected: np.ndarray, actual: np.ndarray) -> str:
        with np.errstate(all="ignore"):
            off = float(np.nanmax(np.abs(actual - expected), initial=0.0))
        return (f"{done.name} changed {name}, by {off:g} at most:\nbefore: {expected}\nafter: {actual}\n"
                f"--- before\n{program_text(done.before)}\n--- after\n{program_text(done.after)}")

    def results(self, program: Program) -> dict[str, np.ndarray]:
        """One run per program: what comes out of one pass goes into the next."""
        key = (program_text(program), tuple((n, a.tobytes()) for n, a in program.constants.items()))
        if key not in self._known:
            self._known[key] = run(program, self._start(program))
        return self._known[key]

    def _start(self, program: Program) -> dict[str, np.ndarray]:
        return {n: self.given[n] if n in self.given else _random(program, n) for n in program.arguments}


def _random(program: Program, name: str) -> np.ndarray:
    return sample(program.arrays[name], sum(name.encode()))
