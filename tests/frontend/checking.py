"""Runs a function through the front end and compares it with NumPy: value, dtype, changed arguments."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import sdfgad
from sdfgad.analysis.verify import verify
from sdfgad.frontend import Parsed, parse
from sdfgad.ir.verify import SOURCE
from sdfgad.trees import contents, step
from tests.support.interpreted import interpreted
from tests.support.oracle import inner, program_gradient, program_tangent, value_of
from tests.support.point_loops import run


def check(fn: Callable[..., Any], *arguments: Any, rtol: float = 1e-12, **keywords: Any) -> Parsed:
    """Translate, run and compare; returns what was translated."""
    expected_arguments = copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        expected = fn(*expected_arguments, **keywords)
    parsed = parse(fn, arguments, keywords)
    verify(parsed.program, "parse", SOURCE)
    ours = copy.deepcopy(arguments)
    arrays = {k: np.asarray(v) for k, v in parsed.collect(ours, keywords).items()}
    value = run(parsed.program, arrays)
    same(value, expected, rtol)
    before = parsed.collect(arguments, keywords)
    for name, wanted in parsed.collect(expected_arguments, keywords).items():
        same(arrays[name], wanted, rtol, where=f"argument {name}")
        if name not in parsed.mutated:
            np.testing.assert_array_equal(np.asarray(before[name]), arrays[name])
    return parsed


def check_both_modes(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """As `check`, and the derivatives along one direction of the first argument: both modes, and differences."""
    parsed = check(fn, *arguments, rtol=1e-10)
    held = {k: np.asarray(v) for k, v in parsed.collect(arguments, {}).items()}
    name = next(iter(parsed.traced.values()))
    along = np.cos(np.arange(held[name].size)).reshape(held[name].shape)
    _, found = program_gradient(parsed.program, held, [name])
    _, pushed = program_tangent(parsed.program, held, {name: along})
    above, below = (value_of(parsed.program, {**held, name: held[name] + h * along}) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(inner(found[name], along), pushed, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(pushed, (above - below) / 2e-6, rtol=1e-5, atol=1e-6)


def check_along(run: Callable[..., Any], x: np.ndarray, along: np.ndarray, step: float, rtol: float, near: float,
                atol: float) -> None:
    """The value of a function as in NumPy (`rtol`); its derivative along a direction the same in both modes, and
    that of differences over twice `step` (`near`, `atol`)."""
    check(run, x, rtol=rtol)
    with interpreted():
        found = sdfgad.grad(run)(x)
        _, pushed = sdfgad.jvp(run, (x,), (along,))
    np.testing.assert_allclose(found @ along, pushed, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(pushed, (run(x + step * along) - run(x - step * along)) / (2 * step), near, atol)


def weighted(program: Callable[..., Any]) -> Callable[..., Any]:
    """A number for each element of what a program gives, added up."""
    def total(x: Any) -> Any:
        found = program(x)
        return np.sum(found * np.cos(np.reshape(np.arange(np.size(found)), np.shape(found)) + 0.2))

    return total


def same(ours: Any, expected: Any, rtol: float, where: str = "value") -> None:
    """Equal structure, dtype, shape and numbers."""
    inside = contents(expected)
    if inside is not None:
        found = contents(ours)
        assert type(ours) is type(expected) and list(found) == list(inside), (where, ours, expected)
        for k, b in inside.items():
            same(found[k], b, rtol, f"{where}{step(type(ours), k)}")
    elif expected is None or isinstance(expected, str):
        assert ours is None and expected is None or ours == expected, (where, ours, expected)
    else:
        a, b = np.asarray(ours), np.asarray(expected)
        assert a.dtype == b.dtype, (where, a.dtype, b.dtype)
        assert a.shape == b.shape, (where, a.shape, b.shape)
        loose = 1e-5 if b.dtype in (np.float32, np.complex64) else rtol
        np.testing.assert_allclose(a, b, rtol=loose, atol=loose, err_msg=where)
