"""Loops over a few independent items as kernels for all of them, and kernels of several pieces that meet nowhere."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cuda import joining
from sdfgad.codegen.cuda.libraries.batches import loops_apart
from sdfgad.codegen.cuda.work import HostControl, launches, works
from sdfgad.errors import ToolchainError
from sdfgad.ir.program import Loop
from sdfgad.thresholds import changed, thresholds
from tests.codegen.cuda.test_atomics import kernels
from tests.codegen.cuda.test_components import numbers, planned
from tests.support.on_cpu import in_order, running_here

EAST = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
NORTH = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
SHARE = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)


def lattice(f: np.ndarray, omega: float, steps: int) -> float:
    """A lattice Boltzmann method: what goes in nine directions is rolled as far as tables say."""
    for _ in range(steps):
        rho = np.sum(f, axis=0)
        u = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / rho
        v = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / rho
        for k in range(9):
            along = 3.0 * (EAST[k] * u + NORTH[k] * v)
            rest = SHARE[k] * rho * (1.0 + along + 0.5 * along * along - 1.5 * (u * u + v * v))
            f[k] = np.roll(np.roll(f[k] - omega * (f[k] - rest), EAST[k], axis=0), NORTH[k], axis=1)
    return np.sum(f[1] * f[1])


def shallow(h: np.ndarray, u: np.ndarray, v: np.ndarray, steps: int) -> float:
    """Waves between walls: interiors, and rims that follow them."""
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] - 0.1 * (h[2:, 1:-1] - h[:-2, 1:-1]) * u[1:-1, 1:-1]
        v[1:-1, 1:-1] = v[1:-1, 1:-1] - 0.1 * (h[1:-1, 2:] - h[1:-1, :-2]) * v[1:-1, 1:-1]
        u[0, :] = 0.0
        u[-1, :] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0
        h[1:-1, 1:-1] = h[1:-1, 1:-1] - 0.1 * ((h[2:, 1:-1] * u[2:, 1:-1] - h[:-2, 1:-1] * u[:-2, 1:-1])
                                               + (h[1:-1, 2:] * v[1:-1, 2:] - h[1:-1, :-2] * v[1:-1, :-2]))
        h[0, :] = h[1, :]
        h[-1, :] = h[-2, :]
        h[:, 0] = h[:, 1]
        h[:, -1] = h[:, -2]
    return np.sum(h * h)


def species(c: np.ndarray, speed: np.ndarray, shift: np.ndarray, steps: int) -> float:
    """Substances that are carried on, each as far as data say, and react with what all of them come to."""
    for _ in range(steps):
        total = np.sum(c, axis=0)
        for k in range(5):
            moved = np.roll(c[k] * np.exp(-speed[k] * total), shift[k])
            c[k] = moved + 0.1 * np.sin(moved)
    return np.sum(c ** 2)


def chain(x: np.ndarray, shift: np.ndarray) -> float:
    """Each looks at what the one before has left: a loop that stays one."""
    y = np.ones(x.shape[1])
    for k in range(x.shape[0]):
        y = np.roll(x[k] * y, shift[k])
    return np.sum(y ** 2)


SHIFT = np.array([3, -2, 40, 0, 7])
PROGRAMS: dict[Callable[..., Any], tuple[tuple[Any, ...], tuple[Any, ...], tuple[str, ...]]] = {
    lattice: ((numbers(9, 512, 512), 0.8, 100), ((9, 7, 8), 0.8, 3), ("f", "omega")),
    shallow: ((numbers(1024, 1024),) * 3 + (100,), ((9, 11),) * 3 + (3,), ("h", "u", "v")),
    species: ((numbers(5, 1 << 20), np.ones(5), SHIFT, 100), ((5, 37), np.ones(5), SHIFT, 3),
              ("c", "speed")),
    chain: ((numbers(5, 1 << 20), SHIFT), ((5, 37), SHIFT), ("x",)),
}


def of_step(function: Callable[..., Any]) -> float:
    """Launches of a call, by time step where there are any."""
    arguments = PROGRAMS[function][0]
    made = planned(function, *arguments)
    assert not [w for k in kernels(made.items) for w in works(k.parts) if w.atomic]
    steps = arguments[-1] if isinstance(arguments[-1], int) else 1
    return launches(made.items) / steps


@pytest.mark.parametrize("function, most", [(lattice, 12), (shallow, 12), (species, 14)])
def test_launches_of_a_step(function: Callable[..., Any], most: int) -> None:
    """Of both sweeps; they were 85, 14 and 38."""
    assert of_step(function) <= most


def test_what_follows_from_each_other_stays_a_loop() -> None:
    made = planned(chain, *PROGRAMS[chain][0])
    assert loops_apart(made.program) is made.program
    assert [i for i in made.items if isinstance(i, HostControl) and isinstance(i.stmt, Loop)]


def arguments_of(function: Callable[..., Any]) -> list[Any]:
    rng = np.random.default_rng(7)
    return [rng.random(a) + 0.5 if isinstance(a, tuple) else a for a in PROGRAMS[function][1]]


def named(result: Any) -> dict[str, Any]:
    return {"": result} if isinstance(result, np.ndarray) else dict(result.items())


def found_in(function: Callable[..., Any], orders: tuple[int, ...]) -> list[dict[str, Any]]:
    """Gradients by the device's text, with loops on the host."""
    found = []
    with running_here(), changed(device=replace(thresholds().device, rounds=0, shared=1)):
        gradient = sdfgad.grad(function, wrt=PROGRAMS[function][2])
        for order in orders:
            with in_order(order):
                result = gradient(*arguments_of(function))
                found.append(named(result))
    return found


@pytest.mark.parametrize("function", PROGRAMS)
def test_gradients(function: Callable[..., Any]) -> None:
    """Those of the processor, and the same digits in two orders of threads."""
    expected = named(sdfgad.grad(function, wrt=PROGRAMS[function][2])(*arguments_of(function)))
    first, second = found_in(function, (1, 2))
    for name, one in first.items():
        np.testing.assert_allclose(one, expected[name], rtol=1e-10, atol=1e-11)
        np.testing.assert_array_equal(one, second[name])


def test_pieces_that_meet_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "meet", lambda *parts: False)
    with pytest.raises(ToolchainError, match="two threads touch"):
        found_in(species, (1,))
