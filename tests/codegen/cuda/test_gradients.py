"""Gradients by CUDA text, in several orders of threads, against those of the processor's own target."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import Kernel, load
from sdfgad.calls.arguments import bind
from sdfgad.errors import MemoryLimitError
from sdfgad.thresholds import LEAST
from tests.codegen.cuda.device_programs import CASES, DeviceCase, halving
from tests.npbench.calls import DIFFERENTIABLE, active, factors, run, sample
from tests.support.on_cpu import in_order, running_here
from tests.support.thresholds import change

SEEDS = (1, 2)
DIGITS = {8: 1e-10, 4: 1e-4}
"""Relative, by bytes of a number."""
REFUSED: tuple[str, ...] = ()
"""Programs of NPBench that are not taken."""


def agree(found: Any, expected: Any) -> None:
    """Equal up to the order of sums; a NaN agrees with nothing."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape and np.isfinite(expected).all()
    largest = float(np.max(np.abs(expected), initial=0.0))
    assert np.all(np.abs(found - expected) <= DIGITS[expected.real.dtype.itemsize] * largest), (found, expected)


def _gradients(both: Callable[..., Any], case: DeviceCase) -> list[Any]:
    """The value and every gradient, by what `value_and_grad` has made."""
    value, grads = both(*case.own())
    return [value, *(grads.values() if hasattr(grads, "keys") else [grads])]


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str) -> None:
    case = CASES[name]
    expected = _gradients(sdfgad.value_and_grad(case.function), case)
    assert any(np.any(e != 0) for e in expected[1:])
    with running_here():
        both = sdfgad.value_and_grad(case.function)
        for seed in SEEDS:
            with in_order(seed):
                for one, other in zip(_gradients(both, case), expected, strict=True):
                    agree(one, other)


def elementary(z: np.ndarray) -> np.ndarray:
    """All functions of complex numbers that the device has of its own."""
    return np.stack((np.exp(z), np.log(z), np.log10(z), np.sqrt(z), np.sin(z), np.cos(z), np.tan(z), np.sinh(z),
                     np.cosh(z), np.tanh(z), np.arcsin(z), np.arccos(z), np.arctan(z), np.arcsinh(z), np.arccosh(z),
                     np.arctanh(z), z ** (0.3 - 2j), np.exp2(z), np.log2(z), np.expm1(z), np.log1p(z)))


@pytest.mark.parametrize("dtype, digits", [(np.complex128, 2e-15), (np.complex64, 2e-6)])
def test_functions_of_complex_numbers(dtype: type, digits: float) -> None:
    """In all quadrants, near one and near zero, on both sides of the cuts."""
    rng = np.random.default_rng(5)
    wide = rng.normal(size=60) * 3 + 3j * rng.normal(size=60)
    cuts = [complex(re, im) for re in (-3.0, -0.5, 0.5, 3.0) for im in (0.0, -0.0)]
    turned = [complex(re, im) for im in (-3.0, -0.5, 0.5, 3.0) for re in (0.0, -0.0)]
    z = np.array([*wide, *cuts, *turned, 1 + 1e-6j, 0.6 + 0.8j, 1e-12 + 1e-12j, 25 - 3j, -40 + 1j, 1e-300j], dtype)
    with running_here():
        found = sdfgad.forward(elementary)(z)
    with np.errstate(all="ignore"):
        expected = elementary(z)
    assert found.dtype == expected.dtype
    close = np.abs(found - expected) <= digits * np.maximum(np.abs(expected), 1e-3) * (1 + np.abs(z) * 4)
    wrong = ~(close | (found == expected))  # a NaN is wrong, infinities are equal
    assert not wrong.any(), [(k, z[j], found[k, j], expected[k, j]) for k, j in np.argwhere(wrong)[:5]]


def test_a_tape_that_grows() -> None:
    """And one that outgrows its limit."""
    x = np.linspace(0.2, 2.0, 300)
    expected = sdfgad.grad(halving)(x)
    with running_here():
        gradient = sdfgad.grad(halving)
        for _ in range(2):
            agree(gradient(x), expected)
        made = next(iter(gradient._known.values()))[0]
        held = made.compiled().tape_peak
        assert held >= 5 * x.nbytes and x[-1] == 2.0
        code = made.compiled()
        code.tape_limit = held // 2
        with pytest.raises(MemoryLimitError, match="outgrew its limit"):
            made.measured(bind(halving, (x,), {}))
        assert held // 2 < code.tape_needed <= held
        code.tape_limit = None
        agree(gradient(x), expected)


def test_the_other_mode() -> None:
    case = CASES["rows"]
    directions = tuple(np.cos(a) for a in case.arguments)
    expected = sdfgad.jvp(case.function, case.own(), directions)
    with running_here():
        for one, other in zip(sdfgad.jvp(case.function, case.own(), directions), expected, strict=True):
            agree(one, other)


def test_exceptions_of_the_program() -> None:
    """And a call after one."""
    def checked(x: np.ndarray) -> float:
        y = np.sqrt(x)
        if np.min(x) < 0.0:
            raise ValueError("negative")
        return np.sum(y)

    with running_here():
        gradient = sdfgad.grad(checked)
        with pytest.raises(ValueError, match="negative"):
            gradient(np.array([1.0, -1.0]))
        np.testing.assert_allclose(gradient(np.array([1.0, 4.0])), [0.5, 0.25], rtol=1e-15)


def test_nothing_to_do() -> None:
    """No kernel at all, and arrays without elements."""
    with running_here():
        assert sdfgad.forward(lambda x: x)(np.ones(3)).sum() == 3.0
        value, gradient = sdfgad.value_and_grad(lambda x: np.sum(x * x))(np.ones((0, 3)))
    assert value == 0.0 and gradient.shape == (0, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("least", [False, True], ids=["usual", "shared"])
def test_npbench(name: str, least: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused by name, or right; with all sums shared and temporaries of any size turned, too."""
    if least:
        change(monkeypatch, device=LEAST.device, turned_bytes=1)
    kernel = load(name)
    arguments = sample(kernel, 0, wide=True)
    seeds = factors(run(kernel, arguments)[0])
    expected = _pulled(kernel, arguments, seeds)
    with running_here():
        try:
            for seed in SEEDS:
                with in_order(seed):
                    for one, other in zip(_pulled(kernel, arguments, seeds), expected, strict=True):
                        agree(one, other)
        except sdfgad.UnsupportedError as error:
            assert name in REFUSED and error.line
        else:
            assert name not in REFUSED


def _pulled(kernel: Kernel, arguments: dict[str, Any], seeds: list[np.ndarray]) -> list[Any]:
    _, pullback = sdfgad.vjp(kernel.program, *arguments.values(), wrt=active(kernel), output=kernel.output)
    found = pullback(tuple(seeds) if isinstance(kernel.output, tuple) else seeds[0])
    return [found[name] for name in active(kernel)]
