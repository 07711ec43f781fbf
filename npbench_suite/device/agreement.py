"""Gradients and tangents on a device against those of the processor's own programs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.harness.case import widened
from npbench_suite.harness.objective import weights
from npbench_suite.kernel import Kernel, load, names

TRAPS = tuple(Path(__file__).parents[up] / "shared" / "traps" / "traps.py" for up in (2, 3))
"""A file of small programs, each with something that a derivative gets wrong easily, in the checkout or beside it."""
TOLERANCE = 1e-10
SAMPLE = 0

Place = Callable[[], AbstractContextManager[Any]]
"""Where programs run in a block."""


@dataclass(frozen=True)
class Agreement:
    """One program in one mode. status: "agrees", "differs", or "refused" or "failed" with what was said. error: the
    largest difference over the largest number."""

    program: str
    mode: str
    status: str
    error: float | None = None
    said: str = ""


def on_card() -> AbstractContextManager[Any]:
    """Programs of the block run on the device."""
    return sdfgad.config(device="gpu")


def subjects() -> list[str]:
    """Names of all programs: those of NPBench that have a derivative, and the traps, if they are here."""
    return [*(n for n in names() if load(n).gradient != "none"), *(f"trap:{n}" for n in traps())]


def traps() -> Mapping[str, Any]:
    """By name."""
    file = next((f for f in TRAPS if f.exists()), None)
    if file is None:
        return {}
    spec = importlib.util.spec_from_file_location("traps", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Mapping[str, Any] = module.TRAPS
    return found


def examined(subject: str, place: Place = on_card) -> Iterator[Agreement]:
    """A program in both modes."""
    calls = _of_trap(traps()[subject[5:]]) if subject.startswith("trap:") else _of_kernel(load(subject))
    for mode, call in calls.items():
        try:
            with place():
                found = call()
            with sdfgad.config(device="cpu"):
                expected = call()
        except sdfgad.UnsupportedError as error:
            yield Agreement(subject, mode, "refused", said=error.message)
        except sdfgad.SdfgadError as error:
            yield Agreement(subject, mode, "failed", said=error.message)
        else:
            error = difference(found, expected)
            yield Agreement(subject, mode, "agrees" if error <= TOLERANCE else "differs", error)


def difference(found: list[Any], expected: list[Any]) -> float:
    """The largest difference over the largest number of each array; infinite for what is not finite on one side, or of
    another shape or dtype."""
    worst = 0.0
    for one, other in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        if one.shape != other.shape or one.dtype != other.dtype or not np.isfinite(other).all():
            return float("inf")
        largest = float(np.max(np.abs(other), initial=0.0))
        apart = float(np.max(np.abs(one - other), initial=0.0))
        if not apart <= TOLERANCE * largest:  # a NaN is no number to compare with
            return apart / largest if np.isfinite(apart) and largest else float("inf")
        worst = max(worst, apart / largest if largest else 0.0)
    return worst


def _of_trap(trap: Any) -> dict[str, Callable[[], list[Any]]]:
    direction = np.linspace(-1.0, 2.0, trap.x.size)
    return {"reverse": lambda: list(sdfgad.value_and_grad(trap.program)(trap.x)),
            "forward": lambda: list(sdfgad.jvp(trap.program, (trap.x,), (direction,)))}


def _of_kernel(kernel: Kernel) -> dict[str, Callable[[], list[Any]]]:
    arguments = widened(kernel.sample(np.random.default_rng(100 + SAMPLE), SAMPLE))
    wrt = kernel.wrt + kernel.scalars
    generator = np.random.default_rng(7)
    directions = {n: _direction(generator, arguments[n]) for n in wrt}

    def reverse() -> list[Any]:
        out, pullback = sdfgad.vjp(kernel.program, *arguments.values(), wrt=wrt, output=kernel.output)
        several = isinstance(kernel.output, tuple)
        seeds = weights(out if several else [out])
        found = pullback(tuple(seeds) if several else seeds[0])
        return [found[n] for n in wrt] if len(wrt) > 1 or not isinstance(found, np.ndarray) else [found]

    def forward() -> list[Any]:
        out, tangent = sdfgad.jvp(kernel.program, tuple(arguments.values()), directions, output=kernel.output)
        return [*out, *tangent] if isinstance(kernel.output, tuple) else [out, tangent]

    return {"reverse": reverse, "forward": forward}


def _direction(generator: np.random.Generator, value: Any) -> Any:
    change = generator.uniform(0.5, 1.0, np.shape(value))
    return change.astype(value.dtype) if isinstance(value, np.ndarray) else float(change)
