"""Functions that are exported in the tests, each with its arguments and options."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdfgad import spec

WEIGHTS = np.linspace(0.5, 1.5, 40).reshape(8, 5)


def waves(u, dt, steps):
    """A stencil in a time loop: a tape or snapshots, and a written argument."""
    for t in range(steps):
        u[1:-1] = u[1:-1] + dt * np.sin(u[1:-1]) * (u[:-2] - u[2:])
    return np.sum(u * u)


def until_small(x, rate):
    """A loop of unknown length, and branches in it."""
    n = 0
    while np.sum(x * x) > 0.01 and n < 500:
        if x[0] > 0.1:
            x = x * (1.0 - rate * 0.1)
        else:
            x = x - 0.05 * rate * np.sin(x)
        n += 1
    return np.sum(x * np.cos(x)) + x[1] * rate


def products(A, B, rhs):
    """Matrix products and a linear system, which BLAS and LAPACK do."""
    C = A @ B @ A
    return np.sum(C * C) * 1e-6 + np.sum(np.linalg.solve(A @ A.T + 40 * np.eye(len(rhs)), rhs))


def mixed(z, single, p, scale, order, flags, width, unused):
    """Every kind of argument: complex, float32, a dict, a float, indices, flags, an integer; and an array from
    outside."""
    if scale > 100.0:
        raise ValueError(f"scale is too {'large'}")
    part = np.where(flags, single, 2.0 * single)
    looked = p["W"][order, :]
    return np.sum(np.abs(z) ** 2 * scale) + np.sum(part * part) + np.sum(looked * WEIGHTS[:3, :]) * width


def single_only(x, a):
    """float32 throughout: the value is float32 as well."""
    return np.sum(np.exp(-a * x) * x)


def updated(u, a):
    """Arguments that the program itself writes, the float as well."""
    for t in range(3):
        a *= 1.5
        for i in range(1, len(u)):
            u[i] = u[i] * a + np.sin(u[i - 1])


@dataclass(frozen=True)
class Case:
    """args: in order. options: of value_and_grad and export."""

    fn: Any
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)


CASES = {
    "waves": Case(waves, (spec(2000), 0.0, 60), {"wrt": ("u", "dt"), "memory_limit": 300_000}),
    "until_small": Case(until_small, (spec(30), 0.0), {"wrt": ("x", "rate"), "memory_limit": 100_000}),
    "products": Case(products, (spec((60, 60)), spec((60, 60)), spec(60)), {}),
    "mixed": Case(mixed, (spec(6, "complex128"), spec(70, "float32"), {"W": spec((8, 5)), "n": 3}, 0.0,
                          spec(3, "int32"), spec(70, "bool"), 4, spec(2)),
                  {"wrt": ("z", "single", "p", "scale", "unused")}),
    "single_only": Case(single_only, (spec(33, "float32"), np.float32(0)), {"wrt": ("x", "a")}),
    "updated": Case(updated, (spec(25), 0.0), {"wrt": ("u", "a"), "output": "u", "reduce": "sum"}),
    "sums": Case(lambda x: (x * x, np.cumsum(x)), (spec(12, "float32"),), {"reduce": "sum"}),
}
