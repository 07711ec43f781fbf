"""Small matrices, each in a thread (values, both modes, those without a result), and rows that data name."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.arrays import Spec
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda import source
from sdfgad.codegen.cuda.libraries.checks import KNOWN, checked_once
from sdfgad.codegen.cuda.work import launches, works
from sdfgad.ir.program import Lib
from sdfgad.ir.walk import statements
from sdfgad.thresholds import changed, thresholds
from sdfgad.verbs.pipeline import Request, derive
from tests.codegen.cuda.test_atomics import kernels
from tests.codegen.cuda.test_components import numbers, planned
from tests.support.on_cpu import in_order, running_here


def solved(a: np.ndarray, b: np.ndarray) -> float:
    return np.sum(np.abs(np.linalg.solve(a, b)) ** 2)


def vectors(a: np.ndarray, b: np.ndarray) -> float:
    """A right side for all, and matrices in two axes."""
    return np.sum(np.linalg.solve(a, b)[..., 0] ** 2) + np.sum(np.linalg.solve(a[0, 0], b) ** 3)


def factors(a: np.ndarray, b: np.ndarray) -> float:
    """Inverses, determinants and Cholesky factors of matrices that loops change."""
    s = a @ np.swapaxes(a, -1, -2) + 2.0 * np.eye(a.shape[-1])
    for _ in range(2):
        s = s + 0.1 * np.linalg.inv(s) * np.linalg.det(a)[:, None, None]
    total = np.sum(np.sin(np.linalg.cholesky(s))) + np.sum(np.linalg.slogdet(a)[0] * np.linalg.slogdet(s)[1])
    return total + np.sum(b[:, 0])


def alone(a: np.ndarray, b: np.ndarray) -> float:
    """One system after the other."""
    for _ in range(3):
        b = np.linalg.solve(a, b) + 1.0
    return np.sum(b ** 2) + np.linalg.det(a)


def filtered(f: np.ndarray, h: np.ndarray, y: np.ndarray, x: np.ndarray, p: np.ndarray) -> float:
    """Kalman filters side by side: the likelihood of what each has seen."""
    total = 0.0
    for t in range(y.shape[0]):
        x, p = x @ f.T, f @ p @ f.T + np.eye(4)
        s, r = h @ p @ h.T + np.eye(2), y[t] - x @ h.T
        gain = p @ h.T @ np.linalg.inv(s)
        x = x + (gain @ r[:, :, None])[:, :, 0]
        p = (np.eye(4) - gain @ h) @ p
        total = total + np.sum(r * np.linalg.solve(s, r[:, :, None])[:, :, 0]) + np.sum(np.log(np.linalg.det(s)))
    return total


def _cases() -> dict[str, tuple[Callable[..., float], tuple[np.ndarray, ...]]]:
    rng = np.random.default_rng(3)

    def some(*shape: int, dtype: str = "f8") -> np.ndarray:
        found = rng.normal(size=shape)
        return (found + 1j * rng.normal(size=shape) if dtype[0] == "c" else found).astype(dtype)

    filters = some(4, 4) * 0.1 + np.eye(4), some(2, 4), some(2, 5, 2), some(5, 4), np.zeros((5, 4, 4)) + np.eye(4)
    return {"real": (solved, (some(5, 4, 4), some(5, 4, 2))), "single": (solved, (some(5, 3, 3, dtype="f4"),
                                                                                   some(5, 3, 1, dtype="f4"))),
            "complex": (solved, (some(4, 3, 3, dtype="c16"), some(4, 3, 2, dtype="c16"))),
            "numbers": (solved, (some(6, 1, 1), some(6, 1, 1))), "vectors": (vectors, (some(2, 3, 3, 3), some(3))),
            "factors": (factors, (some(4, 3, 3), some(4, 2))), "alone": (alone, (some(3, 3) + 3 * np.eye(3), some(3))),
            "filters": (filtered, filters), "nothing": (factors, (some(0, 3, 3), some(0, 2)))}


CASES = _cases()
LONG = ("factors", "filters")
"""Those that take the compilers longest."""


def _same(found: Any, expected: Any) -> None:
    digits = 1e-5 if np.asarray(expected).dtype.itemsize == 4 else 1e-10
    np.testing.assert_allclose(found, expected, rtol=digits, atol=digits * np.max(np.abs(expected), initial=0.0))


@pytest.mark.filterwarnings("ignore::sdfgad.UnusedArgumentWarning")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in CASES])
def test_both_modes(name: str) -> None:
    """Those of the processor, and the same digits in two orders of threads; no bytes beyond the plan."""
    function, arguments = CASES[name]
    names = tuple(bind(function, arguments, {}).leaves)
    value, expected = sdfgad.value_and_grad(function, wrt=names)(*arguments)
    directions = {n: np.cos(np.arange(a.size)).reshape(a.shape).astype(a.dtype)
                  for n, a in zip(names, arguments, strict=True)}
    pushed = sdfgad.jvp(function, arguments, directions)[1]
    found = []
    with running_here():
        both = sdfgad.value_and_grad(function, wrt=names)
        for seed in (1, 2):
            with in_order(seed):
                found.append(both(*arguments))
        plan = both.measure(*arguments)
        _same(sdfgad.jvp(function, arguments, directions)[1], pushed)
    assert plan.measured.device_bytes == plan.predicted.peak_bytes
    _same(found[0][0], value)
    for key in names:
        _same(found[0][1][key], expected[key])
        np.testing.assert_array_equal(found[0][1][key], found[1][1][key])


@pytest.mark.parametrize("function, arguments, most", [
    (solved, (numbers(1000, 4, 4), numbers(1000, 4, 2)), 4), (factors, (numbers(1000, 3, 3), numbers(1000, 2)), 40),
    (filtered, (numbers(4, 4), numbers(2, 4), numbers(20, 1000, 2), numbers(1000, 4), numbers(1000, 4, 4)), 8)])
def test_launches(function: Callable[..., float], arguments: tuple[Any, ...], most: int) -> None:
    """They were 8 for each matrix, and 380,000 of the filters, whose sums were atomic."""
    made = planned(function, *arguments)
    assert launches(made.items) <= most
    assert not [w for k in kernels(made.items) for w in works(k.parts) if w.atomic]


ONES, NONE = np.ones((3, 3)), np.full((3, 3), np.nan)
STACK = np.stack([np.eye(3), ONES, 2 * np.eye(3)])


@pytest.mark.parametrize("system", [0, 1 << 10])
def test_a_singular_matrix_has_a_determinant(system: int) -> None:
    """And solves nothing, wherever it stands in a stack; with NaN in it the solution has NaN, as elsewhere here."""
    def solution(a: np.ndarray) -> np.ndarray:
        return np.linalg.solve(a, np.ones((3, 1)))

    with running_here(), changed(device=replace(thresholds().device, system=system)):
        determinant, solve = sdfgad.forward(lambda a: np.linalg.det(a)), sdfgad.forward(solution)
        np.testing.assert_allclose(determinant(STACK), np.linalg.det(STACK), atol=1e-15)
        for bad in (STACK, STACK[::-1].copy(), np.stack([ONES, ONES, ONES])):
            with pytest.raises(np.linalg.LinAlgError):
                solve(bad)
        np.testing.assert_allclose(solve(STACK + 3 * np.eye(3)), solution(STACK + 3 * np.eye(3)), rtol=1e-13)
        assert np.isnan(solve(np.stack([NONE, np.eye(3), np.eye(3)]))).any(axis=(1, 2)).tolist() == [True, False, False]
        with pytest.raises(np.linalg.LinAlgError):
            sdfgad.forward(lambda a: np.linalg.cholesky(a))(STACK - 1.5 * np.eye(3))


def implicit(a: np.ndarray, x: np.ndarray, steps: int) -> float:
    for _ in range(steps):
        x = np.linalg.solve(a + np.diag(x * x), x + np.sin(x))
    return np.sum(x * x)


def perhaps(a: np.ndarray, x: np.ndarray, steps: int) -> float:
    """Nobody has looked at the factors where none were made."""
    for _ in range(steps):
        if x[0] > 0.0:
            x = np.linalg.solve(a + np.diag(x * x), x)
    return np.sum(x * x)


@pytest.mark.parametrize("function, looks", [(implicit, [False, True]), (perhaps, [False, False])])
def test_factors_are_looked_at_once(function: Callable[..., float], looks: list[bool]) -> None:
    """The reverse sweep solves with those of the forward sweep, and looked for pivots of zero in them again."""
    made = derive(function, bind(function, (np.eye(64), np.ones(64), 3), {}), Request(("a", "x"), None, None, False))
    solves = [s for s in statements(checked_once(made.program).body) if isinstance(s, Lib) and s.op == "solve"]
    assert [KNOWN in s.attrs for s in solves] == looks


def test_systems_of_a_loop_in_the_library() -> None:
    rng = np.random.default_rng(6)
    a, x = 3.0 * np.eye(12) + 0.1 * rng.normal(size=(12, 12)), rng.normal(size=12)
    expected = sdfgad.grad(implicit)(a.copy(), x.copy(), 3)
    with running_here(), in_order(1):
        gradient = sdfgad.grad(implicit)
        found = gradient(a.copy(), x.copy(), 3)
        for name in ("a", "x"):
            _same(found[name], expected[name])
        with pytest.raises(np.linalg.LinAlgError):
            gradient(np.zeros((12, 12)), np.zeros(12), 3)


def messages(h: np.ndarray, w: np.ndarray, source: np.ndarray, target: np.ndarray) -> float:
    """A graph neural network: what goes along edges is added up by who gets it."""
    got = np.zeros((h.shape[0], w.shape[1]))
    np.add.at(got, target, np.maximum(h[source] @ w, 0.0))
    return np.sum(np.tanh(got) ** 2)


def test_rows_that_data_name_lie_side_by_side() -> None:
    """The threads of a warp differ in the number in a row: each warp had 32 rows before it, of every array."""
    starts, ends = (np.random.default_rng(k).integers(0, 20000, 100000) for k in (1, 2))
    made = planned(messages, numbers(20000, 32), numbers(32, 24), starts, ends, wrt=("h", "w"))
    along = [k for k in kernels(made.items) if len(k.box) == 2 and {s.count for s in k.box} <= {100000, 24, 32}]
    assert len(along) >= 3 and all(k.box[0].count == 100000 for k in along)


def test_threads_with_much_to_do_have_registers() -> None:
    """For as many blocks at once as others have, nvcc spilled some in single precision."""
    made = planned(solved, *(Spec(shape, np.dtype("f4")) for shape in ((10000, 3, 3), (10000, 3, 1))))
    assert re.search(r"__launch_bounds__\(256, 1\) long_", source.source(made, tuple(sorted(made.program.live_out))))
