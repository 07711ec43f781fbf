"""The tester of rules: every rule through both modes of the engine against differences of the function itself."""
from __future__ import annotations

from typing import Any

import numpy as np

from sdfgad.errors import GradientMismatchError
from sdfgad.ir.algebra import Term
from sdfgad.ir.expr import Call
from sdfgad.ir.primal import PRIMALS
from sdfgad.ir.program import Program
from sdfgad.rules.registry import ScalarRule
from tests.support.build import C16, F8, at, lit, one, program
from tests.support.oracle import directional, program_gradient, program_tangent


def check_rule(rule: ScalarRule) -> None:
    """Raise GradientMismatchError where a rule disagrees with differences at one of its samples."""
    if not rule.samples:
        raise GradientMismatchError(f"rule '{rule.name}' ({rule.where}): there is no sample to test it at")
    for sample in rule.samples:
        _check_at(rule, sample, F8)
    for sample in rule.complex_samples:
        _check_at(rule, sample, C16)


def statement(fn: str, arity: int, dtype: np.dtype, overwrite: bool = False) -> Program:
    """`y = fn(x0, x1)` as a program; with `overwrite` the operands are lost afterwards, so the answer is used."""
    names = [f"x{k}" for k in range(arity)]
    answer = Term(Call(fn, tuple(at(n, dtype=dtype).expr for n in names), dtype))
    body = [one("y", (), answer)]
    if overwrite:
        body += [one(n, (), lit(0, dtype)) for n in names]
    return program({n: ((), dtype) for n in names}, body, returns="y", y=((), dtype))


def _check_at(rule: ScalarRule, sample: Any, dtype: np.dtype) -> None:
    x = [np.array(v, dtype) for v in (sample if isinstance(sample, tuple) else (sample,))]
    names = [f"x{k}" for k in range(len(x))]
    arrays = dict(zip(names, x, strict=True))
    seed = dtype.type(0.8 if dtype.kind == "f" else 0.8 - 0.3j)
    # A partial of None says that no derivative goes through this input: an order, which no difference is taken of.
    partials = rule.of(*(at(n, dtype=dtype) for n in ("y", *names)))
    passive = {n for n, p in zip(names, partials, strict=True) if p is None}
    for overwrite in (False, True):
        made = statement(rule.name, len(x), dtype, overwrite)
        _, pulled = program_gradient(made, arrays, names, (seed,))
        for k, name in enumerate(names):
            for step in (1.0,) if dtype.kind == "f" else (1.0, 1j):
                expected = 0 if name in passive else directional(PRIMALS[rule.name], x, k, np.array(step, dtype))
                zero = {n: np.zeros_like(v) for n, v in arrays.items()}
                _, pushed = program_tangent(made, arrays, {**zero, name: np.array(step, dtype)})
                _compare(rule, name, arrays, "forward mode", pushed, expected)
            derivative = 0 if name in passive else directional(PRIMALS[rule.name], x, k, np.array(1, dtype))
            _compare(rule, name, arrays, "reverse mode", pulled[name], np.conj(derivative) * seed)


def _compare(rule: ScalarRule, name: str, arrays: dict[str, np.ndarray], mode: str, found: Any, expected: Any) -> None:
    if not np.allclose(found, expected, rtol=1e-8, atol=1e-10):
        point = ", ".join(f"{n} = {v}" for n, v in arrays.items())
        raise GradientMismatchError(
            f"rule '{rule.name}' ({rule.where}): {mode} d/d{name} at {point} is {found}, differences give {expected}. "
            "Check the partial, or give other samples if the function is not smooth there.")
