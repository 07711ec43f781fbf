"""Programs beside NPBench's that have little to share among threads at a time, or run through memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Other:
    """arguments: makes them, in the program's order."""

    program: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    wrt: tuple[str, ...]


def shallow_water(h: Any, u: Any, v: Any, dt: float, steps: int) -> Any:
    """Height and velocities on a square basin, leapfrogging through three updates a step."""
    for _ in range(steps):
        u[1:-1, 1:-1] -= dt * (h[2:, 1:-1] - h[:-2, 1:-1] + u[1:-1, 1:-1] * (u[2:, 1:-1] - u[:-2, 1:-1])
                               + v[1:-1, 1:-1] * (u[1:-1, 2:] - u[1:-1, :-2]))
        v[1:-1, 1:-1] -= dt * (h[1:-1, 2:] - h[1:-1, :-2] + u[1:-1, 1:-1] * (v[2:, 1:-1] - v[:-2, 1:-1])
                               + v[1:-1, 1:-1] * (v[1:-1, 2:] - v[1:-1, :-2]))
        h[1:-1, 1:-1] -= dt * (h[2:, 1:-1] * u[2:, 1:-1] - h[:-2, 1:-1] * u[:-2, 1:-1]
                               + h[1:-1, 2:] * v[1:-1, 2:] - h[1:-1, :-2] * v[1:-1, :-2])
        h[0, :] = h[1, :]
        h[-1, :] = h[-2, :]
    return np.sum(h * h)


def line_stencil(x: Any, steps: int) -> Any:
    """Three points of a line of many."""
    for _ in range(steps):
        x[1:-1] = x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2]) * x[1:-1]
    return np.sum(x * x)


def ocean_density(t: Any, s: Any, p: Any) -> Any:
    """An equation of state of sea water: polynomials of temperature, salinity and pressure."""
    surface = 999.8 + t * (6.79e-2 + t * (-9.09e-3 + t * (1.0e-4 + t * (-1.12e-6 + t * 6.5e-9)))) \
        + s * (0.824 + t * (-4.08e-3 + t * (7.6e-5 + t * (-8.2e-7 + t * 5.3e-9)))) \
        + s * np.sqrt(s) * (-5.7e-3 + t * (1.02e-4 - t * 1.65e-6)) + 4.8e-4 * s * s
    bulk = 19652.0 + t * (148.4 + t * (-2.32 + t * (1.36e-2 - t * 5.1e-5))) \
        + p * (3.2 + t * (1.4e-3 + t * 1.1e-4)) + s * (54.6 + t * (-0.6 + t * 1.1e-2))
    density = surface / (1.0 - p / bulk)
    return np.sum(density[1:] * density[1:] - density[:-1])


def few_sums(x: Any, y: Any) -> Any:
    """A sum over few elements, each of some work."""
    total = 0.0
    for i in range(x.shape[0]):
        total += np.sum(np.sin(x[i] * y) * np.exp(-y))
    return total


def linear_solve(a: Any, b: Any) -> Any:
    """A system of equations, which a library factors."""
    return np.sum(np.linalg.solve(a, b) ** 2)


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape)


OTHERS: Mapping[str, Other] = MappingProxyType({
    "shallow_water": Other(shallow_water, lambda: (
        1 + 0.1 * _random(150, 150), 0.1 * _random(150, 150), 0.1 * _random(150, 150), 0.01, 100), ("h", "u", "v")),
    "line_stencil": Other(line_stencil, lambda: (_random(20_000), 100), ("x",)),
    "ocean_density": Other(ocean_density, lambda: (
        10 + _random(40, 60, 60), 35 + _random(40, 60, 60), 10 * _random(40, 60, 60)), ("t", "s")),
    "few_sums": Other(few_sums, lambda: (_random(24), _random(200)), ("x", "y")),
    "linear_solve": Other(linear_solve, lambda: (_random(500, 500) + 500 * np.eye(500), _random(500)), ("a", "b")),
})
