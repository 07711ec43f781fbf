"""Run one random program: NumPy's value and differences of it against what a runner of the gradient gives."""
from __future__ import annotations

import importlib.util
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sdfgad.errors import UnsupportedError

WRT = ("x", "y", "A", "c")
N = 5


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


def arguments(seed: int, dtype: str = "f8") -> dict[str, Any]:
    """Data away from ties and thresholds."""
    rng = np.random.default_rng(seed)
    return {"x": rng.uniform(-0.9, 0.9, N).astype(dtype), "y": rng.uniform(-0.9, 0.9, N).astype(dtype),
            "A": rng.uniform(-0.9, 0.9, (N, N)).astype(dtype), "c": float(rng.uniform(0.2, 0.9)),
            "k": np.array([0, 3, 3, 1, 0])}


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
    pulled = sum(float(np.sum(np.asarray(grads[n], "f8") * direction[n])) for n in WRT)
    scale = max(1.0, abs(float(pushed)), *(float(np.max(np.abs(grads[n]))) for n in WRT))
    close = 1e-3 if single else 1e-10
    np.testing.assert_allclose(pushed, pulled, rtol=close, atol=close * scale, err_msg="forward against reverse mode")
    return _against_differences(fn, args, grads, direction, scale, 5e-3 if single else 1e-5)


def _against_differences(fn: Callable[..., Any], args: dict[str, Any], grads: dict[str, np.ndarray],
                         direction: dict[str, np.ndarray], scale: float, close: float) -> Outcome:
    """Several directions; one in which differences of different step disagree says nothing (a kink or a jump)."""
    smooth = True
    whole = [direction]
    for n in WRT:
        zero = {m: np.zeros_like(direction[m]) for m in WRT}
        whole.append({**zero, n: direction[n]})
    for d in whole:
        mine = sum(float(np.sum(np.asarray(grads[n], "f8") * d[n])) for n in WRT)
        steps = [_difference(fn, args, d, h) for h in (1e-5, 1e-6, 1e-7)]
        if any(np.isclose(mine, s, rtol=close, atol=close * scale) for s in steps):
            continue
        if not np.allclose(steps[0], steps[1:], rtol=100 * close, atol=100 * close * scale):
            smooth = False
            continue
        names = [n for n in WRT if np.any(d[n])]
        raise AssertionError(f"the gradient along {names} is {mine}, differences give {steps}")
    return Outcome(smooth=smooth)


def _difference(fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray], h: float) -> float:
    def moved(step: float) -> float:
        point = {n: np.asarray(a, "f8") + step * direction[n] if n in WRT else a.copy() for n, a in args.items()}
        point["c"] = float(point["c"])
        with np.errstate(all="ignore"):
            return float(fn(**point))

    return (moved(h) - moved(-h)) / (2 * h)


def _direction(args: dict[str, Any]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return {n: rng.normal(size=np.shape(args[n])) for n in WRT}


def copied(args: dict[str, Any]) -> dict[str, Any]:
    return {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in args.items()}
