"""Programs with any number of array statements in a time loop, to see how the time to compile grows with it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from npbench_suite.applications.application import Arguments

STYLES = ("stencils", "helpers", "mixed")
FIELDS = 6
_HEAD = """import numpy as np


def slope(q, h):
    return (q[2:, 1:-1] - q[:-2, 1:-1]) / (2.0 * h)


def spread(q, weight):
    return weight * (q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1] - 4.0 * q[1:-1, 1:-1])


def limited(a, b):
    small = np.minimum(np.abs(a), np.abs(b))
    return np.where(a * b > 0.0, small, 0.0)


"""


def source(style: str, statements: int, seed: int = 0) -> str:
    """The text of a module with a function `simulate(q0, ..., weight, steps)` of so many statements."""
    rng = random.Random(f"{style} {statements} {seed}")
    fields = [f"q{k}" for k in range(FIELDS)]
    body = [f"        {line}" for line in _statements(style, statements, fields, rng)]
    total = " + ".join(f"np.sum({q} ** 2)" for q in fields)
    return "\n".join([f"{_HEAD}def simulate({', '.join(fields)}, weight, steps):", "    for _ in range(steps):", *body,
                      f"    return {total}", ""])


def program(style: str, statements: int, folder: Path, seed: int = 0) -> Callable[..., Any]:
    """The function, whose source lies in a file of the folder."""
    file = folder / f"{style}_{statements}_{seed}.py"
    file.write_text(source(style, statements, seed))
    found: dict[str, Any] = {"__name__": file.stem}
    exec(compile(file.read_text(), str(file), "exec"), found)
    made: Callable[..., Any] = found["simulate"]
    return made


def arguments(n: int = 40, steps: int = 3) -> Arguments:
    """For every such program."""
    rng = np.random.default_rng(5)
    return {**{f"q{k}": 1.0 + 0.1 * rng.random((n, n)) for k in range(FIELDS)}, "weight": 1e-3, "steps": steps}


def _statements(style: str, count: int, fields: list[str], rng: random.Random) -> Iterator[str]:
    made: list[str] = []
    kinds = {"stencils": (_stencil,), "helpers": (_helper,), "mixed": (_stencil, _helper, _pointwise, _update)}[style]
    for k in range(count):
        yield rng.choice(kinds)(f"t{k}", made, fields, rng)


def _stencil(name: str, made: list[str], fields: list[str], rng: random.Random) -> str:
    """A field from its neighbours and those of another one."""
    a, b = rng.sample(fields, 2)
    return (f"{a}[1:-1, 1:-1] = 0.9 * {a}[1:-1, 1:-1] + weight * ({b}[2:, 1:-1] + {b}[:-2, 1:-1] + {b}[1:-1, 2:] + "
            f"{a}[1:-1, :-2])")


def _helper(name: str, made: list[str], fields: list[str], rng: random.Random) -> str:
    a, b = rng.sample(fields, 2)
    return rng.choice((f"{a}[1:-1, 1:-1] += spread({b}, weight) * {a}[1:-1, 1:-1]",
                       f"{a}[1:-1, 1:-1] -= weight * limited(slope({a}, 0.5), slope({b}, 0.5))"))


def _pointwise(name: str, made: list[str], fields: list[str], rng: random.Random) -> str:
    """A temporary from fields and what was made not long before."""
    near = (*fields, *made[-4:])
    a, b = rng.choice(near), rng.choice(near)
    made.append(name)
    return f"{name} = {a} * np.sqrt(1.0 + {b} * {b}) / (1.0 + {a} * {a})"


def _update(name: str, made: list[str], fields: list[str], rng: random.Random) -> str:
    near = made[-4:] or fields
    return f"{rng.choice(fields)} += weight * {rng.choice(near)}"
