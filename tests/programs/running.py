"""Run one random program: NumPy's value and differences of it against what a runner of the gradient gives."""
from __future__ import annotations

import importlib.util
import linecache
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sdfgad.errors import UnsupportedError
from tests.programs.nests import DEPTH
from tests.programs.text import N

NAMES = ("x", "y", "A", "B", "c")
STEEP = 1e5
"""A gradient so large is compared between the modes only."""


class Runner(Protocol):
    """A way to differentiate: `(value, gradients by name)`, and the tangent of the value."""

    def gradient(self, fn: Callable[..., Any], args: dict[str, Any]) -> tuple[Any, dict[str, np.ndarray]]: ...

    def tangent(self, fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray]) -> Any: ...


@dataclass(frozen=True)
class Outcome:
    """What became of a program. smooth: differences could be used."""

    refused: str = ""
    smooth: bool = True


def load(source: str, folder: Path, number: int) -> Callable[..., Any]:
    """The function `program` of a module with this text; written to a file, for `inspect.getsource`."""
    file = folder / f"random_{number}.py"
    file.write_text(source)
    linecache.checkcache(str(file))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def wrt_of(args: Container[str]) -> tuple[str, ...]:
    """What a program with these arguments is differentiated with respect to."""
    return tuple(n for n in NAMES if n in args)


def arguments(seed: int, dtype: str = "f8", size: int = N) -> dict[str, Any]:
    """Data away from ties and thresholds."""
    rng = np.random.default_rng(seed)
    return {"x": rng.uniform(-0.9, 0.9, size).astype(dtype), "y": rng.uniform(-0.9, 0.9, size).astype(dtype),
            "A": rng.uniform(-0.9, 0.9, (size, size)).astype(dtype), "c": float(rng.uniform(0.2, 0.9)),
            "ind": np.array([0, 3, 3, 1, 0]) if size == N else rng.integers(0, size, size)}


def more_arguments(seed: int, size: int, dtype: str = "f8") -> dict[str, Any]:
    """The same, and a few matrices."""
    plain = arguments(seed, dtype, size)
    few = np.random.default_rng(seed + 1000).uniform(-0.9, 0.9, (DEPTH, size, size)).astype(dtype)
    return {n: few if n == "B" else plain[n] for n in ("x", "y", "A", "B", "c", "ind")}


def check(fn: Callable[..., Any], runner: Runner, args: dict[str, Any]) -> Outcome:
    """Value, gradient and untouched inputs; AssertionError when one is wrong."""
    with np.errstate(all="ignore"):
        expected = fn(**copied(args))
    before = copied(args)
    single = args["x"].dtype == np.float32
    try:
        value, grads = runner.gradient(fn, args)
        direction = _direction(args)
        pushed = runner.tangent(fn, args, direction)
    except UnsupportedError as error:
        return Outcome(refused=error.what or str(error))
    for name, a in before.items():
        np.testing.assert_array_equal(args[name], a, err_msg=f"input {name} was changed")
    close = 1e-4 if single else 1e-11
    np.testing.assert_allclose(value, expected, rtol=close, atol=close, err_msg="the value")
    pulled = sum(float(np.sum(np.asarray(grads[n], "f8") * direction[n])) for n in wrt_of(args))
    scale = max(1.0, abs(float(pushed)), *(float(np.max(np.abs(grads[n]))) for n in wrt_of(args)))
    if not np.isfinite(pushed):  # what has overflowed in one order of sums may be infinite, and in another one NaN
        return Outcome(smooth=False)
    close = 1e-3 if single else 1e-10
    np.testing.assert_allclose(pushed, pulled, rtol=close, atol=close * scale, err_msg="forward against reverse mode")
    return _against_differences(fn, args, grads, direction, scale, 5e-3 if single else 1e-5)


def _against_differences(fn: Callable[..., Any], args: dict[str, Any], grads: dict[str, np.ndarray],
                         direction: dict[str, np.ndarray], scale: float, close: float) -> Outcome:
    """Several directions; one in which differences of different step disagree says nothing (a kink or a jump).

    Nor do differences of a value that the smallest step changes altogether.
    """
    if not scale < STEEP or not _same_path(fn, args, close):
        return Outcome(smooth=False)
    smooth = True
    for d in _directions(direction):
        mine = sum(float(np.sum(np.asarray(grads[n], "f8") * d[n])) for n in d)
        if np.isclose(mine, _difference(fn, args, d, 1e-6), rtol=close, atol=close * scale):
            continue
        steps = [_difference(fn, args, d, h) for h in (1e-5, 1e-6, 1e-7)]
        if any(np.isclose(mine, s, rtol=close, atol=close * scale) for s in steps):
            continue
        if not np.allclose(steps[0], steps[1:], rtol=100 * close, atol=100 * close * scale):
            smooth = False
            continue
        names = [n for n in d if np.any(d[n])]
        raise AssertionError(f"the gradient along {names} is {mine}, differences give {steps}")
    return Outcome(smooth=smooth)


def _same_path(fn: Callable[..., Any], args: dict[str, Any], close: float) -> bool:
    """Whether a program of single precision gives about the same with double precision, in which differences are."""
    if args["x"].dtype != np.float32:
        return True
    wide = {n: a.astype("f8") if n in NAMES and n != "c" else a for n, a in copied(args).items()}
    with np.errstate(all="ignore"):
        return bool(np.isclose(fn(**wide), fn(**copied(args)), rtol=close, atol=close))


def _directions(whole: dict[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
    """All arguments at once; and, where that costs little, each alone."""
    yield whole
    if whole["x"].size <= N:
        for n in whole:
            yield {**{m: np.zeros_like(whole[m]) for m in whole}, n: whole[n]}


def _difference(fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray], h: float) -> float:
    def moved(step: float) -> float:
        point = {n: np.asarray(a, "f8") + step * direction[n] if n in direction else a.copy() for n, a in args.items()}
        point["c"] = float(point["c"])
        with np.errstate(all="ignore"):
            return float(fn(**point))

    return (moved(h) - moved(-h)) / (2 * h)


def _direction(args: dict[str, Any]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return {n: rng.normal(size=np.shape(args[n])) for n in wrt_of(args)}


def copied(args: dict[str, Any]) -> dict[str, Any]:
    return {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in args.items()}
