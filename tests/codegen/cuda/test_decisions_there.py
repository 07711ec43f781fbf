"""Branches and ends of loops that data decide, taken by the threads of the device: the host waits for no number."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.compiling.build import LIBRARY
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.codegen.cuda.work import HostControl
from sdfgad.errors import ToolchainError
from sdfgad.thresholds import changed, thresholds
from sdfgad.verbs.pipeline import Primal, Request, derive
from tests.codegen.cuda.faulty import sound, without
from tests.support.on_cpu import counts, in_order, on_cpu, running_here

BLOCK = thresholds().device
BLOCKS = replace(BLOCK, rounds=-1)
"""Loops are for one block, or for all of them."""
X = np.random.default_rng(3).normal(size=(11, 300))


def exchanging(x: np.ndarray) -> float:
    """Rows change places, or themselves, as their numbers are, until there is enough of one."""
    last = 0
    for k in range(x.shape[0] - 1):
        if x[k, 0] > x[k + 1, 0]:
            held = x[k].copy()
            x[k] = x[k + 1]
            x[k + 1] = held
        elif x[k, 1] > 0.2:
            x[k] = np.sin(x[k])
        x[k + 1] = x[k + 1] + 0.5 * x[k, ::-1]
        last = k
        if np.sum(x[k + 1] * x[k + 1]) > 480.0:
            break
    return np.sum(x * x) * (1.0 + last)


def settling(x: np.ndarray) -> np.ndarray:
    """As often as it takes, with a branch in each turn."""
    while np.sum(x * x) > 1.0:
        if x[0, 0] > 0.0:
            x[:] = 0.8 * x[::-1]
        else:
            x[:] = -0.9 * x[:, ::-1]
    return x


def largest(x: np.ndarray) -> float:
    """Numbers that nobody looks at any more lie where the next ones are made."""
    best, place = x[0, 0], 0
    for k in range(1, x.shape[0]):
        if best == best and (x[k, 0] > best or x[k, 0] != x[k, 0]):
            best, place = x[k, 0], k
    return best * np.sum(x[place])


def called(made: Any, x: np.ndarray) -> tuple[Any, int, int]:
    """The result of a second call, and how many kernels it has started and how often the host has waited."""
    made(x.copy())
    one = next(iter(made._known.values()))[0]
    library = (one.code if isinstance(one, Primal) else one.compiled()).folder / LIBRARY
    counts(library)
    with in_order(2):
        found = made(x.copy())
    return found, *counts(library)


@pytest.mark.parametrize("limits, most", [(BLOCK, 8), (BLOCKS, 16)], ids=["a block", "all blocks"])
def test_branches_and_an_early_end(limits: Any, most: int) -> None:
    expected = sdfgad.grad(exchanging)(X.copy())
    with changed(device=limits), running_here():
        found, started, waited = called(sdfgad.grad(exchanging), X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert started <= most and waited == 1  # before it reads the result


@pytest.mark.parametrize("limits", [BLOCK, BLOCKS], ids=["a block", "all blocks"])
def test_a_loop_of_unknown_length(limits: Any) -> None:
    expected = sdfgad.forward(settling)(X.copy())
    with changed(device=limits), running_here():
        found, started, waited = called(sdfgad.forward(settling), X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert started <= 4 and waited == 1


def leaving(x: np.ndarray) -> float:
    """Whether to leave is one number: a tape keeps what it was, in the first turn whatever lies there."""
    for k in range(0, x.shape[0] - 1, 2):
        x[:] = np.sin(x) * x
        if x[0, 0] > 0.9:
            break
        x[k] *= 0.4 * np.sin(x[k + 1])
    return np.sum(x * x)


def test_truth_values_that_nobody_has_written_are_copied_as_bytes() -> None:
    """To read a truth value that is neither 0 nor 1 is undefined, also where it is only kept."""
    texts: list[str] = []
    with running_here(on_cpu(lambda text: texts.append(text) or text)):
        np.testing.assert_allclose(sdfgad.grad(leaving)(X.copy()), sdfgad.grad(leaving)(X.copy()), rtol=1e-12)
    truths = set(re.findall(r"bool\* (p_\w+) =", texts[-1]))
    assert not [m for m in re.findall(r"\w+\[.*\] = (p_\w+)\[[^;]*\];", texts[-1]) if m in truths]
    assert "sg::copy_truth(" in texts[-1]


def test_a_branch_in_a_loop_of_the_host() -> None:
    """A tape of unknown length grows by the host's hands; what is decided in an iteration is no question to it."""
    def turned(x: np.ndarray) -> float:
        return np.sum(np.sin(settling(x)))

    def turns(x: np.ndarray) -> int:
        found = 0
        while np.sum(x * x) > 1.0:
            x, found = 0.8 * x[::-1] if x[0, 0] > 0.0 else -0.9 * x[:, ::-1], found + 1
        return found

    expected = sdfgad.grad(turned)(X.copy())
    with running_here():
        found, _, waited = called(sdfgad.grad(turned), X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert 20 < turns(X) <= waited <= turns(X) + 5  # whether to go on, and what is asked once


def large(x: np.ndarray) -> float:
    """A branch that takes one block too long stays with the host, and so does a library's routine."""
    if np.sum(x) > 0.0:
        x[:] = np.sin(x) * x[::-1]
    return np.sum(x)


def controls(function: Callable[..., Any], size: int) -> list[HostControl]:
    """The loops and branches of a gradient with respect to so many numbers."""
    with sdfgad.config(device="gpu"):
        made = derive(function, bind(function, (np.ones(size),), {}), Request(("x",), None, None, False))
        return [one for one in scheduled(made.program).items if isinstance(one, HostControl)]


def test_what_is_large_is_not_for_one_block() -> None:
    for size, teams in ((1 << 10, True), (1 << 20, False)):
        assert {one.team > 0 for one in controls(large, size)} == {teams}


def test_the_place_of_the_largest_is_looked_for_by_all_threads() -> None:
    """It was a loop over all elements, of which each asked the host for a number twice."""
    assert not controls(lambda x: x[np.argmax(np.sin(x))] * x[np.argmin(x)], 1 << 20)


@pytest.mark.parametrize("limits, function", [(BLOCK, exchanging), (BLOCKS, exchanging), (BLOCK, largest)],
                         ids=["a block", "all blocks", "numbers"])
def test_decisions_are_those_of_all_threads(limits: Any, function: Callable[..., Any], tmp_path: Path) -> None:
    """The same digits in all orders, and it is found where a thread goes another way, or on before others know."""
    with changed(device=limits):
        right = sound(function, X, tmp_path)
    found = [right.found(lambda text: text, order) for order in (1, 2, 3)]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    wrong = without(r"if \((which\d+)\) \{", r"if (\1 && threadIdx.x) {", times=1)
    if function is largest:
        wrong = without(r"(const bool which\d+ = .*\n) *__syncthreads\(\);\n", r"\1")
    with pytest.raises(ToolchainError, match="two threads touch|barrier|left its block"):
        right.found(wrong)
